"""Renaming in languages besides Python: by tokens, without scopes. Strings and comments stay."""
import re

import _belljar_code

_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")


_SCRIPT = """await break case catch class const continue debugger default delete do else enum export extends false finally for function if import
in instanceof let new null return static super switch this throw true try typeof var void while with yield"""
_C = """auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short
signed sizeof static struct switch typedef union unsigned void volatile while"""
_KEYWORDS = {
    "javascript": _SCRIPT, "typescript": _SCRIPT, "tsx": _SCRIPT, "c": _C,
    "cpp": _C + """ alignas alignof bool catch char16_t char32_t char8_t class concept const_cast constexpr decltype delete dynamic_cast explicit
        export false friend mutable namespace new noexcept nullptr operator private protected public reinterpret_cast requires static_assert
        static_cast template this thread_local throw true try typeid typename using virtual wchar_t""",
    "go": """break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct
        switch type var""",
    "rust": """as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self
        static struct super trait true type unsafe use where while Self""",
    "java": """abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for
        goto if implements import instanceof int interface long native new null package private protected public return short static strictfp super
        switch synchronized this throw throws transient true try void volatile while""",
    "bash": "case coproc do done elif else esac fi for function if in select then time until while",
    "json": "false null true",
}  # fmt: skip


def check(language, old, new):
    """A keyword may parse as a name, with mistakes that a grammar forgives."""
    for name in (old, new):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name")
        if name in _KEYWORDS[language].split():
            raise ValueError(f"{name!r} is a keyword of {language}")


def find(language, data, old, new, attributes):
    """The occurrences as (start, end, kind, line), which of them stay, and the line of a conflict or 0.

    Where the language tells fields from variables (JavaScript, TypeScript, C) fields stay unless they are asked for; elsewhere
    both are the same tokens.
    """
    check(language, old, new)
    found, line, field_line, _ = _belljar_code.tree_names(language, data, old, new)
    length = len(old.encode())
    chosen = [(start, start + length, kind, at) for start, at, kind in found if attributes or kind != "attribute"]
    taken = line or (field_line if attributes else 0)
    return chosen, len(found) - len(chosen), taken if chosen else 0


def text_of(kind, old, new, attributes):
    """The replacement of one name. {old} is {old: old}: the field keeps its name."""
    return f"{old}: {new}" if kind == "shorthand" and not attributes else new


def check_result(language, path, before, after, old, new):
    """A file without syntax errors has none afterwards, or nothing is written."""
    if _belljar_code.tree_names(language, before, old, new)[3]:
        return
    if _belljar_code.tree_names(language, after, old, new)[3]:
        raise ValueError(f"{path} would no longer be valid {language}; nothing was written")
