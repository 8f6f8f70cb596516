#!/usr/bin/python3
"""cost_per_run.py [--build DIR]... [--runs N] [--rounds N] [--trace]: what one fresh run costs, from its request to the end of its sandbox.

CPU time of all processes of a server and its sandboxes, from a cgroup around them (cpuacct, or the one hierarchy of cgroup v2), and page faults of the
zygotes and all they reaped. With several builds they take turns, and the ratio to the first one is printed: on a busy machine only
that means something. A build may have settings behind it, as in build:zygote_count=2. Kernel threads are those of the whole machine (network namespaces and cgroups are taken apart there). With --trace
system calls are counted by name, in a round of its own, since that slows everything. Needs root.
"""
import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from server import Server

TICK = os.sysconf("SC_CLK_TCK")


class Group:
    """A cgroup that this process enters while it starts a server."""

    def __init__(self):
        v1 = "/sys/fs/cgroup/cpuacct"
        self.is_v1 = os.path.isdir(v1)
        with open("/proc/self/cgroup", encoding="ascii") as file:
            own = re.search(r"^\d+:(?:[^:]*,)?cpuacct(?:,[^:]*)?:(.*)$" if self.is_v1 else r"^0::(.*)$", file.read(), re.M)[1]
        self.home = (v1 if self.is_v1 else "/sys/fs/cgroup") + own.rstrip("/")
        self.path = f"{self.home}/belljar-cost-{os.getpid()}"
        os.mkdir(self.path)

    def move(self, where):
        with open(where + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    def cpu_ms(self):
        if self.is_v1:
            with open(self.path + "/cpuacct.usage", encoding="ascii") as file:
                return int(file.read()) / 1e6
        with open(self.path + "/cpu.stat", encoding="ascii") as file:
            return int(re.search(r"usage_usec (\d+)", file.read())[1]) / 1e3

    def remove(self):
        for _ in range(100):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.05)
        print(f"cost_per_run.py: {self.path} is still in use", file=sys.stderr)


def stat_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(p) for p in file.read().split()]


def faults(server):
    """Of the server's children, zygotes among them, and of whoever they reaped."""
    total = 0
    for pid in [server.process.pid, *children(server.process.pid)]:
        fields = stat_of(pid)
        total += int(fields[7]) + int(fields[8])  # minflt, cminflt
    return total


def kernel_threads_ms():
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and (fields := stat_of(name))[1] == "2":
                total += int(fields[12])
        except OSError:
            pass
    return total * 1000 / TICK


def run_many(server, code, count, clients):
    def client():
        c = server.connect()
        for _ in range(count // clients):
            status, answer = server.call(c, "POST", "/v1/run", {"code": code})
            assert status == 200, answer[:300]
        c.close()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    started = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return count // clients * clients / (time.perf_counter() - started)


def settle(group):
    """Until nothing more is taken apart or made ahead."""
    before = -1.0
    while (now := group.cpu_ms()) - before > 1:
        before = now
        time.sleep(0.3)


def count_calls(server, code, count):
    """System calls of a run by name, and by the process that makes them."""
    pids = [p for root in [server.process.pid] for p in [root, *children(root)]]
    with tempfile.TemporaryDirectory() as folder:
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "signal=none", "-o", folder + "/calls", *[a for p in pids for a in ("-p", str(p))]])
        time.sleep(2)
        run_many(server, code, count, 1)
        time.sleep(3)
        tracer.terminate()
        tracer.wait()
        names, makers = collections.Counter(), collections.Counter()
        with open(folder + "/calls", encoding="utf-8", errors="replace") as file:
            for line in file:
                if found := re.match(r"(\d+) +(\w+)\(", line):
                    names[found[2]] += 1
                    makers[int(found[1]) if int(found[1]) in pids else 0] += 1
    print(f"    system calls of a run: {sum(names.values()) / count:.0f}, of them {makers[0] / count:.0f} in the sandbox")
    print("    " + ", ".join(f"{n} {c / count:.1f}" for n, c in names.most_common(24)))


def measure(build, options):
    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as folder:
        os.chmod(folder, 0o700)
        group = Group()
        group.move(group.path)
        try:
            place, *settings = build.split(":")
            settings = dict(s.split("=", 1) for s in settings)
            if options.preload:
                settings["preload"] = options.preload
            server = Server(os.path.abspath(os.path.join(place, "belljar")), folder, queue_max=4096, **settings)
        finally:
            group.move(group.home)
        try:
            run_many(server, options.code, 40, options.clients)
            settle(group)
            if options.trace:
                count_calls(server, options.code, 20)
                return None
            before = group.cpu_ms(), faults(server), kernel_threads_ms()
            rate = run_many(server, options.code, options.runs, options.clients)
            settle(group)
            after = group.cpu_ms(), faults(server), kernel_threads_ms()
            return [(a - b) / options.runs for a, b in zip(after, before)] + [rate]
        finally:
            server.stop()
            group.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", help="repeat it to compare builds in turns")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--code", default="print(1)")
    parser.add_argument("--preload", default="", help="modules that are imported in advance, as in the configuration")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    builds = options.build or ["build"]
    if options.trace:
        for build in builds:
            print(build)
            measure(build, options)
        return
    rows = {b: [] for b in builds}
    for _ in range(options.rounds):
        for build in builds:
            rows[build].append(measure(build, options))
    print(f"{'':40} {'CPU ms':>8} {'faults':>8} {'kernel ms':>10} {'runs/s':>8}")
    first = None
    for build, found in rows.items():
        middle = [statistics.median(column) for column in zip(*found)]
        first = first or middle
        print(f"{build[-40:]:40} {middle[0]:>8.2f} {middle[1]:>8.0f} {middle[2]:>10.2f} {middle[3]:>8.0f}   {middle[0] / first[0]:.2f} of the first's CPU time")


if __name__ == "__main__":
    main()
