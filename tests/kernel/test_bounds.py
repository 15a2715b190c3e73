"""Bounds hold the count of any text, and a limit is judged as by counting."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnfold
from turnfold.errors import ArgumentError, UnknownEncodingError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "bounds.json").read_text())["cases"]
ENCODINGS = ("o200k_base", "cl100k_base", "o200k_harmony")
PIECES = st.sampled_from(
    (
        " ",
        "  ",
        "\n",
        "\t",
        "\r\n",
        "the",
        " meeting",
        "fooBar",
        "qxz",
        "1234",
        "٣",
        "=",
        '": "',
        "é",
        "的",
        "ж",
        "👍",
        "'s",
        "x" * 70,
    )
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_the_vectors_hold(case: dict[str, object]) -> None:
    text = str(case["text"]) * int(str(case["times"]))
    for encoding, (lo, hi) in dict(case["bounds"]).items():  # type: ignore[call-overload]
        found = turnfold.bounds(text, encoding)
        assert (found.lo, found.hi) == (lo, hi)
        assert lo <= turnfold.count(text, encoding) <= hi


@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS), shift=st.integers(-3, 3))
def test_the_count_is_inside_and_decides(text: str, encoding: str, shift: int) -> None:
    exact, found = turnfold.count(text, encoding), turnfold.bounds(text, encoding)
    assert found.lo <= exact <= found.hi
    assert found.lo <= found.n <= found.hi
    assert found.source == ("exact" if found.lo == found.hi else "bounds")
    for near in (found.lo, exact, found.hi):
        limit = max(0, near + shift)
        assert turnfold.fits(text, limit, encoding) == (exact <= limit)
        assert turnfold.fits(text, limit, encoding) == (turnfold.count_up_to(text, limit, encoding) is not None)


def test_a_long_text_is_judged_where_the_limit_lies_inside() -> None:
    text = "".join(
        f"Line {k}: the harbour office moves the meeting to Thursday. 报告 {{'a': [{k}]}}\n" for k in range(4_000)
    )
    exact, found = turnfold.count(text), turnfold.bounds(text)
    assert found.lo < exact < found.hi
    for limit in (found.lo, found.lo + 1, exact - 1, exact, exact + 1, (exact + found.hi) // 2, found.hi - 1):
        assert turnfold.fits(text, limit) == (exact <= limit)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UnknownEncodingError):
        turnfold.bounds("text", "o300k")
    with pytest.raises(UnknownEncodingError):
        turnfold.fits("text", 3, "o300k")
    with pytest.raises(ArgumentError):
        turnfold.fits("text", -1)
    with pytest.raises(ArgumentError):
        turnfold.Transcript.from_messages([{"role": "user", "content": "Hi"}]).fits(-1)


def unseen(seed: str) -> list[dict[str, str]]:
    """Return messages whose texts no test has counted."""
    return [
        {
            "role": "user" if k % 2 == 0 else "assistant",
            "content": f"{seed} {k}: the report is late, отчёт 12345. " * (k + 1),
        }
        for k in range(9)
    ]


@pytest.mark.parametrize("model", [None, "gpt-4o", "claude-sonnet-4-5", "some-open-model"])
def test_a_transcript_is_bounded(model: str | None) -> None:
    for span in ((None, None), (2, 7)):
        transcript = turnfold.Transcript.from_messages(unseen(f"bounded {model} {span}"))
        found = transcript.tokens(*span, model=model, mode="bounds")
        exact = transcript.tokens(*span, model=model)
        assert found.lo <= exact.lo <= exact.hi <= found.hi
        assert found.lo < found.hi
        assert found.source == ("bounds" if exact.source == "exact" else "estimate")
        assert transcript.tokens(*span, model=model, mode="bounds") == exact


@pytest.mark.parametrize("model", [None, "claude-sonnet-4-5", "some-open-model"])
def test_a_limit_is_judged_by_the_upper_bound(model: str | None) -> None:
    counted = turnfold.Transcript.from_messages(unseen(f"a limit 0 {model}")).tokens(model=model)
    for k, limit in enumerate((0, counted.hi - 1, counted.hi, counted.hi + 1, 9 * counted.hi)):
        # One digit apart, so that the messages are new and count the same.
        transcript = turnfold.Transcript.from_messages(unseen(f"a limit {k + 1} {model}"))
        fits = transcript.fits(limit, model=model)
        assert fits == (transcript.tokens(model=model).hi <= limit)
        assert fits == (counted.hi <= limit)
    assert turnfold.Transcript.from_messages(unseen(f"part {model}")).fits(0, 3, 3, model=model) in {True, False}


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ArgumentError):
        turnfold.Transcript.from_messages(unseen("mode")).tokens(mode="bound")  # type: ignore[arg-type]
