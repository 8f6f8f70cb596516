"""Every route with an id in its path, at every door: what is another's and what is not there are answered alike."""
import re

import pytest

from test_http_auth import Tokens

# Doors that /openapi.json does not list.
OTHERS = [
    "GET /v1/sessions/{session}/ports/8000/", "GET /v1/sessions/{session}/watch", "GET /jupyter/api/kernels/{session}", "DELETE /jupyter/api/kernels/{session}",
    "POST /jupyter/api/kernels/{session}/interrupt", "POST /jupyter/api/kernels/{session}/restart", "GET /jupyter/api/kernels/{session}/channels", "GET /jupyter/api/sessions/{session}",
    "GET /e2b/sandboxes/{sandbox}", "DELETE /e2b/sandboxes/{sandbox}", "POST /e2b/sandboxes/{sandbox}/connect", "POST /e2b/sandboxes/{sandbox}/pause",
    "POST /e2b/sandboxes/{sandbox}/fork", "POST /e2b/sandboxes/{sandbox}/snapshots", "POST /e2b/sandboxes/{sandbox}/timeout", "GET /e2b/sandboxes/{sandbox}/metrics",
    "DELETE /e2b/templates/{snapshot}",  # whether a sandbox of E2B is there is public: its id is a secret
]  # fmt: skip

LISTS = [
    "/v1/sessions", "/v1/runs", "/v1/runs?history=true", "/v1/jobs", "/v1/snapshots", "/v1/approvals", "/v1/states", "/jupyter/api/kernels", "/jupyter/api/sessions",
    "/e2b/v2/sandboxes", "/e2b/snapshots",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(callers):
    made = Tokens(callers["user"], env={"BELLJAR_SESSION_PORTS": "8000"})
    yield made
    assert made.server.stop() == 0, made.server.said


def things_of(server, token):
    """One of each kind, by the names that paths have for them."""

    def ask(method, path, body=None, **headers):
        reply = server.call(token, method, path, body, headers)
        assert reply.status < 300, (path, reply)
        return reply.json if reply.body else {}

    session = ask("POST", "/v1/sessions", {"name": "own-one", "profile": "open", "ports": ["8000"]})["session_id"]
    plain = ask("POST", "/v1/sessions", {"name": "own-two", "profile": "open"})["session_id"]
    ask("POST", f"/v1/sessions/{plain}/execute", {"code": "x = 1"})
    ask("POST", f"/v1/sessions/{plain}/snapshot", {"name": "kept-here"})
    ask("PUT", "/v1/skills/own_skill", b"def f(): return 1", **{"Content-Type": "text/x-python"})
    ask("POST", "/v1/states", {"name": "own-state"})
    job = ask("POST", "/v1/jobs", {"code": "1"})["id"]
    ask("GET", f"/v1/jobs/{job}?wait_s=30")
    command = ask("POST", f"/v1/sessions/{session}/commands", {"args": ["sleep", "60"], "background": True})["id"]
    run = ask("POST", "/v1/run", {"code": "1"})["id"]
    return {
        "session": [session, "own-one", ask("POST", "/jupyter/api/kernels")["id"]],
        "command": [command, run], "run": [run, command, job], "job": [job, run], "context": [ask("POST", f"/v1/sessions/{session}/contexts", {"language": "python"})["context_id"]],
        "sandbox": [ask("POST", "/e2b/v2/sandboxes", {"templateID": "base"})["sandboxID"]], "snapshot": ["kept-here"], "checkpoint": ["kept-here"],
        "skill": ["own_skill"], "work": ["own-state"], "task": [run], "name": ["owner"], "path": ["f"], "id": [run, session],
    }  # fmt: skip


def unknown(kind, thing):
    """Something of the same form that nobody has."""
    if kind == "path":
        return thing
    return thing[:6] + "Z" * (len(thing) - 6) if thing[3:4] == "_" and len(thing) > 20 else "q" + thing[1:]


def test_no_door_tells_what_another_has(server):
    owner, stranger = server.add("owner", "--operator"), server.add("stranger")
    things = things_of(server, owner)
    listed = server.call(owner, "GET", "/openapi.json").json["paths"]
    routes = [f"{method.upper()} {path}" for path, methods in listed.items() for method in methods if "{" in path]
    asked = 0
    for route in routes + OTHERS:
        method, path = route.split()
        kinds = re.findall(r"\{(\w+)\}", path)
        if not set(kinds) <= set(things):
            continue
        for i in range(max(len(things[kind]) for kind in kinds)):
            chosen = [things[kind][i % len(things[kind])] for kind in kinds]
            answers = []
            for names in (chosen, [unknown(kind, name) for kind, name in zip(kinds, chosen)]):
                url = path
                for kind, name in zip(kinds, names):
                    url = url.replace("{%s}" % kind, name, 1)
                body = None if method in ("GET", "DELETE") else b"x" if method == "PUT" else {"code": "1"} if url.endswith("/execute") else {}
                reply = server.call(stranger, method, url, body, {"Content-Type": "text/x-python"} if method == "PUT" else {})
                text = reply.body.decode(errors="replace")
                for name in sorted(names, key=len, reverse=True):
                    text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "IT", text)
                answers.append((reply.status, re.sub(r"(?:cor|run)_\w+", "ID", text)))
            assert answers[0] == answers[1], (route, chosen, answers)
            asked += 1
    assert asked > 100, asked
    secret = {name for kind, names in things.items() for name in names if kind not in ("skill", "name", "path")}
    for path in LISTS:
        reply = server.call(stranger, "GET", path)
        assert reply.status == 200 and not [name for name in secret if name in reply.body.decode()], (path, reply)
    for path in ("/v1/runs?all=true", "/v1/runs?history=true&owner=owner", "/v1/events?all=true", "/v1/tokens", "/v1/config", "/v1/audit/records"):
        assert server.call(stranger, "GET", path).status == 403, path
    assert server.call(owner, "GET", "/v1/sessions").json["sessions"], "all that is there is still there"
    assert server.call(owner, "GET", f"/v1/jobs/{things['job'][0]}").status == 200
