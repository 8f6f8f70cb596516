"""The examples of docs/guide/api.md and reach.md run in a sandbox and print what stands below them."""
import re

import pytest

import belljar

GUIDE = "".join((belljar.ROOT / "docs/guide" / name).read_text() for name in ("api.md", "reach.md"))
EXAMPLES = re.findall(r"```python\n((?:(?!```).)*)```\n\n```\n(.*?)```", GUIDE, re.S)


def test_there_are_examples():
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_it_says(who, number):
    code, output = EXAMPLES[number]
    assert who.run(code, profile="standard").json["stdout"] == output


def test_shorter_names(who):
    code = "from execution_runtime import fs, code, transform, git, mask_secrets\nimport execution_runtime\nprint(fs.__name__, code.__name__, transform.__name__, git.__name__, 'fs' in dir(execution_runtime))"
    assert who.run(code, profile="marketplace").json["stdout"] == "api.filesystem api.code_analysis api.code_transform api.git_operations True\n"
