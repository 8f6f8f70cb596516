"""Machines of a cluster in one: a nats-server on loopback, engines, and belljar-cluster for each of them."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid

import belljar
import lifeline
import serving
from serving import wait_until

TOKEN = "bj_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def reason_to_skip():
    """Why no cluster can be tested here, or None."""
    if not shutil.which("nats-server"):
        return "no nats-server: apt-get install nats-server"
    if not os.access(os.path.join(os.path.dirname(belljar.program_path()), "belljar-cluster"), os.X_OK):
        return "belljar-cluster was not built: it needs libnats-dev"
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Nats:
    """One server, which ends by its pid."""

    def __init__(self, directory, *args):
        self.port = free_port()
        self.log = open(directory / f"nats-{self.port}.log", "wb")
        self.args = ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), *args]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        lifeline.hold(self.process.pid)
        wait_until(self.answers, "nats-server answers")

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.kill()
        self.log.close()


class Machine(serving.Server):
    """An engine, and belljar-cluster beside it; calls go to its gateway."""

    def __init__(self, who, name, servers, directory, labels=(), env=None, node=""):
        self.name = name
        self.directory = directory
        self.cluster_socket = directory / "cluster.sock"
        self.who = who
        self.engine_env = {
            "BELLJAR_NODE": name, "BELLJAR_CLUSTER_SOCKET": str(self.cluster_socket), "BELLJAR_PROFILE": "open",
            "BELLJAR_SOCKET": str(directory / "http.sock"), "BELLJAR_TOKEN_FILE": str(directory.parent / "token"),
            "BELLJAR_TOKENS_FILE": str(directory.parent / "tokens.toml"), "XDG_STATE_HOME": str(directory), **(env or {}),
        }  # fmt: skip
        self.start_engine()
        self.token = self.engine.token
        self.settings = directory / "cluster.toml"
        self.settings.write_text(
            f'name = "{name}"\nlog_level = "{os.environ.get("CLUSTER_LOG", "info")}"\n[bus]\nservers = [{", ".join(repr(s) for s in servers)}]\n'
            f'[gateway]\nlisten = ["127.0.0.1:0"]\n[node]\nsocket = "{self.cluster_socket}"\nlabels = {list(labels)}\n{node}'
        )
        self.said = []
        self.start_bus()

    def start_engine(self):
        self.engine = serving.Server(self.who, env=self.engine_env)

    def start_bus(self):
        self.process = self.who.start("cluster", "run", "--config", self.settings, stderr=subprocess.STDOUT)
        self.said = []
        self.port = int(self.wait_for(r"listening on http://127\.0\.0\.1:(\d+)")[1])

    def kill_bus(self):
        self.process.kill()
        self.process.wait()

    def kill_engine(self):
        self.engine.process.kill()
        self.engine.process.wait()

    def stop(self):
        code = 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            code = super().stop()
        if self.engine.process.poll() is None:
            self.engine.stop()
        return code


class Cluster:
    def __init__(self, who, names=("a1", "b2"), labels=None, env=None, nats=(), nodes=None):
        self.directory = who.directory(f"cluster-{uuid.uuid4().hex[:8]}")
        self.nats = Nats(self.directory, *nats)
        self.machines = []
        for name in names:
            directory = self.directory / name
            directory.mkdir(mode=0o700)
            who.own(directory)
            self.machines.append(Machine(who, name, [self.nats.url], directory, (labels or {}).get(name, ()), env, (nodes or {}).get(name, "")))
        self.wait_for_nodes()

    def wait_for_nodes(self):
        """Until every gateway has heard all nodes."""
        for machine in self.machines:
            for other in self.machines:
                wait_until(lambda m=machine, o=other: m.post("/v1/run", {"code": "1"}, headers={"Belljar-Node-Label": o.name}).status == 200,
                           f"{machine.name} knows {other.name}")  # fmt: skip

    def __getitem__(self, name):
        return next(m for m in self.machines if m.name == name)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        codes = [m.stop() for m in self.machines]
        self.nats.stop()
        assert not any(codes), (codes, [m.said for m in self.machines])


def node_of(name):
    """The node that made an id."""
    return re.fullmatch(r"[a-z]+_[0-9A-Z]{26}-([a-z0-9]+)", name)[1]


def sleep_past_loss():
    """Until a node that is silent now counts as lost: the time is the rule that is tested."""
    time.sleep(1.3)
