"""The four ways to work: two sets of file tools, a shell, and Belljar. Each call is really made; its JSON is what is counted."""
import fnmatch
import json
import os
import re
import subprocess

from oracle import split
from transcript import Transcript, compact

# The name of the tree's directory in the transcripts, wherever it is.
SHOWN = "/home/me/project"

SECONDS = 120


def tool(name, description, **properties):
    required = [key for key, value in properties.items() if not value.pop("optional", False)]
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties, "required": required}}


def text(description, **more):
    return {"type": "string", "description": description, **more}


def number(description):
    return {"type": "integer", "description": description, "optional": True}


FILE_TOOLS = [
    tool("read_file", "Read a file, with line numbers.", path=text("the file"), offset=number("first line"), limit=number("how many lines")),
    tool("write_file", "Write a file.", path=text("the file"), content=text("all of it")),
    tool("edit_file", "Replace a text that stands exactly once in a file.", path=text("the file"), old_string=text("what stands there"), new_string=text("what shall stand there")),
    tool("grep", "Search files for a regular expression. Lines come as path:line:text.", pattern=text("the expression"),
         path=text("a file or directory", optional=True), glob=text("only such files", optional=True), files_only={"type": "boolean", "description": "only the paths", "optional": True}),
]  # fmt: skip
SHELL_TOOLS = [tool("bash", "Run a shell command in the project.", command=text("the command"))]


class Files:
    """An agent with tools for files."""

    tools = FILE_TOOLS

    def __init__(self, root):
        self.root = root
        self.transcript = Transcript([compact({"jsonrpc": "2.0", "id": 0, "result": {"tools": self.tools}})])

    def turn(self, *calls):
        """Calls made at once: (name, arguments). Their texts. All have one id, so that one file read twice is one text to count."""
        asked, answered, texts = [], [], []
        for name, arguments in calls:
            asked.append(compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}))
            texts.append(getattr(self, name)(**arguments))
            answered.append(compact({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": texts[-1].replace(self.root, SHOWN)}]}}))
        self.transcript.add(asked, answered)
        return texts

    def read(self, path):
        """As text; what is no UTF-8 comes through."""
        with open(os.path.join(self.root, path), encoding="utf-8", errors="backslashreplace", newline="") as file:
            return file.read()

    def read_file(self, path, offset=1, limit=None):
        lines = split(self.read(path))[offset - 1 :][:limit]
        return "".join(f"{n:6d}\t{line}" for n, line in enumerate(lines, offset))

    def write_file(self, path, content):
        with open(os.path.join(self.root, path), "w", encoding="utf-8", newline="") as file:
            file.write(content)
        return "ok"

    def edit_file(self, path, old_string, new_string):
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        old = old_string.encode("utf-8", "surrogateescape")
        if data.count(old) != 1:
            raise ValueError(f"{path}: {old_string!r} stands there {data.count(old)} times")
        with open(os.path.join(self.root, path), "wb") as file:
            file.write(data.replace(old, new_string.encode("utf-8", "surrogateescape")))
        return "ok"

    def grep(self, pattern, path=".", glob="*", files_only=False):
        expression, found = re.compile(pattern), []
        names = [path] if os.path.isfile(os.path.join(self.root, path)) else tree(self.root)
        for name in names:
            if fnmatch.fnmatch(os.path.basename(name), glob):
                hits = [f"{name}:{n}:{line.rstrip()}" for n, line in enumerate(split(self.read(name)), 1) if expression.search(line)]
                found += [name] if files_only and hits else [] if files_only else hits
        return "\n".join(found) or "no matches"


class Shell(Files):
    """An agent with a shell."""

    tools = SHELL_TOOLS

    def bash(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})  # fmt: skip
        return done.stdout.decode("utf-8", "backslashreplace")


class Belljar:
    """An agent with `belljar mcp`, which sees the directory."""

    def __init__(self, root, program, env):
        self.root = root
        self.process = subprocess.Popen([*program, "mcp", "--allow", f"{root}:rw", "--timeout", "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.last_id = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        fixed = [self.exchange("initialize", hello)[1]]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        fixed.append(self.exchange("tools/list", {})[1])
        self.transcript = Transcript(fixed)

    def send(self, message):
        line = compact(message)
        self.process.stdin.write(line.replace(SHOWN, self.root) + "\n")
        self.process.stdin.flush()
        return line

    def exchange(self, method, params):
        """The request and its answer as they were sent, and the answer as data. Notices in between are for the client."""
        self.last_id += 1
        sent = self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"belljar mcp ended while it was asked for {method}")
            message = json.loads(line)
            if message.get("id") == self.last_id and "method" not in message:
                return sent, line.rstrip("\n").replace(self.root, SHOWN), message

    def turn(self, *calls):
        """Calls made at once: (name, arguments). What came back, as data; what does not work is an answer too, and counts."""
        done = [self.exchange("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
        self.transcript.add([sent for sent, _, _ in done], [line for _, line, _ in done])
        return ["".join(c["text"] for c in message["result"]["content"] if c["type"] == "text") for _, _, message in done]

    def learn(self, *names):
        """The questions of a model that has never seen the library: what there is, then how to call what it needs."""
        self.turn(("more", {"topic": "api"}))
        self.turn(*(("more", {"topic": name}) for name in names))

    def run(self, code):
        """The program's output."""
        said = self.turn(("run_code", {"code": code}))[0]
        return "".join(line for line in said.splitlines(keepends=True) if not line.startswith("[note] "))

    def close(self):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()


def tree(root):
    """Files below a directory, in the same order everywhere."""
    found = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)
