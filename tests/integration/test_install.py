"""Installation: exactly what was installed is removed again, a moved installation works, and packages say what is true."""
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import belljar
import pytest

BUILD = belljar.program_path().parent
PREFIX = "/usr/local"


def install(destdir, *words, prefix=PREFIX):
    return subprocess.run([belljar.ROOT / "tools/install", *(words or [BUILD]), prefix], cwd=belljar.ROOT, capture_output=True, text=True,
                          env={**os.environ, "DESTDIR": str(destdir)}, timeout=600)  # fmt: skip


def files_in(directory):
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*"))


@pytest.fixture(scope="module")
def installed(base):
    """A copy of this build, installed; in a place that an ordinary user reaches."""
    settings = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", BUILD], text=True))
    if next(option["value"] for option in settings if option["name"] == "prefix") != PREFIX:
        pytest.skip(f"this build has another prefix than {PREFIX}")
    destdir = Path(base) / f"installed-{os.getpid()}"
    destdir.mkdir()
    done = install(destdir)
    assert done.returncode == 0, done
    return destdir


def test_an_installation_is_removed_without_a_trace(installed, tmp_path):
    shutil.copytree(installed, tmp_path / "root", symlinks=True)
    root = tmp_path / "root"
    found = files_in(root / "usr/local")
    for wanted in ("bin/belljar", "libexec/belljar/belljar-zygote", "libexec/belljar/belljar-listener", "libexec/belljar/belljar-broker",
                   "share/belljar/policies/standard.toml", "share/belljar/skills/csv-profile/SKILL.md", "share/belljar/config.toml.sample",
                   "share/bash-completion/completions/belljar", "share/zsh/site-functions/_belljar", "share/fish/vendor_completions.d/belljar.fish",
                   "share/doc/belljar/guide/doctor.md", "lib/systemd/system/belljar.service", "lib/systemd/user/belljar.socket"):  # fmt: skip
        assert wanted in found, wanted
    (root / "usr/local/share/doc/other").mkdir()
    (root / "usr/local/bin/other").write_text("somebody else's")
    removed = install(root, "--remove")
    assert removed.returncode == 0, removed
    assert [path for path in root.rglob("*") if not path.is_dir()] == [root / "usr/local/bin/other"]
    assert (root / "usr/local/share/doc/other").is_dir() and not (root / "usr/local/libexec").exists()
    again = install(root, "--remove")
    assert again.returncode == 1 and "no list of installed files" in again.stderr, again


def test_nothing_at_all_is_left_of_an_installation_alone(installed, tmp_path):
    shutil.copytree(installed, tmp_path / "root", symlinks=True)
    assert install(tmp_path / "root", "--remove").returncode == 0
    assert files_in(tmp_path / "root") == ["usr", "usr/local"]  # the prefix itself is not ours


def test_an_installation_over_an_older_one_removes_what_is_gone(installed, tmp_path):
    shutil.copytree(installed, tmp_path / "root", symlinks=True)
    gone = tmp_path / "root/usr/local/share/belljar/policies/of-an-older-version.toml"
    listed = tmp_path / "root/usr/local/share/belljar/installed"
    gone.write_text("")
    listed.write_text(listed.read_text() + "/usr/local/share/belljar/policies/of-an-older-version.toml\n")
    assert install(tmp_path / "root").returncode == 0
    assert not gone.exists() and "older" not in listed.read_text()
    assert install(tmp_path / "root", "--remove").returncode == 0
    assert files_in(tmp_path / "root") == ["usr", "usr/local"]


def test_a_list_is_not_believed_about_other_places(installed, tmp_path):
    shutil.copytree(installed, tmp_path / "root", symlinks=True)
    listed = tmp_path / "root/usr/local/share/belljar/installed"
    victim = tmp_path / "root/usr/victim"
    victim.write_text("")
    for line in ("/usr/victim", "/usr/local/../victim"):
        text = listed.read_text()
        listed.write_text(f"{text}{line}\n")
        done = install(tmp_path / "root", "--remove")
        assert done.returncode == 1 and "is not below" in done.stderr and victim.exists(), done
        listed.write_text(text)


def call(who, program, *words, **more):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=belljar.HANG_SECONDS, env=who.environment(),
                          **{"cwd": who.home, **who.identity(), **more})  # fmt: skip


def test_a_moved_installation_finds_its_own_parts(who, installed, watch):
    """Wherever it was unpacked, and whatever the current directory has."""
    program = installed / "usr/local/bin/belljar"
    trap = who.directory("trap")
    for name in ("libexec/belljar", "share/belljar/policies", "policies"):
        (trap / name).mkdir(parents=True)
    (trap / "belljar-zygote").write_text("#!/bin/sh\necho trapped >&2\n")
    (trap / "belljar-zygote").chmod(0o755)
    (trap / "bin").mkdir()
    answer = call(who, program, "run", "-c", "print(6 * 7)", cwd=trap / "bin")
    assert (answer.returncode, answer.stdout) == (0, "42\n"), answer
    assert "csv-profile" in call(who, program, "skills", "list", cwd=trap).stdout
    by_link = who.directory("links") / "belljar"
    by_link.symlink_to(program)
    assert call(who, by_link, "run", "-c", "print(1)").stdout == "1\n"


def test_parts_that_others_can_change_are_refused(who, installed):
    """/tmp/bin/belljar does not take /tmp/libexec/belljar, which anybody may have made."""
    prefix = who.directory("open")
    shutil.copytree(installed / "usr/local", prefix, symlinks=True, dirs_exist_ok=True)
    for path in [prefix, *prefix.rglob("*")]:
        if not path.is_symlink():
            who.own(path)
    assert call(who, prefix / "bin/belljar", "run", "-c", "print(1)").stdout == "1\n"
    prefix.chmod(0o1777)
    answer = call(who, prefix / "bin/belljar", "run", "-c", "print(1)")
    assert answer.returncode in (77, 125) and "others can change it" in answer.stderr and "hint: " in answer.stderr, answer
    assert answer.stdout == ""


def test_a_program_cannot_plant_parts_beside_a_moved_program(who, installed):
    """With its prefix granted for writing."""
    prefix = who.directory("prefix")
    shutil.copytree(installed / "usr/local", prefix, symlinks=True, dirs_exist_ok=True)
    for path in [prefix, *prefix.rglob("*")]:
        if not path.is_symlink():
            who.own(path)
    code = (
        "import os\n"
        f"p = {str(prefix)!r}\n"
        "for name in ('libexec/belljar/belljar-zygote', 'libexec/belljar/new', 'share/belljar/policies/standard.toml'):\n"
        "    try:\n"
        "        open(f'{p}/{name}', 'w').write('x'); print('WROTE', name)\n"
        "    except OSError as e:\n"
        "        print('refused', name)\n"
        "try:\n"
        "    os.rename(f'{p}/libexec', f'{p}/old'); print('MOVED')\n"
        "except OSError:\n"
        "    print('refused move')\n"
    )
    answer = call(who, prefix / "bin/belljar", "run", "--profile", "open", "--allow", f"{prefix}:rw", "-c", code)
    assert "WROTE" not in answer.stdout and "MOVED" not in answer.stdout, answer
    assert answer.stdout.count("refused") == 4 or "own" in answer.stderr, answer


# --- what packages say ---


def packages(group):
    rows = [line.split() for line in (belljar.ROOT / "tools/packages").read_text().splitlines() if line and line[0] != "#"]
    return {row[1] for row in rows if row[0] == group}


def field(name):
    text = (belljar.ROOT / "packaging/debian/control").read_text(encoding="utf-8")
    return {word.strip() for word in re.search(rf"^{name}:\n((?: .*\n)+)", text, re.M)[1].replace("\n", "").split(",") if word.strip()}


def test_the_debian_package_needs_what_the_build_needs():
    ready = {"gcc", "g++", "libc6-dev"}  # of every machine that builds packages
    assert {re.sub(r" .*", "", word) for word in field("Build-Depends")} - {"debhelper-compat", "dh-apparmor"} == packages("build") - ready
    assert field("Recommends") == packages("demo")


def test_versions_agree():
    version = re.search(r"^  version: '(.*)',", (belljar.ROOT / "meson.build").read_text(), re.M)[1]
    client = tomllib.loads((belljar.ROOT / "sdk/python/pyproject.toml").read_text())["project"]["version"]
    assert client == version


def test_the_container_refuses_only_calls_that_sandboxes_do_without():
    """Its filter has no call that the supervisor needs, and none that Linux does not know."""
    profile = json.loads((belljar.ROOT / "packaging/container/seccomp.json").read_text(encoding="utf-8"))
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    refused = [name for rule in profile["syscalls"] for name in rule["names"]]
    assert len(refused) == len(set(refused))
    assert not {"clone", "clone3", "unshare", "mount", "pivot_root", "sethostname", "seccomp", "landlock_create_ruleset", "openat2"} & set(refused)
    assert {"bpf", "kexec_load", "init_module", "keyctl", "perf_event_open", "reboot"} <= set(refused)
