"""The shared table of legal cuts, and the law of cutting, through the Python face."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnfold
from turnfold import KeepMessages, KeepTokens, KeepTurns, ScanOptions, Transcript
from turnfold.errors import ArgumentError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/splits.json").read_text())["cases"]


def keep_of(wish: dict[str, int]) -> KeepMessages | KeepTurns:
    ((kind, count),) = wish.items()
    return KeepTurns(count) if kind == "turns" else KeepMessages(count)


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_cuts(case: dict[str, Any]) -> None:
    transcript = Transcript.from_json(json.dumps(case["body"]).encode(), format=case["format"])
    options = msgspec.convert(case.get("options", {}), ScanOptions)
    points = turnfold.split_points(transcript, options)
    legal = case["legal"]
    assert list(points) == legal
    assert len(points) == len(legal)
    for index in range(len(transcript) + 2):
        assert (index in points) == (index in legal)
        assert points.at_or_before(index) == max((k for k in legal if k <= index), default=None)
        assert points.at_or_after(index) == min((k for k in legal if k >= index), default=None)
    for index, codes in case["barred"].items():
        assert [blocker.code for blocker in points.why_not(int(index))] == codes
    for choice in case.get("choices", ()):
        got = turnfold.find_split(transcript, keep_of(choice["keep"]), options)
        if choice["index"] is None:
            assert got is None
            continue
        assert got is not None
        assert (got.index, got.requested) == (choice["index"], choice["requested"])
        assert [blocker.code for blocker in got.moved_by] == choice["moved_by"]
        assert got.kept == len(transcript) - got.index
        assert got.evicted == got.index - transcript.leading


def call(identifier: str) -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": "f", "arguments": "{}"}}


@st.composite
def clean_chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}] * draw(st.integers(0, 1))
    for turn in range(draw(st.integers(0, 4))):
        messages.append({"role": "user", "content": f"question {turn}"})
        for step in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}.{step}.{k}" for k in range(draw(st.integers(1, 3)))]
            messages.append({"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]})
            order = draw(st.permutations(ids))
            messages += [{"role": "tool", "tool_call_id": i, "content": f"result {i}"} for i in order]
        messages.append({"role": "assistant", "content": f"answer {turn}"})
    return messages


def is_whole(messages: list[dict[str, Any]], *, closed: bool) -> bool:
    report = turnfold.scan(Transcript.from_messages(messages, format="openai.chat"), ScanOptions(closed=closed))
    return not [f for f in report.findings if f.category == "integrity" and f.severity == "error"]


@given(messages=clean_chats())
def test_a_legal_cut_gives_two_whole_halves_and_no_other_does(messages: list[dict[str, Any]]) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    assert turnfold.scan(transcript).ok or not messages
    points = turnfold.split_points(transcript)
    for index in range(transcript.leading, len(messages) + 1):
        halves = is_whole(messages[:index], closed=True) and is_whole(messages[index:], closed=False)
        assert halves == (index in points), index
        assert bool(points.why_not(index)) != (index in points)


@given(messages=clean_chats(), amount=st.integers(0, 400))
def test_a_found_split_keeps_what_was_asked(messages: list[dict[str, Any]], amount: int) -> None:
    transcript = Transcript.from_messages(messages, format="openai.chat")
    points = turnfold.split_points(transcript)
    by_messages = turnfold.find_split(transcript, KeepMessages(amount))
    assert by_messages is not None
    assert by_messages.index in points
    assert by_messages.kept >= min(amount, len(messages) - transcript.leading)
    by_tokens = turnfold.find_split(transcript, KeepTokens(amount))
    assert by_tokens is not None
    assert transcript.tokens(by_tokens.index, len(messages)).hi <= amount
    longer = points.at_or_before(by_tokens.index - 1)
    assert longer is None or transcript.tokens(longer, len(messages)).hi > amount
    assert bool(by_tokens.moved_by) == (by_tokens.index != by_tokens.requested)


def test_odd_indices_and_wishes() -> None:
    transcript = Transcript.from_messages([{"role": "user", "content": "x"}])
    points = turnfold.split_points(transcript)
    assert repr(points) == "<SplitPoints [0, 1]>"
    assert -1 not in points
    odd: object = "x"
    assert not points.__contains__(odd)
    assert 10**30 not in points
    assert (points.at_or_before(-1), points.at_or_before(10**30)) == (None, 1)
    assert (points.at_or_after(-1), points.at_or_after(10**30)) == (0, None)
    assert [blocker.code for blocker in points.why_not(7)] == ["outside"]
    for index in (-1, 10**30):
        with pytest.raises(ArgumentError):
            points.why_not(index)
    for wish in (KeepMessages(-1), KeepTurns(-1), KeepTokens(-1)):
        with pytest.raises(ArgumentError):
            turnfold.find_split(transcript, wish)
