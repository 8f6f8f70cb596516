"""Commands in the sandbox of a session, beside its cells."""
from __future__ import annotations

import base64
import uuid
from typing import Any, Dict, Generic, List, Optional, Sequence, Type, TypeVar, Union, Unpack

from . import routes
from .events import STREAM, AsyncEvents, Events, EventsMethods
from .fields import CommandFields, body
from .jobs import AsyncJob, Job, start_run
from .methods import Awaiting, Blocking, call, plain
from .transport import Request, Transport
from .types import Result, RunInfo, member, read_list, read_result

EventsT = TypeVar("EventsT", bound=EventsMethods)
CommandT = TypeVar("CommandT", bound="CommandMethods")

Line = Union[str, Sequence[str]]


class CommandMethods:
    """Methods for a command while it runs. The rest is that of a job."""

    _transport: Transport
    id: str
    session_id: str

    def _command_request(self, route: routes.Route, json: Any = None) -> Request:
        return Request(route, {"session": self.session_id, "command": self.id}, json=json)

    @call
    async def write(self, data: Union[str, bytes] = "", *, close: Optional[bool] = None) -> None:
        """Types on its terminal, or writes to its standard input, which was opened with `stdin_open`. `close`: that is the end of it."""
        given = {"text": data} if isinstance(data, str) else {"base64": base64.b64encode(data).decode("ascii")}
        await self._transport.read(self._command_request(routes.COMMAND_STDIN, body(given, close=close)))

    @call
    async def resize(self, cols: int, rows: int) -> None:
        """Sets the size of its terminal, which it has with `pty`."""
        await self._transport.read(self._command_request(routes.COMMAND_RESIZE, {"cols": cols, "rows": rows}))

    @call
    async def signal(self, signal: str) -> None:
        """Sends a signal to it and to what it started: TERM, INT, HUP, KILL, …"""
        await self._transport.read(self._command_request(routes.COMMAND_SIGNAL, {"signal": signal}))

    @call
    async def kill(self) -> bool:
        """Kills it and what it started. False: it had ended."""
        return member(await self._transport.call(self._command_request(routes.KILL_COMMAND)), "cancelled", bool)


class Command(CommandMethods, Job):
    """A command that goes on without a connection."""

    def __init__(self, transport: Transport, run_id: str, session_id: str) -> None:
        super().__init__(transport, run_id)
        self.session_id = session_id


class AsyncCommand(CommandMethods, AsyncJob):
    """A command that goes on without a connection."""

    def __init__(self, transport: Transport, run_id: str, session_id: str) -> None:
        super().__init__(transport, run_id)
        self.session_id = session_id


class CommandsMethods(Generic[EventsT, CommandT]):
    """Commands of a session. Each is a line for Bash, or a list: a program and its arguments, without a shell."""

    _events_class: Type[EventsT]
    _command_class: Type[CommandT]

    def __init__(self, transport: Transport, session: str) -> None:
        self._transport = transport
        self._session = session

    def _request(self, command: Line, key: Optional[str], fields: Any, **more: Any) -> Request:
        words: Dict[str, Any] = {"command": command} if isinstance(command, str) else {"args": list(command)}
        return Request(routes.START_COMMAND, {"session": self._session}, json=body(fields, **words), key=key, **more)

    @call
    async def run(self, command: Line, *, key: Optional[str] = None, **fields: Unpack[CommandFields]) -> Result:
        """Runs a command to its end."""
        return read_result(await self._transport.call(self._request(command, key, fields)))

    @plain
    def stream(self, command: Line, *, key: Optional[str] = None, **fields: Unpack[CommandFields]) -> EventsT:
        """Runs a command and gives its events as they happen."""
        return self._events_class(self._transport, self._request(command, key, fields, headers=STREAM))

    @call
    async def start(self, command: Line, *, key: Optional[str] = None, **fields: Unpack[CommandFields]) -> CommandT:
        """Starts a command that goes on without a connection."""
        request = self._request(command, key or str(uuid.uuid4()), {**fields, "background": True})
        return self.get(await start_run(self._transport, request))

    @call
    async def list(self) -> List[RunInfo]:
        """The commands of the session, the newest first."""
        return read_list(RunInfo, await self._transport.call(Request(routes.COMMANDS, {"session": self._session})), "commands")

    @plain
    def get(self, command_id: str) -> CommandT:
        """A command by its id."""
        kind: Any = self._command_class
        command: CommandT = kind(self._transport, command_id, self._session)
        return command


class Commands(CommandsMethods[Events, Command], Blocking):
    _events_class = Events
    _command_class = Command


class AsyncCommands(CommandsMethods[AsyncEvents, AsyncCommand], Awaiting):
    _events_class = AsyncEvents
    _command_class = AsyncCommand
