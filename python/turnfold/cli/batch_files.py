"""Compacts the transcripts of many files side by side, each file in the order it was read, journaled as it goes."""

import contextlib
import hashlib
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from itertools import islice, zip_longest
from time import perf_counter
from typing import Final

import anyio.to_thread
import msgspec

from turnfold.batch.items import BatchLimits
from turnfold.batch.journal import FileState, Journal, JournaledDocument
from turnfold.cli.batch_task import Concluded, FileRun, Task
from turnfold.cli.batch_totals import Totals
from turnfold.cli.batch_work import asked, by_rule
from turnfold.cli.compaction import CompactRecord, Instructions, Outcome, failed_record
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, InputFile, read_file, table_of
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile, move, part_of
from turnfold.cli.rewriting import read_target
from turnfold.errors import JournalError
from turnfold.summarizers.protocol import Summarizer

_CHECKPOINT_DOCUMENTS: Final = 200
_CHECKPOINT_SECONDS: Final = 0.5
"""A checkpoint is made after so many documents, or so long: what lies behind it is done again after a kill."""


class TooManyFailuresError(Exception):
    """More transcripts failed than the run was to bear."""


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
        processes: int = 0,
        summarizer: Summarizer | None = None,
        max_failures: int | None = None,
    ) -> None:
        self._targets = targets
        self._instructions = instructions
        self._journal = journal
        self._limits = limits
        self._processes = processes
        self._summarizer = summarizer
        self._max_failures = max_failures
        self._checkpointed = perf_counter()
        self._open: dict[int, FileRun] = {}
        # Who is cancelled does not wait for the thread that writes just now.
        self._writing = threading.Lock()
        self.totals = Totals()
        self.unread: list[CompactRecord] = []

    async def outcomes(self) -> AsyncGenerator[Outcome, None]:
        """Do the work; what became of each transcript, as its bytes are written. Cancelled, it leaves a checkpoint."""
        begun = perf_counter()
        try:
            async with aclosing(self._concluded()) as concluded:
                async for one in concluded:
                    self.totals.reused += one.reused
                    for outcome in await anyio.to_thread.run_sync(self._write, one):
                        self.totals.add(outcome[0])
                        yield outcome
                    self.totals.seconds = perf_counter() - begun
                    if self._max_failures is not None and self.totals.failed > self._max_failures:
                        raise TooManyFailuresError
        finally:
            with self._writing:
                for run in list(self._open.values()):
                    self._leave(run)
            self.totals.seconds = perf_counter() - begun

    def _concluded(self) -> AsyncGenerator[Concluded, None]:
        if self._summarizer is None:
            return by_rule(self._read(), self._instructions, self._limits, processes=self._processes)
        return asked(self._read(), self._instructions, self._limits, self._summarizer, self._journal)

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
                yield Task(run, number, item)
        yield Task(run, number + 1)

    def _pass(self, run: FileRun, read_bytes: int) -> None:
        self.totals.resumed_bytes += read_bytes - run.read_bytes
        run.read_bytes = read_bytes

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

    def _write(self, done: Concluded) -> list[Outcome]:
        with self._writing:
            return self._written(done)

    def _written(self, done: Concluded) -> list[Outcome]:
        run, item = done.task.run, done.task.item
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
            return self._add(done, item)
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

    def _add(self, done: Concluded, item: Document) -> list[Outcome]:
        run, outcomes, body = done.task.run, done.outcomes, done.body
        if run.part is None:
            run.part = self._part(run)
        if outcomes:
            run.written, run.failed = run.written or body is not None, run.failed or body is None
        if body is not None or (item.layout == "jsonl" and not item.is_log):
            run.part.write((body or b"") + item.ending)
        records = [record for record, _ in outcomes]
        run.waiting.append(JournaledDocument(done.task.number, _key(item), msgspec.json.encode(records)))
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
