"""Servers in a session, reached through /v1/sessions/ID/ports/PORT: what passes, and what does not."""
import hashlib
import http.client
import json
import re
import socket

import pytest

from serving import Server, wait_until
from websocket import BINARY, PING, PONG, Refused, WebSocket

# Answers what it was asked, as JSON; /NAME does what NAME says.
PROGRAM = r"""
import base64, hashlib, http.server, json, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while (size := int(self.rfile.readline(), 16)):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, data, type="application/json", status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        name = self.path.split("?")[0].strip("/").split("/")[0]
        getattr(self, "do_" + name, self.do_echo)()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def do_echo(self):
        body = self.body()
        import hashlib
        self.answer(json.dumps({"method": self.command, "path": self.path, "headers": dict(self.headers), "size": len(body), "sha": hashlib.sha256(body).hexdigest()}).encode())

    def do_secret(self):
        self.answer(b"key AKIA" + b"QYLPMN5HHHFPZAM2 end", "text/plain", ETag='"1"')

    def do_binary(self):
        self.answer(bytes(range(256)) * 4096, "application/octet-stream")

    def do_cookie(self):
        self.answer(b"<script>1</script>", "text/html", Set_Cookie="a=b", Access_Control_Allow_Origin="*", Clear_Site_Data='"*"', X_Accel_Redirect="/etc",
                    Content_Security_Policy="default-src *", Strict_Transport_Security="max-age=9", Service_Worker_Allowed="/", X_Total_Count="3")

    def do_loud(self):
        self.answer(b'{"key": "AKIA' + b'QYLPMN5HHHFPZAM2"}', "Application/JSON")

    def do_tab(self):
        self.answer(b"", status=302, Location="/.\t./.\t./x")

    def do_redirect(self):
        to = self.path.partition("?")[2]
        self.answer(b"", status=302, Location=to)

    def do_nothing(self):
        self.send_response(204)
        self.end_headers()

    def do_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for i in range(3):
            self.wfile.write(b"data: %d\n\n" % i)
        self.close_connection = True

    def do_short(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"ten bytes!")
        self.close_connection = True

    def do_garbage(self):
        self.wfile.write(b"this is not HTTP\r\n\r\n")
        self.close_connection = True

    def do_headers(self):
        self.send_response(200)
        for i in range(3000):
            self.send_header("X-Much-%d" % i, "x" * 100)
        self.end_headers()

    def do_socket(self):
        key = self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        import hashlib
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode())
        self.send_header("Set-Cookie", "a=b")
        self.end_headers()
        self.wfile.flush()
        while True:  # frames back, without their masks
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                self.close_connection = True
                return
            size = head[1] & 127
            if size == 126:
                size = int.from_bytes(self.rfile.read(2), "big")
            elif size == 127:
                size = int.from_bytes(self.rfile.read(8), "big")
            mask = self.rfile.read(4)
            data = self.rfile.read(size)
            data = (int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
            out = bytes([head[0] | 0x80 if head[0] & 15 != 9 else 0x8A])
            out += bytes([size]) if size < 126 else bytes([126]) + size.to_bytes(2, "big") if size < 65536 else bytes([127]) + size.to_bytes(8, "big")
            self.wfile.write(out + data)
            self.wfile.flush()

    def log_message(self, *words):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("serving")
"""


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", env={"BELLJAR_SESSION_PORTS": "8000,8001,9999"})
    yield made
    assert made.stop() == 0, made.said


@pytest.fixture(scope="module")
def place(server):
    with server.session(ports=["8000", "8001"]) as id:
        said = server.execute(id, PROGRAM)
        assert said["stdout"] == "serving\n", said
        yield f"/v1/sessions/{id}/ports/8000"


# --- what passes ---


@pytest.mark.smoke
def test_a_request_reaches_the_server_and_its_answer_the_client(server, place):
    reply = server.get(f"{place}/a/b%20c?x=1&y=%2F", headers={"X-Own": "yes"})
    assert reply.status == 200, reply
    assert reply.json["path"] == "/a/b%20c?x=1&y=%2F" and reply.json["method"] == "GET"
    assert reply.json["headers"]["X-Own"] == "yes" and reply.json["headers"]["Host"] == "127.0.0.1:8000"
    assert reply.json["headers"]["X-Forwarded-Prefix"] == place
    assert server.get(place).json["path"] == "/" and server.get(f"{place}/").json["path"] == "/"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_methods_and_bodies_pass(server, place, method):
    body = bytes(range(256)) * 3000
    reply = server.call(method, f"{place}/echo", body, {"Content-Type": "application/octet-stream"})
    assert (reply.json["method"], reply.json["size"], reply.json["sha"]) == (method, len(body), hashlib.sha256(body).hexdigest())


def test_a_body_in_chunks_passes(server, place):
    with server.open() as s:
        s.sendall(f"POST {place}/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for chunk in (b"one", b"two", b"three"):
            s.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        s.sendall(b"0\r\n\r\n")
        answer = http.client.HTTPResponse(s)
        answer.begin()
        said = json.loads(answer.read())
    assert said["size"] == 11 and said["headers"]["Transfer-Encoding"] == "chunked"


def test_bytes_come_as_they_are(server, place):
    reply = server.get(f"{place}/binary")
    assert reply.body == bytes(range(256)) * 4096 and reply.headers["content-length"] == str(len(reply.body))


def test_streams_and_empty_answers_pass(server, place):
    assert server.get(f"{place}/stream").body == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert server.get(f"{place}/nothing").status == 204


def test_a_websocket_passes(server, place):
    with WebSocket(server, f"{place}/socket") as client:
        assert "set-cookie" not in client.headers
        for data in (b"short", b"x" * 1000, b"y" * 300000):
            client.send(data)
            assert client.read() == data
        client.send(b"p", PING)
        assert client.read_frame() == (PONG, b"p")
        client.send(b"\x03\xe8", 8)
        with pytest.raises(EOFError):
            client.more()


# --- what does not ---


def test_text_is_masked(server, place):
    reply = server.get(f"{place}/secret")
    assert b"AKIAQYLPMN5HHHFPZAM2" not in reply.body and reply.body.endswith(b" end") and "etag" not in reply.headers


def test_our_token_and_cookies_do_not_reach_the_server(server, place):
    more = {"Cookie": "session=1", "X-Api-Key": "k", "Referer": "http://x/?token=1", "Connection": "X-Hop", "X-Hop": "1", "Accept-Encoding": "gzip"}
    seen = server.get(f"{place}/echo", headers=more).json["headers"]
    assert server.token not in json.dumps(seen)
    assert {k.lower() for k in seen} <= {"host", "connection", "x-forwarded-prefix", "user-agent", "accept"}, seen


def test_an_answer_decides_nothing_about_our_origin(server, place):
    reply = server.get(f"{place}/cookie")
    assert reply.headers["content-security-policy"].startswith("sandbox ") and "allow-same-origin" not in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["x-total-count"] == "3"
    for name in ("set-cookie", "access-control-allow-origin", "clear-site-data", "x-accel-redirect", "strict-transport-security", "service-worker-allowed"):
        assert name not in reply.headers


@pytest.mark.parametrize(
    "to,location",
    [("/x?y", "{place}/x?y"), ("http://127.0.0.1:8000/x", "{place}/x"), ("http://localhost:8000", "{place}/"), ("//example.org/x", "{place}//example.org/x"),
     ("http://example.org/", None), ("http://127.0.0.1:80001/", None), ("http://127.0.0.1:8001/x", None), ("x", None)],
)  # fmt: skip
def test_a_redirect_stays_with_the_server(server, place, to, location):
    reply = server.get(f"{place}/redirect?{to}")
    assert reply.status == 302 and reply.headers.get("location") == (location and location.format(place=place))


def test_ports_are_closed_unless_granted(server, place):
    id = place.split("/")[3]
    reply = server.get(f"/v1/sessions/{id}/ports/9999/")
    assert reply.status == 403 and "`ports`" in reply.error["hint"]
    with server.session() as other:
        assert server.get(f"/v1/sessions/{other}/ports/8000/").status == 403
    reply = server.post("/v1/sessions", {"profile": "open", "ports": ["22"]})
    assert reply.status == 403 and "session_ports" in reply.error["hint"]
    assert server.get(f"/v1/sessions/{id}").json["ports"] == ["8000", "8001"]


@pytest.mark.parametrize("ports", [["0"], ["65536"], ["08000"], ["8000 "], ["x"], [""], ["-1"], ["8000"] * 17, "8000"])
def test_a_port_is_a_number(server, ports):
    reply = server.post("/v1/sessions", {"profile": "open", "ports": ports})
    assert reply.status in (400, 403, 413), reply


@pytest.mark.parametrize("path", ["0", "65536", "x", "8000x", "08000", "%38000", "-1"])
def test_a_path_names_a_port(server, place, path):
    assert server.get(place[: -len("8000")] + path).status == 400


def test_a_token_is_needed_and_it_must_be_the_owners(server, place):
    assert server.get(place, headers={"Authorization": None}).status == 401
    assert server.get(f"{place}?token={server.token}", headers={"Authorization": None}).status == 401
    token = re.search(r"bj_[0-9a-f]{64}", server.who.call("token", "add", "stranger").text)[0]
    headers = {"Authorization": f"Bearer {token}"}
    wait_until(lambda: server.get("/v1/sessions", headers=headers).status == 200, "the token is known")
    assert server.get(place, headers=headers).status == 404
    with pytest.raises(Refused) as refused:
        WebSocket(server, f"{place}/socket", headers={"Origin": "null"})
    assert refused.value.status == 403  # as a page of the server has it, in its sandbox


def test_off_by_default(callers):
    with Server(callers["user"], "--socket", "none") as plain:
        assert plain.post("/v1/sessions", {"profile": "open", "ports": ["8000"]}).status == 403


# --- servers that do not behave ---


def test_a_port_without_a_server_is_an_error(server, place):
    reply = server.get(place.replace("8000", "8001"))
    assert reply.status == 502 and "8001" in reply.error["message"] and "listens" in reply.error["hint"]


@pytest.mark.parametrize("name", ["garbage", "headers"])
def test_what_is_not_http_is_an_error(server, place, name):
    assert server.get(f"{place}/{name}").status == 502


def test_an_answer_that_breaks_off_is_seen_to(server, place):
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        server.get(f"{place}/short")
    assert server.get(place).status == 200


def test_a_client_that_leaves_leaves_nothing(server, place):
    before = server.descriptors()
    for _ in range(5):
        with server.open() as s:
            s.sendall(f"GET {place}/socket HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    wait_until(lambda: server.descriptors() <= before, "its connections are closed")


def test_a_connection_ends_with_its_session(server):
    with server.session(ports=["8000"]) as id:
        server.execute(id, PROGRAM)
        client = WebSocket(server, f"/v1/sessions/{id}/ports/8000/socket")
        client.send(b"x")
        assert client.read_frame() == (BINARY, b"x")
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            client.more()
    client.close()


def test_what_listens_on_the_host_is_not_reached(server, place):
    """The port is the sandbox's own, whoever has it outside."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with Server(server.who, "--socket", "none", env={"BELLJAR_SESSION_PORTS": "*"}) as other, other.session(ports=[str(port)]) as id:
            other.execute(id, "x = 1")
            assert other.get(f"/v1/sessions/{id}/ports/{port}/").status == 502
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_the_first_use_is_recorded(server, place):
    server.get(place)
    id = place.split("/")[3]
    lines = b"".join(file.read_bytes() for file in sorted((server.who.home / "state/belljar/trail").glob("*.jsonl"))).splitlines()
    records = [r for r in map(json.loads, lines) if r.get("session") == id and r.get("event") == "connect"]
    assert [r["port"] for r in records if r["port"] == "8000"] == ["8000"]
