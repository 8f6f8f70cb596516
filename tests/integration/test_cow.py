"""--allow DIR:cow: the program changes the directory, the disk does not, until --apply says so; and what is never applied."""
import os
import re
import secrets
import stat

import prompt
import pytest

import belljar

pytestmark = pytest.mark.usefixtures("watch")


def tree(path):
    """Everything below, as one can compare it: kind, permissions, owner, content."""
    found = {}
    for p in sorted(path.rglob("*")):
        st = p.lstat()
        content = os.readlink(p) if stat.S_ISLNK(st.st_mode) else p.read_bytes() if stat.S_ISREG(st.st_mode) else None
        found[os.fsencode(p.relative_to(path))] = (stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode) if not p.is_symlink() else 0, st.st_uid, content)
    return found


@pytest.fixture
def folder(who):
    path = who.directory("cow-" + secrets.token_hex(4))
    (path / "sub" / "deep").mkdir(parents=True)
    (path / ".git" / "hooks").mkdir(parents=True)
    for name, text in (("a.txt", "one\ntwo\nthree\n"), ("sub/b.txt", "b\n"), ("sub/deep/c.txt", "c\n"), (".git/hooks/pre-commit", "mine\n"), (".git/config", "mine\n")):
        (path / name).write_text(text)
    (path / "link").symlink_to("a.txt")
    for p in [path, *path.rglob("*")]:
        if not p.is_symlink():
            who.own(p)
        elif os.getuid() == 0:
            os.lchown(p, who.uid, who.gid)
    return path


def bash(who, folder, code, *args, **more):
    return who.run(f"cd '{folder}'\n{code}", "-l", "bash", "--allow", f"{folder}:cow", *args, **more)


def changes(answer):
    return {c["path"].split("/cow-", 1)[1].split("/", 1)[1]: c for c in answer.json["changes"]}


@pytest.mark.smoke
def test_the_program_sees_its_changes_and_the_disk_does_not(who, folder):
    before = tree(folder)
    answer = bash(who, folder, "echo four >> a.txt; rm -r sub; mkdir sub; echo new > sub/n.txt; mv link moved; chmod 600 a.txt; cat a.txt; ls sub; readlink moved", "--diff")
    assert answer.json["stdout"] == "one\ntwo\nthree\nfour\nn.txt\na.txt\n", answer
    assert tree(folder) == before
    found = changes(answer)
    assert {n: c["change"] for n, c in found.items()} == {
        "a.txt": "changed", "sub/n.txt": "created", "sub/b.txt": "deleted", "sub/deep": "deleted", "sub/deep/c.txt": "deleted", "link": "deleted", "moved": "created",
    }  # fmt: skip
    a = found["a.txt"]
    assert (a["added"], a["removed"], a["size"], a["old_size"], a["mode"], a["obstacle"]) == (1, 0, 19, 14, "0600", None)
    assert a["diff"].split("\n", 2)[2] == "@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n"


def test_applied_it_is_on_the_disk_and_belongs_to_the_owner_of_the_directory(who, folder):
    code = "printf 'x\\0y' > bin; echo 0 > a.txt; rm -r sub/deep; rm sub/b.txt; mkdir -p new/er; echo n > new/er/n; ln -s er/n new/l; chmod 750 new bin; ln a.txt hard; rm link; mkdir link; echo i > link/i"
    answer = bash(who, folder, code, "--apply", "--with-hidden")
    assert answer.status == "success" and answer.json["applied"]["skipped"] == [], answer
    assert (folder / "a.txt").read_text() == "0\n" and (folder / "bin").read_bytes() == b"x\0y" and (folder / "hard").read_text() == "0\n"
    assert not (folder / "sub/deep").exists() and not (folder / "sub/b.txt").exists() and (folder / "sub").is_dir()
    assert (folder / "new/er/n").read_text() == "n\n" and os.readlink(folder / "new/l") == "er/n" and (folder / "link/i").read_text() == "i\n"
    assert stat.S_IMODE((folder / "bin").stat().st_mode) == 0o750 and stat.S_IMODE((folder / "new").stat().st_mode) == 0o750
    for name in ("a.txt", "bin", "new", "new/er", "new/er/n", "new/l", "hard"):
        st = (folder / name).lstat()
        assert (st.st_uid, st.st_gid) == (who.uid, who.gid), name
    assert changes(answer)["bin"]["is_binary"] is True
    assert not [n for n in os.listdir(folder) if n.startswith(".belljar")]


def test_somebody_elses_directory_stays_theirs(callers):
    if "root" not in callers:
        pytest.skip("needs root, to grant a directory of another user")
    root, user = callers["root"], callers["user"]
    folder = user.directory("cow-" + secrets.token_hex(4))
    answer = bash(root, folder, "mkdir d; echo x > d/f", "--apply")
    assert answer.json["applied"]["skipped"] == [], answer
    assert (folder / "d/f").stat().st_uid == user.uid and (folder / "d").stat().st_uid == user.uid


def test_nothing_is_applied_when_the_program_fails(who, folder):
    before = tree(folder)
    answer = bash(who, folder, "echo x > a.txt; exit 3", "--apply")
    assert answer.code == 3 and "applied" not in answer.json and changes(answer)["a.txt"]["change"] == "changed", answer
    assert tree(folder) == before


def test_words_for_people(who, folder):
    answer = who.call("run", "--profile", "open", "-l", "bash", "--allow", f"{folder}:cow", "--diff", "-c", f"cd '{folder}'; echo four >> a.txt; printf 'a\\0' > bin; rm sub/b.txt")
    said = answer.err.decode()
    assert answer.code == 0 and answer.out == b"", answer
    for line in (f"M {folder}/a.txt  +1 -0  19 B", f"A {folder}/bin  binary  2 B  NOT SHOWN (binary)  2 BYTES HIDDEN", f"D {folder}/sub/b.txt  +0 -1", "+four", "nothing was applied; --apply writes it"):
        assert line in said.splitlines(), said
    answer = who.call("run", "--profile", "open", "-l", "bash", "--allow", f"{folder}:cow", "-c", f"cd '{folder}'; echo x > new; exit 3")
    assert answer.code == 3 and "nothing was applied: the program did not succeed" in answer.err.decode() and "--apply" not in answer.err.decode(), answer
    answer = who.call("run", "--profile", "open", "-l", "bash", "--allow", f"{folder}:cow", "--apply", "-c", f"cd '{folder}'; echo evil > .bashrc; echo x > a.txt")
    assert answer.code == 125 and f"not applied: {folder}/.bashrc: it runs or steers something on the host" in answer.err.decode(), answer
    assert not (folder / ".bashrc").exists() and (folder / "a.txt").read_text() == "x\n"


def test_nothing_that_is_to_be_approved_is_invisible(who, folder):
    """Names are escaped, and lists say where lines hide something; a plain list says nothing."""
    answer = who.call("run", "--profile", "open", "-l", "bash", "--allow", f"{folder}:cow", "--diff", "-c", f"cd '{folder}'; echo x > $'in\\u200bvoice'; echo $'y\\u202e' > a.txt; echo z > plain")
    said = answer.err.decode()
    for line in (f"A {folder}/in\\xe2\\x80\\x8bvoice  +1 -0  2 B  INVISIBLE CHARACTERS", f"M {folder}/a.txt  +1 -3  5 B  INVISIBLE CHARACTERS", "+y\\xe2\\x80\\xae", f"A {folder}/plain  +1 -0  2 B"):
        assert line in said.splitlines(), said
    answer = bash(who, folder, "echo x > $'in\\u200bvoice'; echo $'y\\u202e' > a.txt; echo z > plain; rm sub/b.txt", "--diff", "--apply")
    found = changes(answer)
    assert {n: c["has_invisible"] for n, c in found.items()} == {"in\\xe2\\x80\\x8bvoice": True, "a.txt": True, "plain": False, "sub/b.txt": False}, answer
    assert "\u202e" not in found["a.txt"]["diff"] and "+y\\xe2\\x80\\xae\n" in found["a.txt"]["diff"] and (folder / "in\u200bvoice").exists()


TOKEN = "ghp_" + "8vOC7YM4bOnLHZ3APWI1" + "z1pMALuxQH0IQSnE"  # with a checksum that is right
OTHER = "ghp_" + "vVZ2gXq0SdoZbVqpUyVM" + "9jBdJjJq2S32gnxq"


def test_secrets_in_a_diff_are_hidden_and_counted(who, folder):
    answer = bash(who, folder, f"echo 'token = {TOKEN}' >> a.txt", "--diff")
    change = changes(answer)["a.txt"]
    assert TOKEN not in answer.out.decode() and "+token = [40 bytes hidden]\n" in change["diff"], answer
    assert change["hidden_bytes"] == answer.json["changes"][0]["hidden_bytes"] == 40, change


def test_what_is_hidden_is_not_applied_without_saying_so(who, folder):
    (folder / "a.txt").write_text("keep\n")
    answer = bash(who, folder, f"echo 'token = {TOKEN}' >> a.txt; echo x > other", "--apply")
    assert answer.code != 0 and "40 bytes of these changes are hidden" in answer.err.decode() + answer.out.decode(), answer
    assert "--with-hidden" in answer.err.decode() + answer.out.decode()
    assert (folder / "a.txt").read_text() == "keep\n" and not (folder / "other").exists()
    answer = bash(who, folder, f"echo 'token = {TOKEN}' >> a.txt", "--apply", "--with-hidden")
    assert answer.json["applied"]["skipped"] == [] and (folder / "a.txt").read_text() == f"keep\ntoken = {TOKEN}\n"
    assert who.call("run", "--allow", f"{folder}:cow", "--with-hidden", "-c", "1").code == 64


def test_a_secret_in_a_name_counts_as_hidden(who, folder):
    """It is not shown, so it is not applied without saying so."""
    for script in (f"echo x > {TOKEN}", f"mkdir {TOKEN}"):
        answer = bash(who, folder, script, "--apply")
        assert answer.code != 0 and "40 bytes of these changes are hidden" in answer.err.decode() + answer.out.decode(), answer
        assert not (folder / TOKEN).exists()
    answer = bash(who, folder, f"echo x > {TOKEN}", "--apply", "--with-hidden")
    assert answer.json["applied"]["skipped"] == [] and (folder / TOKEN).exists()


def test_a_carriage_return_is_not_taken_for_two_characters(who, folder):
    """Each line of a diff stands for one text."""
    texts = {"return": "x\r\n", "letters": "x\\r\n", "more": "x\\\\r\n", "hex": "x\\x41\n", "plain": "a\\n \\d \\\n"}
    answer = who.run("import os\nos.chdir(%r)\nfor name, text in %r.items(): open(name, 'w', newline='').write(text)" % (str(folder), texts), "--allow", f"{folder}:cow", "--diff")
    found = {name: c["diff"].splitlines()[-1] for name, c in changes(answer).items()}
    assert found == {"return": "+x\\r", "letters": "+x\\\\r", "more": "+x\\\\\\\\r", "hex": "+x\\\\x41", "plain": "+a\\n \\d \\"}, answer


def test_the_mode_of_a_new_program_is_shown(who, folder):
    answer = who.call("run", "--profile", "open", "-l", "bash", "--allow", f"{folder}:cow", "--diff", "-c", f"cd '{folder}'; echo x > run; chmod 755 run; echo x > plain")
    said = answer.err.decode().splitlines()
    assert f"A {folder}/run  +1 -0  2 B  mode 0755" in said and "new mode 0755" in said and f"A {folder}/plain  +1 -0  2 B" in said, said


ATTACKS = {
    "a string that ends where Python ends it": ("""password='oldSecret99'\n""", """password='k9Zx81Qm\\\\';__import__("os").system("touch\\x20x")#'\n"""),
    "a shell word that goes on": ("API_TOKEN=abcdefgh1\n", "API_TOKEN=k9Zx81Qm;{touch,x}\n"),
    "a header": ("Authorization: Bearer abcdefgh12345678\n", "Authorization: Bearer abcdefgh12345678;`touch x`\n"),
    "a URL": ("db=postgres://u:secretpw1@h/db\n", "db=postgres://u:secretpw1$(touch$IFS/x)@h/db\n"),
    "only a password": ("password = 'hunter2222'\n", "password = 'hunter3333'\n"),
    "spaces": ("a b\n", "a\u00a0b\n"),
    "writing direction": ("x = 1\n", "x = 1 # \u202e\u2066\n"),
    "a carriage return": ("x\n", "x\r\n"),
    "a newline at the end": ("x\n", "x"),
    "a tag character": ("x\n", "x\U000e0041\n"),
}


@pytest.mark.parametrize("old, new", ATTACKS.values(), ids=ATTACKS.keys())
def test_every_change_is_there_to_be_seen(who, folder, old, new):
    (folder / "f").write_bytes(old.encode())
    who.own(folder / "f")
    code = f"open('{folder}/f', 'wb').write({new.encode()!r})"
    answer = who.run(code, "--allow", f"{folder}:cow", "--diff")
    change = changes(answer)["f"]
    assert (change["added"], change["removed"], change["hidden_bytes"]) == (1, 1, 0), change
    lines = change["diff"].splitlines()
    removed, added = ([line for line in lines[3:] if line.startswith(sign)] for sign in "-+")
    assert len(removed) == len(added) == 1 and (removed[0][1:] != added[0][1:] or "\\ No newline at end of file" in lines), lines
    assert "REDACTED" not in change["diff"]
    if new.isascii() and "\r" not in new:
        assert "+" + re.sub(r"\\(?=[rx\\])", r"\\\\", new.rstrip("\n")) in lines
    else:
        assert "\\" in added[0] and added[0].isascii()


def test_two_lines_that_look_alike_are_two_lines(who, folder):
    (folder / "a.txt").write_text(f"t = {TOKEN}\n")
    answer = bash(who, folder, f"echo 't = {OTHER}' > a.txt", "--diff")
    change = changes(answer)["a.txt"]
    assert (change["added"], change["removed"], change["hidden_bytes"]) == (1, 1, 80), change
    assert "-t = [40 bytes hidden]\n+t = [40 bytes hidden]\n" in change["diff"]


def test_modes_links_and_odd_bytes_are_there_to_be_seen(who, folder):
    (folder / "run.sh").write_bytes(b"#!/bin/sh\necho 1234567890\n")
    who.own(folder / "run.sh")
    code = "chmod 755 a.txt; ln -sfn sub/b.txt link; printf '#!/bin/sh\\necho 1234567890\\nid # \\377\\n' > run.sh; rm sub/b.txt; ln -s ../a.txt sub/b.txt"
    found = changes(bash(who, folder, code, "--diff"))
    assert "old mode 0644\nnew mode 0755\n" in found["a.txt"]["diff"] and found["a.txt"]["mode"] == "0755"
    assert "-a.txt\n" in found["link"]["diff"] and "+sub/b.txt\n" in found["link"]["diff"]
    assert "+id # \\xff\n" in found["run.sh"]["diff"] and found["run.sh"]["is_binary"] is False and found["run.sh"]["has_invisible"]
    assert (found["sub/b.txt"]["old_kind"], found["sub/b.txt"]["kind"]) == ("file", "link")
    assert "new kind link" in found["sub/b.txt"]["diff"] and "+../a.txt" in found["sub/b.txt"]["diff"]


def test_what_is_too_large_to_be_shown_says_so_and_is_not_applied_blindly(who, folder):
    answer = bash(who, folder, "seq 100000 > large", "--diff", "--apply")
    assert answer.code != 0 and "bytes of these changes are hidden" in answer.err.decode() + answer.out.decode(), answer
    answer = bash(who, folder, "seq 100000 > large", "--diff", "--apply", "--with-hidden")
    large = changes(answer)["large"]
    assert large["not_shown"] == "too_large" and large["hidden_bytes"] == large["size"] and large["diff"] is None and len(large["sha256"]) == 64
    assert (folder / "large").stat().st_size == large["size"]


def test_a_text_that_becomes_binary_is_not_applied_blindly(who, folder):
    answer = bash(who, folder, "printf 'a\\0b\\0c\\0' > a.txt", "--apply")
    assert answer.code != 0 and "hidden" in answer.err.decode() + answer.out.decode() and (folder / "a.txt").read_text() == "one\ntwo\nthree\n"


ODD = "printf 'import os; os.system(\"id\")\\n#' > {0}; for i in $(seq 60); do printf '\\001\\377' >> {0}; done"


def test_code_with_many_odd_bytes_is_shown(who, folder):
    """A comment full of control characters makes no file binary, be the file new, or empty before."""
    (folder / "empty.py").write_text("")
    who.own(folder / "empty.py")
    found = changes(bash(who, folder, ODD.format("new.py") + ";" + ODD.format("empty.py"), "--diff"))
    for name in ("new.py", "empty.py"):
        change = found[name]
        assert '+import os; os.system("id")\n+#\\x01\\xff' in change["diff"] and not change["is_binary"] and change["hidden_bytes"] == 0, change


def test_new_content_that_is_not_shown_is_not_applied_blindly(who, folder):
    for name in ("empty", "old"):
        (folder / name).write_bytes(b"" if name == "empty" else b"\0\0\0")
        who.own(folder / name)
    code = "for f in new empty old; do printf 'id\\n\\0\\0\\0' > $f; done"
    answer = bash(who, folder, code, "--diff")
    for name in ("new", "empty", "old"):
        change = changes(answer)[name]
        assert change["not_shown"] == "binary" and change["hidden_bytes"] == change["size"] + change["old_size"], change
    answer = bash(who, folder, code, "--apply")
    assert answer.code != 0 and not (folder / "new").exists() and (folder / "empty").read_bytes() == b"", answer
    answer = bash(who, folder, "rm old", "--apply")
    assert answer.status == "success" and not (folder / "old").exists(), "a deleted file writes nothing"


HOSTILE = {
    "a link that leads out": ("ln -s /etc/passwd out", "out", "leads_out"),
    "a link that leads up": ("mkdir d; ln -s ../../x d/up", "d/up", "leads_out"),
    "a link up behind a name": ("ln -s sub/../../x up", "up", "leads_out"),
    "a FIFO": ("mkfifo ff", "ff", "special"),
    "a newline in a name": ("touch $'new\\nline'", "new\\x0aline", "odd_name"),
    "a name that is no text": ("touch $'b\\xffd'", "b\\xffd", "odd_name"),
    "start-up files of shells": ("echo evil > .bashrc", ".bashrc", "protected"),
    "in any case": ("echo evil > .BashRC", ".BashRC", "protected"),
    "settings of an agent": ("mkdir .claude; echo evil > .claude/settings.json", ".claude/settings.json", "protected"),
    "the same further down": ("mkdir -p p/.vscode; echo evil > p/.vscode/tasks.json", "p/.vscode/tasks.json", "protected"),
    "hooks of a new repository": ("mkdir -p r/x/hooks; echo evil > r/x/hooks/pre-commit; mv r/x r/.git", "r/.git/hooks/pre-commit", "protected"),
    "a repository by a link": ("mkdir -p g/hooks; echo evil > g/hooks/pre-commit; mkdir w; ln -s ../g w/.git", "w/.git", "protected"),
    "a repository by a file": ("mkdir w; echo 'gitdir: ../g' > w/.git", "w/.git", "protected"),
    "settings of a worktree": ("echo evil > .git/config.worktree", ".git/config.worktree", "protected"),
    "a repository without a name": ("mkdir -p b/objects b/refs; echo 'ref: refs/heads/x' > b/HEAD; echo evil > b/config", "b/HEAD", "protected"),
    "settings by a link": ("mkdir -p c/git; echo evil > c/git/config; ln -s c .config", ".config", "protected"),
    "a file nobody may read": ("echo x > closed; chmod 0 closed", "closed", "unreadable"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_never_applied(who, folder, what):
    code, name, reason = HOSTILE[what]
    answer = bash(who, folder, f"{code}; echo fine > fine", "--apply")
    assert "applied" in answer.json, answer
    skipped = {s["path"].split("/cow-", 1)[1].split("/", 1)[1]: s["reason"] for s in answer.json["applied"]["skipped"]}
    assert skipped.get(name) == reason, answer
    assert answer.code == 125 and (folder / "fine").read_text() == "fine\n"
    real = name.encode().decode("unicode_escape").encode("latin-1")
    assert not os.path.lexists(os.path.join(os.fsencode(folder), real))
    assert (folder / ".git/hooks/pre-commit").read_text() == "mine\n"


def test_what_cannot_be_made_in_the_layer(who, folder):
    """Marks of the overlay itself, devices, set-id bits. Protected files change in the layer, and not on the disk."""
    code = (
        "import os, stat\n"
        f"os.chdir('{folder}')\n"
        "def attempt(name, f):\n"
        "    try: f(); print(name, 'done')\n"
        "    except OSError as e: print(name, 'refused')\n"
        "attempt('whiteout', lambda: os.mknod('w', stat.S_IFCHR | 0o600, os.makedev(0, 0)))\n"
        "attempt('device', lambda: os.mknod('d', stat.S_IFCHR | 0o600, os.makedev(1, 5)))\n"
        "attempt('setuid', lambda: os.chmod('a.txt', 0o4755))\n"
        "attempt('hook', lambda: open('.git/hooks/pre-commit', 'w'))\n"
        "attempt('config', lambda: os.unlink('.git/config'))\n"
        "attempt('git', lambda: os.rename('.git', 'old'))\n"
        "attempt('tree', lambda: os.rename('sub', 'sub2'))\n"
        "for name in ('user.overlay.opaque', 'user.overlay.redirect', 'trusted.overlay.opaque', 'user.overlay.metacopy'):\n"
        "    attempt(name, lambda: os.setxattr('sub', name, b'y'))\n"
        "print(sorted(os.listdir('sub')), os.path.exists('/workspace/cow0'), os.path.exists('/workspace/upper'))\n"
    )
    before = tree(folder)
    answer = who.run(code, "--allow", f"{folder}:cow", "--apply")
    lines = dict(line.rsplit(" ", 1) for line in answer.json["stdout"].splitlines()[:-1])
    for name in ("whiteout", "device", "setuid"):
        assert lines[name] == "refused", answer
    assert {k: v for k, v in tree(folder).items() if k.startswith(b".git")} == {k: v for k, v in before.items() if k.startswith(b".git")}, answer
    assert answer.json["stdout"].splitlines()[-1] == "['b.txt', 'deep'] False False" or lines["tree"] == "done", answer
    if lines["tree"] == "refused":
        assert tree(folder) == before, answer


def test_a_directory_is_moved_by_copying_and_applied_as_it_is(who, folder):
    answer = bash(who, folder, "mv sub moved && ls moved", "--apply")
    assert answer.json["stdout"] == "b.txt\ndeep\n" and answer.json["applied"]["skipped"] == [], answer
    assert not (folder / "sub").exists() and (folder / "moved/deep/c.txt").read_text() == "c\n"


def test_other_grants_are_what_they_were(who, folder):
    other = who.directory("cow-other-" + secrets.token_hex(4))
    answer = who.run(f"open('{folder}/a.txt', 'w').write('x'); open('{other}/f', 'w').write('x')", "--allow", f"{folder}:cow", "--allow", f"{other}:rw")
    assert answer.status == "success" and (other / "f").exists() and (folder / "a.txt").read_text() == "one\ntwo\nthree\n", answer
    answer = who.run(f"open('{folder}/sub/x', 'w').write('x'); open('{folder}/a.txt', 'w').write('x')", "--allow", f"{folder}:cow", "--allow", f"{folder}/sub:rw")
    assert answer.status == "success" and (folder / "sub/x").exists() and (folder / "a.txt").read_text() == "one\ntwo\nthree\n", answer


def test_the_layer_counts_against_the_disk(who, folder):
    answer = bash(who, folder, "head -c 20000000 /dev/zero > big || echo full; rm -f big; echo ok > small && cat small", "--disk", "4")
    assert "full\nok\n" in answer.json["stdout"], answer


def test_a_thousand_files_and_a_deep_tree(who, folder):
    code = f"import os\nos.chdir('{folder}')\nfor i in range(1000): open(f'f{{i:04}}', 'w').write(str(i))\nos.makedirs('/'.join(['d'] * 100))\n"
    answer = who.run(code, "--allow", f"{folder}:cow")
    found = changes(answer)
    assert found["f0999"]["size"] == 3, answer.err
    answer = who.run(code, "--allow", f"{folder}:cow", "--apply")
    assert answer.code == 65 and not (folder / "f0000").exists(), "too deep to be looked at: nothing is applied"


@pytest.mark.parametrize("words", [["--apply"], ["--diff"]])
def test_a_server_does_not_take_it(who, words):
    answer = who.call("run", "-c", "1", "--session", "x", *words)
    assert answer.code == 64 and b"`belljar session diff`" in answer.err, answer


@pytest.mark.parametrize("word", ["--apply", "--diff"])
def test_without_such_a_directory_it_is_a_mistake(who, folder, word):
    answer = who.call("run", "-c", "1", "--allow", f"{folder}:rw", word)
    assert answer.code == 64 and f"{word} is for directories granted with :cow".encode() in answer.err, answer


def test_the_shell_reviews_and_applies_changes(who, folder):
    (folder / "kept.txt").write_text("old\n")
    who.own(folder / "kept.txt")
    cells = f"_ = open('{folder}/kept.txt', 'w').write('new\\n')\n_ = open('{folder}/more.txt', 'w').write('x')\n"
    answer = who.call("shell", "--allow", f"{folder}:cow", input=(cells + ":changes\n").encode())
    assert "+new" in answer.text and "belljar: 2 changes were not applied" in answer.errors, answer
    assert (folder / "kept.txt").read_text() == "old\n" and not (folder / "more.txt").exists()
    answer = who.call("shell", "--allow", f"{folder}:cow", input=(cells + ":changes\n:apply\n").encode())
    assert "not applied" not in answer.errors and (folder / "kept.txt").read_text() == "new\n", answer
    assert (folder / "more.txt").read_text() == "x"


def test_leaving_the_shell_warns_of_changes_once(who, folder):
    with prompt.Prompt(who, "--allow", f"{folder}:cow") as p:
        p.wait(">>> ")
        p.line(f"open('{folder}/new.txt', 'w').close()")
        p.wait(">>> ")
        p.type(prompt.CONTROL_D)
        p.wait("1 change is not on disk")
        p.wait(">>> ")
        p.line("1 + 1")
        p.wait("2\r\n")
        p.wait(">>> ")
        p.line("exit()")
        p.wait("1 change is not on disk")
        p.wait(">>> ")
        p.type(prompt.CONTROL_D)
        assert p.end() == 0
    assert not (folder / "new.txt").exists()


def test_too_many(who, folder):
    words = []
    for i in range(9):
        (folder / f"g{i}").mkdir()
        who.own(folder / f"g{i}")
        words += ["--allow", f"{folder}/g{i}:cow"]
    answer = who.run("print(1)", *words)
    assert answer.code == 65 and b"at most 8 directories" in answer.err, answer
    answer = who.run("print(1)", *words[2:])
    assert answer.status == "success", answer


def test_where_it_cannot_be_done_it_is_refused(callers, base):
    """A directory on an overlay, as in a container, has no idmapped mounts: nothing is granted in another way instead."""
    if "root" not in callers:
        pytest.skip("needs root, to mount an overlay")
    root = callers["root"]
    place = root.directory("cow-" + secrets.token_hex(4))
    for name in ("lower", "upper", "work", "merged"):
        (place / name).mkdir()
    (place / "lower" / "f").write_text("f\n")
    script = f"mount -t overlay o -o lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work {place}/merged && exec \"$@\""
    answer = root.run(f"print(open('{place}/merged/f').read())", "--allow", f"{place}/merged:cow", wrapper=["unshare", "-m", "sh", "-c", script, "sh"])
    assert answer.code == 125 and answer.json["error"]["code"] == "unsupported" and "idmapped" in answer.json["error"]["hint"], answer
    assert "f\n" not in answer.json.get("stdout", ""), answer
