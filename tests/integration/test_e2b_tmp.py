"""Files in /tmp of a sandbox, by E2B's interface and by /v1: with the same care as those of the home directory."""
import threading
import urllib.parse

import pytest
from e2b_client import Sandbox, control, made
from serving import wait_until


@pytest.fixture(scope="module")
def sandbox(server):
    with made(server, timeout=600) as s:
        yield s


def call(sandbox, method, **body):
    return sandbox.rpc(f"filesystem.Filesystem/{method}", body)


def write(sandbox, path, data=b"x"):
    return sandbox.call("POST", f"/files?path={urllib.parse.quote(path)}", data, Content_Type="application/octet-stream")


def read(sandbox, path):
    return sandbox.call("GET", f"/files?path={urllib.parse.quote(path)}")


def test_a_file_in_tmp_is_that_of_the_program(sandbox):
    reply = write(sandbox, "/tmp/x/in.txt", b"from outside")
    assert reply.status == 200 and reply.json[0]["path"] == "/tmp/x/in.txt", reply
    assert sandbox.run("cat /tmp/x/in.txt; stat -c ' %u' /tmp/x/in.txt; id -u")[0] == "from outside 0\n0\n".replace("0", sandbox.run("id -u")[0].strip())
    sandbox.run("echo inside > /tmp/out.txt")
    assert read(sandbox, "/tmp/out.txt").body == b"inside\n"
    entry = call(sandbox, "Stat", path="/tmp/out.txt").json["entry"]
    assert (entry["path"], entry["name"], entry["size"], entry["type"]) == ("/tmp/out.txt", "out.txt", "7", "FILE_TYPE_FILE"), entry
    assert call(sandbox, "MakeDir", path="/tmp/d/e").json["entry"]["path"] == "/tmp/d/e"
    assert {"/tmp/d", "/tmp/d/e", "/tmp/x/in.txt"} <= {e["path"] for e in call(sandbox, "ListDir", path="/tmp", depth=2).json["entries"]}
    assert call(sandbox, "Stat", path="/tmp").json["entry"]["name"] == "tmp"
    assert call(sandbox, "ListDir", path="/home/user").json["entries"] == []
    assert call(sandbox, "Remove", path="/tmp/d").json == {} and call(sandbox, "Stat", path="/tmp/d/e").status == 404
    for path in ("/tmp", "/tmp/"):
        assert call(sandbox, "Remove", path=path).status == 400 and write(sandbox, path).status == 400


def test_files_move_between_tmp_and_the_home(sandbox):
    write(sandbox, "/tmp/m", b"1" * 3_000_000)
    assert call(sandbox, "Move", source="/tmp/m", destination="moved/m").json["entry"]["path"] == "/home/user/moved/m"
    assert sandbox.run("stat -c %s moved/m; ls /tmp/m 2>&1 | wc -l; ls /tmp/m")[0] == "3000000\n1\n"
    assert call(sandbox, "Move", source="moved/m", destination="/tmp/back").json["entry"]["size"] == "3000000"
    refused = call(sandbox, "Move", source="moved", destination="/tmp/moved")
    assert refused.status == 400 and "only regular files" in refused.json["message"], refused
    call(sandbox, "Remove", path="moved")


def test_metadata_gzip_forms_and_watches(sandbox):
    reply = sandbox.call("POST", "/files?path=/tmp/meta", b"x", Content_Type="application/octet-stream", X_Metadata_Author="me")
    assert reply.json[0]["metadata"] == {"author": "me"} and call(sandbox, "Stat", path="/tmp/meta").json["entry"]["metadata"] == {"author": "me"}
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="/tmp/form"\r\n\r\npart\r\n--b--\r\n'
    assert sandbox.call("POST", "/files", form, Content_Type="multipart/form-data; boundary=b").status == 200 and read(sandbox, "/tmp/form").body == b"part"
    watcher = call(sandbox, "CreateWatcher", path="/tmp/seen").json
    assert watcher["code"] == "not_found"
    call(sandbox, "MakeDir", path="/tmp/seen")
    watcher = call(sandbox, "CreateWatcher", path="/tmp/seen").json["watcherId"]
    write(sandbox, "/tmp/seen/a")
    seen = []

    def has_write():
        seen.extend(call(sandbox, "GetWatcherEvents", watcherId=watcher).json["events"])
        return {"name": "a", "type": "EVENT_TYPE_WRITE"} in seen

    wait_until(has_write, "the write is told")
    call(sandbox, "RemoveWatcher", watcherId=watcher)


@pytest.mark.parametrize("path", ["/tmp/link", "/tmp/link/passwd", "/tmp/home/secret", "/tmp/../etc/passwd", "/tmp/x/../../etc/passwd", "/tmp/fifo", "/tmp/socket", "/tmpx", "//tmp/x", "/tmp/self/environ", "/var/tmp/x", "/tmp/" + "x" * 300])
def test_links_and_odd_files_in_tmp_lead_nowhere(sandbox, path):
    sandbox.run("echo kept > secret; ln -sfn /etc /tmp/link; ln -sfn /proc/self /tmp/self; ln -sfn /home/user /tmp/home; [ -p /tmp/fifo ] || mkfifo /tmp/fifo; rm -f /tmp/socket; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/tmp/socket\")'")
    reply = read(sandbox, path)
    assert reply.status in (400, 403, 404) and b"root:" not in reply.body and b"kept" not in reply.body, reply
    if path not in ("/tmp/link", "/tmp/fifo", "/tmp/socket"):  # the name itself may be written
        assert write(sandbox, path).status in (400, 403)
    moved = call(sandbox, "Move", source=path, destination="got")
    assert moved.status in (400, 403, 404), moved
    assert sandbox.run("cat secret; ls got 2>/dev/null")[0] == "kept\n"


def test_a_link_says_its_target(sandbox):
    sandbox.run("mkdir -p links; cd links; ln -s ../a/file one; ln -s /etc/passwd two; ln -s $'odd\\n' three; ln -s /tmp/t /tmp/four; echo > plain")
    entries = {e["name"]: e for e in call(sandbox, "ListDir", path="links").json["entries"]}
    assert {n: e.get("symlinkTarget") for n, e in entries.items()} == {"one": "../a/file", "two": "/etc/passwd", "three": "odd\\x0a", "plain": None}
    assert entries["one"]["type"] == "FILE_TYPE_SYMLINK"
    assert call(sandbox, "Stat", path="/tmp/four").json["entry"]["symlinkTarget"] == "/tmp/t"


def test_a_directory_swapped_for_a_link_meanwhile(server):
    """The program exchanges a directory and a link to the home as fast as it can: nothing is written or read there."""
    with made(server) as s:
        write(s, "/home/user/secret", b"the secret")
        s.run("mkdir -p /tmp/a; ln -sfn /home/user /tmp/b")
        flip = """
import ctypes, time
rename = ctypes.CDLL(None).renameat2
end = time.monotonic() + 4
while time.monotonic() < end:
    for _ in range(1000):
        rename(-100, b"/tmp/a", -100, b"/tmp/b", 2)
"""
        runner = threading.Thread(target=s.run, args=(f"python3 -c '{flip}'",))
        runner.start()
        seen = set()
        while runner.is_alive():
            seen.add(write(s, "/tmp/a/new").status)
            reply = read(s, "/tmp/a/secret")
            assert b"the secret" not in reply.body, reply
            seen.add(call(s, "Move", source="/tmp/a/secret", destination="taken").status)
        runner.join()
        assert seen <= {200, 400, 403, 404, 409, 429, 503}, seen
        assert s.run("ls")[0] == "secret\n"


def test_the_disk_and_the_memory_limit_hold_for_tmp(server):
    with made(server) as s:
        info = control(server, "GET", f"/sandboxes/{s.id}").json
        size = info["diskSizeMB"] << 20
        used = lambda: int(s.run("df --output=used /tmp | tail -1")[0])  # noqa: E731
        before = used()
        assert write(s, "/tmp/big", b"x" * (size + 1_000_000)).status in (413, 507)
        assert "big" not in s.run("ls -A /tmp")[0]
        wait_until(lambda: used() == before, "its pages are given back")
        assert write(s, "/tmp/small").status == 200
        # Names without number: they are the sandbox's own, and a list of them has an end.
        s.run("mkdir /tmp/many; cd /tmp/many; python3 -c 'for i in range(30000): open(str(i), \"w\")' 2>/dev/null")
        assert call(s, "ListDir", path="/tmp/many").status in (200, 429, 503)
        assert call(s, "Stat", path="/tmp/small").status in (200, 404)


def test_forks_and_snapshots_have_it(server):
    with made(server) as s:
        check_copies(server, s)


def check_copies(server, sandbox):
    write(sandbox, "/tmp/copied", b"before")
    reply = control(server, "POST", f"/sandboxes/{sandbox.id}/fork", {"count": 1, "timeout": 60})
    assert reply.status == 201 and len(reply.json) == 1, reply
    made_fork = reply.json[0]["sandbox"]
    fork = Sandbox.__new__(Sandbox)
    fork.server, fork.made, fork.id = server, made_fork, made_fork["sandboxID"]
    assert read(fork, "/tmp/copied").body == b"before"
    assert write(fork, "/tmp/copied", b"after").status == 200 and read(sandbox, "/tmp/copied").body == b"before"
    assert fork.run("cat /tmp/copied")[0] == "after"
    control(server, "DELETE", f"/sandboxes/{fork.id}")
    snapshot = control(server, "POST", f"/sandboxes/{sandbox.id}/snapshots", {}).json["snapshotID"]
    with made(server, templateID=snapshot) as s:
        assert read(s, "/tmp/copied").body == b"before"
    control(server, "DELETE", f"/templates/{urllib.parse.quote(snapshot, safe='')}")


def test_by_v1(server):
    with server.session() as name:
        session = f"/v1/sessions/{name}"
        wait_until(lambda: server.call("GET", session).json["state"] == "idle", "the session is there")
        reply = server.call("PUT", f"{session}/files//tmp/d/x", b"data")
        assert reply.status == 200 and reply.json == {"path": "/tmp/d/x", "size": 4}, reply
        assert server.call("GET", f"{session}/files/%2Ftmp%2Fd%2Fx").body == b"data"
        assert [f["path"] for f in server.call("GET", f"{session}/files?path=/tmp&depth=2").json["files"]] == ["/tmp/d", "/tmp/d/x"]
        assert server.call("GET", f"{session}/files").json["files"] == []
        moved = server.call("POST", f"{session}/files//tmp/d/x", {"to": "here/x"})
        assert moved.status == 200 and moved.json == {"path": "here/x"}, moved
        again = server.call("POST", f"{session}/files/here/x", {"to": "/tmp/y", "new": True})
        assert again.json == {"path": "/tmp/y"}, again
        assert server.call("PUT", f"{session}/files//tmp/y?new=true", b"other").status == 400
        assert server.call("DELETE", f"{session}/files//tmp/y").status == 204
        for path in ("/tmp/../etc/passwd", "/etc/passwd", "/tmpx"):
            assert server.call("GET", f"{session}/files/{urllib.parse.quote(path, safe='')}").status == 400, path
        shown = server.who.call("audit", "list", "--kind", "file", "--json").text
        assert "/tmp/d/x" in shown and "/tmp/y" in shown, shown
