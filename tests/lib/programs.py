"""Ordinary programs, as models write them: read from tests/programs, run outside and inside, and compared.

A file has one program after the other. Each begins with a line `#### NAME`, followed by what differs from the usual:
`| profiles: open standard` (those that should run it), `| args: A B`, `| stdin: TEXT` with \\n for the end of a line.
"""
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "programs"
PYTHON_PROFILES = ("open", "standard", "strict")
BASH_PROFILES = ("open", "standard")
SUFFIXES = {"python": ".py", "bash": ".sh"}
INTERPRETERS = {"python": "/usr/bin/python3", "bash": "/bin/bash"}
EXCEPTION = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Group)?)(?::|$)")


@dataclass
class Program:
    name: str
    language: str
    code: str
    profiles: tuple
    args: list
    stdin: str

    @property
    def filename(self):
        return "program" + SUFFIXES[self.language]


@dataclass
class Outcome:
    stdout: str
    code: int
    exception: str
    stderr: str

    def key(self):
        """The program lies elsewhere inside."""
        return re.sub(r"(?<![\w/.-])[\w/.-]*/(program\.(?:py|sh))", r"\1", self.stdout), self.code, self.exception

    def same(self, other):
        return self.key() == other.key()


def exception_of(stderr, code):
    """The name at the beginning of the last line of a traceback."""
    lines = [line for line in stderr.strip().splitlines() if not line.startswith(("hint: ", "belljar: "))]
    if code != 1 or not any(line.startswith(("Traceback", '  File "')) for line in lines):
        return ""
    names = [m[1] for line in lines if not line.startswith(" ") and (m := EXCEPTION.match(line))]
    return names[-1] if names else ""


def parse(path):
    language = "bash" if path.stem == "bash" else "python"
    for block in re.split(r"^#### ", path.read_text(), flags=re.M)[1:]:
        head, _, code = block.partition("\n")
        name, *options = head.split(" | ")
        options = dict(option.split(": ", 1) for option in options)
        profiles = options.get("profiles", " ".join(BASH_PROFILES if language == "bash" else PYTHON_PROFILES))
        yield Program(
            f"{path.stem}-{name.strip()}", language, code, tuple(profiles.split()), options.get("args", "").split(),
            options.get("stdin", "").replace("\\n", "\n"),
        )  # fmt: skip


def load():
    return [program for path in sorted(FOLDER.glob("*.txt")) for program in parse(path)]


def outside(program, **identity):
    """Runs it with the interpreter of the host, in an empty directory."""
    folder = Path(tempfile.mkdtemp(prefix="bjprogram-"))
    folder.chmod(0o777)
    try:
        file = folder / program.filename
        file.write_text(program.code)
        work = folder / "work"
        work.mkdir()
        work.chmod(0o777)
        done = subprocess.run(
            [INTERPRETERS[program.language], file, *program.args], cwd=work, input=program.stdin.encode(), capture_output=True, timeout=120,
            env={"PATH": "/usr/bin:/bin", "HOME": str(work), "LANG": "C.UTF-8", "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(folder / "cache"),
                 "XDG_CACHE_HOME": str(folder / "cache")}, **identity,
        )  # fmt: skip
        stderr = done.stderr.decode("utf-8", "replace")
        code = 128 - done.returncode if done.returncode < 0 else done.returncode
        return Outcome(done.stdout.decode("utf-8", "replace"), code, exception_of(stderr, code), stderr)
    finally:
        shutil.rmtree(folder)


def cold(who, program, profile):
    """`belljar run FILE`."""
    file = who.file(program.filename, program.code)
    done = who.call("run", "--profile", profile, "--timeout", "120", file, *program.args, input=program.stdin.encode())
    return Outcome(done.text, done.code, exception_of(done.errors, done.code), done.errors)


def warm(server, program, profile):
    """From the stock of a server that has imported the data stack."""
    body = {"code": program.code, "language": program.language, "profile": profile, "filename": program.filename, "args": program.args,
            "stdin": program.stdin, "timeout_s": 120}  # fmt: skip
    answer = server.post("/v1/run", body).json
    stderr = answer.get("stderr") or str(answer)
    return Outcome(answer.get("stdout", ""), answer.get("exit_code", -1), exception_of(stderr, answer.get("exit_code")), stderr)
