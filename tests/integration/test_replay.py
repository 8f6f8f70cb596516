"""belljar audit replay: runs of the trail once more, and whether they gave the same."""
import hashlib
import json
import shutil

import pytest

import test_seed
from serving import Server

pytestmark = pytest.mark.usefixtures("fresh_trail")


@pytest.fixture
def fresh_trail(who):
    shutil.rmtree(who.home / "state", ignore_errors=True)


def replay(who, *words, env=None):
    answer = who.call("audit", "replay", "--json", *words, env=env)
    return answer, [json.loads(line) for line in answer.text.splitlines()]


def run(who, code, *args, **more):
    return who.run(code, *args, **more).json["id"]


def test_a_whole_trail_of_runs_with_a_seed(who):
    for name in ("random", "uuid", "time", "strings", "objects", "directory", "tempfile", "numpy", "children", "traceback"):
        run(who, test_seed.PROGRAMS[name], "--seed", "7")
    who.call("run", "--seed", "1", "--profile", "open", "-l", "bash", "-c", "echo $RANDOM; date; exit 3")
    answer, rows = replay(who, "--since", "1h", "--all")
    assert answer.code == 0 and [row["verdict"] for row in rows] == ["identical"] * 11, rows
    assert "11 identical, 0 different, 0 cannot be repeated" in answer.errors
    # Replays are recorded and not repeated themselves.
    answer, rows = replay(who, "--since", "1h", "--all")
    assert len(rows) == 11 and answer.code == 0
    assert who.call("audit", "verify").code == 0


def test_the_first_difference_is_told(who):
    keep = {"BELLJAR_TRAIL_KEEP": "all"}
    first = run(who, "import time\nprint('same')\nprint(time.time_ns())", env=keep)
    answer, rows = replay(who, first)
    assert answer.code == 1 and rows == [{"id": first, "verdict": "different", "why": "stdout differs from line 2 on (it had no seed)"}]
    hashed = run(who, "import time\nprint(time.time_ns())")
    assert replay(who, hashed)[1][0]["why"] == "stdout differs (it had no seed)"
    steady = run(who, "print(1)")
    assert replay(who, steady)[1][0] == {"id": steady, "verdict": "identical", "why": None}


def test_input_files_variables_and_limits_come_from_the_record(who):
    keep = {"BELLJAR_TRAIL_KEEP": "all"}
    data = who.file("input.txt", "from outside\n")
    code = "import os, resource; print(input(), os.environ['NAME'], resource.getrlimit(resource.RLIMIT_NOFILE))"
    done = run(who, code, "--seed", "3", "--stdin", data, "--env", "NAME=value", env=keep)
    data.write_text("another\n")
    assert replay(who, done)[1][0]["verdict"] == "identical"
    program = who.file("args.py", "import sys; print(sys.argv, __name__)")
    answer = who.call("run", "--json", "--seed", "1", "--profile", "open", program, "a", "b")
    assert replay(who, answer.json["id"])[1][0]["verdict"] == "identical"


@pytest.mark.parametrize("code, args, env, why", [
    ("print(1)", (), {"BELLJAR_TRAIL_KEEP": "none"}, "the program was not kept"),
    ("x = 'password = \"falcon_07aj86cC!\"'", (), {}, "held secrets"),
    ("print(input())", ("--stdin", "/etc/hostname"), {}, "standard input was not kept"),
    ("print(1)", ("--env", "A=b"), {}, "variables were not kept"),
    ("print(1)", ("--env", "DB_PASSWORD=falcon_07aj86cC!"), {"BELLJAR_TRAIL_KEEP": "all"}, "variables held secrets"),
])
def test_what_cannot_be_repeated_says_why(who, code, args, env, why):
    done = run(who, code, *args, env=env)
    answer, rows = replay(who, done)
    assert answer.code == 1 and rows[0]["verdict"] == "cannot be repeated" and why in rows[0]["why"], rows


def test_a_secret_among_the_arguments_is_not_kept_nor_run_without(who):
    program = who.file("argued.py", "import sys\nprint(len(sys.argv[-1]))\n")
    done = who.call("run", "--json", program, "x", "--", "--password", "falcon_07aj86cC!").json
    assert done["stdout"] == "16\n"
    records = who.call("audit", "export").text
    assert "falcon" not in records and '"--password","[REDACTED_SECRET]"' in records
    assert "arguments held secrets" in replay(who, done["id"])[1][0]["why"]


def test_a_record_that_somebody_changed_is_not_run(who):
    done = run(who, "print('as it was')")
    (file,) = (who.home / "state" / "belljar" / "trail").glob("0*.jsonl")
    lines = file.read_bytes().splitlines()
    for i, line in enumerate(lines):
        if b"as it was" in line:
            code = "print('as it was now')"
            record = json.loads(line)
            other = line.replace(b"print('as it was')", code.encode())
            other = other.replace(record["code"]["sha256"].encode(), hashlib.sha256(code.encode()).hexdigest().encode())
            head, tail = other.rsplit(b',"hash":"', 1)
            lines[i] = head + b',"hash":"' + hashlib.sha256(head).hexdigest().encode() + tail[64:]
    file.write_bytes(b"\n".join(lines) + b"\n")
    answer, rows = replay(who, done)
    assert answer.code == 1 and rows[0]["verdict"] == "cannot be repeated" and "was changed" in rows[0]["why"], rows


def test_a_directory_that_was_writable_is_not_written_again(who):
    place = who.directory("replayed")
    who.own(place)
    code = f"open('{place}/f', 'a').write('x')"
    done = run(who, code, "--allow", f"{place}:rw")
    assert "directory of the host" in replay(who, done)[1][0]["why"] and (place / "f").read_text() == "x"
    seen = run(who, f"print(open('{place}/f').read())", "--allow", place)
    assert replay(who, seen)[1][0]["verdict"] == "identical"
    (place / "f").write_text("y")
    assert replay(who, seen)[1][0]["verdict"] == "different"


def test_runs_and_cells_of_a_server(who):
    with Server(who, "--socket", "none") as server:
        done = server.call("POST", "/v1/run", {"code": "import random; print(random.random())", "seed": 9}).json["id"]
        given = server.call("POST", "/v1/run", {"code": "print(open('a.txt').read())", "files": [{"path": "a.txt", "content": "hello"}]}).json["id"]
        server.call("POST", "/v1/sessions", {"name": "a"})
        cell = server.call("POST", "/v1/sessions/a/execute", {"code": "x = 1"}).json["id"]
    assert replay(who, done)[1][0]["verdict"] == "identical"
    assert "file of it was not kept" in replay(who, given)[1][0]["why"]
    assert "the cells before it" in replay(who, cell)[1][0]["why"]


def test_what_is_not_there(who):
    run(who, "print(1)")
    answer = who.call("audit", "replay", "run_of_nobody")
    assert answer.code != 0 and "no such run" in answer.errors
    assert who.call("audit", "replay", "a", "b").code == 64
    assert "trail is off" in who.call("audit", "replay", "x", env={"BELLJAR_TRAIL": "off"}).errors
