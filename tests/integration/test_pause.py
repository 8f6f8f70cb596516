"""Sessions that are paused: everything stays, nothing runs."""
import json
import os
import signal

import pytest

import host
from serving import Server, wait_until

BUSY = "while :; do :; done"


@pytest.fixture
def session(server):
    with server.session() as name:
        server.execute(name, "x = 41; open('f', 'w').write('kept')")
        skip_unless_possible(server, name)
        yield name


def skip_unless_possible(server, session):
    reply = ask(server, session, "pause")
    if reply.status == 501:
        assert "no cgroup" in reply.json["error"]["message"] and "doctor" in reply.json["error"]["hint"], reply
        assert server.execute(session, "print(1)")["stdout"] == "1\n"
        pytest.skip("this caller has no cgroups")
    assert ask(server, session, "resume").status == 200


def ask(server, session, what, **body):
    return server.post(f"/v1/sessions/{session}/{what}", body)


def background(server, session, command, **fields):
    return ask(server, session, "commands", command=command, background=True, **fields).json["id"]


def show(server, session, command):
    return server.get(f"/v1/sessions/{session}/commands/{command}").json


def inside(server):
    """States of the processes below the server that run BUSY, or sleep, by their pid."""
    states = {}
    for pid in host.descendants(server.process.pid):
        if "while :" in host.command_line(pid) or "sleep" in host.command_line(pid):
            states[pid] = host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0:1]
    return {pid: state[0] for pid, state in states.items() if state}


def test_a_paused_session_keeps_everything_and_refuses_cells(server, session):
    paused = ask(server, session, "pause")
    assert (paused.status, paused.json["state"]) == (200, "paused"), paused
    assert ask(server, session, "pause").json["state"] == "paused"  # twice is once
    assert [s["state"] for s in server.get("/v1/sessions").json["sessions"] if s["session_id"] == session] == ["paused"]
    for what, body in (
        ("execute", {"code": "1"}), ("commands", {"command": "true"}), ("fork", {}), ("checkpoint", {"name": "c"}), ("restart", {}),
    ):  # fmt: skip
        reply = ask(server, session, what, **body)
        assert reply.status == 400 and reply.json["error"]["message"] == "the session is paused", (what, reply)
        assert f"/v1/sessions/{session}/resume" in reply.json["error"]["hint"]
    assert server.get(f"/v1/sessions/{session}/files/f").body == b"kept"  # Belljar's own work
    assert ask(server, session, "resume").json["state"] == "idle"
    assert ask(server, session, "resume").status == 200
    assert server.execute(session, "print(x + 1, open('f').read())")["stdout"] == "42 kept\n"


def test_nothing_of_it_runs_meanwhile(server, session):
    command = background(server, session, BUSY)
    own = background(server, session, "sleep 100 & kill -STOP $!; wait")
    wait_until(lambda: "T" in inside(server).values(), "it has stopped a process of its own")  # the signal takes a moment
    wait_until(lambda: "R" in inside(server).values(), "the loop runs")
    assert ask(server, session, "pause").status == 200
    wait_until(lambda: set(inside(server).values()) == {"T"}, "all are stopped")
    before = {pid: host.read(f"/proc/{pid}/stat").split()[13:15] for pid in inside(server)}
    assert ask(server, session, "resume").status == 200
    wait_until(lambda: "R" in inside(server).values(), "the loop goes on")
    assert before and "T" in inside(server).values()  # what the program stopped stays so
    for one in (command, own):
        assert server.call("DELETE", f"/v1/sessions/{session}/commands/{one}").status in (200, 202, 204)


def test_a_program_cannot_wake_itself(server, session):
    """A process that still runs wakes the others; it is stopped, too, before long."""
    background(server, session, "for i in 1 2 3 4; do while :; do kill -CONT -1 2>/dev/null; done & done; wait # while :")
    wait_until(lambda: list(inside(server).values()).count("R") >= 2, "they run")
    assert ask(server, session, "pause").status == 200
    wait_until(lambda: set(inside(server).values()) == {"T"}, "all are stopped")
    assert server.call("DELETE", f"/v1/sessions/{session}").status == 204
    wait_until(lambda: not inside(server), "nothing is left of it")


def test_commands_that_are_killed_meanwhile_end_when_it_goes_on(server, session):
    command = background(server, session, "sleep 100")
    wait_until(lambda: inside(server), "it runs")
    assert ask(server, session, "pause").status == 200
    assert server.call("DELETE", f"/v1/sessions/{session}/commands/{command}").status in (200, 202, 204)
    assert ask(server, session, "resume").status == 200
    wait_until(lambda: show(server, session, command)["status"] == "cancelled", "it ends")


def test_the_clock_of_a_command_and_of_the_session_stand(server):
    with server.session(idle_s=1) as session:
        server.execute(session, "1")
        skip_unless_possible(server, session)
        command = background(server, session, "echo go; sleep 0.3; echo end", timeout_s=1)
        wait_until(lambda: "go" in show(server, session, command)["stdout"], "it has begun")
        assert ask(server, session, "pause").status == 200
        age = lambda: server.get(f"/v1/sessions/{session}").json["age_s"]  # noqa: E731
        wait_until(lambda: age() > 1.4, "both would have ended")
        assert show(server, session, command)["status"] == "running"
        assert ask(server, session, "resume").status == 200
        wait_until(lambda: show(server, session, command)["status"] == "success", "it ends by itself")


def test_a_session_with_a_cell_is_not_paused(server, session):
    cell = ask(server, session, "execute", code="import time; time.sleep(100)", detach=True).json["id"]
    wait_until(lambda: server.get(f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
    reply = ask(server, session, "pause")
    assert (reply.status, reply.json["error"]["message"]) == (429, "a cell is running"), reply
    assert ask(server, session, "interrupt").status == 200
    wait_until(lambda: server.get(f"/v1/runs/{cell}").json["status"] != "running", "it ends")
    assert ask(server, session, "pause").status == 200
    assert server.call("DELETE", f"/v1/sessions/{session}").status == 204


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_paused_session(who, watch, sig):
    with Server(who, "--socket", "none") as server:
        session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
        server.execute(session, "1")
        skip_unless_possible(server, session)
        background(server, session, BUSY)
        wait_until(lambda: "R" in inside(server).values(), "the loop runs")
        assert ask(server, session, "pause").status == 200
        pids = list(inside(server))
        os.kill(server.process.pid, sig)
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "all are gone")


def test_pauses_are_written_down(who):
    with Server(who, "--socket", "none") as server, server.session() as session:
        server.execute(session, "1")
        skip_unless_possible(server, session)
        told = [json.loads(line) for line in who.call("audit", "list", "--json", "--limit", "100").text.splitlines()]
        assert [r["event"] for r in told if r.get("session") == session and r["kind"] == "session"] == ["open", "pause", "resume"]
