"""The trail and a power failure: with `trail_sync = "before_answer"` each answer waits until its records are on the disk.

The failure is played: a library in the server makes each sync slow and notes how long the file was when it began. Then the server is
killed and its trail is cut to what was noted, which is the worst that a disk may do to a file that only grows.
"""
import concurrent.futures
import http.client
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import mcp
from serving import Server, wait_until

SOURCE = Path(__file__).parents[1] / "lib" / "losing_disk.c"


class Disk:
    def __init__(self, who, tmp_path, delay_ms):
        self.who = who
        self.state = who.home / f"state-{random.getrandbits(48):x}"
        self.state.mkdir(mode=0o700)
        self.trail = self.state / "belljar" / "trail"
        self.notes, self.failing, library = self.state / "notes", self.state / "failing", self.state / "losing.so"
        words = [f'-DNOTES="{self.notes}"', f'-DFAILING="{self.failing}"', f"-DDELAY_MS={delay_ms}"]
        subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-D_GNU_SOURCE", *words, "-o", library, SOURCE, "-ldl"], check=True)
        who.own(self.state)
        self.plain = {"XDG_STATE_HOME": str(self.state), "BELLJAR_UNDO": "off"}
        self.env = {**self.plain, "LD_PRELOAD": str(library)}
        self.before = {**self.env, "BELLJAR_TRAIL_SYNC": "before_answer"}

    def syncs(self):
        """Inode and length of each file that was synced, in order."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [tuple(map(int, line.split())) for line in lines]

    def cut(self):
        """The power fails."""
        lengths = dict(self.syncs())
        for file in self.trail.glob("*.jsonl"):
            st = file.stat()
            os.truncate(file, min(st.st_size, lengths.get(st.st_ino, 0)))

    def records(self):
        lines = b"".join(file.read_bytes() for file in sorted(self.trail.glob("*.jsonl")))
        return [json.loads(line) for line in lines.splitlines()]

    def ids(self, kind):
        return {r["id"] for r in self.records() if r["kind"] == kind}


@pytest.fixture
def disk(who, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    return lambda delay_ms: Disk(who, tmp_path, delay_ms)


def kill(process):
    process.kill()
    process.communicate()


def ask(server, stop, runs, sessions):
    """Asks until the connection breaks, and notes what was answered."""
    while time.monotonic() < stop:
        try:
            runs.append(server.run("print(1)")["id"])
            reply = server.post("/v1/sessions", {"profile": "open"})
            sessions.append(reply.json["session_id"])
            for _, name, data in server.stream("POST", f"/v1/sessions/{sessions[-1]}/execute", {"code": "print(2)"}):
                if name == "result":
                    runs.append(data["id"])
            server.call("DELETE", f"/v1/sessions/{sessions[-1]}")
        except (OSError, http.client.HTTPException, ValueError):
            return


def test_no_answered_run_is_lost_when_the_power_fails(who, disk):
    disk, rnd = disk(30), random.Random(2)
    runs, sessions = [], []
    for _ in range(3):
        server = Server(who, "--socket", "none", env=disk.before)
        before = len(runs)
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            tasks = [threads.submit(ask, server, time.monotonic() + 20, runs, sessions) for _ in range(3)]
            wait_until(lambda: len(runs) > before + 3, "some are answered")
            time.sleep(rnd.random() * 0.2)
            kill(server.process)
            for task in tasks:
                task.result()
        disk.cut()
        assert set(runs) <= disk.ids("run") and set(sessions) <= disk.ids("session")
    assert who.run("print(3)", env=disk.plain).code == 0
    wait_until(lambda: "not signed" not in who.call("audit", "verify", env=disk.plain).text, "the head is signed")
    answer = who.call("audit", "verify", env=disk.plain)
    assert answer.code == 0, answer.text


def test_the_usual_setting_loses_the_youngest(who, disk):
    """As documented; and the played failure does take away what was not synced."""
    disk = disk(3000)
    server = Server(who, "--socket", "none", env=disk.env)
    run = server.run("print(1)")["id"]
    kill(server.process)
    assert run in disk.ids("run")
    disk.cut()
    assert run not in disk.ids("run")


def test_those_who_wait_share_a_sync(who, disk):
    disk = disk(150)
    with Server(who, "--socket", "none", env=disk.before) as server:
        server.run("print(1)")
        before = len(disk.syncs())
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda _: server.run("print(1)"), range(32)))
        assert len(disk.syncs()) - before < 24  # heads and ends of the stock among them


def test_mcp_over_pipes_waits_too(who, disk):
    disk = disk(50)
    client = mcp.Client(who, env=disk.before)
    client.initialize()
    client.call("execute_python_code", {"code": "print(1)"})
    kill(client.process)
    answered = disk.ids("run")
    disk.cut()
    assert len(answered) == 1 and disk.ids("run") == answered


def test_a_command_ends_behind_its_records(who, disk):
    disk = disk(50)
    assert who.run("print(1)", env=disk.before).code == 0
    answered = disk.ids("run")
    disk.cut()
    assert len(answered) == 1 and disk.ids("run") == answered


def test_nothing_is_answered_that_the_disk_did_not_take(who, disk):
    disk = disk(10)
    with Server(who, "--socket", "none", env=disk.before) as server:
        server.run("print(1)")
        disk.failing.touch()
        with pytest.raises((OSError, http.client.HTTPException)):
            server.run("print(2)")
        server.wait_for("the disk failed: answers were withheld")
        reply = wait_until(lambda: try_again(server), "a listener is there again")
        assert reply.status == 500 and "trail" in reply.error["message"], reply


def try_again(server):
    try:
        return server.post("/v1/run", {"code": "print(3)"})
    except (OSError, http.client.HTTPException):
        return None
