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


def debug(options):
    raise NotImplementedError("there is no debugger here; print the variables before the line that fails, or call the failing function again in a cell")


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


class CapturedIO:
    """Output of a cell with `%%capture`."""

    def __init__(self, out, err):
        self._out, self._err, self.outputs = out, err, []

    stdout = property(lambda self: self._out.getvalue() if self._out else "")
    stderr = property(lambda self: self._err.getvalue() if self._err else "")

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


captures = []


def capture(options):
    words = options.split()
    name = next((word for word in words if not word.startswith("-")), None)
    out = None if "--no-stdout" in words else StringIO()
    err = None if "--no-stderr" in words else StringIO()
    captures.append((name, CapturedIO(out, err), sys.stdout, sys.stderr))
    sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr


def release():
    """The end of a cell."""
    while captures:
        name, captured, sys.stdout, sys.stderr = captures.pop()
        if name and name.isidentifier():
            main()[name] = captured


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
    if isinstance(thing, (list, tuple, dict, set)):
        return f"n={len(thing)}"
    shape = getattr(thing, "shape", None)
    if isinstance(shape, tuple):
        return "x".join(str(n) for n in shape) + f" {getattr(thing, 'dtype', '')}".rstrip()
    text = " ".join(str(thing).split())
    return text if len(text) <= 60 else text[:57] + "..."


def whos(options):
    rows = [(name, type(main()[name]).__name__, about(main()[name])) for name in chosen(options)]
    if not rows:
        print("Interactive namespace is empty.")
        return
    rows.insert(0, ("Variable", "Type", "Data/Info"))
    wide = [max(len(row[i]) for row in rows) + 2 for i in range(2)]
    lines = [f"{a:<{wide[0]}}{b:<{wide[1]}}{c}" for a, b, c in rows]
    print(lines[0], "-" * max(len(line) for line in lines), *lines[1:], sep="\n")


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
    for name in mine():
        del main()[name]
    values = main().get("Out")
    if isinstance(values, dict):
        values.clear()


def xdel(options):
    for name in options.split():
        if name.isidentifier():
            main().pop(name, None)


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
    """`%history -n 2-4`: texts of cells, with their numbers."""
    texts = main().get("In")
    texts = texts[:-1] if isinstance(texts, list) else []
    words = [word for word in options.split() if not word.startswith("-")]
    wanted = numbers(" ".join(words)) or range(1, len(texts))
    for n in wanted:
        if n < len(texts):
            print(f"{n:4}: {texts[n]}" if "-n" in options.split() else texts[n])


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
        print(file.read())
    if kind != "pycat":
        print(f"(%{kind}: the file is shown and was not run; `%run {file.name}` runs it)", file=sys.stderr)


def lsmagic(options):
    print("!command  name?  name??", *KNOWN, sep="\n")


INSTEAD = {
    "save": "write the text of cell N to a file: `open(NAME, 'w').write(In[N])`", "store": "variables stay until the session ends; "
    "to keep one for longer, write it to a file, for example with json", "macro": "put the lines into a function", "notebook": "`In` has the texts of the cells",
    "recall": "`In[N]` has the text of cell N; write the lines again", "edit": "write a file with `%%writefile`, and run it with `%run`",
    "alias": "write a function: `def name(text):`, and in it the line `!command {text}`",
    "dhist": "use `%cd DIR`; `%cd -` goes back",
}  # fmt: skip
INSTEAD |= dict.fromkeys(("rep", "rerun"), INSTEAD["recall"]) | {"ed": INSTEAD["edit"]} | {"bookmark": INSTEAD["dhist"]}


KNOWN = (
    "%cd %pushd %popd %dirs %pwd %env %set_env %pip %conda %run %ls %cat %mkdir %rm %cp %mv %sx %system",
    "%time %timeit %prun %who %whos %who_ls %psearch %reset %reset_selective %xdel %history %pycat %lsmagic %matplotlib %load_ext %autoreload",
    "%%bash %%sh %%script %%python %%time %%timeit %%prun %%capture %%writefile %%html %%markdown %%latex %%svg %%javascript",
)

TEXT = {
    "who": who, "whos": whos, "who_ls": chosen, "reset": reset, "xdel": xdel, "reset_selective": reset_selective, "history": history,
    "hist": history, "lsmagic": lsmagic, "capture": capture, "debug": debug, "psearch": psearch,
    "pushd": pushd, "popd": popd, "dirs": dirs,
    "variables": variables,
}  # fmt: skip
CODE = {"value": value, "write": write, "show": show, "timeit": timeit, "prun": prun}

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
        raise NotImplementedError(f"`%{kind}` cannot be called as a function here; write it as a line of the cell: `%{kind} …`")
    raise ValueError(f"`{kind}` is no line of a notebook")
