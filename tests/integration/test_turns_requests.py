"""No client delays another's answer: many dear requests, calls and messages at once."""
import pytest

import test_turns
import turns
import turns_requests
from test_turns import tokens  # noqa: F401


@pytest.mark.parametrize("name", turns_requests.ATTACKS)
def test_no_turn_takes_long(tokens, name):  # noqa: F811
    turns.ATTACKS[name] = turns_requests.ATTACKS[name]
    test_turns.test_no_turn_takes_long(tokens, name)
