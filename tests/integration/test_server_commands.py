"""`run -d`, `ps`, `logs` and `stop`: programs on a server that go on without their client."""
import os
import re
import signal
import subprocess
import time

import belljar
import pytest

from prompt import CONTROL_C, Prompt
from serving import wait_until
from test_run_server import HEAD, chunk, hostile

SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(120)\n"


class Commands:
    """The commands, asked of one server over its Unix socket."""

    def __init__(self, server):
        self.server = server
        self.where = {"BELLJAR_SERVER": f"unix:{server.socket}"}

    def __call__(self, *args, **more):
        return self.server.who.call(*args, env={**self.where, **more.pop("env", {})}, **more)

    def start(self, *args):
        return self.server.who.start(*args, env=self.where)

    def detach(self, code, *flags):
        answer = self("run", "-d", "--profile", "open", "--timeout", "130", *flags, "-c", code)
        assert answer.code == 0 and re.fullmatch(r"run_[0-9A-Z]{26}\n", answer.text) and not answer.err, answer
        return answer.text.strip()

    def state(self, run):
        found = [r["state"] for r in self("ps", "--all", "--json").json["runs"] if r["id"] == run]
        return found[0] if found else None

    def until(self, run, state):
        wait_until(lambda: self.state(run) == state, f"{run} is {state}")


class Terminal(Prompt):
    """One of the commands, on a terminal."""

    def __init__(self, commands, command, *args):
        self.command = command
        super().__init__(commands.server.who, *args, env=commands.where)


@pytest.fixture
def commands(server):
    return Commands(server)


def test_a_detached_program_goes_on_and_its_output_is_kept(commands):
    run = commands.detach("import sys\nprint('out é')\nprint('err', file=sys.stderr)\nsys.exit(3)")
    followed = commands("logs", "--follow", run)
    assert (followed.code, followed.text, followed.errors) == (3, "out é\n", "err\n"), followed
    again = commands("logs", run)
    assert (again.code, again.out, again.err) == (0, followed.out, followed.err), again
    assert commands("logs", "--json", run).json["exit_code"] == 3


def test_logs_end_like_the_run(commands):
    here = commands.server.who.call("run", "-c", "def f():\n    1 / 0\nf()")
    run = commands.detach("def f():\n    1 / 0\nf()")
    there = commands("logs", "-f", run)
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err), there
    limited = commands("run", "-d", "--timeout", "1", "-c", "while True: pass").text.strip()
    assert commands("logs", "-f", limited).code == 124


def test_logs_on_a_terminal_say_it_once(commands):
    run = commands.detach("1 / 0")
    assert commands("logs", "-f", run).code == 1
    with Terminal(commands, "logs", run) as shown:
        assert shown.end() == 0 and b"exit 1" in shown.seen, shown.seen
        assert shown.seen.count(b"ZeroDivisionError") == 1, shown.seen


def test_logs_of_a_program_that_runs(commands):
    run = commands.detach(SLEEP)
    wait_until(lambda: commands("logs", run).text == "begun\n", "its first line is there")
    assert commands("logs", "--json", run).json["status"] == "running"
    process = commands.start("logs", "-f", run)
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)  # ends the reader alone
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert commands.state(run) == "running"
    process = commands.start("logs", "-f", run)
    assert process.stdout.readline() == b"begun\n"
    stopped = commands("stop", run)
    assert (stopped.code, stopped.text) == (0, f"{run}\n"), stopped
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert (process.returncode, out) == (130, b"") and b"cancelled" in err, err
    again = commands("stop", run)
    assert again.code == 1 and "has already ended" in again.errors, again


def test_all_of_a_long_output_is_shown(commands):
    lines = "".join(f"{i}\n" for i in range(60000))
    run = commands.detach("for i in range(60000): print(i)", "--output", "1000")
    assert commands("logs", "-f", run).text == lines
    assert commands("logs", run).text == lines


def test_ps_lists_runs_cells_and_sessions(commands):
    name = f"agent-{time.monotonic_ns()}"
    run, cell = commands.detach("\n" + SLEEP), commands.detach(SLEEP, "--session", name)
    for one in (run, cell):
        commands.until(one, "running")
    rows = {line.split()[0]: line.split() for line in commands("ps").text.splitlines()}
    assert rows["ID"] == ["ID", "KIND", "STATE", "LANGUAGE", "AGE", "OWNER", "CODE", "OR", "NAME"]
    assert rows[run][1:4] == ["run", "running", "python"] and rows[run][-2:] == ["import", "time"]
    assert rows[cell][1:3] == ["cell", "running"]
    command = commands("exec", "-d", "--session", name, "--", "sleep", "100").text.strip()
    listed = next(line.split() for line in commands("ps", "--all").text.splitlines() if line.startswith(command))
    assert listed[1:4] == ["command", "running", "command"]
    assert commands("stop", command).code == 0
    session = next(row for row in rows.values() if row[-1] == name)
    assert session[1:4] == ["session", "busy", "-"]
    widths = {re.match(r"\S+ +\S+ +", line).end() for line in commands("ps").text.splitlines()}
    assert len(widths) == 1, "columns are aligned"
    assert commands("stop", cell).code == 0
    wait_until(lambda: commands("session", "show", name).json["state"] == "idle", "the session goes on")
    assert commands("stop", name, run).code == 0
    commands.until(run, "cancelled")
    assert name not in commands("ps").text and run not in commands("ps").text and run in commands("ps", "-a").text


def test_ids_may_be_shortened(commands):
    runs = [commands.detach("print(%d)" % i) for i in range(2)]
    for i, run in enumerate(runs):
        assert commands("logs", "-f", run).text == f"{i}\n"
        for short in (run[4:], run[-6:], run[-6:].lower()):
            assert commands("logs", short).text == f"{i}\n"
    several = commands("logs", os.path.commonprefix(runs))
    assert several.code == 64 and "fits" in several.errors and runs[0] in several.errors and "give more of the id" in several.errors, several
    for word, code in (("run_none", 66), ("", 64), ("../../v1/stats", 66), ("x" * 5000, 66)):
        answer = commands("logs", word)
        assert answer.code == code and not answer.out, answer


def test_a_command_can_be_detached(commands):
    run = commands("exec", "-d", "--", "sh", "-c", "echo $((6 * 7)); exit 5").text.strip()
    answer = commands("logs", "-f", run)
    assert (answer.code, answer.text) == (5, "42\n"), answer


@pytest.mark.parametrize("args, said", [
    (["run", "-d", "--save", "/tmp", "-c", "1"], "--save does not work with -d"),
    (["run", "-d", "--check", "-c", "1"], "--check does not work with -d"),
    (["run", "-d", "--here", "-c", "1"], "--here does not work with a server"),
    (["logs"], "needs the id of one run"),
    (["logs", "a", "b"], "needs the id of one run"),
    (["stop"], "needs the id of a run or session"),
    (["ps", "x"], "does not take `x`"),
])  # fmt: skip
def test_a_mistake_is_named(commands, args, said):
    answer = commands(*args)
    assert answer.code == 64 and said in answer.errors and "hint: " in answer.errors and not answer.out, answer


def test_without_a_server_each_says_so(user):
    for args in (["run", "-d", "-c", "1"], ["ps"], ["logs", "x"], ["stop", "x"]):
        answer = user.call(*args, env={"BELLJAR_SERVER": "unix:/nonexistent/x"})
        assert answer.code == 66 and "no server is running" in answer.errors and "belljar serve" in answer.errors, answer


def test_other_tokens_see_nothing(commands):
    who, server = commands.server.who, commands.server
    run = commands.detach(SLEEP)
    token = who.call("token", "add", f"other-{time.monotonic_ns()}").text.strip()
    other = {"BELLJAR_SERVER": f"http://127.0.0.1:{server.port}", "BELLJAR_TOKEN": token}
    assert run not in who.call("ps", "--all", env=other).text
    for command in ("logs", "stop"):
        answer = who.call(command, run, env=other)
        assert answer.code == 66 and "no run or session" in answer.errors, answer
    wrong = who.call("ps", env={**other, "BELLJAR_TOKEN": "bj_wrong"})
    assert wrong.code == 77 and "--token-file" in wrong.errors and "bj_wrong" not in wrong.errors, wrong
    assert commands("stop", run).code == 0


def reply(body, kind=b"application/json"):
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


@pytest.mark.parametrize("body", [b"", b"7", b"[]", b"{}", b'{"runs":7}', b'{"runs":[7]}', b'{"runs":[{"id":"../x"}]}', b'{"runs":[{"id":"a\\u001b[2J"}]}', b'{"id":7}', b'{"id":"\\n"}'])  # fmt: skip
def test_a_hostile_list_is_refused(user, body):
    for command, *args in (["ps"], ["logs", "x"], ["stop", "x"], ["run", "-d", "-c", "1"]):
        answer = user.call(command, "--server", hostile(reply(body)), *args)
        assert answer.code in (76, 125) and not answer.out and answer.errors.startswith("belljar: "), answer


def test_a_hostile_list_moves_no_cursor(user):
    body = b'{"runs":[{"id":"run_1","state":"\\u001b[2J\\u202e","language":7,"age_s":1e300,"owner":"' + b"x" * 9000 + b'","code":"a\\nb\\tc"}],"sessions":[]}'
    answer = user.call("ps", "--server", hostile(reply(body), reply(body)))
    assert answer.code == 0 and b"\x1b" not in answer.out and "\u202e" not in answer.text, answer
    assert len(answer.text.splitlines()) == 2 and len(answer.out) < 1000, answer


@pytest.mark.parametrize("events", [
    b"",
    b'event: result\ndata: {}\n\n',
    b'event: result\ndata: []\n\n',
    b'event: error\ndata: {"error":7}\n\n',
    b'event: stdout\ndata: {"text":7}\n\n',
    b'event: dropped\ndata: {"bytes":-1,"stream":7}\n\n',
])  # fmt: skip
def test_hostile_events_end_with_an_error(user, events):
    lists = reply(b'{"runs":[{"id":"run_1"}],"sessions":[]}')
    answer = user.call("logs", "-f", "run_1", "--server", hostile(lists, lists, HEAD + (chunk(events) if events else b"") + b"0\r\n\r\n"), hang=30)
    assert answer.code in (76, 125, 70, 71) and "belljar: " in answer.errors, answer


# --- files of a session ---

ODD = ["a b.txt", "é€.bin", "%2e%2e", "#?&.x", "-dash"]


@pytest.fixture
def session(commands):
    name = f"files-{time.monotonic_ns()}"
    assert commands("run", "--session", name, "-c", "1").code == 0
    yield name
    commands("session", "rm", name)


def test_files_go_both_ways_byte_by_byte(commands, session):
    who = commands.server.who
    here, there = who.directory("put"), who.directory("got")
    contents = {name: os.urandom(1000 + i) for i, name in enumerate(ODD)} | {"empty": b"", "large": os.urandom(9_000_000)}
    for name, data in contents.items():
        (here / name).write_bytes(data)
        who.own(here / name)
    (here / "empty").chmod(0o755)
    put = commands("session", "put", "--into", "in/it", "--", session, *[f"{here}/{name}" for name in contents])
    assert (put.code, put.out, put.err) == (0, b"", b""), put
    listed = {f["path"]: f for f in commands("session", "files", session, "in", "--json").json}
    assert {f"in/it/{name}": len(data) for name, data in contents.items()} == {p: f["size"] for p, f in listed.items() if f["kind"] == "file"}
    assert (listed["in/it/empty"]["mode"], listed["in/it/large"]["mode"]) == ("0755", "0644")
    got = commands("session", "get", "--into", there, "--", session, *[f"in/it/{name}" for name in contents])
    assert got.code == 0, got
    assert {path.name: path.read_bytes() for path in there.iterdir()} == contents
    assert commands("session", "get", session, "in/it/large", "--into", "-").out == contents["large"]
    table = commands("session", "files", session).text.splitlines()
    assert table[0].split() == ["SIZE", "MODIFIED", "KIND", "PATH"] and any(line.endswith("in/it/é€.bin") for line in table), table


def test_a_file_moves_no_cursor(commands, session):
    commands("run", "--session", session, "-c", r"open('/workspace/f', 'w').write('a\x1b[2J\x1b]0;t\x07b\n')")
    assert commands("session", "get", session, "f", "--into", "-").out == b"a\x1b[2J\x1b]0;t\x07b\n"
    with Terminal(commands, "session", "get", session, "f", "--into", "-") as shown:
        assert shown.end() == 0 and rb"a\x1b[2J\x1b]0;t\x07b" in shown.seen, shown.seen
        assert b"\x1b]" not in shown.seen and b"\x1b[2J" not in shown.seen, shown.seen


def test_nothing_is_overwritten_without_force(commands, session):
    who = commands.server.who
    one, two = who.directory("one"), who.directory("two")
    for folder, text in ((one, "first"), (two, "second")):
        (folder / "f").write_text(text)
        who.own(folder / "f")
    missing = commands("session", "get", session, "nope", "--into", "-")
    assert missing.code == 66 and f"`belljar session files {session}` lists what is there" in missing.errors, missing
    content = lambda: commands("session", "get", session, "f", "--into", "-").text  # noqa: E731
    assert commands("session", "put", session, one / "f").code == 0
    again = commands("session", "put", session, two / "f")
    assert again.code == 64 and "`f` exists" in again.errors and "--force" in again.errors and content() == "first", again
    assert commands("session", "put", "--force", session, two / "f").code == 0 and content() == "second"
    back = commands("session", "get", session, "f", "--into", one)
    assert back.code == 64 and "`f` exists" in back.errors and (one / "f").read_text() == "first", back
    assert commands("session", "get", session, "f", "--into", one, "--force").code == 0 and (one / "f").read_text() == "second"
    (one / "f").unlink()
    (one / "f").symlink_to(two / "f")  # what a link leads to is left alone
    (two / "f").write_text("third")
    assert commands("session", "get", session, "f", "--into", one, "--force").code == 0
    assert not (one / "f").is_symlink() and (two / "f").read_text() == "third"
    assert {path.name for path in one.iterdir()} == {"f"}


@pytest.mark.parametrize("args, code, said", [
    (["put", "SESSION", "/"], 64, "does not name a file"),
    (["put", "SESSION", "/no/such/file"], 66, "No such file"),
    (["put", "SESSION", "/tmp"], 64, "is not a file"),
    (["put", "SESSION", "/dev/zero"], 64, "is not a file"),
    (["put", "none", "/etc/hostname"], 66, "none: there is no session"),
    (["put", "SESSION"], 64, "the name of a session and files"),
    (["put", "SESSION", "/etc/hostname", "--into", "../x"], 64, "must not contain `..`"),
    (["get", "SESSION", "none"], 66, "none"),
    (["get", "SESSION", "../../etc/passwd"], 64, "must not contain `..`"),
    (["get", "SESSION", "a/.."], 64, "does not name a file"),
    (["get", "SESSION", "x", "--into", "/no/such/place"], 66, "--into"),
    (["get", "none", "x"], 66, "none: there is no session"),
    (["files", "none"], 66, "no session"),
    (["files", "a", "b", "c"], 64, "takes"),
])  # fmt: skip
def test_a_mistake_with_files_is_named(commands, session, args, code, said):
    answer = commands("session", *[session if a == "SESSION" else a for a in args])
    assert answer.code == code and said in answer.errors, answer


def test_a_hostile_server_of_files(user):
    """A file that is cut leaves nothing, and a list that never ends is given up."""
    target = user.directory("hostile-files")
    short = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"
    answer = user.call("session", "get", "s", "f", "--into", target, "--server", hostile(short))
    assert answer.code in (71, 76) and not list(target.iterdir()), answer
    for body in (b'{"files":[7],"has_more":true}', b'{"files":[{"path":"\\u001b[2J"}],"has_more":false}', b'{"files":7,"has_more":true}'):
        answer = user.call("session", "files", "s", "--server", hostile(reply(body)))
        assert b"\x1b" not in answer.out + answer.err and answer.code in (0, 76), answer


# --- a prompt in a session of the server ---


def test_cells_from_a_pipe_go_to_the_session(commands, session):
    commands("run", "--session", session, "-c", "x = 41")
    answer = commands("shell", "--session", session, input=b"x + 1\nprint('\xc3\xa9')\n:lang bash\necho $((6 * 7))\n:lang python\nx = 5\n")
    assert (answer.code, answer.text, answer.errors) == (0, "42\n\u00e9\n42\n", ""), answer
    assert commands("run", "--session", session, "-c", "print(x)").text == "5\n", "the session lives on"
    asking = commands("shell", "--session", session, input=b"input()\n")
    assert "EOFError" in asking.errors and "standard input has the cells" in asking.errors and "--stdin" not in asking.errors, asking
    failing = commands("shell", "--session", session, input=b"1 / 0\n")
    assert failing.code == 1 and "ZeroDivisionError" in failing.errors, failing
    refused = commands("shell", "--session", session, input=b":fork\n")
    assert refused.code == 69 and "does not work in a session of a server" in refused.errors, refused


def test_a_person_sees_what_others_do_in_the_session(commands, session):
    prompt = Prompt(commands.server.who, "--session", session, env=commands.where)
    prompt.wait("leaving does not end it")
    prompt.wait(">>> ")
    cell = commands("run", "-d", "--timeout", "130", "--session", session, "-c", SLEEP).text.strip()
    commands.until(cell, "running")
    prompt.line("y = 7")
    prompt.wait(f"the session is busy with {cell}: import time")
    assert commands("stop", cell).code == 0
    prompt.wait(">>> ")
    commands("run", "--session", session, "-c", "z = 8")
    prompt.line("y + z")
    prompt.wait("other cells ran in the session meanwhile")
    prompt.wait("15")
    prompt.wait(">>> ")
    prompt.line("import time; print('be' + 'gun', flush=True); time.sleep(120)")
    prompt.wait("begun")
    prompt.type(CONTROL_C)
    prompt.wait("KeyboardInterrupt")
    prompt.wait(">>> ")
    prompt.line("y")
    prompt.wait("7")
    prompt.wait(">>> ")
    prompt.line("exit()")
    assert prompt.process.wait(timeout=belljar.HANG_SECONDS) == 0
    prompt.close()
    assert commands("run", "--session", session, "-c", "print(y)").text == "7\n"


def test_a_prompt_in_a_session_that_is_not_open_names_what_opens_it(commands):
    name = f"new-{time.monotonic_ns()}"
    answer = commands("shell", "--session", name, input=b"1\n")
    assert answer.code == 66 and "`belljar run --session NAME` opens one" in answer.errors, answer
    assert commands("run", "--session", name, "-c", "x = 5").code == 0
    assert commands("shell", "--session", name, input=b"print(x)\n").text == "5\n"


def test_a_session_that_ends_ends_the_prompt(commands):
    name = f"ends-{time.monotonic_ns()}"
    assert commands("run", "--session", name, "-c", "1").code == 0
    process = commands.server.who.start("shell", "--session", name, env=commands.where, stdin=subprocess.PIPE)
    process.stdin.write(b"print('here', flush=True)\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"here\n"
    assert commands("session", "rm", name).code == 0
    out, err = process.communicate(b"1\nprint('not reached')\n", timeout=belljar.HANG_SECONDS)
    assert process.returncode == 66 and b"not reached" not in out and b"session" in err, (out, err)
    assert name not in commands("session", "list").text, "it is not opened again"


@pytest.mark.parametrize("args, code, said", [
    (["--session", "none"], 66, "no session"),
    (["--session", ""], 66, ""),
    (["--session", "../x"], 66, "no session"),
    (["--server", "http://127.0.0.1:1"], 64, "need --session"),
    (["--session", "SESSION", "--memory", "128"], 64, "--memory can no longer be changed"),
    (["--session", "SESSION", "--env", "A=b"], 64, "--env can no longer be changed"),
    (["--session", "x", "--server", "unix:/no/such/socket"], 66, "no server is running"),
])  # fmt: skip
def test_a_prompt_that_cannot_be(commands, session, args, code, said):
    answer = commands("shell", *[session if a == "SESSION" else a for a in args], input=b"print(1)\n")
    assert answer.code == code and said in answer.errors and not answer.out, answer


def test_a_limit_of_a_cell_holds_in_the_prompt(commands, session):
    answer = commands("shell", "--session", session, "--timeout", "1", input=b"while True: pass\n\n")
    assert answer.code == 124, answer
