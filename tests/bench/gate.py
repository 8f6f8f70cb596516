#!/usr/bin/python3
"""gate.py [--megabytes N] [--sessions N]: what the gate costs, as ratios of one run.

Bytes: the same few lines of Python read from the same host, outside and straight; and in a sandbox, through the gate as a plain request,
as a CONNECT tunnel and over SOCKS 5. The best of three rounds, and the median of 200 small requests.
Calls: the median of a call that the supervisor answers by itself, and of a function of the host that starts a program.
Sessions: so many with a granted host, open at once on one server, each of which has asked it; memory and descriptors before, with them, after, and after as many again.
Nothing here passes or fails by time.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time

from server import Server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, os.environ.get("BELLJAR_BUILD", "build"), "belljar")

READ = """
import json, socket, statistics, sys, time
how, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
head = b"GET %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n"
url = b"http://127.0.0.1:%d/" % port
def once(n):
    s = socket.create_connection(("127.0.0.1", port if how == "direct" else 3128))
    if how == "connect":
        s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n" % port); s.recv(100)
    if how == "socks":
        s.sendall(b"\\5\\1\\0"); s.recv(2); s.sendall(b"\\5\\1\\0\\1\\x7f\\0\\0\\1" + port.to_bytes(2, "big")); s.recv(10)
    s.sendall(head % ((url if how == "http" else b"/") + b"%d" % n, port))
    buffer, got = bytearray(1 << 20), 0
    while part := s.recv_into(buffer):
        got += part
    assert got > n, got
def timed(n):
    started = time.perf_counter(); once(n); return time.perf_counter() - started
print(json.dumps({"mb_s": size / 1e6 / min(timed(size) for _ in range(3)), "ms": statistics.median(timed(1) for _ in range(200)) * 1e3}))
"""

CALLS = """
import json, statistics, time
from api._call import call
from servers.host import nothing
def median(f, n):
    times = []
    for _ in range(n):
        started = time.perf_counter(); f(); times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3
print(json.dumps({"call": median(lambda: call("servers.list"), 500), "function": median(nothing, 50)}))
"""

FUNCTION = """
[functions.nothing]
description = "Does nothing."
severity = "read_only"
command = ["/bin/true"]
per_minute = 1000
"""

ASK = "import urllib.request; print(len(urllib.request.urlopen('http://127.0.0.1:{port}/1').read()))"


def serve(listener):
    block = b"x" * (1 << 20)

    def answer(peer):
        with peer:
            head = b""
            while b"\r\n\r\n" not in head:
                part = peer.recv(65536)
                if not part:
                    return
                head += part
            left = int(head.split()[1].rpartition(b"/")[2])
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while left:
                left -= peer.send(block[: min(left, len(block))])

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def file_of(text, suffix):
    made = tempfile.NamedTemporaryFile("w", suffix=suffix)
    made.write(text)
    made.flush()
    os.chmod(made.name, 0o644)
    return made


def output(command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise SystemExit(f"{command[:4]} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def bytes_and_requests(port, megabytes):
    first = None
    with file_of(READ, ".py") as program:
        for how in ("direct", "http", "connect", "socks"):
            words = [how, str(port), str(megabytes * 1000000)]
            command = ["/usr/bin/python3", program.name, *words]
            if how != "direct":
                command = [PROGRAM, "run", "--profile", "open", "--timeout", "300", "--net", f"127.0.0.1:{port}", program.name, *words]
            result = output(command, {"BELLJAR_NET_MB": "100000"})
            first = first or result
            print(f"{how:8} {result['mb_s']:8.0f} MB/s  {result['mb_s'] / first['mb_s']:5.2f}×   {result['ms']:7.2f} ms a request  {result['ms'] / first['ms']:6.2f}×", flush=True)


def host_calls():
    with file_of(FUNCTION, ".toml") as config:
        result = output([PROGRAM, "run", "--profile", "open", "--timeout", "300", "--config", config.name, "-c", CALLS])
    started = time.perf_counter()
    for _ in range(50):
        subprocess.run(["/bin/true"], check=True)
    spawn = (time.perf_counter() - started) / 50 * 1e3
    print(f"a call {result['call']:.3f} ms; a function that starts a program {result['function']:.2f} ms, {result['function'] / spawn:.2f}× of starting it from Python", flush=True)


class Counted(Server):
    def __init__(self, state, port, sessions):
        super().__init__(PROGRAM, state, profile="open", net=f"127.0.0.1:{port}", sessions_max=sessions, pool_size=2)
        self.connection = self.connect()

    def ask(self, method, path, body=None):
        status, text = self.call(self.connection, method, path, body)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {text[:500]}")
        return json.loads(text) if text else None

    def size(self):
        """(kilobytes of the supervisor, its descriptors, kilobytes that the machine has in use)."""
        with open("/proc/meminfo", encoding="ascii") as file:
            said = dict(re.findall(r"(\w+):\s+(\d+)", file.read()))
        return self.resident_kb(), len(os.listdir(f"/proc/{self.process.pid}/fd")), int(said["MemTotal"]) - int(said["MemAvailable"])

    def at_rest(self, wanted):
        """Its size, when sandboxes that ended are gone: descriptors are as before, or a minute has passed."""
        until = time.monotonic() + 60
        while self.size()[1] > wanted and time.monotonic() < until:
            time.sleep(0.2)
        return self.size()


def open_and_close(server, port, count):
    names = []
    for _ in range(count):
        names.append(server.ask("POST", "/v1/sessions", {"net": [f"127.0.0.1:{port}"]})["session_id"])
        done = server.ask("POST", f"/v1/sessions/{names[-1]}/execute", {"code": ASK.format(port=port)})
        if done["stdout"] != "1\n" or done["net"]["connections"] != 1:
            raise SystemExit(f"a session did not reach its host: {done}")
    size = server.size()
    for name in names:
        server.ask("DELETE", f"/v1/sessions/{name}")
    return size


def many_sessions(port, count):
    with tempfile.TemporaryDirectory() as state:
        server = Counted(state, port, count)
        try:
            open_and_close(server, port, 5)  # what the first ones leave warm is no leak
            time.sleep(1)
            before = server.size()
            started = time.monotonic()
            full = open_and_close(server, port, count)
            took = time.monotonic() - started
            after = server.at_rest(before[1])
            open_and_close(server, port, count)  # what is kept to be used again is used again, or else it leaks
            again = server.at_rest(before[1])
        finally:
            server.stop()
    print(f"{count} sessions with a host, opened, used and closed in {took:.1f} s:")
    print(f"  the supervisor: {before[0] / 1024:.1f} MB before, {full[0] / 1024:.1f} MB with them ({(full[0] - before[0]) / count:.1f} kB each), {after[0] / 1024:.1f} MB after, {again[0] / 1024:.1f} MB after as many again")
    print(f"  its descriptors: {before[1]} before, {full[1]} with them ({(full[1] - before[1]) / count:.1f} each), {after[1]} after, {again[1]} after as many again")
    print(f"  the machine, whatever else it does: {(full[2] - before[2]) / count / 1024:.2f} MB each")


def main():
    parser = argparse.ArgumentParser(description="what the gate costs")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=1000)
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = listener.getsockname()[1]
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    bytes_and_requests(port, options.megabytes)
    host_calls()
    if options.sessions:
        many_sessions(port, options.sessions)


if __name__ == "__main__":
    main()
