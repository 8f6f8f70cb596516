"""Programs as other systems' documents show them: pasted, in a granted directory, at every door."""
import json
import secrets

import pytest

import mcp
import serving

# A function in one module, re-exported by its package, and 49 files that use it. 127 places have its name.
FILES, USES = 50, 127

RENAME = """
from api.code_transform import rename_identifier

result = rename_identifier(
    pattern='.',
    old_name='loadOrder',
    new_name='fetchOrder',
    file_pattern='**/*.py'
)
"""

EXTRACT = """
from api.code_analysis import find_functions
from api.filesystem import copy_lines, paste_code

helpers = find_functions('main.py', pattern='.*_helper$')
for one in helpers:
    text = copy_lines('main.py', one['start_line'], one['end_line'])
    paste_code('helpers.py', -1, text)

result = {"moved": len(helpers), "names": [one['name'] for one in helpers]}
"""

AUDIT = """
from api.code_analysis import analyze_dependencies, find_unused_imports
from pathlib import Path

files = list(Path('.').glob('**/*.py'))
found = []
for file in files:
    figures = analyze_dependencies(str(file))
    unused = find_unused_imports(str(file))
    if unused or figures['complexity'] > 10:
        found.append({'file': str(file), 'complexity': figures['complexity'], 'unused': unused})

result = {"audited": len(files), "issues": len(found), "complex": [f['file'] for f in found if f['complexity'] > 10]}
"""

STATE = """
session = create_refactoring_session("NAME", "new syntax everywhere")
files, errors = ['a.py', 'b.py', 'c.py'], []
for i, file in enumerate(files):
    if i % 2 == 0:
        save_session_state(session['id'], {'processed': files[:i], 'remaining': files[i:], 'errors': errors})

result = load_session_state(session['id'])['state']
"""

SKILL = """
save_reusable_skill(
    name="NAME",
    code='''
def transform(code):
    import re
    return re.sub(r'^\\\\s*print\\\\(.*\\\\)\\\\n?', '', code, flags=re.MULTILINE)
''',
    description="removes prints"
)

from skills.NAME import transform
result = transform('a = 1\\nprint(a)\\n')
"""


@pytest.fixture
def project(who):
    folder = who.directory("shop-" + secrets.token_hex(4))
    (folder / "orders").mkdir()
    texts = {"orders/store.py": "def loadOrder(number):\n    '''loadOrder reads one order.'''\n    return {'number': number}\n",
             "orders/__init__.py": "from .store import loadOrder\n\n__all__ = ['loadOrder']\n",
             "main.py": "import json\nfrom orders import loadOrder\n\ndef sum_helper(a):\n    return sum(a)\n\ndef run():\n    # loadOrder is used here\n"
                        "    return loadOrder(1), loadOrder(2)\n\ndef max_helper(a):\n    return max(a)\n"}  # fmt: skip
    left = USES - 6
    for number in range(3, FILES):
        calls = left - (FILES - 1 - number) * 2 if number == FILES - 1 else 2 + (number % 2 if left > (FILES - number) * 2 else 0)
        texts[f"job{number}.py"] = "from orders import loadOrder\n" + "loadOrder(0)\n" * (calls - 1)
        left -= calls
    for name, text in texts.items():
        (folder / name).write_text(text)
    for path in [folder, *folder.rglob("*")]:
        who.own(path)
    assert len(texts) == FILES and left == 0
    return folder


def by_command(who, project, code, env):
    done = who.run(code, "--allow", f"{project}:rw", profile=None, env=env)
    assert done.status == "success", done
    return done.json["result"]["json"]


def by_http(who, project, code, env):
    server = serving.Server(who, "--socket", "none", env={**env, "BELLJAR_ALLOW": f"{project}:rw"})
    try:
        done = server.post("/v1/run", {"code": code, "allow": [f"{project}:rw"]}).json
    finally:
        assert server.stop() == 0, server.said
    assert done["status"] == "success", done
    return done["result"]["json"]


def by_mcp(who, project, code, env):
    with mcp.Client(who, "--allow", f"{project}:rw", "--compat", "marketplace", env=env) as client:
        client.initialize()
        done = client.call("execute_python", {"code": code})["structuredContent"]
    assert done["status"] == "success", done
    return done["result"]


@pytest.fixture(params=[by_command, by_http, by_mcp])
def run(request, who, project):
    env = {"XDG_STATE_HOME": str(who.directory("state-" + secrets.token_hex(4)))}
    return lambda code: request.param(who, project, code, env)


@pytest.mark.smoke
def test_a_rename_in_fifty_files(run, project):
    done = run(RENAME)
    assert (done["status"], done["files_modified"], done["total_replacements"]) == ("success", FILES, USES), done
    text = (project / "orders" / "store.py").read_text()
    assert "def fetchOrder" in text and "loadOrder reads" in text
    assert "# loadOrder is used here" in (project / "main.py").read_text()
    assert "['fetchOrder']" in (project / "orders" / "__init__.py").read_text()


def test_functions_move_to_a_new_file(run, project):
    assert run(EXTRACT) == {"moved": 2, "names": ["sum_helper", "max_helper"]}
    assert (project / "helpers.py").read_text() == "def sum_helper(a):\n    return sum(a)\ndef max_helper(a):\n    return max(a)\n"


def test_an_audit_of_a_tree(run, project):
    (project / "orders" / "deep.py").write_text("def f(x):\n" + "    if x: pass\n" * 11)
    assert run(AUDIT) == {"audited": FILES + 1, "issues": 2, "complex": ["orders/deep.py"]}


def test_state_is_saved_without_an_import(run):
    assert run(STATE.replace("NAME", "modernise")) == {"processed": ["a.py", "b.py"], "remaining": ["c.py"], "errors": []}


def test_a_skill_is_saved_without_an_import_and_used_at_once(run):
    for _ in range(2):  # pasted again, it is the same skill
        assert run(SKILL.replace("NAME", "without_prints")) == "a = 1\n"


def test_everything_by_its_short_name(run):
    code = "from execution_runtime import *\nresult = [fs.read_file('main.py')[:11], code.find_functions('main.py', count_only=True), Session('s')['id'], mask_secrets('x')]"
    assert run(code) == ["import json", 3, "s", "x"]


# --- a Python that a program starts ---

CHILD = """
import api, sys
from api import code_analysis, code_transform, filesystem, git_operations
from api.filesystem import search
from execution_runtime import fs
print(code_analysis.find_functions('main.py', count_only=True), search('**/*.py', 'loadOrder', count_only=True))
print(code_transform.rename_identifier('.', 'loadOrder', 'fetchOrder', create_backup=False)['total_replacements'])
"""


def test_a_child_has_the_library(who, project):
    (project / "child.py").write_text(CHILD)
    done = who.run("python3 child.py", "--language", "bash", "--allow", f"{project}:rw", profile="standard")
    assert done.json["stdout"].splitlines()[1:] == [str(USES)] and done.json["stdout"].startswith("3 "), done
    code = "import subprocess, sys\nprint(subprocess.run([sys.executable, 'child.py'], capture_output=True, text=True))"
    done = who.run(code, "--allow", f"{project}:rw", profile="open")
    assert "returncode=0" in done.json["stdout"] and "ModuleNotFoundError" not in done.json["stdout"], done


def test_a_child_is_told_what_it_cannot_do(who):
    code = "import subprocess\nfor text in ('import api; api.list_available_apis()', 'import api.masking', 'from execution_runtime import Session; Session(1)'):\n" \
           "    print(subprocess.run(['python3', '-c', text], capture_output=True, text=True).stderr.splitlines()[-1])"  # fmt: skip
    lines = who.run(code, profile="open").json["stdout"].splitlines()
    assert len(lines) == 3 and all("not by a Python that it starts" in line or "not in a Python that it starts" in line for line in lines), lines


def test_a_child_finds_its_own_modules_first(who, project):
    (project / "api").mkdir()
    (project / "api" / "__init__.py").write_text("own = 1\n")
    done = who.run("python3 -c 'import api; print(api.own)'; python3 -I -c 'import api' 2>&1 | tail -1", "--language", "bash", "--allow", project, profile="open")
    assert done.json["stdout"] == "1\nModuleNotFoundError: No module named 'api'\n", done


def test_the_library_of_a_child_cannot_be_changed(who):
    code = "import pathlib\nfor name in ('api/__init__.py', 'new.py'):\n    try:\n        (pathlib.Path('/etc/belljar-library') / name).write_text('x')\n        print('written')\n" \
           "    except OSError as error:\n        print(error.strerror)"  # fmt: skip
    assert "written" not in who.run(code, profile="open").json["stdout"]


@pytest.mark.parametrize("profile", ["strict", "pyrunner", "cms"])
def test_a_profile_without_state_refuses_in_one_line(who, profile):
    done = who.run("create_refactoring_session('x')", profile=profile)
    assert done.status != "success" and json.dumps(done.json["error"]).count("state.create") + done.json["stderr"].count("execution_runtime") > 0, done
