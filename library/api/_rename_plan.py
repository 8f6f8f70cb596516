"""Chooses, of all places that have a name, those to be renamed."""
import ast
import io
import keyword
import os
import re
import unicodedata

import _belljar_code

from api import _rename_tree, _text
from api._resolve import Project, parts_of

SIZE_MAX = 8 << 20

_PLAIN, _ALL, _MODULE = 0, 1, 2  # as names_conflict() has them

# Attributes of these are everywhere, and nobody says so.
_EVERYDAY = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float, io.TextIOWrapper, re.Pattern, re.Match, Exception, type) for name in dir(kind))

_LOOKERS = {"getattr", "setattr", "hasattr", "delattr"}  # functions
_EVENT, _LISTED = "event", "listed"  # strings of sys.audit(), and of __all__.extend()
_PATCHERS = {"object", "setattr", "delattr"}  # patch.object(x, "name"), monkeypatch.setattr(x, "name", ...)

_PATH = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)*")


def check(old, new):
    for name in (old, new):
        if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
            raise ValueError(f"{name!r} is not a name")
        if keyword.iskeyword(name):
            raise ValueError(f"{name!r} is a keyword of Python")


def split_name(old, new, scope):
    """ "Cart.total" is total in the scope Cart; the new name may have the same words before it."""
    before, _, last = old.rpartition(".")
    if not before or not last:
        return old, new, scope
    if scope != "auto":
        raise ValueError(f"{old!r} names a scope, and so does scope={scope!r}: give one of them")
    new_before, _, new_last = new.rpartition(".")
    if new_before and new_before != before:
        raise ValueError(f"{new!r}: a rename moves nothing; the new name is a word, or {before}.WORD")
    return last, new_last or new, before


class Plan:
    """`mode`: "all" things of that name; "things", functions and classes of modules; "family", members of classes; "scope"."""

    def __init__(self, paths, old, new, attributes, scope):
        self.asked = old
        self.old, self.new, self.scope = split_name(old, new, scope)
        self.attributes = attributes
        self.project = Project(paths, self.old)
        self.found = {}  # path: (occurrences, identity of the file)
        self.languages = {}  # path: of those that are not Python
        self.conflicts, self.skipped, self.note = [], [], None
        self.mode, self.things, self.family, self.functions = "all", set(), set(), set()
        self.others_have_it = False

    # ---- reading ----

    def read(self, path):
        text = _text.Text(path)
        if len(text.text) > SIZE_MAX:
            raise ValueError("the file is too large")
        data = text.text.encode("utf-8", "surrogateescape")
        language = _belljar_code.language(path, data)
        if language:
            return self.read_tree(path, language, text)
        check(self.old, self.new)
        answer = _belljar_code.occurrences(text.text.encode("utf-8"), self.old, self.old)
        if answer is None:
            raise ValueError("the file is not valid Python")
        places = answer[0]
        if re.search(rb"[\"'.:]%b[\"']" % re.escape(self.old.encode()), data):
            places = places + self.strings(path, data, {place[0] for place in places})
        self.project.places[path] = places
        if places:
            self.found[path] = (sorted(places), text.before.st_mtime_ns)
        return None

    def read_tree(self, path, language, text):
        if self.scope != "auto":
            raise ValueError(f"scopes are known in Python only, and this is {language}")
        edits, kept, line = _rename_tree.find(language, text.text.encode("utf-8"), self.old, self.new, self.attributes)
        if line:
            self.conflicts.append({"file": path, "line": line, "reason": f"{self.new} stands in this file already"})
        if edits or kept:
            self.found[path] = ((edits, kept), text.before.st_mtime_ns)
            self.languages[path] = language

    def strings(self, path, data, known):
        """Strings that are the name, or a path that ends with it, as occurrences; those that `known` has are left out."""
        found, starts = [], None
        for node, _ in self.project.file(path).nodes:
            if not isinstance(node, ast.Constant) or not _PATH.fullmatch(node.value) or re.split("[.:]", node.value)[-1] != self.old:
                continue
            if node.lineno != node.end_lineno:
                continue
            starts = starts or [0] + [match.end() for match in re.finditer(rb"\r\n|\n|\r", data)]
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.lineno - 1] + node.end_col_offset
            at = data.find(node.value.encode(), begin, end)
            at += len(node.value.encode()) - len(self.old.encode())
            if at >= begin and at not in known:
                found.append((at, len(self.old.encode()), node.lineno, "string", False, (node.value, begin), 0))
        return found

    # ---- what is meant ----

    def decide(self):
        definitions = {path for path, (places, _) in self.found.items() if path not in self.languages
                       for place in places if place[3] == "def" and place[4] is None and not place[6]}  # fmt: skip
        if self.scope not in ("auto", "module"):
            self.decide_scope(definitions)
        elif definitions and self.scope == "auto":
            self.mode, self.things = "things", {(path, self.old) for path in definitions}
        elif self.scope == "module":
            self.mode = "scope"
        self.find_parameters()
        if self.mode == "family":
            self.find_family()
        if self.mode == "things" and len(self.things) > 1:
            names = sorted(os.path.relpath(path) for path, _ in self.things)
            self.note = f"it is defined in {len(names)} files: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}; {names[0][:-3].replace('/', '.')}.{self.old} names one"

    def decide_scope(self, definitions):
        """A class, a module or a function, by its path."""
        words = tuple(self.scope.split("."))
        classes = {(path, name) for path in self.found if path not in self.languages for name in self.project.file(path).classes
                   if name == self.scope or name.endswith("." + self.scope) or self.is_in_module(path, name, words)}  # fmt: skip
        modules = {path for path in definitions if self.project.find_module(path, 0, self.scope) and
                   self.project.paths.get(self.project.find_module(path, 0, self.scope)) == path}  # fmt: skip
        if classes:
            self.mode, self.family = "family", classes
        elif modules:
            self.mode, self.things = "things", {(path, self.old) for path in modules}
        else:
            self.mode = "scope"

    def is_in_module(self, path, name, words):
        """shop.cart.Cart is Cart in shop/cart.py."""
        own = tuple(name.split("."))
        parts = parts_of(path)
        return len(words) > len(own) and words[-len(own) :] == own and parts[-(len(words) - len(own)) :] == words[: -len(own)]

    def find_parameters(self):
        """Functions that have a parameter of this name, by key and by last word."""
        for path, (places, _) in self.found.items():
            if path in self.languages or self.mode == "things":
                continue
            for _, _, _, kind, owner, _, of_class in places:
                if kind == "param" and owner and (self.mode != "scope" or owner == self.scope):
                    self.functions.add((path, owner))
                    before, _, last = owner.rpartition(".")
                    if last in ("__init__", "__new__") and before:
                        self.functions.add((path, before))
                elif of_class and (self.attributes or self.mode == "family") and owner:
                    if self.mode != "family" or (path, owner) in self.family:
                        self.functions.add((path, owner))

    def find_family(self):
        """All classes that share the member with those that were named: bases that have it, and what is derived of them."""
        keys = [(path, name) for path in self.found if path not in self.languages for name in self.project.file(path).classes]
        above = {key: set(self.project.ancestors(key)) for key in keys}
        having = {key for key in keys if self.has_member(key)}
        before = None
        while before != self.family:
            before = set(self.family)
            self.family |= {base for key in before for base in above.get(key, ()) if base in having}
            self.family |= {key for key in keys if above[key] & self.family & having}
        self.others_have_it = bool(having - self.family) or self.old in _EVERYDAY
        outside = sorted({key[1] for key in self.family & having if None in [b for a in above[key] for b in self.project.bases(a)]})
        if outside:
            self.note = f"{', '.join(outside[:3])} has a base outside the files, which may have {self.old}, too"

    def has_member(self, key):
        scope = self.project.scope_of(key)
        return scope is not None and (self.old in scope.names or self.old in scope.members)

    # ---- one file ----

    def chosen(self, path):
        """[(start, end, kind)] to rename, and [(line, why, words)] that are left."""
        if path in self.languages:
            edits, kept = self.found[path][0]
            return [(start, end, kind) for start, end, kind, _ in edits], [(0, "attributes", "attribute")] * kept
        edits, left = [], []
        is_plain = all(place[3] not in ("attribute", "kwarg", "string") for place in self.found[path][0])
        receivers, keywords, lookups = ({}, {}, {}) if is_plain else self.nodes(path)
        for place in self.found[path][0]:
            start, length, line, kind, owner, about, of_class = place
            if kind == "attribute":
                why = self.of_attribute(path, self.receiver(path, receivers, place))
            elif kind == "kwarg":
                why = self.of_keyword(keywords.get(start), about)
            elif kind == "string":
                why = self.of_string(path, place, lookups)
            else:
                why = self.of_name(path, line, kind, owner, about, of_class)
            if why:
                left.append((line, *why))
            else:
                edits.append((start, start + length, kind))
        return edits, left

    def nodes(self, path):
        """By the place of the name: what an attribute is of, what a keyword is passed to, what a string is looked up in."""
        file = self.project.file(path)
        if not file.is_read:
            return {}, {}, {}
        data = _text.Text(path).text.encode("utf-8", "surrogateescape")
        starts = [0] + [match.end() for match in re.finditer(rb"\r\n|\n|\r", data)]
        receivers, keywords, lookups = {}, {}, {}
        for node, scope in file.nodes:
            if isinstance(node, ast.Attribute):
                receivers[starts[node.end_lineno - 1] + node.end_col_offset - len(self.old.encode())] = (node.value, scope)
            elif isinstance(node, ast.Call):
                for word in node.keywords:
                    if word.arg == self.old:
                        keywords[starts[word.lineno - 1] + word.col_offset] = (file, scope, node.func)
                self.look_up(node, scope, starts, lookups)
        return receivers, keywords, lookups

    def look_up(self, node, scope, starts, lookups):
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        is_lookup = isinstance(node.func, ast.Name) and name in _LOOKERS or isinstance(node.func, ast.Attribute) and name in _PATCHERS
        if is_lookup and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            lookups[starts[node.args[1].lineno - 1] + node.args[1].col_offset] = (node.args[0], scope)
        elif name in ("attrgetter", "methodcaller"):
            for arg in node.args[: 1 if name == "methodcaller" else None]:
                if isinstance(arg, ast.Constant):
                    lookups[starts[arg.lineno - 1] + arg.col_offset] = (None, scope)
        elif name == "audit" and node.args:  # the name of an event, not of a thing
            lookups[starts[node.args[0].lineno - 1] + node.args[0].col_offset] = (_EVENT, scope)
        elif name in ("extend", "append") and getattr(node.func, "value", None) is not None and getattr(node.func.value, "id", None) == "__all__":
            for part in [n for arg in node.args for n in ast.walk(arg) if isinstance(n, ast.Constant)]:
                lookups[starts[part.lineno - 1] + part.col_offset] = (_LISTED, scope)

    def receiver(self, path, receivers, place):
        """The thing that has the attribute. In f-strings, nodes have no exact place: the text before the name decides."""
        file = self.project.file(path)
        if place[0] in receivers:
            node, scope = receivers[place[0]]
            return self.project.of(file, scope, node)
        if not place[5]:
            return None
        scope, thing = file.scope_at(place[2]), None
        for number, word in enumerate(place[5].split(".")):
            thing = self.project.member(thing, word.strip()) if number else self.project.of_name(file, scope, word.strip())
        return thing

    # ---- decisions: None to rename, else (why, words) ----

    def of_name(self, path, line, kind, owner, about, of_class):
        if kind == "path":
            return "modules", "part of a module's path"
        if self.mode == "family":
            is_ours = of_class and (path, owner) in self.family
            return None if is_ours else ("other", f"not a member of {self.scope}")
        if self.mode == "things":
            return self.of_thing(path, line, kind, owner, about, of_class)
        if kind == "module" or (kind == "import" and "outside" in self.project.imported(path, *about, self.old)):
            self.conflicts.append({"file": path, "line": line, "reason": f"{self.old} is imported from outside the files"})
        elif of_class and not self.attributes:
            return "attributes", f"member of {owner}"
        elif self.scope != "auto" and owner is not False and owner != (None if self.scope == "module" else self.scope):
            return "other_scopes", f"in {owner or 'the module'}"
        return None

    def of_thing(self, path, line, kind, owner, about, of_class):
        if of_class and kind != "import":
            return None if self.attributes else ("attributes", f"member of {owner}")
        if kind == "param":
            return "other", f"parameter of {owner}"
        if kind == "module":
            return "other", "a module"
        if kind == "import":
            leads = self.project.imported(path, *about, self.old)
            if leads & self.things:
                return None
            if owner is None and self.project.definers(path, self.old) & self.things:
                self.conflicts.append({"file": path, "line": line, "reason": f"{self.old} is imported from outside the files"})
                return None
            return "other", f"of {'.' * about[0]}{about[1]}"
        if owner is None or owner is False:
            definers = self.project.definers(path, self.old)
            if definers & self.things:
                return None
            return "other", "not defined here" if not definers else "another thing"
        return None if self.imports_locally(path, owner) else ("other", f"local in {owner}")

    def imports_locally(self, path, owner):
        """A function imports the thing itself."""
        return any(place[3] == "import" and place[4] == owner and self.project.imported(path, *place[5], self.old) & self.things for place in self.found[path][0])

    def of_attribute(self, path, thing):
        kind = thing[0] if thing else None
        if kind == "module":
            return self.of_module(thing)
        if self.mode == "family":
            if kind in ("class", "instance"):
                return None if thing[1:] in self.family or set(self.project.ancestors(thing[1:])) & self.family else ("other", f"attribute of {thing[2]}")
            if kind:
                return "other", f"attribute of {thing[-1]}"
            return ("attributes", f"it is not known whether this is a {self.scope}") if self.others_have_it else None
        if kind == "outside" and not thing[1].startswith("a literal"):
            return ("attributes" if not self.attributes else "other"), f"attribute of {thing[1]}"
        if self.attributes and self.mode != "scope":
            return None
        return "attributes", f"attribute of {thing[2] if kind in ('class', 'instance') else 'an object'}"

    def of_module(self, thing):
        path = self.project.paths.get(thing[1])
        definers = self.project.definers(path, self.old) if path else set()
        wanted = self.things if self.mode == "things" else definers - {"outside"} if self.mode == "all" or self.scope == "module" else set()
        return None if definers & wanted else ("attributes" if self.mode == "all" else "other", f"attribute of the module {thing[1][-1]}")

    def of_keyword(self, found, about):
        """f(name=1) where f has such a parameter. A function that is not known is taken by its name."""
        if self.mode == "things" or self.scope == "module":
            return "kwargs", f"keyword of {about}"
        thing = self.project.of(*found) if found else None
        if thing and thing[0] in ("function", "class"):
            keys = self.project.ancestors(thing[1:]) if thing[0] == "class" else [thing[1:]]
            return None if any(key in self.functions or (key[0], f"{key[1]}.__init__") in self.functions for key in keys) else ("kwargs", f"keyword of {about}")
        if thing and thing[0] in ("module", "outside"):
            return "kwargs", f"keyword of {about}"
        return None if about in {name.rpartition(".")[2] for _, name in self.functions} else ("kwargs", f"keyword of {about}")

    def of_string(self, path, place, lookups):
        """getattr(x, "name") goes with x.name, and patch("a.b.name") with the name in a.b."""
        line, (value, begin) = place[2], place[5]
        role = lookups[begin][0] if begin in lookups else None
        if role is _EVENT:
            return "strings", f"the string {value!r}"
        if role is _LISTED:
            return self.of_name(path, line, "all_entry", None, None, False)
        before = re.split("[.:]", value)[:-1]
        if before:
            thing = self.project.of_path(path, ".".join(before))
            if thing is None or thing[0] == "outside":
                return "strings", f"the string {value!r}"
            return self.of_attribute(path, thing) and ("strings", f"the string {value!r}")
        if begin not in lookups:
            return None if self.is_slot(path, line) else ("strings", f"the string {value!r}")
        node, scope = lookups[begin]
        thing = self.project.of(self.project.file(path), scope, node) if node is not None else None
        if thing is None and self.mode != "family" and not self.attributes:
            return "strings", f"the string {value!r}"
        return self.of_attribute(path, thing) and ("strings", f"the string {value!r}")

    def is_slot(self, path, line):
        """In __slots__ of a class whose members are renamed."""
        scope = self.project.file(path).scope_at(line)
        if scope.kind != "class" or not (self.attributes or (path, scope.qualname) in self.family):
            return False
        return any(first <= line <= last for first, last in scope.slots)

    def hint(self, why):
        if why == "attributes" and self.mode == "family":
            return "rename them by hand or with attributes=True and no class"
        return None

    def check_taken(self, path, edits):
        """A conflict if the new name is taken where the old one is renamed."""
        if path in self.languages or not edits:
            return
        if self.mode == "family":
            for key in self.family:
                scope = self.project.scope_of(key) if key[0] == path else None
                if scope and (self.new in scope.names or self.new in scope.members):
                    self.conflicts.append({"file": path, "line": scope.node.lineno, "reason": f"{key[1]} has {self.new} already"})
            return
        names = [kind for _, _, kind in edits if kind not in ("attribute", "kwarg", "string", "all_entry")]
        if not names:
            return
        which = _MODULE if self.mode == "things" and not self.attributes else _ALL if self.attributes else _PLAIN
        line = _belljar_code.occurrences(_text.Text(path).text.encode("utf-8"), self.old, self.new, which)[1]
        if line:
            self.conflicts.append({"file": path, "line": line, "reason": f"{self.new} means something else here"})
