"""`belljar serve` for a test: started on a port of the kernel's choice, asked over plain sockets, ended with the test."""
import http.client
import json
import os
import re
import signal
import subprocess
import threading

# Nothing here measures time; the first answer waits for a warm interpreter, on a machine that is busy with other tests.
PATIENCE = 120


class Reply:
    """Status, headers and body of one answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body.decode("utf-8", "strict"))

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)}\n{self.body[:3000]!r}>"


class Server:
    def __init__(self, who, *args, auth=False, socket="none", env=None):
        words = ["serve", "--listen", "127.0.0.1:0", "--socket", socket, *([] if auth else ["--no-auth"]), *args]
        self.process = who.start(*words, env=env, stderr=subprocess.STDOUT)
        self.lines = []
        self.port = self.socket = self.token_path = None
        for line in self.process.stdout:
            text = line.decode()
            self.lines.append(text)
            self.note(text)
            if "token" in text:
                break
        if not self.port:
            self.stop()
            raise AssertionError("no server: " + "".join(self.lines))
        self.token = self.read_token()
        threading.Thread(target=self.drain, daemon=True).start()

    def note(self, text):
        if match := re.search(r"listening on http://127\.0\.0\.1:(\d+)", text):
            self.port = int(match[1])
        elif match := re.search(r"listening on (/.*)", text):
            self.socket = match[1]
        elif match := re.search(r"the token is in (/.*)", text):
            self.token_path = match[1]

    def read_token(self):
        if not self.token_path:
            return None
        with open(self.token_path) as file:
            return file.read().strip()

    def drain(self):
        """What is said later must not fill the pipe."""
        for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace"))

    def stop(self, sig=signal.SIGTERM):
        """Ends it and returns its exit status."""
        if self.process.poll() is None:
            os.kill(self.process.pid, sig)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None, connection=None):
        """One request. A body that is not bytes is sent as JSON; with bytes the headers are the caller's."""
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        own = connection or self.connect()
        try:
            own.request(method, path, body=body, headers=headers)
            answer = own.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            if connection is None:
                own.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)

    def post_raw(self, path, body, content_type="application/json"):
        return self.ask("POST", path, body, {"Content-Type": content_type} if content_type else {})
