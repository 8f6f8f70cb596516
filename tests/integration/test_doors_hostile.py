"""Hostile clients and programs at the doors for other systems' clients and for ports of sessions."""
import base64
import contextlib
import hashlib
import http.client
import json
import time
import urllib.parse

import pytest

from serving import Server
from test_e2b import made, write
from test_ports import PROGRAM
from websocket import Kernel, WebSocket, text


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", env={"BELLJAR_SESSION_PORTS": "8000,8001"})
    yield made
    assert made.stop() == 0, made.said


@pytest.fixture
def place(server):
    with server.session(ports=["8000"]) as id:
        said = server.execute(id, PROGRAM)
        assert said["stdout"] == "serving\n", said
        yield f"/v1/sessions/{id}/ports/8000"


@contextlib.contextmanager
def own_server(user, *rights, env=None):
    """A server with a place of its own, and a token of the name `other`."""
    place = user.home / "state" / f"doors-{time.monotonic_ns()}"
    place.mkdir(mode=0o700)
    user.own(place)
    env = {"XDG_STATE_HOME": str(place), "XDG_RUNTIME_DIR": str(place), **(env or {})}
    made = Server(user, env=env)
    try:
        made.add = lambda: user.call("token", "add", "other", *rights, env=env).text.strip()
        made.remove = lambda: user.call("token", "rm", "other", env=env)
        made.first, made.token = made.token, made.add()
        yield made
    finally:
        assert made.stop() == 0, made.said


# --- redirects of a server in a session ---


@pytest.mark.parametrize(
    "to", ["/../../../../v1/sessions", "/a/../../../../../../v1/run", "/%2e%2e/%2E%2E/x", "/.%2e/x", "/..\\..\\x", "/\\..\\x", "/..?x", "/..#x", "/..", "/.\t./x", "/..;/x", "http://127.0.0.1:8000/../../x"]
)
def test_a_redirect_does_not_leave_the_path_of_its_port(server, place, to):
    reply = server.get(f"{place}/redirect?{to}" if "\t" not in to else f"{place}/tab")
    location = reply.headers.get("location")
    assert location is None or urllib.parse.urljoin(place, location).startswith(place + "/"), location
    assert location is None or ".." not in urllib.parse.unquote(location).partition("?")[0].partition("#")[0], location


def test_a_session_of_any_name_has_ports(server):
    with server.session(ports=["8000"], name="ports"):
        assert server.execute("ports", PROGRAM)["stdout"] == "serving\n"
        assert server.get("/v1/sessions/ports/ports/8000/x").json["path"] == "/x"


# --- signed addresses ---


def signature(sandbox, path, operation, user="", until=None):
    text = f"{path}:{operation}:{user}:{sandbox.made['envdAccessToken']}" + (f":{until}" if until else "")
    return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def test_an_address_is_good_for_one_thing(server):
    with made(server) as s:
        write(s, "secret", b"x")

        def fetch(**fields):
            return server.call("GET", "/files?" + urllib.parse.urlencode(fields), headers={"Authorization": None})

        # An address to write a file of a strange name, cut at other places.
        sign = signature(s, "secret:read:a", "write")
        assert fetch(path="secret", username="a:write:", signature=sign).status == 401
        sign = signature(s, "secret:read:a", "write", "user", 9999999999)
        assert fetch(path="secret", username="a:write:user", signature=sign, signature_expiration=9999999999).status == 401
        # The path that is signed is the one that is read.
        sign = signature(s, "", "read")
        assert server.call("GET", f"/files?p%61th=secret&signature={sign}", headers={"Authorization": None}).status == 401
        encoded = "%2e/" * 1300 + "secret"
        assert server.call("GET", f"/files?path={encoded}&signature={sign}", headers={"Authorization": None}).status == 401
        assert fetch(path="secret", signature=signature(s, "secret", "read")).body == b"x"


# --- tokens that are removed ---


def test_a_removed_token_runs_no_more_cells(user):
    with own_server(user) as server:
        kernel = server.post("/jupyter/api/kernels").json["id"]
        with Kernel(server, kernel) as client:
            assert text(client.run("print(1)")) == "1\n"
            assert server.remove().code == 0
            with pytest.raises((EOFError, ConnectionError)):
                said = client.run("print('still' + ' here')")
                assert "still here" not in text(said)
                client.run("print(2)")


def test_a_removed_token_sends_nothing_through_a_port(user):
    with own_server(user, env={"BELLJAR_SESSION_PORTS": "8000"}) as server:
        id = server.post("/v1/sessions", {"profile": "open", "ports": ["8000"]}).json["session_id"]
        assert server.execute(id, PROGRAM)["stdout"] == "serving\n"
        with WebSocket(server, f"/v1/sessions/{id}/ports/8000/socket") as client:
            client.send(b"before")
            assert client.read() == b"before"
            assert server.remove().code == 0
            with pytest.raises((EOFError, ConnectionError)):
                client.send(b"after")
                assert client.read() != b"after"


DEAF = """
import socket
deaf = socket.socket()
deaf.bind(("127.0.0.1", 8000))
deaf.listen(0)
own = [socket.socket() for _ in range(4)]
for s in own:
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", 8000))
"""


def test_clients_that_wait_for_a_server_may_go_while_its_session_ends(server):
    for _ in range(5):
        id = server.post("/v1/sessions", {"profile": "open", "ports": ["8000"]}).json["session_id"]
        server.execute(id, DEAF)
        clients = [server.open() for _ in range(16)]
        for client in clients:
            client.sendall(f"GET /v1/sessions/{id}/ports/8000/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        time.sleep(0.2)
        with server.open() as ender:
            ender.sendall(f"DELETE /v1/sessions/{id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
            for client in clients:
                client.close()
            assert b"HTTP/1.1 20" in ender.recv(4096)
        assert server.get("/v1/sessions").status == 200


# --- requests that are answered early ---


def test_what_is_not_there_is_answered_once(server):
    """Whatever else the request has is not looked at any more: it is gone, as a server with sanitizers would tell."""
    for path in ("/e2b/sandboxes/none/metrics?start=1&end=2", "/v1/sessions/none/cells?limit=5", "/v1/sessions/none/commands/none/terminal?after=1"):
        assert server.get(path, headers={"Sec-WebSocket-Protocol": "belljar.terminal"}).status == 404, path
    with made(server) as s:
        for broken in (b"", b"\0\0\0\0\x09{", b"\x02" + bytes(4)):
            reply = s.stream_raw("filesystem.Filesystem/WatchDir", broken, Keepalive_Ping_Interval="50")
            assert reply.status == 200 and b'"error"' in reply.body, reply
    assert server.get("/v1/sessions").status == 200


# --- what passes a port ---


def test_types_have_no_case(server, place):
    reply = server.get(f"{place}/loud")
    assert reply.headers["content-type"] == "Application/JSON" and b"QYLPMN5HHHFPZAM2" not in reply.body and b"REDACTED" in reply.body


def test_bytes_through_ports_have_the_tokens_quota(user):
    with own_server(user, "--bytes-per-hour", "1000000", env={"BELLJAR_SESSION_PORTS": "8000"}) as server:
        id = server.post("/v1/sessions", {"profile": "open", "ports": ["8000"]}).json["session_id"]
        assert server.execute(id, PROGRAM)["stdout"] == "serving\n"
        place = f"/v1/sessions/{id}/ports/8000/binary"
        assert server.get(place).status == 200 and server.get(place).status == 429


ENDLESS = """
import socket, threading
def serve(connection):
    try:
        connection.recv(65536)
        if PORT == 8001:
            while True:
                connection.sendall(b"HTTP/1.1 102 Wait\\r\\n\\r\\n" * 100)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n")
        for _ in range(SENT):
            connection.sendall(b"some words of a long text\\n" * 1000)
        connection.close()
    except OSError:
        pass
def accept(s):
    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
s = socket.create_server(("127.0.0.1", PORT))
threading.Thread(target=accept, args=(s,), daemon=True).start()
print("serving")
"""


def endless(server, port=8000, sent=1 << 30):
    """The path of a server that goes on for so long."""
    id = server.post("/v1/sessions", {"profile": "open", "ports": ["8000", "8001"]}).json["session_id"]
    said = server.execute(id, ENDLESS.replace("PORT", str(port)).replace("SENT", str(sent)))
    assert said["stdout"] == "serving\n", said
    return f"/v1/sessions/{id}/ports/{port}/"


def test_heads_before_an_answer_are_counted(server):
    reply = server.get(endless(server, 8001))
    assert reply.status == 502 and "HTTP" in reply.error["message"], reply


def test_an_answer_without_end_has_one_with_the_quota(user):
    with own_server(user, "--bytes-per-hour", "1000000", env={"BELLJAR_SESSION_PORTS": "8000,8001"}) as server:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as cut:
            server.get(endless(server))
        assert not isinstance(cut.value, http.client.IncompleteRead) or len(cut.value.partial) < 8_000_000


def test_what_ports_cost_is_charged(user):
    with own_server(user, "--cpu-s-per-hour", "10", env={"BELLJAR_SESSION_PORTS": "8000,8001"}) as server:
        path = endless(server, sent=400)
        before = server.get("/v1/me").json["used"]["cpu_s_per_hour"]
        assert len(server.get(path).body) == 400 * 26000
        assert server.get("/v1/me").json["used"]["cpu_s_per_hour"] > before + 0.001


def test_a_paused_session_has_no_ports(callers):
    with Server(callers["root"] if "root" in callers else callers["user"], "--socket", "none", env={"BELLJAR_SESSION_PORTS": "8000"}) as server:
        with server.session(ports=["8000"]) as id:
            assert server.execute(id, PROGRAM)["stdout"] == "serving\n"
            if server.post(f"/v1/sessions/{id}/pause").status != 200:
                pytest.skip("this host cannot pause sessions")
            reply = server.get(f"/v1/sessions/{id}/ports/8000/")
            assert reply.status == 400 and "paused" in reply.error["message"], reply
            assert server.post(f"/v1/sessions/{id}/resume").status == 200 and server.get(f"/v1/sessions/{id}/ports/8000/").status == 200


# --- memory ---


def rss_mb(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return int(f.read().split("VmRSS:")[1].split()[0]) / 1024


def test_a_client_that_does_not_read_fills_nothing(server):
    kernel = server.post("/jupyter/api/kernels").json["id"]
    before = rss_mb(server)
    with Kernel(server, kernel) as deaf, Kernel(server, kernel) as busy:
        header = {"msg_id": "x" * 200, "msg_type": "kernel_info_request", "username": "y" * 3000, "session": "s", "version": "5.3", "date": ""}
        message = json.dumps({"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": {}})
        try:
            for _ in range(6000):
                busy.send(message)
                for _ in range(3):
                    busy.read()
        except (EOFError, ConnectionError):
            pass
        grown = rss_mb(server) - before
    server.call("DELETE", f"/jupyter/api/kernels/{kernel}")
    assert grown < 16, grown


@pytest.mark.parametrize("path,list", [("/v1/sessions", "sessions"), ("/v1/runs", "runs"), ("/v1/snapshots", "snapshots"), ("/v1/jobs", "jobs"), ("/jupyter/api/kernels", None), ("/e2b/snapshots", None)])
def test_a_new_token_of_an_old_name_has_empty_lists(user, path, list):
    """With its first request, as below."""
    with own_server(user) as server:
        id = server.post("/v1/sessions", {"name": "olds", "profile": "open"}).json["session_id"]
        server.execute(id, "1")
        server.post(f"/v1/sessions/{id}/snapshot", {"name": "kept"})
        assert server.post("/jupyter/api/kernels").status == 201
        if list == "jobs":  # for others, the server would look at the tokens by itself
            assert server.post("/v1/jobs", {"code": "1"}).status == 202
        found = server.get(path).json
        assert found[list] if list else found, found
        assert server.remove().code == 0
        server.token = server.add()
        found = server.get(path).json
        assert (found[list] if list else found) == [], found


def test_a_new_token_of_an_old_name_finds_no_old_sandbox(user):
    """The server learns of both changes with the first request of the new one, when the old sandboxes are still ending."""
    with own_server(user) as server:
        old = server.call("POST", "/e2b/v2/sandboxes", {"templateID": "base", "metadata": {"of": "the old one"}})
        assert old.status == 201 and server.get("/e2b/v2/sandboxes").json[0]["sandboxID"] == old.json["sandboxID"]
        assert server.remove().code == 0
        server.token = server.add()
        assert server.get("/e2b/v2/sandboxes").json == []
        assert server.get(f"/e2b/sandboxes/{old.json['sandboxID']}").status == 404
