"""The modules that can be imported here, in a few lines: modules of `api`, and what the operator, servers and saved skills add."""
import os
import sys

_MODULES = """filesystem: read, write, copy, search and replace in many files
code_analysis: functions, classes, imports, calls, complexity, unused imports
code_transform: rename, remove debug code and unused imports, add docstrings and hints
git_operations: status, diff, log, add, commit, branch, push
masking, web: find secrets; read a page of a granted host"""


def _call(name, key):
    """Names that a call to the outside lists; none where it is not granted."""
    from api._call import CallError, call

    try:
        return [entry["name"] for entry in call(name)[key]]
    except CallError:
        return []


def _helpers():
    """Modules in the operator's directories."""
    found = set()
    for folder in getattr(sys, "_belljar_helpers", ()):
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        for entry in entries:
            name, end = os.path.splitext(entry)
            is_module = end == ".py" or not end and os.path.isfile(f"{folder}/{entry}/__init__.py")
            if is_module and name.isidentifier() and not name.startswith("_") and name not in sys.stdlib_module_names:
                found.add(name)
    return sorted(found)


def _line(title, names):
    return [f"{title}: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"] if names else []


def text():
    return "\n".join([
        "from api import MODULE; help(api.MODULE) lists its functions.",
        _MODULES,
        *_line("helpers of the operator (import NAME)", _helpers()),
        *_line("servers (from servers.NAME import TOOL; help(servers.NAME))", _call("servers.list", "servers")),
        *_line("skills (from skills.NAME import FUNCTION)", [name for name in _call("skills.list", "skills") if name.isidentifier()]),
    ])  # fmt: skip
