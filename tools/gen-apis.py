#!/usr/bin/env python3
"""gen-apis.py OUT.c NAME=FILE...: what programs can import, for who asks: signatures, docstrings and examples.

The modules themselves are the one source. The last line of a docstring is its example where it begins with >>>; a call with
arguments that it has not is a mistake here, that there is none is one for the tests. Several files may be parts of one
module.
"""
import ast
import json
import sys


def fail(path, node, why):
    sys.exit(f"{path}:{node.lineno}: {node.name}: {why}")


def signature(node):
    """As it is called; what is not plain, a constant of the module, by its name."""
    if isinstance(node, ast.FunctionDef):
        return f"{node.name}({ast.unparse(node.args)})"
    start = next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
    if start is None:
        return node.name + "()"
    arguments = start.args
    arguments.args = arguments.args[1:]  # self
    return f"{node.name}({ast.unparse(arguments)})"


def parameters(node):
    if isinstance(node, ast.ClassDef):
        node = next(m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__")
    a = node.args
    return [p.arg for p in a.posonlyargs + a.args + a.kwonlyargs if p.arg != "self"], a.vararg or a.kwarg


def check_example(path, node, text):
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and node.name in (getattr(n.func, "id", None), getattr(n.func, "attr", None))]
    names, takes_more = parameters(node)
    for call in calls:
        if not takes_more and (len(call.args) > len(names) or any(k.arg not in names for k in call.keywords)):
            fail(path, node, "its example has arguments that it has not")


def method_lines(node):
    """The methods of a class, one line each."""
    for member in node.body:
        if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
            continue
        words = (ast.get_docstring(member) or "").split("\n")[0]
        is_value = any(getattr(d, "id", None) == "property" for d in member.decorator_list)
        arguments = member.args
        arguments.args = arguments.args[1:]
        name = f".{member.name}" if is_value else f".{member.name}({ast.unparse(arguments)})"
        yield f"{name}: {words}" if words else name


def describe(path, node):
    text = ast.get_docstring(node)
    if not text:
        fail(path, node, "it has no docstring")
    words, mark, example = text.rpartition(">>> ")
    told = {"signature": signature(node), "help": (words if mark else text).strip()}
    if mark:
        check_example(path, node, example)
        told["example"] = example
    if isinstance(node, ast.ClassDef):
        told["help"] = "\n".join([words.strip(), *method_lines(node)])
    return told


def is_told(node):
    """Public functions and classes; exceptions are said where they are raised."""
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
        return False
    return not any(ast.unparse(base).endswith(("Error", "Exception")) for base in getattr(node, "bases", []))


def read_module(path, module):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    module.setdefault("description", ast.get_docstring(tree).split("\n")[0])
    for node in tree.body:
        if is_told(node):
            module.setdefault("functions", {})[node.name] = describe(path, node)


def main(out, *parts):
    modules = {}
    for part in parts:
        name, _, path = part.partition("=")
        read_module(path, modules.setdefault(name, {}))
    text = json.dumps(modules, ensure_ascii=False)
    data = text.encode()
    with open(out, "w", encoding="ascii") as c:
        c.write('/* Made by tools/gen-apis.py. */\n#include "calls/apis.h"\n\n')
        c.write(f"const char apis_own[] = {{{','.join(map(str, data))}, 0}};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
