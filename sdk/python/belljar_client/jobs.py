"""Jobs: runs that go on without a connection."""
from __future__ import annotations

from typing import Any, Generic, Mapping, Optional, Type, TypeVar

from . import routes
from .errors import ProtocolError
from .events import AsyncEvents, Events, EventsMethods, follow_request
from .methods import Awaiting, Blocking, call
from .transport import Request, Transport
from .types import Output, Result, member, read, read_result

EventsT = TypeVar("EventsT", bound=EventsMethods)

ALL = 10**15  # bytes of output that are not wanted


async def read_run(transport: Transport, run_id: str) -> Optional[Result]:
    raw = await transport.call(Request(routes.RESULT, {"run": run_id}))
    return None if member(raw, "status", str) == "running" else read_result(raw)


async def cancel_run(transport: Transport, run_id: str) -> bool:
    return member(await transport.call(Request(routes.CANCEL, {"run": run_id}, json={})), "cancelled", bool)


async def read_output(transport: Transport, run_id: str, query: Mapping[str, Any]) -> Output:
    return read(Output, await transport.call(Request(routes.OUTPUT, {"run": run_id}, query)))


async def start_run(transport: Transport, request: Request) -> str:
    """Starts a run that needs no connection, once, and returns its id."""
    return member(await transport.call(request), "id", str)


class JobMethods(Generic[EventsT]):
    """A run that goes on without a connection. Keep `id` to come back to it: `client.job(id)`."""

    _events_class: Type[EventsT]

    def __init__(self, transport: Transport, run_id: str) -> None:
        self._transport = transport
        self.id = run_id

    def __repr__(self) -> str:
        return f"<belljar_client.{type(self).__name__} {self.id!r}>"

    def events(self, *, stdout: int = 0, stderr: int = 0, wait: Optional[bool] = None) -> EventsT:
        """The output so far and what follows, then the result: `start`, `stdout`, `stderr`, `dropped` and `result`.

        stdout, stderr  Bytes of each that you have already.
        wait            False: only the output so far. The last event of a run that is not over is then `running`.

        Any number of clients can read along. Closing the events does not end the run.
        """
        return self._events_class(self._transport, follow_request(self.id, stdout, stderr, wait))

    @call
    async def result(self) -> Optional[Result]:
        """The result; None: it still runs."""
        return await read_run(self._transport, self.id)

    @call
    async def wait(self) -> Result:
        """Waits until it has ended."""
        events = EventsMethods(self._transport, follow_request(self.id, ALL, ALL))
        try:
            while await events._next() is not None:
                pass
        finally:
            events._close_exchange()
        if events.result is None:
            raise ProtocolError("the events of the run ended without a result")
        return events.result

    @call
    async def output(
        self,
        *,
        stream: Optional[str] = None,
        offset: Optional[int] = None,
        line: Optional[int] = None,
        limit: Optional[int] = None,
        search: Optional[str] = None,
        ignore_case: Optional[bool] = None,
    ) -> Output:
        """A part of its whole output; see `Client.output()`."""
        query = {"stream": stream, "offset": offset, "line": line, "limit": limit, "search": search, "ignore_case": ignore_case}
        return await read_output(self._transport, self.id, query)

    @call
    async def cancel(self) -> bool:
        """Ends it. False: it had ended."""
        return await cancel_run(self._transport, self.id)


class Job(JobMethods[Events], Blocking):
    _events_class = Events


class AsyncJob(JobMethods[AsyncEvents], Awaiting):
    _events_class = AsyncEvents
