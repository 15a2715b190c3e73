"""Laws of repair, on generated transcripts of every format that has a generator, with one to three damages."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import RepairOptions, Transcript, repair, scan
from turnfold.checks import rules
from turnfold.testing.damage import DAMAGES, damaged
from turnfold.testing.generators import BY_FORMAT, Body

# Damage is done to lists of messages.
MAKERS = {name: make for name, make in BY_FORMAT.items() if "messages" in make(0)}

LEFT_ALONE = {"missing_reasoning"}
"""Findings of integrity that only the caller could mend."""

formats = st.sampled_from(sorted(MAKERS))
seeds = st.integers(0, 10**6)
damages = st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=3)
options = st.builds(RepairOptions, unanswered=st.sampled_from(["synthesize", "drop"]))


def read(wire_format: str, body: Body) -> Transcript:
    return Transcript.from_json(msgspec.json.encode(body), format=wire_format)


def made(wire_format: str, seed: int) -> Transcript:
    return read(wire_format, MAKERS[wire_format](seed))


def broken(wire_format: str, seed: int, names: list[str]) -> Transcript:
    body = MAKERS[wire_format](seed)
    for k, name in enumerate(names):
        body, _ = damaged(body, seed + k, name)
    return read(wire_format, body)


def texts_of(transcript: Transcript) -> Counter[str]:
    """Count what users, models and instructions said, blank texts aside; what tools returned is no speech."""
    said: Counter[str] = Counter()
    for message in transcript.messages:
        content: Any = message.get("content")
        if message["role"] == "tool":
            continue
        for block in [{"text": content}] if isinstance(content, str) else content or ():
            text = block.get("text")
            if isinstance(text, str) and text.strip():
                said[text] += 1
    return said


@settings(deadline=None, max_examples=200)
@given(formats, seeds, options)
def test_a_clean_transcript_stays(wire_format: str, seed: int, how: RepairOptions) -> None:
    transcript = made(wire_format, seed)
    assert scan(transcript).ok
    after, repairs = repair(transcript, how)
    assert repairs == ()
    assert after is transcript
    assert after.to_json() == transcript.to_json()


@settings(deadline=None, max_examples=300)
@given(formats, seeds, damages, options)
def test_no_finding_of_integrity_is_left(wire_format: str, seed: int, names: list[str], how: RepairOptions) -> None:
    transcript = broken(wire_format, seed, names)
    after, repairs = repair(transcript, how)
    left = [finding for finding in scan(after).findings if finding.category == "integrity"]
    assert [finding for finding in left if finding.code not in LEFT_ALONE] == [], repairs
    assert (repairs == ()) == (after.to_json() == transcript.to_json())


@settings(deadline=None, max_examples=300)
@given(formats, seeds, damages, options)
def test_twice_is_once(wire_format: str, seed: int, names: list[str], how: RepairOptions) -> None:
    once, _ = repair(broken(wire_format, seed, names), how)
    twice, repairs = repair(once, how)
    assert repairs == ()
    assert twice.to_json() == once.to_json()
    read_again = Transcript.from_json(once.to_json(), format=wire_format)
    assert repair(read_again, how)[1] == ()
    assert scan(read_again) == scan(once)


@settings(deadline=None, max_examples=300)
@given(formats, seeds, damages, options)
def test_kept_messages_are_the_callers_objects(
    wire_format: str, seed: int, names: list[str], how: RepairOptions
) -> None:
    body = msgspec.json.decode(broken(wire_format, seed, names).to_json())
    own = body["messages"]
    before = msgspec.json.encode(own)
    transcript = Transcript.from_messages(own, format=wire_format)
    after, repairs = repair(transcript, how)
    assert msgspec.json.encode(own) == before, "the caller's objects are not changed"
    theirs = {id(message) for message in own}
    kept = [message for message in after.messages if id(message) in theirs]
    assert len({id(message) for message in kept}) == len(kept)
    changed = len(after) - len(kept)
    # Each repair changes its own message, the one that it goes into, or the one that it goes from: no more.
    assert changed <= 2 * len(repairs)
    assert repairs or list(map(id, after.messages)) == list(map(id, own))
    untouched = [message for message in own if any(message is one for one in after.messages)]
    assert len(untouched) >= len(own) - 2 * len(repairs)


@settings(deadline=None, max_examples=300)
@given(formats, seeds, damages, options)
def test_what_was_said_survives(wire_format: str, seed: int, names: list[str], how: RepairOptions) -> None:
    transcript = broken(wire_format, seed, names)
    after, _ = repair(transcript, how)
    assert texts_of(transcript) - texts_of(after) == Counter()


@settings(deadline=None, max_examples=200)
@given(formats, seeds, damages)
def test_every_repair_names_what_it_mends(wire_format: str, seed: int, names: list[str]) -> None:
    transcript = broken(wire_format, seed, names)
    after, repairs = repair(transcript)
    for done in repairs:
        assert 0 <= done.message < len(transcript)
        assert done.message_after is None or 0 <= done.message_after < len(after)
        assert done.code
        assert done.text.endswith(".")
        assert done.action in {"drop", "move", "synthesize", "rename", "fill"}


@pytest.mark.parametrize("wire_format", sorted(MAKERS))
@pytest.mark.parametrize("name", ["drop_a_result", "drop_a_call", "repeat_a_result"])
def test_the_damages_are_what_repair_mends(wire_format: str, name: str) -> None:
    """Guard the laws against a generator that damages nothing."""
    repaired = sum(bool(repair(broken(wire_format, seed, [name]))[1]) for seed in range(40))
    assert repaired >= 8


def test_the_docstring_says_what_is_mended_and_what_is_left() -> None:
    """Every finding code stands in one of the two lists, and what the table of repairs shows in the first."""
    _, lists = (repair.__doc__ or "").split("Findings that it mends:")
    mended, left = (re.findall(r"`([a-z_]+)`", part) for part in lists.split("Findings that it leaves"))
    assert mended == sorted(set(mended))
    assert left == sorted(set(left))
    assert sorted(mended + left) == sorted({rule.code for rule in rules()})
    table = json.loads((Path(__file__).parents[1] / "vectors" / "repair.json").read_text(encoding="utf-8"))
    assert {code for case in table["cases"] for code, *_ in case["repairs"]} == set(mended)


def test_the_page_of_rules_gives_a_reason_for_each_finding_that_is_left() -> None:
    """The table lists what the docstring does, and nothing that is mended in full."""
    _, lists = (repair.__doc__ or "").split("Findings that it mends:")
    left = re.findall(r"`([a-z_]+)`", lists.split("Findings that it leaves")[1])
    page = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
    _, table = page.split("## What repair leaves")
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(code for codes, _ in rows for code in re.findall(r"`([a-z_]+)`", codes)) == left
    assert all(len(reason.split()) > 4 for _, reason in rows)
