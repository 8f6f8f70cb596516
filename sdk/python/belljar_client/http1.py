"""HTTP/1.1 as far as a client of Belljar needs it: requests that cannot carry more than they say, answers within bounds.

A server may be hostile, or not a Belljar server at all. An answer that is ambiguous is refused, and nothing of unknown
length is read without a limit.
"""
from __future__ import annotations

import re
from typing import Awaitable, Callable, Dict, List, Mapping, Optional, Tuple

from .errors import InvalidError, ProtocolError, Unreachable
from .network import Connection

HEAD_BYTES = 65536
INTERIM_ANSWERS = 8
CHUNK_LINE_BYTES = 4096

_STATUS = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2})(?: [^\r\n]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_VALUE = re.compile(r"[\x20-\x7e]*")
_TARGET = re.compile(r"/[\x21-\x7e]*")


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The first bytes of a request. Refuses values that would end a line."""
    if not _TARGET.fullmatch(target):
        raise InvalidError("the path of the request has characters that are not allowed there", code="invalid")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not _VALUE.fullmatch(value):
            raise InvalidError(
                f"the header {name} can only have visible ASCII characters", code="invalid", hint="remove line breaks and control characters"
            )
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


class Answer:
    """Status, headers, and a body that is read in pieces."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self.status = 0
        self.headers: Dict[str, str] = {}
        self._left: Optional[int] = None  # bytes until the end of the body, or of the chunk; None: not yet known
        self._is_chunked = False
        self.is_whole = False
        self.is_last = False  # its request was not sent to the end: the next one would be taken for the rest

    @property
    def can_be_followed(self) -> bool:
        """Whether the connection can be used for another request."""
        closes = self.headers.get("connection", "").lower() == "close"
        return self.is_whole and not self.is_last and not self._buffer and not closes

    # --- bytes ---

    async def _more(self) -> None:
        data = await self._connection.read()
        if not data:
            raise Unreachable("the connection broke before the end of the answer")
        self._buffer += data

    async def _line(self, limit: int) -> bytes:
        """A line of the protocol, without its end."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                break
            searched = len(self._buffer)
            if searched > limit:
                raise ProtocolError("a line of the answer is too long")
            await self._more()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line[:-1] if line.endswith(b"\r") else line

    # --- head ---

    async def read_head(self) -> None:
        for _ in range(INTERIM_ANSWERS):
            left = HEAD_BYTES
            line = await self._line(left)
            found = _STATUS.fullmatch(line)
            if not found:
                raise ProtocolError("the server does not speak HTTP/1.1", hint="is the address that of a Belljar server?")
            self.status = int(found[1])
            headers: List[Tuple[str, str]] = []
            while line:
                left -= len(line)
                line = await self._line(max(left, 0))
                if line:
                    headers.append(_header(line))
            if self.status >= 200:
                self._set_framing(headers)
                return
        raise ProtocolError("the server sent too many interim answers")

    def _set_framing(self, headers: List[Tuple[str, str]]) -> None:
        lengths = {value for name, value in headers if name == "content-length"}
        codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
        self.headers = dict(headers)
        if "content-encoding" in self.headers:
            raise ProtocolError("the answer has a content encoding, which was not asked for")
        if codings and (codings != ["chunked"] or lengths):
            raise ProtocolError("the length of the answer is ambiguous")
        if len(lengths) > 1:
            raise ProtocolError("the answer has two lengths")
        if self.status in (204, 304):
            self._left, self.is_whole = 0, True
        elif codings:
            self._is_chunked = True
        elif lengths:
            (length,) = lengths
            if not re.fullmatch(r"[0-9]{1,15}", length):
                raise ProtocolError("the length of the answer is not a number")
            self._left = int(length)
            self.is_whole = self._left == 0
        else:
            raise ProtocolError("the answer does not say how long it is")

    # --- body ---

    async def read(self) -> bytes:
        """Some bytes; empty at the end."""
        while not self.is_whole:
            if self._is_chunked and self._left is None and not await self._begin_chunk():
                break
            if not self._buffer:
                await self._more()
            data = bytes(self._buffer[: self._left])
            del self._buffer[: len(data)]
            self._left = (self._left or 0) - len(data)
            if self._left == 0:
                if self._is_chunked:
                    if await self._line(2):
                        raise ProtocolError("a chunk of the answer is longer than it says")
                    self._left = None
                else:
                    self.is_whole = True
            return data
        return b""

    async def _begin_chunk(self) -> bool:
        found = _SIZE.fullmatch(await self._line(CHUNK_LINE_BYTES))
        if not found:
            raise ProtocolError("the answer has an invalid chunk")
        self._left = int(found[1], 16)
        if self._left:
            return True
        left = HEAD_BYTES
        while line := await self._line(max(left, 0)):
            left -= len(line)
        self.is_whole = True
        return False

    async def read_all(self, limit: int) -> bytes:
        data = bytearray()
        while piece := await self.read():
            data += piece
            if len(data) > limit:
                raise _too_long(limit)
        return bytes(data)


class Lines:
    """The lines of a body, without their ends."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], limit: int) -> None:
        self._read = read
        self._limit = limit
        self._buffer = bytearray()

    async def next(self) -> Optional[bytes]:
        """None: there are no more. An incomplete last line is not one."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._limit:
                raise _too_long(self._limit)
            piece = await self._read()
            if not piece:
                return None
            self._buffer += piece
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


def _header(line: bytes) -> Tuple[str, str]:
    found = _HEADER.fullmatch(line)
    if not found:
        raise ProtocolError("the answer has an invalid header")
    return found[1].decode("ascii").lower(), found[2].decode("latin-1").strip()


def _too_long(limit: int) -> ProtocolError:
    return ProtocolError(f"the answer is longer than {limit} bytes", hint="`max_answer_bytes` of the client is the limit")
