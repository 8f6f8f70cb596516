"""`belljar setup`: other programs' settings, in every state people leave them in."""
import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import belljar
import pytest

FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
SECTION = {"vscode": "servers", "codex": "mcp_servers"}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


class Home:
    """A throw-away home, in which the program is called as its owner would."""

    def __init__(self, path):
        self.path = path
        self.bin = path / "bin"
        self.bin.mkdir()

    def setup(self, *args, code=0, cwd=None, **env):
        done = subprocess.run(
            [belljar.program_path(), "setup", *args],
            env={"HOME": str(self.path), "PATH": f"{self.bin}:/usr/bin:/bin", **env},
            capture_output=True, text=True, timeout=belljar.HANG_SECONDS, cwd=cwd or self.path,
        )  # fmt: skip
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def file(self, client):
        return self.path / FILES[client]

    def write(self, client, text):
        path = self.file(client)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def entry(self, client, name="belljar"):
        text = self.file(client).read_text()
        tree = tomllib.loads(text) if client == "codex" else json.loads(text)
        return tree[SECTION.get(client, "mcpServers")][name]

    def program(self, name, text):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)


@pytest.mark.parametrize("client", FILES)
def test_a_client_without_settings_gets_some_and_loses_them(home, client):
    home.setup(client)
    entry = home.entry(client)
    assert entry["command"] == str(belljar.program_path()), entry
    assert entry["args"] == ["mcp"], entry
    assert ("type" in entry) == (client in ("claude-code", "vscode")), entry
    assert stat.S_IMODE(home.file(client).stat().st_mode) == 0o600
    home.setup(client, "--remove")
    assert not home.file(client).exists()


@pytest.mark.parametrize("client", FILES)
def test_twice_is_once(home, client):
    home.setup(client)
    before = home.file(client).stat()
    assert "nothing to change" in home.setup(client).stdout
    assert home.file(client).stat().st_mtime_ns == before.st_mtime_ns


ODD = {
    "empty": b"",
    "space": b"  \n\t\n",
    "bom": b"\xef\xbb\xbf{}\n",
    "crlf": b'{\r\n  "a": 1\r\n}\r\n',
    "tabs": b'{\n\t"mcpServers": {\n\t\t"x": {"command": "x"}\n\t}\n}\n',
    "one line": b'{"a":1,"mcpServers":{"x":{"command":"x"}},"z":[]}',
    "no line end": b'{\n  "a": 1\n}',
    "key in a string": b'{\n  "a": "\\"mcpServers\\": {",\n  "b": "}"\n}\n',
    "section elsewhere": b'{\n  "projects": {"/x": {"mcpServers": {}}}\n}\n',
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("client", ["claude-code", "vscode"])
def test_odd_files_come_back_byte_for_byte(home, client, text):
    path = home.write(client, text)
    home.setup(client)
    tree = json.loads(path.read_bytes().decode("utf-8-sig"))
    was = json.loads(text.decode("utf-8-sig")) if text.strip() else {}
    section = SECTION.get(client, "mcpServers")
    assert tree[section].pop("belljar")["args"] == ["mcp"]
    assert {**was, section: was.get(section, {})} == tree
    home.setup(client, "--remove")
    assert path.read_bytes() == text
    assert sorted(p.name for p in path.parent.iterdir() if p.name != "bin") == [path.name]


COMMENTED = """// my servers
{
  /* inputs first */ "inputs": [],
  "servers": {
    "other": { "command": "x", }, // keep me
    // "old": {}
  },
}
"""


def test_comments_and_trailing_commas_stay(home):
    path = home.write("vscode", COMMENTED)
    home.setup("vscode")
    text = path.read_text()
    for line in COMMENTED.splitlines():
        assert line in text, text
    lines = [line for line in text.splitlines() if line not in COMMENTED.splitlines()]
    assert lines[0] == '    "belljar": {' and lines[-1] == "    },", lines
    assert text.index("keep me") < text.index("belljar") < text.index('"old"')
    home.setup("vscode", "--remove")
    assert path.read_text() == COMMENTED


def test_removal_after_other_changes_takes_out_the_entry_alone(home):
    path = home.write("vscode", COMMENTED)
    home.setup("vscode")
    path.write_text(path.read_text().replace("my servers", "MY SERVERS"))
    home.setup("vscode", "--remove")
    assert path.read_text() == COMMENTED.replace("my servers", "MY SERVERS")


@pytest.mark.parametrize("client", FILES)
def test_removal_after_a_change_of_the_entry_removes_all_of_it(home, client):
    """The backup made when the entry was changed has an entry itself."""
    home.setup(client, "--allow", ".:rw")
    home.setup(client)
    home.setup(client, "--remove")
    assert not home.file(client).exists() and not Path(f"{home.file(client)}.belljar-backup").exists()
    text = '[a]\nb = 1\n' if client == "codex" else '{"a": {"b": 1}}'
    path = home.write(client, text)
    for args in ([], ["--allow", ".:rw"], ["--profile", "open"]):
        home.setup(client, *args)
    home.setup(client, "--remove")
    assert path.read_text() == text


TOML = """# mine
model = "m"   # the model
notes = '''
[mcp_servers.belljar]
'''

[mcp_servers.other]   # not ours
command = "x"
args = [
  "a",  # first
]

[tui]
theme = "dark"
"""


def test_toml_keeps_everything_else(home):
    path = home.write("codex", TOML)
    home.setup("codex")
    assert path.read_text().startswith(TOML)
    assert home.entry("codex")["tool_timeout_sec"] >= 300
    home.setup("codex", "--remove")
    assert path.read_text() == TOML


def test_what_the_owner_added_to_the_entry_stays(home):
    home.setup("cursor")
    path = home.file("cursor")
    tree = json.loads(path.read_text())
    tree["mcpServers"]["belljar"].update(disabled=True, args=["old"])
    path.write_text(json.dumps(tree, indent=4))
    home.setup("cursor")
    assert home.entry("cursor")["disabled"] is True and home.entry("cursor")["args"] == ["mcp"]


def test_another_server_of_that_name_is_not_touched(home):
    text = '{"mcpServers": {"belljar": {"command": "npx", "args": ["-y", "belljar"]}}}'
    path = home.write("cursor", text)
    for args in ([], ["--remove"], ["--dry-run"]):
        done = home.setup("cursor", *args, code=77)
        assert "another server" in done.stderr and "--name" in done.stderr
    assert path.read_text() == text
    home.setup("cursor", "--name", "glass")
    assert home.entry("cursor", "glass")["args"] == ["mcp"] and home.entry("cursor")["command"] == "npx"
    home.setup("cursor", "--replace")
    assert home.entry("cursor")["args"] == ["mcp"]


@pytest.mark.parametrize(
    "client, text",
    [
        ("cursor", b"{"), ("cursor", b"{'a': 1}"), ("cursor", b"[]"), ("cursor", b"\xff"), ("cursor", b"{}\x00"),
        ("cursor", b'{"mcpServers": 1}'), ("cursor", b'{"mcpServers": {}, "mcpServers": {}}'),
        ("cursor", b'{"mcpServers": {"belljar": 1}}'), ("codex", b"a = \n"), ("codex", b"[mcp_servers]\nbelljar = 1\n"),
        ("codex", b'mcp_servers = {x = {command = "x"}}\n'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_left_alone(home, client, text):
    path = home.write(client, text)
    done = subprocess.run(
        [belljar.program_path(), "setup", client], env={"HOME": str(home.path)}, capture_output=True, text=True
    )
    assert done.returncode in (64, 69, 77) and done.stderr.startswith("belljar: "), done
    assert path.read_bytes() == text and os.listdir(path.parent) == [path.name]


def test_dry_run_shows_a_diff_and_changes_nothing(home):
    path = home.write("cursor", '{\n  "a": 1\n}\n')
    shown = home.setup("cursor", "--dry-run").stdout
    assert path.read_text() == '{\n  "a": 1\n}\n' and os.listdir(path.parent) == ["mcp.json"]
    home.setup("cursor")
    diff = subprocess.run(
        ["diff", "-u", "/dev/stdin", path], input='{\n  "a": 1\n}\n', capture_output=True, text=True
    ).stdout
    assert shown.splitlines()[2:] == diff.splitlines()[2:]
    shown = home.setup("cursor", "--remove", "--dry-run").stdout
    assert '-  "mcpServers": {' in shown and path.exists()


def test_mode_owner_and_link_stay(home):
    target = home.path / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 4321, 4321)
    link = home.file("cursor")
    link.parent.mkdir()
    link.symlink_to(target)
    home.setup("cursor")
    assert link.is_symlink() and home.entry("cursor")
    after = target.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert os.geteuid() != 0 or (after.st_uid, after.st_gid) == (4321, 4321)
    backup = Path(str(target) + ".belljar-backup")
    assert backup.read_text() == "{}" and stat.S_IMODE(backup.stat().st_mode) == 0o640


def test_read_only_files_and_dangling_links_are_refused(home):
    path = home.write("cursor", "{}")
    path.chmod(0o444)
    assert "read-only" in home.setup("cursor", code=77).stderr
    assert path.read_text() == "{}" and os.listdir(path.parent) == ["mcp.json"]
    path.unlink()
    path.symlink_to("nowhere")
    assert "link" in home.setup("cursor", code=64).stderr
    path.unlink()
    os.mkfifo(path)
    assert "regular" in home.setup("cursor", code=64).stderr


def test_directories_and_profile_go_onto_the_command_line(home):
    (home.path / "data").mkdir()
    home.setup("cursor", "--allow", "data:rw", "--allow", ".", "--profile", "open")
    assert home.entry("cursor")["args"] == [
        "mcp", "--allow", f"{home.path}/data:rw", "--allow", f"{home.path}:ro", "--profile", "open", "--undo", "on",
    ]  # fmt: skip
    assert "No such file" in home.setup("cursor", "--allow", "gone", code=66).stderr
    assert "standard" in home.setup("cursor", "--profile", "standart", code=66).stderr
    assert "--allow" in home.setup("cursor", "--profile", "strict", "--allow", ".", code=64).stderr


def test_settings_of_the_server_go_along(home):
    home.setup("cursor", "--net", "example.org", "--net", "a.example:8080", "--environment", "system", "--compat", "marketplace")
    assert home.entry("cursor")["args"] == [
        "mcp", "--net", "example.org", "--net", "a.example:8080", "--environment", "system", "--compat", "marketplace",
    ]  # fmt: skip
    assert "marketplace" in home.setup("cursor", "--compat", "market", code=64).stderr
    assert "host" in home.setup("cursor", "--net", "not a host", code=64).stderr


@pytest.mark.parametrize("client, file, section", [
    ("claude-code", ".mcp.json", "mcpServers"), ("cursor", ".cursor/mcp.json", "mcpServers"), ("vscode", ".vscode/mcp.json", "servers"), ("gemini", ".gemini/settings.json", "mcpServers"),
])  # fmt: skip
def test_a_project_has_settings_of_its_own(home, client, file, section):
    project = home.path / "project"
    project.mkdir()
    home.setup(client, "--project", "--no-verify", cwd=project)
    assert json.loads((project / file).read_text())[section]["belljar"]["args"] == ["mcp"]
    assert not (home.path / FILES[client]).exists()
    home.setup(client, "--project", "--remove", cwd=project)
    assert not (project / file).exists()


def test_not_every_client_has_projects(home):
    for client in ("codex", "claude-desktop"):
        assert "--project" in home.setup(client, "--project", code=64).stderr


def test_print_is_for_any_client(home):
    shown = json.loads(home.setup("--print", "--profile", "open").stdout)
    assert shown["mcpServers"]["belljar"]["args"] == ["mcp", "--profile", "open"]
    assert tomllib.loads(home.setup("codex", "--print").stdout)["mcp_servers"]["belljar"]["args"] == ["mcp"]
    assert not (home.path / ".codex").exists()


def test_variables_of_the_clients_are_honoured(home):
    home.setup("codex", CODEX_HOME=str(home.path / "cx"))
    home.setup("claude-code", CLAUDE_CONFIG_DIR=str(home.path / "cl"))
    home.setup("vscode", XDG_CONFIG_HOME=str(home.path / "xdg"))
    assert (home.path / "cx/config.toml").exists() and (home.path / "cl/.claude.json").exists()
    assert (home.path / "xdg/Code/User/mcp.json").exists()


@pytest.mark.parametrize(
    "says, code",
    [("belljar: /b mcp - ✔ Connected", 0), ("belljar: /b mcp - ✗ Failed to connect", 76), ("other: ✔ Connected", 76)],
)
def test_the_client_is_asked(home, says, code):
    home.program("claude", f'[ "$1 $2" = "mcp list" ] || exit 9\necho "{says}"\n')
    done = home.setup("claude-code", code=code)
    assert ("mcp list" in done.stdout) == ("belljar" in says)
    assert home.entry("claude-code")
    assert "mcp list" not in home.setup("claude-code", "--no-verify").stdout


def test_bad_words_are_named(home):
    assert "`cursor`" in home.setup("cursr", code=64).stderr
    assert "no client" in home.setup(code=64).stderr
    assert "did you mean `claude-code`?" in home.setup("claude", code=64).stderr
    assert "letters" in home.setup("cursor", "--name", "a.b", code=64).stderr


def test_clients_that_are_here_are_found(home):
    said = home.setup(code=64).stderr
    assert "none was found here" in said, said
    (home.path / ".cursor").mkdir()
    (home.path / ".claude.json").write_text("{}")
    said = home.setup(code=64).stderr
    assert "found here: claude-code, cursor; for example `belljar setup claude-code`" in said, said


def test_the_plugin_starts_the_server_in_the_project(home):
    """`/plugin marketplace add` of a client reads these files, and starts the server in the directory of the project."""
    catalog = json.loads((belljar.ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert catalog["name"] and catalog["owner"]["name"]
    for entry in catalog["plugins"]:
        plugin = json.loads((belljar.ROOT / entry["source"] / ".claude-plugin" / "plugin.json").read_text())
        assert plugin["name"] == entry["name"] and plugin["description"] == entry["description"]
        for server in plugin["mcpServers"].values():
            assert server["command"] == "belljar"
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                     "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
            project = home.path / "project"
            project.mkdir()
            done = subprocess.run([belljar.program_path(), *server["args"]], input=json.dumps(hello) + "\n", cwd=project, capture_output=True, text=True,
                                  env={"HOME": str(home.path), "PATH": "/usr/bin:/bin"}, timeout=belljar.HANG_SECONDS)  # fmt: skip
            told = json.loads(done.stdout.splitlines()[0])["result"]["instructions"]
            assert f"{project} (writable)" in told, (told, done.stderr)
