"""Names of sessions on bad days: a name has one session, whichever gateway is asked.

`tests/cluster/run.py` runs them behind bad_days.py, on the same cluster.
"""
import base64
import hashlib
import http.client
import json
import secrets
import signal
import socket
import threading

from bad_days import error_of, take_home
from bus import Bus
from machines import HANG_SECONDS, Background, Reply, wait_until


class EngineConnection(http.client.HTTPConnection):
    """The engine's own socket: no gateway hears of what is done there."""

    def __init__(self, machine):
        super().__init__("localhost", timeout=HANG_SECONDS)
        self.path = machine.dir / "engine.sock"

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def ask_engine(machine, method, path, body=None):
    connection = EngineConnection(machine)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {machine.cluster.token}", "Content-Type": "application/json"})  # fmt: skip
        response = connection.getresponse()
        return Reply(response.status, response.getheaders(), response.read())
    finally:
        connection.close()


def new_name():
    return f"name-{secrets.token_hex(6)}"


def open_name(machine, name, node=None):
    return machine.call("POST", "/v1/sessions", {"name": name}, {"Belljar-Node-Label": node} if node else None)


def must_open(machine, name, node=None):
    """The id of the new session. Servers of the bus that were away may have to find each other first."""
    return wait_until(lambda: (r := open_name(machine, name, node)).status == 201 and r, f"{name} is opened").json["session_id"]


def is_taken(reply):
    return reply.status == 400 and "a session of that name is open" in reply.json["error"]["message"]


def id_of(machine, name):
    """The id of its session as that gateway finds it, or its error."""
    reply = machine.call("GET", f"/v1/sessions/{name}")
    return reply.json["session_id"] if reply.status == 200 else error_of(reply)


def ids_of(cluster, name):
    def told():
        ids = {id_of(machine, name) for machine in cluster.machines}
        return (503, "unavailable") not in ids and ids

    return wait_until(told, f"all gateways can say who has {name}")


def open_everywhere(cluster, name):
    """All gateways are asked at once: the ids that were opened. All others find that the name is taken, or cannot say."""
    replies = []
    threads = [threading.Thread(target=lambda m=m: replies.append(open_name(m, name))) for m in cluster.machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert len(replies) == len(threads) and all(r.status in (201, 503) or is_taken(r) for r in replies), replies
    return [r.json["session_id"] for r in replies if r.status == 201]


def a_name_that_was_taken_over(cluster):
    """Behind a partition its node is lost to the others, who open the name again. The gateway of that node misses it, and hears its
    own node nearly all the time: after the partition it must not know better."""
    take_home(cluster)
    machine, other = cluster.machines[1], cluster.machines[2]
    name = new_name()
    old = must_open(machine, name, "a2")
    assert old.endswith("-a2") and all(id_of(machine, name) == old for _ in range(3))
    machine.link_down()
    try:
        new = must_open(other, name)
        machine.kill("server")  # what TCP holds for it is lost
        machine.start("server")
        cluster.wait_server(machine)
    finally:
        machine.link_up()
    cluster.wait_ready()
    assert ids_of(cluster, name) == {new}, (ids_of(cluster, name), old, new)
    for session in (old, new):
        machine.call("DELETE", f"/v1/sessions/{session}")


def a_node_that_does_not_say_whether_it_has_a_name(cluster):
    """Its session was opened without a gateway, so no bucket has it. A node that is asked and silent may have it."""
    machine, other = cluster.machines[1], cluster.machines[0]
    name = new_name()
    ids_of(cluster, name)  # the bucket can be asked
    opened = ask_engine(machine, "POST", "/v1/sessions", {"name": name})
    assert opened.status == 201, opened
    machine.signal("engine", signal.SIGSTOP)
    try:
        reply = open_name(other, name)
        assert error_of(reply) == (503, "unavailable") and "retry-after" in reply.headers, reply
    finally:
        machine.signal("engine", signal.SIGCONT)
    cluster.wait_ready()
    assert is_taken(open_name(other, name))
    assert ids_of(cluster, name) == {opened.json["session_id"]}
    other.call("DELETE", f"/v1/sessions/{name}")


def an_engine_that_ended_has_lost_its_names(cluster):
    """Its node lives, so they stay there: opened again by one, whoever asks."""
    machine = cluster.machines[1]
    name = new_name()
    old = must_open(cluster.machines[0], name, "a2")
    machine.kill("engine")
    reply = open_name(cluster.machines[2], name)
    assert error_of(reply) == (503, "unavailable"), reply
    machine.start("engine")
    cluster.wait_ready()
    opened = wait_until(lambda: open_everywhere(cluster, name), "the name is opened again")
    assert len(opened) == 1 and opened[0] != old and opened[0].endswith("-a2"), (old, opened)
    assert ids_of(cluster, name) == set(opened)
    machine.call("DELETE", f"/v1/sessions/{name}")


def a_name_whose_answer_is_lost(cluster):
    """The engine has the request, and the node ends before there is an answer. It may have opened the session; who asks again gets
    that one or another, and never two."""
    machine, other = cluster.machines[1], cluster.machines[0]
    name = new_name()
    ids_of(cluster, name)
    replies = []
    machine.signal("engine", signal.SIGSTOP)
    try:
        client = Background(lambda: replies.append(open_name(other, name, "a2")))
        wait_until(lambda: other.status()["node a2"]["relays"] > 0 or replies, "the node has the request")
        machine.kill("node")
    finally:
        machine.signal("engine", signal.SIGCONT)
    client.end()
    assert error_of(replies[0]) in ((502, "node_lost"), (410, "session_lost"), (503, "unavailable")), replies
    machine.start("node")
    cluster.wait_ready()
    opened = wait_until(lambda: (ids := open_everywhere(cluster, name)) or is_taken(open_name(other, name)) and ["it was opened before"], "the name is open")
    found = ids_of(cluster, name)
    assert len(opened) == 1 and len(found) == 1 and isinstance(next(iter(found)), str), (opened, found)
    machine.call("DELETE", f"/v1/sessions/{name}")


def ask_bucket(cluster, what, question):
    """A question to JetStream about the bucket of names, as a gateway may ask it."""
    with Bus(cluster.machines[0], "gateway") as bus:
        bus.subscribe("_INBOX.names.*")
        bus.publish(f"$JS.API.STREAM.{what}.KV_belljar_names", json.dumps(question).encode(), "_INBOX.names.1")
        wait_until(lambda: bus.flush().messages, "the bucket answers")
        return json.loads(bus.messages[0][1])


def entry_of(cluster, name):
    """The bucket's entry of a name: a node, or None."""
    token, word = (hashlib.sha256(text.encode()).digest()[:12].hex() for text in (cluster.token, name))
    message = ask_bucket(cluster, "MSG.GET", {"last_by_subj": f"$KV.belljar_names.{token}.{word}"}).get("message")
    return base64.b64decode(message["data"]).decode() or None if message and "data" in message else None


def a_name_that_is_opened_while_its_entry_goes(cluster):
    """One gateway ends the session and drops the entry. Another one opens the name again, on the node of the entry: it stays."""
    first, second = cluster.machines[:2]
    kept = [new_name() for _ in range(5)]
    for name in kept:
        must_open(first, name, "a3")
    for name in kept:
        assert first.call("DELETE", f"/v1/sessions/{name}").status == 204
        assert open_name(second, name, "a3").status == 201
    last = new_name()
    assert must_open(first, last) and entry_of(cluster, last)
    assert first.call("DELETE", f"/v1/sessions/{last}").status == 204
    wait_until(lambda: entry_of(cluster, last) is None, "the entry of an ended session goes", step=0.5)
    assert {name: entry_of(cluster, name) for name in kept} == {name: "a3" for name in kept}
    for name in kept:
        second.call("DELETE", f"/v1/sessions/{name}")


def a_bucket_that_another_gateway_is_making(cluster):
    """It was made, and is not yet what it has to be. A gateway that begins just then can ask it all the same."""
    machine = cluster.machines[1]
    name = new_name()
    ids_of(cluster, name)  # the bucket is there
    assert machine.stop("gateway") == [0]
    try:
        config = ask_bucket(cluster, "INFO", {})["config"]
        made = ask_bucket(cluster, "UPDATE", config | {"allow_direct": True, "max_msg_size": 64, "max_age": 0})
        assert made["config"]["allow_direct"] and made["config"]["max_msg_size"] == 64 and not made["config"]["max_age"], made
    finally:
        machine.start("gateway")
    cluster.wait_ready()
    must_open(machine, name)
    assert isinstance(id_of(machine, name), str)
    config = ask_bucket(cluster, "INFO", {})["config"]
    assert not config.get("allow_direct") and config["max_msg_size"] > 64 and config["max_age"], config
    machine.call("DELETE", f"/v1/sessions/{name}")


def a_request_that_comes_too_late(cluster):
    """Its gateway has given the node up, and said so. It is not carried out when the node goes on."""
    machine, other = cluster.machines[1], cluster.machines[0]
    name = new_name()
    session = must_open(other, name, "a2")
    assert other.execute(session, "n = 1").json["status"] == "success"
    assert other.call("PUT", f"/v1/sessions/{session}/files/data", b"old").status == 200
    machine.signal("node", signal.SIGSTOP)
    try:
        replies = []
        writing = Background(lambda: replies.append(other.call("PUT", f"/v1/sessions/{session}/files/data", b"new")))
        replies.append(other.execute(session, "n += 1"))
        writing.end()
        assert all(error_of(r) in ((410, "session_lost"), (502, "node_lost")) for r in replies), replies
    finally:
        machine.signal("node", signal.SIGCONT)
    cluster.wait_ready()
    reply = wait_until(lambda: (r := other.execute(session, "print(n)")).status == 200 and r, "the session answers")
    assert reply.json["stdout"] == "1\n", reply
    assert other.call("GET", f"/v1/sessions/{session}/files/data").body == b"old"
    machine.call("DELETE", f"/v1/sessions/{name}")


TESTS = [
    a_name_that_was_taken_over, a_node_that_does_not_say_whether_it_has_a_name, an_engine_that_ended_has_lost_its_names,
    a_name_whose_answer_is_lost, a_name_that_is_opened_while_its_entry_goes, a_bucket_that_another_gateway_is_making,
    a_request_that_comes_too_late,
]  # fmt: skip
