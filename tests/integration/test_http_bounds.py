"""Clients that want the server's memory, its time or its places: whatever they send, it has bounds, and others are served."""
import json
import socket

import pytest

import host
from serving import Server, is_prompt, parse, wait_until

MB = 1024


def memory(server, name="VmHWM"):
    """In KB; what is counted is the most there ever was."""
    return int(next(x for x in host.read(f"/proc/{server.process.pid}/status").splitlines() if x.startswith(name)).split()[1])


@pytest.fixture
def server(user):
    shares = {"BELLJAR_HTTP_CONNECTIONS_PER_ADDRESS": "64", "BELLJAR_HTTP_CONNECTIONS_PER_TOKEN": "64"}
    s = Server(user, "--socket", "none", env={"BELLJAR_HTTP_CONNECTIONS": "64", "BELLJAR_LOG_LEVEL": "error", **shares})
    yield s
    assert s.run("print('alive')")["stdout"] == "alive\n"
    assert s.stop() == 0, s.said


def send(server, path, body, receive=None):
    s = socket.socket()
    if receive:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    s.settimeout(60)
    s.connect(("127.0.0.1", server.port))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    s.sendall(head.encode() + body)
    return s


BOMBS = [
    ("arrays", b'{"code":"1","x":[' + b"[]," * 2_700_000 + b"[]]}"),
    ("objects", b'{"code":"1","x":[' + b"{}," * 2_700_000 + b"{}]}"),
    ("numbers", b'{"code":"1","x":[' + b"1," * 4_000_000 + b"1]}"),
    ("keys", b'{"code":"1","x":{' + b",".join(b'"%x":1' % i for i in range(800_000)) + b"}}"),
]


@pytest.mark.parametrize("body", [b for _, b in BOMBS], ids=[n for n, _ in BOMBS])
@pytest.mark.parametrize("path", ["/v1/run", "/v1/batch", "/run"])
def test_json_that_would_fill_the_memory_is_not_built(server, path, body):
    """Eight megabytes of empty objects are six hundred as a tree."""
    before = memory(server)
    reply = server.post_raw(path, body)
    assert reply.status in (413, 422), reply
    assert memory(server) - before < 60 * MB


def test_heads_that_do_not_come_do_not_lock_others_out(server):
    half = []

    def run():
        for _ in range(100):
            s = server.open()
            s.sendall(b"GET / HTTP/1.1\r\nX:")
            half.append(s)
        assert server.run("print(1)")["stdout"] == "1\n"

    try:
        assert is_prompt(run, 8), "it waited until their time was up"
    finally:
        for s in half:
            s.close()


def test_answers_that_nobody_fetches_are_bounded(server):
    """Eight megabytes each, of which Linux takes three, to clients that read nothing: past a sum the largest are cut."""
    count = 58
    code = "import sys\nsys.stdout.write('a' * 4_000_000)\nsys.stderr.write('b' * 4_000_000)"
    body = json.dumps({"code": code, "output_bytes": 4 << 20, "profile": "open"}).encode()
    silent = []
    try:
        for n in range(count):
            silent.append(send(server, "/v1/run", body, receive=4096))
            if n % 4 == 3:
                wait_until(lambda: server.get("/v1/stats").json["server"]["queue"]["running"] == 0, "they have run")
        wait_until(lambda: server.get("/v1/stats").json["you"]["done"] == count, "all have run")
        assert memory(server) < 600 * MB
        wait_until(lambda: memory(server, "VmRSS") < 500 * MB, "some are cut")
        assert server.get("/v1/stats").json["server"]["connections"] < count
    finally:
        for s in silent:
            s.close()


def test_tasks_that_wait_for_one_session_are_bounded(server):
    session = server.post("/sessions").json["session_id"]
    server.post("/execute_async", {"command": "import time; time.sleep(100)", "session_id": session})
    code = "#" + "x" * 1_000_000
    replies = [server.post("/execute_async", {"command": code, "session_id": session}) for _ in range(160)]
    taken = [r.status for r in replies].count(200)
    assert 60 < taken < 140 and replies[-1].status == 429 and int(replies[-1].headers["retry-after"]) >= 1, taken
    assert memory(server) < 400 * MB
    # Their memory is freed.
    server.call("DELETE", f"/sessions/{session}")
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 0, "they are over")
    again = server.post("/sessions").json["session_id"]
    assert server.post("/execute_async", {"command": code, "session_id": again}).status == 200


def test_one_caller_does_not_take_all_the_room_of_others(user):
    s = Server(user, "--socket", "none", env={"BELLJAR_LOG_LEVEL": "error"})
    other = user.call("token", "add", "other").text.split()[-1]
    session = s.post("/sessions").json["session_id"]
    s.post("/execute_async", {"command": "import time; time.sleep(100)", "session_id": session})
    while s.post("/execute_async", {"command": "#" + "x" * 1_000_000, "session_id": session}).status == 200:
        pass
    reply = s.post("/v1/run", {"code": "print(2)"}, headers={"Authorization": f"Bearer {other}"})
    assert reply.status == 200 and reply.json["stdout"] == "2\n", reply
    user.call("token", "rm", "other")
    s.process.kill()
    s.process.communicate()


def come_from(server, address, request):
    """One request from an address of its own."""
    with socket.create_connection(("127.0.0.1", server.port), 60, source_address=(address, 0)) as s:
        s.sendall(f"{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := s.recv(65536):
            data += part
    return parse(data)[0]


SLEEP = json.dumps({"code": "import time; time.sleep(600)"}).encode()


def test_one_address_does_not_take_the_places_of_others(user):
    with Server(user, "--socket", "none", env={"BELLJAR_HTTP_CONNECTIONS_PER_ADDRESS": "4", "BELLJAR_LOG_LEVEL": "error"}) as s:
        resting = [s.open() for _ in range(20)]
        busy = [send(s, "/v1/run", SLEEP) for _ in range(4)]
        wait_until(lambda: come_from(s, "127.0.0.2", "GET /v1/stats").json["you"]["running"] == 4, "they run, and those that rest gave way")
        refused = come_from(s, "127.0.0.1", "GET /health")
        assert refused.status == 429 and refused.error["code"] == "busy" and "http_connections_per_address" in refused.error["hint"], refused
        assert refused.headers["retry-after"] and refused.headers["connection"] == "close", refused.headers
        assert come_from(s, "127.0.0.2", "GET /health").status == 200
        busy[0].close()
        wait_until(lambda: come_from(s, "127.0.0.1", "GET /health").status == 200, "its place is free")
        for connection in busy + resting:
            connection.close()


def test_one_token_does_not_take_the_places_of_others(user):
    with Server(user, "--socket", "none", env={"BELLJAR_HTTP_CONNECTIONS_PER_TOKEN": "2", "BELLJAR_LOG_LEVEL": "error"}) as s:
        other = user.call("token", "add", "neighbour").text.split()[-1]
        busy = [send(s, "/v1/run", SLEEP) for _ in range(2)]
        wait_until(lambda: s.get("/v1/stats").status == 429, "both are being answered")
        refused = s.get("/v1/stats")
        assert refused.error["code"] == "busy" and "this token already has 2 requests" in refused.error["message"] and "http_connections_per_token" in refused.error["hint"], refused
        assert refused.headers["retry-after"], refused.headers
        assert s.get("/v1/stats", headers={"Authorization": f"Bearer {other}"}).status == 200 and s.get("/health").status == 200
        busy[0].close()
        wait_until(lambda: s.get("/v1/stats").status == 200, "its place is free")
        busy[1].close()
        user.call("token", "rm", "neighbour")


# --- smuggling: what two readers could read in two ways is read in none ---

TRICKS = [
    b"Content-Length: 6\r\nTransfer-Encoding:\x0bchunked\r\n", b"Content-Length: 6\r\nTransfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding: \"chunked\"\r\n", b"Transfer_Encoding: chunked\r\nContent-Length: 6\r\n X: y\r\n",
    b"Content-Length: 06\r\nContent-Length: 6\r\n", b"Content-Length: 6\r\nContent-length: 7\r\n", b"Content-Length: 0x6\r\n", b"Content-Length: 6 6\r\n",
    b"Content-Length: -6\r\n", b"Content-Length: 6;\r\n", b"Content-Length:\r\n", b"Content-Length\r\n", b"X: y\nContent-Length: 6\r\n", b"X: y\rContent-Length: 6\r\n",
    b"\x00Content-Length: 6\r\n", b"Content-Length\xa0: 6\r\n", b": 6\r\n",
]  # fmt: skip


@pytest.mark.parametrize("headers", TRICKS, ids=range(len(TRICKS)))
def test_nothing_can_be_smuggled(server, headers):
    smuggled = b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n\r\n"
    head = b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + server.token.encode() + b"\r\nContent-Type: application/json\r\n"
    replies = parse(server.raw(head + headers + b"\r\n" + b"0\r\n\r\n" + smuggled))
    assert [r.status for r in replies] == [400], replies
    assert replies[0].headers["connection"] == "close"


def test_a_body_where_none_is_expected_is_not_the_next_request(server):
    """A GET with a length, a refused POST, an unknown path: what follows is never looked at."""
    inner = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
    for head in (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\n" + token,
                 b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\n", b"POST /v1/run HTTP/1.1\r\nHost: evil\r\n" + token,
                 b"DELETE /v1/sessions/x HTTP/1.1\r\nHost: localhost\r\n" + token, b"PUT /v1/run HTTP/1.1\r\nHost: localhost\r\n" + token):  # fmt: skip
        replies = parse(server.raw(head + b"Content-Length: %d\r\n\r\n" % len(inner) + inner))
        assert len(replies) == 1 and replies[0].status >= 400 and replies[0].headers["connection"] == "close", (head, replies)


# --- events ---


@pytest.mark.parametrize("forged", ["0", "999999999999999", "00000000000000", "-1", "1 ", "1,2", "0x1", "1e3", "99999999999999999999", "\u0661", "1;drop"])
def test_a_forged_event_id_is_harmless(server, forged):
    run = server.run("print('x')")["id"]
    reply = server.call("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": forged.encode("utf-8").decode("latin-1")})
    if forged.strip().isascii() and forged.strip().isdigit() and len(forged.strip()) <= 15:
        assert reply.status == 200 and reply.body.count(b"event: result") <= 1
        assert (b"event: result" in reply.body) == (int(forged) == 0)
    else:
        assert reply.status == 400 and reply.error["message"] == "Last-Event-ID is not the id of an event"


# --- those who leave, at every moment ---


@pytest.mark.parametrize("kind", ["json", "events", "upload"])
def test_a_client_may_leave_at_every_byte(server, kind):
    """Cut after each so many bytes of the request, with an end and with a reset; nothing is held afterwards."""
    server.post("/v1/sessions", {"name": "s"})
    body = b'{"code": "print(1)"}'
    method, path, accept = ("PUT", "/v1/sessions/s/files/f", "") if kind == "upload" else ("POST", "/v1/run", "Accept: text/event-stream\r\n" if kind == "events" else "")
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n{accept}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    data = head.encode() + body
    before = server.descriptors()
    for n in [*range(1, len(data), 9), len(data)]:
        for reset in (False, True):
            s = server.open()
            s.sendall(data[:n])
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()
    wait_until(lambda: server.get("/v1/stats").json["server"]["connections"] == 1, "no connection is left")
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 0, "no run is left")
    server.call("DELETE", "/v1/sessions/s")
    wait_until(lambda: server.descriptors() <= before, "descriptors are given back")
