"""The one path of a compaction: plan, ask for summaries side by side within a deadline, apply, judge."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import cache as cached
from time import perf_counter
from typing import Final, Literal, TypeVar, get_args

import anyio
from msgspec import structs

from turnfold import checks
from turnfold.by_rule import Filling, check_policy, compact_by_rule, ended, finish
from turnfold.errors import ArgumentError, NoSummaryError, RunningLoopError
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.result import Attempt
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.model.summary import SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.planning.prepared import Prepared, prepare
from turnfold.planning.reports import tell_started, told
from turnfold.planning.request import live_request
from turnfold.prompts.appended import render_appended
from turnfold.summarizers.asked import is_asked
from turnfold.summarizers.covering import Cuts, ask_whole
from turnfold.summarizers.detached import any_left_behind
from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.pieces import room_of
from turnfold.summarizers.progress import Progress
from turnfold.summarizers.protocol import DEADLINE_SECONDS, Summarizer
from turnfold.summarizers.threads import beside, in_thread
from turnfold.telemetry.hub import within
from turnfold.transcript import Transcript, kernel_of

CALLS_AT_ONCE: Final = 8
"""How many summarizer calls of one compaction run side by side where the caller does not say."""

OnFailure = Literal["rules", "skip"]
"""What becomes of a summary that no summarizer gives: it is made by rule, or nothing is changed."""

FEW_MESSAGES: Final = 64
_LARGE: Final = 1 << 40
_COUNTED_BY: Final[set[tuple[str | None, str | None]]] = set()
"""Encodings and models whose vocabulary is loaded: a first count takes a hundred milliseconds, never on the loop."""

_R = TypeVar("_R")


@told
async def compact(
    transcript: Transcript,
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    deadline_seconds: float | None = DEADLINE_SECONDS,
    on_failure: OnFailure = "rules",
    calls: anyio.CapacityLimiter | None = None,
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
) -> CompactionResult | Skip:
    """Compact `transcript` as `policy` says; the input is never changed.

    `summarizer` is asked for each hole of the plan, all side by side, in at most `calls` calls at once (a limiter that
    several compactions may share; 8 where there is none). Where it fails, answers nothing usable, or is not done
    `deadline_seconds` after this call began, the summary is made by rule, and where that does not fit it is a marker:
    a compaction neither hangs nor raises because of a summarizer. With `on_failure="skip"` nothing is changed then: the
    outcome is a `Skip` for `no_summary`, with everything that was tried. Without a summarizer it is made by rule at
    once. A deadline of 0 gives a summarizer no time at all; None waits for as long as it takes.

    The deadline is one for all: waiting for a place, tries, pieces, the members of a chain. At the deadline calls are
    told to stop; one that does not within 0.05 s is left behind. What comes after it (the summary by rule, the splice,
    the judgement) is work of the kernel: `timings.overshoot_seconds` says how long that took.

    Works on asyncio and on trio. Cancellation goes through and leaves nothing behind but a summarizer that swallows it.
    The kernel's work on anything but a small transcript (32 KB) runs in a worker thread, with the interpreter free for
    most of it, so a large transcript does not hold up the event loop.

    Raises only for wrong arguments: see `plan`.
    """
    check_arguments(policy, summarizer, deadline_seconds, on_failure, calls)
    deadline = math.inf if deadline_seconds is None else anyio.current_time() + deadline_seconds
    size_bytes = _size(transcript, encoding, model)
    prepared = await beside(
        size_bytes,
        prepare,
        transcript,
        policy,
        by_rule=summarizer is None,
        encoding=encoding,
        model=model,
        window_tokens=window_tokens,
        options=options,
        state=state,
    )
    _COUNTED_BY.add((encoding, model or transcript.model))
    if isinstance(prepared, Skip):
        return prepared
    tell_started(transcript, policy, prepared.plan, prepared.seconds)
    filling = Filling()
    if summarizer is not None and prepared.requests:
        calls = calls or anyio.CapacityLimiter(CALLS_AT_ONCE)
        await _ask(prepared, Fallback(summarizer), filling, deadline, calls=calls, by_rule=on_failure == "rules")
    skips = (
        on_failure == "skip" and summarizer is not None and len(filling.replies) < sum(map(is_asked, prepared.requests))
    )
    end = _without_summary if skips else finish
    held = [prepared]
    del prepared
    outcome = await beside(size_bytes, ended, end, held, filling)
    over_seconds = max(0.0, anyio.current_time() - deadline)
    if isinstance(outcome, Skip) or not over_seconds:
        return outcome
    return replace(outcome, timings=structs.replace(outcome.timings, overshoot_seconds=over_seconds))


def compact_sync(
    transcript: Transcript,
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    deadline_seconds: float | None = DEADLINE_SECONDS,
    on_failure: OnFailure = "rules",
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
    check_arguments(policy, summarizer, deadline_seconds, on_failure)
    if summarizer is None:
        return compact_by_rule(
            transcript,
            policy,
            encoding=encoding,
            model=model,
            window_tokens=window_tokens,
            options=options,
            state=state,
        )
    if _in_event_loop():
        raise RunningLoopError("compact_sync with a summarizer cannot run inside an event loop: await compact(...)")

    async def run() -> CompactionResult | Skip:
        return await compact(
            transcript,
            policy,
            summarizer,
            deadline_seconds=deadline_seconds,
            on_failure=on_failure,
            encoding=encoding,
            model=model,
            window_tokens=window_tokens,
            options=options,
            state=state,
        )

    return _run_alone(run)


def _size(transcript: Transcript, encoding: str | None, model: str | None) -> int:
    """Return the bytes of a small transcript that can be counted at once; `_LARGE` for any other."""
    kernel_of(transcript)  # raises for what is none
    if len(transcript) > FEW_MESSAGES:
        return _LARGE
    return len(transcript.to_json()) if (encoding, model or transcript.model) in _COUNTED_BY else _LARGE


def check_arguments(
    policy: Policy,
    summarizer: Summarizer | None,
    deadline_seconds: float | None,
    on_failure: OnFailure,
    calls: anyio.CapacityLimiter | None = None,
) -> None:
    """Raise for arguments that are wrong for any transcript."""
    check_policy(policy)
    if summarizer is not None and (isinstance(summarizer, type) or not hasattr(summarizer, "summarize")):
        raise TypeError(f"{summarizer!r} has no method `summarize`: wrap a function in turnfold.summarizers.Function")
    if deadline_seconds is not None and not deadline_seconds >= 0:
        raise ArgumentError(f"deadline_seconds must be at least 0, got {deadline_seconds}")
    if on_failure not in get_args(OnFailure):
        raise ArgumentError(f"on_failure must be 'rules' or 'skip', got {on_failure!r}")
    if calls is not None and not isinstance(calls, anyio.CapacityLimiter):
        raise TypeError(f"calls must be a limiter, as in anyio.CapacityLimiter(4), not {type(calls).__name__}")


async def _ask(
    prepared: Prepared,
    chain: Fallback,
    filling: Filling,
    deadline: float,
    *,
    calls: anyio.CapacityLimiter,
    by_rule: bool,
) -> None:
    """Fill as many holes as `chain` can before the deadline."""
    started = perf_counter()
    points = cached(lambda: checks.split_points(prepared.transcript, prepared.plan.options))
    cuts = Cuts(lambda index: index in points(), prepared.transcript.identifiers)

    async def fill(hole: int, request: SummaryRequest) -> None:
        def report(attempt: Attempt) -> None:
            filling.attempts.append(structs.replace(attempt, hole=hole))

        with within(hole=hole), anyio.move_on_after(prepared.opened[hole].hole.timeout_seconds):
            try:
                filling.replies[hole] = await ask_whole(
                    chain,
                    request,
                    cuts,
                    report,
                    calls=calls,
                    progress=filling.progress.setdefault(hole, Progress()),
                    by_rule=by_rule,
                )
            except NoSummaryError:
                return
            except (KeyboardInterrupt, SystemExit) as stop:
                # Raised here it would reach the caller wrapped in a group, or tear down the loop around it.
                filling.stopped_by = stop
                everything.cancel()

    with anyio.CancelScope(deadline=deadline) as everything:
        requests = prepared.requests
        if chain.appends:
            requests = await in_thread(_with_live, prepared, chain)
        asked = [(hole, request) for hole, request in enumerate(requests) if is_asked(request)]
        if len(asked) == 1:
            # A task of its own would cost a fifth of all that a small compaction does.
            await fill(*asked[0])
        else:
            async with anyio.create_task_group() as group:
                for hole, request in asked:
                    group.start_soon(fill, hole, request)
    if filling.stopped_by is not None:
        raise filling.stopped_by
    tried = {attempt.hole for attempt in filling.attempts}
    unasked = [hole for hole, request in enumerate(prepared.requests) if is_asked(request) and hole not in tried]
    for member in chain.members[:1]:
        filling.attempts += [Attempt(member.name, "deadline", hole, "its turn had not come") for hole in unasked]
    filling.seconds = perf_counter() - started


def _with_live(prepared: Prepared, chain: Fallback) -> tuple[SummaryRequest, ...]:
    def with_live(request: SummaryRequest) -> SummaryRequest:
        room = room_of(chain, request)
        live = live_request(
            prepared.transcript,
            render_appended(request),
            prepared.plan.options,
            None if room is None else room.limit_tokens,
        )
        return request if live is None else structs.replace(request, live=live.to_json())

    return tuple(with_live(request) if is_asked(request) else request for request in prepared.requests)


def _without_summary(prepared: Prepared, filling: Filling) -> Skip:
    attempts = filling.attempts
    why = f"; the last try ended with {attempts[-1].outcome}" if attempts else ": the chain has no member"
    text = f"No summarizer gave a summary that can be used{why}."
    return Skip("no_summary", text, prepared.plan.before, attempts=tuple(attempts))


def _run_alone(run: Callable[[], Coroutine[object, object, _R]]) -> _R:
    """Run in a loop of its own, which does not wait for calls that were left behind."""
    runner = asyncio.Runner()
    try:
        return runner.run(run())
    finally:
        if any_left_behind(runner.get_loop()):
            runner.get_loop().close()
        else:
            runner.close()


def _in_event_loop() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True
