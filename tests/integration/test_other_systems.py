"""Promises of other systems that Belljar keeps, tried with their own examples: the ones that no other test has."""
import secrets

import pytest

import mcp
import serving


@pytest.fixture
def project(who):
    folder = who.directory("others-" + secrets.token_hex(4))
    for name, text in {"lib.py": "def load():\n    return 1\n", "a.py": "from lib import load\nload()\n", "old.py": "print 'py2'\n"}.items():
        (folder / name).write_text(text)
    for path in [folder, *folder.iterdir()]:
        who.own(path)
    return folder


@pytest.fixture
def marketplace(who, project):
    with mcp.Client(who, "--compat", "marketplace", env={"ALLOWED_DIRECTORIES": str(project)}) as client:
        client.initialize()
        yield lambda code: client.call("execute_python", {"code": code})["structuredContent"]


def test_a_refusal_names_every_line(marketplace):
    done = marketplace("import os\nimport socket\nx = eval('1')")
    lines = done["error"].splitlines()
    assert done["status"] == "error" and len(lines) == 3, done
    assert lines[0].startswith("Import not allowed: ") and "(line 1)" in lines[0] and "hint: use pathlib" in lines[0], done
    assert lines[1].startswith("Import not allowed: ") and "`socket`" in lines[1] and "`eval` (line 3)" in lines[2], done


def test_an_error_has_its_hint(marketplace, project):
    done = marketplace("from api.filesystem import read_file\nread_file('/nowhere/x.py')")
    assert done["error"].startswith("FileNotFoundError") and str(project) in done["hint"], done
    assert "hint" not in marketplace("result = 1")


@pytest.mark.parametrize("call", ["code_transform.rename_identifier('.', 'load', 'fetch')", "filesystem.search_replace('*.py', 'load', 'fetch')"])
def test_directories_of_the_variable_are_read_only_and_said_so_once(marketplace, project, call):
    done = marketplace(f"import api.{call.split('.')[0]}\nresult = api.{call}")["result"]
    assert done["status"] == "error" and done["files_modified"] == 0 and "read-only" in done["error"] and ":rw" in done["hint"], done
    assert len(str(done)) < 700 and (project / "lib.py").read_text().startswith("def load"), done


def test_a_file_that_is_not_python_says_so(marketplace):
    done = marketplace("from api.code_analysis import analyze_dependencies\nresult = [analyze_dependencies('old.py'), analyze_dependencies('lib.py')]")["result"]
    assert done[0]["error"].startswith("line 1: ") and done[0]["lines"] == 1 and "error" not in done[1], done


def test_hints_of_cms_are_allowed_there(who):
    with mcp.Client(who, "--compat", "cms") as client:
        client.initialize()
        said = client.text("execute_code", {"code": "help(print)", "session_id": "any / text: 7"})
        assert "refused" in said and "__doc__" not in said, said


@pytest.mark.parametrize("code, words", [
    ("import os\nos.system('ls')", ["Code validation failed\n", "line 1", "`os`"]), ("print('hello'\n", ["Code validation failed: Syntax error\n", "line 1"]),
    ("1 / 0", ["Code execution failed\n", "ZeroDivisionError"])])  # fmt: skip
def test_failures_have_the_words_of_cms(who, code, words):
    with mcp.Client(who, "--compat", "cms") as client:
        client.initialize()
        done = client.call("execute_code", {"code": code, "session_id": "s"})
        assert done["isError"] and all(word in mcp.text_of(done) for word in words), done


@pytest.mark.parametrize("compat, has_bash", [("cms", False), ("pyrunner", False), ("coderunner", True)])
def test_tools_that_the_profile_refuses_are_not_listed(who, compat, has_bash):
    with mcp.Client(who, "--compat", compat) as client:
        client.initialize()
        names = [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]
        assert ("execute_bash_code" in names) == has_bash, names
        assert client.call("execute_bash_code", {"command": "echo 1"}).get("isError", False) != has_bash


def test_the_log_says_which_rule_refused(who):
    server = serving.Server(who, "--socket", "none", "--compat", "pyrunner")
    try:
        assert server.post("/run", {"code": "import os\neval('1')"}).json["status"] == "error"
        assert server.post("/run", {"code": "1"}).json["status"] == "success"
    finally:
        assert server.stop() == 0, server.said
    refused, good = [line for line in "\n".join(server.said).splitlines() if " run run=" in line]
    assert "status=refused rule=import violations=2" in refused and "rule=" not in good, server.said
