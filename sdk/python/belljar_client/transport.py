"""One exchange with a server: connections that are used again, retries where they are safe, errors."""
from __future__ import annotations

import functools
import json
import os
import ssl
import threading
import urllib.parse
from dataclasses import dataclass, field
from typing import IO, Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar, Union

from .errors import BelljarError, BusyError, InvalidError, ProtocolError, Unreachable, from_answer
from .http1 import Answer, Lines, request_head
from .network import READ_BYTES, Address, Connection, Network
from .routes import Route, Value

T = TypeVar("T")
Body = Union[bytes, IO[bytes], None]

PORT = 8222
IDLE_CONNECTIONS = 8
ERROR_BYTES = 1 << 20
BUSY_SECONDS = 30  # the longest that a busy server is waited for before a retry
TELL_SECONDS = 5
LOCAL = ("localhost", "127.0.0.1", "::1")

BROKEN = (OSError, EOFError)


def usual_socket() -> str:
    """The Unix socket of this user's server."""
    base = os.environ.get("XDG_RUNTIME_DIR") or ("/run" if os.geteuid() == 0 else f"/run/user/{os.geteuid()}")
    return os.path.join(base, "belljar", "http.sock")


def parse_address(server: str, ssl_context: Optional[ssl.SSLContext]) -> Address:
    unix = server[5:] if server.startswith("unix:") else server if server.startswith("/") else None
    if unix:
        return Address(unix, "localhost", 0, None)
    try:
        url = urllib.parse.urlsplit(server)
        port = url.port or PORT
    except ValueError:
        url, port = urllib.parse.urlsplit(""), 0
    if url.scheme not in ("http", "https") or not url.hostname or url.path.strip("/") or url.query or url.fragment or "@" in url.netloc:
        raise InvalidError(
            f"`{server}` is not the address of a server", code="invalid", hint="http://HOST:PORT, https://HOST:PORT or unix:/PATH"
        )
    tls = ssl_context or ssl.create_default_context() if url.scheme == "https" else None
    return Address(None, url.hostname, port, tls)


@dataclass(frozen=True)
class Request:
    route: Route
    parts: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Value] = field(default_factory=dict)
    json: Any = None  # sent as the body
    body: Body = None  # or these bytes, or a file that is sent as it is read
    headers: Mapping[str, str] = field(default_factory=dict)
    key: Optional[str] = None  # Idempotency-Key: sent twice, it takes effect once

    @property
    def target(self) -> str:
        return self.route.fill(self.parts, self.query)

    @property
    def can_be_sent_again(self) -> bool:
        """After a broken connection, when it may already have taken effect."""
        return self.route.method == "GET" or self.key is not None

    def prepare(self) -> Tuple[Dict[str, str], Body]:
        headers, body = dict(self.headers), self.body
        if self.json is not None:
            body = _dump(self.json)
            headers["Content-Type"] = "application/json"
        elif body is not None:
            headers["Content-Type"] = "application/octet-stream"
        if self.key is not None:
            if not self.key:
                raise InvalidError("`key` is empty", code="invalid", hint="such as str(uuid.uuid4())")
            headers["Idempotency-Key"] = self.key
        return headers, body


class Exchange:
    """An answer that is being read. Closed before its end, the connection is closed as well."""

    def __init__(self, transport: "Transport", connection: Connection, answer: Answer) -> None:
        self._transport = transport
        self._connection: Optional[Connection] = connection
        self._answer = answer

    async def read(self) -> bytes:
        """Some bytes; empty at the end."""
        try:
            return await self._answer.read()
        except BROKEN as e:
            raise self._transport.broken(e) from e

    async def read_all(self) -> bytes:
        try:
            return await self._answer.read_all(self._transport.max_answer_bytes)
        except BROKEN as e:
            raise self._transport.broken(e) from e

    def lines(self) -> Lines:
        return Lines(self.read, self._transport.max_answer_bytes)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._transport.release(connection, self._answer)


class Transport:
    def __init__(
        self, address: Address, network: Network, *, token: Optional[str], timeout: Optional[float], retries: int, max_answer_bytes: int
    ) -> None:
        if token and address.tls is None and not address.unix and address.host not in LOCAL:
            raise InvalidError("the token would be sent unencrypted", code="invalid", hint="use https://")
        self.address = address
        self.network = network
        self.max_answer_bytes = max_answer_bytes
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._idle: List[Tuple[Any, Connection]] = []
        self._lock = threading.Lock()

    # --- connections ---

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            _close(connection)

    async def _take(self) -> Connection:
        place = self.network.place()
        while True:
            with self._lock:
                place_of, connection = self._idle.pop() if self._idle else (None, None)
            if connection is None:
                return await self.network.connect(self.address, self._timeout)
            # Bytes that nobody asked for are the end of the connection, or the answer to a question of their own.
            if place_of == place and connection.is_quiet():
                return connection
            _close(connection)

    def release(self, connection: Connection, answer: Answer) -> None:
        if answer.can_be_followed:
            with self._lock:
                if len(self._idle) < IDLE_CONNECTIONS:
                    self._idle.append((self.network.place(), connection))
                    return
        _close(connection)

    # --- one exchange ---

    def _head(self, request: Request, headers: Mapping[str, str], body: Body) -> bytes:
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        whole = {"Host": host if self.address.unix else f"{host}:{self.address.port}", "Accept": "application/json", **headers}
        if self._token:
            whole["Authorization"] = f"Bearer {self._token}"
        if isinstance(body, bytes):
            whole["Content-Length"] = str(len(body))
        elif body is not None:
            whole["Transfer-Encoding"] = "chunked"
        elif request.route.method in ("POST", "PUT"):
            whole["Content-Length"] = "0"
        return request_head(request.route.method, request.target, whole)

    async def _send(self, connection: Connection, head: bytes, body: Body) -> bool:
        """False: the server answered before the end."""
        if body is None or isinstance(body, bytes):
            data = head + (body or b"")
            pieces = (data[start : start + READ_BYTES] for start in range(0, len(data), READ_BYTES))
            for piece in pieces:
                if not await connection.write(piece):
                    return False
            return True
        if not await connection.write(head):
            return False
        while piece := await self.network.work(body.read, READ_BYTES):
            if not await connection.write(b"%x\r\n%b\r\n" % (len(piece), piece)):
                return False
        return await connection.write(b"0\r\n\r\n")

    async def open(self, request: Request) -> Exchange:
        """Returns the answer, to be read; raises an error of the server."""
        headers, body = request.prepare()
        head = self._head(request, headers, body)
        try:
            connection = await self._take()
        except BROKEN as e:
            raise Unreachable(f"no server answers at {self.address}: {e}", hint="start one with `belljar serve`") from e
        answer = Answer(connection)
        try:
            try:
                answer.is_last = not await self._send(connection, head, body)
            except (BrokenPipeError, ConnectionResetError):
                answer.is_last = True  # and says why
            await answer.read_head()
            if answer.status >= 400:
                raise from_answer(answer.status, _load(await answer.read_all(ERROR_BYTES), None), answer.headers.get("retry-after"))
            if answer.status >= 300:
                raise ProtocolError(f"the server answered with a redirection ({answer.status}), which is not followed")
        except BelljarError:
            self.release(connection, answer)
            raise
        except BROKEN as e:
            _close(connection)
            raise self.broken(e) from e
        except BaseException:  # interrupted or cancelled: the server ends what it was asked for
            _close(connection)
            raise
        return Exchange(self, connection, answer)

    def broken(self, e: Exception) -> Unreachable:
        if isinstance(e, TimeoutError):
            return Unreachable(
                f"{self.address} sent nothing for {self._timeout} s",
                code="timeout",
                hint="use stream() or start() for long programs, or a larger `timeout` of the client",
            )
        return Unreachable(f"the connection to {self.address} broke: {e}")

    # --- with retries ---

    async def _again(self, request: Request, once: Callable[[Request], Awaitable[T]]) -> T:
        rewind = _rewinding(request.body)
        left = self._retries if rewind is not None else 0
        while True:
            try:
                return await once(request)
            except BusyError as e:  # it has not run
                if left == 0 or e.status != 429 or e.retry_after > BUSY_SECONDS:
                    raise
                delay = e.retry_after or 1.0
            except Unreachable:
                if left == 0 or not request.can_be_sent_again:
                    raise
                delay = 0.1 * (self._retries - left)
            left -= 1
            await self.network.sleep(delay)
            if rewind is not None:
                rewind()

    async def start(self, request: Request) -> Exchange:
        """Like open(), with retries."""
        return await self._again(request, self.open)

    async def read(self, request: Request) -> bytes:
        """The body of an answer."""
        return await self._again(request, self._read_once)

    async def _read_once(self, request: Request) -> bytes:
        exchange = await self.open(request)
        try:
            return await exchange.read_all()
        finally:
            exchange.close()

    async def tell(self, request: Request) -> None:
        """Sends a request whose answer does not matter, on the way out: quickly, or not at all."""
        try:
            connection = await self.network.connect(self.address, TELL_SECONDS)
            try:
                headers, body = request.prepare()
                await self._send(connection, self._head(request, headers, body), body)
                await Answer(connection).read_head()
            finally:
                _close(connection)
        except (BelljarError, *BROKEN):
            pass

    async def call(self, request: Request) -> Any:
        """The JSON of an answer; None: it has no body."""
        data = await self.read(request)
        return load_json(data) if data else None


def _close(connection: Connection) -> None:
    try:
        connection.close()
    except (OSError, RuntimeError):  # asyncio: its event loop is closed
        pass


def _rewinding(body: Body) -> Optional[Callable[[], object]]:
    """Makes a body ready to be sent again. None: it cannot be."""
    if body is None or isinstance(body, bytes):
        return lambda: None
    try:
        return functools.partial(body.seek, body.tell())
    except (AttributeError, OSError, ValueError):  # a pipe
        return None


_NO_DEFAULT = object()


def load_json(data: bytes) -> Any:
    return _load(data, _NO_DEFAULT)


def _load(data: bytes, default: Any) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as e:
        if default is _NO_DEFAULT:
            raise ProtocolError("the answer is not valid JSON") from e
        return default


def _dump(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidError(f"the request cannot be sent as JSON: {e}", code="invalid") from e
