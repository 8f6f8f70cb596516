#!/usr/bin/python3
"""run.py [--only WORD] BUILD: tests of belljar-machine with machines of QEMU, whose instructions are translated (no KVM).

The first machine serves most of them. The last line is "N passed, N failed". Without QEMU or a kernel they are skipped, and it
says why.
"""
import argparse
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import machines
from machines import call, receive, run, send, until

WALLS = {"user-namespace", "mount-namespace", "pid-namespace", "network-namespace", "private-root", "no-capabilities", "landlock",
         "seccomp", "cgroup-v2"}  # fmt: skip

# Its standard input is the request for a machine; it is killed.
STARTER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import machines
from pathlib import Path
machine = machines.Machine(Path(sys.argv[2]))
print(machine.process.pid, machine.files.name, flush=True)
time.sleep(600)
"""


# --- one machine for all of these ---


def test_the_engine_answers(machine):
    status, answer = call(machine, "GET", "/health")
    assert status == 200 and answer["status"] == "healthy", answer


def test_a_program_runs_within_all_walls(machine):
    answer = run(machine, "print(6 * 7)")
    assert answer["stdout"] == "42\n" and answer["status"] == "success", answer
    assert not WALLS - set(answer["layers"]), answer["layers"]


def test_bash_runs(machine):
    answer = run(machine, "echo $((6 * 7)); uname -r", language="bash")
    assert answer["stdout"].split("\n")[0] == "42", answer
    assert answer["stdout"].split("\n")[1] in os.listdir("/lib/modules"), answer


def test_a_client_that_comes_at_once_after_another_gets_its_own_answer(machine):
    for _ in range(5):
        first = machine.connect()
        send(first, "POST", "/v1/run", {"code": "import time\nprint('of the first')\ntime.sleep(60)"})
        first.close()
        status, answer = call(machine, "GET", "/health")
        assert status == 200 and answer["status"] == "healthy", answer


def test_a_run_ends_with_its_client(machine):
    # The sandbox has no room for a second one that waits: it would be there when the first has not ended.
    connection = machine.connect()
    send(connection, "POST", "/v1/run", {"code": "import time\ntime.sleep(300)", "timeout_s": 300})
    assert until(lambda: active(machine) == 1), "it never began"
    connection.close()
    assert until(lambda: active(machine) == 0, 60), "it goes on"


def active(machine):
    status, text = call(machine, "GET", "/metrics")
    assert status == 200, text
    for line in text.decode().splitlines():
        if line.startswith("belljar_runs_running "):
            return int(float(line.split()[1]))
    raise AssertionError(text.decode())


def test_many_connections_at_once(machine):
    connections = [machine.connect() for _ in range(60)]
    for connection in connections:
        send(connection, "GET", "/health")
    for connection in connections:
        status, _ = receive(connection)
        assert status == 200, status


def test_much_output_arrives_and_a_slow_reader_holds_nobody(machine):
    slow = machine.connect()
    send(slow, "POST", "/v1/run", {"code": "print('x' * 1000000)", "output_bytes": 2000000})
    time.sleep(0.2)
    assert run(machine, "print(1)")["stdout"] == "1\n"
    status, body = receive(slow)
    assert status == 200 and b"x" * 1000000 in body, (status, len(body))


def test_the_machine_sees_nothing_of_the_host_but_its_shares(machine):
    secret = Path(machine.files.name) / "secret"
    secret.write_text("of the host")
    code = "\n".join(
        ["import os, json", f"print(json.dumps([os.path.exists('{secret}'), os.listdir('/sys/class/net')"
         " if os.path.exists('/sys/class/net') else []]))"]
    )  # fmt: skip
    assert run(machine, code, profile="open")["stdout"].startswith("[false"), code
    qemu = machine.qemu()
    root = Path(f"/proc/{qemu}/root")
    assert sorted(os.listdir(root)) == [
        "bin", "dev", "initramfs", "kernel", "lib", "lib32", "lib64", "proc", "run", "sbin", "share", "tmp", "usr",
    ]  # fmt: skip
    assert sorted(os.listdir(root / "dev")) == ["null", "urandom", "zero"]
    for line in Path(f"/proc/{qemu}/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4].startswith(("/usr", "/share", "/kernel")):
            assert "ro" in fields[5].split(","), line


def test_what_stands_around_qemu(machine):
    qemu = machine.qemu()
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{qemu}/status").read_text().splitlines() if ":\t" in line)
    assert "0" not in status["Uid"].split(), status["Uid"]
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 0, status
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
    for kind in ("user", "mnt", "pid", "net", "ipc"):
        assert os.readlink(f"/proc/{qemu}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
    devices = [line.split(":")[0].strip() for line in Path(f"/proc/{qemu}/net/dev").read_text().splitlines()[2:]]
    assert devices == ["lo"], devices
    arguments = Path(f"/proc/{qemu}/cmdline").read_bytes().decode().split("\0")
    assert arguments[arguments.index("-nic") + 1] == "none"
    for name, pids in by_name(machine).items():
        for pid in pids:
            uids = Path(f"/proc/{pid}/status").read_text().split("Uid:\t")[1].split("\n")[0].split()
            assert "0" not in uids, (name, uids)


def by_name(machine):
    found = {}
    for pid, name in machine.processes().items():
        found.setdefault(name, []).append(pid)
    return found


def test_the_console_is_quiet(machine):
    lines = machine.console.read_text(errors="replace").splitlines()
    # A microvm has no PCI bus, and says so as if it were a mistake.
    bad = [line for line in lines if line.startswith("[") and "No config space access" not in line]
    bad += [line for line in lines if line.startswith("machine: ") and line != "machine: ready"]
    assert not bad, bad


def test_qemu_is_killed_in_a_run(machine):
    """Last of this machine: the run's connection ends, and so does everything else, with a reason."""
    connection = machine.connect()
    send(connection, "POST", "/v1/run", {"code": "import time\ntime.sleep(300)", "timeout_s": 300})
    assert until(lambda: active(machine) == 1), "it never began"
    everything = list(machine.processes())
    os.kill(machine.qemu(), signal.SIGKILL)
    try:
        assert receive(connection) == (0, b"")
    except ConnectionError:
        pass
    packet = machine.packet()
    assert packet.startswith(b"fthe virtual machine has ended"), packet
    assert machine.process.wait(20) == 1
    assert until(lambda: not any(map(machines.is_there, everything))), machine.processes()


SHARED = [
    test_the_engine_answers, test_a_program_runs_within_all_walls, test_bash_runs,
    test_a_client_that_comes_at_once_after_another_gets_its_own_answer, test_a_run_ends_with_its_client,
    test_many_connections_at_once, test_much_output_arrives_and_a_slow_reader_holds_nobody,
    test_the_machine_sees_nothing_of_the_host_but_its_shares, test_what_stands_around_qemu, test_the_console_is_quiet,
    test_qemu_is_killed_in_a_run,
]  # fmt: skip


# --- machines of their own ---


def test_whoever_started_it_is_killed(build):
    mounts = Path("/proc/self/mountinfo").read_text()
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, Path(machines.__file__).parent, build], stdout=subprocess.PIPE, text=True
    )
    pid, files = starter.stdout.readline().split()
    everything = []
    try:
        assert until(lambda: any(machines.name_of(p).startswith("qemu") for p in machines.descendants(int(pid))))
        everything = machines.descendants(int(pid))
    finally:
        starter.kill()
        starter.wait()
        starter.stdout.close()
        subprocess.run(["rm", "-r", files], check=True)
    assert len(everything) > 4, everything
    assert until(lambda: not any(map(machines.is_there, everything))), everything
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_a_command_that_ends_is_told(build):
    with machines.Machine(build, ["/usr/bin/false"]) as machine:
        packet = machine.packet()
    assert packet.startswith(b"f") and b"/usr/bin/false ended with exit status 1" in packet, packet


ALONE = [test_whoever_started_it_is_killed, test_a_command_that_ends_is_told]


def attempt(test, argument, failed):
    began = time.monotonic()
    try:
        test(argument)
    except Exception:  # noqa: the next one may still pass
        traceback.print_exc(file=sys.stdout)
        failed.append(test.__name__)
    word = "FAILED" if test.__name__ in failed else "passed"
    print(f"{test.__name__}: {word}, {time.monotonic() - began:.1f} s", flush=True)


def boot(machine):
    packet = machine.packet()
    assert packet == b"r", packet


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="tests whose name has this word")
    parser.add_argument("build", nargs="?", default="build")
    arguments = parser.parse_args()
    build = (Path.cwd() / arguments.build).resolve()
    reason = machines.missing(build)
    if reason:
        print(f"skipped: {reason}")
        return 77
    wanted = lambda tests: [test for test in tests if not arguments.only or arguments.only in test.__name__]  # noqa: E731
    failed = []
    if wanted(SHARED):
        with machines.Machine(build) as machine:
            attempt(boot, machine, failed)
            for test in wanted(SHARED) if not failed else []:
                attempt(test, machine, failed)
            if failed:
                print(machine.console.read_text(errors="replace")[-4000:])
    for test in wanted(ALONE):
        attempt(test, build, failed)
    total = len(wanted(SHARED)) + bool(wanted(SHARED)) + len(wanted(ALONE))
    print(f"{total - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
