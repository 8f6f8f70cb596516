"""AutoGen: `CodeExecutorAgent("coder", code_executor=BelljarCodeExecutor())`.

Python and JavaScript run as cells, which keep their variables; shell blocks run as commands. All share the files in /workspace.
"""
from __future__ import annotations

import asyncio
from typing import Any, List, Optional

from ..client import AsyncClient
from .sandbox import AsyncSandbox, Outcome, framework, outcome_of

_base = framework("autogen_core.code_executor", "autogen-core")

LANGUAGES = {"python": "python", "py": "python", "javascript": "javascript", "js": "javascript", "typescript": "typescript", "ts": "typescript"}
SHELLS = {"bash", "sh", "shell"}


class BelljarCodeExecutor(_base.CodeExecutor):  # type: ignore[misc, name-defined]
    """Runs the code blocks of an agent in a session. `async with` starts and stops it."""

    def __init__(self, client: Optional[AsyncClient] = None, *, timeout: Optional[float] = None, **fields: Any) -> None:
        """`timeout`: seconds for each block. `fields` are those of `AsyncClient.session()`."""
        self._client = client or AsyncClient()
        self._timeout = timeout
        self._fields = fields
        self._box: Optional[AsyncSandbox] = None

    @property
    def sandbox(self) -> AsyncSandbox:
        if self._box is None:
            raise RuntimeError("the code executor is not started: use `async with`, or call start()")
        return self._box

    async def start(self) -> None:
        if self._box is None:
            self._box = await AsyncSandbox.create(self._client, **self._fields)

    async def stop(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            await box.close()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def execute_code_blocks(self, code_blocks: List[Any], cancellation_token: Any) -> Any:
        for block in code_blocks:
            if block.language.lower() not in LANGUAGES and block.language.lower() not in SHELLS:
                raise ValueError(f"`{block.language}` is not one of the languages: {', '.join(sorted({*LANGUAGES.values(), *SHELLS}))}")
        work = asyncio.ensure_future(self._run_all(code_blocks))
        cancellation_token.link_future(work)
        return await work

    async def _run_all(self, blocks: List[Any]) -> Any:
        output: List[str] = []
        for block in blocks:
            outcome = await self._run_one(block.language.lower(), block.code)
            output.append(outcome.output)
            if outcome.exit_code != 0:
                return _base.CodeResult(exit_code=outcome.exit_code, output="\n".join(output))
        return _base.CodeResult(exit_code=0, output="\n".join(output))

    async def _run_one(self, language: str, code: str) -> Outcome:
        if language in SHELLS:
            return await self.sandbox.run(code, timeout=self._timeout)
        limits = {} if self._timeout is None else {"timeout_s": max(1.0, self._timeout)}
        job = await self.sandbox.session.start(code, language=LANGUAGES[language], **limits)
        try:
            return outcome_of(await job.wait())
        except asyncio.CancelledError:
            await job.cancel()
            raise
