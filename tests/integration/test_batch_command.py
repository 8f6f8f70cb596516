"""`belljar batch`: many programs, here and on a server, and a table of how they ended."""
import json
import signal

import belljar
import pytest

PROGRAMS = {
    "a.py": ("print(open('/dev/null').read() + 'a')", "success", 0),
    "b.py": ("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)", "error", 3),
    "c.py": ("raise ValueError('why \\x1b[2J not')", "error", 1),
    "d.sh": ("echo d; exit 4", "error", 4),
    "e.py": ("while True: pass", "timeout", 124),
    "f.py": ("", "failed", None),
    "g.py": ("\x00", "failed", None),
    "h.py": ("print(input())", "success", 0),
}


@pytest.fixture(params=["here", "there"])
def batch(request, server):
    """The command, in its own process and on the server."""
    env = {"BELLJAR_SERVER": f"unix:{server.socket}"} if request.param == "there" else {}

    def call(*args, **more):
        return server.who.call("batch", *args, env={**env, "BELLJAR_PROFILE": "open", "BELLJAR_PRELOAD": ""}, **more)

    call.who = server.who
    return call


def folder_of(who, programs):
    folder = who.directory("batch")
    for name, text in programs.items():
        (folder / name).write_text(text)
        who.own(folder / name)
    return folder


def test_each_ends_in_its_own_way(batch):
    folder = folder_of(batch.who, {name: text for name, (text, _, _) in PROGRAMS.items()} | {"notes.txt": "no program", ".hidden.py": "1"})
    case, into = batch.who.file("case.txt", "from the file\n"), batch.who.directory("into") / "new"
    flags = ("--timeout", "2", "--stdin", case)
    answer = batch(*flags, "--json", "--into", into, folder)
    assert answer.code == 1, answer
    rows = sorted(map(json.loads, answer.text.splitlines()), key=lambda row: row["index"])
    assert [row["name"] for row in rows] == [f"{folder}/{name}" for name in PROGRAMS]
    for row, (name, (_, outcome, code)) in zip(rows, PROGRAMS.items()):
        assert (row["result"]["status"], row["result"]["exit_code"]) == (outcome, code) if code is not None else "message" in row["error"], row
    assert {p.name for p in into.iterdir()} == {f"{n}.{s}" for n, (_, o, _) in PROGRAMS.items() if o != "failed" for s in ("out", "err")}
    assert (into / "b.py.out").read_text() == "out\n" and (into / "b.py.err").read_text() == "err\n"
    assert (into / "h.py.out").read_text() == "from the file\n"
    (folder / "e.py").write_text("1")  # the table needs no second timeout
    table = batch(*flags, folder)
    lines = table.text.splitlines()
    assert table.code == 1 and lines[0].split() == ["NAME", "OUTCOME", "TIME", "MEMORY", "DETAIL"], table
    for line, (name, (_, outcome, code)) in zip(lines[1:], PROGRAMS.items(), strict=True):
        outcome = "success" if name == "e.py" else outcome
        assert line.startswith(f"{folder}/{name}  ") and (f"error, exit {code}  " if outcome == "error" else f"{outcome}  ") in line, line
        assert line == line.rstrip() and b"\x1b" not in table.out
    assert "ValueError: why" in lines[3] and "the program is empty" in lines[6]
    assert b"\r" not in table.err and "3 success, 3 error, 2 failed in " in table.errors, table


def test_names_come_from_everywhere(batch):
    one, two = (folder_of(batch.who, {"same.py": f"print({i})", "x.py": "1"}) for i in range(2))
    into = batch.who.directory("twins")
    answer = batch("--jobs", "1", "--into", into, "-", two / "same.py", input=f"{one}/same.py\n\n{one}/x.py\n".encode())
    assert answer.code == 0 and [line.split()[0] for line in answer.text.splitlines()[1:]] == [f"{one}/same.py", f"{one}/x.py", f"{two}/same.py"], answer
    assert (into / "same.py.out").read_text() == "0\n" and (into / "same.py-2.out").read_text() == "1\n"


def test_output_does_not_follow_links(batch):
    folder, into = folder_of(batch.who, {"a.py": "print(1)"}), batch.who.directory("links")
    victim = batch.who.file("victim", "untouched")
    (into / "a.py.out").symlink_to(victim)
    answer = batch("--into", into, folder)
    assert answer.code == 71 and "--into" in answer.errors and victim.read_text() == "untouched", answer


@pytest.mark.parametrize("args, code, said", [
    ([], 64, "no program was given"),
    (["/no/such/file.py"], 66, "No such file"),
    (["EMPTY"], 66, "there are no programs in"),
    (["--jobs", "0", "A"], 64, "--jobs"),
    (["--jobs", "1001", "A"], 64, "--jobs"),
    (["--jobs", "x", "A"], 64, "--jobs"),
    (["--stdin", "-", "A"], 64, "--stdin -"),
])  # fmt: skip
def test_a_mistake_is_named(user, args, code, said):
    places = {"A": user.file("a.py", "1"), "EMPTY": user.directory("empty")}
    answer = user.call("batch", *[places.get(a, a) for a in args])
    assert answer.code == code and said in answer.errors and not answer.out, answer


def test_ctrl_c_ends_what_runs_and_begins_nothing(user):
    folder = folder_of(user, {f"{i}.py": "import time\nopen('begun', 'w')\nprint('x', flush=True)\ntime.sleep(100)" for i in range(4)} | {"0.py": "1"})
    process = user.start("batch", "--jobs", "2", "--json", folder, env={"BELLJAR_PROFILE": "open", "BELLJAR_TIMEOUT_S": "120"})
    assert b'"status":"success"' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 130 and out.count(b'"status":"cancelled"') <= 2 and out.count(b"\n") < 4, (out, err)


def test_hundreds_of_programs(batch):
    folder = folder_of(batch.who, {f"p{i:03}.py": f"print({i})" for i in range(120)})
    answer = batch("--jobs", "4", folder)
    assert answer.code == 0 and answer.text.count("  success  ") == 120, answer
    assert "120 success in " in answer.errors


def test_a_hostile_server_of_a_batch(user):
    from test_run_server import HEAD, chunk, hostile

    path = user.file("one.py", "1")
    for events in (
        b"",
        b"event: run\ndata: {}\n\n",
        b'event: run\ndata: {"id":"7","result":{"status":"success"}}\n\n',
        b'event: run\ndata: {"id":"-1","result":{}}\n\n',
        b'event: run\ndata: {"id":"0","result":7}\n\nevent: run\ndata: {"id":"0","result":7}\n\n',
        b'event: run\ndata: {"id":"0","result":{"status":7}}\n\n',
        b'event: summary\ndata: {}\n\n',
    ):
        answer = user.call("batch", "--server", hostile(HEAD + (chunk(events) if events else b"") + b"0\r\n\r\n"), path)
        assert answer.code == 76 and "belljar: " in answer.errors, answer
