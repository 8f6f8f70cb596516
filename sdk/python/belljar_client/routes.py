"""The routes that the client uses, as the server's /openapi.json names them."""
from __future__ import annotations

import urllib.parse
from typing import List, Mapping, NamedTuple, Union

from .errors import InvalidError

Value = Union[str, int, float, bool, None]


class Route(NamedTuple):
    method: str
    path: str

    def fill(self, parts: Mapping[str, str], query: Mapping[str, Value]) -> str:
        """The target of a request. A part stays one part, and a path stays below the route."""
        segments: List[str] = []
        for segment in self.path.split("/"):
            name = segment[1:-1] if segment.startswith("{") else None
            if name is None:
                segments.append(segment)
            elif name == "path":
                segments.append(_quote_path(parts[name]))
            else:
                segments.append(_quote_part(name, parts[name]))
        asked = {k: _query_text(v) for k, v in query.items() if v is not None}
        return "/".join(segments) + (f"?{urllib.parse.urlencode(asked)}" if asked else "")


def _query_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quote_part(name: str, text: str) -> str:
    if text in ("", ".", ".."):
        raise InvalidError(f"`{text}` is not a {name}", code="invalid", hint="it must not be empty, `.` or `..`")
    return urllib.parse.quote(text, safe="")


def _quote_path(path: str) -> str:
    """Proxies resolve `..` on the way, and the request would reach another route."""
    if not path or any(part in (".", "..") for part in path.split("/")):
        raise InvalidError(f"`{path}` is not the path of a file", code="invalid", hint="name it without `.` and `..`")
    return urllib.parse.quote(path, safe="/")


RUN = Route("POST", "/v1/run")
CHECK = Route("POST", "/v1/check")
BATCH = Route("POST", "/v1/batch")
RUNS = Route("GET", "/v1/runs")
RESULT = Route("GET", "/v1/runs/{run}")
EVENTS = Route("GET", "/v1/runs/{run}/events")
FOLLOW = Route("GET", "/v1/runs/{run}/follow")
OUTPUT = Route("GET", "/v1/runs/{run}/output")
LINE = Route("POST", "/v1/runs/{run}/stdin")
CANCEL = Route("POST", "/v1/runs/{run}/cancel")
APPROVALS = Route("GET", "/v1/approvals")
APPROVE_RUN = Route("POST", "/v1/runs/{run}/approve")
APPROVE_CELL = Route("POST", "/v1/sessions/{session}/approve")
UNDOABLE = Route("GET", "/v1/undo")
RUN_CHANGES = Route("GET", "/v1/runs/{run}/changes")
UNDO = Route("POST", "/v1/runs/{run}/undo")
AUDIT = Route("GET", "/v1/audit/records")
AUDIT_HEAD = Route("GET", "/v1/audit/head")
CLUSTER_NODES = Route("GET", "/v1/cluster/nodes")
AUDIT_LINES = Route("GET", "/v1/audit/lines")
AUDIT_RECORDS = Route("GET", "/v1/audit/records/{id}")
AUDIT_VERIFY = Route("POST", "/v1/audit/verify")
SETTINGS = Route("GET", "/v1/config")
TOKENS = Route("GET", "/v1/tokens")
ADD_TOKEN = Route("POST", "/v1/tokens")
REMOVE_TOKEN = Route("DELETE", "/v1/tokens/{name}")
AUDIT_KEY = Route("GET", "/v1/audit/key")
CHECK_RECEIPT = Route("POST", "/v1/audit/receipt")
DOCTOR = Route("GET", "/v1/doctor")
ME = Route("GET", "/v1/me")
ALL_EVENTS = Route("GET", "/v1/events")
RECORD = Route("GET", "/v1/runs/{run}/record")
CELLS = Route("GET", "/v1/sessions/{session}/cells")
VARIABLES = Route("GET", "/v1/sessions/{session}/variables")

OPEN_SESSION = Route("POST", "/v1/sessions")
SESSIONS = Route("GET", "/v1/sessions")
SESSION = Route("GET", "/v1/sessions/{session}")
CLOSE_SESSION = Route("DELETE", "/v1/sessions/{session}")
EXECUTE = Route("POST", "/v1/sessions/{session}/execute")
INTERRUPT = Route("POST", "/v1/sessions/{session}/interrupt")
RESTART = Route("POST", "/v1/sessions/{session}/restart")
PAUSE = Route("POST", "/v1/sessions/{session}/pause")
RESUME = Route("POST", "/v1/sessions/{session}/resume")
START_COMMAND = Route("POST", "/v1/sessions/{session}/commands")
COMMANDS = Route("GET", "/v1/sessions/{session}/commands")
KILL_COMMAND = Route("DELETE", "/v1/sessions/{session}/commands/{command}")
COMMAND_STDIN = Route("POST", "/v1/sessions/{session}/commands/{command}/stdin")
COMMAND_RESIZE = Route("POST", "/v1/sessions/{session}/commands/{command}/resize")
COMMAND_SIGNAL = Route("POST", "/v1/sessions/{session}/commands/{command}/signal")
FORK = Route("POST", "/v1/sessions/{session}/fork")
CHECKPOINT = Route("POST", "/v1/sessions/{session}/checkpoint")
RESTORE = Route("POST", "/v1/sessions/{session}/restore")
OPEN_CONTEXT = Route("POST", "/v1/sessions/{session}/contexts")
CONTEXTS = Route("GET", "/v1/sessions/{session}/contexts")
RESTART_CONTEXT = Route("POST", "/v1/sessions/{session}/contexts/{context}/restart")
DELETE_CONTEXT = Route("DELETE", "/v1/sessions/{session}/contexts/{context}")
SNAPSHOT = Route("POST", "/v1/sessions/{session}/snapshot")
SNAPSHOTS = Route("GET", "/v1/snapshots")
DELETE_SNAPSHOT = Route("DELETE", "/v1/snapshots/{name}")
CHECKPOINTS = Route("GET", "/v1/sessions/{session}/checkpoints")
DELETE_CHECKPOINT = Route("DELETE", "/v1/sessions/{session}/checkpoints/{name}")
CHANGES = Route("GET", "/v1/sessions/{session}/changes")
APPLY = Route("POST", "/v1/sessions/{session}/apply")
DISCARD = Route("POST", "/v1/sessions/{session}/discard")

FILES = Route("GET", "/v1/sessions/{session}/files")
READ_FILE = Route("GET", "/v1/sessions/{session}/files/{path}")
WRITE_FILE = Route("PUT", "/v1/sessions/{session}/files/{path}")
MOVE_FILE = Route("POST", "/v1/sessions/{session}/files/{path}")
WATCH = Route("GET", "/v1/sessions/{session}/watch")
DELETE_FILE = Route("DELETE", "/v1/sessions/{session}/files/{path}")

SUBMIT_JOB = Route("POST", "/v1/jobs")
JOBS = Route("GET", "/v1/jobs")
JOB = Route("GET", "/v1/jobs/{job}")
JOB_RESULT = Route("GET", "/v1/jobs/{job}/result")
CANCEL_JOB = Route("POST", "/v1/jobs/{job}/cancel")
DELETE_JOB = Route("DELETE", "/v1/jobs/{job}")

SKILLS = Route("GET", "/v1/skills")
SKILL = Route("GET", "/v1/skills/{skill}")
SAVE_SKILL = Route("PUT", "/v1/skills/{skill}")
DELETE_SKILL = Route("DELETE", "/v1/skills/{skill}")
SKILL_FILE = Route("GET", "/v1/skills/{skill}/files/{path}")
UNDO_SKILL = Route("POST", "/v1/skills/{skill}/undo")

STATES = Route("GET", "/v1/states")
CREATE_STATE = Route("POST", "/v1/states")
STATE = Route("GET", "/v1/states/{work}")
SAVE_STATE = Route("POST", "/v1/states/{work}/versions")
DELETE_STATE = Route("DELETE", "/v1/states/{work}")

LANGUAGES = Route("GET", "/v1/languages")
STATS = Route("GET", "/v1/stats")
METRICS = Route("GET", "/metrics")
DESCRIPTION = Route("GET", "/openapi.json")
