"""The web console's page as it is served, and the codes that give it a token. The page itself is tested in a browser."""
import contextlib
import gzip
import http.client
import os
import re
import stat

import pytest

from test_http_auth import Tokens
from websocket import WebSocket

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types display")


@pytest.fixture(scope="module")
def server(callers):
    who = callers.get("user") or next(iter(callers.values()))
    t = Tokens(who)
    yield t
    assert t.server.stop() == 0, t.server.said


@pytest.fixture(scope="module")
def page(server):
    reply = get(server, "/console/")
    if reply.status == 404:
        assert "this build has no web console" in reply.error["message"] and "npm" in reply.error["hint"]
        pytest.skip("this build has no web console, and says so")
    return gzip.decompress(reply.body).decode()


def get(server, path, headers=None):
    return server.call(None, "GET", path, headers={"Accept-Encoding": "gzip", **(headers or {})})


def ask(server, method, path, body=None, token=None, **more):
    return server.call(token, method, path, body, **more)


def code_of(server, token=None):
    return ask(server, "POST", "/v1/console/codes", {}, token or server.server.token).json["code"]


def redeem(server, code):
    return ask(server, "POST", "/v1/console/token", {"code": code})


# ---- the page ----


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/?x=1"])
def test_the_page_has_a_strict_policy_and_is_not_kept(server, page, path):
    reply = get(server, path)
    assert reply.status == 200 and reply.headers["content-type"].startswith("text/html") and reply.headers["content-encoding"] == "gzip"
    assert reply.headers["content-security-policy"] == POLICY
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cross-origin-opener-policy", "same-origin"),
                        ("cross-origin-resource-policy", "same-origin"), ("cache-control", "no-store"), ("vary", "Accept-Encoding")):
        assert reply.headers[name] == value, name
    assert "set-cookie" not in reply.headers and "access-control-allow-origin" not in reply.headers


def test_its_files_are_kept_for_good_and_named_by_what_they_are(server, page):
    names = re.findall(r'"/console/([^"]+)"', page)
    assert len(names) >= 2
    for name in names:
        reply = get(server, f"/console/{name}")
        assert reply.status == 200 and reply.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert reply.headers["content-security-policy"] == POLICY and gzip.decompress(reply.body)
        again = get(server, f"/console/{name}", {"If-None-Match": reply.headers["etag"]})
        assert (again.status, again.body) == (304, b"") and "content-encoding" not in again.headers
        assert get(server, f"/console/{name}", {"If-None-Match": '"other"'}).status == 200


def test_the_page_loads_nothing_from_elsewhere(page):
    assert not re.search(r"https?://|//[a-z]", page) and "<script>" not in page and "style=" not in page


@pytest.mark.parametrize("name", ["x.js", "..", "%2e%2e", "%00", "index.html/", "main", "a" * 300, "%2e%2e%2fetc%2fpasswd"])
def test_an_unknown_file_is_not_found(server, page, name):
    assert get(server, f"/console/{name}").status in (400, 404)


def test_who_takes_no_compressed_answer_is_told(server, page):
    reply = get(server, "/console/", {"Accept-Encoding": "identity"})
    assert reply.status == 400 and "Accept-Encoding: gzip" in reply.error["hint"]


def test_only_a_browser_is_sent_from_the_root_to_the_page(server, page):
    reply = get(server, "/", {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (reply.status, reply.headers["location"], reply.body) == (303, "/console/", b"")
    for accept in ("*/*", "application/json", None):
        assert get(server, "/", {"Accept": accept} if accept else {}).json["status"] == "healthy"


def test_it_can_be_switched_off(callers):
    t = Tokens(callers.get("user") or next(iter(callers.values())), env={"BELLJAR_CONSOLE": "off"})
    try:
        reply = get(t, "/console/")
        assert reply.status == 404 and 'console = "on"' in reply.error["hint"]
        assert get(t, "/", {"Accept": "text/html"}).status == 200
    finally:
        t.server.stop()


def test_frames_without_an_origin_may_load_its_sheet_and_nothing_else(server, page):
    sheet = re.search(r'data-display="(/console/display-\w+\.css)"', page)[1]
    reply = get(server, sheet, {"Origin": "null"})
    assert reply.status == 200 and "cross-origin-resource-policy" not in reply.headers and "access-control-allow-origin" not in reply.headers
    for path in ("/console", "/v1/sessions", "/v1/runs", "/console/../v1/runs"):
        assert get(server, path, {"Origin": "null"}).status in (400, 403, 404), path


def test_other_pages_cannot_have_it(server, page):
    assert get(server, "/console/", {"Origin": "http://evil.example"}).status == 403
    assert get(server, "/console/", {"Host": "evil.example"}).status == 403


# ---- codes ----


def test_a_code_gives_one_token_with_the_rights_of_who_asked(server):
    limited = server.add("limited", "--profile", "strict")
    answer = ask(server, "POST", "/v1/console/codes", {}, limited)
    assert answer.status == 201 and answer.json["path"] == f"/console/#code={answer.json['code']}" and answer.json["expires_in_s"] == 60
    assert re.fullmatch("[0-9a-f]{32}", answer.json["code"]) and answer.json["origin"] == f"http://127.0.0.1:{server.server.port}"
    got = redeem(server, answer.json["code"])
    assert (got.status, got.json["name"], got.json["operator"], got.json["expires_in_s"]) == (200, "limited", False, 12 * 3600)
    page = got.json["token"]
    assert page != limited and redeem(server, answer.json["code"]).status == 401  # it was used
    run = server.run(page, "1").json["id"]
    assert [r["id"] for r in ask(server, "GET", "/v1/runs", token=limited).json["runs"]] == [run]
    assert ask(server, "GET", "/v1/config", token=page).status == 403
    assert ask(server, "POST", "/v1/run", {"code": "1", "profile": "open"}, page).status == 403
    assert ask(server, "POST", "/v1/console/codes", {}, page).status == 403  # it does not live on by itself
    assert ask(server, "POST", "/e2b/sandboxes", {"templateID": "base"}, page).status == 401  # nor by tokens of a sandbox
    assert ask(server, "DELETE", "/v1/console/token", token=page).status == 204
    assert ask(server, "GET", "/v1/runs", token=page).status == 401
    assert ask(server, "DELETE", "/v1/console/token", token=limited).status == 400


@pytest.mark.parametrize("code", ["", "0" * 32, "x", "0" * 31, "é" * 16, "' OR 1"])
def test_a_wrong_code_is_refused(server, code):
    reply = redeem(server, code)
    assert (reply.status, reply.error["code"]) == (401, "auth")


def test_codes_need_a_token(server):
    assert ask(server, "POST", "/v1/console/codes", {}).status == 401
    assert ask(server, "POST", "/v1/console/token", {}).status == 400
    assert ask(server, "POST", "/v1/console/token", {"code": 1}).status == 400


def test_a_page_ends_with_the_token_it_came_from(server):
    token = server.add("parent")
    page = redeem(server, code_of(server, token)).json["token"]
    late = code_of(server, token)
    stream = server.server.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {page}"})
    assert next(iter(stream))[1] == "hello"
    server.rm("parent")
    assert ask(server, "GET", "/v1/runs", token=page).status == 401 and redeem(server, late).status == 401
    server.add("parent")
    assert ask(server, "GET", "/v1/runs", token=page).status == 401
    server.run(server.server.token, "1")
    assert [name for _, name, _ in stream] == []
    stream.close()


def test_the_stream_of_a_page_ends_with_its_token(server):
    page = redeem(server, code_of(server)).json["token"]
    stream = server.server.stream("GET", "/v1/events", headers={"Authorization": f"Bearer {page}"})
    assert next(iter(stream))[1] == "hello"
    assert ask(server, "DELETE", "/v1/console/token", token=page).status == 204
    server.run(server.server.token, "1")
    assert [name for _, name, _ in stream] == []
    stream.close()


def test_all_that_a_page_follows_ends_with_its_token(server):
    """Outputs, watched directories and terminals, also where nothing comes or is typed."""
    page = redeem(server, code_of(server)).json["token"]
    head = {"Authorization": f"Bearer {page}"}
    session = ask(server, "POST", "/v1/sessions", {"profile": "open"}, page).json["session_id"]
    command = ask(server, "POST", f"/v1/sessions/{session}/commands", {"command": "cat", "background": True, "pty": {"cols": 80, "rows": 24}}, page).json["id"]
    streams = [server.server.stream("GET", f"/v1/sessions/{session}/{what}", headers=head) for what in ("watch", f"commands/{command}")]
    terminal = WebSocket(server.server, f"/v1/sessions/{session}/commands/{command}/terminal", headers=head)
    for stream in streams:
        next(iter(stream))
    assert ask(server, "DELETE", "/v1/console/token", token=page).status == 204
    for stream in streams:
        with contextlib.suppress(http.client.IncompleteRead):  # cut, not ended
            for _ in stream:
                pass
        stream.close()
    with pytest.raises(EOFError):
        while True:
            terminal.read()
    terminal.close()
    assert ask(server, "GET", f"/v1/sessions/{session}", token=server.server.token).status == 200  # what it opened stays
    assert ask(server, "DELETE", f"/v1/sessions/{session}", token=server.server.token).status == 204


def test_many_codes_push_out_the_oldest_of_the_same_token_only(server):
    one, other = server.add("one"), server.add("other")
    kept = code_of(server, other)
    codes = [code_of(server, one) for _ in range(20)]
    statuses = [redeem(server, code).status for code in codes]
    assert statuses[-8:] == [200] * 8 and statuses[:12] == [401] * 12
    assert redeem(server, kept).status == 200


def test_a_console_is_in_the_trail(server):
    token = server.add("recorded")
    redeem(server, code_of(server, token))
    rows = ask(server, "GET", "/v1/audit/records?kind=token&owner=recorded", token=server.server.token).json["records"]
    assert [r["event"] for r in rows][:1] == ["console"]


# ---- belljar console ----


def console(server, *args, **env):
    return server.who.call("console", *args, env={**server.env, "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "SSH_CONNECTION": "", "SSH_TTY": "", **env})


def test_the_command_prints_an_address_that_works_once(server, page):
    answer = console(server, "--print")
    assert answer.code == 0, answer
    found = re.fullmatch(rf"http://127\.0\.0\.1:{server.server.port}/console/#code=([0-9a-f]{{32}})\n", answer.text)
    assert redeem(server, found[1]).json["operator"] is True and redeem(server, found[1]).status == 401
    assert "ssh -L" not in answer.errors
    assert f"ssh -L {server.server.port}:127.0.0.1:{server.server.port}" in console(server, SSH_CONNECTION="1 2 3 4").errors


def test_the_command_opens_a_browser_where_there_is_one(server, page):
    folder = server.who.directory("browser")
    seen = folder / "seen"
    program = folder / "xdg-open"
    program.write_text(f"#!/bin/sh\nprintf %s \"$1\" > {seen}\n")
    server.who.own(program)
    program.chmod(0o755)
    answer = console(server, DISPLAY=":0", PATH=f"{folder}:/usr/bin:/bin")
    assert answer.code == 0 and answer.text == "" and "opened" in answer.errors, answer
    # Anyone who may look at the processes of this machine sees what a browser is started with.
    path = seen.read_text()
    assert "code" not in path and stat.S_IMODE(os.stat(path).st_mode) == 0o600
    found = re.search(r'url=(http://127\.0\.0\.1:\d+/console/#code=([0-9a-f]{32}))"', open(path).read())
    assert redeem(server, found[2]).status == 200 and "console --print" in answer.errors
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "#code=" in console(server, DISPLAY=":0", PATH=f"{folder}:/usr/bin:/bin").text


def test_the_command_says_what_is_missing(server, callers):
    assert console(server, "x").code == 64
    nowhere = console(server, "--server", "http://127.0.0.1:9")
    assert nowhere.code == 66 and "hint" in nowhere.errors
    t = Tokens(server.who, env={"BELLJAR_CONSOLE": "off"})
    try:
        answer = t.who.call("console", "--print", env=t.env)
        assert answer.code == 66 and "no web console" in answer.errors and answer.text == ""
    finally:
        t.server.stop()
