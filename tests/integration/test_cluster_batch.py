"""A batch at a gateway: cut into shares for several nodes, and one answer."""
import concurrent.futures
import json
import signal
import time

import bus
import pytest
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))

LINES = {"Accept": "application/x-ndjson"}


@pytest.fixture(scope="module")
def cluster(callers):
    with bus.Cluster(callers["user"], names=("a1", "b2", "c3")) as cluster:
        yield cluster


@pytest.fixture
def own(callers):
    """A cluster for a test that breaks it."""
    with bus.Cluster(callers["user"]) as cluster:
        yield cluster


def numbers(count, code="print(int(input()) * 2)", **fields):
    """A batch of so many programs, each with a number."""
    return {"code": code, **fields, "runs": [{"id": f"run {n}", "stdin": str(n), "expected_output": str(2 * n)} for n in range(count)]}


def check(runs, summary, count):
    assert sorted(r["index"] for r in runs) == list(range(count))
    for r in runs:
        assert r["id"] == f"run {r['index']}" and r["verdict"] == "accepted" and r["result"]["stdout"] == f"{2 * r['index']}\n", r
    assert summary["total"] == count and summary["verdicts"] == {"accepted": count} and summary["wall_ms"] > 0, summary
    return {bus.node_of(r["result"]["id"]) for r in runs}


def lines_of(reply):
    assert reply.status == 200 and reply.headers["content-type"].startswith("application/x-ndjson"), reply
    answers = [json.loads(line) for line in reply.body.splitlines() if line.strip()]
    return answers[:-1], answers[-1]["summary"]


def test_a_batch_is_spread_over_nodes(cluster):
    reply = cluster["a1"].post("/v1/batch", numbers(90))
    assert reply.status == 200 and reply.headers["content-type"] == "application/json", reply
    assert check(reply.json["runs"], reply.json["summary"], 90) == {"a1", "b2", "c3"}


def test_lines_and_events(cluster):
    runs, summary = lines_of(cluster["b2"].post("/v1/batch", numbers(30), headers=LINES))
    assert len(check(runs, summary, 30)) > 1
    events = list(cluster["b2"].stream("POST", "/v1/batch", numbers(30)))
    assert [name for _, name, _ in events] == ["run"] * 30 + ["summary"]
    assert len(check([data for _, _, data in events[:-1]], events[-1][2], 30)) > 1


def test_one_run_is_a_batch(cluster):
    reply = cluster["c3"].post("/v1/batch", numbers(1))
    check(reply.json["runs"], reply.json["summary"], 1)


def test_a_wrong_run_refuses_all_of_it_in_the_engines_words(cluster):
    machine = cluster["a1"]
    before = {m.name: len(m.engine.get("/v1/runs?limit=1000").json["runs"]) for m in cluster.machines}
    wrong = numbers(40)
    wrong["runs"][33]["timeout_s"] = -1
    for body in (wrong, {**numbers(40), "nothing": 1}, {"code": "1", "runs": []}, {"runs": [{}] * 40}, {"code": "1", "runs": [{}] * 1001}, {**numbers(40), "at_once": 0}):
        reply, own = machine.post("/v1/batch", body), machine.engine.post("/v1/batch", body)
        assert reply.status == own.status == 400 and reply.error == own.error, (reply, own)
    assert before == {m.name: len(m.engine.get("/v1/runs?limit=1000").json["runs"]) for m in cluster.machines}
    reply = machine.post("/v1/batch", numbers(40), headers={"Authorization": "Bearer " + bus.TOKEN})
    assert reply.status == 401 and reply.error["code"] == "auth", reply


def test_at_once_counts_all_nodes(cluster):
    code = "import sys, time\nbegan = time.time()\ntime.sleep(0.05)\nprint(int(input()) * 2)\nprint(began, time.time(), file=sys.stderr)"
    for at_once in (1, 3):
        reply = cluster["a1"].post("/v1/batch", numbers(12, code, at_once=at_once))
        check(reply.json["runs"], reply.json["summary"], 12)
        spans = [tuple(map(float, r["result"]["stderr"].split())) for r in reply.json["runs"]]
        assert max(sum(a <= began < b for a, b in spans) for began, _ in spans) <= at_once, spans


def test_a_label_chooses_the_node(cluster):
    reply = cluster["a1"].post("/v1/batch", numbers(30), headers={"Belljar-Node-Label": "c3"})
    assert check(reply.json["runs"], reply.json["summary"], 30) == {"c3"}


def test_under_a_key_each_run_runs_once(cluster):
    code = "import random; print(random.random())"
    body, headers = {"code": code, "runs": [{} for _ in range(20)]}, {"Idempotency-Key": "spread"}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda m: m.post("/v1/batch", body, headers=headers), cluster.machines))
    said = [{r["index"]: r["result"]["stdout"] for r in reply.json["runs"]} for reply in replies]
    assert len(said[0]) == 20 and said[0] == said[1] == said[2]


def test_a_share_is_of_the_gateways_choice_alone(cluster):
    """The header means nothing on an engine's own sockets, and a client's own is for one node."""
    part = {"Belljar-Batch-Part": "0-1"}
    reply = cluster["a1"].engine.post("/v1/batch", numbers(8), headers=part)
    check(reply.json["runs"], reply.json["summary"], 8)
    reply = cluster["a1"].post("/v1/batch", numbers(8), headers=part)
    assert sorted(r["index"] for r in reply.json["runs"]) == [0, 1] and reply.json["summary"]["total"] == 2, reply
    for wrong in ("8", "0-8", "x", "0,0", ""):
        reply = cluster["a1"].post("/v1/batch", numbers(8), headers={"Belljar-Batch-Part": wrong})
        assert reply.status == 400, (wrong, reply)


def test_a_client_that_leaves_ends_all_shares(cluster):
    machine = cluster["a1"]
    c = machine.connect()
    c.request("POST", "/v1/batch", json.dumps({"code": "import time; time.sleep(600)", "runs": [{}] * 30}), machine.headers({"Content-Type": "application/json", **LINES}))

    def running():
        return [m.name for m in cluster.machines for r in m.engine.get("/v1/runs?state=live").json["runs"]]

    wait_until(lambda: set(running()) == {"a1", "b2", "c3"}, "it runs on all nodes")
    c.close()
    wait_until(lambda: not running(), "nothing runs any more")


def test_a_reader_that_is_slow_stops_it(cluster):
    """Answers that are not read are not held: programs wait for the client."""
    machine = cluster["a1"]
    c = machine.connect()
    c.request("POST", "/v1/batch", json.dumps({"code": "print('x' * 500_000)", "runs": [{}] * 120}), machine.headers({"Content-Type": "application/json", **LINES}))

    def done():
        return [r["id"] for m in cluster.machines for r in m.engine.get("/v1/runs?limit=1000").json["runs"] if r["state"] == "success"]

    def is_still():
        before = done()
        time.sleep(0.5)
        return before == done()

    wait_until(is_still, "the batch stands still")
    with open(f"/proc/{machine.process.pid}/status", encoding="ascii") as status:
        assert next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) < 150_000
    answers = [json.loads(line) for line in c.getresponse().read().splitlines() if line.strip()]
    assert sorted(a["index"] for a in answers[:-1]) == list(range(120)) and answers[-1]["summary"]["verdicts"] == {"accepted": 120}
    c.close()


# --- what breaks ---


@pytest.mark.parametrize("what", ["kill_bus", "kill_engine", "stop_engine"])
def test_the_share_of_a_lost_node_runs_on_another(own, what):
    code = "import time; time.sleep(0.3); print(int(input()) * 2)"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        batch = pool.submit(own["a1"].post, "/v1/batch", numbers(60, code), headers=LINES)
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "some run there")
        if what == "stop_engine":
            own["b2"].engine.process.send_signal(signal.SIGTERM)
        else:
            getattr(own["b2"], what)()
        reply = batch.result(120)
    assert "a1" in check(*lines_of(reply), 60)


def test_a_node_that_hangs_is_lost(own):
    code = "import time; time.sleep(0.2); print(int(input()) * 2)"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        batch = pool.submit(own["a1"].post, "/v1/batch", numbers(40, code), headers=LINES)
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "some run there")
        own["b2"].process.send_signal(signal.SIGSTOP)
        reply = batch.result(120)
        own["b2"].process.send_signal(signal.SIGCONT)
    check(*lines_of(reply), 40)


def test_a_drained_node_ends_its_share(own):
    code = "import time; time.sleep(0.2); print(int(input()) * 2)"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        batch = pool.submit(own["a1"].post, "/v1/batch", numbers(60, code), headers=LINES)
        wait_until(lambda: any(r["state"] == "running" for r in own["b2"].engine.get("/v1/runs").json["runs"]), "some run there")
        own["b2"].process.send_signal(signal.SIGTERM)
        reply = batch.result(120)
    check(*lines_of(reply), 60)
    wait_until(lambda: own["b2"].process.poll() == 0, "it ends by itself")
