"""For any transcript and policy: what the provider folded stays folded, state stays in force, and the fit holds."""

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import checks
from turnfold.compactor import compact_sync
from turnfold.model.plan import DropRange, KeepRange, Skip
from turnfold.model.policy import Drop, OnRequest, Policy, Step, Summarize, TokensOver, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.model.thinking import ThinkingPolicy
from turnfold.objects import Message
from turnfold.planning.wrapper import recognise
from turnfold.testing.generators import anthropic_messages
from turnfold.transcript import Transcript

PROSE = "The tide gauge at berth four read low again, so the pilot waited outside. "


def items(seed: int, turns: int) -> Transcript:
    """Make a conversation of items in which all kinds of them stand at random places."""
    random = Random(seed)
    made: list[Message] = []
    for turn in range(turns):
        made.append({"type": "message", "role": "user", "content": f"Question {turn}. {PROSE * random.randint(1, 9)}"})
        for step in range(random.randint(0, 3)):
            name = f"{turn}_{step}"
            match random.randrange(6):
                case 0:
                    made.append(
                        {"type": "mcp_list_tools", "id": name, "server_label": random.choice("pq"), "tools": []}
                    )
                case 1:
                    made.append({"type": "configuration_update", "reasoning": {"effort": "low"}})
                case 2:
                    head = {"type": "tool_search_call", "call_id": name, "execution": "client", "arguments": {}}
                    made += [head, {"type": "tool_search_output", "call_id": name, "execution": "client", "tools": []}]
                case 3 if random.random() < 0.3:
                    made.append({"type": "compaction", "encrypted_content": name})
                case _:
                    made.append({"type": "reasoning", "id": name, "summary": []})
                    made.append({"type": "function_call", "call_id": name, "name": "gauge", "arguments": "{}"})
                    made.append(
                        {"type": "function_call_output", "call_id": name, "output": PROSE * random.randint(1, 40)}
                    )
        words = [{"type": "output_text", "text": f"Answer {turn}. {PROSE}"}]
        made.append({"type": "message", "role": "assistant", "content": words})
    made.append({"type": "message", "role": "user", "content": "Now?"})
    body = json.dumps({"model": "gpt-4o", "input": made}).encode()
    return Transcript.from_json(body, format="openai.responses")


def messages(seed: int, turns: int) -> Transcript:
    """Make messages of which some of the model's hold what the provider folded."""
    random = Random(seed)
    body = anthropic_messages(seed, turns=turns, thinking=True)
    for message in body["messages"]:  # type: ignore[union-attr]
        assert isinstance(message, dict)
        if message["role"] == "assistant" and random.random() < 0.2:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            message["content"] = [{"type": "compaction", "content": "All clear so far."}, *blocks]  # type: ignore[misc]
    return Transcript.from_json(json.dumps(body).encode(), format="anthropic.messages")


transcripts = st.builds(
    lambda make, seed, turns: make(seed, turns),
    st.sampled_from([items, messages]),
    st.integers(0, 10_000),
    st.integers(1, 9),
)
keeps = st.integers(0, 6).map(KeepMessages)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Summarize, keep=keeps, max_tokens=st.integers(50, 800)),
    st.builds(Drop, keep=keeps),
    st.just(TruncateResults()),
)
thoughts: st.SearchStrategy[ThinkingPolicy | None] = st.sampled_from([None, "keep", "strip", "drop_block"])
policies = st.builds(
    Policy,
    st.one_of(st.just(OnRequest()), st.integers(20, 3_000).map(TokensOver)),
    st.lists(steps, min_size=1, max_size=3).map(tuple),
    thinking_policy=thoughts,
)


@given(transcripts, policies)
@settings(max_examples=120, deadline=None)
def test_nothing_that_lasts_is_lost(transcript: Transcript, policy: Policy) -> None:
    before = checks.layout(transcript)
    result = compact_sync(transcript, policy)
    if isinstance(result, Skip):
        assert result.reason != "invalid_output", result
        return
    after = checks.layout(result.transcript)
    assert checks.scan(result.transcript).ok
    assert result.after.hi <= result.plan.tokens_at_most <= result.plan.target_tokens

    at = 0
    for tile in result.plan.tiles:
        assert tile.start == at < tile.stop
        at = tile.stop
    assert at == len(transcript)

    held = [result.transcript.message_json(k) for k in range(len(result.transcript))]
    stripped = result.thinking.blocks_stripped
    for start, stop in (before.barrier, *before.lasting):
        assert stripped or all(transcript.message_json(k) in held for k in range(start, stop))
    # At the very start, state that is in force counts as instructions.
    fixed = {k for start, stop in ((0, result.transcript.leading), *after.lasting) for k in range(start, stop)}
    assert len(fixed) >= transcript.leading + sum(stop - start for start, stop in before.lasting)
    assert after.barrier[1] - after.barrier[0] == before.barrier[1] - before.barrier[0]
    assert after.folded[0] == after.folded[1]
    summaries = [k for k in range(len(held)) if any(recognise(b.text) for b in result.transcript.blocks(k))]
    assert summaries in ([], [max(after.barrier[1], result.transcript.leading)])
    for tile in result.plan.tiles:
        if isinstance(tile, DropRange) and tile.because == "folded":
            assert tile.stop <= before.barrier[0]
        if isinstance(tile, KeepRange):
            assert all(transcript.message_json(k) in held for k in range(tile.start, tile.stop))


@given(transcripts, policies)
@settings(max_examples=60, deadline=None)
def test_compacting_the_result_again_changes_nothing(transcript: Transcript, policy: Policy) -> None:
    result = compact_sync(transcript, policy)
    if not isinstance(result, Skip):
        again = compact_sync(result.transcript, policy)
        assert isinstance(again, Skip), again.plan.tiles
