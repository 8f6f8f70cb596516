"""`belljar mcp` as a process of a test: raw lines in, parsed lines out, in both eras of the protocol."""
import json
import os
import queue
import subprocess
import threading

import belljar
import serving

META = "io.modelcontextprotocol/"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
TASKS = {"extensions": {META + "tasks": {}}}


def modern(capabilities=None, **more):
    """The `_meta` of a modern request."""
    return {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {}, **more}


class Client:
    def __init__(self, who, *args, env=None, start=None):
        self.process = (start or who.start)(
            "mcp", *args, env={**serving.PLAIN, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines = queue.Queue()
        self.errors = []
        self.notices = []
        self.answers = {}
        self.last_id = 1000
        threading.Thread(target=self.read, daemon=True).start()
        self.complaints = threading.Thread(target=self.read_errors, daemon=True)
        self.complaints.start()

    def read(self):
        try:
            for line in self.process.stdout:
                self.lines.put(line)
        except ValueError:  # the test has closed it
            pass
        self.lines.put(None)

    def read_errors(self):
        self.errors.extend(self.process.stderr)

    # --- out ---

    def raw(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else data.encode())
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message) + "\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def ask(self, method, params=None, id=None):
        """Sends a request and returns its id."""
        if id is None:
            self.last_id += 1
            id = self.last_id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params is not None else {})})
        return id

    # --- in ---

    def line(self, timeout=belljar.HANG_SECONDS):
        """The next message, None at the end. Every line is one object of JSON, or the test fails."""
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"nothing came for {timeout} s; stderr: {b''.join(self.errors)[:2000]}") from None
        if line is None:
            return None
        assert line.endswith(b"\n"), line[:200]
        return json.loads(line.decode("utf-8", "strict"), parse_constant=belljar.reject_constant)

    def answer(self, id, timeout=belljar.HANG_SECONDS):
        """The answer to that id; what else comes is kept."""
        while json.dumps(id) not in self.answers:
            message = self.line(timeout)
            assert message is not None, f"the server ended; stderr: {b''.join(self.errors)[:2000]}"
            if "method" in message or not isinstance(message, dict):
                self.notices.append(message)
            else:
                self.answers[json.dumps(message.get("id"))] = message
        return self.answers.pop(json.dumps(id))

    def notice(self, method, timeout=belljar.HANG_SECONDS):
        """The next notice of that method."""
        while True:
            for at, message in enumerate(self.notices):
                if message.get("method") == method:
                    return self.notices.pop(at)
            message = self.line(timeout)
            assert message is not None, f"no {method} before the end"
            if "method" in message:
                self.notices.append(message)
            else:
                self.answers[json.dumps(message.get("id"))] = message

    # --- both ---

    def request(self, method, params=None, id=None, **more):
        return self.answer(self.ask(method, params, id), **more)

    def initialize(self, version=LEGACY, capabilities=None):
        answer = self.request(
            "initialize",
            {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "test", "version": "1"}},
        )
        self.notify("notifications/initialized")
        return answer["result"]

    def call(self, name, arguments=None, meta=None, **more):
        """A tool's result."""
        params = {"name": name, **({"arguments": arguments} if arguments is not None else {}), **({"_meta": meta} if meta else {})}
        answer = self.request("tools/call", params, **more)
        assert "result" in answer, answer
        return answer["result"]

    def text(self, name, arguments=None, **more):
        return text_of(self.call(name, arguments, **more))

    # --- the end ---

    def close(self):
        """The end of the input; the exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout=belljar.HANG_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        try:
            if not self.process.stdin.closed:
                self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=belljar.HANG_SECONDS)
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, 9)
            raise
        self.complaints.join(timeout=belljar.HANG_SECONDS)
        assert b"Sanitizer" not in b"".join(self.errors), b"".join(self.errors).decode("utf-8", "replace")


def text_of(result):
    return "".join(c["text"] for c in result["content"] if c["type"] == "text")
