"""Compacts the transcripts of many files side by side, each file in the order it was read, journaled as it goes."""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from time import perf_counter
from typing import Final

import msgspec

from turnfold.batch.journal import Journal, JournaledDocument
from turnfold.cli.batch_made import NO_RECORDS, has_key
from turnfold.cli.batch_task import Concluded, FileRun, InputState, Task
from turnfold.cli.batch_totals import Totals, counted_of
from turnfold.cli.batch_work import FEW_BYTES, FEW_DOCUMENTS
from turnfold.cli.compact_record import CompactRecord, failed_record
from turnfold.cli.extents import Extent, read_extents
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, InputFile, read_file, table_of
from turnfold.cli.instructions import Instructions
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile, move, part_of, settle
from turnfold.cli.rewriting import read_target
from turnfold.errors import JournalError

_CHECKPOINT_DOCUMENTS: Final = 200
_CHECKPOINT_SECONDS: Final = 0.5
"""A checkpoint is made after so many documents, or so long: what lies behind it is done again after a kill."""


class Reported(msgspec.Struct, frozen=True):
    """What is said of a document: the JSON array of its records, and the faults of those that failed."""

    records: bytes
    faults: tuple[Fault, ...] = ()


class TooManyFailuresError(Exception):
    """More transcripts failed than the run was to bear."""


class BatchRun:
    """One run over `targets`: `tasks` are what is to do, and `write` takes what came of them, in their order, while it
    is `under_way`. `totals` grows meanwhile, and so does `unread`: the records of files that could not be read, or
    written.

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
        max_failures: int | None = None,
    ) -> None:
        self._targets = targets
        self._instructions = instructions
        self._journal = journal
        self._max_failures = max_failures
        self._begun = self._checkpointed = perf_counter()
        self._open: dict[int, FileRun] = {}
        self._whole: list[tuple[FileRun, int, int]] = []
        # Who is cancelled does not wait for the thread that writes just now.
        self._writing = threading.Lock()
        self.totals = Totals()
        self.unread: list[CompactRecord] = []

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Write while inside; the way out, whichever it is, leaves a checkpoint."""
        self._begun = perf_counter()
        try:
            yield
        finally:
            with self._writing:
                for run in list(self._open.values()):
                    self._leave(run)
            self.totals.seconds = perf_counter() - self._begun

    def check_failures(self) -> None:
        """Raise `TooManyFailuresError` where more have failed than the run is to bear."""
        if self._too_many_failed():
            raise TooManyFailuresError

    def _too_many_failed(self) -> bool:
        return self._max_failures is not None and self.totals.failed > self._max_failures

    def tasks(self) -> Iterator[Task]:
        """Read the inputs: each document, each fault in reading, and the end of each file."""
        for some in _few(self._targets):
            # stdin has a name, and so a row, once its first document is read.
            opened = [self._opened(target) for target in some]
            with self._journal.together():
                claimed = [self._claimed(target) for target, _ in opened]
            for run, (_, items) in zip(claimed, opened, strict=True):
                if run is not None and self._goes_on(run):
                    yield from self._read_run(run, items)

    def _opened(self, target: Target) -> tuple[Target, Iterator[Document | Extent | Fault]]:
        if target.file.path is None:
            return read_target(target, self._instructions.wanted, recognise=False)
        return target, read_extents(target.file, self._instructions.wanted)

    def _claimed(self, target: Target) -> FileRun | None:
        journaled = self._journal.claim(target.file.shown, target.shown)
        if journaled is None:
            self.totals.elsewhere += 1
            return None
        run = FileRun(target, journaled, _state_of(target.file))
        if journaled.state == "open" and not journaled.documents:
            run.journaled = self._journal.begin(journaled, *run.input_state)
        return run

    def _read_run(self, run: FileRun, items: Iterator[Document | Extent | Fault]) -> Iterator[Task]:
        number = 0
        for number, item in enumerate(items):
            if number < run.skip and not isinstance(item, Fault):
                self._pass(run, item.read_bytes)
            if number >= run.skip or isinstance(item, Fault):
                yield Task(run, number, item)
        yield Task(run, number + 1)

    def _pass(self, run: FileRun, read_bytes: int) -> None:
        self.totals.resumed_bytes += read_bytes - run.read_bytes
        run.read_bytes = read_bytes

    def _goes_on(self, run: FileRun) -> bool:
        """Whether something is left to do of it. It goes on from where an earlier run was, if that holds still."""
        known, state = run.journaled, run.input_state
        if known.state == "open" and not known.documents:
            return True
        unchanged = run.target.file.path is not None and (known.input_size, known.input_mtime_ns) == state
        if unchanged and known.state == "moving" and not part_of(run.path).exists() and _is_there(run):
            self._journal.set_state(known, "done", known.output_size)
            self._recall(run)
            self._pass(run, known.input_size or 0)
            return False
        if unchanged and known.state == "done" and (_is_there(run) or not known.output_size):
            self._recall(run)
            self._pass(run, known.input_size or 0)
            return False
        if known.documents and run.target.file.path is not None and known.state != "done" and self._holds(run):
            with contextlib.suppress(OSError):
                # All of a part file that is to be moved is done; of a table its size is not the output's.
                grown = part_of(run.path).stat().st_size if known.state == "moving" else known.output_size
                run.part = self._part(run, grown)
                run.skip = known.documents
                self._recall(run)
                return True
        run.journaled = self._journal.begin(known, *state)
        return True

    def _holds(self, run: FileRun) -> bool:
        """Whether the documents that are done are those of the input."""
        documents = islice(
            read_file(run.target.file, self._instructions.wanted, recognise=False), run.journaled.documents
        )
        pairs = zip_longest(documents, self._journal.keys(run.journaled))
        wanted = self._instructions.wanted
        return all(isinstance(document, Document) and key and has_key(document, key, wanted) for document, key in pairs)

    def _recall(self, run: FileRun) -> None:
        for document in self._journal.documents(run.journaled):
            self.totals.resumed += document.records != NO_RECORDS
            records = counted_of(document.records)
            self.totals.add(records)
            run.failed = run.failed or any(record.status == "failed" for record in records)
            run.written = run.written or any(record.status != "failed" for record in records)

    def write(self, some: list[Concluded]) -> list[Reported]:
        """Write what came of some tasks, up to one failure too many; outputs that are whole get into their places."""
        with self._writing:
            reported: list[Reported] = []
            for one in some:
                self.totals.reused += one.reused
                reported += self._counted(self._written(one))
                if self._too_many_failed():
                    break
            reported += self._counted(self._move())
            self.totals.seconds = perf_counter() - self._begun
            return reported

    def _counted(self, reported: list[Reported]) -> list[Reported]:
        for one in reported:
            self.totals.add(counted_of(one.records))
        return reported

    def _written(self, done: Concluded) -> list[Reported]:
        run, item = done.task.run, done.task.item
        if run.lost:
            return []
        self._open[run.journaled.id] = run
        if isinstance(item, Fault):
            run.failed = run.unread = True
            return [self._lost(failed_record(item), item)]
        if done.made.unread is not None:
            return [self._lose(run, done.made.unread)]
        try:
            if item is None:
                self._finish(run)
                return []
            return self._add(done, item)
        except OSError as error:
            return [self._unwritten(run, error)]

    def _unwritten(self, run: FileRun, error: OSError) -> Reported:
        return self._lose(run, fault_of_os_error(run.target.shown, None, error))

    def _lose(self, run: FileRun, fault: Fault) -> Reported:
        """Give up a file of which the rest cannot be read, or whose output cannot be written."""
        run.lost = True
        self._open.pop(run.journaled.id, None)
        self._leave(run)
        return self._lost(msgspec.structs.replace(failed_record(fault), path=run.target.file.shown), fault)

    def _lost(self, record: CompactRecord, fault: Fault) -> Reported:
        """Note what is in no row of the journal, so that the next run tries it again."""
        self.unread.append(record)
        return Reported(msgspec.json.encode([record]), (fault,))

    def _add(self, done: Concluded, item: Document | Extent) -> list[Reported]:
        run, made = done.task.run, done.made
        if run.part is None:
            run.part = self._part(run)
        reported = made.records != NO_RECORDS
        if reported:
            run.written, run.failed = run.written or not made.failed, run.failed or made.failed
        if made.body is not None:
            run.part.write(made.body, item.ending)
        run.waiting.append(JournaledDocument(done.task.number, made.key, made.records))
        self.totals.documents += reported
        self.totals.bytes += item.size
        self.totals.read_bytes += item.read_bytes - run.read_bytes
        run.read_bytes = item.read_bytes
        late = perf_counter() - self._checkpointed > _CHECKPOINT_SECONDS
        if late or len(run.waiting) >= _CHECKPOINT_DOCUMENTS:
            self._checkpoint(run)
        return [Reported(made.records, made.faults)] if reported else []

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
        if run.failed and not run.written:
            if run.part is not None:
                run.part.discard()
            with self._journal.together():
                self._journal.checkpoint(run.journaled, run.waiting, 0)
                self._journal.set_state(run.journaled, run.ended, 0)
            return
        part = run.part = run.part or self._part(run)
        size = part.finish()
        run.part = None
        self._whole.append((run, part.size, size))

    def _move(self) -> list[Reported]:
        """Move all outputs that are whole, in three steps that each can be the last one: told, moved, told again.

        Returns what became of those that could not be.
        """
        whole, self._whole = self._whole, []
        if not whole:
            return []
        with self._journal.together():
            for run, part_size, size in whole:
                self._journal.checkpoint(run.journaled, run.waiting, part_size)
                self._journal.set_state(run.journaled, "moving", size)
        lost: list[Reported] = []
        for run, _, _ in whole:
            try:
                move(run.path)
            except OSError as error:
                lost.append(self._unwritten(run, error))
        for folder in {run.path.parent for run, _, _ in whole if not run.lost}:
            try:
                settle(folder)
            except OSError as error:
                lost += [
                    self._unwritten(run, error) for run, _, _ in whole if run.path.parent == folder and not run.lost
                ]
        with self._journal.together():
            for run, _, size in whole:
                if not run.lost:
                    self._journal.set_state(run.journaled, run.ended, size)
        return lost

    def _part(self, run: FileRun, size: int = 0) -> PartFile:
        return PartFile(run.path, size, table_of(run.target.file, self._instructions.wanted))

    def _leave(self, run: FileRun) -> None:
        """Keep what is done of a file for a run that goes on."""
        if run.part is not None:
            with contextlib.suppress(OSError, JournalError):
                self._checkpoint(run)
            run.part.close()


def _few(targets: Iterable[Target]) -> Iterator[list[Target]]:
    """Go through the targets, several at once where their inputs are small."""
    some: list[Target] = []
    room = FEW_BYTES
    for target in targets:
        size = _state_of(target.file)[0]
        size = FEW_BYTES if size is None else size
        if some and (size > room or len(some) == FEW_DOCUMENTS):
            yield some
            some, room = [], FEW_BYTES
        some.append(target)
        room -= size
    if some:
        yield some


def _state_of(file: InputFile) -> InputState:
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
