"""Without a virtual machine nothing runs that requires one. tests/machine/run.py has the rest."""
import json

import pytest

pytestmark = pytest.mark.usefixtures("watch")


def test_a_profile_that_requires_a_machine_is_refused_without_one(who):
    profile = who.home / "sealed.toml"
    profile.write_text('inherits = "standard"\n[isolation]\nrequire = ["machine"]\n')
    answer = who.call("run", "--json", "--profile", profile, "-c", "print('it-ran')")
    assert b"it-ran" not in answer.out, answer
    error = json.loads(answer.out)["error"]
    assert error["code"] == "unsupported" and "requires the layer `machine`" in error["message"], answer
    assert "--machine kvm" in error["hint"], answer


def test_doctor_says_whether_there_can_be_machines(who):
    report = json.loads(who.call("doctor", "--json").out)
    error = report["machine_error"]
    assert error is None or (error["code"] == "unsupported" and error["message"]), error


def test_doctor_names_each_part_of_a_machine(who):
    report = json.loads(who.call("doctor", "--json").out)
    parts = {part["name"]: part for part in report["machine_parts"]}
    assert set(parts) == {"KVM", "QEMU", "virtiofsd", "kernel"}, parts
    for part in parts.values():
        assert part["text"] and (part["is_there"] or part["hint"]), part
    assert (report["machine_error"] is None) == all(part["is_there"] for part in parts.values()), report
    line = next(line for line in who.call("doctor").text.splitlines() if line.strip().startswith("machine"))
    for name, part in parts.items():
        assert part["is_there"] or name in line, (part, line)


def test_a_machine_is_not_built_without_its_parts(who):
    report = json.loads(who.call("doctor", "--json").out)
    missing = [part for part in report["machine_parts"] if not part["is_there"]]
    if not missing:
        pytest.skip("this host has all parts")
    answer = who.call("machine", "build", "--machine", "kvm")
    assert answer.code == 69, answer
    for part in missing:
        assert f"{part['name']}: {part['text']}: {part['hint']}".encode() in answer.err, (part, answer)


# Its child has the process 1 as its parent.
FIRST = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "sh", "-c", '"$@"; exit $?', "sh")


@pytest.mark.parametrize("wrapper", [(), FIRST], ids=["elsewhere", "child of process 1"])
def test_a_server_is_not_inside_a_machine_because_it_says_so(who, wrapper):
    answer = who.call("serve", "--inside-machine", "--no-auth", "--listen", "127.0.0.1:0", wrapper=wrapper)
    assert answer.code == 77 and b"not inside a machine" in answer.err, answer


def test_a_machine_whose_programs_could_write_to_a_directory_is_not_started(who):
    answer = who.call("serve", "--machine", "tcg", "--allow", f"{who.home}:rw", "--listen", "127.0.0.1:0")
    assert answer.code == 69 and b"cannot change directories" in answer.err, answer


def test_a_server_without_a_machine_says_so(server):
    for word in ("status", "log", "stop"):
        answer = server.who.call("machine", word, "--socket", server.socket)
        assert answer.code == 66 and b"no virtual machine" in answer.err, answer
