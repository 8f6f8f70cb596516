"""The clients: runs, events, batches, and the way to sessions, durable jobs, skills and states."""
from __future__ import annotations

import os
import ssl
import uuid
from types import TracebackType
from typing import Any, AsyncIterator, Generic, Iterable, List, Mapping, Optional, Sequence, Set, Type, TypeVar, Unpack

from . import routes
from .durable import AsyncJobs, Jobs, JobsMethods
from .errors import Unreachable
from .events import STREAM, AsyncEvents, Events, approval_request, line_request
from .fields import BatchFields, BatchRun, RunFields, SessionFields, body
from .jobs import AsyncJob, Job, cancel_run, read_output, read_run, start_run
from .methods import Awaiting, Blocking, call, each, opens, plain
from .network import AsyncNetwork, BlockingNetwork, Network
from .session import AsyncSession, EventsT, JobT, Session, SessionT
from .store import AsyncSkills, AsyncStates, Skills, SkillsMethods, States, StatesMethods
from .transport import Request, Transport, load_json, parse_address, usual_socket
from .types import Approval, Case, Json, Language, Output, Result, RunInfo, Snapshot, Undo, Undoable, member, read, read_case, read_list, read_result

SkillsT = TypeVar("SkillsT", bound=SkillsMethods)
StatesT = TypeVar("StatesT", bound=StatesMethods)
JobsT = TypeVar("JobsT", bound=JobsMethods)

MIB = 1 << 20
BATCH_RETRIES = 2


class ClientMethods(Generic[SessionT, EventsT, JobT, SkillsT, StatesT, JobsT]):
    """A server.

    server            http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH. Default: `BELLJAR_SERVER`, else this user's
                      Unix socket.
    token             Default: the content of `token_file`, else `BELLJAR_TOKEN`. The Unix socket needs none.
    timeout           Seconds without a byte from the server after which a request fails; None: no limit.
    retries           How often a request is sent again: if the server is busy (429), or if the connection broke and the
                      request is a GET or has a `key`.
    max_answer_bytes  The longest answer, line or event that is accepted.
    ca_file           Certificates to trust beside the system's, for https://. `ssl_context` replaces all of TLS's settings.
    """

    _network_class: Type[Network]
    _session_class: Type[SessionT]
    _events_class: Type[EventsT]
    _job_class: Type[JobT]
    _skills_class: Type[SkillsT]
    _states_class: Type[StatesT]
    _jobs_class: Type[JobsT]

    def __init__(
        self,
        server: Optional[str] = None,
        *,
        token: Optional[str] = None,
        token_file: Optional[str] = None,
        timeout: Optional[float] = 600,
        retries: int = 2,
        max_answer_bytes: int = 256 * MIB,
        ca_file: Optional[str] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        if token is None and token_file is not None:
            with open(token_file, encoding="ascii") as f:
                token = f.read().strip()
        if token is None:
            token = os.environ.get("BELLJAR_TOKEN") or None
        if server is None:
            server = os.environ.get("BELLJAR_SERVER") or f"unix:{usual_socket()}"
        if ca_file is not None and ssl_context is None:
            ssl_context = ssl.create_default_context()
            ssl_context.load_verify_locations(ca_file)
        self._transport = Transport(
            parse_address(server, ssl_context),
            self._network_class(),
            token=token,
            timeout=timeout,
            retries=retries,
            max_answer_bytes=max_answer_bytes,
        )
        self.skills: SkillsT = self._skills_class(self._transport)
        self.states: StatesT = self._states_class(self._transport)
        self.jobs: JobsT = self._jobs_class(self._transport)

    def __repr__(self) -> str:
        return f"<belljar_client.{type(self).__name__} {self._transport.address}>"

    # --- runs ---

    @call
    async def run(self, code: str, *, key: Optional[str] = None, **fields: Unpack[RunFields]) -> Result:
        """Runs a program in a fresh sandbox, to its end.

        key   An idempotency key: if the connection breaks, the request is sent again, and the program runs once.
        """
        return read_result(await self._transport.call(Request(routes.RUN, json=body(fields, code=code), key=key)))

    @call
    async def check(self, code: str, *, key: Optional[str] = None, **fields: Unpack[RunFields]) -> Result:
        """Checks a program against its profile, without running it. `violations` says what is refused."""
        return read_result(await self._transport.call(Request(routes.CHECK, json=body(fields, code=code), key=key)))

    @plain
    def stream(self, code: str, *, key: Optional[str] = None, **fields: Unpack[RunFields]) -> EventsT:
        """Runs a program and gives its events as they happen: iterate, or call `wait()` with callbacks.

        A lost connection is resumed. Closing the events before the end cancels the run, unless there is a `key`.
        """
        return self._events_class(self._transport, Request(routes.RUN, json=body(fields, code=code), key=key, headers=STREAM))

    @call
    async def start(self, code: str, *, key: Optional[str] = None, **fields: Unpack[RunFields]) -> JobT:
        """Starts a program that goes on without a connection. Its result is kept for a while. It ends with the server; `jobs` do not."""
        request = Request(routes.RUN, json=body(fields, code=code, detach=True), key=key or str(uuid.uuid4()))
        return self._job_class(self._transport, await start_run(self._transport, request))

    def job(self, run_id: str) -> JobT:
        """A run that was started before, by its id."""
        return self._job_class(self._transport, run_id)

    @call
    async def runs(
        self, *, state: Optional[str] = None, session: Optional[str] = None, limit: Optional[int] = None, history: Optional[bool] = None,
        all: Optional[bool] = None, owner: Optional[str] = None, status: Optional[str] = None, language: Optional[str] = None,
        text: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None, before: Optional[int] = None,
        after: Optional[int] = None,
    ) -> List[RunInfo]:  # fmt: skip
        """Your runs, the newest first. `state="live"`: only those that wait or run. `session`: only cells of that one.

        With `history`, also those of the audit trail, which the other filters are for; the next page is what lies `before` the
        `seq` of the last. With `all`, those of all tokens, for operators.
        """
        query = {"state": state, "session": session, "limit": limit, "history": history, "all": all, "owner": owner, "status": status,
                 "language": language, "text": text, "since": since, "until": until, "before": before, "after": after}  # fmt: skip
        return read_list(RunInfo, await self._transport.call(Request(routes.RUNS, {}, query)), "runs")

    @call
    async def run_record(self, run_id: str, *, all: Optional[bool] = None) -> Json:
        """The audit trail's record of a run: its program, its beginning and end, calls, connections, and the runs before and after it."""
        return read_object(await self._transport.call(Request(routes.RECORD, {"run": run_id}, {"all": all})))

    @plain
    def watch(self, *, kinds: Optional[str] = None, session: Optional[str] = None, all: Optional[bool] = None) -> EventsT:
        """Everything that happens to your runs and sessions, from now on, without an end: an iterator of events.

        `kinds`: some of run, command, session, approval and change, with commas. `all`: of all tokens, for operators.
        """
        query = {"kinds": kinds, "session": session, "all": all}
        return self._events_class(self._transport, Request(routes.ALL_EVENTS, {}, query, headers=STREAM))

    @call
    async def result(self, run_id: str) -> Optional[Result]:
        """The result of an earlier run, which is kept for a while; None: it still runs."""
        return await read_run(self._transport, run_id)

    @call
    async def cancel(self, run_id: str) -> bool:
        """Ends a run. False: it had ended."""
        return await cancel_run(self._transport, run_id)

    @call
    async def output(
        self,
        run_id: str,
        *,
        stream: Optional[str] = None,
        offset: Optional[int] = None,
        line: Optional[int] = None,
        limit: Optional[int] = None,
        search: Optional[str] = None,
        ignore_case: Optional[bool] = None,
    ) -> Output:
        """A part of an output that is longer than `output_bytes`, of a result with an `output_handle`.

        stream  stdout (default) or stderr.
        offset  The first byte; or `line`, the first line, from 1. `limit`: so many bytes, lines or matches.
        search  A regular expression: only lines that match, in `matches`.
        """
        query = {"stream": stream, "offset": offset, "line": line, "limit": limit, "search": search, "ignore_case": ignore_case}
        return await read_output(self._transport, run_id, query)

    @each
    async def batch(
        self, runs: Iterable[BatchRun], *, key: Optional[str] = None, **common: Unpack[BatchFields]
    ) -> AsyncIterator[Case]:
        """Runs up to 1000 programs and gives each as it ends, with its verdict.

        runs    Fields of each: `id`, `stdin`, `expected_output`, and whatever else `run()` takes.
        common  What they have in common, such as `code`.

        It begins with the first `next()`. Closing the iterator before the end cancels the rest, unless there is a `key`:
        then a broken connection is taken up again.
        """
        asked = body(common, runs=[body(run) for run in runs])
        request = Request(routes.BATCH, json=asked, headers={"Accept": "application/x-ndjson"}, key=key)
        seen: Set[int] = set()
        left = BATCH_RETRIES
        while True:
            exchange = await self._transport.start(request)
            lines = exchange.lines()
            try:
                while (line := await lines.next()) is not None:
                    raw = load_json(line) if line.strip() else {}
                    if isinstance(raw, dict) and "summary" in raw:
                        return
                    if isinstance(raw, dict) and "index" in raw:
                        case = read_case(raw)
                        if case.index not in seen:
                            seen.add(case.index)
                            yield case
                raise Unreachable("the connection broke before the batch was over")
            except Unreachable:
                if key is None or left == 0:
                    raise
                left -= 1
            finally:
                exchange.close()

    # --- approvals ---

    @call
    async def approvals(self, *, all: Optional[bool] = None) -> List[Approval]:
        """Calls of your programs that wait for approval; with `all`, of everybody's, for operators."""
        return read_list(Approval, await self._transport.call(Request(routes.APPROVALS, {}, {"all": all})), "approvals")

    @call
    async def approve(self, approval: Approval, approve: bool = True, *, accept_hidden: Optional[int] = None) -> bool:
        """Approves a call, or refuses it with False: this call with these arguments only.

        accept_hidden  `hidden_bytes` of the question, to approve it although so much of it was not shown.
        """
        answer = await self._transport.call(approval_request(approval, approve, accept_hidden))
        return member(answer, "approved", bool)

    @call
    async def send_line(self, run_id: str, text: Optional[str] = None, *, close: Optional[bool] = None) -> None:
        """A line that a cell with `stdin_open` has asked for with the event `input`. `close`: there are no more."""
        await self._transport.call(line_request(run_id, text, close))

    # --- undo ---

    @call
    async def undoable(self) -> List[Undoable]:
        """Runs whose changes in granted directories can be undone, the latest first."""
        return read_list(Undoable, await self._transport.call(Request(routes.UNDOABLE)), "runs")

    @call
    async def run_changes(self, run_id: str) -> Undo:
        """Shows what an undo of this run would do."""
        return read(Undo, await self._transport.call(Request(routes.RUN_CHANGES, {"run": run_id})))

    @call
    async def undo(self, run_id: str, *, dry_run: bool = False) -> Undo:
        """Undoes what a run changed in granted directories."""
        return read(Undo, await self._transport.call(Request(routes.UNDO, {"run": run_id}, json={"dry_run": dry_run})))

    # --- sessions ---

    @opens
    async def session(self, name: Optional[str] = None, *, key: Optional[str] = None, **fields: Unpack[SessionFields]) -> SessionT:
        """Opens a session. `with client.session() as s:` ends it with the block."""
        request = Request(routes.OPEN_SESSION, json=body(fields, name=name), key=key)
        return self._session_class(self._transport, await self._transport.call(request))

    @call
    async def get_session(self, name: str) -> SessionT:
        """An open session, by its name or id."""
        raw = await self._transport.call(Request(routes.SESSION, {"session": name}))
        return self._session_class(self._transport, raw)

    @call
    async def sessions(self, *, all: Optional[bool] = None) -> List[SessionT]:
        """Your open sessions; with `all`, everybody's, for operators."""
        answer = await self._transport.call(Request(routes.SESSIONS, {}, {"all": all}))
        return [self._session_class(self._transport, raw) for raw in member(answer, "sessions", list)]

    @call
    async def snapshots(self) -> List[Snapshot]:
        """Your snapshots, newest first. They are gone when the server ends."""
        return read_list(Snapshot, await self._transport.call(Request(routes.SNAPSHOTS)), "snapshots")

    @call
    async def delete_snapshot(self, name: str) -> None:
        """Forgets a snapshot. Sessions that were opened from it go on."""
        await self._transport.read(Request(routes.DELETE_SNAPSHOT, {"name": name}))

    # --- the server ---

    @call
    async def languages(self) -> List[Language]:
        """Languages of programs, and which of them the server's host can run. The first is the default."""
        return read_list(Language, await self._transport.call(Request(routes.LANGUAGES)), "languages")

    @call
    async def stats(self) -> Json:
        """Figures about your token; for operators, about the server as well."""
        return read_object(await self._transport.call(Request(routes.STATS)))

    @call
    async def metrics(self) -> str:
        """Figures for Prometheus. For operators."""
        return (await self._transport.read(Request(routes.METRICS, headers={"Accept": "text/plain"}))).decode("utf-8", "replace")

    # --- for operators ---

    @call
    async def audit(
        self, *, kind: Optional[str] = None, status: Optional[str] = None, owner: Optional[str] = None, session: Optional[str] = None,
        text: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None, after: Optional[int] = None,
        before: Optional[int] = None, limit: Optional[int] = None, node: Optional[str] = None,
    ) -> List[Json]:  # fmt: skip
        """Records of the audit trail, newest first. The next page is what lies `before` the `seq` of the last.

        At a gateway of several machines, those of all; numbers are for one of them, `node`.
        """
        query = {"kind": kind, "status": status, "owner": owner, "session": session, "text": text, "since": since,
                 "until": until, "after": after, "before": before, "limit": limit, "node": node}  # fmt: skip
        return member(await self._transport.call(Request(routes.AUDIT, query=query)), "records", list)

    @call
    async def audit_records(self, id: str, *, node: Optional[str] = None) -> Json:
        """The whole records of a run, a session or a correlation id, or the one with this number, of one machine at a gateway."""
        return read_object(await self._transport.call(Request(routes.AUDIT_RECORDS, {"id": id}, {"node": node})))

    @call
    async def audit_lines(self, *, after: Optional[int] = None, node: Optional[str] = None) -> Json:
        """Records as they were written, oldest first, to be verified elsewhere: `lines`, and `pem`, the public key of the trail."""
        return read_object(await self._transport.call(Request(routes.AUDIT_LINES, {}, {"after": after, "node": node})))

    @call
    async def cluster_nodes(self) -> Json:
        """The machines of a cluster, as a gateway knows them: state, room, load, versions."""
        return read_object(await self._transport.call(Request(routes.CLUSTER_NODES)))

    @call
    async def audit_head(self, *, node: Optional[str] = None) -> Json:
        """The signed head of the audit trail."""
        return read_object(await self._transport.call(Request(routes.AUDIT_HEAD, {}, {"node": node})))

    @call
    async def verify_audit(self, *, node: Optional[str] = None) -> Json:
        """Reads the whole audit trail and says what is wrong with it."""
        return read_object(await self._transport.call(Request(routes.AUDIT_VERIFY, {}, {"node": node}, json={})))

    @call
    async def settings(self) -> Json:
        """The settings in force and where each comes from."""
        return member(await self._transport.call(Request(routes.SETTINGS)), "settings", dict)

    @call
    async def tokens(self) -> List[Json]:
        """Names, rights and use of the tokens, never the tokens themselves."""
        return member(await self._transport.call(Request(routes.TOKENS)), "tokens", list)

    @call
    async def add_token(
        self, name: str, *, operator: Optional[bool] = None, grants: Optional[bool] = None, profiles: Optional[Sequence[str]] = None,
        limits: Optional[Mapping[str, float]] = None,
    ) -> str:  # fmt: skip
        """Adds a token and returns it, which nobody can do again. Only from the server's own machine."""
        fields = {"name": name, "operator": operator, "grants": grants, "profiles": profiles, "limits": limits}
        request = Request(routes.ADD_TOKEN, json={key: value for key, value in fields.items() if value is not None})
        return member(await self._transport.call(request), "token", str)

    @call
    async def remove_token(self, name: str) -> None:
        """Removes a token with everything that it opened. Only from the server's own machine."""
        await self._transport.read(Request(routes.REMOVE_TOKEN, {"name": name}))

    @call
    async def doctor(self) -> Json:
        """How well the server's host can isolate programs, as `belljar doctor --json` says."""
        return read_object(await self._transport.call(Request(routes.DOCTOR)))

    # --- about yourself ---

    @call
    async def me(self) -> Json:
        """Name, rights and use of your token."""
        return read_object(await self._transport.call(Request(routes.ME)))

    @call
    async def audit_key(self, *, node: Optional[str] = None) -> Json:
        """The public key of the audit trail: `key`, its name, and `pem`."""
        return read_object(await self._transport.call(Request(routes.AUDIT_KEY, {}, {"node": node})))

    @call
    async def check_receipt(self, receipt: Mapping[str, Any]) -> Json:
        """Whether a receipt, or a result with one (`Result.raw`), is genuine."""
        return read_object(await self._transport.call(Request(routes.CHECK_RECEIPT, json=dict(receipt))))

    @call
    async def openapi(self) -> Json:
        """The server's own description of its API."""
        return read_object(await self._transport.call(Request(routes.DESCRIPTION)))


def read_object(raw: Any) -> Json:
    return member({"answer": raw}, "answer", dict)


class Client(ClientMethods[Session, Events, Job, Skills, States, Jobs], Blocking):
    __doc__ = f"{ClientMethods.__doc__}\n    Methods wait for the answer. Threads can share a client.\n    "

    _network_class = BlockingNetwork
    _session_class = Session
    _events_class = Events
    _job_class = Job
    _skills_class = Skills
    _states_class = States
    _jobs_class = Jobs

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections. Sessions and jobs stay."""
        self._transport.close()


class AsyncClient(ClientMethods[AsyncSession, AsyncEvents, AsyncJob, AsyncSkills, AsyncStates, AsyncJobs], Awaiting):
    __doc__ = f"{ClientMethods.__doc__}\n    Methods are awaited, in asyncio.\n    "

    _network_class = AsyncNetwork
    _session_class = AsyncSession
    _events_class = AsyncEvents
    _job_class = AsyncJob
    _skills_class = AsyncSkills
    _states_class = AsyncStates
    _jobs_class = AsyncJobs

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes connections. Sessions and jobs stay."""
        self._transport.close()
