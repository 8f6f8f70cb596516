"""`--file` and `--collect … --into` of `belljar run` and `belljar exec`: files in and out without a grant."""
import os

import pytest

pytestmark = pytest.mark.usefixtures("watch")


@pytest.fixture
def place(who):
    top = who.directory("files")
    for name, text in {"data.csv": "a,b\n", "tool": "#!/bin/sh\necho tool\n", "a=b": "odd\n"}.items():
        (top / name).write_text(text)
        who.own(top / name)
    (top / "tool").chmod(0o755)
    return top


def found(top):
    return sorted(str(p.relative_to(top)) for p in top.rglob("*") if not p.is_dir())


def test_files_go_in_under_their_names(who, place):
    answer = who.call("exec", "--file", "data.csv", "--file", "data.csv=in/other.csv", "--file", "tool", "--file", "a=b", "--", "sh", "-c",
                      "pwd; ./tool; cat data.csv in/other.csv a=b", cwd=place)  # fmt: skip
    assert (answer.code, answer.text) == (0, "/workspace\ntool\na,b\na,b\nodd\n"), answer
    answer = who.call("run", "--file", "data.csv", "-c", "print(open('data.csv').read())", cwd=place)
    assert answer.text == "a,b\n\n", answer


WRITE = "import os\nos.makedirs('out/deep')\nfor p in ('out/a.bin', 'out/deep/b.bin', 'c.txt'):\n    open(p, 'wb').write(bytes(range(256)))"


def test_files_come_back(who, place):
    answer = who.call("run", "--profile", "open", "--collect", "out/**/*", "--into", "got", "-c", WRITE, cwd=place)
    assert answer.code == 0 and answer.text == "", answer
    assert found(place / "got") == ["out/a.bin", "out/deep/b.bin"], answer
    assert (place / "got/out/a.bin").read_bytes() == bytes(range(256))
    assert "belljar: collected got/out/deep/b.bin\n" in answer.errors, answer
    assert os.stat(place / "got/out/a.bin").st_uid == who.uid
    answer = who.call("exec", "--collect", "*.none", "--into", "got", "true", cwd=place)
    assert answer.code == 0 and "no file in /workspace matches" in answer.errors, answer


def test_files_that_exist_are_kept_unless_told(who, place):
    (place / "old.txt").write_text("mine")
    who.own(place / "old.txt")
    command = ["--", "sh", "-c", "echo new > old.txt; echo new > new.txt"]
    answer = who.call("exec", "--collect", "*.txt", "--into", ".", *command, cwd=place)
    assert answer.code == 125 and "old.txt: it exists; --replace" in answer.errors, answer
    assert (place / "old.txt").read_text() == "mine" and (place / "new.txt").read_text() == "new\n"
    answer = who.call("exec", "--collect", "*.txt", "--into", ".", "--replace", *command, cwd=place)
    assert answer.code == 0 and (place / "old.txt").read_text() == "new\n", answer


def test_no_name_leads_out_or_is_obeyed_by_the_host(who, place):
    """The names are the program's: links in the directory, protected names, odd characters."""
    got, outside = who.directory("got"), who.directory("outside")
    (got / "link").symlink_to(outside)
    (got / "file").symlink_to(outside / "target")
    script = (
        "mkdir -p link sub/.git/hooks .vscode __pycache__; for f in link/x file .bashrc .envrc sub/.git/hooks/post-commit .vscode/tasks.json "
        "__pycache__/m.cpython-311.pyc; do echo x > $f; done; ln -s /etc/passwd passwd; mkfifo fifo; printf x > \"$(printf 'a\\033[2Jb')\""
    )
    for replace in ([], ["--replace"]):
        answer = who.call("exec", "--collect", "**/*", "--into", got, *replace, "--", "bash", "-c", script, cwd=place)
        assert answer.code == 125 and "\x1b" not in answer.errors, answer
        assert not list(outside.iterdir()) and "link/x: a part of its path is a link or a file" in answer.errors, answer
        for name in (".bashrc", ".envrc", "sub/.git/hooks/post-commit", ".vscode/tasks.json", "__pycache__/m.cpython-311.pyc", "passwd"):
            assert not (got / name).exists(), (name, answer)
    assert (got / "file").read_text() == "x\n" and not (got / "file").is_symlink()  # replaced, not followed


def test_no_git_repository_is_put_together(who, place):
    """Each part of it is harmless alone, and git would run what its configuration names."""
    got = who.directory("repository")
    script = "for d in . bare; do mkdir -p $d/objects $d/refs; echo 'ref: refs/heads/main' > $d/HEAD; echo '[core]' > $d/config; touch $d/objects/x $d/refs/x; done; cp HEAD Head"
    answer = who.call("exec", "--collect", "**/*", "--into", got, "--", "bash", "-c", script, cwd=place)
    assert answer.code == 125 and not [p for p in found(got) if p.lower().endswith("head")], answer
    (got / "HEAD").write_text("ref: refs/heads/main\n")
    answer = who.call("exec", "--collect", "config", "--replace", "--into", got, "--", "bash", "-c", "echo bad > config", cwd=place)
    assert answer.code == 125 and (got / "config").read_text() == "[core]\n", answer


def test_too_much_is_said(user, place):
    answer = user.call("exec", "--collect", "big", "--into", ".", "--", "sh", "-c", "head -c 20000000 /dev/zero > big", cwd=place)
    assert answer.code == 125 and "too large" in answer.errors and not (place / "big").exists(), answer
    answer = user.call("exec", "--collect", "*", "--into", ".", "--", "sh", "-c", "exit 3", cwd=place)
    assert answer.code == 3, answer


@pytest.mark.parametrize(
    "words, code, says",
    [
        (["--collect", "x"], 64, "--collect needs --into"),
        (["--into", "x"], 64, "--into needs --collect"),
        (["--replace"], 64, "--replace needs --collect"),
        (["--file", "none"], 66, "--file `none`"),
        (["--file", "/etc"], 64, "not a regular file"),
        (["--file", "data.csv=../x"], 64, "`..`"),
        (["--file", "data.csv=/x"], 64, "--file"),
        (["--file", "data.csv", "--file", "data.csv"], 64, "same path"),
        (["--collect", "", "--into", "x"], 64, "--collect: expected a pattern"),
        (["--collect", "x", "--into", "no/such/dir"], 71, "--into"),
    ],
)
def test_mistakes_are_explained(user, place, words, code, says):
    answer = user.call("exec", *words, "true", cwd=place)
    assert answer.code in (code, 125) and says in answer.errors and answer.out == b"", answer
    assert not (place / "x").exists()


def test_on_a_server(server):
    user = server.who
    top = user.directory("served")
    (top / "data.bin").write_bytes(bytes(range(256)))
    user.own(top / "data.bin")
    where = ["--server", f"unix:{server.socket}"]
    answer = user.call("exec", *where, "--file", "data.bin", "--collect", "out.*", "--into", ".", "--", "cp", "data.bin", "out.bin", cwd=top)
    assert answer.code == 0 and (top / "out.bin").read_bytes() == bytes(range(256)), answer
