"""`POST /v1/batch`: many runs with one request, and a verdict for each."""
import json
import secrets
import threading
import time

import pytest

from serving import Server, wait_until

LINES = {"Accept": "application/x-ndjson"}
SUM = "a, b = map(int, input().split())\nprint(a + b)"


def batch(server, body, **headers):
    reply = server.post("/v1/batch", body, headers=headers or None)
    assert reply.status == 200, reply
    return reply.json


def in_order(answer):
    return sorted(answer["runs"], key=lambda r: r["index"])


def verdicts(answer):
    return [r["verdict"] for r in in_order(answer)]


@pytest.mark.smoke
def test_each_run_has_a_result_and_a_verdict(server):
    answer = batch(
        server,
        {
            "code": SUM,
            "profile": "open",
            "timeout_s": 20,
            "runs": [
                {"id": "a", "stdin": "1 2\n", "expected_output": "3\n"},
                {"id": "b", "stdin": "1 2\n", "expected_output": "4\n"},
                {"id": "c", "stdin": "x\n", "expected_output": "3\n"},
                {"code": "while True: pass", "timeout_s": 1, "expected_output": ""},
                {"code": "x = ' ' * 10**9", "memory_mb": 64},
                {"code": "import socket", "profile": "strict"},
                {"code": "print('x' * 5000)", "output_bytes": 256, "expected_output": "x"},
                {"code": "echo $A; exit 3", "language": "bash", "env": {"A": "b"}, "expected_output": "b"},
                {"code": "print(1)"},
            ],
        },
    )
    assert verdicts(answer) == [
        "accepted", "wrong_answer", "error", "timeout", "memory_exceeded", "refused", "output_exceeded", "error", "accepted",
    ]  # fmt: skip
    runs = in_order(answer)
    assert [r["id"] for r in runs] == ["a", "b", "c", *[None] * 6]
    assert runs[0]["result"]["stdout"] == "3\n"
    assert runs[2]["result"]["error"]["name"] == "ValueError"
    assert (runs[7]["result"]["exit_code"], runs[7]["result"]["stdout"]) == (3, "b\n")
    assert answer["summary"]["total"] == 9
    assert answer["summary"]["verdicts"] == {
        "accepted": 2, "wrong_answer": 1, "output_exceeded": 1, "error": 2, "timeout": 1, "memory_exceeded": 1, "refused": 1,
    }  # fmt: skip
    shown = server.get(f"/v1/runs/{runs[0]['result']['id']}")
    assert shown.json == runs[0]["result"]


@pytest.mark.parametrize(
    "rule, got, expected, verdict",
    [
        (None, "1  \\n2\\n\\n", "1\n2", "accepted"),
        (None, "1 2", "1  2", "wrong_answer"),
        ("exact", "1\\n", "1\n", "accepted"),
        ("exact", "1\\n", "1", "wrong_answer"),
        ("tokens", "1 2\\n3", "1\n2 3\n", "accepted"),
        ("tokens", "12 3", "1 2 3", "wrong_answer"),
    ],
)
def test_how_output_is_compared(server, rule, got, expected, verdict):
    body = {"runs": [{"code": f"print('{got}', end='')", "expected_output": expected}]}
    if rule:
        body["compare"] = rule
    assert verdicts(batch(server, body)) == [verdict]


def test_what_is_said_of_one_counts_more_than_what_is_said_of_all(server):
    answer = batch(
        server,
        {
            "profile": "open", "code": "import os\nprint(os.environ.get('A'), os.environ.get('B'))", "env": {"A": "1"},
            "expected_output": "1 None",
            "runs": [{}, {"env": {"B": "2"}}, {"env": {"B": "2"}, "expected_output": "None 2"}],
        },
    )  # fmt: skip
    assert verdicts(answer) == ["accepted", "wrong_answer", "accepted"]


@pytest.mark.one_caller
def test_lines_and_events_come_as_runs_end(server):
    """The slow one is first in the list and last in the answer, and still runs when the answer of the fast one is there."""
    body = {"profile": "open", "runs": [{"code": "import time\ntime.sleep(3)\nprint('slow')"}, {"code": "print('fast')"}]}
    c = server.connect()
    c.request("POST", "/v1/batch", json.dumps(body), server.headers({"Content-Type": "application/json", **LINES}))
    answer = c.getresponse()
    assert (answer.status, answer.getheader("Content-Type")) == (200, "application/x-ndjson")
    first = json.loads(answer.readline())
    assert server.get("/v1/stats").json["you"]["running"] == 1
    second = json.loads(answer.readline())
    assert [first["index"], second["index"]] == [1, 0]
    assert json.loads(answer.readline())["summary"]["verdicts"] == {"accepted": 2}
    assert answer.readline() == b""
    c.close()
    events = list(server.stream("POST", "/v1/batch", body))
    assert [(e[1], e[2].get("index")) for e in events] == [("run", 1), ("run", 0), ("summary", None)]


def test_files_go_along_and_come_back(server):
    answer = batch(
        server,
        {
            "profile": "open", "code": "open('out', 'w').write(open('in').read().upper())", "collect": ["out"],
            "runs": [{"files": [{"path": "in", "content": text}]} for text in ("a", "b")],
        },
    )  # fmt: skip
    assert [r["result"]["collected"][0]["content"] for r in in_order(answer)] == ["A", "B"]


@pytest.mark.parametrize(
    "body, message",
    [
        ({"runs": []}, "`runs` is empty"),
        ({}, "`runs`"),
        ({"runs": [{"code": "1"}, {}]}, "`runs[1]`: `code` is missing"),
        ({"runs": [{"code": "1"}, {"code": "1", "timeout_s": 301}]}, "`runs[1]`: `timeout_s`: the operator allows at most 300"),
        ({"runs": [{"code": "1", "profile": "nonsense"}]}, "`runs[0]`: there is no profile `nonsense`"),
        ({"runs": [{"code": "1", "nonsense": 1}]}, "nonsense"),
        ({"runs": [{"code": "1"}], "compare": "fuzzy"}, "`compare`"),
        ({"runs": [{"code": "1", "expected_output": 1}]}, "`expected_output`"),
        ({"runs": [{"code": "1"}] * 1001}, "at most 1000"),
        ({"runs": {"code": "1"}}, "`runs`"),
        ({"runs": ["1"]}, "`runs"),
    ],
)
def test_a_mistake_anywhere_runs_nothing(server, body, message):
    before = server.get("/v1/stats").json["you"]["done"]
    reply = server.post("/v1/batch", body)
    assert reply.status in (400, 404), reply
    assert message in reply.error["message"], reply
    assert server.get("/v1/stats").json["you"]["done"] == before


def test_a_client_that_goes_away_cancels_the_rest(user):
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "4"})
    body = {"profile": "open", "code": "import time\ntime.sleep(30)", "runs": [{}] * 50}
    stream = server.stream("POST", "/v1/batch", body)
    running = lambda: server.get("/v1/stats").json["you"]["running"]  # noqa: E731
    wait_until(lambda: running() == 2, "half of the places are taken")
    stream.close()
    wait_until(lambda: running() == 0, "they are free again", 25)  # not by themselves
    stats = server.get("/v1/stats").json["you"]
    assert (stats["done"], stats["waiting"]) == (2, 0)
    assert server.stop() == 0


def test_a_thousand_runs_and_another_token_beside_them(user):
    """All are answered, once each; somebody else's run does not wait for them."""
    server = Server(user, "--socket", "none")
    other = user.call("token", "add", "batch-other").text.strip()
    answers = []
    body = {"code": "print(input())", "runs": [{"stdin": f"{i}\n", "expected_output": f"{i}"} for i in range(1000)]}
    flood = threading.Thread(target=lambda: answers.append(batch(server, body)))
    flood.start()
    wait_until(lambda: server.get("/v1/stats").json["you"]["done"] > 10, "the batch is under way")
    assert server.get("/v1/stats").json["you"]["waiting"] <= 16
    reply = server.post("/v1/run", {"code": "print(1)"}, headers={"Authorization": f"Bearer {other}"})
    assert (reply.status, flood.is_alive()) == (200, True)
    flood.join()
    assert [r["index"] for r in in_order(answers[0])] == list(range(1000))
    assert answers[0]["summary"]["verdicts"] == {"accepted": 1000}
    assert user.call("token", "rm", "batch-other").code == 0
    assert server.stop() == 0


def test_an_allowance_slows_a_batch_and_does_not_fail_it(user):
    server = Server(user, "--socket", "none")
    token = user.call("token", "add", "batch-slow", "--runs-per-minute", "120", "--max-runs", "1").text.strip()
    headers = {"Authorization": f"Bearer {token}"}
    assert server.post("/v1/batch", {"code": "1", "runs": [{}] * 120}, headers=headers).status == 200
    reply = server.post("/v1/batch", {"code": "1", "runs": [{}] * 4}, headers=headers)
    assert reply.json["summary"]["verdicts"] == {"accepted": 4}
    assert user.call("token", "rm", "batch-slow").code == 0
    assert server.stop() == 0


def test_a_batch_that_does_not_move_says_so(user):
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "1", "BELLJAR_QUEUE_TIMEOUT_S": "1"})
    other = user.call("token", "add", "batch-long").text.strip()
    long = server.connect()
    long.request(
        "POST", "/v1/run", json.dumps({"code": "import time\ntime.sleep(60)", "profile": "open", "timeout_s": 60}),
        {"Content-Type": "application/json", "Authorization": f"Bearer {other}"},
    )  # fmt: skip
    wait_until(lambda: server.get("/v1/stats").json["server"]["queue"]["running"] == 1, "the other runs")
    answer = batch(server, {"code": "1", "runs": [{}] * 3})
    assert verdicts(answer) == ["failed"] * 3
    assert {r["error"]["code"] for r in answer["runs"]} == {"busy"}
    long.close()
    assert user.call("token", "rm", "batch-long").code == 0
    assert server.stop() == 0


def test_a_removed_token_ends_its_batch(user):
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "2"})
    token = user.call("token", "add", "batch-gone").text.strip()
    replies = []

    def ask():
        body = {"profile": "open", "code": "import time\ntime.sleep(4)", "runs": [{}] * 20}
        replies.append(server.post("/v1/batch", body, headers={"Authorization": f"Bearer {token}"}))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: server.get("/v1/stats").json["server"]["queue"]["running"] == 1, "it runs")
    assert user.call("token", "rm", "batch-gone").code == 0
    thread.join()
    counts = replies[0].json["summary"]["verdicts"]
    assert counts["failed"] >= 15, counts
    assert sum(counts.values()) == 20
    assert server.stop() == 0


def test_a_server_that_stops_answers_the_rest(user):
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "4", "BELLJAR_STOP_GRACE_S": "20"})
    replies = []
    body = {"profile": "open", "code": "import time\ntime.sleep(1)", "runs": [{}] * 20}
    thread = threading.Thread(target=lambda: replies.append(batch(server, body)))
    thread.start()
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 2, "it runs")
    assert server.stop() == 0
    thread.join()
    counts = replies[0]["summary"]["verdicts"]
    assert counts["accepted"] >= 2 and counts["failed"] >= 10, counts
    assert {r["error"]["message"] for r in replies[0]["runs"] if r["verdict"] == "failed"} == {"the server is stopping"}


def test_a_batch_that_is_sent_again_goes_on_where_it_was(user):
    """Every run is made once: those that ended give their answers again, the rest is begun now."""
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "2"})
    key = {"Idempotency-Key": secrets.token_hex(8)}
    code = "import random, time\ntime.sleep(0.1)\nprint(random.SystemRandom().getrandbits(64))"
    body = {"profile": "open", "code": code, "runs": [{"id": str(i)} for i in range(12)]}
    stream = server.stream("POST", "/v1/batch", body, headers=key)
    events = iter(stream)
    seen = [next(events)[2] for _ in range(3)]
    stream.close()
    whole = batch(server, body, **key)
    assert whole["summary"]["verdicts"] == {"accepted": 12}
    by_index = {r["index"]: r for r in whole["runs"]}
    for run in seen:
        assert by_index[run["index"]] == run
    assert server.get("/v1/stats").json["you"]["done"] == 12
    again = server.post("/v1/batch", body, headers=key)
    assert again.headers["idempotency-replayed"] == "true"
    assert in_order(again.json) == in_order(whole)
    assert server.post("/v1/batch", {**body, "code": "1"}, headers=key).status == 422
    assert server.stop() == 0


def test_a_reader_that_does_not_read_stops_the_batch(user):
    """Answers that nobody takes are not made: the server's memory does not grow with the batch."""
    server = Server(user, "--socket", "none", env={"BELLJAR_RUNS_MAX": "4"})
    body = {"code": "print('x' * 10**6)", "runs": [{}] * 200}
    s = server.open()
    text = json.dumps(body).encode()
    head = f"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    s.sendall(head.encode() + text)
    done = lambda: server.get("/v1/stats").json["you"]["done"]  # noqa: E731
    wait_until(lambda: done() >= 2, "it begins")
    time.sleep(2)
    assert done() < 20
    s.close()
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 0, "it is over")
    assert server.stop() == 0
