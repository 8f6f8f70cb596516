"""The doorman: all violations at once, with place and alternative; ordinary programs pass."""
import pytest

pytestmark = pytest.mark.usefixtures("watch")


def violations(who, code, profile="strict"):
    answer = who.run(code, profile=profile)
    assert answer.status == "refused", answer
    assert answer.json["stdout"] == "" and answer.json["exit_code"] is None, answer
    return answer.json["violations"]


@pytest.mark.smoke
def test_all_violations_are_listed_with_line_and_column(who):
    found = violations(who, "import math\nimport pty, ssl\nx = eval('1')\nprint(().__class__)\nfrom socket import socket\n")
    names = {(v["name"].split(".")[0], v["line"]) for v in found}
    assert {("pty", 2), ("ssl", 2), ("eval", 3), ("__class__", 4), ("socket", 5)} <= names, found
    for v in found:
        assert v["column"] >= 1 and v["rule"] and v["message"], v
    assert any(v["hint"] for v in found)


def test_columns_count_characters(who):
    found = violations(who, "ä = 'ö'; eval('1')\n")
    assert [(v["line"], v["column"]) for v in found if v["name"] == "eval"] == [(1, 10)], found


def test_the_same_text_for_people(who):
    answer = who.call("run", "--profile", "strict", "-c", "import requests\nimport subprocess")
    assert answer.code == 126 and answer.out == b"", answer
    assert "requests" in answer.errors and "subprocess" in answer.errors and "line 2" in answer.errors, answer


def test_nothing_of_a_refused_program_runs(who):
    answer = who.run("print('first')\nimport pty", profile="strict")
    assert answer.status == "refused" and "first" not in answer.text, answer


def test_many_violations_are_bounded_and_counted(who):
    found = violations(who, "\n".join(f"import pty as a{i}" for i in range(500)))
    assert 50 <= len(found) <= 110, len(found)


@pytest.mark.parametrize(
    "code",
    [
        "from io import StringIO, BytesIO\nprint(StringIO('x').read())",
        "import collections.abc\nprint(collections.abc.Mapping)",
        "import json as j\nprint(j.dumps([1]))",
    ],
)
def test_granular_imports_that_are_allowed(who, code):
    assert who.run(code, profile="strict").status == "success"


@pytest.mark.parametrize("code", ["from io import *", "from io import FileIO", "import io\nio.FileIO", "import io as x\nx.open_code"])
def test_granular_imports_that_are_not(who, code):
    assert violations(who, code)


LARGE = {
    "parentheses": "x = " + "(" * 150 + "1" + ")" * 150,
    "brackets": "x = " + "[" * 150 + "]" * 150,
    "minus": "x = " + "-" * 900 + "1",
    "sum": "x = " + "+".join(["1"] * 3000),
    "list": "x = [" + ",".join(["1"] * 50000) + "]",
    "blocks": "if True:\n" + "".join(" " * i + "if True:\n" for i in range(1, 90)) + " " * 90 + "x = 1",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_but_plain_programs_run_or_are_refused_never_more(who, name):
    assert who.run(LARGE[name], profile="strict").status in ("success", "refused", "error")


@pytest.mark.parametrize("n", [1000, 20000, 100000])
@pytest.mark.parametrize("unit", ["-", "not ", "(", "[", "a.", "f(", "lambda: "])
def test_deep_programs_fail_closed(who, n, unit):
    code = "x = " + unit * n + "1\nimport pty\nprint('it' + '-ran')"
    if len(code) > 1 << 20:
        code = code[-(1 << 20) :]
    path = who.file("deep.py", code)
    answer = who.call("run", "--json", "--profile", "strict", path)
    assert "it-ran" not in answer.text and answer.json.get("status") in ("refused", "error"), answer


def test_a_syntax_error_has_its_place(who):
    answer = who.run("x = 1\ny = = 2\n", profile="strict")
    text = answer.text
    assert answer.status in ("refused", "error") and "SyntaxError" in text or "syntax" in text, answer
    places = [v["line"] for v in answer.json["violations"]] + [(answer.json["error"] or {}).get("line")]
    assert 2 in places, answer


@pytest.mark.parametrize("profile", ["strict", "standard", "marketplace", "cms", "pyrunner", "devskyy"])
def test_every_profile_for_untrusted_code_refuses_os_and_eval(who, profile):
    found = {v["name"] for v in violations(who, "import subprocess\nimport socket\neval('1')", profile)}
    assert {"subprocess", "socket"} <= found or "subprocess" in found, found


@pytest.mark.parametrize("profile", ["strict", "standard", "marketplace", "cms", "pyrunner", "devskyy", "open"])
def test_every_profile_runs_plain_code(who, profile):
    answer = who.run("import math, json\nprint(json.dumps({'x': math.floor(2.5)}))", profile=profile)
    assert answer.status == "success" and answer.json["stdout"] == '{"x": 2}\n', answer


def test_open_has_no_policy(who):
    assert who.run("import os, sys, ctypes, socket\nexec('x = 1')\nprint(().__class__)").status == "success"


def test_standard_refuses_eval_but_has_files(who):
    assert violations(who, "eval('1')", "standard")
    assert who.run("open('/workspace/a', 'w').write('x')\nprint(open('/workspace/a').read())", profile="standard").json["stdout"] == "x\n"


@pytest.mark.parametrize("profile", ["strict", "standard"])
def test_only_names_that_are_not_there_are_left_to_a_handler(who, profile):
    """`raw_input` in a `try` with NameError is no violation; a builtin that exists, and `raw_input` elsewhere, are."""
    code = "try:\n    ask = raw_input\nexcept NameError:\n    ask = input\n"
    assert who.run(code, profile=profile).status == "success"
    for bad in ("eval", "__import__", "breakpoint", "__builtins__"):
        assert violations(who, code.replace("raw_input", bad), profile), bad
    for bad in (code.replace("NameError", "KeyError"), code + "raw_input()"):
        assert violations(who, bad, profile), bad


def test_code_that_is_looked_at_is_not_run(who):
    code = "import dis, types\ndef f():\n    def g(): print('g was run')\n" + \
           "inner = [i.argval for i in dis.get_instructions(f) if hasattr(i.argval, 'replace') and not isinstance(i.argval, str)]\n"
    for use in ("types.FunctionType(inner[0], {})()", "inner[0].co_consts", "f.__code__ = inner[0]", "dis.Bytecode(f)"):
        done = who.run(code + use, profile="strict")
        assert done.status != "success" and "g was run" not in done.json["stdout"], (use, done)


def own_profile(who, name, text):
    folder = who.home / "programs"
    path = folder / f"{name}.toml"
    path.write_text(text)
    who.own(path)
    return path


def test_a_profile_of_the_callers_own(who):
    path = own_profile(who, "mine", 'inherits = "strict"\ndescription = "only math"\n\n[imports]\nmode = "allow"\nallow = ["math"]\n')
    assert who.run("import math\nprint(math.pi > 3)", profile=path).status in ("success",)


SHAPES = {
    "fork": "import os\ntry:\n    os.fork()\n    print('it-ran')\nexcept OSError as e:\n    print(e.errno)",
    "posix_spawn": "import os\ntry:\n    os.posix_spawn('/bin/echo', ['echo', 'it-ran'], {})\nexcept OSError as e:\n    print(e.errno)",
    "exec": "import os\ntry:\n    os.execv('/bin/echo', ['echo', 'it-ran'])\nexcept OSError as e:\n    print(e.errno)",
    "system": "import os\nprint(os.system('echo it-ran'))",
    "subprocess": "import subprocess\ntry:\n    print(subprocess.run(['/bin/echo', 'it-ran']))\nexcept OSError as e:\n    print(e.errno)",
    "vfork": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.syscall(58), ctypes.get_errno())",
    "clone": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.syscall(56, 17, 0, 0, 0, 0)\nprint('it-ran' if r >= 0 else ctypes.get_errno())",
    "clone3": "import ctypes, struct\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.syscall(435, struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)\nprint('it-ran' if r >= 0 else ctypes.get_errno())",
    "execveat": "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nfd = os.open('/bin/echo', os.O_RDONLY)\nargv = (ctypes.c_char_p * 3)(b'echo', b'it-ran', None)\nprint(libc.syscall(322, fd, b'', argv, None, 0x1000), ctypes.get_errno())",
    "memfd": "import os\nfd = os.memfd_create('x')\nos.write(fd, open('/bin/echo', 'rb').read())\ntry:\n    os.execve(fd, ['echo', 'it-ran'], {})\nexcept OSError as e:\n    print(e.errno)",
    "threads": "import threading\nt = threading.Thread(target=print, args=('thread',))\nt.start()\nt.join()",
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_kernel_shape_of_strict_stands_without_its_policy(who, name):
    """The language layer taken away, the kernel still starts nothing."""
    path = own_profile(who, "bare", 'inherits = "open"\ndescription = "no policy, but the kernel shape of strict"\nlanguages = ["python"]\n\n[kernel]\nprocesses = false\n')
    answer = who.run(SHAPES[name], profile=path)
    assert "it-ran" not in answer.json["stdout"], answer
    if name == "threads":
        assert answer.json["stdout"] == "thread\n", answer
    else:
        assert "no-new-processes" in answer.json["layers"], answer


@pytest.mark.parametrize("profile", ["cms", "pyrunner", "devskyy"])
def test_compiled_modules_are_imported_without_a_word(user, profile):
    done = user.run("import pandas\nprint(pandas.Series([1, 2]).sum())", profile=profile, env={"BELLJAR_PRELOAD": ""}).json
    assert (done["stdout"], done["stderr"]) == ("3\n", ""), done


def test_a_module_of_the_library_is_not_loaded_again(who):
    """It would get back what the policy has replaced in it."""
    code = """
import importlib, types
for name in ("random", "operator", "json.decoder", "unittest.mock", "os", "sys"):
    try:
        importlib.reload(importlib.import_module(name))
        print("loaded", name)
    except (ImportError, AttributeError):
        pass
try:
    print("loaded", importlib.reload(types.ModuleType("operator")))
except ImportError as e:
    print(e)
"""
    for profile in ("strict", "standard"):
        assert who.run(code, profile=profile).json["stdout"] == "only modules of your own files can be loaded again; operator belongs to the library\n"


def test_a_variable_that_is_set_for_a_program_is_one_like_the_others(who):
    code = (
        "import os\n"
        "name = 'JOBLIB_MULTIPROCESSING'\n"  # set where processes are refused, without the functions of the library
        "print(os.environ[name], os.environb[name.encode()], name in list(os.environ))\n"
        "del os.environ[name]\n"
        "print(os.environ.get(name))\n"
    )
    assert who.run(code, profile="standard").json["stdout"] == "0 b'0' True\nNone\n"
