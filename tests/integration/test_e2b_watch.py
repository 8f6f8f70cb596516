"""Watching directories by E2B's interface: as a stream, and by asking."""
import json
import struct

import pytest
from e2b_client import made
from serving import wait_until


@pytest.fixture
def sandbox(server):
    with made(server) as s:
        yield s


def call(sandbox, method, **body):
    return sandbox.rpc(f"filesystem.Filesystem/{method}", body)


def write(sandbox, path, data=b"x"):
    assert sandbox.call("POST", f"/files?path={path}", data, Content_Type="application/octet-stream").status == 200


class Watch:
    """An open stream: its messages as they come."""

    def __init__(self, sandbox, body, **headers):
        data = json.dumps(body).encode()
        self.connection = sandbox.server.connect()
        headers = sandbox.headers(**{"Content-Type": "application/connect+json", **{k.replace("_", "-"): v for k, v in headers.items()}})
        self.connection.request("POST", "/e2b/filesystem.Filesystem/WatchDir", struct.pack(">BI", 0, len(data)) + data, headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200

    def next(self):
        flags, length = struct.unpack(">BI", self.answer.read(5))
        return flags, json.loads(self.answer.read(length))

    def until(self, kind, name):
        while True:
            flags, message = self.next()
            assert flags == 0, message
            event = message.get("filesystem", {})
            if (event.get("type"), event.get("name")) == (f"EVENT_TYPE_{kind}", name):
                return event


def test_a_stream_tells_what_happens(sandbox):
    call(sandbox, "MakeDir", path="d/below")
    watch = Watch(sandbox, {"path": "d", "recursive": True, "includeEntry": True})
    assert watch.next() == (0, {"start": {}})
    write(sandbox, "d/a")
    assert watch.until("CREATE", "a")["entry"]["path"] == "/home/user/d/a"
    assert watch.until("WRITE", "a")["entry"]["size"] == "1"
    sandbox.run("cd d; chmod 600 a; mv a below/b; echo more >> below/b; rm below/b; mkdir below/c; echo 1 > below/c/d")
    assert watch.until("CHMOD", "a")
    assert "entry" not in watch.until("RENAME", "a")
    for kind, name in [("CREATE", "below/b"), ("WRITE", "below/b"), ("REMOVE", "below/b"), ("CREATE", "below/c"), ("CREATE", "below/c/d")]:
        watch.until(kind, name)
    sandbox.run("rm -r d")
    while (message := watch.next())[0] == 0:
        pass
    assert message == (2, {})
    watch.connection.close()


def test_a_stream_has_a_deadline_and_ends_with_its_sandbox(server):
    with made(server) as s:
        watch = Watch(s, {"path": ""}, Connect_Timeout_Ms="300")
        assert watch.next() == (0, {"start": {}}) and watch.next()[1]["error"]["code"] == "deadline_exceeded"
        other = Watch(s, {"path": "/home/user"})
        assert other.next() == (0, {"start": {}})
    assert other.next() == (2, {})
    watch.connection.close()
    other.connection.close()


def test_a_watcher_is_asked(server, sandbox):
    call(sandbox, "MakeDir", path="d")
    id = call(sandbox, "CreateWatcher", path="d", recursive=False).json["watcherId"]
    assert call(sandbox, "GetWatcherEvents", watcherId=id).json == {"events": []}
    write(sandbox, "d/a")
    events = []

    def all_there():
        events.extend(call(sandbox, "GetWatcherEvents", watcherId=id).json["events"])
        return [(e["type"], e["name"]) for e in events][-2:] == [("EVENT_TYPE_CREATE", "a"), ("EVENT_TYPE_WRITE", "a")]

    wait_until(all_there, "both events")
    sandbox.run("for i in $(seq 3000); do echo > d/f$i; done")  # more than is kept: it is not lost in silence
    names = set()

    def told():
        new = call(sandbox, "GetWatcherEvents", watcherId=id).json["events"]
        assert len(new) <= 2000
        names.update(e["name"] for e in new)
        return "." in names or len(names) == 3000

    wait_until(told, "all of them, or that some were lost")
    with made(server) as other:  # it is not another sandbox's
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            assert call(other, method, watcherId=id).json["code"] == "not_found"
    assert call(sandbox, "RemoveWatcher", watcherId=id).json == {}
    for method in ("GetWatcherEvents", "RemoveWatcher"):
        for wrong in (id, "", "x" * 5000):
            assert call(sandbox, method, watcherId=wrong).json["code"] == "not_found"


LONG_NAMES = r"""import os, time
for _ in range(15):
    os.makedirs(b"\xff" * 250, exist_ok=True)
    os.chdir(b"\xff" * 250)
for i in range(1000):  # no faster than they are told
    open("xy"[i % 2], "a").close()
    os.chmod("xy"[i % 2], 0o600 + i % 4)
    time.sleep(0.001)
"""


def test_events_with_long_names_are_bounded_by_their_size(sandbox):
    """Watchers that nobody asks hold no more of the server's memory, however long the names are."""
    write(sandbox, "names.py", LONG_NAMES.encode())
    assert sandbox.run("python3 names.py")[1:] == ("", {"exitCode": 0, "exited": True, "status": "exit status 0"})
    ids = [call(sandbox, "CreateWatcher", path="", recursive=True, includeEntry=True).json["watcherId"] for _ in range(8)]
    sandbox.run("python3 names.py")
    sizes = []
    for id in ids:
        reply = call(sandbox, "GetWatcherEvents", watcherId=id)
        assert any(e["type"] == "EVENT_TYPE_CHMOD" for e in reply.json["events"]), reply
        sizes.append(len(reply.body))
    assert max(sizes) < 1024 * 1024, sizes


def test_what_cannot_be_watched(sandbox):
    write(sandbox, "f")
    sandbox.run("ln -s / link")
    for path, code in [("none", "not_found"), ("f", "invalid_argument"), ("/etc", "permission_denied"), ("../..", "invalid_argument"), ("link", None), (7, "invalid_argument")]:
        reply = call(sandbox, "CreateWatcher", path=path)
        assert reply.status >= 400 and reply.json["code"] == (code or reply.json["code"]), (path, reply)
        messages, end = sandbox.stream("filesystem.Filesystem/WatchDir", {"path": path})
        assert not messages and end["error"]["code"] == (code or end["error"]["code"]), (path, end)
    ids = []
    while (reply := call(sandbox, "CreateWatcher", path="")).status == 200:
        ids.append(reply.json["watcherId"])
    assert reply.json["code"] == "resource_exhausted" and len(ids) == 8, reply
    for id in ids:
        assert call(sandbox, "RemoveWatcher", watcherId=id).json == {}
    assert call(sandbox, "CreateWatcher", path="").status == 200


def test_a_reader_that_goes_away_makes_room(sandbox):
    for _ in range(20):
        watch = Watch(sandbox, {"path": ""})
        assert watch.next() == (0, {"start": {}})
        watch.connection.close()
        watch.answer.close()
        wait_until(lambda: call(sandbox, "ListDir", path="").status == 200, "the server goes on")

    def has_room():
        reply = call(sandbox, "CreateWatcher", path="")
        return reply.status == 200 and call(sandbox, "RemoveWatcher", **reply.json).json == {}

    wait_until(has_room, "room for another")
