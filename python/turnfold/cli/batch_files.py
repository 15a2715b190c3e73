"""Compacts the transcripts of many files side by side, each file in the order it was read, journaled as it goes."""

import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from time import perf_counter
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from turnfold.batch.journal import FileState, Journal, JournaledDocument, JournaledFile
from turnfold.batch.pump import Pump
from turnfold.cli.compaction import CompactRecord, Instructions, Outcome, compact_document, failed_record
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, InputFile, read_file
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile, move, part_of
from turnfold.cli.rewriting import read_target
from turnfold.errors import JournalError, TurnfoldError

_CHECKPOINT_DOCUMENTS: Final = 200
_CHECKPOINT_SECONDS: Final = 0.5
"""A checkpoint is made after so many documents, or so long: what lies behind it is done again after a kill."""

_READ_AHEAD: Final = 16


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
    waiting: list[JournaledDocument] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Where its output goes."""
        if self.target.path is None:
            raise ValueError("a batch does not write to stdout")
        return self.target.path


@dataclass(frozen=True, slots=True)
class Task:
    """What the reader hands on: a document of a file, a fault in reading it, or, with neither, its end."""

    run: FileRun
    number: int = 0
    item: Document | Fault | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A task with what became of it: the bytes to write, None where every transcript failed."""

    task: Task
    outcomes: list[Outcome] = field(default_factory=list)
    body: bytes | None = None
    key: bytes = b""


@dataclass(slots=True)
class Totals:
    """What a run has come to. `resumed` counts documents that an earlier run had done."""

    files: int = 0
    documents: int = 0
    bytes: int = 0
    resumed: int = 0
    elsewhere: int = 0
    failed: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    tokens_before: int = 0
    tokens_after: int = 0
    seconds: float = 0.0

    def add(self, record: CompactRecord) -> None:
        """Count one transcript."""
        self.statuses[record.status] += 1
        self.failed += record.status == "failed"
        if record.reason is not None:
            self.reasons[record.reason] += 1
        if record.tokens is not None:
            self.tokens_before += record.tokens.before
            self.tokens_after += record.tokens.after


class TooManyFailuresError(Exception):
    """More transcripts failed than the run was to bear."""


class BatchRun:
    """One run over `targets`. Iterate `outcomes()` once; `totals` grows meanwhile.

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
        concurrency: int,
        max_failures: int | None,
    ) -> None:
        self._targets = targets
        self._instructions = instructions
        self._journal = journal
        self._concurrency = concurrency
        self._max_failures = max_failures
        self._checkpointed = perf_counter()
        self._open: dict[int, FileRun] = {}
        self.totals = Totals()

    async def outcomes(self) -> AsyncGenerator[Outcome, None]:
        """Do the work; what became of each transcript, as its bytes are written. Cancelled, it leaves a checkpoint."""
        begun = perf_counter()
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def work(_index: int, task: Task) -> Done:
            return await anyio.to_thread.run_sync(self._work, task, limiter=limiter)

        pump = Pump(
            self._tasks(),
            work,
            at_once=self._concurrency,
            ahead=_READ_AHEAD,
            ordered=True,
            take_until=float("inf"),
        )
        try:
            async with pump.started():
                while (done := await pump.next()) is not None:
                    for outcome in self._write(done):
                        self.totals.add(outcome[0])
                        yield outcome
                    self.totals.seconds = perf_counter() - begun
                    if self._max_failures is not None and self.totals.failed > self._max_failures:
                        raise TooManyFailuresError
        finally:
            for run in list(self._open.values()):
                self._leave(run)
            self.totals.seconds = perf_counter() - begun

    async def _tasks(self) -> AsyncIterator[Task]:
        reading = self._read()
        while True:
            some = await anyio.to_thread.run_sync(partial(_some, reading))
            if not some:
                return
            for task in some:
                yield task

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
            if number >= run.skip or isinstance(item, Fault):
                yield Task(run, number, item)
        yield Task(run, number + 1)

    def _begun(self, run: FileRun) -> FileRun | None:
        """Return the run from where it goes on; None where nothing is left to do."""
        size, time = _state_of(run.target.file)
        known = run.journaled
        unchanged = run.target.file.path is not None and (known.input_size, known.input_mtime_ns) == (size, time)
        if unchanged and known.state == "moving" and not part_of(run.path).exists() and _is_there(run):
            self._journal.set_state(known, "done", known.output_size)
            self._recall(run)
            return None
        if unchanged and known.state == "done" and (_is_there(run) or not known.output_size):
            self._recall(run)
            return None
        if known.documents and run.target.file.path is not None and known.state != "done" and self._holds(run):
            with contextlib.suppress(OSError):
                run.part = PartFile(run.path, known.output_size)
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

    def _work(self, task: Task) -> Done:
        item = task.item
        if not isinstance(item, Document) or task.run.lost:
            return Done(task)
        if item.blank and item.layout == "jsonl":
            return Done(task, body=item.data, key=_key(item))
        try:
            outcomes, body = compact_document(item, task.run.target, self._instructions)
        except Exception as error:  # noqa: BLE001  # one transcript never ends the others
            fault = _unforeseen(item, error)
            outcomes, body = [(failed_record(fault), fault)], None
        return Done(task, outcomes, body, _key(item))

    def _write(self, done: Done) -> list[Outcome]:
        run, item = done.task.run, done.task.item
        if run.lost:
            return []
        self._open[run.journaled.id] = run
        if isinstance(item, Fault):
            run.failed = run.unread = True
            return [(failed_record(item), item)]
        try:
            if item is None:
                self._finish(run)
                return []
            return self._add(run, item, done)
        except OSError as error:
            run.lost = True
            self._open.pop(run.journaled.id, None)
            self._leave(run)
            fault = fault_of_os_error(run.target.shown, None, error)
            return [(msgspec.structs.replace(failed_record(fault), path=run.target.file.shown), fault)]

    def _add(self, run: FileRun, item: Document, done: Done) -> list[Outcome]:
        if run.part is None:
            run.part = PartFile(run.path)
        if done.outcomes:
            run.written, run.failed = run.written or done.body is not None, run.failed or done.body is None
        if done.body is not None or (item.layout == "jsonl" and not item.is_log):
            run.part.write((done.body or b"") + item.ending)
        records = [record for record, _ in done.outcomes]
        run.waiting.append(JournaledDocument(done.task.number, done.key, msgspec.json.encode(records)))
        self.totals.documents += 1
        self.totals.bytes += len(item.data)
        late = perf_counter() - self._checkpointed > _CHECKPOINT_SECONDS
        if late or len(run.waiting) >= _CHECKPOINT_DOCUMENTS:
            self._checkpoint(run)
        return done.outcomes

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
        part = run.part or PartFile(run.path)
        size = part.finish()
        self._journal.checkpoint(run.journaled, run.waiting, size)
        self._journal.set_state(run.journaled, "moving", size)
        move(run.path)
        self._journal.set_state(run.journaled, ended, size)

    def _leave(self, run: FileRun) -> None:
        """Keep what is done of a file for a run that goes on."""
        if run.part is not None:
            with contextlib.suppress(OSError, JournalError):
                self._checkpoint(run)
            run.part.close()


def _unforeseen(item: Document, error: Exception) -> Fault:
    code = error.code if isinstance(error, TurnfoldError) else "internal"
    return Fault(item.file.shown, item.index, code, f"{type(error).__name__}: {error}", "see the message")


def _some(tasks: Iterator[Task]) -> list[Task]:
    """The next few tasks, fewer where they are large: a thread is entered once for them."""
    found: list[Task] = []
    room = 1 << 18
    for task in tasks:
        found.append(task)
        room -= len(task.item.data) if isinstance(task.item, Document) else 0
        if room <= 0 or len(found) == _READ_AHEAD:
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
