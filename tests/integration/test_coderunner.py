"""CodeRunner's REST interface, asked of `belljar serve` from outside: sessions, languages and timeouts that are real."""
import concurrent.futures
import json
import re

import pytest

from hosts import Host
from serving import Server, wait_until

FIELDS = {"stdout", "stderr", "execution_time", "cpu_time", "session_id", "status"}

# Sessions that no request asked for and that are kept at rest (LOOSE_KEPT).
LOOSE = 4


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", "--no-auth")
    yield made
    assert made.stop() == 0, made.said


@pytest.fixture
def session(server):
    id = server.post("/sessions").json["session_id"]
    yield id
    server.call("DELETE", f"/sessions/{id}")


def execute(server, command, path="/execute", **more):
    reply = server.post(path, {"command": command, **more})
    assert reply.status == 200, reply
    assert set(reply.json) == FIELDS, reply
    return reply.json


def finished(server, task, path="/tasks/"):
    def answer():
        reply = server.get(path + task)
        assert reply.status == 200, reply
        return reply.json if reply.json["status"] not in ("queued", "running") else None

    return wait_until(answer, "the task ends")


# --- cells ---


@pytest.mark.smoke
def test_a_command_is_run_and_its_session_named(server):
    answer = execute(server, "print('out')\nimport sys\nprint('err', file=sys.stderr)")
    assert (answer["stdout"], answer["stderr"], answer["status"]) == ("out\n", "err\n", "success")
    assert answer["execution_time"] > 0 and answer["cpu_time"] >= 0
    assert re.fullmatch(r"ses_\w{26}", answer["session_id"])


def test_code_is_another_name_for_command(server):
    for path in ("/execute", "/v1/execute"):
        assert server.post(path, {"code": "print(1)"}).json["stdout"] == "1\n"


def test_the_last_expression_shows_as_in_a_notebook(server):
    assert execute(server, "'a' * 3")["stdout"] == "'aaa'\n"


def test_the_session_that_was_named_can_be_used_on(server):
    first = execute(server, "x = 41")
    assert execute(server, "print(x + 1)", session_id=first["session_id"])["stdout"] == "42\n"


def test_sessions_do_not_share(server):
    execute(server, "secret = 1")
    assert "NameError" in execute(server, "secret")["stderr"]


def test_code_that_fails_is_run_once(server, session):
    execute(server, "import pathlib\nn = 0", session_id=session)
    answer = execute(server, "n += 1\nraise RuntimeError('once')", session_id=session)
    assert answer["status"] == "error" and "RuntimeError: once" in answer["stderr"]
    assert execute(server, "n", session_id=session)["stdout"] == "1\n"


def test_a_timeout_is_real_and_keeps_output_and_state(server, session):
    execute(server, "x = 7", session_id=session)
    answer = execute(server, "print('so far')\nwhile True: pass", session_id=session, timeout=1)
    assert answer["status"] == "timeout" and answer["stdout"] == "so far\n"
    assert "timed out after 1 seconds" in answer["stderr"]
    # Two clocks of two processes, in whole milliseconds.
    assert answer["execution_time"] >= 0.9 and answer["cpu_time"] > 0
    assert execute(server, "x", session_id=session)["stdout"] == "7\n"


def test_cpu_time_is_not_the_clock_on_the_wall(server, session):
    answer = execute(server, "import time\ntime.sleep(0.5)", session_id=session)
    assert answer["execution_time"] >= 0.5 > answer["cpu_time"]


def test_cells_of_one_session_wait_for_each_other(server, session):
    execute(server, "seen = []", session_id=session)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        cell = "n = len(seen)\nimport time; time.sleep(0.01)\nseen.append(n)"
        list(pool.map(lambda _: execute(server, cell, session_id=session), range(8)))
    assert execute(server, "seen", session_id=session)["stdout"] == "[0, 1, 2, 3, 4, 5, 6, 7]\n"


# --- languages ---


def test_languages_are_those_that_run(server):
    answer = server.get("/languages").json
    assert answer["default"] == "python" and set(answer["languages"]) >= {"python", "bash"}
    for name, about in answer["languages"].items():
        word = {"python": "print(6 * 7)", "bash": "echo $((6 * 7))"}.get(name, "console.log(6 * 7)")
        for alias in [name, *about["aliases"], name.upper(), f" {name} "]:
            assert execute(server, word, language=alias)["stdout"] == "42\n"


def test_both_languages_of_a_session_see_the_same_files(server, session):
    execute(server, "open('f', 'w').write('from python')", session_id=session)
    assert execute(server, "cat f", language="bash", session_id=session)["stdout"] == "from python"


def test_a_session_has_the_language_it_was_opened_for(server):
    opened = server.post("/sessions?language=bash").json
    assert opened["language"] == "bash"
    id = opened["session_id"]
    assert execute(server, "x=5; echo $BASH_VERSION", session_id=id)["stdout"].startswith("5.")
    assert execute(server, "echo $x", session_id=id)["stdout"] == "5\n"
    assert execute(server, "1 + 1", session_id=id, language="python")["stdout"] == "2\n"


@pytest.mark.parametrize("command", ["%%bash\necho $((6 * 7))", "!echo $((6 * 7))"])
def test_a_notebooks_ways_to_the_shell(server, command):
    assert execute(server, command)["stdout"] == "42\n"


@pytest.mark.parametrize("language", ["ruby", "rb", "", "pyt hon", "x" * 1000, "\u00e9" * 31, "py!"])
def test_a_language_that_is_not_there_is_said_to_be(server, language):
    for path in ("/execute", "/execute_async"):
        reply = server.post(path, {"command": "1", "language": language})
        assert reply.status == 400 and reply.json["detail"].startswith("Unsupported language: "), reply
    assert server.post("/sessions?language=ruby").status == 400


# --- sessions ---


def test_the_life_of_a_session(server):
    reply = server.post("/sessions")
    assert reply.status == 200, reply
    opened = reply.json
    assert opened["status"] == "active" and opened["created_at"]
    id = opened["session_id"]
    shown = server.get(f"/sessions/{id}").json
    assert (shown["session_id"], shown["language"], shown["status"]) == (id, "python", "active")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", shown["created_at"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", shown["last_used"])
    assert id in [s["session_id"] for s in server.get("/sessions").json["sessions"]]
    ended = server.call("DELETE", f"/sessions/{id}")
    assert ended.status == 200 and ended.json == {"success": True, "message": f"Session {id} closed"}
    for reply in (
        server.get(f"/sessions/{id}"),
        server.call("DELETE", f"/sessions/{id}"),
        server.post("/execute", {"command": "1", "session_id": id}),
        server.post("/execute_async", {"command": "1", "session_id": id}),
    ):
        assert reply.status == 404 and reply.json["detail"] == "Session not found", reply


def test_the_one_session_of_a_client_that_keeps_no_id(server):
    path = "/v1/sessions/session"
    assert server.get(path).status == 404
    opened = server.post(path).json
    assert set(opened) == {"session_id", "status"} and opened["status"] == "active"
    assert server.post(path).json == server.get(path).json == opened
    execute(server, "x = 1", session_id=opened["session_id"])
    assert server.call("DELETE", path).json == {"session_id": opened["session_id"], "status": "closed"}
    assert server.get(path).status == 404


def test_sessions_that_nobody_asked_for_do_not_pile_up(server, session):
    execute(server, "kept = 1", session_id=session)
    ids = [execute(server, "1")["session_id"] for _ in range(20)]
    assert len(set(ids)) == 20
    alive = {s["session_id"] for s in server.get("/sessions").json["sessions"]}
    assert len(alive & set(ids)) <= LOOSE
    assert ids[-1] in alive and session in alive
    assert execute(server, "kept", session_id=session)["stdout"] == "1\n"


def test_requests_that_come_to_nothing_leave_no_session(server):
    before = {s["session_id"] for s in server.get("/sessions").json["sessions"]}
    for _ in range(20):
        assert server.post("/execute", {"command": 5}).status == 422
        assert server.post("/execute", {"command": "#" + "x" * (2 << 20)}).status == 413
    after = {s["session_id"] for s in server.get("/sessions").json["sessions"]}
    assert after <= before


def test_code_that_asks_for_no_session_runs_where_there_is_no_room_for_one(callers):
    server = Server(callers["user"], "--socket", "none", "--no-auth", env={"BELLJAR_SESSIONS_MAX": "1"})
    try:
        taken = server.post("/sessions").json["session_id"]
        assert server.post("/sessions").status == 429
        for _ in range(6):
            answer = execute(server, "1 + 1")
            assert (answer["stdout"], answer["session_id"]) == ("2\n", None)
        assert execute(server, "echo hi", language="bash")["stdout"] == "hi\n"
        task = finished(server, server.post("/execute_async", {"command": "3"}).json["task_id"])
        assert task["session_id"] is None and task["result"]["stdout"] == "3\n"
        assert execute(server, "4", session_id=taken)["stdout"] == "4\n"
    finally:
        assert server.stop() == 0


def test_sessions_and_tasks_are_their_owners(callers):
    # The token is one owner; without it there is nobody.
    server = Server(callers["user"], "--socket", "none")
    try:
        id = server.post("/sessions").json["session_id"]
        token, server.token = server.token, "wrong"
        for method, path in [("GET", "/sessions"), ("GET", f"/sessions/{id}"), ("POST", "/sessions"), ("GET", "/tasks/x")]:
            assert server.call(method, path).status == 401
        assert server.get("/languages").status == server.get("/health").status == 200
        server.token = token
        assert server.get(f"/sessions/{id}").status == 200
    finally:
        assert server.stop() == 0


# --- tasks ---


def test_a_task_runs_on_its_own(server, session):
    started = server.post("/execute_async", {"command": "import time\ntime.sleep(1)\nprint('done')", "session_id": session})
    assert started.status == 200 and set(started.json) == {"task_id", "status"} and started.json["status"] == "queued"
    task = started.json["task_id"]
    now = server.get(f"/tasks/{task}").json
    assert now["status"] in ("queued", "running") and now["result"] is None and now["id"] == task
    answer = finished(server, task)
    assert answer["status"] == "completed" and answer["error"] is None
    assert answer["result"]["stdout"] == "done\n" and answer["result"]["session_id"] == session
    assert answer["language"] == "python" and answer["command"].startswith("import time")
    assert answer["created_at"] <= answer["completed_at"]
    assert finished(server, task) == answer


def test_a_task_whose_program_fails_has_completed(server):
    task = server.post("/execute_async", {"command": "1 / 0"}).json["task_id"]
    answer = finished(server, task)
    assert answer["status"] == "completed" and "ZeroDivisionError" in answer["result"]["stderr"]


def test_a_task_that_is_stopped_has_failed_and_keeps_its_output(server):
    task = server.post("/execute_async", {"command": "print('so far')\nwhile True: pass", "timeout": 1}).json["task_id"]
    answer = finished(server, task)
    assert (answer["status"], answer["error"], answer["result"]["stdout"]) == ("failed", "timeout", "so far\n")


def test_a_task_whose_session_ends_has_failed(server):
    id = server.post("/sessions").json["session_id"]
    task = server.post("/execute_async", {"command": "import time\ntime.sleep(600)", "timeout": 60, "session_id": id}).json["task_id"]
    wait_until(lambda: server.get(f"/tasks/{task}").json["status"] == "running", "it runs")
    server.call("DELETE", f"/sessions/{id}")
    assert finished(server, task)["status"] == "failed"


@pytest.mark.parametrize("task", ["x", "run_00000000000000000000000000", "%00", "..%2f..", "a" * 4000])
def test_a_task_that_is_not_there(server, task):
    reply = server.get(f"/tasks/{task}")
    assert reply.status in (400, 404), reply


def test_a_run_is_no_task(server):
    run = server.post("/v1/run", {"code": "1"}).json["id"]
    assert server.get(f"/tasks/{run}").status == 404


def test_tasks_are_bounded(server, session):
    ids = [server.post("/execute_async", {"command": "1", "session_id": session}).json["task_id"] for _ in range(130)]
    assert finished(server, ids[-1])["status"] == "completed"
    kept = [id for id in ids if server.get(f"/tasks/{id}").status == 200]
    assert len(kept) <= 101 and ids[-1] in kept and ids[0] not in kept


# --- where its own client asks ---


def test_the_same_below_api(server):
    assert server.get("/api/health").json["status"] == "healthy"
    assert server.get("/api/languages").json == server.get("/languages").json
    id = server.post("/api/sessions").json["session_id"]
    assert execute(server, "1 + 1", path="/api/execute", session_id=id)["stdout"] == "2\n"
    task = server.post("/api/execute_async", {"command": "3", "session_id": id}).json["task_id"]
    assert finished(server, task, "/api/tasks/")["result"]["stdout"] == "3\n"
    assert id in [s["session_id"] for s in server.get("/api/sessions").json["sessions"]]
    assert server.call("DELETE", f"/api/sessions/{id}").status == 200


# --- requests ---


def test_unknown_fields_are_left_out_as_there(server):
    assert execute(server, "1", stream=True, whatever=[1])["stdout"] == "1\n"


def test_values_are_taken_as_its_models_take_them(server):
    assert execute(server, "1", timeout="5", session_id=None, language=None)["stdout"] == "1\n"


@pytest.mark.parametrize(
    "body, place",
    [
        ({}, "command"),
        ({"command": 5}, "command"),
        ({"command": None}, "command"),
        ({"command": "1", "timeout": 0}, "timeout"),
        ({"command": "1", "timeout": -5}, "timeout"),
        ({"command": "1", "timeout": 100000}, "timeout"),
        ({"command": "1", "timeout": 301}, "timeout"),
        ({"command": "1", "timeout": "x"}, "timeout"),
        ({"command": "1", "session_id": 7}, "session_id"),
        ({"command": "1", "language": ["python"]}, "language"),
        ([1], None),
    ],
)
def test_mistakes_are_422_and_name_the_field(server, body, place):
    for path in ("/execute", "/execute_async"):
        reply = server.post(path, body)
        assert reply.status == 422, reply
        assert [m["loc"] for m in reply.json["detail"]] == [["body", place] if place else ["body"]]


def test_an_empty_command_does_nothing(server):
    for command in ("", "  \n", "!", "%%bash\n"):
        reply = server.post("/execute", {"command": command})
        assert reply.status == 200 and reply.json["status"] == "success" and not reply.json["stdout"], (command, reply)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"command": "1", "command": "2"}',
        b'{"command": "\\udc00"}',
        b'{"command": "\\u0000"}',
        b'{"command": "\xc3\x28"}',
        b'{"command": "1", "timeout": 1e400}',
        b'{"command": "1", "timeout": ' + b"1" * 5000 + b"}",
        b"[" * 50_000,
        b'{"x":' * 100 + b"1" + b"}" * 100,
        b"\x00" * 100,
    ],
)
def test_hostile_bodies_are_422(server, body):
    for path in ("/execute", "/execute_async"):
        reply = server.post_raw(path, body)
        assert reply.status == 422 and reply.json["detail"], reply


@pytest.mark.parametrize("id", ["\u0000", "x" * 100_000, "../../etc", "ses_00000000000000000000000000", "\U0001f600", " "])
def test_a_session_that_cannot_be_is_not_found(server, id):
    body = json.dumps({"command": "1", "session_id": id}).encode()
    assert server.post_raw("/execute", body).status in (404, 422)


@pytest.mark.parametrize("query", ["language=python&language=bash", "tongue=python", "language=%ff", "language=%00", "x"])
def test_a_query_that_means_nothing_is_refused(server, query):
    assert server.post(f"/sessions?{query}").status == 400


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "HEAD", "OPTIONS"])
def test_other_methods_are_405(server, method):
    assert server.call(method, "/execute").status == server.call(method, "/execute_async").status == 405


def test_a_client_that_leaves_stops_its_cell(server, session):
    connection = server.connect()
    body = json.dumps({"command": "import time\ntime.sleep(600)", "session_id": session, "timeout": 60})
    connection.request("POST", "/execute", body=body, headers={"Content-Type": "application/json"})
    wait_until(lambda: server.get("/v1/stats").json["you"]["running"] == 1, "it runs")
    connection.close()
    assert execute(server, "'free'", session_id=session)["stdout"] == "'free'\n"


def test_its_variables_and_its_host_name(callers):
    who = callers.get("root") or callers["user"]
    said = who.call("config", env={"CODERUNNER_FASTMCP_PORT": "8333", "CODERUNNER_FASTMCP_HOST": "localhost"}).text
    assert "localhost:8333" in said, said
    refused = who.call("serve", "--socket", "none", env={"CODERUNNER_FASTMCP_HOST": "0.0.0.0", "CODERUNNER_FASTMCP_PORT": "0"})
    assert refused.code != 0 and "--tls-cert" in refused.errors, refused
    for compat, status in (("coderunner", 200), ("none", 403)):
        server = Server(who, "--socket", "none", "--compat", compat)
        try:
            assert server.call("GET", "/health", headers={"Host": "coderunner.local:8222"}).status == status
        finally:
            assert server.stop() == 0, server.said


# --- the browser ---


PAGE = b"<title>Teas</title><h1>Green</h1><script>x</script><p>and black"


@pytest.mark.parametrize("prefix", ["/v1/browser", "/v1/browser/interactions"])
def test_a_page_is_its_text(callers, prefix):
    with Host(answers={"/": (200, {"Content-Type": "text/html"}, PAGE)}) as site:
        with Server(callers["user"], "--socket", "none", "--no-auth", env={"BELLJAR_NET": f"127.0.0.1:{site.port}"}) as server:
            page = server.post(f"{prefix}/navigate", {"url": site.url + "/", "wait_timeout": None})
            assert page.status == 200 and page.json == {"status": "success", "url": site.url + "/", "content": "Green\n\nand black", "title": "Teas"}, page
            page = server.post(f"{prefix}/content", {"url": site.url + "/", "include_anchors": True, "max_anchors": 5})
            assert page.status == 200 and page.json == {"readable_content": {"content": "Green\n\nand black"}, "status": "success"}, page


def test_a_page_that_cannot_be_had_says_why(server):
    for url in ("https://example.org/'\"\\\n{}", "file:///etc/passwd"):
        page = server.post("/v1/browser/navigate", {"url": url})
        assert page.status == 200 and page.json["status"] == "error" and page.json["url"] == url and page.json["content"] == "", page
        assert "grant" in page.json["error"] or "not an http" in page.json["error"], page
        page = server.post("/v1/browser/content", {"url": url})
        assert page.status == 200 and page.json["status"] == "error" and page.json["readable_content"] == {"content": ""}, page
    assert server.post("/v1/browser/navigate", {}).status == 422
