"""api.code_analysis: its answers have the documented fields; what is no Python stops nothing."""

import pytest

import library

SOURCE = '''"""A module."""
import os, json as j
from . import sibling
import unused

class Shape(Base, metaclass=M):
    """A shape."""

    @property
    def area(self): return os.path.join(j.dumps(1))

    async def fetch(self, url: str, *rest, retries=3):
        """Fetches."""
        for _ in range(retries):
            try:
                await get(url)
            except OSError:
                pass


def area_of(x):
    def inner(y):
        return sibling.area(x)
    return inner(x)
'''


@pytest.fixture(scope="module")
def analysis():
    library.load()
    from api import code_analysis

    return code_analysis


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def f(:\n  '")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    return tmp_path


def test_functions(analysis):
    found = analysis.find_functions("m.py")
    assert [(f["qualname"], f["start_line"], f["end_line"], f["kind"]) for f in found] == [
        ("Shape.area", 10, 10, "method"), ("Shape.fetch", 12, 18, "async"), ("area_of", 21, 24, "function"),
        ("area_of.<locals>.inner", 22, 23, "function")]  # fmt: skip
    assert found[1]["args"] == ["self", "url", "rest", "retries"] and found[1]["is_async"] and found[1]["docstring"] == "Fetches."
    assert found[0]["decorators"] == ["property"] and found[0]["docstring"] is None


def test_a_pattern_is_a_part_of_the_name_unless_it_is_an_expression(analysis):
    assert [f["name"] for f in analysis.find_functions("m.py", "area")] == ["area", "area_of"]
    assert [f["name"] for f in analysis.find_functions("m.py", "^area$")] == ["area"]  # no name has a ^ in it
    assert [f["name"] for f in analysis.find_functions("m.py", "f.*h|inn")] == ["fetch", "inner"]
    with pytest.raises(ValueError, match="expression"):
        analysis.find_functions("m.py", "(")
    assert [f["name"] for f in analysis.find_functions("m.py", "^area$", regex=True)] == ["area"]
    assert analysis.find_functions("m.py", count_only=True) == 4 and len(analysis.find_functions("m.py", limit=2)) == 2


def test_classes(analysis):
    (shape,) = analysis.find_classes("m.py")
    assert (shape["name"], shape["start_line"], shape["end_line"], shape["bases"], shape["methods"], shape["docstring"]) == (
        "Shape", 6, 18, ["Base"], ["area", "fetch"], "A shape.")  # fmt: skip
    assert analysis.find_classes("m.py", "Square") == []


def test_imports(analysis):
    found = analysis.extract_imports("m.py")
    assert found["imports"] == ["os", "json as j", "unused"] and found["from_imports"] == ["from . import sibling"]
    assert [d["line"] for d in found["details"]] == [2, 2, 3, 4]


def test_calls(analysis):
    assert analysis.get_function_calls("m.py", "area")[0]["context"] == "area_of.<locals>.inner"
    assert [(c["line"], c["callee"]) for c in analysis.get_function_calls("m.py", "join")] == [(10, "os.path.join")]
    assert analysis.get_function_calls("m.py", "nothing") == []


def test_dependencies(analysis):
    found = analysis.analyze_dependencies("m.py")
    assert (found["functions"], found["classes"], found["lines"], found["complexity"]) == (4, 1, 24, 3)
    assert found["imports"] == {"stdlib": ["json", "os"], "third_party": ["unused"], "local": ["."]}
    assert found["avg_complexity_per_function"] == 0.75 and found["max_complexity"] == {"name": "Shape.fetch", "value": 4, "line": 12}
    broken = analysis.analyze_dependencies("broken.py")
    assert broken["error"] and broken["lines"] == 2


def test_unused_imports(analysis, here):
    assert analysis.find_unused_imports("m.py") == ["unused"]
    (detail,) = analysis.find_unused_imports("m.py", details=True)
    assert detail == {"name": "unused", "binding": "unused", "module": "unused", "line": 4, "removable": True, "reason": "nothing uses it"}
    (here / "__init__.py").write_text("from .m import Shape\n")
    assert [(f["file"], f["name"], f["removable"]) for f in analysis.find_unused_imports("*.py")] == [
        ("__init__.py", ".m.Shape", False), ("m.py", "unused", True)]  # fmt: skip


@pytest.mark.parametrize("name", ["missing.py", "missing/deep.py", "missing/"])
def test_a_file_that_is_not_there_is_an_error(analysis, name):
    for call in (analysis.find_functions, analysis.find_classes, analysis.get_function_calls, analysis.find_unused_imports, analysis.extract_imports, analysis.analyze_dependencies):
        with pytest.raises(FileNotFoundError, match="missing"):
            call(name)
    found = analysis.find_functions(name, report=True)
    assert found["matches"] == [] and [s["file"] for s in found["skipped"]] == [name], found
    assert analysis.find_functions("missing*.py") == [], "of many none may be there"


def test_unused_imports_of_another_language_are_not_none(analysis, here):
    (here / "page.js").write_text("import x from 'y'\n")
    with pytest.raises(ValueError, match="page.js: (unused imports are found in Python only|this build has no grammar)"):
        analysis.find_unused_imports("page.js")
    assert analysis.find_unused_imports("*.js", report=True)["skipped_count"] == 1


@pytest.mark.parametrize("name", ["broken.py", "binary.py"])
def test_what_is_no_python_gives_nothing(analysis, name):
    assert analysis.find_functions(name) == analysis.find_classes(name) == analysis.get_function_calls(name, "f") == []
    assert analysis.find_unused_imports(name) == [] and analysis.extract_imports(name)["imports"] == []


def test_many_files_say_which(analysis):
    assert {f["file"] for f in analysis.find_functions("**/*.py")} == {"m.py"} and {f["file"] for f in analysis.find_functions(".")} == {"./m.py"}
    assert analysis.find_functions("[m]*.py") == analysis.find_functions("**/m.py")


def test_what_was_skipped_is_told_on_request(analysis):
    found = analysis.find_functions("*.py", "area", report=True, limit=1)
    assert [f["name"] for f in found["matches"]] == ["area"]
    found = analysis.find_classes("*.py", report=True)
    assert {s["file"] for s in found["skipped"]} == {"broken.py", "binary.py"} and found["skipped_count"] == 2 and found["files_scanned"] == 3
    assert analysis.find_unused_imports("m.py", report=True)["matches"] == ["unused"]
    assert analysis.analyze_dependencies("*.py", report=True)["matches"][0]["file"] == "m.py"
    assert analysis.extract_imports("*.py", report=True)["matches"][0]["imports"] == ["os", "json as j", "unused"]
    assert analysis.extract_imports("m.py", count_only=True) == 4 and analysis.extract_imports("m.py", limit=1)["imports"] == ["os"]
    assert analysis.get_function_calls("*.py", "join", count_only=True) == 1


def test_programs_use_it(who):
    code = ("from api import filesystem as fs, code_analysis as ca\nfs.write_file('a.py', 'import os\\ndef f(): pass\\n')\n"
            "print(ca.find_functions('a.py')[0]['name'], ca.find_unused_imports('a.py'))")  # fmt: skip
    assert who.run(code, profile="standard").json["stdout"] == "f ['os']\n"
