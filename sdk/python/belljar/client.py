"""The client: runs, event streams, batches, and the way to sessions."""
from __future__ import annotations

import json
import os
import ssl
import urllib.parse
from types import TracebackType
from typing import IO, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Type

from .errors import BelljarError, Unreachable, from_answer
from .session import Session
from .transport import BROKEN, Transport, usual_socket
from .types import Case, Event, Json, Result, parse_case, parse_result

RETRIES = 2


class Client:
    """A server to ask. Methods may be called from several threads.

    server      http://HOST[:PORT], https://…, or unix:/PATH. Without it: `BELLJAR_SERVER`, else this user's Unix socket.
    token       Without it: `token_file`, else `BELLJAR_TOKEN`. The Unix socket needs none.
    timeout     Seconds without a byte from the server after which a request is given up; None: never.
    ca_file     Certificates to trust beside those of the system, for https://. `ssl_context` for all else.
    """

    def __init__(
        self,
        server: Optional[str] = None,
        *,
        token: Optional[str] = None,
        token_file: Optional[str] = None,
        timeout: Optional[float] = 600,
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
        self._transport = Transport(server, token, timeout, ssl_context)

    def __repr__(self) -> str:
        return f"<belljar.Client {self._transport!r}>"

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections. Sessions stay."""
        self._transport.close()

    # --- runs ---

    def run(self, code: str, *, key: Optional[str] = None, **fields: Any) -> Result:
        """Runs a program in a fresh sandbox, to its end.

        fields      `language`, `profile`, `timeout_s`, `memory_mb`, `stdin`, `env`, `files`, `collect` and all else that
                    `POST /v1/run` takes.
        key         An Idempotency-Key: where the connection breaks, the same is asked again, and nothing is run twice.
        """
        return self._run("/v1/run", code, key, fields)

    def stream(self, code: str, *, key: Optional[str] = None, **fields: Any) -> Iterator[Event]:
        """Runs a program and gives events as they happen; the last is `result`. A broken connection is taken up again.

        Who stops iterating before the end (`close()`) cancels the run.
        """
        return self._stream("/v1/run", code, key, fields)

    def result(self, run_id: str) -> Optional[Result]:
        """The answer of an earlier run, kept for a while; None: it still runs."""
        raw = self._transport.call("GET", f"/v1/runs/{urllib.parse.quote(run_id, safe='')}")
        return None if raw["status"] == "running" else parse_result(raw)

    def cancel(self, run_id: str) -> bool:
        """Stops a run. False: it had ended."""
        return bool(self._transport.call("POST", f"/v1/runs/{urllib.parse.quote(run_id, safe='')}/cancel", {})["cancelled"])

    def batch(self, runs: Iterable[Mapping[str, Any]], *, key: Optional[str] = None, **common: Any) -> Iterator[Case]:
        """Runs up to 1000 programs and gives each as it ends, with its verdict.

        runs        One mapping each: `id`, `stdin`, `expected_output`, and whatever else `run` takes.
        common      What they have in common, such as `code`.

        It begins with the first `next()`. Who stops iterating before the end cancels the rest, unless there is a `key`: sent
        again under the same key, a batch goes on where it was.
        """
        body = {**common, "runs": [dict(r) for r in runs]}
        headers = {"Accept": "application/x-ndjson", **_key_header(key)}
        connection, answer = self._transport.open("POST", "/v1/batch", body, headers)
        try:
            is_whole = False
            for line in _lines(answer):
                raw = json.loads(line) if line.strip() else {}
                is_whole = is_whole or "summary" in raw
                if "index" in raw:
                    yield parse_case(raw)
            if not is_whole:
                raise Unreachable("the connection broke before the batch was over", code="unreachable")
        finally:
            answer.close()
            connection.close()

    # --- sessions ---

    def session(self, name: Optional[str] = None, *, key: Optional[str] = None, **fields: Any) -> Session:
        """Opens a session. `with client.session() as s:` ends it with the block."""
        body = {**fields, **({"name": name} if name is not None else {})}
        return Session(self, self._retry("POST", "/v1/sessions", body, key))

    def get_session(self, name: str) -> Session:
        """Returns an open session, by its name or id."""
        return Session(self, self._transport.call("GET", f"/v1/sessions/{urllib.parse.quote(name, safe='')}"))

    def sessions(self) -> List[Session]:
        return [Session(self, raw) for raw in self._transport.call("GET", "/v1/sessions")["sessions"]]

    # --- how ---

    def _retry(self, method: str, path: str, body: Any, key: Optional[str]) -> Any:
        """With a key, a request can be repeated and takes effect once."""
        for attempt in range(RETRIES + 1):
            try:
                return self._transport.call(method, path, body, _key_header(key))
            except Unreachable:
                if key is None or attempt == RETRIES:
                    raise
        raise AssertionError("not reached")

    def _run(self, path: str, code: str, key: Optional[str], fields: Mapping[str, Any]) -> Result:
        return parse_result(self._retry("POST", path, {"code": code, **fields}, key))

    def _stream(self, path: str, code: str, key: Optional[str], fields: Mapping[str, Any]) -> Iterator[Event]:
        run_id: Optional[str] = None
        last_id, left, is_over = 0, RETRIES, False
        method, body = "POST", {"code": code, **fields}  # type: str, Optional[Json]
        headers: Dict[str, str] = {"Accept": "text/event-stream", **_key_header(key)}
        try:
            while not is_over:
                try:
                    for event in self._events(method, path, body, headers):
                        left = RETRIES
                        last_id = event.id or last_id
                        run_id = event.data["id"] if event.kind == "start" else run_id
                        is_over = event.kind in ("result", "error")
                        if event.kind == "error":
                            raise from_answer(0, event.data)
                        yield event
                    if not is_over:
                        raise Unreachable("the stream ended before the run", code="unreachable")
                except Unreachable:
                    if run_id is None or left == 0:
                        raise
                    left -= 1
                    method, body, path = "GET", None, f"/v1/runs/{run_id}/events"
                    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last_id)}
        finally:
            if run_id is not None and not is_over and key is None:
                try:
                    self.cancel(run_id)
                except BelljarError:
                    pass  # it is cancelled by itself when nobody reads

    def _events(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Iterator[Event]:
        connection, answer = self._transport.open(method, path, body, headers)
        kind, number = "message", None  # type: str, Optional[int]
        try:
            for line in _lines(answer):
                name, _, value = line.rstrip("\n").partition(": ")
                if name == "id":
                    number = int(value)
                elif name == "event":
                    kind = value
                elif name == "data":
                    yield Event(kind, number, json.loads(value))
        finally:
            answer.close()
            connection.close()


def _key_header(key: Optional[str]) -> Dict[str, str]:
    return {"Idempotency-Key": key} if key is not None else {}


def _lines(answer: IO[bytes]) -> Iterator[str]:
    while True:
        try:
            line = answer.readline()
        except BROKEN as e:
            raise Unreachable(f"the connection broke: {e}", code="unreachable") from e
        if not line:
            return
        yield line.decode()
