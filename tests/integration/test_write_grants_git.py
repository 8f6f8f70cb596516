"""A repository in a directory granted for writing: git's own data cannot be made into something that the user's next git runs,
or writes where the program may not. Ordinary work with git goes on."""
import os
import secrets
import subprocess
import textwrap

import pytest

pytestmark = pytest.mark.usefixtures("watch")

# By the environment, which the programs that git starts have, too.
GIT = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_CONFIG_KEY_1": "protocol.file.allow", "GIT_CONFIG_VALUE_1": "always",
       "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
SET_UP = f"""
set -e; export HOME=/tmp {' '.join(f"'{k}={v}'" for k, v in GIT.items())}
"""


def git(folder, *words, check=True):
    environment = dict(os.environ, HOME=str(folder.parent), **GIT)
    command = ["git", "-C", str(folder), *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 or not check, (words, done)
    return done.stdout


def own_all(who, folder):
    for path in [folder, *folder.rglob("*")]:
        who.own(path)


def make_repository(who, *options, is_owned=True):
    path = who.directory("git-" + secrets.token_hex(4)) / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main", *options)
    (path / "file").write_text("1\n")
    (path / ".husky").mkdir()
    (path / ".husky" / "pre-commit").write_text("#!/bin/sh\ntrue\n")
    (path / ".husky" / "pre-commit").chmod(0o755)
    (path / "src").mkdir()
    (path / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "first")
    git(path, "branch", "other")
    if is_owned:
        own_all(who, path.parent)
    return path


@pytest.fixture
def repo(who):
    return make_repository(who)


# Reads and writes indexes of version 2, and objects.
TOOLS = """
import hashlib, os, struct, zlib
os.chdir({repo!r})
def blob(data):
    text = b'blob %d\\0' % len(data) + data
    name = hashlib.sha1(text).hexdigest()
    folder = '.git/objects/' + name[:2]; os.makedirs(folder, exist_ok=True)
    with open(folder + '/tmp_obj_x', 'wb') as f: f.write(zlib.compress(text))
    try: os.link(folder + '/tmp_obj_x', folder + '/' + name[2:])
    except FileExistsError: pass
    os.unlink(folder + '/tmp_obj_x')
    return bytes.fromhex(name)
def entries():
    data = open('.git/index', 'rb').read(); at, found = 12, []
    for _ in range(struct.unpack('>I', data[8:12])[0]):
        length = struct.unpack('>H', data[at + 60:at + 62])[0] & 0xfff
        size = 62 + length + 8 - (62 + length) % 8
        found.append((data[at + 62:at + 62 + length], data[at:at + size])); at += size
    return found
def entry(name, mode=0o100755, oid=None, stage=0):
    e = struct.pack('>10I', 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + (oid or EVIL) + struct.pack('>H', stage << 12 | min(len(name), 0xfff)) + name
    return name, e + bytes(8 - len(e) % 8)
def index(found, more=b'', version=2):
    data = b'DIRC' + struct.pack('>II', version, len(found)) + b''.join(e for _, e in found) + more
    return data + hashlib.sha1(data).digest()
def extension(name, data): return name + struct.pack('>I', len(data)) + data
def put(data, name='.git/index'):
    with open(name + '.lock', 'wb') as f: f.write(data)
    try: os.rename(name + '.lock', name)
    except OSError: os.unlink(name + '.lock'); raise
def refused(what, f):
    try: f()
    except PermissionError: return
    print('not refused:', what)
EVIL = blob(b'#!/bin/sh\\nid > ' + {mark!r}.encode() + b'\\n')
"""


def said(answer):
    return answer.json["status"], answer.json["stdout"], answer.json["stderr"][-2000:], answer.json["denials"]


def attack(who, repo, program, *options):
    mark = repo.parent / "mark"
    code = TOOLS.format(repo=str(repo), mark=str(mark)) + textwrap.dedent(program)
    answer = who.run(code, *(options or ("--allow", f"{repo}:rw")), "--timeout", "60")
    assert answer.status == "success" and "not refused" not in answer.json["stdout"], said(answer)
    return answer


def user_goes_on(repo):
    """A user's next commands, none of which may run or write anything of the program's."""
    for words in (["status"], ["checkout", "."], ["restore", "."], ["commit", "-qam", "mine", "--allow-empty"], ["checkout", "-f"], ["checkout", "other"], ["checkout", "main"]):
        git(repo, *words, check=False)
    assert not (repo.parent / "mark").exists()
    assert (repo / ".husky" / "pre-commit").read_text() == "#!/bin/sh\ntrue\n"
    assert not [p for p in (repo / ".git" / "hooks").iterdir() if p.suffix != ".sample"]


# --- the index ---


def test_an_index_leads_nowhere_but_into_the_worktree(who, repo):
    answer = attack(
        who,
        repo,
        """
        for name in (b'.git/hooks/post-checkout', b'.GIT/hooks/x', b'sub/.git/config', b'.git', b'.g\\xe2\\x80\\x8cit/config', b'.git./x', b'.git /x', b'GIT~1/hooks/x',
                     b'.git::$INDEX_ALLOCATION/x', b'../.bashrc', b'a/../../x', b'..', b'/etc/x', b'a//b', b'a/', b'./x', b'a/./b', b'', b'bare/HEAD',
                     b'.husky/pre-push', b'.envrc', b'sub/.vscode/tasks.json', b'CLAUDE.md', b'sub/.Envrc', b'.gitmodules'):
            for found in (entries(), []):
                refused(name, lambda: put(index(sorted(found + [entry(name)]))))
        for name in (b'.gitmodules', b'.gitattributes', b'.gitignore', b'sub/.GitModules'):
            refused(name, lambda: put(index(sorted(entries() + [entry(name, 0o120000)]))))
        husky = b'.husky/pre-commit'
        others = [e for e in entries() if e[0] != husky]
        mine = [e for n, e in entries() if n == husky][0][40:60]
        refused('other content', lambda: put(index(sorted(others + [entry(husky)]))))
        refused('other mode', lambda: put(index(sorted(others + [entry(husky, 0o120000, mine)]))))
        refused('no mode', lambda: put(index(sorted(others + [entry(husky, 0o100644, mine)]))))
        refused('stages', lambda: put(index(sorted(others + [entry(husky, stage=2), entry(husky, stage=3)]))))
        refused('after removal', lambda: (put(index(others)), put(index(sorted(others + [entry(husky)])))))
        put(index(sorted(others + [entry(husky, 0o100755, mine)])))  # what is in the worktree
        refused('submodule', lambda: put(index(sorted(entries() + [entry(b'.vscode', 0o160000)]))))
        refused('mode', lambda: put(index(sorted(entries() + [entry(b'x', 0o040000)]))))
        refused('odd mode', lambda: put(index(sorted(entries() + [entry(b'x', 0o104755)]))))
        """,
    )
    assert any("leads into a git directory" in d["hint"] for d in answer.json["denials"]), answer
    assert git(repo, "status", "--short") == ""
    user_goes_on(repo)


def test_an_index_means_to_git_what_was_checked(who, repo):
    """Forms of an index that git would read in another way than whoever checks it, or believes without a look at the entries."""
    attack(
        who,
        repo,
        """
        first = entries()
        plain = index(first)
        refused('order', lambda: put(index(list(reversed(first)))))
        refused('twice', lambda: put(index([first[0]] + first)))
        refused('file and directory', lambda: put(index(sorted(first + [entry(b'd', 0o120000), entry(b'd/x')]))))
        refused('directory of a file', lambda: put(index(sorted(first + [entry(b'file/x')]))))
        refused('no index', lambda: put(b'evil'))
        refused('nothing', lambda: put(b''))
        refused('cut', lambda: put(plain[:-30]))
        refused('count', lambda: put(plain[:8] + struct.pack('>I', 1 << 30) + plain[12:]))
        refused('version', lambda: put(index(first, version=5)))
        refused('length of a name', lambda: put(index([(n, e[:60] + b'\\0\\x01' + e[62:]) for n, e in first])))
        refused('split index', lambda: put(index(first, extension(b'link', bytes(20)))))
        refused('unknown extension', lambda: put(index(first, extension(b'evil', b''))))
        refused('cut extension', lambda: put(index(first, b'TREE\\0\\0\\xff\\xff')))
        # Extensions that only help threads are left out, and so is a tree that does not match the entries.
        hidden = entry(b'.git/hooks/post-checkout')[1]
        put(index(first, extension(b'IEOT', struct.pack('>III', 1, 12, 1) + hidden) + extension(b'EOIE', bytes(24)) + extension(b'ZZZZ', b'x')))
        assert b'IEOT' not in open('.git/index', 'rb').read() and b'EOIE' not in open('.git/index', 'rb').read()
        put(index(first, extension(b'TREE', b'\\0%d 0\\n' % len(first) + EVIL)))
        assert b'TREE' not in open('.git/index', 'rb').read()
        """,
    )
    assert git(repo, "status", "--short") == "" and "error" not in git(repo, "fsck", "--no-dangling")
    user_goes_on(repo)


def test_an_index_is_not_the_programs_file(who, repo):
    """Nothing that the program has open, or knows by a second name, is the index."""
    before = (repo / ".git" / "index").read_bytes()
    attack(
        who,
        repo,
        """
        good = open('.git/index', 'rb').read()
        evil = index(sorted(entries() + [entry(b'.git/hooks/post-checkout')]))
        for name in ('.git/index', '.git/INDEX'):
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND | os.O_CREAT):
                if os.path.exists(name) or flags & os.O_CREAT: refused((name, flags), lambda: os.open(name, flags))
        refused('truncate', lambda: os.truncate('.git/index', 0))
        refused('mode', lambda: os.chmod('.git/index', 0o666))
        refused('link', lambda: os.link('.git/index', 'free'))
        refused('rename', lambda: os.rename('.git/index', '.git/index.lock'))
        held = os.open('.git/index.lock', os.O_RDWR | os.O_CREAT)
        os.write(held, good); os.link('.git/index.lock', 'second'); os.rename('.git/index.lock', '.git/index')
        os.pwrite(held, evil, 0); open('second', 'r+b').write(evil)
        assert open('.git/index', 'rb').read() == good
        os.unlink('second')
        os.unlink('.git/index')
        refused('create', lambda: open('.git/index', 'wb'))
        refused('directory', lambda: os.mkdir('.git/index'))
        refused('symbolic link', lambda: os.symlink('../file', '.git/index'))
        with open('evil', 'wb') as f: f.write(evil)
        refused('arrive by link', lambda: os.link('evil', '.git/index'))
        refused('arrive by rename', lambda: os.rename('evil', '.git/index'))
        refused('shared index', lambda: put(evil, '.git/sharedindex.' + 40 * 'a'))
        os.unlink('evil'); put(good)
        """,
    )
    assert (repo / ".git" / "index").read_bytes() == before
    user_goes_on(repo)


def test_an_index_of_sha256_and_of_version_4(who):
    repo = make_repository(who, "--object-format=sha256")
    git(repo, "update-index", "--index-version", "4")
    own_all(who, repo)
    code = SET_UP + f"cd {repo}; echo 2 >> file; mkdir -p src/deep; echo 3 > src/deep/x; git add -A; git commit -qm second; git status --short; git fsck; git rev-list --count HEAD"
    answer = who.run(code, "-l", "bash", "--allow", f"{repo}:rw", "--timeout", "60")
    assert answer.json["stdout"].split() == ["2"] and answer.json["denials"] == [], answer
    assert git(repo, "status", "--short") == "" and git(repo, "log", "--oneline").count("\n") == 2
    # The index of a repository with the other digest is none here.
    code = TOOLS.format(repo=str(repo), mark="x") + "refused('sha1', lambda: put(index([entry(b'x')])))"
    answer = who.run(code, "--allow", f"{repo}:rw")
    assert answer.json["stdout"] == "", answer


# --- objects ---


def test_objects_do_not_change(who, repo):
    (repo / ".husky" / "pre-commit").write_text("#!/bin/sh\nfalse || true\n")
    git(repo, "checkout", "-q", "-b", "feature")
    git(repo, "commit", "-qam", "second")
    git(repo, "checkout", "-q", "main")
    other = git(repo, "rev-parse", "feature:.husky/pre-commit").strip()
    own_all(who, repo)
    before = {p: p.read_bytes() for p in (repo / ".git" / "objects").rglob("*") if p.is_file()}
    attack(
        who,
        repo,
        f"""
        name = {other!r}; folder = '.git/objects/' + name[:2]; path = folder + '/' + name[2:]
        text = b'#!/bin/sh\\nid > x\\n'; evil = zlib.compress(b'blob %d\\0' % len(text) + text)
        def make(at):
            with open(at, 'wb') as f: f.write(evil)
        refused('unlink', lambda: os.unlink(path))
        refused('write', lambda: open(path, 'r+b'))
        refused('mode', lambda: os.chmod(path, 0o666))
        refused('rename away', lambda: os.rename(path, folder + '/tmp_obj_y'))
        refused('link', lambda: os.link(path, 'free'))
        refused('directory', lambda: os.rename(folder, '.git/objects/tmp_y'))
        refused('all objects', lambda: os.rename('.git/objects', '.git/lfs'))
        make('evil')
        for f in (os.rename, os.link):
            try: f('evil', path)
            except FileExistsError: pass
            else: print('not refused: replaced')
        missing = '.git/objects/ab/' + 38 * 'c'
        os.makedirs('.git/objects/ab', exist_ok=True)
        refused('in advance', lambda: os.rename('evil', missing))
        refused('in advance by link', lambda: os.link('evil', missing))
        refused('in advance by name', lambda: make(missing))
        os.makedirs('.git/objects/tmp_z'); make('.git/objects/tmp_z/' + 38 * 'c')
        refused('a directory of it', lambda: os.rename('.git/objects/tmp_z', '.git/objects/ac'))
        for junk in (b'', b'x', zlib.compress(b'blob 3\\0ab'), zlib.compress(b'evil 2\\0ab'), zlib.compress(b'blob 2\\0ab') + b'more', zlib.compress(b'x' * 100000)):
            open('evil', 'wb').write(junk); refused(junk[:20], lambda: os.rename('evil', missing))
        for p in ('pack/pack-' + 40 * 'a' + '.pack', 'pack/pack-x.idx', 'pack/multi-pack-index', 'info/commit-graph', 'info/commit-graphs', 'info/alternates', 'info/packs'):
            refused(p, lambda: make('.git/objects/' + p))
            refused(p, lambda: os.rename('evil', '.git/objects/' + p))
        """,
    )
    for path, content in before.items():
        assert path.read_bytes() == content
    git(repo, "checkout", "-f", "-q", "feature")
    assert "false || true" in (repo / ".husky" / "pre-commit").read_text()


def test_a_git_directory_of_another_name(who):
    """A bare repository is known by what is in it."""
    repo = make_repository(who, is_owned=False)
    git(repo, "clone", "-q", "--bare", "--no-hardlinks", ".", "store")
    own_all(who, repo)
    attack(who, repo, """
        found = [os.path.join(root, name) for root, _, names in os.walk('store/objects') for name in names if len(name) == 38]
        for path in found[:2] or ['store/objects/ab/' + 38 * 'c']:
            refused('unlink', lambda: os.unlink(path) if found else open(path, 'w'))
        os.makedirs('store/objects/ab', exist_ok=True)
        refused('create', lambda: open('store/objects/ab/' + 38 * 'c', 'wb'))
        refused('index', lambda: open('store/index', 'wb'))
        refused('index by rename', lambda: put(index([entry(b'../x')]), 'store/index'))
        refused('pack', lambda: open('store/objects/pack/x', 'wb'))
        refused('replace', lambda: os.mkdir('store/refs/replace'))
        refused('objects', lambda: os.rename('store/objects', 'o'))
        """)


def test_an_object_that_is_being_written_has_its_content(who, repo):
    """The program keeps its file open and writes after the object has got its name."""
    attack(
        who,
        repo,
        """
        text = b'blob 5\\0right'; name = hashlib.sha1(text).hexdigest()
        folder = '.git/objects/' + name[:2]; os.makedirs(folder, exist_ok=True)
        for give in (os.link, os.rename):
            held = os.open(folder + '/tmp_obj_h', os.O_RDWR | os.O_CREAT); os.write(held, zlib.compress(text))
            try: give(folder + '/tmp_obj_h', folder + '/' + name[2:])
            except FileExistsError: pass
            os.pwrite(held, zlib.compress(b'blob 5\\0wrong'), 0)
            assert zlib.decompress(open(folder + '/' + name[2:], 'rb').read()) == text
        """,
    )
    git(repo, "fsck")


def test_other_data_that_git_believes(who, repo):
    husky = git(repo, "rev-parse", "HEAD:.husky/pre-commit").strip()
    attack(
        who,
        repo,
        f"""
        husky = {husky!r}; packed = b'# pack-refs with: peeled fully-peeled sorted \\n'
        def write(name, data=b'evil'):
            os.makedirs(os.path.dirname(name), exist_ok=True); open(name, 'wb').write(data)
        refused('replace', lambda: write('.git/refs/replace/' + husky, EVIL.hex().encode() + b'\\n'))
        refused('packed replace', lambda: put(packed + EVIL.hex().encode() + b' refs/replace/' + husky.encode() + b'\\n', '.git/packed-refs'))
        refused('packed in place', lambda: write('.git/packed-refs', packed))
        put(packed + open('.git/refs/heads/main', 'rb').read().strip() + b' refs/heads/third\\n', '.git/packed-refs')
        os.makedirs('.git/logs/x/replace'); write('.git/logs/x/replace/' + husky)
        refused('moved', lambda: os.rename('.git/logs/x/replace', '.git/refs/replace'))
        refused('rr-cache', lambda: os.mkdir('.git/rr-cache'))
        refused('rr', lambda: put(EVIL.hex().encode() + b'\\t/etc/passwd\\0', '.git/MERGE_RR'))
        put(b'', '.git/MERGE_RR')
        for name in ('MERGE_AUTOSTASH', 'BISECT_LOG', 'BISECT_START', 'BISECT_RUN', 'sequencer/todo', 'rebase-merge/git-rebase-todo', 'rebase-apply/patch', 'reftable/x', 'description',
                     'info/grafts', 'info/attributes', 'info/sparse-checkout', 'fsmonitor--daemon.ipc', 'modules/x/config', 'worktrees/x/commondir', 'config', 'rr-cache/x/postimage'):
            refused(name, lambda: write('.git/' + name))
        """,
    )
    assert "third" in git(repo, "branch")
    assert git(repo, "cat-file", "-p", husky) == "#!/bin/sh\ntrue\n"
    user_goes_on(repo)


# --- ordinary work ---


def test_ordinary_work_with_git(who):
    """Also with files that have protected names, as long as the user made them."""
    repo = make_repository(who, is_owned=False)
    (repo / ".envrc").write_text("mine\n")
    (repo / ".vscode").symlink_to("src")
    git(repo.parent, "clone", "-q", "--bare", repo, "store.git")
    git(repo.parent, "clone", "-q", repo.parent / "store.git", "clone")
    git(repo, "worktree", "add", "-q", repo.parent / "tree", "-b", "tree")
    git(repo, "submodule", "add", "-q", repo.parent / "store.git", "module")
    git(repo, "commit", "-qm", "module")
    own_all(who, repo.parent)
    code = SET_UP + textwrap.dedent(f"""
        cd {repo}; echo 2 >> file; git add -A; git commit -qm second; git status --short
        git checkout -q -b topic; echo 3 >> file; git commit -qam topic; git checkout -q main; echo 4 >> file; git commit -qam main
        git merge -q topic >/dev/null && exit 9 || true; git status --short; echo merged > file; git add file; git commit -qm merged
        echo 5 >> file; git stash -q; git stash list | wc -l; git stash pop -q; git checkout -q file; git restore .
        git tag t; git tag -a -m words annotated; git tag -d t >/dev/null
        git mv file moved; git commit -qm moved; git reset -q --hard HEAD~1; echo p > p; git add p; git commit -qm pick; git reset -q --hard HEAD~1; git cherry-pick ORIG_HEAD >/dev/null
        git revert --no-edit HEAD >/dev/null; git rm -q six 2>/dev/null || true
        echo 6 > six; git add six; git commit -qm six --only six; git commit -q --amend -m sixth; git commit -q --allow-empty -m empty
        git notes add -m note; git pack-refs --all; git reflog >/dev/null; git fsck --no-dangling 2>&1; git gc --auto -q
        cd {repo.parent}/clone; echo x > x; git add x; git commit -qm x; git push -q origin HEAD; cd {repo}; git fetch -q {repo.parent}/store.git main; git merge -q -m fetched FETCH_HEAD; ls x
        cd {repo.parent}/tree; echo y > y; git add y; git commit -qm y; cd {repo}/module; echo z > z; git add z; git commit -qm z; cd ..; git add module; git commit -qm module
        for i in 1 2 3; do echo $i > many$i; git add many$i; done; git commit -qm many; git read-tree HEAD; git status --short
        """)
    answer = who.run(code, "-l", "bash", "--allow", f"{repo.parent}:rw", "--timeout", "120")
    assert answer.status == "success" and answer.json["stdout"].split() == ["UU", "file", "1", "x"], said(answer)
    # With the last stash git tries to remove the directories above it, and goes on.
    assert all(d["what"].endswith("/repo/.git") for d in answer.json["denials"]), said(answer)
    assert git(repo, "status", "--short") == "" and "error" not in git(repo, "fsck", "--no-dangling")
    assert git(repo, "show", "HEAD:.envrc") == "mine\n"


def test_a_refusal_says_why(who, repo):
    code = SET_UP.replace("set -e;", "") + f"cd {repo}; git repack -adq; git gc -q; git commit-graph write; git replace HEAD HEAD~1"
    answer = who.run(code, "-l", "bash", "--allow", f"{repo}:rw", "--timeout", "60")
    hints = " ".join(d["hint"] for d in answer.json["denials"])
    assert "packs" in hints and "objects" in hints, said(answer)
    assert "error" not in git(repo, "fsck", "--no-dangling") and git(repo, "status", "--short") == ""


# --- what hooks and commands run ---


def try_to_write(who, folder, names):
    """The names that a program can write."""
    code = f"""
import os
os.chdir({str(folder)!r})
for name in {names!r}:
    try:
        if os.path.dirname(name): os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, 'w') as f: f.write('evil')
        print(name)
    except OSError: pass
"""
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert answer.status == "success", said(answer)
    return answer.json["stdout"].split()


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_what_hooks_run_is_protected(who):
    repo = make_repository(who, is_owned=False)
    # `pre-commit install` writes hooks like this.
    write(repo / ".git/hooks/pre-commit", '#!/usr/bin/env bash\nINSTALL_PYTHON=/usr/bin/python3\nARGS=(hook-impl --config=.pre-commit-config.yaml)\n'
          'HERE="$(cd "$(dirname "$0")" && pwd)"\nexec "$INSTALL_PYTHON" -mpre_commit "${ARGS[@]}"\n', 0o755)
    write(repo / ".husky/commit-msg", '#!/bin/sh\n. "$(dirname "$0")/_/husky.sh"\n# ./comment.sh\n./scripts/lint.sh --fix\nnpm test\nmake check\n[ -f tools/local.sh ] && tools/local.sh\n"$(git rev-parse --show-toplevel)"/scripts/third.py\n', 0o755)
    write(repo / "scripts/lint.sh", "#!/bin/sh\n./scripts/second.sh\n", 0o755)
    write(repo / "scripts/second.sh", "#!/bin/sh\ntrue\n", 0o755)
    write(repo / "scripts/third.py", "#!/usr/bin/env python3\nimport helper, sys\n", 0o755)
    write(repo / "package.json", "{}")
    write(repo / "clean.py", "pass\n")
    write(repo / ".envrc", "source_env_if_exists .envrc.local\nuse flake\nsource_env ../up\ndotenv local.env\n")
    write(repo / ".git/hooks/post-merge.sample", "#!/bin/sh\n./sample.sh\n", 0o755)
    write(repo / "sample.sh", "true\n")
    git(repo, "config", "filter.nb.clean", "python3 -m nbstripout")
    git(repo, "config", "filter.x.clean", "python3 clean.py %f")
    git(repo, "config", "alias.go", "!bin/go")
    own_all(who, repo)
    run = ["scripts/lint.sh", "scripts/second.sh", "scripts/third.py", "scripts/helper.py", "tools/local.sh", "package.json", "Makefile", "GNUmakefile", "clean.py", "nbstripout.py",
           "nbstripout/__init__.py", "pre_commit.py", "pre_commit/__main__.py", "pre_commit.abi3.so", "argparse.py", "json/__init__.py", "yaml.cpython-311-x86_64-linux-gnu.so", "scripts/os.py",
           ".envrc.local", "flake.nix", "local.env", "bin/go", ".husky/_/husky.sh", "JSON.py"]
    free = ["sample.sh", "comment.sh", "src/main.c", "main.py", "json/data.txt", "json.txt", "src/argparse.py", "README.md", "scripts/other.sh", "Cargo.toml", "test/test_x.py"]
    assert set(try_to_write(who, repo, run + free)) == set(free)
    # A directory that has such a file in it does not get there either.
    attack(who, repo, """
        os.makedirs('x/json2'); open('x/json2/__init__.py', 'w').close()
        refused('package', lambda: os.rename('x/json2', 'email'))
        refused('link', lambda: os.symlink('x/json2', 'email'))
        refused('module', lambda: os.rename('x/json2/__init__.py', 'email.py'))
        refused('directory', lambda: os.rename('scripts', 'scripts2'))
        """)


def test_hooks_in_another_directory_are_read(who):
    repo = make_repository(who, is_owned=False)
    write(repo / "tools/hooks/pre-push", "#!/bin/sh\n./check.sh\npython3 tools/run.py\n", 0o755)
    write(repo / "check.sh", "true\n", 0o755)
    git(repo, "config", "core.hooksPath", "tools/hooks")
    own_all(who, repo)
    names = ["tools/hooks/pre-push", "tools/hooks/new", "check.sh", "tools/run.py", "tools/json.py", "tools/other.py"]
    assert try_to_write(who, repo, names) == ["tools/other.py"]


def test_a_repository_without_hooks_is_free(who, repo):
    names = ["package.json", "Makefile", "argparse.py", "json/__init__.py", "scripts/lint.sh", "conftest.py", "default.nix"]
    assert try_to_write(who, repo, names) == names


def test_compiled_modules_are_not_made(who, repo):
    """Python inside says nothing and does without; they can be removed."""
    write(repo / "pkg/__init__.py", "X = 1\n")
    write(repo / "pkg/__pycache__/old.cpython-311.pyc", "")
    own_all(who, repo)
    code = f"""
import os, subprocess, sys
os.chdir({str(repo)!r})
done = subprocess.run([sys.executable or 'python3', '-W', 'error', '-c', 'import pkg; print(pkg.X)'], capture_output=True, text=True)
print(done.stdout.strip(), done.stderr.strip())
def refused(f):
    try: f(); print('not refused')
    except PermissionError: pass
refused(lambda: open('pkg/__pycache__/old.cpython-311.pyc', 'w'))
with open('pkg/__pycache__/new.pyc', 'w') as f: f.write('evil')
os.chmod('pkg/__pycache__/new.pyc', 0o755); os.utime('pkg/__pycache__/new.pyc'); os.rename('pkg/__pycache__/new.pyc', 'pkg/__pycache__/newer.pyc')
open('evil', 'w').close(); refused(lambda: os.rename('evil', 'pkg/__pycache__/new.pyc')); refused(lambda: os.link('evil', 'pkg/__pycache__/new.pyc')); refused(lambda: os.symlink('../evil', 'pkg/__pycache__/new.pyc'))
print(*os.listdir('pkg/__pycache__'))
os.mkdir('cache'); refused(lambda: os.rename('cache', '__pycache__')); refused(lambda: os.symlink('cache', '__pycache__')); refused(lambda: os.link('pkg/__pycache__/old.cpython-311.pyc', 'x'))
os.rename('pkg', 'other'); os.unlink('other/__pycache__/old.cpython-311.pyc'); os.rmdir('other/__pycache__')
"""
    answer = who.run(code, "--allow", f"{repo}:rw")
    assert answer.json["stdout"].split() == ["1", "old.cpython-311.pyc"] and answer.json["denials"] == [], said(answer)
    assert not list(repo.rglob("*.pyc"))


# --- copy-on-write ---


def test_what_git_believes_is_applied_only_when_it_was_checked(who, repo):
    """The rules also hold when changes of a copy-on-write directory are applied."""
    husky = git(repo, "rev-parse", "HEAD:.husky/pre-commit").strip()
    index = (repo / ".git" / "index").read_bytes()
    attack(who, repo, f"""
        put(index(sorted(entries() + [entry(b'.git/hooks/post-checkout')])))
        name = {husky!r}; path = '.git/objects/' + name[:2] + '/' + name[2:]
        text = b'#!/bin/sh\\nid\\n'
        os.unlink(path); open(path, 'wb').write(zlib.compress(b'blob %d\\0' % len(text) + text))
        os.makedirs('.git/objects/ab', exist_ok=True); open('.git/objects/ab/' + 38 * 'c', 'wb').write(b'evil')
        os.makedirs('.git/refs/replace'); open('.git/refs/replace/' + name, 'w').write(EVIL.hex())
        os.mkdir('__pycache__'); open('__pycache__/mod.cpython-311.pyc', 'wb').write(b'evil')
        open('file', 'w').write('applied')
        """, "--allow", f"{repo}:cow", "--apply", "--with-hidden")
    assert (repo / "file").read_text() == "applied" and (repo / ".git" / "index").read_bytes() == index
    assert not (repo / ".git/objects/ab" / (38 * "c")).exists() and not (repo / ".git/refs/replace").exists() and not list(repo.glob("__pycache__/*"))
    git(repo, "fsck")
    user_goes_on(repo)


def test_a_commit_is_applied(who, repo):
    code = SET_UP + f"cd {repo}; echo 2 >> file; git add file; git commit -qm second"
    answer = who.run(code, "-l", "bash", "--allow", f"{repo}:cow", "--apply", "--with-hidden", "--timeout", "60")
    assert answer.status == "success", said(answer)
    assert git(repo, "log", "--format=%s").split() == ["second", "first"] and git(repo, "status", "--short") == ""
    git(repo, "fsck")
