"""`belljar serve` as an operator meets it: what it says of itself, what it logs, and settings that are read again."""
import json
import os
import re
import signal
import subprocess

import pytest

import belljar
import serving

SPEAKS_JSON = {"BELLJAR_LOG_FORMAT": "json"}


def start(who, *args, env=None):
    return who.start("serve", "--listen", "127.0.0.1:0", "--socket", "none", *args, env={**serving.PLAIN, **(env or {})},
                     stderr=subprocess.STDOUT)  # fmt: skip


def fails(process):
    said = process.communicate(timeout=belljar.HANG_SECONDS)[0].decode()
    assert process.returncode not in (0, None), said
    return said


# --- what it is ---


def test_the_root_names_belljar(server):
    answer = server.get("/", headers={"Authorization": None}).json
    assert answer["service"] == "Belljar" and answer["version"] == server.who.call("version").text.split()[1]


def test_the_root_names_pyrunner_where_that_door_is_chosen(user):
    server = serving.Server(user, "--socket", "none", "--compat", "pyrunner")
    answer = server.get("/").json
    assert (answer["service"], answer["version"]) == ("PyRunner", "1.0.0")
    assert server.stop() == 0


# --- the log ---


def test_every_line_is_json_from_the_first_to_the_last(user):
    process = start(user, env=SPEAKS_JSON)
    lines = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert re.search(r"listening on http://127\.0\.0\.1:\d+$", lines[0]["message"]) and lines[0]["event"] == "listen"
    assert "the token is in " in lines[1]["message"]
    process.send_signal(signal.SIGTERM)
    rest = [json.loads(line) for line in process.communicate(timeout=belljar.HANG_SECONDS)[0].splitlines()]
    assert [line["event"] for line in rest] == ["stop", "stop"] and rest[-1]["message"] == "stopped", rest


def test_a_failing_start_is_json_too(user):
    said = fails(start(user, "--allow", "/nowhere/at/all", env=SPEAKS_JSON))
    lines = [json.loads(line) for line in said.splitlines()]
    assert lines[-1]["level"] == "error" and "/nowhere/at/all" in lines[-1]["message"] and lines[-1]["hint"]


def test_refused_tokens_are_logged_once_a_second(user):
    server = serving.Server(user, "--socket", "none")
    for _ in range(50):
        assert server.get("/v1/stats", headers={"Authorization": "Bearer blj_wrong"}).status == 401
    assert server.stop() == 0
    lines = [line for line in "\n".join(server.said).splitlines() if " auth " in line]
    assert lines and len(lines) < 50 and all("peer=127.0.0.1" in line for line in lines), lines
    assert not any("blj_wrong" in line for line in lines)


# --- wrong paths ---


@pytest.mark.parametrize("args, word", [
    (("--allow", "/nowhere/at/all"), "/nowhere/at/all"),
    (("--allow", "/etc/passwd"), "/etc/passwd"),
    (("--workdir", "/nowhere"), "/nowhere"),
    (("--profile", "/nowhere.toml"), "/nowhere.toml"),
])  # fmt: skip
def test_a_wrong_path_is_told_at_the_start(user, args, word):
    assert word in fails(start(user, *args))


# --- settings that are read again ---


@pytest.fixture
def settings(user):
    return user.file("settings.toml", "timeout_s = 20\n")


def reload(server, words):
    """The line of the log about it, which has the words."""
    server.process.send_signal(signal.SIGHUP)
    server.read_line()
    server.wait_for(" reload ")
    assert words in server.said[-1]
    return server.said[-1]


def test_new_settings_are_taken_without_a_restart(user, settings):
    server = serving.Server(user, "--socket", "none", "--config", str(settings), "--memory", "200", stdin=subprocess.DEVNULL)
    slow = "import time; time.sleep(2)"
    assert server.run(slow)["status"] == "success"
    settings.write_text("timeout_s = 1\nmemory_mb = 100\nhttp_idle_s = 7\n")
    line = reload(server, "were read again")
    assert "timeout_s" in line and "memory_mb" not in line, "flags stay"
    assert "needs_restart=http_idle_s" in line
    assert server.run(slow)["status"] == "timeout"
    assert server.stop() == 0


def test_a_mistake_changes_nothing(user, settings):
    server = serving.Server(user, "--socket", "none", "--config", str(settings), stdin=subprocess.DEVNULL)
    for text, word in [("timeout_s = 'x'\n", "timeout_s"), ("timeout_s = 1\nallow = ['/nowhere/at/all']\n", "nowhere"),
                       ("timeout_s = 1\nprofile = 'nobody'\n", "nobody"), ("timeout_s = 1\nnonsense = 2\n", "nonsense")]:
        settings.write_text(text)
        assert " error " in reload(server, word)
    assert server.run("import time; time.sleep(1.5)")["status"] == "success"
    assert server.stop() == 0


def test_a_directory_can_be_granted_later_and_taken_back(user, settings):
    place = user.directory("project")
    server = serving.Server(user, "--socket", "none", "--config", str(settings), stdin=subprocess.DEVNULL)
    body = {"code": f"import os; print(os.listdir({str(place)!r}))", "profile": "open", "allow": [str(place)]}
    assert server.post("/v1/run", body).status == 403
    settings.write_text(f"allow = ['{place}']\n")
    reload(server, "allow")
    assert server.post("/v1/run", body).json["stdout"] == "[]\n"
    settings.write_text("")
    reload(server, "allow")
    assert server.post("/v1/run", body).status == 403
    assert server.stop() == 0


def test_a_profile_is_read_again(user, settings):
    text = 'inherits = "open"\n[limits]\ntimeout_s = %d\n'
    profile = user.file("own.toml", text % 20)
    settings.write_text(f"profile = '{profile}'\n")
    server = serving.Server(user, "--socket", "none", "--config", str(settings), stdin=subprocess.DEVNULL)
    slow = "import time; time.sleep(2)"
    session = server.post("/v1/sessions", {}).json["session_id"]
    assert server.run(slow)["status"] == "success"
    profile.write_text(text % 1)
    reload(server, "were read again")
    assert server.run(slow)["status"] == "timeout"
    # A session keeps the rules it was opened with.
    assert server.post(f"/v1/sessions/{session}/execute", {"code": slow}).json["status"] == "success"
    assert server.stop() == 0


def test_profiles_stay_in_their_directory(user, settings):
    """The directory is not reloadable, so what is in another one does not count."""
    other = user.directory("policies")
    for name in os.listdir(belljar.ROOT / "policies"):
        if name.endswith(".toml"):
            (other / name).write_text((belljar.ROOT / "policies" / name).read_text())
    (other / "standard.toml").write_text('inherits = "open"\n')
    server = serving.Server(user, "--socket", "none", "--config", str(settings), stdin=subprocess.DEVNULL)
    settings.write_text(f"policies_dir = '{other}'\n")
    assert "needs_restart=policies_dir" in reload(server, "were read again")
    assert server.run("import subprocess")["status"] == "refused"
    assert server.stop() == 0
