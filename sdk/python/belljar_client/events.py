"""The events of a run: an iterator that survives lost connections, and a method that hands each event to a callback."""
from __future__ import annotations

import contextlib
import inspect
import re
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Optional, Type, TypeVar, Union

from . import routes
from .errors import NotFoundError, ProtocolError, Unreachable, from_answer
from .http1 import Lines
from .methods import Awaiting, Blocking, call, finish
from .routes import Value
from .transport import Exchange, Request, Transport, load_json
from .types import Approval, Display, Event, Progress, Result, member

T = TypeVar("T")
Said = Union[Awaitable[object], object]
Callback = Optional[Callable[[T], Said]]

LAST = ("result", "error", "running")
RETRIES = 2
ID_DIGITS = 18
ID_BYTES = 8192  # of a stream of several machines, which has a place in the stream of each


def approval_request(approval: Approval, approve: bool, accept_hidden: Optional[int]) -> Request:
    """An answer to this question with these arguments, and to no other."""
    body: Dict[str, Any] = {"approve": approve, "approval_id": approval.approval_id, "sha256": approval.sha256}
    if accept_hidden is not None:
        body["accept_hidden"] = accept_hidden
    if approval.session_id:
        return Request(routes.APPROVE_CELL, {"session": approval.session_id}, json=body)
    return Request(routes.APPROVE_RUN, {"run": approval.run_id}, json=body)


def line_request(run_id: str, text: Optional[str], close: Optional[bool]) -> Request:
    """A line of input that the run waits for."""
    return Request(routes.LINE, {"run": run_id}, json={k: v for k, v in (("text", text), ("close", close)) if v is not None})


PLACES = re.compile(rb"[a-z][a-z0-9.-]*")
STREAM = {"Accept": "text/event-stream"}


def follow_request(run_id: str, stdout: int, stderr: int, wait: Value = None) -> Request:
    """Output of a run beyond so many bytes, and its result."""
    query = {"stdout": stdout or None, "stderr": stderr or None, "wait": wait}
    return Request(routes.FOLLOW, {"run": run_id}, query, headers=STREAM)


async def read_event(lines: Lines, max_bytes: int) -> Optional[Event]:
    """The next event of a stream. None: the stream has ended."""
    kind, size = "message", 0
    number: Union[int, str, None] = None
    data: List[bytes] = []
    while True:
        line = await lines.next()
        if line is None:
            return None
        line = line[:-1] if line.endswith(b"\r") else line
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"id" and value.isdigit() and len(value) <= ID_DIGITS:
            number = int(value)
        elif name == b"id" and 0 < len(value) <= ID_BYTES and PLACES.fullmatch(value):
            number = value.decode("ascii")
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"data":
            data.append(value)
            size += len(value) + 1  # an empty line takes memory, too
            if size > max_bytes:
                raise ProtocolError("an event is longer than the client accepts", hint="`max_answer_bytes` is the limit")
        elif not line and data:
            decoded = load_json(b"\n".join(data))
            if not isinstance(decoded, dict):
                raise ProtocolError("the data of an event is not an object")
            return Event(kind, number, decoded)


class EventsMethods:
    """Events of a run, as they happen; the last is `result`. Nothing is sent before the first is asked for.

    Closing them before the end cancels the run, unless it has a key or is a job.
    """

    def __init__(self, transport: Transport, request: Request) -> None:
        self.run_id = request.parts.get("run")
        self.result: Optional[Result] = None  # of a run that has ended
        self._transport = transport
        self._request = request
        self._follows = request.route == routes.FOLLOW
        self._watches = request.route == routes.ALL_EVENTS
        self._cancels = not self._follows and not self._watches and request.key is None
        self._exchange: Optional[Exchange] = None
        self._lines: Optional[Lines] = None
        self._last_id: Union[int, str] = 0
        self._have = {"stdout": 0, "stderr": 0}  # bytes
        self._retries = RETRIES
        self._is_over = False

    # --- one connection ---

    async def _open(self) -> None:
        self._exchange = await self._transport.start(self._request)
        self._lines = self._exchange.lines()

    def _close_exchange(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()

    async def _read_event(self) -> Event:
        """The next event of the stream. Raises Unreachable where the stream ends before the run."""
        if self._exchange is None:
            await self._open()
        assert self._lines is not None
        event = await read_event(self._lines, self._transport.max_answer_bytes)
        if event is None:
            raise Unreachable("the stream ended before the run")
        return event

    # --- all of them ---

    async def _next(self) -> Optional[Event]:
        while not self._is_over:
            try:
                event = await self._read_event()
            except Unreachable:
                self._close_exchange()
                if self._retries == 0 or (self.run_id is None and self._request.key is None and not self._watches):
                    raise
                self._retries -= 1
                if self._watches:
                    self._watch_on()
                elif self.run_id is not None:
                    self._request = self._rest(self.run_id)
                continue
            except BaseException:
                await self._end()
                raise
            self._retries = RETRIES
            self._note_place(event)
            if event.kind == "start":
                self.run_id = member(event.data, "id", str)
            if event.kind in LAST and not self._watches:
                self._is_over = True
                self._close_exchange()
            if event.kind == "error":
                raise from_answer(0, event.data)
            self.result = event.result or self.result
            return event
        return None

    def _note_place(self, event: Event) -> None:
        self._last_id = event.id or self._last_id
        offset = event.data.get("offset")
        if event.kind in self._have and isinstance(offset, int):
            self._have[event.kind] = max(0, offset) + len(event.text.encode("utf-8", "replace"))

    def _watch_on(self) -> None:
        """Asks for what happened since the last event."""
        self._request = Request(routes.ALL_EVENTS, {}, self._request.query, headers={**STREAM, "Last-Event-ID": str(self._last_id)})

    def _rest(self, run_id: str) -> Request:
        """Asks for what follows the last event."""
        if self._follows:
            return follow_request(run_id, self._have["stdout"], self._have["stderr"], self._request.query.get("wait"))
        return Request(routes.EVENTS, {"run": run_id}, headers={**STREAM, "Last-Event-ID": str(self._last_id)})

    async def _end(self) -> None:
        self._close_exchange()
        was_over, self._is_over = self._is_over, True
        if self.run_id is not None and self._cancels and not was_over:
            await self._transport.tell(Request(routes.CANCEL, {"run": self.run_id}, json={}))

    async def _say(self, callback: Callback[T], what: T) -> Any:
        answer = None if callback is None else callback(what)
        if inspect.iscoroutine(answer) and isinstance(self, Blocking):
            answer.close()
            raise TypeError("a callback of Client cannot be a coroutine function; use AsyncClient")
        return await answer if inspect.isawaitable(answer) else answer

    @call
    async def close(self) -> None:
        """Stops reading. A run that is not over is cancelled, unless it has a key."""
        await self._end()

    @call
    async def wait(
        self,
        *,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        on_display: Callback[List[Display]] = None,
        on_progress: Callback[Progress] = None,
        on_approval: Callback[Approval] = None,
        on_input: Callback[Event] = None,
        on_event: Callback[Event] = None,
    ) -> Result:
        """Reads to the end, hands each event to its callback, and returns the result.

        `on_approval` returns True to approve a call, False to refuse it, None to leave it to somebody else. A call with
        hidden bytes can only be approved by `Client.approve()`. `on_input` returns a line for a cell with `stdin_open`, or None:
        there are no more. With AsyncClient, callbacks may be coroutine functions.
        """
        try:
            while (event := await self._next()) is not None:
                if event.kind == "stdout":
                    await self._say(on_stdout, event.text)
                elif event.kind == "stderr":
                    await self._say(on_stderr, event.text)
                elif event.kind == "display":
                    await self._say(on_display, event.displays)
                elif event.kind == "progress" and event.progress:
                    await self._say(on_progress, event.progress)
                elif event.kind == "approval" and event.approval:
                    answer = await self._say(on_approval, event.approval)
                    if answer is not None:
                        with contextlib.suppress(NotFoundError):  # somebody else was faster
                            await self._transport.call(approval_request(event.approval, answer is True, None))
                elif event.kind == "input" and on_input:
                    line = await self._say(on_input, event)
                    with contextlib.suppress(NotFoundError):  # the cell has ended
                        text = None if line is None else str(line)
                        await self._transport.call(line_request(str(event.data.get("run_id")), text, line is None))
                await self._say(on_event, event)
        except BaseException:
            await self._end()
            raise
        if self.result is None:
            raise Unreachable("the events were closed before the run was over")
        return self.result


class Events(EventsMethods, Blocking):
    def __iter__(self) -> "Events":
        return self

    def __next__(self) -> Event:
        event = finish(self._next())
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> "Events":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:  # left by `break`
        if getattr(self, "_exchange", None) is not None:
            with contextlib.suppress(Exception):
                self.close()


class AsyncEvents(EventsMethods, Awaiting):
    def __aiter__(self) -> "AsyncEvents":
        return self

    async def __anext__(self) -> Event:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> "AsyncEvents":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __del__(self) -> None:  # left by `break`: the server cancels a run that nobody reads
        if getattr(self, "_exchange", None) is not None:
            with contextlib.suppress(Exception):
                self._close_exchange()
