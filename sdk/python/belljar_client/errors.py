"""Errors of requests. A program that fails is a result, not an error: see `Result.raise_for_error()`."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Type

from .text import printable

if TYPE_CHECKING:
    from .types import Result


class BelljarError(Exception):
    """A request failed. `code` is for machines, `message` and `hint` are for people."""

    def __init__(
        self, message: str, *, code: str = "internal", hint: Optional[str] = None, status: int = 0, retry_after: float = 0
    ) -> None:
        super().__init__(message if hint is None else f"{message} (hint: {hint})")
        self.message = message
        self.code = code
        self.hint = hint
        self.status = status  # of HTTP; 0: there was no answer
        self.retry_after = retry_after  # seconds; 0: not given


class InvalidError(BelljarError):
    """The request is malformed."""


class AuthError(BelljarError):
    """There is no token, or it is wrong."""


class DeniedError(BelljarError):
    """The token does not permit this."""


class NotFoundError(BelljarError):
    """There is no such session, run or file, or it belongs to another token."""


class ConflictError(BelljarError):
    """Something newer is already there, or an idempotency key was used for something else."""


class BusyError(BelljarError):
    """There is no room now. `retry_after` says when to try again."""


class TooLargeError(BelljarError):
    """A fixed limit was exceeded."""


class UnsupportedError(BelljarError):
    """The server's host lacks what this needs."""


class ProtocolError(BelljarError):
    """The answer is not one that a Belljar server sends, or it is longer than the client accepts."""

    def __init__(self, message: str, *, hint: Optional[str] = None, status: int = 0) -> None:
        super().__init__(message, code="protocol", hint=hint, status=status)


class Unreachable(BelljarError):
    """No server answers, or the connection broke. The request may have taken effect."""

    def __init__(self, message: str, *, hint: Optional[str] = None, code: str = "unreachable") -> None:
        super().__init__(message, code=code, hint=hint)


class ProgramFailed(BelljarError):
    """Raised by `Result.raise_for_error()`. `result` has the output; `code` is its status."""

    def __init__(self, message: str, result: "Result", hint: Optional[str] = None) -> None:
        super().__init__(message, code=result.status, hint=hint)
        self.result = result


_BY_CODE: Dict[str, Type[BelljarError]] = {
    "invalid": InvalidError,
    "auth": AuthError,
    "denied": DeniedError,
    "not_found": NotFoundError,
    "session_lost": NotFoundError,
    "busy": BusyError,
    "too_large": TooLargeError,
    "unsupported": UnsupportedError,
}
_BY_STATUS: Dict[int, Type[BelljarError]] = {409: ConflictError, 422: ConflictError}
RETRY_AFTER_DIGITS = 6


def from_answer(status: int, body: Any, retry_after: Optional[str] = None) -> BelljarError:
    """Makes the error of an answer. The texts are the server's, and made safe to print."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ProtocolError(
            f"the server answered with status {status} and no error of Belljar's", hint="is it a Belljar server?", status=status
        )
    code, hint = error.get("code"), error.get("hint")
    kind = _BY_STATUS.get(status) or _BY_CODE.get(str(code)) or BelljarError
    return kind(
        printable(error["message"]),
        code=printable(code) if isinstance(code, str) else "internal",
        hint=printable(hint) if isinstance(hint, str) else None,
        status=status,
        retry_after=_seconds(retry_after),
    )


def _seconds(text: Optional[str]) -> float:
    if text and text.isascii() and text.isdigit() and len(text) <= RETRY_AFTER_DIGITS:
        return float(text)
    return 0
