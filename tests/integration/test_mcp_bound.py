"""Every answer of a tool has a bound, whatever is in it; what was cut is kept and can be read in pages."""
import json
import re

import pytest

import mcp
import serving
from test_mcp_door import about

MOST = 2000  # tokens; ours is a rough count, and so is the server's
SLACK = 1.35


def tokens(answer):
    """Of everything in a result that a model may read."""
    parts = [c["text"] if c["type"] == "text" else json.dumps(c) for c in answer["content"] if c["type"] not in ("image", "audio")]
    if "structuredContent" in answer:
        parts.append(json.dumps(answer["structuredContent"], separators=(",", ":"), ensure_ascii=False))
    return sum(about(part, 3) for part in parts)


def size(answer):
    return len(json.dumps(answer, ensure_ascii=False))


class Stdio:
    def __init__(self, who, *args):
        self.client = mcp.Client(who, *args)
        self.client.initialize()

    def call(self, name, arguments):
        return self.client.call(name, arguments)

    def raw(self, method, params):
        return self.client.request(method, params)

    def close(self):
        self.client.__exit__()


class Http:
    def __init__(self, who):
        self.server = serving.Server(who)
        self.server.__enter__()
        self.headers = {"Accept": "application/json, text/event-stream"}
        hello = self.post("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": {}})
        self.headers["Mcp-Session-Id"] = hello.headers["mcp-session-id"]

    def post(self, method, params):
        return self.server.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, self.headers)

    def raw(self, method, params):
        reply = self.post(method, params)
        text = reply.body.decode() if isinstance(reply.body, bytes) else reply.body
        if text.startswith("{"):
            return json.loads(text)
        return next(m for m in (json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")) if "id" in m)

    def call(self, name, arguments):
        answer = self.raw("tools/call", {"name": name, "arguments": arguments})
        assert "result" in answer, answer
        return answer["result"]

    def close(self):
        self.server.__exit__(None, None, None)


@pytest.fixture(scope="module", params=[Stdio, Http], ids=["stdio", "http"])
def door(request, callers):
    made = request.param(callers.get("user") or callers["root"])
    yield made
    made.close()


@pytest.fixture(scope="module")
def stdio(callers):
    made = Stdio(callers.get("user") or callers["root"])
    yield made
    made.close()


def fits(answer, most=MOST):
    assert tokens(answer) <= most * SLACK, (tokens(answer), str(answer)[:500])
    assert size(answer) < most * 12
    return mcp.text_of(answer)


GIANTS = {
    "message": "raise ValueError('y' * 300_000)",
    "key": "raise KeyError({i: i for i in range(20_000)})",
    "name": "raise type('E' * 100_000, (Exception,), {})('x')",
    "chain": "try:\n    raise ValueError('a' * 100_000)\nexcept ValueError as e:\n    raise TypeError('b' * 100_000) from e",
    "group": "raise ExceptionGroup('g' * 1000, [ValueError('v' * 1000) for _ in range(1000)])",
    "notes": "e = ValueError('x')\nfor i in range(1000): e.add_note('n' * 1000)\nraise e",
    "deep": "def f(n):\n    return f(n + 1)\nf(0)",
    "exit": "raise SystemExit('s' * 300_000)",
    "result": "list(range(100_000))",
    "string": "'s' * 1_000_000",
    "nested": "x = []\nfor i in range(50): x = [x, 'y' * 1000]\nresult = x",
    "unicode": "'\\u4e2d\\U0001f600' * 100_000",
    "stdout": "for i in range(200_000): print('line', i)",
    "one line": "print('x' * 1_000_000)",
    "stderr": "import sys\nfor i in range(50_000): print('line', i, file=sys.stderr)",
    "both": "import sys\nfor i in range(50_000): print('o', i); print('e', i, file=sys.stderr)",
    "control": "print('\\x01\\x1b' * 100_000)",
    "display": "for i in range(50): display('d' * 20_000)",
    "html": "class H:\n    def _repr_html_(self): return '<b>x</b>' * 50_000\ndisplay(H())\nH()",
    "table": "import pandas as pd\npd.DataFrame({f'column {i}': range(2000) for i in range(50)})",
    "files": "for i in range(300): open(f'{i:03}' + 'n' * 200, 'w').write('x')",
    "violations": "\n".join(f"import ctypes as c{i}; eval('{'v' * 500}')" for i in range(500)),
    "syntax": "x = (" + "1 + " * 20_000,
    "syntax line": "x = '" + "s" * 200_000,
}


@pytest.mark.parametrize("tool", ["run_code", "execute_python_code", "execute_python", "execute_code"])
@pytest.mark.parametrize("kind", GIANTS)
def test_giants(door, kind, tool):
    more = {"session_id": "bound"} if tool == "execute_code" else {}
    fits(door.call(tool, {"code": GIANTS[kind], **more}))
    assert "42" in fits(door.call("run_code", {"code": "print(42)"})), "the server is alive"


def test_bash_giants(door):
    for code in ("seq 1 1000000", "seq 1 1000000 >&2; false", "head -c 1000000 /dev/zero | tr '\\0' x", "yes '💥' | head -n 100000"):
        fits(door.call("run_code", {"code": code, "language": "bash"}))


def test_giants_of_other_tools(door):
    made = "mkdir -p d; for i in $(seq 100 700); do echo x > d/$i$(printf 'n%.0s' {1..200}); done; yes hello world | head -n 200000 > d.txt; head -c 2000000 /dev/zero > d.bin"
    assert "isError" not in door.call("run_code", {"code": made, "language": "bash"})
    fits(door.call("list_files", {}))
    fits(door.call("more", {"tool": "list_files", "arguments": {"path": "d"}}))
    assert "read on with line" in fits(door.call("read_file", {"path": "d.txt"}))
    fits(door.call("read_file", {"path": "d.txt", "limit": 1_000_000}))
    assert "2000000 bytes" in fits(door.call("read_file", {"path": "d.bin"}))
    door.call("create_refactoring_session", {"session_name": "giant", "description": "d" * 4000})
    door.call("save_session_state", {"session_id": "giant", "state": {"k" * 5000: ["x" * 100] * 5000, **{f"key {i}": i for i in range(5000)}}})
    loaded = json.loads(fits(door.call("load_session_state", {"session_id": "giant"})))
    assert loaded["status"] == "success" and "read_output" in loaded["cut"]
    fits(door.call("list_sessions", {}))
    door.call("delete_session", {"session_id": "giant"})
    saved = door.call("save_reusable_skill", {"name": "giant_skill", "code": "x = [\n" + "    'a line of a skill',\n" * 3000 + "]\n", "description": "d" * 3000})
    assert "isError" not in saved, saved
    name = re.search(r"^Files: *(\S*)", fits(door.call("get_skill_info", {"skill_name": "giant_skill"})), re.M)[1]
    if name:
        assert "[cut]" in fits(door.call("get_skill_file", {"skill_name": "giant_skill", "filename": name}))
    door.call("run_code", {"code": "import execution_runtime\nexecution_runtime.delete_skill('giant_skill')"})
    fits(door.call("list_skills", {}))
    fits(door.call("list_available_apis", {}))
    fits(door.call("fork_session", {"n": 8}))
    door.call("run_code", {"code": "rm -r d d.txt d.bin", "language": "bash"})


LONG = "k" * 100_000


@pytest.mark.parametrize("name, arguments", [
    ("run_code", {"code": "1", LONG: 1}), ("run_code", {"code": 5, "x": LONG}), ("run_code", {"code": "1", "language": LONG}),
    ("run_code", {"code": "1", "session_id": LONG}), ("read_file", {"path": LONG}), ("read_file", {"path": "a/" * 2000}), ("read_output", {"handle": LONG}),
    ("read_output", {"handle": "run_x", "search": "(" * 900}), ("more", {"topic": LONG}), ("more", {"tool": LONG}), ("more", {"topic": "t" * 256}),
    ("more", {"tool": "read_file", "arguments": {LONG: 1}}), ("write_file", {"path": "x" * 4000, "content": "x"}), ("get_skill_info", {"skill_name": LONG}),
    ("load_session_state", {"session_id": LONG}), ("run_code", {"code": "1", "net": [LONG]}), ("run_code", {"code": "1", "net": ["h" * 200] * 50}),
    ("run_code", {"code": "1", "max_tokens": LONG}), ("run_code", {"code": "1", "timeout_s": LONG}), ("run_code", {LONG: "\u0000"}),
    ("undo_run", {"run_id": "r" * 64}), ("fork_session", {"n": 10**17}), ("execute_code", {"code": "1", "session_id": "s" * 257}),
])  # fmt: skip
def test_giants_in_requests(door, name, arguments):
    answer = door.call(name, arguments)
    assert answer["isError"]
    assert len(fits(answer)) < 2500


@pytest.mark.parametrize("method, params", [
    ("tools/call", {"name": LONG}), ("resources/read", {"uri": LONG}), ("resources/read", {"uri": "belljar://runs/" + LONG + "/stdout"}),
    ("prompts/get", {"name": LONG}), (LONG, {}), ("tools/list", {"cursor": LONG}), ("logging/setLevel", {"level": LONG}),
    ("prompts/get", {"name": "refactor_safely", "arguments": {LONG: LONG}}),
])  # fmt: skip
def test_giants_in_errors_of_the_protocol(door, method, params):
    answer = door.raw(method, params)
    if "error" in answer:
        assert size(answer) < 3000, str(answer)[:500]


def test_a_version_that_is_a_giant(stdio):
    meta = {mcp.META + "protocolVersion": LONG, mcp.META + "clientCapabilities": {}}
    assert size(stdio.raw("tools/list", {"_meta": meta})) < 3000


# --- what was cut is there ---


def handle_of(text):
    return re.search(r'"handle": "((?:ans|run)_\w+)"', text)[1]


def pages(door, handle, **more):
    """The whole, page by page, as the words at the end of each page say."""
    whole, place = "", {"line": 1}
    for _ in range(2000):
        text = fits(door.call("read_output", {"handle": handle, **place, **more}), more.get("max_tokens", MOST))
        page, _, rest = text.rpartition("\n[output] ")
        whole += page
        found = re.search(r"go on with line (\d+)(?:, offset (\d+))?", rest)
        if not found:
            return whole
        place = {"line": int(found[1]), **({"offset": int(found[2])} if found[2] else {})}
    raise AssertionError("the pages do not end")


def test_a_result_that_was_cut_can_be_read(door):
    text = fits(door.call("run_code", {"code": "list(range(20_000))"}))
    assert text.startswith("[result] [0, 1, 2, ") and text.rstrip().endswith("19998, 19999]") and "[cut] " in text
    assert pages(door, handle_of(text), max_tokens=50_000).strip() == "[result] " + str(list(range(20_000)))


def test_pages_have_the_bound_too(door):
    text = fits(door.call("run_code", {"code": "for i in range(3000): print('row', i, 'x' * (i % 50))"}))
    assert pages(door, handle_of(text)) == "".join(f"row {i} {'x' * (i % 50)}\n" for i in range(3000))
    text = fits(door.call("run_code", {"code": "print('a' * 10_000 + 'é' * 10_000 + '\\nend')"}))
    assert pages(door, handle_of(text)) == "a" * 10_000 + "é" * 10_000 + "\nend\n"


def test_an_exception_that_was_cut_can_be_read(door):
    text = fits(door.call("run_code", {"code": "raise ValueError('y' * 30_000)"}))
    assert text.startswith("error: ValueError: yyy") and " bytes more) (line 1)" in text
    assert "y" * 30_000 in pages(door, handle_of(text), stream="stderr", max_tokens=50_000)


def test_matches_are_as_many_as_asked_for(door):
    text = fits(door.call("run_code", {"code": "for i in range(300_000): print('needle' if i % 1000 == 0 else 'hay', i, 'z' * 20)"}))
    for limit in (1, 2, 20):
        found = fits(door.call("read_output", {"handle": handle_of(text), "search": "needle", "limit": limit}))
        assert found.count(": needle") == limit, found
    found = fits(door.call("read_output", {"handle": handle_of(text), "search": "hay", "limit": 1000}))
    assert "go on with line" in found


def test_a_stream_that_is_whole_says_so(door):
    text = fits(door.call("run_code", {"code": "import sys\nfor i in range(50_000): print(i, file=sys.stderr)"}))
    answer = door.call("read_output", {"handle": handle_of(text)})
    assert answer["isError"] and 'of `stream` "stderr" there is more' in mcp.text_of(answer)


def test_kept_answers_are_their_owners(callers, door, stdio):
    text = fits(stdio.call("run_code", {"code": "'s' * 100_000"}))
    if isinstance(door, Http):
        assert door.call("read_output", {"handle": handle_of(text)})["isError"]
    for _ in range(40):
        other = fits(stdio.call("run_code", {"code": "'t' * 100_000"}))
    assert stdio.call("read_output", {"handle": handle_of(text)})["isError"], "the oldest one has gone"
    assert "ttt" in fits(stdio.call("read_output", {"handle": handle_of(other)}))


# --- the bound can be chosen ---


def test_a_call_chooses_its_bound(door):
    small = door.call("run_code", {"code": "list(range(100_000))", "max_tokens": 300})
    large = door.call("run_code", {"code": "list(range(100_000))", "max_tokens": 10_000})
    fits(small, 300)
    fits(large, 10_000)
    assert tokens(large) > 6000 > 600 > tokens(small)
    whole = door.call("execute_python_code", {"code": "list(range(20_000))", "max_tokens": 1_000_000})
    assert "[cut]" not in mcp.text_of(whole) and whole["structuredContent"]["result"]
    fits(door.call("more", {"tool": "run_code", "arguments": {"code": "'x' * 100_000", "max_tokens": 300}}), 300)
    for wrong in (0, 199, -1, 1.5, "many", [], 10**9):
        answer = door.call("run_code", {"code": "1", "max_tokens": wrong})
        assert answer["isError"] and "`max_tokens`" in mcp.text_of(answer)
    assert "42" in mcp.text_of(door.call("run_code", {"code": "42", "max_tokens": None}))


def test_the_operator_chooses_the_bound(callers):
    small = Stdio(callers.get("user") or callers["root"], "--answer-tokens", "300")
    fits(small.call("run_code", {"code": "list(range(100_000))"}), 300)
    fits(small.call("read_file", {"path": "nothing"}), 300)
    assert tokens(small.call("run_code", {"code": "list(range(100_000))", "max_tokens": 3000})) > 1500
    small.close()


# --- short by default ---


def test_a_table_is_sent_once(door):
    code = "import pandas as pd\npd.DataFrame({'a': range(30), 'b': range(30)})"
    text = fits(door.call("run_code", {"code": code}))
    assert "<table" not in text and "[display]" not in text and text.count("29") == 2 and len(text) < 700


def test_a_hint_is_given_once(door):
    text = fits(door.call("run_code", {"code": "\n".join(f"eval('{i}')" for i in range(10))}))
    assert text.count("does not allow the builtin `eval`") == 1 and "- lines 1, 2, 3," in text and text.count("ast.literal_eval") == 1
