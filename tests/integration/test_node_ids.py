"""The setting `node`: ids name the server that made them, and work everywhere."""
import re
import uuid

import pytest

from serving import Server, wait_until
from test_mcp_http import Legacy, message
from test_server_commands import Commands

PLAIN = r"[0-9A-HJKMNP-TV-Z]{26}"


@pytest.fixture(scope="module")
def folder(callers):
    return callers["user"].directory(f"node-{uuid.uuid4().hex}")


@pytest.fixture(scope="module")
def node(callers, folder):
    env = {
        "BELLJAR_NODE": "a1", "BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{folder}:rw", "BELLJAR_SESSION_PORTS": "8000",
        "XDG_STATE_HOME": str(callers["user"].directory(f"state-{uuid.uuid4().hex}")),
    }  # fmt: skip
    with Server(callers["user"], env=env) as server:
        server.env = env
        yield server


def is_id(text, prefix):
    return re.fullmatch(rf"{prefix}_{PLAIN}-a1", text)


def test_runs(node, folder):
    result = node.run(f"open({str(folder / 'made')!r}, 'w').write('x')\nprint('x' * 9)", output_bytes=4096)
    assert is_id(result["id"], "run") and is_id(result["correlation_id"], "cor")
    assert node.get(f"/v1/runs/{result['id']}").json["stdout"] == "x" * 9 + "\n"
    with_events = node.stream("GET", f"/v1/runs/{result['id']}/follow")
    assert with_events.until("result")[2]["id"] == result["id"]
    with_events.close()
    assert result["id"] in [r["id"] for r in node.get("/v1/runs").json["runs"]]
    assert result["id"] in [r["run"] for r in node.get("/v1/undo").json["runs"]]
    undone = node.post(f"/v1/runs/{result['id']}/undo", {})
    assert undone.status == 200 and not (folder / "made").exists(), undone
    record = node.get(f"/v1/audit/records/{result['id']}")
    assert record.status == 200 and result["id"] in record.body.decode()


def test_sessions_contexts_and_commands(node):
    with node.session() as session:
        assert is_id(session, "ses")
        context = node.post(f"/v1/sessions/{session}/contexts", {"language": "python"}).json["context_id"]
        assert is_id(context, "ctx")
        node.execute(session, "n = 1", context=context)
        assert node.execute(session, "print(n)", context=context)["stdout"] == "1\n"
        assert is_id(node.execute(session, "1")["id"], "run")
        begun = node.post(f"/v1/sessions/{session}/commands", {"command": "sleep 100", "background": True}).json
        assert is_id(begun["id"], "run")
        assert node.call("DELETE", f"/v1/sessions/{session}/commands/{begun['id']}").status == 200
    with node.session() as session:
        copy = node.post(f"/v1/sessions/{session}/fork", {"n": 1}).json["sessions"][0]["session_id"]
        assert is_id(copy, "ses") and node.call("DELETE", f"/v1/sessions/{copy}").status == 204


def test_whole_ids_are_taken_and_shown(node):
    with node.session() as session:
        stream = node.stream("GET", f"/v1/events?kinds=run&session={session}")
        assert stream.until("hello")
        first, second = (node.execute(session, "1")["id"] for _ in range(2))
        assert stream.until("run_ended")[2]["session_id"] == session
        stream.close()
        cells = node.get(f"/v1/sessions/{session}/cells?before={second}")
        assert cells.status == 200 and [c["id"] for c in cells.json["cells"]] == [first], cells
    listed = node.who.call("audit", "list", "--limit", "20", env=node.env)
    assert second in listed.text, listed


def test_files_over_mcp(node):
    mcp = Legacy(node)
    reply = mcp.send(message("tools/call", {"name": "write_file", "arguments": {"path": "/workspace/a.txt", "content": "a"}}))
    assert not reply.json["result"].get("isError"), reply


def test_a_port_has_the_session_in_its_host_name(node):
    with node.session(ports=["8000"]) as session:
        code = "import http.server, threading\ns = http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)\n"
        node.execute(session, code + "threading.Thread(target=s.serve_forever, daemon=True).start()")
        reply = wait_until(
            lambda: (r := node.get("/", headers={"Host": f"8000-{session.lower()}.localhost"})).status == 200 and r, "the server answers"
        )
        assert b"Directory listing" in reply.body


def test_jobs_and_batches(node):
    made = node.post("/v1/jobs", {"code": "print(1)"}).json
    assert is_id(made["id"], "job")
    over = wait_until(lambda: (j := node.get(f"/v1/jobs/{made['id']}?wait_s=2").json)["state"] == "done" and j, "it is done")
    assert is_id(over["history"][0]["run_id"], "run")
    batch = node.post("/v1/batch", {"code": "1", "runs": [{}, {}]}).json
    assert all(is_id(r["result"]["id"], "run") for r in batch["runs"])


def test_short_ids_leave_the_node_out(node):
    commands = Commands(node)
    run = commands("run", "-d", "-c", "print('short')").text.strip()
    assert is_id(run, "run")
    for word in (run, run[-8:], run[-8:-3], run[-8:-3].lower(), run[4:30]):
        assert commands("logs", "-f", word).text == "short\n", word


@pytest.mark.parametrize("name", ["A1", "1a", "a-b", "a" * 13, "a_b", "é", "../x"])
def test_a_name_that_is_none_is_refused(callers, name):
    answer = callers["user"].call("serve", "--listen", "127.0.0.1:0", env={"BELLJAR_NODE": name})
    assert answer.code == 64 and "lowercase letters" in answer.errors, answer


def test_without_a_name_ids_are_as_before(callers):
    with Server(callers["user"], env={"BELLJAR_SOCKET": "none"}) as server:
        assert re.fullmatch(f"run_{PLAIN}", server.run("1")["id"])
