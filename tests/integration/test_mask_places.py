"""Secrets in texts of many kinds: how many are found must not fall."""
import pytest

import places_corpus
from test_mask import mask_lines, share

# A floor for each set. What is below it was found when this was written; the others are known misses.
FLOORS = {"first": 0.94, "second": 0.94, "third": 0.95, "fourth": 0.96, "fifth": 0.95, "sixth": 0.93, "seventh": 1.0}


@pytest.mark.parametrize("name", FLOORS)
@pytest.mark.parametrize("seed", (1, 2))
def test_recall_does_not_fall(name, seed):
    rows = list(places_corpus.rows(seed, name))
    assert len(rows) > (290 if name != "seventh" else 15)
    recall, bad = share(list(zip(rows, mask_lines(rows))), lambda row, text: not any(secret in text for secret in row["secrets"]))
    assert recall >= FLOORS[name], bad


@pytest.mark.parametrize("seed", (1, 2))
def test_clean_text_near_secrets_is_unchanged(seed):
    rows = list(places_corpus.clean_rows(seed))
    assert len(rows) > 600
    assert [(row["kind"], text) for row, text in zip(rows, mask_lines(rows)) if text != row["text"]] == []
