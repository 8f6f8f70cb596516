"""Starts git: a fixed program, no shell, and nothing of a repository's that names a program to run.

A repository's own configuration may come from anywhere. Hooks, monitors, pagers, helpers, filters and other commands it names are
turned off; what of it only describes the repository holds. All of this happens inside the sandbox: its walls are not this file.
"""
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time

SECONDS = 30
OUTPUT_MAX = 8 << 20
ERRORS_MAX = 64 << 10

# Above everything a repository says.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "push.autoSetupRemote": "false",
    "branch.autoSetupMerge": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "color.ui": "false",
    "user.useConfigOnly": "true",
    "advice.detachedHead": "false",
    # A directory that was granted may belong to somebody else; what its owner could make git run is turned off here.
    "safe.directory": "*",
    "safe.bareRepository": "explicit",
}

_PASSED = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_PASSED_OUTSIDE = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO")


class Refusal(Exception):
    """Nothing was started, or it did not end well: what to say, and what to do about it."""

    def __init__(self, error, hint=None, answer=None):
        super().__init__(error)
        self.hint = hint
        self.answer = answer


class Answer:
    def __init__(self, code, out, more, err):
        self.code = code
        self.out = out  # bytes
        self.more = more  # bytes that were left out of it
        # git's usage text is of no use to anybody who does not type its commands.
        self.err = re.sub(r"(?m)^usage: git(?:.|\n)*", "", err.decode("utf-8", "replace"))

    @property
    def text(self):
        return self.out.decode("utf-8", "surrogateescape")


def _scratch(data):
    """An open file without a name, to be read from its beginning."""
    file = tempfile.TemporaryFile()
    file.write(data)
    file.seek(0)
    return file


def _quoted(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _user_lines():
    """The author of commits, as the operator's git says (or the setting `git_identity`). A repository's own user.name is stronger."""
    parts = [(key, os.environ.get(name, "")) for key, name in (("name", "BELLJAR_GIT_NAME"), ("email", "BELLJAR_GIT_EMAIL"))]
    return ["[user]\n", *(f"\t{key} = {_quoted(value)}\n" for key, value in parts if value and "\n" not in value)]


def _global_file():
    """Settings for a git that git starts in another repository: it reads a file, not the environment."""
    lines = _user_lines()
    for key, value in _SETTINGS.items():
        section, _, name = key.partition(".")
        lines.append(f'[{section}]\n\t{name} = "{value}"\n')
    return _scratch("".join(lines).encode("utf-8", "surrogateescape"))


def _environment(settings, settings_file, protocols, more):
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": f"/proc/self/fd/{settings_file}",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_SSH_VARIANT": "ssh",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CEILING_DIRECTORIES": "/:/tmp:/home",
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_PROTOCOL_FROM_USER": "0",
    }
    names = _PASSED + (_PASSED_OUTSIDE if protocols != "none" else ())
    env.update({name: os.environ[name] for name in names if name in os.environ})
    pairs = list({**_SETTINGS, **settings}.items())
    env["GIT_CONFIG_COUNT"] = str(len(pairs))
    for number, (key, value) in enumerate(pairs):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    env.update(more)
    return env


def _collect(process, output_max):
    """Reads both streams to their ends and keeps the beginnings. None: it took too long."""
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    ceilings = {process.stdout: output_max, process.stderr: ERRORS_MAX}
    more = 0
    end = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            # Nothing for so long is the end, too: the clock of a run with a seed stands still.
            ready = selector.select(max(0, end - time.monotonic()))
            if not ready:
                return None
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                room = max(0, ceilings[key.fileobj] - len(kept[key.fileobj]))
                kept[key.fileobj] += data[:room]
                if key.fileobj is process.stdout:
                    more += len(data) - len(data[:room])
    return bytes(kept[process.stdout]), more, bytes(kept[process.stderr])


def _end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _start(words, cwd, env, stdin, shared):
    try:
        return subprocess.Popen(
            ["/usr/bin/git", "--no-pager", *words], executable="/usr/bin/git", cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=[shared.fileno()], start_new_session=True, bufsize=0)  # fmt: skip
    except FileNotFoundError as error:
        if error.filename == "/usr/bin/git":
            raise Refusal("there is no git in this sandbox", "install git on the host: its /usr is what a sandbox sees") from None
        raise Refusal(f"there is no directory {cwd}", "directories are granted by whoever started Belljar (`allow`)") from None
    except NotADirectoryError:
        raise Refusal(f"{cwd} is not a directory", "give cwd=, a directory of the repository") from None
    except PermissionError as error:
        raise Refusal(f"git cannot be started: {error}",
                      "git is a program of its own; the profile must allow new processes, as `standard`, `marketplace` and `open` do") from None  # fmt: skip


def start(words, cwd=None, input=b"", output_max=OUTPUT_MAX, settings=None, protocols="none", env=None):
    """One git to its end."""
    with _global_file() as shared, _scratch(input) as stdin:
        process = _start(words, cwd, _environment(settings or {}, shared.fileno(), protocols, env or {}), stdin, shared)
        try:
            with process.stdout, process.stderr:
                found = _collect(process, output_max)
            if found:
                process.wait()
        finally:
            if process.returncode is None:
                _end(process)
    if not found:
        raise Refusal(f"git {words[0]} took longer than {SECONDS} seconds and was ended", "name fewer files")
    return Answer(process.returncode, *found)


def filters(cwd):
    """Settings that turn off the programs the repository's configuration names as filters."""
    names = start(["config", "--list", "-z", "--name-only", "--includes"], cwd).text.split("\0")
    settings = {}
    for name in names:
        found = re.fullmatch(r"filter\.(.*)\.(?:clean|smudge|process)", name, re.S)
        if found:
            driver = "filter." + found[1]
            settings.update({f"{driver}.process": "", f"{driver}.clean": "", f"{driver}.smudge": "", f"{driver}.required": "false"})
    return settings
