"""A client of the interface of E2B, in its own protocols and without its packages."""
import base64
import contextlib
import json
import struct

ENVD, INTERPRETER = "49983", "49999"


def key(server):
    return {"X-API-KEY": "e2b_" + server.token.removeprefix("bj_"), "Authorization": None}


def control(server, method, path, body=None, headers=None):
    return server.call(method, f"/e2b{path}", body, {**key(server), **(headers or {})})


class Sandbox:
    """One sandbox and the ways to talk to it."""

    def __init__(self, server, **fields):
        self.server = server
        reply = control(server, "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60, **fields})
        assert reply.status == 201, reply
        self.made = reply.json
        self.id = self.made["sandboxID"]

    def headers(self, port=ENVD, **more):
        return {
            "Authorization": "Basic " + base64.b64encode(b"user:").decode(), "E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": port,
            "X-Access-Token": self.made["envdAccessToken"], **more,
        }  # fmt: skip

    def call(self, method, path, body=None, port=ENVD, **headers):
        return self.server.call(method, f"/e2b{path}", body, self.headers(port, **{k.replace("_", "-"): v for k, v in headers.items()}))

    def rpc(self, method, body=None, **headers):
        return self.call("POST", f"/{method}", body or {}, **headers)

    def stream_raw(self, method, data, **headers):
        return self.call("POST", f"/{method}", data, Content_Type="application/connect+json", **headers)

    def stream(self, method, body, **headers):
        """The messages of a stream, and how it ended."""
        message = json.dumps(body).encode()
        reply = self.stream_raw(method, struct.pack(">BI", 0, len(message)) + message, **headers)
        assert reply.status == 200, reply
        return split(reply.body)

    def run(self, line, limit_ms=None, **fields):
        """(stdout, stderr, the end event or the error)"""
        headers = {"Connect_Timeout_Ms": str(limit_ms)} if limit_ms else {}
        messages, end = self.stream("process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-c", line]}, "stdin": False, **fields}, **headers)
        events = [m["event"] for m in messages]
        assert events[0]["start"]["pid"] > 0, events
        data = [e["data"] for e in events if "data" in e]
        out, err = (b"".join(base64.b64decode(d[name]) for d in data if name in d).decode() for name in ("stdout", "stderr"))
        return out, err, end.get("error") or events[-1]["end"]

    def execute(self, code, **fields):
        reply = self.call("POST", "/execute", {"code": code, **fields}, port=INTERPRETER)
        assert reply.status == 200, reply
        assert reply.body.isascii() and b"\n\n" not in reply.body
        lines = [json.loads(line) for line in reply.body.decode("ascii").splitlines()]
        assert lines[0]["type"] == "number_of_executions" and lines[-1] == {"type": "end_of_execution"}, lines
        found = []
        for line in lines[1:-1]:  # where a stream is cut is nobody's promise
            if found and line["type"] == found[-1]["type"] and "timestamp" in line:
                found[-1]["text"] += line["text"]
            else:
                found.append(line)
        return found


def split(data):
    """The messages of envelopes, and the last one."""
    messages = []
    while data:
        flags, length = struct.unpack(">BI", data[:5])
        message, data = json.loads(data[5 : 5 + length]), data[5 + length :]
        if flags == 2:
            assert not data, data
            return messages, message
        assert flags == 0, flags
        messages.append(message)
    raise AssertionError(f"a stream without an end: {messages}")


@contextlib.contextmanager
def made(server, **fields):
    sandbox = Sandbox(server, **fields)
    yield sandbox
    control(server, "DELETE", f"/sandboxes/{sandbox.id}")
