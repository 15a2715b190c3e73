"""Plans: what they tile, what they promise, and every reason for having none."""

from collections.abc import Callable
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import checks, presets
from turnfold.errors import ArgumentError, PlanMismatchError, UnknownWindowError
from turnfold.model.plan import CompactionPlan, EditBlocks, KeepRange, Skip, SkipReason, SummaryHole
from turnfold.model.policy import OnRequest, Policy, Step, Summarize, TokensOver, TruncateResults
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import Keep, KeepMessages, KeepTokens, KeepTurns
from turnfold.planning.apply import Applied, apply
from turnfold.planning.plan import plan
from turnfold.testing.damage import damaged
from turnfold.testing.generators import Body, anthropic_messages, bedrock_converse, mistral_chat, openai_chat
from turnfold.transcript import Transcript

PROSE = "The build failed again and nobody knows why, so we looked at every line of the log. "

MAKERS: list[Callable[..., Body]] = [openai_chat, anthropic_messages, bedrock_converse, mistral_chat]
bodies = st.builds(
    lambda make, seed, turns, words: make(seed, turns=turns, result_words=words),
    st.sampled_from(MAKERS),
    st.integers(0, 10_000),
    st.integers(1, 8),
    st.sampled_from([5, 60, 400]),
)
keeps: st.SearchStrategy[Keep] = (
    st.integers(0, 12).map(KeepMessages) | st.integers(0, 4).map(KeepTurns) | st.integers(0, 4_000).map(KeepTokens)
)
steps: st.SearchStrategy[Step] = st.builds(
    Summarize,
    keep=keeps,
    role=st.sampled_from(["user", "assistant"]),
    max_tokens=st.sampled_from([0, 80, 300, 2_000]),
    task_max_tokens=st.sampled_from([0, 10, 4_000]),
) | st.builds(TruncateResults, max_tokens=st.sampled_from([100, 300]), min_tokens=st.sampled_from([0, 20, 100]))
policies = st.builds(
    Policy,
    trigger=st.just(OnRequest()) | st.integers(0, 3_000).map(TokensOver),
    steps=st.lists(steps, max_size=3).map(tuple),
    target_tokens=st.none() | st.integers(0, 3_000),
)


def read(body: Body) -> Transcript:
    return Transcript.from_json(msgspec.json.encode(body))


def chat(*messages: dict[str, object]) -> Transcript:
    return Transcript.from_messages(messages, format="openai.chat")


def said(role: str, text: str) -> dict[str, object]:
    return {"role": role, "content": text}


def called(call_id: str, result: str) -> list[dict[str, object]]:
    call = {"id": call_id, "type": "function", "function": {"name": "run", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


def conversation(turns: int) -> list[dict[str, object]]:
    pairs = [
        [said("user", f"Question {k}. {PROSE * 5}"), said("assistant", f"Answer {k}. {PROSE * 5}")]
        for k in range(turns)
    ]
    return [said("system", "You are careful."), *(m for pair in pairs for m in pair)]


def forced(*steps: Step, target_tokens: int | None = None) -> Policy:
    return Policy(OnRequest(), steps, target_tokens)


def planned(transcript: Transcript, policy: Policy, *pending_ids: str) -> CompactionPlan:
    found = plan(transcript, policy, options=ScanOptions(pending_ids))
    assert isinstance(found, CompactionPlan), found
    return found


def skipped(transcript: Transcript, policy: Policy) -> Skip:
    found = plan(transcript, policy)
    assert isinstance(found, Skip), found
    return found


@settings(max_examples=200, deadline=None)
@given(bodies, policies)
def test_a_plan_tiles_the_transcript_and_fits_its_target(body: Body, policy: Policy) -> None:
    transcript = read(body)
    found = plan(transcript, policy)
    assert plan(transcript, policy) == found, "planning is deterministic"
    if isinstance(found, Skip):
        return
    at = 0
    for tile in found.tiles:
        assert tile.start == at < tile.stop
        at = tile.stop
    assert at == found.messages == len(transcript)
    assert found.tokens_at_most <= found.target_tokens < found.before.hi
    holes = [tile for tile in found.tiles if isinstance(tile, SummaryHole)]
    assert len(holes) <= 1
    assert any(not isinstance(tile, KeepRange) for tile in found.tiles)
    for hole in holes:
        assert hole.start == transcript.leading
        assert hole.stop in checks.split_points(transcript)
    for tile in found.tiles:
        if isinstance(tile, EditBlocks):
            assert tile.stop == tile.start + 1
            assert all(transcript.blocks(tile.start)[b].kind == "tool_result" for b in tile.blocks)
    assert msgspec.json.decode(msgspec.json.encode(found), type=CompactionPlan) == found


@settings(max_examples=200, deadline=None)
@given(
    bodies,
    policies,
    st.text(min_size=1).filter(str.strip) | st.just(PROSE * 300),
    st.sampled_from([None, "gpt-4o", "gpt-6-sol", "claude-opus-5", "some-model"]),
)
def test_what_a_plan_promises_holds_for_any_summary(
    body: Body, policy: Policy, summary: str, model: str | None
) -> None:
    transcript = read(body)
    found = plan(transcript, policy, model=model)
    if isinstance(found, Skip):
        return
    holes = sum(isinstance(tile, SummaryHole) for tile in found.tiles)
    done = apply(transcript, found, [summary] * holes)
    assert isinstance(done, Applied), done
    assert done.after == done.transcript.tokens(model=model)
    assert done.after.hi <= found.tokens_at_most
    assert done.after.n < done.before.n
    assert checks.scan(done.transcript).ok
    assert done.transcript.leading == transcript.leading
    for k in range(transcript.leading):
        assert done.transcript.message_json(k) == transcript.message_json(k)


@settings(max_examples=60, deadline=None)
@given(bodies)
def test_a_plan_that_keeps_all_is_the_identity(body: Body) -> None:
    transcript = read(body)
    assert transcript.splice([range(len(transcript))]).to_json() == transcript.to_json()
    assert skipped(transcript, forced(Summarize(KeepMessages(len(transcript))))).reason in {
        "nothing_to_compact",
        "no_legal_split",
    }


@settings(max_examples=100, deadline=None)
@given(bodies, st.integers(0, 1_000), policies)
def test_a_damaged_transcript_gives_a_valid_result_or_a_reason(body: Body, seed: int, policy: Policy) -> None:
    broken, _ = damaged(body, seed)
    transcript = read(broken)
    found = plan(transcript, policy)
    if isinstance(found, CompactionPlan):
        holes = sum(isinstance(tile, SummaryHole) for tile in found.tiles)
        done = apply(transcript, found, ["A summary."] * holes)
        assert isinstance(done, Skip) or checks.scan(done.transcript).ok


def test_the_summary_takes_all_but_the_last_messages() -> None:
    transcript = chat(*conversation(5))
    found = planned(transcript, presets.token_threshold(None, 800, 4))
    before, hole, after = found.tiles
    assert (before, after) == (KeepRange(0, 1), KeepRange(7, 11))
    assert isinstance(hole, SummaryHole)
    assert (hole.start, hole.stop, hole.role, hole.schema) == (1, 7, "user", "nine_sections")
    assert found.policy == "token_threshold"


def test_a_cut_never_separates_a_call_from_its_result() -> None:
    transcript = chat(*conversation(3), said("user", "Run."), *called("c1", PROSE * 20), said("user", "Go on."))
    found = planned(transcript, forced(Summarize(KeepMessages(2))))
    assert found.tiles[-1] == KeepRange(8, 11)


def test_unanswered_user_messages_always_stay() -> None:
    transcript = chat(*conversation(3), said("user", "One thing."), said("user", "And another."))
    found = planned(transcript, forced(Summarize(KeepMessages(0))))
    assert found.tiles[-1] == KeepRange(7, 9)


def test_pending_calls_stay() -> None:
    asked = called("c1", "-")[0]
    transcript = chat(*conversation(3), said("user", "Run."), asked)
    found = planned(transcript, forced(Summarize(KeepMessages(0))), "c1")
    assert found.tiles[-1] == KeepRange(8, 9)


def test_a_huge_result_is_shortened_in_place_and_its_call_stays() -> None:
    messages = [
        said("system", "You are a careful build assistant."),
        said("user", "KEEP-ME: migrate table users."),
        said("assistant", "Ok."),
        said("user", "Search."),
        *called("c1", "match " * 9_000),
        said("assistant", "Found."),
        said("user", "Proceed."),
    ]
    transcript = chat(*messages)
    found = planned(transcript, presets.token_threshold(None, 2_000))
    assert found.tiles == (KeepRange(0, 5), EditBlocks(5, 6, (0,), 1_000), KeepRange(6, 8))
    done = apply(transcript, found)
    assert isinstance(done, Applied)
    assert done.after.n <= 2_000
    after = done.transcript.messages
    assert after[4] is messages[4]
    assert "removed ...]" in str(after[5]["content"])
    assert done.task_kept == "message"


def test_results_are_shortened_further_where_the_limit_demands_it() -> None:
    transcript = chat(
        said("user", "Run."), *called("c1", PROSE * 100), *called("c2", PROSE * 100), said("user", "Now?")
    )
    found = planned(transcript, Policy(TokensOver(900), (TruncateResults(1_000, 100),)))
    assert [tile.max_tokens for tile in found.tiles if isinstance(tile, EditBlocks)] == [250, 500]
    assert skipped(transcript, Policy(TokensOver(60), (TruncateResults(1_000, 100),))).reason == "misses_target"


def test_an_image_in_a_result_is_not_thrown_away() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": PROSE * 100}, image]}
    transcript = Transcript.from_messages(
        [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "see", "input": {}}]},
            {"role": "user", "content": [result]},
        ],
        format="anthropic.messages",
    )
    found = plan(transcript, Policy(TokensOver(100), (TruncateResults(),)))
    if isinstance(found, CompactionPlan):
        done = apply(transcript, found)
        assert isinstance(done, Applied)
        assert b"iVBORw0KGgo=" in done.transcript.to_json()


def test_a_later_step_is_taken_only_where_an_earlier_one_does_not_reach() -> None:
    transcript = chat(*conversation(6))
    gentle, hard = Summarize(KeepMessages(8), max_tokens=100), Summarize(KeepMessages(2), max_tokens=100)
    both = (gentle, hard)
    assert planned(transcript, Policy(TokensOver(1_000), both, 1_100)).tiles[-1] == KeepRange(5, 13)
    assert planned(transcript, Policy(TokensOver(1_000), both, 600)).tiles[-1] == KeepRange(11, 13)


def test_a_plan_for_another_transcript_is_refused() -> None:
    found = planned(chat(*conversation(5)), forced(Summarize()))
    with pytest.raises(PlanMismatchError):
        apply(chat(*conversation(5), said("user", "One more.")), found, ["A summary."])


def test_a_result_that_breaks_a_rule_is_not_handed_over() -> None:
    transcript = chat(said("user", "Run. " + PROSE * 30), *called("c1", PROSE * 30), said("user", "Go on."))
    found = planned(transcript, forced(Summarize(KeepMessages(1))))
    hole = found.tiles[0]
    assert isinstance(hole, SummaryHole)
    parting = msgspec.structs.replace(found, tiles=(msgspec.structs.replace(hole, stop=2), KeepRange(2, 4)))
    done = apply(transcript, parting, ["A summary."])
    assert isinstance(done, Skip)
    assert done.reason == "invalid_output"
    assert done.findings


def test_a_result_that_is_too_large_is_not_handed_over() -> None:
    transcript = chat(*conversation(5))
    found = planned(transcript, forced(Summarize(KeepMessages(2))))
    head, hole, tail = found.tiles
    assert isinstance(hole, SummaryHole)
    swollen = (head, msgspec.structs.replace(hole, max_tokens=5_000), tail)
    done = apply(transcript, msgspec.structs.replace(found, tiles=swollen, target_tokens=10**6), [PROSE * 200])
    assert isinstance(done, Skip)
    assert done.reason == "no_reduction"
    done = apply(transcript, msgspec.structs.replace(found, target_tokens=100), ["A summary."])
    assert isinstance(done, Skip)
    assert done.reason == "misses_target"


@pytest.mark.parametrize(("given", "named"), [([], "holes"), (["a", "b"], "holes"), ([" "], "blank")])
def test_a_wrong_number_of_summaries_is_refused(given: list[str], named: str) -> None:
    transcript = chat(*conversation(5))
    found = planned(transcript, forced(Summarize(KeepMessages(2))))
    with pytest.raises(ArgumentError, match=named):
        apply(transcript, found, given)


def test_counts_are_those_of_the_model_that_is_named() -> None:
    transcript = chat(*conversation(5))
    exact = plan(transcript, forced(Summarize()))
    other = plan(transcript, forced(Summarize()), model="claude-opus-5")
    assert isinstance(exact, CompactionPlan)
    assert isinstance(other, CompactionPlan)
    assert (exact.before.source, other.before.source) == ("exact", "estimate")
    assert other.before == transcript.tokens(model="claude-opus-5")


def test_a_share_of_an_unknown_window_says_so() -> None:
    with pytest.raises(UnknownWindowError, match="window_tokens"):
        plan(chat(said("user", "Hi.")), presets.token_threshold())
    assert skipped(chat(said("user", "Hi.")), presets.token_threshold(window_tokens=100)).reason == "under_trigger"


BROKEN: list[dict[str, object]] = [
    said("user", "Hi. " + PROSE * 30),
    said("assistant", "Yes?"),
    {"role": "tool", "tool_call_id": "nobody", "content": "x"},
    said("user", "Go on."),
]

REASONS: dict[SkipReason, tuple[Transcript, Policy]] = {
    "under_trigger": (chat(*conversation(2)), presets.token_threshold(None, 100_000)),
    "nothing_to_compact": (chat(*conversation(2)), forced(Summarize(KeepMessages(10)))),
    "no_legal_split": (
        chat(said("system", "S"), *called("c1", PROSE * 30)),
        forced(Summarize(KeepMessages(1), max_tokens=50)),
    ),
    "budget_below_floor": (
        chat(said("user", PROSE), said("assistant", PROSE), said("user", "LAST-Q what now?")),
        presets.token_threshold(None, 3),
    ),
    "no_reduction": (
        chat(said("user", "Hi."), said("assistant", "Hello."), said("user", "Name?"), said("user", "Bye.")),
        forced(Summarize(KeepMessages(1))),
    ),
    "misses_target": (chat(*conversation(6)), presets.token_threshold(None, 150)),
    "server_history": (
        Transcript.from_json(b'{"previous_response_id":"resp_1","input":"Go on."}', format="openai.responses"),
        forced(Summarize(KeepMessages(1))),
    ),
    "left_to_provider": (
        Transcript.from_json(b'{"model":"gpt-5","input":"Go on."}', format="openai.responses"),
        Policy(OnRequest(), presets.provider_compaction().steps),
    ),
    "no_provider_compaction": (chat(*conversation(2)), Policy(OnRequest(), presets.provider_compaction().steps)),
    "invalid_input": (chat(*BROKEN), forced(Summarize(KeepMessages(2)))),
}


# The others come after a plan: what it was filled with could not be used.
@pytest.mark.parametrize("reason", [r for r in get_args(SkipReason) if r not in {"invalid_output", "no_summary"}])
def test_each_reason_for_no_plan_is_reached(reason: SkipReason) -> None:
    transcript, policy = REASONS[reason]
    found = skipped(transcript, policy)
    assert found.reason == reason, found
    assert found.text.endswith(".")
    assert found.before == transcript.tokens()
    assert bool(found.findings) == (reason == "invalid_input")


def test_what_is_broken_in_replaced_messages_is_no_hindrance() -> None:
    found = planned(chat(*BROKEN), forced(Summarize(KeepMessages(1))))
    assert isinstance(found.tiles[0], SummaryHole)
    assert (found.tiles[0].start, found.tiles[0].stop, found.tiles[1:]) == (0, 3, (KeepRange(3, 4),))


@pytest.mark.parametrize(
    "messages", [[], [said("system", "S")], [said("user", "hi")], [said("system", "S"), said("user", "hi")]]
)
def test_tiny_transcripts_are_left_alone(messages: list[dict[str, object]]) -> None:
    transcript = chat(*messages)
    assert isinstance(plan(transcript, forced(Summarize(KeepMessages(0)), TruncateResults())), Skip)


def test_a_trigger_below_the_instructions_is_named_as_such() -> None:
    transcript = chat(said("system", "R" * 4_000), said("user", "Go."), said("assistant", "Ok."), said("user", "Next."))
    assert skipped(transcript, presets.token_threshold(None, 50)).reason == "budget_below_floor"


def test_a_summary_alone_is_not_summarised_again() -> None:
    transcript = chat(*conversation(4))
    found = planned(transcript, forced(Summarize(KeepMessages(1))))
    done = apply(transcript, found, ["OLD-SUMMARY"])
    assert isinstance(done, Applied)
    assert len(done.transcript) == 3
    assert skipped(done.transcript, forced(Summarize(KeepMessages(1)))).reason == "nothing_to_compact"
