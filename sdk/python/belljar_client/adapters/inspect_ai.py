"""Inspect: `Task(…, sandbox="belljar")`, after `import belljar_client.adapters.inspect_ai`.

Each sample has a session of its own. `sandbox=("belljar", "belljar.json")` names a file with the fields of `Client.session()`.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from ..client import AsyncClient
from ..errors import BelljarError, DeniedError, NotFoundError, TooLargeError
from .sandbox import AsyncSandbox, framework

_util = framework("inspect_ai.util", "inspect-ai")

CONFIG_BYTES = 1 << 20


def _os_error(error: BelljarError, file: str) -> Exception:
    """The error that Inspect expects of a sandbox."""
    if error.code == "is_directory":
        return IsADirectoryError(f"`{file}` is a directory")
    if isinstance(error, NotFoundError):
        return FileNotFoundError(f"there is no `{file}`")
    if isinstance(error, DeniedError):
        return PermissionError(error.message)
    if isinstance(error, TooLargeError):
        too_large: Exception = _util.OutputLimitExceededError(limit_str="100 MiB", truncated_output=None)
        return too_large
    return error


def _fields(config: Any) -> Dict[str, Any]:
    if config is None:
        return {}
    with Path(config).open("rb") as file:
        fields = json.loads(file.read(CONFIG_BYTES))
    if not isinstance(fields, dict):
        raise ValueError(f"{config}: expected an object with the fields of a session")
    return fields


@_util.sandboxenv(name="belljar")
class BelljarSandboxEnvironment(_util.SandboxEnvironment):  # type: ignore[misc, name-defined]
    """A session for one sample."""

    def __init__(self, sandbox: AsyncSandbox, client: AsyncClient) -> None:
        self.sandbox = sandbox
        self._client = client

    @classmethod
    def config_files(cls) -> List[str]:
        return ["belljar.json"]

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: Dict[str, str]) -> Dict[str, Any]:
        client = AsyncClient()
        return {"default": cls(await AsyncSandbox.create(client, **_fields(config)), client)}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Any, environments: Dict[str, Any], interrupted: bool) -> None:
        for environment in environments.values():
            await environment.sandbox.close()
            await environment._client.close()

    async def exec(
        self,
        cmd: List[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> Any:
        if user is not None:
            raise PermissionError("a sandbox of Belljar has one user")
        outcome = await self.sandbox.run(cmd, cwd=cwd, env=env, timeout=timeout, stdin=input)
        if outcome.has_timed_out:
            raise TimeoutError(f"the command exceeded its time limit: {cmd[0] if cmd else ''}")
        if outcome.is_truncated:
            raise _util.OutputLimitExceededError(limit_str="the sandbox's `output_bytes`", truncated_output=outcome.stdout + outcome.stderr)
        return _util.ExecResult(outcome.ok, outcome.exit_code, outcome.stdout, outcome.stderr)

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        try:
            await self.sandbox.write(file, contents)
        except BelljarError as e:
            raise _os_error(e, file) from e

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        try:
            data = await self.sandbox.read(file)
        except BelljarError as e:
            raise _os_error(e, file) from e
        return data.decode("utf-8") if text else data
