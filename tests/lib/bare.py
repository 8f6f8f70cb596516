#!/usr/bin/python3
"""bare.py SUITE [--user] [--offline] COMMAND: runs a shell command on a bare Debian of that suite, which is thrown away afterwards.

A bare machine is what debootstrap makes (minbase) and nothing else, behind an overlay, in namespaces of its own. The kernel is
that of this host. It needs root, debootstrap and a mirror: the first of this host's apt sources. What debootstrap made is kept
in $XDG_CACHE_HOME/belljar-bare (~/.cache) and used again. The current directory is not shown; Machine.put() copies files in.
"""
import argparse
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "belljar-bare"
USER = "ada"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# Runs inside of new namespaces, with the places as arguments; ends in the bare machine.
ENTER = r"""
set -e
ip link set lo up 2>/dev/null || true
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=0755 tmpfs run
for pair in $5; do
    mkdir -p "./${pair#*:}"
    mount --bind "${pair%%:*}" "./${pair#*:}"
done
mkdir -p old
pivot_root . old
cd /
umount -l old
rmdir old
hostname bare
[ "$3" = root ] || exec setpriv --reuid="$3" --regid="$3" --init-groups env HOME="/home/$3" USER="$3" /bin/sh -c 'cd && exec /bin/sh -c "$1"' sh "$4"
cd /root
exec /bin/sh -c "$4"
"""


class Unavailable(Exception):
    """Why there are no bare machines here."""


def mirror():
    """The first place that this host gets Debian's packages from."""
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")) + ["/etc/apt/sources.list"]:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError:
            continue
        for found in re.finditer(r"^(?:URIs:\s*|deb\s+(?:\[[^]]*\]\s*)?)(\S+)", text, re.MULTILINE):
            if "debian" in found[1]:
                return found[1]
    raise Unavailable("no Debian mirror in /etc/apt")


def apt_settings(base, suite, source):
    """Sets the mirror, and copies this host's way to it (a proxy and its certificate)."""
    for name in ("sources.list", "sources.list.d/debian.sources"):
        (base / "etc/apt" / name).unlink(missing_ok=True)
    (base / "etc/apt/sources.list.d/debian.sources").write_text(
        f"Types: deb\nURIs: {source}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n", encoding="utf-8")  # fmt: skip
    for path in glob.glob("/etc/apt/apt.conf.d/99*"):
        shutil.copy(path, base / "etc/apt/apt.conf.d")
    for path in ("/usr/local/share/ca-certificates", "/etc/ssl/certs"):
        if os.path.isdir(path):
            (base / path[1:]).mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", f"{path}/.", base / path[1:]], check=True)


def base(suite):
    """The directory of a bare system; made when it is not there."""
    if os.geteuid() != 0:
        raise Unavailable("a bare machine takes root")
    if not shutil.which("debootstrap"):
        raise Unavailable("debootstrap is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    done = CACHE / suite
    with open(CACHE / f"{suite}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            part, source = CACHE / f"{suite}.part", mirror()
            shutil.rmtree(part, ignore_errors=True)
            # One that is newer than this debootstrap is made as `sid` is.
            script = "/usr/share/debootstrap/scripts/" + suite
            scripts = [] if os.path.exists(script) else [os.path.join(os.path.dirname(script), "sid")]
            # In a mount namespace of its own: tests that run beside it look for mounts that were left behind.
            made = subprocess.run(["unshare", "--mount", "--propagation=private",
                                   "debootstrap", "--variant=minbase", "--include=ca-certificates", suite, part, source, *scripts],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
            if made.returncode != 0:
                raise Unavailable(f"debootstrap {suite}: {made.stdout.strip().splitlines()[-1:]}")
            apt_settings(part, suite, source)
            subprocess.run(["chroot", part, "useradd", "-m", "-s", "/bin/bash", USER], check=True)
            part.rename(done)
    return done


class Machine:
    """A bare machine that keeps what is done to it until it is closed. `with Machine("trixie") as m: m.run("…")`"""

    def __init__(self, suite, share=None):
        """`share` are directories of this host that are shown: {path: where}; such as a compiler's cache."""
        self.suite = suite
        self.share = " ".join(f"{path}:{where}" for path, where in (share or {}).items())
        self.base = base(suite)
        self.place = Path(tempfile.mkdtemp(prefix="machine-", dir=CACHE))
        for name in ("upper", "work", "root"):
            (self.place / name).mkdir()
        os.chmod(self.place / "upper", 0o755)
        for path in ("/etc/resolv.conf", "/etc/hosts"):
            if os.path.exists(path):
                self.put(os.path.realpath(path), path)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def put(self, path, where, owner=None):
        """Copies a file or a folder to an absolute path inside."""
        target = self.place / "upper" / where.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, target, symlinks=True)
        else:
            shutil.copy(path, target)
        if owner:
            self.check(f"chown -R {owner}: {where}")

    def get(self, where, path):
        """Copies a file out that was made inside."""
        shutil.copy(self.place / "upper" / where.lstrip("/"), path)

    def run(self, command, user="root", network=True, timeout=1800, capture=True):
        """A CompletedProcess of `sh -c command`, with both outputs in stdout."""
        unshare = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--propagation=private"]
        if not network:
            unshare.append("--net")
        env = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive", "CI": "true"}
        return subprocess.run([*unshare, "/bin/sh", "-c", ENTER, "enter", self.base, self.place, user, command, self.share],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if capture else None,
                              stderr=subprocess.STDOUT if capture else None, text=True, errors="replace", timeout=timeout, check=False)  # fmt: skip

    def check(self, command, **options):
        """Its output; fails with it if the command does."""
        done = self.run(command, **options)
        if done.returncode != 0:
            raise AssertionError(f"{self.suite}: `{command}` ended with {done.returncode}:\n{(done.stdout or '')[-6000:]}")
        return done.stdout

    def install(self, *packages):
        """Debian packages, or files of packages by their paths inside."""
        self.check("apt-get -q update && apt-get -q -y install --no-install-recommends " + " ".join(packages))


def main(arguments):
    parser = argparse.ArgumentParser(prog="bare.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="bookworm, trixie, forky, sid")
    parser.add_argument("--user", action="store_true", help=f"as the ordinary user `{USER}`, not as root")
    parser.add_argument("--offline", action="store_true", help="without a network")
    parser.add_argument("--put", action="append", default=[], metavar="PATH:WHERE", help="copy a file or folder in first")
    parser.add_argument("command")
    options = parser.parse_args(arguments)
    try:
        with Machine(options.suite) as machine:
            user = USER if options.user else "root"
            for pair in options.put:
                path, _, where = pair.partition(":")
                machine.put(path, where, owner=user)
            return machine.run(options.command, user=user, network=not options.offline, capture=False, timeout=None).returncode
    except Unavailable as reason:
        print(f"bare.py: {reason}", file=sys.stderr)
        return 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
