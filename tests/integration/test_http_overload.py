"""More requests than a server can serve: turns between tokens, a bounded queue, allowances."""
import threading

import pytest

from serving import wait_until
from test_http_auth import Tokens


@pytest.fixture(scope="module")
def narrow(callers):
    """A server that runs one program at a time and lets eight wait."""
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_RUNS_MAX": "1", "BELLJAR_QUEUE_MAX": "8"})
    yield t
    assert t.server.stop() == 0, t.server.said


class Flood:
    """Requests at once, each from a connection of its own; replies in the order in which they came."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.replies = []
        self.lock = threading.Lock()
        self.threads = []

    def send(self, token, label, code, **fields):
        def ask():
            reply = self.tokens.run(token, code, **fields)
            with self.lock:
                self.replies.append((label, reply))

        thread = threading.Thread(target=ask)
        thread.start()
        self.threads.append(thread)

    def wait(self):
        for thread in self.threads:
            thread.join()
        return self.replies


def hold(tokens, token):
    """A program that runs until the function that is returned is called."""
    connection = tokens.server.connect()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/run", b'{"code": "import time; time.sleep(300)", "timeout_s": 300}', headers)
    wait_until(lambda: tokens.call(token, "GET", "/v1/stats").json["you"]["running"] == 1, "it runs")
    return connection.close


def waiting(tokens):
    return tokens.call(tokens.server.token, "GET", "/v1/stats").json["server"]["queue"]["waiting"]


def test_a_flood_of_one_does_not_starve_another(narrow):
    loud, quiet = narrow.add("loud"), narrow.add("quiet")
    flood = Flood(narrow)
    end_first = hold(narrow, loud)
    for i in range(8):
        flood.send(loud, "loud", "print(1)")
        wait_until(lambda n=i + 1: waiting(narrow) == n, "it waits")
    # The queue is full with one token's runs. It gets no more in; another token does, at its cost.
    reply = narrow.run(loud, "print(1)")
    assert (reply.status, reply.error["code"]) == (429, "busy") and int(reply.headers["retry-after"]) >= 1, reply
    for _ in range(2):
        flood.send(quiet, "quiet", "print(2)")
        wait_until(lambda: narrow.call(quiet, "GET", "/v1/stats").json["you"]["waiting"] > 0, "it waits")
    wait_until(lambda: narrow.call(quiet, "GET", "/v1/stats").json["you"]["waiting"] == 2, "both wait")
    end_first()
    replies = flood.wait()
    served = [label for label, reply in replies if reply.status == 200]
    refused = [(label, reply) for label, reply in replies if reply.status != 200]
    assert served.count("quiet") == 2 and served.count("loud") == 6, replies
    assert [(label, reply.status) for label, reply in refused] == [("loud", 429)] * 2
    assert all(int(reply.headers["retry-after"]) >= 1 for _, reply in refused)
    # The tokens take turns: at most two runs of the other come before each of this one.
    assert served.index("quiet") <= 2 and [i for i, s in enumerate(served) if s == "quiet"][1] <= 4, served
    assert waiting(narrow) == 0


def test_who_leaves_frees_his_place(narrow):
    token = narrow.add("leaving")
    first = narrow.server.connect()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    first.request("POST", "/v1/run", b'{"code": "import time; time.sleep(30)"}', headers)
    second = narrow.server.connect()
    wait_until(lambda: narrow.call(token, "GET", "/v1/stats").json["you"]["running"] == 1, "one runs")
    second.request("POST", "/v1/run", b'{"code": "1"}', headers)
    wait_until(lambda: narrow.call(token, "GET", "/v1/stats").json["you"]["waiting"] == 1, "one waits")
    second.close()
    wait_until(lambda: narrow.call(token, "GET", "/v1/stats").json["you"]["waiting"] == 0, "its place is free")
    first.close()
    wait_until(lambda: narrow.call(token, "GET", "/v1/stats").json["you"]["running"] == 0, "the sandbox is free")
    assert narrow.run(token, "print(1)").json["stdout"] == "1\n"


def test_who_waits_too_long_is_refused(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_RUNS_MAX": "1", "BELLJAR_QUEUE_TIMEOUT_S": "1"})
    end_first = hold(t, t.server.token)
    reply = t.run(t.server.token, "print(1)")
    assert (reply.status, reply.error["message"]) == (429, "no sandbox became free within 1 seconds")
    assert "retry-after" in reply.headers
    end_first()
    assert t.server.stop() == 0


def test_runs_per_minute_are_counted_and_others_not_touched(narrow):
    token, other = narrow.add("often"), narrow.add("other")
    narrow.rm("often")
    token = narrow.add("often", "--runs-per-minute", "3")
    session = narrow.call(token, "POST", "/v1/sessions", {}).json["session_id"]
    statuses = [narrow.run(token, "print(1)").status for _ in range(2)]
    statuses.append(narrow.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "1"}).status)
    assert statuses == [200, 200, 200]
    reply = narrow.run(token, "print(1)")
    assert reply.status == 429 and "`runs_per_minute`" in reply.error["message"], reply
    assert 1 <= int(reply.headers["retry-after"]) <= 21
    reply = narrow.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "1"})
    assert reply.status == 429, reply
    # Before anything of the stream begins.
    reply = narrow.call(token, "POST", "/v1/run", {"code": "1"}, {"Accept": "text/event-stream"})
    assert reply.status == 429, reply
    assert narrow.run(other, "print(1)").status == 200
    narrow.rm("often")


def test_cpu_time_and_bytes_are_paid_afterwards(narrow):
    token = narrow.add("hungry", "--cpu-s-per-hour", "1")
    assert narrow.run(token, "import time\nwhile time.process_time() < 1.2: pass").json["status"] == "success"
    reply = narrow.run(token, "print(1)")
    assert reply.status == 429 and "`cpu_s_per_hour`" in reply.error["message"], reply
    token = narrow.add("wordy", "--bytes-per-hour", "1024")
    assert narrow.run(token, "print('x' * 2000)").json["status"] == "success"
    reply = narrow.run(token, "print(1)")
    assert reply.status == 429 and "`bytes_per_hour`" in reply.error["message"], reply


def test_bytes_of_files_are_paid_too(narrow):
    """Neither with a run nor on their own do they pass by the allowance."""
    for number, way in enumerate(("run", "put", "broken put", "get")):
        token = narrow.add(f"porter{number}", "--bytes-per-hour", "2000")
        headers = {"Authorization": f"Bearer {token}"}
        if way == "run":
            assert narrow.run(token, "1", files=[{"path": "a", "content": "x" * 3000}]).status == 200
        else:
            assert narrow.call(token, "POST", "/v1/sessions", {"name": "s"}).status == 201
            if way == "broken put":
                with narrow.server.open() as s:
                    s.sendall(f"PUT /v1/sessions/s/files/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 5000\r\n\r\n".encode() + b"x" * 3000)
                wait_until(lambda t=token: narrow.call(t, "GET", "/v1/sessions/s/files/none").status == 429, "it is paid")
            elif way == "put":
                assert narrow.server.call("PUT", "/v1/sessions/s/files/a", b"x" * 3000, headers).status == 200
            else:
                assert narrow.call(token, "POST", "/v1/sessions/s/execute", {"code": "open('a', 'w').write('x' * 3000)"}).status == 200
                assert narrow.call(token, "GET", "/v1/sessions/s/files/a").status == 200
        for method, path in (("GET", "/v1/sessions/s/files/a"), ("PUT", "/v1/sessions/s/files/b")):
            if way == "run":
                continue
            reply = narrow.server.call(method, path, b"x" if method == "PUT" else None, headers)
            assert reply.status == 429 and "`bytes_per_hour`" in reply.error["message"] and int(reply.headers["retry-after"]) >= 1, (way, reply)
        assert narrow.run(token, "1").status == 429, way
        narrow.call(token, "DELETE", "/v1/sessions/s")


def test_runs_at_once_of_a_token_wait_for_each_other(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_RUNS_MAX": "8"})
    token = t.add("one", "--max-runs", "1")
    flood = Flood(t)
    end_first = hold(t, token)
    flood.send(token, "short", "print(2)")
    wait_until(lambda: t.call(token, "GET", "/v1/stats").json["you"]["waiting"] == 1, "the other waits")
    assert t.run(t.server.token, "print(3)").status == 200  # others pass by
    assert t.call(token, "GET", "/v1/stats").json["you"]["waiting"] == 1
    end_first()
    assert flood.wait()[0][1].json["stdout"] == "2\n"
    assert t.server.stop() == 0


def test_who_has_many_leaves_places_to_others(callers):
    """One token fills its share of eight places; another's run begins while the first one's still wait."""
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_RUNS_MAX": "8", "BELLJAR_QUEUE_TIMEOUT_S": "300"})
    loud, quiet = t.add("loud"), t.add("quiet")
    headers = {"Authorization": f"Bearer {loud}", "Content-Type": "application/json"}
    held = [t.server.connect() for _ in range(10)]
    for connection in held:
        connection.request("POST", "/v1/run", b'{"code": "import time; time.sleep(300)", "timeout_s": 300}', headers)

    def queue():
        found = t.call(t.server.token, "GET", "/v1/stats").json["server"]["queue"]
        return found["running"], found["waiting"]

    wait_until(lambda: sum(queue()) == 10, "all have come")
    assert queue() == (6, 4)
    for _ in range(3):
        assert t.run(quiet, "print(2)").json["stdout"] == "2\n"
    assert queue() == (6, 4)  # none of the first has ended, and none has begun
    for connection in held:
        connection.close()
    wait_until(lambda: queue() == (0, 0), "all are gone")
    assert t.server.stop() == 0, t.server.said
