"""The other programs, and how each is asked to run a piece of Python.

A peer starts an interpreter for every program; Belljar keeps a warm one and forks it. That difference is what is measured,
and not the price of isolation alone.
"""
import json
import os
import shutil
import subprocess

PYTHON = "/usr/bin/python3"

# One thread for linear algebra everywhere: starting more would measure the number of cores.
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# Debian's libblas is found through here; without it numpy does not import.
ALTERNATIVES = "/etc/alternatives"

# crun gives up on hosts with both versions of cgroups, even when told to leave them alone. It gets a mount namespace in which
# there are none. That is done once, before the clock runs.
NO_CGROUPS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]


class Peer:
    def __init__(self, name, command, isolation, wrap=(), share=1.0):
        self.name = name
        self.command = command  # (code) → argument vector
        self.isolation = isolation
        self.wrap = list(wrap)  # put before the timer
        self.share = share  # of the usual number of samples: slow ones get fewer


def bubblewrap(code):
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in THREADS.items():
        argv += ["--setenv", name, value]
    argv += ["--ro-bind", "/usr", "/usr", "--ro-bind", ALTERNATIVES, ALTERNATIVES]
    for name in ("bin", "lib", "lib64"):
        argv += ["--symlink", f"usr/{name}", f"/{name}"]
    argv += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL", "--chdir", "/tmp"]
    return argv + [PYTHON, "-c", code]


def bundle(folder, code):
    """An OCI bundle: a read-only root with the system's /usr in it, no network, no capability."""
    root = os.path.join(folder, "rootfs")
    for name in ("usr", "etc/alternatives", "proc", "dev", "tmp"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for name in ("bin", "lib", "lib64"):
        os.symlink(f"usr/{name}", os.path.join(root, name))
    config = {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "peer",
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": [PYTHON, "-c", code],
            "cwd": "/tmp",
            "env": ["PATH=/usr/bin:/bin"] + [f"{name}={value}" for name, value in THREADS.items()],
            "noNewPrivileges": True,
            "capabilities": {name: [] for name in ("bounding", "effective", "permitted")},
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
            {"destination": ALTERNATIVES, "type": "bind", "source": ALTERNATIVES, "options": ["rbind", "ro"]},
        ],
        "linux": {"namespaces": [{"type": name} for name in ("pid", "network", "ipc", "uts", "mount")]},
    }
    if os.geteuid() != 0:
        config["linux"]["namespaces"].append({"type": "user"})
        for kind, number in (("uidMappings", os.geteuid()), ("gidMappings", os.getegid())):
            config["linux"][kind] = [{"containerID": 0, "hostID": number, "size": 1}]
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)


class Containers:
    """Bundles in a folder, one per program."""

    def __init__(self, folder):
        self.folder = folder
        self.bundles = {}

    def of(self, code):
        if code not in self.bundles:
            path = os.path.join(self.folder, f"bundle{len(self.bundles)}")
            os.makedirs(path)
            bundle(path, code)
            self.bundles[code] = path
        return self.bundles[code]

    def crun(self, code):
        state = os.path.join(self.folder, "crun")
        return ["crun", "--root", state, "--cgroup-manager=disabled", "run", "--bundle", self.of(code), "{n}"]

    def runsc(self, code):
        state = os.path.join(self.folder, "runsc")
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        return ["runsc", "--root", state, "--platform=ptrace", "--network=none", "--ignore-cgroups", *rootless,
                "run", "--bundle", self.of(code), "{n}"]  # fmt: skip


def all_peers(belljar, folder):
    """The first two are what everything is compared with."""
    containers = Containers(folder)
    hybrid = os.geteuid() == 0 and os.path.isdir("/sys/fs/cgroup/unified")
    return [
        Peer("bubblewrap", bubblewrap, "namespaces, no capabilities"),
        Peer("python3", lambda code: [PYTHON, "-c", code], "none"),
        Peer("belljar run", lambda code: [belljar, "run", "-c", code], "Belljar, no server"),
        Peer("crun", containers.crun, "OCI container", NO_CGROUPS if hybrid else ()),
        Peer("gVisor", containers.runsc, "kernel in user space (ptrace)", share=0.25),
    ]


class Timer:
    def __init__(self, program):
        self.program = program

    def run(self, peer, code, expect, **options):
        """One window. Failed runs are counted by the timer; a timer that fails is an error."""
        argv = peer.wrap + [self.program, "--expect", expect]
        for name, value in options.items():
            argv += [f"--{name}", str(value)]
        done = subprocess.run(argv + ["--"] + peer.command(code), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, env=dict(os.environ, **THREADS))  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr) or f"exit status {done.returncode}")
        answer = json.loads(done.stdout)
        answer["stderr"] = last_line(done.stderr)
        return answer


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def usable(peer, timer):
    """None, or why not."""
    if not shutil.which(peer.command("")[0]):
        return "not installed"
    try:
        answer = timer.run(peer, "print(1)", "1\n", runs=1)
    except RuntimeError as error:
        return str(error)
    return answer["stderr"] or "it does not print what it should" if answer["failed"] else None


# --- memory ---


def children(root):
    """The process and everything below it."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, new = {root}, {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def pss_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def idle_mb(peer, setup, count):
    """PSS per idle program, with `count` of them alive: all processes of each, pages shared between them divided."""
    code = f"{setup}; print('ready', flush=True); import sys; sys.stdin.read()"
    alive = []
    try:
        for _ in range(count):
            alive.append(subprocess.Popen(peer.command(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          env=dict(os.environ, **THREADS)))  # fmt: skip
        for process in alive:
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{peer.name} did not start")
        return sum(pss_mb(pid) for process in alive for pid in children(process.pid)) / count
    finally:
        for process in alive:
            process.stdin.close()
            process.stdout.close()
            process.wait()
