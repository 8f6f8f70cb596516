"""Checking a program without running it: `belljar run --check`, `POST /v1/check`."""
import pytest

PROGRAM = """\
import os, nosuchpackage
import alsonot.part
try:
    import maybe_there
except (ImportError, OSError):
    maybe_there = None
try:
    import json as quick
except ImportError:
    import missing_too as quick
def later():
    from missing_later import x
print(open('/workspace/made', 'w'))
"""


@pytest.fixture
def check(who):
    return lambda code, *args, profile="open", **more: who.run(code, "--check", *args, profile=profile, **more)


def found(answer):
    return [(v["rule"], v["name"], v["line"]) for v in answer.json["violations"]]


@pytest.mark.usefixtures("watch")
def test_missing_modules_are_named_and_nothing_runs(check):
    answer = check(PROGRAM)
    assert answer.code == 126 and answer.status == "refused", answer
    assert found(answer) == [("missing", "nosuchpackage", 1), ("missing", "alsonot", 2), ("missing", "missing_later", 12)]
    assert not answer.json["files"] and not answer.json["stdout"]
    for violation in answer.json["violations"]:
        line = PROGRAM.splitlines()[violation["line"] - 1]
        assert line[violation["column"] - 1 :].startswith(violation["name"]), violation


@pytest.mark.usefixtures("watch")
def test_what_the_profile_refuses_is_not_called_missing_as_well(check):
    answer = check("import nosuchpackage\nimport subprocess\nx = eval('1')\n", profile="strict")
    assert sorted(found(answer)) == [("builtin", "eval", 3), ("import", "subprocess", 2), ("missing", "nosuchpackage", 1)], answer


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("language, code", [("python", "def f(:\n  pass"), ("bash", "if true; then echo")])
def test_syntax_errors_are_told(check, language, code):
    answer = check(code, "-l", language)
    assert answer.code not in (0, 126) and answer.status == "error", answer
    assert "yntax" in answer.json["stderr"] + str(answer.json["error"]), answer


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("language, code", [("python", "import json\nprint(json, 1/0)"), ("bash", "echo hello > made; exit 3")])
def test_a_good_program_has_no_problems_and_is_not_run(who, language, code):
    answer = who.call("run", "--check", "--profile", "open", "-l", language, "-c", code)
    assert answer.code == 0 and answer.out == b"no problems found\n", answer


@pytest.mark.usefixtures("watch")
def test_modules_beside_the_interpreter_are_not_imported(check):
    """Looking for a module runs nothing of it."""
    assert check("import antigravity, this, json").code == 0


def test_a_session_is_not_checked(who):
    answer = who.call("run", "--check", "--session", "x", "-c", "1")
    assert answer.code == 64 and "--session" in answer.errors, answer


def test_over_http(server):
    reply = server.post("/v1/check", {"code": PROGRAM, "profile": "open"})
    assert reply.status == 200 and reply.json["status"] == "refused", reply
    assert [v["name"] for v in reply.json["violations"]] == ["nosuchpackage", "alsonot", "missing_later"]
    fine = server.post("/v1/check", {"code": "import helper\nprint(helper)", "profile": "open", "files": [{"path": "helper.py", "content": "1/0"}]})
    assert fine.status == 200 and (fine.json["status"], fine.json["stdout"]) == ("success", ""), fine
    assert server.post("/v1/check", {"code": "1", "check": True}).status == 400


def test_a_server_checks_for_the_command_line(server):
    answer = server.who.call("run", "--check", "--server", f"unix:{server.socket}", "--profile", "open", "-c", PROGRAM)
    assert answer.code == 126 and "nosuchpackage" in answer.errors, answer
