"""Directories of the host in runs and sessions of a server: what the settings allow, for whom, and nothing beside it."""
import os
import re
import shutil
import threading
import time

import pytest

from serving import Server, wait_until

READ = "import os\nfor p in {paths!r}:\n    try: print(p, sorted(os.listdir(p)))\n    except OSError as e: print(p, type(e).__name__)"


@pytest.fixture
def place(who, base):
    """data (read), out (write) and secret (not named), with something in each."""
    root = os.path.join(base, f"grants-{who.name}")
    for name in ("data/deep", "out", "secret"):
        os.makedirs(os.path.join(root, name))
    for name in ("data/a", "data/deep/b", "out/old", "secret/key"):
        with open(os.path.join(root, name), "w", encoding="ascii") as file:
            file.write(name)
    for directory, _, files in os.walk(root):
        who.own(directory)
        for name in files:
            who.own(os.path.join(directory, name))
    os.symlink(os.path.join(root, "secret"), os.path.join(root, "out", "link"))
    os.symlink(os.path.join(root, "data", "deep"), os.path.join(root, "data", "short"))
    yield root
    shutil.rmtree(root)


@pytest.fixture
def server(who, place):
    s = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{place}/data,{place}/out:rw"})
    yield s
    assert s.stop() == 0, s.said


def refused(server, allow, status=403, **more):
    answers = [server.post(path, {**body, "allow": allow, **more}) for path, body in (("/v1/run", {"code": "1"}), ("/v1/sessions", {}))]
    assert {a.status for a in answers} == {status}, answers
    assert answers[0].error == answers[1].error
    return answers[0].error


def test_a_run_sees_what_it_asked_for_and_nothing_else(server, place):
    paths = [f"{place}/data", f"{place}/out", f"{place}/secret", place]
    code = READ.format(paths=paths)
    assert server.run(code, allow=[])["stdout"].count("FileNotFoundError") == 4
    said = server.run(code)["stdout"]
    assert said.count("FileNotFoundError") == 1 and f"{place}/secret File" in said, "all that is allowed, where nothing is named"
    said = server.run(code, allow=[f"{place}/data"])["stdout"]
    assert f"{place}/data ['a', 'deep', 'short']" in said and f"{place}/out File" in said and f"{place}/secret File" in said
    said = server.run(f"print(open('{place}/data/deep/b').read()); open('{place}/out/new', 'w').write('x')",
                      allow=[f"{place}/out:rw", f"{place}/data/deep"])  # fmt: skip
    assert said["stdout"] == "data/deep/b\n" and said["status"] == "success", said
    assert os.stat(f"{place}/out/new").st_uid == os.stat(f"{place}/out").st_uid


def test_what_is_for_reading_cannot_be_written(server, place):
    for allow in (f"{place}/data", f"{place}/data:ro", f"{place}/out"):
        directory = allow.removesuffix(":ro")
        result = server.run(f"open('{directory}/new', 'w')", allow=[allow])
        assert result["error"]["name"] in ("OSError", "PermissionError"), result
        assert not os.path.exists(f"{directory}/new")


def test_a_session_keeps_its_directories_and_so_do_its_copies(server, place):
    assert server.post("/v1/sessions", {"name": "g", "allow": [f"{place}/out:rw"]}).status == 201
    cell = server.post("/v1/sessions/g/execute", {"code": f"open('{place}/out/one', 'w').write('1')"}).json
    assert cell["status"] == "success", cell
    reply = server.post("/v1/sessions/g/fork", {})
    if reply.status == 501:  # a checked build copies no memory
        return
    copy = reply.json["sessions"][0]["session_id"]
    cell = server.post(f"/v1/sessions/{copy}/execute", {"code": f"print(open('{place}/out/one').read())"}).json
    assert cell["stdout"] == "1\n", cell


def test_everything_else_gets_one_answer(server, place):
    """Whether it is there or not, is a file, a link out of what is allowed, or allowed only for reading."""
    texts = set()
    for path in (f"{place}/secret", f"{place}/nowhere", f"{place}/secret/key", place, "/", "/etc", "/root", "/proc/self", "/run",
                 f"{place}/data/../secret", f"{place}/data/nowhere", f"{place}/data/a", f"{place}/out/link", f"{place}/data2", "relative", "data",
                 f"{place}/data:rw", f"{place}/data/deep:rw"):  # fmt: skip
        error = refused(server, [path])
        assert error["code"] == "denied"
        texts.add(error["message"].replace(f"`{path}`", "*") + error["hint"])
    assert len(texts) == 1, texts


def test_no_link_is_followed(server, place):
    assert refused(server, [f"{place}/data/short"])["code"] == "denied"


def test_a_link_made_by_a_program_does_not_widen_the_settings(who, place):
    inner = f"{place}/out/inner"
    os.mkdir(inner)
    who.own(inner)
    server = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{place}/out:rw,{inner}"})
    result = server.run(f"import os\nos.rename('{inner}', '{place}/out/.i'); os.symlink('{place}/secret', '{inner}')", allow=[f"{place}/out:rw"])
    assert os.path.islink(inner), result
    for path in inner, f"{place}/secret":
        assert refused(server, [path])["code"] == "denied"
    assert server.stop() == 0, server.said


@pytest.mark.parametrize("allow, status", [("x", 400), ([1], 400), ([""], 400), ([":rw"], 400), (["/a"] * 40, 400), ({}, 400), (["/" + "a" * 5000], 403)])
def test_what_is_no_list_of_directories_is_refused(server, allow, status):
    refused(server, allow, status)


def test_the_same_directory_twice_is_a_mistake(server, place):
    refused(server, [f"{place}/out", f"{place}/out:rw"], 400)
    refused(server, [f"{place}/data/deep", f"{place}/data/../data/deep/"], 400)


def test_a_profile_without_files_has_none(server, place):
    assert "profile `strict`" in refused(server, [f"{place}/data"], profile="strict")["message"]


def test_tokens_need_the_right(server, who, place):
    plain, granted = (
        re.search(r"bj_[0-9a-f]{64}", who.call("token", "add", *words).text)[0] for words in (["plain"], ["granted", "--grants"])
    )
    ask = {"code": READ.format(paths=[f"{place}/data"]), "allow": [f"{place}/data"]}
    reply = server.post("/v1/run", ask, headers={"Authorization": f"Bearer {plain}"})
    assert reply.status == 403 and reply.error["message"] == "this token may not use directories of the host"
    reply = server.post("/v1/run", ask, headers={"Authorization": f"Bearer {granted}"})
    assert reply.status == 200 and "['a'" in reply.json["stdout"], reply
    assert re.search(r"^granted .* grants$", who.call("token", "list").text, re.MULTILINE)
    for name in ("plain", "granted"):
        who.call("token", "rm", name)


def narrow(who, name, *words):
    """Gives a token other rights."""
    path = str(who.home / "state" / "belljar" / "tokens.toml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = text.index(f"[{name}]")
    end = text.find("\n[", at)
    end = len(text) if end < 0 else end
    kept = "".join(line + "\n" for line in text[at:end].splitlines() if not line.startswith(("grants", "profiles")))
    with open(path + ".new", "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600)) as file:
        file.write(text[:at] + kept + "".join(word + "\n" for word in words) + text[end:])
    who.own(path + ".new")
    os.rename(path + ".new", path)


# The first write is the cell's own: the broker holds those of a thread until a cell runs.
WRITE_ON = """import threading, time
open({path!r}, 'a').write('x')
def go_on():
    while True:
        open({path!r}, 'a').write('x')
        time.sleep(0.02)
threading.Thread(target=go_on, daemon=True).start()
"""


def test_a_right_that_is_taken_away_ends_what_uses_it(server, who, place):
    """Sessions with what runs in them between cells, their copies, and runs; what does not need the right goes on."""
    token = re.search(r"bj_[0-9a-f]{64}", who.call("token", "add", "less", "--grants").text)[0]
    own = {"headers": {"Authorization": f"Bearer {token}"}}
    out, file, begun = [f"{place}/out:rw"], f"{place}/out/on", f"{place}/out/begun"
    answers = []
    code = f"import time; open({begun!r}, 'w').close(); time.sleep(50)"
    run = threading.Thread(target=lambda: answers.append(server.post("/v1/run", {"code": code, "allow": out, "timeout_s": 60}, **own)))
    try:
        for body in ({"name": "plain", "allow": []}, {"name": "all"}, {"name": "strict", "profile": "strict"}, {"name": "granted", "allow": out}):
            assert server.post("/v1/sessions", body, **own).status == 201
        assert server.post("/v1/sessions/granted/execute", {"code": "x = 1"}, **own).json["status"] == "success"
        forked = server.post("/v1/sessions/granted/fork", {}, **own)
        copies = [s["session_id"] for s in forked.json["sessions"]] if forked.status == 200 else []
        for name in ("granted", *copies):
            cell = server.post(f"/v1/sessions/{name}/execute", {"code": WRITE_ON.format(path=file)}, **own).json
            assert cell["status"] == "success", cell
        run.start()
        wait_until(lambda: os.path.exists(file) and os.path.exists(begun), "the programs write")
        narrow(who, "less", 'profiles = ["open"]')
        assert server.post("/v1/sessions/plain/execute", {"code": "print(1)"}, **own).json["stdout"] == "1\n"
        for name in ("granted", "all", "strict", *copies):
            for what, body in (("execute", {"code": "1"}), ("fork", {}), ("checkpoint", {"name": "c"})):
                assert server.post(f"/v1/sessions/{name}/{what}", body, **own).status == 404, (name, what)
            assert server.call("GET", f"/v1/sessions/{name}/files", **own).status == 404
        run.join(45)  # it would sleep for longer
        assert answers and answers[0].json["status"] == "cancelled", answers
        wait_until(lambda: [os.path.getsize(file), time.sleep(0.3)][0] == os.path.getsize(file), "the writing ends")
    finally:
        who.call("token", "rm", "less")
        if run.ident:
            run.join()


def test_what_is_not_for_programs_is_refused_and_said(server, place):
    """A hook of git, a shell's settings: whoever works in that directory would run them."""
    before = set(os.listdir(f"{place}/out"))
    code = f"import os\nopen('{place}/out/fine', 'w')\ntry: os.makedirs('{place}/out/.git/hooks')\nexcept OSError as e: print(e.errno)\nopen('{place}/out/.bashrc', 'w').write('x')"
    answer = server.run(code, allow=[f"{place}/out:rw"], profile="open")
    assert answer["status"] == "error" and answer["stdout"] == "1\n", answer
    assert [d["what"] for d in answer["denials"]] == [f"create {place}/out/.git", f"create {place}/out/.bashrc"], answer
    assert set(os.listdir(f"{place}/out")) - before == {"fine"}
    assert server.post("/v1/sessions", {"name": "w", "allow": [f"{place}/out:rw"], "profile": "open"}).status == 201
    for name in (".zshrc", ".envrc"):  # each cell has its own
        cell = server.post("/v1/sessions/w/execute", {"code": f"open('{place}/out/{name}', 'w').write('x')"}).json
        assert [d["what"] for d in cell["denials"]] == [f"create {place}/out/{name}"], cell
    server.call("DELETE", "/v1/sessions/w")
    assert set(os.listdir(f"{place}/out")) - before == {"fine"}


def test_without_settings_nothing_is_allowed(who, place):
    s = Server(who, "--socket", "none")
    refused(s, [f"{place}/data"])
    assert s.stop() == 0


def test_code_of_a_configured_server_is_not_granted_for_writing(who, place):
    """It runs outside: whoever writes beside its script decides what it does."""
    os.makedirs(f"{place}/out/tool")
    who.own(f"{place}/out/tool")
    config = who.file("tool.toml", f'[servers.x]\ncommand = "python3"\nargs = ["-m", "tool"]\ncwd = "{place}/out/tool"\n')
    s = Server(who, "--socket", "none", "--config", config, env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{place}/out:rw"})
    error = refused(s, [f"{place}/out/tool:rw"])
    assert "runs code from" in error["message"] and "cwd" in error["hint"], error
    said = s.run(f"open('{place}/out/free', 'w').write('x')\nopen('{place}/out/tool/tool.py', 'w').write('evil')", allow=[f"{place}/out:rw"])
    assert said["status"] != "success" and os.path.exists(f"{place}/out/free") and os.listdir(f"{place}/out/tool") == [], said
    assert s.stop() == 0, s.said
