"""The whole corpus once more at the level `process`, which has no namespaces.

A program passes as in test_escape.py: nothing it printed shows that it reached something, the bait outside is untouched,
and nothing is left. Those that do reach something here say why in a line `uncovered:`, and docs/THREATS.md says the same. Those
with a line `process:` are contained, but end in another way than in namespaces. `belljar doctor --prove` reads both.
"""
import re
import secrets
import shutil

import pytest

import belljar
import corpus
import host
import test_escape

LEVEL = {"BELLJAR_LOG": None, "BELLJAR_ISOLATION": "process"}

NOT_COVERED = {p.id for p in test_escape.PROGRAMS if p.uncovered}
DIFFERS = {p.id for p in test_escape.PROGRAMS if p.process}


# Those for which the levels differ most; the others are for `make test-all`.
QUICK = ("files", "leak", "network")


def parameter(program):
    return pytest.param(program, id=program.id, marks=[] if program.category in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("program", map(parameter, test_escape.PROGRAMS))
def test_program_without_namespaces(program, who, canary):
    if program.language == "javascript" and not shutil.which("node"):
        pytest.skip("nodejs is not installed")
    orphan = "bjorphan" + secrets.token_hex(3)
    fill = lambda text: corpus.expand(canary.fill_in(text, ORPHAN=orphan))
    path = who.file(f"{program.id}{program.path.suffix}", fill(program.body))
    forbidden = [canary.token, belljar.SECRET]
    if program.id not in NOT_COVERED:
        forbidden += ["ESCAPED:", "UNFILTERED:", *map(fill, program.forbid)]
    before = host.Watch(private=[who.home / p for p in ("runtime", "tmp", "cache", "config")], uids=[belljar.USER_UID])
    answer = who.call(
        "run", "--json", *program.flags(), *test_escape.grants(program, canary), path,
        hang=program.timeout + test_escape.HANG, env=LEVEL,
    )  # fmt: skip
    test_escape.check_contained(answer, forbidden)
    complaints = canary.complaints() + before.leftovers(orphan, answer.pid)
    assert not complaints, f"{complaints}\n{answer}"
    if "status" in answer.json:
        assert answer.json["isolation"] == "process", answer
    if program.id in NOT_COVERED or program.id in DIFFERS:
        return
    try:
        test_escape.check_promise(program, answer)
    except AssertionError as reason:
        if program.needs != "cgroup" or "status" not in answer.json or test_escape.has_cgroup(answer):
            raise
        pytest.xfail(f"{program.id}: only a cgroup counts this, and this caller has none: {str(reason).splitlines()[0]}")


def test_rights_cannot_grow(who):
    code = """
import ctypes, subprocess
libc = ctypes.CDLL(None)
print(libc.prctl(39, 0, 0, 0, 0))
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc.syscall(125, header, data)
print(list(data))
print(subprocess.run(['/usr/bin/su', '-c', 'id'], capture_output=True).returncode != 0)
"""
    assert who.run(code, env=LEVEL).json["stdout"] == "1\n[0, 0, 0, 0, 0, 0]\nTrue\n"


def test_the_page_of_threats_has_the_same_list():
    page = (belljar.ROOT / "docs" / "THREATS.md").read_text()
    section = page[page.index("## Isolation `process`") :]
    for name in NOT_COVERED:
        path = next(p.path for p in test_escape.PROGRAMS if p.id == name)
        assert re.search(rf"`{path.parent.name}/{re.escape(path.name)}`", section), name
