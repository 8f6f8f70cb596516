"""POST /v1/sessions is answered when the sandbox is ready. Here the interpreter that makes sandboxes is stopped, so that none is."""
import json
import os
import signal
import socket
import threading

import host
import pytest
from serving import Server, wait_until


class Stopped(Server):
    """A server whose sandboxes wait for go()."""

    def __init__(self, who):
        super().__init__(who, env={"BELLJAR_PROFILE": "open", "BELLJAR_POOL_SIZE": "0"})
        self.run("1")
        self.zygotes = [pid for pid, (parent, _, name) in host.processes().items() if parent == self.process.pid and "zygote" in name]
        assert self.zygotes
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        for pid in self.zygotes:
            os.kill(pid, number)

    def go(self):
        self.signal(signal.SIGCONT)

    def stop(self):
        self.go()
        return super().stop()

    def states(self):
        return {s["name"]: s["state"] for s in self.get("/v1/sessions").json["sessions"]}


class Asking:
    """A request that waits in a thread."""

    def __init__(self, server, name, **more):
        self.reply = None
        self.thread = threading.Thread(target=self.ask, args=(server, name, more))
        self.thread.start()
        wait_until(lambda: server.states().get(name), f"{name} is listed")

    def ask(self, server, name, more):
        self.reply = server.post("/v1/sessions", {"name": name}, **more)

    def answer(self):
        self.thread.join()
        return self.reply


@pytest.fixture
def stopped(user):
    server = Stopped(user)
    yield server
    if server.process.poll() is None:
        assert server.stop() == 0, server.said


def test_the_answer_waits_for_the_sandbox(stopped):
    asking = Asking(stopped, "one")
    assert stopped.states() == {"one": "starting"} and asking.reply is None
    refused = stopped.call("PUT", "/v1/sessions/one/files/f", b"x")
    assert (refused.status, refused.error["message"]) == (429, "the session is starting")
    stopped.go()
    reply = asking.answer()
    assert (reply.status, reply.json["state"]) == (201, "idle")
    assert stopped.call("PUT", "/v1/sessions/one/files/f", b"x").status == 200


def test_a_repeated_request_finds_the_session_that_starts(stopped):
    key = {"Idempotency-Key": "k1"}
    asking = Asking(stopped, "one", headers=key)
    again = stopped.post("/v1/sessions", {"name": "one"}, headers=key)
    assert (again.status, again.json["state"]) == (201, "starting")
    stopped.go()
    first = asking.answer()
    assert first.json["session_id"] == again.json["session_id"]
    assert stopped.post("/v1/sessions", {"name": "one"}, headers=key).body == first.body  # once it was answered, with the same


def test_a_session_that_ends_meanwhile_is_an_error(stopped):
    asking = Asking(stopped, "one", headers={"Idempotency-Key": "k2"})
    assert stopped.call("DELETE", "/v1/sessions/one").status == 204
    stopped.go()
    reply = asking.answer()
    assert reply.status == 429 and "ended before it started" in reply.error["message"], reply
    # The key is free again: nothing came of it.
    assert stopped.post("/v1/sessions", {"name": "one"}, headers={"Idempotency-Key": "k2"}).status == 201


def test_a_session_without_a_sandbox_has_the_status_of_its_reason(who):
    profile = who.home / "sealed.toml"
    profile.write_text('inherits = "standard"\n[isolation]\nrequire = ["machine"]\n')
    with Server(who, env={"BELLJAR_PROFILE": str(profile)}) as server:
        reply = server.post("/v1/sessions", {})
    assert reply.status == 501 and "requires the layer `machine`" in reply.error["message"], reply


def test_a_client_may_leave(stopped):
    body = json.dumps({"name": "one"}).encode()
    head = f"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {stopped.token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with stopped.open() as s:
        s.sendall(head.encode() + body)
        wait_until(lambda: stopped.states().get("one"), "the session is listed")
        s.shutdown(socket.SHUT_RDWR)
    stopped.go()
    wait_until(lambda: stopped.states() == {"one": "idle"}, "the session starts")
    assert stopped.call("DELETE", "/v1/sessions/one").status == 204


def test_a_server_that_stops_does_not_wait(stopped):
    def ask():
        try:
            stopped.post("/v1/sessions", {"name": "one"})
        except OSError:
            pass  # the server closes what it cannot answer
        except Exception as e:
            assert "closed" in str(e), e

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: stopped.states().get("one"), "the session is listed")
    assert stopped.stop() == 0, stopped.said
    thread.join()


def test_after_some_seconds_the_answer_says_that_it_starts(stopped):
    reply = stopped.post("/v1/sessions", {"name": "one"})
    assert (reply.status, reply.json["state"]) == (201, "starting")
    stopped.go()
    assert stopped.execute("one", "print(1)")["stdout"] == "1\n"
