"""Programs as models write them end inside as they end outside: output, exit code, exception.

A sample runs here; all of them, from a cold start and from a server's stock, run with `make test-all` (tests/slow.list).
"""
import pytest

import programs
import serving

ALL = programs.load()
BY_NAME = {program.name: program for program in ALL}

# One of each kind that had its own cause when it failed.
SAMPLE = [
    "library-argparse-given", "library-logging-file", "library-sqlite-file", "library-unittest-main", "library-doctest-module", "library-os-files",
    "library-guarded-import", "library-missing-import", "library-file-dunder", "library-own-package", "library-devnull-stdout-path",
    "library-exit-builtin", "library-stdin-lines", "bash-redirect", "bash-getopts", "bash-main-guard", "more-excepthook", "more-patch-print-input",
    "habits-finalizers", "habits-reconfigure-streams", "habits-script-or-notebook", "habits-reload-changed-module", "habits-defaults-of-methods",
    "habits-pickle-enum", "habits-what-it-costs", "habits-names-of-a-module", "habits-descriptors-and-links", "bash-required-parameter", "bash-jobs-listed",
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


def differences(profile, run):
    """[(name, outside, inside)] of the programs that end otherwise."""
    found = []
    chosen = [program for program in ALL if profile in program.profiles]
    for program in chosen:
        expected = programs.outside(program)
        got = run(program)
        if not got.same(expected):
            found.append((program.name, expected, got))
    return found, len(chosen)


@pytest.mark.parametrize("profile", programs.PYTHON_PROFILES)
def test_everything_cold(who, profile):
    found, count = differences(profile, lambda program: programs.cold(who, program, profile))
    assert 1 - len(found) / count >= LEAST[profile], found


@pytest.mark.parametrize("profile", programs.PYTHON_PROFILES)
def test_everything_warm(who, profile):
    server = serving.Server(who, "--socket", "none", env={"BELLJAR_PRELOAD": None, "BELLJAR_POOL_SIZE": "3", "BELLJAR_POOL_HOT": None})
    try:
        found, count = differences(profile, lambda program: programs.warm(server, program, profile))
    finally:
        assert server.stop() == 0, server.said
    assert 1 - len(found) / count >= LEAST[profile], found
