#!/usr/bin/python3
"""run.py [--all] BUILD: E2B's own packages against `belljar serve`, as a program has them that was written for E2B.

The packages come from npm, pinned, and are kept in BUILD/e2b. Each pair of versions is driven by drive.mjs. --all adds older pairs.

Ends with "N passed, N failed"; exit status 0, 1, or 77 where the packages cannot be had, with the reason.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import npm  # noqa: E402

NEWEST = ("2.51.0", "2.8.0")  # of `e2b` and of `@e2b/code-interpreter`
OLDER = [("2.28.1", "2.7.0")]  # the first that know E2B_SANDBOX_URL for cells
SECONDS = 180


class Server:
    """`belljar serve` in a home of its own."""

    def __init__(self, build, home):
        env = {"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2", "BELLJAR_POOL_HOT": "0"}
        self.process = subprocess.Popen(
            [os.path.join(build, "belljar"), "serve", "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said = ""
        while "token is in" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server does not start: {said}")
            said += line
        url = next(word for word in said.split() if word.startswith("http://")) + "/e2b"
        token = Path(said.partition("token is in ")[2].strip()).read_text(encoding="ascii").strip()
        self.env = {"E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": "e2b_" + token.removeprefix("bj_")}

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode


def drive(server, directory):
    """(passed, failed), of the checks of the driver."""
    program = os.path.join(directory, "drive.mjs")
    shutil.copy(ROOT / "tests/e2b/drive.mjs", program)
    done = subprocess.run(["node", "--no-warnings", program], env={**os.environ, **server.env}, capture_output=True, text=True, timeout=SECONDS)
    print(done.stdout + done.stderr, end="", flush=True)
    count = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    return (int(count[1]), int(count[2])) if count else (0, 1)


def place(build, plain):
    return os.path.join(build, "e2b", plain)


def main(arguments):
    build = os.path.abspath(next((a for a in arguments if not a.startswith("--")), "build"))
    pairs = [NEWEST, *(OLDER if "--all" in arguments else [])]
    try:
        for plain, interpreter in pairs:
            npm.install(place(build, plain), f"@e2b/code-interpreter@{interpreter}", "--ignore-scripts", f"e2b@{plain}")
    except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    passed = failed = 0
    for plain, interpreter in pairs:
        home = tempfile.mkdtemp(prefix="bje2b-")
        server = Server(build, home)
        print(f"e2b {plain}, @e2b/code-interpreter {interpreter}")
        good, bad = drive(server, place(build, plain))
        ended = server.stop()
        if ended != 0:
            print(f"the server ended with {ended}")
        passed, failed = passed + good, failed + bad + (ended != 0)
        shutil.rmtree(home, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
