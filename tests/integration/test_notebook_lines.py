"""Lines of notebooks in Python programs: `!ls`, `%cd`, `%%bash`. A program that is Python is never touched."""
import secrets

import pytest

import mcp
import serving

CELLS = [
    ("!echo one; echo two\nprint('three')", "one\ntwo\nthree\n"),
    ("lines = !printf 'a\\nb\\n'\nprint(lines)", "['a', 'b']\n"),
    ("name = 'x y'\n!echo {name} ${HOME:+home} | tr a-z A-Z", "X Y HOME\n"),
    ("!echo a \\\n   b\nprint(2)", "a b\n2\n"),
    ("if True:\n    !echo inside\n    x = 1\nprint(x)", "inside\n1\n"),
    ("%%bash\nfor i in 1 2; do\n  echo \"it's $i\"\ndone", "it's 1\nit's 2\n"),
    ("%matplotlib inline\n%load_ext autoreload\n%config x.y = 'z'\nprint(5)", "5\n"),
    ("%cd /tmp\n!pwd", "/tmp\n/tmp\n"),
    ("%env BELLJAR_TEST=a b\n!echo $BELLJAR_TEST", "env: BELLJAR_TEST=a b\na b\n"),
    ("here = %pwd\nprint(here[0])", "/\n"),
    ("%%writefile /tmp/nb.py\nprint('a\\\\n', \"b\")", "Writing /tmp/nb.py\n"),
    ("%%writefile /tmp/nb.py\nprint('written')\n", "Overwriting /tmp/nb.py\n"),
    ("s = '''\n!not this\n%nor this\n'''\nt = (7\n%4)\nprint(len(s), t)  # !nor this\n!echo {t}", "21 3\n3\n"),
    ("%%capture\nprint(1)", ""),
    ("!seq 100000 | head -1", "1\n"),
    ("import json\n!echo 'é\U0001f600' \"quoted\" \\\\", "é\U0001f600 quoted \\\n"),
    ("%ls -d /tmp", "/tmp\n"),
]  # fmt: skip


@pytest.fixture
def run(who):
    with mcp.Client(who, env={"BELLJAR_PROFILE": "open"}) as client:
        client.initialize()
        yield lambda code: client.call("execute_python_code", {"code": code})


@pytest.mark.smoke
def test_lines_of_notebooks(run):
    for code, wanted in CELLS:
        done = run(code)["structuredContent"]
        assert (done["status"], done.get("stdout", "")) == ("success", wanted), (code, done)
    assert run("%run /tmp/nb.py")["structuredContent"]["stdout"] == "written\n"
    assert run("%%time\n6 * 7")["structuredContent"]["result"]["json"] == 42
    assert run("%time 1")["structuredContent"]["stdout"].startswith("CPU times: ")
    assert "per loop" in run("%timeit 1 + 1")["structuredContent"]["stdout"]
    assert "Signature: len(obj, /)" in mcp.text_of(run("len?"))
    shown = mcp.text_of(run("def f(a, b=2):\n    'Adds.'\n    return a + b\nf?\n?nothing"))
    assert "f(a, b=2)" in shown and "Adds." in shown and "return a + b" not in shown and "Object `nothing` not found." in shown, shown
    failed = run("!exit 3\nprint('on')")["structuredContent"]
    assert failed["stdout"] == "on\n" and "(exit code 3: !exit 3)" in failed["stderr"], failed
    assert "(exit code 1: !grep nothing" in run("x = !grep nothing /etc/passwd")["structuredContent"]["stderr"]
    assert f"(exit code 4: !exit 4 #{'é' * 26}…)" in run("!exit 4 #" + "é" * 100)["structuredContent"]["stderr"]
    wrong = run("!echo a\nx = 1\n1 / 0")["structuredContent"]["error"]
    assert (wrong["name"], wrong["line"]) == ("ZeroDivisionError", 3), wrong


@pytest.mark.parametrize("code, says", [("%store x", "`%store` is not supported"), ("%run gone.py", "`gone.py` not found"), ("%prun 1", "`%prun` needs profile `open`")])
def test_errors_of_lines_say_what_to_do_without_our_own_frames(who, code, says):
    done = who.call("run", "-c", code)
    assert done.code == 1 and says in done.errors and "frozen" not in done.errors, done
    assert done.errors.count("File ") == 1, done


@pytest.mark.parametrize("code", ["%timeit 1/0", "%time 1/0", "%load gone"])
def test_tracebacks_have_no_blank_lines(who, code):
    done = who.call("run", "-c", code)
    assert done.code == 1 and done.errors.startswith("Traceback") and all(line.strip() for line in done.errors.splitlines()), done


@pytest.mark.parametrize("code", ["%nothing at all", "print(1);!ls", "x = (\n!ls", "%", "!!!(", "%%nothing\nx", "'''\n!ls", "% %", "?", "x = %nothing", "%timeit", "%env ", "\n!\n", "%%writefile\nx"])
def test_what_is_not_known_stays_an_error_or_harmless(run, code):
    done = run(code)
    said = mcp.text_of(done)
    assert "KernelEnded" not in said and run("1 + 1")["structuredContent"]["result"]["json"] == 2, (code, said)
    if code.startswith(("%nothing", "%%nothing", "x = %")):
        assert done["isError"] and "supported: !command" in said, said


def test_the_profile_decides(who):
    done = who.run("!echo here\nprint(1)", profile="standard")
    assert done.json["stdout"] == "here\n1\n", done
    done = who.run("!echo here\nimport pty\n!ls", profile="standard")
    assert done.status == "refused" and [v["line"] for v in done.json["violations"]] == [2], done
    for profile in ("strict", "marketplace", "cms", "pyrunner", "devskyy"):
        for code in ("!echo here", "x = !echo here", "_notebook('shell', 'echo here')", "_notebook('lines', 'echo here')"):
            done = who.run(code, profile=profile)
            assert done.status in ("error", "refused") and "here\n" not in done.json["stdout"], (profile, code, done)
            assert "does not run commands" in done.json["stderr"] or done.status == "refused", (profile, code, done)
    assert who.run("%matplotlib inline\nprint(1)", profile="strict").json["stdout"] == "1\n"
    done = who.run("%cd /etc\nprint(open('passwd').read())", profile="strict")
    assert done.json["error"]["name"] == "PermissionError" and "os.chdir" in done.json["error"]["message"]
    done = who.run("%%writefile x\ny", profile="strict")
    assert done.status == "success", done
    done = who.run("%%writefile /etc/x\ny", profile="strict")
    assert done.status == "error", done


def test_other_doors(who):
    server = serving.Server(who, "--socket", "none", "--compat", "coderunner")
    try:
        assert server.post("/execute", {"code": "!echo a\nprint('b')"}).json["stdout"] == "a\nb\n"
        assert server.post("/v1/run", {"code": "x = !echo a\nprint(x)"}).json["stdout"] == "['a']\n"
        check = server.post("/v1/check", {"code": "!echo a\nx = = 1", "profile": "open"}).json
        assert check["error"]["name"] == "SyntaxError" and check["error"]["line"] == 2, check
    finally:
        assert server.stop() == 0, server.said


def test_an_interrupt_ends_the_command(run, who):
    done = run("%env MARK=" + secrets.token_hex(4))
    assert done["structuredContent"]["status"] == "success"
    with mcp.Client(who, "--timeout", "1", env={"BELLJAR_PROFILE": "open"}) as client:
        client.initialize()
        client.text("run_code", {"code": "kept = 5"})
        assert client.text("run_code", {"code": "!sleep 60"}).startswith("timeout: ")
        assert "5" in client.text("run_code", {"code": "print(kept)\n!pgrep -c sleep || true"})
