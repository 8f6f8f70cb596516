"""--allow: a directory of the host at its own place, read-only unless asked, and what stays closed even then."""
import os
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

import belljar
import host

pytestmark = pytest.mark.usefixtures("watch")

# Files that run or steer something on the host the next time somebody opens a shell, an editor or an agent there.
PROTECTED_FILES = [
    ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".gitconfig", ".gitmodules", ".git/config", ".git/config.worktree", ".git/hooks/pre-commit",
    ".mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".vscode/tasks.json", ".idea/workspace.xml", ".envrc", ".ssh/authorized_keys",
    ".npmrc", ".pypirc", ".netrc", ".vimrc", ".config/fish/config.fish", ".config/git/config",
    ".yarnrc.yml", ".yarn/releases/yarn.cjs", ".devcontainer/devcontainer.json", ".windsurf/rules/a.md", ".pre-commit-config.yaml", ".githooks/pre-commit",
    ".tool-versions", "mise.toml", "CLAUDE.md", ".github/copilot-instructions.md", ".cargo/config.toml",
]  # fmt: skip


@pytest.fixture
def folder(who):
    path = who.directory("grant-" + secrets.token_hex(4))
    (path / "data.csv").write_text("a,b\n1,2\n")
    (path / "sub").mkdir()
    (path / "sub" / "deep.txt").write_text("deep\n")
    for p in [path, *path.rglob("*")]:
        who.own(p)
    return path


@pytest.mark.smoke
def test_a_granted_directory_is_readable_at_its_own_place(who, folder):
    answer = who.run(f"print(open('{folder}/data.csv').read(), open('{folder}/sub/deep.txt').read())", "--allow", folder)
    assert answer.json["stdout"] == "a,b\n1,2\n deep\n\n", answer


def test_without_a_grant_it_is_not_there(who, folder):
    answer = who.run(f"import os; print(os.path.exists('{folder}'))")
    assert answer.json["stdout"] == "False\n", answer


@pytest.mark.parametrize("suffix", ["", ":ro"])
def test_read_only_unless_asked(who, folder, suffix):
    code = (
        "import os\n"
        f"for f in (lambda: open('{folder}/new', 'w'), lambda: open('{folder}/data.csv', 'a'), lambda: os.unlink('{folder}/data.csv'),\n"
        f"          lambda: os.mkdir('{folder}/d'), lambda: os.chmod('{folder}/data.csv', 0o777), lambda: os.rename('{folder}/sub', '{folder}/x'),\n"
        f"          lambda: os.utime('{folder}/data.csv', (0, 0)), lambda: os.symlink('a', '{folder}/l'), lambda: os.truncate('{folder}/data.csv', 0),\n"
        f"          lambda: os.link('{folder}/data.csv', '{folder}/l'), lambda: os.open('{folder}', os.O_TMPFILE | os.O_WRONLY)):\n"
        "    try:\n        f(); print('wrote')\n    except OSError as e:\n        print(e.errno)\n"
    )
    answer = who.run(code, "--allow", f"{folder}{suffix}")
    assert "wrote" not in answer.json["stdout"], answer
    assert sorted(p.name for p in folder.iterdir()) == ["data.csv", "sub"]
    assert (folder / "data.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.smoke
def test_files_written_belong_to_the_owner_of_the_directory(who, folder):
    code = f"import os\nopen('{folder}/out.txt', 'w').write('hello')\nos.mkdir('{folder}/made')\nopen('{folder}/made/x', 'w').close()\nopen('{folder}/data.csv', 'a').write('3,4\\n')"
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert answer.status == "success", answer
    assert (folder / "out.txt").read_text() == "hello"
    for name in ("out.txt", "made", "made/x"):
        st = (folder / name).stat()
        assert (st.st_uid, st.st_gid) == (who.uid, who.gid), f"{name} belongs to {st.st_uid}:{st.st_gid}"
    assert (folder / "data.csv").read_text() == "a,b\n1,2\n3,4\n"


def test_files_in_somebody_elses_directory_belong_to_them(callers):
    """Root grants a directory of another user: what is written there is that user's."""
    if "root" not in callers:
        pytest.skip("needs root, to grant a directory of another user")
    root, user = callers["root"], callers["user"]
    folder = user.directory("grant-" + secrets.token_hex(4))
    answer = root.run(f"open('{folder}/f', 'w').write('x')\nprint(open('{folder}/f').read())", "--allow", f"{folder}:rw")
    assert answer.status == "success", answer
    assert (folder / "f").stat().st_uid == user.uid


def test_bash_writes_there_too(who, folder):
    answer = who.run(f"cd {folder} && echo hi > new.txt && mv new.txt sub/ && cat sub/new.txt", "-l", "bash", "--allow", f"{folder}:rw")
    assert answer.json["stdout"] == "hi\n" and (folder / "sub/new.txt").exists(), answer


@pytest.mark.parametrize("name", PROTECTED_FILES)
def test_protected_files_that_exist_stay_as_they_are(who, folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine\n")
    for p in [path, *path.relative_to(folder).parents]:
        who.own(folder / p)
    code = (
        "import os\n"
        f"p = '{path}'\n"
        "for f in (lambda: open(p, 'a').write('evil'), lambda: os.unlink(p), lambda: os.rename(p, p + 'x'), lambda: os.truncate(p, 0),\n"
        f"          lambda: (open('{folder}/evil', 'w').write('evil'), os.rename('{folder}/evil', p))):\n"
        "    try:\n        f()\n        print('done')\n    except OSError as e:\n        print(e.errno)\n"
    )
    who.run(code, "--allow", f"{folder}:rw")
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize("name", PROTECTED_FILES)
def test_protected_files_that_do_not_exist_do_not_come_into_being(who, folder, name):
    code = f"import os\np = '{folder / name}'\ntry:\n    os.makedirs(os.path.dirname(p), exist_ok=True)\n    open(p, 'w').write('evil')\nexcept OSError as e:\n    print(e.errno)"
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert not (folder / name).exists() or (folder / name).read_text() != "evil", answer


@pytest.mark.parametrize("name", [".git", ".vscode", ".claude", ".config"])
def test_protected_directories_cannot_be_swapped_by_their_parents(who, folder, name):
    inner = {".git": "config", ".vscode": "tasks.json", ".claude": "settings.json", ".config": "git/config"}[name]
    path = folder / name / inner
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    for p in folder.rglob("*"):
        who.own(p)
    code = f"import os\ntry:\n    os.rename('{folder}/{name}', '{folder}/moved')\n    os.makedirs('{path.parent}')\n    open('{path}', 'w').write('evil')\nexcept OSError as e:\n    print(e.errno)"
    who.run(code, "--allow", f"{folder}:rw")
    assert path.exists() and path.read_text() == "mine\n"


@pytest.mark.parametrize("name", [".bashrc", ".git/hooks/post-checkout", ".mcp.json"])
def test_protected_files_in_a_repository_below_the_grant(who, folder, name):
    """A directory full of checkouts is granted as often as one checkout."""
    path = folder / "sub" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine\n")
    for p in folder.rglob("*"):
        who.own(p)
    who.run(f"open('{path}', 'a').write('evil')", "--allow", f"{folder}:rw")
    if name.startswith(".git"):
        assert path.read_text() == "mine\n"


@pytest.mark.parametrize("where", ["", "sub/hidden/"])
def test_a_bare_repository_keeps_its_settings(who, folder, where):
    """git takes any directory with HEAD, objects and refs for a repository, and runs what its configuration names."""
    repository = folder / (where or ".")
    for name in ("objects", "refs", "hooks"):
        (repository / name).mkdir(parents=True)
    for name in ("HEAD", "config", "hooks/post-checkout"):
        (repository / name).write_text("mine\n")
    own_all(who, folder)
    code = (
        "import os\n"
        f"r = '{repository}'\n"
        "for f in (lambda: open(r + '/config', 'a').write('evil'), lambda: open(r + '/hooks/post-checkout', 'a').write('evil'), lambda: open(r + '/hooks/pre-push', 'w'),\n"
        "          lambda: os.unlink(r + '/config'), lambda: os.rename(r + '/hooks', r + '/x'), lambda: os.rename(r, r + '-x')):\n"
        "    try:\n        f(); print('done')\n    except OSError as e:\n        print(e.errno)\n"
        "open(r + '/refs/new', 'w').write('free')\n"
    )
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert "done" not in answer.json["stdout"] and answer.status == "success", answer
    assert (repository / "config").read_text() == (repository / "hooks/post-checkout").read_text() == "mine\n"
    assert (repository / "refs/new").read_text() == "free" and not (repository / "hooks/pre-push").exists()


def test_a_grant_does_not_become_a_bare_repository(who, folder):
    answer = who.run(f"cd {folder} && mkdir objects refs && echo 'ref: refs/heads/x' > HEAD && echo evil > config", "-l", "bash", "--allow", f"{folder}:rw")
    assert answer.status == "error" and not (folder / "HEAD").exists(), answer


def test_no_set_id_files_are_left(who, folder):
    code = f"import os\np = '{folder}/s'\nopen(p, 'w').close()\nfor m in (0o4755, 0o2755, 0o6777):\n    try:\n        os.chmod(p, m)\n    except OSError as e:\n        print(e.errno)\ntry:\n    os.open('{folder}/t', os.O_CREAT | os.O_WRONLY, 0o4755)\nexcept OSError as e:\n    print(e.errno)"
    who.run(code, "--allow", f"{folder}:rw")
    for p in folder.rglob("*"):
        assert not p.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID), p


def test_a_link_in_a_grant_does_not_lead_out(who, folder, canary):
    os.symlink(canary.dir, folder / "link")
    os.symlink(canary.file, folder / "file-link")
    code = f"import os\nfor p in ('{folder}/link/secret.txt', '{folder}/file-link'):\n    try:\n        print(open(p).read())\n    except OSError as e:\n        print(e.errno)"
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert canary.token not in answer.text and not canary.complaints(), answer


def test_dot_dot_from_a_grant_does_not_lead_out(who, folder):
    (folder.parent / "beside.txt").write_text("beside")
    answer = who.run(f"import os\nprint(os.listdir('{folder}/..'))\nprint(os.path.exists('{folder}/../beside.txt'))", "--allow", folder)
    (folder.parent / "beside.txt").unlink()
    assert "beside.txt" not in answer.json["stdout"] and "False" in answer.json["stdout"], answer


def test_two_grants_and_one_inside_the_other(who, folder):
    answer = who.run(
        f"open('{folder}/sub/new', 'w').write('x')\ntry:\n    open('{folder}/new', 'w')\nexcept OSError as e:\n    print('ro', e.errno)",
        "--allow", folder, "--allow", f"{folder}/sub:rw",
    )  # fmt: skip
    assert "ro 30" in answer.json["stdout"] and (folder / "sub/new").exists(), answer


def test_a_grant_is_not_given_through_a_link(who, folder, canary):
    """A program with an earlier grant may have put the link there."""
    answer = who.run(f"import os\nos.rename('{folder}/sub', '{folder}/.s'); os.symlink('{canary.dir}', '{folder}/sub')", "--allow", f"{folder}:rw")
    assert not answer.json["denials"] and (folder / "sub").is_symlink(), answer
    for mode in "ro", "rw", "cow":
        answer = who.call("run", "-c", "1", "--allow", f"{folder}/sub:{mode}")
        assert answer.code == 77 and f"leads to `{canary.dir}`" in answer.errors and "by its own path" in answer.errors, answer


def test_strict_takes_no_grants(who, folder):
    answer = who.call("run", "--profile", "strict", "-c", "print('ran')", "--allow", folder)
    assert answer.code not in (0,) and b"ran" not in answer.out, answer
    assert answer.errors.startswith("belljar: ") and "strict" in answer.errors, answer


@pytest.mark.parametrize("path", ["/", "/proc", "/sys", "/dev", "/etc", "/run", "/usr"])
def test_places_that_must_not_be_granted_for_writing(who, path):
    answer = who.run("print('ran')", "--allow", f"{path}:rw")
    assert answer.code != 0 or "ran" not in answer.json.get("stdout", ""), f"{path} was granted"


@pytest.mark.parametrize(
    "word", ["/no/such/dir", "relative/../..", "", ":rw", "/etc/passwd", "/tmp:rx"]
)
def test_a_grant_that_cannot_be(who, word):
    answer = who.call("run", "-c", "print('ran')", "--profile", "open", "--allow", word)
    assert answer.code in (64, 66, 77) and b"ran" not in answer.out, answer
    assert answer.errors.startswith("belljar: ") and len(answer.errors.splitlines()) <= 2, answer


def test_a_directory_the_caller_cannot_read_is_refused(user, tmp_path):
    """As root everything can be read; an ordinary user must not see more inside than outside."""
    if os.getuid() != 0:
        pytest.skip("needs root, to make a directory of somebody else")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    answer = user.run(f"import os; print(os.listdir('{closed}'))", "--allow", closed)
    assert answer.code != 0, answer


def own_all(who, folder):
    for p in folder.rglob("*"):
        who.own(p)


def test_a_read_only_directory_stays_so_below_one_granted_for_writing(who, folder):
    """Whichever was named first."""
    code = f"try:\n    open('{folder}/sub/new', 'w')\nexcept OSError as e:\n    print('ro', e.errno)"
    answer = who.run(code, "--allow", f"{folder}/sub:ro", "--allow", f"{folder}:rw")
    assert "ro 30" in answer.json["stdout"] and not (folder / "sub/new").exists(), answer


def test_the_target_of_a_protected_link_stays_as_it_is(who, folder):
    (folder / "rc").write_text("mine\n")
    (folder / ".bashrc").symlink_to("rc")
    own_all(who, folder)
    who.run(f"open('{folder}/rc', 'w').write('evil')", "--allow", f"{folder}:rw")
    assert (folder / "rc").read_text() == "mine\n"


def test_a_protected_link_cannot_be_turned_elsewhere(who, folder):
    (folder / ".zshrc").symlink_to("nowhere")
    code = f"import os\nos.unlink('{folder}/.zshrc')\nopen('{folder}/evil', 'w').write('evil')\nos.symlink('evil', '{folder}/.zshrc')"
    who.run(code, "--allow", f"{folder}:rw")
    assert not (folder / ".zshrc").exists()


def test_a_git_file_stays_as_it_is(who, folder):
    (folder / ".git").write_text("gitdir: ../real\n")
    own_all(who, folder)
    who.run(f"open('{folder}/.git', 'w').write('gitdir: evil')", "--allow", f"{folder}:rw")
    assert (folder / ".git").read_text() == "gitdir: ../real\n"


def test_a_repository_below_the_grant_cannot_be_moved_away(who, folder):
    hooks = folder / "sub" / "repo" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    own_all(who, folder)
    code = f"import os\nfor a, b in (('sub', 'x'), ('sub/repo', 'y'), ('sub/repo/.git', 'z')):\n    try:\n        os.rename('{folder}/' + a, '{folder}/' + b); print('moved')\n    except OSError as e:\n        print(e.errno)"
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert "moved" not in answer.json["stdout"] and hooks.is_dir(), answer


def test_what_an_orphan_writes_last_is_found_too(who, folder):
    answer = who.run(f"(while :; do : > {folder}/.envrc; done) & sleep 0.3", "-l", "bash", "--allow", f"{folder}:rw")
    assert answer.status == "success" and not (folder / ".envrc").exists(), answer


def test_a_name_made_in_advance_does_not_keep_a_protected_file_in_place(who, folder):
    code = f"import os\nos.mkdir('{folder}/.bashrc.belljar-refused')\nopen('{folder}/.bashrc', 'w').write('evil')"
    who.run(code, "--allow", f"{folder}:rw")
    assert not (folder / ".bashrc").exists()


def test_a_socket_in_a_grant_is_no_door(who, folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        os.chmod(folder / "s", 0o777)
        listener.listen()
        listener.settimeout(0.2)
        answer = who.run(
            f"import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('{folder}/s'); print('in')\nexcept OSError as e:\n    print(e.errno)\nsocket.socketpair()",
            "--allow", folder,
        )  # fmt: skip
        assert answer.json["stdout"] == "1\n" and answer.status == "success", answer
        with pytest.raises(TimeoutError):
            listener.accept()


WRITES_TO_A_FIFO = """
import os
os.chdir({path!r}.rsplit("/", 1)[0])
for path in ({path!r}, "fifo", "./../" + os.getcwd().rsplit("/", 1)[1] + "/fifo", "/proc/self/cwd/fifo"):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        try: os.write(os.open(path, flags | os.O_NONBLOCK), b"x")
        except OSError: pass
    for change in (lambda: os.rename(path, "moved"), lambda: os.link(path, "linked"), lambda: os.link("moved", "linked")):
        try: change()
        except OSError: pass
    for new in ("moved", "linked"):
        try: os.write(os.open(new, os.O_WRONLY | os.O_NONBLOCK), b"x")
        except OSError: pass
print("over")
"""


@pytest.mark.parametrize("mode", ["ro", "rw", "cow"])
@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/srv"])
def test_a_fifo_in_a_grant_is_no_door(who, place, mode):
    """A read-only mount does not stop writing to a FIFO, and neither does Landlock where the program may write around it."""
    if not os.access(place, os.W_OK):
        pytest.skip(f"needs to write in {place}")
    if who.name == "root" and host.is_overlay(place):
        pytest.skip(f"needs a file system below {place} that root can grant, which an overlay is not")
    top = Path(tempfile.mkdtemp(prefix="belljar-grant-", dir=place))
    try:
        deep = top / "sub" / "deep"
        deep.mkdir(parents=True)
        for path in (top / "fifo", deep / "fifo"):
            os.mkfifo(path)
            os.chmod(path, 0o666)
            for p in (top, deep.parent, deep, path):
                who.own(p)
            held = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            try:
                answer = who.run(WRITES_TO_A_FIFO.format(path=str(path)), "--allow", f"{top}:{mode}")
                assert answer.json["stdout"] == "over\n", answer
                with pytest.raises(BlockingIOError):
                    os.read(held, 1)
            finally:
                os.close(held)
    finally:
        shutil.rmtree(top)


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_grant_in_which_fifos_could_hide_is_refused(who, mode):
    """Below /tmp, a directory that the program could enter but nobody can list for it."""
    if who.name != "user" or os.getuid() != 0:
        pytest.skip("needs root and a user")
    top = Path(tempfile.mkdtemp(prefix="belljar-grant-", dir="/tmp"))
    try:
        who.own(top)
        (top / "closed").mkdir(mode=0o711)
        os.chmod(top / "closed", 0o711)
        answer = who.run("print(1)", "--allow", f"{top}:{mode}")
        assert answer.code != 0 and "FIFOs" in str(answer), answer
    finally:
        shutil.rmtree(top)


@pytest.mark.parametrize("kind", ["SOCK_DGRAM", "SOCK_RAW"])
def test_no_end_of_a_pair_reaches_a_datagram_socket_in_a_grant(who, folder, kind):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(folder / "s"))
        os.chmod(folder / "s", 0o777)
        listener.settimeout(0.2)
        answer = who.run(
            "import socket\n"
            "try:\n"
            f"    a, b = socket.socketpair(socket.AF_UNIX, socket.{kind})\n"
            f"    a.sendto(b'x', '{folder}/s'); print('sent')\n"
            "except OSError as e:\n"
            "    print('refused')\n"
            "for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:\n"
            "    a, b = socket.socketpair(socket.AF_UNIX, kind); a.send(b'y'); print(b.recv(1))\n",
            "--allow", folder,
        )  # fmt: skip
        assert answer.json["stdout"] == "refused\nb'y'\nb'y'\n", answer
        with pytest.raises(TimeoutError):
            listener.recv(1)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts are shared in a namespace made for it")
def test_mounts_of_a_grant_do_not_reach_the_host(folder):
    (folder / ".bashrc").write_text("mine\n")
    script = (
        f'mount --bind "{folder}" "{folder}" && mount --make-shared "{folder}" && before=$(grep -c . /proc/self/mountinfo) && '
        f'"{belljar.program_path()}" run --profile open -l bash --allow "{folder}:rw" -c true && test "$(grep -c . /proc/self/mountinfo)" = "$before"'
    )
    assert subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script], timeout=60).returncode == 0


def test_a_directory_is_granted_once(user):
    folder = user.directory("granted-once")
    wrong = user.call("run", "--allow", f"{folder}:cow", "--allow", f"{folder}:rw", "-c", "1")
    assert wrong.code == 64 and "granted twice, as `:cow` and as `:rw`" in wrong.errors, wrong
    assert user.call("run", "--allow", folder, "--allow", f"{folder}/", "-c", "print(1)").text == "1\n"
