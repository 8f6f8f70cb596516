"""HTTP over TCP, TLS or a Unix socket: one exchange at a time, with connections that are used again."""
from __future__ import annotations

import http.client
import json
import os
import select
import socket
import ssl
import threading
import urllib.parse
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .errors import InvalidError, Unreachable, from_answer

CONNECT_SECONDS = 10
IDLE_CONNECTIONS = 8

BROKEN = (OSError, http.client.HTTPException)


def usual_socket() -> str:
    """The Unix socket of this user's server."""
    base = os.environ.get("XDG_RUNTIME_DIR") or ("/run" if os.geteuid() == 0 else f"/run/user/{os.geteuid()}")
    return os.path.join(base, "belljar", "http.sock")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.close()
            raise


class Transport:
    def __init__(self, server: str, token: Optional[str], timeout: Optional[float], context: Optional[ssl.SSLContext]) -> None:
        url = urllib.parse.urlsplit(server)
        self._unix = server[5:] if server.startswith("unix:") else server if server.startswith("/") else None
        if not self._unix and (url.scheme not in ("http", "https") or not url.hostname or url.path.strip("/") or url.query or url.username):
            raise InvalidError(
                f"`{server}` is not the address of a server", code="invalid", hint="http://HOST:PORT, https://… or unix:/PATH"
            )
        self._is_tls = url.scheme == "https"
        self._host = url.hostname or "localhost"
        self._port = url.port or 8222
        if token and not self._is_tls and not self._unix and self._host not in ("localhost", "127.0.0.1", "::1"):
            raise InvalidError("the token would be sent unencrypted", code="invalid", hint="use https://")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._context = context or (ssl.create_default_context() if self._is_tls else None)
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<{self._unix or f'{self._host}:{self._port}'}>"

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # --- connections ---

    def _new(self) -> http.client.HTTPConnection:
        if self._unix:
            return _UnixConnection(self._unix, CONNECT_SECONDS)
        if self._is_tls:
            return http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT_SECONDS, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)

    def _take(self) -> http.client.HTTPConnection:
        """Returns an idle connection that the server has not closed, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._new()
                connection.connect()
                connection.sock.settimeout(self._timeout)
                return connection
            if connection.sock and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _give_back(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        with self._lock:
            if connection.sock and not answer.will_close and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    # --- exchanges ---

    def open(
        self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None
    ) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Returns the answer, to be read; raises an error of the server. A body other than bytes or a file is sent as JSON."""
        all_headers: Dict[str, str] = {"Accept": "application/json", **self._headers, **(headers or {})}
        if body is not None and not isinstance(body, (bytes, bytearray)) and not hasattr(body, "read"):
            body = json.dumps(body).encode()
            all_headers.setdefault("Content-Type", "application/json")
        try:
            connection = self._take()
        except BROKEN as e:
            raise Unreachable(
                f"no server answers at {self!r}: {e}", code="unreachable", hint="start one with `belljar serve`"
            ) from e
        try:
            try:
                connection.request(method, path, body=body, headers=all_headers, encode_chunked=hasattr(body, "read"))
            except (BrokenPipeError, ConnectionResetError):
                pass  # a body that is refused is not read to its end; the answer says why
            answer = connection.getresponse()
            if answer.length is None and not answer.chunked and answer.status != 204:
                raise http.client.IncompleteRead(b"")  # the head was cut off: every answer says how long it is
            if answer.status >= 400:
                text = answer.read()
                self._give_back(connection, answer)
                raise from_answer(answer.status, _json_or_none(text), answer.getheader("Retry-After"))
        except BROKEN as e:
            connection.close()
            raise Unreachable(f"the connection to {self!r} broke: {e}", code="unreachable") from e
        except BaseException:  # an interrupt: half an answer is of no use to the next request
            connection.close()
            raise
        return connection, answer

    def read(self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None) -> bytes:
        connection, answer = self.open(method, path, body, headers)
        try:
            data = answer.read()
        except BROKEN as e:
            connection.close()
            raise Unreachable(f"the connection to {self!r} broke: {e}", code="unreachable") from e
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, answer)
        return data

    def call(self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None) -> Any:
        """One exchange in JSON; None: the answer had no body."""
        data = self.read(method, path, body, headers)
        return json.loads(data) if data else None


def _json_or_none(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
