#!/usr/bin/python3
"""run.py BUILD [--write] [--last] [MODULE...]: CPython's own tests, inside of a sandbox and outside, and what differs.

Every module runs once as a program of `belljar run --profile open`, in the process that runs all Python programs, and once
with the same interpreter as an ordinary user of this machine. Tests with different outcomes run again, alone; what still
differs must have a reason in reasons.toml. The last line is "N passed, N failed": a test that differs without a reason has
failed. --write renews docs/COMPATIBILITY.md; --last takes the results of the last run instead of running again.
"""
import fnmatch
import importlib.util
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "cpython"
PYTHON = "/usr/bin/python3"

MODULES = """
    builtin types typing descr class dataclasses enum functools itertools collections dict list set bytes unicode int float
    decimal fractions math statistics random datetime zoneinfo time calendar re struct array json pickle copy marshal csv
    io fileio file os posix pathlib posixpath glob shutil tempfile mmap fcntl stat largefile tarfile zipfile zlib bz2 lzma
    gzip hashlib hmac secrets uuid base64 codecs locale
    subprocess signal threading thread threadsignals queue concurrent_futures asyncio contextlib_async eintr fork1 wait3
    wait4 multiprocessing_fork multiprocessing_spawn multiprocessing_main_handling sched
    socket ssl select selectors poll epoll socketserver httplib httpservers urllib urllib2 urllib2_localnet urlparse ftplib
    smtplib email xmlrpc http_cookiejar
    ctypes dbm shelve logging argparse configparser importlib import runpy site sys sysconfig inspect traceback
    faulthandler gc weakref tracemalloc ast compile exceptions audit atexit pwd grp getpass platform pty openpty ioctl
    resource syslog venv ensurepip cmd_line script_helper doctest unittest xml_etree webbrowser mimetypes
""".split()

SLOW = ("test_multiprocessing", "test_asyncio", "test_concurrent_futures", "test_subprocess")

SECONDS = 300
LIMITS = {"--timeout": SECONDS, "--memory": 2048, "--disk": 1024, "--pids": 512, "--output": 8 << 20}
DESCRIPTORS = "1024"

LINE = "{:34} inside {:4} ok {:3} skipped {:2} bad, outside {:4} ok {:3} skipped {:2} bad, {} differ"

# Another outcome than this side's is a difference, in either direction.
BAD = ("fail", "error", "missing", "hung")


def program(module, only):
    head = f"MODULE = {module!r}\nONLY = {sorted(only)!r}\n"
    return head + (HERE / "driver.py").read_text()


def read(text):
    """{test: (outcome, text)} from the driver's lines. A test that began and did not end took the process with it."""
    outcomes, open_test, is_complete = {}, None, False
    for line in text.split("\n"):  # splitlines() would cut at the separator too
        parts = line.split("\x1e")
        if len(parts) != 4 or parts[0]:
            continue
        _, kind, name, message = parts
        if kind == "start":
            open_test = name
        elif kind == "end":
            is_complete = True
        else:
            outcomes[name] = (kind, message)
            open_test = None
    return outcomes, open_test, is_complete


def finish(outcomes, open_test, is_complete, end):
    if open_test:
        outcomes[open_test] = ("hung", end)
    elif not is_complete:
        outcomes["(the module)"] = ("hung", end)
    return outcomes


class Inside:
    name = "inside"

    def __init__(self, belljar, directory):
        self.belljar = belljar
        self.directory = directory

    def run(self, module, only=()):
        file = self.directory / f"{module}.py"
        file.write_text(program(module, only))
        words = [self.belljar, "run", "--profile", "open", "--json"]
        for flag, value in LIMITS.items():
            words += [flag, str(value)]
        done = subprocess.run(
            [*words, str(file)], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS + 120,
            env={"PATH": os.environ["PATH"], "HOME": str(self.directory), "BELLJAR_DESCRIPTORS": DESCRIPTORS,
                 "BELLJAR_FILE_MB": "65536"},
        )  # fmt: skip
        result = json.loads(done.stdout)
        if "status" not in result:
            return {"(the module)": ("hung", str(result))}
        end = result["status"]
        if result.get("error"):
            end += ": " + str(result["error"].get("message"))
        if end == "error":
            end += f" {result['exit_code']} {result['stderr'][-200:]}"
        return finish(*read(result["stdout"]), end)


class Outside:
    name = "outside"

    def __init__(self, directory):
        self.directory = directory
        self.who = {}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def run(self, module, only=()):
        home = Path(tempfile.mkdtemp(dir=self.directory))
        (home / "tmp").mkdir()
        for path in (home, home / "tmp"):
            if self.who:
                os.chown(path, self.who["user"], self.who["group"])
        end = "ended"
        output = home / "output"
        with output.open("wb") as stream, subprocess.Popen(
            ["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}", PYTHON, "-c", program(module, only)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=home, start_new_session=True, **self.who,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home / "tmp"),
                 "LANG": "C.UTF-8", "USER": "nobody"},
        ) as process:  # fmt: skip
            # Through `cat`: what the tests write to is a pipe, as in a sandbox, and nobody waits for their children.
            cat = subprocess.Popen(["cat"], stdin=process.stdout, stdout=stream)
            process.stdout.close()
            try:
                process.wait(timeout=SECONDS)
                end = f"ended with {process.returncode}"
            except subprocess.TimeoutExpired:
                end = "timeout"
            try:
                os.killpg(process.pid, 9)
            except OSError:
                pass
            process.wait()
            try:
                cat.wait(timeout=2)
            except subprocess.TimeoutExpired:
                cat.kill()
                cat.wait()
        text = output.read_text(errors="replace")
        shutil.rmtree(home, ignore_errors=True)
        return finish(*read(text), end)


def compare(inside, outside):
    """[(test, inside, outside)] where the outcomes are not of the same kind."""
    differences = []
    for name in sorted(set(inside) | set(outside)):
        a = inside.get(name, ("missing", ""))
        b = outside.get(name, ("missing", ""))
        is_same = a[0] == b[0] or (a[0] in ("fail", "error") and b[0] in ("fail", "error"))
        # A module that came to no end on either side has not shown anything.
        if not is_same or a[0] == "hung":
            differences.append((name, a, b))
    return differences


def run_module(module, sides):
    """Both sides; tests that differ once more, alone."""
    with ThreadPoolExecutor(len(sides)) as both:
        first = list(both.map(lambda side: side.run(module), sides))
    differences = compare(*first)
    names = {name for name, _, _ in differences}
    if names and len(names) < 60 and not any(name.startswith("(") or " " in name for name in names):
        again = [side.run(module, names) for side in sides]
        still = {name for name, _, _ in compare(*again)}
        differences = [d for d in differences if d[0] in still]
    return module, first, differences


class Reasons:
    def __init__(self):
        with (HERE / "reasons.toml").open("rb") as file:
            self.rows = tomllib.load(file).get("reason", [])

    def find(self, name, inside):
        for row in self.rows:
            if row.get("says", "") in inside[1] and any(fnmatch.fnmatchcase(name, pattern) for pattern in row["tests"]):
                return row
        return None


def short(name, module):
    """`test_os.ForkTests.test_fork` for `test.test_os.ForkTests.test_fork`."""
    name = name.removeprefix("test.")
    return name if name.startswith(module) else f"{module}: {name}"


def count(outcomes):
    kinds = [kind for kind, _ in outcomes.values()]
    return kinds.count("ok"), kinds.count("skip"), sum(kinds.count(bad) for bad in BAD)


def list_tests(seen):
    """A line for each test; for each class where many differ in the same way."""
    classes = {}
    for name, a, b in sorted(seen):
        classes.setdefault((name.rpartition(".")[0], a[0], b[0]), []).append(name)
    for (group, a, b), names in classes.items():
        if len(names) > 3:
            yield f"- `{group}`, {len(names)} tests: {a} inside, {b} outside"
        else:
            yield from (f"- `{name}`: {a} inside, {b} outside" for name in names)


def write_document(table, reasons):
    lines = [
        "# Compatibility with CPython",
        "",
        "<!-- made by `tests/cpython/run.py --write` from a run, tests/cpython/reasons.toml and versions.md -->",
        "",
        "A part of CPython's own regression tests (Debian's `libpython3.11-testsuite`) runs as a program of",
        "`belljar run --profile open` and, for comparison, with the same interpreter outside of any sandbox, as an ordinary",
        "user. `make test-cpython` repeats it. Inside the tests run in the process that runs every Python program, not in a",
        "`python3` started from it. The limits are generous (2 GB of memory, 1 GB of disk), bytecode is written, which a",
        "sandbox does not do unless a program asks for it (`sys.dont_write_bytecode = False`), and tests that want a network, or",
        "much of the machine, skip themselves on both sides. A test that fails on both sides is no difference.",
        "",
    ]
    total = [sum(numbers) for numbers in zip(*(row[1:] for row in table))]
    lines += [
        f"{len(table)} modules; outside {total[3]} tests pass and {total[4]} skip themselves, inside {total[0]} and "
        f"{total[1]}. {total[6]} tests differ, each for one of the reasons below.",
        "",
        *(ROOT / "tests/cpython/versions.md").read_text(encoding="utf-8").splitlines(),
        "",
        "## What differs, and why",
        "",
    ]
    for row in reasons.rows:
        if not row.get("seen"):
            continue
        lines += [f"### {row['title']}", "", row["why"].strip(), ""]
        lines += [*list_tests(row["seen"]), ""]
    lines += ["## Module by module", "", "| module | inside: pass, skip, fail | outside: pass, skip, fail | differ |", "|---|---|---|---|"]
    for row in table:
        lines.append(f"| {row[0]} | {row[1]}, {row[2]}, {row[3]} | {row[4]}, {row[5]}, {row[6]} | {row[7] or ''} |")
    (ROOT / "docs" / "COMPATIBILITY.md").write_text("\n".join(lines) + "\n")


def conclude(table, found, is_write):
    reasons = Reasons()
    unexplained = 0
    for name, a, b in found:
        reason = reasons.find(name, a)
        if reason:
            reason.setdefault("seen", []).append((name, a, b))
        else:
            unexplained += 1
            print(f"differs: {name}\n    inside  {a[0]} {a[1]}\n    outside {b[0]} {b[1]}")
    for row in reasons.rows:
        print(f"{len(row.get('seen', ())):4} differ: {row['title']}")
    if is_write:
        write_document(sorted(table), reasons)
    # Tests that were the same on both sides, and those that differ for a reason.
    passed = sum(max(sum(row[1:4]), sum(row[4:7])) for row in table) - unexplained
    print(f"{passed} passed, {unexplained} failed")
    return 1 if unexplained else 0


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 64
    build = Path(arguments.pop(0)).resolve()
    belljar = build / "belljar"
    results = build / "cpython.json"
    is_write = "--write" in arguments
    if "--last" in arguments:
        return conclude(**json.loads(results.read_text()), is_write=is_write)
    modules = [word for word in arguments if not word.startswith("-")] or ["test_" + name for name in MODULES]
    for name in modules:
        if importlib.util.find_spec(f"test.{name}") is None:
            print(f"test-cpython: there is no test.{name}; is `libpython{sys.version_info[0]}.{sys.version_info[1]}-testsuite` installed?", file=sys.stderr)
            return 1
    # A shell that puts us into the background lets its jobs ignore interrupts; the tests want them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    directory = Path(tempfile.mkdtemp(prefix="belljar-cpython-", dir="/var/tmp"))
    directory.chmod(0o755)
    sides = Inside(belljar, directory), Outside(directory)
    # Those that take long first, so that nothing waits for them at the end.
    modules.sort(key=lambda name: (not name.startswith(SLOW), name))
    table, found = [], []
    try:
        # Most of the tests that take long wait.
        with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
            for module, (inside, outside), differences in workers.map(lambda m: run_module(m, sides), modules):
                table.append((module, *count(inside), *count(outside), len(differences)))
                found += [(short(name, module), a, b) for name, a, b in differences]
                print(LINE.format(*table[-1]), flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    results.write_text(json.dumps({"table": table, "found": found}))
    return conclude(table, found, is_write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
