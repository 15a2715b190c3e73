"""Every preset in every format, and what each one makes of a conversation."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import (
    CompactionResult,
    Function,
    Price,
    Skip,
    Transcript,
    compact,
    compact_sync,
    plan,
    presets,
    scan,
    stats,
)
from turnfold.errors import ArgumentError
from turnfold.model.plan import CompactionPlan, SummaryHole
from turnfold.model.policy import Policy
from turnfold.model.state import PlanState
from turnfold.model.summary import SummaryRequest
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap
from turnfold.prompts.prompt import render_prompt
from turnfold.prompts.schema import Topic
from turnfold.prompts.schemas import SCHEMAS
from turnfold.testing.generators import BY_FORMAT
from turnfold.testing.plans import check_result

Json = dict[str, object]
PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "


def made(name: str, limit_tokens: int) -> Policy:
    """The preset at a limit, or with small windows where it counts turns or groups."""
    if name == "turn_window":
        return presets.turn_window(3, 2)
    if name == "tool_batch":
        return presets.tool_batch(2, 1, report_tokens=200)
    if name == "provider_compaction":
        return presets.provider_compaction(None, limit_tokens)
    small: dict[str, dict[str, object]] = {
        "token_threshold": {"summary_tokens": 300},
        "evicted_turns": {"head": 1, "tail": 2, "summary_tokens": 200},
        "memory_encoder": {"keep_turns": 1, "memory_tokens": 300},
        "observation_mask": {"keep": 2},
        "hybrid": {"keep": 2, "summary_tokens": 300},
        "ledger": {"ledger_tokens": 300},
    }
    return presets.BY_NAME[name](fraction=None, limit_tokens=limit_tokens, **small.get(name, {}))


transcripts = st.builds(
    lambda name, seed, turns, words: Transcript.from_json(
        msgspec.json.encode(BY_FORMAT[name](seed, turns=turns, result_words=words)), format=name
    ),
    st.sampled_from(sorted(BY_FORMAT)),
    st.integers(0, 10_000),
    st.integers(2, 12),
    st.sampled_from([5, 60, 200]),
)


@settings(max_examples=300, deadline=None)
@given(
    transcripts,
    st.sampled_from(sorted(presets.BY_NAME)),
    st.floats(0.3, 0.95),
    st.booleans(),
    st.sampled_from([None, "o200k_base"]),
)
def test_every_preset_in_every_format(
    transcript: Transcript, name: str, share: float, requested: bool, encoding: str | None
) -> None:
    policy = made(name, int(transcript.tokens(encoding=encoding).n * share))
    assert policy.name == name
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy
    state = PlanState(requested=requested)
    found = plan(transcript, policy, state=state, encoding=encoding)
    result = compact_sync(transcript, policy, state=state, encoding=encoding)
    if isinstance(found, Skip):
        assert result == found
        return
    assert isinstance(result, CompactionResult), result
    assert result.plan == found
    check_result(transcript, result)
    if not requested:
        again = compact_sync(result.transcript, policy, encoding=encoding)
        assert isinstance(again, Skip), again.plan.tiles


@pytest.mark.parametrize("format", sorted(BY_FORMAT))
@pytest.mark.parametrize("name", sorted(set(presets.BY_NAME) - {"provider_compaction"}))
def test_a_preset_compacts_most_long_conversations(name: str, format: str) -> None:
    compacted = 0
    for seed in range(12):
        transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT[format](seed, turns=14, result_words=150)))
        policy = made(name, int(transcript.tokens().n * 0.8))
        outcome = compact_sync(transcript, policy)
        compacted += isinstance(outcome, CompactionResult)
    assert compacted >= 8


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


def chat(messages: list[Json]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def turn_of(step: int) -> list[Json]:
    """A turn with a call, of another size each time."""
    call = {"id": f"c{step}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    return [
        said("user", f"Look at src/a.py again, for the {step}th time. " + PROSE * (step % 3)),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{step}", "content": PROSE * (1 + step % 4)},
        said("assistant", PROSE * (step % 5 + 1)),
    ]


@pytest.mark.parametrize(("n", "m"), [(5, 3), (21, 10)])
def test_a_rolling_window_is_a_bounded_sawtooth(n: int, m: int) -> None:
    policy = presets.turn_window(n, m)
    transcript = chat([said("system", "Be brief.")])
    system_tokens = transcript.tokens().hi
    # The task is quoted in the summary message: its own text, and the delimiters around it.
    user = str(turn_of(0)[0]["content"])
    quoted = [chat([said("user", wrap(WrappedSummary(1, task, "x")))]).tokens(0, 1).hi for task in (user, None)]
    user_tokens = quoted[0] - quoted[1]
    turn_tokens = max(chat(turn_of(step)).tokens(0, 4).hi for step in range(60))
    sizes: list[int] = []
    outcomes: list[CompactionResult] = []
    for step in range(500):
        for message in turn_of(step):
            transcript = transcript.append(message)
        done = compact_sync(transcript, policy)
        if isinstance(done, CompactionResult):
            outcomes.append(done)
            transcript = done.transcript
            assert transcript.tokens().hi <= system_tokens + user_tokens + 250 + m * turn_tokens
            assert done.record.covers is not None
            assert done.record.covers.turns == (1, step + 1 - m)
            assert done.record.covers.version == len(outcomes)
        sizes.append(transcript.tokens().n)
    assert len(outcomes) == 1 + (500 - n - m) // n
    # Warm-up: nothing happens before n + m turns; then a summary every n turns.
    assert all(before < after for before, after in pairwise(sizes[: n + m - 1]))
    assert [k for k in range(1, 500) if sizes[k] < sizes[k - 1]] == [n + m - 1 + n * k for k in range(len(outcomes))]
    assert max(sizes) <= system_tokens + user_tokens + 250 + (n + m) * turn_tokens
    assert sum("<turnfold-summary" in str(message["content"]) for message in transcript.messages) == 1
    said_of_it = stats(transcript, outcomes, price=Price(1.0, 2.0))
    assert (said_of_it.turns, said_of_it.summaries, said_of_it.compactions) == (500, len(outcomes), len(outcomes))
    assert said_of_it.saved_tokens == sum(one.before.n - one.after.n for one in outcomes)
    assert 0.3 < said_of_it.compression < 1
    assert said_of_it.cost == 0  # made by rule


def test_a_window_can_be_forced_and_keeps_its_tail() -> None:
    transcript = chat([said("system", "Be brief."), *turn_of(3), *turn_of(4), *turn_of(8)])
    assert isinstance(compact_sync(transcript, presets.turn_window(5, 1)), Skip)
    forced = presets.turn_window(5, 1, force=True)
    asked = compact_sync(transcript, presets.turn_window(5, 1), state=PlanState(requested=True))
    for done in (asked, compact_sync(transcript, forced)):
        assert isinstance(done, CompactionResult), done
        assert done.messages[-4:] == turn_of(8)
        assert done.record.covers is not None
        assert done.record.covers.turns == (1, 2)
        again = compact_sync(done.transcript, forced)
        assert isinstance(again, Skip)
        assert again.reason == "nothing_to_compact"


CONVERSATION = [
    said("system", "Be careful."),
    *(said(("user", "assistant")[k % 2], f"Point {k} of docs/plan-{k}.md. {PROSE * 4}") for k in range(20)),
    said("user", "Go on."),
]


def ask(
    policy: Policy, answer: Callable[[SummaryRequest], str], messages: list[Json] = CONVERSATION
) -> CompactionResult:
    async def write(request: SummaryRequest) -> str:
        return answer(request)

    result = asyncio.run(compact(chat(messages), policy, Function(write), state=PlanState(requested=True)))
    assert isinstance(result, CompactionResult), result
    return result


def test_a_recap_needs_its_heading_and_stands_in_the_slot() -> None:
    policy = presets.evicted_turns(1, 2, limit_tokens=10**6, fraction=None)
    seen: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        seen.append(request)
        return "## Conversation Summary\n## Decisions\n- keep it"

    result = ask(policy, answer)
    assert result.method == "function"
    assert result.summary_role == "assistant"
    assert result.messages[:3] == CONVERSATION[:3]
    assert result.messages[-4:] == CONVERSATION[-4:] or result.messages[-3:] == CONVERSATION[-3:]
    assert (seen[0].temperature, seen[0].schema) == (0.2, "conversation_summary")
    assert seen[0].max_tokens <= 512 + 512
    refused = ask(policy, lambda _: "Certainly! Here is what I would do next.")
    assert [attempt.outcome for attempt in refused.attempts] == ["no_heading", "used"]
    assert refused.method == "rules"
    assert "## Conversation Summary" in str(refused.summary)


@pytest.mark.parametrize("layout", ["reset", "frozen"])
def test_a_layout_that_leaves_the_beginning_as_it_is(layout: str) -> None:
    policy = presets.evicted_turns(1, 2, limit_tokens=1, fraction=None, layout=layout)  # type: ignore[arg-type]
    policy = msgspec.structs.replace(policy, target_tokens=900)
    first = compact_sync(chat(CONVERSATION), policy)
    assert isinstance(first, CompactionResult), first
    assert ("[Earlier messages truncated]" in str(first.summary)) == (layout == "frozen")
    beginning = first.messages[:4]
    longer = chat([*map(dict, first.messages), *(map(dict, CONVERSATION[2:]))])
    second = compact_sync(longer, policy)
    assert isinstance(second, CompactionResult), second
    assert second.messages[:4] == beginning


def test_a_digest_says_what_each_dropped_call_did() -> None:
    call = {"name": "read_file", "arguments": '{"path": "src/app.ts"}'}
    messages = [said("user", "Go.")]
    for k in range(8):
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{k}", "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"c{k}", "content": f"line {k}\n" * 150})
    messages.append(said("user", "And now?"))
    tokens = chat(messages).tokens().n
    policy = presets.rule_digest(fraction=None, limit_tokens=tokens * 2 // 3)
    result = compact_sync(chat(messages), policy)
    assert isinstance(result, CompactionResult), result
    assert "Digest of" in str(result.summary)
    assert "[✓ read_file: " in str(result.summary)
    assert result.messages[-1] == messages[-1]


def test_the_report_on_old_calls_begins_with_what_the_user_wants() -> None:
    seen: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        seen.append(request)
        return "## Status\nCOMPLETE"

    messages = [said("system", "Be careful."), *turn_of(3)[:1]]
    for k in range(6):
        messages += turn_of(k)[1:3]
    policy = presets.tool_batch(2, 1)
    ask(policy, answer, messages)
    assert seen[0].task is None
    assert [message.role for message in seen[0].messages[:2]] == ["user", "assistant"]
    assert seen[0].messages[0].parts[0].text == messages[1]["content"]
    prompt = render_prompt(seen[0]).user
    assert [f'operation="{k}" tool="read_file"' in prompt for k in range(1, 6)] == [True] * 4 + [False]
    by_rule = compact_sync(chat(messages), policy)
    assert isinstance(by_rule, CompactionResult), by_rule
    written = recognise(str(by_rule.summary))
    assert written is not None
    assert written.body.startswith("## User Goal\n- Look at src/a.py again")
    assert "## Operations" in written.body
    assert written.body.endswith("## Status\n- PARTIAL")
    failed = [dict(message) for message in messages]
    failed[-5]["content"] = "Error: no such file: a.py"
    stuck = compact_sync(chat(failed), policy)
    assert isinstance(stuck, CompactionResult), stuck
    assert "## Status\n- BLOCKED" in str(stuck.summary)
    longer = chat([*map(dict, stuck.messages), *(message for k in range(6, 9) for message in turn_of(k)[1:3])])
    again = compact_sync(longer, policy)
    assert isinstance(again, CompactionResult), again
    assert str(again.summary).count("PARTIAL") == 1
    assert "BLOCKED" not in str(again.summary)
    assert by_rule.messages[1] == messages[1]


def test_a_report_takes_the_role_that_mends_what_was_wrong() -> None:
    messages: list[Json] = []
    for k in range(4):
        messages.append(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"t{k}", "name": "read_file", "input": {"path": f"a{k}.py"}}],
            }
        )
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{k}", "content": PROSE * 20}]}
        )
    transcript = Transcript.from_messages(messages, format="anthropic.messages")
    assert not scan(transcript).ok  # the first message is not the user's
    result = compact_sync(transcript, presets.tool_batch(2, 1))
    assert isinstance(result, CompactionResult), result
    assert (result.record.desired_role, result.record.role) == ("assistant", "user")
    assert scan(result.transcript).ok


def test_masking_is_enough_or_a_summary_follows() -> None:
    body = BY_FORMAT["openai.chat"](5, turns=12, result_words=200)
    transcript = Transcript.from_json(msgspec.json.encode(body))
    tokens = transcript.tokens().n
    mild = plan(transcript, presets.hybrid(2, fraction=None, limit_tokens=int(tokens * 0.9), target_share=1.0))
    assert isinstance(mild, CompactionPlan)
    assert not any(isinstance(tile, SummaryHole) for tile in mild.tiles)
    hard = plan(transcript, presets.hybrid(2, fraction=None, limit_tokens=int(tokens * 0.2)))
    assert isinstance(hard, CompactionPlan)
    assert any(isinstance(tile, SummaryHole) for tile in hard.tiles)


def test_what_a_summarizer_is_shown_can_be_clipped() -> None:
    seen: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        seen.append(request)
        return "Nothing."

    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    called: list[Json] = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    called.append({"role": "tool", "tool_call_id": "c1", "content": PROSE * 50})
    messages = [said("user", "Run."), *called, said("assistant", "Ran."), said("user", "Go on.")]
    ask(presets.turn_window(1, 0, result_tokens=40), answer, messages)
    shown = [part.text for message in seen[0].messages for part in message.parts if part.kind == "tool_result"]
    assert len(shown) == 1
    assert len(shown[0].split()) <= 40


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_has_one_section_a_topic(name: str) -> None:
    schema = SCHEMAS[name]
    held = [topic for section in schema.sections for topic in (section.topic, *section.also)]
    assert sorted(held) == sorted(get_args(Topic))
    assert len({section.title for section in schema.sections}) == len(schema.sections)


def test_the_presets_are_listed_by_name() -> None:
    for name, preset in presets.BY_NAME.items():
        assert getattr(presets, name) is preset
        assert preset().name == name
        assert isinstance(plan(chat(CONVERSATION), preset(), window_tokens=10**6), Skip)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: presets.turn_window(0), "n must"),
        (lambda: presets.turn_window(3, -1), "m must"),
        (lambda: presets.evicted_turns(-1), "head"),
        (lambda: presets.evicted_turns(tail=-1), "tail"),
        (lambda: presets.BY_NAME["evicted_turns"](layout="other"), "layout"),
        (lambda: presets.memory_encoder(-1), "keep_turns"),
        (lambda: presets.tool_batch(-1), "at least 0"),
        (lambda: presets.tool_batch(1, 0), "min_groups"),
        (lambda: presets.observation_mask(-1), "count"),
        (lambda: presets.hybrid(fraction=None), "both are None"),
        (lambda: presets.ledger(-1), "keep_messages"),
        (lambda: presets.rule_digest(-1), "max_tokens"),
        (lambda: presets.priority_trim(keep_messages=-1), "keep_messages"),
    ],
)
def test_a_wrong_number_is_refused_by_name(make: object, named: str) -> None:
    assert callable(make)
    with pytest.raises(ArgumentError, match=named):
        make()


def test_masks_that_are_not_enough_change_nothing_and_say_so() -> None:
    transcript = chat([said("system", "Be careful."), *(message for k in range(8) for message in turn_of(k))])
    masked = compact_sync(transcript, presets.observation_mask(2, fraction=None, limit_tokens=100))
    assert isinstance(masked, Skip)
    assert masked.reason == "misses_target"
    limit = transcript.tokens().n // 2
    assert isinstance(compact_sync(transcript, presets.hybrid(2, fraction=None, limit_tokens=limit)), CompactionResult)
