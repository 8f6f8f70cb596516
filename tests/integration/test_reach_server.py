"""Granted hosts over HTTP and MCP: what the settings allow, for whom, in sessions and their copies; and keys that stay outside."""
import json
import subprocess

import pytest

import belljar
import mcp
from hosts import Bait, Host
from serving import Server
from test_mcp_http import modern, send_modern

FETCH = "import urllib.request as u\ntry: print(u.urlopen({url!r}).read().decode())\nexcept u.HTTPError as e: print(e.code)"


@pytest.fixture
def host():
    with Host() as h:
        yield h


@pytest.fixture
def server(who, host):
    s = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_NET": f"GET+POST http://127.0.0.1:{host.port}/open/,other.example.org"})
    yield s
    assert s.stop() == 0, s.said


def test_a_request_gets_of_what_the_settings_allow(server, host):
    url = f"http://127.0.0.1:{host.port}/open/x"
    assert server.run("1", net=[])["net"] is None
    assert server.run(FETCH.format(url=url))["stdout"] == "hello\n", "all that is allowed, where nothing is named"
    host.seen.clear()
    result = server.run(FETCH.format(url=url), net=[f"127.0.0.1:{host.port}"])
    assert result["stdout"] == "hello\n" and result["net"]["connections"] == 1, result
    result = server.run(FETCH.format(url=url.replace("open", "shut")), net=[f"127.0.0.1:{host.port}"])
    assert result["stdout"] == "403\n" and result["net"]["refused"][0]["why"] == "the path is not granted", "the settings' path stays"
    for net, status in (
        (["evil.test"], 403), (["*.example.org"], 403), ([f"127.0.0.1:{host.port + 1}"], 403), ([f"http://127.0.0.1:{host.port}/shut/"], 403),
        ([f"DELETE http://127.0.0.1:{host.port}/"], 403), (["other.example.org private"], 400), (["not a host"], 400),
        (["other.example.org header=X: ${secret:K}"], 400), ([""], 400),
    ):  # fmt: skip
        for path, body in (("/v1/run", {"code": "1"}), ("/v1/sessions", {})):
            reply = server.post(path, {**body, "net": net})
            assert reply.status == status, (net, reply)
    assert len(host.seen) == 1


def test_a_token_needs_the_right(who, host):
    place = who.directory("gate-tokens", 0o700)
    env = {"BELLJAR_PROFILE": "open", "BELLJAR_NET": f"127.0.0.1:{host.port}", "BELLJAR_TOKENS_FILE": str(place / "tokens.toml")}
    secrets = [who.call("token", "add", name, *more, env=env).text.strip() for name, more in (("poor", ()), ("rich", ("--grants",)))]
    with Server(who, "--socket", "none", env=env) as server:
        body = {"code": "1", "net": [f"127.0.0.1:{host.port}"]}
        replies = [server.post("/v1/run", body, headers={"Authorization": f"Bearer {secret}"}) for secret in secrets]
        assert [r.status for r in replies] == [403, 200], replies


def test_a_session_keeps_its_hosts_and_so_do_its_copies(server, host):
    url = f"http://127.0.0.1:{host.port}/open/"
    assert server.post("/v1/sessions", {"name": "n", "net": [f"127.0.0.1:{host.port}"]}).status == 201

    def cell(name, code, language="python"):
        reply = server.post(f"/v1/sessions/{name}/execute", {"code": code, "language": language})
        assert reply.status == 200, reply
        return reply.json

    assert cell("n", FETCH.format(url=url) + "\nx = 1")["stdout"] == "hello\n"
    said = cell("n", f"curl -sS {url}", "bash")
    assert said["stdout"] == "hello" and said["net"]["connections"] == 1, said
    said = cell("n", FETCH.format(url="http://evil.test/"))
    assert said["stdout"] == "403\n" and said["net"]["refused"][0]["grant"] == "evil.test:80", said
    assert cell("n", "1")["net"] == {"connections": 0, "sent_bytes": 0, "received_bytes": 0, "refused": [], "refused_more": 0}
    reply = server.post("/v1/sessions/n/fork", {})
    if reply.status == 501 or b"not made for copies" in reply.body:  # a checked build copies no memory
        return
    assert server.post("/v1/sessions/n/checkpoint", {"name": "c"}).status in (200, 201)
    copy = reply.json["sessions"][0]["session_id"]
    assert cell(copy, FETCH.format(url=url) + "\nprint(x)")["stdout"] == "hello\n1\n"
    assert cell(copy, FETCH.format(url="http://evil.test/"))["stdout"] == "403\n"
    assert server.post("/v1/sessions/n/restore", {"name": "c"}).status == 200
    assert cell("n", FETCH.format(url=url) + "\nprint(x)")["stdout"] == "hello\n1\n"


def test_a_session_without_hosts_has_none(server, host):
    assert server.post("/v1/sessions", {"name": "bare", "net": []}).status == 201
    code = "import urllib.request as u\ntry: u.urlopen('http://127.0.0.1:%d/open/', timeout=20)\nexcept OSError as e: print('no')" % host.port
    assert server.post("/v1/sessions/bare/execute", {"code": code}).json["stdout"] == "no\n"
    assert host.seen == []


# --- keys that stay outside ---

KEY = "k3y-of-the-operator-0123456789"


@pytest.fixture
def certificate(who):
    place = who.directory("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=api.test",
         "-addext", "subjectAltName=DNS:api.test,IP:127.0.0.1", "-keyout", str(place / "key.pem"), "-out", str(place / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    for path in place.iterdir():
        path.chmod(0o644)
        who.own(path)
    return place / "cert.pem", place / "key.pem"


@pytest.fixture
def resolver(who):
    program = who.directory("resolver") / "resolve"
    program.write_text("#!/bin/sh\necho 127.0.0.1\n")
    program.chmod(0o755)
    who.own(program)
    return program


def settings(who, text):
    return str(who.file("gate.toml", text, 0o600))


def keyed(who, port, resolver):
    secrets = who.file("secrets.toml", f'[secrets]\nEXAMPLE = "{KEY}"\n', 0o600)
    return settings(who, f'''
masking_file = "{secrets}"
resolver = "{resolver}"
net = [
  {{host = "api.test:{port}", header = "Authorization: Bearer ${{secret:EXAMPLE}}", private = true}},
]
''')  # fmt: skip


def test_a_key_is_added_outside_and_never_seen_inside(who, certificate, resolver):
    with Host(tls=certificate, answers={"/echo": (200, {}, KEY.encode())}) as host:
        config = keyed(who, host.port, resolver)
        code = (
            "import os, urllib.request as u\n"
            "r = u.Request('http://api.test/v1', data=b'body', headers={'Authorization': 'Bearer mine', 'X': 'y'})\n"
            f"print(u.urlopen(r).read(), any('{KEY[:9]}' in v for v in os.environ.values()))\n"
            "print(u.urlopen('http://api.test/echo').read())\n"
            f"try: u.urlopen('https://api.test:{host.port}/v1')\nexcept OSError as e: print(e)\n"
        )
        answer = who.run(code, "--config", config, env={"SSL_CERT_FILE": str(certificate[0])})
        lines = answer.json["stdout"].splitlines()
        assert lines[0] == "b'hello' False", answer
        assert KEY not in answer.text and "REDACTED" in lines[1], "the masker knows it"
        assert "not a tunnel" in lines[2] or "403" in lines[2], answer
        assert [(s[0], s[1], s[3]) for s in host.seen] == [("POST", "/v1", b"body"), ("GET", "/echo", b"")]
        assert {s[2]["Authorization"] for s in host.seen} == {f"Bearer {KEY}"}
        assert host.seen[0][2]["Host"] == f"api.test:{host.port}" and host.seen[0][2]["X"] == "y"
        assert KEY not in json.dumps(who.call("audit", "export").text)


def test_a_host_that_cannot_prove_itself_gets_no_key(who, certificate, resolver):
    with Host(tls=certificate) as host, Host() as plain:
        code = "import urllib.request as u\ntry: u.urlopen('http://api.test/')\nexcept u.HTTPError as e: print(e.code, e.read().decode())"
        answer = who.run(code, "--config", keyed(who, host.port, resolver))
        assert answer.json["stdout"].startswith("502 ") and "certificate" in answer.json["stdout"], answer
        other = settings(who, open(keyed(who, host.port, resolver)).read().replace("api.test", "other.test"))
        answer = who.run(code.replace("api.test", "other.test"), "--config", other, env={"SSL_CERT_FILE": str(certificate[0])})
        assert answer.json["stdout"].startswith("502 ") and "mismatch" in answer.json["stdout"], answer
        answer = who.run(code, "--config", keyed(who, plain.port, resolver), env={"SSL_CERT_FILE": str(certificate[0])})
        assert answer.json["stdout"].startswith("502 "), answer
        assert host.seen == [] and plain.seen == []


def test_a_secret_that_is_missing_is_told_at_once(who):
    config = settings(who, 'net = {host = "api.test", header = "X-Key: ${secret:NOBODY}"}\n')
    answer = who.run("print(1)", "--config", config)
    assert answer.code == 64 and "NOBODY" in answer.json["error"]["message"], answer


@pytest.mark.parametrize("line", [
    'net = {host = "a.test", haeder = "X: y"}', 'net = [{methods = ["GET"]}]', 'net = [3]', 'net = {host = "a b"}', 'net = {host = "a.test", methods = []}',
    'net = {host = "a.test", header = "X: plain"}', 'net = ["*"]',
])  # fmt: skip
def test_a_mistake_in_the_settings_has_its_line(user, line):
    answer = user.run("print(1)", "--config", settings(user, "# one\n" + line + "\n"))
    assert answer.code == 64 and "gate.toml:2" in answer.json["error"]["message"], answer


# --- MCP ---


def test_an_mcp_client_has_the_hosts_of_its_command(who, host):
    with mcp.Client(who, "--profile", "open", "--net", f"127.0.0.1:{host.port}") as client:
        client.initialize()
        text = client.text("execute_python_code", {"code": FETCH.format(url=host.url + "/") + "\n" + FETCH.format(url="http://evil.test/")})
        assert "hello" in text and "[denied] connect to evil.test:80 (" in text, text


def test_an_mcp_call_asks_for_hosts_of_its_command(who, host):
    """`net` takes of what is granted; a session keeps what it was opened with, and so does the connection's own."""
    with Host() as other, mcp.Client(who, "--profile", "open", "--net", f"127.0.0.1:{host.port}", "--net", f"127.0.0.1:{other.port}") as client:
        client.initialize()
        code = FETCH.format(url=host.url + "/") + "\n" + FETCH.format(url=other.url + "/")
        asked = {"code": code, "net": [f"127.0.0.1:{host.port}"]}
        done = client.call("execute_python_code", {**asked, "session_id": "new"})["structuredContent"]
        assert done["stdout"] == "hello\n403\n", done
        for more in ({"session_id": done["session_id"]}, {}):
            assert client.call("execute_python_code", {"code": code, **more})["structuredContent"]["stdout"] == ("hello\n403\n" if more else "hello\nhello\n")
            refused = client.call("execute_python_code", {**asked, **more})
            assert refused["isError"] and "chosen when it is opened" in mcp.text_of(refused), refused
        none = client.call("execute_python_code", {"code": code, "session_id": "new", "net": []})["structuredContent"]
        assert none["status"] == "error" and "hello" not in none.get("stdout", ""), none
        again = client.call("execute_python_code", {"code": "1", "session_id": none["session_id"], "net": []})
        assert again["structuredContent"]["status"] == "success", "nothing more is asked for"
        for tool in ("execute_python_code", "execute_bash_code"):
            refused = client.call(tool, {"code": "true", "session_id": "new", "net": ["evil.test"]})
            assert refused["isError"] and "`evil.test` is not one of the allowed hosts" in mcp.text_of(refused), refused
        assert client.call("execute_python_code", {"code": "1", "net": "x"})["isError"]


def test_an_mcp_client_of_a_server_asks_as_http_does(who, host):
    """MCP uses the same list and the same right of the token as HTTP, with the same messages."""
    place = who.directory("gate-mcp", 0o700)
    env = {"BELLJAR_PROFILE": "open", "BELLJAR_NET": f"127.0.0.1:{host.port}", "BELLJAR_TOKENS_FILE": str(place / "tokens.toml")}
    secrets = [who.call("token", "add", name, *more, env=env).text.strip() for name, more in (("poor", ()), ("rich", ("--grants",)))]
    with Server(who, "--socket", "none", env=env) as server:

        def ask(secret, net):
            """The answer over HTTP and MCP: the output, or the error."""
            owner = {"Authorization": f"Bearer {secret}"}
            code = FETCH.format(url=host.url + "/")
            body = modern("tools/call", {"name": "execute_python_code", "arguments": {"code": code, "net": net}})
            plain = server.post("/v1/run", {"code": code, "net": net}, headers=owner)
            result = send_modern(server, body, owner).json["result"]
            if result.get("isError"):
                assert plain.error["message"] in mcp.text_of(result), (plain, result)
                return plain.error["message"]
            assert plain.json["stdout"] == result["structuredContent"]["stdout"], (plain, result)
            return plain.json["stdout"]

        poor, rich = secrets
        assert ask(rich, [f"127.0.0.1:{host.port}"]) == "hello\n"
        assert ask(poor, [f"127.0.0.1:{host.port}"]) == "this token may not reach hosts"
        assert "`evil.test` is not one of the allowed hosts" in ask(rich, ["evil.test"])
        assert len(host.seen) == 2
