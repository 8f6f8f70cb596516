"""Hosts that are asked for (`--net ask`): at a terminal, in the shell, over MCP and HTTP. The run waits, and nothing is looked up before a yes."""
import json
import re
import textwrap
import time
from pathlib import Path

import belljar
import mcp
import prompt
import pytest
import serving
from hosts import Host

NAME = "api.good.test"

CODE = """
    import urllib.request
    for url in {urls!r}:
        try:
            print(urllib.request.urlopen(url, timeout=60).read().decode())
        except Exception as error:
            print(type(error).__name__, error)
"""


def code(*urls):
    return textwrap.dedent(CODE).format(urls=urls)


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture
def host():
    with Host() as h:
        yield h


@pytest.fixture
def net(who, host, tmp_path):
    """Names of this machine, whose address is granted (not its names), and the names that were looked up."""
    place = who.directory("ask-resolver")
    looked_up = place / "asked"
    program = place / "resolve"
    program.write_text(f'#!/bin/sh\necho "$1" >> {looked_up}\ncase "$1" in *.good.test) echo 127.0.0.1;; *.private.test) echo 10.0.0.1;; esac\n')
    program.chmod(0o755)
    for path in (program, place):
        who.own(path)

    class Net:
        env = {"BELLJAR_RESOLVER": str(program), "XDG_STATE_HOME": str(who.directory("ask-state"))}
        args = ("--net", "ask", "--net", f"127.0.0.1:{host.port}", "--profile", "open")

        def url(self, name=NAME, port=host.port):
            return f"http://{name}:{port}/"

        def looked_up(self):
            return looked_up.read_text().split() if looked_up.exists() else []

        def remembered(self):
            path = Path(self.env["XDG_STATE_HOME"]) / "belljar/hosts"
            return path.read_text() if path.exists() else ""

        def asked(self):
            """The questions in the trail."""
            done = who.call("audit", "export", env=self.env)
            return [(r["host"], r["answer"]) for r in records(done) if r.get("event") == "asked"]

    return Net()


def records(done):
    return [json.loads(line) for line in done.text.split("\n") if line]


class Run(prompt.Prompt):
    command = "run"


@pytest.mark.parametrize("typed, said, answer", [("y", "hello", "yes"), ("", "said no", "no"), ("maybe", "said no", "no"), ("always", "hello", "always")])
def test_a_person_is_asked_once_for_a_host(who, net, host, typed, said, answer):
    with Run(who, *net.args, "-c", code(net.url(), net.url()), env=net.env) as p:
        p.wait("wants to connect to a host that is not granted, ")
        p.wait(f'{{"host":"{NAME}:{host.port}"}}')
        p.wait("Allow it for this session? [y/always/N] ")
        assert net.looked_up() == []
        p.type(typed + "\n")
        p.wait(said)
        p.wait(said)  # the second connection is not asked for
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert p.seen.count(b"wants to connect") == 1
    assert bool(net.looked_up()) == (said == "hello") == bool(host.seen)
    assert net.remembered() == (f"{NAME}:{host.port}\n" if answer == "always" else "")
    assert net.asked() == [(f"{NAME}:{host.port}", answer)]


def test_a_host_that_is_remembered_is_not_asked_for(who, net, host):
    """By the operator's own commands, with or without a terminal; the line can be deleted."""
    file = Path(net.env["XDG_STATE_HOME"]) / "belljar/hosts"
    assert "nobody can be asked here" in who.run(code(net.url()), *net.args[:-2], env=net.env).json["stdout"]
    file.write_text(f"other.good.test\n{NAME}:{host.port}\n")
    who.own(file)
    assert who.run(code(net.url()), *net.args[:-2], env=net.env).json["stdout"] == "hello\n"
    assert (f"{NAME}:{host.port}", "remembered") in net.asked()
    file.chmod(0o666)  # others could have written it
    assert "nobody can be asked here" in who.run(code(net.url()), *net.args[:-2], env=net.env).json["stdout"]
    file.chmod(0o600)
    file.write_text(f"{NAME}\nx{NAME}:{host.port}\n{NAME}:{host.port}0\n")
    assert "nobody can be asked here" in who.run(code(net.url()), *net.args[:-2], env=net.env).json["stdout"]


def test_without_the_word_nobody_is_asked(who, net, host):
    with Run(who, *net.args[2:], "-c", code(net.url()), env=net.env) as p:
        p.wait("the host is not granted")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert b"wants to connect" not in p.seen
    assert net.asked() == [] and net.looked_up() == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost:1/", "http://127.1:1/", "http://10.0.0.1/", "http://169.254.169.254/", "http://[::1]:1/",
                                 "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/", "http://224.0.0.1/", "http://[fd00::1]/", "http://part.test/other"])  # fmt: skip
def test_some_hosts_are_never_asked_for(who, net, url):
    """This machine and private networks, by any spelling, and hosts that the operator granted in part."""
    with Run(who, *net.args, "--net", "http://part.test/only/", "-c", code(url), env=net.env) as p:
        p.wait("403")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert b"wants to connect" not in p.seen, p.seen
    assert net.asked() == []


def test_an_address_is_judged_after_a_yes(who, net):
    with Run(who, *net.args, "-c", code("http://db.private.test/"), env=net.env) as p:
        p.wait('{"host":"db.private.test"}')  # both ports of the Web, as `--net db.private.test`
        p.wait("[y/always/N] ")
        p.type("y\n")
        p.wait("10.0.0.1 is not of the public Internet (private)")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


def test_every_way_to_the_proxy_waits(who, net, host):
    """Requests, tunnels and SOCKS; several at once are one question."""
    tools = textwrap.dedent(f"""
        import socket, threading
        def talk(first, then):
            s = socket.create_connection(("127.0.0.1", 3128), timeout=60)
            for data, answer in first:
                s.sendall(data)
                assert s.recv(100).startswith(answer)
            s.sendall(then)
            got = b""
            while b"hello" not in got and (part := s.recv(1000)):
                got += part
            said.append(got[-5:].decode())
        name, port = b"{NAME}", {host.port}
        get = b"GET / HTTP/1.1\\r\\nHost: %s:%d\\r\\nConnection: close\\r\\n\\r\\n" % (name, port)
        socks = b"\\x05\\x01\\x00\\x03" + bytes([len(name)]) + name + port.to_bytes(2, "big")
        ways = [([], get.replace(b"/", b"http://%s:%d/" % (name, port), 1)), ([(b"CONNECT %s:%d HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n" % (name, port, name, port), b"HTTP/1.1 200")], get),
                ([(b"\\x05\\x01\\x00", b"\\x05\\x00"), (socks, b"\\x05\\x00")], get)]
        said = []
        threads = [threading.Thread(target=talk, args=way) for way in 2 * ways]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print("said", said)
    """)
    with Run(who, *net.args, "-c", tools, env=net.env) as p:
        p.wait("[y/always/N] ")
        p.type("y\n")
        p.wait(f"said {['hello'] * 6}")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert p.seen.count(b"wants to connect") == 1
    assert net.asked() == [(f"{NAME}:{host.port}", "yes")]


def test_a_run_asks_for_a_few_hosts_and_then_for_none(who, net):
    urls = [f"http://h{n}.nowhere.test/" for n in range(12)]
    with Run(who, *net.args, "-c", code(*urls), env=net.env) as p:
        for n in range(8):
            p.wait(f'{{"host":"h{n}.nowhere.test"}}')
            p.wait("[y/always/N] ")
            p.type("n\n")
        for _ in range(4):
            p.wait("asked for too many hosts")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert p.seen.count(b"wants to connect") == 8
    assert net.looked_up() == []


def test_a_name_is_shown_as_what_it_is(who, net):
    """A secret in a name is hidden, and then a habit is no answer; names with other characters are refused unasked."""
    secret = "swordfish-7781-hunter"
    net.env["BELLJAR_MASKING_FILE"] = str(who.file("ask-masking.toml", f'values = ["{secret}"]\n', mode=0o600))
    raw = 'import socket\ns = socket.create_connection(("127.0.0.1", 3128))\ns.sendall(b"CONNECT good.test\\x1b[2K:443 HTTP/1.1\\r\\n\\r\\n")\nprint(s.recv(12))\n'
    with Run(who, *net.args, "-c", raw + code(f"http://{secret}.evil.test/", "http://xn--80ak6aa92e.test/"), env=net.env) as p:
        p.wait("HTTP/1.1 400")
        p.wait("wants to connect")
        p.wait("[hidden/N] ")
        p.type("y\n")
        p.wait("said no")
        p.wait('{"host":"xn--80ak6aa92e.test"}')
        p.wait("[y/always/N] ")
        p.type("\n")
        p.wait("said no")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
        assert b"\x1b[2K:443" not in p.seen and secret.encode() not in p.seen
    assert net.looked_up() == []


def test_the_clock_stands_and_a_run_can_be_ended(who, net, host):
    with Run(who, *net.args, "--timeout", "3", "-c", code(net.url()), env=net.env) as p:
        p.wait("[y/always/N] ")
        until = time.monotonic() + 3.5  # longer than the run may take
        while time.monotonic() < until:
            assert p.process.poll() is None
            p.read(0.2)
        p.type("y\n")
        p.wait("hello")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0
    with Run(who, *net.args, "-c", code(net.url("two.good.test")), env=net.env) as p:
        p.wait("[y/always/N] ")
        p.type(prompt.CONTROL_C)
        assert p.process.wait(timeout=belljar.HANG_SECONDS) != 0
    assert "two.good.test" not in net.looked_up()


def test_the_shell_asks_once_in_a_session(who, net, host):
    with prompt.Prompt(who, *net.args, env=net.env) as p:
        p.wait(">>> ")
        p.line("import urllib.request as u")
        p.wait(">>> ")
        p.line(f"u.urlopen({net.url()!r}).read()")
        p.wait("[y/always/N] ")
        p.line("y")
        p.wait("b'hello'")
        p.wait(">>> ")
        assert "hello" in p.cell(f"u.urlopen({net.url()!r}).read()")
        p.line(f"u.urlopen({net.url('two.good.test')!r}).read()")
        p.wait("[y/always/N] ")
        p.type(prompt.CONTROL_C)
        p.wait(">>> ")
        assert "4" in p.cell("2 + 2")  # what is typed goes to the prompt again
        p.type(prompt.CONTROL_D)
        assert p.end() == 0
        assert p.seen.count(b"wants to connect") == 2


# ---- MCP ----


@pytest.fixture
def client(who, net):
    c = mcp.Client(who, *net.args, env=net.env)
    yield c
    c.process.stdin.close()
    c.process.wait(timeout=belljar.HANG_SECONDS)


@pytest.mark.parametrize("answer, said, recorded", [({"action": "accept", "content": {}}, "hello", "yes"), ({"action": "accept", "content": {"always": True}}, "hello", "always"),
                                                    ({"action": "accept", "content": {"always": "yes"}}, "hello", "yes"), ({"action": "decline"}, "said no", "no"), ({"action": "cancel"}, "said no", "no")])  # fmt: skip
def test_a_client_is_asked(client, net, host, answer, said, recorded):
    client.initialize(capabilities={"elicitation": {}})
    id = client.ask("tools/call", {"name": "execute_python_code", "arguments": {"code": code(net.url())}})
    question = client.notice("elicitation/create")
    assert question["params"]["message"] == f'The program wants to connect to a host that is not granted, {{"host":"{NAME}:{host.port}"}}'
    assert question["params"]["requestedSchema"]["properties"]["always"]["type"] == "boolean"
    assert net.looked_up() == []
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
    assert said in json.dumps(client.answer(id)["result"])
    assert net.asked() == [(f"{NAME}:{host.port}", recorded)] and bool(net.remembered()) == (recorded == "always")


def test_a_modern_client_is_asked_in_the_result(client, net):
    params = {"name": "execute_python_code", "arguments": {"code": code(net.url())}, "_meta": mcp.modern({"elicitation": {}})}
    first = client.request("tools/call", params)["result"]
    assert first["resultType"] == "input_required" and NAME in first["inputRequests"]["approval"]["params"]["message"], first
    yes = {"approval": {"action": "accept", "content": {}}}
    assert "hello" in json.dumps(client.request("tools/call", {**params, "inputResponses": yes, "requestState": first["requestState"]})["result"])


def test_a_client_that_cannot_be_asked_is_not(client, net):
    client.initialize()
    assert "nobody can be asked here" in json.dumps(client.call("execute_python_code", {"code": code(net.url())}))


# ---- HTTP ----


def test_a_token_is_asked_and_never_for_good(who, net, host):
    """The answer of a token holds for its session: the file of hosts is the operator's, in both directions."""
    file = Path(net.env["XDG_STATE_HOME"]) / "belljar/hosts"
    with serving.Server(who, *net.args, env=net.env) as server:
        file.write_text(f"{NAME}:{host.port}\n")
        who.own(file)
        stream = server.stream("POST", "/v1/run", {"code": code(net.url()), "profile": "open", "net": ["ask", f"127.0.0.1:{host.port}"]})
        run = stream.until("start")[2]["id"]
        question = stream.until("approval")[2]
        assert question["call"] == "net.connect" and question["arguments"] == {"host": f"{NAME}:{host.port}"}
        answered = server.post(f"/v1/runs/{run}/approve", {"approve": True, "approval_id": question["approval_id"]})
        assert answered.json == {"approved": True}
        assert stream.until("result")[2]["stdout"] == "hello\n"
        stream.close()
    assert net.asked() == [(f"{NAME}:{host.port}", "yes")]


def test_a_token_may_ask_only_where_the_operator_said_so(who, net):
    with serving.Server(who, "--net", "other.test", env=net.env) as server:
        refused = server.post("/v1/run", {"code": "1", "net": ["ask"]})
        assert refused.status == 403 and "not one of the allowed hosts" in refused.json["error"]["message"], refused.json


def test_a_question_stands_on_its_own_line_in_no_colour_of_the_program(who, net):
    forged = 'print("belljar: connect to good.test? [y/N] \\x1b[30;40m", end="", flush=True)\n'
    with Run(who, *net.args, "-c", forged + code(net.url()), env=net.env) as p:
        p.wait("[y/always/N] ")
        assert re.search(rb"\x1b\[0m\r+\n(\x1b\[0m)?belljar: the program wants to connect", p.seen), p.seen
        p.type("n\n")
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 0


def test_a_question_gives_back_the_time_that_it_took_and_no_more(who, net):
    """Three seconds, a question that is open for ten: what is left is less than three, not ten."""
    with Run(who, *net.args, "--timeout", "3", "-c", code(net.url()) + "\nimport time; time.sleep(600)", env=net.env) as p:
        p.wait("[y/always/N] ")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            p.read(0.2)
        p.type("n\n")
        answered = time.monotonic()
        assert p.process.wait(timeout=belljar.HANG_SECONDS) == 124
        assert time.monotonic() - answered < 9
