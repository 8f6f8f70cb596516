"""Cells behave as in a notebook, at every door (tests/lib/cells.py)."""
import json

import pytest

import cells
import mcp
import prompt
import serving
import websocket

ALL = cells.JUPYTER + cells.HABITS
CASES = [pytest.param(case, id=case.name.replace(" ", "-")) for case in ALL]


@pytest.fixture(scope="module")
def door(callers):
    s = serving.Server(callers["user"], "--compat", "coderunner")
    yield s
    assert s.stop() == 0, s.said


def forms_of(done):
    return {shown["mime"] for shown in done.get("displays") or []}


def text_of(done):
    error = done.get("error") or {}
    return "".join(str(part) for part in (done.get("stdout", ""), done.get("stderr", ""), *error.values(), done.get("displays") or "", done.get("hint", "")))


def judge(case, done):
    """Differences from what is wanted."""
    error, result = done.get("error") or {}, done.get("result")
    wrong = []
    if case.error:
        wrong += [] if error.get("name") == case.error else [f"error {error.get('name')}"]
    elif done["status"] != "success":
        wrong += [f"status {done['status']}"]
    if case.out is not None and done.get("stdout", "") != case.out:
        wrong += [f"stdout {done.get('stdout')!r}"]
    if case.value is not None and (result or {}).get("text") != case.value:
        wrong += [f"value {result!r}"]
    if case.no_value and result is not None:
        wrong += [f"value {result!r}"]
    if case.form and case.form not in forms_of(done):
        wrong += [f"forms {forms_of(done)}"]
    wrong += [f"no {part!r}" for part in case.has if part not in text_of(done)]
    wrong += [part for part in case.hasnt if part in text_of(done)]
    return wrong


def run_case(server, case, profile):
    with server.session(profile=profile) as session:
        return [server.execute(session, code) for code in case.cells]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", ["open", "standard", "strict"])
def test_a_cell_is_as_in_a_notebook(door, case, profile):
    if (profile == "strict" and case.strict is None) or (profile == "standard" and case.standard is None):
        return
    answers = run_case(door, case, profile)
    if profile == "open" or (profile == "standard" and case.standard) or case.strict:
        assert not judge(case, answers[-1]), (case.cells, json.dumps(answers[-1], indent=1)[:3000])
        return
    refused = [done for done in answers if done["status"] != "success"]
    assert refused, answers  # what the profile does not have is refused, and the answer says what to do
    told = refused[0].get("violations") or [refused[0]["error"]]
    assert all(item.get("hint") or "profile" in item["message"] for item in told), told
    assert all(done["session_state"] == "kept" for done in answers), answers


# --- other doors: the same kernel, and each way to it ---

HABITS = [
    ("!echo a{1 + 1}b", "a2b"),
    ("x = !printf 'p\\nq\\n'\nprint(x.n.replace('\\n', '+'))", "p+q"),
    ("%%bash\necho from $((40 + 2))", "from 42"),
    ("%time y = 5\nprint('y', y)", "y 5"),
    ("%timeit -n 1 -r 1 1 + 1", "per loop"),
    ("%cd /tmp", "/tmp"),
    ("%env SOME_WORD=w\n!echo $SOME_WORD", "w"),
    ("%matplotlib inline\n%load_ext autoreload\nprint('harmless')", "harmless"),
    ("%%writefile /tmp/door.txt\nhello\n", "riting /tmp/door.txt"),
    ("len?", "len(obj, /)"),
    ("    indented = 3\n    print('in', indented)", "in 3"),
    ("import asyncio\nprint('waited', await asyncio.sleep(0, 6))", "waited 6"),
    ("from IPython.display import display, Markdown\ndisplay(Markdown('# head'))\nprint('shown')", "shown"),
    ("%%capture kept\nprint('not shown')", None),
    ("print(kept.stdout.upper())", "NOT SHOWN"),
]  # fmt: skip


def test_habits_over_mcp(who):
    with mcp.Client(who, env={"BELLJAR_PROFILE": "open"}) as client:
        client.initialize()
        for code, wanted in HABITS:
            said = client.text("run_code", {"code": code})
            assert wanted in said if wanted else "not shown" not in said, (code, said)
        assert "9" not in client.text("run_code", {"code": "3 * 3;"})
        assert "fenced" in client.text("run_code", {"code": "```python\nprint('fen' + 'ced')\n```"})


def test_habits_at_the_door_of_coderunner(door):
    id = door.post("/sessions").json["session_id"]
    for code, wanted in HABITS:
        answer = door.post("/execute", {"command": code, "session_id": id}).json
        said = answer["stdout"] + answer["stderr"]
        assert wanted in said if wanted else "not shown" not in said, (code, answer)
    for code in ("", "```python\n```", "# nothing"):
        answer = door.post("/execute", {"command": code, "session_id": id}).json
        assert (answer["status"], answer["stdout"]) == ("success", ""), (code, answer)


def test_habits_at_the_door_of_jupyter(door):
    id = door.post("/jupyter/api/kernels", {"name": "python3"}).json["id"]
    with websocket.Kernel(door, id, is_binary=False) as kernel:
        for code, wanted in HABITS:
            said = kernel.run(code)
            words = "".join(websocket.text(said, stream) for stream in ("stdout", "stderr"))
            assert wanted in words if wanted else "not shown" not in words, (code, said)
        assert not websocket.of(kernel.run("3 * 3;"), "execute_result")
        for code in ("", "# nothing"):
            assert websocket.of(kernel.run(code), "execute_reply")[0]["status"] == "ok"


def test_habits_in_a_notebook_that_is_run(who):
    book = {"nbformat": 4, "cells": [{"cell_type": "code", "source": code} for code, _ in HABITS]}
    answer = who.call("run", "--profile", "open", who.file("habits.ipynb", json.dumps(book)))
    assert answer.code == 0, answer
    for code, wanted in HABITS:
        assert wanted in answer.text if wanted else "not shown\n" not in answer.text, (code, answer.text)


def test_habits_at_the_prompt(user):
    with prompt.Prompt(user, "--profile", "open") as shell:
        for code, wanted in HABITS:
            if "\n" not in code and wanted and "kept" not in code:
                shell.line(code)
                shell.wait(wanted)


# --- attacks ---


@pytest.mark.parametrize(
    "code",
    [
        "%timeit __import__('os').system('id')",
        "%time x = eval('1')",
        "!echo {__import__('os').listdir('/')}",
        "!echo {().__class__.__bases__}",
        "%%timeit\neval('1')",
        "%prun exec('1')",
        "%%timeit import subprocess\n1",
        "x = %timeit -o (lambda: eval('1'))()",
        "%pinfo eval('1')",
        "%timeit 1)), eval('2'), ((3",
        "%%writefile {eval('1')}\nx",
        "%%capture\nimport subprocess",
        "    import os\n    os.system('id')",
        ">>> import subprocess",
        "```python\nimport subprocess\n```",
    ],
)
def test_no_line_smuggles_code_past_the_policy(door, code):
    with door.session(profile="strict") as session:
        answer = door.execute(session, code)
        assert answer["status"] == "refused" or (answer["error"] or {}).get("name") == "SyntaxError", answer
        assert "uid=" not in str(answer) and "root:" not in str(answer)


@pytest.mark.parametrize(
    "code",
    [
        "_ = __ = ___ = 5\nOut = 3\nIn = 'x'\n7",
        "Out.clear()\nIn.clear()\n8",
        "class D(dict): pass\nOut = D()\nIn = ()\n9",
        "get_ipython = display = None\n1",
        "import builtins\nbuiltins.get_ipython = builtins.display = None\n1",
        "class E:\n    def __eq__(self, o): 1 / 0\n    def __del__(self): 1 / 0\n_ = E()\nE()",
        "import sys\nsys.modules['_belljar_notebook'] = sys.modules['_belljar_loop'] = sys.modules['IPython'] = None",
        "import asyncio\nasyncio.get_event_loop().close()",
        "import asyncio\nasyncio.create_task(asyncio.sleep(100))\nasyncio.get_event_loop().call_soon(1 / 1)",
    ],
)
def test_what_a_program_forges_is_its_own_matter(door, code):
    """The next cell is checked and run, whatever happened to `_`, Out, In and the rest."""
    with door.session() as session:
        assert door.execute(session, "1")["result"]["json"] == 1
        door.execute(session, code)
        answer = door.execute(session, "%cd -q /tmp\n1 + 1")
        assert (answer["status"], answer["session_state"]) == ("success", "kept") and answer["result"]["json"] == 2, answer
        door.execute(session, "import asyncio")
        assert door.execute(session, "await asyncio.sleep(0, 3)")["result"]["json"] == 3


def test_texts_of_a_command_are_not_code(door):
    """Quotes and braces in values reach the shell as they are, and Python never."""
    with door.session() as session:
        answer = door.execute(session, "v = \"') + str(1 / 0) + ('\"\n!printf '%s' \"{v}\"")
        assert answer["stdout"] == "') + str(1 / 0) + ('", answer
        answer = door.execute(session, "%%bash\nprintf '%s' \"')); 1 / 0 #\"")
        assert answer["stdout"] == "')); 1 / 0 #", answer
        text = "')\\x00\\\\ {v} $v\n'''\n\"\"\"\n"
        answer = door.execute(session, "%%writefile t.txt\n" + text)
        assert door.execute(session, "open('t.txt').read()")["result"]["json"] == text, answer


def test_files_of_a_picture_are_the_programs_own(door):
    with door.session(profile="strict") as session:
        answer = door.execute(session, "from IPython.display import Image\nImage(filename='/etc/passwd').data")
        assert answer["status"] in ("refused", "error") and "root:" not in str(answer), answer
