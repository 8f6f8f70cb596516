"""Skills and saved states are the same on all machines of a cluster, and nobody but their token's holder reads or makes any."""
import base64
import concurrent.futures
import contextlib
import io
import json
import os
import re
import sqlite3
import uuid
import zipfile

import bus
import pytest
import test_cluster_jobs
import test_cluster_tokens
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))

NAMES = ("a1", "b2", "c3")


class Cluster(bus.Cluster):
    def __init__(self, who, names=NAMES):
        self.store = who.directory(f"jetstream-{uuid.uuid4().hex[:8]}")
        super().__init__(who, names=names, nats=("-js", "-sd", str(self.store)))
        wait_until(lambda: self["a1"].post("/v1/states", {"name": "ready"}).status == 200, "the bus keeps states")


@pytest.fixture(scope="module")
def cluster(callers):
    with Cluster(callers["user"]) as cluster:
        yield cluster


@pytest.fixture
def own(callers):
    """A cluster for a test that breaks it."""
    with Cluster(callers["user"], names=("a1", "b2")) as cluster:
        yield cluster


def fresh():
    return f"n{uuid.uuid4().hex[:8]}"


def put_skill(machine, name, code):
    return machine.call("PUT", f"/v1/skills/{name}", code.encode(), headers={"Content-Type": "text/x-python"})


def on(machine, node, code, **fields):
    reply = machine.post("/v1/run", {"code": code, **fields}, headers={"Belljar-Node-Label": node})
    assert reply.status == 200, reply
    return reply.json


def save(machine, name, state, **fields):
    return machine.post(f"/v1/states/{name}/versions", {"state": state, **fields})


def test_a_skill_is_on_every_node_at_once(cluster):
    name = fresh()
    for version in range(1, 7):
        gateway = cluster.machines[version % 3]
        reply = put_skill(gateway, name, f"def f():\n    return {version}\n")
        assert reply.status == 200 and reply.json["version"] == version, reply
        for node in NAMES:
            assert on(cluster["a1"], node, f"from skills.{name} import f\nprint(f())")["stdout"] == f"{version}\n"
    shown = [m.engine.get(f"/v1/skills/{name}").json for m in cluster.machines]
    assert shown[0] == shown[1] == shown[2] and [v["version"] for v in shown[0]["versions"]] == [6, 5, 4, 3, 2, 1]
    assert cluster["b2"].post(f"/v1/skills/{name}/undo").json["version"] == 5
    assert {m.engine.get(f"/v1/skills/{name}").json["version"] for m in cluster.machines} == {5}
    assert cluster["c3"].call("DELETE", f"/v1/skills/{name}").status == 204
    assert {m.get(f"/v1/skills/{name}").status for m in cluster.machines} == {404}
    assert {m.engine.get(f"/v1/skills/{name}").status for m in cluster.machines} == {404}
    assert cluster["c3"].call("DELETE", f"/v1/skills/{name}").status == 404


def test_a_folder_is_the_same_everywhere(cluster):
    name, data = fresh(), os.urandom(700_000)  # two pieces
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("SKILL.md", f"---\nname: {name}\ndescription: has files\n---\nRead it.\n")
        archive.writestr("data.bin", data)
    reply = cluster["a1"].call("PUT", f"/v1/skills/{name}", text.getvalue(), headers={"Content-Type": "application/zip"})
    assert reply.status == 200, reply
    for machine in cluster.machines:
        assert machine.engine.get(f"/v1/skills/{name}/files/data.bin").body == data


def test_a_state_is_saved_anywhere_and_loaded_everywhere(cluster):
    name = fresh()
    assert cluster["a1"].post("/v1/states", {"name": name, "description": "what it is"}).json == {"name": name, "is_new": True}
    assert cluster["b2"].post("/v1/states", {"name": name}).json == {"name": name, "is_new": False}
    for version in range(1, 5):
        assert save(cluster.machines[version % 3], name, {"at": version}).json["version"] == version
        for machine in cluster.machines:
            loaded = machine.engine.get(f"/v1/states/{name}").json
            assert (loaded["state"], loaded["version"], loaded["description"]) == ({"at": version}, version, "what it is")
    late = save(cluster["a1"], name, {"at": "late"}, version=2)
    assert late.status == 409 and "version is 4" in late.error["message"], late
    assert cluster["c3"].engine.get(f"/v1/states/{name}?version=2").json["state"] == {"at": 2}
    assert cluster["b2"].call("DELETE", f"/v1/states/{name}").status == 204
    assert {m.get(f"/v1/states/{name}").status for m in cluster.machines} == {404}


def test_programs_share_states_and_skills(cluster):
    name = fresh()
    for node, code, expected in [
        ("a1", f"import execution_runtime as r\nr.create_session('{name}')\nprint(r.save_session_state('{name}', {{'n': 1}})['version'])", "1\n"),
        ("b2", f"import execution_runtime as r\nprint(r.load_session_state('{name}')['state'])", "{'n': 1}\n"),
        ("c3", f"import execution_runtime as r\nprint(r.save_reusable_skill('{name}', 'def f(): return 7', 'd')['status'])", "success\n"),
        ("a1", f"from skills.{name} import f\nprint(f())", "7\n"),
    ]:
        assert on(cluster["b2"], node, code)["stdout"] == expected, code


def test_of_many_at_once_all_get_a_version(cluster):
    name = fresh()
    cluster["a1"].post("/v1/states", {"name": name})
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda i: save(cluster.machines[i % 3].engine, name, {"i": i}), range(24)))
    assert sorted(r.json["version"] for r in replies) == list(range(1, 25)), replies
    shown = [m.engine.get(f"/v1/states/{name}").json["history"] for m in cluster.machines]
    assert shown[0] == shown[1] == shown[2] and len(shown[0]) == 24


def test_tokens_have_skills_of_their_own(cluster):
    name = fresh()
    other = add_token(cluster)
    assert put_skill(cluster["a1"], name, "x = 1\n").status == 200
    for machine in cluster.machines:
        assert machine.get(f"/v1/skills/{name}", headers=other).status == 404
    reply = cluster["b2"].call("PUT", f"/v1/skills/{name}", b"x = 2\n", headers={"Content-Type": "text/x-python", **other})
    assert reply.status == 200, reply
    for machine in cluster.machines:
        assert machine.engine.get(f"/v1/skills/{name}").json["code"] == "x = 1\n"
        assert machine.get(f"/v1/skills/{name}", headers=other).json["code"] == "x = 2\n"


def add_token(cluster):
    """Headers of another token, on all machines."""
    answer = cluster["a1"].who.call("token", "add", fresh(), env={"BELLJAR_TOKENS_FILE": str(cluster.directory / "tokens.toml")})
    assert answer.code == 0, answer
    headers = {"Authorization": "Bearer " + re.search(r"bj_\w+", answer.text)[0]}
    for machine in cluster.machines:
        wait_until(lambda m=machine: m.engine.get("/v1/me", headers=headers).status == 200, "the token is known")
    return headers


def test_nothing_on_the_bus_is_readable(cluster):
    name = fresh()
    assert put_skill(cluster["a1"], name, f"word = 'secretword{name}'\n").status == 200
    raw = b"".join(open(os.path.join(d, f), "rb").read() for d, _, files in os.walk(cluster.store) for f in files)
    assert b"belljar.v1.store." in raw and b"secretword" not in raw and name.encode() not in raw and cluster["a1"].token.encode() not in raw


def test_the_command_line_says_who_has_them(cluster):
    name = fresh()
    cluster["a1"].post("/v1/states", {"name": name})
    answer = cluster["a1"].who.call("state", "rm", name, env={"XDG_STATE_HOME": str(cluster["a1"].directory)})
    assert answer.code == 77 and "machines of a cluster share" in answer.errors, answer
    assert cluster["a1"].who.call("state", "list", env={"XDG_STATE_HOME": str(cluster["a1"].directory)}).code == 0


def test_the_link_is_for_the_node_alone(cluster):
    machine = cluster["a1"]
    assert machine.engine.get("/v1/cluster/store").status == 404
    for path in ("/v1/cluster/store", "/v1/cluster/store?x"):
        assert machine.get(path, headers={"Connection": "Upgrade", "Upgrade": "belljar-store"}).status == 404


def test_while_the_bus_is_away_nothing_changes(own):
    a1, b2 = own.machines
    name = fresh()
    assert put_skill(a1, name, "def f():\n    return 1\n").status == 200
    for machine in own.machines:
        assert machine.engine.run(f"from skills.{name} import f\nprint(f())")["stdout"] == "1\n"
    own.nats.kill()
    for machine in own.machines:
        reply = put_skill(machine.engine, name, "def f():\n    return 2\n")
        assert reply.status == 429 and reply.error["code"] == "busy" and "the bus" in reply.error["message"], reply
        assert machine.engine.run(f"from skills.{name} import f\nprint(f())")["stdout"] == "1\n"
        assert machine.engine.get(f"/v1/skills/{name}").json["version"] == 1
    own.nats.start()
    own.wait_for_nodes()
    wait_until(lambda: put_skill(a1, name, "def f():\n    return 3\n").status == 200, "the bus is back")
    assert on(a1, "b2", f"from skills.{name} import f\nprint(f())")["stdout"] == "3\n"


def test_what_a_machine_had_before_is_shared(own):
    a1, b2 = own.machines
    name = fresh()
    b2.kill_bus()
    b2.engine.stop()
    alone = b2.who.call("state", "create", name, "from before", env={"XDG_STATE_HOME": str(own.directory / "alone")})
    assert alone.code == 0, alone
    (own.directory / "alone" / "belljar" / "state.sqlite").rename(b2.directory / "belljar" / "state.sqlite")
    for end in ("-wal", "-shm"):
        (b2.directory / "belljar" / f"state.sqlite{end}").unlink(missing_ok=True)
    b2.start_engine()
    b2.start_bus()
    own.wait_for_nodes()
    wait_until(lambda: b2.engine.get(f"/v1/states/{name}").status == 200 and a1.engine.get(f"/v1/states/{name}").status == 200, "both have it")
    assert a1.engine.get(f"/v1/states/{name}").json["description"] == "from before"
    assert b2.engine.get("/v1/states/ready").status == 200


def places(bus_):
    """All places of the stream, with what is there."""
    found = bus_.ask("$JS.API.STREAM.INFO.belljar_store", b'{"subjects_filter":"belljar.v1.store.>"}')["state"]["subjects"]
    return {s: base64.b64decode(bus_.ask("$JS.API.STREAM.MSG.GET.belljar_store", json.dumps({"last_by_subj": s}).encode())["message"]["data"]) for s in found}


def test_whoever_writes_to_the_bus_makes_no_skills(own):
    """Every message replaced, by rubbish and by each other: what a machine has had stays, and is put back."""
    a1, b2 = own.machines
    name = fresh()
    for version in (1, 2):
        assert put_skill(a1, name, f"def f():\n    return {version}\n").status == 200
    use = f"from skills.{name} import f\nprint(f())"
    assert on(a1, "b2", use)["stdout"] == "2\n"
    bus_ = test_cluster_jobs.Bus(own.nats.port)
    before = places(bus_)
    lists = [s for s in before if s.endswith(".list")]
    old = before[lists[0]]
    assert put_skill(a1, name, "def f():\n    return 3\n").status == 200
    for value in (b"", b"{}", os.urandom(200), old, next(data for s, data in before.items() if s not in lists)):
        for subject in lists:
            assert "seq" in bus_.ask(subject, value)
        for node in ("a1", "b2", "a1"):
            said = on(a1, node, use)["stdout"]
        assert said == "3\n"
    for subject in places(bus_):
        if subject not in lists:
            bus_.ask(subject, os.urandom(64))
    for node in NAMES[:2]:
        assert on(a1, node, use)["stdout"] == "3\n"
    assert bus_.ask("$JS.API.STREAM.PURGE.belljar_store")["success"]
    assert put_skill(b2, name, "def f():\n    return 4\n").json["version"] == 4
    assert on(a1, "a1", use)["stdout"] == "4\n"
    bus_.socket.close()


def test_joined_machines_may_do_what_it_takes(callers):
    with test_cluster_tokens.Cluster(callers["user"]) as cluster:
        a1, b2 = cluster.machines
        a1.token = b2.token = a1.add("ci")
        test_cluster_tokens.holds(cluster, a1.token)
        name = fresh()
        wait_until(lambda: put_skill(a1, name, "def f():\n    return 1\n").status == 200, "the bus keeps skills")
        for node in ("a1", "b2"):
            assert on(a1, node, f"from skills.{name} import f\nprint(f())")["stdout"] == "1\n"
        old = {"Authorization": "Bearer " + a1.add("old")}
        test_cluster_tokens.holds(cluster, old["Authorization"].split()[1])
        for machine in cluster.machines:
            assert machine.post("/v1/states", {"name": "mine"}, headers=old).status == 200
            assert machine.engine.get("/v1/states/mine", headers=old).status == 200
        db = a1.directory / "belljar" / "state.sqlite"
        a1.remove("old")
        test_cluster_tokens.is_gone(cluster, old["Authorization"].split()[1])
        with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as file:
            assert not [o for (o,) in file.execute("SELECT owner FROM work") if o.startswith("old")]
        assert a1.call("DELETE", f"/v1/skills/{name}").status == 204
        assert b2.get(f"/v1/skills/{name}").status == 404
        assert "does not store skills" not in a1.said_text() + b2.said_text() and "Permissions" not in a1.said_text() + b2.said_text()
        with test_cluster_tokens.Raw(cluster, "b2", "gateway") as gateway:
            for subject in ("belljar.v1.store.x.list", "$JS.API.STREAM.MSG.GET.belljar_store", "$JS.API.STREAM.PURGE.belljar_store"):
                gateway.publish(subject, b"{}")
                assert "Permissions Violation for Publish" in gateway.flush(), subject
        with test_cluster_tokens.Raw(cluster, "b2", "node") as node:
            for subject in ("$JS.API.STREAM.DELETE.belljar_store", "$JS.API.STREAM.UPDATE.belljar_store", "$JS.API.CONSUMER.CREATE.belljar_store"):
                node.publish(subject, b"{}")
                assert "Permissions Violation for Publish" in node.flush(), subject
