"""`Idempotency-Key`: a request that is sent again has its effect once, and the same answer."""
import json
import secrets
import threading
import time

import pytest

from serving import Server, wait_until

RANDOM = "import random\nprint(random.SystemRandom().getrandbits(64))"


def key():
    return {"Idempotency-Key": secrets.token_hex(8)}


def tokens_of(server, *names):
    """Tokens for others, as text."""
    made = []
    for name in names:
        answer = server.who.call("token", "add", name)
        assert answer.code == 0, answer
        made.append(answer.text.strip())
    return made


def test_the_same_key_gets_the_first_answer(server):
    k, body = key(), {"code": RANDOM, "profile": "open"}
    first = server.post("/v1/run", body, headers=k)
    again = server.post("/v1/run", body, headers=k)
    assert first.status == again.status == 200
    assert first.json["status"] == "success", first
    assert again.body == first.body
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = server.post("/v1/run", body, headers=key())
    assert other.json["stdout"] != first.json["stdout"]
    assert server.post("/v1/run", body).json["stdout"] != first.json["stdout"]


def test_a_body_counts_by_its_values(server):
    k = {**key(), "Content-Type": "application/json"}
    first = server.call("POST", "/v1/run", b'{"code": "1", "timeout_s": 5}', k)
    assert server.call("POST", "/v1/run", b'{"timeout_s":5,  "code":"1"}', k).body == first.body
    for other in (b'{"code": "2", "timeout_s": 5}', b'{"code": "1", "timeout_s": 6}', b'{"code": "1"}'):
        reply = server.call("POST", "/v1/run", other, k)
        assert reply.status == 422, reply
        assert reply.error["code"] == "invalid"
        assert reply.error["message"] == "this Idempotency-Key was used for another request"


def test_a_cell_is_run_once(server):
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    path, k = f"/v1/sessions/{session}/execute", key()
    server.post(path, {"code": "n = 0"})
    for _ in range(3):
        assert server.post(path, {"code": "n += 1\nprint(n)"}, headers=k).json["stdout"] == "1\n"
    assert server.post(path, {"code": "print(n)"}).json["stdout"] == "1\n"
    reply = server.post("/v1/run", {"code": "n += 1\nprint(n)"}, headers=k)
    assert reply.status == 422, reply  # the path is a part of what is asked
    server.call("DELETE", f"/v1/sessions/{session}")
    assert server.post(path, {"code": "n += 1\nprint(n)"}, headers=k).json["stdout"] == "1\n"


def test_who_asks_while_the_first_runs_waits_for_it(server):
    k, replies = key(), []
    body = {"code": "import time\ntime.sleep(1)\n" + RANDOM, "profile": "open"}

    def ask():
        replies.append(server.post("/v1/run", body, headers=k))

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for t in threads:
        t.start()
        time.sleep(0.05)
    for t in threads:
        t.join()
    assert {r.status for r in replies} == {200}
    assert len({r.body for r in replies}) == 1
    assert sum("idempotency-replayed" in r.headers for r in replies) == 4


@pytest.mark.one_caller
def test_a_client_that_comes_back_finds_its_run(server):
    """Without a key it would have been cancelled."""
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    path, k = f"/v1/sessions/{session}/execute", key()
    body = {"code": "import time\nwith open('began', 'w'): pass\ntime.sleep(3)\nprint('done')"}
    c = server.connect()
    c.request("POST", path, json.dumps(body), server.headers({"Content-Type": "application/json", **k}))
    wait_until(lambda: server.get(f"/v1/sessions/{session}/files/began").status == 200, "the cell begins")
    c.close()
    reply = server.post(path, body, headers=k)
    assert (reply.json["status"], reply.json["stdout"]) == ("success", "done\n")
    server.call("DELETE", f"/v1/sessions/{session}")


def test_events_are_told_again(server):
    k, body = key(), {"code": RANDOM, "profile": "open"}
    first = list(server.stream("POST", "/v1/run", body, headers=k))
    again = list(server.stream("POST", "/v1/run", body, headers=k))
    assert [e[1] for e in first] == ["start", "stdout", "result"]
    assert again == first
    assert server.post("/v1/run", body, headers=k).json == first[-1][2]
    k = key()
    answer = server.post("/v1/run", body, headers=k).json
    assert [e[1:] for e in server.stream("POST", "/v1/run", body, headers=k)] == [("result", answer)]


def test_a_session_is_opened_once(server):
    k = key()
    first = server.post("/v1/sessions", {"profile": "open"}, headers=k)
    again = server.post("/v1/sessions", {"profile": "open"}, headers=k)
    assert first.status == again.status == 201
    assert again.body == first.body
    assert again.headers["idempotency-replayed"] == "true"
    assert server.post("/v1/sessions", {"profile": "strict"}, headers=k).status == 422
    assert len(server.get("/v1/sessions").json["sessions"]) == 1
    server.call("DELETE", f"/v1/sessions/{first.json['session_id']}")
    assert server.post("/v1/sessions", {"profile": "open"}, headers=k).json["session_id"] == first.json["session_id"]


def test_what_was_refused_may_be_tried_again(server):
    k = key()
    assert server.post("/v1/run", {"code": "1", "profile": "nonsense"}, headers=k).status in (400, 404)
    assert server.post("/v1/run", {"code": "1"}, headers=k).status == 200
    name, k = f"n{secrets.token_hex(4)}", key()
    taken = server.post("/v1/sessions", {"name": name})
    assert taken.status == 201
    assert server.post("/v1/sessions", {"name": name}, headers=k).status >= 400
    server.call("DELETE", f"/v1/sessions/{name}")
    assert wait_until(lambda: server.post("/v1/sessions", {"name": name}, headers=k).status == 201, "the name is free")
    server.call("DELETE", f"/v1/sessions/{name}")


@pytest.mark.parametrize("value", ["", "a b", "x" * 256, "\x80"])
def test_a_key_that_is_none(server, value):
    reply = server.post("/v1/run", {"code": "1"}, headers={"Idempotency-Key": value})
    assert reply.status == 400, reply


@pytest.mark.parametrize("path, body", [("/run", {"code": "1"}), ("/execute", {"code": "1"})])
def test_where_a_key_means_nothing_it_is_refused(server, path, body):
    reply = server.post(path, body, headers=key())
    assert (reply.status, reply.error["message"]) == (400, "this path does not support Idempotency-Key")
    assert server.get("/v1/sessions", headers=key()).status == 200


def test_a_key_is_its_owners(user):
    server = Server(user, "--socket", "none")
    ann, bob = tokens_of(server, "once-ann", "once-bob")
    k, body = key(), {"code": RANDOM, "profile": "open"}
    replies = [
        server.post("/v1/run", body, headers={**k, "Authorization": f"Bearer {token}"}) for token in (ann, bob, ann)
    ]
    assert [r.status for r in replies] == [200, 200, 200]
    assert replies[0].body == replies[2].body
    assert replies[0].json["stdout"] != replies[1].json["stdout"]
    assert "idempotency-replayed" not in replies[1].headers
    for name in ("once-ann", "once-bob"):
        assert user.call("token", "rm", name).code == 0
    assert server.stop() == 0


def test_a_run_that_had_no_turn_may_have_one_later(user):
    """A request that the queue refuses has not used its key."""
    server = Server(
        user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "1", "BELLJAR_QUEUE_TIMEOUT_S": "1"}
    )  # fmt: skip
    long = threading.Thread(target=server.run, args=("import time\ntime.sleep(3)",), kwargs={"profile": "open"})
    long.start()
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 1, "it runs")
    k = key()
    assert server.post("/v1/run", {"code": "print(1)"}, headers=k).status == 429
    long.join()
    reply = server.post("/v1/run", {"code": "print(1)"}, headers=k)
    assert (reply.status, reply.json["stdout"]) == (200, "1\n")
    assert server.stop() == 0


def test_an_answer_that_is_not_kept_is_not_made_again(user):
    """A thousand answers under keys are kept; an older one is gone, and its code is not run again."""
    server = Server(user, "--socket", "none")
    k, body = key(), {"code": "print(1)"}
    c = server.connect()
    assert server.post("/v1/run", body, headers=k, connection=c).status == 200
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    for i in range(1000):  # cells, whose answers are kept like those of runs and come sooner
        assert server.post(f"/v1/sessions/{session}/execute", {"code": "1"}, headers=key(), connection=c).status == 200
    reply = server.post("/v1/run", body, headers=k, connection=c)
    assert (reply.status, reply.error["code"]) == (409, "not_found"), reply
    c.close()
    assert server.stop() == 0


def test_the_document_names_the_header(server):
    paths = server.get("/openapi.json").json["paths"]
    knows = {p for p, item in paths.items() if any(x["name"] == "Idempotency-Key" for x in item.get("post", {}).get("parameters", []))}
    assert {"/v1/run", "/v1/sessions", "/v1/sessions/{session}/execute"} <= knows
    assert "/run" not in knows
