"""`belljar doctor`: the grade follows what a sandbox reports, and what is missing comes with advice."""
import os
import pty
import shutil
import subprocess
import sys

import pytest

import belljar

pytestmark = pytest.mark.usefixtures("watch")

# Taking these away leaves a sandbox that runs, one that cannot be sealed, and none at all.
NO_LANDLOCK = "landlock_create_ruleset=EOPNOTSUPP"
NO_SECCOMP = "seccomp=ENOSYS,prctl:0==22=EINVAL"
NO_NAMESPACES = "clone3=EPERM,clone:0&0x10000000=EPERM,unshare=EPERM"


def doctor(who, *args, without=None, **more):
    if without:
        tool = belljar.program_path().parent / "tests" / "tools" / "deny-syscall"
        assert tool.exists(), f"no {tool}: build with -Dtests=enabled"
        more["wrapper"] = [tool, without, "--"]
    return who.call("doctor", *args, **more)


def present(found):
    return {layer["name"] for layer in found["layers"] if layer["present"]}


@pytest.mark.smoke
def test_the_layers_are_those_of_a_run(who):
    answer = doctor(who, "--json")
    assert answer.code == 0 and answer.err == b"", answer
    ran = set(who.run("1", profile="open").json["layers"]) | set(who.run("1", profile="strict").json["layers"])
    assert present(answer.json) == ran


def test_every_layer_says_what_it_protects_and_what_would_help(who):
    for layer in doctor(who, "--json").json["layers"]:
        assert layer["protects"], layer
        assert bool(layer["improve"]) != layer["present"], layer


def test_the_table_of_layers_says_what_its_columns_are(who):
    heading, first = doctor(who).text.splitlines()[2:4]
    assert heading.split() == "layer what it keeps from programs".split(), heading
    assert heading.index("what") == first.index("your rights") and "user-namespace" in first, first


def test_the_grade_follows_from_the_layers(who):
    found = doctor(who, "--json").json
    missing = {layer["name"] for layer in found["layers"]} - present(found)
    if not missing:
        expected = "A"
    elif missing <= {"landlock", "time-namespace", "uts-namespace", "cgroup-namespace"}:
        expected = "B"
    elif missing <= {"landlock", "time-namespace", "uts-namespace", "cgroup-namespace", "cgroup", "rlimits"}:
        expected = "C"
    else:
        expected = "D"
    assert found["grade"] == expected, found


def test_cgroups_are_told_as_they_are(who):
    found = doctor(who, "--json").json
    kind = found["cgroup"]["kind"]
    assert kind in ("v2", "v1", "none")
    assert {name for name in present(found) if name.startswith("cgroup-v")} == ({f"cgroup-{kind}"} - {"cgroup-none"})
    assert bool(found["cgroup"]["path"]) == (kind != "none"), found["cgroup"]
    assert bool(found["cgroup"]["reason"]) == (kind == "none"), found["cgroup"]
    if kind != "none":
        assert os.path.isdir(found["cgroup"]["path"]), found["cgroup"]


def test_facts_of_the_host(who):
    found = doctor(who, "--json").json
    assert found["kernel"]["release"] == os.uname().release
    assert (found["user"]["uid"], found["user"]["is_root"]) == (who.uid, who.uid == 0)
    assert found["sandboxes"]["max"] > 0 and found["sandboxes"]["limited_by"]
    assert found["memory"]["total_bytes"] > found["memory"]["available_bytes"] > 0
    with open("/proc/sys/user/max_user_namespaces") as file:
        assert found["kernel"]["user_namespaces"]["max_user_namespaces"] == int(file.read())


def test_python_and_its_modules(who):
    found = doctor(who, "--json", env={"BELLJAR_PRELOAD": "json,no_such_module"}).json["python"]
    assert found["version"].startswith("3."), found
    assert found["preloaded"] == ["json"], found
    assert [m["name"] for m in found["missing"]] == ["no_such_module"], found
    assert "No module named" in found["missing"][0]["why"], found


def test_a_missing_module_is_a_note_and_no_failure(who):
    answer = doctor(who, env={"BELLJAR_PRELOAD": "json,no_such_module"})
    assert answer.code == 0, answer
    assert "apt install python3-no_such_module" in answer.text, answer


def test_a_report_for_people_fits_a_screen(who):
    answer = doctor(who, env={"BELLJAR_PRELOAD": "json"})
    lines = answer.text.splitlines()
    assert answer.code == 0 and lines[0][:6] == "grade " and lines[0][6] in "ABCD", answer
    assert len(lines) <= 25, answer
    assert lines[-1].startswith("next: "), answer
    for name in present(doctor(who, "--json", env={"BELLJAR_PRELOAD": "json"}).json):
        assert name in answer.text, name


def test_without_landlock_the_grade_is_not_an_a(who):
    whole = doctor(who, "--json").json
    answer = doctor(who, "--json", without=NO_LANDLOCK)
    found = answer.json
    assert answer.code == 0 and found["kernel"]["landlock_abi"] == 0, answer
    assert present(found) == present(whole) - {"landlock"}
    assert found["grade"] == max("B", whole["grade"]), answer
    assert "✗ landlock" in doctor(who, without=NO_LANDLOCK).text


@pytest.mark.parametrize("rules", [NO_SECCOMP, NO_NAMESPACES], ids=["no seccomp", "no namespaces"])
def test_where_nothing_runs_the_report_still_appears(who, rules):
    answer = doctor(who, "--json", without=rules)
    found = answer.json
    assert (answer.code, found["grade"]) == (1, "F"), answer
    assert found["error"]["message"] and found["next"] and not present(found), answer
    people = doctor(who, without=rules)
    assert people.code == 1 and people.text.startswith("grade F"), people
    assert found["error"]["message"] in people.text and "next: " in people.text, people


def test_without_its_zygote_it_says_so(who):
    """A lost part of the installation is a finding like any other."""
    place = who.directory("alone")
    shutil.copy2(who.program, place / "belljar")
    shutil.copytree(belljar.ROOT / "policies", place / "policies")
    whole, who.program = who.program, place / "belljar"
    try:
        answer = doctor(who, "--json", env={"BELLJAR_POLICIES_DIR": str(place / "policies")})
    finally:
        who.program = whole
    assert (answer.code, answer.json["grade"]) == (1, "F"), answer
    assert "zygote" in answer.json["error"]["message"], answer


def test_a_missing_library_of_its_zygote_is_named(who):
    """As where an archive was unpacked on a system without Python's shared library."""
    place = who.directory("lacking")
    shutil.copy2(who.program, place / "belljar")
    library, zygote = place / "libgone.so", place / "belljar-zygote"
    subprocess.run(["cc", "-shared", "-x", "c", "-o", library, "-"], input=b"void gone(void) {}", check=True)
    subprocess.run(["cc", "-o", zygote, "-x", "c", "-", "-x", "none", library], input=b"void gone(void); int main(void) { gone(); }", check=True)
    library.unlink()
    zygote.chmod(0o755)
    whole, who.program = who.program, place / "belljar"
    try:
        answer = who.run("print('it-ran')", env={"BELLJAR_POLICIES_DIR": str(belljar.ROOT / "policies")})
    finally:
        who.program = whole
    error = answer.json["error"]
    assert "a shared library that belljar-zygote needs is missing" in error["message"], answer
    assert f"apt install libpython3.{sys.version_info[1]}" in error["hint"], answer


@pytest.mark.parametrize("env, colored", [({}, True), ({"NO_COLOR": "1"}, False), ({"BELLJAR_COLOR": "never"}, False)])
def test_colours_are_for_terminals(who, env, colored):
    outer, inner = pty.openpty()
    process = who.start("doctor", stdout=inner, env={"TERM": "xterm", "BELLJAR_PRELOAD": "json", **env})
    os.close(inner)
    shown = b""
    try:
        while part := os.read(outer, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(outer)
    process.communicate()
    assert process.returncode == 0 and b"grade " in shown, shown
    assert (b"\x1b[" in shown) == colored, shown


@pytest.mark.parametrize("args", [("--jsno",), ("now",), ("--config",), ("--json=yes",)])
def test_bad_arguments_run_nothing(who, args):
    answer = doctor(who, *args)
    assert (answer.code, answer.out) == (64, b""), answer
    assert answer.errors.startswith("belljar: "), answer


def test_a_broken_configuration_is_told_first(who):
    answer = doctor(who, "--config", who.file("broken.toml", "memory_mb = 'much'\n"))
    assert (answer.code, answer.out) == (64, b"") and "memory_mb" in answer.errors, answer
