"""A directory granted for writing: ordinary work goes through, protected names never change, whatever way is taken.

The programs below try to get a protected name created or changed. Each try is one entry of a list, so that one run tries
many; what counts is the tree afterwards, which is compared from outside."""
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import textwrap
import time
import unicodedata

import belljar
import pytest

import tracing
from host import broker_of
from serving import wait_until

pytestmark = pytest.mark.usefixtures("watch")

# Names that must not come into being anywhere below a grant, compared without case and in compatibility form.
FORBIDDEN = {".git", ".envrc", ".bashrc", ".zshrc", ".vscode", "claude.md", ".mcp.json", ".npmrc", ".vimrc"}

# Also protected, but packages below node_modules contain them.
LINTERS = {".eslintrc.js", "eslint.config.js", ".prettierrc.js"}

GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(who, folder, *words):
    environment = dict(os.environ, HOME=str(folder), **GIT)
    command = ["git", "-C", str(folder), "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *map(str, words)]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def own_all(who, folder):
    for path in [folder, *folder.rglob("*")]:
        who.own(path)


@pytest.fixture
def folder(who):
    """A directory with a checkout, one below it, a submodule, a worktree and a bare repository."""
    path = who.directory("write-" + secrets.token_hex(4))
    (path / "data.txt").write_text("data\n")
    (path / "sub").mkdir()
    git(who, path, "init", "-q", "repo")
    (path / "repo" / "file").write_text("1\n")
    git(who, path / "repo", "add", "file")
    git(who, path / "repo", "commit", "-qm", "first")
    git(who, path, "clone", "-q", "--bare", path / "repo", "store")
    git(who, path / "repo", "worktree", "add", "-q", path / "tree")
    git(who, path / "repo", "submodule", "add", "-q", path / "store", "module")
    own_all(who, path)
    return path


def wait_for_file(process, path):
    """Until the program has made it; a run that is over never will."""

    def is_there():
        assert process.poll() is None, process.communicate()
        return path.exists()

    try:
        wait_until(is_there, f"{path.name} is there")
    except AssertionError:
        process.kill()
        raise


def is_git_directory(path):
    return (path / "HEAD").exists() and ((path / "commondir").exists() or ((path / "objects").is_dir() and (path / "refs").is_dir()))


def git_directories(folder):
    return {p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink() and is_git_directory(p)}


def links_in_git(folder):
    return {p for d in git_directories(folder) for p in d.rglob("*") if p.is_symlink()}


def picture(folder):
    """Everything that git or a tool obeys, with its content."""
    seen = {}
    for root, dirs, files in os.walk(folder):
        for name in dirs + files:
            path = os.path.join(root, name)
            folded = unicodedata.normalize("NFKC", name).casefold().strip(". ")
            dangerous = folded in {n.strip(".") for n in FORBIDDEN} and not name.isascii() or name.casefold().rstrip(". ") in FORBIDDEN
            inside = path.split(os.sep)
            obeyed = {"config", "hooks", "commondir", "gitdir", "modules", "worktrees", "info", "alternates"} & set(inside[-3:])
            # In git's data the names mean nothing, unless it becomes a git directory: git_directories() tells.
            if {"refs", "logs", "lfs", "rr-cache", "objects"} & set(inside) and not name.endswith("alternates"):
                obeyed = set()
            dangerous |= name in LINTERS and "node_modules" not in inside
            if dangerous or (obeyed and (".git" in inside or "store" in inside)):
                if os.path.islink(path):
                    seen[path] = os.readlink(path)
                elif os.path.isfile(path):
                    seen[path] = hashlib.sha256(open(path, "rb").read()).hexdigest(), os.stat(path).st_mode
                else:
                    seen[path] = "directory"
    return seen


PRELUDE = """
import os, sys, ctypes, threading
os.chdir({folder!r})
libc = ctypes.CDLL(None, use_errno=True)
def write(path, text=b"evil"):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(fd, text); os.close(fd)
def attempt(f):
    try:
        f()
    except OSError as error:
        return error.errno
def syscall(number, *words):
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), "call")
"""

WAYS = {
    "names": """
        for name in ('.envrc', '.ENVRC', 'repo/.Envrc', '.vscode', 'sub/CLAUDE.md', 'sub/claude.MD', '.mcp.json', '.bashrc', './/./.zshrc',
                     'sub/../.npmrc', '.git', '.GIT', 'sub/.git', '.envrc.', '.envrc ', '.g\\u200cit', '\\uff0egit', '.en\\u200dvrc', '.\\u212benvrc', 'GIT~1'):
            attempt(lambda: write(name)); attempt(lambda: os.mkdir(name)); attempt(lambda: os.symlink('sub', name))
            attempt(lambda: os.link('data.txt', name)); attempt(lambda: os.mknod(name)); attempt(lambda: os.mkfifo(name))
            write('sub/plain'); attempt(lambda: os.rename('sub/plain', name)); attempt(lambda: os.replace('sub/plain', name))
        """,
    "git": """
        for d in ('repo/.git', 'store', 'repo/.git/modules/module', 'repo/.git/worktrees/tree'):
            for name in ('config', 'config.worktree', 'commondir', 'gitdir', 'hooks', 'hooks/pre-commit', 'hooks/post-checkout', 'info/attributes',
                         'objects/info/alternates', 'worktrees', 'worktrees/x', 'modules', 'modules/x', 'rebase-merge', 'rebase-apply', 'sequencer'):
                p = d + '/' + name
                attempt(lambda: write(p)); attempt(lambda: os.mkdir(p)); attempt(lambda: os.unlink(p)); attempt(lambda: os.rename(p, 'gone'))
                attempt(lambda: os.truncate(p, 0)); attempt(lambda: os.chmod(p, 0o777)); attempt(lambda: os.symlink('/tmp', p)); attempt(lambda: os.utime(p, (1, 1)))
        for p in ('repo/module/.git', 'tree/.git'):
            attempt(lambda: write(p)); attempt(lambda: os.unlink(p)); attempt(lambda: os.rename(p, 'gone2'))
        """,
    "links": """
        os.symlink('repo/.git', 'g'); os.symlink('../repo/.git/config', 'sub/c'); os.symlink('.envrc', 'e'); os.symlink('e', 'e2'); os.symlink('sub/..', 'up')
        for p in ('g/config', 'g/hooks/pre-commit', 'sub/c', 'e', 'e2', 'up/.envrc', 'up/g/../repo/.git/config', 'g/../.git/config'):
            attempt(lambda: write(p)); attempt(lambda: os.truncate(p, 0)); attempt(lambda: os.chmod(p, 0o777))
        attempt(lambda: os.link('repo/.git/config', 'hard')); attempt(lambda: write('hard'))
        attempt(lambda: os.link('sub/c', 'hard2', follow_symlinks=True)); attempt(lambda: write('hard2'))
        """,
    "descriptors": """
        top = os.open('.', os.O_RDONLY); dot = os.open('repo/.git', os.O_RDONLY); path_fd = os.open('repo/.git/hooks', os.O_PATH)
        attempt(lambda: os.open('config', os.O_WRONLY | os.O_APPEND, dir_fd=dot)); attempt(lambda: os.open('x', os.O_WRONLY | os.O_CREAT, dir_fd=path_fd))
        attempt(lambda: os.open('.envrc', os.O_WRONLY | os.O_CREAT, dir_fd=top)); attempt(lambda: os.mkdir('.vscode', dir_fd=top))
        attempt(lambda: write(f'/proc/self/fd/{dot}/config')); attempt(lambda: write(f'/proc/self/fd/{top}/.envrc')); attempt(lambda: write(f'/dev/fd/{top}/.envrc'))
        attempt(lambda: write(f'/proc/self/cwd/.envrc')); attempt(lambda: write(f'/proc/self/root' + os.getcwd() + '/.envrc'))
        for name in ('repo/.git/config', 'repo/.git/hooks/pre-commit.sample', 'store/config'):
            for flags in (os.O_CREAT, os.O_CREAT | os.O_NOFOLLOW, os.O_CREAT | os.O_NONBLOCK):
                fd = os.open(name, flags)
                attempt(lambda: os.fchmod(fd, 0o777)); attempt(lambda: os.utime(fd, (1, 1))); attempt(lambda: os.setxattr(fd, 'user.x', b'y'))
                attempt(lambda: write(f'/proc/self/fd/{fd}')); attempt(lambda: os.truncate(fd, 0))
        fd = os.open('sub/own', os.O_RDWR | os.O_CREAT)
        for name in ('.envrc', 'repo/.git/commondir'):
            attempt(lambda: os.link(f'/proc/self/fd/{fd}', name, follow_symlinks=True))
            attempt(lambda: syscall(265, fd, b'', -100, name.encode(), 0x1000))
        attempt(lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY))
        os.chdir('repo/.git'); attempt(lambda: write('config')); attempt(lambda: write('hooks/pre-push')); attempt(lambda: write('./commondir'))
        """,
    "moves": """
        os.makedirs('kit/hooks'); write('kit/config'); write('kit/hooks/pre-commit'); os.makedirs('kit/objects'); os.makedirs('kit/refs')
        for name in ('.git', 'repo/.git', 'sub/.git', 'sub/.GIT', 'repo/.git/hooks', '.vscode', 'store/hooks', 'store/worktrees'):
            attempt(lambda: os.rename('kit', name)); attempt(lambda: os.rename('kit/hooks', name))
            attempt(lambda: syscall(316, -100, b'kit', -100, name.encode(), 2))
        os.makedirs('conf/git'); write('conf/git/config'); attempt(lambda: os.rename('conf', '.config')); attempt(lambda: os.rename('conf', 'sub/.CONFIG'))
        for a, b in (('repo/.git', 'r'), ('repo', 'r2'), ('store/hooks', 'h'), ('repo/module', 'm'), ('repo/.git/modules', 'mm'), ('tree', 't')):
            attempt(lambda: os.rename(a, b))
        attempt(lambda: write('kit/HEAD', b'ref: refs/heads/x\\n')); attempt(lambda: os.rename('data.txt', 'kit/HEAD'))
        """,
    "links into git": """
        os.symlink('/tmp/x', 'l'); os.makedirs('d/e'); os.symlink('/tmp/x', 'd/e/s')
        for d in ('repo/.git', 'store', 'repo/.git/modules/module', 'repo/.git/worktrees/tree'):
            for name in ('COMMIT_EDITMSG', 'MERGE_MSG', 'HEAD', 'index', 'logs/HEAD', 'logs/new', 'refs/heads/new', 'packed-refs', 'objects/ab', 'objects/pack/x', 'lfs', 'tmp-x', 'gc.pid'):
                p = d + '/' + name
                attempt(lambda: os.link('l', p, follow_symlinks=False)); attempt(lambda: syscall(316, -100, b'l', -100, p.encode(), 0))
                attempt(lambda: syscall(316, -100, b'l', -100, p.encode(), 2)); attempt(lambda: os.rename('d', p)); attempt(lambda: os.rename('d/e', p))
                if not os.path.lexists('l'):
                    os.symlink('/tmp/x', 'l')
        """,
    "git from git": """
        def fill(d):
            for name in ('objects', 'refs', 'hooks'):
                attempt(lambda: os.makedirs(d + '/' + name))
            for name in ('HEAD', 'config', 'hooks/post-checkout', 'commondir'):
                attempt(lambda: write(d + '/' + name, b'ref: refs/heads/x\\n'))
        for d in ('repo/.git', 'store', 'repo/.git/modules/module', 'repo/.git/worktrees/tree'):
            for number, name in enumerate(('refs/heads/x', 'refs/y', 'logs/x', 'logs', 'objects/info', 'objects/info/x', 'objects/ab', 'objects/pack/x', 'lfs', 'rr-cache/x')):
                p, new = d + '/' + name, d.replace('/', '-') + str(number)
                attempt(lambda: os.makedirs(p)); fill(p); attempt(lambda: os.makedirs(p + '/below')); fill(p + '/below')
                attempt(lambda: os.rename(p + '/below', new)); attempt(lambda: os.rename(p, new))
                for part in ('objects', 'refs', 'config', 'HEAD'):
                    attempt(lambda: os.makedirs(new)); attempt(lambda: os.rename(p + '/' + part, new + '/' + part))
        """,
    "out of node_modules": """
        os.makedirs('p/node_modules/src/deep'); os.makedirs('p/node_modules/other')
        write('p/node_modules/src/.eslintrc.js'); write('p/node_modules/src/deep/.prettierrc.js'); write('p/node_modules/other/eslint.config.js')
        for a, b in (('p/node_modules/src', 'src'), ('p/node_modules/src/deep', 'deep'), ('p/node_modules/other', 'p/other'), ('p/node_modules', 'q'),
                     ('p/node_modules/src/.eslintrc.js', '.eslintrc.js'), ('p/node_modules/src', 'repo/.git/refs/src')):
            attempt(lambda: os.rename(a, b)); attempt(lambda: os.link(a, b))
        for text in ('p/node_modules/src', os.getcwd() + '/p/node_modules/src', 'sub/../p/node_modules/', 'p/./node_modules'):
            attempt(lambda: os.symlink(text, 'way')); os.symlink(text, 'p/node_modules/l'); attempt(lambda: os.rename('p/node_modules/l', 'way'))
            attempt(lambda: os.link('p/node_modules/l', 'way', follow_symlinks=False)); os.unlink('p/node_modules/l')
        assert not os.path.lexists('way')
        os.rename('p/node_modules/src', 'p/node_modules/.src-old'); os.rename('p', 'p2'); os.rename('p2/node_modules/other', 'node_modules')
        """,
    "old calls": """
        for n, *words in ((2, b'.envrc', 0o101, 0o644), (85, b'.envrc', 0o644), (83, b'.vscode', 0o755), (88, b'sub', b'.zshrc'), (86, b'data.txt', b'.bashrc'),
                          (82, b'data.txt', b'.npmrc'), (133, b'.vimrc', 0o100644, 0), (76, b'repo/.git/config', 0), (90, b'repo/.git/config', 0o777), (87, b'repo/.git/config'),
                          (437, -100, b'.envrc', 0, 0)):
            attempt(lambda: syscall(n, *words))
        """,
    "threads": """
        path = ctypes.create_string_buffer(b'sub/ok-name', 64); stop = False
        def flip():
            while not stop:
                path.value = b'.envrc'; path.value = b'sub/ok-name'; path.value = b'repo/.git/config'
        thread = threading.Thread(target=flip); thread.start()
        for _ in range(3000):
            fd = libc.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            if fd >= 0:
                os.write(fd, b'x'); os.close(fd)
        stop = True; thread.join()
        """,
    "modes": """
        os.makedirs('m'); attempt(lambda: os.chmod('repo/.git', 0o000)); attempt(lambda: os.chmod('repo/.git/hooks', 0o777)); attempt(lambda: write('repo/.git/hooks/pre-commit'))
        attempt(lambda: os.chmod('.', 0o555)); attempt(lambda: write('.envrc')); attempt(lambda: os.chmod('m', 0o555))
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                for _ in range(200):
                    attempt(lambda: write('.envrc')); attempt(lambda: write('repo/.git/commondir'))
                os._exit(0)
        """,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_protected_name_is_created_or_changed(who, folder, way):
    before, stores = picture(folder), git_directories(folder)
    code = PRELUDE.format(folder=str(folder)) + textwrap.dedent(WAYS[way])
    answer = who.run(code, "--allow", f"{folder}:rw", "--timeout", "60")
    os.chmod(folder, 0o755)
    assert answer.status == "success", answer
    after = picture(folder)
    assert after == before, {k: (before.get(k), after.get(k)) for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    # Inside of a git directory a program may move away what makes it one; it may not make another.
    assert {folder / "store"} <= git_directories(folder) <= stores, git_directories(folder) ^ stores
    assert not links_in_git(folder)


@pytest.mark.parametrize("order", [("", "/sub"), ("/sub", "")])
def test_a_grant_inside_of_another_has_the_rules_of_both(who, folder, order):
    """A link, a path of git's settings and an include of the outer directory lead into the inner one."""
    repo, sub = folder / "repo", folder / "repo" / "sub"
    for name in ("hk", "inc", "conf", "plain"):
        (sub / name).mkdir(parents=True)
    (repo / ".vscode").symlink_to("sub/conf")
    git(who, repo, "config", "core.hooksPath", "sub/hk")
    git(who, repo, "config", "include.path", "../sub/inc/extra")
    own_all(who, folder)
    (repo / ".envrc").symlink_to("sub/envx")  # there is nothing yet
    code = PRELUDE.format(folder=str(sub)) + textwrap.dedent("""
        write('plain/x'); os.symlink('x', 'plain/l'); os.mkdir('plain/d')
        for p in ('hk/pre-commit', 'inc/extra', 'envx', 'conf/tasks.json'):
            attempt(lambda: write(p)); attempt(lambda: os.rename('plain/x', p)); attempt(lambda: os.link('plain/x', p)); attempt(lambda: os.rename('plain/d', p))
            attempt(lambda: os.symlink('plain/x', p)); attempt(lambda: os.rename('plain/l', p)); attempt(lambda: os.mkdir(p))
        for p in ('hk', 'inc', 'conf'):
            attempt(lambda: os.rename(p, 'plain/' + p)); attempt(lambda: os.rmdir(p))
        # An empty directory may go, but nothing may stand in its place.
        attempt(lambda: os.symlink('plain', 'inc')); attempt(lambda: os.rename('plain/d', 'inc')); attempt(lambda: os.rename('plain/l', 'inc'))
        print(sorted(os.listdir('.')), sorted(os.listdir('plain')))
    """)
    grants = [word for below in order for word in ("--allow", f"{repo}{below}:rw")]
    answer = who.run(code, *grants)
    assert answer.json["stdout"] == "['conf', 'hk', 'plain'] ['d', 'l', 'x']\n", answer
    assert not [p for name in ("hk", "conf") for p in (sub / name).iterdir()]


def test_a_refusal_is_named_in_the_answer(who, folder):
    answer = who.run(f"open('{folder}/.envrc', 'w')", "--allow", f"{folder}:rw")
    assert answer.status == "error", answer
    (denial,) = answer.json["denials"]
    assert denial["what"] == f"create {folder}/.envrc" and denial["layer"] == "write grant" and "direnv" in denial["hint"], denial


ORDINARY = """
import os, shutil, sqlite3, tempfile, mmap, fcntl
os.chdir({folder!r})
open('new', 'w').write('text'); open('new', 'a').write(' more'); assert open('new').read() == 'text more'
with open('new', 'r+') as f: f.seek(0); f.write('T'); f.truncate(4)
assert open('new').read() == 'Text' and os.stat('new').st_size == 4
os.makedirs('a/b/c'); open('a/b/c/f', 'wb').write(bytes(100000)); shutil.move('a', 'z'); assert os.path.getsize('z/b/c/f') == 100000
shutil.copytree('z', 'y'); shutil.rmtree('z'); assert not os.path.exists('z')
os.link('new', 'other'); open('other', 'a').write('!'); assert open('new').read() == 'Text!' and os.stat('new').st_nlink == 2; os.unlink('other')
os.symlink('new', 'link'); open('link', 'a').write('?'); assert open('new').read() == 'Text!?'; os.unlink('link')
os.utime('new', (5, 6)); assert os.stat('new').st_mtime == 6; os.chmod('new', 0o640); assert os.stat('new').st_mode & 0o777 == 0o640
os.truncate('new', 2); assert open('new').read() == 'Te'
with tempfile.NamedTemporaryFile(dir='.') as f: f.write(b'x'); f.flush(); assert os.path.exists(f.name)
old = os.umask(0o077); open('private', 'w').close(); assert os.stat('private').st_mode & 0o777 == 0o600; os.umask(0o002); open('shared', 'w').close(); os.umask(old)
assert os.stat('shared').st_mode & 0o777 == 0o664, oct(os.stat('shared').st_mode)
with open('new', 'r+b') as f:
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'X'; m.close()
assert open('new').read() == 'Xe'
db = sqlite3.connect('base.db'); db.execute('pragma journal_mode=wal'); db.execute('create table t(x)')
for i in range(20): db.execute('insert into t values(?)', (i,)); db.commit()
db.close(); assert sqlite3.connect('base.db').execute('select count(*) from t').fetchone() == (20,)
for wrong, number in ((lambda: open('none/x', 'w'), 2), (lambda: open('sub', 'w'), 21), (lambda: os.mkdir('sub'), 17), (lambda: os.rmdir('new'), 20), (lambda: os.unlink('none'), 2),
                      (lambda: os.open('new', os.O_CREAT | os.O_EXCL | os.O_WRONLY), 17), (lambda: os.rmdir('y'), 39), (lambda: os.rename('new', '/workspace/new'), 18),
                      (lambda: open('new/', 'w'), 20), (lambda: os.rename('new', 'sub'), 21)):
    try: wrong(); assert False, number
    except OSError as error: assert error.errno == number, (error, number)
with open('/workspace/w', 'w') as f: f.write('w')
shutil.move('/workspace/w', 'w'); shutil.move('w', '/workspace/w2'); assert open('/workspace/w2').read() == 'w'
d = os.open('y', os.O_RDONLY); fd = os.open('rel', os.O_WRONLY | os.O_CREAT | os.O_APPEND, dir_fd=d); os.write(fd, b'1'); os.rename('rel', 'rel2', src_dir_fd=d, dst_dir_fd=d); os.unlink('rel2', dir_fd=d)
big = os.open('sparse', os.O_RDWR | os.O_CREAT); os.pwrite(big, b'end', 10 << 30) if {large} else None; os.close(big); os.unlink('sparse')
print('fine')
"""


def test_ordinary_work_goes_through(who, folder):
    answer = who.run(ORDINARY.format(folder=str(folder), large="False"), "--allow", f"{folder}:rw")
    assert answer.json["stdout"] == "fine\n", answer
    assert answer.json["denials"] == [], answer


def test_git_works_in_a_repository(who, folder):
    code = f"""
        set -e; cd {folder}/repo; export HOME=/tmp {' '.join(f'{k}={v}' for k, v in GIT.items())}
        git status --short >/dev/null; echo 2 >> file; git add file; git commit -qm second; git checkout -q -b other; echo 3 >> file; git commit -qam third
        git checkout -q -; git merge -q other; git tag t; git stash list; git log --oneline | wc -l; git pack-refs --all; git fsck >/dev/null
        """
    answer = who.run(code, "-l", "bash", "--allow", f"{folder}:rw", "--timeout", "60")
    assert answer.json["stdout"].split()[0] == "3" and answer.json["denials"] == [], answer


def test_changes_from_outside_are_seen_at_once(who, folder):
    """The directory is the real one: an editor's replace by rename is what the next read finds."""
    code = f"""
import os, time
p = '{folder}/data.txt'
open(p).read(); open('{folder}/go', 'w').close()
while not os.path.exists('{folder}/went'): time.sleep(0.01)
print(open(p).read().strip(), os.path.exists('{folder}/removed'))
open(p, 'a').write('inside\\n')
"""
    (folder / "removed").write_text("")
    who.own(folder / "removed")
    process = who.start("run", "--json", "--profile", "open", "-c", code, "--allow", f"{folder}:rw", stdin=subprocess.DEVNULL)
    wait_for_file(process, folder / "go")
    (folder / "data.new").write_text("outside\n")
    who.own(folder / "data.new")
    os.rename(folder / "data.new", folder / "data.txt")
    (folder / "removed").unlink()
    (folder / "went").write_text("")
    out, _ = process.communicate(timeout=belljar.HANG_SECONDS)
    assert b"outside False" in out and (folder / "data.txt").read_text() == "outside\ninside\n", out


def test_a_file_with_names_elsewhere_is_not_written(who, folder):
    """One of the other names may be a protected one outside of the grant."""
    outside = who.directory("outside-" + secrets.token_hex(4))
    (outside / ".bashrc").write_text("mine\n")
    os.link(outside / ".bashrc", folder / "innocent")
    own_all(who, outside)
    code = f"import os\nfor f in (lambda: open('{folder}/innocent', 'a'), lambda: os.truncate('{folder}/innocent', 0), lambda: os.chmod('{folder}/innocent', 0o777)):\n    try:\n        f(); print('done')\n    except OSError as e:\n        print(e.errno)"
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert answer.json["stdout"] == "1\n1\n1\n" and (outside / ".bashrc").read_text() == "mine\n", answer


WITHOUT_BROKER = """
import os, time
os.chdir({folder!r})
open('go', 'w').close()
while not os.path.exists('killed'): time.sleep(0.001)
while True:
    for name in ('.envrc', 'late'):
        try: open(name, 'w').write('x')
        except OSError: pass
"""


def test_without_the_broker_nothing_is_written(who, folder):
    """Its death is an error for the program and the end of the run, never a way to write."""
    process = who.start("run", "--json", "--profile", "open", "-c", WITHOUT_BROKER.format(folder=str(folder)), "--allow", f"{folder}:rw", stdin=subprocess.DEVNULL)
    wait_for_file(process, folder / "go")
    # While the supervisor stands still it cannot end the run, and the program has time to try.
    os.kill(process.pid, signal.SIGSTOP)
    try:
        os.kill(broker_of(process.pid), signal.SIGKILL)
        (folder / "killed").write_text("")
        time.sleep(0.3)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 125 and b"write broker" in out + err, (process.returncode, out, err)
    assert not (folder / ".envrc").exists() and not (folder / "late").exists()


def state_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


# Each kind of change once, with protected names in between.
CHANGES = """
import os, time
os.chdir({folder!r})
open('go', 'w').close()
while not os.path.exists('went'): time.sleep(0.005)
def attempt(f):
    try: f()
    except OSError: pass
attempt(lambda: open('.envrc', 'w').write('evil')); attempt(lambda: open('old', 'w').write('new')); attempt(lambda: os.rename('old', 'moved'))
attempt(lambda: open('fresh', 'w').write('x')); attempt(lambda: os.rename('fresh', '.bashrc')); attempt(lambda: os.mkdir('made'))
attempt(lambda: os.unlink('gone')); attempt(lambda: os.rename('moved', 'target')); attempt(lambda: os.symlink('x', '.zshrc')); attempt(lambda: os.truncate('cut', 1))
"""


# Four parts share the places at which the broker is killed. A stride of 4 kills it at every entry and exit of a call.
STRIDE = int(os.environ.get("BELLJAR_KILL_STRIDE", "24"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the broker cannot be traced by its own user")
@pytest.mark.parametrize("part", range(4))
def test_killed_at_any_system_call_the_broker_leaves_nothing_dangerous(callers, part):
    """And what it did until then can be undone."""
    root, number, ended = callers["root"], 1 + part * STRIDE // 4, False
    while not ended:
        folder = root.directory("kill-" + secrets.token_hex(4))
        for name in ("old", "gone", "target", "cut"):
            (folder / name).write_text(name)
        before = state_of(folder)
        process = root.start("run", "--json", "--profile", "open", "--timeout", "20", "-c", CHANGES.format(folder=str(folder)), "--allow", f"{folder}:rw", stdin=subprocess.DEVNULL)
        wait_for_file(process, folder / "go")
        broker = broker_of(process.pid)
        (folder / "went").write_text("")
        ended = not tracing.kill_at(broker, number)
        out, err = process.communicate(timeout=belljar.HANG_SECONDS)
        assert process.returncode in ((0,) if ended else (0, 125)), (number, out, err)  # 0: killed after its last answer
        after = state_of(folder)
        assert not {".envrc", ".bashrc", ".zshrc"} & after.keys(), (number, after.keys())
        (folder / "went").unlink()
        run = next(line.split()[0] for line in root.call("undo", "--list").text.splitlines() if str(folder) in line)
        undone = root.call("undo", run)
        restored = state_of(folder)
        assert undone.code == 0 and restored == before, (number, undone, before, after, restored)
        number += STRIDE


def test_what_is_left_of_a_cell_writes_with_the_next_one(who, folder):
    """Each change belongs to a run that can be undone; between two cells there is none."""
    answer = who.call(
        "shell", "--profile", "open", "--allow", f"{folder}:rw",
        input=textwrap.dedent(f"""
            import subprocess, time; p = subprocess.Popen(['sh', '-c', 'sleep 0.3; echo late > {folder}/late']); 1
            :lang bash
            sleep 0.6; cat {folder}/late
        """).encode(),
    )  # fmt: skip
    assert answer.code == 0 and "late" in answer.text, answer
    runs = [line for line in who.call("undo", "--list").text.splitlines() if str(folder) in line]
    assert len(runs) == 1 and "+1" in runs[0], runs


@pytest.mark.parametrize("inner", ["ro", "cow"])
def test_a_grant_inside_another_stays_what_it_is(who, folder, inner):
    """Moved away, its files would be reached by a path of the outer one."""
    (folder / "sub" / "deep").mkdir()
    (folder / "sub" / "deep" / "f").write_text("mine\n")
    own_all(who, folder)
    code = f"""
import os
os.chdir({str(folder)!r})
def attempt(f):
    try: f(); print('done')
    except OSError as e: print(e.errno)
attempt(lambda: os.rename('sub/deep', 'sub/moved')); attempt(lambda: os.rename('sub', 'moved')); attempt(lambda: os.rename('sub/deep', 'moved'))
os.mkdir('new'); attempt(lambda: os.rename('new', 'sub/deep')); attempt(lambda: os.rmdir('sub/deep')); os.symlink('sub/deep', 'link')
for path in ('sub/moved/f', 'moved/f', 'moved/deep/f'): attempt(lambda: open(path, 'w').write('evil'))
if {inner!r} == 'ro':
    for path in ('link/f', 'sub/deep/f', 'sub/../link/f'): attempt(lambda: open(path, 'w').write('evil'))
"""
    answer = who.run(code, "--allow", f"{folder}:rw", "--allow", f"{folder}/sub/deep:{inner}")
    assert answer.status == "success" and "done" not in answer.json["stdout"], answer
    assert (folder / "sub" / "deep" / "f").read_text() == "mine\n"


def test_a_broker_that_does_not_start_is_an_error(who):
    """And not a run that waits for ever, whenever it is noticed."""
    place = who.directory("broken-" + secrets.token_hex(4))
    for name in ("belljar", "belljar-zygote", "belljar-steady.so"):
        shutil.copy2(who.program.parent / name, place / name)
    shutil.copy2("/bin/false", place / "belljar-broker")
    own_all(who, place)
    profile = who.program.parent.parent / "policies" / "open.toml"
    for _ in range(10):
        command = [str(place / "belljar"), "run", "--profile", str(profile), "-c", "print('ran')", "--allow", f"{who.home}/programs:rw"]
        answer = subprocess.run(command, env=who.environment(), capture_output=True, timeout=belljar.HANG_SECONDS, **who.identity())
        assert answer.returncode == 125 and b"write broker" in answer.stderr and b"ran" not in answer.stdout, answer
