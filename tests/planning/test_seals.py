"""What the provider signed or sealed leaves a compaction as it came, and a result that lost some of it is held back."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import checks
from turnfold.compactor import compact_sync
from turnfold.errors import ArgumentError
from turnfold.model.plan import CompactionPlan, DropRange, KeepRange, Skip, StripBlocks
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import apply
from turnfold.planning.plan import plan
from turnfold.testing.generators import Body, anthropic_messages, bedrock_converse
from turnfold.transcript import Transcript

POLICY = Policy(OnRequest(), (Summarize(KeepMessages(6)), TruncateResults()))
MAKERS: list[Callable[..., Body]] = [anthropic_messages, bedrock_converse]


def read(body: object, wire_format: str = "anthropic.messages") -> Transcript:
    return Transcript.from_json(json.dumps(body).encode(), format=wire_format)


def thought(text: str, sign: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": sign}


def talk(*last: dict[str, Any]) -> Transcript:
    messages: list[dict[str, Any]] = []
    for k in range(4):
        messages.append({"role": "user", "content": f"Question {k}. {'The tide gauge read low again. ' * 20}"})
        answer = {"type": "text", "text": f"Answer {k}."}
        messages.append({"role": "assistant", "content": [thought(f"Weigh {k}.", f"s{k}"), answer]})
    messages += [{"role": "user", "content": "Now?"}, {"role": "assistant", "content": list(last)}]
    return read({"model": "claude-opus-4-5", "max_tokens": 100, "messages": [*messages, messages[0]]})


def signed_texts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts of a message that carry a signature, as objects to change in place."""
    content = message["content"]
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    open_form = [item for item in items if item.get("signature")]
    return open_form + [item["reasoningContent"]["reasoningText"] for item in items if "reasoningContent" in item]


@given(
    st.sampled_from(MAKERS),
    st.integers(0, 10_000),
    st.integers(2, 8),
)
def test_a_compaction_changes_no_seal_and_a_damaged_one_is_found(
    make: Callable[..., Body], seed: int, turns: int
) -> None:
    transcript = read(make(seed, turns=turns), make.__name__.replace("_", "."))
    outcome = compact_sync(transcript, POLICY)
    if isinstance(outcome, Skip):
        assert "changed_seal" not in {finding.code for finding in outcome.findings}
        return
    result = outcome.transcript
    assert all(finding.code != "changed_seal" for finding in checks.scan(result, before=transcript).findings)
    damaged = msgspec.json.decode(result.to_json())
    wounds = 0
    for message in damaged["messages"]:
        for signed in signed_texts(message):
            field = "text" if "text" in signed else "thinking"
            signed[field] += " And more."
            wounds += 1
    report = checks.scan(read(damaged, transcript.format), before=transcript)
    assert sum(finding.code == "changed_seal" for finding in report.findings) == wounds
    assert report.ok == (wounds == 0)


def planned(transcript: Transcript) -> CompactionPlan:
    made = plan(transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),)))
    assert isinstance(made, CompactionPlan), made
    return made


def test_a_plan_that_takes_one_of_two_sealed_blocks_from_the_latest_turn_is_not_carried_out() -> None:
    transcript = talk(thought("Look.", "x1"), thought("Look on.", "x2"), {"type": "text", "text": "Low."})
    made = planned(transcript)
    end = len(transcript)

    def with_strip(*blocks: int) -> CompactionPlan:
        tiles = (DropRange(0, 8, "policy"), KeepRange(8, 9), StripBlocks(9, 10, blocks), KeepRange(10, end))
        return msgspec.structs.replace(made, tiles=tiles)

    refused = apply(transcript, with_strip(0))
    assert isinstance(refused, Skip)
    assert refused.reason == "invalid_output"
    assert [(finding.code, finding.rule, finding.path) for finding in refused.findings] == [
        ("changed_seal", "AM-11", "messages[1].content[0]")
    ]
    # Without any of them it asks for no thinking, and so for none back.
    assert not isinstance(apply(transcript, with_strip(0, 1)), Skip)


def test_the_rule_can_be_switched_off() -> None:
    said = {"type": "text", "text": "Low."}
    before, after = talk(thought("Look.", "x1"), said), talk(thought("Look!", "x1"), said)
    assert [finding.code for finding in checks.scan(after, before=before).findings] == ["changed_seal"]
    options = ScanOptions(severities=(("changed_seal", "off"),))
    assert checks.scan(after, options, before=before).ok
    assert checks.scan(after).ok


def test_an_earlier_transcript_of_another_format_is_refused() -> None:
    chat = Transcript.from_messages([{"role": "user", "content": "x"}], format="openai.chat")
    with pytest.raises(ArgumentError, match=r"anthropic\.messages cannot be compared with one in openai\.chat"):
        checks.scan(talk(thought("Look.", "x1")), before=chat)
