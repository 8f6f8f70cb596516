"""`belljar serve` as a process of a test, and the ways to talk to it: properly, and byte by byte."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import belljar

# A server for tests starts fast: nothing is imported in advance, few sandboxes wait, and cells that ignore interrupts do not live long.
PLAIN = {"BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2", "BELLJAR_POOL_HOT": "0", "BELLJAR_INTERRUPT_GRACE_S": "1"}


class Reply:
    """Status, headers (lower case) and body of one answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {k.lower(): v for k, v in headers}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body.decode("utf-8", "strict"), parse_constant=belljar.reject_constant)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:500]}>"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    def __init__(self, who, *args, env=None, **popen):
        self.who = who
        self.process = who.start(
            "serve", "--listen", "127.0.0.1:0", *args, env={**PLAIN, **(env or {})},
            stderr=subprocess.STDOUT, **popen,
        )  # fmt: skip
        self.said = []
        self.port = int(self.wait_for(r"listening on http://127\.0\.0\.1:(\d+)")[1])
        self.socket = None
        while not re.search(r"token", self.said[-1]):
            self.read_line()
            found = re.search(r"listening on (/.*)", self.said[-1])
            self.socket = found[1] if found else self.socket
        found = re.search(r'the token is in ([^"]*)', self.said[-1])
        self.token = open(found[1], encoding="ascii").read().strip() if found else None

    def read_line(self):
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(f"the server ended with {self.process.wait()}: {self.said}")
        self.said.append(line.strip())

    def wait_for(self, pattern):
        while not (self.said and re.search(pattern, self.said[-1])):
            self.read_line()
        return re.search(pattern, self.said[-1])

    # --- properly ---

    def connect(self, timeout=belljar.HANG_SECONDS):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def headers(self, more=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers.update(more or {})
        return {k: v for k, v in headers.items() if v is not None}

    def call(self, method, path, body=None, headers=None, connection=None, **more):
        """One exchange. A body that is no bytes is sent as JSON."""
        c = connection or self.connect()
        headers = self.headers(headers)
        if body is not None and not isinstance(body, bytes):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body).encode()
        try:
            c.request(method, path, body=body, headers=headers, **more)
            answer = c.getresponse()
            return Reply(answer.status, answer.getheaders(), answer.read())
        finally:
            if not connection:
                c.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def post_raw(self, path, body, content_type="application/json"):
        return self.call("POST", path, body, {"Content-Type": content_type} if content_type else {})

    def run(self, code, **fields):
        reply = self.call("POST", "/v1/run", {"code": code, **fields})
        assert reply.status == 200, reply
        return reply.json

    @contextlib.contextmanager
    def session(self, **fields):
        """The id of a new session, which ends with the block."""
        reply = self.call("POST", "/v1/sessions", {"profile": "open", **fields})
        assert reply.status == 201, reply
        yield reply.json["session_id"]
        self.call("DELETE", f"/v1/sessions/{reply.json['session_id']}")

    def execute(self, session, code, **fields):
        reply = self.call("POST", f"/v1/sessions/{session}/execute", {"code": code, **fields})
        assert reply.status == 200, reply
        return reply.json

    def stream(self, method, path, body=None, headers=None):
        c = self.connect()
        headers = self.headers({"Accept": "text/event-stream", **(headers or {})})
        if body is not None:
            headers["Content-Type"] = "application/json"
        c.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
        return Events(c, c.getresponse())

    def descriptors(self):
        """How many the server has open while nothing is asked of it. Each sandbox of the stock has some: it has to be full."""
        wait_until(lambda: (pool := self.get("/v1/stats").json["server"]["pool"])["idle"] == pool["wanted"], "the stock is full")
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    # --- byte by byte ---

    def open(self, timeout=belljar.HANG_SECONDS):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def raw(self, data, timeout=belljar.HANG_SECONDS):
        """Everything that comes back until the server closes."""
        with self.open(timeout) as s:
            s.sendall(data)
            return read_all(s)

    # --- its end ---

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds=belljar.HANG_SECONDS):
        try:
            rest, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"the server did not end within {seconds} s") from None
        self.said.append(rest.decode())
        return self.process.returncode


class Events:
    """An event stream: (id, name, data) until it ends."""

    def __init__(self, connection, answer):
        self.connection = connection
        self.answer = answer
        self.status = answer.status
        self.comments = 0

    def __iter__(self):
        number, name = None, None
        while True:
            line = self.answer.readline().decode("utf-8")
            if not line:
                return
            if line.startswith(":"):
                self.comments += 1
            elif line.startswith("id: "):
                number = int(line[4:]) if line[4:].strip().isdigit() else line[4:].strip()
            elif line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                yield number, name, json.loads(line[6:])

    def until(self, name):
        for event in self:
            if event[1] == name:
                return event
        raise AssertionError(f"the stream ended without {name}")

    def close(self):
        # The answer holds the socket's file; only together they let it go.
        self.answer.close()
        self.connection.close()


def read_all(s):
    data = b""
    while True:
        piece = s.recv(65536)
        if not piece:
            return data
        data += piece


def parse(data):
    """Replies that follow one another."""
    replies = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
        length = int(dict((k.lower(), v) for k, v in headers).get("content-length", 0))
        replies.append(Reply(status, headers, data[:length]))
        data = data[length:]
    return replies


def is_prompt(attempt, seconds, tries=4):
    """Whether one of several tries took less than so long: a busy machine holds up one, a fault all of them."""
    for _ in range(tries):
        begun = time.monotonic()
        attempt()
        if time.monotonic() - begun < seconds:
            return True
    return False


def wait_until(condition, what, seconds=belljar.HANG_SECONDS, pause=0.02):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"not within {seconds} s: {what}")
