"""Renaming by what names mean: a plan over all files first, then the edits."""
import keyword
import os
import re
import unicodedata

import _belljar_code

from api import _edit, _progress, _rename_tree, _text
from api.filesystem import _files

SIZE_MAX = 8 << 20


class Plan:
    def __init__(self, old, new, attributes, scope):
        self.old, self.new, self.attributes, self.scope = old, new, attributes, scope
        self.found = {}  # path: (occurrences, identity of the file)
        self.conflicts, self.skipped = [], []
        self.functions = set()  # that have a parameter of this name
        self.owners = set()  # modules that have it
        self.modules = set()  # all that there are
        self.languages = {}  # path: of those that are not Python

    def name(self, path):
        """The module a file is."""
        stem, folder = os.path.splitext(os.path.basename(path))[0], os.path.basename(os.path.dirname(os.path.abspath(path)))
        module = folder if stem == "__init__" else stem
        self.modules |= {module, folder}
        return module

    def read(self, path):
        module = self.name(path)
        text = _text.Text(path)
        if len(text.text) > SIZE_MAX:
            raise ValueError("the file is too large")
        language = _belljar_code.language(path, text.text.encode("utf-8", "surrogateescape"))
        if language:
            self.read_tree(path, language, text)
            return
        check(self.old, self.new)
        answer = _belljar_code.occurrences(text.text.encode("utf-8"), self.old, self.new, self.attributes)
        if answer is None:
            raise ValueError("the file is not valid Python")
        found, line = answer
        if line:
            self.conflicts.append({"file": path, "line": line, "reason": f"{self.new} means something else here"})
        self.found[path] = (found, text.before.st_mtime_ns)
        for _, _, _, kind, owner, _, of_class in found:
            if kind == "param" and owner:
                parts = owner.replace(".<locals>", "").split(".")
                self.functions |= {parts[-1]} | ({parts[-2]} if parts[-1] in ("__init__", "__new__") and len(parts) > 1 else set())
            elif of_class and self.attributes:
                self.functions.add(owner.rpartition(".")[2])
            elif kind in ("def", "name", "import") and owner is None:
                self.owners.add(module)

    def read_tree(self, path, language, text):
        if self.scope != "auto":
            raise ValueError(f"scopes are known in Python only, and this is {language}")
        edits, kept, line = _rename_tree.find(language, text.text.encode("utf-8"), self.old, self.new, self.attributes)
        if line:
            self.conflicts.append({"file": path, "line": line, "reason": f"{self.new} stands in this file already"})
        self.found[path] = ((edits, kept), text.before.st_mtime_ns)
        self.languages[path] = language

    def chosen(self, path):
        """The occurrences to rename, by kind; what was left alone is counted."""
        if path in self.languages:
            edits, kept = self.found[path][0]
            return [(start, end, kind) for start, end, kind, _ in edits], {"attributes": kept} if kept else {}
        edits, kept, text = [], {}, None
        for start, length, line, kind, owner, about, of_class in self.found[path][0]:
            why = None
            if kind == "path":
                why = "modules"
            elif kind == "module" or (kind == "import" and not self.is_ours(about)):
                self.conflicts.append({"file": path, "line": line, "reason": f"{self.old} is imported from outside the files"})
            elif kind == "attribute":
                text = text if text is not None or self.attributes else _text.Text(path).text
                if not self.attributes and not self.is_of_module(about, text):
                    why = "attributes"
            elif kind == "kwarg" and (about not in self.functions or self.scope == "module"):
                why = "kwargs"
            elif of_class and not self.attributes:
                why = "attributes"
            elif self.scope != "auto" and owner is not False and owner != (None if self.scope == "module" else self.scope):
                why = "other_scopes"
            if why:
                kept[why] = kept.get(why, 0) + 1
            else:
                edits.append((start, start + length, kind))
        return edits, kept

    def is_ours(self, about):
        level, module = about
        return level > 0 or module.rpartition(".")[2].strip() in self.modules

    def is_of_module(self, base, text):
        """module.name, of a module that is among the files and is imported here, by its name or another."""
        last = (base or "").rpartition(".")[2]
        imported = r"^\s*(?:from\s[^\n]*)?import\b[^\n]*"
        alias = re.search(rf"{imported}?\b([\w.]+)\s+as\s+{re.escape(last)}\b", text, re.M)
        if alias:
            return alias[1].rpartition(".")[2] in self.owners
        return last in self.owners and re.search(rf"{imported}\b{re.escape(last)}\b", text, re.M) is not None


def check(old, new):
    for name in (old, new):
        if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
            raise ValueError(f"{name!r} is not a name")
        if keyword.iskeyword(name):
            raise ValueError(f"{name!r} is a keyword of Python")


def apply(plan, path, edits, create_backup, dry_run):
    old, new, language, identity = plan.old, plan.new, plan.languages.get(path), plan.found[path][1]
    file = _text.Text(path)
    if file.before.st_mtime_ns != identity:
        raise OSError(f"{path} was changed by somebody else meanwhile")
    data = file.text.encode("utf-8")
    pieces, at = [], 0
    for start, end, kind in edits:
        pieces += [data[at:start], _rename_tree.text_of(kind, old, new, plan.attributes).encode()]
        at = end
    result = b"".join(pieces + [data[at:]])
    if language:
        _rename_tree.check_result(language, path, data, result, old, new)
    return _edit.put(file, result.decode("utf-8"), create_backup, dry_run)


def rename(base, old, new, file_pattern, scope, attributes, create_backup, dry_run, partial, limit):
    if old == new:
        raise ValueError("the names are the same")
    plan = Plan(old, new, attributes, scope)
    paths = [base] if os.path.isfile(base) else _files(os.path.join(base, file_pattern))
    if not any(_belljar_code.language(path) for path in paths):
        check(old, new)  # of Python alone, and then it is a mistake of the whole call
    for path in paths:
        plan.name(path)
    for path in _text.containing(paths, old.encode()):
        try:
            plan.read(path)
        except (OSError, ValueError) as error:
            plan.skipped.append({"file": path, "reason": str(error)})
    chosen = {path: plan.chosen(path) for path in plan.found}
    kept = {}
    for _, left in chosen.values():
        for why, count in left.items():
            kept[why] = kept.get(why, 0) + count
    result = {"status": "success", "files_scanned": len(paths), "files_modified": 0, "total_replacements": 0, "by_kind": {}, "unchanged": kept,
              "conflicts": plan.conflicts[:limit], "skipped": plan.skipped, "details": []}  # fmt: skip
    if plan.languages:
        result["precision"] = "syntactic"
    missing = [s for s in plan.skipped if s["reason"].startswith("this build has no grammar")]
    if missing and not plan.found:
        return {**result, "status": "error", "error": f"{missing[0]['file']}: {missing[0]['reason']}",
                "hint": "Belljar has to be built where npm can fetch tree-sitter's grammars"}  # fmt: skip
    if plan.conflicts and not partial:
        return {**result, "status": "conflict", "message": "nothing was written; partial=True renames in the other files"}
    bad = {c["file"] for c in plan.conflicts}
    told = _progress.Progress(f"renaming {old}", len(chosen))
    for path, (edits, _) in chosen.items():
        told.step()
        if not edits or path in bad:
            continue
        try:
            apply(plan, path, edits, create_backup, dry_run)
        except (OSError, ValueError) as error:
            plan.skipped.append({"file": path, "reason": str(error)})
            result["status"] = "partial"
            continue
        result["files_modified"] += 1
        result["total_replacements"] += len(edits)
        for _, _, kind in edits:
            result["by_kind"][kind] = result["by_kind"].get(kind, 0) + 1
        if len(result["details"]) < limit:
            result["details"].append({"file": path, "replacements": len(edits), "status": "modified"})
    result["skipped"] = plan.skipped[:limit]
    return {**result, "dry_run": True} if dry_run else result
