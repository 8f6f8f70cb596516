"""One table of cases for all clients: tests/data/client_cases.json.

A case is a list of steps. `do` is a method, named as in Python; `args` and `fields` are its arguments, and the value, with all items of
an iterator (`take`: only the first), is kept under the name `as`. `gives` is what the value has at the places that it names, `fails` what
the error has, `joins` the text of all events of stdout. With `until`, the step is repeated until it fits.

In values, {"of": "r.id"} is a part of an earlier value, {"bytes": [0, 255]} is binary, {"repeat": "x", "times": 9} is long, {"new": "key"}
is a new text, kept under that name, and {new}, {rw}, {cow} within a text are a name and two directories. In expectations,
{"matches": "…"} is a regular expression.

Of the case: `client` has options; `cut` cuts connections after so many bytes, `connections` is how many there have to be, or `at_least`;
`says` are the answers of a stand-in for a server, `requests` is how many requests it has to get; `server` is another address, or `closed`;
`refuses` is the error of the client's constructor.
"""
import contextlib
import json
import re
import socket
import subprocess
import time
import uuid

import belljar
from client_ways import Cutting, Saying, answer, belljar_client

CASES = json.loads((belljar.ROOT / "tests/data/client_cases.json").read_text(encoding="utf-8"))
TYPESCRIPT = belljar.ROOT / "sdk/typescript/src/index.js"

SUCCESS = b'{"id":"run_1","status":"success","exit_code":0,"stdout":"","stderr":""}'


def error_body(code, message):
    return json.dumps({"error": {"code": code, "message": message, "hint": None}}).encode()


ANSWERS = {
    "200 OK": answer(SUCCESS),
    "200 list": answer(b"[1]"),
    "302 Found": answer(b"", "302 Found", ["Location: /v1/runs"]),
    "400 escape": answer(error_body("invalid", "bad \x1b[31m\u202e"), "400 Bad Request"),
    "429 Too Many Requests": answer(error_body("busy", "full"), "429 Too Many Requests", ["Retry-After: 1"]),
    "429 later": answer(error_body("busy", "full"), "429 Too Many Requests", ["Retry-After: 3600"]),
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "502 Bad Gateway": answer(b"<html>", "502 Bad Gateway"),
}


class Failed(Exception):
    """An error of the client; `fields` has what the case asks for, and its class."""

    def __init__(self, fields):
        super().__init__(fields)
        self.fields = fields


# --- the two clients ---


def project(value, shape):
    """Returns the parts of a value that the shape names."""
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": list(value)}
    if isinstance(shape, list) and isinstance(value, list):
        return [project(one, shape[i] if i < len(shape) else None) for i, one in enumerate(value)]
    if isinstance(shape, dict) and not isinstance(value, (str, int, float, type(None))):
        return {name: project(part(value, name), inside) for name, inside in shape.items()}
    return value


def part(value, name):
    if isinstance(value, dict):
        return value.get(name)
    return value[int(name)] if isinstance(value, list) else getattr(value, name, None)


class Python:
    """The client for Python, which waits."""

    def __init__(self):
        self.variables = {}

    def close(self):
        if "client" in self.variables:
            self.variables.pop("client").close()

    @contextlib.contextmanager
    def errors(self, shape):
        try:
            yield
        except belljar_client.BelljarError as e:
            raise Failed({**project(e, shape), "class": type(e).__name__}) from e

    def open(self, options, shape):
        self.close()
        with self.errors(shape):
            self.variables = {"client": belljar_client.Client(options.pop("server"), **options)}

    def value(self, path):
        value = self.variables
        for name in path.split("."):
            value = part(value, name)
        return value

    def given(self, value):
        if isinstance(value, list):
            return [self.given(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "of" in value:
            return self.value(value["of"])
        if "bytes" in value:
            return bytes(value["bytes"])
        return value["repeat"] * value["times"] if "repeat" in value else {k: self.given(v) for k, v in value.items()}

    def call(self, step, shape, errors):
        owner, _, method = step["do"].rpartition(".")
        with self.errors(errors):
            value = getattr(self.value(owner), method)(*self.given(step.get("args", [])), **self.given(step.get("fields", {})))
            if "take" in step or hasattr(value, "__next__"):
                value = self.items(value, step.get("take"))
            if hasattr(value, "__enter__") and method == "session":
                value = value.__enter__()
        if "as" in step:
            self.variables[step["as"]] = value
        return project(value, shape)

    def items(self, value, take):
        found = []
        for item in value:
            found.append(item)
            if len(found) == take:
                break
        if hasattr(value, "close"):
            value.close()
        return found


class TypeScript:
    """The client for TypeScript, in a process of Node."""

    def __init__(self, module=TYPESCRIPT, command=("node",)):
        self.process = subprocess.Popen(
            [*command, str(belljar.ROOT / "tests/lib/client_cases.mjs"), str(module)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self):
        _, said = self.process.communicate(timeout=belljar.HANG_SECONDS)
        assert self.process.returncode == 0, said

    def ask(self, command, **more):
        self.process.stdin.write(json.dumps({"command": command, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the process of Node ended: {self.process.stderr.read()}"
        outcome = json.loads(line)
        if "fails" in outcome:
            raise Failed(outcome["fails"])
        return outcome["gives"]

    def open(self, options, shape):
        self.ask("open", options=options, errors=shape)

    def value(self, path):
        return self.ask("value", of=path)

    def call(self, step, shape, errors):
        return self.ask("call", **{k: v for k, v in step.items() if k in ("do", "args", "fields", "take", "as")}, shape=shape, errors=errors)


# --- judging ---


def plain(expected):
    """The shape of an expectation: what is compared as a whole has none."""
    if isinstance(expected, list):
        return [plain(e) for e in expected]
    if isinstance(expected, dict) and not {"of", "bytes"} & set(expected) and not isinstance(expected.get("matches"), str):
        return {k: plain(v) for k, v in expected.items()}
    return None


def fits(value, expected, client):
    if isinstance(expected, dict):
        if isinstance(expected.get("matches"), str):
            return isinstance(value, str) and bool(re.search(expected["matches"], value))
        if "of" in expected:
            return value == client.value(expected["of"])
        return isinstance(value, dict) and all(fits(value.get(k), e, client) for k, e in expected.items())
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(fits(v, e, client) for v, e in zip(value, expected))
    return type(value) in (type(expected), float) and value == expected


def filled(value, names):
    """With the names that the case leaves open."""
    if isinstance(value, str):
        return re.sub(r"\{(new|rw|cow)\}", lambda m: names[m[1]], value)
    if isinstance(value, list):
        return [filled(v, names) for v in value]
    if isinstance(value, dict):
        if "new" in value and len(value) == 1 and isinstance(value["new"], str):
            return names.setdefault(f"={value['new']}", str(uuid.uuid4()))
        if "of" in value and f"={value['of']}" in names:
            return names[f"={value['of']}"]
        return {filled(k, names): filled(v, names) for k, v in value.items()}
    return value


def run_step(step, client):
    expected, errors = step.get("gives"), step.get("fails", {})
    shape = [{"kind": None, "data": {"text": None}}] * 200 if "joins" in step else plain(expected)
    try:
        value = client.call(step, shape, plain({k: v for k, v in errors.items() if k != "class"}))
    except Failed as failed:
        assert errors, f"{step['do']}: {failed.fields}"
        assert fits(failed.fields, errors, client), f"{step['do']}: the error has {failed.fields}, expected {errors}"
        return True
    assert not errors, f"{step['do']}: no error, but {value}"
    if "joins" in step:
        value, expected = "".join(e["data"]["text"] for e in value if e["kind"] == "stdout"), step["joins"]
    good = ("gives" not in step and "joins" not in step) or fits(value, expected, client)
    assert good or step.get("until"), f"{step['do']}: gives {value}, expected {expected}"
    return good


def run_case(case, client, server, directories):
    """Asserts all that the case says."""
    names = {"new": f"c{uuid.uuid4().hex[:12]}", **{k: str(v) for k, v in directories.items()}}
    with contextlib.ExitStack() as stack:
        front = None
        if "cut" in case:
            front = stack.enter_context(Cutting(server.port, *case["cut"]))
        elif "says" in case:
            front = stack.enter_context(Saying(*(ANSWERS[name] for name in case["says"])))
        url = case.get("server") or (front.url if front else f"http://127.0.0.1:{server.port}")
        if url == "closed":
            closed = stack.enter_context(socket.socket())
            closed.bind(("127.0.0.1", 0))  # and nobody listens
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        options = {"server": url, "token": server.token, **case.get("client", {})}
        refuses = case.get("refuses")
        try:
            client.open(options, plain({k: v for k, v in refuses.items() if k != "class"}) if refuses else {})
        except Failed as failed:
            assert refuses and fits(failed.fields, refuses, client), failed.fields
            return
        assert not refuses, "the client takes it"
        for step in filled(case["steps"], names):
            deadline = time.monotonic() + belljar.HANG_SECONDS
            while not run_step(step, client):
                assert time.monotonic() < deadline, f"{step['do']}: not {step['gives']} in time"
                time.sleep(0.02)
        if "connections" in case:
            assert front.accepted == case["connections"]
        if "at_least" in case:
            assert front.accepted >= case["at_least"]
        if "requests" in case:
            assert len(front.asked) == case["requests"]
