"""`belljar shell`: a person at a prompt, and cells from a pipe."""
import os
import re
import stat
import subprocess

import belljar
import pytest

import prompt
from prompt import CONTROL_C, CONTROL_D, ESCAPE, TAB, UP

PYTHON, MORE, BASH = ">>> ", "... ", "$ "


def piped(who, text, *args, **more):
    return who.call("shell", *args, input=text.encode(), **more)


# --- from a pipe ---


@pytest.mark.smoke
def test_variables_stay_from_cell_to_cell(who, watch):
    answer = piped(who, "x = 40\nx + 2\n")
    assert answer.code == 0, answer
    assert answer.text == "42\n", answer


def test_a_semicolon_keeps_a_value_from_being_shown(user):
    answer = piped(user, "x = 5\nx;\nx # not this one;\n'a;'\nprint(6);\n")
    assert answer.text == "5\n'a;'\n6\n", answer


def test_nobody_is_prompted_in_a_pipe(user):
    answer = piped(user, "print('one')\n")
    assert answer.text == "one\n", answer
    assert answer.errors == "", answer


def test_blocks_end_with_an_empty_line(user):
    answer = piped(user, "def f(n):\n    return n + 1\n\nf(1)\nx = [\n1,\n\n2]\nlen(x)\n")
    assert answer.text == "2\n2\n", answer


def test_it_starts_where_it_is_told(user, watch):
    """--here and -C as in `belljar run`; streams that end in one place keep their order."""
    top = user.directory("place")
    (top / "sub").mkdir()
    (top / "own.py").write_text("import ctypes\nX = 7\n")
    for path in (top, top / "sub", top / "own.py"):
        user.own(path)
    cells = "import os, sys, own\nos.getcwd(), own.X\nfor i in range(9): print(i); print('e', i, file=sys.stderr)\n\n1 / 0\n"
    answer = piped(user, cells, "--here", cwd=top, stderr=subprocess.STDOUT)
    lines = answer.text.splitlines()
    assert lines[0].endswith("/place', 7)") and lines[1:19] == [w for i in range(9) for w in (f"{i}", f"e {i}")], answer
    assert answer.text.count("ZeroDivisionError") == 1, answer
    answer = piped(user, "from pathlib import Path; print(Path.cwd())\n", "--allow", ".", "-C", "sub", cwd=top)
    assert answer.text.endswith("/place/sub\n"), answer


def test_what_is_not_finished_is_run_at_the_end(user):
    answer = piped(user, "for i in range(3):\n    print(i)")
    assert answer.text == "0\n1\n2\n", answer
    answer = piped(user, "print((1,\n")
    assert answer.code != 0 and "SyntaxError" in answer.errors, answer


def test_an_exception_is_shown_once_and_the_state_survives(user):
    answer = piped(user, "x = 1\n1 / 0\nx\n")
    assert answer.text == "1\n", answer
    assert answer.errors.count("ZeroDivisionError") == 1, answer
    assert answer.code == 0, answer


def test_the_exit_code_is_that_of_the_last_cell(user):
    assert piped(user, "1 / 0\n").code == 1
    assert piped(user, "1 / 0\n1\n").code == 0
    assert piped(user, "true\n(exit 7)\n", "-l", "bash").code == 7
    assert piped(user, "import subprocess\n", "--profile", "strict").code == 126


def test_bash_and_python_share_files(who, watch):
    answer = piped(who, ":lang bash\necho 5 > n; cd /tmp; v=1\n:lang python\nint(open('n').read())\n"
                        ":lang bash\npwd; echo $v\n")  # fmt: skip
    assert answer.text == "5\n/tmp\n1\n", answer


def test_a_cell_that_takes_too_long_keeps_the_state(user):
    answer = piped(user, "x = 7\nimport time; time.sleep(60)\nx\n", "--timeout", "1")
    assert answer.text == "7\n", answer
    assert "timeout" in answer.errors, answer


def test_a_kernel_that_ended_is_said(user):
    answer = piped(user, "x = 1\nopen('f', 'w').write('hi')\nimport os; os._exit(3)\n'x' in globals()\nopen('f').read()\n",
                   "--profile", "open")  # fmt: skip
    assert answer.text == "2\nFalse\n'hi'\n", answer
    assert "variables are lost" in answer.errors, answer


def test_a_kernel_that_was_killed_is_said(user):
    answer = piped(user, "x = 1\nbytearray(10 ** 9)\n'x' in globals()\n", "--memory", "128")
    assert answer.text == "False\n", answer
    assert "memory_exceeded" in answer.errors and "variables are lost" in answer.errors, answer


def test_a_kernel_that_ended_between_cells_is_said(user):
    answer = piped(user, "import os, threading\nx = 1; threading.Timer(0.1, os._exit, (3,)).start()\n"
                         ":lang bash\nsleep 1\n:lang python\n'x' in globals()\n1\n", "--profile", "open")  # fmt: skip
    assert answer.text == "False\n1\n", answer
    assert answer.errors.count("earlier variables are lost") == 1, answer


def test_a_regular_file_as_input(user):
    path = user.home / "cells.py"
    path.write_text("a = 2\na * 3\n")
    user.own(path)
    with open(path, "rb") as file:
        process = user.start("shell", stdin=file)
        out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert (out, process.returncode) == (b"6\n", 0), err


def test_an_empty_input_is_a_short_session(who, watch):
    answer = piped(who, "")
    assert (answer.code, answer.text, answer.errors) == (0, "", ""), answer


def test_a_line_without_end_is_refused(user):
    answer = piped(user, "x = '" + "a" * (2 << 20) + "'\n")
    assert answer.code == 65 and "longer than" in answer.errors, answer


def test_bytes_that_are_no_text_do_no_harm(user):
    answer = user.call("shell", input=b"x = 1\n\xff\xfe\x00\nx\n")
    assert answer.text == "1\n", answer


# --- commands ---


@pytest.mark.smoke
def test_files_go_in_and_come_out(who, watch):
    mine = who.home / "programs" / "data in.csv"
    mine.write_text("a,b\n1,2\n")
    who.own(mine)
    answer = piped(who, ":put 'programs/data in.csv' sub/in.csv\nt = open('sub/in.csv').read()\n"
                        "open('out.csv', 'w').write(t.upper())\n:files\n:files sub\n:get out.csv programs/got.csv\n")  # fmt: skip
    assert answer.code == 0, answer
    got = who.home / "programs" / "got.csv"
    assert got.read_text() == "A,B\n1,2\n", answer
    assert got.stat().st_uid == who.uid
    assert "8  out.csv" in answer.errors and "sub/in.csv" in answer.errors, answer
    for path in (mine, got):
        path.unlink()


def test_a_path_may_begin_at_home(user):
    mine = user.home / "at-home.txt"
    mine.write_text("home")
    user.own(mine)
    answer = piped(user, ":put ~/at-home.txt\n:get at-home.txt ~/got-home.txt\n")
    got = user.home / "got-home.txt"
    assert answer.code == 0 and got.read_text() == "home", answer
    mine.unlink()
    got.unlink()


def test_get_does_not_write_over_a_file(user):
    mine = user.home / "programs" / "mine"
    mine.write_text("mine")
    user.own(mine)
    answer = piped(user, "open('mine', 'w').write('theirs')\n:get mine programs/mine\n")
    assert answer.code == 64 and "exists" in answer.errors, answer
    assert mine.read_text() == "mine"
    mine.unlink()


@pytest.mark.parametrize("name", ["link", "up/passwd", "fifo", "../../etc/passwd", "/etc/passwd", "dir", "none"])
def test_get_takes_files_of_the_session_alone(user, name):
    answer = piped(user, "ln -s /etc/passwd link; ln -s /etc up; mkfifo fifo; mkdir dir\n"
                         f":get {name} programs/stolen\n", "-l", "bash")  # fmt: skip
    assert answer.code != 0, answer
    assert not (user.home / "programs" / "stolen").exists(), answer


def test_a_sparse_file_does_not_fill_the_disk(user):
    answer = piped(user, "truncate -s 32M sparse\n:get sparse programs/sparse\n", "-l", "bash", "--disk", "16")
    assert answer.code == 65 and "larger" in answer.errors, answer
    assert not (user.home / "programs" / "sparse").exists()


def test_names_of_a_program_are_shown_in_visible_form(user):
    answer = piped(user, "touch $'\\e]0;owned\\a'\n:files\n", "-l", "bash")
    assert "\x1b" not in answer.errors and "owned" in answer.errors, answer


def test_limits_are_shown(user):
    answer = piped(user, ":limits\n", "--memory", "256", "--timeout", "3")
    assert re.search(r"^memory_mb +256 MB$", answer.errors, re.M) and re.search(r"^timeout_s +3 seconds a cell$", answer.errors, re.M), answer


def test_restart_forgets_variables_and_keeps_files(user):
    answer = piped(user, "x = 1\nopen('f', 'w').close()\n:restart\n'x' in globals()\nimport pathlib; pathlib.Path('f').exists()\n")
    assert answer.text == "False\nTrue\n", answer


@pytest.mark.parametrize("line, words", [
    (":fiels", "did you mean `:files`?"),
    (":nothing", "`:help` lists"),
    (":put", ":put FILE"),
    (":put a b c d e f", ":put FILE"),
    (":lang perl", "unknown language"),
    (":put /nonexistent/file", "nonexistent"),
    (":put /dev/zero", "not a file"),
    (":files nowhere", "nowhere"),
])  # fmt: skip
def test_a_mistake_in_a_command_is_told(user, line, words):
    answer = piped(user, line + "\n")
    assert answer.code != 0 and words in answer.errors, answer


def test_help_names_every_command(user):
    words = piped(user, ":help\n").errors
    for command in (":lang", ":files", ":put", ":get", ":limits", ":checkpoint", ":restore", ":fork", ":restart", ":quit"):
        assert command in words


def test_quit_ends_at_once(who, watch):
    answer = piped(who, ":quit\nprint('never')\n")
    assert (answer.code, answer.text) == (0, ""), answer


def test_strict_has_no_bash(user):
    answer = piped(user, ":lang bash\n", "--profile", "strict")
    assert answer.code != 0 and "bash" in answer.errors.lower(), answer
    assert user.call("shell", "-l", "bash", "--profile", "strict").code == 77


def test_a_granted_directory_is_seen_and_looked_after(who, base):
    place = who.home / "programs" / "project"
    place.mkdir()
    who.own(place)
    answer = piped(who, f"echo x > {place}/.bashrc; echo y > {place}/plain\n", "-l", "bash", "--allow", f"{place}:rw")
    assert (place / "plain").read_text() == "y\n", answer
    assert not (place / ".bashrc").exists() and "denied: create" in answer.errors, answer
    for path in place.iterdir():
        path.unlink()
    place.rmdir()


# --- copies ---


def test_a_checkpoint_is_gone_back_to_with_variables_and_files(who, watch):
    answer = piped(who, "x = 1; _ = open('f', 'w').write('one')\n:checkpoint start\n"
                        "x = 2; _ = open('f', 'w').write('two')\n:restore start\nx, open('f').read()\n"
                        "x = 3\n:restore start\nx\n:checkpoint\n")  # fmt: skip
    assert answer.code == 0, answer
    assert answer.text == "(1, 'one')\n1\n", answer
    assert answer.errors.rstrip().endswith("start"), answer


def test_copies_go_their_own_ways(who, watch):
    answer = piped(who, "x = 10\n:fork 2\n:switch 2\nx += 1; open('two', 'w').close()\n:switch 3\nx += 2\n"
                        ":switch 1\nx\n:switch 2\nx\n:switch 3\nx\nimport pathlib; pathlib.Path('two').exists()\n"
                        ":sessions\n")  # fmt: skip
    assert answer.text == "10\n11\n12\nFalse\n", answer
    assert answer.errors.count("ses_") == 6, answer


def test_what_cannot_be_copied_is_said(user):
    answer = piped(user, "import threading; e = threading.Event(); threading.Thread(target=e.wait, daemon=True).start()\n"
                         ":checkpoint a\n'still here'\n", "--profile", "open")  # fmt: skip
    assert "thread" in answer.errors, answer
    assert answer.text == "'still here'\n", answer


@pytest.mark.parametrize("line, words", [
    (":restore nothing", "no checkpoint"),
    (":fork 0", "not a number"),
    (":fork many", "not a number"),
    (":fork 64", "not a number"),
    (":switch 2", "no session"),
    (":switch x", "no session"),
])  # fmt: skip
def test_a_mistake_with_copies_is_told(user, line, words):
    answer = piped(user, line + "\n")
    assert answer.code != 0 and words in answer.errors, answer


# --- pictures ---

PLOT = "import matplotlib.pyplot as plt; _ = plt.plot([1, 2, 3]); plt.show()\n"


def test_pictures_are_saved_and_named(user):
    answer = piped(user, PLOT, "--profile", "open")
    folder = user.home / "state" / "belljar" / "pictures"
    path = folder / "picture-1.png"
    assert str(path) in answer.errors, answer
    assert path.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "\x1b" not in answer.errors + answer.text, "nothing is drawn where there is no terminal"
    path.unlink()


def test_pictures_go_where_they_are_wanted(user):
    answer = piped(user, PLOT, "--profile", "open", "--save", user.home / "programs")
    path = user.home / "programs" / "picture-1.png"
    assert path.exists(), answer
    path.unlink()
    assert user.call("shell", "--save", "/nonexistent/place").code == 66


def test_shown_text_is_printed(user):
    answer = piped(user, "display('words'); display({'a': 1})\n", "--profile", "open")
    assert answer.text == "'words'\n{'a': 1}\n", answer


# --- at a terminal ---


@pytest.fixture
def shell(user):
    opened = []

    def start(*args, **more):
        p = prompt.Prompt(user, *args, **more)
        opened.append(p)
        return p

    yield start
    for p in opened:
        p.close()
    history = user.home / "state" / "belljar" / "history"
    if history.exists():
        history.unlink()


@pytest.mark.smoke
def test_a_person_types_and_leaves(shell):
    p = shell()
    p.wait(PYTHON)
    assert p.cell("6 * 7") == "42\n"
    p.line("for i in range(2):")
    p.wait(MORE)
    p.line("    print('n', i)")
    p.wait(MORE)
    p.line("")
    p.wait("n 1")
    p.wait(PYTHON)
    p.type(CONTROL_D)
    assert p.end() == 0


def test_an_error_before_the_end_is_no_exit_code(shell):
    p = shell()
    p.wait(PYTHON)
    assert "ZeroDivisionError" in p.cell("1 / 0")
    p.type(CONTROL_D)
    assert p.end() == 0


@pytest.mark.smoke
def test_control_c_stops_the_cell_and_keeps_the_state(shell):
    p = shell()
    p.wait(PYTHON)
    p.cell("x = 'kept'")
    p.line("import time; print('on' + 'wards', flush=True); time.sleep(600)")
    p.wait("onwards")
    p.type(CONTROL_C)
    assert "KeyboardInterrupt" in p.wait(PYTHON)
    assert p.cell("x") == "'kept'\n"


def test_control_c_at_the_prompt_forgets_the_line(shell):
    p = shell()
    p.wait(PYTHON)
    p.line("def f(:")
    p.wait(MORE)
    p.type("half of a li")
    p.wait("half of a li")
    p.type(CONTROL_C)
    p.wait(PYTHON)
    assert p.cell("'fresh'") == "'fresh'\n"
    p.type(CONTROL_D)
    assert p.end() == 0


def test_a_lone_escape_does_not_stop_the_clock(shell):
    p = shell()
    p.wait(PYTHON)
    p.type(ESCAPE)
    os.kill(p.process.pid, 15)
    assert p.end() == 130


def test_characters_beyond_ascii_are_edited_as_characters(shell):
    p = shell()
    p.wait(PYTHON)
    p.type("'grüßx")
    p.wait("grüßx")
    p.type(b"\x7f\x7f")  # takes back x and ß
    assert p.cell("n'") == "'grün'\n"


def test_history_is_kept_private_and_comes_back(shell, user):
    p = shell()
    p.wait(PYTHON)
    p.cell("remembered = 17")
    p.cell(" hidden = 18")
    p.type(CONTROL_D)
    p.end()
    path = user.home / "state" / "belljar" / "history"
    assert path.read_text() == "remembered = 17\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    p = shell()
    p.wait(PYTHON)
    p.type(UP)
    p.see(">>> remembered = 17")
    p.type("00\r")
    p.see(">>> remembered = 1700", ">>>")
    p.line("remembered")
    p.see(">>> remembered", "1700", ">>>")


@pytest.mark.smoke
def test_tab_completes_commands_files_and_names(shell):
    p = shell()
    p.wait(PYTHON)
    p.type(b":lim" + TAB)
    p.wait("its")
    p.type("\r")
    p.wait("profile")
    p.wait(PYTHON)
    p.cell("open('quarterly.csv', 'w').close(); my_long_name = 3")
    p.type(b"open('quar" + TAB)
    p.wait("terly.csv")
    p.type("').name\r")
    p.wait("'quarterly.csv'")
    p.wait(PYTHON)
    p.type(b"my_lo" + TAB)
    p.wait("ng_name")
    p.type("\r")
    p.wait("3")
    p.wait(PYTHON)
    p.type(b":" + TAB)
    p.wait(":checkpoint")


def test_tab_at_the_beginning_indents(shell):
    p = shell()
    p.wait(PYTHON)
    p.line("if True:")
    p.wait(MORE)
    p.type(TAB + b"print('in')\r")
    p.wait(MORE)
    p.line("")
    p.wait("in\r\n")


def test_lines_pasted_at_once_are_cells_in_order(shell):
    p = shell()
    p.wait(PYTHON)
    p.type("a = 1\rb = 2\rprint(a + b)\rprint('last')\r")
    p.wait("3\r\n")
    p.wait("last\r\n")


def paste(text):
    return b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~"


def test_a_paste_is_edited_and_runs_with_enter(shell):
    p = shell()
    p.wait(PYTHON)
    p.type(paste("def f():\n    a = 1\n\n    b = 2\n    return a + b\n\n\nprint('sum', f())\n"))
    p.see("... print('sum', f())", "...")
    p.type("\r")
    p.see("sum 3", ">>>")
    p.type(b"len(" + paste("'abc'") + b")\r")
    p.see(">>> len('abc')", "3", ">>>")
    p.type(b"print(" + paste("1,\n2,\n"))
    p.see(">>> print(1,", "... 2,", "...")
    p.type("3)\r")
    p.see(">>> print(1,", "... 2,", "... 3)", "1 2 3", ">>>")


def test_a_large_paste_in_small_pieces(shell):
    p = shell(columns=40, rows=10)
    p.wait(PYTHON)
    text = "x = [\n" + "".join(f"    {i},\n" for i in range(2000)) + "]\nprint('length', len(x))"
    data = paste(text)
    for at in range(0, len(data), 1000):
        p.type(data[at : at + 1000])
        p.read(0)
    p.see("...     1999,", "... ]", "... print('length', len(x))")
    p.type("\r")
    p.see("length 2000", ">>>")
    p.line("x[-1]")
    p.see(">>> x[-1]", "1999", ">>>")


def test_a_paste_cannot_drive_the_terminal(shell):
    p = shell()
    p.wait(PYTHON)
    before = len(p.seen)
    p.type(paste("print(1) #\x1b]0;owned\x07\u202e\nprint('se' + 'cond')"))
    p.see(">>> print(1) #]0;owned", "... print('se' + 'cond')")
    p.type("\r")
    p.see("1", "second", ">>>")
    assert b"\x1b]0;owned" not in p.seen[before:] and "\u202e".encode() not in p.seen[before:]


def test_what_a_program_sends_to_the_terminal_is_made_visible(shell):
    p = shell()
    p.wait(PYTHON)
    shown = p.cell(r"print('\x1b]0;owned\x07\x1b[2J')")
    assert "\x1b]0" not in shown and "\x1b[2J" not in shown and "owned" in shown


def test_bash_has_its_own_prompt(shell):
    p = shell("-l", "bash")
    p.wait(BASH)
    assert p.cell("v=3; echo $((v + 1))", BASH) == "4\n"
    p.line("if true; then")
    p.wait("> ")
    p.line("echo inside; fi")
    p.wait("inside\r\n")
    p.wait(BASH)
    p.line(":quit")
    assert p.end() == 0


@pytest.mark.parametrize("env, sequence", [
    ({"TERM": "xterm-kitty"}, b"\x1b_Ga=T,f=100"),
    ({"TERM_PROGRAM": "iTerm.app"}, b"\x1b]1337;File=inline=1"),
    ({"TERM": "xterm"}, None),
    ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, None),
])  # fmt: skip
def test_pictures_are_drawn_where_the_terminal_can(shell, user, env, sequence):
    p = shell("--profile", "open", env=env)
    p.wait(PYTHON)
    p.line(PLOT.strip())
    p.wait("picture-1.png")
    p.wait(PYTHON)
    if sequence:
        assert sequence in p.seen
    else:
        assert b"\x1b_G" not in p.seen and b"\x1b]1337" not in p.seen
    (user.home / "state" / "belljar" / "pictures" / "picture-1.png").unlink()


def test_the_prompt_says_in_which_copy_it_is(shell):
    p = shell()
    p.wait(PYTHON)
    p.line("x = 5")
    p.wait(PYTHON)
    p.line(":fork")
    p.wait("[1] " + PYTHON)
    p.line(":switch 2")
    p.wait("[2] " + PYTHON)
    assert p.cell("x").startswith("5\n")
    p.type(CONTROL_D)
    assert p.end() == 0


def test_the_terminal_is_given_back_when_it_is_told_to_end(shell):
    p = shell()
    p.wait(PYTHON)
    os.kill(p.process.pid, 15)
    assert p.end() == 130


def test_nothing_is_left_when_the_terminal_goes_away(who, watch):
    p = prompt.Prompt(who)
    p.wait(PYTHON)
    p.line("import time; print('run' + 'ning', flush=True); time.sleep(600)")
    p.wait("running")
    os.close(p.slave)
    os.close(p.master)
    assert p.process.wait(timeout=belljar.HANG_SECONDS) == 130


def test_a_dumb_terminal_gets_plain_lines(shell):
    p = shell(env={"TERM": "dumb"})
    p.wait(PYTHON)
    p.line("1 + 1")
    p.wait("2\r\n")
    p.wait(PYTHON)
    p.type(CONTROL_D)
    assert p.end() == 0


@pytest.mark.parametrize("word", ["exit", "quit", "exit()", "quit()", ":exit", ":q", ":quit"])
def test_words_that_leave(shell, word):
    p = shell()
    p.wait(PYTHON)
    p.line(word)
    assert p.end() == 0


def test_input_that_is_at_its_end_ends_it(user):
    for command in ("shell", "mcp"):
        answer = user.call(command)
        assert answer.code == 0 and "warn" not in answer.errors, answer


def test_a_word_of_other_commands_names_the_one_here(user):
    answer = piped(user, ":diff\n")
    assert "unknown command `:diff`" in answer.errors and "did you mean `:changes`?" in answer.errors, answer
