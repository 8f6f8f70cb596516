"""Status, diffs, commits, branches and pushes, with the real git and short results.

Every function returns {status, returncode, stdout, stderr} and fields of its own, or {status: "error", error, hint,
...}; none raises for what a repository holds. `cwd` is a directory of the repository, by default the working directory.
No hook runs and no filter: nothing a repository names as a program is started. One command of git has 30 seconds.
"""
import os as _os
import re as _re

from api import _git, _parameters

__all__ = ["git_status", "git_add", "git_commit", "git_push", "create_branch", "get_current_branch", "git_diff", "git_log"]

STDOUT_MAX = 4000
DIFF_MAX = 20000

_REMOTES = "file:http:https:ssh"

# Messages of git, their meaning, and what to do. The first match counts.
_WORDS = (
    ("(?m)not a git repository: (/.*)/\\.git/(?:worktrees|modules)/", "the git data of this directory are in {1}, which is not in this sandbox",
     "ask the user to allow that directory as well: {1}:rw to commit, {1} to read"),
    ("(?i)not a git repository", "there is no git repository here", "give cwd=, a directory in a repository; outside /workspace it has to be granted (`allow`)"),
    ("this operation must be run in a work tree", "the repository has no files beside it", "give cwd=, a clone with a working tree"),
    ("no email was given|no name was given|tell me who you are|empty ident", "git does not know who commits", "give author='Name <mail@example.org>'; the operator sets user.name and user.email for git on the host, or `git_identity`"),
    ("index.lock': File exists", "another git is at work in this repository, or one was killed", "try again; if nothing else works there, remove .git/index.lock"),
    ("pathspec '(.*)' did not match", "no file matches {1}", "paths count from cwd; git_status() names what is there"),
    ("(?i)a branch named '(.*)' already exists", "there is a branch {1} already", "choose another name"),
    ("src refspec (?:refs/heads/)?(\\S+) does not match any", "there is no branch {1}, or nothing is committed on it", "git_commit() first, or name another branch"),
    ("refusing to update checked out branch", "the remote has that branch checked out", "push to a bare repository, or to another branch"),
    ("\\[(?:remote )?rejected\\]", "the remote refused the push", "it has commits that are not here, or does not take this branch; stderr says which"),
    ("Could not resolve host|unable to access|Could not resolve hostname|Connection refused|Network is unreachable|unable to look up", "the remote cannot be reached from this sandbox", "whoever started Belljar grants hosts with `--net HOST` (`net`) and directories with `--allow DIR` (`allow`)"),
    ("could not read Username|Permission denied \\(publickey|Authentication failed|Host key verification failed", "the remote wants to know who pushes, and no credentials are inside a sandbox", "push from outside"),
    ("transport '(.*)' not allowed", "the remote is of the kind `{1}`, which is not used here", "file paths, https and ssh are"),
    ("Read-only file system|Permission denied|insufficient permission", "the repository cannot be written to", "directories are granted for writing by whoever started Belljar (`allow`, DIR:rw); .git/hooks and .git/config stay read-only even then"),
    ("No such remote|does not appear to be a git repository", "there is no such remote", "give the name of a remote of the repository, or the path of another repository"),
    ("cannot run ssh|ssh: not found", "there is no ssh in this sandbox", "use a remote of https, or a path"),
)  # fmt: skip


def _short(text):
    return text if len(text) <= STDOUT_MAX else f"{text[:STDOUT_MAX]}\n… {len(text) - STDOUT_MAX} more characters"


def _explain(said, code):
    for pattern, error, hint in _WORDS:
        found = _re.search(pattern, said)
        if found:
            return tuple(text.replace("{1}", _os.path.normpath(found[1]) if found[1].startswith("/") else found[1]) if found.re.groups else text for text in (error, hint))
    lines = [line for line in said.splitlines() if line.startswith(("fatal: ", "error: "))] or said.splitlines()
    return (lines[0].partition(": ")[2] or lines[0]) if lines else f"git ended with status {code}", "git_status() shows the state of the repository"


def _check(answer):
    if answer.code != 0:
        raise _git.Refusal(*_explain(answer.text + answer.err, answer.code), answer)
    return answer


def _call(words, cwd, **more):
    return _check(_git.start(words, cwd, **more))


def _reported(function):
    """Turns an exception of a function into its answer."""

    def call(*args, **named):
        try:
            return function(*args, **named)
        except _git.Refusal as refusal:
            result = {"status": "error", "error": str(refusal)}
            if refusal.hint:
                result["hint"] = refusal.hint
            if refusal.answer:
                result.update(returncode=refusal.answer.code, stdout=_short(refusal.answer.text), stderr=_short(refusal.answer.err))
            return result

    call.__name__, call.__qualname__, call.__doc__, call.__wrapped__ = function.__name__, function.__qualname__, function.__doc__, function
    return call


def _result(answer, stdout=None, **fields):
    return {"status": "success", "returncode": answer.code, "stdout": _short(answer.text if stdout is None else stdout), "stderr": _short(answer.err), **fields}


def _name(kind, name):
    """Names that git could take for options, or that have a second line, are none."""
    if not isinstance(name, str) or not name or name.startswith("-") or _re.search(r"[\0-\x1f\x7f]", name):
        raise _git.Refusal(f"{name!r} is not a valid name for a {kind}", "names are text, not empty, and do not begin with a dash")
    return name


def _branch_name(name, cwd):
    _name("branch", name)
    if name == "HEAD" or _git.start(["check-ref-format", "refs/heads/" + name], cwd).code != 0:
        raise _git.Refusal(f"{name!r} is not a valid name for a branch", "no blanks, no .., none of ~^:?*[\\, no slash or .lock at the end")
    return name


def _paths(files):
    files = [files] if isinstance(files, (str, bytes, _os.PathLike)) else list(files or ())
    paths = [_os.fsencode(file) for file in files]
    if any(not path or b"\0" in path for path in paths):
        raise _git.Refusal("a path is empty", "give paths of files or directories, from cwd; '.' is all of them")
    return paths


# ---- what is there ----

_KINDS = ("modified", "added", "deleted", "renamed", "untracked", "conflicted")


def _kind(xy):
    return "renamed" if "R" in xy else "deleted" if "D" in xy else "added" if "A" in xy or "C" in xy else "modified"


def _entries(text):
    """(kind, what it is called, two letters, path) of `git status --porcelain=v2 -z`, and its headers."""
    entries, headers = [], {}
    parts = iter(text.split("\0"))
    for part in parts:
        mark, _, rest = part.partition(" ")
        if mark == "#":
            key, _, value = rest.partition(" ")
            headers[key] = value
        elif mark == "1":
            xy, path = rest[:2], rest.split(" ", 7)[7]
            entries.append((_kind(xy), path, xy, path))
        elif mark == "2":
            xy, path, before = rest[:2], rest.split(" ", 8)[8], next(parts)
            entries.append((_kind(xy), {"from": before, "to": path} if "R" in xy else path, xy, path))
        elif mark == "u":
            path = rest.split(" ", 9)[9]
            entries.append(("conflicted", path, rest[:2], path))
        elif mark == "?":
            entries.append(("untracked", rest, "??", rest))
    return entries, headers


def _position(headers):
    """Branch, and how far it is from the one it follows."""
    fields = {"branch": None if headers.get("branch.head") == "(detached)" else headers.get("branch.head"), "upstream": headers.get("branch.upstream")}
    if "branch.ab" in headers:
        ahead, behind = headers["branch.ab"].split(" ")
        fields.update(ahead=int(ahead), behind=-int(behind))
    return fields


@_reported
def git_status(cwd=None, limit=200):
    """Lists differences from the last commit: {files: {modified, added, deleted, renamed, untracked, conflicted},
    counts, staged, has_changes, branch, upstream, ahead, behind}. `renamed` has {from, to}. At most `limit` paths of a
    kind; `counts` has all.

    >>> git_status("/repo")["files"]["modified"]
    """
    answer = _call(["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--find-renames"], cwd,
                   settings=_git.filters(cwd))  # fmt: skip
    if answer.more:
        raise _git.Refusal("there are too many changed files to list", "commit or ignore some of them, or ask git_diff(files=[...])")
    entries, headers = _entries(answer.text)
    files = {kind: [shown for k, shown, _, _ in entries if k == kind] for kind in _KINDS}
    lines = "".join(f"{xy.replace('.', ' ')} {path}\n" for _, _, xy, path in entries[:limit])
    return _result(answer, lines, files={kind: paths[:limit] for kind, paths in files.items()}, counts={kind: len(paths) for kind, paths in files.items() if paths},
                   staged=sum(xy[0] not in ".?" for kind, _, xy, _ in entries if kind != "conflicted"), has_changes=bool(entries), **_position(headers))  # fmt: skip


@_reported
def get_current_branch(cwd=None):
    """{branch}; None if no branch is checked out.

    >>> get_current_branch()["branch"]
    """
    answer = _call(["branch", "--show-current"], cwd)
    return _result(answer, branch=answer.text.strip() or None)


def _counts(text):
    """[{path, added, deleted}] of `--numstat -z`; None for files that are not text."""
    files, parts = [], iter(text.split("\0"))
    for part in parts:
        if not part:
            continue
        added, deleted, path = part.split("\t", 2)
        if not path:
            next(parts)
            path = next(parts)
        files.append({"path": path, "added": int(added) if added != "-" else None, "deleted": int(deleted) if deleted != "-" else None})
    return files


@_reported
def git_diff(staged=False, files=None, cwd=None, text=True, max_bytes=DIFF_MAX, limit=200):
    """Unstaged changes, or staged ones: {diff, files: [{path, added, deleted}], has_changes}.

    The text of the diff ends after `max_bytes`, and `diff_more` counts the rest; with text=False there are only counts.

    >>> git_diff(text=False)["files"]
    """
    _call(["rev-parse", "--is-inside-work-tree"], cwd)  # outside of a repository `git diff` compares two files
    words = ["--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--ignore-submodules=dirty", *(["--cached"] if staged else [])]
    paths = ["--", *_paths(files)]
    settings = _git.filters(cwd)
    answer = _call(["diff", "--numstat", "-z", *words, *paths], cwd, settings=settings)
    found = _counts(answer.text)
    fields = {"files": found[:limit], "has_changes": bool(found)}
    if len(found) > limit:
        fields["files_more"] = len(found) - limit
    if text:
        whole = _call(["diff", *words, *paths], cwd, settings=settings, output_max=max_bytes)
        fields["diff"] = whole.out.decode("utf-8", "replace")
        if whole.more:
            fields["diff_more"] = whole.more
    lines = "".join(f"{f['added']}\t{f['deleted']}\t{f['path']}\n" for f in fields["files"])
    return _result(answer, lines, **fields)


@_reported
def git_log(max_count=10, oneline=True, cwd=None, files=None):
    """The newest commits: {commits: [{hash, message, author, date}]}; with oneline=False whole messages and long hashes.

    >>> git_log(max_count=5)["commits"]
    """
    if not isinstance(max_count, int) or not 1 <= max_count <= 1000:
        raise _git.Refusal(f"max_count is {max_count!r}", "a number from 1 to 1000")
    form = "%h%n%an%n%aI%n%s" if oneline else "%H%n%an%n%aI%n%B"
    answer = _git.start(["log", "-z", f"--max-count={max_count}", f"--format={form}", "--no-show-signature", "--no-color", "--", *_paths(files)], cwd)
    if answer.code != 0 and "does not have any commits yet" in answer.err:
        return {"status": "success", "returncode": 0, "stdout": "", "stderr": "", "commits": []}
    commits = []
    for entry in filter(None, _check(answer).text.split("\0")):
        short, author, date, message = entry.split("\n", 3)
        commits.append({"hash": short, "message": message.rstrip("\n")[:STDOUT_MAX], "author": author, "date": date})
    return _result(answer, "".join(f"{c['hash']} {c['message'].partition(chr(10))[0]}\n" for c in commits), commits=commits)


# ---- what is done ----


def _check_filters(paths, cwd, settings):
    """A file that a filter changes on its way in (git-lfs does) would be stored as it must not be."""
    changed = _call(["ls-files", "-z", "--modified", "--others", "--exclude-standard", "--deduplicate", "--", *paths], cwd, settings=settings)
    found = _call(["check-attr", "--stdin", "-z", "filter"], cwd, input=changed.out).text.split("\0")
    for path, driver in zip(found[::3], found[2::3]):
        if f"filter.{driver}.clean" in settings:
            raise _git.Refusal(f"{path} needs the filter `{driver}`, and no program that a repository names is run here",
                               "add the other files, and leave this one to a git outside the sandbox")  # fmt: skip


@_reported
def git_add(files, cwd=None, dry_run=False):
    """Stages files and directories, including removed ones. {files_added}

    >>> git_add(["app.py"])
    """
    paths = _paths(files)
    if not paths:
        raise _git.Refusal("there are no files to add", "give a list of paths; ['.'] is all of cwd")
    settings = _git.filters(cwd)
    if settings:
        _check_filters(paths, cwd, settings)
    words = ["add", "--all", "--verbose", *(["--dry-run"] if dry_run else []), "--pathspec-from-file=-", "--pathspec-file-nul"]
    answer = _call(words, cwd, input=b"\0".join(paths), settings=settings)
    return _result(answer, files_added=len(answer.text.splitlines()), **({"dry_run": True} if dry_run else {}))


def _identity(author):
    if author is None:
        return {}
    found = _re.fullmatch(r"\s*([^<>\0-\x1f]*[^<>\0-\x1f\s])\s*<([^<>\s\0-\x1f]+)>\s*", author)
    if not found:
        raise _git.Refusal(f"author is {author!r}", "write it as 'Name <mail@example.org>'")
    return {"GIT_AUTHOR_NAME": found[1], "GIT_AUTHOR_EMAIL": found[2], "GIT_COMMITTER_NAME": found[1], "GIT_COMMITTER_EMAIL": found[2]}


def _wants_signature(cwd):
    asked = _git.start(["config", "--local", "--includes", "--type=bool", "--get", "commit.gpgSign"], cwd).text.strip()
    return asked == "true" or (asked != "false" and _os.environ.get("BELLJAR_GIT_SIGNS") == "true")


def _sign(commit):
    """Returns the signature by the operator's function `git_sign`; the key stays outside. Without it the commit is refused."""
    try:
        from api import _call as outside

        answer = outside.call("servers.host.git_sign", commit=commit.decode("utf-8"))
    except UnicodeDecodeError:
        raise _git.Refusal("the commit is not UTF-8 and cannot be signed", "pass sign=False for a commit without a signature") from None
    except Exception as error:  # refused, not approved, not there, or it failed
        if getattr(error, "code", None) in ("not_found", "unavailable", None):
            raise _git.Refusal("the commit is to be signed (commit.gpgSign), and no key is inside a sandbox",
                               "pass sign=False for a commit without a signature, or leave the commit to the user") from None  # fmt: skip
        raise _git.Refusal(f"the commit could not be signed: {error}", "pass sign=False for a commit without a signature, or leave the commit to the user") from None
    text = "".join(part.get("text", "") for part in answer.get("content", ())).replace("\r\n", "\n").strip()
    if answer.get("is_error"):
        raise _git.Refusal(f"the commit could not be signed: {text[:200]}", "pass sign=False for a commit without a signature, or leave the commit to the user")
    if not _re.fullmatch(r"-----BEGIN [ -~\n]{1,16000}-----", text):
        raise _git.Refusal("the function `git_sign` did not print a signature", "the operator has to mend it; pass sign=False for a commit without a signature")
    return text


def _merged(cwd):
    """The commits that are being merged, if a merge is under way."""
    path = _os.path.join(cwd or ".", _call(["rev-parse", "--git-path", "MERGE_HEAD"], cwd).text.rstrip("\n"))
    try:
        with open(path, encoding="ascii") as file:
            found = file.read(64 << 10).split()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError):
        found = [""]
    if not all(_re.fullmatch(r"[0-9a-f]{40,64}", word) for word in found):
        raise _git.Refusal("the merge that is under way cannot be read", "pass sign=False, or leave the commit to the user")
    return found


def _commit_signed(message, cwd, env):
    """Commits as `git commit` does, by its parts: HEAD moves when the signature is there."""
    for head in ("CHERRY_PICK_HEAD", "REVERT_HEAD"):
        if _git.start(["rev-parse", "--verify", "--quiet", head], cwd).code == 0:
            raise _git.Refusal("a cherry-pick or revert is under way, which cannot be signed here", "pass sign=False, or leave the commit to the user")
    merged = _merged(cwd)
    text = _call(["stripspace"], cwd, input=message.encode("utf-8", "surrogateescape")).out
    before = _git.start(["rev-parse", "--verify", "--quiet", "HEAD"], cwd).text.strip()
    tree = _call(["write-tree"], cwd, settings=_git.filters(cwd)).text.strip()
    plain = _call(["commit-tree", tree, *(["-p", before] if before else []), *(word for parent in merged for word in ("-p", parent)), "-F", "-"], cwd, input=text, env=env).text.strip()
    commit = _call(["cat-file", "commit", plain], cwd).out
    head, _, body = commit.partition(b"\n\n")
    kind = b"gpgsig-sha256 " if _call(["rev-parse", "--show-object-format"], cwd).text.strip() == "sha256" else b"gpgsig "
    signed = head + b"\n" + kind + _sign(commit).replace("\n", "\n ").encode() + b"\n\n" + body
    made = _call(["hash-object", "-t", "commit", "-w", "--stdin"], cwd, input=signed).text.strip()
    subject = text.partition(b"\n")[0].decode("utf-8", "replace")
    how = "commit (merge): " if merged else "commit: " if before else "commit (initial): "
    answer = _call(["update-ref", "-m", how + subject[:200], "HEAD", made, before or "0" * len(made)], cwd, env=env)
    if merged:
        _call(["merge", "--quit"], cwd)
    return answer


@_reported
def git_commit(message, cwd=None, author=None, dry_run=False, sign=None):
    """Commits what is staged, as `author` ('Name <mail@example.org>'), as the repository's configuration says, or as the user.

    {commit_hash, files}: the hash, and the number of files in it. Where commit.gpgSign is set, or with sign=True, the operator's function
    `git_sign` signs it; without that function it refuses, except with sign=False.

    >>> git_commit("Fix the total", author="Ada <ada@example.org>")["commit_hash"]
    """
    if not isinstance(message, str) or not message.strip():
        raise _git.Refusal("the message is empty", "say in a line what the commit does")
    env = _identity(author)
    _call(["rev-parse", "--is-inside-work-tree"], cwd)
    staged = _call(["diff", "--cached", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=dirty", "--no-renames"], cwd)
    files = staged.out.count(b"\0")
    is_merge = _git.start(["rev-parse", "--verify", "--quiet", "MERGE_HEAD"], cwd).code == 0
    if not files and not is_merge:
        raise _git.Refusal("nothing is staged", "git_add([...]) first; git_status() names what changed")
    signs = _wants_signature(cwd) if sign is None else bool(sign)
    if dry_run:
        return _result(staged, staged.text.replace("\0", "\n"), commit_hash=None, files=files, dry_run=True)
    if signs:
        answer = _commit_signed(message, cwd, env)
        return _result(answer, commit_hash=_call(["rev-parse", "HEAD"], cwd).text.strip(), files=files, signed=True)
    answer = _call(["commit", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace", "--file=-"], cwd,
                   input=message.encode("utf-8", "surrogateescape"), settings=_git.filters(cwd), env=env)  # fmt: skip
    return _result(answer, commit_hash=_call(["rev-parse", "HEAD"], cwd).text.strip(), files=files)


@_reported
def create_branch(branch_name, checkout=True, cwd=None, dry_run=False):
    """Creates a branch at HEAD and, with `checkout`, switches to it. {branch}

    >>> create_branch("fix/total")
    """
    _branch_name(branch_name, cwd)
    if dry_run:
        answer = _git.start(["show-ref", "--verify", "--quiet", "refs/heads/" + branch_name], cwd)
        if answer.code == 0:
            raise _git.Refusal(f"a branch {branch_name} already exists", "choose another name")
        if answer.code != 1:
            _check(answer)
        return {"status": "success", "returncode": 0, "stdout": "", "stderr": "", "branch": branch_name, "dry_run": True}
    words = ["switch", "--no-recurse-submodules", "--no-guess", "--create"] if checkout else ["branch", "--no-track"]
    return _result(_call([*words, branch_name], cwd, settings=_git.filters(cwd)), branch=branch_name)


def _push_url(remote, cwd):
    answer = _git.start(["remote", "get-url", "--push", remote], cwd)
    if answer.code == 0:
        return answer.text.strip()
    if "No such remote" in answer.err and ("/" in remote or ":" in remote):
        return remote
    return _check(answer)


def _check_path(url):
    """Whether a remote that is a directory is here at all."""
    path = url.removeprefix("file://")
    if path.startswith("/") and not _os.path.isdir(path):
        raise _git.Refusal(f"the remote {path} is not in this sandbox", f"ask whoever started Belljar to grant {path}:rw (`allow`)")


@_reported
def git_push(remote="origin", branch=None, cwd=None, dry_run=False):
    """Pushes a branch, by default the current one, to a remote that this sandbox can reach. {remote_url, branch}

    >>> git_push("origin", dry_run=True)
    """
    _name("remote", remote)
    if branch is None:
        branch = _call(["branch", "--show-current"], cwd).text.strip()
        if not branch:
            raise _git.Refusal("no branch is checked out", "give branch=")
    _branch_name(branch, cwd)
    url = _push_url(remote, cwd)
    _check_path(url)
    words = ["push", "--porcelain", "--receive-pack=git-receive-pack", "--no-verify", "--no-signed", "--no-recurse-submodules", "--no-follow-tags"]
    answer = _call([*words, *(["--dry-run"] if dry_run else []), "--", remote, f"refs/heads/{branch}"], cwd, protocols=_REMOTES)
    # A password may stand in an address.
    url = _re.sub(r"^(\w+://)[^/@]*@", r"\1", url)
    return _result(answer, remote_url=url, branch=branch, **({"dry_run": True} if dry_run else {}))


_parameters.understand(globals())
