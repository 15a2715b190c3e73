"""Kept reasoning whose prefix changed: taken out, kept, or kept with what to send for it."""

import json
from typing import Any

import pytest

from turnfold import checks
from turnfold.compactor import compact_sync
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Step, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.model.thinking import ThinkingPolicy
from turnfold.planning.apply import CompactionResult
from turnfold.transcript import Transcript

PROSE = "The tide gauge at berth four read low again, so the pilot waited outside. "
BOUND, FREE = "claude-fable-5-1", "claude-opus-4-5"


def thought(text: str, sign: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": text, "signature": sign}


def body(model: str, *messages: dict[str, Any], thinking: bool = True) -> Transcript:
    head: dict[str, Any] = {"model": model, "max_tokens": 100}
    if thinking:
        head["thinking"] = {"type": "adaptive"}
    return Transcript.from_json(json.dumps({**head, "messages": messages}).encode(), format="anthropic.messages")


def talk(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for k in range(turns):
        messages.append({"role": "user", "content": f"Question {k}. {PROSE * 8}"})
        blocks = [thought(f"Weigh {k}.", f"s{k}"), {"type": "text", "text": f"Answer {k}. {PROSE * 8}"}]
        messages.append({"role": "assistant", "content": blocks})
    return [*messages, {"role": "user", "content": "Now?"}]


def loop() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "gauge", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "2 m"}
    return [
        *talk(4),
        {"role": "assistant", "content": [thought("Look at it.", "sl"), call]},
        {"role": "user", "content": [answer]},
    ]


def compacted(transcript: Transcript, policy: ThinkingPolicy | None, keep: int = 3, *steps: Step) -> CompactionResult:
    steps = steps or (Summarize(KeepMessages(keep)),)
    outcome = compact_sync(transcript, Policy(OnRequest(), steps, thinking_policy=policy))
    assert isinstance(outcome, CompactionResult), outcome
    assert checks.scan(outcome.transcript).ok
    return outcome


def reasoning(transcript: Transcript) -> int:
    return sum(block.kind == "reasoning" for k in range(len(transcript)) for block in transcript.blocks(k))


def test_a_model_that_refuses_it_gets_none_that_stands_behind_a_change() -> None:
    transcript = body(BOUND, *talk(4))
    result = compacted(transcript, None)
    assert reasoning(result.transcript) == 0
    assert (result.thinking.policy, result.thinking.blocks_stripped, result.thinking.blocks_kept) == ("strip", 1, 0)
    assert BOUND in result.thinking.reason
    assert result.thinking.advice is None
    # All else keeps its bytes.
    message = json.dumps(talk(4)[-2])
    start = message.index('{"type": "thinking"')
    assert result.transcript.message_json(2).decode() == message[:start] + message[message.index('{"type": "text"') :]
    assert isinstance(compact_sync(result.transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),))), Skip)


def test_other_models_keep_it() -> None:
    result = compacted(body(FREE, *talk(4)), None)
    assert reasoning(result.transcript) == 1
    assert (result.thinking.policy, result.thinking.blocks_kept, result.thinking.advice) == ("keep", 1, None)


@pytest.mark.parametrize("model", [BOUND, FREE])
def test_the_policy_may_say_what_is_done(model: str) -> None:
    transcript = body(model, *talk(4))
    assert reasoning(compacted(transcript, "strip").transcript) == 0
    dropping = compacted(transcript, "drop_block")
    assert reasoning(dropping.transcript) == 1
    assert dropping.thinking.advice is not None
    assert dropping.thinking.advice.headers == (("anthropic-beta", "thinking-binding-controls-2026-08-01"),)
    assert dropping.thinking.advice.settings == (("thinking.block_binding.prefix_mismatch_behavior", "drop_block"),)
    keeping = compacted(transcript, "keep")
    assert reasoning(keeping.transcript) == 1
    # Left as asked, but not left unsaid.
    assert (keeping.thinking.advice is not None) is (model == BOUND)


def test_the_open_tool_loop_keeps_the_reasoning_that_it_must_start_with() -> None:
    result = compacted(body(BOUND, *loop()), None, 5)
    assert result.thinking.blocks_stripped == 1
    assert result.thinking.blocks_kept == 1
    assert "open tool loop" in result.thinking.reason
    assert result.thinking.advice is not None
    assert reasoning(result.transcript) == 1
    off = compacted(body(BOUND, *loop(), thinking=False), None, 5)
    assert (off.thinking.blocks_stripped, off.thinking.blocks_kept, off.thinking.advice) == (2, 0, None)


def test_reasoning_before_a_change_stays() -> None:
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": PROSE * 200}
    messages = loop()
    messages[-1] = {"role": "user", "content": [answer]}
    result = compacted(body(BOUND, *messages), None, 5, TruncateResults(max_tokens=200))
    assert reasoning(result.transcript) == 5
    assert result.thinking.blocks_stripped == 0
    assert "No kept reasoning" in result.thinking.reason


def test_what_the_provider_folded_changes_nothing_for_the_reasoning_behind_it() -> None:
    folded = {"role": "assistant", "content": [{"type": "compaction", "content": "All berths are clear."}]}
    result = compacted(body(BOUND, *talk(3)[:-1], folded, *talk(1)), None, 9)
    assert result.thinking.policy == "keep"
    assert reasoning(result.transcript) == 1


def test_the_fit_counts_what_is_taken_out() -> None:
    transcript = body(BOUND, *talk(6))
    result = compacted(transcript, None, 7)
    assert result.after.hi <= result.plan.tokens_at_most


def test_a_shortened_message_may_lose_reasoning_too() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tide"}}
    mcp = {"type": "mcp_tool_use", "id": "m1", "name": "gauge", "server_name": "port", "input": {}}
    found = {"type": "mcp_tool_result", "tool_use_id": "m1", "content": PROSE * 100}
    hits = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    blocks = [
        thought("Look.", "a"),
        mcp,
        found,
        thought("And search.", "b"),
        search,
        hits,
        {"type": "text", "text": "2 m."},
    ]
    last: list[dict[str, Any]] = [{"role": "assistant", "content": blocks}, {"role": "user", "content": "Now?"}]
    result = compacted(body(BOUND, *talk(4), *last), None, 2, Summarize(KeepMessages(2)), TruncateResults(100))
    kept = result.transcript.blocks(1)
    assert [b.kind for b in kept] == ["tool_call", "tool_result", "tool_call", "tool_result", "text"]
    assert result.thinking.blocks_stripped == 2
