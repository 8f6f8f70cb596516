"""A gateway shows the whole cluster: figures, events, the nodes."""
import re

import bus
import pytest
from client_ways import belljar_client
from serving import wait_until

pytestmark = pytest.mark.skipif(bus.reason_to_skip() is not None, reason=str(bus.reason_to_skip()))


@pytest.fixture(scope="module")
def cluster(callers):
    with bus.Cluster(callers["user"]) as cluster:
        yield cluster


@pytest.fixture
def own(callers):
    """A cluster for a test that breaks it."""
    with bus.Cluster(callers["user"]) as cluster:
        yield cluster


def on(machine, node, code="1"):
    reply = machine.post("/v1/run", {"code": code}, headers={"Belljar-Node-Label": node})
    assert reply.status == 200, reply
    return reply.json["id"]


@pytest.fixture(scope="module")
def plain(cluster):
    return add_token(cluster, "plain")


def token_file(cluster):
    return {"BELLJAR_TOKENS_FILE": str(cluster.directory / "tokens.toml")}


def add_token(cluster, name):
    """A token that is no operator's, on all machines."""
    answer = cluster["a1"].who.call("token", "add", name, env=token_file(cluster))
    assert answer.code == 0, answer
    headers = {"Authorization": "Bearer " + re.search(r"bj_\w+", answer.text)[0]}
    for machine in cluster.machines:
        wait_until(lambda m=machine: m.engine.get("/v1/me", headers=headers).status == 200, "the token is known")
    return headers


# --- figures ---


def series(text):
    """{(name, labels): value}; what Prometheus refuses fails here."""
    found, finished, current = {}, set(), None
    for line in text.splitlines():
        if about := re.fullmatch(r"# (HELP|TYPE) (\w+) .+", line):
            if about[2] != current:
                assert about[2] not in finished, f"{line}: not in one group"
                finished.add(current := about[2])
            continue
        name, labels, value = re.fullmatch(r'(\w+)\{((?:\w+="[^"\\]*",?)+)\} (\S+)', line).groups()
        assert name.startswith(current), line
        key = name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))
        assert key not in found, line
        found[key] = float(value)
    return found


def of(found, name, **labels):
    return found[name, frozenset(labels.items())]


def test_metrics_of_all_nodes(cluster):
    for node in ("a1", "b2", "b2"):
        on(cluster["a1"], node)
    for gateway in cluster.machines:
        reply = gateway.get("/metrics")
        assert reply.status == 200 and reply.headers["content-type"].startswith("text/plain; version=0.0.4"), reply
        found = series(reply.body.decode())
        for machine in cluster.machines:
            alone = machine.engine.get("/metrics").body.decode()
            runs = float(re.search(r'belljar_runs_total\{status="success"\} (\S+)', alone)[1])
            assert of(found, "belljar_runs_total", node=machine.name, status="success") == runs > 0
            assert of(found, "belljar_run_seconds_bucket", node=machine.name, le="+Inf") == of(found, "belljar_run_seconds_count", node=machine.name)
            assert of(found, "belljar_cluster_node_up", node=machine.name) == of(found, "belljar_cluster_node_ready", node=machine.name) == 1
            assert of(found, "belljar_cluster_node_room", node=machine.name) > 0
        assert of(found, "belljar_gateway_nodes", gateway=gateway.name) == 2
        assert of(found, "belljar_gateway_requests_total", gateway=gateway.name) > 0


def test_stats_are_summed(cluster):
    for node in ("a1", "b2"):
        on(cluster["a1"], node)
    stats = cluster["b2"].get("/v1/stats").json
    alone = {m.name: m.engine.get("/v1/stats", headers=m.headers()).json for m in cluster.machines}
    assert {n["node"] for n in stats["nodes"]} == {"a1", "b2"} and "nodes_missing" not in stats
    for part in stats["nodes"]:
        assert part["server"]["runs"] == alone[part["node"]]["server"]["runs"]
    assert stats["server"]["runs"]["success"] == sum(a["server"]["runs"]["success"] for a in alone.values())
    assert stats["server"]["queue"]["max_running"] == sum(a["server"]["queue"]["max_running"] for a in alone.values())
    assert stats["you"]["name"] == "default" and stats["you"]["done"] == sum(a["you"]["done"] for a in alone.values())


def test_figures_are_for_operators(cluster, plain):
    assert cluster["a1"].get("/metrics", headers=plain).status == 403
    assert cluster["a1"].get("/metrics", headers={"Authorization": None}).status == 401
    stats = cluster["a1"].get("/v1/stats", headers=plain).json
    assert stats["you"]["name"] == "plain" and "server" not in stats and all("server" not in n for n in stats["nodes"])


def test_a_node_that_is_away_is_missing_in_figures(own):
    own["b2"].kill_engine()
    found = series(own["a1"].get("/metrics").body.decode())
    assert of(found, "belljar_cluster_node_up", node="b2") == 0 and of(found, "belljar_cluster_node_up", node="a1") == 1
    assert not any(name == "belljar_sessions" and ("node", "b2") in labels for name, labels in found)
    assert own["a1"].get("/v1/stats").json["nodes_missing"] == ["b2"]
    own["b2"].kill_bus()

    def lost():
        found = series(own["a1"].get("/metrics").body.decode())
        return of(found, "belljar_gateway_nodes", gateway="a1") == 1 and of(found, "belljar_gateway_nodes_lost_total", gateway="a1")

    assert wait_until(lost, "the node is lost") == 1


# --- nodes ---


def test_the_nodes_of_the_cluster(cluster, plain):
    on(cluster["a1"], "b2")
    session = cluster["a1"].post("/v1/sessions", {}, headers={"Belljar-Node-Label": "b2"}).json["session_id"]

    def nodes():
        answer = cluster["a1"].get("/v1/cluster/nodes").json
        found = {n["node"]: n for n in answer["nodes"]}
        return answer["gateway"] == "a1" and found["b2"]["sessions"] == 1 and found

    found = wait_until(nodes, "the heartbeat has the session")
    assert set(found) == {"a1", "b2"} and all(n["state"] == "ready" and n["version"] and n["room"] > 0 for n in found.values())
    assert found["b2"]["runs"]["success"] > 0 and found["b2"]["resident_bytes"] > 0 and abs(found["b2"]["clock_off_ms"]) < 10_000
    cluster["a1"].call("DELETE", f"/v1/sessions/{session}")
    denied = cluster["a1"].get("/v1/cluster/nodes", headers=plain)
    assert denied.status == 403 and denied.error["code"] == "denied", denied
    assert cluster["a1"].get("/v1/cluster/nodes", headers={"Authorization": None}).status == 401
    assert cluster["a1"].engine.get("/v1/cluster/nodes").status == 404


def test_lost_nodes_are_listed(own):
    state = lambda: {n["node"]: n["state"] for n in own["a1"].get("/v1/cluster/nodes").json["nodes"]}  # noqa: E731
    own["b2"].kill_engine()
    wait_until(lambda: state() == {"a1": "ready", "b2": "no_engine"}, "the engine is away")
    own["b2"].kill_bus()
    wait_until(lambda: state() == {"a1": "ready", "b2": "lost"}, "the node is lost")
    own["b2"].start_engine()
    own["b2"].start_bus()
    wait_until(lambda: state() == {"a1": "ready", "b2": "ready"}, "it is back")


# --- events ---


def listen(machine, last=None, query="", headers=None):
    """The stream, and its hello."""
    stream = machine.stream("GET", f"/v1/events{query}", headers={**({"Last-Event-ID": last} if last else {}), **(headers or {})})
    assert stream.status == 200, stream.answer.read()
    events = iter(stream)
    first = next(events)
    assert first[1] == "hello", first
    return stream, events, first


def until_ended(events, runs):
    """The events up to the ends of these runs."""
    seen, left = [], set(runs)
    while left:
        seen.append(next(events))
        left -= {seen[-1][2].get("id")} if seen[-1][1] == "run_ended" else set()
    return seen


def ids_of(seen):
    return [data["id"] for _, name, data in seen if name == "run_ended"]


def test_events_of_all_nodes_are_one_stream(cluster):
    stream, events, hello = listen(cluster["a1"])
    assert hello[2]["nodes"] == ["a1", "b2"] and hello[2]["nodes_missing"] == [] and hello[2]["live"]["sessions"] == 0
    assert hello[2]["version"] and hello[2]["server_started_at"] and re.fullmatch(r"\w+-\w+\.\w+-\w+", hello[0])
    runs = [on(cluster["b2"], node) for node in ("a1", "b2", "a1", "b2")]
    seen = until_ended(events, runs)
    assert sorted(ids_of(seen)) == sorted(runs)
    assert [d["id"] for _, n, d in seen if n == "run_started"] and not any(n in ("gap", "node_lost") for _, n, _ in seen)
    for node in ("a1", "b2"):  # of one node they come in order
        mine = [r for r in runs if bus.node_of(r) == node]
        assert [r for r in ids_of(seen) if r in mine] == mine
    stream.close()


def test_a_stream_goes_on_at_another_gateway(cluster):
    """No event is missing, none comes twice: the id has the place in each node's stream."""
    stream, events, _ = listen(cluster["a1"])
    runs = [on(cluster["a1"], node) for node in ("a1", "b2")]
    seen = until_ended(events, runs)
    last = seen[-1][0]
    stream.close()
    later = [on(cluster["a1"], node) for node in ("b2", "a1", "b2")]
    stream, events, hello = listen(cluster["b2"], last)
    assert hello[0] is None
    after = until_ended(events, later)
    assert sorted(ids_of(after)) == sorted(later)
    assert not any(name == "gap" for _, name, _ in after)
    stream.close()


@pytest.mark.parametrize("last", ["17940000", "a1-1.b2-1", "nonsense", "c9-hs8x0c2k1f"])
def test_what_cannot_go_on_says_so_of_each_node(cluster, last):
    stream, events, _ = listen(cluster["a1"], last)
    gaps = set()
    while len(gaps) < 2:
        _, name, data = next(events)
        if name == "gap":
            gaps.add(data["node"])
            assert data["from"]
    assert gaps == {"a1", "b2"}
    stream.close()


def test_events_are_those_of_the_token(cluster, plain):
    mine, events, _ = listen(cluster["a1"], headers=plain)
    on(cluster["a1"], "b2")
    reply = cluster["a1"].post("/v1/run", {"code": "1"}, headers={**plain, "Belljar-Node-Label": "b2"})
    assert ids_of(until_ended(events, [reply.json["id"]])) == [reply.json["id"]]
    mine.close()
    assert cluster["a1"].get("/v1/events?all=true", headers=plain).status == 403
    assert cluster["a1"].get("/v1/events", headers={"Authorization": None}).status == 401
    assert cluster["a1"].get("/v1/events?kinds=nonsense").status == 400


def test_a_removed_token_ends_its_stream(cluster):
    headers = add_token(cluster, "brief")
    stream, events, _ = listen(cluster["a1"], headers=headers)
    answer = cluster["a1"].who.call("token", "rm", "brief", env=token_file(cluster))
    assert answer.code == 0, answer
    for machine in cluster.machines:
        wait_until(lambda m=machine: m.engine.get("/v1/me", headers=headers).status == 401, "the token is gone")
    assert [name for _, name, _ in events if name != "node_lost"] == []
    stream.close()


def test_whoever_does_not_read_holds_back_nobody(cluster):
    """The stream that is not read is whole afterwards, or says where it is not."""
    slow = cluster["a1"].stream("GET", "/v1/events")
    stream, events, _ = listen(cluster["a1"])
    code = "#" * 12000 + "\n1"
    runs = [on(cluster["a1"], node, code) for node in ("a1", "b2") * 60]
    assert sorted(ids_of(until_ended(events, runs))) == sorted(runs)
    stream.close()
    last = on(cluster["a1"], "b2")
    seen = until_ended(iter(slow), [last])
    assert ids_of(seen)[-1] == last
    assert any(name == "gap" for _, name, _ in seen) or set(ids_of(seen)) >= {r for r in runs if bus.node_of(r) == "b2"}
    slow.close()


def test_a_lost_node_is_an_event_and_not_an_end(own):
    stream, events, _ = listen(own["a1"])
    own["b2"].kill_bus()
    lost = next(e for e in events if e[1] == "node_lost")
    assert lost[2]["node"] == "b2" and lost[2]["time"]
    here = on(own["a1"], "a1")
    assert ids_of(until_ended(events, [here])) == [here]
    there = own["b2"].engine.post("/v1/run", {"code": "1"}).json["id"]
    own["b2"].start_bus()
    seen = until_ended(events, [there])
    names = [name for _, name, _ in seen]
    assert names[0] == "node_back" and "gap" not in names and ids_of(seen) == [there]
    late, more, hello = listen(own["b2"], seen[-1][0])
    assert sorted(hello[2]["nodes"] + hello[2]["nodes_missing"]) == ["a1", "b2"]
    late.close()
    own["b2"].kill_engine()
    assert next(e for e in events if e[1] == "node_lost")[2]["node"] == "b2"
    stream.close()


def test_the_client_goes_on_with_such_ids(cluster):
    """Its connection is cut, and it asks again at the place of the last event."""
    gateway = cluster["a1"]
    with belljar_client.Client(f"http://127.0.0.1:{gateway.port}", token=gateway.token) as client, client.watch() as events:
        assert next(events).kind == "hello"
        on(gateway, "b2")
        last = next(e for e in events if e.kind == "run_ended")
        assert re.fullmatch(r"\w+-\w+\.\w+-\w+", last.id)
        events._exchange.close()
        events._exchange = None
        events._watch_on()
        later = on(gateway, "a1")
        assert next(e for e in events if e.kind == "run_ended").data["id"] == later
