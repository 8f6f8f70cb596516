"""Everything is charged to its owner: memory of uploads and images, and the shares of tokens."""
import json
import os
import select
import signal
import socket
import time
from pathlib import Path

import belljar
import pytest

from serving import Server, wait_until
from test_http_auth import Tokens
from test_http_attachments import BOUNDARY, form

MIB = 1 << 20


@pytest.fixture(scope="module", params=["root", "user"])
def tokens(request, callers):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    t = Tokens(callers[request.param], env={"BELLJAR_SESSIONS_MAX": "8", "BELLJAR_MAX_MEMORY_MB": "2048"})
    yield t
    assert t.server.stop() == 0, t.server.said


def open_session(tokens, token, name, **fields):
    reply = tokens.call(token, "POST", "/v1/sessions", {"name": name, **fields})
    assert reply.status == 201, reply
    return f"/v1/sessions/{name}"


def cell(tokens, token, session, code, **fields):
    reply = tokens.call(token, "POST", f"{session}/execute", {"code": code, **fields})
    assert reply.status == 200, reply
    return reply.json


def put(tokens, token, session, name, size):
    def attempt():
        reply = tokens.call(token, "PUT", f"{session}/files/{name}", b"x" * size)
        is_starting = reply.status == 503 or (reply.status == 429 and reply.error["message"] == "the session is starting")
        return None if is_starting else reply

    return wait_until(attempt, f"the session takes {name}")


# --- uploads ---


def test_uploads_count_as_memory(tokens):
    token = tokens.add("uploads")
    session = open_session(tokens, token, "up", memory_mb=64, disk_mb=1000)
    cell(tokens, token, session, "1")
    replies = [put(tokens, token, session, f"f{i}", 10 * MIB) for i in range(8)]
    refused = [r for r in replies if r.status != 200]
    assert 2 <= len(refused) <= 6, replies
    for r in refused:
        assert (r.status, r.error["code"]) == (413, "too_large") and "memory_mb" in r.error["hint"], r
    # Small files and empty directories are not free either.
    many = [put(tokens, token, session, f"d{i}/{'d/' * 500}f", 0).status for i in range(60)]
    assert 413 in many, many
    # Uploads leave room for a program.
    assert cell(tokens, token, session, "1")["usage"]["memory_peak_bytes"] <= 64 * MIB
    # Files that the program deletes can be uploaded again.
    gone = cell(tokens, token, session, "rm -rf f* d*", language="bash")
    assert gone["status"] == "success", gone
    assert put(tokens, token, session, "again", 10 * MIB).status == 200
    tokens.call(token, "DELETE", session)


def test_what_was_uploaded_is_missing_from_the_programs_memory(tokens):
    token = tokens.add("less")
    session = open_session(tokens, token, "less", memory_mb=128, disk_mb=500)
    cell(tokens, token, session, "1")
    greedy = "import time\nx = bytearray(80 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep({})"
    assert cell(tokens, token, session, greedy.format(1))["status"] == "success"
    cell(tokens, token, session, "x = None")
    tokens.call(token, "POST", f"{session}/restart", {})
    assert put(tokens, token, session, "large", 70 * MIB).status == 200
    # It is ended as soon as Belljar sees it, and does not sleep for so long.
    assert cell(tokens, token, session, greedy.format(25), timeout_s=28)["status"] == "memory_exceeded"
    tokens.call(token, "DELETE", session)


def test_files_of_a_run_count_as_memory(tokens):
    def run(n):
        body = form(("request", json.dumps({"code": "print(1)", "memory_mb": 64, "disk_mb": 500})), *[("files", f"f{i}", b"x" * (10 * MIB)) for i in range(n)])
        return tokens.server.post_raw("/v1/run", body, f"multipart/form-data; boundary={BOUNDARY}")

    reply = run(6)
    assert reply.status == 413 and "memory" in reply.error["message"], reply
    reply = run(2)
    assert reply.status == 200 and reply.json["status"] == "success", reply


# --- images ---


def image_bytes(server):
    """The memory of all images of the server."""
    total = 0
    folder = f"/proc/{server.process.pid}/fd"
    for name in os.listdir(folder):
        try:
            if "belljar-image" in os.readlink(f"{folder}/{name}"):
                total += os.stat(f"{folder}/{name}").st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def test_images_that_a_session_came_from_are_bounded(tokens):
    if os.getuid() != 0:
        pytest.skip("needs root, to look at the server's descriptors")
    token = tokens.add("images")
    session = open_session(tokens, token, "img", memory_mb=128)
    for i in range(7):
        cell(tokens, token, session, f"x = None\nx = bytearray([{i} + 1]) * (50 << 20)")
        reply = tokens.call(token, "POST", f"{session}/checkpoint", {"name": "c"})
        assert reply.status == 200, reply
        assert tokens.call(token, "POST", f"{session}/restore", {"name": "c"}).status == 200
        tokens.call(token, "DELETE", f"{session}/checkpoints/c")
        # Each of the seven is more than 50 MiB: they do not pile up.
        assert image_bytes(tokens.server) <= 2 * 128 * MIB
    assert cell(tokens, token, session, "len(x)")["status"] == "success"
    tokens.call(token, "DELETE", session)
    wait_until(lambda: image_bytes(tokens.server) == 0, "the images are gone")


# --- shares ---


def test_input_of_commands_is_their_owners(tokens):
    """Input that a command has not read waits in the server's memory, whether it came with it or later."""
    loud, quiet = tokens.add("piling"), tokens.add("typing")
    place, other = open_session(tokens, loud, "piles", profile="open"), open_session(tokens, quiet, "types", profile="open")
    begin = {"command": "sleep 100", "stdin_open": True, "background": True}
    first = tokens.call(loud, "POST", f"{place}/commands", begin).json["id"]
    for size in (7900000, 500000):
        reply = None
        while reply is None or reply.status == 200:
            reply = tokens.call(loud, "POST", f"{place}/commands", {**begin, "stdin": "x" * size})
        assert reply.status == 429 and "memory" in reply.error["message"], reply
    reply = tokens.call(loud, "POST", f"{place}/commands/{first}/stdin", {"text": "x" * 1000000})
    assert reply.status == 429 and "memory" in reply.error["message"], reply
    mine = tokens.call(quiet, "POST", f"{other}/commands", begin).json["id"]
    assert tokens.call(quiet, "POST", f"{other}/commands/{mine}/stdin", {"text": "x" * 1000000}).status == 204
    for token, session in ((loud, place), (quiet, other)):
        assert tokens.call(token, "DELETE", session).status == 204


def test_commands_of_one_token_leave_memory_for_another(tokens):
    """Each may keep what it writes, and a session has 32 of them."""
    loud, quiet = tokens.add("many"), tokens.add("few")
    places = [open_session(tokens, loud, f"many{i}", profile="open") for i in range(3)]
    other = open_session(tokens, quiet, "few", profile="open")
    begin = {"command": "sleep 100", "background": True, "output_bytes": 4 * MIB}
    replies = [tokens.call(loud, "POST", f"{place}/commands", begin) for place in places for _ in range(31)]
    refused = [r for r in replies if r.status == 429]
    assert 20 <= len(replies) - len(refused) <= 62 and "memory" in refused[0].error["message"], (len(refused), replies[-1])
    assert tokens.call(quiet, "POST", f"{other}/commands", begin).status == 200
    for place in places:
        assert tokens.call(loud, "DELETE", place).status == 204
    again = open_session(tokens, loud, "again", profile="open")
    wait_until(lambda: tokens.call(loud, "POST", f"{again}/commands", begin).status == 200, "what was reserved is given back")
    for token, session in ((loud, again), (quiet, other)):
        assert tokens.call(token, "DELETE", session).status == 204


def test_commands_and_kept_outputs_leave_descriptors_for_sandboxes(user):
    """On a system with few of them, commands are refused and long outputs are cut, and everything else goes on."""
    with Server(user, wrapper=("prlimit", "--nofile=256:256")) as server:
        for _ in range(2):
            session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
            for _ in range(32):
                server.post(f"/v1/sessions/{session}/commands", {"command": "sleep 100", "background": True})
            wait_until(lambda: server.get(f"/v1/sessions/{session}").json["state"] != "starting", "it has begun")
        refused = server.post(f"/v1/sessions/{session}/commands", {"command": "true"})
        assert refused.status == 429 and "open files" in refused.error["message"], refused
        assert server.run("print('x' * 2000)", output_bytes=1000)["truncated"]["stdout"] is True
        with server.session() as another:
            assert server.execute(another, "print(1)")["stdout"] == "1\n"


def test_sessions_of_one_token_leave_room_for_another(tokens):
    loud, quiet = tokens.add("loud"), tokens.add("quiet")
    replies = [tokens.call(loud, "POST", "/v1/sessions", {"name": f"s{i}"}) for i in range(8)]
    opened = [r for r in replies if r.status == 201]
    assert len(opened) == 4, replies
    assert replies[4].status == 429 and "share" in replies[4].error["message"], replies[4]
    for i in range(2):
        assert tokens.call(quiet, "POST", "/v1/sessions", {"name": f"q{i}"}).status == 201
    for i in range(8):
        tokens.call(loud, "DELETE", f"/v1/sessions/s{i}")
        tokens.call(quiet, "DELETE", f"/v1/sessions/q{i}")


def test_a_token_that_was_alone_gives_way_to_a_new_one(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who, env={"BELLJAR_SESSIONS_MAX": "4"})
    try:
        for i in range(4):
            session = open_session(t, t.server.token, f"s{i}")
            cell(t, t.server.token, session, "1")
        assert t.call(t.server.token, "POST", "/v1/sessions", {"name": "more"}).status == 429
        new = t.add("new")
        assert t.call(new, "POST", "/v1/sessions", {"name": "mine"}).status == 201
        # The one that has rested longest is gone, and no other.
        left = [t.call(t.server.token, "GET", f"/v1/sessions/s{i}").status for i in range(4)]
        assert left == [404, 200, 200, 200]
        # A second one finds its place in what is free: there is nothing.
        assert t.call(new, "POST", "/v1/sessions", {"name": "second"}).status == 429
    finally:
        assert t.server.stop() == 0, t.server.said


def test_answers_of_one_push_out_no_answers_of_others(tokens):
    loud, quiet = tokens.add("loud-answers"), tokens.add("quiet-answers")
    key = {"Idempotency-Key": "quiet-1"}
    first = tokens.call(quiet, "POST", "/v1/run", {"code": "print('keep me')"}, key)
    assert first.status == 200
    for i in range(80):
        reply = tokens.call(loud, "POST", "/v1/run", {"code": "print('x' * 1000000)", "output_bytes": 2000000}, {"Idempotency-Key": f"loud-{i}"})
        assert reply.status == 200, reply
    assert tokens.call(loud, "POST", "/v1/run", {"code": "print('x' * 1000000)", "output_bytes": 2000000}, {"Idempotency-Key": "loud-0"}).status == 409
    again = tokens.call(quiet, "POST", "/v1/run", {"code": "print('keep me')"}, key)
    assert (again.status, again.body) == (200, first.body)


# --- names ---


@pytest.fixture
def small_trail(callers):
    """A server with a trail of 16 MB, which keeps all texts."""
    t = Tokens(next(iter(callers.values())), env={
        "BELLJAR_TRAIL_MAX_MB": "16", "BELLJAR_TRAIL_FILE_MB": "1", "BELLJAR_TRAIL_KEEP": "all", "BELLJAR_MAX_OUTPUT_BYTES": "4000000",
    })  # fmt: skip
    yield t
    assert t.server.stop() == 0, t.server.said
    verified = t.who.call("audit", "verify", env=t.env)
    assert verified.code == 0, verified


def trail_of(tokens):
    lines = b"".join(f.read_bytes() for f in sorted(Path(tokens.env["XDG_STATE_HOME"]).rglob("trail/*.jsonl")))
    return [json.loads(line) for line in lines.splitlines()]


def ids_in(tokens):
    return {(r["kind"], r["id"]) for r in trail_of(tokens) if r["kind"] in ("start", "run")}


FLOODS = {
    "programs": lambda i: {"code": f"# {i} " + os.urandom(200_000).hex()},
    "outputs": lambda i: {"code": f"print('{100 + i} ' * 200_000)", "output_bytes": 1_000_000},
    "inputs": lambda i: {"code": "1", "stdin": os.urandom(200_000).hex()},
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_token_pushes_nobody_out_of_the_trail(small_trail, kind):
    tokens = small_trail
    flooder, victim = tokens.add("flooder"), tokens.add("victim")
    kept = [tokens.run(victim, "print('kept')").json["id"], tokens.run(flooder, "print('a deed')").json["id"]]
    replies = [tokens.call(flooder, "POST", "/v1/run", FLOODS[kind](i)) for i in range(60)]
    assert replies[0].status == 200, replies[0]
    refused = [r for r in replies if r.status != 200]
    if kind == "outputs":  # what has run is recorded, without its texts
        assert any(r.get("is_text_omitted") for r in trail_of(tokens)), "texts are left out"
    else:
        assert len(refused) > 30 and refused[0].status == 429, refused[:1]
        assert "share of the audit trail" in refused[0].error["message"] and "trail_max_mb" in refused[0].error["hint"]
    assert {(k, i) for k in ("start", "run") for i in kept} <= ids_in(tokens)
    assert all(("run", r.json["id"]) in ids_in(tokens) for r in replies if r.status == 200)
    # There is room for others, and for texts of theirs.
    reply = tokens.run(victim, "# " + "y" * 300_000)
    assert reply.status == 200 and ("run", reply.json["id"]) in ids_in(tokens), reply


TUNNELS = """
import socket
kept, answers = [], set()
for i in range({n}):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=9)
    s.sendall(b"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n")
    answers.add(s.recv(300)[9:12].decode())
    kept.append(s)
print(*sorted(answers))
"""


def test_tunnels_of_one_token_leave_room_for_another(callers):
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as host:
        port = host.getsockname()[1]
        net = {"net": [f"127.0.0.1:{port}"], "profile": "open", "memory_mb": 64}
        t = Tokens(next(iter(callers.values())), env={"BELLJAR_SESSIONS_MAX": "64", "BELLJAR_NET": f"127.0.0.1:{port}", "BELLJAR_PROFILE": "open"})
        loud, quiet = t.add("loud", "--grants"), t.add("quiet", "--grants")
        for i in range(17):
            last = cell(t, loud, open_session(t, loud, f"s{i}", **net), TUNNELS.format(n=64 if i < 16 else 2, port=port))
            if i < 16:
                assert last["stdout"] == "200\n", (i, last)
        assert last["stdout"] == "503\n" and "share" in last["denials"][0]["what"], last
        reply = t.run(quiet, TUNNELS.format(n=64, port=port), **net)
        assert reply.status == 200 and reply.json["stdout"] == "200\n" and not reply.json["denials"], reply
        assert t.server.stop() == 0, t.server.said


def test_a_new_token_of_an_old_name_finds_nothing(tokens):
    old = tokens.add("again")
    assert tokens.call(old, "PUT", "/v1/skills/mine", b"def f(): return 1", {"Content-Type": "text/x-python"}).status in (200, 201)
    assert tokens.call(old, "POST", "/v1/states", {"name": "plans"}).status in (200, 201)
    assert "mine" in tokens.call(old, "GET", "/v1/skills").body.decode()
    tokens.rm("again")
    new = tokens.add("again")
    assert "plans" not in tokens.call(new, "GET", "/v1/states").body.decode()
    assert '"mine"' not in tokens.call(new, "GET", "/v1/skills").body.decode()
    assert tokens.run(new, "import skills.mine", profile="open").json["status"] == "error"


def test_a_token_is_not_called_as_the_command_line(tokens):
    answer = tokens.who.call("token", "add", "local", env=tokens.env)
    assert answer.code != 0 and "trail" in answer.errors, answer


@pytest.mark.parametrize("name", [".", "..", "...", ".hidden", "-rf", "_x", "a/b", "a b", "a%2e", "é"])
def test_a_name_that_is_unsafe_elsewhere_is_none(tokens, name):
    reply = tokens.call(tokens.server.token, "POST", "/v1/sessions", {"name": name})
    assert (reply.status, reply.error["code"]) == (400, "invalid"), reply


# --- who dies first ---


def scores(pid):
    """`oom_score_adj` of a server, of its zygotes, and below."""

    def read(p):
        return int(Path(f"/proc/{p}/oom_score_adj").read_text())

    def children(p):
        return [int(c) for t in Path(f"/proc/{p}/task").iterdir() for c in (t / "children").read_text().split()]

    zygotes = [c for c in children(pid) if Path(f"/proc/{c}/comm").read_text().strip() == "belljar-zygote"]
    inits = [i for z in zygotes for i in children(z)]
    return read(pid), [read(z) for z in zygotes], [read(i) for i in inits], [read(k) for i in inits for k in children(i)]


def test_programs_die_before_sandboxes_and_those_before_zygotes(tokens):
    token = tokens.add("scores")
    session = open_session(tokens, token, "scores")
    cell(tokens, token, session, "1")
    cell(tokens, token, session, "sleep 60 &", language="bash")
    server, zygotes, inits, programs = scores(tokens.server.process.pid)
    assert zygotes and inits and programs
    assert server < min(zygotes) <= max(zygotes) < min(inits) <= max(inits) < min(programs), (server, zygotes, inits, programs)
    assert min(programs) == 1000
    # Nothing inside changes that.
    tried = cell(tokens, token, session, "sh -c 'echo 0 > /proc/self/oom_score_adj'; sh -c 'cat /proc/self/oom_score_adj'", language="bash")
    assert tried["stdout"].strip() == "1000", tried
    tokens.call(token, "DELETE", session)


def make_small_v1():
    base = Path("/sys/fs/cgroup/memory")
    own = next((line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line), "/")
    parent = base / own.strip().lstrip("/")
    group = (parent if parent.exists() else base) / f"bjtest-{os.getpid()}"
    group.mkdir()
    (group / "memory.use_hierarchy").write_text("1") if (group / "memory.use_hierarchy").exists() else None
    (group / "memory.limit_in_bytes").write_text(str(400 * MIB))
    return group


def make_small_v2():
    top = Path("/sys/fs/cgroup")
    (top / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    group = top / f"bjtest-{os.getpid()}"
    group.mkdir()
    (group / "memory.max").write_text(str(400 * MIB))
    (group / "memory.swap.max").write_text("0") if (group / "memory.swap.max").exists() else None
    return group


@pytest.fixture
def small_cgroup():
    """A memory cgroup of 400 MB, or a skip with the reason."""
    if os.getuid() != 0:
        pytest.skip("needs root, to make a cgroup")
    try:
        group = make_small_v2() if Path("/sys/fs/cgroup/cgroup.controllers").exists() else make_small_v1()
    except OSError as problem:
        pytest.skip(f"no memory cgroup can be made here: {problem}")
    yield group
    for _ in range(300):
        try:
            for inner in sorted((p for p in group.rglob("*") if p.is_dir()), reverse=True):
                inner.rmdir()
            group.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def children(pid):
    return [int(c) for t in Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text().split()]


def zygotes_of(pid):
    return [c for c in children(pid) if Path(f"/proc/{c}/comm").read_text().strip() == "belljar-zygote"]


def programs_of(pid):
    return {k for z in zygotes_of(pid) for i in children(z) for k in children(i)}


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


# Makes the zygote larger than any program of the test. A machine without KVM takes minutes for it, and goes without.
LARGE = "" if "BELLJAR_TEST_PATIENCE" in os.environ else "pandas"

# Fills the memory with files, which belong to no process: its own process stays smaller than the zygote.
FILL = """
import threading, time
ballast = bytearray(b"x" * (5 << 20))
def fill():
    time.sleep(1)
    for i in range(100):
        with open(f"/tmp/{i}", "wb") as f: f.write(bytes(5 << 20))
threading.Thread(target=fill, daemon=True).start()
"""


def test_in_a_small_cgroup_the_kernel_ends_programs_first(callers, small_cgroup):
    """The order of `oom_score_adj` alone: the server, and with it the guard, stands still while memory runs out.

    Without the order the kernel ends the zygote, which has the most memory of its own, and with it all sessions.
    """
    t = Tokens(callers["root"], env={"BELLJAR_POOL_SIZE": "0", "BELLJAR_PRELOAD": LARGE}, preexec_fn=lambda: (small_cgroup / "cgroup.procs").write_text("0"))
    pid = t.server.process.pid
    try:
        greedy, quiet = t.add("greedy"), t.add("quiet")
        calm, hungry = open_session(t, quiet, "calm"), open_session(t, greedy, "hungry", memory_mb=1000, disk_mb=1000)
        cell(t, quiet, calm, "x = 41")
        cell(t, greedy, hungry, FILL)
        zygotes = zygotes_of(pid)
        os.kill(pid, signal.SIGSTOP)
        try:
            alive = [*zygotes, *programs_of(pid)]
            wait_until(lambda: not all(map(is_alive, alive)), "somebody is ended")
        finally:
            os.kill(pid, signal.SIGCONT)
        assert cell(t, quiet, calm, "print(x + 1)")["stdout"] == "42\n"
        assert zygotes_of(pid) == zygotes
    finally:
        assert t.server.stop() == 0, t.server.said


def test_in_a_small_cgroup_the_greedy_session_dies_and_no_other(callers, small_cgroup):
    who = callers["root"]
    t = Tokens(who, env={"BELLJAR_POOL_SIZE": "1"}, preexec_fn=lambda: (small_cgroup / "cgroup.procs").write_text("0"))
    try:
        greedy, quiet = t.add("greedy"), t.add("quiet")
        calm = open_session(t, quiet, "calm")
        cell(t, quiet, calm, "x = 41")
        zygotes = scores(t.server.process.pid)[1]
        # Each within its own limit, together more than the server has.
        for i in range(4):
            session = open_session(t, greedy, f"g{i}", memory_mb=200)
            reply = t.call(greedy, "POST", f"{session}/execute", {"code": "x = bytearray(150 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", "timeout_s": 30})
            assert reply.status in (200, 404, 500), reply
        assert cell(t, quiet, calm, "print(x + 1)")["stdout"] == "42\n"
        assert t.server.process.poll() is None
        assert scores(t.server.process.pid)[1] == zygotes
    finally:
        assert t.server.stop() == 0, t.server.said


def test_in_a_small_cgroup_files_in_memory_cost_nobody_else(callers, small_cgroup):
    """Files belong to no process: the kernel would end programs of others before it came to these."""
    t = Tokens(callers["root"], env={"BELLJAR_POOL_SIZE": "1"}, preexec_fn=lambda: (small_cgroup / "cgroup.procs").write_text("0"))
    try:
        greedy, quiet = t.add("greedy"), t.add("quiet")
        calm = open_session(t, quiet, "calm")
        cell(t, quiet, calm, "x = bytearray(40 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1")
        for i in range(4):
            session = open_session(t, greedy, f"g{i}", memory_mb=300, disk_mb=300)
            code = "for i in $(seq 25); do head -c 10M /dev/zero > /tmp/$i; sleep 0.02; done"
            t.call(greedy, "POST", f"{session}/execute", {"code": code, "language": "bash", "timeout_s": 200})
        alive = [t.call(greedy, "GET", f"/v1/sessions/g{i}").status for i in range(4)]
        assert alive.count(404) >= 3, alive
        assert cell(t, quiet, calm, "print(len(x))")["stdout"] == f"{40 << 20}\n"
        assert t.server.process.poll() is None
    finally:
        assert t.server.stop() == 0, t.server.said


# --- requests ---


def hold_body(tokens, token, size):
    """Begins a form of 63 MiB and sends `size` bytes of it. Returns the socket, or None where it was refused."""
    s = tokens.server.open()
    s.settimeout(belljar.HANG_SECONDS)
    s.sendall(
        f"POST /v1/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {63 * MIB}\r\n\r\n".encode()
    )
    try:
        s.sendall(b"z" * size)
    except OSError:
        s.close()
        return None
    if select.select([s], [], [], 0.5 if size >= MIB else 0.1)[0]:
        s.close()
        return None
    return s


def test_unfinished_bodies_of_one_token_leave_room_for_another(tokens):
    greedy, modest = tokens.add("bodies-a"), tokens.add("bodies-b")
    held = []
    try:
        for size in (62 * MIB, 16 * MIB, 4 * MIB, MIB, 64 << 10, 4 << 10):
            for _ in range(5):
                s = hold_body(tokens, greedy, size)
                if not s:
                    break
                held.append(s)
        assert len(held) >= 2  # it has its share
        for token in (modest, tokens.server.token):
            reply = tokens.call(token, "POST", "/v1/run", {"code": "print(1)"})
            assert reply.status == 200 and reply.json["stdout"] == "1\n", reply
        body = form(("code", "print(2)"), ("files", "f", b"x" * (40 * MIB)))
        reply = tokens.call(modest, "POST", "/v1/run", body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
        assert reply.status == 200, reply
        reply = tokens.call(greedy, "POST", "/v1/run", body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
        assert reply.status == 429 and reply.error["hint"], reply
    finally:
        for s in held:
            s.close()

    def is_released():
        return tokens.call(greedy, "POST", "/v1/run", {"code": "print(3)"}).status == 200

    wait_until(is_released, "the bytes are given back")


def initialize(tokens, token):
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    reply = tokens.call(token, "POST", "/mcp", message, {"Accept": "application/json, text/event-stream"})
    assert reply.status == 200, reply
    return reply.headers["mcp-session-id"]


def test_mcp_sessions_of_two_tokens_end_none_of_a_third(tokens):
    third = tokens.add("mcp-third")
    session = initialize(tokens, third)
    for name in ("mcp-first", "mcp-second"):
        token = tokens.add(name)
        for _ in range(600):
            initialize(tokens, token)
    headers = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}
    reply = tokens.call(third, "POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers)
    assert reply.status == 200, reply


def open_sse(tokens, token):
    """A client of HTTP+SSE: its socket, or None where it was refused."""
    s = tokens.server.open()
    s.settimeout(belljar.HANG_SECONDS)
    s.sendall(f"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    if b" 200 " in s.recv(300):
        return s
    s.close()
    return None


def test_mcp_clients_of_one_token_leave_room_for_another(callers):
    who = callers.get("root") or next(iter(callers.values()))
    connections = {f"BELLJAR_HTTP_CONNECTIONS{name}": "1200" for name in ("", "_PER_TOKEN", "_PER_ADDRESS")}
    tokens = Tokens(who, env=connections)
    greedy, modest = tokens.add("sse-a"), tokens.add("sse-b")
    held = []
    try:
        while len(held) < 1100 and (s := open_sse(tokens, greedy)):
            held.append(s)
        assert 100 < len(held) < 1000
        s = open_sse(tokens, modest)
        assert s
        s.close()
    finally:
        for s in held:
            s.close()
    assert tokens.server.stop() == 0, tokens.server.said
