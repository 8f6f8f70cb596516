"""`belljar run --server` and `--session`: the same output and exit codes as a run of one's own."""
import json
import os
import re
import signal
import subprocess
import threading
import time

import belljar
import pytest

from serving import is_prompt, wait_until


def where(server, by="url"):
    """Flags and environment under which the server is asked."""
    if by == "url":
        return ["--server", f"http://127.0.0.1:{server.port}"], {"BELLJAR_TOKEN": server.token}
    return ["--server", f"unix:{server.socket}"], {}


def both(server, *args, by="url", **more):
    """Runs the same command locally and on the server."""
    flags, env = where(server, by)
    return server.who.call("run", *args, **more), server.who.call("run", *flags, *args, env=env, **more)


PROGRAMS = {
    "success": (["-c", "print('é', end='')"], 0),
    "stderr": (["-c", "import sys\nprint('a')\nprint('b', file=sys.stderr)"], 0),
    "exit": (["-c", "import sys\nsys.exit(3)"], 3),
    "exception": (["-c", "def f():\n    1 / 0\nf()"], 1),
    "signal": (["--profile", "open", "-c", "import os\nos.kill(os.getpid(), 11)"], 139),
    "timeout": (["--timeout", "1", "-c", "print('so far', flush=True)\nwhile True: pass"], 124),
    "memory": (["--memory", "64", "-c", "x = ' ' * 10**9"], 137),
    "refused": (["--profile", "strict", "-c", "import subprocess\nimport socket"], 126),
    "bash": (["-l", "bash", "--profile", "open", "--env", "A=b c", "-c", "echo $A; cat; exit 4", "--stdin", "-"], 4),
    "a little too much": (["--output", "1000", "-c", "print('x' * 1200)"], 0),
    "just enough": (["--output", "1000", "-c", "print('x' * 999)"], 0),
    "display": (["--profile", "open", "-c", "from belljar import display\nprint(1)\ndisplay({'text/plain': 'shown'}, raw=True)\nprint(2)"], 0),
    "seed": (["--seed", "7", "-c", "import random\nprint(random.random())"], 0),
    "no input": (["-c", "input()"], 1),
    "syntax": (["-c", "("], None),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_output_and_exit_code_are_the_same(server, name):
    args, code = PROGRAMS[name]
    for by in ("url", "socket"):
        here, there = both(server, *args, by=by, input=b"from us" if "--stdin" in args else None)
        assert code is None or here.code == code, here
        assert there.code == here.code, (here, there)
        assert there.out == here.out
        # Time and memory of the status line differ.
        numbers = re.compile(rb"\d+(\.\d+)? (ms|s|MB)")
        assert numbers.sub(b"N", there.err) == numbers.sub(b"N", here.err)


def test_output_that_the_server_drops_is_reported(server):
    for limit, code, begin, end in (
        (1000, "for i in range(2000): print(i)", b"0\n1\n", b"1998\n1999\n"),
        (1001, "print('\u00e4\u00f6\u00fc\u20ac' * 1000)", "\u00e4\u00f6".encode(), "\u20ac\n".encode()),
    ):
        here, there = both(server, "--output", limit, "-c", code)
        assert b"dropped" not in here.out and here.err == b"", here
        assert there.code == here.code == 0
        assert there.out.startswith(begin) and there.out.endswith(end) and b" bytes dropped] " in there.out and len(there.out) < 1600
        dropped = int(re.search(rb"\[(\d+) bytes dropped\]", there.out)[1])
        assert b"the server dropped %d bytes in the middle of the program's stdout" % dropped in there.err and b"--output" in there.err


def test_files_and_their_arguments(server):
    path = server.who.file("report.py", "import sys\nprint(sys.argv)\nraise ValueError")
    here, there = both(server, path, "a", "b c")
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
    assert there.out == b"['report.py', 'a', 'b c']\n"
    assert b'File "report.py", line 3' in there.err


def test_json_is_the_servers_answer(server):
    here, there = both(server, "--json", "-c", "print(1)\n{'a': [1]}")
    assert set(there.json) == set(here.json)
    assert (there.json["stdout"], there.json["result"]) == ("1\n", here.json["result"])
    assert server.get(f"/v1/runs/{there.json['id']}").json["stdout"] == "1\n"
    here, there = both(server, "--json", "-c", "input()")
    assert there.json["error"]["hint"] == here.json["error"]["hint"]
    assert "--stdin" in there.json["error"]["hint"]


def test_pictures_are_saved(server):
    code = (
        "from belljar import display\nimport base64\n"
        "display({'image/png': base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=')}, raw=True)"
    )
    saved = []
    for i, flags in enumerate(([], where(server)[0])):
        target = server.who.directory(f"pictures-{i}-{time.monotonic_ns()}")
        answer = server.who.call("run", *flags, "--profile", "open", "--save", target, "-c", code, env=where(server)[1])
        assert answer.code == 0, answer
        saved.append({p.name: p.read_bytes() for p in target.iterdir()})
    assert saved[0] == saved[1] and len(saved[0]) == 1


def test_output_comes_as_it_is_made(server):
    flags, env = where(server)
    process = server.who.start(
        "run", *flags, "--profile", "open", "-c", "import time\nprint('a', flush=True)\ntime.sleep(2)\nprint('b')", env=env
    )  # fmt: skip
    assert process.stdout.readline() == b"a\n"
    first = time.monotonic()
    assert process.stdout.readline() == b"b\n"
    assert time.monotonic() - first > 1
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_cancels_the_run_there(server, number):
    flags, env = where(server)
    code = "import time\nprint('begun', flush=True)\ntime.sleep(60)"

    def cancel():
        process = server.who.start("run", *flags, "--profile", "open", "--timeout", "120", "-c", code, env=env)
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=belljar.HANG_SECONDS)
        assert process.returncode == 130 and b"cancelled" in err, (out, err)
        wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 0, "nothing runs there any more", 50)

    assert is_prompt(cancel, 9), "it ended by itself, ten seconds after we left"


def test_who_does_not_read_us_stops_the_run(server):
    flags, env = where(server)
    process = server.who.start("run", *flags, "--profile", "open", "-c", "import time\nwhile True:\n    print('x' * 1000, flush=True)\n    time.sleep(0.01)", env=env)  # fmt: skip
    process.stdout.read(10)
    process.stdout.close()
    process.wait(timeout=belljar.HANG_SECONDS)
    process.stderr.close()
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 0, "nothing runs there any more", 25)


def test_a_session_keeps_its_variables(server):
    name = f"cli-{time.monotonic_ns()}"
    flags, env = where(server)

    def cell(*args, **more):
        return server.who.call("run", *flags, "--session", name, *args, env=env, **more)

    assert cell("--profile", "open", "--memory", "128", "-c", "x = 41").code == 0
    assert cell("-c", "print(x + 1)").out == b"42\n"
    assert cell("-l", "bash", "-c", "echo $((6 * 7))").out == b"42\n"
    assert cell("--timeout", "1", "-c", "while True: pass").code == 124
    assert cell("-c", "import sys\nsys.exit(x)").code == 41
    shown = server.get(f"/v1/sessions/{name}").json
    assert (shown["limits"]["memory_mb"], shown["profile"]) == (128, "open")
    for refused, word in ((["--memory", "256"], "--memory"), (["--env", "A=b"], "--env"), (["--seed", "1"], "--seed")):
        answer = cell(*refused, "-c", "1")
        assert (answer.code, word in answer.errors) == (64, True), answer
    answer = server.who.call("run", "--session", name, "-c", "print(x)", env={"BELLJAR_SOCKET": server.socket})
    assert answer.out == b"41\n", answer  # over the socket, without an address
    server.call("DELETE", f"/v1/sessions/{name}")


@pytest.mark.parametrize(
    "args, code, said",
    [
        (["--server", "nonsense"], 64, "not the address of a server"),
        (["--server", "http://[::1"], 64, "not the address of a server"),
        (["--server", "http://:80"], 64, "not the address of a server"),
        (["--server", "https://a/b"], 64, "not the address of a server"),
        (["--server", "http://127.0.0.1:1"], 66, "cannot connect to the server at 127.0.0.1:1"),
        (["--server", "unix:none.sock"], 66, "no server is running"),
        (["--session", "x", "--server", "unix:none.sock"], 66, "no server is running"),
        (["--server", "http://example.invalid"], 77, "would be sent unencrypted"),
        (["--server", "http://127.0.0.1.example.invalid"], 77, "would be sent unencrypted"),
        (["--server", "http://[::2]:8222"], 77, "would be sent unencrypted"),
        (["--server", "http://[::1]:1"], 66, "cannot connect to the server at [::1]:1"),
        (["--session", "x", "--server", "http://127.0.0.1:1"], 66, "cannot connect to the server at 127.0.0.1:1"),
        (["--server", "http://127.0.0.2:1"], 66, "`belljar serve --listen 127.0.0.2:1`"),
        (["--server", "http://127.0.0.1:1", "--config", "CONFIG"], 64, "--config does not work with a server"),
        (["--server", "http://127.0.0.1:1", "--token-file", "/nonexistent"], 64, "--token-file"),
    ],
)
def test_what_cannot_be_says_so(user, args, code, said):
    args = [str(user.file("empty.toml", "")) if a == "CONFIG" else a for a in args]
    answer = user.call("run", *args, "-c", "1", env={"BELLJAR_TOKEN": "bj_0"})
    assert answer.code == code, answer
    assert said in answer.errors


def test_errors_of_the_server_are_ours(server):
    flags, _ = where(server)
    answer = server.who.call("run", *flags, "-c", "1", env={"BELLJAR_TOKEN": "bj_wrong"})
    assert (answer.code, "that token is not known" in answer.errors) == (77, True), answer
    assert "bj_wrong" not in answer.errors and "--token-file" in answer.errors, answer
    _, answer = both(server, "--timeout", "299", "--profile", "nonsense", "-c", "1")
    assert (answer.code, "no profile `nonsense`" in answer.errors) == (64, True), answer
    _, answer = both(server, "--stdin", "-", "-c", "1", input=b"\xff")
    assert (answer.code, "a server accepts text only" in answer.errors) == (64, True), answer
    _, answer = both(server, "--json", "--profile", "nonsense", "-c", "1")
    assert answer.json["error"]["code"] == "invalid"


def test_the_token_of_a_file(server):
    path = server.who.file("token-of-a-file", server.token + "\n", 0o600)
    flags, _ = where(server)
    assert server.who.call("run", *flags, "--token-file", path, "-c", "print(1)").out == b"1\n"


def test_a_server_is_used_only_when_it_is_asked_for(server):
    """Its presence changes nothing, and `auto` is what a run of one's own is where there is none."""
    runtime = {"BELLJAR_SOCKET": server.socket}
    done = lambda: server.get("/v1/stats").json["you"]["done"]  # noqa: E731
    before = done()
    assert server.who.call("run", "-c", "print(1)", env=runtime).out == b"1\n"
    assert done() == before
    assert server.who.call("run", "--server", "auto", "-c", "print(1)", env=runtime).out == b"1\n"
    assert done() == before + 1
    assert server.who.call("run", "-c", "print(1)", env={**runtime, "BELLJAR_SERVER": "auto"}).out == b"1\n"
    assert done() == before + 2
    granted = server.who.directory(f"granted-{time.monotonic_ns()}")
    answer = server.who.call("run", "--server", "auto", "--allow", granted, "-c", "print(1)", env=runtime)
    assert (answer.out, done()) == (b"1\n", before + 2)
    for flags in (["--here"], ["--config", server.who.file(f"c-{time.monotonic_ns()}.toml", "")]):  # which no server takes
        answer = server.who.call("run", "--server", "auto", *flags, "-c", "print(1)", env=runtime, cwd=granted)
        assert (answer.code, answer.out, done()) == (0, b"1\n", before + 2), answer
    answer = server.who.call("run", "--server", "auto", "-c", "print(1)", env={"BELLJAR_SOCKET": "/nonexistent/x"})
    assert (answer.code, answer.out, done()) == (0, b"1\n", before + 2)


def hostile(*replies):
    """A server that says something else: to each connection the next reply."""
    import socket

    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        for reply in replies:
            client, _ = listener.accept()
            client.recv(65536)
            try:
                client.sendall(reply)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except OSError:
                pass
            client.close()
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"nonsense",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 500 Oops\r\n\r\n",
        b"X" * 100000,
        HEAD,
        HEAD + b"zz\r\n",
        HEAD + b"ffffffffffffffffffff\r\n",
        HEAD + b"-5\r\nabc",
        HEAD + b"5" * 100,
        HEAD + b"0\r\n\r\n",
        HEAD + chunk(b"data: {\n"),
        HEAD + chunk(b"event: result\ndata: {}\n\n"),
        HEAD + chunk(b"event: result\ndata: []\n\n"),
        HEAD + chunk(b'event: result\ndata: {"status":"success"\n\n'),
        HEAD + chunk(b'event: result\ndata: {"status":7}\n\n'),
        HEAD + chunk(b'event: error\ndata: {"error":7}\n\n'),
        HEAD + chunk(b"event: " + b"x" * 1000 + b"\ndata: {}\n\n"),
    ],
)
def test_a_server_that_is_none(user, reply):
    answer = user.call("run", "--server", hostile(reply), "-c", "1", hang=20)
    assert answer.code in (125, 70, 71, 76), answer
    assert answer.errors.startswith("belljar: ")


RESULT = b'event: result\ndata: {"status":"error","exit_code":7,"stdout":"","stderr":""}\n\n'


@pytest.mark.parametrize("head", [HEAD, HEAD.lower().replace(b"http/1.1 200 ok", b"HTTP/1.1 200"), HEAD.upper(), b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD])
def test_names_of_headers_have_no_case(user, head):
    answer = user.call("run", "--server", hostile(head + chunk(RESULT[:20]) + chunk(RESULT[20:]) + b"0\r\n\r\n"), "-c", "1", hang=20)
    assert answer.code == 7, answer


@pytest.mark.parametrize("more", [b"Content-Length: 5\r\n", b"transfer-encoding: chunked\r\n", b"X : y\r\n", b"X: y\n", b" folded\r\n"])
def test_a_doubtful_answer_is_refused(user, more):
    """One that a proxy in between may have read differently."""
    answer = user.call("run", "--server", hostile(HEAD[:-2] + more + b"\r\n" + chunk(RESULT) + b"0\r\n\r\n"), "-c", "1", hang=20)
    assert answer.code in (125, 76) and answer.errors.startswith("belljar: "), answer


def test_a_hostile_result_is_shown_and_no_more(user):
    """Wild values, wild names, control characters: a forged result does no harm."""
    data = (
        b'{"status":"error","exit_code":99999999999,"signal":-5,"stdout":"","stderr":"","truncated":{"stdout":true,"stderr":7},'
        b'"result":{"text":"\\u001b[2J"},"error":{"name":"\\u001b]0;x\\u0007","message":7,"line":-1},"violations":[7,{"line":1e300}],'
        b'"usage":[],"displays":[{"bundle":-1,"mime":"image/../../x","data":"AAAA","encoding":"base64"}]}'
    )
    events = b'event: start\ndata: {"id":"../../x"}\n\nevent: display\ndata: {"displays":7}\n\nevent: stdout\ndata: {"text":7}\n\n'
    target = user.directory(f"hostile-{time.monotonic_ns()}")
    master, slave = os.openpty()
    process = user.start(
        "run", "--server", hostile(HEAD + chunk(events + b"event: result\ndata: " + data + b"\n\n") + b"0\r\n\r\n"), "--save", target,
        "-c", "1", stderr=slave, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    assert process.wait(timeout=belljar.HANG_SECONDS) == 99999999999 % 256
    assert b"\x1b[2J" not in seen and b"\x1b]0" not in seen
    assert list(target.iterdir()) == []


def events(*pairs):
    return b"".join(b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps(data).encode()) for name, data in pairs)


def test_a_second_result_is_not_read(user):
    """It would be written behind the end of what the first one has."""
    violation = {"rule": "import", "name": "os", "line": 1, "message": "no"}
    first = {"status": "refused", "exit_code": 126, "violations": [violation] * 20}
    second = {"status": "refused", "exit_code": 9, "violations": [{**violation, "message": "again"}]}
    said = HEAD + chunk(events(("result", first), ("result", second), ("stdout", {"text": "late"}))) + b"0\r\n\r\n"
    answer = user.call("run", "--server", hostile(said), "-c", "1", hang=20)
    assert answer.code == 126 and answer.out == b"" and "again" not in answer.errors, answer


@pytest.mark.parametrize("dropped", [0, 7, 2**63 + 1, 2**64 - 30, 10**30])
def test_the_end_of_an_output_lies_within_the_answer(user, dropped):
    """The server sends more as events than its marker leaves room for; the end would be read from somewhere else."""
    end = {"status": "success", "exit_code": 0, "stdout": f"\n… [{dropped} bytes dropped] …\nend", "truncated": {"stdout": True, "stderr": False}}
    said = HEAD + chunk(events(("stdout", {"text": "x" * 3000000}), ("result", end))) + b"0\r\n\r\n"
    answer = user.call("run", "--server", hostile(said), "-c", "1", hang=60)
    assert answer.code == 0 and answer.out == b"x" * 3000000, (answer.code, len(answer.out), answer.errors[:300])
