#!/usr/bin/python3
"""good_http.py [--era E] [--events] [--token T] [--pings N]: the server of good.py over HTTP, for tests. Prints its port.

With sessions in the legacy era, answers as JSON or as events, and some paths that misbehave.
"""
import argparse
import json
import ssl
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import good  # noqa: E402


# Ambiguous responses, each on its own.
BAD_HEADS = {
    "both": b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "lengths": b"Content-Length: 2\r\ncontent-length: 2\r\n\r\n{}",
    "extension": b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n",
    "trailer": b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n",
    "folded": b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "sessions": b"Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nContent-Length: 2\r\n\r\n{}",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = set()
    options = None
    replies = 0
    many = threading.Event()

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, message):
        """The answer as events, in chunks that cut it anywhere, behind a comment and a notice."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        notice = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
        data = json.dumps(message, indent=1).replace("\n", "\ndata: ")
        text = f": hello\r\n\r\nevent: message\r\nid: 1\r\ndata: {notice}\r\n\r\nevent: message\ndata: {data}\n\n".encode()
        for at in range(0, len(text), 1000):
            piece = text[at:at + 1000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def ping(self, message):
        """Asks us N times whether we are there before it answers, and says how many replies it had by then. It leaves them without an answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number in range(self.options.pings):
            self.wfile.write(b"data: %s\n\n" % json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode())
        self.wfile.flush()
        self.many.wait(2)
        result = {"content": [], "structuredContent": {"sum": Handler.replies}}
        self.wfile.write(b"data: %s\n\n" % json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())
        self.close_connection = True

    def hold(self):
        """One of those replies."""
        Handler.replies += 1
        if Handler.replies == self.options.pings:
            self.many.set()
        self.rfile.read()

    def bad(self, kind):
        """Breaks a rule, by the last part of the path."""
        if kind == "status":
            self.wfile.write(b"HTTP/9 nonsense\r\n\r\n")
        elif kind == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        elif kind == "elsewhere":
            self.answer(302, Location="http://127.0.0.1:1/")
        elif kind == "html":
            self.answer(200, b"<html>hello</html>", "text/html")
        elif kind == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            while True:
                self.wfile.write(b": nothing to say " * 4096 + b"\n")
        elif kind == "head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X: y\r\n" * 1000)
        elif kind in BAD_HEADS:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + BAD_HEADS[kind])
        elif kind == "unavailable":
            self.answer(503)
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        o = self.options
        if self.path.startswith("/bad/"):
            try:
                self.bad(self.path[5:])
            except OSError:
                pass
            return
        if o.token and self.headers.get("Authorization") != f"Bearer {o.token}":
            self.answer(401)
            return
        message = json.loads(body)
        params = message.get("params", {})
        is_modern = good.META + "protocolVersion" in params.get("_meta", {})
        session = self.headers.get("Mcp-Session-Id")
        if "method" not in message:
            self.hold()
            return
        if o.pings and message["method"] == "tools/call":
            self.ping(message)
            return
        if "id" not in message:
            self.answer(202)
            return
        if is_modern:
            name = params.get("name") if message["method"] == "tools/call" else None
            told = (self.headers.get("MCP-Protocol-Version"), self.headers.get("Mcp-Method"), self.headers.get("Mcp-Name"))
            if told != (good.MODERN, message["method"], name):
                self.answer(400, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32020, "message": str(told)}}).encode())
                return
        elif message["method"] != "initialize" and o.era != "modern":
            if session not in self.sessions or self.headers.get("MCP-Protocol-Version") not in good.LEGACY:
                self.answer(404)
                return
        result = good.answer(o, message)
        headers = {}
        if message["method"] == "initialize" and result:
            headers["Mcp-Session-Id"] = uuid.uuid4().hex
            self.sessions.add(headers["Mcp-Session-Id"])
        if result is None:
            reply = {"error": {"code": -32601, "message": "not here"}}
        else:
            reply = {"result": {"resultType": "complete", **result} if is_modern else result}
        reply = {"jsonrpc": "2.0", "id": message["id"], **reply}
        if message["method"] == "tools/call" and params["name"] == "fail":
            self.sessions.clear()  # as a server does that was started again
        if o.events and not headers:
            self.stream(reply)
        else:
            self.answer(404 if is_modern and result is None else 200, json.dumps(reply).encode(), **headers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="both")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("--pings", type=int, default=0)
    parser.add_argument("--tls", help="a file with certificate and key")
    Handler.options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if Handler.options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Handler.options.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
