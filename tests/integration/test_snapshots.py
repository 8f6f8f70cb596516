"""Snapshots: variables and files for sessions to come."""
import json
import os
import signal

import pytest

import host
from serving import Server, wait_until
from test_http_auth import Tokens


@pytest.fixture
def session(server):
    with server.session(memory_mb=256) as name:
        yield name


def cell(server, session, code, **fields):
    done = server.execute(session, code, **fields)
    assert done["status"] == "success", done
    return done["stdout"]


def ask(server, session, what, **body):
    return server.post(f"/v1/sessions/{session}/{what}", body)


def open_from(server, snapshot, **fields):
    reply = server.post("/v1/sessions", {"snapshot": snapshot, **fields})
    assert reply.status == 201, reply
    return reply.json


@pytest.fixture
def snapshot(server, session):
    """One of a session that has ended."""
    cell(server, session, "import numpy as np\na = np.arange(10)\nopen('f', 'w').write('x')")
    cell(server, session, "v=shell", language="bash")
    reply = ask(server, session, "snapshot", name="base")
    assert reply.status == 200, reply
    cell(server, session, "a[:] = 0")
    assert server.call("DELETE", f"/v1/sessions/{session}").status == 204
    yield "base"
    server.call("DELETE", "/v1/snapshots/base")


def test_any_number_of_sessions_begin_with_it(server, session, snapshot):
    opened = [open_from(server, snapshot, name=name) for name in ("one", "two")]
    for n, one in enumerate(opened):
        assert (one["parent"], one["limits"]["memory_mb"], one["profile"]) == (session, 256, "open"), one
        assert cell(server, one["name"], f"a += {n}; print(a.sum(), open('f').read())") == f"{45 + 10 * n} x\n"
        assert cell(server, one["name"], "echo $v", language="bash") == "shell\n"
    numbers = {cell(server, one["name"], "import random; print(random.random())") for one in opened}
    assert len(numbers) == 2
    for one in opened:
        assert ask(server, one["name"], "snapshot", name="again").status == 200  # one of a copy
        assert server.call("DELETE", f"/v1/sessions/{one['name']}").status == 204
    third = open_from(server, "again")["session_id"]
    assert cell(server, third, "print(a.sum())") == "55\n"
    for path in (f"/v1/sessions/{third}", "/v1/snapshots/again"):
        assert server.call("DELETE", path).status == 204


def test_they_are_listed_replaced_and_forgotten(server, session, snapshot):
    (listed,) = server.get("/v1/snapshots").json["snapshots"]
    assert (listed["name"], listed["session_id"], listed["profile"], listed["usable"]) == ("base", session, "open", True), listed
    assert listed["bytes"] > 0 and listed["age_s"] >= 0
    with server.session() as other:
        cell(server, other, "a = 'other'")
        assert ask(server, other, "snapshot", name="base").status == 200
    assert [s["session_id"] for s in server.get("/v1/snapshots").json["snapshots"]] == [other]
    lives = open_from(server, "base")["session_id"]
    assert server.call("DELETE", "/v1/snapshots/base").status == 204
    assert cell(server, lives, "print(a)") == "other\n"
    assert server.call("DELETE", f"/v1/sessions/{lives}").status == 204
    for reply in (server.call("DELETE", "/v1/snapshots/base"), server.post("/v1/sessions", {"snapshot": "base"})):
        assert (reply.status, reply.json["error"]["message"]) == (404, "there is no snapshot with that name"), reply


def test_what_is_wrong_is_refused(server, session, snapshot):
    for fields in ({"profile": "open"}, {"memory_mb": 64}, {"env": {"A": "b"}}, {"allow": []}):
        reply = server.post("/v1/sessions", {"snapshot": snapshot, **fields})
        (name,) = fields
        assert (reply.status, reply.json["error"]["message"]) == (400, f"`{name}` cannot be given with `snapshot`"), reply
    with server.session(name="taken") as other:
        assert server.post("/v1/sessions", {"snapshot": snapshot, "name": "taken"}).status == 400
        for name in ("", "..", "a/b", "x" * 64 + "y"):
            assert ask(server, other, "snapshot", name=name).status == 400
        command = ask(server, other, "commands", command="sleep 100", background=True).json["id"]
        reply = ask(server, other, "snapshot", name="busy")
        assert reply.status == 400 and "sleep 100" in reply.json["error"]["message"], reply
        server.call("DELETE", f"/v1/sessions/{other}/commands/{command}")


def test_their_number_is_bounded(server, session):
    for n in range(16):
        assert ask(server, session, "snapshot", name=f"s{n}").status == 200
    reply = ask(server, session, "snapshot", name="more")
    assert reply.status == 413 and "DELETE" in reply.json["error"]["hint"], reply
    assert ask(server, session, "snapshot", name="s3").status == 200  # in place of another
    for n in range(16):
        assert server.call("DELETE", f"/v1/snapshots/s{n}").status == 204


def test_they_are_their_owners_and_count_for_it(who):
    tokens = Tokens(who, env={"BELLJAR_SESSION_KEPT_MB": "32"})
    try:
        ann, bob = tokens.add("ann"), tokens.add("bob")
        assert tokens.call(ann, "POST", "/v1/sessions", {"name": "s"}).status == 201
        done = tokens.call(ann, "POST", "/v1/sessions/s/execute", {"code": "data = b'x' * 12_000_000"})
        assert done.json["status"] == "success", done
        assert tokens.call(ann, "POST", "/v1/sessions/s/snapshot", {"name": "a"}).status == 200
        assert tokens.call(bob, "GET", "/v1/snapshots").json == {"snapshots": []}
        assert tokens.call(bob, "POST", "/v1/sessions", {"snapshot": "a"}).status == 404
        assert tokens.call(bob, "DELETE", "/v1/snapshots/a").status == 404
        reply = tokens.call(ann, "POST", "/v1/sessions/s/snapshot", {"name": "b"})
        assert reply.status == 413 and "snapshots" in reply.json["error"]["message"], reply
        assert tokens.call(ann, "DELETE", "/v1/snapshots/a").status == 204
        assert tokens.call(ann, "POST", "/v1/sessions/s/snapshot", {"name": "b"}).status == 200
    finally:
        assert tokens.server.stop() == 0, tokens.server.said


def test_a_snapshot_outlives_the_zygotes_turn(who):
    """The interpreter that made it is replaced, and lives on for it."""
    with Server(who, "--socket", "none", env={"BELLJAR_ZYGOTE_MAX_RUNS": "5"}) as server:
        with server.session() as session:
            cell(server, session, "a = 1")
            assert ask(server, session, "snapshot", name="old").status == 200
        for _ in range(20):
            server.run("1")
        opened = open_from(server, "old")["session_id"]
        assert cell(server, opened, "print(a)") == "1\n"


def test_a_snapshot_is_lost_with_its_zygote_and_said_to_be(who):
    with Server(who, "--socket", "none") as server:
        with server.session() as session:
            cell(server, session, "1")
            assert ask(server, session, "snapshot", name="lost").status == 200
        for pid, (_, name) in host.descendants(server.process.pid).items():
            if name == "belljar-zygote" and pid in host.children(server.process.pid):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not server.get("/v1/snapshots").json["snapshots"][0]["usable"], "it is lost")
        reply = server.post("/v1/sessions", {"snapshot": "lost"})
        assert reply.status == 404 and "lost" in reply.json["error"]["message"], reply
        assert server.run("print(1)")["stdout"] == "1\n"


def test_it_is_written_down(who):
    with Server(who, "--socket", "none") as server:
        with server.session() as session:
            cell(server, session, "1")
            assert ask(server, session, "snapshot", name="n").status == 200
        opened = open_from(server, "n")["session_id"]
        told = [json.loads(line) for line in who.call("audit", "list", "--json", "--limit", "100").text.splitlines()]
        events = [(r["event"], r.get("snapshot")) for r in told if r["kind"] == "session" and r["session"] in (session, opened)]
        assert [e for e in events if e[0] != "end"] == [("open", None), ("snapshot", "n"), ("open", "n")], events
