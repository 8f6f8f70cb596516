"""Commands beside the kernels of a session, over HTTP."""
import base64
import hashlib
import json

import host
import pytest
from client_ways import belljar_client
from serving import Server, wait_until


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


def start(server, session, command=None, **fields):
    reply = server.post(f"/v1/sessions/{session}/commands", {**({"command": command} if command else {}), **fields})
    assert reply.status == 200, reply
    return reply.json


def background(server, session, command, **fields):
    return start(server, session, command, background=True, **fields)["id"]


def show(server, session, command):
    reply = server.get(f"/v1/sessions/{session}/commands/{command}")
    assert reply.status == 200, reply
    return reply.json


def wait_for_end(server, session, command):
    return wait_until(lambda: (got := show(server, session, command))["status"] != "running" and got, "the command ends")


def wait_for_output(server, session, command, text):
    wait_until(lambda: text in show(server, session, command)["stdout"], f"the command says {text}")


def tell(server, session, command, what, **body):
    return server.post(f"/v1/sessions/{session}/commands/{command}/{what}", body)


def test_a_command_has_output_exit_code_directory_variables_and_input(server, session):
    server.execute(session, "import os; os.mkdir('d')")
    got = start(server, session, 'echo "$PWD $A"; cat; echo oops >&2; exit 3', workdir="d", env={"A": "b"}, stdin="typed\n")
    assert (got["status"], got["exit_code"], got["signal"]) == ("error", 3, None), got
    assert (got["stdout"], got["stderr"]) == ("/workspace/d b\ntyped\n", "oops\n"), got
    assert got["usage"]["cpu_ms"] >= 0 and got["usage"]["memory_peak_bytes"] > 0, got
    assert start(server, session, args=["printf", "%s|", "a b", "$HOME"])["stdout"] == "a b|$HOME|"
    assert start(server, session, "cat; echo end")["stdout"] == "end\n"  # /dev/null


def test_a_command_runs_beside_a_cell_and_shares_its_files(server, session):
    command = background(server, session, "until [ -e go ]; do sleep 0.02; done; echo went")
    assert server.execute(session, "x = 1; open('go', 'w').close()")["status"] == "success"
    assert wait_for_end(server, session, command)["stdout"] == "went\n"
    # While a cell runs: the cell waits for the command.
    cell = server.post(
        f"/v1/sessions/{session}/execute",
        {"code": "import os, time\nwhile not os.path.exists('there'): time.sleep(0.01)\nprint(x)", "detach": True},
    ).json
    assert start(server, session, "touch there")["exit_code"] == 0
    wait_until(lambda: server.get(f"/v1/runs/{cell['id']}").json.get("stdout") == "1\n", "the cell ends")
    # Files of a command are not the next cell's.
    assert server.execute(session, "open('mine', 'w').close()")["files"] == [{"path": "mine", "size": 0}]


def test_many_at_once_are_listed_reconnected_to_and_killed(server, session):
    ids = [background(server, session, f"echo {i}; sleep 100") for i in range(3)]
    wait_for_output(server, session, ids[2], "2\n")
    listed = server.get(f"/v1/sessions/{session}/commands").json["commands"]
    assert [(c["id"], c["state"], c["language"]) for c in listed] == [(i, "running", "command") for i in ids[::-1]], listed
    assert listed[0]["code"] == "echo 2; sleep 100" and server.get(f"/v1/sessions/{session}").json["commands"] == 3
    for name in ids:
        assert server.call("DELETE", f"/v1/sessions/{session}/commands/{name}").json == {"cancelled": True}
        assert wait_for_end(server, session, name)["status"] == "cancelled"
    assert server.call("DELETE", f"/v1/sessions/{session}/commands/{ids[0]}").json == {"cancelled": False}
    assert server.get(f"/v1/sessions/{session}").json["commands"] == 0


def test_input_is_sent_and_closed(server, session):
    command = background(server, session, "cat; echo closed", stdin="a", stdin_open=True)
    assert tell(server, session, command, "stdin", text="b\n").status == 204
    wait_for_output(server, session, command, "ab\n")
    assert tell(server, session, command, "stdin", base64=base64.b64encode(b"\xc3\xbc").decode(), close=True).status == 204
    assert wait_for_end(server, session, command)["stdout"] == "ab\nüclosed\n"
    assert tell(server, session, command, "stdin", text="x").status == 404
    other = background(server, session, "sleep 100")
    assert tell(server, session, other, "stdin", text="x").error["code"] == "invalid"
    # Input that is not read is bounded.
    other = background(server, session, "sleep 100", stdin_open=True)
    replies = [tell(server, session, other, "stdin", text="x" * 1000000).status for _ in range(3)]
    assert replies[0] == 204 and replies[-1] in (429, 503), replies


def test_signals_reach_the_command_and_what_it_started(server, session):
    command = background(server, session, "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
    wait_for_output(server, session, command, "ready")
    assert tell(server, session, command, "signal", signal="TERM").status == 204
    got = wait_for_end(server, session, command)
    assert got["exit_code"] == 7 and "caught" in got["stdout"], got
    command = background(server, session, "sleep 77 & echo ready; wait")
    wait_for_output(server, session, command, "ready")
    assert tell(server, session, command, "signal", signal="SIGTERM").status == 204
    got = wait_for_end(server, session, command)
    assert (got["status"], got["signal"], got["exit_code"]) == ("error", 15, 143), got
    assert start(server, session, "while pgrep -f '[s]leep 77' > out; do sleep 0.02; done; echo none")["stdout"] == "none\n"
    assert tell(server, session, command, "signal", signal="KILL").status == 404
    assert tell(server, session, command, "signal", signal="SEGV").error["code"] == "invalid"


def test_output_is_streamed_resumed_masked_and_bounded(server, session):
    secret = "ghp_" + "a1B2" * 9
    seen = list(server.stream("POST", f"/v1/sessions/{session}/commands", {"command": f"echo one; echo {secret}; printf %070000d 1"}))
    assert seen[0][1] == "start" and seen[-1][1] == "result", seen
    text = "".join(data["text"] for _, name, data in seen if name == "stdout")
    assert text.startswith("one\n") and secret not in text and len(text) > 65536, text[:100]
    command = background(server, session, "echo 12345; until [ -e on ]; do sleep 0.02; done; echo 67890")
    wait_for_output(server, session, command, "12345\n")
    events = server.stream("GET", f"/v1/sessions/{session}/commands/{command}?stdout=3")
    first = events.until("stdout")[2]
    assert (first["text"], first["offset"]) == ("45\n", 3), first
    start(server, session, "touch on")
    rest = list(events)
    assert [data["text"] for _, name, data in rest if name == "stdout"] == ["67890\n"] and rest[-1][1] == "result", rest
    got = start(server, session, "head -c 3000000 /dev/zero | tr '\\0' x", output_bytes=1000)
    assert len(got["stdout"]) < 2000 and got["truncated"]["stdout"], got["stdout"][:100]


def test_limits_hold(server, session):
    got = start(server, session, "sleep 100", timeout_s=1)
    assert (got["status"], got["exit_code"]) == ("timeout", 124), got
    ids = [background(server, session, "sleep 100") for _ in range(32)]
    reply = server.post(f"/v1/sessions/{session}/commands", {"command": "true"})
    assert reply.error["code"] == "busy" and "32 commands" in reply.error["message"], reply
    assert server.execute(session, "print(1)")["stdout"] == "1\n"
    server.call("DELETE", f"/v1/sessions/{session}/commands/{ids[7]}")
    wait_for_end(server, session, ids[7])
    assert start(server, session, "echo free")["stdout"] == "free\n"


def test_memory_is_that_of_the_session_and_no_cell_pays_for_a_command(server):
    with server.session(memory_mb=96) as name:
        hog = "bytearray(300 << 20)"
        got = start(server, name, args=["python3", "-c", hog])
        assert (got["status"], got["exit_code"]) == ("memory_exceeded", 137), got
        # With a cgroup, Linux ends a process; without one, Belljar ends the command.
        assert start(server, name, f"python3 -c '{hog}'; true")["status"] in ("success", "memory_exceeded")
        assert server.execute(name, "1")["status"] == "success"


def test_a_copy_is_refused_with_the_names_of_commands(server, session):
    command = background(server, session, "sleep 123")
    for what, body in (("fork", {}), ("checkpoint", {"name": "c"})):
        reply = server.post(f"/v1/sessions/{session}/{what}", body)
        assert reply.status == 400 and "`sleep 123`" in reply.error["message"], reply
    server.call("DELETE", f"/v1/sessions/{session}/commands/{command}")
    wait_for_end(server, session, command)
    assert server.post(f"/v1/sessions/{session}/checkpoint", {"name": "c"}).status == 200


def test_a_profile_without_processes_refuses_commands(server):
    with server.session(profile="strict") as name:
        reply = server.post(f"/v1/sessions/{name}/commands", {"command": "true"})
        assert reply.status == 403 and "`strict`" in reply.error["message"], reply


@pytest.mark.smoke
def test_mistakes_are_said(server, session):
    for body in ({}, {"command": "a", "args": ["a"]}, {"args": []}, {"args": [""]}, {"command": " "}):
        reply = server.post(f"/v1/sessions/{session}/commands", body)
        assert reply.status == 400 and reply.error["hint"], (body, reply)
    reply = server.post(f"/v1/sessions/{session}/commands", {"command": "true", "workdir": "/nowhere"})
    assert reply.status == 400 and "workdir" in reply.error["message"], reply
    got = start(server, session, args=["no-such-command"])
    assert got["exit_code"] == 127 and "not found" in got["stderr"], got
    cell = server.execute(session, "1")["id"]
    for name in ("run_nothing", cell):
        assert server.get(f"/v1/sessions/{session}/commands/{name}").status == 404
    with server.session() as other:
        command = background(server, session, "sleep 100")
        assert server.get(f"/v1/sessions/{other}/commands/{command}").status == 404


def test_commands_end_with_their_session(server):
    with server.session() as name:
        command = background(server, name, "sleep 100")
        waiting = server.stream("GET", f"/v1/runs/{command}/follow")
    _, name, data = list(waiting)[-1]
    assert name == "error" and "session ended" in data["error"]["message"], data


WALLS = r"""
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status
cat /proc/self/cgroup; ulimit -n; ulimit -f; ulimit -c; id -u; hostname
touch /usr/x; touch /etc/x; ls /root /home; cat /etc/shadow
mount -t tmpfs x /mnt; unshare -U true; ip link; echo > /dev/tcp/127.0.0.1/22
kill -0 1 && echo reaches
ls /proc | grep -c '^[0-9]*$' | sed 's/.*/processes/'
for n in /proc/self/ns/*; do readlink $n; done
exit 0
"""


def test_a_command_has_the_walls_of_a_cell(server, session):
    cell = server.execute(session, f"bash -c '{WALLS.replace(chr(39), chr(34))}' 2>&1", language="bash")
    got = start(server, session, f"({WALLS.replace(chr(39), chr(34))}) 2>&1")
    lines = [line.partition(": line")[0] + line.rpartition(":")[2] for line in got["stdout"].splitlines()]
    assert lines == [line.partition(": line")[0] + line.rpartition(":")[2] for line in cell["stdout"].splitlines()]
    assert "NoNewPrivs:\t1" in got["stdout"] and "Seccomp:\t2" in got["stdout"] and "CapEff:\t0000000000000000" in got["stdout"]
    # It holds no descriptor but the three.
    assert start(server, session, args=["ls", "/proc/self/fd"])["stdout"].split() == ["0", "1", "2", "3"]


def test_start_and_end_are_in_the_trail(server, session):
    secret = "ghp_" + "a1B2" * 9
    got = start(server, session, args=["echo", secret, "x y"], env={"A": "1"})
    shown = server.who.call("audit", "show", got["id"], "--json").text
    assert '"command"' in shown and session in shown and "'x y'" in shown and secret not in shown, shown


def test_input_is_in_the_trail(server, session):
    """Of a shell, what it reads is the program."""
    texts = ["echo first\n", "echo second\n"]
    command = background(server, session, "bash", stdin=texts[0], stdin_open=True)
    wait_for_output(server, session, command, "first\n")
    assert tell(server, session, command, "stdin", text=texts[1], close=True).status == 204
    assert wait_for_end(server, session, command)["stdout"] == "first\nsecond\n"
    records = [json.loads(line) for line in server.who.call("audit", "show", command, "--json").text.splitlines()]
    hashes = {r["kind"]: r["stdin"]["sha256"] for r in records if "stdin" in r}
    assert hashes == {kind: hashlib.sha256(text.encode()).hexdigest() for kind, text in zip(("start", "input"), texts)}, records
    assert command in server.who.call("audit", "list", "--kind", "input").text
    assert server.who.call("audit", "list", "--session", session).text.count(command) == 1  # it belongs to its run


def test_nothing_is_left_when_the_server_is_killed(who):
    server = Server(who, "--socket", "none")
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    command = background(server, session, "setsid sleep 100 & echo up; sleep 100")
    wait_for_output(server, session, command, "up")
    below = host.descendants(server.process.pid)
    server.process.kill()
    server.process.communicate()
    wait_until(lambda: not [pid for pid in below if host.command_line(pid)], "all of them end")


def test_the_python_client_runs_commands(server):
    with belljar_client.Client(f"http://127.0.0.1:{server.port}", token=server.token) as client, client.session(profile="open") as session:
        assert session.commands.run(["echo", "a b"]).stdout == "a b\n"
        assert [e.kind for e in session.commands.stream("echo x", env={"A": "b"})] == ["start", "stdout", "result"]
        command = session.commands.start("cat; sleep 100", stdin_open=True)
        assert [c.id for c in session.commands.list() if c.state == "running"] == [command.id]
        command.write("text\n")
        command.write(b"bytes\n", close=True)
        wait_until(lambda: "bytes" in show(server, session.id, command.id)["stdout"], "it was read")
        command.signal("TERM")
        assert (result := command.wait()).exit_code == 143 and result.stdout == "text\nbytes\n", result
        assert not session.commands.get(command.id).kill()


def test_exec_runs_in_a_session(server):
    def execute(*args, **more):
        return server.who.call("exec", "--server", f"unix:{server.socket}", "--session", "desk", *args, **more)

    answer = execute("--env", "A=b c", "--workdir", "/tmp", "--", "sh", "-c", 'echo "$A" "$PWD"; echo no >&2; exit 5')
    assert (answer.code, answer.text) == (5, "b c /tmp\n") and "no\n" in answer.errors, answer
    given = server.who.file("given", "typed\n")
    answer = execute("--stdin", str(given), "--", "tr", "a-z", "A-Z")
    assert answer.text == "TYPED\n", answer
    started = execute("-d", "--", "sleep", "100").text.strip()
    assert [c["id"] for c in server.get("/v1/sessions/desk/commands").json["commands"] if c["state"] == "running"] == [started]
    assert execute("-t", "--", "true").code == 64
    assert "session put" in execute("--file", str(given), "--", "true").errors
    server.call("DELETE", "/v1/sessions/desk")


# --- directories granted for writing ---


@pytest.fixture
def granted(who):
    """A server, a session, and a directory of the host that the session may write."""
    top = who.directory("granted")
    with Server(who, "--socket", "none", env={"BELLJAR_ALLOW": f"{top}:rw", "BELLJAR_PROFILE": "open"}) as server:
        with server.session(allow=[f"{top}:rw"]) as session:
            yield server, session, top


def undo(server, run):
    reply = server.post(f"/v1/runs/{run}/undo", {})
    assert reply.status == 200, reply
    return reply.json


def test_a_command_changes_a_granted_directory_and_is_undone(granted):
    server, session, top = granted
    server.execute(session, f"open('{top}/old', 'w').write('before')")
    got = start(server, session, f"cd {top}; echo x > new; echo after > old; mkdir d; cat old")
    assert (got["exit_code"], got["stdout"]) == (0, "after\n"), got
    assert got["changes"]["created"] == 2 and got["changes"]["changed"] == 1 and got["changes"]["undo"], got
    assert undo(server, got["id"])["n_done"] == 3
    assert (top / "old").read_text() == "before" and not (top / "new").exists()


def test_protected_names_are_refused_to_commands(granted):
    server, session, top = granted
    (top / ".git").mkdir()
    got = start(server, session, f"mkdir {top}/.git/hooks; echo x > {top}/.git/hooks/pre-commit")
    assert got["exit_code"] != 0 and not (top / ".git/hooks/pre-commit").exists() and got["denials"], got


def test_changes_belong_to_the_cell_that_runs_and_else_to_the_command(granted):
    server, session, top = granted
    loop = f"cd {top}; touch first; echo ready; until [ -e go ]; do sleep 0.02; done; touch second; until [ -e again ]; do sleep 0.02; done; touch third"
    command = background(server, session, loop)
    wait_for_output(server, session, command, "ready")
    cell = server.execute(session, f"import os, time\nopen('{top}/go', 'w').close()\nwhile not os.path.exists('{top}/second'): time.sleep(0.01)")
    assert cell["status"] == "success" and cell["changes"]["created"] == 2, cell
    # Between two records its changes wait; the next record has them.
    other = start(server, session, f"touch {top}/again; until [ -e {top}/third ]; do sleep 0.02; done; echo over", timeout_s=60)
    assert other["stdout"] == "over\n" and other["changes"]["created"] == 2, other
    got = wait_for_end(server, session, command)
    assert got["exit_code"] == 0 and got["changes"]["created"] == 1, got
    assert undo(server, got["id"])["n_done"] == 1 and not (top / "first").exists() and (top / "second").exists()


def test_a_second_command_takes_over_the_record(granted):
    server, session, top = granted
    first = background(server, session, f"touch {top}/a; echo ready; until [ -e /tmp/go ]; do sleep 0.02; done")
    wait_for_output(server, session, first, "ready")
    second = background(server, session, f"touch {top}/b; echo ready; until [ -e {top}/end ]; do sleep 0.02; done; touch {top}/c")
    wait_for_output(server, session, second, "ready")
    start(server, session, "touch /tmp/go")
    assert wait_for_end(server, session, first)["changes"]["created"] == 2
    (top / "end").touch()
    got = wait_for_end(server, session, second)
    assert got["exit_code"] == 0 and got["changes"]["created"] == 1 and (top / "c").exists(), got


def test_commands_in_a_granted_directory_leave_nothing_when_they_are_killed(granted):
    server, session, top = granted
    command = background(server, session, f"while :; do echo x >> {top}/f; done")
    wait_until(lambda: (top / "f").exists(), "it writes")
    server.call("DELETE", f"/v1/sessions/{session}/commands/{command}")
    assert wait_for_end(server, session, command)["status"] == "cancelled"
    assert start(server, session, f"rm {top}/f")["exit_code"] == 0
    background(server, session, f"while :; do echo x >> {top}/g; done")
    wait_until(lambda: (top / "g").exists(), "it writes")
