"""The routes for files of a session, in granted directories: the rules of any code, and undo."""
import os
import secrets

import pytest

from serving import Server, wait_until


@pytest.fixture(scope="module")
def place(callers):
    who = callers.get("root") or callers["user"]
    path = who.directory("granted-" + secrets.token_hex(4))
    (path / "sub").mkdir()
    (path / "a.txt").write_text("hello\n")
    (path / "token.txt").write_text("token ghp_" + "0123456789abcdefghijABCDEFGHIJ012345\n")
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return who, path


@pytest.fixture(scope="module")
def server(place):
    who, path = place
    s = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{path}:rw"})
    yield s
    assert s.stop() == 0, s.said


def opened(server, **fields):
    return "/v1/sessions/" + server.post("/v1/sessions", fields).json["session_id"]


def test_files_are_read_written_and_listed(server, place):
    _, path = place
    session = opened(server)
    for name in (f"{path}/a.txt".replace("/", "%2F"), f"{path}/a.txt"):
        reply = server.get(f"{session}/files/{name}")
        assert reply.status == 200 and reply.body == b"hello\n", reply
    data = bytes(range(256)) * 40
    reply = server.call("PUT", f"{session}/files/{path}/new/deep.bin", data)
    assert reply.status == 200 and reply.json == {"path": f"{path}/new/deep.bin", "size": len(data)}, reply
    assert (path / "new" / "deep.bin").read_bytes() == data
    assert server.call("PUT", f"{session}/files/{path}/empty", b"").status == 200 and (path / "empty").read_bytes() == b""
    assert server.get(f"{session}/files/{path}/empty").body == b""
    listed = server.get(f"{session}/files?path={path}").json
    kinds = {os.path.basename(f["path"]): (f["kind"], f["size"]) for f in listed["files"] if f["kind"] == "file"}
    assert kinds["a.txt"] == ("file", 6) and not listed["has_more"], listed
    assert {"sub", "new"} <= {os.path.basename(f["path"]) for f in listed["files"] if f["kind"] == "directory"}
    assert server.call("PUT", f"{session}/files/w.txt", b"w").status == 200 and not (path / "w.txt").exists()
    assert server.get(f"{session}/files/w.txt").body == b"w"
    server.call("DELETE", session)


def test_the_rules_are_those_of_code(server, place):
    _, path = place
    session = opened(server)
    before = sorted(p.name for p in path.iterdir())
    for name in (".bashrc", ".vscode/tasks.json", ".git/hooks/pre-commit"):
        reply = server.call("PUT", f"{session}/files/{path}/{name}", b"x")
        assert reply.status in (403, 404), reply
    assert sorted(p.name for p in path.iterdir() if p.name not in (".vscode", ".git")) == before
    reply = server.get(f"{session}/files/{path}/token.txt")
    assert reply.status == 200 and b"REDACTED" in reply.body and b"ghp_" not in reply.body
    reply = server.get(f"{session}/files/{path}/nothing")
    assert reply.status == 404 and reply.json["error"]["code"] == "not_found", reply
    for name in ("/etc/hostname", f"{path}/../x", f"{path}x/a.txt", "/proc/self/environ"):
        reply = server.get(f"{session}/files/{name}")
        assert reply.status in (400, 403, 404) and b"root" not in reply.body, reply
    reply = server.call("PUT", f"{session}/files/{path}/large", b"x" * 800_000)
    assert reply.status == 413 and "/workspace" in reply.json["error"]["hint"], reply
    server.call("DELETE", session)


def test_a_directory_granted_for_reading_is_not_written(server, place):
    _, path = place
    session = opened(server, allow=[f"{path}:ro"])
    assert server.get(f"{session}/files/{path}/a.txt").body == b"hello\n"
    reply = server.call("PUT", f"{session}/files/{path}/a.txt", b"other")
    assert reply.status == 403 and f"{path}:rw" in reply.json["error"]["hint"], reply
    assert (path / "a.txt").read_text() == "hello\n"
    server.call("DELETE", session)


def test_sessions_without_the_grant_and_of_others_have_nothing(server, place):
    who, path = place
    session = opened(server, allow=[])
    reply = server.get(f"{session}/files/{path}/a.txt")
    assert reply.status in (400, 404) and b"hello" not in reply.body, reply
    other = {"Authorization": "Bearer " + who.call("token", "add", "o" + secrets.token_hex(3)).text.split()[-1]}
    mine = opened(server)
    for reply in (server.get(f"{mine}/files/{path}/a.txt", headers=other), server.call("PUT", f"{mine}/files/{path}/a.txt", b"x", headers=other)):
        assert reply.status == 404 and b"hello" not in reply.body, reply
    assert (path / "a.txt").read_text() == "hello\n"
    server.call("DELETE", session)
    server.call("DELETE", mine)


def test_what_was_written_can_be_undone(server, place):
    who, path = place
    session = opened(server)
    assert server.call("PUT", f"{session}/files/{path}/a.txt", b"changed\n").status == 200
    assert (path / "a.txt").read_text() == "changed\n"
    server.call("DELETE", session)
    listed = who.call("undo", "--list").text
    run = next(word for line in listed.splitlines() for word in line.split() if word.startswith("run_"))
    done = who.call("undo", run)
    assert done.code == 0, (listed, done)
    assert (path / "a.txt").read_text() == "hello\n"


def test_a_kernel_that_lies_is_not_believed(server, place):
    """The session's own code answers; its owner gets bytes or an error, and the server lives."""
    _, path = place
    session = opened(server, profile="open")
    server.post(f"{session}/execute", {"code": "import builtins\nbuiltins.print = lambda *a, **k: __import__('os').write(1, b'[1, 2')"})
    reply = server.get(f"{session}/files?path={path}")
    assert reply.status == 400 and "did not list" in reply.json["error"]["message"], reply
    assert server.get("/health").status == 200
    server.call("DELETE", session)


def answered(s):
    try:
        return s.recv(64).startswith(b"HTTP/1.1 429")
    except OSError:
        return False


def test_bodies_that_are_not_finished_are_counted(server, place):
    """A write into a granted directory is kept in memory until it is whole, like any other body. The listener passes
    all of them on: none is forgotten while the engine is behind."""
    _, path = place
    session = opened(server)
    head = f"PUT {session}/files/{path}/half HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Length: 716000\r\n\r\n"
    half = head.encode() + b"x" * 715000
    held = []

    def one_more():  # 256 MiB hold some 375; those that stand still for 10 s are dropped
        held.append(server.open())
        try:
            held[-1].sendall(half)
        except OSError:
            pass
        held[-1].setblocking(False)
        return any(answered(s) for s in held)

    try:
        wait_until(one_more, "one of them is refused", pause=0)
        # The one that was refused may still be taken down.
        wait_until(lambda: server.call("POST", "/v1/run", {"code": "print(6 * 7)"}).json.get("stdout") == "42\n", "a run")
    finally:
        for s in held:
            s.close()
    server.call("DELETE", session)
