"""Sandboxes that write at the same time: those with unrelated directories never wait for each other, and nobody waits while
data of git is checked."""
import os
import secrets
import signal
import textwrap
import time

import belljar
import pytest

from host import broker_of
from serving import wait_until

pytestmark = pytest.mark.usefixtures("watch")

# Renames a file to the name of an object, which is refused after it was read whole. It does not shrink when it is packed.
OBJECTS = """
import os, time, zlib
os.chdir({folder!r})
os.makedirs('.git/objects/ab', exist_ok=True)
text = os.urandom(16 << 20)
open('.git/objects/ab/tmp_obj_1', 'wb').write(zlib.compress(b'blob %d\\0' % len(text) + text, 0))
def rename():
    try: os.rename('.git/objects/ab/tmp_obj_1', '.git/objects/ab/' + 38 * 'c')
    except PermissionError: return
    print('not refused')
"""

CREATING = """
import os, time
os.chdir({folder!r})
open('started', 'w').close()
n = 0
while {condition}:
    os.close(os.open(f'made{{n}}', os.O_WRONLY | os.O_CREAT | os.O_EXCL)); n += 1
    os.unlink(f'made{{n - 1}}')
print(n)
"""


@pytest.fixture
def folder(who):
    path = who.directory("lock-" + secrets.token_hex(4))
    for name in ("a/below", "b", "c/.git/objects/ab", "c/.git/refs"):
        (path / name).mkdir(parents=True)
    (path / "c/.git/HEAD").write_text("ref: refs/heads/main\n")
    (path / "c/.git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for place in path.rglob("*"):
        who.own(place)
    return path


def start(who, folder, code, *options):
    return who.start("run", "--profile", "open", "--timeout", "60", "--allow", f"{folder}:rw", *options, "-c", textwrap.dedent(code), text=True)


def locks(who):
    """The lines of the kernel about locks on granted directories, as words."""
    inode = os.stat(who.home / "state/belljar/broker.lock").st_ino
    return [line.split() for line in open("/proc/locks") if "OFDLCK" in line and f":{inode} " in line]


def holds_all(who, folder):
    """Whether the only broker that runs holds its directory and every one above it. It takes them one after the other."""
    return sum("->" not in words for words in locks(who)) == len({os.stat(place)[1:3] for place in (folder, *folder.parents)})


def n_waiting(who):
    return sum("->" in words for words in locks(who))


def is_stopped(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T"


def stop_with_lock(who, process, broker, folder):
    """Stops a broker while it holds its directories, `folder` and those above."""

    def try_once():
        assert process.poll() is None, process.communicate()
        os.kill(broker, signal.SIGSTOP)
        wait_until(lambda: is_stopped(broker), "the broker to stand still")
        if holds_all(who, folder):
            return True
        os.kill(broker, signal.SIGCONT)
        return False

    wait_until(try_once, "the broker to be stopped with its lock")


def finished(process):
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 0, (out, err)
    return out.strip()


def test_only_brokers_of_related_directories_wait(who, folder):
    """A broker that holds its directories stands still: those above and below wait for it, one beside it does not."""
    holder = start(who, folder / "a", CREATING.format(folder=str(folder / "a"), condition="not os.path.exists('stop')"))
    wait_until(lambda: (folder / "a/started").exists(), "the first program")
    broker = broker_of(holder.pid)
    others = {}
    try:
        stop_with_lock(who, holder, broker, folder / "a")
        for name in ("a", "a/below"):
            others[name] = start(who, folder / name, f"open({str(folder / name / 'mine')!r}, 'w').close()")
        wait_until(lambda: n_waiting(who) == 2, "the related ones to wait")
        assert finished(start(who, folder / "b", CREATING.format(folder=str(folder / "b"), condition="n < 300"))) == "300"
        # A later broker waits with this one if its directory is below this one's.
        others["."] = start(who, folder, f"open({str(folder / 'mine')!r}, 'w').close()")
        wait_until(lambda: n_waiting(who) == 3, "the one above to wait")
        for name, process in others.items():
            assert process.poll() is None and not (folder / name / "mine").exists(), name
    finally:
        os.kill(broker, signal.SIGCONT)
    for name, process in others.items():
        finished(process)
        assert (folder / name / "mine").exists(), name
    (folder / "a/stop").touch()
    assert int(finished(holder)) > 0


def test_a_broker_that_is_interrupted_answers_every_call(who, folder):
    """A stopped broker, or a machine that sleeps, must not lose an answer: neither a descriptor nor the caller."""
    holder = start(who, folder / "b", CREATING.format(folder=str(folder / "b"), condition="not os.path.exists('stop')"))
    wait_until(lambda: (folder / "b/started").exists(), "the program")
    broker = broker_of(holder.pid)
    for _ in range(200):
        os.kill(broker, signal.SIGSTOP)
        wait_until(lambda: is_stopped(broker), "the broker to stand still")
        os.kill(broker, signal.SIGCONT)
        time.sleep(0.002)
        if holder.poll() is not None:
            break
    (folder / "b/stop").touch()
    assert int(finished(holder)) > 0


def test_a_directory_above_somebody_elses_grant_is_not_moved(who, folder):
    """The broker of the inner directory has locked those above it as they were when it began."""
    (folder / "b/deep/inner").mkdir(parents=True)
    for place in (folder / "b/deep", folder / "b/deep/inner"):
        who.own(place)
    inner = folder / "b/deep/inner"
    holder = start(who, inner, CREATING.format(folder=str(inner), condition="not os.path.exists('stop')"))
    wait_until(lambda: (inner / "started").exists(), "the first program")
    code = f"""
        import os
        os.chdir({str(folder)!r})
        for path in ('b/deep', 'b/deep/inner'):
            try: os.rename(path, 'a/moved')
            except OSError as e: print(e.errno)
        if os.path.exists('a/below'): os.rename('a/below', 'a/other')
    """
    assert finished(start(who, folder, code)).split() == ["16", "16"]
    assert inner.exists() and (folder / "a/other").exists()
    (inner / "stop").touch()
    finished(holder)
    assert finished(start(who, folder, code)).split() == ["2"]


def test_nobody_waits_while_git_data_is_checked(who, folder):
    """Both use the same directory. With the lock held during a check, there would be about one change for each check."""
    checks = 12
    where = folder / "c"
    code = OBJECTS.format(folder=str(where)) + f"""
while not os.path.exists('started'): time.sleep(0.01)
for _ in range({checks}): rename()
open('stop', 'w').close()
"""
    checking = start(who, where, code)
    changes = finished(start(who, where, CREATING.format(folder=str(where), condition="not os.path.exists('stop')")))
    assert finished(checking) == ""
    assert int(changes) > 10 * checks


def test_the_time_of_the_broker_is_the_runs(who, folder):
    """The program itself does nothing but wait; what is done for it counts."""
    code = OBJECTS.format(folder=str(folder / "c")) + "before = time.process_time()\nfor _ in range(10): rename()\nprint(time.process_time() - before)"
    result = who.run(code, "--allow", f"{folder / 'c'}:rw", "--timeout", "100").json
    own = float(result["stdout"])
    idle = who.run(OBJECTS.format(folder=str(folder / "c")), "--allow", f"{folder / 'c'}:rw", "--timeout", "100").json
    assert result["usage"]["cpu_ms"] - idle["usage"]["cpu_ms"] > 3000 * own, (result, idle)
    code = OBJECTS.format(folder=str(folder / "c")) + "while True: rename()"
    result = who.run(code, "--allow", f"{folder / 'c'}:rw", "--timeout", "100", "--cpu-time", "2").json
    assert result["status"] == "timeout" and "CPU time" in str(result["denials"]), result
