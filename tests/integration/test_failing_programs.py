"""Answers of some two hundred failing programs: each is short, names what failed, and says nothing twice."""
import re
import sys

import pytest

import belljar
import mcp
from test_mcp_bound import MOST, SLACK, tokens

sys.path.insert(0, str(belljar.ROOT / "tests/bench/tokens"))

import failures  # noqa: E402

# Programs that end by a limit, or import much: the benchmark has them, too.
SLOW = re.compile(r"time|sleep|memory|loop|processes|disk|too large a file|recursion|pandas|numpy|figure|style|columns|shapes|a length|merge|series|dtype|pip|tests?\b|unittest|apt|gcc|find")

# Their own words are what repeats.
REPEATS = ("binary output", "a warning each time", "a log")

# Good endings in bad programs.
SUCCEEDS = ("api: a wrong keyword", "bash: a here document")


def test_answers_of_failing_programs(user):
    programs = failures.programs()
    assert len(programs) >= 200 and len({name for name, _, _ in programs}) == len(programs)
    sizes = []
    with mcp.Client(user, "--timeout", "5") as client:
        client.initialize()
        client.text("run_code", {"code": "1"})
        for name, language, code in programs:
            if SLOW.search(name) or SLOW.search(code[:200]):
                continue
            answer = client.call("run_code", {"code": code, "language": language})
            said = mcp.text_of(answer)
            sizes.append(tokens(answer))
            assert sizes[-1] <= MOST * SLACK, (name, said)
            assert name in SUCCEEDS or answer.get("isError"), (name, said)
            assert name in SUCCEEDS or said.startswith(("error: ", "error (", "refused: ")), (name, said)
            assert name in REPEATS or not failures.repeated(said), (name, failures.repeated(said), said)
    assert len(sizes) > 150 and sorted(sizes)[len(sizes) // 2] < 150, sorted(sizes)


def test_a_mistake_at_many_places_is_told_once(user):
    with mcp.Client(user) as client:
        client.initialize()
        said = client.text("run_code", {"code": "a = eval('1')\nb = eval('2')\nimport pty\nc = eval('3')"})
        assert "- lines 1, 2, 4: profile `standard` does not allow the builtin `eval` — " in said and "- line 3: " in said, said
        said = client.text("run_code", {"code": "\n".join("eval('1')" for _ in range(40))})
        assert ", 12 and 28 more: " in said and said.count("- line") == 1, said


def test_a_long_message_is_told_once(user):
    with mcp.Client(user) as client:
        client.initialize()
        said = client.text("run_code", {"code": "def f():\n    raise ValueError(' '.join(map(str, range(100_000))))\nf()"})
        assert said.startswith("error: ValueError: 0 1 2 3 ") and said.count(" 50 51 52 ") == 1, said
        assert "line 2 in f: raise" in said and "99998 99999\n" in said and '"stream": "stderr"' in said, said
        said = client.text("run_code", {"code": "raise ValueError(' '.join(map(str, range(500))))"})
        assert said.count(" 50 51 52 ") == 1 and said.count(" 400 401 402 ") == 1, said


@pytest.mark.parametrize("code, shown", [
    ("x = [" + "1, " * 300 + "5 6]", "    …"), ("x = (" + "'" + "é" * 500 + "' 5", None), ("print((1, 2)", "    print((1, 2)\n         ^\n"),
], ids=["comma", "letters", "short"])  # fmt: skip
def test_a_long_line_is_cut_around_its_mark(user, code, shown):
    with mcp.Client(user) as client:
        client.initialize()
        said = client.text("run_code", {"code": code})
        assert said.startswith("error: SyntaxError: ") and "(<cell" not in said and "(line 1)" in said, said
        assert len(said) < 700 and (shown is None or shown in said), said


def repairs():
    """[(profile, language, name, program that fails, the same as its message says)] of tests/data/repairs.txt."""
    text = (belljar.ROOT / "tests/data/repairs.txt").read_text()
    for block in re.split(r"^#### ", text, flags=re.M)[1:]:
        head, _, rest = block.partition("\n")
        failing, _, repaired = rest.partition("====\n")
        yield (*head.split(" ", 2), failing, repaired)


REPAIRS = list(repairs())


@pytest.mark.parametrize("profile", ["strict", "standard"])
def test_a_program_that_is_changed_as_its_message_says_runs(user, profile):
    """Each message of the policy says what to write instead."""
    chosen = [row for row in REPAIRS if row[0] == profile]
    assert len(chosen) > 30
    with mcp.Client(user, env={"BELLJAR_PROFILE": profile}) as client:
        client.initialize()
        for _, language, name, failing, repaired in chosen:
            answer = client.call("run_code", {"code": failing, "language": language})
            said = mcp.text_of(answer)
            assert answer.get("isError"), (name, said)
            assert "hint: " in said or " — " in said or "; " in said or "Error: " in said, (name, said)
            answer = client.call("run_code", {"code": repaired, "language": language})
            assert not answer.get("isError"), (name, said, mcp.text_of(answer))
