"""The shape of JSON data, and values out of it by a path."""

import gzip
import json
import operator
import re

DEPTH_MAX = 200
KEYS_MAX = 50
ITEMS_MAX = 1_000

_STEP = re.compile(
    r"""\.\.(?P<deep>[\w-]+|\*)
      | \.?\*(?P<any>)
      | \.?(?P<key>[A-Za-z_][\w-]*)
      | \[\s*(?P<index>-?\d+)\s*\]
      | \[\s*(?P<low>-?\d*)\s*:\s*(?P<high>-?\d*)\s*\]
      | \[\s*\*\s*\](?P<all>)
      | \[\s*(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\s*\]
      | \[\?\s*(?P<test>[\w.-]+)\s*(?:(?P<how>==|!=|<=|>=|<|>)\s*(?P<value>[^\]]+?)\s*)?\]
    """,
    re.VERBOSE,
)
_COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MISSING = object()


def load(path):
    """The data of a file; of JSON Lines a list."""
    name = str(path)
    opens = gzip.open if name.endswith(".gz") else open
    with opens(path, "rt", encoding="utf-8-sig") as file:
        if re.search(r"\.(jsonl|ndjson)(\.gz)?$", name):
            return [json.loads(line) for line in file if line.strip()]
        return json.load(file)


# --- shapes ---


def _kind(value):
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _short(shape):
    return shape["type"] if set(shape) == {"type"} else shape


def _merge(shapes):
    """One shape for several values of one place."""
    kinds = sorted({shape["type"] for shape in shapes})
    merged = {"type": "|".join(kinds)}
    objects = [shape["keys"] for shape in shapes if "keys" in shape]
    if objects:
        keys = {}
        for found in objects:
            for key, shape in found.items():
                keys.setdefault(key, []).append(shape if isinstance(shape, dict) else {"type": shape})
        merged["keys"] = {key: _short(_merge(found)) for key, found in list(keys.items())[:KEYS_MAX]}
        rare = sorted(key for key, found in keys.items() if len(found) < len(objects))[:KEYS_MAX]
        if rare:
            merged["optional"] = rare
    arrays = [shape for shape in shapes if "length" in shape]
    if arrays:
        merged["length"] = max(shape["length"] for shape in arrays)
        items = [shape["items"] for shape in arrays if "items" in shape]
        if items:
            merged["items"] = _short(_merge([i if isinstance(i, dict) else {"type": i} for i in items]))
    return merged


def shape(value, depth=6):
    """Describes a value: types, keys, lengths. Arrays are described by their first thousand items."""
    found = {"type": _kind(value)}
    if isinstance(value, dict) and depth > 0:
        found["keys"] = {str(key): _short(shape(item, depth - 1)) for key, item in list(value.items())[:KEYS_MAX]}
        if len(value) > KEYS_MAX:
            found["more_keys"] = len(value) - KEYS_MAX
    elif isinstance(value, list):
        found["length"] = len(value)
        if value and depth > 0:
            found["items"] = _short(_merge([shape(item, depth - 1) for item in value[:ITEMS_MAX]]))
    return found


# --- paths ---


def _values(value):
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _deep(value, key, depth=0):
    if depth > DEPTH_MAX:
        return
    if isinstance(value, dict) and (key == "*" or key in value):
        yield from value.values() if key == "*" else [value[key]]
    for item in _values(value):
        yield from _deep(item, key, depth + 1)


def _field(value, path):
    for key in path.split("."):
        value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _literal(text):
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{text} is neither a number, a text in quotes, true, false nor null") from None


def _passes(item, test, how, wanted):
    value = _field(item, test)
    if value is _MISSING or how is None:
        return value is not _MISSING
    try:
        return bool(_COMPARE[how](value, wanted))
    except TypeError:  # a text and a number
        return False


def _take(value, step):
    """The values that one step selects from one value."""
    part = step.groupdict()
    if part["deep"] is not None:
        return list(_deep(value, part["deep"]))
    if part["any"] is not None or part["all"] is not None:
        return _values(value)
    if part["test"] is not None:
        wanted = _literal(part["value"]) if part["how"] else None
        return [item for item in _values(value) if _passes(item, part["test"], part["how"], wanted)]
    if part["index"] is not None or part["low"] is not None:
        if not isinstance(value, list):
            return []
        if part["low"] is not None:
            return value[slice(*(int(part[end]) if part[end] else None for end in ("low", "high")))]
        index = int(part["index"])
        return [value[index]] if -len(value) <= index < len(value) else []
    key = part["key"] if part["key"] is not None else _literal(part["quoted"])
    return [value[key]] if isinstance(value, dict) and key in value else []


def query(data, path, limit=1000, count_only=False):
    """The values that the path leads to, at most `limit`; or how many there are."""
    found, at, path = [data], 0, path.strip().removeprefix("$")
    while at < len(path):
        step = _STEP.match(path, at)
        if not step:
            raise ValueError(f"the path cannot be read from {path[at:at + 20]!r} on")
        found = [value for item in found for value in _take(item, step)]
        at = step.end()
    return len(found) if count_only else found[:limit]
