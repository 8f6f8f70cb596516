"""Groups log lines by what stays the same in them."""

import gzip
import pathlib
import re

GROUPS_MAX = 20_000
LINE_MAX = 2_000
LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARNING", "WARN", "NOTICE", "INFO", "DEBUG", "TRACE")

# In this order: a time is many numbers, and an address is one, too.
_MARKS = [
    ("<time>", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"),
    ("<time>", r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]"),
    ("<time>", r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b"),
    ("<time>", r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"),
    ("<date>", r"\b\d{4}-\d\d-\d\d\b"),
    ("<id>", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),
    ("<mail>", r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"),
    ("<ip>", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"),
    ("<url>", r"\bhttps?://[^\s\"'<>]+"),
    ("<text>", r"\"[^\"]*\"|'[^']*'"),
    ("<path>", r"(?<![\w.])(?:/[\w.@%+-]+){2,}/?"),
    ("<hex>", r"\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b"),
    ("<n>", r"(?<![A-Za-z_])(?:(?<![\w.])[+-])?\d+(?:[.,]\d+)*"),
]
_PATTERN = re.compile("|".join(f"(?P<m{i}>{pattern})" for i, (_, pattern) in enumerate(_MARKS)))
_LEVEL = re.compile(r"\b(" + "|".join(LEVELS) + r")\b", re.IGNORECASE)


def template_of(line):
    """The line with marks instead of the parts that differ from line to line."""
    return _PATTERN.sub(lambda match: _MARKS[int(match.lastgroup[1:])][0], line)


def _level_of(line):
    found = _LEVEL.search(line[:200])
    level = found.group(1).upper() if found else None
    return "WARNING" if level == "WARN" else level


def _lines_of(source):
    if not isinstance(source, (str, pathlib.PurePath)):
        yield from source
        return
    opens = gzip.open if str(source).endswith(".gz") else open
    with opens(source, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def _rank(group):
    return LEVELS.index(group["level"]) if group["level"] in LEVELS else len(LEVELS)


def digest(source, top=20, level=None, contains=None, order="count"):
    """{lines, templates, levels, groups: [{template, count, level, first_line, last_line, example}], more}"""
    groups, levels, count, crowded = {}, {}, 0, 0
    wanted = "WARNING" if level and level.upper() == "WARN" else level and level.upper()
    for number, line in enumerate(_lines_of(source), 1):
        line = line.rstrip("\r\n")[:LINE_MAX]
        if not line.strip() or (contains is not None and contains not in line):
            continue
        found = _level_of(line)
        if wanted and found != wanted:
            continue
        count += 1
        if found:
            levels[found] = levels.get(found, 0) + 1
        key = template_of(line)
        group = groups.get(key)
        if group is None and len(groups) == GROUPS_MAX:
            crowded += 1
        elif group is None:
            groups[key] = {"template": key[:300], "count": 1, "level": found, "first_line": number, "last_line": number, "example": line[:300]}
        else:
            group["count"] += 1
            group["last_line"] = number
    ranked = sorted(groups.values(), key=lambda g: (_rank(g) if order == "level" else 0, -g["count"], g["first_line"]))
    result = {"lines": count, "templates": len(groups), "levels": levels, "groups": ranked[:top], "more": max(0, len(ranked) - top)}
    if crowded:
        result["not_grouped"] = crowded
    return result
