"""Fail closed: with any layer taken away the run is refused with the reason, never run without it.

tests/tools/deny-syscall makes chosen system calls fail for Belljar and all it starts.
"""
import json
import os
from pathlib import Path

import pytest

import belljar

pytestmark = pytest.mark.usefixtures("watch")

CLONE_NEW = {
    "mount": 0x20000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x8000000,
    "uts": 0x4000000,
    "user": 0x10000000,
}

# The layer that each call builds. Without the call the layer is missing.
REQUIRED = {
    "seccomp": "seccomp=ENOSYS,prctl:0==22=EINVAL",
    "no-new-privileges": "prctl:0==38=EINVAL",
    "capabilities": "capset=EPERM",
    "bounding set": "prctl:0==24=EPERM",
    "pivot_root": "pivot_root=EPERM",
    "mounts, old calls": "mount=EPERM",
    "mounts, new calls": "move_mount=ENOSYS,open_tree=ENOSYS",
    "mount attributes": "mount_setattr=ENOSYS",
    "unmounting the old root": "umount2=EPERM",
    "closing descriptors": "close_range=ENOSYS",
    "limits": "prlimit64=EPERM,setrlimit=EPERM",
    "pidfd": "pidfd_open=ENOSYS,pidfd_send_signal=ENOSYS",
    "session": "setsid=EPERM",
    "identity": "setresuid=EPERM,setresgid=EPERM,setgroups=EPERM",
    "host name": "sethostname=EPERM",
}


def deny_syscall():
    for build in (belljar.program_path().parent, belljar.ROOT / "build"):
        path = build / "tests" / "tools" / "deny-syscall"
        if path.exists():
            return path
    pytest.fail("no deny-syscall: build with -Dtests=enabled")


def without(who, rules, profile="open", code="print('it-ran')"):
    tool = deny_syscall()
    return who.call("run", "--json", "--profile", profile, "-c", code, "--timeout", "5", wrapper=[tool, rules, "--"])


def refused_or_complete(answer, whole):
    """Either nothing ran and the answer says why, or it ran with every layer it has on a whole host."""
    result = json.loads(answer.out) if answer.out.strip() else {}
    if result.get("status") == "success":
        missing = set(whole) - set(result["layers"])
        assert not missing, f"ran without {missing}: {answer}"
        return False
    assert b"it-ran" not in answer.out, answer
    assert answer.code == belljar.EXIT_OWN or answer.code in (69, 71), answer
    error = result.get("error") or {}
    assert error.get("message") or answer.errors.startswith("belljar: "), answer
    return True


@pytest.fixture(scope="module")
def whole(callers):
    """The layers of a run on this host with nothing taken away."""
    return {name: who.run("1").json["layers"] for name, who in callers.items()}


@pytest.mark.parametrize("name", REQUIRED)
def test_without_a_layer_nothing_runs(who, whole, name):
    refused_or_complete(without(who, REQUIRED[name]), whole[who.name])


@pytest.mark.parametrize("name", ["seccomp", "no-new-privileges", "pivot_root", "mount attributes", "closing descriptors"])
def test_the_layers_that_matter_most_refuse(who, whole, name):
    answer = without(who, REQUIRED[name])
    assert refused_or_complete(answer, whole[who.name]), f"{name} was taken away and nobody noticed: {answer}"


@pytest.mark.parametrize("name", CLONE_NEW)
def test_without_a_namespace_nothing_runs(who, whole, name):
    flag = CLONE_NEW[name]
    answer = without(who, f"clone3=ENOSYS,clone:0&{flag:#x}=EPERM,unshare:0&{flag:#x}=EPERM")
    assert refused_or_complete(answer, whole[who.name]), answer


def test_without_any_namespace_call_the_hint_says_what_to_do(who, whole):
    answer = without(who, "clone3=EPERM,clone:0&0x10000000=EPERM,unshare=EPERM")
    assert refused_or_complete(answer, whole[who.name]), answer
    error = json.loads(answer.out)["error"]
    assert error["hint"], answer


def test_landlock_is_missed_in_the_open(who, whole):
    """A second opinion: a host without it may run, but the answer must not name it."""
    answer = without(who, "landlock_create_ruleset=EOPNOTSUPP")
    if refused_or_complete_without(answer, "landlock"):
        return
    result = json.loads(answer.out)
    assert "landlock" not in result["layers"]
    missing = set(whole[who.name]) - set(result["layers"]) - {"landlock"}
    assert not missing, missing


@pytest.mark.parametrize("call", ["landlock_restrict_self", "landlock_add_rule"])
def test_landlock_that_is_there_and_fails_is_no_reason_to_go_without(who, call):
    answer = without(who, f"{call}=EPERM")
    assert refused_or_complete_without(answer, "landlock"), answer


def refused_or_complete_without(answer, layer):
    result = json.loads(answer.out)
    if result.get("status") == "success":
        assert layer not in result["layers"], answer
        return False
    assert b"it-ran" not in answer.out
    return True


@pytest.mark.parametrize("profile", ["strict", "standard"])
@pytest.mark.parametrize("name", ["seccomp", "no-new-privileges", "pivot_root"])
def test_other_profiles_refuse_too(user, profile, name):
    answer = without(user, REQUIRED[name], profile)
    assert b"it-ran" not in answer.out and answer.code not in (0, 1), answer


def test_the_reason_names_the_step(who):
    answer = without(who, REQUIRED["seccomp"])
    assert "system call" in answer.text or "seccomp" in answer.text, answer


def test_cgroups_that_cannot_be_used_are_named_not_passed_over(callers):
    """Root has cgroups here; without them the result must say so."""
    if "root" not in callers:
        pytest.skip("needs root, which has control groups")
    root = callers["root"]
    if not any("cgroup" in name for name in root.run("1").json["layers"] if name != "cgroup-namespace"):
        pytest.skip("this host has no usable control groups, also for root")
    answer = without(root, "mkdir=EROFS,mkdirat=EROFS")
    if answer.code == 0:
        layers = answer.json["layers"]
        assert "cgroup-v1" not in layers and "cgroup-v2" not in layers, answer


def test_a_zygote_that_is_missing_is_an_error(user, tmp_path, base):
    import shutil

    folder = Path(base) / "alone"
    folder.mkdir(exist_ok=True)
    shutil.copy2(belljar.program_path(), folder / "belljar")
    os.chmod(folder / "belljar", 0o755)
    import subprocess

    p = subprocess.run([folder / "belljar", "run", "-c", "print('it-ran')"], env=user.environment(), capture_output=True, **user.identity())
    assert p.returncode not in (0, 1) and b"it-ran" not in p.stdout, p
    assert p.stderr.startswith(b"belljar: "), p
