"""The clients for Python and TypeScript give the same answers: one table of cases (tests/lib/client_cases.py) for both."""
import importlib.util
import re
import shutil
import subprocess

import belljar
import client_cases
import pytest
from serving import Server

PACKAGE = belljar.ROOT / "sdk/typescript"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs nodejs")


@pytest.fixture(scope="module")
def folders(callers):
    return {mode: callers["user"].directory(f"clients-{mode}") for mode in ("rw", "cow")}


@pytest.fixture(scope="module")
def clients_server(callers, folders):
    allow = ",".join(f"{path}:{mode}" for mode, path in folders.items())
    with Server(callers["user"], env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": allow}) as server:
        yield server


@pytest.fixture(scope="module", params=["Python", pytest.param("TypeScript", marks=needs_node)])
def client(request):
    c = getattr(client_cases, request.param)()
    yield c
    c.close()


@pytest.mark.parametrize("case", client_cases.CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_a_case(client, clients_server, folders, case):
    client_cases.run_case(case, client, clients_server, folders)


@needs_node
@pytest.mark.parametrize("program, given", [("own.mjs", "src/index.js"), ("adapters.mjs", "src")])
def test_what_only_typescript_has(user, clients_server, program, given):
    """As the user whose server it is: also over the usual socket, with nothing but the environment to find it."""
    place = user.directory(f"typescript-{program}")
    shutil.copytree(PACKAGE, place / "belljar")
    shutil.copy(belljar.ROOT / "tests/sdk" / program, place)
    token_file = place / "token"
    token_file.write_text(clients_server.token + "\n")
    for path in [place, *place.rglob("*")]:
        user.own(path)
    done = subprocess.run(
        ["node", str(place / program), str(place / "belljar" / given)],
        env=user.environment({"BELLJAR_URL": f"http://127.0.0.1:{clients_server.port}", "BELLJAR_TOKEN_FILE": str(token_file)}),
        capture_output=True, text=True, timeout=belljar.HANG_SECONDS, cwd=place, **user.identity(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_those_of_the_server(clients_server):
    spec = importlib.util.spec_from_file_location("gen_client_types", belljar.ROOT / "tools/gen-client-types.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    made = tool.render(clients_server.get("/openapi.json").json)
    assert (PACKAGE / "types/api.d.ts").read_text(encoding="utf-8") == made, "run tools/gen-client-types.py, and commit what it writes"


def test_the_package_has_the_version_of_the_server():
    version = re.search(r"version: '([^']*)'", (belljar.ROOT / "meson.build").read_text())[1]
    assert f'"version": "{version}"' in (PACKAGE / "package.json").read_text()


def test_it_needs_nothing_but_itself():
    """No dependency, and no module of Node's that a browser would look for."""
    assert "ependencies" not in (PACKAGE / "package.json").read_text()
    for path in (PACKAGE / "src").glob("*.js"):
        for name in re.findall(r'(?:^import|^export|\bfrom|\bimport)\s*\(?"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            assert name.startswith(("./", "../types/")), (path.name, name)
