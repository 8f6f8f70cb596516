"""WebSocket of `belljar serve`: the handshake, frames of any kind, and clients that do not behave."""
import re
import struct

import pytest

from serving import Server, wait_until
from websocket import BINARY, CLOSE, KEY, PING, PONG, TEXT, Kernel, Refused, WebSocket, frame, of, text

MESSAGE = b'{"channel": "shell", "header": {"msg_id": "1", "msg_type": "comm_info_request"}, "content": {}}'


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", env={"BELLJAR_HTTP_IDLE_S": "30"})
    made.path = f"/jupyter/api/kernels/{made.post('/jupyter/api/kernels').json['id']}/channels"
    yield made
    assert made.stop() == 0, made.said


@pytest.fixture
def client(server):
    with WebSocket(server, server.path) as made:
        yield made


def is_answered(client):
    """Whether a request of Jupyter's that is sent now gets its answer."""
    client.send(MESSAGE.decode())
    while "comm_info_reply" not in client.read():
        pass
    return True


# --- the handshake ---


@pytest.mark.parametrize(
    "headers,status",
    [
        ({"Upgrade": None}, 426), ({"Upgrade": "h2c"}, 426), ({"Connection": "keep-alive"}, 426), ({"Sec-WebSocket-Version": "8"}, 426),
        ({"Sec-WebSocket-Version": None}, 426), ({"Sec-WebSocket-Key": None}, 400), ({"Sec-WebSocket-Key": "c2hvcnQ="}, 400),
        ({"Sec-WebSocket-Key": "!" * 24}, 400), ({"Host": "example.org"}, 403), ({"Origin": "null"}, 403), ({"Authorization": "Bearer bj_0"}, 401),
    ],
)  # fmt: skip
def test_a_handshake_that_is_not_right_is_refused(server, headers, status):
    with pytest.raises(Refused) as refused:
        WebSocket(server, server.path, headers=headers)
    assert refused.value.status == status
    assert "error" in refused.value.text


def test_words_of_the_handshake_have_any_case(server):
    with WebSocket(server, server.path, headers={"Upgrade": "WebSocket", "Connection": "keep-alive, upgrade"}) as client:
        assert is_answered(client)


def test_frames_may_come_with_the_handshake(server):
    with server.open() as s:
        head = (
            f"GET {server.path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {KEY.decode()}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        )
        s.sendall(head.encode() + frame(PING, b"early"))
        data = b""
        while b"early" not in data:
            piece = s.recv(65536)
            assert piece, data
            data += piece
        assert data.startswith(b"HTTP/1.1 101 ") and bytes([0x80 | PONG, 5]) + b"early" in data


# --- frames ---


def test_a_ping_is_answered_also_within_a_message(client):
    client.socket.sendall(frame(TEXT, MESSAGE[:20], last=False) + frame(PING, b"now") + frame(0, MESSAGE[20:]))
    while True:
        opcode, payload = client.read_frame()
        if opcode == PONG:
            break
    assert payload == b"now"
    while "comm_info_reply" not in client.read():
        pass


def test_a_message_may_come_byte_by_byte(client):
    parts = [frame(TEXT if i == 0 else 0, MESSAGE[i : i + 1], last=i == len(MESSAGE) - 1) for i in range(len(MESSAGE))]
    for byte in b"".join(parts):
        client.socket.sendall(bytes([byte]))
    while "comm_info_reply" not in client.read():
        pass


def test_long_messages_come_whole(server):
    id = server.path.split("/")[4]
    with Kernel(server, id) as client:
        code = "x = '" + "é" * 300000 + "'\nprint(len(x))"
        assert text(client.run(code)) == "300000\n"


BROKEN = {
    "no mask": frame(TEXT, b"{}", mask=None),
    "a reserved bit": frame(TEXT, b"{}", reserved=0x40),
    "a reserved opcode": frame(3, b""),
    "a reserved control opcode": frame(11, b""),
    "a long ping": frame(PING, b"x" * 126),
    "a ping in parts": frame(PING, b"x", last=False),
    "a length in 16 bits that needs 7": frame(TEXT, b"{}", form=16),
    "a length in 64 bits that needs 16": frame(TEXT, b"x" * 200, form=64),
    "a message in a message": frame(TEXT, b"{", last=False) + frame(TEXT, b"}"),
    "more of nothing": frame(0, b"x"),
    "a close of one byte": frame(CLOSE, b"x"),
    "a close with a code that is none": frame(CLOSE, struct.pack(">H", 1005)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_frame_ends_the_connection(server, name):
    with WebSocket(server, server.path) as client:
        client.socket.sendall(BROKEN[name])
        assert client.read_close()[0] == 1002
    assert server.get("/jupyter/api").status == 200


def test_a_message_that_is_too_long_ends_the_connection(server):
    for data in (
        bytes([0x80 | TEXT, 0x80 | 127]) + struct.pack(">Q", (8 << 20) + 1) + b"abcd",
        bytes([0x80 | BINARY, 0x80 | 127]) + struct.pack(">Q", (1 << 63) - 1) + b"abcd",
    ):
        with WebSocket(server, server.path) as client:
            client.socket.sendall(data)
            assert client.read_close()[0] == 1009


def test_a_close_is_answered_with_its_code(client):
    client.socket.sendall(frame(CLOSE, struct.pack(">H", 3000) + b"enough"))
    assert client.read_close() == (3000, "")
    with pytest.raises(EOFError):
        client.more()


# --- clients that do not behave ---


def test_a_client_that_only_sends_is_not_read_for_ever(server):
    """Its pings wait in its own socket when their answers do."""
    with WebSocket(server, server.path) as client:
        client.socket.setblocking(False)
        sent, flood = 0, frame(PING, b"x" * 120) * 500
        try:
            while sent < 1 << 28:
                sent += client.socket.send(flood)
        except BlockingIOError:
            pass
        assert sent < 1 << 28
        assert server.get("/jupyter/api").status == 200


def test_output_beyond_the_limit_is_left_out(server):
    id = server.path.split("/")[4]
    with Kernel(server, id) as client:
        said = text(client.run("for i in range(3000):\n    print('x' * 1000)"))
        assert len(said) < 3000000 and said.startswith("x" * 1000) and "left out" in said[-100:]
        assert of(client.run("1"), "execute_reply")[0]["status"] == "ok"


def test_a_silent_client_is_let_go(callers):
    with Server(callers["user"], "--socket", "none", env={"BELLJAR_HTTP_IDLE_S": "1"}) as server:
        id = server.post("/jupyter/api/kernels").json["id"]
        with Kernel(server, id) as client:
            assert client.read_close()[0] == 1001  # it answers no ping


def test_a_connection_of_a_removed_token_ends(server):
    token = re.search(r"bj_[0-9a-f]{64}", server.who.call("token", "add", "gone").text)[0]
    headers = {"Authorization": f"Bearer {token}"}
    made = wait_until(lambda: (r := server.post("/jupyter/api/kernels", headers=headers)).status == 201 and r, "the token is known")
    with Kernel(server, made.json["id"], headers=headers) as client:
        client.run("1")
        assert server.who.call("token", "rm", "gone").code == 0
        server.get("/v1/stats")
        assert client.read_close()[0] == 1000
