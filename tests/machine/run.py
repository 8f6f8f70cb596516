#!/usr/bin/python3
"""run.py [--only WORD] BUILD: tests of belljar-machine with machines of QEMU, whose instructions are translated (no KVM).

The first machine serves most of them. The last line is "N passed, N failed". Without QEMU or a kernel they are skipped, and it
says why.
"""
import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import machines
import sessions
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


def own_mounts():
    """Without network namespaces, which others on this host come and go with."""
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - nsfs " not in line]


def test_whoever_started_it_is_killed(build):
    mounts = own_mounts()
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
    assert own_mounts() == mounts


def test_a_command_that_ends_is_told(build):
    with machines.Machine(build, ["/usr/bin/false"]) as machine:
        packet = machine.packet()
    assert packet.startswith(b"f") and b"/usr/bin/false ended with exit status 1" in packet, packet


# --- one server for all of these ---


def test_a_server_runs_programs_in_its_machine(server):
    answer = run(server, "import os\nprint(6 * 7)")
    assert answer["stdout"] == "42\n" and answer["status"] == "success", answer
    assert answer["isolation"] == "emulator" and "machine" in answer["layers"], answer
    kernel = run(server, "uname -r", language="bash")["stdout"].strip()
    assert kernel in os.listdir("/lib/modules") and kernel != os.uname().release, kernel


def test_a_profile_that_requires_a_machine_runs_there(server):
    answer = run(server, "print(1)", profile="sealed")
    assert answer["status"] == "success" and "machine" in answer["layers"], answer


def test_a_server_asks_for_tokens(server):
    connection = server.connect()
    send(connection, "POST", "/v1/run", {"code": "print(1)"}, "wrong")
    status, _ = receive(connection)
    assert status == 401, status


def test_everything_of_a_request_gets_there(server):
    answer = run(
        server,
        "import os, sys\nprint(os.environ['COLOR'], sys.argv[1], input(), open('in.txt').read())\n"
        "open('out.txt', 'w').write('made')\nsys.stderr.write('err')\nresult = {'a': [1, 2]}",
        env={"COLOR": "rot"}, args=["one"], stdin="typed\n", files=[{"path": "in.txt", "content": "given"}],
        collect=["*.txt"], seed=7, memory_mb=300,
    )  # fmt: skip
    assert answer["stdout"] == "rot one typed given\n" and answer["stderr"] == "err", answer
    assert answer["result"]["json"] == {"a": [1, 2]}, answer
    assert {file["path"]: file["content"] for file in answer["collected"]} == {"in.txt": "given", "out.txt": "made"}, answer
    assert [file["path"] for file in answer["files"]] == ["out.txt"], answer
    assert answer["deterministic"]["seed"] == 7 and answer["deterministic"]["fingerprint"], answer


def test_failures_are_told_as_elsewhere(server):
    assert run(server, "1 / 0")["error"]["name"] == "ZeroDivisionError"
    assert run(server, "import ctypes")["status"] == "refused"
    late = run(server, "while True: pass", timeout_s=1)
    assert late["status"] == "timeout" and late["exit_code"] == 124, late
    assert run(server, "import os\nos._exit(3)", profile="open")["exit_code"] == 3


def test_long_output_has_its_middle_cut_out(server):
    answer = run(server, "print('a' * 5000 + 'b' * 5000 + 'c' * 5000)", output_bytes=6000)
    text = answer["stdout"]
    assert answer["truncated"]["stdout"] and text.startswith("a" * 3000) and text.endswith("c" * 2999 + "\n"), text
    assert "bytes dropped" in text and "b" * 10 not in text and len(text) < 6100, text


def test_output_is_masked_and_counted(server):
    answer = run(server, "print('key: ' + 'AKIA' + 'IOSFODNN7' + 'EXAMPLA')")
    assert "AKIA" not in answer["stdout"] and answer["masked"]["count"] >= 1 and answer["masked"]["kinds"], answer
    # A secret of this server.
    answer = run(server, f"raise ValueError({server.token[:20]!r} + {server.token[20:]!r})")
    assert server.token not in str(answer), answer


def test_the_trail_is_the_servers(server):
    answer = run(server, "print('for the trail')")
    records = [record for record in server.trail() if answer["id"] in str(record)]
    assert len(records) == 2, records
    assert "for the trail" in str(records[0]) and "machine" in str(records[1]["layers"]), records


def test_what_a_machine_cannot_give_is_refused_by_name(server):
    for path, body, word in (
        ("/v1/run", {"code": "print(1)", "allow": ["/usr/share:ro"], "profile": "open"}, "allow"),
        ("/v1/run", {"code": "print(1)", "net": ["example.org"], "profile": "open"}, "net"),
    ):
        status, answer = call(server, "POST", path, body)
        assert status in (403, 501) and word in answer["error"]["message"], (status, answer)


def test_a_granted_directory_is_read(server):
    code = f"""
import os
print(open("text").read(), os.getcwd(), sorted(os.listdir("{server.granted}")))
for name in ("new", "text"):
    try:
        open(name, "w")
    except OSError as error:
        print(error.strerror)
"""
    answer = run(server, code, allow=[f"{server.granted}:ro"])
    lines = answer["stdout"].splitlines()
    assert lines[0] == f"of the host {server.granted} ['.config', 'private', 'text']", answer
    assert lines[1:] == ["Read-only file system"] * 2, answer
    assert (server.granted / "text").read_text() == "of the host"
    answer = run(server, "import os\nprint(os.getcwd())", allow=[f"{server.granted}:ro"], workdir="/workspace")
    assert answer["stdout"] == "/workspace\n", answer
    answer = run(server, f"import os\nprint(os.path.exists('{server.granted}'))", allow=[])
    assert answer["stdout"] == "False\n", answer


def test_a_granted_directory_is_read_with_its_owners_rights(server):
    code = """
import os
print(open("private").read(), os.stat("private").st_uid == os.geteuid(), oct(os.stat("private").st_mode & 0o777))
"""
    answer = run(server, code, allow=[f"{server.granted}:ro"])
    assert answer["stdout"] == "of its owner True 0o600\n", answer


def test_what_changes_in_a_granted_directory_is_seen(server):
    read = lambda: run(server, "print(open('later').read())", allow=[f"{server.granted}:ro"])["stdout"]  # noqa: E731
    assert read() == ""
    (server.granted / "later").write_text("came later")
    assert until(lambda: read() == "came later\n", 30)


def test_belljars_own_places_are_not_in_a_granted_directory(server):
    answer = run(server, "import os\nprint(os.listdir('.config/belljar'))", allow=[f"{server.granted}:ro"])
    assert answer["stdout"] == "[]\n", answer
    # Nor for whoever is root in the guest: QEMU and virtiofsd do not have them.
    for pid in machines.descendants(server.process.pid):
        shares = Path(f"/proc/{pid}/root/share/granted")
        if machines.name_of(pid).startswith("qemu"):
            assert [os.listdir(place / ".config" / "belljar") for place in shares.glob("*/") if (place / "text").exists()] == [[]]


def test_every_granted_directory_is_read_only_around_qemu(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    mounts = [line.split() for line in Path(f"/proc/{server.qemu()}/mountinfo").read_text().splitlines()]
    granted = [fields for fields in mounts if fields[4].startswith("/share/granted")]
    assert len(granted) == 4, granted
    for fields in granted:
        assert {"ro", "nosuid", "nodev"} <= set(fields[5].split(",")), fields


def test_qemu_and_virtiofsd_have_limits(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    kinds = json.loads(subprocess.run([server.build / "belljar", "doctor", "--json"], capture_output=True, text=True).stdout)["cgroup"]
    if kinds["kind"] == "none":
        return
    for pid in machines.descendants(server.find("belljar-machine")):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if "memory" in names.split(",") or (not names and kinds["kind"] == "v2"):
                group = Path("/sys/fs/cgroup", names).joinpath(path.lstrip("/"))
                assert group.name.startswith("machine-"), (pid, line)
                limit = group / ("memory.limit_in_bytes" if names else "memory.max")
                assert int(limit.read_text()) == (2048 + 1536) << 20, limit.read_text()


def test_a_place_of_belljars_own_that_is_new_is_not_shown(server):
    place = server.replaced / ".config" / "belljar"
    assert run(server, "print(1)", allow=[f"{server.replaced}:ro"])["stdout"] == "1\n"
    place.mkdir(parents=True)
    status, answer = call(server, "POST", "/v1/run", {"code": "print(1)", "allow": [f"{server.replaced}:ro"]})
    assert status == 501 and "Belljar's own" in answer["error"]["message"], (status, answer)
    place.rmdir()


def test_a_directory_in_the_place_of_a_granted_one_is_refused(server):
    server.replaced.rename(server.state / "moved")
    server.replaced.mkdir()
    (server.replaced / "text").write_text("another")
    status, answer = call(server, "POST", "/v1/run", {"code": "print(1)", "allow": [f"{server.replaced}:ro"]})
    assert status == 501 and str(server.replaced) in answer["error"]["message"], (status, answer)
    assert server.machine("stop").returncode == 0
    assert run(server, "print(open('text').read())", allow=[f"{server.replaced}:ro"])["stdout"] == "another\n"


def test_directories_that_programs_may_change_are_refused_by_name(server):
    settings = server.settings.read_text()
    server.settings.write_text(settings.replace(f'"{server.granted}"', f'"{server.granted}:rw"'))
    os.kill(server.process.pid, signal.SIGHUP)
    body = {"code": "open('new', 'w')", "allow": [f"{server.granted}:rw"]}
    status, answer = until(lambda: (told := call(server, "POST", "/v1/run", body))[0] != 403 and told)
    assert status == 501 and ":rw" in answer["error"]["message"], (status, answer)
    body["allow"] = [f"{server.granted}:cow"]
    status, answer = call(server, "POST", "/v1/run", body)
    assert status >= 400, (status, answer)
    assert not (server.granted / "new").exists()
    server.settings.write_text(settings)
    os.kill(server.process.pid, signal.SIGHUP)
    assert until(lambda: call(server, "POST", "/v1/run", body)[0] == 403)


def test_an_operator_sees_and_stops_the_machine(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    before = json.loads(server.machine("status", "--json").stdout)
    assert before["state"] == "up" and before["kind"] == "tcg" and before["server_pid"] == server.process.pid, before
    assert before["qemu_pid"] == server.qemu() and before["resident_bytes"] > 1 << 20 and before["requests"] > 0, before
    assert "up for" in server.machine("status").stdout
    log = server.machine("log").stdout
    assert "machine: ready" in log and all(c in "\n\t" or " " <= c <= "~" for c in log), log
    assert server.machine("stop").returncode == 0
    assert until(lambda: not machines.is_there(before["qemu_pid"]))
    assert json.loads(server.machine("status", "--json").stdout)["state"] == "stopped"
    assert server.machine("stop").returncode == 1
    assert "machine: ready" in server.machine("log").stdout, "the log of a machine that has ended is lost"
    assert run(server, "print('again')")["stdout"] == "again\n"
    after = json.loads(server.machine("status", "--json").stdout)
    assert after["starts"] == before["starts"] + 1 and after["qemu_pid"] != before["qemu_pid"], after


def test_only_operators_see_the_machine(server):
    status, answer = call(server, "POST", "/v1/tokens", {"name": "guest"})
    assert status == 201, answer
    token = answer["token"]
    for method, path in (("GET", "/v1/machine"), ("GET", "/v1/machine/log"), ("POST", "/v1/machine/stop")):
        connection = server.connect()
        send(connection, method, path, None, token)
        status, body = receive(connection)
        assert status == 403, (path, status, body)


def test_many_runs_at_once_get_their_own_answers(server):
    connections = [server.connect() for _ in range(8)]
    for number, connection in enumerate(connections):
        send(connection, "POST", "/v1/run", {"code": f"print({number} * 1001)"}, server.token)
    for number, connection in enumerate(connections):
        status, body = receive(connection)
        assert status == 200 and f'"stdout":"{number * 1001}\\n"'.encode() in body, (number, body)


def test_qemu_is_killed_in_a_run_of_a_server(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    connection = server.connect()
    send(connection, "POST", "/v1/run", {"code": "import time\ntime.sleep(300)", "timeout_s": 300}, server.token)
    assert until(lambda: "belljar_runs_running 1" in call(server, "GET", "/metrics")[1].decode())
    first = server.qemu()
    os.kill(first, signal.SIGKILL)
    status, body = receive(connection)
    assert status == 500 and b"virtual machine" in body and b"hint" in body, (status, body)
    assert run(server, "print('again')")["stdout"] == "again\n"
    assert server.qemu() not in (None, first)


def kill_in_a_run(server, pid):
    """The answer to a run in which a process of the host is killed."""
    connection = server.connect()
    send(connection, "POST", "/v1/run", {"code": "import time\ntime.sleep(300)", "timeout_s": 300}, server.token)
    assert until(lambda: "belljar_runs_running 1" in call(server, "GET", "/metrics")[1].decode())
    os.kill(pid, signal.SIGKILL)
    return receive(connection)


def test_virtiofsd_is_killed_in_a_run(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    everything = machines.descendants(server.find("belljar-machine"))
    status, body = kill_in_a_run(server, server.find("virtiofsd"))
    assert status == 500 and b"virtual machine" in body, (status, body)
    failure = json.loads(server.machine("status", "--json").stdout)["last_failure"]
    assert failure["message"].startswith("virtiofsd has ended"), failure
    assert until(lambda: not any(map(machines.is_there, everything))), everything
    assert run(server, "print('again')")["stdout"] == "again\n"


def test_belljar_machine_is_killed_in_a_run(server):
    assert run(server, "print(1)")["stdout"] == "1\n"
    everything = machines.descendants(server.find("belljar-machine"))
    status, body = kill_in_a_run(server, everything[1])
    assert status == 500 and b"virtual machine" in body, (status, body)
    assert until(lambda: not any(map(machines.is_there, everything))), everything
    assert run(server, "print('again')")["stdout"] == "again\n"


def test_the_listener_is_killed(server):
    """The machine goes on, or ends with its server: nothing of it is left without one."""
    assert run(server, "print(1)")["stdout"] == "1\n"
    everything = machines.descendants(server.find("belljar-machine"))
    listener = server.find("belljar-listener")
    os.kill(listener, signal.SIGKILL)
    assert until(lambda: not machines.is_there(listener))
    try:
        ended = server.process.wait(3) is not None
    except subprocess.TimeoutExpired:
        ended = False
    if ended:
        assert until(lambda: not any(map(machines.is_there, everything))), everything
    else:
        assert all(map(machines.is_there, everything)), everything


def test_a_server_is_killed(server):
    """Last of this server."""
    everything = machines.descendants(server.process.pid)
    groups, mounts, files = machines.cgroups(everything), own_mounts(), set(server.state.rglob("*"))
    server.process.kill()
    server.process.wait()
    assert until(lambda: not any(map(machines.is_there, everything))), everything
    assert until(lambda: not any(map(machines.is_cgroup, groups))), groups
    assert own_mounts() == mounts
    assert not set(server.state.rglob("*")) - files, "files are left"
    assert not [line for line in mounts if "/share/" in line], mounts


# --- servers of their own ---


def test_a_machine_that_cannot_start_refuses_runs_until_it_can(build):
    # The guest has 2 GB, and QEMU may not have as much.
    with machines.Server(build, memory=2 << 30) as server:
        status, answer = call(server, "POST", "/v1/run", {"code": "print(1)"})
        assert status == 501 and answer["error"]["code"] == "unsupported", (status, answer)
        assert "does not start" in answer["error"]["message"] and answer["error"]["hint"], answer
        told = json.loads(server.machine("status", "--json").stdout)
        assert told["state"] == "stopped" and told["last_failure"]["message"] and told["starts"] >= 1, told
        # Not again for each run.
        for _ in range(20):
            assert call(server, "POST", "/v1/run", {"code": "print(1)"})[0] == 501
        assert json.loads(server.machine("status", "--json").stdout)["starts"] <= told["starts"] + 2
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        server.machine("stop")  # nothing runs; the next attempt may be made at once
        answer = run(server, "print(1)", profile="sealed")
        assert answer["stdout"] == "1\n" and "machine" in answer["layers"], answer


def test_a_server_of_an_ordinary_user(build):
    if os.geteuid() != 0:
        return
    with machines.Server(build, uid=54321) as server:
        answer = run(server, "print(open('text').read())\nopen('new', 'w')", allow=[f"{server.granted}:ro"])
        assert answer["stdout"] == "of the host\n" and "Read-only" in answer["stderr"] + str(answer["error"]), answer
        test_a_granted_directory_is_read_with_its_owners_rights(server)
        answer = run(server, "import os\nprint(os.listdir('.config/belljar'))", allow=[f"{server.granted}:ro"])
        assert answer["stdout"] == "[]\n", answer
        uids = {Path(f"/proc/{pid}/status").read_text().split("Uid:\t")[1].split()[0] for pid in machines.descendants(server.process.pid)}
        assert uids == {"54321"}, uids


def test_an_operator_proves_that_machines_work(build):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
        settings.write("preload = []\n")
        settings.flush()
        done = subprocess.run([build / "belljar", "machine", "build", "--machine", "tcg", "--json", "--config", settings.name],
                              capture_output=True, text=True, timeout=machines.BOOT_SECONDS * 2)  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    told = json.loads(done.stdout)
    assert told["kind"] == "tcg" and told["boot_s"] > 0 and told["kernel"] in os.listdir("/lib/modules"), told
    assert not WALLS - set(told["layers"]), told


def test_a_guest_engine_that_is_killed_ends_its_machine(build):
    script = (f"{build}/belljar serve --no-auth --config /etc/config.toml & until [ -S /run/belljar.sock ]; do sleep 0.1; done;"
              " sleep 5; kill -9 $!; wait $!")  # fmt: skip
    with machines.Machine(build, ["/usr/bin/bash", "-c", script]) as machine:
        boot(machine)
        connection = machine.connect()
        send(connection, "POST", "/v1/run", {"code": "import time\ntime.sleep(300)", "timeout_s": 300})
        everything = list(machine.processes())
        packet = machine.packet()
        assert packet.startswith(b"f") and b"ended with exit status 137" in packet, packet
        assert until(lambda: not any(map(machines.is_there, everything))), everything


SERVER = [
    test_a_server_runs_programs_in_its_machine, test_a_profile_that_requires_a_machine_runs_there, test_a_server_asks_for_tokens,
    test_everything_of_a_request_gets_there, test_failures_are_told_as_elsewhere, test_long_output_has_its_middle_cut_out,
    test_output_is_masked_and_counted, test_the_trail_is_the_servers, test_what_a_machine_cannot_give_is_refused_by_name,
    test_a_granted_directory_is_read, test_a_granted_directory_is_read_with_its_owners_rights, test_what_changes_in_a_granted_directory_is_seen,
    test_belljars_own_places_are_not_in_a_granted_directory, test_every_granted_directory_is_read_only_around_qemu,
    test_qemu_and_virtiofsd_have_limits, test_a_place_of_belljars_own_that_is_new_is_not_shown, test_a_directory_in_the_place_of_a_granted_one_is_refused,
    test_an_operator_sees_and_stops_the_machine, test_only_operators_see_the_machine,
    test_directories_that_programs_may_change_are_refused_by_name, test_many_runs_at_once_get_their_own_answers,
    *sessions.TESTS, test_qemu_is_killed_in_a_run_of_a_server, test_virtiofsd_is_killed_in_a_run, test_belljar_machine_is_killed_in_a_run,
    test_the_listener_is_killed, test_a_server_is_killed,
]  # fmt: skip

ALONE = [
    test_whoever_started_it_is_killed, test_a_command_that_ends_is_told, test_a_guest_engine_that_is_killed_ends_its_machine,
    test_a_machine_that_cannot_start_refuses_runs_until_it_can, test_a_server_of_an_ordinary_user,
    test_an_operator_proves_that_machines_work,
]


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
    if wanted(SERVER):
        before = len(failed)
        with machines.Server(build) as server:
            for test in wanted(SERVER):
                attempt(test, server, failed)
            if len(failed) > before:
                print(server.log.read_text(errors="replace")[-4000:])
    for test in wanted(ALONE):
        attempt(test, build, failed)
    total = len(wanted(SHARED)) + bool(wanted(SHARED)) + len(wanted(SERVER)) + len(wanted(ALONE))
    print(f"{total - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
