"""Real tools inside a sandbox, through the gate, to servers on loopback that are granted as such."""
import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile

import pytest

import belljar
from hosts import Bait, Host


NEEDS_PIP = pytest.mark.skipif(subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode != 0, reason="python3-pip is not installed")


def bash(who, code, *args, **more):
    answer = who.run(code, "-l", "bash", *args, **more)
    assert answer.json["status"] == "success", answer
    return answer.json


def test_curl_by_all_its_ways(who):
    with Host() as host:
        url = f"http://localhost:{host.port}/x"
        code = f"""set -e
curl -sS {url}; echo
curl -sS -p {url}; echo
curl -sS --noproxy '' -x socks5h://127.0.0.1:3128 {url}; echo
curl -sS -T - -H 'Expect: 100-continue' {url} <<< upload; echo
curl -sS -X POST -H 'Transfer-Encoding: chunked' -d chunked {url}; echo
! curl -sS -f --max-time 20 http://localhost:{host.port + 1}/
! curl -sS --max-time 20 -x socks5://127.0.0.1:3128 http://127.0.0.1:{host.port}/
! curl -sS --max-time 20 --noproxy '*' {url}
! curl -sS --max-time 20 --resolve localhost:{host.port}:127.0.0.1 --noproxy '*' {url}
"""
        result = bash(who, code, "--net", f"localhost:{host.port}")
        assert result["stdout"] == "hello\n" * 5, result
        assert [(s[0], s[3]) for s in host.seen] == [("GET", b""), ("GET", b""), ("GET", b""), ("PUT", b"upload\n"), ("POST", b"chunked")], host.seen


def test_urllib_and_http_client(who):
    with Host() as host:
        code = f"""
import http.client, urllib.error, urllib.request
print(urllib.request.urlopen("http://localhost:{host.port}/a", data=b"x" * 300000).read())
c = http.client.HTTPConnection("127.0.0.1", 3128)
c.set_tunnel("localhost", {host.port})
c.request("GET", "/b"); print(c.getresponse().read())
try: urllib.request.urlopen("https://api.example.org/")
except urllib.error.URLError as e: print(e.reason)
"""
        answer = who.run(code, "--net", f"localhost:{host.port}")
        lines = answer.json["stdout"].splitlines()
        assert lines[:2] == ["b'hello'"] * 2 and "api.example.org:443: the host is not granted" in lines[2], answer
        assert len(host.seen[0][3]) == 300000


def test_requests(who):
    """The copy that pip has, so that no further package is needed."""
    if subprocess.run(["/usr/bin/python3", "-c", "import pip._vendor.requests"], capture_output=True).returncode != 0:
        pytest.skip("python3-pip is not installed, or brings no requests")
    with Host(answers={"/go": (302, {"Location": "/there"}, b"")}) as host:
        code = f"from pip._vendor import requests\nr = requests.post('http://localhost:{host.port}/go', json={{'a': 1}})\nprint(r.status_code, r.text)\nprint(requests.get('http://evil.test/').status_code)"
        answer = who.run(code, "--net", f"localhost:{host.port}")
        assert answer.json["stdout"] == "200 hello\n403\n", answer


def wheel(name):
    """The smallest package there is."""
    data = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "answer = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(data, "w") as archive:
        record = ""
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(text)}\n"
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return data.getvalue()


@NEEDS_PIP
def test_pip_from_an_index(who):
    html = {"Content-Type": "text/html"}
    file = "smallest-1.0-py3-none-any.whl"
    with Host(answers={"/simple/smallest/": (200, html, f'<a href="/files/{file}">{file}</a>'.encode()), f"/files/{file}": (200, {}, wheel("smallest"))}) as host:
        code = (
            f"/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --index-url http://localhost:{host.port}/simple/ --target /workspace/lib smallest "
            "&& PYTHONPATH=/workspace/lib /usr/bin/python3 -c 'import smallest; print(smallest.answer)'"
        )
        result = bash(who, code, "--net", f"localhost:{host.port}", "--timeout", "55")
        assert result["stdout"] == "42\n", result


@NEEDS_PIP
@pytest.mark.parametrize("command", ["pip install -q smallest==1.0", "python3 -m pip install --target /workspace/lib smallest==1.0", "python3 -Im pip download smallest==1.0"])
def test_pip_without_an_index_names_what_would_allow_it(who, command):
    result = who.run(f"{command} 2>&1; echo $?", "-l", "bash").json
    assert "belljar: this sandbox was granted no package index\n" in result["stdout"], result
    assert " (`net`)" in result["stdout"] and "an environment with smallest==1.0" in result["stdout"], result
    assert "Retrying" not in result["stdout"] and "externally" not in result["stdout"], result
    assert result["stdout"].endswith("\n1\n"), result


@NEEDS_PIP
def test_pip_started_by_python_names_what_would_allow_it(who):
    code = "import subprocess, sys; print(subprocess.run([sys.executable, '-m', 'pip', 'install', '-i', 'https://packages.example.org/simple', 'smallest'], capture_output=True, text=True).stderr)"
    result = who.run(code).json
    assert "grant packages.example.org (`net`)" in result["stdout"] and "an environment with smallest" in result["stdout"], result


@NEEDS_PIP
def test_pip_says_what_the_gate_refused(who):
    """An index that is not granted is named once; one that is granted and has no such package is not blamed on the gate."""
    with Host(answers={"/simple/smallest/": (404, {}, b"no")}) as host, Bait() as bait:
        code = "\n".join(f"pip install -i http://localhost:{port}/simple/ smallest 2>&1" for port in (bait.port, host.port))
        result = who.run(code, "-l", "bash", "--net", f"localhost:{host.port}").json
        assert f"grant localhost:{bait.port} (`net`)" in result["stdout"] and "Retrying" not in result["stdout"], result
        assert result["stdout"].count("belljar: ") == 1 and bait.touched == [], result
        assert [refusal["grant"] for refusal in result["net"]["refused"]] == [f"localhost:{bait.port}"], result


def test_other_programs_called_with_install_say_nothing_of_it(who):
    result = who.run("echo 'import sys; sys.exit(3)' > tool.py; python3 tool.py install x 2>&1; echo $?", "-l", "bash").json
    assert result["stdout"] == "3\n", result


def test_git_clone_over_http(who, base):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    place = os.path.join(base, f"git-{who.name}")
    quiet = {"check": True, "capture_output": True, "env": {"PATH": os.environ["PATH"], "HOME": base, "GIT_CONFIG_GLOBAL": "/dev/null"}}
    subprocess.run(["git", "init", "-q", "-b", "main", place + "-src"], **quiet)
    with open(f"{place}-src/hello.txt", "w", encoding="ascii") as file:
        file.write("cloned\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", place + "-src", "add", "."], **quiet)
    subprocess.run(["git", "-C", place + "-src", *identity, "commit", "-q", "-m", "one"], **quiet)
    subprocess.run(["git", "clone", "-q", "--bare", place + "-src", place + "/r.git"], **quiet)
    subprocess.run(["git", "-C", place + "/r.git", "update-server-info"], **quiet)
    files = {"/" + os.path.relpath(os.path.join(d, f), place): os.path.join(d, f) for d, _, fs in os.walk(place) for f in fs}
    answers = {path: (200, {"Content-Type": "text/plain"}, open(name, "rb").read()) for path, name in files.items()}

    class Missing(dict):
        def get(self, key, default=None):
            return dict.get(self, key, (404, {}, b"no"))

    with Host(answers=Missing(answers)) as host, Bait() as bait:
        code = f"git clone -q http://localhost:{host.port}/r.git c && cat c/hello.txt; git clone -q http://localhost:{bait.port}/r.git d 2>&1 | grep -o 'error: 403'"
        result = bash(who, code, "--net", f"localhost:{host.port}", "--timeout", "55")
        assert result["stdout"] == "cloned\nerror: 403\n", result
        assert bait.touched == []


def test_bytes_flow_both_ways_at_once_in_a_tunnel(who):
    """As a WebSocket does: neither side waits for the other, and either may end first."""
    listener = socket.create_server(("127.0.0.1", 0))

    def echo():
        peer, _ = listener.accept()
        peer.sendall(b"first\n")
        while data := peer.recv(65536):
            peer.sendall(data)
        peer.sendall(b"last\n")
        peer.close()

    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    code = f"""
import socket, threading
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT localhost:{port} HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n")
f = s.makefile("rb")
while f.readline().strip(): pass
print(f.readline())
def pour():
    for _ in range(64): s.sendall(b"x" * 65536)
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=pour); t.start()
rest = f.read()
print(len(rest), rest[-5:])
"""
    answer = who.run(code, "--net", f"localhost:{port}")
    thread.join(belljar.HANG_SECONDS)
    listener.close()
    assert answer.json["stdout"] == f"b'first\\n'\n{64 * 65536 + 5} b'last\\n'\n", answer


# --- WebSockets ---


def frame(payload, opcode=1):
    """Of a server: whole, without a mask."""
    size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2, "big")
    return bytes([0x80 | opcode]) + size + payload


def read_frame(file):
    """(opcode, payload) of a client's frame, which has to have a mask."""
    first, second = file.read(2)
    assert second & 0x80, "a client masks"
    size = second & 0x7F
    size = int.from_bytes(file.read(2), "big") if size == 126 else size
    mask, data = file.read(4), file.read(size)
    return first & 15, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


class WebSocketHost:
    """Greets each client, and says everything back in capitals until it says goodbye. `said` has what came."""

    def __init__(self):
        self.said = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.talk, args=(self.listener.accept()[0],), daemon=True).start()

    def talk(self, peer):
        with contextlib.suppress(OSError, ValueError), peer, peer.makefile("rb") as file:
            head = {}
            while line := file.readline().strip().decode():
                name, _, value = line.partition(": ")
                head[name.lower()] = value
            key = base64.b64encode(hashlib.sha1((head["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            peer.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {key}\r\n\r\n".encode())
            peer.sendall(frame(b"welcome"))
            while True:
                opcode, data = read_frame(file)
                self.said.append((opcode, data))
                peer.sendall(frame(data if opcode == 8 else data.upper(), opcode))
                if opcode == 8:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def test_a_websocket_by_hand(who):
    """The handshake and frames of RFC 6455 through a tunnel, with nothing but Python's own."""
    code = """
import base64, hashlib, os, socket, sys
port = int(sys.argv[1])
s = socket.create_connection(("127.0.0.1", 3128)); f = s.makefile("rb")
def head(text):
    s.sendall(text.encode()); lines = []
    while line := f.readline().strip().decode(): lines.append(line)
    return lines
print(head(f"CONNECT localhost:{port} HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n")[0])
key = base64.b64encode(os.urandom(16)).decode()
said = head(f"GET /chat HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: {key}\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n")
want = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
print(said[0], f"Sec-WebSocket-Accept: {want}" in said)
def send(opcode, data):
    mask = os.urandom(4)
    s.sendall(bytes([0x80 | opcode, 0x80 | len(data)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))
def get():
    first, size = f.read(2); return first & 15, f.read(size)
print(get())
for word in (b"one", b"two"):
    send(1, word); print(get())
send(8, b""); print(get(), f.read())
"""
    with WebSocketHost() as host:
        path = who.file(f"websocket-{host.port}.py", code)
        answer = who.run(None, "--net", f"localhost:{host.port}", path, str(host.port))
        lines = answer.json["stdout"].splitlines()
        assert lines[0].startswith("HTTP/1.1 200") and lines[1] == "HTTP/1.1 101 Switching Protocols True", answer
        assert lines[2:] == ["(1, b'welcome')", "(1, b'ONE')", "(1, b'TWO')", "(8, b'') b''"], answer
        assert answer.json["net"]["connections"] == 1 and host.said == [(1, b"one"), (1, b"two"), (8, b"")], host.said


def test_a_websocket_library(who):
    """It takes the proxy from the environment, and bypasses it for localhost by default."""
    if subprocess.run(["/usr/bin/python3", "-c", "import websocket"], capture_output=True).returncode != 0:
        pytest.skip("python3-websocket is not installed")
    with WebSocketHost() as host, Bait() as bait:
        code = f"""
import os, websocket
os.environ["no_proxy"] = "nobody.invalid"
w = websocket.create_connection("ws://localhost:{host.port}/chat", timeout=30)
print(w.recv()); w.send("x" * 1000); print(len(w.recv())); w.close()
try: websocket.create_connection("ws://localhost:{bait.port}/", timeout=30)
except websocket.WebSocketProxyException as error: print("refused", "403" in str(error))
"""
        answer = who.run(code, "--net", f"localhost:{host.port}")
        assert answer.json["stdout"] == "welcome\n1000\nrefused True\n", answer
        assert host.said[0] == (1, b"x" * 1000) and bait.touched == []


# --- npm ---


def tarball(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo("package/" + name)
            info.size, info.mode = len(text), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def test_npm_from_a_registry(who):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    manifest = {"name": "smallest", "version": "1.0.0", "main": "index.js"}
    packed = tarball({"package.json": json.dumps(manifest), "index.js": "module.exports = 42;\n"})
    with Host() as host, Bait() as bait:
        dist = {"tarball": f"http://localhost:{host.port}/smallest/-/smallest-1.0.0.tgz", "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()}
        about = {"name": "smallest", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {**manifest, "dist": dist}}}
        host.answers["/smallest"] = (200, {"Content-Type": "application/json"}, json.dumps(about).encode())
        host.answers["/smallest/-/smallest-1.0.0.tgz"] = (200, {}, packed)
        quiet = "--no-audit --no-fund --no-update-notifier --fetch-retries=0 --loglevel=error"
        code = (
            f"npm install {quiet} --registry http://localhost:{host.port}/ smallest >/dev/null && node -p 'require(\"smallest\")'; "
            f"npm install {quiet} --registry http://localhost:{bait.port}/ nothing 2>&1 | grep -o 'not granted' | head -n 1"
        )
        result = bash(who, code, "--net", f"localhost:{host.port}", "--timeout", str(belljar.HANG_SECONDS), "--memory", "1024")
        assert result["stdout"] == "42\nnot granted\n", result
        assert "/smallest" in [path for _, path, _, _ in host.seen] and bait.touched == []
