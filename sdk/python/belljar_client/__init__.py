"""Client of Belljar: run code in a sandbox, from Python, with nothing but the standard library.

    from belljar_client import Client

    with Client() as client:
        print(client.run("print(6 * 7)").stdout)

`AsyncClient` has the same methods for asyncio.
"""
from .client import AsyncClient, Client
from .commands import AsyncCommand, AsyncCommands, Command, Commands
from .errors import (
    AuthError,
    BelljarError,
    BusyError,
    ConflictError,
    DeniedError,
    InvalidError,
    NotFoundError,
    ProgramFailed,
    ProtocolError,
    TooLargeError,
    Unreachable,
    UnsupportedError,
)
from .events import AsyncEvents, Events
from .fields import BatchFields, BatchRun, CellFields, CommandFields, GivenFile, RunFields, SessionFields
from .files import AsyncFiles, Files
from .jobs import AsyncJob, Job
from .session import AsyncSession, Session
from .store import AsyncSkills, AsyncStates, Skills, States
from .types import (
    Approval,
    Case,
    Change,
    ChangeCounts,
    Changes,
    Collected,
    Denial,
    Display,
    Event,
    File,
    Language,
    Match,
    Output,
    ProgramError,
    Progress,
    Result,
    RunInfo,
    SavedState,
    Settled,
    Skill,
    SkillFile,
    Skipped,
    Snapshot,
    Undo,
    Undoable,
    UndoStep,
    Usage,
    Version,
    Violation,
)

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "AsyncClient",
    "AsyncCommand",
    "AsyncCommands",
    "AsyncEvents",
    "AsyncFiles",
    "AsyncJob",
    "AsyncSession",
    "AsyncSkills",
    "AsyncStates",
    "AuthError",
    "BatchFields",
    "BatchRun",
    "BelljarError",
    "BusyError",
    "Case",
    "CellFields",
    "Change",
    "ChangeCounts",
    "Changes",
    "Client",
    "Collected",
    "Command",
    "CommandFields",
    "Commands",
    "ConflictError",
    "Denial",
    "DeniedError",
    "Display",
    "Event",
    "Events",
    "File",
    "Files",
    "GivenFile",
    "InvalidError",
    "Job",
    "Language",
    "Match",
    "NotFoundError",
    "Output",
    "ProgramError",
    "ProgramFailed",
    "Progress",
    "ProtocolError",
    "Result",
    "RunFields",
    "RunInfo",
    "SavedState",
    "Session",
    "SessionFields",
    "Settled",
    "Skill",
    "SkillFile",
    "Skills",
    "Skipped",
    "Snapshot",
    "States",
    "TooLargeError",
    "Undo",
    "UndoStep",
    "Undoable",
    "Unreachable",
    "UnsupportedError",
    "Usage",
    "Version",
    "Violation",
]
