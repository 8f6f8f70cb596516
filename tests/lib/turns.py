"""Hostile programs and request bodies that try to keep a server from everybody else, and how long it was kept.

What is asserted is CPU time of the longest turn of the server's event loop, which it measures itself: other load on the host
does not change it. For so long, and no longer, one client waits for another's bytes."""
import functools
import io
import json
import os
import random
import re
import socket
import sqlite3
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import belljar

# No turn of the loop takes more CPU time than this.
PROMISE_S = 0.05

# Work that was once done in one turn of up to 50 ms may now take half of that, so that a relapse is noticed.
CLOSER_S = 0.025
CLOSER = {"many names", "a form of 60 MB", "a form of 60 MB under a key", "a form of 60 MB for a session"}

# For a server with sanitizers, whose own checks take most of its time.
SANITIZED_S = 2.5

# The search follows measured times, so that the same seed may lead elsewhere: what it finds has to be slow beyond doubt.
SEARCH_S = 0.1

# CPU time of calibrate() on an ordinary machine; up to this it is not slow. Bounds grow at most tenfold.
CALIBRATION_S = 0.02
SLOWEST = 10


def calibrate():
    """CPU time of a fixed piece of work, the best of three."""

    def measure():
        started, value = time.thread_time(), 0
        for i in range(200000):
            value = (value * 31 + i) & 0xFFFFFF
        return time.thread_time() - started

    return min(measure() for _ in range(3))


def slowness():
    """How much slower this machine is now than an ordinary one; 1: not at all."""
    return min(max(1, calibrate() / CALIBRATION_S), SLOWEST)


@functools.cache
def is_sanitized():
    program = belljar.program_path().read_bytes()
    return b"__asan_init" in program or b"__ubsan_handle" in program


def bound_of(name):
    """The time that a turn may take, on an ordinary machine."""
    if is_sanitized():
        return SANITIZED_S
    return CLOSER_S if name in CLOSER else PROMISE_S


class Turns:
    """Turns of the loop, as the operator's metrics tell: how many there were, and how many were longer than each bound."""

    def __init__(self, text):
        self.counts = {}
        for bound, count in re.findall(r'belljar_loop_turn_cpu_seconds_bucket\{le="([^"]+)"\} (\d+)', text):
            self.counts[float(bound)] = int(count)
        self.sum = float(re.search(r"^belljar_loop_turn_cpu_seconds_sum (\S+)", text, re.M)[1])
        self.longest = float(re.search(r"^belljar_loop_turn_cpu_max_seconds (\S+)", text, re.M)[1])

    def above(self, before, seconds):
        """Turns since `before` that were longer than the first bound of the histogram that is not below `seconds`."""
        bound = min(b for b in self.counts if b >= seconds * 0.999)
        total = self.counts[float("inf")] - before.counts[float("inf")]
        return total - (self.counts[bound] - before.counts[bound])

    def worst(self, before):
        """The bound below which all turns since `before` were."""
        for bound in sorted(self.counts):
            if self.above(before, bound) == 0:
                return bound
        return float("inf")


def read_turns(tokens):
    reply = tokens.server.get("/metrics")
    assert reply.status == 200, reply
    return Turns(reply.body.decode())


class Poller:
    """A client that asks for /health 50 times a second, and how long it waited. By the clock: for information."""

    def __init__(self, server):
        self.server = server
        self.waits = []
        self.problem = None
        self.is_over = False
        self.thread = threading.Thread(target=self.poll)
        self.thread.start()

    def poll(self):
        connection = self.server.connect()
        try:
            while not self.is_over:
                started = time.perf_counter()
                reply = self.server.call("GET", "/health", connection=connection)
                self.waits.append(time.perf_counter() - started)
                assert reply.status == 200, reply
                time.sleep(0.02)
        except Exception as problem:  # raised by stop(), in the thread of the test
            self.problem = problem
        finally:
            connection.close()

    def stop(self):
        """The longest wait. Raises what went wrong."""
        self.is_over = True
        self.thread.join()
        if self.problem:
            raise self.problem
        assert self.waits, "/health was never answered"
        return max(self.waits)


# --- programs ---

SLOW_TEXTS = [
    '("pwd=" * 2040 + "://x\\n")',
    '("authorization=" * 4570 + "\\n")',
    '("password=\'" * 3000 + "\\n")',
    '("api_key: " * 3000 + "\\n")',
    '("eyJ" * 20000 + ".")',
    '("-----BEGIN PRIVATE KEY-----" * 2000)',
    '("https://a:b@" * 4000)',
    '("\\x1b[31m" * 9000 + "x")',
    '("A" * 60000 + "\\n")',
    '("Bearer " * 8000)',
    '("aws_secret_access_key=\\"" * 2500)',
    '("4111 1111 1111 111" * 3000)',
    '("a@b.c," * 9000)',
]

PROGRAMS = {
    "output flood": "import sys\nt = 'x' * 65536\nwhile True: sys.stdout.write(t); sys.stderr.write(t)",
    "short lines": "while True: print('a')",
    "progress flood": "from belljar import progress\nwhile True: progress(1, 2, 'x' * 100)",
    "display flood": "while True: display('x' * 1000)",
    "large displays": "for i in range(40): display('pwd=' * 100000)",
    "traceback": "def f(n):\n    if n: return f(n - 1)\n    raise ValueError('pwd=' * 200000)\nf(900)",
    "large result": "result = ['pwd=' * 10] * 20000",
    "text result": "result = 'authorization=' * 70000",
    "many files": "for i in range(9900): open(f'{i:06}' + 'a' * 100, 'w').close()",
    "deep files": "import os\nfor i in range(300):\n    os.makedirs(f'{i}/' + '/'.join('abcdefgh'))\n    open(f'{i}/a/b/c/x', 'w').close()",
    "large files": "for i in range(8): open(f'{i}.txt', 'w').write('pwd=' * 500000)",
}


# How they end; the others succeed. On a busy host the time of any may be over first.
ENDINGS = {"output flood": "timeout", "short lines": "timeout", "progress flood": "timeout", "display flood": "timeout", "traceback": "error"}


def run(tokens, token, code, **fields):
    return tokens.call(token, "POST", "/v1/run", {"code": code, "profile": "open", "timeout_s": 3, **fields})


def run_program(name):
    def attack(tokens, token):
        reply = run(tokens, token, PROGRAMS[name], collect=["*" + "a*" * 60 + "b"] * 32 if "files" in name else ["*.txt"])
        assert reply.status == 200 and reply.json["status"] in (ENDINGS.get(name, "success"), "timeout"), reply

    return attack


def run_slow_text(text, ending=""):
    def attack(tokens, token):
        code = f"import sys\nt = {text}\nfor i in range(60): sys.stdout.write(t); sys.stderr.write(t)\n{ending}"
        reply = run(tokens, token, code)
        assert reply.status == 200 and reply.json["status"] in ("success", "timeout"), reply

    return attack


# --- one text of megabytes ---

# In repr(): what a program multiplies.
UNITS = {
    "names": "pwd=",
    "headers": "authorization=",
    "quotes": "password='",
    "addresses": "https://a:b@",
    "tokens": "eyJhbGciOi.",
    "keys": "-----BEGIN PRIVATE KEY-----",
    "titles": "\x1b]0;a\x07ghp_",
    "controls": "\x01",
    "accents": "\u00e9",
    "plain": "lorem ipsum ",
}

# Each makes one long text `t` leave the sandbox in its own way.
LONG_TEXTS = {
    "a result": "result = t[:3900000]",
    "a list": "n = max(1, 600000 // len(t[:1])); result = [t[i:i + 40] for i in range(0, 1200000, 40)]",
    "a traceback": "raise ValueError(t[:2000000])",
    "a display": "display(t[:4000000])",
    "a hundred displays": "for i in range(100): display(t[i:i + 160000])",
    "a page": "from belljar import display\nclass P:\n    def _repr_html_(self): return t[:4000000]\ndisplay(P())",
    "a collected file": "open('a.txt', 'w').write(t)",
    "a hundred collected files": "for i in range(100): open(f'{i}.txt', 'w').write(t[:160000])",
}


# Of these, what there is at other doors.
SHOWN = ("a result", "a traceback", "a hundred displays")
FOLLOWED = (*SHOWN, "a collected file")


def text_of(unit, way):
    return f"t = {UNITS[unit]!r} * {(16 << 20) // len(UNITS[unit].encode())}\n{LONG_TEXTS[way]}"


def long_text(way, unit):
    def attack(tokens, token):
        reply = run(tokens, token, text_of(unit, way), timeout_s=12, collect=["*.txt"])
        assert reply.status == 200, reply
        ending = "error" if way == "a traceback" else "success"
        assert reply.json["status"] in (ending, "timeout"), {key: str(value)[:300] for key, value in reply.json.items()}

    return attack


def followed(way, unit):
    """Does the same with a client that follows the events."""

    def attack(tokens, token):
        body = {"code": text_of(unit, way), "profile": "open", "timeout_s": 12, "collect": ["*.txt"]}
        reply = tokens.call(token, "POST", "/v1/run", body, {"Accept": "text/event-stream"})
        assert reply.status == 200 and b"event: result" in reply.body, reply.body[-300:]

    return attack


def in_session(way, unit):
    def attack(tokens, token):
        session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open"}).json["session_id"]
        for _ in range(2):
            reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": text_of(unit, way), "timeout_s": 12})
            assert reply.status == 200, reply
        reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "print(1)"})
        assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
        tokens.call(token, "DELETE", f"/v1/sessions/{session}")

    return attack


def by_mcp(way, unit):
    """Does the same as a tool of MCP."""

    def attack(tokens, token):
        accept = {"Accept": "application/json, text/event-stream"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        reply = tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, accept)
        assert reply.status == 200, reply
        headers = {**accept, "Mcp-Session-Id": reply.headers["mcp-session-id"]}
        assert tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers).status == 202
        params = {"name": "execute_python_code", "arguments": {"code": text_of(unit, way)}}
        reply = tokens.call(token, "POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, headers)
        assert reply.status == 200 and b"content" in reply.body, reply.body[:300]

    return attack


def large_things_kept(tokens, token):
    """A saved state and a skill, each as large as it may be and full of names of secrets."""
    tokens.call(token, "POST", "/v1/states", {"name": "large"})
    reply = tokens.call(token, "POST", "/v1/states/large/versions", {"state": {"a": "password='" * 100000}})
    assert reply.status == 200, reply
    code = '"""What it does."""\n#' + "password='" * 25000 + "\n"
    reply = tokens.call(token, "PUT", "/v1/skills/large", code.encode(), {"Content-Type": "text/x-python"})
    assert reply.status == 200, reply
    for path in ("/v1/states/large", "/v1/skills/large"):
        assert tokens.call(token, "GET", path).status == 200
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", "---\nname: folder\ndescription: what it does\n---\ntext\n")
        archive.writestr("a.txt", "password='" * 390000)
    reply = tokens.call(token, "PUT", "/v1/skills/folder", folder.getvalue(), {"Content-Type": "application/zip"})
    assert reply.status in (200, 400, 413), reply
    if reply.status == 200:
        for path in ("/v1/skills/folder", "/v1/skills/folder/files/a.txt"):
            assert tokens.call(token, "GET", path).status == 200, path


def sixteen_at_once(code):
    def attack(tokens, token):
        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(lambda _: run(tokens, token, code), range(16)))
        for reply in replies:
            assert reply.status == 200 and reply.json["status"] == "timeout", reply

    return attack


# --- bodies ---


def post(path, body, content_type="application/json"):
    def attack(tokens, token):
        data = body() if callable(body) else body
        reply = tokens.call(token, "POST", path, data, {"Content-Type": content_type})
        assert reply.status == 200 or reply.status in (400, 413), reply

    return attack


def many_parts():
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a%d"\r\n\r\nx\r\n'
    return b"".join(part % i for i in range(100000)) + b"--x--\r\n"


BODIES = {
    "a program of a megabyte": lambda: json.dumps({"code": "#" + "pwd=" * 250000}).encode(),
    "large standard input": lambda: json.dumps({"code": "1", "stdin": "x" * (7 << 20)}).encode(),
    "escaped standard input": lambda: b'{"code": "1", "stdin": "' + b"\\u00e9" * (1 << 20) + b'"}',
    "a quarter of a million objects": lambda: b'{"code": "1", "env": [' + b"{}," * 250000 + b"{}]}",
    "a million numbers": lambda: b'{"code": "1", "env": [' + b"1," * 1000000 + b"1]}",
    "deep JSON": lambda: b'{"code": ' + b"[" * 500000,
    "many keys": lambda: b"{" + b",".join(b'"k%d": 1' % i for i in range(200000)) + b"}",
    "a long number": lambda: b'{"seed": ' + b"1" * (4 << 20) + b"}",
}


def large_batch(tokens, token):
    runs = [{"code": "print(1)", "stdin": "x" * (3 << 20)}] * 10
    reply = tokens.call(token, "POST", "/v1/batch", {"runs": runs})
    assert reply.status < 500, reply


def large_message(tokens, token):
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y" * (15 << 20)}}
    reply = tokens.call(token, "POST", "/mcp", message, {"Accept": "application/json, text/event-stream"})
    assert reply.status < 500, reply


def batch(tokens, token):
    reply = tokens.call(token, "POST", "/v1/batch", {"runs": [{"code": "print(1)"}] * 1000})
    assert reply.status < 500, reply


def batch_of_one_text(tokens, token):
    reply = tokens.call(token, "POST", "/v1/batch", {"code": "#" + "pwd=" * 200000 + "\nprint(1)", "runs": [{}] * 40})
    assert reply.status < 500, reply


def search_output(tokens, token):
    answer = run(tokens, token, "for i in range(40): print('ab' * 400000)").json
    for pattern in ("(a|b)*c", "a.*b.*c.*d", "(ab){400}c", "zzz"):
        reply = tokens.call(token, "GET", f"/v1/runs/{answer['id']}/output?search={pattern.replace('|', '%7C').replace('{', '%7B').replace('}', '%7D')}")
        assert reply.status < 500, reply


def sessions(tokens, token):
    for _ in range(6):
        opened = [tokens.call(token, "POST", "/v1/sessions", {}) for _ in range(4)]
        for reply in opened:
            assert reply.status == 201, reply
            reply = tokens.call(token, "DELETE", f"/v1/sessions/{reply.json['session_id']}")
            assert reply.status in (200, 204), reply


def session_listing(tokens, token):
    session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open"}).json["session_id"]
    code = "for i in range(9900): open(f'{i:06}' + 'a' * 100, 'w').close()"
    reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": code})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    for _ in range(5):
        assert tokens.call(token, "GET", f"/v1/sessions/{session}/files?limit=1000").status == 200
        assert tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "1"}).status == 200
    tokens.call(token, "DELETE", f"/v1/sessions/{session}")


def many_jobs_kept(tokens, token):
    """As many as one token may keep are made in seconds by writing them where the server does; by requests it takes longer."""
    name = f"jobs{time.monotonic_ns()}"
    own = tokens.add(name)
    made = tokens.call(own, "POST", "/v1/jobs", {"code": "1", "delay_s": 3600}).json["id"]
    assert tokens.call(own, "POST", f"/v1/jobs/{made}/cancel", {}).status == 200
    store = sqlite3.connect(os.path.join(tokens.env["XDG_STATE_HOME"], "belljar", "jobs.sqlite"), timeout=30)
    columns = ["'job_' || printf('%026d', n)" if row[1] == "id" else row[1] for row in store.execute("PRAGMA table_info(job)")]
    store.execute(
        "WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 100000)"
        f" INSERT INTO job SELECT {', '.join(columns)} FROM job, count WHERE id = ?", (made,)
    )  # fmt: skip
    store.commit()
    store.close()
    for state in ("done", "cancelled"):
        assert tokens.call(own, "GET", f"/v1/jobs?limit=10&state={state}").status == 200
    assert tokens.call(tokens.server.token, "DELETE", f"/v1/tokens/{name}").status == 204
    assert tokens.call(token, "GET", "/v1/jobs").status == 200


# A thousand directories, at the end of long paths, that get another name over and over.
RENAMES = """import os, time
deep = "/".join(["d" * 250] * 14)
os.makedirs(deep)
os.chdir(deep)
for i in range(950): os.makedirs(f"a/{i}")
open("/workspace/ready", "w").close()
until = time.time() + 4
while time.time() < until:
    os.rename("a", "b")
    os.rename("b", "a")
"""


def renames_under_watch(tokens, token):
    session = tokens.call(token, "POST", "/v1/sessions", {"profile": "open"}).json["session_id"]
    watches = [tokens.server.stream("GET", f"/v1/sessions/{session}/watch?recursive=true", headers={"Authorization": f"Bearer {token}"}) for _ in range(8)]
    for watch in watches:
        assert next(iter(watch))[1] == "start"
    reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": RENAMES, "timeout_s": 20})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    for watch in watches:
        watch.close()
    assert tokens.call(token, "DELETE", f"/v1/sessions/{session}").status == 204


def readers_that_do_not_read(tokens, token):
    held = []
    for _ in range(8):
        s = tokens.server.open()
        body = json.dumps({"code": PROGRAMS["output flood"], "timeout_s": 2}).encode()
        s.sendall(
            b"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (token.encode(), len(body)) + body
        )
        held.append(s)
    time.sleep(2.5)
    for s in held:
        s.close()


def connections(tokens, token):
    held = []
    for i in range(400):
        try:
            s = socket.create_connection(("127.0.0.1", tokens.server.port), timeout=5)
        except OSError:
            break
        s.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * (i * 10))
        held.append(s)
    for s in held:
        s.close()


# --- memory that is freed ---

# The process that drops the last reference frees it, which takes a large part of a second.
LARGE = {"profile": "open", "memory_mb": 2048, "disk_mb": 2000, "timeout_s": 60}
FILL = """
import os
def fill(path, megabytes):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, megabytes << 20)
    os.close(fd)
"""


def large_workspace(tokens, token):
    for ending in ("", "os._exit(0)", "os.kill(os.getpid(), 9)"):
        reply = run(tokens, token, FILL + "fill('large', 1800)\n" + ending, **LARGE)
        assert reply.status == 200 and reply.json["status"] in ("success", "error", "crashed"), reply


class LargeSession:
    """A session in which `code` has run."""

    def __init__(self, tokens, token, code):
        self.tokens, self.token = tokens, token
        limits = {key: value for key, value in LARGE.items() if key != "timeout_s"}
        reply = tokens.call(token, "POST", "/v1/sessions", limits)
        assert reply.status == 201, reply
        self.url = f"/v1/sessions/{reply.json['session_id']}"
        self.run(FILL + code)

    def run(self, code):
        reply = self.call("POST", "/execute", {"code": code, "timeout_s": 60})
        assert reply.json["status"] == "success", reply

    def call(self, method, path="", *more):
        reply = self.tokens.call(self.token, method, self.url + path, *more)
        assert reply.status < 300, reply
        return reply


def large_session(tokens, token):
    LargeSession(tokens, token, "fill('large', 1800)").call("DELETE")


def large_file_deleted(tokens, token):
    session = LargeSession(tokens, token, "fill('large', 1800)")
    session.call("DELETE", "/files/large")
    session.call("DELETE")


def large_file_replaced(tokens, token):
    session = LargeSession(tokens, token, "fill('large', 1800)")
    session.call("PUT", "/files/large", b"x", {"Content-Type": "application/octet-stream"})
    session.call("DELETE")


def large_directory_deleted(tokens, token):
    """More files than the helper's socket holds at a time, each large enough to be noticed."""
    session = LargeSession(tokens, token, "os.mkdir('a')\nfor i in range(1500): fill(f'a/{i}', 1)\nfor i in range(300): open(f'a/small{i}', 'wb').write(b'x' * 100000)")
    session.call("DELETE", "/files/a?recursive=true")
    session.call("DELETE")


def large_file_read_to_the_end_of_its_session(tokens, token):
    """A download holds the file system of a session that has ended."""
    session = LargeSession(tokens, token, "fill('large', 1800)")
    with tokens.server.open() as reader:
        reader.sendall(f"GET {session.url}/files/large HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert b" 200 " in reader.recv(1000)
        session.call("DELETE")
        time.sleep(0.5)
    time.sleep(0.5)


def large_checkpoint(tokens, token):
    session = LargeSession(tokens, token, "x = bytearray(os.urandom(1 << 20)) * 700")
    session.call("POST", "/checkpoint", {"name": "a"})
    session.run("x = None")
    session.call("POST", "/restore", {"name": "a"})
    session.run("assert len(x) == 700 << 20")
    session.call("DELETE")


SEND = """
import array, socket, stat
large = os.memfd_create("large")
os.posix_fallocate(large, 0, 1800 << 20)
sockets = [fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode)]
assert sockets
for fd in sockets:
    s = socket.socket(fileno=os.dup(fd))
    s.setblocking(False)
    try: s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [large]))])
    except BrokenPipeError: continue
    raise AssertionError("sent")
os.close(large)
"""


def large_file_sent(tokens, token):
    """As a descriptor: the sockets that a program finds open take nothing."""
    LargeSession(tokens, token, SEND).call("DELETE")


FREED = {
    "a large file sent": large_file_sent,
    "a large workspace": large_workspace,
    "a large session": large_session,
    "a large file deleted": large_file_deleted,
    "a large file replaced": large_file_replaced,
    "a large directory deleted": large_directory_deleted,
    "a large file read to the end of its session": large_file_read_to_the_end_of_its_session,
    "a large checkpoint": large_checkpoint,
}

ATTACKS = {
    **FREED,
    **{name: run_program(name) for name in PROGRAMS},
    **{f"text {i}": run_slow_text(text) for i, text in enumerate(SLOW_TEXTS)},
    **{f"value {i}": run_slow_text(text, "result = t * 4") for i, text in enumerate(SLOW_TEXTS)},
    **{f"{way} of {unit}": long_text(way, unit) for way in LONG_TEXTS for unit in UNITS},
    **{f"{way} of {unit}, followed": followed(way, unit) for way in FOLLOWED for unit in ("quotes", "controls")},
    **{f"{way} of {unit} in a session": in_session(way, unit) for way in SHOWN for unit in ("quotes", "controls")},
    **{f"{way} of {unit} by MCP": by_mcp(way, unit) for way in SHOWN for unit in ("quotes", "controls")},
    "large things kept": large_things_kept,
    "sixteen output floods": sixteen_at_once(PROGRAMS["output flood"]),
    "sixteen progress floods": sixteen_at_once(PROGRAMS["progress flood"]),
    "sixteen display floods": sixteen_at_once(PROGRAMS["display flood"]),
    **{name: post("/v1/run", body) for name, body in BODIES.items()},
    "a form of many parts": post("/v1/run", many_parts, "multipart/form-data; boundary=x"),
    "a thousand runs": batch,
    "a large batch": large_batch,
    "a large message": large_message,
    "one text forty times": batch_of_one_text,
    "regular expressions": search_output,
    "sessions come and go": sessions,
    "listings": session_listing,
    "renames under watch": renames_under_watch,
    "many jobs kept": many_jobs_kept,
    "readers that do not read": readers_that_do_not_read,
    "connections": connections,
}


# --- a search for more of them ---

FRAGMENTS = [
    "pwd=", "authorization=", "password='", "token: ", "api_key=\"", "://", "@", "Bearer ", "eyJ", ".", "\\\\", "'", '"', "\n", " ", ";", "{", "}",
    "AKIA", "ghp_", "-----BEGIN ", "KEY-----", "\x1b[0m", "\u200b", "=", "&", "0", "4111", "a@b.c", "-", "/", "é", "<", ">", "\t", "%3D", "xox", "secret",
]  # fmt: skip


class Search:
    """Random texts as output of a program, and those that cost the server most per byte changed a little, again and again."""

    def __init__(self, tokens, token, seed):
        self.tokens, self.token = tokens, token
        self.random = random.Random(seed)
        self.bound = SANITIZED_S if is_sanitized() else SEARCH_S
        self.best = []

    def invent(self):
        if self.best and self.random.random() < 0.7:
            parts = list(self.random.choice(self.best)[1])
            for _ in range(self.random.randint(1, 3)):
                parts[self.random.randrange(len(parts))] = (self.random.choice(FRAGMENTS), self.random.choice((1, 2, 10, 500)))
            return parts
        return [(self.random.choice(FRAGMENTS), self.random.choice((1, 1, 2, 10, 500))) for _ in range(self.random.randint(1, 6))]

    def measure(self, parts):
        """Turns that took too long, and CPU seconds per megabyte."""
        text = "".join(fragment * times for fragment, times in parts)
        text *= max(1, 60000 // len(text.encode()))
        before = read_turns(self.tokens)
        code = f"import sys\nt = {text!r}\nfor i in range(16): sys.stdout.write(t)"
        reply = run(self.tokens, self.token, code)
        after = read_turns(self.tokens)
        assert reply.status == 200, reply
        return after.above(before, self.bound * slowness()), (after.sum - before.sum) / (16 * len(text.encode()) / 1e6)

    def go(self, rounds):
        for _ in range(rounds):
            parts = self.invent()
            above, cost = self.measure(parts)
            if above and all(self.measure(parts)[0] for _ in range(2)):  # a turn that is long for its work is so each time
                return parts
            self.best = sorted([*self.best, (cost, parts)], key=lambda found: -found[0])[:5]
        return None
