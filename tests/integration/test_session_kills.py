"""kill -9 of kernels, of pid 1, of the zygote and of the server, while sessions run cells and are copied: every answer is
right or an error in words, no cell runs twice, and nothing is left behind."""
import os
import random
import re
import signal
import threading
import time

import pytest

import belljar
import host
import serving

SESSIONS = 3
ROUNDS = 12


@pytest.fixture
def quiet(who):
    """Nothing of ours may be left; the token of a server is meant to stay."""
    watch = host.Watch(private=[who.home / p for p in ("tmp", "cache")], uids=[belljar.USER_UID])
    yield watch
    complaints = watch.leftovers()
    assert not complaints, complaints


def victims(server, kind):
    """Processes of one kind, by what they are in the eyes of the host."""
    found = []
    for pid, (_, comm) in host.descendants(server.process.pid).items():
        words = re.search(r"NSpid:(.*)", host.read(f"/proc/{pid}/status"))
        inner = words[1].split()[1:] if words else []
        if kind == "zygote" and not inner and "zygote" in host.command_line(pid):
            found.append(pid)
        elif kind == "init" and inner and inner[-1] == "1":
            found.append(pid)
        elif kind == "kernel" and inner and inner[-1] != "1":
            found.append(pid)
    return found


class Worker(threading.Thread):
    """Counts in its session, and goes by what the answers say of its state. Opens another one when it has ended."""

    def __init__(self, server, language):
        super().__init__()
        self.server = server
        self.code = "n = globals().get('n', 0) + 1; print(n)" if language == "python" else "n=$((n + 1)); echo $n"
        self.language = language
        self.is_over = False
        self.wrong = []
        self.right = 0
        self.copies = 0

    def run(self):
        try:
            while not self.is_over:
                self.live()
        except OSError as e:
            if not self.is_over:
                self.wrong.append(repr(e))
        except AssertionError as e:
            self.wrong.append(str(e)[:2000])

    def live(self):
        reply = self.server.post("/v1/sessions", {"profile": "open", "memory_mb": 128, "timeout_s": 20})
        if reply.status != 201:  # no sandbox now
            assert reply.status in (429, 500, 502), reply
            return
        path, known, n = f"/v1/sessions/{reply.json['session_id']}", {0}, 0
        while not self.is_over and known:
            n += 1
            known = self.count(path, known)
            if n % 3 == 0 and known:
                self.copy(path)
        self.server.call("DELETE", path)

    def count(self, path, known):
        """`known` is what the last number can have been, before this cell; returns what it is after it."""
        reply = self.server.post(path + "/execute", {"code": self.code, "language": self.language})
        if reply.status != 200:
            assert reply.status in (404, 500), reply  # the session ended, or its sandbox is being lost
            return set()
        answer = reply.json
        if answer["session_state"] == "lost":  # the cell may have run, and nobody knows it any more
            return {0}
        assert answer["status"] == "success", answer
        number = int(answer["stdout"])
        if answer["session_state"] == "fresh":
            known = {0}
        assert number - 1 in known, (number, known, answer)
        self.right += 1
        return {number}

    def copy(self, path):
        replies = [self.server.post(path + "/checkpoint", {"name": "c"}), self.server.post(path + "/fork", {"n": 2})]
        if replies[0].status == 200:
            replies.append(self.server.post(path + "/restore", {"name": "c"}))
        for reply in replies:
            assert reply.status in (200, 400, 404, 429, 500), reply
            for copy in reply.json.get("sessions", []):
                self.copies += 1
                self.server.call("DELETE", f"/v1/sessions/{copy['session_id']}")


def begin(server):
    workers = [Worker(server, "bash" if n == 1 else "python") for n in range(SESSIONS)]
    for w in workers:
        w.start()
    serving.wait_until(lambda: all(w.right > 3 or w.wrong for w in workers), "cells run")
    return workers


def end(workers):
    for w in workers:
        w.is_over = True
    for w in workers:
        w.join(belljar.HANG_SECONDS)
        assert not w.is_alive(), "a client waits for ever"


@pytest.mark.parametrize("kind", ["kernel", "init", "zygote"])
def test_a_kill_in_the_middle_is_an_honest_answer(who, quiet, kind):
    server = serving.Server(who)
    workers = begin(server)
    chance = random.Random(kind)
    for _ in range(ROUNDS):
        time.sleep(chance.random() * 0.1)  # any moment will do
        found = victims(server, kind)
        for pid in chance.sample(found, min(1, len(found))):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    before = [w.right for w in workers]
    serving.wait_until(lambda: all(w.right > b or w.wrong for w, b in zip(workers, before)), "cells run again")
    end(workers)
    assert not sum((w.wrong for w in workers), [])
    assert server.run("print(6 * 7)")["stdout"] == "42\n"
    assert server.get("/v1/sessions").json == {"sessions": []}, "there are sessions that nobody was told of"
    assert server.stop() == 0, server.said


def test_a_killed_server_leaves_nothing_and_the_next_one_starts(who, quiet):
    for _ in range(3):
        server = serving.Server(who)
        workers = begin(server)
        for w in workers:
            w.is_over = True
        server.process.kill()
        server.wait()
        end(workers)
        left = quiet.leftovers(cgroup_owner=server.process.pid)
        assert not left, left
    server = serving.Server(who)
    assert server.run("print(6 * 7)")["stdout"] == "42\n"
    assert server.stop() == 0, server.said
