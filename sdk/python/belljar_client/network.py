"""Connections: with blocking sockets, and with asyncio. The coroutines of the blocking ones never wait for a future."""
from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any, Callable, Optional, Protocol, TypeVar

T = TypeVar("T")

CONNECT_SECONDS = 10
READ_BYTES = 65536
AHEAD_BYTES = 4 * READ_BYTES  # read from the network before anybody asks for it


@dataclass(frozen=True)
class Address:
    """The place of a server: `unix`, the path of a socket, or a host with a port."""

    unix: Optional[str]
    host: str
    port: int
    tls: Optional[ssl.SSLContext]

    def __str__(self) -> str:
        return self.unix or f"{self.host}:{self.port}"


class Connection(Protocol):
    async def read(self) -> bytes:
        """Some bytes; empty at the end."""
        ...

    async def write(self, data: bytes) -> bool:
        """False: it stopped, since there is something to read. A server that refuses a body does not read it."""
        ...

    def is_quiet(self) -> bool:
        """Whether it can be used again: the other side has sent nothing and has not closed it."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    async def connect(self, address: Address, timeout: Optional[float]) -> Connection: ...

    async def sleep(self, seconds: float) -> None: ...

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        """Calls a function that reads or writes a local file."""
        ...

    def place(self) -> Any:
        """Connections are only used again in the same place: of a process, or of an event loop."""


def _is_readable(fd: int, *, or_writable: bool = False, seconds: Optional[float] = 0) -> bool:
    """Waits until there is something to read, the end and errors included, or room to write."""
    if not hasattr(select, "poll"):
        readable, writable, _ = select.select([fd], [fd] if or_writable else [], [], seconds)
        is_readable, is_ready = bool(readable), bool(readable or writable)
    else:
        poll = select.poll()
        poll.register(fd, select.POLLIN | (select.POLLOUT if or_writable else 0))
        found = sum(mask for _, mask in poll.poll(None if seconds is None else seconds * 1000))
        is_readable, is_ready = bool(found & ~select.POLLOUT), bool(found)
    if or_writable and not is_ready:
        raise TimeoutError("timed out")
    return is_readable


# --- blocking ---


class SocketConnection:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def read(self) -> bytes:
        return self._sock.recv(READ_BYTES)

    async def write(self, data: bytes) -> bool:
        if isinstance(self._sock, ssl.SSLSocket):  # what there is to read may be of TLS itself
            self._sock.sendall(data)
            return True
        left = memoryview(data)
        while left:
            if _is_readable(self._sock.fileno(), or_writable=True, seconds=self._sock.gettimeout()):
                return False
            left = left[self._sock.send(left) :]
        return True

    def is_quiet(self) -> bool:
        pending = self._sock.pending() if isinstance(self._sock, ssl.SSLSocket) else 0
        return not pending and not _is_readable(self._sock.fileno())

    def close(self) -> None:
        self._sock.close()


class BlockingNetwork:
    async def connect(self, address: Address, timeout: Optional[float]) -> Connection:
        if address.unix is not None:
            sock = socket.socket(socket.AF_UNIX)
        else:
            sock = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
        try:
            sock.settimeout(CONNECT_SECONDS)
            if address.unix is not None:
                sock.connect(address.unix)
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls is not None:
                sock = address.tls.wrap_socket(sock, server_hostname=address.host)
            sock.settimeout(timeout)
            return SocketConnection(sock)
        except BaseException:
            sock.close()
            raise

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        return function(*args)

    def place(self) -> Any:
        return os.getpid()


# --- asyncio ---


class ProtocolConnection(asyncio.Protocol):
    """Keeps what arrived before an error: a server may refuse a body before all of it was sent."""

    def __init__(self, timeout: Optional[float]) -> None:
        self._timeout = timeout
        self._transport: Optional[asyncio.Transport] = None
        self._data = bytearray()
        self._error: Optional[Exception] = None
        self._is_over = False
        self._is_paused = False  # reading
        self._is_full = False
        self._changed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) >= AHEAD_BYTES and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._changed.set()

    def eof_received(self) -> bool:
        self._is_over = True
        self._changed.set()
        return False

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._transport = None
        self._error = exc
        self._is_over = True
        self._changed.set()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._changed.set()

    async def read(self) -> bytes:
        async with asyncio.timeout(self._timeout):
            while not self._data and not self._is_over:
                self._changed.clear()
                await self._changed.wait()
        if not self._data and self._error is not None:
            raise self._error
        data = bytes(self._data)
        self._data.clear()
        if self._is_paused and not self._is_over and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def _is_answered(self) -> bool:
        return bool(self._data) or self._is_over or self._transport is None

    async def write(self, data: bytes) -> bool:
        is_plain = self._transport is not None and self._transport.get_extra_info("ssl_object") is None
        if self._transport is None or self._is_answered() or (is_plain and self._is_readable()):
            return False
        self._transport.write(data)
        async with asyncio.timeout(self._timeout):
            while self._is_full and not self._is_answered():
                self._changed.clear()
                await self._changed.wait()
        return not self._is_full

    def _is_readable(self) -> bool:
        """Looks at the socket, which the event loop may not have done for a while."""
        sock = None if self._transport is None else self._transport.get_extra_info("socket")
        return sock is None or _is_readable(sock.fileno())

    def is_quiet(self) -> bool:
        return not self._is_answered() and not self._is_readable()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class AsyncNetwork:
    async def connect(self, address: Address, timeout: Optional[float]) -> Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            if address.unix is not None:
                _, connection = await loop.create_unix_connection(lambda: ProtocolConnection(timeout), address.unix)
            else:
                _, connection = await loop.create_connection(
                    lambda: ProtocolConnection(timeout), address.host, address.port, ssl=address.tls
                )
        return connection

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.to_thread(function, *args)

    def place(self) -> Any:
        return (os.getpid(), asyncio.get_running_loop())
