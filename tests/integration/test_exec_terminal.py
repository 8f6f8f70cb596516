"""`belljar exec -t`: a terminal of its own for a command in a sandbox."""
import fcntl
import os
import re
import shutil
import signal
import struct
import termios

import pytest
from prompt import CONTROL_C, CONTROL_D, Prompt
from serving import wait_until

pytestmark = pytest.mark.usefixtures("watch")

CONTROL_Z, CONTROL_BACKSLASH = b"\x1a", b"\x1c"


class Exec(Prompt):
    command = "exec"

    def __init__(self, who, *args, **more):
        super().__init__(who, "-t", *args, **more)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


SHELL = ["--env", "PS1=ready> ", "--", "bash", "--norc", "-i"]


def test_a_shell_with_job_control(who):
    with Exec(who, *SHELL) as t:
        t.wait("ready> ")
        assert t.cell("tty; stty size; echo $TERM", "ready> ").split() == ["/dev/pts/0", "40", "100", "xterm"]
        t.resize(33, 77)
        t.line("until [ \"$(stty size)\" = '33 77' ]; do sleep 0.05; done; echo re''sized")
        t.wait("resized")
        t.line("sh -c 'echo st\"\"arted; exec cat'")  # it has the terminal by then
        t.wait("started\r\n")
        t.type(CONTROL_Z)
        t.wait("Stopped")
        t.wait("ready> ")
        t.line("fg")
        t.wait("exec cat'\r\n")
        # Bash prints that before it hands over the terminal; a job that reads has it.
        t.line("two")
        t.wait("two\r\ntwo\r\n")
        t.type(CONTROL_C)
        t.wait("ready> ")
        t.line("trap 'echo qu''it' QUIT; echo se''t; read x")
        t.wait("set\r\n")
        t.type(CONTROL_BACKSLASH)
        t.wait("quit")
        t.type(CONTROL_C)
        t.wait("ready> ")
        t.line("exit 7")
        assert t.end() == 7


def test_keys_are_seen_at_once_and_the_end_of_input_ends(who):
    """Also those that could begin a secret, which the masker would wait for."""
    with Exec(who, "--", "cat") as t:
        t.type("\r")
        t.wait("\r\n\r\n")
        for text in ("sk-", "ghp_", "AKIA", "é", "password="):
            t.type(text)
            t.wait(text)
            t.type("\r")
            t.wait(text)
        t.type(CONTROL_D)
        t.type(CONTROL_D)
        assert t.end() == 0


def test_python_asks_and_answers(who):
    # The prompt of Python 3.13 draws each line anew; this is the one that all versions have.
    with Exec(who, "--env", "PYTHON_BASIC_REPL=1", "--", "python3", "-q") as t:
        t.wait(">>> ")
        assert t.cell("6 * 7") == "42\n"
        t.line("exit(3)")
        assert t.end() == 3


@pytest.mark.skipif(not shutil.which("less"), reason="needs less")
def test_a_pager_draws_and_leaves_the_screen(who):
    with Exec(who, "--", "less", "/etc/passwd", env={"LESS": ""}) as t:
        t.wait("\x1b[?1049h")
        t.wait("root:")
        t.wait("END")
        t.type("q")
        assert t.end() == 0 and re.search(rb"\x1b\[\?1049l(\x1b\[0m)?$", t.seen), t.seen


@pytest.mark.skipif(not shutil.which("vi"), reason="needs vi")
def test_an_editor_writes_through_the_broker(who):
    top = who.directory("edited")
    with Exec(who, "--allow", f"{top}:rw", "--", "vi", "-u", "NONE", "-i", "NONE", "note.txt") as t:
        t.wait("note.txt")
        t.type(b"ihello\x1b")
        t.type(":wq\r")
        assert t.end() == 0
    assert (top / "note.txt").read_text() == "hello\n"


HOSTILE = (
    r"\033]0;title\007\033]52;c;cm0gLXJm\033\\\033[6n\033[c\033[>c\033[18t\033P$qm\033\\\005"
    r"\033[?1049h\033[?1003h\033[?25l\033[31m\033[2;3r\033=\033(0\033[3J\033c\0302J\342\200\256drawn"
)


def test_only_drawing_reaches_the_terminal_and_all_is_undone(who):
    with Exec(who, "--", "printf", HOSTILE) as t:
        assert t.end() == 0
        drawn, undone = t.seen.split(b"drawn")
    assert drawn == b"\x1b[?1049h\x1b[?1003h\x1b[?25l\x1b[31m\x1b[2;3r\x1b=\x1b(02J", drawn
    for sequence in (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[0m", b"\x1b[r", b"\x1b>", b"\x1b(B"):
        assert sequence in undone, (sequence, undone)


def test_secrets_are_masked(who):
    secret = "ghp_" + "a1B2" * 9
    with Exec(who, "--", "sh", "-c", f"echo {secret[:20]}'{secret[20:]}'; printf '%4090s%s' '' {secret}") as t:
        assert t.end() == 0
    assert secret.encode() not in t.seen and t.seen.count(b"REDACTED") == 2, t.seen


def test_the_sandbox_has_this_terminal_alone(who):
    """No other can be made, the host's are not there, and keys cannot be forged."""
    program = (
        "import fcntl, os, termios\n"
        "print(sorted(os.listdir('/dev/pts')))\n"
        "for path in ('/dev/ptmx', '/dev/pts/ptmx', '/dev/pts/1'):\n"
        "    try: os.open(path, os.O_RDWR); print('OPEN', path)\n"
        "    except OSError as e: print('closed')\n"
        "for name, number, argument in (('TIOCSTI', 0x5412, b'x'), ('TIOCLINUX', 0x541c, b'\\3'), ('TIOCSETD', 0x5423, b'\\0' * 4),\n"
        "                               ('TIOCCONS', 0x541d, b''), ('TIOCGPTPEER', 0x5441, b''), ('TIOCSTI high', 0x5412 | 1 << 32, b'x')):\n"
        "    try: fcntl.ioctl(0, number & 0xffffffff, argument); print('DONE', name)\n"
        "    except OSError as e: print('refused')\n"
        "print('end')\n"
    )
    with Exec(who, "--", "python3", "-c", program) as t:
        assert t.end() == 0
    text = t.seen.decode()
    assert "['0', 'ptmx']" in text and text.count("closed") == 3 and text.count("refused") == 6, text


def test_without_t_there_is_none(who):
    answer = who.call("exec", "--", "sh", "-c", "ls /dev/pts; tty; : < /dev/tty", env={})
    assert answer.text == "ptmx\nnot a tty\n" and "/dev/tty" in answer.errors, answer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGSEGV, signal.SIGALRM])
def test_the_terminal_is_given_back_when_we_are_killed(user, number):
    with Exec(user, "--", "sh", "-c", "stty raw -echo; echo started; sleep 1000") as t:
        t.wait("started")
        assert termios.tcgetattr(t.slave) != t.before
        t.process.send_signal(number)
        code = t.end()  # compares the settings
        assert code == -number or code == 130, code


def test_stopped_and_continued(user):
    with Exec(user, *SHELL) as t:
        t.wait("ready> ")
        t.process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(t.process.pid) == "T", "it has stopped")
        assert termios.tcgetattr(t.slave) == t.before
        t.process.send_signal(signal.SIGCONT)
        wait_until(lambda: termios.tcgetattr(t.slave) != t.before, "it is raw again")
        t.line("exit 4")
        assert t.end() == 4


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_nothing_is_left_after_sigkill(who, watch):
    with Exec(who, "--", "sh", "-c", "trap '' HUP TERM; setsid sleep 1000 & nohup sleep 1000 & echo started; sleep 1000") as t:
        t.wait("started")
        t.process.kill()
        t.process.wait()
    wait_until(lambda: not watch.leftovers(), "nothing is left")


def test_background_processes_end_with_the_command(who):
    with Exec(who, "--", "sh", "-c", "trap '' HUP; (setsid sleep 1000 >/dev/null 2>&1 &); (while :; do echo noise; done &) ; exit 6") as t:
        assert t.end() == 6


def test_a_flood_waits_for_a_reader_that_does_not_read(user):
    """Memory stays small, the clock goes on, and everything ends."""
    with Exec(user, "--timeout", "2", "--", "yes", "flood") as t:
        t.wait("flood")
        before = resident(t.process.pid)
        wait_until(lambda: state_of(t.process.pid) in "SZ", "it waits")
        assert resident(t.process.pid) < before + 20_000_000
        assert t.end() == 124


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return 0


def test_keys_for_a_program_that_does_not_read_are_bounded(user):
    with Exec(user, "--timeout", "60", "--", "sh", "-c", "stty raw -echo; echo started; exec sleep 1000") as t:
        t.wait("started")
        os.set_blocking(t.master, False)
        typed = 0
        try:
            while typed < 10_000_000:
                typed += os.write(t.master, b"x" * 4096)
        except BlockingIOError:
            pass
        assert typed < 10_000_000
        os.set_blocking(t.master, True)
        t.process.send_signal(signal.SIGTERM)
        assert t.end() == 130


@pytest.mark.parametrize(
    "args, says",
    [
        (["--json"], "-t does not work with --json"),
        (["--stdin", "-"], "-t does not work with --stdin"),
        (["-d"], "-t does not work with -d"),
    ],
)
def test_flags_that_do_not_go_together(user, args, says):
    answer = user.call("exec", "-t", *args, "true")
    assert answer.code == 64 and says in answer.errors, answer


def test_without_a_terminal_it_says_so(user):
    answer = user.call("exec", "-t", "--", "true")
    assert answer.code == 64 and "-t needs a terminal" in answer.errors and "leave out -t" in answer.errors, answer


def test_unknown_terminals_become_a_known_one(user):
    with Exec(user, "--", "sh", "-c", "echo $TERM:$COLORTERM", env={"TERM": "no-such-terminal", "COLORTERM": "truecolor"}) as t:
        assert t.end() == 0 and b"xterm-256color:truecolor" in t.seen
    with Exec(user, "--env", "TERM=vt100", "--", "sh", "-c", "echo $TERM", env={"TERM": "../../x"}) as t:
        assert t.end() == 0 and b"vt100" in t.seen


def test_the_trail_tells_of_the_terminal_and_not_of_the_keys(user):
    with Exec(user, "--", "head", "-1") as t:
        t.line("typed-in-private")
        assert t.end() == 0
    shown = user.call("audit", "list", "--limit", "1", "--json").text
    run = re.search(r"run_\w+", shown)[0]
    record = user.call("audit", "show", run, "--json").text
    assert '"terminal":true' in record and "typed-in-private" not in record, record
    assert "ran on a terminal" in user.call("audit", "replay", run).text
