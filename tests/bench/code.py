#!/usr/bin/python3
"""code.py [DIRECTORY]: how fast api.code_analysis reads a tree of Python, against ast, pyflakes and ctags on the same files.

Everybody walks, opens and reads for themselves; the files are in the page cache. The best of three rounds (one for
pyflakes). Prints megabytes a second and how many times as fast as ast each one is, by the clock and by the CPUs' time.
"""
import ast
import importlib.util
import os
import subprocess
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load():
    path = os.path.join(ROOT, os.environ.get("BELLJAR_BUILD", "build"), "tests/code/_belljar_code.so")
    spec = importlib.util.spec_from_file_location("_belljar_code", path)
    sys.modules["_belljar_code"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["_belljar_code"])
    sys.path.insert(0, os.path.join(ROOT, "library"))
    from api import _text, code_analysis

    return code_analysis, _text


def walk(directory):
    for folder, folders, names in os.walk(directory):
        folders[:] = [f for f in folders if not f.startswith(".")]
        yield from (os.path.join(folder, n) for n in names if n.endswith(".py") and not n.startswith("."))


def trees(directory):
    """(path, tree) of every file that is Python."""
    for path in walk(directory):
        try:
            with open(path, "rb") as file:
                yield path, ast.parse(file.read())
        except (SyntaxError, ValueError, RecursionError):
            continue


def functions(directory):
    """The result of find_functions, without the half that takes more work."""
    return [{"name": n.name, "start_line": n.lineno, "end_line": n.end_lineno, "args": [a.arg for a in n.args.args], "file": path,
             "decorators": n.decorator_list, "docstring": (ast.get_docstring(n) or "")[:100] or None}
            for path, tree in trees(directory) for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]  # fmt: skip


def pyflakes(directory):
    from pyflakes import checker

    for path, tree in trees(directory):
        checker.Checker(tree, path)


def ctags(directory):
    subprocess.run(["ctags", "-R", "-f", "-", "--languages=Python", "--fields=+ne", directory], check=True, stdout=subprocess.DEVNULL)


def spent():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def best(rounds, work):
    """Seconds on the clock, and of all CPUs together: on a busy machine the second says more."""
    walls, cpus = [], []
    for _ in range(rounds):
        start, used = time.perf_counter(), spent()
        work()
        walls.append(time.perf_counter() - start)
        cpus.append(spent() - used)
    return min(walls), min(cpus)


def main(directory=os.path.dirname(os.__file__)):
    warnings.simplefilter("ignore")
    analysis, text = load()
    paths = list(walk(directory))
    size = sum(os.path.getsize(p) for p in paths) / 1e6
    works = [
        ("ast, parse and walk", 3, lambda: [sum(1 for _ in ast.walk(tree)) for _, tree in trees(directory)]),
        ("ast, parse alone", 3, lambda: [None for _ in trees(directory)]),
        ("ast, all functions", 3, lambda: functions(directory)),
        ("ours, all functions", 3, lambda: analysis.find_functions(directory)),
        ("ours, number of functions", 3, lambda: analysis.find_functions(directory, count_only=True)),
        ("ours, functions by name", 3, lambda: analysis.find_functions(directory, "parse")),
        ("ours, all classes", 3, lambda: analysis.find_classes(directory)),
        ("ours, all imports", 3, lambda: analysis.extract_imports(directory)),
        ("ours, all calls", 3, lambda: analysis.get_function_calls(directory)),
        ("ours, calls by name", 3, lambda: analysis.get_function_calls(directory, "join")),
        ("ours, figures", 3, lambda: analysis.analyze_dependencies(directory)),
        ("ours, unused imports", 3, lambda: analysis.find_unused_imports(directory)),
        ("ours, files with a word", 3, lambda: text.containing(paths, b"no such word")),
        ("ctags", 3, lambda: ctags(directory)),
        ("pyflakes", 1, lambda: pyflakes(directory)),
    ]
    base = None
    print(f"{len(paths)} files, {size:.1f} MB, {len(os.sched_getaffinity(0))} CPUs")
    for name, rounds, work in works:
        wall, cpu = best(rounds, work)
        base = base or (wall, cpu)
        print(f"{name:26} {wall:8.3f} s {size / wall:8.1f} MB/s {base[0] / wall:8.1f} x ast   CPU {cpu:8.3f} s {base[1] / max(cpu, 0.01):8.1f} x ast", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
