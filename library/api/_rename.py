"""Renaming by what names mean: which things are meant, then a plan over all files, then the edits."""
import os

import _belljar_code

from api import _edit, _progress, _rename_tree, _text
from api._rename_plan import Plan, check
from api.filesystem import _files

LEFT_MAX = 20  # places that are told one by one


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


def _missing(base, result):
    """A directory that is not there; perhaps another is meant."""
    import difflib

    folder = os.path.dirname(base) or "."
    near = difflib.get_close_matches(os.path.basename(base), os.listdir(folder) if os.path.isdir(folder) else [], 1)
    meant = f"; did you mean {os.path.join(os.path.dirname(base), near[0])!r}?" if near else f"; the working directory is {os.getcwd()}"
    return {**result, "status": "error", "error": f"there is no file or directory {base!r}{meant}"}


_WORDS = {
    "attributes": ("attribute", "attributes", "pass attributes=True"), "kwargs": ("keyword argument", "keyword arguments", None),
    "modules": ("module of that name", "modules of that name", None), "other_scopes": ("name in another scope", "names in other scopes", None),
    "other": ("namesake", "namesakes", None), "strings": ("string", "strings", None),
}  # fmt: skip


def _told(plan, result, base, file_pattern):
    """The places that were left, in a line; nothing if there is nothing to say."""
    if not plan.found and not plan.skipped:
        where = base if os.path.isfile(base) else f"{os.path.join(base, file_pattern)}, {result['files_scanned']} files"
        return f"nothing matched {plan.asked!r} in {where}"
    parts = []
    for why, count in result["unchanged"].items():
        one, many, hint = _WORDS[why]
        hint = plan.hint(why) or hint
        parts.append(f"{count} {one if count == 1 else many} left unchanged" + (f", {hint}" if hint else ""))
    if plan.note:
        parts.append(plan.note)
    if result.get("backups"):
        parts.append(_text.told_of_backups(result["backups"]))
    return "; ".join(parts)


def rename(base, old, new, file_pattern, scope, attributes, create_backup, dry_run, partial, limit):
    if old == new:
        raise ValueError("the names are the same")
    paths = [base] if os.path.isfile(base) else _files(os.path.join(base, file_pattern))
    plan = Plan(paths, old, new, attributes, scope)
    if not any(_belljar_code.language(path) for path in paths):
        check(plan.old, plan.new)  # of Python alone, and then it is a mistake of the whole call
    result = {"status": "success", "files_scanned": len(paths), "files_modified": 0, "total_replacements": 0, "by_kind": {}, "unchanged": {},
              "conflicts": [], "skipped": [], "details": []}  # fmt: skip
    if not os.path.exists(base):
        return _missing(base, result)
    for path in _text.containing(paths, plan.old.encode()):
        try:
            plan.read(path)
        except (OSError, ValueError) as error:
            plan.skipped.append({"file": path, "reason": str(error)})
    plan.decide()
    chosen = {path: plan.chosen(path) for path in plan.found}
    for path, (edits, left) in chosen.items():
        plan.check_taken(path, edits)
        for _, why, _ in left:
            result["unchanged"][why] = result["unchanged"].get(why, 0) + 1
    result |= {"conflicts": plan.conflicts[:limit], "skipped": plan.skipped}
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
            made = apply(plan, path, edits, create_backup, dry_run).get("backup")
        except (OSError, ValueError) as error:
            refused = _text.read_only(path, error)
            if refused and not result["files_modified"]:
                return {**result, "status": "error", **refused}
            plan.skipped.append({"file": path, "reason": str(error)})
            result["status"] = "partial"
            continue
        result["files_modified"] += 1
        result["total_replacements"] += len(edits)
        if made:
            result["backups"] = result.get("backups", 0) + 1
        for _, _, kind in edits:
            result["by_kind"][kind] = result["by_kind"].get(kind, 0) + 1
        if len(result["details"]) < limit:
            result["details"].append({"file": path, "replacements": len(edits), "status": "would change" if dry_run else "modified"})
    result["skipped"] = plan.skipped[:limit]
    places = [{"file": path, "line": line, "reason": words} for path, (_, left) in chosen.items() for line, _, words in left]
    result["left"] = places[: min(limit, LEFT_MAX)]
    if not result["total_replacements"] and result["status"] == "success" and not plan.conflicts:
        result["status"] = "unchanged" if plan.found else "not_found"
    message = _told(plan, result, base, file_pattern)
    if message:
        result["message"] = message
    return {**result, "dry_run": True} if dry_run else result
