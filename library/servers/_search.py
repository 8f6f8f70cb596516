"""Looking for tools: few words first, everything on demand."""

import inspect

from servers._module import ServerError

_DETAILS = ("names", "signatures", "schemas")


def _first_line(tool):
    words = (tool.get("description") or tool.get("title") or "").strip().split("\n", 1)[0]
    return words if len(words) <= 100 else words[:97] + "..."


def _score(words, name, tool):
    about = (tool.get("description") or "").lower() + " " + (tool.get("title") or "").lower()
    return sum(3 * (word in name.lower()) + (word in about) for word in words)


def _show(module, plain, tool, detail):
    path = f"{module.__name__}.{plain}"
    if detail == "names":
        return f"{path}: {_first_line(tool)}"
    if detail == "signatures":
        return f"{path}{inspect.signature(module.__dict__[plain])}"
    return {"name": path, "description": tool.get("description"), "input": tool.get("input"), "output": tool.get("output"),
            "consent": tool.get("consent")}


def search(modules, query, detail, limit):
    if detail not in _DETAILS:
        raise ValueError(f"detail is {detail!r}, expected one of {', '.join(_DETAILS)}")
    words = query.lower().split()
    found, failed = [], []
    for name in sorted(modules):
        try:
            tools = modules[name]._load()
        except ServerError as error:
            failed.append(f"servers.{name}: cannot be asked: {error}")
            continue
        for plain, tool in tools.items():
            score = _score(words, f"{name}.{plain}", tool)
            if score or not words:
                found.append((-score, name, plain, tool))
    found.sort(key=lambda row: row[:3])
    return [_show(modules[name], plain, tool, detail) for _, name, plain, tool in found[:limit]] + failed
