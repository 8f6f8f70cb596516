#!/usr/bin/python3
"""run.py BUILD: JupyterLab's own client library (npm: @jupyterlab/services) against `belljar serve`.

The library is fetched once, by version, and kept in BUILD/jupyter. Ends with "N passed, N failed"; exit status 0, 1, or 77 where it cannot be
had, with the reason.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import npm  # noqa: E402
from npm_server import Server  # noqa: E402

PACKAGE = "@jupyterlab/services@7.6.5"
SECONDS = 300


def main(build):
    place = os.path.join(build, "jupyter/services")
    try:
        npm.install(place, PACKAGE, "--ignore-scripts")
    except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory(prefix="bjjupyter-") as home:
        server = Server(build, home)
        with open(server.token_file, encoding="ascii") as file:
            token = file.read().strip()
        done = subprocess.run(
            ["node", "--no-warnings", str(ROOT / "tests/jupyter/client.mjs"), os.path.abspath(place), server.url, token],
            env=server.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
        )  # fmt: skip
        print(done.stdout, end="")
        failed = (done.returncode != 0) + (server.stop() != 0)
    passed = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")))
