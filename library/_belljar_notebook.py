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


def prun(function):
    import cProfile
    import pstats

    profile = cProfile.Profile()
    try:
        return profile.runcall(function)
    finally:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(20)


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


# --- names ---


def who(options):
    names = mine()
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
    rows = [(name, type(main()[name]).__name__, about(main()[name])) for name in mine()]
    if not rows:
        print("Interactive namespace is empty.")
        return
    rows.insert(0, ("Variable", "Type", "Data/Info"))
    wide = [max(len(row[i]) for row in rows) + 2 for i in range(2)]
    lines = [f"{a:<{wide[0]}}{b:<{wide[1]}}{c}" for a, b, c in rows]
    print(lines[0], "-" * max(len(line) for line in lines), *lines[1:], sep="\n")


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


def history(options):
    texts = main().get("In")
    for text in texts[1:-1] if isinstance(texts, list) else []:
        print(text)


def lsmagic(options):
    print("!command  name?  name??", *KNOWN, sep="\n")


KNOWN = (
    "%cd %pwd %env %set_env %pip %conda %run %ls %cat %mkdir %rm %cp %mv %sx %system",
    "%time %timeit %prun %who %whos %who_ls %reset %xdel %history %lsmagic %matplotlib %load_ext %autoreload",
    "%%bash %%sh %%script %%python %%time %%timeit %%prun %%capture %%writefile %%html %%markdown %%latex %%svg %%javascript",
)

TEXT = {
    "who": who, "whos": whos, "who_ls": lambda options: mine(), "reset": reset, "xdel": xdel, "reset_selective": xdel, "history": history,
    "hist": history, "lsmagic": lsmagic, "capture": capture,
}  # fmt: skip
CODE = {"value": value, "write": write, "timeit": timeit, "prun": prun}


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
    raise ValueError(f"`{kind}` is no line of a notebook")
