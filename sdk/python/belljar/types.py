"""Types of answers. Each has `raw`, the original object, for fields that have no name here."""
from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

Json = Dict[str, Any]


@dataclass(frozen=True)
class Usage:
    wall_ms: float = 0
    cpu_ms: float = 0
    start_ms: float = 0
    memory_peak_bytes: int = 0
    processes_peak: int = 0


@dataclass(frozen=True)
class ProgramError:
    """The exception that ended a program."""

    name: str
    message: str
    traceback: Optional[str] = None
    line: Optional[int] = None
    hint: Optional[str] = None


@dataclass(frozen=True)
class Violation:
    """Why a program was refused."""

    rule: str
    message: str
    name: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    hint: Optional[str] = None


@dataclass(frozen=True)
class Denial:
    """Something that was refused while a program ran: a host, a write, a limit."""

    what: str
    layer: str  # who refused it
    hint: Optional[str] = None  # what would allow it
    count: int = 1


@dataclass(frozen=True)
class Display:
    """One form of an object that a program displayed: a picture, a table, HTML."""

    mime: str
    raw: Json = field(repr=False)

    @property
    def data(self) -> bytes:
        """Pictures as their bytes, text and JSON as UTF-8."""
        value = self.raw.get("data", "")
        if self.raw.get("encoding") == "base64":
            return base64.b64decode(value)
        return (value if isinstance(value, str) else json.dumps(value)).encode()


@dataclass(frozen=True)
class Collected:
    """A collected file of a program."""

    path: str
    size: int
    content: Optional[bytes]  # None: there was no room for it


@dataclass(frozen=True)
class Result:
    """How a program ended, and its output. A failure of the program is a result like any other."""

    id: str
    status: str  # success, error, timeout, memory_exceeded, refused, cancelled
    exit_code: Optional[int]
    stdout: str
    stderr: str
    value: Any  # of `result` or of the last expression, where it is plain data
    text: Optional[str]  # the same as text
    error: Optional[ProgramError]
    violations: List[Violation]
    displays: List[Display]
    collected: List[Collected]
    usage: Usage
    session_id: Optional[str]
    raw: Json = field(repr=False)
    denials: List[Denial] = field(default_factory=list)
    hint: Optional[str] = None  # of commands that failed

    @property
    def ok(self) -> bool:
        return self.status == "success"


@dataclass(frozen=True)
class Event:
    """Something that happened in a run: start, stdout, stderr, display, progress, result, gap."""

    kind: str
    id: Optional[int]
    data: Json

    @property
    def text(self) -> str:
        return str(self.data.get("text", ""))

    @property
    def result(self) -> Optional[Result]:
        return parse_result(self.data) if self.kind == "result" else None


@dataclass(frozen=True)
class Case:
    """One run of a batch."""

    index: int
    id: Optional[str]
    verdict: str  # accepted, wrong_answer, output_exceeded, error, timeout, memory_exceeded, refused, cancelled, failed
    result: Optional[Result]
    error: Optional[Json]  # of one that failed


def _known(kind: Any, value: Json) -> Any:
    return kind(**{k: v for k, v in value.items() if k in kind.__dataclass_fields__})


def _collected(value: Json) -> Collected:
    content = value.get("content")
    if content is not None:
        content = base64.b64decode(content) if value.get("encoding") == "base64" else content.encode()
    return Collected(value["path"], value["size"], content)


def parse_result(raw: Json) -> Result:
    value = raw.get("result") or {}
    return Result(
        id=raw["id"],
        status=raw["status"],
        exit_code=raw.get("exit_code"),
        stdout=raw.get("stdout", ""),
        stderr=raw.get("stderr", ""),
        value=value.get("json"),
        text=value.get("text"),
        error=_known(ProgramError, raw["error"]) if raw.get("error") else None,
        violations=[_known(Violation, v) for v in raw.get("violations", [])],
        displays=[Display(str(d.get("mime")), d) for d in raw.get("displays", [])],
        collected=[_collected(c) for c in raw.get("collected", [])],
        usage=_known(Usage, raw.get("usage", {})),
        session_id=raw.get("session_id"),
        raw=raw,
        denials=[_known(Denial, d) for d in raw.get("denials", [])],
        hint=raw.get("hint"),
    )


def parse_case(raw: Json) -> Case:
    result = raw.get("result")
    return Case(raw["index"], raw.get("id"), raw["verdict"], parse_result(result) if result else None, raw.get("error"))
