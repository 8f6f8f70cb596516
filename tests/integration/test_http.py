"""`belljar serve`: runs, sessions and event streams over HTTP, and its life."""
import json
import os
import re
import signal
import socket
import stat
import threading
import time

import pytest

import belljar
import host
from serving import Server, UnixConnection, wait_until


def another(who, *args, env=None):
    """A server beside the one that serves the module."""
    runtime = who.home / "runtime" / f"other-{time.monotonic_ns()}"
    runtime.mkdir(mode=0o700)
    who.own(runtime)
    return Server(who, *args, env={"XDG_RUNTIME_DIR": str(runtime), **(env or {})})


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


def cell(server, session, code, **fields):
    return server.execute(session, code, **fields)


# --- runs ---


@pytest.mark.smoke
def test_a_run_is_answered_with_its_result(server):
    result = server.run("import sys\nprint(6 * 7)\nprint('e', file=sys.stderr)\nresult = [1]", correlation_id="c-1")
    assert (result["status"], result["exit_code"]) == ("success", 0)
    assert (result["stdout"], result["stderr"]) == ("42\n", "e\n")
    assert result["result"]["json"] == [1]
    assert result["correlation_id"] == "c-1"
    assert result["session_id"] is None
    assert result["id"].startswith("run_")


def test_what_a_body_may_say_counts(server):
    assert server.run("echo $A; cat", language="bash", profile="open", env={"A": "b"}, stdin="in")["stdout"] == "b\nin"
    assert server.run("1 + 1", auto_print=True)["stdout"] == "2\n"
    assert server.run("while True: pass", timeout_s=1)["status"] == "timeout"
    assert server.run("x = ' ' * 10**9", memory_mb=64)["status"] == "memory_exceeded"
    assert server.run("import socket", profile="strict")["status"] == "refused"
    assert server.run("print('x' * 5000)", output_bytes=256)["truncated"]["stdout"] is True
    assert server.run("pass")["correlation_id"].startswith("cor_")


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"timeout_s": 301}, "`timeout_s`: the operator allows at most 300"),
        ({"memory_mb": 4096}, "`memory_mb`: the operator allows at most 2048"),
        ({"profile": "nonsense"}, "there is no profile `nonsense`"),
        ({"profile": "/etc/passwd"}, "`profile` is the name of a profile, not a path"),
        ({"profile": "../standard"}, "`profile` is the name of a profile, not a path"),
        ({"code": " \n"}, "`code`: the program is empty"),
        ({"env": {"A=B": "c"}}, "`env`: a name is not made of letters, digits and _"),
        ({"env": {"": "c"}}, "`env`: a name is not made of letters, digits and _"),
        ({"language": "bash", "profile": "strict"}, None),
    ],
)
def test_wishes_that_are_not_granted_say_why(server, fields, message):
    reply = server.call("POST", "/v1/run", {"code": "1", **fields})
    assert reply.status in (400, 403), reply
    if message:
        assert reply.status == 400 and reply.error["message"] == message, reply


def test_a_run_is_found_again(server):
    first = server.run("print(1)")
    again = server.call("GET", f"/v1/runs/{first['id']}")
    assert again.status == 200 and again.json == first
    for unknown in ("run_00000000000000000000000000", "x", first["id"].lower(), first["id"] + "%20"):
        assert server.call("GET", f"/v1/runs/{unknown}").status == 404


def test_answers_are_kept_up_to_a_number(server):
    first = server.run("pass")
    for _ in range(100):
        server.run("pass")
    assert server.call("GET", f"/v1/runs/{first['id']}").status == 404


def test_one_connection_serves_many_requests(server):
    c = server.connect()
    for i in range(20):
        reply = server.call("POST", "/v1/run", {"code": f"print({i})"}, connection=c)
        assert reply.json["stdout"] == f"{i}\n"
        assert "connection" not in reply.headers
    c.close()


def test_runs_go_side_by_side(server):
    results = []

    def one(i):
        results.append(server.run(f"import time; time.sleep(0.3); print({i})")["stdout"])

    threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results) == sorted(f"{i}\n" for i in range(12))


def test_the_socket_needs_no_token(server):
    assert stat.S_IMODE(os.stat(server.socket).st_mode) == 0o600
    reply = server.call(
        "POST", "/v1/run", {"code": "print(1)"}, headers={"Authorization": None},
        connection=UnixConnection(server.socket, belljar.HANG_SECONDS),
    )  # fmt: skip
    # Root of the tests is not the user of the server.
    assert reply.status == (200 if os.geteuid() == server.who.uid else 401), reply


# --- sessions ---


def test_a_session_keeps_variables_and_files(server, session):
    assert cell(server, session, "x = 41; open('f', 'w').write('a')")["session_state"] == "kept"
    done = cell(server, session, "print(x + 1)")
    assert done["stdout"] == "42\n" and done["session_id"] == session
    assert cell(server, session, "cat f", language="bash")["stdout"] == "a"


def test_sessions_are_listed_shown_and_ended(server):
    made = server.call("POST", "/v1/sessions", {"name": "mine", "idle_s": 60, "memory_mb": 128}).json
    assert made["limits"]["memory_mb"] == 128 and made["idle_limit_s"] == 60
    assert [s["name"] for s in server.call("GET", "/v1/sessions").json["sessions"]] == ["mine"]
    assert server.call("GET", "/v1/sessions/mine").json["session_id"] == made["session_id"]
    twice = server.call("POST", "/v1/sessions", {"name": "mine"})
    assert twice.status == 400 and twice.error["message"] == "a session of that name is open"
    assert server.call("DELETE", "/v1/sessions/mine").status == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/interrupt"), ("POST", "/restart")):
        assert server.call(method, f"/v1/sessions/mine{path}").status == 404
    assert server.call("POST", "/v1/sessions/mine/execute", {"code": "1"}).status == 404
    assert server.call("GET", "/v1/sessions").json == {"sessions": []}


def test_an_interrupt_keeps_the_variables(server, session):
    cell(server, session, "x = 5")
    assert server.call("POST", f"/v1/sessions/{session}/interrupt").json == {"interrupted": False}
    results = []
    t = threading.Thread(target=lambda: results.append(cell(server, session, "import time; time.sleep(60)")))
    t.start()
    wait_until(lambda: server.call("GET", f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
    assert server.call("POST", f"/v1/sessions/{session}/restart", {"language": "python"}).status == 429
    wait_until(
        lambda: server.call("POST", f"/v1/sessions/{session}/interrupt").json["interrupted"], "the cell is interrupted"
    )
    t.join()
    assert results[0]["status"] == "cancelled" and results[0]["session_state"] == "kept"
    assert cell(server, session, "print(x)")["stdout"] == "5\n"


def test_a_restart_loses_variables_and_keeps_files(server, session):
    cell(server, session, "x = 5; open('f', 'w').write('a')")
    assert server.call("POST", f"/v1/sessions/{session}/restart", {}).status == 200
    assert cell(server, session, "print('x' in dir(), open('f').read())")["stdout"] == "False a\n"


def test_a_session_that_ends_answers_its_cells(server, session):
    results = []
    body = {"code": "import time; time.sleep(60)"}
    threads = [
        threading.Thread(target=lambda: results.append(server.call("POST", f"/v1/sessions/{session}/execute", body)))
        for _ in range(3)
    ]
    for t in threads:
        t.start()
    wait_until(lambda: server.call("GET", f"/v1/sessions/{session}").json["waiting"] == 2, "two cells wait")
    assert server.call("DELETE", f"/v1/sessions/{session}").status == 204
    for t in threads:
        t.join()
    assert [r.status for r in results] == [404] * 3
    assert all(r.error["message"] == "the session ended: it was closed by its owner" for r in results)


# --- event streams ---


@pytest.mark.smoke
def test_events_come_as_they_happen(server):
    code = "import time\nfor i in range(3):\n    print(i, 'é', flush=True)\n    time.sleep(0.2)\ndisplay({'a': 1})"
    events = list(server.stream("POST", "/v1/run", {"code": code}))
    assert [n for n, _, _ in events] == list(range(1, len(events) + 1))
    assert events[0][1] == "start" and events[-1][1] == "result"
    text = "".join(data["text"] for _, name, data in events if name == "stdout")
    assert text.startswith("0 é\n1 é\n2 é\n")
    assert any(name == "display" for _, name, _ in events)
    assert events[-1][2]["stdout"] == text and events[-1][2]["id"] == events[0][2]["id"]


def test_a_character_is_never_cut_in_two(server):
    code = (
        "import os, time\ndata = 'aé€😀'.encode() * 20\n"
        "for b in data: os.write(1, bytes([b])); time.sleep(0.002)\nos.write(2, b'\\xe2\\x82')"
    )
    events = list(server.stream("POST", "/v1/run", {"code": code, "profile": "open"}))
    assert "".join(d["text"] for _, n, d in events if n == "stdout") == "aé€😀" * 20
    assert "".join(d["text"] for _, n, d in events if n == "stderr") == "\ufffd"


def test_who_lost_the_connection_goes_on_behind_the_last_event(server):
    code = "import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.1)"
    stream = server.stream("POST", "/v1/run", {"code": code})
    seen = []
    for event in stream:
        seen.append(event)
        if len(seen) == 4:
            break
    stream.close()
    rest = list(server.stream("GET", f"/v1/runs/{seen[0][2]['id']}/events", headers={"Last-Event-ID": str(seen[-1][0])}))
    events = seen + rest
    assert [n for n, _, _ in events] == list(range(1, len(events) + 1))
    assert "".join(d["text"] for _, n, d in events if n == "stdout") == "".join(f"{i}\n" for i in range(20))
    assert events[-1][2]["status"] == "success"
    again = list(server.stream("GET", f"/v1/runs/{seen[0][2]['id']}/events"))
    assert again == events


def test_events_of_a_finished_run_are_its_result(server):
    done = server.run("print(1)")
    assert list(server.stream("GET", f"/v1/runs/{done['id']}/events")) == [(1, "result", done)]
    bad = server.call("GET", f"/v1/runs/{done['id']}/events", headers={"Last-Event-ID": "x"})
    assert bad.status == 400, bad


def test_a_slow_reader_stops_the_program(server):
    """More than the sockets hold: the program waits, nothing is lost, and the server does not grow."""
    code = "import sys\nfor i in range(3000): sys.stdout.write('%07d\\n' % i * 128)\nprint('end', file=sys.stderr)"
    before = host.read(f"/proc/{server.process.pid}/status")
    stream = server.stream("POST", "/v1/run", {"code": code, "output_bytes": 4194304, "timeout_s": 60})
    run = stream.until("stdout")
    time.sleep(1)
    after = host.read(f"/proc/{server.process.pid}/status")
    grown = rss(after) - rss(before)
    assert grown < 24 * 1024, f"the server grew by {grown} KB"
    total = len(run[2]["text"]) + sum(len(d["text"]) for _, n, d in stream if n == "stdout")
    assert total == 3000 * 8 * 128


def rss(status):
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


# --- who goes away ---


def test_a_client_that_disconnects_cancels_its_run(server, session):
    s = server.open()
    body = json.dumps({"code": "import time; time.sleep(60)"}).encode()
    s.sendall(
        f"POST /v1/sessions/{session}/execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    wait_until(lambda: server.call("GET", f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
    s.close()
    wait_until(lambda: server.call("GET", f"/v1/sessions/{session}").json["state"] == "idle", "the cell ends")


@pytest.mark.one_caller
def test_who_does_not_come_back_to_his_events_loses_the_run(server):
    stream = server.stream("POST", "/v1/run", {"code": "import time; print(1, flush=True); time.sleep(50)", "timeout_s": 60})
    run = stream.until("start")[2]["id"]
    stream.close()
    assert server.call("GET", f"/v1/runs/{run}").json["status"] == "running"
    wait_until(lambda: server.call("GET", f"/v1/runs/{run}").json["status"] == "cancelled", "the run is cancelled", 30)


# --- its life ---


def test_the_token_is_a_secret_of_the_user(server):
    path = re.search(r"the token is in (.*)", "\n".join(server.said))[1]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert server.token not in "\n".join(server.said)


def test_a_second_server_on_the_socket_is_refused(server):
    second = server.who.call("serve", "--listen", "127.0.0.1:0", env={"BELLJAR_PRELOAD": ""})
    assert second.code == 75 and "another server listens on" in second.errors, second
    assert server.run("print(1)")["stdout"] == "1\n"


def test_a_socket_without_its_directory_says_so(user):
    answer = user.call("serve", "--listen", "127.0.0.1:0", "--socket", str(user.home / "none" / "s"), env={"BELLJAR_PRELOAD": ""})
    assert answer.code == 66 and "there is no directory for the socket" in answer.errors and "--socket" in answer.errors, answer


def test_a_port_that_is_taken_is_refused(server):
    second = server.who.call("serve", "--listen", f"127.0.0.1:{server.port}", "--socket", "none")
    assert second.code == 71 and "Address already in use" in second.errors, second


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "8.8.8.8:1"])
def test_it_does_not_listen_beyond_this_machine(user, address):
    answer = user.call("serve", "--listen", address, "--no-auth", "--socket", "none")
    assert answer.code in (71, 77), answer


@pytest.mark.parametrize("address", ["", "8222", "localhost", ":1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999", "example.org:1", "[::1:5"])
def test_an_address_that_is_none_is_refused(user, address):
    answer = user.call("serve", "--listen", address, "--socket", "none")
    assert answer.code in (64, 71), answer


def test_without_tokens_nobody_needs_one(user):
    s = Server(user, "--no-auth", "--socket", "none")
    assert s.token is None and s.socket is None
    assert s.call("POST", "/v1/run", {"code": "print(1)"}).status == 200
    assert s.stop() == 0


def is_busy(s):
    return s.get("/v1/stats").json["you"]["running"] == 1


def takes_connections(s):
    try:
        socket.create_connection(("127.0.0.1", s.port), timeout=5).close()
    except OSError:
        return False
    return True


def test_a_stop_lets_programs_finish_and_takes_no_new_ones(who):
    s = another(who)
    results = []
    t = threading.Thread(target=lambda: results.append(s.run("import time; time.sleep(1.5); print('done')")))
    t.start()
    wait_until(lambda: is_busy(s), "it runs")
    s.process.send_signal(signal.SIGTERM)
    t.join()
    assert results[0]["stdout"] == "done\n"
    assert s.wait() == 0
    assert not os.path.exists(s.socket)
    assert not takes_connections(s)


def test_a_stop_interrupts_what_does_not_end(who):
    s = another(who, env={"BELLJAR_STOP_GRACE_S": "0.5"})
    replies = []
    t = threading.Thread(target=lambda: replies.append(s.call("POST", "/v1/run", {"code": "import time; time.sleep(60)"})))
    t.start()
    wait_until(lambda: is_busy(s), "it runs")
    assert s.stop() == 0
    t.join()
    assert replies[0].json["status"] == "cancelled"


def test_a_second_signal_ends_it_at_once(user):
    s = another(user, env={"BELLJAR_STOP_GRACE_S": "60"})
    t = threading.Thread(target=lambda: pytest.raises(Exception, s.run, "import time; time.sleep(60)"))
    t.start()
    wait_until(lambda: is_busy(s), "it runs")
    s.process.send_signal(signal.SIGTERM)
    wait_until(lambda: not takes_connections(s), "it has heard the first")
    assert s.process.poll() is None
    assert s.stop() == 0
    t.join()


def test_kill_9_under_load_leaves_nothing(who):
    quiet = host.Watch(private=[who.home / x for x in ("tmp", "cache", "config")], uids=[belljar.USER_UID])
    s = another(who)
    s.call("POST", "/v1/sessions", {})

    def hammer():
        try:
            while True:
                s.run("import time; time.sleep(0.05)")
        except (OSError, AssertionError, Exception):
            return

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for t in threads:
        t.start()
    time.sleep(2)
    s.process.kill()
    s.process.communicate()
    for t in threads:
        t.join()
    complaints = quiet.leftovers(cgroup_owner=s.process.pid)
    assert not complaints, complaints
    wait_until(lambda: not os.listdir(os.path.dirname(s.socket)), "the socket and its lock are gone")
    again = Server(who, env={"XDG_RUNTIME_DIR": os.path.dirname(os.path.dirname(s.socket))})
    assert again.run("print(1)")["stdout"] == "1\n"
    assert again.call("GET", "/v1/sessions").json == {"sessions": []}
    assert again.stop() == 0


def test_the_description_names_every_route(server):
    api = server.call("GET", "/openapi.json", headers={"Authorization": None}).json
    assert api["openapi"] == "3.1.0"
    assert {"/v1/run", "/v1/runs/{run}", "/v1/sessions", "/v1/sessions/{session}/execute"} <= set(api["paths"])
    body = api["paths"]["/v1/run"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["additionalProperties"] is False and body["required"] == ["code"]
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(api))
    assert references and set(references) <= set(api["components"]["schemas"])
    ids = [op["operationId"] for path in api["paths"].values() for op in path.values()]
    assert len(ids) == len(set(ids))


def test_a_run_is_cancelled_by_its_id(server):
    stream = server.stream("POST", "/v1/run", {"code": "import time\nprint('begun', flush=True)\ntime.sleep(60)", "profile": "open"})
    events = iter(stream)
    run = next(events)[2]["id"]
    assert next(events)[1] == "stdout"
    assert server.post(f"/v1/runs/{run}/cancel", {}).json == {"cancelled": True}
    last = list(events)[-1]
    assert (last[1], last[2]["status"], last[2]["stdout"]) == ("result", "cancelled", "begun\n")
    assert server.post(f"/v1/runs/{run}/cancel").json == {"cancelled": False}
    assert server.post("/v1/runs/run_nonsense/cancel").status == 404
