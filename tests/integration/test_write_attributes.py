"""Modes, times, attributes and questions about them in a directory granted for writing."""
import os
import secrets
import signal
import textwrap
import time

import belljar
import host
import pytest

from serving import wait_until

pytestmark = pytest.mark.usefixtures("watch")

PRELUDE = """
import ctypes, os
os.chdir({folder!r})
libc = ctypes.CDLL(None, use_errno=True)
def attempt(f):
    try: f(); return 'done'
    except OSError as e: return e.errno
def syscall(number, *words):
    if libc.syscall(number, *[ctypes.c_char_p(w) if isinstance(w, bytes) else ctypes.c_long(w) for w in words]) < 0:
        raise OSError(ctypes.get_errno(), 'syscall')
"""


@pytest.fixture
def folder(who):
    path = who.directory("attributes-" + secrets.token_hex(4))
    for name in ("d", "d/sub"):
        (path / name).mkdir()
        who.own(path / name)
    for name in ("f", "d/g", ".envrc"):
        (path / name).write_text("text\n")
        who.own(path / name)
    return path


def run(who, folder, code, *more):
    answer = who.run(PRELUDE.format(folder=str(folder)) + textwrap.dedent(code), "--allow", f"{folder}:rw", *more)
    assert answer.status == "success", answer
    return answer


# Each way to a directory that its owner cannot read or enter.
CLOSING = {
    "chmod": "os.chmod('d', {mode})",
    "chmod, with a slash": "os.chmod('d/', {mode})",
    "chmod of the dot": "os.chdir('d'); os.chmod('.', {mode})",
    "chmod by a link": "os.symlink('d', 'l'); os.chmod('l', {mode})",
    "chmod by a link's dot": "os.symlink('d', 'l'); os.chmod('l/.', {mode})",
    "fchmod": "os.fchmod(os.open('d', os.O_RDONLY), {mode})",
    "fchmodat": "os.chmod('sub', {mode}, dir_fd=os.open('d', os.O_RDONLY))",
    "fchmodat2": "syscall(452, -100, b'd', {mode}, 0)",
    "fchmodat2 of a descriptor": "syscall(452, os.open('d', os.O_PATH), b'', {mode}, 0x1000)",
    "by the name of a descriptor": "os.chmod(f'/proc/self/fd/' + str(os.open('d', os.O_RDONLY)), {mode})",
    "mkdir": "os.mkdir('new', {mode})",
    "mkdirat": "os.mkdir('new', {mode}, dir_fd=os.open('d', os.O_RDONLY))",
    "umask": "os.umask(0o777 & ~{mode}); os.mkdir('new')",
    "an access list": "import struct; m = {mode}; os.setxattr('d', 'system.posix_acl_access', struct.pack('<IHHIHHIHHI', 2, 1, m >> 6, 2**32 - 1, 4, 0, 2**32 - 1, 32, 0, 2**32 - 1))",
    "of the directory itself": "os.chmod(os.getcwd(), {mode})",
    "fchmod of the directory itself": "os.fchmod(os.open('.', os.O_RDONLY), {mode})",
}


@pytest.mark.parametrize("way", CLOSING)
def test_a_program_cannot_close_a_directory_to_its_user(who, folder, way):
    """A directory that cannot be surveyed cannot be granted again: the program would lock its user out."""
    for mode in (0o000, 0o300, 0o400, 0o600):
        got = run(who, folder, f"print(attempt(lambda: exec({CLOSING[way].format(mode=mode)!r}, globals())))\n")
        assert got.json["stdout"] in ("1\n", "95\n" if way == "an access list" else "1\n"), (mode, got)
        if got.json["stdout"] == "1\n":
            (denial,) = got.json["denials"]
            assert "u+rx" in denial["hint"], denial
        (folder / "l").unlink(missing_ok=True)
    assert who.run("print(1)", "--allow", f"{folder}:rw").json["stdout"] == "1\n"
    assert all(p.stat().st_mode & 0o500 == 0o500 for p in (folder, folder / "d", folder / "d" / "sub"))


def test_other_modes_are_fine_and_come_back(who, folder):
    """Without the right to write, as package managers leave theirs; undo gets in all the same."""
    before = {p: p.stat().st_mode for p in folder.rglob("*")}
    code = """
        os.mkdir('new', 0o700); open('new/f', 'w').close(); os.chmod('new', 0o555); os.chmod('d/sub', 0o555); os.chmod('d', 0o500); os.mkdir('t', 0o1777)
        print([oct(os.stat(p).st_mode & 0o7777) for p in ('new', 'd/sub', 'd', 't')], attempt(lambda: open('new/g', 'w')))
        """
    answer = run(who, folder, code)
    assert answer.json["stdout"] == "['0o555', '0o555', '0o500', '0o1755'] 13\n", answer
    after = {p: p.stat().st_mode for p in folder.rglob("*")}
    undone = who.call("undo", answer.json["id"], "--json")
    assert undone.code == 0 and undone.json["n_conflicts"] == 0, undone
    assert {p: p.stat().st_mode for p in folder.rglob("*")} == before
    again = who.call("undo", undone.json["undo"], "--json")
    assert again.code == 0 and {p: p.stat().st_mode for p in folder.rglob("*")} == after, again


def test_the_granted_directory_itself_stays_open_to_its_owner_alone(who, folder):
    code = "print([attempt(lambda: os.chmod(p, m)) for p in ('.', os.getcwd(), 'd/..') for m in (0o555, 0o775, 0o757, 0o500)], attempt(lambda: os.chmod('.', 0o700)))"
    answer = run(who, folder, code)
    assert answer.json["stdout"] == f"{[1] * 12} done\n" and folder.stat().st_mode & 0o777 == 0o700, answer
    assert "granted directory itself" in answer.json["denials"][0]["hint"], answer


@pytest.mark.parametrize("name", ["closed", "it's `closed`\n"])
def test_a_directory_that_is_closed_already_is_named(who, folder, name):
    """With the command that helps, unless its name could make another command of it."""
    closed = folder / name
    closed.mkdir()
    who.own(closed)
    closed.chmod(0o300)
    answer = who.call("run", "--profile", "open", "--allow", f"{folder}:rw", "-c", "print('ran')")
    closed.chmod(0o700)
    assert answer.code == 77 and "closed" in answer.errors and "chmod u+rx" in answer.errors and "ran" not in answer.text, answer
    assert (f"chmod u+rx '{closed}'" in answer.errors) == (name == "closed"), answer


def test_what_may_be_written_is_said_to_be_writable(who, folder):
    """access() says what a write would get, and does not report a refusal that nobody asked for."""
    (folder / "hard").symlink_to("/etc/passwd")
    (folder / "ro").write_text("x")
    who.own(folder / "ro")
    (folder / "ro").chmod(0o444)
    code = """
        W, R = os.W_OK, os.R_OK
        def ask(path, mode=W, **more): return os.access(path, mode, **more)
        fd = os.open('d', os.O_RDONLY)
        print([ask(p) for p in ('.', os.getcwd(), 'f', 'd', 'd/', 'd/g', 'd/../f', '../' + os.path.basename(os.getcwd()))], ask('g', dir_fd=fd), ask('f', W | R), ask('f', effective_ids=True))
        print([ask(p) for p in ('.envrc', 'none', 'ro', 'f/', 'hard', '/etc/passwd', '/proc/self/none', 'f/x')], ask('f', W | os.X_OK), ask('hard', follow_symlinks=False))
        print(attempt(lambda: syscall(439, fd, b'', 2, 0x1000)), attempt(lambda: syscall(439, -100, b'', 2, 0x1000)), attempt(lambda: syscall(439, -100, b'f', 2, 0x4000)), attempt(lambda: syscall(439, -100, b'f', 8 | 2, 0)),
              attempt(lambda: syscall(439, -100, b'', 2, 0)), attempt(lambda: syscall(21, 0, 2)))
        print(ask('/workspace'), ask('/tmp'), ask('/usr'))
        """
    answer = run(who, folder, code)
    assert answer.json["stdout"].splitlines() == [
        str([True] * 8) + " True True True",
        str([False] * 8) + " False True",
        "done done 22 22 2 14",
        "True True False",
    ], answer
    assert answer.json["denials"] == [] and answer.json["changes"]["changed"] == 0, answer


def test_descriptors_of_directories_and_files_that_are_read(who, folder):
    code = """
        d, f, p = os.open('d', os.O_RDONLY), os.open('f', os.O_RDONLY), os.open('d', os.O_PATH)
        for fd in (d, f):
            os.fchmod(fd, 0o710); os.utime(fd, ns=(5, 6)); os.chown(fd, -1, -1); os.chown(fd, 1000, -1); os.setxattr(fd, 'user.x', b'1')
        syscall(452, p, b'', 0o750, 0x1000); syscall(280, p, b'', 0, 0x1000); syscall(260, p, b'', -1, -1, 0x1000)
        os.utime('.', (7, 8)); os.utime(os.getcwd(), (7, 9)); os.chmod('d/..', 0o750); os.setxattr('d/sub', 'user.y', b'2'); os.removexattr('d', 'user.x')
        print(oct(os.stat('d').st_mode), oct(os.stat('f').st_mode), oct(os.stat('.').st_mode), os.stat('f').st_mtime_ns, os.stat('.').st_mtime, os.listxattr('f'), os.listxattr('d'), os.getxattr('d/sub', 'user.y'))
        print([attempt(lambda: os.fchmod(p, 0o700)), attempt(lambda: os.utime(p)), attempt(lambda: os.chown(f, 0, 0)), attempt(lambda: syscall(280, -100, b'f', 0, 0x8000)), attempt(lambda: syscall(452, -100, b'f', 0o600, 0x8000)),
               attempt(lambda: os.fchmod(99, 0o600)), attempt(lambda: os.setxattr('f', 'trusted.x', b'1')) in (1, 30), attempt(lambda: os.setxattr('f', 'user.' + 'n' * 300, b'1')), attempt(lambda: os.setxattr('none', 'user.x', b'1'))])
        e = os.open('.envrc', os.O_RDONLY)
        print([attempt(lambda: os.fchmod(e, 0o777)), attempt(lambda: os.utime(e)), attempt(lambda: os.setxattr(e, 'user.x', b'1')), attempt(lambda: os.chmod(f'/proc/self/fd/{e}', 0o777)), attempt(lambda: syscall(452, e, b'', 0o777, 0x1000)),
               attempt(lambda: os.chmod('.', 0o777)), attempt(lambda: os.setxattr('.envrc', 'user.x', b'1'))])
        os.rmdir('d/sub'); os.unlink('f')
        print(attempt(lambda: os.fchmod(f, 0o600)))
        """
    before = {p: (p.stat().st_mode, os.listxattr(p)) for p in [folder, *folder.rglob("*")]}
    answer = run(who, folder, code)
    assert answer.json["stdout"].splitlines() == [
        "0o40750 0o100710 0o40750 6 9.0 ['user.x'] [] b'2'",
        "[9, 9, 1, 22, 22, 9, True, 34, 2]",
        "[1, 1, 1, 1, 1, 1, 1]",
        "30",
    ], answer
    assert (folder / ".envrc").stat().st_mode & 0o777 == before[folder / ".envrc"][0] & 0o777
    undone = who.call("undo", answer.json["id"], "--json")
    assert undone.code == 0, undone
    assert {p: (p.stat().st_mode, os.listxattr(p)) for p in [folder, *folder.rglob("*")]} == before


def test_a_removed_working_directory_is_not_another_one(who, folder):
    """The kernel writes " (deleted)" behind its name, and there may be a directory that is called so."""
    code = """
        os.mkdir('x'); os.mkdir('x (deleted)'); os.chdir('x'); fd = os.open('.', os.O_RDONLY); os.rmdir('../x')
        print(attempt(lambda: open('f', 'w')), attempt(lambda: os.mkdir('g', dir_fd=fd)), attempt(lambda: os.chmod('.', 0o700)), os.listdir('../x (deleted)') if os.path.exists('../x (deleted)') else os.listdir(os.environ['G'] + '/x (deleted)'))
        os.chdir(os.environ['G'] + '/x (deleted)'); open('h', 'w').close(); print(os.listdir('.'))
        """
    answer = run(who, folder, code.replace("os.environ['G']", repr(str(folder))))
    lines = answer.json["stdout"].splitlines()
    assert lines[0].startswith("2 2 30") and lines[0].endswith("[]") and lines[1] == "['h']", answer


def test_rules_that_a_program_makes_for_itself_are_not_promised(who, folder):
    """The broker would not be bound by a Landlock domain of the caller: where it writes, there is no Landlock to be had."""
    code = "print(attempt(lambda: syscall(444, 0, 0, 1)), attempt(lambda: syscall(446, 3, 0)))"
    assert run(who, folder, code).json["stdout"] == "38 38\n"
    answer = who.run(PRELUDE.format(folder="/") + "print(attempt(lambda: syscall(444, 0, 0, 1)))", "--allow", f"{folder}:ro")
    assert answer.json["stdout"] == "done\n", answer


LINKS = """
    import errno
    os.mkdir('one'); os.mkdir('two')
    def make(i):
        os.close(os.open(f'one/{i}', os.O_WRONLY | os.O_CREAT, 0o644)); os.link(f'one/{i}', f'two/{i}')
"""


def test_files_that_got_more_names_here_can_be_written(who, folder):
    """Also when there are many of them, and some were removed in between."""
    code = LINKS + """
    for i in range(2000): make(i)
    for i in range(0, 2000, 3): os.unlink(f'two/{i}')
    for i in range(2000, 2500): make(i)
    for i in range(2500):
        with open(f'one/{i}', 'a') as f: f.write('x')
    os.unlink('one/7'); os.link('two/7', 'one/7'); os.link('two/7', 'd/7'); open('d/7', 'a').close(); print('fine')
    """
    answer = run(who, folder, textwrap.dedent(code), "--timeout", "120")
    assert answer.json["stdout"] == "fine\n" and answer.json["denials"] == [], answer


@pytest.mark.slow
def test_more_hard_links_than_are_remembered_are_refused(who, folder):
    """Not made and then forgotten: such a file could not be written any more."""
    code = LINKS + """
    try:
        for i in range(70000): make(i)
    except OSError as e: print(i, e.errno == errno.EMLINK)
    open(f'one/{i}', 'a').close(); open('one/0', 'a').close(); os.unlink('two/0'); os.link(f'one/{i}', f'two/{i}'); open(f'two/{i}', 'a').close(); print('fine')
    """
    answer = run(who, folder, textwrap.dedent(code), "--timeout", "300")
    assert answer.json["stdout"] == "65536 True\nfine\n", answer
    assert "hard links" in answer.json["denials"][0]["hint"], answer


def test_paths_with_dots_mean_the_same_while_others_rename(who, folder):
    """The kernel gives up on such a path when something is renamed anywhere meanwhile; the broker asks again."""
    code = """
        import threading
        os.mkdir('/workspace/a'); stop = False
        def rename():
            while not stop: os.rename('/workspace/a', '/workspace/b'); os.rename('/workspace/b', '/workspace/a')
        threads = [threading.Thread(target=rename) for _ in range(2)]
        for t in threads: t.start()
        failed = 0
        for i in range(1500):
            for path in ('d/../f', 'd/sub/../../d/sub/../g'):
                try: os.close(os.open(path, os.O_WRONLY)); os.utime('d/..')
                except OSError: failed += 1
        stop = True
        for t in threads: t.join()
        print(failed)
        """
    assert run(who, folder, code, "--timeout", "120").json["stdout"] == "0\n"


def test_the_reason_of_the_broker_is_kept(who, folder):
    """The broker refuses and ends; what the sandbox says afterwards does not take the place of its reason."""
    closed = folder / "closed"
    closed.mkdir()
    who.own(closed)
    closed.chmod(0o300)
    for _ in range(3):
        process = who.start("run", "--profile", "open", "--allow", f"{folder}:rw", "-c", "print('ran')")
        wait_until(lambda p=process: brokers(p.pid) or p.poll() is not None, "the broker")
        process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(50):  # or it was stopped before it had told the broker what to do
                if brokers(process.pid) == ["Z"]:
                    break
                time.sleep(0.02)
            time.sleep(0.3)  # the sandbox is made meanwhile, and says so
        finally:
            process.send_signal(signal.SIGCONT)
        out, errors = process.communicate(timeout=belljar.HANG_SECONDS)
        assert process.returncode == 77 and b"chmod u+rx" in errors and not out, (process.returncode, out, errors)
    closed.chmod(0o700)


def brokers(pid):
    """The states of the brokers of a process."""
    return [state for _, state, name in filter(None, map(host.process, host.children(pid))) if name == "belljar-broker"]
