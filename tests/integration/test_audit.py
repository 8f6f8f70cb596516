"""The audit trail as people and machines meet it: what is written, what is found, what happens when it cannot be."""
import base64
import concurrent.futures
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import host
import mcp
from serving import Server, wait_until

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def place(who, tmp_path_factory):
    """A state directory of its own."""
    path = who.home / f"state-{random.getrandbits(48):x}"
    path.mkdir(mode=0o700)
    who.own(path)
    return path


@pytest.fixture
def audited(who, place):
    return Audited(who, place)


class Audited:
    def __init__(self, who, place):
        self.who = who
        self.state = place
        self.trail = place / "belljar" / "trail"
        self.env = {"XDG_STATE_HOME": str(place)}

    def run(self, code, *args, env=None, **more):
        return self.who.run(code, *args, env={**self.env, **(env or {})}, **more)

    def audit(self, *args, **more):
        return self.who.call("audit", *args, env=self.env, **more)

    def records(self):
        lines = b"".join(file.read_bytes() for file in sorted(self.trail.glob("*.jsonl")))
        return [json.loads(line) for line in lines.splitlines()]

    def verify(self):
        return self.audit("verify")

    def settled(self):
        """`belljar run` leaves the last signature to a child."""
        wait_until(lambda: "not signed" not in self.verify().text, "the head is signed")


def test_verify_says_whether_the_trail_is_valid(audited):
    audited.run("1")
    answer = audited.verify()
    assert answer.code == 0 and answer.text.startswith("valid: 3 records, 1 file, "), answer
    file = next(audited.trail.glob("*.jsonl"))
    file.write_bytes(file.read_bytes().replace(b'"exit_code":0', b'"exit_code":1'))
    answer = audited.verify()
    assert answer.code == 1 and "NOT VALID: " in answer.text and "valid: 3" not in answer.text, answer


def of_kind(records, kind):
    return [r for r in records if r["kind"] == kind]


@pytest.mark.smoke
def test_a_run_is_written_down_twice(audited):
    answer = audited.run(f"print('hello'); print({TOKEN!r}); 6*7", "--timeout", "30").json
    records = audited.records()
    assert [r["kind"] for r in records] == ["begin", "start", "run"]
    start, run = records[1:]
    assert start["id"] == run["id"] == answer["id"]
    assert start["code"]["text"] == "print('hello'); print('[REDACTED_GITHUB_TOKEN]'); 6*7"
    assert start["limits"]["timeout_ms"] == 30000 and start["profile"] == "open"
    assert run["status"] == "success" and run["exit_code"] == 0 and run["owner"] == "local"
    assert run["layers"] == answer["layers"] and run["masked"] == answer["masked"]
    assert "text" not in run["stdout"] and run["stdout"]["bytes"] == len(answer["stdout"])
    assert audited.verify().code == 0


def test_nothing_of_a_secret_is_stored(audited):
    code = f"import sys; t={TOKEN!r}; print(t); print(t, file=sys.stderr); result=t; raise ValueError(t)"
    audited.run(code, "--env", f"SECRET_TOKEN={TOKEN}", env={"BELLJAR_TRAIL_KEEP": "all", "BELLJAR_MASKING": "no"})
    audited.audit("list")
    for file in audited.trail.iterdir():
        assert TOKEN.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("keep", ["none", "code", "all"])
def test_what_is_kept_is_the_operators_choice(audited, keep):
    stdin = audited.who.file("input.txt", "the input")
    audited.run("print(input()*2); 'the value'", "--stdin", stdin, "--env", "COLOUR=blue", env={"BELLJAR_TRAIL_KEEP": keep})
    start, run = audited.records()[1:]
    assert ("text" in start["code"]) == (keep != "none")
    assert start["stdin"]["bytes"] == 9
    assert start["stdin"].get("text") == ("the input" if keep == "all" else None)
    assert run["stdout"].get("text") == ("the inputthe input\n" if keep == "all" else None)
    assert run["result"].get("text") == ("'the value'" if keep == "all" else None)
    assert start["env"] == (["COLOUR=blue"] if keep == "all" else ["COLOUR"])


def test_a_nul_in_what_is_kept_hides_no_run(audited):
    stdin = audited.who.file("input.txt", "in\0put")
    audited.run("print('out\\0put'); 'val\\0ue'", "--stdin", stdin, env={"BELLJAR_TRAIL_KEEP": "all"})
    (start, run) = audited.records()[1:]
    assert start["stdin"]["text"] == "in\0put" and run["stdout"]["text"] == "out\0put\n"
    assert run["id"] in audited.audit("list").text
    shown = audited.audit("show", run["id"])
    assert shown.code == 0 and "--- stdout ---" in shown.text and "\0" not in shown.text


def test_the_operator_may_do_without(audited):
    assert audited.run("print(1)", env={"BELLJAR_TRAIL": "off"}).code == 0
    assert not audited.trail.exists()
    answer = audited.run("print(1)", "--receipt", env={"BELLJAR_TRAIL": "off"})
    assert answer.code == 125 and "a receipt needs the trail" in answer.errors
    answer = audited.verify()
    assert answer.code == 66 and "there is no trail" in answer.errors


def test_everything_is_for_its_user_alone(audited):
    audited.run("print(1)")
    audited.audit("list")
    assert audited.trail.stat().st_mode & 0o7777 == 0o700
    files = [audited.state / "belljar" / "trail-key.pem", *audited.trail.iterdir()]
    assert len(files) >= 4
    for file in files:
        assert file.stat().st_mode & 0o7777 == 0o600, file


def test_a_trail_elsewhere_has_a_key_of_its_own(audited):
    audited.run("print(1)")
    elsewhere = {"BELLJAR_TRAIL_DIR": str(audited.state / "elsewhere")}
    answer = audited.run("print(2)", env=elsewhere)
    assert answer.code == 0 and answer.errors == ""
    assert len(list((audited.state / "belljar").glob("trail-key*.pem"))) == 2
    answer = audited.who.call("audit", "verify", env={**audited.env, **elsewhere})
    assert answer.code == 0 and "3 records" in answer.text


def test_every_status_is_found(audited):
    audited.run("print(1)")
    audited.run("1/0")
    audited.run("import subprocess", profile="strict")
    audited.run("while True: pass", "--timeout", "1")
    for status in ("success", "error", "refused", "timeout"):
        rows = audited.audit("list", "--status", status).text.splitlines()
        assert len(rows) == 1 and status in rows[0], status
    refused = of_kind(audited.records(), "run")[2]
    assert refused["violations"] == [{"rule": "import", "name": "subprocess", "line": 1}]


# --- asking ---


def test_a_list_is_read_by_a_person(audited):
    audited.run("# a comment\nprint('two words')")
    answer = audited.audit("list")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  #1 +begin\n"
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  run_\w{26}  run      success  +\d+\.\d ms  local  # a comment\n",
        answer.text,
    ), answer.text
    assert answer.errors == ""


def test_filters_narrow_it(audited):
    audited.run("print('needle')")
    audited.run("print('straw \"quoted\"')")
    rows = lambda *a: audited.audit("list", "--kind", "run", *a).text.splitlines()  # noqa: E731
    assert len(rows()) == 2
    assert len(rows("--text", "NEEDLE")) == 1
    assert len(rows("--text", 'straw "quoted"')) == 1
    assert len(rows("--text", "nothing of it")) == 0
    assert len(rows("--owner", "local")) == 2 and len(rows("--owner", "ann")) == 0
    assert len(rows("--since", "1h")) == 2 and len(rows("--until", "1h")) == 0
    assert len(rows("--since", "2020-01-01")) == 2 and len(rows("--until", "2020-01-01T12:00")) == 0
    assert len(rows("--limit", "1")) == 1 and "straw" in rows("--limit", "1")[0]
    assert audited.audit("list", "--since", "yesterday").code == 64
    answer = audited.audit("list", "--status", "nonsense")
    assert answer.code == 64 and "unknown status `nonsense`" in answer.errors and "timeout" in answer.errors, answer
    for flag, word, meant in (("--kind", "runs", "run"), ("--status", "sucess", "success")):
        answer = audited.audit("list", flag, word)
        assert answer.code == 64 and f"did you mean `{meant}`?" in answer.errors, answer


def test_a_run_is_shown_with_its_program(audited):
    run = audited.run("print('hello')\nprint('you')").json["id"]
    shown = audited.audit("show", run).text
    assert "--- code ---\nprint('hello')\nprint('you')\n" in shown
    assert re.search(r"^  status +success$", shown, re.MULTILINE)
    assert [r["kind"] for r in map(json.loads, audited.audit("show", run, "--json").text.splitlines())] == ["start", "run"]
    assert audited.audit("show", run[-6:].lower()).text == shown
    several = audited.run("print(2)").json["id"]
    answer = audited.audit("show", "run_")
    assert answer.code == 64 and "fits several ids" in answer.errors and several in answer.errors, answer
    answer = audited.audit("show", "run_nobody")
    assert answer.code == 66 and "no record of `run_nobody`" in answer.errors


def test_control_characters_do_not_reach_the_terminal(audited):
    run = audited.run("'\x1b]0;title\x07' and print(1)").json["id"]
    assert b"\x1b" not in audited.audit("list").out + audited.audit("show", run).out


def test_an_index_is_made_anew_when_it_is_damaged_or_does_not_fit(audited):
    audited.run("print('first')")
    assert "first" in audited.audit("list").text
    (audited.trail / "index.sqlite").write_bytes(b"no database" * 1000)
    assert "first" in audited.audit("list").text
    [file] = audited.trail.glob("*.jsonl")
    text = file.read_bytes()
    audited.run("print('second')")
    assert "second" in audited.audit("list").text
    file.write_bytes(text)
    assert "second" not in audited.audit("list").text


def test_export_is_the_trail_itself(audited):
    audited.run("print(1)")
    audited.run("print(2)")
    exported = audited.audit("export").out
    assert exported == b"".join(f.read_bytes() for f in sorted(audited.trail.glob("*.jsonl")))


def test_follow_tells_as_it_is_written(audited):
    audited.run("print('before')")
    process = audited.who.start("audit", "follow", "--json", env=audited.env)
    try:
        seen = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert [r["kind"] for r in seen] == ["begin", "start", "run"]
        audited.run("print('while')")
        seen = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert [r["seq"] for r in seen] == [4, 5]
    finally:
        process.terminate()
        process.communicate()


# --- receipts ---


def test_a_receipt_is_checked_by_anybody(audited, tmp_path):
    answer = audited.run("print(2)", "--receipt")
    result = audited.who.file("result.json", answer.out)
    key = audited.who.file("key.pem", audited.audit("key").out)
    checked = audited.audit("check-receipt", result)
    assert checked.code == 0 and f"genuine: {answer.json['id']} ended with `success`" in checked.text
    # Elsewhere: another state directory, and only the public key.
    elsewhere = audited.who.call("audit", "check-receipt", result, "--key", key, env={"XDG_STATE_HOME": str(audited.who.home / "state")})
    assert elsewhere.code == 0
    # Without Belljar.
    receipt = answer.json["receipt"]
    text = f"belljar receipt v{receipt['version']}\n" + "".join(f"{k}={v}\n" for k, v in receipt.items() if k not in ("version", "signature"))
    (tmp_path / "text").write_text(text)
    (tmp_path / "signature").write_bytes(__import__("base64").b64decode(receipt["signature"]))
    subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", tmp_path / "text", "-sigfile", tmp_path / "signature"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_receipt_that_is_not_there(audited):
    assert audited.run("1").code == 0
    answer = audited.audit("check-receipt", "no-such-file")
    assert answer.code == 66 and "hint: check the name" in answer.errors, answer


def test_a_changed_receipt_is_not_genuine(audited):
    receipt = audited.run("print(2)", "--receipt").json["receipt"]
    for field in receipt.keys() - {"version"}:
        changed = dict(receipt, **{field: receipt[field][:-1] + ("1" if receipt[field][-1] != "1" else "2")})
        answer = audited.audit("check-receipt", audited.who.file("changed.json", json.dumps(changed)))
        assert answer.code == 1 and answer.text.startswith("NOT GENUINE"), field
    answer = audited.audit("check-receipt", audited.who.file("more.json", json.dumps(dict(receipt, more="x"))))
    assert answer.code == 64 and "it contains unsigned fields" in answer.errors


def test_a_result_has_to_be_the_one_of_its_receipt(audited):
    result = audited.run("import sys; print('out'); print('err', file=sys.stderr); 6*7", "--receipt").json
    assert result["result"]["text"] == "42"
    changes = {"id": "run_other", "status": "error", "stdout": "other\n", "stderr": "", "result": {"text": "43", "json": 43}}
    for field, value in changes.items():
        answer = audited.audit("check-receipt", audited.who.file("changed.json", json.dumps({**result, field: value})))
        assert answer.code == 1 and "NOT GENUINE" in answer.text, field
    assert audited.audit("check-receipt", audited.who.file("same.json", json.dumps(result))).code == 0


def test_what_was_shown_is_signed_for(audited):
    code = (
        "from belljar import display\n"
        "display({'text/html': '<b>ä</b>', 'text/plain': 'b'}, raw=True)\n"
        "display({'application/json': {'b': [1, 2.5, None], 'a': 'x'}}, raw=True)\n"
        "display({'image/png': b'\\x89PNG\\r\\n\\x1a\\n\\0\\1\\2'}, raw=True)\n"
    )
    result = audited.run(code, "--receipt").json
    shown = result["displays"]
    assert [entry["mime"] for entry in shown] == ["text/html", "text/plain", "application/json", "image/png"], result
    # Without Belljar, as the guide says.
    lines = ""
    for entry in shown:
        data = entry["data"]
        if entry.get("encoding") == "base64":
            data = base64.b64decode(data)
        else:
            data = (data if isinstance(data, str) else json.dumps(data, separators=(",", ":"), sort_keys=True)).encode()
        lines += f"{entry['bundle']} {entry['mime']} {hashlib.sha256(data).hexdigest()}\n"
    assert hashlib.sha256(lines.encode()).hexdigest() == result["receipt"]["displays_sha256"]

    def check(displays):
        return audited.audit("check-receipt", audited.who.file("shown.json", json.dumps({**result, "displays": displays})))

    assert check(shown).code == 0
    changes = [[], shown[:-1], shown[::-1], shown + shown[:1], None, [1], [{}]]
    for i, entry in enumerate(shown):
        for field, value in {"data": "AAAA", "mime": "text/css", "bundle": 9}.items():
            changes.append(shown[:i] + [{**entry, field: value}] + shown[i + 1:])
    for displays in changes:
        answer = check(displays)
        assert answer.code == 1 and "`displays` of the result does not match the signature" in answer.text, displays
    # Pictures are large; a result that was kept without them is still the one.
    kept = {name: value for name, value in result.items() if name != "displays"}
    assert audited.audit("check-receipt", audited.who.file("kept.json", json.dumps(kept))).code == 0


def test_a_receipt_is_a_witness(audited):
    audited.run("print(1)")
    audited.settled()
    before = {file: file.read_bytes() for file in audited.trail.glob("*.json*")}
    receipt = audited.who.file("receipt.json", audited.run("print(2)", "--receipt").out)
    audited.settled()
    assert audited.audit("verify", "--against", receipt).code == 0
    for file, data in before.items():
        file.write_bytes(data)
    assert audited.verify().code == 0
    answer = audited.audit("verify", "--against", receipt)
    assert answer.code == 1 and "known from elsewhere" in answer.text

# --- old files ---


def test_old_files_go_and_it_is_told(audited):
    limits = {"BELLJAR_TRAIL_FILE_MB": "1", "BELLJAR_TRAIL_MAX_MB": "2", "BELLJAR_TRAIL_KEEP": "all"}
    first = audited.run("print(1)", env=limits).json["id"]
    for _ in range(5):
        audited.run("print('x' * 700_000)", env=limits)
    audited.settled()
    assert sum(file.stat().st_size for file in audited.trail.glob("*.jsonl")) < 4 << 20
    answer = audited.verify()
    assert answer.code == 0 and "those before were removed on purpose" in answer.text
    # Kept records are found, deleted ones are not.
    assert audited.audit("show", first).code == 66
    assert of_kind(audited.records(), "pruned")[-1]["reason"] == "size"
    assert "pruned" in audited.audit("list", "--kind", "pruned").text
    sorted(audited.trail.glob("*.jsonl"))[0].unlink()
    answer = audited.verify()
    assert answer.code == 1 and "no record mentions their removal" in answer.text


# --- bad days ---


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_changed_is_found(audited, seed):
    for i in range(3):
        audited.run(f"print({i})")
    audited.settled()
    rnd = random.Random(seed)
    [file] = audited.trail.glob("*.jsonl")
    text = file.read_bytes()
    lines = text.splitlines(keepends=True)
    changes = []
    for _ in range(6):
        at = rnd.randrange(len(text))
        changes.append(text[:at] + bytes([text[at] ^ 1 << rnd.randrange(7)]) + text[at + 1 :])
        changes.append(text[: rnd.randrange(len(text))])
        a, b = rnd.sample(range(len(lines)), 2)
        changes.append(b"".join(lines[:a] + lines[a + 1 :]))
        swapped = list(lines)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        changes.append(b"".join(swapped))
        changes.append(b"".join(lines[:a] + [lines[b]] + lines[a:]))
    for changed in changes:
        file.write_bytes(changed)
        answer = audited.verify()
        assert answer.code == 1 and "PROBLEM" in answer.text, changed
    file.write_bytes(text)
    assert audited.verify().code == 0


def test_a_trail_that_cannot_be_written_lets_nothing_run(audited):
    audited.run("print(1)")
    if audited.who.name == "root":
        subprocess.run(["chattr", "+i", audited.trail / "0000000000000001.jsonl"], check=True)
        try:
            answer = audited.run("print('ran')")
        finally:
            subprocess.run(["chattr", "-i", audited.trail / "0000000000000001.jsonl"], check=True)
    else:
        audited.trail.chmod(0o500)
        (audited.trail / "0000000000000001.jsonl").chmod(0o400)
        answer = audited.run("print('ran')")
    assert answer.code == 125 and "ran" not in answer.text
    assert "the trail" in answer.errors and "hint:" in answer.errors


@pytest.fixture
def small_disk(audited):
    """A disk of half a megabyte for the state directory."""
    if os.getuid() != 0:
        pytest.skip("needs root, to mount a small file system")
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=512k,mode=700,uid={audited.who.uid},gid={audited.who.gid}", host.OWN_MOUNT, audited.state],
        check=True,
    )  # fmt: skip
    yield audited
    wait_until(lambda: subprocess.run(["umount", audited.state], stderr=subprocess.DEVNULL).returncode == 0, "umount")


def test_a_full_disk_refuses_runs_and_loses_none(small_disk):
    ran = []
    for i in range(40):
        answer = small_disk.run(f"# {'x' * 20000}\nprint({i})")
        if answer.code != 0:
            break
        ran.append(answer.json["id"])
    assert answer.code == 125 and "No space left" in answer.errors and "nothing runs unrecorded" in answer.errors
    assert 3 < len(ran) < 40
    assert [r["id"] for r in of_kind(small_disk.records(), "run") if r["status"] == "success"] == ran
    small_disk.settled()
    assert small_disk.verify().code == 0


def test_a_full_disk_refuses_runs_of_a_server_until_there_is_room(small_disk):
    server = Server(small_disk.who, env=small_disk.env)
    try:
        ballast = small_disk.state / "ballast"
        assert server.run("print(1)")["status"] == "success"
        ballast.write_bytes(b"\0" * 1)
        with ballast.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass
        ran = 0
        for _ in range(200):
            reply = server.post("/v1/run", {"code": f"# {'x' * 8000}\nprint(1)"})
            if reply.status != 200:
                break
            ran += 1
        assert reply.status == 500 and "nothing runs unrecorded" in reply.error["hint"], reply
        ballast.unlink()
        assert server.run("print(2)")["status"] == "success"
        assert len([r for r in of_kind(small_disk.records(), "run") if r["status"] == "success"]) == ran + 2
    finally:
        assert server.stop() == 0, server.said
    assert small_disk.verify().code == 0, small_disk.verify().text


def test_killed_at_any_moment_no_answered_run_is_lost(audited):
    """A server that is killed again and again while it answers."""
    answered, rnd = [], random.Random(1)

    def ask(server, stop):
        while time.monotonic() < stop:
            try:
                answered.append(server.run("print(1)")["id"])
            except OSError:
                return

    for _ in range(5):
        server = Server(audited.who, "--socket", "none", env=audited.env)
        stop = time.monotonic() + 20
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            tasks = [threads.submit(ask, server, stop) for _ in range(3)]
            before = len(answered)
            wait_until(lambda: len(answered) > before + 5, "some are answered")
            time.sleep(rnd.random() * 0.3)
            server.process.send_signal(signal.SIGKILL)
            server.process.communicate()
            for task in tasks:
                try:
                    task.result()
                except Exception:  # noqa: BLE001, the connection broke in the middle of an answer
                    pass
    audited.run("print('the last')")
    recorded = {r["id"] for r in of_kind(audited.records(), "run")}
    assert set(answered) <= recorded and len(answered) > 25
    audited.settled()
    answer = audited.verify()
    assert answer.code == 0, answer.text


def test_what_a_killed_process_left_is_tidied(audited):
    audited.run("print(1)")
    gone = subprocess.Popen(["true"])
    gone.wait()
    left, other = audited.trail / f"head.json.{gone.pid}.tmp", audited.trail / f"head.json.{os.getpid()}.tmp"
    left.write_text("x")
    other.write_text("x")
    audited.run("print(2)")
    assert not left.exists() and other.exists()


def test_a_torn_end_is_mended_and_told(audited):
    audited.run("print(1)")
    audited.settled()
    [file] = audited.trail.glob("*.jsonl")
    with file.open("ab") as f:
        f.write(b'{"v":1,"seq":4,"time":"2026')
    assert audited.verify().code == 1
    answer = audited.run("print(2)")
    assert answer.code == 0 and "the end of the trail was torn; 27 bytes were moved to " in answer.errors
    audited.settled()
    answer = audited.verify()
    assert answer.code == 0 and "note: " in answer.text and "a torn end was repaired" in answer.text
    [torn] = audited.trail.glob("torn-*")
    assert torn.read_bytes() == b'{"v":1,"seq":4,"time":"2026'


def test_a_cut_is_told_and_stays_known(audited):
    for i in range(3):
        audited.run(f"print({i})")
    audited.settled()
    [file] = audited.trail.glob("*.jsonl")
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-2]))
    assert "the end was cut off: 7 records were signed for" in audited.verify().text
    answer = audited.run("print('after')")
    assert answer.code == 0 and "it ended with record 5 where 7 were known" in answer.errors
    audited.settled()
    answer = audited.verify()
    assert answer.code == 1 and "records 6 to 7 are missing, which was noticed at" in answer.text


def test_processes_share_one_trail(audited):
    server = Server(audited.who, env=audited.env)
    try:
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            own = [threads.submit(audited.run, f"print({i})") for i in range(6)]
            theirs = [threads.submit(server.run, f"print({i})") for i in range(30)]
            ids = [t.result().json["id"] for t in own] + [t.result()["id"] for t in theirs]
    finally:
        assert server.stop() == 0, server.said
    assert {r["id"] for r in of_kind(audited.records(), "run")} == set(ids)
    audited.settled()
    answer = audited.verify()
    assert answer.code == 0, answer.text


def test_files_follow_one_another(audited):
    for i in range(4):
        program = audited.who.file("long.py", f"# {'x' * 400000}\nprint({i})")
        assert audited.run(None, program, env={"BELLJAR_TRAIL_FILE_MB": "1"}).code == 0
    audited.settled()
    assert len(list(audited.trail.glob("*.jsonl"))) == 2
    assert len(of_kind(audited.records(), "seal")) == 1
    assert audited.verify().code == 0
    assert len(audited.audit("list", "--kind", "run").text.splitlines()) == 4


# --- over HTTP ---


@pytest.fixture
def serving(audited):
    audited.server = Server(audited.who, env=audited.env)
    yield audited
    assert audited.server.stop() == 0, audited.server.said
    assert audited.verify().code == 0, audited.verify().text


def test_what_comes_over_http_is_written_down(serving):
    server = serving.server
    result = server.run("print(1)", correlation_id="order-66", receipt=True)
    run = of_kind(serving.records(), "run")[0]
    assert run["correlation_id"] == "order-66" and run["owner"] == "default"
    assert run["hash"] == result["receipt"]["record_sha256"]
    assert server.call("POST", "/v1/run", {"code": "1"}, {"Authorization": "Bearer wrong"}).status == 401
    records = serving.records()
    assert [r["event"] for r in of_kind(records, "token")] == ["use"]
    [refusal] = of_kind(records, "refusal")
    assert refusal["what"] == "token" and refusal["error"]["code"] == "auth" and "wrong" not in json.dumps(refusal)
    assert serving.audit("list", "--kind", "refusal").text.rstrip().endswith(refusal["error"]["message"])
    [start] = of_kind(records, "server")
    assert start["event"] == "start" and start["settings"]["preload"]["from"] == "environment BELLJAR_PRELOAD"
    assert json.loads(serving.audit("show", "order-66", "--json").text.splitlines()[0])["id"] == result["id"]


LONG = "# " + "x" * 400000 + "\nprint('a needle in it')\n"


def test_a_text_is_stored_once(serving):
    reply = serving.server.post("/v1/batch", {"code": LONG, "runs": [{} for i in range(40)]})
    assert reply.status == 200, reply
    starts = of_kind(serving.records(), "start")
    assert len(starts) == 40 and len({s["code"]["sha256"] for s in starts}) == 1
    assert sum("text" in s["code"] for s in starts) == 1
    first = next(s for s in starts if "text" in s["code"])
    assert {s["code"]["text_seq"] for s in starts if "text" not in s["code"]} == {first["seq"]}
    assert sum(f.stat().st_size for f in serving.trail.glob("*.jsonl")) < 2 * len(LONG)
    # Each record shows it, a search finds all, and each can be run again.
    other = next(s for s in starts if "text" not in s["code"])
    assert "print('a needle in it')" in serving.audit("show", other["id"]).text
    shown = [json.loads(line) for line in serving.audit("show", other["id"], "--json").text.splitlines()]
    assert shown[0]["code"]["text"] == LONG
    assert len(serving.audit("list", "--kind", "run", "--text", "a NEEDLE in", "--all", "--json").text.splitlines()) == 40
    listed = serving.audit("list", "--kind", "run", "--all").text.splitlines()
    assert len(listed) == 40 and all("# xxxx" in line for line in listed), listed[:3]
    replayed = serving.audit("replay", other["id"])
    assert "identical" in replayed.text, replayed


def test_each_file_of_the_trail_has_its_own_texts(audited):
    env = {**audited.env, "BELLJAR_TRAIL_FILE_MB": "1", "BELLJAR_TRAIL_MAX_MB": "3"}
    with Server(audited.who, env=env) as server:
        for round in range(6):
            # Texts that differ every time fill the files.
            assert server.run(f"# {round} {'y' * 700000}\nprint(1)")["status"] == "success"
            for _ in range(3):
                assert server.run(LONG)["status"] == "success"
    assert audited.verify().code == 0, audited.verify().text
    assert of_kind(audited.records(), "pruned")
    for file in audited.trail.glob("*.jsonl"):
        records = [json.loads(line) for line in file.read_bytes().splitlines()]
        texts = {r["seq"] for r in of_kind(records, "start") if "text" in r["code"]}
        assert {r["code"]["text_seq"] for r in of_kind(records, "start") if "text_seq" in r["code"]} <= texts
    for start in of_kind(audited.records(), "start"):
        shown = json.loads(audited.audit("show", start["id"], "--json").text.splitlines()[0])
        assert len(shown["code"]["text"]) == start["code"]["bytes"] and "is_missing" not in shown["code"]


def test_the_trail_keeps_within_its_size_by_default(who):
    answer = who.call("config", "trail_max_mb")
    assert answer.text.split()[0] == "4096", answer


def test_what_is_written_for_a_token_is_bounded(audited):
    with Server(audited.who, env={**audited.env, "BELLJAR_TRAIL_MB_PER_HOUR": "1"}) as server:
        replies = [server.post("/v1/run", {"code": f"# {i} {'z' * 400000}"}) for i in range(5)]
        assert [r.status for r in replies][:2] == [200, 200]
        assert replies[-1].status == 429 and "trail_mb_per_hour" in replies[-1].error["message"], replies[-1]
        assert int(replies[-1].headers["retry-after"]) > 0


def test_sessions_and_their_files_are_written_down(serving):
    server = serving.server
    session = server.post("/v1/sessions", {"name": "desk"}).json["session_id"]
    wait_until(lambda: server.call("PUT", f"/v1/sessions/{session}/files/a.txt", b"hello").status == 200, "the file is written")
    server.post(f"/v1/sessions/{session}/execute", {"code": "print(open('a.txt').read())"})
    assert server.call("DELETE", f"/v1/sessions/{session}/files/a.txt").status == 204
    assert server.call("DELETE", f"/v1/sessions/{session}").status in (200, 204)
    wait_until(lambda: any(r["event"] == "end" for r in of_kind(serving.records(), "session")), "the session has ended")
    told = [(r["kind"], r.get("event")) for r in serving.records() if r.get("session") == session]
    assert told == [
        ("session", "open"), ("file", "write"), ("start", None), ("run", None), ("file", "delete"), ("session", "end"),
    ]  # fmt: skip
    write = of_kind(serving.records(), "file")[0]
    assert write["path"] == "a.txt" and write["bytes"] == 5
    assert write["sha256"] == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert of_kind(serving.records(), "session")[0]["name"] == "desk"


def test_every_door_records_files_alike(audited):
    """Size and digest before the file is there, and once more when it cannot be."""
    with mcp.Client(audited.who, "--tools", "all", env=audited.env) as client:
        client.initialize()
        client.call("write_file", {"path": "in/a.txt", "content": "hello"})
        assert client.call("write_file", {"path": "in", "content": "hello"})["isError"]
    told = [(r["status"], r["path"], r["bytes"], r["sha256"][:8]) for r in of_kind(audited.records(), "file")]
    assert told == [("success", "in/a.txt", 5, "2cf24dba"), ("success", "in", 5, "2cf24dba"), ("failed", "in", 5, "2cf24dba")]


def test_copies_of_sessions_are_written_down(serving):
    server = serving.server
    session = server.post("/v1/sessions", {}).json["session_id"]
    assert server.post(f"/v1/sessions/{session}/execute", {"code": "x = 1"}).status == 200
    reply = server.post(f"/v1/sessions/{session}/checkpoint", {"name": "here"})
    assert reply.status == 200, reply.error
    assert server.post(f"/v1/sessions/{session}/restore", {"name": "here"}).status == 200
    copies = server.post(f"/v1/sessions/{session}/fork", {"n": 2}).json["sessions"]
    events = [(r["event"], r.get("checkpoint") or r.get("from")) for r in of_kind(serving.records(), "session")]
    assert len(copies) == 2
    assert events == [("open", None), ("checkpoint", "here"), ("restore", "here"), ("open", session), ("open", session), ("fork", None)]


def test_a_flood_of_refusals_is_counted(serving):
    for _ in range(100):
        assert serving.server.call("GET", "/v1/sessions", headers={"Authorization": "Bearer no"}).status == 401
    time.sleep(1.1)  # the count is of one second
    serving.server.call("GET", "/v1/sessions", headers={"Authorization": "Bearer no"})
    refusals = of_kind(serving.records(), "refusal")
    assert len(refusals) + sum(r.get("more", 0) for r in refusals) == 101


def test_tokens_are_written_down(audited):
    assert audited.who.call("token", "add", "ann", env=audited.env).code == 0
    assert audited.who.call("token", "rm", "ann", env=audited.env).code == 0
    assert [(r["event"], r["owner"]) for r in of_kind(audited.records(), "token")] == [("add", "ann"), ("remove", "ann")]


def test_changes_of_tokens_that_fail_are_not_written_down(audited):
    token = lambda *a: audited.who.call("token", *a, env=audited.env).code  # noqa: E731
    assert token("add", "ann") == 0
    assert [token("add", "ann"), token("add", "no name"), token("rm", "bob"), token("rm", "default")] == [64, 64, 66, 66]
    assert [(r["event"], r["owner"]) for r in of_kind(audited.records(), "token")] == [("add", "ann")]


def test_a_text_that_is_masked_says_that_it_is_incomplete(audited):
    secret = "ghp_" + "8vOC7YM4bOnLHZ3APWI1" + "z1pMALuxQH0IQSnE"
    code = f"token = '{secret}'\nprint(1)"
    answer = audited.run(code)
    said = audited.audit("show", answer.json["id"]).text
    start = next(r for r in audited.records() if r["kind"] == "start" and r["id"] == answer.json["id"])
    digest = hashlib.sha256(code.encode()).hexdigest()
    assert secret not in said and start["code"]["sha256"] == digest and start["code"]["hidden_bytes"] == 40, start
    assert f"the text below is incomplete: 40 of {len(code)} bytes are replaced by labels; the sha256 of the original is {digest}" in said, said
    plain = audited.run("print(2)").json["id"]
    assert "incomplete" not in audited.audit("show", plain).text
