#!/usr/bin/python3
"""run.py [--build] [--keep DIR] [--cache DIR] [STEP]...: makes the packages on bare machines, and installs, uses, upgrades and removes them on others.

Steps: deb, wheel, npm, container (all without an argument). Each package is made on a bare Debian of its own release; the wheel and
the archive for npm are made on Debian 12, with a zygote for Python 3.13 from Debian 13, and installed without a network on both.
--build only makes them. --keep DIR: packages that are there are taken, others are put there. --cache DIR: of ccache, which
makes it quicker. Needs root, debootstrap and a Debian mirror (tests/lib/bare.py). Exit status 77 where there are none.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import bare  # noqa: E402
import container  # noqa: E402

SUITES = {"bookworm": "12", "trixie": "13"}
# Packages that the archives need on the system: its Python, and on Debian 13 the library of that, which cannot be linked in.
NEEDED = {"bookworm": ["python3"], "trixie": ["python3", "libpython3.13"]}
SOURCE = "/src/belljar"
PROGRAM = "import json; print(sum(range(10)), json.dumps([1]))"
ANSWER = "45 [1]"


def say(text):
    print(text, flush=True)


def packages(*groups):
    """Those of tools/packages that are needed, and lintian."""
    rows = [line.split() for line in (ROOT / "tools/packages").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [row[1] for row in rows if row[0] in groups and (row[2] == "needed" or row[1] == "lintian")]


def checkout(place):
    """The files of this checkout, and what comes from npm where it can be had."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in names.decode().rstrip("\0").split("\0"):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    fetched = subprocess.run([ROOT / "tools/grammars", place / "grammars"], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        say(f"  without grammars: {fetched.stdout.strip()}")
    fetched = subprocess.run([ROOT / "tools/console", "fetch", place / "console-packages"], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        say(f"  without the console: {fetched.stdout.strip()}")


class Builder:
    """A bare machine with what the build needs, and the checkout."""

    def __init__(self, suite, source, cache):
        self.machine = bare.Machine(suite, share={cache: "/ccache"} if cache else None)
        # debhelper gives each build a home of its own, so the cache is named.
        self.settings = f"export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 SOURCE_DATE_EPOCH=1700000000; cd {SOURCE}; " if cache else f"cd {SOURCE}; "
        say(f"  {suite}: installing what the build needs")
        self.machine.install(*packages("build", "package"), "binutils", *(["ccache"] if cache else []))
        self.machine.put(source, SOURCE)

    def make(self, command, output):
        """Runs a command that makes files in /out, without a network, and brings them here."""
        say(f"  {self.machine.suite}: {command}")
        self.machine.check(f"mkdir -p /out; {self.settings}{command}", network=False, timeout=5400)
        for path in (self.machine.place / "upper/out").iterdir():
            shutil.copy(path, output)

    def close(self):
        self.machine.close()


def find(dist, pattern):
    return next(iter(sorted(dist.glob(pattern))), None)


def build(dist, steps, suites, cache):
    """Makes what is missing in `dist`: for each release its .deb, then the archives on the oldest, with the zygotes of the others."""
    zygotes = dist / "zygotes"
    zygotes.mkdir(parents=True, exist_ok=True)
    portable = [step for step in ("wheel", "npm") if step in steps and not find(dist, {"wheel": "*.whl", "npm": "*.tgz"}[step])]
    with tempfile.TemporaryDirectory(prefix="belljar-source-") as source:
        for suite, release in reversed(SUITES.items()):
            needs_deb = "deb" in steps or ("container" in steps and suite == "bookworm")
            debs = needs_deb and suite in suites and not find(dist, f"belljar_*~deb{release}_*.deb")
            last = suite == "bookworm"
            needs_zygote = bool(portable) and not last and not find(zygotes, "belljar-zygote-*")
            if not debs and not needs_zygote and not (last and portable):
                continue
            if not any(Path(source).iterdir()):
                checkout(Path(source))
            builder = Builder(suite, source, cache)
            try:
                if debs:
                    builder.make("tools/deb /out", dist)
                if needs_zygote:
                    builder.make("rm -rf /out/* && tools/portable zygote /out", zygotes)
                for step in portable if last else ():
                    if not (builder.machine.place / "upper/zygotes").exists():
                        builder.machine.put(zygotes, "/zygotes")
                    builder.make(f"rm -rf /out/* && tools/portable {step} /out --add /zygotes", dist)
            finally:
                builder.close()


# --- using an installed Belljar ---


def use(machine, program, user="root"):
    """A program in a sandbox, a session of Bash, a skill, the manual of the host: the parts of an installation one after the other."""
    out = machine.check(f'{program} run -c "{PROGRAM}"', user=user, network=False)
    assert out.strip() == ANSWER, out
    out = machine.check(f"{program} run -l bash -c 'echo $((6 * 7)); id -u'", user=user, network=False)
    assert out.startswith("42\n"), out
    out = machine.check(f"{program} run --profile strict -c 'import socket' || echo refused", user=user, network=False)
    assert "refused" in out, out
    assert "csv-profile" in machine.check(f"{program} skills list", user=user, network=False)
    out = machine.check(f"{program} doctor", user=user, network=False)
    assert re.search(r"\b[A-D]\b", out), out
    served = f"""{program} serve --listen 127.0.0.1:0 --socket $HOME/s.sock >$HOME/serve.log 2>&1 & pid=$!
        for i in $(seq 300); do [ -S $HOME/s.sock ] && break; sleep 0.1; done
        {program} run --server unix:$HOME/s.sock -c "{PROGRAM}"; code=$?; kill $pid; wait $pid; exit $code"""
    out = machine.check(served, user=user, network=False)
    assert ANSWER in out, out


def leftovers(machine, *places):
    """Files with our name in these places."""
    return machine.check(f"find {' '.join(places)} -iname '*belljar*' 2>/dev/null || true").split()


# --- the steps ---


def older(machine, deb):
    """Makes the package again as version 0.0.1, with one file more."""
    machine.check(f"""cd /tmp && dpkg-deb -R {deb} old && sed -i 's/^Version: .*/Version: 0.0.1-1/' old/DEBIAN/control &&
        echo old >old/usr/share/belljar/gone-later && dpkg-deb --root-owner-group -Zgzip -z1 -b old /old.deb""")


def test_deb(dist, suite):
    deb = find(dist, f"belljar_*~deb{SUITES[suite]}_*.deb")
    with bare.Machine(suite) as machine:
        machine.put(deb, "/belljar.deb")
        machine.check("apt-get -q update")
        older(machine, "/belljar.deb")
        machine.check("apt-get -q -y install --no-install-recommends /old.deb")
        machine.check("mkdir -p /etc/belljar && echo 'timeout_s = 20' >/etc/belljar/config.toml")
        use(machine, "belljar")
        machine.check("apt-get -q -y install --no-install-recommends /belljar.deb")
        assert "0.0.1" not in machine.check("dpkg-query -W belljar")
        assert not machine.run("test -e /usr/share/belljar/gone-later").returncode == 0, "a file of the older version is left"
        assert "20" in machine.check("belljar config timeout_s")
        for user in ("root", bare.USER):
            use(machine, "belljar", user)
        listed = machine.check("dpkg -L belljar").split()
        for wanted in ("/usr/bin/belljar", "/usr/share/bash-completion/completions/belljar", "/usr/share/zsh/vendor-completions/_belljar",
                       "/usr/share/fish/vendor_completions.d/belljar.fish", "/usr/share/man/man1/belljar-run.1.gz"):  # fmt: skip
            assert wanted in listed, wanted
        assert any(name.endswith("systemd/system/belljar.socket") for name in listed), listed
        assert "belljar" in machine.check("getent passwd belljar")
        assert "Static-Built-Using: " in machine.check("dpkg-query -s belljar")
        machine.check("apt-get -q -y purge belljar")
        left = set(leftovers(machine, "/usr", "/etc", "/lib")) - {"/etc/belljar"}
        assert not left, left
        assert machine.check("cat /etc/belljar/config.toml") == "timeout_s = 20\n"


def test_wheel(dist, suite):
    wheel = find(dist, "*.whl")
    inside = f"/{wheel.name}"
    with bare.Machine(suite) as machine:
        machine.install(*NEEDED[suite], "python3-venv", "python3-pip", "pipx")
        machine.put(wheel, inside)
        for user in ("root", bare.USER):
            home = "/root" if user == "root" else f"/home/{user}"
            install = f"python3 -m venv {home}/venv && {home}/venv/bin/pip install --no-index {inside}"
            machine.check(install, user=user, network=False)
            use(machine, f"{home}/venv/bin/belljar", user)
            machine.check(f"cd / && {home}/venv/bin/python -c 'import belljar_client'", user=user, network=False)
            machine.check(f"{home}/venv/bin/pip install --no-index --force-reinstall {inside}", user=user, network=False)
            use(machine, f"{home}/venv/bin/belljar", user)
            machine.check(f"{home}/venv/bin/pip uninstall -y belljar", user=user, network=False)
            assert not leftovers(machine, f"{home}/venv/bin", f"{home}/venv/lib", f"{home}/venv/libexec", f"{home}/venv/share"), "left behind"
        machine.check(f"pip install --user --break-system-packages --no-index {inside}", user=bare.USER, network=False)
        use(machine, f"/home/{bare.USER}/.local/bin/belljar", bare.USER)
        machine.check("pip uninstall --break-system-packages -y belljar", user=bare.USER, network=False)
        # A new pipx renews its own pip first; Debian's is in that folder.
        machine.check(f"PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels pipx install {inside}", user=bare.USER, network=False)
        use(machine, f"/home/{bare.USER}/.local/bin/belljar", bare.USER)


def test_npm(dist, suite):
    archive = find(dist, "*.tgz")
    with bare.Machine(suite) as machine:
        machine.install(*NEEDED[suite], "nodejs", "npm")
        machine.put(archive, "/belljar.tgz")
        for user in ("root", bare.USER):
            out = machine.check(f'mkdir -p npx && cd npx && npx --yes --offline --package=/belljar.tgz belljar run -c "{PROGRAM}"', user=user, network=False)
            assert ANSWER in out, out
            machine.check("mkdir -p p && cd p && echo '{}' >package.json && npm install --offline /belljar.tgz", user=user, network=False)
            use(machine, "$HOME/p/node_modules/.bin/belljar", user)
            machine.check("cd p && node --input-type=module -e 'import { Client } from \"belljar\"; new Client()'", user=user, network=False)
            machine.check("cd p && npm uninstall belljar && ! test -e node_modules/belljar", user=user, network=False)


def test_container(dist, suite):
    container.test(find(dist, f"belljar_*~deb{SUITES[suite]}_*.deb"), suite)


def main(arguments):
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--cache", metavar="DIR")
    parser.add_argument("--suite", action="append", choices=list(SUITES))
    parser.add_argument("step", nargs="*", choices=["deb", "wheel", "npm", "container", []])
    options = parser.parse_args(arguments)
    suites = options.suite or list(SUITES)
    steps = options.step or ["deb", "wheel", "npm", "container"]
    tests = {"deb": test_deb, "wheel": test_wheel, "npm": test_npm, "container": test_container}
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="belljar-packages-") as temporary:
        dist = options.keep or Path(temporary)
        try:
            build(dist, steps, suites, options.cache)
            for step in [] if options.build else steps:
                for suite in ["bookworm"] if step == "container" else suites:
                    say(f"  {step} on {suite}")
                    try:
                        tests[step](dist, suite)
                        passed += 1
                    except AssertionError as problem:
                        failed += 1
                        say(f"FAILED {step} on {suite}: {problem}")
        except bare.Unavailable as reason:
            print(f"skipped: {reason}")
            return 77
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
