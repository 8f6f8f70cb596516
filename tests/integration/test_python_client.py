"""The client library in sdk/python/ against a server: each case with Client and with AsyncClient."""
import asyncio
import contextlib
import io
import os
import re
import socket
import subprocess
import sys
import threading
import uuid

import belljar
import pytest
from client_ways import PACKAGE, Cutting, Ways, belljar_client
from serving import Server, wait_until


@pytest.fixture(scope="module")
def folders(callers):
    return {mode: callers["user"].directory(f"client-{mode}") for mode in ("rw", "cow")}


@pytest.fixture(scope="module")
def client_server(callers, folders):
    allow = ",".join(f"{path}:{mode}" for mode, path in folders.items())
    s = Server(callers["user"], env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": allow, "BELLJAR_NET": "ask"})
    yield s
    assert s.stop() == 0, s.said


@pytest.fixture(scope="module", params=["Client", "AsyncClient"])
def ways(request):
    w = Ways(request.param)
    yield w
    w.close()


@pytest.fixture
def connect(ways, client_server):
    """Makes a client of the server, or of something in front of it."""
    return lambda url=None, **more: ways.client(url or f"http://127.0.0.1:{client_server.port}", **{"token": client_server.token, **more})


@pytest.fixture
def client(connect):
    return connect()


# --- runs ---


def test_a_result_has_what_the_program_gave(client):
    r = client.run("import sys\nprint('o')\nprint('e', file=sys.stderr)\n[1, {'a': None}]", correlation_id="c-1")
    assert r.ok and r.raise_for_error() is r
    assert (r.status, r.exit_code, r.stdout, r.stderr) == ("success", 0, "o\n", "e\n")
    assert (r.value, r.text) == ([1, {"a": None}], "[1, {'a': None}]")
    assert r.raw["correlation_id"] == "c-1" and r.usage.memory_peak_bytes > 0
    assert str(r) == "o\n[1, {'a': None}]\ne"
    assert client.result(r.id) == r


def test_failures_of_programs_are_results(client):
    r = client.run("x = 1\nraise ValueError('no')")
    assert (r.status, r.error.name, r.error.message, r.error.line) == ("error", "ValueError", "no", 2)
    with pytest.raises(belljar_client.ProgramFailed, match="ValueError: no") as caught:
        r.raise_for_error()
    assert caught.value.result is r and caught.value.code == "error"
    assert client.run("exit 3", language="bash").exit_code == 3


def test_a_program_is_checked_without_running(client):
    r = client.check("import socket\neval('1')", profile="strict")
    assert r.status == "refused" and {v.line for v in r.violations} == {1, 2} and r.exit_code is None
    with pytest.raises(belljar_client.ProgramFailed, match="line 1: profile `strict`"):
        r.raise_for_error()
    assert client.check("print(1)", profile="strict").stdout == ""


def test_files_go_in_and_come_back(client, tmp_path):
    r = client.run(
        "import os\nos.mkdir('d')\nopen('d/b.bin', 'wb').write(open('raw', 'rb').read())\nopen('t.txt', 'w').write(open('in').read())",
        files={"in": "é", "raw": b"\0\xff"}, collect=["d/b.bin", "t.txt"],
    )  # fmt: skip
    assert {c.path: c.content for c in r.collected} == {"d/b.bin": b"\0\xff", "t.txt": "é".encode()}
    saved = r.save_collected(tmp_path / "new")
    assert sorted(p.relative_to(tmp_path / "new").as_posix() for p in saved) == ["d/b.bin", "t.txt"]
    assert (tmp_path / "new" / "d" / "b.bin").read_bytes() == b"\0\xff"
    r = client.run("print(open('x').read())", files=[{"path": "x", "content": "eA==", "encoding": "base64"}])
    assert r.stdout == "x\n"


def test_errors_carry_code_status_and_hint(client, connect):
    with pytest.raises(belljar_client.InvalidError) as caught:
        client.run("1", timeout_s=10**9)
    assert (caught.value.code, caught.value.status) == ("invalid", 400) and "timeout_s" in str(caught.value)
    with pytest.raises(TypeError, match="no parameter `tiemout_s`; did you mean `timeout_s`"):
        client.run("1", tiemout_s=1)
    with pytest.raises(belljar_client.AuthError) as caught:
        connect(token="bj_wrong").run("1")
    assert "bj_wrong" not in str(caught.value)
    with pytest.raises(belljar_client.NotFoundError):
        client.result("run_nonsense")
    with pytest.raises(belljar_client.TooLargeError):
        client.run("1", stdin="x" * 40_000_000)
    assert client.run("print(1)").ok  # the same client goes on


def test_under_a_key_a_broken_connection_is_no_loss(connect, client_server):
    code = "import random\nprint(random.SystemRandom().getrandbits(64))"
    with Cutting(client_server.port, 20, 20) as proxy:
        r = connect(proxy.url).run(code, key=str(uuid.uuid4()))
        assert r.ok and proxy.accepted == 3
    with Cutting(client_server.port, 20) as proxy:
        with pytest.raises(belljar_client.Unreachable):
            connect(proxy.url).run(code)
        assert proxy.accepted == 1, "a program without a key is not run again"
    with Cutting(client_server.port, 20) as proxy:
        assert connect(proxy.url).result(r.id).stdout == r.stdout


def test_a_key_belongs_to_one_request(client):
    key = str(uuid.uuid4())
    assert client.run("print(1)", key=key).id == client.run("print(1)", key=key).id
    with pytest.raises(belljar_client.ConflictError):
        client.run("print(2)", key=key)


def test_long_output_is_read_in_parts(client):
    r = client.run("for i in range(9999): print(i)", output_bytes=1000)
    assert r.is_truncated and r.output_handle
    part = client.output(r.id, line=5000, limit=2)
    assert part.text == "4999\n5000\n" and part.next
    assert [m.line for m in client.output(r.id, search="^777.$").matches][:2] == [7771, 7772]
    assert client.job(r.id).output(line=1, limit=1).text == "0\n"


# --- events ---


def test_events_come_as_they_happen(client):
    events = client.stream("from belljar import progress\nimport time\nprint('a', flush=True)\nprogress(1, 2, 'half')\ninput()\nprint('é')", stdin="\n")
    seen = list(events)
    assert (seen[0].kind, seen[-1].kind) == ("start", "result")
    assert "".join(e.text for e in seen if e.kind == "stdout") == "a\né\n"
    assert [e.progress.done for e in seen if e.progress] == [1.0]
    assert seen[-1].result.stdout == "a\né\n" and events.result == seen[-1].result and events.run_id == events.result.id


def test_the_first_event_does_not_wait_for_the_last(client):
    events = client.stream("import time\nprint('x', flush=True)\ntime.sleep(600)")
    assert [next(events).kind, next(events).text] == ["start", "x\n"]
    run = events.run_id
    events.close()
    assert wait_until(lambda: client.result(run), "closing the events cancels the run").status == "cancelled"


def test_callbacks_get_what_they_ask_for(client, ways):
    said = {"out": "", "err": "", "progress": [], "shown": [], "kinds": []}

    def on_stdout(text):
        said["out"] += text

    async def on_stderr(text):
        await asyncio.sleep(0)
        said["err"] += text

    def on_stderr_blocking(text):
        said["err"] += text

    r = client.stream(
        "import sys\nfrom belljar import progress\nprint('o', flush=True)\nprint('e', file=sys.stderr)\n"
        "progress(2, 4)\ndisplay({'text/html': '<b>é</b>'}, raw=True)"
    ).wait(
        on_stdout=on_stdout,
        on_stderr=on_stderr if ways.loop else on_stderr_blocking,
        on_progress=lambda p: said["progress"].append((p.done, p.total)),
        on_display=lambda shown: said["shown"].extend(shown),
        on_event=lambda e: said["kinds"].append(e.kind),
    )  # fmt: skip
    assert r.ok and (said["out"], said["err"], said["progress"]) == ("o\n", "e\n", [(2.0, 4.0)])
    assert [(d.mime, d.data) for d in said["shown"]] == [("text/html", "<b>é</b>".encode())]
    assert said["kinds"][0] == "start" and said["kinds"][-1] == "result"


def test_an_exception_of_a_callback_ends_the_run(client):
    runs = []

    def fail(event):
        runs.append(event.data.get("id"))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        client.stream("import time\ntime.sleep(600)").wait(on_event=fail)
    assert wait_until(lambda: client.result(runs[0]), "the run is cancelled").status == "cancelled"


def test_a_broken_stream_goes_on(connect, client_server):
    code = "import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.02)"
    with Cutting(client_server.port, 700) as proxy:
        events = list(connect(proxy.url).stream(code))
        assert proxy.accepted >= 2
    assert "".join(e.text for e in events if e.kind == "stdout") == "".join(f"{i}\n" for i in range(20))
    assert events[-1].result.status == "success" and [e.kind for e in events].count("start") == 1


def test_an_error_in_a_stream_is_raised(client):
    with pytest.raises(belljar_client.InvalidError):
        list(client.stream("1", timeout_s=10**9))


# --- jobs ---


def test_a_job_goes_on_without_a_connection(client, connect):
    job = client.start("print('a')", key=str(uuid.uuid4()))
    again = connect().job(job.id)
    assert again.wait().stdout == "a\n" and job.result().ok and job.cancel() is False
    assert [e.kind for e in again.events()] == ["result"]
    assert job.id in repr(job) and job.id in [r.id for r in client.runs(limit=1000) if r.detached and r.state == "success"]


WAITING = """
import os, time
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.01)
wait_for("begin")
for i in range(20):
    print("é", i, flush=True)
    time.sleep(0.02)
wait_for("end")
"""


def test_output_of_a_job_goes_on_after_a_lost_connection(client, connect, client_server):
    said, expected = "", "".join(f"é {i}\n" for i in range(20))
    with client.session() as s, Cutting(client_server.port, 500) as proxy:
        job = s.start(WAITING)
        for event in connect(proxy.url).job(job.id).events():
            said += event.text if event.kind == "stdout" else ""
            if event.kind == "start":
                s.files.write("begin", b"")
            if said == expected:
                s.files.write("end", b"")
        assert proxy.accepted >= 2
    assert said == expected and event.result.stdout == expected


def test_a_job_is_waited_for_and_cancelled(client):
    job = client.start("import time\ntime.sleep(600)")
    events = job.events()
    assert next(events).kind == "start"
    events.close()
    assert [e.kind for e in job.events(wait=False)] == ["start", "running"]
    assert job.result() is None, "reading the events of a job and leaving does not end it"
    assert job.id in [r.id for r in client.runs(state="live")]
    assert job.cancel() is True
    assert job.wait().status == "cancelled"
    with client.session() as s:
        assert s.start("x = 1\nprint('cell')").wait().stdout == "cell\n" and s.run("x").value == 1


# --- sessions ---


def test_variables_and_files_stay(client, tmp_path):
    with client.session() as s:
        s.run("x = 41")
        r = s.run("print(x + 1)")
        assert (r.stdout, r.session_id) == ("42\n", s.id)
        assert s.files.write("dir/a b.bin", bytes(range(256))) == 256
        assert s.files.write("text", "é") == 2
        s.files.write("large", io.BytesIO(b"x" * 300_000))
        s.files.write("tool.sh", "#!/bin/sh\necho ran", executable=True)
        with pytest.raises(belljar_client.InvalidError, match="exists"):
            s.files.write("text", "x", new=True)
        assert s.files.read("dir/a b.bin") == bytes(range(256))
        assert s.files.read("dir/a b.bin", 10, 12) == b"\n\x0b"
        assert s.files.read("dir/a b.bin", 254) == b"\xfe\xff"
        assert s.files.read("text", 1, 1) == b""
        assert s.run("./tool.sh", language="bash").stdout == "ran\n"
        found = {f.path: (f.kind, f.size) for f in s.files.list(depth=0, limit=2)}
        assert found["dir/a b.bin"] == ("file", 256) and len(found) == 5
        assert [f.path for f in s.files.list("dir")] == ["dir/a b.bin"]
        s.files.delete("text")
        s.files.delete("dir", recursive=True)
        with pytest.raises(belljar_client.NotFoundError):
            s.files.read("text")
    with pytest.raises(belljar_client.NotFoundError):
        client.get_session(s.id)
    s.close()  # a second time is not an error


def test_large_files_are_streamed(connect, tmp_path):
    client = connect(max_answer_bytes=1 << 20)
    source = tmp_path / "source"
    source.write_bytes(os.urandom(1 << 20) * 8)
    with client.session(disk_mb=64) as s:
        assert s.files.upload(source) == 8 << 20
        assert sum(map(len, s.files.chunks("source"))) == 8 << 20
        assert s.files.download("source", tmp_path / "copy").read_bytes() == source.read_bytes()
        (tmp_path / "into").mkdir()
        assert s.files.download("source", tmp_path / "into") == tmp_path / "into" / "source"
        with pytest.raises(belljar_client.ProtocolError, match="max_answer_bytes"):
            s.files.read("source")
        with pytest.raises(belljar_client.ProtocolError, match="larger than 1000 bytes"):
            s.files.download("source", tmp_path / "part", max_bytes=1000)
        with pytest.raises(belljar_client.NotFoundError):
            s.files.download("nothing", tmp_path / "nothing")
        first = iter(s.files.chunks("source"))
        next(first)
        first.close()
        assert s.run("1").value == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "into", "source"], "nothing half is left"


def test_a_session_by_its_name(client):
    name = f"py-{uuid.uuid4().hex[:8]}"
    with client.session(name, idle_s=60) as s:
        s.run("y = 1")
        assert client.get_session(name).run("y").value == 1
        assert s.id in [t.id for t in client.sessions()]
        assert s.refresh()["cells"] == 2 and s.raw["idle_limit_s"] == 60 and name in repr(s)
        assert list(s.stream("print(y)"))[-1].result.stdout == "1\n"


def test_interrupt_and_restart(client):
    with client.session() as s:
        assert s.interrupt() is False
        # On a busy machine a cell may be killed before it hears of the interrupt: then the answer says that the state is lost.
        for _ in range(10):
            s.run("z = 1")
            results = []
            cell = threading.Thread(target=lambda: results.append(s.run("import time\ntime.sleep(600)")))
            cell.start()
            wait_until(s.interrupt, "a cell runs")
            cell.join()
            assert not results[0].ok
            if results[0].raw["session_state"] == "kept":
                break
        assert results[0].raw["session_state"] == "kept" and s.run("z").value == 1
        s.restart()
        assert s.run("z").status == "error"


def test_checkpoints_and_forks(client):
    with client.session() as s:
        s.run("x = 1\nopen('f', 'w').write('1')")
        s.checkpoint("one")
        s.run("x = 2\nopen('f', 'w').write('2')")
        copies = s.fork(2)
        assert s.checkpoints() == ["one"]
        s.restore("one")
        assert (s.run("x").value, s.files.read("f")) == (1, b"1")
        for c in copies:
            with c:
                assert (c.run("x").value, c.files.read("f")) == (2, b"2")
        s.delete_checkpoint("one")
        assert s.checkpoints() == []


def test_staged_changes_are_reviewed(client, folders, user):
    folder = folders["cow"]
    (folder / "a.txt").write_text("old\n")
    user.own(folder / "a.txt")
    with client.session(allow=[f"{folder}:cow"]) as s:
        s.run(f"open('{folder}/a.txt', 'w').write('new\\n')\nopen('{folder}/b.txt', 'w').write('b\\n')")
        changes = s.changes(diff=True)
        assert {os.path.basename(c.path): c.change for c in changes.changes} == {"a.txt": "changed", "b.txt": "created"}
        assert "-old\n+new\n" in next(c.diff for c in changes.changes if c.path.endswith("a.txt"))
        assert re.search(r"^M .*a\.txt  \+1 -1$", str(changes), re.MULTILINE)
        assert (folder / "a.txt").read_text() == "old\n"
        assert s.apply([f"{folder}/a.txt"]).done == [f"{folder}/a.txt"]
        assert (folder / "a.txt").read_text() == "new\n" and not (folder / "b.txt").exists()
        with pytest.raises(belljar_client.InvalidError):
            s.apply(version=changes.version)
        assert s.discard().done == [f"{folder}/b.txt"] and s.changes().changes == []


def test_a_run_is_undone(client, folders):
    target = folders["rw"] / f"{uuid.uuid4().hex}.txt"
    r = client.run(f"open('{target}', 'w').write('x')", allow=[f"{folders['rw']}:rw"])
    assert r.ok and r.changes.created == 1 and r.changes.undo and target.exists()
    wait_until(lambda: not next(u for u in client.undoable() if u.run == r.id).is_running, "the record is closed")
    assert [step.action for step in client.run_changes(r.id).done] == ["removed"]
    assert client.undo(r.id, dry_run=True).dry_run and target.exists()
    done = client.undo(r.id)
    assert done.n_done == 1 and not target.exists() and client.undo(r.id).already_undone


def test_calls_wait_for_approval(client):
    skill = "s" + uuid.uuid4().hex[:12]
    client.skills.save(skill, "x = 1\n", description="old words")
    change = f"from execution_runtime import save_skill\nsave_skill('{skill}', 'x = 2', 'new words')\nprint('went on')"
    asked = []
    r = client.stream(change).wait(on_approval=lambda a: asked.append(a) or False)
    assert r.status == "error" and "not approved" in r.stderr and asked[0].call == "skills.save"
    r = client.stream(change).wait(on_approval=lambda a: True)
    assert r.stdout == "went on\n"
    job = client.start(change.replace("x = 2", "x = 3"))
    (question,) = wait_until(lambda: [a for a in client.approvals() if a.run_id == job.id], "somebody is asked")
    assert client.approve(question) is True
    assert job.wait().ok and "x = 3" in client.skills.get(skill).code
    with client.session() as s:
        r = s.stream(change.replace("x = 2", "x = 4")).wait(on_approval=lambda a: a.session_id == s.id)
        assert r.stdout == "went on\n"
    client.skills.delete(skill)


def test_a_host_is_asked_for(client):
    asked = []
    code = "import urllib.request\ntry: urllib.request.urlopen('http://api.nowhere.test/')\nexcept OSError: print('refused')"
    r = client.stream(code, net=["ask"]).wait(on_approval=lambda a: asked.append(a) or False)
    assert r.stdout == "refused\n" and "api.nowhere.test" in str(asked[0].arguments) and len(asked) == 1


def test_a_connection_that_the_server_closed_is_not_used_again(ways, client_server):
    """Also if the event loop had no time to notice."""
    with Cutting(client_server.port) as proxy:
        client = ways.client(proxy.url, token=client_server.token, retries=0)

        def close_all():
            for sock in proxy.sockets[1:]:
                with contextlib.suppress(OSError):  # the other end may be closed already
                    sock.shutdown(socket.SHUT_RDWR)

        async def twice():
            first = await client.target.run("1")
            close_all()
            return first.ok and (await client.target.run("2")).ok

        if ways.loop:
            assert ways.loop.run(twice())
        else:
            assert client.run("1").ok
            close_all()
            assert client.run("2").ok
        assert proxy.accepted == 2


# --- batches, skills, states, the server ---


def test_cases_come_with_their_verdicts(client):
    runs = [{"id": str(i), "stdin": f"{i}\n", "expected_output": str(i * 2)} for i in range(5)]
    runs += [{"id": "wrong", "stdin": "1", "expected_output": "3"}, {"id": "bad", "stdin": "x", "files": {"a": b"\0"}}]
    cases = {c.id: c for c in client.batch(runs, code="print(int(input()) * 2)", at_once=3)}
    assert {cases[str(i)].verdict for i in range(5)} == {"accepted"}
    assert (cases["wrong"].verdict, cases["wrong"].result.stdout) == ("wrong_answer", "2\n")
    assert (cases["bad"].verdict, cases["bad"].result.error.name) == ("error", "ValueError")
    with pytest.raises(belljar_client.InvalidError):
        list(client.batch([{"code": "1"}, {}]))


def test_a_broken_batch_goes_on_under_a_key(connect, client_server):
    runs = [{"code": "1"}] * 10
    with Cutting(client_server.port, 3000) as proxy, pytest.raises(belljar_client.Unreachable):
        list(connect(proxy.url).batch(runs))
    with Cutting(client_server.port, 3000) as proxy:
        cases = list(connect(proxy.url).batch(runs, key=str(uuid.uuid4())))
        assert sorted(c.index for c in cases) == list(range(10)) and proxy.accepted == 2


def test_skills_and_states(client):
    name = "k" + uuid.uuid4().hex[:12]
    assert client.skills.save(name, "def double(x): return 2 * x\n", description="doubles") == 1
    assert client.run(f"from skills.{name} import double\nprint(double(21))").stdout == "42\n"
    assert client.skills.save(name, "def double(x): return x + x\n") == 2
    assert client.skills.get(name, version=1).code == '"""doubles"""\ndef double(x): return 2 * x\n'
    assert [v.version for v in client.skills.get(name).versions] and client.skills.undo(name) == 1
    folder = next(s for s in client.skills.list() if s.is_folder)
    assert b"---" in client.skills.file(folder.name, "SKILL.md")
    client.skills.delete(name)
    assert name not in [s.name for s in client.skills.list()]

    assert client.states.create(name, description="work") is True and client.states.create(name) is False
    assert client.states.save(name, {"done": [1]}, version=0) == 1
    with pytest.raises(belljar_client.ConflictError):
        client.states.save(name, {}, version=0)
    client.states.save(name, {"done": [1, 2]})
    assert client.states.load(name).state == {"done": [1, 2]} and client.states.load(name, version=1).state == {"done": [1]}
    assert name in [s.name for s in client.states.list()]
    client.states.delete(name)


def test_figures_of_the_server(client):
    assert client.stats()["you"]["name"] and "belljar_" in client.metrics() and client.openapi()["info"]["title"] == "Belljar"
    assert [(x.name, x.available) for x in client.languages()][:2] == [("python", True), ("bash", True)]


def test_many_use_one_client(client):
    seen = []
    threads = [threading.Thread(target=lambda i=i: seen.append(client.run(f"print({i})").stdout)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(seen) == [f"{i}\n" for i in range(8)]


def test_a_cancelled_task_ends_its_run(client_server):
    async def main():
        async with belljar_client.AsyncClient(f"http://127.0.0.1:{client_server.port}", token=client_server.token) as client:
            name = f"py-{uuid.uuid4().hex[:8]}"
            async with client.session(name) as s:
                task = asyncio.create_task(s.run("import time\ntime.sleep(600)"))
                while (await s.refresh())["state"] != "busy":
                    await asyncio.sleep(0.02)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                while (await s.refresh())["state"] != "idle":
                    await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(main(), belljar.HANG_SECONDS))


# --- other ways to a server ---


def test_the_socket_needs_no_token(user, client_server):
    """As the user whose server it is, with nothing but the environment to find it."""
    script = (
        "import asyncio, belljar_client\n"
        "with belljar_client.Client() as c: print(c.run('1 + 1').value)\n"
        "async def main():\n"
        "    async with belljar_client.AsyncClient() as c: print((await c.run('1 + 2')).value)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", script], env=user.environment({"PYTHONPATH": str(reachable(user)), "PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True, text=True, timeout=belljar.HANG_SECONDS, **user.identity(),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n3\n", "")


def reachable(user):
    """The package where that user can read it."""
    target = user.home / "client-package"
    if not target.exists():
        subprocess.run(["cp", "-r", str(PACKAGE), str(target)], check=True)
    return target


def test_it_speaks_tls(user, base, ways):
    cert, key = os.path.join(base, f"py-cert-{ways.way}.pem"), os.path.join(base, f"py-key-{ways.way}.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    for path in (cert, key):
        user.own(path)
    process = user.start("serve", "--listen", "127.0.0.1:0", "--socket", "none", "--tls-cert", cert, "--tls-key", key,
                         env={"BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "1", "BELLJAR_POOL_HOT": "0"})  # fmt: skip
    port = re.search(rb"https://127.0.0.1:(\d+)", process.stdout.readline())[1].decode()
    token = re.search(rb"token is in (.*)", process.stdout.readline())[1].decode()
    try:
        client = ways.client(f"https://localhost:{port}", token_file=token, ca_file=cert)
        assert client.run("print(1)").stdout == "1\n"
        assert [e.kind for e in client.stream("print(1)")][-1] == "result"
        large = ways.client(f"https://localhost:{port}", token_file=token, ca_file=cert)  # with bytes of TLS itself on the way
        assert large.run("print(len(input()))", stdin="x" * 1_000_000).stdout == "1000000\n"
        with large.session() as s:
            assert s.files.write("f", b"x" * 5_000_000) == 5_000_000 and len(s.files.read("f")) == 5_000_000
        with pytest.raises(belljar_client.Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            ways.client(f"https://localhost:{port}", token_file=token, retries=0).run("1")
        with pytest.raises(belljar_client.Unreachable, match="(?i)mismatch|not valid"):
            ways.client(f"https://127.0.0.1:{port}", token_file=token, ca_file=cert, retries=0).run("1")
    finally:
        process.terminate()
        process.communicate(timeout=belljar.HANG_SECONDS)


def test_where_there_is_no_server(ways):
    for server in ("unix:/nonexistent/http.sock", "http://127.0.0.1:1"):
        with pytest.raises(belljar_client.Unreachable) as caught:
            ways.client(server).run("1")
        assert "belljar serve" in caught.value.hint


def test_invalid_addresses(ways, monkeypatch):
    for server in ("ftp://x", "http://", "http://x/path", "nonsense", "http://user@host", "http://x:99999", "http://x?q", ""):
        with pytest.raises(belljar_client.InvalidError):
            ways.client(server)
    with pytest.raises(belljar_client.InvalidError, match="unencrypted"):
        ways.client("http://example.org:8222", token="secret")
    monkeypatch.setenv("BELLJAR_SERVER", "http://example.org:8222")
    monkeypatch.setenv("BELLJAR_TOKEN", "from-the-environment")
    with pytest.raises(belljar_client.InvalidError, match="unencrypted"):
        ways.client()


def test_a_token_is_in_no_text(client, client_server):
    assert client_server.token not in repr(client)
