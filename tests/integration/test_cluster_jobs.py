"""Durable jobs of a cluster outlive the machine that took them."""
import json
import os
import socket
import uuid

import bus
import pytest
import test_cluster_tokens
from belljar import HANG_SECONDS
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))

NAMES = ("a1", "b2", "c3")
OVER = ("done", "failed", "lost", "cancelled")


class Cluster(bus.Cluster):
    """Three machines, and a bus that keeps copies of jobs."""

    def __init__(self, who):
        self.store = who.directory(f"jetstream-{uuid.uuid4().hex[:8]}")
        self.key = self.store / "jobs.key"
        self.key.write_text(os.urandom(32).hex() + "\n")
        os.chmod(self.key, 0o644)
        node = f'jobs_key = "{self.key}"\njobs_after_s = 1\n'
        super().__init__(who, names=NAMES, nats=("-js", "-sd", str(self.store / "js")), nodes={n: node for n in NAMES})

    def others(self, machine):
        return [m for m in self.machines if m is not machine]


@pytest.fixture
def cluster(callers):
    with Cluster(callers["user"]) as cluster:
        yield cluster


def submit(machine, node, code, **fields):
    reply = None

    def accepted():
        nonlocal reply
        reply = machine.post("/v1/jobs", {"code": code, **fields}, headers={"Belljar-Node-Label": node})
        return reply.status != 503  # until the bus has chosen who keeps the copies

    wait_until(accepted, "the job is accepted")
    assert reply.status == 202, reply
    assert bus.node_of(reply.json["id"]) == node
    return reply.json["id"]


def show(machine, job, **query):
    reply = machine.get(f"/v1/jobs/{job}" + ("?wait_s=20" if query else ""))
    return reply.json if reply.status == 200 else None


def wait_for(machine, job, states=OVER):
    def there():
        shown = show(machine, job)
        return shown if shown and shown["state"] in states else None

    return wait_until(there, f"the job is {states}")


def test_lists_have_pages(cluster):
    jobs = [submit(cluster["a1"], NAMES[n % 3], "1", delay_s=3600) for n in range(7)]
    for gateway in cluster.machines:
        listed, query = [], "?limit=3"
        while page := [job["id"] for job in gateway.get(f"/v1/jobs{query}").json["jobs"]]:
            listed += page
            query = f"?limit=3&before={page[-1]}"
        assert listed == jobs[::-1]
    assert cluster["a1"].get("/v1/runs?history=true&before=7").status == 400, "each machine numbers its own"


def lose(machine):
    machine.kill_bus()
    machine.kill_engine()


class Bus:
    """A plain connection to the server, which answers questions."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)
        self.file = self.socket.makefile("rb")
        self.file.readline()
        self.send(b'CONNECT {"verbose":false}\r\nSUB t.answers 1\r\n')

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, subject, question=b""):
        self.send(f"PUB {subject} t.answers {len(question)}\r\n".encode() + question + b"\r\n")
        while True:
            line = self.file.readline()
            if line.startswith(b"PING"):
                self.send(b"PONG\r\n")
            if line.startswith(b"MSG"):
                return json.loads(self.file.read(int(line.split()[-1]) + 2))


def places(cluster, job):
    """Kind, home and number of each place that the bus has of a job."""
    bus_ = Bus(cluster.nats.port)
    try:
        answer = bus_.ask("$JS.API.STREAM.INFO.belljar_jobs", b'{"subjects_filter":"belljar.v1.job.%s.>"}' % job.encode())
    finally:
        bus_.socket.close()
    return {s.split(job + ".")[1] for s in answer["state"].get("subjects") or {}}


def test_a_job_runs_and_is_seen_everywhere(cluster):
    job = submit(cluster["a1"], "b2", "print(6 * 7)")
    for machine in cluster.machines:
        assert wait_for(machine, job)["state"] == "done"
        assert machine.get(f"/v1/jobs/{job}/result").json["stdout"] == "42\n"
        assert [j["id"] for j in machine.get("/v1/jobs").json["jobs"]] == [job]


def test_a_lost_machines_jobs_go_on_elsewhere(cluster):
    lost = cluster["b2"]
    done = submit(cluster["a1"], "b2", "print('before')")
    before = wait_for(cluster["a1"], done)
    waits = submit(cluster["a1"], "b2", "print('late')", delay_s=600)
    runs = submit(cluster["a1"], "b2", "import time; print('began', flush=True); time.sleep(3); print('ended')")
    once = submit(cluster["a1"], "b2", "import time; time.sleep(600)", repeatable=False)
    for job in (runs, once):
        wait_for(cluster["a1"], job, ("running",))
    wait_until(lambda: any(p.startswith("e.1.") for p in places(cluster, done)), "the result has a copy")
    lose(lost)
    a1 = cluster["a1"]
    shown = wait_for(a1, runs)
    assert (shown["state"], shown["attempts"]) == ("done", 2), shown
    assert [a["outcome"] for a in shown["history"]] == ["interrupted", "success"]
    assert a1.get(f"/v1/jobs/{runs}/result").json["stdout"] == "began\nended\n"
    shown = wait_for(a1, once)
    assert shown["state"] == "lost" and "not repeatable" in shown["error"]["message"], shown
    shown = wait_for(a1, done)
    assert {k: v for k, v in shown.items() if k != "progress"} == {k: v for k, v in before.items() if k != "progress"}
    assert cluster["c3"].get(f"/v1/jobs/{done}/result").json["stdout"] == "before\n"
    assert wait_for(a1, waits, ("waiting",))["attempts"] == 0
    assert {j["id"] for j in a1.get("/v1/jobs").json["jobs"]} == {done, waits, runs, once}


def test_a_machine_that_comes_back_has_lost_its_jobs(cluster):
    a1, lost = cluster["a1"], cluster["b2"]
    job = submit(a1, "b2", "import time; time.sleep(600)")
    wait_for(a1, job, ("running",))
    lost.kill_bus()
    wait_for(a1, job, ("running",))
    assert lost.engine.get(f"/v1/jobs/{job}").json["attempts"] == 1, "two run for a moment, as a job at least once may"
    lost.start_bus()
    wait_until(lambda: lost.engine.get(f"/v1/jobs/{job}").status == 404, "its copy goes")
    wait_until(lambda: [j["attempts"] for j in lost.get("/v1/jobs").json["jobs"]] == [2], "one is left")
    assert lost.call("POST", f"/v1/jobs/{job}/cancel").json == {"cancelled": True}
    assert wait_for(lost, job)["state"] == "cancelled"


def test_what_ends_leaves_nothing_on_the_bus(cluster):
    a1 = cluster["a1"]
    cancelled = submit(a1, "b2", "import time; time.sleep(600)")
    deleted = submit(a1, "b2", "print(1)")
    wait_for(a1, cancelled, ("running",))
    wait_for(a1, deleted)
    assert places(cluster, cancelled) >= {"h.1.0", "q.1.0"}
    assert a1.call("POST", f"/v1/jobs/{cancelled}/cancel").json == {"cancelled": True}
    assert places(cluster, cancelled) == set()
    assert a1.call("DELETE", f"/v1/jobs/{deleted}").status == 204
    wait_until(lambda: not places(cluster, deleted), "its copy goes")
    short = submit(a1, "b2", "print(1)", keep_s=1)
    wait_until(lambda: a1.get(f"/v1/jobs/{short}").status == 404, "its time is up")
    secret = submit(a1, "b2", "print('a secret word')")
    wait_for(a1, secret)
    raw = b"".join(open(os.path.join(d, f), "rb").read() for d, _, files in os.walk(cluster.store / "js") for f in files)
    assert secret.encode() in raw and b"secret word" not in raw and a1.token.encode() not in raw


def test_a_key_is_one_job_on_all_machines(cluster):
    def post(machine, code):
        return machine.post("/v1/jobs", {"code": code}, headers={"Idempotency-Key": "once/only"})

    a1 = cluster["a1"]
    wait_until(lambda: post(a1, "print(1)").status == 202, "it is accepted")
    first = post(cluster["b2"], "print(1)").json["id"]
    lost = cluster[bus.node_of(first)]
    other = cluster.others(lost)[0]
    wait_for(other, first)
    wait_until(lambda: any(p.startswith("e.") for p in places(cluster, first)), "the result has a copy")
    lose(lost)
    again = wait_until(lambda: (r := post(other, "print(1)")).status not in (502, 503) and r, "it is answered")
    assert (again.status, again.json["id"]) == (202, first), again
    assert len(other.get("/v1/jobs").json["jobs"]) == 1
    assert other.get("/v1/jobs/key:once%2Fonly").json["id"] == first


def test_a_job_that_the_bus_did_not_take_is_not_accepted(cluster):
    a1 = cluster["a1"]
    submit(a1, "a1", "1")
    bus_ = Bus(cluster.nats.port)
    assert bus_.ask("$JS.API.STREAM.DELETE.belljar_jobs")["success"]
    bus_.ask("$JS.API.STREAM.CREATE.belljar_jobs", json.dumps(
        {"name": "belljar_jobs", "subjects": ["belljar.v1.job.>"], "retention": "limits", "storage": "file", "max_bytes": 1, "discard": "new",
         "discard_new_per_subject": True, "max_msgs_per_subject": 1, "num_replicas": 1, "max_msgs": -1, "max_consumers": -1, "max_age": 0}).encode())  # fmt: skip
    bus_.socket.close()
    reply = a1.post("/v1/jobs", {"code": "1"})
    assert reply.status == 503 and reply.error["code"] == "unavailable" and reply.headers["retry-after"], reply


def test_whoever_writes_to_the_bus_makes_no_jobs(cluster):
    a1 = cluster["a1"]
    real = submit(a1, "b2", "import time; time.sleep(600)")
    wait_for(a1, real, ("running",))
    forged = real[:-4] + "0-b2"
    bus_ = Bus(cluster.nats.port)
    for kind, place in (("h.1.0", forged), ("q.1.0", forged), ("h.2.0", real)):
        bus_.ask(f"belljar.v1.job.{place}.{kind}", b'{"home":"c3","credentials":"authorization: x"}')
    lose(cluster["b2"])
    other = submit(a1, "c3", "print(1)")
    assert wait_for(a1, other)["state"] == "done"
    assert a1.get(f"/v1/jobs/{forged}").status == 503, "nobody has taken it"
    bus_.socket.close()


class Joined(test_cluster_tokens.Cluster):
    """With the certificates and permissions of `belljar cluster join`."""

    def join(self, name):
        super().join(name)
        settings = self.directory / name / "cluster" / "cluster.toml"
        settings.write_text(settings.read_text() + "jobs_after_s = 1\n")


def test_joined_machines_may_do_what_it_takes(callers):
    with Joined(callers["user"]) as cluster:
        a1, b2 = cluster.machines
        assert (a1.directory / "cluster" / "jobs.key").read_text() == (b2.directory / "cluster" / "jobs.key").read_text()
        assert os.stat(a1.directory / "cluster" / "jobs.key").st_mode & 0o007 == 0
        a1.token = b2.token = a1.add("ci")
        test_cluster_tokens.holds(cluster, a1.token)
        runs = submit(a1, "b2", "import time; time.sleep(600)")
        removed = a1.add("old")
        test_cluster_tokens.holds(cluster, removed)
        reply = a1.post("/v1/jobs", {"code": "1", "delay_s": 600}, headers={"Belljar-Node-Label": "b2", "Authorization": f"Bearer {removed}"})
        assert reply.status == 202, reply
        wait_for(a1, runs, ("running",))
        lose(b2)
        a1.remove("old")
        assert wait_for(a1, runs, ("running",))["attempts"] == 2
        assert a1.call("POST", f"/v1/jobs/{runs}/cancel").json == {"cancelled": True}
        assert wait_for(a1, runs)["state"] == "cancelled"
        assert a1.get(f"/v1/jobs/{reply.json['id']}", headers={"Authorization": f"Bearer {removed}"}).status in (401, 503)
        assert "no copies" not in a1.said_text()
