"""Completion, the words that may stand at the end of a text as they are in the program at this moment, and `name?`.

A prompt asks by a cell that begins with `%%complete`. It runs in the program's process with the program's rights, under the limits of a cell. Other
modules are imported when they are needed: most programs never get here.
"""

import sys

# As guest/notebook.c knows them.
COMMANDS = (
    "%cat %cd %env %load_ext %ls %matplotlib %mkdir %pip %pwd %run %time %timeit %who %%bash %%html %%markdown %%time %%writefile"
).split()


def main():
    return sys.modules["__main__"].__dict__


WORDS = (
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda "
    "nonlocal not or pass raise return try while with yield"
).split()
MOST = 500  # words
LENGTH = 200  # of one


def value_of(expression):
    """The value of `name.attribute['key'][0]`, found without evaluating anything else."""
    import ast
    import builtins

    def find(node):
        if isinstance(node, ast.Name):
            names = main()
            return names[node.id] if node.id in names else getattr(builtins, node.id)
        if isinstance(node, ast.Attribute):
            return getattr(find(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            key = node.slice
            if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub) and isinstance(key.operand, ast.Constant):
                return find(node.value)[-key.operand.value]
            if isinstance(key, ast.Constant):
                return find(node.value)[key.value]
        if isinstance(node, ast.Constant) or isinstance(node, (ast.List, ast.Dict, ast.Set, ast.Tuple)):
            return ast.literal_eval(node)
        raise ValueError

    return find(ast.parse(expression, "<complete>", "eval").body)


def trailing(text):
    """The longest end of the text that can be name.attribute['key']."""
    at, depth, quote = len(text), 0, ""
    while at:
        c = text[at - 1]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"" and (depth or at == len(text)):
            quote = c
        elif c == "]":
            depth += 1
        elif c == "[" and depth:
            depth -= 1
        elif not (depth or c.isalnum() or c in "_."):
            break
        at -= 1
    return text[at:]


def attributes(before, prefix):
    thing = value_of(before)
    found = [name for name in type(thing).__dir__(thing) if isinstance(name, str) and len(name) <= LENGTH and name.startswith(prefix)]
    return [name for name in found if prefix.startswith("_") or not name.startswith("_")]


def keys(thing):
    columns = getattr(thing, "columns", None)
    if not isinstance(thing, dict) and columns is not None:
        return list(columns)
    return list(thing.keys()) if hasattr(thing, "keys") else []


def files(prefix):
    import os

    folder, name = os.path.split(prefix)
    found = []
    with os.scandir(os.path.expanduser(folder) or ".") as entries:
        for entry in entries:
            if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
                found.append(os.path.join(folder, entry.name) + ("/" if entry.is_dir() else ""))
            if len(found) > MOST:
                break
    return found


def modules(prefix):
    import pkgutil

    head, dot, _ = prefix.rpartition(".")
    if dot:
        return [f"{head}.{name}" for name in dir(sys.modules[head]) if not name.startswith("_")] if head in sys.modules else []
    found = {name for name in sys.modules if "." not in name and not name.startswith("_")}
    found.update(sys.stdlib_module_names)
    found.update(module.name for module in pkgutil.iter_modules())
    return [name for name in found if not name.startswith("_")]


def quoted(text):
    """The quote that is open at the end of the text, and where its content begins; or none."""
    quote, start, at = "", 0, 0
    while at < len(text):
        c = text[at]
        if quote:
            if c == "\\":
                at += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote, start = c, at + 1
        elif c == "#":
            return "", 0
        at += 1
    return quote, start


def candidates(text):
    """The beginning of the word, and the words that it may become."""
    import builtins

    line = text[text.rfind("\n") + 1 :]
    base = len(text) - len(line)
    stripped = line.lstrip()
    quote, start = quoted(line)
    if quote:
        typed, before = line[start:], line[: start - 1].rstrip()
        if before.endswith("["):
            found = [key for key in keys(value_of(trailing(before[:-1]))) if isinstance(key, str) and key.isprintable()]
            end = f"{quote}]"
            return base + start, [key + end for key in found if key.startswith(typed) and quote not in key and "\\" not in key]
        return base + start, files(typed)
    word = line[len(line.rstrip("_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) :] if line.isascii() else ""
    if not line.isascii():
        at = len(line)
        while at and (line[at - 1].isalnum() or line[at - 1] == "_"):
            at -= 1
        word = line[at:]
    if stripped.startswith(("!", "%cd ", "%ls ", "%cat ", "%%writefile ")):
        typed = line.split()[-1].lstrip("!") if not line.endswith(" ") else ""
        return base + len(line) - len(typed), files(typed)
    if stripped.startswith("%"):
        return base + len(line) - len(stripped), [name for name in COMMANDS if name.startswith(stripped)]
    if stripped.startswith(("import ", "from ")) and " import " not in stripped:
        typed = stripped.split()[-1] if not line.endswith((" ", ",")) else ""
        if typed not in ("import", "from"):
            return base + len(line) - len(typed), [name for name in modules(typed) if name.startswith(typed)]
    if stripped.startswith("from ") and " import " in stripped:
        module = sys.modules.get(stripped.split()[1])
        found = dir(module) if module else []
        return base + len(line) - len(word), [name for name in found if name.startswith(word or "a"[:0]) and (word or not name.startswith("_"))]
    rest = line[: len(line) - len(word)]
    if rest.endswith("."):
        chain = trailing(rest[:-1])
        if not chain or chain.isdigit():
            return base + len(line), []
        return base + len(rest), attributes(chain, word)
    if rest.endswith("["):
        found = [repr(key) + "]" for key in keys(value_of(trailing(rest[:-1]))) if isinstance(key, (str, int))] if not word else []
        if found:
            return base + len(rest), found
    if not word:
        return base + len(line), []
    found = {name for name in (*main(), *dir(builtins), *WORDS) if isinstance(name, str) and name.startswith(word)}
    return base + len(rest), [name for name in found if word.startswith("_") or not name.startswith("_")]


def complete(text):
    """{"start", "words"}: what may stand in place of the text from `start` on, in bytes of UTF-8. Any failure is no word."""
    try:
        start, words = candidates(text)
        words = sorted({str(word) for word in words if isinstance(word, str) and len(word) <= LENGTH})[:MOST]
    except Exception:
        return {"start": 0, "words": []}
    return {"start": len(text[:start].encode()), "words": words}


# --- name? ---


def cut(text, most=200):
    text = str(text)
    return text if len(text) <= most else text[:most] + "…"


def describe(name, is_long, function):
    """Prints what `name?` says, and `name??` with the source."""
    import inspect

    try:
        thing = function()
    except Exception:
        print(f"Object `{name}` not found.")
        return
    rows, kind = [], ("Type", type(thing).__name__)
    is_value = not callable(thing) and not inspect.ismodule(thing)
    try:
        rows.append(("Signature", f"{name}{inspect.signature(thing)}"))
    except Exception:
        pass
    for label, show in (("Type", None), ("String form", str), ("Length", len)) if is_value else ():
        try:
            rows.append((label, cut(show(thing))) if show else kind)
        except Exception:
            pass
    rows += [text_of(thing, is_long)]
    try:
        rows += [("File", found)] if not (found := inspect.getfile(thing)).startswith("<") else []
    except Exception:
        pass
    print_rows(rows + ([] if is_value else [kind]))


def text_of(thing, is_long):
    import inspect

    for label, find in (("Source", inspect.getsource), ("Docstring", inspect.getdoc))[not is_long :]:
        try:
            if found := find(thing):
                return label, found.rstrip()
        except Exception:
            pass
    return "Docstring", "<no docstring>"


def print_rows(rows):
    """A text of several lines begins on the next one."""
    wide = max(len(label) for label, _ in rows) + 2
    for label, text in rows:
        print(f"{label}:\n{text}" if "\n" in text or label == "Source" else f"{label + ':':<{wide}}{text}")
