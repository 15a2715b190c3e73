"""Cue words, counted by the kernel and by the lists as they stand, which Python's `re` runs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.summarizers.extractive import cues

_LISTED = sorted(
    word
    for words, _ in cues.LISTS.values()
    for one in words
    for word in re.findall(r"[a-z]+(?:[' -][a-z]+)*", one)
    if len(word) > 1
)
_COMPILED = {
    name: re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)|{glued}") for name, (words, glued) in cues.LISTS.items()
}


def count_slowly(text: str) -> dict[str, int]:
    return {name: len(pattern.findall(text)) for name, pattern in _COMPILED.items()}


@pytest.mark.parametrize(
    ("text", "list_name", "count"),
    [
        ("never touch main, and do not push", "forbid", 2),
        ("nevertheless", "forbid", 0),
        ("i need to look first", "oblige", 0),
        ("hi must", "oblige", 0),
        ("you need to ask, and must wait", "oblige", 2),
        ("never — really never — do that", "forbid", 2),
        ("don't; ne pas", "forbid", 2),
        ("bitte niemals löschen", "forbid", 1),
        ("不要删除", "forbid", 1),
        ("no½ immer² nie", "forbid", 1),
        ("没有 avoid 批准 avoid", "forbid", 2),
        ("no longer, from now on", "update", 2),
        ("before you answer, ask me", "stand", 2),
        ("before your time", "stand", 0),
        ("in jeder antwort, und wenn du fragst", "stand", 1),
    ],
)
def test_a_text_has_so_many_cues_of_a_list(text: str, list_name: str, count: int) -> None:
    assert cues.counts(text)[list_name] == count
    assert count_slowly(text)[list_name] == count


_OTHERS = ("i", "I", "hi", "—", "é", "_", "-", "不", "没有", "批准", "को", "½", "²", "\u0301")


@given(st.lists(st.sampled_from([*_LISTED, *_OTHERS]), max_size=12), st.data())
def test_the_kernel_counts_what_the_lists_say(words: list[str], data: st.DataObject) -> None:
    gaps = [data.draw(st.sampled_from([" ", "", ", ", "  ", "-", "."])) for _ in words]
    text = "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    assert cues.counts(text) == count_slowly(text)
