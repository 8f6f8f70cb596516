"""A virtual machine as belljar starts one, for tests: its connections, and what it is made of on the host."""
import json
import os
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Every instruction is translated, on a machine that does other things, too.
BOOT_SECONDS = 180
ANSWER_SECONDS = 90

CONFIG = 'trail = "off"\npreload = []\nsocket = "/run/belljar.sock"\nauth = "none"\npool_size = 1\npool_hot = 0\n'


def missing(build):
    """Why there can be no machine, or None."""
    done = subprocess.run([build / "belljar-machine", "--check", "--emulate"], capture_output=True, text=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return next((": ".join(line[2:]) for line in lines if line[1] != "there"), None)


def until(what, seconds=20):
    """Waits until what() is true; returns what it was last."""
    end = time.monotonic() + seconds
    while not (value := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def stat_fields(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def children(pid):
    try:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children(pid)
    return found


def name_of(pid):
    try:
        return os.path.basename(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
    except OSError:
        return ""


def cgroups(pids):
    """Directories of those processes' cgroups, but for that of this process."""
    found = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            continue
        found |= {line.split(":", 2)[2] for line in lines}
    return found - {line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}


def is_cgroup(path):
    return any(root.joinpath(path.lstrip("/")).is_dir() for root in [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*")])


def is_there(pid):
    try:
        return stat_fields(pid)[0] != "Z"
    except OSError:
        return False


class Server:
    """`belljar serve` with a machine."""

    def __init__(self, build, uid=None, memory=None):
        """`uid`: an ordinary user's. `memory`: all that each of its processes may have, in bytes."""
        self.files = tempfile.TemporaryDirectory(prefix="belljar-machine-")
        self.state = Path(self.files.name)
        os.chmod(self.state, 0o755)
        self.build = build
        self.granted = self.state / "granted"
        (self.granted / ".config" / "belljar").mkdir(parents=True)  # as in a home directory
        (self.granted / ".config" / "belljar" / "token").write_text("of-belljar")
        (self.granted / "text").write_text("of the host")
        (self.granted / "private").write_text("of its owner")
        (self.granted / "private").chmod(0o600)
        self.replaced = self.state / "replaced"
        self.replaced.mkdir()
        policies = self.state / "policies"
        policies.mkdir()
        for profile in (ROOT / "policies").glob("*.toml"):
            (policies / profile.name).write_text(profile.read_text())
        (policies / "sealed.toml").write_text('inherits = "standard"\n[isolation]\nrequire = ["machine", "seccomp"]\n')
        (policies / "quiet.toml").write_text('inherits = "standard"\n[grants]\ncalls = ["-state"]\n')
        self.settings = self.state / "config.toml"
        self.settings.write_text(
            f'machine = "tcg"\npreload = []\npolicies_dir = "{policies}"\nallow = ["{self.granted}", "{self.replaced}"]\n'
        )
        for path in [self.state, *self.state.rglob("*")] if uid else []:
            os.chown(path, uid, uid)

        def become():
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)

        self.socket = self.state / "http.sock"
        self.log = self.state / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [build / "belljar", "serve", "--config", self.settings, "--listen", "127.0.0.1:0",
                 "--socket", self.socket],
                env={"PATH": "/usr/bin:/bin", "HOME": self.files.name, "XDG_STATE_HOME": self.files.name,
                     "XDG_RUNTIME_DIR": self.files.name, "XDG_CONFIG_HOME": self.files.name},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=become,
            )  # fmt: skip
        assert until(self.answers), self.log.read_text()
        self.token = (self.state / "belljar" / "token").read_text().strip()

    def answers(self):
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.files.cleanup()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(BOOT_SECONDS)
        connection.connect(str(self.socket))
        return connection

    def qemu(self):
        return self.find("qemu")

    def find(self, name):
        return next((pid for pid in descendants(self.process.pid) if name_of(pid).startswith(name)), None)

    def machine(self, *words):
        """`belljar machine` about this server."""
        return subprocess.run([self.build / "belljar", "machine", *words, "--socket", self.socket, "--token-file",
                               self.state / "belljar" / "token"], capture_output=True, text=True, timeout=60)  # fmt: skip

    def trail(self):
        lines = [line for file in sorted(self.state.rglob("*.jsonl")) for line in file.read_text().splitlines()]
        return [json.loads(line) for line in lines]


class Machine:
    def __init__(self, build, command=None):
        self.files = tempfile.TemporaryDirectory(prefix="belljar-machine-")
        os.chmod(self.files.name, 0o755)
        config = Path(self.files.name) / "config.toml"
        config.write_text(CONFIG)
        self.console = Path(self.files.name) / "console"
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = command or [build / "belljar", "serve", "--no-auth", "--config", "/etc/config.toml"]
        with self.console.open("wb") as console:
            self.process = subprocess.Popen(
                [
                    build / "belljar-machine", "--emulate", "--console", "--init", build / "belljar-machine-init",
                    "--share", "/usr", "--share", ROOT, "--share", build, "--file", f"/etc/config.toml={config}",
                    "--", *command,
                ],
                preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False, stdin=subprocess.DEVNULL, stderr=console,
            )  # fmt: skip
        theirs.close()
        self.control.settimeout(BOOT_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.control.close()
        if self.process.poll() is None:
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.files.cleanup()

    def packet(self):
        """The next packet: b"r" when the machine is ready."""
        return self.control.recv(4096)

    def connect(self):
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [b"c"], [theirs.fileno()])
        ours.settimeout(ANSWER_SECONDS)
        return ours

    def processes(self):
        """By name: the processes on the host."""
        return {pid: name_of(pid) for pid in descendants(self.process.pid)}

    def qemu(self):
        return next((pid for pid, name in self.processes().items() if name.startswith("qemu")), None)


def send(connection, method, path, body=None, token=None):
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    connection.sendall(head.encode() + b"\r\n" + data)


def receive(connection):
    """(status, body) of the answer."""
    data = b""
    while piece := connection.recv(1 << 16):
        data += piece
    connection.close()
    head, _, body = data.partition(b"\r\n\r\n")
    if b"chunked" in head:
        whole = b""
        while body:
            size, _, rest = body.partition(b"\r\n")
            whole += rest[: int(size, 16)]
            body = rest[int(size, 16) + 2 :]
        body = whole
    return int(head.split()[1]) if head else 0, body


def call(machine, method, path, body=None):
    connection = machine.connect()
    send(connection, method, path, body, getattr(machine, "token", None))
    status, answer = receive(connection)
    return status, json.loads(answer) if answer.startswith(b"{") else answer


def run(machine, code, **more):
    status, answer = call(machine, "POST", "/v1/run", {"code": code, **more})
    assert status == 200, (status, answer)
    return answer
