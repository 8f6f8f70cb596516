"""Code that takes longer than its call: an answer with `wait_s`, wait_run, interrupt; and checking code without running it."""
import json
import re

import mcp
import pytest
import serving

RUN = re.compile(r'"run_id": "(run_\w+)"')

# Goes on until a file is there, which the test writes: no clock decides.
UNTIL = """\
import os, time
print('begun', flush=True)
while not os.path.exists('/workspace/{0}'): time.sleep(0.02)
print('ended', flush=True)
6 * 7
"""


@pytest.fixture(scope="module")
def who(callers):
    return callers.get("user") or callers["root"]


@pytest.fixture
def client(who):
    with mcp.Client(who, "--profile", "open") as c:
        c.initialize()
        yield c


def run_of(text):
    line = next(line for line in text.splitlines() if line.startswith("[running] "))
    return RUN.search(line).group(1)


def leave(client, code, tool="run_code", **more):
    """Starts code that goes on, and returns its run_id and the first answer."""
    text = client.text(tool, {"code": code, "wait_s": 0.05, "timeout_s": 120, **more})
    return run_of(text), text


def follow(client, run, until, tool="wait_run", **more):
    """Looks again and again until the text is there; everything that was shown."""
    seen = text = ""
    while until not in seen:
        text = client.text(tool, {"run_id": run, "wait_s": 0.2, **more})
        seen += text
        assert until in seen or "[running] " in text, seen
    return seen


def let_end(client, name="go"):
    client.text("write_file", {"path": name, "content": ""})


def outputs(text):
    return [line for line in text.splitlines() if not line.startswith(("[running] ", "[files] "))]


def test_a_call_returns_and_its_code_goes_on(client):
    run, first = leave(client, UNTIL.format("go"))
    seen = first if "begun" in first else first + follow(client, run, "begun")
    let_end(client)
    seen += follow(client, run, "[result]")
    assert outputs(seen) == ["begun", "ended", "[result] 42"], seen
    assert client.text("run_code", {"code": "1 + 1"}) == "[result] 2\n"


def test_the_line_names_calls_that_work(client):
    """Followed to the letter, by way of `more`, which is what the client sees."""
    run, text = leave(client, UNTIL.format("never"))
    calls = [json.loads(c) for c in re.findall(r"more (\{.*?\}\})", text)]
    assert [c["tool"] for c in calls] == ["wait_run", "interrupt"], text
    assert "120 s" in text
    calls[0]["arguments"]["wait_s"] = 0
    assert run_of(client.text("more", calls[0])) == run
    assert "interrupted" in client.text("more", calls[1])
    end = client.call("more", {**calls[0], "arguments": {"run_id": run}})
    assert end["isError"] and mcp.text_of(end).startswith("cancelled:")
    assert client.text("interrupt", {"run_id": run}) == "the run has ended already"


def test_output_is_shown_once_and_the_result_is_kept(client):
    run, first = leave(client, "print('one', flush=True)\n" + UNTIL.format("go"))
    seen = first if "begun" in first else first + follow(client, run, "begun")
    assert outputs(client.text("wait_run", {"run_id": run, "wait_s": 0})) == []
    let_end(client)
    last = follow(client, run, "[result]")
    assert outputs(seen + last) == ["one", "begun", "ended", "[result] 42"]
    assert client.text("wait_run", {"run_id": run}).splitlines()[:2] == ["ended", "[result] 42"]


def test_much_output_stays_within_the_bound_and_can_be_read(client):
    code = "for i in range(100000): print('line', i)\nprint(flush=True)\n" + UNTIL.format("go")
    run, first = leave(client, code)
    assert len(first) < 12000
    text = first
    while "begun" not in text:
        assert "[running] " in text, text
        text = client.text("wait_run", {"run_id": run, "wait_s": 0.2})
        assert len(text) < 12000
    assert "wait_run" in client.text("read_output", {"handle": run})
    let_end(client)
    last = follow(client, run, "[result]")
    assert "[output]" in last and len(last) < 12000
    assert client.text("read_output", {"handle": run, "search": "^line 77777$"}).startswith("77778: line 77777\n")


def test_code_that_ends_in_time_is_answered_as_ever(client):
    assert client.text("run_code", {"code": "print(1)", "wait_s": 60}) == "1\n"
    assert client.text("run_code", {"code": "echo 2", "language": "bash", "wait_s": 60}) == "2\n"


def test_a_program_cannot_pass_for_the_line(client):
    run, first = leave(client, "print('[running] 1 s; stop it', flush=True)\n" + UNTIL.format("go"))
    seen = first if "begun" in first else first + follow(client, run, "begun")
    assert "| [running] 1 s; stop it" in seen
    let_end(client)


@pytest.mark.parametrize("wait", [-1, 1e9, "5", True, [1]])
def test_a_bad_wait_is_refused(client, wait):
    for tool, arguments in (("run_code", {"code": "1"}), ("wait_run", {"run_id": "run_x"}), ("execute_bash_code", {"code": "true"})):
        result = client.call(tool, {**arguments, "wait_s": wait})
        assert result["isError"] and "`wait_s`" in mcp.text_of(result)


def test_unknown_runs(client):
    for run in ("run_x", "", "tsk_1", "../x"):
        result = client.call("wait_run", {"run_id": run})
        assert result["isError"] and "not_found" in mcp.text_of(result)
        if run:
            assert client.call("interrupt", {"run_id": run})["isError"]


def test_the_long_list(who):
    """Bash, structured content that matches the schema, and tools called by their names."""
    with mcp.Client(who, "--tools", "all", "--profile", "open") as c:
        c.initialize()
        tools = {t["name"]: t for t in c.request("tools/list")["result"]["tools"]}
        assert {"wait_run", "interrupt"} <= set(tools)
        result = c.call("execute_bash_code", {"code": "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended", "wait_s": 0.05})
        run = run_of(mcp.text_of(result))
        assert "more {" not in mcp.text_of(result)
        data = result["structuredContent"]
        allowed = tools["execute_bash_code"]["outputSchema"]["properties"]["status"]["enum"]
        assert data["status"] == "running" and data["status"] in allowed and data["id"] == run
        let_end(c)
        assert "ended" in follow(c, run, "ended")


def test_the_modern_era(who):
    """A run in a sandbox of its own, found from anywhere with the same owner."""
    with mcp.Client(who, "--profile", "open") as c:
        meta = mcp.modern()
        run = run_of(c.text("run_code", {"code": "import time\nwhile True: time.sleep(0.05)", "wait_s": 0, "timeout_s": 100}, meta=meta))
        assert run_of(c.text("wait_run", {"run_id": run, "wait_s": 0}, meta=meta)) == run
        c.text("interrupt", {"run_id": run}, meta=meta)
        assert c.text("wait_run", {"run_id": run}, meta=meta).startswith("cancelled:")


def test_a_waiting_call_can_be_cancelled_and_replaced(client):
    run, _ = leave(client, UNTIL.format("go"))
    first = client.ask("tools/call", {"name": "wait_run", "arguments": {"run_id": run, "wait_s": 600}})
    second = client.ask("tools/call", {"name": "wait_run", "arguments": {"run_id": run, "wait_s": 600}})
    assert run_of(mcp.text_of(client.answer(first)["result"])) == run  # the newer one waits now
    client.notify("notifications/cancelled", {"requestId": second})
    third = client.ask("tools/call", {"name": "wait_run", "arguments": {"run_id": run, "wait_s": 600}})
    let_end(client)
    assert "[result] 42" in mcp.text_of(client.answer(third)["result"])


def test_there_is_a_bound(client):
    runs = [run_of(client.text("run_code", {"code": UNTIL.format("go"), "wait_s": 0, "timeout_s": 120})) for _ in range(16)]
    result = client.call("run_code", {"code": "1", "wait_s": 0})
    assert result["isError"] and "wait_run" in mcp.text_of(result)
    for run in reversed(runs):
        client.text("interrupt", {"run_id": run})
    for run in runs:
        follow(client, run, "cancelled:")
    assert client.text("run_code", {"code": "1 + 1", "wait_s": 60}) == "[result] 2\n"


@pytest.mark.usefixtures("watch")
def test_nothing_is_left_behind_at_the_end_of_the_pipe(who):
    with mcp.Client(who, "--profile", "open") as c:
        c.initialize()
        leave(c, "import time\nwhile True: time.sleep(0.05)")
        leave(c, "import time\nwhile True: time.sleep(0.05)", session_id="new")
        waiting = run_of(c.text("run_code", {"code": "import time\nwhile True: time.sleep(1)", "wait_s": 0}, meta=mcp.modern()))
        c.ask("tools/call", {"name": "wait_run", "arguments": {"run_id": waiting, "wait_s": 600}})
        assert c.close() == 0


def test_over_http_a_run_ends_with_its_connection(who):
    """Its id is that of a run of the HTTP API."""
    both = {"Accept": "application/json, text/event-stream"}

    def ask(server, params, method="tools/call", headers=None):
        reply = server.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, {**both, **(headers or {})})
        assert reply.status == 200, reply
        return reply

    with serving.Server(who) as server:
        hello = ask(server, {"protocolVersion": mcp.LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}, "initialize")
        mine = {"Mcp-Session-Id": hello.headers["mcp-session-id"], "MCP-Protocol-Version": mcp.LEGACY}
        server.call("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {**both, **mine})
        arguments = {"code": "import time\nwhile True: time.sleep(0.05)", "wait_s": 0, "session_id": "new", "timeout_s": 300}
        text = mcp.text_of(ask(server, {"name": "run_code", "arguments": arguments}, headers=mine).json["result"])
        run = run_of(text)
        assert "in session_id ses_" in text or "[running]" in text
        assert server.call("GET", f"/v1/runs/{run}").json["status"] == "running"
        assert server.call("DELETE", "/mcp", headers=mine).status in (200, 202, 204)
        serving.wait_until(lambda: server.call("GET", f"/v1/runs/{run}").json["status"] == "cancelled", "the run ends")


# --- unknown tools ---


@pytest.mark.parametrize("name, hint", [("wait_runs", "did you mean wait_run?"), ("check_cod", "did you mean check_code?"), ("frobnicate", 'more {"topic": "tools"}'), ("x" * 5000, "tools")])
def test_an_unknown_tool_is_answered_with_a_way_on(client, name, hint):
    for said in (client.request("tools/call", {"name": name, "arguments": {}})["error"]["message"], client.text("more", {"tool": name[:64]})):
        assert hint in said or "topic" in said
        assert len(said) < 400


# --- checking ---


def check(client, code, **more):
    result = client.call("check_code", {"code": code, **more})
    return mcp.text_of(result), result.get("isError", False)


def test_checking_runs_nothing(client):
    assert check(client, "open('/workspace/made', 'w').write('x'); print(1)") == ("no problems found\n", False)
    assert check(client, "echo made > made", language="bash") == ("no problems found\n", False)
    assert "made" not in client.text("run_code", {"code": "import os; print(os.listdir('/workspace'))"})


def test_checking_reports_problems(client):
    text, is_error = check(client, "import nosuchpackage, os\n")
    assert is_error and "line 1" in text and "nosuchpackage" in text
    for language, code in (("python", "def f(:\n  pass"), ("bash", "if true; then echo")):
        text, is_error = check(client, code, language=language)
        assert is_error and "yntax" in text and len(text.splitlines()) < 12
    text, _ = check(client, "import subprocess\nx = eval('1')\n", profile="strict")
    assert "line 1" in text and "line 2" in text and text.startswith("refused: nothing was run")


def test_checking_by_way_of_more(client):
    assert "check_code(code, language?, profile?)" in client.text("more", {"topic": "check"})
    assert "check_code" in client.text("more", {"topic": "tools"})
    assert client.text("more", {"tool": "check_code", "arguments": {"code": "1"}}) == "no problems found\n"
    assert client.call("check_code", {"code": "1", "profile": "nosuch"})["isError"]
    assert "wait_run(run_id, wait_s?)" in client.text("more", {"topic": "long"})
