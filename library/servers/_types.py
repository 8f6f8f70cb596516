"""Python's types for JSON schemas. An invalid part of a schema stands for any value."""

import typing

_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_DEPTH = 3
_CHOICES = 20


def _choices(values):
    plain = [value for value in values if value is None or isinstance(value, (str, int, bool))]
    return typing.Literal[tuple(plain)] if plain and len(plain) == len(values) <= _CHOICES else None


def _union(kinds):
    return typing.Union[tuple(kinds)] if kinds else typing.Any


def _of(schema, depth):
    if not isinstance(schema, dict) or depth > _DEPTH:
        return typing.Any
    if isinstance(schema.get("enum"), list) and (found := _choices(schema["enum"])):
        return found
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return _union([_of(one, depth + 1) for one in schema[word][:_CHOICES]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([_of({**schema, "type": one, "enum": None}, depth + 1) for one in kind[:_CHOICES] if isinstance(one, str)])
    if kind == "array":
        return list[_of(schema["items"], depth + 1)] if "items" in schema else list
    if kind == "object":
        return dict
    return _PLAIN.get(kind, typing.Any) if isinstance(kind, str) else typing.Any


def annotation(schema, is_optional):
    """Of a parameter."""
    kind = _of(schema, 0)
    return typing.Optional[kind] if is_optional and kind is not typing.Any else kind


def result_members(tool):
    """{name: schema} of a tool's declared result."""
    schema = tool.get("output")
    members = schema.get("properties") if isinstance(schema, dict) else None
    return members if isinstance(members, dict) else {}


def result_type(module, tool):
    """The type of a tool's result: a dictionary with named members if declared, else text or parts."""
    members = result_members(tool)
    if not members:
        return _of(tool.get("output"), 0)
    name = "".join(c for c in tool["name"].title() if c.isalnum()) + "Result"
    kind = typing.TypedDict(name, {key: _of(about, 1) for key, about in members.items()}, total=False)
    kind.__module__ = module
    return kind
