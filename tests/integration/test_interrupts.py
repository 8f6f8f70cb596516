"""Interrupts and time limits of cells: a long call of a library keeps the variables, and a hostile cell gains little."""
import threading
import time

import pytest

import serving

# Like a long call of a library: Python learns of the interrupt when it returns.
CALL = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
time.sleep(%g)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
time.sleep(60)
"""
STUBBORN = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"


def start(callers, **env):
    return serving.Server(callers["user"], "--socket", "none", env={f"BELLJAR_{name}": str(value) for name, value in env.items()})


@pytest.fixture(scope="module")
def patient(callers):
    with start(callers, INTERRUPT_GRACE_S=10) as server:
        yield server


def test_a_long_call_keeps_the_variables(patient):
    with patient.session() as session:
        patient.execute(session, "kept = 5")
        patient.execute(session, "import signal, time")
        answer = patient.execute(session, CALL % 5, timeout_s=2)
        assert (answer["status"], answer["session_state"]) == ("timeout", "kept"), answer
        assert 1000 < answer["interrupt"]["waited_ms"] < 9000 and answer["interrupt"]["grace_ms"] == 10000, answer
        answer = patient.execute(session, "kept")
        assert answer["result"]["json"] == 5 and "interrupt" not in answer, answer


def test_an_interrupt_of_a_client_waits_too(patient):
    with patient.session() as session:
        patient.execute(session, "kept = 5")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(patient.execute(session, "print('on', flush=True)" + CALL % 2.5)))
        thread.start()
        time.sleep(1)
        for _ in range(5):  # more of them change nothing
            patient.post(f"/v1/sessions/{session}/interrupt")
        thread.join()
        assert (answers[0]["status"], answers[0]["session_state"]) == ("cancelled", "kept"), answers
        assert patient.execute(session, "kept")["result"]["json"] == 5


def test_what_was_lost_is_said(callers):
    with start(callers, INTERRUPT_GRACE_S=2) as server, server.session() as session:
        server.execute(session, "import signal, time")
        answer = server.execute(session, CALL % 100, timeout_s=3)
        assert (answer["status"], answer["session_state"]) == ("timeout", "lost") and answer["usage"]["wall_ms"] < 40000, answer
        assert answer["interrupt"]["grace_ms"] == 2000 and answer["interrupt"]["waited_ms"] > 1900, answer
        hint = answer["hint"]
        assert "did not end within " in hint and "variables are lost, files are not" in hint, answer
        assert server.execute(session, "1 + 1")["result"]["json"] == 2


def test_the_grace_is_no_way_to_more_time(callers):
    """The largest time limit, and the limit of CPU time, hold for both together."""
    with start(callers, INTERRUPT_GRACE_S=60, MAX_TIMEOUT_S=5) as server, server.session() as session:
        server.execute(session, "import signal")
        answer = server.execute(session, STUBBORN, timeout_s=3)
        assert answer["session_state"] == "lost" and answer["interrupt"]["grace_ms"] == 2000, answer
        assert answer["usage"]["wall_ms"] < 40000, answer
        server.execute(session, "import signal")
        answer = server.execute(session, STUBBORN, timeout_s=5)
        assert answer["session_state"] == "lost" and answer["interrupt"]["grace_ms"] == 0, answer
    with start(callers, INTERRUPT_GRACE_S=60) as server, server.session() as session:
        server.execute(session, "import signal")
        answer = server.execute(session, STUBBORN, timeout_s=3, cpu_time_s=4)
        assert (answer["status"], answer["session_state"]) == ("timeout", "lost"), answer
        assert answer["usage"]["cpu_ms"] < 8000 and answer["usage"]["wall_ms"] < 50000, answer


def test_interrupts_at_any_moment_lose_nothing(patient):
    """Each cell gets one answer, variables stay, and no interrupt reaches the next cell."""
    with patient.session() as session:
        patient.execute(session, "n = 0")
        for i in range(40):
            pause = i * 0.004
            timer = threading.Timer(pause, lambda: patient.post(f"/v1/sessions/{session}/interrupt"))
            timer.start()
            code = "n += 1\nfor _ in range(200000): pass" if i % 2 else "n += 1\nsum(range(2000000));"
            answer = patient.execute(session, code)
            timer.join()
            assert answer["status"] in ("success", "cancelled") and answer["session_state"] == "kept", answer
        count = patient.execute(session, "n")["result"]["json"]
        assert 20 <= count <= 40, count  # one that was cancelled before it began did not count


BASH = [
    ("exit 3; echo no", "", 3),
    ("set -e\nfalse\necho no", "", 1),
    ("set -euo pipefail\ng() { false; echo in; }\ng\necho no", "", 1),
    ("trap 'echo bye' EXIT\necho a\nexit 4", "a\nbye\n", 4),
    ("trap 'r=$?; echo left $r' EXIT\nset -e\n(exit 6)\necho no", "left 6\n", 6),
    ("trap 'echo a' ERR; trap 'echo b' EXIT; trap", "trap -- 'echo b' EXIT\ntrap -- 'echo a' ERR\nb\n", 0),
    ("trap 'echo failed' ERR\nset -e\nfalse\necho no", "failed\n", 1),
    ("trap 'echo failed with $? # hm' ERR\nset -e\n(exit 4)\necho no", "failed with 4\n", 4),
    ("trap 'false; echo on' ERR\nset -e\n(exit 4)\necho no", "on\n", 4),
    ("trap 'exit 9' ERR\nset -euo pipefail\nfalse | true\necho no", "", 9),
    ("trap 'echo a' ERR; trap - ERR; trap; set -e; (exit 3)", "", 3),
    ("trap -p EXIT", "", 0),
    ("set -u\necho $nope\necho no", "", 1),
    ("set -o nounset\ng() { echo $1; }\ng 1; g\necho no # not", "1\n", 1),
    ("exec echo replaced", "replaced\n", 0),
    ("((1)) && exec echo replaced", "replaced\n", 0),
    ("exec 3>/tmp/three; echo three >&3; exec 3>&-; cat /tmp/three", "three\n", 0),
    ("exec > /tmp/all; echo gone", "", 0),
    ("ulimit -f 10; ulimit -f", "10\n", 0),
    ("trap '' INT; echo t", "t\n", 0),
    ("for i in 1 2 3; do [ $i = 2 ] && exit 9; echo $i; done", "1\n", 9),
    ("source /dev/stdin <<< 'exit 6'; echo no", "", 6),
    ("(exit 7); echo $?; x=$(exit 5); echo $?", "7\n5\n", 0),
    ("false; exit", "", 1),
    ("exit abc", "", 2),
    ("exit -1", "", 255),
]


@pytest.mark.parametrize("code, out, status", BASH)
def test_a_bash_cell_ends_and_its_shell_does_not(patient, code, out, status):
    with patient.session() as session:
        patient.execute(session, "kept=5; f() { echo $kept; }", language="bash")
        answer = patient.execute(session, code, language="bash")
        assert (answer["stdout"], answer["exit_code"], answer["session_state"]) == (out, status, "kept"), answer
        if "exec echo" in code:
            assert "what it sets is not kept" in answer["stderr"], answer
        if "exec >" in code:
            assert "redirected its standard output" in answer["stderr"], answer
        answer = patient.execute(session, "f; false | true; echo $? $nope; ulimit -f; trap; echo on", language="bash")
        lines = answer["stdout"].splitlines()
        assert (lines[:2], lines[-1]) == (["5", "0"], "on"), answer
        assert "10\n" not in answer["stdout"] and answer["session_state"] == "kept", answer


def test_a_shell_that_ends_all_the_same_says_what_was_lost(patient):
    with patient.session() as session:
        answer = patient.execute(session, "builtin exit 3", language="bash")
        assert answer["session_state"] == "lost" and "variables are lost" in answer["error"]["hint"], answer
