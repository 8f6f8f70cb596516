"""/home/user: a second name of /workspace."""
import os
import tempfile

import pytest


def run(who, code, *options, profile="open"):
    done = who.run(code, *options, profile=profile)
    assert done.status == "success", done
    return done.json["stdout"]


@pytest.mark.parametrize("profile", ["open", "standard", "strict"])
def test_both_names_are_the_same_directory(who, profile):
    code = "open('/home/user/a', 'w').write('x')\nprint(open('/workspace/a').read(), open('a').read())"
    assert run(who, code, profile=profile) == "x x\n"


def test_home_stays_the_workspace_unless_it_is_asked_for(server):
    code = "import os; print(os.environ['HOME'], os.path.expanduser('~/f'))"
    assert server.run(code, profile="open")["stdout"] == "/workspace /workspace/f\n"
    with server.session(env={"HOME": "/home/user"}, workdir="/home/user") as session:
        assert server.execute(session, code + "; os.chdir('/home/user'); print(os.getcwd())")["stdout"] == (
            "/home/user /home/user/f\n/workspace\n"
        )
        done = server.execute(session, "cd ~ && pwd && echo x > f && cat /workspace/f", language="bash")
        assert done["stdout"] == "/home/user\nx\n"


def test_a_module_there_is_checked_as_any_other_of_the_program(who):
    code = (
        "import sys\nopen('/home/user/m.py', 'w').write('import os\\nos.system(\"id\")')\n"
        "sys.path.insert(0, '/home/user')\nimport m"
    )
    done = who.run(code, profile="standard")
    assert done.status == "error" and "os.system" in done.json["error"]["message"], done


@pytest.mark.parametrize("path", ["/home/user/d/a", "/workspace/d/a", "d/a"])
def test_file_routes_take_every_name(server, path):
    with server.session() as session:
        address = f"/v1/sessions/{session}/files/{path.replace('/', '%2F')}"
        server.execute(session, "pass")
        assert server.call("PUT", address, b"text").status == 200
        assert server.execute(session, "print(open('d/a').read())")["stdout"] == "text\n"
        assert server.get(address).body == b"text"
        listed = server.get(f"/v1/sessions/{session}/files?path=/home/user/d").json["files"]
        assert [f["path"] for f in listed] == ["d/a"]
        assert server.call("DELETE", address).status == 204
        for wrong in ("/home/user/../x", "/home/users/x", "/etc/passwd"):
            assert server.get(f"/v1/sessions/{session}/files/{wrong.replace('/', '%2F')}").status == 400


@pytest.mark.skipif(os.getuid() != 0, reason="makes a directory in /home")
def test_a_granted_directory_of_that_name_keeps_its_place(who):
    """The host may have a user of that name."""
    code = "import os; print(os.path.islink('/home/user'), os.listdir('/home/user'))"
    assert run(who, code) == "True []\n"
    try:
        os.mkdir("/home/user")
    except FileExistsError:
        pytest.skip("this host has a /home/user")
    try:
        with tempfile.TemporaryDirectory(dir="/home/user") as inside:
            who.own(inside)
            assert run(who, code, "--allow", inside) == f"False ['{os.path.basename(inside)}']\n"
    finally:
        os.rmdir("/home/user")
