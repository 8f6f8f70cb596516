"""Refactoring sessions, which outlive runs, through every interface."""
import json
import os
import select
import signal
import stat
import uuid

import mcp
import pytest


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture
def home(who):
    """A state directory of the test's own."""
    place = who.home / f"state-{uuid.uuid4().hex}"
    return {"XDG_STATE_HOME": str(place)}


def open_client(who, home):
    client = mcp.Client(who, env=home)
    client.initialize()
    return client


def good(client, tool, **arguments):
    result = client.call(tool, arguments)
    assert "isError" not in result, result
    assert result["structuredContent"]["status"] == "success"
    return result["structuredContent"]


def bad(client, tool, **arguments):
    result = client.call(tool, arguments)
    assert result["isError"], result
    return result["structuredContent"]


def test_a_state_survives_a_killed_process(who, home):
    with open_client(who, home) as client:
        made = good(client, "create_refactoring_session", session_name="rename", description="all of it")
        assert made["session_id"] == "rename" and made["path"] and made["message"]
        assert good(client, "save_session_state", session_id="rename", state={"done": ["a.py"], "n": 1})["version"] == 1
        assert good(client, "save_session_state", session_id="rename", state={"done": ["a.py", "b.py"]})["version"] == 2
        os.kill(client.process.pid, signal.SIGKILL)
    with open_client(who, home) as client:
        loaded = good(client, "load_session_state", session_id="rename")
        assert loaded["state"] == {"done": ["a.py", "b.py"]} and loaded["description"] == "all of it"
        assert [h["version"] for h in loaded["history"]] == [2, 1]
        assert good(client, "load_session_state", session_id="rename", version=1)["state"] == {"done": ["a.py"], "n": 1}
        assert [s["name"] for s in good(client, "list_sessions")["sessions"]] == ["rename"]
        good(client, "delete_session", session_id="rename")
        assert good(client, "list_sessions")["sessions"] == []
        assert bad(client, "load_session_state", session_id="rename")["code"] == "not_found"


def test_two_processes_lose_no_save_and_see_each_other(who, home):
    with open_client(who, home) as one, open_client(who, home) as two:
        good(one, "create_refactoring_session", session_name="x")
        for i in range(10):
            good(one, "save_session_state", session_id="x", state={"one": i})
            good(two, "save_session_state", session_id="x", state={"two": i})
        assert len(good(one, "load_session_state", session_id="x")["history"]) == 20
        refused = bad(two, "save_session_state", session_id="x", state={}, version=19)
        assert refused["code"] == "invalid" and "version is 20" in refused["error"]


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "", ".x", "x\u0000y", "x y", "é", "a" * 65])
def test_names_that_are_paths_or_worse_are_refused(who, home, name):
    with open_client(who, home) as client:
        assert client.call("create_refactoring_session", {"session_name": name})["isError"]
    assert not [f for f in os.listdir(home["XDG_STATE_HOME"] + "/belljar") if "sqlite" in f]


def test_secrets_are_masked_when_a_state_is_loaded(who, home):
    secret = "ghp_" + "aB3dE6gH9" * 4
    with open_client(who, home) as client:
        good(client, "create_refactoring_session", session_name="x")
        good(client, "save_session_state", session_id="x", state={"token": secret, "n": 1})
        result = client.call("load_session_state", {"session_id": "x"})
        assert secret not in str(result) and result["structuredContent"]["state"]["n"] == 1


def test_the_file_is_its_owners_alone_and_is_not_there_before(who, home):
    place = home["XDG_STATE_HOME"] + "/belljar"
    with open_client(who, home) as client:
        assert client.text("execute_python_code", {"code": "print(1)"}) == "1\n"
        assert not os.path.exists(place + "/state.sqlite")
        good(client, "create_refactoring_session", session_name="x")
        for name in (n for n in os.listdir(place) if n.startswith("state.sqlite")):
            assert stat.S_IMODE(os.stat(f"{place}/{name}").st_mode) == 0o600


def test_what_is_too_large_or_no_object_is_refused(who, home):
    with open_client(who, home) as client:
        good(client, "create_refactoring_session", session_name="x")
        assert bad(client, "save_session_state", session_id="x", state={"a": "x" * (1 << 20)})["code"] == "too_large"
        assert client.call("save_session_state", {"session_id": "x", "state": [1]})["isError"]
        assert good(client, "load_session_state", session_id="x")["state"] == {}


def test_the_command_line_lists_shows_and_deletes(who, home):
    with open_client(who, home) as client:
        good(client, "create_refactoring_session", session_name="rename", description="all\x1b[2J of it")
        good(client, "save_session_state", session_id="rename", state={"n": 7})
    listed = who.call("state", "list", env=home)
    assert listed.text.startswith("NAME ") and "\nrename " in listed.text and "\x1b" not in listed.text
    assert json.loads(who.call("state", "show", "rename", env=home).text)["state"] == {"n": 7}
    assert who.call("state", "rm", "rename", env=home).code == 0
    assert who.call("state", "show", "rename", env=home).code == 66
    assert who.call("state", "show", "../rename", env=home).code == 64
    assert who.call("state", "forget", env=home).code == 64


def test_the_command_line_creates_saves_and_goes_back(who, home):
    def state(*args, **more):
        return who.call("state", *args, env=home, **more)

    assert state("save", "plan", "-", input=b"{}").code == 66
    assert state("create", "plan", "the plan").text == "plan: created\n"
    assert state("create", "plan").text == "plan: already exists, unchanged\n"
    assert state("save", "plan", "-", input=b'{"n": 1}').text == "plan: version 1\n"
    assert state("save", "plan", "-", input=b'{"n": 2, "token": "ghp_' + b"a1B2" * 9 + b'"}').text == "plan: version 2\n"
    assert json.loads(state("show", "plan@1").text)["state"] == {"n": 1}
    shown = json.loads(state("show", "plan").text)
    assert shown["state"]["n"] == 2 and "REDACTED" in shown["state"]["token"] and shown["description"] == "the plan"
    assert [line.split()[:2] for line in state("history", "plan").text.splitlines()] == [["plan", "2"], ["plan", "1"]]
    assert [h["version"] for h in json.loads(state("history", "--json", "plan").text)] == [2, 1]
    for args, data, code in (
        (["show", "plan@3"], None, 66), (["show", "plan@x"], None, 64), (["show", "plan@"], None, 64), (["save", "plan", "-"], b"[1]", 64),
        (["save", "plan", "-"], b"{", 64), (["save", "plan", "-"], b'{"x": "' + b"y" * (1 << 20) + b'"}', 65), (["save", "plan"], None, 64),
        (["create", "a", "b", "c"], None, 64), (["show", "x" * 70], None, 64),
    ):  # fmt: skip
        assert state(*args, input=data).code == code, args


def test_a_kill_at_any_moment_leaves_old_or_new(who, home):
    """Writers that are killed while they write, many times over: versions have no gap, and each state is one that somebody saved, whole."""
    assert who.call("state", "create", "plan", env=home).code == 0
    whole = {"fill": "x" * 200_000}
    file = who.file(f"state-{uuid.uuid4().hex}.json", json.dumps(whole))
    told = 0
    for round_ in range(12):
        writers = [who.start("state", "save", "plan", str(file), env=home) for _ in range(3)]
        # One is left alone, one is killed at once, and one somewhere on its way.
        writers[1].kill()
        if round_ % 2:
            select.select([writers[0].stdout], [], [], 0.002 * round_)
        writers[2].kill()
        for writer in writers:
            told += b"version" in writer.communicate()[0]
    shown = json.loads(who.call("state", "show", "plan", env=home).text)
    versions = [h["version"] for h in shown["history"]]
    assert versions == list(range(versions[0], versions[-1] - 1, -1)) and shown["state"] == whole
    assert 12 <= told <= versions[0] <= 36 and {h["bytes"] for h in shown["history"]} == {shown["history"][0]["bytes"]}
