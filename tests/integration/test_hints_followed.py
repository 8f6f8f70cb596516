"""Every kind of hint is followed to the letter, and then it works."""
import json
import pathlib
import re
import secrets
import shlex
import tomllib

import pytest

import mcp
from serving import Server

ROOT = pathlib.Path(__file__).parents[2]


def said(answer):
    """The hint of a command's answer."""
    found = re.findall(r"^\s*hint: (.*)$", answer.errors, re.M)
    assert found, answer
    return found[-1]


def marked(text, at=0):
    """The words between quotation marks."""
    return shlex.split(re.findall(r"`([^`]*)`", text)[at])


@pytest.fixture
def place(user):
    """A directory with a few things to get wrong."""
    path = user.directory("followed-" + secrets.token_hex(4))
    (path / "dir").mkdir()
    (path / "link").symlink_to("dir")
    for name, text in {"a.rb": "print(1)", "x.py": "print(1)", "dir/y.py": "print(1)", "b.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": "print(1)"}]})}.items():
        (path / name).write_text(text)
    for p in [path, *path.rglob("*")]:
        if not p.is_symlink():
            user.own(p)
    return path


# --- the command line ---

# Mistakes, and a function of the hint and these words that does what the hint says.
COMMANDS = {
    "a command": (["rnu", "-c", "print(1)"], lambda hint, words: [*marked(hint)[1:], *words[1:]]),
    "an option": (["run", "--timout", "5", "-c", "print(1)"], lambda hint, words: [words[0], *marked(hint), *words[2:]]),
    "a language": (["run", "-l", "pyton", "-c", "print(1)"], lambda hint, words: [*words[:2], *marked(hint), *words[3:]]),
    "a profile": (["run", "--profile", "standrad", "-c", "print(1)"], lambda hint, words: [*words[:2], *marked(hint), *words[3:]]),
    "a setting": (["config", "sesion_idle_s"], lambda hint, words: ["config", *marked(hint)]),
    "text without -c": (["run", "print(1)"], lambda hint, words: ["run", *re.findall(r"needs (-c)", hint), "print(1)"]),
    "a directory": (["run", "dir"], lambda hint, words: ["run", "dir/y.py"] if hint == "name a file in it" else []),
    "a type": (["run", "a.rb"], lambda hint, words: ["run", *re.findall(r"(-l) names", hint), "python", "a.rb"]),
    "a notebook": (["run", "-l", "python", "b.ipynb"], lambda hint, words: marked(hint)[1:]),
    "a variable": (["run", "--env", "A", "-c", "print(1)"], lambda hint, words: ["run", *re.findall(r"write (--env) (NAME=VALUE)", hint)[0], "-c", "print(1)"]),
    "a seed": (["run", "--seed", "x", "-c", "print(1)"], lambda hint, words: ["run", "--seed", re.search(r"to (\d+)", hint)[1], "-c", "print(1)"]),
    "a grant that is not there": (["run", "--allow", "nosuch", "-c", "print(1)"], lambda hint, words: ["run", "--allow", "dir" + re.search(r":ro", hint)[0], "-c", "print(1)"]),
    "a grant of a file": (["run", "--allow", "dir/y.py", "-c", "print(1)"], lambda hint, words: ["run", "--allow", "dir", "-c", "print(1)"] if "directory that holds" in hint else []),
    "a profile without files": (["run", "--profile", "strict", "--allow", "dir", "-c", "print(1)"], lambda hint, words: [*words[:2], *marked(hint), *words[3:]]),
    "a profile without Bash": (["run", "--profile", "strict", "-l", "bash", "-c", "echo 1"], lambda hint, words: [*words[:2], *marked(hint), *words[3:]]),
    "the other one of them": (["run", "--profile", "strict", "-l", "bash", "-c", "echo 1"], lambda hint, words: [*words[:2], *marked(hint, 1), *words[3:]]),
    "a place to start": (["run", "--allow", "dir", "-C", "/srv", "-c", "print(1)"], lambda hint, words: [*words[:3], "-C", *marked(hint), *words[5:]]),
    "the other place to start": (["run", "--allow", "dir", "-C", "/srv", "-c", "print(1)"], lambda hint, words: [*words[:3], "-C", *re.findall(r"name (/workspace)", hint), *words[5:]]),
    "a place without a grant": (["run", "-C", "dir", "-c", "print(1)"], lambda hint, words: ["run", *marked(hint.replace("DIR", "dir")), *words[1:]]),
    "a diff": (["run", "--diff", "-c", "print(1)"], lambda hint, words: ["run", *marked(hint.replace("DIR", "dir")), *words[1:]]),
    "hidden changes": (["run", "--allow", "dir:cow", "--with-hidden", "-c", "print(1)"], lambda hint, words: [*words[:-2], *marked(hint), *words[-2:]]),
    "a host": (["run", "--net", "http//x y", "-c", "print(1)"], lambda hint, words: ["run", "--net", hint.split()[-1], "-c", "print(1)"]),
    "a directory for pictures": (["run", "--save", "nosuch", "-c", "print(1)"], lambda hint, words: ["run", "--save", "dir", "-c", "print(1)"] if "existing directory" in hint else []),
    "a skill": (["skills", "show", "nosuch"], lambda hint, words: marked(hint)[1:]),
    "a state": (["state", "show", "nosuch"], lambda hint, words: marked(hint)[1:]),
    "a record": (["audit", "show", "nosuch"], lambda hint, words: marked(hint)[1:]),
    "a run to undo": (["undo", "run_nosuch"], lambda hint, words: marked(hint)[1:]),
    "a token": (["token", "rm", "nosuch"], lambda hint, words: marked(hint)[1:]),
    "a client": (["setup", "nosuch"], lambda hint, words: marked(hint)[1:]),
    "a client that is not known": (["setup", "nosuch"], lambda hint, words: marked(hint, 1)[1:]),
    "an action": (["environment", "lst"], lambda hint, words: ["environment", *marked(hint)[-1:]]),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_mistake_on_the_command_line(user, place, kind):
    words, mend = COMMANDS[kind]
    env = {"XDG_STATE_HOME": str(place / "state")}
    if words[:1] == ["audit"]:
        assert user.call("run", "-c", "print(1)", env=env).code == 0
    wrong = user.call(*words, cwd=place, env=env)
    assert wrong.code not in (0, 1), wrong
    hint = said(wrong)
    right = user.call(*mend(hint, list(words)), cwd=place, env=env)
    assert right.code == 0, (hint, right)
    assert words[:1] not in (["run"], ["rnu"]) or right.text.strip() == "1", (hint, right)


def test_no_command_shows_an_example(user, place):
    wrong = user.call(cwd=place)
    assert wrong.code == 64 and not wrong.text, wrong
    example = shlex.split(re.search(r"^example:\n\s+belljar (.*)$", wrong.errors, re.M)[1])
    assert user.call(*example, cwd=place).text == "45\n"
    command, help_ = re.search(r"`belljar (COMMAND) (--help)`", wrong.errors).groups()
    for name in re.findall(r"^  (\w+) ", wrong.errors.partition("commands:")[2], re.M)[:3]:
        assert user.call(command.replace("COMMAND", name), help_, cwd=place).code == 0, name


def test_a_link_is_granted_by_its_own_path(user, place):
    wrong = user.call("run", "--allow", "link", "-c", "print(1)", cwd=place)
    assert "by its own path" in said(wrong), wrong
    own = re.search(r"leads to `([^`]*)`", wrong.errors)[1]
    assert user.call("run", "--allow", own, "-c", "print(1)", cwd=place).code == 0


def test_a_name_of_a_token_that_is_taken(user):
    name = "t" + secrets.token_hex(3)
    assert user.call("token", "add", name).code == 0
    command = shlex.split(said(user.call("token", "add", name)).partition(": ")[2])
    assert command[0] == "belljar" and user.call(*command[1:]).code == 0 and user.call("token", "add", name).code == 0
    assert user.call("token", "rm", name).code == 0


def test_an_environment_that_is_not_there(user, place):
    """The command is right as far as its words go: installing takes an index."""
    command = marked(said(user.call("run", "--environment", "nosuch", "-c", "1")))
    answer = user.call(*command[1:-1], "nosuch_package", "--wheels", place / "dir", env={"XDG_DATA_HOME": str(place / "data")})
    assert command[-1] == "PACKAGE" and answer.code != 64 and "--help" not in answer.errors, answer


LIMITS = {
    "time": (["--timeout", "1"], "import time; time.sleep(1.5)"),
    "memory": (["--memory", "64"], "import time; held = bytearray(100 << 20); time.sleep(0.5)"),  # without a cgroup, memory is sampled
    "disk": (["--disk", "1"], "open('x', 'wb').write(b'x' * 5_000_000)"),
    "processes": (["--profile", "open", "--pids", "4"], "import threading, time\nfor t in [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(20)]: t.start()"),
    "CPU time": (["--cpu-time", "1"], "import time\nwhile time.process_time() < 1.5: pass"),
}
ENOUGH = {"--timeout": "60", "--memory": "400", "--disk": "64", "--pids": "64", "--cpu-time": "60"}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_is_raised_by_the_option_of_its_hint(user, limit):
    flags, code = LIMITS[limit]
    wrong = user.call("run", *flags, "-c", code)
    assert wrong.code != 0, wrong
    (option,) = marked(said(wrong))
    right = user.call("run", *flags, option, ENOUGH[option], "-c", code)
    assert right.code == 0, right


def test_a_ceiling_is_raised_by_the_setting_of_its_hint(user):
    config = user.file(f"c-{secrets.token_hex(4)}.toml", "max_timeout_s = 100\n")
    words = ("run", "--config", config, "--timeout", "200", "-c", "print(1)")
    hint = said(user.call(*words))
    (setting,), variable = marked(hint), hint.split()[-1]
    assert user.call(*words, env={variable: "300"}).code == 0
    config.write_text(f"{setting} = 300\n")
    assert user.call(*words).code == 0


# --- profiles ---


def profile(name):
    """Its own hints and those it inherits."""
    tree = tomllib.loads((ROOT / "policies" / f"{name}.toml").read_text())
    hints = profile(tree["inherits"]) if "inherits" in tree else {}
    for kind in ("imports", "builtins", "attributes"):
        for what, hint in tree.get(kind, {}).get("hints", {}).items():
            hints[kind, what] = hint
    return hints


# Programs for what is named in words.
WORDS = {
    "use json": "import json", "json.loads": "import json", "with re": "import re", "pathlib": "import pathlib", "numpy": "import numpy", "use pandas": "import pandas",
    "use time.perf_counter": "import time", "asyncio.wait_for": "import asyncio", "ThreadPoolExecutor": "from concurrent.futures import ThreadPoolExecutor",
    "ast.literal_eval": "import ast\nast.literal_eval('1')", "re.compile": "import re\nre.compile('a')", "traceback.format_exc": "import traceback\ntraceback.format_exc()",
    "traceback.extract_tb": "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError as e: traceback.extract_tb(e.__traceback__)[-1].lineno",
    "importlib.import_module": "import importlib\nimportlib.import_module('math')", "inspect.signature": "import inspect\ninspect.signature(print).parameters",
    "unittest": "import unittest", "try and finally": "try: pass\nfinally: pass", "`__getattr__`": "class C:\n    def __getattr__(self, name): return name",
    "io.StringIO": "from io import StringIO", "dataclasses": "import dataclasses", "`urllib.parse`": "import urllib.parse",
    "type(x).__name__": "type(1).__name__", "isinstance": "isinstance(1, int)", "issubclass": "issubclass(int, int)", "`obj.__doc__`": "len.__doc__", "`dir(obj)`": "dir(len)",
    "vars(x)": "class C: pass\nvars(C())", "`raise SystemExit(n)`": "raise SystemExit(0)",
    "timeit.timeit": "import timeit\ntimeit.timeit(len, number=1)", "time.perf_counter()": "import time\ntime.perf_counter()", "signal.raise_signal": "import signal\nsignal.raise_signal(signal.SIGUSR1)",
    "tracemalloc": "import tracemalloc", "sys.exit(code)": "import sys\nsys.exit(0)", "globals()": "globals()", "f.__name__": "len.__name__", "inspect.getsource": "import inspect\ninspect.getsource(print)",
    "`del x.name`": "class C: pass\nx = C()\nx.name = 1\ndel x.name", "Path(name).read_text()": "from pathlib import Path\nPath('x').read_text",
}  # fmt: skip


def refused(kind, what):
    return {"imports": f"import {what}", "builtins": f"print({what})", "attributes": f"x = 1\nx.{what}"}[kind]


def violations(server, code, profile):
    found = server.post("/v1/check", {"code": code, "profile": profile}).json
    return [v["name"] for v in found["violations"] if v["rule"] != "missing"]


@pytest.fixture(scope="module")
def checker(callers):
    server = Server(callers["user"], "--socket", "none")
    yield server
    assert server.stop() == 0, server.said


@pytest.mark.parametrize("name", ["strict", "standard", "marketplace", "cms", "pyrunner", "devskyy"])
def test_what_a_profile_offers_instead_is_allowed_there(checker, name):
    server, followed = checker, 0
    for (kind, what), hint in profile(name).items():
        if not violations(server, refused(kind, what), name):
            continue  # the profile allows it after all
        clauses = hint
        for other in re.findall(r"profile `(\w+)`", hint):
            clauses = re.sub(rf"[^;,]*profile `{other}`[^;,]*", "", clauses)
            thing = "import pathlib" if "has pathlib" in hint else refused(kind, what)
            assert not violations(server, thing, other), (what, hint)
            followed += 1
        programs = [code for word, code in WORDS.items() if word in clauses] + re.findall(r"`((?:from|import) [^`]*)`", clauses)
        for code in programs:
            assert not violations(server, code, name), (what, hint, code)
        followed += len(programs)
    assert followed > (8 if name == "standard" else 15), followed  # the more a profile allows, the fewer hints it has


# --- HTTP ---


def refusal(server, method, path, body=None, **more):
    reply = server.call(method, path, body, **more)
    assert reply.status >= 400, reply
    return reply.error["hint"]


def test_mistakes_in_a_request(server):
    run = {"code": "print(1)"}
    (field,) = marked(refusal(server, "POST", "/v1/run", {**run, "timeout": 5}))
    assert server.post("/v1/run", {**run, field: 5}).json["stdout"] == "1\n"
    (field,) = marked(refusal(server, "POST", "/v1/run", {**run, "time_out_s": 5}))
    assert server.post("/v1/run", {**run, field: 5}).status == 200
    (name,) = marked(refusal(server, "POST", "/v1/run", {**run, "profile": "standrad"}))
    assert server.post("/v1/run", {**run, "profile": name}).status == 200
    hint = refusal(server, "POST", "/v1/run", json.dumps(run).encode(), headers={"Content-Type": "text/plain"})
    header, value = marked(hint)[0].rstrip(":"), marked(hint)[1]
    assert server.call("POST", "/v1/run", json.dumps(run).encode(), headers={header: value}).status == 200
    hint = refusal(server, "GET", "/v1/runn")
    assert server.get(hint.split()[0]).status == 200
    method = re.search(r"use ([A-Z]+)", refusal(server, "PUT", "/v1/run", run))[1]
    assert server.call(method, "/v1/run", run).status == 200
    if server.token:
        header, _, value = refusal(server, "GET", "/v1/sessions", headers={"Authorization": None}).split("`")[1].partition(": ")
        assert server.call("GET", "/v1/sessions", headers={header: value.replace("TOKEN", server.token)}).status == 200


def test_mistakes_with_sessions(server):
    name = "s" + secrets.token_hex(3)
    assert "letter or digit first" in refusal(server, "POST", "/v1/sessions", {"name": "-x y"})
    assert server.post("/v1/sessions", {"name": name}).status == 201
    assert "use it, end it, or choose another name" == refusal(server, "POST", "/v1/sessions", {"name": name})
    assert server.post(f"/v1/sessions/{name}/execute", {"code": "print(1)"}).json["stdout"] == "1\n"
    path = re.search(r"`([^`]*)`", refusal(server, "PUT", f"/v1/sessions/{name}/files/..%2fx", b"x"))[1]
    assert server.call("PUT", f"/v1/sessions/{name}/files/{path}", b"x").status in (200, 201, 204)
    assert refusal(server, "POST", f"/v1/sessions/{name}/restore", {"name": "c"}) == "make one first"
    if server.post(f"/v1/sessions/{name}/checkpoint", {"name": "c"}).status == 200:  # not in a checked build
        assert server.post(f"/v1/sessions/{name}/restore", {"name": "c"}).status == 200
        assert "forget" not in refusal(server, "POST", f"/v1/sessions/{name}/fork", {"n": 256})
    assert server.call("DELETE", f"/v1/sessions/{name}").status == 204
    assert server.post("/v1/sessions", {"name": name}).status == 201
    assert server.call("DELETE", f"/v1/sessions/{name}").status == 204
    assert "open a new one" in refusal(server, "POST", f"/v1/sessions/{name}/execute", {"code": "1"})


def test_mistakes_with_keys(server):
    key = secrets.token_hex(8)
    assert "UUID" in refusal(server, "POST", "/v1/run", {"code": "1"}, headers={"Idempotency-Key": "a b"})
    assert server.call("POST", "/v1/run", {"code": "1"}, headers={"Idempotency-Key": key}).status == 200
    assert "take a new one" in refusal(server, "POST", "/v1/run", {"code": "2"}, headers={"Idempotency-Key": key})
    assert server.call("POST", "/v1/run", {"code": "2"}, headers={"Idempotency-Key": key + "-new"}).status == 200


# --- models ---


def mistake(client, tool, arguments):
    answer = client.call(tool, arguments)
    assert answer.get("isError"), answer
    text = mcp.text_of(answer)
    return answer.get("structuredContent", {}).get("hint") or text.partition("hint: ")[2] or text


def works(client, tool, arguments):
    answer = client.call(tool, arguments)
    assert not answer.get("isError"), answer
    return mcp.text_of(answer)


def test_mistakes_of_a_model(user, place):
    env = {"XDG_STATE_HOME": str(place / "state")}
    with mcp.Client(user, "--allow", f"{place}:rw", env=env) as client:
        client.initialize()
        for tool in ("run_code", "execute_python_code"):
            hint = mistake(client, tool, {"code": "print(1)", "session_id": "ses_nosuch"})
            runner, new = re.search(r"(\w+) with session_id \"(\w+)\"", hint).groups()
            assert "1\n" in works(client, runner, {"code": "print(1)", "session_id": new})
        for tool, arguments in (("run_code", {"cod": "print(1)"}), ("read_file", {"pth": "x.py"})):
            hint = mistake(client, tool, arguments)
            (field,) = re.findall(r"did you mean `(\w+)`", hint) or re.findall(r"`(\w+)` is missing", hint)
            works(client, tool, {field: next(iter(arguments.values()))})
        hint = mistake(client, "more", {"topic": "sesions"})
        works(client, "more", {"topic": marked(hint)[0]})
        hint = mistake(client, "more", {"tool": "nosuch"})
        works(client, "more", json.loads(re.search(r"\{.*?\}", hint)[0]))
        hint = mistake(client, "list_available_apis", {"name": "serch_replace"})
        works(client, "list_available_apis", {"name": marked(hint)[0]})
        hint = mistake(client, "list_available_apis", {"detail": "full"})
        works(client, "list_available_apis", {"detail": marked(hint)[0]})
        hint = mistake(client, "read_file", {"path": "/etc/passwd"})
        assert "1" in works(client, "read_file", {"path": re.search(r"starts in (\S+)", hint)[1] + "/x.py"})
        assert hint.startswith("relative paths are the safest") and "1" in works(client, "read_file", {"path": "x.py"})
        hint = mistake(client, "get_skill_info", {"skill_name": "nosuch"})
        works(client, re.search(r"(list_skills) lists", hint)[1], {})
        hint = mistake(client, "load_session_state", {"session_id": "nosuch"})
        works(client, re.search(r"(list_sessions) lists", hint)[1], {})
        hint = mistake(client, "write_file", {"path": "/workspace/w", "content": "no base64!", "encoding": "base64"})
        assert "leave `encoding` out" in hint
        works(client, "write_file", {"path": "/workspace/w", "content": "no base64!"})
        assert "from skills" in mistake(client, "save_reusable_skill", {"name": "Bad Name", "code": "x = 1", "description": ""})
        works(client, "save_reusable_skill", {"name": "clean_csv", "code": "def f(): pass", "description": ""})
        works(client, "create_refactoring_session", {"session_name": "s1"})
        works(client, "save_session_state", {"session_id": "s1", "state": {"a": 1}})
        hint = mistake(client, "save_session_state", {"session_id": "s1", "state": {"b": 1}, "version": 7})
        version = int(re.search(r"version (\d+)", hint)[1])
        works(client, "load_session_state", {"session_id": "s1"})
        works(client, "save_session_state", {"session_id": "s1", "state": {"a": 1, "b": 1}, "version": version})
        unknown = client.request("tools/call", {"name": "run_cod", "arguments": {"code": "print(1)"}})
        assert "run_code" in str(unknown), unknown


# --- every word ---


def literals():
    """(file, text) of all that looks like a hint in the sources."""
    for path in sorted([*(ROOT / "src").rglob("*.c"), *(ROOT / "guest").rglob("*.c")]):
        for call in re.finditer(r"(?:hint|say|advice)\w*\([^;]*?((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", path.read_text()):
            yield path.name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call[1]))


def test_commands_and_options_of_hints_exist(user):
    helps = {}

    def help_of(command):
        if command not in helps:
            answer = user.call(command, "--help")
            assert answer.code == 0, command
            page = ROOT / "docs" / "man" / f"belljar-{command}.1.scd"
            helps[command] = answer.text + (page.read_text().replace("*", "") if page.exists() else "")
        return helps[command]

    seen = 0
    settings = user.call("config").text
    pages = "".join(p.read_text() for p in (ROOT / "docs" / "man").glob("*.scd")).replace("*", "") + user.call("run", "--help").text + settings
    for name, text in literals():
        for command in re.findall(r"`belljar ([^`]*)`", text):
            words = command.split()
            if not words or words[0].startswith(("-", "%")):
                continue
            for option in (w for w in words[1:] if w.startswith("--") and len(w) > 2):
                assert option in help_of(words[0]) or option == "--help", (name, text)
            help_of(words[0])
            seen += 1
        for option in re.findall(r"`(--[a-z][a-z-]*)", text):
            flag = option[2:].replace("-", "_")
            assert option in pages or f"\n{flag} " in pages or flag in pages, (name, text)
            seen += 1
    assert seen > 60, seen
