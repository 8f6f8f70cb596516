"""Every program of the corpus, through the door a user has, once as root and once as an ordinary user.

A program passes when its status is one of those it promises, nothing it printed shows that it reached something, the bait
outside is untouched, and the host is as it was before.
"""
import secrets
import shutil

import pytest

import belljar
import corpus
import host

PROGRAMS, DOUBLES = corpus.load_all()

# Seconds beyond its own limit after which a run counts as hung. The promise is one second; this only ends a hang, since
# a busy machine proves nothing.
HANG = 30

# The answer carries two streams, each possibly six bytes of JSON for one of output, a result and a traceback.
ANSWER_BYTES_MAX = 32 << 20


def test_every_id_is_unique():
    assert not DOUBLES


def test_the_corpus_is_large_enough_to_mean_something():
    attacks = [p for p in PROGRAMS if p.category != "benign"]
    assert len(attacks) >= 120 and len(PROGRAMS) - len(attacks) >= 30


@pytest.mark.parametrize("program", [pytest.param(p, id=p.id) for p in PROGRAMS])
def test_program(program, who, canary):
    if program.language == "javascript" and not shutil.which("node"):
        pytest.skip("nodejs is not installed")
    orphan = "bjorphan" + secrets.token_hex(3)
    fill = lambda text: corpus.expand(canary.fill_in(text, ORPHAN=orphan))
    path = who.file(f"{program.id}{program.path.suffix}", fill(program.body))
    forbidden = ["ESCAPED:", "UNFILTERED:", canary.token, belljar.SECRET, *map(fill, program.forbid)]
    outputs = []

    for _ in range(program.runs):
        before = host.Watch(
            private=[who.home / p for p in ("runtime", "tmp", "cache", "config")], uids=[belljar.USER_UID]
        )
        answer = who.call(
            "run", "--json", *program.flags(), *grants(program, canary), path, hang=program.timeout + HANG, env={"BELLJAR_LOG": None}
        )
        # First whether anything got out, which no gap excuses; only then whether it ended as it promised.
        check_contained(answer, forbidden)
        complaints = canary.complaints() + before.leftovers(orphan, answer.pid)
        assert not complaints, f"{complaints}\n{answer}"
        try:
            check_promise(program, answer)
        except AssertionError as reason:
            if program.needs != "cgroup" or "status" not in answer.json or has_cgroup(answer):
                raise
            # Run all the same: what a host without control groups cannot hold is told, not passed over.
            pytest.xfail(f"{program.id}: only a cgroup counts this, and this caller has none: {str(reason).splitlines()[0]}")
        outputs.append(answer.json.get("stdout"))

    if program.differ:
        assert len(set(outputs)) == len(outputs), f"the same output twice: {outputs[0]}"


def grants(program, canary):
    return ["--allow", f"{canary.granted}:{program.grant}"] if program.grant else []


def has_cgroup(answer):
    return bool({"cgroup-v1", "cgroup-v2"} & set(answer.json.get("layers", [])))


def check_contained(answer, forbidden):
    assert len(answer.out) < ANSWER_BYTES_MAX
    for word in forbidden:
        assert word not in answer.text, f"{word!r} in the answer\n{show(answer, word)}"
        assert word not in answer.errors, f"{word!r} in the messages\n{answer.errors[:2000]}"


def check_promise(program, answer):
    result = answer.json
    if "invalid" in program.expect and "status" not in result:
        assert result["error"]["code"] in ("invalid", "too_large") and answer.code in (64, 65), answer
        return
    assert "status" in result, f"Belljar failed: {answer}"
    assert result["status"] in program.expect, f"{result['status']}, expected {program.expect}\n{answer}"
    assert result["profile"] == program.profile
    exit_code = belljar.STATUS_EXIT.get(result["status"])
    if exit_code is None:
        assert answer.code not in (0, belljar.EXIT_OWN), answer
    else:
        assert answer.code == exit_code, answer
    for text in program.require:
        assert text in result["stdout"], f"{text!r} is missing\n{answer}"
    limit = program.limits.get("output")
    if limit:
        for stream in ("stdout", "stderr"):
            # A marker and replacement characters come on top of the bytes that were kept.
            assert len(result[stream]) <= limit + 1024


def show(answer, word):
    at = answer.text.index(word)
    return answer.text[max(0, at - 300) : at + 300]
