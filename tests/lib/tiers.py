"""Selects the cases of `make test` and of `make test-all`, and prints a line of progress.

A case is quick unless tests/slow.list names it. That list holds measured durations; `tools/slow-tests` writes it.
A case that runs once as root and once as an ordinary user is quick as one of the two: a checksum of its name decides
which, so that each caller gets about half. The rest is everything else: the slow cases, and the other caller. A case
that is marked `one_caller` has no other caller, and neither has one that acts as the ordinary user by itself.
"""
import os
import re
import sys
import time
import zlib
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SLOW_LIST = TESTS / "slow.list"
CALLERS = ("root", "user")

# Seconds between two lines of progress, in a log and on a terminal.
LOG_SECONDS = 10
TERMINAL_SECONDS = 0.5


def plain_name(path, name):
    """The name of a case without its caller, as tests/slow.list has it: integration/test_x.py::test_y[parameter]."""
    function, bracket, parameters = name.partition("[")
    words = [word for word in parameters.removesuffix("]").split("-") if word not in CALLERS] if bracket else []
    name = f"{path}::{function}" + (f"[{'-'.join(words)}]" if words else "")
    return name.encode("unicode_escape").decode("ascii")  # one line, whatever the parameters are


def read_slow_list(path=SLOW_LIST):
    """{name: seconds}"""
    found = {}
    for line in path.read_text(encoding="ascii").splitlines():
        if line.strip() and not line.startswith("#"):
            seconds, name = line.split(" ", 1)
            found[name.strip()] = float(seconds)
    return found


def quick_caller(text):
    """The caller as which a case runs in `make test`. Without root there is only one."""
    if os.getuid() != 0:
        return "user"
    return CALLERS[zlib.crc32(text.encode()) % 2]


def is_other_caller(item, name):
    """Is it a case that runs in `make test` as the other of the two callers?"""
    for fixture, value in getattr(getattr(item, "callspec", None), "params", {}).items():
        if isinstance(value, str) and value in CALLERS:
            # Servers are shared by all tests of a file, which therefore have the same caller.
            text = name if fixture == "who" else name.split("::")[0]
            if value != quick_caller(text):
                return True
    return False


def is_quick(item, name):
    return not item.get_closest_marker("slow") and (names_its_caller(item) or not is_other_caller(item, name))


def names_its_caller(item):
    """Does the case act as `user` itself, so that only the fixture `watch` of its file asks for each caller?"""
    info = getattr(item, "_fixtureinfo", None)
    own = set(info.argnames) if info else set()

    def needs_who(name, seen):
        if name == "who" or name in seen:
            return name == "who"
        seen.add(name)
        return any(needs_who(n, seen) for d in info.name2fixturedefs.get(name, ())[-1:] for n in d.argnames)

    return "user" in own and not any(needs_who(name, set()) for name in own - {"watch"})


def is_superfluous(item, name):
    """Marked as a case of one caller, and this is the other; or one of `user`, to be run as root."""
    if bool(item.get_closest_marker("one_caller")) and is_other_caller(item, name):
        return True
    return getattr(item, "callspec", None) is not None and item.callspec.params.get("who") == "root" and names_its_caller(item)


def add_options(parser):
    group = parser.getgroup("belljar")
    group.addoption("--tier", choices=("all", "quick", "rest"), default="all",
                    help="quick: the cases of `make test`; rest: those it leaves to `make test-all`; all: both (default)")  # fmt: skip
    group.addoption("--progress", action="store_true", help="a line with counts every few seconds instead of a dot per case")


def select(config, items):
    import pytest

    slow = read_slow_list()
    kept, left = [], []
    for item in items:
        name = plain_name(item.path.relative_to(TESTS).as_posix(), item.name)
        if name in slow:
            item.add_marker(pytest.mark.slow)
        quick = is_quick(item, name)
        chosen = config.option.tier == "all" or quick == (config.option.tier == "quick")
        (kept if chosen and not is_superfluous(item, name) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


class Progress:
    """Counts results where they come together, which is in the process that was started by hand."""

    def __init__(self, out=None, interval=None):
        self.out = out or sys.__stdout__
        self.on_terminal = self.out.isatty()
        self.interval = interval if interval is not None else TERMINAL_SECONDS if self.on_terminal else LOG_SECONDS
        self.total = self.done = self.failed = self.skipped = 0
        self.started = self.last = time.monotonic()

    def pytest_collection_finish(self, session):
        self.total = max(self.total, len(session.items))

    def pytest_xdist_node_collection_finished(self, node, ids):
        self.total = max(self.total, len(ids))

    def pytest_report_teststatus(self, report):
        # No letters: a failure is named at once, below.
        if report.failed:
            return "failed" if report.when == "call" else "error", "", ""
        return "" if report.passed and report.when != "call" else report.outcome, "", ""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed += 1
            self.end_line()
            print(f"    FAILED {report.nodeid}", file=self.out, flush=True)
        self.skipped += report.skipped
        self.done += report.when == "teardown"
        if time.monotonic() - self.last >= self.interval:
            self.say()

    def say(self):
        self.last = time.monotonic()
        text = f"    {self.done} of {self.total} cases, {self.failed} failed, {self.skipped} skipped, {self.last - self.started:.0f} s"
        print(f"\r{text}\033[K" if self.on_terminal else text, end="" if self.on_terminal else "\n", file=self.out, flush=True)

    def end_line(self):
        if self.on_terminal:
            print("\r\033[K", end="", file=self.out)

    def pytest_sessionfinish(self):
        self.end_line()


def plain_names_of_report(path):
    """{name: seconds} of a report of pytest, the slower of both callers."""
    import xml.etree.ElementTree as ElementTree

    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is None:
            module = re.sub(r"^tests\.", "", case.get("classname", "")).replace(".", "/") + ".py"
            name = plain_name(module, case.get("name"))
            found[name] = max(found.get(name, 0.0), float(case.get("time", 0)))
    return found
