"""The operator's own modules inside: importable by name under every profile, bound to the session, and no way around the policy."""
import os
import pathlib
import shutil
import tempfile

import pytest

import mcp
import serving

HELPERS = """
import os, socket

def session():
    return os.environ["SESSION_ID"]

def place():
    return os.environ["SERVICE"]

def connect():
    try:
        socket.create_connection(("127.0.0.1", 80), 1)
    except OSError as e:
        return type(e).__name__
    return "connected"
"""


@pytest.fixture
def helpers(who):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bjhelp-", dir="/srv" if os.getuid() == 0 else pathlib.Path.home()))
    folder.chmod(0o755)
    (folder / "code_helpers.py").write_text(HELPERS)
    (folder / "graphs").mkdir()
    (folder / "graphs" / "__init__.py").write_text("def size(n): return n * n\n")
    (folder / "os.py").write_text("raise SystemExit('not the system')\n")
    (folder / "notes.txt").write_text("no module\n")
    yield {"BELLJAR_HELPERS": str(folder), "BELLJAR_VARIABLES": "SERVICE=http://127.0.0.1:9"}
    shutil.rmtree(folder)


@pytest.mark.parametrize("profile", ["strict", "standard", "open", "cms"])
def test_helpers_are_modules(who, helpers, profile):
    answer = who.run("import code_helpers, graphs; print(graphs.size(4), code_helpers.place())", profile=profile, env=helpers)
    assert answer.json["stdout"] == "16 http://127.0.0.1:9\n", answer


@pytest.mark.parametrize(
    "code",
    [
        "import code_helpers; code_helpers.os.system('id')",
        "import code_helpers; code_helpers.socket.socket()",
        "from code_helpers import os",
        "import os; os.system('id')",
        "from os import system",
        "import subprocess",
    ],
)
def test_helpers_open_nothing_else(who, helpers, code):
    assert who.run(code, profile="strict", env=helpers).status == "refused"


def test_only_modules_are_helpers_and_none_takes_the_place_of_another(who, helpers):
    answer = who.run("import notes", profile="strict", env=helpers)
    assert answer.status == "error" and answer.json["error"]["name"] == "ModuleNotFoundError", answer
    answer = who.run("import os; print(os.sep)", profile="strict", env=helpers)
    assert answer.json["stdout"] == "/\n", answer
    answer = who.run("import os; print([os][0].system)", profile="strict", env=helpers)
    assert answer.status == "error" and "`os.system`" in answer.json["error"]["message"], answer


def test_without_a_grant_a_helper_reaches_nothing(who, helpers):
    assert who.run("import code_helpers; print(code_helpers.connect())", profile="strict", env=helpers).json["stdout"] != "connected\n"


def test_a_model_is_told_of_helpers(who, helpers):
    with mcp.Client(who, "--compat", "cms", env=helpers) as client:
        assert "helpers: code_helpers, graphs, os\n" in client.initialize()["instructions"]
        assert "session()" in client.text("more", {"topic": "code_helpers"})


def test_programs_cannot_change_helpers(who, helpers):
    place = helpers["BELLJAR_HELPERS"]
    answer = who.run(f"open('{place}/code_helpers.py', 'a')", env=helpers)
    assert answer.json["error"]["name"] in ("OSError", "PermissionError"), answer


def test_a_session_knows_its_name(who, helpers):
    server = serving.Server(who, env=helpers)
    try:
        for body, expected in (({"name": "course-7", "env": {"SESSION_ID": "another"}}, "course-7"), ({}, None)):
            session = server.post("/v1/sessions", {"profile": "strict", **body}).json["session_id"]
            code = "import code_helpers\nprint(code_helpers.session(), session_id)"
            said = server.post(f"/v1/sessions/{session}/execute", {"code": code}).json["stdout"].split()
            assert said == [expected or session] * 2
    finally:
        assert server.stop() == 0, server.said


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"BELLJAR_HELPERS": "/nowhere/at/all"}, "directory of Python modules"),
        ({"BELLJAR_VARIABLES": "NOTHING"}, "NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_said(who, env, said):
    answer = who.call("run", "-c", "print('it-ran')", env=env)
    assert answer.code != 0 and said in answer.errors and "it-ran" not in answer.text, answer
