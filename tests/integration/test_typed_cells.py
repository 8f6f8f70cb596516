"""Cells that read lines somebody types: in every language at the prompt, in a session of a server, and over HTTP."""
import shutil
import termios

import pytest

from client_ways import belljar_client
from prompt import CONTROL_C, CONTROL_D, Prompt
from serving import Server, wait_until

pytestmark = pytest.mark.usefixtures("watch")


NODE = pytest.param("javascript", marks=pytest.mark.skipif(not shutil.which("node"), reason="needs nodejs"))
ASKS = {
    "python": "x = input('na' + 'me? ')\nprint('hello', x)",
    "bash": "read -rp 'na''me? ' x\necho hello $x",
    "javascript": "const lines = require('readline').createInterface({input: process.stdin});\nprocess.stdout.write('na' + 'me? ');\n"
    "const x = await new Promise(done => lines.once('line', done)); lines.close();\nconsole.log('hello', x)",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(callers):
    s = Server(callers.get("user") or next(iter(callers.values())))
    yield s
    assert s.stop() == 0, s.said


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


def paste(p, text):
    p.type("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~\r")


@pytest.mark.parametrize("language", ["bash", NODE])
def test_a_cell_at_the_prompt_asks(user, language):
    with Prompt(user, "--profile", "open", "-l", language) as p:
        p.wait("> " if language == "javascript" else "$ ")
        for name in ("Ann", "B\u00e9b\u00e9 \\n \"x\""):
            paste(p, ASKS[language])
            p.wait("name? ")
            p.line(name)
            p.wait("hello " + name)
            p.wait("\x1b[?2004h")
        paste(p, ASKS[language])
        p.wait("name? ")
        p.type(CONTROL_C)
        p.wait("\x1b[?2004h")  # the prompt
        paste(p, ASKS[language])
        p.wait("name? ")
        p.line("again")
        p.wait("hello again")
        p.wait("\x1b[?2004h")
        p.type(CONTROL_D)
        assert p.end() == 0


def test_read_of_bash_is_as_without_us(user):
    cells = {
        "printf 'a b\\nc\\n' | while read x y; do echo \"$x-$y\"; done": "a-b\nc-\n",
        "read x < <(echo file); echo $x": "file\n",
        "read -u 7 x 7<<<seven; echo $x": "seven\n",
        "x=$(read y; echo \"got $y\"); echo $x": "got\n",  # nobody is asked: what the shell has started can outlive the cell
        "f() { read REPLY <<<1; }; f; echo $REPLY": "1\n",
    }
    with Prompt(user, "--profile", "open", "-l", "bash") as p:
        p.wait("$ ")
        for code, out in cells.items():
            assert p.cell(code, prompt="$ ") == out, code
        p.line("read -r first second; echo \"[$first][$second]\"")
        p.wait("\x1b[?2004l")
        p.line("one  two three")
        p.wait("[one][two three]")
        p.wait("$ ")
        p.line("read -n1 -p 'sure? ' key; echo \"<$key>\"")
        p.wait("sure? ")
        p.wait("sure? ")
        p.line("yes")
        p.wait("<y>")
        p.wait("$ ")
        p.line("while read line; do echo \"line $line\"; done; echo status $?")
        p.wait("\x1b[?2004l")
        p.line("1")
        p.wait("line 1")
        p.type(CONTROL_D)
        p.wait("status 0")
        p.wait("$ ")
        p.type(CONTROL_D)


@pytest.mark.parametrize("language", ["python", "bash", NODE])
def test_a_client_is_asked_over_http(server, session, language):
    for line, said in (({"text": "Ann"}, "hello Ann\n"), ({"text": "\u00fc\ud83d\ude00 'x'\\\n"}, "hello \u00fc\U0001f600 'x'\\\n")):
        stream = server.stream("POST", f"/v1/sessions/{session}/execute", {"code": ASKS[language], "language": language, "stdin_open": True})
        asked = stream.until("input")[2]
        assert server.post(f"/v1/runs/{asked['run_id']}/stdin", {"text": "a\nb"}).status == 400
        assert server.post(f"/v1/runs/{asked['run_id']}/stdin", line).status == 204
        done = stream.until("result")[2]
        assert (done["status"], done["stdout"].endswith(said)) == ("success", True), done
        late = server.post(f"/v1/runs/{asked['run_id']}/stdin", line)
        assert (late.status, late.error["code"]) == (404, "not_found") and "does not wait" in late.error["message"], late
        stream.close()


def test_the_end_of_input_is_said(server, session):
    cell = {"code": "for _ in range(2):\n    try: input()\n    except EOFError: print('over')", "stdin_open": True}
    stream = server.stream("POST", f"/v1/sessions/{session}/execute", cell)
    asked = stream.until("input")[2]
    assert server.post(f"/v1/runs/{asked['run_id']}/stdin", {"close": True}).status == 204
    assert stream.until("result")[2]["stdout"] == "over\nover\n", "nobody is asked again"
    stream.close()


def test_an_interrupt_ends_a_cell_that_waits(server, session):
    stream = server.stream("POST", f"/v1/sessions/{session}/execute", {"code": "kept = 1\ninput()", "stdin_open": True})
    asked = stream.until("input")[2]
    assert server.post(f"/v1/sessions/{session}/interrupt").status == 200
    assert stream.until("result")[2]["error"]["name"] == "KeyboardInterrupt"
    assert server.post(f"/v1/runs/{asked['run_id']}/stdin", {"text": "x"}).status == 404
    assert server.execute(session, "kept")["result"]["text"] == "1"
    stream.close()


GETPASS = "import getpass\nk = getpass.getpass('ke' + 'y? ')\nprint('has', len(k))"


def test_a_password_is_not_to_be_shown(server, session):
    stream = server.stream("POST", f"/v1/sessions/{session}/execute", {"code": GETPASS + "\ninput()", "stdin_open": True})
    for hidden in (True, False):
        asked = stream.until("input")[2]
        assert asked["hidden"] is hidden and server.post(f"/v1/runs/{asked['run_id']}/stdin", {"text": "abc"}).status == 204
    done = stream.until("result")[2]
    assert (done["stdout"], done["stderr"]) == ("key? has 3\n", ""), done
    stream.close()


@pytest.mark.parametrize("where", ["here", "server"])
def test_a_password_is_not_shown_at_the_prompt(user, server, session, where):
    asks = Prompt(user, "--profile", "open") if where == "here" else Prompt(server.who, "--session", session, env={"BELLJAR_SERVER": f"unix:{server.socket}"})
    with asks as p:
        p.wait(">>> ")
        paste(p, GETPASS)
        p.wait("key? ")
        wait_until(lambda: not termios.tcgetattr(p.slave)[3] & termios.ECHO, "the terminal shows nothing")
        p.line("s3cr3t word")
        p.wait("has 11")
        p.wait("\x1b[?2004h")
        assert b"s3cr3t" not in p.seen
        paste(p, "print('got', input('an' + 'y? '))")
        p.wait("any? ")
        p.line("seen")
        p.wait("seen")  # by the terminal
        p.wait("got seen")
        p.wait("\x1b[?2004h")
        paste(p, GETPASS)
        p.wait("key? ")
        p.type(CONTROL_C)
        p.wait("\x1b[?2004h")
        p.type(CONTROL_D)


def test_the_debugger_asks_over_http(server, session):
    server.execute(session, "def f(n):\n    half = n // 2\n    return half / 0\nf(10)")
    stream = server.stream("POST", f"/v1/sessions/{session}/execute", {"code": "%debug", "stdin_open": True})
    for line in ("p half + 1", "up", "c"):
        asked = stream.until("input")[2]
        assert server.post(f"/v1/runs/{asked['run_id']}/stdin", {"text": line}).status == 204
    done = stream.until("result")[2]
    assert done["status"] == "success" and "(Pdb) 6\n" in done["stdout"] and "-> return half / 0" in done["stdout"], done
    stream.close()
    given = server.execute(session, "%debug", stdin="p half\nq\n")
    assert "(Pdb) 5\n" in given["stdout"], given
    assert "nobody can type" in server.execute(session, "%debug")["stderr"]


WAITS = """
import threading, time
def beside():
%s
threading.Thread(target=beside).start()
print("asked", input())
"""


def test_the_clock_stands_for_a_cell_that_waits(server, session):
    cell = {"code": WAITS % "    time.sleep(1.5)\n    print('slept', flush=True)", "stdin_open": True, "timeout_s": 1}
    stream = server.stream("POST", f"/v1/sessions/{session}/execute", cell)
    run = stream.until("input")[2]["run_id"]
    assert stream.until("stdout")[2]["text"] == "slept\n"
    assert server.post(f"/v1/runs/{run}/stdin", {"text": "x"}).status == 204
    done = stream.until("result")[2]
    assert (done["status"], done["stdout"]) == ("success", "slept\nasked x\n"), done
    stream.close()


def test_what_computes_beside_a_cell_that_waits_is_counted(server, session):
    """By the limit of time, and by that of CPU time."""
    server.execute(session, "stop = False")
    for limit in ("timeout_s", "cpu_time_s"):
        cell = {"code": "stop = False\n" + WAITS % "    while not stop: pass", "stdin_open": True, limit: 1}
        stream = server.stream("POST", f"/v1/sessions/{session}/execute", cell)
        done = stream.until("result")[2]  # nobody answers
        assert done["status"] == "timeout" and done["usage"]["cpu_ms"] >= 500, done
        assert [d["layer"] for d in done["denials"]] == ["time limit"], done
        assert server.execute(session, "stop = True")["session_state"] == "kept"
        stream.close()


@pytest.mark.parametrize(("more", "says"), [({}, "follow the events"), ({"stdin": "x"}, "`stdin` already"), ({"detach": True}, "follow the events")])
def test_somebody_has_to_hear_the_question(server, session, more, says):
    reply = server.post(f"/v1/sessions/{session}/execute", {"code": "input()", "stdin_open": True, **more})
    assert reply.status == 400 and says in reply.error["message"], reply


def test_another_token_does_not_answer(server, session):
    other = server.who.call("token", "add", "stranger").text.strip()
    headers = {"Authorization": f"Bearer {other}"}
    try:
        assert server.call("GET", "/v1/sessions", headers=headers).status == 200, "it is a token"
        stream = server.stream("POST", f"/v1/sessions/{session}/execute", {"code": "print(input())", "stdin_open": True})
        run = stream.until("input")[2]["run_id"]
        for theirs in (headers, {"Authorization": "Bearer x"}):
            reply = server.call("POST", f"/v1/runs/{run}/stdin", {"text": "x"}, theirs)
            assert reply.status == (401 if theirs is not headers else 404), reply
        assert server.call("POST", f"/v1/runs/{run}/stdin", {"close": True}, headers).status == 404
        assert server.post("/v1/runs/run_01M7R8B8XKGCMQV40Q595JV39J/stdin", {"text": "x"}).status == 404
        assert server.post(f"/v1/runs/{run}/stdin", {"text": "mine"}).status == 204
        assert stream.until("result")[2]["stdout"] == "mine\n"
        stream.close()
    finally:
        assert server.who.call("token", "rm", "stranger").code == 0


@pytest.mark.parametrize("language", ["python", "bash", NODE])
def test_a_prompt_in_a_session_of_the_server_asks(server, session, language):
    with Prompt(server.who, "--session", session, "-l", language, env={"BELLJAR_SERVER": f"unix:{server.socket}"}) as p:
        p.wait(">>> " if language == "python" else "$ " if language == "bash" else "> ")
        paste(p, ASKS[language])
        p.wait("name? ")
        p.line("Ann")
        p.wait("hello Ann")
        p.wait("\x1b[?2004h")
        paste(p, ASKS[language])
        p.wait("name? ")
        p.type(CONTROL_C)
        p.wait("\x1b[?2004h")
        paste(p, ASKS[language])
        p.wait("name? ")
        p.line("Bob")
        p.wait("hello Bob")
        p.wait("\x1b[?2004h")
        p.type(CONTROL_D)


class Run(Prompt):
    command = "run"


def test_a_program_that_is_run_in_a_session_asks(server, session):
    with Run(server.who, "--session", session, "-c", ASKS["python"], env={"BELLJAR_SERVER": f"unix:{server.socket}"}) as p:
        p.wait("name? ")
        p.line("Ann")
        p.wait("hello Ann")
        assert p.end() == 0


def test_the_client_library_answers(server, session):
    lines = iter(["Ann", None])
    with belljar_client.Client(f"http://127.0.0.1:{server.port}", token=server.token) as client:
        code = "x = input()\ntry: input()\nexcept EOFError: print('hello', x)"
        with client.get_session(session).stream(code, stdin_open=True) as events:
            assert events.wait(on_input=lambda event: next(lines)).stdout == "hello Ann\n"


@pytest.mark.parametrize(("language", "code", "has_hint"), [
    ("bash", "read -p 'name? ' x; echo \"hello $x\"", True),
    ("bash", "echo a | read x; echo $x", False),
    ("bash", "read x <<< a; echo $x", False),
    ("bash", "echo read the manual", False),
])  # fmt: skip
def test_a_cell_that_finds_nothing_to_read_is_told(server, session, language, code, has_hint):
    done = server.execute(session, code, language=language)
    assert done["status"] == "success" and ("standard input was empty" in (done["hint"] or "")) == has_hint, done
    with_input = server.execute(session, code, language=language, stdin="Ann\n")
    assert "standard input was empty" not in (with_input["hint"] or ""), with_input
