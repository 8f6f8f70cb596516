"""Many files in one call say what each of them says alone, however many threads there are; what cannot be read is told."""
import ast
import glob
import inspect
import os
import re
import warnings

import pytest

import library

LIBRARY = os.path.dirname(os.__file__)
SAMPLE = sorted(glob.glob(LIBRARY + "/**/*.py", recursive=True))[::12]

ODD = {
    "plain.py": b"import os, sys\n\ndef parse(a, b=1): 'Parses.'; return sys\n",
    "latin.py": "# coding: latin-1\nimport os\ndef schön(): 'Größe'\n".encode("latin-1"),
    "mark.py": b"\xef\xbb\xbfimport os\ndef marked(): pass\n",
    "wide.py": "import os\ndef wide(): pass\n".encode("utf-16"),
    "ligature.py": "def \ufb01nd(): pass\n\ufb01nd()\n".encode(),
    "broken.py": b"def f(:\n  '",
    "binary.py": b"\0\1\2",
    "empty.py": b"",
    "lied.py": b"# coding: ascii\ndef \xff(): pass\n",
}


@pytest.fixture(scope="module")
def code():
    return library.load()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, data in ODD.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def decode(path):
    from api import code_analysis

    return code_analysis._source(path)


def say(literal):
    from api import code_analysis

    return code_analysis._docstring(literal)


def scan(code, paths, what, *args, **named):
    return code.scan(paths, what, *args, decode=decode, say=say, **named)


def truth(path):
    with open(path, "rb") as file:
        data = file.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            return None


def test_summaries_are_what_python_makes_of_docstrings(code):
    count = 0
    for path in SAMPLE:
        tree = truth(path)
        if not tree:
            continue
        for what, kinds in (("functions", (ast.FunctionDef, ast.AsyncFunctionDef)), ("classes", ast.ClassDef)):
            ours = {(f["start_line"], f["name"]): f["docstring"] for f in scan(code, [path], what)[0]}
            for node in ast.walk(tree):
                if isinstance(node, kinds):
                    text = ast.get_docstring(node, clean=False)
                    count += text is not None
                    assert ours[node.lineno, node.name] == (None if text is None else inspect.cleandoc(text)[:100]), (path, node.lineno)
    assert count > 200  # of whatever Python is installed


DOCSTRINGS = ["''", "'   a  '", "'''a\n    b\n\n      c\n    '''", "'''\n\n    a\n  b\n\n\n'''", "'''\n\n'''", "'''   \n   a\n      \n   '''", "'a' 'b'", "r'\\n'",
              "'\\n a'", "'''a\tb\n\tc'''", "'''ä\n ö\n  \u00a0x'''", "'" + "ä" * 150 + "'", "'''" + "ab\n" * 60 + "'''", "u'''a'''", '"""a"b\'c"""', "'''a\fb'''",
              "'''" + "x" * 99 + "\n\n'''", "'''" + "x" * 99 + "\n\ny'''"]  # fmt: skip


@pytest.mark.parametrize("literal", DOCSTRINGS)
def test_summaries_where_it_is_hard(code, tmp_path, literal):
    source = f"def f():\n    {literal}\n"
    (tmp_path / "m.py").write_text(source, newline="")
    (found,) = scan(code, [str(tmp_path / "m.py")], "functions")[0]
    assert found["docstring"] == inspect.cleandoc(ast.get_docstring(ast.parse(source).body[0], clean=False))[:100]


@pytest.mark.parametrize("what", ["functions", "classes", "calls", "imports", "unused", "figures"])
def test_threads_change_nothing(code, what):
    alone = scan(code, SAMPLE, what, threads=1, with_file=True)
    assert len(alone[0]) > 5 and alone[2] == len(SAMPLE)
    assert scan(code, SAMPLE, what, threads=2, with_file=True) == scan(code, SAMPLE, what, threads=16, with_file=True) == alone
    one_by_one = [entry for path in SAMPLE for entry in scan(code, [path], what, with_file=True)[0]]
    assert one_by_one == alone[0]


@pytest.mark.parametrize("what,pattern", [("functions", "parse"), ("functions", "_"), ("classes", "Error"), ("calls", "join"), ("functions", "no such name")])
def test_a_pattern_picks_and_limits_cut(code, what, pattern):
    key = "callee" if what == "calls" else "name"
    everything = scan(code, SAMPLE, what, with_file=True)[0]
    wanted = [e for e in everything if (("." + e[key]).endswith("." + pattern) if what == "calls" else pattern in e[key])]
    assert scan(code, SAMPLE, what, pattern, with_file=True)[0] == wanted
    assert scan(code, SAMPLE, what, pattern, count_only=True)[0] == len(wanted)
    assert scan(code, SAMPLE, what, pattern, limit=3, with_file=True)[0] == wanted[:3]
    assert scan(code, SAMPLE, what, None, re.compile(re.escape(pattern) + "$").search, with_file=True)[0] == [e for e in everything if e[key].endswith(pattern)]
    assert scan(code, SAMPLE, what, limit=0)[0] == []


def test_bytes(code, here):
    assert scan(code, sorted(ODD), "bytes", b"import")[0] == ["latin.py", "lied.py", "mark.py", "plain.py", "wide.py"]  # two are not UTF-8: who knows
    assert scan(code, sorted(ODD), "bytes", "no such text")[0] == ["latin.py", "lied.py", "wide.py"]


def test_every_encoding_and_what_is_no_python(code, here):
    found, skipped, seen = scan(code, [*sorted(ODD), "missing.py", "."], "functions")
    assert [f["name"] for f in found] == ["schön", "find", "marked", "parse", "wide"] and seen == len(ODD) + 2
    reasons = dict(skipped)
    assert set(reasons) == {"binary.py", "broken.py", "lied.py", "missing.py", "."}
    assert reasons["binary.py"] == "binary" and reasons["broken.py"].startswith("not valid Python: ") and reasons["missing.py"] == "No such file or directory"
    assert scan(code, sorted(ODD), "functions", "find", count_only=True)[0] == 1
    assert [c["callee"] for c in scan(code, sorted(ODD), "calls", "find")[0]] == ["find"]
    assert scan(code, sorted(ODD), "functions", "schö", count_only=True)[0] == 1
    assert [u["binding"] for u in scan(code, ["plain.py"], "unused")[0]] == ["os"]


def test_what_would_block_or_be_too_much_is_told(code, here):
    os.mkfifo("pipe.py")
    with open("large.py", "wb") as file:
        file.truncate(100 << 20)
    assert dict(scan(code, ["pipe.py", "large.py"], "functions")[1]) == {"pipe.py": "not a regular file", "large.py": "too large"}


def test_the_caller_is_heard(code):
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    paths = SAMPLE * 2000
    with pytest.raises(Enough):
        code.scan(paths, "calls", "no such name anywhere", progress=stop, decode=decode)
    with pytest.raises(ZeroDivisionError):
        scan(code, SAMPLE, "functions", None, lambda name: 1 / 0)
    with pytest.raises(ValueError):
        code.scan(["a\0b"], "functions")
    with pytest.raises(ValueError):
        code.scan([], "nothing")


def test_a_walk_takes_what_a_glob_takes(code, here):
    for name in ("a/b/c.py", "a/.hidden.py", ".git/x.py", "a/c.py.backup_20260101_000000", "a/.belljar-x.py", "a/no.txt", "é/ü.py"):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        open(name, "w").close()
    os.symlink("../plain.py", "a/link.py")
    os.symlink("nowhere", "a/dangling.py")
    os.symlink("..", "a/loop")
    wanted = sorted([*ODD, "a/b/c.py", "a/link.py", "é/ü.py"])
    assert code.walk(".", "", "*.py") == wanted
    assert code.walk(".", "", "[a-c]*.py") == [p for p in wanted if os.path.basename(p)[0] in "abc"]
    assert code.walk("a", "a/", "*") == ["a/b/c.py", "a/link.py", "a/no.txt"]
    assert code.walk("a", "a/", ".hid*") == ["a/.hidden.py"]
    with pytest.raises(FileNotFoundError):
        code.walk("missing", "missing/", "*")


def test_compound_statements_in_one_line_nest_no_deeper(code, tmp_path):
    (tmp_path / "m.py").write_text("class A: " * 200_000)
    found, skipped, _ = scan(code, [str(tmp_path / "m.py")], "classes")
    assert len(found) <= 1 and not skipped


LONG = [("match a;", 1_000_000), ("match a; \\\n", 500_000), ("def f(): # ", 500_000), ("if a", 1_000_000), ("'", 3_000_000), ("f'{", 1_000_000)]


@pytest.mark.parametrize("piece,times", LONG)
def test_long_lines_take_no_longer(code, tmp_path, piece, times):
    (tmp_path / "m.py").write_text(piece * times)
    for what in ("functions", "calls", "unused"):
        scan(code, [str(tmp_path / "m.py")], what)


@pytest.mark.parametrize("processes", ["1", "64"])
def test_a_sandbox_without_room_for_threads_does_without(who, processes):
    source = ("from api import filesystem as fs, code_analysis as ca\nfor n in range(100): fs.write_file(f'd/f{n}.py', f'def f{n}(): pass')\n"
              "print(ca.find_functions('d', count_only=True), ca.find_functions('d', 'f99')[0]['file'])")  # fmt: skip
    assert who.run(source, "--pids", processes, profile="standard").json["stdout"] == "100 d/f99.py\n"
