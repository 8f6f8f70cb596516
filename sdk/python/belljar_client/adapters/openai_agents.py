"""OpenAI Agents SDK: `SandboxRunConfig(client=BelljarSandboxClient(), options=BelljarSandboxClientOptions())`.

The workspace of a manifest is /workspace. A session ends with its agent; a snapshot of the SDK, which is a tar archive, brings its files back.
"""
from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any, Dict, Literal, Optional, Tuple

from ..client import AsyncClient
from ..errors import BelljarError, NotFoundError
from .sandbox import AsyncSandbox, Outcome, framework

_PACKAGE = "openai-agents"
_errors = framework("agents.sandbox.errors", _PACKAGE)
_manifest = framework("agents.sandbox.manifest", _PACKAGE)
_base = framework("agents.sandbox.session.base_sandbox_session", _PACKAGE)
_client = framework("agents.sandbox.session.sandbox_client", _PACKAGE)
_state = framework("agents.sandbox.session.sandbox_session_state", _PACKAGE)
_snapshot = framework("agents.sandbox.snapshot", _PACKAGE)
_types = framework("agents.sandbox.types", _PACKAGE)


class BelljarSandboxClientOptions(_client.BaseSandboxClientOptions):  # type: ignore[misc, name-defined]
    """How sessions are opened. `net`: hosts that programs may reach; none without it."""

    type: Literal["belljar"] = "belljar"
    profile: str = "open"
    net: Tuple[str, ...] = ()
    memory_mb: Optional[int] = None
    disk_mb: Optional[int] = None
    idle_s: Optional[float] = None
    lifetime_s: Optional[float] = None
    keep_on_exit: bool = False  # leave the session open for resume(), until its clocks end it


class BelljarSandboxSessionState(_state.SandboxSessionState):  # type: ignore[misc, name-defined]
    """A session between runs, without a token."""

    type: Literal["belljar"] = "belljar"
    belljar_session: str
    session_fields: Dict[str, Any] = {}
    keep_on_exit: bool = False


class BelljarSandboxSession(_base.BaseSandboxSession):  # type: ignore[misc, name-defined]
    """A session of Belljar as the SDK uses a sandbox."""

    def __init__(self, state: Any, sandbox: AsyncSandbox) -> None:
        self.state = state
        self.sandbox = sandbox

    # --- commands ---

    async def _exec_internal(self, *command: Any, timeout: Optional[float] = None) -> Any:
        outcome = await self._run(command, cwd=self._root(), timeout=timeout)
        if outcome.has_timed_out:
            raise _errors.ExecTimeoutError(command=tuple(map(str, command)), timeout_s=timeout)
        return _types.ExecResult(stdout=outcome.stdout.encode(), stderr=outcome.stderr.encode(), exit_code=outcome.exit_code)

    async def _run(self, command: Tuple[Any, ...], *, cwd: Optional[str] = None, timeout: Optional[float] = None) -> Outcome:
        words = [str(word) for word in command]
        try:
            env = await self.state.manifest.environment.resolve()
            return await self.sandbox.run(words, cwd=cwd, env=env, timeout=timeout)
        except BelljarError as e:
            raise _errors.ExecTransportError(command=tuple(words), context={"backend": "belljar"}, cause=e) from e

    def _root(self) -> str:
        return str(self.state.manifest.root)

    async def _prepare_backend_workspace(self) -> None:
        made = await self._run(("mkdir", "-p", "--", self._root()))
        if not made.ok:
            raise _errors.WorkspaceStartError(path=Path(self._root()), context={"backend": "belljar", "output": made.stderr})

    # --- files ---

    async def read(self, path: Any, *, user: Any = None) -> io.IOBase:
        try:
            return io.BytesIO(await self.sandbox.read(await self._place(path, user)))
        except NotFoundError as e:
            raise _errors.WorkspaceReadNotFoundError(path=Path(path), cause=e) from e
        except BelljarError as e:
            raise _errors.WorkspaceArchiveReadError(path=Path(path), cause=e) from e

    async def write(self, path: Any, data: io.IOBase, *, user: Any = None) -> None:
        content = self._bytes(path, data)
        try:
            await self.sandbox.write(await self._place(path, user, for_write=True), content)
        except BelljarError as e:
            raise _errors.WorkspaceArchiveWriteError(path=Path(path), cause=e) from e

    async def _place(self, path: Any, user: Any, *, for_write: bool = False) -> str:
        if user is not None:
            raise BelljarError("a sandbox of Belljar has one user", code="unsupported")
        whole = await self._validate_path_access(path, for_write=for_write)
        return str(whole.as_posix())

    def _bytes(self, path: Any, data: Any) -> bytes:
        content = data.read()
        if isinstance(content, str):
            return content.encode()
        if not isinstance(content, (bytes, bytearray)):
            raise _errors.WorkspaceWriteTypeError(path=Path(path), actual_type=type(content).__name__)
        return bytes(content)

    async def persist_workspace(self) -> io.IOBase:
        skipped = [p.as_posix() for p in self._persist_workspace_skip_relpaths()]
        try:
            return io.BytesIO(await self.sandbox.pack(self._root(), exclude=skipped))
        except BelljarError as e:
            raise _errors.WorkspaceArchiveReadError(path=Path(self._root()), cause=e) from e

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        content = self._bytes(self._root(), data)
        try:
            await self.sandbox.unpack(content, self._root())
        except BelljarError as e:
            raise _errors.WorkspaceArchiveWriteError(path=Path(self._root()), cause=e) from e

    # --- itself ---

    async def running(self) -> bool:
        return bool(await self.sandbox.is_open())

    async def _shutdown_backend(self) -> None:
        if not self.state.keep_on_exit:
            await self.sandbox.close()


class BelljarSandboxClient(_client.BaseSandboxClient):  # type: ignore[misc, name-defined]
    """Opens, resumes and deletes sessions."""

    backend_id = "belljar"
    supports_default_options = True

    def __init__(self, client: Optional[AsyncClient] = None) -> None:
        super().__init__()
        self._belljar = client or AsyncClient()

    async def create(self, *, snapshot: Any = None, manifest: Any = None, options: Any = None) -> Any:
        options = options or BelljarSandboxClientOptions()
        named = ("profile", "net", "memory_mb", "disk_mb", "idle_s", "lifetime_s")
        fields = {name: getattr(options, name) for name in named if getattr(options, name)}
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
        sandbox = await AsyncSandbox.create(self._belljar, **fields)
        session_id = uuid.uuid4()
        state = BelljarSandboxSessionState(
            session_id=session_id,
            manifest=manifest if manifest is not None else _manifest.Manifest(),
            snapshot=_snapshot.resolve_snapshot(snapshot, str(session_id)),
            belljar_session=sandbox.id,
            session_fields=fields,
            keep_on_exit=options.keep_on_exit,
        )
        return self._wrap_session(BelljarSandboxSession(state, sandbox))

    async def resume(self, state: Any) -> Any:
        """The session that the state names; if it has ended, a new one, which the SDK fills from the snapshot."""
        if not isinstance(state, BelljarSandboxSessionState):
            raise TypeError("expected a BelljarSandboxSessionState")
        try:
            session = BelljarSandboxSession(state, await AsyncSandbox.attach(self._belljar, state.belljar_session))
            session._set_start_state_preserved(True)
        except NotFoundError:
            sandbox = await AsyncSandbox.create(self._belljar, **state.session_fields)
            state.belljar_session = sandbox.id
            state.workspace_root_ready = False
            session = BelljarSandboxSession(state, sandbox)
        return self._wrap_session(session)

    async def delete(self, session: Any) -> Any:
        inner = session._inner
        if not isinstance(inner, BelljarSandboxSession):
            raise TypeError("expected a session of Belljar's client")
        await inner.sandbox.close()
        return session

    def deserialize_session_state(self, payload: Dict[str, object]) -> Any:
        return BelljarSandboxSessionState.model_validate(payload)
