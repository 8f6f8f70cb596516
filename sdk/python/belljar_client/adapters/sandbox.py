"""A session as frameworks see a sandbox: shell lines with a directory, variables and a time limit; files by any path; archives.

`Sandbox` waits and `AsyncSandbox` is awaited. Adapters only translate names.
"""
from __future__ import annotations

import importlib
import inspect
import posixpath
import uuid
from dataclasses import dataclass
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Sequence, Union

from ..client import AsyncClient, Client
from ..errors import BelljarError, DeniedError, InvalidError, NotFoundError, TooLargeError, UnsupportedError
from ..methods import Awaiting, Blocking, call
from ..types import Result

WORKSPACE = "/workspace"
MIB = 1 << 20
READ_BYTES = 100 * MIB  # the largest file that is read whole
PLAIN_BYTES = 32 * 1024  # of a line, and of standard input; what is longer goes through a file

# Exit codes of commands that have none, as timeout(1) and shells have them.
EXIT_CODES = {"timeout": 124, "memory_exceeded": 137, "cancelled": 130, "refused": 126}

Line = Union[str, Sequence[str]]


def framework(module: str, package: str) -> Any:
    """A module of a framework, which has to be installed."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"this adapter needs `{module}`: pip install {package}") from e


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str
    status: str  # of the Result
    is_truncated: bool
    hint: Optional[str] = None

    @property
    def ok(self) -> bool:
        return self.status == "success"

    @property
    def has_timed_out(self) -> bool:
        return self.status == "timeout"

    @property
    def output(self) -> str:
        """Both streams, and what a reader needs to know besides."""
        words = {"timeout": "the time limit was exceeded", "memory_exceeded": "the memory limit was exceeded"}.get(self.status)
        parts = [self.stdout, self.stderr, f"[{words}]" if words else ""]
        return "\n".join(part.rstrip("\n") for part in parts if part)


@dataclass(frozen=True)
class Entry:
    """Something in a directory."""

    path: str  # absolute
    kind: str  # file, directory, link, …
    size: int

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)

    @property
    def is_directory(self) -> bool:
        return self.kind == "directory"


def outcome_of(result: Result) -> Outcome:
    code = result.exit_code
    if code is None or (code == 0 and not result.ok):
        code = EXIT_CODES.get(result.status, 1)
    return Outcome(code, result.stdout, result.stderr, result.status, result.is_truncated, result.hint)


def absolute(path: str, cwd: str = WORKSPACE) -> str:
    """A path without `.` and `..`. A relative one begins in /workspace."""
    text = str(path)
    if not text or "\0" in text:
        raise InvalidError(f"`{text!r}` is not a path", code="invalid")
    normal = posixpath.normpath(posixpath.join(cwd, text))
    return normal[1:] if normal.startswith("//") else normal


def inside(path: str) -> Optional[str]:
    """The path below /workspace, "" for /workspace itself; None: it is elsewhere."""
    if path == WORKSPACE:
        return ""
    return path[len(WORKSPACE) + 1 :] if path.startswith(f"{WORKSPACE}/") else None


async def _settled(value: Any) -> Any:
    """The value of a method, of either kind of client."""
    return await value if inspect.isawaitable(value) else value


async def _each(items: Any) -> AsyncIterator[Any]:
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


class SandboxMethods:
    """A session with the operations that frameworks need. `session` has the rest: cells, commands with streams, checkpoints."""

    def __init__(self, session: Any) -> None:
        self.session = session

    @property
    def id(self) -> str:
        """To come back to it: `attach()`."""
        return str(self.session.id)

    @call
    async def close(self) -> None:
        """Ends the session. One that has ended is not an error."""
        await _settled(self.session.close())

    @call
    async def is_open(self) -> bool:
        try:
            await _settled(self.session.refresh())
        except NotFoundError:
            return False
        return True

    # --- commands ---

    @call
    async def run(
        self,
        command: Line,
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        stdin: Union[str, bytes, None] = None,
        output_bytes: Optional[int] = None,
    ) -> Outcome:
        """Runs a line of Bash, or a program with its arguments, to its end.

        It is started once, also if the connection breaks. An exception while it runs, such as the cancellation of a task, kills it.

        timeout       Seconds, at least 1; without it, the session's limit.
        output_bytes  Bytes kept of stdout, and of stderr.
        """
        fields: Dict[str, Any] = {"env": dict(env) if env else None, "output_bytes": output_bytes}
        fields["workdir"] = absolute(cwd) if cwd else None
        fields["timeout_s"] = None if timeout is None else max(1.0, timeout)
        staged: List[str] = []
        try:
            if isinstance(command, str) and len(command) > PLAIN_BYTES:
                staged.append(await self._stage(command.encode()))
                command = ["bash", f"{WORKSPACE}/{staged[-1]}"]
            if isinstance(stdin, bytes) or (stdin is not None and len(stdin) > PLAIN_BYTES):
                staged.append(await self._stage(stdin.encode() if isinstance(stdin, str) else stdin))
                command = _reading(f"{WORKSPACE}/{staged[-1]}", command)
            elif stdin is not None:
                fields["stdin"] = stdin
            return outcome_of(await self._run(command, {k: v for k, v in fields.items() if v is not None}))
        finally:
            for name in staged:
                await self._unstage(name)

    async def _run(self, command: Line, fields: Dict[str, Any]) -> Result:
        started = await _settled(self.session.commands.start(command, **fields))
        try:
            result: Result = await _settled(started.wait())
        except BaseException:
            await self._kill(started)
            raise
        return result

    async def _kill(self, started: Any) -> None:
        try:
            await _settled(started.kill())
        except BelljarError:
            pass  # the session has ended, and so has the command

    async def _checked(self, words: Sequence[str], path: str) -> None:
        """Runs a command on a path; its failure becomes the error of that path."""
        outcome = outcome_of(await self._run(words, {}))
        if not outcome.ok:
            raise path_error(outcome.stderr, path)

    # --- files ---

    async def _stage(self, data: bytes) -> str:
        name = f".belljar-{uuid.uuid4().hex}"
        await _settled(self.session.files.write(name, data, new=True))
        return name

    async def _unstage(self, name: str) -> None:
        try:
            await _settled(self.session.files.delete(name))
        except BelljarError:
            pass  # the session has ended, or a program took it away

    async def _read_plain(self, path: str, most: int) -> bytes:
        data: bytes = await _settled(self.session.files.read(path, 0, most + 1))
        if len(data) > most:
            raise TooLargeError(f"`{path}` is larger than {most} bytes", code="too_large")
        return data

    @call
    async def read(self, path: str, *, max_bytes: int = READ_BYTES) -> bytes:
        """The bytes of a file, wherever it is in the sandbox. Links are followed."""
        whole = absolute(path)
        plain = inside(whole)
        if plain == "":
            raise directory_error(whole)
        if plain is not None:
            try:
                return await self._read_plain(plain, max_bytes)
            except (DeniedError, InvalidError, NotFoundError):
                pass  # a link, a directory, or nothing: the sandbox says which
        staged = f".belljar-{uuid.uuid4().hex}"
        try:
            await self._checked(["bash", "-c", READ, f"{WORKSPACE}/{staged}", whole], whole)
            return await self._read_plain(staged, max_bytes)
        finally:
            await self._unstage(staged)

    @call
    async def write(self, path: str, data: Union[str, bytes]) -> None:
        """Writes a file and makes missing directories. One that is there keeps its mode, and a link is followed."""
        whole = absolute(path)
        plain = inside(whole)
        content = data.encode() if isinstance(data, str) else bytes(data)
        if plain == "":
            raise directory_error(whole)
        if plain is not None:
            try:
                await _settled(self.session.files.write(plain, content, new=True))
                return
            except (DeniedError, InvalidError):
                pass  # something is there, or on the way: the sandbox says what
        staged = await self._stage(content)
        try:
            await self._checked(["bash", "-c", WRITE, f"{WORKSPACE}/{staged}", whole], whole)
        finally:
            await self._unstage(staged)

    @call
    async def delete(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file or a link, or with `recursive` a directory and everything in it."""
        whole = absolute(path)
        await self._checked(["rm", *(["-r"] if recursive else []), "--", whole], whole)

    @call
    async def list(self, path: str = WORKSPACE) -> List[Entry]:
        """The entries of a directory, by name; links are not followed."""
        whole = absolute(path)
        plain = inside(whole)
        if plain is not None:
            found: List[Entry] = []
            try:
                async for f in _each(self.session.files.list(plain or None)):
                    found.append(Entry(f"{WORKSPACE}/{f.path}", f.kind, f.size))
                return [e for e in found if not e.name.startswith(".belljar-")]
            except (DeniedError, InvalidError):
                pass  # a link, or not a directory: the sandbox says which
        words = ["find", "-H", f"{whole}/.", "-mindepth", "1", "-maxdepth", "1", "-printf", "%y %s %f\\0"]
        outcome = outcome_of(await self._run(words, {}))
        if not outcome.ok:
            raise path_error(outcome.stderr, whole)
        if outcome.is_truncated:
            raise TooLargeError(f"`{whole}` has too many entries", code="too_large")
        rows = [row.split(" ", 2) for row in outcome.stdout.split("\0") if row]
        return sorted((Entry(posixpath.join(whole, n), KINDS.get(k, "other"), int(s)) for k, s, n in rows), key=lambda e: e.path)

    # --- archives ---

    @call
    async def pack(self, path: str = WORKSPACE, *, exclude: Sequence[str] = (), max_bytes: int = READ_BYTES) -> bytes:
        """A directory as a tar archive, with paths relative to it. `exclude`: paths in it that stay out."""
        whole = absolute(path)
        staged = f".belljar-{uuid.uuid4().hex}"
        skipped = [f"--exclude=./{p}" for p in (*exclude, ".belljar-*")]
        try:
            words = ["tar", "--anchored", *skipped, "-cf", f"{WORKSPACE}/{staged}", "-C", whole, "."]
            await self._checked(words, whole)
            return await self._read_plain(staged, max_bytes)
        finally:
            await self._unstage(staged)

    @call
    async def unpack(self, data: bytes, path: str = WORKSPACE) -> None:
        """Extracts a tar archive into a directory of the sandbox, by the sandbox's own tar."""
        whole = absolute(path)
        staged = await self._stage(data)
        try:
            await self._checked(["bash", "-c", UNPACK, f"{WORKSPACE}/{staged}", whole], whole)
        finally:
            await self._unstage(staged)

    # --- what there is not ---

    def port_url(self, port: int) -> str:
        """The address of a port inside. Clients reach ports with a token in a header, which no address has."""
        raise UnsupportedError(
            f"port {port} has no address that frameworks can use: requests to it need the token in a header",
            code="unsupported",
            hint="talk to the server with a command inside, such as curl; docs/guide/ports.md says how clients reach it",
        )


READ = '[ -f "$1" ] || [ ! -e "$1" ] || [ -d "$1" ] || { echo "Not a regular file" >&2; exit 1; }; cp -- "$1" "$0"'
WRITE = 'set -e; if [ -d "$1" ]; then echo "cannot write \'$1\': Is a directory" >&2; exit 1; fi; mkdir -p -- "$(dirname -- "$1")"; cat < "$0" > "$1"'
UNPACK = 'mkdir -p -- "$1" && tar --no-same-owner -xf "$0" -C "$1"'
KINDS = {"f": "file", "d": "directory", "l": "link", "p": "fifo", "s": "socket"}


def _reading(file: str, command: Line) -> List[str]:
    """Runs the command with a file as its standard input."""
    words = ["bash", "-c", command] if isinstance(command, str) else list(command)
    return ["bash", "-c", 'exec "$@" < "$0"', file, *words]


def directory_error(path: str) -> InvalidError:
    return InvalidError(f"`{path}` is a directory", code="is_directory")


# Messages of tools, and the errors that they are.
SAID = (
    ("Is a directory", directory_error),
    ("omitting directory", directory_error),
    ("No such file or directory", lambda path: NotFoundError(f"there is no `{path}`", code="not_found")),
    ("Not a regular file", lambda path: InvalidError(f"`{path}` is not a regular file", code="invalid")),
    ("Not a directory", lambda path: InvalidError(f"a part of `{path}` is not a directory", code="invalid")),
    ("File exists", lambda path: InvalidError(f"a part of `{path}` is not a directory", code="invalid")),
    ("Permission denied", lambda path: DeniedError(f"`{path}` is not accessible in the sandbox", code="denied")),
    ("Operation not permitted", lambda path: DeniedError(f"`{path}` is not accessible in the sandbox", code="denied")),
    ("Read-only file system", lambda path: DeniedError(f"`{path}` is read-only in the sandbox", code="denied")),
    ("No space left", lambda path: TooLargeError(f"there is no room for `{path}`", code="too_large")),
)


def path_error(said: str, path: str) -> BelljarError:
    for words, error in SAID:
        if words in said:
            return error(path)
    last = said.strip().rpartition("\n")[2]
    return BelljarError(f"`{path}`: {last or 'the command failed'}", code="error")


class Sandbox(SandboxMethods, Blocking):
    """A session as frameworks see a sandbox. Its methods wait."""

    @classmethod
    def create(cls, client: Client, **fields: Any) -> "Sandbox":
        """A new one; `fields` are those of `Client.session()`: `profile`, `env`, `net`, `memory_mb`, …"""
        fields.setdefault("profile", "open")
        return cls(client.session(**fields))

    @classmethod
    def attach(cls, client: Client, session_id: str) -> "Sandbox":
        """One that is still open. NotFoundError: it has ended."""
        return cls(client.get_session(session_id))


class AsyncSandbox(SandboxMethods, Awaiting):
    """A session as frameworks see a sandbox. Its methods are awaited."""

    @classmethod
    async def create(cls, client: AsyncClient, **fields: Any) -> "AsyncSandbox":
        """A new one; `fields` are those of `AsyncClient.session()`: `profile`, `env`, `net`, `memory_mb`, …"""
        fields.setdefault("profile", "open")
        return cls(await client.session(**fields))

    @classmethod
    async def attach(cls, client: AsyncClient, session_id: str) -> "AsyncSandbox":
        """One that is still open. NotFoundError: it has ended."""
        return cls(await client.get_session(session_id))
