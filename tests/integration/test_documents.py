"""Every command in the documents runs and prints what the page says (tests/lib/documents.py has the rules)."""
import html
import re
import runpy

import pytest

import belljar
import documents

PAGES = [page for page in documents.pages() if documents.count(page)[0]]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_true(user, page):
    text = (documents.ROOT / page).read_text(encoding="utf-8")
    steps, complaints = documents.run_page(user, page, text, belljar.HANG_SECONDS * 2)
    assert steps and not complaints, "\n\n".join(complaints)


def test_blocks_that_are_not_run_say_why(capsys):
    words, errors = documents.summary()
    with capsys.disabled():
        print(f"\n{words}")
    assert not errors, "\n".join(errors)


FENCE = "```"


def test_the_speed_in_the_readme_is_the_one_of_the_benchmarks():
    words = re.search(r"^\*\*Speed\*\*: .*?(\d+) times", (documents.ROOT / "README.md").read_text(), re.M)
    assert re.search(rf"\| fresh sandbox from the pool \| \d+ \| {words[1]} \|", (documents.ROOT / "docs/BENCHMARKS.md").read_text())


def test_the_picture_shows_what_the_program_prints(user):
    """docs/images/session.svg was recorded at a terminal, where a line with the status follows each run."""
    record = runpy.run_path(str(documents.ROOT / "tools/record"))
    transcript = html.unescape(record["PICTURE"].read_text(encoding="utf-8").partition("<desc>\n")[2].partition("\n</desc>")[0])
    shown = "\n".join(line for line in transcript.split("\n") if not re.match("belljar: (success|error) ·", line))
    assert [line[2:] for line in shown.split("\n") if line.startswith("$ ")] == record["COMMANDS"]
    page = f"<!-- before\n{record['SETUP']}\n-->\n{FENCE}console\n{shown}\n{FENCE}\n"
    _, complaints = documents.run_page(user, "session.svg", page, belljar.HANG_SECONDS)
    assert not complaints, "\n".join([*complaints, "tools/record makes the picture anew"])


@pytest.mark.parametrize("text, found", [
    ("console\n$ echo 1\n1\n", None),
    ("console\n$ echo 1\n2\n", "but the page says"),
    ("console\n$ seq 5\n1\n…\n5\n", None),
    ("console\n$ seq 5\n1\n…\n4\n", "but the page says"),
    ("console\n$ seq 5; false\n…\n", "failed with 1"),
    ("console\n$ echo run_01M7FX6531A9XQ37JZB9W3AG9V in 7.1 ms\nrun_… in 9 ms\n", None),
    ("console\n$ x=4\n$ echo $((x + 1)); pwd\n5\n/home/me\n", None),
    ("sh\nfalse\n", "failed with 1"),
    ("sh\necho 1\n```\n\n```text\n2\n", "but the page says"),
    ("python\nprint(6 * 7)\n```\n\n```text\n42\n", None),
    ("python\nprint(6 * 7)\n```\n\n```text\n43\n", "but the page says"),
    ("python\n# a.py\nprint(6 * 7)\n```\n\n```console\n$ belljar run a.py\n42\n", None),
    ("toml\ntimeout_s = 5\n", None),
    ("toml\ntimeout_z = 5\n", "timeout_z"),
    ("console\n$ exit 3\n$ echo 1\n1\n", "was not reached"),
])  # fmt: skip
def test_a_page_that_is_wrong_is_found(user, text, found):
    _, complaints = documents.run_page(user, "page.md", f"{FENCE}{text}{FENCE}\n", belljar.HANG_SECONDS)
    assert (found in complaints[0]) if found else not complaints, complaints
