"""The client library as a package: it covers every route, its types are true, and it installs without a network."""
import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import typing
import zipfile

import belljar
import pytest
from client_ways import PACKAGE, belljar_client
from serving import Server

from belljar_client import fields, routes  # isort: skip

PROGRAM = ["Client.run", "Client.stream", "Client.start"]
CELL = ["Session.run", "Session.stream", "Session.start"]

# Every route, and the methods that use it.
METHODS = {
    "POST /v1/run": PROGRAM,
    "POST /v1/check": ["Client.check"],
    "POST /v1/batch": ["Client.batch"],
    "GET /v1/runs": ["Client.runs"],
    "GET /v1/runs/{run}": ["Client.result", "Job.result"],
    "GET /v1/runs/{run}/events": ["Client.stream"],
    "GET /v1/runs/{run}/follow": ["Job.events"],
    "GET /v1/runs/{run}/output": ["Client.output", "Job.output"],
    "POST /v1/runs/{run}/stdin": ["Client.send_line"],
    "POST /v1/runs/{run}/cancel": ["Client.cancel", "Job.cancel"],
    "GET /v1/approvals": ["Client.approvals"],
    "POST /v1/runs/{run}/approve": ["Client.approve"],
    "POST /v1/sessions/{session}/approve": ["Client.approve"],
    "GET /v1/undo": ["Client.undoable"],
    "GET /v1/runs/{run}/changes": ["Client.run_changes"],
    "POST /v1/runs/{run}/undo": ["Client.undo"],
    "GET /v1/audit/records": ["Client.audit"],
    "GET /v1/audit/head": ["Client.audit_head"],
    "GET /v1/cluster/nodes": ["Client.cluster_nodes"],
    "GET /v1/audit/lines": ["Client.audit_lines"],
    "GET /v1/audit/records/{id}": ["Client.audit_records"],
    "POST /v1/audit/verify": ["Client.verify_audit"],
    "GET /v1/config": ["Client.settings"],
    "GET /v1/tokens": ["Client.tokens"],
    "POST /v1/tokens": ["Client.add_token"],
    "DELETE /v1/tokens/{name}": ["Client.remove_token"],
    "GET /v1/audit/key": ["Client.audit_key"],
    "POST /v1/audit/receipt": ["Client.check_receipt"],
    "GET /v1/doctor": ["Client.doctor"],
    "GET /v1/me": ["Client.me"],
    "GET /v1/events": ["Client.watch"],
    "GET /v1/runs/{run}/record": ["Client.run_record"],
    "GET /v1/sessions/{session}/cells": ["Session.cells"],
    "GET /v1/sessions/{session}/variables": ["Session.variables"],
    "POST /v1/sessions": ["Client.session"],
    "GET /v1/sessions": ["Client.sessions"],
    "GET /v1/sessions/{session}": ["Client.get_session", "Session.refresh"],
    "DELETE /v1/sessions/{session}": ["Session.close"],
    "POST /v1/sessions/{session}/execute": CELL,
    "POST /v1/sessions/{session}/interrupt": ["Session.interrupt"],
    "POST /v1/sessions/{session}/restart": ["Session.restart"],
    "POST /v1/sessions/{session}/pause": ["Session.pause"],
    "POST /v1/sessions/{session}/resume": ["Session.resume"],
    "POST /v1/sessions/{session}/contexts": ["Session.open_context"],
    "GET /v1/sessions/{session}/contexts": ["Session.contexts"],
    "POST /v1/sessions/{session}/contexts/{context}/restart": ["Session.restart_context"],
    "DELETE /v1/sessions/{session}/contexts/{context}": ["Session.delete_context"],
    "POST /v1/sessions/{session}/commands": ["Commands.run", "Commands.stream", "Commands.start"],
    "GET /v1/sessions/{session}/commands": ["Commands.list"],
    "DELETE /v1/sessions/{session}/commands/{command}": ["Command.kill"],
    "POST /v1/sessions/{session}/commands/{command}/stdin": ["Command.write"],
    "POST /v1/sessions/{session}/commands/{command}/resize": ["Command.resize"],
    "POST /v1/sessions/{session}/commands/{command}/signal": ["Command.signal"],
    "POST /v1/sessions/{session}/fork": ["Session.fork"],
    "POST /v1/sessions/{session}/checkpoint": ["Session.checkpoint"],
    "POST /v1/sessions/{session}/restore": ["Session.restore"],
    "GET /v1/sessions/{session}/checkpoints": ["Session.checkpoints"],
    "DELETE /v1/sessions/{session}/checkpoints/{name}": ["Session.delete_checkpoint"],
    "POST /v1/sessions/{session}/snapshot": ["Session.snapshot"],
    "GET /v1/snapshots": ["Client.snapshots"],
    "DELETE /v1/snapshots/{name}": ["Client.delete_snapshot"],
    "GET /v1/sessions/{session}/changes": ["Session.changes"],
    "POST /v1/sessions/{session}/apply": ["Session.apply"],
    "POST /v1/sessions/{session}/discard": ["Session.discard"],
    "GET /v1/sessions/{session}/files": ["Files.list"],
    "GET /v1/sessions/{session}/files/{path}": ["Files.read", "Files.chunks", "Files.download"],
    "PUT /v1/sessions/{session}/files/{path}": ["Files.write", "Files.upload"],
    "POST /v1/sessions/{session}/files/{path}": ["Files.move"],
    "GET /v1/sessions/{session}/watch": ["Files.watch"],
    "DELETE /v1/sessions/{session}/files/{path}": ["Files.delete"],
    "GET /v1/skills": ["Skills.list"],
    "GET /v1/skills/{skill}": ["Skills.get"],
    "PUT /v1/skills/{skill}": ["Skills.save"],
    "DELETE /v1/skills/{skill}": ["Skills.delete"],
    "GET /v1/skills/{skill}/files/{path}": ["Skills.file"],
    "POST /v1/skills/{skill}/undo": ["Skills.undo"],
    "GET /v1/states": ["States.list"],
    "POST /v1/states": ["States.create"],
    "GET /v1/states/{work}": ["States.load"],
    "POST /v1/states/{work}/versions": ["States.save"],
    "DELETE /v1/states/{work}": ["States.delete"],
    "POST /v1/jobs": ["Jobs.submit"],
    "GET /v1/jobs": ["Jobs.list"],
    "GET /v1/jobs/{job}": ["Jobs.get"],
    "GET /v1/jobs/{job}/result": ["Jobs.result"],
    "POST /v1/jobs/{job}/cancel": ["Jobs.cancel"],
    "DELETE /v1/jobs/{job}": ["Jobs.delete"],
    "GET /v1/languages": ["Client.languages"],
    "GET /v1/stats": ["Client.stats"],
    "GET /metrics": ["Client.metrics"],
    "GET /openapi.json": ["Client.openapi"],
}

# Routes without a method, and why.
LEFT_OUT = {
    "GET /": "names the server",
    "GET /health": "for monitors",
    "GET /v1/sessions/{session}/commands/{command}": "a command is a run: Job.events and Job.result",
    "GET /v1/sessions/{session}/commands/{command}/terminal": "for browsers: Job.events, Command.write and Command.resize do the same",
}
# The web console's page, and interfaces of other systems, which have clients of their own.
LEFT_OUT_TAGS = {"console", "coderunner", "pyrunner", "dify", "sandboxfusion"}

# Fields that a method sets by itself, or has under another name.
OTHERWISE = {
    "POST /v1/run": {"detach"},  # start()
    "POST /v1/check": {"detach"},  # nothing runs
    "POST /v1/sessions/{session}/execute": {"detach"},
    "POST /v1/sessions/{session}/commands": {"args", "background"},  # a list in place of a line; start()
    "POST /v1/sessions/{session}/commands/{command}/stdin": {"text", "base64"},  # by the type of `data`
    "POST /v1/runs/{run}/approve": {"approval_id", "sha256"},  # of the Approval
    "POST /v1/sessions/{session}/approve": {"approval_id", "sha256"},
    "GET /v1/sessions/{session}/files": {"after"},  # list() reads page after page
}


@pytest.fixture(scope="module")
def operations(callers):
    with Server(callers["user"], "--socket", "none") as server:
        described = server.get("/openapi.json").json
    return {f"{method.upper()} {path}": o for path, item in described["paths"].items() for method, o in item.items()}


def own(operations):
    return {name: o for name, o in operations.items() if not LEFT_OUT_TAGS & set(o["tags"]) and name not in LEFT_OUT}


def method(name):
    kind, _, attribute = name.partition(".")
    return getattr(getattr(belljar_client, kind), attribute)


def body_of(operation):
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("properties", {})


def query_of(operation):
    return {p["name"]: p["schema"] for p in operation["parameters"] if p["in"] == "query"}


def test_every_route_has_a_method(operations):
    advice = "add a method to sdk/python/belljar_client and a line to METHODS, or list the route in LEFT_OUT with the reason"
    assert set(own(operations)) == set(METHODS), advice
    assert {f"{r.method} {r.path}" for r in vars(routes).values() if isinstance(r, routes.Route)} == set(METHODS)
    for names in METHODS.values():
        for name in names:
            assert method(name).__doc__ or name.endswith((".list", ".delete", ".delete_checkpoint")), name


def test_every_field_has_a_parameter(operations):
    advice = "add the field to sdk/python/belljar_client/fields.py, or to the method's parameters"
    for name, operation in own(operations).items():
        wanted = {*body_of(operation), *query_of(operation)} - OTHERWISE.get(name, set())
        if any(p["name"] == "Idempotency-Key" for p in operation["parameters"]):
            wanted.add("key")
        for used in METHODS[name]:
            if name.endswith("/events"):
                continue
            missing = wanted - set(inspect.signature(method(used)).parameters)
            assert not missing, f"{used}() lacks {missing} of {name}: {advice}"


TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


@pytest.mark.parametrize("kind, route", [
    (fields.RunFields, "POST /v1/run"), (fields.RunFields, "POST /v1/check"), (fields.JobFields, "POST /v1/jobs"), (fields.CellFields, "POST /v1/sessions/{session}/execute"),
    (fields.SessionFields, "POST /v1/sessions"), (fields.BatchFields, "POST /v1/batch"),
])  # fmt: skip
def test_fields_have_the_types_of_the_server(operations, kind, route):
    known = body_of(operations[route])
    for name, hint in typing.get_type_hints(kind).items():
        assert name in known, f"the server does not know `{name}` in {route}"
        schema = known[name]
        if name == "files":
            continue
        if schema["type"] == "array":
            item = TYPES[schema["items"]["type"]]
            assert hint == typing.Sequence[item], name
        elif schema["type"] == "object":
            assert hint == typing.Mapping[str, str], name
        else:
            assert hint is TYPES[schema["type"]], name
    if "runs" in known:
        assert set(known["runs"]["items"]["properties"]) == set(typing.get_type_hints(fields.BatchRun))
    item = known["files"]["items"]["properties"] if "files" in known else {}
    assert not item or set(item) == set(typing.get_type_hints(fields.GivenFile))


def test_both_clients_have_the_same_methods():
    for name in ("Client", "Session", "Job", "Events", "Files", "Jobs", "Skills", "States"):
        one, other = getattr(belljar_client, name), getattr(belljar_client, f"Async{name}")
        public = {n for n in dir(one) if not n.startswith("_")}
        assert public == {n for n in dir(other) if not n.startswith("_")}
        for attribute in public:
            assert inspect.signature(getattr(one, attribute)) == inspect.signature(getattr(other, attribute)), (name, attribute)


def test_the_signature_names_every_field():
    names = inspect.signature(belljar_client.Client.run).parameters
    assert {"code", "key", "timeout_s", "files", "seed"} <= set(names) and "fields" not in names
    assert str(inspect.signature(belljar_client.Session.run).parameters["timeout_s"]) == "timeout_s: float = None"


# --- types ---


def mypy(*args):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--enable-incomplete-feature=Unpack", *args],
        capture_output=True, text=True, timeout=belljar.HANG_SECONDS, env={**os.environ, "MYPYPATH": str(PACKAGE), "MYPY_CACHE_DIR": "/dev/null"},
    )  # fmt: skip


USES = """
import asyncio
from belljar_client import AsyncClient, Client, Result

client = Client()
result: Result = client.run("1", timeout_s=5, files={"a": b"x"})
reveal_type(client.session().run("1").stdout)
for event in client.stream("1", memory_mb=64):
    reveal_type(event.text)

async def main() -> None:
    async with AsyncClient().session(idle_s=5) as s:
        reveal_type(await s.fork(2))
        async for chunk in s.files.chunks("x"):
            reveal_type(chunk)

client.run("1", tiemout_s=5)
client.run("1", timeout_s="5")
client.session(code="1")
"""


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="needs mypy")
def test_mypy_knows_every_type(tmp_path):
    done = mypy(str(PACKAGE / "belljar_client"), str(PACKAGE / "build_backend.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "uses.py").write_text(USES)
    said = mypy(str(tmp_path / "uses.py")).stdout
    assert re.findall(r'Revealed type is "(?:builtins\.)?(.*?)"', said) == ["str", "str", "list[belljar_client.session.AsyncSession]", "bytes"], said
    assert len(re.findall(r"error: ", said)) == 3 and '"tiemout_s"' in said and '"timeout_s" has incompatible type "str"' in said, said


# --- the package ---


def test_it_needs_nothing_but_the_library():
    for path in (PACKAGE / "belljar_client").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, (path, name)


def test_its_name_is_not_that_of_the_module_in_the_sandbox():
    """`from belljar import display` in a program must not find the client, wherever it is installed."""
    assert [p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()] == ["belljar_client"]
    assert (belljar.ROOT / "python").resolve() == PACKAGE.resolve()


def test_a_wheel_is_the_same_each_time(tmp_path):
    spec = importlib.util.spec_from_file_location("build_backend", PACKAGE / "build_backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    wheels = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        wheels.append((tmp_path / name / backend.build_wheel(str(tmp_path / name))).read_bytes())
    assert wheels[0] == wheels[1]
    names = zipfile.ZipFile(next((tmp_path / "a").iterdir())).namelist()
    assert "belljar_client/py.typed" in names and "belljar_client/adapters/sandbox.py" in names and not [n for n in names if not n.startswith(("belljar_client/", "belljar_client-"))]
    version = re.search(r'version: \'([^\']*)\'', (belljar.ROOT / "meson.build").read_text())[1]
    assert f"belljar_client-{version}.dist-info/RECORD" in names and belljar_client.__version__ == version
    assert backend.build_sdist(str(tmp_path)) == f"belljar_client-{version}.tar.gz"


def test_pip_installs_it_without_a_network(tmp_path):
    """In an environment of Debian's Python, as the guide says, and with no interface but a loopback that is down."""
    script = f"""
set -eu
cd {belljar.ROOT}
/usr/bin/python3 -m venv {tmp_path}/venv
{tmp_path}/venv/bin/pip install --quiet --disable-pip-version-check ./python
cd /
{tmp_path}/venv/bin/python -c 'import belljar_client; print(belljar_client.__file__)'
{tmp_path}/venv/bin/pip show --disable-pip-version-check belljar-client | grep Version
"""
    alone = ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    before = sources()
    done = subprocess.run([*alone, "sh", "-c", script], capture_output=True, text=True, timeout=belljar.HANG_SECONDS, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 0, done
    assert f"{tmp_path}/venv/lib" in done.stdout and f"Version: {belljar_client.__version__}" in done.stdout
    assert sources() == before, "nothing is written into the sources"


def sources():
    return sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*") if "__pycache__" not in p.parts)
