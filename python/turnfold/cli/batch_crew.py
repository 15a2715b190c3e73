"""Who compacts the documents of a run by rule: threads of this process, or, where there is much to do, processes."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread

from turnfold.cli.batch_process import CompactingProcess, ProcessEndedError, compact_each
from turnfold.cli.batch_task import Made, Work, document_key
from turnfold.cli.compaction import Instructions, failed_record
from turnfold.cli.faults import Fault
from turnfold.summarizers.threads import in_thread

_TRIES: Final = 2
"""How often a document may end the process that is at it: another one may have taken all the memory the first time."""


class Crew:
    """Compacts documents, in any of `processes` processes that it starts as they are needed; with 0 in threads.

    A process that ends, for want of memory say, takes nothing with it: what it had is done again by another, document
    by document, and one that ends that too is a failure in its place. Use it as a context manager, which stops them.
    """

    def __init__(self, instructions: Instructions, processes: int) -> None:
        self._instructions = instructions
        self._limiter = anyio.CapacityLimiter(processes) if processes else None
        self._lock = threading.Lock()
        self._idle: list[CompactingProcess] = []
        self._busy: set[CompactingProcess] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            processes = [*self._idle, *self._busy]
        for process in processes:
            process.close()

    async def compact(self, work: Sequence[Work], tries: int = _TRIES) -> list[Made]:
        """Return what came of each document. Whatever is wrong with one is its own outcome."""
        if self._limiter is None:
            return await in_thread(compact_each, work, self._instructions)
        try:
            return await anyio.to_thread.run_sync(
                self._in_process, work, self._limiter.total_tokens, abandon_on_cancel=True, limiter=self._limiter
            )
        except ProcessEndedError:
            if len(work) > 1:
                return [made for one in work for made in await self.compact([one], tries)]
            if tries > 1:
                return await self.compact(work, tries - 1)
            return [_ended(work[0])]

    def _in_process(self, work: Sequence[Work], processes: float) -> list[Made]:
        with self._lock:
            if self._closed:
                raise ProcessEndedError
            process = self._idle.pop() if self._idle else CompactingProcess(self._instructions, int(processes))
            self._busy.add(process)
        try:
            made = process.compact(work)
        except ProcessEndedError:
            process.close()
            raise
        with self._lock:
            self._busy.discard(process)
            self._idle.append(process)
        return made


def _ended(work: Work) -> Made:
    document, _ = work
    text = "the process that compacted it was ended from outside, twice"
    fault = Fault(document.file.shown, document.index, "process_ended", text, "it may need more memory than there is")
    return Made([(failed_record(fault), fault)], None, document_key(document))
