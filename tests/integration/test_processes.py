"""The processes of a run as the host sees them: who they are, what they hold, what they could tell."""
import os
import re
import socket
import time

import pytest

import belljar
import host

pytestmark = pytest.mark.usefixtures("watch")


@pytest.fixture
def alive(who):
    """A run that sleeps, and its processes: {pid: status file}. The supervisor itself is not among them."""
    p = who.start("run", "--profile", "open", "--timeout", "60", "-c", "import os, time\nos.fork()\ntime.sleep(50)")
    try:
        deadline = time.monotonic() + belljar.HANG_SECONDS
        while len(inside(p.pid)) < 3:
            assert time.monotonic() < deadline and p.poll() is None, p.communicate()
            time.sleep(0.02)
        yield p, {pid: host.read(f"/proc/{pid}/status") for pid in host.descendants(p.pid)}
    finally:
        p.kill()
        p.communicate()


def field(status, name):
    found = re.search(rf"^{name}:\s*(.*)$", status, re.M)
    return found[1].split() if found else []


def inside(pid):
    """Those in a pid namespace below the zygote's: pid 1 of the sandbox and everything after it."""
    depth = {child: len(field(host.read(f"/proc/{child}/status"), "NSpid")) for child in host.descendants(pid)}
    deepest = max(depth.values(), default=1)
    return [child for child, d in depth.items() if d == deepest and d >= 3]


def test_no_process_of_a_sandbox_is_root_on_the_host(who, alive):
    p, statuses = alive
    for pid in inside(p.pid):
        ids = field(statuses[pid], "Uid") + field(statuses[pid], "Gid")
        assert "0" not in ids, (pid, ids)
        assert "0" not in field(statuses[pid], "Groups"), pid
        for name in ("uid_map", "gid_map"):
            for line in host.read(f"/proc/{pid}/{name}").splitlines():
                assert int(line.split()[1]) != 0, (name, line)


def test_every_process_of_a_sandbox_is_confined(alive):
    p, statuses = alive
    for pid in inside(p.pid):
        status = statuses[pid]
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(field(status, name)[0], 16) == 0, (pid, name)
        assert field(status, "NoNewPrivs") == ["1"] and field(status, "Seccomp") == ["2"], pid


def test_every_namespace_is_its_own(alive):
    p, _ = alive
    for pid in inside(p.pid):
        for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
            assert os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"), (pid, name)


def test_the_environment_of_the_caller_is_in_no_process_below(who, alive):
    p, statuses = alive
    zygotes = [pid for pid in statuses if "zygote" in host.processes()[pid][2]]
    assert zygotes
    for pid in zygotes:
        found = host.read(f"/proc/{pid}/environ")
        assert belljar.SECRET not in found and str(who.home) not in found, pid
        assert set(re.findall(r"XDG_[^\0]*", found)) <= {"XDG_CACHE_HOME=/tmp/.cache"}, pid  # Belljar's own


def test_a_sandbox_holds_nothing_but_its_pipes_and_its_channel(alive):
    p, _ = alive
    for pid in inside(p.pid):
        kinds = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) > 2]
        assert len(kinds) <= 2, (pid, kinds)
        is_init = host.read(f"/proc/{pid}/status").split("NSpid:")[1].splitlines()[0].split()[-1] == "1"
        for kind in kinds:  # pid 1 has its socket and its own score, the program the pipe of its kernel
            assert kind.startswith(("socket:", "pipe:")) or (is_init and kind.endswith("/oom_score_adj")), (pid, kind)


def test_a_sandbox_is_in_the_control_group_made_for_it(callers):
    if "root" not in callers:
        pytest.skip("needs root, which has control groups")
    root = callers["root"]
    layers = root.run("1").json["layers"]
    if not {"cgroup-v1", "cgroup-v2"} & set(layers):
        pytest.skip("this host has no usable control groups, also for root")
    p = root.start("run", "--profile", "open", "--timeout", "60", "-c", "import time; time.sleep(50)")
    try:
        deadline = time.monotonic() + belljar.HANG_SECONDS
        while len(inside(p.pid)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for pid in inside(p.pid):
            assert "belljar" in host.read(f"/proc/{pid}/cgroup"), host.read(f"/proc/{pid}/cgroup")
    finally:
        p.kill()
        p.communicate()


def test_a_listener_inside_is_not_reachable_from_outside(who):
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    code = f"import socket, time\ns = socket.socket()\ns.bind(('0.0.0.0', {port}))\ns.listen()\nprint('listening', flush=True)\ntime.sleep(50)"
    p = who.start("run", "--profile", "open", "--timeout", "60", "-c", code)
    try:
        assert p.stdout.readline() == b"listening\n"
        for address in ("127.0.0.1", "0.0.0.0"):
            with socket.socket() as s:
                s.settimeout(1)
                assert s.connect_ex((address, port)) != 0, address
    finally:
        p.kill()
        p.communicate()
