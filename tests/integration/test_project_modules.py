"""Modules of the granted directory in which a program starts: importable in `standard`, and in no stricter profile."""
import secrets

import pytest

import mcp
import serving

FILES = {
    "shop/__init__.py": "from .core import total\n",
    "shop/core.py": "import os\nimport subprocess\nfrom . import rates\n\ndef total(x):\n    return x * rates.RATE, os.path.basename(os.getcwd()) != ''\n",
    "shop/rates.py": "RATE = 3\n",
    "single.py": "import shop.core\nVALUE = shop.core.total(2)\n",
    "json.py": "print('PLANTED')\n",
    "pandas.py": "print('PLANTED')\n",
}


@pytest.fixture
def project(who):
    folder = who.directory("project-" + secrets.token_hex(4))
    (folder / "shop").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for path in [folder, *folder.rglob("*")]:
        who.own(path)
    return folder


@pytest.mark.smoke
@pytest.mark.parametrize("mode", [":ro", ":rw", ":cow"])
def test_a_project_is_imported(who, project, mode):
    code = "import single\nfrom shop import total\nfrom shop.rates import RATE\nimport shop.core as core\nprint(single.VALUE, total(1), RATE, core.total.__name__)"
    done = who.run(code.replace(", core.total.__name__", ""), "--allow", f"{project}{mode}", profile="standard")
    assert done.json["stdout"] == "(6, True) (3, True) 3\n", done


def test_a_module_that_was_just_changed(who, project):
    code = "open('shop/rates.py', 'w').write('import os\\nRATE = 5\\n')\nopen('fresh.py', 'w').write('import os\\nfrom shop import total\\n')\nfrom shop import total\nprint(total(1))"
    assert who.run(code, "--allow", f"{project}:rw", profile="standard").json["stdout"] == "(5, True)\n"
    assert who.run("import fresh\nprint(fresh.total(1))", "--allow", f"{project}:rw", profile="standard").json["stdout"] == "(5, True)\n"


def test_sessions_of_servers_and_mcp(who, project):
    server = serving.Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "standard", "BELLJAR_ALLOW": str(project)})
    try:
        assert server.post("/v1/sessions", {"name": "s", "allow": [str(project)]}).status == 201
        for _ in range(2):
            done = server.post("/v1/sessions/s/execute", {"code": "from shop import total\nprint(total(1))"}).json
            assert done["stdout"] == "(3, True)\n", done
    finally:
        assert server.stop() == 0, server.said
    with mcp.Client(who, "--allow", project) as client:
        client.initialize()
        assert client.text("execute_python_code", {"code": "import single\nprint(single.VALUE)"}).startswith("(6, True)")


def test_the_library_comes_first(who, project):
    done = who.run("import json, pandas\nprint(json.dumps(1))", "--allow", project, profile="standard")
    assert done.json["stdout"] == "1\n", done


@pytest.mark.parametrize("code", [
    "import os\nos.system('id')", "import subprocess", "import nowhere", "import ctypes", "from shop.core import os", "from shop.core import subprocess", "import shop.core\nshop.core.os.system('id')",
    "import shop.core\nshop.core.subprocess.run(['id'])", "import shop\neval('1')",
])  # fmt: skip
def test_the_program_itself_is_judged_as_before(who, project, code):
    done = who.run(code, "--allow", project, profile="standard")
    assert done.status in ("refused", "error") and "uid=" not in done.json["stdout"], done


@pytest.mark.parametrize("profile", ["marketplace"])
def test_a_stricter_profile_refuses_it(who, project, profile):
    done = who.run("import shop", "--allow", project, profile=profile)
    assert done.status == "refused" and "shop" in done.json["violations"][0]["name"], done


def test_without_the_directory_there_is_nothing(who, project):
    assert who.run("import shop", profile="standard").json["error"]["name"] == "ModuleNotFoundError"
    assert who.run("import shop", "--allow", project, "--workdir", "/workspace", profile="standard").json["error"]["name"] == "ModuleNotFoundError"


def test_a_module_of_the_run_is_judged_like_the_program(who, project):
    code = "open('/workspace/other.py', 'w').write({!r})\nimport other\nprint(other.x)"
    assert who.run(code.format("import os\nx = os.path.join('a', 'b')"), "--allow", project, profile="standard").json["stdout"] == "a/b\n"
    for profile, text in (("standard", "import subprocess\nx = 1"), ("strict", "x = eval('1')"), ("strict", "import os\nx = os.fork")):
        error = who.run(code.format(text), profile=profile).json["error"]
        assert error["name"] == "ImportError" and "/workspace/other.py, line " in error["message"], error
    plant = (
        "import os, sys, struct\nopen('/workspace/other.py', 'w').write('x = 1')\nos.makedirs('/workspace/__pycache__')\n"
        "open('/workspace/__pycache__/other.cpython-%d%d.pyc' % sys.version_info[:2], 'wb').write(bytes(16) + b'planted')\nimport other\nprint(other.x)"
    )
    assert who.run(plant, profile="strict").json["stdout"] == "1\n"


def test_native_modules_are_refused(who, project):
    (project / "native.so").write_bytes(b"\x7fELF" + bytes(200))
    who.own(project / "native.so")
    done = who.run("import native", "--allow", project, profile="standard")
    assert done.status in ("refused", "error") and done.status != "success", done


def test_a_check_without_running_knows_them(who, project):
    done = who.call("run", "--check", "--json", "--allow", project, "--profile", "standard", "-c", "import shop, single")
    assert done.code == 0, done
