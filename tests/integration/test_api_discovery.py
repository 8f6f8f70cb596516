"""How a program finds out what `api` has, and what becomes of calls that are nearly right."""
import json
import os
import pathlib
import secrets
import shutil
import tempfile

import pytest

import mcp
from test_reach_servers import settings

# Characters; four are about a token.
HELP_MAX, MODULE_MAX = 520, 3000


@pytest.fixture
def one(callers):
    return callers["user"]


@pytest.fixture
def home(one):
    return {"XDG_STATE_HOME": str(one.directory("state-" + secrets.token_hex(4)))}


HELPER = '''"""Nodes of the graph."""

def get_nodes(kind="a)b", *, limit: int = 5,
              **more) -> list:
    """The nodes of a kind.

    More words.
    """
    return [1]


def _private():
    pass


async def wait_for(node): return node


class Node:
    def method(self): pass
'''


@pytest.fixture
def helpers():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bjhelp-", dir="/srv" if os.getuid() == 0 else pathlib.Path.home()))
    folder.chmod(0o755)
    (folder / "code_helpers.py").write_text(HELPER)
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
        assert listed["helpers"] == ["code_helpers", "graphs"] and "doubling" in listed["skills"] and "servers" not in listed, listed
        assert "helpers" not in client.call("list_available_apis", {"name": "api.web"})["structuredContent"]


def test_a_helper_a_server_and_a_skill_are_described_as_api_is(one, home, helpers):
    config = settings(one, good=("good", ["--era=legacy"], ""))
    ours = {**home, **helpers}
    names = ("code_helpers", "code_helpers.get_nodes", "get_nodes", "graphs", "skills.doubling", "doubling", "servers.good", "servers.good.echo_text", "skills")
    inside = f"""
save_reusable_skill('doubling', 'def double(x, by=2):\\n    "Twice x."\\n    return by * x\\n')
import api, json
print(json.dumps([api.list_available_apis("full", name) for name in {names!r}] + [api.list_available_apis("names")]))"""
    done = one.run(inside, "--config", config, profile="standard", env=ours)
    assert done.code == 0, done
    seen = json.loads(done.json["stdout"])
    with mcp.Client(one, "--config", config, env=ours) as client:
        client.initialize()
        told = [client.call("list_available_apis", {"detail": "full", "name": name, "max_tokens": 100_000})["structuredContent"] for name in names]
        listed = client.call("list_available_apis", {"detail": "names", "max_tokens": 100_000})["structuredContent"]
        assert told == seen[:-1] and listed == seen[-1]
        assert listed["servers"] == ["good"] and listed["helpers"] == ["code_helpers", "graphs"] and "doubling" in listed["skills"]
        whole = told[0]["apis"]["code_helpers"]
        assert whole["description"] == "Nodes of the graph." and [f["signature"].split("(")[0] for f in whole["functions"]] == ["get_nodes", "wait_for"], whole
        nodes = {"signature": 'get_nodes(kind="a)b", *, limit: int = 5, **more)', "help": "The nodes of a kind.", "example": "from code_helpers import get_nodes"}
        assert told[1] == told[2] == {"apis": {"code_helpers": {"description": "Nodes of the graph.", "functions": [nodes]}}}
        assert told[3]["apis"]["graphs"]["functions"] == []
        double = {"signature": "double(x, by=2)", "help": "Twice x.", "example": "from skills.doubling import double"}
        assert told[4] == told[5] and told[8]["apis"]["skills.doubling"] == told[4]["apis"]["skills.doubling"], told
        assert told[4]["apis"]["skills.doubling"]["functions"] == [double], told[4]
        tools = {f["signature"].split("(")[0]: f for f in told[6]["apis"]["servers.good"]["functions"]}
        assert tools["echo_text"]["signature"] == "echo_text(text, times=None, from_=None)" and "not orders" in told[6]["apis"]["servers.good"]["description"], tools
        assert told[7]["apis"]["servers.good"]["functions"] == [tools["echo_text"]]
        shown = client.text("more", {"topic": "api"}).splitlines()
        assert {"helpers: code_helpers, graphs", "servers: good"} <= set(shown) and any("doubling" in s for s in shown if s.startswith("skills:")), shown
        assert "The nodes of a kind." in client.text("more", {"topic": "code_helpers.get_nodes"})
        assert "double(x, by=2)" in client.text("more", {"topic": "skills.doubling"})
        wrong = client.call("list_available_apis", {"name": "code_helper"})
        assert wrong["isError"] and "did you mean `code_helpers`" in mcp.text_of(wrong), wrong
    with mcp.Client(one, "--config", config, env=ours) as client:  # which has not asked the server yet
        client.initialize()
        assert "echo_text(text, times=None, from_=None)" in client.text("more", {"topic": "servers.good"})


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
