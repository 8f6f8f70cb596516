"""Every system call of a launch fails in turn: the answer is a clear error or a whole result, it comes by itself, and nothing is left.

Taking layers away on purpose is test_layers.py; this is about everything else that a launch leans on.
"""
import json

import pytest

import belljar
from test_layers import deny_syscall

pytestmark = pytest.mark.usefixtures("watch")

# System calls of a run according to `strace -f -c`, without execve, which the tool needs itself. Calls of the second table are needed to load a program
# and to say anything at all; there the end is all that can be asked for.
SPEAKING = """
access capset chdir clone clone3 close_range dup2 dup3 epoll_create1 epoll_ctl epoll_wait execveat fchmodat fcntl flock fsconfig
fsmount fsopen getcwd getdents64 getegid geteuid getgid getpid getrandom gettid getuid ioctl kill landlock_add_rule
landlock_restrict_self lseek mkdir mkdirat mount mount_setattr move_mount munmap open_tree pidfd_open pidfd_send_signal
pipe2 pivot_root ppoll prctl prlimit64 readlink recvmsg rseq rt_sigaction rt_sigprocmask seccomp sendmsg set_robust_list
set_tid_address setdomainname sethostname setresgid setresuid setsid socket socketpair symlink sysinfo umask umount2 unshare
""".split()
MUTE = "arch_prctl brk close mmap mprotect newfstatat openat pread64 read write".split()

# Only with a granted directory and with an input.
GRANT = "openat2 open_tree mount_setattr move_mount symlink mkdir fcntl".split()

# One error that is about rights and one that may strike any program on a busy machine.
ERRORS = ("EPERM", "ENOMEM")

# A run that takes longer than its own limit and this much waits for something that does not come.
TIMEOUT = 5
HANG = 30


@pytest.fixture(scope="module")
def whole(callers):
    """The layers of a run on this host with nothing taken away."""
    return {name: set(who.run("1").json["layers"]) for name, who in callers.items()}


def without(who, call, error, *more):
    words = ["run", "--json", "--profile", "open", "--timeout", TIMEOUT, "-c", "print('it-' + 'ran')", *more]
    return who.call(*words, wrapper=[deny_syscall(), f"{call}={error}", "--"], hang=HANG)


def result_of(answer):
    try:
        return json.loads(answer.out)
    except ValueError:
        return {}


def check_layers(answer, whole):
    """Whatever ran had every layer around it."""
    result = result_of(answer)
    if "it-ran" in result.get("stdout", answer.text):
        missing = whole - set(result["layers"])
        assert not missing, f"ran without {missing}: {answer}"
    return result


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("call", SPEAKING)
def test_a_call_that_fails_is_an_error_or_does_not_matter(who, whole, call, error):
    answer = without(who, call, error)
    result = check_layers(answer, whole[who.name])
    if result.get("status") == "success":
        assert answer.code == 0 and result["stdout"] == "it-ran\n", answer
        return
    assert answer.code in (66, 69, 71, 77, belljar.EXIT_OWN), answer
    assert "it-ran" not in answer.text, answer
    error_line = (result.get("error") or {}).get("message") or [
        line for line in answer.errors.splitlines() if line.startswith("belljar: ") and len(line) > len("belljar: ")
    ]
    assert error_line, answer


@pytest.mark.parametrize("call", MUTE)
def test_a_call_nothing_works_without_ends_everything(who, whole, call):
    answer = without(who, call, "ENOMEM")
    result = check_layers(answer, whole[who.name])
    assert answer.code != 0 or result.get("status") == "success", answer


@pytest.mark.parametrize("call", GRANT)
def test_a_grant_that_cannot_be_made_is_an_error(who, whole, call):
    directory = who.home / "programs"
    before = sorted(directory.iterdir())
    answer = without(who, call, "ENOSYS", "--allow", f"{directory}:rw", "--stdin", "/etc/hostname")
    result = check_layers(answer, whole[who.name])
    assert result.get("status") == "success" or answer.code in (64, 66, 69, 71, belljar.EXIT_OWN), answer
    assert sorted(directory.iterdir()) == before


@pytest.mark.parametrize("call", ["wait4", "waitid"])
def test_an_end_nobody_hears_of_is_cut_off_by_the_clock(who, whole, call):
    answer = without(who, call, "EPERM")
    check_layers(answer, whole[who.name])
    assert answer.code in (0, 124, belljar.EXIT_OWN), answer


@pytest.mark.parametrize("call", SPEAKING[::7])
def test_bash_meets_the_same_errors(user, whole, call):
    words = ["run", "--json", "--profile", "open", "--timeout", TIMEOUT, "-l", "bash", "-c", "echo it-ran"]
    answer = user.call(*words, wrapper=[deny_syscall(), f"{call}=EPERM", "--"], hang=HANG)
    result = check_layers(answer, whole["user"])
    assert result.get("status") in ("success", "error") or answer.code in (66, 69, 71, belljar.EXIT_OWN), answer
