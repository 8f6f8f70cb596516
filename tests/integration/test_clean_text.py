"""Only the masker makes clean text: everything else that tries does not compile."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """#include "base/clean.h"
struct clean_text make(const char *text, size_t len);
struct clean_text make(const char *text, size_t len)
{
    struct clean_text clean = clean_literal("");

    (void)text;
    (void)len;
    %s
    return clean;
}
"""


def compile_with(statement):
    compiler = os.environ.get("CC", "cc").split()
    return subprocess.run(
        [*compiler, "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Isrc", "-xc", "-"],
        input=PROGRAM % statement, capture_output=True, text=True, cwd=ROOT, check=False,
    )


@pytest.mark.parametrize("statement", [
    'clean = clean_literal("words of ours");',
    "clean = clean_from(clean, clean_len(clean));",
])
def test_our_own_words_and_parts_of_clean_text_compile(statement):
    done = compile_with(statement)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("statement", [
    "clean = (struct clean_text){.masked_data = text, .masked_len = len};",
    "clean.masked_data = text;",
    "clean = clean_literal(text);",
])
def test_text_that_was_not_masked_does_not_compile(statement):
    assert compile_with(statement).returncode != 0


def test_an_initializer_without_names_does_not_compile_with_gcc():
    done = compile_with("clean = (struct clean_text){text, len};")
    if "clang" in subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("clang does not know the attribute designated_init")
    assert done.returncode != 0 and "designated_init" in done.stderr
