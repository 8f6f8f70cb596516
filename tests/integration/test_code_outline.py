"""The outline of Python sources in _belljar_code against CPython's own `ast`, over its whole library: no difference."""
import ast
import collections
import glob
import io
import os
import tokenize
import warnings

import pytest

import library

LIBRARY = os.path.dirname(os.__file__)
PARTS = 8  # of the library, so that two workers share it


@pytest.fixture(scope="module")
def code():
    return library.load()


# --- the oracle ---

def parameters(a):
    groups = (("positional", a.posonlyargs), ("usual", a.args), ("variadic", [a.vararg]), ("keyword", a.kwonlyargs), ("keywords", [a.kwarg]))
    return tuple((p.arg, kind, p.annotation is not None) for kind, group in groups for p in group if p)


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts + [node.id])) if isinstance(node, ast.Name) else "<expr>"


class Truth(ast.NodeVisitor):
    def __init__(self, tree):
        self.functions, self.classes, self.imports, self.calls, self.hidden = [], [], [], [], []
        self.path, self.within, self.is_in_string, self.branches = "", None, False, 0
        self.visit(tree)

    def generic_visit(self, node):
        self.branches += isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.ExceptHandler))
        super().generic_visit(node)

    def definition(self, node):
        name, outer = self.path + node.name, (self.path, self.within)
        common = (node.name, name, node.lineno, node.end_lineno, node.col_offset,
                  ast.get_docstring(node, clean=False) is not None, len(node.decorator_list))  # fmt: skip
        if isinstance(node, ast.ClassDef):
            self.classes.append(common + (len(node.bases),))
        else:
            is_async = isinstance(node, ast.AsyncFunctionDef)
            self.functions.append(common + (is_async, parameters(node.args), node.returns is not None))
        for field, value in ast.iter_fields(node):
            if field == "body":
                self.path, self.within = name + ("." if isinstance(node, ast.ClassDef) else ".<locals>."), name
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
            self.path, self.within = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = definition

    def visit_Import(self, node):
        self.imports += [(a.name, None, a.asname, 0, node.lineno, node.col_offset, self.within) for a in node.names]

    def visit_ImportFrom(self, node):
        self.imports += [(node.module or "", a.name, a.asname, node.level, node.lineno, node.col_offset, self.within) for a in node.names]

    def visit_Call(self, node):
        facts = (dotted(node.func), self.within, len(node.args), len(node.keywords))
        if self.is_in_string:  # where `ast` does not know the place
            self.hidden.append(facts)
        else:
            self.calls.append(facts + (node.lineno, node.col_offset))
        self.generic_visit(node)

    def visit_JoinedStr(self, node):
        before, self.is_in_string = self.is_in_string, True
        self.generic_visit(node)
        self.is_in_string = before


def same(ours, theirs):
    return collections.Counter(ours) == collections.Counter(theirs)


def compare(code, source, tree):
    """Describes the differences."""
    truth, found = Truth(tree), code.outline(source, calls=True)
    common = [[(d["name"], d["qualname"], d["start_line"], d["end_line"], d["col"], d["has_docstring"], len(d["decorators"])) for d in found[kind]]
              for kind in ("functions", "classes")]  # fmt: skip
    functions = [c + (f["kind"] == "async", tuple((p["name"], p["kind"], p["has_annotation"]) for p in f["params"]), f["returns"])
                 for c, f in zip(common[0], found["functions"])]  # fmt: skip
    classes = [c + (len(k["bases"]),) for c, k in zip(common[1], found["classes"])]
    imports = [(i["module"], i["name"], i["alias"], i["level"], i["line"], i["col"], i["scope"]) for i in found["imports"]]
    calls = collections.Counter((c["callee"], c["in_function"], c["nargs"], c["kwargs"], c["line"], c["col"]) for c in found["calls"])
    placed = collections.Counter(truth.calls)
    hidden = collections.Counter(call[:4] for call in (calls - placed).elements())
    checks = {
        "without calls": code.outline(source) == {key: value for key, value in found.items() if key != "calls"},
        "error": found["error"] is None,
        "functions": same(functions, truth.functions),
        "classes": same(classes, truth.classes),
        "imports": same(imports, truth.imports),
        "calls": not placed - calls and hidden == collections.Counter(truth.hidden),
        "branches": found["branches"] == truth.branches,
        "lines": found["lines"] == len(source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines()),
    }
    return [name for name, holds in checks.items() if not holds]


def parse(data):
    """The text as UTF-8 and its tree; None for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return data.decode(encoding).encode(), tree


@pytest.mark.parametrize("part", range(PARTS))
def test_no_difference_over_the_library_of_python(code, part):
    paths = sorted(glob.glob(LIBRARY + "/**/*.py", recursive=True))
    count = 0
    for path in paths[part::PARTS]:
        with open(path, "rb") as file:
            parsed = parse(file.read())
        if parsed:
            count += 1
            assert not compare(code, *parsed), path
    assert count > len(paths) / PARTS / 2


HARD = {
    "decorated": "@a\n@b.c(1)\ndef f(): pass\n",
    "async": "async def f():\n    async for x in y: await g(x)\n    async with a() as b: pass\n",
    "defaults": "def f(a, b=lambda x, y=(1, 2): {x: y}, *c, d: int = 3, **e) -> Dict[str, int]: return a\n",
    "positional": "def f(a, b, /, c, *, d): ...\n",
    "one line": "class A: x = 1; y = 2\ndef f(): 'doc'; return 1\n",
    "docstrings": "def f():\n    # first\n    ('a'\n     'b')\n\ndef g():\n    b'no'\n\ndef h():\n    f'no'\n\ndef i():\n    'no'.x()\n\nclass C:\n    r'''yes'''\n",
    "strings": "x = 'def f(): pass'\ny = '''\ndef g(): pass\n'''\nz = r'\\\\' r'\\''\n",
    "fields": "x = f'{a(1)!r:>{w(2)}} {{no()}} {b(f\"{c(3)}\")} {d[\"k\"](4)=}' f'{e()}' 'g()'\n",
    "fields over lines": "x = f'''{\na(\n1)} {b():{c()}.{d()}f}'''\n",
    "named characters": "x = f'\\N{LATIN SMALL LETTER A}{f()}'\n",
    "calls": "a.b(1)(2)[0](3).c(*d, **e)\n(f)(x)\n(g.h)(y)\n(i or j)(z)\n'%s'.join(k)\n[l](m)\n",
    "arguments": "f(a, b=1, *c, **d)\nf(x for x, y in z)\nf(lambda a, b: a, c)\nf((a := 1), g(b=2),)\n",
    "broken lines": "x = a . \\\n    b (1)\ny = (a\n     # comment\n     .b\n     (2))\n",
    "match": "match (x):\n    case Point(x=0) if f(x): g()\n    case [a.B(), *_]: pass\nmatch (1)\nmatch = case = 3\nmatch[0](1)\n",
    "imports": "import a.b as c, d\nfrom . import (e,\n  f as g,)\nfrom ...h.i import *\ntry: import j\nexcept ImportError: j = None\nif x: from k import l; import m\n",
    "not imports": "raise A from b\ndef f(): yield from g()\n",
    "numbers": "x = 1if a else 2\ny = 0xfor b\nz = 1_0.5e-3j + 1..real + .5\n",
    "operators": "a @= b ** -c // d >> e\nf: int = g(1) if not h(2) else ~i\nprint(*a, **b)\n",
    "tabs and feeds": "if a:\n\tdef f():\n\t\treturn 1\n\f\ndef g(): pass\n",
    "line ends": "def f():\r\n    return 1\r\n\r\nclass A:\r    x = 1\r",
    "no end": "def f():\n    return 1",
    "comments at the end": "def f():\n    return 1\n    # still inside\n# outside\n\nx = 1\n",
    "deep": "x = " + "(" * 90 + "f()" + ")" * 90 + "\n",
    "names": "def ﬁ(): pass\nclass Ä(Ö.Ü): pass\nµ()\n",
    "lambda colon": "if (lambda: x)(): import a\nwhile a[1:2]: import b\nx: int\n",
    "nested": "class A:\n    def f(self):\n        class B:\n            def g(self):\n                def h(): pass\n",
    "backslash first": "if a:\n    b()\n\\\n\nc()\n",
    "except star": "try:\n    f()\nexcept* A as e:\n    g()\nfinally:\n    h()\n",
    "return annotation": "def f() -> (lambda: x)(): return g()\n",
    "empty": "",
    "only comments": "# a\n\n# b\n",
}


@pytest.mark.parametrize("name", HARD)
def test_no_difference_in_what_is_hard(code, name):
    parsed = parse(HARD[name].encode())
    assert parsed, "the example is no Python"
    assert not compare(code, *parsed)


NEWER = {  # than the Python of this system
    "def f[T: int](x: T) -> T: return g(x)\nclass A[T](B): pass\n": (["f"], ["A"], ["g"]),
    "x = f'{a(\"b\")} {c('d')}'\n": ([], [], ["a", "c"]),
}


@pytest.mark.parametrize("source", NEWER)
def test_newer_python(code, source):
    found = code.outline(source.encode(), calls=True)
    assert ([f["name"] for f in found["functions"]], [c["name"] for c in found["classes"]], [c["callee"] for c in found["calls"]]) == NEWER[source]


@pytest.mark.parametrize("source", ["x = 'a", "x = (", "x = ]", "  x\n y\n", "a\n\\", "x = '''", "x = $", "f'{'", "f'{a", "(" * 300, "\x00"])
def test_what_is_no_python_says_why(code, source):
    found = code.outline(source.encode())
    assert isinstance(found["error"], str) and found["error_line"] >= 1


def test_where_an_import_stands(code):
    source = "import a\ntry:\n    import b\nexcept ImportError:\n    import c\nif TYPE_CHECKING:\n    import d\nif typing.TYPE_CHECKING: import e\ndef f():\n    import g\n"
    found = {i["module"]: (i["in_try"], i["type_checking"], i["scope"]) for i in code.outline(source.encode())["imports"]}
    assert found == {"a": (False, False, None), "b": (True, False, None), "c": (True, False, None), "d": (False, True, None),
                     "e": (False, True, None), "g": (False, False, "f")}  # fmt: skip


def test_every_cut_of_a_file_ends(code):
    source = "\n".join(HARD.values()).encode()
    for end in range(0, len(source), 3):
        code.outline(source[:end], calls=True, docstrings=True)
        code.outline(source[end:], calls=True)
