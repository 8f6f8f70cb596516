"""Files as text that can be written back: encoding, byte order mark, line ends and mode stay as they are."""
import codecs
import contextlib
import contextvars
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time

_LOCK_SECONDS = 10

# Directories that are looked through for a missing file.
_NEAR_FOLDERS = 500

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
        self.before, data = _read(self.path)
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
        if self.is_changed:
            write_bytes(self.path, self.mark + self.text.encode(self.encoding, self.errors), self.before)


# ---- several changes, one write ----


class Batch:
    """While it is open, what is written waits, and is what is read; the end writes every file once."""

    def __init__(self, dry_run=False):
        self.dry_run = dry_run
        self.pending = {}  # path: (what the file was before, its bytes then, those to be written)
        self.backups = {}
        self.failed = []  # (path, error) of writes

    def __enter__(self):
        self.outer = _open.get()
        if self.outer is not None:  # whose end it waits for
            self.pending = dict(self.outer.pending) if self.dry_run else self.outer.pending
            self.backups = self.outer.backups
            self.dry_run = self.dry_run or self.outer.dry_run
        _open.set(self)
        return self

    def __exit__(self, kind, error, trace):
        _open.set(self.outer)
        if kind is None and self.outer is None and not self.dry_run:
            self.write()

    def write(self):
        from api import _progress

        told = _progress.Progress("writing", len(self.pending))
        for path, (before, old, new) in self.pending.items():
            try:
                if new != old:
                    _replace(path, new, before)
            except OSError as error:
                self.failed.append((path, error))
            told.step()


_open = contextvars.ContextVar("batch", default=None)


def _is_pending(path):
    batch = _open.get()
    return batch is not None and os.path.realpath(path) in batch.pending


def exists(path):
    return _is_pending(path) or os.path.exists(path)


def _read(path):
    """The file's status, and its bytes."""
    if _is_pending(path):
        before, _, data = _open.get().pending[os.path.realpath(path)]
        return before, data
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(f"{path} is not a regular file")
        return before, file.read()


def _near(path):
    """A file that was probably meant, or None."""
    import difflib

    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        names = []
    close = difflib.get_close_matches(name, names, 1, 0.8)
    if close:
        return os.path.join(folder, close[0])
    for count, (here, folders, files) in enumerate(os.walk(os.getcwd())):
        if name in files:
            return os.path.join(here, name)
        if count == _NEAR_FOLDERS:
            break
        folders[:] = [n for n in folders if n[0] != "." and n != "node_modules"]
    return None


def open_or_tell(path):
    """For the tool read_file. Of a missing file the error names one that is there."""
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        near = _near(path)
        if near is None:
            raise
        near = os.path.realpath(near)
        short = os.path.relpath(near)
        raise FileNotFoundError(error.errno, f"{error.strerror}; there is {near if short.startswith('..') else short}", path) from None


def _skip_lines(file, count, newline):
    """The offset of the line after so many, and how many of them there were."""
    offset, passed, last = 0, 0, newline
    file.seek(0)
    while passed < count and (data := file.read(1 << 16)):
        here, last = data.count(newline), data
        if passed + here < count:
            passed, offset = passed + here, offset + len(data)
            continue
        at = 0
        while passed < count:
            at, passed = data.index(newline, at) + len(newline), passed + 1
        return offset + at, passed
    return offset, passed + (not last.endswith(newline))


def _first_lines(data, count, newline):
    end = 0
    for _ in range(count):
        found = data.find(newline, end)
        if found < 0:
            return data
        end = found + len(newline)
    return data[:end]


def print_page(path, limit, offset=0, line=0, lines=0):
    """For the tool read_file: in one line the file's size, the page's end, its first line and the one after it; then the page, as a rule whole lines."""
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise OSError(f"{path} is not a regular file")
        head = file.read(4096)
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        newline = "\n".encode(encoding)
        skipped = 0
        if line:
            offset, skipped = _skip_lines(file, line - 1, newline)
        file.seek(offset)
        data = file.read(limit)
    if encoding == "utf-8" and b"\0" in head:
        raise ValueError(f"{path} is not text and has {before.st_size} bytes: read it with code and print only what you need")
    if lines:
        data = _first_lines(data, lines, newline)
    end = data.rfind(newline) + len(newline) if newline in data else 0
    if offset + len(data) < before.st_size and end > len(data) // 2:
        data = data[:end]
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(data, offset + len(data) >= before.st_size)
    print(before.st_size, offset + len(data) - len(decoder.getstate()[0]), line, line and skipped + 1 + text.count("\n"))
    print(text.removeprefix("\ufeff"), end="")


def containing(paths, needle):
    """Those of the files that contain these bytes, or may: in another encoding, or too large to be looked through."""
    import _belljar_code

    found, skipped, _ = _belljar_code.scan(paths, "bytes", needle)
    chosen = set(found) | {path for path, why in skipped if why != "binary"}
    if _open.get() is not None:
        chosen |= {path for path in paths if _is_pending(path)}
    return [path for path in paths if path in chosen]


def _is_same(a, b):
    return (a.st_dev, a.st_ino, a.st_mtime_ns, a.st_size) == (b.st_dev, b.st_ino, b.st_mtime_ns, b.st_size)


@contextlib.contextmanager
def _lock(path, before):
    """Two who change one file at the same time: the second one sees that it is another file now."""
    with open(path, "rb") as file:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise OSError(f"{path} is being written by somebody else") from None
                time.sleep(0.01)
        if not _is_same(os.stat(path), before):
            raise OSError(f"{path} was changed by somebody else meanwhile")
        yield


def write_bytes(path, data, before=None):
    """All of it or nothing. With `before`, only if the file is still what it was then. In a batch it waits for the end."""
    if before is not None and not _is_same(os.stat(path), before):
        raise OSError(f"{path} was changed by somebody else meanwhile")
    batch, real = _open.get(), os.path.realpath(path)
    if batch is None:
        _replace(real, data, before)
        return
    if real in batch.pending:
        before, old, _ = batch.pending[real]
    elif os.path.exists(real):
        now, old = _read(real)
        before = before or now
    else:
        before = old = None
    batch.pending[real] = (before, old, data)


def _replace(path, data, before):
    if before is None:
        _put(path, data)
    else:
        with _lock(path, before):
            _put(path, data)


def _put(target, data):
    """A new file takes the old one's place, with its mode."""
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


def read_only(path, error):
    """The answer for a place where nothing can be written, once for all its files; None: it is something else."""
    if not isinstance(error, OSError) or error.errno != errno.EROFS:
        return None
    return {"error": f"{path} cannot be written: the directory is read-only", "hint": "ask the user to grant it with :rw, or work on a copy in /workspace"}


def backup(path):
    """A copy beside the file, its times and mode kept. Returns its path, or None where there is no file. One for a batch."""
    path = os.fspath(path)
    batch, real = _open.get(), os.path.realpath(path)
    if not os.path.exists(path) or (batch is not None and batch.dry_run):
        return None
    if batch is not None and real in batch.backups:
        return batch.backups[real]
    stem = f"{path}.backup_{time.strftime('%Y%m%d_%H%M%S')}"
    name, number = stem, 1
    while os.path.lexists(name):
        name, number = f"{stem}_{number}", number + 1
    shutil.copy2(path, name)
    if batch is not None:
        batch.backups[real] = name
    return name


def told_of_backups(count):
    """A sentence for the result: a commit of everything would have them."""
    return f"{count} {'backup' if count == 1 else 'backups'} beside the files (*.backup_*): leave them out of commits; create_backup=False makes none"
