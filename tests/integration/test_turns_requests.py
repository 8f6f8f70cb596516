"""No client delays another's answer: many expensive requests, calls and messages at once."""
import secrets
import shutil
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import test_turns
import turns
import turns_requests
from test_http_auth import Tokens
from test_http_tls import SecureServer
from test_turns import tokens  # noqa: F401


@pytest.mark.parametrize("name", turns_requests.ATTACKS)
def test_no_turn_takes_long(tokens, name):  # noqa: F811
    turns.ATTACKS[name] = turns_requests.ATTACKS[name]
    test_turns.test_no_turn_takes_long(tokens, name)


@pytest.fixture(scope="module")
def granted(callers, base):
    """A server whose clients may have directories."""
    who = callers.get("root") or next(iter(callers.values()))
    top = Path(base) / f"turns-{secrets.token_hex(4)}"
    top.mkdir()
    who.own(top)
    sink = socket.create_server(("127.0.0.1", 0), backlog=300)
    t = Tokens(who, env={"BELLJAR_ALLOW": f"{top}:rw", "BELLJAR_NET": f"127.0.0.1:{sink.getsockname()[1]}", "BELLJAR_SESSION_PORTS": "8000"})
    t.top, t.sink = top, sink
    t.loud = t.add("loud", "--grants")
    yield t
    assert t.server.stop() == 0, t.server.said
    sink.close()
    shutil.rmtree(top)


@pytest.mark.parametrize("name", turns_requests.GRANTED)
def test_no_turn_with_grants_takes_long(granted, name):
    turns.ATTACKS[name] = turns_requests.GRANTED[name]
    test_turns.test_no_turn_takes_long(granted, name)


def test_no_turn_with_handshakes_takes_long(callers, base):
    """With a key of 4096 bits, whose signatures take milliseconds."""
    who = callers.get("root") or next(iter(callers.values()))
    cert, key = f"{base}/turns-cert.pem", f"{base}/turns-key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    who.own(key)
    server = SecureServer(who, (cert, key))
    turns.ATTACKS["handshakes"] = turns_requests.handshakes
    test_turns.test_no_turn_takes_long(SimpleNamespace(server=server, loud=None), "handshakes")
    assert server.stop() == 0, server.said
