"""Client of Belljar: code in a sandbox, from Python, with nothing but the standard library.

    from belljar import Client

    with Client() as belljar:
        print(belljar.run("print(6 * 7)").stdout)
"""
from .client import Client
from .errors import (
    AuthError,
    BelljarError,
    BusyError,
    DeniedError,
    InvalidError,
    NotFoundError,
    TooLargeError,
    Unreachable,
)
from .session import File, Files, Session
from .types import Case, Collected, Denial, Display, Event, ProgramError, Result, Usage, Violation

__version__ = "0.1.0"

__all__ = [
    "AuthError",
    "BelljarError",
    "BusyError",
    "Case",
    "Client",
    "Collected",
    "Denial",
    "DeniedError",
    "Display",
    "Event",
    "File",
    "Files",
    "InvalidError",
    "NotFoundError",
    "ProgramError",
    "Result",
    "Session",
    "TooLargeError",
    "Unreachable",
    "Usage",
    "Violation",
]
