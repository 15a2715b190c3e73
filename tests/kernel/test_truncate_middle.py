"""A text cut in its middle: it fits, says what went, and keeps both ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import meter
from turnfold.errors import ArgumentError

texts = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(["word ", "\n", "日本語", "x=1;", "=" * 40, "\ud83d"]), max_size=300).map("".join),
)


@given(texts, st.integers(0, 80), st.sampled_from(["o200k_base", "cl100k_base"]))
def test_fits_or_is_untouched(text: str, max_tokens: int, encoding: str) -> None:
    short = meter.truncate_middle(text, max_tokens, encoding)
    assert meter.count(short, encoding) <= max_tokens
    if meter.count(text, encoding) <= max_tokens:
        assert short is text
    else:
        assert short == "" or short.count("removed ...]") == 1 + text.count("removed ...]")


def test_lines_of_a_log() -> None:
    log = "".join(f"line {k}: all is well here\n" for k in range(5000))
    lines = meter.truncate_middle(log, 200).splitlines()
    assert lines[0] == "line 0: all is well here"
    assert lines[-1] == "line 4999: all is well here"
    assert sum(line.startswith("[... ") and line.endswith(" tokens removed ...]") for line in lines) == 1
    assert 150 <= meter.count(meter.truncate_middle(log, 200)) <= 200


def test_a_cap_is_not_negative() -> None:
    with pytest.raises(ArgumentError):
        meter.truncate_middle("text", -1)
