"""Calls of a program to the outside: refactoring sessions and skills of its owner, through every door."""
import json
import subprocess
import textwrap
import uuid

import mcp
import pytest


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture(scope="module")
def home(who):
    """A state directory of this file's own."""
    return {"XDG_STATE_HOME": str(who.directory(f"calls-{uuid.uuid4().hex}"))}


def name():
    return "n" + uuid.uuid4().hex


def run(who, home, code, *args, profile="standard", **more):
    return who.run(textwrap.dedent(code), *args, profile=profile, env=home, **more)


def good(who, home, code, *args, **more):
    done = run(who, home, code, *args, **more)
    assert done.code == 0, done
    return json.loads(done.json["stdout"])


# ---- what the functions promise ----


def test_a_state_is_kept_from_run_to_run(who, home):
    work = name()
    made = good(who, home, f"""
        from execution_runtime import Session, create_session, list_sessions
        import json
        work = create_session({work!r}, "all of it")
        before = work.load_state()
        versions = [work.save_state({{"done": ["é"], "n": 1}}), work.save_state({{"done": []}})]
        print(json.dumps([before, versions, work.exists, work.path, {work!r} in list_sessions()]))""")
    assert made == [{}, [1, 2], True, f"state/{work}", True]
    found = good(who, home, f"""
        from execution_runtime import load_session, delete_session, list_sessions
        import json
        work = load_session({work!r})
        history = [(h["version"], h["state_snapshot"], bool(h["timestamp"])) for h in work.get_history()]
        state = work.load_state()
        work.delete()
        lost = []
        for gone in (load_session, delete_session):
            try:
                gone({work!r})
            except FileNotFoundError as error:
                lost.append({work!r} in str(error))
        print(json.dumps([history, state, work.exists, lost, {work!r} in list_sessions()]))""")
    assert found == [[[1, {"done": ["é"], "n": 1}, True], [2, {"done": []}, True]], {"done": []}, False, [True, True], False]


def test_a_skill_that_is_saved_inside_is_imported_by_the_next_run(who, home):
    skill = name()
    saved = good(who, home, f"""
        from execution_runtime import save_skill, load_skill, list_skills, get_skill_path
        import json
        saved = save_skill({skill!r}, "def f(x):\\n    return x + 1\\n", "adds one")
        print(json.dumps([saved, load_skill({skill!r}), {skill!r} in list_skills(), get_skill_path()]))""")
    assert saved[0]["status"] == "success" and saved[0]["skill_name"] == skill and skill in saved[0]["import_as"] and saved[0]["path"]
    assert saved[1].startswith('"""adds one"""\ndef f') and saved[2:] == [True, "/workspace/skills"]
    assert good(who, home, f"from skills.{skill} import f\nprint(f(1))") == 2
    assert who.call("skills", "rm", skill, env=home).code == 0
    assert good(who, home, f"""
        from execution_runtime import delete_skill, load_skill, list_skills, save_skill
        import json
        said = []
        for ask in (load_skill, delete_skill):
            try:
                ask({skill!r})
            except FileNotFoundError as error:
                said.append({skill!r} in str(error))
        for wrong in ("../x", "Class", "def"):
            try:
                save_skill(wrong, "x = 1")
            except Exception as error:
                said.append(type(error).__name__)
        try:
            save_skill({skill!r}, "def f(:")
        except SyntaxError as error:
            said.append("syntax")
        print(json.dumps([said, {skill!r} in list_skills()]))""") == [[True, True, "CallError", "CallError", "CallError", "syntax"], False]


def test_a_skill_that_is_there_is_not_replaced_without_its_owner(who, home):
    skill = name()
    good(who, home, f"from execution_runtime import save_skill\nimport json\nsave_skill({skill!r}, 'x = 1', 'mine')\nprint(json.dumps(1))")
    said = good(who, home, f"""
        from execution_runtime import delete_skill, load_skill, save_skill
        import json
        said = []
        for change in (lambda: save_skill({skill!r}, 'x = 2', 'evil'), lambda: delete_skill({skill!r}), lambda: save_skill({skill!r}, 'x = 1', 'only words')):
            try:
                change()
                said.append("done")
            except Exception as error:
                said.append([error.code, str(error), error.hint])
        print(json.dumps([said, load_skill({skill!r})]))""")
    for refused in said[0]:
        assert refused[0] == "denied" and "needs approval, and nobody can be asked here" in refused[1] and "another name" in refused[2], said
    assert said[1] == '"""mine"""\nx = 1'


# ---- what is refused ----


@pytest.mark.parametrize(
    "asked, code, word",
    [
        ('"nothing.like", {}', "not_found", "nothing.like"),
        ('"", {}', "invalid", "name"),
        ('"state.list\\0", {}', "invalid", "name"),
        ('"x" * 200, {}', "too_large", "call"),
        ('"state.list", {"more": 1}', "invalid", "more"),
        ('"state.save", {"session_id": "x"}', "invalid", "state"),
        ('"state.save", {"session_id": 1, "state": {}}', "invalid", "session_id"),
        ('"state.save", {"session_id": "x", "state": []}', "invalid", "state"),
        ('"state.save", {"session_id": "../x", "state": {}}', "invalid", "name"),
        ('"state.load", {"session_id": "x", "version": 1.5}', "invalid", "version"),
        ('"state.load", {"session_id": "a\\0b"}', "invalid", "NUL"),
        ('"state.save", {"session_id": "x", "state": {"a": "y" * 1_060_000}}', "too_large", "MiB"),
        ('"state.save", {"session_id": "x", "state": {"a": "y" * 3_000_000}}', "too_large", "bytes"),
    ],
)
def test_a_call_that_makes_no_sense_is_an_exception(who, home, asked, code, word):
    told = good(who, home, f"""
        from api._call import call, CallError
        import json
        name, arguments = {asked}
        try:
            call(name, **arguments)
        except CallError as error:
            print(json.dumps([error.code, str(error)]))""")
    assert told[0] == code and word in told[1], told


def test_what_is_not_granted_is_refused_by_name(who, home):
    profile = who.file("quiet.toml", 'inherits = "standard"\n[grants]\ncalls = ["-state"]\n')
    told = good(who, home, """
        from execution_runtime import list_sessions, list_skills, CallError
        import json
        try:
            list_sessions()
        except CallError as error:
            print(json.dumps([error.code, str(error), isinstance(list_skills(), list)]))""", profile=str(profile))
    assert told[0] == "denied" and '`calls = ["state"]`' in told[1] and "quiet" in told[1] and told[2] is True


def test_strict_grants_nothing(who, home):
    """Not even to a program that gets past the doorman: it is decided outside."""
    profile = who.file("lenient.toml", 'inherits = "strict"\n[imports]\nallow = ["execution_runtime"]\n')
    done = run(who, home, "from execution_runtime import list_skills\nlist_skills()", profile=str(profile))
    assert done.code == 1 and "not granted" in done.json["error"]["message"], done


# ---- threads, children, ends ----


def test_many_threads_call_at_once(who, home):
    work = name()
    assert good(who, home, f"""
        from concurrent.futures import ThreadPoolExecutor
        from execution_runtime import Session
        work = Session({work!r})
        with ThreadPoolExecutor(40) as pool:
            versions = list(pool.map(lambda i: work.save_state({{"i": i, "text": "x" * 20000}}), range(120)))
        print([sorted(versions) == list(range(1, 121)), len(work.get_history()) > 10].count(True))""", profile="open") == 2


def test_a_child_of_the_program_gets_an_error(who, home):
    assert good(who, home, """
        import json, os
        from execution_runtime import list_skills, CallError
        list_skills()
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                list_skills()
            except CallError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.wait()
        print(json.dumps(["forked" in os.read(read, 1000).decode(), isinstance(list_skills(), list)]))""", profile="open") == [True, True]


def test_a_program_that_takes_its_own_reply_away_gets_an_error(who, home):
    """Others in the sandbox may read its pipe: it costs the program its answers, and nobody else anything."""
    assert good(who, home, """
        import json, os
        from execution_runtime import list_skills, CallError
        list_skills()
        if os.fork() == 0:
            os.read(58, 1)
            os._exit(0)
        said = []
        for _ in range(3):
            try:
                list_skills()
            except CallError as error:
                said.append("read by something else" in str(error))
            if said:
                break
        print(json.dumps(said or [True]))""", profile="open") == [True]


def test_too_many_calls_of_one_run(who, home):
    told = good(who, home, """
        import json
        from api._call import call, CallError
        n = 0
        try:
            while n < 20_000:
                call("nothing.like")
                n += 1
        except CallError as error:
            while error.code == "not_found":
                n += 1
                try:
                    call("nothing.like")
                except CallError as e:
                    error = e
            print(json.dumps([n, error.code, str(error)]))""", "--timeout", "120", profile="open")
    assert told[0] == 10000 and told[1] == "too_large" and "10000" in told[2], told


def test_a_program_that_is_killed_in_the_middle_leaves_whole_states(who, home):
    work = name()
    done = run(who, home, f"""
        import threading, time
        from execution_runtime import Session
        work = Session({work!r})
        n = 0
        while True:
            n += 1
            work.save_state({{"n": n, "text": "x" * 100000}})""", "--timeout", "2", profile="open")
    assert done.code == 124, done
    state = good(who, home, f"""
        from execution_runtime import Session
        import json
        print(json.dumps(Session({work!r}).load_state()))""")
    assert state == {} or (state["n"] >= 1 and len(state["text"]) == 100000)


def test_a_supervisor_that_is_killed_in_the_middle_leaves_whole_states(who, home):
    work = name()
    code = f"""
from execution_runtime import Session
work, n = Session({work!r}), 0
while True:
    n += 1
    work.save_state({{"n": n, "text": "x" * 100000}})
    print(n, flush=True)"""
    with who.start("run", "--profile", "open", "-c", code, env=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while int(process.stdout.readline()) < 3:
            pass
        process.kill()
    state = good(who, home, f"""
        from execution_runtime import Session
        import json
        print(json.dumps(Session({work!r}).load_state()))""")
    assert state["n"] >= 3 and len(state["text"]) == 100000


# ---- a hostile kernel: what it writes on its own pipe ----

def test_forged_calls_reach_what_is_granted_and_nothing_else(who, home):
    """The bytes of a call that the library sent, sent again by hand: the same answer, in the same name."""
    assert good(who, home, """
        import json, os
        import _belljar_call
        sent = []
        read, write = os.pipe()
        keep = os.dup(62)
        os.dup2(write, 62)
        import threading
        t = threading.Thread(target=lambda: sent.append(_belljar_call.call("state.list", "{}")))
        t.start()
        frame = os.read(read, 1000)
        os.dup2(keep, 62)
        os.write(62, frame)
        t.join()
        for change in (b"\\xff" * 8, b"\\0" * 8):
            os.write(62, frame[:8] + change + frame[16:])
        print(json.dumps([sent[0][0], "sessions" in json.loads(sent[0][1]), _belljar_call.call("state.list", "{}")[0]]))""",
        profile="open") == [True, True, True]


@pytest.mark.parametrize("body", ["b''", "b'x'", "b'\\xff' * 40", "struct.pack('<QI', 1, 0xffffffff)"])
def test_nonsense_in_the_place_of_a_call_ends_the_program(who, home, body):
    done = run(who, home, f"""
        import os, struct
        import _belljar_call
        read, write = os.pipe()
        keep = os.dup(62)
        os.dup2(write, 62)
        import threading
        threading.Thread(target=_belljar_call.call, args=("state.list", "{{}}"), daemon=True).start()
        head = os.read(read, 1000)[:8]
        os.dup2(keep, 62)
        body = {body}
        os.write(62, head[:4] + struct.pack("<I", len(body)) + body)
        while True:
            pass""", profile="open")
    assert done.json["error"]["name"] == "ProtocolViolation", done


def test_one_that_does_not_read_is_ended_and_not_waited_for(who, home):
    """A thousand calls at once, without a look at the answers."""
    done = run(who, home, """
        import os
        import _belljar_call
        import threading
        read, write = os.pipe()
        keep = os.dup(62)
        os.dup2(write, 62)
        threading.Thread(target=_belljar_call.call, args=("nothing.like", "{}"), daemon=True).start()
        frame = os.read(read, 1000)
        os.dup2(keep, 62)
        while True:
            os.write(62, frame)""", "--timeout", "60", profile="open")
    assert done.json["status"] in ("error", "timeout"), done
    assert done.json["status"] == "timeout" or done.json["error"]["name"] == "ProtocolViolation", done


# ---- the trail, and a replay ----


def test_every_call_is_a_record_without_what_was_said(who):
    home = {"XDG_STATE_HOME": str(who.directory(f"calls-{uuid.uuid4().hex}"))}
    good(who, home, """
        from execution_runtime import Session, CallError
        work = Session("trial")
        work.save_state({"n": "marker-of-a-body"})
        try:
            work.load_state(version=7)
        except CallError:
            pass
        print(1)""")
    rows = who.call("audit", "list", "--kind", "call", "--json", env=home)
    assert rows.code == 0, rows
    assert "marker-of-a-body" not in rows.text
    found = who.call("audit", "export", env=home).text
    records = [json.loads(line) for line in found.split("\n") if '"kind":"call"' in line]
    assert [(r["name"], r["status"]) for r in records] == [
        ("state.create", "success"), ("state.save", "success"), ("state.load", "failed")]  # fmt: skip
    assert records[2]["error"]["code"] == "not_found" and all(r["bytes_in"] > 0 and r["ms"] >= 0 and r["id"] for r in records)
    assert not any("marker-of-a-body" in json.dumps(r) for r in records)
    assert who.call("audit", "verify", env=home).code == 0
    assert " call " not in who.call("audit", "list", env=home).text


# ---- MCP ----


def test_tools_and_programs_see_the_same_things(who, home):
    work, skill = name(), name()
    with mcp.Client(who, env=home) as client:
        client.initialize()
        client.call("create_refactoring_session", {"session_name": work})
        client.call("save_session_state", {"session_id": work, "state": {"by": "tool"}})
        code = f"from execution_runtime import *\nfrom execution_runtime import Session, save_skill\nw = Session({work!r})\nprint(w.load_state())\n" \
               f"w.save_state({{'by': 'program'}})\nsave_skill({skill!r}, 'x = 5')"
        said = client.call("execute_python_code", {"code": code})
        assert "{'by': 'tool'}" in mcp.text_of(said), said
        loaded = client.call("load_session_state", {"session_id": work})["structuredContent"]
        assert loaded["state"] == {"by": "program"} and loaded["version"] == 2
        assert skill in [s["name"] for s in client.call("list_skills", {})["structuredContent"]["skills"]]
        assert "5" in mcp.text_of(client.call("execute_python_code", {"code": f"from skills.{skill} import x\nprint(x)"}))
