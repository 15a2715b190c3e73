"""When each trigger fires, alone and together."""

import msgspec
import pytest

from turnfold import Skip, Transcript, plan
from turnfold.errors import ArgumentError, UnknownWindowError
from turnfold.model.counts import TokenCount
from turnfold.model.plan import CompactionPlan
from turnfold.model.policy import (
    AllOf,
    AnyOf,
    Cooldown,
    MessagesOver,
    OnRequest,
    Policy,
    ProviderOverflow,
    ShareOver,
    Summarize,
    TokensOver,
    ToolGroupsOlder,
    Trigger,
    TurnsOver,
    TurnsSinceSummary,
)
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages
from turnfold.model.state import NO_STATE, PlanState, ReportedUsage
from turnfold.planning.ground import Ground
from turnfold.planning.triggers import Decision, Facts, decide
from turnfold.planning.wrapper import WrappedSummary, wrap

Json = dict[str, object]
SUMMARY: Json = {"role": "user", "content": wrap(WrappedSummary(9, None, "- nothing much"))}
FIRES, WAITS = TokensOver(10), TokensOver(1_000)


def turn(number: int, calls: int = 0) -> list[Json]:
    messages: list[Json] = [{"role": "user", "content": f"Question {number}."}]
    for k in range(calls):
        name = {"name": "run", "arguments": "{}"}
        call = {"id": f"c{number}_{k}", "type": "function", "function": name}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}_{k}", "content": "done " * 40})
    return [*messages, {"role": "assistant", "content": f"Answer {number}. " + "And so on. " * 20}]


def turns(count: int, calls: int = 0) -> list[Json]:
    return [{"role": "system", "content": "Be brief."}, *(m for k in range(count) for m in turn(k, calls))]


def asked(trigger: Trigger, messages: list[Json], state: PlanState = NO_STATE, n: int = 500) -> Decision:
    ground = Ground(Transcript.from_messages(messages, format="openai.chat"), ScanOptions())
    facts = Facts(count=TokenCount(n, n, n, "exact"), ground=lambda: ground, model=None, state=state)
    return decide(trigger, facts)


@pytest.mark.parametrize(
    ("trigger", "messages", "fired"),
    [
        (MessagesOver(4), turns(2), False),
        (MessagesOver(3), turns(2), True),
        (TurnsOver(2), turns(2), False),
        (TurnsOver(1), turns(2), True),
        (TurnsOver(0), [SUMMARY], False),
        (TurnsSinceSummary(2), turns(2), True),
        (TurnsSinceSummary(3), turns(2), False),
        (TurnsSinceSummary(2), [*turns(5), SUMMARY, *turn(6)], False),
        (TurnsSinceSummary(2), [*turns(5), SUMMARY, *turn(6), *turn(7)], True),
        (TurnsSinceSummary(3, "step"), turns(1, calls=2), True),
        (TurnsSinceSummary(4, "step"), turns(1, calls=2), False),
        (ToolGroupsOlder(2), turns(1, calls=2), False),
        (ToolGroupsOlder(2), turns(1, calls=3), True),
        (ToolGroupsOlder(2, min_groups=2), turns(1, calls=3), False),
        (ToolGroupsOlder(2, min_groups=2), turns(2, calls=2), True),
        (ProviderOverflow(), turns(2), False),
    ],
)
def test_a_trigger_that_counts(trigger: Trigger, messages: list[Json], fired: bool) -> None:
    decision = asked(trigger, messages)
    assert decision.fired is fired
    assert decision.limit_tokens is None
    assert decision.text


def test_the_provider_refused_the_request() -> None:
    assert asked(ProviderOverflow(), turns(1), PlanState(overflow=True)).fired


@pytest.mark.parametrize(
    ("trigger", "fired", "limit"),
    [
        (AnyOf((FIRES, WAITS)), True, 10),
        (AnyOf((WAITS, MessagesOver(99))), False, 1_000),
        (AnyOf((WAITS, MessagesOver(1))), True, None),
        (AllOf((FIRES, TokensOver(20))), True, 10),
        (AllOf((FIRES, MessagesOver(99))), False, 10),
        (AllOf((FIRES, AnyOf((WAITS, OnRequest())))), True, 10),
        (AnyOf((ShareOver(0.5), FIRES)), True, 10),
        (AnyOf((ShareOver(0.5), MessagesOver(99))), False, None),
        (AllOf((ShareOver(0.5), WAITS)), False, 1_000),
    ],
)
def test_triggers_together(trigger: Trigger, fired: bool, limit: int | None) -> None:
    decision = asked(trigger, turns(3))
    assert (decision.fired, decision.limit_tokens) == (fired, limit)


@pytest.mark.parametrize("trigger", [AllOf((ShareOver(0.5), FIRES)), AnyOf((ShareOver(0.5), ProviderOverflow()))])
def test_an_unknown_window_that_nothing_stands_in_for_is_an_error(trigger: Trigger) -> None:
    with pytest.raises(UnknownWindowError):
        asked(trigger, turns(2))


def test_a_cooldown_waits_for_turns() -> None:
    cooling = Cooldown(FIRES, 2)
    assert asked(cooling, turns(1)).fired, "nothing has been compacted yet"
    assert not asked(cooling, [SUMMARY, *turn(1)]).fired
    assert asked(cooling, [SUMMARY, *turn(1), *turn(2)]).fired
    assert not asked(cooling, turns(9), PlanState(turns_since_compaction=1)).fired
    assert asked(cooling, [SUMMARY, *turn(1)], PlanState(turns_since_compaction=2)).fired
    assert asked(cooling, [SUMMARY], PlanState(requested=True)).fired


def test_what_the_provider_reported_is_the_anchor() -> None:
    transcript = Transcript.from_messages(turns(4), format="openai.chat")
    policy = Policy(TokensOver(1_000), (Summarize(KeepMessages(2)),))
    assert isinstance(plan(transcript, policy), Skip)
    seen = PlanState(usage=ReportedUsage(len(transcript) - 2, 2_000))
    found = plan(transcript, policy, state=seen)
    assert isinstance(found, CompactionPlan)
    # Of what the provider counts as twice as much, half the limit may be left.
    new = transcript.tokens(len(transcript) - 2, len(transcript)).n
    assert found.target_tokens == 1_000 * found.before.n // (2_000 + new)
    with pytest.raises(ArgumentError, match="usage is of 99 messages"):
        plan(transcript, policy, state=PlanState(usage=ReportedUsage(99, 1)))


def test_a_request_compacts_below_every_limit() -> None:
    transcript = Transcript.from_messages(turns(4), format="openai.chat")
    policy = Policy(TokensOver(10**6), (Summarize(KeepMessages(2)),))
    assert isinstance(plan(transcript, policy, state=PlanState(requested=True)), CompactionPlan)


def test_a_trigger_that_does_not_fire_says_why() -> None:
    transcript = Transcript.from_messages(turns(4), format="openai.chat")
    skip = plan(transcript, Policy(TurnsOver(9), (Summarize(),)))
    assert isinstance(skip, Skip)
    assert (skip.reason, skip.text) == ("under_trigger", "4 turns are not more than 9.")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: MessagesOver(-1), "count"),
        (lambda: TurnsOver(-1), "count"),
        (lambda: TurnsSinceSummary(0), "count"),
        (lambda: TurnsSinceSummary(3, "hour"), "unit"),  # type: ignore[arg-type]
        (lambda: ToolGroupsOlder(-1), "min_age"),
        (lambda: ToolGroupsOlder(1, 0), "min_groups"),
        (lambda: AllOf(()), "trigger"),
        (lambda: Cooldown(FIRES, -1), "turns"),
        (lambda: ReportedUsage(-1, 0), "messages"),
        (lambda: ReportedUsage(0, -1), "input_tokens"),
        (lambda: PlanState(turns_since_compaction=-1), "turns_since_compaction"),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(make: "object", named: str) -> None:
    assert callable(make)
    with pytest.raises(ArgumentError, match=named):
        make()


def test_nested_triggers_survive_being_stored() -> None:
    trigger = AnyOf((Cooldown(AllOf((FIRES, TurnsSinceSummary(31))), 2), ProviderOverflow(), ToolGroupsOlder(3)))
    policy = Policy(trigger, (Summarize(),))
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy
