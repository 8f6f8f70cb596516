"""A person at a terminal: starts the program with a pseudo-terminal of its own, types, and waits for words."""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import belljar
from screen import Screen

CONTROL_C, CONTROL_D, TAB, ESCAPE = b"\x03", b"\x04", b"\t", b"\x1b"
UP, DOWN, RIGHT, LEFT = b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D"
ROWS = 40


class Prompt:
    command = "shell"

    def __init__(self, who, *args, env=None, columns=100, rows=ROWS, **popen):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        env = {"TERM": "xterm", **(env or {})}
        os.fchown(slave, who.uid, who.gid) if os.getuid() == 0 else None

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = who.start(self.command, *args, env=env, stdin=slave, stdout=slave, stderr=slave,
                                 preexec_fn=own_terminal, **popen)  # fmt: skip
        self.slave = slave
        self.seen = b""  # everything so far
        self.at = 0  # up to where it was waited for
        self.screen = Screen(columns, rows)
        self.drawn = 0  # bytes that the screen has got
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def type(self, data):
        os.write(self.master, data if isinstance(data, bytes) else data.encode())

    def line(self, text):
        self.type(text + "\r")

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # its last process is gone
            return False
        self.seen += data
        return bool(data)

    def wait(self, words, hang=belljar.HANG_SECONDS):
        """Until these words came, behind those of the last time. Returns what came before them."""
        until = time.monotonic() + hang
        pattern = re.compile(re.escape(words.encode()) if isinstance(words, str) else words)
        while True:
            found = pattern.search(self.seen, self.at)
            if found:
                before = self.seen[self.at : found.start()]
                self.at = found.end()
                return before.decode("utf-8", "replace")
            if time.monotonic() > until or (not self.read(1) and self.process.poll() is not None):
                raise AssertionError(f"{words!r} did not come in {self.seen[self.at:]!r}")

    def cell(self, text, prompt=">>> "):
        """Types one line and returns what is printed until the next prompt."""
        self.line(text)
        self.wait("\n")
        return re.sub("\x1b\\[\\?2004[hl]", "", self.wait(prompt)).replace("\r\n", "\n")

    def look(self):
        """The lines on the screen."""
        self.screen.feed(self.decoder.decode(self.seen[self.drawn :]))
        self.drawn = len(self.seen)
        return self.screen.lines()

    def see(self, *last, hang=belljar.HANG_SECONDS):
        """Until the screen ends with these lines, and nothing below them."""
        until = time.monotonic() + hang
        while self.look()[-len(last) :] != list(last):
            if time.monotonic() > until or (not self.read(1) and self.process.poll() is not None):
                raise AssertionError("the screen is\n" + "\n".join(self.look()) + f"\nand not\n{last}")
        return self.screen.lines()

    def cursor(self):
        self.look()
        return self.screen.row, self.screen.column

    def resize(self, columns, rows=ROWS):
        self.look()
        self.screen.resize(columns, rows)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self, hang=belljar.HANG_SECONDS):
        """Waits for its end and returns the exit code; the terminal has to be as it was."""
        until = time.monotonic() + hang
        while self.process.poll() is None:
            self.read(0.2)
            assert time.monotonic() < until, f"it does not end: {self.seen[self.at:]!r}"
        while self.read(0):
            pass
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
