"""The Python client in both of its ways, used alike, and servers that treat it badly."""
import asyncio
import concurrent.futures
import inspect
import socket
import sys
import threading

from belljar import ROOT

PACKAGE = ROOT / "sdk" / "python"
sys.path.insert(0, str(PACKAGE))

import belljar_client  # noqa: E402


class Loop:
    """An event loop in a thread of its own, so that threads of a test can wait for it."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine):
        async def whole():
            return await coroutine

        try:
            return asyncio.run_coroutine_threadsafe(whole(), self.loop).result()
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError from None

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Awaited:
    """An object of the asynchronous client, used as if it were one of the blocking client."""

    def __init__(self, target, loop):
        self.__dict__.update(target=target, loop=loop)

    def wrap(self, value):
        if inspect.isawaitable(value):
            return self.wrap(self.loop.run(value))
        if isinstance(value, list):
            return [self.wrap(v) for v in value]
        if inspect.ismethod(value):
            return lambda *args, **more: self.wrap(value(*args, **more))
        if hasattr(value, "__anext__") or type(value).__name__.startswith("Async"):
            return Awaited(value, self.loop)
        return value

    def __getattr__(self, name):
        return self.wrap(getattr(self.target, name))

    def __repr__(self):
        return repr(self.target)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.loop.run(self.target.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self):
        return self.wrap(self.target.__aenter__())

    def __exit__(self, *reason):
        self.loop.run(self.target.__aexit__(*reason))

    def close(self):
        self.loop.run(self.target.aclose() if hasattr(self.target, "aclose") else self.target.close())


class Ways:
    """Makes clients of one way, and closes them."""

    def __init__(self, way):
        self.way = way
        self.loop = Loop() if way == "AsyncClient" else None
        self.made = []

    def client(self, *args, **more):
        made = getattr(belljar_client, self.way)(*args, **more)
        made = Awaited(made, self.loop) if self.loop else made
        self.made.append(made)
        return made

    def close(self):
        for client in self.made:
            client.close()
        if self.loop:
            self.loop.close()


class Cutting:
    """Passes bytes on to a server, and cuts each connection after so many bytes from there; 0: never.

    `accepted` counts connections with a request. A client may open one that it does not use: after a break, Node's fetch() sometimes does.
    """

    def __init__(self, port, *cuts):
        self.port = port
        self.cuts = list(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.accepted = 0
        self.lock = threading.Lock()
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            first = client.recv(4096)
        except OSError:
            return
        if not first:
            return
        with self.lock:
            self.accepted += 1
            cut = self.cuts.pop(0) if self.cuts else 0
        server = socket.create_connection(("127.0.0.1", self.port))
        self.sockets.append(server)
        server.sendall(first)
        threading.Thread(target=self.pass_on, args=(server, client, cut), daemon=True).start()
        self.pass_on(client, server, 0)

    def pass_on(self, source, target, cut):
        passed = 0
        try:
            while data := source.recv(4096):
                if cut and passed + len(data) > cut:
                    target.sendall(data[: cut - passed])
                    break
                target.sendall(data)
                passed += len(data)
        except OSError:
            pass
        for s in (source, target):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        for s in self.sockets:
            s.close()


class Saying:
    """A server that answers each request with the next of these bytes, whatever is asked, and keeps what was asked."""

    def __init__(self, *answers, closes=True):
        self.answers = list(answers)
        self.closes = closes
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            try:
                self.talk(client)
            except OSError:
                pass  # the client went away

    def talk(self, client):
        client.settimeout(60)
        while self.answers:
            if not self.read_request(client):
                return
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            for piece in answer if isinstance(answer, (list, tuple)) else [answer]:
                client.sendall(piece)
            if self.closes:
                return

    def read_request(self, client):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = client.recv(65536)
            if not piece:
                return False
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while length and len(rest) < length[0]:
            rest += client.recv(65536)
        self.asked.append((head, rest))
        return True

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.answers = []
        self.listener.close()


def answer(body, status="200 OK", headers=(), length=None):
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
