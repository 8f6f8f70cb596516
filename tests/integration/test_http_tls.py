"""TLS: the certificate of the operator, and what happens to those who do not speak it."""
import http.client
import ssl
import subprocess

import pytest

import belljar
from serving import Server, read_all


@pytest.fixture(scope="module")
def pair(base, callers):
    """A certificate for localhost and its key, which the server's user can read."""
    cert, key = f"{base}/cert.pem", f"{base}/key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    callers["user"].own(key)
    return cert, key


class SecureServer(Server):
    def __init__(self, who, pair, *args):
        self.cert = pair[0]
        super().__init__(who, "--socket", "none", "--tls-cert", pair[0], "--tls-key", pair[1], *args)

    def wait_for(self, pattern):
        return super().wait_for(pattern.replace("http:", "https:").replace("127\\.0\\.0\\.1", "[0-9.]+"))

    def connect(self, timeout=belljar.HANG_SECONDS):
        context = ssl.create_default_context(cafile=self.cert)
        return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=context)


@pytest.fixture(scope="module")
def server(callers, pair):
    s = SecureServer(callers["user"], pair)
    yield s
    assert s.stop() == 0, s.said


def test_runs_and_streams_over_tls(server):
    assert server.run("print(6 * 7)")["stdout"] == "42\n"
    big = server.run("print('x' * 900_000)")
    assert len(big["stdout"]) == 900_001
    events = list(server.stream("POST", "/v1/run", {"code": "print(1)"}))
    assert events[-1][1] == "result"
    c = server.connect()
    for _ in range(5):
        assert server.call("GET", "/v1/sessions", connection=c).status == 200
    c.close()
    assert server.call("GET", "/v1/sessions", headers={"Authorization": None}).status == 401
    assert server.call("POST", "/v1/run", b"x" * 9_000_000, headers={"Content-Type": "application/json"}).status == 413


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x00" * 100, b"\x16\x03\x01\xff\xff" + b"a" * 70000, b""])
def test_who_does_not_speak_tls_is_cut(server, data):
    with server.open() as s:
        try:
            s.sendall(data)
            if not data:
                s.shutdown(1)
            answer = read_all(s)
        except ConnectionError:
            answer = b""
    assert b"HTTP" not in answer
    assert server.run("print(1)")["stdout"] == "1\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_are_refused(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with server.open() as s, pytest.raises(OSError):
        context.wrap_socket(s)


def test_beyond_this_machine_it_takes_tls_and_a_token(user, pair):
    s = SecureServer(user, pair, "--listen", "0.0.0.0:0")
    assert s.run("print(1)")["stdout"] == "1\n"
    assert s.stop() == 0
    tls = ["--tls-cert", pair[0], "--tls-key", pair[1]]
    for args in (["--no-auth", *tls], []):
        answer = user.call("serve", "--listen", "0.0.0.0:0", "--socket", "none", *args)
        assert answer.code == 77 and "needs TLS and a token" in answer.errors, answer


def test_a_bad_pair_is_refused(user, pair, base):
    open_key = f"{base}/open.pem"
    with open(open_key, "wb") as f, open(pair[1], "rb") as k:
        f.write(k.read())
    subprocess.run(["chmod", "644", open_key], check=True)
    for cert, key, code in (
        (pair[0], "", 64),
        ("", pair[1], 64),
        (pair[0], "/nowhere", 64),
        ("/nowhere", pair[1], 64),
        (pair[0], pair[0], 77),
        (pair[0], open_key, 77),
        ("/etc/passwd", pair[1], 64),
    ):
        answer = user.call("serve", "--listen", "127.0.0.1:0", "--socket", "none", "--tls-cert", cert, "--tls-key", key)
        assert answer.code == code, (cert, key, answer)


def test_the_command_line_speaks_tls(server, user):
    """`belljar run --server https://…` trusts what the system trusts, and SSL_CERT_FILE, for the name that was asked for."""
    trust = {"SSL_CERT_FILE": server.cert, "BELLJAR_TOKEN": server.token}
    for host in ("localhost", "127.0.0.1"):
        url = f"https://{host}:{server.port}"
        answer = user.call("run", "--server", url, "-c", "print('x' * 300_000)\nimport sys\nsys.exit(3)", env=trust)
        assert (answer.code, len(answer.out)) == (3, 300_001), answer
    assert user.call("session", "list", "--server", url, env=trust).code == 0
    answer = user.call("run", "--server", url, "-c", "1", env={"BELLJAR_TOKEN": server.token})
    assert (answer.code, "certificate" in answer.errors) == (77, True), answer
    answer = user.call("run", "--server", f"https://127.0.0.2:{server.port}", "-c", "1", env=trust)
    assert answer.code != 0 and "print" not in answer.errors
    answer = user.call("run", "--server", f"http://localhost:{server.port}", "-c", "1", env=trust)
    assert answer.code == 125, answer  # it hangs up


def test_ctrl_c_over_tls(server, user):
    process = user.start(
        "run", "--server", f"https://localhost:{server.port}", "--profile", "open", "-c",
        "import time\nprint('begun', flush=True)\ntime.sleep(60)", env={"SSL_CERT_FILE": server.cert, "BELLJAR_TOKEN": server.token},
    )  # fmt: skip
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(2)
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 130, (out, err)
