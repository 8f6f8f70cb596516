"""`belljar session`: the sessions of a running server, from the command line."""
import pytest


def session(server, *args, **more):
    return server.who.call("session", *args, "--socket", server.socket, **more)


def test_a_session_is_listed_shown_and_ended(server):
    assert session(server, "list").errors == "no session is open\n"
    assert server.call("POST", "/v1/sessions", {"name": "trial"}).status == 201
    assert server.call("POST", "/v1/sessions/trial/execute", {"code": "x = 1"}).status == 200
    rows = session(server, "list").text.splitlines()
    assert rows[0].split()[:3] == ["NAME", "STATE", "CELLS"] and rows[1].split()[:3] == ["trial", "idle", "1"], rows
    assert session(server, "list", "--json").json["sessions"][0]["name"] == "trial"
    shown = session(server, "show", "trial").json
    assert shown["cells"] == 1 and shown["limits"], shown
    assert session(server, "rm", shown["session_id"]).code == 0
    assert session(server, "list").errors == "no session is open\n"


@pytest.mark.parametrize("name", ["nobody", "../runs", "a b", "\x1b[2J", "x" * 300, "?", "%00"])
def test_a_session_that_is_not_there_is_said(server, name):
    for action in ("show", "rm"):
        answer = session(server, action, name)
        assert answer.code in (64, 66), answer
        assert "hint: " in answer.errors and "\x1b" not in answer.errors, answer


def test_another_server_is_asked_with_a_token(server):
    url = f"http://127.0.0.1:{server.port}"
    answer = server.who.call("session", "list", "--server", url, env={"BELLJAR_TOKEN": server.token or ""})
    assert answer.code == 0, answer
    kept = server.who.file("token", server.token or "")
    answer = server.who.call("session", "list", "--server", url, "--token-file", str(kept))
    assert answer.code == 0, answer
    answer = server.who.call("session", "list", "--server", url, env={"BELLJAR_TOKEN": "wrong"})
    assert answer.code == 77 and "wrong" not in answer.errors and "BELLJAR_TOKEN" in answer.errors, answer


@pytest.mark.parametrize(
    "args, word",
    [
        ((), "`belljar session` needs an action"),
        (("lst",), "did you mean `belljar session list`?"),
        (("show",), "the name of a session"),
        (("list", "x"), "no name"),
        (("list", "--server", "ftp://x"), "http://127.0.0.1"),
        (("list", "--server", "http://127.0.0.1:1"), "belljar serve"),
        (("list", "--jsn"), "--json"),
        (("list", "--server", "http://127.0.0.1:1", "--token-file", "/nonexistent"), "it must contain one token"),
    ],
)
def test_mistakes_are_told_with_a_hint(user, args, word):
    answer = user.call("session", *args)
    assert answer.code in (64, 66) and word in answer.errors and not answer.out, answer


def test_without_a_server_that_is_said(user):
    answer = user.call("session", "list", "--socket", str(user.home / "nothing.sock"))
    assert answer.code == 66 and "no server is running" in answer.errors and "belljar serve" in answer.errors, answer
