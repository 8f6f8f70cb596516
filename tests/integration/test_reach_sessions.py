"""Calls of programs on a server: of runs, of cells, of kernels that were restarted, and of copies."""
import json
import textwrap
import uuid

import pytest
import serving

CALL = "from execution_runtime import Session, list_sessions, CallError\n"


def name():
    return "n" + uuid.uuid4().hex[:20]


@pytest.fixture
def session(server):
    reply = server.post("/v1/sessions", {"profile": "open"})
    assert reply.status == 201, reply
    id = reply.json["session_id"]
    yield id
    server.call("DELETE", f"/v1/sessions/{id}")


def cell(server, session, code, **fields):
    reply = server.post(f"/v1/sessions/{session}/execute", {"code": textwrap.dedent(code), **fields})
    assert reply.status == 200, reply
    return reply.json


def good(server, session, code, **fields):
    done = cell(server, session, code, **fields)
    assert done["status"] == "success", (done["error"], done["stderr"])
    return done["stdout"].strip()


def test_a_run_and_a_cell_see_the_same_state(server, session):
    work = name()
    done = server.run(CALL + f"print(Session({work!r}).save_state({{'by': 'run'}}))", profile="standard")
    assert done["stdout"] == "1\n", done
    assert good(server, session, CALL + f"w = Session({work!r})\nprint(w.load_state(), w.save_state({{'by': 'cell'}}))") == "{'by': 'run'} 2"
    assert good(server, session, "print(w.load_state())") == "{'by': 'cell'}"


def test_a_skill_of_one_cell_is_imported_by_the_next(server, session):
    skill = name()
    good(server, session, f"from execution_runtime import save_skill\nsave_skill({skill!r}, 'def f(): return 42')")
    assert good(server, session, f"from skills.{skill} import f\nprint(f())") == "42"
    assert server.run(f"from skills.{skill} import f\nprint(f() + 1)")["stdout"] == "43\n"


def test_a_kernel_that_was_restarted_calls_again(server, session):
    work = name()
    good(server, session, CALL + f"Session({work!r}).save_state({{'n': 1}})")
    assert server.post(f"/v1/sessions/{session}/restart", {"language": "python"}).status == 200
    assert good(server, session, CALL + f"print(Session({work!r}).load_state())") == "{'n': 1}"
    assert cell(server, session, "import os; os._exit(3)")["status"] == "error"
    assert good(server, session, CALL + f"print(Session({work!r}).load_state())") == "{'n': 1}"


def test_copies_have_pipes_of_their_own(server, session):
    work = name()
    good(server, session, CALL + f"w = Session({work!r})\nw.save_state({{'n': 0}})")
    assert server.post(f"/v1/sessions/{session}/checkpoint", {"name": "c"}).status == 200
    reply = server.post(f"/v1/sessions/{session}/fork", {"n": 2})
    assert reply.status == 200, reply
    copies = [c if isinstance(c, str) else c["session_id"] for c in reply.json["sessions"]]
    try:
        versions = [good(server, s, "print(w.save_state({'n': 1}))") for s in (*copies, session, *copies)]
        assert versions == ["2", "3", "4", "5", "6"]
        assert server.post(f"/v1/sessions/{session}/restore", {"name": "c"}).status == 200
        assert good(server, session, "print(w.save_state({'n': 2}), len(w.get_history()))") == "7 7"
        assert [good(server, s, "print(w.load_state())") for s in copies] == ["{'n': 2}"] * 2
    finally:
        for s in copies:
            server.call("DELETE", f"/v1/sessions/{s}")


def test_a_copy_made_after_an_answer_was_given_up_starts_clean(server, session):
    """Half a reply read, and a number nobody waits for: none of it is in the copy."""
    good(server, session, CALL + "import _belljar_call, os, struct\nlist_sessions()")
    body = "struct.pack('<Q', 99) + struct.pack('<I', 10) + b'state.list' + struct.pack('<I', 2) + b'{}'"
    good(server, session, f"body = {body}\nn = os.write(62, b'BJ' + struct.pack('<BBI', 1, 28, len(body)) + body)")
    reply = server.post(f"/v1/sessions/{session}/fork", {"n": 1})
    assert reply.status == 200, reply
    (copy,) = [c if isinstance(c, str) else c["session_id"] for c in reply.json["sessions"]]
    for s in (copy, session):
        assert good(server, s, "print(type(list_sessions()).__name__)") == "list"
    server.call("DELETE", f"/v1/sessions/{copy}")


def test_a_thread_that_goes_on_has_nobody_to_ask_between_cells(server, session):
    good(server, session, CALL + """
import threading
stop, said, go = threading.Event(), [], threading.Event()
def ask():
    while not stop.is_set():
        try:
            list_sessions()
        except CallError as error:
            said.append(str(error))
            stop.wait(0.01)
t = threading.Thread(target=ask)
t.start()""")
    serving.wait_until(lambda: good(server, session, "print(len(said) > 0)") == "True", "the thread is told")
    assert "only while a cell runs" in good(server, session, "stop.set(); t.join(); print(set(said))")
    assert good(server, session, "print(type(list_sessions()).__name__)") == "list"


def test_a_cell_that_is_interrupted_while_it_calls_keeps_its_state(server, session):
    good(server, session, CALL + "import time\nn = 0")
    # Slowly enough for the number of calls that a cell may make.
    done = cell(server, session, "while True:\n    list_sessions()\n    n += 1\n    time.sleep(0.005)", timeout_s=2)
    assert done["status"] == "timeout", done
    assert good(server, session, "print(n > 0, type(list_sessions()).__name__)") == "True list"


# Writes a frame as the shell does (guest/bash_start.sh) and reads the reply.
ASK = """
import os, struct, sys
name, arguments = b"%s", b"{}"
body = struct.pack("<QI", 7, len(name)) + name + struct.pack("<I", len(arguments)) + arguments
os.write(62, b"BJ" + bytes((int(sys.argv[1]), 28)) + struct.pack("<I", len(body)) + body)
print(os.read(58, 4096))
"""


def test_bash_and_its_children_have_no_calls(server, session):
    """What they share with the shell asks for a line that somebody types, and there is nobody."""
    for name, said in (("state.list", "`state.list` is for Python cells"), ("input.line", "7 1 null")):
        done = cell(server, session, f"python3 - ${{__belljar_wire[0]}} <<'END'{ASK % name}END", language="bash")
        assert said in done["stdout"], done


def test_everybody_finds_his_own_and_nobody_elses(server):
    """Two tokens, the same names."""
    who, work = server.who, name()
    made = who.call("token", "add", work)
    assert made.code == 0, made
    other = made.text.strip()
    mine = server.run(CALL + f"w = Session({work!r})\nw.save_state({{'of': 'first'}})\nprint(list_sessions().count({work!r}))")
    assert mine["stdout"] == "1\n", mine
    reply = server.call("POST", "/v1/run", {"code": CALL + f"print(list_sessions())\nw = Session({work!r})\nprint(w.load_state())"},
                        headers={"Authorization": f"Bearer {other}"})  # fmt: skip
    assert reply.status == 200 and reply.json["stdout"] == "[]\n{}\n", reply
    assert server.run(CALL + f"print(Session({work!r}).load_state())")["stdout"] == "{'of': 'first'}\n"
    assert who.call("token", "rm", work).code == 0


def test_interfaces_of_other_servers_have_none(server):
    reply = server.post("/execute", {"code": "from api._call import call\ncall('state.list')"})
    assert "no directory for stored data" in json.dumps(reply.json), reply
