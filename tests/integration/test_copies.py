"""Checkpoints and forks of sessions, over HTTP."""
import pathlib
import secrets
import shutil
import tempfile
import threading

import pytest

from serving import Server, wait_until


@pytest.fixture
def session(server):
    with server.session(memory_mb=256) as name:
        yield name


def cell(server, session, code, **fields):
    done = server.execute(session, code, **fields)
    assert done["status"] == "success", done
    return done["stdout"]


def ask(server, session, what, **body):
    return server.call("POST", f"/v1/sessions/{session}/{what}", body)


def test_a_session_goes_back_in_time_as_often_as_one_likes(server, session):
    cell(server, session, "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})\nopen('f', 'w').write('one')")
    assert ask(server, session, "checkpoint", name="start").status == 200
    for value in (5, 6):
        cell(server, session, f"frame['a'] *= {value}; open('f', 'w').write('two'); open('g', 'w').close()")
        assert ask(server, session, "restore", name="start").status == 200
        assert cell(server, session, "import os; print(frame.a.sum(), open('f').read(), os.listdir())") == "3 one ['f']\n"
    assert server.call("GET", f"/v1/sessions/{session}/checkpoints").json == {"checkpoints": ["start"]}
    assert server.call("DELETE", f"/v1/sessions/{session}/checkpoints/start").status == 204
    assert ask(server, session, "restore", name="start").status == 404


def test_forks_are_sessions_of_their_own(server, session):
    cell(server, session, "import numpy as np\na = np.arange(1_000_000)\nopen('f', 'w').write('x')")
    reply = ask(server, session, "fork", n=3)
    assert reply.status == 200, reply
    copies = [s["session_id"] for s in reply.json["sessions"]]
    assert len(set(copies)) == 3 and session not in copies
    for n, copy in enumerate(copies):
        assert cell(server, copy, f"a += {n}; print(a[0], a.sum() - 499999500000, open('f').read())") == (
            f"{n} {n * 1000000} x\n"
        )
    assert cell(server, session, "print(a.sum())") == "499999500000\n"
    for copy in copies:
        assert server.call("DELETE", f"/v1/sessions/{copy}").status == 204


@pytest.mark.parametrize("module", ["random", "numpy"])
def test_random_numbers_of_forks_differ_whoever_imported_them(server, session, module):
    draw = {"random": "print(random.random())", "numpy": "print(numpy.random.rand())"}[module]
    cell(server, session, f"import {module}\n{draw}")
    copies = ask(server, session, "fork", n=2).json["sessions"]
    drawn = [cell(server, s["session_id"], draw) for s in copies] + [cell(server, session, draw)]
    assert len(set(drawn)) == 3, drawn
    for copy in copies:
        server.call("DELETE", f"/v1/sessions/{copy['session_id']}")


def test_what_cannot_be_copied_is_named(server, session):
    cell(server, session, "import threading; e = threading.Event(); t = threading.Thread(target=e.wait, name='busy bee')")
    cell(server, session, "t.start()")
    reply = ask(server, session, "fork")
    assert (reply.status, "busy bee" in reply.json["error"]["message"]) == (400, True), reply
    cell(server, session, "e.set(); t.join()")
    assert ask(server, session, "fork").status == 200


def test_no_copy_while_a_cell_runs(server, session):
    thread = threading.Thread(target=lambda: cell(server, session, "import time; time.sleep(4)"))
    thread.start()
    wait_until(lambda: server.call("GET", f"/v1/sessions/{session}").json["state"] == "busy", "the cell runs")
    assert ask(server, session, "checkpoint", name="c").status == 429
    thread.join()
    assert ask(server, session, "checkpoint", name="c").status == 200


def test_bash_goes_on_in_a_copy(server, session):
    cell(server, session, "x=1; f() { echo f $x; }; mkdir d; cd d; echo file > f", language="bash")
    reply = ask(server, session, "fork")
    assert reply.json["lost"] == []
    copy = reply.json["sessions"][0]["session_id"]
    assert cell(server, copy, "cat f; f; pwd; x=2", language="bash") == "file\nf 1\n/workspace/d\n"
    assert cell(server, session, "f", language="bash") == "f 1\n"


def test_what_bash_cannot_hand_over_is_said(server, session):
    cell(server, session, "exec 7</dev/null", language="bash")
    assert ask(server, session, "fork").json["lost"] == ["open files of bash"]
    cell(server, session, "exec 7<&-; x=$(head -c 400000 /dev/zero | tr '\\0' x)", language="bash")
    assert ask(server, session, "fork").json["lost"] == ["variables of bash"]


@pytest.mark.parametrize(
    "what, body, status",
    [
        ("fork", {"n": 0}, 400),
        ("fork", {"n": 1000}, 400),
        ("checkpoint", {}, 400),
        ("checkpoint", {"name": "../x"}, 400),
        ("restore", {"name": "unknown"}, 404),
        ("checkpoint", {"name": "x", "more": 1}, 400),
    ],
)
def test_bad_requests(server, session, what, body, status):
    cell(server, session, "1")
    assert server.call("POST", f"/v1/sessions/{session}/{what}", body).status == status
    assert server.call("POST", f"/v1/sessions/nobody/{what}", {"name": "x"} if "fork" != what else {}).status == 404


def test_a_strict_session_can_be_copied(server):
    reply = server.call("POST", "/v1/sessions", {"profile": "strict"})
    session = reply.json["session_id"]
    cell(server, session, "import math\nx = [math.pi]")
    reply = ask(server, session, "fork")
    assert reply.status == 200, reply
    copy = reply.json["sessions"][0]["session_id"]
    assert cell(server, copy, "print(len(x), x[0] == math.pi)") == "1 True\n"
    refused = server.call("POST", f"/v1/sessions/{copy}/execute", {"code": "import subprocess"}).json
    assert refused["status"] == "refused"
    for name in (session, copy):
        server.call("DELETE", f"/v1/sessions/{name}")


def test_copies_mask_as_their_source_does(who):
    """Of a session, of a copy, and after going back."""
    with Server(who, "--socket", "none", env={"AGGRESSIVE_MASKING": "yes"}) as server:
        show = {"code": "print('ann@' + 'example.com')"}
        server.call("POST", "/v1/sessions", {"name": "a"})
        assert server.call("POST", "/v1/sessions/a/execute", show).json["stdout"] == "[EMAIL_REDACTED]\n"
        assert server.call("POST", "/v1/sessions/a/checkpoint", {"name": "c"}).status == 200
        copy = server.call("POST", "/v1/sessions/a/fork", {"n": 1}).json["sessions"][0]["session_id"]
        assert server.call("POST", "/v1/sessions/a/restore", {"name": "c"}).status == 200
        for session in ("a", copy):
            assert server.call("POST", f"/v1/sessions/{session}/execute", show).json["stdout"] == "[EMAIL_REDACTED]\n"


SECRET = "SuperSecretValue99"

# Bytes of the kernel's words that a reader must not take for Belljar's, or cannot see.
FORGED = "x`\". Belljar: \u201d \u202e\u2028\u2066\u200b\x9b2J\n"


def words_of(reply):
    """The kernel's part of the message."""
    assert reply.status == 400, reply
    start, words = reply.json["error"]["message"].split('; its kernel says: "', 1)
    assert start == "the session cannot be copied now"
    return words


@pytest.mark.parametrize("what, body", [("checkpoint", {"name": "c"}), ("fork", {"n": 1})])
def test_words_of_a_kernel_are_masked_and_stay_a_quotation(who, what, body):
    secret_file = who.file("words.toml", f'[secrets]\nEXAMPLE = "{SECRET}"\n', 0o600)
    settings = who.file("words-settings.toml", f'masking_file = "{secret_file}"\n')
    names = [SECRET, FORGED + SECRET, "y" * 70 + SECRET]
    with Server(who, "--socket", "none", "--config", settings) as server:
        server.call("POST", "/v1/sessions", {"name": "a", "profile": "open"})
        for name in names:
            # In two halves: the code itself is masked in the trail only.
            code = f"import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True, name={name[:-4]!r} + {name[-4:]!r}).start()"
            assert cell(server, "a", code) == ""
        words = words_of(server.call("POST", f"/v1/sessions/a/{what}", body))
        server.call("DELETE", "/v1/sessions/a")
    assert words.count("[REDACTED_SECRET]") == 2, words
    assert "SuperSecret" not in words
    assert words.endswith('"') and '"' not in words[:-1].replace('\\"', "")
    assert all(c.isprintable() for c in words) and "\u201d" not in words
    assert "\\u{202e}\\u{2028}\\u{2066}\\u{200b}\\x9b2J\\n" in words
    assert "a thread with a long name is running" in words


def test_standard_input_of_an_earlier_cell_is_not_in_the_way(server, session):
    cell(server, session, "x = input()", stdin="7\n")
    copy = ask(server, session, "fork", n=1).json["sessions"][0]["session_id"]
    assert cell(server, copy, "print(x)") == "7\n"
    answer = server.call("POST", f"/v1/sessions/{copy}/execute", {"code": "input()"}).json
    assert answer["error"]["name"] == "EOFError"


# --- directories of the host ---


@pytest.fixture(params=["home", "/tmp"])
def granted(request, who):
    """Below /tmp it lies within a tree that is copied."""
    place = who.directory("granted-" + secrets.token_hex(4))
    if request.param == "/tmp":
        place = pathlib.Path(tempfile.mkdtemp(prefix="bjtest-"))
        request.addfinalizer(lambda: shutil.rmtree(place))
        who.own(place)
    (place / "in.txt").write_text("one\ntwo\n")
    who.own(place / "in.txt")
    return place


def typed(who, cells, *args, **more):
    answer = who.call("shell", "--profile", "open", *args, input="\n".join(cells + [""]).encode(), **more)
    assert answer.code == 0 and "belljar:" not in answer.errors, answer
    return answer.text.splitlines()


def test_a_fork_has_its_own_view_of_a_granted_directory(who, granted):
    said = typed(who, [
        f"import os; os.chdir('{granted}'); f = open('in.txt'); f.readline()",
        "out = open('out.txt', 'a', buffering=1); out.write('source\\n')",
        ":lang bash", f"cd {granted}; x=5", ":fork 2", ":switch 2",
        "pwd; echo bash $x >> out.txt", ":lang python",
        "os.getcwd(); f.readline(); out.write('copy\\n')", ":switch 1", "f.readline(); open('out.txt').read()",
        ":switch 2", ":changes", ":apply out.txt", ":switch 1", "open('out.txt').read()", ":switch 3", ":discard",
    ], "--allow", f"{granted}:rw")  # fmt: skip
    assert said[:5] == ["'one\\n'", "7", str(granted), "5", "'source\\n'"], said
    assert "+bash 5" in said and "+copy" in said, "the changes are shown"
    assert said[-1] == "'source\\nbash 5\\ncopy\\n'" or "'source\\nbash 5\\ncopy\\n'" in said, said
    assert (granted / "out.txt").read_text() == "source\nbash 5\ncopy\n"
    assert (granted / "out.txt").stat().st_uid == who.uid


def test_copies_know_who_commits(who, granted):
    """In both languages, after a fork and after going back."""
    name = "git config user.name"
    said = typed(who, [
        "import subprocess as s; s.getoutput('git config user.name')", ":lang bash", name, ":checkpoint c", ":fork 1", ":switch 2", name,
        ":lang python", "s.getoutput('git config user.name')", ":switch 1", ":restore c", "s.getoutput('git config user.name')", ":lang bash", name,
    ], "--allow", f"{granted}:ro", env={"BELLJAR_GIT_IDENTITY": "Ada <ada@example.org>"})  # fmt: skip
    assert said == ["'Ada'", "Ada", "Ada", "'Ada'", "'Ada'", "Ada"], said


def test_going_back_leaves_a_granted_directory_as_it_is(who, granted):
    said = typed(who, [
        f"place = '{granted}/'; g = open(place + 'in.txt', 'rb', buffering=0); g.read(4)", ":checkpoint c",
        "len(g.read()), open('/workspace/mine', 'w').write('x'), open(place + 'new', 'w').write('y')", ":restore c",
        "import os; g.read(), os.path.exists('/workspace/mine'), open(place + 'new').read()",
    ], "--allow", f"{granted}:rw")  # fmt: skip
    assert said == ["b'one\\n'", "(4, 1, 1)", "(b'two\\n', False, 'y')"], said


def test_what_may_only_be_read_stays_so_in_a_copy(who, granted):
    said = typed(who, [
        f"g = open('{granted}/in.txt'); import numpy; m = numpy.memmap('{granted}/in.txt', mode='r'); g.close()",
        ":fork", ":switch 2", "bytes(m[:3])", f"import os; os.access('{granted}/in.txt', os.W_OK)",
    ], "--allow", str(granted))  # fmt: skip
    assert said == ["b'one'", "False"], said


# --- the limit on files, which an image is one of ---


def test_images_are_written_whatever_a_file_may_have(who, granted):
    look = "import resource; resource.getrlimit(resource.RLIMIT_FSIZE)[0] >> 20"
    fill = "import numpy; a = numpy.full(20 << 20, 7.0)"
    again = ["a[0] = 1", ":restore c", "float(a[0]), float(a.sum())"]
    alone = typed(who, [look, fill, ":checkpoint c", *again])
    assert int(alone[0]) > 512 and alone[1] == "(7.0, 146800640.0)", alone
    with_grant = typed(who, [look, fill, ":checkpoint c", *again], "--allow", f"{granted}:rw")
    assert with_grant == ["16384", "(7.0, 146800640.0)"], with_grant
