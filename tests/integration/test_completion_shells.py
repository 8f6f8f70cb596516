"""Completion for bash, zsh and fish: made from the program's own help, with names that the program is asked for."""
import importlib.util
import re
import shutil
import subprocess

import belljar
import pytest

BUILD = belljar.program_path().parent
FILES = {"bash": "belljar", "zsh": "_belljar", "fish": "belljar.fish"}


def generator():
    spec = importlib.util.spec_from_file_location("gen_completion", belljar.ROOT / "tools/gen-completion.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def commands():
    return generator().read(belljar.program_path())


def shell(name, script, *words, env=None):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    answer = subprocess.run([name, "-c", script, *words], capture_output=True, text=True, timeout=belljar.HANG_SECONDS, env=env)
    assert answer.returncode == 0 and not answer.stderr, answer
    return answer.stdout


def complete(*words, env=None):
    """Bash's completions for the last word."""
    script = (
        f". '{BUILD}/docs/belljar'; COMP_WORDS=(belljar \"$@\"); COMP_CWORD=$#\n"
        f"_belljar '{belljar.program_path()}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return shell("bash", script, "bash", *words, env=env).split()


def test_every_option_is_offered_and_every_offer_is_an_option(commands, user):
    offered = {name for command in commands for option in command.options for name in option.names}
    tables = "".join(path.read_text(encoding="utf-8") for path in (belljar.ROOT / "src/cli").rglob("*.[ch]"))
    known = set(re.findall(r'\{"([a-z-]+)",\s*(?:no|required)_argument', tables))
    # Words for people who spell it out; the help has the letter.
    assert {f"--{name}" for name in known} - offered <= {"--language", "--requirements"}, known
    for command in commands:
        for option in command.options:
            for name in option.names:
                if not name.startswith("--") or name == "--help":
                    continue
                answer = user.call(command.name, name if option.value else f"{name}=x")
                expected = f"option `{name}` {'needs a value' if option.value else 'takes no value'}"
                assert answer.code == 64 and expected in answer.errors, (command.name, answer)


def test_every_action_is_one(commands, user):
    for command in commands:
        for action in command.actions:
            assert "unknown action" not in user.call(command.name, action, "--no-such-flag").errors


def test_bash_completes_every_command_and_its_actions(who):
    commands = re.findall(r"^  ([a-z]+) +\S", who.call("--help").text.partition("commands:")[2].partition("example:")[0], re.M)
    assert sorted(complete("")) == sorted([*commands, "help", "--help", "--version"])
    assert complete("token", "") == ["add", "list", "rm"]
    assert complete("session", "s") == ["show"]
    assert complete("help", "ser") == ["serve"]
    clients = re.findall(r"^  ([a-z-]+) +[A-Z]", who.call("setup", "--help").text.partition("clients:")[2].partition("\n\n")[0], re.M)
    assert complete("setup", "") == clients
    assert complete("run", "--rece") == ["--receipt"]
    assert complete("run", "-l", "p") == ["python"]
    assert complete("mcp", "--tools", "") == ["few", "all"]
    assert set(complete("exec", "--", "unshar")) == {"unshare"}


def test_bash_completes_names(tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    assert sorted(complete("run", "--profile", "st", env=env)) == ["standard", "strict"]
    assert "csv-profile" in complete("skills", "show", "c", env=env)
    assert complete("session", "show", "", env=env) == []  # no server: nothing, and no message


def test_names_of_strangers_are_never_evaluated(tmp_path):
    """A session's name comes from an agent."""
    fake = tmp_path / "belljar"
    canary = tmp_path / "canary"
    fake.write_text(f"""#!/bin/sh\nprintf '    "name": "$(touch {canary})",\\n    "name": "good-1",\\n    "name": "a;b",\\n'\n""")
    fake.chmod(0o755)
    script = (
        f". '{BUILD}/docs/belljar'; COMP_WORDS=(belljar session show ''); COMP_CWORD=3\n"
        f"_belljar '{fake}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    assert shell("bash", script).split() == ["good-1"]
    path = f"{tmp_path}:/usr/bin:/bin"
    assert shell("fish", f"source '{BUILD}/docs/belljar.fish'; complete -C 'belljar session show '", env={"PATH": path, "HOME": str(tmp_path)}).split() == ["good-1"]
    assert not canary.exists()


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_what_the_program_says_now_and_parses(name):
    text = (BUILD / "docs" / FILES[name]).read_text(encoding="utf-8")
    assert text == getattr(generator(), name)(generator().read(belljar.program_path()))
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    checked = subprocess.run([name, "-n", BUILD / "docs" / FILES[name]], capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stderr, checked


def test_fish_completes(tmp_path):
    def ask(line):
        path = f"{belljar.program_path().parent}:/usr/bin:/bin"
        out = shell("fish", f"source '{BUILD}/docs/belljar.fish'; complete -C '{line}'", env={"PATH": path, "HOME": str(tmp_path)})
        return [entry.split("\t")[0] for entry in out.splitlines()]

    assert ask("belljar sessi") == ["session"]
    assert ask("belljar session sh") == ["show"]
    assert "--receipt" in ask("belljar run --rec")
    assert sorted(ask("belljar run --profile st")) == ["standard", "strict"]
    assert ask("belljar skills show csv") == ["csv-profile"]
