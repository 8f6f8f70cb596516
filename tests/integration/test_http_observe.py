"""An operator's view: metrics, and one log line per run."""
import json
import re

import pytest

from test_http_auth import Tokens

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def server(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_LOG_FORMAT": "json"})
    yield t
    t.server.process.poll() is None and t.server.stop()


def figures(tokens, token=None):
    """Name with labels to value; fails where a line is not as Prometheus wants it."""
    reply = tokens.call(token or tokens.server.token, "GET", "/metrics")
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values, typed = {}, set()
    for line in reply.body.decode("ascii").splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) belljar_[a-z_]+ .+", line), line
            continue
        match = re.fullmatch(r'(belljar_[a-z_]+)(\{[a-z]+="[^"]*"\})? (-?[0-9.e+-]+)', line)
        assert match, line
        assert re.sub("_(bucket|sum|count)$", "", match[1]) in typed or match[1] in typed, line
        values[match[1] + (match[2] or "")] = float(match[3])
    return values


def test_runs_are_counted_by_status(server):
    before = figures(server)
    programs = [
        ("print(1)", {}), ("1/0", {}), ("while True: pass", {"timeout_s": 1}),
        ("import ctypes", {"profile": "strict"}),
    ]  # fmt: skip
    for code, fields in programs:
        assert server.run(server.server.token, code, **fields).status == 200
    after = figures(server)
    for status in ("success", "error", "timeout", "refused"):
        name = f'belljar_runs_total{{status="{status}"}}'
        assert after[name] == before[name] + 1, name
    for part in ("queue", "total"):
        assert after[f"belljar_{part}_seconds_count"] == before[f"belljar_{part}_seconds_count"] + 4
    assert after["belljar_run_seconds_sum"] > before["belljar_run_seconds_sum"] + 1
    for part in ("queue", "start", "run", "total"):
        buckets = [v for k, v in after.items() if k.startswith(f"belljar_{part}_seconds_bucket")]
        assert buckets == sorted(buckets) and buckets[-1] == after[f"belljar_{part}_seconds_count"]
    assert after["belljar_cpu_seconds_total"] > before["belljar_cpu_seconds_total"]
    assert after["belljar_resident_memory_bytes"] > 1e6
    assert after["belljar_pool_wanted"] == 2


def test_masked_secrets_are_counted_and_our_own_token_is_one(server):
    before = figures(server)
    token = server.server.token
    half = len(token) // 2
    reply = server.run(token, f"a, b = {token[:half]!r}, {token[half:]!r}\nprint('x', a + b)\nprint(len(a + b))")
    assert token not in reply.json["stdout"] and reply.json["stdout"].endswith(f"{len(token)}\n"), reply
    assert reply.json["masked"]["count"] == 1, reply
    server.run(token, "print('nothing')")
    after = figures(server)
    assert after["belljar_masked_total"] == before["belljar_masked_total"] + 1
    assert after["belljar_masked_runs_total"] == before["belljar_masked_runs_total"] + 1


def test_refusals_are_counted_by_reason(server):
    before = figures(server)
    server.run("bj_wrong", "print(1)")
    server.call(server.server.token, "GET", "/v1/sessions", headers={"Host": "evil.example"})
    token = server.add("rare", "--runs-per-minute", "1")
    assert [server.run(token, "1").status for _ in range(2)] == [200, 429]
    assert server.call(token, "GET", "/metrics").status == 403
    after = figures(server)
    for reason in ("auth", "origin", "quota", "operator"):
        name = f'belljar_refusals_total{{reason="{reason}"}}'
        assert after[name] == before[name] + 1, name


def test_figures_of_the_whole_are_for_operators(server):
    token, operator = server.add("plain"), server.add("chief", "--operator")
    assert server.call(None, "GET", "/metrics").status == 401
    assert server.call(token, "GET", "/metrics").status == 403
    assert figures(server, operator)
    server.run(token, "print(1)")
    own = server.call(token, "GET", "/v1/stats").json
    assert own == {"you": {"name": "plain", "running": 0, "waiting": 0, "done": 1, "refused": 0}}
    whole = server.call(operator, "GET", "/v1/stats").json
    assert {"name": "plain", "running": 0, "waiting": 0, "done": 1, "refused": 0} in whole["server"]["tokens"]


def test_a_trace_is_passed_on_if_it_is_one(server):
    token = server.server.token
    reply = server.call(token, "POST", "/v1/run", {"code": "1"}, {"traceparent": TRACE})
    assert reply.headers["traceparent"] == TRACE
    show = {"code": "echo $TRACEPARENT", "language": "bash", "profile": "open"}
    for more, said in (({}, TRACE), ({"env": {"TRACEPARENT": "mine"}}, "mine"), ({"env": {f"A{i}": "" for i in range(128)}}, "")):
        reply = server.call(token, "POST", "/v1/run", {**show, **more}, {"traceparent": TRACE})
        assert reply.json["stdout"] == said + "\n", reply
    wrong = [
        TRACE[:-1], TRACE + "0", TRACE.upper(), "ff" + TRACE[2:], TRACE.replace("-", "_"), "", "x",
        "00-" + "0" * 32 + TRACE[35:], TRACE[:36] + "0" * 16 + TRACE[52:],
    ]  # fmt: skip
    for text in wrong:
        reply = server.call(token, "POST", "/v1/run", {"code": "1"}, {"traceparent": text})
        assert reply.status == 200 and "traceparent" not in reply.headers, text


def test_each_run_is_one_line_and_nothing_of_a_client_breaks_it(callers):
    who = callers.get("user") or next(iter(callers.values()))
    evil = 'a"b\\c\nfake=1 {"event":"run"}\r\u2028\x1b[31m'
    ids = {}
    for form in ("json", "text"):
        t = Tokens(who, env={"BELLJAR_LOG_FORMAT": form})
        token = t.add("ann")
        t.run(token, "print('secret-output')", correlation_id=evil)
        ids[form] = t.call(token, "POST", "/v1/run", {"code": "1/0", "correlation_id": "c-7"}, {"traceparent": TRACE}).json["id"]
        assert t.server.stop() == 0
        lines = t.server.said[-1].splitlines()
        assert token not in t.server.said[-1] and "secret-output" not in t.server.said[-1]
        assert len(lines) == 4 and "told to stop" in lines[2] and "stopped" in lines[3], lines
        lines = lines[:2]
        if form == "json":
            first, second = map(json.loads, lines)
            assert first["correlation_id"] == evil and (first["event"], first["status"]) == ("run", "success")
            assert (second["run"], second["owner"], second["correlation_id"], second["status"], second["exit"]) == (
                ids[form], "ann", "c-7", "error", 1)  # fmt: skip
            assert second["trace_id"] == TRACE[3:35] and second["level"] == "info"
            assert second["run_ms"] > 0 and second["queue_ms"] >= 0 and second["memory_bytes"] > 0
        else:
            assert re.search(rf"Z info run run={ids[form]} owner=ann correlation_id=c-7 trace_id={TRACE[3:35]} ", lines[1])


def test_a_log_that_nobody_reads_holds_nothing_up(server):
    """Its pipe is not read here: 64 KB are full after some two hundred lines."""
    token = server.server.token
    session = server.call(token, "POST", "/v1/sessions", {"profile": "open"}).json["session_id"]
    for _ in range(400):
        reply = server.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "0", "correlation_id": "x" * 128})
        assert reply.status == 200, reply
    assert server.server.stop() == 0
    lines = server.server.said[-1].splitlines()
    assert len(lines) > 50
    assert all(json.loads(line) for line in lines)
