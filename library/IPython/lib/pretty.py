"""Texts of objects that have `_repr_pretty_`. Everything else has its repr(), on one line."""

import sys
from _io import StringIO

LEVELS = 50


class group:
    def __init__(self, printer, open, close):
        self.printer, self.open, self.close = printer, open, close

    def __enter__(self):
        self.printer.begin_group(0, self.open)

    def __exit__(self, *error):
        self.printer.end_group(0, self.close)


class PrettyPrinter:
    """A method `_repr_pretty_(printer, cycle)` writes to it."""

    def __init__(self, output, max_width=79, newline="\n", max_seq_length=1000):
        self.output, self.max_width, self.newline, self.max_seq_length = output, max_width, newline, max_seq_length
        self.indentation, self.stack = 0, []

    def text(self, thing):
        self.output.write(thing)

    def breakable(self, sep=" "):
        self.output.write(sep)

    def break_(self):
        self.output.write(self.newline + " " * self.indentation)

    def indent(self, by):
        return group(self, "", "")

    def group(self, indent=0, open="", close=""):
        return group(self, open, close)

    def begin_group(self, indent=0, open=""):
        self.text(open)

    def end_group(self, dedent=0, close=""):
        self.text(close)

    def flush(self):
        pass

    def pretty(self, thing):
        method = getattr(type(thing), "_repr_pretty_", None)
        if not callable(method) or len(self.stack) == LEVELS:
            self.text(repr(thing))
            return
        cycle = any(thing is other for other in self.stack)
        self.stack.append(thing)
        try:
            method(thing, self, cycle)
        finally:
            self.stack.pop()


RepresentationPrinter = PrettyPrinter


def pretty(obj, verbose=False, max_width=79, newline="\n", max_seq_length=1000):
    text = StringIO()
    PrettyPrinter(text, max_width, newline, max_seq_length).pretty(obj)
    return text.getvalue()


def pprint(obj, verbose=False, max_width=79, newline="\n", max_seq_length=1000):
    sys.stdout.write(pretty(obj, verbose, max_width, newline, max_seq_length) + newline)


def for_type(kind, function):
    """How an object is shown is its own matter here."""


def for_type_by_name(module, name, function):
    """Does nothing, like for_type()."""
