"""Terminals of commands in a session: over HTTP, and on a WebSocket as browsers have it."""
import json
import re
import signal

import pytest
from serving import Server, wait_until
from test_exec_terminal import CONTROL_C, CONTROL_D, CONTROL_Z, SHELL as OWN_SHELL, Exec
from test_session_commands import background, show, start, tell, wait_for_end, wait_for_output
from websocket import BINARY, Refused, WebSocket

SHELL = ["bash", "--norc", "--noprofile", "-i"]
SIZE = {"cols": 100, "rows": 40}
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


def terminal(server, session, *words, **more):
    """The id of a command on a terminal, a shell by default."""
    more.setdefault("env", {"PS1": "ready> "})
    return background(server, session, None, args=list(words) or SHELL, pty=SIZE, **more)


def type_in(server, session, command, text):
    reply = tell(server, session, command, "stdin", text=text)
    assert reply.status == 204, reply


class Terminal(WebSocket):
    """A browser's view of it."""

    def __init__(self, server, session, command, after=None, protocols=("belljar.terminal",), **more):
        query = "" if after is None else f"?after={after}"
        super().__init__(server, f"/v1/sessions/{session}/commands/{command}/terminal{query}", protocols=protocols, **more)
        self.seen, self.texts = b"", []
        assert json.loads(self.read())["type"] == "start"

    def wait(self, text):
        """Reads until `text` was printed; returns what came up to its end, and forgets it."""
        text = text.encode()
        while text not in self.seen:
            got = self.read()
            if isinstance(got, str):
                self.texts.append(json.loads(got))
                assert self.texts[-1]["type"] not in ("exit", "error"), (self.texts, self.seen)
            else:
                self.seen += got
        before, _, self.seen = self.seen.partition(text)
        return (before + text).decode()

    def say(self, **message):
        self.send(json.dumps(message))

    def type(self, text):
        self.send(text.encode())

    def line(self, text):
        self.type(text + "\r")

    def end(self):
        """The last text, and the reason of the close."""
        while True:
            try:
                got = self.read()
            except EOFError as reason:
                return self.texts[-1], reason.args[0]
            if isinstance(got, str):
                self.texts.append(json.loads(got))
            else:
                self.seen += got


@pytest.fixture
def shell(server, session):
    with Terminal(server, session, terminal(server, session)) as made:
        made.wait("ready> ")
        yield made


# --- over HTTP ---


def test_a_shell_has_a_size_input_and_an_exit_code(server, session):
    command = terminal(server, session)
    wait_for_output(server, session, command, "ready> ")
    type_in(server, session, command, "stty size; tty; echo $TERM; test -t 0 -a -t 1 -a -t 2 && echo a''ll\r")
    wait_for_output(server, session, command, "all\r\n")
    text = show(server, session, command)["stdout"]
    assert "40 100\r\n/dev/pts/0\r\nxterm-256color\r\nall\r\n" in text, text
    assert tell(server, session, command, "resize", cols=77, rows=33).status == 204
    type_in(server, session, command, "until [ \"$(stty size)\" = '33 77' ]; do sleep 0.05; done; echo re''sized\r")
    wait_for_output(server, session, command, "resized")
    listed = server.get(f"/v1/sessions/{session}/commands").json["commands"]
    assert [(c["id"], c["terminal"]) for c in listed] == [(command, True)], listed
    type_in(server, session, command, "exit 7\r")
    got = wait_for_end(server, session, command)
    assert (got["status"], got["exit_code"], got["stderr"]) == ("error", 7, ""), got
    assert tell(server, session, command, "resize", cols=1, rows=1).status == 404


def test_what_a_terminal_cannot_have_is_refused(server, session):
    for more in ({"stdin": "x"}, {"stdin_open": True}, {"pty": {"cols": 0, "rows": 1}}, {"pty": {"cols": 80}}, {"pty": {"cols": 80, "rows": 24, "x": 1}}, {"pty": True}):
        reply = server.post(f"/v1/sessions/{session}/commands", {"command": "true", "pty": SIZE, **more})
        assert reply.status == 400 and "pty" in reply.error["message"], (more, reply)
    command = terminal(server, session, "cat")
    reply = tell(server, session, command, "stdin", close=True)
    assert reply.status == 400 and "Ctrl-D" in reply.error["hint"], reply
    other = background(server, session, "sleep 100")
    for reply in (tell(server, session, other, "resize", cols=1, rows=1), server.get(f"/v1/sessions/{session}/commands/{other}/terminal")):
        assert reply.status == 400 and "terminal" in reply.error["message"], reply
    assert start(server, session, args=["no-such-command"], pty=SIZE)["exit_code"] == 127


def test_several_have_terminals_of_their_own_and_there_are_eight(server, session):
    ids = [terminal(server, session, "sh", "-c", "tty; read x; echo got-$x") for _ in range(8)]
    for command in ids:
        wait_for_output(server, session, command, "/dev/pts/")
    names = [re.search(r"/dev/pts/\d+", show(server, session, c)["stdout"])[0] for c in ids]
    assert sorted(names) == [f"/dev/pts/{i}" for i in range(8)], names
    got = server.post(f"/v1/sessions/{session}/commands", {"command": "true", "pty": SIZE})
    assert got.status == 429 and "terminals" in got.error["message"], got
    type_in(server, session, ids[3], "yes\r")
    assert "got-yes" in wait_for_end(server, session, ids[3])["stdout"]
    assert start(server, session, "tty", pty=SIZE)["stdout"] == names[3] + "\r\n"
    assert start(server, session, "tty")["stdout"] == "not a tty\n"


def test_the_instance_is_the_sandboxs_own_and_makes_no_others(server, session):
    program = (
        "import fcntl, os\n"
        "for path in ('/dev/ptmx', '/dev/pts/ptmx', '/dev/pts/1'):\n"
        "    try: os.open(path, os.O_RDWR); print('OPEN', path)\n"
        "    except OSError: print('closed')\n"
        "for number in (0x5412, 0x541c, 0x5423, 0x541d, 0x5441, 0x540e, 0x5437):\n"
        "    try: fcntl.ioctl(0, number, b'xxxx'); print('DONE', hex(number))\n"
        "    except OSError: print('refused')\n"
    )
    got = start(server, session, args=["python3", "-c", program], pty=SIZE)
    assert got["stdout"].split() == ["closed"] * 3 + ["refused"] * 7, got


def test_its_keys_are_in_the_trail(who):
    with Server(who, "--socket", "none") as server, server.session() as session:
        command = terminal(server, session, "cat", env={})
        for key in "hello\r":
            type_in(server, session, command, key)
        wait_for_output(server, session, command, "hello\r\nhello\r\n")
        type_in(server, session, command, "rest")
        server.call("DELETE", f"/v1/sessions/{session}/commands/{command}")
        wait_for_end(server, session, command)
        records = [json.loads(l) for l in server.who.call("audit", "show", command, "--json").text.splitlines()]
        typed = [r for r in records if r.get("event") == "input" or r.get("kind") == "input"]
        assert len(typed) == 2, records


# --- on a WebSocket ---


def test_keys_job_control_and_signals(shell):
    shell.line("stty size; echo to''ld")
    assert "40 100" in shell.wait("told")
    shell.wait("ready> ")
    shell.say(type="resize", cols=77, rows=33)
    shell.line("until [ \"$(stty size)\" = '33 77' ]; do sleep 0.05; done; echo re''sized")
    shell.wait("resized")
    shell.line("sh -c 'echo st\"\"arted; exec cat'")
    shell.wait("started\r\n")
    shell.type("\x1a")
    shell.wait("Stopped")
    shell.wait("ready> ")
    shell.line("fg")
    shell.wait("exec cat'\r\n")
    shell.line("two")
    shell.wait("two\r\ntwo\r\n")
    shell.type("\x03")
    shell.wait("ready> ")
    shell.line("sh -c 'echo st\"\"arted; exec cat'")
    shell.wait("started\r\n")
    shell.say(type="signal", signal="INT")  # as the key: for the job in the foreground
    shell.wait("ready> ")
    shell.line("exit 5")
    last, why = shell.end()
    assert (last, why) == ({"type": "exit", "status": "error", "exit_code": 5}, (1000, "the command has ended"))


def test_keys_are_seen_at_once(server, session):
    """Also those that could begin a secret, which the masker would wait for; and a secret is masked."""
    with Terminal(server, session, terminal(server, session, "cat")) as t:
        for text in ("sk-", "ghp_", "AKIA", "é", "password="):
            t.type(text)
            t.wait(text)
            t.type("\r")
            t.wait(text)
        t.line(SECRET)
        t.wait("REDACTED")
        t.type("\x04")
        t.end()
    assert SECRET[8:].encode() not in t.seen, t.seen


def test_a_client_comes_back_to_what_was_printed(server, session):
    command = terminal(server, session)
    with Terminal(server, session, command) as first:
        first.wait("ready> ")
        first.line("echo o''ne")
        first.wait("one\r\n")
    with Terminal(server, session, command) as second:
        assert "ready> " in second.wait("one\r\n")
        second.wait("ready> ")
        total = show(server, session, command)
        at = len(total["stdout"].encode())
        second.line("seq 100000; echo en''d")
        second.wait("\r\nend\r\n")
    with Terminal(server, session, command, after=at) as third:
        third.wait("seq 100000")
        third.wait("\r\nend\r\n")
    with Terminal(server, session, command) as fourth:  # the last 64 KiB
        text = fourth.wait("\r\nend\r\n")
        assert len(text) <= 65536 and "99999\r\n100000" in text and "\r\n5\r\n" not in text
        with Terminal(server, session, command, after=10**12) as fifth:
            fourth.line("echo b''oth")
            fourth.wait("both")
            fifth.wait("both")


def test_a_slow_reader_holds_the_command_and_nobody_else(server, session):
    command = terminal(server, session, "sh", "-c", "yes 0123456789012345678901234567890123456789 | head -n 300000; echo over")
    with Terminal(server, session, command) as t:
        assert start(server, session, "echo meanwhile")["stdout"] == "meanwhile\n"
        assert server.execute(session, "print(1)")["stdout"] == "1\n"
        # Buffers take a part of it; the command waits with the rest.
        assert show(server, session, command)["status"] == "running"
        t.wait("over")
        assert t.end()[0]["exit_code"] == 0
        assert not [x for x in t.texts if x["type"] == "dropped"], t.texts


def test_browsers_send_the_token_as_a_subprotocol(server, session):
    command = terminal(server, session, "cat")
    with Terminal(server, session, command, protocols=("belljar.terminal", f"belljar.token.{server.token}"), token=False) as t:
        assert t.protocol == "belljar.terminal"
        t.line("hello")
        t.wait("hello\r\nhello\r\n")
    for protocols in ((), ("belljar.terminal",), ("belljar.terminal", "belljar.token.bj_" + "0" * 64), ("belljar.token.",)):
        with pytest.raises(Refused) as refused:
            Terminal(server, session, command, protocols=protocols, token=False)
        assert refused.value.status == 401, refused.value


def test_other_pages_and_other_sessions_are_refused(server, session):
    command = terminal(server, session, "cat")
    with server.session() as other, pytest.raises(Refused) as refused:
        Terminal(server, other, command)
    assert refused.value.status == 404
    with pytest.raises(Refused) as refused:
        Terminal(server, session, command, headers={"Origin": "https://evil.example"})
    assert refused.value.status == 403
    with pytest.raises(Refused) as refused:
        Terminal(server, session, command, headers={"Upgrade": None})
    assert refused.value.status == 426


def test_messages_that_mean_nothing_are_answered_and_end_nothing(shell):
    for text in ("", "{", "[]", '{"type":"resize"}', '{"type":"resize","cols":0,"rows":5}', '{"type":"signal","signal":"SEGV"}', '{"type":"x"}', '{"type":"signal"}', '"' + "x" * 60000 + '"'):
        shell.send(text)
        got = json.loads(shell.read())
        assert got["type"] == "error" and got["error"]["message"], (text, got)
    shell.send(b"")
    shell.line("echo st''ill")
    shell.wait("still")


def test_what_is_not_read_is_bounded(server, session):
    with Terminal(server, session, terminal(server, session, "sh", "-c", "stty raw -echo; echo ready; sleep 100")) as t:
        t.wait("ready")
        for _ in range(40):
            t.send(b"x" * 60000, BINARY)
        while (got := json.loads(t.read()))["type"] != "error":
            pass
        assert got["error"]["code"] == "busy", got


def test_a_ninth_client_is_refused(server, session):
    command = terminal(server, session, "cat")
    clients = [Terminal(server, session, command) for _ in range(8)]
    with pytest.raises(Refused) as refused:
        Terminal(server, session, command)
    assert refused.value.status == 429
    for client in clients:
        client.close()


def test_too_long_a_message_ends_the_connection_and_not_the_command(server, session):
    command = terminal(server, session, "cat")
    with Terminal(server, session, command) as t:
        t.send(b"x" * 70000, BINARY)
        assert t.read_close()[0] == 1009
    with Terminal(server, session, command) as t:
        t.line("hello")
        t.wait("hello\r\nhello")


# --- hostile programs, and ends ---


def test_killing_it_kills_its_jobs(server, session):
    with Terminal(server, session, terminal(server, session)) as t:
        t.wait("ready> ")
        t.line("set -m; sleep 901 & sleep 902 & nohup sleep 903 & disown -a; echo r''un; sleep 904")
        t.wait("run\r\n")
        ids = [c["id"] for c in server.get(f"/v1/sessions/{session}/commands").json["commands"]]
        server.call("DELETE", f"/v1/sessions/{session}/commands/{ids[0]}")
        assert t.end()[0]["status"] == "cancelled"
    got = start(server, session, "while pgrep -x sleep > out; do sleep 0.02; done; echo none", timeout_s=20)
    assert got["stdout"] == "none\n", got


@pytest.mark.parametrize("program", [
    "stty -echo raw; exec 0<&-; sleep 100",
    "trap '' HUP TERM INT TSTP QUIT; while :; do sleep 1; done",
    "kill -STOP $$",
    "exec 0<&- 1>&- 2>&-; sleep 100",
    "while :; do stty -a > /dev/null; stty raw; stty sane; done",
    "yes > /dev/tty & yes > /dev/tty & yes",
    "stty -ixon raw; cat /dev/urandom",
    "printf '\\023'; stty -ixany; while :; do printf 'x\\n\\007\\033[6n'; done",
])
def test_a_hostile_program_ends_with_its_session(server, program):
    with server.session() as session:
        command = terminal(server, session, "sh", "-c", program)
        with Terminal(server, session, command) as t:
            t.send(b"\x11keys\x13\x00\xff\xfe" * 1000, BINARY)
            assert server.execute(session, "print(6 * 7)")["stdout"] == "42\n"
        server.call("DELETE", f"/v1/sessions/{session}/commands/{command}")
        assert wait_for_end(server, session, command)["status"] == "cancelled"


def test_the_end_of_the_session_ends_it(server):
    with server.session() as session:
        t = Terminal(server, session, terminal(server, session))
        t.wait("ready> ")
    last, _ = t.end()
    assert last["type"] == "error" and "closed" in last["error"]["message"], last
    t.close()


def test_nothing_is_left_after_the_server_was_killed(who):
    """The `watch` fixture looks."""
    server = Server(who, "--socket", "none")
    session = server.post("/v1/sessions", {}).json["session_id"]
    t = Terminal(server, session, terminal(server, session))
    t.wait("ready> ")
    t.line("sleep 1000 & yes")
    t.wait("y\r\ny\r\n")
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    t.close()


# --- `belljar exec -t` ---


def remote(server, *args):
    return Exec(server.who, "--server", f"http://127.0.0.1:{server.port}", *args, env={"BELLJAR_TOKEN": server.token})


def test_exec_in_a_session(server, session):
    server.execute(session, "open('made', 'w').write('here')")
    with remote(server, "--session", session, *OWN_SHELL) as t:
        t.wait("ready> ")
        assert t.cell("cat made; echo; stty size; echo $TERM", "ready> ").split() == ["here", "40", "100", "xterm"]
        t.resize(33, 77)
        t.line("until [ \"$(stty size)\" = '33 77' ]; do sleep 0.05; done; echo re''sized")
        t.wait("resized")
        t.line("sh -c 'echo st\"\"arted; exec cat'")
        t.wait("started\r\n")
        t.type(CONTROL_Z)
        t.wait("Stopped")
        t.wait("ready> ")
        t.line("fg")
        t.wait("exec cat'\r\n")
        t.line("two")
        t.wait("two\r\ntwo\r\n")
        t.type(CONTROL_C)
        t.wait("ready> ")
        t.line("seq 200000; echo en''d")  # more than the server keeps
        t.wait("\r\n199999\r\n200000\r\nend\r\n")
        t.line("exit 7")
        assert t.end() == 7
    assert server.get(f"/v1/sessions/{session}").status == 200


def test_exec_on_a_server_has_a_session_of_its_own(server):
    before = len(server.get("/v1/sessions").json["sessions"])
    with remote(server, "--", "cat") as t:
        t.type("hello\r")
        t.wait("hello\r\nhello\r\n")
        assert len(server.get("/v1/sessions").json["sessions"]) == before + 1
        t.type(CONTROL_D)
        assert t.end() == 0
    assert len(server.get("/v1/sessions").json["sessions"]) == before


def test_exec_that_cannot_begin_says_why(server, session):
    for args, code, words in (
        (("--session", session, "--", "no-such-command"), 127, "not found"),
        (("--session", session, "-C", "/nonexistent", "--", "true"), 64, "workdir"),
        (("--session", session, "--memory", "64", "--", "true"), 64, "can no longer be changed"),
    ):
        with remote(server, *args) as t:
            assert t.end() == code and words in t.seen.decode(), (args, t.seen)
    for args in (["run", "-t", "--session", session, "-c", "1"],):
        answer = server.who.call(*args)
        assert answer.code == 64 and "exec -t --session" in answer.errors, answer


def test_exec_ends_what_it_began(server, session):
    with remote(server, "--session", session, "--", "sh", "-c", "echo ready; sleep 1000") as t:
        t.wait("ready")
        t.process.send_signal(signal.SIGHUP)
        assert t.end() == 130
    wait_until(lambda: server.get(f"/v1/sessions/{session}").json["commands"] == 0, "the command ends")
