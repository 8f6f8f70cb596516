"""Three machines on one: network namespaces on a bridge, each with nats-server, `belljar serve`, a node and a gateway.

Their settings are made by `belljar cluster join`, as an operator makes them. The gateways listen on the loopback of their
namespace; connections to them are made there.
"""
import contextlib
import ctypes
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# Nobody waits longer for anything: beyond it something hangs. A machine with ten times as much to do gets more.
HANG_SECONDS = 60 * int(os.environ.get("BELLJAR_TEST_PATIENCE", "1"))

GATEWAY_PORT = 8322
PROCESSES = ("server", "engine", "node", "gateway")


def missing():
    """Why the tests cannot run here, or None."""
    if os.getuid() != 0:
        return "network namespaces need root"
    for program in ("nats-server", "ip", "nsenter"):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"`{program}` is not installed"
    name = f"bjt{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return f"no network namespaces here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def wait_until(condition, what, seconds=HANG_SECONDS, step=0.05):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(step)
    return value


def socket_in(namespace, family=socket.AF_INET):
    """A socket of another network namespace: where it is made is where it stays."""
    with open("/proc/thread-self/ns/net") as here, open(f"/run/netns/{namespace}") as there:
        if LIBC.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        finally:
            if LIBC.setns(here.fileno(), CLONE_NEWNET) != 0:
                os.abort()


class Connection(http.client.HTTPConnection):
    def __init__(self, namespace, timeout):
        super().__init__("127.0.0.1", GATEWAY_PORT, timeout=timeout)
        self.namespace = namespace

    def connect(self):
        self.sock = socket_in(self.namespace)
        self.sock.settimeout(self.timeout)
        self.sock.connect((self.host, self.port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:300]}>"


class Machine:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.name = f"a{number}"
        self.namespace = f"{cluster.mark}{self.name}"
        self.link = f"{cluster.mark}v{number}"
        self.address = f"10.77.{cluster.net}.{number}"
        self.dir = cluster.dir / self.name
        self.settings = self.dir / "cluster"
        self.clock = self.dir / "clock"
        self.processes = {}
        self.stopped = set()

    # --- the network ---

    def make_network(self):
        ip("netns", "add", self.namespace)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        ip("link", "set", self.link, "master", self.cluster.bridge, "up")
        ip("-n", self.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "eth0", "up")
        ip("-n", self.namespace, "link", "set", "lo", "up")

    def link_down(self):
        ip("link", "set", self.link, "down")

    def link_up(self):
        ip("link", "set", self.link, "up")

    def connected_to(self, machine):
        """Processes of this machine that are connected to the server of that one."""
        told = subprocess.run(["ip", "netns", "exec", self.namespace, "ss", "-Htnp", "state", "established", "dst", machine.address, "dport", "=", ":4222"],
                              capture_output=True, text=True).stdout  # fmt: skip
        return [which for which, process in list(self.processes.items()) if f"pid={process.pid}," in told]

    # --- processes ---

    def command(self, which):
        belljar = str(self.cluster.belljar)
        return {
            "server": ["nats-server", "-c", str(self.settings / "nats-server.conf")],
            "engine": [belljar, "serve", "--config", str(self.dir / "config.toml")],
            "node": [belljar, "cluster", "node", "--config", str(self.settings / "cluster.toml")],
            "gateway": [belljar, "cluster", "gateway", "--config", str(self.settings / "cluster.toml")],
        }[which]

    def environment(self, which):
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": str(self.dir / "home"),
            "XDG_STATE_HOME": str(self.dir / "state"), "XDG_RUNTIME_DIR": str(self.dir / "run"), "XDG_DATA_HOME": str(self.dir / "data"),
            "BELLJAR_TEST_CLUSTER": self.cluster.mark,
        }  # fmt: skip
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        if which in ("node", "gateway") and self.cluster.clock_library:
            env |= {"LD_PRELOAD": str(self.cluster.clock_library), "CLOCK_FILE": str(self.clock)}
        return env

    def spawn(self, command, env, log):
        parent = os.getpid()

        def prepare():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.namespace}", *command],
            env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=prepare, start_new_session=True,
        )  # fmt: skip

    def start(self, *which):
        for name in which or PROCESSES:
            if name in self.processes and self.processes[name].poll() is None:
                continue
            with open(self.dir / f"{name}.log", "ab") as log:
                self.processes[name] = self.spawn(self.command(name), self.environment(name), log)

    def signal(self, which, number):
        if self.processes[which].poll() is None:
            self.processes[which].send_signal(number)

    def kill(self, *which):
        for name in which or PROCESSES:
            self.signal(name, signal.SIGKILL)
        for name in which or PROCESSES:
            self.processes[name].wait(timeout=HANG_SECONDS)

    def stop(self, *which):
        """Asks, and waits for the end. Returns the exit statuses."""
        for name in which or reversed(PROCESSES):
            self.signal(name, signal.SIGTERM)
            self.processes[name].wait(timeout=HANG_SECONDS)
        return [self.processes[name].returncode for name in which or PROCESSES]

    def log(self, which):
        with contextlib.suppress(OSError):
            return (self.dir / f"{which}.log").read_text(errors="replace")
        return ""

    def call_cluster(self, *words, config=None, env=None):
        """A command of the operator on this machine."""
        config = config or self.settings / "cluster.toml"
        more = ["--config", str(config)] if words[0] != "join" else []
        return subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.namespace}", str(self.cluster.belljar), "cluster", *map(str, words), *more],
            env=self.environment("operator") | (env or {}), capture_output=True, text=True, timeout=HANG_SECONDS, cwd=self.cluster.dir,
        )  # fmt: skip

    def status(self):
        answer = self.call_cluster("status", "--json")
        assert answer.returncode == 0, answer
        return {f"{m['role']} {m['name']}": m for m in json.loads(answer.stdout)["machines"]}

    # --- requests ---

    def connect(self, timeout=HANG_SECONDS):
        return Connection(self.namespace, timeout)

    def call(self, method, path, body=None, headers=None, timeout=HANG_SECONDS):
        connection = self.connect(timeout)
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        head = {"Authorization": f"Bearer {self.cluster.token}", **(headers or {})}
        if isinstance(body, (dict, list)):
            head["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body=data, headers=head)
            response = connection.getresponse()
            return Reply(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def run(self, code, headers=None, **more):
        return self.call("POST", "/v1/run", {"code": code, **more}, headers)

    def execute(self, session, code):
        return self.call("POST", f"/v1/sessions/{session}/execute", {"code": code})


class Cluster:
    """`with Cluster() as cluster:`; cluster.machines have been joined and run."""

    def __init__(self, count=3, starts=True, engine_settings="", clock=False, jobs_after_s=10):
        self.belljar = Path(os.environ.get("BELLJAR") or ROOT / os.environ.get("BELLJAR_BUILD", "build") / "belljar").resolve()
        self.mark = f"bj{secrets.token_hex(3)}"
        self.net = secrets.randbelow(250) + 1
        self.bridge = f"{self.mark}br"
        self.dir = Path(tempfile.mkdtemp(prefix=f"belljar-cluster-{self.mark}-"))
        self.dir.chmod(0o755)
        self.starts, self.engine_settings, self.with_clock = starts, engine_settings, clock
        self.jobs_after_s = jobs_after_s
        self.clock_library = None
        self.machines = [Machine(self, number) for number in range(1, count + 1)]
        self.by_name = {m.name: m for m in self.machines}

    def __enter__(self):
        try:
            self.make()
            if self.starts:
                self.start()
        except BaseException:
            self.print_logs()
            self.close()
            raise
        return self

    def __exit__(self, kind, *rest):
        if kind and not issubclass(kind, KeyboardInterrupt):
            self.print_logs()
        self.close()

    def make(self):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("link", "set", self.bridge, "up")
        if self.with_clock:
            self.clock_library = self.dir / "clock.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.clock_library, Path(__file__).with_name("clock.c"), "-ldl"], check=True)
        for machine in self.machines:
            machine.make_network()
            machine.dir.mkdir(mode=0o755)
            for part in ("home", "state", "run", "data"):
                (machine.dir / part).mkdir(mode=0o700)
            machine.clock.write_text("0")
            (machine.dir / "config.toml").write_text(
                f'node = "{machine.name}"\ncluster_socket = "{machine.dir}/engine.sock"\nlisten = "127.0.0.1:0"\n'
                f'token_file = "{self.dir}/token"\ntokens_file = "{machine.dir}/tokens.toml"\n'
                + (self.engine_settings or "pool_size = 2\n") + "pool_hot = 0\npreload = []\n"
            )
        self.join()

    def join(self):
        first, *others = self.machines

        def more(m):
            return ["--dir", m.settings, "--socket", m.dir / "engine.sock", "--store", m.dir / "store"]

        self.must(first.call_cluster("join", "--first", "--name", first.name, "--address", first.address, *more(first)))
        for machine in others:
            self.must(first.call_cluster("join", "--add", machine.name, "--address", machine.address, "--dir", first.settings,
                                         "--output", self.dir / f"{machine.name}.join"))  # fmt: skip
        # Each in its turn, with the servers of those before it running.
        for machine in self.machines:
            if machine is not first:
                self.must(machine.call_cluster("join", self.dir / f"{machine.name}.join", *more(machine)))
                shutil.copy(first.settings / "machines.conf", machine.settings / "machines.conf")
            machine.start("server")
            self.wait_server(machine)
        for machine in self.machines:
            # Those that joined before there were three do not know it yet.
            path = machine.settings / "cluster.toml"
            text = path.read_text().replace("replicas = 1", f"replicas = {3 if len(self.machines) >= 3 else 1}")
            path.write_text(text + f"jobs_after_s = {self.jobs_after_s}\n")

    def must(self, answer):
        assert answer.returncode == 0, answer
        return answer

    def wait_server(self, machine):
        def answers():
            with socket_in(machine.namespace) as s:
                return s.connect_ex((machine.address, 4222)) == 0

        wait_until(answers, f"the server of {machine.name}")

    def start(self):
        first = self.machines[0]
        first.start("engine")
        wait_until((self.dir / "token").exists, "the token")
        self.token = (self.dir / "token").read_text().strip()
        for machine in self.machines:
            machine.start()
        self.wait_ready()

    def wait_ready(self, seconds=HANG_SECONDS, sees=None):
        """Until the gateway of each machine has heard of every node, told by the operator of the first."""
        names = {f"{role} {m.name}" for m in self.machines for role in ("node", "gateway")}

        def are_ready():
            try:
                told = (sees or self.machines[0]).status()
            except AssertionError:  # its server does not listen yet
                return False
            return names <= {who for who, m in told.items() if m["state"] in ("ready", "full")}

        wait_until(are_ready, "all nodes and gateways are ready", seconds, 0.2)
        for machine in self.machines:
            wait_until(lambda: machine.run("print(1)").status == 200, f"a run through {machine.name}", seconds, 0.2)

    # --- the end ---

    def processes_left(self):
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if f"BELLJAR_TEST_CLUSTER={self.mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    left.append(int(pid))
        return left

    def print_logs(self):
        for machine in self.machines:
            for which in PROCESSES:
                lines = machine.log(which).splitlines()[-15:]
                if lines:
                    print(f"--- {machine.name} {which}", *lines, sep="\n")

    def close(self):
        for machine in self.machines:
            for process in machine.processes.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not self.processes_left(), "processes end", 10)
        for pid in self.processes_left():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for machine in self.machines:
            subprocess.run(["ip", "netns", "del", machine.namespace], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)


class Background(threading.Thread):
    """A thread whose mistake is not lost."""

    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self.function, self.arguments, self.mistake = function, arguments, None
        self.start()

    def run(self):
        try:
            self.function(*self.arguments)
        except BaseException as mistake:  # noqa: told by end()
            self.mistake = mistake

    def end(self, seconds=HANG_SECONDS):
        self.join(seconds)
        if self.is_alive():
            raise AssertionError(f"{self.function.__name__} hangs")
        if self.mistake:
            raise self.mistake
