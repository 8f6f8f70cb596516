"""The corpus of escape programs: one program per file, its promise in the first comment lines."""
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "escape" / "corpus"

KEYS = {"id", "category", "profile", "threat", "expect", "require", "forbid", "limits", "runs", "differ", "needs", "grant", "process", "uncovered"}
LISTS = {"require", "forbid"}
LIMITS = {"timeout": "--timeout", "memory": "--memory", "pids": "--pids", "disk": "--disk", "output": "--output"}
# `invalid` is no status: Belljar takes the input for a mistake and nothing runs.
STATUSES = {"success", "error", "timeout", "memory_exceeded", "refused", "cancelled", "invalid"}
SUFFIXES = {".py": "python", ".sh": "bash", ".js": "javascript"}
PROFILES = {"strict", "standard", "open"}

# Signs that a program got somewhere: it says so itself (the marker is never written in one piece), or bait of the
# outside is in its text and is looked at afterwards. `belljar doctor --prove` has the same list.
SIGNS = ("ESC", "UNFIL", "@CANARY_", "@UNIX_SOCKET@", "@ABSTRACT_SOCKET@", "@TCP_PORT@", "@SHM_KEY@", "@VICTIM_PID@", "@ORPHAN@")

# A busy machine takes its time: programs that are not to meet the limit get a multiple of it.
PATIENCE = int(os.environ.get("BELLJAR_TEST_PATIENCE", "6"))
DEFAULT_TIMEOUT = 5
LONGEST_TIMEOUT = 300  # Belljar takes no longer one without a word of the operator
DEFAULT_MEMORY = 256


@dataclass
class Program:
    path: Path
    body: str
    id: str = ""
    category: str = ""
    profile: str = ""
    threat: str = ""
    expect: set = field(default_factory=set)
    require: list = field(default_factory=list)
    forbid: list = field(default_factory=list)
    limits: dict = field(default_factory=dict)
    runs: int = 1
    differ: str = ""
    needs: str = ""
    grant: str = ""
    process: str = ""  # why it ends in another way at isolation `process`, where it is contained as well
    uncovered: str = ""  # what it reaches there

    @property
    def language(self):
        return SUFFIXES[self.path.suffix]

    @property
    def timeout(self):
        limit = self.limits.get("timeout", DEFAULT_TIMEOUT)
        return limit if "timeout" in self.expect else min(limit * PATIENCE, LONGEST_TIMEOUT)

    def flags(self):
        limits = {"memory": DEFAULT_MEMORY, "pids": 64, "disk": 64, **self.limits, "timeout": self.timeout}
        words = ["--profile", self.profile, "-l", self.language]
        for name, value in limits.items():
            words += [LIMITS[name], str(value)]
        return words


def load(path):
    text = path.read_text(encoding="utf-8")
    program = Program(path, text)
    for line in text.splitlines():
        if not line.startswith(("#", "//")):
            break
        match = re.match(r"(?:#|//) ([a-z]+): (.*)$", line)
        if not match or (not program.id and match[1] != "id"):
            continue  # a coding line, which must be the first of its file
        key, value = match[1], match[2].strip()
        if key not in KEYS:
            raise ValueError(f"{path}: unknown key `{key}`")
        if key in LISTS:
            getattr(program, key).append(value)
        elif key == "expect":
            program.expect = set(value.split())
        elif key == "limits":
            program.limits = {k: int(v) for k, v in (w.split("=") for w in value.split())}
        elif key == "runs":
            program.runs = int(value)
        else:
            setattr(program, key, value)
    check(program)
    return program


def check(program):
    where = program.path
    expected = f"{where.parent.name}-{where.stem}"
    if program.id != expected or program.category != where.parent.name:
        raise ValueError(f"{where}: id and category do not follow the file's name")
    if not program.threat or program.profile not in PROFILES:
        raise ValueError(f"{where}: no threat, or an unknown profile")
    if not program.expect or program.expect - STATUSES:
        raise ValueError(f"{where}: unknown status in {program.expect}")
    if set(program.limits) - set(LIMITS):
        raise ValueError(f"{where}: unknown limit in {program.limits}")
    if program.differ not in ("", "stdout"):
        raise ValueError(f"{where}: only stdout can be asked to differ")
    if program.needs not in ("", "cgroup"):
        raise ValueError(f"{where}: only a cgroup can be needed")
    if program.grant not in ("", "ro"):
        raise ValueError(f"{where}: only `ro` can be granted")
    if program.process and program.uncovered:
        raise ValueError(f"{where}: either contained or not at isolation `process`")
    if not can_fail(program):
        raise ValueError(f"{where}: accepts success and more, and has no marker, bait, require or forbid: it cannot fail")
    # In one piece the marker would be found in every traceback that quotes the line.
    if "ESCAPED:" in program.body or "UNFILTERED:" in program.body:
        raise ValueError(f"{where}: the marker is written in one piece")


def can_fail(program):
    if "success" not in program.expect or len(program.expect) == 1:
        return True
    text = "\n".join(l for l in program.body.splitlines() if not l.startswith(("#", "//")))
    return bool(program.require or program.forbid or program.differ or any(s in text for s in SIGNS))


def load_all():
    programs = [load(p) for p in sorted(CORPUS.glob("*/*")) if p.suffix in SUFFIXES]
    ids = [p.id for p in programs]
    doubles = {i for i in ids if ids.count(i) > 1}
    return programs, doubles


def expand(text):
    """@NUL@, @CR@ and @TIMES n text@: what a text file cannot hold well."""
    text = re.sub(r"@TIMES (\d+) (.*?)@", lambda m: m[2] * int(m[1]), text)
    return text.replace("@NUL@", "\0").replace("@CR@", "\r")
