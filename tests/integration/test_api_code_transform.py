"""api.code_transform, held against the compiler and `ast` over a copy of Python's own library."""
import ast
import glob
import io
import os
import tokenize
import warnings

import pytest

from library import load

LIBRARY = os.path.dirname(os.__file__)


@pytest.fixture(scope="module")
def transform():
    load()
    from api import code_transform

    return code_transform


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, text):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w", newline="") as file:
        file.write(text)
    return name


def get(name):
    with open(name, newline="") as file:
        return file.read()


def parse(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(data)
        compile(data, "x", "exec", dont_inherit=True)
    return tree


def library(step):
    """A copy of every step-th file that is Python: [(path, bytes, tree)]"""
    chosen = []
    for number, path in enumerate(sorted(glob.glob(LIBRARY + "/**/*.py", recursive=True))[::step]):
        with open(path, "rb") as file:
            data = file.read()
        try:
            tree = parse(data)
        except (SyntaxError, ValueError, RecursionError):
            continue
        if len(data) < 400_000:
            name = f"lib/m{number}_{os.path.basename(path)}"
            os.makedirs("lib", exist_ok=True)
            with open(name, "wb") as file:
                file.write(data)
            chosen.append((name, data, tree))
    assert len(chosen) > 500 / step  # of whatever Python is installed
    return chosen


# --- renaming ---

def tokens(data):
    return [(t.type, t.string) for t in tokenize.tokenize(io.BytesIO(data).readline)]


class Renamed(ast.NodeTransformer):
    """The tree with one name for another wherever a name can stand."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def generic_visit(self, node):
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and value == self.old and not isinstance(node, ast.Constant):
                setattr(node, field, self.new)
            elif field == "args" and isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("getattr", "setattr", "hasattr", "delattr"):
                node.args = [ast.Constant(self.new) if isinstance(v, ast.Constant) and v.value == self.old else v for v in value]
            elif isinstance(value, list) and isinstance(node, (ast.Global, ast.Nonlocal, ast.MatchClass)):
                setattr(node, field, [self.new if v == self.old else v for v in value])
        return super().generic_visit(node)


def same(a, b, old, new):
    """Equal, when every name `old` is `new` in both: only that name was changed."""
    return ast.dump(Renamed(old, new).visit(a)) == ast.dump(Renamed(old, new).visit(b))


@pytest.mark.parametrize("name", ["value", "name", "data", "self"])
def test_renaming_changes_that_name_alone_and_can_be_undone(transform, name):
    new = f"{name}_zz9"
    files = library(12)
    done = transform.rename_identifier("lib", name, new, create_backup=False, partial=True, attributes=True)
    assert done["files_modified"] > 3 and done["total_replacements"] > 20 and not done["skipped"], done["skipped"]
    changed = 0
    for path, data, tree in files:
        with open(path, "rb") as file:
            after = file.read()
        if after == data:
            continue
        changed += 1
        assert same(parse(after), tree, name, new), path
        for before, now in zip(tokens(data), tokens(after), strict=True):
            in_type = before[0] == tokenize.STRING and now[1].replace(new, name) == before[1]
            assert before == now or before[1] == name and now[1] == new or in_type, (path, before, now)
    assert changed == done["files_modified"]
    again = transform.rename_identifier("lib", new, name, create_backup=False, partial=True, attributes=True)
    assert again["total_replacements"] == done["total_replacements"]
    for path, data, _ in files:
        with open(path, "rb") as file:
            assert file.read() == data, path


RENAMES = {
    "def f(old):\n    '''old'''  # old\n    return f'{old} old' + x.old\n": "def f(new):\n    '''old'''  # old\n    return f'{new} old' + x.old\n",
    "def f(old): pass\nf(old=1)\ng(old=2)\n": "def f(new): pass\nf(new=1)\ng(old=2)\n",
    "class A:\n    def __init__(self, old): self.old = old\nA(old=1)\n": "class A:\n    def __init__(self, new): self.old = new\nA(new=1)\n",
    "class A:\n    old = 1\n    def m(self): return old, self.old\n": "class A:\n    old = 1\n    def m(self): return new, self.old\n",
    "__all__ = ['old']\ndef old(): pass\n": "__all__ = ['new']\ndef new(): pass\n",
    "x: 'old' = old\n": "x: 'new' = new\n",
    "global_ = 1\ndef f():\n    global old\n    old = 1\n": "global_ = 1\ndef f():\n    global new\n    new = 1\n",
    "[old for old in old]\n(old := 1)\nfor old in x: pass\nwith a as old: pass\n": "[new for new in new]\n(new := 1)\nfor new in x: pass\nwith a as new: pass\n",
    "match old:\n    case {'old': old}: pass\n": "match new:\n    case {'old': new}: pass\n",
    "old = 1\r\nolder = old\r\n": "new = 1\r\nolder = new\r\n",
    "ä = old\n": "ä = new\n",
}


@pytest.mark.parametrize("source", RENAMES)
def test_what_is_renamed(transform, source):
    put("a.py", source)
    done = transform.rename_identifier(".", "old", "new")
    assert done["status"] == "success" and get("a.py") == RENAMES[source]
    (backup,) = glob.glob("a.py.backup_*")
    assert get(backup) == source


@pytest.mark.parametrize("source", [
    "old = new = 1\n", "def f(old, new): pass\n", "new = 1\ndef f():\n    old = 2\n    return new\n", "old = 1\ndef f():\n    new = 2\n    return old\n",
    "import old\nold.x\n", "from elsewhere import old\n", "old = 1\nprint(new)\n",
])  # fmt: skip
def test_a_name_that_is_taken_is_refused(transform, source):
    put("a.py", source)
    put("b.py", "old = 1\n")
    done = transform.rename_identifier(".", "old", "new")
    assert done["status"] == "conflict" and done["conflicts"][0]["file"] == "./a.py" and done["conflicts"][0]["line"] >= 1
    assert get("a.py") == source and get("b.py") == "old = 1\n" and not glob.glob("*backup*")
    assert transform.rename_identifier(".", "old", "new", partial=True)["files_modified"] == 1 and get("b.py") == "new = 1\n" and get("a.py") == source


def test_shadowing_that_changes_nothing_is_no_conflict(transform):
    put("a.py", "new = 1\ndef f():\n    old = 2\n    return old\n")
    assert transform.rename_identifier(".", "old", "new")["files_modified"] == 1


@pytest.mark.parametrize("name", ["class", "a b", "1x", "", "old"])
def test_what_is_no_name_is_refused(transform, name):
    with pytest.raises(ValueError):
        transform.rename_identifier(".", "old", name)


def test_renaming_across_files(transform):
    put("pkg/util.py", "def old(x): return x\n")
    put("pkg/main.py", "from pkg import util\nfrom pkg.util import old\nutil.old(1)\nother.old(2)\nold(3)\n")
    put("pkg/bad.py", "old = (\n")
    assert transform.rename_identifier(".", "old", "new", dry_run=True)["total_replacements"] == 4
    done = transform.rename_identifier(".", "old", "new")
    assert done["files_modified"] == 2 and done["by_kind"] == {"def": 1, "import": 1, "attribute": 1, "name": 1}
    assert done["unchanged"] == {"attributes": 1} and done["skipped"] == [{"file": "./pkg/bad.py", "reason": "the file is not valid Python"}]
    assert get("pkg/main.py") == "from pkg import util\nfrom pkg.util import new\nutil.new(1)\nother.old(2)\nnew(3)\n"


def test_renaming_in_one_scope_or_by_expression(transform):
    put("a.py", "def f():\n    old = 1\n    return old\ndef g():\n    old = 1\n    return old\n")
    assert transform.rename_identifier(".", "old", "new", scope="g")["total_replacements"] == 2
    assert get("a.py") == "def f():\n    old = 1\n    return old\ndef g():\n    new = 1\n    return new\n"
    put("b.py", "get_a = get_b = 1\n")
    assert transform.rename_identifier(".", "get_(.)", r"read_\1", regex=True)["total_replacements"] == 2 and get("b.py") == "read_a = read_b = 1\n"


# --- debugging ---

class WithoutPrints(ast.NodeTransformer):
    def generic_visit(self, node):
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                left = [n for n in block if not is_print(n)]
                setattr(node, field, left or [ast.Pass()])
        return node


def is_print(node):
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
            and node.value.func.id == "print" and not any(k.arg in ("file", None) for k in node.value.keywords))  # fmt: skip


def without_passes(tree):
    """`pass` beside something else means nothing."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and len(block) > 1 and isinstance(block[0], ast.stmt):
                setattr(node, field, [n for n in block if not isinstance(n, ast.Pass)] or [ast.Pass()])
    return ast.dump(tree)


def test_no_file_stops_being_python_without_its_prints(transform):
    changed = 0
    for path, data, tree in library(8):
        done = transform.remove_debug_statements(path, kinds=["print"], create_backup=False)
        assert done["status"] == "success", (path, done)
        if not done["modified"]:
            continue
        changed += 1
        with open(path, "rb") as file:
            after = file.read()
        assert without_passes(parse(after)) == without_passes(WithoutPrints().visit(tree)), path
    assert changed > 5


DEBUG = {
    "x = 1\nprint(x)\n": "x = 1\n",
    "if a:\n    print(\n        1,\n    )  # gone\n": "if a:\n    pass  # gone\n",
    "if a: print(1)\nb\n": "if a: pass\nb\n",
    "a; print(1); b\n": "a; b\n",
    "print(1, file=f)\nx = 'print(1)'\nobj.print(1)\n": "print(1, file=f)\nx = 'print(1)'\nobj.print(1)\n",
    "import pdb\nx = 1\npdb.set_trace()\nbreakpoint()\n": "x = 1\n",
    "import pdb\npdb.pm()\n": "import pdb\npdb.pm()\n",
    "def print(x): pass\nprint(1)\n": "def print(x): pass\nprint(1)\n",
    "def f():\n    '''doc'''\n    print(1)\r\n    return 2": "def f():\n    '''doc'''\n    return 2",
}


@pytest.mark.parametrize("source", DEBUG)
def test_debug_statements(transform, source):
    put("a.py", source)
    done = transform.remove_debug_statements("a.py")
    assert done["status"] == "success" and get("a.py") == DEBUG[source]
    assert transform.remove_debug_statements("a.py")["lines_removed"] == 0


def test_debug_statements_of_the_caller(transform):
    put("a.py", "trace(1)\nx = 1\nlogging.debug('x')\n")
    assert transform.remove_debug_statements("a.py", [r"trace\("], dry_run=True)["lines_removed"] == 1 and get("a.py").startswith("trace")
    assert transform.remove_debug_statements("a.py", [r"trace\("])["removed"] == [{"line": 1, "kind": r"trace\("}]
    assert transform.remove_debug_statements("a.py", kinds=["logging"])["lines_removed"] == 1 and get("a.py") == "x = 1\n"


# --- docstrings, hints, async ---

def without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


@pytest.mark.parametrize("style", ["google", "numpy", "sphinx"])
def test_docstrings_are_all_that_is_added(transform, style):
    added = 0
    for path, data, tree in library(30):
        done = transform.add_docstrings(path, style, create_backup=False)
        assert done["status"] == "success", (path, done)
        added += done["docstrings_added"]
        with open(path, "rb") as file:
            after = parse(file.read())
        assert all(ast.get_docstring(n, clean=False) is not None for n in ast.walk(after) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), path
        assert without_docstrings(after) == without_docstrings(tree), path
        assert transform.add_docstrings(path)["docstrings_added"] == 0
    assert added > 50


def test_docstrings_where_it_is_hard(transform):
    put("a.py", "async def fetch_all(url,\n              *rest): return url\nclass A:\n    def m(self):\n        @deco\n        def n(): pass")
    assert transform.add_docstrings("a.py")["functions"] == ["fetch_all", "m", "n"]
    text = get("a.py")
    assert '    """Fetch all.\n\n    Args:\n        url: The url.\n        *rest: The rest.\n\n    Returns:\n        The result.\n    """\n    return url' in text
    assert not text.endswith("\n") and transform.add_docstrings("a.py")["message"]


class WithoutHints(ast.NodeTransformer):
    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def test_hints_are_all_that_is_added(transform):
    added = 0
    for path, data, tree in library(16):
        done = transform.add_type_hints(path, create_backup=False)
        assert done["status"] == "success", (path, done)
        added += done["hints_added"]
        with open(path, "rb") as file:
            after = parse(file.read())
        assert ast.dump(WithoutHints().visit(after)) == ast.dump(WithoutHints().visit(tree)), path
        assert transform.add_type_hints(path)["hints_added"] == 0
    assert added > 200


def test_hints(transform):
    put("a.py", "def f(a, b=1, c='ä', *, d=True, e=None, g=(2), h: int = 3):\n    print(a)\ndef g(x=.5):\n    return x\ndef h(): raise X\ndef i(): yield\n")
    assert transform.add_type_hints("a.py")["functions"][0]["hints"] == ["b", "c", "d", "g", "return"]
    assert get("a.py") == ("def f(a, b: int = 1, c: str = 'ä', *, d: bool = True, e=None, g: int=(2), h: int = 3) -> None:\n    print(a)\n"
                           "def g(x: float = .5):\n    return x\ndef h(): raise X\ndef i(): yield\n")  # fmt: skip
    assert transform.add_type_hints("a.py", "nobody")["status"] == "not_found"


def test_async_is_not_doubled(transform):
    put("a.py", "class A:\n    @deco\n    def run(self): pass\ndef other(): return A().run()\ndef gen():\n    yield from x\n")
    assert transform.convert_to_async("a.py", "A.run")["callers"] == [4] and "    async def run" in get("a.py")
    again = transform.convert_to_async("a.py", "run")
    assert again["status"] == "success" and not again["modified"] and "async async" not in get("a.py")
    assert transform.convert_to_async("a.py", "nobody")["status"] == "not_found"
    assert transform.convert_to_async("a.py", "gen")["status"] == "error" and "async def gen" not in get("a.py")


def test_functions_of_the_caller_and_batches(transform):
    put("a.py", "old = 1\nprint(old)\n")
    assert transform.apply_transformation("a.py", lambda t: t + "(", create_backup=False)["status"] == "error" and get("a.py").endswith("old)\n")
    assert transform.apply_transformation("a.py", lambda t: t)["message"]
    assert transform.apply_transformation("a.py", lambda t: 1 / 0)["error"].startswith("ZeroDivisionError")
    results = transform.batch_refactor([
        {"type": "rename", "old_name": "old", "new_name": "new"}, {"type": "remove_debug", "file_path": "a.py"}, {"type": "nonsense"}, {"type": "rename"},
        {"type": "search_replace", "file_pattern": "*.py", "search": "1", "replace": "2"},
        {"type": "custom", "file_path": "a.py", "transform_fn": str.upper}])  # fmt: skip
    assert [r["status"] if "status" in r else r["files_modified"] for r in results] == ["success", "success", "error", "error", 1, "success"]
    assert get("a.py") == "NEW = 2\n"
    assert transform.remove_debug_statements("missing.py")["status"] == "error"


def test_lists_have_an_end_and_numbers_do_not(transform):
    put("a.py", "".join(f"def f{n}(x=1):\n    print(x)\n    f{n}()\n" for n in range(20)))
    removed = transform.remove_debug_statements("a.py", dry_run=True, limit=5)
    assert removed["lines_removed"] == 20 and len(removed["removed"]) == 5
    added = transform.add_docstrings("a.py", dry_run=True, limit=5)
    assert added["docstrings_added"] == 20 and len(added["functions"]) == len(added["added"]) == 5
    hints = transform.add_type_hints("a.py", dry_run=True, limit=5)
    assert hints["hints_added"] == 40 and len(hints["functions"]) == 5
    assert len(transform.convert_to_async("a.py", "f1", dry_run=True, limit=0)["callers"]) == 0
    assert get("a.py").count("print") == 20 and os.listdir(".").count("a.py") == 1


def test_bytes_of_a_file_stay(transform):
    data = b"\xef\xbb\xbfold = 1\r\n# \xc3\xa4\r\nprint(old)\r\nx = old"
    with open("a.py", "wb") as file:
        file.write(data)
    os.chmod("a.py", 0o755)
    transform.rename_identifier(".", "old", "new", create_backup=False)
    transform.remove_debug_statements("a.py", create_backup=False)
    with open("a.py", "rb") as file:
        assert file.read() == data.replace(b"print(old)\r\n", b"").replace(b"old", b"new")
    assert os.stat("a.py").st_mode & 0o777 == 0o755
    with open("b.py", "wb") as file:
        file.write(b"# coding: latin-1\nold = '\xe4'\n")
    transform.rename_identifier(".", "old", "new", create_backup=False)
    with open("b.py", "rb") as file:
        assert file.read() == b"# coding: latin-1\nnew = '\xe4'\n"


@pytest.mark.parametrize("profile", ["standard", "marketplace", "open"])
def test_programs_use_it(who, profile):
    code = ("from api import filesystem as fs, code_transform as ct\nfs.write_file('a.py', 'old = 1\\nprint(old)\\n')\n"
            "print(ct.rename_identifier('.', 'old', 'new')['total_replacements'], ct.remove_debug_statements('a.py')['lines_removed'], fs.read_file('a.py'))")  # fmt: skip
    assert who.run(code, profile=profile).json["stdout"] == "2 1 new = 1\n\n"


@pytest.mark.parametrize("profile", ["standard", "marketplace"])
def test_files_that_the_profile_would_not_run_can_be_changed(who, profile):
    """The profile is about the program, not about the files it works on; and nothing of them is run."""
    file = "import os, subprocess\nfrom ctypes import *\ndef old():\n    return eval(os.__dict__['x'], old.__globals__)\nprint(old)\nopen('ran', 'w')\n"
    code = (f"from api import filesystem as fs, code_transform as ct\nfs.write_file('a.py', {file!r})\n"
            "done = ct.rename_identifier('.', 'old', 'new', create_backup=False)\nprint(done['status'], done['total_replacements'], done['skipped'])\n"
            "print(ct.remove_debug_statements('a.py', create_backup=False)['lines_removed'], ct.add_docstrings('a.py', create_backup=False)['docstrings_added'])\n"
            "from pathlib import Path\nprint(Path('ran').exists(), compile)")  # fmt: skip
    answer = who.run(code.replace(", compile)", ")"), profile=profile)
    assert answer.json["stdout"] == "success 3 []\n1 1\nFalse\n", answer
    assert who.run(code, profile=profile).status == "refused"


def test_the_library_compiles_for_nobody_else(who):
    code = "from api import _edit\nprint(_edit.compiles('1', 'x'), _edit.compiles('1 +', 'x'))\n_edit.ast.parse('import os')\ng = getattr(_edit, 'compi' + 'les')\nprint(type(g('x = 1', 'y')))"
    assert who.run(code, profile="standard").json["stdout"] == "True False\n<class 'bool'>\n"


def test_a_module_by_another_name(transform):
    put("shop.py", "def old(x):\n    return x\n")
    put("use.py", "import shop as s\nimport shop, json as old_shop\nprint(s.old(1), shop.old(2), old_shop.old, s.x.old)\n")
    transform.rename_identifier(".", "old", "new", create_backup=False)
    assert get("use.py") == "import shop as s\nimport shop, json as old_shop\nprint(s.new(1), shop.new(2), old_shop.old, s.x.old)\n"


def test_a_keyword_stays_where_its_parameter_does(transform):
    put("a.py", "def old(): pass\ndef f(old): return old\nf(old=old)\n")
    transform.rename_identifier(".", "old", "new", scope="module", create_backup=False)
    assert get("a.py") == "def new(): pass\ndef f(old): return old\nf(old=new)\n"


# --- many files ---

def test_one_file_functions_take_a_directory_a_glob_or_a_list(transform):
    put("a/x.py", "def f(n=1):\n    print(n)\n")
    put("a/b/y.py", "def g():\n    print(2)\n    print(3)\n")
    put("a/z.txt", "print(1)\n")
    done = transform.remove_debug_statements("a", dry_run=True)
    assert (done["status"], done["files_scanned"], done["files_modified"], done["lines_removed"]) == ("success", 2, 2, 3), done
    assert transform.remove_debug_statements("a/**/*.py", create_backup=False)["lines_removed"] == 3
    assert "print" not in get("a/x.py") + get("a/b/y.py") and get("a/z.txt") == "print(1)\n"
    assert transform.remove_debug_statements("a")["status"] == "unchanged"
    assert transform.add_docstrings(["a/x.py", "a/b/y.py"], create_backup=False)["docstrings_added"] == 2
    assert transform.add_type_hints("a")["hints_added"] == 1
    assert transform.apply_transformation("a/**/*.py", str.upper, create_backup=False)["status"] == "error"  # no longer Python
    assert transform.apply_transformation("a/*.txt", str.upper)["files_modified"] == 1 and get("a/z.txt") == "PRINT(1)\n"


def test_many_files_that_are_none_or_fail_are_told(transform, here):
    done = transform.remove_debug_statements("nothing/**/*.py")
    assert done["status"] == "not_found" and str(here) in done["message"] and "nothing/**/*.py" in done["message"], done
    put("good.py", "print(1)\n")
    put("bad.py", "print(\n")
    done = transform.remove_debug_statements("*.py")
    assert (done["status"], done["files_modified"], done["details"][0]["file"]) == ("partial", 1, "bad.py"), done
    put("a[1].py", "print(1)\n")
    assert transform.remove_debug_statements("a[1].py")["file"] == "a[1].py"  # a file of that name is no glob


# --- unused imports ---

UNUSED = '''"""Doc."""
from __future__ import annotations
import os, sys
import json as j
from typing import (
    Any,  # first
    List,
    Dict,
)
from a import b, c, d
import keep  # noqa: F401
try:
    import fast
except ImportError:
    fast = None


def f(x: Any) -> Dict:
    import re
    return sys.argv, c


if x:
    import lone
'''


def test_unused_imports_are_removed(transform):
    put("m.py", UNUSED)
    done = transform.remove_unused_imports("m.py", create_backup=False)
    assert [(r["name"], r["line"]) for r in done["removed"]] == [("os", 3), ("json", 4), ("List", 7), ("b", 10), ("d", 10), ("re", 19), ("lone", 24)], done
    assert {(r["name"], r["reason"].split()[0]) for r in done["left"]} <= {("keep", "a"), ("fast", "in")}, done
    text = get("m.py")
    assert "import sys\n" in text and "from a import c\n" in text and "    import fast\n" in text and "import keep  # noqa" in text, text
    assert "    Any,  # first\n    Dict,\n)" in text and "    return sys" in text and "if x:\n    pass\n" in text, text
    parse(text)
    again = transform.remove_unused_imports("m.py")
    assert again["imports_removed"] == 0 and get("m.py") == text, again


def test_imports_of_a_package_stay(transform):
    put("p/__init__.py", "from .m import f\n")
    done = transform.remove_unused_imports("p/__init__.py")
    assert done["imports_removed"] == 0 and done["left"][0]["name"] == ".m.f", done


def test_unused_imports_over_a_library(transform):
    """Files stay Python, nothing else changes, and nothing more is found than what was left and told."""
    from api import code_analysis

    removed = 0
    for name, data, tree in library(7):
        done = transform.remove_unused_imports(name, create_backup=False)
        assert done["status"] == "success", done
        removed += done["imports_removed"]
        with open(name, "rb") as file:
            after = parse(file.read())
        assert without_imports(after) == without_imports(tree), name
        if done["imports_removed"]:
            assert len(code_analysis.find_unused_imports(name, details=True)) <= len(done.get("left", [])) + removed, name
    assert removed > 10


def without_imports(tree):
    """The rest of a module; a block that had nothing else has a `pass` now."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [n for n in block if not isinstance(n, (ast.Import, ast.ImportFrom, ast.Pass))])
    return ast.dump(tree)


# --- backups ---

def test_backups_are_told(transform):
    put("a.py", "def f():\n    pass\n")
    done = transform.rename_identifier(".", "f", "g")
    assert done["backups"] == 1 and "1 backup beside" in done["message"] and "create_backup=False" in done["message"], done
    done = transform.rename_identifier(".", "g", "f", create_backup=False)
    assert "backups" not in done and "message" not in done, done


def test_strings_of_dunder_all_and_of_audit(transform):
    put("m.py", "import sys\n__all__ = []\ndef f():\n    sys.audit('m.f', 1)\n__all__.extend(['f', 'g'])\n__all__.append('f')\nnames = ['f']\n")
    put("use.py", "from unittest.mock import patch\npatch('m.f')\n")
    done = transform.rename_identifier(".", "f", "h", create_backup=False)
    assert get("m.py") == "import sys\n__all__ = []\ndef h():\n    sys.audit('m.f', 1)\n__all__.extend(['h', 'g'])\n__all__.append('h')\nnames = ['f']\n", done
    assert get("use.py").endswith("patch('m.h')\n") and {place["line"] for place in done["left"]} == {4, 7}, done
