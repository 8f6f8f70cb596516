#!/usr/bin/python3
"""doors.py [--build DIR] [--quick]: what the doors cost: runs and warm cells over HTTP and MCP, a batch, idle sandboxes, many sessions, a flood.

Sandboxes without the data stack, with the trail. HTTP is asked by a client in C on one kept connection (tests/bench/ask.c), by wrk for
what 16 and 1000 connections get in a second, MCP over stdio by this program. Nothing here passes or fails by time. bench.py runs it and
compares it with the other peers of the same run; goals.py has the figures that the project wants.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import load
import goals
from server import Server

CODE = {"code": "print(1)"}
CELL = {"code": "1+1"}
BATCH = 1000  # programs in one request, which is the most
PAUSE_MS = 20  # between two runs whose latency is measured: by then the next sandbox is there, as for `belljar bench`
SESSION_KB = 2048  # what a session may take of the host; where that is not there, the row stays empty


def ask(build, server, path, body, count, method="POST", pause_ms=0):
    text = json.dumps(body) if body is not None else ""
    request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
    got = subprocess.run([os.path.join(build, "tests/bench/ask"), str(server.port), str(count), str(pause_ms)], input=request, capture_output=True, text=True, check=True).stdout
    return json.loads(got)


class Mcp:
    """`belljar mcp` on two pipes."""

    def __init__(self, server):
        self.process = subprocess.Popen([server.belljar, "mcp"], env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def cells(self, count):
        times = []
        for _ in range(count):
            began = time.perf_counter()
            result = self.call("tools/call", {"name": "execute_python_code", "arguments": CELL})
            times.append((time.perf_counter() - began) * 1000)
            if result.get("isError"):
                raise SystemExit(f"doors: {result}")
        return times

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def batch(server, count):
    """Programs per second, in requests of a thousand."""
    c = server.connect()
    began = time.perf_counter()
    for done in range(0, count, BATCH):
        size = min(BATCH, count - done)
        status, answer = server.call(c, "POST", "/v1/batch", {"runs": [CODE] * size})
        assert status == 200, (status, answer[:200])
        runs = json.loads(answer)["runs"]
        assert len(runs) == size and all(r["verdict"] == "accepted" for r in runs), runs[:2]
    return count / (time.perf_counter() - began)


def sessions(build, server, count, cells):
    """Times of a cell with so many sessions open, and memory of the host for each."""
    c = server.connect()
    before = available_kb()
    first = None
    for _ in range(count):
        status, answer = server.call(c, "POST", "/v1/sessions", {})
        assert status == 201, (status, answer[:200])
        first = first or json.loads(answer)["session_id"]
    kb = (before - available_kb()) / count
    got = ask(build, server, f"/v1/sessions/{first}/execute", CELL, cells)
    assert not got["failed"]
    for s in json.loads(server.call(c, "GET", "/v1/sessions")[1])["sessions"]:
        server.call(c, "DELETE", f"/v1/sessions/{s['session_id']}")
    return got["ms"], kb


def available_kb():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"MemAvailable:\s+(\d+)", file.read())[1])


def per_second(server, folder, seconds):
    """Answers in a second, over so many connections that are kept; cells in as many sessions."""
    if not shutil.which("wrk"):
        return {}
    c = server.connect()
    open_ones = [json.loads(server.call(c, "POST", "/v1/sessions", {})[1])["session_id"] for _ in range(16)]
    execute = [f"/v1/sessions/{session}/execute" for session in open_ones]
    rates = {}
    for name, paths, body, connections in (("runs 16", ["/v1/run"], CODE, 16), ("runs 1000", ["/v1/run"], CODE, 1000), ("cells 16", execute, CELL, 16)):
        got = load.wrk(server, folder, paths, body, connections, seconds)
        rates[name] = got["rate"] if not got["refused"] and not got["broken"] else None
    for session in open_ones:
        server.call(c, "DELETE", f"/v1/sessions/{session}")
    return rates


def flood(server, count):
    alone, flooded, _ = load.fairness(server, count)
    return {"alone_ms": load.median_ms(alone), "flooded_ms": load.median_ms(flooded)}


def measure(build, plan):
    belljar = os.path.join(build, "belljar")
    figures = {"failed": 0}
    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as folder:
        os.chmod(folder, 0o700)
        server = Server(belljar, folder, queue_max=4096, sessions_max=max(plan["open"]) + 8)
        try:
            ask(build, server, "/v1/run", CODE, 50)  # warm
            runs = ask(build, server, "/v1/run", CODE, plan["samples"], pause_ms=PAUSE_MS)
            figures.update(run_ms=runs["ms"], engine_ms=runs["engine_ms"], failed=runs["failed"])
            figures["back_to_back_ms"] = ask(build, server, "/v1/run", CODE, plan["samples"])["ms"]
            figures["nothing_ms"] = ask(build, server, "/v1/runs/none", None, plan["samples"], "GET", pause_ms=PAUSE_MS)["ms"]
            figures["open"] = {}
            for count in plan["open"]:
                if count * SESSION_KB > available_kb():
                    continue
                ms, kb = sessions(build, server, count, plan["samples"])
                figures["open"][str(count)] = [statistics.median(ms), kb]
                figures.setdefault("cell_ms", ms)  # with the fewest open
            figures["per_s"] = per_second(server, folder, plan["seconds"])
            figures["flood"] = flood(server, plan["samples"] // 4)
            figures["batch_per_s"] = batch(server, plan["batch"])
            mcp = Mcp(server)
            mcp.cells(20)
            figures["mcp_cell_ms"] = mcp.cells(plan["samples"])
            mcp.close()
            idle = subprocess.run([belljar, "bench", "--json", "--only", "idle", "--idle", ",".join(plan["idle"]), "--runs", "10"], env=server.env, capture_output=True, text=True, check=True)
            figures["idle"] = {count: json.loads(idle.stdout)["idle_" + count]["pss_mb"] for count in plan["idle"]}
        finally:
            server.stop()
    return figures


FULL = {"samples": 1000, "batch": 10000, "open": [10, 1000], "idle": ["100", "1000"], "seconds": 8}
QUICK = {"samples": 200, "batch": 500, "open": [10, 100], "idle": ["100"], "seconds": 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--open", type=int, action="append", help="so many open sessions; repeat it")
    options = parser.parse_args()
    plan = dict(QUICK if options.quick else FULL)
    plan["open"] = options.open or plan["open"]
    figures = measure(os.path.abspath(options.build), plan)
    for cells in [goals.HEAD, *goals.of_doors(figures)]:
        print(f"{cells[0]:70} {cells[1]:>12} {cells[2]:>10} {cells[3]:>10}  {cells[4]}".rstrip())
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
