#!/usr/bin/python3
"""bench.py [--build DIR] [--quick]: Belljar against other ways to run a piece of Python, as ratios of one run.

Everything is measured in turns (a few samples of each peer, a few of Belljar, and again), so that what else the machine does
meets all of them. Peers are timed by tests/bench/timer.c from the start of their process to its reaped end; Belljar's sandboxes
by `belljar bench` from the submission of a run to its answer, which is given after the program has ended. Every output is
compared with what it should be. Nothing here passes or fails by time: the table says what was wanted and what came out.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import cells
import doors
import peers
import table

PRINT = ("print(1)", "1\n")
PANDAS = ("import numpy, pandas; print(pandas.DataFrame({'a':[1,2,3]}).sum().a)", "6\n")
PROGRAMS = {"print": PRINT, "pandas": PANDAS}

FULL = {
    "rounds": 5, "print": 10, "pandas": 3, "runs": 40, "latency_s": 200,
    "throughput_rounds": 2, "window_s": 3, "pandas_window_s": 8, "idle": "10,100,1000", "growth_runs": 40,
    "cells": 60, "sessions": "10,100,1000",
}  # fmt: skip
QUICK = {
    "rounds": 2, "print": 5, "pandas": 2, "runs": 20, "latency_s": 30,
    "throughput_rounds": 1, "window_s": 1, "pandas_window_s": 3, "idle": "10,100", "growth_runs": 20,
    "cells": 30, "sessions": "10,100",
}  # fmt: skip

IDLE_PEERS = 4

LIBRARY = os.path.dirname(os.__file__)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, build, folder, plan):
        self.belljar = os.path.join(build, "belljar")
        self.timer = peers.Timer(os.path.join(build, "tests/bench/timer"))
        self.plan = plan
        self.peers, self.absent = [], {}
        for peer in peers.all_peers(self.belljar, folder):
            why = peers.usable(peer, self.timer)
            if why:
                self.absent[peer.name] = why
            else:
                self.peers.append(peer)
        self.times = {}  # (peer, program) → [[answer ms, end ms]…]
        self.rates = {}  # (peer, program, clients) → [runs per second…]
        self.ours = {}  # what `belljar bench` said; times are collected in "ms"
        self.cells = {}  # (peer, cell) → [ms…]
        self.memory = {}
        self.masker = {}
        self.doors = None
        self.failed = 0

    # --- Belljar ---

    def belljar_bench(self, only, **options):
        argv = [self.belljar, "bench", "--json", "--samples", "--only", only]
        for name, value in options.items():
            argv += [f"--{name}", str(value)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench: `{' '.join(argv)}` failed: {peers.last_line(done.stderr)}")
        for name, figures in json.loads(done.stdout).items():
            self.failed += figures.get("failed", 0)
            if "ms" in figures:
                self.ours.setdefault(name, {"ms": []})["ms"] += figures["ms"]
            elif "per_second" in figures:
                self.ours.setdefault(name, {"per_second": []})["per_second"].append(figures["per_second"])
            else:
                self.ours[name] = figures

    # --- turns ---

    def sample(self, peer, program):
        code, expect = PROGRAMS[program]
        runs = max(1, round(self.plan[program] * peer.share))
        got = self.timer.run(peer, code, expect, runs=runs)
        self.failed += got["failed"]
        self.times.setdefault((peer.name, program), []).extend(zip(got["answer_ms"], got["end_ms"]))

    def latency(self):
        begin = time.monotonic()
        for number in range(self.plan["rounds"]):
            say(f"bench: latency, round {number + 1} of {self.plan['rounds']}")
            self.belljar_bench("stock", runs=self.plan["runs"])
            for program in PROGRAMS:
                for peer in self.peers:
                    self.sample(peer, program)
            self.belljar_bench("warm,teardown", runs=self.plan["runs"])
            if time.monotonic() - begin > self.plan["latency_s"] and number >= 1:
                say("bench: the machine is slow; no more rounds")
                break

    def throughput(self):
        some = [peer for peer in self.peers if peer.name in ("bubblewrap", "python3", "crun")]
        for number in range(self.plan["throughput_rounds"]):
            say(f"bench: throughput, round {number + 1} of {self.plan['throughput_rounds']}")
            for program, (code, expect) in PROGRAMS.items():
                # A window must hold several waves of the slowest; `pandas` at 16 clients takes seconds for one.
                seconds = self.plan["window_s" if program == "print" else "pandas_window_s"]
                for clients in (4, 16):
                    for peer in some:
                        if peer.name != "bubblewrap" and (program, clients) == ("pandas", 16):
                            continue
                        got = self.timer.run(peer, code, expect, clients=clients, seconds=seconds)
                        self.failed += got["failed"]
                        rate = len(got["end_ms"]) / got["seconds"]
                        self.rates.setdefault((peer.name, program, clients), []).append(rate)
            self.belljar_bench("throughput", seconds=self.plan["window_s"])

    def cells_in_turn(self):
        """Cells of a live session, an ipykernel and the floor."""
        peers_ = {"floor": cells.Floor(os.path.join(os.path.dirname(self.timer.program), "floor"))}
        try:
            peers_["ipykernel"] = cells.Jupyter()
        except (ImportError, OSError, RuntimeError) as error:
            self.absent["ipykernel"] = str(error)
        try:
            for number in range(self.plan["rounds"]):
                say(f"bench: cells, round {number + 1} of {self.plan['rounds']}")
                self.belljar_bench("cell", runs=self.plan["cells"])
                for cell, (code, expect) in cells.CELLS.items():
                    for name, peer in peers_.items():
                        rows, failed = peer.times(code, expect, self.plan["cells"])
                        self.failed += failed
                        self.cells.setdefault((name, cell), []).extend(rows)
        finally:
            if "ipykernel" in peers_:
                peers_["ipykernel"].close()

    def weigh(self):
        say("bench: memory and growth")
        for peer in self.peers:
            if peer.name in ("bubblewrap", "python3"):
                try:
                    self.memory[peer.name] = peers.idle_mb(peer, "import numpy, pandas", IDLE_PEERS)
                except (OSError, RuntimeError) as error:
                    self.absent[f"memory of {peer.name}"] = str(error)
        self.belljar_bench("idle", idle=self.plan["idle"], runs=self.plan["growth_runs"])
        self.belljar_bench("growth", runs=self.plan["growth_runs"])
        self.belljar_bench("fork", runs=10)
        self.belljar_bench("sessions", idle=self.plan["sessions"], runs=self.plan["growth_runs"])

    def mask(self):
        """The masker on the source of Python's own library, and one pattern after the other on the same."""
        say("bench: the masker")
        tool = os.path.join(os.path.dirname(self.timer.program), "mask-bench")
        texts = sorted(glob.glob(os.path.join(LIBRARY, "*.py")))
        self.masker = json.loads(subprocess.run([tool, *texts], capture_output=True, text=True, check=True).stdout)

    def ask_doors(self, build, is_quick):
        say("bench: the doors")
        self.doors = doors.measure(build, doors.QUICK if is_quick else doors.FULL)
        self.failed += self.doors["failed"]

    def report(self):
        return {
            "times_ms": {f"{name} {program}": rows for (name, program), rows in self.times.items()},
            "per_second": {f"{name} {program} {clients}": rates
                           for (name, program, clients), rates in self.rates.items()},
            "cells_ms": {f"{name} {cell}": rows for (name, cell), rows in self.cells.items()},
            "idle_pss_mb": self.memory,
            "belljar": self.ours,
            "masker": self.masker,
            "doors": self.doors,
            "absent": self.absent,
            "failed_runs": self.failed,
            "isolation": {peer.name: peer.isolation for peer in self.peers},
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory")
    parser.add_argument("--only-cells", action="store_true", help="cells of sessions, and nothing else")
    parser.add_argument("--quick", action="store_true", help="about a minute, with few samples")
    args = parser.parse_args()
    build = os.path.abspath(args.build)

    begin, load = time.monotonic(), os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="belljar-bench-") as folder:
        bench = Bench(build, folder, QUICK if args.quick else FULL)
        if "bubblewrap" in bench.absent or "python3" in bench.absent or "belljar run" in bench.absent:
            raise SystemExit(f"bench: cannot measure: {bench.absent}")
        bench.cells_in_turn()
        if not args.only_cells:
            bench.latency()
            bench.throughput()
            bench.weigh()
            bench.mask()
            bench.ask_doors(build, args.quick)
    report = bench.report()
    report["load_before"], report["load_after"] = load, os.getloadavg()
    report["cores"], report["seconds"] = os.cpu_count(), time.monotonic() - begin
    with open(os.path.join(build, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    table.show(report, args.only_cells)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
