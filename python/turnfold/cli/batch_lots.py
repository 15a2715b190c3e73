"""Work on the items of a source in threads, with results in the order of the items."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from time import monotonic
from types import TracebackType
from typing import Generic, Self, TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class InOrder(Generic[_In, _Out]):
    """`work` for each item of `source`, in `at_once` threads, which take turns at the source.

    Use it as a context manager, which waits for the threads on the way out, and iterate it once inside. As many items
    as are in work, and `ahead` more, are in work or wait to be read. What the source or `work` raises is raised where
    the results end. After `take_until`, on the clock of `monotonic`, no further item is taken. `stop` ends it from any
    thread: no further item is taken, and no further result is handed over.
    """

    def __init__(
        self, source: Iterator[_In], work: Callable[[_In], _Out], *, at_once: int, ahead: int, take_until: float
    ) -> None:
        self._source = source
        self._work = work
        self._take_until = take_until
        self._places = threading.Semaphore(at_once + ahead)
        self._taking = threading.Lock()
        self._taken = 0
        self._ended = False
        self._changed = threading.Condition()
        self._results: dict[int, _Out] = {}
        self._running = at_once
        self._stopped = False
        self._error: BaseException | None = None
        self._threads = [threading.Thread(target=self._run, name=f"turnfold batch {k}") for k in range(at_once)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """End it; what is in work is not waited for."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._places.release()

    def __iter__(self) -> Iterator[_Out]:
        for index in count():
            with self._changed:
                while not (index in self._results or self._stopped or self._running == 0):
                    self._changed.wait()
                if self._stopped or index not in self._results:
                    break
                result = self._results.pop(index)
            self._places.release()
            yield result
        if self._error is not None and not self._stopped:
            raise self._error

    def _run(self) -> None:
        try:
            while (taken := self._take()) is not None:
                index, item = taken
                result = self._work(item)
                with self._changed:
                    self._results[index] = result
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001  # raised where the results end
            self._error = self._error or error
            self._ended = True
        finally:
            # Another thread may wait for the place that this one leaves.
            self._places.release()
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _take(self) -> tuple[int, _In] | None:
        """Wait for a place, and take the next item; None where there is none."""
        self._places.acquire()
        with self._taking:
            if self._ended or self._stopped or monotonic() >= self._take_until:
                return None
            self._ended = True  # unless an item comes
            item = next(self._source, None)
            # Where the source was waited for, the time may be up meanwhile.
            if item is None or monotonic() >= self._take_until:
                return None
            self._ended = False
            index = self._taken
            self._taken += 1
        return index, item
