#!/usr/bin/python3
"""cluster.py [--count N]: what gateway and bus add to a run and to a warm cell, as root, on three network namespaces.

Ways take turns, request by request, so that whatever else the machine does meets all of them: the engine's own socket, the
gateway of the same machine, and the gateway of another one (one hop between servers). Times are compared only with one
another. CPU time of each process, per request, is the figure that holds on a busy machine, too.
"""
import argparse
import http.client
import json
import os
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from machines import PROCESSES, Cluster, missing  # noqa: after the path


class Engine(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(connection, token, path, body, label=None):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **({"Belljar-Node-Label": label} if label else {})}
    started = time.perf_counter_ns()
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    taken = time.perf_counter_ns() - started
    if response.status not in (200, 201):
        raise SystemExit(f"{path}: {response.status} {text[:300]}")
    return taken / 1000, json.loads(text)


def cpu_us(machine, which):
    """Of the process and its threads, in microseconds."""
    pid = machine.processes[which].pid
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1000


def share(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def measure(ways, path, body, token, count):
    times = {name: [] for name, _, _ in ways}
    for number in range(count + 20):
        for name, connection, label in ways:
            try:
                taken, _ = ask(connection, token, path, body, label)
            except http.client.HTTPException as mistake:
                raise SystemExit(f"{name}, request {number}: {mistake!r}")
            if number >= 20:
                times[name].append(taken)
    return times


def cpu_of_way(cluster, way, path, body, token, count):
    _, connection, label = way
    before = {(m.name, p): cpu_us(m, p) for m in cluster.machines for p in PROCESSES}
    for _ in range(count):
        ask(connection, token, path, body, label)
    after = {(m.name, p): cpu_us(m, p) for m in cluster.machines for p in PROCESSES}
    return {p: sum(after[m.name, p] - before[m.name, p] for m in cluster.machines) / count for p in PROCESSES}


def show(title, cluster, ways, path, body, token, count):
    times = measure(ways, path, body, token, count)
    base = times[ways[0][0]]
    print(f"\n{title}, {count} of each\n")
    print("| way | p50 µs | p90 µs | more at p50, µs | ratio at p50 | CPU µs: server | engine | node | gateway |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way in ways:
        mine = times[way[0]]
        cpu = cpu_of_way(cluster, way, path, body, token, count)
        print(f"| {way[0]} | {share(mine, 0.5):.0f} | {share(mine, 0.9):.0f} | {share(mine, 0.5) - share(base, 0.5):.0f} | {share(mine, 0.5) / share(base, 0.5):.2f} | "
              + " | ".join(f"{cpu[p]:.0f}" for p in PROCESSES) + " |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    count = parser.parse_args().count
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with Cluster(engine_settings="pool_size = 4\n") as cluster:
        near, far = cluster.machines[0], cluster.machines[1]
        token = cluster.token
        ways = [
            ("the engine's socket", Engine(near.dir / "engine.sock"), None),
            ("gateway of the same machine", near.connect(), near.name),
            ("gateway of another machine", far.connect(), near.name),
        ]
        show("A run: `print(1)`", cluster, ways, "/v1/run", {"code": "print(1)"}, token, count)
        _, session = ask(ways[0][1], token, "/v1/sessions", {})
        cells = [(name, connection, None) for name, connection, _ in ways]
        show("A warm cell: `1`", cluster, cells, f"/v1/sessions/{session['session_id']}/execute", {"code": "1"}, token, count)
        for _, connection, _ in ways:
            connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
