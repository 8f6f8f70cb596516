"""Profiles a table: what its columns hold, without its rows."""

import csv
import datetime
import itertools
import math
import pathlib

DISTINCT_MAX = 10_000
MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}
BOOLEANS = {"true", "false", "yes", "no"}
SAMPLE = 64 * 1024


def _as_date(text):
    return datetime.datetime.fromisoformat(text) if "-" in text and len(text) >= 8 else None


class _Column:
    """The findings about one column so far. A kind that one value does not have is crossed off."""

    def __init__(self, name):
        self.name = name
        self.kinds = {"integer", "float", "date", "boolean"}
        self.count = self.missing = self.longest = 0
        self.values = {}
        self.is_full = False
        self.low = self.high = None  # of numbers
        self.first = self.last = None  # of texts
        self.total = 0.0

    def _try_number(self, text):
        try:
            number = int(text) if "integer" in self.kinds else float(text)
        except ValueError:
            self.kinds.discard("integer")
            try:
                number = float(text)
            except ValueError:
                self.kinds.discard("float")
                return
        if isinstance(number, float) and not math.isfinite(number):
            self.kinds -= {"integer", "float"}
            return
        self.low = number if self.low is None else min(self.low, number)
        self.high = number if self.high is None else max(self.high, number)
        self.total += number

    def add(self, text):
        text = text.strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        self.count += 1
        self.longest = max(self.longest, len(text))
        self.first = text if self.first is None else min(self.first, text)
        self.last = text if self.last is None else max(self.last, text)
        if text in self.values or len(self.values) < DISTINCT_MAX:
            self.values[text] = self.values.get(text, 0) + 1
        else:
            self.is_full = True
        if "float" in self.kinds:
            self._try_number(text)
        if "boolean" in self.kinds and text.lower() not in BOOLEANS:
            self.kinds.discard("boolean")
        if "date" in self.kinds:
            try:
                if _as_date(text) is None:
                    self.kinds.discard("date")
            except ValueError:
                self.kinds.discard("date")

    def kind(self):
        if not self.count:
            return "empty"
        return next((k for k in ("boolean", "integer", "float", "date") if k in self.kinds), "text")

    def result(self, top):
        kind = self.kind()
        found = {"name": self.name, "type": kind, "missing": self.missing, "distinct": len(self.values)}
        if self.is_full:
            found["distinct_is_least"] = True
        if kind in ("integer", "float"):
            found.update(min=self.low, max=self.high, mean=round(self.total / self.count, 6))
        elif kind != "empty":
            found.update(min=self.first[:80], max=self.last[:80], longest=self.longest)
        most = sorted(self.values.items(), key=lambda item: (-item[1], item[0]))[:top]
        found["top"] = [[value[:80], count] for value, count in most]
        return found


def _delimiter(sample):
    """The one that splits the first lines into the same number of fields, most of them."""
    best, score = ",", 0
    lines = sample.splitlines()[:20]
    for mark in (",", "\t", ";", "|"):
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
        width = max(set(widths), key=widths.count) if widths else 0
        if width > 1 and widths.count(width) * width > score:
            best, score = mark, widths.count(width) * width
    return best


def _rows_of_csv(path, delimiter, encoding):
    with open(path, newline="", encoding=encoding, errors="replace") as file:
        sample = file.read(SAMPLE)
        delimiter = delimiter or _delimiter(sample)
        yield delimiter
        file.seek(0)
        yield from csv.reader(file, delimiter=delimiter)


def _rows_of_parquet(path):
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("a Parquet file needs pyarrow, which is not installed here") from None
    file = pyarrow.parquet.ParquetFile(path)
    yield None
    yield list(file.schema_arrow.names)
    for batch in file.iter_batches(batch_size=1000):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns):
            yield ["" if value is None else str(value) for value in row]


def profile(path, delimiter=None, limit=None, top=5, encoding="utf-8-sig"):
    """{path, rows, delimiter, columns: [{name, type, missing, distinct, min, max, top, …}], ragged}"""
    is_parquet = pathlib.PurePath(path).suffix.lower() in (".parquet", ".pq")
    rows = _rows_of_parquet(path) if is_parquet else _rows_of_csv(path, delimiter, encoding)
    delimiter = next(rows)
    header = next(rows, None)
    if header is None:
        return {"path": str(path), "rows": 0, "delimiter": delimiter, "columns": [], "ragged": 0}
    columns = [_Column(name.strip() or f"column {i + 1}") for i, name in enumerate(header)]
    count = ragged = 0
    for row in itertools.islice(rows, limit):
        if not row:
            continue
        count += 1
        ragged += len(row) != len(columns)
        for column, value in zip(columns, row):
            column.add(value)
        for column in columns[len(row) :]:
            column.missing += 1
    return {"path": str(path), "rows": count, "delimiter": delimiter, "columns": [c.result(top) for c in columns], "ragged": ragged}
