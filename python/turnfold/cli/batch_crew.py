"""Who compacts the documents of a run by rule: threads of this process, or, where there is much to do, processes."""

import signal
from collections.abc import Sequence
from functools import cache
from typing import Final

import anyio
import anyio.to_process
from anyio import BrokenWorkerProcess

from turnfold._core import share_caches
from turnfold.cli.compaction import Instructions, Outcome, compact_document, failed_record, failure_of
from turnfold.cli.faults import Fault
from turnfold.cli.inputs import Document
from turnfold.cli.outputs import Target
from turnfold.cli.reading import register_encoding
from turnfold.summarizers.threads import in_thread

_TRIES: Final = 2
"""How often a document may end the process that is at it: another one may have taken all the memory the first time."""

Work = tuple[Document, Target]
Made = tuple[list[Outcome], bytes | None]
"""The records of a document, and the bytes to write: None where every transcript of it failed."""


class Crew:
    """Compacts documents, in any of `processes` processes that it starts as they are needed; with 0 in threads.

    A process that ends, for want of memory say, takes nothing with it: what it had is done again by another, document
    by document, and one that ends that too is a failure in its place. They are stopped when the event loop ends.
    """

    def __init__(self, instructions: Instructions, processes: int) -> None:
        self._instructions = instructions
        self._processes = processes
        self._limiter = anyio.CapacityLimiter(processes) if processes else None

    async def compact(self, work: Sequence[Work], tries: int = _TRIES) -> list[Made]:
        """Return what came of each document. Whatever is wrong with one is its own outcome."""
        if self._limiter is None:
            return await in_thread(compact_each, work, self._instructions)
        try:
            return await anyio.to_process.run_sync(
                _in_process, work, self._instructions, self._processes, limiter=self._limiter, cancellable=True
            )
        except BrokenWorkerProcess:
            if len(work) > 1:
                return [made for one in work for made in await self.compact([one], tries)]
            if tries > 1:
                return await self.compact(work, tries - 1)
            return [_ended(*work[0])]


def compact_each(work: Sequence[Work], instructions: Instructions) -> list[Made]:
    """Return what came of each document."""
    return [_made(document, target, instructions) for document, target in work]


def _made(document: Document, target: Target, instructions: Instructions) -> Made:
    try:
        return compact_document(document, target, instructions, spare=True)
    except Exception as error:  # noqa: BLE001  # one document never ends the others
        return [failure_of(document, error)], None


def _ended(document: Document, _: Target) -> Made:
    text = "the process that compacted it was ended from outside, twice"
    fault = Fault(document.file.shown, document.index, "process_ended", text, "it may need more memory than there is")
    return [(failed_record(fault), fault)], None


def _in_process(work: Sequence[Work], instructions: Instructions, processes: int) -> list[Made]:
    _prepare(instructions.encoding, processes)
    return compact_each(work, instructions)


@cache
def _prepare(encoding: str | None, processes: int) -> None:
    # Ctrl-C goes to all processes of the terminal; this one is stopped by the one that started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    share_caches(processes)
    if encoding is not None:
        register_encoding(encoding)
