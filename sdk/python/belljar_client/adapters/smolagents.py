"""smolagents: `CodeAgent(tools=[…], model=…, executor=BelljarExecutor())`.

Code runs in the session's Python and keeps its variables. Tools are sent as their source and run inside; variables and answers cross as JSON.
"""
from __future__ import annotations

import json
import keyword
from typing import Any, Dict, Mapping, Optional

from ..client import Client
from ..errors import InvalidError, ProgramFailed
from ..types import Result
from .sandbox import Sandbox, framework

_executor = framework("smolagents.local_python_executor", "smolagents")
_tools = framework("smolagents.tools", "smolagents")

FINAL_ANSWER = '''
class FinalAnswer(BaseException):
    pass


def final_answer(*args, **kwargs):
    global _belljar_answer
    _belljar_answer = next(iter((*args, *kwargs.values())), None)
    raise FinalAnswer
'''


class BelljarExecutor(_executor.PythonExecutor):  # type: ignore[misc, name-defined]
    """Runs the code of an agent in a session."""

    def __init__(self, client: Optional[Client] = None, *, timeout_s: Optional[float] = None, **fields: Any) -> None:
        """`fields` are those of `Client.session()`."""
        self._limits: Dict[str, Any] = {} if timeout_s is None else {"timeout_s": timeout_s}
        self.session = Sandbox.create(client or Client(), **fields).session

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        others = {name: tool for name, tool in tools.items() if name != "final_answer"}
        if others:
            self._run(_tools.get_tools_definition_code(others))
        self._run(FINAL_ANSWER)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        for name in variables:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise InvalidError(f"`{name}` is not the name of a variable", code="invalid")
        if variables:
            try:
                text = json.dumps(dict(variables), allow_nan=False)
            except (TypeError, ValueError) as e:
                raise InvalidError(f"variables can only be JSON: {e}", code="invalid", hint="send the content of files with session.files.write()") from e
            self._run(f"globals().update(__import__('json').loads({text!r}))")

    def __call__(self, code_action: str) -> Any:
        result = self._once(code_action)
        is_final = result.error is not None and result.error.name == "FinalAnswer"
        if not is_final and not result.ok:
            raise failure(result)
        answer = self._run("_belljar_answer") if is_final else result
        output = answer.text if answer.value is None else answer.value
        return _executor.CodeOutput(output=output, logs=result.stdout, is_final_answer=is_final)

    def _once(self, code: str) -> Result:
        """A cell that is run once, also if the connection breaks."""
        result: Result = self.session.start(code, **self._limits).wait()
        return result

    def _run(self, code: str) -> Result:
        result = self._once(code)
        if not result.ok:
            raise failure(result)
        return result

    def cleanup(self) -> None:
        """Ends the session."""
        self.session.close()

    delete = cleanup


def failure(result: Result) -> ProgramFailed:
    """The error that the agent reads: the output so far, then the reason."""
    try:
        result.raise_for_error()
    except ProgramFailed as e:
        return ProgramFailed(f"{result.stdout}{e.message}", result, e.hint)
    raise AssertionError("the result is not a failure")
