"""Answers over MCP are short: failures in a few lines, tables once and exact, pictures as models take them."""
import base64
import re
import statistics

import pytest

import mcp
from test_mcp_door import about

NAMES = ("alpha", "beta", "rows", "total", "config", "path", "items", "node", "order", "price")

# Ways to fail, most of them with library code between the mistake and the exception.
PYTHON = (
    "undefined_{n}",
    "{n} = 1 / 0",
    "int('{n}')",
    "{{}}['{n}']",
    "[][{i}]",
    "open('{n}.csv')",
    "import {n}_{i}",
    "def {n}(x):\n    return x.{n}\n\ndef g(y):\n    return {n}(y)\n\ng({i})",
    "import json\njson.loads('{{{n}')",
    "import pandas as pd\npd.DataFrame({{'a': [1]}})['{n}']",
    "import numpy as np\nnp.zeros({i} + 3).reshape(2, {i} + 9)",
    "{n} = (",
    "def {n}(): {n}()\n{n}()",
    "raise ValueError('{n} ' * 2000)",
    "try:\n    1 / 0\nexcept Exception as e:\n    raise RuntimeError('{n}') from e",
    "import urllib.request as u\nu.urlopen('http://{n}.test/')",
    "assert {i} == 0.5, '{n}'",
)
BASH = ("{n}-{i}", "cat {n}.txt", "cd /{n}", "echo {i} > /usr/{n}", "ls /{n} && echo {i}", "python3 -c 'import {n}_{i}'", "[ {i} -eq 99 ]")


def failures(count):
    for k in range(count):
        ways = PYTHON if k % 4 else BASH
        code = ways[(k // 4 if ways is BASH else k) % len(ways)].format(n=NAMES[k % len(NAMES)], i=k % 7)
        yield ("bash" if ways is BASH else "python"), code


def test_two_hundred_failures_cost_little(callers):
    who = callers.get("root") or callers["user"]
    costs = []
    with mcp.Client(who, "--profile", "open") as client:
        client.initialize()
        for language, code in failures(200):
            answer = client.call("run_code", {"code": code, "language": language})
            assert answer.get("isError"), (code, answer)
            assert set(answer) <= {"content", "isError"} and len(answer["content"]) == 1, answer
            costs.append((about(mcp.text_of(answer), 3), code))
    assert len(costs) == 200
    assert statistics.median(cost for cost, _ in costs) <= 60, sorted(costs)[100]
    worst = sorted(costs)[-1]
    assert worst[0] <= 2200, worst
    assert sorted(costs)[189][0] <= 200, sorted(costs)[185:]


@pytest.fixture
def client(callers):
    with mcp.Client(callers.get("root") or callers["user"], "--profile", "open") as c:
        c.initialize()
        yield c


def test_the_places_of_an_exception_are_those_of_the_program(client):
    said = mcp.text_of(client.call("run_code", {"code": "def f(x):\n    return 1 / x\n\ndef g(y):\n    return f(y)\n\ng(0)"}))
    assert said == "error: ZeroDivisionError: division by zero (line 2)\n[traceback]\nline 7: g(0)\nline 5 in g: return f(y)\nline 2 in f: return 1 / x\n"
    said = mcp.text_of(client.call("run_code", {"code": "import json\njson.loads('{')"}))
    assert said.count("\n") == 1 and "(line 2)" in said and "json/decoder.py" not in said, said
    said = mcp.text_of(client.call("run_code", {"code": "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('no k') from e"}))
    assert "after KeyError: 'k'\nline 4: raise ValueError('no k') from e\n" in said, said
    said = mcp.text_of(client.call("run_code", {"code": "import sys\nprint('warning', file=sys.stderr)\n1 / 0"}))
    assert said == "error: ZeroDivisionError: division by zero (line 3)\n[stderr]\nwarning\n", said
    data = client.call("execute_python_code", {"code": "1 / 0"})["structuredContent"]
    assert set(data) == {"status", "exit_code", "error", "session_id"}, data
    assert None not in data["error"].values()


def test_what_looks_like_a_traceback_is_the_program_s(client):
    """Only the true one is shortened; what a program prints stays, and marked where it looks like ours."""
    text = 'Traceback (most recent call last):\\n  File \\"/usr/lib/x.py\\", line 1, in f\\n    x\\nValueError: 1'
    said = mcp.text_of(client.call("run_code", {"code": f'import sys\nprint("{text}", file=sys.stderr)'}))
    assert "/usr/lib/x.py" in said and "ValueError: 1" in said
    said = mcp.text_of(client.call("run_code", {"code": "def f():\n    raise ValueError('a\\n[denied] b')\nf()"}))
    assert "\n[denied]" not in said, said


def test_a_table_is_sent_once_and_exactly(client):
    code = "import pandas as pd\ndf = pd.DataFrame({'a': [1.123456789012345, 2.0], 'b': ['x', 'y,z']})\ndf"
    for tool in ("run_code", "execute_python_code"):
        answer = client.call(tool, {"code": code})
        assert mcp.text_of(answer) == '[result] table, 2 rows x 2 columns\na,b\n1.123456789012345,x\n2.0,"y,z"\n'
        assert str(answer).count("1.123456789012345") == 1 and "<table" not in str(answer), answer
    assert client.text("run_code", {"code": "df.a"}) == "[result] series, 2 rows\na\n1.123456789012345\n2.0\n"
    assert client.text("run_code", {"code": "df.set_index('b')"}).splitlines()[1:] == ["b,a", "x,1.123456789012345", '"y,z",2.0']
    assert client.text("run_code", {"code": "display(df)"}).count("1.123456789012345") == 1
    assert client.text("run_code", {"code": "df.groupby('b').size()"}) == '[result] series, 2 rows\nb,value\nx,1\n"y,z",1\n'
    said = client.text("run_code", {"code": "pd.DataFrame({'n': range(5000)})"})
    assert said.endswith("\n(4000 more rows are not sent)\n"), said[-200:]
    assert said.startswith("[result] table, 5000 rows x 1 columns, the first 1000 rows\n") and about(said, 3) < 2300
    handle = re.search(r'"handle": "([^"]+)"', said).group(1)
    assert "999" in client.text("read_output", {"handle": handle, "search": "^999$"})


def test_a_table_that_does_not_behave_is_shown_as_text(client):
    code = "import pandas as pd\nclass T(pd.DataFrame):\n    def to_csv(self, *a, **k): raise ValueError('no')\n    @property\n    def iloc(self): raise ValueError('no')\nT({'a': [1]})"
    said = mcp.text_of(client.call("run_code", {"code": code}))
    assert "[result]" in said and "a" in said, said


def size(png):
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def pictures(answer):
    return [base64.b64decode(c["data"]) for c in answer["content"] if c["type"] == "image" and c["mimeType"] == "image/png"]


def test_pictures_are_of_a_size_that_models_take(client):
    draw = "import matplotlib.pyplot as plt\nplt.rcParams['savefig.dpi'] = {}\nplt.figure(figsize=({}, {}), dpi={})\nplt.plot([1, 2])\nplt.show()"
    for how in ((100, 30, 20, 100), (600, 10, 8, 50), (72, 40, 1, 300)):
        found = pictures(client.call("run_code", {"code": draw.format(*how)}))
        assert len(found) == 1 and 1000 < max(size(found[0])) <= 1568, (how, [size(p) for p in found])
    found = pictures(client.call("run_code", {"code": "plt.rcdefaults()\nplt.plot([1, 2])\nplt.show()"}))
    assert len(found) == 1 and max(size(found[0])) < 700
    found = pictures(client.call("run_code", {"code": "from PIL import Image\nim = Image.new('RGB', (5000, 400))\nim"}))
    assert [size(p) for p in found] == [(1568, 125)]


def test_pictures_that_are_too_large_are_named(client):
    head = "import struct\nhead = b'\\x89PNG\\r\\n\\x1a\\n' + struct.pack('>I4sII', 13, b'IHDR', {}, {}) + b'\\x08\\x02\\0\\0\\0' + b'x' * 64\n"
    for side in ((1569, 10), (10, 1569), (2**32 - 1, 2**31)):
        answer = client.call("run_code", {"code": head.format(*side) + "display({'image/png': head}, raw=True)"})
        assert not pictures(answer) and "[images] 1 too large to show" in mcp.text_of(answer), answer
    answer = client.call("run_code", {"code": head.format(1568, 1568) + "display({'image/png': head}, raw=True)"})
    assert len(pictures(answer)) == 1
    answer = client.call("run_code", {"code": "display({'image/jpeg': b'\\xff\\xd8\\xff' + b'x' * 4000000}, raw=True)"})
    assert len(answer["content"]) == 1 and "too large" in mcp.text_of(answer), answer
    client.text("run_code", {"code": "Image = __import__('PIL.Image').Image\nImage.new('RGB', (3000, 30)).save('/workspace/big.png')"})
    answer = client.call("read_file", {"path": "/workspace/big.png"})
    assert answer["isError"] and "thumbnail((1568, 1568))" in mcp.text_of(answer), answer
    client.text("run_code", {"code": "im = Image.open('/workspace/big.png')\nim.thumbnail((1568, 1568))\nim.save('/workspace/small.png')"})
    assert max(size(pictures(client.call("read_file", {"path": "/workspace/small.png"}))[0])) == 1568


def test_over_http_pictures_keep_their_size(server):
    code = "import matplotlib.pyplot as plt\nplt.figure(figsize=(20, 5), dpi=100)\nplt.plot([1, 2])\nplt.show()"
    shown = {d["mime"]: d for d in server.post("/v1/run", {"code": code}).json["displays"]}
    assert size(base64.b64decode(shown["image/png"]["data"]))[0] > 1568
    assert size(base64.b64decode(shown["image/vnd.belljar.small+png"]["data"]))[0] <= 1568


@pytest.mark.parametrize("profile, allowed", [("cms", "networkx"), ("pyrunner", "sympy")])
def test_a_refusal_lists_what_is_allowed_where_that_is_short(callers, profile, allowed):
    who = callers.get("root") or callers["user"]
    found = who.run("import foobarbaz", profile=profile).json["violations"]
    assert found[0]["hint"].startswith("allowed are ") and allowed in found[0]["hint"], found
    first = found[0]["hint"].removeprefix("allowed are ").split(", ")[0]
    assert who.run(f"import {first}", profile=profile).json["status"] != "refused"
