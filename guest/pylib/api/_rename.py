"""Renaming by what names mean: a plan over all files first, then the edits."""
import keyword
import os
import re
import unicodedata

import _belljar_code

from api import _edit, _progress, _text
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
        answer = _belljar_code.occurrences(text.text.encode("utf-8"), self.old, self.new, self.attributes)
        if answer is None:
            raise ValueError("the file is no Python")
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

    def chosen(self, path):
        """The occurrences to rename, by kind; what was left alone is counted."""
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
            elif kind == "kwarg" and about not in self.functions:
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
        """module.name, of a module that is among the files and is imported here."""
        last = (base or "").rpartition(".")[2]
        return last in self.owners and re.search(rf"^\s*(?:from\s[^\n]*)?import\b[^\n]*\b{re.escape(last)}\b", text, re.M) is not None


def check(old, new):
    for name in (old, new):
        if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
            raise ValueError(f"{name!r} is no name")
        if keyword.iskeyword(name):
            raise ValueError(f"{name!r} is a keyword of Python")
    if old == new:
        raise ValueError("the names are the same")


def apply(path, edits, identity, new, create_backup, dry_run):
    file = _text.Text(path)
    if file.before.st_mtime_ns != identity:
        raise OSError(f"{path} was changed by somebody else meanwhile")
    data, name = file.text.encode("utf-8"), new.encode()
    pieces, at = [], 0
    for start, end, _ in edits:
        pieces += [data[at:start], name]
        at = end
    return _edit.put(file, b"".join(pieces + [data[at:]]).decode("utf-8"), create_backup, dry_run)


def rename(base, old, new, file_pattern, scope, attributes, create_backup, dry_run, partial, limit):
    check(old, new)
    plan = Plan(old, new, attributes, scope)
    paths = [base] if os.path.isfile(base) else _files(os.path.join(base, file_pattern))
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
    if plan.conflicts and not partial:
        return {**result, "status": "conflict", "message": "nothing was written; partial=True renames in the other files"}
    bad = {c["file"] for c in plan.conflicts}
    told = _progress.Progress(f"renaming {old}", len(chosen))
    for path, (edits, _) in chosen.items():
        told.step()
        if not edits or path in bad:
            continue
        try:
            apply(path, edits, plan.found[path][1], new, create_backup, dry_run)
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
