"""Programs that read what a person types: input() at a terminal, in `belljar run` and `belljar shell`."""
import os
import shutil

import pytest
from prompt import CONTROL_C, CONTROL_D, Prompt

pytestmark = pytest.mark.usefixtures("watch")


class Run(Prompt):
    command = "run"


def test_a_program_reads_lines_as_they_are_typed(user):
    program = user.file(
        "ask.py",
        "name = input('name? ')\n"
        "print('hello', name)\n"
        "import sys\n"
        "print('is a terminal', sys.stdin.isatty())\n"
        "for line in sys.stdin:\n"
        "    print('got', repr(line))\n"
        "print('over', repr(sys.stdin.read()))\n",
    )
    with Run(user, str(program)) as p:
        p.wait("name? ")
        p.line("Bébé 😀")
        p.wait("hello Bébé 😀")
        p.wait("is a terminal True")
        p.line("one")
        p.wait("got 'one")
        p.type(b"tw" + CONTROL_D + b"o\r")  # Ctrl-D in a line sends it, and does not end it
        p.wait("got 'two")
        p.type(CONTROL_D)
        p.type(CONTROL_D)
        p.wait("over ''")
        assert p.end() == 0


def test_what_is_typed_and_not_read_is_left_for_the_next(user):
    with Run(user, "-c", "print(1, input('? ')); print('end of it')") as p:
        p.wait("? ")
        p.type("a\rb\r")
        p.wait("1 a")
        assert p.end() == 0
        assert os.read(p.slave, 100) == b"b\n"


def test_the_end_of_input_is_an_error_without_a_hint(user):
    with Run(user, "-c", "input('? ')") as p:
        p.wait("? ")
        p.type(CONTROL_D)
        p.wait("EOFError")
        assert p.end() == 1
        assert b"hint" not in p.seen


def test_the_clock_stands_while_a_program_waits_for_a_line(user):
    with Run(user, "--timeout", "2", "-c", "input('? '); print('in time')") as p:
        p.wait("? ")
        with pytest.raises(AssertionError):
            p.wait("timeout", hang=3)
        p.line("late")
        p.wait("in time")
        assert p.end() == 0


def test_control_c_ends_a_program_that_waits(user):
    with Run(user, "-c", "input('? ')") as p:
        p.wait("? ")
        p.type(CONTROL_C)
        assert p.end() == 130


def test_without_a_terminal_nothing_is_waited_for(user):
    answer = user.call("run", "-c", "input()")
    assert answer.code == 1 and "pipe it in" in answer.errors


def test_a_line_typed_after_an_interrupt_is_for_the_next_input(user):
    with Prompt(user) as p:
        p.wait(">>> ")
        p.type(b"\x1b[200~import time\rtry:\r    input('c? ')\rexcept KeyboardInterrupt:\r    print('stop' + 'ped', flush=True)\r    time.sleep(0.1)\r    b = input()\r\x1b[201~\r")
        p.wait("c? ")  # its echo
        p.wait("c? ")
        p.type(CONTROL_C)
        p.wait("stopped")
        p.line("second")  # nothing asks for it yet
        p.wait(">>> ")
        assert p.cell("b") == "'second'\n"
        p.type(CONTROL_D)


def test_cells_read_lines(user):
    with Prompt(user) as p:
        p.wait(">>> ")
        p.line("a = input('a? ')")
        p.wait("a? ")  # its echo
        p.wait("a? ")
        p.line("first")
        p.wait(">>> ")
        p.line("b = input('b? ')")
        p.wait("b? ")
        p.wait("b? ")
        p.type(CONTROL_C)
        p.wait("KeyboardInterrupt")
        p.wait(">>> ")
        p.line("1 +")  # a cell that does not compile
        p.wait("SyntaxError")
        p.wait(">>> ")
        p.type(b"\x1b[200~try:\r    input('c? ')\rexcept KeyboardInterrupt:\r    b = input('d? ')\r\x1b[201~\r")
        p.wait("d? ")
        p.wait("c? ")
        p.type(CONTROL_C)
        p.wait("d? ")
        p.line("second")
        p.wait(">>> ")
        assert p.cell("a, b") == "('first', 'second')\n"
        p.line("import sys; sys.stdin.close()")  # as exit() of Python does
        p.wait(">>> ")
        p.line("c = input('e? ')")
        p.wait("e? ")
        p.wait("e? ")
        p.line("third")
        p.wait(">>> ")
        assert p.cell("c") == "'third'\n"
        p.type(CONTROL_D)
        assert p.end() == 0


def test_one_thread_reads_at_a_time(user):
    code = (
        "from threading import Thread\n"
        "def read():\n"
        "    try: print('read', input('? '))\n"
        "    except OSError as error: print(error)\n"
        "threads = [Thread(target=read) for _ in range(2)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]"
    )
    with Run(user, "--profile", "open", "-c", code) as p:
        p.wait("another thread waits for a line of input")
        p.line("x")
        p.wait("read x")
        assert p.end() == 0


@pytest.mark.parametrize(("language", "code"), [
    ("python", "import subprocess; print('hello', input('name? ')); subprocess.run(['bash', '-c', 'read -p \"and? \" x; echo hello $x'])"),
    ("bash", 'read -p "name? " x; echo hello $x; read -p "and? " x; echo hello $x'),
    ("javascript", "const r = require('readline').createInterface({input: process.stdin, output: process.stdout});"
     "r.question('name? ', x => { console.log('hello ' + x); r.question('and? ', x => { console.log('hello ' + x); r.close(); }); });"),
])  # fmt: skip
def test_with_a_terminal_every_language_and_child_reads(user, language, code):
    if language == "javascript" and not shutil.which("node"):
        pytest.skip("needs nodejs")
    with Run(user, "-t", "--profile", "open", "-l", language, "-c", code) as p:
        p.wait("name? ")
        p.line("Ann")
        p.wait("hello Ann")
        p.wait("and? ")
        p.line("Bob")
        p.wait("hello Bob")
        assert p.end() == 0


class Exec(Prompt):
    command = "exec"


@pytest.mark.parametrize(("kind", "words", "has_hint"), [
    (Run, ["-l", "bash", "-c", "read -p '? ' x\necho got $x"], True),
    (Run, ["-l", "bash", "-c", "if read x; then echo $x; fi"], True),
    (Run, ["-l", "bash", "-c", "echo a b | while read x y; do echo $y; done; read z <<< 1; echo read it"], False),
    (Exec, ["--", "cat"], True),
    (Exec, ["--", "echo", "x"], False),
])  # fmt: skip
def test_a_program_that_finds_no_input_at_a_terminal_is_told_of_one(user, kind, words, has_hint):
    with kind(user, *words) as p:
        p.end()
        assert (b"`-t` gives it your terminal" in p.seen) == has_hint, p.seen
