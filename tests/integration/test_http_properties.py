"""Requests made from /openapi.json, good ones and broken ones: what is answered is what the document says, and never a 500.

    BELLJAR_TEST_EXAMPLES=500     more of them, and other ones each time
"""
import io
import json
import os
import string
import urllib.parse
import zipfile

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving import Server

EXAMPLES = int(os.environ.get("BELLJAR_TEST_EXAMPLES", "0"))

settings.register_profile(
    "belljar", deadline=None, database=None, max_examples=EXAMPLES or 25, derandomize=not EXAMPLES, print_blob=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
settings.load_profile("belljar")

# The status of each error code; HTTP has statuses of its own beside them.
STATUS = {"invalid": {400, 405, 408, 409, 415, 416, 417, 422, 505}, "auth": {401}, "denied": {403}, "not_found": {404},
          "busy": {429, 503}, "too_large": {413, 431}, "unsupported": {501}}  # fmt: skip

# Programs that end soon: it is the requests that are tried.
CODE = st.sampled_from(["1", "print(1)", "x = 1\nx", "raise ValueError('é')", "import sys; sys.exit(3)", "(", "echo 1", "exit 4", "\ufeff1", "'\\0'"])


def zip_of(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return data.getvalue()


# Without Python in it, so that saving it runs nothing.
SKILL = zip_of({"SKILL.md": "---\nname: known\ndescription: Known.\n---\n", "there": "0123456789"})


# --- what the document says ---


class Api:
    """A server with something in it, its document, and ids that exist."""

    def __init__(self, who):
        self.server = Server(who, "--socket", "none", env={
            "BELLJAR_TIMEOUT_S": "2", "BELLJAR_MAX_TIMEOUT_S": "5", "BELLJAR_SESSIONS_MAX": "8", "BELLJAR_SESSION_EVICT": "yes",
            "BELLJAR_LOG_LEVEL": "error", "BELLJAR_QUEUE_TIMEOUT_S": "5",
        })  # fmt: skip
        self.connection = self.server.connect()
        self.job = None
        self.document = self.server.get("/openapi.json").json
        self.prepare()

    def prepare(self):
        """Sessions come and go in these tests: what is named in paths is made anew when it is gone."""
        if self.server.get("/v1/skills/known").status != 200:
            assert self.server.call("PUT", "/v1/skills/known", SKILL).status == 200
        if self.server.get("/v1/states/known").status != 200:
            assert self.server.post("/v1/states", {"name": "known"}).status == 200
        if not self.job or self.server.get(f"/v1/jobs/{self.job}").status != 200:
            self.job = self.server.post("/v1/jobs", {"code": "print(1)"}).json["id"]
        if self.server.get("/v1/sessions/known").status == 200:
            return
        assert self.server.post("/v1/sessions", {"name": "known"}).status == 201
        self.server.call("PUT", "/v1/sessions/known/files/there", b"0123456789")
        self.server.post("/v1/sessions/known/checkpoint", {"name": "known"})
        self.command = self.server.post("/v1/sessions/known/commands", {"command": "true"}).json["id"]
        self.run = self.server.run("print('x' * 5000)", output_bytes=256)["id"]
        self.task = self.server.post("/execute_async", {"command": "1"}).json["task_id"]

    def known(self, name):
        return {"run": self.run, "job": self.job, "command": self.command, "task": self.task, "path": "there"}.get(name, "known")

    def resolve(self, schema):
        return {**schema, "components": self.document["components"]}

    def operation(self, method, path):
        return self.document["paths"][path][method]

    def call(self, method, path, body=None, headers=None):
        """Over one connection, as long as the server keeps it."""
        try:
            return self.server.call(method.upper(), path, body, headers, connection=self.connection)
        except (ConnectionError, OSError):
            raise
        except Exception:
            self.connection.close()
            raise


@pytest.fixture(scope="module")
def api(callers):
    a = Api(callers["user"])
    yield a
    assert a.server.run("print('alive')")["stdout"] == "alive\n"
    assert a.server.stop() == 0, a.server.said


def operations():
    """Every (method, path); kept here, since tests are collected before there is a server. test_every_route_is_tried says when one is missing."""
    rows = """
    POST /execute | POST /execute_async | GET /tasks/{task} | POST /sessions | GET /sessions | GET /sessions/{session} | DELETE /sessions/{session}
    GET /languages | POST /api/execute | POST /api/execute_async | GET /api/tasks/{task} | POST /api/sessions | GET /api/sessions
    GET /api/sessions/{session} | DELETE /api/sessions/{session} | GET /api/languages | GET /api/health
    POST /v1/execute | POST /v1/browser/navigate | POST /v1/browser/content | POST /v1/browser/interactions/navigate | POST /v1/browser/interactions/content
    POST /v1/sessions/session | GET /v1/sessions/session | DELETE /v1/sessions/session
    POST /v1/run | POST /v1/check | POST /v1/batch | GET /v1/runs | GET /v1/runs/{run} | GET /v1/runs/{run}/follow | GET /v1/runs/{run}/events | GET /v1/runs/{run}/output | POST /v1/runs/{run}/cancel | POST /v1/runs/{run}/stdin
    POST /v1/sessions | GET /v1/sessions | GET /v1/sessions/{session} | DELETE /v1/sessions/{session}
    POST /v1/sessions/{session}/execute | POST /v1/sessions/{session}/interrupt | POST /v1/sessions/{session}/restart | POST /v1/sessions/{session}/pause
    POST /v1/sessions/{session}/resume | POST /v1/sessions/{session}/snapshot | GET /v1/snapshots | DELETE /v1/snapshots/{name}
    POST /v1/sessions/{session}/contexts | GET /v1/sessions/{session}/contexts | POST /v1/sessions/{session}/contexts/{context}/restart | DELETE /v1/sessions/{session}/contexts/{context}
    POST /v1/sessions/{session}/commands | GET /v1/sessions/{session}/commands | GET /v1/sessions/{session}/commands/{command}
    DELETE /v1/sessions/{session}/commands/{command} | POST /v1/sessions/{session}/commands/{command}/stdin | POST /v1/sessions/{session}/commands/{command}/signal
    POST /v1/sessions/{session}/commands/{command}/resize | GET /v1/sessions/{session}/commands/{command}/terminal
    POST /v1/sessions/{session}/fork | POST /v1/sessions/{session}/checkpoint | POST /v1/sessions/{session}/restore
    GET /v1/sessions/{session}/checkpoints | DELETE /v1/sessions/{session}/checkpoints/{name}
    GET /v1/undo | GET /v1/runs/{run}/changes | POST /v1/runs/{run}/undo
    GET /v1/approvals | POST /v1/runs/{run}/approve | POST /v1/sessions/{session}/approve
    GET /v1/sessions/{session}/changes | POST /v1/sessions/{session}/apply | POST /v1/sessions/{session}/discard
    GET /v1/sessions/{session}/files | GET /v1/sessions/{session}/files/{path} | PUT /v1/sessions/{session}/files/{path} | POST /v1/sessions/{session}/files/{path} | DELETE /v1/sessions/{session}/files/{path}
    POST /v1/jobs | GET /v1/jobs | GET /v1/jobs/{job} | GET /v1/jobs/{job}/result | POST /v1/jobs/{job}/cancel | DELETE /v1/jobs/{job}
    GET /v1/skills | GET /v1/skills/{skill} | PUT /v1/skills/{skill} | DELETE /v1/skills/{skill} | GET /v1/skills/{skill}/files/{path} | POST /v1/skills/{skill}/undo
    GET /v1/states | POST /v1/states | GET /v1/states/{work} | POST /v1/states/{work}/versions | DELETE /v1/states/{work}
    GET /v1/me | GET /v1/doctor | GET /v1/cluster/nodes | POST /v1/tokens | DELETE /v1/tokens/{name} | GET /v1/runs/{run}/record
    GET /v1/sessions/{session}/cells | GET /v1/sessions/{session}/variables | GET /v1/audit/key | POST /v1/audit/receipt
    POST /v1/console/codes | POST /v1/console/token | DELETE /v1/console/token | GET /console | GET /console/{file}
    GET /v1/audit/records | GET /v1/audit/records/{id} | GET /v1/audit/lines | GET /v1/audit/head | POST /v1/audit/verify | GET /v1/config | GET /v1/tokens
    POST /run | POST /v1/sandbox/run | POST /run_code | GET / | GET /health | GET /metrics | GET /v1/stats | GET /v1/languages | GET /openapi.json
    """
    return [tuple(row.strip().split(" ")) for line in rows.strip().splitlines() for row in line.split("|")]


OPERATIONS = [(method.lower(), path) for method, path in operations()]
# Answers that go on until the client leaves; test_session_watch.py and test_http_events.py try them.
ENDLESS = [("get", "/v1/sessions/{session}/watch"), ("get", "/v1/events")]
WITH_BODY = [(m, p) for m, p in OPERATIONS if m == "post"]


def test_every_route_is_tried(api):
    assert sorted(OPERATIONS + ENDLESS) == sorted((m, p) for p, ops in api.document["paths"].items() for m in ops)


def test_the_document_is_whole(api):
    """Every reference leads somewhere, every name is used once, every answer has a shape."""
    text = json.dumps(api.document)
    schemas = api.document["components"]["schemas"]
    for reference in set(part.split('"')[0] for part in text.split("#/components/schemas/")[1:]):
        assert reference in schemas
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    ids = [o["operationId"] for ops in api.document["paths"].values() for o in ops.values()]
    assert len(ids) == len(set(ids))
    for path, ops in api.document["paths"].items():
        for method, operation in ops.items():
            for status, answer in operation["responses"].items():
                assert ("content" in answer) != (status in ("204", "101")), (method, path, status)
            for parameter in operation["parameters"]:
                assert parameter["in"] != "path" or f"{{{parameter['name']}}}" in path
            if "requestBody" in operation:
                for media in operation["requestBody"]["content"].values():
                    jsonschema.Draft202012Validator.check_schema(media.get("schema", {}))


# --- what is sent ---

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
ANYTHING = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5)
HOSTILE = st.sampled_from([
    "..", ".", "%2e%2e", "a%2fb", "../../etc/passwd", "%ff", "a\nb", "💥", "*", "{session}", "known/", "ses_" + "0" * 26, "x" * 300, "null", "-1", "%25", " ",
])  # fmt: skip


def value_for(name, schema):
    """Something that fits."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if name in ("code", "command"):
        return CODE
    kind = schema.get("type")
    kind = [k for k in kind if k != "null"][0] if isinstance(kind, list) else kind
    if kind == "integer":
        low, high = int(schema.get("minimum", 0)), int(schema.get("maximum", 2**31))
        return st.sampled_from(sorted({low, min(high, low + 1), min(high, low + 64)})) | st.integers(low, high)
    if kind == "number":
        low, high = schema.get("minimum", 0), schema.get("maximum", 1e6)
        return st.floats(low, high) | st.sampled_from([low, high])
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(value_for("", schema["items"]), max_size=min(3, schema.get("maxItems", 3)))
    if kind == "object" and "properties" in schema:
        return body_for(schema)
    if kind == "object":
        return st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=5), TEXT, max_size=3)
    longest = schema.get("maxLength", 20)
    return TEXT.filter(lambda t: len(t.encode()) <= longest) | st.sampled_from(["known", "standard", "strict", "open", "there", "*.txt"])


def body_for(schema):
    properties = {name: value_for(name, s) for name, s in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    return st.fixed_dictionaries({n: properties[n] for n in required}, optional={n: v for n, v in properties.items() if n not in required})


@st.composite
def broken(draw, schema):
    """A body of that schema with one thing wrong."""
    body = draw(body_for(schema))
    how = draw(st.sampled_from(["unknown", "value", "missing", "whole"]))
    if how == "unknown":
        body[draw(TEXT)] = draw(ANYTHING)
    elif how == "value" and schema.get("properties"):
        body[draw(st.sampled_from(sorted(schema["properties"])))] = draw(ANYTHING)
    elif how == "missing" and body:
        body.pop(draw(st.sampled_from(sorted(body))))
    elif how == "whole":
        return draw(ANYTHING)
    return body


@st.composite
def target(draw, api, path, operation):
    """The path with names in it, mostly ones that exist, and a query."""
    query = []
    for parameter in operation["parameters"]:
        name = parameter["name"]
        if parameter["in"] == "path":
            value = draw(st.sampled_from([api.known(name)] * 3 + ["unknown"]) | HOSTILE | TEXT)
            safe = "/" if path.endswith("/{path}") and name == "path" else ""
            path = path.replace(f"{{{name}}}", urllib.parse.quote(value, safe=safe) or "-")
        elif parameter["in"] == "query" and draw(st.booleans()):
            value = draw(value_for(name, parameter["schema"]) | HOSTILE | TEXT)
            query.append((name, json.dumps(value) if not isinstance(value, str) else value))
    if draw(st.integers(0, 9)) == 0:
        query.append((draw(TEXT), draw(TEXT)))
    return path + ("?" + urllib.parse.urlencode(query) if query else "")


@st.composite
def headers(draw, operation):
    """Those the operation knows, with any value that a header can have."""
    plain = st.text(string.ascii_letters + string.digits + "=-_ ,;*", max_size=30).map(str.strip)
    known = [p["name"] for p in operation["parameters"] if p["in"] == "header"]
    more = {name: draw(plain) for name in known if draw(st.booleans())}
    if "Range" in more:
        more["Range"] = draw(st.sampled_from(["bytes=0-1", "bytes=-3", "bytes=5-", "bytes=99-", "bytes=3-1", "bytes=0-0,2-2", "lines=1"]) | st.just(more["Range"]))
    if "Last-Event-ID" in more:
        more["Last-Event-ID"] = draw(st.sampled_from(["0", "1", "2", "99", "999999999999999", "-1", "1e3"]) | st.just(more["Last-Event-ID"]))
    if any("text/event-stream" in r.get("content", {}) for r in operation["responses"].values()) and draw(st.booleans()):
        more["Accept"] = "text/event-stream"
    return more


# --- what is answered ---


def check(api, operation, reply, sent):
    if str(reply.status) in operation["responses"]:
        answer = operation["responses"][str(reply.status)]
        kind = reply.headers.get("content-type", "").split(";")[0]
        if "content" not in answer:
            assert reply.body == b"", (sent, reply)
            return
        if reply.status == 422 and "error" in (reply.json or {}):  # of a key that is used for another body
            jsonschema.validate(reply.json, api.resolve({"$ref": "#/components/schemas/Error"}))
            return
        assert kind in answer["content"] or reply.status == 204, (sent, reply)
        if kind == "application/json":
            jsonschema.validate(reply.json, api.resolve(answer["content"][kind]["schema"]))
        elif kind == "text/event-stream":
            check_events(api, reply.body.decode(), sent, answer["content"].get("application/json", {}).get("schema"))
        return
    assert 400 <= reply.status < 600 and reply.status not in (500, 502, 503, 504), (sent, reply)
    jsonschema.validate(reply.json, api.resolve(operation["responses"]["default"]["content"]["application/json"]["schema"]))
    assert reply.status in STATUS[reply.error["code"]], (sent, reply)
    assert (reply.status in (429, 503)) == ("retry-after" in reply.headers), (sent, reply)
    assert reply.headers["content-type"] == "application/json"
    assert api.server.token not in reply.body.decode()


def check_events(api, text, sent, schema):
    """`schema`: of the last event, `result`; None: that of runs."""
    last = 0
    for block in filter(None, text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        value = json.loads(fields["data"])
        if "id" in fields:
            assert int(fields["id"]) > last, sent
            last = int(fields["id"])
        if fields["event"] == "result":
            jsonschema.validate(value, api.resolve(schema or {"$ref": "#/components/schemas/Result"}))
        elif fields["event"] == "error":
            jsonschema.validate(value, api.resolve({"$ref": "#/components/schemas/Error"}))


def is_valid(schema, body):
    return not list(jsonschema.Draft202012Validator(schema).iter_errors(body))


def has_whole_floats(value):
    """1.0 is a whole number there, and none here."""
    if isinstance(value, dict):
        return any(map(has_whole_floats, value.values()))
    if isinstance(value, list):
        return any(map(has_whole_floats, value))
    return isinstance(value, float) and value.is_integer()


@pytest.mark.parametrize("method, path", OPERATIONS, ids=lambda x: x)
def test_good_requests_get_what_the_document_promises(api, method, path):
    operation = api.operation(method, path)
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    raw = "requestBody" in operation and schema is None

    @given(st.data())
    def ask(data):
        api.prepare()
        where = data.draw(target(api, path, operation))
        more = data.draw(headers(operation))
        body = data.draw(body_for(schema)) if schema else data.draw(st.binary(max_size=100)) if raw else None
        reply = api.call(method, where, body, more)
        check(api, operation, reply, (method, where, more, body))
        if schema and reply.status in (400, 422) and "error" not in reply.json:
            # It fits the document's schema: what is wrong with it is not its shape.
            # (CodeRunner's `command` may also be called `code`, which no schema of ours can say.)
            assert all(d["type"] == "missing" and "command" in d["loc"] or d["type"] != "missing" for d in reply.json["detail"]), (body, reply)
            assert all(d["type"] != "extra_forbidden" for d in reply.json["detail"]), (body, reply)
        elif schema and reply.status == 400:
            assert "unknown field" not in reply.error["message"] or "?" in where, (body, reply)

    ask()


@pytest.mark.parametrize("method, path", WITH_BODY, ids=lambda x: x)
def test_broken_bodies_are_refused_as_the_document_says(api, method, path):
    operation = api.operation(method, path)
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        assert api.server.post(path.replace("{", "").replace("}", ""), {}).status == 400  # it takes none
        return
    where = path.replace("{session}", "known")

    @given(broken(schema))
    def ask(body):
        api.prepare()
        reply = api.call(method, where, json.dumps(body).encode(), {"Content-Type": "application/json"})
        check(api, operation, reply, (method, where, body))
        # The models of others take more than they say: "5" for 5. null means that a field is absent.
        if isinstance(body, dict):
            body = {k: v for k, v in body.items() if v is not None or k in schema.get("required", []) or k not in schema.get("properties", {})}
        if not is_valid(schema, body) and "422" not in operation["responses"]:
            assert reply.status in (400, 413), (body, reply)

    ask()


@pytest.mark.parametrize("method, path", WITH_BODY, ids=lambda x: x)
def test_bytes_that_are_no_json_are_refused(api, method, path):
    operation = api.operation(method, path)
    if "requestBody" not in operation:
        return

    @given(st.binary(min_size=1, max_size=200) | st.binary(max_size=20).map(lambda b: b'{"code":"' + b + b'"'))
    def ask(body):
        try:
            json.loads(body)
            return
        except ValueError:
            pass
        reply = api.call(method, path.replace("{session}", "known"), body, {"Content-Type": "application/json"})
        check(api, operation, reply, (method, path, body))
        assert reply.status in (400, 413, 422), (body, reply)

    ask()


@given(data=st.data())
def test_ids_of_others_and_ids_that_never_were_look_the_same(api, data):
    made = data.draw(st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26))
    for path in (f"/v1/runs/run_{made}", f"/v1/sessions/ses_{made}", f"/tasks/run_{made}", f"/v1/runs/run_{made}/output", f"/v1/runs/run_{made}/events"):
        reply = api.call("get", path)
        assert reply.status == 404 and made not in reply.body.decode()
