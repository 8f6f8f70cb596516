"""`%debug`: what the last exception of a cell left behind. guest/notebook_call.c calls `debug(text, error, may_ask)`."""

import sys

FRAMES, NAMES, LENGTH = 30, 40, 200

NOBODY = (
    "nobody can type commands of the debugger here, so this is a report; there is a debugger at the prompt of `belljar shell`, "
    "in notebooks, and over HTTP for a cell with `stdin_open`, or with the commands in `stdin`"
)
JUDGED = "the debugger itself needs profile `open`, since it runs code that the profile has not seen"


def main():
    return sys.modules["__main__"].__dict__


def has_lines():
    """Somebody types, or the cell came with an input; an empty one is /dev/null."""
    from os import fstat
    from stat import S_ISCHR

    try:
        return sys.stdin.isatty() or not S_ISCHR(fstat(0).st_mode)
    except (AttributeError, OSError, ValueError):
        return False


def is_of_library(path):
    import os

    return path.startswith(("<frozen ", os.path.dirname(os.__file__) + "/")) or "/dist-packages/" in path or "/site-packages/" in path


def shown(thing):
    try:
        text = repr(thing)
    except Exception as error:
        text = f"<repr failed: {type(error).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= LENGTH else text[:LENGTH] + "…"


def print_frame(frame, number):
    import linecache

    code = frame.f_code
    line = linecache.getline(code.co_filename, number).strip()
    print(f"{code.co_filename}, line {number}, in {code.co_name}{': ' if line else ''}{line}")
    if is_of_library(code.co_filename):
        return
    if frame.f_locals is frame.f_globals:
        print("    (its names are the session's: %whos)")
        return
    names = [name for name in frame.f_locals if not name.startswith(("__", "."))]
    for name in names[:NAMES]:
        print(f"    {name} = {shown(frame.f_locals[name])}")
    if len(names) > NAMES:
        print(f"    … {len(names) - NAMES} more")


def report(error):
    """Prints where it came from, with the variables of the program's functions: the innermost last, as in a traceback."""
    import traceback

    frames = list(traceback.walk_tb(error.__traceback__))
    if len(frames) > FRAMES:
        print(f"… {len(frames) - FRAMES} frames before")
    for frame, number in frames[-FRAMES:]:
        print_frame(frame, number)
    print("".join(traceback.format_exception_only(type(error), error)), end="")


def debug(text, error, may_ask):
    if text.strip():
        if not may_ask or not has_lines():
            raise NotImplementedError(f"the statement cannot be run in a debugger here: {NOBODY if may_ask else JUDGED}")
        import pdb

        pdb.run(text, main())
    elif error is None:
        print("no cell has failed so far")
    elif error.__traceback__ is None:
        print(f"{type(error).__name__}: nothing of the cell ran, so there is nothing to look at")
    elif may_ask and has_lines():
        import pdb

        pdb.post_mortem(error.__traceback__)
    else:
        report(error)
        print(f"(%debug: {NOBODY if may_ask else JUDGED})", file=sys.stderr)
