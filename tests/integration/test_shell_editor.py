"""The line editor of `belljar shell`, by what somebody sees on the screen."""
import os
import signal

import pytest

import prompt
from prompt import CONTROL_C, CONTROL_D, DOWN, ESCAPE, LEFT, TAB, UP


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture
def shell(who):
    opened = []

    def start(*args, **more):
        p = prompt.Prompt(who, *args, **more)
        opened.append(p)
        p.wait(">>> " if "bash" not in args else "$ ")
        return p

    yield start
    for p in opened:
        p.close()
    history = who.home / "state" / "belljar" / "history"
    if history.exists():
        history.unlink()


@pytest.mark.smoke
def test_tab_does_not_paint_the_prompt_again(shell):
    p = shell()
    p.type(b"prin" + TAB)
    p.see(">>> print")
    p.type("(1)\r")
    p.see(">>> print(1)", "1", ">>>")
    p.type(b"nothing_like_this" + TAB + TAB)
    p.see(">>> nothing_like_this")
    assert p.screen.column == len(">>> nothing_like_this")
    p.type(CONTROL_C)
    p.see(">>> nothing_like_this^C", ">>>")
    p.type(b":c" + TAB + TAB)
    p.see(">>> :ch", ":changes     :checkpoint", ">>> :ch")


def test_a_block_is_indented_and_comes_back_as_a_whole(shell):
    p = shell()
    p.type("for i in range(2):\r")
    p.see(">>> for i in range(2):", "...")
    assert p.screen.column == 8
    p.type("print('n', i)\r")
    p.see("...     print('n', i)", "...")
    p.type("\r")
    p.see("...", "n 0", "n 1", ">>>")
    p.type(UP)
    p.see("n 1", ">>> for i in range(2):", "...     print('n', i)")
    p.type(UP + b"\x05" + b"\x7f\x7f\x7f" + b"3):")  # the end of the first line
    p.see(">>> for i in range(3):", "...     print('n', i)")
    p.type(DOWN + b"\r\r")
    p.see("n 0", "n 1", "n 2", ">>>")


def test_history_by_what_stands_before_the_cursor(shell):
    p = shell()
    for text in ("alpha = 1", "beta = 2", "alpha = 3"):
        p.line(text)
        p.see(f">>> {text}", ">>>")
    p.type(b"al" + UP)
    p.see(">>> alpha = 3")
    p.type(UP)
    p.see(">>> alpha = 1")
    p.type(DOWN + DOWN)
    p.see(">>> al")


def test_a_search_finds_older_and_newer_cells(shell):
    p = shell()
    for text in ("alpha = 1", "beta = 2", "alphabet = 3"):
        p.line(text)
        p.see(f">>> {text}", ">>>")
    p.type(b"\x12alp")
    p.see("(search: `alp`) alphabet = 3")
    p.type(b"\x12")
    p.see("(search: `alp`) alpha = 1")
    p.type(b"\x13")
    p.see("(search: `alp`) alphabet = 3")
    p.type("zzz")
    p.see("(not found: `alpzzz`) alphabet = 3")
    p.type(b"\x07")
    p.see(">>>")
    p.type(b"\x12beta" + ESCAPE)
    p.see(">>> beta = 2")
    p.type("0\r")
    p.see(">>> beta = 20", ">>>")
    p.type(b"\x12beta\r")
    p.see(">>> beta = 20", ">>> beta = 20", ">>>")
    p.line("beta")
    p.see(">>> beta", "20", ">>>")


def test_words_and_ends(shell):
    p = shell()
    p.type("print(one.two, three)")
    p.type(b"\x1b[1;5D" + b"\x1b[1;3D" + b"X")  # Ctrl-Left, Alt-Left
    p.see(">>> print(one.Xtwo, three)")
    p.type(b"\x01" + b"\x1b[1;5C" + b"Y")
    p.see(">>> printY(one.Xtwo, three)")
    p.type(b"\x15\x0b")
    p.see(">>>")
    p.type("'a b'")
    p.type(b"\x17" + b"c'")
    p.see(">>> 'a c'")
    p.type(b"\x1f\x1f")
    p.see(">>> 'a b'")


def test_long_and_wide_text_wraps(shell):
    p = shell(columns=20, rows=10)
    p.type("x = '" + "漢" * 10 + "a" * 10)
    p.see(">>> x = '漢漢漢漢漢", "漢漢漢漢漢aaaaaaaaaa")
    p.type(LEFT * 12 + b"Z")
    p.see(">>> x = '漢漢漢漢漢", "漢漢漢Z漢漢aaaaaaaaa", "a")
    p.type(b"\x05'\r" + b"len(x)\r")
    p.see(">>> len(x)", "21", ">>>")


def test_a_terminal_that_becomes_narrow_and_wide_again(shell):
    p = shell(columns=60, rows=12)
    p.line("'before'")
    p.see(">>> 'before'", "'before'", ">>>")
    p.type("abc")
    p.see(">>> abc")
    p.resize(30, 12)
    p.type("def")
    p.see(">>> 'before'", "'before'", ">>> abcdef")
    p.resize(90, 12)
    p.type("ghi" + "x" * 60)
    p.see(">>> 'before'", "'before'", ">>> abcdefghi" + "x" * 60)


def test_code_has_colours_unless_they_are_unwanted(shell):
    p = shell()
    p.type("for x in 'abc': 12  # why")
    p.see(">>> for x in 'abc': 12  # why")
    words = dict(p.screen.colored())
    assert words["for"] == words["in"] and set(words) == {"for", "in", "'abc'", "12", "# why"}
    p = shell(env={"NO_COLOR": "1"})
    p.type("for x in 'abc': 12  # why")
    p.see(">>> for x in 'abc': 12  # why")
    assert not p.screen.colored()


def test_the_screen_is_cleared_and_the_text_stays(shell):
    p = shell()
    p.type(b"half" + b"\x0c")
    p.see(">>> half")
    assert p.look() == [">>> half"]


def test_the_prompt_comes_back_after_a_stop(shell):
    p = shell()
    p.type("half")
    p.see(">>> half")
    os.kill(p.process.pid, signal.SIGSTOP)
    os.kill(p.process.pid, signal.SIGCONT)
    p.type("way")
    p.wait("way")
    p.type(b"\x15'done'\r")
    p.wait("'done'\r\n")


def test_half_of_a_character_and_strange_keys_do_no_harm(shell):
    p = shell()
    p.type(b"\xc3\x28\xff\x1b[999;999;999X\x1b[15~\x1b]\x00\x15'ok'\r")
    p.see(">>> 'ok'", "'ok'", ">>>")
    p.type(CONTROL_D)
    assert p.end() == 0
