"""Several machines: requests of any gateway are answered by any node, over a bus."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time
import uuid

import bus
import pytest
from serving import UnixConnection, read_all, wait_until
from websocket import WebSocket

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))


@pytest.fixture(scope="module")
def cluster(callers):
    with bus.Cluster(callers["user"], labels={"b2": ["gpu"]}, env={"BELLJAR_SESSION_PORTS": "8000"}) as cluster:
        yield cluster


@pytest.fixture
def own(callers):
    """A cluster for a test that breaks it."""
    with bus.Cluster(callers["user"]) as cluster:
        yield cluster


def on(machine, node, code, **fields):
    """A run on that node."""
    reply = machine.post("/v1/run", {"code": code, **fields}, headers={"Belljar-Node-Label": node})
    assert reply.status == 200, reply
    assert bus.node_of(reply.json["id"]) == node
    return reply.json


def session_on(machine, node, **fields):
    reply = machine.post("/v1/sessions", fields, headers={"Belljar-Node-Label": node})
    assert reply.status == 201, reply
    assert bus.node_of(reply.json["session_id"]) == node
    return reply.json["session_id"]


def test_runs_are_spread_and_answered(cluster):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        nodes = {bus.node_of(r["id"]) for r in pool.map(lambda _: cluster["a1"].run("import time; time.sleep(0.1)"), range(24))}
    assert nodes == {"a1", "b2"}
    assert cluster["b2"].run("print(6 * 7)")["stdout"] == "42\n"


def test_an_id_leads_to_its_node(cluster):
    for node in ("a1", "b2"):
        made = on(cluster["a1"], node, "print('here')")
        for gateway in cluster.machines:
            assert gateway.get(f"/v1/runs/{made['id']}").json["stdout"] == "here\n"
    session = session_on(cluster["a1"], "b2")
    cluster["a1"].execute(session, "x = 41")
    assert cluster["b2"].execute(session, "print(x + 1)")["stdout"] == "42\n"
    assert cluster["a1"].call("DELETE", f"/v1/sessions/{session}").status == 204


def test_labels_choose(cluster):
    for _ in range(8):
        reply = cluster["a1"].post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": "gpu"})
        assert bus.node_of(reply.json["id"]) == "b2"
    reply = cluster["a1"].post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": "tape"})
    assert reply.status == 503 and reply.error["code"] == "unavailable" and reply.headers["retry-after"], reply


def test_the_engine_checks_the_token(cluster):
    for headers in ({"Authorization": None}, {"Authorization": "Bearer " + bus.TOKEN}):
        reply = cluster["a1"].post("/v1/run", {"code": "1"}, headers=headers)
        assert reply.status == 401 and reply.error["code"] == "auth", reply


def test_allowances_hold_on_all_machines_together(cluster):
    """Each engine counts, and the others learn of it with the heartbeats."""
    answer = cluster["a1"].who.call("token", "add", "counted", "--runs-per-minute", "10", env={"BELLJAR_TOKENS_FILE": str(cluster.directory / "tokens.toml")})
    headers = {"Authorization": "Bearer " + re.search(r"bj_\w+", answer.text)[0]}

    def used(machine):
        me = machine.engine.get("/v1/me", headers=headers)
        return me.json["used"]["runs_per_minute"] if me.status == 200 else 0

    wait_until(lambda: all(m.engine.get("/v1/me", headers=headers).status == 200 for m in cluster.machines), "the token is known")
    for number in range(8):
        node = ("a1", "b2")[number % 2]
        assert cluster["a1"].post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": node, **headers}).status == 200
    wait_until(lambda: all(used(m) > 6 for m in cluster.machines), "each machine knows of both")

    def is_used_up(node):
        reply = cluster["a1"].post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": node, **headers})
        return reply.status == 429 and "runs_per_minute" in reply.error["message"] and reply.headers["retry-after"] and reply

    wait_until(lambda: is_used_up("a1"), "the allowance is used up")
    assert is_used_up("a1") and wait_until(lambda: is_used_up("b2"), "there, too")


def test_the_socket_of_the_cluster_believes_nobody(cluster):
    """Its own user needs a token there, and none on the usual socket of the same server."""
    machine = cluster["a1"]

    def status(path, *more):
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path, *more, "http://localhost/v1/stats"]
        return int(subprocess.run(command, capture_output=True, check=True, **machine.who.identity()).stdout)

    assert status(machine.engine.socket) == 200
    assert status(machine.cluster_socket) == 401
    assert status(machine.cluster_socket, "-H", f"Authorization: Bearer {machine.token}") == 200


def test_the_socket_needs_tokens_at_all(callers):
    answer = callers["user"].call("serve", "--listen", "127.0.0.1:0", "--no-auth", env={"BELLJAR_CLUSTER_SOCKET": "/tmp/bj-none.sock"})
    assert answer.code == 77 and "cluster_socket" in answer.errors, answer


def test_room_is_told_to_the_node_alone(cluster):
    machine = cluster["a1"]
    room = machine.engine.call("GET", "/v1/cluster/room", connection=UnixConnection(machine.cluster_socket, 20))
    assert room.status == 200 and room.json["node"] == "a1" and room.json["room"] > 0, room
    assert machine.engine.get("/v1/cluster/room").status == machine.engine.post("/v1/cluster/room", {"nodes": {}}).status == 404
    assert machine.post("/v1/cluster/room", {"nodes": {}}).status == 404
    for path in ("/v1/cluster/room", "/v1/cluster/room?x", "/v1/cluster/"):
        assert machine.get(path).status == 404, path


def test_events_come_as_they_happen(cluster):
    stream = cluster["a1"].stream("POST", "/v1/run", {"code": "print('first', flush=True)\nimport sys\nsys.stdin.read()\nprint('last')", "stdin": ""})
    names = [name for _, name, _ in stream]
    assert names[0] == "start" and names[-1] == "result" and "stdout" in names
    session = session_on(cluster["a1"], "b2")
    run = cluster["a1"].post(f"/v1/sessions/{session}/execute", {"code": "print('x', flush=True)\nimport time\ntime.sleep(600)", "detach": True}).json["id"]
    follow = cluster["a1"].stream("GET", f"/v1/runs/{run}/follow")
    assert follow.until("stdout")[2]["text"] == "x\n"
    follow.close()
    cluster["a1"].call("DELETE", f"/v1/sessions/{session}")


def begin_and_leave(machine, node):
    """A connection with a request that runs on that node, and the id of the run."""
    mark = uuid.uuid4().hex
    c = machine.connect()
    body = json.dumps({"code": f"mark = '{mark}'\nimport time\ntime.sleep(600)"})
    c.request("POST", "/v1/run", body, machine.headers({"Content-Type": "application/json", "Belljar-Node-Label": node.name}))

    def ours():
        runs = node.engine.get("/v1/runs?state=live").json["runs"]
        return next((r["id"] for r in runs if r["state"] == "running" and mark in r["code"]), None)

    return c, wait_until(ours, "it runs")


def test_a_client_that_leaves_cancels(cluster):
    c, run = begin_and_leave(cluster["a1"], cluster["b2"])
    c.close()
    wait_until(lambda: state_of(cluster["b2"], run) == "cancelled", "it was cancelled")


def state_of(machine, run):
    runs = machine.engine.get("/v1/runs").json["runs"]
    return next(r["state"] for r in runs if r["id"] == run)


SERVER = """
import http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(32 << 20))
        self.end_headers()
        for n in range(512):
            self.wfile.write(b"x" * 65536)
            open("n", "w").write(str(n))
threading.Thread(target=http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever, daemon=True).start()
"""


def test_a_slow_client_stops_the_program(cluster):
    """Whoever reads nothing gets nothing more than the sockets on the way hold, and then the rest, whole."""
    machine = cluster["a1"]
    session = session_on(machine, "b2", ports=["8000"])
    machine.execute(session, SERVER)
    c = machine.connect()
    c.request("GET", f"/v1/sessions/{session}/ports/8000/", headers=machine.headers())

    def written():
        reply = machine.get(f"/v1/sessions/{session}/files/n")
        return int(reply.body or 0) if reply.status == 200 else 0

    def is_still():
        before = written()
        time.sleep(0.3)
        return before and before == written() and before

    assert wait_until(is_still, "the program stands still") < 256
    body = c.getresponse().read()
    assert (len(body), body.strip(b"x")) == (32 << 20, b"")
    c.close()
    machine.call("DELETE", f"/v1/sessions/{session}")


def test_files_of_any_size(cluster):
    machine = cluster["a1"]
    session = session_on(machine, "b2")
    data = os.urandom(20_000_001)
    peak = memory_of(machine)
    assert machine.call("PUT", f"/v1/sessions/{session}/files/big", data, {"Content-Type": None}).json["size"] == len(data)
    assert machine.get(f"/v1/sessions/{session}/files/big").body == data
    assert memory_of(machine) - peak < 12 << 20
    part = machine.get(f"/v1/sessions/{session}/files/big", headers={"Range": "bytes=5-9"})
    assert part.status == 206 and part.body == data[5:10]
    head = machine.call("HEAD", f"/v1/sessions/{session}/files/big")
    assert head.status in (200, 405) and head.body == b""
    machine.call("DELETE", f"/v1/sessions/{session}")


def memory_of(machine):
    """Its highest, in bytes."""
    with open(f"/proc/{machine.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def test_a_body_in_chunks(cluster):
    machine = cluster["a1"]
    session = session_on(machine, "b2")
    with machine.open() as s:
        s.sendall(
            f"PUT /v1/sessions/{session}/files/c HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {machine.token}\r\n"
            "Expect: 100-continue\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        assert s.recv(4096).startswith(b"HTTP/1.1 100 ")
        s.sendall(b"5\r\nhello\r\n6\r\n there\r\n0\r\n\r\n")
        assert b'"size":11' in read_all(s)
    assert machine.get(f"/v1/sessions/{session}/files/c").body == b"hello there"
    machine.call("DELETE", f"/v1/sessions/{session}")


def test_terminals(cluster):
    machine = cluster["a1"]
    session = session_on(machine, "b2")
    command = machine.post(f"/v1/sessions/{session}/commands", {"command": "cat", "pty": {"cols": 80, "rows": 24}, "background": True}).json["id"]
    terminal = WebSocket(machine, f"/v1/sessions/{session}/commands/{command}/terminal")
    terminal.send(b"hello\n")
    said = b""
    while b"hello\r\nhello\r\n" not in said:
        said += terminal.read_frame()[1]
    terminal.socket.close()
    machine.call("DELETE", f"/v1/sessions/{session}")


def test_many_at_once(cluster):
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        results = list(pool.map(lambda i: cluster.machines[i % 2].run(f"print({i})")["stdout"], range(120)))
    assert results == [f"{i}\n" for i in range(120)]


def test_mcp_sessions_stay(cluster):
    machine = cluster["a1"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    accept = {"Accept": "application/json, text/event-stream"}
    first = machine.post("/mcp", hello, headers=accept)
    assert first.status == 200, first
    session = {"Mcp-Session-Id": first.headers["mcp-session-id"], **accept}
    assert cluster["b2"].post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session).status == 202
    for gateway in cluster.machines:
        tools = gateway.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
        assert tools.status == 200 and b"tools" in tools.body, tools


# --- what breaks ---


def test_a_session_of_a_lost_node(own):
    session, other = session_on(own["a1"], "b2"), session_on(own["a1"], "a1")
    own["a1"].execute(other, "x = 1")
    own["b2"].kill_bus()
    reply = own["a1"].get(f"/v1/sessions/{session}")
    bus.sleep_past_loss()
    for path in (f"/v1/sessions/{session}", f"/v1/sessions/{session}/files"):
        reply = own["a1"].get(path)
        assert reply.status == 410 and reply.error["code"] == "session_lost" and reply.error["hint"], reply
    assert own["a1"].execute(other, "print(x)")["stdout"] == "1\n"
    assert {bus.node_of(own["a1"].run("1")["id"]) for _ in range(8)} == {"a1"}
    own["b2"].start_bus()
    wait_until(lambda: own["a1"].get(f"/v1/sessions/{session}").status == 200, "the session is found again")


def test_a_node_that_is_lost_while_it_runs(own):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(own["a1"].post, "/v1/run", {"code": "import time; time.sleep(600)"}, headers={"Belljar-Node-Label": "b2"})
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "it runs")
        own["b2"].kill_bus()
        reply = run.result(30)
    assert reply.status == 502 and reply.error["code"] == "node_lost" and "may have run" in reply.error["hint"], reply
    wait_until(lambda: not any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "it was cancelled")


@pytest.mark.parametrize("what", ["kill_bus", "kill_engine"])
def test_what_may_run_twice_is_run_again(own, what):
    own["a1"].engine.run("1")
    headers = {"Belljar-Repeatable": "true"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        code = "import time; time.sleep(2); print('done')"
        runs = [pool.submit(own["a1"].post, "/v1/run", {"code": code}, headers=headers) for _ in range(8)]
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "some run there")
        getattr(own["b2"], what)()
        replies = [r.result(60) for r in runs]
    assert {r.status for r in replies} == {200} and {bus.node_of(r.json["id"]) for r in replies} == {"a1"}, replies


def test_a_stopped_node_costs_a_moment(own):
    """It is asked, is silent, and another one runs the program. What it hears later does not begin."""
    own["b2"].process.send_signal(signal.SIGSTOP)
    assert {bus.node_of(own["a1"].run("1")["id"]) for _ in range(12)} == {"a1"}
    before = len(own["b2"].engine.get("/v1/runs").json["runs"])
    own["b2"].process.send_signal(signal.SIGCONT)
    wait_until(lambda: "b2" in {bus.node_of(own["a1"].run("1")["id"]) for _ in range(4)}, "it takes work again")
    ran = [r for r in own["b2"].engine.get("/v1/runs").json["runs"]]
    assert len(ran) - before <= 8 and all(r["state"] == "success" for r in ran), ran


def test_an_engine_that_ends(own):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(own["a1"].post, "/v1/run", {"code": "import time; time.sleep(600)"}, headers={"Belljar-Node-Label": "b2"})
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "it runs")
        own["b2"].kill_engine()
        reply = run.result(30)
    assert reply.status == 502 and reply.error["code"] == "engine_lost", reply
    assert {bus.node_of(own["a1"].run("1")["id"]) for _ in range(8)} == {"a1"}


def test_the_bus_goes_and_comes(own):
    """A run is not lost with a server of the bus, and requests without one are answered at once."""
    machine = own["a1"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(machine.post, "/v1/run", {"code": "import time; time.sleep(1.5); print('there')"})
        wait_until(lambda: any(r["state"] == "running" for m in own.machines for r in m.engine.get("/v1/runs").json["runs"]), "it runs")
        own.nats.kill()
        own.nats.start()
        reply = run.result(30)
    assert reply.status == 200 and reply.json["stdout"] == "there\n", reply
    own.nats.kill()
    wait_until(lambda: (r := machine.post("/v1/run", {"code": "1"})).status == 503 and r.headers["retry-after"] and r, "it says so")
    own.nats.start()
    wait_until(lambda: machine.post("/v1/run", {"code": "1"}).status == 200, "it goes on")


def test_a_gateway_that_dies_cancels(own):
    c, run = begin_and_leave(own["a1"], own["b2"])
    own["a1"].kill_bus()
    wait_until(lambda: state_of(own["b2"], run) == "cancelled", "it was cancelled")
    c.close()


def test_draining(own):
    own["b2"].process.send_signal(signal.SIGTERM)
    wait_until(lambda: own["b2"].process.poll() == 0, "it ends by itself")
    assert {bus.node_of(own["a1"].run("1")["id"]) for _ in range(8)} == {"a1"}


# --- names, lists ---


@pytest.fixture(scope="module", params=["bucket", "hash"])
def named(request, callers, tmp_path_factory):
    """With JetStream, in which names are kept, and without."""
    store = tmp_path_factory.mktemp("js")
    with bus.Cluster(callers["user"], names=("a1", "b2", "c3"), nats=("-js", "-sd", str(store)) if request.param == "bucket" else ()) as cluster:
        yield cluster


def test_a_name_has_one_session(named):
    for number in range(6):
        name = f"trial-{number}"
        made = named.machines[number % 3].post("/v1/sessions", {"name": name})
        assert made.status == 201, made
        named["a1"].execute(name, f"x = {number}")
        for gateway in named.machines:
            assert gateway.get(f"/v1/sessions/{name}").json["session_id"] == made.json["session_id"]
            assert gateway.execute(name, "print(x)")["stdout"] == f"{number}\n"
    for number in range(6):
        assert named["b2"].call("DELETE", f"/v1/sessions/trial-{number}").status == 204
        wait_until(lambda n=number: named["c3"].get(f"/v1/sessions/trial-{n}").status == 404, "nobody has the name")


def test_many_who_open_one_name_get_one_session(named):
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        replies = list(pool.map(lambda i: named.machines[i % 3].post("/v1/sessions", {"name": "race"}), range(9)))
    made = {r.json["session_id"] for r in replies if r.status == 201}
    assert len(made) == 1 and {r.status for r in replies} <= {201, 400}, [(r.status, r.body) for r in replies]
    alive = [s["session_id"] for m in named.machines for s in m.engine.get("/v1/sessions").json["sessions"] if s["name"] == "race"]
    assert alive == list(made)
    named["a1"].call("DELETE", "/v1/sessions/race")


def test_a_name_is_no_part_of_a_head(named):
    """Whatever is in it: it is looked for as one path, and the engine says what it thinks of it."""
    for name in ("a b", "x HTTP/1.1\r\nHost: y\r\n\r\n", "../..", "x?y=1#z", "%00", "\u00e9"):
        reply = named["a1"].post("/v1/sessions", {"name": name})
        own = named["a1"].engine.post("/v1/sessions", {"name": name})
        assert reply.status == own.status or {reply.status, own.status} == {201, 400}, (name, reply, own)
        for machine in named.machines:
            for s in machine.engine.get("/v1/sessions").json["sessions"]:
                machine.engine.call("DELETE", f"/v1/sessions/{s['session_id']}")


def test_a_session_that_no_gateway_opened_is_found(named):
    made = named["b2"].engine.post("/v1/sessions", {"name": "local"})
    assert made.status == 201
    for gateway in named.machines:
        assert gateway.get("/v1/sessions/local").json["session_id"] == made.json["session_id"]
    again = named["a1"].post("/v1/sessions", {"name": "local"})
    assert again.status == 400 and "is open" in again.error["message"], again
    named["a1"].call("DELETE", "/v1/sessions/local")


def test_lists_are_of_all_nodes(named):
    made = [on(named["a1"], node, f"print({node!r})")["id"] for node in ("a1", "b2", "c3", "a1")]
    for gateway in named.machines:
        listed = [r["id"] for r in gateway.get("/v1/runs").json["runs"]]
        assert listed[:4] == made[::-1]
    assert [r["id"] for r in named["a1"].get("/v1/runs?limit=2").json["runs"]] == made[:1:-1]
    assert named["a1"].get("/v1/runs?limit=x").status == 400
    assert named["a1"].get("/v1/runs", headers={"Authorization": None}).status == 401


def test_a_list_says_who_is_missing(own):
    on(own["a1"], "b2", "1")
    own["b2"].engine.process.send_signal(signal.SIGSTOP)
    try:
        listed = own["a1"].get("/v1/runs").json
        assert listed["nodes_missing"] == ["b2"] and all(bus.node_of(r["id"]) == "a1" for r in listed["runs"])
    finally:
        own["b2"].engine.process.send_signal(signal.SIGCONT)


def test_a_key_runs_once_wherever_it_is_sent(named):
    for number in range(4):
        body, headers = {"code": "import random; print(random.random())"}, {"Idempotency-Key": f"key-{number}"}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda i, b=body, h=headers: named.machines[i % 3].post("/v1/run", b, headers=h), range(6)))
        assert {r.status for r in replies} == {200} and len({r.json["stdout"] for r in replies}) == 1, replies


def test_a_key_of_a_lost_node_runs_again(own):
    for number in range(6):
        own["a1"].post("/v1/run", {"code": "1"}, headers={"Idempotency-Key": f"lost-{number}"})
    own["b2"].kill_bus()
    bus.sleep_past_loss()
    for number in range(6):
        reply = own["a1"].post("/v1/run", {"code": "1"}, headers={"Idempotency-Key": f"lost-{number}"})
        assert reply.status == 200 and bus.node_of(reply.json["id"]) == "a1", reply


def test_sandboxes_of_e2b_lead_to_their_node(cluster):
    machine = cluster["a1"]
    key = {"X-Api-Key": machine.token.replace("bj_", "e2b_", 1), "Authorization": None}
    for _ in range(4):
        made = machine.post("/e2b/sandboxes", {"templateID": "base"}, headers=key)
        assert made.status == 201, made
        name = made.json["sandboxID"]
        assert re.fullmatch(r"[0-9a-z]{26}-(a1|b2)", name)
        for gateway in cluster.machines:
            for path in (name, f"{name}-{made.json['clientID']}"):
                assert gateway.get(f"/e2b/sandboxes/{path}", headers=key).json["sandboxID"] == name
            health = gateway.get("/health", headers={"Host": f"49983-{name}.localhost", **key})
            assert health.status in (200, 204), health
        assert cluster["b2"].call("DELETE", f"/e2b/sandboxes/{name}", headers=key).status == 204


def test_what_each_node_keeps_is_not_changed_by_a_gateway(cluster):
    for method, path in (("POST", "/v1/tokens"), ("DELETE", "/v1/tokens/x")):
        reply = cluster["a1"].call(method, path, {})
        assert reply.status == 501 and reply.error["code"] == "unsupported", reply


def test_without_jetstream_skills_are_not_changed(cluster):
    reply = cluster["a1"].call("PUT", "/v1/skills/x", b"x = 1\n", headers={"Content-Type": "text/x-python"})
    assert reply.status == 501 and "JetStream" in reply.error["message"] and reply.error["hint"], reply
    reply = cluster["a1"].post("/v1/states", {"name": "x"})
    assert reply.status == 501 and "JetStream" in reply.error["message"], reply
    assert cluster["a1"].get("/v1/skills").status == cluster["b2"].get("/v1/states").status == 200


def test_profiles_that_a_node_serves(callers):
    with bus.Cluster(callers["user"], nodes={"b2": 'profiles = ["python-safe", "data"]\n', "a1": 'profiles = ["open"]\n'}) as cluster:
        for _ in range(6):
            assert bus.node_of(cluster["a1"].run("1", profile="open")["id"]) == "a1"
            made = cluster["b2"].post("/v1/sessions", {"profile": "open"})
            assert bus.node_of(made.json["session_id"]) == "a1"
            keyed = cluster["a1"].post("/v1/run", {"code": "1", "profile": "open"}, headers={"Idempotency-Key": f"p{_}"})
            assert bus.node_of(keyed.json["id"]) == "a1"
        reply = cluster["a1"].post("/v1/run", {"code": "1", "profile": "nowhere"})
        assert reply.status == 503, reply


def test_kernels_of_jupyter_are_found(cluster):
    made = {cluster["a1"].post("/jupyter/api/kernels", {"name": "python3"}).json["id"] for _ in range(4)}
    for gateway in cluster.machines:
        assert {k["id"] for k in gateway.get("/jupyter/api/kernels").json} >= made
        for kernel in made:
            assert gateway.get(f"/jupyter/api/kernels/{kernel}").json["id"] == kernel
    for kernel in made:
        assert cluster["b2"].call("DELETE", f"/jupyter/api/kernels/{kernel}").status == 204
        assert cluster["a1"].get(f"/jupyter/api/kernels/{kernel}").status == 404
