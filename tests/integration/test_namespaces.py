"""Namespaces of the sandboxes of one server: some are made ahead of a sandbox, in the zygote, and some with it."""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import belljar
import host

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")

# A loopback of its own, which works, and the name that every sandbox has.
PROGRAM = (
    "import socket\n"
    "with socket.create_server(('127.0.0.1', 5000)) as s, socket.create_connection(s.getsockname()) as c:\n"
    "    result = socket.gethostname()\n"
)


def first_processes(server):
    """{pid 1 of a sandbox: its parent, the zygote}."""
    found = {}
    for pid in host.descendants(server.process.pid):
        status = dict(line.split(":", 1) for line in host.read(f"/proc/{pid}/status").splitlines() if ":" in line)
        numbers = status.get("NSpid", "").split()
        if len(numbers) >= 3 and numbers[-1] == "1":
            found[pid] = int(status["PPid"])
    return found


def open_session(server, number):
    time.sleep(0.02 * (number % 3))  # in a row and at once
    reply = server.call("POST", "/v1/sessions", {"profile": "open", "disk_mb": 32})
    assert reply.status == 201, reply
    session = reply.json["session_id"]
    answer = server.call("POST", f"/v1/sessions/{session}/execute", {"code": PROGRAM}).json
    assert answer["result"]["json"] == "belljar", answer
    return session


def test_no_two_sandboxes_share_a_namespace(server):
    with ThreadPoolExecutor(4) as crowd:
        sessions = list(crowd.map(lambda number: open_session(server, number), range(12)))
    deadline = time.monotonic() + belljar.HANG_SECONDS
    while len(first_processes(server)) < len(sessions):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)  # the stock is full again, and the zygote ready for the next
    try:
        firsts = first_processes(server)
        links = {pid: [os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES]
                 for pid in {*firsts, *firsts.values(), server.process.pid} if os.path.exists(f"/proc/{pid}/ns")}  # fmt: skip
        assert len(firsts) >= len(sessions)
        for place, name in enumerate(NAMESPACES):
            # The zygote has what it was started in, but for what it has made for the next sandbox.
            seen = [row[place] for pid, row in links.items() if pid in firsts or name in ("net", "ipc", "uts")]
            assert len(set(seen)) == len(seen), (name, seen)
            assert links[server.process.pid][place] not in [links[pid][place] for pid in firsts if pid in links], name
    finally:
        for session in sessions:
            assert server.call("DELETE", f"/v1/sessions/{session}").status in (200, 204)
