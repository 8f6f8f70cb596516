"""The directory in which programs start: the granted one if that is clear, else /workspace; at every door."""
import re
import secrets

import pytest

import mcp
from serving import Server

WHERE = "import pathlib; print(pathlib.Path.cwd())"


def make(who, name):
    path = who.directory(f"{name}-" + secrets.token_hex(4))
    (path / "sub").mkdir()
    (path / "a.txt").write_text("a\n")
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return path


def inside(path):
    """The path as a program sees it: in a sandbox, /var/tmp is a link to /tmp."""
    return re.sub("^/var/tmp/", "/tmp/", str(path))


@pytest.fixture
def one(who):
    return make(who, "one")


@pytest.fixture
def two(who):
    return make(who, "two")


def where(who, *args):
    return who.run(WHERE, *args).json["stdout"].strip()


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["", ":ro", ":rw", ":cow"])
def test_a_program_starts_in_the_one_granted_directory(who, one, mode):
    assert where(who, "--allow", f"{one}{mode}") == inside(one)
    answer = who.run("pwd; cat a.txt", "--language", "bash", "--allow", f"{one}{mode}")
    assert answer.json["stdout"] == inside(one) + "\na\n", answer


def test_without_a_grant_it_is_the_workspace(who):
    assert where(who) == "/workspace"
    assert where(who, "--workdir", "/workspace") == "/workspace"


def test_of_several_the_outermost_or_none(who, one, two):
    assert where(who, "--allow", one, "--allow", f"{one}/sub:rw") == inside(one)
    assert where(who, "--allow", one, "--allow", two) == "/workspace"


def test_a_setting_chooses(who, one, two):
    both = ("--allow", one, "--allow", f"{two}:rw")
    assert where(who, *both, "--workdir", two) == inside(two)
    assert where(who, *both, "--workdir", f"{one}/sub") == inside(one) + "/sub"
    assert where(who, "--allow", one, "--workdir", "/workspace") == "/workspace"
    (one / "link").symlink_to(one / "sub")
    assert where(who, *both, "--workdir", f"{one}/link") == inside(one) + "/sub"


@pytest.mark.parametrize("name", ["/usr", "/nowhere", "/", "/workspace/x", "/proc/self/cwd"])
def test_a_directory_that_is_not_granted_is_refused(who, one, name):
    answer = who.call("run", "--allow", one, "--workdir", name, "-c", WHERE)
    assert answer.code == 77 and f"`{name}` is not a granted directory" in answer.errors and str(one) in answer.errors, answer
    (one / "out").symlink_to("/usr")
    answer = who.call("run", "--allow", one, "--workdir", f"{one}/out", "-c", WHERE)
    assert answer.code == 77 and "is not a granted directory" in answer.errors, answer


def test_modules_of_the_directory_are_found(who, one):
    (one / "own_module.py").write_text("def f(): return 42\n")
    who.own(one / "own_module.py")
    answer = who.run("import own_module; print(own_module.f(), own_module.__file__)", "--profile", "open", "--allow", one)
    assert answer.json["stdout"] == f"42 {inside(one)}/own_module.py\n", answer


def test_modules_of_the_directory_stand_in_for_no_other(who, one):
    for name in ("json.py", "colorsys.py", "pandas.py"):
        (one / name).write_text("print('PLANTED')\n")
        who.own(one / name)
    answer = who.run("import json, colorsys, pandas; print(1)", "--profile", "open", "--allow", f"{one}:rw")
    assert answer.json["stdout"] == "1\n", answer


def test_api_and_relative_paths_begin_there(who, one):
    code = (
        "from api import filesystem\n"
        "print(filesystem.read_file('a.txt'), end='')\n"
        "filesystem.write_file('new/b.txt', 'b')\n"
        "open('c.txt', 'w').write('c')\n"
    )
    answer = who.run(code, "--allow", f"{one}:rw")
    assert answer.json["stdout"] == "a\n", answer
    assert (one / "new" / "b.txt").read_text() == "b" and (one / "c.txt").read_text() == "c"


def test_a_run_with_files_of_its_own_starts_beside_them(who, one):
    server = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": str(one)})
    try:
        files = [{"path": "in.txt", "content": "hello"}]
        code = "print(open('in.txt').read()); open('out.txt', 'w').write('x')"
        said = server.run(code, allow=[str(one)], files=files, collect=["*.txt"])
        assert said["stdout"] == "hello\n" and [f["path"] for f in said["collected"]] == ["in.txt", "out.txt"], said
        said = server.run(WHERE, allow=[str(one)], files=files, workdir=f"{one}/sub")
        assert said["stdout"] == inside(one) + "/sub\n", said
    finally:
        assert server.stop() == 0, server.said


def test_a_server_s_runs_sessions_and_copies(who, one, two):
    env = {"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{one}:rw,{two}", "BELLJAR_WORKDIR": str(two)}
    server = Server(who, "--socket", "none", env=env)
    try:
        def at(path, body):
            return server.post(path, {"code": WHERE, **body}).json["stdout"].strip()

        assert at("/v1/run", {"allow": [str(one), str(two)]}) == inside(two)
        assert at("/v1/run", {"allow": [str(one)]}) == inside(one), "the setting is for runs that have the directory"
        assert at("/v1/run", {"allow": [str(one), str(two)], "workdir": str(one)}) == inside(one)
        for named in (str(two), "/usr", "/nowhere"):
            reply = server.post("/v1/run", {"code": WHERE, "allow": [str(one)], "workdir": named})
            assert reply.status == 403 and "is not a granted directory" in reply.error["message"], reply
        assert server.post("/v1/sessions", {"name": "s", "allow": [f"{one}:rw"]}).status == 201
        assert at("/v1/sessions/s/execute", {}) == inside(one)
        assert server.post("/v1/sessions/s/execute", {"code": "pwd", "language": "bash"}).json["stdout"] == inside(one) + "\n"
        assert at("/v1/sessions/s/execute", {"code": "import os; os.chdir('sub')\n" + WHERE}) == inside(one) + "/sub"
        reply = server.post("/v1/sessions/s/fork", {})
        if reply.status != 501:  # a checked build copies no memory
            copy = reply.json["sessions"][0]["session_id"]
            assert at(f"/v1/sessions/{copy}/execute", {}) == inside(one) + "/sub"
        server.post("/v1/sessions/s/restart", {"language": "python"})
        assert at("/v1/sessions/s/execute", {}) == inside(one), "a new kernel starts where the first did"
    finally:
        assert server.stop() == 0, server.said


def test_mcp_over_a_pipe(who, one, two):
    with mcp.Client(who, "--allow", f"{one}:rw") as client:
        client.initialize()
        assert client.text("execute_python_code", {"code": WHERE}).splitlines()[0] == inside(one)
        assert client.text("execute_bash_code", {"code": "pwd"}).strip() == inside(one)
    with mcp.Client(who, "--allow", one, "--allow", two, "--workdir", f"{two}/sub") as client:
        client.initialize()
        assert client.text("execute_python_code", {"code": WHERE}).splitlines()[0] == inside(two) + "/sub"


def test_mcp_does_not_start_with_a_wrong_setting(who, one):
    answer = who.call("mcp", "--allow", one, "--workdir", "/usr")
    assert answer.code == 77 and "`/usr` is not a granted directory" in answer.errors, answer


def test_a_replayed_run_starts_where_it_did(who, one):
    first = who.run("print(open('a.txt').read())", "--seed", "7", "--allow", one)
    assert first.json["stdout"] == "a\n\n", first
    again = who.call("audit", "replay", "--json", first.json["id"])
    assert again.code == 0 and "identical" in again.text, again
