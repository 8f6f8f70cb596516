"""Sessions in the machine of a server, output while a program runs, and files: what run.py runs with its one server."""
import contextlib
import json
import os
import signal
import time

from machines import call, run, send, until


def speak(server, method, path, data=b"", headers="", token=None):
    """(status, headers, body): any bytes there and back."""
    connection = server.connect()
    connection.sendall(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token or server.token}\r\n"
        f"Content-Length: {len(data)}\r\n{headers}\r\n".encode() + data
    )
    answer = b""
    while piece := connection.recv(1 << 20):
        answer += piece
    connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body


@contextlib.contextmanager
def session(server, **terms):
    status, answer = call(server, "POST", "/v1/sessions", terms)
    assert status == 201, (status, answer)
    path = "/v1/sessions/" + answer["session_id"]
    assert until(lambda: call(server, "GET", path)[1]["state"] == "idle", 90), call(server, "GET", path)
    try:
        yield path
    finally:
        call(server, "DELETE", path)


def cell(server, path, code, **more):
    status, answer = call(server, "POST", path + "/execute", {"code": code, **more})
    assert status == 200, (status, answer)
    return answer


class Events:
    """The stream of a run: next() is (name, data) of its next event, or None at its end."""

    def __init__(self, server, path, body):
        self.connection = server.connect()
        data = json.dumps(body).encode()
        self.connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        self.file = self.connection.makefile("rb")
        status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass
        assert status == 200, (status, self.file.read())
        self.text = b""

    def next(self):
        while b"\n\n" not in self.text:
            size = int(self.file.readline(), 16)
            self.text += self.file.read(size)
            self.file.readline()
            if not size:
                self.connection.close()
                return None
        event, _, self.text = self.text.partition(b"\n\n")
        lines = dict(line.split(": ", 1) for line in event.decode().split("\n") if ": " in line)
        return (lines["event"], json.loads(lines["data"])) if lines else self.next()


# --- sessions ---


def test_a_session_keeps_variables_and_files(server):
    with session(server, env={"COLOR": "rot"}, memory_mb=400) as path:
        first = cell(server, path, "x = 41\nimport os\nprint(os.environ['COLOR'], os.environ['SESSION_ID'])")
        assert first["stdout"].split() == ["rot", path.rsplit("/", 1)[1]], first
        assert first["session_state"] == "kept" and first["isolation"] == "emulator" and "machine" in first["layers"], first
        assert cell(server, path, "print(x + 1)\n1 / 0")["error"]["name"] == "ZeroDivisionError"
        assert cell(server, path, "y=7; echo $y > f.txt", language="bash")["files"][0]["path"] == "f.txt"
        assert cell(server, path, "echo $y; cat f.txt", language="bash")["stdout"] == "7\n7\n"
        answer = cell(server, path, "print(x, open('f.txt').read(), open('in.txt').read())", files=[{"path": "in.txt", "content": "given"}])
        assert answer["stdout"] == "41 7\n given\n", answer
        shown = call(server, "GET", path)[1]
        assert shown["cells"] == 5 and shown["state"] == "idle", shown
        assert any(one["session_id"] == shown["session_id"] for one in call(server, "GET", "/v1/sessions")[1]["sessions"])
    assert call(server, "POST", path + "/execute", {"code": "1"})[0] == 404
    events = [record.get("event") for record in server.trail() if record.get("session") == path.rsplit("/", 1)[1]]
    assert events.count("open") == 1 and events.count("end") == 1, events
    assert events.count("start") == 5 or len(events) >= 12, events


def test_javascript_cells_share_variables(server):
    with session(server) as path:
        first = call(server, "POST", path + "/execute", {"code": "let a = 41", "language": "javascript"})
        if first[0] == 501:
            return  # there is no interpreter on this host
        assert cell(server, path, "console.log(a + 1)", language="javascript")["stdout"] == "42\n"


def test_a_restart_loses_variables_and_keeps_files(server):
    with session(server) as path:
        cell(server, path, "x = 1\nopen('f.txt', 'w').write('kept')")
        assert call(server, "POST", path + "/restart", {"language": "python"})[0] == 200
        assert cell(server, path, "print('x' in globals(), open('f.txt').read())")["stdout"] == "False kept\n"


def test_an_interrupt_keeps_variables(server):
    with session(server) as path:
        events = Events(server, path + "/execute", {"code": "x = 1\nprint('here', flush=True)\nimport time\ntime.sleep(280)", "timeout_s": 290})
        while events.next()[0] != "stdout":
            pass
        assert call(server, "POST", path + "/interrupt", {}) == (200, {"interrupted": True})
        last = events.next()
        while last[0] != "result":
            last = events.next()
        assert last[1]["status"] == "cancelled" and last[1]["session_state"] == "kept", last
        assert cell(server, path, "print(x)")["stdout"] == "1\n"


def test_clocks_end_a_session_inside_too(server):
    with session(server, idle_s=1) as path:
        cell(server, path, "x = 1")
        assert until(lambda: call(server, "GET", path)[0] == 404, 30)
    with session(server, lifetime_s=8) as path:
        assert until(lambda: call(server, "GET", path)[0] == 404, 30)


def test_another_token_has_no_way_into_a_session(server):
    status, other = call(server, "POST", "/v1/tokens", {"name": "other"})
    assert status == 201, other
    with session(server, name="of-the-first") as path:
        cell(server, path, "x = 'secret'")
        for method, below, body in (
            ("GET", "", b""), ("POST", "/execute", b'{"code": "print(x)"}'), ("POST", "/interrupt", b"{}"), ("GET", "/files", b""),
            ("PUT", "/files/a", b"a"), ("GET", "/files/a", b""), ("POST", "/restart", b"{}"), ("DELETE", "", b""),
        ):  # fmt: skip
            for name in (path, "/v1/sessions/of-the-first"):
                answer = speak(server, method, name + below, body, "Content-Type: application/json\r\n", other["token"])
                assert answer[0] == 404, (method, below, answer)
        assert cell(server, path, "print(x)")["stdout"] == "secret\n"


def test_what_a_session_in_a_machine_cannot_do_is_refused_by_name(server):
    for terms, word in (({"workdir": "/tmp"}, "workdir"), ({"allow": ["/usr/share:ro"]}, "allow")):
        status, answer = call(server, "POST", "/v1/sessions", terms)
        assert status in (400, 403, 501) and word in answer["error"]["message"], (status, answer)
    with session(server) as path:
        for below, body, word in (
            ("/contexts", {"language": "python"}, "contexts"), ("/fork", {}, "copies"), ("/pause", {}, "pauses"),
            ("/snapshot", {"name": "a"}, "copies"), ("/commands", {"command": "ls"}, "commands"),
        ):  # fmt: skip
            status, answer = call(server, "POST", path + below, body)
            assert status == 501 and word in answer["error"]["message"], (below, status, answer)


# --- output while a program runs ---


def test_output_arrives_while_the_program_runs(server):
    with session(server) as path:
        # It ends when the client has seen its first output.
        code = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\nprint('second')"
        events = Events(server, path + "/execute", {"code": code, "timeout_s": 300})
        seen = [events.next()]
        while seen[-1][0] != "stdout":
            seen.append(events.next())
        assert seen[-1][1] == {"text": "first\n", "offset": 0}, seen
        assert speak(server, "PUT", path + "/files/go", b"")[0] == 200
        while seen[-1][0] != "result":
            seen.append(events.next())
        assert [data["text"] for name, data in seen if name == "stdout"] == ["first\n", "second\n"], seen
        assert seen[-1][1]["stdout"] == "first\nsecond\n" and events.next() is None, seen


def test_displays_and_progress_arrive_once(server):
    code = "\n".join([
        "from belljar import progress", "progress(1, 3, 'step')", "class Shown:",
        "    def __init__(self, text): self.text = text", "    def _repr_html_(self): return self.text",
        "display(Shown('<b>1</b>'))", "display(Shown('<b>2</b>'))",
    ])  # fmt: skip
    events, seen = Events(server, "/v1/run", {"code": code}), []
    while event := events.next():
        seen.append(event)
    assert ("progress", {"done": 1, "total": 3, "text": "step"}) in seen, seen
    html = lambda forms: [form["data"] for form in forms if form["mime"] == "text/html"]  # noqa: E731
    assert [html(data["displays"]) for name, data in seen if name == "display"] == [["<b>1</b>"], ["<b>2</b>"]], seen
    assert html(seen[-1][1]["displays"]) == ["<b>1</b>", "<b>2</b>"], seen[-1]


def test_a_run_is_cancelled_in_the_middle(server):
    events = Events(server, "/v1/run", {"code": "import time\nprint('here', flush=True)\ntime.sleep(280)", "timeout_s": 290})
    name, start = events.next()
    while events.next()[0] != "stdout":
        pass
    status, answer = call(server, "POST", f"/v1/runs/{start['id']}/cancel", {})
    assert status in (200, 202, 204), (status, answer)
    last = events.next()
    while last[0] not in ("result", "error"):
        last = events.next()
    assert last[1]["status"] == "cancelled", last


def test_secrets_are_masked_while_the_program_runs(server):
    code = f"import time\nprint({server.token[:9]!r}, end='', flush=True)\ntime.sleep(0.3)\nprint({server.token[9:]!r}, flush=True)"
    events, seen = Events(server, "/v1/run", {"code": code}), []
    while event := events.next():
        seen.append(event)
    text = "".join(data["text"] for name, data in seen if name == "stdout")
    assert server.token[9:] not in str(seen) and text.endswith("\n"), seen
    assert seen[-1][1]["masked"]["count"] >= 1 and seen[-1][1]["stdout"] == text, seen


def test_a_slow_reader_holds_its_program_and_nobody_else(server):
    events = Events(server, "/v1/run", {"code": "for i in range(100): print(str(i % 10) * 19999)", "output_bytes": 2000000, "timeout_s": 300})
    assert run(server, "print(1)")["stdout"] == "1\n"
    seen = []
    while event := events.next():
        seen.append(event)
        time.sleep(0.005)
    expected = "".join(str(i % 10) * 19999 + "\n" for i in range(100))
    assert "".join(data["text"] for name, data in seen if name == "stdout") == expected
    assert seen[-1][1]["stdout"] == expected and seen[-1][1]["status"] == "success"


# --- files ---


def test_files_of_a_session(server):
    with session(server) as path:
        files, data = path + "/files/", bytes(range(256)) * 8000
        assert speak(server, "PUT", files + "a/b%20%C3%A4.bin", data)[0] == 200
        status, head, body = speak(server, "GET", files + "a/b%20%C3%A4.bin")
        assert status == 200 and body == data and "application/octet-stream" in head, (status, head)
        status, head, body = speak(server, "GET", files + "a/b%20%C3%A4.bin", headers="Range: bytes=255-257\r\n")
        assert (status, body) == (206, b"\xff\0\1") and f"Content-Range: bytes 255-257/{len(data)}" in head, (status, head)
        status, head, _ = speak(server, "GET", files + "a/b%20%C3%A4.bin", headers="Range: bytes=9999999-\r\n")
        assert status == 416 and f"Content-Range: bytes */{len(data)}" in head, (status, head)
        assert cell(server, path, "print(len(open('a/b ä.bin', 'rb').read()))")["stdout"] == f"{len(data)}\n"
        assert speak(server, "PUT", files + "x.sh?executable=true&new=true", b"echo hi")[0] == 200
        assert speak(server, "PUT", files + "x.sh?new=true", b"echo hi")[0] == 400
        assert call(server, "POST", files + "x.sh", {"to": "bin/y.sh"}) == (200, {"path": "bin/y.sh"})
        listed = {one["path"]: one for one in call(server, "GET", path + "/files?depth=0")[1]["files"]}
        assert listed["bin/y.sh"]["mode"] == "0755" and listed["a/b ä.bin"]["size"] == len(data), listed
        assert call(server, "GET", path + "/files?depth=0&limit=1")[1]["has_more"] is True
        assert speak(server, "DELETE", files + "a")[0] == 400 and speak(server, "DELETE", files + "a?recursive=true")[0] == 204
        assert speak(server, "GET", files + "a/b%20%C3%A4.bin")[0] == 404 and speak(server, "GET", files + "..%2Fx")[0] == 400
        assert speak(server, "PUT", files + "%2Ftmp%2Fq", b"tmp")[0] == 200
        # The directories that the session may read can be below /tmp, too.
        assert "/tmp/q" in [one["path"] for one in call(server, "GET", path + "/files?path=/tmp")[1]["files"]]
        recorded = [record for record in server.trail() if record["kind"] == "file" and record["session"] == path.rsplit("/", 1)[1]]
        assert [(one["event"], one["status"]) for one in recorded if one["path"] == "x.sh"] == [
            ("write", "success"), ("write", "success"), ("write", "failed"), ("move", "success"),
        ], recorded  # fmt: skip


# --- calls of programs ---


def test_calls_of_a_program_are_answered_by_the_server_outside(server):
    code = "\n".join([
        "from execution_runtime import Session, list_skills", "from api._call import call, CallError", "work = Session('NAME')",
        "work.save_state({'todo': ['b', 'ä']})", "print(work.load_state()['todo'], isinstance(list_skills(), list))",
        "for name, arguments in (('nothing.like', {}), ('state.load', {'session_id': '../x'}), ('state.list', {'more': 1})):",
        "    try: call(name, **arguments)", "    except CallError as error: print(error.code)",
    ])  # fmt: skip
    answer = run(server, code.replace("NAME", "of-a-run"))
    assert answer["stdout"] == "['b', 'ä'] True\nnot_found\ninvalid\ninvalid\n", answer
    with session(server) as path:
        assert cell(server, path, code.replace("NAME", "of-a-cell"))["stdout"] == answer["stdout"]
        # A state that a run kept is there for a cell: it is the token's, and outside.
        assert cell(server, path, "print(Session('of-a-run').load_state()['todo'])")["stdout"] == "['b', 'ä']\n"
    calls = [record["name"] for record in server.trail() if record["kind"] == "call" and record["id"] == answer["id"]]
    assert "state.save" in calls and "nothing.like" in calls, calls
    refused = run(server, "from api._call import call\ncall('state.list')", profile="quiet")
    assert "is not granted" in str(refused), refused


# --- MCP ---


def test_tools_of_mcp_use_a_session(server):
    def ask(method, params, session=None):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        status, head, answer = speak(server, "POST", "/mcp", body, headers + (f"Mcp-Session-Id: {session}\r\n" if session else ""))
        assert status == 200, (status, answer)
        return head, answer.decode()

    head, _ = ask("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    client = next(line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("mcp-session-id"))
    for name, arguments, expected in (
        ("run_code", {"code": "x = 41"}, "result"), ("run_code", {"code": "print(x + 1)"}, "42"),
        ("write_file", {"path": "a/m.txt", "content": "first\nsecond\n"}, "a/m.txt"), ("read_file", {"path": "a/m.txt"}, "second"),
        ("run_code", {"code": "print(open('a/m.txt').read().upper())"}, "SECOND"), ("read_file", {"path": "/etc/passwd"}, "not in /workspace"),
    ):  # fmt: skip
        _, answer = ask("tools/call", {"name": name, "arguments": arguments}, client)
        assert expected in answer, (name, arguments, answer)


# --- the end ---


def test_sessions_are_lost_with_their_machine(server):
    """The next one begins a machine anew."""
    status, opened = call(server, "POST", "/v1/sessions", {})
    path = "/v1/sessions/" + opened["session_id"]
    events = Events(server, path + "/execute", {"code": "print('here', flush=True)\nimport time\ntime.sleep(280)", "timeout_s": 290})
    while events.next()[0] != "stdout":
        pass
    os.kill(server.qemu(), signal.SIGKILL)
    last = events.next()
    assert last[0] == "error" and "virtual machine" in last[1]["error"]["message"], last
    assert until(lambda: call(server, "GET", path)[0] == 410), call(server, "GET", path)
    status, answer = call(server, "POST", path + "/execute", {"code": "1"})
    assert status == 410 and answer["error"]["code"] == "session_lost", (status, answer)
    assert call(server, "GET", "/v1/sessions")[1]["sessions"] == []
    with session(server) as path:
        assert cell(server, path, "print('again')")["stdout"] == "again\n"


TESTS = [
    test_a_session_keeps_variables_and_files, test_javascript_cells_share_variables, test_a_restart_loses_variables_and_keeps_files,
    test_an_interrupt_keeps_variables, test_clocks_end_a_session_inside_too, test_another_token_has_no_way_into_a_session,
    test_what_a_session_in_a_machine_cannot_do_is_refused_by_name, test_output_arrives_while_the_program_runs,
    test_displays_and_progress_arrive_once, test_a_run_is_cancelled_in_the_middle, test_secrets_are_masked_while_the_program_runs,
    test_a_slow_reader_holds_its_program_and_nobody_else, test_files_of_a_session, test_calls_of_a_program_are_answered_by_the_server_outside, test_tools_of_mcp_use_a_session,
    test_sessions_are_lost_with_their_machine,
]  # fmt: skip
