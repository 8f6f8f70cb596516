#!/usr/bin/python3
"""gate.py [MEGABYTES]: bytes through the gate, against the same program on a direct loopback connection.

The same few lines of Python read from the same host: outside, straight; and in a sandbox, through the gate as a plain request, as a CONNECT
tunnel and over SOCKS 5. The best of three rounds, megabytes a second; and the time of one small request, the median of 200.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, os.environ.get("BELLJAR_BUILD", "build"), "belljar")

READ = """
import json, socket, statistics, sys, time
how, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
head = b"GET %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n"
url = b"http://127.0.0.1:%d/" % port
def once(n):
    s = socket.create_connection(("127.0.0.1", port if how == "direct" else 3128))
    if how == "connect":
        s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n" % port); s.recv(100)
    if how == "socks":
        s.sendall(b"\\5\\1\\0"); s.recv(2); s.sendall(b"\\5\\1\\0\\1\\x7f\\0\\0\\1" + port.to_bytes(2, "big")); s.recv(10)
    s.sendall(head % ((url if how == "http" else b"/") + b"%d" % n, port))
    buffer, got = bytearray(1 << 20), 0
    while part := s.recv_into(buffer):
        got += part
    assert got > n, got
def timed(n):
    started = time.perf_counter(); once(n); return time.perf_counter() - started
print(json.dumps({"mb_s": size / 1e6 / min(timed(size) for _ in range(3)), "ms": statistics.median(timed(1) for _ in range(200)) * 1e3}))
"""


def serve(listener):
    block = b"x" * (1 << 20)

    def answer(peer):
        with peer:
            head = b""
            while b"\r\n\r\n" not in head:
                part = peer.recv(65536)
                if not part:
                    return
                head += part
            left = int(head.split()[1].rpartition(b"/")[2])
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while left:
                left -= peer.send(block[: min(left, len(block))])

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def main(megabytes):
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    port, size = listener.getsockname()[1], megabytes * 1000000
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(READ)
        program.flush()
        os.chmod(program.name, 0o644)
        for how in ("direct", "http", "connect", "socks"):
            words = [how, str(port), str(size)]
            command = ["/usr/bin/python3", program.name, *words]
            if how != "direct":
                command = [PROGRAM, "run", "--profile", "open", "--timeout", "300", "--net", f"127.0.0.1:{port}", program.name, "--", *words]
            result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "BELLJAR_NET_MB": "100000"}).stdout)
            print(f"{how:8} {result['mb_s']:8.0f} MB/s   {result['ms']:6.2f} ms a request")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
