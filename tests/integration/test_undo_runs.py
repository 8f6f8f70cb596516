"""Undo of real programs: what they did through the write broker is taken back, also after a crash."""
import errno
import fcntl
import os
import secrets
import signal
import struct
import subprocess
import time

import belljar
import pytest

import host
from serving import Server, wait_until

PROGRAM = """
cd '{folder}'
echo new > a; rm b; mkdir n; echo y > n/y; mv d e; echo z >> e/x; ln -s a link; chmod 600 keep
printf tmp > .tmp; mv .tmp replaced; mkdir t; echo 1 > t/1; rm -r t; ln keep hard; : > e/new
"""


@pytest.fixture
def folder(who):
    path = who.directory("undo-" + secrets.token_hex(4))
    (path / "d").mkdir()
    who.own(path / "d")
    for name in ("a", "b", "d/x", "keep", "replaced"):
        (path / name).write_text(f"old {name}\n")
        who.own(path / name)
    return path


def snapshot(folder):
    """Everything that an undo gives back."""
    seen = {}
    for directory, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            is_file = not os.path.islink(path) and os.path.isfile(path)
            content = open(path, "rb").read() if is_file else os.readlink(path) if os.path.islink(path) else None
            seen[os.path.relpath(path, folder)] = (st.st_mode, st.st_uid, content, st.st_mtime_ns if is_file else None)
    return seen


def undo(who, run, code=0):
    """The journal is closed a moment after the answer."""
    for _ in range(100):
        answer = who.call("undo", run, "--json")
        if answer.code != 75:
            break
        time.sleep(0.05)
    assert answer.code == code, answer
    return answer.json


def test_all_that_a_program_did_is_taken_back_and_done_again(who, folder):
    before = snapshot(folder)
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", PROGRAM.format(folder=folder)).json
    assert result["status"] == "success" and result["changes"]["undo"] is True, result
    assert result["changes"]["renamed"] == 1 and result["changes"]["removed"] >= 1, result
    after = snapshot(folder)
    assert after != before and "n/y" in after
    done = undo(who, result["id"])
    assert done["n_conflicts"] == 0 and snapshot(folder) == before, done
    again = undo(who, done["undo"])
    assert again["n_conflicts"] == 0 and snapshot(folder) == after, again


GOING = {
    "written": "ln a v; echo evil > v; rm v",
    "in another directory": "mkdir n; ln a n/v; echo evil > n/v; mv n m; rm -r m",
    "replaced": "ln a v; echo evil > v; echo x > w; mv w v; rm v",
    "by a descriptor": "ln a v; exec 5<>v; rm v; printf evil >&5",
    "mode": "ln a v; chmod 777 v; rm v",
    "moved since": "ln a v; mv a z; echo evil > v; rm v; mv z a",
    "two from before": "echo evil > keep2; rm keep2",
    "read-only": "ln a v; echo evil > v; chmod 400 v; rm v",
}


@pytest.mark.parametrize("way", GOING, ids=str)
def test_a_change_by_a_name_that_is_gone_is_taken_back(who, folder, way):
    """A second name of a file (hard link) is removed after the file was changed by it."""
    os.link(folder / "keep", folder / "keep2")
    before = snapshot(folder)
    code = f"cd '{folder}' && {{ {GOING[way]}; }}"
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", code).json
    assert result["status"] == "success" and snapshot(folder) != before, result
    done = undo(who, result["id"])
    assert done["n_conflicts"] == 0 and snapshot(folder) == before, done


def test_a_changed_file_whose_other_names_are_unknown_keeps_its_name(who, folder):
    code = f"cd '{folder}'; mkdir n m; mv a n/a; ln n/a m/v; echo evil > m/v; mv n z; rm m/v; cat z/a"
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", code).json
    assert "Operation not permitted" in result["stderr"], result
    assert any("other names" in d["hint"] for d in result["denials"]), result
    before = {"a": "old a\n", "b": "old b\n", "keep": "old keep\n", "replaced": "old replaced\n"}
    assert undo(who, result["id"])["n_conflicts"] == 0
    assert {p.name: p.read_text() for p in folder.iterdir() if p.is_file()} == before


def test_files_that_nobody_may_read_are_taken_back(who, folder):
    before = snapshot(folder)
    code = f"""import os
os.chdir({str(folder)!r})
for name in ("a", "b", "d/x"):
    open(name, "w").write("evil")
    os.setxattr(name, "user.evil", b"1")
    os.chmod(name, 0)
open("new", "w").close()
os.chmod("new", 0)
os.setxattr("keep", "user.evil", b"1")
os.chmod("keep", 0o400)
os.setxattr("d", "user.evil", b"1")
os.chmod("d", 0o500)"""
    result = who.run(code, "--allow", f"{folder}:rw").json
    assert result["status"] == "success", result
    done = undo(who, result["id"])
    assert done["n_conflicts"] == 0 and snapshot(folder) == before, done
    assert not [name for name in ("a", "b", "keep", "d") if os.listxattr(folder / name)]


def test_work_that_follows_at_once_is_not_taken_for_the_runs(who, folder):
    """File systems give out the number of a removed file again: it may be that of a file in the same place."""
    code = f"""import os
os.chdir({str(folder)!r})
for name in ("a", "b", "keep", "replaced"):
    os.truncate(name, 1)
    os.unlink(name)
    open(name, "w").write("evil")"""
    result = who.run(code, "--allow", f"{folder}:rw").json
    assert result["status"] == "success", result
    for name in ("a", "b", "keep", "replaced"):
        (folder / name).write_text("by hand")
    undo(who, result["id"], code=1)
    assert [(folder / name).read_text() for name in ("a", "b", "keep", "replaced")] == ["by hand"] * 4


def test_after_kill_everything_comes_back(who, folder):
    before = snapshot(folder)
    code = PROGRAM.format(folder=folder) + f"\nexec 3>>'{folder}/a'; echo more >&3; touch '{folder}/ready'; sleep 60"
    process = who.start("run", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", code)
    wait_until(lambda: (folder / "ready").exists(), "the program to be ready")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    runs = [r for r in who.call("undo", "--list", "--json").json if r["directories"] == [str(folder)]]
    done = undo(who, runs[0]["run"])
    assert done["n_conflicts"] == 0 and snapshot(folder) == before, done


LEFT_BEHIND = """
import mmap, os, time
os.chdir({folder!r})
files = [os.open(name, os.O_RDWR) for name in ("a", "b", "keep")]
os.ftruncate(files[0], 4096)
page = mmap.mmap(files[0], 4096)
for number in range(8):
    if os.fork() == 0:
        os.setsid()
        while True:
            for file in files[1:]:
                os.pwrite(file, b"child%d" % number, 0)
            page[0:5] = b"child"
time.sleep(0.2)
"""


def test_processes_left_behind_do_not_outlive_the_record(who, folder):
    """They write through descriptors that they have open until they are killed, after the program's own end."""
    for _ in range(3):
        before = snapshot(folder)
        result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-c", LEFT_BEHIND.format(folder=str(folder))).json
        assert result["status"] == "success" and result["changes"]["changed"] == 3, result
        done = undo(who, result["id"])
        assert done["n_conflicts"] == 0 and snapshot(folder) == before, done


def test_each_cell_of_a_session_is_a_run_of_its_own(who, folder):
    s = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{folder}:rw"})
    session = s.post("/v1/sessions", {"allow": [f"{folder}:rw"]}).json["session_id"]
    write = lambda text: s.post(f"/v1/sessions/{session}/execute", {"code": f"n = open('{folder}/a', 'w').write('{text}')"})  # noqa: E731
    before = snapshot(folder)
    first, second = write("first").json, write("second").json
    assert first["changes"]["changed"] == second["changes"]["changed"] == 1, (first, second)

    def take_back(run):
        answers = []
        wait_until(lambda: answers.append(s.post(f"/v1/runs/{run}/undo", {})) or answers[-1].status != 429, "the journal to be closed")
        return answers[-1]

    early = take_back(first["id"])
    assert early.json["n_conflicts"] == 1 and (folder / "a").read_text() == "second", early
    assert take_back(second["id"]).json["n_conflicts"] == 0 and (folder / "a").read_text() == "first"
    assert take_back(first["id"]).json["n_conflicts"] == 0 and snapshot(folder) == before
    assert s.stop() == 0, s.said


def test_an_undo_waits_for_the_write_brokers(who, folder):
    """Between the look at a place and the act there no sandbox changes what the place is."""
    before = snapshot(folder)
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", f"rm '{folder}/b'").json
    with open(who.home / "state/belljar/broker.lock", "r+") as lock:
        # All bytes: every directory is locked.
        fcntl.fcntl(lock, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        process = who.start("undo", result["id"])
        time.sleep(0.7)
        assert process.poll() is None and not (folder / "b").exists()
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 0 and snapshot(folder) == before


def test_what_is_made_at_the_limit_is_known(who, folder):
    """The line that confirms a new file may be the one that does not fit."""
    (folder / "large").write_bytes(secrets.token_bytes(1000 << 10))
    who.own(folder / "large")
    for length in (0, 14, 28, 42, 56, 70):
        before = snapshot(folder)
        code = f"""
import os
os.chdir({str(folder)!r})
open("large", "r+").close()
try:
    for n in range(20000):
        with open(f"f{{n:05}}" + "y" * {length}, "w") as f: n = f.write("payload")
except OSError as e: print(e.errno)
"""
        result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-c", code, env={"BELLJAR_UNDO_MB": "1"}).json
        assert result["stdout"].strip() == str(errno.EDQUOT), result
        done = undo(who, result["id"])
        assert done["n_conflicts"] == 0 and snapshot(folder) == before, done["conflicts"]


FILLING = """
import os
os.chdir({folder!r})
try:
    for n in range(2000):
        name = f"f{{n:05}}" + "y" * {length}
        if n % 3 == 0: os.mkdir(name)
        elif n % 3 == 1: os.symlink("x", name)
        else:
            with open(name, "w") as f: f.write("payload")
except OSError as e: print(e.errno)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_what_is_made_on_a_full_disk_is_known(who, folder):
    """Between the line that announces a new file and the one that confirms it the disk may be full: then the file is not made."""
    state = who.directory("full-" + secrets.token_hex(4))
    store = state / "belljar" / "undo"
    store.mkdir(parents=True)
    for path in (state / "belljar", store):
        who.own(path)
    more = {"XDG_STATE_HOME": str(state)}
    for length in (0, 7, 14, 21, 28, 35, 42, 49):
        mount = ["mount", "-t", "tmpfs", "-o", f"size=32k,mode=700,uid={who.uid},gid={who.gid}", host.OWN_MOUNT, str(store)]
        subprocess.run(mount, check=True)
        try:
            before = snapshot(folder)
            code = FILLING.format(folder=str(folder), length=length)
            result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-c", code, env=more).json
            assert result["stdout"].strip() == str(errno.EIO) and result["changes"]["created"] > 10, result
            assert "cannot be saved for undo" in result["denials"][0]["hint"], result
            subprocess.run(["mount", "-o", "remount,size=8m", str(store)], check=True)
            for _ in range(100):
                done = who.call("undo", result["id"], "--json", env=more)
                if done.code != 75:
                    break
                time.sleep(0.05)
            assert done.code == 0 and done.json["n_conflicts"] == 0 and snapshot(folder) == before, (length, done)
        finally:
            subprocess.run(["umount", "-l", str(store)], check=True)


def test_without_undo_nothing_is_recorded(who, folder):
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", f"echo x > '{folder}/new'",
                      env={"BELLJAR_UNDO": "off"}).json  # fmt: skip
    assert result["status"] == "success" and result["changes"]["undo"] is False and (folder / "new").exists(), result
    assert who.call("undo", result["id"]).code == 66


def test_what_does_not_fit_is_refused_not_lost(who, folder):
    (folder / "large").write_bytes(secrets.token_bytes(3 << 20))
    who.own(folder / "large")
    before = snapshot(folder)
    result = who.call("run", "--json", "--profile", "open", "--allow", f"{folder}:rw", "-l", "bash", "-c", f"echo x > '{folder}/large'; rm '{folder}/large'",
                      env={"BELLJAR_UNDO_MB": "1"}).json  # fmt: skip
    assert result["status"] == "error" and snapshot(folder) == before, result
    assert any("undo" in (d["hint"] or "") + d["what"] + d["layer"] for d in result["denials"]) or "quota" in result["stderr"].lower(), result
