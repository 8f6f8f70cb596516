"""deepagents: `create_deep_agent(model=…, backend=BelljarSandbox.create())`.

BaseSandbox has the file tools of the agent, made of `execute()`, `upload_files()` and `download_files()`.
"""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

from ..client import Client
from ..errors import BelljarError, DeniedError, InvalidError, NotFoundError
from .sandbox import Sandbox, framework

_protocol = framework("deepagents.backends.protocol", "deepagents")
_sandbox = framework("deepagents.backends.sandbox", "deepagents")

ERRORS = ((NotFoundError, "file_not_found"), (DeniedError, "permission_denied"), (InvalidError, "invalid_path"))


def _code(error: BelljarError) -> str:
    if error.code == "is_directory":
        return "is_directory"
    return next((code for kind, code in ERRORS if isinstance(error, kind)), str(error))


class BelljarSandbox(_sandbox.BaseSandbox):  # type: ignore[misc, name-defined]
    """A session as the backend of an agent."""

    def __init__(self, sandbox: Sandbox, *, timeout: Optional[float] = None) -> None:
        self._box = sandbox
        self._timeout = timeout  # seconds, of a command that has none

    @classmethod
    def create(cls, client: Optional[Client] = None, *, timeout: Optional[float] = None, **fields: Any) -> "BelljarSandbox":
        """A new session; `fields` are those of `Client.session()`."""
        return cls(Sandbox.create(client or Client(), **fields), timeout=timeout)

    @classmethod
    def attach(cls, session_id: str, client: Optional[Client] = None, *, timeout: Optional[float] = None) -> "BelljarSandbox":
        """The session of an earlier agent, by its `id`."""
        return cls(Sandbox.attach(client or Client(), session_id), timeout=timeout)

    @property
    def id(self) -> str:
        return self._box.id

    def close(self) -> None:
        """Ends the session."""
        self._box.close()

    def execute(self, command: str, *, timeout: Optional[int] = None) -> Any:
        outcome = self._box.run(command, timeout=self._timeout if timeout is None else timeout)
        return _protocol.ExecuteResponse(output=outcome.output, exit_code=outcome.exit_code, truncated=outcome.is_truncated)

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[Any]:
        return [_protocol.FileUploadResponse(path=path, error=_tried(path, self._box.write, data)[1]) for path, data in files]

    def download_files(self, paths: List[str]) -> List[Any]:
        tried = [(path, *_tried(path, self._box.read)) for path in paths]
        return [_protocol.FileDownloadResponse(path=path, content=content, error=error) for path, content, error in tried]


def _tried(path: str, work: Callable[..., Any], *args: Any) -> Tuple[Any, Optional[str]]:
    """The value, or the error: one failed file does not spoil the others."""
    if not path.startswith("/"):
        return None, "invalid_path"
    try:
        return work(path, *args), None
    except BelljarError as e:
        return None, _code(e)
