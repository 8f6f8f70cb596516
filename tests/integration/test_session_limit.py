"""At the session limit, a new session ends an idle one that the same model opened, and says so."""
import re
import secrets

import pytest

import mcp
from serving import Server, wait_until
from test_audit import audited, of_kind, place  # noqa: F401
from test_mcp_http import Legacy, message

FEW = {"BELLJAR_SESSIONS_MAX": "3"}
ID = re.compile(r"ses_\w+")


def open_new(client, code="1"):
    """The new session's id, and the text of the answer."""
    said = client.text("run_code", {"code": code, "session_id": "new"})
    found = re.search(r"new session (ses_\w+)", said)
    assert found, said
    return found[1], said


def listed(client):
    return set(ID.findall(client.text("list_open_sessions")))


def has_ended(client, id):
    answer = client.call("run_code", {"code": "1", "session_id": id})
    return answer.get("isError") and "there is no session" in mcp.text_of(answer)


def test_the_longest_idle_session_ends_and_the_answer_says_so(audited):  # noqa: F811
    with mcp.Client(audited.who, env={**audited.env, **FEW}) as client:
        client.initialize()
        first, said = open_new(client, "x = 1")
        assert "to make room" not in said
        second, _ = open_new(client)
        third, _ = open_new(client)
        client.text("run_code", {"code": "x += 1", "session_id": first})
        fourth, said = open_new(client)
        assert f"Session {second} ended to make room" in said, said
        assert "its variables and files are gone" in said and "keep_session" in said and "end_session" in said, said
        assert listed(client) == {first, third, fourth}
        assert has_ended(client, second)
        assert "to make room" not in client.text("run_code", {"code": "1", "session_id": fourth})
        assert client.text("run_code", {"code": "print(x)", "session_id": first}) == "2\n"
        wait_until(lambda: [r for r in of_kind(audited.records(), "session") if r.get("id") == second and r["event"] == "end"], "its end is recorded")
    records = of_kind(audited.records(), "session")
    assert [r["evicted"] for r in records if r.get("evicted")] == [second], records
    assert "needed its place" in next(r["why"] for r in records if r.get("id") == second and r["event"] == "end")


def test_kept_running_and_own_sessions_stay(who):
    with mcp.Client(who, env=FEW) as client:
        client.initialize()
        client.text("run_code", {"code": "mine = 1"})
        (own,) = listed(client)
        kept, _ = open_new(client, "y = 2")
        assert "does not end" in client.text("keep_session", {"session_id": kept})
        assert f"{kept}: idle, 1 call(s) done" in client.text("list_open_sessions") and ", kept" in client.text("list_open_sessions")
        busy, _ = open_new(client)
        run = client.ask("tools/call", {"name": "run_code", "arguments": {"code": "import time\nwhile True: time.sleep(0.1)", "session_id": busy}})
        wait_until(lambda: f"{busy}: running code" in client.text("list_open_sessions"), "it runs")
        refused = client.call("run_code", {"code": "1", "session_id": "new"})
        said = mcp.text_of(refused)
        assert refused["isError"] and "3 sessions are open" in said and "end_session" in said and "session_evict" not in said, said
        client.text("interrupt", {"session_id": busy})
        client.answer(run)
        assert f"Session {busy} ended to make room" in open_new(client)[1]
        assert client.text("run_code", {"code": "print(mine)"}) == "1\n"
        assert client.text("run_code", {"code": "print(y)", "session_id": kept}) == "2\n"
        assert "may end" in client.text("keep_session", {"session_id": kept, "keep": False})
        client.text("run_code", {"code": "1", "session_id": next(iter(listed(client) - {own, kept}))})
        assert f"Session {kept} ended to make room" in open_new(client)[1]
        assert client.call("keep_session", {"session_id": kept})["isError"]
        assert own in listed(client)


def test_copies_make_room_but_not_of_their_source(who):
    with mcp.Client(who, env=FEW) as client:
        client.initialize()
        ids = [open_new(client)[0] for _ in range(3)]
        answer = client.call("fork_session", {"n": 2, "session_id": ids[0]})
        if answer.get("isError") and "checked build" in mcp.text_of(answer):
            pytest.skip("a checked build copies no memory")
        said = mcp.text_of(answer)
        assert f"Sessions {ids[1]} {ids[2]} ended to make room" in said and "their variables" in said, said
        assert ids[0] in listed(client) and len(listed(client)) == 3
        refused = client.call("fork_session", {"n": 3, "session_id": ids[0]})
        assert refused["isError"] and len(listed(client)) == 3, refused


def test_no_turns_it_off(who):
    with mcp.Client(who, env={**FEW, "BELLJAR_SESSION_EVICT": "no"}) as client:
        client.initialize()
        ids = {open_new(client)[0] for _ in range(3)}
        refused = client.call("run_code", {"code": "1", "session_id": "new"})
        assert refused["isError"] and "3 sessions are open" in mcp.text_of(refused)
        assert listed(client) == ids


def legacy_id(peer, code="1"):
    said = str(peer.send(message("tools/call", {"name": "run_code", "arguments": {"code": code, "session_id": "new"}})).json)
    return re.search(r"new session (ses_\w+)", said)[1], said


def test_a_model_ends_no_session_of_http_or_of_another_token(who):
    server = Server(who, "--socket", "none", env={"BELLJAR_SESSIONS_MAX": "4"})
    try:
        other = {"Authorization": "Bearer " + who.call("token", "add", "o" + secrets.token_hex(3)).text.split()[-1]}
        theirs = legacy_id(Legacy(server, headers=other))[0]
        plain = server.post("/v1/sessions", {}).json
        assert plain["evicted"] is None
        assert server.post("/v1/sessions", {"name": "mine"}).status == 201
        assert server.post("/v1/sessions", {}).status == 429
        refused = Legacy(server).send(message("tools/call", {"name": "run_code", "arguments": {"code": "1", "session_id": "new"}})).json["result"]
        assert refused["isError"] and "2 sessions open" in mcp.text_of(refused), refused
        assert server.get(f"/v1/sessions/{plain['session_id']}").status == 200
        shown = server.call("GET", f"/v1/sessions/{theirs}", headers=other)
        assert shown.status == 200, shown
    finally:
        assert server.stop() == 0, server.said


def test_over_http_the_setting_decides(who):
    server = Server(who, "--socket", "none", env={"BELLJAR_SESSIONS_MAX": "6", "BELLJAR_SESSION_EVICT": "yes"})
    try:
        who.call("token", "add", "o" + secrets.token_hex(3))  # of six places one of two tokens gets three
        named = server.post("/v1/sessions", {"name": "mine"}).json["session_id"]
        marked, plain = (server.post("/v1/sessions", {}).json["session_id"] for _ in range(2))
        for id in (named, marked, plain):
            assert server.post(f"/v1/sessions/{id}/execute", {"code": "x = 1"}).status == 200
        if server.post(f"/v1/sessions/{marked}/checkpoint", {"name": "c"}).status != 200:
            pytest.skip("a checked build copies no memory")
        made = server.post("/v1/sessions", {})
        assert made.status == 201 and made.json["evicted"] == [plain], made
        assert server.get(f"/v1/sessions/{plain}").status == 404
        assert {s["session_id"] for s in server.get("/v1/sessions").json["sessions"]} == {named, marked, made.json["session_id"]}
    finally:
        assert server.stop() == 0, server.said
