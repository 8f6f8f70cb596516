"""`belljar exec`: commands of the host system in a sandbox."""
import json
import re
import signal

import pytest

pytestmark = pytest.mark.usefixtures("watch")


@pytest.fixture
def project(who):
    top = who.directory("project")
    for name, text in {
        "Makefile": "all: out.txt\nout.txt: in.txt\n\ttr a-z A-Z < in.txt > $@\ntest:\n\t@pwd; cat in.txt; exit 3\n",
        "in.txt": "data\n",
        "own-script": "#!/bin/sh\necho script $0 $#\n",
        "lost": "#!/nowhere/interpreter\n",
        "plain.txt": "text\n",
    }.items():
        (top / name).write_text(text)
    for name in ("own-script", "lost"):
        (top / name).chmod(0o755)
    for path in [top, *top.iterdir()]:
        who.own(path)
    return top


def test_a_command_runs_in_the_granted_directory(who, project):
    answer = who.call("exec", "--allow", ".", "--", "make", "-s", "test", cwd=project)
    # make's own code for a target that failed
    assert answer.code == 2 and answer.text.splitlines()[-1] == "data" and "Error 3" in answer.errors, answer
    assert who.call("exec", "--allow", ".", "./own-script", "-t", "--", "--json", cwd=project).text == "script ./own-script 3\n"


def test_a_writable_grant_goes_through_the_broker(who, project):
    answer = who.call("exec", "--allow", ".:rw", "--", "make", cwd=project)
    assert answer.code == 0 and (project / "out.txt").read_text() == "DATA\n", answer
    answer = who.call("exec", "--allow", ".:rw", "--", "sh", "-c", "mkdir .git && echo x > .git/config; echo x > .bashrc", cwd=project)
    assert answer.code != 0 and not (project / ".bashrc").exists(), answer


def test_without_rw_nothing_is_written(who, project):
    answer = who.call("exec", "--allow", ".", "--", "make", cwd=project)
    assert answer.code == 2 and "`--allow" in answer.errors and not (project / "out.txt").exists(), answer
    answer = who.call("exec", "--allow", ".:cow", "--", "make", cwd=project)
    assert answer.code == 0 and "out.txt" in answer.errors and not (project / "out.txt").exists(), answer


@pytest.mark.parametrize(
    "words, code, says",
    [
        (["sh", "-c", "exit 7"], 7, ""),
        (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM, ""),
        (["no-such-command"], 127, "belljar: `no-such-command`: command not found\nhint: "),
        (["./none"], 127, "belljar: `./none`: no such file in the sandbox\nhint: "),
        (["./lost"], 127, "interpreter or loader is not in the sandbox"),
        (["./plain.txt"], 126, "cannot be executed: Permission denied\nhint: run it with `bash FILE`, or make it executable"),
        (["/tmp"], 126, "cannot be executed"),
    ],
)
def test_exit_codes_are_those_of_shells(who, project, words, code, says):
    answer = who.call("exec", "--allow", ".", "--", *words, cwd=project)
    assert answer.code == code and says in answer.errors, answer


def test_a_command_elsewhere_on_this_machine_is_named(who, project):
    answer = who.call("exec", "own-script", cwd=project, env={"PATH": f"{project}:/usr/bin:/bin"})
    assert answer.code == 127 and f"`--allow {project}` grants it" in answer.errors, answer
    answer = who.call("exec", "--allow", project, f"{project}/own-script")
    assert answer.code == 0 and answer.text.startswith("script "), answer


def test_a_script_in_the_current_directory_is_named(who, project):
    answer = who.call("exec", "./own-script", cwd=project)
    assert answer.code == 127 and "`./own-script` is in the current directory" in answer.errors and "`--here`" in answer.errors, answer
    answer = who.call("exec", "--here", "./own-script", cwd=project)
    assert answer.code == 0 and answer.text.startswith("script "), answer


def test_a_line_in_one_word_is_no_command(who):
    answer = who.call("exec", "ls -la")
    assert answer.code == 127 and "as separate words" in answer.errors and "bash -c" in answer.errors, answer
    answer = who.call("exec", "--", "no such command", "x")
    assert answer.code == 127 and "separate words" not in answer.errors, answer


def test_words_reach_the_command_unchanged(who):
    words = ["a b", "", "'", "$HOME", "*", "\\", "--json", "é", "\n", "-"]
    answer = who.call("exec", "--", "python3", "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *words)
    assert json.loads(answer.text) == words, answer
    many = [f"file-{n}" for n in range(5000)]
    assert who.call("exec", "echo", *many).text.split() == many
    answer = who.call("exec", "echo", *["x"] * 20000)
    assert answer.code == 65 and "hint: " in answer.errors, answer
    answer = who.call("exec", "echo", "x" * 130_000)
    assert answer.code in (0, 126), answer


def test_a_mistake_is_explained(who):
    for words, says in (
        ([], "no command was given"),
        ([""], "the command is empty"),
        (["--allo", ".", "true"], "unknown option `--allo`"),
        (["-c", "print(1)"], "unknown option `-c`"),
    ):
        answer = who.call("exec", *words)
        assert answer.code == 64 and says in answer.errors and answer.out == b"", answer
    answer = who.call("exec", "--profile", "strict", "true")
    assert answer.code == 77 and "does not run commands" in answer.errors and "open" in answer.errors, answer


def test_input_is_passed_on(who):
    assert who.call("exec", "tr", "a-z", "A-Z", input=b"abc\n").text == "ABC\n"
    # SIGPIPE ends a writer, as outside
    assert who.call("exec", "sh", "-c", "yes | head -1").errors == ""
    assert who.call("exec", "cat").text == ""


def test_the_walls_are_those_of_run(who):
    layers = who.call("exec", "--json", "true").json["layers"]
    assert layers == who.call("run", "--profile", "open", "--json", "-c", "1").json["layers"]
    answer = who.call("exec", "--timeout", "1", "sleep", "60")
    assert answer.code == 124, answer
    answer = who.call("exec", "--memory", "32", "--", "python3", "-c", "x = bytearray(200 << 20)")
    assert answer.code == 137, answer


def test_secrets_are_masked_and_the_trail_has_the_command(who):
    secret = "ghp_" + "a1B2" * 9
    answer = who.call("exec", "--json", "echo", secret, "it's")
    found = answer.json
    assert secret not in answer.text and found["masked"]["count"] >= 1, answer
    record = who.call("audit", "show", found["id"]).text
    assert secret not in record and "echo" in record and "command" in record, record
    assert who.call("exec", "--json", "echo", "it's").json["id"]
    run = who.call("exec", "--json", "echo", "again", "it's").json["id"]
    replay = who.call("audit", "replay", run)
    assert replay.code == 0, replay


def test_processes_left_behind_end_with_the_command(who):
    """The watch fixture finds what is left."""
    answer = who.call("exec", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & (sleep 1000 &) ; echo started")
    assert answer.code == 0 and answer.text == "started\n", answer


def test_other_grants_do_not_show_in_proc(who, project):
    """Neither the supervisor nor the names of host directories that were not granted."""
    script = "cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/self/mountinfo; ls -l /proc/*/fd /proc/*/cwd 2>/dev/null; true"
    answer = who.call("exec", "--allow", ".", "--", "sh", "-c", script, cwd=project, env={"SECRET_OF_CALLER": "kept-outside"})
    assert answer.code == 0 and "belljar exec" not in answer.text and "kept-outside" not in answer.text, answer
    assert not re.search(rf"{re.escape(str(who.home))}/(?!{re.escape(project.name)})\w", answer.text), answer


def test_on_a_server(server):
    user, where = server.who, ["--server", f"unix:{server.socket}"]
    answer = user.call("exec", *where, "--", "sh", "-c", 'echo "$0:$1"; exit 5', "a b", "c'd")
    assert (answer.code, answer.text) == (5, "a b:c'd\n"), answer
    assert user.call("exec", *where, "no-such-command").code == 127
    answer = user.call("exec", *where, "--profile", "strict", "true")
    assert answer.code == 77 and "strict" in answer.errors, answer
