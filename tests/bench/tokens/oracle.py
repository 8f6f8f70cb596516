"""The changes that a rename must make, by CPython's own parser and independent of Belljar's code.

For a function or class that is defined once, at the top of one module, every place in the tree where its name stands as a
name is one of: it (to be changed), something else of that spelling (to be left), or open (an attribute of who knows what).
"""
import ast
import functools
import io
import os
import tokenize

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def module_name(path):
    """a/b/__init__.py is a.b."""
    parts = os.path.splitext(path)[0].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def split(text):
    """Lines with their ends, where Python ends them: a form feed is none."""
    return list(io.StringIO(text, newline=""))


class File:
    def __init__(self, root, path):
        self.path = path
        self.module = module_name(path)
        self.is_package = os.path.basename(path) == "__init__.py"
        with open(os.path.join(root, path), "rb") as file:
            self.data = file.read()
        self.tree = None

    def parse(self):
        """False: no Python that this interpreter reads."""
        if self.tree is None:
            try:
                self.tree = ast.parse(self.data)
                self.encoding = tokenize.detect_encoding(io.BytesIO(self.data).readline)[0]
                self.lines = split(self.data.decode(self.encoding))
            except (SyntaxError, ValueError, LookupError):
                self.tree = False
        return bool(self.tree)

    def source_of(self, node):
        """The module a `from … import` is about."""
        if not node.level:
            return node.module
        base = self.module.split(".")
        base = base[: len(base) - node.level + self.is_package]
        return ".".join(base + ([node.module] if node.module else []))

    @functools.cached_property
    def places(self):
        """{name: [(line, column)]} of all tokens that are names."""
        places = {}
        for token in tokenize.tokenize(io.BytesIO(self.data).readline):
            if token.type == tokenize.NAME:
                places.setdefault(token.string, []).append(token.start)
        return places

    @functools.cached_property
    def modules(self):
        """{local name: the module it stands for}, whether or not that is one."""
        modules = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    modules[a.asname or a.name.partition(".")[0]] = a.name if a.asname else a.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom):
                for a in node.names:
                    modules[a.asname or a.name] = f"{self.source_of(node)}.{a.name}"
        return modules


def own(node):
    """The nodes of a scope, without those of scopes inside it."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        yield child
        if not isinstance(child, SCOPES):
            stack.extend(ast.iter_child_nodes(child))
        elif isinstance(child, COMPREHENSIONS):  # a walrus in one binds outside of it
            stack.extend(n for n in ast.walk(child) if isinstance(n, ast.NamedExpr))


def binds(scope, name):
    """How a scope binds a name: False, True, or "global" for one that leaves it to the module."""
    found = False
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        a = scope.args
        found = any(arg and arg.arg == name for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg])
    for node in own(scope):
        if isinstance(node, ast.Global) and name in node.names:
            return "global"
        if isinstance(node, ast.Nonlocal) and name in node.names:
            return False
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            found = True
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            found = True
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found = found or any((a.asname or a.name.partition(".")[0]) == name for a in node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name == name:
            found = True
        elif isinstance(node, ast.MatchMapping) and node.rest == name:
            found = True
    return found


class Uses(ast.NodeVisitor):
    """Finds `name` in one file: `found` has (line, column in characters) → kind.

    it: the thing; other: something else; open: an attribute of unknown things. `exports`: modules that have the thing.
    """

    def __init__(self, file, name, exports):
        self.file, self.name, self.exports = file, name, exports
        self.found = {}
        self.is_exporter = file.module in exports
        self.stack = [(file.tree, self.of(file.tree))]
        self.generic_visit(file.tree)

    def of(self, scope):
        """The meaning of the name in a scope: True the thing, False something else, None nothing, "global"."""
        how = binds(scope, self.name)
        if not how or how == "global":
            return how or None
        if isinstance(scope, ast.Module):
            return self.is_exporter
        for node in own(scope):
            if isinstance(node, ast.ImportFrom) and self.file.source_of(node) in self.exports and any(a.name == self.name and not a.asname for a in node.names):
                return True
        return False

    def resolve(self):
        """Whether the name, here, is the thing."""
        for number, (scope, what) in enumerate(reversed(self.stack)):
            if isinstance(scope, ast.ClassDef) and number:
                continue
            if what == "global":
                what = self.stack[0][1]
                return bool(what) or (what is None and self.is_exporter)
            if what is not None:
                return what
        return self.is_exporter  # by `from … import *`, or not at all

    def put(self, line, column, kind):
        """A column of ast counts bytes."""
        text = self.file.lines[line - 1].encode("utf-8")[:column].decode("utf-8")
        self.found[line, len(text)] = kind

    def put_name(self, node, kind):
        """The token of that name in a statement that has no node for it."""
        for place in self.file.places[self.name]:
            if (node.lineno, 0) <= place and place not in self.found:
                self.found[place] = kind
                return

    def visit_Name(self, node):
        if node.id == self.name:
            self.put(node.lineno, node.col_offset, "it" if self.resolve() else "other")

    def dotted(self, node):
        """The module an expression stands for, or None."""
        if isinstance(node, ast.Name):
            return self.file.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else None
        return None

    def visit_Attribute(self, node):
        if node.attr == self.name:
            base = self.dotted(node.value)
            kind = "it" if base in self.exports else "open"
            self.put(node.end_lineno, node.end_col_offset - len(self.name.encode()), kind)
        self.generic_visit(node)

    def visit_Call(self, node):
        """getattr(module, "name") and its kin speak of the name in a string."""
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr", "setattr", "delattr") and len(node.args) > 1:
            text = node.args[1]
            if isinstance(text, ast.Constant) and text.value == self.name and self.dotted(node.args[0]) in self.exports:
                line = self.file.lines[text.lineno - 1].encode("utf-8")
                self.put(text.lineno, line.index(self.name.encode(), text.col_offset), "it")
        self.generic_visit(node)

    def visit_ImportFrom(self, node):
        for a in node.names:
            if a.name == self.name:
                self.put(a.lineno, a.col_offset, "it" if self.file.source_of(node) in self.exports else "other")

    def visit_Global(self, node):
        if self.name in node.names:
            self.put_name(node, "it" if self.stack[0][1] else "other")

    def scope(self, node):
        if getattr(node, "name", None) == self.name:
            self.put_name(node, "it" if self.resolve() else "other")
        inner = [n for n in ast.iter_child_nodes(node)]
        outside = list(getattr(node, "decorator_list", [])) + list(getattr(node, "bases", [])) + list(getattr(node, "keywords", []))
        if isinstance(node, COMPREHENSIONS):
            outside.append(node.generators[0].iter)
        arguments = getattr(node, "args", None)
        if isinstance(arguments, ast.arguments):
            outside += [d for d in [*arguments.defaults, *arguments.kw_defaults] if d]
            outside += [a.annotation for a in ast.walk(arguments) if isinstance(a, ast.arg) and a.annotation]
            outside += [node.returns] if getattr(node, "returns", None) else []
        for part in outside:
            self.visit(part)
        self.stack.append((node, self.of(node)))
        for part in inner:
            if part not in outside and not isinstance(part, ast.arguments):
                self.parts(part, outside)
        self.stack.pop()

    def parts(self, node, outside):
        if isinstance(node, ast.comprehension) and node.iter in outside:
            for part in [node.target, *node.ifs]:
                self.visit(part)
        else:
            self.visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = scope


def exported(files, module, name):
    """All modules in which the thing can be found by its name: its own, and those that import it from there."""
    exports = {module}
    size = 0
    while size != len(exports):
        size = len(exports)
        for file in files:
            for node in own(file.tree):  # also in a `try` or an `if`
                if isinstance(node, ast.ImportFrom) and file.source_of(node) in exports and any(a.name in (name, "*") and not a.asname for a in node.names):
                    exports.add(file.module)
    return exports


def listed(file, name):
    """Entries of __all__: strings that are names."""
    for node in file.tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            target = node.value.func.value  # __all__.extend([...])
        if isinstance(target, ast.Name) and target.id == "__all__":
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and part.value == name:
                    yield part.lineno, len(file.lines[part.lineno - 1].encode("utf-8")[: part.col_offset].decode("utf-8")) + 1


def occurrences(files, module, name):
    """{path: {(line, column): kind}} over files that parse. Also kinds "listed" (an entry of __all__) and "unknown" (a token
    of that name that no rule above speaks of, as a keyword of a call)."""
    files = [f for f in files if name.encode() in f.data and f.parse()]
    exports = exported(files, module, name)
    result = {}
    for file in files:
        if name not in file.places:
            continue
        found = Uses(file, name, exports).found
        for place in file.places[name]:
            found.setdefault(place, "unknown")
        if file.module in exports:
            for place in listed(file, name):
                found[place] = "listed"
        if found:
            result[file.path] = found
    return result


def renamed(file, places, old, new):
    """The bytes of the file with `new` at those places that are the thing."""
    lines = list(file.lines)
    for line, column in sorted((p for p, kind in places.items() if kind in ("it", "listed")), reverse=True):
        text = lines[line - 1]
        assert text[column : column + len(old)] == old, (file.path, line, column, text)
        lines[line - 1] = text[:column] + new + text[column + len(old) :]
    return "".join(lines).encode(file.encoding)
