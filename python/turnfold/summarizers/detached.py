"""A call in a task of its own: who waits for it is held up neither by its cancellation nor by what it raises."""

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, Protocol, TypeVar

import anyio

from turnfold.errors import SummarizerError

GRACE_SECONDS: Final = 0.05
"""How long a call that was told to stop is waited for, so that it can close what it opened. Then it is left behind."""

_T = TypeVar("_T")

_LEFT: Final[set["asyncio.Task[None]"]] = set()
"""The event loop itself holds its tasks weakly."""


class _Task(Protocol):
    def cancel(self) -> object: ...


def any_left_behind(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a call still runs in `loop`."""
    return any(task.get_loop() is loop for task in _LEFT)


class Detached(Generic[_T]):
    """`work`, in a task of its own on asyncio or trio.

    Cancelled while it waits, `wait` tells the work to stop, gives it `grace_seconds`, and goes: work that swallows its
    cancellation or shields itself is `left_behind`. An event loop that ends waits for such a task, or kills it.
    """

    def __init__(self, work: Callable[[], Awaitable[_T]], grace_seconds: float = GRACE_SECONDS) -> None:
        self._work = work
        self._grace_seconds = grace_seconds
        self._over = anyio.Event()
        self._task: _Task | None = None
        self._value: list[_T] = []
        self._error: BaseException | None = None
        self._stopped = False
        self.left_behind = False

    async def wait(self) -> _T:
        """Begin, and return what the work returns or raise what it raises.

        Ctrl-C and `SystemExit` go through. Whatever else is no `Exception` (a cancellation that nobody asked for, a
        panic of an extension) becomes a `SummarizerError`.
        """
        self.begin()
        try:
            await self._over.wait()
        except BaseException:
            await self.stop()
            raise
        if self._value:
            return self._value[0]
        raise self._taken_error()

    def _taken_error(self) -> BaseException:
        """Return what the work raised, and forget it: the frames that it came through hold what was worked on."""
        error, self._error = self._error, None
        if isinstance(error, Exception | KeyboardInterrupt | SystemExit):
            return error
        ended = SummarizerError(f"It ended by itself with {type(error).__name__}: {error}")
        ended.__cause__ = error
        return ended

    def begin(self) -> None:
        """Begin."""
        self._task = _begin(self._run)

    async def stop(self) -> None:
        """Tell the work to stop, where it is not over, and wait for that a little."""
        if self._over.is_set() or self._task is None:
            return
        self._stopped = True  # nobody asks what it raises then
        self._task.cancel()
        with anyio.CancelScope(shield=True), anyio.move_on_after(self._grace_seconds):
            await self._over.wait()
        self.left_behind = not self._over.is_set()

    async def _run(self) -> None:
        try:
            self._value.append(await self._work())
        except BaseException as error:  # noqa: BLE001  # nobody awaits this task: what is raised is handed over
            self._error = None if self._stopped else error
        finally:
            self._over.set()


def _begin(run: Callable[[], Awaitable[None]]) -> _Task:
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return _begin_in_trio(run, trio)
    # Cancelled once, as asyncio does it: a cancel scope would go on cancelling, in every turn of the loop, a task that
    # swallows it.
    task = asyncio.get_running_loop().create_task(_coroutine(run))
    _LEFT.add(task)
    task.add_done_callback(_LEFT.discard)
    return task


async def _coroutine(run: Callable[[], Awaitable[None]]) -> None:
    await run()


def _begin_in_trio(run: Callable[[], Awaitable[None]], trio: Any) -> _Task:
    scope = trio.CancelScope()

    async def within() -> None:
        with scope:
            await run()

    trio.lowlevel.spawn_system_task(within, name="turnfold", context=contextvars.copy_context())
    stop: _Task = scope
    return stop
