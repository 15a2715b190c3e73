"""Policies: defaults, refused numbers, encoding, and when they fire."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold import presets
from turnfold.errors import ArgumentError, TurnfoldError, UnknownWindowError
from turnfold.model.counts import TokenCount
from turnfold.model.policy import (
    AnyOf,
    ModelWindow,
    OnRequest,
    Policy,
    ShareOver,
    Summarize,
    TokensOver,
    TruncateResults,
)
from turnfold.model.scan import ScanOptions
from turnfold.model.triggers import Trigger
from turnfold.planning.ground import Ground
from turnfold.planning.triggers import Decision, Facts, decide, window_of
from turnfold.presets.windows import WINDOWS
from turnfold.transcript import Transcript


def exact(n: int) -> TokenCount:
    return TokenCount(n, n, n, "exact")


def decided(trigger: Trigger, n: int, model: str | None = None, window_tokens: int | None = None) -> Decision:
    ground = Ground(Transcript.from_messages([], format="openai.chat"), ScanOptions())
    facts = Facts(count=exact(n), ground=lambda: ground, model=model, window_tokens=window_tokens)
    return decide(trigger, facts)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: TokensOver(-1), "limit_tokens"),
        (lambda: ShareOver(-0.1), "share"),
        (lambda: ShareOver(1.5), "share"),
        (lambda: ShareOver(math.nan), "share"),
        (lambda: ShareOver(0.5, window_tokens=0), "window_tokens"),
        (lambda: AnyOf(()), "trigger"),
        (lambda: Summarize(max_tokens=-1), "max_tokens"),
        (lambda: Summarize(task_max_tokens=-1), "task_max_tokens"),
        (lambda: TruncateResults(max_tokens=-1), "max_tokens"),
        (lambda: TruncateResults(max_tokens=10, min_tokens=11), "max_tokens"),
        (lambda: Policy(OnRequest(), (), target_tokens=-1), "target_tokens"),
        (lambda: presets.token_threshold(keep_messages=-1), "keep_messages"),
        (lambda: presets.token_threshold(limit_tokens=-1), "limit_tokens"),
        (lambda: presets.token_threshold(fraction=-0.5), "share"),
        (lambda: presets.token_threshold(fraction=None), "both are None"),
        (lambda: presets.token_threshold(summary_tokens=-1), "max_tokens"),
        (lambda: presets.token_threshold(result_tokens=-1), "tokens"),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(make: "object", named: str) -> None:
    assert callable(make)
    with pytest.raises(ArgumentError, match=named) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TurnfoldError)


@pytest.mark.parametrize(
    "policy",
    [
        presets.token_threshold(),
        presets.token_threshold(None, 50_000, 0, target_tokens=9),
        Policy(AnyOf((OnRequest(), TokensOver(3))), (TruncateResults(), Summarize())),
    ],
)
def test_a_policy_survives_being_stored(policy: Policy) -> None:
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(policy), type=Policy) == policy


def test_a_stored_policy_is_checked_when_it_is_read() -> None:
    stored = msgspec.json.encode(presets.token_threshold(None, 50_000)).replace(b"50000", b"-1")
    with pytest.raises(msgspec.ValidationError, match="limit_tokens"):
        msgspec.json.decode(stored, type=Policy)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_limit_fires_above_itself_and_not_at_it(limit: int, n: int) -> None:
    assert decided(TokensOver(limit), n, None).fired == (n > limit)


def test_the_nearer_of_two_limits_is_the_target() -> None:
    policy = presets.token_threshold(0.5, 1_000, window_tokens=3_000)
    for n, fired in ((1_000, False), (1_001, True), (1_501, True)):
        decision = decided(policy.trigger, n, None)
        assert (decision.fired, decision.limit_tokens) == (fired, 1_000)


def test_a_share_of_the_bodys_model() -> None:
    trigger = presets.token_threshold().trigger
    assert decided(trigger, 0, "gpt-4o-2024-08-06").limit_tokens == 89_600
    assert decided(trigger, 0, "openai/gpt-4o").limit_tokens == 89_600
    assert decided(trigger, 0, "gpt-4o", window_tokens=100).limit_tokens == 70


@pytest.mark.parametrize("model", [None, "house-model-7b"])
def test_an_unknown_window_says_what_to_pass(model: str | None) -> None:
    with pytest.raises(UnknownWindowError, match="window_tokens"):
        decided(presets.token_threshold().trigger, 10**9, model)


def test_an_unknown_window_is_passed_over_where_a_limit_decides() -> None:
    trigger = presets.token_threshold(0.7, 10).trigger
    assert decided(trigger, 11, None).fired
    assert not decided(trigger, 10, None).fired


def test_the_longest_name_wins() -> None:
    windows = (ModelWindow("a", 1), ModelWindow("a-b", 2))
    found = [window_of(m, windows) for m in ("a", "a-b", "a-b-2026", "a-c", "ab", "x/a-b", None)]
    assert found == [1, 2, 2, 1, None, 2, None]


def test_the_table_of_windows_names_each_model_once() -> None:
    names = [row.model for row in WINDOWS]
    assert len(names) == len(set(names))
