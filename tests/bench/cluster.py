#!/usr/bin/python3
"""cluster.py [--count N] [--batch N]: figures of a cluster on three network namespaces, as root, each with what is wanted of it.

What gateway and bus add to a run and to a warm cell; what a node that dies costs; what draining loses; the CPU time of a batch over
three nodes; the list of 10,000 sessions. Ways take turns, request by request, so that whatever else the machine does meets all of them: the engine's own socket, the
gateway of the same machine, and the gateway of another one (one hop between servers). Times are compared only with one
another. CPU time of each process, per request, is the figure that holds on a busy machine, too.
"""
import argparse
import http.client
import http.server
import json
import os
import socket
import socketserver
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from machines import PROCESSES, Background, Cluster, missing, wait_until  # noqa: after the path


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
    """Prints the ways. Returns what the second one costs more than the first, at p50 and p99, in milliseconds."""
    times = measure(ways, path, body, token, count)
    base = times[ways[0][0]]
    print(f"\n{title}, {count} of each\n")
    print("| way | p50 µs | p90 µs | p99 µs | more at p50, µs | ratio at p50 | CPU µs: server | engine | node | gateway |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way in ways:
        mine = times[way[0]]
        cpu = cpu_of_way(cluster, way, path, body, token, count)
        print(f"| {way[0]} | {share(mine, 0.5):.0f} | {share(mine, 0.9):.0f} | {share(mine, 0.99):.0f} | {share(mine, 0.5) - share(base, 0.5):.0f} "
              f"| {share(mine, 0.5) / share(base, 0.5):.2f} | " + " | ".join(f"{cpu[p]:.0f}" for p in PROCESSES) + " |", flush=True)  # fmt: skip
    near = times[ways[1][0]]
    return [(share(near, part) - share(base, part)) / 1000 for part in (0.5, 0.99)]


# --- what breaks ---


class Load:
    """Runs through one gateway, one after the other on each of some threads, and sessions on machines that live."""

    def __init__(self, machine, sessions, threads=3):
        self.machine, self.sessions = machine, sessions
        self.worst_ms, self.done, self.failed = 0.0, 0, []
        self.is_over = threading.Event()
        self.threads = [Background(self.work, n) for n in range(threads)]

    def work(self, number):
        while not self.is_over.is_set():
            began = time.perf_counter()
            reply = self.machine.execute(self.sessions[number % len(self.sessions)], "1") if number == 0 else self.machine.run("print(1)")
            self.worst_ms = max(self.worst_ms, (time.perf_counter() - began) * 1000)
            self.done += 1
            if reply.status not in (200, 429):
                self.failed.append(reply)

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.end()
        return self


def session_on(machine, name):
    reply = machine.call("POST", "/v1/sessions", {}, {"Belljar-Node-Label": name})
    if reply.status != 201:
        raise SystemExit(f"no session: {reply}")
    return reply.json["session_id"]


def lose(cluster, break_it, mend):
    """The longest that any client has waited: those of other nodes, and one whose run was on the node that died."""
    machine, victim = cluster.machines[0], cluster.machines[2]
    waited = []

    def hold():
        machine.run("import time; time.sleep(60)", {"Belljar-Node-Label": victim.name})
        waited.append((time.perf_counter() - died[0]) * 1000)

    died = []
    load = Load(machine, [session_on(machine, "a1"), session_on(machine, "a2")])
    held = Background(hold)
    time.sleep(1)
    died.append(time.perf_counter())
    break_it(victim)
    held.end()
    time.sleep(2)
    load.end()
    mend(victim)
    cluster.wait_ready()
    return max(load.worst_ms, *waited)


def drain(cluster):
    """Requests that failed while a machine with a session was drained and taken back; of how many."""
    machine, other = cluster.machines[0], cluster.machines[1]
    load = Load(machine, [session_on(machine, other.name)])
    for word in ("drain", "undrain"):
        time.sleep(1.5)
        cluster.must(machine.call_cluster(word, other.name))
    time.sleep(1)
    load.end()
    return len(load.failed), load.done


# --- many ---


def family(pids):
    """These processes and all that they have started."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, todo = set(), list(pids)
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children.get(pid, ())
    return found


def cpu_of_all(cluster):
    """Seconds, of all processes of the cluster, and of those that they have waited for."""
    ticks = 0
    for pid in family(p.pid for m in cluster.machines for p in m.processes.values()):
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


BATCH_MOST = 1000  # in one request


def batch(cluster, connection, count):
    """CPU seconds of short programs, in batches, and the nodes that ran them."""
    before, nodes = cpu_of_all(cluster), set()
    for first in range(0, count, BATCH_MOST):
        numbers = range(first, min(first + BATCH_MOST, count))
        body = {"runs": [{"code": f"print({n})"} for n in numbers]}
        connection.request("POST", "/v1/batch", json.dumps(body), {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise SystemExit(f"the batch: {response.status} {text[:300]}")
        results = [r["result"] for r in sorted(json.loads(text)["runs"], key=lambda r: r["index"])]
        if [r.get("stdout") for r in results] != [f"{n}\n" for n in numbers]:
            raise SystemExit(f"the batch: {len(results)} results of {len(numbers)}: {text[:500]}")
        nodes |= {r["id"].rpartition("-")[2] for r in results}
    return cpu_of_all(cluster) - before, nodes


class StandIn(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """An engine that has many sessions, and answers nothing else."""

    daemon_threads = True

    def __init__(self, path, name, session, count):
        ids = (f"ses_{n:026d}-{name}" for n in range(count))
        self.sessions = json.dumps({"sessions": [session | {"session_id": ident, "name": None} for ident in ids]}).encode()
        self.room = json.dumps({"node": name, "room": 0, "running": 0, "waiting": 0, "sessions": count}).encode()
        super().__init__(str(path), StandInRequest)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class StandInRequest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.server.sessions if self.path.startswith("/v1/sessions") else self.server.room
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "the node"

    def log_message(self, *words):
        pass


def list_sessions(cluster, count):
    """Seconds for a list of so many sessions through one gateway. Engines are stand-ins; gateway, bus and nodes are not."""
    machine = cluster.machines[0]
    session = machine.call("GET", f"/v1/sessions/{session_on(machine, 'a1')}").json
    for m in cluster.machines:
        m.stop("engine")
        (m.dir / "engine.sock").unlink(missing_ok=True)
        StandIn(m.dir / "engine.sock", m.name, session, -(-count // len(cluster.machines)))
    wait_until(lambda: len(machine.call("GET", "/v1/sessions").json.get("sessions", ())) >= count, "all sessions are listed")
    taken = []
    for _ in range(7):
        began = time.perf_counter()
        machine.call("GET", "/v1/sessions")
        taken.append(time.perf_counter() - began)
    return share(taken, 0.5)


# --- the table ---


def judge(rows):
    """Prints all figures. Returns how many are missed."""
    print("\n| figure | wanted | measured | |")
    print("| --- | ---: | ---: | --- |")
    for name, most, value, unit in rows:
        digits = 0 if unit in ("ms", "requests") and most >= 100 or most == 0 else 2
        print(f"| {name} | at most {most:g} {unit} | {value:.{digits}f} {unit} | {'MISSED' if value > most else ''} |")
    return sum(value > most for _, most, value, _ in rows)


def small(cluster, count):
    near, far = cluster.machines[0], cluster.machines[1]
    ways = [
        ("the engine's socket", Engine(near.dir / "engine.sock"), None),
        ("gateway of the same machine", near.connect(), near.name),
        ("gateway of another machine", far.connect(), near.name),
    ]
    p50, p99 = show("A run: `print(1)`", cluster, ways, "/v1/run", {"code": "print(1)"}, cluster.token, count)
    yield "gateway and bus add to a run, p50", 0.6, p50, "ms"
    yield "the same, p99", 3, p99, "ms"
    _, session = ask(ways[0][1], cluster.token, "/v1/sessions", {})
    cells = [(name, connection, None) for name, connection, _ in ways]
    p50, _ = show("A warm cell: `1`", cluster, cells, f"/v1/sessions/{session['session_id']}/execute", {"code": "1"}, cluster.token, count)
    yield "gateway and bus add to a warm cell, p50", 0.4, p50, "ms"
    for _, connection, _ in ways:
        connection.close()


def all_figures(cluster, count, batch_count):
    yield from small(cluster, count)
    for name, break_it, mend in (
        ("a node's process is killed", lambda m: m.kill("node"), lambda m: m.start("node")),
        ("a machine is cut off", lambda m: m.link_down(), lambda m: m.link_up()),
        ("a machine is killed", lambda m: m.kill(), lambda m: m.start()),
    ):
        yield f"{name}: the longest wait of a client", 1500, lose(cluster, break_it, mend), "ms"
    failed, done = drain(cluster)
    yield f"draining: requests of {done} that failed", 0, failed, "requests"
    alone, _ = batch(cluster, Engine(cluster.machines[0].dir / "engine.sock"), batch_count)
    spread, nodes = batch(cluster, cluster.machines[0].connect(600), batch_count)
    yield f"a batch of {batch_count} through a gateway ({len(nodes)} nodes): CPU time, to that on one machine", 1.15, spread / alone, "times"
    yield "10,000 sessions of three nodes are listed (engines are stand-ins)", 1, list_sessions(cluster, 10_000), "s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="requests of each way")
    parser.add_argument("--batch", type=int, default=10_000, help="programs of the batch")
    parser.add_argument("--small", action="store_true", help="only a run and a warm cell")
    arguments = parser.parse_args()
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with Cluster(engine_settings="pool_size = 4\n") as cluster:
        figures = small(cluster, arguments.count) if arguments.small else all_figures(cluster, arguments.count, arguments.batch)
        return 1 if judge(list(figures)) else 0


if __name__ == "__main__":
    sys.exit(main())
