"""The list of what programs can import: short first, more on demand, the same inside and outside."""
import json
import uuid

import mcp
import pytest

# Characters of the compact JSON; four of them are about a token (docs/guide/api.md).
NAMES_MAX, SIGNATURES_MAX, ONE_MAX = 1200, 4800, 1200

MODULES = ["api.filesystem", "api.code_analysis", "api.code_transform", "api.git_operations", "api.masking", "execution_runtime", "servers"]


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture(scope="module")
def home(who):
    return {"XDG_STATE_HOME": str(who.directory(f"apis-{uuid.uuid4().hex}"))}


@pytest.fixture(scope="module")
def client(who, home):
    with mcp.Client(who, env=home) as client:
        client.initialize()
        yield client


def ask(client, **arguments):
    result = client.call("list_available_apis", {"max_tokens": 100_000, **arguments})
    assert "isError" not in result, result
    assert json.loads(mcp.text_of(result)) == result["structuredContent"]
    return result["structuredContent"]


def inside(who, home, code, profile="standard"):
    done = who.run("import api, json\n" + code, profile=profile, env=home)
    assert done.code == 0, done
    return json.loads(done.json["stdout"])


def size(value):
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def test_names_then_signatures_then_help(client):
    names = ask(client, detail="names")["apis"]
    assert set(MODULES) <= set(names) and "search_replace" in names["api.filesystem"] and "Session" in names["execution_runtime"]
    told = ask(client)
    assert told["example_usage"] and told == ask(client, detail="signatures")
    for module, functions in names.items():
        assert told["apis"][module]["description"]
        assert [s.split("(")[0] for s in told["apis"][module]["functions"]] == functions
    assert "find_classes(file_path, pattern=None, regex=False, limit=None, count_only=False, report=False)" in told["apis"]["api.code_analysis"]["functions"]
    for name in ("api.filesystem.read_file", "filesystem.read_file", "read_file"):
        (function,) = ask(client, detail="full", name=name)["apis"]["api.filesystem"]["functions"]
        assert function["signature"].startswith("read_file(file_path") and function["help"] and function["example"].startswith("read_file(")
    assert list(ask(client, name="masking")["apis"]) == ["api.masking"]
    assert set(ask(client, detail="names", name="api")["apis"]) == {m for m in names if m.startswith("api.")}


def test_each_level_is_small(client):
    names = ask(client, detail="names")
    assert size(names) <= NAMES_MAX
    assert size(ask(client)) <= SIGNATURES_MAX
    for module, functions in names["apis"].items():
        for function in functions:
            assert size(ask(client, detail="full", name=f"{module}.{function}")) <= ONE_MAX, function


@pytest.mark.parametrize("arguments, code, word", [
    ({"detail": "full"}, "invalid", "name"),
    ({"name": "serch_replace"}, "not_found", "search_replace"),
    ({"name": ""}, "not_found", "names"),
    ({"name": "x" * 250}, "not_found", "names"),
    ({"name": "."}, "not_found", "names"),
])  # fmt: skip
def test_what_is_not_there_is_said(client, arguments, code, word):
    result = client.call("list_available_apis", arguments)
    assert result["isError"] and result["structuredContent"]["code"] == code, result
    assert word in result["structuredContent"]["hint"] + result["structuredContent"]["error"], result


def test_inside_it_is_the_same(who, home, client):
    assert inside(who, home, 'print(json.dumps([api.list_available_apis("names"), api.list_available_apis(), api.list_available_apis("full", "api.masking")]))') == [
        ask(client, detail="names"), ask(client), ask(client, detail="full", name="api.masking")]  # fmt: skip
    assert inside(who, home, """
try:
    api.list_available_apis("all")
except RuntimeError as error:
    print(json.dumps([error.code, error.hint]))""")[0] == "invalid"


def test_help_and_the_list_say_the_same(who, home, client):
    """The list is made of the modules at build time: what is imported has these signatures and these words."""
    names = ask(client, detail="names")["apis"]
    found = inside(who, home, f"""
import importlib, inspect
found = {{}}
for module, names in {names!r}.items():
    for name in names:
        thing = getattr(importlib.import_module(module), name)
        found[module + "." + name] = [list(inspect.signature(thing).parameters), inspect.getdoc(thing)]
print(json.dumps(found))""", profile="open")
    for full, (parameters, doc) in found.items():
        module, _, name = full.rpartition(".")
        (told,) = ask(client, detail="full", name=full)["apis"][module]["functions"]
        assert all(p in told["signature"] for p in parameters), full
        assert doc.rpartition(">>> ")[2] == told["example"] and doc.split("\n")[0] in told["help"], full


@pytest.mark.parametrize("profile", ["standard", "marketplace"])
def test_a_guard_of_imports_gives_no_more_than_the_profile(who, home, profile):
    code = """
from execution_runtime import ImportGuard, is_import_allowed, restrict_import
import json
all_of_it, usual = ImportGuard(["*"]), ImportGuard()
got = [usual.is_allowed("json"), usual.is_allowed("os"), usual.is_allowed("os.path"), usual.is_allowed("api.filesystem"), is_import_allowed("re")]
for guard, name in ((all_of_it, "subprocess"), (usual, "sys"), (all_of_it, "os")):
    try:
        module = guard.create_restricted_import()(name)
        got.append("imported")
        module.system
        got.append("reached")
    except ImportError as error:
        got.append("refused")
    except AttributeError as error:
        got.append(str(error).partition(";")[0])
got.append(all_of_it.create_restricted_import()("json").dumps(1))
try:
    restrict_import("socket")
except ImportError as error:
    got.append(str(error))
print(json.dumps(got))"""
    done = who.run(code, profile=profile, env=home)
    assert done.code == 0, done
    os_ = ["imported", "blocked by profile `standard`: `os.system`"] if profile == "standard" else ["refused"]
    assert json.loads(done.json["stdout"]) == [
        True, False, True, True, True, "refused", "refused", *os_, "1", "Import not allowed: socket"]  # fmt: skip
