"""Runs of the past over HTTP, what the trail says of one, and a session as a notebook shows it."""
import json

import pytest

from serving import wait_until
from test_http_auth import Tokens


@pytest.fixture(scope="module")
def server(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    yield t
    assert t.server.stop() == 0, t.server.said


def ask(server, path, token=None, method="GET", body=None, **more):
    return server.call(token or server.server.token, method, path, body, **more)


def ids(reply):
    assert reply.status == 200, reply
    return [row["id"] for row in reply.json["runs"]]


def pages(server, query, token=None):
    found, before = [], ""
    while True:
        page = ask(server, f"/v1/runs?history=true&{query}{before}", token).json
        found += page["runs"]
        if not page["next"]:
            return found
        before = f"&before={page['next']}"


def test_runs_that_ended_come_page_by_page_and_none_twice(server):
    token = server.add("pager")
    runs = [server.run(token, f"print({n})").json["id"] for n in range(7)]
    assert [r["id"] for r in pages(server, "limit=3", token)] == runs[::-1]
    newest = ask(server, "/v1/runs?history=true&limit=1", token).json["newest"]
    more = server.run(token, "1/0").json["id"]
    row, = ask(server, f"/v1/runs?history=true&after={newest}", token).json["runs"]
    assert (row["id"], row["state"], row["exit_code"], row["owner"], row["is_kept"]) == (more, "error", 1, "pager", True)
    assert row["wall_ms"] > 0 and row["started_at"] <= row["ended_at"] and row["language"] == "python" and row["code"] == "1/0"


@pytest.mark.parametrize("query, expected", [
    ("status=error", ["b"]), ("status=success", ["c", "a"]), ("text=MARIGOLD", ["a"]), ("language=bash", ["c"]),
    ("language=python&status=success", ["a"]), ("since=1h", ["c", "b", "a"]), ("until=2020-01-01", []),
    ("status=timeout", []), ("text=%27%20OR%201%3D1", []), ("session=ses_none", [])])  # fmt: skip
def test_filters_are_those_of_the_trail(server, query, expected):
    token = server.add("f" + str(abs(hash(query))))
    runs = {"a": server.run(token, "print('marigold')").json["id"], "b": server.run(token, "1/0").json["id"],
            "c": server.run(token, "echo 1", language="bash").json["id"]}
    assert ids(ask(server, f"/v1/runs?history=true&{query}", token)) == [runs[name] for name in expected]


def test_what_runs_is_on_the_first_page_once(server):
    token = server.add("live")
    with_events = server.server.stream("POST", "/v1/run", {"code": "input()"}, {"Authorization": f"Bearer {token}"})
    done = server.run(token, "1").json["id"]
    held = ask(server, "/v1/run", token, "POST", {"code": "import time\ntime.sleep(60)", "detach": True}).json["id"]
    wait_until(lambda: ids(ask(server, "/v1/runs?history=true&status=running", token)) == [held], "it runs")
    rows = ask(server, "/v1/runs?history=true", token).json["runs"]
    assert [r["id"] for r in rows].count(held) == 1 and rows[0]["id"] == held and rows[0]["state"] == "running"
    assert done in [r["id"] for r in rows]
    assert held not in ids(ask(server, "/v1/runs?history=true&status=unfinished", token))
    assert ask(server, f"/v1/runs/{held}/cancel", token, "POST", {}).json["cancelled"] is True
    wait_until(lambda: ids(ask(server, "/v1/runs?history=true&status=cancelled", token)) == [held], "it was cancelled")
    with_events.close()


def test_a_token_finds_its_own_and_an_operator_all(server):
    ours, others = server.add("ours"), server.add("others")
    run = server.run(ours, "print('tansy')").json["id"]
    assert run not in ids(ask(server, "/v1/runs?history=true", others))
    for query in ("all=true", "owner=ours", "history=true&all=true", "history=true&owner=ours"):
        reply = ask(server, f"/v1/runs?{query}", others)
        assert (reply.status, reply.json["error"]["code"]) == (403, "denied"), query
    assert ask(server, "/v1/runs?history=true&owner=others", others).status == 200
    assert run in ids(ask(server, "/v1/runs?history=true&all=true"))
    assert ids(ask(server, "/v1/runs?history=true&owner=ours")) == [run]
    assert run not in ids(ask(server, "/v1/runs?history=true"))
    assert run in ids(ask(server, "/v1/runs?all=true")) and ids(ask(server, "/v1/runs?owner=ours")) == [run]


def test_a_new_token_of_a_name_finds_nothing_of_the_old_one(server):
    old = server.add("heir")
    run = server.run(old, "print('old')").json["id"]
    server.rm("heir")
    assert ask(server, "/v1/runs", old).status == 401
    new = server.add("heir")
    assert ids(ask(server, "/v1/runs?history=true", new)) == []
    assert ask(server, f"/v1/runs/{run}/record", new).status == 404
    own = server.run(new, "1").json["id"]
    assert ids(ask(server, "/v1/runs?history=true", new)) == [own]


@pytest.mark.parametrize("query", ["status=error", "text=a", "since=1h", "until=1h", "before=3", "after=3"])
def test_filters_of_the_trail_need_history(server, query):
    reply = ask(server, f"/v1/runs?{query}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalid") and "history=true" in reply.json["error"]["message"]


@pytest.mark.parametrize("query", ["before=0", "before=x", "limit=0", "limit=1001", "since=soon", "status=ok", "history=1", "nothing=1"])
def test_a_wrong_parameter_is_refused_with_its_name(server, query):
    reply = ask(server, f"/v1/runs?history=true&{query}" if "history" not in query else f"/v1/runs?{query}")
    assert reply.status == 400 and query.split("=")[0] in reply.json["error"]["message"], reply


def test_what_the_trail_says_of_a_run(server):
    token = server.add("told")
    before, run, after = (server.run(token, f"print({n})").json for n in range(3))
    for who in (token, server.server.token):
        record = ask(server, f"/v1/runs/{run['id']}/record", who).json
        assert record["code"]["text"] == "print(1)" and record["code"]["masked"] == 0, record
        assert (record["owner"], record["state"], record["previous"], record["next"]) == ("told", "success", before["id"], after["id"])
        assert record["start"]["limits"] and record["end"]["layers"] == run["layers"] and record["calls"] == []
    assert ask(server, f"/v1/runs/{run['id']}/record", server.add("curious")).status == 404
    for unknown in ("run_none", "%27", "ses_x", "1"):
        assert ask(server, f"/v1/runs/{unknown}/record").status == 404


def test_without_a_trail_the_list_is_what_is_in_memory(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_TRAIL": "off"})
    try:
        run = t.run(t.server.token, "1").json["id"]
        assert ids(ask(t, "/v1/runs")) == [run]
        reply = ask(t, "/v1/runs?history=true").json
        assert reply["next"] is None
        assert ask(t, f"/v1/runs/{run}/record").status == 404
    finally:
        t.server.stop()


def test_an_operator_stops_what_another_token_runs_and_does_not_read_it(server):
    token = server.add("stopped")
    run = ask(server, "/v1/run", token, "POST", {"code": "while True: pass", "detach": True}).json["id"]
    session = ask(server, "/v1/sessions", token, "POST", {"name": "theirs"}).json["session_id"]
    assert ask(server, f"/v1/runs/{run}/cancel", server.add("nobody"), "POST", {}).status == 404
    assert ask(server, f"/v1/runs/{run}").status == 404 and ask(server, f"/v1/sessions/{session}/cells").status == 404
    assert ask(server, f"/v1/runs/{run}/cancel", None, "POST", {}).json["cancelled"] is True
    assert session in [s["session_id"] for s in ask(server, "/v1/sessions?all=true").json["sessions"]]
    assert session not in [s["session_id"] for s in ask(server, "/v1/sessions").json["sessions"]]
    assert ask(server, "/v1/sessions?all=true", token).status == 403
    assert ask(server, f"/v1/sessions/{session}", server.add("nobody2"), "DELETE").status == 404
    assert ask(server, f"/v1/sessions/{session}", None, "DELETE").status == 204
    assert ask(server, f"/v1/sessions/{session}", token).status == 404


def test_cells_are_listed_with_programs_and_answers(server):
    with server.server.session() as session:
        for n in range(5):
            server.server.execute(session, f"x = {n}\nprint(x)")
        server.server.call("POST", f"/v1/sessions/{session}/commands", {"command": "echo no cell"})
        page = ask(server, f"/v1/sessions/{session}/cells?limit=2").json
        assert [c["code"] for c in page["cells"]] == ["x = 3\nprint(x)", "x = 4\nprint(x)"] and page["has_more"] is True
        assert [c["result"]["stdout"] for c in page["cells"]] == ["3\n", "4\n"] and page["cells"][0]["state"] == "success"
        rest = ask(server, f"/v1/sessions/{session}/cells?before={page['cells'][0]['id']}").json
        assert [c["result"]["stdout"] for c in rest["cells"]] == ["0\n", "1\n", "2\n"] and rest["has_more"] is False
        assert ask(server, f"/v1/sessions/{session}/cells?before=run_x").status == 404
        assert ask(server, f"/v1/sessions/{session}/cells?limit=0").status == 400


def test_a_secret_in_a_cell_is_masked_and_a_long_program_is_left_out(server):
    with server.server.session() as session:
        server.server.execute(session, "key = 'AKIA" + "IOSFODNN7EXAMPLQ'")
        server.server.execute(session, "#" * 70000 + "\nprint(1)")
        first, second = ask(server, f"/v1/sessions/{session}/cells").json["cells"]
        assert "AKIAIOSFODNN7EXAMPLQ" not in json.dumps(first), first
        assert second["code"] is None and second["result"]["stdout"] == "1\n"


def test_a_very_large_answer_is_fetched_by_itself(server):
    with server.server.session() as session:
        server.server.execute(session, "import sys\nprint('x' * 4_000_000)\nprint('y' * 4_000_000, file=sys.stderr)", output_bytes=4_194_304)
        cell, = ask(server, f"/v1/sessions/{session}/cells").json["cells"]
        assert cell["result"] is None and cell["is_kept"] is True


HOSTILE = """
class Meta(type):
    def __getattribute__(cls, name):
        print('code of the program ran'); raise SystemExit
class Thing(metaclass=Meta):
    def __repr__(self): print('repr ran'); return ''
    def __len__(self): raise SystemExit
    @property
    def shape(self): raise SystemExit
thing = Thing()
class Sly(str):
    def __getitem__(self, i): raise SystemExit
sly = Sly('x')
n = 10 ** 5000
text = 'a' * 1000
rows = [1, 2]
none = None
def f(): pass
"""


def test_variables_are_described_without_code_of_the_program(server):
    """In profile `open`: the others refuse a metaclass with a `__getattribute__` of its own."""
    with server.server.session(profile="open") as session:
        server.server.execute(session, HOSTILE)
        reply = ask(server, f"/v1/sessions/{session}/variables")
        assert reply.status == 200, reply
        rows = {v["name"]: (v["type"], v["summary"]) for v in reply.json["variables"]}
        assert rows["thing"] == ("Thing", "") and rows["sly"] == ("Sly", "") and rows["rows"] == ("list", "2 items")
        assert rows["none"] == ("NoneType", "None") and rows["n"] == ("int", "16610 bits") and rows["f"][0] == "function"
        assert rows["text"][1].endswith("…") and len(rows["text"][1]) < 80 and reply.json["has_more"] is False
        assert [c["code"] for c in ask(server, f"/v1/sessions/{session}/cells").json["cells"]] == [HOSTILE]


def test_variables_are_told_within_limits_or_not_at_all(server):
    with server.server.session() as session:
        server.server.execute(session, "globals().update({f'v{i}': i for i in range(3000)})")
        listed = ask(server, f"/v1/sessions/{session}/variables").json
        assert len(listed["variables"]) == 500 and listed["has_more"] is True
        server.server.execute(session, "import sys\nsys.modules['_belljar_notebook'].TEXT['variables'] = lambda o: print('{\"variables\": 7}')")
        assert ask(server, f"/v1/sessions/{session}/variables").status in (200, 429)
        busy = server.server.call("POST", f"/v1/sessions/{session}/execute", {"code": "while True: pass", "detach": True}).json["id"]
        wait_until(lambda: ask(server, f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
        reply = ask(server, f"/v1/sessions/{session}/variables")
        assert (reply.status, reply.json["error"]["code"]) == (429, "busy")
        ask(server, f"/v1/runs/{busy}/cancel", None, "POST", {})


def test_a_thousand_runs_come_in_even_pages(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    try:
        runs = [{"id": str(n)} for n in range(1000)]
        assert ask(t, "/v1/batch", None, "POST", {"language": "bash", "code": "true", "runs": runs}).status == 200
        found = pages(t, "limit=90")
        assert len({r["id"] for r in found}) == len(found) == 1000
        assert [r["seq"] for r in found] == sorted((r["seq"] for r in found), reverse=True)
    finally:
        t.server.stop()
