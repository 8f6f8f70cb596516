"""read_file, write_file and list_files in granted directories: under the rules of any code."""
import base64
import secrets
import struct
import zlib

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
        assert client.text("read_file", {"path": "a.txt", "offset": 1, "limit": 2}).startswith("el\n[file] 6 bytes in all; read on with offset 3")
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


def png(width, height):
    """A grey picture of that size, and a comment of its own."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))  # noqa: E731
    rows = zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("profile", ["standard", "open", "marketplace"])
def test_pictures_are_shown(who, project, profile):
    small, large = png(3, 2), png(2000, 3)
    for name, data in (("a.png", small), ("plain", small), ("large.png", large), ("cut.png", b"\x89PNG\r\n\x1a\n"), ("empty.png", b"")):
        (project / name).write_bytes(data)
        who.own(project / name)
    with mcp.Client(who, "--allow", project, "--profile", profile) as client:
        client.initialize()
        for path in ("a.png", f"{project}/plain"):
            (block,) = [c for c in client.call("read_file", {"path": path})["content"] if c["type"] == "image"]
            assert block["mimeType"] == "image/png" and base64.b64decode(block["data"]) == small
        said = client.call("read_file", {"path": "large.png"})
        assert not [c for c in said["content"] if c["type"] == "image"] and "too large" in mcp.text_of(said), said
        assert client.call("read_file", {"path": "cut.png"})["content"] and client.call("read_file", {"path": "empty.png"})["content"]
        assert client.text("read_file", {"path": "a.txt"}).startswith("hello\n")


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


def test_a_long_file_is_read_in_pages(who, project):
    lines = [f"{n} " + "é" * (n % 40) + "\n" for n in range(3000)]
    (project / "long.txt").write_text("".join(lines))
    (project / "wide.txt").write_text("é" * 30_000)
    (project / "big.log").write_text("a line of a log\n" * 200_000)
    (project / "utf16.txt").write_text("größer\n", encoding="utf-16")
    (project / "data.bin").write_bytes(b"\0\1" * 10)
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        for name in ("long.txt", "wide.txt"):
            read, offset = "", 0
            while offset is not None:
                text = client.text("read_file", {"path": name, "offset": offset})
                page, mark, rest = text.rpartition("[file] ")
                read += (page if name == "long.txt" else page.rstrip("\n")) if mark else text
                assert not mark or name == "wide.txt" or page.endswith("\n"), text[-200:]
                offset = int(rest.split()[-1]) if mark else None
            assert read == (project / name).read_text()
        read, line = "", 1
        while line is not None:
            text = client.text("read_file", {"path": "long.txt", "line": line})
            page, mark, rest = text.rpartition("[file] ")
            read += page if mark else text
            line = int(rest.split("read on with line ")[1]) if mark else None
        assert read == (project / "long.txt").read_text()
        big = client.text("read_file", {"path": "big.log", "offset": 3_199_900})
        assert big.endswith("a line of a log\n") and "[file]" not in big, big
        assert "3200000 bytes in all" in client.text("read_file", {"path": "big.log"})
        assert client.text("read_file", {"path": "utf16.txt"}) == "größer\n"
        for name in ("long.txt", "/workspace/long.txt"):
            if name != "long.txt":
                client.text("run_code", {"code": f"import shutil; shutil.copy('long.txt', '{name}')"})
            said = client.text("read_file", {"path": name, "line": 1001, "limit": 2})
            assert said == "".join(lines[1000:1002]) + f"[file] {(project / 'long.txt').stat().st_size} bytes in all; read on with line 1003\n", (name, said)
            assert client.text("read_file", {"path": name, "limit": 1}).startswith(lines[0] + "[file]"), name
            assert client.text("read_file", {"path": name, "start_line": 3000}) == lines[2999], name
            assert client.text("read_file", {"file_path": name, "line": 3001}).strip() == "(the file has 3000 lines)", name
        assert "nothing from that offset" in client.text("read_file", {"path": "a.txt", "offset": 100})
        refused = client.call("read_file", {"path": "data.bin"})
        assert refused.get("isError") and "is not text" in mcp.text_of(refused), refused
