"""The trails of all machines: their heads are kept on the bus, so a trail that was cut, changed or lost is found out."""
import json
import re
import shutil
import socket

import bus
import pytest
import test_cluster_tokens
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))


@pytest.fixture(scope="module")
def cluster(callers):
    store = callers["user"].directory("trails-store")
    with bus.Cluster(callers["user"], nats=("-js", "-sd", str(store))) as cluster:
        yield cluster


@pytest.fixture
def own(callers, tmp_path_factory):
    """A cluster for a test that breaks it."""
    with bus.Cluster(callers["user"], nats=("-js", "-sd", str(tmp_path_factory.mktemp("store")))) as cluster:
        yield cluster


def on(machine, node, code="1"):
    reply = machine.post("/v1/run", {"code": code}, headers={"Belljar-Node-Label": node})
    assert reply.status == 200, reply
    return reply.json["id"]


def trails(cluster):
    """{node: [seq…]} of the heads that the bus has."""
    answer = cluster["a1"].who.call("cluster", "trails", "--json", "--config", cluster["a1"].settings)
    assert answer.code == 0, answer
    found = {}
    for entry in json.loads(answer.text)["trails"]:
        found.setdefault(entry["node"], []).append(json.loads(entry["head"])["seq"])
    return found


def seq(machine):
    """Of the newest record, which the head names a moment later."""
    return machine.engine.get("/v1/audit/records?limit=1").json["records"][0]["seq"]


def wait_for_heads(cluster, *more):
    """Until the bus has the heads that the machines have now."""
    for machine in cluster.machines:
        now = seq(machine)
        wait_until(lambda m=machine, n=now: trails(cluster).get(m.name, [0])[-1] >= n, f"the head of {machine.name} is on the bus")


def verify(cluster, home):
    """(code, {machine: its lines})."""
    home.mkdir(exist_ok=True)
    gateway = cluster["a1"]
    gateway.who.own(home)
    answer = gateway.who.call("audit", "verify", "--cluster", "--cluster-config", gateway.settings, "--server", f"http://127.0.0.1:{gateway.port}",
                              env={"XDG_STATE_HOME": str(home), "BELLJAR_TOKEN": gateway.token})  # fmt: skip
    said = {}
    for line in answer.text.splitlines():
        name, _, text = line.partition(": ")
        said.setdefault(name, []).append(text)
    return answer.code, said, answer


@pytest.fixture
def home(callers):
    return callers["user"].directory("verifier")


def trail_of(machine):
    return machine.directory / "belljar" / "trail"


def test_valid_trails(cluster, home):
    for node in ("a1", "b2"):
        on(cluster["a1"], node, "print('ü \\0 \\x1b')")
    wait_for_heads(cluster)
    code, said, answer = verify(cluster, home)
    assert code == 0 and said["valid"] == ["2 machines"], answer
    assert all(re.match(r"valid: \d+ records, \d+ heads, the last received at 20", said[n][0]) for n in ("a1", "b2")), answer
    on(cluster["a1"], "b2")
    code, said, answer = verify(cluster, home)  # against what it saw
    assert code == 0, answer
    table = cluster["a1"].who.call("cluster", "trails", "--config", cluster["a1"].settings).text
    assert len(re.findall(r"(?m)^(?:a1|b2) +\d+ +\d+ +20\S+ +[0-9a-f]{16}$", table)) == 2, table


def test_records_of_all_machines(cluster):
    runs = [on(cluster["a1"], node) for node in ("a1", "b2", "a1", "b2")]
    answer = cluster["b2"].get("/v1/audit/records?kind=run&limit=4").json
    assert [r["id"] for r in answer["records"]] == runs[::-1] and answer["next"] is None and "nodes_missing" not in answer
    assert [r["node"] for r in answer["records"]] == ["b2", "a1", "b2", "a1"]
    times = [r["time"] for r in cluster["a1"].get("/v1/audit/records?limit=50").json["records"]]
    assert times == sorted(times, reverse=True)
    for record in answer["records"]:  # by number, of the machine that has it
        one = cluster["a1"].get(f"/v1/audit/records/{record['seq']}?node={record['node']}").json["records"]
        assert one[0]["id"] == record["id"]
    assert {r["seq"] for r in cluster["a1"].get("/v1/audit/records?node=b2&before=3").json["records"]} == {1, 2}
    assert cluster["a1"].get("/v1/audit/records?before=3").status == 400
    for path in ("records/7", "head", "key", "lines"):
        assert cluster["a1"].get(f"/v1/audit/{path}").status == 400
    assert cluster["a1"].post("/v1/audit/verify", {}).status == 400
    assert cluster["a1"].post("/v1/audit/verify?node=b2", {}).json["valid"] is True
    assert cluster["a1"].get("/v1/audit/head?node=b2").json["key"] == cluster["b2"].engine.get("/v1/audit/key").json["key"]


def test_what_is_of_one_machine_is_found_there(cluster):
    for node in ("a1", "b2"):
        body = {"code": "1", "receipt": True, "correlation_id": f"of-{node}"}
        result = cluster["a1"].post("/v1/run", body, headers={"Belljar-Node-Label": node}).json
        checked = cluster["a1"].post("/v1/audit/receipt", result).json
        assert checked["is_genuine"] and checked["is_in_trail"] and checked["id"] == result["id"], checked
        for name in (result["id"], f"of-{node}"):
            assert result["id"] in {r.get("id") for r in cluster["a1"].get(f"/v1/audit/records/{name}").json["records"]}
    assert cluster["a1"].get("/v1/audit/records/of-nobody").status == 404


def test_machines_are_asked_by_name(cluster):
    assert cluster["a1"].get("/v1/audit/records?node=c9").status == 410
    assert cluster["a1"].engine.get("/v1/audit/lines?node=b2").status == 404
    assert cluster["a1"].get("/v1/audit/records", headers={"Authorization": None}).status == 401


def test_lines_are_the_records_as_they_were_written(cluster):
    on(cluster["a1"], "b2")
    written = b"".join(p.read_bytes() for p in sorted(trail_of(cluster["b2"]).glob("0*.jsonl"))).decode().splitlines()
    lines = cluster["a1"].get("/v1/audit/lines?node=b2").json["lines"]
    assert lines == written[: len(lines)] and len(lines) >= 4
    assert cluster["a1"].get("/v1/audit/lines?node=b2&after=2").json["lines"][0] == lines[2]
    assert cluster["a1"].get("/v1/audit/lines?node=b2&after=100000").json["lines"] == []


def restore(own, machine, change):
    """Changes the trail while nobody writes."""
    machine.kill_engine()
    change(trail_of(machine))
    machine.start_engine()
    wait_until(lambda: own["a1"].get(f"/v1/audit/lines?node={machine.name}").status == 200, "the machine answers again")


def test_an_earlier_state_is_found_out(own, home, tmp_path):
    """Head included: on its own disk nothing shows it."""
    on(own["a1"], "b2")
    wait_for_heads(own)
    b2 = own["b2"]
    shutil.copytree(trail_of(b2), tmp_path / "before")
    on(own["a1"], "b2")
    wait_for_heads(own)
    assert verify(own, home)[0] == 0
    for fresh in (home, own.directory / "another"):  # who saw it, and who has only the bus
        def back(trail):
            shutil.rmtree(trail)
            shutil.copytree(tmp_path / "before", trail)
            b2.who.own(trail)
            for path in trail.iterdir():
                b2.who.own(path)

        restore(own, b2, back)
        code, said, answer = verify(own, fresh)
        assert code == 1 and said["NOT VALID"] == ["1 of 2 machines"], answer
        assert said["a1"][0].startswith("valid"), answer
        assert any("PROBLEM" in line and ("was cut off" in line or "was rewritten" in line) for line in said["b2"]), answer
        local = b2.who.call("audit", "verify", "--dir", trail_of(b2), env={"XDG_STATE_HOME": str(b2.directory)})
        assert local.code == 0, local


def test_a_changed_record_is_found_out(own, home):
    on(own["a1"], "b2")
    wait_for_heads(own)
    b2 = own["b2"]

    def change(trail):
        path = next(iter(sorted(trail.glob("0*.jsonl"))))
        text = path.read_bytes()
        assert text.count(b'"event":"start"') or text.count(b'"kind":"run"')
        path.write_bytes(text.replace(b'"kind":"run"', b'"kind":"RUN"', 1))

    restore(own, b2, change)
    code, said, answer = verify(own, home)
    assert code == 1 and any("was changed" in line for line in said["b2"]) and said["a1"][0].startswith("valid"), answer


def test_a_lost_trail_is_found_out(own, home):
    on(own["a1"], "b2")
    wait_for_heads(own)
    b2 = own["b2"]

    def lose(trail):
        shutil.rmtree(trail)
        for key in trail.parent.glob("trail-key*"):
            key.unlink()

    restore(own, b2, lose)
    code, said, answer = verify(own, home)
    assert code == 1 and "lost or replaced" in said["b2"][0] and said["a1"][0].startswith("valid"), answer
    b2.kill_engine()
    code, said, answer = verify(own, home)
    assert code == 1 and "cannot be verified" in said["b2"][0], answer


def test_a_head_that_nobody_signed_is_not_believed(own, home):
    on(own["a1"], "b2")
    wait_for_heads(own)
    head = own["b2"].engine.get("/v1/audit/head").json
    head["seq"] += 1000
    data = json.dumps(head).encode()
    with socket.create_connection(("127.0.0.1", own.nats.port)) as s:
        s.sendall(b'CONNECT {"verbose":false}\r\n' + f"PUB belljar.v1.trail.b2 {len(data)}\r\n".encode() + data + b"\r\nPING\r\n")
        seen = b""
        while b"PONG" not in seen:
            seen += s.recv(4096)
    wait_until(lambda: head["seq"] in trails(own)["b2"], "it is kept")
    code, said, answer = verify(own, home)
    assert code == 1 and "is not signed by its key" in said["b2"][0], answer
    assert not any("cut off" in line for line in said["b2"]), answer


@pytest.fixture(scope="module")
def closed(callers):
    """With the certificates and permissions of `belljar cluster join`."""
    with test_cluster_tokens.Cluster(callers["user"]) as cluster:
        yield cluster


def test_nobody_ships_for_another_or_deletes(closed, home):
    on(closed["a1"], "b2")
    wait_for_heads(closed)
    assert verify(closed, home)[0] == 0
    before = trails(closed)
    for role, subjects in {
        "node": ("belljar.v1.trail.a1", "belljar.v1.trail.x.b2", "$JS.API.STREAM.DELETE.belljar_trails", "$JS.API.STREAM.PURGE.belljar_trails",
                 "$JS.API.STREAM.MSG.DELETE.belljar_trails", "$JS.API.STREAM.UPDATE.belljar_trails", "$JS.API.STREAM.MSG.GET.belljar_trails"),
        "gateway": ("belljar.v1.trail.b2", "belljar.v1.trail.a1", "$JS.API.STREAM.CREATE.belljar_trails", "$JS.API.STREAM.DELETE.belljar_trails"),
        "operator": ("belljar.v1.trail.b2", "$JS.API.STREAM.DELETE.belljar_trails"),
    }.items():  # fmt: skip
        for subject in subjects:
            with test_cluster_tokens.Raw(closed, "b2", role) as connection:
                connection.publish(subject, b"{}")
                assert "Permissions Violation" in connection.flush(), (role, subject)
    with test_cluster_tokens.Raw(closed, "b2", "node") as connection:  # it may make the stream, and no other than there is
        connection.publish("$JS.API.STREAM.CREATE.belljar_trails", json.dumps({"name": "belljar_trails", "subjects": ["belljar.v1.trail.*"], "max_msgs": 1}).encode())
        assert "-ERR" not in connection.flush()
    after = trails(closed)
    assert all(after[node][: len(before[node])] == before[node] for node in before)
