"""Finds definitions, imports and calls in source files: names and places, never the source.

Every function takes a file, a directory, or a glob for many files; then each entry has its `file`. Lines count from 1,
both ends included, columns from 0 in bytes. JavaScript, TypeScript, C, C++, Go, Rust, Java, Bash and JSON are known by
the ends of file names or the first line; their entries have `language`, and `precision: "syntactic"`: there are no
types and scopes. A file that cannot be read, or is in another language, is skipped (a single named file that does not
exist raises FileNotFoundError); report=True lists skipped files: {matches, files_scanned, skipped: [{file, reason}],
skipped_count, elapsed_ms}.
"""
import ast as _ast
import errno as _errno
import inspect as _inspect
import os as _os
import re as _re
import sys as _sys
import time as _time
import warnings as _warnings

import _belljar_code

from api import _parameters, _progress, _text
from api.filesystem import _files

__all__ = ["find_functions", "find_classes", "extract_imports", "get_function_calls", "analyze_dependencies", "find_unused_imports"]

SIZE_MAX = 8 << 20
SKIPPED_MAX = 100

_NO_GRAMMAR = "this build has no grammar for "
_PYTHON_ONLY = "unused imports are found in Python only"

_MANY = _re.compile(r"[*?\[]")


def _source(path):
    """UTF-8, of a file that is something else."""
    text = _text.Text(path).text
    if len(text) > SIZE_MAX or "\0" in text[:8192]:
        raise ValueError("too large" if len(text) > SIZE_MAX else "binary")
    return text.encode("utf-8", "surrogateescape")


def _is_many(path):
    """A list of paths, too."""
    if isinstance(path, (list, tuple, set)):
        return True
    return bool(_MANY.search(_os.fspath(path))) or _os.path.isdir(path)


def _paths(path):
    if isinstance(path, (list, tuple, set)):
        return list(dict.fromkeys(one for each in path for one in (_paths(each) or [_os.fspath(each)])))
    return _files(_os.path.join(path, "**/*.py") if _os.path.isdir(path) else path)


def _docstring(source):
    """The first hundred characters of what the literal says, where that is not plain."""
    try:
        text = _ast.literal_eval(f"({source})")
    except (ValueError, SyntaxError, MemoryError):
        return None
    return _inspect.cleandoc(text)[:100]


class MissingGrammar(ValueError):
    """A file is in a language that this build of Belljar cannot read."""


def _tell_missing(skipped, has_found):
    """Files whose language was left out of the build are an error if there is nothing else, and else a warning."""
    missing = [(name, why) for name, why in skipped if why.startswith(_NO_GRAMMAR)]
    if not missing:
        return
    name, why = missing[0]
    words = (f"{name}: {why}{f', and {len(missing) - 1} more files' if len(missing) > 1 else ''}\nhint: "
             "Belljar has to be built where npm can fetch tree-sitter's grammars (`meson configure -Dtrees=enabled`)")  # fmt: skip
    if not has_found:
        raise MissingGrammar(words)
    _warnings.warn(words, stacklevel=4)


def _tell_foreign(path, skipped):
    """One file that was named and is in a language that the question is not for: nothing found would be a lie."""
    if skipped and skipped[0][1] == _PYTHON_ONLY and not _is_many(path):
        raise ValueError(f"{skipped[0][0]}: {_PYTHON_ONLY}")


def _matcher(pattern, regex):
    """None: a part of the name. What cannot be a part of any name can only be meant as an expression."""
    if pattern is None or (not regex and _re.fullmatch(r"\w*", pattern)):
        return None
    try:
        return _re.compile(pattern).search
    except _re.error as error:
        raise ValueError(f"pattern {pattern!r} is not a regular expression: {error}") from None


def _scan(path, what, pattern=None, regex=None, limit=None, count_only=False, report=False, finish=None):
    """The entries of all files, or their number. regex None: the pattern is what it is. `finish` gives entries their final form."""
    started = _time.monotonic()
    paths = _paths(path)
    if not paths and not _is_many(path):  # one file that was named, and is not there
        if not report:
            raise FileNotFoundError(_errno.ENOENT, _os.strerror(_errno.ENOENT), _os.fspath(path))
        paths = [_os.fspath(path)]
    matches = None if regex is None else _matcher(pattern, regex)
    found, skipped, seen = _belljar_code.scan(
        paths, what, None if matches else pattern, matches, limit, count_only, with_file=_is_many(path), decode=_source,
        say=_docstring, progress=_progress.Progress(f"looking for {what}").at)  # fmt: skip
    if not report:
        _tell_missing(skipped, len(skipped) < seen)
        _tell_foreign(path, skipped)
    if finish and not count_only:
        found = finish(found)
    if not report:
        return found
    return {"matches": found, "files_scanned": seen, "skipped": [{"file": name, "reason": why} for name, why in skipped[:SKIPPED_MAX]],
            "skipped_count": len(skipped), "elapsed_ms": round((_time.monotonic() - started) * 1000)}  # fmt: skip


def find_functions(file_path, pattern=None, regex=False, limit=None, count_only=False, report=False):
    """Finds functions and methods, also nested ones, whose name contains `pattern`; with regex=True, or if it cannot be
    part of a name, `pattern` is a regular expression.

    [{name, qualname, kind, start_line, end_line, col, args, params, decorators, decorator_line, docstring, is_async, returns,
    complexity}]; kind is function, method or async.

    >>> find_functions("src/**/*.py", pattern="test_", limit=20)
    """
    return _scan(file_path, "functions", pattern, regex, limit, count_only, report)


def find_classes(file_path, pattern=None, regex=False, limit=None, count_only=False, report=False):
    """Classes: [{name, qualname, start_line, end_line, col, bases, methods, decorators, decorator_line, docstring}]

    >>> find_classes("models.py")
    """
    return _scan(file_path, "classes", pattern, regex, limit, count_only, report)


def extract_imports(file_path, limit=None, count_only=False, report=False):
    """{imports: ["x as y"], from_imports: ["from m import n"], details: [{module, name, alias, level, line, scope, in_try,
    type_checking, star}]}; for many files a list of these, each with its `file`.

    >>> extract_imports("app.py")["imports"]
    """
    if _is_many(file_path):
        return _scan(file_path, "imports", limit=limit, count_only=count_only, report=report)

    def one(found):
        only = found[0] if found else {"imports": [], "from_imports": [], "details": []}
        return only if limit is None else {key: values[:limit] for key, values in only.items()}

    return _scan(file_path, "imports", count_only=count_only, report=report, finish=one)


def get_function_calls(file_path, function_name=None, limit=None, count_only=False, report=False):
    """Finds calls of a function, plain (f()) or as an attribute (x.f()); without a name, every call.

    [{line, col, callee, context, nargs, kwargs}]; context is the function or class around it, or <module>.

    >>> get_function_calls("src/**/*.py", "connect", count_only=True)
    """
    return _scan(file_path, "calls", function_name, None, limit, count_only, report)


_STANDARD = {"javascript": r"node:", "typescript": r"node:", "tsx": r"node:", "java": r"javax?\.", "rust": r"(std|core|alloc)\b", "go": r"[^./]+(/|$)"}


def _kinds_of(modules, language):
    kinds = {"stdlib": set(), "third_party": set(), "local": set()}
    for level, module in modules:
        if language:
            is_standard = language in _STANDARD and _re.match(_STANDARD[language], module)
            kinds["local" if level else "stdlib" if is_standard else "third_party"].add(module)
            continue
        top = module.partition(".")[0]
        kinds["local" if level else "stdlib" if top in _sys.stdlib_module_names else "third_party"].add(top or ".")
    return {kind: sorted(names) for kind, names in kinds.items()}


def _dependencies(found):
    count = found["functions"]
    result = {
        "imports": _kinds_of(found["modules"], found.get("language")),
        "functions": count,
        "classes": found["classes"],
        "lines": found["lines"],
        "code_lines": found["code_lines"],
        "comment_lines": found["comment_lines"],
        "blank_lines": found["blank_lines"],
        "complexity": found["branches"],
        "avg_complexity_per_function": round(found["branches"] / count, 2) if count else 0,
        "max_complexity": found["worst"],
    }
    return {**result, **{key: found[key] for key in ("language", "precision", "file") if key in found}}


def _mistake(text):
    """The first line that is not Python, or None."""
    try:
        with _warnings.catch_warnings():
            _warnings.simplefilter("ignore")
            _ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None


def analyze_dependencies(file_path, limit=None, report=False):
    """Measures a file and its imports: {imports: {stdlib, third_party, local}, functions, classes, lines, code_lines,
    comment_lines, blank_lines, complexity, avg_complexity_per_function, max_complexity}.

    complexity counts if, for, while, try and except, or their counterparts in other languages. For many files returns a
    list, each with its `file`. A file that is not Python has `error`.

    >>> analyze_dependencies("app.py")["complexity"]
    """
    if _is_many(file_path):
        return _scan(file_path, "figures", limit=limit, report=report, finish=lambda found: [_dependencies(f) for f in found])
    text = _text.Text(file_path).text

    def one(found):
        if not found:
            return {"error": "the file is not valid Python", "lines": _text.count_lines(text)}
        wrong = None if _belljar_code.language(file_path) else _mistake(text)
        return {**_dependencies(found[0]), **({"error": wrong} if wrong else {})}

    return _scan(file_path, "figures", report=report, finish=one)


def find_unused_imports(file_path, details=False, limit=None, count_only=False, report=False):
    """Names that are imported and never used, sorted; without names in __all__, `import x as x` and `from x import *`.

    With details, or for many files: [{name, binding, module, line, removable, reason}].

    >>> find_unused_imports("src/**/*.py", limit=50)
    """
    if details or count_only or _is_many(file_path):
        return _scan(file_path, "unused", limit=limit, count_only=count_only, report=report)
    return _scan(file_path, "unused", report=report, finish=lambda found: sorted({entry["binding"] for entry in found})[:limit])


_parameters.understand(globals())
