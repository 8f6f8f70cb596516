"""Sessions: sandboxes that keep their variables and files."""
from __future__ import annotations

import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Generic, List, Optional, Sequence, Type, TypeVar, Unpack

from . import routes
from .commands import AsyncCommands, Commands, CommandsMethods
from .errors import NotFoundError
from .events import STREAM, AsyncEvents, Events, EventsMethods
from .fields import CellFields, body
from .files import AsyncFiles, Files, FilesMethods
from .jobs import AsyncJob, Job, JobMethods, start_run
from .methods import Awaiting, Blocking, call, plain
from .transport import Request, Transport
from .types import Changes, Context, Json, Result, Settled, member, read, read_list, read_result

SessionT = TypeVar("SessionT", bound="SessionMethods[Any, Any, Any, Any, Any]")
EventsT = TypeVar("EventsT", bound=EventsMethods)
FilesT = TypeVar("FilesT", bound=FilesMethods)
JobT = TypeVar("JobT", bound="JobMethods[Any]")
CommandsT = TypeVar("CommandsT", bound="CommandsMethods[Any, Any]")

class SessionMethods(Generic[SessionT, EventsT, FilesT, JobT, CommandsT]):
    """A sandbox that keeps its variables and files. As a context manager it ends with the block."""

    _events_class: Type[EventsT]
    _files_class: Type[FilesT]
    _job_class: Type[JobT]
    _commands_class: Type[CommandsT]

    def __init__(self, transport: Transport, raw: Any) -> None:
        self._transport = transport
        self.id = member(raw, "session_id", str)
        self.name = member(raw, "name", str) or self.id
        self.raw: Json = raw
        self.files: FilesT = self._files_class(transport, self.id)
        self.commands: CommandsT = self._commands_class(transport, self.id)

    def __repr__(self) -> str:
        return f"<belljar_client.{type(self).__name__} {self.name!r}>"

    def _request(self, route: routes.Route, json: Any = None, **more: Any) -> Request:
        return Request(route, {"session": self.id}, json=json, **more)

    # --- cells ---

    @call
    async def run(self, code: str, *, key: Optional[str] = None, **fields: Unpack[CellFields]) -> Result:
        """Runs a cell to its end. See `Client.run()`."""
        return read_result(await self._transport.call(self._request(routes.EXECUTE, body(fields, code=code), key=key)))

    @plain
    def stream(self, code: str, *, key: Optional[str] = None, **fields: Unpack[CellFields]) -> EventsT:
        """Runs a cell and gives its events as they happen. See `Client.stream()`."""
        return self._events_class(self._transport, self._request(routes.EXECUTE, body(fields, code=code), key=key, headers=STREAM))

    @call
    async def start(self, code: str, *, key: Optional[str] = None, **fields: Unpack[CellFields]) -> JobT:
        """Starts a cell that goes on without a connection. See `Client.start()`."""
        request = self._request(routes.EXECUTE, body(fields, code=code, detach=True), key=key or str(uuid.uuid4()))
        return self._job_class(self._transport, await start_run(self._transport, request))

    @call
    async def interrupt(self) -> bool:
        """Stops the running cell and keeps the variables. False: none was running."""
        return member(await self._transport.call(self._request(routes.INTERRUPT, {})), "interrupted", bool)

    @call
    async def restart(self, *, language: Optional[str] = None) -> None:
        """Starts again with fresh variables. Files stay."""
        await self._transport.call(self._request(routes.RESTART, body({"language": language})))

    @call
    async def pause(self) -> None:
        """Stops everything in its sandbox. Variables and files stay; cells are refused until `resume()`."""
        await self._transport.call(self._request(routes.PAUSE, {}))

    @call
    async def resume(self) -> None:
        """Lets a paused session go on."""
        await self._transport.call(self._request(routes.RESUME, {}))

    # --- contexts ---

    @call
    async def open_context(self, *, language: Optional[str] = None, workdir: Optional[str] = None) -> Context:
        """A further kernel with its own variables, for cells with `context=`."""
        answer = await self._transport.call(self._request(routes.OPEN_CONTEXT, body({"language": language, "workdir": workdir})))
        return read(Context, answer)

    @call
    async def contexts(self) -> List[Context]:
        """The contexts that were opened."""
        return read_list(Context, await self._transport.call(self._request(routes.CONTEXTS)), "contexts")

    @call
    async def restart_context(self, context: str) -> None:
        """Starts it again with fresh variables. Files stay."""
        await self._transport.call(Request(routes.RESTART_CONTEXT, {"session": self.id, "context": context}, json={}))

    @call
    async def delete_context(self, context: str) -> None:
        """Ends a context. Its variables are gone."""
        await self._transport.read(Request(routes.DELETE_CONTEXT, {"session": self.id, "context": context}))

    # --- copies ---

    @call
    async def fork(self, n: int = 1) -> List[SessionT]:
        """Independent copies, with variables and files as they are now."""
        answer = await self._transport.call(self._request(routes.FORK, {"n": n}))
        same: Callable[[Transport, Any], SessionT] = type(self)  # type: ignore[assignment]
        return [same(self._transport, raw) for raw in member(answer, "sessions", list)]

    @call
    async def checkpoint(self, name: str) -> None:
        """Saves the present state under a name."""
        await self._transport.call(self._request(routes.CHECKPOINT, {"name": name}))

    @call
    async def snapshot(self, name: str) -> None:
        """Saves the present state for `client.session(snapshot=name)`, also when this session has ended."""
        await self._transport.call(self._request(routes.SNAPSHOT, {"name": name}))

    @call
    async def restore(self, name: str) -> None:
        """Goes back to a checkpoint, any number of times."""
        await self._transport.call(self._request(routes.RESTORE, {"name": name}))

    @call
    async def checkpoints(self) -> List[str]:
        """Names of the checkpoints."""
        answer = await self._transport.call(self._request(routes.CHECKPOINTS))
        return [str(name) for name in member(answer, "checkpoints", list)]

    @call
    async def delete_checkpoint(self, name: str) -> None:
        await self._transport.read(Request(routes.DELETE_CHECKPOINT, {"session": self.id, "name": name}))

    @call
    async def cells(self, *, limit: Optional[int] = None, before: Optional[str] = None) -> List[Json]:
        """The last cells with their programs and answers, while these are kept, the oldest first."""
        request = Request(routes.CELLS, {"session": self.id}, {"limit": limit, "before": before})
        return member(await self._transport.call(request), "cells", list)

    @call
    async def variables(self) -> List[Json]:
        """Names of the Python variables, with their types and short values. A program can give a wrong list."""
        return member(await self._transport.call(Request(routes.VARIABLES, {"session": self.id})), "variables", list)

    # --- changes in directories granted with :cow ---

    @call
    async def changes(self, path: Optional[str] = None, *, diff: Optional[bool] = None) -> Changes:
        """Lists what it would change on disk; with `diff`, the lines as well."""
        return read(Changes, await self._transport.call(self._request(routes.CHANGES, query={"path": path, "diff": diff})))

    @call
    async def apply(
        self,
        paths: Optional[Sequence[str]] = None,
        *,
        version: Optional[str] = None,
        force: Optional[bool] = None,
        accept_hidden: Optional[int] = None,
    ) -> Settled:
        """Writes changes to the disk: all, or those at or below `paths`.

        version        of the list that you looked at: refused if the changes differ now.
        force          Also overwrite files that changed on disk.
        accept_hidden  `hidden_bytes` of the changes, to apply them although so much was not shown.
        """
        fields = body({"paths": _list(paths), "version": version, "force": force, "accept_hidden": accept_hidden})
        return read(Settled, await self._transport.call(self._request(routes.APPLY, fields)))

    @call
    async def discard(self, paths: Optional[Sequence[str]] = None, *, version: Optional[str] = None) -> Settled:
        """Drops changes: all, or those at or below `paths`."""
        fields = body({"paths": _list(paths), "version": version})
        return read(Settled, await self._transport.call(self._request(routes.DISCARD, fields)))

    # --- itself ---

    @call
    async def refresh(self) -> Json:
        """Reads the server's present description into `raw`."""
        raw: Dict[str, Any] = await self._transport.call(self._request(routes.SESSION))
        member(raw, "session_id", str)
        self.raw = raw
        return raw

    @call
    async def close(self) -> None:
        """Ends it. One that has already ended is not an error."""
        try:
            await self._transport.read(self._request(routes.CLOSE_SESSION))
        except NotFoundError:
            pass


def _list(paths: Optional[Sequence[str]]) -> Optional[List[str]]:
    return None if paths is None else [paths] if isinstance(paths, str) else list(paths)


class Session(SessionMethods["Session", Events, Files, Job, Commands], Blocking):
    _events_class = Events
    _files_class = Files
    _job_class = Job
    _commands_class = Commands

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class AsyncSession(SessionMethods["AsyncSession", AsyncEvents, AsyncFiles, AsyncJob, AsyncCommands], Awaiting):
    _events_class = AsyncEvents
    _files_class = AsyncFiles
    _job_class = AsyncJob
    _commands_class = AsyncCommands

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()
