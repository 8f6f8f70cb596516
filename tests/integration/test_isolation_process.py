"""Isolation `process`: Landlock, seccomp and resource limits without namespaces, where the operator has chosen it.

A container with the usual settings is simulated: tests/tools/deny-syscall refuses what Docker's default filter refuses,
and Kubernetes' (containerd's) is the same for these calls.
"""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import belljar
import serving
from test_layers import deny_syscall

pytestmark = pytest.mark.usefixtures("watch")

NAMESPACES = 0x7E020000

# Of Docker's default filter: without CAP_SYS_ADMIN these are refused, and clone3 is said to be missing.
CONTAINER = ",".join(
    ["clone3=ENOSYS", *(f"clone:0&{1 << bit:#x}=EPERM" for bit in range(32) if NAMESPACES >> bit & 1)]
    + ["personality:0&0x40000=EPERM"]
    + [
        f"{call}=EPERM"
        for call in "unshare setns mount umount2 pivot_root open_tree move_mount fsopen fsconfig fsmount fspick "
        "mount_setattr keyctl add_key request_key bpf perf_event_open userfaultfd open_by_handle_at quotactl acct swapon "
        "swapoff init_module finit_module delete_module kexec_load reboot settimeofday clock_settime mbind move_pages "
        "set_mempolicy".split()
    ]
)

LEVEL = {"BELLJAR_ISOLATION": "process"}
LAYERS = {"no-capabilities", "no-new-privileges", "landlock", "seccomp", "rlimits"}


def contained(rules=CONTAINER):
    return [deny_syscall(), rules, "--"]


def run(who, code, *args, profile="open", wrapper=None, **more):
    return who.run(code, *args, profile=profile, wrapper=contained() if wrapper is None else wrapper, env=LEVEL, **more)


def places(pid):
    """Directories of the sandboxes of this supervisor."""
    return [str(p) for parent in ("/tmp", "/var/tmp") for p in Path(parent).glob(f"belljar-{pid}-??????")]


def lives(word):
    """Processes with this word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def test_never_without_the_operators_word(who):
    answer = who.run("print('it-' + 'ran')", wrapper=contained())
    assert answer.code != 0 and b"it-ran" not in answer.out, answer
    error = answer.json["error"]
    assert error["code"] == "unsupported" and "namespaces" in error["message"], error
    assert "--isolation process" in error["hint"] and "protects less" in error["hint"], error


@pytest.mark.parametrize("profile", ["strict", "standard", "open", "marketplace"])
def test_programs_run_and_every_result_names_the_level(who, profile):
    result = run(who, "print(6 * 7)", profile=profile).json
    assert result["status"] == "success" and result["stdout"] == "42\n", result
    assert result["isolation"] == "process", result
    assert LAYERS <= set(result["layers"]) and not {n for n in result["layers"] if "namespace" in n or n in ("private-root", "masked-proc")}
    assert who.run("1", profile=profile).json["isolation"] == "namespaces"


def test_a_kernel_without_scopes_is_refused(who):
    answer = run(who, "print('it-' + 'ran')", wrapper=contained(CONTAINER + ",landlock_create_ruleset=EOPNOTSUPP"))
    assert answer.code != 0 and b"it-ran" not in answer.out, answer
    assert "Landlock ABI 6" in answer.json["error"]["message"], answer


@pytest.mark.parametrize("call", ["landlock_restrict_self", "landlock_add_rule", "seccomp", "prctl:0==38", "prctl:0==36", "capset", "setrlimit=EPERM,prlimit64"])
def test_without_a_layer_nothing_runs(who, call):
    answer = run(who, "print('it-' + 'ran')", wrapper=contained(f"{CONTAINER},{call}=EPERM"))
    assert answer.code != 0 and b"it-ran" not in answer.out, answer


@pytest.mark.parametrize("language, code", [
    ("bash", "echo a > f; cat f; cat <(echo b); cd \"$TMPDIR\" && echo c > g && cat g"),
    ("javascript", "const fs = require('fs'); fs.writeFileSync('f', 'a\\nb\\nc\\n'); process.stdout.write(fs.readFileSync('f'))"),
    ("python", "import tempfile\nopen('f', 'w').write('a\\nb\\n')\nprint(open('f').read() + 'c')\ntempfile.NamedTemporaryFile()"),
])  # fmt: skip
def test_files_and_languages(who, language, code):
    result = run(who, code, "--language", language).json
    assert result["stdout"] == "a\nb\nc\n", result
    assert "f" in [f["path"] for f in result["files"]], result["files"]


def test_files_go_in_and_come_back(who):
    given = who.file("given.txt", "text")
    result = run(who, "open('out.txt', 'w').write(open('given.txt').read() * 2)", "--file", given, "--collect", "out.txt", "--into", who.home / "tmp").json
    assert result["status"] == "success", result
    out = who.home / "tmp" / "out.txt"
    assert out.read_text() == "texttext"
    out.unlink()


REACH = """
import ctypes, os, signal, socket
HOME, STATE, OTHER = @PLACES@
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, act):
    try:
        act()
    except OSError:
        return
    print('REACHED', what)
def succeeds(value):
    if value < 0:
        raise OSError(ctypes.get_errno())
supervisor = os.getppid()
attempt('home', lambda: os.listdir(HOME))
attempt('state', lambda: os.listdir(STATE))
attempt('passwd', lambda: open('/etc/passwd'))
attempt('hosts', lambda: open('/etc/hosts'))
attempt('shm', lambda: open('/dev/shm/bj', 'w'))
attempt('tmp', lambda: os.listdir('/tmp'))
attempt('write tmp', lambda: open('/tmp/bj', 'w'))
attempt('list the neighbours', lambda: os.listdir(os.path.dirname(os.path.dirname(os.getcwd()))))
for mode in (0o777, 0):
    attempt('chmod', lambda: os.chmod(HOME, mode))
attempt('chmod the place', lambda: os.chmod(os.path.dirname(os.path.dirname(os.getcwd())), 0o777))
attempt('times', lambda: os.utime(HOME))
attempt('attribute', lambda: os.setxattr(HOME, 'user.bj', b'x'))
attempt('group', lambda: os.chown(HOME, -1, os.getgid()))
for pid in (1, supervisor, OTHER):
    attempt('signal', lambda: os.kill(pid, 0))
    attempt('pidfd', lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 0))
    attempt('nice', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt('affinity', lambda: os.sched_setaffinity(pid, {0}))
    attempt('limits', lambda: __import__('resource').prlimit(pid, 7, (1, 1)))
    for name in ('environ', 'cmdline', 'maps', 'mem', 'stat', 'status', 'cgroup', 'mountinfo'):
        attempt(f'proc {name}', lambda: open(f'/proc/{pid}/{name}'))
    for name in ('exe', 'cwd', 'root'):
        attempt(f'proc {name}', lambda: os.readlink(f'/proc/{pid}/{name}'))
    attempt('proc fd', lambda: os.listdir(f'/proc/{pid}/fd'))
attempt('nice user', lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt('proc', lambda: os.listdir('/proc'))
attempt('sys', lambda: os.listdir('/sys'))
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        attempt(f'socket {family} {kind}', lambda: socket.socket(family, kind))
attempt('datagram pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt('shm get', lambda: succeeds(libc.shmget(0, 4096, 0o1600)))
attempt('sem get', lambda: succeeds(libc.semget(0, 1, 0o1600)))
attempt('inotify', lambda: succeeds(libc.inotify_init1(0)))
attempt('ptrace', lambda: succeeds(libc.ptrace(16, OTHER, 0, 0)))
print('tried')
"""


def test_nothing_of_the_host_is_reached(who):
    other = subprocess.Popen(["sleep", "600"], **who.identity())
    try:
        code = REACH.replace("@PLACES@", repr((str(who.home), str(who.home / "state"), other.pid)))
        result = run(who, code).json
        assert result["stdout"] == "tried\n", result
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_directory_is_granted_for_reading_only(who):
    # If root starts Belljar, programs run as another user, which must be able to read it.
    granted = Path(tempfile.mkdtemp(prefix="bjgrant-", dir=who.home.parent))
    granted.chmod(0o755)
    (granted / "kept.txt").write_text("kept")
    for path in (granted, granted / "kept.txt"):
        who.own(path)
    code = f"""
import os
print(open('kept.txt').read(), open({str(granted / 'kept.txt')!r}).read())
for act in (lambda: open('kept.txt', 'a'), lambda: open('new', 'w'), lambda: os.unlink('kept.txt'), lambda: os.chmod('kept.txt', 0),
            lambda: os.truncate('kept.txt', 0), lambda: os.rename('kept.txt', 'x'), lambda: os.utime('kept.txt'), lambda: os.listdir('..')):
    try:
        act()
        print('CHANGED')
    except OSError:
        pass
"""
    result = run(who, code, "--allow", granted).json
    assert result["stdout"] == "kept kept\n", result
    assert (granted / "kept.txt").read_text() == "kept" and len(list(granted.iterdir())) == 1


@pytest.mark.parametrize("args, word", [
    (["--allow", "@:rw"], "for reading only"), (["--allow", "@:cow"], "for reading only"),
    (["--net", "example.org"], "no host"), (["--seed", "1"], "seed"),
])  # fmt: skip
def test_what_this_level_does_not_have_is_refused(who, args, word):
    granted = who.directory("granted-more")
    answer = run(who, "print('it-' + 'ran')", *[a.replace("@", str(granted)) for a in args])
    assert answer.code != 0 and b"it-ran" not in answer.out, answer
    error = answer.json["error"]
    assert error["code"] == "unsupported" and "isolation `process`" in error["message"] and word in error["message"], error
    assert error["hint"], error


def test_a_profile_that_requires_namespaces_refuses(who):
    own = who.file("demanding.toml", 'inherits = "open"\n[isolation]\nrequire = ["pid-namespace"]\n')
    answer = run(who, "print('it-' + 'ran')", profile=str(own))
    assert answer.code != 0 and "requires namespaces" in answer.json["error"]["message"], answer
    own = who.file("content.toml", 'inherits = "open"\n[isolation]\nrequire = ["uts-namespace"]\nprocess = ["landlock", "seccomp"]\n')
    assert run(who, "print(1)", profile=str(own)).json["stdout"] == "1\n"
    own = who.file("heir.toml", 'inherits = "open"\ndescription = "x"\n')
    assert run(who, "print(1)", profile=str(own)).json["stdout"] == "1\n"


def test_trees_that_are_hard_to_delete_are_deleted(who):
    code = """
import os
for i in range(400):
    os.mkdir('d' * 100)
    os.chdir('d' * 100)
open(b'\\xff\\n', 'w').close()
os.mkdir('locked')
open('locked/f', 'w').close()
os.mkdir('closed', 0)
os.symlink('/', 'link')
os.mkfifo('fifo')
print('made')
"""
    answer = run(who, code)
    assert answer.json["stdout"] == "made\n" and not places(answer.pid), answer


# Its own number, so that no other test is meant.
SLEEP = 1000 + os.getpid() % 100000

STRAYS = """
import os, subprocess, time
for i in range(5):
    subprocess.Popen(['setsid', 'bash', '-c', 'trap "" TERM HUP INT; (sleep @SLEEP@ & setsid sleep @SLEEP@ &) ; exec sleep @SLEEP@'])
print('started', flush=True)
time.sleep(600)
""".replace("@SLEEP@", str(SLEEP))


def start_strays(who):
    process = who.start("run", "--profile", "open", "-c", STRAYS, "--timeout", "300", env=LEVEL, wrapper=contained())
    assert process.stdout.readline() == b"started\n", process.stderr.read()
    serving.wait_until(lambda: len(lives(f"sleep\0{SLEEP}")) >= 15, "15 processes of the program")
    return process


def wait_for_nothing(process):
    serving.wait_until(lambda: not lives(f"sleep\0{SLEEP}"), "processes that a program has detached")
    serving.wait_until(lambda: not places(process.pid), "the directory of the sandbox")


def test_when_the_server_is_killed_nothing_is_left(who):
    process = start_strays(who)
    assert places(process.pid)
    process.kill()
    process.communicate()
    wait_for_nothing(process)


def test_when_the_zygote_is_killed_nothing_is_left(who):
    process = start_strays(who)
    assert places(process.pid)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    zygote = [int(c) for c in children if b"belljar-zygote" in Path(f"/proc/{c}/cmdline").read_bytes()]
    assert len(zygote) == 1, children
    os.kill(zygote[0], signal.SIGKILL)
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode != 0
    wait_for_nothing(process)


def test_when_a_first_process_is_killed_nothing_is_left(who):
    """It could not end the others: the zygote ends all it has."""
    process = start_strays(who)
    assert places(process.pid)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    zygote = [c for c in children if b"belljar-zygote" in Path(f"/proc/{c}/cmdline").read_bytes()][0]
    first = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
    os.kill(int(first[0]), signal.SIGKILL)
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode != 0
    wait_for_nothing(process)


def test_a_timeout_takes_everything_along(who):
    answer = run(who, STRAYS, "--timeout", "3")
    assert answer.json["status"] == "timeout", answer
    assert not lives(f"sleep\0{SLEEP}") and not places(answer.pid)


def test_limits_hold(who):
    result = run(who, "x = bytearray(1 << 30)", "--memory", "100").json
    assert result["status"] in ("memory_exceeded", "error"), result
    code = "import os, time\nn = 0\ntry:\n    while n < 5000:\n        if os.fork() == 0:\n            time.sleep(60)\n        n += 1\nexcept OSError:\n    pass\nprint(n < 1000)"
    assert run(who, code, "--pids", "20").json["stdout"] == "True\n"


def test_the_doctor_grades_it_lower_and_says_why(who):
    answer = who.call("doctor", "--json", "--isolation", "process", wrapper=contained())
    report = answer.json
    assert report["grade"] == "D" and "isolation `process`" in report["meaning"], report
    # Each module that is installed can be imported beforehand: matplotlib wants a directory to write to.
    assert all("No module named" in str(why) for why in report["python"]["missing"]), report["python"]
    refused = who.call("doctor", wrapper=contained())
    assert refused.code == 1 and "grade F" in refused.text and "--isolation process" in refused.text, refused
    assert "unconfined" not in refused.text and "sysctl" not in refused.text, refused
