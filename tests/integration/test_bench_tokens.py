"""The token benchmark itself: its oracles, its transcripts and its arms, with bytes instead of tokens. Needs no npm."""
import os
import random
import sys

import pytest

import belljar
import serving

sys.path.insert(0, str(belljar.ROOT / "tests/bench/tokens"))

import arms  # noqa: E402
import counter  # noqa: E402
import oracle  # noqa: E402
import report  # noqa: E402
import run as bench  # noqa: E402
import tasks  # noqa: E402
import transcript  # noqa: E402

PACKAGE = {
    "shop/__init__.py": "from .core import *\nfrom .core import total\n",
    "shop/core.py": '__all__ = ["total"]\n\ndef total(prices):\n    """total of prices"""\n    return sum(prices)  # the total\n\nclass A:\n    total = 3\n    def m(self):\n        return total([self.total])\n',
    "use.py": "import shop\nimport shop.core as c\nprint(shop.total([1]), c.total([2]), 'total')\nx = {'total': 1}\ndef f(a, **more):\n    return a\nf(3, total=3)\n",
    "other.py": "from shop import total as t\ndef g():\n    from shop.core import total\n    return [total(x) for x in ([1], [2])], t\n",
    "none.py": "count = 1\nprint(count)\n",
}


def lay(root, files):
    made = []
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        tasks.write(root, path, text.encode())
        made.append(oracle.File(root, path))
        assert made[-1].parse()
    return made


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "tree"
    path.mkdir()
    return str(path)


@pytest.fixture
def rename(root):
    files = lay(root, PACKAGE)
    places = oracle.occurrences(files, "shop.core", "total")
    return tasks.Rename("rename", files[1], files, "total", places)


def test_the_oracle_tells_the_thing_from_what_is_called_like_it(rename):
    wanted = {path: data.decode() for path, data in rename.wanted().items()}
    new = tasks.NEW
    assert wanted == {
        "shop/__init__.py": f"from .core import *\nfrom .core import {new}\n",
        "shop/core.py": PACKAGE["shop/core.py"].replace('["total"]', f'["{new}"]').replace("def total", f"def {new}").replace("return total(", f"return {new}("),
        "use.py": PACKAGE["use.py"].replace("shop.total", f"shop.{new}").replace("c.total", f"c.{new}"),
        "other.py": PACKAGE["other.py"].replace("import total", f"import {new}").replace("[total(x)", f"[{new}(x)"),
    }
    kinds = {kind for found in rename.places.values() for kind in found.values()}
    assert kinds == {"it", "listed", "other", "open", "unknown"}, kinds


def test_the_oracle_knows_imports_in_a_try_and_strings_of_getattr(root):
    files = lay(root, {
        "core.py": "def total(a):\n    return a\n",
        "use.py": "import core\ntry:\n    import fast\nexcept ImportError:\n    from core import total\n    x = total(1)\nprint(hasattr(core, 'total'), getattr(fast, 'total'), 'total')\n",
    })  # fmt: skip
    task = tasks.Rename("rename", files[0], files, "total", oracle.occurrences(files, "core", "total"))
    text, new = task.wanted()["use.py"].decode(), tasks.NEW
    assert f"    from core import {new}\n    x = {new}(1)\n" in text and f"hasattr(core, '{new}'), getattr(fast, 'total'), 'total')" in text, text


def test_a_file_that_is_left_has_to_be_named(root, rename):
    for path, data in rename.wanted().items():
        if path != "use.py":
            tasks.write(root, path, data)
    assert not rename.check(root, None) and rename.wrong(root) == 1
    assert not rename.check(root, "{'status': 'partial', 'skipped': []}")
    assert rename.check(root, "{'status': 'partial', 'skipped': [{'file': './use.py', 'reason': 'protected'}]}")
    tasks.write(root, "use.py", b"else = 1")
    assert not rename.check(root, "{'status': 'partial', 'skipped': [{'file': './use.py', 'reason': 'protected'}]}")


@pytest.mark.parametrize("arm", ["naive", "careful"])
def test_file_tools_make_exactly_the_right_edits(root, rename, arm):
    agent = arms.Files(root)
    getattr(rename, arm)(agent)
    assert rename.check(root, None) and rename.wrong(root) == 0
    assert agent.transcript.turns[-1][1][0].endswith('"text":"ok"}]}}')


def test_a_rename_by_text_has_to_be_repaired(root, rename):
    agent = arms.Shell(root)
    first, look, repair = rename.commands()
    agent.turn(("bash", {"command": first}))
    assert not rename.check(root, None) and rename.wrong(root) >= 5
    agent.turn(("bash", {"command": look}))
    agent.turn(("bash", {"command": repair}))
    assert rename.check(root, None) and rename.wrong(root) == 0


def test_totals():
    t = transcript.Transcript(["aa"])
    t.add(["b"], ["ccc"])
    t.add(["d", "d"], ["e"])
    assert t.texts() == ["aa", "b", "ccc", "d", "d", "e"]
    assert t.totals(len) == {"fixed": 2, "unique": 7, "peak": 9, "billed": 2 + 6 + 9}


def test_a_tool_that_is_misused_does_not_go_unnoticed(root):
    lay(root, {"a.py": "x = 1\nx = 1\n"})
    with pytest.raises(ValueError, match="2 times"):
        arms.Files(root).turn(("edit_file", {"path": "a.py", "old_string": "x = 1\n", "new_string": "y"}))


def test_the_tables(tmp_path):
    totals = {"fixed": 10, "unique": 90, "peak": 100, "billed": 110}
    huge = {**totals, "peak": 2_000_000}
    rows = [{"task": "t", "arm": arm, "correct": arm != "shell", "wrong": None, "tokens": {n: huge if arm == "naive" else totals for n in counter.NAMES}} for arm in report.ARMS]
    assert report.short(rows).splitlines()[-1] == "| t | 2,000,000, does not fit 1 M (1/1) | 100 (1/1) | 100 (0/1) | 100 (1/1) | 100 (1/1) | 100 (1/1) |"
    assert "| does not fit |" in report.details(rows)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.put(page, "new")
    assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    page.write_text("nothing")
    with pytest.raises(ValueError):
        report.put(page, "new")


def test_the_page_has_a_place_for_the_tables():
    text = (belljar.ROOT / "docs/TOKENS.md").read_text()
    for mark in (report.BEGIN, report.END, *report.OVERVIEW):
        assert text.count(mark) == 1, mark


def test_the_figures_of_the_readme_are_those_of_the_table():
    """README.md quotes `rename in 13–40 files` and `change 1 line`."""
    table = (belljar.ROOT / "docs/TOKENS.md").read_text().partition(report.OVERVIEW[0])[2].partition(report.OVERVIEW[1])[0]
    rows = {cells[1].strip(): [cell.split()[0].strip(",") for cell in cells[2:-1]] for cells in (line.split("|") for line in table.splitlines() if "(" in line)}
    line = next(line for line in (belljar.ROOT / "README.md").read_text().splitlines() if line.startswith("**Tokens**"))
    rename, change = rows["rename in 13–40 files"], rows["change 1 line"]
    for figure in (rename[0], rename[2], rename[-1], change[2], change[-1]):
        assert f" {figure}" in line, figure


def small_tasks(files):
    """One of each kind, on a tree of a few files."""
    rng = random.Random("small")
    node = files[1].tree.body[1]
    edit = lay_edit(files)
    return [edit, tasks.Copy(files[1], node), tasks.Analyze(files), tasks.Audit(files), tasks.Query(rng, size=50)]


def lay_edit(files):
    return next(tasks.Edit(f, f.tree.body[0]) for f in files if f.path == "none.py")


def wrong_results(root, arm, *how, **more):
    """The tasks of which the arm's result is not what it has to be."""
    files = lay(root, PACKAGE)
    places = oracle.occurrences(files, "shop.core", "total")
    wrong = set()
    for task in [*small_tasks(files), tasks.Rename("rename", files[1], files, "total", places)]:
        transcript, right, _ = bench.perform(task, arm, files, root, *how, **more)
        assert transcript.turns and all(asked and answered for asked, answered in transcript.turns)
        wrong |= set() if right else {task.name}
    return wrong


@pytest.mark.parametrize("arm, wrong", [("naive", set()), ("careful", {"audit all files"}), ("shell", set()), ("notebook", set()), ("code", set())])
def test_other_arms_are_right_as_far_as_they_can_be(root, arm, wrong):
    assert wrong_results(root, arm, None, None) == wrong


def test_belljar_is_right_in_every_task(who):
    """Through `belljar mcp`, as the benchmark does it."""
    place = who.directory("tokens")
    (place / "tree").mkdir()
    assert wrong_results(str(place / "tree"), "belljar", as_caller(who), who.environment(serving.PLAIN), prepare=lambda: own(who, place)) == set()


def own(who, place):
    for folder, folders, names in os.walk(place):
        for name in ["", *names]:
            who.own(os.path.join(folder, name))


def as_caller(who):
    """A command that is the program, run as this caller."""
    return ["setpriv", f"--reuid={who.uid}", f"--regid={who.gid}", "--clear-groups", str(who.program)] if os.getuid() == 0 else [str(who.program)]
