"""Environments: made from wheels, checked by hash, found by every door, and never half."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import zipfile

import pytest

import serving
from hosts import Host


def wheel(folder, name, version, files, needs=()):
    """A package as pip installs it, by hand."""
    info = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {n}\n" for n in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        lines = []
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(text)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n")


@pytest.fixture
def wheels(who):
    folder = who.directory("wheels")
    wheel(folder, "greet", "1.0", {"greet/__init__.py": "import tool\ndef hi(): return tool.answer\n"}, ["tool"])
    wheel(folder, "tool", "2.0", {"tool.py": "answer = 42\n"})
    wheel(folder, "subprocess", "9.9", {"subprocess.py": "raise SystemExit('shadowed')\n"})
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


@pytest.fixture
def place(who):
    """The directory of this test's environments: not where a sandbox has its own files, and open to root's sandboxes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bjdata-", dir="/srv" if os.getuid() == 0 else pathlib.Path.home()))
    folder.chmod(0o755)
    who.own(folder)
    yield {"XDG_DATA_HOME": str(folder)}
    shutil.rmtree(folder)


def create(who, place, name, *args):
    return who.call("environment", "create", name, *args, env=place)


def test_made_listed_shown_used_and_removed(who, place, wheels):
    made = create(who, place, "lake", "--with", "greet", "--wheels", wheels)
    assert made.code == 0, made
    assert made.text == "lake: ready; use it with `belljar run --environment lake`\n"
    manifest = json.loads(who.call("environment", "show", "lake", env=place).text)
    assert [(p["name"], p["version"]) for p in manifest["packages"]] == [("greet", "1.0"), ("tool", "2.0")]
    assert manifest["modules"] == manifest["preload"] == ["greet"]
    digest = hashlib.sha256((wheels / "tool-2.0-py3-none-any.whl").read_bytes()).hexdigest()
    assert manifest["packages"][1]["sha256"] == digest
    assert json.loads(who.call("environment", "list", "--json", env=place).text) == [manifest]
    for profile in ("strict", "standard", "open"):
        used = who.call("run", "--environment", "lake", "--profile", profile, "-c", "import greet, numpy; print(greet.hi())", env=place)
        assert used.text == "42\n", used
    refused = who.call("run", "--environment", "lake", "--profile", "strict", "-c", "import tool", env=place)
    assert refused.code == 126, "what a package needs is not what was asked for"
    elsewhere = who.call("run", "-c", "import greet", env=place)
    assert elsewhere.code == 1 and b"ModuleNotFoundError: No module named 'greet'" in elsewhere.err, elsewhere
    assert create(who, place, "lake", "--with", "tool", "--wheels", wheels).code == 64
    assert create(who, place, "sea", "--with", "tool", "--wheels", wheels / "nowhere").code == 66
    assert who.call("environment", "rm", "lake", env=place).code == 0
    assert who.call("run", "--environment", "lake", "-c", "1", env=place).code == 66
    assert who.call("environment", "rm", "lake", env=place).code == 66


def test_a_granted_directory_beside_it(who, place, wheels):
    """The directories of the template stay, and the grant finds room next to it, at any depth; nothing else can be written."""
    assert create(who, place, "lake", "--with", "tool", "--wheels", wheels).code == 0
    home = pathlib.Path(place["XDG_DATA_HOME"])
    granted = [home / "data", home / "belljar" / "more", home / "a" / "b"]
    for folder in granted:
        folder.mkdir(parents=True)
        (folder / "in.txt").write_text(folder.name)
        (folder / "in.txt").chmod(0o644)
        folder.chmod(0o755)
    (home / "a").chmod(0o755)
    code = f"""
import pathlib
import tool
print(tool.answer, *[(pathlib.Path(path) / "in.txt").read_text() for path in {[str(g) for g in granted]!r}])
print(*sorted(entry.name for entry in pathlib.Path({str(home)!r}).iterdir()))
for path in ("/", {str(home.parent)!r}, {str(home)!r}, {str(home / "belljar")!r}, {str(home / "data")!r}):
    try:
        pathlib.Path(path, "new").write_text("")
    except OSError:
        continue
    print("written:", path)
"""
    words = [word for folder in granted for word in ("--allow", str(folder))]
    used = who.call("run", "--environment", "lake", *words, "-c", code, env=place)
    assert used.text == "42 data more b\na belljar data\n", used


def test_a_lock_makes_the_same_one_and_another_hash_none(who, place, wheels):
    assert create(who, place, "one", "--with", "greet", "--wheels", wheels).code == 0
    folder = pathlib.Path(place["XDG_DATA_HOME"]) / "belljar" / "environments"
    lock = folder / "one" / "requirements.lock"
    copy = who.directory("locks") / "lock.txt"
    copy.write_text(lock.read_text())
    copy.chmod(0o644)
    assert create(who, place, "two", "--lock", copy, "--wheels", wheels).code == 0
    assert who.call("run", "--environment", "two", "-c", "import greet; print(greet.hi())", env=place).text == "42\n"
    wheel(wheels, "tool", "2.0", {"tool.py": "answer = 'changed'\n"})
    failed = create(who, place, "three", "--lock", copy, "--wheels", wheels)
    assert failed.code != 0 and "DO NOT MATCH" in failed.errors, failed
    assert not (folder / "three").exists(), "nothing is left of what could not be made"


def installed(who, place, name):
    return {p["name"]: p["version"] for p in json.loads(who.call("environment", "show", name, env=place).text)["packages"]}


def test_packages_of_a_file(who, place, wheels):
    path = who.directory("lists") / "requirements.txt"
    path.write_text("# what we need\r\n\n  greet >= 1.0  # this one\ntool==2.0; python_version >= '3.11'\n")
    path.chmod(0o644)
    made = create(who, place, "lake", "-r", path, "--wheels", wheels)
    assert made.code == 0, made
    assert installed(who, place, "lake") == {"greet": "1.0", "tool": "2.0"}
    for line, said in [
        ("-e .", ":2: expected a package, got `-e .`"),
        ("--index-url http://127.0.0.1:1", ":2: expected a package"),
        ("greet @ file:///etc/passwd", ":2: expected a package"),
        ("./greet", ":2: expected a package"),
        ("greet==1.0 --hash=sha256:00", "name the file with --lock"),
        ("greet \\", ":2: expected a package"),
    ]:
        path.write_text(f"tool\n{line}\n")
        refused = create(who, place, "sea", "-r", path, "--wheels", wheels)
        assert refused.code == 64 and said in refused.errors, (line, refused)
    assert create(who, place, "sea", "-r", path.parent / "none", "--wheels", wheels).code != 0


def test_added_to_and_updated(who, place, wheels):
    assert create(who, place, "lake", "--with", "tool", "--bare", "--wheels", wheels).code == 0
    added = who.call("environment", "add", "lake", "greet", "--wheels", wheels, env=place)
    assert added.code == 0 and added.text.startswith("+ greet 1.0\n"), added
    assert who.call("run", "--environment", "lake", "-c", "import greet; print(greet.hi())", env=place).text == "42\n"
    manifest = json.loads(who.call("environment", "show", "lake", env=place).text)
    assert sorted(manifest["requested"]) == ["greet", "tool"] and manifest["bare"]
    wheel(wheels, "tool", "3.0", {"tool.py": "answer = 43\n"})
    (wheels / "tool-3.0-py3-none-any.whl").chmod(0o644)
    updated = who.call("environment", "update", "lake", "--wheels", wheels, env=place)
    assert updated.code == 0 and updated.text.startswith("~ tool 2.0 -> 3.0\n"), updated
    assert who.call("run", "--environment", "lake", "-c", "import greet; print(greet.hi())", env=place).text == "43\n"
    listed = who.call("environment", "list", env=place).text
    assert listed.startswith("lake") and "2 installed" in listed and "Python 3." in listed
    folder = pathlib.Path(place["XDG_DATA_HOME"]) / "belljar" / "environments"
    assert [entry.name for entry in folder.iterdir()] == ["lake"]


def test_what_cannot_be_added_leaves_it_as_it_was(who, place, wheels):
    assert create(who, place, "lake", "--with", "greet", "--wheels", wheels).code == 0
    failed = who.call("environment", "add", "lake", "no-such-package", "--wheels", wheels, env=place)
    assert failed.code != 0 and "the environment `lake` is as it was" in failed.errors, failed
    assert who.call("run", "--environment", "lake", "-c", "import greet; print(greet.hi())", env=place).text == "42\n"
    assert installed(who, place, "lake") == {"greet": "1.0", "tool": "2.0"}
    lock = pathlib.Path(place["XDG_DATA_HOME"]) / "belljar" / "environments" / "lake" / "requirements.lock"
    assert create(who, place, "two", "--lock", lock, "--wheels", wheels).code == 0
    refused = who.call("environment", "update", "two", "--wheels", wheels, env=place)
    assert refused.code == 64 and "was made from a lock" in refused.errors


def test_a_directory_is_no_lock(who, place):
    failed = create(who, place, "none", "--lock", "/etc")
    assert failed.code == 71 and "Is a directory" in failed.errors
    assert "none" not in who.call("environment", "list", env=place).text


def test_a_package_does_not_open_the_standard_library(who, place, wheels):
    assert create(who, place, "shadow", "--with", "subprocess", "--wheels", wheels).code == 0
    assert who.call("run", "--environment", "shadow", "--profile", "strict", "-c", "import subprocess", env=place).code == 126


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["create", "x"], "no packages were given"),
        (["create", "x", "--with", "a", "--lock", "b"], "--lock cannot be combined with --with"),
        (["create", "../x", "--with", "a"], "cannot be the name"),
        (["create", "system", "--with", "a"], "cannot be the name"),
        (["create", "X", "--with", "a"], "cannot be the name"),
        (["create", "x", "y", "--with", "a"], "one environment at a time"),
        (["create", "x", "--with", "--index-url=http://127.0.0.1:1"], "invalid package"),
        (["create", "x", "--with", "/etc/passwd"], "invalid package"),
        (["create", "x", "--with", "git+file:///x"], "invalid package"),
        (["create", "x", "--with", "a @ file:///x"], "invalid package"),
        (["create", "x", "--with", "a", "--python", "3.99"], "this Belljar runs Python"),
        (["add", "x"], "no package to add to `x`"),
        (["update", "x", "--with", "a"], "takes no packages"),
        (["update", "x", "--lock", "a"], "--lock is for `create`"),
        (["create"], "takes a name"),
        (["list", "x"], "takes no names"),
        (["lst"], "did you mean `list`"),
        (["rm", "../../x"], "cannot be the name"),
    ],
)
def test_what_is_no_environment_is_said(who, place, args, said):
    answer = who.call("environment", *args, env=place)
    assert answer.code == (69 if "3.99" in args else 64) and said in answer.errors, answer
    assert "hint: " in answer.errors or "--lock" in said


def test_a_server_has_them_by_name(who, place, wheels):
    assert create(who, place, "lake", "--with", "greet", "--wheels", wheels).code == 0
    server = serving.Server(who, env=place)
    try:
        code = "import greet; print(greet.hi())"
        assert server.run(code, environment="lake")["stdout"] == "42\n"
        assert server.run(code, environment="lake", seed=7)["stdout"] == "42\n"
        assert server.run(code)["error"]["name"] == "ModuleNotFoundError"
        assert server.run("print(1)", environment="system")["stdout"] == "1\n"
        session = server.post("/v1/sessions", {"environment": "lake"}).json["session_id"]
        for _ in range(2):
            assert server.post(f"/v1/sessions/{session}/execute", {"code": code}).json["stdout"] == "42\n"
        assert server.post("/v1/run", {"code": "1", "environment": "nix"}).status == 404
        there = ("run", "--server", f"unix:{server.socket}", "--environment")
        assert who.call(*there, "lake", "-c", code, env=place).out == b"42\n"
        missing = who.call(*there, "nix", "-c", code, env=place)
        assert missing.code != 0 and missing.out == b"" and "nix" in missing.errors, missing
        path = place["XDG_DATA_HOME"] + "/belljar/environments/lake"
        assert server.post("/v1/run", {"code": "1", "environment": path}).status == 400
    finally:
        assert server.stop() == 0, server.said


def test_a_program_installs_what_a_granted_index_has(who, wheels):
    """Into its own sandbox, found at once by it and by what it starts, and gone with it."""
    names = sorted(path.name for path in wheels.iterdir())
    answers = {f"/simple/{name.split('-')[0]}/": (200, {"Content-Type": "text/html"}, f"<a href='/{name}'>{name}</a>".encode()) for name in names}
    answers |= {f"/{name}": (200, {}, (wheels / name).read_bytes()) for name in names}
    code = """
import subprocess, sys
try:
    import greet
except ModuleNotFoundError:
    print("not there")
subprocess.run(["pip", "install", "-q", "--index-url", sys.argv[1], "greet"], check=True)
import importlib
importlib.invalidate_caches()
import greet
print(greet.hi(), subprocess.run(["/usr/bin/python3", "-c", "import greet; print(greet.hi())"], capture_output=True, text=True).stdout.strip())
"""
    program = who.file("install.py", code)
    with Host(answers=answers) as index:
        for _ in range(2):
            answer = who.run(None, "--net", f"127.0.0.1:{index.port}", "--timeout", "120", program, f"{index.url}/simple/")
            assert answer.json["stdout"] == "not there\n42 42\n", answer
