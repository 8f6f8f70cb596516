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
