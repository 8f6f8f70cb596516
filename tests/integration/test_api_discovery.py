"""How a program finds out what `api` has, and what becomes of calls that are nearly right."""
import pathlib
import secrets
import shutil
import tempfile

import pytest

import mcp

# Characters; four are about a token.
HELP_MAX, MODULE_MAX = 520, 3000


@pytest.fixture
def one(callers):
    return callers["user"]


@pytest.fixture
def home(one):
    return {"XDG_STATE_HOME": str(one.directory("state-" + secrets.token_hex(4)))}


@pytest.fixture
def helpers():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bjhelp-", dir="/srv"))
    folder.chmod(0o755)
    (folder / "code_helpers.py").write_text("def get_nodes(): return [1]\n")
    (folder / "graphs").mkdir()
    (folder / "graphs" / "__init__.py").write_text("")
    yield {"BELLJAR_HELPERS": str(folder)}
    shutil.rmtree(folder)


@pytest.mark.parametrize("profile", ["standard", "open", "marketplace"])
def test_help_is_short(one, home, profile):
    if profile == "marketplace":  # which has no help()
        code = "import api\nprint(dir(api))"
        assert len(one.run(code, profile=profile, env=home).json["stdout"]) < 200
        return
    text = one.run("import api\nhelp(api)", profile=profile, env=home).json["stdout"]
    assert len(text) <= HELP_MAX and "code_transform: rename" in text and "help(api.MODULE)" in text, text
    for module in ("filesystem", "code_analysis", "code_transform", "git_operations", "masking", "web"):
        text = one.run(f"import api\nhelp(api.{module})", profile=profile, env=home).json["stdout"]
        assert len(text) <= MODULE_MAX and text.startswith(f"api.{module}: ") and "(" in text, text
    assert "Return the number of items" in one.run("help(len)", profile=profile, env=home).json["stdout"]


def test_helpers_servers_and_skills_are_found_in_the_same_way(one, home, helpers):
    code = "save_reusable_skill('doubling', 'def double(x): return 2 * x\\n')\nimport api\nhelp(api)"
    text = one.run(code, profile="standard", env={**home, **helpers}).json["stdout"]
    assert "helpers of the operator (import NAME): code_helpers, graphs\n" in text and "skills (from skills.NAME import FUNCTION): doubling\n" in text, text
    with mcp.Client(one, env={**home, **helpers}) as client:
        client.initialize()
        listed = client.call("list_available_apis", {"detail": "names"})["structuredContent"]
        assert listed["helpers"] == "code_helpers, graphs", listed
        assert "helpers" not in client.call("list_available_apis", {"name": "api.web"})["structuredContent"]


RIGHT = [
    "from api import read_file\nread_file(path='a.py')",
    "import api\napi.read_file('a.py')",
    "from api.code_transform import find_functions, read_file\nfind_functions('a.py')",
    "import api\nassert len(api.code_analysis.find_functions(['a.py', 'sub/b.py'])) == 2",
    "import api\nassert api.code_analysis.find_functions(path=('a.py',), limit=1)[0]['file'] == 'a.py'",
    "import api\nassert api.code_transform.rename_identifier(directory='.', old='f', new='h', dry_run=True)['total_replacements'] == 1",
    "import api\nassert api.code_transform.rename_identifier('**/*.py', 'f', 'h', dry_run=True)['total_replacements'] == 1",
    "import api\nassert api.code_transform.rename_identifier(['sub'], 'g', 'h', dry_run=True)['total_replacements'] == 1",
    "import api\nassert api.filesystem.search(directory='.', query='def')['total_matches'] == 2",
    "import api\nassert api.filesystem.search_replace('a.py', old_string='f', new_string='f', dry_run=True)",
    "import api\nassert api.filesystem.copy_lines(file='a.py', start=1, end=1).startswith('def f')",
]

WRONG = [
    ("api.filesystem.read_file('a.py', lines=3)", "read_file: there is no parameter 'lines'; call read_file(file_path, "),
    ("api.filesystem.read_file()", "read_file: missing a required argument: 'file_path'; call read_file(file_path, "),
    ("api.filesystem.read_file(['a.py', 'b.py'])", "file_path is one path, not a list; for many, call it in a loop"),
    ("api.filesystem.read_file('a.py', path='b.py')", "read_file: there is no parameter 'path'"),
    ("api.filesystem.write_files('a.py')", "module 'api.filesystem' has no attribute 'write_files'; it has read_file, write_file"),
    ("api.rename('a')", "module 'api' has no attribute 'rename'; it has code_analysis"),
]


@pytest.fixture
def place(one):
    folder = one.directory("calls-" + secrets.token_hex(4))
    (folder / "sub").mkdir()
    (folder / "a.py").write_text("def f(): pass\n")
    (folder / "sub" / "b.py").write_text("def g(): pass\n")
    for path in [folder, *folder.rglob("*")]:
        one.own(path)
    return folder


def test_calls_that_are_nearly_right_are_understood(one, place):
    code = "".join(f"def t{n}():\n    " + text.replace("\n", "\n    ") + f"\nt{n}()\n" for n, text in enumerate(RIGHT))
    done = one.run(code, "--allow", place, profile="standard")
    assert done.status == "success", done


def test_other_calls_are_answered_with_the_right_one(one, place):
    code = "import api\n" + "".join(f"try:\n    {text}\nexcept (TypeError, AttributeError) as error:\n    print(error)\n" for text, _ in WRONG)
    lines = one.run(code, "--allow", place, profile="standard").json["stdout"].splitlines()
    assert len(lines) == len(WRONG)
    for (text, said), line in zip(WRONG, lines):
        assert said in line, (text, line)
