"""Who compacts the documents of a run by rule: threads of this process, or, where there is much to do, processes."""

from collections.abc import Sequence
from queue import LifoQueue
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread

from turnfold.cli.batch_made import Made, Work, made_of
from turnfold.cli.batch_process import CompactingProcess, ProcessEndedError, compact_each, fetched
from turnfold.cli.compaction import Instructions, failed_record
from turnfold.cli.extents import Fetching
from turnfold.cli.faults import Fault
from turnfold.summarizers.threads import in_thread

AHEAD: Final = 2
"""How many lots of documents are at hand for each that is in work, so that nobody waits for the next one to be read."""
_TRIES: Final = 2
"""How often a document may end the process that is at it: another one may have taken all the memory the first time."""


class Crew:
    """Compacts documents, `at_once` so many lots of them: in as many processes, started as they are needed, or threads.

    A process that ends, for want of memory say, takes nothing with it: what it had is done again by another, document
    by document, and one that ends that too is a failure in its place. Use it as a context manager, which stops them.
    """

    def __init__(self, instructions: Instructions, at_once: int, *, in_processes: bool) -> None:
        self._instructions = instructions
        self._limiter = anyio.CapacityLimiter(AHEAD * at_once if in_processes else at_once)
        self._processes = [CompactingProcess(instructions, at_once) for _ in range(at_once)] if in_processes else []
        self._idle: LifoQueue[CompactingProcess] = LifoQueue()
        for process in self._processes:
            self._idle.put(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.close()

    async def compact(self, work: Sequence[Work], tries: int = _TRIES) -> list[Made]:
        """Return what came of each document. Whatever is wrong with one is its own outcome."""
        if not self._processes:
            async with self._limiter:
                return await in_thread(compact_each, work, self._instructions)
        try:
            return await anyio.to_thread.run_sync(self._in_process, work, abandon_on_cancel=True, limiter=self._limiter)
        except ProcessEndedError:
            if len(work) > 1:
                return [made for one in work for made in await self.compact([one], tries)]
            if tries > 1:
                return await self.compact(work, tries - 1)
            return [_ended(work[0])]

    def _in_process(self, work: Sequence[Work]) -> list[Made]:
        # Who waits here is there when a process has answered, before the event loop has even heard of it.
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
