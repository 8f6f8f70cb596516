"""Whatever happens to Belljar, nothing stays: no process, control group, mount or file."""
import os
import re
import signal
import subprocess
import time

import pytest

import belljar
import host

BUSY = "import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        os.setsid()\n        while True: time.sleep(1)\nprint('up', flush=True)\ntime.sleep(100)"


def start_busy(who, code=BUSY, processes=7, timeout=120):
    """A run with a tree of processes, all of which are up."""
    p = who.start("run", "--profile", "open", "--timeout", timeout, "-c", code)
    deadline = time.monotonic() + belljar.HANG_SECONDS
    while time.monotonic() < deadline and p.poll() is None:
        below = host.descendants(p.pid)
        if len(below) >= processes:
            return p, below
        time.sleep(0.02)
    raise AssertionError(f"only {below} came up; {p.poll()}")


def finish(p):
    try:
        out, err = p.communicate(timeout=belljar.HANG_SECONDS)
    except subprocess.TimeoutExpired:
        end_tree(p)
        raise AssertionError(f"no end after {belljar.HANG_SECONDS} s: {p.args}") from None
    return p.returncode, out, err


def end_tree(p):
    """A run of ours that hangs, with what it started: the test failed, the machine is not to pay for it."""
    for pid in [p.pid, *host.descendants(p.pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    p.wait()


def nothing_left(watch, p):
    complaints = watch.leftovers(cgroup_owner=p.pid)
    assert not complaints, complaints


@pytest.fixture
def quiet(who):
    return host.Watch(private=[who.home / x for x in ("runtime", "tmp", "cache", "config")], uids=[belljar.USER_UID])


def test_killing_the_supervisor_ends_everything(who, quiet):
    p, _ = start_busy(who)
    p.kill()
    finish(p)
    nothing_left(quiet, p)


def test_killing_the_supervisor_at_any_moment(who, quiet):
    """Not only in the middle of a run: also while the zygote and the sandbox are being made."""
    for n in range(20):
        p = who.start("run", "--profile", "open", "-c", "import time; time.sleep(50)")
        time.sleep(n * 0.01)
        p.kill()
        finish(p)
        nothing_left(quiet, p)


def test_killing_the_supervisor_under_load(who, quiet):
    started = [who.start("run", "--profile", "open", "-l", "bash", "-c", "yes", "--timeout", "60") for _ in range(4)]
    for p in started:
        p.stdout.read(10)
    for p in started:
        p.kill()
    for p in started:
        p.stdout.close()
        p.stderr.close()
        p.wait()
        nothing_left(quiet, p)


def test_killing_the_zygote_is_reported_and_ends_everything(who, quiet):
    p, below = start_busy(who)
    zygotes = [pid for pid, (_, comm) in below.items() if host.processes()[pid][0] == p.pid]
    assert zygotes, below
    for pid in zygotes:
        if "zygote" in host.command_line(pid) or "zygote" in below[pid][1]:
            os.kill(pid, signal.SIGKILL)
    code, out, err = finish(p)
    assert code not in (0, 1), (code, out, err)
    nothing_left(quiet, p)


def inits(pid):
    """Every pid 1 below a process, the innermost last."""
    found = []
    for child in host.descendants(pid):
        words = re.search(r"NSpid:(.*)", host.read(f"/proc/{child}/status"))
        if words and words[1].split()[1:] and words[1].split()[-1] == "1":
            found.append((len(words[1].split()), child))
    return [child for _, child in sorted(found)]


def test_killing_the_init_of_a_sandbox_is_an_honest_answer(who, quiet):
    p, below = start_busy(who)
    assert inits(p.pid), below
    os.kill(inits(p.pid)[-1], signal.SIGKILL)
    code, out, err = finish(p)
    assert code not in (0,), (code, out, err)
    nothing_left(quiet, p)


def test_stopping_the_init_from_outside_does_not_stop_the_clock(who, quiet):
    p, _ = start_busy(who, timeout=6)
    os.kill(inits(p.pid)[-1], signal.SIGSTOP)
    code, out, err = finish(p)
    assert code == 124, (code, out, err)
    nothing_left(quiet, p)


def test_stopping_the_zygote_from_outside_does_not_stop_the_clock(who, quiet):
    p, below = start_busy(who, timeout=6)
    table = host.processes()
    zygotes = [pid for pid, (_, comm) in below.items() if table[pid][0] == p.pid and "zygote" in comm]
    assert len(zygotes) == 1, below
    os.kill(zygotes[0], signal.SIGSTOP)
    code, out, err = finish(p)
    assert code == 124, (code, out, err)
    nothing_left(quiet, p)


def test_nothing_is_left_after_each_status(who, quiet):
    for code, profile in (("print(1)", "open"), ("1/0", "open"), ("import subprocess", "strict"), ("import os; os.abort()", "open")):
        answer = who.run(code, profile=profile)
        assert not quiet.leftovers(cgroup_owner=answer.pid)


def test_the_state_directory_holds_nothing_unasked(who, quiet):
    who.run("print(1)")
    assert not list((who.home / "data").iterdir()) and not list((who.home / "cache").iterdir())


def test_a_reader_that_does_not_read_cannot_keep_the_program_alive(who, quiet):
    r, w = os.pipe()
    p = who.start("run", "--profile", "open", "-l", "bash", "-c", "exec -a bjyes yes", "--timeout", "4", stdout=w)
    os.close(w)
    is_up = lambda: any("yes" in comm for _, comm in host.descendants(p.pid).values())
    try:
        wait_until(is_up)
        wait_until(lambda: not is_up())
    finally:
        os.close(r)
        finish(p)
    nothing_left(quiet, p)


def wait_until(condition, seconds=belljar.HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
