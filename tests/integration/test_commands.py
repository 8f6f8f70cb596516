"""doctor, config, version."""
import json
import re

import belljar
import pytest

pytestmark = pytest.mark.usefixtures("watch")


@pytest.mark.smoke
def test_version(who):
    answer = who.call("version")
    assert answer.code == 0 and re.match(r"belljar \d+\.\d+\.\d+\n$", answer.text), answer
    assert who.call("--version").out == answer.out


def test_version_as_json(who):
    found = json.loads(who.call("version", "--json").out)
    assert re.match(r"\d+\.\d+\.\d+$", found["version"]), found


@pytest.mark.smoke
def test_doctor_grades_the_host(who):
    answer = who.call("doctor", "--json")
    found = answer.json
    assert found["grade"] in list("ABCDEF"), found
    assert found["layers"], found
    for layer in found["layers"]:
        assert layer["name"] and isinstance(layer["present"], bool), layer
        assert layer["protects"], layer
        if not layer["present"]:
            assert layer["improve"], layer


def test_doctor_knows_the_layers_a_run_has(who):
    has = {layer["name"] for layer in who.call("doctor", "--json").json["layers"] if layer["present"]}
    for name in who.run("1").json["layers"]:
        assert name in has or name == "no-new-processes", (name, has)


def test_doctor_names_python_and_preloads(who):
    found = who.call("doctor", "--json").json
    text = json.dumps(found)
    assert "3.11" in text or "3." in text and "numpy" in text, found


def test_doctor_for_people(who):
    answer = who.call("doctor")
    assert answer.code == 0 and "seccomp" in answer.text and b"\x1b" not in answer.out, answer


def test_config_shows_every_option_and_its_source(who):
    answer = who.call("config", env={"BELLJAR_MEMORY_MB": "300"})
    assert answer.code == 0, answer
    line = [l for l in answer.text.splitlines() if "memory_mb" in l and "max" not in l]
    assert line and "300" in line[0] and "BELLJAR_MEMORY_MB" in line[0], answer


def test_config_shows_servers_and_functions_without_their_secrets(user):
    text = """
    [servers.notes]
    command = "notes-server"
    env = { KEY = "hidden-1" }
    [functions.find]
    description = "Finds."
    severity = "read_only"
    command = ["/usr/bin/find-order"]
    [functions.get]
    description = "Gets."
    severity = "read_only"
    request = "GET https://orders.example.org/v1/orders"
    headers = { Authorization = "Bearer hidden-2" }
    """
    answer = user.call("config", "--config", user.file("functions.toml", text))
    assert answer.code == 0 and "hidden" not in answer.text, answer
    for line in ("servers.notes  notes-server", "functions.find  /usr/bin/find-order", "functions.get  GET https://orders.example.org/v1/orders"):
        assert line in answer.text.splitlines()


def test_config_tells_of_old_names_in_the_profile(user, tmp_path):
    path = user.home / "old-names.toml"
    path.write_text('inherits = "standard"\n[limits]\ncpu_percent = 50\n')
    answer = user.call("config", env={"BELLJAR_PROFILE": str(path)})
    assert answer.code == 0 and "`limits.cpu_percent` is now called `limits.cpus`" in answer.errors, answer
    assert user.call("config").errors == ""
    answer = user.call("run", "-c", "print(1)", env={"BELLJAR_PROFILE": str(path)})
    assert (answer.code, answer.text) == (0, "1\n"), answer


@pytest.mark.parametrize("name, value", [("EXECUTION_TIMEOUT", "17"), ("MEMORY_LIMIT_MB", "333")])
def test_names_of_older_systems_are_honoured(who, name, value):
    assert value in who.call("config", env={name: value}).text


def test_help_of_every_command(who):
    overview = who.call("--help")
    commands = re.findall(r"^  ([a-z]+) +\S.*$", overview.text.partition("commands:")[2].partition("example:")[0], re.M)
    assert overview.code == 0 and {"run", "shell", "serve", "mcp", "audit", "token"} <= set(commands), overview
    for command in commands:
        answer = who.call(command, "--help")
        assert answer.code == 0 and answer.text.startswith(f"usage: belljar {command}"), answer
        assert who.call("help", command).text == answer.text
        assert max(map(len, who.call(command, "--help=all").text.splitlines())) <= 80, command
    assert who.call("help").text == overview.text
    assert who.call("help", "rnu").code == 64


def long_options(who, command):
    """Every long option of a command: those of its help, and those of its manual page."""
    page = belljar.ROOT / "docs" / "man" / f"belljar-{command}.1.scd"
    text = who.call(command, "--help").text + (page.read_text() if page.exists() else "")
    return {"help", *re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text)}


@pytest.mark.parametrize("value", [[], ["=1"], ["", "1"]], ids=["bare", "equals", "apart"])
def test_no_command_takes_an_abbreviated_option(user, value):
    overview = user.call("--help").text
    commands = re.findall(r"^  ([a-z]+) +\S", overview.partition("commands:")[2].partition("example:")[0], re.M)
    for command in commands:
        names = long_options(user, command)
        for name in names:
            if name[:-1] in names:
                continue
            words = [f"--{name[:-1]}" + (value[0] if value else ""), *value[1:]]
            answer = user.call(command, *words, hang=20)
            assert answer.code == 64 and answer.out == b"", answer
            assert f"unknown option `--{name[:-1]}`" in answer.errors and "hint: " in answer.errors, answer


def test_an_abbreviated_option_names_the_whole_one(user):
    for command, word, whole in [("run", "--prof=open", "--profile"), ("run", "--allo=/", "--allow"), ("serve", "--list", "--listen"),
                                 ("doctor", "--pro", "--prove"), ("token", "--opera", "--operator")]:  # fmt: skip
        answer = user.call(command, word)
        assert answer.code == 64 and f"did you mean `{whole}`?" in answer.errors, answer


@pytest.mark.parametrize("command", ["run", "exec", "batch", "shell", "serve", "mcp"])
def test_help_fits_a_screen_and_all_of_it_is_one_option_away(who, command):
    lines = who.call(command, "--help").text.splitlines()
    assert len(lines) < 24 and max(map(len, lines)) <= 80, lines  # and the prompt of the shell
    assert not [line for line in lines if line.startswith("  -") and ", -" in line], lines
    more = re.search(f"`belljar ({command}) (--help=all)`", "\n".join(lines)).groups()
    whole = who.call(*more).text.splitlines()
    assert max(map(len, whole)) <= 80 and {line for line in lines if line.startswith("  -")} < set(whole), whole
    assert {"--pids", "--disk"} <= set(re.findall("--[a-z-]+", "\n".join(whole))), whole


@pytest.mark.parametrize("command", ["run", "shell"])
def test_help_says_the_defaults(who, command):
    lines = who.call(command, "--help").text.splitlines()
    for flag, default in (("--timeout", "(none)"), ("--memory", "(3/4 of all)"), ("--profile", "(standard)")):
        assert [line for line in lines if flag in line and line.endswith(default)], (flag, lines)


@pytest.mark.parametrize(
    "words",
    [
        ("--seconds", "abc"), ("--seconds", "0"), ("--seconds", "nan"), ("--seconds", "3x"), ("--runs", "abc"), ("--runs", "-1"),
        ("--runs", "0"), ("--idle", "10,x"), ("--idle", "10,"), ("--idle", "0"), ("--idle", ",".join(["1"] * 17)), ("--only", "all"),
    ],
)  # fmt: skip
def test_bench_takes_no_number_that_is_none(who, words):
    answer = who.call("bench", *words)
    assert answer.code == 64 and answer.out == b"", answer
    assert answer.errors.startswith(f"belljar: {words[0]}") and "\nhint: " in answer.errors, answer


def test_bench_measures_a_stock_with_the_limits_of_the_settings(who):
    """A stock made with others would fit no run, and would not be what is measured."""
    settings = {"BELLJAR_DISK_MB": "8", "BELLJAR_POOL_SIZE": "2", "BELLJAR_POOL_HOT": "0"}
    answer = who.call("bench", "--runs", "2", "--only", "stock", "--json", env=settings)
    assert answer.code == 0 and answer.json["pool_print"]["failed"] == 0, answer
    assert answer.json["pool_print"]["from_stock"] == answer.json["pool_print"]["runs"] == 2, answer


def test_bench_measures_cells_and_sessions_that_answer_rightly(who):
    answer = who.call("bench", "--runs", "2", "--only", "cell,sessions", "--idle", "2", "--json")
    assert answer.code == 0, answer
    for name in ("cell_expression", "cell_print", "cell_pandas", "cell_bash", "session_open_print", "cell_with_2_open"):
        assert answer.json[name]["failed"] == 0 and answer.json[name]["runs"] == 2, (name, answer)
    for name in ("sessions_2_fresh", "sessions_2_pandas"):
        row = answer.json[name]
        assert row["failed"] == 0 and row["count"] == 2 and 0 < row["private_mb"] <= row["pss_mb"], (name, answer)


def test_no_colours_into_a_pipe(who):
    for args in (("doctor",), ("config",), ("run", "-c", "1/0")):
        answer = who.call(*args)
        assert b"\x1b" not in answer.out + answer.err, answer
