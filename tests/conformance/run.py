#!/usr/bin/python3
"""run.py BUILD: the official MCP conformance suite against Belljar's front end.

Two versions of it come from npm, pinned, and the Node that they need; they are kept in BUILD/conformance. The server
under test is BUILD/tests/conformance/conformance-server: the same code from the socket to the dispatcher as in
`belljar serve`, with the suite's fixtures in the place of the tools.

Every check has to succeed: a warning is a failure here, scored or not. Ends with "N passed, N failed"; exit status 0,
1, or 77 where the packages cannot be had, with the reason.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NODE = "node@22.23.3"
SUITES = {
    "released": "@modelcontextprotocol/conformance@0.1.16",
    "next": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
}
RUNS = [
    ("released", "all scenarios of 0.1.16", ["--suite", "all"], 32),
    ("next", "requirements of 2025-11-25", ["--requirements", "2025-11-25"], 33),
    ("next", "requirements of 2026-07-28", ["--requirements", "2026-07-28"], 50),
]

# Checks that the suite itself passes over, whatever the server does.
SKIPPED = {"tasks-status-notifications"}

OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network|E50\d|E403")

SECONDS = 300


class Unavailable(Exception):
    """Why it cannot run here."""


def npm_install(directory, package):
    """One package and what it needs, once."""
    marker = os.path.join(directory, "installed")
    if os.path.exists(marker):
        with open(marker, encoding="utf-8") as file:
            if file.read() == package:
                return
    npm = shutil.which("npm")
    if not npm:
        raise Unavailable("npm is not installed")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    done = subprocess.run(
        [npm, "install", "--prefix", directory, "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1",
         "--fetch-timeout=60000", package],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode != 0:
        if OFFLINE.search(done.stderr):
            raise Unavailable(f"npm cannot fetch {package.rsplit('/', 1)[-1]}")
        raise RuntimeError(f"npm install {package}:\n{done.stderr}")
    with open(marker, "w", encoding="utf-8") as file:
        file.write(package)


def prepare(place):
    npm_install(os.path.join(place, "node"), NODE)
    for name, package in SUITES.items():
        npm_install(os.path.join(place, name), package)
    found = glob.glob(os.path.join(place, "node/node_modules/node*/bin/node"))
    if not found:
        raise RuntimeError("the package `node` has no program")
    return found[0]


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            raise RuntimeError("the server does not say where it listens")

    def stop(self):
        """The exit status: a leak or a crash at the end counts, too."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return -1


def run_suite(node, place, name, options, server):
    out = os.path.join(place, "results", "-".join(options).strip("-"))
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [node, os.path.join(place, name, "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server",
         "--url", server.url, *options, "-o", out],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    scenarios, counts, wrong = 0, collections.Counter(), []
    for path in sorted(glob.glob(os.path.join(out, "*/checks.json"))):
        scenarios += 1
        with open(path, encoding="utf-8") as file:
            for check in json.load(file):
                status = check["status"]
                counts[status] += 1
                if status not in ("SUCCESS", "INFO") and not (status == "SKIPPED" and check["id"] in SKIPPED):
                    wrong.append(f"{os.path.basename(os.path.dirname(path))} {check['id']}: {status} {check.get('errorMessage')}")
    if done.returncode != 0 and not wrong:
        wrong.append(f"the suite ended with status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return scenarios, counts, wrong


def main(build):
    place = os.path.abspath(os.path.join(build, "conformance"))
    try:
        node = prepare(place)
    except (Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    program = os.path.join(build, "tests/conformance/conformance-server")
    subprocess.run(["ninja", "-C", build, "--quiet", "tests/conformance/conformance-server"], check=True)
    passed = failed = 0
    for name, title, options, expected in RUNS:
        server = Server(program)
        scenarios, counts, wrong = run_suite(node, place, name, options, server)
        status = server.stop()
        if status != 0:
            wrong.append(f"the server ended with status {status}")
        if scenarios != expected:
            wrong.append(f"{scenarios} scenarios were run, expected {expected}")
        passed += counts["SUCCESS"]
        failed += len(wrong)
        print(f"{title}: {scenarios} scenarios, " + ", ".join(f"{n} {s.lower()}" for s, n in sorted(counts.items())))
        for line in wrong:
            print(f"    FAILED {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build"))
