"""Blocks and tool calls taken out: what is left stays valid, and steps of the current turn go as a whole."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.planning.removal import remove_blocks, remove_tool_calls
from turnfold.testing.generators import Body, anthropic_messages, openai_chat
from turnfold.transcript import Transcript


def said(role: str, content: object) -> dict[str, Any]:
    return {"role": role, "content": content}


def used(identifier: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": "gauge", "input": {}}


def answered(identifier: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": "2 m"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


THOUGHT = {"type": "thinking", "thinking": "Use the gauge.", "signature": "s"}
TWO_TURNS = [
    said("user", "How deep?"),
    said("assistant", [THOUGHT, used("a"), used("b")]),
    said("user", [answered("a"), answered("b")]),
    said("assistant", "2 m."),
    said("user", "And here?"),
    said("assistant", [text("I look."), used("c"), used("d")]),
    said("user", [answered("c"), answered("d")]),
]


def anthropic(messages: list[dict[str, Any]]) -> Transcript:
    return Transcript.from_messages(messages, format="anthropic.messages")


def test_blocks_go_and_every_other_byte_stays() -> None:
    transcript = anthropic([said("user", [text("one"), text("two"), text("three")]), said("assistant", "ok")])
    left = remove_blocks(transcript, [(0, 1)])
    assert left.messages[0] == said("user", [text("one"), text("three")])
    assert left.message_json(1) == transcript.message_json(1)
    assert remove_blocks(transcript, []).to_json() == transcript.to_json()


def test_a_message_that_loses_every_block_goes() -> None:
    transcript = anthropic([said("user", [text("one")]), said("assistant", [THOUGHT, text("x")]), said("user", "now?")])
    assert remove_blocks(transcript, [(0, 0), (1, 1)]).messages == [said("user", "now?")]


@pytest.mark.parametrize("place", [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_there_is_nothing_to_remove_where_nothing_is(place: tuple[int, int]) -> None:
    with pytest.raises(ArgumentError):
        remove_blocks(anthropic([said("user", "one"), said("assistant", "two")]), [place])


def test_calls_go_with_their_results_and_the_reasoning_that_led_to_nothing_else() -> None:
    left, kept = remove_tool_calls(anthropic(TWO_TURNS), ["a", "b"])
    assert left.messages == [TWO_TURNS[0], *TWO_TURNS[3:]]
    assert kept == ()


def test_one_call_of_an_earlier_step_may_go() -> None:
    left, kept = remove_tool_calls(anthropic(TWO_TURNS), ["a"])
    assert left.messages[1:3] == [said("assistant", [THOUGHT, used("b")]), said("user", [answered("b")])]
    assert kept == ()


def test_a_step_of_the_current_turn_goes_as_a_whole_or_not_at_all() -> None:
    transcript = anthropic(TWO_TURNS)
    left, kept = remove_tool_calls(transcript, ["c"])
    assert left.to_json() == transcript.to_json()
    assert kept == ("c",)
    left, kept = remove_tool_calls(transcript, ["c", "d"])
    assert left.messages == [*TWO_TURNS[:5], said("assistant", [text("I look.")])]
    assert kept == ()


def test_a_call_that_is_awaited_stays() -> None:
    transcript = anthropic([said("user", "How deep?"), said("assistant", [used("a")])])
    left, kept = remove_tool_calls(transcript, ["a", "nobody"])
    assert left.to_json() == transcript.to_json()
    assert kept == ("a",)


MAKERS: list[Callable[..., Body]] = [openai_chat, anthropic_messages]


@given(st.sampled_from(MAKERS), st.integers(0, 5_000), st.data())
def test_what_is_left_of_a_valid_transcript_is_valid(make: Callable[..., Body], seed: int, data: st.DataObject) -> None:
    body = make(seed, turns=5)
    transcript = Transcript.from_json(json.dumps(body).encode())
    report = checks.scan(transcript)
    identifiers = sorted({pair.call_id for pair in report.pairs if pair.call_id is not None})
    wanted = data.draw(st.lists(st.sampled_from(identifiers), unique=True)) if identifiers else []
    left, kept = remove_tool_calls(transcript, wanted)
    after = checks.scan(left)
    assert after.ok == report.ok
    held = {pair.call_id for pair in after.pairs}
    assert held & set(wanted) == set(kept)
    assert held >= set(identifiers) - set(wanted)
    assert remove_tool_calls(left, wanted)[0].to_json() == left.to_json()
