"""The masker: every kind of secret in every surrounding, cut in every way, and what must stay as it is."""
import json
import subprocess

import pytest

import belljar
import secrets_corpus
import serving

SEEDS = (1, 2)
MODES = {"secrets": "s", "pii": "p", "whole": "S"}  # whole: not cut in two everywhere


def mask_lines(rows):
    """Each text through the masker; the tool itself makes sure that the way it is cut does not matter."""
    tool = belljar.program_path().parent / "tests" / "tools" / "mask-lines"
    records = b""
    for row in rows:
        text = row["text"].encode()
        records += f"{MODES[row['mode']]}{len(text)}\n".encode() + text
    done = subprocess.run([tool], input=records, capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    masked, at = [], 0
    while at < len(done.stdout):
        line = done.stdout.index(b"\n", at)
        end = line + 1 + int(done.stdout[at:line])
        masked.append(done.stdout[line + 1:end].decode())
        at = end
    assert len(masked) == len(rows)
    return masked


@pytest.fixture(scope="module", params=SEEDS)
def corpus(request):
    rows = list(secrets_corpus.rows(request.param, 8))
    return list(zip(rows, mask_lines(rows)))


def share(rows, is_good):
    bad = [(row["kind"], row["text"], text) for row, text in rows if not is_good(row, text)]
    return 1 - len(bad) / len(rows), bad[:5]


def test_tokens_with_a_shape_of_their_own_never_come_out(corpus):
    rows = [(row, text) for row, text in corpus if row["kind"].removesuffix("_hidden") in secrets_corpus.TOKENS]
    assert len(rows) > 400
    recall, bad = share(rows, lambda row, text: not any(secret in text for secret in row["secrets"]))
    assert recall == 1, bad


def test_secrets_do_not_come_out(corpus):
    rows = [(row, text) for row, text in corpus if row["secrets"]]
    recall, bad = share(rows, lambda row, text: not any(secret in text for secret in row["secrets"]))
    assert recall >= 0.995, bad


def test_what_stands_around_a_secret_stays(corpus):
    rows = [(row, text) for row, text in corpus if row["secrets"]]
    kept, bad = share(rows, lambda row, text: all(part in text for part in row["keep"]))
    assert kept >= 0.995, bad


def test_what_is_no_secret_stays_as_it_is(corpus):
    rows = [(row, text) for row, text in corpus if not row["secrets"]]
    assert len(rows) > 200
    kept, bad = share(rows, lambda row, text: text == row["text"])
    assert kept >= 0.995, bad


def test_every_kind_of_the_corpus_has_a_label(corpus):
    labels = {"github_token": "[REDACTED_GITHUB_TOKEN]", "slack_bot": "[REDACTED_SLACK_TOKEN]", "jwt_token": "[JWT_REDACTED]",
              "google_api_key": "[REDACTED_GOOGLE_API_KEY]", "stripe_key": "[REDACTED_STRIPE_KEY]", "aws_key": "[REDACTED_AWS_KEY]",
              "email": "[EMAIL_REDACTED]", "ssn": "[SSN_REDACTED]", "card": "[CARD_REDACTED]", "ipv4": "[IP_REDACTED]", "phone": "[PHONE_REDACTED]"}
    seen = set()
    for row, text in corpus:
        if row["kind"] in labels:
            assert labels[row["kind"]] in text, row
            seen.add(row["kind"])
    assert seen == set(labels)


# --- the command ---

def call(*args, text=""):
    return subprocess.run([belljar.program_path(), "mask", *args], input=text.encode(), capture_output=True)


def test_masks_a_stream_and_a_file(tmp_path):
    secret = secrets_corpus.with_crc(secrets_corpus.Maker(7), "ghp_")
    path = tmp_path / "log"
    path.write_text(f"a {secret} b\n")
    for answer in (call(text=path.read_text()), call("-", text=path.read_text()), call(path)):
        assert (answer.returncode, answer.stdout) == (0, b"a [REDACTED_GITHUB_TOKEN] b\n")


def test_check_says_it_with_its_exit_code():
    assert call("--check", text="password = 'falcon_07aj86cC!'\n").returncode == 1
    answer = call("--check", text="nothing here\n")
    assert (answer.returncode, answer.stdout) == (0, b"")
    assert call("--check", text="ann@example.com\n").returncode == 0
    assert call("--check", "--aggressive", text="ann@example.com\n").returncode == 1


def test_explain_names_the_rule_and_not_the_secret():
    answer = call("--explain", text="x\npassword = 'falcon_07aj86cC!'\n")
    assert answer.returncode == 0
    assert b"line 2: generic_secret" in answer.stdout and b"falcon" not in answer.stdout


def test_mistakes_are_told():
    assert b"did you mean `--check`" in call("--chek").stderr
    assert call("/does/not/exist").returncode == 66
    assert call("a", "b").returncode == 64


def test_an_ordinary_line_is_not_delayed():
    process = subprocess.Popen([belljar.program_path(), "mask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        for line in (b"one\n", b"two of many\n", b"50% "):
            process.stdin.write(line)
            assert process.stdout.read(len(line)) == line
    finally:
        process.stdin.close()
        assert process.wait() == 0


def memory_peak(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


@pytest.mark.parametrize("before, block, takes_rules", [
    (b"", b"an ordinary line of a program's output, 42 of 1000\n" * 20000, False),
    (b"", b"no end of this line " * 50000, True),
    (b"", b"\0\x1b[1m" * 200000, False),
    (b"", "\u200b".encode() * 300000, False),
    (b"password='", b"0a1b2c3d" * 125000, False),
    (b"-----BEGIN PRIVATE " b"KEY-----\n", b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 30000, False),
    (b"", b"TCK-12345678" * 80000, True),
    (b"", b"ghp_" * 250000, False),
], ids=["lines", "one line", "controls", "invisible", "value", "key", "rule", "anchors"])
def test_a_stream_without_end_takes_no_memory(tmp_path, before, block, takes_rules):
    rules = tmp_path / "rules.toml"
    rules.write_text('[rules.ticket]\npattern = "TCK-[0-9]{8}"\n')
    process = subprocess.Popen([belljar.program_path(), "mask", *(["--with", rules] if takes_rules else [])],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        process.stdin.write(before)
        peaks = []
        for _ in range(2):
            for _ in range(12):
                process.stdin.write(block)
            process.stdin.flush()
            peaks.append(memory_peak(process))
        assert peaks[1] - peaks[0] < 2048 and peaks[1] < 100 * 1024, peaks
    finally:
        process.stdin.close()
        assert process.wait() == 0


# --- runs ---

# Written so that the program itself does not contain the secret.
SECRET = secrets_corpus.with_crc(secrets_corpus.Maker(8), "ghp_")
TOKEN = f"'{SECRET[::-1]}'[::-1]"
LABEL = "[REDACTED_GITHUB_TOKEN]"


def run_json(who, code, *flags, **more):
    answer = who.call("run", "--json", *flags, "-c", code, **more)
    assert SECRET[10:].encode() not in answer.out + answer.err
    return answer.json


def test_everything_a_run_gives_out_is_masked(who):
    found = run_json(who, f"""
import sys
t = {TOKEN}
print('out', t)
print('err', t, file=sys.stderr)
display({{'a': t}})
result = {{'a': t, t: 1}}
""")
    assert found["stdout"] == f"out {LABEL}\n" and found["stderr"] == f"err {LABEL}\n"
    assert found["result"]["json"] == {"a": LABEL, LABEL: 1} and LABEL in found["result"]["text"]
    assert LABEL in found["displays"][0]["data"]
    assert found["masked"] == {"count": 5, "kinds": ["github_token"]}


def test_names_of_files_are_masked(user):
    server = serving.Server(user)
    try:
        code = f"from pathlib import Path\nPath({TOKEN} + '.txt').write_text('x')\nresult = 'g' + chr(27) + '[1m' + {TOKEN}[1:]"
        answer = server.call("POST", "/v1/run", {"code": code, "collect": ["*"]}).json
        assert SECRET[4:] not in json.dumps(answer["files"]) + json.dumps(answer["collected"]) + json.dumps(answer["result"]["json"]), answer
        assert [f["path"] for f in answer["files"]] == [f["path"] for f in answer["collected"]] == [LABEL + ".txt"]
        assert answer["result"]["json"] == LABEL and answer["masked"]["kinds"] == ["github_token"]
    finally:
        server.stop()


def test_errors_are_masked(who):
    found = run_json(who, f"raise ValueError('no ' + {TOKEN})")
    assert found["error"]["message"] == f"no {LABEL}"
    assert LABEL in found["error"]["traceback"] and LABEL in found["stderr"]
    found = run_json(who, f"import {SECRET}")
    assert found["status"] == "error" and found["error"]["message"] == f"No module named '{LABEL}'", found
    assert LABEL in found["error"]["traceback"] and LABEL in found["stderr"] and SECRET[4:] not in json.dumps(found)
    found = run_json(who, f"from subprocess import {SECRET}")
    assert found["status"] == "refused" and found["violations"][0]["name"] == f"subprocess.{LABEL}", found
    assert SECRET[4:] not in json.dumps(found)


def test_a_secret_is_masked_before_output_is_cut(who):
    found = run_json(who, f"print('x' * 100, {TOKEN}, 'y' * 1000)", "--output", "256")
    assert found["truncated"]["stdout"]
    assert "ghp_" not in found["stdout"]


def test_a_secret_written_in_pieces_is_masked(who):
    found = run_json(who, f"import sys\nfor c in 'a ' + {TOKEN} + ' b':\n    sys.stdout.write(c)\n    sys.stdout.flush()")
    assert found["stdout"] == f"a {LABEL} b"


def test_a_person_sees_labels_too(who):
    answer = who.call("run", "-c", f"print({TOKEN})")
    assert answer.text == LABEL + "\n"


def test_personal_data_only_when_asked_for(who):
    code = "print('ann@' + 'example.com'); result = {'card': 4111111111111111}"
    found = run_json(who, code)
    assert found["stdout"] == "ann@example.com\n" and found["masked"]["count"] == 0
    found = run_json(who, code, env={"AGGRESSIVE_MASKING": "true"})
    assert found["stdout"] == "[EMAIL_REDACTED]\n"
    assert found["result"]["json"] == {"card": "[CARD_REDACTED]"}
    assert sorted(found["masked"]["kinds"]) == ["credit_card", "email"]


def test_the_operator_may_switch_it_off(user):
    for name, value in (("MASK_SECRETS", "false"), ("BELLJAR_MASKING", "no")):
        answer = user.call("run", "-c", "print('pass' + 'word=falcon_07aj86cC!')", env={name: value})
        assert answer.text == "password=falcon_07aj86cC!\n"
    settings = user.file("mask.toml", "masking = false\n")
    answer = user.call("run", "--config", settings, "-c", "print('pass' + 'word=falcon_07aj86cC!')")
    assert answer.text == "password=falcon_07aj86cC!\n"


def test_a_picture_is_not_touched(user):
    found = run_json(user, "import base64\nclass P:\n    def _repr_png_(self):\n        return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(range(256)) * 8\ndisplay(P())")
    assert found["masked"]["count"] == 0 and found["displays"]


# --- secrets of the operator's own ---

OWN = """
values = ["correct horse battery"]
variables = ["DEPLOY_PASSWORD", "NOT_SET_AT_ALL"]
[rules.ticket]
pattern = "TCK-[0-9]{4}"
[rules.room]
pattern = "R[0-9]{3}"
context = "room office"
"""


def own_file(who, text=OWN, mode=0o600):
    path = who.file("own.toml", text)
    who.own(path)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("shape", [
    "v", "v.encode().hex()", "base64.b64encode(v.encode()).decode()", "base64.b64encode(b'ab' + v.encode() + b'c').decode()",
    "urllib.parse.quote(v)", "json.dumps(v)", "v.replace('', chr(0x200b))",
])
def test_a_value_of_the_operator_does_not_come_out_in_any_shape(who, shape):
    settings = who.file("with-own.toml", f"masking_file = '{own_file(who)}'\n")
    code = f"import base64, json, urllib.parse\nv = 'yrettab esroh tcerroc'[::-1]\nprint('a', {shape}, 'b')"
    answer = who.run(code, "--config", settings)
    assert answer.json["stdout"].startswith("a ") and "[REDACTED_SECRET]" in answer.json["stdout"], answer
    assert answer.json["masked"]["kinds"] == ["registered_value"]


def test_variables_and_rules_of_the_operator(who):
    settings = who.file("with-own.toml", f"masking_file = '{own_file(who)}'\n")
    code = "print('hunter' + '2hunter2', 'TCK-' + '1234', 'R' + '101', 'office R' + '102')"
    answer = who.run(code, "--config", settings, env={"DEPLOY_PASSWORD": "hunter2hunter2"})
    assert answer.json["stdout"] == "[REDACTED_SECRET] [REDACTED_TICKET] R101 office [REDACTED_ROOM]\n", answer
    assert answer.json["masked"] == {"count": 3, "kinds": ["registered_value", "ticket", "room"]}


@pytest.mark.parametrize("text, said", [
    ("values = ['short']", "values[0]"),
    ("values = 'x'", "an array of strings"),
    ("value = []", "did you mean `values`?"),
    ("[rules.a]\npatern = 'x'", "did you mean `pattern`?"),
    ("[rules.a]\npattern = '('", "rule `a`"),
    ("[rules.a]\npattern = 'x*'", "matches the empty text"),
    ("[rules.A]\npattern = 'x'", "cannot be the name of a rule"),
    ("rules = 1", "[rules.NAME]"),
    ("[rules]\na = 1", "a table with `pattern`"),
    ("[rules.a]\ncontext = 'x'", "a table with `pattern`"),
    ("variables = [1]", "a string"),
])
def test_mistakes_in_that_file_are_told(user, text, said):
    path = own_file(user, text)
    for answer in (user.call("mask", "--with", path), user.run("1", "--config", user.file("c.toml", f"masking_file = '{path}'\n"))):
        assert answer.code in (64, 65, 125) and said in answer.errors and "short" not in answer.errors.replace("too short", ""), answer


def test_a_file_of_secrets_that_others_may_read_is_refused(user):
    answer = user.call("mask", "--with", own_file(user, mode=0o644))
    assert answer.code != 0 and "others may read" in answer.errors and "chmod 600" in answer.errors
    assert user.call("mask", "--with", own_file(user, "[rules.a]\npattern = 'xyz'\n", mode=0o644), input=b"an xyz\n").text == "an [REDACTED_A]\n"
    assert user.call("mask", "--with", "/does/not/exist").code != 0


# --- names for personal data ---

@pytest.fixture
def named(who):
    s = serving.Server(who, env={"BELLJAR_REVERSIBLE_MASKING": "yes"})
    yield s
    s.stop()


def cell(server, session, code, **more):
    answer = server.call("POST", f"/v1/sessions/{session}/execute", {"code": code, **more}).json
    return answer["stdout"], answer


def test_people_have_names_that_are_turned_back(named):
    for name in ("a", "b"):
        assert named.call("POST", "/v1/sessions", {"name": name, "profile": "open"}).status == 201
    setup = "ann, bob, tel = 'ann@' + 'example.com', 'bob@' + 'example.org', '+1 415 555 ' + '0100'"
    out, answer = cell(named, "a", f"{setup}\nprint(ann, bob, ann, tel)")
    assert out == "EMAIL_1 EMAIL_2 EMAIL_1 PHONE_1\n" and answer["masked"]["count"] == 4
    assert cell(named, "a", "print(bob); result = {'who': ann, 'n': [bob]}")[1]["result"]["json"] == {"who": "EMAIL_1", "n": ["EMAIL_2"]}
    # They are turned back on the way in, and only whole.
    assert cell(named, "a", "print('EMAIL_1' == ann, 'EMAIL_2' == bob, len('EMAIL_11'), len('XEMAIL_1'), 'EMAIL_1')")[0] == "True True 8 8 EMAIL_1\n"
    assert cell(named, "a", "print(input() == bob)", stdin="EMAIL_2\n")[0] == "True\n"
    # Another session knows nothing of them; a copy does.
    assert cell(named, "b", "print(len('EMAIL_1'))")[0] == "7\n"
    assert cell(named, "b", "print('bob@' + 'example.org')")[0] == "EMAIL_1\n"
    copy = named.call("POST", "/v1/sessions/a/fork", {"n": 1}).json["sessions"][0]["session_id"]
    assert cell(named, copy, "print('EMAIL_2' == bob, bob)")[0] == "True EMAIL_2\n"


def test_a_number_that_becomes_a_name_leaves_json_whole(named):
    named.call("POST", "/v1/sessions", {"name": "a", "profile": "open"})
    answer = cell(named, "a", "result = {'card': 4111111111111111}")[1]
    assert answer["result"]["json"] == {"card": "CARD_1"}


def test_a_run_without_a_session_has_labels(named):
    assert named.call("POST", "/v1/run", {"code": "print('ann@' + 'example.com')"}).json["stdout"] == "[EMAIL_REDACTED]\n"
