"""read_file, write_file and list_files in granted directories: under the rules of any code."""
import base64
import secrets

import pytest

import mcp


@pytest.fixture
def project(who):
    path = who.directory("files-" + secrets.token_hex(4))
    (path / "sub").mkdir()
    (path / "a.txt").write_text("hello\n")
    (path / "sub" / "b.txt").write_text("é\U0001f600\n")
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return path


def test_files_of_a_granted_directory(who, project):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        client.text("run_code", {"code": "1"})
        for path in ("a.txt", f"{project}/a.txt"):
            assert client.text("read_file", {"path": path}) == "hello\n"
        assert client.text("read_file", {"path": "a.txt", "offset": 1, "limit": 2}).strip() == "el"
        assert client.text("read_file", {"path": "sub/b.txt"}) == "é\U0001f600\n"
        assert client.text("list_files", {}).splitlines() == ["a.txt (6 bytes)", "sub/"]
        assert client.text("list_files", {"path": f"{project}/sub"}).strip() == "b.txt (7 bytes)"
        text = "it's \"quoted\"\n\\n '''x''' é\U0001f600\t{}%s\n"
        assert "wrote" in client.text("write_file", {"path": "new/c.txt", "content": text})
        assert (project / "new" / "c.txt").read_text() == text
        assert client.text("read_file", {"path": "new/c.txt"}) == text
        data = bytes(range(256))
        client.text("write_file", {"path": f"{project}/d.bin", "content": base64.b64encode(data).decode(), "encoding": "base64"})
        assert (project / "d.bin").read_bytes() == data
        client.text("write_file", {"path": "/workspace/w.txt", "content": "w"})
        assert client.text("read_file", {"path": "/workspace/w.txt"}).strip() == "w"
        assert "undo" not in client.text("run_code", {"code": "1"})


def test_the_rules_are_those_of_code(who, project):
    (project / "out").symlink_to("/etc")
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        for path in (".git/hooks/pre-commit", ".bashrc", f"{project}/.vscode/tasks.json", "out/x", "../x", f"{project}/../x"):
            answer = client.call("write_file", {"path": path, "content": "x"})
            assert answer.get("isError"), (path, answer)
        assert sorted(p.name for p in project.iterdir()) == ["a.txt", "out", "sub"]
        for path in ("/etc/hostname", "/root/x", "/proc/self/environ", f"{project}x/a.txt"):
            answer = client.call("read_file", {"path": path})
            assert answer.get("isError") and "granted directory" in mcp.text_of(answer), (path, answer)
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        answer = client.call("write_file", {"path": "a.txt", "content": "x"})
        assert answer.get("isError") and "read-only" in mcp.text_of(answer), answer
        assert client.text("read_file", {"path": "a.txt"}).startswith("hello\n")
        missing = client.call("read_file", {"path": "none.txt"})
        assert missing.get("isError") and f"relative paths begin in {project}" in mcp.text_of(missing), missing
    assert (project / "a.txt").read_text() == "hello\n"


def test_what_is_read_is_masked(who, project):
    (project / "a.txt").write_text("token ghp_" + "0123456789abcdefghijABCDEFGHIJ012345\n")
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        assert "REDACTED" in client.text("read_file", {"path": "a.txt"})


def test_names_of_the_execution_runtime(who):
    code = (
        "from execution_runtime import *\n"
        "s = create_refactoring_session('rename-it', 'everywhere')\n"
        "print(s['id'], s['session_id'], create_session('rename-it')['id'])\n"
        "save_session_state(s['id'], {'done': 1})\n"
        "print(load_session('rename-it').load_state())\n"
        "print(fs.__name__, callable(save_reusable_skill), callable(mask_secrets))\n"
    )
    answer = who.run(code)
    assert answer.json["stdout"] == "rename-it rename-it rename-it\n{'done': 1}\napi.filesystem True True\n", answer
    assert who.call("state", "rm", "rename-it").code == 0


def test_what_write_file_wrote_can_be_undone(who, project):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        assert "wrote" in client.text("write_file", {"path": "a.txt", "content": "changed\n"})
        assert (project / "a.txt").read_text() == "changed\n"
    listed = who.call("undo", "--list").text
    run = next(word for line in listed.splitlines() for word in line.split() if word.startswith("run_"))
    done = who.call("undo", run)
    assert done.code == 0, (listed, done)
    assert (project / "a.txt").read_text() == "hello\n"
