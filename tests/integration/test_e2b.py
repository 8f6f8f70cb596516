"""The interface of E2B, in its own protocols and without its packages (tests/e2b/run.py has those)."""
import base64
import gzip
import hashlib
import json
import struct
import threading
import time
import urllib.parse

import pytest
from e2b_client import INTERPRETER, Sandbox, control, made, split
from serving import Server, wait_until


@pytest.fixture
def sandbox(server):
    with made(server) as s:
        yield s


# --- control plane ---


def test_a_sandbox_is_made_shown_listed_and_ended(server):
    with made(server, metadata={"who": "a b"}, envVars={"X": "y"}) as s:
        assert s.made["envdVersion"].count(".") == 2 and s.id.isalnum() and len(s.id) <= 57, s.made
        info = control(server, "GET", f"/sandboxes/{s.id}").json
        assert (info["state"], info["metadata"], info["templateID"]) == ("running", {"who": "a b"}, "base"), info
        assert {"startedAt", "endAt", "cpuCount", "memoryMB", "diskSizeMB", "clientID", "sandboxID", "envdVersion"} <= set(info)
        assert s.run("echo $X")[0] == "y\n"
        with made(server, metadata={"who": "c&d"}) as other:
            def ids(**query):
                reply = control(server, "GET", "/v2/sandboxes?" + urllib.parse.urlencode(query))
                return [i["sandboxID"] for i in reply.json], reply.headers.get("x-next-token")
            twice = urllib.parse.quote(urllib.parse.quote("c&d"))
            assert ids(metadata=f"who={twice}") == ([other.id], None)
            assert ids(metadata="who=none") == ([], None)
            first, token = ids(limit=1)
            assert first == [other.id] and ids(limit=1, nextToken=token) == ([s.id], None)
            assert ids(limit=1, order="asc")[0] == [s.id]
            assert ids(state="paused")[0] == []
        assert s.call("GET", "/health").status == 204
        assert control(server, "DELETE", f"/sandboxes/{s.id}").status == 204
        assert control(server, "DELETE", f"/sandboxes/{s.id}").json["code"] == 404
        assert s.call("GET", "/health").status == 502
        gone = s.rpc("filesystem.Filesystem/Stat", {"path": ""})
        assert gone.status == 502 and gone.json == {"sandboxId": s.id, "message": "The sandbox was not found", "code": 502}


def test_its_end_can_be_moved_and_is_kept(server):
    with made(server, timeout=50) as s:
        def end():
            return control(server, "GET", f"/sandboxes/{s.id}").json["endAt"]
        before = end()
        assert control(server, "POST", f"/sandboxes/{s.id}/connect", {"timeout": 1}).status == 200 and end() == before
        assert control(server, "POST", f"/v2/sandboxes/{s.id}/connect", {"timeout": 90}).json["envdAccessToken"] == s.made["envdAccessToken"]
        assert end() > before
        assert control(server, "POST", f"/sandboxes/{s.id}/refreshes", {"duration": 20}).status == 204 and end() < before
        assert control(server, "POST", f"/sandboxes/{s.id}/timeout", {"timeout": 1e9}).json["code"] == 400
        assert control(server, "POST", f"/sandboxes/{s.id}/timeout", {"timeout": 0}).status == 204
        wait_until(lambda: control(server, "GET", f"/sandboxes/{s.id}").status == 404, "the sandbox ends")


def test_it_pauses_and_goes_on(server):
    with made(server) as s:
        s.execute("x = 5")
        if (reply := control(server, "POST", f"/sandboxes/{s.id}/pause")).status == 501:
            pytest.skip(reply.json["message"])
        assert reply.status == 204, reply
        assert control(server, "POST", f"/sandboxes/{s.id}/pause").json["code"] == 409
        assert control(server, "GET", f"/sandboxes/{s.id}").json["state"] == "paused"
        assert [i["sandboxID"] for i in control(server, "GET", "/v2/sandboxes?state=paused").json] == [s.id]
        assert s.call("GET", "/health").status == 502 and s.call("GET", "/files?path=x").status == 502
        assert control(server, "POST", f"/sandboxes/{s.id}/connect", {"timeout": 60}).status == 201
        assert s.execute("x")[0]["text"] == "5"
    with made(server, autoPause=True, autoResume={"enabled": True}) as s:
        s.execute("y = 6")
        assert control(server, "POST", f"/sandboxes/{s.id}/timeout", {"timeout": 0}).status == 204
        wait_until(lambda: control(server, "GET", f"/sandboxes/{s.id}").json["state"] == "paused", "it pauses")
        # Only who has its token wakes it.
        assert s.call("GET", "/files?path=x", X_Access_Token="sbx_" + 64 * "0").status == 401
        assert s.call("GET", "/health", X_Access_Token="").status == 204
        assert control(server, "GET", f"/sandboxes/{s.id}").json["state"] == "paused"
        assert s.execute("y")[0]["text"] == "6"
        assert control(server, "GET", f"/sandboxes/{s.id}").json["lifecycle"] == {"onTimeout": "pause", "autoResume": True}


def test_forks_have_memory_and_files(server, sandbox):
    sandbox.execute("x = [1]")
    write(sandbox, "f", b"file")
    reply = control(server, "POST", f"/sandboxes/{sandbox.id}/fork", {"count": 2, "timeout": 60})
    assert reply.status == 201 and len(reply.json) == 2, reply
    forks = []
    for part in reply.json:
        fork = Sandbox.__new__(Sandbox)
        fork.server, fork.made, fork.id = server, part["sandbox"], part["sandbox"]["sandboxID"]
        forks.append(fork)
    for number, fork in enumerate(forks):
        fork.execute(f"x.append({number})")
        assert fork.execute("x")[0]["json"] == [1, number] and read(fork, "f").body == b"file"
        assert fork.made["envdAccessToken"] != sandbox.made["envdAccessToken"]
        assert control(server, "DELETE", f"/sandboxes/{fork.id}").status == 204
        assert control(server, "GET", f"/sandboxes/{fork.id}").status == 404
    assert sandbox.execute("x")[0]["json"] == [1]
    assert control(server, "POST", f"/sandboxes/{sandbox.id}/fork", {"count": 0}).json["code"] == 400


def test_snapshots_are_templates(server, sandbox):
    sandbox.execute("x = 'kept'")
    write(sandbox, "f", b"file")
    reply = control(server, "POST", f"/sandboxes/{sandbox.id}/snapshots", {})
    assert reply.status == 201 and reply.json["names"] == [], reply
    name = reply.json["snapshotID"]
    named = control(server, "POST", f"/sandboxes/{sandbox.id}/snapshots", {"name": "mine"}).json
    assert named == {"snapshotID": "mine", "names": ["mine"]}
    listed = [s["snapshotID"] for s in control(server, "GET", f"/snapshots?sandboxID={sandbox.id}").json]
    assert listed == ["mine", name] and control(server, "GET", "/snapshots?sandboxID=other").json == []
    with made(server, templateID=name) as s:
        assert s.execute("x")[0]["text"] == "kept" and read(s, "f").body == b"file" and s.run("pwd")[0] == "/home/user\n"
    for snapshot in (name, "mine"):
        assert control(server, "DELETE", f"/templates/{snapshot}").status == 204
        assert control(server, "DELETE", f"/templates/{snapshot}").json["code"] == 404
    assert control(server, "POST", "/sandboxes", {"templateID": name}).json["code"] == 404


def test_errors_of_the_control_plane(server):
    for body, status, word in [
        ({}, 400, "templateID"), ({"templateID": "nope"}, 404, "template 'nope' not found"), ({"templateID": "base", "timeout": -1}, 400, "timeout"),
        ({"templateID": "base", "metadata": {"a": 1}}, 400, "metadata"), ({"templateID": "base", "envVars": ["a"]}, 400, "envVars"),
        ({"templateID": "base", "volumeMounts": [{"name": "v", "path": "/v"}]}, 400, "volume"), ([], 400, "object"), (b"{", 400, "body"),
    ]:  # fmt: skip
        reply = control(server, "POST", "/sandboxes", body, {"Content-Type": "application/json"})
        assert reply.status == status and reply.json["code"] == status and word in reply.json["message"], (body, reply)
    for method, path in [("POST", "/v3/templates"), ("GET", "/volumes"), ("PUT", "/sandboxes/x/network")]:
        reply = control(server, method, path)
        assert reply.status == 501 and "environment" in reply.json["message"], reply
    assert control(server, "GET", "/nothing").json["code"] == 404
    for wrong in ("e2b_" + "0" * 64, "bj_x", "", "e2b_"):
        reply = control(server, "GET", "/v2/sandboxes", headers={"X-API-KEY": wrong})
        assert reply.status == 401 and reply.json["code"] == 401 and "`e2b_` instead of `bj_`" in reply.json["message"], reply
    assert control(server, "GET", "/v2/sandboxes", headers={"X-API-KEY": server.token}).status == 200


# --- programs ---


def test_a_program_has_output_and_an_end(sandbox):
    out, err, end = sandbox.run("echo out; echo err >&2; exit 3")
    assert (out, err) == ("out\n", "err\n") and end == {"exitCode": 3, "exited": True, "status": "exit status 3", "error": "exit status 3"}
    assert sandbox.run("true")[2] == {"exitCode": 0, "exited": True, "status": "exit status 0"}
    assert sandbox.run("kill -9 $$")[2] == {"exitCode": -1, "exited": False, "status": "signal: killed", "error": "signal: killed"}
    assert sandbox.run("sleep 60", limit_ms=100)[2]["code"] == "deadline_exceeded"
    secret = "ghp_" + "a1B2" * 9
    assert secret not in sandbox.run(f"echo {secret}")[0]


def test_a_program_goes_on_without_its_client(server, sandbox):
    body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "echo $$ >&2; read x; echo got $x"]}, "tag": "mine"}).encode()
    c = server.connect()
    c.request("POST", "/e2b/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, sandbox.headers(**{"Content-Type": "application/connect+json"}))
    answer = c.getresponse()
    head = answer.read(5)
    pid = json.loads(answer.read(struct.unpack(">BI", head)[1]))["event"]["start"]["pid"]
    c.close()
    listed = sandbox.rpc("process.Process/List").json["processes"]
    assert [(p["pid"], p["tag"], p["config"]["cmd"]) for p in listed] == [(pid, "mine", "/bin/bash")], listed
    given = sandbox.rpc("process.Process/SendInput", {"process": {"tag": "mine"}, "input": {"stdin": base64.b64encode(b"it\n").decode()}})
    assert given.status == 200 and given.json == {}, given
    messages, end = sandbox.stream("process.Process/Connect", {"process": {"pid": pid}})
    assert end == {} and messages[0] == {"event": {"start": {"pid": pid}}} and messages[-1]["event"]["end"]["exitCode"] == 0, messages
    assert sandbox.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"}).json["code"] == "not_found"


def test_mistakes_in_messages(server, sandbox):
    good = json.dumps({"process": {"cmd": "true"}}).encode()
    for data in (b"", b"\0", b"\0\0\0\0\xff" + good, b"\0\xff\xff\xff\xff" + good, b"\1" + struct.pack(">I", len(good)) + good, b"\x80\0\0\0\2{}",
                 b"\0\0\0\0\2{}" * 2, b"\0\0\0\0\2[]", b"\0\0\0\0\1{", b"\0\0\0\0\2{}"):  # fmt: skip
        reply = sandbox.stream_raw("process.Process/Start", data)
        assert reply.status == 200, (data, reply)
        messages, end = split(reply.body)
        assert not messages and end["error"]["code"] == "invalid_argument" and end["error"]["message"], (data, end)
    for fields in ({"cmd": 1}, {"cmd": "a", "args": "b"}, {"cmd": "a", "args": [1]}, {"cmd": "a", "envs": {"A": 1}}, {"cmd": "a", "cwd": "nowhere"}):
        assert sandbox.stream("process.Process/Start", {"process": fields})[1]["error"]["code"] == "invalid_argument", fields
    user = {"Authorization": "Basic " + base64.b64encode(b"nobody:").decode()}
    assert sandbox.stream("process.Process/Start", {"process": {"cmd": "true"}}, **user)[1]["error"]["code"] == "unauthenticated"
    assert sandbox.stream("process.Process/Connect", {"process": {"pid": 7}})[1]["error"]["code"] == "not_found"
    assert sandbox.rpc("process.Process/SendInput", {"process": {"pid": "7"}}).json["code"] == "not_found"
    assert sandbox.call("POST", "/filesystem.Filesystem/Stat", b"[1]", Content_Type="application/json").json["code"] == "invalid_argument"
    assert sandbox.rpc("filesystem.Filesystem/Nonsense").json["code"] == "unimplemented"
    assert sandbox.run("echo alive")[0] == "alive\n"


# --- files ---


def entry(sandbox, path):
    return sandbox.rpc("filesystem.Filesystem/Stat", {"path": path})


def write(sandbox, path, data):
    return sandbox.call("POST", "/files?" + urllib.parse.urlencode({"path": path}), data, Content_Type="application/octet-stream")


def read(sandbox, path):
    return sandbox.call("GET", "/files?" + urllib.parse.urlencode({"path": path}))


def test_files_are_written_read_and_looked_at(sandbox):
    reply = write(sandbox, "a/b", b"12345")
    assert reply.status == 200 and reply.json == [{"name": "b", "path": "/home/user/a/b", "type": "file"}], reply
    assert read(sandbox, "/home/user/a/b").body == b"12345" and read(sandbox, "~/a/b").body == b"12345"
    got = entry(sandbox, "a/b").json["entry"]
    assert (got["name"], got["type"], got["size"], got["permissions"]) == ("b", "FILE_TYPE_FILE", "5", "-rw-r--r--"), got
    assert write(sandbox, "empty", b"").status == 200 and read(sandbox, "empty").headers["content-length"] == "0"
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="/home/user/c/d"\r\n\r\nform\r\n--x--\r\n'
    reply = sandbox.call("POST", "/files", form, Content_Type="multipart/form-data; boundary=x")
    assert reply.json[0]["path"] == "/home/user/c/d" and read(sandbox, "c/d").body == b"form", reply
    assert sandbox.run("pwd; echo $HOME; cd ~ && pwd")[0] == "/home/user\n" * 3
    assert sandbox.execute("import os; os.path.expanduser('~')")[0]["text"] == "/home/user"
    assert sandbox.run("cat c/d; echo more >> c/d")[0] == "form" and read(sandbox, "c/d").body == b"formmore\n"


def test_directories_are_made_listed_moved_and_removed(sandbox):
    call = lambda method, **body: sandbox.rpc(f"filesystem.Filesystem/{method}", body)  # noqa: E731
    assert call("MakeDir", path="d/e").json["entry"]["type"] == "FILE_TYPE_DIRECTORY"
    again = call("MakeDir", path="d/e")
    assert again.status == 409 and again.json["code"] == "already_exists"
    write(sandbox, "d/f", b"x")
    assert call("MakeDir", path="d/f").json["code"] == "invalid_argument"
    assert [e["path"] for e in call("ListDir", path="d", depth=1).json["entries"]] == ["/home/user/d/e", "/home/user/d/f"]
    assert call("ListDir", path="d/f").json["code"] == "invalid_argument" and call("ListDir", path="none").json["code"] == "not_found"
    assert call("Move", source="d/f", destination="new/g").json["entry"]["path"] == "/home/user/new/g"
    assert call("Move", source="d/f", destination="h").json["code"] == "not_found"
    assert call("Move", source="d", destination="d/e/x").json["code"] == "invalid_argument"
    assert call("Remove", path="d").json == {} and call("Remove", path="d").json == {}
    assert [e["name"] for e in call("ListDir", path="", depth=2).json["entries"]] == ["new", "g"]


def test_paths_do_not_leave_the_home_directory(sandbox):
    sandbox.run("ln -s /etc/passwd link; ln -s / dirlink; ln -s . here")
    for path in ("/etc/passwd", "../etc/passwd", "/home/user/../../etc/passwd", "link", "dirlink/etc/passwd", "here/../../etc/passwd", "~root/x", "/proc/self/environ"):
        reply = read(sandbox, path)
        assert reply.status in (400, 403, 404) and b"root:" not in reply.body and reply.json["code"] == reply.status, (path, reply)
        assert entry(sandbox, path).status in (200, 400, 403, 404)
        if path != "link":  # the name itself may be written
            assert write(sandbox, path, b"x").status in (400, 403), path
        for body in ({"source": path, "destination": "x"}, {"source": "here", "destination": path}):
            reply = sandbox.rpc("filesystem.Filesystem/Move", body)
            assert reply.status != 200 or "link" in path, (body, reply)
    assert read(sandbox, "").status == 400
    assert sandbox.rpc("filesystem.Filesystem/Remove", {"path": ""}).status == 400


def test_signed_addresses(server, sandbox):
    write(sandbox, "s", b"signed")

    def address(path, operation="read", until=None, token=sandbox.made["envdAccessToken"]):
        text = f"{path}:{operation}::{token}" + (f":{until}" if until else "")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        return "/files?" + urllib.parse.urlencode({"path": path, "signature": f"v1_{digest}", **({"signature_expiration": until} if until else {})})

    def fetch(path, method="GET", body=None):
        return server.call(method, path, body, {"Authorization": None, "Content-Type": "application/octet-stream"})

    assert fetch(address("s")).body == b"signed" and fetch("/e2b" + address("s")).body == b"signed"
    assert fetch(address("s", until=int(time.time()) + 60)).status == 200
    assert fetch(address("t", "write"), "POST", b"t").status == 200 and read(sandbox, "t").body == b"t"
    for wrong in (address("s", until=1), address("s", token="sbx_x"), address("s", "write"), address("s").replace("path=s", "path=t"), address("s")[:-1], "/files?path=s"):
        assert fetch(wrong).status in (401, 502), wrong


# --- cells ---


def test_cells_have_output_results_and_errors(sandbox):
    lines = sandbox.execute("print('ü')\nx = 41\nx + 1")
    assert (lines[0]["type"], lines[0]["text"], lines[0]["timestamp"][-1]) == ("stdout", "ü\n", "Z"), lines
    assert lines[1] == {"type": "result", "is_main_result": True, "text": "42"}, lines
    assert sandbox.execute("y = 1") == [] and sandbox.execute("None") == []
    assert sandbox.execute("'a'")[0]["text"] == "a" and sandbox.execute("{'a': [1]}")[0]["json"] == {"a": [1]}
    error = [line for line in sandbox.execute("1/0") if line["type"] == "error"]
    assert [(e["name"], e["value"], bool(e["traceback"])) for e in error] == [("ZeroDivisionError", "division by zero", True)]
    shown = sandbox.execute("from IPython.display import display, HTML\ndisplay(HTML('<i>'))")
    assert [(s["html"], s["is_main_result"]) for s in shown if s["type"] == "result"] == [("<i>", False)], shown
    rich = "class Rich:\n    def _repr_html_(self): return '<u>'\n    def __repr__(self): return 'rich'\nRich()"
    assert sandbox.execute(rich) == [{"type": "result", "is_main_result": True, "html": "<u>", "text": "rich"}]
    assert [line["type"] for line in sandbox.execute("1/0")] == ["error"]
    assert sandbox.execute("result = 5\nresult + 1")[0]["text"] == "6" and sandbox.execute("result = 7") == []
    assert sandbox.execute("echo $((6*7))", language="bash")[0]["text"] == "42\n"
    sandbox.execute("import os; os.environ['OLD'] = 'o'")
    assert sandbox.execute("os.environ['OLD'] + os.environ['NEW']", env_vars={"OLD": "p'\"ü", "NEW": "n"})[0]["text"] == "p'\"ün"
    assert sandbox.execute("os.environ['OLD'], os.environ.get('NEW'), [n for n in dir() if 'e2b' in n]")[0]["json"] == ["o", None, []]
    contexts = sandbox.call("GET", "/contexts", port=INTERPRETER).json
    assert contexts[0] == {"id": "python", "language": "python", "cwd": "/home/user"}
    assert sandbox.execute("x", context_id=contexts[0]["id"])[0]["text"] == "41"
    for body, status, word in [({"code": "1", "context_id": "no"}, 404, "Context no not found"), ({"code": "1", "language": "cobol"}, 501, "cobol"), ({}, 400, "code")]:
        reply = sandbox.call("POST", "/execute", body, port=INTERPRETER)
        assert reply.status == status and word in reply.body.decode() and reply.headers["content-type"].startswith("text/plain"), reply


def test_contexts_have_variables_of_their_own(sandbox):
    call = lambda method, path, body=None: sandbox.call(method, f"/contexts{path}", body, port=INTERPRETER)  # noqa: E731
    sandbox.rpc("filesystem.Filesystem/MakeDir", {"path": "d"})
    own = call("POST", "", {"language": "python", "cwd": "/home/user/d"}).json
    assert own["language"] == "python" and own["cwd"] == "/home/user/d", own
    sandbox.execute("x = 1")
    assert sandbox.execute("x = 2\nimport os; os.path.basename(os.getcwd())", context_id=own["id"])[0]["text"] == "d"
    assert sandbox.execute("x")[0]["text"] == "1" and sandbox.execute("x", context_id=own["id"])[0]["text"] == "2"
    assert [c["id"] for c in call("GET", "").json] == ["python", "bash", own["id"]]
    assert call("POST", f"/{own['id']}/restart", {}).status == 200
    assert sandbox.execute("x", context_id=own["id"])[-1]["name"] == "NameError"
    assert call("DELETE", f"/{own['id']}").status == 200 and call("DELETE", f"/{own['id']}").status == 404
    assert call("POST", "", {"language": "cobol"}).status == 501 and call("DELETE", "/python").status == 400


def test_a_client_that_goes_interrupts_its_cell(server, sandbox):
    sandbox.execute("kept = 5")
    c = server.connect()
    c.request("POST", "/e2b/execute", json.dumps({"code": "print('on', flush=True)\nwhile True: pass"}), sandbox.headers(INTERPRETER, **{"Content-Type": "application/json"}))
    answer = c.getresponse()
    while b'"on' not in answer.readline():
        pass
    c.close()
    assert sandbox.execute("kept")[0]["text"] == "5"


# --- whose ---


def test_nobody_reaches_another_sandbox(server, sandbox):
    with made(server) as other:
        write(other, "mine", b"x")
        for token in (None, "", "sbx_" + "0" * 64, sandbox.made["envdAccessToken"], sandbox.made["trafficAccessToken"], server.token):
            headers = {"X_Access_Token": token}
            assert other.call("GET", "/files?path=mine", **headers).json["code"] == 401
            assert other.rpc("filesystem.Filesystem/Stat", {"path": "mine"}, **headers).json["code"] == "unauthenticated"
            assert other.stream("process.Process/Start", {"process": {"cmd": "true"}}, **headers)[1]["error"]["code"] == "unauthenticated"
            assert other.call("POST", "/execute", {"code": "1"}, port=INTERPRETER, **headers).status == 403
            assert other.call("GET", "/contexts", port=INTERPRETER, **headers, E2B_Traffic_Access_Token=token).status == 403
        assert other.call("GET", "/contexts", port=INTERPRETER, X_Access_Token=None, E2B_Traffic_Access_Token=other.made["trafficAccessToken"]).status == 200
        assert other.call("GET", "/files?path=mine", port="3000").status == 502
        pid = other.stream("process.Process/Start", {"process": {"cmd": "true"}})[0][0]["event"]["start"]["pid"]
        own = sandbox.stream("process.Process/Connect", {"process": {"pid": pid + 1}})
        assert own[1]["error"]["code"] == "not_found"
    assert server.call("GET", "/e2b/health", headers={"E2b-Sandbox-Id": "x" * 5000}).status in (431, 502)


def test_sandboxes_belong_to_the_token_that_made_them(user):
    place = user.home / "state" / f"e2b-{time.monotonic_ns()}"
    place.mkdir(mode=0o700)
    user.own(place)
    env = {"XDG_STATE_HOME": str(place), "XDG_RUNTIME_DIR": str(place)}
    server = Server(user, env=env)
    try:
        added = user.call("token", "add", "other", env=env)
        other = {"X-API-KEY": "e2b_" + added.text.strip().removeprefix("bj_")}
        with made(server) as s:
            assert control(server, "GET", f"/sandboxes/{s.id}-client").status == 200  # as old clients write it
            assert control(server, "GET", f"/sandboxes/{s.id}", headers=other).json["code"] == 404
            assert control(server, "DELETE", f"/sandboxes/{s.id}", headers=other).json["code"] == 404
            assert control(server, "POST", f"/sandboxes/{s.id}/timeout", {"timeout": 1}, other).json["code"] == 404
            assert control(server, "GET", "/v2/sandboxes", headers=other).json == []
            theirs = control(server, "POST", "/sandboxes", {"templateID": "base"}, other).json["sandboxID"]
            assert user.call("token", "rm", "other", env=env).code == 0
            assert control(server, "GET", "/v2/sandboxes", headers=other).status == 401
            wait_until(lambda: server.call("GET", "/e2b/health", headers={"E2b-Sandbox-Id": theirs}).status == 502, "its sandbox ends")
            assert s.run("echo on")[0] == "on\n"
    finally:
        assert server.stop() == 0, server.said


# --- compressed bytes, and metadata ---


def test_files_come_and_go_compressed(sandbox):
    text = b"again and again " * 10000
    packed = gzip.compress(text[:80000]) + gzip.compress(text[80000:])  # two members are one file
    headers = {"Content_Type": "application/octet-stream", "Content_Encoding": "gzip"}
    assert sandbox.call("POST", "/files?path=packed", packed, **headers).status == 200
    assert read(sandbox, "packed").body == text
    reply = sandbox.call("GET", "/files?path=packed", Accept_Encoding="gzip")
    assert reply.headers["content-encoding"] == "gzip" and len(reply.body) < 10000 and gzip.decompress(reply.body) == text
    assert "content-encoding" not in sandbox.call("GET", "/files?path=packed", Accept_Encoding="gzip, deflate").headers
    part = sandbox.call("GET", "/files?path=packed", Accept_Encoding="gzip", Range="bytes=0-4")
    assert (part.status, part.body) == (206, b"again")
    # Bytes that are not gzip, are cut, or are of another kind are refused, and leave the file as it was.
    for data in (b"plain", packed[:-4], packed[:30], packed + b"rest", b""):
        reply = sandbox.call("POST", "/files?path=packed", data, **headers)
        assert reply.status == 400 and reply.json["code"] == 400, (data[:20], reply)
    assert sandbox.call("POST", "/files?path=packed", packed, Content_Type="application/octet-stream", Content_Encoding="br").status == 400
    assert read(sandbox, "packed").body == text and entries(sandbox) == ["packed"]


def test_a_small_body_does_not_fill_more_than_the_disk(server):
    with made(server) as s:
        bomb = gzip.compress(bytes(1 << 20)) * 4096  # four GiB of nothing
        reply = s.call("POST", "/files?path=bomb", bomb, Content_Type="application/octet-stream", Content_Encoding="gzip")
        assert reply.status == 507 and entries(s) == [], reply
        assert s.run("echo fine")[0] == "fine\n"


def test_metadata_of_files(sandbox):
    def stat(path):
        return sandbox.rpc("filesystem.Filesystem/Stat", {"path": path}).json["entry"].get("metadata")
    headers = {"Content_Type": "application/octet-stream"}
    reply = sandbox.call("POST", "/files?path=d/f", b"x", X_Metadata_Author="me", X_Metadata_kind="a b", **headers)
    assert reply.json[0]["metadata"] == {"author": "me", "kind": "a b"}, reply
    assert stat("d/f") == {"author": "me", "kind": "a b"} and stat("d") is None
    assert sandbox.rpc("filesystem.Filesystem/Move", {"source": "d", "destination": "e"}).status == 200
    assert stat("e/f") == {"author": "me", "kind": "a b"}
    listed = sandbox.rpc("filesystem.Filesystem/ListDir", {"path": "e"}).json["entries"]
    assert [e["metadata"]["author"] for e in listed] == ["me"]
    assert sandbox.call("POST", "/files?path=e/f", b"y", **headers).status == 200 and stat("e/f") is None
    assert sandbox.call("POST", "/files?path=g", b"z", X_Metadata_a="1", **headers).status == 200
    assert sandbox.rpc("filesystem.Filesystem/Remove", {"path": "g"}).status == 200
    assert sandbox.call("POST", "/execute", {"code": "open('g', 'w').close()"}, port=INTERPRETER).status == 200 and stat("g") is None
    for more in ({f"X_Metadata_k{i}": "v" for i in range(33)}, {"X_Metadata_k": "v" * 5000}, {"X_Metadata_" + "k" * 200: "v"}):
        assert sandbox.call("POST", "/files?path=h", b"z", **more, **headers).status in (400, 431), more
    assert entries(sandbox) == ["e", "g"]


def entries(sandbox):
    return [e["name"] for e in sandbox.rpc("filesystem.Filesystem/ListDir", {"path": ""}).json["entries"]]


def test_clients_that_cannot_work_are_told_so(server):
    for agent, status in [
        ("e2b-js-sdk/3.0.0", 400), ("e2b-python-sdk/3.1", 400), ("e2b-js-sdk/2.13.1", 400), ("e2b-js-sdk/1.9.9", 400), ("e2b-js-sdk/4294967298.0", 400),
        ("e2b-js-sdk/2.99.0", 201), ("e2b-python-sdk/2.0.0", 201), ("e2b-js-sdk/", 201), ("e2b-js-sdk/" + "9" * 200 + ".1", 400), ("mine/9.9", 201),
    ]:  # fmt: skip
        reply = control(server, "POST", "/sandboxes", {"templateID": "base"}, {"User-Agent": agent})
        assert reply.status == status, (agent, reply)
        if status == 201:
            assert control(server, "DELETE", f"/sandboxes/{reply.json['sandboxID']}").status == 204
        else:
            assert "version" in reply.json["message"] and reply.json["code"] == 400, reply


# --- terminals ---


def test_a_terminal_is_typed_into_and_resized(server, sandbox):
    """A thread reads the stream while this one types."""
    said, arrived = bytearray(), threading.Condition()

    def read(answer):
        buffer = b""
        while data := answer.read1(65536):
            buffer += data
            while len(buffer) >= 5 and len(buffer) >= (end := 5 + struct.unpack(">I", buffer[1:5])[0]):
                message, buffer = json.loads(buffer[5:end]), buffer[end:]
                with arrived:
                    messages.append(message)
                    said.extend(base64.b64decode(message.get("event", {}).get("data", {}).get("pty", "")))
                    arrived.notify_all()

    def until(part):
        with arrived:
            assert arrived.wait_for(lambda: part in said, timeout=60), bytes(said)

    messages = []
    body = json.dumps({"process": {"cmd": "/bin/bash", "args": ["--norc"]}, "pty": {"size": {"cols": 91, "rows": 23}}, "tag": "t"}).encode()
    c = server.connect()
    c.request("POST", "/e2b/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, sandbox.headers(**{"Content-Type": "application/connect+json"}))
    reader = threading.Thread(target=read, args=(c.getresponse(),))
    reader.start()
    with arrived:
        assert arrived.wait_for(lambda: messages, timeout=60)
    process = {"process": {"pid": messages[0]["event"]["start"]["pid"]}}

    def call(method, **more):
        return sandbox.rpc(f"process.Process/{method}", {**process, **more})

    def type_in(text):
        assert call("SendInput", input={"pty": base64.b64encode(text).decode()}).json == {}

    type_in(b"stty -echo; stty size; echo $TERM\n")
    until(b"23 91\r\nxterm-256color\r\n")
    assert call("Update", pty={"size": {"cols": 120, "rows": 40}}).json == {}
    type_in(b"stty size\n")
    until(b"40 120")
    for wrong in ({"cols": -1, "rows": 5}, {"cols": 5, "rows": 100000}):
        assert call("Update", pty={"size": wrong}).json["code"] == "invalid_argument"
        end = sandbox.stream("process.Process/Start", {"process": {"cmd": "true"}, "pty": {"size": wrong}})[1]
        assert end["error"]["code"] == "invalid_argument"
    assert call("SendInput", input={"stdin": "aGk="}).json["code"] == "invalid_argument"
    assert call("CloseStdin").json["code"] == "invalid_argument"
    type_in(b"exit 7\n")
    reader.join(timeout=60)
    assert messages[-2]["event"]["end"]["exitCode"] == 7 and messages[-1] == {}, messages[-3:]
    plain = sandbox.stream("process.Process/Start", {"process": {"cmd": "cat"}, "stdin": True}, Connect_Timeout_Ms="1000")
    assert plain[1]["error"]["code"] == "deadline_exceeded"
    c.close()


def test_a_program_without_a_terminal_has_no_size(server, sandbox):
    with made(server) as s:
        body = json.dumps({"process": {"cmd": "cat"}, "stdin": True}).encode()
        c = server.connect()
        c.request("POST", "/e2b/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, s.headers(**{"Content-Type": "application/connect+json"}))
        answer = c.getresponse()
        pid = json.loads(answer.read(struct.unpack(">BI", answer.read(5))[1]))["event"]["start"]["pid"]
        reply = s.rpc("process.Process/Update", {"process": {"pid": pid}, "pty": {"size": {"cols": 80, "rows": 24}}})
        assert reply.json["code"] == "invalid_argument", reply
        assert s.rpc("process.Process/SendInput", {"process": {"pid": pid}, "input": {"pty": "aGk="}}).json["code"] == "invalid_argument"
        assert s.rpc("process.Process/Update", {"process": {"pid": pid}}).json == {}
        c.close()


def test_a_later_client_learns_what_is_missing(server, sandbox):
    later, tested = {"User-Agent": "e2b-js-sdk/2.99.0"}, {"User-Agent": "e2b-js-sdk/2.51.0"}
    for method, path in [("POST", "/v9/sandboxes"), ("GET", "/v9/sandboxes"), ("PUT", "/v9/x"), ("PATCH", f"/sandboxes/{sandbox.id}"), ("DELETE", "/v9/x"), ("POST", f"/sandboxes/{sandbox.id}/dream"), ("GET", "/volumes")]:
        body = {} if method in ("POST", "PUT", "PATCH") else None
        for agent in (later, tested):
            reply = control(server, method, path, body, agent)
            assert reply.status in (404, 501) and reply.json["code"] == reply.status, (method, path, reply)
            assert ("2.99" in reply.json["message"]) == (agent is later), reply
    for method in ("filesystem.Filesystem/Dream", "process.Process/Dream", "dream.Dream/Dream"):
        assert sandbox.rpc(method).status in (404, 501, 502), method
    assert sandbox.call("GET", "/dream", port=INTERPRETER).status in (404, 502)
