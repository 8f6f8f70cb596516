"""The example of a course: questions answered by short programs under `strict`, which reach one host through helpers, and nothing else."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from belljar import ROOT
from hosts import Bait

EXAMPLE = ROOT / "examples" / "curriculum"

ANSWERS = {
    "orphans": "['History']\n",
    "longest": "Numbers > Variables > Equations > Functions > Limits > Derivatives > Integrals\n",
    "unchecked": "Variables\nFunctions\nDerivatives\nSets\nHistory\n",
    "prerequisites": "['Equations', 'Functions', 'Limits', 'Numbers', 'Variables']\n",
}


@pytest.fixture(scope="module")
def service():
    process = subprocess.Popen(["/usr/bin/python3", EXAMPLE / "service.py", "0"], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def course(who, service):
    """Settings of an operator; the helpers lie where sandboxes of root can see them."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="bjcourse-", dir="/srv" if os.getuid() == 0 else pathlib.Path.home()))
    place.chmod(0o755)
    shutil.copytree(EXAMPLE / "helpers", place / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    yield {"BELLJAR_HELPERS": str(place / "helpers"), "BELLJAR_VARIABLES": f"SERVICE_URL={service}", "BELLJAR_NET": f"GET {service}/session/"}
    shutil.rmtree(place)


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_is_answered(who, course, question):
    code = (EXAMPLE / "questions" / f"{question}.py").read_text()
    answer = who.run(code, "--env", "SESSION_ID=course-7", profile="strict", env=course)
    assert answer.json["stdout"] == ANSWERS[question], answer


def test_nothing_else_is_reached(who, course, service):
    with Bait() as bait:
        code = "import code_helpers\ncode_helpers.get_nodes()"
        answer = who.run(code, "--env", "SESSION_ID=course-7", profile="strict", env={**course, "BELLJAR_VARIABLES": f"SERVICE_URL=http://127.0.0.1:{bait.port}"})
        assert answer.status == "error" and answer.json["net"]["refused"][0]["port"] == bait.port, answer
        assert not bait.touched
    answer = who.run("import code_helpers\ncode_helpers.get_nodes()", "--env", "SESSION_ID=../admin", profile="strict", env=course)
    assert answer.status == "error", answer
    assert who.run("import urllib.request", profile="strict", env=course).status == "refused"


def test_only_the_helper_uses_the_network(who, course, service):
    code = f"import pandas\nprint(pandas.read_json('{service}/session/course-7/nodes'))"
    answer = who.run(code, profile="strict", env=course)
    assert answer.status == "error" and "blocked by profile" in answer.json["error"]["message"], answer
    assert answer.json["net"]["connections"] == 0
