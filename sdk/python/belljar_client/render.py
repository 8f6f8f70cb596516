"""Results as text for a terminal and as HTML for a notebook.

What programs print and display is hostile: a script in a notebook's page can run code in the notebook's own kernel, outside
any sandbox. So HTML of programs is never passed on. Text is escaped, tables are made from their values, and pictures are
images, in which browsers run no scripts.
"""
from __future__ import annotations

import base64
import csv
import html
import io
from typing import TYPE_CHECKING, Dict, Iterable, List, Optional, Sequence, Tuple

from .text import printable

if TYPE_CHECKING:
    from .types import Changes, Display, Result

PICTURES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg"}

TEXT_CHARACTERS = 200_000
TABLE_ROWS = 60
TABLE_COLUMNS = 40

_RED = "color: #b00020"


def failure(result: "Result") -> Tuple[str, Optional[str]]:
    """One line about a program that did not succeed, and a hint."""
    if result.error is not None:
        return printable(f"{result.error.name}: {result.error.message}"), _clean(result.error.hint or result.hint)
    if result.violations:
        first = result.violations[0]
        where = f"line {first.line}: " if first.line else ""
        return printable(f"the program was refused: {where}{first.message}"), _clean(first.hint)
    words = {
        "timeout": "the program exceeded its time limit",
        "memory_exceeded": "the program exceeded its memory limit",
        "cancelled": "the program was cancelled",
    }
    return words.get(result.status, printable(f"the program ended with exit code {result.exit_code}")), _clean(result.hint)


def _clean(text: Optional[str]) -> Optional[str]:
    return None if text is None else printable(text)


# --- text ---


def result_text(result: "Result") -> str:
    parts = [result.stdout]
    parts += [best.text for best in map(_best_text, _bundles(result.displays)) if best is not None]
    parts += [result.text or "", result.stderr]
    if not result.ok:
        message, hint = failure(result)
        if message not in result.stderr:
            parts.append(message)
        parts.append(f"hint: {hint}" if hint else "")
    parts += [f"denied: {d.what}" + (f" (hint: {d.hint})" if d.hint else "") for d in result.denials]
    return printable("\n".join(p.rstrip("\n") for p in parts if p))


def _best_text(forms: Sequence["Display"]) -> Optional["Display"]:
    return next((d for d in forms if d.mime == "text/plain"), None)


def changes_text(changes: "Changes") -> str:
    letters = {"created": "A", "changed": "M", "deleted": "D"}
    lines = []
    for c in changes.changes:
        counts = f"  +{c.added} -{c.removed}" if c.added is not None and c.removed is not None else ""
        lines.append(f"{letters.get(c.change, '?')} {c.path}{counts}" + (f"  ({c.obstacle})" if c.obstacle else ""))
    return "\n".join(printable(line).replace("\n", "\\n") for line in lines)


# --- HTML ---


def result_html(result: "Result") -> str:
    parts = [_pre(result.stdout)]
    parts += [display_html(forms) for forms in _bundles(result.displays)]
    parts += [_pre(result.text or "")]
    parts += [_pre(result.stderr, _RED)]
    if not result.ok:
        message, hint = failure(result)
        parts.append(_line(result.status, message, _RED))
        parts.append(_line("hint", hint) if hint else "")
    parts += [_line("refused", f"line {v.line}: {v.message}" if v.line else v.message, _RED) for v in result.violations[1:]]
    parts += [_line("denied", d.what, _RED) for d in result.denials]
    return f'<div class="belljar-result">{"".join(parts)}</div>'


def _bundles(displays: Iterable["Display"]) -> List[List["Display"]]:
    bundles: Dict[int, List["Display"]] = {}
    for d in displays:
        bundles.setdefault(d.bundle, []).append(d)
    return list(bundles.values())


def display_html(forms: Sequence["Display"]) -> str:
    """The best form of one object that can do no harm."""
    by_mime = {d.mime: d for d in forms}
    for mime in PICTURES:
        if mime in by_mime:
            return _image(by_mime[mime])
    if "text/csv" in by_mime:
        table = _table(by_mime["text/csv"].text)
        if table is not None:
            return table
    for mime in ("text/plain", "text/markdown", "text/latex"):
        if mime in by_mime:
            return _pre(by_mime[mime].text)
    return _line("displayed", ", ".join(by_mime))


def _image(picture: "Display") -> str:
    data = base64.b64encode(picture.data).decode("ascii")
    return f'<img src="data:{picture.mime};base64,{data}" style="max-width: 100%" alt="picture">'


def _table(text: str) -> Optional[str]:
    try:
        rows = [row[:TABLE_COLUMNS] for row, _ in zip(csv.reader(io.StringIO(text, newline="")), range(TABLE_ROWS + 2))]
    except csv.Error:
        return None
    if not rows:
        return None
    head = "".join(f"<th>{_escape(c)}</th>" for c in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{_escape(c)}</td>" for c in row) + "</tr>" for row in rows[1 : TABLE_ROWS + 1])
    more = _line("table", f"the first {TABLE_ROWS} rows") if len(rows) > TABLE_ROWS + 1 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _pre(text: str, style: str = "") -> str:
    if not text:
        return ""
    cut = text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS] + "\n…"
    return f'<pre style="{style}">{_escape(cut)}</pre>'


def _line(name: str, text: str, style: str = "") -> str:
    return f'<div style="{style}"><b>{_escape(name)}</b>: {_escape(text)}</div>'


def _escape(text: str) -> str:
    return html.escape(printable(text))
