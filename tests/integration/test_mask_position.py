"""Secrets that their position gives away: columns, arguments, header fields, sentences, escaped and split over lines."""
import subprocess

import pytest

import belljar
import position_corpus
import secrets_corpus
from test_mask import mask_lines, share

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module", params=SEEDS)
def corpus(request):
    rows = list(position_corpus.rows(request.param, 1))
    return list(zip(rows, mask_lines(rows)))


def leaks(row, text):
    return any(secret in text for secret in row["secrets"])


@pytest.mark.parametrize("kind, least", [("table_", 1), ("command", 0.98), ("header_", 1), ("signature", 1), ("cookie", 1), ("sentence", 0.96), ("escaped_", 0.99),
                                         ("jwt_lines", 1), ("base64_lines", 1), ("string_", 1), ("folded", 1), ("block", 1), ("continued", 1), ("next_line", 1), ("sql", 0.9),
                                         ("element", 1), ("nested", 1), ("source", 1), ("below", 1), ("marked", 1), ("pem_", 1), ("rows_", 1), ("login", 0.95), ("phrase", 1)])
def test_secrets_are_found_by_position(corpus, kind, least):
    rows = [(row, text) for row, text in corpus if row["kind"].startswith(kind)]
    assert len(rows) >= 5
    recall, bad = share(rows, lambda row, text: not leaks(row, text))
    assert recall >= least, bad


def test_recall_over_all_positions(corpus):
    assert len(corpus) > 700
    recall, bad = share(corpus, lambda row, text: not leaks(row, text))
    assert recall >= 0.995, bad


def test_what_stands_around_stays(corpus):
    kept, bad = share(corpus, lambda row, text: all(part in text for part in row["keep"]))
    assert kept == 1, bad


@pytest.mark.parametrize("seed", SEEDS)
def test_clean_text_stays_as_it_is(seed):
    rows = list(position_corpus.clean_rows(secrets_corpus.Maker(seed)))
    assert len(rows) > 700
    kept, bad = share(list(zip(rows, mask_lines(rows))), lambda row, text: text == row["text"])
    assert kept == 1, bad


def test_a_table_without_end_takes_no_memory_and_is_masked():
    process = subprocess.Popen([belljar.program_path(), "mask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    rows = 50_000
    text = "user,password\n" + "".join(f"u{i},hunter{i}x\n" for i in range(rows))
    out, _ = process.communicate(text.encode())
    assert process.returncode == 0
    assert b"hunter" not in out and out.count(b"[REDACTED_SECRET]") == rows


def test_a_prompt_behind_a_line_about_passwords_is_not_delayed():
    process = subprocess.Popen([belljar.program_path(), "mask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        for text in (b"please enter user, password\n", b"Name: ", b"\n", b"the password is needed\n", b"Type it here: "):
            process.stdin.write(text)
            assert process.stdout.read(len(text)) == text
    finally:
        process.stdin.close()
        assert process.wait() == 0
