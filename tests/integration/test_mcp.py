"""The protocol of `belljar mcp`, in both eras, with raw lines."""
import json
import os
import signal
import subprocess

import pytest

import belljar
import host
import mcp
import prompt
import serving

META = mcp.META


@pytest.fixture(params=["root", "user"])
def who(request, callers):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    return callers[request.param]


@pytest.fixture(scope="module")
def any_who(callers):
    return callers.get("user") or callers["root"]


@pytest.fixture(scope="module")
def shared(any_who):
    """A client that has said hello, for tests that leave it as it was."""
    with mcp.Client(any_who, "--tools", "all") as c:
        c.initialize()
        yield c


@pytest.fixture
def client(any_who):
    with mcp.Client(any_who) as c:
        yield c


# --- opening ---


@pytest.mark.parametrize("asked, answered", [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"),
    ("1999-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25"),
])  # fmt: skip
def test_the_version_is_echoed_or_the_newest(client, asked, answered):
    result = client.initialize(asked)
    assert result["protocolVersion"] == answered
    assert result["serverInfo"]["name"] == "belljar"
    assert len(result["instructions"].encode()) <= 2048
    assert "resultType" not in result and "ttlMs" not in result


def test_what_the_server_can_do(client):
    assert set(client.initialize()["capabilities"]) == {"logging", "tools", "resources", "prompts", "completions"}


def test_discover_is_the_modern_opening(client):
    answer = client.request("server/discover", {"_meta": mcp.modern()})
    result = answer["result"]
    assert result["supportedVersions"] == [mcp.MODERN]
    assert result["resultType"] == "complete" and result["ttlMs"] >= 0 and result["cacheScope"] == "private"
    assert META + "tasks" in result["capabilities"]["extensions"]
    assert result["_meta"][META + "serverInfo"]["name"] == "belljar"


def test_an_unknown_modern_version_is_refused_with_those_known(client):
    meta = {**mcp.modern(), META + "protocolVersion": "2031-01-01"}
    error = client.request("tools/list", {"_meta": meta})["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [mcp.MODERN], "requested": "2031-01-01"}


@pytest.mark.parametrize("meta", [
    {META + "protocolVersion": mcp.MODERN}, {META + "protocolVersion": 5, META + "clientCapabilities": {}},
    {META + "protocolVersion": mcp.MODERN, META + "clientCapabilities": []},
    {**mcp.modern(), META + "logLevel": "loud"},
])  # fmt: skip
def test_a_modern_request_says_what_it_needs(client, meta):
    assert client.request("tools/list", {"_meta": meta})["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "tasks/list", "tasks/result"])
def test_what_the_modern_era_does_not_have(shared, method):
    assert shared.request(method, {"_meta": mcp.modern()})["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/get", "nothing/of/ours"])
def test_what_the_legacy_era_does_not_have(shared, method):
    assert shared.request(method, {})["error"]["code"] == -32601


@pytest.mark.smoke
def test_both_eras_on_one_pipe(client):
    """As the 2.x SDK does it: a probe, then the old handshake, then both in turns."""
    assert client.request("server/discover", {"_meta": mcp.modern()})["result"]["resultType"] == "complete"
    client.initialize()
    for _ in range(3):
        old = client.request("tools/list")["result"]
        new = client.request("tools/list", {"_meta": mcp.modern()})["result"]
        assert old["tools"] == new["tools"]
        assert new["resultType"] == "complete" and "ttlMs" in new and new["cacheScope"] in ("public", "private")
        assert "resultType" not in old and "ttlMs" not in old and "_meta" not in old


def test_methods_are_answered_before_initialize(client):
    """A client that probes and gets no answer would wait for a timeout."""
    assert client.request("nothing/of/ours")["error"]["code"] == -32601
    assert client.request("ping")["result"] == {}
    assert client.request("tools/list")["result"]["tools"]


def test_the_first_answer_does_not_wait_for_the_interpreter(any_who):
    """The zygote is stopped while it imports; answers come all the same, and a call waits for it."""
    with mcp.Client(any_who, env={"BELLJAR_PRELOAD": "numpy,pandas,scipy,sklearn,matplotlib"}) as c:
        zygote = None
        while not zygote and c.process.poll() is None:
            zygote = [pid for pid, (parent, _, name) in host.processes().items() if parent == c.process.pid and "zygote" in name]
        os.kill(zygote[0], signal.SIGSTOP)
        c.initialize()
        assert c.request("tools/list")["result"]["tools"]
        assert "no session yet" in c.text("get_kernel_status")
        id = c.ask("tools/call", {"name": "execute_python_code", "arguments": {"code": "print(6 * 7)"}})
        assert c.request("ping")["result"] == {}
        assert json.dumps(id) not in c.answers
        os.kill(zygote[0], signal.SIGCONT)
        assert mcp.text_of(c.answer(id)["result"]) == "42\n"


def test_two_starts_at_once_do_not_meet(any_who):
    with mcp.Client(any_who) as a, mcp.Client(any_who) as b:
        a.initialize()
        b.initialize()
        a.call("execute_python_code", {"code": "x = 1"})
        b.call("execute_python_code", {"code": "x = 2"})
        assert a.text("execute_python_code", {"code": "print(x)"}) == "1\n"
        assert b.text("execute_python_code", {"code": "print(x)"}) == "2\n"


# --- lists ---


def test_tools_have_what_clients_want(shared):
    tools = shared.request("tools/list")["result"]["tools"]
    assert tools[0]["name"] == "execute_python_code"
    for tool in tools:
        assert 1 <= len(tool["name"]) <= 64 and set(tool["name"]) <= set("abcdefghijklmnopqrstuvwxyz_")
        assert tool["description"] and len(tool["description"].encode()) <= 2048
        assert tool["inputSchema"]["type"] == "object" and tool["inputSchema"]["additionalProperties"] is False
        assert tool["title"] and "annotations" in tool
        assert set(tool["inputSchema"].get("required", [])) <= set(tool["inputSchema"]["properties"]), tool


def test_the_list_of_tools_is_cheap(shared):
    """Every client pays for it in every conversation: names, descriptions and input schemas, at four bytes a token."""
    tools = shared.request("tools/list")["result"]["tools"]
    told = [{k: t[k] for k in ("name", "description", "inputSchema")} for t in tools]
    assert len(json.dumps(told, separators=(",", ":"))) / 4 <= 2050


@pytest.mark.parametrize("compat, name, parameters", [
    ("marketplace", "execute_python", {"code", "mask_pii", "aggressive_masking"}), ("cms", "execute_code", {"code", "session_id"}),
    ("coderunner", "execute_python_code", {"command"}), ("coderunner", "execute_bash_code", {"command"}),
])  # fmt: skip
def test_other_names_are_listed_where_asked_for(any_who, shared, compat, name, parameters):
    plain = {t["name"]: set(t["inputSchema"]["properties"]) for t in shared.request("tools/list")["result"]["tools"]}
    assert plain.get(name) != parameters
    with mcp.Client(any_who, "--compat", compat) as c:
        tools = c.request("tools/list")["result"]["tools"]
        assert len({t["name"] for t in tools}) == len(tools)
        assert {t["name"]: set(t["inputSchema"]["properties"]) for t in tools}[name] == parameters


@pytest.mark.parametrize("compat, profile, timeout", [("marketplace", "marketplace", 30), ("cms", "cms", 30), ("pyrunner", "pyrunner", 30), ("coderunner", "open", 300)])
def test_another_systems_rules_come_with_its_name(who, compat, profile, timeout):
    """Unless the operator has set others."""

    def settings(*args, **env):
        found = json.loads(who.call("config", "--json", *args, env={"BELLJAR_MCP_COMPAT": compat, **env}).text)
        return [found[name]["value"] for name in ("profile", "timeout_s")]

    assert settings() == [profile, timeout]
    assert settings(BELLJAR_PROFILE="strict", BELLJAR_TIMEOUT_S="7") == ["strict", 7]


def test_another_systems_profile_is_in_force(any_who):
    with mcp.Client(any_who, "--compat", "coderunner") as c:
        c.initialize()
        assert c.text("execute_python_code", {"command": "import subprocess; print(subprocess.run(['echo', 'x'], capture_output=True).stdout)"}) == "b'x\\n'\n"
    with mcp.Client(any_who, "--compat", "marketplace") as c:
        c.initialize()
        assert c.call("execute_python", {"code": "import sqlite3"})["isError"]


@pytest.mark.parametrize("cursor", ["", "x", "p", "p0", "p99999", "p-1", "p1x", 5, "p00000000000000000000000"])
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "prompts/list", "resources/templates/list"])
def test_a_bad_cursor_is_refused(shared, method, cursor):
    assert shared.request(method, {"cursor": cursor})["error"]["code"] == -32602


def test_long_lists_come_in_pages(client):
    client.initialize()
    client.call("execute_bash_code", {"code": "for i in $(seq 250); do echo $i > f$i; done"})
    seen, params, pages = [], {}, 0
    while True:
        result = client.request("resources/list", params)["result"]
        seen += [r["name"] for r in result["resources"]]
        pages += 1
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert pages == 3 and len(seen) == len(set(seen)) == 251


# --- resources, prompts, completion ---


def test_files_are_resources(client):
    client.initialize()
    result = client.call("execute_python_code", {"code": "from pathlib import Path\nPath('a b.txt').write_text('hello')"})
    link = [c for c in result["content"] if c["type"] == "resource_link"][0]
    assert link["uri"].endswith("/files/a%20b.txt") and link["size"] == 5
    contents = client.request("resources/read", {"uri": link["uri"]})["result"]["contents"]
    assert contents == [{"uri": link["uri"], "mimeType": "text/plain", "text": "hello"}]
    assert link["uri"] in [r["uri"] for r in client.request("resources/list")["result"]["resources"]]
    session = result["structuredContent"]["session_id"]
    ref = {"type": "ref/resource", "uri": "belljar://sessions/{session}/files/{+path}"}
    found = client.request("completion/complete", {"ref": ref, "argument": {"name": "session", "value": "ses_"}})
    assert found["result"]["completion"]["values"] == [session]
    found = client.request(
        "completion/complete",
        {"ref": ref, "argument": {"name": "path", "value": "a"}, "context": {"arguments": {"session": session}}},
    )
    assert found["result"]["completion"] == {"values": ["a b.txt"], "total": 1, "hasMore": False}


@pytest.mark.parametrize("uri", [
    "belljar://sessions/ses_none/files/x", "belljar://runs/run_none/stdout", "nothing://x", "", "belljar://sessions/",
    "belljar://sessions//files/x", "belljar://sessions/a/files/../../etc/passwd", "belljar://sessions/a/files/%00",
])  # fmt: skip
def test_a_missing_resource_is_said_as_each_era_says_it(shared, uri):
    old = shared.request("resources/read", {"uri": uri})["error"]
    new = shared.request("resources/read", {"uri": uri, "_meta": mcp.modern()})["error"]
    assert old["code"] == -32002 and new["code"] == -32602
    assert new["data"]["uri"] == uri


def test_the_own_session_is_no_resource_of_others(any_who, client):
    with mcp.Client(any_who) as other:
        client.initialize()
        other.initialize()
        result = client.call("execute_bash_code", {"code": "echo secret > f"})
        uri = [c for c in result["content"] if c["type"] == "resource_link"][0]["uri"]
        assert other.request("resources/read", {"uri": uri})["error"]["code"] == -32002


def test_prompts(shared):
    prompts = shared.request("prompts/list")["result"]["prompts"]
    assert [p["name"] for p in prompts] == ["analyse_data_file", "refactor_safely", "audit_code_base"]
    got = shared.request("prompts/get", {"name": "analyse_data_file", "arguments": {"path": "in.csv", "question": "why?"}})
    text = got["result"]["messages"][0]["content"]["text"]
    assert "`in.csv`" in text and "why?" in text
    for params in ({"name": "none"}, {"name": "analyse_data_file"}, {"name": "analyse_data_file", "arguments": {"path": 5}}, {"name": 5}, {}):
        assert shared.request("prompts/get", params)["error"]["code"] == -32602


# --- change notices ---


def test_legacy_subscriptions(client):
    client.initialize()
    session = client.call("execute_bash_code", {"code": "echo 1 > f"})["structuredContent"]["session_id"]
    uri = f"belljar://sessions/{session}/files/f"
    assert client.request("resources/subscribe", {"uri": uri})["result"] == {}
    client.call("execute_bash_code", {"code": "echo 12 > f"})
    assert client.notice("notifications/resources/updated")["params"] == {"uri": uri}
    assert client.request("resources/unsubscribe", {"uri": uri})["result"] == {}
    client.notices.clear()
    client.call("execute_bash_code", {"code": "echo 123 > f"})
    assert not [n for n in client.notices if n["method"] == "notifications/resources/updated"]


@pytest.mark.smoke
def test_modern_subscriptions(client):
    session = client.call("execute_bash_code", {"code": "echo 1 > f", "session_id": "new"}, meta=mcp.modern())["structuredContent"]["session_id"]
    uri = f"belljar://sessions/{session}/files/f"
    client.ask("subscriptions/listen", {"_meta": mcp.modern(), "notifications": {"resourceSubscriptions": [uri]}}, id="sub")
    first = client.notice("notifications/subscriptions/acknowledged")["params"]
    assert first == {"notifications": {"resourceSubscriptions": [uri]}, "_meta": {META + "subscriptionId": "sub"}}
    client.call("execute_bash_code", {"code": "echo 12 > f; echo > g", "session_id": session}, meta=mcp.modern())
    assert client.notice("notifications/resources/updated")["params"] == {"uri": uri, "_meta": {META + "subscriptionId": "sub"}}
    assert not [n for n in client.notices if "list_changed" in n["method"]], "nobody asked for those"
    client.notify("notifications/cancelled", {"requestId": "sub"})
    client.notices.clear()
    client.call("execute_bash_code", {"code": "echo 123 > f", "session_id": session}, meta=mcp.modern())
    assert not client.notices


def test_a_listening_client_needs_the_extension_for_tasks(client):
    error = client.request("subscriptions/listen", {"_meta": mcp.modern(), "notifications": {"taskIds": ["x"]}})["error"]
    assert error["code"] == -32021 and error["data"]["requiredCapabilities"] == mcp.TASKS


# --- progress, cancellation, logging ---


@pytest.mark.smoke
def test_output_is_progress_on_the_way(client):
    client.initialize()
    code = "import time\nfor i in range(10): print('step', i, flush=True); time.sleep(0.4)"
    result = client.call("execute_python_code", {"code": code}, meta={"progressToken": 0})
    notes = [n["params"] for n in client.notices if n["method"] == "notifications/progress"]
    assert all(n["progressToken"] == 0 for n in notes)
    values = [n["progress"] for n in notes]
    assert values == sorted(set(values)), "strictly increasing"
    # A machine that is slow to begin says before that it runs, and a busy one may tell a line in two parts.
    steps = [n["message"] for n in notes if "step" in n["message"]]
    assert len(steps) >= 2 and "step 0" in "".join(n["message"] for n in notes), notes
    assert result["structuredContent"]["stdout"] == "".join(f"step {i}\n" for i in range(10)), "and complete in the result"


def test_a_report_without_words_is_progress(client):
    client.initialize()
    code = "from belljar import progress\nimport time\nfor done, total in ((1, 4), (3, 4)):\n progress(done, total)\n time.sleep(0.6)"
    client.call("execute_python_code", {"code": code}, meta={"progressToken": 0})
    told = [n["params"] for n in client.notices if n["method"] == "notifications/progress"]
    assert [(p["progress"], p["total"]) for p in told if "total" in p] == [(1, 4), (3, 4)], told


def test_no_progress_without_a_token(client):
    client.initialize()
    client.call("execute_python_code", {"code": "import time\nprint(1, flush=True)\ntime.sleep(0.5)\nprint(2)"})
    assert not [n for n in client.notices if n["method"] == "notifications/progress"]


@pytest.mark.parametrize("token", [0, -5, "t", 2**53 + 1, "t" * 256])
def test_tokens_come_back_as_they_were(client, token):
    client.initialize()
    client.call("execute_python_code", {"code": "print(1, flush=True)\nimport time\ntime.sleep(0.5)"}, meta={"progressToken": token})
    assert client.notice("notifications/progress")["params"]["progressToken"] == token


@pytest.mark.parametrize("token", [[], {}, True, 1.5, "t" * 257])
def test_what_is_no_token_is_refused(shared, token):
    error = shared.request("tools/call", {"name": "get_kernel_status", "_meta": {"progressToken": token}})["error"]
    assert error["code"] == -32602


@pytest.mark.parametrize("meta", [None, mcp.modern()])
def test_cancelling_stops_the_code_and_is_not_answered(client, meta):
    client.initialize()
    client.call("execute_python_code", {"code": "x = 5"})
    params = {"name": "execute_python_code", "arguments": {"code": "import time\nprint('up', flush=True)\ntime.sleep(500)"}}
    params["_meta"] = {**(meta or {}), "progressToken": "t"}
    id = client.ask("tools/call", params)
    client.notice("notifications/progress")
    client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
    assert client.text("execute_python_code", {"code": "print(x)"}) == "5\n", "the session went on"
    assert json.dumps(id) not in client.answers


@pytest.mark.parametrize("params", [{"requestId": 99999}, {"requestId": "x"}, {}, None, {"requestId": None}, {"requestId": {}}])
def test_cancelling_what_is_not_there_is_ignored(shared, params):
    shared.notify("notifications/cancelled", params)
    assert shared.request("ping")["result"] == {}


def test_a_timeout_keeps_the_session(client):
    client.initialize()
    client.call("execute_python_code", {"code": "x = 5"})
    result = client.call("execute_python_code", {"code": "import time\nprint('a')\ntime.sleep(500)", "timeout_s": 1})
    assert result["isError"] and result["structuredContent"]["status"] == "timeout" and result["structuredContent"]["stdout"] == "a\n"
    assert mcp.text_of(result).startswith("timeout: stopped after 1 s; variables and files stay\nhint: ")
    assert client.text("execute_python_code", {"code": "print(x)"}) == "5\n"


def test_who_looks_after_the_agent_is_told_of_secrets(client):
    client.initialize()
    code = {"code": "print('AKIA' + 'QYLPMN5HFIQR7XYA')"}
    client.call("execute_python_code", code)
    note = client.notice("notifications/message")["params"]
    assert note["level"] == "notice" and note["data"]["count"] == 1
    client.request("logging/setLevel", {"level": "warning"})
    client.call("execute_python_code", code)
    client.call("execute_python_code", code, meta=mcp.modern())
    assert not [n for n in client.notices if n["method"] == "notifications/message"], "not below the level, and not unasked"
    client.call("execute_python_code", code, meta=mcp.modern(**{META + "logLevel": "info"}))
    assert client.notice("notifications/message")["params"]["level"] == "notice"


def test_log_levels(shared):
    assert shared.request("logging/setLevel", {"level": "warning"})["result"] == {}
    for params in ({"level": "loud"}, {"level": 5}, {}):
        assert shared.request("logging/setLevel", params)["error"]["code"] == -32602


# --- tasks ---


def test_long_calls_become_tasks_for_who_takes_them(client):
    meta = mcp.modern(mcp.TASKS)
    result = client.call("execute_python_code", {"code": "import time\ntime.sleep(12)\nprint('done')"}, meta=meta)
    assert result["resultType"] == "task" and result["status"] == "working" and result["ttlMs"] > 0
    assert "content" not in result
    id = result["taskId"]
    client.ask("subscriptions/listen", {"_meta": meta, "notifications": {"taskIds": [id, "tsk_none"]}}, id="sub")
    assert client.notice("notifications/subscriptions/acknowledged")["params"]["notifications"] == {"taskIds": [id]}
    told = client.notice("notifications/tasks")["params"]
    got = client.request("tasks/get", {"taskId": id, "_meta": meta})["result"]
    assert got["status"] == told["status"] == "completed" and got["resultType"] == "complete"
    assert mcp.text_of(got["result"]) == "done\n" and got["result"] == told["result"]
    assert client.request("tasks/cancel", {"taskId": id, "_meta": meta})["result"]["resultType"] == "complete"
    assert client.request("tasks/get", {"taskId": id, "_meta": meta})["result"]["status"] == "completed"


def test_a_task_can_be_cancelled(client):
    meta = mcp.modern(mcp.TASKS)
    id = client.call("execute_python_code", {"code": "import time\ntime.sleep(500)", "timeout_s": 300}, meta=meta)["taskId"]
    for _ in range(2):
        assert client.request("tasks/cancel", {"taskId": id, "_meta": meta})["result"]["resultType"] == "complete"
    assert client.request("tasks/get", {"taskId": id, "_meta": meta})["result"]["status"] == "cancelled"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_tasks_are_for_who_declares_them_and_for_their_owner(shared, method):
    more = {"inputResponses": {}} if method == "tasks/update" else {}
    error = shared.request(method, {"taskId": "x", "_meta": mcp.modern(), **more})["error"]
    assert error["code"] == -32021 and error["data"]["requiredCapabilities"] == mcp.TASKS
    for id in ("tsk_none", "", 5, None):
        assert shared.request(method, {"taskId": id, "_meta": mcp.modern(mcp.TASKS), **more})["error"]["code"] == -32602


# --- state ---


def test_a_legacy_connection_has_a_session(client):
    client.initialize()
    a = client.call("execute_python_code", {"code": "x = 1"})["structuredContent"]["session_id"]
    b = client.call("execute_bash_code", {"code": "ls"})["structuredContent"]["session_id"]
    assert a == b
    assert client.text("execute_python_code", {"code": "print(x)"}) == "1\n"


def test_modern_calls_are_fresh_without_a_session(client):
    meta = mcp.modern()
    result = client.call("execute_python_code", {"code": "x = 1\nopen('f', 'w').close() if False else None\nprint('y')"}, meta=meta)
    assert "session_id" not in result["structuredContent"]
    assert client.call("execute_python_code", {"code": "print(x)"}, meta=meta)["isError"]
    opened = client.call("execute_python_code", {"code": "x = 2", "session_id": "new"}, meta=meta)["structuredContent"]["session_id"]
    assert opened.startswith("ses_") and len(opened) == 30
    assert client.text("execute_python_code", {"code": "print(x)", "session_id": opened}, meta=meta) == "2\n"


@pytest.mark.parametrize("tool", ["list_files", "interrupt", "restart_kernel", "fork_session"])
def test_modern_calls_that_need_a_session_say_so(shared, tool):
    result = shared.call(tool, {}, meta=mcp.modern())
    assert result["isError"] and "session_id" in mcp.text_of(result) and '"new"' in mcp.text_of(result)


def test_an_ended_session_is_said(shared):
    result = shared.call("execute_python_code", {"code": "1", "session_id": "ses_01234567890123456789012345"})
    assert result["isError"] and "no session" in mcp.text_of(result) and "hint: " in mcp.text_of(result)


# --- the end ---


@pytest.fixture
def quiet(who):
    return host.Watch(private=[who.home / x for x in ("runtime", "tmp", "cache", "config")], uids=[belljar.USER_UID])


def busy(who):
    c = mcp.Client(who, "--profile", "open")
    c.initialize()
    c.ask("tools/call", {"name": "execute_bash_code", "arguments": {"code": "echo up; sleep 500 & sleep 501"}, "_meta": {"progressToken": 1}})
    c.notice("notifications/progress")
    return c


def test_the_end_of_input_ends_everything(who, quiet):
    c = busy(who)
    assert c.close() == 0
    assert not (left := quiet.leftovers(cgroup_owner=c.process.pid)), left


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_signals_end_everything(who, quiet, sig):
    with busy(who) as c:
        c.process.send_signal(sig)
        code = c.process.wait(timeout=belljar.HANG_SECONDS)
        assert code == (-9 if sig == signal.SIGKILL else 0)
    assert not (left := quiet.leftovers(cgroup_owner=c.process.pid)), left


def test_a_client_that_dies_leaves_nothing(who, quiet):
    """Both ends of both pipes are gone at once, in the middle of a call. No thread reads here: it would hold the pipe open."""
    p = who.start("mcp", "--profile", "open", env=serving.PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    call = {"name": "execute_bash_code", "arguments": {"code": "echo up; sleep 500 & sleep 501"}, "_meta": {"progressToken": 1}}
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n")
    p.stdin.flush()
    assert json.loads(p.stdout.readline())["method"] == "notifications/progress"
    p.stdout.close()
    p.stdin.close()
    p.wait(timeout=belljar.HANG_SECONDS)
    assert not (left := quiet.leftovers(cgroup_owner=p.pid)), left


def test_an_idle_server_ends_at_once(any_who):
    with mcp.Client(any_who) as c:
        c.initialize()
        assert c.close() == 0
        assert c.line() is None


def test_answers_come_before_the_end(any_who):
    """Calls that end within a moment are answered, although the input has ended."""
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": mcp.LEGACY, "capabilities": {}}}
    answer = any_who.call("mcp", input=json.dumps(hello).encode() + b'\n{"jsonrpc":"2.0","id":2,"method":"ping"}', env={"BELLJAR_PRELOAD": ""})
    assert answer.code == 0
    assert [json.loads(line)["id"] for line in answer.out.splitlines()] == [1, 2]


def test_input_from_a_file(any_who):
    path = any_who.file("in.jsonl", '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with open(path) as f:
        p = any_who.start("mcp", stdin=f, env={"BELLJAR_PRELOAD": ""})
    out, _ = p.communicate(timeout=belljar.HANG_SECONDS)
    assert json.loads(out) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_no_input_at_all(any_who):
    answer = any_who.call("mcp", env={"BELLJAR_PRELOAD": ""})
    assert (answer.code, answer.out) == (0, b"")


def test_a_wrong_setting_is_told_on_stderr(any_who):
    answer = any_who.call("mcp", "--compat", "nonsense")
    assert answer.code == 64 and answer.out == b"" and "marketplace" in answer.errors
    answer = any_who.call("mcp", "--profile", "nonsense", input=b"")
    assert answer.code != 0 and answer.out == b"" and "nonsense" in answer.errors


class Typed(prompt.Prompt):
    command = "mcp"


def test_a_person_at_a_terminal_is_told_what_it_waits_for(any_who):
    with Typed(any_who, env={"BELLJAR_PRELOAD": ""}) as terminal:
        terminal.wait("waiting for an MCP client on standard input; `belljar setup CLIENT`")
        terminal.type(prompt.CONTROL_D)
        assert terminal.end() == 0
    assert any_who.call("mcp", input=b"", env={"BELLJAR_PRELOAD": ""}).errors == ""
