"""Understands calls with another name for a parameter, and answers others with the right call in one line."""
import functools
import inspect

# Names that people write, and what they can mean; the first that the function has is taken.
_PLACES = ("file_path", "pattern", "file_pattern", "source_file", "target_file", "cwd", "files", "url")
_MEANINGS = {
    **dict.fromkeys(("path", "file", "filename", "dir", "directory", "folder", "base", "root", "paths", "glob", "filepath", "src"), _PLACES),
    "old": ("old_name", "search"), "new": ("new_name", "replace"), "old_string": ("search", "old_name"), "new_string": ("replace", "new_name"),
    "query": ("search",), "find": ("search",), "text": ("search", "content", "code"), "replacement": ("replace",), "data": ("content",),
    "name": ("function_name", "old_name", "pattern", "branch_name", "name"), "function": ("function_name",), "start": ("start_line",), "end": ("end_line",),
    "line": ("line_number",), "msg": ("message",), "ops": ("operations",), "backup": ("create_backup",), "max_results": ("limit", "max_count"),
    "limit": ("max_count",), "n": ("max_count",), "count": ("max_count",), "max": ("max_count", "limit"),
    "include": ("file_pattern",), "fn": ("transform_fn",), "transform": ("transform_fn",), "branch": ("branch_name", "branch"),
}  # fmt: skip


def _usage(function, signature, why):
    return TypeError(f"{function.__name__}: {why}; call {function.__name__}{signature}")


def _meant(name, parameters, given):
    return next((known for known in _MEANINGS.get(name, ()) if known in parameters and known not in given), None)


def _understanding(function):
    signature = inspect.signature(function)
    parameters = list(signature.parameters)
    takes_many = getattr(function, "_takes_many", function.__module__ == "api.code_analysis")

    @functools.wraps(function)
    def call(*args, **kwargs):
        given = set(parameters[: len(args)])
        for name in [n for n in kwargs if n not in signature.parameters]:
            known = _meant(name, parameters, given | set(kwargs))
            if known is None:
                raise _usage(function, signature, f"there is no parameter {name!r}")
            kwargs[known] = kwargs.pop(name)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _usage(function, signature, str(error)) from None
        first = bound.arguments.get(parameters[0]) if parameters else None
        if isinstance(first, (list, tuple)) and parameters[0] in ("file_path", "pattern", "file_pattern") and not takes_many:
            if len(first) != 1:
                raise _usage(function, signature, f"{parameters[0]} is one path, not a {type(first).__name__}; for many, call it in a loop")
            bound.arguments[parameters[0]] = first[0]
        return function(*bound.args, **bound.kwargs)

    return call


def _help(names):
    """The functions of a module: how each is called, and its first line."""
    lines = [f"{names['__name__']}: {(names['__doc__'] or '').partition(chr(10))[0]}"]
    for name in names["__all__"]:
        text = (inspect.getdoc(names[name]) or "").partition("\n")[0]
        lines.append(f"{name}{inspect.signature(names[name])}\n    {text}")
    return "\n".join([*lines, f"help({names['__name__']}.NAME) says more of one."])


def understand(names):
    """Wraps the public functions of a module, given its globals; those of other modules of `api` are found here, too."""
    import api

    for name in names["__all__"]:
        if inspect.isfunction(names[name]):
            names[name] = _understanding(names[name])

    def find(name):
        found = None if name.startswith("_") else api._find(name)
        if found is None:
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}; it has {', '.join(names['__all__'])}")
        return found

    names["__help__"], names["__getattr__"] = functools.partial(_help, names), find
