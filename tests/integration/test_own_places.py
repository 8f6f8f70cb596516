"""Belljar's own configuration, state, keys, sockets and skills are out of reach, whatever is granted, also for reading."""
import json
import os
import secrets
import shutil
import subprocess

import belljar
import pytest

pytestmark = pytest.mark.usefixtures("watch")

MODES = ["ro", "rw", "cow"]
SECRET = "own-place-secret"


@pytest.fixture
def home(who):
    """A home directory with Belljar's files at their usual places and some of the user's own."""
    path = who.directory("home-" + secrets.token_hex(4))
    files = {
        ".config/belljar/config.toml": "# " + SECRET + "\n",
        ".config/belljar/skills/one/SKILL.md": SECRET,
        ".config/belljar/policies/mine.toml": SECRET,
        ".local/state/belljar/token": SECRET,
        ".local/state/belljar/trail/key": SECRET,
        "xdg/belljar/tokens.toml": SECRET,
        "keys/server.key": SECRET,
        "keys/other.txt": "mine",
        ".config/other/file": "mine",
        "data.txt": "mine",
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return path


def places(home, **more):
    """The environment of somebody who has their files in `home`."""
    usual = {"HOME": str(home), "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None, "XDG_RUNTIME_DIR": None}
    return {**usual, **more}


SEARCH = """
import os
found = []
for top, folders, files in os.walk({home!r}):
    for name in files:
        path = os.path.join(top, name)
        try:
            if {secret!r} in open(path, errors="replace").read():
                found.append(path)
        except OSError:
            pass
print(found, open({home!r} + "/data.txt").read(), open({home!r} + "/.config/other/file").read())
"""


@pytest.mark.smoke
@pytest.mark.parametrize("mode", MODES)
def test_a_granted_home_does_not_show_them(who, home, mode):
    code = SEARCH.format(home=str(home), secret=SECRET)
    answer = who.run(code, "--allow", f"{home}:{mode}", env=places(home, XDG_STATE_HOME=str(home / "xdg"), BELLJAR_TLS_KEY=str(home / "keys/server.key")))
    assert answer.status == "success", answer
    assert answer.json.get("stdout") == "[] mine mine\n", answer


def test_an_open_that_could_create_does_not_read_them(who, home):
    """The broker's own mount has nothing covered."""
    names = [".config/belljar/config.toml", ".config/belljar/policies/mine.toml", ".local/state/belljar/token", "xdg/belljar/tokens.toml", "keys/server.key"]
    code = (
        f"import os\nfor name in {names!r}:\n    for flags in (os.O_CREAT, os.O_CREAT | os.O_RDWR, os.O_RDWR, os.O_TRUNC, os.O_CREAT | os.O_NOFOLLOW):\n"
        f"        try: print(os.read(os.open({str(home)!r} + '/' + name, flags), 100))\n        except OSError: pass\n"
    )
    answer = who.run(code, "--allow", f"{home}:rw", env=places(home, XDG_STATE_HOME=str(home / "xdg"), BELLJAR_TLS_KEY=str(home / "keys/server.key")))
    assert answer.status == "success" and SECRET not in answer.text, answer
    assert all(SECRET in (home / name).read_text() for name in names)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_made_or_changed_in_them(who, home, mode):
    before = {p: p.read_text() for p in home.rglob("*") if p.is_file()}
    code = (
        "import os\n"
        f"home = {str(home)!r}\n"
        # In a layer the directory above may be moved: nothing of that is applied.
        f"MOVE = lambda path: {mode!r} != 'cow' and os.rename(os.path.dirname(path), home + '/away')\n"
        "for name in ('.config/belljar/config.toml', '.config/belljar/new.toml', '.local/state/belljar/token', '.local/share/belljar/x', 'xdg/belljar/new', 'keys/server.key'):\n"
        "    path = os.path.join(home, name)\n"
        "    for f in (lambda: os.makedirs(os.path.dirname(path), exist_ok=True), lambda: open(path, 'w').write('evil'), lambda: os.unlink(path), lambda: MOVE(path)):\n"
        "        try:\n            f()\n        except OSError:\n            pass\n"
    )
    env = places(home, XDG_STATE_HOME=str(home / "xdg"), BELLJAR_TLS_KEY=str(home / "keys/server.key"))
    who.run(code, "--allow", f"{home}:{mode}", env=env)
    for path, text in before.items():
        assert path.read_text() == text, path
    assert not (home / ".config/belljar/new.toml").exists() and not (home / "xdg/belljar/new").exists() and not (home / ".local/share/belljar/x").exists()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [".config/belljar", ".config/belljar/skills", ".local/state/belljar", ".local/state/belljar/trail", "xdg/belljar"])
def test_they_are_not_granted_themselves(who, home, name, mode):
    answer = who.run("print(1)", "--allow", f"{home / name}:{mode}", env=places(home, XDG_STATE_HOME=str(home / "xdg")))
    assert answer.code != 0 and "belongs to Belljar" in answer.text + answer.errors, answer
    assert "success" not in answer.text


def test_a_link_is_no_way_around(who, home):
    (home / "way").symlink_to(".config/belljar")
    answer = who.run("print(1)", "--allow", home / "way", env=places(home))
    assert answer.code != 0 and "a symbolic link in it leads to" in answer.text + answer.errors, answer


def test_directories_that_a_link_leads_to_are_covered_where_they_are(who, home):
    (home / "dotfiles").mkdir()
    os.rename(home / ".config/belljar", home / "dotfiles/bj")
    (home / ".config/belljar").symlink_to("../dotfiles/bj")
    who.own(home / "dotfiles")
    answer = who.run(SEARCH.format(home=str(home), secret=SECRET), "--allow", home, env=places(home, XDG_STATE_HOME=str(home / "xdg"), BELLJAR_TLS_KEY=str(home / "keys/server.key")))
    assert answer.json.get("stdout") == "[] mine mine\n", answer


def test_a_configuration_named_on_the_command_line_is_covered(who, home):
    mine = home / "project" / "belljar.toml"
    mine.parent.mkdir()
    mine.write_text(f"# {SECRET}\nlog_level = \"warning\"\n")
    for p in (mine.parent, mine):
        who.own(p)
    code = f"import os; print(os.listdir({str(mine.parent)!r}), repr(open({str(mine)!r}).read()))"
    answer = who.run(code, "--config", mine, "--allow", mine.parent, env=places(home))
    assert answer.json.get("stdout") == "['belljar.toml'] ''\n", answer


def test_what_comes_into_being_later_is_covered_too(who):
    """The directory is not there when the program starts, and is when it looks."""
    home = who.directory("home-" + secrets.token_hex(4))
    code = f"import os; print(os.path.exists({str(home)!r} + '/.config/belljar'), os.path.ismount({str(home)!r} + '/.config/belljar'))"
    answer = who.run(code, "--allow", home, env=places(home))
    assert answer.json.get("stdout") == "True True\n", answer


def test_a_script_of_a_server_can_be_read_but_not_changed(who, home):
    script = home / "tools" / "server.py"
    script.parent.mkdir()
    script.write_text("print('mine')\n")
    config = who.file("c.toml", f"[servers.x]\ncommand = \"/usr/bin/python3\"\nargs = [\"{script}\"]\n")
    for p in (script.parent, script):
        who.own(p)
    code = f"print(open({str(script)!r}).read())\ntry:\n    open({str(script)!r}, 'w').write('evil')\nexcept OSError as e:\n    print(e.errno)"
    answer = who.run(code, "--config", config, "--allow", f"{home}:cow", env=places(home))
    assert "print('mine')" in answer.json.get("stdout"), answer
    assert script.read_text() == "print('mine')\n"


def command_settings(who, command, **more):
    texts = {key: "{" + ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items()) + "}" if isinstance(value, dict) else json.dumps(value) for key, value in more.items()}
    lines = "".join(f"{key} = {text}\n" for key, text in texts.items())
    words = ", ".join(json.dumps(str(word)) for word in command[1:])
    return who.file("code.toml", f"[servers.x]\ncommand = {json.dumps(str(command[0]))}\nargs = [{words}]\n{lines}")


# How a command can take its code from a directory: each with the directory in place of DIR.
COMMANDS = {
    "script": (["/usr/bin/python3", "DIR/server.py"], {}),
    "found by PATH": (["python3", "DIR/server.py"], {}),
    "module in cwd": (["python3", "-m", "srv"], {"cwd": "DIR"}),
    "relative script": (["python3", "./server.py"], {"cwd": "DIR"}),
    "shell text": (["sh", "-c", "cd DIR && exec python3 server.py"], {}),
    "shell text with quotes": (["/bin/bash", "-lc", "exec env X=1 python3 'DIR/server.py';true"], {}),
    "directory of an option": (["uv", "--directory", "DIR", "run", "server.py"], {}),
    "directory of an option with =": (["npm", "--prefix=DIR", "start"], {}),
    "directory as a program": (["python3", "DIR"], {}),
    "package from a directory": (["uvx", "--from", "DIR", "server"], {}),
    "variable": (["python3", "-m", "srv"], {"env": {"PYTHONPATH": "/nowhere:DIR"}}),
    "link": (["/usr/bin/python3", "LINK"], {}),
    "wrapper": (["WRAPPER"], {}),
}


@pytest.fixture
def project(who):
    path = who.directory("project-" + secrets.token_hex(4))
    for name in ("server.py", "srv.py", "data/x.txt"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("mine\n")
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return path


def filled(who, project, key):
    command, more = COMMANDS[key]
    aside = who.directory("aside-" + secrets.token_hex(4))
    (aside / "link.py").symlink_to(project / "server.py")
    (aside / "start").write_text(f"#!/bin/sh\n# starts it\nexec python3 {project}/server.py \"$@\"\n")
    (aside / "start").chmod(0o755)
    text = json.dumps([command, more]).replace("DIR", str(project)).replace("LINK", str(aside / "link.py")).replace("WRAPPER", str(aside / "start"))
    return command_settings(who, *(json.loads(text)[:1]), **json.loads(text)[1])


@pytest.mark.parametrize("key", COMMANDS)
def test_where_a_command_runs_code_from_is_not_written(who, project, key):
    """Such code runs outside of every sandbox: a module beside the script, too."""
    config = filled(who, project, key)
    plant = f"open({str(project)!r} + '/helper.py', 'w').write('evil')"
    for granted in (project, project / "data"):
        answer = who.run(plant, "--config", config, "--allow", f"{granted}:rw")
        assert answer.code != 0 and "cannot be granted for writing" in answer.text + answer.errors, answer
        assert who.run("print(1)", "--config", config, "--allow", granted).json.get("stdout") == "1\n"
    assert not (project / "helper.py").exists()


@pytest.mark.parametrize("key", COMMANDS)
def test_a_grant_around_it_leaves_it_alone(who, project, key):
    above = who.directory("above-" + secrets.token_hex(4))
    inner = above / "code" / "server"
    inner.parent.mkdir()
    project.rename(inner)
    who.own(inner.parent)
    config = filled(who, inner, key)
    code = (
        "import os\n"
        f"os.chdir({str(above)!r})\nopen('free.txt', 'w').write('free')\n"
        "for f in (lambda: open('code/server/helper.py', 'w').write('evil'), lambda: open('code/server/server.py', 'w').write('evil'),\n"
        "          lambda: os.rename('code', 'away'), lambda: os.rename('code/server', 'code/away'), lambda: os.unlink('code/server/srv.py')):\n"
        "    try: f()\n    except OSError as e: print(e.errno)\n"
    )
    answer = who.run(code, "--config", config, "--allow", f"{above}:rw")
    assert answer.status == "success" and len(answer.json["stdout"].split()) == 5, answer
    assert (above / "free.txt").read_text() == "free" and sorted(p.name for p in inner.iterdir()) == ["data", "server.py", "srv.py"]
    assert (inner / "server.py").read_text() == "mine\n"


def test_data_behind_a_published_package_is_free(who, project):
    for command in (["npx", "-y", "@some/server-filesystem", project], ["uvx", "mcp-server-git", "--repository", project], ["docker", "run", "-v", f"{project}:/x", "image"]):
        config = command_settings(who, command)
        answer = who.run(f"open({str(project)!r} + '/new.txt', 'w').write('x')", "--config", config, "--allow", f"{project}:rw")
        assert answer.status == "success", answer


def test_the_home_with_a_script_in_it_is_not_granted_as_a_whole(who, home):
    (home / "server.py").write_text("mine\n")
    (home / "work").mkdir()
    for p in (home / "server.py", home / "work"):
        who.own(p)
    config = command_settings(who, ["python3", home / "server.py"])
    for mode in ("rw", "cow"):
        answer = who.run("print(1)", "--config", config, "--allow", f"{home}:{mode}", env=places(home))
        assert answer.code != 0 and "cannot be granted for writing" in answer.text + answer.errors, answer
    answer = who.run("print(1)", "--config", config, "--allow", f"{home / 'work'}:rw", env=places(home))
    assert answer.json.get("stdout") == "1\n", answer


def test_functions_of_the_host_count_too(who, project):
    config = who.file("f.toml", f'[functions.f]\ndescription = "d"\nseverity = "low"\ncommand = ["/bin/sh", "{project}/{{name}}.sh"]\n[functions.f.parameters.name]\ntype = "string"\n')
    answer = who.run("print(1)", "--config", config, "--allow", f"{project}:rw")
    assert answer.code != 0 and "cannot be granted for writing" in answer.text + answer.errors, answer


def test_our_own_programs_are_not_replaced(who, home):
    """A checkout may be granted; the next run would execute what is in it."""
    place = home / "build"
    place.mkdir()
    for name in ("belljar", "belljar-zygote", "belljar-broker", "belljar-listener", "belljar-steady.so"):
        shutil.copy2(who.program.parent / name, place / name)
    for p in (place, *place.iterdir()):
        who.own(p)
    before = {p.name: p.read_bytes() for p in place.iterdir()}
    code = (
        f"import os\nos.chdir({str(place)!r})\nfor name in ('belljar', 'belljar-zygote', 'belljar-broker', 'belljar-listener', 'belljar-steady.so'):\n"
        "    for f in (lambda: os.unlink(name), lambda: os.open(name, os.O_WRONLY | os.O_CREAT), lambda: os.chmod(name, 0), lambda: (open('x', 'w'), os.rename('x', name))):\n"
        "        try: f()\n        except OSError: pass\n"
    )
    command = [str(place / "belljar"), "run", "--profile", str(who.program.parent.parent / "policies" / "open.toml"), "-c", code, "--allow", f"{place}:rw"]
    answer = subprocess.run(command, env=who.environment(), capture_output=True, timeout=belljar.HANG_SECONDS, **who.identity())
    assert answer.returncode == 0 and b"denied: change" in answer.stderr, answer
    assert {p.name: p.read_bytes() for p in place.iterdir() if p.name != "x"} == before, answer


def test_another_users_home_below_a_granted_directory(callers):
    """Root grants the directory that holds somebody's home."""
    if "root" not in callers:
        pytest.skip("needs root, to grant a directory of another user")
    root, user = callers["root"], callers["user"]
    folder = user.directory("home-" + secrets.token_hex(4))
    (folder / ".config/belljar").mkdir(parents=True)
    (folder / ".config/belljar/config.toml").write_text(SECRET)
    for p in [folder, *folder.rglob("*")]:
        user.own(p)
    answer = root.run(f"import os; print(os.listdir('{folder}/.config/belljar'))", "--allow", folder)
    assert answer.json.get("stdout") == "[]\n", answer
