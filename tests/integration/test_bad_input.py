"""Mistakes of the caller: one precise line, a hint where there is one, the right code, and nothing run."""
import os
import sys

import pytest

from prompt import Prompt

pytestmark = pytest.mark.usefixtures("watch")

RAN = b"it-ran"


def fails(answer, code, *words, hint=None):
    codes = code if isinstance(code, tuple) else (code,)
    assert answer.code in codes, answer
    assert RAN not in answer.out, answer
    lines = answer.errors.splitlines()
    assert 1 <= len(lines) <= 2, answer
    assert lines[0].startswith("belljar: ") and not lines[0].endswith("."), answer
    if len(lines) == 2:
        assert lines[1].startswith("hint: "), answer
    for word in words:
        assert word in answer.errors, answer
    if hint:
        assert len(lines) == 2 and hint in lines[1], answer


def test_a_missing_file(who):
    fails(who.call("run", who.home / "nothing.py"), 66, "nothing.py")


def test_an_unreadable_file(user):
    path = user.file("closed.py", "print('it-ran')", mode=0o000)
    fails(user.call("run", path), (64, 66, 77), "closed.py")


def test_a_directory(who):
    fails(who.call("run", who.home), (64, 66), "directory")


@pytest.mark.parametrize("text", [b"", b"   \n\t\n", b"# only a comment\n"])
def test_empty_code(who, text):
    path = who.file("empty.py", text)
    for _ in range(20):  # what stands behind an empty buffer is different each time
        answer = who.call("run", path)
        if text.startswith(b"#"):
            assert answer.code == 0, answer
        else:
            fails(answer, 64, "empty")


def test_empty_code_on_the_command_line(who):
    fails(who.call("run", "-c", ""), 64, "empty")


@pytest.mark.smoke
def test_invalid_utf8(who):
    fails(who.call("run", who.file("bad.py", b"print('it-ran')\nx = '\xff\xfe'\n")), 64, "UTF-8")


def test_nul(who):
    fails(who.call("run", who.file("nul.py", b"print('it-ran')\n\0\n")), 64, "NUL")


def test_more_than_a_megabyte(who):
    fails(who.call("run", who.file("big.py", b"print('it-ran')\n" + b"#" * (1 << 20))), 65)


def test_more_than_a_megabyte_through_standard_input(who):
    fails(who.call("run", "-", input=b"print('it-ran')\n" + b"#" * (1 << 20)), 65)


def test_a_megabyte_is_fine(who):
    code = b"print('fine')\n"
    assert who.call("run", who.file("max.py", code + b"#" * ((1 << 20) - len(code)))).out == b"fine\n"


def test_an_endless_file(who):
    fails(who.call("run", "-l", "python", "/dev/zero"), (64, 65))


def test_a_fifo_does_not_hang(who):
    path = who.home / "programs" / "fifo.py"
    if not path.exists():
        os.mkfifo(path)
        who.own(path)
    fails(who.call("run", path), (64, 66))


@pytest.mark.parametrize("given, meant", [("strct", "strict"), ("opne", "open"), ("standart", "standard")])
def test_an_unknown_profile_names_the_nearest(who, given, meant):
    fails(who.call("run", "-c", "print('it-ran')", "--profile", given), (64, 66), given, hint=meant)


def test_a_profile_far_from_any(who):
    fails(who.call("run", "-c", "print('it-ran')", "--profile", "zzzzzzzz"), (64, 66), "zzzzzzzz")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "strict/../open", "", "."])
def test_a_profile_name_that_is_a_path(who, name):
    answer = who.call("run", "-c", "print('it-ran')", "--profile", name)
    assert answer.code not in (0, 1) and RAN not in answer.out, answer


@pytest.mark.parametrize("given, meant", [("pyton", "python"), ("bsh", "bash")])
def test_an_unknown_language_names_the_nearest(who, given, meant):
    fails(who.call("run", "-c", "print('it-ran')", "-l", given), 64, given, hint=meant)


@pytest.mark.parametrize("given, meant", [("--tiemout", "--timeout"), ("--memroy", "--memory"), ("--alow", "--allow"), ("--jsn", "--json")])
def test_an_unknown_flag_names_the_nearest(who, given, meant):
    fails(who.call("run", given, "5", "-c", "print('it-ran')"), 64, given, hint=meant)


def test_a_flag_without_its_value(who):
    fails(who.call("run", "-c"), 64)
    fails(who.call("run", "-c", "print('it-ran')", "--timeout"), 64)


@pytest.mark.parametrize("pair", ["NAME", "=value", ""])
def test_a_bad_variable(who, pair):
    fails(who.call("run", "-c", "print('it-ran')", "--env", pair), 64)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONSTARTUP"])
def test_variables_for_the_loader_do_not_reach_the_sandbox_machinery(who, name):
    answer = who.run("import os; print(os.environ.get('PATH', ''))", "--env", f"{name}=/nope.so")
    assert answer.code in (0, 64), answer


def test_a_missing_file_for_standard_input(who):
    fails(who.call("run", "-c", "print('it-ran')", "--stdin", "/no/such/file"), 66)


def test_a_host_that_is_none(who):
    fails(who.call("run", "-c", "print('it-ran')", "--net", "exa mple.com"), 64, "--net")


def test_a_missing_environment(who):
    fails(who.call("run", "-c", "print('it-ran')", "--environment", "nothing"), (64, 66), "nothing")


def test_an_unknown_command_names_the_nearest(who):
    fails(who.call("rn"), 64, "rn", hint="run")
    fails(who.call("docter"), 64, hint="doctor")


CONFIGS = [
    ("timeout_s = \n", "1"),
    ("timeout_s = 'long'\n", "1"),
    ("# fine\nmemory_mb = 1\n", "2"),
    ("tiemout_s = 5\n", "1"),
    ("profile = 5\n", "1"),
    ("pids = 64\n[[\n", "2"),
    ("pids = 64\npids = 65\n", "2"),
    ("color = 'sometimes'\n", "1"),
]


@pytest.mark.parametrize("text, line", CONFIGS)
def test_a_broken_configuration_is_named_with_its_line(who, text, line):
    folder = who.home / "config" / "belljar"
    folder.mkdir(exist_ok=True)
    who.own(folder)
    path = folder / "config.toml"
    path.write_text(text)
    who.own(path)
    try:
        fails(who.call("run", "-c", "print('it-ran')"), 64, f"config.toml:{line}")
    finally:
        path.unlink()
        folder.rmdir()


def test_a_wrong_configuration_key_names_the_nearest(who):
    folder = who.home / "config" / "belljar"
    folder.mkdir(exist_ok=True)
    who.own(folder)
    path = folder / "config.toml"
    path.write_text("memmory_mb = 100\n")
    who.own(path)
    try:
        fails(who.call("run", "-c", "print('it-ran')"), 64, "memmory_mb", hint="memory_mb")
    finally:
        path.unlink()
        folder.rmdir()


@pytest.mark.parametrize("name, value", [("BELLJAR_TIMEOUT_S", "soon"), ("BELLJAR_MEMORY_MB", "1"), ("EXECUTION_TIMEOUT", "never")])
def test_a_bad_variable_of_the_caller_is_named(who, name, value):
    fails(who.call("run", "-c", "print('it-ran')", env={name: value}), 64, name)


def test_messages_do_not_carry_control_characters(who):
    answer = who.call("run", "/nothing\x1b]0;pwned\x07")
    assert b"\x1b" not in answer.err and b"\x07" not in answer.err, answer


def test_errors_as_json(who):
    answer = who.call("run", "--json", "-c", "print('it-ran')", "--profile", "strct")
    error = answer.json["error"]
    assert error["code"] and "strct" in error["message"] and "strict" in error["hint"], answer
    assert answer.code in (64, 66)


def test_an_environment_where_the_sandbox_has_its_own_files_is_refused(who):
    place = who.directory("venv")
    (place / "lib" / f"python3.{sys.version_info[1]}").mkdir(parents=True)
    answer = who.call("run", "--environment", place, "-c", "print('it-ran')")
    assert answer.code == 125 and b"it-ran" not in answer.out, answer
    assert b"cannot be shown in a sandbox" in answer.err and b"hint: " in answer.err, answer


@pytest.mark.parametrize("words", [["run", "-c", "print('it-ran')"], ["--help"], ["config"]])
@pytest.mark.parametrize("where", ["&-", "/dev/full"])
def test_output_that_cannot_be_written_is_a_failure(user, words, where):
    """Closed descriptors must not be taken by something else that is then written to."""
    answer = user.call(*words, wrapper=["sh", "-c", f"exec \"$0\" \"$@\" >{where}"])
    fails(answer, (71, 125), "write to standard output")


def test_closed_input_and_messages(user):
    assert user.call("run", "-c", "print(1)", wrapper=["sh", "-c", "exec \"$0\" \"$@\" <&-"]).out == b"1\n"
    answer = user.call("run", "-c", "print(1)", wrapper=["sh", "-c", "exec \"$0\" \"$@\" 2>&-"])
    assert answer.code == 0 and answer.out == b"1\n"


def test_no_command_prints_the_list(user):
    answer = user.call()
    assert answer.code == 64 and answer.out == b""
    assert answer.errors == user.call("--help").out.decode()


HABITS = [
    (["run", "-v", "/tmp:/data", "x.py"], "`--allow DIR"),
    (["exec", "--volume=/tmp", "--", "ls"], "`--allow DIR"),
    (["shell", "-e", "A=1"], "`--env NAME=VALUE`"),
    (["exec", "-it", "--", "bash"], "`-t` gives it a terminal"),
    (["exec", "-c", "ls"], "`belljar exec -- sh -c CODE`"),
    (["run", "-it", "x.py"], "`-t` gives it a terminal"),
    (["run", "-m", "json.tool"], "`belljar exec --here -- python3 -m MODULE`"),
    (["run", "--rm", "x.py"], "leave it out"),
    (["batch", "--network", "host"], "`--net HOST`"),
    (["kill", "x"], "`belljar stop ID`"),
    (["images"], "`belljar environment --help`"),
    (["-v"], "`belljar version`"),
    (["serve", "-v", "x"], "`belljar serve --help`"),  # only where the hint holds
    (["main.py", "x"], "`belljar run main.py`"),
    (["./main", "x"], "`belljar run ./main`"),
    (["-c", "print(1)"], "`belljar run -c CODE`"),
    (["env", "list"], "`belljar environment`"),
    (["profiles"], "`belljar run --profile NAME`"),
]


@pytest.mark.parametrize("words, hint", HABITS, ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "")
def test_habits_of_other_tools(user, words, hint):
    fails(user.call(*words), 64, "unknown ", hint=hint)


@pytest.mark.parametrize("access", ["wr", "/data", "RO"])
def test_an_access_that_is_unknown(user, access):
    fails(user.call("run", "--allow", f".:{access}", "-c", "print('it-ran')"), 64, f"unknown access `{access}`", hint="DIR:cow")
    fails(user.call("run", "--allow", f"no-such-directory:{access}", "-c", "print('it-ran')"), 66, "No such file")


def test_run_with_a_command_of_the_system(user):
    fails(user.call("run", "python3", "x.py"), 66, "`python3`", hint="`belljar exec --here -- python3 …`")
    fails(user.call("run", "no-such-word", "x.py"), 66, hint="check the name")


def test_run_without_a_program(user):
    class Run(Prompt):
        command = "run"

    with Run(user) as terminal:
        terminal.wait("no program was given")
        terminal.wait("`belljar shell` opens a prompt")
    fails(user.call("run", input=b""), 64, "the program is empty")


def test_the_limits_that_a_mistake_names_are_those_of_own_runs(user):
    for command in (["run", "-c", "1"], ["exec", "--", "true"], ["shell"]):
        for flag, most in (("--timeout", "86400 seconds"), ("--memory", "1048576 MB"), ("--pids", "65536")):
            answer = user.call(command[0], flag, "lots", *command[1:])
            fails(answer, (64, 125), f"`{flag}`: read `lots`, expected", most)
    fails(user.call("run", "--memory", "1048577", "-c", "1"), (64, 125), "1048576 MB")
    answer = user.call("run", "--memory", "200", "-c", "1", env={"BELLJAR_MAX_MEMORY_MB": "100"})
    fails(answer, (64, 125), "from 16 to 100 MB", hint="`max_memory_mb`")


def test_exec_here(user):
    place = user.directory("here")
    (place / "note.txt").write_text("found\n")
    (place / "tool.py").write_text("print('a module')\n")
    assert user.call("exec", "--here", "--", "cat", "note.txt", cwd=place).out == b"found\n"
    assert user.call("exec", "--here", "--", "python3", "-m", "tool", cwd=place).out == b"a module\n"


def test_a_reader_that_goes_away_is_no_failure_to_report(user):
    assert user.call("run", "-c", "print(1)").code == 0  # a record to list
    for words in (["audit", "list", "--json"], ["audit", "export"], ["config"], ["doctor"], ["--help"]):
        answer = user.call(*words, wrapper=["bash", "-c", "{ sleep 0.2; \"$0\" \"$@\"; echo $? >&2; } | exec true"])
        assert answer.errors.strip() in ("0", "141"), answer


@pytest.mark.parametrize("name", ["x" * 300 + ".py", "/etc/passwd/x.py"])
def test_a_file_that_cannot_be_there(user, name):
    fails(user.call("run", name), (64, 66), hint="check the name")
