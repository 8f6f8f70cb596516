"""sys.stdin of a program that a person runs at a terminal: a line is asked for when the program wants one, and typed there."""

import io
import sys

import _belljar_call


class TypedInput(io.TextIOBase):
    """Lines that somebody types. It has no descriptor: other processes of the program find an empty input."""

    name, mode, encoding, errors = "<stdin>", "r", "utf-8", "strict"

    def __init__(self):
        self._rest = ""

    def readable(self):
        return True

    def isatty(self):
        return True

    def readline(self, size=-1, /):
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if not self._rest and size != 0:
            self._rest = _ask()
        size = len(self._rest) if size is None or size < 0 else size
        line, self._rest = self._rest[:size], self._rest[size:]
        return line

    def read(self, size=-1, /):
        parts, left = [], None if size is None or size < 0 else size
        while left is None or left > 0:
            line = self.readline(-1 if left is None else left)
            if not line:
                break
            parts.append(line)
            left = None if left is None else left - len(line)
        return "".join(parts)


def _ask(is_hidden=False):
    from json import loads

    is_ok, answer = _belljar_call.call("input.line", '{"hidden": true}' if is_hidden else "{}", True)  # what is typed after an interrupt is for the next one
    value = loads(answer)
    if not is_ok:
        raise OSError(value["message"])
    return value or ""


def begin(has_getpass):
    """Before a program or a cell. An object that the program has put into `sys.stdin` stays."""
    if has_getpass:
        offer_getpass()
    now = sys.stdin
    if now is not None and type(now) not in (io.TextIOWrapper, TypedInput):
        return
    if now is None or now.closed or (type(now) is io.TextIOWrapper and now.fileno() == 0):
        sys.stdin = TypedInput()


def offer_getpass():
    """getpass.getpass() looks for a terminal, which is not in here."""
    import getpass

    real = getpass.getpass
    if getattr(real, "_belljar", False):
        return

    def ask(prompt="Password: ", stream=None):
        typed = sys.stdin
        if type(typed) is not TypedInput:
            return real(prompt, stream)
        print(prompt, end="", file=stream or sys.stdout, flush=True)
        line = _ask(is_hidden=True)
        if not line:
            raise EOFError
        return line.rstrip("\n")

    ask._belljar, ask.__name__, ask.__doc__ = True, real.__name__, real.__doc__
    getpass.getpass = ask
