"""The skills that come with Belljar, run as programs run them."""
import json
import subprocess

import belljar
import pytest
import serving

OURS = ["csv-profile", "json-query", "log-digest", "repo-map"]


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


def value(who, code, *args):
    """The program's `result`, under the profile that agents have."""
    answer = who.run(code, *args, profile="standard").json
    assert answer["status"] == "success", answer
    return answer["result"]["json"]


def test_they_are_there_and_pass_their_own_gate(who):
    listed = {s["name"]: s for s in json.loads(who.call("skills", "list", "--json").text)}
    assert sorted(n for n, s in listed.items() if s["kind"] == "public") == OURS
    assert all("cannot be read" not in s["description"] for s in listed.values())
    for name in OURS:
        refused = who.call("skills", "add", str(who.program.parent.parent / "skills" / name))
        assert refused.code == 77 and "public skill" in refused.errors
    modules = ", ".join(f"skills.{name.replace('-', '_')}" for name in OURS)
    assert value(who, f"import {modules}\nresult = 1") == 1


def test_every_file_of_them_is_installed():
    folder = belljar.ROOT / "skills"
    listed = (folder / "meson.build").read_text()
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "."], cwd=folder, capture_output=True, text=True, check=False).stdout.split()
    files = tracked or [str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    for path in files:
        if path == "meson.build":
            continue
        name, file = path.split("/", 1)
        row = next(line for line in listed.splitlines() if f"'{name}':" in line)
        assert f"'{file}'" in row, path


def test_a_table_is_profiled(who):
    table = "id;price;day;ok;note\n1;2.5;2026-01-02;yes;x\n2;;2026-01-03;no;y\n3;4;2026-02-01;yes;x;extra\n"
    found = value(who, f"open('a.csv', 'w').write({table!r})\nfrom skills.csv_profile import profile\nresult = profile('a.csv')")
    assert found["rows"] == 3 and found["delimiter"] == ";" and found["ragged"] == 1
    columns = {c["name"]: c for c in found["columns"]}
    assert {n: c["type"] for n, c in columns.items()} == {"id": "integer", "price": "float", "day": "date", "ok": "boolean", "note": "text"}
    assert columns["price"]["missing"] == 1 and columns["price"]["mean"] == 3.25 and columns["note"]["top"][0] == ["x", 2]


def test_odd_tables_are_profiled(who):
    code = """
from skills.csv_profile import profile
def of(data, **more):
    open('t.csv', 'wb').write(data)
    return profile('t.csv', **more)
result = [of(b''), of(b'a,b\\n'), of(b'\\xef\\xbb\\xbfa\\tb\\n1\\t"x\\ny"\\n'), of(b'a\\n\\xff\\n'), of(b'a,b\\n' + b'1,nan\\n' * 9, limit=4)]
"""
    empty, head, tabs, bytes_, some = value(who, code)
    assert empty["columns"] == [] and head["rows"] == 0 and head["columns"][0]["type"] == "empty"
    assert tabs["delimiter"] == "\t" and tabs["columns"][0]["name"] == "a" and tabs["rows"] == 1
    assert bytes_["rows"] == 1 and some["rows"] == 4 and some["columns"][1]["type"] == "empty"


def test_a_log_is_digested(who):
    code = """
from skills.log_digest import digest
lines = [f'2026-01-02T03:04:{i % 60:02}Z ERROR db timeout after {i} ms on 10.0.0.{i}:5432' for i in range(50)]
lines += [f"Jan  2 03:04:05 host app[{i}]: INFO user 'u{i}' read /var/lib/x/{i}.txt" for i in range(70)] + ['']
with open('a.log', 'w') as file:
    file.write('\\n'.join(lines))
result = [digest('a.log'), digest(lines, order='level', top=1), digest(lines, level='error', contains='.7:')]
result += [digest(['2026-01-02 at -5 of 3-4 x-6'])]
"""
    whole, by_level, few, days = value(who, code)
    assert days["groups"][0]["template"] == "<date> at <n> of <n>-<n> x-<n>"
    assert whole["lines"] == 120 and whole["templates"] == 2 and whole["levels"] == {"ERROR": 50, "INFO": 70}
    assert [g["count"] for g in whole["groups"]] == [70, 50] and whole["groups"][1]["template"] == "<time> ERROR db timeout after <n> ms on <ip>"
    assert by_level["groups"][0]["level"] == "ERROR" and by_level["more"] == 1 and few["lines"] == 1


def test_json_is_asked(who):
    code = """
from skills.json_query import load, query, shape
open('a.jsonl', 'w').write('{"id": 1, "a": {"b": "x"}, "t": [1, 2]}\\n{"id": 2, "a": {"b": "y"}, "z": null}\\n')
data = load('a.jsonl')
paths = ['[*].a.b', '[?id>1].a.b', '..b', "$[-1]['id']", '[0].t[0:1]', '[?a.b=="x"].id', '[?z].id', '[*].no', '[7]', '[*].*.b', '']
bad = []
for path in ('[', 'a b', '[?id>]', '[?id>x]', '["a]'):
    try:
        bad.append(query(data, path))
    except ValueError:
        bad.append('ValueError')
result = [[query(data, p) for p in paths], shape(data), query(data, '..b', count_only=True), bad]
"""
    found, shape, count, bad = value(who, code)
    assert found == [["x", "y"], ["y"], ["x", "y"], [2], [1], [1], [2], [], [], ["x", "y"], [[{"id": 1, "a": {"b": "x"}, "t": [1, 2]}, {"id": 2, "a": {"b": "y"}, "z": None}]]]
    assert shape["length"] == 2 and shape["items"]["keys"]["a"]["keys"] == {"b": "string"} and shape["items"]["optional"] == ["t", "z"]
    assert count == 2 and bad == ["ValueError"] * 5


def test_a_tree_is_outlined(who):
    code = """
import pathlib
for path, text in {'pkg/a.py': 'class A(B):\\n    def m(self): pass\\n    def _p(self): pass\\n\\nasync def f(x, y): pass\\n', 'pkg/b.py': 'import json\\ndef _hidden(): pass\\n', '.venv/c.py': 'def no(): pass'}.items():
    pathlib.Path('tree', path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path('tree', path).write_text(text)
from skills.repo_map import outline, summary
result = [outline('tree'), outline('tree', limit=2), summary('tree')]
"""
    text, short, found = value(who, code)
    assert text == "pkg/a.py (5 lines)\n  1 class A(B): m\n  5 async def f(x, y)"
    assert short == "pkg/a.py (5 lines)\n… 2 more lines"
    assert found["files"] == 2 and found["functions"] == 4 and found["classes"] == 1 and found["imports"] == [["json", 1]]


def test_they_run_from_a_shell(who):
    code = "printf 'a,b\\n1,2\\n' > t.csv && python3 -m skills.csv_profile t.csv && echo '{\"a\":[1]}' > t.json && python3 -m skills.json_query t.json 'a[0]' && python3 -m skills.log_digest t.csv"
    answer = who.call("run", "--language", "bash", "-c", code)
    assert answer.code == 0 and '"rows": 1' in answer.text and "[\n 1\n]" in answer.text and '"lines": 2' in answer.text


def test_other_doors_have_them_too(who):
    use = "from skills.json_query import query\nprint(query({'a': [7]}, 'a[0]'))\n"
    assert who.call("shell", input=use.encode()).text == "[7]\n"
    with serving.Server(who) as server:
        assert server.post("/execute", {"command": use}).json["stdout"] == "[7]\n"
        assert server.run(use)["stdout"] == "[7]\n"
        assert server.get("/v1/skills/json-query").json["kind"] == "public"
        assert server.call("PUT", "/v1/skills/json-query", b"x = 1").status == 403
        assert server.call("DELETE", "/v1/skills/json-query").status == 403
