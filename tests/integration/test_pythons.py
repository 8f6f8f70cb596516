"""The Python of an environment, and refusals of those that Belljar does not have."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

PYTHON = "/usr/bin/python3"
OWN = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True).stdout.strip()


@pytest.fixture
def folder(who):
    """Not where a sandbox has its own files, and open to root's sandboxes."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="bjpythons-", dir="/srv" if os.getuid() == 0 else pathlib.Path.home()))
    made.chmod(0o755)
    who.own(made)
    yield made
    shutil.rmtree(made)


def venv(folder, version=OWN, link=None, home="/usr/bin"):
    """A directory as `python3 -m venv` makes it, as far as Belljar looks at it."""
    packages = folder / "lib" / f"python{version}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "greet.py").write_text("answer = 42\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(link or f"/usr/bin/python{version}")
    (folder / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\nversion = {version}.1\n")
    return folder


PROGRAM = "import greet, subprocess, sys\nprint(greet.answer, sys.version_info[:2])\n" \
    "print(subprocess.run([sys.executable, '-c', 'import greet, json; print(greet.answer)'], capture_output=True, text=True))"


def test_an_environment_of_another_build_of_the_same_python(who, folder):
    """As pyenv and uv make them: linked to an interpreter in a home directory, which no sandbox sees."""
    base = folder / "home" / "versions" / f"{OWN}.99" / "bin"
    base.mkdir(parents=True)
    shutil.copy(os.path.realpath(PYTHON), base / f"python{OWN}")
    made = venv(folder / "venv", link=base / f"python{OWN}", home=base)
    (made / "bin" / "python").symlink_to("python3")
    for name in (made, made / "bin" / "python"):
        ran = who.call("run", "--profile", "open", "--environment", name, "-c", PROGRAM)
        assert ran.code == 0, ran.errors
        assert ran.text.startswith(f"42 ({OWN.replace('.', ', ')})\n")
        assert "returncode=0, stdout='42\\n', stderr=''" in ran.text


def conda(folder):
    (folder / "conda-meta").mkdir(parents=True)
    (folder / "lib" / "python3.12").mkdir(parents=True)
    (folder / "lib" / "python3.12" / "os.py").touch()
    return folder


def installation(folder):
    (folder / "lib" / f"python{OWN}").mkdir(parents=True)
    (folder / "lib" / f"python{OWN}" / "os.py").touch()
    return folder


def damaged(folder):
    venv(folder)
    shutil.rmtree(folder / "lib")
    return folder


@pytest.mark.parametrize(
    "make, said, hint",
    [
        (lambda f: venv(f, "3.99", link=PYTHON), f"is of Python 3.99: this Belljar runs Python {OWN}", "python3.99-dev"),
        (lambda f: venv(f, "3.10", link="/nowhere/python3"), "is of Python 3.10: this Belljar runs Python", f"use Python {OWN}"),
        (lambda f: venv(f, link="/nowhere/python3"), "the interpreter of environment", f"python{OWN} -m venv"),
        (conda, "is a conda environment, not a virtual environment", "belljar environment create"),
        (installation, "is an installation of Python, not a virtual environment", "-m venv DIR"),
        (damaged, f"is damaged: it has no `lib/python{OWN}`", "make it again"),
        (lambda f: (f.mkdir(), f)[1], "is not a Python environment", "-m venv DIR"),
    ],
    ids=["newer", "older", "gone", "conda", "installation", "damaged", "empty"],
)
def test_what_cannot_be_used_is_refused_with_the_reason(who, folder, make, said, hint):
    refused = who.call("run", "--environment", make(folder / "it"), "-c", "print(1)")
    assert refused.code in (66, 69, 125), refused
    assert said in refused.errors and hint in refused.errors, refused.errors


def test_a_python_is_chosen_by_its_version(who):
    ran = who.call("run", "--python", OWN, "-c", "import sys; print(sys.version_info[:2])")
    assert ran.text == f"({OWN.replace('.', ', ')})\n"
    for words, said in [
        (["--python", "3.99"], f"this Belljar runs Python {OWN}"),
        (["--python", "2"], "--python: expected a version such as 3.13, got `2`"),
        (["--python", "3.13.5"], "expected a version such as 3.13"),
        (["--python", OWN, "--environment", "system"], "--python does not work with --environment"),
        (["--environment", "python3.99"], f"this Belljar runs Python {OWN}"),
    ]:
        refused = who.call("run", *words, "-c", "print(1)")
        assert refused.code not in (0, 1) and said in refused.errors, refused


def test_a_server_takes_it_as_an_environment(server):
    assert server.run("print(1)", environment=f"python{OWN}")["stdout"] == "1\n"
    refused = server.post("/v1/run", {"code": "1", "environment": "python3.99"})
    assert refused.status == 501 and "python3.99-dev" in refused.json["error"]["hint"]


OTHERS = [v for v in (f"3.{n}" for n in range(11, 19)) if v != OWN and (pathlib.Path(os.environ.get("BELLJAR", "")).parent / f"belljar-zygote-{v}").exists()]


@pytest.mark.parametrize("version", OTHERS or [pytest.param("none", marks=pytest.mark.skip(reason="this host has one Python only; with pythonX.Y-dev of a second one there is a second zygote"))])
def test_each_other_python_of_the_host_runs(who, folder, version):
    ran = who.call("run", "--python", version, "-c", "import json, sys; print(sys.version_info[:2])")
    assert ran.text == f"({version.replace('.', ', ')})\n", ran.errors
    ran = who.call("run", "--profile", "open", "--environment", venv(folder / "venv", version), "-c", PROGRAM)
    assert ran.text.startswith(f"42 ({version.replace('.', ', ')})\n") and "returncode=0" in ran.text, ran.errors
    refused = who.call("run", "--python", version, "--profile", "strict", "-c", "import subprocess")
    assert refused.code == 126
    ran = who.call("run", "--python", version, "--seed", "7", "-c", "import random; print(random.random())")
    assert ran.code == 0 and ran.text == who.call("run", "--python", version, "--seed", "7", "-c", "import random; print(random.random())").text
