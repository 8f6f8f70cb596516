"""Skills: saved once, imported by later programs."""
import uuid

import mcp
import pytest
import serving

CODE = "import json\n\ndef double(x):\n    return 2 * x\n"


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture
def home(who):
    """A state directory of the test's own."""
    return {"XDG_STATE_HOME": str(who.home / f"state-{uuid.uuid4().hex}")}


def open_client(who, home, *args):
    client = mcp.Client(who, *args, env=home)
    client.initialize()
    return client


def save(client, name, code, **more):
    return client.call("save_reusable_skill", {"name": name, "code": code, **more})


def own(client):
    """The caller's; others come with Belljar."""
    return [skill for skill in client.call("list_skills", {})["structuredContent"]["skills"] if skill["kind"] == "user"]


def test_a_skill_is_imported_by_another_process(who, home):
    with open_client(who, home) as client:
        result = save(client, "doubling", CODE, description='Doubles "numbers" \\ and more')
        assert result["structuredContent"] == {
            "status": "success", "skill_name": "doubling", "version": 1, "path": "skills/doubling.py", "message": "from skills.doubling import *",
        }  # fmt: skip
    with open_client(who, home) as client:
        use = "from skills.doubling import double\nimport skills.doubling\nprint(double(21), skills.doubling.__doc__)"
        assert client.text("execute_python_code", {"code": use}) == '42 Doubles "numbers" \\ and more\n'
        assert client.text("execute_python", {"code": "from skills.doubling import double\nresult = double(4)"}).count('"result":8') == 1
        listed = own(client)
        assert [(s["name"], s["version"]) for s in listed] == [("doubling", 1)]
        info = client.call("get_skill_info", {"skill_name": "doubling"})["structuredContent"]
        assert info["files"] == ["doubling.py"] and "code" not in info
        assert client.text("get_skill_file", {"skill_name": "doubling", "filename": "doubling.py"}).endswith(CODE)


def test_a_skill_may_import_another(who, home):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
        assert "isError" not in save(client, "quadrupling", "from skills.doubling import double\n\ndef quadruple(x):\n    return double(double(x))\n")
        assert client.text("execute_python_code", {"code": "from skills.quadrupling import quadruple\nprint(quadruple(3))"}) == "12\n"


@pytest.mark.parametrize("name", ["../x", "a/b", "", "X", "1x", "import", "a-b", "a.b", "__init__", "x\n", "é", "a" * 65])
def test_names_that_are_no_modules_are_refused(who, home, name):
    with open_client(who, home) as client:
        assert save(client, name, CODE)["isError"]
        assert own(client) == []


@pytest.mark.parametrize("code, word", [("def f(:\n", "line 1"), ("import subprocess\n", "subprocess"), ("1 / 0\n", "ZeroDivisionError"), ("eval('1')", "eval")])
def test_what_does_not_run_is_not_stored(who, home, code, word):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "x", CODE)
        refused = save(client, "x", code)
        assert refused["isError"] and word in mcp.text_of(refused) and "not saved" in mcp.text_of(refused)
        assert client.call("get_skill_info", {"skill_name": "x"})["structuredContent"]["version"] == 1


def test_a_profile_without_skills_gets_no_files(who, home):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
    with open_client(who, home, "--profile", "strict") as client:
        refused = client.call("execute_python_code", {"code": "from skills.doubling import double"})
        assert refused["isError"] and mcp.text_of(refused).startswith("refused")
        assert "skills" not in client.text("list_files")


def test_a_program_that_names_none_gets_none(who, home):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
        assert client.text("execute_python_code", {"code": "print('skills')"}) == "skills\n"
        assert "doubling" not in client.text("list_files")


def test_what_a_program_does_to_its_copy_stays_in_its_sandbox(who, home):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
        spoil = "import skills.doubling\nopen('skills/doubling.py', 'w').write('spoiled = 1')"
        assert "isError" not in client.call("execute_python_code", {"code": spoil, "session_id": "new"})
        assert client.text("get_skill_file", {"skill_name": "doubling", "filename": "doubling.py"}) == CODE


@pytest.mark.parametrize("file", ["../doubling.py", "/etc/passwd", "doubling.pyc", "SKILL.md", ""])
def test_only_its_own_file_is_read(who, home, file):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
        assert client.call("get_skill_file", {"skill_name": "doubling", "filename": file})["isError"]


def test_the_command_line_adds_shows_takes_back_and_deletes(who, home):
    place = who.home / f"files-{uuid.uuid4().hex}"
    place.mkdir()
    place.chmod(0o755)
    file = place / "doubling.py"

    def add(text):
        file.write_text(text)
        file.chmod(0o644)
        return who.call("skills", "add", str(file), env=home)

    assert add(CODE).text == "doubling: version 1\n"
    assert who.call("run", "-c", "from skills.doubling import double\nprint(double(5))", env=home).text == "10\n"
    assert add("import subprocess\n").code == 77 and add("def f(:\n").code == 77
    assert who.call("skills", "show", "doubling", env=home).text == CODE
    assert add("def double(x):\n    return 0\n").text == "doubling: version 2\n"
    assert who.call("skills", "undo", "doubling", env=home).text == "doubling: version 1\n"
    assert who.call("skills", "show", "doubling", env=home).text == CODE
    listed = who.call("skills", "list", env=home).text
    assert listed.startswith("NAME ") and "KIND" in listed.splitlines()[0] and "\ndoubling " in listed, listed
    assert who.call("skills", "rm", "doubling", env=home).code == 0
    assert who.call("skills", "show", "doubling", env=home).code == 66
    assert who.call("skills", "add", str(place / "no.txt"), env=home).code == 66
    (place / "no.txt").write_text("no Python")
    (place / "no.txt").chmod(0o644)
    assert who.call("skills", "add", str(place / "no.txt"), env=home).code == 64


def test_over_http_each_token_has_its_own(who, home):
    with open_client(who, home) as client:
        assert "isError" not in save(client, "doubling", CODE)
    with serving.Server(who, env=home) as server:
        body = {"code": "from skills.doubling import double\nprint(double(8))"}
        assert server.post("/v1/run", body).json["stdout"] == "16\n"
        opened = server.post("/v1/sessions", {}).json["session_id"]
        assert server.post(f"/v1/sessions/{opened}/execute", body).json["stdout"] == "16\n"
        other = {"Authorization": "Bearer " + who.call("token", "add", "other", env=home).text.strip()}
        assert "ModuleNotFoundError" in server.post("/v1/run", body, headers=other).json["stderr"]
