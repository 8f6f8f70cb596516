"""`belljar doctor --prove` on a small corpus of its own: what is contained, what is a breach, what is merely unexpected."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import belljar
import corpus
import host

HEAD = "# id: {id}\n# category: {category}\n# profile: {profile}\n# threat: a test of the tests\n# expect: {expect}\n"


@pytest.fixture
def checkout(base, who):
    """A copy of the programs beside an empty corpus, as in a checkout."""
    root = os.path.join(base, f"prove-{who.name}")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(os.path.join(root, "build"))
    for name in ("belljar", "belljar-zygote"):
        shutil.copy2(belljar.program_path().parent / name, os.path.join(root, "build", name))
    shutil.copytree(belljar.ROOT / "policies", os.path.join(root, "policies"))
    os.makedirs(os.path.join(root, "tests", "escape", "corpus"))
    return root


def add(checkout, name, body, expect="success", profile="open", more=""):
    category, file = name.split("/")
    folder = os.path.join(checkout, "tests", "escape", "corpus", category)
    os.makedirs(folder, exist_ok=True)
    head = HEAD.format(id=f"{category}-{file.split('.')[0]}", category=category, profile=profile, expect=expect)
    with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
        f.write(head + more + body)


def prove(who, checkout, *options):
    watch = host.Watch(private=[who.home / "runtime", who.home / "tmp"], uids=[belljar.USER_UID])
    p = subprocess.run(
        [os.path.join(checkout, "build", "belljar"), "doctor", "--prove", *options],
        env=who.environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=300, **who.identity(),
    )  # fmt: skip
    assert not watch.leftovers(), watch.leftovers()
    text = p.stdout.decode()
    totals = re.search(r"(\d+) programs: (\d+) contained, (\d+) breaches, (\d+) unexpected", text)
    assert totals, (text, p.stderr)
    return p.returncode, tuple(map(int, totals.groups())), text


def line(text, program):
    return [l for l in text.splitlines() if l.startswith(program + " ")][0]


def test_contained_programs_pass(who, checkout):
    for name in ("files/absolute-path.py", "network/tcp-connect.py", "process/child-holds-pipe.sh", "cross/random-state.py", "policy/nul-byte.py"):
        folder = os.path.join(checkout, "tests", "escape", "corpus", name.split("/")[0])
        os.makedirs(folder, exist_ok=True)
        shutil.copy(corpus.CORPUS / name, folder)
    code, totals, text = prove(who, checkout)
    assert totals == (5, 5, 0, 0) and code == 0, text


def test_a_program_that_gets_out_is_a_breach(who, checkout):
    add(checkout, "test/marker.py", "print('ESC' + 'APED:')\n")
    add(checkout, "test/forbidden.py", "print('se' + 'same')\n", more="# forbid: sesame\n")
    add(checkout, "test/alike.py", "print('the same')\n", more="# runs: 2\n# differ: stdout\n")
    add(checkout, "test/fine.py", "print('fine')\n", more="# require: fine\n")
    code, totals, text = prove(who, checkout)
    assert totals == (4, 1, 3, 0), text
    assert code == 1, text
    for name in ("test-marker", "test-forbidden", "test-alike"):
        assert "BREACH" in line(text, name), text


def test_another_end_than_promised_is_told(who, checkout):
    add(checkout, "test/status.py", "raise SystemExit(3)\n")
    add(checkout, "test/missing.py", "print('something else')\n", more="# require: fine\n")
    _, totals, text = prove(who, checkout)
    assert totals == (2, 0, 0, 2), text
    assert "unexpected" in line(text, "test-status") and "unexpected" in line(text, "test-missing"), text


def test_limits_and_placeholders_are_those_of_the_suite(who, checkout):
    add(checkout, "test/limit.py", "while True: pass\n", expect="timeout", more="# limits: timeout=1 memory=128 pids=20\n")
    add(checkout, "test/times.py", "x = '@TIMES 5 ab@'\nassert x == 'ab' * 5 and @TCP_PORT@ > 0 and '@CANARY_FILE@'[0] == '/'\nprint('filled in')\n", more="# require: filled in\n")
    code, totals, text = prove(who, checkout)
    assert totals == (2, 2, 0, 0) and code == 0, text


def test_a_missing_cgroup_excuses_another_end_and_nothing_that_got_out(who, checkout):
    """Outside of a cgroup, which is what an ordinary user has, and with the word of one in the program's own output."""
    more = "# needs: cgroup\n"
    add(checkout, "test/gap.py", "print('cgroup-v2', '\"cgroup-v2\"')\nraise SystemExit(3)\n", more=more)
    add(checkout, "test/out.py", "print('ESC' + 'APED:')\nraise SystemExit(3)\n", more=more)
    has_cgroup = {"cgroup-v1", "cgroup-v2"} & set(who.run("print(1)").json["layers"])
    code, totals, text = prove(who, checkout)
    assert "BREACH" in line(text, "test-out") and code == 1, text
    assert ("unexpected" if has_cgroup else "known gap") in line(text, "test-gap"), text
    assert totals == (2, 0, 1, 1 if has_cgroup else 0), text


def test_only_the_weaker_level_excuses_what_it_does_not_cover(who, checkout):
    add(checkout, "test/known.py", "print('ESC' + 'APED:')\n", more="# uncovered: a fact of the host\n")
    add(checkout, "test/other.py", "raise SystemExit(3)\n", more="# process: names a path\n")
    add(checkout, "test/marker.py", "print('ESC' + 'APED:')\n", more="# process: names a path\n")
    add(checkout, "test/unknown.py", "raise SystemExit(3)\n")
    code, totals, text = prove(who, checkout, "--isolation", "process")
    assert code == 1 and totals[2:] == (1, 1), text
    assert "known gap: a fact of the host" in line(text, "test-known") and "known gap: names a path" in line(text, "test-other"), text
    assert "BREACH" in line(text, "test-marker") and "unexpected" in line(text, "test-unknown"), text
    # In namespaces nothing excuses a program.
    code, totals, text = prove(who, checkout)
    assert code == 1 and totals[2:] == (2, 2), text


def test_a_program_that_cannot_fail_is_refused(who, checkout):
    add(checkout, "test/anything.py", "print('fine')\n", expect="success error")
    p = subprocess.run(
        [os.path.join(checkout, "build", "belljar"), "doctor", "--prove"],
        env=who.environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=belljar.HANG_SECONDS, **who.identity(),
    )  # fmt: skip
    assert p.returncode != 0 and b"cannot fail" in p.stderr, p


def test_without_a_corpus_it_says_so(who, checkout):
    p = subprocess.run(
        [os.path.join(checkout, "build", "belljar"), "doctor", "--prove"],
        env=who.environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=belljar.HANG_SECONDS, **who.identity(),
    )  # fmt: skip
    assert p.returncode != 0 and b"escape programs" in p.stderr, p


def bait_of(pid):
    """The directory whose socket this process listens on, or None."""
    links = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.add(os.readlink(entry.path))
    with open("/proc/net/unix", encoding="utf-8") as file:
        for row in file.read().splitlines()[1:]:
            words = row.split()
            if len(words) == 8 and "/bjcanary-" in words[7] and f"socket:[{words[6]}]" in links:
                return os.path.dirname(words[7])
    return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_it_takes_its_bait_along(who, checkout, number):
    add(checkout, "resource/sleep.py", "print('@CANARY_DIR@')\nimport time; time.sleep(100)\n", expect="timeout", more="# limits: timeout=60\n")
    watch = host.Watch(private=[who.home / "runtime", who.home / "tmp"], uids=[belljar.USER_UID])
    process = subprocess.Popen(
        [os.path.join(checkout, "build", "belljar"), "doctor", "--prove"],
        env=who.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **who.identity(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where the tests run in the background
    )  # fmt: skip
    deadline = time.monotonic() + 60
    bait = None
    while not bait or not os.path.exists(bait) or not children(process.pid):
        assert time.monotonic() < deadline and process.poll() is None, process.stderr.read()
        time.sleep(0.02)
        bait = bait_of(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == -number, errors
    assert not os.path.exists(bait)
    assert not watch.leftovers(), watch.leftovers()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return file.read().split()


def test_every_read_only_grant_of_the_settings_is_attacked(who, checkout):
    """Ours may be destroyed; in those of the settings nothing is there to lose, and nothing changes."""
    mine = who.directory("mine")
    (mine / "file").write_text("mine")
    writable = who.directory("writable")
    folder = os.path.join(checkout, "tests", "escape", "corpus", "files")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(corpus.CORPUS / "files" / "readonly-grant.py", folder)
    settings = who.file("prove.toml", f'allow = ["{mine}", "{writable}:rw", "{mine}-not-there"]\n')
    p = subprocess.run([os.path.join(checkout, "build", "belljar"), "doctor", "--prove", "--json", "--config", str(settings)],
                       env=who.environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=300, **who.identity())  # fmt: skip
    assert json.loads(p.stdout)["proof"] == {"contained": 1, "breaches": 0, "unexpected": 0, "known_gaps": 0, "grants": 2}, (p.stdout[-500:], p.stderr)
    grants = [l for l in p.stderr.decode().splitlines() if l.startswith("read-only grants attacked: ")]
    assert grants and grants[0].endswith(f", {mine}"), p.stderr
    assert os.listdir(mine) == ["file"] and (mine / "file").read_text() == "mine" and not os.listdir(writable)


def test_a_written_grant_is_a_breach(who, checkout):
    """The program reports a breach if its directory can be written: here by a grant for writing."""
    there = who.directory("written")
    (there / "kept.txt").write_text("kept\n")
    there.chmod(0o777)
    text = (corpus.CORPUS / "files" / "readonly-grant.py").read_text().replace("@GRANTS@", json.dumps([str(there)]))
    answer = who.call("run", "--json", "--profile", "open", "--allow", f"{there}:rw", who.file("grant.py", text))
    assert "ESCAPED:" in answer.json["stdout"], answer
