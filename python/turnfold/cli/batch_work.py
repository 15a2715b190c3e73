"""How the documents of a batch are compacted by rule, many at once, and handed over in their order."""

import math
import threading
from collections.abc import Callable, Iterator
from time import monotonic
from types import TracebackType
from typing import Final, Self

from turnfold.batch.limits import BatchLimits
from turnfold.cli.batch_crew import AHEAD, Crew
from turnfold.cli.batch_lots import InOrder
from turnfold.cli.batch_made import Made, made_of
from turnfold.cli.batch_task import Concluded, Task
from turnfold.cli.extents import Extent
from turnfold.cli.inputs import Document
from turnfold.cli.instructions import Instructions

FEW_DOCUMENTS: Final = 32
FEW_BYTES: Final = 1 << 21
"""So many documents are handed on together, or so many bytes: a thread or a process is entered once for them."""
_WAITING: Final = 2
"""Results may wait for an earlier one, so many for each that is in work."""
_LOOK_SECONDS: Final = 0.5
"""How often a Ctrl-C is looked for where the system does not interrupt who waits for a thread."""


class OutOfTimeError(Exception):
    """The time of the whole run was up before all was done."""


class Few(Iterator[list[Task]]):
    """The tasks of a run, a few at a time, fewer where they are large."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self.all_read = False

    def __next__(self) -> list[Task]:
        found: list[Task] = []
        room = FEW_BYTES
        for task in self._tasks:
            found.append(task)
            room -= task.item.size if isinstance(task.item, Document | Extent) else 0
            if room <= 0 or len(found) == FEW_DOCUMENTS:
                break
        if not found:
            self.all_read = True
            raise StopIteration
        return found


class ByRule:
    """Compacts tasks without asking anybody, in processes or in threads of this one.

    Use it as a context manager, and iterate it once inside: what came of some tasks at a time, in their order. `stop`
    ends that from any thread. After the run's deadline no further task is begun; where some were left then, the end of
    the iteration raises `OutOfTimeError`. `size` says of how many bytes the documents are at least.
    """

    def __init__(
        self, tasks: Iterator[Task], instructions: Instructions, limits: BatchLimits, *, in_processes: bool, size: int
    ) -> None:
        self._lots = size // FEW_BYTES
        self._crew = Crew(instructions, limits.concurrency, in_processes=in_processes)
        self._few = Few(tasks)
        self._done = InOrder(
            self._few,
            self._work,
            at_once=AHEAD * limits.concurrency,
            ahead=_WAITING * limits.concurrency,
            take_until=math.inf if limits.deadline_seconds is None else monotonic() + limits.deadline_seconds,
        )

    def __enter__(self) -> Self:
        self._crew.begin(self._lots)
        self._done.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._done.__exit__(kind, error, trace)

    def stop(self) -> None:
        """Hand over nothing more, and end the processes with what they have in work."""
        self._done.stop()
        self._crew.close()

    def __iter__(self) -> Iterator[list[Concluded]]:
        yield from self._done
        if not self._few.all_read:
            raise OutOfTimeError

    def _work(self, some: list[Task]) -> list[Concluded]:
        given = [task.work for task in some]
        wanted = [(document, task.run.target) for task, document in zip(some, given, strict=True) if document]
        made = iter(self._crew.compact(wanted) if wanted else ())
        return [
            Concluded(task, unworked(task) if document is None else next(made))
            for task, document in zip(some, given, strict=True)
        ]


def unworked(task: Task) -> Made:
    """Return what comes of a blank line, which stays as it is, and of what is no document, or passed over."""
    item = task.item
    return made_of(item, (), item.data) if isinstance(item, Document) and item.is_gap else Made()


def uninterrupted(work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Run `work` in a thread of its own, and raise what it raises.

    A Ctrl-C is raised in the main thread, wherever that is. Here it waits, so none comes in the middle of a write:
    it calls `stop`, and is raised once `work` has ended.
    """
    raised: list[BaseException] = []
    # Not `Thread.join`: interrupted, it takes a thread that goes on for one that has ended.
    ended = threading.Event()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised by who waits
            raised.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="turnfold batch")
    try:
        thread.start()
        while not ended.wait(_LOOK_SECONDS):
            pass
    except BaseException:
        stop()
        if thread.ident is not None:
            ended.wait()
        raise
    if raised:
        raise raised.pop()
