"""Google ADK: `LlmAgent(model=…, code_executor=BelljarCodeExecutor())`.

Each code block runs in a fresh sandbox; with `stateful=True`, blocks of one execution id share a session.
"""
from __future__ import annotations

import base64
import binascii
import mimetypes
from typing import Any, Dict, Optional

from ..client import Client
from ..errors import NotFoundError
from ..session import Session
from ..types import Result
from .sandbox import framework

_base = framework("google.adk.code_executors.base_code_executor", "google-adk")
_utils = framework("google.adk.code_executors.code_execution_utils", "google-adk")

SESSIONS_MAX = 16  # of execution ids; the oldest ends


def _content(given: Any) -> bytes:
    """Bytes as they are; ADK hands over the content of data files as base64."""
    if isinstance(given, bytes):
        return given
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return str(given).encode()


class BelljarCodeExecutor(_base.BaseCodeExecutor):  # type: ignore[misc, name-defined]
    """Runs the code blocks of an agent in sandboxes."""

    def __init__(self, client: Optional[Client] = None, *, timeout_s: Optional[float] = None, fields: Optional[Dict[str, Any]] = None, **data: Any) -> None:
        """`fields` are those of `Client.run()` or `Client.session()`: `memory_mb`, `net`, …; `data` is ADK's own, such as `stateful`."""
        super().__init__(**data)
        self._client = client or Client()
        self._limits: Dict[str, Any] = {} if timeout_s is None else {"timeout_s": timeout_s}
        self._fields: Dict[str, Any] = {"profile": "open", **(fields or {})}
        self._sessions: Dict[str, Session] = {}

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        files = {f.name: _content(f.content) for f in code_execution_input.input_files}
        given: Dict[str, Any] = {"files": files, "collect": ["**/*"], **self._limits}
        code, execution = code_execution_input.code, code_execution_input.execution_id
        if self.stateful and execution:
            result = self._session(execution).start(code, **given).wait()
        else:
            result = self._client.start(code, **self._fields, **given).wait()
        return self._answer(result, files)

    def _answer(self, result: Result, files: Dict[str, bytes]) -> Any:
        changed = {f.get("path") for f in result.raw.get("files") or [] if isinstance(f, dict)}
        made = [c for c in result.collected if c.content is not None and (c.path in changed or c.path not in files)]
        stderr = result.stderr
        if not result.ok and not stderr:
            stderr = f"the program ended with {result.status}"
        return _utils.CodeExecutionResult(
            stdout=result.stdout,
            stderr=stderr if not result.ok else "",  # ADK takes any text here for a failure
            output_files=[
                _utils.File(name=c.path, content=c.content, mime_type=mimetypes.guess_type(c.path)[0] or "application/octet-stream") for c in made
            ],
        )

    def _session(self, execution: str) -> Session:
        known = self._sessions.pop(execution, None)
        if known is not None:
            try:
                known.refresh()
            except NotFoundError:
                known = None  # it ended; the next block begins anew
        while len(self._sessions) >= SESSIONS_MAX:
            self._sessions.pop(next(iter(self._sessions))).close()
        self._sessions[execution] = known or self._client.session(**self._fields)
        return self._sessions[execution]

    def close(self) -> None:
        """Ends the sessions."""
        while self._sessions:
            self._sessions.popitem()[1].close()
