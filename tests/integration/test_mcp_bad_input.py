"""Everything a client can get wrong on the wire, or do on purpose. The server answers by name and goes on."""
import json
import os
import random
import time

import belljar
import pytest

import mcp

PING = {"jsonrpc": "2.0", "method": "ping"}


@pytest.fixture(scope="module")
def who(callers):
    return callers.get("user") or callers["root"]


@pytest.fixture(scope="module")
def shared(who):
    with mcp.Client(who) as c:
        c.initialize()
        yield c
        assert c.request("ping")["result"] == {}, "it is alive after all of this"


@pytest.fixture
def client(who):
    with mcp.Client(who) as c:
        yield c


# --- ids ---


@pytest.mark.parametrize("id", ["0", "-1", "1", "9007199254740993", "9223372036854775807", "-9223372036854775808", '"x"', '""',
                                '"\\u00e9\\ud83d\\ude00"', '"1"', '"a\\nb"', '"' + "x" * 256 + '"', '"' + "\\u0001" * 256 + '"'])  # fmt: skip
def test_ids_come_back_as_they_were(shared, id):
    shared.raw('{"jsonrpc":"2.0","method":"ping","id":' + id + "}\n")
    answer = shared.line()
    assert answer["result"] == {} and answer["id"] == json.loads(id) and type(answer["id"]) is type(json.loads(id))


@pytest.mark.parametrize("id", ["null", "1.5", "1e3", "true", "[]", "{}", "[1]", '"' + "x" * 257 + '"', '"' + "\\u0001" * 1000 + '"'])
def test_what_is_no_id_is_refused(shared, id):
    shared.raw('{"jsonrpc":"2.0","method":"ping","id":' + id + "}\n")
    answer = shared.line()
    assert answer["id"] is None and answer["error"]["code"] == -32600 and "`id`" in answer["error"]["message"]
    assert "at most 256 bytes" in answer["error"]["message"]


@pytest.mark.parametrize("id", ["9223372036854775808", "123456789012345678901234567890", "-9223372036854775809"])
def test_an_id_beyond_64_bits_is_refused_and_never_rounded(shared, id):
    shared.raw('{"jsonrpc":"2.0","method":"ping","id":' + id + "}\n")
    answer = shared.line()
    assert answer["id"] is None and answer["error"]["code"] == -32700 and "big" in answer["error"]["message"]


def test_one_id_twice_at_once(client):
    client.initialize()
    slow = {"name": "execute_python_code", "arguments": {"code": "import time\ntime.sleep(1)\nprint('first')"}}
    client.ask("tools/call", slow, id=7)
    client.ask("tools/call", slow, id=7)
    assert client.answer(7)["error"]["code"] == -32600
    assert mcp.text_of(client.answer(7)["result"]) == "first\n"


# --- shapes ---


@pytest.mark.parametrize("line, code", [
    ("{", -32700), ("nonsense", -32700), ("Content-Length: 60", -32700), ('{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    ('{"a":1,"a":2}', -32700), ('{"jsonrpc":"2.0","id":1,"method":"ping"}}', -32700), ('"\\ud800"', -32700), ('{"\\u0000":1}', -32700),
    ("[" * 100 + "]" * 100, -32700), ('{"a":' * 65 + "1" + "}" * 65, -32700), ('{"jsonrpc":"2.0","id":1,"method":"ping","x":NaN}', -32700),
    ("1", -32600), ("null", -32600), ('"ping"', -32600), ("true", -32600), ("{}", -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    ('{"id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1}', -32600), ('{"jsonrpc":"2.0","id":1,"method":5}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":null}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"ping\\u0000"}', -32600),
    ('{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32602), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":5}}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":""}', -32601), ('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}', -32601),
    ("[]", -32600), ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
])  # fmt: skip
def test_lines_that_are_no_messages(shared, line, code):
    shared.raw(line + "\n")
    answer = shared.line()
    assert answer["error"]["code"] == code, answer
    assert answer["jsonrpc"] == "2.0" and answer["id"] in (None, 1)


def test_invalid_utf8(shared):
    shared.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}\n')
    assert shared.line()["error"]["code"] == -32700


@pytest.mark.parametrize("line", [
    '{"jsonrpc":"2.0","method":"nothing/of/ours"}', '{"jsonrpc":"2.0","method":"notifications/cancelled"}', "", " ", "\r", "\t",
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"interrupt"}}',
    '{"jsonrpc":"2.0","id":5,"result":{}}', '{"jsonrpc":"2.0","id":"belljar-1","error":{"code":1,"message":"x"}}',
])  # fmt: skip
def test_lines_that_want_no_answer(shared, line):
    shared.raw(line + "\n")
    assert shared.request("ping")["result"] == {}


@pytest.mark.parametrize("method", [
    "initialize", "tools/call", "resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/get", "completion/complete",
    "logging/setLevel",
])  # fmt: skip
@pytest.mark.parametrize("params", [None, {}, {"name": 5, "uri": 5, "ref": 5, "level": 5, "protocolVersion": 5}, {"name": "\0", "uri": "\0"}])
def test_missing_and_wrong_params(shared, method, params):
    assert shared.request(method, params)["error"]["code"] == -32602


def test_params_may_be_missing_where_nothing_is_needed(shared):
    for method in ("ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        assert "result" in shared.request(method)


# --- batches ---


def test_batches_are_of_one_revision(client):
    client.initialize("2025-03-26")
    client.send([{**PING, "id": 1}, {"jsonrpc": "2.0", "method": "notifications/x"}, {**PING, "id": "b"}, {"jsonrpc": "2.0", "id": 3, "method": "no"}, 5])
    answers = client.line()
    assert [a.get("id") for a in answers] == [1, "b", 3, None]
    assert [a.get("error", {}).get("code") for a in answers] == [None, None, -32601, -32600]
    client.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
    for bad in ([], [[]], [{**PING, "id": 1}] * 65, [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}],
                [{**PING, "id": 1, "params": {"_meta": mcp.modern()}}]):  # fmt: skip
        client.send(bad)
        assert client.line()["error"]["code"] == -32600


@pytest.mark.smoke
def test_a_batch_waits_for_its_calls(client):
    client.initialize("2025-03-26")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_python_code", "arguments": {"code": "print(1)"}}}
    client.send([call, {**PING, "id": 2}])
    assert [a["id"] for a in client.line()] == [2, 1]
    call["params"]["arguments"]["code"] = "import time\ntime.sleep(500)"
    client.send([call, {**PING, "id": 2}])
    client.notify("notifications/cancelled", {"requestId": 1})
    assert [a["id"] for a in client.line()] == [2]
    client.send([call, {**PING, "id": 2}])
    assert client.close() == 0


# --- lines, cut and long ---


def test_many_messages_in_one_write(client):
    lines = [json.dumps({**PING, "id": i}) for i in range(500)]
    client.raw("\n".join(lines) + "\n")
    assert [client.line()["id"] for _ in range(500)] == list(range(500))


def test_a_message_byte_by_byte(client):
    for byte in json.dumps({**PING, "id": 1}).encode() + b"\r\n":
        client.raw(bytes([byte]))
    assert client.line() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.smoke
def test_messages_cut_anywhere(client):
    data = "".join(json.dumps({**PING, "id": i, "params": {"x": "é" * (i % 50)}}, ensure_ascii=False) + "\n" for i in range(300)).encode()
    rest = random.Random(5)
    while data:
        n = rest.randint(1, 700)
        client.raw(data[:n])
        data = data[n:]
    assert [client.line()["id"] for _ in range(300)] == list(range(300))


def test_a_line_of_ten_megabytes_is_read(client):
    client.initialize()
    content = "x" * 10_000_000
    assert "wrote 10000000 bytes" in client.text("write_file", {"path": "big", "content": content})
    result = client.call("execute_python_code", {"code": content})
    assert result["isError"] and "a string of 10000000 bytes" in mcp.text_of(result)


def test_a_line_that_is_too_long_is_refused_and_skipped(client):
    client.raw('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
    for _ in range(20):
        client.raw("x" * 1_000_000)
    assert client.line()["error"]["code"] == -32700
    client.raw('"}}\n')
    client.send({**PING, "id": 2})
    assert client.line()["id"] == 2


def test_half_a_line_and_the_end(client):
    client.initialize()
    client.raw('{"jsonrpc":"2.0","id":1,"meth')
    assert client.close() == 0
    assert client.line() is None, "half a message is nobody's"


def test_a_reader_that_does_not_read(who):
    """The server holds a bounded amount for the client, and everything arrives when it reads on."""
    read, write = os.pipe()
    start = lambda *a, **k: who.start(*a, **{**k, "stdout": write})  # noqa: E731
    c = mcp.Client.__new__(mcp.Client)
    p = start("mcp", env={"BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "1"}, stdin=-1)
    os.close(write)
    c.process = p
    try:
        os.set_blocking(p.stdin.fileno(), False)
        line = (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) + "\n").encode()
        sent, quiet = 0, 0
        while quiet < 20:
            try:
                sent += os.write(p.stdin.fileno(), line * 50)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)
        rss = int(next(x for x in open(f"/proc/{p.pid}/status") if x.startswith("VmRSS")).split()[1])
        assert rss < 100_000, f"{rss} kB"
        os.set_blocking(p.stdin.fileno(), True)
        whole = sent // len(line)
        with os.fdopen(read, "rb") as out:
            for _ in range(whole):
                assert json.loads(out.readline())["id"] == 1
    finally:
        p.stdin.close()
        p.wait(timeout=belljar.HANG_SECONDS)


def test_the_other_tool_names_can_always_be_called(client):
    client.initialize()
    assert json.loads(client.text("execute_python", {"code": "result = {'a': 1}"}))["result"] == {"a": 1}
    assert "7" in client.text("execute_code", {"code": "print(7)", "session_id": "mine"})
    assert client.text("execute_python_code", {"command": "print(8)"}) == "8\n"


@pytest.mark.parametrize("name", ["execute_pyton_code", "list_kernels", "", "x" * 5000, "\u202e", "execute_python_code "])
def test_an_unknown_tool(shared, name):
    error = shared.request("tools/call", {"name": name})["error"]
    assert error["code"] == -32602 and len(error["message"]) < 300
    if name == "execute_pyton_code":
        assert "did you mean execute_python_code?" in error["message"]


# --- wrong arguments ---

WRONG = {"string": [5, True, [], {}, 1.5], "integer": ["5", True, [], {}, 1.5, -1, 10**18], "number": ["5", True, [], {}, 0, -1, 10**18],
         "boolean": ["true", 1, [], {}], "object": ["x", 5, True, []], "array": ["x", 5, True, {}]}  # fmt: skip


def all_arguments(client):
    for tool in client.request("tools/list")["result"]["tools"]:
        for name, schema in tool["inputSchema"]["properties"].items():
            for value in WRONG[schema["type"]] + (["nonsense"] if "enum" in schema else []):
                if name != "wait_s" or value != 0:  # not to wait at all is right
                    yield tool, name, value


@pytest.mark.parametrize("listed", [("--tools", "few"), ("--tools", "all"), ("--compat", "marketplace"), ("--compat", "cms"), ("--compat", "coderunner")])
def test_every_argument_of_every_tool(who, listed):
    """A tool error that names the argument, what was expected, and gives an example; nothing runs."""
    good = {"code": "print(1)", "command": "print(1)", "path": "x", "content": "x", "handle": "run_x", "run_id": "run_x", "session_id": "s", "session_name": "s", "state": {}, "name": "s", "skill_name": "s", "filename": "f", "url": "http://127.0.0.1/"}
    count = 0
    with mcp.Client(who, *listed) as c:
        c.initialize()
        for tool, name, value in all_arguments(c):
            arguments = {n: good[n] for n in tool["inputSchema"].get("required", [])}
            result = c.call(tool["name"], {**arguments, name: value})
            text = mcp.text_of(result)
            assert result["isError"], (tool["name"], name, value, text)
            assert f"`{name}`" in text and "expected" in text and f'for example "{name}": ' in text, (tool["name"], name, value, text)
            assert "structuredContent" not in result
            count += 1
        for tool in c.request("tools/list")["result"]["tools"]:
            for name in tool["inputSchema"].get("required", []):
                text = c.text(tool["name"], {n: good[n] for n in tool["inputSchema"]["required"] if n != name})
                assert f"`{name}` is missing" in text and "for example" in text
            assert "unknown field `nonsense`" in c.text(tool["name"], {"nonsense": 1, **{n: good[n] for n in tool["inputSchema"].get("required", [])}})
            for arguments in ([], "x", 5):
                assert c.call(tool["name"], arguments)["isError"]
        assert "no session yet" in c.text("get_kernel_status"), "nothing was started"
    assert count > 20


def test_null_is_no_argument(client):
    client.initialize()
    assert client.text("execute_python_code", {"code": "print(1)", "session_id": None, "timeout_s": None}) == "1\n"


def test_nul_and_other_characters(client):
    client.initialize()
    assert "`code`" in client.text("execute_python_code", {"code": "print(1)\0print(2)"})
    assert client.text("execute_python_code", {"code": "print('é😀\u2028x')"}) == "é😀\u2028x\n"
    assert client.call("execute_bash_code", {"code": "printf 'a\\xffb\\x00c\\x1b[31m'"})["structuredContent"]["stdout"] == "a\ufffdb\0c\x1b[31m"


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "a/../../b", "x" * 5000, "a\nb/..", "/workspace/../x", "/workspacex"])
def test_paths_stay_inside(client, path):
    client.initialize()
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_files", {})):
        result = client.call(tool, {"path": path, **more})
        assert result["isError"], (tool, mcp.text_of(result))


# --- stdout is the protocol's ---


def test_nothing_but_protocol_on_stdout(who):
    """Whatever programs print, and whatever goes wrong, each line is a message: Client.line() checks it."""
    with mcp.Client(who, env={"BELLJAR_LOG_LEVEL": "debug"}) as c:
        c.initialize()
        c.call("execute_bash_code", {"code": "echo '{\"jsonrpc\":\"2.0\",\"id\":1}'; echo x >&2; exit 5"})
        c.call("execute_python_code", {"code": "import sys\nprint('a\\nb\\r\\nc')\nsys.exit(3)"})
        c.raw("nonsense\n")
        assert c.line()["error"]
        assert c.request("ping")["result"] == {}
        assert c.close() == 0
        while (message := c.line()) is not None:
            assert message["jsonrpc"] == "2.0"
