"""Whether a policy fires, and the limit that it fires at."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import assert_never

import msgspec

from turnfold.errors import ArgumentError, UnknownWindowError
from turnfold.model.counts import TokenCount
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.triggers import (
    AllOf,
    AnyOf,
    Cooldown,
    MessagesOver,
    ModelWindow,
    OnRequest,
    ProviderOverflow,
    ShareOver,
    TokensOver,
    ToolGroupsOlder,
    Trigger,
    TurnsOver,
    TurnsSinceSummary,
)
from turnfold.planning.ground import Ground


class Decision(msgspec.Struct, frozen=True):
    """`fired`, the smallest limit that the trigger compares tokens with (None where it has none), and why it waits."""

    fired: bool
    limit_tokens: int | None
    text: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What triggers compare with: `count` is the request's tokens, `ground` is found when a trigger asks for turns."""

    count: TokenCount
    ground: Callable[[], Ground]
    model: str | None
    window_tokens: int | None = None
    state: PlanState = NO_STATE


def decide(trigger: Trigger, facts: Facts) -> Decision:
    """Ask the trigger. Raises `UnknownWindowError` where only a share of an unknown window could decide."""
    if facts.state.requested:
        return Decision(fired=True, limit_tokens=None, text="A compaction was requested.")
    decision = _decide(trigger, facts)
    if decision is None:
        named = f"of the model {facts.model!r}" if facts.model else "(the request names no model)"
        raise UnknownWindowError(
            f"The policy is a share of the model's window, and the window {named} is not known: "
            "pass window_tokens=..., or give the policy a limit in tokens"
        )
    return decision


def anchored(count: TokenCount, state: PlanState, messages: int, since: Callable[[int], TokenCount]) -> TokenCount:
    """Return the provider's own count of what it has seen, and ours of what came after; `count` without a report.

    `since` counts the messages from an index on.
    """
    usage = state.usage
    if usage is None:
        return count
    if usage.messages > messages:
        raise ArgumentError(f"usage is of {usage.messages} messages, and the transcript has {messages}")
    new, seen = since(usage.messages), usage.input_tokens
    return TokenCount(seen + new.n, seen + new.lo, seen + new.hi, "usage")


def _decide(trigger: Trigger, facts: Facts) -> Decision | None:
    """Return the decision; None where only a window that nobody knows could make it."""
    # Those that presets fire by come first: cases are tried one after the other.
    match trigger:
        case TokensOver(limit_tokens=limit):
            return _over_tokens(facts, limit)
        case ShareOver():
            window = facts.window_tokens or trigger.window_tokens or window_of(facts.model, trigger.windows)
            return None if window is None else _over_tokens(facts, int(trigger.share * window))
        case AnyOf():
            return _any(trigger, facts)
        case OnRequest():
            return Decision(fired=True, limit_tokens=None, text="It always fires.")
        case ProviderOverflow():
            return Decision(fired=facts.state.overflow, limit_tokens=None, text="The provider refused nothing.")
        case AllOf():
            return _all([_decide(one, facts) for one in trigger.triggers])
        case Cooldown():
            passed = turns_since_compaction(facts)
            if passed is not None and passed < trigger.turns:
                text = f"{passed} turns have passed since the last compaction, and {trigger.turns} must."
                return Decision(fired=False, limit_tokens=None, text=text)
            return _decide(trigger.trigger, facts)
        case MessagesOver() | TurnsOver() | TurnsSinceSummary() | ToolGroupsOlder():
            return _counted(trigger, facts)
        case _:
            assert_never(trigger)


def _counted(trigger: MessagesOver | TurnsOver | TurnsSinceSummary | ToolGroupsOlder, facts: Facts) -> Decision:
    ground = facts.ground()
    match trigger:
        case MessagesOver(count=limit):
            return _over(len(ground.transcript) - ground.start, limit, "messages")
        case TurnsOver(count=limit):
            return _over(len(ground.spoken), limit, "turns")
        case TurnsSinceSummary(count=least):
            turns = ground.steps if trigger.unit == "step" else ground.spoken
            return _over(_since_summary(ground, turns), least - 1, "turns since the last summary")
        case ToolGroupsOlder(min_age=age, min_groups=least):
            older = max(len(ground.tool_groups) - age, 0)
            return _over(older, least - 1, "old groups of tool calls")
        case _:
            assert_never(trigger)


def _over(count: int, limit: int, what: str) -> Decision:
    return Decision(fired=count > limit, limit_tokens=None, text=f"{count} {what} are not more than {limit}.")


def _over_tokens(facts: Facts, limit: int) -> Decision:
    tokens = facts.count.n
    if tokens > limit:
        return Decision(fired=True, limit_tokens=limit)
    return Decision(fired=False, limit_tokens=limit, text=f"{tokens} tokens are not more than the limit of {limit}.")


def _any(trigger: AnyOf, facts: Facts) -> Decision | None:
    decisions = [_decide(one, facts) for one in trigger.triggers]
    known = [one for one in decisions if one is not None]
    fired = [one for one in known if one.fired]
    if len(known) < len(decisions) and not fired:
        decided = zip(trigger.triggers, decisions, strict=True)
        # What a provider refused says nothing of a request that it has not seen.
        if all(decision is None or isinstance(one, ProviderOverflow) for one, decision in decided):
            return None
    if fired:
        return Decision(fired=True, limit_tokens=_smallest(fired))
    return Decision(fired=False, limit_tokens=_smallest(known), text=" ".join([one.text for one in known]))


def _all(decisions: list[Decision | None]) -> Decision | None:
    known = [one for one in decisions if one is not None]
    waiting = [one for one in known if not one.fired]
    if waiting:
        return Decision(fired=False, limit_tokens=_smallest(known), text=waiting[0].text)
    if len(known) < len(decisions):
        return None
    return Decision(fired=True, limit_tokens=_smallest(known), text=" ".join(one.text for one in known))


def _smallest(decisions: list[Decision]) -> int | None:
    return min([one.limit_tokens for one in decisions if one.limit_tokens is not None], default=None)


def turns_since_compaction(facts: Facts) -> int | None:
    """Return how many turns have opened since the last compaction; None where there was none."""
    if facts.state.turns_since_compaction is not None:
        return facts.state.turns_since_compaction
    ground = facts.ground()
    if ground.latest_summary < 0:
        return None
    return _since_summary(ground, ground.spoken)


def _since_summary(ground: Ground, turns: Sequence[int]) -> int:
    latest = ground.latest_summary
    return sum(index > latest for index in turns)


@lru_cache(maxsize=256)
def window_of(model: str | None, windows: tuple[ModelWindow, ...]) -> int | None:
    """Look up the entry that names `model` most closely: its name, or the longest that it begins with up to a `-`.

    A path before the name (`vendor/model`) is passed over.
    """
    if model is None:
        return None
    name = model.rpartition("/")[2]
    matching = [w for w in windows if name.startswith(w.model) and name[len(w.model) : len(w.model) + 1] in {"", "-"}]
    return max(matching, key=lambda w: len(w.model)).window_tokens if matching else None
