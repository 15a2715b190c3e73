"""Every step and scope, alone and in pipelines, in every format: what holds whatever they choose."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnfold import CompactionResult, Skip, Transcript, compact_sync, plan
from turnfold.model.plan import CompactionPlan, KeepRange
from turnfold.model.policy import (
    AskProvider,
    DedupeResults,
    Drop,
    MaskResults,
    OnRequest,
    Policy,
    Step,
    Summarize,
    TokensOver,
    TruncateResults,
)
from turnfold.model.selection import (
    KeepMessages,
    KeepShare,
    KeepTokens,
    KeepToolGroups,
    KeepTurns,
    PinIndex,
    PinPredicate,
    PinRole,
    PinText,
    Scope,
    Tail,
)
from turnfold.testing.generators import BY_FORMAT
from turnfold.testing.plans import check_result

tails: st.SearchStrategy[Tail] = (
    st.integers(0, 9).map(KeepMessages)
    | st.integers(0, 4).map(KeepTurns)
    | st.integers(0, 1_500).map(KeepTokens)
    | st.integers(0, 5).map(KeepToolGroups)
)
scopes = st.builds(
    Scope,
    head=st.just(KeepMessages(0)) | tails,
    only=st.sampled_from(["all", "assistant", "tool_groups"]),
    min_tokens=st.sampled_from([0, 0, 40]),
    exclude_tools=st.sampled_from([(), ("read_file",), ("bash", "grep")]),
    pins=st.lists(
        st.integers(-3, 12).map(PinIndex)
        | st.just(PinRole("assistant"))
        | st.just(PinText("src/parser.py"))
        | st.just(PinPredicate("states_rule")),
        max_size=2,
    ).map(tuple),
    user_verbatim=st.booleans(),
    order=st.sampled_from(["all", "all", "priority"]),
)
steps: st.SearchStrategy[Step] = (
    st.builds(
        Summarize,
        keep=tails,
        role=st.sampled_from(["user", "assistant"]),
        max_tokens=st.sampled_from([80, 300]),
        task_max_tokens=st.sampled_from([0, 60]),
        scope=st.just(Scope()) | scopes,
        once=st.sampled_from([False, False, True]),
    )
    | st.builds(
        TruncateResults,
        max_tokens=st.just(100),
        min_tokens=st.just(50),
        side=st.sampled_from(["head", "tail", "both"]),
        keep=tails,
        scope=scopes,
    )
    | st.builds(MaskResults, keep=tails, scope=scopes, grid=st.sampled_from([1, 4]))
    | st.builds(DedupeResults, keep=tails, superseded=st.booleans(), scope=scopes)
    | st.builds(Drop, keep=tails, scope=st.just(Scope()) | scopes)
)
policies = st.builds(
    Policy,
    trigger=st.just(OnRequest()) | st.integers(50, 1_500).map(TokensOver),
    steps=st.lists(steps, min_size=1, max_size=3).map(tuple),
    target_share=st.sampled_from([1.0, 0.6]),
    fit=st.sampled_from(["bound", "likely"]),
)
transcripts = st.builds(
    lambda name, seed, turns, words: Transcript.from_json(
        msgspec.json.encode(BY_FORMAT[name](seed, turns=turns, result_words=words)), format=name
    ),
    st.sampled_from(sorted(BY_FORMAT)),
    st.integers(0, 10_000),
    st.integers(1, 8),
    st.sampled_from([5, 60, 200]),
)


@settings(max_examples=400, deadline=None)
@given(transcripts, policies)
def test_any_policy_gives_a_valid_smaller_result_or_a_reason(transcript: Transcript, policy: Policy) -> None:
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy
    found = plan(transcript, policy)
    assert found == plan(transcript, policy)
    result = compact_sync(transcript, policy)
    if isinstance(found, Skip):
        assert isinstance(result, Skip)
        return
    assert isinstance(result, CompactionResult), result
    assert result.plan == found
    check_result(transcript, result)


masking = st.builds(
    Policy,
    trigger=st.just(OnRequest()) | st.integers(50, 1_500).map(TokensOver),
    steps=st.tuples(
        st.builds(
            MaskResults,
            keep=tails,
            scope=st.integers(0, 120).map(lambda least: Scope(min_tokens=least)),
            grid=st.sampled_from([1, 4]),
        )
    ),
    target_share=st.sampled_from([1.0, 0.6]),
    fit=st.sampled_from(["bound", "likely"]),
)


@settings(max_examples=200, deadline=None)
@given(transcripts, masking, st.sampled_from([None, "gpt-4o", "claude-sonnet-4-5"]))
def test_results_that_the_kernel_masks_are_those_masked_one_by_one(
    transcript: Transcript, policy: Policy, model: str | None
) -> None:
    mask = policy.steps[0]
    assert isinstance(mask, MaskResults)
    # With a tool to be spared, each result is looked at here, though there is none of that name.
    scope = msgspec.structs.replace(mask.scope, exclude_tools=("no such tool",))
    one_by_one = msgspec.structs.replace(policy, steps=(msgspec.structs.replace(mask, scope=scope),))
    assert plan(transcript, policy, model=model) == plan(transcript, one_by_one, model=model)


def names_an_index(step: Step) -> bool:
    """Whether a pin names a message by its place, where another one stands after the first time."""
    return not isinstance(step, AskProvider) and any(isinstance(pin, PinIndex) for pin in step.scope.pins)


single = steps.filter(lambda step: not isinstance(step, Drop) and not names_an_index(step)).map(
    lambda step: Policy(OnRequest(), (step,))
)


@settings(max_examples=300, deadline=None)
@given(transcripts, single)
def test_a_step_taken_again_changes_nothing(transcript: Transcript, policy: Policy) -> None:
    result = compact_sync(transcript, policy)
    if isinstance(result, CompactionResult):
        again = compact_sync(result.transcript, policy)
        assert isinstance(again, Skip), again.plan.tiles


@settings(max_examples=100, deadline=None)
@given(transcripts, scopes, tails)
def test_what_the_user_said_stays_verbatim(transcript: Transcript, scope: Scope, tail: Tail) -> None:
    if transcript.always_alternates:
        return
    step = Summarize(tail, max_tokens=120, scope=msgspec.structs.replace(scope, user_verbatim=True))
    result = compact_sync(transcript, Policy(OnRequest(), (step,)))
    if isinstance(result, CompactionResult):
        after = {result.transcript.message_json(k) for k in range(len(result.transcript))}
        for index, speaker in enumerate(transcript.speakers):
            texts = [block for block in transcript.blocks(index) if block.kind == "text"]
            if speaker == "user" and texts:
                assert transcript.message_json(index) in after


def test_a_share_needs_something_to_be_a_share_of() -> None:
    transcript = Transcript.from_json(msgspec.json.encode(BY_FORMAT["openai.chat"](3, turns=8)), format="openai.chat")
    share = Summarize(KeepShare(0.5), max_tokens=100)
    with pytest.raises(Exception, match="share of a limit"):
        plan(transcript, Policy(OnRequest(), (share,)))
    assert isinstance(plan(transcript, Policy(OnRequest(), (share,)), window_tokens=2_000), CompactionPlan)
    found = plan(transcript, Policy(TokensOver(transcript.tokens().n - 100), (share,)))
    assert isinstance(found, CompactionPlan)
    tail = found.tiles[-1]
    assert isinstance(tail, KeepRange)
    assert transcript.tokens(tail.start, tail.stop).n <= transcript.tokens().n / 2
