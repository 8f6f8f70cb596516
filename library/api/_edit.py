"""Python files as bytes with a tree, and edits of them that are checked before they are written."""
import ast
import re
import warnings

from api import _text

_LINE_END = re.compile(rb"\r\n|\n|\r")


def compiles(text, path):
    try:
        with warnings.catch_warnings():  # what the file says of `is 1` is not for who asked
            warnings.simplefilter("ignore")
            compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class Source:
    """A file, its tree, and where its lines begin in UTF-8. Raises SyntaxError for what is no Python."""

    def __init__(self, path):
        self.file = _text.Text(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(self.file.text)
        self.data = self.file.text.encode("utf-8")
        self.starts = [0] + [found.end() for found in _LINE_END.finditer(self.data)]
        self.edits = []

    def start(self, node):
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def indent(self, at):
        """The blanks that begin the line of a place."""
        line = self.data[self.line_start(at) :]
        return line[: len(line) - len(line.lstrip(b" \t\f"))].decode()

    def line_start(self, at):
        return max(self.data.rfind(b"\n", 0, at), self.data.rfind(b"\r", 0, at)) + 1

    def line_stop(self, at):
        """Behind the end of the line."""
        found = _LINE_END.search(self.data, at)
        return found.end() if found else len(self.data)

    def replace(self, start, end, text):
        self.edits.append((start, end, text.encode("utf-8")))

    def result(self):
        data, last = self.data, len(self.data)
        for start, end, new in sorted(self.edits, key=lambda e: e[:2], reverse=True):
            if end > last:
                raise ValueError("edits overlap")
            data, last = data[:start] + new + data[end:], start
        return data.decode("utf-8")

    def save(self, create_backup, dry_run):
        """Writes the edits, unless the file would stop being Python."""
        text = self.result()
        return put(self.file, text, create_backup, dry_run)


def put(file, text, create_backup, dry_run):
    """{modified, backup}; a Python file that was one stays one, or nothing is written."""
    if file.path.endswith((".py", ".pyi")) and compiles(file.text, file.path) and not compiles(text, file.path):
        raise ValueError(f"{file.path} would no longer be valid Python; nothing was written")
    file.text = text
    done = {"modified": file.is_changed}
    if dry_run:
        return {**done, "dry_run": True}
    if file.is_changed:
        done["backup"] = _text.backup(file.path) if create_backup else None
        file.save()
    return done


def parse(text, mode="exec"):
    """The tree of a text; it is not run. Raises what the parser raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)
