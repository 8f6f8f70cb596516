"""Work that lines of notebooks ask for, apart from commands: guest/notebook_call.c calls `call(kind, what)`.

It runs in the program's process with the program's rights, and evaluates no text: code on such a line is translated by guest/notebook.c, and the
policy sees it like any other.
"""

import sys
import time
from _io import StringIO

OURS = ("In", "Out", "session_id")


def main():
    return sys.modules["__main__"].__dict__


def mine():
    """The names that the program made."""
    return sorted(name for name in main() if isinstance(name, str) and not name.startswith("_") and name not in OURS)


# --- commands ---


class SList(list):
    """Lines of a command's output: `.n` as one text, `.s` with spaces between them, `.l` as they are."""

    l = list = property(lambda self: self)
    n = nlstr = property("\n".join)
    s = spstr = property(" ".join)

    @property
    def p(self):
        import pathlib

        return [pathlib.Path(line) for line in self if line]

    paths = p

    def grep(self, pattern, prune=False, field=None):
        import re

        def has(line):
            words = line.split()
            text = line if field is None else words[field] if field < len(words) else ""
            return pattern(text) if callable(pattern) else re.search(pattern, text, re.IGNORECASE)

        return SList(line for line in self if bool(has(line)) != prune)

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        if not numbers:
            return rows
        return SList(" ".join(row[n] for n in numbers if -len(row) <= n < len(row)) for row in rows)


def value(literal, function):
    """`{name}` or `$name` in a command. What is not there is left to the shell, and so is `$name` of a function."""
    try:
        found = function()
    except Exception:
        return literal
    return literal if literal.startswith("$") and (callable(found) or isinstance(found, type(sys))) else str(found)


def write(path, appends, file, text):
    """`file` is open for appending."""
    with file:
        try:
            has_text = file.tell() > 0
        except OSError:  # a pipe
            has_text = False
        if has_text and not appends:
            file.truncate(0)
        print("Appending to" if appends else "Overwriting" if has_text else "Writing", path)
        file.write(text)


# --- files ---


def run_plan(text):
    """`%run [-i] [-n] FILE ARGUMENTS`: (path or None for `-m`, is it run in the session's names, the arguments)."""
    import shlex
    from os.path import exists, expanduser

    words, flags = shlex.split(text), ""
    while words and words[0].startswith("-") and len(words[0]) > 1:
        flags += words.pop(0)[1:]
        if flags[-1] in "Nl" and words:  # their value
            words.pop(0)
    if "m" in flags:
        return None, False, words
    if not words:
        raise ValueError("write `%run FILE.py`")
    path = expanduser(words[0])
    if not exists(path) and exists(path + ".py"):
        path += ".py"
    if not exists(path):
        raise FileNotFoundError(f"`{words[0]}` not found: `%run` needs a file; `%ls` lists those that are here")
    return path, "i" in flags, ("n" in flags, [path, *words[1:]])


def cells_of(source):
    """The program in a notebook's file."""
    import json

    cells = [cell for cell in json.loads(source)["cells"] if cell.get("cell_type") == "code"]
    return "\n".join("# %% In [ ]\n" + "".join(cell.get("source", "")) for cell in cells) + "\n"


def run_begin(path, about, in_session):
    is_module, argv = about
    before = sys.modules["__main__"], sys.argv, sys.path[:]
    module = before[0] if in_session else type(sys)("__main__")
    names = module.__dict__
    kept = {name: names.get(name) for name in ("__name__", "__file__")}
    names["__file__"] = path
    if is_module:
        names["__name__"] = path.rpartition("/")[2].removesuffix(".py")
    sys.modules["__main__"], sys.argv = module, argv
    folder = path.rpartition("/")[0] or "/"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return names, before, kept


runs = []  # a module's names are emptied with it, and functions of it may be the session's now


def run_end(state):
    names, (module, sys.argv, sys.path[:]), kept = state
    runs.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    if names is module.__dict__:
        names.update(kept)
        if kept["__file__"] is None:
            del names["__file__"]
    else:
        module.__dict__.update({name: value for name, value in names.items() if isinstance(name, str) and not name.startswith("__")})


def run_exit(text, error):
    code = getattr(error, "code", None)
    if code not in (None, 0):
        print(code if isinstance(code, str) else f"(exit code {code}: %run {text})", file=sys.stderr)


def run_apart(text, error):
    print(f"(%run: a process of its own ran `{text}`, and its names are not in the session: {error})", file=sys.stderr)


# --- extensions ---

QUIET = ("autoreload", "storemagic")  # what they do is here already


def load_ext(text):
    """An extension that is a module registers what it has. One that is not there is no reason to end the cell."""
    name = text.strip()
    if not name or name in QUIET:
        return
    try:
        if _notebook("rules"):
            raise ImportError
        module = __import__(name, fromlist=["load_ipython_extension"])
    except ImportError:
        print(f"(%load_ext: there is no extension `{name}` here; lines that it would define are not known)", file=sys.stderr)
        return
    load = getattr(module, "load_ipython_extension", None)
    if load is not None:
        from IPython.core.getipython import get_ipython

        load(get_ipython())


def pdb(text):
    if text.strip() in ("", "1", "on"):
        print("(%pdb: there is no debugger that starts by itself; call `%debug` after an error)", file=sys.stderr)


def rerun(text):
    """`%rerun 2-3`: cells once more; without a number, the last one."""
    texts = main().get("In")
    texts = texts[:-1] if isinstance(texts, list) else []
    wanted = numbers(" ".join(word for word in text.split() if not word.startswith("-"))) or [len(texts) - 1]
    code = "\n".join(texts[n] for n in wanted if 0 < n < len(texts))
    print("=== Executing: ===", code, "=== Output: ===", sep="\n")
    value = _notebook("run_text", code)
    if value is not None:
        display(value)


# --- time ---


class TimeitResult:
    """Seconds for each loop: `best`, `worst`, `average`, `stdev`, and `timings` of all runs."""

    def __init__(self, loops, runs):
        self.loops, self.repeat, self.all_runs = loops, len(runs), runs
        self.timings = [run / loops for run in runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / len(runs)
        self.stdev = (sum((t - self.average) ** 2 for t in self.timings) / len(runs)) ** 0.5

    def __str__(self):
        runs, loops = ("" if n == 1 else "s" for n in (self.repeat, self.loops))
        return (
            f"{span(self.average)} ± {span(self.stdev)} per loop (mean ± std. dev. of {self.repeat} run{runs}, {self.loops:,} loop{loops} each)"
        )

    def _repr_pretty_(self, printer, cycle):
        printer.text(f"<TimeitResult : {self}>")

    def __repr__(self):
        return f"<TimeitResult : {self}>"


def span(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def measure(function, loops, clock=time.perf_counter):
    began = clock()
    for _ in range(loops):
        function()
    return clock() - began


def options_of(text, with_value):
    """{"n": "100", "o": ""} of "-n 100 -o"."""
    found, words = {}, text.split()
    while words:
        word = words.pop(0).lstrip("-")
        name, rest = word[:1], word[1:]
        found[name] = (rest or (words.pop(0) if words else "")) if name in with_value else ""
        for flag in rest if name not in with_value else "":
            found[flag] = ""
    return found


def timeit(options, function):
    asked = options_of(options, "nrp")
    loops, repeat = int(asked.get("n", 0) or 0), int(asked.get("r", 0) or 0) or 7
    if not loops:
        loops = 1
        while (took := measure(function, loops)) < 0.1 and loops < 10**9:
            loops *= 10 if took < 0.02 else 5 if took < 0.05 else 2
    result = TimeitResult(loops, [measure(function, loops) for _ in range(max(1, repeat))])
    if "q" not in asked:
        print(result)
    return result if "o" in asked else None


def prun(options, function):
    """`-s` sorts, `-l` has a number of lines or a part of names, `-q` shows nothing, `-r` returns the statistics."""
    import cProfile
    import pstats

    profile = cProfile.Profile()
    try:
        profile.enable()
        profile.disable()
    except PermissionError:
        raise PermissionError("`%prun` needs profile `open`; `%timeit` and `%time` measure in every profile") from None
    asked = options_of(options, "lsTD")
    lines = asked.get("l", "20")
    try:
        profile.runcall(function)
    finally:
        statistics = pstats.Stats(profile, stream=sys.stdout).sort_stats(asked.get("s") or "tottime")
        if "q" not in asked:
            statistics.print_stats(int(lines) if lines.isdigit() else lines)
    return statistics if "r" in asked else None


# --- output ---


captures = []


def capture(options):
    from IPython.utils.capture import CapturedIO

    words = options.split()
    name = next((word for word in words if not word.startswith("-")), None)
    out = None if "--no-stdout" in words else StringIO()
    err = None if "--no-stderr" in words else StringIO()
    captured = CapturedIO(out, err, [])
    shown = None if "--no-display" in words else _notebook("displays", captured.outputs)
    captures.append((name, captured, shown, sys.stdout, sys.stderr))
    sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr


def release():
    """The end of a cell."""
    while captures:
        name, captured, shown, sys.stdout, sys.stderr = captures.pop()
        _notebook("displays", shown)
        if name and name.isidentifier():
            main()[name] = captured


def keep(outputs, forms):
    """Something that is not shown: {mime: bytes}."""
    from IPython.utils.capture import RichOutput

    outputs.append(RichOutput.of(forms))


# --- directories ---

places = []


def pushd(text):
    """Goes to the directory, and gives those to come back to."""
    import os

    here = os.getcwd()
    _notebook("cd", text.strip())
    places.insert(0, here)
    return list(places)


def popd(text):
    if not places:
        raise IndexError("there is no directory to go back to: `%pushd DIR` keeps the present one")
    _notebook("cd", places.pop(0))


def dirs(text):
    return list(places)


# --- names ---


def chosen(options):
    """The names of `%who int str`: those of values of these types."""
    kinds = options.split()
    return [name for name in mine() if not kinds or type(main()[name]).__name__ in kinds]


def who(options):
    names = chosen(options)
    print("".join(f"{name}\t " for name in names) if names else "Interactive namespace is empty.")


def about(thing):
    kind = type(thing).__name__
    if isinstance(thing, (list, tuple, dict)):
        return f"n={len(thing)}"
    if kind == "ndarray":
        shape = "x".join(str(n) for n in thing.shape)
        size = f"{thing.nbytes} bytes" if thing.nbytes < 100000 else f"{thing.nbytes} bytes ({thing.nbytes // 1024} kb)"
        return f"{shape}: {thing.size} elems, type `{thing.dtype}`, {size}"
    text = str(thing).replace("\n", "\\n")
    return text if len(text) < 50 else text[:25] + "<...>" + text[-25:]


def whos(options):
    rows = [(name, type(main()[name]).__name__, about(main()[name])) for name in chosen(options)]
    if not rows:
        print("Interactive namespace is empty.")
        return
    first, second = (max(len(row[i]) for row in [*rows, ("Variable", "Type")]) + 3 for i in range(2))
    print(f"{'Variable':<{first}}{'Type':<{second}} Data/Info", "-" * (first + second + len(" Data/Info")), sep="\n")
    for name, kind, text in rows:
        print(f"{name:<{first}}{kind:<{second}} {text}")


def type_name(thing):
    """Without the methods that a metaclass of the program's may have."""
    kind = type(thing)
    module, name = (type.__getattribute__(kind, what) for what in ("__module__", "__qualname__"))
    if type(module) is not str or type(name) is not str:
        return "?"
    return name[:100] if module in ("builtins", "__main__") else f"{module}.{name}"[:200]


def brief(thing):
    """A description without code of the program's: values of the simplest types, the size of others."""
    kind = type(thing)
    if kind is int:
        return str(thing) if thing.bit_length() <= 256 else f"{thing.bit_length()} bits"
    if kind in (float, complex, bool, type(None), range):
        return repr(thing)
    if kind in (str, bytes, bytearray):
        return repr(thing if len(thing) <= 60 else thing[:60]) + ("…" if len(thing) > 60 else "")
    if kind in (list, tuple, dict, set, frozenset):
        return f"{len(thing)} item{'' if len(thing) == 1 else 's'}"
    for module, name in (("numpy", "ndarray"), ("pandas", "DataFrame"), ("pandas", "Series")):
        there = getattr(sys.modules.get(module), name, None)
        if there is not None and kind is there:
            return " x ".join(str(n) for n in thing.shape)
    return ""


def variables(options):
    """For those who look at a session from outside: one line of JSON."""
    import json

    names = mine()
    rows = [{"name": name[:200], "type": type_name(main()[name]), "summary": brief(main()[name])} for name in names[:500]]
    print(json.dumps({"variables": rows, "has_more": len(names) > 500}))


def reset(options):
    """`%reset -f`: all names; `%reset -f out`, `in`, `array`: these alone."""
    words = [word for word in options.split() if not word.startswith("-")]
    values, texts = main().get("Out"), main().get("In")
    for name in mine() if not words and "-s" not in options.split() else []:
        del main()[name]
    values = values if isinstance(values, dict) else {}
    if not words or "out" in words:
        if words:
            print(f"Flushing output cache ({len(values)} entries)")
        for name in [f"_{n}" for n in values] + ["_", "__", "___"]:
            main().pop(name, None)
        values.clear()
    if isinstance(texts, list) and "in" in words:
        print("Flushing input history")
        texts[:-1] = [""] * len(texts[:-1])
    if "array" in words:
        for name in [name for name in mine() if type(main()[name]).__name__ == "ndarray"]:
            del main()[name]


def xdel(options):
    for name in options.split():
        if name.startswith("-"):
            continue
        if name not in main():
            print(f"NameError: name '{name}' is not defined")
        elif name.isidentifier():
            del main()[name]


def reset_selective(options):
    import re

    words = [word for word in options.split() if word != "-f"]
    for name in mine() if words else []:
        if re.search(words[0], name):
            del main()[name]


def numbers(text):
    """The cells of "3 5-7"; None: another text."""
    found = []
    for word in text.split():
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            return None
        found += range(int(first), min(int(last or first), 10**6) + 1)
    return found


def history(options):
    """`%history -n 2-4`: texts of cells, with their numbers; `-l 3`: the last three; `-g WORD`: those with the word, numbered."""
    from fnmatch import fnmatchcase

    texts = main().get("In")
    texts = texts if isinstance(texts, list) else []
    has_numbers, wanted, pattern = False, [], None
    words = options.split()
    while words:
        word = words.pop(0)
        has_numbers |= word in ("-n", "-g")
        if word == "-g":
            pattern, words = f"*{' '.join(words)}*", []
        elif word == "-l":
            wanted = range(max(1, len(texts) - 1 - int(words.pop(0) if words and words[0].isdigit() else 10)), len(texts) - 1)
        elif not word.startswith("-"):
            wanted = [*wanted, *(numbers(word) or ())]
    for n in wanted or range(1, len(texts)):
        if n < len(texts) and (pattern is None or fnmatchcase(texts[n], pattern)):
            gap = "\n" if "\n" in texts[n] else " "
            print(f"{n:4}:{gap}{texts[n]}" if has_numbers else texts[n])


def psearch(options):
    import builtins
    from fnmatch import fnmatchcase

    pattern = options.split()[0] if options.split() else "*"
    place, dot, pattern = pattern.rpartition(".")
    names = dir(main()[place]) if place in main() else sorted({*main(), *(dir(builtins) if not dot else ())}) if not dot else []
    print(*(place + dot + name for name in names if fnmatchcase(name, pattern) and not name.startswith("_")), sep="\n")


def show(kind, file):
    """A file that the cell has opened."""
    with file:
        text = file.read()
        print(text, end="" if text.endswith("\n") else "\n")
    if kind != "pycat":
        print(f"(%{kind}: the file is shown and was not run; `%run {file.name}` runs it)", file=sys.stderr)


class Known:
    """The list that `%lsmagic` gives."""

    def __repr__(self):
        return "\n".join(("!command  name?  name??", *KNOWN))


def lsmagic(options):
    if not options:
        return Known()
    print(Known())  # `?` alone, `%timeit?`


def failed(code, command):
    from subprocess import CalledProcessError

    raise CalledProcessError(code, command)


INSTEAD = {
    "save": "write the text of cell N to a file: `open(NAME, 'w').write(In[N])`", "store": "variables stay until the session ends; "
    "to keep one for longer, write it to a file, for example with json", "macro": "put the lines into a function", "notebook": "`In` has the texts of the cells",
    "recall": "`In[N]` has the text of cell N; write the lines again", "edit": "write a file with `%%writefile`, and run it with `%run`",
    "alias": "write a function: `def name(text):`, and in it the line `!command {text}`",
    "dhist": "use `%cd DIR`; `%cd -` goes back",
}  # fmt: skip
INSTEAD |= {"rep": INSTEAD["recall"]} | {"ed": INSTEAD["edit"]} | {"bookmark": INSTEAD["dhist"]}


KNOWN = (
    "%cd %pushd %popd %dirs %pwd %env %set_env %pip %conda %run %ls %cat %mkdir %rm %cp %mv %sx %system",
    "%time %timeit %prun %who %whos %who_ls %psearch %reset %reset_selective %xdel %history %pycat %lsmagic %matplotlib %load_ext %autoreload %debug %rerun",
    "%%bash %%sh %%script %%python %%time %%timeit %%prun %%capture %%writefile %%html %%markdown %%latex %%svg %%javascript",
)

TEXT = {
    "who": who, "whos": whos, "who_ls": chosen, "reset": reset, "xdel": xdel, "reset_selective": reset_selective, "history": history,
    "hist": history, "lsmagic": lsmagic, "capture": capture, "psearch": psearch, "load_ext": load_ext, "reload_ext": load_ext, "pdb": pdb, "rerun": rerun,
    "pushd": pushd, "popd": popd, "dirs": dirs,
    "variables": variables,
}  # fmt: skip
CODE = {"value": value, "write": write, "show": show, "timeit": timeit, "prun": prun, "keep": keep, "failed": failed}

# For guest/notebook_run.c alone. A program that called them could put names into modules of the library.
RUN = {"run_plan": run_plan, "cells_of": cells_of, "run_begin": run_begin, "run_end": run_end, "run_exit": run_exit, "run_apart": run_apart}


def run_call(kind, what):
    return RUN[kind](*what)


def names():
    """A copy: what get_ipython().user_ns gives."""
    return {name: main()[name] for name in (*mine(), *OURS) if name in main()}


def push(values):
    main().update({name: value for name, value in values.items() if name.isidentifier() and not name.startswith("_")})


def call(kind, what):
    if kind == "release":
        return release()
    if kind == "names":
        return names()
    if kind == "push" and isinstance(what, dict):
        return push(what)
    if kind == "lines":
        return SList(what)
    if kind in CODE and isinstance(what, tuple):
        return CODE[kind](*what)
    if kind in TEXT and isinstance(what, str):
        return TEXT[kind](what)
    if kind in INSTEAD:
        raise NotImplementedError(f"`%{kind}` is not supported; {INSTEAD[kind]}")
    if kind in ("time", "timeit", "prun", "load"):
        raise NotImplementedError(f"`%{kind}` cannot be called as a function in this profile; write it as a line of the cell: `%{kind} …`")
    raise ValueError(f"`{kind}` is no line of a notebook")
