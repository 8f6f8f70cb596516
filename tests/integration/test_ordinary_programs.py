"""Programs as models write them end inside as they end outside: output, exit code, exception.

A sample runs here; all of them, from a cold start and from a server's stock, run with `make test-all` (tests/slow.list).
"""
import dataclasses
import functools
import json
import os

import pytest

import programs
import serving
import tiers

ALL = programs.load()
BY_NAME = {program.name: program for program in ALL}

# One of each kind that had its own cause when it failed.
SAMPLE = [
    "library-argparse-given", "library-logging-file", "library-sqlite-file", "library-unittest-main", "library-doctest-module", "library-os-files",
    "library-guarded-import", "library-missing-import", "library-file-dunder", "library-own-package", "library-devnull-stdout-path",
    "library-exit-builtin", "library-stdin-lines", "bash-redirect", "bash-getopts", "bash-main-guard", "more-excepthook", "more-patch-print-input",
    "habits-finalizers", "habits-reconfigure-streams", "habits-script-or-notebook", "habits-reload-changed-module", "habits-defaults-of-methods",
    "habits-pickle-enum", "styles-names-of-python-2", "styles-save-what-was-shown", "styles-who-runs-it", "habits-what-it-costs", "habits-names-of-a-module", "habits-descriptors-and-links", "bash-required-parameter", "bash-jobs-listed",
    "everyday-patch-is-undone", "everyday-atomic-write-by-descriptor", "everyday-class-attribute-access", "everyday-load-plugins", "everyday-parse-emails", "everyday-tests-in-a-package",
    "found-descriptor-delegation", "found-walk-up-and-down", "found-i18n-gettext-mo", "found-sqlite-uri-readonly", "found-package-on-the-fly-plugins", "found-scipy-fortran-callbacks",
    "varied-cross-platform-clear", "varied-inspect-members",
]  # fmt: skip

# Shares of what each profile should run. Programs nobody has looked at may do a little worse than these.
LEAST = {"open": 0.99, "standard": 0.99, "strict": 0.97}


def test_the_collection_is_large_enough_to_mean_something():
    assert len(ALL) >= 200 and len(BY_NAME) == len(ALL)
    assert {program.language for program in ALL} == {"python", "bash"}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample(who, name):
    program = BY_NAME[name]
    expected = programs.outside(program)
    for profile in program.profiles:
        got = programs.cold(who, program, profile)
        assert got.same(expected), (profile, expected, got)


def test_a_file_that_was_left_open_is_written(who):
    program = BY_NAME["habits-file-left-open"]
    done = who.run(program.code)
    assert done.json["files"] == [{"path": "log.txt", "size": 4}, {"path": "report.txt", "size": 46}], done


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The outcome of a program on the host, which is the same for all profiles, callers and servers: each runs there once, whichever
    worker asks first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "outside"
    folder.mkdir(exist_ok=True)

    def outcome(name):
        file = folder / f"{name}.json"
        if not file.exists():
            part = folder / f"{name}.{os.getpid()}"
            part.write_text(json.dumps(dataclasses.asdict(programs.outside(BY_NAME[name]))))
            part.rename(file)
        return programs.Outcome(**json.loads(file.read_text()))

    return functools.lru_cache(maxsize=None)(outcome)


def differences(outside, profile, run):
    """[(name, outside, inside)] of the programs that end otherwise."""
    found = []
    chosen = [program for program in ALL if profile in program.profiles]
    for program in chosen:
        expected = outside(program.name)
        got = run(program)
        if not got.same(expected):
            found.append((program.name, expected, got))
    return found, len(chosen)


def cold_caller(callers, name):
    """A program is run from a cold start as one caller and from the stock as the other, so that it meets both."""
    return callers[tiers.quick_caller(name)]


def warm_caller(callers, name):
    return next((who for who in callers.values() if who is not cold_caller(callers, name)), cold_caller(callers, name))


def test_every_program_meets_both_callers(callers):
    chosen = [(cold_caller(callers, name).name, warm_caller(callers, name).name) for name in BY_NAME]
    assert all({cold, warm} == set(callers) for cold, warm in chosen)
    assert {cold for cold, _ in chosen} == {warm for _, warm in chosen} == set(callers)


@pytest.mark.parametrize("profile", programs.PYTHON_PROFILES)
def test_everything_cold(callers, outside, profile):
    found, count = differences(outside, profile, lambda program: programs.cold(cold_caller(callers, program.name), program, profile))
    assert 1 - len(found) / count >= LEAST[profile], found


@pytest.mark.parametrize("profile", programs.PYTHON_PROFILES)
def test_everything_warm(callers, outside, profile):
    env = {"BELLJAR_PRELOAD": None, "BELLJAR_POOL_SIZE": "3", "BELLJAR_POOL_HOT": None}
    servers = {}
    try:
        for name, who in callers.items():
            servers[name] = serving.Server(who, "--socket", "none", env=env)
        found, count = differences(
            outside, profile, lambda program: programs.warm(servers[warm_caller(callers, program.name).name], program, profile)
        )
    finally:
        ended = [server.stop() for server in servers.values()]
    assert ended == [0] * len(servers), [server.said for server in servers.values()]
    assert 1 - len(found) / count >= LEAST[profile], found
