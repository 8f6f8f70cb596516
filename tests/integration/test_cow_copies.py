"""Forks and checkpoints of sessions with writable directories: each copy has its own view, and the best one is applied."""
import os
import secrets
import shutil
import time
from pathlib import Path

import pytest

from serving import Server, wait_until


@pytest.fixture(scope="module", params=["root", "user"])
def place(request, callers, base):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    who = callers[request.param]
    top = Path(base) / f"cow-copies-{who.name}-{secrets.token_hex(4)}"
    top.mkdir()
    who.own(top)
    server = Server(who, env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{top}:rw"})
    yield server, who, top
    assert server.stop() == 0, server.said
    shutil.rmtree(top)


class Session:
    def __init__(self, server, id, folder):
        self.server, self.id, self.folder, self.url = server, id, folder, f"/v1/sessions/{id}"
        self.bash("true")  # it has started

    def run(self, code, language="python"):
        reply = self.server.post(f"{self.url}/execute", {"code": code, "language": language})
        assert reply.status == 200 and reply.json["status"] == "success", reply
        return reply.json["stdout"]

    def bash(self, code):
        return self.run(f"cd '{self.folder}'\n{code}", "bash")

    def fork(self, n=1):
        reply = self.server.post(f"{self.url}/fork", {"n": n})
        assert reply.status == 200, reply
        return [Session(self.server, s["session_id"], self.folder) for s in reply.json["sessions"]]

    def changes(self):
        reply = self.server.get(f"{self.url}/changes")
        assert reply.status == 200, reply
        return {c["path"].removeprefix(f"{self.folder}/"): c["change"] for c in reply.json["changes"]}

    def settle(self, verb, **body):
        reply = self.server.post(f"{self.url}/{verb}", body)
        assert reply.status == 200, reply
        strip = lambda path: path.removeprefix(f"{self.folder}/")  # noqa: E731
        return sorted(map(strip, reply.json["done"])), {strip(s["path"]): s["reason"] for s in reply.json["skipped"]}

    def end(self):
        self.server.call("DELETE", self.url)


def make_folder(place):
    server, who, top = place
    folder = top / secrets.token_hex(4)
    (folder / "sub" / "deep").mkdir(parents=True)
    for name in ("a", "b", "gone", "sub/c", "sub/deep/d"):
        (folder / name).write_text(f"{name}\n")
    (folder / "link").symlink_to("a")
    for p in [folder, *folder.rglob("*")]:
        who.own(p)
    return folder


@pytest.fixture(params=["cow", "rw"])
def mode(request):
    return request.param


@pytest.fixture
def session(place, mode):
    server, _, _ = place
    folder = make_folder(place)
    reply = server.post("/v1/sessions", {"allow": [f"{folder}:{mode}"]})
    assert reply.status == 201, reply
    made = Session(server, reply.json["session_id"], folder)
    yield made
    for s in server.get("/v1/sessions").json["sessions"]:
        server.call("DELETE", f"/v1/sessions/{s['session_id']}")


def test_variants_do_not_overwrite_each_other_and_the_best_is_applied(session, mode):
    forks = session.fork(3)
    for n, fork in enumerate(forks):
        fork.run(f"open('{session.folder}/a', 'w').write('variant {n}\\n'); open('{session.folder}/only{n}', 'w').close()")
    for n, fork in enumerate(forks):
        assert fork.bash("cat a; ls only*") == f"variant {n}\nonly{n}\n"
        assert fork.changes() == {"a": "changed", f"only{n}": "created"}
    assert session.bash("cat a; ls") == "a\na\nb\ngone\nlink\nsub\n"
    assert (session.folder / "a").read_text() == "a\n", "nothing is on the disk until it is applied"
    assert forks[1].settle("apply") == (["a", "only1"], {})
    assert (session.folder / "a").read_text() == "variant 1\n"
    assert sorted(os.listdir(session.folder)) == ["a", "b", "gone", "link", "only1", "sub"]
    # The others are older than what is there now, and have to be looked at again.
    assert forks[2].server.post(f"{forks[2].url}/apply", {}).status == 400
    assert forks[2].changes() == {"a": "changed", "only2": "created"}
    assert forks[2].settle("apply") == (["only2"], {"a": "conflict"})
    assert (session.folder / "a").read_text() == "variant 1\n"
    assert session.bash("cat a") == "variant 1\n"


def test_the_answer_says_what_is_shared(session, mode):
    reply = session.server.post(f"{session.url}/fork", {"n": 1})
    assert reply.status == 200, reply
    said = reply.json["shared"]
    assert str(session.folder) in said and "own copy-on-write view" in said and "apply" in said, said
    assert ("the source writes to disk" in said) == (mode == "rw"), said
    fork = reply.json["sessions"][0]
    assert fork["allow"] == [f"{session.folder}:cow"] and fork["parent"] == session.id, fork
    assert reply.json["session"]["parent"] is None and reply.json["session"]["allow"] == [f"{session.folder}:{mode}"]


@pytest.fixture
def changed(place):
    """A session with changes of every kind in a copy-on-write directory."""
    server, _, _ = place
    folder = make_folder(place)
    reply = server.post("/v1/sessions", {"allow": [f"{folder}:cow"]})
    assert reply.status == 201, reply
    made = Session(server, reply.json["session_id"], folder)
    made.bash(
        "echo changed > a; chmod 700 b; rm gone; ln -sf b link; rm -r sub/deep; mkdir sub/deep; echo other > sub/deep/e\n"
        "mkdir -m 750 new; echo n > new/n; ln new/n new/same; ln -s ../a new/up\n"
        "rm sub/c; mkdir sub/c; echo dir > sub/c/file; chmod 500 new; touch -d 2001-02-03 b"
    )
    yield made
    for s in server.get("/v1/sessions").json["sessions"]:
        server.call("DELETE", f"/v1/sessions/{s['session_id']}")


EVERYTHING = "find . -printf '%y %m %n %s %T@ %p %l\\n' | grep -v ' d ' | sort; cat a sub/deep/e new/n new/same sub/c/file"


def test_a_fork_begins_with_the_changes_of_its_source(changed):
    seen, listed = changed.bash(EVERYTHING), changed.changes()
    assert listed["gone"] == "deleted" and listed["new/n"] == "created" and listed["sub/deep/d"] == "deleted", listed
    fork, = changed.fork()
    assert fork.bash(EVERYTHING) == seen
    assert fork.changes() == listed
    # A fork of a fork, and both go on by themselves.
    second, = fork.fork()
    assert second.bash(EVERYTHING) == seen and second.changes() == listed
    second.bash("chmod 700 new; rm new/n; echo second > b")
    fork.bash("echo first > b")
    assert changed.bash(EVERYTHING) == seen
    assert "new/n" in fork.changes() and "new/n" not in second.changes()
    done, skipped = second.settle("apply")
    assert "b" in done and not skipped, (done, skipped)
    assert (changed.folder / "b").read_text() == "second\n" and not (changed.folder / "gone").exists()


def test_a_fork_finds_the_conflicts_of_its_source(changed):
    """The source knew the file from before somebody saved it."""
    since = time.time_ns()
    path = changed.folder / "a"
    wait_until(lambda: path.write_text("the owner's\n") and path.stat().st_ctime_ns > since, "the clock moves on")
    fork, = changed.fork()
    done, skipped = fork.settle("apply")
    assert skipped["a"] == "conflict" and path.read_text() == "the owner's\n", (done, skipped)
    # Applied changes of one are no conflict for its later forks.
    done, skipped = changed.settle("apply", force=True)
    assert "a" in done, (done, skipped)
    later, = changed.fork()
    later.bash("echo later > a")
    assert later.settle("apply", paths=["a"]) == (["a"], {}) and path.read_text() == "later\n"


def test_a_version_binds_an_apply_to_one_session(changed):
    version = changed.server.get(f"{changed.url}/changes").json["version"]
    fork, = changed.fork()
    fork.bash("echo more > a")
    reply = fork.server.post(f"{fork.url}/apply", {"version": version})
    assert reply.status == 400, reply
    assert (changed.folder / "a").read_text() == "a\n"
    assert fork.settle("discard", paths=["a"]) == (["a"], {})
    assert fork.bash("cat a") == "a\n" and changed.bash("cat a") == "changed\n"


def test_going_back_brings_the_changes_back(changed):
    seen, listed = changed.bash(EVERYTHING), changed.changes()
    assert changed.server.post(f"{changed.url}/checkpoint", {"name": "c"}).status == 200
    changed.bash("chmod 700 new; rm -r new; echo x > a; echo back > gone")
    shown = changed.server.get(f"{changed.url}/changes").json["version"]
    for _ in range(2):
        assert changed.server.post(f"{changed.url}/restore", {"name": "c"}).status == 200
        assert changed.bash(EVERYTHING) == seen
        # Somebody looked at other changes than those.
        reply = changed.server.post(f"{changed.url}/apply", {})
        assert reply.status == 400, reply
        reply = changed.server.post(f"{changed.url}/apply", {"version": shown})
        assert reply.status == 400, reply
    assert changed.changes() == listed


def test_open_files_and_the_place_come_along(session):
    """Open files of the directory are opened in the copy's own view."""
    session.run(
        f"import os; os.chdir('{session.folder}')\nr = open('sub/c'); r.read(1)\nw = open('b', 'r+'); w.write('B'); w.flush()\n"
        "import numpy; m = numpy.memmap('a', mode='r')"
    )
    fork, = session.fork()
    fork.run("w.write('fork'); w.flush()")
    assert fork.run("print(os.path.basename(os.getcwd()), repr(r.read()), bytes(m), open('b').read())") == (
        f"{session.folder.name} 'ub/c\\n' b'a\\n' Bfork\n"
    )
    assert session.run("print(open('b').read())") == "B\n\n"


def test_a_layer_that_cannot_be_read_is_named(changed):
    changed.bash("mkfifo pipe")
    reply = changed.server.post(f"{changed.url}/fork", {})
    assert reply.status == 400 and "pipe" in reply.error["message"], reply
    assert "apply or discard" in reply.error["hint"], reply
    changed.bash("rm pipe")
    fork, = changed.fork()
    assert fork.bash("cat a") == "changed\n"


def test_more_directories_than_a_fork_can_have(place):
    server, who, top = place
    folders = [make_folder(place) for _ in range(9)]
    reply = server.post("/v1/sessions", {"allow": [f"{f}:rw" for f in folders]})
    assert reply.status == 201, reply
    url = Session(server, reply.json["session_id"], folders[0]).url
    reply = server.post(f"{url}/fork", {})
    assert reply.status == 413 and "9 writable directories" in reply.error["message"], reply
    server.call("DELETE", url)
