"""Batches of the api library: each file is written once and whole, whoever else writes, and whatever ends the program."""
import os
import signal
import subprocess
import sys
import threading

import pytest

import belljar
import library

library.load()

from api import _progress, _text, code_transform  # noqa: E402
from api import filesystem as fs  # noqa: E402

OLD, NEW = "value = 1\nprint(value)\n" * 50, "worth = 1\nprint(worth)\n" * 50


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, text):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write(text)


def get(name):
    with open(name) as file:
        return file.read()


OPERATIONS = [
    {"type": "rename", "old_name": "value", "new_name": "worth"},
    {"type": "search_replace", "file_pattern": "**/*.py", "search": "worth = 1", "replace": "worth = 2"},
    {"type": "remove_debug", "file_path": "b.py"},
    {"type": "rename", "old_name": "worth", "new_name": "price"},
    {"type": "custom", "file_path": "a.py", "transform_fn": lambda text: text + "# end\n"},
    {"type": "add_docstrings", "file_path": "c.py"},
]


def test_a_batch_does_what_its_operations_do_and_writes_each_file_once(monkeypatch):
    files = {"a.py": OLD, "b.py": OLD + "x = value\n", "c.py": "def f(value):\n    return value\n", "d.py": "y = 1\n"}
    for name, text in files.items():
        put(name, text)
    for operation in OPERATIONS:
        assert code_transform.batch_refactor([{**operation, "create_backup": False}])[0].get("status", "success") == "success"
    wanted = {name: get(name) for name in files}
    for name, text in files.items():
        put(name, text)
    writes, put_file = [], _text._put
    monkeypatch.setattr(_text, "_put", lambda target, data: (writes.append(os.path.basename(target)), put_file(target, data)))
    results = code_transform.batch_refactor(OPERATIONS)
    assert [r["operation"] for r in results] == [o["type"] for o in OPERATIONS] and all(r.get("status", "success") == "success" for r in results)
    assert {name: get(name) for name in files} == wanted and "price = 2" in wanted["a.py"]
    assert sorted(writes) == ["a.py", "b.py", "c.py"]
    backups = [n for n in os.listdir(".") if ".backup_" in n]
    assert sorted(n.partition(".backup_")[0] for n in backups) == ["a.py", "b.py", "c.py"]  # one for each, of what was there before
    assert all(get(n) == files[n.partition(".backup_")[0]] for n in backups)


def test_a_dry_batch_sees_its_own_changes_and_writes_nothing():
    put("a.py", OLD)
    before = os.stat("a.py")
    results = code_transform.batch_refactor(OPERATIONS[:2] + [OPERATIONS[3]], dry_run=True)
    assert results[1]["total_replacements"] == 50 and results[2]["total_replacements"] == 100 and all(r["dry_run"] for r in results)
    assert os.listdir(".") == ["a.py"] and os.stat("a.py") == before
    assert fs.batch_copy([{"source_file": "a.py", "start_line": 1, "end_line": 1, "target_file": "new.py", "target_line": 1}], dry_run=True)[0]["dry_run"]
    assert fs.batch_transform([{"file": "a.py", "transform": str.upper}], dry_run=True)[0]["modified"]
    assert os.listdir(".") == ["a.py"] and os.stat("a.py") == before


def test_pastes_into_one_file_see_each_other():
    put("from.py", "1\n2\n3\n")
    operations = [{"source_file": "from.py", "start_line": n, "end_line": n, "target_file": "to/new.py", "target_line": line} for n, line in ((1, 1), (2, 1), (3, -1))]
    operations.append({"source_file": "to/new.py", "start_line": 1, "end_line": -1, "target_file": "from.py", "target_line": -1})
    assert [r["status"] for r in fs.batch_copy(operations)] == ["success"] * 4
    assert get("to/new.py") == "2\n1\n3\n" and get("from.py") == "1\n2\n3\n2\n1\n3\n"


def test_a_batch_of_the_callers_function_is_a_part_of_it():
    put("a.py", "x\n")
    put("b.py", "y\n")

    def both(text):
        fs.batch_transform([{"file": "b.py", "transform": str.upper}])
        assert get("b.py") == "y\n" and fs.read_file("b.py") == "Y\n"
        return text.upper()

    assert fs.batch_transform([{"file": "a.py"}], both)[0]["status"] == "success"
    assert get("a.py") == "X\n" and get("b.py") == "Y\n"


def test_what_cannot_be_written_in_the_end_is_told(monkeypatch):
    for name in ("a.py", "b.py"):
        put(name, OLD)

    def meddle(text):
        put("a.py", "theirs\n")
        os.utime("a.py", ns=(1, 1))
        return text + "# end\n"

    results = code_transform.batch_refactor([OPERATIONS[0], {"type": "custom", "file_path": "b.py", "transform_fn": meddle}])
    assert [r["status"] for r in results] == ["success", "success", "error"] and results[2]["file"].endswith("a.py") and "somebody else" in results[2]["error"]
    assert get("a.py") == "theirs\n" and get("b.py") == NEW + "# end\n"


def test_only_one_of_two_who_read_the_same_file_writes_it():
    put("a.py", OLD)
    first, second = _text.Text("a.py"), _text.Text("a.py")
    first.text = second.text = NEW
    first.save()
    with pytest.raises(OSError, match="somebody else"):
        second.save()


# --- ended in the middle ---

KILLED = """
import os, signal, sys
sys.path[:0] = [{lib!r}, {tests!r}]
import library
library.load()
from api import filesystem as fs
call, after = {call!r}, {after}
real, count = getattr(os, call), 0
def counted(*args, **named):
    global count
    count += 1
    if count == 500 and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*args, **named)
    if count == 500:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(os, call, counted)
fs.search_replace("**/*.py", "value", "worth", create_backup=False)
"""


@pytest.mark.parametrize("call,after", [("fsync", False), ("rename", False), ("rename", True)])
def test_every_file_is_old_or_new_when_the_program_is_killed(here, call, after):
    for number in range(1000):
        put(f"d{number % 10}/f{number}.py", OLD)
    code = KILLED.format(lib=str(belljar.ROOT / "library"), tests=str(belljar.ROOT / "tests/lib"), call=call, after=after)
    ended = subprocess.run([sys.executable, "-c", code], cwd=here, timeout=belljar.HANG_SECONDS)
    assert ended.returncode == -signal.SIGKILL
    paths = fs._files("**/*.py")
    texts = [get(path) for path in paths]
    assert len(paths) == 1000 and set(texts) == {OLD, NEW} and texts.count(NEW) in (499, 500)
    left = [n for _, _, names in os.walk(".") for n in names if not n.startswith("f")]
    assert all(n.startswith(".belljar-") for n in left) and len(left) == (0 if call == "rename" and after else 1)
    done = fs.search_replace("**/*", "value", "worth", dry_run=True)  # what was left over is nobody's source
    assert done["files_scanned"] == 1000 and done["files_modified"] == 1000 - texts.count(NEW)


# --- in sandboxes ---

def test_two_sandboxes_on_one_directory(who):
    place = who.directory("shared")
    for number in range(60):
        (place / f"f{number}.py").write_text(OLD)
        who.own(place / f"f{number}.py")
    code = ("from api import code_transform as ct, filesystem as fs\n"
            "for old, new in (('value', 'worth'), ('worth', 'value')):\n"
            f"    ct.batch_refactor([{{'type': 'rename', 'pattern': '{place}', 'old_name': old, 'new_name': new, 'create_backup': False}}])\n"
            f"print(fs.search_replace('{place}/*.py', 'no such text', '')['files_scanned'])")  # fmt: skip
    answers = [None, None]

    def run(number):
        answers[number] = who.run(code, "--allow", f"{place}:rw", profile="standard").json

    threads = [threading.Thread(target=run, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(belljar.HANG_SECONDS)
    assert [a["stdout"] for a in answers] == ["60\n", "60\n"], answers
    assert sorted(os.listdir(place)) == sorted(f"f{n}.py" for n in range(60))
    assert {(place / f"f{n}.py").read_text() for n in range(60)} <= {OLD, NEW}


def test_progress_is_told(monkeypatch):
    told = []
    monkeypatch.setattr(belljar, "progress", lambda *args: told.append(args), raising=False)
    monkeypatch.setattr(_progress, "SECONDS", 0)
    for name in ("a.py", "b.py", "c.py"):
        put(name, OLD)
    fs.search_replace("*.py", "value", "worth", create_backup=False)
    assert told == [(1, 3, "replacing"), (2, 3, "replacing"), (3, 3, "replacing")]
    told.clear()
    code_transform.batch_refactor([{"type": "rename", "old_name": "worth", "new_name": "value", "create_backup": False}])
    assert [t for t in told if t[2] == "writing"] == [(1, 3, "writing"), (2, 3, "writing"), (3, 3, "writing")] and (1, 1, "refactoring") in told


def test_progress_is_told_in_a_sandbox(who):
    code = ("import belljar, time\nfrom api import filesystem as fs\ntold = []\nbelljar.progress = lambda *args: told.append(args)\n"
            "fs.write_file('a.txt', 'x')\ndef slow(text):\n    time.sleep(0.3)\n    return text + 'y'\n"
            "print(fs.batch_transform([{'file': 'a.txt'}] * 2, slow)[1]['status'], told[:1])")  # fmt: skip
    assert who.run(code, profile="open").json["stdout"] == "success [(2, 2, 'transforming')]\n"
    code = code.replace("belljar.progress =", "_ =").replace("import belljar, time", "import time")
    assert who.run(code, profile="standard").json["stdout"] == "success []\n"
