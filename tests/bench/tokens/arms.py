"""The ways to work: two sets of file tools, a shell, a notebook, typed functions called from code, and Belljar. Each call is really made; its JSON is what is counted."""
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
# As servers for notebooks have them; the words are ours.
NOTEBOOK_TOOLS = [
    tool("list_cells", "List the cells of the notebook: index, type, execution count and first line."),
    tool("read_cell", "Read one cell with its outputs.", cell_index={"type": "integer", "description": "index of the cell, from 0"}),
    tool("insert_cell", "Insert a cell without executing it.", cell_index={"type": "integer", "description": "where; -1: at the end"},
         cell_type=text("code or markdown"), cell_source=text("its source")),
    tool("overwrite_cell", "Replace the source of a cell.", cell_index={"type": "integer", "description": "index of the cell"}, cell_source=text("its new source")),
    tool("delete_cell", "Delete a cell.", cell_index={"type": "integer", "description": "index of the cell"}),
    tool("execute_cell", "Execute a cell and return its outputs.", cell_index={"type": "integer", "description": "index of the cell"}),
    tool("execute_code", "Append a code cell, execute it in the kernel, and return its outputs. Lines with ! are shell commands.", code=text("the source")),
    tool("restart_kernel", "Restart the kernel; variables are lost."),
]  # fmt: skip
CODE_TOOLS = [tool("run", "Run Python code that may call the functions declared below; print what you need. There are no other ways to reach files.", code=text("the code"))]
STUBS = '''# Functions for the code:
def read_file(path: str) -> str: """Read a file."""
def write_file(path: str, content: str) -> None: """Write a file."""
def edit_file(path: str, old_string: str, new_string: str) -> None: """Replace a text that stands exactly once in a file."""
def grep(pattern: str, path: str = ".", glob: str = "*") -> list[tuple[str, int, str]]: """Lines that match, as (path, number, text)."""
def list_files(glob: str = "*") -> list[str]: """Paths of files whose name matches."""
'''
# The declared functions, in the process that runs the code.
FUNCTIONS = """
import fnmatch, os, re
def read_file(path): return open(path, encoding='utf-8', newline='').read()
def write_file(path, content): open(path, 'w', encoding='utf-8', newline='').write(content)
def edit_file(path, old_string, new_string):
    text = read_file(path)
    assert text.count(old_string) == 1, text.count(old_string)
    write_file(path, text.replace(old_string, new_string))
def list_files(glob='*'):
    return sorted(os.path.relpath(os.path.join(d, n), '.') for d, _, names in os.walk('.') for n in names if fnmatch.fnmatch(n, glob))
def grep(pattern, path='.', glob='*'):
    names = [path] if os.path.isfile(path) else list_files(glob)
    return [(p, n, line) for p in names for n, line in enumerate(read_file(p).split('\\n'), 1) if re.search(pattern, line)]
"""


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


class Notebook(Shell):
    """An agent with a notebook whose kernel runs in the project."""

    tools = NOTEBOOK_TOOLS

    def execute_code(self, code):
        if code.startswith(("!", "%%bash\n")):
            return self.bash(code.removeprefix("%%bash\n").removeprefix("!"))
        return run_python(self.root, code)


class CodeMode(Files):
    """An agent that writes code against typed functions."""

    tools = CODE_TOOLS

    def __init__(self, root):
        super().__init__(root)
        self.transcript.fixed.append(STUBS)

    def run(self, code):
        return run_python(self.root, FUNCTIONS + code)


def run_python(root, code):
    done = subprocess.run(["/usr/bin/python3", "-I", "-c", code], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
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

    def run(self, code, **more):
        """The program's output."""
        said = self.turn(("run_code", {"code": code, **more}))[0]
        return "".join(line for line in said.splitlines(keepends=True) if not line.startswith(("[note] ", "[in /")))

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
