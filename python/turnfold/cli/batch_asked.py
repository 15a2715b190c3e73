"""How the transcripts of a batch are compacted with the summaries of a model, and handed over in their order."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from turnfold.batch.compact import compact_batch
from turnfold.batch.items import BatchEntry, BatchItem
from turnfold.batch.limits import BatchLimits
from turnfold.batch.remembered import Replies
from turnfold.cli.batch_made import Made, made_of, unread
from turnfold.cli.batch_task import Concluded, Task
from turnfold.cli.batch_work import Few, OutOfTimeError, unworked
from turnfold.cli.compaction import Compacted, Opened, conclude, failure_of, open_log
from turnfold.cli.extents import Extent, Fetching
from turnfold.cli.inputs import Document, recognised
from turnfold.cli.instructions import Instructions
from turnfold.model.plan import Skip
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers.protocol import Summarizer


@dataclass(frozen=True, slots=True)
class _Read:
    """A task, its document if there is work on it, and what was read of it where it is a log.

    `made` is what came of one that could not be read.
    """

    task: Task
    document: Document | None
    opened: Opened | None = None
    made: Made | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry(BatchEntry):
    """A transcript of a task; `last` says that the task is done with it."""

    read: _Read
    last: bool


class _NoTranscriptError(Exception):
    """Stands for a task that has no transcript, in its place."""


async def asked(
    tasks: Iterator[Task], instructions: Instructions, limits: BatchLimits, summarizer: Summarizer, replies: Replies
) -> AsyncGenerator[list[Concluded], None]:
    """Compact with the summaries of a model. Raises `OutOfTimeError` where some tasks were left at the deadline."""
    few = Few(tasks)
    batch = compact_batch(
        _entries(few, instructions),
        instructions.policy,
        summarizer,
        limits=limits,
        ordered=True,
        encoding=instructions.encoding,
        model=instructions.model,
        state=instructions.state,
        replies=replies,
    )
    async with aclosing(batch):
        done: list[BatchItem] = []
        async for item in batch:
            if item.status == "deadline":
                raise OutOfTimeError
            done.append(item)
            entry = item.item
            if isinstance(entry, _Entry) and entry.last:
                made = await anyio.to_thread.run_sync(_concluded, entry.read, done)
                yield [Concluded(entry.read.task, made, reused=sum(one.reused for one in done))]
                done = []
    if not few.all_read:
        raise OutOfTimeError


async def _entries(few: Few, instructions: Instructions) -> AsyncIterator[_Entry]:
    while (some := await anyio.to_thread.run_sync(next, few, None)) is not None:
        for read in await anyio.to_thread.run_sync(partial(_read, some, instructions)):
            for entry in _entries_of(read, instructions):
                yield entry


def _read(some: Sequence[Task], instructions: Instructions) -> list[_Read]:
    with Fetching() as fetching:
        return [_read_one(task, instructions, fetching) for task in some]


def _read_one(task: Task, instructions: Instructions, fetching: Fetching) -> _Read:
    given = task.work
    if given is None:
        return _Read(task, None)
    try:
        document = fetching.document(given) if isinstance(given, Extent) else given
    except OSError as error:
        return _Read(task, None, made=unread(given, error))
    try:
        document = recognised(document, instructions.wanted)
        return _Read(task, document, open_log(document, instructions) if document.is_log else None)
    except Exception as error:  # noqa: BLE001  # one file never ends the others
        return _Read(task, document, made=made_of(document, [failure_of(document, error)], None))


def _entries_of(read: _Read, instructions: Instructions) -> Iterator[_Entry]:
    """The transcripts of a task; what has none is an entry, too, and so keeps its place among the results."""
    document = read.document
    if read.opened is not None and read.opened.transcripts:
        last = len(read.opened.transcripts) - 1
        for place, (_, transcript) in enumerate(read.opened.transcripts):
            yield _Entry(item=transcript, policy=read.opened.policy, read=read, last=place == last)
    elif document is not None and not document.is_log and read.made is None:
        yield _Entry(item=document.data, format=instructions.wanted.format, read=read, last=True)
    else:
        yield _Entry(item=_NoTranscriptError(), read=read, last=True)


def _concluded(read: _Read, done: Sequence[BatchItem]) -> Made:
    """Return the records of a document, and the bytes to write: None where every transcript of it failed."""
    document = read.document
    if read.made is not None:
        return read.made
    if document is None:
        return unworked(read.task)
    log = None if read.opened is None else read.opened.log
    named = [document] if read.opened is None else [one for one, _ in read.opened.transcripts]
    compacted = [
        Compacted(logged, one.transcript, _outcome_of(one), one.seconds)
        for logged, one in zip(named, done, strict=False)
    ]
    body = done[0].transcript if log is None else None
    try:
        return made_of(document, *conclude(document, log, compacted, read.task.run.target), body)
    except Exception as error:  # noqa: BLE001  # one document never ends the others
        return made_of(document, [failure_of(document, error)], None, body)


def _outcome_of(one: BatchItem) -> CompactionResult | Skip | Exception:
    if one.result is not None:
        return one.result
    return one.error or RuntimeError(f"the item ended as {one.status}")
