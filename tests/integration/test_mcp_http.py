"""MCP over HTTP as it is on the wire: both eras at /mcp, and the older /sse. What the official suite does not look at."""
import json
import threading

import pytest
from serving import Server, wait_until

BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


def message(method, params=None, number=1):
    made = {"jsonrpc": "2.0", "id": number, "method": method}
    return made if params is None else {**made, "params": params}


def python(code, number=1, token=None, **more):
    params = {"name": "execute_python_code", "arguments": {"code": code, **more}}
    return message("tools/call", params if token is None else {**params, "_meta": {"progressToken": token}}, number)


class Stream:
    """Events as the wire has them: (id, data as text), and the bytes between."""

    def __init__(self, server, method, body=None, headers=None):
        self.connection = server.connect()
        headers = server.headers({"Accept": BOTH if method == "POST" else "text/event-stream", **(headers or {})})
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, headers.pop("path", "/mcp"), body=json.dumps(body) if body is not None else None, headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.type = self.answer.getheader("content-type")
        self.comments = 0

    def __iter__(self):
        event = {}
        for line in iter(self.answer.readline, b""):
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                key, _, value = line.partition(": ")
                event[key] = value
            elif event:
                yield event
                event = {}

    def next(self):
        return next(iter(self))

    def messages(self):
        return [json.loads(event["data"]) for event in self if event.get("data")]

    def close(self):
        self.answer.close()
        self.connection.close()


class Legacy:
    def __init__(self, server, version="2025-11-25", headers=None):
        self.server = server
        self.more = headers or {}
        reply = self.send(message("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}, 0))
        assert reply.status == 200 and reply.json["result"]["protocolVersion"] == version, reply
        self.id = reply.headers["mcp-session-id"]
        self.more = {**self.more, "Mcp-Session-Id": self.id, "MCP-Protocol-Version": version}
        assert self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def send(self, body, headers=None):
        return self.server.call("POST", "/mcp", body, {"Accept": BOTH, **self.more, **(headers or {})})

    def stream(self, method="POST", body=None, headers=None):
        return Stream(self.server, method, body, {**self.more, **(headers or {})})

    def stdout(self, code):
        reply = self.send(python(code))
        assert reply.status == 200, reply
        return reply.json["result"]["structuredContent"].get("stdout", "")


def modern(method, params=None, number=1, version=MODERN, capabilities=None):
    meta = {META + "protocolVersion": version, META + "clientCapabilities": capabilities or {}}
    params = dict(params or {})
    params["_meta"] = {**meta, **params.get("_meta", {})}
    return message(method, params, number)


def modern_headers(body):
    headers = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": body["method"]}
    for subject in ("name", "taskId"):
        if subject in body["params"]:
            headers["Mcp-Name"] = body["params"][subject]
    return headers


def send_modern(server, body, headers=None):
    headers = {**modern_headers(body), **(headers or {})}
    return server.call("POST", "/mcp", body, headers)


# --- sessions ---


@pytest.mark.smoke
def test_a_session_keeps_variables_until_it_is_deleted(server):
    one, two = Legacy(server), Legacy(server)
    assert one.stdout("x = 41") == "" and one.stdout("print(x + 1)") == "42\n"
    assert "NameError" in json.dumps(two.send(python("x")).json)
    gone = {"Mcp-Session-Id": one.id}
    assert server.call("DELETE", "/mcp", headers=gone).status == 204
    for method, body in (("POST", message("ping")), ("GET", None), ("DELETE", None)):
        reply = server.call(method, "/mcp", body, {"Accept": BOTH, **gone})
        assert reply.status == 404, reply
    assert two.stdout("print(1)") == "1\n"


def test_who_names_no_session_or_none_that_is_his(server):
    assert server.call("POST", "/mcp", message("tools/list"), {"Accept": BOTH}).status == 400
    assert server.call("GET", "/mcp", headers={"Accept": BOTH}).status == 400
    reply = server.call("POST", "/mcp", message("tools/list"), {"Accept": BOTH, "Mcp-Session-Id": "mcp_x"})
    assert reply.status == 404 and reply.json["error"]["code"] == -32600


def test_a_session_belongs_to_its_token(user):
    s = Server(user, "--socket", "none")
    made = user.call("token", "add", "another")
    assert made.code == 0, made
    client = Legacy(s)
    other = {"Authorization": f"Bearer {made.text.strip()}"}
    assert client.send(message("ping"), other).status == 404
    his = Legacy(s, headers=other)
    assert his.send(message("ping")).status == 200
    assert user.call("token", "rm", "another").code == 0
    assert his.send(message("ping")).status == 401
    assert client.send(message("ping")).status == 200
    assert s.stop() == 0


def test_tasks_of_a_removed_token_end_with_it(user):
    """Its name may be given to somebody else, who has nothing of it."""
    s = Server(user, "--socket", "none")
    token = {"Authorization": f"Bearer {user.call('token', 'add', 'other').text.strip()}"}
    able = {"extensions": {META + "tasks": {}}}
    call = {"name": "execute_python_code", "arguments": {"code": "import time; time.sleep(50)", "timeout_s": 60}}
    made = send_modern(s, modern("tools/call", call, capabilities=able), token)
    ask = modern("tasks/get", {"taskId": made.json["result"]["taskId"]}, capabilities=able)
    assert send_modern(s, ask, token).json["result"]["status"] == "working"
    assert send_modern(s, ask).json["error"]["code"] == -32602
    assert user.call("token", "rm", "other").code == 0
    token = {"Authorization": f"Bearer {user.call('token', 'add', 'other').text.strip()}"}
    wait_until(lambda: send_modern(s, ask, token).status != 401, "the token is known")
    assert send_modern(s, ask, token).json["error"]["code"] == -32602
    assert s.stop() == 0


def test_without_a_version_header_a_session_goes_on(server):
    client = Legacy(server, "2025-06-18")
    assert client.send(message("ping"), {"MCP-Protocol-Version": None}).status == 200
    assert client.send(message("ping"), {"MCP-Protocol-Version": "2024-01-01"}).status == 400
    assert client.send(message("nothing/there")).json["error"]["code"] == -32601


# --- what may be sent ---


def test_bad_requests(server):
    client = Legacy(server)
    ping = message("ping")
    assert client.send(ping, {"Accept": "application/json"}).status == 406
    assert client.send(ping, {"Accept": "text/html"}).status == 406
    assert client.send(ping, {"Accept": None}).status == 200
    assert client.send(ping, {"Accept": "*/*"}).status == 200
    assert client.send(ping, {"Accept": "text/event-stream;q=1 , application/*"}).status == 200
    assert client.send(b"{", {"Content-Type": "application/json"}).json["error"]["code"] == -32700
    assert client.send(b"{}", {"Content-Type": "text/plain"}).status == 415
    assert client.send({"id": 1}).json["error"]["code"] == -32600
    for method in ("HEAD", "OPTIONS", "PUT", "PATCH"):
        assert server.call(method, "/mcp").status == 405
    for number in (0, -1, 2**53 - 1, "x", ""):
        assert client.send(message("ping", number=number)).json["id"] == number
    assert client.send({"jsonrpc": "2.0", "id": 7, "result": {}}).status == 202


def test_a_header_that_is_there_twice_is_refused(server):
    reply = server.raw(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: a\r\nmcp-session-id: b\r\nContent-Length: 0\r\n\r\n"
    )
    assert reply.startswith(b"HTTP/1.1 400 ")


def test_batches_are_of_one_version(server):
    both = [message("ping", number=1), message("tools/list", number=2), {"jsonrpc": "2.0", "method": "notifications/x"}]
    reply = Legacy(server, "2025-03-26").send(both)
    assert reply.status == 200 and sorted(answer["id"] for answer in reply.json) == [1, 2]
    assert Legacy(server, "2025-03-26").send(both[2:]).status == 202
    for version in ("2025-06-18", "2025-11-25"):
        reply = Legacy(server, version).send(both)
        assert reply.status == 400 and reply.json["error"]["code"] == -32600
    assert server.call("POST", "/mcp", both, {"Accept": BOTH, "MCP-Protocol-Version": MODERN}).status == 400


# --- streams ---


def test_the_news_stream_can_be_opened_again_at_once(server):
    client = Legacy(server)
    streams = [client.stream("GET") for _ in range(3)]
    assert [s.status for s in streams] == [200] * 3 and streams[0].type == "text/event-stream"
    for old in streams[:2]:
        assert old.answer.read() == b""
    streams[2].close()
    again = client.stream("GET")
    assert again.status == 200
    again.close()


@pytest.mark.one_caller
def test_a_client_that_lost_its_stream_goes_on_behind_what_it_saw(server):
    client = Legacy(server)
    code = "import time\nfor i in range(30):\n print(i, flush=True)\n time.sleep(0.1)\n"
    stream = client.stream("POST", python(code, number=9, token=0))
    assert stream.status == 200 and stream.type == "text/event-stream"
    first = stream.next()
    assert first["data"] == "" and int(first["retry"]) > 0, first
    seen = stream.next()
    assert json.loads(seen["data"])["params"]["progressToken"] == 0
    stream.close()
    rest = client.stream("GET", headers={"Last-Event-ID": seen["id"]})
    assert rest.status == 200
    messages = rest.messages()
    assert messages[-1]["id"] == 9 and messages[-1]["result"]["structuredContent"]["stdout"].endswith("29\n")
    steps = [m["params"]["progress"] for m in messages[:-1]]
    assert steps == sorted(set(steps)) and all(m["method"] == "notifications/progress" for m in messages[:-1])
    once_more = client.stream("GET", headers={"Last-Event-ID": first["id"]}).messages()
    assert once_more[-1] == messages[-1] and len(once_more) == len(messages) + 1
    for bad in ("99-1", "x", "1", "-1", "1-", "1-x", "9" * 60):
        assert client.stream("GET", headers={"Last-Event-ID": bad}).status == 400, bad


def test_older_clients_are_not_sent_events_without_data(server):
    client = Legacy(server, "2025-06-18")
    stream = client.stream("POST", python("import time\nfor i in range(5):\n print(i, flush=True)\n time.sleep(0.3)", token="t"))
    if stream.type == "text/event-stream":
        assert all(event["data"] for event in stream)


def test_streams_of_others_are_not_seen(server):
    one, two = Legacy(server), Legacy(server)
    stream = one.stream("POST", python("import time\nfor i in range(9):\n print(i, flush=True)\n time.sleep(0.2)", token=1))
    last = stream.next()["id"]
    assert two.stream("GET", headers={"Last-Event-ID": last}).status == 400
    stream.close()


@pytest.mark.one_caller
def test_a_long_call_is_answered_with_events_and_comments(server):
    stream = Legacy(server).stream("POST", python("import time; time.sleep(33)", timeout_s=60))
    assert stream.type == "text/event-stream"
    assert stream.messages()[-1]["result"]["structuredContent"]["status"] == "success"
    assert stream.comments >= 1


# --- cancelling ---


@pytest.mark.one_caller
def test_a_lost_connection_cancels_nothing_in_the_legacy_era(server):
    client = Legacy(server)
    connection = server.connect()
    connection.request(
        "POST", "/mcp", json.dumps(python("import time; time.sleep(3); x = 'went on'", number=77)),
        server.headers({"Accept": BOTH, "Content-Type": "application/json", **client.more}),
    )  # fmt: skip
    wait_until(lambda: running(server) > 0, "the cell runs")
    connection.close()
    assert client.stdout("print(x)") == "went on\n"


def running(server):
    """Programs and cells that run now."""
    return server.get("/v1/stats").json["you"]["running"]


def test_a_closed_stream_cancels_a_modern_call(server):
    body = modern("tools/call", {"name": "execute_python_code", "arguments": {"code": "while True: pass", "timeout_s": 50}})
    wait_until(lambda: running(server) == 0, "nothing runs")
    connection = server.connect()
    connection.request("POST", "/mcp", json.dumps(body), server.headers({**modern_headers(body), "Content-Type": "application/json"}))
    wait_until(lambda: running(server) == 1, "the program runs")
    connection.close()
    wait_until(lambda: running(server) == 0, "the program has been cancelled", seconds=40)


def test_a_cancelled_call_ends_without_an_answer(server):
    client = Legacy(server)
    connection = server.connect()
    connection.request(
        "POST", "/mcp", json.dumps(python("import time; time.sleep(50)", number=5, timeout_s=60)),
        server.headers({"Accept": BOTH, "Content-Type": "application/json", **client.more}),
    )  # fmt: skip
    wait_until(lambda: running(server) > 0, "the cell runs")
    assert client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}).status == 202
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read() == b""


def test_the_end_of_a_session_ends_what_it_runs(server):
    client = Legacy(server)
    stream = threading.Thread(target=lambda: client.send(python("import time; time.sleep(50)", timeout_s=60)), daemon=True)
    stream.start()
    wait_until(lambda: running(server) > 0, "the cell runs")
    assert server.call("DELETE", "/mcp", headers={"Mcp-Session-Id": client.id}).status == 204
    wait_until(lambda: running(server) == 0, "it does not run any more", seconds=40)
    stream.join(40)
    assert not stream.is_alive()


# --- the modern era ---


@pytest.mark.smoke
def test_a_modern_request_stands_for_itself(server):
    reply = send_modern(server, modern("server/discover"))
    assert reply.status == 200 and reply.json["result"]["supportedVersions"] == [MODERN]
    assert "mcp-session-id" not in reply.headers
    call = modern("tools/call", {"name": "execute_python_code", "arguments": {"code": "print('x' in globals()); x = 1"}})
    for _ in range(2):
        result = send_modern(server, call).json["result"]
        assert result["resultType"] == "complete" and result["structuredContent"]["stdout"] == "False\n"
    assert send_modern(server, modern("ping")).status == 404
    assert send_modern(server, modern("server/discover", version="2099-01-01"), {"MCP-Protocol-Version": "2099-01-01"}).json["error"]["code"] == -32022


@pytest.mark.parametrize(
    "headers",
    [{"Mcp-Method": None}, {"Mcp-Method": "tools/List"}, {"Mcp-Name": "other"}, {"Mcp-Name": None}, {"MCP-Protocol-Version": "2025-11-25"},
     {"Mcp-Name": "=?base64?!?="}],
)  # fmt: skip
def test_headers_have_to_say_what_the_body_says(server, headers):
    call = modern("tools/call", {"name": "get_kernel_status", "arguments": {}})
    assert send_modern(server, call).status == 200
    reply = send_modern(server, call, headers)
    assert reply.status == 400 and reply.json["error"]["code"] == -32020, reply


def test_the_modern_era_has_post_only(server):
    for method in ("GET", "DELETE"):
        reply = server.call(method, "/mcp", headers={"Accept": BOTH, "MCP-Protocol-Version": MODERN})
        assert reply.status == 405 and reply.headers["allow"] == "POST"


# --- HTTP+SSE ---


class Old:
    def __init__(self, server):
        self.server = server
        self.stream = Stream(server, "GET", headers={"path": "/sse"})
        assert self.stream.type == "text/event-stream"
        first = self.stream.next()
        assert first["event"] == "endpoint"
        self.path = first["data"]

    def send(self, body):
        reply = self.server.call("POST", self.path, body)
        assert reply.status == 202 and reply.body == b"Accepted", reply

    def ask(self, body):
        self.send(body)
        while True:
            event = self.stream.next()
            assert event["event"] == "message" and "id" not in event
            answer = json.loads(event["data"])
            if answer.get("id") == body["id"]:
                return answer


def test_the_transport_of_2024(server):
    client = Old(server)
    opened = client.ask(message("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
    assert opened["result"]["protocolVersion"] == "2024-11-05"
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert client.ask(python("y = 2", number=2))["id"] == 2
    assert "4" in json.dumps(client.ask(python("print(y + y)", number=3)))
    assert server.call("POST", "/messages?sessionId=sse_x", message("ping")).status == 404
    assert server.call("POST", "/messages", message("ping")).status == 400
    client.send(python("import time; time.sleep(50)", number=4, timeout_s=60))
    wait_until(lambda: running(server) > 0, "the cell runs")
    client.stream.close()
    wait_until(lambda: running(server) == 0, "nobody can return to it, so it ends", seconds=15)
    assert server.call("POST", client.path, message("ping")).status == 404


# --- who may, and the end ---


def test_who_has_no_token_is_told_where_there_is_none(server):
    reply = server.call("POST", "/mcp", message("ping"), {"Authorization": None, "Accept": BOTH})
    assert reply.status == 401 and "resource_metadata" not in reply.headers["www-authenticate"]
    for path in (
        "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/mcp",
    ):  # fmt: skip
        assert server.call("GET", path, headers={"Authorization": None}).status == 404, path
    assert server.call("POST", "/register", {}, {"Authorization": None}).status == 404


def test_who_has_no_token_is_told_where_to_get_one(user):
    settings = {"BELLJAR_MCP_RESOURCE": "https://box.example/mcp", "BELLJAR_AUTHORIZATION_SERVERS": "https://login.example"}
    s = Server(user, "--socket", "none", env=settings)
    reply = s.call("POST", "/mcp", message("ping"), {"Authorization": None})
    where = 'resource_metadata="https://box.example/.well-known/oauth-protected-resource/mcp"'
    assert reply.status == 401 and where in reply.headers["www-authenticate"], reply
    for path in ("", "/mcp"):
        shown = s.call("GET", "/.well-known/oauth-protected-resource" + path, headers={"Authorization": None}).json
        assert shown["resource"] == "https://box.example/mcp" and shown["authorization_servers"] == ["https://login.example"]
    assert s.stop() == 0
    del settings["BELLJAR_MCP_RESOURCE"]
    refused = user.call("serve", "--listen", "127.0.0.1:0", "--socket", "none", env=settings)
    assert refused.code == 64 and "mcp_resource" in refused.errors


def test_a_server_that_stops_lets_listeners_go(user):
    s = Server(user, "--socket", "none")
    news, old = Legacy(s).stream("GET"), Old(s)
    listen = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    subscribed = Stream(s, "POST", listen, modern_headers(listen))
    assert json.loads(subscribed.next()["data"])["method"] == "notifications/subscriptions/acknowledged"
    assert s.stop() == 0
    assert subscribed.messages()[-1]["result"]["resultType"] == "complete"
    assert news.answer.read() == b"" and old.stream.answer.read() == b""
