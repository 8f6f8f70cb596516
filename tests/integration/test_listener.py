"""The process that reads what strangers send: what it holds, what happens when it ends, and what it may say."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import belljar
import host
from serving import PLAIN, Server, UnixConnection, parse, read_all, wait_until

NAME = "belljar-listen"


def listeners(pid):
    """Those of a server, oldest first: the network's, then that of Unix sockets."""
    return sorted(p for p in host.children(pid) if (found := host.process(p)) and found[2] == NAME and found[1] != "Z")


def field(pid, name):
    return re.search(rf"^{name}:[ \t]*(.*)$", host.read(f"/proc/{pid}/status"), re.M)[1].split()


def private_env(who):
    """A state and a socket of its own, beside the server that other tests of this file share."""
    place = who.directory(f"listener-{time.monotonic_ns()}")
    found = {}
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        (place / name).mkdir(mode=0o700)
        who.own(place / name)
        found[name] = str(place / name)
    return found


def needs_root():
    if os.getuid() != 0:
        pytest.skip("needs root, to look into a process that is closed to its own user")


# --- what it holds ---


def test_there_is_one_for_the_network_and_one_for_unix_sockets(server):
    assert len(listeners(server.process.pid)) == 2


def test_it_is_confined(server):
    needs_root()
    server.run("1")
    for pid in listeners(server.process.pid):
        assert "0" not in field(pid, "Uid") + field(pid, "Gid") + field(pid, "Groups"), pid
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(field(pid, name)[0], 16) == 0, (pid, name)
        assert field(pid, "NoNewPrivs") == ["1"] and field(pid, "Seccomp") == ["2"] and field(pid, "Threads") == ["1"]
        assert host.read(f"/proc/{pid}/environ") == ""
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert int(host.read(f"/proc/{pid}/oom_score_adj")) == 500
        limits = host.read(f"/proc/{pid}/limits")
        for name in ("core file size", "file size", "locked memory"):
            assert re.search(rf"Max {name}\s+0\s+0", limits), (name, limits)
        assert os.stat(f"/proc/{pid}/mem").st_uid == 0  # its own user cannot look into it


# Becomes root of a user namespace that maps these ids, as the root of a container is.
IN_CONTAINER = """
import ctypes, os, sys
us, (there, ready) = os.getpid(), os.pipe()
if os.fork() == 0:
    os.read(there, 1)
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{us}/{name}", "w") as f:
            f.write(sys.argv[1])
    os._exit(0)
assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
os.write(ready, b"1")
assert os.wait()[1] == 0
os.setgid(0)
os.setuid(0)
os.execv(sys.argv[2], sys.argv[2:])
"""

FIRST = 1_700_000_000  # ids of the host that nobody has


@pytest.mark.parametrize("ids, expected", [
    (f"0 {FIRST} 1024\n", FIRST + 511),
    (f"0 {FIRST} 30000\n", FIRST + 14999),
    (f"0 {FIRST} 1\n1 {FIRST + 1000} 65536\n", FIRST + 1000 + 32766),
], ids=["few", "no nobody", "rootless"])  # fmt: skip
def test_the_root_of_a_container_has_one_that_owns_nothing(callers, ids, expected):
    """Where no id 65534 is mapped, the listener takes one that no sandbox has."""
    needs_root()
    who = callers["root"]
    if int(host.read("/proc/self/uid_map").split()[2]) < FIRST + 70000:
        pytest.skip("needs the ids of a whole host")
    if subprocess.run(["test", "-x", who.program], user=FIRST, group=FIRST, extra_groups=[]).returncode:
        pytest.skip("the build directory is closed to other users")
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, FIRST, FIRST)
        env = {name: home for name in who.environment() if name.startswith(("HOME", "TMPDIR", "XDG_"))}
        with Server(who, env=env, wrapper=["/usr/bin/python3", "-c", IN_CONTAINER, ids]) as server:
            assert server.run("print(6 * 7)")["stdout"] == "42\n"
            found = listeners(server.process.pid)
            assert len(found) == 2
            for pid in found:
                assert set(field(pid, "Uid") + field(pid, "Gid")) == {str(expected)} and field(pid, "Groups") == []
                assert int(field(pid, "CapEff")[0], 16) == 0


def test_it_has_no_file_open(server):
    needs_root()
    server.run("1")
    for pid in listeners(server.process.pid):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                what = os.readlink(f"/proc/{pid}/fd/{fd}")
            except FileNotFoundError:
                continue  # a connection that ended meanwhile
            assert what == "/dev/null" or what.startswith(("socket:", "pipe:", "anon_inode:[eventpoll]")), (pid, fd, what)


def memory(pid):
    """All that the process can read of its own: private pages, stacks, data."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        for line in host.read(f"/proc/{pid}/maps").splitlines():
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            if last - first > 1 << 30 or "r" not in line.split()[1] or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                f.seek(first)
                yield f.read(last - first)
            except (OSError, ValueError):
                continue


def holds(pid, needle):
    return any(needle in piece for piece in memory(pid))


def test_no_secret_is_in_its_memory(callers):
    """Tokens come with requests; those that have not come are not there, and neither is the key of the trail."""
    needs_root()
    who = callers["user"]
    env = private_env(who)
    with Server(who, env=env) as server:
        unused = who.call("token", "add", "unused", env=env).text.strip()
        state = Path(env["XDG_STATE_HOME"]) / "belljar"
        digests = re.findall(r'"([0-9a-f]{64})"', (state / "tokens.toml").read_text())
        assert digests, (state / "tokens.toml").read_text()
        keys = [p.read_bytes() for p in state.rglob("*key*") if p.is_file() and p.stat().st_mode & 0o077 == 0]
        assert keys, list(state.rglob("*"))
        assert server.get("/v1/stats", headers={"Authorization": "Bearer marked-0123456789"}).status == 401
        needles = [unused.encode(), bytes.fromhex(unused[3:]), server.token.encode()]
        for digest in digests:
            needles += [digest.encode(), bytes.fromhex(digest)]
        for key in keys:
            needles += [piece for piece in (key, key.strip(), *key.splitlines()) if len(piece) >= 32 and b"---" not in piece]
        network, local = listeners(server.process.pid)
        assert holds(network, b"marked-0123456789"), "the search finds what has passed through"
        for pid in (network, local):
            for needle in needles:
                assert not holds(pid, needle), (pid, needle[:8])


# --- its end ---


def replace(server):
    """Kills the only listener and waits for the next one."""
    (before,) = listeners(server.process.pid)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: (now := listeners(server.process.pid)) and before not in now, "another listener")


def test_a_killed_listener_is_replaced_and_sessions_live_on(who):
    with Server(who, env=private_env(who)) as server:
        session = server.post("/v1/sessions", {}).json["session_id"]
        cell = f"/v1/sessions/{session}/execute"
        assert server.post(cell, {"code": "x = 41"}).json["status"] == "success"
        network, local = listeners(server.process.pid)
        kept = server.connect()
        assert server.call("GET", "/health", connection=kept).status == 200
        near = UnixConnection(server.socket, belljar.HANG_SECONDS)
        assert server.call("GET", "/v1/stats", connection=near).status == 200
        os.kill(network, signal.SIGKILL)
        wait_until(lambda: len(now := listeners(server.process.pid)) == 2 and network not in now, "another listener")
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            server.call("GET", "/health", connection=kept)
        kept.close()
        assert server.post(cell, {"code": "print(x + 1)"}).json["stdout"] == "42\n"
        # The other one, and its connections, have noticed nothing.
        assert local in listeners(server.process.pid)
        assert server.call("GET", "/v1/stats", connection=near).status == 200
        near.close()
        os.kill(local, signal.SIGKILL)
        wait_until(lambda: len(now := listeners(server.process.pid)) == 2 and local not in now, "another listener")
        near = UnixConnection(server.socket, belljar.HANG_SECONDS)
        assert server.call("GET", "/v1/stats", connection=near).status == 200
        near.close()
        assert server.stop() == 0
        assert "\n".join(server.said).count("a listener was started again") == 2, server.said


def test_listeners_that_die_again_and_again_are_started_again(user):
    with Server(user, "--socket", "none") as server:
        for _ in range(4):
            replace(server)
            assert server.get("/health").status == 200
        assert server.run("print(1)")["stdout"] == "1\n"


def test_a_run_lives_on_and_can_be_followed_again(user):
    with Server(user, "--socket", "none") as server:
        code = "import time\nfor i in range(30): print(i, flush=True); time.sleep(0.1)"
        stream = server.stream("POST", "/v1/run", {"code": code, "timeout_s": 60})
        run = stream.until("start")[2]["id"]
        stream.until("stdout")
        replace(server)
        stream.close()
        last = list(server.stream("GET", f"/v1/runs/{run}/events"))[-1]
        assert last[1] == "result" and last[2]["status"] == "success" and last[2]["stdout"].endswith("29\n"), last


def test_streams_and_uploads_end_with_it(user):
    with Server(user, "--socket", "none") as server:
        session = server.post("/v1/sessions", {}).json["session_id"]
        wait_until(lambda: server.post(f"/v1/sessions/{session}/execute", {"code": "1"}).status == 200, "the session")
        events = server.stream("POST", "/v1/run", {"code": "import time\nprint('begun', flush=True)\ntime.sleep(60)", "profile": "open"})
        events.until("stdout")
        upload = server.open()
        upload.sendall(
            f"PUT /v1/sessions/{session}/files/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
            "Content-Length: 5000000\r\n\r\n".encode() + b"x" * 300_000
        )
        # Those of the events, of the upload and of the question: one that is not accepted yet goes to the next listener.
        wait_until(lambda: server.get("/v1/stats").json["server"]["connections"] == 3, "both are accepted")
        replace(server)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            for _ in events:
                pass
            raise ConnectionError("the stream ended")
        try:
            got = read_all(upload)
            assert got == b"", got
        except ConnectionError:
            pass
        upload.close()
        assert server.call("GET", f"/v1/sessions/{session}/files/x").status == 404
        assert server.post(f"/v1/sessions/{session}/execute", {"code": "print(3)"}).json["stdout"] == "3\n"


def test_it_ends_with_the_server(who):
    server = Server(who, env=private_env(who))
    pids = listeners(server.process.pid)
    assert len(pids) == 2
    server.process.kill()
    server.wait()
    wait_until(lambda: not any((found := host.process(pid)) and found[1] != "Z" for pid in pids), "their end")


# --- what goes through it ---


def test_large_bodies_and_pipelined_requests_go_through(server):
    session = server.post("/v1/sessions", {}).json["session_id"]
    wait_until(lambda: server.post(f"/v1/sessions/{session}/execute", {"code": "1"}).status == 200, "the session")
    data = os.urandom(5_000_000)
    path = f"/v1/sessions/{session}/files/large"
    assert server.call("PUT", path, data, {"Content-Type": "application/octet-stream"}).status in (200, 201, 204)
    assert server.get(path).body == data
    pieces = (data[i : i + 70_001] for i in range(0, len(data), 70_001))
    c = server.connect()
    c.request("PUT", path + "-chunked", pieces, server.headers({"Content-Type": "application/octet-stream"}), encode_chunked=True)
    assert c.getresponse().status in (200, 201, 204)
    c.close()
    assert server.get(path + "-chunked").body == data
    head = f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\n"
    wanted = f"GET /health HTTP/1.1\r\n{head}\r\n" * 20 + f"GET /health HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
    assert [r.status for r in parse(server.raw(wanted.encode()))] == [200] * 21
    server.call("DELETE", f"/v1/sessions/{session}")


def test_one_slow_reader_does_not_delay_others(server):
    session = server.post("/v1/sessions", {}).json["session_id"]
    wait_until(lambda: server.post(f"/v1/sessions/{session}/execute", {"code": "1"}).status == 200, "the session")
    path = f"/v1/sessions/{session}/files/large"
    assert server.call("PUT", path, b"x" * 20_000_000, {"Content-Type": "application/octet-stream"}).status in (200, 201, 204)
    with server.open() as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        assert s.recv(100)
        for _ in range(20):
            assert server.get("/health").status == 200
        assert len(read_all_of(s, 20_000_000)) >= 20_000_000
    server.call("DELETE", f"/v1/sessions/{session}")


def read_all_of(s, least):
    data = bytearray()
    while len(data) < least:
        piece = s.recv(1 << 20)
        assert piece
        data += piece
    return data


# --- one that is not ours ---


def checkout(who, name, listener):
    """A copy of the programs with another listener; the real one is beside it."""
    place = who.directory(name)
    (place / "build").mkdir()
    for program in ("belljar", "belljar-zygote", "belljar-broker", "belljar-steady.so"):
        shutil.copy2(who.program.parent / program, place / "build" / program)
    shutil.copy2(who.program.parent / "belljar-listener", place / "build" / "real-listener")
    for folder in ("policies", "library", "skills"):
        shutil.copytree(who.program.parent.parent / folder, place / folder)
    target = place / "build" / "belljar-listener"
    if callable(listener):
        target.write_text(listener(place))
        target.chmod(0o755)
    else:
        shutil.copy2(listener, target)
    (place / "said").mkdir()
    who.own(place / "said")
    return place


def serve(who, place, *args):
    command = [str(place / "build" / "belljar"), "serve", "--listen", "127.0.0.1:0", "--socket", "none", "--no-auth", *args]
    return subprocess.Popen(
        command, env=who.environment(PLAIN), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **who.identity()
    )  # fmt: skip


def finish(process):
    process.kill()
    return process.communicate(timeout=belljar.HANG_SECONDS)[0].decode()


def test_without_a_listener_the_server_does_not_start(who):
    process = serve(who, checkout(who, "listener-false", "/bin/false"))
    said = process.communicate(timeout=belljar.HANG_SECONDS)[0].decode()
    assert process.returncode == 71 and "the listener ended at its start" in said, (process.returncode, said)


def frame(kind, connection, data=b""):
    return struct.pack("<IIQ", len(data), kind, connection) + data


def test_a_listener_that_is_not_confined_is_not_used(who):
    why = "filter system calls (the listener): Function not implemented"

    def script(place):
        return f"#!/usr/bin/python3\nimport os\nos.write(3, {frame(65, 0, why.encode())!r})\n"

    process = serve(who, checkout(who, "listener-open", script))
    said = process.communicate(timeout=belljar.HANG_SECONDS)[0].decode()
    assert process.returncode == 69 and why in said and "hint:" in said, (process.returncode, said)


def text(data):
    return struct.pack("<I", len(data)) + data


def head(*headers, method=b"POST", target=b"/v1/run", flags=0):
    listed = b"".join(text(name) + text(value) for name, value in headers)
    return struct.pack("<I", flags) + text(method) + text(target) + struct.pack("<I", len(headers)) + listed


HOST = (b"Host", b"localhost")
FIVE = (b"Content-Length", b"5")
HEAD, BODY, WHOLE, MISTAKE, WRITTEN = 66, 67, 68, 69, 70

# Frames that a listener must not send, about the first connection. Connection 0 never existed.
HOSTILE = [
    [(HEAD, 1 << 40, head(HOST))],
    [(HEAD, 1, head(HOST, HOST))],
    [(HEAD, 1, head(HOST, (b"X", b"a\r\nAuthorization: b")))],
    [(HEAD, 1, head(HOST, method=b"get"))],
    [(HEAD, 1, head(HOST, FIVE)), (HEAD, 1, head(HOST))],
    [(BODY, 1, b"x")],
    [(HEAD, 1, head(HOST, FIVE, (b"Content-Type", b"application/json"))), (BODY, 1, b"123456")],
    [(HEAD, 1, head(HOST, FIVE, (b"Content-Type", b"application/json"))), (BODY, 1, b"1"), (WHOLE, 1, b"")],
    [(HEAD, 1, head(HOST, method=b"GET", target=b"/health")), (BODY, 1, b"x")],
    [(WRITTEN, 1, struct.pack("<I", 1))],
    [(HEAD, 1, head(HOST, method=b"GET", target=b"/health")), (WRITTEN, 1, struct.pack("<I", 1 << 31))],
    [(MISTAKE, 1, struct.pack("<I", 200) + text(b"all is well"))],
    [(MISTAKE, 1, struct.pack("<I", 400) + text(b"two\r\nlines"))],
    [(64, 0, b"")],
    [(3, 1, b"HTTP/1.1 200 OK\r\n\r\n")],
    [(99, 1, b"")],
    [(BODY, 1, b"x" * 70_000)],
]

# Says READY, waits for a connection, says what is listed, and waits for its end. After the last one it is the real listener.
SCRIPT = """#!/usr/bin/python3
import glob, os, socket, struct, time
said, rows = {said!r}, {rows!r}
turn = len(os.listdir(said))
open(os.path.join(said, str(turn)), "w").close()
if turn >= len(rows):
    os.execve({real!r}, ["belljar-listener"], {{}})
link, packets = socket.socket(fileno=3), socket.socket(fileno=4)
link.setblocking(True)
link.recv(65536)
link.sendall(struct.pack("<IIQ", 0, 64, 0))
data, fds, _, _ = socket.recv_fds(packets, 64, 1)
(connection,) = struct.unpack_from("<Q", data)
for kind, about, body in rows[turn]:
    link.sendall(struct.pack("<IIQ", len(body), kind, connection if about == 1 else about) + body)
while link.recv(65536):
    pass
"""


@pytest.mark.parametrize("part", range(0, len(HOSTILE), 6))
def test_a_listener_that_was_taken_over_gets_nowhere(user, part):
    """Whatever it says, the server goes on, ends it and starts another one."""
    rows = HOSTILE[part : part + 6]
    place = checkout(
        user, f"listener-hostile-{part}",
        lambda place: SCRIPT.format(said=str(place / "said"), rows=rows, real=str(place / "build" / "real-listener")),
    )  # fmt: skip
    process = serve(user, place)
    try:
        port = int(re.search(rb"127\.0\.0\.1:(\d+)", process.stdout.readline())[1])
        for turn in range(len(rows)):
            wait_until(lambda: len(os.listdir(place / "said")) > turn, "a listener")  # noqa: B023
            with socket.create_connection(("127.0.0.1", port), timeout=belljar.HANG_SECONDS) as s:
                try:
                    while s.recv(65536):
                        pass
                except ConnectionError:
                    pass
            assert process.poll() is None, rows[turn]
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=belljar.HANG_SECONDS)
        c.request("POST", "/v1/run", b'{"code": "print(6 * 7)"}', {"Content-Type": "application/json"})
        assert json.loads(c.getresponse().read())["stdout"] == "42\n"
        c.close()
    finally:
        said = finish(process)
    assert said.count("a listener broke the rules and was ended") == len(rows), said
