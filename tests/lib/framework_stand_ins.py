"""Stand-ins for frameworks that are not installed: what their published interfaces ask of a sandbox, and nothing else.

`install()` puts them where packages are missing; a package that is there is used itself. Each is written after the interface of its
framework in November 2026, in our words: what an adapter must define is abstract, and what it calls does as much as the test needs.
"""
import abc
import asyncio
import dataclasses
import importlib.util
import io
import sys
import types
import typing
import uuid
from pathlib import Path, PurePosixPath

# --- deepagents: execute() and two transfers; the agent's file tools are made of them ---


@dataclasses.dataclass
class ExecuteResponse:
    output: str
    exit_code: typing.Optional[int] = None
    truncated: bool = False


@dataclasses.dataclass
class FileUploadResponse:
    path: str
    error: typing.Optional[str] = None


@dataclasses.dataclass
class FileDownloadResponse:
    path: str
    content: typing.Optional[bytes] = None
    error: typing.Optional[str] = None


class BaseSandbox(abc.ABC):
    @property
    @abc.abstractmethod
    def id(self):
        """Names it."""

    @abc.abstractmethod
    def execute(self, command, *, timeout=None):
        """Runs a line of a shell."""

    @abc.abstractmethod
    def upload_files(self, files):
        """Pairs of path and bytes."""

    @abc.abstractmethod
    def download_files(self, paths):
        """As many answers as paths."""

    async def aexecute(self, command, *, timeout=None):
        return await asyncio.to_thread(self.execute, command, timeout=timeout)


# --- smolagents: an executor of cells ---


@dataclasses.dataclass
class CodeOutput:
    output: typing.Any
    logs: str
    is_final_answer: bool


class PythonExecutor(abc.ABC):
    @abc.abstractmethod
    def send_tools(self, tools):
        """Objects by name."""

    @abc.abstractmethod
    def send_variables(self, variables):
        """Values by name."""

    @abc.abstractmethod
    def __call__(self, code_action):
        """Gives a CodeOutput."""


def get_tools_definition_code(tools):
    """The source that makes the tools by their names."""
    return "\n".join(tool.source for tool in tools.values())


# --- AutoGen: blocks of code, and a token that cancels ---


@dataclasses.dataclass
class CodeBlock:
    code: str
    language: str


@dataclasses.dataclass
class CodeResult:
    exit_code: int
    output: str


class CancellationToken:
    def __init__(self):
        self.futures = []

    def cancel(self):
        for future in self.futures:
            future.cancel()

    def link_future(self, future):
        self.futures.append(future)
        return future


class CodeExecutor(abc.ABC):
    @abc.abstractmethod
    async def execute_code_blocks(self, code_blocks, cancellation_token):
        """Gives a CodeResult."""

    @abc.abstractmethod
    async def start(self):
        """Before the first block."""

    @abc.abstractmethod
    async def stop(self):
        """After the last."""

    @abc.abstractmethod
    async def restart(self):
        """Forgets what blocks left behind."""

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *reason):
        await self.stop()


# --- models with fields: what pydantic does for ADK and the Agents SDK ---


class Model:
    def __init__(self, **given):
        for kind in reversed(type(self).__mro__):
            for name in vars(kind).get("__annotations__", {}):
                if not name.startswith("_"):
                    if name not in given and not hasattr(type(self), name):
                        raise ValueError(f"{name}: field required")
                    setattr(self, name, given.pop(name, getattr(type(self), name, None)))
        if given:
            raise ValueError(f"{', '.join(given)}: not a field")

    @classmethod
    def model_validate(cls, payload):
        return cls(**payload)

    def model_dump(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


# --- Google ADK ---


@dataclasses.dataclass(frozen=True)
class File:
    name: str
    content: typing.Union[str, bytes]
    mime_type: str = "text/plain"


@dataclasses.dataclass
class CodeExecutionInput:
    code: str
    input_files: list = dataclasses.field(default_factory=list)
    execution_id: typing.Optional[str] = None


@dataclasses.dataclass
class CodeExecutionResult:
    stdout: str = ""
    stderr: str = ""
    output_files: list = dataclasses.field(default_factory=list)


class BaseCodeExecutor(Model):
    optimize_data_file: bool = False
    stateful: bool = False
    error_retry_attempts: int = 2


# --- Inspect ---


@dataclasses.dataclass
class ExecResult:
    success: bool
    returncode: int
    stdout: str
    stderr: str


class OutputLimitExceededError(Exception):
    def __init__(self, limit_str, truncated_output):
        super().__init__(limit_str)
        self.truncated_output = truncated_output


class SandboxEnvironment(abc.ABC):
    @classmethod
    @abc.abstractmethod
    async def sample_cleanup(cls, task_name, config, environments, interrupted):
        """After each sample."""

    @abc.abstractmethod
    async def exec(self, cmd, input=None, cwd=None, env=None, user=None, timeout=None):
        """Gives an ExecResult."""

    @abc.abstractmethod
    async def write_file(self, file, contents):
        """Text or bytes."""

    @abc.abstractmethod
    async def read_file(self, file, text=True):
        """Text or bytes."""


SANDBOXES = {}


def sandboxenv(name):
    def register(kind):
        SANDBOXES[name] = kind
        return kind

    return register


# --- the OpenAI Agents SDK ---


class SandboxError(Exception):
    def __init__(self, **context):
        super().__init__(str(context))
        self.context = context


AGENTS_ERRORS = (
    "ExecTimeoutError ExecTransportError WorkspaceArchiveReadError WorkspaceArchiveWriteError WorkspaceReadNotFoundError WorkspaceStartError WorkspaceWriteTypeError"
).split()


class AgentsExecResult:
    def __init__(self, *, stdout, stderr, exit_code):
        self.stdout, self.stderr, self.exit_code = stdout, stderr, exit_code

    def ok(self):
        return self.exit_code == 0


class Environment:
    def __init__(self, values):
        self.values = values

    async def resolve(self):
        return dict(self.values)


class Manifest:
    """The place of the workspace, the variables of its programs, and files that are put into it at the start."""

    def __init__(self, root="/workspace", environment=None, files=None):
        self.root, self.environment, self.files = root, Environment(environment or {}), files or {}


class Snapshot:
    """Keeps a workspace as the bytes of an archive."""

    def __init__(self):
        self.data = None


def resolve_snapshot(snapshot, session_id):
    return snapshot if snapshot is not None else Snapshot()


class SandboxSessionState(Model):
    session_id: uuid.UUID
    snapshot: Snapshot
    manifest: Manifest
    workspace_root_ready: bool = False


class BaseSandboxSession(abc.ABC):
    preserved = False

    @abc.abstractmethod
    async def _exec_internal(self, *command, timeout=None):
        """Words, without a shell."""

    @abc.abstractmethod
    async def read(self, path, *, user=None):
        """Gives an open file."""

    @abc.abstractmethod
    async def write(self, path, data, *, user=None):
        """Takes an open file."""

    @abc.abstractmethod
    async def running(self):
        """Whether it is there."""

    @abc.abstractmethod
    async def persist_workspace(self):
        """An archive with relative paths."""

    @abc.abstractmethod
    async def hydrate_workspace(self, data):
        """Such an archive."""

    async def _validate_path_access(self, path, *, for_write=False):
        whole = PurePosixPath(self.state.manifest.root) / path
        if ".." in whole.parts or not whole.is_relative_to(self.state.manifest.root):
            raise ValueError(f"{path} leads out of the workspace")
        return Path(whole)

    def _persist_workspace_skip_relpaths(self):
        return {Path("skipped")}

    def _set_start_state_preserved(self, workspace, *, system=None):
        self.preserved = workspace

    async def _prepare_backend_workspace(self):
        """For backends to fill."""

    async def _shutdown_backend(self):
        """For backends to fill."""

    async def start(self):
        await self._prepare_backend_workspace()
        if self.preserved and self.state.workspace_root_ready:
            return
        if self.state.snapshot.data is not None:
            await self.hydrate_workspace(io.BytesIO(self.state.snapshot.data))
        for path, content in self.state.manifest.files.items():
            await self.write(Path(path), io.BytesIO(content))
        self.state.workspace_root_ready = True

    async def aclose(self):
        self.state.snapshot.data = (await self.persist_workspace()).read()
        await self._shutdown_backend()

    async def exec(self, *command, timeout=None, shell=True):
        words = ["sh", "-lc", " ".join(command)] if shell else list(command)
        return await self._exec_internal(*words, timeout=timeout)


class SandboxSession:
    """A session with events around it, as clients hand it out."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


class BaseSandboxClient(abc.ABC):
    def _wrap_session(self, inner):
        return SandboxSession(inner)

    def serialize_session_state(self, state):
        return state.model_dump()

    @abc.abstractmethod
    async def create(self, *, snapshot=None, manifest=None, options):
        """A new session."""

    @abc.abstractmethod
    async def delete(self, session):
        """Its end."""

    @abc.abstractmethod
    async def resume(self, state):
        """An earlier one."""

    @abc.abstractmethod
    def deserialize_session_state(self, payload):
        """The state of a payload."""


# --- their places ---

HERE = globals()
MODULES = {
    "deepagents.backends.protocol": ["ExecuteResponse", "FileUploadResponse", "FileDownloadResponse"],
    "deepagents.backends.sandbox": ["BaseSandbox"],
    "smolagents.local_python_executor": ["CodeOutput", "PythonExecutor"],
    "smolagents.tools": ["get_tools_definition_code"],
    "autogen_core": ["CancellationToken"],
    "autogen_core.code_executor": ["CodeBlock", "CodeResult", "CodeExecutor"],
    "google.adk.code_executors.base_code_executor": ["BaseCodeExecutor"],
    "google.adk.code_executors.code_execution_utils": ["CodeExecutionInput", "CodeExecutionResult", "File"],
    "inspect_ai.util": ["ExecResult", "OutputLimitExceededError", "SandboxEnvironment", "sandboxenv"],
    "agents.sandbox.manifest": ["Manifest"],
    "agents.sandbox.session.base_sandbox_session": ["BaseSandboxSession"],
    "agents.sandbox.session.sandbox_client": ["BaseSandboxClient"],
    "agents.sandbox.session.sandbox_session_state": ["SandboxSessionState"],
    "agents.sandbox.snapshot": ["resolve_snapshot"],
}
OTHER_NAMES = {
    "agents.sandbox.errors": {name: type(name, (SandboxError,), {}) for name in AGENTS_ERRORS},
    "agents.sandbox.types": {"ExecResult": AgentsExecResult},
    "agents.sandbox.session.sandbox_client": {"BaseSandboxClientOptions": Model},
}


def is_installed(module):
    top = module.split(".")
    package = ".".join(top[:2]) if top[0] == "google" else top[0]
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def install():
    """Returns the names of the frameworks that are stand-ins."""
    missing = [name for name in {*MODULES, *OTHER_NAMES} if not is_installed(name)]
    for name in missing:
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
        for known in MODULES.get(name, []):
            setattr(sys.modules[name], known, HERE[known])
        for known, value in OTHER_NAMES.get(name, {}).items():
            setattr(sys.modules[name], known, value)
    return {name.split(".")[0] for name in missing}
