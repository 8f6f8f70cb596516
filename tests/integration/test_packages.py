"""Packages that a program gets by importing them: those that the operator lists, where their index is granted."""
import json
import uuid

import pytest
from hosts import Host
from serving import Server
from test_reach_tools import NEEDS_PIP, wheel

pytestmark = NEEDS_PIP


@pytest.fixture
def index():
    """An index with the packages `smallest` and `other_name`."""
    answers = {}
    for name in ("smallest", "other_name"):
        file = f"{name}-1.0-py3-none-any.whl"
        answers[f"/simple/{name.replace('_', '-')}/"] = (200, {"Content-Type": "text/html"}, f'<a href="/files/{file}">{file}</a>'.encode())
        answers[f"/files/{file}"] = (200, {}, wheel(name))
    with Host(answers=answers) as host:
        yield host


def settings(who, index, *listed, more=""):
    return who.file(f"packages-{uuid.uuid4().hex}.toml", f'package_index = "http://localhost:{index.port}/simple/"\nauto_install = {json.dumps(listed)}\n{more}\n')


def test_a_listed_module_is_installed_when_it_is_imported(who, index):
    """And written down: the call that named it, and the connections that brought it."""
    config = settings(who, index, "json", "smallest>=1", "smaller")
    code = "import smallest, json; print(smallest.answer, smallest.__file__)"
    result = who.run(code, "--config", config, "--net", f"localhost:{index.port}").json
    assert result["stdout"] == "42 /tmp/packages/smallest.py\n", result
    assert result["net"]["connections"] >= 2 and result["net"]["refused"] == [], result
    lines = [line for line in who.call("audit", "export").text.split("\n") if result["id"] in line]
    records = [record for line in lines if (record := json.loads(line))["kind"] in ("call", "net")]
    assert any(record["kind"] == "call" and "packages.install.smallest" in record.values() for record in records), records
    assert {record["host"] for record in records if record["kind"] == "net"} == {"localhost"}, records


def test_the_package_may_have_another_name(who, index):
    config = settings(who, index, "other_name:other-name==1.0")
    result = who.run("import threading\nt = threading.Thread(target=__import__, args=('other_name',)); t.start(); t.join()\nimport other_name; print(other_name.answer)", "--config", config, "--net", f"localhost:{index.port}").json
    assert result["stdout"] == "42\n", result


def test_what_is_not_listed_stays_missing(who, index):
    config = settings(who, index, "other_name")
    result = who.run("import smallest", "--config", config, "--net", f"localhost:{index.port}").json
    assert result["status"] == "error" and "No module named 'smallest'" in json.dumps(result["error"]), result
    assert "belljar environment create" in json.dumps(result["error"]), result
    assert index.seen == []


@pytest.mark.parametrize("args, profile", [((), "open"), (("--net", "localhost:1"), "open"), (("--net", "INDEX"), "standard")])
def test_it_takes_a_granted_index_and_a_profile_with_processes(who, index, args, profile):
    config = settings(who, index, "smallest")
    args = [word.replace("INDEX", f"localhost:{index.port}") for word in args]
    result = who.run("import smallest", "--config", config, *args, profile=profile).json
    assert result["status"] in ("error", "refused") and index.seen == [], result


def test_it_is_off_by_default(who, index):
    config = settings(who, index)
    result = who.run("import smallest", "--config", config, "--net", f"localhost:{index.port}").json
    assert result["status"] == "error" and index.seen == [], result


def test_a_package_that_is_not_there_fails_the_import_with_words(who, index):
    index.answers["/simple/nowhere/"] = (404, {}, b"no")
    config = settings(who, index, "nowhere")
    code = "\n".join(["try:", "    import nowhere", "except ModuleNotFoundError as error:", "    print(error)"] * 2)
    result = who.run(code, "--config", config, "--net", f"localhost:{index.port}").json
    first, second = result["stdout"].splitlines()
    assert first == "No module named 'nowhere': it could not be installed: ERROR: No matching distribution found for nowhere", result
    assert second == "No module named 'nowhere'", result


@pytest.mark.parametrize("lines, words", [
    ('auto_install = ["polars"]', "`auto_install` needs a `package_index`"),
    ('package_index = "http://h/"\nauto_install = ["--target=x"]', "invalid module name `--target=x`"),
    ('package_index = "http://h/"\nauto_install = ["x:../evil"]', "invalid module name"),
    ('package_index = "http://h/"\nauto_install = ["scikit-learn"]', "yaml:PyYAML"),
    ('package_index = "http://h/"\nauto_install = ["x:https://h/x.whl"]', "invalid module name"),
    ('package_index = "ftp://h/"', "not a URL of the form"),
    ('package_index = "https://user:key@h/simple/"', "`package_index`"),
])  # fmt: skip
def test_mistakes_in_the_settings_are_named(who, lines, words):
    answer = who.run("1", "--config", who.file(f"packages-{uuid.uuid4().hex}.toml", lines + "\n"))
    assert answer.code != 0 and words in answer.text, answer


def test_pip_inside_asks_the_index_of_the_settings(who, index):
    config = settings(who, index)
    code = "pip install -q smallest && python3 -c 'import smallest; print(smallest.answer)'"
    assert who.run(code, "-l", "bash", "--config", config, "--net", f"localhost:{index.port}").json["stdout"] == "42\n"
    refused = who.run("pip install smallest 2>&1", "-l", "bash", "--config", config).json
    assert f"grant localhost:{index.port} (`net`)" in refused["stdout"], refused


def test_what_a_session_installs_is_its_own(who, index):
    env = {"BELLJAR_PROFILE": "open", "BELLJAR_NET": f"localhost:{index.port}", "BELLJAR_PACKAGE_INDEX": f"http://localhost:{index.port}/simple/", "BELLJAR_AUTO_INSTALL": "smallest"}
    with Server(who, "--socket", "none", env=env) as server:

        def cell(name, code, language="python"):
            return server.post(f"/v1/sessions/{name}/execute", {"code": code, "language": language}).json

        for name, net in (("a", [f"localhost:{index.port}"]), ("b", [f"localhost:{index.port}"]), ("c", [])):
            assert server.post("/v1/sessions", {"name": name, "net": net}).status == 201
        assert cell("a", "import smallest; print(smallest.answer)")["stdout"] == "42\n"
        once = len(index.seen)
        assert cell("a", "import smallest; print(smallest.answer)")["stdout"] == "42\n"
        assert cell("a", "python3 -c 'import smallest; print(smallest.answer)'", "bash")["stdout"] == "42\n"
        assert len(index.seen) == once
        assert cell("c", "import smallest")["status"] == "error" and len(index.seen) == once
        assert cell("b", "import os; print(os.path.exists('/tmp/packages'))")["stdout"] == "False\n"
        assert cell("b", "import smallest; print(smallest.answer)")["stdout"] == "42\n" and len(index.seen) > once
