"""Hints name only what their reader can do, and doing it works."""
import re
import secrets

import pytest

import mcp

TOOLS = re.compile(r"\b(run_code|execute_\w+|list_\w+|get_kernel_status|read_output|read_file|write_file|get_skill_\w+|(save|load)_session_state|delete_session|end_session|wait_run|undo_run|review_changes|fork_session)\b")
OPERATORS = re.compile(r"(^|[\s`(])--[a-z]|`belljar |in the settings|\[(servers|functions|grants|environments)")


@pytest.fixture
def data(who):
    path = who.directory("hints-" + secrets.token_hex(4))
    (path / "a.txt").write_text("a\n")
    who.own(path / "a.txt")
    return path


# Mistakes, by language, and a word of their hint.
FAILURES = [
    ("python", "import polars_", "not installed"),
    ("python", "open('nothing')", "relative paths begin in"),
    ("python", "open('/usr/x', 'w')", "writable here: /workspace"),
    ("python", "open('DATA/new', 'w')", "DATA is granted read-only"),
    ("python", "import socket; socket.getaddrinfo('nowhere.test', 80)", "no host is granted"),
    ("python", "import socket; socket.create_connection(('10.255.0.1', 80))", "no host is granted"),
    ("python", "import urllib.request as u; u.urlopen('http://nowhere.test/')", "no host is granted"),
    ("python", "open('/mnt/data/x.txt', 'w')", "writable here: /workspace"),
    ("python", "import socket; socket.socket().bind(('127.0.0.1', 80))", "a port above 1023"),
    ("python", "import tomli", "did you mean `tomllib`?"),
    ("python", "raise MemoryError", "in pieces"),
    ("python", "input()", "nothing to read"),
    ("python", "np.zeros(1)", "`import numpy as np` first"),
    ("python", "import skills.nope", "no such skill"),
    ("python", "files = %nothing", "supported: !command"),
    ("bash", "no-such-program", "not among the programs"),
    ("bash", "cat nothing", "relative paths begin in"),
    ("bash", "cd nothing", "relative paths begin in"),
    ("bash", "echo x > /usr/x", "writable here: /workspace"),
    ("bash", "touch DATA/new", "DATA is granted read-only"),
    ("bash", "cd /workspace; echo true > s.sh; ./s.sh", "`bash FILE`"),
    ("bash", "curl -sS http://nowhere.test/", "no host is granted"),
    ("bash", "python3 -c 'import polars_'", "not installed"),
]


def hint_of(result):
    return (result.get("error") or {}).get("hint") or result.get("hint")


def test_a_module_that_is_seen_in_part_can_be_imported(who):
    for profile, name in (("standard", "os"), ("strict", "sys")):
        assert hint_of(who.run(f"print({name})", profile=profile).json) == f"`import {name}` first"
        assert who.run(f"import {name}\nprint(type({name}).__name__)", profile=profile).json["stdout"] == "module\n"
    assert hint_of(who.run("print(subprocess)", profile="standard").json) is None


def test_a_person_at_a_terminal_gets_options_and_no_tools(who, data):
    for language, code, word in FAILURES:
        answer = who.run(code.replace("DATA", str(data)), "-l", language, "--allow", data, profile="open").json
        said = hint_of(answer)
        assert said and word.replace("DATA", str(data)) in said, (code, answer)
        assert not TOOLS.search(said) and "of the request" not in said and "ask the user" not in said, (code, said)


def test_a_client_of_http_gets_fields(server):
    for language, code, word in FAILURES:
        if "DATA" in code:
            continue
        answer = server.post("/v1/run", {"code": code, "language": language, "profile": "open"}).json
        said = hint_of(answer)
        assert said and word in said, (code, answer)
        assert not TOOLS.search(said) and "ask the user" not in said and not OPERATORS.search(said.replace("`belljar skills list`", "")), (code, said)
    slow = server.post("/v1/run", {"code": "while True: pass", "timeout_s": 1}).json
    assert slow["denials"][0]["hint"] == "raise `timeout_s`, or do less at a time", slow


def test_a_model_gets_what_its_tool_has(who, data):
    with mcp.Client(who, "--profile", "open", "--allow", data) as client:
        client.initialize()
        for language, code, word in FAILURES:
            for tool in ("run_code", "execute_bash_code" if language == "bash" else "execute_python_code"):
                arguments = {"code": code.replace("DATA", str(data))}
                answer = client.call(tool, {**arguments, "language": language} if tool == "run_code" else arguments)
                said = next((line for line in mcp.text_of(answer).splitlines() if line.startswith("hint: ")), "")
                assert word.replace("DATA", str(data)) in said, (code, answer)
                assert not OPERATORS.search(said) and "of the request" not in said and "the operator" not in said, (code, said)
                data_hint = hint_of(answer.get("structuredContent", {}))
                assert not data_hint or data_hint in said, answer
        assert mcp.text_of(client.call("execute_bash_code", {"code": "python -c 'print(6 * 7)'"})).startswith("42\n")


# --- doing what a hint says ---


def test_every_hint_about_places_can_be_followed(who, data):
    said = hint_of(who.run("open('/usr/x', 'w')", "--allow", data, profile="open").json)
    for place in said.split("writable here: ")[1].split("; ")[0].split(", "):
        assert who.run(f"open('{place}/made', 'w').write('x')", profile="open").json["status"] == "success", place
    said = hint_of(who.run(f"open('{data}/new', 'w')", "--allow", data, profile="open").json)
    grant = re.search(r"`--allow (\S+)` makes it writable", said).group(1)
    assert who.run(f"open('{data}/new', 'w').write('x')", "--allow", grant, profile="open").json["status"] == "success"
    assert (data / "new").read_text() == "x"
    said = hint_of(who.run("open('a.txt')", "--allow", data, "--workdir", "/workspace", profile="open").json)
    granted = re.search(r"granted: (\S+) \(read-only\)", said).group(1)
    assert who.run(f"print(open('{granted}/a.txt').read())", "--allow", data, profile="open").json["stdout"] == "a\n\n"


@pytest.mark.parametrize("wrong, right", [("np.zeros(1)", "import numpy as np\nnp.zeros(1)"), ("json.dumps(1)", "import json\njson.dumps(1)")])
def test_the_import_of_a_hint_works(who, wrong, right):
    said = hint_of(who.run(wrong).json)
    assert said == f"`{right.splitlines()[0]}` first"
    assert who.run(right).json["status"] == "success"


@pytest.mark.one_caller
def test_limits_of_a_hint_can_be_raised(who):
    slow = who.run("import time; time.sleep(2)", "--timeout", "1").json
    option = re.search(r"raise `(--\S+)`", slow["denials"][0]["hint"]).group(1)
    assert who.run("import time; time.sleep(2)", option, "30").json["status"] == "success"
    said = hint_of(who.run("input()").json)
    assert "`--stdin FILE`" in said
    assert who.run("input()", "--stdin", "-", input=b"x\n").json["status"] == "success"


@pytest.mark.one_caller
def test_a_model_s_timeout_can_be_raised(who):
    with mcp.Client(who, "--timeout", "1") as client:
        client.initialize()
        said = mcp.text_of(client.call("run_code", {"code": "import time; time.sleep(2); print('done')"}))
        assert "`timeout_s`" in said, said
        assert client.text("run_code", {"code": "import time; time.sleep(2); print('done')", "timeout_s": 30}) == "done\n"


def test_hosts_of_a_hint_are_those_that_are_granted(who):
    for language, code in (("python", "import urllib.request as u; u.urlopen('http://nowhere.test/')"), ("bash", "curl -sSf http://nowhere.test/")):
        answer = who.run(code, "-l", language, "--net", "api.example.org", profile="open").json
        assert answer["denials"][0]["hint"].startswith("`--net nowhere.test"), answer
        assert "api.example.org" in (hint_of(answer) or "") or language == "bash", answer


def test_at_a_terminal_the_hint_names_the_option_for_bash(who):
    said = who.call("run", "-c", "ls -la").errors
    assert "`belljar run -l bash` runs Bash" in said and "pass `language`" not in said, said
    assert who.call("run", "-l", "bash", "-c", "ls -la").code == 0
