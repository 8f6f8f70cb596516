#!/usr/bin/python3
"""run.py [--screenshots DIRECTORY] BUILD: the web console in Debian's chromium, against `belljar serve`.

playwright-core, axe-core and TypeScript come from npm, by version and hash (packages.lock), and are kept in BUILD/console-tests. First the
types of console/ and the tests of its pure functions, then the browser (browser.test.mjs). --screenshots writes pictures of every page in
both themes, and tests nothing.

Ends with "N passed, N failed, N skipped"; exit status 0, 1, or 77 where something cannot be had, with the reason.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/console"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

import npm_archives  # noqa: E402

WANTED = re.compile(r"package/((?:[\w.-]+/)*[\w.-]+)")
SECONDS = 600


class Unavailable(Exception):
    """Why the tests cannot run here."""


def fetch(place):
    """Once for each lock file."""
    packages = npm_archives.read_lock(HERE / "packages.lock")
    marker = place / "lock"
    if marker.exists() and marker.read_text(encoding="utf-8") == repr(packages):
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="bjconsole-npm-") as archives:
        npm_archives.fetch(packages, archives, "axe-core")
        for name, version, expected in packages:
            archive = os.path.join(archives, npm_archives.archive_name(name, version))
            npm_archives.check(archive, expected, "tests/console/packages.lock")
            npm_archives.unpack(archive, place / "node_modules" / name, WANTED)
    marker.write_text(repr(packages), encoding="utf-8")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False, **options)


def check_types(build, place):
    """The sources where they find the packages that they import."""
    copy = place / "types"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copytree(ROOT / "console/src", copy / "src")
    shutil.copy(ROOT / "console/tsconfig.json", copy)
    (copy / "node_modules").symlink_to(build / "console-packages/node_modules")
    done = run("node", place / "node_modules/typescript/bin/tsc", "-p", copy)
    line = "ok types\n" if done.returncode == 0 else "not ok types\n"
    print(done.stdout + line, end="")
    return line


def main(arguments):
    pictures = None
    if arguments[:1] == ["--screenshots"]:
        pictures, arguments = os.path.abspath(arguments[1]), arguments[2:]
    build = Path(arguments[0] if arguments else "build").resolve()
    place = build / "console-tests"
    try:
        if not (build / "console-packages/files").exists():
            raise Unavailable("this build has no console")
        if not Path("/usr/bin/chromium").exists():
            raise Unavailable("chromium is not installed")
        fetch(place)
    except (Unavailable, npm_archives.Unavailable) as reason:
        print(f"skipped: {reason}")
        return 77
    if pictures:
        done = run("node", HERE / "screenshots.mjs", build, place, pictures)
        print(done.stdout, end="")
        return done.returncode
    output = []
    output.append(check_types(build, place))
    unit = run("node", "--test", "--test-reporter=tap", HERE / "unit")
    output.append(re.sub(r"(?m)^    .*\n", "", unit.stdout))
    browser = subprocess.Popen(["node", str(HERE / "browser.test.mjs"), str(build), str(place), *arguments[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in browser.stdout:
        print(line, end="", flush=True)
        output.append(line)
    text = "\n".join(output)
    passed = len(re.findall(r"(?m)^ok ", text))
    failed = len(re.findall(r"(?m)^not ok ", text)) + (unit.returncode != 0 and "not ok" not in unit.stdout)
    if browser.wait(timeout=SECONDS) != 0 and not failed:
        failed = 1
    if unit.returncode != 0:
        print(unit.stdout)
    skipped = len(re.findall(r"(?m)^skipped ", text))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
