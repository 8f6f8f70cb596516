#!/usr/bin/python3
"""run.py [--seconds N] [SUITE...]: the demo and the fast tests on bare machines of other releases of Debian.

Without an argument: each release that Belljar supports but this host's own, which `make test` is for. A bare machine
(tests/lib/bare.py) gets the checkout as it is, with changes that are not committed, installs what `make deps` installs, builds
everything, runs the demo, and then the rules, unit tests and the smoke tests of the integration tests.

The last line is the sum, "N passed, N failed, N skipped". It ends with 77 and the reason if there can be no bare machine here:
it takes root, debootstrap and a mirror.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import bare  # noqa: E402

# The releases, by name, and the Python of each.
SUITES = {"bookworm": "3.11", "trixie": "3.13"}

# Of one machine, on two cores that do nothing else.
SECONDS = 900

# Name, command, and whether its last line is the sum of tests.
STEPS = [
    ("packages", "apt-get -q -y install --no-install-recommends git make && tools/deps build demo test", False),
    ("repository", "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm t", False),
    ("demo", "tools/build build --werror -Dtests=enabled && tools/demo build", False),
    ("python", 'test "$(build/belljar run -c \'import sys; print("%d.%d" % sys.version_info[:2])\')" = {python}', False),
    ("tests", "tools/test gcc rules unit smoke", True),
]


def own_suite():
    text = Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r"^VERSION_CODENAME=(\S+)", text, re.MULTILINE)
    return found[1] if found else ""


def copy_checkout(folder):
    """The files that git knows or would take."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True).stdout  # fmt: skip
    there = b"".join(name + b"\0" for name in names.split(b"\0") if name and os.path.lexists(os.fsencode(ROOT) + b"/" + name))
    archive = subprocess.run(["tar", "-C", ROOT, "--null", "-T", "-", "-cf", "-"], input=there, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-C", folder, "-xf", "-"], input=archive, check=True)


def run_suite(suite, seconds):
    """Passed, failed and skipped of one machine. A step that fails ends it."""
    total, deadline = [0, 0, 0], time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="belljar-suites-") as folder, bare.Machine(suite) as machine:
        copy_checkout(folder)
        os.chmod(folder, 0o755)
        machine.put(folder, "/root/belljar")
        # The base may be from a day when there was a mirror.
        if machine.run("timeout 300 apt-get -q update -o APT::Update::Error-Mode=any").returncode != 0:
            raise bare.Unavailable("the Debian mirror does not answer")
        for number, (name, command, has_sum) in enumerate(STEPS, 1):
            print(f"{number}/{len(STEPS)} {suite}: {name}", flush=True)
            command = "cd /root/belljar && " + command.replace("{python}", SUITES[suite])
            try:
                done = machine.run(command, timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"{suite}: `{name}` was ended: a machine has {seconds} seconds")
                return [total[0], total[1] + 1, total[2]]
            found = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped\s*\Z", done.stdout) if has_sum else None
            counts = [int(n) for n in found.groups()] if found else [1, 0, 0] if done.returncode == 0 and not has_sum else [0, 1, 0]
            if done.returncode != 0 and not counts[1]:
                counts[1] = 1
            total = [a + b for a, b in zip(total, counts)]
            if counts[1]:
                print(done.stdout[-8000:])
                print(f"{suite}: `{name}` failed")
                break
    return total


def main(suites):
    seconds = SECONDS
    if suites[:1] == ["--seconds"] and len(suites) > 1:
        seconds, suites = int(suites[1]), suites[2:]
    unknown = [suite for suite in suites if suite not in SUITES]
    if unknown:
        print(f"run.py: unknown release `{unknown[0]}`; known are {', '.join(SUITES)}", file=sys.stderr)
        return 64
    total = [0, 0, 0]
    for suite in suites or [name for name in SUITES if name != own_suite()]:
        try:
            counts = run_suite(suite, seconds)
        except bare.Unavailable as reason:
            print(f"skipped: {suite}: {reason}")
            return 77
        total = [a + b for a, b in zip(total, counts)]
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
