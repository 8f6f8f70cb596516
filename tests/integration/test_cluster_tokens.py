"""Tokens that are added once hold on every machine of a cluster, and nobody but an operator adds any."""
import base64
import json
import os
import re
import socket
import ssl
import time
import uuid

import bus
import pytest
from belljar import HANG_SECONDS
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))

BUCKET = "$KV.belljar_tokens.all"
GET = "$JS.API.STREAM.MSG.GET.KV_belljar_tokens"
SEEN_SECONDS = 2 * int(os.environ.get("BELLJAR_TEST_PATIENCE", "5"))


class Machine(bus.Machine):
    """With the settings, certificates and permissions that `belljar cluster join` has made."""

    def start_bus(self):
        self.settings = self.directory / "cluster" / "cluster.toml"
        self.tokens = self.directory / "tokens.toml"
        self.log = self.directory / "roles.log"
        with open(self.log, "ab") as log:
            begins = log.tell()
            self.process = self.who.start("cluster", "run", "--config", self.settings, stdout=log, stderr=log)
        found = wait_until(lambda: re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log.read_bytes()[begins:].decode()), "the gateway listens")
        self.port = int(found[1])

    def said_text(self):
        return self.log.read_text()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        return super().stop()

    def operate(self, *words):
        return self.who.call("cluster", "token", *words, "--config", self.settings)

    def add(self, name, *options):
        answer = self.operate("add", name, *options)
        assert answer.code == 0 and re.fullmatch(r"bj_[0-9a-f]{64}\n", answer.text), answer
        return answer.text.strip()

    def remove(self, name):
        answer = self.operate("rm", name)
        assert answer.code == 0, answer

    def alone(self, *words):
        """`belljar token`, which is of this machine alone."""
        answer = self.who.call("token", *words, env={"BELLJAR_TOKENS_FILE": str(self.tokens), "BELLJAR_TOKEN_FILE": str(self.directory.parent / "token")})
        assert answer.code == 0, answer
        return answer.text.strip().splitlines()[-1] if answer.text else ""


class Cluster(bus.Cluster):
    """One server with mutual TLS and two machines, one of which made the cluster."""

    def __init__(self, who, names=("a1", "b2")):
        self.directory = who.directory(f"cluster-{uuid.uuid4().hex[:8]}")
        self.who, self.names = who, names
        self.port = bus.free_port()
        for name in names:
            self.join(name)
        # The only server is the one that holds: a cluster of one has no others to choose a leader with.
        config = self.directory / "a1" / "cluster" / "nats-server.conf"
        config.write_text(config.read_text().split("\n# The other servers.")[0] + "\n")
        self.nats = bus.Nats.__new__(bus.Nats)
        self.nats.port, self.nats.args = self.port, ["nats-server", "-c", str(config)]
        self.nats.log = open(self.directory / "nats.log", "wb")
        self.nats.start()
        self.machines = [self.start(name) for name in names]
        self.wait_for_nodes()

    def join(self, name):
        directory = self.directory / name
        directory.mkdir(mode=0o700)
        self.who.own(directory)
        more = ["--dir", directory / "cluster", "--socket", directory / "cluster.sock", "--store", directory / "store", "--listen", "127.0.0.1:0"]
        at = ["--address", "127.0.0.1"]
        if name == "a1":
            answer = self.who.call("cluster", "join", "--first", "--name", name, *at, "--port", self.port, "--route-port", bus.free_port(), *more)
        else:
            file = directory / "file.join"
            answer = self.who.call("cluster", "join", "--add", name, *at, "--port", bus.free_port(), "--route-port", bus.free_port(),
                                   "--dir", self.directory / "a1" / "cluster", "--output", file)  # fmt: skip
            assert answer.code == 0, answer
            answer = self.who.call("cluster", "join", file, "--offline", *more)
        assert answer.code == 0, answer
        settings = directory / "cluster" / "cluster.toml"
        settings.write_text(re.sub(r"(?m)^servers = .*", f'servers = ["tls://127.0.0.1:{self.port}"]', settings.read_text()))

    def start(self, name):
        directory = self.directory / name
        return Machine(self.who, name, [], directory, env={"BELLJAR_TOKENS_FILE": str(directory / "tokens.toml")})


@pytest.fixture
def own(callers):
    with Cluster(callers["user"]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster(callers):
    with Cluster(callers["user"]) as cluster:
        yield cluster


def statuses(cluster, token):
    """Of a run through every gateway on every node."""
    return [gateway.post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": node.name, "Authorization": f"Bearer {token}"}).status
            for gateway in cluster.machines for node in cluster.machines]  # fmt: skip


def holds(cluster, token, what="it holds everywhere"):
    wait_until(lambda: set(statuses(cluster, token)) == {200}, what, SEEN_SECONDS)


def is_gone(cluster, token, what="it is gone everywhere"):
    wait_until(lambda: set(statuses(cluster, token)) == {401}, what, SEEN_SECONDS)


class Raw:
    """A connection to the bus that says what it likes, with the certificate of a role."""

    def __init__(self, cluster, machine, role):
        place = cluster[machine].directory / "cluster"
        context = ssl.create_default_context(cafile=place / "ca.pem")
        context.load_cert_chain(place / f"{role}.pem", place / f"{role}.key")
        plain = socket.create_connection(("127.0.0.1", cluster.port), timeout=HANG_SECONDS)
        info = b""
        while not info.endswith(b"\r\n"):
            info += plain.recv(1)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.buffer = b""
        self.send(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n')

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def publish(self, subject, data, reply=""):
        self.send(f"PUB {subject} {reply} {len(data)}\r\n".replace("  ", " ").encode() + data + b"\r\n")

    def flush(self):
        """Waits until the server has read all. Returns the text that came meanwhile."""
        self.send(b"PING\r\n")
        while b"PONG\r\n" not in self.buffer:
            piece = self.socket.recv(65536)
            assert piece, self.buffer
            self.buffer += piece
        text, self.buffer = self.buffer, b""
        return text.decode(errors="replace")


def value_of(cluster):
    """The list in the bucket, read as an operator."""
    with Raw(cluster, "a1", "operator") as bus_of:
        bus_of.send(b"SUB _INBOX.test 1\r\n")
        bus_of.publish(GET, json.dumps({"last_by_subj": BUCKET}).encode(), "_INBOX.test")
        text = wait_until(lambda: (m := re.search(r"\{.*\}", bus_of.flush(), re.S)) and m[0], "the bucket answers")
    return base64.b64decode(json.loads(text)["message"]["data"])


def put(cluster, value):
    """Into the bucket, past all that checks it before; nodes are told."""
    with Raw(cluster, "a1", "operator") as bus_of:
        bus_of.publish(BUCKET, value)
        assert "-ERR" not in bus_of.flush()
        bus_of.publish("belljar.v1.tokens.changed", b"")
        bus_of.flush()


def test_added_once_and_removed_once(cluster):
    a1, b2 = cluster.machines
    token = a1.add("everywhere", "--runs-per-minute", "100000")
    holds(cluster, token)
    for machine in cluster.machines:
        assert token not in machine.tokens.read_text() and machine.tokens.stat().st_mode & 0o777 == 0o600
    reply = a1.post("/v1/sessions", {}, headers={"Belljar-Node-Label": "b2", "Authorization": f"Bearer {token}"})
    assert reply.status == 201, reply
    assert "everywhere" in b2.operate("list").text
    sessions = lambda: b2.engine.get("/v1/stats").json["server"]["sessions"]  # noqa: E731
    assert sessions() == 1
    b2.remove("everywhere")
    is_gone(cluster, token)
    # As on one machine: its owner is gone.
    wait_until(lambda: sessions() == 0, "its session has ended")
    assert "everywhere" not in a1.operate("list").text
    left = {p.name for p in a1.directory.iterdir()} | {p.name for p in a1.settings.parent.iterdir()}
    assert not [name for name in left if "staged" in name], left


def test_two_of_one_name_are_refused(cluster):
    token = cluster["a1"].add("twice")
    answer = cluster["b2"].operate("add", "twice")
    assert answer.code == 64 and "already exists" in answer.errors, answer
    holds(cluster, token)
    assert cluster["a1"].operate("rm", "nobody").code == 66


def test_the_bus_is_away(own):
    kept, removed = own["a1"].add("kept"), own["a1"].add("removed")
    holds(own, kept)
    holds(own, removed)
    own.nats.kill()
    for machine in own.machines:
        assert machine.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {kept}"}).status == 200
    # A node that starts meanwhile has its copy.
    b2 = own["b2"]
    b2.kill_bus()
    b2.tokens.unlink()
    assert b2.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {kept}"}).status == 401
    b2.start_bus()
    wait_until(lambda: b2.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {kept}"}).status == 200, "the file is back")
    answer = own["a1"].operate("rm", "removed")
    assert answer.code != 0 and "hint" in answer.errors, answer
    own.nats.start()
    own.wait_for_nodes()
    holds(own, kept)


def test_a_node_that_was_away_learns_of_the_removal(own):
    a1, b2 = own.machines
    kept, removed = a1.add("kept"), a1.add("removed")
    holds(own, removed)
    b2.kill_bus()
    a1.remove("removed")
    direct = lambda token: b2.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {token}"}).status  # noqa: E731
    assert direct(removed) == 200  # nobody has told it
    b2.start_bus()
    wait_until(lambda: direct(removed) == 401, "it has learned", SEEN_SECONDS)
    assert direct(kept) == 200
    assert "`removed` was removed from the cluster" in b2.said_text()


def test_the_first_list_is_that_of_its_machine(own):
    a1, b2 = own.machines
    mine, theirs, other = a1.alone("add", "mine"), b2.alone("add", "mine"), b2.alone("add", "other")
    assert b2.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {other}"}).status == 200
    token = a1.add("new")
    holds(own, token)
    holds(own, mine)
    is_gone(own, theirs)
    is_gone(own, other)
    wait_until(lambda: "`mine` of this machine goes: the cluster has another of that name" in b2.said_text(), "it says so")
    assert "[other]" in (b2.directory / "tokens.toml.before").read_text()


def test_what_one_machine_removes_stays_removed_there(cluster):
    a1, b2 = cluster.machines
    token = a1.add("here")
    holds(cluster, token)
    b2.alone("rm", "here")
    wait_until(lambda: "`here` was removed on this machine alone" in b2.said_text(), "it says so")
    holds(cluster, a1.add("later"))
    direct = lambda machine: machine.engine.post("/v1/run", {"code": "1"}, headers={"Authorization": f"Bearer {token}"}).status  # noqa: E731
    assert (direct(a1), direct(b2)) == (200, 401)


@pytest.mark.parametrize("role", ["node", "gateway"])
def test_a_role_cannot_write_the_bucket(cluster, role):
    with Raw(cluster, "b2", role) as stranger:
        for subject in (BUCKET, "$JS.API.STREAM.UPDATE.KV_belljar_tokens", "$JS.API.STREAM.PURGE.KV_belljar_tokens",
                        "$JS.API.STREAM.DELETE.KV_belljar_tokens", "$JS.API.CONSUMER.CREATE.KV_belljar_tokens", "belljar.v1.tokens.node.a1",
                        "belljar.v1.tokens.changed"):  # fmt: skip
            stranger.publish(subject, b"{}")
            assert "Permissions Violation for Publish" in stranger.flush(), subject
        # Answers to others are not for it.
        for subject in ("_INBOX.>", "belljar.v1.tokens.node.a1"):
            stranger.send(f"SUB {subject} 9\r\n".encode())
            assert ("Permissions Violation for Subscription" in stranger.flush()) == (role == "node" or subject != "_INBOX.>"), subject


def test_what_no_operator_has_signed_is_refused(own):
    a1, b2 = own.machines
    token = a1.add("good")
    holds(own, token)
    old = value_of(own)
    gone = a1.add("gone")
    a1.remove("gone")
    good = json.loads(value_of(own))
    node = (b2.settings.parent / "node.pem").read_text()
    wait_until(lambda: all(b"gone" not in machine.tokens.read_bytes() for machine in own.machines), "all have it")
    files = [machine.tokens.read_bytes() for machine in own.machines]
    for bad, reason in [
        (b"\0\xff" * 1000, "tokens"),
        (b"{" * 100000, "tokens"),
        (b"[]", "no list of tokens"),
        (json.dumps({**good, "serial": good["serial"] + 10**6}).encode(), "the signature is wrong"),
        (json.dumps({**good, "signature": ""}).encode(), "no certificate or no signature"),
        (json.dumps({**good, "tokens": good["tokens"] + "\n"}).encode(), "the signature is wrong"),
        (json.dumps({**good, "signature": "00" * 100000}).encode(), "no certificate or no signature"),
        (json.dumps({**good, "certificate": node}).encode(), "not that of `operator`"),
        (old, "older"),
    ]:
        begins = [len(machine.said_text()) for machine in own.machines]
        put(own, bad)
        for machine, begin in zip(own.machines, begins):
            wait_until(lambda m=machine, b=begin: "list of tokens is refused" in m.said_text()[b:] and reason in m.said_text()[b:], f"{machine.name}: {reason}")
        assert [machine.tokens.read_bytes() for machine in own.machines] == files
    assert set(statuses(own, token)) == {200} and set(statuses(own, gone)) == {401}
    # The operator's command does not build on it, either, and can begin again.
    answer = a1.operate("add", "more")
    assert answer.code == 77 and "older" in answer.errors and "--anew" in answer.errors, answer
    more = a1.add("more", "--anew")
    holds(own, more)
    # A serial that nobody has signed counts for nothing.
    put(own, json.dumps({**good, "serial": 2**63 - 1}).encode())
    answer = b2.operate("add", "again")
    assert answer.code == 77 and "the signature is wrong" in answer.errors, answer
    holds(own, b2.add("again", "--anew"))
    holds(own, more)
    assert json.loads(value_of(own))["serial"] < 2**50
    holds(own, token)


def test_a_certificate_of_a_machine_named_operator_signs_nothing(own):
    """Its server's certificate has the same subject as an operator's."""
    answer = own.who.call("cluster", "join", "--add", "operator", "--address", "127.0.0.1", "--dir", own.directory / "a1" / "cluster",
                          "--output", own.directory / "x.join")  # fmt: skip
    assert answer.code == 64 and "operator" in answer.errors, answer
