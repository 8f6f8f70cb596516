"""The meaning of names and attributes in Python files, as far as imports, definitions and annotations tell. Nothing is run.

A thing is a tuple: ("module", parts of its path), ("class", path, qualname), ("instance", path, qualname), ("function", path,
qualname), ("variable", path, name), or ("outside", what it is). None: not known.
"""
import ast
import os
import re
import sys

from api import _edit, _text

DEPTH_MAX = 24
# Of one file, and of all that are read: trees take many times as much. What is beyond is not known.
SIZE_MAX = 2 << 20
TOTAL_MAX = 64 << 20
CHAIN_MAX = 100  # of re-exports

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LITERALS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """Names of a module, class or function, and how each is bound: [(how, value)]."""

    def __init__(self, kind, parent, qualname, node):
        self.kind, self.parent, self.qualname, self.node = kind, parent, qualname, node
        self.names, self.declared, self.members, self.slots = {}, set(), {}, []

    def bind(self, name, how, value=None):
        self.names.setdefault(name, []).append((how, value))

    def path_of(self, name):
        """As __qualname__ has it."""
        if not self.qualname:
            return name
        return f"{self.qualname}.{name}" if self.kind == "class" else f"{self.qualname}.<locals>.{name}"

    def outer_function_of_class(self):
        """The class whose method this scope is in, or None."""
        scope = self
        while scope and scope.kind != "module":
            if scope.kind == "function" and scope.parent.kind == "class":
                return scope.parent
            scope = scope.parent
        return None


def _kept(value):
    """As much of an expression as can be told what it stands for: whole trees would fill the memory."""
    if isinstance(value, ast.Call):
        return ast.Call(value.func, [], [])
    if isinstance(value, _LITERALS):
        return _LITERAL
    return value if isinstance(value, (ast.Name, ast.Attribute)) else None


_LITERAL = ast.Constant(0)


class File:
    """One file: its scopes, and the nodes that speak of `name`, with the scope each stands in."""

    def __init__(self, path, text, name):
        self.path, self.name = path, name
        self.module = Scope("module", None, "", None)
        self.scopes, self.stars, self.nodes = [self.module], [], []
        self.classes, self.functions = {}, {}
        try:
            tree = _edit.parse(text) if text is not None else None
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            tree = None
        self.is_read = tree is not None
        if tree:
            self.walk(tree)

    def walk(self, tree):
        todo = [(node, self.module) for node in reversed(tree.body)]
        tree.body = []
        while todo:
            node, scope = todo.pop()
            if isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)):
                todo += self.enter(node, scope)
                continue
            self.look(node, scope)
            todo += [(child, scope) for child in ast.iter_child_nodes(node)][::-1]

    def enter(self, node, scope):
        """A new scope; what of the node is outside of it stays outside."""
        if isinstance(node, _COMPREHENSIONS):
            inner = Scope("function", scope, scope.qualname, node)
            return [(child, inner) for child in ast.iter_child_nodes(node)]
        name = getattr(node, "name", "<lambda>")
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        inner = Scope(kind, scope, scope.path_of(name), node)
        self.scopes.append(inner)
        (self.classes if kind == "class" else self.functions).setdefault(inner.qualname, inner)
        if kind == "class":
            scope.bind(name, "class", inner)
            outside = [*node.decorator_list, *node.bases, *node.keywords]
        else:
            if name != "<lambda>":
                scope.bind(name, "function", inner)
            outside = [*getattr(node, "decorator_list", []), node.args, *([node.returns] if getattr(node, "returns", None) else [])]
            a = node.args
            for number, arg in enumerate([*a.posonlyargs, *a.args, *a.kwonlyargs]):
                inner.bind(arg.arg, "parameter", (number, arg, scope))
            for arg in (a.vararg, a.kwarg):
                if arg:
                    inner.bind(arg.arg, "other")
        body = node.body if isinstance(node.body, list) else [node.body]
        node.body = []  # so that it goes when it was looked at
        return [(child, inner) for child in reversed(body)] + [(part, scope) for part in outside]

    def look(self, node, scope):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.bind_imports(node, scope)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.bind_target(target, node.value, scope)
                if getattr(target, "id", None) in ("__slots__", "__match_args__"):
                    scope.slots.append((node.lineno, node.end_lineno))
        elif isinstance(node, ast.AnnAssign):
            self.bind_target(node.target, node.value, scope, node.annotation)
        elif isinstance(node, ast.NamedExpr):
            self.bind_target(node.target, node.value, scope)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            if isinstance(node, ast.Global):
                scope.declared.update(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.bind(node.name, "other")
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            scope.bind(node.id, "target")
        if self.is_about_name(node):
            self.nodes.append((node, scope))

    def is_about_name(self, node):
        if isinstance(node, ast.Attribute):
            return node.attr == self.name
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and (node.func.attr == "audit" or getattr(node.func.value, "id", None) == "__all__"):
                return True  # its strings may have the name
            return any(k.arg == self.name for k in node.keywords) or any(isinstance(a, ast.Constant) and a.value == self.name for a in node.args)
        return isinstance(node, ast.Constant) and isinstance(node.value, str) and self.name in node.value

    def bind_imports(self, node, scope):
        if isinstance(node, ast.Import):
            for a in node.names:
                scope.bind(a.asname or a.name.partition(".")[0], "import", (0, a.name if a.asname else a.name.partition(".")[0], None))
            return
        for a in node.names:
            if a.name == "*":
                self.stars.append((node.level, node.module or ""))
            else:
                scope.bind(a.asname or a.name, "import", (node.level, node.module or "", a.name))

    def bind_target(self, target, value, scope, annotation=None):
        """self.x = value is a member of the class."""
        if isinstance(target, ast.Name):
            scope.bind(target.id, "value", (_kept(value), annotation, scope))
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner = scope.outer_function_of_class()
            if owner and target.value.id in ("self", "cls"):
                owner.members.setdefault(target.attr, []).append(("value", (_kept(value), annotation, scope)))

    def scope_at(self, line):
        """The innermost function or class around a line."""
        found = self.module
        for scope in self.scopes[1:]:
            node = scope.node
            if node.lineno <= line <= node.end_lineno and (found.node is None or node.lineno >= found.node.lineno):
                found = scope
        return found


def parts_of(path):
    parts = tuple(os.path.splitext(os.path.abspath(path))[0].split("/")[1:])
    return parts[:-1] if parts[-1] == "__init__" else parts


class Project:
    """Files that import each other, read when they are needed."""

    def __init__(self, paths, name):
        self.name, self.left = name, TOTAL_MAX
        self.paths, self.by_last, self.folders = {}, {}, set()
        for path in paths:
            if path.endswith((".py", ".pyi")):
                parts = parts_of(path)
                self.paths.setdefault(parts, path)
                self.folders.add(parts[:-1])
        for parts in [*self.paths, *self.folders]:
            if parts:
                self.by_last.setdefault(parts[-1], set()).add(parts)
        self.places, self.starred = {}, {}  # occurrences of the name, of files that have it
        self.files, self.known, self.busy, self.known_bases = {}, {}, set(), {}

    def file(self, path):
        if path not in self.files:
            self.files[path] = File(path, self.text(path), self.name)
        return self.files[path]

    def text(self, path):
        """None: it cannot be read, or there is no room for its tree."""
        try:
            text = _text.Text(path).text
        except (OSError, ValueError):
            return None
        if len(text) > min(SIZE_MAX, self.left):
            return None
        self.left -= len(text)
        return text

    # ---- modules ----

    def find_module(self, path, level, dotted):
        """The module that an import in a file means: parts, or None if it is not among the files."""
        words = tuple(word.strip() for word in dotted.split(".")) if dotted else ()
        own = parts_of(path)
        if level:
            base = own if os.path.basename(path) == "__init__.py" else own[:-1]
            base = base[: len(base) - level + 1]
            return base + words if base + words in self.paths or base + words in self.folders else None
        found = [parts for parts in self.by_last.get(words[-1] if words else "", ()) if parts[-len(words) :] == words]
        if words and words[0] in sys.stdlib_module_names:  # a module of a package stands in for none of the library
            found = [parts for parts in found if parts[: -len(words)] not in self.paths]
        near = [parts for parts in found if own[: len(parts) - len(words)] == parts[: -len(words)]]
        return min(near or found, key=lambda parts: (-len(parts) if near else len(parts), parts), default=None)

    def definers(self, path, name, seen=None):
        """The origins of the global `name` of a file: {(path, name)}, and "outside"."""
        seen = set() if seen is None else seen
        if (path, name) in seen or len(seen) > CHAIN_MAX:
            return set()
        seen.add((path, name))
        found = set()
        bindings = self.quick_bindings(path) if name == self.name else None
        if bindings is None:
            file = self.file(path)
            bindings = list(file.module.names.get(name, ()))
            for scope in file.scopes[1:]:
                if name in scope.declared and name in scope.names:
                    bindings += scope.names[name]
        for how, value in bindings:
            if how != "import":
                found.add((path, name))
                continue
            level, dotted, what = value
            found |= self.imported(path, level, dotted, what, seen) if what else {"outside"}
        for level, dotted in self.file(path).stars if not bindings and self.has_star(path) else ():
            found |= self.imported(path, level, dotted, name, seen) - {"outside"}
        return found

    def quick_bindings(self, path):
        """How the name is bound in a module, without its tree; None: that takes the tree."""
        places = self.places.get(path)
        if places is None:
            return []
        own = [place for place in places if place[4] is None and not place[6]]
        found = [("function", None)] if any(place[3] == "def" for place in own) else []
        found += [("import", (*place[5], self.name)) for place in own if place[3] == "import"]
        return found if found or not own else None

    def has_star(self, path):
        if path not in self.starred:
            try:
                self.starred[path] = re.search(r"\bimport\s*\(?\s*\*", _text.Text(path).text) is not None
            except (OSError, ValueError):
                self.starred[path] = False
        return self.starred[path]

    def imported(self, path, level, dotted, name, seen=None):
        """The origins of `name` in `from dotted import name`."""
        parts = self.find_module(path, level, dotted)
        if parts is None:
            return {"outside"}
        return self.definers(self.paths[parts], name, seen) if parts in self.paths else set()

    # ---- things ----

    def member(self, thing, name, depth=0):
        if thing is None or depth > DEPTH_MAX:
            return None
        kind = thing[0]
        if kind == "outside":
            return ("outside", f"{thing[1]}.{name}")
        if kind == "module":
            if thing[1] in self.paths:
                file = self.file(self.paths[thing[1]])
                if name in file.module.names:
                    return self.of_name(file, file.module, name, depth + 1)
                for level, dotted in file.stars:
                    parts = self.find_module(file.path, level, dotted)
                    found = self.member(("module", parts), name, depth + 1) if parts else None
                    if found:
                        return found
            inner = thing[1] + (name,)
            return ("module", inner) if inner in self.paths or inner in self.folders else None
        if kind in ("class", "instance"):
            for key in self.ancestors(thing[1:]):
                scope = self.scope_of(key)
                if scope and (name in scope.names or name in scope.members):
                    file = self.file(key[0])
                    found = [self.of_binding(file, scope, b, name, depth + 1) for b in [*scope.names.get(name, ()), *scope.members.get(name, ())]]
                    return found[0] if found and all(f == found[0] for f in found) else None
        return None

    def scope_of(self, key):
        return self.file(key[0]).classes.get(key[1])

    def bases(self, key):
        """Its base classes: keys, or None for those that are not among the files."""
        if key in self.known_bases:
            return self.known_bases[key]
        self.known_bases[key] = []  # of a class that is its own base
        scope = self.scope_of(key)
        found = [self.of(self.file(key[0]), scope.parent, base) for base in scope.node.bases] if scope else []
        self.known_bases[key] = [thing[1:] if thing and thing[0] == "class" else None for thing in found]
        return self.known_bases[key]

    def ancestors(self, key):
        """The class itself, then its bases and theirs."""
        found, todo = [], [key]
        while todo:
            one = todo.pop(0)
            if one and one not in found:
                found.append(one)
                todo += self.bases(one)
        return found

    def of_name(self, file, scope, name, depth=0):
        while scope:
            if name in scope.declared:
                scope = file.module
            if name in scope.names:
                break
            scope = scope.parent
            while scope and scope.kind == "class":
                scope = scope.parent
        if not scope:
            for level, dotted in file.stars:
                parts = self.find_module(file.path, level, dotted)
                found = self.member(("module", parts), name, depth + 1) if parts else None
                if found:
                    return found
            return None
        at = (id(scope), name)
        if at in self.known:
            return self.known[at]
        if at in self.busy or depth > DEPTH_MAX:
            return None
        self.busy.add(at)
        bindings = scope.names[name]
        plain = [b for b in bindings if b[0] != "target"]
        targets = sum(b[0] == "target" for b in bindings) - sum(b[0] == "value" for b in bindings)
        found = [self.of_binding(file, scope, b, name, depth + 1) for b in plain]
        same = found[0] if found and targets <= 0 and all(f == found[0] for f in found) else None
        self.busy.discard(at)
        self.known[at] = same
        return same

    def of_binding(self, file, scope, binding, name, depth):
        how, value = binding
        if how in ("class", "function"):
            return (how, file.path, value.qualname)
        if how == "import":
            level, dotted, what = value
            parts = self.find_module(file.path, level, dotted)
            if parts is None:
                return ("outside", f"{dotted}.{what}" if what else dotted)
            if what and self.paths.get(parts) == file.path:  # `from shop import tax` in shop/__init__.py
                inner = parts + (what,)
                return ("module", inner) if inner in self.paths or inner in self.folders else None
            return self.member(("module", parts), what, depth) if what else ("module", parts)
        if how == "value":
            expression, annotation, where = value
            typed = self.of_type(file, where, annotation, depth) if annotation is not None else None
            found = typed or (self.of(file, where, expression, depth) if expression is not None else None)
            return found or (("variable", file.path, name) if scope.kind == "module" else None)
        if how == "parameter":
            return self.of_parameter(file, scope, value, depth)
        return None

    def of_parameter(self, file, scope, value, depth):
        number, arg, outer = value
        if arg.annotation is not None:
            return self.of_type(file, outer, arg.annotation, depth)
        decorators = {getattr(d, "id", None) for d in getattr(scope.node, "decorator_list", [])}
        if number or outer.kind != "class" or "staticmethod" in decorators:
            return None
        is_class = "classmethod" in decorators or scope.node.name in ("__new__", "__init_subclass__", "__class_getitem__")
        return ("class" if is_class else "instance", file.path, outer.qualname)

    def of_type(self, file, scope, node, depth):
        """The thing that a value of that annotation is."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = _edit.parse(node.value, "eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [side for side in (node.left, node.right) if not (isinstance(side, ast.Constant) and side.value is None)]
            node = sides[0] if len(sides) == 1 else None
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", getattr(node.value, "attr", None)) == "Optional":
            node = node.slice
        thing = self.of(file, scope, node, depth + 1) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if thing and thing[0] == "class":
            return ("instance", *thing[1:])
        return thing if thing and thing[0] == "outside" else None

    def of(self, file, scope, node, depth=0):
        """The thing that an expression stands for."""
        if depth > DEPTH_MAX:
            return None
        if isinstance(node, ast.Name):
            return self.of_name(file, scope, node.id, depth)
        if isinstance(node, ast.Attribute):
            return self.member(self.of(file, scope, node.value, depth + 1), node.attr, depth + 1)
        if isinstance(node, ast.Call):
            return self.of_call(file, scope, node, depth)
        if isinstance(node, _LITERALS):
            return ("outside", "a literal")
        return None

    def of_call(self, file, scope, node, depth):
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            owner = scope.outer_function_of_class()
            return ("instance", file.path, owner.qualname) if owner else None
        thing = self.of(file, scope, node.func, depth + 1)
        if thing and thing[0] == "class":
            return ("instance", *thing[1:])
        if thing and thing[0] == "function":
            where = self.file(thing[1])
            inner = where.functions.get(thing[2])
            returns = getattr(inner.node, "returns", None) if inner else None
            return self.of_type(where, inner.parent, returns, depth + 1) if returns is not None else None
        return ("outside", f"{thing[1]}()") if thing and thing[0] == "outside" else None

    def of_path(self, path, dotted):
        """The thing at an absolute dotted path: a module, or something in one."""
        words = dotted.split(".")
        for length in range(len(words), 0, -1):
            parts = self.find_module(path, 0, ".".join(words[:length]))
            if parts is None:
                continue
            thing = ("module", parts)
            for word in words[length:]:
                thing = self.member(thing, word)
            return thing
        return None
