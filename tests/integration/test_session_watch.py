"""Watching a directory of a session, and moving its files."""
import http.client
import json
import threading

import pytest
from serving import Server, wait_until
from test_http_auth import Tokens
from test_session_commands import background, start


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


class Watch:
    """The events of one watch, as they come."""

    def __init__(self, server, session, query=""):
        self.socket = server.open()
        self.socket.settimeout(120)
        self.socket.sendall(
            f"GET /v1/sessions/{session}/watch{query} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()
        )
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()
        self.status, self.seen = self.answer.status, []
        if self.status == 200:
            assert self.next() == ("start", {})

    def next(self):
        name = None
        while True:
            line = self.answer.readline().decode()
            if not line:
                raise EOFError(self.seen)
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                self.seen.append((name, json.loads(line[6:])))
                return self.seen[-1]

    def until(self, name, path):
        """All (event, path) up to this one."""
        from_here = len(self.seen)
        while True:
            got, data = self.next()
            if (got, data.get("path")) == (name, path):
                return [(n, d.get("path")) for n, d in self.seen[from_here:]]

    def close(self):
        self.answer.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.close()


def run(server, session, line):
    got = start(server, session, line)
    assert got["exit_code"] == 0, got


def test_each_kind_of_change_is_told(server, session):
    run(server, session, "mkdir d; touch d/old d/gone other")
    with Watch(server, session, "?path=d") as watch:
        run(server, session, "touch other; echo x > d/new; chmod 600 d/new; mv d/old d/renamed; rm d/gone; mkdir d/sub; touch d/sub/deep; touch d/last")
        seen = watch.until("create", "d/last")
    assert [e for e in seen if e[0] in ("create", "remove", "rename")] == [
        ("create", "d/new"), ("rename", "d/old"), ("create", "d/renamed"), ("remove", "d/gone"), ("create", "d/sub"), ("create", "d/last"),
    ], seen  # fmt: skip
    assert ("write", "d/new") in seen and ("chmod", "d/new") in seen, seen
    assert not [p for _, p in seen if p in ("other", "d/sub/deep")], seen


def test_directories_below_are_followed_wherever_they_go(server, session):
    run(server, session, "mkdir -p a/b/c")
    with Watch(server, session, "?recursive=true") as watch:
        run(server, session, "touch a/b/c/f")
        watch.until("create", "a/b/c/f")
        run(server, session, "mkdir -p x/y/z; touch x/y/z/f; : > x/done")
        seen = watch.until("create", "x/done")
        wait = [("create", p) for p in ("x", "x/y", "x/y/z", "x/y/z/f")]
        while not set(wait) <= set(seen):
            name, data = watch.next()
            seen.append((name, data.get("path")))
        run(server, session, "mv x/y moved; touch moved/z/g")
        watch.until("create", "moved/z/g")
        run(server, session, "mv moved /tmp/away; touch /tmp/away/z/h; touch end")
        assert not [p for _, p in watch.until("create", "end") if p and p.endswith("/h")]
        run(server, session, "rm -r a; touch over")
        assert {("remove", "a/b/c/f"), ("remove", "a/b"), ("remove", "a")} <= set(watch.until("create", "over"))


def test_names_are_escaped_and_links_not_followed(server, session):
    with Watch(server, session, "?recursive=true") as watch:
        run(server, session, r"""touch $'bad\xff' $'new\nline'; ln -s /etc etc; ln -s .. up; mkdir real; touch real/f""")
        seen = watch.until("create", "real/f")
    paths = {p for _, p in seen}
    assert {"bad\\xff", "new\\x0aline", "etc", "up"} <= paths and not [p for p in paths if p and p.startswith(("etc/", "up/"))], seen


def test_files_that_clients_write_are_told_too(server, session):
    with Watch(server, session) as watch:
        assert server.call("PUT", f"/v1/sessions/{session}/files/in.txt", b"x").status == 200
        watch.until("create", "in.txt")


@pytest.mark.parametrize("query,status", [("?path=none", 404), ("?path=file", 400), ("?path=/etc", 400), ("?path=..", 400), ("?path=link", 400), ("?deep=1", 400)])
def test_what_is_no_directory_is_refused(server, session, query, status):
    run(server, session, "touch file; ln -s /tmp link")
    with Watch(server, session, query) as watch:
        assert watch.status == status, (query, watch.answer.read())


def test_others_cannot_watch(server):
    with Watch(server, "ses_" + "0" * 26) as watch:
        assert watch.status == 404


def test_watches_are_bounded(server, session):
    watches = [Watch(server, session) for _ in range(8)]
    with Watch(server, session) as ninth:
        assert ninth.status == 429
    watches.pop().close()
    wait_until(lambda: (w := Watch(server, session)).status == 200 and (w.close() or True), "there is room again")
    for watch in watches:
        watch.close()


def test_watches_of_one_token_leave_room_for_another(callers):
    tokens = Tokens(callers["user"])
    greedy, modest = tokens.add("greedy"), tokens.add("modest")

    def watch(token, name):
        tokens.server.token = token
        tokens.call(token, "POST", "/v1/sessions", {"name": name, "profile": "open"})
        tokens.call(token, "POST", f"/v1/sessions/{name}/execute", {"code": "1"})
        watches = [Watch(tokens.server, name) for _ in range(8)]
        return [w for w in watches if w.status == 200 or w.close()]

    held = [w for i in range(6) for w in watch(greedy, f"g{i}")]
    others = watch(modest, "m")
    for w in held + others:
        w.close()
    assert len(held) < 48 and len(others) == 8, (len(held), len(others))
    assert tokens.server.stop() == 0, tokens.server.said


def test_the_end_says_why(server):
    with server.session() as session:
        run(server, session, "mkdir d")
        below, top = Watch(server, session, "?path=d"), Watch(server, session)
        run(server, session, "rmdir d")
        while below.next()[0] != "end":
            pass
        assert "removed" in below.seen[-1][1]["reason"]
        server.post(f"/v1/sessions/{session}/checkpoint", {"name": "a"})
        server.post(f"/v1/sessions/{session}/restore", {"name": "a"})
        while top.next()[0] != "end":
            pass
        assert "checkpoint" in top.seen[-1][1]["reason"]
        last = Watch(server, session)
    while last.next()[0] != "end":
        pass
    assert "closed" in last.seen[-1][1]["reason"]


def test_a_flood_is_told_as_losses_and_holds_nobody(server, session):
    """Also of a client that does not read."""
    with Watch(server, session, "?recursive=true") as deaf, Watch(server, session, "?recursive=true") as watch:
        program = "import os\nwhile True:\n    for i in '123456789': os.makedirs(f'{i}/b/c'); os.rename(f'{i}/b', f'x{i}'); os.removedirs(f'x{i}/c'); os.rmdir(i)"
        flood = background(server, session, None, args=["python3", "-c", program])
        while watch.next()[0] != "lost":
            pass
        assert server.execute(session, "print(6 * 7)")["stdout"] == "42\n"
        server.call("DELETE", f"/v1/sessions/{session}/commands/{flood}")
        # Events that come while the queue is full are lost, too.
        background(server, session, "while :; do touch after; rm after; sleep 0.05; done")
        watch.until("create", "after")


def test_more_directories_than_are_watched(server, session):
    run(server, session, "mkdir many; cd many; seq 1500 | xargs mkdir")
    with Watch(server, session, "?recursive=true") as watch:
        run(server, session, "touch top")
        assert ("lost", None) in [(n, d.get("path")) for n, d in watch.seen] + watch.until("create", "top")


def test_files_are_moved_and_listed_with_owner_and_times(server, session):
    server.call("PUT", f"/v1/sessions/{session}/files/a.txt", b"text")
    url = f"/v1/sessions/{session}/files"
    assert server.post(f"{url}/a.txt", {"to": "new/b.txt"}).json == {"path": "new/b.txt"}
    assert server.get(f"{url}/new/b.txt").body == b"text" and server.get(f"{url}/a.txt").status == 404
    (entry,) = server.get(f"{url}?path=new").json["files"]
    assert entry["owner"] == "user" and entry["mode"] == "0644" and entry["changed"] >= entry["modified"] > 1e9, entry
    assert start(server, session, "stat -c %U new/b.txt")["stdout"] == "user\n"
    server.call("PUT", f"{url}/c.txt", b"other")
    assert server.post(f"{url}/c.txt", {"to": "new/b.txt", "new": True}).status == 400
    assert server.post(f"{url}/c.txt", {"to": "/workspace/new/b.txt"}).status == 200
    assert server.get(f"{url}/new/b.txt").body == b"other"
    assert server.post(f"{url}/new", {"to": "moved"}).json == {"path": "moved"}
    for path, to, status in (("none", "x", 404), ("moved", "../x", 400), ("moved", "/etc/x", 400), ("moved", "moved/below", 400)):
        assert server.post(f"{url}/{path}", {"to": to}).status == status, (path, to)
    run(server, session, "ln -s /tmp out")
    assert server.post(f"{url}/moved/b.txt", {"to": "out/b.txt"}).status == 400
