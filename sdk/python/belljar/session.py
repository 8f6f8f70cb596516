"""Sessions: sandboxes that stay, with their variables and files."""
from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Type, Union

from .types import Event, Json, Result

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class File:
    path: str
    kind: str
    size: int
    modified: float


def _quote(text: str, safe: str = "") -> str:
    return urllib.parse.quote(text, safe=safe)


class Files:
    """The files in a session's `/workspace`."""

    def __init__(self, client: "Client", path: str) -> None:
        self._transport = client._transport
        self._path = path

    def read(self, path: str, start: int = 0, end: Optional[int] = None) -> bytes:
        """Its bytes, or those from `start` up to, and without, `end`."""
        if end is not None and end <= start:
            return b""
        headers = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if start or end is not None else None
        return self._transport.read("GET", f"{self._path}/{_quote(path, '/')}", headers=headers)

    def write(self, path: str, content: Union[bytes, str, IO[bytes]]) -> None:
        """There whole or not at all. Directories on the way are made. A file object is sent as it is read."""
        data = content.encode() if isinstance(content, str) else content
        self._transport.read("PUT", f"{self._path}/{_quote(path, '/')}", data, {"Content-Type": "application/octet-stream"})

    def delete(self, path: str, recursive: bool = False) -> None:
        query = "?recursive=true" if recursive else ""
        self._transport.read("DELETE", f"{self._path}/{_quote(path, '/')}{query}")

    def list(self, path: str = "", depth: int = 1) -> Iterator[File]:
        """Everything in a directory, and so many levels below it."""
        query: Dict[str, Any] = {"depth": depth}
        if path:
            query["path"] = path
        while True:
            answer = self._transport.call("GET", f"{self._path}?{urllib.parse.urlencode(query)}")
            for f in answer["files"]:
                yield File(f["path"], f["kind"], f["size"], f["modified"])
            if not answer["has_more"] or not answer["files"]:
                return
            query["after"] = answer["files"][-1]["path"]


class Session:
    """One sandbox. As a context manager it ends with the block."""

    def __init__(self, client: "Client", raw: Json) -> None:
        self._client = client
        self._transport = client._transport
        self.id: str = raw["session_id"]
        self.name: str = raw.get("name") or self.id
        self.raw = raw
        self._path = f"/v1/sessions/{_quote(self.id)}"
        self.files = Files(client, f"{self._path}/files")

    def __repr__(self) -> str:
        return f"<belljar.Session {self.name}>"

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def run(self, code: str, *, key: Optional[str] = None, **fields: Any) -> Result:
        """One cell, to its end; see `Client.run`."""
        return self._client._run(f"{self._path}/execute", code, key, fields)

    def stream(self, code: str, *, key: Optional[str] = None, **fields: Any) -> Iterator[Event]:
        """One cell, as things happen; see `Client.stream`."""
        return self._client._stream(f"{self._path}/execute", code, key, fields)

    def interrupt(self) -> bool:
        """Stops the cell that runs and keeps the variables. False: none runs."""
        return bool(self._transport.call("POST", f"{self._path}/interrupt", {})["interrupted"])

    def restart(self, language: str = "python") -> None:
        """Fresh variables; files stay."""
        self._transport.call("POST", f"{self._path}/restart", {"language": language})

    def fork(self, n: int = 1) -> List["Session"]:
        """Copies that go on by themselves, with variables and files as they are now."""
        answer = self._transport.call("POST", f"{self._path}/fork", {"n": n})
        return [Session(self._client, raw) for raw in answer["sessions"]]

    def checkpoint(self, name: str) -> None:
        """Keeps the present state under a name."""
        self._transport.call("POST", f"{self._path}/checkpoint", {"name": name})

    def restore(self, name: str) -> None:
        """Goes back to it, any number of times."""
        self._transport.call("POST", f"{self._path}/restore", {"name": name})

    def refresh(self) -> Json:
        """The server's present description of it."""
        self.raw = self._transport.call("GET", self._path)
        return self.raw

    def close(self) -> None:
        """Ends it. If it has already ended, that is not an error."""
        from .errors import NotFoundError

        try:
            self._transport.read("DELETE", self._path)
        except NotFoundError:
            pass
