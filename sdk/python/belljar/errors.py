"""Errors of requests. A program that fails is not an error: see `Result.status`."""
from __future__ import annotations

from typing import Any, Optional


class BelljarError(Exception):
    """A request was refused or failed: `code` for machines, `message` and `hint` for people."""

    def __init__(
        self, message: str, *, code: str = "internal", hint: Optional[str] = None, status: int = 0, retry_after: float = 0
    ) -> None:
        super().__init__(message if hint is None else f"{message} (hint: {hint})")
        self.message = message
        self.code = code
        self.hint = hint
        self.status = status  # of HTTP; 0: there was no answer
        self.retry_after = retry_after  # seconds; 0: not said


class InvalidError(BelljarError):
    """The request is malformed."""


class AuthError(BelljarError):
    """No token, or a wrong one."""


class DeniedError(BelljarError):
    """The token may not do that."""


class NotFoundError(BelljarError):
    """No such session, run or file, or somebody else's."""


class BusyError(BelljarError):
    """No room now; `retry_after` says when to try again."""


class TooLargeError(BelljarError):
    """A fixed limit was exceeded."""


class Unreachable(BelljarError):
    """No server answers there, or the connection broke. The request may have taken effect."""


_BY_CODE = {
    "invalid": InvalidError,
    "auth": AuthError,
    "denied": DeniedError,
    "not_found": NotFoundError,
    "busy": BusyError,
    "too_large": TooLargeError,
}


def from_answer(status: int, body: Any, retry_after: Optional[str] = None) -> BelljarError:
    """Makes the error for an answer."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return BelljarError(f"the server answered with status {status}", code="protocol", status=status)
    code = str(error.get("code"))
    return _BY_CODE.get(code, BelljarError)(
        str(error.get("message")),
        code=code,
        hint=error.get("hint"),
        status=status,
        retry_after=float(retry_after) if retry_after and retry_after.isdigit() else 0,
    )
