"""A run must leave nothing on the host. Snapshots before, comparisons after.

The test process is a child subreaper, so whatever Belljar loses is handed to us by the kernel and can be told from the
processes of anybody else on this machine, also when several tests run side by side.
"""
import ctypes
import os
import re
import select
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36

# How long the kernel and Belljar's janitor may take to clear up after the answer is out.
GRACE_SECONDS = 30

# How often to look again for what tells nobody when it goes: files, mounts, control groups.
LOOK_AGAIN_SECONDS = 0.01


def become_subreaper():
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_CHILD_SUBREAPER")


def is_overlay(path):
    """As the root of a container is. Root's grants are idmapped mounts, which an overlay does not have."""
    return subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True).stdout.strip() == "overlayfs"


def place_for_grants():
    return "/tmp" if is_overlay("/var/tmp") else "/var/tmp"


def read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return default


def process(pid):
    """(parent, state, name), or None if there is no such process."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    comm = text[text.index("(") + 1 : text.rindex(")")]
    state, parent = text[text.rindex(")") + 2 :].split()[:2]
    return int(parent), state, comm


def processes():
    """pid -> (parent, state, name) of everything that lives."""
    found = {int(name): process(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: what for pid, what in found.items() if what}


# A kernel without CONFIG_PROC_CHILDREN does not have the list.
HAS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def children(pid):
    """Of all its threads. Those of our own process are all in it: nobody else takes them off the list."""
    if not HAS_CHILDREN:
        return [child for child, (parent, _, _) in processes().items() if parent == pid]
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def broker_of(pid):
    """The process that writes for the sandbox of a `belljar run`."""
    (broker,) = [child for child in children(pid) if (process(child) or ("", "", ""))[2] == "belljar-broker"]
    return broker


def descendants(root, but=()):
    """Those below a process, without the families of some: pid -> (state, name)."""
    below, todo = {}, [root]
    while todo:
        for pid in children(todo.pop()):
            what = process(pid) if pid not in below and pid not in but else None
            if what:
                below[pid] = what[1:]
                todo.append(pid)
    return below


def command_line(pid):
    return read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def named(name):
    """Processes that carry `name` in their name or command line."""
    hits = []
    for pid, (_, state, comm) in processes().items():
        if state != "Z" and (name in comm or name in command_line(pid)) and pid != os.getpid():
            hits.append((pid, comm))
    return hits


def cgroups():
    """Every control group of ours, in every hierarchy."""
    found = set()
    for line in read("/proc/mounts").splitlines():
        _, where, kind, *_ = line.split()
        if kind not in ("cgroup", "cgroup2"):
            continue
        for base, dirs, _ in os.walk(where):
            found.update(os.path.join(base, d) for d in dirs if d.startswith("belljar"))
    return found


OWN_MOUNT = "bjtest-disk"  # the source of what tests mount themselves, beside which others look for leftovers


def mounts():
    """Of the host. What the kernel mounts by itself when somebody looks is not ours."""
    lines = [re.sub(r"^\d+ \d+ ", "", line) for line in read("/proc/self/mountinfo").splitlines()]
    return sorted(line for line in lines if not re.search(rf" - (tracefs|debugfs|autofs|binfmt_misc|tmpfs {OWN_MOUNT}) ", line))


def ipc():
    return {name: read(f"/proc/sysvipc/{name}") .splitlines()[1:] for name in ("shm", "sem", "msg")}


def files_in(directory, uids):
    """Names right below a shared directory that are ours: by owner, or by name and number. Tools have names of their own."""
    found = set()
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return found
    for entry in entries:
        try:
            owner = entry.stat(follow_symlinks=False).st_uid
        except OSError:
            continue
        # The directory of a supervisor at the level `process`, which other tests may have running.
        supervisor = re.fullmatch(r"belljar-(\d+)-\w{6}", entry.name)
        if supervisor and os.path.exists(f"/proc/{supervisor[1]}"):
            continue
        if owner in uids or re.match(r"\.?belljar[-._]?\d", entry.name):
            found.add(entry.path)
    return found


def wait_for_an_end(pids, seconds):
    """Until one of these processes ends, or the time is over."""
    poll = select.poll()
    descriptors = []
    try:
        for pid in pids:
            try:
                descriptors.append(os.pidfd_open(pid))
            except OSError:  # it has ended
                return
            poll.register(descriptors[-1], select.POLLIN)
        if descriptors:
            poll.poll(seconds * 1000)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


class Watch:
    """Taken before a run; leftovers() afterwards names what was not there before."""

    def __init__(self, private=(), uids=()):
        self.private = [p for p in private if p]
        self.uids = set(uids)
        self.pids = set(descendants(os.getpid()))
        self.seen = self.look()

    def look(self):
        shared = set()
        for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"):
            shared |= files_in(directory, self.uids)
        inside = set()
        for directory in self.private:
            for base, dirs, names in os.walk(directory):
                inside.update(os.path.join(base, n) for n in dirs + names)
        return {"mounts": mounts(), "ipc": ipc(), "shared files": shared, "private files": inside}

    def lost_processes(self):
        """Adopted and still alive. Those that ended are reaped here. A server that was there before may have new children."""
        alive = []
        for pid, (state, comm) in descendants(os.getpid(), but=self.pids).items():
            if state == "Z":
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
                continue
            alive.append((pid, comm, command_line(pid)[:80]))
        return alive

    def leftovers(self, orphan=None, cgroup_owner=None):
        """A list of complaints; empty when the host is as it was."""
        deadline = time.monotonic() + GRACE_SECONDS
        while True:
            complaints = []
            lost = self.lost_processes()
            if lost:
                complaints.append(f"processes left: {lost}")
            if orphan and named(orphan):
                complaints.append(f"orphans left: {named(orphan)}")
            if cgroup_owner:
                left = [g for g in cgroups() if re.search(rf"belljar[-.]{cgroup_owner}\b", g)]
                if left:
                    complaints.append(f"cgroups left: {left}")
            now = self.look()
            for what, before in self.seen.items():
                if what == "mounts":
                    extra = [m for m in now[what] if m not in before]
                elif what == "ipc":
                    extra = [f"{k}: {r}" for k, rows in now[what].items() for r in rows if r not in before[k]]
                    extra = [r for r in extra if self.uids & set(map(int, re.findall(r"\b\d+\b", r)))]
                else:
                    extra = sorted(now[what] - before)
                if extra:
                    complaints.append(f"{what} left: {extra[:5]}")
            if not complaints or time.monotonic() > deadline:
                break
            if lost:
                wait_for_an_end([pid for pid, *_ in lost], max(0, deadline - time.monotonic()))
            else:
                time.sleep(LOOK_AGAIN_SECONDS)
        for pid, *_ in lost if complaints else []:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return complaints
