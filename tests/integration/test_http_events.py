"""GET /v1/events: everything that happens, in order, to those who may see it; and what it costs."""
import os
import socket
import threading
import time
import uuid

import belljar
import pytest

from serving import wait_until
from test_http_auth import Tokens

SAVE = "from execution_runtime import save_skill\nsave_skill('{}', 'x = {}', 'words')\n"


@pytest.fixture(scope="module")
def server(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    yield t
    assert t.server.stop() == 0, t.server.said


class Listener:
    def __init__(self, server, token=None, query="", last_id=None):
        headers = {"Authorization": f"Bearer {token or server.server.token}"}
        if last_id is not None:
            headers["Last-Event-ID"] = str(last_id)
        self.stream = server.server.stream("GET", f"/v1/events{query}", headers=headers)
        self.events = iter(self.stream)
        if self.stream.status == 200:
            self.id, name, self.hello = next(self.events)
            assert name == "hello"

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.stream.close()

    def until(self, name):
        """The names that came, and the data of this one."""
        seen = []
        for self.id, kind, data in self.events:
            seen.append((kind, data))
            if kind == name:
                return seen
        raise AssertionError(f"the stream ended without {name}: {seen}")

    def last(self, name):
        return self.until(name)[-1][1]


def call(server, method, path, body=None, token=None):
    return server.call(token or server.server.token, method, path, body)


def test_a_run_is_told_from_its_start_to_its_end(server):
    token = server.add("watched")
    with Listener(server, token) as listener:
        assert listener.hello["live"] == {"running": 0, "waiting": 0, "sessions": 0, "approvals": 0}
        assert listener.hello["server_started_at"] <= listener.hello["time"]
        run = server.run(token, "print('first line')\n1/0", correlation_id="mine").json
        (first, started), (last, ended) = listener.until("run_ended")
        assert (first, last) == ("run_started", "run_ended")
        assert started["id"] == ended["id"] == run["id"] and started["code"] == "print('first line')"
        assert started["owner"] == "watched" and started["correlation_id"] == "mine" and started["exit_code"] is None
        assert (ended["state"], ended["exit_code"], ended["error"]) == ("error", 1, None) and ended["wall_ms"] > 0


def test_a_session_and_its_commands_are_told(server):
    token = server.add("sessions")
    with Listener(server, token) as listener:
        session = call(server, "POST", "/v1/sessions", {"name": "told", "profile": "open"}, token).json["session_id"]
        path = f"/v1/sessions/{session}"
        opened = listener.last("session_opened")
        assert (opened["session_id"], opened["name"], opened["parent"]) == (session, "told", None)
        call(server, "POST", f"{path}/execute", {"code": "x = 1"}, token)
        assert listener.last("run_ended")["session_id"] == session
        call(server, "POST", f"{path}/commands", {"command": "true"}, token)
        assert [k for k, _ in listener.until("command_ended")] == ["command_started", "command_ended"]
        kept = call(server, "POST", f"{path}/checkpoint", {"name": "here"}, token)
        assert kept.status == 200, kept
        assert listener.last("session_checkpointed")["checkpoint"] == "here"
        back = call(server, "POST", f"{path}/restore", {"name": "here"}, token)
        assert back.status == 200, back
        assert listener.last("session_restored")["checkpoint"] == "here"
        fork, = call(server, "POST", f"{path}/fork", {"n": 1}, token).json["sessions"]
        seen = collect(listener, 2)
        assert {k for k, _ in seen} == {"session_opened", "session_forked"}
        assert next(d for k, d in seen if k == "session_opened")["parent"] == session
        if call(server, "POST", f"{path}/pause", {}, token).status == 200:
            assert listener.last("session_paused")["session_id"] == session
            call(server, "POST", f"{path}/resume", {}, token)
            assert listener.last("session_resumed")["session_id"] == session
        call(server, "DELETE", path, None, token)
        assert listener.last("session_ended")["why"] == "it was closed by its owner"
        call(server, "DELETE", f"/v1/sessions/{fork['session_id']}", None, token)


def collect(listener, count):
    return [(kind, data) for _, (listener.id, kind, data) in zip(range(count), listener.events)]


def test_questions_for_approval_are_told_with_their_answers(server):
    token, skill = server.add("asks"), "s" + uuid.uuid4().hex[:8]
    assert server.run(token, SAVE.format(skill, 1)).json["status"] == "success"
    with Listener(server, None, "?all=true&kinds=approval") as listener:
        for answer, word in ((True, "yes"), (False, "no")):
            run = call(server, "POST", "/v1/run", {"code": SAVE.format(skill, answer), "detach": True}, token).json["id"]
            asked = listener.last("approval_asked")
            assert (asked["run_id"], asked["call"], asked["owner"]) == (run, "skills.save", "asks") and "arguments" not in asked
            listed = call(server, "GET", "/v1/approvals?all=true").json["approvals"]
            assert [(a["approval_id"], a["owner"]) for a in listed] == [(asked["approval_id"], "asks")]
            assert call(server, "GET", "/v1/approvals").json["approvals"] == []
            word_of = {"approve": answer, "approval_id": asked["approval_id"]}
            assert call(server, "POST", f"/v1/runs/{run}/approve", word_of, server.add("no" + word)).status == 404
            assert call(server, "POST", f"/v1/runs/{run}/approve", word_of).status == 200  # an operator's answer
            assert listener.last("approval_answered")["answer"] == word
            records = call(server, "GET", f"/v1/runs/{run}/record").json
            assert [(c["approval"], c["decided_by"]) for c in records["calls"] if "approval" in c] == [(word, "default")]  # and not "asks"
        run = call(server, "POST", "/v1/run", {"code": SAVE.format(skill, 3), "detach": True}, token).json["id"]
        listener.last("approval_asked")
        call(server, "POST", f"/v1/runs/{run}/cancel", {}, token)
        assert listener.last("approval_answered")["answer"] == "gone"


def test_filters_let_through_what_was_asked_for(server):
    token = server.add("filtered")
    session = call(server, "POST", "/v1/sessions", {}, token).json["session_id"]
    with Listener(server, token, "?kinds=run") as runs, Listener(server, token, f"?session={session}") as own:
        other = call(server, "POST", "/v1/sessions", {}, token).json["session_id"]
        call(server, "DELETE", f"/v1/sessions/{other}", None, token)
        run = server.run(token, "1").json["id"]
        call(server, "POST", f"/v1/sessions/{session}/execute", {"code": "2"}, token)
        call(server, "DELETE", f"/v1/sessions/{session}", None, token)
        seen = own.until("session_ended")
        assert [k for k, _ in seen] == ["run_started", "run_ended", "session_ended"] and seen[0][1]["code"] == "2"
        assert [d["id"] for k, d in runs.until("run_ended")] == [run, run] and runs.until("run_ended")[-1][1]["session_id"] == session


@pytest.mark.parametrize("query, status", [("?kinds=run,x", 400), ("?kinds=,", 400), ("?all=1", 400), ("?session=" + "a" * 48, 400), ("?x=1", 400)])
def test_a_wrong_parameter_is_refused(server, query, status):
    assert call(server, "GET", f"/v1/events{query}").status == status
    with Listener(server, None, query) as listener:
        assert listener.stream.status == status


def test_a_client_need_not_ask_for_events(server):
    """The route has no other answer."""
    stream = server.server.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {server.server.token}", "Accept": None})
    assert stream.status == 200 and stream.answer.getheader("Content-Type").startswith("text/event-stream")
    assert next(iter(stream))[1] == "hello"
    stream.close()


def test_a_token_hears_only_of_itself_and_an_operator_of_all_when_it_asks(server):
    ours, theirs = server.add("hears"), server.add("heard")
    with Listener(server, theirs, "?all=true") as refused:
        assert refused.stream.status == 403
    with Listener(server, ours) as own, Listener(server) as operator, Listener(server, None, "?all=true") as everything:
        secret = server.run(theirs, "print('not for ours')").json["id"]
        last = server.run(ours, "1").json["id"]
        end = server.run(server.server.token, "2").json["id"]
        assert [d["id"] for _, d in own.until("run_ended")] == [last, last]
        assert [d["id"] for _, d in operator.until("run_ended")] == [end, end]
        assert [d["id"] for _ in range(3) for _, d in everything.until("run_ended")] == [secret, secret, last, last, end, end]


def test_whoever_comes_back_goes_on_where_it_was(server):
    token = server.add("returns")
    with Listener(server, token) as listener:
        server.run(token, "1")
        listener.until("run_ended")
        last = listener.id
    missed = server.run(token, "2").json["id"]
    with Listener(server, token, last_id=last) as listener:
        assert [(k, d["id"]) for k, d in listener.until("run_ended")] == [("run_started", missed), ("run_ended", missed)]
    with Listener(server, token, last_id=last) as again:  # the first event of these is not lost with the connection, either
        assert again.until("run_started")[0][1]["id"] == missed


@pytest.mark.parametrize("last", ["0", "12", "999999999999999999", "99999999999999999999999", "abc", "-1"])
def test_an_id_that_is_not_known_is_a_gap(server, last):
    with Listener(server, server.add("g" + str(abs(hash(last)))), last_id=last) as listener:
        assert listener.until("gap")[-1][1]["from"].startswith("20")


def test_a_client_that_does_not_read_loses_events_is_told_and_delays_nobody(server):
    """Cells that wait, and end with their session, make many events and nothing else."""
    s = socket.socket(socket.AF_UNIX)  # whose buffers are small
    s.settimeout(belljar.HANG_SECONDS)
    s.connect(server.server.socket)
    token = f"Authorization: Bearer {server.server.token}"
    s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n{token}\r\nAccept: text/event-stream\r\n\r\n".encode())
    data = b""
    while b"hello" not in data:
        piece = s.recv(65536)
        assert piece, data
        data += piece
    connection = server.server.connect()
    for _ in range(4):
        session = call(server, "POST", "/v1/sessions", {}).json["session_id"]
        path = f"/v1/sessions/{session}/execute"
        call(server, "POST", path, {"code": "while True: pass", "detach": True})
        with Listener(server, None, f"?session={session}") as quick:
            for _ in range(400):
                body = {"code": "#" + "\x01" * 79, "detach": True, "correlation_id": "\x01" * 128}
                reply = server.call(server.server.token, "POST", path, body, connection=connection)
                assert reply.status in (200, 202), reply
            call(server, "DELETE", f"/v1/sessions/{session}")
            assert len([1 for k, _ in quick.until("session_ended") if k == "run_ended"]) == 401
    connection.close()
    while b"event: gap" not in data:
        piece = s.recv(65536)
        assert piece, data[-1000:]
        data = data[-100:] + piece
    s.close()


def test_streams_are_bounded_for_each_token(server):
    token = server.add("many")
    open_ones = [Listener(server, token) for _ in range(8)]
    with Listener(server, token) as more:
        assert more.stream.status == 429
    for listener in open_ones:
        listener.stream.close()
    def again():
        with Listener(server, token) as listener:
            return listener.stream.status == 200
    wait_until(again, "a place is free again")


def test_a_removed_token_hears_nothing_more(server):
    token = server.add("removed")
    with Listener(server, token) as listener:
        server.rm("removed")
        assert call(server, "GET", "/v1/runs", None, token).status == 401
        server.add("removed")
        server.run(server.server.token, "1")  # something is to be told
        assert list(listener.events) == []


def test_streams_end_when_the_server_stops(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    with Listener(t) as listener:
        begun = time.monotonic()
        assert t.server.stop() == 0, t.server.said
        assert list(listener.events) == [] and time.monotonic() - begun < belljar.HANG_SECONDS


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def switches(pid):
    return int(next(line for line in open(f"/proc/{pid}/status", encoding="ascii") if line.startswith("voluntary")).split()[1])


def test_idle_streams_wake_nobody(callers):
    """Nothing but the comments every fifteen seconds: counted in wake-ups, since time says little on a busy machine."""
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    listeners = [Listener(t) for _ in range(8)]
    try:
        wait_until(lambda: (pool := t.server.get("/v1/stats").json["server"]["pool"])["idle"] == pool["wanted"], "the stock is full")
        before = [switches(t.server.process.pid), cpu_seconds(t.server.process.pid)]
        with pytest.raises(TimeoutError):
            listeners[0].stream.connection.sock.settimeout(3)
            next(listeners[0].events)
        woken, used = switches(t.server.process.pid) - before[0], cpu_seconds(t.server.process.pid) - before[1]
        assert woken < 60 and used <= 0.05, (woken, used)
    finally:
        for listener in listeners:
            listener.stream.close()
        t.server.stop()


def test_a_client_need_not_name_the_form(server):
    """curl sends `Accept: */*`; the stream has one form."""
    s = socket.create_connection(("127.0.0.1", server.server.port), timeout=belljar.HANG_SECONDS)
    with s, s.makefile("rb") as lines:
        s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.server.token}\r\nAccept: */*\r\n\r\n".encode())
        assert b" 200 " in lines.readline()
        assert any(line == b"event: hello\n" for line in iter(lines.readline, b""))


def test_a_new_token_of_an_old_name_is_told_nothing_of_the_old_one(server):
    """As long as anybody listens, what happened is kept; whoever asks says from where on."""
    old = server.add("again")
    with Listener(server, query="?all=true") as operator:
        with Listener(server, old) as listener:
            since = listener.id
        assert call(server, "POST", "/v1/run", {"code": "'of the old one'"}, token=old).status == 200
        session = call(server, "POST", "/v1/sessions", {"name": "olds"}, token=old).json["session_id"]
        operator.until("session_opened")
        server.rm("again")
        new = server.add("again")
        with Listener.__new__(Listener) as listener:
            headers = {"Authorization": f"Bearer {new}", "Last-Event-ID": str(since)}
            listener.stream = server.server.stream("GET", "/v1/events", headers=headers)
            assert call(server, "POST", "/v1/run", {"code": "'of the new one'"}, token=new).status == 200
            listener.events = iter(listener.stream)
            told = [(kind, data) for kind, data in listener.until("run_ended") if kind != "hello"]
        assert [data["code"] for _, data in told] == ["'of the new one'"] * 2, told
        assert session in str(operator.until("session_ended")) + str(told), "an operator is told of all"
