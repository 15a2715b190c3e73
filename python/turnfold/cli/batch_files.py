"""Compacts the transcripts of many files side by side, each file in the order it was read, journaled as it goes."""

import contextlib
import hashlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from time import perf_counter
from typing import Final

import anyio.to_thread
import msgspec

from turnfold.batch.compact import compact_batch
from turnfold.batch.items import BatchEntry, BatchItem, BatchLimits
from turnfold.batch.journal import FileState, Journal, JournaledDocument, JournaledFile
from turnfold.cli.batch_totals import Totals
from turnfold.cli.compaction import (
    Compacted,
    CompactRecord,
    Instructions,
    Opened,
    Outcome,
    conclude,
    failed_record,
    failure_of,
    open_log,
)
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, InputFile, read_file, table_of
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile, move, part_of
from turnfold.cli.rewriting import read_target
from turnfold.errors import JournalError
from turnfold.model.plan import Skip
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers.protocol import Summarizer

_CHECKPOINT_DOCUMENTS: Final = 200
_CHECKPOINT_SECONDS: Final = 0.5
"""A checkpoint is made after so many documents, or so long: what lies behind it is done again after a kill."""

READ_AHEAD: Final = 16


@dataclass(slots=True)
class FileRun:
    """One file in work. `skip` documents of it are done already. It is `unread` where reading it ended with a fault,
    and `lost` where its output could not be written: the rest of it is passed over.
    """

    target: Target
    journaled: JournaledFile
    part: PartFile | None = None
    skip: int = 0
    written: bool = False
    failed: bool = False
    unread: bool = False
    lost: bool = False
    read_bytes: int = 0
    waiting: list[JournaledDocument] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Where its output goes."""
        if self.target.path is None:
            raise ValueError("a batch does not write to stdout")
        return self.target.path


@dataclass(frozen=True, slots=True)
class Task:
    """What the reader hands on: a document of a file, a fault in reading it, or, with neither, its end.

    `opened` is what was read of a log; a `failure` says why it could not be.
    """

    run: FileRun
    number: int = 0
    item: Document | Fault | None = None
    opened: Opened | None = None
    failure: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry(BatchEntry):
    """A transcript of a task; `last` says that the task is done with it."""

    task: Task
    last: bool


class _NoTranscriptError(Exception):
    """Stands for a task that has no transcript, in its place."""


class TooManyFailuresError(Exception):
    """More transcripts failed than the run was to bear."""


class OutOfTimeError(Exception):
    """The time of the whole run was up before all was done."""


class BatchRun:
    """One run over `targets`. Iterate `outcomes()` once; `totals` grows meanwhile, and so does `unread`: the records of
    files that could not be read, or written.

    A file whose input is as it was and whose output is in its place is not read again. Of one that was begun, the
    documents that are done are compared with their digests and passed over; where one has changed, the file is begun
    anew.
    """

    def __init__(
        self,
        targets: list[Target],
        instructions: Instructions,
        journal: Journal,
        *,
        limits: BatchLimits,
        summarizer: Summarizer | None = None,
        max_failures: int | None = None,
    ) -> None:
        self._targets = targets
        self._instructions = instructions
        self._journal = journal
        self._limits = limits
        self._summarizer = summarizer
        self._max_failures = max_failures
        self._checkpointed = perf_counter()
        self._open: dict[int, FileRun] = {}
        self._read_all = False
        # Who is cancelled does not wait for the thread that writes just now.
        self._writing = threading.Lock()
        self.totals = Totals()
        self.unread: list[CompactRecord] = []

    async def outcomes(self) -> AsyncGenerator[Outcome, None]:
        """Do the work; what became of each transcript, as its bytes are written. Cancelled, it leaves a checkpoint."""
        begun = perf_counter()
        batch = compact_batch(
            self._entries(),
            self._instructions.policy,
            self._summarizer,
            limits=self._limits,
            ordered=True,
            encoding=self._instructions.encoding,
            model=self._instructions.model,
            state=self._instructions.state,
            replies=self._journal,
        )
        try:
            async with aclosing(batch):
                done: list[BatchItem] = []
                async for item in batch:
                    if item.status == "deadline":
                        raise OutOfTimeError
                    done.append(item)
                    self.totals.reused += item.reused
                    entry = item.item
                    if not isinstance(entry, _Entry) or not entry.last:
                        continue
                    for outcome in await anyio.to_thread.run_sync(self._write, entry.task, done):
                        self.totals.add(outcome[0])
                        yield outcome
                    done = []
                    self.totals.seconds = perf_counter() - begun
                    if self._max_failures is not None and self.totals.failed > self._max_failures:
                        raise TooManyFailuresError
            if not self._read_all:
                raise OutOfTimeError
        finally:
            with self._writing:
                for run in list(self._open.values()):
                    self._leave(run)
            self.totals.seconds = perf_counter() - begun

    async def _entries(self) -> AsyncIterator[_Entry]:
        reading = self._read()
        while True:
            some = await anyio.to_thread.run_sync(partial(_some, reading))
            if not some:
                self._read_all = True
                return
            for task in some:
                for entry in self._entries_of(task):
                    yield entry

    def _entries_of(self, task: Task) -> Iterator[_Entry]:
        """The transcripts of a task; what has none is an entry, too, and so keeps its place among the results."""
        item = task.item
        if task.opened is not None and task.opened.transcripts:
            last = len(task.opened.transcripts) - 1
            for place, (_, transcript) in enumerate(task.opened.transcripts):
                yield _Entry(item=transcript, policy=task.opened.policy, task=task, last=place == last)
        elif _is_body(task) and isinstance(item, Document):
            yield _Entry(item=item.data, format=self._instructions.wanted.format, task=task, last=True)
        else:
            yield _Entry(item=_NoTranscriptError(), task=task, last=True)

    def _read(self) -> Iterator[Task]:
        for target in self._targets:
            yield from self._read_target(target)

    def _read_target(self, target: Target) -> Iterator[Task]:
        target, items = read_target(target, self._instructions.wanted)
        journaled = self._journal.claim(target.file.shown, target.shown)
        if journaled is None:
            self.totals.elsewhere += 1
            return
        run = self._begun(FileRun(target, journaled))
        if run is None:
            return
        number = 0
        for number, item in enumerate(items):
            if number < run.skip and isinstance(item, Document):
                self._pass(run, item.read_bytes)
            if number >= run.skip or isinstance(item, Fault):
                yield self._task(run, number, item)
        yield Task(run, number + 1)

    def _pass(self, run: FileRun, read_bytes: int) -> None:
        self.totals.resumed_bytes += read_bytes - run.read_bytes
        run.read_bytes = read_bytes

    def _task(self, run: FileRun, number: int, item: Document | Fault) -> Task:
        if isinstance(item, Fault) or not item.is_log or run.lost:
            return Task(run, number, item)
        try:
            return Task(run, number, item, opened=open_log(item, self._instructions))
        except Exception as error:  # noqa: BLE001  # one file never ends the others
            return Task(run, number, item, failure=failure_of(item, error))

    def _begun(self, run: FileRun) -> FileRun | None:
        """Return the run from where it goes on; None where nothing is left to do."""
        size, time = _state_of(run.target.file)
        known = run.journaled
        unchanged = run.target.file.path is not None and (known.input_size, known.input_mtime_ns) == (size, time)
        if unchanged and known.state == "moving" and not part_of(run.path).exists() and _is_there(run):
            self._journal.set_state(known, "done", known.output_size)
            self._recall(run)
            self._pass(run, size or 0)
            return None
        if unchanged and known.state == "done" and (_is_there(run) or not known.output_size):
            self._recall(run)
            self._pass(run, size or 0)
            return None
        if known.documents and run.target.file.path is not None and known.state != "done" and self._holds(run):
            with contextlib.suppress(OSError):
                # All of a part file that is to be moved is done; of a table its size is not the output's.
                grown = part_of(run.path).stat().st_size if known.state == "moving" else known.output_size
                run.part = self._part(run, grown)
                run.skip = known.documents
                self._recall(run)
                return run
        run.journaled = self._journal.begin(known, size, time)
        return run

    def _holds(self, run: FileRun) -> bool:
        """Whether the documents that are done are those of the input."""
        documents = islice(read_file(run.target.file, self._instructions.wanted), run.journaled.documents)
        pairs = zip_longest(documents, self._journal.keys(run.journaled))
        return all(isinstance(document, Document) and key == _key(document) for document, key in pairs)

    def _recall(self, run: FileRun) -> None:
        for document in self._journal.documents(run.journaled):
            self.totals.resumed += 1
            records = msgspec.json.decode(document.records, type=list[CompactRecord])
            for record in records:
                self.totals.add(record)
            run.failed = run.failed or any(record.status == "failed" for record in records)
            run.written = run.written or any(record.status != "failed" for record in records)

    def _write(self, task: Task, done: Sequence[BatchItem]) -> list[Outcome]:
        with self._writing:
            return self._written(task, done)

    def _written(self, task: Task, done: Sequence[BatchItem]) -> list[Outcome]:
        run, item = task.run, task.item
        if run.lost:
            return []
        self._open[run.journaled.id] = run
        if isinstance(item, Fault):
            run.failed = run.unread = True
            return [self._lost(failed_record(item), item)]
        try:
            if item is None:
                self._finish(run)
                return []
            return self._add(task, item, *_concluded(task, item, done))
        except OSError as error:
            run.lost = True
            self._open.pop(run.journaled.id, None)
            self._leave(run)
            fault = fault_of_os_error(run.target.shown, None, error)
            record = msgspec.structs.replace(failed_record(fault), path=run.target.file.shown)
            return [self._lost(record, fault)]

    def _lost(self, record: CompactRecord, fault: Fault) -> Outcome:
        """Note what is in no row of the journal, so that the next run tries it again."""
        self.unread.append(record)
        return record, fault

    def _add(self, task: Task, item: Document, outcomes: list[Outcome], body: bytes | None) -> list[Outcome]:
        run = task.run
        if run.part is None:
            run.part = self._part(run)
        if outcomes:
            run.written, run.failed = run.written or body is not None, run.failed or body is None
        if body is not None or (item.layout == "jsonl" and not item.is_log):
            run.part.write((body or b"") + item.ending)
        records = [record for record, _ in outcomes]
        run.waiting.append(JournaledDocument(task.number, _key(item), msgspec.json.encode(records)))
        self.totals.documents += 1
        self.totals.bytes += len(item.data)
        self.totals.read_bytes += item.read_bytes - run.read_bytes
        run.read_bytes = item.read_bytes
        late = perf_counter() - self._checkpointed > _CHECKPOINT_SECONDS
        if late or len(run.waiting) >= _CHECKPOINT_DOCUMENTS:
            self._checkpoint(run)
        return outcomes

    def _checkpoint(self, run: FileRun) -> None:
        size = None if run.part is None else run.part.settled()
        if size is None:
            return
        self._journal.checkpoint(run.journaled, run.waiting, size)
        run.waiting.clear()
        self._checkpointed = perf_counter()

    def _finish(self, run: FileRun) -> None:
        del self._open[run.journaled.id]
        self.totals.files += 1
        # What could not be read may be readable the next time: that file is never done.
        ended: FileState = "open" if run.unread else "done"
        if run.failed and not run.written:
            if run.part is not None:
                run.part.discard()
            self._journal.checkpoint(run.journaled, run.waiting, 0)
            self._journal.set_state(run.journaled, ended, 0)
            return
        part = run.part = run.part or self._part(run)
        size = part.finish()
        run.part = None
        self._journal.checkpoint(run.journaled, run.waiting, part.size)
        self._journal.set_state(run.journaled, "moving", size)
        move(run.path)
        self._journal.set_state(run.journaled, ended, size)

    def _part(self, run: FileRun, size: int = 0) -> PartFile:
        return PartFile(run.path, size, table_of(run.target.file, self._instructions.wanted))

    def _leave(self, run: FileRun) -> None:
        """Keep what is done of a file for a run that goes on."""
        if run.part is not None:
            with contextlib.suppress(OSError, JournalError):
                self._checkpoint(run)
            run.part.close()


def _is_body(task: Task) -> bool:
    """Whether the task is one transcript as it is sent, and has to be done."""
    item = task.item
    return isinstance(item, Document) and not item.is_log and not task.run.lost and not _is_gap(item)


def _is_gap(item: Document) -> bool:
    return item.blank and item.layout == "jsonl"


def _concluded(task: Task, item: Document, done: Sequence[BatchItem]) -> tuple[list[Outcome], bytes | None]:
    """Return the records of a document, and the bytes to write: None where every transcript of it failed."""
    if _is_gap(item):
        return [], item.data
    if task.failure is not None:
        return [task.failure], None
    log = None if task.opened is None else task.opened.log
    named = [item] if task.opened is None else [document for document, _ in task.opened.transcripts]
    compacted = [
        Compacted(document, one.transcript, _outcome_of(one), one.seconds)
        for document, one in zip(named, done, strict=False)
    ]
    try:
        return conclude(item, log, compacted, task.run.target)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  # one document never ends the others
        return [failure_of(item, error)], None


def _outcome_of(one: BatchItem) -> CompactionResult | Skip | Exception:
    if one.result is not None:
        return one.result
    return one.error or RuntimeError(f"the item ended as {one.status}")


def _some(tasks: Iterator[Task]) -> list[Task]:
    """The next few tasks, fewer where they are large: a thread is entered once for them."""
    found: list[Task] = []
    room = 1 << 18
    for task in tasks:
        found.append(task)
        room -= len(task.item.data) if isinstance(task.item, Document) else 0
        if room <= 0 or len(found) == READ_AHEAD:
            break
    return found


def _key(document: Document) -> bytes:
    digest = hashlib.blake2b(document.data, digest_size=16)
    digest.update(document.ending)
    return digest.digest()


def _state_of(file: InputFile) -> tuple[int | None, int | None]:
    try:
        state = None if file.path is None else file.path.stat()
    except OSError:
        state = None
    return (None, None) if state is None else (state.st_size, state.st_mtime_ns)


def _is_there(run: FileRun) -> bool:
    try:
        return run.path.stat().st_size == run.journaled.output_size
    except OSError:
        return False
