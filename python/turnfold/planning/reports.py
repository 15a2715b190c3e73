"""Events of compactions. With nobody subscribed each of these does next to nothing."""

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TypedDict, TypeVar, cast
from uuid import uuid4

from turnfold.model.events import CompactionCompleted, CompactionFailed, CompactionSkipped, CompactionStarted
from turnfold.model.plan import CompactionPlan, KeepRange, Skip, SummaryHole
from turnfold.model.policy import Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.telemetry import hub
from turnfold.transcript import Transcript

_Outcome = CompactionResult | Skip
_Async = TypeVar("_Async", bound=Callable[..., Coroutine[object, object, _Outcome]])
_Sync = TypeVar("_Sync", bound=Callable[..., _Outcome])


def told(compact: _Async) -> _Async:
    """Tell how each call of `compact` ends, a coroutine function of a transcript, a policy and more."""

    @functools.wraps(compact)
    async def wrapped(transcript: Transcript, policy: Policy, *args: object, **kwargs: object) -> _Outcome:
        if not hub.heard():
            return await compact(transcript, policy, *args, **kwargs)
        with _telling(transcript, policy) as tell:
            return tell(await compact(transcript, policy, *args, **kwargs))

    return cast(_Async, wrapped)


def told_sync(compact: _Sync) -> _Sync:
    """Do the same for a plain function."""

    @functools.wraps(compact)
    def wrapped(transcript: Transcript, policy: Policy, *args: object, **kwargs: object) -> _Outcome:
        if not hub.heard():
            return compact(transcript, policy, *args, **kwargs)
        with _telling(transcript, policy) as tell:
            return tell(compact(transcript, policy, *args, **kwargs))

    return cast(_Sync, wrapped)


@contextmanager
def _telling(transcript: Transcript, policy: Policy) -> Iterator[Callable[[_Outcome], _Outcome]]:
    with hub.within(compaction=uuid4().hex):
        try:
            yield lambda outcome: _tell_outcome(transcript, policy, outcome)
        except BaseException as error:
            _tell_failed(transcript, policy, error)
            raise


def tell_started(transcript: Transcript, policy: Policy, plan: CompactionPlan, plan_seconds: float) -> None:
    """Tell of a plan that is being carried out."""
    if not hub.heard():
        return
    holes = sum(isinstance(tile, SummaryHole) for tile in plan.tiles)
    hub.emit(CompactionStarted(**_shape(transcript, policy, plan), holes=holes, plan_seconds=plan_seconds))


class _Shape(TypedDict):
    policy: str
    model: str | None
    format: str
    original_messages: int
    old_messages: int
    recent_messages: int
    keep_messages: int | None
    desired_split_index: int | None
    safe_split_index: int
    before_tokens: int
    target_tokens: int


def _shape(transcript: Transcript, policy: Policy, plan: CompactionPlan) -> _Shape:
    keep, desired = _wanted(policy, plan)
    return {
        "policy": plan.policy,
        "model": plan.model or transcript.model,
        "format": transcript.format,
        "original_messages": plan.messages,
        "old_messages": _replaced(plan),
        "recent_messages": plan.messages - changed_until(plan),
        "keep_messages": keep,
        "desired_split_index": desired,
        "safe_split_index": changed_until(plan),
        "before_tokens": plan.before.n,
        "target_tokens": plan.target_tokens,
    }


def changed_until(plan: CompactionPlan) -> int:
    """Return the index behind the last message that `plan` does not keep as it is."""
    return max((tile.stop for tile in plan.tiles if not isinstance(tile, KeepRange)), default=0)


def _tell_outcome(transcript: Transcript, policy: Policy, outcome: _Outcome) -> _Outcome:
    if isinstance(outcome, Skip):
        skipped = CompactionSkipped(
            policy=policy.name, reason=outcome.reason, original_messages=len(transcript), before_tokens=outcome.before.n
        )
        hub.emit(skipped)
        return outcome
    hub.emit(
        CompactionCompleted(
            **_shape(transcript, policy, outcome.plan),
            new_messages=len(outcome.transcript),
            after_tokens=outcome.after.n,
            summary_characters=len(outcome.summary or ""),
            summary_text=outcome.summary,
            method=outcome.method,
            attempts=len(outcome.attempts),
            identifiers_kept=len(outcome.identifiers.kept),
            identifiers_lost=len(outcome.identifiers.lost),
            identifiers_new=len(outcome.identifiers.new),
            identifiers_referenced_later=len(outcome.identifiers.referenced_later),
            usage=outcome.usage,
            total_tokens=outcome.usage.total_tokens,
            plan_seconds=outcome.timings.plan_seconds,
            summarize_seconds=outcome.timings.summarize_seconds,
            apply_seconds=outcome.timings.apply_seconds,
            overshoot_seconds=outcome.timings.overshoot_seconds,
        )
    )
    return outcome


def _tell_failed(transcript: object, policy: object, error: BaseException) -> None:
    # Arguments of the wrong type are among what makes a compaction fail.
    hub.emit(
        CompactionFailed(
            policy=policy.name if isinstance(policy, Policy) else "",
            original_messages=len(transcript) if isinstance(transcript, Transcript) else 0,
            error=type(error).__name__,
            error_text=str(error) or None,
            cancelled=type(error).__name__ in {"CancelledError", "Cancelled"},
        )
    )


def _replaced(plan: CompactionPlan) -> int:
    changed = 0
    for tile in plan.tiles:
        if isinstance(tile, SummaryHole):
            changed += sum(map(len, tile.gone))
        elif not isinstance(tile, KeepRange):
            changed += tile.stop - tile.start
    return changed


def _wanted(policy: Policy, plan: CompactionPlan) -> tuple[int | None, int | None]:
    """How many messages the policy wants to keep at the end, and where that would cut."""
    for step in policy.steps:
        if isinstance(step, Summarize) and isinstance(step.keep, KeepMessages):
            return step.keep.count, max(plan.messages - step.keep.count, 0)
    return None, None
