"""Types of answers. `raw` has the original object, for fields that have no name here."""
from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import json
import os
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Hashable, List, Optional, Type, TypeVar, Union

from . import render
from .errors import ProgramFailed, ProtocolError
from .saving import save_below

Json = Dict[str, Any]
T = TypeVar("T")


# --- from JSON to a dataclass, with every type checked ---


@functools.lru_cache(maxsize=None)
def _hints(kind: Hashable) -> Dict[str, Any]:
    return typing.get_type_hints(kind)


def read(kind: Type[T], raw: Any) -> T:
    """Makes an object of what a server sent. Unknown members are ignored."""
    if not isinstance(raw, dict):
        raise ProtocolError(f"the server's answer has something else in place of a {kind.__name__}")
    values: Json = {}
    hints = _hints(typing.cast(Hashable, kind))
    for f in dataclasses.fields(typing.cast(Any, kind)):
        if f.name == "raw":
            values["raw"] = raw
        elif raw.get(f.name) is not None:
            values[f.name] = _convert(hints[f.name], raw[f.name], f"{kind.__name__}.{f.name}")
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            if not _is_optional(hints[f.name]):
                raise ProtocolError(f"the server's answer has no `{kind.__name__}.{f.name}`")
            values[f.name] = None
    return kind(**values)


def read_list(kind: Type[T], raw: Any, name: str) -> List[T]:
    if not isinstance(raw, dict) or not isinstance(raw.get(name), list):
        raise ProtocolError(f"the server's answer has no `{name}`")
    return [read(kind, item) for item in raw[name]]


def member(raw: Any, name: str, kind: Type[T]) -> T:
    value = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(value, kind):
        raise ProtocolError(f"the server's answer has no `{name}`")
    return value


def _is_optional(hint: Any) -> bool:
    return hint is Any or type(None) in typing.get_args(hint)


def _convert(hint: Any, value: Any, name: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is Union:
        return _convert(next(a for a in args if a is not type(None)), value, name)
    if origin is list and isinstance(value, list):
        return [_convert(args[0], v, name) for v in value]
    if origin is dict and isinstance(value, dict):
        return {str(k): _convert(args[1], v, name) for k, v in value.items()}
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(Any, hint), value)
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e300 else 0.0
    if origin is None and type(value) is hint:
        return value
    raise ProtocolError(f"the server's answer has the wrong type in `{name}`")


# --- runs ---


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
    """A reason why a profile refuses a program."""

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
    layer: str  # that refused it
    hint: Optional[str] = None  # what would allow it
    count: int = 1


@dataclass(frozen=True)
class Display:
    """One form of an object that a program displayed. Forms of one object have the same `bundle`."""

    mime: str
    bundle: int = 0
    width: Optional[int] = None
    height: Optional[int] = None
    encoding: Optional[str] = None
    raw: Json = field(default_factory=dict, repr=False)

    @property
    def data(self) -> bytes:
        """Pictures as bytes; text and JSON as UTF-8."""
        value = self.raw.get("data", "")
        if self.encoding == "base64" and isinstance(value, str):
            return _from_base64(value)
        return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        """The value, if the form is JSON."""
        return self.raw.get("data")

    @property
    def is_picture(self) -> bool:
        return self.mime in render.PICTURES

    def _repr_html_(self) -> str:
        return render.display_html([self])

    def _repr_png_(self) -> Optional[bytes]:
        return self.data if self.mime == "image/png" and self.is_picture else None


@dataclass(frozen=True)
class Collected:
    """A file that a program made and that came back. `content` is None if there was no room for it."""

    path: str
    size: int
    content: Optional[bytes]


@dataclass(frozen=True)
class ChangeCounts:
    """How much a run changed in directories granted with `:rw`."""

    created: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    undo: bool = False  # whether the run can be undone


@dataclass(frozen=True)
class Result:
    """How a program ended, with its output. A notebook shows it with its tables and pictures."""

    id: str
    status: str  # success, error, timeout, memory_exceeded, refused, cancelled
    exit_code: Optional[int]
    stdout: str
    stderr: str
    value: Any  # of `result` or of the last expression, if it is plain data
    text: Optional[str]  # the same as text
    error: Optional[ProgramError]
    violations: List[Violation]
    displays: List[Display]
    collected: List[Collected]
    usage: Usage
    session_id: Optional[str]
    raw: Json = field(repr=False)
    denials: List[Denial] = field(default_factory=list)
    hint: Optional[str] = None  # about commands that failed
    output_handle: Optional[str] = None  # the rest of the output: Client.output()
    changes: Optional[ChangeCounts] = None
    receipt: Optional[Json] = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return self.status == "success"

    @property
    def is_truncated(self) -> bool:
        """Whether `stdout` or `stderr` lacks its middle; `Client.output()` has it."""
        truncated = self.raw.get("truncated")
        return isinstance(truncated, dict) and True in truncated.values()

    @property
    def pictures(self) -> List[Display]:
        return [d for d in self.displays if d.is_picture]

    def raise_for_error(self) -> "Result":
        """Returns the result if the program succeeded, else raises ProgramFailed."""
        if self.ok:
            return self
        message, hint = render.failure(self)
        raise ProgramFailed(message, self, hint)

    def save_collected(self, directory: Union[str, "os.PathLike[str]"], *, hidden: bool = False) -> List[Path]:
        """Writes the collected files below a directory. A path that leads out of it is refused.

        hidden  Also files that tools obey: `.git/config`, `.bashrc` and other names that begin with a dot, `HEAD`, `__pycache__`.
        """
        return save_below(directory, {c.path: c.content for c in self.collected if c.content is not None}, hidden=hidden)

    def save_pictures(self, directory: Union[str, "os.PathLike[str]"], stem: str = "picture") -> List[Path]:
        """Writes the displayed pictures to a directory, as `picture-1.png` and so on."""
        return save_below(directory, {f"{stem}-{i}.{render.PICTURES[d.mime]}": d.data for i, d in enumerate(self.pictures, 1)})

    def __str__(self) -> str:
        return render.result_text(self)

    def _repr_html_(self) -> str:
        return render.result_html(self)

    def _repr_png_(self) -> Optional[bytes]:
        pngs = [d for d in self.pictures if d.mime == "image/png"]
        return pngs[-1].data if pngs else None


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as e:
        raise ProtocolError("the server's answer has invalid base64") from e


def _read_collected(raw: Any) -> Collected:
    content = raw.get("content") if isinstance(raw, dict) else None
    data: Optional[bytes] = None
    if isinstance(content, str):
        data = _from_base64(content) if raw.get("encoding") == "base64" else content.encode("utf-8", "replace")
    return Collected(member(raw, "path", str), member(raw, "size", int), data)


def read_result(raw: Any) -> Result:
    if not isinstance(raw, dict) or not isinstance(raw.get("status"), str):
        raise ProtocolError("the server's answer is not a result")
    value = raw.get("result") if isinstance(raw.get("result"), dict) else {}
    collected = raw.get("collected")
    flat: Json = {
        "stdout": "",
        "stderr": "",
        **raw,
        "text": value.get("text") if isinstance(value, dict) else None,
        "value": value.get("json") if isinstance(value, dict) else None,
        "violations": raw.get("violations") or [],
        "displays": raw.get("displays") or [],
        "usage": raw.get("usage") or {},
        "collected": [],
    }
    files = [_read_collected(c) for c in collected] if isinstance(collected, list) else []
    return dataclasses.replace(read(Result, flat), raw=raw, collected=files)


@dataclass(frozen=True)
class Approval:
    """A call of a program that waits for a yes or a no: `Client.approve()`."""

    approval_id: str
    run_id: str
    call: str
    sha256: str
    session_id: Optional[str] = None
    arguments: Any = None
    hidden_bytes: int = 0  # of the arguments that are not shown
    has_invisible: bool = False
    expires_in_s: float = 0
    raw: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Progress:
    """A report of `progress()` or of a progress bar."""

    done: Optional[float] = None
    total: Optional[float] = None
    text: Optional[str] = None


@dataclass(frozen=True)
class Event:
    """Something that happened in a run: start, stdout, stderr, display, progress, approval, input, result, gap, dropped, running."""

    kind: str
    id: Union[int, str, None]  # a text where it comes from a gateway of several machines
    data: Json

    @property
    def text(self) -> str:
        """Of stdout and stderr, as it was written."""
        text = self.data.get("text")
        return text if isinstance(text, str) else ""

    @property
    def displays(self) -> List[Display]:
        return read_list(Display, self.data, "displays") if self.kind == "display" else []

    @property
    def progress(self) -> Optional[Progress]:
        return read(Progress, self.data) if self.kind == "progress" else None

    @property
    def approval(self) -> Optional[Approval]:
        return read(Approval, self.data) if self.kind == "approval" else None

    @property
    def result(self) -> Optional[Result]:
        return read_result(self.data) if self.kind == "result" else None


@dataclass(frozen=True)
class Case:
    """One run of a batch."""

    index: int
    id: Optional[str]
    verdict: str  # accepted, wrong_answer, output_exceeded, error, timeout, memory_exceeded, refused, cancelled, failed
    result: Optional[Result]
    error: Optional[Json]  # of one that Belljar could not run


def read_case(raw: Any) -> Case:
    result, error = raw.get("result"), raw.get("error")
    return Case(
        member(raw, "index", int),
        raw.get("id") if isinstance(raw.get("id"), str) else None,
        member(raw, "verdict", str),
        read_result(result) if result else None,
        error if isinstance(error, dict) else None,
    )


@dataclass(frozen=True)
class RunInfo:
    """A line of the list of runs."""

    id: str
    state: str  # waiting, running, or how it ended
    language: Optional[str] = None
    session_id: Optional[str] = None
    detached: bool = False
    terminal: bool = False  # of a command
    age_s: float = 0
    exit_code: Optional[int] = None
    owner: Optional[str] = None
    code: Optional[str] = None  # the beginning of its first line
    profile: Optional[str] = None
    started_at: Optional[str] = None
    ended_at: Optional[str] = None
    wall_ms: Optional[float] = None
    cpu_ms: Optional[float] = None
    memory_peak_bytes: Optional[int] = None
    masked: Optional[int] = None
    violations: int = 0
    is_kept: bool = True  # `Client.result()` has the answer, or will
    seq: Optional[int] = None  # of its last record in the audit trail


@dataclass(frozen=True)
class Language:
    """A language of programs, and whether the host can run it."""

    name: str
    title: str
    aliases: List[str] = field(default_factory=list)
    suffixes: List[str] = field(default_factory=list)
    available: bool = True
    needs: List[str] = field(default_factory=list)  # packages


@dataclass(frozen=True)
class Context:
    """A kernel of a session besides those of its languages."""

    context_id: str
    language: str
    workdir: Optional[str] = None  # where it started, as it was asked for


@dataclass(frozen=True)
class Snapshot:
    """Variables and files of a session, for sessions to come."""

    name: str
    session_id: str  # of the session it was made of
    profile: str
    age_s: float
    bytes: int
    usable: bool  # False: it was lost with the interpreter that it is of


@dataclass(frozen=True)
class Match:
    """A line of the output that matches a search."""

    line: int
    text: str


@dataclass(frozen=True)
class Output:
    """A part of a long output. `next` says where the next part begins; None: it was the last."""

    text: str = ""
    size: int = 0
    lines: int = 0
    dropped: int = 0
    next: Optional[Json] = None
    matches: List[Match] = field(default_factory=list)
    raw: Json = field(default_factory=dict, repr=False)


# --- undo ---


@dataclass(frozen=True)
class UndoStep:
    action: str  # removed, restored, reverted, renamed
    path: str
    to: Optional[str] = None
    reason: Optional[str] = None  # of a step that was left alone


@dataclass(frozen=True)
class Undo:
    """The steps that an undo took, or would take."""

    run: str
    dry_run: bool
    done: List[UndoStep]
    conflicts: List[UndoStep]  # left alone
    n_done: int
    n_conflicts: int
    already_undone: bool
    undo: Optional[str] = None  # the id by which this undo can be undone
    raw: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Undoable:
    """A run that changed granted directories."""

    run: str
    time: str
    directories: List[str]
    undone: bool
    is_running: bool
    session: Optional[str] = None
    undoes: Optional[str] = None
    created: Optional[int] = None
    changed: Optional[int] = None
    removed: Optional[int] = None
    renamed: Optional[int] = None
    raw: Json = field(default_factory=dict, repr=False)


# --- sessions ---


@dataclass(frozen=True)
class File:
    path: str
    kind: str
    size: int
    modified: float = 0
    mode: Optional[str] = None
    owner: Optional[str] = None
    changed: float = 0  # also after a change of mode or name


@dataclass(frozen=True)
class FileEvent:
    """A change in a watched directory."""

    kind: str  # start, create, write, remove, rename, chmod, lost
    path: Optional[str] = None  # from `/workspace` on
    directory: bool = False


@dataclass(frozen=True)
class Change:
    """A staged change in a directory granted with `:cow`."""

    path: str
    change: str  # created, changed, deleted
    kind: str
    size: int = 0
    old_kind: Optional[str] = None
    old_size: int = 0
    mode: Optional[str] = None
    old_mode: Optional[str] = None
    added: Optional[int] = None
    removed: Optional[int] = None
    is_binary: bool = False
    has_invisible: bool = False
    hidden_bytes: int = 0
    not_shown: Optional[str] = None
    sha256: Optional[str] = None
    obstacle: Optional[str] = None  # why it would not be applied
    diff: Optional[str] = None


@dataclass(frozen=True)
class Changes:
    """Staged changes of a session. Pass `version` to `apply()` to apply exactly this."""

    changes: List[Change]
    has_more: bool
    version: str
    hidden_bytes: int
    raw: Json = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return render.changes_text(self)


@dataclass(frozen=True)
class Skipped:
    path: str
    reason: str
    message: str


@dataclass(frozen=True)
class Settled:
    """Paths that were applied or discarded, and those that were left alone."""

    done: List[str]
    skipped: List[Skipped]
    version: str


# --- durable jobs ---


@dataclass(frozen=True)
class JobAttempt:
    """One time that the program of a job was begun, as the run `run_id`."""

    number: int
    run_id: str
    started_at: Optional[str] = None
    ended_at: Optional[str] = None
    outcome: Optional[str] = None  # a status, `failed` or `interrupted`; None: it is under way


@dataclass(frozen=True)
class JobError:
    code: str
    message: str
    hint: Optional[str] = None


@dataclass(frozen=True)
class DurableJob:
    """A durable job. `history` comes with `get()` and `wait()` only."""

    id: str
    state: str  # waiting, running, done, failed, lost, cancelled
    outcome: Optional[str] = None  # of the last attempt
    attempts: int = 0
    max_attempts: int = 1
    repeatable: bool = True
    retry_on: List[str] = field(default_factory=list)
    retry_delay_s: float = 0.0
    keep_s: float = 0.0
    correlation_id: Optional[str] = None
    created_at: Optional[str] = None
    due_at: Optional[str] = None
    ended_at: Optional[str] = None
    expires_at: Optional[str] = None
    result_bytes: int = 0  # 0: there is no result
    error: Optional[JobError] = None
    progress: Optional[Progress] = None
    history: List[JobAttempt] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")


# --- skills and states ---


@dataclass(frozen=True)
class Version:
    version: int
    timestamp: Optional[str] = None
    bytes: int = 0


@dataclass(frozen=True)
class SkillFile:
    path: str
    bytes: int = 0
    is_executable: bool = False


@dataclass(frozen=True)
class Skill:
    """Code that programs import as `skills.NAME`. `files`, `versions`, `code` and `instructions` come with `get()` only."""

    name: str
    module: str
    kind: Optional[str] = None  # public, user
    is_folder: bool = False
    description: Optional[str] = None
    version: int = 0
    updated_at: Optional[str] = None
    bytes: int = 0
    files: List[SkillFile] = field(default_factory=list)
    versions: List[Version] = field(default_factory=list)
    code: Optional[str] = None
    instructions: Optional[str] = None


@dataclass(frozen=True)
class SavedState:
    """The state of work that continues over several runs. `state` and `history` come with `load()` only."""

    name: str
    description: Optional[str] = None
    created_at: Optional[str] = None
    updated_at: Optional[str] = None
    version: int = 0
    bytes: int = 0
    state: Optional[Json] = None
    history: List[Version] = field(default_factory=list)
