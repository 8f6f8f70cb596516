"""Adapters of the Python client: sessions as the sandboxes of frameworks. A framework that is not installed has a stand-in."""
import asyncio
import base64
import importlib
import io
import json
import tarfile
from pathlib import Path

import framework_stand_ins
import pytest
from client_ways import Ways, belljar_client
from serving import Server

STAND_INS = framework_stand_ins.install()

from belljar_client.adapters import sandbox as shared  # noqa: E402


@pytest.fixture(scope="module")
def adapters_server(callers):
    with Server(callers["user"], env={"BELLJAR_PROFILE": "open"}) as server:
        yield server


@pytest.fixture
def given(adapters_server, monkeypatch):
    """The environment that a program of a user would have."""
    monkeypatch.setenv("BELLJAR_SERVER", f"http://127.0.0.1:{adapters_server.port}")
    monkeypatch.setenv("BELLJAR_TOKEN", adapters_server.token)
    yield adapters_server
    assert adapters_server.get("/v1/sessions").json["sessions"] == [], "an adapter left a session behind"


def adapter(name):
    return importlib.import_module(f"belljar_client.adapters.{name}")


# --- what they share ---


class Box:
    """Either kind of sandbox, used as one that waits."""

    def __init__(self, ways, name="create", *args):
        client = ways.client()
        if ways.loop:
            self.made = ways.loop.run(getattr(shared.AsyncSandbox, name)(client.target, *args))
        else:
            self.made = getattr(shared.Sandbox, name)(client, *args)
        self.ways = ways

    def __getattr__(self, name):
        value = getattr(self.made, name)
        if not callable(value) or not self.ways.loop or name == "port_url":
            return value
        return lambda *args, **more: self.ways.loop.run(value(*args, **more))


@pytest.fixture(params=["Client", "AsyncClient"])
def ways(request, given):
    ways = Ways(request.param)
    yield ways
    ways.close()


@pytest.fixture
def box(ways):
    box = Box(ways)
    yield box
    box.close()
    assert not box.is_open()


def test_a_command_has_a_directory_variables_and_input(box):
    box.run("mkdir 'a b'")
    outcome = box.run('pwd; echo "$A"; cat; echo oops >&2; exit 3', cwd="a b", env={"A": "é x"}, stdin="typed\n")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (3, "/workspace/a b\né x\ntyped\n", "oops\n")
    assert outcome.output == "/workspace/a b\né x\ntyped\noops"
    assert box.run(["printf", "%s", "$HOME;"]).stdout == "$HOME;"
    with pytest.raises(belljar_client.InvalidError, match="workdir"):
        box.run("true", cwd="/nowhere")


def test_input_and_lines_of_any_size_arrive(box):
    data = bytes(range(256)) * 8192
    assert box.run("sha256sum | cut -c1-8; wc -c < /proc/self/fd/0", stdin=data).stdout.startswith(_digest(data))
    assert box.run(["wc", "-c"], stdin="x" * 300_000).stdout == "300000\n"
    long = f"cat <<'END' | wc -c\n{'x' * 400_000}\nEND"
    assert box.run(long).stdout == "400001\n"
    assert box.run("wc -c; " + "#" * 50_000, stdin=b"\xff\0").stdout == "2\n"
    assert [e.name for e in box.list()] == []


def _digest(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()[:8]


def test_output_is_bounded(box):
    outcome = box.run("yes | head -c 3000000", output_bytes=2000)
    assert outcome.is_truncated and len(outcome.stdout) < 5000


def test_a_time_limit_ends_a_command(box):
    outcome = box.run("echo so far; sleep 600", timeout=0.01)
    assert (outcome.exit_code, outcome.has_timed_out) == (124, True) and outcome.output == "so far\n[the time limit was exceeded]"


def test_files_are_read_and_written_wherever_they_are(box):
    every = bytes(range(256))
    for path in ("a/b.bin", "/workspace/c", "/tmp/d/e f", "/workspace/x/../g", "'; touch evil #"):
        box.write(path, every)
        assert box.read(path) == every
        box.write(path, "shorter")
        assert box.read(path) == b"shorter"
    assert not box.run("ls evil").ok
    assert [(e.path, e.kind, e.size) for e in box.list("/tmp/d")] == [("/tmp/d/e f", "file", 7)]
    assert ("/workspace/a", True) in [(e.path, e.is_directory) for e in box.list()]
    box.delete("/tmp/d", recursive=True)
    with pytest.raises(belljar_client.NotFoundError):
        box.list("/tmp/d")


def test_a_file_keeps_its_mode_and_links_are_followed(box):
    box.run("echo 'echo old' > s; chmod 755 s; ln -s s l; mkdir d; ln -s d ld; echo x > d/f; ln -s /etc/hostname out")
    box.write("l", "echo new")
    assert box.run("./s; test -L l && echo link").stdout == "new\nlink\n"
    assert box.read("l") == b"echo new" and box.read("ld/f") == b"x\n" and box.read("out") == box.read("/etc/hostname")
    assert [e.name for e in box.list("ld")] == ["f"] and {e.name: e.kind for e in box.list()}["ld"] == "link"


@pytest.mark.parametrize("do, path, error", [
    ("read", "none", belljar_client.NotFoundError), ("read", "/tmp/none", belljar_client.NotFoundError), ("delete", "none", belljar_client.NotFoundError),
    ("list", "none", belljar_client.NotFoundError), ("read", "d", belljar_client.InvalidError), ("read", "/tmp", belljar_client.InvalidError),
    ("read", "/workspace", belljar_client.InvalidError), ("list", "f", belljar_client.InvalidError), ("delete", "d", belljar_client.InvalidError),
    ("read", "", belljar_client.InvalidError), ("read", "a\0b", belljar_client.InvalidError), ("list", "/root", belljar_client.NotFoundError),
    ("read", "p", belljar_client.InvalidError), ("read", "/dev/null", belljar_client.InvalidError),
])  # fmt: skip
def test_a_path_that_is_wrong_has_its_error(box, do, path, error):
    box.run("mkdir d; echo x > f; mkfifo p")
    with pytest.raises(error):
        getattr(box, do)(path)


def test_a_write_that_is_impossible_has_its_error(box):
    box.run("mkdir d; echo x > f")
    for path, kind in (("d", "is_directory"), ("f/x", "invalid"), ("/usr/bin/x", "denied"), ("/workspace", "is_directory")):
        with pytest.raises(belljar_client.BelljarError) as failed:
            box.write(path, b"x")
        assert failed.value.code == kind, path
    assert sorted(e.name for e in box.list()) == ["d", "f"]


def test_a_file_that_is_too_large_is_not_read(box):
    box.run("head -c 5000 /dev/zero > z; cp z /tmp/z")
    for path in ("z", "/tmp/z"):
        assert len(box.read(path, max_bytes=5000)) == 5000
        with pytest.raises(belljar_client.TooLargeError):
            box.read(path, max_bytes=4999)


def test_archives_go_in_and_out(box):
    box.run("mkdir -p a/skip; echo 1 > a/one; echo 2 > a/skip/two; chmod 755 a/one")
    data = box.pack("a", exclude=["skip"])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert sorted(m.name for m in archive.getmembers()) == [".", "./one"]
    box.unpack(data, "/tmp/new/place")
    assert box.run("cat one; test -x one && echo kept", cwd="/tmp/new/place").stdout == "1\nkept\n"
    with pytest.raises(belljar_client.BelljarError):
        box.unpack(b"not an archive")
    assert sorted(e.name for e in box.list()) == ["a"]


def test_an_archive_cannot_leave_the_sandbox(box):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("../../tmp/up", "/tmp/absolute", "fine"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(belljar_client.BelljarError):
        box.unpack(made.getvalue(), "/workspace/d/e")
    assert not Path("/tmp/up").exists() and not Path("/tmp/absolute").exists()


def test_a_sandbox_is_found_again_by_its_id(ways, box):
    box.write("f", "kept")
    assert Box(ways, "attach", box.id).read("f") == b"kept"
    with pytest.raises(belljar_client.NotFoundError):
        Box(ways, "attach", "ses_00000000000000000000000000")


def test_there_are_no_ports(box):
    with pytest.raises(belljar_client.UnsupportedError, match="8080"):
        box.port_url(8080)


def test_a_cancelled_task_kills_its_command(given, adapters_server):
    async def main():
        async with belljar_client.AsyncClient() as client:
            box = await shared.AsyncSandbox.create(client)
            task = asyncio.create_task(box.run("touch begun; sleep 600"))
            while not await box.session.commands.list() or not [e for e in await box.list() if e.name == "begun"]:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (states := {c.state for c in await box.session.commands.list() if "sleep" in c.code}) == {"running"}:
                await asyncio.sleep(0.01)
            assert states == {"cancelled"}
            await box.close()

    asyncio.run(main())


def test_a_missing_framework_is_named():
    with pytest.raises(ImportError, match="pip install some-framework"):
        shared.framework("no_such_framework.inside", "some-framework")


def test_nothing_is_pickled():
    for path in Path(shared.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import pickle" not in text and "marshal" not in text and "eval(" not in text, path


# --- deepagents ---


def test_deepagents(given):
    backend = adapter("deepagents").BelljarSandbox.create()
    try:
        again = adapter("deepagents").BelljarSandbox.attach(backend.id)
        answers = backend.upload_files([("/workspace/a", b"\0\xff"), ("relative", b"x"), ("/usr/x", b"x"), ("/tmp/t", b"t")])
        assert [(a.path, a.error) for a in answers] == [("/workspace/a", None), ("relative", "invalid_path"), ("/usr/x", "permission_denied"), ("/tmp/t", None)]
        found = again.download_files(["/workspace/a", "/tmp/t", "/none", "/tmp"])
        assert [(f.content, f.error) for f in found] == [(b"\0\xff", None), (b"t", None), (None, "file_not_found"), (None, "is_directory")]
        ran = backend.execute("echo out; echo err >&2; exit 4")
        assert (ran.output, ran.exit_code, ran.truncated) == ("out\nerr", 4, False)
        assert asyncio.run(backend.aexecute("pwd")).output == "/workspace"
    finally:
        backend.close()


# --- smolagents ---


class Tool:
    def __init__(self, source):
        self.source = source


def test_smolagents(given):
    executor = adapter("smolagents").BelljarExecutor()
    try:
        executor.send_variables({"rows": [1, {"a": None}], "name": "O'Brien \"é\"\n"})
        executor.send_tools({"double": Tool("def double(x):\n    return 2 * x"), "final_answer": Tool("must not be sent")})
        first = executor("print('hello')\ntotal = double(rows[0])\ntotal")
        assert (first.output, first.logs, first.is_final_answer) == (2, "hello\n", False)
        assert executor("name").output == "O'Brien \"é\"\n"
        last = executor("print('done')\nfinal_answer({'total': total})\nprint('not reached')")
        assert (last.output, last.logs, last.is_final_answer) == ({"total": 2}, "done\n", True)
        assert executor("final_answer(answer=object())").output.startswith("<object object")
        with pytest.raises(belljar_client.ProgramFailed, match=r"(?s)so far.*ZeroDivisionError"):
            executor("print('so far')\n1 / 0")
        assert executor("total").output == 2
        for variables in ({"x": object()}, {"x": float("nan")}, {"not a name": 1}, {"class": 1}):
            with pytest.raises(belljar_client.InvalidError):
                executor.send_variables(variables)
    finally:
        executor.cleanup()


# --- AutoGen ---


def test_autogen(given):
    autogen, core = adapter("autogen"), importlib.import_module("autogen_core.code_executor")
    token = importlib.import_module("autogen_core").CancellationToken

    async def main():
        executor = autogen.BelljarCodeExecutor()

        async def run(*blocks):
            done = await executor.execute_code_blocks([core.CodeBlock(code=c, language=n) for n, c in blocks], token())
            return done.exit_code, done.output

        with pytest.raises(RuntimeError, match="not started"):
            await run(("python", "1"))
        async with executor:
            assert await run(("python", "x = 41\nopen('f', 'w').write('file')"), ("sh", "cat f"), ("Python", "print(x + 1)")) == (0, "\nfile\n42")
            code, output = await run(("bash", "echo one; exit 3"), ("python", "print('not reached')"))
            assert (code, output) == (3, "one")
            code, output = await run(("python", "1 / 0"))
            assert code == 1 and "ZeroDivisionError" in output
            with pytest.raises(ValueError, match="cobol"):
                await run(("python", "open('made', 'w')"), ("cobol", "x"))
            assert (await run(("sh", "ls made")))[0] != 0
            await executor.restart()
            assert (await run(("python", "x")))[0] == 1
            for language, code in (("python", "open('begun', 'w').close()\nimport time\ntime.sleep(600)"), ("bash", "touch begun; sleep 600")):
                cancel = token()
                work = asyncio.ensure_future(executor.execute_code_blocks([core.CodeBlock(code=code, language=language)], cancel))
                while "begun" not in [e.name for e in await executor.sandbox.list()]:
                    await asyncio.sleep(0.01)
                cancel.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await work
                assert await run(("sh", "rm begun; pgrep -f 'sleep 60[0]' || echo ended")) == (0, "ended")
        await executor._client.close()

    asyncio.run(main())


# --- Google ADK ---


def test_google_adk(given, monkeypatch):
    adk, utils = adapter("google_adk"), importlib.import_module("google.adk.code_executors.code_execution_utils")

    def run(executor, code, execution=None, **files):
        inputs = [utils.File(name=f"{name}.csv", content=content) for name, content in files.items()]
        return executor.execute_code(None, utils.CodeExecutionInput(code=code, input_files=inputs, execution_id=execution))

    executor = adk.BelljarCodeExecutor()
    done = run(executor, "open('out/x.png', 'wb').write(b'\\x89') if __import__('os').makedirs('out') is None else 0\nprint(open('a.csv').read())", a=base64.b64encode(b"1,2").decode())
    assert (done.stdout, done.stderr) == ("1,2\n", "")
    assert [(f.name, f.content, f.mime_type) for f in done.output_files] == [("out/x.png", b"\x89", "image/png")]
    assert "ZeroDivisionError" in run(executor, "1 / 0").stderr
    assert "NameError" in run(executor, "x = 1", "one").stderr + run(executor, "x", "one").stderr

    kept = adk.BelljarCodeExecutor(stateful=True)
    assert run(kept, "x = 1", "one").stderr == ""
    assert run(kept, "print(x + 1)", "one").stdout == "2\n"
    assert "NameError" in run(kept, "x", "two").stderr
    kept._sessions["one"].close()
    assert "NameError" in run(kept, "x", "one").stderr
    monkeypatch.setattr(adk, "SESSIONS_MAX", 2)
    run(kept, "x = 3", "three")
    assert sorted(kept._sessions) == ["one", "three"] and len(given.get("/v1/sessions").json["sessions"]) == 2
    kept.close()


# --- Inspect ---


def test_inspect(given, tmp_path):
    module = adapter("inspect_ai")
    environment = module.BelljarSandboxEnvironment
    config = tmp_path / "belljar.json"
    config.write_text(json.dumps({"env": {"B": "from the session"}}))

    async def main():
        found = await environment.sample_init("task", str(config), {})
        box = found["default"]
        try:
            done = await box.exec(["sh", "-c", 'cat; echo "$A $B"; pwd; echo e >&2; exit 2'], input=b"\xc3\xa9\n", cwd="/tmp", env={"A": "a"})
            assert (done.success, done.returncode, done.stdout, done.stderr) == (False, 2, "é\na from the session\n/tmp\n", "e\n")
            await box.write_file("d/text", "é")
            await box.write_file("raw", b"\xff")
            assert await box.read_file("d/text") == "é" and await box.read_file("raw", text=False) == b"\xff"
            for file, error in (("none", FileNotFoundError), ("d", IsADirectoryError), ("raw", UnicodeDecodeError)):
                with pytest.raises(error):
                    await box.read_file(file)
            for file, error in (("d", IsADirectoryError), ("/usr/x", PermissionError)):
                with pytest.raises(error):
                    await box.write_file(file, "x")
            with pytest.raises(module._util.OutputLimitExceededError):
                await box.exec(["sh", "-c", "yes | head -c 9000000"])
            with pytest.raises(PermissionError, match="one user"):
                await box.exec(["id"], user="root")
        finally:
            await environment.sample_cleanup("task", str(config), found, False)
        with pytest.raises(ValueError, match="expected an object"):
            config.write_text("[1]")
            await environment.sample_init("task", str(config), {})

    asyncio.run(main())


# --- the OpenAI Agents SDK ---


def test_openai_agents(given):
    module = adapter("openai_agents")
    errors, manifest = module._errors, module._manifest.Manifest

    async def main():
        async with belljar_client.AsyncClient() as belljar:
            client = module.BelljarSandboxClient(belljar)
            session = await client.create(manifest=manifest(environment={"A": "é"}, files={"given": b"put"}), options=module.BelljarSandboxClientOptions(idle_s=60))
            await session.start()
            assert await session.running() and (await session.read(Path("given"))).read() == b"put"
            done = await session.exec('echo "$A"; pwd; exit 3')
            assert (done.stdout, done.exit_code, done.ok()) == ("é\n/workspace\n".encode(), 3, False)
            await session.write(Path("d/file"), io.BytesIO(b"\0"))
            await session.write(Path("skipped/file"), io.StringIO("text"))
            for path, error in (("none", errors.WorkspaceReadNotFoundError), ("d", errors.WorkspaceArchiveReadError), ("../etc/passwd", ValueError)):
                with pytest.raises(error):
                    await session.read(Path(path))
            with pytest.raises(errors.WorkspaceArchiveWriteError):
                await session.write(Path("d"), io.BytesIO(b"x"))
            with pytest.raises(errors.WorkspaceArchiveReadError):
                await session.read(Path("given"), user="root")

            # While it is open, the same session is found again.
            state = client.deserialize_session_state(client.serialize_session_state(session.state))
            again = await client.resume(state)
            await again.start()
            assert (await again.exec("cat given")).stdout == b"put" and again.state.belljar_session == session.state.belljar_session

            # After its end a new one is filled from the snapshot.
            await again.aclose()
            assert not await session.running()
            with pytest.raises(errors.ExecTransportError):
                await session.exec("true")
            later = await client.resume(again.state)
            await later.start()
            assert later.state.belljar_session != session.state.belljar_session
            assert (await later.read(Path("d/file"))).read() == b"\0"
            with pytest.raises(errors.WorkspaceReadNotFoundError):
                await later.read(Path("skipped/file"))
            await client.delete(later)
            assert not await later.running()

            kept = await client.create(options=module.BelljarSandboxClientOptions(keep_on_exit=True))
            await kept.aclose()
            assert await kept.running()
            await client.delete(kept)

    asyncio.run(main())


# --- time limits, which are a second at least ---


def late_deepagents(module):
    backend = module.BelljarSandbox.create()
    ended = backend.execute("sleep 600", timeout=1)
    assert ended.exit_code == 124 and "time limit" in ended.output
    backend.close()


def late_google_adk(module):
    asked = importlib.import_module("google.adk.code_executors.code_execution_utils").CodeExecutionInput(code="import time\ntime.sleep(600)")
    assert "timeout" in module.BelljarCodeExecutor(timeout_s=1).execute_code(None, asked).stderr


def late_smolagents(module):
    executor = module.BelljarExecutor(timeout_s=1)
    with pytest.raises(belljar_client.ProgramFailed) as failed:
        executor("import time\ntime.sleep(600)")
    assert failed.value.code == "timeout"
    executor.cleanup()


def late_autogen(module):
    core = importlib.import_module("autogen_core.code_executor")

    async def main():
        async with module.BelljarCodeExecutor(timeout=1) as executor:
            token = importlib.import_module("autogen_core").CancellationToken()
            done = await executor.execute_code_blocks([core.CodeBlock(code="sleep 600", language="sh")], token)
            assert done.exit_code == 124 and "time limit" in done.output
        await executor._client.close()

    asyncio.run(main())


def late_inspect_ai(module):
    async def main():
        found = await module.BelljarSandboxEnvironment.sample_init("task", None, {})
        with pytest.raises(TimeoutError):
            await found["default"].exec(["sleep", "600"], timeout=1)
        await module.BelljarSandboxEnvironment.sample_cleanup("task", None, found, True)

    asyncio.run(main())


def late_openai_agents(module):
    async def main():
        async with belljar_client.AsyncClient() as belljar:
            session = await module.BelljarSandboxClient(belljar).create()
            with pytest.raises(module._errors.ExecTimeoutError):
                await session.exec("sleep 600", timeout=0.5)
            await session.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("name", ["deepagents", "google_adk", "smolagents", "autogen", "inspect_ai", "openai_agents"])
def test_a_time_limit_is_told_as_the_framework_tells_it(given, name):
    globals()[f"late_{name}"](adapter(name))
