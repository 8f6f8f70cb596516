"""Runs with a seed give the same output, from every door and for every user."""
import shutil
import subprocess

import belljar
import pytest

from belljar import ROOT, program_path

# Each prints something that differs from run to run without a seed, or shows that what it relies on still works.
PROGRAMS = {
    "random": "import random; print([random.random() for _ in range(3)], random.sample(range(99), 5))",
    "random instance": "import random; print(random.Random().random(), random.SystemRandom().random())",
    "urandom": "import os, secrets; print(os.urandom(16).hex(), secrets.token_hex(8))",
    "uuid": "import uuid; print(uuid.uuid1(), uuid.uuid4())",
    "time": "import time; print(time.time(), time.time_ns(), time.monotonic(), time.perf_counter(), time.process_time())",
    "datetime": "from datetime import datetime; print(datetime.now(), datetime.utcnow(), datetime.today())",
    "localtime": "import time; print(time.localtime(), time.tzname, time.strftime('%c'))",
    "sleep": "import time\nt = time.time(); time.sleep(3600); print(time.time() - t >= 3600)",
    "asyncio": "import asyncio, time\nt = time.time(); asyncio.run(asyncio.sleep(1000)); print(round(time.time() - t))",
    "select": "import select, time\nt = time.time(); print(select.select([], [], [], 500)); print(round(time.time() - t))",
    "lock": "import threading, time\nl = threading.Lock(); l.acquire(); t = time.time(); print(l.acquire(timeout=900)); print(round(time.time() - t))",
    "strings": "print({'a', 'b', 'c', 'd'}, hash('x'), hash(b'x'))",
    "objects": "class A: pass\nprint({A, int, None, print}, object(), id(A), A())",
    "directory": "import os\nfor n in '3142': open(n, 'w').close()\nprint(os.listdir('.'), [e.name for e in os.scandir('.')], os.listdir('/usr/lib')[:9])",
    "walk": "import os; print(list(os.walk('/usr/lib/python3/dist-packages'))[:20])",
    "file times": "import os; open('f', 'w').close(); s = os.stat('f'); print(s.st_mtime, s.st_ctime, s.st_atime, os.path.getmtime('.'))",
    "tempfile": "import tempfile; print(tempfile.mkdtemp(), tempfile.NamedTemporaryFile().name)",
    "who": "import os, socket; print(os.getpid(), os.getppid(), socket.gethostname(), os.getuid(), sorted(os.environ.items()))",
    "numpy": "import numpy as np; print(np.random.rand(3), np.random.default_rng().integers(0, 99, 5), np.random.permutation(9))",
    "numpy math": "import numpy as np; a = np.random.rand(200, 200); print(np.linalg.eigvals(a @ a.T).sum(), (a @ a).sum())",
    "pandas": "import pandas as pd, numpy as np; print(pd.DataFrame(np.random.randn(4, 2)).sample(3), pd.Timestamp.now())",
    "children": "import subprocess; print(subprocess.run(['python3', '-c', 'import os, time; print(os.urandom(4), time.time(), {str, None})'], capture_output=True, text=True).stdout)",
    "shell": "import subprocess; print(subprocess.run('date; echo $RANDOM; sleep 50; mktemp -u', shell=True, capture_output=True, text=True).stdout)",
    "fork": "import os\npid = os.fork()\nif pid == 0:\n    print(os.urandom(4).hex(), flush=True); os._exit(0)\nos.waitpid(pid, 0); print(os.urandom(4).hex())",
    "one thread": "import threading, time\nt = threading.Thread(target=lambda: time.sleep(5)); t.start(); t.join(); print('joined')",
    "usage": "import resource, os; print(resource.getrusage(resource.RUSAGE_SELF).ru_utime >= 0, os.times()[4] > 0)",
    "traceback": "def f(x): return 1 / x\nf(0)",
    "error of an object": "raise ValueError(object())",
    "garbage": "import gc, weakref\nclass A: pass\na = A(); r = weakref.ref(a); del a; print(r(), gc.collect())",
    "sympy": "import sympy; x, y = sympy.symbols('x y'); print(sympy.expand((x + y) ** 5), {x, y})",
    "networkx": "import networkx as nx; print(nx.gnp_random_graph(9, .5).edges)",
}


def outcome(answer):
    return answer.json["status"], answer.json["stdout"], answer.json["stderr"], answer.json["result"]


def run(who, code, *args):
    return who.run(code, "--seed", "7", *args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_twice_the_same(who, name):
    first, second = run(who, PROGRAMS[name]), run(who, PROGRAMS[name])
    assert outcome(first) == outcome(second)
    # If nothing counts processes exactly, a short-lived one may or may not have been seen: that is a caveat, not a promise.
    assert {**first.json["deterministic"], "caveats": None} == {**second.json["deterministic"], "caveats": None}
    assert first.json["status"] == ("error" if "raise" in PROGRAMS[name] or "f(0)" in PROGRAMS[name] else "success"), first.json


def test_another_seed_is_another_run(who):
    code = "import os, random; print(random.random(), os.urandom(4))"
    one = who.call("run", "--seed", "1", "--profile", "open", "-c", code).text
    assert one != who.call("run", "--seed", "2", "--profile", "open", "-c", code).text
    assert one == who.call("run", "--seed", "1", "--profile", "open", "-c", code).text


def test_random_begins_as_python_itself_would(who):
    import random

    assert who.call("run", "--seed", "42", "-c", "import random; print(random.random())").text == f"{random.Random(42).random()}\n"


def test_bash(who):
    code = "echo $RANDOM $SRANDOM; date; ls /; mktemp -u; echo $$; sleep 1000; date +%s%N"
    runs = {who.call("run", "--seed", "7", "--profile", "open", "-l", "bash", "-c", code).text for _ in range(3)}
    assert len(runs) == 1 and "Thu Jan  1 00:00:00 UTC 2026" in runs.pop()


@pytest.mark.parametrize("name", ["random", "uuid", "objects", "numpy", "who"])
def test_the_server_and_the_command_line_agree(server, name):
    body = {"code": PROGRAMS[name], "seed": 7, "profile": "open"}
    answers = [server.call("POST", "/v1/run", body).json for _ in range(2)]
    alone = run(server.who, PROGRAMS[name]).json
    assert answers[0]["stdout"] == answers[1]["stdout"] == alone["stdout"]
    assert answers[0]["deterministic"] == alone["deterministic"]


def test_runs_without_a_seed_are_as_before(server):
    assert server.call("POST", "/v1/run", {"code": "1", "seed": 7}).json["deterministic"]["seed"] == 7
    code = "import os, time; print(os.urandom(8), time.time())"
    one, two = (server.call("POST", "/v1/run", {"code": code, "profile": "open"}).json for _ in range(2))
    assert one["stdout"] != two["stdout"] and one["deterministic"] is None


def test_threads_are_told(callers):
    if "root" not in callers:
        pytest.skip("needs root: an ordinary user may have no cgroup that counts")
    who = callers["root"]
    code = "import threading\nt = threading.Thread(target=print); t.start(); t.join()"
    assert run(who, code).json["deterministic"]["caveats"] == ["threads or processes ran side by side"]
    assert run(who, "print(1)").json["deterministic"]["caveats"] == []


def test_threads_still_reach_each_other(who):
    code = (
        "import queue, threading\n"
        "q = queue.Queue()\n"
        "threading.Thread(target=lambda: [q.put(i) for i in range(100)]).start()\n"
        "print(sum(q.get(timeout=20) for _ in range(100)))\n"
    )
    assert run(who, code).json["stdout"] == "4950\n"


def test_strict_needs_no_system_call_more(who):
    answers = {who.call("run", "--seed", "3", "--profile", "strict", "-c", "import random; print(random.random(), {'a', 'b'})").text for _ in range(2)}
    assert len(answers) == 1 and answers.pop().startswith("0.23")


@pytest.mark.parametrize("seed", ["-1", "x", "", "1.5", "9007199254740992", "99999999999999999999", "0x10", "1 "])
def test_what_is_no_seed_is_refused(who, seed):
    answer = who.call("run", "--seed", seed, "-c", "1")
    assert answer.code == 64 and "--seed" in answer.errors and "hint: a whole number from 0 to 9007199254740991" in answer.errors


@pytest.mark.parametrize("seed", [-1, "x", 1.5, 9007199254740992, True, []])
def test_what_is_no_seed_is_refused_over_http(server, seed):
    answer = server.call("POST", "/v1/run", {"code": "1", "seed": seed})
    assert answer.status == 400 and "seed" in answer.json["error"]["message"]


def test_a_session_has_no_seed(server):
    assert "seed" in server.call("POST", "/v1/sessions", {"seed": 1}).json["error"]["message"]


def test_without_its_library_it_says_so(tmp_path):
    """Often: a zygote that ends before it was spoken to once left us waiting for ever."""
    (tmp_path / "build").mkdir()
    for name in ("belljar", "belljar-zygote"):
        shutil.copy2(program_path().parent / name, tmp_path / "build" / name)
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    for _ in range(30):
        answer = subprocess.run([tmp_path / "build/belljar", "run", "--seed", "1", "-c", "1"], capture_output=True, text=True, timeout=belljar.HANG_SECONDS)
        assert answer.returncode == 125 and "cannot open" in answer.stderr
