"""Counts are tiktoken's, for any text that a Python string can hold."""

from collections.abc import Callable
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

import turnfold
from turnfold import _core
from turnfold.errors import ArgumentError, UnknownEncodingError

Oracle = Callable[[str], tiktoken.Encoding]
ENCODINGS = ("o200k_base", "cl100k_base", "o200k_harmony")

PIECES = st.sampled_from(
    [
        *("don't", "WE'LL", "I'ſ", "iPhone", "HTTPServer", "naïve", "ﬁ", "Ǆ", "१२३", "1234567", "٣", "x²"),
        *(" ", "  ", "   ", "\n", "\r\n", "\n\n ", "\t", "\u00a0", "\u3000", "\u2028", "\x00", "\x85"),
        *("<|endoftext|>", "<|im_start|>", "<|start|>assistant", "/*", "//", "...", "--------", "====", "!?/\n"),
        *("日本語", "한국어", "ไทย", "हिन्दी", "العربية", "👩‍👩‍👧‍👦", "🏳️‍🌈", "e\u0301", "\u200d", "\ufeff"),
        *("\ud83d", "\ude00", "\ud83d\ude00", "\udfff", "\ufffd", "a" * 100, " " * 100, "\n" * 50, "ab" * 60),
    ]
)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)
TEXTS = st.one_of(ANY_TEXT, st.lists(st.one_of(PIECES, ANY_TEXT), max_size=20).map("".join))


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS)
def test_counts_and_ids_are_tiktokens(oracle: Oracle, encoding: str, text: str) -> None:
    expected = oracle(encoding).encode_ordinary(text)
    assert _core.encode(text, encoding) == expected
    assert turnfold.count(text, encoding) == len(expected)
    assert (
        _core.decode(expected, encoding) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    )


@pytest.mark.parametrize("unit", ["naïve ", "日本語", "👩‍💻 ", "x\ud83d", "\ud83d\ude00", "é\udfff"])
def test_texts_of_over_a_million_characters_are_taken_whole_in_pieces(unit: str) -> None:
    most = 1 << 20
    for length in (most, most + 1, most + (1 << 17) + 1):
        text = (unit * (length // len(unit) + 1))[:length]
        read = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert _core.decode(_core.encode(text, "o200k_base"), "o200k_base") == read.encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(texts=st.lists(TEXTS, max_size=8))
def test_many_are_counted_as_one_by_one(encoding: str, texts: list[str]) -> None:
    assert turnfold.count_many(texts, encoding) == [turnfold.count(text, encoding) for text in texts]


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, limit=st.integers(0, 60))
def test_a_limit_stops_the_count_only_above_it(encoding: str, text: str, limit: int) -> None:
    exact = turnfold.count(text, encoding)
    assert turnfold.count_up_to(text, limit, encoding) == (exact if exact <= limit else None)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, max_tokens=st.integers(0, 60), data=st.data())
def test_a_truncated_text_fits_and_nothing_longer_does(
    encoding: str, text: str, max_tokens: int, data: st.DataObject
) -> None:
    head = turnfold.truncate(text, max_tokens, encoding, keep="head")
    tail = turnfold.truncate(text, max_tokens, encoding, keep="tail")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert max(turnfold.count(head, encoding), turnfold.count(tail, encoding)) <= max_tokens
    if turnfold.count(text, encoding) <= max_tokens:
        assert head == tail == text
        return
    longer = data.draw(st.integers(min(len(head), len(tail)) + 1, len(text)))
    if longer > len(head) and _on_an_edge(text, longer):
        assert turnfold.count(text[:longer], encoding) > max_tokens
    if longer > len(tail) and _on_an_edge(text, len(text) - longer):
        assert turnfold.count(text[len(text) - longer :], encoding) > max_tokens


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, max_tokens=st.integers(0, 60))
def test_both_ends_fit_joined(encoding: str, text: str, max_tokens: int) -> None:
    kept = turnfold.truncate(text, max_tokens, encoding, keep="both")
    assert turnfold.count(kept, encoding) <= max_tokens
    if turnfold.count(text, encoding) <= max_tokens:
        assert kept == text
        return
    assert len(kept) < len(text)
    head = turnfold.truncate(text, (max_tokens + 1) // 2, encoding)
    assert kept.startswith(head)
    assert text.endswith(kept[len(head) :])
    tail = turnfold.truncate(text, max_tokens - turnfold.count(head, encoding), encoding, keep="tail")
    assert kept == head + tail or turnfold.count(head + tail, encoding) > max_tokens


def _on_an_edge(text: str, index: int) -> bool:
    """Whether no pair of surrogates, which is one character, is parted there."""
    return not ("\ud800" <= text[index - 1 : index] <= "\udbff" and "\udc00" <= text[index : index + 1] <= "\udfff")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("unit", ["a", "\x00", " ", "\n", "a ", "日", "\ud800", "👍", "=", "9"])
def test_a_megabyte_of_one_thing(oracle: Oracle, encoding: str, unit: str) -> None:
    """tiktoken itself is quadratic on a run of one character, so it judges a shorter one."""
    short = unit * 3_000
    assert turnfold.count(short, encoding) == len(oracle(encoding).encode_ordinary(short))
    long = unit * (1_000_000 // len(unit))
    assert turnfold.count(long, encoding) == len(_core.encode(long, encoding))


@pytest.mark.parametrize("text", ["<|endoftext|>", "a<|endoftext|>b", "<|im_start|>user<|im_end|>", "<|return|>"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_looks_special_is_ordinary(oracle: Oracle, encoding: str, text: str) -> None:
    ordinary = oracle(encoding).encode_ordinary(text)
    assert len(ordinary) > 1
    assert _core.encode(text, encoding) == ordinary


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(UnknownEncodingError, match=r"p50k_base.*o200k_base"):
        turnfold.count("x", "p50k_base")


@pytest.mark.parametrize("call", [lambda: turnfold.truncate("x", -1), lambda: turnfold.count_up_to("x", -1)])
def test_a_negative_number_of_tokens_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match="-1"):
        call()


@pytest.mark.parametrize("wrong", [None, 2.0, "2"])
def test_a_number_of_tokens_that_is_no_int_is_refused(wrong: Any) -> None:
    for call in (turnfold.count_up_to, turnfold.fits, turnfold.truncate):
        with pytest.raises(TypeError, match="a number of tokens is an int"):
            call("x", wrong)


def test_a_token_that_no_encoding_has_is_refused() -> None:
    with pytest.raises(ArgumentError):
        _core.decode([4_000_000_000], "cl100k_base")
