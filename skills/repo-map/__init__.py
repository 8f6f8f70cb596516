"""An outline of a tree of Python sources, in few words."""

import collections
import pathlib

from api import code_analysis

HIDDEN = {".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"}


def _glob(root, pattern):
    return str(pathlib.PurePath(root) / pattern)


def _is_hidden(path, root):
    return any(part in HIDDEN for part in pathlib.PurePath(path).relative_to(root).parts[:-1])


def _lines_in(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def _by_file(found, root):
    files = collections.defaultdict(list)
    for entry in found:
        if not _is_hidden(entry["file"], root):
            files[entry["file"]].append(entry)
    return files


def _is_shown(name, private):
    return private or not name.startswith("_") or name == "__init__"


def _entries(classes, functions, private):
    """(line, text) of what stands at the top of one file."""
    for entry in classes:
        if "." not in entry["qualname"] and _is_shown(entry["name"], private):
            bases = f"({', '.join(entry['bases'])})" if entry["bases"] else ""
            methods = ", ".join(m for m in entry["methods"] if _is_shown(m, private))
            yield entry["start_line"], f"class {entry['name']}{bases}{': ' if methods else ''}{methods}"
    for entry in functions:
        if entry["kind"] != "method" and "." not in entry["qualname"] and _is_shown(entry["name"], private):
            word = "async def" if entry["is_async"] else "def"
            yield entry["start_line"], f"{word} {entry['name']}({', '.join(entry['args'])})"


def outline(root, pattern="**/*.py", limit=200, private=False):
    """Files with their classes and functions, as text of at most `limit` lines."""
    root = pathlib.PurePath(root)
    classes = _by_file(code_analysis.find_classes(_glob(root, pattern)), root)
    functions = _by_file(code_analysis.find_functions(_glob(root, pattern)), root)
    lines = []
    for path in sorted({*classes, *functions}):
        found = sorted(_entries(classes[path], functions[path], private))
        if found:
            lines.append(f"{pathlib.PurePath(path).relative_to(root)} ({_lines_in(path)} lines)")
            lines += [f"  {line} {text[:200]}" for line, text in found]
    if len(lines) > limit:
        lines[limit - 1 :] = [f"… {len(lines) - limit + 1} more lines"]
    return "\n".join(lines)


def summary(root, pattern="**/*.py", top=10):
    """{files, lines, functions, classes, largest, imports, skipped}"""
    root = pathlib.PurePath(root)
    found = code_analysis.extract_imports(_glob(root, pattern), report=True)
    files = [entry for entry in found["matches"] if not _is_hidden(entry["file"], root)]
    sizes = {entry["file"]: _lines_in(entry["file"]) for entry in files}
    modules = collections.Counter(name for entry in files for name in {d["module"].split(".")[0] for d in entry["details"] if d["module"]})
    largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:top]
    return {
        "files": len(files),
        "lines": sum(sizes.values()),
        "functions": sum(map(len, _by_file(code_analysis.find_functions(_glob(root, pattern)), root).values())),
        "classes": sum(map(len, _by_file(code_analysis.find_classes(_glob(root, pattern)), root).values())),
        "largest": [[str(pathlib.PurePath(path).relative_to(root)), lines] for path, lines in largest],
        "imports": [[name, count] for name, count in sorted(modules.items(), key=lambda item: (-item[1], item[0]))[:top]],
        "skipped": found["skipped_count"],
    }
