"""Several kernels in the sandbox of one session."""
import shutil

import pytest

from serving import wait_until


@pytest.fixture
def session(server):
    with server.session() as name:
        server.execute(name, "import os; os.mkdir('d'); x = 'own'")
        yield name


def ask(server, session, what, **body):
    return server.post(f"/v1/sessions/{session}/{what}", body)


def open_context(server, session, **fields):
    reply = ask(server, session, "contexts", **fields)
    assert reply.status == 201, reply
    return reply.json["context_id"]


def cell(server, session, code, **fields):
    done = server.execute(session, code, **fields)
    assert done["status"] == "success", done
    return done["stdout"]


def test_each_has_its_variables_and_its_directory(server, session):
    one = open_context(server, session)
    two = open_context(server, session, language="python", workdir="/home/user/d")
    cell(server, session, "x = 1", context=one)
    cell(server, session, "x = 2", context=two)
    show = "import os; print(x, os.getcwd(), os.getppid())"
    assert cell(server, session, show, context=one) == "1 /workspace 1\n"
    assert cell(server, session, show, context=two) == "2 /workspace/d 1\n"
    assert cell(server, session, show) == "own /workspace 1\n"
    cell(server, session, "open('f', 'w').write('shared')", context=two)
    assert cell(server, session, "print(open('d/f').read())", context=one) == "shared\n"


def test_other_languages_have_several_as_well(server, session):
    own, other = open_context(server, session, language="bash"), open_context(server, session, language="bash", workdir="d")
    cell(server, session, "v=1", context=own)
    cell(server, session, "v=2", context=other)
    assert cell(server, session, "echo $v $PWD", context=own) == "1 /workspace\n"
    assert cell(server, session, "echo $v $PWD", context=other) == "2 /workspace/d\n"
    assert cell(server, session, "echo $v", language="bash") == "\n"
    if shutil.which("node"):
        script = open_context(server, session, language="javascript")
        cell(server, session, "let v = 3", context=script)
        assert cell(server, session, "console.log(v)", context=script) == "3\n"


def test_they_are_listed_restarted_and_deleted(server, session):
    one, two = open_context(server, session), open_context(server, session, language="bash", workdir="d")
    assert server.get(f"/v1/sessions/{session}/contexts").json == {
        "contexts": [
            {"context_id": one, "language": "python", "workdir": None},
            {"context_id": two, "language": "bash", "workdir": "d"},
        ]
    }
    cell(server, session, "y = 1", context=one)
    assert ask(server, session, f"contexts/{one}/restart").json["context_id"] == one
    assert server.execute(session, "y", context=one)["status"] == "error"
    cell(server, session, "y = 2", context=one)
    assert server.call("DELETE", f"/v1/sessions/{session}/contexts/{one}").status == 204
    for reply in (
        ask(server, session, "execute", code="y", context=one),
        ask(server, session, f"contexts/{one}/restart"),
        server.call("DELETE", f"/v1/sessions/{session}/contexts/{one}"),
    ):
        assert (reply.status, reply.json["error"]["message"]) == (404, "the session has no context with that id"), reply
    # The place is free at once, for another language, while the old kernel is still ending.
    again = open_context(server, session, language="bash")
    assert cell(server, session, "echo new", context=again) == "new\n"
    third = open_context(server, session)
    assert server.execute(session, "y", context=third)["status"] == "error"


def test_a_kernel_that_ends_is_replaced_and_said_to_be(server, session):
    one, two = open_context(server, session), open_context(server, session)
    cell(server, session, "x = 2", context=two)
    done = server.execute(session, "import os; os._exit(3)", context=one)
    assert (done["session_state"], done["exit_code"]) == ("lost", 3), done
    assert cell(server, session, "print('back')", context=one) == "back\n"
    assert cell(server, session, "print(x)", context=two) == "2\n"
    assert cell(server, session, "print(x)") == "own\n"
    done = server.execute(session, "while True: pass", context=one, timeout_s=1)
    assert (done["status"], done["session_state"]) == ("timeout", "kept"), done


def test_the_policy_holds_in_each(server):
    with server.session(profile="strict") as session:
        one = open_context(server, session)
        assert cell(server, session, "x = 1; print(x)", context=one) == "1\n"
        refused = server.execute(session, "import socket", context=one)
        assert refused["status"] == "refused" and refused["violations"], refused
        assert cell(server, session, "print(x)", context=one) == "1\n"
        reply = ask(server, session, "contexts", language="bash")
        assert reply.status == 403, reply


def test_what_is_wrong_is_refused(server, session):
    one = open_context(server, session)
    for fields, status in (
        ({"workdir": "none"}, 404), ({"workdir": "/etc"}, 403), ({"workdir": "../x"}, 400), ({"language": "cobol"}, 400),
        ({"workdir": "/home/user/../.."}, 400),
    ):  # fmt: skip
        assert ask(server, session, "contexts", **fields).status == status, fields
    assert ask(server, session, "execute", code="1", context=one, language="bash").status == 400
    assert ask(server, session, "execute", code="1", context="").status in (400, 404)
    for what, body in (("fork", {}), ("checkpoint", {"name": "c"}), ("snapshot", {"name": "c"})):
        reply = ask(server, session, what, **body)
        assert reply.status == 400 and one in reply.json["error"]["message"], (what, reply)
    for _ in range(7):
        open_context(server, session)
    reply = ask(server, session, "contexts")
    assert reply.status == 413 and "8 contexts" in reply.json["error"]["message"], reply
    for context in server.get(f"/v1/sessions/{session}/contexts").json["contexts"]:
        assert server.call("DELETE", f"/v1/sessions/{session}/contexts/{context['context_id']}").status == 204
    assert ask(server, session, "checkpoint", name="c").status == 200


def test_a_directory_that_is_gone_is_named(server, session):
    one = open_context(server, session, workdir="d")
    cell(server, session, "os.rmdir('d')")
    done = server.execute(session, "1", context=one)
    assert done["status"] == "error" and done["exit_code"] == 125, done
    assert "cannot start in `d`: No such file or directory" in done["stderr"], done
    cell(server, session, "os.mkdir('d')")
    assert cell(server, session, "import os; print(os.getcwd())", context=one) == "/workspace/d\n"


def test_a_context_with_cells_is_not_deleted(server, session):
    one = open_context(server, session)
    ask(server, session, "execute", code="import time; time.sleep(100)", context=one, detach=True)
    wait_until(lambda: server.get(f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
    assert server.call("DELETE", f"/v1/sessions/{session}/contexts/{one}").status == 429
    assert ask(server, session, "interrupt").json == {"interrupted": True}
    wait_until(lambda: server.get(f"/v1/sessions/{session}").json["state"] == "idle", "it has ended")
    assert server.call("DELETE", f"/v1/sessions/{session}/contexts/{one}").status == 204
