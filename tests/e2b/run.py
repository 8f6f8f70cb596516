#!/usr/bin/python3
"""run.py [--only WORDS] [--pair VERSION] [--way WAY] BUILD: E2B's own packages against `belljar serve`, as a program has them that was written for E2B.

The packages come from npm, pinned, and are kept in BUILD/e2b. Four pairs of versions are driven by drive.mjs in three ways: by URL, by host
name with TLS, and in debug mode, which needs fixed ports and so a network namespace of its own, and root. Then the programs in programs/ run with the newest pair, and those in frameworks/
with frameworks that call the packages.
docs/guide/e2b.md names the range.

Ends with a table and "N passed, N failed"; exit status 0, 1, or 77 where the packages cannot be had, with the reason.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/e2b"
sys.path.insert(0, str(ROOT / "tests/lib"))

import npm  # noqa: E402

# Of `e2b` and of `@e2b/code-interpreter`. The last is the first that knows E2B_SANDBOX_URL for cells.
PAIRS = [("2.51.0", "2.8.0"), ("2.46.1", "2.7.2"), ("2.39.0", "2.7.1"), ("2.28.1", "2.7.0")]
WAYS = ["urls", "hosts", "debug"]
# Frameworks that call these packages: what to install, and the way by which each finds the server.
FRAMEWORKS = {
    "openai-agents": (["@openai/agents@0.20.0", "@openai/agents-extensions@0.18.0", "e2b@2.51.0"], "urls"),
    "computesdk": (["@computesdk/e2b@1.7.52", "e2b@2.51.0"], "urls"),
    "llamaindex": (["@llamaindex/tools@0.2.1"], "hosts"),
}
DOMAIN = "jars.test"
SECONDS = 300  # no program takes so long, even on a busy machine


def certificate(home):
    """A certificate for all names below the domain, and its key; it vouches for itself."""
    cert, key = os.path.join(home, "cert.pem"), os.path.join(home, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={DOMAIN}",
         "-addext", f"subjectAltName=DNS:*.{DOMAIN}", "-out", cert, "-keyout", key],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return cert, key


class Server:
    """`belljar serve` in a home of its own. `env` is what a program needs to find it."""

    def __init__(self, build, home, way="urls", settings=None):
        self.prefix = []
        own = {"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2",
               "BELLJAR_POOL_HOT": "0", "BELLJAR_SESSION_PORTS": "*", **(settings or {})}  # fmt: skip
        own = {name: value for name, value in own.items() if value is not None}
        arguments = ["serve", "--listen", "127.0.0.1:0"]
        # Not every system resolves names below `localhost`, which getHost() gives.
        self.env = {"E2B_WAY": way, "E2B_TEST_DOMAIN": "localhost", "NODE_OPTIONS": f"--require {HERE / 'resolve.cjs'}"}
        if way == "hosts":
            cert, key = certificate(home)
            arguments += ["--tls-cert", cert, "--tls-key", key]
            own["BELLJAR_HOSTS"] = f"*.{DOMAIN}"
            self.env |= {"NODE_EXTRA_CA_CERTS": cert, "E2B_TEST_DOMAIN": DOMAIN}
        if way == "debug":
            own["BELLJAR_E2B_DEBUG"] = "yes"
            self.prefix = ["nsenter", f"--net=/proc/{self.isolate()}/ns/net"]
            self.env["E2B_DEBUG"] = "true"
        self.process = subprocess.Popen(
            [*self.prefix, os.path.join(build, "belljar"), *arguments], env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = ""
        while "token is in" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server does not start: {said}")
            said += line
        url = next(word for word in said.split() if word.startswith("http"))
        token = Path(said.partition("token is in ")[2].strip()).read_text(encoding="ascii").strip()
        self.env["E2B_API_KEY"] = "e2b_" + token.removeprefix("bj_")
        if way == "urls":
            self.env |= {"E2B_API_URL": f"{url}/e2b", "E2B_SANDBOX_URL": f"{url}/e2b"}
        if way == "hosts":
            self.env["E2B_DOMAIN"] = f"{DOMAIN}:{url.rpartition(':')[2]}"

    def isolate(self):
        """The pid of a process in a network of its own, which ends with this one."""
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c", "ip link set lo up && echo up && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if self.holder.stdout.readline() != "up\n":
            raise RuntimeError("no network namespace can be made")
        return self.holder.pid

    def run(self, *command, timeout=SECONDS, cwd=None):
        command, env = [*self.prefix, *command], {**os.environ, **self.env}
        try:
            return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode("utf-8", "replace")
            return subprocess.CompletedProcess(command, -1, said, f"it had not ended after {timeout} seconds\n")

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)
        if self.prefix:
            self.holder.stdin.close()
            self.holder.wait(timeout=SECONDS)
        return self.process.returncode


def place(build, plain):
    return os.path.join(build, "e2b", plain)


def drive(server, directory, only):
    """(passed, failed, left out), of the checks of the driver."""
    program = os.path.join(directory, "drive.mjs")
    shutil.copy(HERE / "drive.mjs", program)
    done = server.run("node", "--no-warnings", program, *([only] if only else []))
    print(done.stdout + done.stderr, end="", flush=True)
    count = re.search(r"^(\d+) passed, (\d+) failed, (\d+) left out$", done.stdout, re.M)
    return tuple(map(int, count.groups())) if count else (0, 1, 0)


def run_program(server, program, directory):
    """The counts of a program, which is one check."""
    copy = os.path.join(directory, program.name)
    shutil.copy(program, copy)
    done = server.run("node", "--no-warnings", copy, cwd=directory)
    good = done.returncode == 0 and done.stdout.rstrip().endswith("done")
    print(f"{'ok' if good else 'not ok'} {program.stem}" + ("" if good else f": exit {done.returncode}\n{done.stdout}{done.stderr}"), flush=True)
    return (1, 0, 0) if good else (0, 1, 0)


def run_programs(server, directory, only):
    counts = [
        run_program(server, program, directory)
        for program in sorted((HERE / "programs").glob("*.mjs"))
        if not only or any(word in program.stem for word in only.split("|"))
    ]
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0, 0, 0)


def run_frameworks(build, rows):
    for name, (packages, way) in FRAMEWORKS.items():
        began, directory = time.monotonic(), place(build, name)
        try:
            npm.install(directory, packages[0], "--ignore-scripts", *packages[1:])
        except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
            print(f"skipped {name}: {reason}")
            continue
        version = packages[0].rpartition("@")[2]
        print(f"--- {name} {version}, {way}")
        counts = with_server(build, way, lambda server, at=directory, name=name: run_program(server, HERE / f"frameworks/{name}.mjs", at))
        rows.append((name, version, way, *counts, time.monotonic() - began))


def with_server(build, way, work, settings=None):
    home = tempfile.mkdtemp(prefix="bje2b-")
    try:
        server = Server(build, home, way, settings)
        try:
            counts = work(server)
        finally:
            ended = server.stop()
        if ended != 0:
            print(f"not ok the server ended with {ended}")
            counts = (counts[0], counts[1] + 1, counts[2])
        return counts
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="checks and programs whose names have one of these words, with | between them")
    parser.add_argument("--pair", action="append", help="a version of `e2b`; default: all")
    parser.add_argument("--way", action="append", choices=[*WAYS, "programs", "frameworks"], help="default: all")
    parser.add_argument("build", nargs="?", default="build")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    pairs = [pair for pair in PAIRS if not options.pair or pair[0] in options.pair]
    ways = options.way or [*WAYS, "programs", "frameworks"]
    try:
        for plain, interpreter in pairs:
            npm.install(place(build, plain), f"@e2b/code-interpreter@{interpreter}", "--ignore-scripts", f"e2b@{plain}")
    except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    if "debug" in ways and os.geteuid() != 0:
        print("left out: debug mode needs root, for a network of its own with fixed ports")
        ways.remove("debug")
    rows = []
    for plain, interpreter in pairs:
        for way in ways:
            if way == "frameworks" or (way == "programs" and plain != PAIRS[0][0]):
                continue
            print(f"--- e2b {plain}, @e2b/code-interpreter {interpreter}, {way}")
            began, directory = time.monotonic(), place(build, plain)
            if way == "programs":
                counts = with_server(build, "urls", lambda server: run_programs(server, directory, options.only))
            else:
                counts = with_server(build, way, lambda server: drive(server, directory, options.only))
            rows.append((plain, interpreter, way, *counts, time.monotonic() - began))
    if "frameworks" in ways:
        run_frameworks(build, rows)
    print(f"\n{'e2b':14} {'interpreter':12} {'way':9} {'passed':>6} {'failed':>6} {'left out':>8} {'seconds':>8}")
    for plain, interpreter, way, passed, failed, left, seconds in rows:
        print(f"{plain:14} {interpreter:12} {way:9} {passed:6} {failed:6} {left:8} {seconds:8.1f}")
    failed = sum(row[4] for row in rows)
    print(f"{sum(row[3] for row in rows)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
