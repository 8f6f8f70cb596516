"""Undo at every door: the command, HTTP and MCP. Who may undo what, and what is written down."""
import fcntl
import json
import os
import secrets
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

import mcp
from prompt import Prompt
from recorded import Recorded
from serving import Server, wait_until


@pytest.fixture
def folder(who):
    path = who.directory("undo-" + secrets.token_hex(4))
    for name in ("kept", "changed", "removed"):
        (path / name).write_text(f"old {name}\n")
        who.own(path / name)
    return path


def record(who, folder, **more):
    run = Recorded(who, folder, **more)
    run.create("new", "made\n")
    run.change("changed", "other text\n")
    run.remove("removed")
    return run.end()


def contents(folder):
    return {p.name: p.read_text() for p in folder.iterdir()}


BEFORE = {"kept": "old kept\n", "changed": "old changed\n", "removed": "old removed\n"}
AFTER = {"kept": "old kept\n", "changed": "other text\n", "new": "made\n"}


def trail(who):
    """The records of undos; without a trail there are none."""
    answer = who.call("audit", "list", "--json", "--kind", "undo")
    assert answer.code == 0 or (answer.code == 66 and "there is no trail" in answer.errors), answer
    return [json.loads(line) for line in answer.text.splitlines()]


# --- the command ---


def test_a_run_is_undone_and_the_undo_is_undone(who, folder):
    run = record(who, folder)
    assert contents(folder) == AFTER
    listed = who.call("undo", "--list")
    assert listed.code == 0 and run in listed.text and str(folder) in listed.text, listed
    tried = who.call("undo", run, "--dry-run", "--json")
    assert tried.code == 0 and tried.json["n_done"] == 3 and tried.json["undo"] is None, tried
    assert contents(folder) == AFTER
    done = who.call("undo", run, "--json").json
    assert (done["n_done"], done["n_conflicts"]) == (3, 0), done
    assert {(d["action"], os.path.basename(d["path"])) for d in done["done"]} == {("removed", "new"), ("reverted", "changed"), ("restored", "removed")}
    assert contents(folder) == BEFORE
    for path in folder.iterdir():
        assert path.stat().st_uid == folder.stat().st_uid, "as the owner of the directory"
    again = who.call("undo", run)
    assert again.code == 0 and "already undone" in again.errors, again
    back = who.call("undo", done["undo"])
    assert back.code == 0 and contents(folder) == AFTER, back
    assert who.call("undo", run).code == 0 and contents(folder) == BEFORE


def test_a_run_is_named_by_a_part_of_its_id_or_as_the_last(who, folder):
    grant = ("--allow", f"{folder}:rw")
    first = who.run("open('changed', 'w').write('x')", *grant).json["id"]
    between = contents(folder)
    second = who.run("open('new', 'w').write('x')", *grant).json["id"]
    several = who.call("undo", "run_", "--dry-run")
    assert several.code == 64 and "fits several ids" in several.errors and first in several.errors, several
    last = who.call("undo", "last")
    assert last.code == 0 and second in last.errors and contents(folder) == between, last
    assert first in who.call("undo", "--dry-run", "last").errors  # neither one that is undone, nor an undo
    assert who.call("undo", first[-8:].lower()).code == 0 and contents(folder) == BEFORE
    none = who.call("undo", "last", "--dry-run")
    assert first not in none.errors and second not in none.errors, none


class Run(Prompt):
    command = "run"


def test_at_a_terminal_a_run_names_its_undo(who, folder):
    code = "open('new', 'w').write('x'); open('changed', 'a').write('x'); print('done')"
    with Run(who, "--allow", f"{folder}:rw", "-c", code) as terminal:
        terminal.wait("1 created, 1 changed; `belljar undo ")
        run = terminal.wait("` undoes this")
        assert terminal.end() == 0
    assert who.call("undo", run).code == 0 and contents(folder) == BEFORE
    with Run(who, "--allow", f"{folder}:rw", "-c", "print('only', 'read')") as terminal:
        terminal.wait("success")
        assert terminal.end() == 0 and b"belljar undo" not in terminal.seen
    assert "belljar undo" not in who.run(code, "--allow", f"{folder}:rw").errors  # a script reads `id` and `changes` of the result


def test_what_changed_since_is_left_alone(who, folder):
    run = record(who, folder)
    (folder / "changed").write_text("edited by hand, later\n")
    (folder / "removed").write_text("somebody else's\n")
    answer = who.call("undo", run)
    assert answer.code == 1, answer
    assert f"left alone, not reverted {folder}/changed: it was changed after the run" in answer.text, answer
    assert f"left alone, not restored {folder}/removed: something else is there now" in answer.text, answer
    assert contents(folder) == {"kept": "old kept\n", "changed": "edited by hand, later\n", "removed": "somebody else's\n"}


def test_another_directory_at_the_same_path_is_left_alone(who, folder):
    run = record(who, folder)
    folder.rename(folder.with_name(folder.name + "-moved"))
    folder.mkdir()
    who.own(folder)
    answer = who.call("undo", run, "--json")
    assert answer.code == 1 and answer.json["n_done"] == 0 and answer.json["n_conflicts"] == 3, answer


def test_mistakes_are_told(who):
    for words, code, part in [
        ((), 64, "takes the id of one run"), (("a", "b"), 64, "takes the id of one run"), (("--list", "x"), 64, "takes no argument"),
        (("run_00000000000000000000000000",), 66, "no undo record of a run"), (("../../etc",), 66, "not the id of a run"),
        (("--lis",), 64, "--lis"),
    ]:  # fmt: skip
        answer = who.call("undo", *words)
        assert answer.code == code and part in answer.errors, answer


def test_an_undo_is_in_the_trail(who, folder):
    run = record(who, folder)
    tried = who.call("undo", run, "--dry-run")
    assert tried.code == 0 and all(line.startswith("would be ") for line in tried.text.splitlines()), tried
    assert [r for r in trail(who) if r["id"] == run] == []
    done = who.call("undo", run, "--json").json
    begun, ended = sorted((r for r in trail(who) if r["id"] == run), key=lambda r: r["seq"])
    assert (begun["event"], ended["event"]) == ("undo", "undone")
    assert (ended["undo"], ended["done"], ended["conflicts"], ended["status"]) == (done["undo"], 3, 0, "success"), ended


def test_an_undo_that_failed_is_listed_as_failed(who):
    run = "run_" + "".join(secrets.choice("0123456789ABCDEF") for _ in range(26))
    assert who.call("undo", run).code == 66
    begun, ended = (line for line in who.call("audit", "list", "--all", "--kind", "undo").text.splitlines() if run in line)
    assert " undo " in begun and " failed " in ended and "undone" not in ended, ended


# --- HTTP ---


@pytest.fixture
def server(who, folder):
    s = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{folder}:rw"})
    yield s
    assert s.stop() == 0, s.said


def test_over_http(server, who, folder):
    run = record(who, folder)
    listed = server.get("/v1/undo")
    assert run in [r["run"] for r in listed.json["runs"]], listed
    shown = server.get(f"/v1/runs/{run}/changes")
    assert shown.status == 200 and shown.json["dry_run"] is True and shown.json["n_done"] == 3, shown
    tried = server.post(f"/v1/runs/{run}/undo", {"dry_run": True})
    assert tried.json == shown.json and contents(folder) == AFTER
    done = server.post(f"/v1/runs/{run}/undo", {})
    assert done.status == 200 and done.json["n_done"] == 3 and contents(folder) == BEFORE, done
    assert server.post(f"/v1/runs/{run}/undo", {}).json["already_undone"] is True
    assert server.post(f"/v1/runs/{done.json['undo']}/undo", {}).status == 200 and contents(folder) == AFTER


@pytest.fixture
def no_tokens(who):
    """Servers of other tests need none."""
    yield
    for name in "ann", "bob":
        who.call("token", "rm", name)


def test_only_the_owner_may(who, folder, no_tokens):
    for name, flags in (("ann", ["--grants"]), ("bob", [])):
        added = who.call("token", "add", name, *flags)
        assert added.code == 0, added
        if name == "ann":
            ann = added.text.strip()
        else:
            bob = added.text.strip()
    s = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{folder}:rw"})
    run = record(who, folder)
    for token, status in ((ann, 404), (bob, 403)):
        headers = {"Authorization": f"Bearer {token}"}
        assert s.post(f"/v1/runs/{run}/undo", {}, headers=headers).status == status
        assert s.get(f"/v1/runs/{run}/changes", headers=headers).status == status
        listed = s.get("/v1/undo", headers=headers)
        assert listed.status == 403 or run not in listed.body.decode(), listed
    assert contents(folder) == AFTER
    assert s.stop() == 0, s.said


def test_undos_of_one_token_leave_room_for_another(who, folder, no_tokens):
    tokens = {name: who.call("token", "add", name, "--grants").text.strip() for name in ("ann", "bob")}
    s = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{folder}:rw"})

    def call(name, method, path, body=None):
        return s.call(method, path, body, headers={"Authorization": f"Bearer {tokens[name]}"})

    def run(name, i):
        fields = {"profile": "open", "allow": [f"{folder}:rw"], "code": f"open('{folder}/{name}{i}', 'w').close()"}
        reply = call(name, "POST", "/v1/run", fields)
        assert reply.status == 200 and reply.json["status"] == "success", reply
        return reply.json["id"]

    def ready(name, id):
        """The record is closed a moment after the answer."""
        return call(name, "GET", f"/v1/runs/{id}/changes").status == 200

    runs = [("ann", run("ann", i)) for i in range(10)] + [("bob", run("bob", 0))]
    for name, id in runs:
        wait_until(lambda: ready(name, id), "the record is closed")
    with ThreadPoolExecutor(len(runs)) as pool:
        with open(who.home / "state/belljar/broker.lock", "r+") as lock:
            # All bytes: every undo waits.
            fcntl.fcntl(lock, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            asked = [pool.submit(call, name, "GET", f"/v1/runs/{id}/changes") for name, id in runs[:10]]
            wait_until(lambda: any(f.done() for f in asked), "her share is used up")
            assert next(f for f in asked if f.done()).result().status == 429
            other = pool.submit(call, "bob", "POST", f"/v1/runs/{runs[10][1]}/undo", {})
            wait_until(lambda: other.done() or any(runs[10][1] in str(record) for record in trail(who)), "his is under way")
        assert other.result().status == 200, other.result()
        assert {f.result().status for f in asked} == {200, 429}
    assert s.stop() == 0, s.said


@pytest.mark.parametrize("suffix", ["", ":ro", ":cow"])
def test_only_while_the_directory_may_be_written(who, folder, suffix):
    s = Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{folder}{suffix}"})
    run = record(who, folder)
    answer = s.post(f"/v1/runs/{run}/undo", {})
    assert answer.status == 403 and "may no longer write" in answer.error["message"], answer
    assert contents(folder) == AFTER
    assert s.stop() == 0, s.said


def test_hostile_ids(server):
    for run in ("..", "%2e%2e", "run_%00", "run_" + "A" * 60, "%ff", "run_a%2fb"):
        assert server.post(f"/v1/runs/{run}/undo", {}).status in (400, 404), run
    assert server.get("/v1/undo").status == 200


# --- MCP ---


def test_over_mcp(who, folder):
    run = record(who, folder)
    with mcp.Client(who, "--tools", "all", "--allow", f"{folder}:rw") as client:
        client.initialize()
        assert "undo_run" in [t["name"] for t in client.request("tools/list")["result"]["tools"]]
        tried = client.call("undo_run", {"run_id": run, "dry_run": True})
        assert tried["structuredContent"]["n_done"] == 3 and contents(folder) == AFTER, tried
        done = client.call("undo_run", {"run_id": run})
        assert done["structuredContent"]["n_done"] == 3 and contents(folder) == BEFORE, done
        failed = client.call("undo_run", {"run_id": "run_00000000000000000000000000"})
        assert failed["isError"] and "no undo record of a run" in mcp.text_of(failed), failed


def test_the_tool_is_there_only_with_a_directory_to_write(who, folder):
    run = record(who, folder)
    with mcp.Client(who, "--tools", "all", "--allow", f"{folder}") as client:
        client.initialize()
        assert "undo_run" not in [t["name"] for t in client.request("tools/list")["result"]["tools"]]
        failed = client.call("undo_run", {"run_id": run})
        assert failed["isError"] and "may no longer write" in mcp.text_of(failed) and contents(folder) == AFTER, failed


def test_setup_says_that_changes_are_recorded(who, folder):
    entry = who.call("setup", "--print", "claude-desktop", "--allow", f"{folder}:rw")
    assert entry.code == 0 and '"--undo"' in entry.text, entry
    assert "--undo" not in who.call("setup", "--print", "claude-desktop", "--allow", f"{folder}").text
