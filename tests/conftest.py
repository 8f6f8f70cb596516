"""Fixtures of the integration and escape tests: who calls, what is watched, what is bait.

    /usr/bin/python3 -m pytest tests                  everything
    /usr/bin/python3 -m pytest -n 2 tests             two at a time
    /usr/bin/python3 -m pytest --tier=quick tests     what `make test` runs; --tier=rest: what it leaves out
    BELLJAR=/path/to/belljar                          another program than build/belljar
"""
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import belljar  # noqa: E402
import canary as bait  # noqa: E402
import host  # noqa: E402
import lifeline  # noqa: E402
import serving  # noqa: E402
import tiers  # noqa: E402


def pytest_addoption(parser):
    tiers.add_options(parser)


def pytest_configure(config):
    # A shell ignores SIGINT for what it starts in the background, and programs inherit that. With a handler here they
    # start with the default again, and this process still takes no notice.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: None)
    if config.option.progress and not hasattr(config, "workerinput"):
        config.pluginmanager.register(tiers.Progress())


def pytest_collection_modifyitems(config, items):
    tiers.select(config, items)


def pytest_sessionstart(session):
    program = belljar.program_path()
    if not os.access(program, os.X_OK) and not session.config.option.collectonly:
        pytest.exit(f"no program at {program}: run `make`, or set BELLJAR", returncode=2)


@pytest.fixture(scope="session")
def base():
    """A directory both callers can enter."""
    path = tempfile.mkdtemp(prefix="bjtest-", dir=host.place_for_grants())
    os.chmod(path, 0o755)
    host.become_subreaper()
    lifeline.begin()  # before anybody looks which processes there are
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def callers(base):
    return belljar.make_callers(base)


@pytest.fixture(scope="module", params=["root", "user"])
def server(request, callers):
    """`belljar serve`, once as each of them, for all tests of a file."""
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    s = serving.Server(callers[request.param])
    yield s
    assert s.stop() == 0, s.said


@pytest.fixture(params=["root", "user"])
def who(request, callers):
    """Each test once as root and once as an ordinary user."""
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    return callers[request.param]


@pytest.fixture
def user(callers):
    return callers["user"]


@pytest.fixture(scope="session")
def canaries(callers):
    made = {name: bait.Canary(uid=c.uid if os.getuid() == 0 else None) for name, c in callers.items()}
    yield made
    for c in made.values():
        c.close()


@pytest.fixture
def canary(who, canaries):
    return canaries[who.name]


@pytest.fixture
def watch(who):
    """Fails the test when the host is not as it was."""
    w = host.Watch(private=[who.home / p for p in ("runtime", "tmp", "cache", "config")], uids=[belljar.USER_UID])
    yield w
    complaints = w.leftovers()
    assert not complaints, complaints
