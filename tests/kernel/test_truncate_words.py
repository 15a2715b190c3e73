"""A text cut between words: within the limit, without half a word where a space is near, never more than before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import meter

words = st.lists(st.sampled_from(["Logged0", "abc", "\n", "  ", "é", "Mira", "0", "。", "\u2003", "x" * 90])).map(
    " ".join
)


@given(st.text(max_size=200) | words, st.integers(0, 30))
def test_what_is_left_fits_and_stood_there(text: str, max_tokens: int) -> None:
    left = meter.truncate_words(text, max_tokens)
    assert meter.count(left) <= max_tokens
    assert left in text


@pytest.mark.parametrize(
    ("text", "max_tokens", "left"),
    [("Logged0", 1, "Logged"), ("Mira left Logged0", 4, "Mira left"), ("Mira left", 9, "Mira left"), ("Mira", 0, "")],
)
def test_words_stay_whole_where_a_space_is_near(text: str, max_tokens: int, left: str) -> None:
    assert meter.truncate_words(text, max_tokens) == left
