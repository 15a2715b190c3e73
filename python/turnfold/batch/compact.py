"""Compacts many transcripts within bounds, in a run that a journal lets go on after a stop."""

import math
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sized
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from turnfold.batch.asking import Summarizers
from turnfold.batch.items import BatchInput, BatchItem
from turnfold.batch.limits import BatchLimits
from turnfold.batch.pump import Pump
from turnfold.batch.remembered import Replies, SharedReplies
from turnfold.batch.worker import Call, Worker
from turnfold.compactor import OnFailure, check_arguments
from turnfold.model.policy import Policy
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.model.state import NO_STATE, PlanState
from turnfold.summarizers.protocol import Summarizer
from turnfold.summarizers.threads import in_thread
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from turnfold.batch.journal import Journal

DEFAULT_LIMITS: Final = BatchLimits()


def compact_batch(
    items: Iterable[BatchInput] | AsyncIterable[BatchInput],
    policy: Policy,
    summarizer: Summarizer | None = None,
    *,
    limits: BatchLimits = DEFAULT_LIMITS,
    journal: "Journal | str | os.PathLike[str] | None" = None,
    ordered: bool = False,
    on_failure: OnFailure = "rules",
    encoding: str | None = None,
    model: str | None = None,
    window_tokens: int | None = None,
    options: ScanOptions = BODY_ONLY,
    state: PlanState = NO_STATE,
    replies: Replies | None = None,
) -> AsyncGenerator[BatchItem, None]:
    """Compact each of `items`, and hand over what became of it: as they are done, or in order.

    Whatever is wrong with one item is its own outcome, and never ends the batch. Items are taken one by one, no more of
    them than `limits` allow to be in work or waiting to be read, so neither an endless source nor a slow reader fills
    the memory. A plain iterable is advanced on the event loop: one that blocks belongs into an async one. An error of
    the source itself is raised after the items before it are handed over.

    `journal`, an open `Journal` or the path of one, remembers each item that is done by the digests of its content and
    of everything else that decides the outcome: policy, options, summarizers by name and model, version. A run with the
    same journal, after whatever ended the first one, hands over what is done from there (`resumed`), asking nobody, and
    does the rest; items that failed or were late are tried again. Of several runs at once each item is done by one; the
    others hand it over as `elsewhere`, or from the journal once it is there. `JournalError` ends the batch. The file
    holds the text of summaries, which may quote the transcript: what is secret in it is secret there.

    Equal requests to a summarizer are made once, by however many items, and their reply is kept in `replies`: by
    default the journal, else memory. Summarizers that write by rule are neither limited nor remembered.

    At the deadline of the batch the rest of a list (or of another sized source) is handed over as `deadline`; of a
    source without a size nothing more is taken. Leaving the loop early stops what is in work: close the iterator
    (`contextlib.aclosing`) to have that done at once. Works on asyncio and on trio.
    """
    if isinstance(items, str | bytes | Transcript) or not isinstance(items, Iterable | AsyncIterable):
        raise TypeError(f"an iterable of transcripts is needed, not {type(items).__name__}")
    check_arguments(policy, summarizer, limits.item_seconds, on_failure)
    call = Call(policy, on_failure, encoding, model, window_tokens, options, state)

    async def run() -> AsyncGenerator[BatchItem, None]:
        deadline = math.inf if limits.deadline_seconds is None else anyio.current_time() + limits.deadline_seconds
        async with _opened(journal) as opened:
            shared = SharedReplies(opened if replies is None else replies)
            worker = Worker(
                call=call,
                summarizers=None if summarizer is None else Summarizers(summarizer, limits, shared),
                limits=limits,
                journal=opened,
                deadline=deadline,
            )
            pump = Pump(
                items,
                worker.work,
                at_once=limits.concurrency,
                ahead=limits.ahead,
                ordered=ordered,
                take_until=math.inf if isinstance(items, Sized) else deadline,
            )
            async with pump.started():
                while (done := await pump.next()) is not None:
                    yield done

    return run()


@asynccontextmanager
async def _opened(journal: "Journal | str | os.PathLike[str] | None") -> "AsyncIterator[Journal | None]":
    if not isinstance(journal, str | os.PathLike):
        yield journal
        return
    from turnfold.batch.journal import Journal

    opened = await in_thread(lambda: Journal(Path(journal)).__enter__())
    try:
        yield opened
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(opened.__exit__, None, None, None)
