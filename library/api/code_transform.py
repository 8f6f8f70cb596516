"""Changes Python files by their meaning, and returns what was changed.

Files stay Python: what would not compile afterwards is not written. Every function that writes takes dry_run and makes
a backup beside the file, unless create_backup is False.
"""
import ast as _ast
import functools as _functools
import io as _io
import os as _os
import re as _re
import tokenize as _tokenize

from api import _edit, _parameters, _progress, _rename, _text
from api import code_analysis as _analysis
from api import filesystem as _filesystem

__all__ = ["rename_identifier", "add_type_hints", "remove_debug_statements", "remove_unused_imports", "convert_to_async", "apply_transformation",
           "batch_refactor", "add_docstrings"]  # fmt: skip

_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
_ERRORS = (OSError, ValueError, SyntaxError, RecursionError, MemoryError)


def _failed(path, error):
    return {"status": "error", "file": str(path), "error": f"{type(error).__name__}: {error}"}


def _told_of_many(path, paths, details, counter, limit):
    """One result for many files: the sum, and what was done or went wrong in which."""
    done = [d for d in details if d.get("modified")]
    failed = [d for d in details if d["status"] == "error"]
    status = "error" if failed and not done else "partial" if failed else "success" if done else "unchanged"
    result = {"status": status if paths else "not_found", "files_scanned": len(paths), "files_modified": len(done)}
    if counter:
        result[counter] = sum(d.get(counter, 0) for d in details)
    if not paths:
        result["message"] = f"nothing matched {path!r} below {_os.getcwd()}"
    return {**result, "details": (failed + done)[:limit]}


def _of_many(counter=None):
    """Lets a function for one file take a directory, a glob or a list, too."""
    def wrap(function):
        @_functools.wraps(function)
        def call(file_path, *args, **kwargs):
            if not _analysis._is_many(file_path) or _os.path.isfile(str(file_path)):
                return function(file_path, *args, **kwargs)
            paths = _analysis._paths(file_path)
            told, details = _progress.Progress(function.__name__, len(paths)), []
            for path in paths:
                told.step()
                details.append(function(path, *args, **kwargs))
            return _told_of_many(file_path, paths, details, counter, kwargs.get("limit", 100))

        call._takes_many = True
        return call

    return wrap


# ---- names ----


def rename_identifier(pattern, old_name, new_name, file_pattern="**/*.py", regex=False, scope="auto", attributes=False, create_backup=True,
                      dry_run=False, partial=False, limit=100):  # fmt: skip
    """Renames a function, class, variable or parameter in all files below `pattern`; strings and comments stay.

    A function or class is followed through imports; namesakes stay. old_name "Cart.total" is a member of that class,
    "shop.tax.total" of that module, "f.x" a parameter of f with its keyword arguments; attributes=True renames every
    x.old_name. getattr(x, "name") and patch("a.b.name") go with the name. If the new name is taken, nothing is written;
    partial=True writes the other files. Other languages (file_pattern="**/*.js") go by
    tokens, without scopes. {status, files_modified, total_replacements, unchanged, message, left: places that stay and
    why, conflicts, skipped, details}; status: success, partial, conflict, unchanged, not_found, error.

    >>> rename_identifier("src", "old_name", "new_name", dry_run=True)
    """
    base = str(pattern)
    if _re.search(r"[*?\[]", base) and not _os.path.exists(base):  # a glob, where a directory is expected
        base, file_pattern = ".", base

    def one(old, new):
        return _rename.rename(base, old, new, file_pattern, scope, attributes, create_backup, dry_run, partial, limit)

    if not regex:
        return one(old_name, new_name)
    expression, names = _re.compile(old_name), set()
    for path in _filesystem._files(_os.path.join(base, file_pattern)):
        try:
            names |= {n for n in _re.findall(r"[^\W\d]\w*", _text.Text(path).text) if expression.fullmatch(n)}
        except (OSError, ValueError):
            continue
    total = {"status": "not_found", "files_modified": 0, "total_replacements": 0, "details": []}
    for name in sorted(names):
        done = one(name, expression.sub(new_name, name))
        total["files_modified"] += done["files_modified"]
        total["total_replacements"] += done["total_replacements"]
        total["details"].append({"name": name, **done})
    worst = [done["status"] for done in total["details"] if done["status"] not in ("success", "unchanged", "not_found")]
    total["status"] = worst[-1] if worst else "success" if total["total_replacements"] else "unchanged" if names else "not_found"
    return total


# ---- debugging ----


def _dotted(node):
    if isinstance(node, _ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, _ast.Name) else ""


def _debug_kind(node):
    if isinstance(node, _ast.Import) and [a.name for a in node.names] == ["pdb"] and not node.names[0].asname:
        return "import pdb"
    if not isinstance(node, _ast.Expr) or not isinstance(node.value, _ast.Call):
        return None
    name = _dotted(node.value.func)
    if name == "print":
        return "print_to_file" if any(k.arg in ("file", None) for k in node.value.keywords) else "print"
    return {"pdb.set_trace": "pdb", "breakpoint": "breakpoint", "logging.debug": "logging", "logger.debug": "logging"}.get(name)


def _blocks(tree):
    for node in _ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield block


def _is_bound(tree, name):
    """Somebody calls something of their own so."""
    return any((isinstance(n, _ast.Name) and n.id == name and isinstance(n.ctx, _ast.Store)) or
               (isinstance(n, (*_FUNCTIONS, _ast.ClassDef)) and n.name == name) or
               (isinstance(n, _ast.alias) and (n.asname or n.name) == name) or
               (isinstance(n, _ast.arg) and n.arg == name) for n in _ast.walk(tree))  # fmt: skip


def _debug_statements(source, patterns, kinds):
    """[(statement, kind)]"""
    expressions = [_re.compile(p) for p in patterns or ()]
    kinds = {k for k in kinds if k not in ("print", "breakpoint") or not _is_bound(source.tree, k)}
    found = []
    for block in _blocks(source.tree):
        for node in block:
            kind = _debug_kind(node)
            if patterns is not None:
                text = source.data[source.start(node) : source.end(node)].decode()
                simple = not hasattr(node, "body") and not isinstance(node, _ast.Match)
                kind = next((e.pattern for e in expressions if simple and e.match(text)), None)
            elif kind == "import pdb":
                kind = kind if "pdb" in kinds else None
            elif kind not in kinds:
                kind = None
            if kind:
                found.append((node, kind))
    calls = {id(n.value.func.value) for n, k in found if k == "pdb"}
    used = any(isinstance(n, _ast.Name) and n.id == "pdb" and id(n) not in calls for n in _ast.walk(source.tree))
    return [(n, k) for n, k in found if k != "import pdb" or not used]


def _remove(source, block, gone):
    """Takes statements out of their block; one that would be empty keeps a `pass`."""
    for index, node in enumerate(block):
        if node not in gone:
            continue
        start, end = source.start(node), source.end(node)
        before = source.data[source.line_start(start) : start]
        behind = source.data[end : source.line_stop(end)].lstrip(b" \t\f;")
        after = block[index + 1] if index + 1 < len(block) else None
        if len(gone) == len(block) and index == 0:
            source.replace(start, end, "pass")
        elif not before.strip() and (not behind.strip() or behind.startswith(b"#")):
            source.replace(source.line_start(start), source.line_stop(end), "")
        elif after is not None and after.lineno == node.end_lineno:
            source.replace(start, source.start(after), "")
        else:
            source.replace(start, end, "pass")


@_of_many("lines_removed")
def remove_debug_statements(file_path, statements=None, kinds=("print", "pdb", "breakpoint"), create_backup=True, dry_run=False,
                            limit=100):  # fmt: skip
    """Removes whole statements: print(...) unless it has file=, pdb, breakpoint(); "logging" and "print_to_file" on request.

    With `statements`, the simple statements that match one of these expressions. {status, file, lines_removed, removed:
    [{line, kind}]}

    >>> remove_debug_statements("app.py", kinds=("print",))
    """
    try:
        source = _edit.Source(file_path)
        found = _debug_statements(source, statements, set(kinds))
        gone = {n for n, _ in found}
        for block in _blocks(source.tree):
            _remove(source, block, gone & set(block))
        done = source.save(create_backup, dry_run)
    except _ERRORS as error:
        return _failed(file_path, error)
    return {"status": "success", "file": str(file_path), "lines_removed": sum(n.end_lineno - n.lineno + 1 for n in gone),
            "removed": [{"line": n.lineno, "kind": k} for n, k in sorted(found, key=lambda f: f[0].lineno)][:limit], **done}  # fmt: skip


# ---- unused imports ----


def _imports(tree):
    """(import statement, whether a `try` asks if it can be imported)"""
    tried = {id(n) for t in _ast.walk(tree) if isinstance(t, _ast.Try) for part in (*t.body, *t.handlers, *t.orelse) for n in _ast.walk(part)}
    return [(n, id(n) in tried) for n in _ast.walk(tree) if isinstance(n, (_ast.Import, _ast.ImportFrom))]


def _why_kept(source, statement, is_tried, found):
    """The reason to keep an import, or None."""
    if not found["removable"]:
        return found["reason"]
    if is_tried:
        return "in a try, which may ask whether it can be imported"
    text = source.data[source.line_start(source.start(statement)) : source.line_stop(source.end(statement))]
    return "a comment speaks of it" if _re.search(rb"#.*(noqa|pylint)", text) else None


def _cut_names(source, statement, gone):
    """Takes some names of an import, not all; the commas and brackets stay right."""
    names = statement.names
    for index, alias in enumerate(names):
        if alias not in gone:
            continue
        if any(later not in gone for later in names[index + 1 :]):
            source.replace(source.start(alias), source.start(names[index + 1]), "")
        else:
            source.replace(source.end(names[index - 1]), source.end(alias), "")


def _unused(source, entries):
    """{statement: the names to be removed}, and the places that stay: [{name, line, reason}]"""
    known = {(e["binding"], e["line"]): e for e in entries}
    gone, left = {}, []
    for statement, is_tried in _imports(source.tree):
        for alias in statement.names:
            binding = alias.asname or (alias.name.partition(".")[0] if isinstance(statement, _ast.Import) else alias.name)
            found = known.get((binding, alias.lineno)) or known.get((binding, statement.lineno))
            why = _why_kept(source, statement, is_tried, found) if found else None
            if why:
                left.append({"name": found["name"], "line": alias.lineno, "reason": why})
            elif found:
                gone.setdefault(statement, []).append(alias)
    return gone, left


@_of_many("imports_removed")
def remove_unused_imports(file_path, create_backup=True, dry_run=False, limit=100):
    """Removes imports that nothing in the file uses; those in a `try` or with a `# noqa` stay, as do those of a package's __init__.py.

    {status, file, imports_removed, removed: [{name, line}], left: [{name, line, reason}]}

    >>> remove_unused_imports("src/**/*.py", dry_run=True)
    """
    try:
        source = _edit.Source(file_path)
        gone, left = _unused(source, _analysis.find_unused_imports(file_path, details=True))
        whole = {statement for statement, names in gone.items() if len(names) == len(statement.names)}
        for statement in gone.keys() - whole:
            _cut_names(source, statement, gone[statement])
        for block in _blocks(source.tree):
            _remove(source, block, whole & set(block))
        done = source.save(create_backup, dry_run)
    except _ERRORS as error:
        return _failed(file_path, error)
    removed = sorted(({"name": a.name, "line": a.lineno} for names in gone.values() for a in names), key=lambda r: r["line"])
    result = {"status": "success", "file": str(file_path), "imports_removed": len(removed), "removed": removed[:limit], **done}
    return {**result, "left": left[:limit]} if left else result


# ---- docstrings ----


def _arguments(node):
    a = node.args
    found = [x.arg for x in a.posonlyargs + a.args]
    found += ["*" + a.vararg.arg] if a.vararg else []
    found += [x.arg for x in a.kwonlyargs] + (["**" + a.kwarg.arg] if a.kwarg else [])
    return [name for name in found if name not in ("self", "cls")]


def _own(node):
    """Nodes of a function, without those of functions in it."""
    todo = list(node.body)
    while todo:
        at = todo.pop()
        yield at
        if not isinstance(at, (*_FUNCTIONS, _ast.Lambda, _ast.ClassDef)):
            todo += _ast.iter_child_nodes(at)


def _has_value(node):
    return any(isinstance(n, _ast.Return) and n.value is not None for n in _own(node))


def _docstring(node, style):
    words = node.name.strip("_").replace("_", " ") or node.name
    lines = [words[:1].upper() + words[1:] + "."]
    args = _arguments(node)
    if style == "sphinx":
        more = [f":param {a.lstrip('*')}: the {a.lstrip('*')}" for a in args] + ([":return: the result"] if _has_value(node) else [])
        return lines + ([""] + more if more else [])
    numpy = style == "numpy"
    if args:
        lines += ["", *(["Parameters", "----------"] if numpy else ["Args:"])]
        for a in args:
            lines += [a, f"    The {a.lstrip('*')}."] if numpy else [f"    {a}: The {a.lstrip('*')}."]
    if _has_value(node):
        lines += ["", *(["Returns", "-------", "The result."] if numpy else ["Returns:", "    The result."])]
    return lines


def _insert_docstring(source, node, lines):
    first = node.body[0]
    at = source.start(first)
    if getattr(first, "decorator_list", None):
        at = source.data.rindex(b"@", 0, source.start(first.decorator_list[0]))
    is_inline = source.data[source.line_start(at) : at].strip() != b""
    end = source.file.line_end
    indent = source.indent(source.start(node)) + "    " if is_inline else source.indent(at)
    text = f"{end}{indent}".join(lines).replace(f"{end}{indent}{end}", f"{end}{end}")
    text = f'"""{text}{end + indent if len(lines) > 1 else ""}"""{end}{indent}'
    if is_inline:
        start = len(source.data[:at].rstrip(b" \t"))
        source.replace(start, at, f"{end}{indent}{text}")
    else:
        source.replace(at, at, text)


@_of_many("docstrings_added")
def add_docstrings(file_path, style="google", create_backup=True, dry_run=False, limit=100):
    """Gives every function that has none a docstring with its arguments: google, numpy or sphinx.

    {status, file, docstrings_added, functions, added: [{name, line}]}

    >>> add_docstrings("app.py", style="numpy")
    """
    if style not in ("google", "numpy", "sphinx"):
        raise ValueError(f"style {style!r}: google, numpy or sphinx")
    try:
        source = _edit.Source(file_path)
        missing = [n for n in _ast.walk(source.tree) if isinstance(n, _FUNCTIONS) and _ast.get_docstring(n, clean=False) is None]
        for node in missing:
            _insert_docstring(source, node, _docstring(node, style))
        done = source.save(create_backup, dry_run)
    except _ERRORS as error:
        return _failed(file_path, error)
    result = {"status": "success", "file": str(file_path), "docstrings_added": len(missing), "functions": [n.name for n in missing][:limit],
              "added": [{"name": n.name, "line": n.lineno} for n in missing][:limit], **done}  # fmt: skip
    return result if missing else {**result, "message": "every function has a docstring"}


# ---- functions ----


def _functions_called(tree, name):
    """By name or by dotted path."""
    def visit(node, path):
        for child in _ast.iter_child_nodes(node):
            inner = path
            if isinstance(child, (*_FUNCTIONS, _ast.ClassDef)):
                inner = f"{path}.{child.name}" if path else child.name
                if isinstance(child, _FUNCTIONS) and (name is None or name in (child.name, inner)):
                    yield child
            yield from visit(child, inner)

    return list(visit(tree, ""))


@_of_many()
def convert_to_async(file_path, function_name, create_backup=True, dry_run=False, limit=100):
    """Makes `def` an `async def`. {status, file, message, callers: lines with calls that must now be awaited}

    >>> convert_to_async("client.py", "fetch")["callers"]
    """
    try:
        source = _edit.Source(file_path)
        found = _functions_called(source.tree, function_name)
        if not found:
            return {"status": "not_found", "file": str(file_path), "message": f"there is no function {function_name}"}
        plain = [n for n in found if isinstance(n, _ast.FunctionDef)]
        for node in plain:
            source.replace(source.start(node), source.start(node), "async ")
        done = source.save(create_backup, dry_run)
    except _ERRORS as error:
        return _failed(file_path, error)
    last = function_name.rpartition(".")[2]
    callers = [n.lineno for n in _ast.walk(source.tree) if isinstance(n, _ast.Call) and _dotted(n.func).rpartition(".")[2] == last]
    return {"status": "success", "file": str(file_path), "callers": sorted(callers)[:limit], **done,
            "message": f"{function_name} is async now" if plain else f"{function_name} was async already"}  # fmt: skip


def _literal_type(node):
    value = node.value if isinstance(node, _ast.Constant) else None
    return type(value).__name__ if type(value) in (bool, int, float, str) else None


def _is_stub(node):
    """Nothing but a docstring, pass, ... or raise: what it gives back is for others to say."""
    return all(isinstance(n, (_ast.Pass, _ast.Raise)) or (isinstance(n, _ast.Expr) and isinstance(n.value, _ast.Constant)) for n in node.body)


def _params_end(source, node):
    """Behind the bracket that closes the parameters."""
    start, depth = source.start(node), 0
    text = source.data[start:].decode()
    lines = _text.split(text)
    for token in _tokenize.generate_tokens(_io.StringIO(text, newline="").readline):
        if token.type == _tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == _tokenize.OP and token.string in ")]}":
            depth -= 1
            if depth == 0:
                row, col = token.end
                return start + len("".join(lines[: row - 1]).encode()) + len(lines[row - 1][:col].encode())
    raise ValueError("the end of a function was not found")


def _hint(source, node):
    """The hints added to one function."""
    added, a = [], node.args
    usual = a.posonlyargs + a.args
    pairs = list(zip(usual[len(usual) - len(a.defaults) :], a.defaults)) + [p for p in zip(a.kwonlyargs, a.kw_defaults) if p[1]]
    for arg, default in pairs:
        kind = _literal_type(default)
        if arg.annotation is None and kind:
            start, end = source.end(arg), source.start(default)
            between = source.data[start:end].strip() == b"="
            source.replace(start, end if between else start, f": {kind} = " if between else f": {kind}")
            added.append(arg.arg)
    gives = any(isinstance(n, (_ast.Yield, _ast.YieldFrom)) for n in _own(node)) or _has_value(node)
    if node.returns is None and not gives and not _is_stub(node):
        end = _params_end(source, node)
        source.replace(end, end, " -> None")
        added.append("return")
    return added


@_of_many("hints_added")
def add_type_hints(file_path, function_name=None, create_backup=True, dry_run=False, limit=100):
    """Annotates what is certain: parameters whose default is a bool, int, float or str, and `-> None` where nothing is returned.

    {status, file, hints_added, functions: [{name, line, hints}]}

    >>> add_type_hints("app.py", dry_run=True)
    """
    try:
        source = _edit.Source(file_path)
        found = _functions_called(source.tree, function_name)
        if not found and function_name:
            return {"status": "not_found", "file": str(file_path), "message": f"there is no function {function_name}"}
        functions = [{"name": n.name, "line": n.lineno, "hints": _hint(source, n)} for n in found]
        done = source.save(create_backup, dry_run)
    except _ERRORS as error:
        return _failed(file_path, error)
    functions = [f for f in functions if f["hints"]]
    return {"status": "success", "file": str(file_path), "hints_added": sum(len(f["hints"]) for f in functions), "functions": functions[:limit], **done}


# ---- functions of the caller ----


@_of_many()
def apply_transformation(file_path, transform_fn, create_backup=True, dry_run=False):
    """Passes the text of a file through a function. {status, file, modified, message}

    >>> apply_transformation("app.py", str.expandtabs)
    """
    try:
        file = _text.Text(file_path)
        new = transform_fn(file.text)
        if not isinstance(new, str):
            raise TypeError(f"the function returned {type(new).__name__}, expected the new text")
        done = _edit.put(file, new, create_backup, dry_run)
    except Exception as error:  # noqa: BLE001 - the function is the caller's
        return {**_failed(file_path, error), "modified": False}
    result = {"status": "success", "file": str(file_path), **done}
    return result if done["modified"] else {**result, "message": "the function changed nothing"}


def _refactor(operation):
    given = {key: value for key, value in operation.items() if key != "type"}
    kind = operation.get("type")
    if kind == "rename":
        return rename_identifier(given.pop("pattern", "."), **given)
    if kind == "remove_debug":
        return remove_debug_statements(**given)
    if kind == "search_replace":
        return _filesystem.search_replace(**given)
    if kind == "custom":
        return apply_transformation(**given)
    others = {"add_docstrings": add_docstrings, "add_type_hints": add_type_hints, "convert_to_async": convert_to_async,
              "remove_unused_imports": remove_unused_imports}  # fmt: skip
    if kind in others:
        return others[kind](**given)
    raise ValueError(f"type {kind!r}: rename, remove_debug, search_replace, custom, {', '.join(others)}")


def batch_refactor(operations, dry_run=False):
    """One operation after the other: [{type: rename, remove_debug, search_replace, custom, ..., and its parameters}].

    Returns their results; one that fails has its reason, and the others still run. Each sees the changes of the earlier
    ones; every file is written once, with all changes, at the end.

    >>> batch_refactor([{"type": "rename", "pattern": ".", "old_name": "a", "new_name": "b"}])
    """
    told, results = _progress.Progress("refactoring", len(operations)), []
    with _text.Batch(dry_run) as batch:
        for operation in operations:
            told.step()
            try:
                results.append({"operation": operation.get("type"), **_refactor(operation)})
            except (*_ERRORS, TypeError, AttributeError) as error:
                kind = operation.get("type") if isinstance(operation, dict) else None
                results.append({"status": "error", "operation": kind, "error": f"{type(error).__name__}: {error}"})
    return _filesystem._finish(batch, results)


_parameters.understand(globals())
