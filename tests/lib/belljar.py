"""Starts the real program, as root and as an ordinary user, and reads what it answers."""
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import lifeline

ROOT = Path(__file__).resolve().parents[2]

# A uid nobody has: an ordinary user without subordinate ids, groups or a place in any list. One for each test process, so
# that what one leaves behind is not taken for another's.
USER_UID = 50000 + os.getpid() % 10000

SECRET = "belljar-test-secret-" + secrets.token_hex(8)

STATUS_EXIT = {"success": 0, "timeout": 124, "memory_exceeded": 137, "refused": 126, "cancelled": 130}

# Belljar itself failed; nothing ran.
EXIT_OWN = 125

# Nothing here measures time. A run that takes this long beyond its own limit hangs, also on a machine with ten times as
# much to do as it can. More where every instruction is translated.
HANG_SECONDS = max(180, 60 * int(os.environ.get("BELLJAR_TEST_PATIENCE", "1")))


def program_path():
    if os.environ.get("BELLJAR"):
        return Path(os.environ["BELLJAR"]).resolve()
    return (ROOT / os.environ.get("BELLJAR_BUILD", "build") / "belljar").resolve()


class Answer:
    """An answer: exit code, streams, and the JSON object if there was one."""

    def __init__(self, args, code, out, err, pid, seconds):
        self.args = args
        self.code = code
        self.out = out
        self.err = err
        self.pid = pid
        self.seconds = seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errors(self):
        return self.err.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out.decode("utf-8", "strict"), parse_constant=reject_constant)

    @property
    def status(self):
        return self.json.get("status")

    def __repr__(self):
        return f"<{self.args} ended with {self.code}\nout: {self.text[:2000]}\nerr: {self.errors[:2000]}>"


def reject_constant(name):
    raise ValueError(f"not JSON: {name}")


class Who:
    """One of the two callers, with a home of its own that must stay empty."""

    def __init__(self, name, uid, gid, base):
        self.name = name
        self.uid = uid
        self.gid = gid
        self.home = Path(tempfile.mkdtemp(prefix=f"bjhome-{name}-", dir=base))
        for part in ("runtime", "state", "config", "data", "cache", "tmp", "programs"):
            (self.home / part).mkdir(mode=0o700)
        self.own(self.home)
        for part in self.home.iterdir():
            self.own(part)
        self.program = self.reachable_program(base)

    def own(self, path):
        if os.getuid() == 0:
            os.chown(path, self.uid, self.gid)

    def reachable_program(self, base):
        """The program where this caller can execute it; a checkout in a closed home directory is copied out."""
        program = program_path()
        test = subprocess.run(["test", "-x", str(program)], **self.identity())
        if test.returncode == 0:
            return program
        copy = Path(base) / "checkout"
        if not copy.exists():
            (copy / "build").mkdir(parents=True)
            for name in ("belljar", "belljar-zygote", "belljar-broker", "belljar-listener", "belljar-steady.so"):
                shutil.copy2(program.parent / name, copy / "build" / name)
            for name in ("policies", "library", "skills"):
                shutil.copytree(ROOT / name, copy / name)
        return copy / "build" / "belljar"

    def identity(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if os.getuid() == 0 else {}

    def environment(self, more=None):
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home / "tmp"),
            "XDG_RUNTIME_DIR": str(self.home / "runtime"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "BELLJAR_TEST_SECRET": SECRET,
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(more or {})
        return {k: v for k, v in env.items() if v is not None}

    def start(self, *args, env=None, wrapper=(), **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("cwd", self.home)
        process = subprocess.Popen(
            [*map(str, wrapper), str(self.program), *map(str, args)],
            env=self.environment(env), **self.identity(), **popen,
        )  # fmt: skip
        lifeline.hold(process.pid)
        return process

    def call(self, *args, input=None, hang=HANG_SECONDS, **more):
        """Runs the program to its end."""
        started = time.monotonic()
        process = self.start(*args, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE, **more)
        try:
            out, err = process.communicate(input=input, timeout=hang)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"no answer after {hang} s: {args}\n{out[:500]}\n{err[:500]}") from None
        return Answer(args, process.returncode, out, err, process.pid, time.monotonic() - started)

    def run(self, code=None, *args, profile="open", **more):
        """`belljar run --json -c CODE`, or with the arguments alone when there is no code."""
        words = ["run", "--json"]
        if profile:
            words += ["--profile", profile]
        if code is not None:
            words += ["-c", code]
        return self.call(*words, *args, **more)

    def file(self, name, content, mode=0o644):
        """A program file this caller can read."""
        path = self.home / "programs" / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        self.own(path)
        return path

    def directory(self, name, mode=0o755):
        """A new one; other tests may have taken the name."""
        path, number = self.home / name, 1
        while path.exists():
            path, number = self.home / f"{name}-{number}", number + 1
        path.mkdir(mode=mode, parents=True)
        self.own(path)
        return path


def make_callers(base):
    """Root and an ordinary user when we are root; else only who we are."""
    if os.getuid() == 0:
        return {"root": Who("root", 0, 0, base), "user": Who("user", USER_UID, USER_UID, base)}
    return {"user": Who("user", os.getuid(), os.getgid(), base)}
