"""A compaction that asks nobody, and how each one ends: what is open is written by rule, then applied and judged.

It needs no event loop, and so loads none.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from msgspec import structs

from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy, Summarize
from turnfold.model.result import Attempt, Coverage, Timings
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.summary import NO_USAGE, SummaryReply
from turnfold.planning.apply import Applied, CompactionResult, apply_opened
from turnfold.planning.prepared import Prepared, prepare, prepare_again
from turnfold.planning.reports import tell_started, told_sync
from turnfold.planning.request import shown_share
from turnfold.prompts.schemas import schema_named
from turnfold.summarizers.asked import is_asked
from turnfold.summarizers.by_rule import write_by_rule
from turnfold.summarizers.freeing import free, rows_of
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.progress import NO_MODEL, Progress
from turnfold.transcript import Transcript

_Outcome = CompactionResult | Skip


@dataclass(slots=True)
class Filling:
    """Replies so far, by hole, and everything that was tried."""

    replies: dict[int, tuple[str, SummaryReply]] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    seconds: float = 0.0
    progress: dict[int, Progress] = field(default_factory=dict)
    stopped_by: BaseException | None = None


def compact_by_rule(
    transcript: Transcript,
    policy: Policy,
    *,
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
) -> CompactionResult | Skip:
    """Compact `transcript` as `policy` says, with every summary by rule: `turnfold.compact_sync` without a summarizer.

    Raises only for wrong arguments: see `plan`.
    """
    check_policy(policy)
    return _compact(
        transcript,
        policy,
        encoding=encoding,
        model=model,
        window_tokens=window_tokens,
        options=options,
        state=state,
    )


def check_policy(policy: Policy) -> None:
    """Raise for a policy that is wrong for any transcript."""
    if not isinstance(policy, Policy):
        raise TypeError(f"a Policy is needed, not {type(policy).__name__}: turnfold.presets make them")
    for step in policy.steps:
        if isinstance(step, Summarize):
            schema_named(step.schema)


@told_sync
def _compact(
    transcript: Transcript,
    policy: Policy,
    *,
    encoding: str | None,
    model: str | None,
    window_tokens: int | None,
    options: ScanOptions,
    state: PlanState,
) -> CompactionResult | Skip:
    prepared = prepare(
        transcript,
        policy,
        by_rule=True,
        encoding=encoding,
        model=model,
        window_tokens=window_tokens,
        options=options,
        state=state,
    )
    if isinstance(prepared, Skip):
        return prepared
    tell_started(transcript, policy, prepared.plan, prepared.seconds)
    return ended(finish, [prepared], Filling())


def carry_out(transcript: Transcript, planned: CompactionPlan) -> CompactionResult | Skip:
    """Carry out a plan that was made before, maybe elsewhere; every summary is made by rule.

    Raises `PlanMismatchError` for a plan of another transcript.
    """
    return ended(finish, [prepare_again(transcript, planned)], Filling())


def ended(end: Callable[[Prepared, Filling], _Outcome], held: list[Prepared], filling: Filling) -> _Outcome:
    """Return what a compaction ends with, and free what it was made from: `held` has the only reference."""
    prepared = held.pop()
    outcome = end(prepared, filling)
    rows = rows_of((*prepared.requests, *(piece for one in filling.progress.values() for piece in one.pieces)))
    filling.progress.clear()
    del prepared
    free(rows)
    return outcome


def finish(prepared: Prepared, filling: Filling) -> CompactionResult | Skip:
    """Fill by rule what is still open, then apply."""
    by_rule = perf_counter()
    for hole, request in enumerate(prepared.requests):
        if hole not in filling.replies:
            rest = filling.progress[hole].rest(request) if hole in filling.progress else request
            filling.replies[hole] = write_by_rule(hole, rest, filling.attempts)
    replies = [filling.replies[hole] for hole in range(len(prepared.requests))]
    started = perf_counter()
    applied = apply_opened(prepared.transcript, prepared.plan, prepared.opened, [reply.text for _, reply in replies])
    if isinstance(applied, Skip):
        return structs.replace(applied, attempts=tuple(filling.attempts))
    return _result(
        applied,
        prepared,
        filling,
        Timings(
            plan_seconds=prepared.seconds,
            summarize_seconds=filling.seconds + started - by_rule,
            apply_seconds=perf_counter() - started,
        ),
    )


def _result(applied: Applied, prepared: Prepared, filling: Filling, timings: Timings) -> CompactionResult:
    return CompactionResult.of(
        applied,
        method=filling.replies[0][0] if prepared.requests else None,
        coverage=_coverage(prepared, filling),
        usage=sum((attempt.usage for attempt in filling.attempts), NO_USAGE),
        attempts=tuple(filling.attempts),
        timings=timings,
        texts=tuple(filling.replies[hole][1].text for hole in range(len(prepared.requests))),
    )


def _coverage(prepared: Prepared, filling: Filling) -> Coverage:
    shown = whole = pieces = by_rule = 0
    marked = False
    for hole, opening in enumerate(prepared.opened):
        method = filling.replies[hole][0]
        whole += opening.source_tokens
        if method == Marker().name or not is_asked(prepared.requests[hole]):
            marked = True
            continue
        shown += int(opening.source_tokens * shown_share(prepared.transcript, opening))
        progress = filling.progress.get(hole, Progress())
        pieces += max(len(progress.pieces), 1)
        by_rule += progress.by_rule if progress.pieces else method in NO_MODEL
    if shown == whole:
        return Coverage(1.0, pieces, by_rule)
    return Coverage(shown / whole, pieces, by_rule, "marker" if marked else "clipped")
