"""null means absent, for every optional field at every door."""
import pytest

import mcp
from serving import Server


@pytest.fixture(scope="module")
def server(callers):
    with Server(callers.get("user") or callers["root"]) as s:
        yield s


def optional(server, path):
    """Fields that a request may leave out, as the server describes them."""
    described = server.get("/openapi.json").json
    body = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    if "$ref" in body:
        body = described["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]
    return [name for name in body["properties"] if name not in body.get("required", [])]


def test_all_of_a_run(server):
    fields = optional(server, "/v1/run")
    assert len(fields) > 10
    reply = server.call("POST", "/v1/run", {"code": "print(6 * 7)", **{name: None for name in fields}})
    assert reply.status == 200 and reply.json["stdout"] == "42\n", reply
    for name in fields:
        assert server.call("POST", "/v1/run", {"code": "1", name: None}).status == 200, name


def test_all_of_a_session(server):
    opened = server.call("POST", "/v1/sessions", {name: None for name in optional(server, "/v1/sessions")})
    assert opened.status == 201, opened
    id = opened.json["session_id"]
    fields = optional(server, "/v1/sessions/{session}/execute")
    reply = server.call("POST", f"/v1/sessions/{id}/execute", {"code": "print(1)", **{name: None for name in fields}})
    assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
    assert server.call("DELETE", f"/v1/sessions/{id}").status in (200, 204)


def test_what_is_needed_is_not_null(server):
    reply = server.call("POST", "/v1/run", {"code": None})
    assert reply.status == 400 and "`code`" in reply.json["error"]["message"], reply
    reply = server.call("POST", "/v1/run", {"code": "1", "nonsense": None})
    assert reply.status == 400 and "unknown field" in reply.json["error"]["message"], reply


def test_fields_of_the_protocol(callers):
    with mcp.Client(callers.get("user") or callers["root"]) as c:
        c.send({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None})
        assert c.answer(1)["result"] == {}
        begun = c.request("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": None, "clientInfo": None, "_meta": None})
        assert begun["result"]["protocolVersion"] == mcp.LEGACY
        assert c.request("tools/list", {"cursor": None, "_meta": {"progressToken": None}})["result"]["tools"]
        assert c.request("tools/call", {"name": "list_skills", "arguments": None, "_meta": None, "task": None})["result"]
        assert c.request("resources/read", {"uri": None})["error"]["code"] == -32602
        modern = {**mcp.modern(), "progressToken": None, mcp.META + "logLevel": None, mcp.META + "clientInfo": None}
        assert c.request("tools/list", {"cursor": None, "_meta": modern})["result"]["tools"]


@pytest.mark.parametrize("arguments", [{"code": None, "command": "print(1)"}, {"code": "print(1)", "command": None}])
def test_the_other_name_of_a_field(callers, arguments):
    for options in ((), ("--compat", "coderunner")):
        with mcp.Client(callers.get("user") or callers["root"], *options) as c:
            c.initialize()
            assert mcp.text_of(c.call("execute_python_code", arguments)) == "1\n"


def test_all_of_every_tool(callers):
    with mcp.Client(callers.get("user") or callers["root"]) as c:
        c.initialize()
        result = c.call("run_code", {"code": "print(1)", "language": None, "session_id": None, "timeout_s": None, "net": None, "max_tokens": None})
        assert mcp.text_of(result) == "1\n"
        assert "isError" not in c.call("more", {"topic": None, "tool": None, "arguments": None, "enable": None})
        assert "isError" not in c.call("list_files", {"path": None, "session_id": None})
        assert "isError" not in c.call("more", {"tool": "list_files", "arguments": None})
