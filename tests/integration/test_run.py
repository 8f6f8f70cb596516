"""`belljar run`: where the program comes from, what comes back, and with which exit code."""
import json
import subprocess

import pytest

import belljar

pytestmark = pytest.mark.usefixtures("watch")


@pytest.mark.smoke
def test_code_from_the_command_line(who):
    answer = who.call("run", "-c", "print(6 * 7)")
    assert (answer.code, answer.out) == (0, b"42\n"), answer


@pytest.mark.smoke
def test_code_from_a_file(who):
    answer = who.call("run", who.file("a.py", "print('from a file')\n"))
    assert (answer.code, answer.out) == (0, b"from a file\n"), answer


def test_code_from_standard_input_with_a_dash(who):
    answer = who.call("run", "-", input=b"print('from stdin')\n")
    assert (answer.code, answer.out) == (0, b"from stdin\n"), answer


def test_code_from_standard_input_without_a_name(who):
    answer = who.call("run", input=b"print('piped')\n")
    assert (answer.code, answer.out) == (0, b"piped\n"), answer


def test_the_suffix_names_the_language(who):
    answer = who.call("run", "--profile", "open", who.file("a.sh", "echo $BASH_VERSION | wc -l\n"))
    assert (answer.code, answer.out) == (0, b"1\n"), answer


@pytest.mark.smoke
def test_bash(who):
    answer = who.run("echo $((6 * 7)); echo oops >&2; exit 3", "-l", "bash")
    result = answer.json
    assert (result["status"], result["exit_code"], answer.code) == ("error", 3, 3), answer
    assert (result["stdout"], result["stderr"]) == ("42\n", "oops\n")


def test_bash_under_strict_is_refused_with_a_reason(who):
    answer = who.call("run", "--profile", "strict", "-l", "bash", "-c", "echo ran")
    assert answer.code not in (0, 1) and answer.out == b"", answer
    assert "bash" in answer.errors.lower() and "strict" in answer.errors, answer
    assert "hint:" in answer.errors, answer


@pytest.mark.smoke
@pytest.mark.parametrize(
    "code, profile, status, exit_code",
    [
        ("print(1)", "strict", "success", 0),
        ("1 / 0", "strict", "error", 1),
        ("raise SystemExit(7)", "strict", "error", 7),
        ("raise SystemExit", "strict", "success", 0),
        ("raise SystemExit('bye')", "strict", "error", 1),
        ("import os; os._exit(9)", "open", "error", 9),
        ("import os; os.kill(os.getpid(), 11)", "open", "error", 128 + 11),
        ("import os; os.kill(os.getpid(), 9)", "open", "error", 128 + 9),
        ("import os; os.kill(os.getpid(), 15)", "open", "error", 128 + 15),
        ("import sys; sys.exit(200)", "open", "error", 200),
        ("import subprocess", "strict", "refused", 126),
        ("raise KeyboardInterrupt", "strict", "error", None),
        ("def f(:", "strict", None, None),
    ],
)
def test_status_and_exit_code(who, code, profile, status, exit_code):
    answer = who.run(code, profile=profile)
    if status:
        assert answer.status == status, answer
    else:
        assert answer.status in ("error", "refused"), answer
    if exit_code is not None:
        assert answer.code == exit_code, answer
    else:
        assert answer.code not in (0, belljar.EXIT_OWN), answer
    if answer.status == "error":
        assert answer.json["exit_code"] == answer.code, answer


def test_a_timeout_has_its_own_exit_code(who):
    answer = who.run("while True: pass", "--timeout", "1")
    assert (answer.status, answer.json["exit_code"], answer.code) == ("timeout", 124, 124), answer


def test_memory_has_its_own_exit_code(who):
    answer = who.run("x = bytearray(900 << 20)\nprint(len(x))", "--memory", "128")
    assert (answer.status, answer.code) == ("memory_exceeded", 137), answer


def test_output_of_the_program_is_all_there_is_on_stdout(who):
    answer = who.call("run", "-c", "import sys\nprint('out')\nprint('err', file=sys.stderr)", "--profile", "open")
    assert answer.out == b"out\n", answer
    assert b"err\n" in answer.err, answer


def test_an_exception_shows_its_traceback_with_the_line(who):
    answer = who.call("run", "-c", "x = 1\ny = 0\nprint(x / y)\n")
    assert answer.code == 1, answer
    assert "ZeroDivisionError: division by zero" in answer.errors and "line 3" in answer.errors, answer


def test_a_traceback_marks_the_place_in_a_last_line_without_an_end(who):
    answer = who.call("run", "-c", "1/0")
    assert "    1/0\n    ~^~\n" in answer.errors, answer


def test_a_traceback_does_not_show_the_runner(who):
    answer = who.run("def f():\n    raise ValueError('x')\nf()")
    trace = answer.json["error"]["traceback"]
    assert trace.count("File ") == 2, trace
    assert "in f" in trace and "/usr/lib" not in trace, trace


@pytest.mark.parametrize(
    "code, value",
    [
        ("result = 6", 6),
        ("result = {'a': [1, 2.5, None, True, 'x']}", {"a": [1, 2.5, None, True, "x"]}),
        ("2 + 4", 6),
        ("x = 5\nx", 5),
        ("result = 1\n2", 1),
        ("'text'", "text"),
        ("[1, (2, 3)]", [1, [2, 3]]),
    ],
)
def test_result_as_json(who, code, value):
    assert who.run(code).json["result"]["json"] == value


@pytest.mark.parametrize("code", ["x = 1", "None", "print(1)", "def f(): pass", "for i in range(3): pass"])
def test_no_result(who, code):
    assert who.run(code).json["result"] is None


def test_result_of_no_plain_data_has_text_only(who):
    result = who.run("class A:\n    def __repr__(self): return '<an A>'\nresult = A()").json["result"]
    assert result["text"] == "<an A>" and result.get("json") is None, result


def test_result_of_a_data_frame_reads_well(who):
    answer = who.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})", profile="strict")
    assert "a" in answer.json["result"]["text"], answer


def test_the_expression_is_evaluated_once(who):
    answer = who.run("n = []\ndef f():\n    n.append(1)\n    print('called')\n    return len(n)\nf()")
    assert answer.json["stdout"] == "called\n" and answer.json["result"]["json"] == 1, answer


def test_print_and_result_do_not_mix(who):
    answer = who.run("print('a')\n7")
    assert answer.json["stdout"] == "a\n", answer


RESULT_FIELDS = {
    "id": str,
    "status": str,
    "exit_code": (int, type(None)),
    "stdout": str,
    "stderr": str,
    "truncated": dict,
    "output_handle": (str, type(None)),
    "result": (dict, type(None)),
    "displays": list,
    "error": (dict, type(None)),
    "violations": list,
    "usage": dict,
    "masked": dict,
    "files": list,
    "session_id": (str, type(None)),
    "session_state": (str, type(None)),
    "correlation_id": (str, type(None)),
    "profile": str,
    "isolation": str,
    "net": (dict, type(None)),
}


@pytest.mark.smoke
@pytest.mark.parametrize(
    "code, profile", [("print(1)\n2", "open"), ("1 / 0", "open"), ("import subprocess\nimport socket", "strict")]
)
def test_every_field_of_the_result_has_its_type(who, code, profile):
    answer = who.run(code, profile=profile)
    result = answer.json
    for name, kind in RESULT_FIELDS.items():
        assert name in result, f"{name} is missing: {sorted(result)}"
        assert isinstance(result[name], kind), f"{name} is {result[name]!r}"
    assert set(result["truncated"]) >= {"stdout", "stderr"}
    for name in ("wall_ms", "cpu_ms", "memory_peak_bytes", "start_ms", "processes_peak"):
        assert isinstance(result["usage"][name], (int, float)), result["usage"]
    assert result["id"].startswith("run_") and len(result["id"]) > 20
    assert result["profile"] == profile
    if result["error"]:
        assert set(result["error"]) >= {"name", "message", "traceback", "line", "hint"}
    for v in result["violations"]:
        assert set(v) >= {"rule", "name", "line", "column", "message", "hint"}


def test_json_is_one_object_and_nothing_else(who):
    answer = who.run("print(1)")
    assert json.loads(answer.out) and answer.out.count(b"\n") <= 1 or answer.out.endswith(b"}\n")


def test_ids_differ(who):
    assert who.run("1").json["id"] != who.run("1").json["id"]


def test_layers_are_named_in_the_result(who):
    layers = set(who.run("1").json["layers"])
    assert layers >= {
        "mount-namespace", "pid-namespace", "network-namespace", "ipc-namespace", "private-root",
        "masked-proc", "no-capabilities", "no-new-privileges", "seccomp",
    }  # fmt: skip


def test_strict_names_its_kernel_shape(who):
    assert "no-new-processes" in who.run("1", profile="strict").json["layers"]


def test_usage_is_measured(who):
    usage = who.run("x = bytearray(60 << 20)\nfor i in range(3000000): pass").json["usage"]
    assert usage["memory_peak_bytes"] > 60 << 20, usage
    assert usage["memory_peak_bytes"] < 2 << 30, usage
    assert usage["cpu_ms"] > 1 and usage["wall_ms"] > 1 and usage["start_ms"] >= 0, usage
    assert usage["processes_peak"] >= 1, usage


def test_memory_of_children_counts(who):
    code = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable or '/usr/bin/python3', '-c', 'x = bytearray(100 << 20); import time; time.sleep(0.5)'])\n"
    )
    usage = who.run(code).json["usage"]
    assert usage["memory_peak_bytes"] > 90 << 20, usage


def test_an_idle_program_uses_no_cpu_time(who):
    usage = who.run("import time; time.sleep(0.5)").json["usage"]
    assert usage["wall_ms"] >= 500, usage
    assert usage["cpu_ms"] < usage["wall_ms"], usage


def test_environment_variables_are_passed(who):
    answer = who.run("import os; print(os.environ['A'], os.environ['B'])", "--env", "A=1", "--env", "B=x=y z")
    assert answer.json["stdout"] == "1 x=y z\n", answer


def test_environment_variables_reach_bash(who):
    assert who.run('echo "$GREETING"', "-l", "bash", "--env", "GREETING=hi there").json["stdout"] == "hi there\n"


def test_nothing_of_the_callers_environment_is_passed(who):
    answer = who.run("import os; print(sorted(os.environ))", env={"AWS_SECRET_ACCESS_KEY": "nope", "LD_PRELOAD": "/nope.so"})
    assert "AWS_SECRET_ACCESS_KEY" not in answer.text and "LD_PRELOAD" not in answer.json["stdout"], answer


def test_standard_input_from_a_file(who):
    data = who.file("in.txt", "line 1\nline 2\n")
    answer = who.run("import sys; print(sys.stdin.read().upper())", "--stdin", data)
    assert answer.json["stdout"] == "LINE 1\nLINE 2\n\n", answer


def test_an_input_that_is_not_there_says_what_works(who):
    answer = who.call("run", "--stdin", "nosuch", "-c", "1")
    assert answer.code == 66 and "`--stdin -`" in answer.errors and "needs -c" not in answer.errors, answer
    assert who.call("run", "--stdin", "-", "-c", "print(input())", input=b"piped\n").out == b"piped\n"


def test_standard_input_is_empty_otherwise(who):
    answer = who.run("import sys; print(repr(sys.stdin.read()))")
    assert answer.json["stdout"] == "''\n", answer


def test_a_large_standard_input_arrives_whole(who):
    data = who.file("big.bin", b"x" * (3 << 20))
    answer = who.run("import sys; print(len(sys.stdin.buffer.read()))", "--stdin", data)
    assert answer.json["stdout"] == f"{3 << 20}\n", answer


def test_a_program_that_never_reads_its_input_ends_all_the_same(who):
    data = who.file("big.bin", b"x" * (3 << 20))
    assert who.run("print('done')", "--stdin", data).json["stdout"] == "done\n"


def test_the_file_names_itself_in_tracebacks_without_its_place(who):
    path = who.file("mine.py", "1 / 0\n")
    answer = who.call("run", "--json", path)
    assert str(path.parent) not in answer.text, answer


def test_unicode_goes_through(who):
    text = "grüße 漢字 🙂 \u202e"
    answer = who.run(f"print({text!r})\nresult = {text!r}")
    assert answer.json["stdout"] == text + "\n" and answer.json["result"]["json"] == text


def test_output_that_is_no_text_is_replaced_not_dropped(who):
    answer = who.run(r"import os; os.write(1, b'a\xff\xfe\x00b\n')")
    assert answer.json["stdout"].startswith("a") and answer.json["stdout"].endswith("b\n"), answer


def test_raw_output_passes_bytes_unchanged_to_a_pipe(who):
    answer = who.call("run", "--profile", "open", "-c", r"import os; os.write(1, b'a\xff\xfe\x00\x1b[31mb')")
    assert answer.out == b"a\xff\xfe\x00\x1b[31mb", answer


def test_main_guard_works(who):
    assert who.run("if __name__ == '__main__':\n    print('main')").json["stdout"] == "main\n"


def test_help_fits_a_screen_and_ends_with_an_example(who):
    answer = who.call("run", "--help")
    assert answer.code == 0 and len(answer.text.splitlines()) <= 50, answer
    assert "belljar run" in answer.text.strip().splitlines()[-1], answer


def test_sixteen_at_once(who):
    processes = [who.start("run", "-c", f"print({n} * {n})") for n in range(16)]
    for n, p in enumerate(processes):
        out, err = p.communicate(timeout=belljar.HANG_SECONDS)
        assert (p.returncode, out) == (0, f"{n * n}\n".encode()), err


def test_a_reader_that_goes_away_does_not_hang_the_run(who):
    p = who.start("run", "--profile", "open", "-l", "bash", "-c", "yes", "--timeout", "20")
    try:
        p.stdout.read(100)
        p.stdout.close()
        p.stderr.close()
        p.wait(timeout=belljar.HANG_SECONDS)
    finally:
        p.kill()
        p.wait()


@pytest.mark.parametrize("signal", [subprocess.signal.SIGINT, subprocess.signal.SIGTERM])
def test_interrupting_belljar_cancels_the_run(who, signal):
    p = who.start("run", "--json", "--profile", "open", "-c", "print('up', flush=True)\nimport time; time.sleep(50)", "--timeout", "60")
    try:
        wait_for_sandbox(p.pid)
        p.send_signal(signal)
        out, err = p.communicate(timeout=belljar.HANG_SECONDS)
    finally:
        p.kill()
        p.wait()
    assert p.returncode == 130, (p.returncode, out, err)
    assert (json.loads(out)["status"], json.loads(out)["exit_code"]) == ("cancelled", 130)


def wait_for_sandbox(pid):
    """Until the supervisor has a zygote and the zygote a sandbox."""
    import time

    import host

    deadline = time.monotonic() + belljar.HANG_SECONDS
    while time.monotonic() < deadline:
        if len(host.descendants(pid)) >= 3:
            return
        time.sleep(0.02)
    raise AssertionError("no sandbox came up")


def test_a_program_has_its_name_and_arguments(who):
    path = who.file("my report.py", "import sys\nprint(sys.argv)\n1 / 0\n")
    answer = who.call("run", "--profile", "open", path, "2026", "two words", "--", "--json", "ü")
    assert answer.text == "['my_report.py', '2026', 'two words', '--', '--json', 'ü']\n", answer
    assert 'File "my_report.py", line 3' in answer.errors and "1 / 0" in answer.errors, answer
    assert who.run(None, str(path)).json["error"]["line"] == 3


@pytest.mark.parametrize("words", [
    ["--timeout", "5", "x"], ["--timeout=5"], ["--verbose"], ["-c", "print(2)"], ["-l", "bash"], ["--help"], ["-h"],
    ["--json"], ["--env", "A=B"], ["--stdin", "-"], ["--config", "/nonexistent"], ["--profile=nosuch"], ["--server", "auto"],
    ["x", "--save", "/"], ["--"], ["-"], ["--", "--json"], ["--apply"], ["--net", "example.org"],
])  # fmt: skip
def test_options_end_at_the_file(who, words):
    path = who.file("args.py", "import sys\nprint(sys.argv[1:])\n")
    for before in ([], ["--"]):
        answer = who.call("run", "--profile", "open", *before, path, *words)
        assert answer.code == 0 and answer.text == f"{words}\n" and answer.err == b"", answer


@pytest.mark.parametrize("words", [["--allow={}:rw"], ["--allow", "{}:rw"], ["x", "--allow={}:rw"], ["--", "--allow={}:rw"]])
def test_an_argument_of_the_program_grants_nothing(who, words):
    there = who.directory("argument-grant")
    (there / "kept").write_text("kept")
    path = who.file("write.py", f"import os, sys\nprint(sys.argv[1:])\nprint(os.path.exists({str(there)!r}))\n")
    words = [w.format(there) for w in words]
    answer = who.call("run", "--profile", "open", path, *words)
    assert answer.text == f"{words}\nFalse\n", answer
    answer = who.call("run", "--profile", "open", "-", *words, input=path.read_bytes())
    assert answer.text == f"{words}\nFalse\n", answer


def test_a_file_may_begin_with_a_dash(who):
    who.file("-x.py", "import sys\nprint(sys.argv)\n")
    answer = who.call("run", "--profile", "open", "--", "-x.py", "-y", cwd=who.home / "programs")
    assert answer.text == "['-x.py', '-y']\n", answer


def test_a_bash_program_has_its_name_and_arguments(who):
    path = who.file("count.sh", 'echo "$0" $# "$2"\n')
    assert who.call("run", "--profile", "open", path, "1", "2 3").text == "count.sh 2 2 3\n"
    path = who.file("long.sh", 'echo $# "$2"\n#' + "x" * 200000 + "\n")
    assert who.call("run", "--profile", "open", path, "1", "2 3").text == "2 2 3\n"


def test_a_program_without_a_file_has_no_name(who):
    answer = who.call("run", "--profile", "open", "-c", "import sys\nprint(sys.argv)\n1 / 0")
    assert answer.text == "['']\n" and 'File "<code>", line 3' in answer.errors, answer
    answer = who.call("run", "--profile", "open", "-", "x", input=b"import sys\nprint(sys.argv)\n1 / 0")
    assert answer.text == "['-', 'x']\n" and 'File "<code>", line 3' in answer.errors, answer


@pytest.mark.parametrize("words", [["a"] * 128, ["a" * 100000, "b" * 100000]], ids=["many", "long"])
def test_too_many_arguments_are_refused(who, words):
    answer = who.call("run", "--profile", "open", who.file("a.py", "print(1)"), *words)
    assert answer.code != 0 and answer.out == b"" and "arguments" in answer.errors, answer


def test_a_program_that_finds_no_input_is_told_of_the_flag(who):
    answer = who.run("print(input())")
    assert "--stdin FILE" in answer.json["error"]["hint"], answer
    answer = who.run("input()\ninput()", "--stdin", who.file("line", "one\n"))
    assert "input()" in answer.json["error"]["hint"] and "--stdin" not in answer.json["error"]["hint"], answer


def test_interpreters_that_a_program_starts_find_packages(who):
    code = "import subprocess, sys\nprint(sys.flags.no_site, '-S' in subprocess._args_from_interpreter_flags())"
    assert who.run(code).json["stdout"] == "0 False\n"
