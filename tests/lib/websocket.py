"""A small client of WebSocket (RFC 6455), and of Jupyter's messages on one: properly, and byte by byte."""
import base64
import hashlib
import json
import struct
import uuid

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY = base64.b64encode(bytes(range(16)))


def frame(opcode, payload=b"", last=True, mask=b"\x01\x02\x03\x04", form=None, reserved=0):
    """The bytes of one frame. `form`: the form of its length, 7, 16 or 64 bits, where it is not the shortest."""
    first = opcode | (0x80 if last else 0) | reserved
    size = len(payload)
    form = form or (7 if size < 126 else 16 if size < 65536 else 64)
    bit = 0x80 if mask else 0
    head = bytes([first, bit | {7: size, 16: 126, 64: 127}[form]])
    head += {7: b"", 16: struct.pack(">H", size & 0xFFFF), 64: struct.pack(">Q", size)}[form]
    if not mask:
        return head + payload
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


class Refused(Exception):
    """The server answered something else than 101."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text[:500]}")
        self.status, self.text = status, text


class WebSocket:
    def __init__(self, server, path, headers=None, protocols=(), token=True):
        self.socket = server.open()
        lines = {
            "Host": f"127.0.0.1:{server.port}", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": KEY.decode(), "Authorization": f"Bearer {server.token}" if token and server.token else None,
            "Sec-WebSocket-Protocol": ", ".join(protocols) or None, **(headers or {}),
        }  # fmt: skip
        text = "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{text}\r\n".encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.more()
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        if self.status != 101:
            while len(self.bytes) < int(self.headers.get("content-length", 0)):
                self.more()
            self.socket.close()
            raise Refused(self.status, self.bytes.decode())
        assert self.headers["sec-websocket-accept"] == base64.b64encode(hashlib.sha1(KEY + GUID).digest()).decode()
        self.protocol = self.headers.get("sec-websocket-protocol")

    def more(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise EOFError("the server closed the connection")
        self.bytes += piece

    def take(self, count):
        while len(self.bytes) < count:
            self.more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def send(self, data, opcode=None):
        text = isinstance(data, str)
        self.socket.sendall(frame(opcode or (TEXT if text else BINARY), data.encode() if text else data))

    def read_frame(self):
        """(opcode, payload) of the next one; the server's are whole messages without a mask."""
        first, second = self.take(2)
        assert first & 0xF0 == 0x80 and not second & 0x80, (first, second)
        size = second
        if size == 126:
            (size,) = struct.unpack(">H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.take(8))
        return first & 15, self.take(size)

    def read(self):
        """The next message; pings are answered."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == PING:
                self.send(payload, PONG)
            elif opcode == CLOSE:
                raise EOFError(close_reason(payload))
            elif opcode in (TEXT, BINARY):
                return payload.decode() if opcode == TEXT else payload

    def read_close(self):
        """(code, reason) with which the server ends it; what comes before is thrown away."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == CLOSE:
                return close_reason(payload)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.close()


def close_reason(payload):
    return struct.unpack(">H", payload[:2])[0], payload[2:].decode()


V1 = "v1.kernel.websocket.jupyter.org"


def pack(message):
    parts = [message["channel"].encode(), *(json.dumps(message[k]).encode() for k in ("header", "parent_header", "metadata", "content"))]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


def unpack(data):
    (count,) = struct.unpack_from("<Q", data)
    offsets = struct.unpack_from(f"<{count}Q", data, 8)
    parts = [data[a:b] for a, b in zip(offsets, offsets[1:])]
    keys = ("header", "parent_header", "metadata", "content")
    return {"channel": parts[0].decode(), **{k: json.loads(p) for k, p in zip(keys, parts[1:5])}}


class Kernel(WebSocket):
    """A client of a kernel of Jupyter's, in one of the two forms."""

    def __init__(self, server, kernel, is_binary=False, **more):
        super().__init__(server, f"/jupyter/api/kernels/{kernel}/channels", protocols=(V1,) if is_binary else (), **more)
        self.is_binary = is_binary
        assert self.protocol == (V1 if is_binary else None)

    def ask(self, type, content, channel="shell"):
        """Sends it; returns its id."""
        id = uuid.uuid4().hex
        header = {"msg_id": id, "msg_type": type, "session": "s", "username": "u", "date": "2026-01-01T00:00:00Z", "version": "5.3"}
        message = {"channel": channel, "header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.send(pack(message) if self.is_binary else json.dumps({**message, "buffers": []}))
        return id

    def receive(self):
        data = self.read()
        return unpack(data) if self.is_binary else json.loads(data)

    def answers(self, id, until_reply=True):
        """The messages about one of ours, until the kernel is idle again and the reply is there."""
        found, has_reply = [], not until_reply
        while True:
            m = self.receive()
            if m["parent_header"].get("msg_id") != id:
                continue
            found.append((m["header"]["msg_type"], m["content"]))
            has_reply |= m["header"]["msg_type"].endswith("_reply")
            if has_reply and ("status", {"execution_state": "idle"}) in found:
                return found

    def execute(self, code, **more):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True, **more}
        return self.ask("execute_request", content)

    def run(self, code, **more):
        return self.answers(self.execute(code, **more))


def of(messages, type):
    return [content for kind, content in messages if kind == type]


def text(messages, name="stdout"):
    return "".join(c["text"] for c in of(messages, "stream") if c["name"] == name)


