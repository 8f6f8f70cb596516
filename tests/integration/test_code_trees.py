"""Languages besides Python: golden files, universal-ctags as a second opinion, junk, and a build without grammars."""
import collections
import glob
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import belljar
from library import load

DATA = belljar.ROOT / "tests/data/trees"
SOURCES = sorted(path.name for path in DATA.iterdir() if path.suffix != ".outline")
NO_GRAMMARS = "this build has no grammars: npm could not fetch them"


@pytest.fixture(scope="module")
def code():
    module = load()
    if not all(module.languages().values()):
        assert not any(module.languages().values()), "grammars come together or not at all"
        pytest.skip(NO_GRAMMARS)
    return module


@pytest.fixture
def analysis(code):
    from api import code_analysis

    return code_analysis


@pytest.fixture
def transform(code):
    from api import code_transform

    return code_transform


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- golden files ---


def parameter(p):
    return p["name"] + "*" * (p["kind"] == "variadic") + ":" * p["has_annotation"] + "=" * p["has_default"]


def words_of(found):
    """An outline as lines that can be read."""
    yield f"{found['language']} {found['code_lines']} code, {found['comment_lines']} comments, {found['blank_lines']} blank, {found['branches']} branches"
    for d in found["functions"]:
        yield f"{d['kind']} {d['qualname']}({', '.join(map(parameter, d['params']))}) {d['start_line']}-{d['end_line']} complexity {d['complexity']}"
    for d in found["classes"]:
        yield f"{d['kind']} {d['qualname']}({', '.join(d['bases'])}) {d['start_line']}-{d['end_line']} has {' '.join(d['methods']) or 'nothing'}"
    for i in found["imports"]:
        yield f"import {i['module']} {i['name']} {i['alias']} line {i['line']}{' local' * i['level']}"
    for c in found["calls"]:
        yield f"call {c['callee']} with {c['nargs']} in {c['in_function']} line {c['line']}"


@pytest.mark.parametrize("name", SOURCES)
def test_golden(code, name):
    source = (DATA / name).read_bytes()
    found = code.outline(source, calls=True, language=code.language(name, source))
    assert found["error"] is None and not found["has_mistakes"] and found["precision"] == "syntactic"
    assert "\n".join(words_of(found)) + "\n" == (DATA / (name + ".outline")).read_text()


def test_every_language_has_a_golden_file(code):
    assert {code.language(name, (DATA / name).read_bytes()) for name in SOURCES} == set(code.languages())


@pytest.mark.parametrize("name", SOURCES)
def test_line_ends_do_not_matter(code, name):
    source = (DATA / name).read_bytes()
    language = code.language(name, source)
    unix, windows = (code.outline(s, calls=True, language=language) for s in (source, source.replace(b"\n", b"\r\n")))
    places = [[(d["qualname"], d["start_line"], d["end_line"]) for d in found["functions"] + found["classes"]] for found in (unix, windows)]
    assert places[0] == places[1] and unix["code_lines"] == windows["code_lines"]


@pytest.mark.parametrize("path, head, language", [
    ("a.js", b"", "javascript"), ("a/b.mjs", b"", "javascript"), ("a.tsx", b"", "tsx"), ("a.h", b"int x;\n", "c"),
    ("a.h", b"#pragma once\nnamespace a {}\n", "cpp"), ("a.cc", b"", "cpp"), ("run", b"#!/bin/sh\n", "bash"),
    ("run", b"#!/usr/bin/env -S node --flag\n", "javascript"), ("run", b"#!/usr/bin/python3\n", None), ("a.py", b"#!/bin/sh\n", None),
    (".sh", b"", None), ("a.js.txt", b"", None), ("run", b"", None), ("run", b"#!", None), ("a.b/run", b"#!/bin/bash", "bash"),
])  # fmt: skip
def test_which_language(code, path, head, language):
    assert code.language(path, head) == language


# --- a second opinion ---

# Of ctags, by kind of ours.
CTAGS = {
    "c": ("C", {"function"}, {"struct", "union", "enum"}),
    "cpp": ("C++", {"function"}, {"struct", "union", "enum", "class"}),
    "bash": ("Sh", {"function"}, set()),
    "go": ("Go", {"func", "methodSpec"}, {"struct", "interface"}),
    "rust": ("Rust", {"function", "method"}, {"struct", "enum", "interface"}),
    "java": ("Java", {"method"}, {"class", "interface", "enum", "annotation"}),
    "javascript": ("JavaScript", {"function", "method", "generator", "getter", "setter"}, {"class"}),
}


def ask_ctags(language, paths):
    name, functions, classes = CTAGS[language]
    done = subprocess.run(
        ["ctags", "--options=NONE", "--output-format=json", "--fields=+nK", f"--languages={name}", f"--language-force={name}", "-L", "-", "-f", "-"],
        input="\n".join(map(str, paths)), capture_output=True, text=True, timeout=belljar.HANG_SECONDS, check=True)  # fmt: skip
    found = collections.defaultdict(set)
    for tag in map(json.loads, done.stdout.splitlines()):
        if tag.get("_type") == "tag" and not tag["name"].startswith(("__anon", "Anonymous")) and tag["kind"] in functions | classes:
            found[tag["path"]].add(("function" if tag["kind"] in functions else "class", tag["name"].replace("operator ", "operator")))
    return found


def compare(code, language, paths):
    """How many both find, what only we do, and what only ctags does."""
    theirs, both, more, fewer = ask_ctags(language, paths), 0, [], []
    for path in map(str, paths):
        with open(path, "rb") as file:
            found = code.outline(file.read(), language=language)
        ours = {("function", d["name"]) for d in found["functions"]} | {("class", d["name"]) for d in found["classes"]}
        both += len(ours & theirs[path])
        more += [(path, *one) for one in ours - theirs[path]]
        fewer += [(path, *one) for one in theirs[path] - ours]
    return both, more, fewer


@pytest.fixture(scope="module")
def ctags():
    assert shutil.which("ctags"), "universal-ctags is not installed: make deps"


def test_ctags_agrees_on_our_own_c(code, ctags):
    paths = sorted(belljar.ROOT.glob("src/**/*.[ch]"))
    both, more, fewer = compare(code, "c", paths)
    assert both > 1000 and not more and len(fewer) <= both / 500, (both, more, fewer)


def test_ctags_agrees_on_headers_of_the_kernel(code, ctags):
    both, more, fewer = compare(code, "c", sorted(glob.glob("/usr/include/linux/*.h")))
    assert both > 1000 and len(more) < both / 10 and len(fewer) < both / 10, (both, more[:10], fewer[:10])


def test_ctags_agrees_on_shell_scripts(code, ctags):
    def is_script(path):
        with open(path, "rb") as file:
            return code.language(path, file.read(64)) == "bash"

    def is_understood(path):
        """A script that the grammar cannot read in full says so, and lacks what stands there."""
        return not code.outline(Path(path).read_bytes(), language="bash")["has_mistakes"]

    paths = [path for path in sorted(glob.glob("/usr/bin/*") + glob.glob("/usr/sbin/*")) if os.path.isfile(path) and is_script(path)]
    paths = [path for path in paths if is_understood(path)]
    both, more, fewer = compare(code, "bash", paths)
    # ctags takes some words of here documents for functions.
    assert both > 20 and not more and len(fewer) < both / 3, (both, more, fewer)


@pytest.mark.parametrize("name, more, fewer", [
    ("shop.c", {"point"}, set()),  # a typedef, says ctags
    ("shop.sh", set(), {"in_here_document"}),
    ("shop.go", {"Get", "Store"}, set()),  # with parameters of types, which ctags does not know
    ("shop.rs", {"Any"}, set()),
    ("Shop.java", {"Point", "inner"}, {"Point", "value"}),  # nor records
])  # fmt: skip
def test_ctags_agrees_on_the_golden_files(code, ctags, name, more, fewer):
    language = code.language(name, (DATA / name).read_bytes())
    _, ours, theirs = compare(code, language, [DATA / name])
    assert ({one[2] for one in ours} - more, {one[2] for one in theirs} - fewer) == (set(), set())


# --- what is not made for it ---


def junk(times):
    dice = random.Random(1)
    words = "def class if ( ) { } [ ] ; : , . = + - * / ' \" # a b1 for while return import -> => << ` $ \\ \n".split(" ")
    yield "bytes", dice.randbytes(70_000 * times)
    yield "words", " ".join(dice.choice(words) for _ in range(25_000 * times)).encode()
    yield "brackets", b"(" * 70_000 * times
    yield "two brackets", b"[{" * 7_000 * times
    yield "calls in calls", b"a(" * 3_000 * times + b")" * 3_000 * times
    yield "functions in functions", b"function f(){" * 2_000 * times
    yield "classes in classes", b"class A{" * 2_000 * times
    yield "not", b"!" * 20_000 * times
    yield "digits beyond the tables", "x=\U0001d7d8\U0001d7d9 \U000e0100 $\U0001d7d8\n".encode() * 100 * times
    yield "nothing", b""
    yield "one line", b"x" * 70_000 * times
    yield "only line ends", b"\r\n" * 35_000 * times
    yield "half a character", b"\xc3(\xe2\x82{\xf0\x9f" * 100 * times


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx", "c", "cpp", "go", "rust", "java", "bash", "json"])
def test_junk_ends(code, language):
    for name, data in junk(1):
        found = code.outline(data, calls=True, language=language)
        assert found["error"] in (None, "it takes too long to parse"), name
        assert all(1 <= d["start_line"] <= d["end_line"] for d in found["functions"] + found["classes"]), name
        if not found["error"]:
            code.tree_names(language, data, "a", "b1")


@pytest.mark.parametrize("language", ["bash", "javascript"])
def test_much_junk_ends(code, language):
    for name, data in list(junk(10))[:2]:
        assert code.outline(data, language=language)["error"] in (None, "it takes too long to parse"), name


def test_deep_nesting_does_not_end_the_stack(code):
    """The parser's own way to free such a text calls itself a hundred thousand times."""
    for language, text in (("go", b"[{" * 200_000), ("json", b"[" * 1_000_000)):
        assert code.outline(text, language=language)["error"] in (None, "it takes too long to parse")


def test_a_text_that_is_too_large_is_refused(code):
    assert code.outline(b" " * ((2 << 20) + 1), language="javascript")["error"] == "it is larger than 2 MiB"
    with pytest.raises(ValueError, match="larger than 2 MiB"):
        code.tree_names("c", b" " * ((2 << 20) + 1), "a", "b")


@pytest.mark.parametrize("name", SOURCES)
def test_every_cut_ends(code, name):
    source = (DATA / name).read_bytes()
    language = code.language(name, source)
    for end in range(0, len(source), 7):
        code.outline(source[:end], calls=True, language=language)
        code.outline(source[end:], calls=True, language=language)


def test_threads(code):
    source = (DATA / "shop.ts").read_bytes()
    expected, wrong = code.outline(source, calls=True, language="typescript"), []

    def work():
        for _ in range(50):
            if code.outline(source, calls=True, language="typescript") != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- the library ---


def test_the_functions_of_the_library(analysis, here):
    shutil.copytree(DATA, "shop")
    found = analysis.find_functions("shop/shop.js", "load")
    assert found == [{**found[0], "qualname": "Basket.load", "kind": "async", "language": "javascript", "precision": "syntactic", "is_async": True}]
    assert {f["file"] for f in analysis.find_functions("shop/*", "total")} == {f"shop/shop.{e}" for e in ("c", "cpp", "js", "rs", "sh")}
    assert [c["kind"] for c in analysis.find_classes("shop/shop.rs")] == ["struct", "struct", "enum", "union", "trait"]
    assert analysis.extract_imports("shop/shop.c")["imports"] == ["stdio.h", "shop.h"]
    assert analysis.extract_imports("shop/shop.rs")["from_imports"][1] == "from std::collections::hash_map import Entry as E"
    assert [c["line"] for c in analysis.get_function_calls("shop/shop.cpp", "max")] == [29]
    assert analysis.get_function_calls("shop/shop.js", "reduce")[0]["callee"] == "<expr>.reduce"
    figures = analysis.analyze_dependencies("shop/shop.js")
    assert figures["imports"] == {"stdlib": ["node:fs"], "third_party": ["path", "util"], "local": ["./side-effect.js", "./total.js"]}
    assert figures["language"] == "javascript" and figures["max_complexity"] == {"name": "Basket.load", "value": 3, "line": 19}
    assert analysis.find_unused_imports("shop/shop.js", report=True)["skipped"][0]["reason"] == "unused imports are found in Python only"


def put(name, text):
    with open(name, "w", newline="") as file:
        file.write(text)


def get(name):
    with open(name, newline="") as file:
        return file.read()


@pytest.mark.parametrize("name, before, after, attributes", [
    ("a.js", "let old = 1; // old\nf('old', `${old} old`, {old, old: x.old});", "let new_ = 1; // old\nf('old', `${new_} old`, {old: new_, old: x.old});", False),
    ("a.js", "let {old} = x; x.old = old;", "let {new_} = x; x.new_ = new_;", True),
    ("a.ts", "function f(old: old): old { return old as old }", "function f(new_: new_): new_ { return new_ as new_ }", False),
    ("a.c", "#define F(x) old(x, \"old\")\nint old(struct s *p) { return p->old + old(0); }\n",
     "#define F(x) new_(x, \"old\")\nint new_(struct s *p) { return p->old + new_(0); }\n", False),
    ("a.cpp", "int A::old() { return this->old(); } // old", "int A::new_() { return this->new_(); } // old", False),
    ("a.go", "package a\nfunc old() { b.old(\"old\") }\n", "package a\nfunc new_() { b.new_(\"old\") }\n", False),
    ("a.rs", "fn old(old: u8) { println!(\"old\", old); }\n", "fn new_(new_: u8) { println!(\"old\", new_); }\n", False),
    ("A.java", "class A { int old() { return this.old(\"old\"); } }\n", "class A { int new_() { return this.new_(\"old\"); } }\n", False),
    ("a.sh", "old() { echo old \"$old ${old}\" 'old'; }\nold=1; old old\n", "new_() { echo old \"$new_ ${new_}\" 'old'; }\nnew_=1; new_ old\n", False),
    ("a.js", "let old = 1;\r\nold++\r\n", "let new_ = 1;\r\nnew_++\r\n", False),
])  # fmt: skip
def test_rename(transform, here, name, before, after, attributes):
    put(name, before)
    planned = transform.rename_identifier(name, "old", "new_", attributes=attributes, dry_run=True)
    assert get(name) == before and planned["dry_run"] and planned["precision"] == "syntactic"
    done = transform.rename_identifier(name, "old", "new_", attributes=attributes, create_backup=False)
    assert (get(name), done["files_modified"], done["total_replacements"]) == (after, 1, planned["total_replacements"])
    assert os.listdir(here) == [name]


def test_rename_refuses(transform, here):
    put("a.js", "let old = 1, taken = 2;")
    assert transform.rename_identifier("a.js", "old", "taken")["conflicts"] == [{"file": "a.js", "line": 1, "reason": "taken stands in this file already"}]
    assert transform.rename_identifier("a.js", "old", "class")["skipped"][0]["reason"] == "'class' is a keyword of javascript"
    assert "is not a name" in transform.rename_identifier("a.js", "old", "a b")["skipped"][0]["reason"]
    assert "scopes are known in Python only" in transform.rename_identifier("a.js", "old", "x", scope="module")["skipped"][0]["reason"]
    assert get("a.js") == "let old = 1, taken = 2;" and os.listdir(here) == ["a.js"]


def test_rename_there_and_back(transform, here):
    shutil.copytree(DATA, "shop")
    before = {name: get(f"shop/{name}") for name in os.listdir("shop")}
    there = transform.rename_identifier("shop", "total", "sum_of_all", file_pattern="**/*", create_backup=False, partial=True)
    assert there["files_modified"] >= 5 and there["status"] == "success"
    back = transform.rename_identifier("shop", "sum_of_all", "total", file_pattern="**/*", create_backup=False, partial=True)
    assert back["total_replacements"] == there["total_replacements"]
    assert {name: get(f"shop/{name}") for name in os.listdir("shop")} == before


# --- without grammars ---

ALONE = """
import importlib.machinery, importlib.util, sys
spec = importlib.util.spec_from_file_location("_belljar_code", sys.argv[1], loader=importlib.machinery.ExtensionFileLoader("_belljar_code", sys.argv[1]))
sys.modules["_belljar_code"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["_belljar_code"])
sys.path.insert(0, sys.argv[2])
from api import code_analysis, code_transform
"""


def without(here, code):
    """Runs code in an interpreter whose module is built as it is where npm is missing."""
    module = belljar.program_path().parent / "tests/code/_belljar_code-without.so"
    return subprocess.run([sys.executable, "-c", ALONE + code, str(module), str(belljar.ROOT / "library")], cwd=here,
                          capture_output=True, text=True, timeout=belljar.HANG_SECONDS)  # fmt: skip


def test_a_build_without_grammars_says_so(here):
    put("a.js", "function f() {}")
    put("b.py", "def f(): pass\n")
    done = without(here, "code_analysis.find_functions('a.js')")
    assert done.stderr.rstrip().endswith("(`meson configure -Dtrees=enabled`)") and done.returncode == 1
    assert "MissingGrammar: a.js: this build has no grammar for JavaScript\nhint: " in done.stderr
    done = without(here, "print([f['file'] for f in code_analysis.find_functions('*')])")
    assert done.stdout == "['b.py']\n" and "UserWarning: a.js: this build has no grammar for JavaScript" in done.stderr
    done = without(here, "print(code_analysis.find_functions('*', report=True)['skipped'])")
    assert done.stdout == "[{'file': 'a.js', 'reason': 'this build has no grammar for JavaScript'}]\n"
    done = without(here, "print(code_transform.rename_identifier('a.js', 'f', 'g')['error'])")
    assert done.stdout == "a.js: this build has no grammar for JavaScript\n"
    done = without(here, "import _belljar_code; print(set(_belljar_code.languages().values()))")
    assert done.stdout == "{False}\n"


def test_programs_use_it(who, code):
    text = ("from api import filesystem as fs, code_analysis as ca\nfs.write_file('a.js', 'const f = (a) => g(a);')\n"
            "fs.write_file('deep.go', '[{' * 20000)\n"
            "print(ca.find_functions('a.js')[0]['name'], ca.find_functions('deep.go'), ca.get_function_calls('a.js')[0]['callee'])")  # fmt: skip
    for profile in ("standard", "open"):
        assert who.run(text, profile=profile).json["stdout"] == "f [] g\n"
