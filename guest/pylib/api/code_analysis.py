"""What is defined, imported and called in source files: names and places, never the source.

Every function takes a file, or a glob for many files; then each entry says its `file`. Lines count from 1, both ends
included, columns from 0 in bytes. A file that is no Python gives nothing for itself and stops nothing.
"""
import ast as _ast
import inspect as _inspect
import os as _os
import re as _re
import sys as _sys

import _belljar_code

from api import _text
from api.filesystem import _files

__all__ = ["find_functions", "find_classes", "extract_imports", "get_function_calls", "analyze_dependencies", "find_unused_imports"]

SIZE_MAX = 8 << 20

_MANY = _re.compile(r"[*?\[]")


def _source(path):
    """UTF-8; None for what is too large or binary."""
    text = _text.Text(path).text
    return None if len(text) > SIZE_MAX or "\0" in text[:8192] else text.encode("utf-8", "surrogateescape")


def _outline(path, **wishes):
    """None for what is no Python."""
    source = _source(path)
    found = _belljar_code.outline(source, **wishes) if source is not None else None
    return None if found is None or found["error"] else found


def _each(path, **wishes):
    """(file, outline) of every file, and whether there may be several."""
    for name in _files(path):
        try:
            found = _outline(name, **wishes)
        except (OSError, ValueError):
            continue
        if found:
            yield name, found


def _is_many(path):
    return bool(_MANY.search(str(path)))


def _matcher(pattern, regex):
    if pattern is None:
        return lambda name: True
    if regex:
        return _re.compile(pattern).search
    return lambda name: pattern in name


def _docstring(source):
    """The first hundred characters of what the literal says."""
    if not source:
        return None
    try:
        text = _ast.literal_eval(f"({source})")
    except (ValueError, SyntaxError, MemoryError):
        return None
    return _inspect.cleandoc(text)[:100]


def _list(path, entries, limit, count_only):
    """Entries are (file, dictionary)."""
    if count_only:
        return sum(1 for _ in entries)
    many, result = _is_many(path), []
    for name, entry in entries:
        if limit is not None and len(result) >= limit:
            break
        result.append({**entry, "file": name} if many else entry)
    return result


def find_functions(file_path, pattern=None, regex=False, limit=None, count_only=False):
    """Functions and methods, nested ones too, whose name holds `pattern` (or matches it, with regex).

    [{name, qualname, kind, start_line, end_line, col, args, params, decorators, decorator_line, docstring, is_async, returns,
    complexity}]; kind is function, method or async.
    """
    matches = _matcher(pattern, regex)

    def entries():
        for name, found in _each(file_path, docstrings=True):
            for f in found["functions"]:
                if matches(f["name"]):
                    yield name, {**f, "args": [p["name"] for p in f["params"]], "is_async": f["kind"] == "async",
                                 "docstring": _docstring(f["docstring"])}  # fmt: skip

    return _list(file_path, entries(), limit, count_only)


def find_classes(file_path, pattern=None, regex=False, limit=None, count_only=False):
    """Classes: [{name, qualname, start_line, end_line, col, bases, methods, decorators, decorator_line, docstring}]"""
    matches = _matcher(pattern, regex)

    def entries():
        for name, found in _each(file_path, docstrings=True):
            for c in found["classes"]:
                if matches(c["name"]):
                    yield name, {**c, "docstring": _docstring(c["docstring"])}

    return _list(file_path, entries(), limit, count_only)


def _import_words(i):
    alias = f" as {i['alias']}" if i["alias"] else ""
    if i["name"] is None:
        return "imports", i["module"] + alias
    return "from_imports", f"from {'.' * i['level']}{i['module']} import {i['name']}{alias}"


def extract_imports(file_path, limit=None):
    """{imports: ["x as y"], from_imports: ["from m import n"], details: [{module, name, alias, level, line, scope, in_try,
    type_checking, star}]}; of many files a list of these, each with its `file`."""
    results = []
    for name, found in _each(file_path):
        result = {"imports": [], "from_imports": [], "details": found["imports"]}
        for i in found["imports"]:
            kind, words = _import_words(i)
            result[kind].append(words)
        results.append((name, result))
    if _is_many(file_path):
        return _list(file_path, results, limit, False)
    return results[0][1] if results else {"imports": [], "from_imports": [], "details": []}


def get_function_calls(file_path, function_name=None, limit=None, count_only=False):
    """Where a function is called, plainly (f()) or as an attribute (x.f()); without a name, every call.

    [{line, col, callee, context, nargs, kwargs}]; context is the function or class around it, or <module>.
    """

    def entries():
        for name, found in _each(file_path, calls=True):
            for c in found["calls"]:
                if function_name is None or c["callee"] == function_name or c["callee"].endswith("." + function_name):
                    yield name, {"line": c["line"], "col": c["col"], "callee": c["callee"], "context": c["in_function"] or "<module>",
                                 "nargs": c["nargs"], "kwargs": c["kwargs"]}  # fmt: skip

    return _list(file_path, entries(), limit, count_only)


def _kinds_of(imports):
    kinds = {"stdlib": set(), "third_party": set(), "local": set()}
    for i in imports:
        top = i["module"].partition(".")[0]
        kinds["local" if i["level"] else "stdlib" if top in _sys.stdlib_module_names else "third_party"].add(top or ".")
    return {kind: sorted(names) for kind, names in kinds.items()}


def _dependencies(found):
    worst = max(found["functions"], key=lambda f: f["complexity"], default=None)
    count = len(found["functions"])
    return {
        "imports": _kinds_of(found["imports"]),
        "functions": count,
        "classes": len(found["classes"]),
        "lines": found["lines"],
        "code_lines": found["code_lines"],
        "comment_lines": found["comment_lines"],
        "blank_lines": found["blank_lines"],
        "complexity": found["branches"],
        "avg_complexity_per_function": round(found["branches"] / count, 2) if count else 0,
        "max_complexity": {"name": worst["qualname"], "value": worst["complexity"], "line": worst["start_line"]} if worst else None,
    }


def analyze_dependencies(file_path, limit=None):
    """How large and how entangled a file is: {imports: {stdlib, third_party, local}, functions, classes, lines, code_lines,
    comment_lines, blank_lines, complexity, avg_complexity_per_function, max_complexity}.

    complexity counts if, for, while, try and except. Of many files a list, each with its `file`.
    """
    if _is_many(file_path):
        return _list(file_path, ((name, _dependencies(found)) for name, found in _each(file_path)), limit, False)
    text = _text.Text(file_path).text
    found = _outline(file_path)
    return _dependencies(found) if found else {"error": "the file is no Python", "lines": _text.count_lines(text)}


def _unused(path):
    source = _source(path)
    found = _belljar_code.unused_imports(source) if source is not None else None
    for module, name, binding, level, line, is_global in found or ():
        full = "." * level + module
        is_init = is_global and _os.path.basename(path) == "__init__.py"
        yield {"name": full if name is None else f"{full}{'' if full.endswith('.') else '.'}{name}", "binding": binding,
               "module": full, "line": line, "removable": not is_init,
               "reason": "nothing in the package's own file uses it, others may" if is_init else "nothing uses it"}  # fmt: skip


def find_unused_imports(file_path, details=False, limit=None, count_only=False):
    """Names that are imported and never used, sorted; what __all__ names, `import x as x` and `from x import *` are not told.

    With details, or of many files: [{name, binding, module, line, removable, reason}].
    """
    entries = []
    for path in _files(file_path):
        try:
            entries += [(path, entry) for entry in _unused(path)]
        except (OSError, ValueError):
            continue
    if details or count_only or _is_many(file_path):
        return _list(file_path, entries, limit, count_only)
    return sorted({entry["binding"] for _, entry in entries})[:limit]
