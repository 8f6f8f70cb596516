#!/usr/bin/python3
"""code.py [DIRECTORY]: how fast _belljar_code reads Python, against CPython's ast, pyflakes and ctags on the same files.

One thread, files in memory but for ctags, the best of three rounds (one for pyflakes). Prints megabytes a second and ratios.
"""
import ast
import glob
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
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(directory):
    """Files that are Python and UTF-8: [(path, bytes)]"""
    files = []
    for path in sorted(glob.glob(directory + "/**/*.py", recursive=True)):
        with open(path, "rb") as file:
            data = file.read()
        try:
            ast.parse(data)
            data.decode()
        except (SyntaxError, ValueError, RecursionError):
            continue
        files.append((path, data))
    return files


def best(rounds, work):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def pyflakes(files):
    from pyflakes import checker

    for path, data in files:
        checker.Checker(ast.parse(data), path)


def ctags(files):
    subprocess.run(["ctags", "-L", "-", "-f", "-", "--fields=+ne"], input="\n".join(p for p, _ in files), text=True, check=True, stdout=subprocess.DEVNULL)


def main(directory=os.path.dirname(os.__file__)):
    warnings.simplefilter("ignore")
    code, files = load(), read(directory)
    size = sum(len(data) for _, data in files) / 1e6
    works = [
        ("ast, parse and walk", 3, lambda: [sum(1 for _ in ast.walk(ast.parse(data))) for _, data in files]),
        ("ours, outline with calls", 3, lambda: [code.outline(data, calls=True) for _, data in files]),
        ("ours, outline", 3, lambda: [code.outline(data) for _, data in files]),
        ("ours, unused imports", 3, lambda: [code.unused_imports(data) for _, data in files]),
        ("ctags", 3, lambda: ctags(files)),
        ("pyflakes", 1, lambda: pyflakes(files)),
    ]
    base = None
    print(f"{len(files)} files, {size:.1f} MB")
    for name, rounds, work in works:
        seconds = best(rounds, work)
        base = base or seconds
        print(f"{name:26} {seconds:8.3f} s {size / seconds:8.1f} MB/s {base / seconds:8.1f} x ast")


if __name__ == "__main__":
    main(*sys.argv[1:])
