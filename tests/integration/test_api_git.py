"""api.git_operations: by itself against git's own word, against repositories that want to run something, and in a sandbox."""
import base64
import hmac
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import belljar

sys.path.insert(0, str(belljar.ROOT / "library"))

from api import _git  # noqa: E402
from api import git_operations as git  # noqa: E402

AUTHOR = "A Tester <tester@example.org>"
CLEAN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C.UTF-8",
         "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org"}  # fmt: skip


def plain(cwd, *words, ok=True):
    """git as anybody calls it."""
    done = subprocess.run(["git", *words], cwd=cwd, env=CLEAN, capture_output=True, text=True, timeout=belljar.HANG_SECONDS)
    assert done.returncode == 0 or not ok, (words, done.stderr)
    return done.stdout


@pytest.fixture
def repo(tmp_path, monkeypatch):
    path = tmp_path / "repo"
    plain(tmp_path, "init", "-q", "-b", "main", str(path))
    for name in ("one.txt", "two.txt", "three.txt"):
        (path / name).write_text(f"{name}\n" * 20)
    plain(path, "add", ".")
    plain(path, "commit", "-qm", "first")
    monkeypatch.chdir(path)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_status_knows_every_kind_of_change(repo):
    """The first path keeps its first letter; renames and conflicts are told."""
    assert git.git_status() == {
        "status": "success", "returncode": 0, "stdout": "", "stderr": "", "has_changes": False, "counts": {}, "staged": 0,
        "files": {"modified": [], "added": [], "deleted": [], "renamed": [], "untracked": [], "conflicted": []}, "branch": "main", "upstream": None}  # fmt: skip
    (repo / "one.txt").write_text("changed\n")
    os.unlink("two.txt")
    plain(repo, "mv", "three.txt", "with blank\n.txt")
    (repo / "ä 'new'").write_text("")
    (repo / "staged").write_text("")
    plain(repo, "add", "staged")
    status = git.git_status()
    assert status["files"] == {"modified": ["one.txt"], "added": ["staged"], "deleted": ["two.txt"], "untracked": ["ä 'new'"], "conflicted": [],
                               "renamed": [{"from": "three.txt", "to": "with blank\n.txt"}]}  # fmt: skip
    assert status["has_changes"] and status["staged"] == 2 and status["stdout"].startswith(" M one.txt\n"), status
    assert git.git_status(cwd=str(repo), limit=0)["counts"] == {"modified": 1, "added": 1, "deleted": 1, "renamed": 1, "untracked": 1}


def test_status_of_a_conflict_and_of_a_branch_that_follows_another(repo, tmp_path):
    plain(tmp_path, "clone", "-q", str(repo), "clone")
    clone = str(tmp_path / "clone")
    plain(clone, "switch", "-qc", "side", "--track", "origin/main")
    (tmp_path / "clone/one.txt").write_text("side\n")
    plain(clone, "commit", "-qam", "side")
    (repo / "one.txt").write_text("main\n")
    plain(repo, "commit", "-qam", "main")
    plain(clone, "fetch", "-q")
    status = git.git_status(clone)
    assert (status["branch"], status["upstream"], status["ahead"], status["behind"]) == ("side", "origin/main", 1, 1)
    plain(clone, "merge", "origin/main", ok=False)
    assert git.git_status(clone)["files"]["conflicted"] == ["one.txt"]


def test_add_commit_log_and_diff(repo):
    (repo / "one.txt").write_text("new\n")
    (repo / "-dash").write_text("x\n")
    os.unlink("two.txt")
    unstaged = git.git_diff()
    assert unstaged["files"] == [{"path": "one.txt", "added": 1, "deleted": 20}, {"path": "two.txt", "added": 0, "deleted": 20}]
    assert unstaged["has_changes"] and "+new\n" in unstaged["diff"] and unstaged["diff"] == plain(repo, "diff")
    assert "diff" not in git.git_diff(text=False) and git.git_diff(files=["two.txt"])["files"] == unstaged["files"][1:]
    assert not git.git_diff(staged=True)["has_changes"]
    assert git.git_add(["-dash", "."], dry_run=True)["files_added"] == 3 and not git.git_diff(staged=True)["has_changes"]
    assert git.git_add(["-dash", "."])["files_added"] == 3
    assert git.git_commit("never", author=AUTHOR, dry_run=True)["files"] == 3
    done = git.git_commit("# a subject\n\na body\n", author=AUTHOR)
    assert done["commit_hash"] == plain(repo, "rev-parse", "HEAD").strip() and done["files"] == 3, done
    assert plain(repo, "log", "-1", "--format=%an <%ae>|%cn <%ce>|%B") == f"{AUTHOR}|{AUTHOR}|# a subject\n\na body\n\n"
    log = git.git_log()
    assert [(c["message"], c["author"]) for c in log["commits"]] == [("# a subject", "A Tester"), ("first", "t")], log
    assert log["commits"][0]["hash"] == done["commit_hash"][:7]
    whole = git.git_log(max_count=1, oneline=False)["commits"]
    assert [(c["hash"], c["message"]) for c in whole] == [(done["commit_hash"], "# a subject\n\na body")]
    assert not git.git_status()["has_changes"]


def test_a_repository_without_commits(tmp_path):
    plain(tmp_path, "init", "-q", "-b", "main")
    here = str(tmp_path)
    assert git.git_log(cwd=here)["commits"] == [] and git.get_current_branch(here)["branch"] == "main"
    (tmp_path / "a").write_text("")
    assert git.git_add("a", cwd=here)["status"] == "success"
    assert git.git_commit("first", cwd=here, author=AUTHOR)["files"] == 1


def test_branches(repo):
    assert git.create_branch("a/b", checkout=False)["status"] == "success" and git.get_current_branch()["branch"] == "main"
    assert git.create_branch("c", dry_run=True)["dry_run"] and "already" in git.create_branch("a/b", dry_run=True)["error"]
    assert git.create_branch("c")["branch"] == "c" and git.get_current_branch()["branch"] == "c"
    assert "already" in git.create_branch("c")["error"] and git.create_branch("c")["hint"]
    plain(repo, "checkout", "-q", "--detach")
    assert git.get_current_branch()["branch"] is None and git.git_status()["branch"] is None
    assert "no branch" in git.git_push()["error"]


@pytest.mark.parametrize("name", ["-b", "--help", "", "a..b", "a b", "a\nb", "HEAD", "@{-1}", "x.lock", "a:b", None, 3])
def test_names_that_are_none(repo, name):
    assert "not a valid name" in git.create_branch(name)["error"]
    if name is not None:
        assert "not a valid name" in git.git_push("origin", name)["error"]
    if not isinstance(name, str) or name.startswith("-") or not name:
        assert "not a valid name" in git.git_push(name)["error"]
    assert plain(repo, "branch", "--format=%(refname:short)") == "main\n"


def test_what_cannot_be_done_says_why_and_what_to_do(repo, tmp_path):
    assert "no git repository" in git.git_status(str(tmp_path))["error"] and "cwd=" in git.git_status(str(tmp_path))["hint"]
    assert "no directory" in git.git_status("/does/not/exist")["error"] and "not a directory" in git.git_status("/etc/passwd")["error"]
    assert "nothing is staged" in git.git_commit("m", author=AUTHOR)["error"]
    assert "empty" in git.git_commit(" \n", author=AUTHOR)["error"] and "no files" in git.git_add([])["error"] and "empty" in git.git_add([""])["error"]
    assert "missing.txt" in git.git_add(["missing.txt"])["error"]
    (repo / "new").write_text("")
    git.git_add(["new"])
    nobody = git.git_commit("m")
    assert "who commits" in nobody["error"] and "author=" in nobody["hint"], nobody
    for author in ("name", "name <>", "a\nb <c@d>", "<a@b>"):
        assert "Name <mail" in git.git_commit("m", author=author)["hint"]
    (repo / ".git/index.lock").write_text("")
    assert "another git" in git.git_add(["new"])["error"]
    for count in (0, -1, 10**9, "1; id"):
        assert "max_count" in git.git_log(max_count=count)["error"]


def test_the_configuration_or_the_environment_may_say_who_commits(repo, monkeypatch):
    (repo / "new").write_text("")
    git.git_add(["new"])
    plain(repo, "config", "user.name", "Configured")
    plain(repo, "config", "user.email", "c@example.org")
    assert git.git_commit("m")["status"] == "success" and git.git_log(1)["commits"][0]["author"] == "Configured"
    for part in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{part}_NAME", "Environment")
        monkeypatch.setenv(f"GIT_{part}_EMAIL", "e@example.org")
    plain(repo, "rm", "-q", "new")
    assert git.git_commit("m")["status"] == "success" and git.git_log(1)["commits"][0]["author"] == "Environment"


def test_the_users_identity_is_weaker_than_a_repositorys(repo, monkeypatch):
    monkeypatch.setenv("BELLJAR_GIT_NAME", 'Ada "the \\\\ Countess" König')
    monkeypatch.setenv("BELLJAR_GIT_EMAIL", "ada@example.org")
    (repo / "new").write_text("")
    git.git_add(["new"])
    assert git.git_commit("m")["status"] == "success"
    assert plain(repo, "log", "-1", "--format=%an|%ae|%cn|%ce") == 'Ada "the \\\\ Countess" König|ada@example.org|Ada "the \\\\ Countess" König|ada@example.org\n'
    plain(repo, "config", "user.email", "work@example.org")
    plain(repo, "rm", "-q", "new")
    assert git.git_commit("m")["status"] == "success" and plain(repo, "log", "-1", "--format=%ae") == "work@example.org\n"
    for value in ("x\n[core]\n\tfsmonitor = touch evil", ""):
        monkeypatch.setenv("BELLJAR_GIT_NAME", value)
        assert git.git_status()["status"] == "success" and not (repo / "evil").exists()


def test_signed_commits_are_asked_for_by_the_repository_or_by_the_user(repo, monkeypatch):
    (repo / "new").write_text("")
    git.git_add(["new"])
    monkeypatch.setenv("BELLJAR_GIT_SIGNS", "true")
    refused = git.git_commit("m", author=AUTHOR)
    assert "is to be signed" in refused["error"] and "sign=False" in refused["hint"], refused
    assert "is to be signed" in git.git_commit("m", author=AUTHOR, sign=True)["error"]
    assert plain(repo, "log", "--format=%s") == "first\n"
    plain(repo, "config", "commit.gpgSign", "off")
    assert git.git_commit("m", author=AUTHOR)["status"] == "success"


def test_no_usage_text_of_git_is_passed_on(repo, tmp_path, monkeypatch):
    """Outside of a repository, `git diff` would compare two files, or explain all its options."""
    outside = str(tmp_path)
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    for answer in (git.git_diff(cwd=outside), git.git_diff(staged=True, cwd=outside), git.git_diff(files=["a", "b"], cwd=outside), git.git_commit("m", cwd=outside),
                   git.git_add(["a"], cwd=outside), git.git_log(cwd=outside), git.create_branch("x", cwd=outside), git.git_push(cwd=outside)):  # fmt: skip
        assert answer["error"] == "there is no git repository here" and answer["hint"] and len(str(answer)) < 500, answer
    with pytest.raises(_git.Refusal) as refused:
        git._call(["commit", "--no-such-option"], str(repo))
    assert "no-such-option" in str(refused.value) and refused.value.hint
    assert "usage" not in refused.value.answer.err and len(refused.value.answer.err) < 200


def test_push(repo, tmp_path):
    plain(tmp_path, "init", "-q", "--bare", "far.git")
    plain(repo, "remote", "add", "origin", str(tmp_path / "far.git"))
    assert git.git_push(dry_run=True)["dry_run"] and plain(tmp_path / "far.git", "branch") == ""
    done = git.git_push()
    assert done["status"] == "success" and done["branch"] == "main" and done["remote_url"] == str(tmp_path / "far.git"), done
    assert plain(tmp_path / "far.git", "rev-parse", "main") == plain(repo, "rev-parse", "main")
    assert git.git_push(str(tmp_path / "far.git"), "main")["status"] == "success"
    plain(repo, "commit", "-q", "--amend", "-m", "another")
    assert "refused" in git.git_push()["error"] and "no branch nix" in git.git_push(branch="nix")["error"]


def test_a_push_that_does_not_get_there_says_why(repo):
    assert "no such remote" in git.git_push()["error"]
    assert "/nowhere.git is not in this sandbox" in git.git_push("/nowhere.git")["error"] and "/nowhere.git:rw (`allow`)" in git.git_push("/nowhere.git")["hint"]
    refused = git.git_push("ext::sh -c 'touch evil'")
    assert "`ext`" in refused["error"] and not (repo / "evil").exists(), refused
    assert "`--net HOST`" in git.git_push("https://127.0.0.1:1/x.git")["hint"]


HOSTILE = """
[core]
    fsmonitor = {touch} fsmonitor
    hooksPath = {hooks}
    pager = {touch} pager
    editor = {touch} editor
    sshCommand = {touch} ssh
    askPass = {touch} askpass
    gitProxy = {touch} proxy
[diff]
    external = {touch} external
[diff "d"]
    command = {touch} command
    textconv = {touch} textconv
[filter "f.g"]
    clean = {touch} clean; cat
    smudge = {touch} smudge; cat
    process = {touch} process
[alias]
    status = !{touch} alias
[commit]
    gpgSign = true
[gpg]
    program = {touch} gpg
[credential]
    helper = "!{touch} helper"
[include]
    path = {included}
[remote "origin"]
    url = {far}
    receivepack = {touch} receivepack
[remote "ssh"]
    url = ssh://localhost:1/x
[remote "vcs"]
    vcs = ext
    url = sh -c {touch}
"""


@pytest.fixture
def hostile(repo, tmp_path):
    """A repository whose configuration names a program wherever it can, and a directory where each leaves its name."""
    seen = tmp_path / "seen"
    seen.mkdir()
    touch = tmp_path / "touch"
    touch.write_text(f'#!/bin/sh\ntouch "{seen}/$1"\n')
    touch.chmod(0o755)
    far = tmp_path / "far.git"
    plain(tmp_path, "init", "-q", "--bare", str(far))
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for place in (hooks, repo / ".git/hooks", far / "hooks"):
        place.mkdir(exist_ok=True)
        for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-push", "reference-transaction", "post-index-change",
                     "prepare-commit-msg", "pre-receive", "update", "post-receive"):  # fmt: skip
            (place / name).write_text(f'#!/bin/sh\ntouch "{seen}/{name}"\n')
            (place / name).chmod(0o755)
    included = tmp_path / "included"
    included.write_text(f'[filter "h"]\n\tclean = {touch} included; cat\n')
    with open(repo / ".git/config", "a") as file:
        file.write(HOSTILE.format(touch=touch, hooks=hooks, included=included, far=far))
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("*.txt diff=d\none.* filter=f.g\ntwo.* filter=h\n")
    return seen


def test_nothing_a_repository_names_is_run(repo, hostile):
    (repo / "one.txt").write_text("new\n")
    (repo / "three.txt").write_text("new\n")
    assert git.git_status()["counts"] == {"modified": 2}
    assert git.git_diff()["status"] == "success" and git.git_log(oneline=False)["status"] == "success"
    done = git.git_add(["three.txt"])
    assert done["status"] == "success", done
    assert git.git_diff(staged=True)["has_changes"]
    assert "is to be signed" in git.git_commit("m", author=AUTHOR)["error"]
    assert git.git_commit("m", author=AUTHOR, sign=False)["status"] == "success"
    assert git.create_branch("b")["status"] == "success"
    assert git.git_push()["status"] == "success"
    assert git.git_push("ssh")["status"] == "error" and git.git_push("vcs")["status"] == "error"
    assert os.listdir(hostile) == []


def test_a_file_that_needs_a_filter_is_not_stored_without_it(repo, hostile):
    for name, driver in (("one.txt", "f.g"), ("two.txt", "h")):
        (repo / name).write_text("as it must not be stored\n")
        refused = git.git_add([name])
        assert f"filter `{driver}`" in refused["error"], refused
        assert not git.git_diff(staged=True)["has_changes"]
    assert os.listdir(hostile) == []


def test_the_hostile_repository_is_one(repo, hostile):
    """Otherwise the tests above prove nothing."""
    for name in ("one.txt", "two.txt", "three.txt"):
        (repo / name).write_text("new\n")
    for words in (["diff", "three.txt"], ["add", "two.txt"], ["add", "."], ["commit", "--no-gpg-sign", "-m", "m"], ["push", "origin", "main"], ["push", "ssh"]):
        plain(repo, *words, ok=False)
    assert {"fsmonitor", "command", "process", "included", "pre-commit", "receivepack", "ssh"} <= set(os.listdir(hostile))


def test_answers_have_bounds(repo, monkeypatch):
    for number in range(300):
        (repo / f"file-{number:03}").write_text("line\n" * 200)
    git.git_add(["."])
    diff = git.git_diff(staged=True, max_bytes=1000)
    assert len(diff["diff"]) == 1000 and diff["diff_more"] > 200_000 and len(diff["files"]) == 200 and diff["files_more"] == 100
    status = git.git_status()
    assert len(status["files"]["added"]) == 200 and status["counts"] == {"added": 300} and len(status["stdout"]) < 4100
    monkeypatch.setattr(_git, "OUTPUT_MAX", 100)
    monkeypatch.setattr(_git.start, "__defaults__", (None, b"", 100, None, "none", None))
    assert "too many" in git.git_status()["error"]


def test_a_git_that_takes_too_long_is_ended(repo, monkeypatch):
    """Something that does not end, in git's place."""
    started = []
    real = subprocess.Popen

    def slow(words, executable, **more):
        started.append(real(["/bin/sleep", "1000"], **more))
        return started[-1]

    monkeypatch.setattr(_git.subprocess, "Popen", slow)
    monkeypatch.setattr(_git, "SECONDS", 0.2)
    assert "longer than 0.2 seconds" in git.git_status()["error"]
    assert [process.returncode for process in started] == [-9]


def test_nothing_is_left_open(repo):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        git.git_status()
        git.git_push()
    assert len(os.listdir("/proc/self/fd")) == before


JOURNEY = """
from api import git_operations as git, filesystem as fs
r = {repo!r}
fs.write_file(r + "/new.py", "print(1)\\n")
print(git.git_status(r)["files"]["untracked"], git.git_add(["new.py"], cwd=r)["files_added"])
print(git.create_branch("side", cwd=r)["status"], git.git_commit("add new.py", cwd=r, author="A Tester <t@example.org>")["files"])
print([c["message"] for c in git.git_log(cwd=r)["commits"]], git.git_push({far!r}, cwd=r)["status"])
print(git.git_push("https://example.org/x.git", cwd=r)["error"])
"""


@pytest.fixture
def granted(who):
    path = who.directory("work")
    for words in (["init", "-q", "-b", "main", "repo"], ["init", "-q", "--bare", "far.git"]):
        plain(path, *words)
    (path / "repo/README").write_text("read\n")
    plain(path / "repo", "add", ".")
    plain(path / "repo", "commit", "-qm", "first")
    for entry in path.rglob("*"):
        who.own(entry)
    return path


@pytest.mark.parametrize("profile", ["standard", "marketplace", "open"])
def test_a_journey_in_a_sandbox(who, granted, profile):
    code = JOURNEY.format(repo=str(granted / "repo"), far=str(granted / "far.git"))
    answer = who.run(code, "--allow", f"{granted}:rw", profile=profile)
    assert answer.json["stdout"] == "['new.py'] 1\nsuccess 1\n['add new.py', 'first'] success\nthe remote cannot be reached from this sandbox\n", answer
    assert plain_as(who, granted / "far.git", "log", "--format=%s", "side") == "add new.py\nfirst\n"


def plain_as(who, cwd, *words):
    done = subprocess.run(["git", *words], cwd=cwd, env=CLEAN, capture_output=True, text=True, **who.identity())
    return done.stdout + done.stderr


def test_a_directory_that_was_granted_for_reading(who, granted):
    code = f"from api import git_operations as git\nr = {str(granted / 'repo')!r}\nprint(git.git_status(r)['has_changes'], git.git_log(cwd=r)['commits'][0]['message'])\nprint(git.create_branch('x', cwd=r))"
    out = who.run(code, "--allow", f"{granted}:ro", profile="standard").json["stdout"]
    assert out.startswith("False first\n") and "cannot be written" in out and ":rw" in out, out


API_COMMIT = r"""
from api import git_operations as git, filesystem as fs
fs.write_file("new.py", "print(1)\n")
print(git.git_add(["new.py"])["files_added"], git.git_commit("from api").get("files"))
"""


BASH_COMMIT = "echo 2 > new.sh && git add new.sh && git commit -qm 'from bash'"


@pytest.fixture
def ada(who):
    """The user's own settings of git, with a program in them."""
    evil = who.home / "evil"
    path = who.file("ada.gitconfig", f"[user]\n\tname = Ada\n\temail = ada@example.org\n[core]\n\tfsmonitor = touch {evil}\n[alias]\n\tstatus = !touch {evil}\n")
    yield {"GIT_CONFIG_GLOBAL": str(path)}
    assert not evil.exists()


def authors(who, repo, *more):
    return plain_as(who, repo, "log", "--format=%s: %an <%ae>, %cn <%ce>", *more).splitlines()


@pytest.mark.parametrize("mode", ["rw", "cow"])
def test_commits_in_a_granted_repository_are_the_users(who, granted, ada, mode):
    """With the functions of `api` and with git itself."""
    repo = granted / "repo"
    grant = ("--allow", f"{repo}:{mode}")
    if mode == "rw":
        assert who.run(API_COMMIT, *grant, profile="standard", env=ada).json["stdout"] == "1 1\n"
        assert who.run(BASH_COMMIT, *grant, "--language", "bash", env=ada).status == "success"
        assert authors(who, repo, "-2") == [f"{how}: Ada <ada@example.org>, Ada <ada@example.org>" for how in ("from bash", "from api")]
    else:
        answer = who.run(BASH_COMMIT + " && git log -1 --format='%an <%ae>'", *grant, "--language", "bash", env=ada)
        assert answer.json["stdout"] == "Ada <ada@example.org>\n", answer


def test_a_repositorys_own_identity_counts(who, granted, ada):
    repo = granted / "repo"
    for key, value in (("user.name", "Work"), ("user.email", "work@example.org")):
        plain_as(who, repo, "config", key, value)
    assert who.run(BASH_COMMIT, "--allow", f"{repo}:rw", "--language", "bash", env=ada).status == "success"
    assert who.run(API_COMMIT, "--allow", f"{repo}:rw", profile="standard", env=ada).json["stdout"] == "1 1\n"
    assert {line.partition(": ")[2] for line in authors(who, repo, "-2")} == {"Work <work@example.org>, Work <work@example.org>"}


def test_the_operator_says_who_commits(who, granted, ada):
    repo = granted / "repo"
    grant = ("--allow", f"{repo}:rw")
    env = {**ada, "BELLJAR_GIT_IDENTITY": "Bot <bot@example.org>"}
    assert who.run(BASH_COMMIT, *grant, "--language", "bash", env=env).status == "success"
    assert authors(who, repo, "-1") == ["from bash: Bot <bot@example.org>, Bot <bot@example.org>"]
    assert who.run("git init -q . && git commit -q --allow-empty -m m && git log -1 --format=%an", "--language", "bash", env=env).json["stdout"] == "Bot\n"
    off = who.run(API_COMMIT.replace('.get("files")', '["error"]'), *grant, profile="standard", env={**ada, "BELLJAR_GIT_IDENTITY": "off"})
    assert off.json["stdout"] == "1 git does not know who commits\n", off
    wrong = who.run("1", env={**ada, "BELLJAR_GIT_IDENTITY": "Bot"})
    assert "expected `host`, `off` or `Name <mail@example.org>`" in wrong.errors, wrong


def test_without_a_granted_directory_nobody_is_named(who, ada):
    answer = who.run("import os\nprint([n for n in os.environ if 'GIT' in n], os.path.exists('/tmp/.belljar-git'))", env=ada)
    assert answer.json["stdout"] == "[] False\n", answer


SIGNER = """
import base64, hmac, json, sys
commit = json.load(sys.stdin)["commit"]
if "do not sign" in commit:
    sys.exit("not this one")
if "print junk" in commit:
    print("no signature")
else:
    proof = base64.b64encode(hmac.digest(open(sys.argv[1], "rb").read(), commit.encode(), "sha256")).decode()
    print(f"-----BEGIN SSH SIGNATURE-----\\n{proof[:20]}\\n{proof[20:]}\\n-----END SSH SIGNATURE-----")
"""

SIGNED = """
from api import git_operations as git, filesystem as fs
for number, message in enumerate(["first signed\\n\\nwith a body\\n", "do not sign", "print junk", "again", "plain"]):
    fs.write_file("new.py", f"print({number})\\n")
    git.git_add(["new.py"])
    done = git.git_commit(message, **({"sign": False} if message == "plain" else {}))
    print(done.get("signed"), done.get("files"), done.get("error"))
"""


@pytest.fixture
def signing(who, granted):
    """A repository that wants signatures, and a function of the operator's that makes them with a key which no sandbox sees."""
    script = who.file("signer.py", SIGNER)
    key = who.file("signing-key", "a key that stays outside", mode=0o600)
    plain_as(who, granted / "repo", "config", "commit.gpgSign", "true")
    function = f'[functions.git_sign]\ndescription = "Signs a commit."\nseverity = "medium"\napproval = "never"\ncommand = ["/usr/bin/python3", "{script}", "{key}"]\n'
    config = who.file("signing.toml", function + 'parameters.commit = { type = "string", maxLength = 65536 }\n')
    return ("--allow", f"{granted / 'repo'}:rw", "--config", str(config))


def test_a_function_of_the_host_signs(who, granted, signing, ada):
    repo = granted / "repo"
    answer = who.run(SIGNED, *signing, profile="standard", env=ada)
    assert answer.json["stdout"].splitlines() == [
        "True 1 None", "None None the commit could not be signed: `git_sign` failed with exit code 1: not this one", "None None the function `git_sign` did not print a signature",
        "True 1 None", "None 1 None"], answer  # fmt: skip
    assert authors(who, repo, "-3") == [f"{subject}: Ada <ada@example.org>, Ada <ada@example.org>" for subject in ("plain", "again", "first signed")]
    for commit in ("HEAD~1", "HEAD~2"):
        signed = plain_as(who, repo, "cat-file", "commit", commit)
        found = re.search(r"^gpgsig -----BEGIN SSH SIGNATURE-----\n (.*)\n (.*)\n -----END SSH SIGNATURE-----\n(?=\n)", signed, re.M)
        proof = hmac.digest(b"a key that stays outside", signed.replace(found[0], "").encode(), "sha256")
        assert found[1] + found[2] == base64.b64encode(proof).decode(), signed
    assert "gpgsig" not in plain_as(who, repo, "cat-file", "commit", "HEAD")
    assert plain_as(who, repo, "log", "-1", "--format=%B", "HEAD~2") == "first signed\n\nwith a body\n\n"
    assert plain_as(who, repo, "status", "--porcelain") == "" and plain_as(who, repo, "fsck", "--no-dangling") == ""
    assert "commit: again" in plain_as(who, repo, "reflog")
    trail = [json.loads(line) for line in who.call("audit", "export").text.split("\n") if line]
    assert [r["status"] for r in trail if r["kind"] == "call" and r["id"] == answer.json["id"] and r.get("name", r.get("call")) == "servers.host.git_sign"].count("success") >= 3


MERGED = """
from api import git_operations as git
done = git.git_commit("both of them")
print(done.get("signed"), done.get("error"), git.git_status()["stdout"])
"""


def test_merges_are_signed(who, granted, signing, ada):
    repo = granted / "repo"
    for name in ("one", "two"):
        plain_as(who, repo, "switch", "-q", "-c", name, "main" if name == "one" else "one~1")
        (repo / f"{name}.txt").write_text(name)
        who.own(repo / f"{name}.txt")
        plain_as(who, repo, "add", f"{name}.txt")
        plain_as(who, repo, "commit", "-q", "--no-gpg-sign", "-m", name)
    plain_as(who, repo, "switch", "-q", "main")
    plain_as(who, repo, "merge", "-q", "--no-ff", "--no-commit", "one", "two")
    answer = who.run(MERGED, *signing, profile="standard", env=ada)
    assert answer.json["stdout"].startswith("True None"), answer
    signed = plain_as(who, repo, "cat-file", "commit", "HEAD")
    parents = [plain_as(who, repo, "rev-parse", name).strip() for name in ("HEAD@{1}", "one", "two")]
    assert re.findall(r"^parent (\w+)$", signed, re.M) == parents and "gpgsig -----BEGIN SSH SIGNATURE-----" in signed, signed
    assert "commit (merge): both of them" in plain_as(who, repo, "reflog", "-1")
    assert not (repo / ".git" / "MERGE_HEAD").exists() and plain_as(who, repo, "status", "--porcelain") == "" and plain_as(who, repo, "fsck", "--no-dangling") == ""


@pytest.mark.parametrize("settings", [{}, {"gpg.format": "ssh"}, {"gpg.format": "ssh", "user.signingkey": "/nowhere/key"}, {"gpg.program": "/nowhere/gpg"}])
def test_signing_in_bash_says_what_works(who, granted, signing, ada, settings):
    """No key is inside. Both ways that the hint names are gone."""
    repo = granted / "repo"
    for name, value in settings.items():
        plain_as(who, repo, "config", name, value)
    change = "date +%N >> new.txt; git add new.txt; "
    answer = who.run(change + "git commit -q -S -m x", "-l", "bash", *signing, profile="standard", env=ada).json
    assert answer["status"] == "error" and "no key is inside a sandbox" in answer["hint"] and "ask the user" not in answer["hint"], answer
    command, function = re.findall(r"`(git commit --[\w-]+)`", answer["hint"])[0], re.findall(r"api\.(\w+)\.(\w+)\((.*?)\)", answer["hint"])[0]
    assert who.run(f"{command} -q -m plain", "-l", "bash", *signing, profile="standard", env=ada).json["status"] == "success"
    assert who.run(change, "-l", "bash", *signing, profile="standard", env=ada).json["status"] == "success"
    code = f"import api.{function[0]}\nprint(api.{function[0]}.{function[1]}({function[2]})['signed'])".replace("MESSAGE", "'signed'")
    assert who.run(code, *signing, profile="standard", env=ada).json["stdout"] == "True\n"


def test_a_signature_that_nobody_approves_is_none(who, granted, signing, ada):
    config = who.file("asking.toml", Path(signing[-1]).read_text().replace('approval = "never"\n', ""))
    answer = who.run(API_COMMIT.replace('.get("files")', '["error"]'), *signing[:-1], str(config), profile="standard", env=ada)
    assert "could not be signed: the call of `servers.host.git_sign` needs approval, and nobody can be asked here" in answer.json["stdout"], answer
    assert authors(who, granted / "repo") == ["first: t <t@example.org>, t <t@example.org>"]


@pytest.fixture
def linked(who, granted):
    """A linked worktree of a repository, and one with a submodule."""
    repo = granted / "repo"
    plain_as(who, repo, "worktree", "add", "-q", str(granted / "tree"), "-b", "tree")
    plain_as(who, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "lib")
    assert "with lib" in plain_as(who, repo, "commit", "-m", "with lib")
    return granted


def test_a_linked_worktree_needs_its_repository(who, linked, ada):
    tree, repo = linked / "tree", linked / "repo"
    code = "from api import git_operations as git\nr = git.git_status()\nprint(r['error'], r['hint'], sep='; ')"
    alone = who.run(code, "--allow", f"{tree}:rw", profile="standard", env=ada)
    assert alone.json["stdout"] == (f"the git data of this directory are in {repo}, which is not in this sandbox; "
                                    f"ask the user to allow that directory as well: {repo}:rw to commit, {repo} to read\n"), alone  # fmt: skip
    grants = ("--allow", f"{tree}:rw", "--allow", f"{repo}:rw", "--workdir", str(tree))
    assert who.run(API_COMMIT, *grants, profile="standard", env=ada).json["stdout"] == "1 1\n"
    assert who.run(BASH_COMMIT, *grants, "--language", "bash", env=ada).status == "success"
    assert authors(who, repo, "-2", "tree") == [f"{how}: Ada <ada@example.org>, Ada <ada@example.org>" for how in ("from bash", "from api")]


def test_git_itself_says_which_directory_is_missing(who, linked, ada):
    """One that points back at the granted directory, whatever the file `.git` says; and nothing where git was not at a loss."""
    tree, repo = linked / "tree", linked / "repo"

    def denied(path, code="git status"):
        return [(d["what"], d["hint"]) for d in who.run(code, "--allow", f"{path}:rw", "--language", "bash", env=ada).json["denials"]]

    for path in (tree, repo / "lib"):
        assert denied(path) == [(f"use git in {path}: its data are in {repo}", f"`--allow {repo}` grants it (`:rw` to commit)")]
    assert denied(tree, "false") == denied(repo, "git status; echo 'fatal: not a git repository: /x' >&2") == []
    trap = who.directory("trap")
    for target in (f"{repo}/.git/worktrees/tree", f"{repo}/.git/modules/lib", "/etc/.git/worktrees/x", "../.git/modules/x"):
        (trap / ".git").write_text(f"gitdir: {target}\n")
        who.own(trap / ".git")
        assert denied(trap) == [], target
    (trap / ".git").unlink()
    os.mkfifo(trap / ".git")
    assert denied(trap, "echo 'fatal: not a git repository: /x'") == []


def test_commits_in_a_submodule(who, linked, ada):
    repo = linked / "repo"
    code = API_COMMIT + f"""
r = {str(repo)!r}
print(git.git_status(r)["files"]["modified"], git.git_add(["lib"], cwd=r)["files_added"], git.git_commit("newer lib", cwd=r)["files"], git.git_status(r)["has_changes"])
"""
    answer = who.run(code, "--allow", f"{repo}:rw", "--workdir", str(repo / "lib"), profile="standard", env=ada)
    assert answer.json["stdout"] == "1 1\n['lib'] 1 1 False\n", answer
    assert authors(who, repo / "lib", "-1") == ["from api: Ada <ada@example.org>, Ada <ada@example.org>"]
    alone = who.run("from api import git_operations as git\nprint(git.git_log()['error'])", "--allow", f"{repo / 'lib'}:rw", profile="standard", env=ada)
    assert f"{str(repo).removeprefix('/var')}, which is not in this sandbox" in alone.json["stdout"], alone  # /var/tmp is /tmp inside


@pytest.mark.parametrize("code", ["git._git.subprocess.Popen(['/usr/bin/git', 'version'])", "git._git._start.__globals__", "git._git.os.killpg(0, 9)",
                                  "git._git._start(['version'], None, {}, 0, git).args[0]; git._git.subprocess.Popen(['/bin/sh'], executable='/usr/bin/git')"])  # fmt: skip
def test_a_program_under_standard_starts_nothing_itself(who, code):
    answer = who.run(f"from api import git_operations as git\ngetattr(git, 'x', 0)\n{code}", profile="standard")
    assert answer.status in ("refused", "error") and ("standard" in answer.text), answer


def test_a_profile_without_processes_is_named(who):
    profile = who.file("quiet.toml", 'inherits = "standard"\ndescription = "files, and no processes"\nlanguages = ["python"]\n\n[kernel]\nprocesses = false\n')
    answer = who.run("from api import git_operations as git\nprint(git.git_status())", profile=str(profile))
    assert "cannot be started" in answer.json["stdout"] and "allow new processes" in answer.json["stdout"], answer
