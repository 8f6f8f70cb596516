"""The tasks, what each arm does about them, and whether it was right.

Picked by a seed from the standard library of Debian's package; each has a result that a program can check. The arms with file
tools are given perfect judgement: they read what such an agent must read, and then make exactly the right edits.
"""
import ast
import json
import os
import random
import re

import oracle

NEW = "renamed_by_the_bench"


def write(root, path, data):
    with open(os.path.join(root, path), "wb") as file:
        file.write(data)


def load(root, path):
    with open(os.path.join(root, path), "rb") as file:
        return file.read()


def line_edit(file, number, new_line):
    """(old, new) of one line, with as many lines above it as make it the only one in the file."""
    lines, first = file.lines, number
    whole = "".join(lines)
    while whole.count("".join(lines[first - 1 : number])) != 1:
        first -= 1
    above = "".join(lines[first - 1 : number - 1])
    return above + lines[number - 1], above + new_line


class Command:
    """A task for which a line of shell is enough, wherever there is a shell."""

    def shell(self, agent):
        agent.turn(("bash", {"command": self.command()}))

    def notebook(self, agent):
        agent.turn(("execute_code", {"code": "!" + self.command()}))

    def belljar(self, agent, shown):
        agent.run(self.command(), language="bash")


class Copy(Command):
    """Copy one function of a module into a new file."""

    name = "copy 1 function"

    def __init__(self, file, node):
        self.file, self.function = file, node.name
        self.first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self.last = node.end_lineno
        self.source = "".join(file.lines[self.first - 1 : self.last])

    @classmethod
    def pick(cls, files, rng, draws):
        """By size: one of each part of all functions."""
        found = sorted(((n.end_lineno - n.lineno, f.path, n.name), f, n) for f in files for n in f.tree.body if isinstance(n, ast.FunctionDef)
                       and sum(isinstance(m, ast.FunctionDef) and m.name == n.name for m in ast.walk(f.tree)) == 1)  # fmt: skip
        return [cls(*rng.choice(found[len(found) * k // draws : len(found) * (k + 1) // draws])[1:]) for k in range(draws)]

    def naive(self, agent):
        agent.turn(("read_file", {"path": self.file.path}))
        agent.turn(("write_file", {"path": "copied.py", "content": self.source}))

    def careful(self, agent):
        agent.turn(("grep", {"pattern": rf"def {self.function}\b", "path": self.file.path}))
        at = max(1, self.first - 3)
        while at <= self.last:
            agent.turn(("read_file", {"path": self.file.path, "offset": at, "limit": 50}))
            at += 50
        agent.turn(("write_file", {"path": "copied.py", "content": self.source}))

    def command(self):
        start = rf"/^def {self.function}\(/"
        return f"awk '{start}{{p=1;print;next}} p&&/^[^ \\t#)]/{{exit}} p' {self.file.path} > copied.py"

    def code(self, agent):
        agent.turn(("run", {"code": f"import ast\nt = read_file({self.file.path!r})\nn = next(n for n in ast.parse(t).body if getattr(n, 'name', '') == {self.function!r})\n"
                                    "write_file('copied.py', ''.join(t.splitlines(True)[min([n.lineno] + [d.lineno for d in n.decorator_list]) - 1 : n.end_lineno]))"}))  # fmt: skip

    def check(self, root, answer):
        try:
            return load(root, "copied.py").decode().rstrip() == self.source.rstrip()
        except FileNotFoundError:
            return False


class Rename:
    """Rename a function or class that is defined once, everywhere it is used."""

    def __init__(self, name, file, files, old, places):
        self.name, self.file, self.files, self.old, self.places = name, file, files, old, places

    @classmethod
    def pick(cls, name, files, rng, draws, low, high):
        """Names whose every place can be decided, used in `low` to `high` files."""
        words, defined = {}, {}
        for file in files:
            for word in set(re.findall(rb"\w+", file.data)):
                words[word.decode("latin-1")] = words.get(word.decode("latin-1"), 0) + 1
            for node in file.tree.body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    defined.setdefault(node.name, []).append(file)
        candidates = sorted(n for n, found in defined.items() if len(found) == 1 and low <= words[n] <= 3 * high and not n.startswith("_"))
        rng.shuffle(candidates)
        tasks = []
        for old in candidates:
            file = defined[old][0]
            places = oracle.occurrences(files, file.module, old)
            used = sum("it" in found.values() for found in places.values())
            is_open = any("open" in found.values() for found in places.values())
            if low <= used <= high and not is_open and not cls.is_bound_twice(file, old):
                tasks.append(cls(name, file, files, old, places))
            if len(tasks) == draws:
                break
        return tasks

    @staticmethod
    def is_bound_twice(file, old):
        """A module that takes a faster one from elsewhere, if there is one, has two things of that name."""
        return any(isinstance(n, ast.ImportFrom) and any((a.asname or a.name) == old for a in n.names) for n in ast.walk(file.tree))

    def wanted(self):
        """{path: what it must be} of the files that change."""
        return {f.path: oracle.renamed(f, self.places[f.path], self.old, NEW) for f in self.files
                if {"it", "listed"} & set(self.places.get(f.path, {}).values())}  # fmt: skip

    def edits(self):
        """One for each line: (path, old, new), from below, so that each is found as it was read."""
        for file in self.files:
            places = [p for p, kind in self.places.get(file.path, {}).items() if kind in ("it", "listed")]
            for number in sorted({line for line, _ in places}, reverse=True):
                text = file.lines[number - 1]
                for _, column in sorted((p for p in places if p[0] == number), reverse=True):
                    text = text[:column] + NEW + text[column + len(self.old) :]
                yield file, number, text

    def edit_calls(self):
        return [("edit_file", dict(zip(("path", "old_string", "new_string"), (f.path, *line_edit(f, n, new))))) for f, n, new in self.edits()]

    def naive(self, agent):
        paths = agent.turn(("grep", {"pattern": rf"\b{self.old}\b", "glob": "*.py", "files_only": True}))[0].split("\n")
        agent.turn(*(("read_file", {"path": path}) for path in paths))
        agent.turn(*self.edit_calls())

    def careful(self, agent):
        agent.turn(("grep", {"pattern": rf"\b{self.old}\b", "glob": "*.py"}))
        unsure = [(f, n) for f, n, new in self.edits() if line_edit(f, n, new)[0] != f.lines[n - 1]]
        if unsure:
            agent.turn(*(("read_file", {"path": f.path, "offset": max(1, n - 10), "limit": 21}) for f, n in unsure))
        agent.turn(*self.edit_calls())

    def mistakes(self):
        """Places that are not the name's: {path: [(line, which of the names in it)]}, the last of a line first."""
        found, word = {}, re.compile(rf"\b{self.old}\b")
        for file in self.files:
            good = {p for p, kind in self.places.get(file.path, {}).items() if kind in ("it", "listed")}
            for number, line in enumerate(file.lines, 1):
                wrong = [(number, n) for n, m in enumerate(word.finditer(line), 1) if (number, m.start()) not in good]
                found.setdefault(file.path, []).extend(reversed(wrong))
        return {path: wrong for path, wrong in found.items() if wrong}

    def commands(self):
        """Rename by text, look at what was changed, and put back what is something else."""
        yield f"grep -rlw --include='*.py' {self.old} . | xargs sed -i 's/\\b{self.old}\\b/{NEW}/g'"
        yield f"grep -rnw --include='*.py' {NEW} ."
        repairs = [f"sed -i '{';'.join(f'{number}s/{chr(92)}b{NEW}{chr(92)}b/{self.old}/{n}' for number, n in wrong)}' {path}" for path, wrong in self.mistakes().items()]
        if repairs:
            yield "\n".join(repairs)

    def shell(self, agent):
        for command in self.commands():
            agent.turn(("bash", {"command": command}))

    def notebook(self, agent):
        for command in self.commands():
            agent.turn(("execute_code", {"code": "!" + command if "\n" not in command else "%%bash\n" + command}))

    def code(self, agent):
        agent.turn(("run", {"code": f"import re\nfor p in sorted({{p for p, _, _ in grep(r'\\b{self.old}\\b', glob='*.py')}}):\n    write_file(p, re.sub(r'\\b{self.old}\\b', '{NEW}', read_file(p)))\n"
                                    f"for g in grep('{NEW}', glob='*.py'): print(*g)"}))  # fmt: skip
        wrong = {path: sorted(places) for path, places in self.mistakes().items()}
        if wrong:
            agent.turn(("run", {"code": f"import re\nfor p, places in {wrong!r}.items():\n    lines = read_file(p).split('\\n')\n    for n, k in reversed(places):\n"
                                        f"        parts = lines[n - 1].split('{NEW}')\n        lines[n - 1] = '{NEW}'.join(parts[:k]) + '{self.old}' + '{NEW}'.join(parts[k:])\n    write_file(p, '\\n'.join(lines))"}))  # fmt: skip

    def belljar(self, agent, shown):
        agent.learn("code_transform.rename_identifier")
        return agent.run(f'from api import code_transform\nr = code_transform.rename_identifier(".", "{self.old}", "{NEW}", create_backup=False)\n'
                         '{k: r[k] for k in ("status", "files_modified", "total_replacements", "conflicts", "unchanged", "skipped")}')  # fmt: skip

    def check(self, root, answer):
        """A file that is left as it was is right if the answer names it, as one that was skipped."""
        wanted, told = self.wanted(), (answer or "").partition("'skipped': ")[2]
        return all(have == wanted.get(f.path, f.data) or (have == f.data and f"/{f.path}'" in told)
                   for f in self.files for have in [load(root, f.path)])  # fmt: skip

    def wrong(self, root):
        """Lines that are not what they must be."""
        wanted, count = self.wanted(), 0
        for file in self.files:
            have = load(root, file.path)
            if have != wanted.get(file.path, file.data):
                pairs = zip(have.split(b"\n"), wanted.get(file.path, file.data).split(b"\n"))
                count += sum(a != b for a, b in pairs)
        return count


def defined(tree):
    """Functions and classes, wherever they stand."""
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return functions, sum(isinstance(n, ast.ClassDef) for n in ast.walk(tree))


DEFINITION = r"^\s*((async\s+)?def|class)\s"


class Question:
    """A task whose answer is what a program prints as JSON."""

    def shell(self, agent):
        return json.loads(agent.turn(("bash", {"command": f"python3 - <<'EOF'\n{self.program()}\nEOF"}))[0])

    def notebook(self, agent):
        return json.loads(agent.turn(("execute_code", {"code": self.program()}))[0])

    def code(self, agent):
        return json.loads(agent.turn(("run", {"code": self.program_of_functions()}))[0])

    def belljar(self, agent, shown):
        return json.loads(agent.run(self.program()) or "null")

    def check(self, root, answer):
        return answer == self.expected()


class Analyze(Question):
    """Count what a hundred files define, and name the five that define most."""

    name = "analyze 100 files"

    def __init__(self, files):
        self.files = sorted(files, key=lambda f: f.path)

    @classmethod
    def pick(cls, files, rng, draws, size=100):
        return [cls(rng.sample(files, size)) for _ in range(draws)]

    def prepare(self, root):
        write(root, "files.txt", "".join(f.path + "\n" for f in self.files).encode())

    def expected(self):
        counts = {f.path: len(defined(f.tree)[0]) for f in self.files}
        return self.summary(counts, sum(defined(f.tree)[1] for f in self.files))

    @staticmethod
    def summary(counts, classes):
        return {"functions": sum(counts.values()), "classes": classes, "most": sorted(counts, key=lambda p: (-counts[p], p))[:5]}

    def naive(self, agent):
        agent.turn(("read_file", {"path": "files.txt"}))
        agent.turn(*(("read_file", {"path": f.path}) for f in self.files))
        return self.expected()  # at best

    def careful(self, agent):
        agent.turn(("read_file", {"path": "files.txt"}))
        hits = agent.turn(*(("grep", {"pattern": DEFINITION, "path": f.path}) for f in self.files))
        lines = {f.path: [line.split(":", 2)[2] for line in text.split("\n") if text != "no matches"] for f, text in zip(self.files, hits)}
        counts = {path: sum("class " not in line[: line.find("class ") + 6].lstrip()[:6] for line in found) for path, found in lines.items()}
        return self.summary(counts, sum(map(len, lines.values())) - sum(counts.values()))

    def program(self, read="open('files.txt').read()", parse="open(p, 'rb').read()"):
        return (f"import ast, json\nc, k = {{}}, 0\nfor p in {read}.split():\n    t = list(ast.walk(ast.parse({parse})))\n"
                "    c[p] = sum(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in t)\n    k += sum(isinstance(n, ast.ClassDef) for n in t)\n"
                "print(json.dumps({'functions': sum(c.values()), 'classes': k, 'most': sorted(c, key=lambda p: (-c[p], p))[:5]}))")  # fmt: skip

    def program_of_functions(self):
        return self.program("read_file('files.txt')", "read_file(p)")


class Audit(Question):
    """All files: functions, classes, functions without a docstring, the five longest functions."""

    name = "audit all files"

    def __init__(self, files):
        self.files = files

    @classmethod
    def pick(cls, files, rng, draws):
        return [cls(files)]

    def expected(self):
        functions = [(f, n) for f in self.files for n in defined(f.tree)[0]]
        longest = sorted(((n.end_lineno - n.lineno + 1, n.name, f.path) for f, n in functions), key=lambda e: (-e[0], e[1], e[2]))[:5]
        return {"functions": len(functions), "classes": sum(defined(f.tree)[1] for f in self.files),
                "undocumented": sum(ast.get_docstring(n) is None for _, n in functions), "longest": [list(e) for e in longest]}  # fmt: skip

    def naive(self, agent):
        agent.turn(*(("read_file", {"path": f.path}) for f in self.files))
        return self.expected()  # at best

    def careful(self, agent):
        """grep finds definitions. It does not find where functions end, or docstrings."""
        lines = agent.turn(("grep", {"pattern": DEFINITION, "glob": "*.py"}))[0].split("\n")
        classes = sum(line.split(":", 2)[2].lstrip().startswith("class") for line in lines)
        return {"functions": len(lines) - classes, "classes": classes}

    def program(self, files="glob.glob('**/*.py', recursive=True)", parse="open(p, 'rb').read()"):
        return (f"import ast, glob, json\nF, k = [], 0\nfor p in {files}:\n    for n in ast.walk(ast.parse({parse})):\n"
                "        k += isinstance(n, ast.ClassDef)\n        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):\n"
                "            F.append((n.end_lineno - n.lineno + 1, n.name, p, ast.get_docstring(n) is None))\n"
                "print(json.dumps({'functions': len(F), 'classes': k, 'undocumented': sum(f[3] for f in F), 'longest': [f[:3] for f in sorted(F, key=lambda f: (-f[0], *f[1:3]))[:5]]}))")  # fmt: skip

    def program_of_functions(self):
        return self.program("list_files('*.py')", "read_file(p)")


class Query(Question):
    """The five best customers in a file of orders."""

    name = "query a 1 MB JSON file"

    def __init__(self, rng, size=7000):
        names = [f"customer-{rng.randrange(10**6):06}" for _ in range(300)]
        self.orders = [{"id": n, "customer": rng.choice(names), "status": rng.choice(["paid", "paid", "open", "void"]), "amount": rng.randrange(1, 50000),
                        "city": rng.choice(["Oslo", "Lagos", "Lima", "Quito", "Turku"])} for n in range(size)]  # fmt: skip

    @classmethod
    def pick(cls, files, rng, draws):
        return [cls(rng)]

    def prepare(self, root):
        write(root, "orders.json", json.dumps(self.orders, indent=1).encode())

    def expected(self):
        totals = {}
        for order in self.orders:
            if order["status"] == "paid":
                totals[order["customer"]] = totals.get(order["customer"], 0) + order["amount"]
        return [[name, totals[name]] for name in sorted(totals, key=lambda n: (-totals[n], n))[:5]]

    def naive(self, agent):
        agent.turn(("read_file", {"path": "orders.json"}))
        return self.expected()  # at best

    def careful(self, agent):
        """A sum needs all of it; only two fields of each, though."""
        agent.turn(("read_file", {"path": "orders.json", "limit": 10}))
        agent.turn(("grep", {"pattern": '"(customer|status|amount)"', "path": "orders.json"}))
        return self.expected()

    def program(self, load="json.load(open('orders.json'))"):
        return (f"import json, collections\nt = collections.Counter()\nfor o in {load}:\n    t[o['customer']] += o['amount'] * (o['status'] == 'paid')\n"
                "print(json.dumps(sorted(t.items(), key=lambda e: (-e[1], e[0]))[:5]))")  # fmt: skip

    def program_of_functions(self):
        return self.program("json.loads(read_file('orders.json'))")

    LOOK = "head -c 300 orders.json"

    def shell(self, agent):
        agent.turn(("bash", {"command": self.LOOK}))
        return super().shell(agent)

    def notebook(self, agent):
        agent.turn(("execute_code", {"code": "!" + self.LOOK}))
        return super().notebook(agent)

    def code(self, agent):
        agent.turn(("run", {"code": "print(read_file('orders.json')[:300])"}))
        return super().code(agent)

    def belljar(self, agent, shown):
        agent.run(self.LOOK, language="bash")
        return super().belljar(agent, shown)


class Edit(Command):
    """Change one constant in a file whose name is known: nothing to save here."""

    name = "change 1 line"

    def __init__(self, file, node):
        self.file, self.number = file, node.lineno
        self.variable = node.targets[0].id
        self.old = file.lines[node.lineno - 1]
        self.new = f"{self.variable} = {node.value.value + 1}\n"

    @classmethod
    def pick(cls, files, rng, draws):
        found = [(f, n) for f in files for n in f.tree.body if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
                 and isinstance(n.value, ast.Constant) and type(n.value.value) is int and f.lines[n.lineno - 1] == f"{n.targets[0].id} = {n.value.value}\n"
                 and "".join(f.lines).count(f.lines[n.lineno - 1]) == 1]  # fmt: skip
        return [cls(*pair) for pair in rng.sample(found, draws)]

    def edit(self, agent):
        agent.turn(("edit_file", {"path": self.file.path, "old_string": self.old, "new_string": self.new}))

    def naive(self, agent):
        agent.turn(("read_file", {"path": self.file.path}))
        self.edit(agent)

    def careful(self, agent):
        agent.turn(("grep", {"pattern": self.variable, "path": self.file.path}))
        self.edit(agent)

    def command(self):
        return f"sed -i 's/^{self.old.strip()}$/{self.new.strip()}/' {self.file.path}"

    def code(self, agent):
        agent.turn(("run", {"code": f"edit_file({self.file.path!r}, {self.old!r}, {self.new!r})"}))

    def check(self, root, answer):
        lines = list(self.file.lines)
        lines[self.number - 1] = self.new
        return load(root, self.file.path).decode() == "".join(lines)


def pick(files, seed, draws):
    """All tasks. The same seed and tree give the same ones."""
    def rng(name):
        return random.Random(f"{seed} {name}")

    few = max(1, draws // 2)
    return [
        *Edit.pick(files, rng("edit"), draws),
        *Copy.pick(files, rng("copy"), draws),
        *Rename.pick("rename in 8–12 files", files, rng("rename"), draws, 8, 12),
        *Rename.pick("rename in 13–40 files", files, rng("rename"), draws, 13, 40),
        *Analyze.pick(files, rng("analyze"), few),
        *Audit.pick(files, rng("audit"), 1),
        *Query.pick(files, rng("query"), 1),
    ]
