"""Sandboxes and sessions by host name: `PORT-ID.DOMAIN`, as E2B's programs have it."""
import base64
import json
import struct
import urllib.parse

import pytest
from serving import Server

DOMAIN = "jars.example"

SERVE = """\
import http.server, json, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps([self.path, dict(self.headers)]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
threading.Thread(target=s.serve_forever, daemon=True).start()
"""


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", env={"BELLJAR_HOSTS": f"*.{DOMAIN}", "BELLJAR_SESSION_PORTS": "8000"})
    yield made
    assert made.stop() == 0, made.said


def at(server, host, method, path, body=None, **headers):
    return server.call(method, path, body, {"Authorization": None, "Host": host, **{k.replace("_", "-"): v for k, v in headers.items()}})


@pytest.fixture(scope="module")
def sandbox(server):
    reply = at(server, f"api.{DOMAIN}:8443", "POST", "/sandboxes", {"templateID": "base", "timeout": 120}, X_API_KEY=server.token)
    assert reply.status == 201 and reply.json["domain"] == f"{DOMAIN}:8443", reply
    yield reply.json
    assert at(server, f"api.{DOMAIN}", "DELETE", f"/sandboxes/{reply.json['sandboxID']}", X_API_KEY=server.token).status == 204


def execute(server, sandbox, code, host=None):
    host = host or f"49999-{sandbox['sandboxID']}.{DOMAIN}"
    reply = at(server, host, "POST", "/execute", {"code": code}, E2B_Traffic_Access_Token=sandbox["trafficAccessToken"])
    assert reply.status == 200, reply
    return [json.loads(line) for line in reply.body.splitlines()]


def test_services_by_name(server, sandbox):
    id, token = sandbox["sandboxID"], sandbox["envdAccessToken"]
    for host in (f"49983-{id}.{DOMAIN}", f"49983-{id}.localhost:1234", f"49983-{id.upper()}.{DOMAIN.upper()}:9", f"49983-{id}-belljar.{DOMAIN}"):
        assert at(server, host, "GET", "/health").status == 204, host
        assert at(server, host, "POST", "/files?path=f", b"x", X_Access_Token=token, Content_Type="application/octet-stream").status == 200
        assert at(server, host, "GET", "/files?path=f", X_Access_Token=token).body == b"x"
        assert at(server, host, "GET", "/files?path=f").status == 401
        # The name counts, whatever the headers say.
        assert at(server, host, "GET", "/files?path=f", X_Access_Token=token, E2b_Sandbox_Id="other", E2b_Sandbox_Port="1").status == 200
    body = json.dumps({"process": {"cmd": "echo", "args": ["hi"]}}).encode()
    reply = at(server, f"49983-{id}.{DOMAIN}", "POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body,
               X_Access_Token=token, Content_Type="application/connect+json")  # fmt: skip
    assert base64.b64encode(b"hi\n") in reply.body, reply
    assert execute(server, sandbox, "6 * 7")[1]["text"] == "42"
    # A service answers at its own port only.
    assert at(server, f"49999-{id}.{DOMAIN}", "GET", "/files?path=f", X_Access_Token=token).status == 502
    assert at(server, f"sandbox.{DOMAIN}", "GET", "/files?path=f", X_Access_Token=token, E2b_Sandbox_Id=id, E2b_Sandbox_Port="49983").body == b"x"


def test_ports_by_name(server, sandbox):
    id, token = sandbox["sandboxID"], sandbox["trafficAccessToken"]
    execute(server, sandbox, SERVE)
    host = f"8000-{id}.{DOMAIN}"
    path, headers = at(server, host, "GET", "/a/../b?c=d", E2B_Traffic_Access_Token=token, X_Mine="m").json
    assert path == "/a/../b?c=d" and headers["X-Mine"] == "m" and headers["X-Forwarded-Prefix"] == "", (path, headers)
    assert not [k for k in headers if k.lower() in ("e2b-traffic-access-token", "x-api-key", "authorization")], headers
    assert at(server, host, "GET", "/v1/sessions", X_API_KEY=server.token).json[0] == "/v1/sessions"
    for wrong in ({}, {"E2B_Traffic_Access_Token": "trf_" + "0" * 64}, {"X_API_KEY": "bj_" + "0" * 64}, {"X_Access_Token": token}):
        assert at(server, host, "GET", "/", **wrong).status in (401, 403), wrong
    assert at(server, f"8001-{id}.{DOMAIN}", "GET", "/", E2B_Traffic_Access_Token=token).status == 403
    other = id[:-1] + ("1" if id.endswith("0") else "0")
    assert at(server, f"8000-{other}.{DOMAIN}", "GET", "/", E2B_Traffic_Access_Token=token).status in (401, 403, 502)


def test_sessions_by_name(server):
    with server.session(name="web-app", profile="open", ports=["8000"]) as id:
        reply = server.call("POST", f"/v1/sessions/{id}/execute", {"code": SERVE})
        assert reply.json["status"] == "success", reply
        for name in ("web-app", id, id.lower()):
            host = f"8000-{name}.{DOMAIN}"
            assert at(server, host, "GET", "/x", Authorization=f"Bearer {server.token}").json[0] == "/x", name
            assert at(server, host, "GET", "/x").status == 401
        assert at(server, f"8001-web-app.{DOMAIN}", "GET", "/x", Authorization=f"Bearer {server.token}").status == 403


def test_other_names_are_refused(server, sandbox):
    id = sandbox["sandboxID"]
    for host in (
        DOMAIN, f"x.{DOMAIN}", f"8000-.{DOMAIN}", f"08000-{id}.{DOMAIN}", f"99999-{id}.{DOMAIN}", f"8000-{id}.other.example", f"8000-{id}", f"-{id}.{DOMAIN}",
        f"8000-{id}.x.{DOMAIN}", f"8000-{id}.{DOMAIN}.evil.example", f"8000-{'a' * 60}.{DOMAIN}", f"api.{DOMAIN}.", "api.evil.example", ".localhost",
    ):  # fmt: skip
        reply = at(server, host, "GET", "/health", Authorization=f"Bearer {server.token}")
        assert reply.status in (400, 403), (host, reply)
    # A name of a sandbox leads to nothing else of the server.
    for path in ("/v1/sessions", "/mcp", "/../v1/sessions", "/openapi.json"):
        assert at(server, f"49983-{id}.{DOMAIN}", "GET", path, Authorization=f"Bearer {server.token}").status in (404, 405, 502), path
        assert at(server, f"api.{DOMAIN}", "GET", path, X_API_KEY=server.token).status in (404, 405, 501), path


REDIRECT = """\
import http.server, threading, urllib.parse
class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", urllib.parse.unquote(self.path.partition("?")[2]))
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Elsewhere)
threading.Thread(target=s.serve_forever, daemon=True).start()
"""


@pytest.mark.parametrize("to", ["//evil.example/x", "///evil.example", "//evil.example:8000", "http://127.0.0.1:8000//evil.example/x", "http://localhost:8000//evil.example"])
def test_a_redirect_leads_to_no_other_host(server, to):
    """A client would send its token along."""
    with server.session(name="redirecting", profile="open", ports=["8000"]) as id:
        assert server.call("POST", f"/v1/sessions/{id}/execute", {"code": REDIRECT}).json["status"] == "success"
        host, token = f"8000-redirecting.{DOMAIN}", {"Authorization": f"Bearer {server.token}"}
        reply = at(server, host, "GET", f"/r?{urllib.parse.quote(to, safe='')}", **token)
        assert reply.status == 302 and "location" not in reply.headers, reply
        assert at(server, host, "GET", "/r?/here//x", **token).headers["location"] == "/here//x"


def test_a_redirect_by_the_name_of_a_service_keeps_its_path(server, sandbox):
    """The control plane and the services of a sandbox have its ports, too, under the path."""
    id, token = sandbox["sandboxID"], sandbox["trafficAccessToken"]
    execute(server, sandbox, REDIRECT.replace("8000", "8000 + 0"))
    for host in (f"api.{DOMAIN}", f"49983-{id}.{DOMAIN}", f"sandbox.{DOMAIN}"):
        path = f"/sandboxes/{id}/ports/8000"
        reply = at(server, host, "GET", f"{path}/r?/x", E2B_Traffic_Access_Token=token)
        assert reply.status in (200, 302), reply  # another test's server may have the port
        assert reply.headers.get("location", f"{path}/x") == f"{path}/x", reply
