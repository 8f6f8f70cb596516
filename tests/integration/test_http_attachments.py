"""Files that travel with a run: sent along as JSON or as a form, there before the program begins, brought back by pattern."""
import base64
import hashlib
import json
import os

import pytest

from serving import Server

BOUNDARY = "belljar-test"

# Limits of an answer (LIMIT_FILES_COLLECTED, LIMIT_COLLECTED_BYTES) and of a request (LIMIT_FILES_GIVEN).
COLLECTED = 100
COLLECTED_BYTES = 16 << 20
GIVEN = 100


@pytest.fixture(scope="module", params=["root", "user"])
def server(request, callers):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    made = Server(callers[request.param], "--socket", "none", "--no-auth")
    yield made
    assert made.stop() == 0, made.said


def run(server, code, path="/v1/run", **more):
    body = {"code": code, **({"profile": "open"} if path == "/v1/run" else {}), **more}
    reply = server.post(path, body)
    assert reply.status == 200, reply
    return reply.json


def form(*parts, boundary=BOUNDARY):
    """Parts are (name, content) or (name, filename, content)."""
    out = b""
    for name, *filename, content in parts:
        head = f'form-data; name="{name}"' + "".join(f'; filename="{f}"' for f in filename)
        content = content if isinstance(content, bytes) else content.encode()
        out += f"--{boundary}\r\nContent-Disposition: {head}\r\n\r\n".encode() + content + b"\r\n"
    return out + f"--{boundary}--\r\n".encode()


def post_form(server, *parts, path="/v1/run"):
    return server.post_raw(path, form(*parts), f"multipart/form-data; boundary={BOUNDARY}")


# --- in ---


@pytest.mark.smoke
def test_files_are_there_when_the_program_begins(server):
    answer = run(
        server,
        "import os\nfor f in ('in.txt', 'd/e/b.bin'): print(open(f, 'rb').read(), oct(os.stat(f).st_mode & 0o777))",
        files=[
            {"path": "in.txt", "content": "grüße\n"},
            {"path": "d/e/b.bin", "content": base64.b64encode(b"\xff\x00").decode(), "encoding": "base64"},
        ],
    )
    assert answer["stdout"] == "b'gr\\xc3\\xbc\\xc3\\x9fe\\n' 0o644\nb'\\xff\\x00' 0o644\n", answer


def test_they_are_the_programs_own_and_not_its_doing(server):
    answer = run(
        server,
        "import os\nopen('a', 'a').write('x'); os.remove('b'); os.rename('c', 'd'); os.mkdir('sub/new')",
        files=[{"path": p, "content": "1"} for p in ("a", "b", "c", "sub/kept", "kept")],
    )
    assert answer["status"] == "success", answer
    assert answer["files"] == [{"path": "a", "size": 2}, {"path": "d", "size": 1}], answer
    assert answer["files_gone"] == ["b", "c"]


def test_an_executable_can_be_executed(server):
    answer = run(server, "./x.sh", language="bash", files=[{"path": "x.sh", "content": "#!/bin/sh\necho hi", "executable": True}])
    assert answer["stdout"] == "hi\n", answer


def test_strict_reads_them_and_no_other_file(server):
    files = [{"path": "a", "content": "1"}, {"path": "evil.py", "content": "import subprocess"}]
    answer = run(server, "print(open('a').read())", profile="strict", files=files)
    assert answer["status"] == "success" and answer["stdout"] == "1\n", answer
    for place in ("/etc/passwd", "../etc/passwd", "/proc/self/environ"):
        answer = run(server, f"print(open({place!r}).read())", profile="strict", files=files)
        assert answer["status"] == "error" and answer["error"]["name"] == "PermissionError" and not answer["stdout"], answer
    answer = run(server, "import evil", profile="strict", files=files)
    assert answer["status"] == "error" and "does not allow importing module `subprocess`" in answer["error"]["message"], answer


@pytest.mark.parametrize(
    "files, words",
    [
        ([{"path": "../x", "content": ""}], "`..`"),
        ([{"path": "/etc/x", "content": ""}], "files[0]"),
        ([{"path": "", "content": ""}], "files[0]"),
        ([{"path": ".", "content": ""}], "files[0]"),
        ([{"path": "a/../../b", "content": ""}], "`..`"),
        ([{"path": "x" * 300, "content": ""}], "longer than 255 bytes"),
        ([{"path": "x/" * 64 + "y", "content": ""}], "more than 64 parts"),
        ([{"path": "x/" * 2000 + "y", "content": ""}], "more than 64 parts"),
        ([{"path": "new\nline", "content": ""}], "control"),
        ([{"path": "a", "content": ""}, {"path": "./a", "content": ""}], "same path"),
        ([{"path": "a", "content": ""}, {"path": "a/b", "content": ""}], "directory"),
        ([{"path": "a", "content": "!", "encoding": "base64"}], "base64"),
        ([{"path": "a", "content": "AA==AA==", "encoding": "base64"}], "base64"),
        ([{"path": "a", "content": "", "encoding": "latin-1"}], "encoding"),
        ([{"path": "a"}], "content"),
        ([{"content": "a"}], "path"),
        ([{"path": "a", "content": 7}], "content"),
        ([{"path": "a", "content": "", "mode": 7}], "mode"),
        ([7], "files"),
        ({"a": "b"}, "files"),
        ([{"path": f"f{i}", "content": ""} for i in range(GIVEN + 1)], "files"),
    ],
)
def test_what_is_no_file_is_refused_by_name(server, files, words):
    reply = server.post("/v1/run", {"code": "1", "files": files})
    assert reply.status == 400 and words in reply.json["error"]["message"], reply


def test_more_than_the_disk_holds_is_too_large_and_harms_nobody(server):
    files = [{"path": "a", "content": "x" * (3 << 20)}]
    reply = server.post("/v1/run", {"code": "1", "disk_mb": 1, "files": files})
    assert reply.status == 413 and "disk is full" in reply.json["error"]["message"], reply
    assert run(server, "print(1)")["stdout"] == "1\n"


# --- out ---


def test_what_matches_is_brought_back(server):
    answer = run(
        server,
        "import os\nos.makedirs('d/e')\n"
        "for p in ('a.csv', 'd/b.csv', 'd/e/c.csv', 'x.txt'): open(p, 'w').write(p)\n"
        "open('p.png', 'wb').write(b'\\x89PNG\\xff'); os.symlink('/etc/passwd', 'l.csv'); os.mkfifo('f.csv')",
        collect=["*.csv", "**/c.csv", "*.png", "nothing"],
    )
    assert answer["collected"] == [
        {"path": "a.csv", "size": 5, "encoding": "utf-8", "content": "a.csv"},
        {"path": "d/e/c.csv", "size": 9, "encoding": "utf-8", "content": "d/e/c.csv"},
        {"path": "p.png", "size": 5, "encoding": "base64", "content": base64.b64encode(b"\x89PNG\xff").decode()},
    ], answer
    assert answer["collected_truncated"] is False


def test_nothing_is_brought_back_that_was_not_asked_for(server):
    assert "collected" not in run(server, "open('a', 'w')")
    assert run(server, "open('a', 'w')", collect=[])["collected"] == []


@pytest.mark.parametrize("end, status", [("1 / 0", "error"), ("while True: pass", "timeout"), ("import os; os._exit(3)", "error")])
def test_files_come_back_however_it_ends(server, end, status):
    answer = run(server, f"open('partial', 'w').write('xyz')\n{end}", timeout_s=1, collect=["partial"])
    assert answer["status"] == status and answer["collected"][0]["content"] == "xyz", answer


def test_what_was_sent_along_can_come_back_changed(server):
    answer = run(
        server, "s = open('a').read(); open('a', 'w').write(s.upper())", files=[{"path": "a", "content": "text"}], collect=["*"]
    )
    assert answer["collected"][0]["content"] == "TEXT"


def test_too_much_is_named_and_left_out(server):
    code = "import os\nopen('big', 'w'); os.truncate('big', 40 << 20)\nopen('small', 'w').write('s')"
    answer = run(server, code, collect=["*"])
    assert answer["collected"] == [
        {"path": "big", "size": 40 << 20, "encoding": None, "content": None},
        {"path": "small", "size": 1, "encoding": "utf-8", "content": "s"},
    ]
    assert answer["collected_truncated"] is True
    answer = run(server, "for i in range(1000): open(f'{i:03}', 'w')", collect=["*"])
    assert len(answer["collected"]) == COLLECTED and answer["collected_truncated"] is True
    answer = run(server, "for i in range(10): open(f'{i}', 'wb').write(bytes([255]) * (4 << 20))", collect=["*"])
    assert sum(f["size"] for f in answer["collected"] if f["content"] is not None) <= COLLECTED_BYTES


def test_secrets_in_text_do_not_leave(server):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    answer = run(server, "open('a', 'w').write('id ' + 'AK' + 'IAIOSFODNN7EXAMPLE')", collect=["a"])
    assert key not in json.dumps(answer) and "REDACTED" in answer["collected"][0]["content"], answer
    assert answer["masked"]["count"] == 1


def test_odd_names_and_bytes_are_escaped(server):
    answer = run(server, "open(b'\\xff\\n', 'wb').write(b'a\\x00b\\x1b')", collect=["*"])
    assert answer["collected"] == [{"path": "\\xff\\x0a", "size": 4, "encoding": "utf-8", "content": "a\x00b\x1b"}], answer


@pytest.mark.parametrize("collect", ["*", [7], ["", "a"], ["x" * 5000], ["a"] * 33, {"a": "b"}])
def test_what_is_no_pattern_is_refused(server, collect):
    reply = server.post("/v1/run", {"code": "1", "collect": collect})
    assert reply.status == 400 and "collect" in reply.json["error"]["message"], reply


@pytest.mark.parametrize("pattern", ["[", "[a", "\\", "**", "**/", "/etc/*", "../*", "{a,b}", "*" * 1000 + "x", "[!-~]", "?" * 255])
def test_odd_patterns_do_no_harm(server, pattern):
    assert run(server, "open('a' * 200, 'w')", collect=[pattern])["status"] == "success"


# --- in sessions ---


def test_cells_take_and_give_files_too(server):
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    path = f"/v1/sessions/{session}/execute"
    try:
        first = run(server, "print(open('a').read())", path=path, files=[{"path": "a", "content": "1"}])
        assert first["stdout"] == "1\n" and first["files"] == []
        second = run(server, "cp a b", path=path, language="bash", files=[{"path": "a", "content": "2"}], collect=["*"])
        assert [(f["path"], f["content"]) for f in second["collected"]] == [("a", "2"), ("b", "2")]
        assert [f["path"] for f in second["files"]] == ["b"]
        # A link of the program's is replaced, never followed.
        run(server, "import os\nos.remove('a'); os.symlink('b', 'a'); os.symlink('/tmp', 'way'); x = 1", path=path)
        assert run(server, "print(os.path.islink('a'), open('b').read())", path=path, files=[{"path": "a", "content": "3"}])[
            "stdout"
        ] == "False 2\n"
        reply = server.post(path, {"code": "1", "files": [{"path": "way/x", "content": ""}]})
        assert reply.status == 400 and "not a directory" in reply.json["error"]["message"], reply
        assert run(server, "print(x)", path=path)["stdout"] == "1\n"
    finally:
        server.call("DELETE", f"/v1/sessions/{session}")


# --- forms ---


def test_a_form_is_the_same_request(server):
    data = os.urandom(100_000)
    reply = post_form(
        server,
        ("code", "import hashlib\nprint(hashlib.sha256(open('d/data.bin', 'rb').read()).hexdigest(), open('x').read())"),
        ("profile", "open"),
        ("timeout_s", "20"),
        ("auto_print", "false"),
        ("collect", "x"),
        ("collect", "y*"),
        ("files", "d/data.bin", data),
        ("files", "x", "\r\n--belljar\r\n"),
    )
    assert reply.status == 200, reply
    assert reply.json["stdout"] == hashlib.sha256(data).hexdigest() + " \n--belljar\n\n", reply
    assert reply.json["collected"][0]["content"] == "\r\n--belljar\r\n"


def test_the_body_may_be_a_part_and_fields_follow(server):
    body = json.dumps({"code": "print(open('a').read())", "profile": "open", "files": [{"path": "b", "content": "2"}]})
    reply = post_form(server, ("request", body), ("collect", "?"), ("files", "a", "1"))
    assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
    assert [f["content"] for f in reply.json["collected"]] == ["1", "2"]


def test_a_form_may_be_larger_than_json(server):
    data = b"\xff" * (30 << 20)
    reply = post_form(server, ("code", "import os\nprint(os.stat('big').st_size)"), ("profile", "open"), ("files", "big", data))
    assert reply.status == 200 and reply.json["stdout"] == f"{len(data)}\n", reply


def test_a_large_file_that_cannot_be_written_harms_nobody(server):
    """Such files are written while the server does other things, and a failure comes late."""
    large = ("files", "big", b"x" * (20 << 20))
    reply = post_form(server, ("code", "print(1)"), ("disk_mb", "4"), large)
    assert reply.status == 413 and "disk is full" in reply.json["error"]["message"], reply
    session = server.post("/v1/sessions", {"profile": "open", "disk_mb": 4}).json["session_id"]
    path = f"/v1/sessions/{session}/execute"
    assert run(server, "x = 5", path=path)["status"] == "success"
    for language in ("python", "bash"):
        reply = post_form(server, ("code", "echo 1"), ("language", language), large, path=path)
        assert reply.status == 413 and "disk is full" in reply.json["error"]["message"], reply
    reply = post_form(server, ("code", "print(x, len(open('fits').read()))"), ("files", "fits", b"x" * (2 << 20)), path=path)
    assert reply.status == 200 and reply.json["stdout"] == f"5 {2 << 20}\n", reply
    server.call("DELETE", f"/v1/sessions/{session}")


def test_a_run_can_be_ended_while_its_files_are_written(server):
    """The client goes, or the session ends, right after the last byte of the request."""
    session = server.post("/v1/sessions", {"profile": "open", "memory_mb": 512, "disk_mb": 200}).json["session_id"]
    path = f"/v1/sessions/{session}/execute"
    assert run(server, "x = 5", path=path)["status"] == "success"
    body = form(("code", "x = 6"), ("files", "big", b"x" * (40 << 20)))
    for target in ("/v1/run", path, path):
        s = server.open()
        head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        s.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        s.close()
    assert run(server, "print(x in (5, 6))", path=path)["stdout"] == "True\n"
    s = server.open()
    s.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert server.call("DELETE", f"/v1/sessions/{session}").status in (200, 204)
    assert s.recv(12) == b"HTTP/1.1 404"
    s.close()
    assert run(server, "print(1)")["stdout"] == "1\n"


def test_sessions_take_forms_too(server):
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    reply = post_form(server, ("code", "open('a').read()"), ("files", "a", "1"), path=f"/v1/sessions/{session}/execute")
    assert reply.status == 200 and reply.json["result"]["text"] == "'1'", reply
    server.call("DELETE", f"/v1/sessions/{session}")


@pytest.mark.parametrize(
    "parts, status, words",
    [
        ([], 400, "`code` is missing"),
        ([("files", "a", "1")], 400, "`code` is missing"),
        ([("code", "1"), ("code", "2")], 400, "twice"),
        ([("code", "1"), ("cod", "2")], 400, "unknown field `cod`"),
        ([("code", "1"), ("timeout_s", "soon")], 400, "timeout_s"),
        ([("code", "1"), ("timeout_s", "")], 400, "timeout_s"),
        ([("code", "1"), ("env", "{}")], 400, "env"),
        ([("code", b"\xff")], 400, "UTF-8"),
        ([("code", b"a\x00b")], 400, "text"),
        ([("code", "1"), ("request", "{}")], 400, "not the first"),
        ([("request", "[]")], 400, "object"),
        ([("request", "{")], 400, "JSON"),
        ([("request", '{"code": "1", "code": "2"}')], 400, "duplicate"),
        ([("request", "[" * 100_000)], 413, "nested"),
        ([("code", "1"), ("files", "x")], 400, "no file name"),
        ([("code", "1"), ("files", "", "x")], 400, "no file name"),
        ([("code", "1"), ("files", "../x", "x")], 400, "`..`"),
        ([("code", "1"), ("files", "/x", "x")], 400, "files"),
        ([("code", "1"), ("files", "a", "x"), ("files", "a", "y")], 400, "same path"),
        ([("code", "1")] + [("files", f"f{i}", "x") for i in range(GIVEN + 1)], 413, "files"),
        ([("code", "1")] + [("collect", "x")] * 33, 400, "collect"),
        ([("code", "1")] + [("x", "x")] * 1000, 400, "too many parts"),
        ([("code", "#" + "x" * (2 << 20))], 400, "code"),
        ([("code", "#" + "x" * (9 << 20))], 413, "field"),
    ],
)
def test_what_is_no_such_form_is_refused(server, parts, status, words):
    reply = post_form(server, *parts)
    assert reply.status == status and words in reply.json["error"]["message"], reply


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--",
        b"--belljar-test",
        b"preamble\r\n" + form(("code", "1")),
        form(("code", "1")) + b"epilogue",
        form(("code", "1"))[:-4],
        form(("code", "1"), boundary="other"),
        form(("code", "1")).replace(b"\r\n", b"\n"),
        form(("code", "1")).replace(b"form-data", b"attachment"),
        form(("code", "1")).replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n"),
        form(("code", "1")).replace(b'name="code"', b"name=code"),
        form(("files", "x", "1")).replace(b"filename=", b"filename*="),
        b"\x00" * 1000,
        bytes(range(256)) * 20,
    ],
)
def test_hostile_forms_are_400(server, body):
    reply = server.post_raw("/v1/run", body, f"multipart/form-data; boundary={BOUNDARY}")
    assert reply.status == 400 and "the form" in reply.json["error"]["message"], reply


@pytest.mark.parametrize("type", ["multipart/form-data", "multipart/form-data; boundary=", 'multipart/form-data; boundary="a b"'])
def test_a_form_without_its_boundary_is_400(server, type):
    assert server.post_raw("/v1/run", form(("code", "1")), type).status == 400


@pytest.mark.parametrize("path", ["/v1/sessions", "/run", "/execute"])
def test_forms_are_taken_where_files_are(server, path):
    assert post_form(server, ("code", "1"), path=path).status == 415


def test_a_form_that_is_too_large_is_413(server):
    reply = post_form(server, ("code", "1"), ("files", "big", b"x" * (65 << 20)))
    assert reply.status == 413, reply
