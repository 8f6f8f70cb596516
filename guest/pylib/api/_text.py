"""Files as text that can be written back: encoding, byte order mark, line ends and mode stay as they are."""
import codecs
import os
import re
import shutil
import stat
import tempfile
import time

_LINE_END = re.compile(r"\r\n|\n|\r")
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def split(text):
    """Lines with their ends; only LF, CR LF and CR end a line."""
    lines, start = [], 0
    for found in _LINE_END.finditer(text):
        lines.append(text[start : found.end()])
        start = found.end()
    if start < len(text):
        lines.append(text[start:])
    return lines


def line_end(text):
    """The one most lines have, or the usual one."""
    counts = {}
    for found in _LINE_END.finditer(text):
        counts[found.group()] = counts.get(found.group(), 0) + 1
    return max(counts, key=counts.get) if counts else "\n"


def with_line_end(text, end):
    return _LINE_END.sub(lambda found: end, text)


def count_lines(text):
    return len(_LINE_END.findall(text)) + (text != "" and text[-1] not in "\r\n")


def _declared(data):
    for line in data.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found:
            try:
                return codecs.lookup(found.group(1).decode("ascii")).name
            except (LookupError, UnicodeDecodeError):
                return None
    return None


class Text:
    """One file. `text` may be changed; save() writes it if it was."""

    def __init__(self, path, encoding=None):
        self.path = os.fspath(path)
        with open(self.path, "rb") as file:
            self.before = os.fstat(file.fileno())
            data = file.read()
        if not stat.S_ISREG(self.before.st_mode):
            raise OSError(f"{self.path} is not a regular file")
        self.mark = b""
        for mark, name in _MARKS:
            if encoding is None and data.startswith(mark):
                self.mark, encoding = mark, name
        if encoding is None and self.path.endswith((".py", ".pyi")):
            encoding = _declared(data)
        self.encoding = encoding or "utf-8"
        # Bytes that are no text in that encoding come through as they are.
        self.errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        self.text = self.original = data[len(self.mark) :].decode(self.encoding, self.errors)
        self.line_end = line_end(self.text)

    @property
    def is_changed(self):
        return self.text != self.original

    def save(self):
        if not self.is_changed:
            return
        now = os.stat(self.path)
        if (now.st_ino, now.st_mtime_ns, now.st_size) != (self.before.st_ino, self.before.st_mtime_ns, self.before.st_size):
            raise OSError(f"{self.path} was changed by somebody else meanwhile")
        write_bytes(self.path, self.mark + self.text.encode(self.encoding, self.errors))


def write_bytes(path, data):
    """All of it or nothing: a new file takes the old one's place, with its mode. A link stays a link."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".belljar-", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            mode = stat.S_IMODE(os.stat(target).st_mode)
        except FileNotFoundError:
            mode = 0o644
        os.chmod(name, mode)
        os.rename(name, target)
    except BaseException:
        try:
            os.unlink(name)
        except OSError:
            pass
        raise


def backup(path):
    """A copy beside the file, its times and mode kept. Returns its path, or None where there is no file."""
    path = os.fspath(path)
    if not os.path.exists(path):
        return None
    stem = f"{path}.backup_{time.strftime('%Y%m%d_%H%M%S')}"
    name, number = stem, 1
    while os.path.lexists(name):
        name, number = f"{stem}_{number}", number + 1
    shutil.copy2(path, name)
    return name
