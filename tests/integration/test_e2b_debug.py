"""E2B's debug mode: fixed ports of the machine without a token. It runs in a network of its own, where no other server has these."""
import json
import subprocess

import pytest
from serving import Server, wait_until

ENVD, INTERPRETER, API = 49983, 49999, 3000
ID = "debug_sandbox_id"


class Network:
    """A network namespace with a loopback device, as long as the test runs."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c", "ip link set lo up && echo up && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.holder.stdout.readline() == "up\n"
        self.wrapper = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]

    def close(self):
        self.holder.stdin.close()
        assert self.holder.wait(timeout=60) == 0

    def ask(self, url, *arguments, body=None, **headers):
        """(status, body)"""
        words = [f for name, value in headers.items() for f in ("-H", f"{name.replace('_', '-')}: {value}")]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "--data-binary", json.dumps(body)]
        done = subprocess.run(
            [*self.wrapper, "curl", "-sg", "--path-as-is", "-m", "60", "-w", "\n%{http_code}", *arguments, *words, url],
            capture_output=True, text=True, timeout=90, check=True,
        )  # fmt: skip
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text


@pytest.fixture(scope="module")
def network(callers):
    if "root" not in callers:
        pytest.skip("needs root, for a network of its own")
    made = Network()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(callers, network):
    made = Server(callers["root"], "--socket", "none", env={"BELLJAR_E2B_DEBUG": "yes"}, wrapper=network.wrapper)
    wait_until(lambda: network.ask(f"http://127.0.0.1:{ENVD}/health")[0] == 204, "the sandbox is there")
    yield made
    assert made.stop() == 0, made.said


def execute(network, code, host="localhost", **headers):
    status, text = network.ask(f"http://{host}:{INTERPRETER}/execute", body={"code": code}, **headers)
    assert status == 200, text
    return [json.loads(line) for line in text.splitlines()]


def test_no_token_is_needed_at_its_ports(server, network):
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert network.ask(f"http://{host}:{ENVD}/files?path=f", "--data-binary", host, Content_Type="application/octet-stream")[0] == 200
        assert network.ask(f"http://{host}:{ENVD}/files?path=f") == (200, host)
        assert execute(network, "open('f').read()", host)[1]["text"] == host
    assert network.ask(f"http://localhost:{ENVD}/filesystem.Filesystem/ListDir", body={"path": ""})[0] == 200
    assert network.ask(f"http://localhost:{INTERPRETER}/contexts")[0] == 200


def test_each_port_is_one_service(server, network):
    key = {"X_API_KEY": server.token}
    assert network.ask(f"http://localhost:{ENVD}/execute", body={"code": "1"})[0] == 502
    assert network.ask(f"http://localhost:{INTERPRETER}/files?path=f")[0] == 502
    assert network.ask(f"http://localhost:{API}/sandboxes")[0] == 401
    status, text = network.ask(f"http://localhost:{API}/v2/sandboxes", **key)
    assert status == 200 and [s["sandboxID"] for s in json.loads(text)] == [ID], text
    assert network.ask(f"http://localhost:{API}/sandboxes/{ID}/metrics", **key)[0] == 200
    for port in (ENVD, INTERPRETER, API):
        for path in ("/v1/sessions", "/mcp", "/openapi.json", "/execute/../../v1/sessions", "/e2b/sandboxes"):
            status, text = network.ask(f"http://localhost:{port}{path}", **key)
            assert status in (404, 405, 501, 502), (port, path, status, text)


def test_only_the_socket_counts(server, network):
    main = f"http://127.0.0.1:{server.port}"
    for host in (f"localhost:{ENVD}", f"{ENVD}-{ID}.localhost", f"{ENVD}-debug.localhost"):
        assert network.ask(f"{main}/files?path=f", Host=host)[0] in (401, 404, 502), host
        assert network.ask(f"{main}/e2b/files?path=f", Host=host)[0] in (401, 404, 502), host
    assert network.ask(f"{main}/e2b/files?path=f", E2b_Sandbox_Id=ID)[0] == 401
    assert network.ask(f"{main}/e2b/contexts", E2b_Sandbox_Id=ID, E2b_Sandbox_Port=INTERPRETER)[0] == 403
    # At its ports, nothing leads to another sandbox, and no other page gets in.
    execute(network, "open('f', 'w').close()")
    status, text = network.ask(f"{main}/e2b/sandboxes", body={"templateID": "base"}, X_API_KEY=server.token)
    other = json.loads(text)["sandboxID"]
    assert network.ask(f"http://localhost:{ENVD}/files?path=f", E2b_Sandbox_Id=other, E2b_Sandbox_Port=ENVD)[0] == 200
    for host in ("evil.example", f"{ENVD}-{other}.localhost", f"{ENVD}-{other}.localhost:{ENVD}"):
        assert network.ask(f"http://127.0.0.1:{ENVD}/files?path=f", Host=host)[0] == 403, host
    assert network.ask(f"http://localhost:{INTERPRETER}/execute", body={"code": "1"}, Origin="https://evil.example")[0] == 403
    assert network.ask(f"{main}/e2b/sandboxes/{other}", "-X", "DELETE", X_API_KEY=server.token)[0] == 204


def test_after_its_end_there_is_another_one(server, network):
    execute(network, "kept = 1")
    assert execute(network, "kept")[1]["text"] == "1"
    assert network.ask(f"http://localhost:{API}/sandboxes/{ID}", "-X", "DELETE", X_API_KEY=server.token)[0] == 204
    assert execute(network, "kept")[1]["name"] == "NameError"


def test_it_is_refused_beyond_this_machine(callers, network, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x", "-out", cert, "-keyout", key],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    arguments = ["serve", "--socket", "none", "--tls-cert", cert, "--tls-key", key]
    done = callers["root"].call(*arguments, "--listen", "0.0.0.0:0", env={"BELLJAR_E2B_DEBUG": "yes"}, wrapper=network.wrapper)
    assert done.code == 77 and "e2b_debug" in done.errors and "127.0.0.1" in done.errors, done


def test_a_port_that_is_taken_is_named(callers, server, network):
    done = callers["root"].call("serve", "--socket", "none", "--listen", "127.0.0.1:0", env={"BELLJAR_E2B_DEBUG": "yes"}, wrapper=network.wrapper)
    assert done.code != 0 and "e2b_debug" in done.errors and str(ENVD) in done.errors, done
