"""Invented transcripts: clean ones are clean, the same seed gives the same, and damage is real."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import checks
from turnfold.testing.damage import DAMAGES, damaged
from turnfold.testing.generators import BY_FORMAT, Body, Ending
from turnfold.transcript import Transcript

# Damage is done to lists of messages.
MAKERS = {name: make for name, make in BY_FORMAT.items() if "messages" in make(0)}


@settings(deadline=None)
@given(st.sampled_from(sorted(BY_FORMAT)), st.integers(0, 10**6), st.sampled_from(["user", "results", "assistant"]))
def test_a_clean_transcript_is_clean_and_of_its_format(format: str, seed: int, ending: Ending) -> None:
    body = BY_FORMAT[format](seed, ending=ending)
    assert msgspec.json.encode(BY_FORMAT[format](seed, ending=ending)) == msgspec.json.encode(body)
    transcript = Transcript.from_json(msgspec.json.encode(body))
    assert transcript.format == format
    assert checks.scan(transcript).ok
    last = transcript.speakers[-1]
    assert (last == "assistant") == (ending == "assistant")


@pytest.mark.parametrize("damage", sorted(DAMAGES))
@pytest.mark.parametrize("make", MAKERS.values())
def test_each_damage_is_found_in_some_transcript(make: Callable[..., Body], damage: str) -> None:
    found = 0
    for seed in range(20):
        body = make(seed, turns=6)
        before = msgspec.json.encode(body)
        broken, name = damaged(body, seed, damage)
        assert name == damage
        assert msgspec.json.encode(body) == before, "the original stays whole"
        report = checks.scan(Transcript.from_json(msgspec.json.encode(broken)))
        found += bool(report.findings)
    assert found > 0
