"""Runs without a client: detached, listed, read along, stopped."""
import json
import time

import pytest

from serving import wait_until

SECRET = "sk-proj-" + "Zq3Lm8Xt5Vb2Nc7Rk9Wd4Hs6" * 2


def detach(server, code, **fields):
    answer = server.post("/v1/run", {"code": code, "detach": True, "profile": "open", **fields})
    assert answer.status == 200 and answer.json["status"] == "running", answer
    return answer.json["id"]


def result(server, run):
    shown = lambda: server.get(f"/v1/runs/{run}").json  # noqa: E731
    return wait_until(lambda: shown() if shown()["status"] != "running" else None, "the run ends")


def listed(server, run, query="", **more):
    return next((r for r in server.get(f"/v1/runs{query}", **more).json["runs"] if r["id"] == run), None)


def follow(server, run, query=""):
    return [(name, data) for _, name, data in server.stream("GET", f"/v1/runs/{run}/follow{query}")]


def text(events, name="stdout"):
    return "".join(data["text"] for kind, data in events if kind == name)


def test_a_detached_run_goes_on_and_its_answer_is_kept(server):
    run = detach(server, "import sys\nprint('é')\nprint('b', file=sys.stderr)\nsys.exit(3)")
    found = result(server, run)
    assert (found["stdout"], found["stderr"], found["exit_code"]) == ("é\n", "b\n", 3), found
    assert listed(server, run)["state"] == "error" and listed(server, run)["exit_code"] == 3
    assert listed(server, run, "?state=live") is None
    assert [name for name, _ in follow(server, run)] == ["result"]


def test_a_live_run_is_listed_read_along_and_stopped(server):
    line = "import time; print('a' * 3, flush=True); time.sleep(120)"
    run = detach(server, f"\n  \n{line}\nprint('never')", timeout_s=130)
    wait_until(lambda: listed(server, run)["state"] == "running", "it runs")
    shown = listed(server, run, "?state=live")
    assert (shown["language"], shown["detached"], shown["session_id"], shown["exit_code"], shown["code"]) == ("python", True, None, None, line)
    assert shown["age_s"] >= 0 and shown["owner"]
    streams = [server.stream("GET", f"/v1/runs/{run}/follow") for _ in range(2)]
    for stream in streams:
        seen = iter(stream)
        assert next(seen)[1:] == ("start", {"id": run})
        assert next(seen)[1] == "stdout"
    assert server.post(f"/v1/runs/{run}/cancel", {}).json == {"cancelled": True}
    for stream in streams:
        *_, (_, name, data) = list(stream)
        assert (name, data["status"], data["stdout"]) == ("result", "cancelled", "aaa\n")


def test_reading_goes_on_behind_what_was_read(server):
    run = detach(server, "import sys, time\nprint('0123 5678', flush=True)\ntime.sleep(120)", timeout_s=130)
    wait_until(lambda: listed(server, run)["state"] == "running", "it runs")
    stream = iter(server.stream("GET", f"/v1/runs/{run}/follow?stdout=4&stderr=0"))
    assert next(stream)[1] == "start"
    seen = ""
    while len(seen) < 6:  # it may come in pieces
        _, name, data = next(stream)
        assert (name, data["offset"]) == ("stdout", 4 + len(seen))
        seen += data["text"]
    assert seen == " 5678\n"
    assert server.post(f"/v1/runs/{run}/cancel", {}).status == 200
    assert [name for _, name, _ in stream][-1] == "result"


def test_all_of_a_long_output_comes_once_and_in_order(server):
    """More than the answer has, in characters of several bytes, to a reader that is there before the first byte."""
    code = "import sys\nfor i in range(30000): print(i, '\\u20ac\\u00e4x')\nprint('end', file=sys.stderr)"
    with server.session() as session:
        cell = lambda code, **more: server.post(f"/v1/sessions/{session}/execute", {"code": code, "detach": True, **more}).json["id"]  # noqa: E731
        first, run = cell("import time; time.sleep(120)", timeout_s=130), cell(code, output_bytes=1000)
        wait_until(lambda: listed(server, first)["state"] == "running", "the first cell runs")
        stream = iter(server.stream("GET", f"/v1/runs/{run}/follow"))
        assert next(stream)[1] == "start"
        server.post(f"/v1/runs/{first}/cancel", {})
        events = [(name, data) for _, name, data in stream]
    assert text(events) == "".join(f"{i} \u20ac\u00e4x\n" for i in range(30000))
    assert text(events, "stderr") == "end\n" and events[-1][1]["status"] == "success"
    offset = 0
    for name, data in events:
        if name == "stdout":
            assert data["offset"] == offset
            offset += len(data["text"].encode())


def test_cells_are_listed_and_read_along_by_their_owner(server):
    with server.session() as session:
        begun = server.post(f"/v1/sessions/{session}/execute", {"code": "x = 1\nprint(x, flush=True)\nimport time\ntime.sleep(120)", "detach": True, "timeout_s": 130})
        run = begun.json["id"]
        waits = server.post(f"/v1/sessions/{session}/execute", {"code": "print(x + 1)", "detach": True}).json["id"]
        wait_until(lambda: listed(server, run)["state"] == "running", "the cell runs")
        assert listed(server, waits)["state"] == "waiting"
        assert [r["id"] for r in server.get(f"/v1/runs?session={session}&state=live").json["runs"]] == [waits, run]
        assert listed(server, run)["session_id"] == session
        seen = iter(server.stream("GET", f"/v1/runs/{run}/follow"))
        assert next(seen)[1] == "start" and next(seen)[2]["text"].startswith("1")
        assert server.post(f"/v1/sessions/{session}/interrupt", {}).json == {"interrupted": True}
        last = list(seen)[-1]  # behind the traceback
        assert (last[1], last[2]["session_state"]) == ("result", "kept")
        assert result(server, waits)["stdout"] == "2\n"
    assert server.get("/v1/runs?session=none").status == 404


def test_a_key_starts_one_detached_run(server):
    body = {"code": "print(1)", "detach": True}
    key = {"Idempotency-Key": f"detached-{time.monotonic_ns()}"}
    first, second = (server.post("/v1/run", body, headers=key) for _ in range(2))
    assert first.json == second.json and second.headers["idempotency-replayed"] == "true"
    result(server, first.json["id"])
    assert server.post("/v1/run", body, headers=key).json == first.json


def test_a_token_sees_only_its_own_runs(server):
    added = server.who.call("token", "add", f"other-{time.monotonic_ns()}")
    assert added.code == 0, added
    other = {"Authorization": f"Bearer {added.text.strip()}"}
    run = detach(server, "import time; time.sleep(120)", timeout_s=130)
    assert listed(server, run) and server.get("/v1/runs", headers=other).json["runs"] == []
    for method, path in (("GET", ""), ("GET", "/follow"), ("GET", "/events"), ("POST", "/cancel")):
        answer = server.call(method, f"/v1/runs/{run}{path}", {} if method == "POST" else None, headers=other)
        assert answer.status == 404, (path, answer)
    assert server.post(f"/v1/runs/{run}/cancel", {}).json == {"cancelled": True}


def test_secrets_in_the_first_line_are_masked(server):
    run = detach(server, f"key = '{SECRET}'; print(1)")
    assert SECRET not in json.dumps(server.get("/v1/runs").json)
    assert listed(server, run)["code"].startswith("key = ")
    result(server, run)


@pytest.mark.parametrize("query", ["?limit=0", "?limit=1001", "?state=x", "?nonsense=1", "?limit=a"])
def test_a_wrong_query_is_refused(server, query):
    assert server.get(f"/v1/runs{query}").status == 400


def test_a_reader_that_goes_away_does_not_end_the_run(server):
    run = detach(server, "import time\nfor i in range(2000): print(i, flush=True)\ntime.sleep(1)\nprint('end')", timeout_s=130)
    for _ in range(3):
        stream = iter(server.stream("GET", f"/v1/runs/{run}/follow"))
        next(stream)
        stream.close()
    assert result(server, run)["stdout"].endswith("end\n")


def test_a_reader_that_does_not_read_does_not_hold_the_run(server):
    run = detach(server, "import time\ntime.sleep(0.5)\nfor i in range(100): print('x' * 99999)", timeout_s=130)
    with server.open() as s:
        s.sendall(f"GET /v1/runs/{run}/follow HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        assert result(server, run)["status"] == "success"
        seen = b""
        while not seen.endswith(b"\r\n0\r\n\r\n"):
            piece = s.recv(1 << 20)
            assert piece, "all of it comes later"
            seen += piece
    assert b"event: result" in seen and b"event: dropped" not in seen and seen.count(b"x") >= 100 * 99999
