"""Who compacts the documents of a run by rule: threads of this process, or, where there is much to do, processes."""

import os
import threading
from collections.abc import Sequence
from queue import LifoQueue
from typing import Final

from turnfold.cli.batch_made import Made, Work, fetched, made_of
from turnfold.cli.batch_process import CompactingProcess, ProcessEndedError
from turnfold.cli.compact_record import failed_record
from turnfold.cli.extents import Fetching
from turnfold.cli.faults import Fault
from turnfold.cli.instructions import Instructions

AHEAD: Final = 2
"""How many lots of documents each process is given, the next one beside the one in work: so it waits for none."""
_TRIES: Final = 2
"""How often a document may end the process that is at it alone: another program may have taken all the memory once."""


class Crew:
    """Compacts documents, `at_once` so many lots of them: in as many processes, started as they are needed, or threads.

    A process that ends, for want of memory say, takes nothing with it: what it had is done again by one more, document
    by document, and what ends that twice is a failure in its place. `close` it at the end.
    """

    def __init__(self, instructions: Instructions, at_once: int, *, in_processes: bool) -> None:
        self._instructions = instructions
        # More threads than processors would only wait for each other.
        self._places = threading.Semaphore(min(at_once, os.cpu_count() or 1))
        self._closed = False
        self._processes = [CompactingProcess(instructions, at_once) for _ in range(at_once)] if in_processes else []
        self._idle: LifoQueue[CompactingProcess] = LifoQueue()
        for process in AHEAD * self._processes:
            self._idle.put(process)
        self._again = CompactingProcess(instructions, at_once)
        self._alone = threading.Lock()

    def begin(self, lots: int) -> None:
        """Start the processes that so many lots of documents will need."""
        # The last ones are asked for first.
        for process in self._processes[::-1][:lots]:
            process.begin()

    def close(self) -> None:
        """Stop all processes; who waits for one in `compact` is told so by a `ProcessEndedError`."""
        self._closed = True
        for process in (*self._processes, self._again):
            process.close()

    def compact(self, work: Sequence[Work]) -> list[Made]:
        """Return what came of each document. Whatever is wrong with one is its own outcome."""
        if not self._processes:
            # A batch in processes waits for none of what it takes to compact here.
            from turnfold.cli.batch_serving import compact_each

            with self._places:
                return compact_each(work, self._instructions)
        try:
            return self._in_process(work)
        except ProcessEndedError:
            if self._closed:
                raise
            return [self._compact_alone(one) for one in work]

    def _compact_alone(self, work: Work) -> Made:
        """Compact what may have ended a process, with nothing else in the one that is at it."""
        with self._alone:
            for _ in range(_TRIES):
                try:
                    return self._again.compact([work])[0]
                except ProcessEndedError:
                    if self._closed:
                        raise
        return _ended(work)

    def _in_process(self, work: Sequence[Work]) -> list[Made]:
        process = self._idle.get()
        try:
            return process.compact(work)
        finally:
            self._idle.put(process)


def _ended(work: Work) -> Made:
    given, _ = work
    text = "the process that compacted it was ended from outside, twice"
    fault = Fault(given.file.shown, given.index, "process_ended", text, "it may need more memory than there is")
    with Fetching() as fetching:
        return fetched(given, fetching, lambda document: made_of(document, [(failed_record(fault), fault)], None))
