#!/usr/bin/python3
"""Runs the commands that documents show, and compares what they print.

A page is run from its top to its end by one Bash, in an empty home directory with nothing of Belljar's in it.

| in the page                          | what happens                                                                |
| ------------------------------------ | --------------------------------------------------------------------------- |
| ```console                           | each `$ ` line is run; what follows it is what it has to print              |
| ```sh                                | run as a script; every command has to succeed                               |
| ```text, ```json right below ```sh   | what the script has to print                                                |
| ```python                            | run in a sandbox, or by Python if it imports the client; the same           |
| ```js                                | run by Node if it imports the client; the same                              |
| ```ts                                | run by tests/sdk/run.py, which has a compiler                               |
| a first line `# NAME` with a suffix  | the block is that file, and is written; a `config.toml` has to be valid     |
| ```toml without a name               | has to be a valid settings file                                             |
| ```LANGUAGE not-run: REASON          | is not run; REASON is one of REASONS                                        |
| <!-- before … -->                    | run, too: makes what a reader would have already                            |

In expected output `…` stands for anything within its line, and alone in its line for any number of lines. Ids, times
and durations in milliseconds need no such mark. The home directory is `/home/me`, and a server `127.0.0.1:8222`.

    python3 tests/lib/documents.py        counts the blocks of all documents
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import lifeline

ROOT = Path(__file__).resolve().parents[2]

REASONS = {
    "installs": "installs packages or changes the machine",
    "network": "needs a host or a package index",
    "elsewhere": "needs a program or machine that tests do not have",
    "slow": "takes minutes",
    "excerpt": "a part of something longer",
}

PATTERNS = ("*.md", "docs/*.md", "docs/guide/*.md", "docs/advisories/*.md", "sdk/*/*.md")
PLACE = "/home/me"  # what documents call the home directory
SHELL_PROMPT = re.compile(r"(?:\[\d+\] )?(?:>>>|\.\.\.|\$)(?: (.*))?$")
FILE_NAME = re.compile(r"(?:#|//) ((?:~/)?[\w./-]+\.(?:py|sh|js|toml|md|csv|txt|json|conf))$")
RUNNABLE = ("console", "sh", "python")
SHOWN = ("before", "text", "json", "toml", "nginx", "js", "ts")
MODULE = re.compile(r"^import .* from \"belljar\";$", re.M)  # the client for TypeScript


def pages():
    return sorted(str(path.relative_to(ROOT)) for pattern in PATTERNS for path in ROOT.glob(pattern))


class Block:
    def __init__(self, page, line, info, text):
        self.page, self.line, self.text = page, line, text
        self.language, _, rest = info.partition(" ")
        found = re.fullmatch(r"not-run: ([a-z]+)", rest)
        self.reason = found[1] if found else None
        self.error = f"unknown words after the language: {rest}" if rest and not found else None
        if self.reason and self.reason not in REASONS:
            self.error = f"unknown reason: {self.reason}"
        if self.language not in (*RUNNABLE, *SHOWN, ""):
            self.error = f"unknown language: {self.language}"
        self.expected = None  # the text of the block below
        self.is_output = False
        first = text.split("\n", 1)[0]
        found = FILE_NAME.match(first)
        self.file = found[1] if found and self.language not in ("console", "text", "") else None

    @property
    def is_runnable(self):
        return (self.language in RUNNABLE or self.is_module) and not self.file

    @property
    def is_module(self):
        """Uses the client for TypeScript."""
        return self.language in ("js", "ts") and bool(MODULE.search(self.text))

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def read_blocks(page, text):
    """Fenced blocks, and `before` comments as blocks of their own, in order."""
    blocks, lines, at = [], text.split("\n"), 0
    blank_since = None  # the last block, while nothing but blank lines followed it
    while at < len(lines):
        fence = re.match(r"( *)```(.*)$", lines[at])
        comment = lines[at].startswith("<!-- before")
        if not fence and not comment:
            if lines[at].strip():
                blank_since = None
            at += 1
            continue
        begin, at, inside = at + 1, at + 1, []
        while at < len(lines) and not (lines[at].strip() == "```" if fence else lines[at].startswith("-->")):
            inside.append(lines[at].removeprefix(fence[1]) if fence else lines[at])
            at += 1
        at += 1
        block = Block(page, begin, fence[2] if fence else "before", "".join(f"{line}\n" for line in inside))
        previous, blank_since = blank_since, block
        if previous and previous.is_runnable and previous.language != "console" and block.language in ("text", "json", "") and not block.reason:
            previous.expected, block.is_output = block.text, True
        blocks.append(block)
    return blocks


def split_console(block):
    """[(command, expected output)] of a transcript."""
    steps, lines, at = [], block.text.split("\n")[:-1], 0
    assert lines and lines[0].startswith("$ "), f"{block.place}: a console block begins with `$ `"
    while at < len(lines):
        command = [lines[at][2:]]
        at += 1
        if re.match(r"(\S*/)?belljar shell\b", command[0]):  # the rest of the block is typed at its prompt
            typed, expected = [], []
            for line in lines[at:]:
                found = SHELL_PROMPT.match(line)
                typed.append(found[1] or "") if found else expected.append(line)
            steps.append((f"{command[0]} <<'END OF CELLS'\n" + "\n".join(typed) + "\nEND OF CELLS", expected))
            return steps
        here = re.search(r"<<-? *['\"]?(\w+)", command[0])
        while at < len(lines) and (command[-1].endswith("\\") or lines[at].startswith("> ") or here):
            command.append(lines[at] if here else lines[at].removeprefix("> "))
            at += 1
            if here and command[-1] == here[1]:
                break
        expected = []
        while at < len(lines) and not lines[at].startswith("$ "):
            expected.append(lines[at])
            at += 1
        steps.append(("\n".join(command), expected))
    return steps


# --- comparison ---

STEADY = [
    (re.compile(r"\b(run|ses|und|apr|job)_(?:[0-9A-Z]{26}|…)"), r"\1_ID"),
    (re.compile(r"\b(run|ses|und|apr|job)_[0-9A-Z]{2,25}…"), r"\1_ID"),
    (re.compile(r"\b[0-9a-f]{40,64}\b|\b[0-9a-f]{12,39}…"), "HASH"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"), "TIME"),
    (re.compile(r"· \d+(\.\d+)? m?s · \d+(\.\d+)? MB"), "· N s · N MB"),
    (re.compile(r" *\b\d+(\.\d+)? ms\b"), " N ms"),
]


def steady(line):
    """Without what differs from run to run."""
    for pattern, replacement in STEADY:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def is_like(line, expected):
    if "…" not in expected:
        return steady(line) == steady(expected)
    return bool(re.fullmatch(".*".join(map(re.escape, steady(expected).split("…"))), steady(line)))


def match(lines, expected):
    """Whether the lines are the expected ones; a line `…` stands for any number."""
    reached = {0}
    for pattern in expected:
        if pattern.strip() == "…":
            reached = set(range(min(reached), len(lines) + 1)) if reached else set()
        else:
            reached = {i + 1 for i in reached if i < len(lines) and is_like(lines[i], pattern)}
    return len(lines) in reached


def trimmed(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


# --- running ---

PRELUDE = r"""
cd "$HOME"
PORT=8222
SERVER=
set -E
trap 'note_failure $? "$BASH_COMMAND"' ERR

note_failure() {
    case $2 in
        return* | last_status | '. "$CHUNKS/'*) ;; # not of the page
        *) echo "failed with $1: $2" >> "$CHUNKS/$N.failed" ;;
    esac
}

STATUS=0
last_status() {
    return "$STATUS"
}

stop_server() {
    [ -z "$SERVER" ] || { kill "$SERVER"; wait "$SERVER"; } 2> /dev/null || true
    SERVER=
}

trap stop_server EXIT

# Starts the server of a page at a port of its own, and returns when it listens.
start_server() {
    stop_server
    : > "$CHUNKS/server.log"
    "$@" --listen 127.0.0.1:0 > "$CHUNKS/server.log" 2>&1 &
    SERVER=$!
    until grep -q 'token' "$CHUNKS/server.log"; do
        kill -0 "$SERVER" || break
        sleep 0.05
    done
    PORT=$(sed -n 's/.*listening on http:..127.0.0.1:\([0-9]*\).*/\1/p' "$CHUNKS/server.log")
    cat "$CHUNKS/server.log"
}

chunk() {
    N=$1
    sed -i "s/127\.0\.0\.1:8222/127.0.0.1:$PORT/g" "$CHUNKS/$N.sh"
    last_status # for a page that shows `echo $?`
    . "$CHUNKS/$N.sh" > "$CHUNKS/$N.out" 2>&1 < /dev/null
    STATUS=$?
    sed -i "s/127\.0\.0\.1:$PORT\b/127.0.0.1:8222/g" "$CHUNKS/$N.out"
}
"""

CLIENT = re.compile(r"^(from|import) belljar_client\b", re.M)


class Step:
    """A part of the script, what it has to print (None: anything), and whether its commands have to succeed."""

    def __init__(self, block, script, expected, is_strict):
        self.block, self.script, self.expected, self.is_strict = block, script, expected, is_strict


def rewritten(command):
    """`belljar serve … &` becomes a server that this page can use at once."""
    return re.sub(r"^(\S*belljar serve\b[^\n&]*?) *&$", r"start_server \1", command, flags=re.M)


def steps_of(block):
    if block.language == "before":
        return [Step(block, rewritten(block.text), None, True)]
    if block.reason or block.is_output:
        return []
    if block.file:
        path = block.file.replace("~/", "$HOME/")
        text = f'mkdir -p "$(dirname "{path}")"\ncat > "{path}" <<\'END OF FILE\'\n{block.text}END OF FILE\n'
        text += f'belljar config --config "{path}"\n' if path.endswith("config.toml") else ""
        return [Step(block, text, None, True)]
    if block.language == "console":
        # A page that leaves out all of the output must at least not hide a failure.
        return [Step(block, rewritten(command), expected, expected == ["…"]) for command, expected in split_console(block)]
    expected = block.expected.split("\n") if block.expected is not None else None
    if block.language == "sh":
        # The port of a server is put into what comes after the line that starts it.
        parts = re.split(r"(?<=&\n)", block.text) if "belljar serve" in block.text else [block.text]
        return [Step(block, rewritten(part), expected if part is parts[-1] else None, True) for part in parts if part]
    if block.language == "python":
        command = "/usr/bin/python3 -" if CLIENT.search(block.text) else "belljar run --profile standard -"
        return [Step(block, f"{command} <<'END OF PROGRAM'\n{block.text}END OF PROGRAM\n", expected, True)]
    if block.language == "js" and block.is_module:
        return [Step(block, f"node --no-warnings --input-type=module - <<'END OF PROGRAM'\n{block.text}END OF PROGRAM\n", expected, True)]
    if block.language == "toml":
        return [Step(block, f"cat > \"$CHUNKS/settings.toml\" <<'END OF FILE'\n{block.text}END OF FILE\n"
                     'belljar config --config "$CHUNKS/settings.toml"\n', None, True)]  # fmt: skip
    return []


def run_page(who, page, text, timeout):
    """Runs it; returns (number of steps, complaints)."""
    home = who.directory("page")
    chunks = who.directory("chunks")
    runtime = who.directory("run", 0o700)
    # Environments cannot be below a directory that each sandbox has of its own.
    data = Path(tempfile.mkdtemp(prefix="bjdata-", dir="/srv" if os.getuid() == 0 else Path.home()))
    data.chmod(0o755)
    who.own(data)
    places = {str(data): f"{PLACE}/.local/share", str(home): PLACE, str(runtime): "/run/user/1000"}
    try:
        own = {"HOME": str(home), "XDG_DATA_HOME": str(data), "XDG_RUNTIME_DIR": str(runtime)}
        return run_steps(who, page, text, timeout, home, chunks, own, places)
    finally:
        for path in (home, chunks, runtime, data):
            shutil.rmtree(path, ignore_errors=True)


def run_steps(who, page, text, timeout, home, chunks, own, places):
    steps = [step for block in read_blocks(page, text) for step in steps_of(block)]
    script = PRELUDE
    for number, step in enumerate(steps):
        (chunks / f"{number}.sh").write_text(re.sub(rf"{PLACE}\b", str(home), step.script) + "\n", encoding="utf-8")
        who.own(chunks / f"{number}.sh")
        script += f"chunk {number}\n"
    # `build/` and `examples/` are those of a checkout, in which a reader of README.md is.
    (home / "build").symlink_to(who.program.parent)
    shutil.copytree(ROOT / "examples", home / "examples")
    shutil.copytree(ROOT / "sdk/python", home / "sdk/python")
    shutil.copytree(ROOT / "sdk/typescript", home / "node_modules/belljar")
    for path in [home / "build", *home.rglob("*")]:
        who.own(path) if not path.is_symlink() else None
    env = who.environment({
        **{name: None for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "BELLJAR_TEST_SECRET")},
        **own, "USER": "me", "CHUNKS": str(chunks), "PATH": f"{who.program.parent}:/usr/bin:/bin",
        "PYTHONPATH": str(home / "sdk/python"), "TERM": "dumb", "NO_COLOR": "1",
        "GIT_AUTHOR_DATE": "2026-01-31T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-31T12:00:00Z",
        # A server for tests starts fast.
        "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2", "BELLJAR_POOL_HOT": "0",
    })  # fmt: skip
    process = subprocess.Popen(["bash", "-c", script], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, **who.identity())  # fmt: skip
    lifeline.hold(process.pid)
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return len(steps), [f"{page}: not done after {timeout} s"]
    complaints = [f"{page}: the script says {said.decode()}"] if said else []
    for number, step in enumerate(steps):
        complaints += judge(chunks, number, step, places)
    return len(steps), complaints


def judge(chunks, number, step, places):
    path = chunks / f"{number}.out"
    if not path.exists():
        return [f"{step.block.place}: was not reached\n{step.script}"]
    text = path.read_bytes().decode("utf-8", "replace")
    for real, shown in places.items():
        text = text.replace(real, shown)
    lines = trimmed(text.split("\n"))
    failed = chunks / f"{number}.failed"
    if step.is_strict and failed.exists():
        return [f"{step.block.place}: {failed.read_text()}in\n{step.script}which printed\n{text}"]
    if step.expected is not None and not match(lines, trimmed(step.expected)):
        shown = "\n".join(trimmed(step.expected))
        return [f"{step.block.place}: {step.script}\nprinted\n{text}\n*** but the page says\n{shown}\n"]
    return []


def count(page):
    """(blocks that are run, {reason: blocks that are not}, errors)"""
    run, not_run, errors = 0, {}, []
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in read_blocks(page, text):
        if block.error:
            errors.append(f"{block.place}: {block.error}")
        elif block.reason:
            not_run[block.reason] = not_run.get(block.reason, 0) + 1
        elif block.is_runnable or block.file or block.language == "toml":
            run += 1
        elif not block.language and not block.is_output:
            errors.append(f"{block.place}: a block that is not the output of the one above needs a language")
    outside = re.sub(r"^ *```.*?^ *```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    for number, line in enumerate(outside.split("\n"), 1):
        if re.match(r" {4,}(\$ |belljar |build/|curl |make |tools/|/usr/bin/|python3 |from |import )", line):
            errors.append(f"{page}:{number}: a command outside of a fenced block is not run")
    return run, not_run, errors


def summary():
    run, not_run, errors = 0, {}, []
    for page in pages():
        more, reasons, wrong = count(page)
        run += more
        errors += wrong
        for reason, number in reasons.items():
            not_run[reason] = not_run.get(reason, 0) + number
    parts = "".join(f"\n  {number} {REASONS.get(reason, reason)}" for reason, number in sorted(not_run.items()))
    return f"documents: {run} blocks are run, {sum(not_run.values())} are not{parts}", errors


if __name__ == "__main__":
    words, wrong = summary()
    print("\n".join([*wrong, words]))
    sys.exit(1 if wrong else 0)
