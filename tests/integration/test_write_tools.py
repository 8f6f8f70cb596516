"""Ordinary tools in a directory granted for writing. Each must do its work without an error or a warning."""
import io
import os
import secrets
import shutil
import subprocess
import tarfile
import zipfile

import pytest

pytestmark = pytest.mark.usefixtures("watch")

GIT = "HOME=/tmp GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"

# The tool that a case needs, the case itself (bash, in the granted directory), and what it prints.
TOOLS = {
    "cp -a": ("cp", "cp -a src copy; cp -a src/. into; cp -a src/sub/. .; diff -r src copy; diff -r src into; stat -c '%a %Y' copy copy/sub copy/sub/run into", "750 1000000000\n700 1000000000\n755 1000000000\n750 1000000000\n"),
    "cp -a of a closed directory": ("cp", "cp -a /workspace/closed copy; stat -c '%a' copy; cat copy/f", "555\nclosed\n"),
    "mv": ("mv", "mv src moved; mv moved/sub here; mv here /workspace/out; mv /workspace/out back; stat -c '%a %Y' back back/run", "700 1000000000\n755 1000000000\n"),
    "tar x": ("tar", "tar xf a.tar; stat -c '%a %Y' . d d/f d/closed; tar xf a.tar --no-recursion ./d/f .; tar cf - src | tar xpf - -C d; diff -r src d/src", "755 1000000000\n750 1000000000\n640 1000000000\n555 1000000000\n"),
    "tar c": ("tar", "tar czf new.tgz src; tar tzf new.tgz | sort | head -n 1", "src/\n"),
    "rsync -a": ("rsync", "rsync -a src/ copy/; rsync -a --delete src/sub/ copy/; diff -r src/sub copy; stat -c '%a %Y' copy", "700 1000000000\n"),
    "install": ("install", "install -d -m 750 one/two; install -m 600 src/file one/two/f; install -D src/file three/four/f; install -d one/two; stat -c %a one/two one/two/f three/four/f", "755\n600\n755\n"),
    "mkdir": ("mkdir", "mkdir -p x/y/z; mkdir -m 700 private; mkdir -p x/./y/.; mkdir -pm 710 a/b; stat -c %a private x/y/z a/b", "700\n755\n710\n"),
    "unzip": ("unzip", "unzip -q a.zip -d z; unzip -qo a.zip -d z; cat z/d/f; stat -c %a z/d/f", "zipped\n640\n"),
    "patch": ("patch", "printf '%s\\n' '--- a/t' '+++ b/t' '@@ -1 +1 @@' '-old' '+new' > p; echo old > t; patch -p1 < p; cat t", "patching file t\nnew\n"),
    "sed -i": ("sed", "sed -i s/file/text/ src/file; sed -i.bak s/text/line/ src/file; cat src/file src/file.bak", "line\ntext\n"),
    "git": (
        "git",
        f"export {GIT}; cd repo; echo 2 >> f; mkdir d; echo x > d/x; chmod +x d/x; git add .; git commit -qm second; git rm -rq d; git commit -qm third; git checkout -q HEAD~1; stat -c %a d/x; "
        "git switch -qc other; echo 3 >> f; git stash -q; git stash pop -q; git commit -qam fourth; git checkout -q main; git merge -q other; git mv f g; git restore --staged .; git checkout -q .; git clean -fdq; "
        "git reset -q --hard HEAD~1; git fsck --no-progress --no-dangling; git status --short; git log --oneline | wc -l",
        "755\n4\n",
    ),
    "sqlite3": ("sqlite3", "sqlite3 base.db 'create table t(x); insert into t values(1); vacuum;'; sqlite3 base.db 'pragma journal_mode=wal; insert into t values(2); select sum(x) from t'", "wal\n3\n"),
    "pip install --target": ("pip3", "pip3 install -q --no-index --no-deps --no-build-isolation --disable-pip-version-check --root-user-action=ignore --target lib ./simple-1.0-py3-none-any.whl; PYTHONPATH=lib python3 -c 'import simple; print(simple.WORD)'", "hello\n"),
    "npm install": ("npm", "export HOME=/tmp; cd app; npm install --silent --offline --no-audit --no-fund ../pack; node -e 'console.log(require(\"pack\"))'", "packed\n"),
    "make": ("make", "printf 'out: src/file\\n\\tcp $< $@\\n' > Makefile; make -s; make -q && cat out; touch -d '2001-01-01' out; make -s; make -q; echo $?", "file\n0\n"),
    "cc": ("cc", "echo 'int main(void){return 0;}' > m.c; cc -o m m.c; ./m; cc -c m.c; ar rcs lib.a m.o; ranlib lib.a; strip m; ./m; echo $?", "0\n"),
    "tee, truncate, ln, touch": (
        "tee",
        "echo a | tee t > /dev/null; echo b | tee -a t; truncate -s 100 t; stat -c %s t; ln t hard; ln -s t soft; ln -sf u soft; ln -f t hard; readlink soft; touch -d '2001-02-03 UTC' t; touch -hd '2001-02-03 UTC' soft; "
        "touch -r t src . src/; stat -c %Y t soft src .; touch new; shred -u new; chmod -R u+w,g-w src; chmod 755 .; chown -R 1000 . ; chgrp -R 1000 src",
        "b\n100\nu\n981158400\n981158400\n981158400\n981158400\n",
    ),
    "test -w": ("bash", "for p in . src src/file src/sub/ \"$PWD\"; do test -w $p && echo yes; done; test -w .envrc || echo no; test -w none || echo no; test -w repo/.git/config || echo no; test -w repo/.git && echo yes", "yes\nyes\nyes\nyes\nyes\nno\nno\nno\nyes\n"),
    "dd, split, sort -o, mktemp": ("dd", "dd if=/dev/zero of=z bs=1k count=4 status=none; dd if=src/file of=z conv=notrunc status=none; split -b 1k z part.; ls part.* | wc -l; sort -o src/file src/file; f=$(mktemp -p .); d=$(mktemp -dp .); rm -r $f $d; stat -c %s z", "4\n4096\n"),
    "gzip, bzip2, xz": ("xz", "for c in gzip bzip2 xz; do cp -a src/file z; $c z; $c -d z.*; stat -c '%a %Y' z; rm z; done", "640 1000000000\n640 1000000000\n640 1000000000\n"),
    "cpio": ("cpio", "find src -depth | cpio --quiet -pdm copy; diff -r src copy/src; stat -c %Y copy/src/sub", "1000000000\n"),
    "rm -rf, find -delete": ("find", "cp -a src copy; find copy -delete; rm -rf src; ls -d src copy 2>/dev/null || echo $?", "2\n"),
    "python": (
        "python3",
        "python3 -c \"import os, shutil, tempfile, compileall, zipfile; shutil.copytree('src', 'copy'); shutil.copystat('src', 'copy'); assert os.access('.', os.W_OK) and os.access('copy/file', os.W_OK | os.R_OK); "
        "assert os.access('src', os.W_OK, effective_ids=True); fd = os.open('copy', os.O_RDONLY); os.fchmod(fd, 0o700); os.utime(fd, (5, 6)); os.chown(fd, -1, -1); os.fsync(fd); print(oct(os.stat(fd).st_mode & 0o777), os.stat(fd).st_mtime); "
        "fd = os.open('copy/file', os.O_RDONLY); os.fchmod(fd, 0o600); os.utime(fd, (5, 7)); print(oct(os.stat(fd).st_mode & 0o777), os.stat(fd).st_mtime); os.utime('.'); os.chmod('.', 0o755); shutil.make_archive('arch', 'zip', 'src'); shutil.unpack_archive('arch.zip', 'un')\"",
        "0o700 6.0\n0o600 7.0\n",
    ),
}


def put(path, text, mode=0o640):
    path.write_text(text)
    path.chmod(mode)


def make_tar(path):
    with tarfile.open(path, "w") as archive:
        for name, mode, data in ((".", 0o755, None), ("d", 0o750, None), ("d/f", 0o640, b"x"), ("d/closed", 0o555, None), ("d/closed/g", 0o444, b"y")):
            info = tarfile.TarInfo(name if name == "." else "./" + name)
            info.mode, info.mtime, info.type = mode, 1000000000, tarfile.REGTYPE if data else tarfile.DIRTYPE
            info.size = len(data or b"")
            archive.addfile(info, io.BytesIO(data or b""))


def make_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("d/f", (2001, 2, 3, 4, 5, 6))
        info.external_attr = 0o100640 << 16
        archive.writestr(info, "zipped\n")


def make_wheel(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("simple.py", "WORD = 'hello'\n")
        archive.writestr("simple-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: simple\nVersion: 1.0\n")
        archive.writestr("simple-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("simple-1.0.dist-info/RECORD", "simple.py,,\nsimple-1.0.dist-info/METADATA,,\nsimple-1.0.dist-info/WHEEL,,\nsimple-1.0.dist-info/RECORD,,\n")


@pytest.fixture
def folder(who):
    path = who.directory("tools-" + secrets.token_hex(4))
    (path / "src" / "sub").mkdir(parents=True)
    put(path / "src" / "file", "file\n")
    put(path / "src" / "sub" / "run", "#!/bin/sh\n", 0o755)
    (path / "src" / "link").symlink_to("file")
    (path / "src" / "sub").chmod(0o700)
    (path / "src").chmod(0o750)
    make_tar(path / "a.tar")
    make_zip(path / "a.zip")
    make_wheel(path / "simple-1.0-py3-none-any.whl")
    (path / "app").mkdir()
    put(path / "app" / "package.json", '{"name": "app", "version": "1.0.0"}\n')
    (path / "pack").mkdir()
    put(path / "pack" / "package.json", '{"name": "pack", "version": "1.0.0", "main": "main.js"}\n')
    put(path / "pack" / "main.js", "module.exports = 'packed'\n")
    if shutil.which("git"):
        for words in (["init", "-qb", "main"], ["config", "user.name", "a"], ["config", "user.email", "a@b"], ["commit", "-q", "--allow-empty", "-m", "zero"]):
            subprocess.run(["git", *(["-C", path / "repo"] if words[0] != "init" else []), *words, *([path / "repo"] if words[0] == "init" else [])], check=True, env=dict(os.environ, HOME=str(path)))
        put(path / "repo" / "f", "1\n")
        subprocess.run(["git", "-C", path / "repo", "add", "f"], check=True)
        subprocess.run(["git", "-C", path / "repo", "commit", "-qm", "first"], check=True, env=dict(os.environ, HOME=str(path)))
    for directory, folders, files in os.walk(path, topdown=False):
        for name in [*folders, *files]:
            if os.getuid() == 0:
                os.chown(os.path.join(directory, name), who.uid, who.gid, follow_symlinks=False)
            os.utime(os.path.join(directory, name), (1000000000, 1000000000), follow_symlinks=False)
    return path


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_works_without_complaint(who, folder, tool):
    program, script, expected = TOOLS[tool]
    if not shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin"):
        pytest.skip(f"{program} is not installed")
    code = f"set -e; umask 022; mkdir -m 755 /workspace/closed; echo closed > /workspace/closed/f; chmod 555 /workspace/closed; cd '{folder}'\n{script}\n"
    answer = who.run(code, "-l", "bash", "--allow", f"{folder}:rw", "--timeout", "120")
    got = answer.json
    assert (got["status"], got["stdout"], got["stderr"], got["denials"]) == ("success", expected, "", []), got
