#!/usr/bin/python3
"""load.py [--build DIR] [--quick]: `belljar serve` under load, as ratios of one run.

Fresh runs and warm cells through HTTP (wrk, keep-alive) at 1, 16, 256 and 1000 connections, and requests
that need no work, for comparison; fresh runs that come at fixed times (open loop) at half and nine tenths of the rate of 16 connections;
what HTTP adds to one run; memory of the server with many open sessions and streams; and a
small run of one token while another token floods. Every answer is checked for its status. Times of a machine that does something
else mean little: only what was measured side by side is compared, and nothing here passes or fails by time.
"""
import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import open_loop
from server import Server

CODE = {"code": "print(1)"}
LEVELS = (1, 16, 256, 1000)


def say(text):
    print(text, file=sys.stderr, flush=True)


def median_ms(samples):
    return statistics.median(samples) * 1000


def p99_ms(samples):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * 0.99))] * 1000


def time_calls(server, path, body, count, token=None):
    """Seconds of calls one after the other, on one connection."""
    c = server.connect()
    samples = []
    for _ in range(count):
        started = time.perf_counter()
        status, answer = server.call(c, "POST", path, body, token)
        samples.append(time.perf_counter() - started)
        assert status == 200, (status, answer[:200])
    c.close()
    return samples


# --- what HTTP adds ---


def added(server, count):
    """The answer says how long the engine took (start and run); the rest is the way there and back."""
    c = server.connect()
    inside, outside = [], []
    for _ in range(count):
        started = time.perf_counter()
        status, answer = server.call(c, "POST", "/v1/run", CODE)
        outside.append((time.perf_counter() - started) * 1000)
        usage = json.loads(answer)["usage"]
        assert status == 200
        inside.append(usage["start_ms"] + usage["wall_ms"])
    empty = time_calls_get(server, count)
    c.close()
    return statistics.median(inside), statistics.median(outside), median_ms(empty)


def time_calls_get(server, count):
    """An answer without any work: what the client and the socket take by themselves."""
    c = server.connect()
    samples = []
    for _ in range(count):
        started = time.perf_counter()
        assert server.call(c, "GET", "/v1/runs/none")[0] == 404
        samples.append(time.perf_counter() - started)
    c.close()
    return samples


# --- throughput ---


def wrk(server, folder, paths, body, connections, seconds):
    """Each request of a thread goes to the next of the paths."""
    script = os.path.join(folder, "post.lua")
    with open(script, "w", encoding="ascii") as file:
        file.write(
            "local paths, turn = {" + ", ".join(json.dumps(path) for path in paths) + "}, 0\n"
            "function request() turn = turn % #paths + 1 return wrk.format(nil, paths[turn]) end\n"
            f'wrk.method = "POST"\nwrk.body = [==[{json.dumps(body)}]==]\n'
            f'wrk.headers["Content-Type"] = "application/json"\nwrk.headers["Authorization"] = "Bearer {server.token}"\n'
            'done = function(s, l, r) io.write(string.format("RESULT %d %d %d %d %d %d\\n", s.requests, s.duration, s.errors.status, '
            "s.errors.connect + s.errors.read + s.errors.timeout, l:percentile(50), l:percentile(99))) end\n"
        )
    threads = 1 if connections == 1 else 2
    out = subprocess.run(
        ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", script, f"http://127.0.0.1:{server.port}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    requests, duration_us, refused, broken, p50, p99 = map(int, re.search(r"RESULT (\d+) (\d+) (-?\d+) (\d+) (\d+) (\d+)", out).groups())
    return {"rate": requests / (duration_us / 1e6), "refused": refused, "broken": broken, "p50_ms": p50 / 1000, "p99_ms": p99 / 1000, "requests": requests}


def throughput(server, folder, seconds):
    rows = []
    session = json.loads(server.call(server.connect(), "POST", "/v1/sessions", {})[1])["session_id"]
    for connections in LEVELS:
        rows.append(("fresh runs", connections, wrk(server, folder, ["/v1/run"], CODE, connections, seconds)))
        rows.append(("warm cells", connections, wrk(server, folder, [f"/v1/sessions/{session}/execute"], CODE, connections, seconds)))
        rows.append(("no work", connections, wrk(server, folder, ["/v1/sessions/none/interrupt"], {}, connections, seconds)))
    return rows


# --- memory ---


def memory(server, count):
    """The server's own, at rest and with so many sessions and streams open: MB, MB per session, MB per stream."""
    c = server.connect()
    base = server.resident_kb() / 1024
    for _ in range(count):
        status, answer = server.call(c, "POST", "/v1/sessions", {})
        assert status == 201, answer
    with_sessions = server.resident_kb() / 1024
    sessions = [s["session_id"] for s in json.loads(server.call(c, "GET", "/v1/sessions")[1])["sessions"]]
    streams = []
    for session in sessions:
        s = socket.create_connection(("127.0.0.1", server.port))
        body = json.dumps({"code": "import time; time.sleep(60)"})
        s.sendall(f"POST /v1/sessions/{session}/execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nAccept: text/event-stream\r\n"
                  f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())  # fmt: skip
        streams.append(s)
    for s in streams:
        s.settimeout(120)
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
    with_streams = server.resident_kb() / 1024
    for s in streams:
        s.close()
    return base, (with_sessions - base) / count, (with_streams - with_sessions) / count


# --- fairness ---


def fairness(server, count):
    """A small run of one token, alone and while another token keeps 256 in the queue."""
    quiet = subprocess.run([server.belljar, "token", "add", "quiet"], env=server.env, capture_output=True, text=True, check=True).stdout.split()[-1]
    alone = time_calls(server, "/v1/run", CODE, count, quiet)
    stop = threading.Event()

    def flood():
        c = server.connect()
        while not stop.is_set():
            server.call(c, "POST", "/v1/run", {"code": "x = sum(range(300000))"})

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(256)]
    for t in threads:
        t.start()
    time.sleep(1)
    flooded = time_calls(server, "/v1/run", CODE, count, quiet)
    loud = time_calls(server, "/v1/run", CODE, max(5, count // 20))
    stop.set()
    for t in threads:
        t.join()
    return alone, flooded, loud


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    belljar = os.path.abspath(os.path.join(options.build, "belljar"))
    if not shutil.which("wrk"):
        sys.exit("load.py: wrk is missing: tools/deps bench")
    seconds, count, open_ones = (2, 100, 100) if options.quick else (8, 1000, 1000)

    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as folder:
        os.chmod(folder, 0o700)
        server = Server(belljar, folder, sessions_max=open_ones + 1, queue_max=4096)
        time_calls(server, "/v1/run", CODE, 50)  # warm
        say("memory")
        base, session, stream = memory(server, open_ones - 1)
        print(f"the server's own memory: {base:.0f} MB, {session * 1024:.0f} KB more for each of {open_ones - 1} sessions, {stream * 1024:.0f} KB for each stream")
        server.stop()
        server = Server(belljar, folder, queue_max=4096)
        time_calls(server, "/v1/run", CODE, 50)
        say("what HTTP adds")
        inside, outside, empty = added(server, count)
        print(f"one fresh run: {outside:.2f} ms as the client sees it, {inside:.2f} ms of it in the engine; an answer without work {empty:.2f} ms")
        print(f"    HTTP adds {outside - inside:.2f} ms, {(outside - inside) / inside:.0%} of the engine's time, {(outside - inside - empty):.2f} ms beyond the bare exchange")
        say("throughput")
        rows = throughput(server, folder, seconds)
        best = {kind: max(r["rate"] for k, _, r in rows if k == kind) for kind in ("fresh runs", "warm cells", "no work")}
        print(f"{'':12} {'connections':>11} {'of the best':>11} {'per second':>11} {'p50 ms':>9} {'p99 ms':>9} {'refused':>8} {'broken':>7}")
        for kind, connections, r in rows:
            print(f"{kind:12} {connections:>11} {r['rate'] / best[kind]:>11.0%} {r['rate']:>11.0f} {r['p50_ms']:>9.2f} {r['p99_ms']:>9.2f} {r['refused']:>8} {r['broken']:>7}")
        say("open loop")
        capacity = next(r["rate"] for kind, connections, r in rows if kind == "fresh runs" and connections == 16)
        print("\n".join(open_loop.table(server, CODE, capacity, seconds * 2)))
        say("fairness")
        alone, flooded, loud = fairness(server, count // 4)
        print(f"a small run: p50 {median_ms(alone):.2f}, p99 {p99_ms(alone):.2f} ms alone; p50 {median_ms(flooded):.2f}, p99 {p99_ms(flooded):.2f} ms while another token floods "
              f"({median_ms(flooded) / median_ms(alone):.1f} and {p99_ms(flooded) / p99_ms(alone):.1f} times); the one who floods waits {median_ms(loud):.0f} ms")  # fmt: skip
        server.stop()


if __name__ == "__main__":
    main()
