"""Skills that are folders: from a directory or a ZIP file into the store, and from there into programs."""
import io
import json
import os
import signal
import uuid
import zipfile

import mcp
import pytest

HEAD = "---\nname: {}\ndescription: {}\n---\nRead /mnt/user-data/uploads/x, see /mnt/skills/public/{}/notes.txt\n"


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture
def home(who):
    """State and settings of the test's own."""
    name = uuid.uuid4().hex
    return {"XDG_STATE_HOME": str(who.home / f"state-{name}"), "XDG_CONFIG_HOME": str(who.home / f"config-{name}")}


def files(name="csv-clean", description="Cleans tables.", **more):
    return {
        "SKILL.md": HEAD.format(name, description, name), "__init__.py": "def double(x):\n    return 2 * x\n",
        "scripts/tool.py": "from __future__ import annotations\nimport sys\nPLACE = '/mnt/user-data/uploads'\nprint('tool', *sys.argv[1:])\n",
        "notes.txt": "notes\n", **more,
    }  # fmt: skip


def folder(who, content, name=None):
    place = who.home / (name or f"folder-{uuid.uuid4().hex}")
    for path, text in content.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o644)
        for directory in [d for d in file.parents if who.home in d.parents]:
            directory.chmod(0o755)
    return str(place)


def packed(who, content):
    place = who.home / f"zip-{uuid.uuid4().hex}.zip"
    place.write_bytes(zip_of(content))
    place.chmod(0o644)
    return str(place)


def zip_of(content, mode=0o100644):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in content.items():
            entry = zipfile.ZipInfo(path)
            entry.create_system, entry.external_attr, entry.compress_type = 3, mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return data.getvalue()


@pytest.mark.parametrize("make", [folder, packed])
def test_a_folder_is_imported_run_and_read(who, home, make):
    assert who.call("skills", "add", make(who, files()), env=home).text == "csv-clean: version 1\n"
    use = "from skills.csv_clean import double\nimport skills.csv_clean.scripts.tool as t\nprint(double(4), t.PLACE, open('skills/csv_clean/notes.txt').read())"
    assert who.call("run", "-c", use, "--profile", "open", env=home).text == "tool\n8 /workspace/uploads notes\n\n"
    assert who.call("run", "--language", "bash", "-c", "python3 skills/csv_clean/scripts/tool.py a b", env=home).text == "tool a b\n"
    assert who.call("skills", "show", "csv_clean", env=home).text == files()["SKILL.md"]
    assert who.call("skills", "read", "csv-clean", "scripts/tool.py", env=home).text == files()["scripts/tool.py"]
    assert who.call("skills", "read", "csv-clean", "../SKILL.md", env=home).code == 66
    shown = json.loads(who.call("skills", "show", "csv-clean", "--json", env=home).text)
    assert [f["path"] for f in shown["files"]] == sorted(files()) and shown["kind"] == "user" and shown["module"] == "skills.csv_clean"


def test_a_bad_overwrite_is_refused_or_undone(who, home):
    assert who.call("skills", "add", folder(who, files()), env=home).code == 0
    bad = who.call("skills", "add", folder(who, files(**{"scripts/bad.py": "x = (\n"})), env=home)
    assert bad.code == 77 and "scripts/bad.py" in bad.errors and "never closed" in bad.errors
    bad = who.call("skills", "add", folder(who, files(**{"scripts/bad.py": "import subprocess\n"})), env=home)
    assert bad.code == 77 and "scripts/bad.py" in bad.errors and "subprocess" in bad.errors
    assert who.call("skills", "add", folder(who, files(description="Another.")), env=home).text == "csv-clean: version 2\n"
    assert [line.split()[:2] for line in who.call("skills", "versions", "csv-clean", env=home).text.splitlines()] == [["csv-clean", "2"], ["csv-clean", "1"]]
    assert who.call("skills", "undo", "csv-clean", env=home).text == "csv-clean: version 1\n"
    assert "Cleans tables." in who.call("skills", "show", "csv-clean", env=home).text
    # Checking does not run the code, and another profile allows more.
    quiet = files(**{"scripts/bad.py": "import subprocess\nraise SystemExit(3)\n"})
    assert who.call("skills", "add", "--profile", "open", folder(who, quiet), env=home).code == 0


@pytest.mark.parametrize("content, code", [
    ({"README.md": "x"}, 64),
    (files(name="Bad Name"), 64),
    (files(**{"caf\u00e9.txt": "x"}), 64),
    (files(**{"x.pyc": "x"}), 64),
    ({**files(), **{f"f{i}": "" for i in range(100)}}, 65),
    (files(**{"big": "x" * (5 << 20)}), 65),
])  # fmt: skip
def test_folders_that_are_no_skills_are_refused(who, home, content, code):
    assert who.call("skills", "add", folder(who, content), env=home).code == code
    assert "user" not in who.call("skills", "list", env=home).text


def hostile_zips():
    yield "traversal", zip_of({**files(), "../x": ""})
    yield "absolute", zip_of({**files(), "/etc/x": ""})
    yield "link", zip_of({"SKILL.md": "/etc/passwd"}, mode=0o120777)
    yield "case", zip_of({**files(), "skill.md": ""})
    yield "bomb", zip_of({**files(), "zeros": "\0" * (2 << 20)})
    yield "entries", zip_of({**files(), **{f"d{i}/": "" for i in range(500)}})
    yield "encrypted", bytes(zip_of(files())).replace(b"PK\1\2\x14\x03\x14\0\0\0", b"PK\1\2\x14\x03\x14\0\1\0")
    yield "cut", zip_of(files())[:-9]
    yield "behind", zip_of(files()) + b"x"


@pytest.mark.parametrize("name, data", hostile_zips(), ids=[n for n, _ in hostile_zips()])
def test_zip_files_that_are_traps_are_refused(who, home, name, data):
    place = who.home / f"{name}-{uuid.uuid4().hex}.zip"
    place.write_bytes(data)
    place.chmod(0o644)
    refused = who.call("skills", "add", str(place), env=home)
    assert refused.code in (64, 65), refused.errors
    assert "user" not in who.call("skills", "list", env=home).text


def test_public_skills_are_everybodys_and_stay(who, home):
    shelf = home["XDG_CONFIG_HOME"] + "/belljar/skills"
    place = folder(who, files(name="house-style"), name=os.path.relpath(shelf + "/house-style", who.home))
    listed = {s["name"]: s for s in json.loads(who.call("skills", "list", "--json", env=home).text)}
    assert listed["house-style"]["kind"] == "public"
    assert who.call("run", "-c", "from skills.house_style import double\nprint(double(3))", env=home).text == "6\n"
    taken = who.call("skills", "add", folder(who, files(name="house-style")), env=home)
    assert taken.code == 77 and "public skill" in taken.errors
    assert who.call("skills", "rm", "house-style", env=home).code == 77
    os.unlink(place + "/SKILL.md")
    assert "cannot be read" in who.call("skills", "list", env=home).text


def test_a_model_sees_skills_as_other_systems_show_them(who, home):
    shelf = home["XDG_CONFIG_HOME"] + "/belljar/skills"
    folder(who, files(name="house-style", description="Ours."), name=os.path.relpath(shelf + "/house-style", who.home))
    assert who.call("skills", "add", folder(who, files(**{"x.bin": "\0"})), env=home).code == 0
    with mcp.Client(who, env=home) as client:
        client.initialize()
        text = client.text("list_skills")
        assert "- house-style: Ours.\n" in text.split("User skills:")[0] and text.endswith("User skills:\n- csv-clean: Cleans tables.\n")
        text = client.text("get_skill_info", {"skill_name": "csv-clean"})
        assert text.startswith("Skill: csv-clean\nKind: user\nLocation: /workspace/skills/csv_clean\nImport: skills.csv_clean\nFiles: SKILL.md __init__.py")
        assert text.endswith("Read /workspace/uploads/x, see /workspace/skills/csv_clean/notes.txt\n")
        info = client.call("get_skill_info", {"skill_name": "house_style"})["structuredContent"]
        assert info["kind"] == "public" and "scripts/tool.py" in info["files"] and "code" not in info
        assert "PLACE = '/workspace/uploads'" in client.text("get_skill_file", {"skill_name": "house-style", "filename": "scripts/tool.py"})
        for file in ("x.bin", "../SKILL.md", "no"):
            assert client.call("get_skill_file", {"skill_name": "csv-clean", "filename": file})["isError"]
        taken = client.call("save_reusable_skill", {"name": "house_style", "code": "x = 1"})
        assert taken["isError"] and "public skill" in mcp.text_of(taken)
        assert client.text("execute_python_code", {"code": "from skills.house_style import double\nprint(double(5))"}) == "10\n"


def test_the_check_of_a_folder_is_in_the_trail_and_can_be_replayed(who, home):
    assert who.call("skills", "add", folder(who, files()), env=home).code == 0
    listed = who.call("audit", "list", env=home).text.splitlines()
    run = next(word for word in listed[-1].split() if word.startswith("run_"))
    assert "only_checks" in who.call("audit", "show", run, env=home).text
    assert "identical" in who.call("audit", "replay", run, env=home).text


def test_what_is_shown_is_masked(who, home):
    secret = "ghp_" + "a1B2" * 9
    assert who.call("skills", "add", folder(who, files(**{"notes.txt": f"token {secret}\n"}, description=f"With {secret}")), env=home).code == 0
    for args in (["list"], ["list", "--json"], ["show", "csv-clean"], ["show", "--json", "csv-clean"], ["read", "csv-clean", "notes.txt"]):
        shown = who.call("skills", *args, env=home)
        assert shown.code == 0 and secret not in shown.text and "REDACTED" in shown.text, args


def test_writers_at_the_same_time_lose_nothing(who, home):
    """Eight processes save the same skill; each gets a version of its own, and one that is killed leaves all or nothing."""
    place = folder(who, files())
    assert who.call("skills", "add", place, env=home).code == 0
    running = [who.start("skills", "add", place, env=home) for _ in range(6)]
    running[5].send_signal(signal.SIGKILL)
    said = sorted(p.communicate()[0].decode() for p in running[:5])
    running[5].wait()
    numbers = [int(line.split()[-1]) for line in said]
    assert len(set(numbers)) == 5 and all(p.returncode == 0 for p in running[:5])
    versions = json.loads(who.call("skills", "versions", "--json", "csv-clean", env=home).text)
    assert len(versions) in (6, 7) and len({v["bytes"] for v in versions}) == 1
    assert who.call("run", "-c", "from skills.csv_clean import double\nprint(double(2))", env=home).text == "4\n"
