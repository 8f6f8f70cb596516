#!/usr/bin/python3
"""e2b.py [--rounds N] [BUILD]: how fast programs written for E2B are, with E2B's own newest package, by URL, on this machine.

Prints medians, and the fastest and slowest tenth, of the client's own clock, and ratios to a request that does nothing (`GET /health` of the same server
with the same client), so that figures of two machines can be compared. docs/guide/e2b.md has a table of them.
"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2b"))
sys.path.insert(0, str(ROOT / "tests/lib"))

import npm  # noqa: E402
import run  # noqa: E402

FLOOR = """
const address = new URL(process.env.E2B_API_URL).origin + "/health", times = [];
for (let i = 0; i < 200; i++) {
  const began = performance.now();
  await (await fetch(address)).text();
  times.push(performance.now() - began);
}
console.log(JSON.stringify(times.slice(50)));
"""


def said(server, directory, *command):
    done = server.run(*command, cwd=directory, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("build", nargs="?", default="build")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    plain, interpreter = run.PAIRS[0]
    directory = run.place(build, plain)
    npm.install(directory, f"@e2b/code-interpreter@{interpreter}", "--ignore-scripts", f"e2b@{plain}")
    home = tempfile.mkdtemp(prefix="bje2b-")
    server = run.Server(build, home, settings={"BELLJAR_POOL_SIZE": "-1", "BELLJAR_POOL_HOT": "-1", "BELLJAR_PRELOAD": None})
    try:
        shutil.copy(ROOT / "tests/bench/e2b.mjs", directory)
        floor = statistics.median(said(server, directory, "node", "--no-warnings", "--input-type=module", "-e", FLOOR))
        found = said(server, directory, "node", "--no-warnings", "e2b.mjs", str(options.rounds))
    finally:
        ended = server.stop()
        shutil.rmtree(home, ignore_errors=True)
    print(f"e2b {plain}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; a request that does nothing: {floor:.2f} ms")
    print(f"{'':24} {'10 %':>8} {'median':>8} {'90 %':>8} {'ratio':>6}  samples")
    for name, times in found["times"].items():
        low, *_, high = statistics.quantiles(times, n=10)
        median = statistics.median(times)
        print(f"{name:24} {low:7.1f}  {median:7.1f}  {high:7.1f}  {median / floor:5.1f}  {len(times)}")
    memory = statistics.median(found["memory"]) / 2**20
    print(f"{'memory of a sandbox':24} {memory:7.1f} MB, median of {len(found['memory'])} that have run a cell")
    return ended


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
