"""Names in _belljar_code: scopes against CPython's `symtable`, unused imports against pyflakes, over the whole library."""
import ast
import collections
import glob
import io
import os
import symtable
import sys
import tokenize
import unicodedata
import warnings

import pytest
from pyflakes import checker, messages

import library

LIBRARY = os.path.dirname(os.__file__)
PARTS = 8
COMPREHENSIONS = ("listcomp", "genexpr", "setcomp", "dictcomp")


@pytest.fixture(scope="module")
def code():
    return library.load()


def source_of(path):
    """The text as UTF-8 and as it is; None for what is no Python."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
            symtable.symtable(data, path, "exec")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding).encode(), tree
    except (SyntaxError, ValueError, RecursionError):
        return None


def is_private(name):
    """symtable shows the mangled names of classes' private parts."""
    return "__" in name and name.startswith("_") and not name.endswith("__")


def truth(table, scopes, declared):
    kind, name, bound = table.get_type(), table.get_name(), set()
    for s in table.get_symbols():
        if is_private(s.get_name()) or s.get_name() in (".0", "__class__"):
            continue
        if s.is_assigned() or s.is_parameter() or s.is_imported() or s.is_annotated() or s.is_namespace():
            if kind == "module" or not (s.is_declared_global() or s.is_nonlocal()):
                bound.add(s.get_name())
            elif s.is_declared_global():
                declared.add(s.get_name())
    scopes.append(("inner" if name in COMPREHENSIONS + ("lambda",) else kind, name if kind != "module" else None, frozenset(bound)))
    for child in table.get_children():
        truth(child, scopes, declared)


def names_of(bound):
    return frozenset(unicodedata.normalize("NFKC", n) for n in bound if not is_private(n) and n != "__class__")


def scopes_differ(code, source):
    theirs, declared = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth(symtable.symtable(source.decode(), "x", "exec"), theirs, declared)
    theirs[0] = theirs[0][:2] + (theirs[0][2] | declared,)
    theirs = [(kind, None if kind == "inner" else name, bound) for kind, name, bound in theirs]
    ours = []
    for kind, name, _, bound, _ in code.scopes(source):
        inner = kind in ("lambda", "comprehension") or name in COMPREHENSIONS
        ours.append(("inner" if inner else kind, None if inner else name, names_of(bound)))
    if sys.version_info >= (3, 12):  # symtable merges most comprehensions with the scope around them: only names are left to compare
        # It then forgets what `:=` binds there.
        theirs.append(("inner", None, names_of(n.target.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.NamedExpr))))
        ours, theirs = ([frozenset().union(*(bound for _, _, bound in scopes))] for scopes in (ours, theirs))
    return collections.Counter(ours) - collections.Counter(theirs), collections.Counter(theirs) - collections.Counter(ours)


@pytest.mark.parametrize("part", range(PARTS))
def test_scopes_bind_what_symtable_says(code, part):
    count = 0
    for path in sorted(glob.glob(LIBRARY + "/**/*.py", recursive=True))[part::PARTS]:
        read = source_of(path)
        if read and b"coding" not in read[0][:200]:
            count += 1
            ours, theirs = scopes_differ(code, read[0])
            assert not ours and not theirs, path
    assert count > 50


def unused_of(source, path, tree):
    for m in checker.Checker(tree, path).messages:
        if isinstance(m, messages.UnusedImport):
            yield m.lineno, m.message_args[0]


def told(code, source):
    for module, name, binding, level, line, _ in code.unused_imports(source):
        full = "." * level + module
        if name is None:
            alias = binding if binding not in (module.partition(".")[0] if "." in module else module, module.rpartition(".")[2]) else None
        else:
            full, alias = f"{full}{'.' if module else ''}{name}", binding if binding != name else None
        yield line, full + (f" as {alias}" if alias else "")


def is_excepted(name):
    """Differences between pyflakes and ruff: only pyflakes reports star imports; `from __future__ import x` does not count as an import."""
    return name.endswith(".*") or name.startswith("from ") or name.startswith("__future__")


@pytest.mark.parametrize("part", range(PARTS))
def test_unused_imports_are_those_of_pyflakes(code, part):
    found = 0
    for path in sorted(glob.glob(LIBRARY + "/**/*.py", recursive=True))[part::PARTS]:
        read = source_of(path)
        if not read or len(read[0]) > 400_000:
            continue
        theirs = {u for u in unused_of(read[0], path, read[1]) if not is_excepted(u[1])}
        assert set(told(code, read[0])) == theirs, path
        found += len(theirs)
    assert found > 0


SCOPES = {
    "targets": "a, (b, *c) = d.e, f[g] = h = i\nj: k = l\nm: n\n(o): p\n",
    "loops": "for a, b[c] in d: e\nfor (f, [g]) in h: pass\nasync def i():\n    async for j in k: l\n",
    "with": "with a as b, c() as (d, e), f as g.h: pass\nwith (i as j, k as l,): pass\n",
    "comprehensions": "x = [a for b in c for d in e if (f := d)]\ny = {g: h for g, h in i}\nz = lambda: (j for j in [k for k in l])\n",
    "lambdas": "f = lambda a, b=lambda c: d, *e, g=h, **i: [j for j in (a, b)]\nm = {lambda: n: o}\n",
    "functions": "def f(a, b: c = d, *e: g, h=i, **j) -> k:\n    global l, m\n    l = 1\n    def n():\n        nonlocal a\n        a = o\n",
    "classes": "class A(B, metaclass=C):\n    d: e = f\n    def g(self): return d\n    h = [i for i in d]\n",
    "handlers": "try: a\nexcept (B, C) as d: e\ntry: f\nexcept* g as h: i\n",
    "match": "match a:\n    case B(c=d, e=[f, *g]) if h: i\n    case {'j': k, **l}: m\n    case n.o | p.q: r\n    case (s as t): u\n    case _: v\n",
    "imports": "import a.b, c.d as e\nfrom . import f as g, h\nfrom i import (j, k as l,)\n",
    "del": "import a\ndel b, (c, d), e.f, g[h]\n",
    "fields": "x = f'{a!r:{b}} {[c for c in d]} {(lambda e: e)(1)}'\n",
    "one line": "class A: a = 1; b = 2\ndef f(): c = 1; d = c\nif e: g = 1\nh = 2\n",
    "semicolon": "def f(): pass;\nx = 1\n",
    "decorators": "@a.b(c=d)\n@e\ndef f(): pass\n@g\nclass H: pass\n",
}


@pytest.mark.parametrize("name", SCOPES)
def test_scopes_where_it_is_hard(code, name):
    ast.parse(SCOPES[name])
    assert scopes_differ(code, SCOPES[name].encode()) == ({}, {})


UNUSED = {
    "import a\nimport b.c\nimport d as e\nfrom f import g, h as i\n": ["a", "b", "e", "g", "i"],
    "import a\na.b\n": [],
    "import a\ndef f(): return a\n": [],
    "import a\ndef f():\n    a = 1\n    return a\n": ["a"],
    "def f():\n    import a\n": ["a"],
    "class A:\n    import a\n": [],
    "from a import b\n__all__ = ['b']\n": [],
    "from a import b, c\n__all__ = ['b']\n__all__ += ['c']\n": [],
    "from __future__ import annotations\nfrom a import *\nfrom b import c as c\n": [],
    "try:\n    import a\nexcept ImportError:\n    a = None\n": [],
    "import a\nx: 'a.B' = 1\n": [],
    "from typing import Literal\nimport a\nx: Literal['a'] = 1\n": ["a"],
    "from typing import List, cast\nimport a, b\nX = List['a.B']\ncast('b', 1)\n": [],
    "import a\nx = 'a'\n# a\n": ["a"],
    "import a\nx = f'{a}'\n": [],
    "import a\nf(a=1)\nx.a\n": ["a"],
    "import a\n[a for a in b]\n": ["a"],
    "import a\n[x for x in a]\n": [],
    "import a\ndel a\n": [],
    "def f():\n    global a\n    import a\n": [],
    "import a\na = a.b\n": [],
    "class A:\n    import a\n    a = a\nimport b\nclass B:\n    b = b\n": [],
    "x = (": None,
}


@pytest.mark.parametrize("source", UNUSED)
def test_unused_imports(code, source):
    found = code.unused_imports(source.encode())
    assert (None if found is None else [f[2] for f in found]) == UNUSED[source]


def test_every_cut_of_a_file_ends(code):
    source = "\n".join(SCOPES.values()).encode()
    for end in range(len(source)):
        for piece in (source[:end], source[end:]):
            code.scopes(piece)
            code.unused_imports(piece)
            code.occurrences(piece, "a", "b", True)


def test_names_in_numbers(code):
    source = "".join(f"import m{i}\nx{i} = m{i}\n" for i in range(20_000)).encode()
    assert code.unused_imports(source) == []
    assert code.unused_imports(source + b"import more\n")[0][2] == "more"
