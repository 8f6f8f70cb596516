"""Arguments, standard input and the language of `belljar run`."""
import hashlib
import json
import re
import os
import subprocess

import pytest

import belljar

ARGV = "import sys, json; print(json.dumps(sys.argv))"


def test_everything_after_the_program_is_the_programs(who):
    path = who.file("args.py", ARGV)
    for words in (["--timeout", "5", "x"], ["--verbose", "-c", "--", "-"], ["--json", "--help"], ["--allow=/"]):
        assert json.loads(who.call("run", path, *words).text) == ["args.py", *words]
        assert json.loads(who.call("run", "-c", ARGV, "a", *words).text) == ["-c", "a", *words]
        assert json.loads(who.call("run", "-c", ARGV, "--", *words).text) == ["-c", *words]
    assert who.call("run", "-l", "bash", "-c", 'echo "$#" "$@"', "a b", "--c").text == "2 a b --c\n"


def test_no_abbreviations(user):
    for word in ("--time=5", "--allo=/tmp", "--her"):
        answer = user.call("run", word, "-c", "print('ran')")
        assert answer.code == 64 and "unknown option" in answer.errors and "did you mean" in answer.errors and not answer.out, answer


# --- standard input ---


def test_a_pipe_is_passed_on_byte_for_byte(who):
    data = bytes(range(256)) * 10 + b"\0\xff\r\n no newline"
    for args in (["-l", "bash", "-c", "cat"], ["--profile", "open", "-c", "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"]):
        assert who.call("run", "--env", "A=b", *args, input=data, env={"BELLJAR_MASKING": "false"}).out == data


def test_much_input_in_constant_memory(user):
    code = "import sys, hashlib\nh, n = hashlib.sha256(), 0\nwhile b := sys.stdin.buffer.read1(65536):\n    h.update(b); n += len(b)\nprint(h.hexdigest(), n)"
    process = user.start("run", "--timeout", "300", "--profile", "open", "-c", code, stdin=subprocess.PIPE)
    piece, digest = os.urandom(1 << 20), hashlib.sha256()
    for _ in range(100):
        process.stdin.write(piece)
        digest.update(piece)
    if "ASAN_OPTIONS" not in os.environ:
        with open(f"/proc/{process.pid}/status") as f:
            assert next(int(line.split()[1]) for line in f if line.startswith("VmHWM:")) < 90_000
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert out.decode().split() == [digest.hexdigest(), str(100 << 20)], err


def test_a_file_is_read_as_far_as_the_program_reads(who):
    path = who.file("lines.txt", "".join(f"{i}\n" for i in range(5)))
    loop = f"while read line; do echo got $line; '{who.program}' run -c 'print(1)'; done < '{path}'"
    done = subprocess.run(["bash", "-c", loop], env=who.environment(), **who.identity(), capture_output=True, timeout=120)
    assert done.stdout.decode() == "".join(f"got {i}\n1\n" for i in range(5)), done
    with open(path, "rb") as f:
        process = who.start("run", "-l", "bash", "-c", "cat", stdin=f)
        assert process.communicate(timeout=belljar.HANG_SECONDS)[0] == b"0\n1\n2\n3\n4\n"
        assert f.read() == b""


def test_a_writer_that_never_ends_holds_up_nobody(who, watch):
    process = who.start("run", "-c", "print('done')", stdin=subprocess.PIPE)
    assert process.stdout.read() == b"done\n"
    assert process.wait(belljar.HANG_SECONDS) == 0
    process.stdin.close(), process.stdout.close(), process.stderr.close()


def test_the_program_on_standard_input_has_no_input(user):
    answer = user.call("run", "-", input=b"print(input())")
    assert answer.code == 1 and "EOFError" in answer.errors and "hint: " in answer.errors, answer


def test_input_that_is_passed_on_cannot_be_written(user):
    """Nor opened again: the sandbox has a pipe of its own."""
    path = user.file("mine.txt", "mine\n")
    code = "import os\nfor way in (os.O_RDWR, os.O_WRONLY):\n    try:\n        os.write(os.open('/proc/self/fd/0', way), b'x')\n    except OSError as e:\n        print(e)\nprint(os.readlink('/proc/self/fd/0'))"
    with open(path, "r+b") as f:
        process = user.start("run", "--profile", "open", "-c", code, stdin=f)
        out = process.communicate(timeout=belljar.HANG_SECONDS)[0]
    assert path.read_text() == "mine\n" and b"pipe:" in out, out


# --- the language ---


@pytest.mark.parametrize(
    "name, text, out",
    [
        ("a.py", "#!/bin/bash\nprint('python')", "python\n"),
        ("a.sh", "#!/usr/bin/python3\necho bash", "bash\n"),
        ("plain", "#!/bin/bash\necho bash", "bash\n"),
        ("plain3", "#!/usr/bin/env python3\nprint('python')", "python\n"),
        ("x.txt", "#! /usr/bin/env -S python3.11 -u\nprint('python')", "python\n"),
        ("sh.d", "#!/bin/sh -e\necho bash", "bash\n"),
    ],
)
def test_the_language_is_found(who, name, text, out):
    assert who.call("run", who.file(name, text)).text == out


def test_text_without_a_name_may_have_a_first_line(user):
    assert user.call("run", "-", input=b"#!/bin/bash\necho bash").text == "bash\n"
    assert user.call("run", input=b"print('python')").text == "python\n"


@pytest.mark.parametrize("name, text", [("a.rb", "puts 1"), ("data.json", "{}"), ("noname", "print('ran')"), ("n", "#!/usr/bin/env ruby\nprint('ran')"), ("x", "#!"), ("y.rb", "#!\n")])
def test_other_files_are_refused_with_the_supported_ones(who, name, text):
    path = who.file(name, text)
    answer = who.call("run", path)
    assert answer.code == 64 and not answer.out and ".py" in answer.errors and ".sh" in answer.errors and "-l" in answer.errors, answer
    if "ran" in text:
        assert who.call("run", "-l", "python", path).text == "ran\n"


def notebook(*sources):
    cells = [{"cell_type": "markdown", "source": ["# not run("]}] + [{"cell_type": "code", "source": s} for s in sources]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def test_a_notebook_runs_its_cells(who):
    path = who.file("book.ipynb", notebook(["x = 41\n", "print(x)"], "y = x + 1", ["y"]))
    assert who.call("run", path).text == "41\n42\n"
    for language in ("python", "bash"):  # as which JSON would be read
        answer = who.call("run", "-l", language, path.name, cwd=path.parent)
        assert answer.code == 64 and not answer.out and f"`belljar run {path.name}`" in answer.errors, answer
    big = json.loads(notebook("print('big')"))
    big["cells"][1]["outputs"] = ["x" * 3_000_000]
    assert who.call("run", who.file("big.ipynb", json.dumps(big))).text == "big\n"
    path = who.file("wrong.ipynb", notebook("ok = 1", "1 / 0"))
    assert "ZeroDivisionError" in who.call("run", path).errors
    cut = who.call("run", who.file("nul.ipynb", notebook("print('a')\0print('b')")))
    assert cut.code == 64 and not cut.out and "NUL" in cut.errors, cut


def test_magics_end_with_their_cell(who):
    cells = ["x = 1", "%%writefile a.txt\nhello", "print(open('a.txt').read())", "%%bash\necho hi", "%%time\n!echo inner\n", "print('after', x)"]
    answer = who.call("run", who.file("magic.ipynb", notebook(*cells)))
    seen = re.sub(r"(time:|user|sys:|total:) [0-9.]+ [mµn]?s", r"\1 T", answer.text)
    times = "CPU times: user T, sys: T, total: T\nWall time: T\n"
    assert answer.code == 0 and seen == f"Writing a.txt\nhello\n\nhi\ninner\n{times}after 1\n", answer
    answer = who.call("run", who.file("fails.ipynb", notebook("!ls", "%%bash\nexit 3", "print('never')")))
    assert answer.code == 1 and "exit status 3" in answer.errors and not answer.out, answer
    answer = who.call("run", who.file("line.ipynb", notebook("!ls", "%%bash\ntrue\n", "1 / 0")))
    assert answer.code == 1 and "    1 / 0\n" in answer.errors, answer


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"cells": 5}', '{"cells": []}', '{"cells": [5, {"cell_type": "code"}]}', "\0"])
def test_what_is_no_notebook_is_refused(user, text):
    answer = user.call("run", user.file("odd.ipynb", text))
    assert answer.code in (0, 64) and not answer.out and (answer.code == 0 or answer.errors.startswith("belljar: ")), answer


def test_a_mistake_in_a_notebook_is_shown_as_it_stands_in_the_cell(who):
    """Also where its file can be read: it is JSON, and not the program."""
    path = who.file("magic.ipynb", notebook("%nosuchmagic\n", "1"))
    answer = who.call("run", "--here", path.name, cwd=str(path.parent))
    assert answer.code != 0 and "%nosuchmagic" in answer.errors and "nbformat" not in answer.errors, answer


def test_a_time_may_have_a_unit(user):
    for text, seconds in (("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400)):
        assert float(user.call("config", "timeout_s", env={"BELLJAR_TIMEOUT_S": text, "BELLJAR_MAX_TIMEOUT_S": "1d"}).text) == seconds, text
    assert user.call("run", "--timeout", "5m", "-c", "print(1)").text == "1\n"
    for text in ("1x", "1ms", "1 s", "s", "1S", "2d"):
        answer = user.call("run", "--timeout", text, "-c", "print(1)")
        assert answer.code == 64 and "expected a number from 1 to 86400 seconds" in answer.errors, answer
    answer = user.call("run", "--pids", "5m", "-c", "print(1)")
    assert answer.code == 64, answer
