"""Files of a session."""
from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import IO, Any, AsyncIterator, Dict, Optional, Union

from . import routes
from .errors import InvalidError, ProtocolError, Unreachable
from .events import STREAM, read_event
from .methods import Awaiting, Blocking, call, each
from .saving import Replacing
from .transport import Request, Transport
from .types import File, FileEvent, member, read, read_list

Local = Union[str, "os.PathLike[str]"]


class FilesMethods:
    """Files in `/workspace` of a session. An absolute path is one in a directory that is granted to it."""

    def __init__(self, transport: Transport, session: str) -> None:
        self._transport = transport
        self._session = session

    def _request(self, route: routes.Route, path: str, **more: Any) -> Request:
        return Request(route, {"session": self._session, "path": path}, **more)

    @call
    async def read(self, path: str, start: int = 0, end: Optional[int] = None) -> bytes:
        """The bytes of a file, or those from `start` up to, but not including, `end`."""
        if start < 0 or (end is not None and end < 0):
            raise InvalidError("`start` and `end` cannot be negative", code="invalid")
        if end is not None and end <= start:
            return b""
        headers = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if start or end is not None else {}
        return await self._transport.read(self._request(routes.READ_FILE, path, headers=headers))

    @each
    async def chunks(self, path: str) -> AsyncIterator[bytes]:
        """The bytes of a file of any size, in pieces."""
        exchange = await self._transport.start(self._request(routes.READ_FILE, path))
        try:
            while piece := await exchange.read():
                yield piece
        finally:
            exchange.close()

    @call
    async def download(self, path: str, to: Local, *, max_bytes: Optional[int] = None) -> Path:
        """Copies a file of any size to this machine. `to` is a file, or a directory that exists."""
        target = Path(to, posixpath.basename(path)) if os.path.isdir(to) else Path(to)
        exchange = await self._transport.start(self._request(routes.READ_FILE, path))
        work, left = self._transport.network.work, max_bytes
        try:
            new = await work(Replacing, target)
            try:
                while piece := await exchange.read():
                    left = None if left is None else left - len(piece)
                    if left is not None and left < 0:
                        raise ProtocolError(f"`{path}` is larger than {max_bytes} bytes", hint="`max_bytes` is the limit")
                    await work(new.file.write, piece)
                await work(new.finish)
            except BaseException:
                new.discard()
                raise
        finally:
            exchange.close()
        return target

    @call
    async def write(self, path: str, content: Union[bytes, str, IO[bytes]], *, executable: bool = False, new: bool = False) -> int:
        """Writes a file, whole or not at all, and returns its size. An open file is sent as it is read.

        new  Refuse to replace a file.
        """
        if not isinstance(content, (bytes, bytearray, str)) and not hasattr(content, "read"):
            raise InvalidError("`content` must be text, bytes or an open file", code="invalid")
        body = content.encode() if isinstance(content, str) else bytes(content) if isinstance(content, bytearray) else content
        query = {"executable": executable or None, "new": new or None}
        return member(await self._transport.call(self._request(routes.WRITE_FILE, path, query=query, body=body)), "size", int)

    @call
    async def upload(self, local: Local, path: Optional[str] = None, *, executable: bool = False, new: bool = False) -> int:
        """Copies a file of any size from this machine, by default under the same name."""
        with await self._transport.network.work(open, local, "rb") as file:
            query = {"executable": executable or None, "new": new or None}
            request = self._request(routes.WRITE_FILE, path or os.path.basename(local), query=query, body=file)
            return member(await self._transport.call(request), "size", int)

    @call
    async def delete(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file, or with `recursive` a directory and everything in it."""
        await self._transport.read(self._request(routes.DELETE_FILE, path, query={"recursive": recursive or None}))

    @call
    async def move(self, path: str, to: str, *, new: bool = False) -> str:
        """Gives a file or a directory another path, in one step, and returns it. `new`: refuse to replace a file."""
        request = self._request(routes.MOVE_FILE, path, json={"to": to, "new": new})
        return member(await self._transport.call(request), "path", str)

    @each
    async def watch(self, path: Optional[str] = None, *, recursive: bool = False) -> AsyncIterator[FileEvent]:
        """Changes in a directory as they happen, until the loop is left or the directory is gone.

        The first is `start`: what happens after it comes. `lost`: there was more than could be told; look at the directory again.
        """
        query = {"path": path or None, "recursive": recursive or None}
        exchange = await self._transport.start(Request(routes.WATCH, {"session": self._session}, query, headers=STREAM))
        try:
            lines = exchange.lines()
            while (event := await read_event(lines, self._transport.max_answer_bytes)) is not None:
                if event.kind == "end":
                    return
                yield read(FileEvent, {**event.data, "kind": event.kind})
        finally:
            exchange.close()
        raise Unreachable("the connection ended before the watch")

    @each
    async def list(self, path: Optional[str] = None, *, depth: int = 1, limit: Optional[int] = None) -> AsyncIterator[File]:
        """The files of a directory and `depth` - 1 levels below it; 0: all of them. `limit` is per request."""
        query: Dict[str, Any] = {"path": path or None, "depth": depth, "limit": limit}
        while True:
            answer = await self._transport.call(Request(routes.FILES, {"session": self._session}, query))
            files = read_list(File, answer, "files")
            for file in files:
                yield file
            if answer.get("has_more") is not True or not files:
                return
            if files[-1].path <= query.get("after", ""):
                raise ProtocolError("the server lists the same files again")
            query["after"] = files[-1].path


class Files(FilesMethods, Blocking):
    pass


class AsyncFiles(FilesMethods, Awaiting):
    pass
