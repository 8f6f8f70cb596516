"""`belljar run --job` and `belljar jobs`."""
import re
import time

import pytest

from test_server_commands import Commands


@pytest.fixture
def commands(server):
    return Commands(server)


def submit(commands, code, *flags):
    answer = commands("run", "--job", "--profile", "open", *flags, "-c", code)
    assert answer.code == 0 and re.fullmatch(r"job_[0-9A-Z]{26}\n", answer.text) and not answer.err, answer
    return answer.text.strip()


def test_a_job_is_submitted_waited_for_and_read(commands):
    job = submit(commands, "import sys\nprint('out é')\nprint('err', file=sys.stderr)", "--keep", "60", "--attempts", "2")
    waited = commands("jobs", "wait", job)
    assert waited.code == 0 and re.search(rf"^{job}  done   success", waited.text, re.MULTILINE), waited
    read = commands("jobs", "result", job)
    assert (read.code, read.text, read.errors) == (0, "out é\n", "err\n"), read
    shown = commands("jobs", "show", job).json
    assert (shown["max_attempts"], shown["keep_s"], len(shown["history"])) == (2, 60, 1)
    assert commands("jobs", "result", "--json", job).json["stdout"] == "out é\n"
    listed = commands("jobs", "list", "--state", "done")
    assert listed.code == 0 and job in listed.text
    assert job in [j["id"] for j in commands("jobs", "list", "--json").json["jobs"]]
    assert commands("jobs", "cancel", job).code == 1
    assert commands("jobs", "rm", job).code == 0
    gone = commands("jobs", "show", job)
    assert gone.code == 66 and job in gone.errors


def test_a_failing_job_is_tried_again_and_told(commands):
    job = submit(commands, "raise SystemExit(3)", "--retry-on", "error,timeout", "--attempts", "1")
    assert commands("jobs", "wait", job).code == 1
    assert commands("jobs", "show", job).json["retry_on"] == ["error", "timeout"]


def test_a_running_job_is_cancelled(commands):
    job = submit(commands, "import time\ntime.sleep(3600)", "--timeout", "130", "--once")
    assert commands("jobs", "cancel", job).code == 0
    waited = commands("jobs", "wait", "--json", job)
    assert waited.code == 1 and waited.json[0]["state"] == "cancelled" and waited.json[0]["repeatable"] is False


@pytest.mark.parametrize("words, says", [
    (["run", "--once", "-c", "1"], "--job"),
    (["run", "--job", "--attempts", "many", "-c", "1"], "--attempts"),
    (["run", "--job", "--attempts", "0", "-c", "1"], "expected a whole number from 1"),
    (["run", "--help=foo"], "`belljar run --help` lists the options"),
    (["run", "--job", "--once", "--attempts", "2", "-c", "1"], "repeatable"),
    (["run", "--job", "--retry-on", "success", "-c", "1"], "retry_on"),
    (["run", "--job", "--session", "x", "-c", "1"], "session"),
    (["run", "--job", "-t", "-c", "1"], "-t does not work with --job"),
    (["run", "--job", "--save", ".", "-c", "1"], "--save does not work with --job"),
    (["run", "--job", "--collect", "*", "--into", ".", "-c", "1"], "--collect does not work with --job"),
    (["logs", "job_x"], "there is no job"),
    (["logs", "job_/x"], "not the id of a job"),
    (["stop", "job_x"], "belljar jobs cancel"),
    (["jobs"], "list"),
    (["jobs", "wait"], "ids"),
    (["jobs", "list", "job_x"], "belljar jobs show"),
    (["jobs", "result", "../x"], "not the id"),
    (["jobs", "list", "--state", "odd"], "expected one of waiting, running, done"),
])  # fmt: skip
def test_mistakes_are_told(commands, words, says):
    answer = commands(*words)
    assert answer.code in (64, 66) and says in answer.errors, answer


def test_a_job_of_a_session_is_refused_before_the_session_is_opened(commands):
    name = f"unopened-{time.monotonic_ns()}"
    assert commands("run", "--job", "--session", name, "-c", "1").code == 64
    assert name not in commands("session", "list").text


def test_logs_follow_the_last_attempt(commands):
    job = submit(commands, "import sys\nprint('begun', flush=True)\nsys.exit(3)")
    assert commands("jobs", "wait", job).code == 1
    followed = commands("logs", "-f", job)
    assert (followed.code, followed.text) == (3, "begun\n"), followed
    assert commands("logs", "--json", job).json["exit_code"] == 3


def test_what_a_job_does_not_have_is_told_with_its_id(commands):
    job = submit(commands, "import time\ntime.sleep(3600)", "--timeout", "130")
    for words, hint in ((["result", job], "belljar jobs wait"), (["rm", job], "belljar jobs cancel")):
        answer = commands("jobs", *words)
        assert answer.code == 64 and job in answer.errors and hint in answer.errors, answer
    assert commands("jobs", "cancel", job).code == 0
