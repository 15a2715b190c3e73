"""A clock that jumps: hours of waiting in a test take no time, and two runs are the same."""

import asyncio
import math
import selectors
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

Backend = Literal["asyncio", "trio"]
BACKENDS: Final[tuple[Backend, ...]] = ("asyncio", "trio")

_R = TypeVar("_R")


class NothingLeftError(RuntimeError):
    """Everything waits for something that nobody is going to do: no task can run, and no time limit is set."""


def run_virtual(main: Callable[[], Awaitable[_R]], backend: Backend = "asyncio") -> _R:
    """Run `main` in an event loop of its own, whose clock jumps to the next time limit whenever all tasks wait.

    What is sent to a thread through `anyio.to_thread.run_sync` runs in place, so that nothing depends on how fast
    threads are: this is for work that ends, not for functions that block. `anyio.from_thread.check_cancelled` works in
    it. `anyio.current_time()` is the virtual time, from 0. On trio the package must be installed. Raises
    `NothingLeftError` (asyncio) where the run would hang for ever.
    """
    with _threads_in_place():
        if backend == "asyncio":
            return anyio.run(main, backend="asyncio", backend_options={"loop_factory": _VirtualLoop})
        import trio.testing

        clock = trio.testing.MockClock(autojump_threshold=0)
        return anyio.run(main, backend="trio", backend_options={"clock": clock})


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while nothing else is to be done."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: _VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingLeftError("all tasks wait, and no time limit is set")
        self._loop.jump(timeout)
        return []


class _StoppedError(BaseException):
    """The caller of work that runs in place was cancelled."""


@contextmanager
def _threads_in_place() -> Iterator[None]:
    usual, usual_check = anyio.to_thread.run_sync, anyio.from_thread.check_cancelled

    async def in_place(function: Callable[..., object], *arguments: object, **options: object) -> object:
        del options
        await anyio.lowlevel.checkpoint()
        try:
            return function(*arguments)
        except _StoppedError:
            await anyio.lowlevel.checkpoint()
            raise

    def check() -> None:
        if anyio.current_effective_deadline() == -math.inf:
            raise _StoppedError

    anyio.to_thread.run_sync = in_place  # type: ignore[assignment]
    anyio.from_thread.check_cancelled = check
    try:
        yield
    finally:
        anyio.to_thread.run_sync = usual
        anyio.from_thread.check_cancelled = usual_check
