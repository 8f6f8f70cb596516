"""Archives of npm by version and hash, for tools/grammars and tools/console. Nothing of a package is run here."""
import base64
import hashlib
import os
import shutil
import subprocess
import tarfile

BYTES_MAX = 64 << 20  # of what is unpacked of one archive
SECONDS = 300


class Unavailable(Exception):
    """Why they cannot be had here."""


def read_lock(path):
    """Rows of name, version and hash."""
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def archive_name(name, version):
    return f"{name.lstrip('@').replace('/', '-')}-{version}.tgz"


def fetch(packages, directory, first):
    """`first` is the name of a small package: where there is no registry, that is found out once and not for every package."""
    npm = shutil.which("npm")
    if not npm:
        raise Unavailable("npm is not installed")
    command = [npm, "pack", "--ignore-scripts", "--silent", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000", f"--pack-destination={directory}"]
    smallest = [p for p in packages if p[0] == first]
    for some in (smallest, [p for p in packages if p not in smallest]):
        try:
            done = subprocess.run(command + [f"{name}@{version}" for name, version, _ in some], cwd=directory,
                                  capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unavailable("npm did not answer in time") from None
        if done.returncode != 0:
            raise Unavailable("npm cannot fetch the packages")


def check(path, expected, lock):
    with open(path, "rb") as file:
        actual = "sha512-" + base64.b64encode(hashlib.sha512(file.read()).digest()).decode()
    if actual != expected:
        raise SystemExit(f"{os.path.basename(path)} is not what {lock} expects: {actual}")


def unpack(path, directory, wanted):
    """Only plain files whose names the pattern takes; its first group is the name below `directory`."""
    total = 0
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            match = wanted.fullmatch(member.name)
            if not match or not member.isreg():
                continue
            total += member.size
            if total > BYTES_MAX:
                raise SystemExit(f"{os.path.basename(path)} is too large")
            target = os.path.join(directory, match[1])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                shutil.copyfileobj(archive.extractfile(member), file)
