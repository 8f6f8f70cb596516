"""Fields of requests, with their types: parameters of `Client.run()` and others."""
from __future__ import annotations

import base64
from typing import Any, Dict, Mapping, Sequence, TypedDict, Union

from .errors import InvalidError

Given = Union[str, bytes]


class _GivenFile(TypedDict):
    path: str
    content: str


class GivenFile(_GivenFile, total=False):
    """A file to put into /workspace before the program starts."""

    encoding: str  # utf-8 (default), or base64
    executable: bool


class CodeFields(TypedDict, total=False):
    language: str  # default: python; Client.languages() lists them
    stdin: str
    auto_print: bool  # echo the last expression, as the Python prompt does
    correlation_id: str  # comes back with the result
    receipt: bool  # also return a signed receipt
    files: Union[Mapping[str, Given], Sequence[GivenFile]]  # {path: content}: put into /workspace first
    collect: Sequence[str]  # patterns of files to bring back: *.csv, **/*.png


class CellLimits(TypedDict, total=False):
    timeout_s: float
    cpu_time_s: float
    output_bytes: int  # bytes kept of stdout, and of stderr


class SandboxFields(TypedDict, total=False):
    profile: str
    env: Mapping[str, str]
    environment: str  # a set of packages, by its name
    allow: Sequence[str]  # directories of the host: DIR, DIR:rw, DIR:cow
    workdir: str  # where the program starts
    net: Sequence[str]  # hosts that it may reach
    memory_mb: int
    cpus: float
    pids: int
    disk_mb: int


class CellFields(CodeFields, CellLimits, total=False):
    """Fields of a cell, beside its code."""

    context: str  # the id of the context it runs in: Session.open_context()
    stdin_open: bool  # a line that it reads is asked for: Events.wait(on_input=…), Client.send_line()


class TerminalSize(TypedDict):
    cols: int
    rows: int


class CommandFields(CellLimits, total=False):
    """Fields of a command in a session."""

    env: Mapping[str, str]  # besides the session's
    workdir: str  # where it starts
    stdin: str
    stdin_open: bool  # its standard input stays open: Command.write()
    pty: TerminalSize  # it runs on a terminal; keys are written with Command.write()
    correlation_id: str  # comes back with the result
    receipt: bool  # also return a signed receipt


class RunFields(CodeFields, CellLimits, SandboxFields, total=False):
    """Fields of a run, beside its code."""

    filename: str  # in tracebacks and as the program's own name
    args: Sequence[str]
    seed: int  # the same program and input give the same output


class JobFields(RunFields, total=False):
    """Fields of a durable job, beside its code."""

    max_attempts: int  # the highest number of attempts; default: 3
    repeatable: bool  # False: it is begun once at most
    retry_on: Sequence[str]  # tried again after these results: error, timeout, memory_exceeded
    retry_delay_s: float  # before the second attempt, then twice as long each time
    delay_s: float  # it does not begin before
    keep_s: float  # how long it is kept after its end; default: a day


class JudgedFields(RunFields, total=False):
    """Fields of a run of a batch, or of all of them."""

    code: str
    expected_output: str
    compare: str  # lines (default), exact, tokens


class BatchRun(JudgedFields, total=False):
    """One run of a batch. What it lacks is taken from the common fields."""

    id: str


class BatchFields(JudgedFields, total=False):
    """Fields that the runs of a batch share."""

    at_once: int  # at most so many run at a time


class SessionFields(CellLimits, SandboxFields, total=False):
    """Fields of a new session."""

    idle_s: float  # it ends after so long without a cell
    lifetime_s: float
    snapshot: str  # it begins with the variables, files, profile and limits of this one
    ports: Sequence[str]  # of servers in it that clients reach


def body(fields: Mapping[str, Any], **more: Any) -> Dict[str, Any]:
    """The fields that were given, as JSON has them."""
    given = {k: v for k, v in {**more, **fields}.items() if v is not None}
    if isinstance(given.get("files"), Mapping):
        given["files"] = [_file(path, content) for path, content in given["files"].items()]
    return given


def _file(path: str, content: Any) -> Dict[str, Any]:
    if isinstance(content, str):
        return {"path": path, "content": content}
    if isinstance(content, (bytes, bytearray)):
        return {"path": path, "content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}
    raise InvalidError(f"the content of `{path}` must be text or bytes", code="invalid", hint="open(…, 'rb').read()")
