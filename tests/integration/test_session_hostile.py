"""Cells that turn against the machinery that runs them: the next cell works, and what was lost is said."""
import time

import pytest

from serving import wait_until


class Session:
    def __init__(self, server, **fields):
        reply = server.post("/v1/sessions", {"profile": "open", "memory_mb": 256, **fields})
        assert reply.status == 201, reply
        self.server = server
        self.id = reply.json["session_id"]

    def run(self, code, **fields):
        reply = self.server.post(f"/v1/sessions/{self.id}/execute", {"code": code, **fields})
        assert reply.status == 200, reply
        return reply.json

    def bash(self, code, **fields):
        return self.run(code, language="bash", **fields)

    def ask(self, what, **body):
        return self.server.post(f"/v1/sessions/{self.id}/{what}", body)

    def end(self):
        return self.server.call("DELETE", f"/v1/sessions/{self.id}")


@pytest.fixture
def session(server):
    s = Session(server)
    yield s
    s.end()


# --- Python ---


FORKS = ["import os; child = os.fork()", "import ctypes; child = ctypes.CDLL(None).syscall(57)"]


@pytest.mark.parametrize("fork", FORKS)
def test_a_child_that_comes_back_out_of_its_cell_runs_no_other(session, fork):
    assert session.run(fork)["session_state"] == "kept"
    for n in range(8):
        answer = session.run("print(child > 0)")
        assert (answer["stdout"], answer["session_state"]) == ("True\n", "kept"), (n, answer)


@pytest.mark.parametrize("rest, status", [("", "success"), ("\n1 / 0", "error")])
def test_a_child_has_nothing_to_say_of_how_the_cell_ended(session, rest, status):
    answer = session.run("import os; os.fork()" + rest)
    assert (answer["status"], answer["session_state"]) == (status, "kept"), answer
    assert answer["error"] is None or answer["error"]["name"] == "ZeroDivisionError"


def test_a_child_has_nothing_to_say_of_how_the_run_ended(server):
    assert server.run("import os; os.fork() and os.wait(); 7", profile="open")["result"]["json"] == 7


def test_the_end_of_the_parent_is_the_end_of_the_kernel(session):
    answer = session.run("import os\nx = 1\nif os.fork(): os._exit(5)")
    assert (answer["session_state"], answer["exit_code"]) == ("lost", 5), answer
    assert session.run("print('x' in globals())")["stdout"] == "False\n"


def test_exceptions_do_not_keep_memory(session):
    session.run("def f():\n    a = bytearray(50 << 20)\n    raise ValueError")
    for _ in range(8):
        answer = session.run("f()")
        assert (answer["error"]["name"], answer["session_state"]) == ("ValueError", "kept"), answer


class_with_repr = "class A:\n    def __repr__(self):\n        "


@pytest.mark.parametrize(
    "body, status",
    [
        ("while True: pass", "timeout"),
        ("for _ in range(200): print('x' * (1 << 20))\n        return 'printed'", "success"),
        ("raise SystemExit(4)", "success"),
        ("return 5", "success"),
    ],
)
def test_a_repr_may_do_what_it_likes(session, body, status):
    session.run("kept = 1")
    answer = session.run(class_with_repr + body + "\nA()", timeout_s=2 if status == "timeout" else 60)
    assert (answer["status"], answer["session_state"]) == (status, "kept"), answer["error"]
    assert session.run("print(kept)")["stdout"] == "1\n"


CALLS = [
    ("GET", "", None), ("DELETE", "", None), ("POST", "/execute", {"code": "1"}), ("POST", "/interrupt", {}),
    ("POST", "/restart", {}), ("POST", "/fork", {}), ("POST", "/checkpoint", {"name": "c"}),
    ("POST", "/restore", {"name": "c"}), ("GET", "/checkpoints", None), ("DELETE", "/checkpoints/c", None),
    ("GET", "/files", None), ("GET", "/files/f", None), ("PUT", "/files/f", b"text"), ("DELETE", "/files/f", None),
]  # fmt: skip


def test_unknown_ended_and_foreign_sessions_are_told_apart_by_nobody(server, session):
    token = server.who.call("token", "add", f"other-{session.id.lower()}"[:32]).text.strip()
    ended = Session(server)
    assert ended.end().status == 204
    for method, rest, body in CALLS:
        replies = [
            server.call(method, f"/v1/sessions/{name}{rest}", body, headers)
            for name, headers in [
                (ended.id, None), ("nobody", None), (session.id, {"Authorization": f"Bearer {token}"})
            ]
        ]  # fmt: skip
        assert {(r.status, r.body) for r in replies} == {(404, replies[0].body)}, (method, rest, replies)
    assert session.run("print(1)")["stdout"] == "1\n"


# Cell one puts a property into a class of tree nodes, so that the tree of the next cell looks empty to the policy.
BLINDFOLD = """
import ast
trees = {}
ast.Module.body = property(lambda node: trees[id(node)][1], lambda node, body: trees.update({id(node): (node, body)}))
"""


@pytest.mark.parametrize("profile", ["strict", "standard"])
def test_a_cell_cannot_hide_the_next_one_from_the_policy(server, profile):
    session = Session(server, profile=profile)
    assert session.run(BLINDFOLD)["error"]["name"] == "TypeError"
    for code in ("print(print.__self__)", "import subprocess", "import os; os.system('id')", "from os import fork", "eval('1')"):
        assert session.run(code)["status"] == "refused"
    assert session.run("import ast; print(ast.literal_eval('[1]'), ast.Num(5).n)")["stdout"] == "[1] 5\n"
    session.end()


# --- Bash ---


@pytest.mark.parametrize(
    "hostile",
    [
        "exec >&-",
        "exec 2>&-",
        "exec <&-",
        "declare -u __belljar_code",
        "declare -i __belljar_code",
        "declare -n __belljar_code=other",
        "eval() { echo no; }; read() { echo no; }; printf() { echo no; }; local() { echo no; }",
        "alias builtin='echo no' local='echo no' if='echo no'; shopt -s expand_aliases",
        "PROMPT_COMMAND='echo no'",
        "set -o posix; set -e; IFS=01",
        "TMOUT=1; PS1='$(echo no)' PS2=no",
        "echo 'not closed",
    ],
)
def test_bash_goes_on_after_a_cell_that_is_in_the_way(session, hostile):
    session.bash("kept=yes")
    session.bash(hostile)
    answer = session.bash("echo $kept; echo error >&2")
    assert (answer["stdout"], answer["stderr"], answer["session_state"]) == ("yes\n", "error\n", "kept"), answer


@pytest.mark.parametrize("fd", [59, 60, 61])
def test_a_shell_without_our_descriptors_is_replaced(session, fd):
    assert session.bash(f"exec {fd}>&-")["session_state"] == "lost"
    answer = session.bash("echo two; echo error >&2")
    assert (answer["stdout"], answer["stderr"], answer["session_state"]) == ("two\n", "error\n", "kept"), answer


def test_a_cell_of_bash_is_never_run_in_place_of_another(session):
    assert session.bash("echo once; readonly __belljar_code")["stdout"] == "once\n"
    answer = session.bash("echo two")
    assert (answer["stdout"], answer["session_state"]) == ("", "lost"), answer
    assert session.bash("echo three")["stdout"] == "three\n"


# --- copies ---


# A child reads what was meant for the kernel, which it has stopped: with it come the files by which the writer of an
# image joins a cgroup of its own. It joins one hierarchy of that, and refuses the copy in the kernel's name.
THIEF = """
import array, os, signal, socket, time
child = os.fork()
if not child:
    kernel = os.getppid()
    while not os.path.exists("go"): time.sleep(0.01)
    os.kill(kernel, signal.SIGSTOP)
    open("ready", "w").close()
    channel = socket.socket(fileno=os.dup(63))
    _, (with_fds, *_), _, _ = channel.recvmsg(8, 4096)
    fds = array.array("i", with_fds[2])
    channel.recv(100)
    if fds[3:]:
        os.write(fds[3], b"0")
    os.write(fds[2], b"rstolen")
    os.kill(kernel, signal.SIGCONT)
    os.close(fds[2])
    time.sleep(1000)
"""


def test_nobody_hides_in_the_cgroup_of_an_image(server):
    if server.who.name != "root":
        pytest.skip("needs cgroups, which an ordinary user may not have")
    session = Session(server)
    assert session.run(THIEF)["session_state"] == "kept"
    assert server.call("PUT", f"/v1/sessions/{session.id}/files/go", b"").status in (200, 201)
    wait_until(lambda: server.get(f"/v1/sessions/{session.id}/files/ready").status == 200, "the kernel is stopped")
    reply = session.ask("checkpoint", name="c")
    assert (reply.status, "stolen" in reply.json["error"]["message"]) == (400, True), reply
    assert session.run("print(os.waitpid(child, 0)[1])", timeout_s=30)["stdout"] == "9\n"
    assert session.ask("checkpoint", name="c").status == 200
    session.end()


def test_standard_input_of_a_cell_does_not_keep_it_from_being_copied(session):
    assert session.run("print(input())", stdin="abc\ndef\n")["stdout"] == "abc\n"
    assert session.ask("checkpoint", name="c").status == 200
    assert session.run("input()")["error"]["name"] == "EOFError"


DYING = {
    "python": "import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(0.1), os._exit(1))).start()",
    "bash": "( (sleep 0.1; kill -9 $$) & )",
}


@pytest.mark.parametrize("language", DYING)
def test_a_copy_says_that_variables_were_lost_before_it_was_made(session, language):
    session.run("1", language="python")
    session.run(DYING[language], language=language)
    time.sleep(1)  # there is no event to wait for
    assert session.ask("checkpoint", name="c").status == 200
    copy = Session.__new__(Session)
    copy.server, copy.id = session.server, session.ask("fork").json["sessions"][0]["session_id"]
    assert session.ask("restore", name="c").status == 200
    for s in (session, copy):
        assert s.run("true" if language == "bash" else "1", language=language)["session_state"] == "fresh"
        assert s.run("true" if language == "bash" else "1", language=language)["session_state"] == "kept"
    copy.end()


LATE_KILLS = {
    "python": "n = globals().get('n', 0) + 1; import os, subprocess;"
              " subprocess.Popen(['/bin/sh', '-c', f'sleep {%s}; kill -9 {os.getpid()}']); print('x' * %d); print(n)",
    "bash": "n=$((n + 1)); (sleep %s; kill -9 $$) & printf '%%*s\\n' %d x; echo $n",
}


@pytest.mark.parametrize("language", LATE_KILLS)
def test_a_kernel_that_dies_around_its_answer_is_never_called_kept(session, language):
    """Wherever between the end of a cell and the next cell it dies: a count that starts again was announced."""
    known = 0
    for n in range(60):
        answer = session.run(LATE_KILLS[language] % (n % 20 / 1000, 4000000), language=language)
        if answer["session_state"] == "lost":  # it died before the cell was done
            known = 0
            continue
        count = int(answer["stdout"].split()[-1])
        assert count == (1 if answer["session_state"] == "fresh" else known + 1), (n, known, answer["session_state"], count)
        known = count


def test_an_interrupt_that_gets_lost_is_sent_again(session):
    """Python does not notice one that comes between its last look and the start of a sleep."""
    session.run("x = 'kept'")
    answer = session.run("import time\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    time.sleep(600)", timeout_s=1)
    assert (answer["status"], answer["session_state"]) == ("timeout", "kept"), answer
    assert session.run("print(x)")["stdout"] == "kept\n"


def test_a_cell_that_ignores_interrupts_is_killed(session):
    answer = session.run("import time\nwhile True:\n    try:\n        time.sleep(600)\n    except KeyboardInterrupt:\n        pass", timeout_s=1)
    assert (answer["status"], answer["session_state"]) == ("timeout", "lost"), answer


@pytest.mark.parametrize("closes", ["exit()", "import os; os.close(0)", "import sys; sys.stdin.close()"])
def test_standard_input_that_was_closed_comes_back(session, closes):
    session.run(closes)
    answer = session.run("f = open('/workspace/f', 'w'); print(f.fileno() > 2)\ninput()")
    assert (answer["stdout"], answer["error"]["name"]) == ("True\n", "EOFError"), answer
    answer = session.run("print(input(), f.closed)", stdin="given\n")
    assert answer["stdout"] == "given False\n", answer
