"""Read, write, copy and replace text in files, one or many.

Lines count from 1, both ends included. Writes are all or nothing and keep encoding, line ends and mode.
"""
import glob as _glob
import os as _os
import re as _re

import _belljar_code

from api import _edit, _parameters, _progress, _search, _text

__all__ = ["read_file", "write_file", "copy_lines", "paste_code", "search", "search_replace", "batch_copy", "batch_transform"]

READ_MAX = 1_000_000

# Patterns that are walked without Python: all files below a directory whose names match.
_BELOW = _re.compile(r"((?:[^*?\[]*/)?)\*\*/((?:[^/*\\]|\*(?!\*))+)", _re.S)


def _line_range(lines, start, end, path):
    start = 1 if start is None else start
    end = len(lines) if end is None or end == -1 else end
    if start < 1 or end < start:
        raise ValueError(f"lines {start} to {end} of {path}: lines count from 1, and the end is not before the start")
    return start, min(end, len(lines))


def read_file(file_path, encoding="utf-8", start=None, end=None, max_bytes=READ_MAX):
    """The text of a file, or of its lines `start` to `end`. The one call that returns content; longer texts are refused.

    >>> read_file("app.py", start=1, end=20)
    """
    text = _text.Text(file_path, None if encoding == "utf-8" else encoding).text
    if start is not None or end is not None:
        lines = _text.split(text)
        start, end = _line_range(lines, start, end, file_path)
        text = "".join(lines[start - 1 : end])
    if len(text) > max_bytes:
        raise ValueError(f"{file_path} has {len(text)} characters: read lines of it with start and end, or raise max_bytes")
    return text


def write_file(file_path, content, encoding="utf-8", create_backup=False, dry_run=False):
    """Creates or replaces a file. {status, file, lines_written, line_count, backup}

    >>> write_file("out/report.md", "# Report\\n")
    """
    path = _os.fspath(file_path)
    lines = _text.count_lines(content)
    result = {"status": "success", "file": path, "lines_written": lines, "line_count": lines}
    if dry_run:
        return {**result, "dry_run": True}
    if create_backup:
        made = _text.backup(path)
        if made:
            result["backup"] = made
    _text.write_bytes(path, content.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict"))
    return result


def copy_lines(source_file, start_line, end_line, include_line_numbers=False):
    """The text of lines `start_line` to `end_line` (-1: the last).

    >>> copy_lines("app.py", 10, 20, include_line_numbers=True)
    """
    lines = _text.split(_text.Text(source_file).text)
    start, end = _line_range(lines, start_line, end_line, source_file)
    chosen = lines[start - 1 : end]
    if include_line_numbers:
        chosen = [f"{number:4d} | {line}" for number, line in enumerate(chosen, start)]
    return "".join(chosen)


def _insert(text, line_number, code, end):
    """The new text, and the line the code begins at."""
    lines = _text.split(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
    if line_number == -1:
        at = len(lines)
    elif line_number < 1:
        raise ValueError(f"line {line_number}: lines count from 1, and -1 appends")
    else:
        lines += [end] * (line_number - 1 - len(lines))
        at = line_number - 1
    code = _text.with_line_end(code, end)
    if code and not code.endswith(end):
        code += end
    return "".join(lines[:at]) + code + "".join(lines[at:]), at + 1


def paste_code(target_file, line_number, code, create_backup=True, dry_run=False):
    """Inserts `code` before a line; -1 appends. Creates the file, its directories and missing lines.

    {status, file, line, lines_inserted, line_count, backup}

    >>> paste_code("app.py", 1, "import json\\n")
    """
    path = _os.fspath(target_file)
    file = _text.Text(path) if _text.exists(path) else None
    text, line = _insert(file.text if file else "", line_number, code, file.line_end if file else "\n")
    result = {"status": "success", "file": path, "line": line, "lines_inserted": _text.count_lines(code),
              "line_count": _text.count_lines(text), "backup": None}  # fmt: skip
    if dry_run:
        return {**result, "dry_run": True}
    if create_backup:
        result["backup"] = _text.backup(path)
    if file:
        file.text = text
        file.save()
    else:
        _text.write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return result


def _files(pattern):
    """Regular files of a glob, sorted; what begins with a dot, backups and files that are being written are left out."""
    pattern = _os.fspath(pattern)
    if _os.path.isdir(pattern):  # everything in it
        pattern = _os.path.join(pattern, "**/*")
    below = _BELOW.fullmatch(pattern)
    if below:
        folder = below[1] or ""
        try:
            return _belljar_code.walk(folder or ".", folder, below[2])
        except OSError:
            return []
    return [path for path in sorted(_glob.glob(pattern, recursive=True)) if _os.path.isfile(path) and not _is_ours(path)]


def _is_ours(path):
    name = _os.path.basename(path)
    return ".backup_" in name or name.startswith(".belljar-")


def _is_binary(path):
    with open(path, "rb") as file:
        return b"\0" in file.read(8192)


def _nothing(pattern, paths):
    """Says so where no file was looked at."""
    return {} if paths else {"message": f"no file matches {_os.fspath(pattern)!r} below {_os.getcwd()}"}


def _looks_like_files(word):
    return "**" in word or "/*" in word or word.startswith("*.")


def _is_swapped(file_pattern, other):
    """The text to find stands where the files belong, and they in its place, as with grep."""
    if not (isinstance(file_pattern, str) and isinstance(other, str)) or _looks_like_files(file_pattern) or _os.path.exists(file_pattern):
        return False
    return (_looks_like_files(other) or _os.path.exists(other)) and not _files(file_pattern)


def search(file_pattern, search, regex=False, case_sensitive=True, word=False, in_="all", limit=100, count_only=False):
    """Finds a text, or an expression, in all files of a glob; in_: all, or in Python code, strings or comments.

    {files_scanned, files_matched, total_matches, matches: [{file, line, col, text}], skipped: [{file, reason}]}; at most
    `limit` of these, with count_only none. `text` is the line, cut to about 100 characters.

    >>> search("**/*.py", "TODO", in_="comments", count_only=True)["total_matches"]
    """
    if _is_swapped(file_pattern, search):
        file_pattern, search = search, file_pattern
    expression = _search.expression_of(search, regex, case_sensitive, word)
    paths = _files(file_pattern)
    told = _progress.Progress("searching", len(paths))
    matched, total, matches, skipped = 0, 0, [], []
    for path in _search.candidates(paths, search, regex, case_sensitive):
        told.step()
        try:
            if _is_binary(path):
                continue
            before = total
            for line, col, shown in _search.places(expression, _text.Text(path).text, in_, path):
                total += 1
                if not count_only and len(matches) < limit:
                    matches.append({"file": path, "line": line, "col": col, "text": shown})
            matched += total > before
        except (OSError, ValueError) as error:
            skipped.append({"file": path, "reason": str(error)})
    result = {"files_scanned": len(paths), "files_matched": matched, "total_matches": total, **_nothing(file_pattern, paths)}
    return result if count_only else {**result, "matches": matches, "skipped": skipped[:limit]}


def _put(file, text, create_backup, dry_run, verify):
    """Whether a backup was made."""
    if verify:
        return bool(_edit.put(file, text, create_backup, dry_run).get("backup"))
    file.text = text
    made = None if dry_run or not create_backup else _text.backup(file.path)
    if not dry_run:
        file.save()
    return bool(made)


def search_replace(file_pattern, search, replace, regex=False, case_sensitive=True, create_backup=True, word=False, dry_run=False, limit=100,
                   in_="all", verify=True, count_only=False):  # fmt: skip
    """Replaces a text, or an expression, in all files of a glob; in_: all, or in Python code, strings or comments.

    A Python file that would become invalid is left alone, unless verify=False.
    {files_scanned, files_modified, total_replacements, details: [{file, replacements, status} or {file, status, error}]};
    at most `limit` details, `details_more` counts the rest; with count_only none, and nothing is written.

    >>> search_replace("**/*.md", "http://", "https://", dry_run=True)["total_replacements"]
    """
    for files, others in ((search, (file_pattern, replace)), (replace, (file_pattern, search))):
        if _is_swapped(file_pattern, files) and _looks_like_files(files):  # nobody guesses what to change
            raise ValueError(f"no file matches {file_pattern!r}: the files come first, search_replace({', '.join(map(repr, (files, *others)))})")
    expression = _search.expression_of(search, regex, case_sensitive, word)
    with_what = replace if regex else lambda found: replace
    details, modified, total, backups = [], 0, 0, 0
    paths = _files(file_pattern)
    told = _progress.Progress("replacing", len(paths))
    for path in _search.candidates(paths, search, regex, case_sensitive):
        told.step()
        try:
            if _is_binary(path):
                continue
            file = _text.Text(path)
            text, count = _search.replace(expression, with_what, file.text, in_, path)
            if text == file.text:
                continue
            backups += _put(file, text, create_backup, dry_run or count_only, verify)
            modified, total = modified + 1, total + count
            details.append({"file": path, "replacements": count, "status": "would change" if dry_run or count_only else "modified"})
        except (OSError, ValueError, _re.error) as error:
            details.append({"file": path, "status": "error", "error": str(error)})
            refused = None if modified else _text.read_only(path, error)
            if refused:
                return {"files_scanned": len(paths), "files_modified": 0, "total_replacements": 0, "details": details, "status": "error", **refused}
    result = {"files_scanned": len(paths), "files_modified": modified, "total_replacements": total, **_nothing(file_pattern, paths)}
    if backups:
        result |= {"backups": backups, "message": _text.told_of_backups(backups)}
    if not count_only:
        result["details"] = details[:limit]
        if len(details) > limit:
            result["details_more"] = len(details) - limit
    if dry_run or count_only:
        result["dry_run"] = True
    return result


def _finish(batch, results):
    """Tells of files that could not be written in the end."""
    for path, error in batch.failed:
        results.append({"status": "error", "operation": "write", "file": path, "error": f"{type(error).__name__}: {error}"})
    if batch.dry_run:
        for result in results:
            result["dry_run"] = True
    return results


def _copy(operation):
    source, target = operation.get("source_file"), operation.get("target_file")
    failed = {"status": "error", "operation": "copy_paste", "source": source, "target": target}
    try:
        code = copy_lines(source, operation["start_line"], operation["end_line"])
        done = paste_code(target, operation["target_line"], code, operation.get("create_backup", True))
    except KeyError as error:
        return {**failed, "error": f"the operation lacks {error}"}
    except (OSError, ValueError, TypeError) as error:
        return {**failed, "error": str(error)}
    return {**done, "operation": "copy_paste", "source": source}


def batch_copy(operations, dry_run=False):
    """Copies lines between files: [{source_file, start_line, end_line, target_file, target_line, create_backup}].

    Returns the result of each paste; one that fails has its reason, and the others still run. Each sees the changes of
    the earlier ones; every file is written once, at the end.

    >>> batch_copy([{"source_file": "a.py", "start_line": 1, "end_line": 9, "target_file": "b.py", "target_line": -1}])
    """
    told, results = _progress.Progress("copying", len(operations)), []
    with _text.Batch(dry_run) as batch:
        for operation in operations:
            results.append(_copy(operation))
            told.step()
    return _finish(batch, results)


def _transform(operation, transform_fn):
    function = operation.get("transform") or transform_fn
    if not callable(function):
        raise ValueError("there is no function: give `transform` in the operation, or transform_fn")
    file = _text.Text(operation["file"])
    start, end = operation.get("start_line"), operation.get("end_line")
    if start is None and end is None:
        new = function(file.text)
        is_whole = True
    else:
        lines = _text.split(file.text)
        start, end = _line_range(lines, start, end, file.path)
        new = "".join(lines[: start - 1]) + function("".join(lines[start - 1 : end])) + "".join(lines[end:])
        is_whole = False
    if not isinstance(new, str):
        raise TypeError(f"the function returned {type(new).__name__}, expected the new text")
    done = _edit.put(file, new, is_whole, False)
    return {"status": "success", "file": file.path, "operation": "transform", "modified": done["modified"]}


def batch_transform(operations, transform_fn=None, dry_run=False):
    """Passes files, or lines of them, through functions: [{file, start_line, end_line, transform}].

    Returns a list of {status, file, operation, modified}; one that fails, or would leave invalid Python, has its
    reason, and the others still run. Each sees the changes of the earlier ones; every file is written once, at the end.

    >>> batch_transform([{"file": "a.py"}, {"file": "b.py"}], str.expandtabs)
    """
    told, results = _progress.Progress("transforming", len(operations)), []
    with _text.Batch(dry_run) as batch:
        for operation in operations:
            told.step()
            try:
                results.append(_transform(operation, transform_fn))
            except Exception as error:  # noqa: BLE001 - the function is the caller's
                results.append({"status": "error", "file": operation.get("file"), "operation": "transform",
                                "error": f"{type(error).__name__}: {error}"})  # fmt: skip
    return _finish(batch, results)


_parameters.understand(globals())
