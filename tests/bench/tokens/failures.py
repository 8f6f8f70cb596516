#!/usr/bin/env python3
"""Programs that fail, in the ways in which programs of models fail, and what their answers over MCP cost in tokens.

    tests/bench/tokens/failures.py [--build DIR] [--show]      # median, largest, and the largest by name
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

SHAPES = {
    "alone": "{raise_}",
    "in a function": "def load(path):\n    rows = [1, 2]\n    {raise_}\n\nload('a.csv')",
    "ten calls deep": "def f(n):\n    if n == 0:\n        {raise_}\n    return f(n - 1)\n\nf(10)",
    "in a class": "class Reader:\n    def read(self):\n        return self.parse('x')\n    def parse(self, text):\n        {raise_}\n\nReader().read()",
    "in a library": "import functools\n\ndef f(a, b):\n    {raise_}\n\nfunctools.reduce(f, [1, 2, 3])",
    "while handling another": "try:\n    {{}}['a']\nexcept KeyError as error:\n    {raise_}",
}

RAISES = {
    "short": "raise ValueError('no such column')",
    "long": "raise ValueError('x' * 100_000)",
    "many lines": "raise RuntimeError('\\n'.join(f'line {i} of the message' for i in range(5000)))",
    "no message": "raise RuntimeError",
    "a large value": "raise KeyError({i: 'value %d' % i for i in range(20_000)})",
    "control characters": "raise ValueError('\\x1b[31m' + '\\x00\\x07' * 5000)",
    "other letters": "raise ValueError('日本語のエラー' * 3000)",
}

PYTHON = {
    "name": "prnt(1)", "name in a function": "def f():\n    return dta\ndf = 1\nf()", "attribute": "[].push(1)", "attribute of None": "import re\nre.match('a', 'b').group(0)",
    "attribute of a module": "import json\njson.laod('x')", "type": "len(5)", "arguments": "def f(a, b): pass\nf(1)", "unexpected keyword": "sorted([1], order=1)",
    "operands": "'a' + 1", "index": "[][3]", "key": "{'price': 1}['prices']", "value": "int('12a')", "zero": "1 / 0", "assertion": "assert 1 == 2, 'they differ'",
    "bare assertion": "assert [1] == [2]", "recursion": "def f(): return f()\nf()", "unpacking": "a, b = [1, 2, 3]", "iteration": "for x in 5: pass", "unhashable": "{[]: 1}",
    "frozen": "'abc'[0] = 'x'", "overflow": "import math\nmath.exp(1e9)", "unicode": "b'\\xff'.decode()", "unicode out": "'é'.encode('ascii')", "stop": "next(iter([]))",
    "exit 3": "import sys\nsys.exit(3)", "exit with a text": "import sys\nsys.exit('bad input: ' + 'x' * 50_000)", "interrupt": "raise KeyboardInterrupt", "not implemented": "raise NotImplementedError('later')",
    "a group": "raise ExceptionGroup('several', [ValueError(i) for i in range(300)])", "a deep group": "e = ValueError('x')\nfor i in range(8): e = ExceptionGroup('g', [e, e])\nraise e",
    "a long chain": "def f(n):\n    try:\n        if n == 0: raise ValueError('first')\n        f(n - 1)\n    except Exception as e:\n        raise RuntimeError(f'level {n}') from e\nf(60)",
    "its str fails": "class E(Exception):\n    def __str__(self): raise ValueError('no')\nraise E", "its repr is long": "class A:\n    def __repr__(self): return 'A' * 10**6\nA() + 1",
    "a long name": "class " + "E" * 5000 + "(Exception): pass\nraise " + "E" * 5000, "notes": "e = ValueError('x')\nfor i in range(2000): e.add_note('a note %d' % i)\nraise e",
    "syntax: parenthesis": "print((1, 2)\nx = 3", "syntax: quote": "x = 'abc", "syntax: colon": "if True\n    pass", "syntax: indentation": "def f():\nreturn 1", "syntax: tab": "if 1:\n\tx = 1\n        y = 2",
    "syntax: python 2": "print 'hello'", "syntax: assignment": "if x = 1: pass", "syntax: return": "return 5", "syntax: a long line": "x = [" + "1, " * 30_000 + "\ny = = 2", "syntax: await": "def f():\n    await g()",
    "syntax: prose": "Sure! Here is the code you asked for:\n\nx = 1", "syntax: json": '{"a": true, "b": null', "syntax: deep": "(" * 150 + ")" * 149, "syntax: nul": "x = 1\0", "syntax: walrus": "x := 5", "syntax: f-string": "f'{a b}'",
    "import of nothing": "import nowhere_at_all", "import of a package": "import tensorflow as tf", "import of a name": "from math import squareroot", "import of a submodule": "import json.nothing", "import with a slip": "import pandsa",
    "refused import": "import os\nos.system('ls')", "many refused imports": "\n".join(f"import m{i}" for i in range(400)), "refused builtin": "eval('1 + 1')\nexec('x = 1')", "refused attribute": "().__class__.__bases__[0].__subclasses__()",
    "many refused lines": "\n".join(f"x{i} = eval('{i}')" for i in range(3000)), "refused in a comprehension": "[__import__(m) for m in ('os', 'sys')]",
    "no file": "open('data.csv')", "no file in pandas": "import pandas as pd\npd.read_csv('sales.csv')", "a directory": "open('/workspace')", "read-only": "open('/usr/x', 'w')", "no permission": "open('/etc/shadow')", "a file's name": "open('a' * 5000)",
    "a closed file": "f = open('x', 'w')\nf.close()\nf.write('a')", "bad mode": "open('x', 'z')", "no folder": "open('a/b/c.txt', 'w')", "too large a file": "open('big', 'w').write('x' * 200_000_000)",
    "no host": "import urllib.request\nurllib.request.urlopen('https://example.com')", "no host in sockets": "import socket\nsocket.create_connection(('example.com', 80))", "refused connection": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
    "memory": "x = bytearray(4 * 1024**3)", "memory bit by bit": "x = []\nwhile True: x.append(bytearray(10**6))", "time": "while True: pass", "a long sleep": "import time\ntime.sleep(100)", "time after output": "i = 0\nwhile True:\n    print('working', i); i += 1",
    "output, then an error": "for i in range(20_000): print('row', i, 'of the table')\n1 / 0", "errors on stderr": "import sys\nfor i in range(10_000): print('warning', i, file=sys.stderr)\nraise SystemExit(1)", "binary output": "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 2000)\n1 / 0",
    "one long line": "print('x' * 2_000_000)\n1 / 0", "carriage returns": "for i in range(20_000): print(f'\\r{i}%', end='')\n1 / 0", "a warning each time": "import warnings\nfor i in range(500): warnings.warn(f'deprecated {i}')\n1 / 0",
    "a large result, then an error": "display([list(range(1000))] * 100)\n1 / 0", "columns": "import pandas as pd\npd.DataFrame({'a': [1]})['b']", "columns of 500": "import pandas as pd\npd.DataFrame({f'c{i}': [1] for i in range(500)})[['x', 'y']]",
    "shapes": "import numpy as np\nnp.ones((3, 2)) @ np.ones((3, 2))", "a length": "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf['b'] = [1, 2, 3]", "a merge": "import pandas as pd\npd.DataFrame({'a': [1]}).merge(pd.DataFrame({'b': [1]}), on='a')",
    "truth of a series": "import pandas as pd\nif pd.Series([1, 2]): pass", "a dtype": "import numpy as np\nnp.array(['a']) * 2.5", "a date": "import datetime\ndatetime.datetime.strptime('2024-13-01', '%Y-%m-%d')", "json": "import json\njson.loads(\"{'a': 1}\")",
    "json of an object": "import json\njson.dumps({1, 2})", "csv": "import csv\nlist(csv.DictReader([]))[0]", "a pattern": "import re\nre.compile('(')", "a fraction": "from decimal import Decimal\nDecimal('x')", "sqlite": "import sqlite3\nsqlite3.connect(':memory:').execute('select * from t')",
    "a figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2], [1])", "a style": "import matplotlib.pyplot as plt\nplt.style.use('seaborn-nothing')", "a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join()\nraise SystemExit(1)",
    "a task": "import asyncio\nasync def f(): 1 / 0\nawait asyncio.gather(f(), f())", "asyncio twice": "import asyncio\nasync def f(): pass\nasyncio.run(f())\nraise RuntimeError('x')", "a dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: list = []",
    "a test": "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual([1] * 1000, [2] * 1000)\nunittest.main(argv=['x'], exit=True)", "a log": "import logging\nfor i in range(300):\n    try: 1 / 0\n    except ZeroDivisionError: logging.exception('again')\nraise SystemExit(1)",
    "an abstract class": "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): pass\nA()", "a property": "class A:\n    @property\n    def x(self): return self._y\nA().x", "scopes": "x = 1\ndef f():\n    x += 1\nf()", "a generator": "def g():\n    yield 1\n    raise ValueError('inside')\nlist(g())",
    "a parser": "import argparse\nargparse.ArgumentParser().parse_args(['--nothing'])", "input": "input('your name? ')", "api: no file": "from api.filesystem import read_file\nread_file('nothing.py')", "api: a wrong keyword": "from api.filesystem import search\nsearch(folder='.', text='x')",
    "api: a wrong name": "import api\napi.filesystem.find('x')", "api: a git command": "from api.git_operations import git_commit\nr = git_commit('x')\nassert r['status'] == 'success', r", "tail of a notebook": "%matplotlib inline\nimport pandas", "an assertion of text": "assert 'a' * 50_000 == 'b' * 50_000, 'a' * 50_000",
}  # fmt: skip

BASH = {
    "no command": "foo --bar", "a slip": "gti status", "no file": "cat nothing.txt", "no folder": "cd nowhere && ls", "syntax": "if true; then echo x", "quote": "echo 'abc", "parenthesis": "echo (x)", "permission": "cat /etc/shadow", "read-only": "touch /usr/x",
    "status 1": "grep nothing /etc/passwd", "status 7": "exit 7", "killed": "kill -9 $$", "aborted": "sh -c 'kill -ABRT $$'", "unset": "set -u; echo $nothing_at_all", "stops at once": "set -e\nfalse\necho never", "a pipe": "set -o pipefail; cat nothing | wc -l", "long output": "seq 300000; exit 1",
    "long errors": "seq 300000 >&2; exit 1", "one long line": "head -c 2000000 /dev/zero | tr '\\0' x; exit 1", "binary": "head -c 100000 /dev/urandom; exit 1", "ls": "ls /nowhere /nothing /none", "git": "git status", "git: usage": "git commit --nothing", "a python error": "python3 -c 'import json; json.loads(\"{\")'",
    "a python script": "echo 'def f():\n    return 1/0\nf()' > t.py; python3 t.py", "a missing module": "python3 -c 'import requests_html'", "pip": "pip install nothing-of-that-name", "apt": "apt-get install -y jq", "sudo": "sudo ls", "curl": "curl -sS https://example.com/x", "curl with a bar": "curl -o x https://example.com/x",
    "wget": "wget https://example.com", "ssh": "ssh host", "docker": "docker ps", "node": "node -e 'x'", "make": "make all", "gcc": "echo 'int main(' > a.c; gcc a.c", "a loop": "while :; do :; done", "many errors": "for i in $(seq 150); do cat nothing$i; done", "tests": "python3 -m pytest -q nothing_here.py",
    "a test that fails": "printf 'def test_a():\\n    assert [1]*500 == [2]*500\\n' > test_a.py; python3 -m pytest -q test_a.py", "unittest": "python3 -m unittest nothing", "find": "find /proc -name x -exec false {} + 2>&1; exit 1", "sed": "sed 's/a/b' file", "awk": "awk '{print $1' file", "jq": "echo '{' | python3 -m json.tool", "tar": "tar xf nothing.tar", "a redirect": "echo x > /nowhere/x", "a bad test": "[ 1 -eq x ]",
    "arithmetic": "echo $((1/0))", "a function": "f() { g; }; f", "recursion": "f() { f; }; f", "processes": ":(){ :|:& };:; wait; exit 1", "a here document": "cat <<EOF\nabc\nexit 1", "a substitution": "echo ${x!y}", "an array": "a=(1 2); echo ${a[1}", "disk": "head -c 200000000 /dev/zero > big",
}  # fmt: skip


def programs():
    """(name, language, code); each fails."""
    made = [(f"{kind}, {shape}", "python", text.replace("{raise_}", code).replace("{{}}", "{}")) for shape, text in SHAPES.items() for kind, code in RAISES.items()]
    made += [(name, "python", code) for name, code in PYTHON.items()]
    made += [(f"bash: {name}", "bash", code) for name, code in BASH.items()]
    return made


def text_of(answer):
    """Everything of it that a model reads."""
    parts = [c["text"] if c["type"] == "text" else json.dumps(c) for c in answer["content"] if c["type"] not in ("image", "audio")]
    if "structuredContent" in answer:
        parts.append(json.dumps(answer["structuredContent"], separators=(",", ":"), ensure_ascii=False))
    return "\n".join(parts)


def repeated(text, least=40):
    """Lines of some length that stand in the answer more than once."""
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) >= least]
    return sorted({line for line in lines if lines.count(line) > 1})


# --- the measurement ---


class Client:
    def __init__(self, program, *args):
        self.process = subprocess.Popen([program, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})

    def ask(self, method, params):
        self.last += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.last and "method" not in message:
                return message["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(program):
    client = Client(program, "--timeout", "2")
    answers = {}
    for name, language, code in programs():
        arguments = {"code": code, "language": language, "session_id": "new"}
        answers[name] = client.ask("tools/call", {"name": "run_code", "arguments": arguments})
        found = [word.rstrip(".,;:") for word in text_of(answers[name]).split() if word.startswith("ses_")]
        if found:
            client.ask("tools/call", {"name": "end_session", "arguments": {"session_id": found[-1]}})
    client.close()
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--show", action="store_true", help="print every answer")
    options = parser.parse_args()
    import counter

    answers = measure(os.path.abspath(os.path.join(options.build, "belljar")))
    texts = {name: text_of(answer) for name, answer in answers.items()}
    try:
        counts = counter.Counter(os.path.join(os.path.abspath(options.build), "tokenizers"))
    except counter.Unavailable as why:
        print(f"{why}: tokens are bytes divided by four", file=sys.stderr)
        counts = counter.Estimate()
    counts.learn(list(texts.values()))
    o200k = counts.of("o200k")
    sizes = sorted(((o200k(text), name) for name, text in texts.items()), reverse=True)
    if options.show:
        for size, name in sizes:
            print(f"===== {name}: {size} tokens\n{texts[name]}")
    values = [size for size, _ in sizes]
    print(f"{len(values)} failing programs: median {statistics.median(values):.0f} tokens, nine of ten at most {values[len(values) // 10]}, largest {values[0]} ({sizes[0][1]})")
    print(f"not marked as errors: {[name for name, answer in answers.items() if not answer.get('isError')]}")
    print(f"with repeated lines: {[name for name, text in texts.items() if repeated(text)]}")


if __name__ == "__main__":
    main()
