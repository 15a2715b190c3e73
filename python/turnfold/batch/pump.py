"""Work on the items of a source, so many at once, with an end to how far it runs ahead of who reads the results."""

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

import anyio

from turnfold.summarizers.detached import Detached

STOP_SECONDS: Final = 1.0
"""How long work that was told to stop is waited for: longer than the kernel is busy with one transcript."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Pump(Generic[_In, _Out]):
    """`work` for each item of `source`, in a task of its own, so that no cancel scope spans the reader's loop body.

    `at_once` items are in work at most, and as many and `ahead` more are in work or wait to be read. `work` gets an
    item's index and the item; what it raises ends everything. After `take_until`, a time on the event loop's
    clock, no further item is taken.
    """

    def __init__(
        self,
        source: Iterable[_In] | AsyncIterable[_In],
        work: Callable[[int, _In], Awaitable[_Out]],
        *,
        at_once: int,
        ahead: int,
        ordered: bool,
        take_until: float,
    ) -> None:
        self._source = source
        self._iterator: Iterator[_In] | AsyncIterator[_In] | None = None
        self._work = work
        self._at_once = at_once
        self._ordered = ordered
        self._take_until = take_until
        self._places = anyio.Semaphore(at_once + ahead)
        self._taking = anyio.Lock()
        self._taken = 0
        self._handed = 0
        self._ended = False
        self._over = False
        self._error: BaseException | None = None
        self._done: deque[int] = deque()
        self._results: dict[int, _Out] = {}
        self._changed = anyio.Event()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Work while inside; on the way out, what is still in work is stopped."""
        running = Detached(self._run, STOP_SECONDS)
        running.begin()
        try:
            yield
        finally:
            await running.stop()

    async def next(self) -> _Out | None:
        """Return the next result, None after the last one; raise what ended the source, or the work."""
        while True:
            index = self._ready()
            if index is not None:
                self._handed += 1
                self._places.release()
                return self._results.pop(index)
            if self._over:
                if self._error is not None:
                    raise self._error
                return None
            self._changed = anyio.Event()
            await self._changed.wait()

    def _ready(self) -> int | None:
        if self._ordered:
            return self._handed if self._handed in self._results else None
        return self._done.popleft() if self._done else None

    async def _run(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                for _ in range(self._at_once):
                    group.start_soon(self._worker, group.cancel_scope)
        except BaseException as error:
            # What no item's outcome holds must not look like the end of the source.
            self._error = self._error or error
            raise
        finally:
            self._over = True
            self._changed.set()

    async def _worker(self, everything: anyio.CancelScope) -> None:
        while True:
            await self._places.acquire()
            async with self._taking:
                taken = await self._take()
                if taken is None:
                    self._places.release()
                    return
                index = self._taken
                self._taken += 1
            try:
                self._results[index] = await self._work(index, taken[0])
            except (Exception, KeyboardInterrupt, SystemExit) as stop:  # noqa: BLE001  # raised where results end
                self._error = stop
                everything.cancel()
                return
            self._done.append(index)
            self._changed.set()

    async def _take(self) -> tuple[_In] | None:
        """Take the next item, None where there is none."""
        if self._ended or anyio.current_time() >= self._take_until:
            return None
        self._ended = True  # unless an item comes
        try:
            if self._iterator is None:
                self._iterator = aiter(self._source) if isinstance(self._source, AsyncIterable) else iter(self._source)
            if isinstance(self._iterator, Iterator):
                item = next(self._iterator)
            else:
                with anyio.CancelScope(deadline=self._take_until) as scope:
                    item = await anext(self._iterator)
                if scope.cancelled_caught:
                    return None
        except (StopIteration, StopAsyncIteration):
            return None
        except Exception as error:  # noqa: BLE001  # raised where the results end
            self._error = error
            return None
        self._ended = False
        return (item,)
