"""Packages of npm for tests: fetched once, by version, and kept in a build directory."""
import os
import re
import shutil
import subprocess

OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network|E50\d|E403")
SECONDS = 300


class Unavailable(Exception):
    """Why packages cannot be had here."""


def program():
    found = shutil.which("npm")
    if not found:
        raise Unavailable("npm is not installed")
    return found


def install(directory, package, *options):
    """One package and what it needs, once."""
    marker = os.path.join(directory, "installed")
    if os.path.exists(marker):
        with open(marker, encoding="utf-8") as file:
            if file.read() == package:
                return
    npm = program()
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    done = subprocess.run(
        [npm, "install", "--prefix", directory, "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1",
         "--fetch-timeout=60000", *options, package],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode != 0:
        if OFFLINE.search(done.stderr):
            raise Unavailable(f"npm cannot fetch {package.rsplit('/', 1)[-1]}")
        raise RuntimeError(f"npm install {package}:\n{done.stderr}")
    with open(marker, "w", encoding="utf-8") as file:
        file.write(package)
