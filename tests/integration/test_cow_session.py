"""Copy-on-write directories of sessions: changes, apply and discard over HTTP and by `belljar session`, conflicts, and races."""
import json
import os
import secrets
import shutil
import signal
import threading
import time
from pathlib import Path

import jsonschema
import pytest

import belljar
from serving import Server, wait_until


@pytest.fixture(scope="module", params=["root", "user"])
def place(request, callers, base):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    who = callers[request.param]
    top = Path(base) / f"cows-{who.name}-{secrets.token_hex(4)}"
    top.mkdir()
    who.own(top)
    server = Server(who, env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{top}:cow"})
    yield server, who, top
    assert server.stop() == 0, server.said
    shutil.rmtree(top)


class Session:
    def __init__(self, place):
        self.server, self.who, top = place
        self.folder = top / secrets.token_hex(4)
        (self.folder / "sub").mkdir(parents=True)
        for name in ("a", "b", "sub/c"):
            (self.folder / name).write_text(f"{name}\n")
        for p in [self.folder, *self.folder.rglob("*")]:
            self.who.own(p)
        reply = self.server.post("/v1/sessions", {"allow": [f"{self.folder}:cow"]})
        assert reply.status == 201, reply
        self.id = reply.json["session_id"]
        self.url = f"/v1/sessions/{self.id}"
        self.bash("true")
        self.since = time.time_ns()

    def save(self, name, text):
        """As an editor does, at a time that is later than the session's beginning, whatever the steps of the clock that stamps files."""
        path = self.folder / name
        wait_until(lambda: path.write_text(text) and path.stat().st_ctime_ns > self.since, "the clock moves on")

    def bash(self, code):
        reply = self.server.post(f"{self.url}/execute", {"code": f"cd '{self.folder}'\n{code}", "language": "bash"})
        assert reply.status == 200 and reply.json["status"] in ("success", "error", "cancelled"), reply
        return reply.json["stdout"]

    def changes(self, query=""):
        reply = self.server.get(f"{self.url}/changes{query}")
        assert reply.status == 200, reply
        return {c["path"].removeprefix(f"{self.folder}/"): c for c in reply.json["changes"]}

    def version(self):
        return self.server.get(f"{self.url}/changes").json["version"]

    def settle(self, verb, **body):
        reply = self.server.post(f"{self.url}/{verb}", body)
        assert reply.status == 200, reply
        strip = lambda path: path.removeprefix(f"{self.folder}/")  # noqa: E731
        return sorted(map(strip, reply.json["done"])), {strip(s["path"]): s["reason"] for s in reply.json["skipped"]}

    def apply(self, **body):
        return self.settle("apply", **body)

    def read(self, name):
        return (self.folder / name).read_text()


@pytest.fixture
def session(place):
    s = Session(place)
    yield s
    s.server.call("DELETE", s.url)


def test_look_apply_and_go_on(session):
    assert session.bash("echo more >> a; rm b; echo n > sub/new; cat a") == "a\nmore\n"
    found = session.changes("?diff=true")
    assert {n: c["change"] for n, c in found.items()} == {"a": "changed", "b": "deleted", "sub/new": "created"}
    assert found["a"]["diff"].endswith("@@ -1,1 +1,2 @@\n a\n+more\n") and "diff" not in session.changes()["a"]
    assert session.read("a") == "a\n" and (session.folder / "b").exists()
    assert session.apply() == (["a", "b", "sub/new"], {})
    assert session.read("a") == "a\nmore\n" and not (session.folder / "b").exists() and session.read("sub/new") == "n\n"
    assert session.changes() == {}, "what was applied is no change any more"
    st = (session.folder / "sub/new").stat()
    assert st.st_uid == session.who.uid
    session.bash("echo again >> a; echo b2 > b")
    assert session.apply() == (["a", "b"], {}), "what we wrote ourselves is no conflict"
    assert session.read("a") == "a\nmore\nagain\n" and session.read("b") == "b2\n"


def test_answers_are_what_the_document_says(session):
    document = session.server.get("/openapi.json").json
    session.bash("echo more >> a; rm b; mkfifo ff; printf '\\0' > bin")
    for method, path, body in (("GET", "changes?diff=true", None), ("POST", "apply", {"accept_hidden": 1}), ("POST", "discard", {"paths": ["ff"]})):
        reply = session.server.call(method, f"{session.url}/{path}", body)
        operation = document["paths"]["/v1/sessions/{session}/" + path.split("?")[0]][method.lower()]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        assert reply.status == 200, reply
        jsonschema.validate(reply.json, {**schema, "components": document["components"]})
    assert session.changes() == {}


def test_only_some_paths(session):
    session.bash("echo 1 > a; echo 1 > b; mkdir -p d/e; echo 1 > d/e/f; echo 1 > sub/c")
    assert session.apply(paths=["a", f"{session.folder}/d/e/f"]) == (["a", "d/e/f"], {})
    assert session.read("b") == "b\n" and session.read("d/e/f") == "1\n"
    assert set(session.changes()) == {"b", "sub/c"}
    assert set(session.changes("?path=sub")) == {"sub/c"}
    reply = session.server.post(f"{session.url}/apply", {"paths": ["nothing"]})
    assert reply.status == 404 and "nothing has changed" in reply.error["message"], reply
    assert session.settle("discard", paths=["sub"]) == (["sub/c"], {})
    assert session.bash("cat sub/c b") == "sub/c\n1\n" and set(session.changes()) == {"b"}


def test_discarded_the_session_sees_the_disk_again(session):
    session.bash("echo 1 > a; chmod 600 a; rm b; mkdir d; echo x > d/x; rm -r sub; echo file > sub; ln -s a l")
    done, skipped = session.settle("discard")
    assert skipped == {} and "a" in done
    assert session.bash("cat a b sub/c; ls; stat -c %a a") == "a\nb\nsub/c\na\nb\nsub\n644\n"
    assert session.changes() == {} and session.read("a") == "a\n"
    session.bash("echo 2 > a")
    assert set(session.changes()) == {"a"}


def test_a_file_that_changed_on_the_disk_is_a_conflict(session):
    session.bash("echo theirs > a; echo theirs > new; rm b; echo fine > sub/c")
    for name in ("a", "b", "new"):
        session.save(name, "mine\n")
    found = session.changes()
    assert {n for n, c in found.items() if c["obstacle"] == "conflict"} == {"a", "b", "new"}
    done, skipped = session.apply()
    assert done == ["sub/c"] and skipped == {"a": "conflict", "b": "conflict", "new": "conflict"}
    assert [session.read(n) for n in ("a", "b", "new")] == ["mine\n"] * 3
    assert session.apply(paths=["a", "b"], force=True) == (["a", "b"], {})
    assert session.read("a") == "theirs\n" and not (session.folder / "b").exists() and session.read("new") == "mine\n"
    session.since = (session.folder / "a").stat().st_ctime_ns
    session.save("a", "mine again\n")
    session.bash("echo t2 > a")
    session.changes()
    assert session.apply(paths=["a"])[1] == {"a": "conflict"}, "a second time, too"


def test_what_was_looked_at_is_what_is_applied(session):
    session.bash("echo good > a")
    seen = session.version()
    session.bash("echo evil > a")
    reply = session.server.post(f"{session.url}/apply", {"version": seen})
    assert reply.status == 400 and "review them again" in reply.error["hint"], reply
    assert session.read("a") == "a\n"
    assert session.apply(version=session.version()) == (["a"], {})


def test_without_a_version_what_was_shown_last_is_what_is_applied(session):
    """A background process writes the file between the look and the apply."""
    session.bash("echo good > a; echo good > sub/c; (trap '' HUP; until [ -e /workspace/go ]; do sleep 0.05; done; echo evil > a; echo done > /workspace/done) >/dev/null 2>&1 &")
    assert session.changes("?diff=true")["a"]["diff"].endswith("+good\n")
    assert session.apply(paths=["sub/c"]) == (["sub/c"], {}), "the rest still counts as shown"
    assert session.server.call("PUT", f"{session.url}/files/go", b"now").status in (200, 201, 204)
    wait_until(lambda: session.server.get(f"{session.url}/files/done").status == 200, "it has been written")
    for body in ({}, {"paths": ["a"]}, {"force": True}):
        reply = session.server.post(f"{session.url}/apply", body)
        assert reply.status == 400 and "review them again" in reply.error["hint"], reply
    assert session.read("a") == "a\n" and session.read("sub/c") == "good\n"
    assert "+evil" in session.changes("?diff=true")["a"]["diff"]
    assert session.apply() == (["a"], {})


def test_many_changes_are_listed_and_applied(session):
    session.bash("mkdir many; cd many; touch $(seq 5000); echo evil > ../zz")
    found = session.changes("?diff=true")
    assert len(found) == 5002 and "+evil" in found["zz"]["diff"]
    shown = session.who.call("session", "diff", "--stat", session.id, env={"BELLJAR_SERVER": f"unix:{session.server.socket}"})
    assert shown.code == 0 and len(shown.out.splitlines()) >= 5002, shown.err
    assert session.apply(paths=["zz"]) == (["zz"], {})
    done, skipped = session.settle("discard")
    assert len(done) == 5001 and skipped == {} and session.changes() == {}


def test_while_a_cell_runs_nothing_is_applied(session):
    flag = secrets.token_hex(8)
    runner = threading.Thread(target=session.bash, args=(f"echo 1 > a; touch {flag}; while [ -e {flag} ]; do sleep 0.05; done",))
    runner.start()
    wait_until(lambda: flag in session.changes(), "the cell runs")
    for verb in ("apply", "discard"):
        reply = session.server.post(f"{session.url}/{verb}", {})
        assert reply.status == 429, reply
    assert session.server.post(f"{session.url}/interrupt", {}).json["interrupted"]
    runner.join()
    assert session.read("a") == "a\n"


def test_a_program_that_plays_with_its_files_meanwhile(session, base):
    """Background processes swap files for links and directories while changes are applied; nothing outside is touched or read."""
    outside = Path(base) / f"outside-{secrets.token_hex(4)}"
    outside.mkdir()
    (outside / "f").write_text("secret outside\n")
    session.bash(
        "for i in 1 2; do (trap '' HUP; while :; do rm -rf d; mkdir d; echo x > d/f; mv d e 2>/dev/null; "
        f"ln -sfn '{outside}' d; ln -sfn '{outside}/f' g; rm -f d g; echo y > g; rm -rf d e; done) >/dev/null 2>&1 & done; true"
    )  # fmt: skip
    for _ in range(15):
        for verb in ("apply", "apply", "discard"):
            reply = session.server.post(f"{session.url}/{verb}", {})
            assert reply.status in (200, 429) or (verb == "apply" and reply.status == 400), reply
        reply = session.server.get(f"{session.url}/changes?diff=true")
        assert reply.status in (200, 429) and b"secret outside" not in reply.body, reply
    session.server.call("DELETE", session.url)
    assert (outside / "f").read_text() == "secret outside\n" and os.listdir(outside) == ["f"]
    for p in session.folder.rglob("*"):
        assert not p.is_symlink() or os.readlink(p)[0] != "/", p
        assert p.is_symlink() or p.is_dir() or b"secret outside" not in p.read_bytes(), p


def test_a_file_of_somebody_else_does_not_come_back_as_its_own(session):
    """Root could read it, the program could not, whatever it does to the name."""
    if session.who.uid != 0:
        pytest.skip("only root can read what its programs cannot")
    secret = session.folder / "theirs"
    secret.write_text("closed\n")
    secret.chmod(0o600)
    os.chown(secret, belljar.USER_UID, belljar.USER_UID)
    said = session.bash("exec 2>/dev/null; cat theirs; rm -f theirs; echo x > x; mv x theirs; ln theirs y; mv theirs z; cat y z theirs")
    assert "closed" not in said
    session.settle("discard")
    assert session.bash("cat theirs y z 2>/dev/null") == "" and secret.read_text() == "closed\n"


def test_runs_are_refused_and_other_sessions_have_none(session):
    reply = session.server.post("/v1/run", {"code": "1", "allow": [f"{session.folder}:cow"]})
    assert reply.status == 400 and "sessions" in reply.error["message"], reply
    other = session.server.post("/v1/sessions", {"allow": []}).json["session_id"]
    for method, verb in (("GET", "changes"), ("POST", "apply"), ("POST", "discard")):
        reply = session.server.call(method, f"/v1/sessions/{other}/{verb}", {} if method == "POST" else None)
        assert reply.status in (400, 429), reply
        if reply.status == 400:
            assert "no copy-on-write directory" in reply.error["message"], reply
    session.server.call("DELETE", f"/v1/sessions/{other}")
    assert session.server.get("/v1/sessions/nobody/changes").status == 404


def test_the_settings_say_how_far_it_goes(session):
    for mode, status in (("", 201), (":ro", 201), (":cow", 201), (":rw", 403)):
        reply = session.server.post("/v1/sessions", {"allow": [f"{session.folder}{mode}"]})
        assert reply.status == status, (mode, reply)
        if status == 201:
            session.server.call("DELETE", f"/v1/sessions/{reply.json['session_id']}")


def test_the_command(session):
    server = f"unix:{session.server.socket}"
    session.bash("echo more >> a; printf 'x\\0' > bin; echo evil > .bashrc")
    call = lambda *words, **more: session.who.call("session", *words, env={"BELLJAR_SERVER": server}, **more)  # noqa: E731
    shown = call("diff", session.id)
    lines = shown.out.decode().splitlines()
    assert shown.code == 0 and f"M {session.folder}/a  +1 -0  7 B" in lines and "+more" in lines and f"A {session.folder}/bin  binary  2 B  NOT SHOWN (binary)  2 BYTES HIDDEN" in lines, shown
    version = shown.err.decode().split("version ")[1].strip()
    assert "+more" not in call("diff", "--stat", session.id).out.decode()
    assert json.loads(call("diff", "--json", session.id, "a").out)["changes"][0]["change"] == "changed"
    answer = call("apply", session.id, "--version", version, "--with-hidden", "2")
    assert answer.code == 1 and "2 changes applied" in answer.err.decode() and "not applied" in answer.err.decode(), answer
    assert session.read("a") == "a\nmore\n"
    answer = call("discard", session.id)
    assert answer.code == 0 and "1 change discarded" in answer.err.decode(), answer
    assert b"nothing has changed" in call("diff", session.id).err
    assert call("apply", session.id, "--version", "0" * 64).code == 64
    assert call("diff", "nobody").code == 66


def test_the_trail_has_it(session):
    session.bash("echo 1 > a")
    version = session.version()
    session.apply(paths=["a"])
    session.settle("discard")
    answer = session.who.call("audit", "list", "--json")
    said = [r for r in map(json.loads, answer.out.splitlines()) if r.get("session") == session.id or r.get("id") == session.id]
    assert {"apply", "discard", "applied"} <= {r.get("event") for r in said}, answer
    assert any(version in str(r.get("changes")) for r in said if r.get("event") == "applied"), said


def test_killed_in_the_middle_each_file_is_old_or_new(callers, base):
    who = callers["user"]
    top = Path(base) / f"cowkill-{secrets.token_hex(4)}"
    top.mkdir()
    old, new = "old\n" * 2000, "new\n" * 4000
    for i in range(300):
        (top / f"f{i}").write_text(old)
        who.own(top / f"f{i}")
    who.own(top)
    server = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{top}:cow"})
    url = "/v1/sessions/" + server.post("/v1/sessions", {"allow": [f"{top}:cow"]}).json["session_id"]
    reply = server.post(f"{url}/execute", {"code": f"import glob\nfor p in glob.glob('{top}/f*'): open(p, 'w').write('new\\n' * 4000)\nfor i in range(300): open(f'{top}/n{{i}}', 'w').write('new\\n' * 4000)"})
    assert reply.json["status"] == "success", reply
    hidden = server.get(f"{url}/changes").json["hidden_bytes"]
    refused = server.post(f"{url}/apply", {})
    assert hidden and refused.status == 403 and str(hidden) in refused.json["error"]["hint"], refused
    applying = threading.Thread(target=lambda: quietly(lambda: server.post(f"{url}/apply", {"accept_hidden": hidden})))
    applying.start()
    wait_until(lambda: any((top / f"f{i}").read_text() != old for i in range(0, 300, 7)), "the first file is there")
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    applying.join()
    texts = {p.name: p.read_text() for p in top.iterdir()}
    for name, text in texts.items():
        if name.startswith(".belljar-"):
            assert text == new, "one that has no name of its own yet is whole"
        else:
            assert text in ((old, new) if name[0] == "f" else (new,)), name
    server.process.stdout.close()
    shutil.rmtree(top)


def quietly(call):
    try:
        call()
    except OSError:
        pass
    except Exception as e:  # http.client: the server is gone
        assert type(e).__module__ == "http.client", e


# --- what somebody changes on the disk meanwhile ---


def replace(session, name, text, keeps_time=False):
    """As git and most editors do: another file takes its place."""
    path, other = session.folder / name, session.folder / f".{secrets.token_hex(4)}"
    before = path.stat()

    def once():
        other.write_text(text)
        session.who.own(other)
        if keeps_time:
            os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.rename(path)
        return path.stat().st_ctime_ns > session.since

    wait_until(once, "the clock moves on")


@pytest.mark.parametrize("look", ["cat a b; ls sub new; cat late", "python3 -c 'import os; print(open(\"a\").read(), os.listdir(\"sub\"), os.path.exists(\"late\"))'"])
def test_a_cell_sees_what_was_replaced_deleted_and_made_before_it(session, look):
    session.bash(look)
    replace(session, "a", "another\n")
    (session.folder / "b").unlink()
    (session.folder / "sub" / "c").rename(session.folder / "sub" / "moved")
    (session.folder / "late").write_text("late\n")
    session.who.own(session.folder / "late")
    assert session.bash("cat a; ls; ls sub; cat late").split() == ["another", "a", "late", "sub", "moved", "late"]
    for _ in range(3):
        replace(session, "a", f"again {_}\n")
        assert session.bash("cat a") == f"again {_}\n"
    assert session.changes() == {}


def test_python_sees_it_too(session):
    def python(code):
        return session.server.post(f"{session.url}/execute", {"code": code}).json["stdout"]

    assert python(f"import os\nos.chdir('{session.folder}')\nprint(open('a').read(), end='')") == "a\n"
    replace(session, "a", "another\n")
    assert python("print(open('a').read(), end='')") == "another\n"


@pytest.mark.parametrize("keeps_time", [False, True])
def test_a_file_that_is_replaced_while_a_cell_changes_it_is_not_lost(session, keeps_time):
    cell = threading.Thread(target=lambda: session.bash("cat a; touch ready; until [ -e /workspace/go ]; do sleep 0.05; done; echo more >> a"))
    cell.start()
    wait_until(lambda: "ready" in session.changes(), "the cell has read it")
    replace(session, "a", "the user's work\n", keeps_time)
    assert session.server.call("PUT", f"{session.url}/files/go", b"now").status in (200, 201, 204)
    cell.join()
    session.changes()
    done, skipped = session.settle("apply")
    assert skipped == {"a": "conflict"} and done == ["ready"], (done, skipped)
    assert (session.folder / "a").read_text() == "the user's work\n"


def test_a_version_stands_for_the_files_that_are_replaced_too(session):
    session.bash("echo mine > a")
    version = session.version()
    replace(session, "a", "the user's work\n", keeps_time=True)
    reply = session.server.post(f"{session.url}/apply", {"version": version, "force": True})
    assert reply.status == 400 and "review them again" in reply.json["error"]["hint"], reply
    assert (session.folder / "a").read_text() == "the user's work\n"


def test_what_changes_between_two_looks_is_not_shown_as_another(session):
    """A process that goes on flips a file: what is shown under a version is what that version applies, or it is not shown."""
    flip = "import itertools\nfor i in itertools.count(): open('flip', 'w').write(('benign\\n' if i % 2 else 'evil 1\\n') * 3000)"
    session.bash(f"setsid python3 -c \"{flip}\" >/dev/null 2>&1 &\nsleep 0.3")
    for _ in range(30):
        reply = session.server.get(f"{session.url}/changes?diff=true&path=flip")
        if reply.status != 200:
            continue
        change, version = reply.json["changes"][0], reply.json["version"]
        if not change.get("diff"):
            continue
        applied = session.server.post(f"{session.url}/apply", {"version": version, "paths": ["flip"], "force": True})
        if applied.status == 200 and applied.json["done"]:
            shown = "".join(line[1:] + "\n" for line in change["diff"].splitlines()[3:] if line.startswith("+"))
            assert (session.folder / "flip").read_text().rstrip("\n") == shown.rstrip("\n")
            (session.folder / "flip").unlink()
