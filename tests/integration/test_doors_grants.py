"""Grants of the operator, at every door of a server: for tokens that may have it, and for no others."""
import json
import re
import secrets

import pytest
from serving import Server
from test_mcp_http import Legacy, Old, message, modern, python, send_modern

LOOK = "import os\nfor p in {paths!r}:\n    print(os.path.basename(p), os.path.exists(p), os.access(p, os.W_OK))"


@pytest.fixture
def place(who):
    root = who.directory("doors-" + secrets.token_hex(4))
    for name in ("data", "out", "kept"):
        (root / name).mkdir()
        (root / name / "f").write_text(name)
        who.own(root / name)
        who.own(root / name / "f")
    return root


@pytest.fixture
def server(who, place):
    allow = f"{place}/data,{place}/out:rw,{place}/kept:cow,{place}/gone"
    (place / "gone").mkdir()
    who.own(place / "gone")
    s = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": allow})
    (place / "gone").rmdir()  # after the start, which would have told
    yield s
    assert s.stop() == 0, s.said


def add_token(who, *words):
    return re.search(r"bj_[0-9a-f]{64}", who.call("token", "add", *words).text)[0]


def look(place):
    return LOOK.format(paths=[f"{place}/{name}" for name in ("data", "out", "kept")])


def legacy(server, code, headers):
    return Legacy(server, headers=headers).stdout(code)


def stateless(server, code, headers):
    reply = send_modern(server, modern("tools/call", {"name": "execute_python_code", "arguments": {"code": code}}), headers)
    return reply.json["result"]["structuredContent"].get("stdout", "")


def session(server, code, headers):
    opened = server.post("/v1/sessions", {}, headers=headers)
    assert opened.status == 201, opened
    return server.post(f"/v1/sessions/{opened.json['session_id']}/execute", {"code": code}, headers=headers).json["stdout"]


DOORS = {
    "/v1/run": lambda server, code, headers: server.post("/v1/run", {"code": code}, headers=headers).json["stdout"],
    "/v1/sessions": session,
    "/execute": lambda server, code, headers: server.post("/execute", {"code": code}, headers=headers).json["stdout"],
    "/mcp": legacy,
    "/mcp modern": stateless,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_what_the_operator_allows(server, who, place, door):
    said = DOORS[door](server, look(place), {}).splitlines()
    assert said[0].startswith("data True") and said[1].startswith("out True"), said
    assert said[2].startswith("kept True"), said
    DOORS[door](server, f"open('{place}/out/new', 'w').write('x')", {})
    assert (place / "out" / "new").read_text() == "x"
    for name in ("data", "kept"):
        DOORS[door](server, f"open('{place}/{name}/new', 'w').write('x')", {})
        assert not (place / name / "new").exists()


def test_the_older_transport_has_it(server, place):
    client = Old(server)
    client.ask(message("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert "data True" in json.dumps(client.ask(python(look(place), number=2)))


@pytest.mark.parametrize("door", DOORS)
def test_a_token_without_the_right_has_nothing(server, who, place, door):
    headers = {"Authorization": f"Bearer {add_token(who, 'plain-' + secrets.token_hex(3))}"}
    assert DOORS[door](server, look(place), headers).count("False False") == 3
    headers = {"Authorization": f"Bearer {add_token(who, 'granted-' + secrets.token_hex(3), '--grants')}"}
    assert DOORS[door](server, look(place), headers).count("True") >= 3


def test_a_request_may_have_less(server, place):
    assert server.run(look(place), allow=[])["stdout"].count("False False") == 3
    assert server.run(look(place), allow=[f"{place}/data"])["stdout"].count("False False") == 2


def test_where_the_profile_has_no_files_there_are_none(server, place):
    assert server.run("print(1)", profile="strict")["stdout"] == "1\n"
    assert server.post("/run", {"code": "print(1)"}).json["stdout"] == "1\n"


# --- a client that is a web page of this machine ---

ASK = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type", "Authorization": None}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
PAGES = ["http://localhost:6274", "http://127.0.0.1:6274", "http://[::1]:6274", "https://localhost", "http://LOCALHOST:1"]


@pytest.mark.parametrize("origin", PAGES)
@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages"])
def test_a_page_of_this_machine_connects_with_a_token(server, origin, path):
    page = {"Origin": origin}
    before = server.call("OPTIONS", path, headers={**page, **ASK})
    assert before.status == 204 and before.headers["access-control-allow-origin"] == origin, before
    assert "Authorization" in before.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in before.headers
    if path != "/mcp":
        return
    said = server.call("POST", path, message("initialize", HELLO), {**page, "Accept": "application/json, text/event-stream"})
    assert said.status == 200 and said.headers["access-control-allow-origin"] == origin, said
    assert "Mcp-Session-Id" in said.headers["access-control-expose-headers"]
    wrong = server.call("POST", path, message("initialize", HELLO), {**page, "Authorization": "Bearer bj_" + "0" * 64})
    assert wrong.status == 401


@pytest.mark.parametrize("origin", [
    "http://localhost.evil.example", "http://localhost:6274.evil.example", "http://evil.example", "null", "http://localhost:", "http://localhost:99999999",
    "http://localhost:62x", "http://x@localhost", "ftp://localhost", "http://localhost/", "http://127.0.0.2", "http://127.0.0.1.evil.example", "file://",
])  # fmt: skip
def test_other_pages_do_not(server, origin):
    for method, more in (("OPTIONS", ASK), ("POST", {})):
        reply = server.call(method, "/mcp", headers={"Origin": origin, **more})
        assert reply.status == 403 and not any(h.startswith("access-control") for h in reply.headers), reply


def test_without_a_token_a_page_is_refused(server, who):
    page = {"Origin": "http://localhost:6274"}
    assert server.call("POST", "/mcp", message("initialize", HELLO), {**page, "Authorization": None}).status == 403
    for path in ("/v1/run", "/v1/sessions", "/health", "/run", "/execute"):
        assert server.call("OPTIONS", path, headers={**page, **ASK}).status == 403, path
    open_to_all = Server(who, "--socket", "none", env={"BELLJAR_AUTH": "none"})
    try:
        for method, more in (("OPTIONS", ASK), ("POST", {})):
            assert open_to_all.call(method, "/mcp", headers={**page, **more}).status == 403, "no token keeps other pages away"
    finally:
        assert open_to_all.stop() == 0, open_to_all.said


def test_a_hint_about_copy_on_write_names_sessions(server, place):
    for path, words in ((f"{place}/kept/g", "open a session"), (f"{place}/data/g", "granted read-only")):
        done = server.run(f"open({path!r}, 'w')")
        assert words in done["error"]["hint"], done["error"]
