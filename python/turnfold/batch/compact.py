"""Compacts many transcripts within bounds: so many at once, so many ahead of who reads, so long in all."""

import math
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Final, Literal

import anyio
import msgspec

from turnfold.batch.pump import Pump
from turnfold.compactor import DEADLINE_SECONDS, OnFailure, compact
from turnfold.errors import ArgumentError
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.threads import SMALL_BYTES, beside
from turnfold.transcript import Message, Transcript

BatchInput = Transcript | bytes | Sequence[Message]
"""A transcript, a request body, or a list of messages."""

BatchStatus = Literal["compacted", "skipped", "failed", "deadline"]
"""What became of an item.

`compacted`: `result` has the new transcript; `skipped`: nothing was done, and `result` says why; `failed`: `error` was
raised; `deadline`: the batch's time was up before it was done, or begun.
"""


class BatchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a batch may do at once, and for how long.

    `concurrency` items are worked on at once, and `calls` summarizer calls (as many where it is None) run at once over
    all of them. At most `ahead` results wait for who reads them, then no further item is taken. An item has
    `item_seconds`, the whole batch `deadline_seconds`: None is no limit. At the batch's deadline items in work end as
    at their own, and no other is begun.
    """

    concurrency: int = 16
    calls: int | None = None
    ahead: int = 16
    item_seconds: float | None = DEADLINE_SECONDS
    deadline_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("concurrency", 1),
            ("calls", 1),
            ("ahead", 0),
            ("item_seconds", 0),
            ("deadline_seconds", 0),
        ):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ArgumentError(f"{name} must be at least {least}, got {value}")


DEFAULT_LIMITS: Final = BatchLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One item of a batch: `index` is its place in the input, `item` what was given, `seconds` how long it took."""

    index: int
    item: BatchInput
    status: BatchStatus
    result: CompactionResult | Skip | None = None
    error: Exception | None = None
    seconds: float = 0.0


def compact_batch(
    items: Iterable[BatchInput] | AsyncIterable[BatchInput],
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    limits: BatchLimits = DEFAULT_LIMITS,
    ordered: bool = False,
    on_failure: OnFailure = "rules",
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
) -> AsyncGenerator[BatchItem, None]:
    """Compact each of `items`, and hand over what became of it: as they are done, or in order.

    Whatever is wrong with one item is its own outcome, and never ends the batch. Items are taken one by one, no more of
    them than `limits` allow to be in work or waiting to be read, so neither an endless source nor a slow reader fills
    the memory. A plain iterable is advanced on the event loop: one that blocks belongs into an async one. An error of
    the source itself is raised after the items before it are handed over.

    At the deadline of the batch the rest of a list (or of another sized source) is handed over as `deadline`; of a
    source without a size nothing more is taken. Leaving the loop early stops what is in work: close the iterator
    (`contextlib.aclosing`) to have that done at once. Works on asyncio and on trio.
    """
    if isinstance(items, str | bytes | Transcript) or not isinstance(items, Iterable | AsyncIterable):
        raise TypeError(f"an iterable of transcripts is needed, not {type(items).__name__}")

    async def run() -> AsyncGenerator[BatchItem, None]:
        deadline = math.inf if limits.deadline_seconds is None else anyio.current_time() + limits.deadline_seconds
        calls = anyio.CapacityLimiter(limits.calls or limits.concurrency)

        async def work(index: int, item: BatchInput) -> BatchItem:
            begun = anyio.current_time()
            if begun >= deadline:
                return BatchItem(index=index, item=item, status="deadline")
            most_seconds = min(deadline - begun, math.inf if limits.item_seconds is None else limits.item_seconds)
            status: BatchStatus
            result: CompactionResult | Skip | None = None
            fault: Exception | None = None
            try:
                result = await compact(
                    item if isinstance(item, Transcript) else await _off_loop(item),
                    policy,
                    summarizer,
                    deadline_seconds=None if most_seconds == math.inf else most_seconds,
                    on_failure=on_failure,
                    calls=calls,
                    encoding=encoding,
                    model=model,
                    window_tokens=window_tokens,
                    options=options,
                )
            except Exception as error:  # noqa: BLE001  # one bad item never stops the rest
                status, fault = "failed", error
            else:
                late = anyio.current_time() >= deadline
                status = "compacted" if isinstance(result, CompactionResult) else "skipped"
                if isinstance(result, Skip) and result.reason == "no_summary" and late:
                    status = "deadline"
            seconds = anyio.current_time() - begun
            return BatchItem(index=index, item=item, status=status, result=result, error=fault, seconds=seconds)

        pump = Pump(
            items,
            work,
            at_once=limits.concurrency,
            ahead=limits.ahead,
            ordered=ordered,
            take_until=math.inf if isinstance(items, Sized) else deadline,
        )
        async with pump.started():
            while (done := await pump.next()) is not None:
                yield done

    return run()


async def _off_loop(item: bytes | Sequence[Message]) -> Transcript:
    return await beside(len(item) if isinstance(item, bytes) else SMALL_BYTES + 1, _read, item)


def _read(item: bytes | Sequence[Message]) -> Transcript:
    given: object = item
    if isinstance(given, bytes):
        return Transcript.from_json(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Transcript.from_messages(given)
    raise TypeError(f"a Transcript, bytes or a list of messages is needed, not {type(given).__name__}")
