"""Texts in files: where they stand, in code, strings or comments."""
import bisect
import io
import re
import tokenize

from api import _text

PLACES = ("all", "code", "strings", "comments")


def expression_of(search, regex, case_sensitive, word):
    if not search:
        raise ValueError("nothing to search for: `search` is empty")
    source = search if regex else re.escape(search)
    try:
        return re.compile(rf"\b(?:{source})\b" if word else source, 0 if case_sensitive else re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"{search!r} is not a regular expression: {error}") from None


def candidates(paths, search, regex, case_sensitive):
    """Files that may contain it."""
    if regex or not case_sensitive:
        return paths
    return _text.containing(paths, search.encode("utf-8", "surrogateescape"))


def _spans(text):
    """[(start, end, is_comment)] of strings and comments of Python, in characters."""
    starts = [0]
    for line in _text.split(text):
        starts.append(starts[-1] + len(line))
    middle = {getattr(tokenize, name, None) for name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")} - {None}
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.ERRORTOKEN and token.string.strip():
                raise ValueError(f"not valid Python: line {token.start[0]}")
            if token.type in middle or token.type == tokenize.COMMENT:
                found.append((starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1], token.type == tokenize.COMMENT))
    except (tokenize.TokenError, SyntaxError, IndexError) as error:
        raise ValueError(f"not valid Python: {error}") from None
    return found


class Where:
    """Says of a match whether it stands where it was looked for."""

    def __init__(self, text, place, path):
        if place not in PLACES:
            raise ValueError(f"in_ {place!r}: {', '.join(PLACES)}")
        self.place = place
        if place == "all":
            return
        if not path.endswith((".py", ".pyi")):
            raise ValueError("strings and comments are known only in Python")
        self.spans = _spans(text)
        self.starts = [span[0] for span in self.spans]

    def has(self, match):
        if self.place == "all":
            return True
        index = bisect.bisect_right(self.starts, match.start()) - 1
        span = self.spans[index] if index >= 0 and match.start() < self.spans[index][1] else None
        if self.place == "code":
            is_last = index + 1 == len(self.spans) or match.end() <= self.starts[index + 1]
            return span is None and is_last
        return span is not None and match.end() <= span[1] and span[2] == (self.place == "comments")


def replace(expression, with_what, text, place, path):
    """The new text, and how often."""
    if place == "all":
        return expression.subn(with_what, text)
    where, count = Where(text, place, path), 0

    def one(match):
        nonlocal count
        if not where.has(match):
            return match[0]
        count += 1
        return match.expand(with_what) if isinstance(with_what, str) else with_what(match)

    return expression.sub(one, text), count


# Of a line that is shown with a match.
_SHOWN = 100


def _shown(text, start, end, col):
    line = text[start:end].strip()
    if len(line) <= _SHOWN:
        return line
    begin = max(0, min(col - _SHOWN // 4, end - start - _SHOWN))
    return ("…" if begin else "") + text[start + begin : min(end, start + begin + _SHOWN)].strip() + ("…" if start + begin + _SHOWN < end else "")


def places(expression, text, place, path):
    """(line, column, the line) of each; lines from 1, columns from 0 in characters."""
    where, ends, at = Where(text, place, path), None, 0
    for match in expression.finditer(text):
        if not where.has(match):
            continue
        if ends is None:
            ends = [found.end() for found in re.finditer(r"\r\n|\n|\r", text)]
        at = bisect.bisect_right(ends, match.start())
        start = ends[at - 1] if at else 0
        yield at + 1, match.start() - start, _shown(text, start, ends[at] if at < len(ends) else len(text), match.start() - start)
