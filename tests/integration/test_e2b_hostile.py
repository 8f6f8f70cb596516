"""E2B's interface under attack: messages, addresses, names of others, readers that do not read, and ends in the middle of everything."""
import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import struct
import threading
import time
import urllib.parse

import pytest
from e2b_client import ENVD, INTERPRETER, Sandbox, control, key, made, split
from serving import Server, wait_until


@pytest.fixture(scope="module")
def sandbox(server):
    with made(server, timeout=600) as s:
        yield s


def signed(sandbox, path, operation="read", user="", until=None, token=None):
    text = f"{path}:{operation}:{user}:{token or sandbox.made['envdAccessToken']}" + (f":{until}" if until is not None else "")
    return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def address(path, signature, until=None, **more):
    fields = {"path": path, "signature": signature, **({"signature_expiration": until} if until is not None else {}), **more}
    return "/files?" + urllib.parse.urlencode(fields)


def fetch(server, path, method="GET", body=None, **headers):
    return server.call(method, path, body, {"Authorization": None, "Content-Type": "application/octet-stream", **{k.replace("_", "-"): v for k, v in headers.items()}})


def test_a_signature_is_for_one_path_and_operation_and_time(server, sandbox):
    soon = int(time.time()) + 600
    for name in ("a", "b", "x:write:", "a:read"):
        assert sandbox.call("POST", f"/files?path={urllib.parse.quote(name)}", b"secret of " + name.encode(), Content_Type="application/octet-stream").status == 200
    good = signed(sandbox, "a", until=soon)
    assert fetch(server, address("a", good, soon)).body == b"secret of a"
    wrong = [
        address("b", good, soon), address("a", good), address("a", good, soon + 1), address("a", good, f"0{soon}"), address("a", good, f"{soon} "), address("./a", good, soon),
        address("/home/user/a", good, soon), address("a", good, soon, username="user"), address("a", good + "=", soon), address("a", good[3:], soon), address("a", "", soon),
        address("a", "v1_", soon), address("a", good.lower(), soon), address("a\0", good, soon), address("a", good, soon) + "&path=b", address("a", good, soon) + "&signature=" + good,
        address("a", signed(sandbox, "a", until=1), 1), address("a", signed(sandbox, "a", until=-1) + "x", -1), address("a", signed(sandbox, "a", token="sbx_" + "0" * 64)),
        address("a", signed(sandbox, "a", "write")), address("a", signed(sandbox, "a", user="x:read:"), username="x:read:"), address("a", signed(sandbox, "a:read", user="")),
        address("a:read", signed(sandbox, "a", user="")), address("../a", signed(sandbox, "../a")), address("/etc/passwd", signed(sandbox, "/etc/passwd")), "/files?path=a&%73ignature=" + good,
    ]  # fmt: skip
    for path in wrong:
        for start in ("", "/e2b"):
            reply = fetch(server, start + path)
            assert reply.status in (400, 401, 403, 502) and b"secret" not in reply.body, (path, reply)
    # A signature to read writes nothing, and one for `x:write:` is none to write.
    for path, given in [("a", good), ("x", signed(sandbox, "x:write:"))]:
        assert fetch(server, address(path, given, soon if path == "a" else None), "POST", b"changed").status == 401
    assert fetch(server, address("a", signed(sandbox, "a", "write"))).status == 401
    assert fetch(server, address("a", good, soon)).body == b"secret of a"
    with made(server) as other:  # neither by a header, nor after the end of its sandbox
        theirs = signed(other, "a")
        assert fetch(server, address("a", theirs), E2b_Sandbox_Id=sandbox.id).status == 401
        assert fetch(server, address("a", good, soon), E2b_Sandbox_Id=other.id).status == 401
        assert fetch(server, address("a", theirs)).status == 404
    assert fetch(server, address("a", theirs)).status == 401


def test_names_of_others_lead_nowhere(server, sandbox):
    with made(server) as other:
        made_context = other.call("POST", "/contexts", {"language": "python"}, port=INTERPRETER).json["id"]
        for method, path in [("POST", f"/contexts/{made_context}/restart"), ("DELETE", f"/contexts/{made_context}"), ("DELETE", "/contexts/..%2Fpython")]:
            assert sandbox.call(method, path, {} if method == "POST" else None, port=INTERPRETER).status in (400, 404), path
        assert sandbox.call("POST", "/execute", {"code": "1", "context_id": made_context}, port=INTERPRETER).status == 404
        # The token of one, the id of the other, in every spelling.
        for id in (other.id, other.id.upper(), other.id + "-host", other.id + "\t", f"{other.id},{sandbox.id}", f"{sandbox.id},{other.id}"):
            for port, path in [(ENVD, "/files?path=x"), (INTERPRETER, "/contexts")]:
                reply = sandbox.server.call("GET", f"/e2b{path}", headers={**sandbox.headers(port), "E2b-Sandbox-Id": id, "E2b-Traffic-Access-Token": sandbox.made["trafficAccessToken"]})
                assert reply.status in (400, 401, 403, 502), (id, reply)
        for token in (other.made["trafficAccessToken"], sandbox.made["envdAccessToken"][:-1], sandbox.made["envdAccessToken"] + "0", sandbox.made["envdAccessToken"].upper(), " "):
            assert sandbox.call("GET", "/files?path=x", X_Access_Token=token).json["code"] == 401
        # The token of the data plane is no key.
        for token in (sandbox.made["envdAccessToken"], sandbox.made["trafficAccessToken"], "e2b_" + sandbox.made["envdAccessToken"][4:]):
            assert server.call("GET", "/e2b/v2/sandboxes", headers={"X-API-KEY": token, "Authorization": None}).status == 401
            assert server.call("GET", "/v1/sessions", headers={"Authorization": f"Bearer {token}"}).status == 401


def test_odd_messages_are_refused_in_their_protocol(sandbox):
    start = b'{"process":{"cmd":"true"}}'
    for data in (b'{"process":{"cmd":"true"},"process":{"cmd":"id"}}', b"[" * 5000, b'{"a":' * 200 + b"1" + b"}" * 200, b'"text"', b"\xff\xfe", b'{"process":{"cmd":"tr\\u0000ue"}}'):
        messages, end = split(sandbox.stream_raw("process.Process/Start", struct.pack(">BI", 0, len(data)) + data).body)
        assert not messages and end["error"]["code"] == "invalid_argument", (data[:50], end)
        assert sandbox.call("POST", "/process.Process/List", data, Content_Type="application/json").json["code"] == "invalid_argument"
    for flags in (1, 2, 3, 0x80, 0xFF):
        data = struct.pack(">BI", flags, len(start)) + start
        assert split(sandbox.stream_raw("process.Process/Start", data).body)[1]["error"]["code"] == "invalid_argument"
    many = (struct.pack(">BI", 0, len(start)) + start) * 1000
    assert split(sandbox.stream_raw("process.Process/Start", many).body)[1]["error"]["code"] == "invalid_argument"
    for pid in (-1, 0, 1, 2**31, 2**63 - 1, 10**18, 1.5, "1", None, True, [], {}):
        for method in ("SendInput", "CloseStdin", "SendSignal", "Update"):
            reply = sandbox.rpc(f"process.Process/{method}", {"process": {"pid": pid}, "input": {"stdin": "aGk="}, "signal": "SIGNAL_SIGKILL"})
            assert reply.status == 404 and reply.json["code"] == "not_found", (method, pid, reply)
    for body in ({"process": "x"}, {"process": []}, {"process": {"cmd": "true", "envs": {"A=B": "c"}}}, {"process": {"cmd": "true", "envs": {"": "c"}}}, {"process": {"cmd": "a" * 5000000}},
                 {"process": {"cmd": "true", "args": ["x"] * 100000}}):  # fmt: skip
        reply = sandbox.stream_raw("process.Process/Start", struct.pack(">BI", 0, len(json.dumps(body))) + json.dumps(body).encode())
        messages, end = split(reply.body)
        assert "error" in end, (str(body)[:80], messages, end)
    for code in ("1" * 20_000_000, None, 7, {}):
        reply = sandbox.call("POST", "/execute", {"code": code}, port=INTERPRETER)
        assert reply.status in (400, 413) and reply.headers["content-type"].startswith("text/plain"), (str(code)[:20], reply)


def test_odd_values_of_the_control_plane(server, sandbox):
    for timeout in (-1, 1e300, "5", [], True, 2**70):
        for path in ("/sandboxes", f"/sandboxes/{sandbox.id}/timeout", f"/sandboxes/{sandbox.id}/connect", f"/sandboxes/{sandbox.id}/fork"):
            reply = control(server, "POST", path, {"templateID": "base", "timeout": timeout})
            assert reply.status == 400 and reply.json["code"] == 400, (path, timeout, reply)
    for name in ("../../etc/passwd", "a/b", "x" * 300, "", ".", "code-interpreter-v1/..", 5, None, []):
        reply = control(server, "POST", "/sandboxes", {"templateID": name})
        assert reply.status in (400, 404), (name, reply)
    for query in ("limit=0", "limit=101", "limit=-1", "limit=x", "nextToken=" + "9" * 33, "state=odd&limit=5000", "order=" + "a" * 20, "unknown=1"):
        assert control(server, "GET", f"/v2/sandboxes?{query}").status in (200, 400), query
    for token in ("0", "-1", "x", "9" * 30, "18446744073709551616"):
        assert control(server, "GET", f"/v2/sandboxes?nextToken={token}").status == 200
        assert control(server, "GET", f"/snapshots?nextToken={token}").status == 200
    for count in (0, -1, 101, 1.5, "2"):
        assert control(server, "POST", f"/sandboxes/{sandbox.id}/fork", {"count": count}).status == 400, count
    for name in ("../x", "a b", "x" * 65, "\u202e"):
        assert control(server, "POST", f"/sandboxes/{sandbox.id}/snapshots", {"name": name}).status == 400, name
    for path in (f"/sandboxes/{sandbox.id}%00", f"/sandboxes/{sandbox.id}%2Fmetrics", f"/sandboxes/..%2F{sandbox.id}", f"/sandboxes/{'a' * 3000}", "/sandboxes/%ff%fe"):
        assert control(server, "GET", path).status in (400, 404), path
    for metadata in ({"a": 1}, {"a": {"b": "c"}}, [], "x", {str(i): "v" for i in range(65)}, {"a": "v" * 20000}):
        assert control(server, "POST", "/sandboxes", {"templateID": "base", "metadata": metadata}).status in (400, 413), str(metadata)[:50]
    for env in ({"A=B": "c"}, {"": "c"}, {"A": 1}, {"A": "v" * 200_000}, [], "x"):
        assert control(server, "POST", "/sandboxes", {"templateID": "base", "envVars": env}).status in (400, 413), str(env)[:50]
    assert [s["sandboxID"] for s in control(server, "GET", "/v2/sandboxes").json] == [sandbox.id]


@pytest.mark.parametrize("path", ["link", "link/passwd", "dirs/../../etc/passwd", "/proc/self/environ", "/proc/1/root/etc/passwd", "/dev/mem", "fifo", "socket", "a%00b", "%2e%2e/x", "//etc/passwd", "x" * 5000, "a/" * 3000])
def test_paths_lead_nowhere_else(server, sandbox, path):
    sandbox.run("mkdir -p dirs; ln -sfn /etc link; [ -p fifo ] || mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")' 2>/dev/null; true")
    plain = urllib.parse.unquote(path)
    reply = sandbox.call("GET", f"/files?path={path}")
    assert reply.status in (400, 403, 404, 431) and b"root:" not in reply.body, reply
    reply = sandbox.call("POST", f"/files?path={path}", b"x", Content_Type="application/octet-stream")
    assert reply.status in (200, 400, 403, 404, 431), reply
    if "\0" not in plain and len(plain) < 4000:
        for method in ("Stat", "ListDir", "MakeDir", "Remove", "CreateWatcher"):
            reply = sandbox.rpc(f"filesystem.Filesystem/{method}", {"path": plain, "depth": 1})
            assert b"passwd" not in reply.body.replace(plain.encode(), b"").replace(b"root/etc/passwd", b"") or reply.status >= 400, (method, reply)
            if method == "CreateWatcher" and reply.status == 200:
                sandbox.rpc("filesystem.Filesystem/RemoveWatcher", reply.json)
    assert os.path.isdir("/etc") and open("/etc/passwd").read().startswith("root:")


def send(server, head, data=b""):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    s.sendall("\r\n".join([*head, "", ""]).encode() + data)
    return s


def lines(sandbox, method, length, **more):
    headers = {"Host": "localhost", **sandbox.headers(), "Content-Type": "application/connect+json", "Content-Length": length, **more}
    return [f"POST /e2b/{method} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]


def first_message(s):
    """The bytes up to the first message of the stream."""
    s.settimeout(30)
    text = b""
    while b"{" not in text:
        text += s.recv(4096)
    return text


def test_bodies_that_are_cut_or_slow_hold_nobody_up(server, sandbox):
    body = b'\0\0\0\0\x1a{"process":{"cmd":"sleep"}}'
    open_ones = []
    for at in (0, 1, 4, 5, 20):
        open_ones.append(send(server, lines(sandbox, "process.Process/Start", len(body)), body[:at]))
    open_ones.append(send(server, lines(sandbox, "process.Process/Start", 2**40), body))
    assert sandbox.run("echo on")[0] == "on\n"
    before = sandbox.rpc("process.Process/List").json["processes"]
    for s in open_ones:
        s.close()
    assert sandbox.rpc("process.Process/List").json["processes"] == before


def test_many_readers_that_do_not_read(server):
    with made(server) as s:
        body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "yes | head -c 3000000000"]}}).encode()
        first = send(server, lines(s, "process.Process/Start", len(body) + 5), struct.pack(">BI", 0, len(body)) + body)
        wait_until(lambda: s.rpc("process.Process/List").json["processes"], "it runs")
        (process,) = s.rpc("process.Process/List").json["processes"]
        ask = json.dumps({"process": {"pid": process["pid"]}}).encode()
        others = [send(server, lines(s, "process.Process/Connect", len(ask) + 5), struct.pack(">BI", 0, len(ask)) + ask) for _ in range(40)]
        refused = 0
        for other in others:
            refused += b"resource_exhausted" in first_message(other)
        assert refused == 33, refused  # eight follow it
        assert s.execute("6 * 7")[0]["text"] == "42"
        for other in [first, *others]:
            other.close()
        # Without readers it goes on, and ends.
        assert s.rpc("process.Process/SendSignal", {"process": {"pid": process["pid"]}, "signal": "SIGNAL_SIGKILL"}).json == {}
        wait_until(lambda: not s.rpc("process.Process/List").json["processes"], "it has ended")


def test_hundreds_of_streams(server):
    with made(server) as s:
        streams = []
        for _ in range(30):  # as many as a sandbox has room for, and a few more
            body = json.dumps({"process": {"cmd": "sleep", "args": ["1000"]}}).encode()
            streams.append(send(server, lines(s, "process.Process/Start", len(body) + 5), struct.pack(">BI", 0, len(body)) + body))
        for _ in range(20):
            body = json.dumps({"path": ""}).encode()
            streams.append(send(server, lines(s, "filesystem.Filesystem/WatchDir", len(body) + 5), struct.pack(">BI", 0, len(body)) + body))
        said = [first_message(stream) for stream in streams]
        assert sum(b'"start"' in text for text in said) >= 30 and all(b"200 OK" in text for text in said)
        for stream in streams:
            stream.close()
        wait_until(lambda: s.rpc("filesystem.Filesystem/CreateWatcher", {"path": ""}).status == 200, "room for a watcher")


def test_a_sandbox_ends_under_everything(server):
    """Its end answers every request that is open, each in its own protocol."""
    s = Sandbox(server)
    answers, threads = {}, []

    def ask(name, fn):
        def run():
            with contextlib.suppress(OSError, AssertionError):
                answers[name] = fn()

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    ask("cell", lambda: s.call("POST", "/execute", {"code": "while True: pass"}, port=INTERPRETER).body)
    ask("waiting cell", lambda: s.call("POST", "/execute", {"code": "1"}, port=INTERPRETER).body)
    ask("program", lambda: s.stream("process.Process/Start", {"process": {"cmd": "sleep", "args": ["1000"]}, "stdin": True}))
    ask("watch", lambda: s.stream("filesystem.Filesystem/WatchDir", {"path": ""}))
    wait_until(lambda: len(s.rpc("process.Process/List").json["processes"]) == 1, "the program runs")
    assert control(server, "DELETE", f"/sandboxes/{s.id}").status == 204
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert b"end_of_execution" in answers["cell"] and b"end_of_execution" in answers["waiting cell"], answers
    assert "program" in answers and "watch" in answers, answers


OPERATIONS = {
    "create": lambda server, s: control(server, "POST", "/sandboxes", {"templateID": "base"}),
    "cell": lambda server, s: s.call("POST", "/execute", {"code": "import time; open('big', 'wb').write(b'x' * 50_000_000); time.sleep(100)"}, port=INTERPRETER),
    "program": lambda server, s: s.stream("process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-c", "sleep 1000 & sleep 1000"]}}),
    "terminal": lambda server, s: s.stream("process.Process/Start", {"process": {"cmd": "/bin/bash"}, "pty": {"size": {"cols": 80, "rows": 24}}}),
    "watch": lambda server, s: s.stream("filesystem.Filesystem/WatchDir", {"path": "", "recursive": True}),
    "upload": lambda server, s: s.call("POST", "/files?path=up", b"x" * 30_000_000, Content_Type="application/octet-stream"),
    "fork": lambda server, s: control(server, "POST", f"/sandboxes/{s.id}/fork", {"count": 3}),
    "snapshot": lambda server, s: control(server, "POST", f"/sandboxes/{s.id}/snapshots", {}),
    "pause": lambda server, s: control(server, "POST", f"/sandboxes/{s.id}/pause", {}),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_server_that_is_killed_leaves_nothing_behind(callers, name):
    """The `watch` fixture looks for processes, cgroups, mounts and files afterwards."""
    server = Server(callers["user"], "--socket", "none")
    s = Sandbox(server)
    s.execute("kept = bytearray(b'x') * 20_000_000")

    def run():
        with contextlib.suppress(Exception):
            OPERATIONS[name](server, s)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=0.05)  # wherever it is by then
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(timeout=60)
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_keys_have_one_form(server):
    token = server.token.removeprefix("bj_")
    assert control(server, "GET", "/v2/sandboxes", headers={"X-API-KEY": server.token}).status == 200
    for wrong in (token, "e2b_" + token[:-1], "e2b_" + token + "0", "e2b-" + token, "E2B_" + token, "e2b_" + token.upper() + "x", "e2b_" + "0" * len(token), "e2b_", "bj_", ""):
        assert server.call("GET", "/e2b/v2/sandboxes", headers={**key(server), "X-API-KEY": wrong}).status == 401, wrong


def test_metadata_of_many_files_makes_room(sandbox):
    """It is memory of the server, which nobody pays for: so much of it, and no more."""
    many = {f"X-Metadata-{i}": "v" * 100 for i in range(32)}

    def metadata(name):
        return sandbox.rpc("filesystem.Filesystem/Stat", {"path": name}).json["entry"].get("metadata", {})

    for i in range(160):
        reply = sandbox.server.call("POST", f"/e2b/files?path=many{i}", b"x", {**sandbox.headers(), **many, "Content-Type": "application/octet-stream"})
        assert reply.status == 200 and len(reply.json[0]["metadata"]) == 32, reply
    oldest = next(i for i in range(160) if metadata(f"many{i}"))
    assert 10 < oldest < 80 and len(metadata("many159")) == 32, oldest
    # A new name, and another text in place of one, are counted as they are.
    assert sandbox.rpc("filesystem.Filesystem/Move", {"source": "many159", "destination": "moved"}).status == 200
    for _ in range(200):
        assert sandbox.server.call("POST", "/e2b/files?path=many158", b"x", {**sandbox.headers(), **many, "Content-Type": "application/octet-stream"}).status == 200
    assert len(metadata("moved")) == len(metadata(f"many{oldest + 3}")) == 32


def test_values_of_variables_are_not_kept(callers):
    """A cell sets them for the cell after it. The trail keeps programs, and no values (`trail_keep`)."""
    value = "correct-horse-battery-staple"
    with Server(callers["user"], "--socket", "none") as server, made(server) as s:
        for language, code in (("python", "import os; print(os.environ['GREETING'])"), ("bash", "echo $GREETING")):
            assert s.execute(code, language=language, env_vars={"GREETING": value})[0]["text"] == value + "\n"
        for path in ("/v1/runs", "/v1/runs?history=true"):
            assert value not in server.get(path).body.decode(), path
        kept = b"".join(file.read_bytes() for file in (server.who.home / "state/belljar/trail").rglob("*") if file.is_file())
        assert b"os.environ['GREETING']" in kept and value.encode() not in kept
