"""Requests that mean harm, or know no better: each gets its exact answer, none is ever a 500, and the server lives on."""
import json
import signal
import socket
import threading
import time

import pytest

import host
from serving import Server, is_prompt, parse, read_all, wait_until


@pytest.fixture(scope="module")
def server(callers):
    s = Server(callers["user"], "--socket", "none", env={"BELLJAR_HTTP_CONNECTIONS": "64"})
    yield s
    assert s.run("print('alive')")["stdout"] == "alive\n"
    assert s.stop() == 0, s.said


HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"


def framing(server, headers, body=b"", path=b"/v1/run"):
    token = f"Authorization: Bearer {server.token}\r\n".encode()
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + token + JSON + headers + b"\r\n" + body


# --- the bytes ---

# The whole table of heads is in tests/unit/http/test_parser.c; here is one of each kind, through the socket.
HEADS = [
    (b"GET / HTTP/1.1\n" + HOST + b"\r\n", 400, "a line ends in a bare LF"),
    (b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, "invalid character in a header name"),
    (b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n", 400, "a header is folded over two lines"),
    (b"GET http://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n", 400, "the target is not a path that begins with a slash"),
    (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400, "the target is not a path that begins with a slash"),
    (b"GET / HTTP/1.1\r\n\r\n", 400, "there is no Host header"),
    (b"GET / HTTP/1.1\r\n" + HOST * 2 + b"\r\n", 400, "a header that may occur only once is given twice"),
    (b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 400, "a control character in the head"),
    (b"GET /a%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "the target has an invalid percent-encoding"),
    (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", 505, "the version is not HTTP/1.1"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "the version is not HTTP/1.1"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "a control character in the head"),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 17000, 431, "the head is longer than 16 KB"),
    (b"GET /" + b"a" * 17000, 431, "the head is longer than 16 KB"),
    (b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X%d: y\r\n" % i for i in range(70)) + b"\r\n", 431, "there are more than 64 headers"),
    (b"POST / HTTP/1.1\r\n" + HOST + b"Expect: tea\r\nContent-Length: 1\r\n\r\n", 417, "only `Expect: 100-continue` is supported"),
]


@pytest.mark.parametrize("data, status, message", HEADS)
def test_a_head_that_is_none_is_answered_once_and_cut(server, data, status, message):
    replies = parse(server.raw(data))
    assert [r.status for r in replies] == [status]
    assert replies[0].error["message"] == message
    assert replies[0].headers["connection"] == "close"
    assert replies[0].headers["content-type"] == "application/json"


FRAMINGS = [
    (b"Content-Length: 5\r\nContent-Length: 5\r\n", b"12345", 400),
    (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", 400),
    (b"Content-Length: 5, 5\r\n", b"12345", 400),
    (b"Content-Length: +5\r\n", b"12345", 400),
    (b"Content-Length: 99999999999999999999\r\n", b"", 400),
    (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n", 400),
    (b"Transfer-Encoding: identity\r\n", b"", 400),
    (b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n", 400),
    (b"Transfer-Encoding: chunked\r\n", b"zz\r\n", 400),
    (b"Transfer-Encoding: chunked\r\n", b"5\r\nhelloX\r\n", 400),
    (b"Transfer-Encoding: chunked\r\n", b"5;x=y\r\nhello\r\n0\r\n\r\n", 400),
    (b"Transfer-Encoding: chunked\r\n", b"0\r\nX: y\r\n\r\n", 400),
    (b"Transfer-Encoding: chunked\r\n", b"FFFFFFFF\r\n", None),
    (b"Content-Length: 9000000\r\n", b"", 413),
    (b"Content-Length: 100000000000\r\n", b"", 413),
]


@pytest.mark.parametrize("headers, body, status", FRAMINGS)
def test_a_body_of_unclear_length_is_refused(server, headers, body, status):
    """Nothing behind it is ever taken for a request of its own."""
    smuggled = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
    if status is None:  # a size that cannot be kept: refused when the bytes are there
        replies = parse(server.raw(framing(server, headers, body) + b"x" * 9_000_000))
        assert [r.status for r in replies] == [413]
        return
    replies = parse(server.raw(framing(server, headers, body) + smuggled))
    assert [r.status for r in replies] == [status], replies


def test_a_hundred_megabytes_are_not_read(server):
    before = memory(server)
    with server.open() as s:
        s.sendall(framing(server, b"Content-Length: 104857600\r\n"))
        answer = read_head(s)
        sent = 0
        try:
            while sent < 104857600:
                sent += s.send(b"x" * 65536)
        except OSError:
            pass
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert memory(server) - before < 20 * 1024


def test_requests_may_follow_one_another_on_one_connection(server):
    one = framing(server, b"Content-Length: 15\r\n", b'{"code":"pass"}')
    last = b"GET /nowhere HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    replies = parse(server.raw(one + one + last))
    assert [r.status for r in replies] == [200, 200, 404]


def test_garbage_behind_a_request_does_not_change_its_answer(server):
    replies = parse(server.raw(framing(server, b"Content-Length: 15\r\n", b'{"code":"pass"}') + b"garbage\x00\xff"))
    assert [r.status for r in replies] == [200, 400]


def test_too_much_behind_a_request_cuts_the_connection(server):
    body = b'{"code":"import time; time.sleep(20)"}'

    def send():
        try:
            assert server.raw(framing(server, b"Content-Length: %d\r\n" % len(body), body) + b"x" * 200_000) == b""
        except ConnectionError:  # it closed on bytes that it had not read
            pass

    assert is_prompt(send, 20), "the run was not cancelled"


def test_chunked_bodies_and_old_clients_are_served(server):
    body = b"4\r\n{\"co\r\nB\r\nde\":\"pass\"}\r\n0\r\n\r\n"
    reply = parse(server.raw(framing(server, b"Transfer-Encoding: chunked\r\nConnection: close\r\n", body)))[0]
    assert reply.status == 200 and reply.json["status"] == "success"
    old = framing(server, b"Content-Length: 15\r\n", b'{"code":"pass"}').replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    assert parse(server.raw(old))[0].status == 200


def send_slowly(s, seconds):
    """Pieces of a body, for as long. A server that has closed the connection ends it with an error."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        s.sendall(b"x" * 1000)
        time.sleep(0.05)


@pytest.mark.slow
def test_an_answer_waits_for_a_client_that_still_sends(server):
    """Closing would destroy the answer that the client has not read yet."""
    with server.open() as s:
        s.sendall(framing(server, b"Content-Length: 104857600\r\n"))
        send_slowly(s, 4)
        assert read_head(s).startswith(b"HTTP/1.1 413 ")


@pytest.mark.slow
def test_a_client_that_still_sends_does_not_hold_up_the_end(callers):
    own = Server(callers["user"], "--socket", "none")
    with own.open() as s:
        s.sendall(framing(own, b"Content-Length: 104857600\r\n"))
        assert read_head(s).startswith(b"HTTP/1.1 413 ")
        own.process.send_signal(signal.SIGTERM)
        with pytest.raises(OSError):
            send_slowly(s, 20)
    assert own.wait() == 0, own.said


def test_a_client_may_ask_before_it_sends(server):
    with server.open() as s:
        s.sendall(framing(server, b"Content-Length: 15\r\nExpect: 100-continue\r\nConnection: close\r\n"))
        assert s.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(b'{"code":"pass"}')
        assert parse(read_all(s))[0].status == 200
    with server.open() as s:
        s.sendall(framing(server, b"Content-Length: 9000000\r\nExpect: 100-continue\r\n"))
        assert read_head(s).startswith(b"HTTP/1.1 413 ")


# --- routes ---


def routes(server):
    return server.call("GET", "/openapi.json").json["paths"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "DELETE", "FROBNICATE"])
def test_a_method_that_a_path_does_not_know_is_405(server, method):
    for path, operations in routes(server).items():
        if method.lower() in operations:
            continue
        reply = server.call(method, path.replace("{", "a-").replace("}", ""))
        assert reply.status == 405, (path, reply)
        assert sorted(reply.headers["allow"].lower().split(", ")) == sorted(operations), path
        assert "access-control-allow-origin" not in reply.headers
        assert (reply.body == b"") == (method == "HEAD")


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/run/", "//v1/run", "/v1//run", "/v1/../v1/run", "/v1/./run", "/V1/run", "/v1/run%2f", "/%76%31/run", "/v1/runs/", "/console/../openapi.json"]
)  # fmt: skip
def test_a_path_is_itself_or_nothing(server, path):
    assert server.call("GET", path).status == 404


def test_routes_ask_for_a_token(server):
    for path, operations in routes(server).items():
        for method, operation in operations.items():
            public = operation.get("security") == []
            reply = server.call(method.upper(), path.replace("{", "").replace("}", ""), headers={"Authorization": None})
            assert (reply.status != 401) == public, (method, path, reply)


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer x", "bj_", "Bearer bj_" + "0" * 64, "Bearer  {token}", "Bearer {token}x", "{token}", "Bearer {token},{token}"]
)  # fmt: skip
def test_a_wrong_token_is_none(server, value):
    reply = server.call("GET", "/v1/sessions", headers={"Authorization": value.replace("{token}", server.token)})
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert server.token not in reply.body.decode()


def test_a_token_in_the_path_is_none(server):
    for path in (f"/v1/sessions?token={server.token}", f"/v1/sessions?access_token={server.token}"):
        assert server.call("GET", path, headers={"Authorization": None}).status == 401


# --- web pages ---


@pytest.mark.parametrize(
    "name, status",
    [
        ("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1", 200), ("[::1]:8222", 200), ("evil.example", 403), ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example:8222", 403), ("127.0.0.2", 403), ("0.0.0.0", 403), ("localhost:x", 200), ("[::1", 403), ("169.254.169.254", 403),
    ],
)  # fmt: skip
def test_a_name_that_is_not_ours_is_refused(server, name, status):
    assert server.call("GET", "/v1/sessions", headers={"Host": name}).status == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://localhost:8222", "http://127.0.0.1", "file://"])
def test_a_web_page_is_refused(server, origin):
    for method, path in (("GET", "/v1/sessions"), ("POST", "/v1/run"), ("OPTIONS", "/v1/run")):
        reply = server.call(method, path, headers={"Origin": origin})
        assert reply.status == 403 and reply.error["code"] == "denied"
        assert not any(h.startswith("access-control") for h in reply.headers)


def test_a_page_of_the_server_itself_may_call(server):
    """Its origin is what the Host header says, which has been checked."""
    for name in (f"127.0.0.1:{server.port}", f"localhost:{server.port}"):
        assert server.call("GET", "/v1/sessions", headers={"Host": name, "Origin": f"http://{name}"}).status == 200
        for origin in (f"http://{name}0", f"ftp://{name}", f"http://x@{name}", f"http://{name}/", "http://localhost:1"):
            assert server.call("GET", "/v1/sessions", headers={"Host": name, "Origin": origin}).status == 403, origin
    evil = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert server.call("GET", "/v1/sessions", headers=evil).status == 403


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/plain; application/json"])
def test_a_body_that_is_not_json_is_refused(server, kind):
    reply = server.call("POST", "/v1/run", b'{"code":"1"}', headers={"Content-Type": kind})
    assert reply.status == 415, reply


def test_names_and_origins_can_be_configured(user):
    s = Server(user, "--socket", "none", env={"BELLJAR_HOSTS": "box.example", "BELLJAR_ORIGINS": "https://console.example"})
    assert s.call("GET", "/v1/sessions", headers={"Host": "box.example:8222"}).status == 200
    assert s.call("GET", "/v1/sessions", headers={"Origin": "https://console.example"}).status == 200
    assert s.call("GET", "/v1/sessions", headers={"Origin": "http://console.example"}).status == 403
    assert s.stop() == 0


def test_a_listed_page_can_use_the_api_and_no_other_can(user):
    """Headers that a browser needs (CORS), before and with the request, only for listed origins."""
    s = Server(user, "--socket", "none", env={"BELLJAR_ORIGINS": "https://console.example"})
    page = {"Origin": "https://console.example"}
    ask = {"Access-Control-Request-Method": "POST", "Authorization": None}
    before = s.call("OPTIONS", "/v1/run", headers={**page, **ask})
    assert before.status == 204 and before.body == b"", before
    assert before.headers["access-control-allow-origin"] == "https://console.example" and before.headers["vary"] == "Origin"
    assert before.headers["access-control-allow-methods"] == "POST"
    assert "Authorization" in before.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in before.headers
    for reply in (s.call("POST", "/v1/run", {"code": "1"}, page), s.call("GET", "/nowhere", headers=page), s.call("GET", "/v1/sessions", headers={**page, "Authorization": None})):
        assert reply.headers["access-control-allow-origin"] == "https://console.example", reply
    stream = s.stream("POST", "/v1/run", {"code": "1"}, page)
    assert stream.answer.getheader("Access-Control-Allow-Origin") == "https://console.example"
    stream.until("result")
    stream.close()
    assert s.call("OPTIONS", "/nowhere", headers={**page, **ask}).status == 404
    assert s.call("OPTIONS", "/v1/run", headers=page).status == 405, "no question of a browser"
    for reply in (s.call("OPTIONS", "/v1/run", headers={**ask, "Origin": "https://evil.example"}), s.call("OPTIONS", "/v1/run", headers=ask), s.call("POST", "/v1/run", {"code": "1"})):
        assert not any(h.startswith("access-control") for h in reply.headers), reply
    assert s.stop() == 0


# --- bodies ---

BODIES = [
    (b"", "the field `code` is missing"),
    (b"{}", "the field `code` is missing"),
    (b"[]", "the body must be a JSON object"),
    (b"null", "the body: line 1, column 4 of the JSON: '[' or '{' expected near 'null'"),
    (b"5", "the body: line 1, column 1 of the JSON: '[' or '{' expected near '5'"),
    (b'"code"', "the body: line 1, column 6 of the JSON: '[' or '{' expected near '\"code\"'"),
    (b"{", "the body: line 1, column 1 of the JSON: string or '}' expected near end of file"),
    (b'{"code":"1"', "the body: line 1, column 11 of the JSON: '}' expected near end of file"),
    (b'{"code":"1"}x', "the body: line 1, column 13 of the JSON: end of file expected near 'x'"),
    (b"{'code':'1'}", "the body: line 1, column 2 of the JSON: string or '}' expected near '''"),
    (b'{"code":"1",}', "the body: line 1, column 13 of the JSON: string or '}' expected near '}'"),
    (b'\xef\xbb\xbf{"code":"1"}', "the body: line 1, column 1 of the JSON: '[' or '{' expected near '\ufeff'"),
    (b'{"code":"1","code":"2"}', "the body: line 1, column 18 of the JSON: duplicate object key near '\"code\"'"),
    (b'{"code":"\\ud800"}', "the body: line 1, column 16 of the JSON: invalid Unicode '\\uD800' near '\"\\ud800\"'"),
    (b'{"code":"\\u0000"}', "the body: line 1, column 16 of the JSON: a string contains \\u0000, which is not accepted"),
    (b'{"code":"\x00"}', "the body: line 1, column 9 of the JSON: control character 0x0 near '\"'"),
    (b'{"code":"\xff\xfe"}', "the body: line 1, column 9 of the JSON: unable to decode byte 0xff near '\"'"),
    (b'{"code":"\xed\xa0\x80"}', "the body: line 1, column 9 of the JSON: unable to decode byte 0xed near '\"'"),
    (b'{"code":NaN}', "the body: line 1, column 11 of the JSON: invalid token near 'NaN'"),
    (b'{"code":"1","timeout_s":1e999}', "the body: line 1, column 29 of the JSON: real number overflow near '1e999'"),
    (b'{"code":"1","timeout_s":-1}', "`timeout_s`: read -1, expected a number from 1 to 86400"),
    (b'{"code":"1","timeout_s":"5"}', '`timeout_s`: read "5", expected a number from 1 to 86400'),
    (b'{"code":null}', "`code`: read null, expected a string of at most 1048576 bytes"),
    (b'{"code":"1","pids":99999999999999999999}', "the body: line 1, column 39 of the JSON: too big integer near '99999999999999999999'"),
    (b'{"code":"1","pids":1.0}', "`pids`: read 1.0, expected a whole number from 1 to 65536"),
    (b'{"code":"1","memory_mb":-9223372036854775808}', "`memory_mb`: read -9223372036854775808, expected a whole number from 16 to 1048576"),
    (b'{"code":["1"]}', "`code`: read an array, expected a string of at most 1048576 bytes"),
    (b'{"code":"1","tiemout_s":5}', "unknown field `tiemout_s`"),
    (b'{"code":"1","__proto__":{}}', "unknown field `__proto__`"),
    (b'{"code":"1","env":{"A":1}}', "`env`: read an object, expected an object of strings, at most 128"),
    (b'{"code":"1","language":"Pyth0n"}', '`language`: read "Pyth0n", expected one of python, bash, javascript, typescript'),
    (b"[" * 100_000, "the body: read JSON nested more than 32 levels, expected fewer"),
    (b'{"code":' * 5000, "the body: read JSON nested more than 32 levels, expected fewer"),
    (b'{"code":"' + b"x" * 1_048_577 + b'"}', "`code`: read a string of 1048577 bytes, expected a string of at most 1048576 bytes"),
    (json.dumps({"code": "1", "env": {f"A{i}": "" for i in range(129)}}).encode(), "`env`: read an object, expected an object of strings, at most 128"),
]  # fmt: skip


@pytest.mark.parametrize("body, message", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_wrong_says_where(server, body, message):
    reply = server.call("POST", "/v1/run", body, headers={"Content-Type": "application/json"})
    assert reply.status in (400, 413), reply
    assert set(reply.error) == {"code", "message", "hint"}
    assert reply.error["code"] in ("invalid", "too_large")
    assert reply.error["message"] == message


def test_a_body_where_none_belongs_is_refused(server):
    for method, path in (("GET", "/v1/sessions"), ("DELETE", "/v1/sessions/x"), ("GET", "/openapi.json")):
        assert server.call(method, path, b"{}").status == 400
    assert server.call("GET", "/v1/sessions?x=1").status == 400


def test_a_million_bytes_of_program_are_taken(server):
    code = "x = '" + "\\\\" * 524_000 + "'"
    reply = server.call("POST", "/v1/run", {"code": code})
    assert reply.status == 200 and reply.json["status"] == "success", reply


# --- patience ---


def test_a_head_that_does_not_come_is_cut(server):
    with server.open() as s:
        s.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(8):  # drop by drop, which does not help
            time.sleep(1)
            s.sendall(b"X: y\r\n")
        assert parse(read_all(s))[0].status == 408


def test_a_body_that_does_not_come_is_cut(server):
    with server.open() as s:
        s.sendall(framing(server, b"Content-Length: 1000\r\n", b"{"))
        assert parse(read_all(s))[0].status == 408


def test_silent_connections_do_not_lock_others_out(server):
    silent = [server.open() for _ in range(100)]
    try:
        assert server.run("print(1)")["stdout"] == "1\n"
    finally:
        for s in silent:
            s.close()


def test_clients_that_vanish_cost_nothing(server):
    before = server.descriptors()
    body = b'{"code":"import time; time.sleep(0.2)"}'
    for i in range(60):
        s = server.open()
        s.sendall(framing(server, b"Content-Length: %d\r\n" % len(body), body[: len(body) - i % 3]))
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end
        s.close()
    wait_until(lambda: server.descriptors() <= before, "descriptors are given back")
    assert server.run("print(1)")["stdout"] == "1\n"


def test_many_clients_at_once_are_all_answered(server):
    statuses = []

    def one():
        for _ in range(5):
            statuses.append(server.call("POST", "/v1/run", {"code": "pass"}).status)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert statuses == [200] * 100


# --- helpers ---


def memory(server):
    return int(next(x for x in host.read(f"/proc/{server.process.pid}/status").splitlines() if x.startswith("VmRSS")).split()[1])


def read_head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(65536)
        if not piece:
            break
        data += piece
    return data
