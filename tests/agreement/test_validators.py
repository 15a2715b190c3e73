"""Other validators agree with turnfold, on invented transcripts and on what a compaction makes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from validators import EXPLAINED, FORMATS, VALIDATORS, disagreements

from turnfold import (
    CompactionResult,
    KeepMessages,
    OnRequest,
    Policy,
    RepairOptions,
    Rules,
    ScanOptions,
    Summarize,
    Transcript,
    compact_sync,
    repair,
    scan,
)
from turnfold.model.repair import Unanswered
from turnfold.testing.damage import DAMAGES, damaged
from turnfold.testing.generators import Body, anthropic_messages, openai_chat

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "agreement.json").read_text(encoding="utf-8")
)["cases"]
MAKERS: dict[str, Callable[..., Body]] = {"openai.chat": openai_chat, "anthropic.messages": anthropic_messages}

seeds = st.integers(0, 10**6)
formats = st.sampled_from(FORMATS)
unanswered: st.SearchStrategy[Unanswered] = st.sampled_from(get_args(Unanswered))


def read(format: str, body: Body) -> Transcript:
    return Transcript.from_json(msgspec.json.encode(body), format=format)


def unexplained(transcript: Transcript) -> list[object]:
    return [found for found in disagreements(transcript) if found.explained is None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_difference_is_what_its_vector_says(case: dict[str, Any]) -> None:
    transcript = Transcript.from_messages(case["messages"], format=case["format"])
    (found,) = [d for d in disagreements(transcript) if d.validator == case["validator"]]
    assert (list(found.ours), list(found.theirs), found.explained) == (case["ours"], case["theirs"], case["name"])


def test_every_difference_has_a_vector() -> None:
    assert {case["name"] for case in CASES} == set(EXPLAINED)


@settings(deadline=None, max_examples=150)
@given(formats, seeds)
def test_all_call_a_clean_transcript_clean(format: str, seed: int) -> None:
    transcript = read(format, MAKERS[format](seed, ending="user"))
    assert scan(transcript).ok
    for validator in VALIDATORS:
        assert validator.finds(list(transcript.messages), format.split(".", maxsplit=1)[0]) == [], validator.name


@settings(deadline=None, max_examples=300)
@given(formats, seeds, st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=3))
def test_all_find_the_same_transcripts_broken(format: str, seed: int, damages: list[str]) -> None:
    body = MAKERS[format](seed)
    for k, damage in enumerate(damages):
        body, _ = damaged(body, seed + k, damage)
    assert unexplained(read(format, body)) == []


@pytest.mark.parametrize("format", FORMATS)
def test_all_accept_a_compacted_transcript(format: str) -> None:
    compacted = 0
    for seed in range(60):
        transcript = read(format, MAKERS[format](seed, turns=12, ending="user"))
        step = Summarize(keep=KeepMessages(seed % 7), max_tokens=200, task_max_tokens=50)
        result = compact_sync(transcript, Policy(trigger=OnRequest(), steps=(step,)), Rules())
        if isinstance(result, CompactionResult):
            compacted += 1
            for validator in VALIDATORS:
                assert validator.finds(list(result.messages), format.split(".", maxsplit=1)[0]) == [], validator.name
    assert compacted > 40


@settings(deadline=None, max_examples=300)
@given(formats, seeds, st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=3), unanswered)
def test_all_accept_a_repaired_transcript(format: str, seed: int, damages: list[str], way: Unanswered) -> None:
    body = MAKERS[format](seed)
    for k, damage in enumerate(damages):
        body, _ = damaged(body, seed + k, damage)
    # The others take every call without a result for an error, also one at the end that is awaited.
    options = RepairOptions(ScanOptions(closed=True), way)
    repaired, _ = repair(read(format, body), options)
    mended = {"orphan_result", "unanswered_call", "duplicate_result", "misplaced_result", "blank_text"}
    assert mended.isdisjoint(finding.code for finding in scan(repaired, options.scan).findings)
    assert unexplained(repaired) == []
