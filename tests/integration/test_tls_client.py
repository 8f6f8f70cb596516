"""Every TLS connection that Belljar opens follows the same rules: the command line to a server, a server behind a URL, the
gate to a host, and a function that is a request."""
import socket
import ssl
import subprocess
import threading
import uuid

import pytest

NAMES = "DNS:localhost,DNS:api.example.test,IP:127.0.0.1"
BODY = b'{"ok": true}'


class Listener:
    """A TLS server with one certificate. `seen` has the first lines of the requests that got through."""

    def __init__(self, pair, is_old=False):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*pair)
        if is_old:
            self.context.set_ciphers("DEFAULT@SECLEVEL=0")
            self.context.minimum_version = ssl.TLSVersion.TLSv1
            self.context.maximum_version = ssl.TLSVersion.TLSv1_1
        self.seen, self.tried = [], 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.tried += 1
            try:
                peer.settimeout(20)
                with self.context.wrap_socket(peer, server_side=True) as secure:
                    data = secure.recv(65536)
                    if data:
                        self.seen.append(data.split(b"\r\n")[0])
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
            except OSError:
                peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture(scope="module")
def certificates(who):
    """An authority that is trusted, and a certificate of each kind."""
    place = who.directory("authority")

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *curve, "-days", 2, "-subj", "/CN=authority", "-keyout", place / "ca.key", "-out", place / "ca.pem")
    openssl("req", "-x509", *curve, "-days", 2, "-subj", "/CN=localhost", "-addext", f"subjectAltName={NAMES}", "-keyout", place / "self.key", "-out", place / "self.pem")

    def issue(kind, names, *how):
        (place / f"{kind}.ext").write_text(f"subjectAltName={names}\n")
        openssl("req", *curve, "-subj", "/CN=" + kind, "-keyout", place / f"{kind}.key", "-out", place / f"{kind}.csr")
        openssl("x509", "-req", "-in", place / f"{kind}.csr", "-CA", place / "ca.pem", "-CAkey", place / "ca.key", "-CAcreateserial",
                "-extfile", place / f"{kind}.ext", "-out", place / f"{kind}.pem", *how)  # fmt: skip

    issue("good", NAMES, "-days", 2)
    issue("name", "DNS:other.example.test,IP:127.0.0.9", "-days", 2)
    try:
        issue("expired", NAMES, "-days", -1)
    except subprocess.CalledProcessError:  # OpenSSL 3.5 wants the dates themselves, which older ones do not take
        issue("expired", NAMES, "-not_before", "20200101000000Z", "-not_after", "20200102000000Z")
    issue("wildcard", "DNS:*.example.test", "-days", 2)
    issue("partial", "DNS:a*.example.test", "-days", 2)
    (place / "ca.pem").chmod(0o644)
    who.own(place / "ca.pem")
    return place


@pytest.fixture(scope="module")
def resolver(who):
    program = who.directory("tls-resolver") / "resolve"
    program.write_text("#!/bin/sh\necho 127.0.0.1\n")
    program.chmod(0o755)
    who.own(program)
    return program


def settings(who, text):
    return str(who.file(f"tls-{uuid.uuid4().hex}.toml", text, 0o600))


def by_client(who, name, port, resolver, env):
    return who.call("run", "--server", f"https://{name}:{port}", "-c", "1", env=env).errors


def by_server(who, name, port, resolver, env):
    config = settings(who, f'resolver = "{resolver}"\n[servers.web]\nurl = "https://{name}:{port}/mcp"\n')
    code = "from servers import web\ntry: web.anything\nexcept Exception as error: print(error)"
    return who.run(code, "--config", config, profile="standard", env=env).json["stdout"]


def by_gate(who, name, port, resolver, env):
    secrets = who.file("tls-secrets.toml", '[secrets]\nEXAMPLE = "0123456789abcdef"\n', 0o600)
    config = settings(who, f'masking_file = "{secrets}"\nresolver = "{resolver}"\nnet = [{{host = "{name}:{port}", header = "X-Key: ${{secret:EXAMPLE}}", private = true}}]\n')
    code = f"import urllib.request as u\ntry: print(u.urlopen('http://{name}/').read())\nexcept u.HTTPError as e: print(e.code, e.read().decode())"
    return who.run(code, "--config", config, env=env).json["stdout"]


def by_function(who, name, port, resolver, env):
    config = settings(who, f'resolver = "{resolver}"\n[functions.get]\ndescription = "x"\nseverity = "read_only"\nrequest = "GET https://{name}:{port}/"\n')
    code = "from servers import host\ntry: print(host.get())\nexcept Exception as error: print(error)"
    return who.run(code, "--config", config, profile="standard", env=env).json["stdout"]


DOORS = [by_client, by_server, by_gate, by_function]


@pytest.mark.parametrize("door", DOORS)
def test_a_server_that_proves_itself_is_asked(who, certificates, resolver, door):
    name = "api.example.test" if door is by_gate else "localhost"
    with Listener((certificates / "good.pem", certificates / "good.key")) as listener:
        door(who, name, listener.port, resolver, {"SSL_CERT_FILE": str(certificates / "ca.pem")})
        assert listener.seen and b"HTTP/1.1" in listener.seen[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind, said", [("name", "mismatch"), ("expired", "expired"), ("self", "self-signed"), ("old", "TLS: ")])
def test_a_server_that_does_not_is_told_nothing(who, certificates, resolver, door, kind, said):
    name = "api.example.test" if door is by_gate else "localhost"
    pair = "good" if kind == "old" else kind
    with Listener((certificates / f"{pair}.pem", certificates / f"{pair}.key"), is_old=kind == "old") as listener:
        answer = door(who, name, listener.port, resolver, {"SSL_CERT_FILE": str(certificates / "ca.pem")})
        assert listener.tried and listener.seen == [], answer
        assert said in answer and (kind == "old" or "the server's certificate: " in answer), answer


@pytest.mark.parametrize("door", [by_server, by_gate])
def test_a_wildcard_stands_for_a_whole_label(who, certificates, resolver, door):
    for kind, is_fine in (("wildcard", True), ("partial", False)):
        with Listener((certificates / f"{kind}.pem", certificates / f"{kind}.key")) as listener:
            answer = door(who, "api.example.test", listener.port, resolver, {"SSL_CERT_FILE": str(certificates / "ca.pem")})
            assert listener.tried and bool(listener.seen) == is_fine, (kind, answer)
            assert is_fine or "mismatch" in answer, answer
