"""Hosts on loopback for tests of the gate: one that answers and remembers, and one that nobody may ever reach."""
import contextlib
import http.server
import socket
import socketserver
import ssl
import threading


class Host:
    """An HTTP server. `seen` has what arrived: (method, path, headers, body)."""

    def __init__(self, address="127.0.0.1", port=0, answers=None, tls=None, family=socket.AF_INET):
        seen = self.seen = []
        answers = self.answers = answers or {}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def body(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    data = b""
                    while size := int(self.rfile.readline(), 16):
                        data += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                    return data
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            def answer(self):
                body = self.body()
                seen.append((self.command, self.path, dict(self.headers.items()), body))
                status, headers, text = answers.get(self.path.split("?")[0], (200, {}, b"hello"))
                if callable(text):
                    self.send_response(status)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        text(self.wfile)
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

            def log_message(self, *words):
                pass

        class Serving(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            address_family = family

            def handle_error(self, request, client_address):
                pass

        self.server = Serving((address, port), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://{address}:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Bait:
    """A listener. Whoever connects is counted; nobody should."""

    def __init__(self, address="127.0.0.1", port=0):
        self.touched = []
        self.socket = socket.create_server((address, port))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.thread.start()

    def wait(self):
        with contextlib.suppress(OSError):
            while True:
                peer, address = self.socket.accept()
                self.touched.append(address)
                peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
