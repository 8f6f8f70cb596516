"""Nothing in a granted directory decides anything, and nothing inside switches anything off."""
import json
import os
import textwrap

import belljar
import mcp
import pytest

pytestmark = pytest.mark.usefixtures("watch")

LOOSE = 'inherits = "open"\n'
SETTINGS = 'profile = "open"\nmasking = "no"\ntrail = "off"\nmemory_mb = 2048\nnet = ["evil.test"]\nallow = ["/etc"]\n[servers.x]\ncommand = ["/bin/sh", "-c", "touch {touched}"]\n'

# Files that this or another tool reads from where it is started, and that would change something if they were read here.
PLANTED = {
    "belljar.toml": SETTINGS, ".belljar.toml": SETTINGS, "config.toml": SETTINGS, ".belljar/config.toml": SETTINGS, "belljar/config.toml": SETTINGS,
    ".config/belljar/config.toml": SETTINGS, "policies/strict.toml": LOOSE, "policies/standard.toml": LOOSE, "strict.toml": LOOSE, "standard.toml": LOOSE, "standard": LOOSE,
    ".env": "BELLJAR_PROFILE=open\nBELLJAR_MASKING=no\n", "sitecustomize.py": "open({touched!r}, 'w'); print('PLANTED')", "usercustomize.py": "open({touched!r}, 'w'); print('PLANTED')",
    "site-packages/x.pth": "import os; os.system('touch {touched}')\n", "json.py": "print('PLANTED')", "random.py": "print('PLANTED')", "encodings.py": "print('PLANTED')",
    ".pythonrc": "print('PLANTED')", ".bashrc": "echo PLANTED; touch {touched}", ".bash_profile": "echo PLANTED; touch {touched}", ".profile": "echo PLANTED; touch {touched}",
    ".inputrc": "", "pyvenv.cfg": "home = /nonexistent\n", "python3._pth": "import site\n", "pybuilddir.txt": "x",
}  # fmt: skip


@pytest.fixture
def planted(who):
    there = who.directory("planted")
    touched = there / "touched"
    for name, text in PLANTED.items():
        path = there / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            continue
        path.write_text(text.replace("{touched!r}", repr(str(touched))).replace("{touched}", str(touched)))
    for folder, _, files in os.walk(there):
        who.own(folder)
        for name in files:
            who.own(os.path.join(folder, name))
    yield there
    assert not touched.exists()


PROGRAM = "import json, random\nprint(1)"


@pytest.mark.parametrize("mode", ["ro", "rw", "cow"])
def test_files_of_a_grant_decide_nothing(who, planted, mode):
    allow = ["--allow", f"{planted}:{mode}"]
    plain = who.call("config", "--json").json
    assert who.call("config", "--json", cwd=planted).json == plain
    # The profile is the real one, by its name, from inside the directory as from anywhere.
    answer = who.call("run", "--json", *allow, "-c", "import ctypes", cwd=planted)
    assert answer.status == "refused" and answer.json["profile"] == "standard", answer
    answer = who.call("run", "--json", "--profile", "strict", "-c", "import subprocess", cwd=planted)
    assert answer.status == "refused" and answer.json["profile"] == "strict", answer
    for code in (PROGRAM, "print(1)"):
        answer = who.call("run", "--json", *allow, "-c", code, cwd=planted)
        assert answer.status == "success" and answer.json["stdout"] == "1\n", answer
    answer = who.call("run", "--json", "--profile", "open", *allow, "-l", "bash", "-c", "echo 1", cwd=planted)
    assert answer.json["stdout"] == "1\n" and "PLANTED" not in answer.text, answer
    # The settings of the directory would have masked nothing and recorded nothing.
    answer = who.call("run", "--json", *allow, "-c", "print('gh' + 'p_0123456789abcdefghijABCDEFGHIJ012345')", cwd=planted)
    assert "REDACTED" in answer.json["stdout"], answer
    assert who.call("audit", "show", answer.json["id"]).code == 0


def test_variables_for_the_program_are_its_own(who, planted):
    """A caller's --env reaches the program, when it runs, and nothing of Belljar's."""
    switches = {
        "BELLJAR_PROFILE": "open", "BELLJAR_MASKING": "no", "BELLJAR_TRAIL": "off", "BELLJAR_ALLOW": "/etc", "XDG_CONFIG_HOME": str(planted / ".config"), "PYTHONPATH": str(planted),
        "PYTHONSTARTUP": str(planted / ".pythonrc"), "PYTHONHOME": str(planted), "PYTHONINSPECT": "1", "BASH_ENV": str(planted / ".bashrc"), "ENV": str(planted / ".profile"),
        "LD_PRELOAD": str(planted / "x.so"), "LD_LIBRARY_PATH": str(planted), "LD_AUDIT": str(planted / "x.so"), "GLIBC_TUNABLES": "glibc.malloc.check=3",
    }  # fmt: skip
    words = [w for name, value in switches.items() for w in ("--env", f"{name}={value}")]
    answer = who.call("run", "--json", *words, "-c", "import ctypes", cwd=planted)
    assert answer.status == "refused", answer
    answer = who.call("run", "--json", *words, "-c", "print('gh' + 'p_0123456789abcdefghijABCDEFGHIJ012345')")
    assert "REDACTED" in answer.json["stdout"] and who.call("audit", "show", answer.json["id"]).code == 0, answer


@pytest.mark.parametrize("mode, is_refused", [("rw", True), ("cow", True), ("ro", False)])
def test_rules_are_not_read_from_where_the_program_can_write(who, mode, is_refused):
    there = who.directory("rules")
    (there / "deep" / "er").mkdir(parents=True)
    (there / "deep" / "er" / "own.toml").write_text('inherits = "standard"\n')
    (there / "settings.toml").write_text("timeout_s = 10\n")
    outside = who.file("child.toml", f'inherits = "{there}/deep/er/own.toml"\n')
    link = who.directory("links") / "own.toml"
    link.symlink_to(there / "deep" / "er" / "own.toml")
    for words in (["--profile", there / "deep/er/own.toml"], ["--profile", f"{there}/deep/../deep/er/own.toml"], ["--profile", outside], ["--profile", link], ["--config", there / "settings.toml"]):
        answer = who.call("run", "--json", "--allow", f"{there}:{mode}", *words, "-c", "print(1)")
        if is_refused:
            assert answer.code == 77 and answer.json["error"]["code"] == "denied" and "may write" in answer.json["error"]["message"], answer
            assert answer.json["error"]["hint"], answer
        else:
            assert answer.status == "success", answer


@pytest.mark.parametrize("option", ["BELLJAR_TRAIL_DIR", "BELLJAR_POLICIES_DIR"])
def test_directories_of_belljar_are_not_where_the_program_can_write(who, option):
    there = who.directory("ours")
    for name in ("strict", "standard", "open"):
        (there / f"{name}.toml").write_text((belljar.ROOT / "policies" / f"{name}.toml").read_text())
    for grant in (there, there.parent):
        answer = who.call("run", "--json", "--allow", f"{grant}:cow", "-c", "print(1)", env={option: str(there)})
        assert answer.code == 77 and answer.json["error"]["code"] == "denied" and answer.json["error"]["hint"], answer


def test_a_session_cannot_change_its_profile(server):
    """A restriction loosened in one cell holds in the next, whatever the cell wrote and wherever."""
    made = server.post("/v1/sessions", {"profile": "standard"}).json
    code = textwrap.dedent("""
        for name in (".belljar.toml", "belljar.toml", "config.toml", "standard.toml", "sitecustomize.py", ".bashrc"):
            open("/workspace/" + name, "w").write('profile = "open"')
        print(1)""")
    path = f"/v1/sessions/{made['session_id']}"
    assert server.post(path + "/execute", {"code": code}).json["stdout"] == "1\n"
    assert server.post(path + "/execute", {"code": "import subprocess"}).json["status"] == "refused"
    assert server.post(path + "/execute", {"code": "import ctypes", "profile": "open"}).json.get("status") != "success"
    server.call("DELETE", path)


def test_an_mcp_call_cannot_loosen_the_command(who, planted):
    with mcp.Client(who, "--profile", "strict") as client:
        client.initialize()
        for more in ({}, {"profile": "open"}, {"masking": "no"}, {"config": str(planted / "config.toml")}, {"allow": ["/etc"]}):
            result = client.call("execute_python_code", {"code": "import ctypes\nprint(os.getpid())", **more})
            assert result.get("isError"), (more, result)
            assert json.dumps(result).count("getpid") == 0 or "refused" in json.dumps(result), (more, result)
