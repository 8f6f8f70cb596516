"""api.filesystem: by itself, file by file, and then as programs in a sandbox import it."""
import os
import stat
import sys

import pytest

import library

library.load()

from api import filesystem as fs  # noqa: E402


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, data, mode=0o644):
    with open(name, "wb") as file:
        file.write(data)
    os.chmod(name, mode)


def get(name):
    with open(name, "rb") as file:
        return file.read()


def test_write_makes_directories_and_backs_up_what_was_there(here):
    assert fs.write_file("a/b/c.txt", "one\ntwo") == {"status": "success", "file": "a/b/c.txt", "lines_written": 2, "line_count": 2}
    again = fs.write_file("a/b/c.txt", "three\n", create_backup=True)
    assert get("a/b/c.txt") == b"three\n" and get(again["backup"]) == b"one\ntwo"
    assert "backup" not in fs.write_file("new.txt", "", create_backup=True)
    assert fs.write_file("dry.txt", "x", dry_run=True)["dry_run"] and not os.path.exists("dry.txt")


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"a\rb\r", b"\xef\xbb\xbfa\nb\n", b"# coding: latin-1\n\xe4\n", b"\xff\xfea\0\n\0b\0\n\0", b"no end", b"\xff\xfe\xfd bytes\n"])
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
def test_what_is_not_changed_stays_byte_for_byte(data, mode):
    put("f.py", data, mode)
    fs.batch_transform([{"file": "f.py"}], lambda text: text + "x")
    fs.batch_transform([{"file": "f.py"}], lambda text: text[:-1])
    assert get("f.py") == data and stat.S_IMODE(os.stat("f.py").st_mode) == mode


def test_a_link_stays_a_link():
    put("real.txt", b"a\n")
    os.symlink("real.txt", "link.txt")
    fs.paste_code("link.txt", -1, "b", create_backup=False)
    assert os.path.islink("link.txt") and get("real.txt") == b"a\nb\n"


def test_lines_end_where_editors_end_them():
    put("f", "a\fb\u2028c\r\nd\x0b\re\n".encode())
    assert fs.copy_lines("f", 1, 1) == "a\fb\u2028c\r\n" and fs.copy_lines("f", 2, -1) == "d\x0b\re\n"
    assert fs.copy_lines("f", 3, 3, include_line_numbers=True) == "   3 | e\n"
    for start, end in ((0, 1), (2, 1), (-3, 2)):
        with pytest.raises(ValueError, match="count from 1"):
            fs.copy_lines("f", start, end)


@pytest.mark.parametrize("line, expected", [(1, b"new\r\na\r\nb\r\n"), (2, b"a\r\nnew\r\nb\r\n"), (3, b"a\r\nb\r\nnew\r\n"), (5, b"a\r\nb\r\n\r\n\r\nnew\r\n"), (-1, b"a\r\nb\r\nnew\r\n")])
def test_paste(line, expected):
    put("f", b"a\r\nb")
    result = fs.paste_code("f", line, "new", create_backup=False)
    assert get("f") == expected and result["lines_inserted"] == 1 and result["backup"] is None and result["line_count"] == expected.count(b"\n")


def test_paste_into_nothing():
    assert fs.paste_code("d/new.py", 3, "x\ny\n")["line"] == 3
    assert get("d/new.py") == b"\n\nx\ny\n"


def test_search_and_replace():
    for name in ("a.py", "sub/b.py", "c.txt"):
        fs.write_file(name, "cat concat Cat cat.\n")
    put("bin.py", b"cat\0")
    result = fs.search_replace("**/*.py", "cat", "dog")
    assert (result["files_modified"], result["total_replacements"], result["files_scanned"]) == (2, 6, 3)
    assert get("a.py") == b"dog condog Cat dog.\n" and get("c.txt").startswith(b"cat") and get("bin.py") == b"cat\0"
    assert fs.search_replace("**/*.py", "dog", "cow", word=True, case_sensitive=False)["total_replacements"] == 4
    assert fs.search_replace("a.py", r"(c)ow", r"\1at", regex=True)["files_modified"] == 1
    assert fs.search_replace("a.py", "a.t", "x")["files_modified"] == 0
    assert fs.search_replace("a.py", "cat", r"\1", dry_run=True)["total_replacements"] == 2 and b"cat" in get("a.py")
    assert fs.search_replace("a.py", "cat", r"\g<0>")["files_modified"] == 1 and rb"\g<0>" in get("a.py")
    with pytest.raises(ValueError):
        fs.search_replace("*", "", "x")


PLACES = "x = 'x' # x\nf'{x} x'\n\"\"\"x\nx\"\"\"; x = 1 # end x x\n"


@pytest.mark.parametrize("place,count,text", [
    ("all", 11, "y = 'y' # y\nf'{y} y'\n\"\"\"y\ny\"\"\"; y = 1 # end y y\n"),
    ("code", 2, "y = 'x' # x\nf'{x} x'\n\"\"\"x\nx\"\"\"; y = 1 # end x x\n"),
    ("comments", 3, "x = 'x' # y\nf'{x} x'\n\"\"\"x\nx\"\"\"; x = 1 # end y y\n"),
    ("strings", 5, "x = 'y' # x\nf'{y} y'\n\"\"\"y\ny\"\"\"; x = 1 # end x x\n")])  # fmt: skip
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="names in fields of strings are code from Python 3.12 on")
def test_code_strings_and_comments(place, count, text):
    put("a.py", PLACES.encode())
    count -= place == "all"
    assert fs.search("*.py", "x", in_=place, count_only=True) == {"files_scanned": 1, "files_matched": 1, "total_matches": count}
    assert fs.search_replace("*.py", "x", "y", in_=place, count_only=True) == {"files_scanned": 1, "files_modified": 1, "total_replacements": count, "dry_run": True}
    assert get("a.py") == PLACES.encode()
    assert fs.search_replace("*.py", "x", "y", in_=place)["total_replacements"] == count and get("a.py").decode() == text


def test_where_a_text_stands():
    put("a.py", "x = 1\r\n# äx\n".encode())
    put("b.txt", b"no\n")
    put("c.py", b"x = '\n")
    found = fs.search("*", "x")
    assert found["matches"] == [
        {"file": "a.py", "line": 1, "col": 0, "text": "x = 1"}, {"file": "a.py", "line": 2, "col": 3, "text": "# äx"},
        {"file": "c.py", "line": 1, "col": 0, "text": "x = '"}]  # fmt: skip
    assert (found["files_scanned"], found["files_matched"], found["total_matches"], found["skipped"]) == (3, 2, 3, [])
    assert fs.search("*", "X", case_sensitive=False, limit=1)["matches"] == found["matches"][:1] and fs.search("*", r"x\b.*1", regex=True)["total_matches"] == 1
    assert [s["file"] for s in fs.search("*", "x", in_="code")["skipped"]] == ["c.py"] and fs.search("*.txt", "no", in_="code")["skipped"][0]["file"] == "b.txt"
    for wrong in ({"in_": "nowhere"}, {"search": ""}, {"search": "(", "regex": True}):
        if "in_" in wrong:
            assert "nowhere" in fs.search("*", **{"search": "x", **wrong})["skipped"][0]["reason"]
        else:
            with pytest.raises(ValueError):
                fs.search("*", **wrong)


def test_the_line_of_a_match_is_cut_around_it():
    put("a.txt", b"  " + b"-" * 500 + b"here" + b"+" * 500 + b"\nhere" + b"." * 200 + b"\n" + b"," * 200 + b"here")
    found = [match["text"] for match in fs.search("a.txt", "here")["matches"]]
    assert all("here" in text and len(text) < 110 for text in found), found
    assert found[0][0] == found[0][-1] == "…" and found[1].endswith("…") and found[1].startswith("here") and found[2].startswith("…") and found[2].endswith("here"), found


def test_arguments_in_the_order_of_grep():
    put("a.py", b"old = 1\n")
    put("b.txt", b"old\n")
    assert fs.search(r"o\w+", "**/*", regex=True)["total_matches"] == 2 == fs.search("old", ".")["total_matches"]
    assert fs.search("old", "*.py")["files_matched"] == 1 == fs.search("old", "b.txt")["files_matched"]
    assert fs.search("*.py", "*.py")["total_matches"] == 0 and "no file matches" in fs.search("none/*.py", ".")["message"]
    for wrong, right in ((("old", "new", "**/*.py"), ("**/*.py", "old", "new")), (("old", "*.py", "new"), ("*.py", "old", "new"))):
        with pytest.raises(ValueError) as said:  # it would change files
            fs.search_replace(*wrong)
        assert f"search_replace{right!r}" in str(said.value), said.value
    done = fs.search_replace("*.py", "old", "new", dry_run=True)
    assert done["details"] == [{"file": "a.py", "replacements": 1, "status": "would change"}] and get("a.py") == b"old = 1\n", done
    assert "no file matches" in fs.search_replace("nothing", "old", "b.txt")["message"] and get("b.txt") == b"old\n"


def test_what_would_stop_being_python_is_not_written():
    put("a.py", b"x = (1)\n")
    put("b.txt", b"x = (1)\n")
    result = fs.search_replace("*.*", ")", "", create_backup=False)
    assert [d["status"] for d in result["details"]] == ["error", "modified"] and get("a.py") == b"x = (1)\n" and get("b.txt") == b"x = (1\n"
    assert fs.batch_transform([{"file": "a.py", "transform": lambda text: text + "("}])[0]["status"] == "error" and get("a.py") == b"x = (1)\n"
    assert fs.search_replace("a.py", ")", "", create_backup=False, verify=False)["files_modified"] == 1 and get("a.py") == b"x = (1\n"


def test_a_paste_without_a_backup_into_what_is_there():
    put("a.py", b"1\n")
    done = fs.paste_code("a.py", 1, "0", create_backup=False)
    assert done["backup"] is None and get("a.py") == b"0\n1\n" and os.listdir(".") == ["a.py"]


def test_one_bad_file_stops_nothing():
    put("a.txt", b"x\n")
    put("b.py", b"# coding: ascii\n\xff x\n")
    put("c.txt", b"x\n")
    result = fs.search_replace("*.*", "x", "y", create_backup=False)
    assert [d["status"] for d in result["details"]] == ["modified", "error", "modified"] and get("b.py").endswith(b"x\n")
    assert fs.search_replace("*.txt", "y", "z", limit=1, create_backup=False)["details_more"] == 1


def test_batches():
    fs.write_file("from.py", "1\n2\n3\n")
    results = fs.batch_copy([
        {"source_file": "from.py", "start_line": 2, "end_line": 3, "target_file": "to.py", "target_line": -1},
        {"source_file": "missing.py", "start_line": 1, "end_line": 1, "target_file": "to.py", "target_line": 1},
        {"source_file": "from.py"},
        {"source_file": "from.py", "start_line": 1, "end_line": 1, "target_file": "to.py", "target_line": 1},
    ])  # fmt: skip
    assert [r["status"] for r in results] == ["success", "error", "error", "success"] and "start_line" in results[2]["error"]
    assert get("to.py") == b"1\n2\n3\n" and results[0]["operation"] == "copy_paste" and results[0]["source"] == "from.py"
    results = fs.batch_transform([{"file": "to.py", "start_line": 2, "end_line": 2, "transform": str.strip}, {"file": "to.py"}, {"file": "no"}], lambda t: 1)
    assert [r["status"] for r in results] == ["success", "error", "error"] and get("to.py") == b"1\n23\n"


def test_a_file_changed_meanwhile_is_left_alone():
    put("f", b"a\n")

    def slow(text):
        put("f", b"theirs\n")
        os.utime("f", ns=(1, 1))
        return "ours\n"

    assert "somebody else" in fs.batch_transform([{"file": "f"}], slow)[0]["error"]
    assert get("f") == b"theirs\n"


def test_reading_has_a_ceiling():
    put("f", b"line\n" * 10)
    assert fs.read_file("f") == "line\n" * 10 and fs.read_file("f", start=2, end=3) == "line\nline\n"
    with pytest.raises(ValueError, match="max_bytes"):
        fs.read_file("f", max_bytes=10)


@pytest.mark.parametrize("profile", ["standard", "marketplace", "open"])
def test_programs_import_it(who, profile):
    code = "from api import filesystem as fs\nimport api.filesystem\nfs.write_file('a.txt', 'x\\n')\nprint(fs.search_replace('*.txt', 'x', 'y')['files_modified'], fs.read_file('a.txt'), 'filesystem' in dir(api))"
    answer = who.run(code, profile=profile)
    assert answer.json["stdout"] == "1 y\n True\n", answer


def test_a_granted_directory(who):
    place = who.directory("granted")
    (place / "a.txt").write_text("x\n")
    who.own(place / "a.txt")
    code = f"from api import filesystem as fs\nprint(fs.search_replace('{place}/*.txt', 'x', 'y', create_backup=False)['files_modified'])"
    assert who.run(code, "--allow", f"{place}:rw", profile="standard").json["stdout"] == "1\n"
    assert (place / "a.txt").read_text() == "y\n" and sorted(os.listdir(place)) == ["a.txt"]
    answer = who.run(code, "--allow", f"{place}:ro", profile="standard")
    assert answer.json["stdout"] == "0\n" and (place / "a.txt").read_text() == "y\n"
