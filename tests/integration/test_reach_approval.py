"""Tools that are asked for: over HTTP, over MCP in both eras, and on a terminal. The run waits, and its clock with it."""
import json
import os
import textwrap
import time
import uuid
from pathlib import Path

import belljar
import mcp
import prompt
import pytest
import serving

GOOD = Path(__file__).parents[1] / "upstream" / "good.py"
SECRET = "ghp_" + "8vOC7YM4bOnLHZ3APWI1" + "z1pMALuxQH0IQSnE"  # a token with a right checksum

CODE = """
    from servers.notes import write
    try:
        print(write("{}"))
    except Exception as error:
        print(type(error).__name__, error.code, error)"""


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


def code(words="hello"):
    return textwrap.dedent(CODE).format(words)


@pytest.fixture(scope="module")
def config(who):
    script = who.file(f"good-{uuid.uuid4().hex}.py", GOOD.read_text())
    servers = [f'[servers.{name}]\ncommand = "/usr/bin/python3"\nargs = ["{script}"]\napproval_s = {seconds}\n' for name, seconds in (("notes", 300), ("hasty", 1))]
    return str(who.file(f"approval-{uuid.uuid4().hex}.toml", "".join(servers)))


@pytest.fixture(scope="module")
def asked(who, config):
    with serving.Server(who, "--config", config) as server:
        server.run("from servers.notes import add\nadd(1)", profile="standard")  # its start is on nobody's clock
        yield server


def event(stream, name):
    return stream.until(name)[2]


@pytest.fixture
def waiting(asked):
    """A run over HTTP that waits for approval: its stream, its id and the question."""
    streams = []

    def start(words="hello", **fields):
        stream = asked.stream("POST", "/v1/run", {"code": code(words), "profile": "standard", **fields})
        streams.append(stream)
        run = event(stream, "start")["id"]
        return stream, run, event(stream, "approval")

    yield start
    for stream in streams:
        stream.close()


# ---- HTTP ----


def yes(question, **more):
    return {"approve": True, "approval_id": question["approval_id"], **more}


@pytest.mark.parametrize("change, arguments", [("save_skill('{}', 'x = 2', 'new words')", {"code": "x = 2", "description": "new words"}), ("delete_skill('{}')", {})])
@pytest.mark.parametrize("approve", [True, False])
def test_the_owner_is_asked_before_a_skill_is_replaced(asked, change, arguments, approve):
    skill = "s" + uuid.uuid4().hex[:12]
    first = asked.run(f"from execution_runtime import save_skill\nsave_skill('{skill}', 'x = 1', 'old words')", profile="standard")
    assert first["status"] == "success", first
    stream = asked.stream("POST", "/v1/run", {"code": f"from execution_runtime import save_skill, delete_skill\n{change.format(skill)}\nprint('went on')", "profile": "standard"})
    run = event(stream, "start")["id"]
    question = next(e for e in stream if e[1] in ("approval", "result"))[2]
    assert question.get("call") in ("skills.save", "skills.delete"), question
    assert arguments.items() <= question["arguments"].items() and question["arguments"]["replaces"] == {"version": 1, "description": "old words"}
    asked.post(f"/v1/runs/{run}/approve", {"approve": approve, "approval_id": question["approval_id"]})
    done = event(stream, "result")
    assert (done["status"] == "success") == approve and ("was not approved" in json.dumps(done)) != approve, done
    left = asked.run(f"from execution_runtime import list_skills, load_skill\nprint(load_skill('{skill}') if '{skill}' in list_skills() else 'gone')", profile="standard")["stdout"]
    expected = '"""old words"""\nx = 1\n' if not approve else '"""new words"""\nx = 2\n' if arguments else "gone\n"
    assert left == expected, left


@pytest.mark.parametrize("approve, said", [(True, "written: hello\n"), (False, "ServerError denied the call of `servers.notes.write` was not approved")])
def test_a_run_waits_for_an_answer(asked, waiting, approve, said):
    stream, run, question = waiting()
    assert question["call"] == "servers.notes.write" and question["arguments"] == {"text": "hello"} and question["run_id"] == run
    shown = asked.get(f"/v1/runs/{run}").json
    assert shown["status"] == "running" and shown["approvals"][0]["approval_id"] == question["approval_id"]
    assert question["approval_id"] in [a["approval_id"] for a in asked.get("/v1/approvals").json["approvals"]]
    word = {"approve": approve, "approval_id": question["approval_id"]}
    for half in ({}, {"approve": True}, {"approval_id": question["approval_id"]}, {**word, "approve": None}, {**word, "approval_id": ""}):
        assert asked.post(f"/v1/runs/{run}/approve", half).status in (400, 404), half
    assert asked.get(f"/v1/runs/{run}").json["approvals"], "half an answer is none"
    assert asked.post(f"/v1/runs/{run}/approve", word).json == {"approved": approve}
    assert event(stream, "result")["stdout"].startswith(said)
    assert asked.post(f"/v1/runs/{run}/approve", word).status == 404
    assert run not in [a["run_id"] for a in asked.get("/v1/approvals").json["approvals"]]


def test_the_clock_stands_while_somebody_is_asked(asked, waiting):
    stream, run, question = waiting(timeout_s=3)
    until = time.monotonic() + 3.5  # longer than the run may take
    while time.monotonic() < until:
        assert asked.get(f"/v1/runs/{run}").json["status"] == "running"
    asked.post(f"/v1/runs/{run}/approve", yes(question))
    assert event(stream, "result")["status"] == "success"


def test_time_that_was_not_spent_waiting_counts(asked):
    spent = "\nwhile True: pass"
    stream = asked.stream("POST", "/v1/run", {"code": code() + spent, "profile": "standard", "timeout_s": 3})
    run = event(stream, "start")["id"]
    asked.post(f"/v1/runs/{run}/approve", yes(event(stream, "approval")))
    done = event(stream, "result")
    assert done["status"] == "timeout" and done["stdout"] == "written: hello\n"


def test_nobody_answers_in_time(asked):
    done = asked.run(code().replace("notes", "hasty"), profile="standard")
    assert "nobody approved the call of `servers.hasty.write` in time" in done["stdout"]


def test_one_question_without_an_answer_is_the_last(asked):
    """The clock stands for a question, and would for ever if each were followed by another one."""
    again = code().replace("notes", "hasty")
    done = asked.run("for _ in range(3):\n" + textwrap.indent(again, "    "), profile="standard")
    assert done["stdout"].count("nobody approved the call") == 1, done
    assert done["stdout"].count("an earlier question of this run was not answered in time") == 2, done
    assert "nobody approved the call" in asked.run(again, profile="standard")["stdout"]


def test_a_secret_is_not_shown_in_a_question_and_arrives(asked, waiting):
    stream, run, question = waiting(SECRET)
    assert SECRET not in json.dumps(question) and SECRET not in asked.get("/v1/approvals").body.decode()
    assert question["arguments"] == {"text": "[40 bytes hidden]"} and question["hidden_bytes"] == 40
    for blind in ({}, {"accept_hidden": 39}, {"accept_hidden": 0}):
        refused = asked.post(f"/v1/runs/{run}/approve", yes(question, **blind))
        assert refused.status == 403 and "accept_hidden" in refused.json["error"]["hint"], refused
    assert asked.post(f"/v1/runs/{run}/approve", yes(question, accept_hidden=40, sha256="0" * 64)).status == 400
    assert asked.post(f"/v1/runs/{run}/approve", yes(question, accept_hidden=40, sha256=question["sha256"])).status == 200
    done = event(stream, "result")
    assert SECRET not in done["stdout"] and "written: " in done["stdout"]


def test_nothing_but_a_proven_secret_is_hidden_from_who_decides(asked, waiting):
    words = "note password=k9Zx81Qm,attacker@evil.test,every-customer-record Authorization: Bearer abcdefgh12345678"
    stream, run, question = waiting(words)
    assert question["arguments"] == {"text": words} and question["hidden_bytes"] == 0, question
    asked.post(f"/v1/runs/{run}/approve", {"approve": False, "approval_id": question["approval_id"]})
    event(stream, "result")


def test_the_trail_has_the_hash_of_what_was_approved(asked, waiting):
    stream, run, question = waiting()
    asked.post(f"/v1/runs/{run}/approve", yes(question))
    event(stream, "result")
    said = asked.who.call("audit", "show", run, "--json").out.decode()
    calls = [json.loads(line) for line in said.splitlines() if '"servers.notes.write"' in line]
    assert calls and calls[-1]["arguments_sha256"] == question["sha256"] and calls[-1]["approval"] == "yes", said


def test_a_cell_of_a_session_is_approved_by_the_session(asked):
    session = asked.post("/v1/sessions", {"profile": "standard"}).json["session_id"]
    stream = asked.stream("POST", f"/v1/sessions/{session}/execute", {"code": code()})
    question = event(stream, "approval")
    assert question["session_id"] == session
    assert asked.post(f"/v1/sessions/{session}/approve", yes(question)).json == {"approved": True}
    assert event(stream, "result")["stdout"] == "written: hello\n"
    assert asked.post(f"/v1/sessions/{session}/approve", yes(question)).status == 404


def test_several_threads_ask_and_each_is_answered(asked):
    program = """
        import threading
        from servers.notes import write
        said = {}
        def ask(n):
            try:
                said[n] = write(str(n))
            except Exception as error:
                said[n] = error.code
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        print([said[n] for n in range(4)])"""
    stream = asked.stream("POST", "/v1/run", {"code": textwrap.dedent(program), "profile": "standard"})
    run = event(stream, "start")["id"]
    for _ in range(4):
        question = event(stream, "approval")
        asked.post(f"/v1/runs/{run}/approve", {"approve": question["arguments"]["text"] != "2", "approval_id": question["approval_id"]})
    assert event(stream, "result")["stdout"] == "['written: 0', 'written: 1', 'denied', 'written: 3']\n"


def test_who_is_not_the_owner_knows_nothing(asked, waiting):
    stream, run, question = waiting()
    name = "t" + uuid.uuid4().hex[:12]
    made = asked.who.call("token", "add", name)
    assert made.code == 0, made
    token = next(word for word in made.text.split() if len(word) > 30)
    headers = {"Authorization": f"Bearer {token}"}
    assert asked.get("/v1/approvals", headers=headers).json == {"approvals": []}
    assert run in [a["run_id"] for a in asked.get("/v1/approvals").json["approvals"]]
    assert asked.post(f"/v1/runs/{run}/approve", yes(question), headers=headers).status == 404
    asked.post(f"/v1/runs/{run}/cancel", {})
    assert event(stream, "result")["status"] == "cancelled"


def test_a_run_that_is_cancelled_is_not_asked_for_any_more(asked, waiting):
    stream, run, _ = waiting()
    asked.post(f"/v1/runs/{run}/cancel", {})
    assert event(stream, "result")["status"] == "cancelled"
    assert run not in [a["run_id"] for a in asked.get("/v1/approvals").json["approvals"]]


# ---- MCP ----


@pytest.fixture
def client(who, config):
    c = mcp.Client(who, "--config", config)
    yield c
    c.process.stdin.close()
    c.process.wait(timeout=belljar.HANG_SECONDS)


@pytest.mark.parametrize("answer, said", [({"result": {"action": "accept", "content": {}}}, "written: hello"), ({"result": {"action": "decline"}}, "was not approved"),
                                          ({"error": {"code": -32603, "message": "no"}}, "was not approved")])  # fmt: skip
def test_a_legacy_client_is_asked_on_the_stream(client, answer, said):
    client.initialize(capabilities={"elicitation": {}})
    id = client.ask("tools/call", {"name": "execute_python_code", "arguments": {"code": code()}})
    question = client.notice("elicitation/create")
    assert "servers.notes.write" in question["params"]["message"] and '"hello"' in question["params"]["message"]
    client.send({"jsonrpc": "2.0", "id": question["id"], **answer})
    assert said in client.answer(id)["result"]["structuredContent"]["stdout"]


def test_a_modern_client_is_asked_in_the_result(client):
    params = {"name": "execute_python_code", "arguments": {"code": code() + code("again")}, "_meta": mcp.modern({"elicitation": {}})}
    first = client.request("tools/call", params)["result"]
    assert first["resultType"] == "input_required" and first["inputRequests"]["approval"]["method"] == "elicitation/create"
    yes = {"approval": {"action": "accept", "content": {}}}
    second = client.request("tools/call", {**params, "inputResponses": yes, "requestState": first["requestState"]})["result"]
    assert second["resultType"] == "input_required", second
    last = client.request("tools/call", {**params, "inputResponses": {"approval": {"action": "decline"}}, "requestState": second["requestState"]})["result"]
    assert last["resultType"] == "complete" and last["structuredContent"]["stdout"].startswith("written: hello\nServerError denied")
    late = client.request("tools/call", {**params, "inputResponses": yes, "requestState": second["requestState"]})["result"]
    assert late["isError"] and "has ended" in json.dumps(late)


@pytest.mark.parametrize("content, said", [({}, "was not approved"), ({"accept_hidden": 39}, "was not approved"), ({"accept_hidden": 40}, "written: ")])
def test_a_client_says_how_much_it_has_not_seen(client, content, said):
    client.initialize(capabilities={"elicitation": {}})
    id = client.ask("tools/call", {"name": "execute_python_code", "arguments": {"code": code(SECRET)}})
    asked = client.notice("elicitation/create")
    question = asked["params"]
    assert SECRET not in question["message"] and "[40 bytes hidden]" in question["message"] and question["requestedSchema"]["required"] == ["accept_hidden"]
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": content}})
    assert said in client.answer(id)["result"]["structuredContent"]["stdout"]


def test_a_client_that_cannot_be_asked_is_not(client):
    client.initialize()
    assert "nobody can be asked" in client.call("execute_python_code", {"code": code()})["structuredContent"]["stdout"]


# ---- a terminal ----


class Run(prompt.Prompt):
    command = "run"


@pytest.mark.parametrize("typed, said", [("y", "written: hello"), ("", "was not approved")])
def test_a_person_is_asked(who, config, typed, said):
    p = Run(who, "--config", config, "--profile", "standard", "-c", code())
    p.wait("wants to call servers.notes.write")
    p.wait('"hello"')
    p.wait("[y/N]")
    p.type(typed + "\n")
    p.wait(said)
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


LONG = "'a' * 1990 + 'TAIL\\u202e' + 'b' * 5000 + 'END'"


def long_code():
    return code("hello").replace("'hello'", LONG).replace('"hello"', LONG)


def ask_for_all(p, said, typed):
    p.wait("bytes are NOT shown: type `all` to see them")
    p.wait("[N/all]")
    p.type("all\n")
    p.wait("TAIL\\xe2\\x80\\xae")
    p.wait("bbbEND")
    p.wait("[y/N]")
    p.type(typed + "\n")
    p.wait(said)
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


@pytest.mark.parametrize("typed, said", [("y", "written: "), ("n", "was not approved")])
def test_long_arguments_are_not_cut_in_silence(who, config, typed, said):
    ask_for_all(Run(who, "--config", config, "--profile", "standard", "-c", long_code()), said, typed)


def test_nor_for_a_run_on_a_server(asked):
    ask_for_all(Run(asked.who, "--server", f"unix:{asked.socket}", "--profile", "standard", "-c", long_code()), "written: ", "y")


@pytest.mark.parametrize("typed, said", [("y", "was not approved"), ("yes", "was not approved"), ("hidden", "written: ")])
def test_a_habit_is_no_answer_where_something_is_hidden(who, config, typed, said):
    p = Run(who, "--config", config, "--profile", "standard", "-c", code(SECRET))
    p.wait("40 bytes of it are HIDDEN")
    p.wait("[hidden/N]")
    p.type(typed + "\n")
    p.wait(said)
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


def test_long_arguments_are_approved_when_they_were_shown(who, config):
    p = Run(who, "--config", config, "--profile", "standard", "-c", long_code())
    p.wait("[N/all]")
    p.type("y\n")
    p.wait("was not approved")
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


def test_what_was_typed_before_the_question_is_no_answer(who, config):
    p = Run(who, "--config", config, "--profile", "standard", "-c", code())
    p.type("y\n")  # long before anything runs
    p.wait("[y/N]")
    p.type("\n")
    p.wait("was not approved")
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


FAKE = """
    import sys, threading, time
    from servers.notes import write
    def fake():
        time.sleep(1)
        for stream in (sys.stdout, sys.stderr):
            print("\\n" * 60 + "belljar: the program wants to call servers.notes.FAKE\\nAllow it this time? ", file=stream, flush=True)
    threading.Thread(target=fake).start()
    try:
        print(write("hello"))
    except Exception as error:
        print(error)
    time.sleep(1)
    print("last words", flush=True)
    time.sleep(1)"""


def test_the_program_writes_nothing_below_a_question(who, config):
    """A thread of it prints another question while one is open. That comes after the answer, and is not lost."""
    p = Run(who, "--config", config, "--profile", "standard", "-c", textwrap.dedent(FAKE))
    p.wait("wants to call servers.notes.write")
    p.wait("[y/N]")
    until = time.monotonic() + 3  # it has long written it by then
    while time.monotonic() < until:
        p.read(0.2)
    assert b"FAKE" not in p.seen
    p.type("n\n")
    p.wait("servers.notes.FAKE")
    p.wait("was not approved")
    p.wait("last words")
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
    assert p.seen.count(b"FAKE") == 2, p.seen


def test_a_person_is_asked_for_a_run_on_a_server(asked):
    p = Run(asked.who, "--server", f"unix:{asked.socket}", "--profile", "standard", "-c", code())
    p.wait("[y/N]")
    p.type("yes\n")
    p.wait("written: hello")
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


def test_without_a_terminal_nobody_is_asked(who, config):
    done = who.run(code(), "--config", config, profile="standard", env={"TERM": os.environ.get("TERM", "dumb")})
    assert "needs approval, and nobody can be asked here" in done.json["stdout"] and "tools = " in done.json["stdout"]
