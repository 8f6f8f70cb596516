"""Objects of the kernel that sandboxes share with the host: inotify, memory of sockets and pipes."""
import ctypes
import os
from pathlib import Path

import pytest

import belljar
from serving import Server

LIBC = ctypes.CDLL(None, use_errno=True)

GRAB = """
import ctypes, time
libc = ctypes.CDLL(None)
fds = []
while len(fds) < 64 and (fd := libc.inotify_init()) >= 0:
    fds.append(fd)
print(len(fds))
"""


def host_instances(who, most):
    """How many inotify instances this user can still make on the host, up to `most`."""
    pid = os.fork()
    if pid == 0:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(who.gid)
            os.setuid(who.uid)
        count = 0
        while count < most and LIBC.inotify_init() >= 0:
            count += 1
        os._exit(count)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture(params=["root", "user", "lonely"])
def watcher(request, callers, base):
    """A caller, and how many instances of its user a test may take for a moment. A user that nobody else is has all of them."""
    limit = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    if limit > 200:
        pytest.skip("this host allows more instances than a sandbox could take")
    if request.param == "lonely" and os.getuid() == 0:
        uid = belljar.USER_UID + 10000
        return belljar.Who("lonely", uid, uid, base), limit, limit
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    return callers[request.param], limit, 8


def test_sandboxes_leave_inotify_instances_to_the_host(watcher):
    who, limit, most = watcher
    before = host_instances(who, most)
    with Server(who, env={"BELLJAR_SESSIONS_MAX": "40"}) as server:
        taken = 0
        for i in range(16):
            assert server.post("/v1/sessions", {"name": f"s{i}", "profile": "open"}).status == 201
            reply = server.post(f"/v1/sessions/s{i}/execute", {"code": GRAB}).json
            assert reply["status"] == "success", reply
            assert int(reply["stdout"]) <= 4
            taken += int(reply["stdout"])
        assert 0 < taken <= limit // 4
        left = host_instances(who, most)
        assert left >= before - limit // 4 if most == limit else left == before, (before, left)


UNIX = """
import os, socket, time
def fill():
    held = []
    while True:
        try:
            pair = socket.socketpair()
            pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            pair[0].setblocking(False)
            held.append(pair)
            while True:
                pair[0].send(b'x' * 65536)
        except BlockingIOError:
            continue
        except OSError:
            return held
for _ in range(12):
    if os.fork() == 0:
        held = fill()
        time.sleep(60)
        os._exit(0)
held = fill()
time.sleep(60)  # the run is ended long before that
print("still here")
"""


def test_unix_sockets_count_as_memory(who):
    answer = who.run(UNIX, "--profile", "open", "--memory", "256", "--timeout", "50", "--pids", "64")
    assert answer.json["status"] == "memory_exceeded", answer
    assert "still here" not in answer.json["stdout"]


TCP = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0), backlog=512)
held = []
def accept():
    while True:
        held.append(server.accept()[0])
threading.Thread(target=accept, daemon=True).start()
sent = 0
for _ in range(100):
    client = socket.create_connection(server.getsockname())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    client.setblocking(False)
    held.append(client)
    try:
        while True:
            sent += client.send(b'x' * 65536)
    except BlockingIOError:
        pass
print(sent)
"""


def test_buffers_of_tcp_do_not_grow_without_a_bound(who):
    """A hundred connections take several megabytes each where nothing bounds them. What the program could send and nobody
    read is counted: the kernel's own figure is that of the whole host."""
    answer = who.run(TCP, "--profile", "open", "--memory", "512", "--timeout", "30")
    assert answer.json["status"] == "success", answer
    assert 0 < int(answer.json["stdout"]) <= 160 << 20, answer


def test_a_program_with_some_sockets_runs(who):
    code = "import socket, time\nheld = [socket.socketpair() for _ in range(100)]\nheld[0][0].setsockopt(1, 7, 4096)\ntime.sleep(1)\nprint(len(held))"
    answer = who.run(code, "--profile", "open", "--memory", "256")
    assert answer.json["stdout"] == "100\n", answer
