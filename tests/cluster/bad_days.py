"""Bad days of an operator, one by one: each gives a clear message, nothing is lost that need not be, and nothing hangs.

`tests/cluster/run.py` runs them, all on one cluster of three machines; after each it has to be as before.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
from contextlib import contextmanager

from bus import Bus
from machines import HANG_SECONDS, Background, socket_in, wait_until

YEARS = 5 * 365 * 86400


def error_of(reply):
    return reply.status, reply.json["error"]["code"]


@contextmanager
def session_on(cluster, name):
    """A session on that machine with x = 42; at the end it still has it."""
    machine = cluster.by_name[name]
    for _ in range(60):
        reply = machine.call("POST", "/v1/sessions", {})
        assert reply.status == 201, reply
        session = reply.json["session_id"]
        if session.endswith(f"-{name}"):
            break
        machine.call("DELETE", f"/v1/sessions/{session}")
    else:
        raise AssertionError(f"no session began on {name}")
    assert machine.execute(session, "x = 42").json["status"] == "success"
    yield session
    reply = wait_until(lambda: (r := machine.execute(session, "print(x)")).status == 200 and r, f"the session on {name} answers")
    assert reply.json["stdout"] == "42\n", reply
    machine.call("DELETE", f"/v1/sessions/{session}")


@contextmanager
def other_settings(machine, change):
    """A copy of the machine's settings that was changed."""
    place = machine.dir / "other"
    shutil.copytree(machine.settings, place)
    try:
        text = (place / "cluster.toml").read_text().replace(str(machine.settings), str(place))
        (place / "cluster.toml").write_text(change(text, place))
        yield place
    finally:
        shutil.rmtree(place)


@contextmanager
def role_with(machine, role, place):
    """A node or gateway that is started with those settings instead of its own."""
    machine.stop(role)
    log = place / "role.log"
    with open(log, "wb") as file:
        command = [str(machine.cluster.belljar), "cluster", role, "--config", str(place / "cluster.toml")]
        process = machine.spawn(command, machine.environment(role), file)
    try:
        yield process, lambda: log.read_text(errors="replace")
    finally:
        process.terminate()
        status = process.wait(timeout=HANG_SECONDS)
        machine.start(role)
        machine.cluster.wait_ready()
    assert status in (0, 77), f"{role} ended with {status}: {log.read_text()}" if log.exists() else status


@contextmanager
def beating(bus, subject, beat):
    """Heartbeats, again and again."""
    is_over = threading.Event()

    def send():
        while not is_over.wait(0.2):
            bus.publish(subject, json.dumps(beat | {"clock_ms": int(time.time() * 1000)}).encode())

    thread = Background(send)
    try:
        yield
    finally:
        is_over.set()
        thread.end()


# --- settings and certificates ---


def a_wrong_address_of_the_bus(cluster):
    machine = cluster.machines[1]
    with session_on(cluster, "a1") as session:
        with other_settings(machine, lambda text, _: re.sub(r"servers = .*", f'servers = ["tls://{machine.address}:4999"]', text)) as place:
            answer = machine.call_cluster("status", config=place / "cluster.toml")
            assert answer.returncode == 71 and f"{machine.address}:4999" in answer.stderr and "hint:" in answer.stderr, answer
            with role_with(machine, "gateway", place) as (process, log):
                wait_until(lambda: "listening" in log(), "the gateway listens even so")
                wait_until(lambda: f"{machine.address}:4999" in log() and "no server answers at this address" in log() and "firewall" in log(), "its log says why")
                began = time.monotonic()
                reply = machine.run("print(1)")
                assert error_of(reply) == (503, "unavailable") and reply.headers["retry-after"], reply
                assert error_of(machine.execute(session, "print(1)"))[0] == 503
                assert time.monotonic() - began < HANG_SECONDS / 4
                assert process.poll() is None, "it gave up"


def certificates_of_another_authority(cluster):
    machine = cluster.machines[1]

    def change(text, place):
        other = place / "made"
        machine.cluster.must(machine.call_cluster("join", "--first", "--name", machine.name, "--address", machine.address, "--dir", other))
        for name in ("ca.pem", "node.pem", "node.key", "gateway.pem", "gateway.key", "operator.pem", "operator.key"):
            shutil.copy(other / name, place / name)
        return text

    with other_settings(machine, change) as place:
        answer = machine.call_cluster("status", config=place / "cluster.toml")
        assert answer.returncode == 76 and "TLS" in answer.stderr and "authority" in answer.stderr, answer
        checked = machine.call_cluster("join", "--check", "--dir", place)
        assert checked.returncode == 76 and checked.stderr.count("hint:") == 1, checked
        with role_with(machine, "node", place) as (process, log):
            assert error_of(machine.call("GET", "/v1/runs/run_0123456789ABCDEFGHJKMNPQRS-a2"))[0] in (410, 503)
            assert machine.run("print(1)").status == 200, "the others go on"
            wait_until(lambda: process.poll() is not None or "TLS with the server" in log() and "ca.pem" in log(), "its log says why")
            # The server may refuse it at once: then it ends and says so, and whoever watches it starts it again.
            ended = process.poll()
            assert ended is None or (ended == 77 and "join --check" in log()), (ended, log())


def a_machine_that_the_server_does_not_know(cluster):
    """Its certificates are of the right authority, and machines.conf has not arrived."""
    first, machine = cluster.machines[0], cluster.machines[1]
    place = machine.dir / "unknown"
    cluster.must(first.call_cluster("join", "--add", "b9", "--address", "10.77.0.99", "--dir", first.settings, "--output", cluster.dir / "b9.join"))
    try:
        joined = json.loads((cluster.dir / "b9.join").read_text())
        place.mkdir()
        (place / "ca.pem").write_text(joined["ca"])
        (place / "operator.pem").write_text(joined["gateway"]["cert"])
        (place / "operator.key").write_text(joined["gateway"]["key"])
        (place / "cluster.toml").write_text(f'name = "b9"\n[bus]\nservers = ["tls://{machine.address}:4222"]\nca = "{place}/ca.pem"\n')
        answer = machine.call_cluster("status", config=place / "cluster.toml")
        assert answer.returncode == 77 and "does not know this certificate" in answer.stderr and "machines.conf" in answer.stderr, answer
    finally:
        shutil.rmtree(place, ignore_errors=True)


def a_machine_that_is_taken_out_and_put_back(cluster):
    """Its processes end, and whoever watches them starts them again: when they are known again, they find the others."""
    machine, other = cluster.machines[1], cluster.machines[0]
    whole = (machine.settings / "machines.conf").read_text()

    def write(text):
        for m in cluster.machines:
            (m.settings / "machines.conf").write_text(text)
            m.signal("server", signal.SIGHUP)

    with session_on(cluster, "a2"):
        write(whole.replace('"CN=node.a2"', '"CN=node.zz"').replace('"CN=gateway.a2"', '"CN=gateway.zz"'))
        try:
            for role in ("node", "gateway"):
                assert machine.processes[role].wait(timeout=HANG_SECONDS) == 77
                assert "machines.conf" in machine.log(role)[-700:] and "join --check" in machine.log(role)[-700:], machine.log(role)
            machine.start("node")
            assert machine.processes["node"].wait(timeout=HANG_SECONDS) == 77
            assert other.run("print(1)").status == 200
        finally:
            write(whole)
            # They are started again and again, as systemd does it.
            wait_until(lambda: machine.start("node", "gateway") or time.sleep(1) or all(machine.processes[w].poll() is None for w in ("node", "gateway")),
                       "they are known again")  # fmt: skip
            # nats-server delivers nothing to users that were taken out and put back until it is restarted, as the guide says.
            machine.stop("server")
            machine.start("server")
            cluster.wait_ready()
            for gateway in cluster.machines:
                for node in cluster.machines:
                    wait_until(lambda g=gateway, n=node: g.run("print(1)", {"Belljar-Node-Label": n.name}).status == 200, f"{gateway.name} reaches {node.name}")


def a_clock_that_is_off(cluster):
    machine = cluster.machines[1]
    clock = {"LD_PRELOAD": str(cluster.clock_library), "CLOCK_FILE": str(machine.clock)}

    def check():
        return machine.call_cluster("join", "--check", "--dir", machine.settings, env=clock)

    assert check().returncode == 0, check()
    for offset, word in ((3590, "ahead of"), (-3590, "behind")):
        machine.clock.write_text(str(offset))
        wait_until(lambda: abs(cluster.machines[0].status()["node a2"]["clock_off_ms"]) > 3_000_000, "its heartbeats have that clock")
        # Heartbeats of the others are off, seen from here, and the check says so.
        answer = check()
        assert answer.returncode == 64 and "clocks" in answer.stderr and "NTP" in answer.stderr, answer
        told = cluster.machines[0].call_cluster("status").stdout
        assert re.search(r"^a2 .* clock [+-]3[56]\d\d\.\d s", told, re.MULTILINE), told
        assert machine.run("print(1)").status == 200, "work does not depend on clocks"
    machine.clock.write_text(str(YEARS))
    try:
        answer = check()
        assert answer.returncode != 0 and "certificate" in answer.stderr, answer
    finally:
        machine.clock.write_text("0")
    wait_until(lambda: abs(cluster.machines[0].status()["node a2"]["clock_off_ms"]) < 30_000, "its clock is right again")


# --- names and versions ---


def a_name_that_is_taken(cluster):
    first, machine = cluster.machines[0], cluster.machines[1]
    answer = first.call_cluster("join", "--add", "a2", "--address", "10.77.0.98", "--dir", first.settings)
    assert answer.returncode == 64 and "`a2` is taken" in answer.stderr and machine.address in answer.stderr, answer
    # Its node runs: the file is not used a second time by mistake.
    place = machine.dir / "second"
    answer = machine.call_cluster("join", cluster.dir / "a2.join", "--dir", place)
    assert answer.returncode == 64 and "`a2` is taken" in answer.stderr and not place.exists(), answer
    answer = machine.call_cluster("join", cluster.dir / "a2.join", "--dir", machine.settings)
    assert answer.returncode == 64 and "--again" in answer.stderr, answer
    answer = first.call_cluster("join", cluster.dir / "a2.join", "--dir", place)
    assert answer.returncode == 64 and "does not have the address" in answer.stderr, answer


def two_nodes_with_one_name(cluster):
    """Both hear all requests. The second one waits, and takes over when the first is gone."""
    machine, other = cluster.machines[1], cluster.machines[2]
    log = machine.dir / "twin.log"

    def start_twin():
        with open(log, "wb") as file:
            return machine.spawn(machine.command("node"), machine.environment("node"), file)

    replies = []

    def runs_there():
        replies.append(other.run("print(1)", {"Belljar-Node-Label": "a2"}))
        return replies[-1].status == 200

    with session_on(cluster, "a2"):
        twin = start_twin()
        try:
            wait_until(lambda: other.status()["node a2"]["state"] == "twice", "the status says so")
            answer = other.call_cluster("join", "--check", "--dir", other.settings)
            assert answer.returncode == 64 and "two processes" in answer.stderr and "node a2" in answer.stderr, answer
            wait_until(lambda: "this one waits" in log.read_text() and "another name" in log.read_text(), "the second one says so")
            for _ in range(20):
                assert runs_there() or replies[-1].status in (429, 503), replies[-1]  # never begun by both
            machine.kill("node")
            wait_until(runs_there, "the second one takes over")
            machine.start("node")
            wait_until(lambda: "this one waits" in machine.log("node"), "now the other one waits")
            wait_until(runs_there, "it serves the node")
        finally:
            twin.terminate()
            twin.wait(timeout=HANG_SECONDS)
        wait_until(lambda: other.status()["node a2"]["state"] == "ready", "one is left")


def another_version(cluster):
    machine = cluster.machines[1]
    joined = json.loads((cluster.dir / "a2.join").read_text())
    joined["version"] = "9.9.9"
    file = cluster.dir / "newer.join"
    file.write_text(json.dumps(joined))
    place = machine.dir / "newer"
    answer = machine.call_cluster("join", file, "--dir", place)
    assert answer.returncode == 64 and "9.9.9" in answer.stderr and "--any-version" in answer.stderr and not place.exists(), answer
    # A node of another version is listed with it, and the others work with it.
    machine.stop("node")
    try:
        with Bus(machine, "node") as bus:
            beat = {"v": 1, "name": "a2", "instance": "00000000000000aa", "version": "9.9.9", "clock_ms": int(time.time() * 1000),
                    "draining": True, "engine": True, "room": 5, "news": {"of": ["a later version"]}}  # fmt: skip

            with beating(bus, "belljar.v1.alive.node.a2", beat):
                wait_until(lambda: cluster.machines[0].status().get("node a2", {}).get("version") == "9.9.9", "its version is listed")
                assert cluster.machines[0].run("print(1)").status == 200
    finally:
        machine.start("node")
        cluster.wait_ready()


def join_files_that_are_damaged(cluster):
    machine, place = cluster.machines[1], cluster.dir / "nowhere"
    whole = (cluster.dir / "a2.join").read_text()
    tree = json.loads(whole)
    cases = {
        "half.join": whole[: len(whole) // 2],
        "empty.join": "",
        "list.join": "[]",
        "other.join": '{"format": "something-else"}',
        "deep.join": "[" * 100000,
        "name.join": json.dumps(tree | {"name": "nobody"}),
        "quote.join": json.dumps(tree | {"machines": [{"name": 'a"2', "address": "10.0.0.1", "port": 1, "route_port": 1}]}),
        "address.join": json.dumps(tree | {"machines": [tree["machines"][1] | {"address": 'x"\n}'}]}),
        "port.join": json.dumps(tree | {"machines": [tree["machines"][1] | {"port": 70000}]}),
        "key.join": json.dumps(tree | {"node": tree["gateway"] | {"cert": tree["node"]["cert"]}}),
        "cert.join": json.dumps(tree | {"server": {"cert": "junk", "key": "junk"}}),
        "routes.join": json.dumps(tree | {"routes": 'x" }'}),
    }
    for name, text in cases.items():
        (cluster.dir / name).write_text(text)
        answer = machine.call_cluster("join", cluster.dir / name, "--dir", place, "--offline")
        assert answer.returncode in (64, 65) and name in answer.stderr and len(answer.stderr.splitlines()) <= 2 and not place.exists(), (name, answer)


def adding_a_machine_keeps_what_was_said_of_the_first(cluster):
    """Also what somebody wrote into its settings since."""
    machine, place = cluster.machines[0], cluster.dir / "kept"
    said = {"--store": "/a/store", "--listen": "127.0.0.1:9999", "--socket": "/a/socket"}
    words = [word for pair in said.items() for word in pair]
    cluster.must(machine.call_cluster("join", "--first", "--name", "k1", "--address", machine.address, "--dir", place, *words))

    def add(name, address):
        return cluster.must(machine.call_cluster("join", "--add", name, "--address", address, "--dir", place, "--output", cluster.dir / f"{name}.join"))

    add("k2", "10.77.0.2")
    assert "/a/store" in (place / "nats-server.conf").read_text() and "10.77.0.2:6222" in (place / "nats-server.conf").read_text()
    settings = (place / "cluster.toml").read_text()
    assert "127.0.0.1:9999" in settings and "/a/socket" in settings and "tls://10.77.0.2:4222" in settings, settings
    (place / "cluster.toml").write_text(settings + "# mine\n")
    assert "was edited" in add("k3", "10.77.0.3").stdout and (place / "cluster.toml").read_text() == settings + "# mine\n"
    assert "CN=node.k3" in (place / "machines.conf").read_text()


def options_that_are_wrong(cluster):
    machine = cluster.machines[0]
    place = ["--dir", str(cluster.dir / "nowhere")]
    for words, expected in (
        (["join"], "--first"),
        (["join", "--first", "--name", "a1"], "--address"),
        (["join", "--first", "--name", "A1", "--address", machine.address, *place], "invalid name"),
        (["join", "--first", "--name", "x", "--address", "a b", *place], "--address"),
        (["join", "--first", "--name", "x", "--address", "0.0.0.0", *place], "cannot reach"),
        (["join", "--first", "--name", "x", "--address", "192.0.2.7", *place], "does not have the address"),
        (["join", "--first", "--name", "x", "--address", machine.address, "--port", "0", *place], "expected a port"),
        (["join", "--first", "--name", "x", "--address", machine.address, "--dir", "relative"], "absolute"),
        (["join", "--first", "--name", "x", "--address", machine.address, "--dir", '/tmp/a"b'], "quotes"),
        (["join", "--first", "--add", "b"], "expected one of"),
        (["join", "--ca-cert", "x", "--first", "--name", "x", "--address", machine.address, *place], "belong together"),
        (["join", "--seed"], "--seed"),
        (["join", str(cluster.dir / "missing.join"), *place], "missing.join"),
        (["drain"], "name of a node"),
        (["drain", "nobody"], "no node `nobody`"),
        (["drain", "a.*"], "invalid name"),
        (["drain", "a1", "--wait", "soon"], "--wait"),
        (["undrain", "a1", "a2"], "a2"),
        (["status", "a1"], "a1"),
        (["status", "--colour"], "--colour"),
    ):
        answer = machine.call_cluster(*words)
        assert answer.returncode in (64, 66, 71) and expected in answer.stderr and answer.stderr.startswith("belljar: "), (words, answer)
    assert not (cluster.dir / "nowhere").exists()


def an_authority_of_ones_own(cluster):
    machine, place = cluster.machines[0], cluster.dir / "own"
    place.mkdir()
    for name, key in (("good", "P-256"), ("other", "P-256")):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{key}", "-nodes", "-days", "30", "-subj", f"/CN={name}",
                        "-keyout", place / f"{name}.key", "-out", place / f"{name}.pem"], check=True, capture_output=True)  # fmt: skip

    def join(cert, key):
        return machine.call_cluster("join", "--first", "--name", "x", "--address", machine.address, "--dir", place / "made",
                                    "--ca-cert", place / cert, "--ca-key", place / key)  # fmt: skip

    answer = join("good.pem", "other.key")
    assert answer.returncode == 64 and "not the key" in answer.stderr and not (place / "made").exists(), answer
    answer = join("good.key", "good.key")
    assert answer.returncode == 64 and not (place / "made").exists(), answer
    cluster.must(join("good.pem", "good.key"))
    for role in ("server", "node", "gateway", "operator"):
        subprocess.run(["openssl", "verify", "-CAfile", place / "good.pem", place / "made" / f"{role}.pem"], check=True, capture_output=True)
        mode = (place / "made" / f"{role}.key").stat().st_mode
        assert mode & 0o007 == 0, f"everybody may read {role}.key"
    assert (place / "made" / "ca").stat().st_mode & 0o077 == 0 and (place / "made" / "nats-server.conf").stat().st_mode & 0o007 == 0
    shutil.rmtree(place)


# --- the bus ---


def all_servers_of_the_bus_are_restarted(cluster):
    with session_on(cluster, "a1"), session_on(cluster, "a3"):
        for machine in cluster.machines:
            machine.kill("server")
        for machine in cluster.machines:
            began = time.monotonic()
            reply = wait_until(lambda: (r := machine.run("print(1)")).status == 503 and r, "503 while the bus is away")
            assert reply.headers["retry-after"] and time.monotonic() - began < HANG_SECONDS / 2, reply
        for machine in cluster.machines:
            machine.start("server")
        cluster.wait_ready()


def an_answer_outlives_its_server(cluster):
    """Gateway and node lose their server in the middle of an answer, and go on with it by another one: all of it arrives, once."""
    machine = cluster.machines[0]
    code = "import time\nfor i in range(300):\n    print(f'{i:05}' * 20, flush=True)\n    time.sleep(0.01)"
    headers = {"Belljar-Node-Label": "a1"}
    answers = []
    thread = Background(lambda: answers.append(machine.run(code, headers)))
    time.sleep(1)
    machine.kill("server")
    time.sleep(1)
    machine.start("server")
    thread.end()
    assert answers[0].status == 200 and answers[0].json["stdout"] == "".join(f"{i:05}" * 20 + "\n" for i in range(300)), answers
    cluster.wait_ready()


def take_home(cluster):
    """Restarts what is a guest at another machine's server, since its own was away: it begins with its own."""
    for machine in cluster.machines:
        for other in cluster.machines:
            guests = [which for which in machine.connected_to(other) if which in ("node", "gateway")] if other is not machine else []
            for which in guests:
                assert machine.stop(which) == [0]
                machine.start(which)
    cluster.wait_ready()
    for machine in cluster.machines:
        assert set(machine.connected_to(machine)) >= {"node", "gateway"}, f"{machine.name} is not at its own server"


def a_machine_that_is_cut_off(cluster):
    """Its own gateway must not say that sessions are lost: it cannot know. The other gateways do not hang."""
    take_home(cluster)
    machine, other = cluster.machines[1], cluster.machines[2]
    with session_on(cluster, "a2") as session, session_on(cluster, "a3"):
        machine.link_down()
        try:
            for _ in range(20):
                reply = other.execute(session, "print(x)")
                assert reply.status in (200, 410, 502, 503), reply
                assert other.run("print(1)").status == 200
                reply = machine.execute(session, "print(x)")
                assert reply.status != 410, f"a gateway that hears nobody says that a session is lost: {reply}"
                time.sleep(0.1)
        finally:
            machine.link_up()
        cluster.wait_ready()


def tokens_change_while_some_are_away(cluster):
    """Without one server of three the list goes on, and a machine that was cut off learns what was removed."""
    a1, a2, a3 = cluster.machines

    def token(machine, *words):
        answer = machine.call_cluster("token", *words)
        return answer if answer.returncode == 0 else None

    def status(machine, secret):
        return machine.run("1", {"Authorization": f"Bearer {secret}", "Belljar-Node-Label": machine.name}).status

    def are(machines, secret, expected):
        for machine in machines:
            wait_until(lambda m=machine: status(m, secret) == expected, f"{machine.name} answers {expected}")

    first = wait_until(lambda: token(a1, "add", "first"), "a token is added").stdout.strip()
    are(cluster.machines, first, 200)
    a2.kill("server")
    second = wait_until(lambda: token(a3, "add", "second"), "a token is added without a server").stdout.strip()
    are(cluster.machines, second, 200)
    a2.start("server")
    cluster.wait_ready()
    a3.link_down()
    try:
        wait_until(lambda: token(a1, "rm", "first"), "a token is removed without a machine")
        are([a1, a2], first, 401)
        assert "[first]" in (a3.dir / "tokens.toml").read_text()
    finally:
        a3.link_up()
    cluster.wait_ready()
    are([a3], first, 401)
    are(cluster.machines, second, 200)
    assert wait_until(lambda: token(a2, "rm", "second"), "a token is removed")
    are(cluster.machines, second, 401)


def a_node_that_is_restarted(cluster):
    """The engine has the sessions, so they outlive the node's process."""
    with session_on(cluster, "a2"):
        cluster.machines[1].kill("node")
        cluster.machines[1].start("node")
        cluster.wait_ready()
    with session_on(cluster, "a2"):
        assert cluster.machines[1].stop("node") == [0]
        cluster.machines[1].start("node")
        cluster.wait_ready()


def drain_waits_for_what_runs(cluster):
    first, machine = cluster.machines[0], cluster.machines[1]
    with session_on(cluster, "a2") as session:
        ident = machine.call("POST", f"/v1/sessions/{session}/execute", {"code": "import time\ntime.sleep(3)\nprint('whole')", "detach": True}).json["id"]
        answer = first.call_cluster("drain", "a2", "--wait", "1")
        assert answer.returncode == 75 and "left after 1 s" in answer.stderr, answer
        for _ in range(20):
            assert not first.run("print(1)").json["id"].endswith("-a2")
        # Its session goes on.
        assert first.execute(session, "print(x)").json["stdout"] == "42\n"
        answer = first.call_cluster("drain", "a2", "--wait", "60")
        assert answer.returncode == 0 and "nothing runs" in answer.stdout, answer
        assert wait_until(lambda: (r := first.call("GET", f"/v1/runs/{ident}").json).get("status") and r, "its end")["stdout"] == "whole\n"
        cluster.must(first.call_cluster("undrain", "a2"))
        wait_until(lambda: first.run("print(1)").json["id"].endswith("-a2"), "it takes work again")


def a_connection_that_is_kept(cluster):
    """Answers end behind their last byte, or with it: the next request on the same connection is answered either way."""
    near, far = cluster.machines[0], cluster.machines[1]
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    with session_on(cluster, "a1") as session:
        for machine in (near, far):
            connection = machine.connect()
            connection.connect()
            kept = connection.sock
            for number in range(150):
                connection.request("POST", f"/v1/sessions/{session}/execute", json.dumps({"code": f"print({number})"}), headers)
                response = connection.getresponse()
                assert json.loads(response.read())["stdout"] == f"{number}\n"
                assert connection.sock is kept, "the connection was closed"
            connection.close()


# --- strangers ---


def frame(kind, number=0, payload=b"", flags=0, exchange=7, instance=9, version=1, length=None):
    return struct.pack("<BBBBIQQQ", version, kind, flags, 0, len(payload) if length is None else length, instance, exchange, number) + payload


def garbage(rng):
    """Frames that are almost right, and bytes that are not."""
    yield b""
    yield rng.randbytes(31)
    yield rng.randbytes(1000)
    yield rng.randbytes(900_000)
    for kind in range(14):
        yield frame(kind, rng.randrange(4), rng.randbytes(rng.choice((0, 1, 4, 40, 60_000))), rng.randrange(256), rng.randrange(3), rng.randrange(3))
        yield frame(kind, length=2**32 - 1)
        yield frame(kind, number=2**64 - 1, payload=b"x" * 70_000)
        yield frame(kind, version=rng.randrange(256))
    for head in (b"", b"GET", b"GET / HTTP/1.1", b"GET /v1/cluster/room HTTP/1.1\r\n\r\n", b"POST /v1/run HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                 b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 9000 + b"\r\n", b"GET /\0 HTTP/1.1\r\n\r\n", rng.randbytes(300)):  # fmt: skip
        for flags in (0, 1):
            yield frame(1, 0, struct.pack("<I", flags) + head, 1, rng.randrange(2**32))
            yield frame(3, 0, head, 1, rng.randrange(2**32))


def frames_of_a_stranger(cluster):
    """Somebody has stolen the certificates of a2, and sends what it likes to the others."""
    thief = cluster.machines[1]
    rng = random.Random(cluster.seed)
    with session_on(cluster, "a1"), session_on(cluster, "a3"):
        pids = {which: cluster.machines[0].processes[which].pid for which in ("node", "gateway")}
        with Bus(thief, "gateway") as bus:
            for data in garbage(rng):
                bus.publish("belljar.v1.node.a1.a2", data)
            for data in garbage(rng):
                bus.publish("belljar.v1.alive.gate.a2", data)
            bus.flush()
            assert not bus.errors, bus.errors
        with Bus(thief, "node") as bus:
            for data in garbage(rng):
                bus.publish("belljar.v1.gate.a1.a2", data)
            for data in [*garbage(rng), b"{}", b"null", b"[" * 20000, b'{"v":1,"name":"a1"}', b'{"v":1,"name":"a2","instance":"00000000000000aa","room":9e999}',
                         json.dumps({"v": 1, "name": "a2", "instance": "0" * 16, "room": -(2**62), "labels": ["\x1b[2J" * 100]}).encode()]:  # fmt: skip
                bus.publish("belljar.v1.alive.node.a2", data)
            bus.flush()
            assert not bus.errors, bus.errors
        for which, pid in pids.items():
            assert cluster.machines[0].processes[which].poll() is None and cluster.machines[0].processes[which].pid == pid, f"{which} has ended"
        for machine in (cluster.machines[0], cluster.machines[2]):
            assert machine.run("print(6 * 7)").json["stdout"] == "42\n"
        told = cluster.machines[2].call_cluster("status").stdout
        assert "\x1b" not in told and "a1" in told, told


def a_node_that_answers_junk(cluster):
    """The node of a2 is a stranger who has its certificate: accepts work, and answers what it likes."""
    rng = random.Random(cluster.seed)
    gateway, thief = cluster.machines[0], cluster.machines[1]
    pid = gateway.processes["gateway"].pid
    thief.stop("node")
    heads = [b"", b"HTTP/1.1", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n\r\nmore", b"HTTP/1.1 999 \0\r\n\r\n", rng.randbytes(500), b"A: b\r\n" * 9000,
             b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
             b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: a\r\n b: c\r\n\r\n"]  # fmt: skip
    beat = {"v": 1, "name": "a2", "instance": "00000000000000aa", "version": "0", "draining": False, "engine": True, "room": 10**6}
    asked = []
    try:
        with Bus(thief, "node") as speaks, Bus(thief, "node") as hears, beating(speaks, "belljar.v1.alive.node.a2", beat):
            hears.subscribe("belljar.v1.node.a2.*")
            hears.flush()
            wait_until(lambda: gateway.status().get("node a2", {}).get("instance") == beat["instance"], "the stranger is heard")

            def client():
                while len(asked) < 3 * len(heads):
                    try:
                        asked.append(gateway.run("print(1)"))
                    except (http.client.HTTPException, ConnectionError) as mistake:
                        asked.append(mistake)  # an answer that was broken off

            thread = Background(client)
            answered = 0
            while thread.is_alive():
                hears.flush()
                for subject, data in hears.messages:
                    kind, (instance, exchange, _) = data[1], struct.unpack_from("<QQQ", data, 8)
                    to = f"belljar.v1.gate.{subject.rpartition('.')[2]}.a2"
                    if kind == 1:
                        hears.publish(to, frame(5, 0, struct.pack("<I", 1), 0, exchange, instance))
                    elif kind == 2:
                        hears.publish(to, frame(3, 0, heads[answered % len(heads)], answered % 2, exchange, instance))
                        hears.publish(to, frame(4, 1, rng.randbytes(10), 1, exchange, instance))
                        hears.publish(to, frame(9, 0, struct.pack("<I", 99), 0, exchange, instance))
                        answered += 1
                hears.messages.clear()
                time.sleep(0.01)
            thread.end()
        assert answered, "nothing was asked of the stranger"
        assert gateway.processes["gateway"].poll() is None and gateway.processes["gateway"].pid == pid, "the gateway has ended"
        for reply in asked:
            if not isinstance(reply, Exception):
                assert reply.status in (200, 502), reply
    finally:
        thief.start("node")
        cluster.wait_ready()


def subjects_of_others(cluster):
    """The certificate of one role of one machine can speak and hear for that alone."""
    thief = cluster.machines[1]
    for role, allowed, denied in (
        ("gateway", ["belljar.v1.node.a1.a2", "belljar.v1.alive.gate.a2"],
         ["belljar.v1.node.a1.a3", "belljar.v1.gate.a1.a2", "belljar.v1.alive.node.a2", "belljar.v1.alive.gate.a1", "belljar.v1.order.a1", "$SYS.REQ.SERVER.PING", "x",
          "$JS.API.STREAM.DELETE.KV_belljar_names", "$JS.API.STREAM.PURGE.KV_belljar_names", "$JS.API.STREAM.CREATE.other"]),
        ("node", ["belljar.v1.gate.a1.a2", "belljar.v1.alive.node.a2"],
         ["belljar.v1.gate.a1.a3", "belljar.v1.node.a1.a2", "belljar.v1.alive.node.a1", "belljar.v1.alive.gate.a2", "belljar.v1.order.a2", "_INBOX.x",
          "belljar.v1.tokens.changed", "belljar.v1.tokens.node.a1", "$KV.belljar_tokens.all", "$JS.API.STREAM.CREATE.KV_belljar_tokens",
          "$JS.API.CONSUMER.CREATE.KV_belljar_tokens"]),
        ("operator", ["belljar.v1.order.zz"], ["belljar.v1.node.a1.a2", "belljar.v1.gate.a1.a2", "belljar.v1.alive.node.a1"]),
    ):  # fmt: skip
        with Bus(thief, role) as bus:
            for subject in allowed:
                bus.publish(subject, b"?")
            assert not bus.flush().errors, (role, bus.errors)
            for subject in denied:
                bus.publish(subject, b"?")
            assert len(bus.flush().errors) == len(denied), (role, denied, bus.errors)
    for role, denied in (
        ("gateway", ["belljar.v1.gate.a1.*", "belljar.v1.node.a2.*", "belljar.v1.order.*", ">", "belljar.v1.gate.*.a1", "$JS.API.>"]),
        ("node", ["belljar.v1.node.a1.*", "belljar.v1.gate.a2.*", "belljar.v1.order.a1", ">", "belljar.v1.node.*.a1"]),
        ("operator", ["belljar.v1.node.*.*", "belljar.v1.gate.*.*", ">"]),
    ):  # fmt: skip
        with Bus(thief, role) as bus:
            for number, subject in enumerate(denied):
                bus.subscribe(subject, number + 1)
            assert len(bus.flush().errors) == len(denied), (role, denied, bus.errors)
    cluster.wait_ready()


def a_thief_reads_no_sessions(cluster):
    """All keys of a2 are in a stranger's hands: it hears nothing that is for other machines, and without a token it gets nothing."""
    thief, victim = cluster.machines[1], cluster.machines[0]
    with session_on(cluster, "a1") as session, Bus(thief, "node") as node, Bus(thief, "gateway") as gateway:
        for number, subject in enumerate(("belljar.v1.node.a1.*", "belljar.v1.gate.a1.*", "belljar.v1.node.*.a1", ">")):
            node.subscribe(subject, number + 1)
            gateway.subscribe(subject, number + 1)
        assert len(node.flush().errors) == 4 and len(gateway.flush().errors) == 4, (node.errors, gateway.errors)
        secret = f"secret-{random.randrange(10**9)}"
        assert victim.execute(session, f"x = 42\nprint('{secret}')").json["stdout"] == f"{secret}\n"
        # As its own gateway it may ask every node. The engine there asks for a token, whoever asks.
        gateway.subscribe("belljar.v1.gate.a2.*", 9)
        for number, (method, path) in enumerate((("GET", f"/v1/sessions/{session}"), ("GET", "/v1/runs"), ("GET", "/v1/events"), ("GET", "/v1/cluster/room"))):
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            gateway.publish("belljar.v1.node.a1.a2", frame(1, 0, struct.pack("<I", 0) + head, 1, 10**6 + number))

        def answers():
            gateway.flush()
            heads = [data for subject, data in gateway.messages if subject.endswith(".a1")]
            return heads if len(heads) >= 4 else None

        told = b"".join(wait_until(answers, "the node answers"))
        assert told.count(b"HTTP/1.1 401") == 3 and b"HTTP/1.1 200" not in told, told  # the last one is not passed on
        for bus in (node, gateway):
            assert not any(secret.encode() in data for _, data in bus.flush().messages)


def a_node_is_no_server(cluster):
    """A certificate of the right authority does not make a route: servers have a password, too."""
    machine = cluster.machines[1]
    place = machine.dir / "rogue"
    place.mkdir()
    try:
        (place / "nats.conf").write_text(
            f'server_name: rogue\nlisten: "127.0.0.1:4777"\ncluster {{ name: belljar, listen: "127.0.0.1:6777"\n'
            f'  tls {{ cert_file: "{machine.settings}/node.pem", key_file: "{machine.settings}/node.key", ca_file: "{machine.settings}/ca.pem", timeout: 5 }}\n'
            f'  routes = ["nats-route://server:wrong@{cluster.machines[0].address}:6222"] }}\n'
        )
        with open(place / "log", "wb") as log:
            rogue = machine.spawn(["nats-server", "-c", str(place / "nats.conf")], machine.environment("server"), log)
        try:
            wait_until(lambda: "uthoriz" in (place / "log").read_text(), "the server refuses the route", 20)
        finally:
            rogue.kill()
            rogue.wait()
    finally:
        shutil.rmtree(place)


def a_sandbox_does_not_reach_the_bus(cluster):
    machine = cluster.machines[0]
    addresses = [(m.address, port) for m in cluster.machines for port in (4222, 6222)] + [("127.0.0.1", 4222), ("127.0.0.1", 8322)]
    code = f"""
import os, socket
reached = []
for address in {addresses!r}:
    try:
        socket.create_connection(address, 1).close()
        reached.append(address)
    except OSError:
        pass
for path in {[str(machine.settings / name) for name in ("node.key", "gateway.key", "cluster.toml", "nats-server.conf")] + [str(machine.dir / "engine.sock")]!r}:
    if os.path.exists(path):
        reached.append(path)
print(reached)
"""
    for profile in ("standard", "open"):
        reply = machine.run(code, profile=profile)
        assert reply.status == 200 and (reply.json["status"] == "refused" or reply.json["stdout"] == "[]\n"), reply
    # The addresses are right: this machine reaches them.
    with socket_in(machine.namespace) as s:
        assert s.connect_ex((machine.address, 4222)) == 0


# --- the demo ---


def the_demo(cluster):
    """Runs on loopback of this test's own namespace, beside the machines."""
    machine = cluster.machines[0]
    before = set(os.listdir("/tmp"))
    answer = subprocess.run(["nsenter", f"--net=/run/netns/{machine.namespace}", str(cluster.belljar), "cluster", "demo"],
                            env=machine.environment("demo"), capture_output=True, text=True, timeout=4 * HANG_SECONDS)  # fmt: skip
    assert answer.returncode == 0, answer
    assert "which has this session, is gone" in answer.stdout and answer.stdout.count("x is 111") == 2 and answer.stdout.count("x is 333") == 2, answer.stdout
    assert "3 of 3 nodes take work" in answer.stdout.rpartition("started again")[2], answer.stdout
    assert not {name for name in os.listdir("/tmp") if name.startswith("belljar-demo-")} - before


TESTS = [
    a_wrong_address_of_the_bus, certificates_of_another_authority, a_machine_that_the_server_does_not_know, a_machine_that_is_taken_out_and_put_back, a_clock_that_is_off,
    a_name_that_is_taken, two_nodes_with_one_name, another_version, join_files_that_are_damaged, adding_a_machine_keeps_what_was_said_of_the_first, options_that_are_wrong, an_authority_of_ones_own,
    all_servers_of_the_bus_are_restarted, an_answer_outlives_its_server, a_machine_that_is_cut_off, tokens_change_while_some_are_away, a_node_that_is_restarted, drain_waits_for_what_runs, a_connection_that_is_kept,
    frames_of_a_stranger, a_node_that_answers_junk, subjects_of_others, a_thief_reads_no_sessions, a_node_is_no_server, a_sandbox_does_not_reach_the_bus, the_demo,
]  # fmt: skip
