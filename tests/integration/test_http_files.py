"""Files of sessions and whole outputs over HTTP."""
import contextlib
import hashlib
import os
import socket
import urllib.parse

import pytest

from serving import Server, parse, wait_until


@pytest.fixture(scope="module", params=["root", "user"])
def server(request, callers):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    s = Server(callers[request.param], "--socket", "none")
    yield s
    assert s.stop() == 0, s.said


@contextlib.contextmanager
def opened(server, **fields):
    with server.session(**fields) as name:
        wait_until(lambda: server.call("GET", f"/v1/sessions/{name}").json["state"] == "idle", "the session is there")
        yield f"/v1/sessions/{name}"


@pytest.fixture
def session(server):
    with opened(server) as path:
        yield path


def cell(server, session, code, **fields):
    reply = server.call("POST", f"{session}/execute", {"code": code, **fields})
    assert reply.status == 200, reply
    return reply.json


def put(server, session, path, data, query=""):
    return server.call("PUT", f"{session}/files/{path}{query}", data)


# --- files ---


@pytest.mark.smoke
def test_what_is_written_can_be_read_on_both_sides(server, session):
    data = os.urandom(3_000_000)
    reply = put(server, session, "deep/er/data.bin", data)
    assert reply.status == 200 and reply.json == {"path": "deep/er/data.bin", "size": len(data)}
    inside = cell(server, session, "import hashlib; print(hashlib.sha256(open('deep/er/data.bin','rb').read()).hexdigest())")
    assert inside["stdout"].strip() == hashlib.sha256(data).hexdigest()
    back = server.call("GET", f"{session}/files/deep/er/data.bin")
    assert back.status == 200 and back.body == data
    assert back.headers["content-type"] == "application/octet-stream"
    cell(server, session, "open('made','w').write('inside')")
    assert server.call("GET", f"{session}/files/made").body == b"inside"


def test_an_upload_may_come_in_chunks_and_be_empty(server, session):
    c = server.connect()
    c.request("PUT", f"{session}/files/a", body=iter([b"x" * 1000] * 50), headers=server.headers(), encode_chunked=True)
    assert c.getresponse().status == 200
    c.close()
    assert server.call("GET", f"{session}/files/a").body == b"x" * 50000
    assert put(server, session, "empty", b"").json["size"] == 0
    empty = server.call("GET", f"{session}/files/empty")
    assert empty.status == 200 and empty.body == b""


RANGES = [
    ("bytes=0-0", 206, b"0"), ("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"), ("bytes=-3", 206, b"789"), ("bytes=5-99", 206, b"56789"),
    ("bytes=-99", 206, b"0123456789"), ("bytes=10-", 416, None), ("bytes=99-100", 416, None), ("bytes=4-2", 200, None), ("bytes=a-b", 200, None),
    ("bytes=", 200, None), ("bytes=-", 200, None), ("lines=1-2", 200, None), ("bytes=0-1,3-4", 200, None), ("bytes=99999999999999999999-", 200, None), ("bytes=-0", 416, None),
]  # fmt: skip


@pytest.mark.parametrize("text, status, part", RANGES)
def test_parts_of_files(server, session, text, status, part):
    put(server, session, "f", b"0123456789")
    reply = server.call("GET", f"{session}/files/f", headers={"Range": text})
    assert reply.status == status, reply
    if status == 206:
        assert reply.body == part
        start = 10 - len(part) if text.startswith("bytes=-") else int(text[6:].split("-")[0])
        assert reply.headers["content-range"] == f"bytes {start}-{start + len(part) - 1}/10"
    elif status == 416:
        assert reply.headers["content-range"] == "bytes */10"
    else:
        assert reply.body == b"0123456789"


def test_files_are_listed_in_pages(server, session):
    for name in ("b", "a", "d/x", "c"):
        put(server, session, name, name.encode())
    listing = server.call("GET", f"{session}/files").json
    assert [(f["path"], f["kind"]) for f in listing["files"]] == [("a", "file"), ("b", "file"), ("c", "file"), ("d", "directory")]
    assert listing["has_more"] is False and listing["files"][0]["size"] == 1 and listing["files"][0]["mode"] == "0644"
    page = server.call("GET", f"{session}/files?depth=0&limit=2&after=b").json
    assert [f["path"] for f in page["files"]] == ["c", "d"] and page["has_more"] is True
    assert [f["path"] for f in server.call("GET", f"{session}/files?path=d").json["files"]] == ["d/x"]
    assert server.call("GET", f"{session}/files?path=nowhere").status == 404
    assert server.call("GET", f"{session}/files?path=../etc").status == 400
    assert server.call("GET", f"{session}/files?limit=0").status == 400


def test_pages_go_on_behind_odd_names(server, session):
    cell(server, session, "for i in range(9): open(chr(1) + str(i), 'w').close()\nopen('back\\\\slash', 'w').close()")
    seen, after = [], ""
    for _ in range(10):
        page = server.call("GET", f"{session}/files?limit=3{after}").json
        seen += [e["path"] for e in page["files"]]
        if not page["has_more"]:
            break
        after = "&after=" + urllib.parse.quote(seen[-1], safe="")
    assert seen == [f"\\x01{i}" for i in range(9)] + ["back\\x5cslash"]


def test_a_page_ends_by_the_bytes_of_its_paths(server, session):
    cell(server, session, "for i in range(3000): open(f'{i:05d}' + 'n' * 240, 'w').close()")
    page = server.call("GET", f"{session}/files?limit=20000").json
    assert page["has_more"] and len(page["files"]) == 512 * 1024 // 245
    rest = server.call("GET", f"{session}/files?limit=20000&after={page['files'][-1]['path']}").json
    assert not rest["has_more"] and len(page["files"]) + len(rest["files"]) == 3000


def test_files_are_deleted(server, session):
    put(server, session, "d/x", b"")
    assert server.call("DELETE", f"{session}/files/d").status == 400
    assert server.call("DELETE", f"{session}/files/d?recursive=true").status == 204
    assert server.call("DELETE", f"{session}/files/d").status == 404
    assert server.call("GET", f"{session}/files/d/x").status == 404


def test_an_executable_is_one(server, session):
    put(server, session, "tool", b"#!/bin/sh\necho ran\n", "?executable=true")
    assert cell(server, session, "./tool", language="bash")["stdout"] == "ran\n"


@pytest.mark.parametrize(
    "path", ["..", "../x", "a/../../x", "%2e%2e/%2e%2e/etc/passwd", "%2fetc%2fpasswd", "a%2f..%2f..%2fb", "a//../../..", "x" * 300, "/etc/passwd"]
)  # fmt: skip
def test_paths_stay_inside(server, session, path):
    for method, body in (("GET", None), ("PUT", b"x"), ("DELETE", None)):
        reply = server.call(method, f"{session}/files/{path}", body)
        assert reply.status in (400, 404), (method, reply)


def test_links_of_a_program_lead_nowhere(server, session):
    cell(server, session, "import os\nos.symlink('/etc/passwd', 'l')\nos.symlink('/', 'root')\nos.mkfifo('p')")
    assert server.call("GET", f"{session}/files/l").status == 403
    assert server.call("GET", f"{session}/files/root/etc/passwd").status == 403
    assert server.call("PUT", f"{session}/files/root/x", b"x").status == 400
    assert server.call("GET", f"{session}/files/p").status == 400
    assert put(server, session, "l", b"mine").status == 200  # the link is replaced, not followed
    assert server.call("GET", f"{session}/files/l").body == b"mine"


def test_a_full_disk_refuses_and_leaves_nothing(server):
    with opened(server, disk_mb=64) as session:
        reply = put(server, session, "big", b"x" * 80_000_000)
        assert reply.status == 413 and reply.error["code"] == "too_large"
        assert server.call("GET", f"{session}/files").json["files"] == []
        assert put(server, session, "small", b"x").status == 200


def test_an_upload_that_breaks_off_leaves_nothing(server, session):
    put(server, session, "f", b"old")
    for end in (b"", b"zz\r\n"):
        with server.open() as s:
            framing = b"Transfer-Encoding: chunked\r\n" if end else b"Content-Length: 1000\r\n"
            token = f"Authorization: Bearer {server.token}\r\n".encode()
            s.sendall(b"PUT " + session.encode() + b"/files/f HTTP/1.1\r\nHost: localhost\r\n" + token + framing + b"\r\n")
            s.sendall(b"3\r\nnew\r\n" + end if end else b"new")
            s.shutdown(socket.SHUT_WR)
            answer = s.recv(10000)
            assert not answer or parse(answer)[0].status == 400
    assert server.call("GET", f"{session}/files/f").body == b"old"
    assert [f["path"] for f in server.call("GET", f"{session}/files").json["files"]] == ["f"]


def test_a_file_that_shrinks_breaks_the_answer_off(server, session):
    """The promised length cannot be kept; the client must not take a part for the whole."""
    put(server, session, "f", b"x" * 40_000_000)
    with server.open() as s:
        s.sendall(f"GET {session}/files/f HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        got = len(s.recv(4096))
        cell(server, session, "open('f', 'w').close()")
        try:
            while piece := s.recv(1 << 20):
                got += len(piece)
        except ConnectionError:
            pass
    assert got < 40_000_000
    assert cell(server, session, "print(1)")["stdout"] == "1\n"


def test_a_session_that_ends_does_not_break_a_transfer_apart(server, session):
    put(server, session, "f", b"y" * 30_000_000)
    with server.open() as s:
        s.sendall(f"GET {session}/files/f HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode())
        got = s.recv(4096)
        assert server.call("DELETE", session).status == 204
        while piece := s.recv(1 << 20):
            got += piece
    assert parse(got)[0].body == b"y" * 30_000_000


# --- the whole output ---


def test_what_the_answer_drops_can_be_read(server):
    code = "for i in range(30000): print('line', i, 'é')"
    result = server.run(code, output_bytes=1000)
    assert result["truncated"]["stdout"] and result["output_handle"] == result["id"]
    whole = "".join(f"line {i} é\n" for i in range(30000))
    path = f"/v1/runs/{result['id']}/output"
    text, at = "", {"offset": 0}
    while at:
        page = server.call("GET", f"{path}?offset={at['offset']}&limit=100001").json
        text, at = text + page["text"], page["next"]
    assert text == whole and page["lines"] == 30000 and page["size"] == len(whole.encode())
    lines = server.call("GET", f"{path}?line=500&limit=2").json
    assert lines["text"] == "line 499 é\nline 500 é\n"
    more = server.call("GET", f"{path}?line={lines['next']['line']}&offset={lines['next']['offset']}&limit=1").json
    assert more["text"] == "line 501 é\n"
    found = server.call("GET", f"{path}?search=LINE%202999%5Cd&ignore_case=true&limit=3").json
    assert [m["line"] for m in found["matches"]] == [29991, 29992, 29993]
    assert server.call("GET", f"{path}?search=(").status == 400
    assert server.call("GET", f"{path}?stream=stderr").status == 404
    assert server.call("GET", f"{path}?line=99999999").status == 404

