"""The one path of a compaction: plan, ask for summaries side by side within a deadline, apply, judge."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from msgspec import structs

from turnfold.errors import ArgumentError, NoSummaryError, RunningLoopError
from turnfold.model.judgement import BY_RULE
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy, Summarize
from turnfold.model.result import Attempt, Timings
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.summary import NO_USAGE, SummaryReply, SummaryRequest
from turnfold.planning.apply import Applied, CompactionResult, apply_opened
from turnfold.planning.fill import Opening, openings
from turnfold.planning.plan import plan
from turnfold.planning.request import summary_request
from turnfold.prompts.judge import judge
from turnfold.prompts.schemas import schema_named
from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.rules import Rules
from turnfold.transcript import Transcript

_BY_RULE = (Rules(), Marker())

DEADLINE_SECONDS: Final = 60.0
"""How long a summarizer is waited for where the caller does not say: long for a model, short for a stuck socket."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan with what its summarizers are asked, and the seconds that took."""

    transcript: Transcript
    plan: CompactionPlan
    opened: tuple[Opening, ...]
    requests: tuple[SummaryRequest, ...]
    seconds: float


@dataclass(slots=True)
class _Filling:
    """Replies so far, by hole, and everything that was tried."""

    replies: dict[int, tuple[str, SummaryReply]] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    seconds: float = 0.0


async def compact(
    transcript: Transcript,
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    deadline_seconds: float | None = DEADLINE_SECONDS,
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
) -> CompactionResult | Skip:
    """Compact `transcript` as `policy` says; the input is never changed.

    `summarizer` is asked for each hole of the plan, all side by side. Where it fails, answers nothing usable, or is not
    done `deadline_seconds` after it was asked, the summary is made by rule, and where that does not fit it is a marker:
    a compaction neither hangs nor raises because of a summarizer. Without a summarizer it is made by rule at once. A
    deadline of 0 gives a summarizer no time at all; None waits for as long as it takes.

    Works on asyncio and on trio. Cancellation goes through and leaves nothing behind. The kernel's work runs in a
    worker thread, with the interpreter free for most of it, so a large transcript does not hold up the event loop.

    Raises only for wrong arguments: see `plan`.
    """
    _check(policy, summarizer, deadline_seconds)
    prepared = await _aside(
        _prepare,
        transcript,
        policy,
        encoding=encoding,
        model=model,
        window_tokens=window_tokens,
        options=options,
        state=state,
    )
    if isinstance(prepared, Skip):
        return prepared
    filling = _Filling()
    if summarizer is not None and prepared.requests:
        await _ask(prepared, Fallback(summarizer), filling, deadline_seconds)
    return await _aside(_finish, prepared, filling)


def compact_sync(
    transcript: Transcript,
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    deadline_seconds: float | None = DEADLINE_SECONDS,
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
) -> CompactionResult | Skip:
    """Compact from plain code: the same as `compact`, blocking.

    Without a summarizer nothing is awaited and it may be called anywhere. With one it starts an event loop of its own,
    so inside a running loop it raises `RunningLoopError`: await `compact` there.
    """
    _check(policy, summarizer, deadline_seconds)
    if summarizer is None:
        prepared = _prepare(
            transcript,
            policy,
            encoding=encoding,
            model=model,
            window_tokens=window_tokens,
            options=options,
            state=state,
        )
        return prepared if isinstance(prepared, Skip) else _finish(prepared, _Filling())
    if _in_event_loop():
        raise RunningLoopError("compact_sync with a summarizer cannot run inside an event loop: await compact(...)")

    async def run() -> CompactionResult | Skip:
        return await compact(
            transcript,
            policy,
            summarizer,
            deadline_seconds=deadline_seconds,
            encoding=encoding,
            model=model,
            window_tokens=window_tokens,
            options=options,
            state=state,
        )

    return anyio.run(run)


def carry_out(transcript: Transcript, planned: CompactionPlan) -> CompactionResult | Skip:
    """Carry out a plan that was made before, maybe elsewhere; every summary is made by rule.

    Raises `PlanMismatchError` for a plan of another transcript.
    """
    return _finish(_opened(transcript, planned, perf_counter()), _Filling())


def _check(policy: Policy, summarizer: Summarizer | None, deadline_seconds: float | None) -> None:
    if not isinstance(policy, Policy):
        raise TypeError(f"a Policy is needed, not {type(policy).__name__}: turnfold.presets make them")
    if summarizer is not None and (isinstance(summarizer, type) or not hasattr(summarizer, "summarize")):
        raise TypeError(f"{summarizer!r} has no method `summarize`: wrap a function in turnfold.summarizers.Function")
    if deadline_seconds is not None and not deadline_seconds >= 0:
        raise ArgumentError(f"deadline_seconds must be at least 0, got {deadline_seconds}")
    for step in policy.steps:
        if isinstance(step, Summarize):
            schema_named(step.schema)


async def _aside(work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    # About 0.1 ms, where a megabyte that is counted for the first time takes ten: the loop is worth more.
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs))


def _prepare(
    transcript: Transcript,
    policy: Policy,
    *,
    encoding: str | None,
    model: str | None,
    window_tokens: int | None,
    options: ScanOptions,
    state: PlanState,
) -> _Prepared | Skip:
    started = perf_counter()
    planned = plan(
        transcript, policy, encoding=encoding, model=model, window_tokens=window_tokens, options=options, state=state
    )
    if isinstance(planned, Skip):
        return planned
    return _opened(transcript, planned, started)


def _opened(transcript: Transcript, planned: CompactionPlan, started: float) -> _Prepared:
    opened = openings(transcript, planned)
    requests = tuple(summary_request(transcript, opening) for opening in opened)
    return _Prepared(transcript, planned, opened, requests, perf_counter() - started)


async def _ask(prepared: _Prepared, chain: Fallback, filling: _Filling, deadline_seconds: float | None) -> None:
    """Fill as many holes as `chain` can before the deadline."""
    started = perf_counter()

    async def fill(hole: int, request: SummaryRequest) -> None:
        def report(attempt: Attempt) -> None:
            filling.attempts.append(structs.replace(attempt, hole=hole))

        if schema_named(request.schema).style == "marker":
            return  # nothing is to be written
        with anyio.move_on_after(prepared.opened[hole].hole.timeout_seconds):
            try:
                filling.replies[hole] = await chain.ask(request, report)
            except NoSummaryError:
                return

    with anyio.move_on_after(deadline_seconds):
        async with anyio.create_task_group() as group:
            for hole, request in enumerate(prepared.requests):
                group.start_soon(fill, hole, request)
    filling.seconds = perf_counter() - started


def _finish(prepared: _Prepared, filling: _Filling) -> CompactionResult | Skip:
    """Fill by rule what is still open, then apply."""
    by_rule = perf_counter()
    for hole, request in enumerate(prepared.requests):
        if hole not in filling.replies:
            filling.replies[hole] = _write_by_rule(hole, request, filling.attempts)
    replies = [filling.replies[hole] for hole in range(len(prepared.requests))]
    started = perf_counter()
    applied = apply_opened(prepared.transcript, prepared.plan, prepared.opened, [reply.text for _, reply in replies])
    if isinstance(applied, Skip):
        return applied
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


def _write_by_rule(hole: int, request: SummaryRequest, attempts: list[Attempt]) -> tuple[str, SummaryReply]:
    for writer in _BY_RULE:
        try:
            verdict = judge(SummaryReply(writer.write(request)), request, BY_RULE)
        except Exception as error:  # noqa: BLE001  # a fault in the rules must not cost a turn: the marker is left
            attempts.append(Attempt(writer.name, "failed", hole, f"{type(error).__name__}: {error}"))
            continue
        attempts.append(Attempt(writer.name, verdict.outcome, hole))
        if verdict.text is not None:
            return writer.name, SummaryReply(verdict.text)
    # The plan left room for a marker; a request made by hand may not have.
    return Marker().name, SummaryReply(Marker().write(request))


def _result(applied: Applied, prepared: _Prepared, filling: _Filling, timings: Timings) -> CompactionResult:
    return CompactionResult(
        transcript=applied.transcript,
        plan=applied.plan,
        before=applied.before,
        after=applied.after,
        findings=applied.findings,
        prefix=applied.prefix,
        identifiers=applied.identifiers,
        task_kept=applied.task_kept,
        summary=applied.summary,
        summary_role=applied.summary_role,
        method=filling.replies[0][0] if prepared.requests else None,
        usage=sum((attempt.usage for attempt in filling.attempts), NO_USAGE),
        attempts=tuple(filling.attempts),
        timings=timings,
    )


def _in_event_loop() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True
