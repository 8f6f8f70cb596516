#!/usr/bin/python3
"""plain.py FILE: runs the cells of a notebook in this very interpreter, one after the other, and prints what each printed and
the repr of its last expression as JSON. What a session answers is compared with it."""
import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import sys


def cells(text):
    """The texts between lines that begin with `# %%`."""
    found = []
    for line in text.splitlines(keepends=True):
        if line.startswith("# %%"):
            found.append("")
        if found:
            found[-1] += line
    return found


def evaluate(loop, code, names):
    value = eval(code, names)  # pylint: disable=eval-used  # our own files
    return loop.run_until_complete(value) if inspect.iscoroutine(value) else value


def run(loop, source, names):
    tree, value = ast.parse(source), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with contextlib.redirect_stdout(io.StringIO()) as out:
        evaluate(loop, compile(tree, "<cell>", "exec", flags, True), names)
        if last:
            value = evaluate(loop, compile(ast.Expression(last.value), "<cell>", "eval", flags, True), names)
    return {"stdout": out.getvalue(), "value": None if value is None else repr(value)}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sources = cells(file.read())
    os.chdir(sys.argv[2])
    names = {"__name__": "__main__"}
    loop = asyncio.new_event_loop()
    json.dump([run(loop, source, names) for source in sources], sys.stdout)


if __name__ == "__main__":
    main()
