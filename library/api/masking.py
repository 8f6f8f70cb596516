"""Finds secrets and personal data in texts, files and values, and replaces them with labels.

What a program prints is masked outside in any case; this is for what it writes to files or decides by.
"""
import os as _os

import _belljar_mask

from api import _parameters

__all__ = ["mask_secrets", "detect_secrets", "mask_result", "PIIDetector"]

FILE_MAX = 64 << 20

_PERSONAL = frozenset(name for name, _, is_personal in _belljar_mask.kinds() if is_personal)


def _find(text, aggressive):
    """The masked text, and [(kind, label, start, end, line)] in characters."""
    data = text.encode("utf-8", "surrogatepass")
    masked, finds = _belljar_mask.mask(data, aggressive)
    if len(data) != len(text):
        places = sorted({place for find in finds for place in find[2:4]})
        characters, at, count = {}, 0, 0
        for place in places:
            count += len(data[at:place].decode("utf-8", "surrogatepass"))
            characters[place], at = count, place
        finds = [(kind, label, characters[start], characters[end], line) for kind, label, start, end, line in finds]
    return masked.decode("utf-8", "surrogatepass"), sorted(finds, key=lambda find: find[2])


def mask_secrets(text, aggressive=False):
    """The text with labels instead of secrets; aggressive: also instead of personal data.

    >>> mask_secrets("password=hunter2hunter2")
    """
    return _find(text, aggressive)[0]


def detect_secrets(text, aggressive=False):
    """[{type, match, start, end, line}], the places in characters.

    >>> [found["type"] for found in detect_secrets("mail ada@example.org", aggressive=True)]
    """
    return [{"type": kind, "match": text[start:end], "start": start, "end": end, "line": line}
            for kind, _, start, end, line in _find(text, aggressive)[1]]  # fmt: skip


def mask_result(value, aggressive=False):
    """A copy of the value with every text in it masked: in dictionaries, their keys too, lists, tuples and sets.

    >>> mask_result({"log": ["password=hunter2hunter2"]})
    """
    if isinstance(value, str):
        return mask_secrets(value, aggressive)
    if isinstance(value, dict):
        return {mask_result(key, aggressive): mask_result(item, aggressive) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(mask_result(item, aggressive) for item in value)
    return value


class PIIDetector:
    """Only some kinds, by name; without names, all of them.

    >>> PIIDetector(["email"]).mask("mail ada@example.org")[0]
    """

    def __init__(self, enabled_detectors=None):
        self.enabled = None if enabled_detectors is None else frozenset(enabled_detectors)

    def _wanted(self, kind, types):
        return (self.enabled is None or kind in self.enabled) and (types is None or kind in types)

    def _is_aggressive(self, types):
        return any(self._wanted(kind, types) for kind in _PERSONAL)

    def detect(self, text):
        """[{type, match, start, end, line}]"""
        return [found for found in detect_secrets(text, self._is_aggressive(None)) if self._wanted(found["type"], None)]

    def mask(self, text, detector_types=None):
        """(text, detections), with labels for the kinds asked for."""
        types = None if detector_types is None else frozenset(detector_types)
        parts, detections, at = [], [], 0
        for kind, label, start, end, line in _find(text, self._is_aggressive(types))[1]:
            if self._wanted(kind, types):
                parts += [text[at:start], label]
                detections.append({"type": kind, "match": text[start:end], "start": start, "end": end, "line": line})
                at = max(at, end)
        return "".join(parts) + text[at:], detections

    def scan_file(self, path):
        """{file, status, detections, count, types}"""
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read(FILE_MAX)
            text.encode("utf-8", "surrogatepass")
        except OSError as error:
            return {"file": _os.fspath(path), "status": "error", "error": str(error), "detections": [], "count": 0, "types": []}
        detections = self.detect(text)
        return {"file": _os.fspath(path), "status": "success", "detections": detections, "count": len(detections),
                "types": sorted({found["type"] for found in detections})}  # fmt: skip

    def mask_result(self, value, aggressive=False):
        return mask_result(value, aggressive)


_parameters.understand(globals())
