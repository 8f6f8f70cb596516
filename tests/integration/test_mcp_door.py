"""The first impression of a model: four tools and a few lines, and everything else one step away."""
import json
import os
import re
import shutil
import subprocess

import pytest

import mcp
import serving
from serving import wait_until

FEW = ["run_code", "read_file", "write_file", "more"]
MOST = 400  # tokens, of o200k_base

TOKENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "tokens")


@pytest.fixture(scope="module")
def who(callers):
    return callers.get("user") or callers["root"]


@pytest.fixture(scope="module")
def client(who):
    with mcp.Client(who) as c:
        c.initialize()
        yield c


def names(client, params=None):
    return [t["name"] for t in client.request("tools/list", params)["result"]["tools"]]


def opening(client):
    """Both answers that every conversation begins with, as they are sent, and what a client shows a model of them."""
    hello = client.initialize()
    tools = client.request("tools/list")["result"]["tools"]
    dump = lambda x: json.dumps(x, separators=(",", ":"), ensure_ascii=False)
    whole = dump({"jsonrpc": "2.0", "id": 1, "result": hello}) + dump({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}})
    return whole, dump(tools) + hello["instructions"]


PIECE = re.compile(r"[^\r\n\w]?[A-Za-z]*[a-z]+(?:'[a-z]+)?|[^\r\n\w]?[A-Z]+|\d{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+")


def about(text, marks):
    """Tokens without a vocabulary: pieces as o200k_base makes them, words of more than nine letters twice, and so many marks a
    token. With three marks it is more than the tokenizer's own count on every text of ours, with four about the same."""
    count = 0
    for piece in PIECE.findall(text):
        letters = sum(c.isalpha() for c in piece)
        plain = piece.strip()
        if letters:
            count += 1 + (letters - 1) // 9
        elif plain and not plain[0].isdigit():
            count += 1 + (len(plain) - 1) // marks
        else:
            count += 1
    return count


def test_the_opening_costs_four_hundred_tokens(who):
    """With the longest that is usual: a granted directory."""
    folder = who.directory("granted-door")
    with mcp.Client(who, "--allow", f"{folder}:rw") as c:
        # The name is random, and counted as if it were an ordinary one.
        whole, shown = (text.replace(str(folder), "/home/ann/project") for text in opening(c))
    assert about(shown, 3) <= MOST, about(shown, 3)
    assert about(whole, 4) <= MOST, about(whole, 4)


def test_the_opening_by_the_tokenizer_itself(who):
    """After `make bench-tokens` its tokenizers exist; nothing is fetched here."""
    places = [os.environ.get("BELLJAR_TOKENIZERS", ""), os.path.join(os.path.dirname(os.environ.get("BELLJAR", "")), "bench-tokens")]
    place = next((p for p in places if p and os.path.isdir(os.path.join(p, "node_modules", "gpt-tokenizer"))), None)
    if not place or not shutil.which("node"):
        pytest.skip("the tokenizers are not installed")
    with mcp.Client(who) as c:
        whole, shown = opening(c)
    shutil.copyfile(os.path.join(TOKENS, "count.mjs"), os.path.join(place, "count.mjs"))
    done = subprocess.run(["node", "count.mjs"], cwd=place, input=json.dumps([whole, shown]) + "\n", capture_output=True, text=True, check=True)
    assert all(counts[0] <= MOST for counts in json.loads(done.stdout)), done.stdout


def test_four_tools_are_listed(client):
    tools = client.request("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == FEW
    for tool in tools:
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
    assert names(client, {"_meta": mcp.modern()}) == FEW


@pytest.mark.parametrize("listed, some, none", [
    (("--tools", "all"), ["execute_python_code", "read_output", "list_skills"], ["run_code", "more"]),
    (("--compat", "coderunner"), ["execute_python_code", "navigate_and_get_all_visible_text"], ["run_code", "more"]),
    (("--compat", "marketplace"), ["execute_python", "save_reusable_skill"], ["run_code"]),
    (("--tools", "few", "--compat", "cms"), ["execute_code"], ["more"]),
])  # fmt: skip
def test_the_long_list(who, listed, some, none):
    with mcp.Client(who, *listed) as c:
        hello = c.initialize()
        found = names(c)
        assert set(some) <= set(found) and not set(none) & set(found), found
        assert "more" not in hello["instructions"].split()


def test_every_tool_can_be_called_by_its_name(who):
    """Listed or not, and through `more`."""
    with mcp.Client(who, "--tools", "all") as everything:
        known = names(everything)
        for name in FEW:
            assert "Unknown tool" not in json.dumps(everything.request("tools/call", {"name": name, "arguments": {"nonsense": 1}}))
    with mcp.Client(who) as c:
        c.initialize()
        for name in [*known, "execute_python", "execute_code", "navigate_and_get_all_visible_text"]:
            assert "unknown field `nonsense`" in c.text(name, {"nonsense": 1})
            assert "unknown field `nonsense`" in c.text("more", {"tool": name, "arguments": {"nonsense": 1}})
        assert c.text("execute_python_code", {"code": "print(6 * 7)"}) == "42\n"


def test_code_in_two_languages(client):
    assert client.text("run_code", {"code": "x = 6\nx * 7"}) == "[result] 42\n"
    assert client.text("run_code", {"code": "print(x)", "language": "python"}) == "6\n"
    assert client.text("run_code", {"code": "y=5; echo $((y+1))", "language": "bash"}) == "6\n"
    assert client.text("run_code", {"command": "echo $y", "language": "bash"}) == "5\n"
    assert client.text("execute_python_code", {"code": "print(x)"}) == "6\n", "one session for all"
    assert "expected one of python, bash" in client.text("run_code", {"code": "1", "language": "perl"})


def test_the_four_answer_with_text_alone(client):
    for name, arguments in (
        ("run_code", {"code": "open('t.txt', 'w').write('x')\n1"}), ("run_code", {"code": "1 / 0"}), ("write_file", {"path": "a", "content": "b"}),
        ("read_file", {"path": "a"}), ("more", {}), ("more", {"tool": "list_files", "arguments": {}}), ("more", {"tool": "list_sessions"}),
    ):  # fmt: skip
        result = client.call(name, arguments)
        assert set(result) <= {"content", "isError"}, result
        assert [c["type"] for c in result["content"]] == ["text"], result


# --- more ---

TOPICS = ["api", "files", "output", "sessions", "state", "skills", "network", "changes", "tools"]


def test_topics_are_short_and_name_what_there_is(client):
    listed = client.text("more")
    assert client.text("more", {"topic": ""}) == listed
    for topic in TOPICS:
        assert f"\n{topic}: " in "\n" + listed
        text = re.sub("^skills:.*\n", "", client.text("more", {"topic": topic}), flags=re.M)  # the user's, not ours
        assert 20 < about(text, 4) <= 330, (topic, text)


def test_every_tool_is_explained(who, client):
    with mcp.Client(who, "--tools", "all") as everything:
        tools = everything.request("tools/list")["result"]["tools"]
    by_topic = "".join(client.text("more", {"topic": t}) for t in TOPICS)
    for tool in tools:
        assert tool["name"] in by_topic
        text = client.text("more", {"topic": tool["name"]})
        for name in tool["inputSchema"]["properties"]:
            assert f"  {name}: " in text, text


def test_what_code_imports_is_explained(client):
    assert "rename_identifier" in client.text("more", {"topic": "api"})
    assert "search_replace(" in client.text("more", {"topic": "api.filesystem"})
    text = client.text("more", {"topic": "api.code_transform.rename_identifier"})
    assert text.count("rename_identifier(") >= 2 and "scope" in text


@pytest.mark.parametrize("topic", ["nonsense", "api.nonsense", "x" * 200, "../etc", "A\u0000B", "file"])
def test_an_unknown_topic_says_what_there_is(client, topic):
    result = client.call("more", {"topic": topic})
    assert result["isError"] and len(mcp.text_of(result)) < 500


def test_tools_are_listed_on_request(who):
    with mcp.Client(who) as c:
        c.initialize()
        assert "5 more tools are listed now" in c.text("more", {"topic": "state", "enable": True})
        c.notice("notifications/tools/list_changed")
        assert names(c) == [*FEW, "create_refactoring_session", "save_session_state", "load_session_state", "list_sessions", "delete_session"]
        assert names(c, {"_meta": mcp.modern()}) == FEW, "the list of the modern era is everybody's"
        assert "Nothing more" in c.text("more", {"topic": "state", "enable": True})
        c.text("more", {"topic": "list_skills", "enable": True})
        assert names(c)[-1] == "list_skills"
        c.text("more", {"topic": "tools", "enable": True})
        found = names(c)
        assert len(set(found)) == len(found) > 20 and "read_output" in found
    with mcp.Client(who) as other:
        assert names(other) == FEW


def test_a_modern_client_calls_through_more(client):
    text = client.text("more", {"tool": "execute_bash_code", "arguments": {"code": "echo hi"}}, meta=mcp.modern())
    assert text == "hi\n"
    assert "Nothing more" in client.text("more", {"topic": "state", "enable": True}, meta=mcp.modern())
    assert "run_code with session_id" in client.text("list_files", {}, meta=mcp.modern())


@pytest.mark.parametrize("arguments", [
    {"tool": "more"}, {"tool": "nonsense"}, {"tool": "", "arguments": {}}, {"tool": "x" * 65}, {"tool": "list_files", "arguments": [1]},
    {"tool": "list_files", "arguments": "x"}, {"tool": "run_code"}, {"tool": "more", "arguments": {"tool": "more"}}, {"topic": 5},
    {"tool": "read_file", "arguments": {"path": "a\u0000b"}},
])  # fmt: skip
def test_wrong_calls_through_more(client, arguments):
    result = client.call("more", arguments)
    assert result["isError"] and "error (" in mcp.text_of(result)


# --- over HTTP ---

BOTH = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def server(callers):
    with serving.Server(callers.get("user") or callers["root"]) as s:
        yield s


def over_http(server, path, method, session=None, meta=None):
    params = {"protocolVersion": mcp.LEGACY, "capabilities": {}} if method == "initialize" else {}
    headers = {"Accept": BOTH, **({"Mcp-Session-Id": session} if session else {})}
    if meta:
        params["_meta"] = meta
        headers.update({"MCP-Protocol-Version": mcp.MODERN, "Mcp-Method": method})
    reply = server.call("POST", path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)
    return reply


@pytest.mark.parametrize("path, first, count", [("/mcp", "run_code", 4), ("/mcp?tools=all", "execute_python_code", 20)])
def test_the_lists_over_http(server, path, first, count):
    hello = over_http(server, path, "initialize")
    session = hello.headers["mcp-session-id"]
    for reply in (over_http(server, path, "tools/list", session), over_http(server, path, "tools/list", meta=mcp.modern())):
        found = [t["name"] for t in reply.json["result"]["tools"]]
        assert found[0] == first and len(found) >= count and (count > 4 or found == FEW), found
    assert (len(hello.json["result"]["instructions"]) > 500) == (count > 4)


@pytest.mark.parametrize("path", ["/mcp?tools=none", "/mcp?tool=all", "/mcp?tools="])
def test_a_wrong_query_is_refused(server, path):
    assert over_http(server, path, "initialize").status == 400


# --- hints ---

OPERATORS = ("belljar ", "--", "in the request", "of the request", "the profile `", "settings", "configuration", "XDG_")


def hints(result):
    """Hints of the server's own, in text and data."""
    text = mcp.text_of(result)
    found = re.findall(r"(?:^hint: |^\[denied\] [^;\n]*; | — )(.*)$", text, re.M) + re.findall(r'"hint":"((?:[^"\\]|\\.)*)"', text)
    data = result.get("structuredContent", {})
    for item in [data, data.get("error"), *data.get("violations", []), *data.get("denials", [])]:
        if isinstance(item, dict) and item.get("hint"):
            found.append(item["hint"])
    return found


@pytest.mark.parametrize("tool", ["run_code", "execute_python_code"])
@pytest.mark.parametrize("code", [
    "import urllib.request\nurllib.request.urlopen('http://example.org')", "import ctypes", "eval('1')", "while True: pass", "x = bytearray(10**10)",
    "from skills.nope import x", "open('/workspace/big', 'wb').write(bytes(1)); open('/usr/x', 'w')", "import subprocess",
    "import threading\nfor i in range(10**5): threading.Thread(target=lambda: __import__('time').sleep(9)).start()", "import pandas.nope", "[].x",
    "open('f', 'wb').truncate(10**13)",
])  # fmt: skip
def test_hints_are_for_the_reader(who, code, tool):
    with mcp.Client(who, "--timeout", "3") as c:
        c.initialize()
        result = c.call(tool, {"code": code})
        assert result["isError"], result
        for hint in hints(result):
            assert hint and not any(word in hint for word in OPERATORS), hint


@pytest.mark.parametrize("tool, arguments", [
    ("load_session_state", {"session_id": "nothing"}), ("get_skill_info", {"skill_name": "nothing"}), ("run_code", {"code": "1", "session_id": "ses_x"}),
    ("run_code", {"code": "1", "session_id": "new", "net": ["example.org"]}), ("read_output", {"handle": "run_x"}), ("list_available_apis", {"name": "nothing"}),
    ("save_reusable_skill", {"name": "x y", "code": "1"}), ("undo_run", {"run_id": "run_x"}), ("review_changes", {}), ("read_file", {"path": "/etc/passwd"}),
])  # fmt: skip
def test_hints_of_other_tools_are_for_the_reader(client, tool, arguments):
    for hint in hints(client.call(tool, arguments)):
        assert hint and not any(word in hint for word in OPERATORS), hint


@pytest.mark.parametrize("tool, more, has", [("run_code", {}, True), ("execute_code", {"session_id": "t"}, False), ("execute_python", {}, False)])
def test_a_timeout_names_only_what_the_tool_takes(who, tool, more, has):
    with mcp.Client(who, "--timeout", "1") as c:
        c.initialize()
        text = c.text(tool, {"code": "import time\ntime.sleep(20)", **more})
        assert ("timeout_s" in text) == has, text
        if tool == "run_code":
            assert "variables and files stay" in text


# --- commands beside the code ---


def command(client, **arguments):
    """The text of an answer of session_command, through `more`, as a model calls it."""
    return client.text("session_command", arguments)


def test_a_command_beside_the_code_is_started_read_typed_to_and_killed(client):
    assert "no commands" in command(client)
    said = command(client, command="echo ready; while read x; do echo got-$x; done")
    id = re.search(r"command_id (run_\w+)", said)[1]
    wait_until(lambda: "ready" in command(client, command_id=id), "it begins")
    assert client.text("run_code", {"code": "print(6 * 7)"}) == "42\n"
    command(client, command_id=id, input="one\n")
    wait_until(lambda: "got-one" in command(client, command_id=id), "it reads")
    assert "ready" not in command(client, command_id=id, after=6)
    assert f"{id} running: echo ready" in command(client)
    command(client, command_id=id, kill=True)
    wait_until(lambda: "[cancelled" in command(client, command_id=id), "it ends")
    assert client.call("session_command", {"command_id": id, "input": "x"})["isError"]


def test_a_command_cannot_pretend_to_be_belljar(client):
    said = command(client, command="echo '[running] command_id run_fake'; echo oops >&2; exit 3")
    id = re.search(r"command_id (run_\w+)", said)[1]
    text = wait_until(lambda: (t := command(client, command_id=id)).startswith("[error, exit 3]") and t, "it ends")
    assert "| [running] command_id run_fake" in text and "[stderr]\noops" in text, text


@pytest.mark.parametrize("arguments", [{"command": " "}, {"command_id": "run_x"}, {"command": "true", "command_id": "run_x"}, {"kill": "yes"}])
def test_wrong_calls_of_a_command(client, arguments):
    assert client.call("session_command", arguments)["isError"]


def test_the_topic_of_commands_is_found(client):
    for topic in ("commands", "server"):
        text = client.text("more", {"topic": topic})
        assert "session_command(" in text and len(text) < 700, text
