"""Requests and calls that are dear each, many at once, from one client: what they cost everybody else (turns.py measures)."""
import io
import json
import secrets
import select
import socket
import ssl
import threading
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import turns
import websocket

STATES = {
    "many values": {"a": [1] * 120000},
    "many objects": {"a": [{}] * 30000},
    "control characters": {"a": "\x01" * 170000},
    "names of secrets": {"a": "pwd=" * 250000},
    "quotes": {"a": '"' * 500000},
}

MCP = {"Accept": "application/json, text/event-stream"}


def head(token, path, method="GET", more=""):
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n".encode()


def read_answers(s, count):
    """The statuses of so many answers with a length, one behind the other."""
    data, statuses = b"", []
    while len(statuses) < count:
        end = data.find(b"\r\n\r\n")
        if end >= 0:
            lines = data[:end].decode("latin-1").split("\r\n")
            length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
            if len(data) >= end + 4 + length:
                statuses.append(int(lines[0].split()[1]))
                data = data[end + 4 + length :]
                continue
        piece = s.recv(1 << 20)
        assert piece, (data[:200], statuses)
        data += piece
    return statuses


def pipelined(tokens, requests):
    """All requests in one write, on one connection."""
    s = tokens.server.open()
    s.settimeout(60)
    s.sendall(b"".join(requests))
    statuses = read_answers(s, len(requests))
    s.close()
    return statuses


def at_once(tokens, requests, connections=24):
    """Sends the requests on several connections at the same moment."""
    held = [tokens.server.open() for _ in range(connections)]
    for s in held:
        s.settimeout(60)
        s.sendall(b"".join(requests)[:-1])
    for s in held:
        s.sendall(b"".join(requests)[-1:])
    with ThreadPoolExecutor(connections) as pool:
        statuses = [x for one in pool.map(lambda s: read_answers(s, len(requests)), held) for x in one]
    for s in held:
        s.close()
    return statuses


def all_fine(statuses):
    assert all(status in (200, 429) for status in statuses) and 200 in statuses, statuses


def keep_state(tokens, token, name):
    key = name.replace(" ", "-")
    if tokens.call(token, "GET", f"/v1/states/{key}").status != 200:
        assert tokens.call(token, "POST", "/v1/states", {"name": key}).status == 200
    reply = tokens.call(token, "POST", f"/v1/states/{key}/versions", {"state": STATES[name]})
    assert reply.status == 200, (name, reply)
    return key


def load_state(name):
    def attack(tokens, token):
        key = keep_state(tokens, token, name)
        for _ in range(3):
            assert tokens.call(token, "GET", f"/v1/states/{key}").status == 200

    return attack


def pipelined_states(tokens, token):
    key = keep_state(tokens, token, "quotes")
    all_fine(pipelined(tokens, [head(token, f"/v1/states/{key}")] * 20))


def states_at_once(tokens, token):
    key = keep_state(tokens, token, "quotes")
    all_fine(at_once(tokens, [head(token, f"/v1/states/{key}")] * 3))


def clients_that_go(tokens, token):
    """Work that was begun for them ends as well."""
    key = keep_state(tokens, token, "quotes")
    for _ in range(3):
        held = [tokens.server.open() for _ in range(16)]
        for s in held:
            s.sendall(head(token, f"/v1/states/{key}"))
        for s in held:
            s.close()
    assert tokens.call(token, "GET", f"/v1/states/{key}").json["state"] == STATES["quotes"]


def many_states(tokens, token):
    for i in range(250):
        reply = tokens.call(token, "POST", "/v1/states", {"name": f"s{i}", "description": "pwd=" * 1000})
        assert reply.status == 200, reply
    all_fine(pipelined(tokens, [head(token, "/v1/states")] * 20))
    for i in range(250):
        tokens.call(token, "DELETE", f"/v1/states/s{i}")


CALLS = """
import threading
from belljar import api
def f():
    for i in range(5):
        try: api.load_session_state("quotes")
        except Exception as e: print(e)
t = [threading.Thread(target=f) for i in range(32)]
[x.start() for x in t]; [x.join() for x in t]
"""


def loads_of_a_program(tokens, token):
    keep_state(tokens, token, "quotes")
    reply = turns.run(tokens, token, CALLS, timeout_s=10)
    assert reply.status == 200, reply


# Frames of its own making: fifteen calls in one write, which is what a kernel may have under way.
FRAMES = """
import os, struct, time
span = lambda b: struct.pack('<I', len(b)) + b
def frame(i):
    body = struct.pack('<Q', i) + span(b'state.load') + span(b'{"session_id": "many-values"}')
    return b'BJ' + struct.pack('<BBI', 1, 28, len(body)) + body
for round in range(3):
    os.write(62, b''.join(frame(i) for i in range(15)))
    time.sleep(1.5)
"""


def forged_calls(tokens, token):
    keep_state(tokens, token, "many values")
    reply = turns.run(tokens, token, FRAMES, timeout_s=10)
    assert reply.status == 200, reply
    assert reply.json["status"] in ("success", "error"), reply  # it does not read the replies, which ends it


PATTERNS = [
    "(x|y|[^a]{1,100}){1,9}z", "(?i)(.{0,400}q){2}", "[ab]{0,500}c", "(a?b?){1,300}c", ".*.*.*.*.*.*x$", "(?:a|b|ab|ba|aa|bb){1,120}z",
    r"(\b\w+\b ?){1,99}!",
]  # fmt: skip


def searches(tokens, token):
    for text in ("'ab' * 30000", "'ab ' * 20000", "'é漢' * 10000", "'a\\n' * 60000"):
        run = turns.run(tokens, token, f"for i in range(40): print({text})").json["id"]
        paths = [f"/v1/runs/{run}/output?search={quote(p)}" for p in PATTERNS]
        for p in paths:
            assert tokens.call(token, "GET", p).status == 200, p
        all_fine(at_once(tokens, [head(token, p) for p in paths], 8))


def results_at_once(tokens, token):
    run = turns.run(tokens, token, "result = '\"' * 900000\nprint('\"' * 900000)").json["id"]
    all_fine(at_once(tokens, [head(token, f"/v1/runs/{run}")] * 3))


def replay_of_events(tokens, token):
    run = turns.run(tokens, token, "for i in range(3000): display('\"' * 300)\nfor i in range(20000): print('\"' * 30)").json["id"]
    for _ in range(3):
        tokens.call(token, "GET", f"/v1/runs/{run}/events")


def zip_of(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


MATTER = "---\nname: big\ndescription: d\n---\n"


def zips():
    yield "large file", {"SKILL.md": MATTER, "a.txt": bytes(i * 7 % 251 for i in range(1 << 20)) + b"pwd=" * 200000}
    yield "many files", {"SKILL.md": MATTER, **{f"{i}/{'a' * 60}.txt": "pwd=" * 5000 for i in range(98)}}
    yield "front matter", {"SKILL.md": "---\nname: big\ndescription: >\n" + "  a: b\n" * 30000 + "---\n"}
    yield "long matter", {"SKILL.md": "---\nname: big\ndescription: d\n" + "".join(f"k{i}: v\n" for i in range(60000)) + "---\n"}


def upload_skills(tokens, token):
    for name, files in zips():
        data = zip_of(files)
        for _ in range(2):
            reply = tokens.call(token, "PUT", "/v1/skills/big", data, {"Content-Type": "application/zip"})
            assert reply.status < 500, (name, reply)
        for path in ("/v1/skills", "/v1/skills/big", "/v1/skills/big/files/a.txt"):
            tokens.call(token, "GET", path)


def skills_pipelined(tokens, token):
    for i in range(30):
        code = f'"""{"pwd=" * 1000}"""\n' + "#" + '"' * 200000 + "\n"
        reply = tokens.call(token, "PUT", f"/v1/skills/m{i}", code.encode(), {"Content-Type": "text/x-python"})
        assert reply.status == 200, reply
    all_fine(pipelined(tokens, [head(token, "/v1/skills"), head(token, "/v1/skills/m1")] * 10))


def mcp_session(tokens, token):
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    reply = tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, MCP)
    assert reply.status == 200, reply
    headers = {**MCP, "Mcp-Session-Id": reply.headers["mcp-session-id"]}
    assert tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers).status == 202
    return headers


def mcp_batch(tokens, token):
    key = keep_state(tokens, token, "quotes")
    headers = mcp_session(tokens, token)
    load = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "load_session_state", "arguments": {"session_id": key}}}
    for message in (load, {"jsonrpc": "2.0", "method": "tools/list"}, {"jsonrpc": "2.0", "method": "resources/list"}):
        reply = tokens.call(token, "POST", "/mcp", [{**message, "id": i} for i in range(64)], headers)
        assert reply.status == 200 and len(reply.json) == 64, reply
    assert len(tokens.call(token, "POST", "/mcp", [{**load, "id": i} for i in range(64)], headers).body) < 20 << 20


def state_by_mcp(name):
    def attack(tokens, token):
        key = keep_state(tokens, token, name)
        headers = mcp_session(tokens, token)
        for tool, more in (("load_session_state", {}), ("save_session_state", {"state": STATES[name]})):
            params = {"name": tool, "arguments": {"session_id": key, **more}}
            reply = tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers)
            assert reply.status == 200 and b"error" not in reply.body[:300], reply

    return attack


def heads(tokens, token):
    one = head(token, "/v1/stats", more="".join(f"X-{i}: {'y' * 200}\r\n" for i in range(55)))
    all_fine(at_once(tokens, [one] * 40, 60))


def meta(tokens, token):
    all_fine(pipelined(tokens, [b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"] * 150))
    all_fine(pipelined(tokens, [head(tokens.server.token, "/metrics")] * 100))


def connections_at_once(tokens, token):
    for _ in range(3):
        held = []
        for i in range(250):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", tokens.server.port))
            held.append(s)
        for s in held:
            s.close()


def bodies_at_once(tokens, token):
    body = json.dumps({"code": "1", "stdin": "\\\"" * (1 << 20)}).encode()
    one = head(token, "/v1/run", "POST", f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n") + body
    all_fine(at_once(tokens, [one], 16))


def form(tokens, token):
    part = b'--x\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
    files = b"".join(part % (b"files", b"f%d.txt" % i) + b"\r\n--y-" * 20000 + b"\r\n" for i in range(90))
    body = b'--x\r\nContent-Disposition: form-data; name="code"\r\n\r\nprint(1)\r\n' + files + b"--x--\r\n"
    for _ in range(2):
        reply = tokens.call(token, "POST", "/v1/run", body, {"Content-Type": "multipart/form-data; boundary=x"})
        assert reply.status in (200, 413), reply


def keyed(path, make):
    """A large body under a key, twice: the second time it is only compared."""

    def attack(tokens, token):
        content_type, body = make()
        headers = {"Content-Type": content_type, "Idempotency-Key": secrets.token_hex(8)}
        first, second = (tokens.call(token, "POST", path, body, headers) for _ in range(2))
        assert first.status == second.status == 200, (first, second)
        assert second.headers["idempotency-replayed"] == "true", second

    return attack


def many_megabytes():
    """A form of 60 MB: one large file, and many that are not."""
    part = b'--x\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
    large = part % (b"files", b"large") + b"\r\n--y-" * 5_000_000 + b"\r\n"
    files = b"".join(part % (b"files", b"f%d.txt" % i) + b"z" * 300_000 + b"\r\n" for i in range(95))
    request = b'--x\r\nContent-Disposition: form-data; name="request"\r\n\r\n{"code": "print(1)", "memory_mb": 512, "disk_mb": 500}\r\n'
    return "multipart/form-data; boundary=x", request + large + files + b"--x--\r\n"


def very_large_form(tokens, token):
    content_type, body = many_megabytes()
    for _ in range(2):
        reply = tokens.call(token, "POST", "/v1/run", body, {"Content-Type": content_type})
        assert reply.status == 200 and reply.json["stdout"] == "1\n", reply


def very_large_form_of_a_session(tokens, token):
    content_type, body = many_megabytes()
    session = tokens.call(token, "POST", "/v1/sessions", {"memory_mb": 512, "disk_mb": 500}).json["session_id"]
    body = body.replace(b', "memory_mb": 512, "disk_mb": 500', b"", 1)
    for _ in range(2):
        reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", body, {"Content-Type": content_type})
        assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
    code = "from pathlib import Path\nprint(len(list(Path().iterdir())), Path('large').stat().st_size)"
    reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": code})
    assert reply.json["stdout"] == "96 30000000\n", reply
    tokens.call(token, "DELETE", f"/v1/sessions/{session}")


def encoded_files():
    """Almost 8 MB of JSON: 99 files in base64."""
    files = [{"path": f"f{i}", "content": "AAAA" * 19_000, "encoding": "base64"} for i in range(99)]
    return "application/json", json.dumps({"code": "print(1)", "memory_mb": 512, "disk_mb": 500, "files": files}).encode()


def many_encoded_files(tokens, token):
    content_type, body = encoded_files()
    for _ in range(2):
        reply = tokens.call(token, "POST", "/v1/run", body, {"Content-Type": content_type})
        assert reply.status == 200 and reply.json["stdout"] == "1\n", reply


def long_batch():
    return "application/json", json.dumps({"runs": [{"code": "print(1)", "stdin": "\u00e9\"" * 350_000}] * 10}).encode()


def answers_again(tokens, token):
    """The answer under a key, many times at once."""
    body = json.dumps({"code": "result = '\"' * 900000\nprint('\"' * 900000)"}).encode()
    more = f"Content-Type: application/json\r\nIdempotency-Key: again\r\nContent-Length: {len(body)}\r\n"
    all_fine(at_once(tokens, [head(token, "/v1/run", "POST", more) + body] * 3, 16))


def files_of_a_session(tokens, token):
    session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open"}).json["session_id"]
    url = f"/v1/sessions/{session}"
    for i in range(8):
        assert tokens.call(token, "PUT", f"{url}/files/{i}.bin", b"pwd=" * (1 << 20), {"Content-Type": "application/octet-stream"}).status < 300
    with ThreadPoolExecutor(8) as pool:
        assert all(r.status == 200 for r in pool.map(lambda i: tokens.call(token, "GET", f"{url}/files/{i}.bin"), range(8)))
    reply = tokens.call(token, "POST", f"{url}/execute", {"code": "for i in range(8): open(f'{i}.bin', 'a').write('x')"})
    assert reply.status == 200, reply
    all_fine(at_once(tokens, [head(token, f"{url}/files?limit=1000")] * 5, 16))
    tokens.call(token, "DELETE", url)


MANY_NAMES = """
import os
for d in range(20):
    os.makedirs(f"many/{d:02}")
    for i in range(480): open(f"many/{d:02}/{i:04}" + "n" * 12, "w").close()
"""


def many_names(tokens, token):
    """Almost 10,000 files of a session, as many as it may have: listed, looked at before a cell, and deleted."""
    session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open", "disk_mb": 500}).json["session_id"]
    url = f"/v1/sessions/{session}"
    reply = tokens.call(token, "POST", f"{url}/execute", {"code": MANY_NAMES, "timeout_s": 30})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    for _ in range(3):
        reply = tokens.call(token, "GET", f"{url}/files?depth=0&limit=20000")
        assert reply.status == 200 and len(reply.json["files"]) > 9000, (reply.status, len(reply.body))
        reply = tokens.call(token, "POST", f"{url}/execute", {"code": "print(1)"})
        assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_files", "arguments": {"session_id": session}}}
    reply = tokens.call(token, "POST", "/mcp", call, mcp_session(tokens, token))
    assert reply.status == 200 and b"many/00" in reply.body, reply
    for request in [head(token, f"{url}/files?depth=0&limit=20000")] * 5 + [head(token, f"{url}/files/many?recursive=true", "DELETE")]:
        s = tokens.server.open()
        s.sendall(request)
        s.close()  # what was begun ends soon
    reply = tokens.call(token, "DELETE", f"{url}/files/many?recursive=true")
    assert reply.status in (204, 404), reply
    assert tokens.call(token, "GET", f"{url}/files").json["files"] == []
    tokens.call(token, "DELETE", url)


# --- WebSocket ---


def kernel_of(tokens, token):
    reply = tokens.call(token, "POST", "/jupyter/api/kernels", {"name": "python3"})
    assert reply.status == 201, reply
    return reply.json["id"], {"Authorization": f"Bearer {token}"}


def small_frames(tokens, token):
    """Tens of thousands of frames, of which few are a message."""
    id, headers = kernel_of(tokens, token)
    clients = [websocket.Kernel(tokens.server, id, headers=headers) for _ in range(8)]
    flood = b"".join([websocket.frame(websocket.TEXT, b"", last=False), websocket.frame(0, b"", last=False) * 20000, websocket.frame(0, b" ")])
    for client in clients:
        client.socket.sendall(flood)
    for client in clients:
        assert client.read_close()[0] == 1007  # a blank is no JSON
        client.close()
    tokens.call(token, "DELETE", f"/jupyter/api/kernels/{id}")


def large_messages(tokens, token):
    id, headers = kernel_of(tokens, token)
    with websocket.Kernel(tokens.server, id, headers=headers) as client:
        for value in ([1] * 100000, [{}] * 30000, "\x01" * 500000, {"code": "pwd=" * 250000}):
            client.ask("comm_msg", {"data": value})
        assert websocket.text(client.run("print(1)")) == "1\n"
    tokens.call(token, "DELETE", f"/jupyter/api/kernels/{id}")


DISPLAYS = """
from IPython.display import HTML, display
for i in range(5): display(HTML('"&<' * 500000))
"""


def large_displays(tokens, token):
    id, headers = kernel_of(tokens, token)
    with websocket.Kernel(tokens.server, id, headers=headers) as client:
        assert len(websocket.of(client.run(DISPLAYS), "display_data")) == 5
    tokens.call(token, "DELETE", f"/jupyter/api/kernels/{id}")


# --- with directories that are granted ---


def open_granted(tokens, token, mode):
    folder = tokens.top / secrets.token_hex(4)
    folder.mkdir()
    tokens.who.own(folder)
    for i in range(30):
        (folder / f"old{i}").write_text("".join(f"{n % 7} {n}\n" for n in range(12000)))
        tokens.who.own(folder / f"old{i}")
    reply = tokens.call(token, "POST", "/v1/sessions", {"allow": [f"{folder}:{mode}"], "profile": "open"})
    assert reply.status == 201, reply
    return f"/v1/sessions/{reply.json['session_id']}", folder


CHANGE = """
import os
os.chdir({folder!r})
for i in range(30):
    lines = open(f"old{{i}}").read().splitlines()
    open(f"old{{i}}", "w").write("\\n".join(reversed(lines)) + "pwd=" * 1000)
for i in range(3000):
    open(f"{{i:05}}" + "é" * 60, "w").write("pwd=" * 20)
"""


def changes(tokens, token):
    url, folder = open_granted(tokens, token, "cow")
    reply = tokens.call(token, "POST", f"{url}/execute", {"code": CHANGE.format(folder=str(folder)), "timeout_s": 30})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    for _ in range(3):
        reply = tokens.call(token, "GET", f"{url}/changes")
        assert reply.status == 200, reply
    all_fine(at_once(tokens, [head(token, f"{url}/changes")] * 2, 4))
    tokens.call(token, "DELETE", url)


def undo(tokens, token):
    url, folder = open_granted(tokens, token, "rw")
    reply = tokens.call(token, "POST", f"{url}/execute", {"code": CHANGE.format(folder=str(folder)), "timeout_s": 30})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    run = reply.json["id"]
    for _ in range(3):
        assert tokens.call(token, "GET", "/v1/undo").status == 200
        reply = tokens.call(token, "GET", f"/v1/runs/{run}/changes")
        assert reply.status in (200, 503), reply
    all_fine(at_once(tokens, [head(token, "/v1/undo"), head(token, f"/v1/runs/{run}/changes")] * 2, 4))
    reply = tokens.call(token, "POST", f"/v1/runs/{run}/undo", {})
    assert reply.status == 200, reply
    tokens.call(token, "DELETE", url)


TUNNELS = """
import select, socket
data = b"x" * 65536
held = []
for i in range(60):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n")
    assert b" 200 " in s.recv(1000)
    s.setblocking(False)
    held.append(s)
while True:
    for s in select.select([], held, [])[1]:
        try: s.send(data)
        except BlockingIOError: pass
"""


def tunnels(tokens, token):
    """A host that reads all that comes, and programs that send it as much as they can."""

    def take():
        held = [listener]
        while not is_over:
            for s in select.select(held, [], [], 0.1)[0]:
                if s is listener:
                    held.append(listener.accept()[0])
                elif not s.recv(1 << 20):
                    held.remove(s)
                    s.close()

    listener, is_over = tokens.sink, []
    thread = threading.Thread(target=take)
    thread.start()
    where = f"127.0.0.1:{listener.getsockname()[1]}"
    body = {"code": TUNNELS.format(port=listener.getsockname()[1]), "profile": "open", "timeout_s": 4, "net": [where]}
    try:
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda _: tokens.call(token, "POST", "/v1/run", body), range(4)))
    finally:
        is_over.append(True)
        thread.join()
    assert all(r.status == 200 and r.json["status"] == "timeout" and r.json["net"]["sent_bytes"] > 1 << 20 for r in replies), replies


def handshakes(tokens, token):
    """The first words of TLS on many connections in one moment: a signature for each. It needs no token."""
    context = ssl.create_default_context()
    held = []
    for _ in range(200):
        out = ssl.MemoryBIO()
        client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            held.append((tokens.server.open(), out.read()))
    for s, data in held:
        s.sendall(data[:-1])
    time.sleep(0.2)
    for s, data in held:
        s.sendall(data[-1:])
    for s, _ in held:
        s.settimeout(60)
        assert s.recv(1) == b"\x16"
        s.close()


PORT = """
import http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        for i in range(64): self.wfile.write(b"pwd=" * 16384)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
"""


def answers_of_a_port(tokens, token):
    session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open", "ports": ["8000"]}).json["session_id"]
    assert tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": PORT}).json["status"] == "success"
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: tokens.call(token, "GET", f"/v1/sessions/{session}/ports/8000/"), range(8)))
    assert all(reply.status == 200 and reply.body for reply in replies), replies
    tokens.call(token, "DELETE", f"/v1/sessions/{session}")


# --- E2B's interface ---


def e2b_sandbox(tokens, token, **fields):
    reply = tokens.call(token, "POST", "/e2b/v2/sandboxes", {"templateID": "base", **fields})
    assert reply.status == 201, reply
    return reply.json, {"E2b-Sandbox-Id": reply.json["sandboxID"], "X-Access-Token": reply.json["envdAccessToken"], "Authorization": None}


def packed_files(tokens, token):
    """Each piece of the body unpacks to a thousand times as much, which just passes."""
    sandbox, headers = e2b_sandbox(tokens, token)
    packed = zlib.compressobj(9, wbits=31)
    data = packed.compress(bytes(48 << 20)) + packed.flush()
    with tokens.server.open() as s:
        s.sendall(f"POST /e2b/files?path=zeros HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {sandbox['sandboxID']}\r\nX-Access-Token: {sandbox['envdAccessToken']}\r\n"
                  f"Content-Type: application/octet-stream\r\nContent-Encoding: gzip\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode())  # fmt: skip
        try:
            for at in range(0, len(data), PACKED_PIECE):
                s.sendall(data[at : at + PACKED_PIECE])
                time.sleep(0.15)
        except ConnectionError:
            pass
        said = s.recv(65536)
        assert said.startswith((b"HTTP/1.1 200", b"HTTP/1.1 507")), said
    tokens.call(token, "DELETE", f"/e2b/sandboxes/{sandbox['sandboxID']}")


PACKED_PIECE = 8000

GRANTED = {"changes": changes, "undo": undo, "tunnels": tunnels, "answers of a port": answers_of_a_port}

ATTACKS = {
    "a large form": form,
    "a batch under a key": keyed("/v1/batch", long_batch),
    "files in base64 under a key": keyed("/v1/run", encoded_files),
    "files in base64": many_encoded_files,
    "a form of 60 MB": very_large_form,
    "a form of 60 MB under a key": keyed("/v1/run", many_megabytes),
    "a form of 60 MB for a session": very_large_form_of_a_session,
    "answers again": answers_again,
    "files of a session": files_of_a_session,
    "many names": many_names,
    **{f"state of {name}": load_state(name) for name in STATES},
    **{f"state of {name} by MCP": state_by_mcp(name) for name in STATES},
    "pipelined states": pipelined_states,
    "states at once": states_at_once,
    "clients that go": clients_that_go,
    "many states": many_states,
    "loads of a program": loads_of_a_program,
    "forged calls": forged_calls,
    "searches": searches,
    "results at once": results_at_once,
    "replay of events": replay_of_events,
    "uploads of skills": upload_skills,
    "skills": skills_pipelined,
    "a batch of MCP": mcp_batch,
    "heads": heads,
    "meta": meta,
    "packed files": packed_files,
    "connections at once": connections_at_once,
    "bodies at once": bodies_at_once,
    "small frames": small_frames,
    "large messages": large_messages,
    "large displays": large_displays,
}
