"""Bait outside the sandbox: files anybody may read and write, sockets anybody may reach, memory anybody may attach, and a
process that must not be hurt. Only the sandbox can keep a program away from them.
"""
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile

import host

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT = 0o1000
IPC_RMID = 0


def make_granted():
    """A directory that programs with `grant: ro` may read."""
    path = tempfile.mkdtemp(prefix="bjgranted-", dir=host.place_for_grants())
    os.chmod(path, 0o777)
    with open(os.path.join(path, "kept.txt"), "w", encoding="utf-8") as f:
        f.write("kept\n")
    os.chmod(os.path.join(path, "kept.txt"), 0o666)
    return path


class Canary:
    def __init__(self, parent="/var/tmp", uid=None):
        self.token = "bjtoken-" + secrets.token_hex(12)
        self.dir = tempfile.mkdtemp(prefix="bjcanary-", dir=parent)
        self.file = os.path.join(self.dir, "secret.txt")
        self.unix_path = os.path.join(self.dir, "socket")
        self.granted = make_granted()
        self.abstract = os.path.basename(self.dir)
        self.shm_key = secrets.randbelow(1 << 29) | 1 << 29
        self.sockets = []
        self.fill()
        self.listen()
        self.shm = libc.shmget(self.shm_key, 4096, IPC_CREAT | 0o666)
        if self.shm >= 0:
            at = libc.shmat(self.shm, None, 0)
            ctypes.memmove(at, self.token.encode(), len(self.token))
            libc.shmdt(ctypes.c_void_p(at))
        self.victim = subprocess.Popen(["sleep", "100000"], user=uid, stdin=subprocess.DEVNULL)
        self.before = self.digest()

    def fill(self):
        os.chmod(self.dir, 0o777)
        os.makedirs(os.path.join(self.dir, "sub"), exist_ok=True)
        for path in (self.file, os.path.join(self.dir, "sub", "bjcanary-deep.txt")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.token + "\n")
            os.chmod(path, 0o666)

    def listen(self):
        tcp = socket.socket(socket.AF_INET)
        tcp.bind(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        tcp6 = socket.socket(socket.AF_INET6)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", self.port))
        path = socket.socket(socket.AF_UNIX)
        path.bind(self.unix_path)
        os.chmod(self.unix_path, 0o777)
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind("\0" + self.abstract)
        self.sockets = [tcp, udp, path, abstract]
        try:
            tcp6.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            tcp6.bind(("::1", self.port))
            self.sockets.append(tcp6)
        except OSError:
            tcp6.close()  # no IPv6 on this host: then there is nothing to reach either
        for s in self.sockets:
            if s.type == socket.SOCK_STREAM:
                s.listen(64)
            s.setblocking(False)

    def digest(self):
        h = hashlib.sha256()
        for base, dirs, names in sorted([*os.walk(self.dir), *os.walk(self.granted)]):
            for n in sorted(dirs + names):
                path = os.path.join(base, n)
                st = os.lstat(path)
                h.update(f"{path} {st.st_mode} {st.st_uid} {st.st_size} {st.st_mtime_ns}\n".encode())
                if n in names and not n == "socket":
                    with open(path, "rb") as f:
                        h.update(f.read())
        return h.hexdigest()

    def visits(self):
        """Connections and datagrams that arrived since the last call."""
        seen = []
        for s in self.sockets:
            while True:
                try:
                    if s.type == socket.SOCK_STREAM:
                        peer, _ = s.accept()
                        peer.close()
                    else:
                        s.recv(4096)
                except BlockingIOError:
                    break
                seen.append(f"{s.family.name} {s.type.name}")
        return seen

    def complaints(self):
        found = []
        visits = self.visits()
        if visits:
            found.append(f"the listeners were reached: {visits}")
        if self.digest() != self.before:
            names = [os.path.join(b, n) for b, d, f in os.walk(self.dir) for n in d + f]
            found.append(f"the canary directory changed: {names}")
            self.restore()
        if self.victim.poll() is not None:
            found.append(f"the process outside was killed: {self.victim.returncode}")
        return found

    def restore(self):
        for n in os.listdir(self.dir):
            path = os.path.join(self.dir, n)
            if n == "sub":
                shutil.rmtree(path, ignore_errors=True)
            elif path not in (self.file, self.unix_path):
                os.unlink(path)
        shutil.rmtree(self.granted, ignore_errors=True)
        self.granted = make_granted()
        self.fill()
        self.before = self.digest()

    def fill_in(self, text, **more):
        """The placeholders of a program, filled with this canary's values."""
        values = {
            "CANARY_DIR": self.dir,
            "CANARY_FILE": self.file,
            "TCP_PORT": str(self.port),
            "UNIX_SOCKET": self.unix_path,
            "ABSTRACT_SOCKET": self.abstract,
            "SHM_KEY": str(self.shm_key),
            "VICTIM_PID": str(self.victim.pid),
            "HOSTNAME": socket.gethostname(),
            "GRANTS": json.dumps([self.granted]),
            **more,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for s in self.sockets:
            s.close()
        if self.shm >= 0:
            libc.shmctl(self.shm, IPC_RMID, None)
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.granted, ignore_errors=True)
