"""Forks after everyday habits: what libraries leave behind is tidied up, and a refusal says what to do."""
import pytest

TQDM = '''
import os, sys
os.makedirs("tqdm", exist_ok=True)
open("tqdm/__init__.py", "w").write("from .std import tqdm")
open("tqdm/std.py", "w").write("""
import threading, multiprocessing
class TqdmDefaultWriteLock:
    mp_lock, th_lock = multiprocessing.RLock(), threading.RLock()
    def __init__(self):
        self.locks = [self.mp_lock, self.th_lock]
class TMonitor(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.start()
    def run(self):
        self.stop.wait()
    def exit(self):
        self.stop.set()
        self.join()
class tqdm(list):
    monitor, _lock = None, TqdmDefaultWriteLock()
    def __init__(self, things):
        super().__init__(things)
        tqdm.monitor = tqdm.monitor or TMonitor()
""")
sys.path.insert(0, "")
from tqdm import tqdm
for _ in tqdm(range(3)): pass
'''

FINE = {
    "a bar of tqdm": (TQDM, "print(len(tqdm(range(2))))", "2\n"),
    "a pool in a with": ("import multiprocessing as m\nwith m.Pool(2) as p: r = p.map(abs, [-1, -2])", "print(r, p._state)", "[1, 2] TERMINATE\n"),
    "a pool that was joined": ("import multiprocessing as m\np = m.Pool(2); r = p.map(abs, [-1]); p.close(); p.join()", "print(r)", "[1]\n"),
    "an executor of processes": (
        "from concurrent.futures import ProcessPoolExecutor as E\nwith E(2) as e: r = list(e.map(abs, [-1]))", "print(r)", "[1]\n"),
    "an executor of threads": (
        "from concurrent.futures import ThreadPoolExecutor as E\nwith E(2) as e: r = list(e.map(abs, [-1]))", "print(r)", "[1]\n"),
    "a process": ("import multiprocessing as m\np = m.Process(target=abs, args=(1,)); p.start(); p.join()", "print(p.exitcode)", "0\n"),
    "a child nobody has waited for": (
        "import os, subprocess\np = subprocess.Popen(['sh', '-c', 'exit 3'])\nos.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT); None",
        "print(p.wait())", "3\n"),
    "a pipe that was read": (
        "import subprocess\np = subprocess.Popen(['echo', 'x'], stdout=subprocess.PIPE); r = p.stdout.read(); p.wait()",
        "print(r, p.stdout.read(), p.stdout.closed)", "b'x\\n' b'' False\n"),
    "shared memory that is gone": (
        "from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=9); m.close(); m.unlink()", "print(1)", "1\n"),
    "a loop of garbage": ("import os, subprocess\nclass A: pass\na = A(); a.a = a; a.p = os.fdopen(os.pipe()[1]); del a", "print(1)", "1\n"),
}  # fmt: skip

NAMED = {
    "an executor that is open": (
        "from concurrent.futures import ThreadPoolExecutor as E\ne = E(2); r = list(e.map(abs, [-1]))", "call `shutdown()` of its executor", "e.shutdown()"),
    "a pool that is open": ("import multiprocessing as m\np = m.Pool(2); r = p.map(abs, [-1])", "call `close()` and `join()` of its pool", "p.close(); p.join()"),
    "a queue": (
        "import multiprocessing as m\nq = m.Queue(); q.put(1); q.get()", "call `close()` and `join_thread()` of its queue",
        "q.close(); q.join_thread(); del q"),
    "a lock": ("import multiprocessing as m\nl = m.Lock()", "`del` the queues, locks and pools", "del l"),
    "a thread": (
        "import threading\ns = threading.Event(); t = threading.Thread(target=s.wait, name='poller'); t.start()",
        "thread `poller` is running: end it and call its `join()`", "s.set(); t.join()"),
    "an unnamed file": ("import tempfile\nt = tempfile.TemporaryFile()", "a file without a name", "t.close()"),
}  # fmt: skip


def cell(server, session, code):
    reply = server.call("POST", f"/v1/sessions/{session}/execute", {"code": code})
    assert reply.status == 200 and reply.json["status"] == "success", reply
    return reply.json["stdout"]


@pytest.fixture
def session(server):
    reply = server.call("POST", "/v1/sessions", {"profile": "open", "memory_mb": 512})
    assert reply.status == 201, reply
    yield reply.json["session_id"]
    for s in server.call("GET", "/v1/sessions").json["sessions"]:
        server.call("DELETE", f"/v1/sessions/{s['session_id']}")


@pytest.mark.parametrize("habit", FINE)
def test_a_session_can_be_forked_after(server, session, habit):
    before, after, expected = FINE[habit]
    cell(server, session, before)
    reply = server.call("POST", f"/v1/sessions/{session}/fork", {})
    assert reply.status == 200, reply
    for one in (session, reply.json["sessions"][0]["session_id"]):
        assert cell(server, one, after) == expected


@pytest.mark.parametrize("habit", NAMED)
def test_a_refusal_says_what_to_do(server, session, habit):
    before, words, remedy = NAMED[habit]
    cell(server, session, before)
    reply = server.call("POST", f"/v1/sessions/{session}/fork", {})
    assert reply.status == 400 and words in reply.json["error"]["message"], reply
    cell(server, session, remedy)
    assert server.call("POST", f"/v1/sessions/{session}/fork", {}).status == 200
