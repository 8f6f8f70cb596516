"""Text of others, made safe to print."""
from __future__ import annotations

import unicodedata
from typing import Dict

# Terminals act on control characters (Cc); format characters (Cf) hide or reorder text; surrogates (Cs) cannot be encoded.
_UNSAFE = {"Cc", "Cf", "Cs"}
_KEPT = "\n\t"
_CACHED = 0x10000


class _Escapes(Dict[int, str]):
    """For str.translate(): each character is looked up once."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        is_safe = c in _KEPT or unicodedata.category(c) not in _UNSAFE
        text = c if is_safe else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        if code < _CACHED:
            self[code] = text
        return text


_escapes = _Escapes()


def printable(text: str) -> str:
    """Replaces characters that a terminal obeys, or that hide text, by escapes such as `\\x1b`."""
    return text.translate(_escapes)
