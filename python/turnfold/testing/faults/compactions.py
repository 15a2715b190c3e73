"""One compaction, or a batch of them, whose summarizers fail in every way and whose caller may give up at any await."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

import anyio

from turnfold import checks
from turnfold.batch import BatchItem, BatchLimits, compact_batch
from turnfold.compactor import OnFailure, compact
from turnfold.errors import CallFault
from turnfold.model.judgement import ReplyFault
from turnfold.model.plan import KeepRange, Skip, SkipReason, SummaryHole, Tile
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.planning.wrapper import recognise
from turnfold.summarizers import Fallback, Member
from turnfold.summarizers.detached import GRACE_SECONDS
from turnfold.summarizers.pieces import request_tokens
from turnfold.testing.fakes import Scripted
from turnfold.testing.faults.held import TINY_SECONDS, held
from turnfold.testing.faults.interrupted import Interrupted
from turnfold.testing.faults.scripts import random_member, random_transcript, settle
from turnfold.transcript import Transcript

_OUTCOMES: Final = frozenset(
    {"used", "cut_to_cap", "repaired", "deadline", "left_behind", *get_args(ReplyFault), *get_args(CallFault)}
)
_REASONS: Final = frozenset(get_args(SkipReason))
_BAD: Final = b'{"messages": ['


@dataclass(slots=True)
class CompactionSeed:
    """What one seed does."""

    transcript: Transcript
    policy: Policy
    members: list[Scripted]
    chain: Fallback
    on_failure: OnFailure
    deadline_seconds: float | None
    places: int
    cancel_at_await: int | None
    cancel_after_seconds: float | None


async def run_compaction(plan: CompactionSeed) -> str:
    """Run one compaction, and check what it leaves."""
    before = plan.transcript.to_json()
    calls = anyio.CapacityLimiter(plan.places)
    outcome: list[CompactionResult | Skip] = []

    async def run() -> None:
        outcome.append(
            await compact(
                plan.transcript,
                plan.policy,
                plan.chain,
                deadline_seconds=plan.deadline_seconds,
                on_failure=plan.on_failure,
                calls=calls,
            )
        )

    scope = anyio.CancelScope()
    if plan.cancel_after_seconds is not None:
        scope.deadline = plan.cancel_after_seconds
    with scope:
        await (run() if plan.cancel_at_await is None else Interrupted(run(), scope, plan.cancel_at_await))
    _in_time(plan, scope)
    held(plan.transcript.to_json() == before, "the input is what it was")
    held(calls.borrowed_tokens == 0, f"{calls.borrowed_tokens} places were not given back")
    _check_calls(plan, plan.places)
    await settle(plan.members)
    if not outcome:
        held(scope.cancelled_caught, "no outcome, and nobody cancelled")
        return "cancelled"
    return check_outcome(plan.transcript, outcome[0], plan.on_failure)


async def run_batch(plan: CompactionSeed, seed: int) -> str:
    """Run the same over several transcripts, which share the summarizers and their places."""
    chance = random.Random(-seed)  # noqa: S311
    count = chance.randint(1, 6)
    deadline = None if plan.deadline_seconds is None else plan.deadline_seconds * chance.choice([0.5, 1, 3])
    limits = BatchLimits(
        concurrency=chance.randint(1, 4),
        calls=plan.places,
        ahead=chance.randint(0, 3),
        item_seconds=plan.deadline_seconds,
        deadline_seconds=deadline,
    )
    ordered = chance.random() < 0.5
    items = [plan.transcript.to_json() if chance.random() < 0.9 else _BAD for _ in range(count)]
    done: list[BatchItem] = []

    async def run() -> None:
        batch = compact_batch(
            items, plan.policy, plan.chain, limits=limits, ordered=ordered, on_failure=plan.on_failure
        )
        try:
            async for one in batch:
                done.append(one)  # noqa: PERF401  # what came before a cancellation counts
        finally:
            with anyio.CancelScope(shield=True):
                await batch.aclose()

    scope = anyio.CancelScope()
    if plan.cancel_after_seconds is not None:
        scope.deadline = plan.cancel_after_seconds
    with scope:
        await run()
    if deadline is not None:
        held(anyio.current_time() <= deadline + count * GRACE_SECONDS + TINY_SECONDS, "the batch ends at its deadline")
    _check_calls(plan, plan.places)
    await settle(plan.members)
    indexes = [one.index for one in done]
    held(len(set(indexes)) == len(indexes), f"an item came twice: {indexes}")
    if ordered:
        held(indexes == list(range(len(indexes))), f"out of order: {indexes}")
    if not scope.cancelled_caught:
        held(sorted(indexes) == list(range(count)), f"an item is missing: {indexes}")
    for one in done:
        bad = items[one.index] == _BAD
        held((one.status == "failed") == (bad and one.status != "deadline"), f"a bad item is {one.status}")
        if one.result is not None:
            check_outcome(plan.transcript, one.result, plan.on_failure)
    return "batch"


def check_outcome(source: Transcript, outcome: CompactionResult | Skip, on_failure: OnFailure) -> str:
    """Check what must hold of any outcome of compacting `source`; raises `Broken`."""
    for attempt in outcome.attempts:
        held(attempt.outcome in _OUTCOMES, f"an attempt ended with {attempt.outcome!r}")
    if isinstance(outcome, Skip):
        held(outcome.reason in _REASONS, f"skipped for {outcome.reason!r}")
        held(outcome.reason != "no_summary" or on_failure == "skip", "the rules were to make a summary")
        return outcome.reason
    held(checks.scan(outcome.transcript).ok, "the result is valid")
    held(outcome.after.n < outcome.before.n, "the result is smaller")
    held(outcome.coverage.share == 1.0 or outcome.coverage.reason is not None, "coverage is whole, or has a reason")
    check_messages(source, outcome.plan.tiles, outcome.transcript)
    return "rules" if outcome.method in {"rules", "marker"} else "summary"


def check_messages(source: Transcript, tiles: Sequence[Tile], result: Transcript) -> None:
    """Every message is in the result, once and in order, or is one that the summary says it stands for."""
    expected: list[bytes | None] = []
    covered = 0
    for tile in tiles:
        if isinstance(tile, SummaryHole):
            expected.append(None)
            covered += sum(map(len, tile.gone))
            kept: Sequence[object] = tile.kept
        else:
            kept = (tile,)
        for one in kept:
            held(isinstance(one, KeepRange), f"an unexpected tile: {one}")
            if isinstance(one, KeepRange):
                expected.extend(source.message_json(index) for index in range(one.start, one.stop))
    held(len(result) == len(expected), f"{len(result)} messages, {len(expected)} expected")
    for index, wanted in enumerate(expected):
        if wanted is not None:
            held(result.message_json(index) == wanted, f"message {index} is another")
            continue
        wrapped = recognise("\n".join(block.text for block in result.blocks(index)))
        held(wrapped is not None and wrapped.messages == covered, f"the summary says that it covers {wrapped}")
    held(sum(one is not None for one in expected) + covered == len(source), "a message is lost or doubled")


def _in_time(plan: CompactionSeed, scope: anyio.CancelScope) -> None:
    limits = [math.inf if plan.deadline_seconds is None else plan.deadline_seconds]
    if scope.cancelled_caught and plan.cancel_after_seconds is not None:
        limits.append(plan.cancel_after_seconds)
    late = anyio.current_time() - min(limits)
    # Each of two calls at most in a row is waited for a little: the try whose own time is up, then the whole.
    held(late <= 2 * GRACE_SECONDS + TINY_SECONDS, f"{late} s too late")


def _check_calls(plan: CompactionSeed, places: int) -> None:
    for member in plan.members:
        held(member.in_flight == member.refusing, f"{member.in_flight} calls of {member.name} still run")
        held(
            member.most_in_flight <= places + member.refused,
            f"{member.most_in_flight} calls at once, {places} were allowed",
        )
        if member.window_tokens is None:
            continue
        room = member.window_tokens - (member.reserve_tokens or 0)
        for request in member.requests:
            tokens = request_tokens(request)
            held(tokens <= room, f"a request of {tokens} tokens, {room} have room")


def random_compaction(chance: random.Random) -> CompactionSeed:
    """Make up what a seed does."""
    members = [random_member(chance, number) for number in range(chance.choice([1, 1, 1, 2, 3]))]
    chain = Fallback(
        *(
            Member(one, timeout_seconds=chance.choice([None, 2, 5]), tries=chance.choice([1, 1, 1, 2, 3]))
            for one in members
        )
    )
    cancelled = chance.random()
    return CompactionSeed(
        transcript=random_transcript(chance),
        policy=Policy(
            OnRequest(),
            (Summarize(KeepMessages(chance.randint(1, 3)), max_tokens=chance.choice([400, 900]), task_max_tokens=40),),
            name="faults",
        ),
        members=members,
        chain=chain,
        on_failure=chance.choice(["rules", "rules", "skip"]),
        deadline_seconds=chance.choice([0, 0.5, 3, 10, 30, 30]),
        places=chance.randint(1, 5),
        cancel_at_await=chance.randint(0, 25) if cancelled < 0.3 else None,
        cancel_after_seconds=chance.choice([0.5, 2.0, 3.0, 7.0]) if 0.3 <= cancelled < 0.45 else None,
    )
