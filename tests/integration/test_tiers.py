"""`make test` and the rest of `make test-all` together run every case, and none twice."""
import io
import os
import signal
import subprocess
import sys
import types

import belljar
import pytest

import host
import tiers

FILES = ["integration/test_policy.py", "integration/test_http_files.py"]


def collected(tier):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", f"--tier={tier}", *FILES],
        cwd=tiers.TESTS, capture_output=True, text=True, timeout=belljar.HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_quick_and_rest_are_all_and_share_nothing():
    quick, rest, everything = map(collected, ("quick", "rest", "all"))
    assert sorted(quick + rest) == sorted(everything) and quick and rest
    assert not set(quick) & set(rest)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to act as root and as another user")
def test_both_callers_have_their_share():
    callers = [tiers.quick_caller(f"integration/test_x.py::test_{i}") for i in range(1000)]
    assert 400 < callers.count("root") < 600
    assert callers == [tiers.quick_caller(f"integration/test_x.py::test_{i}") for i in range(1000)]


def item(fixture, value, marks=()):
    return types.SimpleNamespace(
        callspec=types.SimpleNamespace(params={fixture: value}),
        get_closest_marker=lambda name: name if name in marks else None,
    )


@pytest.mark.parametrize("fixture", ["who", "server", "other"])
def test_a_case_is_quick_as_exactly_one_caller(fixture):
    quick = [value for value in tiers.CALLERS if tiers.is_quick(item(fixture, value), "integration/test_x.py::test_y")]
    assert len(quick) == 1


def test_cases_of_a_shared_server_have_the_same_caller():
    quick = {value for value in tiers.CALLERS for i in range(50) if tiers.is_quick(item("server", value), f"integration/test_x.py::test_{i}")}
    assert len(quick) == 1


@pytest.mark.parametrize("marks", [["one_caller"], ["one_caller", "slow"]])
@pytest.mark.parametrize("fixture", ["who", "server"])
def test_a_case_of_one_caller_runs_as_exactly_one(fixture, marks):
    kept = [value for value in tiers.CALLERS if not tiers.is_superfluous(item(fixture, value, marks), "integration/test_x.py::test_y")]
    assert kept == [tiers.quick_caller("integration/test_x.py::test_y" if fixture == "who" else "integration/test_x.py")]
    assert not any(tiers.is_superfluous(item(fixture, value, marks[1:]), "integration/test_x.py::test_y") for value in tiers.CALLERS)


def test_a_slow_case_is_never_quick():
    assert not any(tiers.is_quick(item("who", value, ["slow"]), "integration/test_x.py::test_y") for value in tiers.CALLERS)


@pytest.mark.parametrize(
    "name, plain",
    [
        ("test_y", "a.py::test_y"),
        ("test_y[root]", "a.py::test_y"),
        ("test_y[user-deep]", "a.py::test_y[deep]"),
        ("test_y[deep-root]", "a.py::test_y[deep]"),
        ("test_y[rooted]", "a.py::test_y[rooted]"),
        ("test_y[a\nb]", "a.py::test_y[a\\nb]"),
    ],
)
def test_names_without_their_caller(name, plain):
    assert tiers.plain_name("a.py", name) == plain


def test_the_list_of_slow_cases_can_be_read(tmp_path):
    path = tmp_path / "list"
    path.write_text("# a remark\n\n1.5 integration/test_x.py::test_y[a b]\n")
    assert tiers.read_slow_list(path) == {"integration/test_x.py::test_y[a b]": 1.5}
    assert all(seconds > 0 for seconds in tiers.read_slow_list().values())


def test_durations_are_those_of_the_slower_caller(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(
        '<testsuites><testsuite><testcase classname="integration.test_x" name="test_y[root]" time="0.5"/>'
        '<testcase classname="tests.integration.test_x" name="test_y[user]" time="1.5"/>'
        '<testcase classname="integration.test_x" name="test_z" time="9"><skipped/></testcase></testsuite></testsuites>'
    )
    assert tiers.plain_names_of_report(path) == {"integration/test_x.py::test_y": 1.5}


def test_progress_is_told_in_lines():
    out = io.StringIO()
    progress = tiers.Progress(out, interval=0)
    progress.total = 2
    for outcome, when in (("passed", "call"), ("passed", "teardown"), ("failed", "call"), ("passed", "teardown")):
        report = types.SimpleNamespace(failed=outcome == "failed", skipped=False, when=when, nodeid="test_x.py::test_y")
        progress.pytest_runtest_logreport(report)
    assert "    FAILED test_x.py::test_y\n" in out.getvalue()
    assert out.getvalue().splitlines()[-1].startswith("    2 of 2 cases, 1 failed, 0 skipped")


def test_a_process_that_ends_is_seen_at_once():
    """The clean-up after a test waits for the end itself, not for a time that is long enough."""
    process = subprocess.Popen(["sleep", "100000"])
    try:
        host.wait_for_an_end([process.pid], 0)
        assert process.poll() is None
    finally:
        process.kill()
        host.wait_for_an_end([process.pid], 600)
        process.wait()
    host.wait_for_an_end([process.pid], 600)  # gone: nothing to wait for


def ignored_signals():
    """Of a program that is started here."""
    text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("SigIgn:")), 16)


def test_programs_are_started_with_an_interrupt_that_ends_them():
    assert not ignored_signals() & 1 << signal.SIGINT - 1


def test_in_the_background_too():
    """A shell without job control ignores SIGINT for what it starts with `&`."""
    done = subprocess.run(
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-m", "pytest", "-q", "integration/test_tiers.py", "-k", "with_an_interrupt"],
        cwd=tiers.TESTS, capture_output=True, text=True, timeout=belljar.HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done


@pytest.mark.parametrize("has_children", [True, False])
def test_a_process_that_is_left_is_found(base, monkeypatch, has_children):
    """Also where the kernel has no list of children."""
    monkeypatch.setattr(host, "HAS_CHILDREN", has_children and host.HAS_CHILDREN)
    monkeypatch.setattr(host, "GRACE_SECONDS", 0.1)
    watch = host.Watch()
    assert not watch.lost_processes()
    subprocess.run(["sh", "-c", "sleep 100000 &"], check=True)
    assert "sleep 100000" in str(watch.leftovers())  # and ended by it
    host.wait_for_an_end([pid for pid, *_ in watch.lost_processes()], 60)
    assert not watch.lost_processes()


def test_the_tests_of_the_machine_are_there():
    """`make test-vm` is run seldom: names that it takes from elsewhere must not grow stale."""
    sys.path.insert(0, str(tiers.TESTS / "vm"))
    import guest

    built = (tiers.TESTS / "unit" / "meson.build").read_text()
    for words in guest.UNIT_TESTS:
        program, *file = words.split()
        name = "-".join([program.removeprefix("test-"), *file])
        assert f"['{name}'," in built, name
    for words in guest.PYTHON_TESTS:
        assert all((belljar.ROOT / word).exists() for word in words if word.startswith("tests/")), words


def item_of(arguments, needs, value):
    definitions = {name: [types.SimpleNamespace(argnames=tuple(more))] for name, more in needs.items()}
    case = item("who", value)
    case._fixtureinfo = types.SimpleNamespace(argnames=arguments, name2fixturedefs=definitions)
    return case


NEEDS = {"watch": ["who"], "who": ["callers"], "user": ["callers"], "canary": ["who"]}


@pytest.mark.parametrize(
    "arguments, kept",
    [(["user"], ["user"]), (["user", "watch"], ["user"]), (["who"], ["root", "user"]), (["user", "canary"], ["root", "user"])],
)
def test_a_case_that_acts_as_the_user_by_itself_runs_once(arguments, kept):
    name = "integration/test_x.py::test_y"
    cases = {value: item_of(arguments, NEEDS, value) for value in tiers.CALLERS}
    assert [value for value, case in cases.items() if not tiers.is_superfluous(case, name)] == kept
    if len(kept) == 1:
        assert tiers.is_quick(cases["user"], name)
