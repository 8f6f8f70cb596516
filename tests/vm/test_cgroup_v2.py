"""cgroup v2 alone: limits, counters, delegation, and that no group is left. Runs in the test machine (run.py) as root."""
import os
import time
from pathlib import Path

import pytest

import belljar
import host

TOP = Path("/sys/fs/cgroup")
QUICK = {"BELLJAR_PRELOAD": ""}
FILL = "x = bytearray(400 << 20)\nprint('went on')"


def groups():
    """Those that are there now; os.walk() does not mind one that goes away while it looks."""
    return sorted(os.path.join(top, name) for top, names, _ in os.walk(TOP) for name in names if name.startswith("belljar-"))


def group_of(pid):
    """The group of a sandbox of this supervisor."""
    found = [path for path in TOP.rglob(f"belljar-{pid}-*/*") if path.is_dir() and path.name != "supervisor"]
    assert len(found) == 1, (found, groups())
    return found[0]


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come about; groups: {groups()}"
        time.sleep(0.05)


def start_asleep(who, *flags, **more):
    """A run that sleeps, once its program is up, and its group."""
    process = who.start("run", "--profile", "open", "--timeout", "300", *flags, "-c", "print('up', flush=True)\nimport time; time.sleep(250)", env=QUICK, **more)
    assert process.stdout.readline() == b"up\n", process.stderr.read()
    return process, group_of(process.pid)


def end(process):
    process.kill()
    process.communicate()


@pytest.fixture(autouse=True)
def no_group_is_left():
    yield
    wait_until(lambda: not groups())


@pytest.fixture
def root(callers):
    return callers["root"]


def test_this_machine_has_v2_alone():
    mounts = [line.split() for line in host.read("/proc/self/mounts").splitlines()]
    assert [m[2] for m in mounts if m[2].startswith("cgroup")] == ["cgroup2"]
    assert {"memory", "pids", "cpu"} <= set((TOP / "cgroup.controllers").read_text().split())


def test_doctor_says_v2(root):
    answer = root.call("doctor", "--json", env=QUICK, hang=300)
    layers = {row["name"]: row["present"] for row in answer.json["layers"]}
    assert layers["cgroup-v2"] is True, answer
    assert all(present for name, present in layers.items() if name != "cgroup-v1"), layers


def test_doctor_tells_a_user_without_delegation_what_is_missing(user):
    answer = user.call("doctor", "--json", env=QUICK, hang=300)
    layers = {row["name"]: row["present"] for row in answer.json["layers"]}
    assert not layers.get("cgroup-v2"), answer
    assert "Delegate" in answer.text, answer


def test_memory_is_counted_and_bounded(root):
    answer = root.run(FILL, "--memory", "128", env=QUICK)
    assert "cgroup-v2" in answer.json["layers"]
    assert (answer.status, answer.code) == ("memory_exceeded", 137), answer
    assert answer.json["usage"]["memory_peak_bytes"] <= 128 << 20
    assert "went on" not in answer.json["stdout"]


def test_the_peak_of_memory_is_the_kernels(root):
    answer = root.run("x = bytearray(60 << 20)\ndel x\nprint('done')", "--memory", "256", env=QUICK)
    assert answer.status == "success", answer
    assert 60 << 20 <= answer.json["usage"]["memory_peak_bytes"] <= 200 << 20, answer.json["usage"]


def test_memory_of_a_child_counts_and_ends_all(root):
    code = "import os\nif os.fork() == 0:\n    x = bytearray(400 << 20)\n    os._exit(0)\nos.wait()\nprint('went on')"
    answer = root.run(code, "--memory", "128", env=QUICK)
    assert answer.status == "memory_exceeded" and "went on" not in answer.json["stdout"], answer


def test_memory_of_files_counts(root):
    code = "f = open('/workspace/f', 'wb')\nfor i in range(200):\n    f.write(bytes(1 << 20))\nprint('went on')"
    answer = root.run(code, "--memory", "128", "--disk", "400", env={**QUICK, "BELLJAR_FILE_MB": "400"})
    assert answer.status == "memory_exceeded" and "went on" not in answer.json["stdout"], answer


def test_processes_are_bounded(root):
    code = (
        "import os, signal\nn = 0\ntry:\n    while n < 200:\n        if os.fork() == 0:\n            signal.pause()\n        n += 1\n"
        "except OSError as e:\n    print('stopped', e.errno, n)\nos._exit(0)"
    )
    answer = root.run(code, "--pids", "20", env=QUICK)
    words = answer.json["stdout"].split()
    assert words[:2] == ["stopped", "11"] and int(words[2]) <= 20, answer


def test_cpu_time_is_counted_with_children(root):
    code = "import os, time\nif os.fork() == 0:\n    while time.process_time() < 1: pass\n    os._exit(0)\nos.wait()"
    answer = root.run(code, env=QUICK)
    assert answer.json["usage"]["cpu_ms"] >= 1000, answer


def test_a_deadline_ends_everything(root):
    code = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor i in range(4): os.fork()\nprint('up', flush=True)\nsignal.pause()"
    answer = root.run(code, "--timeout", "4", env=QUICK)
    assert answer.status == "timeout" and "up" in answer.json["stdout"], answer


def test_limits_stand_in_the_group(root):
    process, group = start_asleep(root, "--memory", "192", "--pids", "33", "--cpus", "0.5")
    try:
        read = lambda name: (group / name).read_text().strip()
        assert read("memory.max") == str(192 << 20)
        assert int(read("pids.max")) >= 33
        assert read("cpu.max") == "50000 100000"
        assert read("memory.oom.group") == "1"
        swap = group.parent / "memory.swap.max"
        assert not swap.exists() or swap.read_text().strip() == "0"
        assert len(read("cgroup.procs").split()) >= 2
    finally:
        end(process)


def test_the_sandbox_does_not_see_its_group(root):
    code = "print(open('/proc/self/cgroup').read()); import os; print(os.path.exists('/sys/fs/cgroup'))"
    answer = root.run(code, env=QUICK)
    assert answer.json["stdout"].split() == ["0::/", "False"], answer


def test_a_killed_supervisor_leaves_nothing(root):
    process, group = start_asleep(root)
    pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    end(process)
    wait_until(lambda: not groups())
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


def test_a_user_without_delegation_still_runs_with_rlimits(user):
    answer = user.run("print(1)", env=QUICK)
    assert answer.status == "success", answer
    assert "rlimits" in answer.json["layers"] and "cgroup-v2" not in answer.json["layers"], answer
    answer = user.run(FILL, "--memory", "128", env=QUICK)
    assert answer.status == "memory_exceeded" and "went on" not in answer.json["stdout"], answer


# --- a part of the tree given to an ordinary user, as systemd's Delegate= does it ---


@pytest.fixture
def delegated(user):
    group = TOP / "delegated"
    (TOP / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    group.mkdir()
    for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
        os.chown(group / name, user.uid, user.gid)
    yield group
    wait_until(lambda: not groups())
    for inner in [path for path in group.rglob("*") if path.is_dir()][::-1]:
        inner.rmdir()
    group.rmdir()


def enter(user, group):
    """Starts belljar in a group: root moves the shell there before it becomes the user."""
    script = 'echo $$ >"$1/cgroup.procs" && shift && exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"'
    return ["/bin/sh", "-c", script, str(user.uid), str(group)]


@pytest.fixture
def starter(user):
    """The user, started by root through a wrapper that gives the rights up itself."""

    other = belljar.Who.__new__(belljar.Who)
    other.__dict__.update(user.__dict__)
    other.identity = lambda: {}
    return other


def test_a_user_with_delegation_has_v2(starter, delegated):
    answer = starter.run(FILL, "--memory", "128", env=QUICK, wrapper=enter(starter, delegated))
    assert "cgroup-v2" in answer.json["layers"], answer
    assert answer.status == "memory_exceeded" and answer.json["usage"]["memory_peak_bytes"] <= 128 << 20, answer
    assert (delegated / "cgroup.subtree_control").read_text().strip() == "", "what was enabled was not taken back"


def test_a_delegated_group_with_room_beside_us(starter, delegated):
    (delegated / "cgroup.subtree_control").write_text("+memory +pids")
    (delegated / "shell").mkdir()
    os.chown(delegated / "shell" / "cgroup.procs", starter.uid, starter.gid)
    answer = starter.run("print(1)", env=QUICK, wrapper=enter(starter, delegated / "shell"))
    assert answer.status == "success" and "cgroup-v2" in answer.json["layers"], answer


def test_a_killed_supervisor_with_delegation_leaves_nothing(starter, delegated):
    process, group = start_asleep(starter, wrapper=enter(starter, delegated))
    assert str(group).startswith(str(delegated))
    end(process)
    wait_until(lambda: not groups())
    # The janitor went with its supervisor's leaf.
    wait_until(lambda: not (delegated / "cgroup.procs").read_text().strip())
