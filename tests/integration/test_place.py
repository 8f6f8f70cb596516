"""The text for a model about the place where its code runs: in the instructions, the status, the first result, and hints."""
import os
import secrets
import sys
import tempfile

import pytest

import mcp
from serving import Server
from test_mcp_http import Legacy, message, modern, send_modern


def make(who, name):
    path = who.directory(f"{name}-" + secrets.token_hex(4))
    (path / "a.txt").write_text("a\n")
    who.own(path / "a.txt")
    return path


@pytest.fixture
def project(who):
    return make(who, "project")


@pytest.fixture
def data(who):
    return make(who, "data")


# --- the pipe ---


def test_the_instructions_name_what_is_granted(who, project, data):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        assert client.initialize()["instructions"].startswith(f"Code starts in {project} (writable).\n")
    with mcp.Client(who, "--allow", f"{project}:rw", "--allow", data, "--net", "api.example.org") as client:
        line = client.initialize()["instructions"].splitlines()[0]
        assert line.startswith("Code starts in /workspace. Granted: ") and f"{project} (writable)" in line and f"{data} (read-only)" in line, line
        assert line.endswith(". Hosts: api.example.org."), line
    with mcp.Client(who) as client:
        assert "Code starts in" not in client.initialize()["instructions"]


def test_of_many_directories_the_instructions_stay_short(who):
    words = [w for i in range(12) for w in ("--allow", make(who, f"a-directory-with-a-rather-long-name-{i}"))]
    with mcp.Client(who, *words) as client:
        line = client.initialize()["instructions"].splitlines()[0]
        assert len(line) < 340 and "get_kernel_status" in line, line
        said = client.text("get_kernel_status")
        assert "and 8 more" in said, said


@pytest.fixture
def helpers(who):
    """Not below /tmp or /var/tmp, of which a sandbox has its own."""
    with tempfile.TemporaryDirectory(prefix="belljar-helpers-", dir="/srv" if os.getuid() == 0 else os.path.expanduser("~")) as path:
        os.chmod(path, 0o755)
        for name in ("code_helpers.py", "_private.py", "notes.txt"):
            with open(os.path.join(path, name), "w", encoding="ascii") as file:
                file.write("def f(): return 1\n")
        yield path


def test_the_status_says_everything(who, project, data, helpers):
    with mcp.Client(who, "--allow", f"{project}:rw", "--allow", f"{data}:cow", "--workdir", project, "--timeout", "7", "--memory", "300", env={"BELLJAR_HELPERS": str(helpers)}) as client:
        client.initialize()
        before = client.text("get_kernel_status")
        for line in (f"starts in: {project}", "hosts: none", "helpers: code_helpers"):
            assert line in before.splitlines(), before
        assert f"\nlanguages: Python {sys.version_info[0]}.{sys.version_info[1]}, Bash" in before, before
        first = before.split("directories: ")[1].splitlines()[0]
        assert f"{project} (writable)" in first and f"{data} (copy-on-write)" in first and "/workspace (private)" in first, before
        assert "limits: 7 s a call, 300 MB memory" in before
        assert "helpers: code_helpers" in client.text("more", {"topic": "api"}).splitlines()
        assert client.text("run_code", {"code": "1"})
        assert before.split("directories: ")[1] in client.text("get_kernel_status")
        assert before.split("directories: ")[1] in client.text("more", {"topic": "files"})


def test_packages_come_with_their_versions(who):
    with mcp.Client(who, "--profile", "open") as client:
        client.initialize()
        said = client.text("get_kernel_status")
        packages = dict(p.rsplit(" ", 1) for p in said.split("packages: ")[1].splitlines()[0].split(", "))
        code = "import importlib.metadata as m\nfor n in %r: print(n, m.version(n))" % list(packages)
        for line in client.text("run_code", {"code": code}).splitlines():
            name, version = line.rsplit(" ", 1)
            assert version.startswith(packages[name]), line


def test_the_first_result_of_a_session_and_no_other(who, project):
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        mark = f"[in {project}, read-only]\n"
        assert client.text("run_code", {"code": "1"}) == "[result] 1\n" + mark
        assert client.text("run_code", {"code": "1"}) == "[result] 1\n"
        assert f"Code starts in {project} (read-only)." in client.text("run_code", {"code": "1", "session_id": "new"})
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        assert client.text("run_code", {"code": "x = 1"}) == mark
        assert client.text("run_code", {"code": "x = 1"}) == "(no output)\n"
        assert client.text("run_code", {"code": f"print('[in {project}, writable]')"}) == f"| [in {project}, writable]\n"
    with mcp.Client(who) as client:
        client.initialize()
        assert client.text("run_code", {"code": "print(1)"}) == "1\n"


# --- sessions that a model can hold ---


def test_a_new_session_is_named_in_the_text(who):
    with mcp.Client(who) as client:
        client.initialize()
        said = client.text("run_code", {"code": "x = 5", "session_id": "new"})
        id = next(word.strip(":") for word in said.split() if word.startswith("ses_"))
        assert client.text("run_code", {"code": "print(x)", "session_id": id}) == "5\n"
        assert f"{id}: idle, 2 call(s) done" in client.text("list_open_sessions")
        client.text("run_code", {"code": "1"})
        listed = client.text("list_open_sessions")
        assert listed.count("ses_") == 2 and listed.count("this connection's") == 1, listed
        assert "has ended" in client.text("end_session", {"session_id": id})
        assert client.text("list_open_sessions").count("ses_") == 1
        for tool in ("end_session", "run_code"):
            gone = client.call(tool, {"session_id": id, **({"code": "1"} if tool == "run_code" else {})})
            assert gone["isError"] and "there is no session" in mcp.text_of(gone), gone
        assert client.call("end_session", {"session_id": "x" * 60})["isError"]


def test_a_copy_says_what_it_shares(who, project):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        client.text("run_code", {"code": "x = 1"})
        answer = client.call("fork_session", {"n": 2})
        said = mcp.text_of(answer)
        if answer.get("isError"):
            pytest.skip("a checked build copies no memory")
        own = f"Each fork has its own copy-on-write view of {project} (the source writes to disk)"
        assert own in said and "apply them by its session id" in said, said
        ids = [w for w in said.split() if w.startswith("ses_")]
        assert len(ids) == 2
        assert client.text("list_open_sessions").count(", fork of ses_") == 2
        for id in ids:
            client.text("run_code", {"code": f"open('{project}/variant', 'w').write('{id}')", "session_id": id})
        shown = client.text("review_changes", {"session_id": ids[1]})
        assert "variant" in shown and ids[1] in shown and ids[0] not in shown, shown
        assert not (project / "variant").exists()
        client.text("review_changes", {"action": "apply", "session_id": ids[1]})
        assert (project / "variant").read_text() == ids[1]
        assert client.text("run_code", {"code": f"open('{project}/variant').read()"}).strip().endswith(f"'{ids[1]}'")
        for id in ids:
            assert "has ended" in client.text("end_session", {"session_id": id})
    with mcp.Client(who) as client:
        client.initialize()
        client.text("run_code", {"code": "x = 1"})
        assert "shared" not in client.text("fork_session", {})


def test_sessions_of_others_are_not_seen(who):
    server = Server(who, "--socket", "none")
    try:
        other = {"Authorization": "Bearer " + who.call("token", "add", "o" + secrets.token_hex(3)).text.split()[-1]}
        id = server.post("/v1/sessions", {}).json["session_id"]
        reply = Legacy(server, headers=other)
        for tool, arguments in (("list_open_sessions", {}), ("end_session", {"session_id": id})):
            said = str(reply.send(message("tools/call", {"name": tool, "arguments": arguments})).json)
            assert id not in said, said
        assert server.get(f"/v1/sessions/{id}").status == 200
    finally:
        assert server.stop() == 0, server.said


# --- a server ---


def test_a_server_tells_each_token_its_own(who, project):
    server = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{project}:rw", "BELLJAR_NET": "api.example.org"})
    try:
        plain = {"Authorization": "Bearer " + who.call("token", "add", "p" + secrets.token_hex(3)).text.split()[-1]}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        accept = {"Accept": "application/json, text/event-stream"}
        line = f"Code starts in {project} (writable). Hosts: api.example.org.\n"
        for headers, is_there in (({}, True), (plain, False)):
            said = server.call("POST", "/mcp", message("initialize", hello), {**accept, **headers}).json["result"]["instructions"]
            assert said.startswith(line) == is_there, said
            said = send_modern(server, modern("server/discover"), headers).json["result"]
            assert said["instructions"].startswith(line) == is_there and said["cacheScope"] == "private", said
        made = server.post("/v1/sessions", {}).json
        assert (made["workdir"], made["allow"], made["net"]) == (str(project), [f"{project}:rw"], ["api.example.org"]), made
        made = server.post("/v1/sessions", {}, headers=plain).json
        assert (made["workdir"], made["allow"], made["net"]) == ("/workspace", [], []), made
    finally:
        assert server.stop() == 0, server.said


# --- hints ---


def hint(who, code, *args):
    return who.run(code, *args).json["error"]["hint"]


def test_hints_of_errors_that_come_from_not_knowing(who, project, data):
    where = ("--allow", f"{project}:rw", "--allow", data, "--workdir", project)
    for code in ("open('nothing')", "import os; os.listdir('/home/me/project')"):
        said = hint(who, code, *where)
        assert said.startswith(f"relative paths begin in {project}; granted: ") and f"{data} (read-only)" in said, said
    for code in (f"open('{data}/new', 'w')", "open('/usr/x', 'w')"):
        said = hint(who, code, *where)
        assert said.startswith(f"writable here: /workspace, /tmp, {project}"), said
        assert ("granted read-only" in said) == (str(data) in code), said
    assert hint(who, "open('x')") == "relative paths begin in /workspace; no directory of the host is granted; `--allow DIR` grants one"
    assert "no host is granted" in hint(who, "import socket; socket.getaddrinfo('example.org', 80)")
    said = hint(who, "import urllib.request as u; u.urlopen('http://evil.test/')", "--net", "api.example.org")
    assert said == "hosts that this sandbox reaches: api.example.org", said


def test_a_cell_s_hint_is_the_session_s(who, project):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        client.text("run_code", {"code": "1"})
        assert f"hint: relative paths begin in {project}; granted: {project} (writable)" in client.text("run_code", {"code": "open('no')"})


def test_a_program_s_words_are_not_a_hint(who, project):
    """The text of an exception is the program's; a policy's PermissionError is not about directories."""
    said = who.run("raise PermissionError('[Errno 99] nonsense')").json["error"]
    assert not said.get("hint"), said
    said = who.run("class OSError(Exception): pass\nraise OSError('[Errno 3')").json["error"]
    assert not said.get("hint"), said
