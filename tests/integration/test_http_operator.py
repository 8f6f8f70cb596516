"""Operators over HTTP: the audit trail, the settings in force, and the tokens."""
import json
import os

import pytest

from test_http_auth import Tokens

ROUTES = [("GET", "/v1/audit/records"), ("GET", "/v1/audit/head"), ("GET", "/v1/audit/records/1"), ("POST", "/v1/audit/verify"),
          ("GET", "/v1/config"), ("GET", "/v1/tokens"), ("POST", "/v1/tokens"), ("DELETE", "/v1/tokens/x"), ("GET", "/v1/doctor")]
FOR_ALL = ["/v1/runs", "/v1/runs?history=true", "/v1/sessions", "/v1/approvals", "/v1/me", "/v1/audit/key"]


@pytest.fixture(scope="module")
def server(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    yield t
    t.server.process.poll() is None and t.server.stop()


def ask(server, method, path, token=None):
    return server.call(token or server.server.token, method, path, {} if method == "POST" else None)


@pytest.mark.parametrize("method, path", ROUTES)
def test_they_are_for_operators_alone(server, method, path):
    name = "n" + str(ROUTES.index((method, path)))
    token = server.add(name)
    assert server.call(None, method, path, {} if method == "POST" else None).status == 401
    reply = ask(server, method, path, token)
    assert (reply.status, reply.json["error"]["code"]) == (403, "denied"), reply


@pytest.mark.parametrize("path", FOR_ALL)
def test_these_are_for_every_token_and_all_of_it_for_operators(server, path):
    token = server.add("a" + str(FOR_ALL.index(path)))
    assert server.call(None, "GET", path).status == 401 and ask(server, "GET", path, token).status == 200
    if path in FOR_ALL[:4]:
        everything = path + ("&" if "?" in path else "?") + "all=true"
        assert ask(server, "GET", everything, token).status == 403 and ask(server, "GET", everything).status == 200


def test_a_run_is_found_in_the_trail_by_its_filters(server):
    token = server.add("finder")
    run = server.run(token, "print('heliotrope')").json["id"]
    rows = ask(server, "GET", "/v1/audit/records?kind=run&owner=finder").json["records"]
    assert [(r["id"], r["status"], r["owner"]) for r in rows] == [(run, "success", "finder")]
    assert rows[0]["summary"] == "print('heliotrope')" and rows[0]["wall_ms"] > 0
    seqs = [r["seq"] for r in ask(server, "GET", "/v1/audit/records").json["records"]]
    assert seqs == sorted(seqs, reverse=True) and rows[0]["seq"] in seqs
    assert [r["id"] for r in ask(server, "GET", "/v1/audit/records?text=heliotrope&kind=run").json["records"]] == [run]
    for nothing in ("owner=nobody", "status=timeout&owner=finder", "until=2020-01-01", f"after={10**14}"):
        assert ask(server, "GET", f"/v1/audit/records?{nothing}").json["records"] == [], nothing
    assert len(ask(server, "GET", "/v1/audit/records?limit=1").json["records"]) == 1


def test_a_record_is_shown_whole_with_its_start(server):
    run = server.run(server.server.token, "print('snow')").json["id"]
    shown = ask(server, "GET", f"/v1/audit/records/{run}").json
    assert [r["kind"] for r in shown["records"]] == ["start", "run"] and shown["has_more"] is False
    assert shown["records"][0]["code"]["text"] == "print('snow')"
    seq = shown["records"][1]["seq"]
    assert ask(server, "GET", f"/v1/audit/records/{seq}").json["records"] == shown["records"][1:]


@pytest.mark.parametrize("query", ["kind=x", "status=x", "since=yesterday", "until=2026-1-1", "limit=0", "limit=1001",
                                   "limit=x", "after=-1", "unknown=1", "text=" + "a" * 257])
def test_a_wrong_filter_is_refused_with_its_name(server, query):
    reply = ask(server, "GET", f"/v1/audit/records?{query}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalid"), reply
    assert query.split("=")[0] in reply.json["error"]["message"]


@pytest.mark.parametrize("name", ["run_nothing", "0", "..", "%00", "%27%20OR%201", "9" * 30])
def test_an_unknown_record_is_not_found(server, name):
    assert ask(server, "GET", f"/v1/audit/records/{name}").status in (400, 404)


def test_the_trail_is_verified_and_a_changed_one_is_not_valid(callers):
    who = callers.get("user") or next(iter(callers.values()))
    own = Tokens(who)
    try:
        for word in ("one", "two", "three"):
            own.run(own.server.token, f"print('{word}')")
        good = ask(own, "POST", "/v1/audit/verify").json
        assert good["valid"] and good["problems"] == 0 and good["records"] >= 7, good
        head = ask(own, "GET", "/v1/audit/head").json
        assert 0 < head["seq"] <= good["records"] and len(head["hash"]) == 64
        folder = os.path.join(own.env["XDG_STATE_HOME"], "belljar", "trail")
        path = os.path.join(folder, sorted(n for n in os.listdir(folder) if n.endswith(".jsonl"))[0])
        with open(path, "r+b") as file:
            at = file.read().index(b"print('two')")
            file.seek(at)
            file.write(b"print('TWO')")
        bad = ask(own, "POST", "/v1/audit/verify").json
        assert not bad["valid"] and bad["problems"] == 1, bad
        assert [f["is_problem"] for f in bad["findings"]].count(True) == 1 and "was changed" in str(bad["findings"])
    finally:
        own.server.process.poll() is None and own.server.stop()


def test_settings_say_where_they_come_from_and_hold_no_token(server):
    settings = ask(server, "GET", "/v1/config").json["settings"]
    assert settings["max_timeout_s"]["from"] and settings["listen"]["value"].startswith("127.0.0.1")
    assert server.server.token not in json.dumps(settings)


def test_tokens_are_listed_with_rights_and_never_themselves(server):
    token = server.add("limited", "--profile", "strict", "--runs-per-minute", "60")
    reply = ask(server, "GET", "/v1/tokens")
    rows = {t["name"]: t for t in reply.json["tokens"]}
    assert rows["default"]["operator"] is True
    assert rows["limited"]["profiles"] == ["strict"] and rows["limited"]["operator"] is False
    assert rows["limited"]["limits"] == {"runs_per_minute": 60}
    assert token.encode() not in reply.body and server.server.token.encode() not in reply.body


def test_a_token_sees_its_rights_and_its_use(server):
    token = server.add("me", "--runs-per-minute", "60", "--profile", "strict")
    server.run(token, "1")
    me = ask(server, "GET", "/v1/me", token).json
    assert (me["name"], me["operator"], me["profiles"], me["limits"]) == ("me", False, ["strict"], {"runs_per_minute": 60})
    assert 0 < me["used"]["runs_per_minute"] <= 1 and me["done"] == 1 and me["is_page"] is False
    assert me["created_at"] <= me["last_used_at"]


def test_a_token_is_added_shown_once_and_removed(server):
    reply = ask_with(server, "POST", "/v1/tokens", {"name": "made", "profiles": ["strict"], "grants": True, "limits": {"runs_per_minute": 5}})
    assert reply.status == 201 and reply.json["name"] == "made", reply
    token = reply.json["token"]
    row = next(t for t in ask(server, "GET", "/v1/tokens").json["tokens"] if t["name"] == "made")
    assert (row["profiles"], row["grants"], row["operator"], row["limits"]) == (["strict"], True, False, {"runs_per_minute": 5})
    assert token.encode() not in ask(server, "GET", "/v1/tokens").body
    assert server.run(token, "1").json["status"] == "success"
    assert ask_with(server, "POST", "/v1/tokens", {"name": "made"}).status == 400
    assert ask_with(server, "DELETE", "/v1/tokens/made").status == 204
    assert server.run(token, "1").status == 401 and ask_with(server, "DELETE", "/v1/tokens/made").status == 404
    rows = ask(server, "GET", "/v1/audit/records?kind=token&owner=made").json["records"]
    assert [r["event"] for r in rows] == ["remove", "use", "add"]


def test_with_a_token_goes_what_it_saved(server):
    """The server has the database of saved states open meanwhile."""
    token = ask_with(server, "POST", "/v1/tokens", {"name": "writer"}).json["token"]
    assert server.call(token, "POST", "/v1/states", {"name": "of-a-writer"}).status == 200
    assert [s["name"] for s in ask(server, "GET", "/v1/states", token).json["states"]] == ["of-a-writer"]
    assert ask_with(server, "DELETE", "/v1/tokens/writer").status == 204
    token = ask_with(server, "POST", "/v1/tokens", {"name": "writer"}).json["token"]
    assert ask(server, "GET", "/v1/states", token).json["states"] == []
    assert ask_with(server, "DELETE", "/v1/tokens/writer").status == 204


def ask_with(server, method, path, body=None, **headers):
    return server.call(server.server.token, method, path, body, headers)


@pytest.mark.parametrize("body", [
    {}, {"name": ""}, {"name": "a b"}, {"name": "../x"}, {"name": "default"}, {"name": "local"}, {"name": "n", "limits": {"x": 1}}, {"name": "n", "limits": {"runs_per_minute": "5"}},
    {"name": "n", "limits": {"operator": 1}}, {"name": "n", "profiles": "strict"}, {"name": "n", "profiles": ["nosuch"]}, {"name": "n", "operator": "yes"}, {"name": "n", "token": "bj_x"}, {"name": "n" * 200}])  # fmt: skip
def test_a_wrong_token_is_not_made(server, body):
    reply = ask_with(server, "POST", "/v1/tokens", body)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalid"), reply
    assert "n" not in [t["name"] for t in ask(server, "GET", "/v1/tokens").json["tokens"]]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_what_came_through_a_proxy_changes_no_tokens(server, header):
    for method, path, body in (("POST", "/v1/tokens", {"name": "far"}), ("DELETE", "/v1/tokens/far", None)):
        reply = ask_with(server, method, path, body, **{header: "127.0.0.1"})
        assert (reply.status, reply.json["error"]["code"]) == (403, "denied"), reply


def test_the_first_token_is_not_removed_over_http(server):
    reply = ask_with(server, "DELETE", "/v1/tokens/default")
    assert reply.status == 404 and "belljar token rm default" in reply.json["error"]["hint"]


def test_doctor_says_what_the_command_says(server):
    told = ask(server, "GET", "/v1/doctor")
    assert told.status == 200, told
    command = server.who.call("doctor", "--json", env=server.env)
    assert set(told.json) == set(json.loads(command.out)) and told.json["layers"]


def test_verification_tells_how_far_it_is(server):
    for word in "ab":
        server.run(server.server.token, word)
    stream = server.server.stream("POST", "/v1/audit/verify", {})
    events = [(name, data) for _, name, data in stream]
    assert {name for name, _ in events} <= {"progress", "finding", "result"} and events[-1][0] == "result"
    assert events[-1][1]["valid"] is True and events[-1][1]["records"] > 4
    progress = [data for name, data in events if name == "progress"]
    assert progress and all(p["bytes"] <= p["total_bytes"] and p["files"] <= p["total_files"] for p in progress)
    stream.close()


def test_a_receipt_is_checked(server):
    token = server.add("receipts")
    result = server.run(token, "print(1)", receipt=True).json
    good = ask_with(server, "POST", "/v1/audit/receipt", result).json
    assert good["is_genuine"] is True and good["id"] == result["id"] and good["is_in_trail"] is True and good["why"] is None
    for who, body in ((token, result), (token, result["receipt"])):
        reply = server.call(who, "POST", "/v1/audit/receipt", body).json
        assert reply["is_genuine"] is True and reply["is_in_trail"] is None
    for changed in ({**result, "stdout": "2\n"}, {**result, "receipt": {**result["receipt"], "status": "error"}}):
        bad = ask_with(server, "POST", "/v1/audit/receipt", changed).json
        assert bad["is_genuine"] is False and bad["why"] and bad["is_in_trail"] is None
    for wrong in ({}, {"receipt": 1}, {"receipt": {}}, b"[1]", b"{", b"null"):
        assert ask_with(server, "POST", "/v1/audit/receipt", wrong, **{"Content-Type": "application/json"}).status == 400, wrong
    key = ask(server, "GET", "/v1/audit/key", token).json
    assert key["pem"].startswith("-----BEGIN PUBLIC KEY-----") and key["key"] == result["receipt"]["key"]
