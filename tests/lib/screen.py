"""A small model of a terminal's screen: what somebody would see after these bytes.

It knows what line editors and our own output use, as xterm does it: wrapping that waits for the next character, wide
characters, relative and absolute cursor movement, erasing, colours. A sequence that it does not know is an error, so
that a test cannot pass by overlooking one.
"""
import re
import unicodedata

SEQUENCE = re.compile(r"\x1b\[([?]?)([0-9;]*)([A-Za-z])")


def width(c):
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Screen:
    def __init__(self, columns=100, rows=40):
        self.columns, self.rows = columns, rows
        self.cells = [self.blank() for _ in range(rows)]
        self.history = []  # rows that were scrolled off
        self.row = self.column = 0
        self.wraps = False  # the next character goes to the next row
        self.color = ""
        self.modes = set()
        self.bells = 0
        self.pending = ""

    def blank(self):
        return [(" ", "")] * self.columns

    def feed(self, data):
        """`data` is text; a sequence may be cut anywhere."""
        text, self.pending = self.pending + data, ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    if re.fullmatch(r"\x1b(\[[?]?[0-9;]*)?", text[at:]):
                        self.pending = text[at:]
                        return
                    raise AssertionError(f"unknown sequence {text[at:at + 20]!r}")
                self.sequence(*found.groups())
                at = found.end()
                continue
            at += 1
            self.character(c)

    def character(self, c):
        if c == "\r":
            self.column, self.wraps = 0, False
        elif c == "\n":
            self.line_feed()
        elif c == "\b":
            self.column, self.wraps = max(0, self.column - 1), False
        elif c == "\a":
            self.bells += 1
        elif c == "\t":
            self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
        else:
            assert c >= " ", f"control character {c!r}"
            self.put(c)

    def put(self, c):
        wide = width(c)
        if not wide:
            before = self.column if self.wraps else max(0, self.column - 1)
            text, color = self.cells[self.row][before]
            self.cells[self.row][before] = (text + c, color)
            return
        if self.wraps or self.column + wide > self.columns:
            self.column, self.wraps = 0, False
            self.line_feed()
        self.cells[self.row][self.column] = (c, self.color)
        if wide == 2:
            self.cells[self.row][self.column + 1] = ("", self.color)
        self.column += wide
        if self.column >= self.columns:
            self.column, self.wraps = self.columns - 1, True

    def line_feed(self):
        self.wraps = False
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.history.append(self.cells.pop(0))
        self.cells.append(self.blank())

    def sequence(self, private, numbers, final):
        values = [int(n) if n else 0 for n in numbers.split(";")]
        n = max(1, values[0])
        if final == "m":
            self.color = "" if values[-1] == 0 else numbers
            return
        if private:
            assert final in "hl", (numbers, final)
            (self.modes.add if final == "h" else self.modes.discard)(values[0])
            return
        if final == "J":
            self.erase(values[0])
            return
        if final == "K":
            assert values[0] == 0
            self.cells[self.row][self.column :] = self.blank()[self.column :]
            return
        self.wraps = False
        if final == "A":
            self.row = max(0, self.row - n)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + n)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + n)
        elif final == "D":
            self.column = max(0, self.column - n)
        elif final == "H":
            self.row, self.column = 0, 0
        else:
            raise AssertionError(f"unknown sequence {numbers}{final}")

    def erase(self, how):
        assert how in (0, 2), how
        first = 0 if how == 2 else self.row + 1
        if how == 0:
            self.cells[self.row][self.column :] = self.blank()[self.column :]
        for i in range(first, self.rows):
            self.cells[i] = self.blank()

    def resize(self, columns, rows):
        """As terminals do that do not lay lines out anew."""
        for row in self.cells:
            row[:] = (row + [(" ", "")] * columns)[:columns]
        while rows < len(self.cells):
            if self.row < len(self.cells) - 1:
                self.cells.pop()
            else:
                self.history.append(self.cells.pop(0))
                self.row -= 1
        self.columns = columns
        while len(self.cells) < rows:
            self.cells.append(self.blank())
        self.rows, self.column = rows, min(self.column, columns - 1)

    def lines(self):
        """Rows without spaces at their end, up to the last that is not empty."""
        rows = ["".join(c for c, _ in row).rstrip() for row in self.history + self.cells]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def colored(self, row=None):
        """The words of a row that have a colour: [(word, colour)]."""
        found, row = [], self.cells[self.row if row is None else row]
        for c, color in row:
            if found and found[-1][1] == color:
                found[-1][0] += c
            else:
                found.append([c, color])
        return [(text, color) for text, color in found if color]
