"""The kernel's work off the event loop."""

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.lowlevel import RunVar

SMALL_BYTES: Final = 32_768

SWITCH_SECONDS: Final = 0.0005
"""How soon a thread that works here lets another one have the interpreter, at most."""

_LIMITER: Final = RunVar[anyio.CapacityLimiter]("turnfold_kernel")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Switching:
    """Makes threads take turns at the interpreter sooner while any of them works here, unless they do already.

    By default a thread keeps the interpreter for 5 ms, and the event loop, which needs it for microseconds, waits for
    as long each time. It is a setting of the process: whoever changes it meanwhile keeps what they set.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._before = sys.getswitchinterval()
                if self._before > SWITCH_SECONDS:
                    sys.setswitchinterval(SWITCH_SECONDS)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if not self._working and self._before > SWITCH_SECONDS and sys.getswitchinterval() == SWITCH_SECONDS:
                sys.setswitchinterval(self._before)


_SWITCHING: Final = _Switching()


def _run(work: Callable[[], _R]) -> _R:
    with _SWITCHING:
        return work()


async def in_thread(work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Run `work` in a worker thread, at most as many at once as there are processors.

    About 0.1 ms, where a megabyte that is counted for the first time takes ten: the loop is worth more. More threads
    than processors would only make the loop wait longer for the interpreter. Cancelled, it waits for `work` to end.
    """
    try:
        limiter = _LIMITER.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(os.cpu_count() or 1)
        _LIMITER.set(limiter)
    return await anyio.to_thread.run_sync(_run, partial(work, *args, **kwargs), limiter=limiter)


async def beside(size_bytes: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Run `work` in place where it has so few bytes to do with that it takes a millisecond or two, else in a thread.

    With many small pieces of work at once, threads and the event loop would wait for each other's turn at the
    interpreter, 5 ms each, for longer than the work takes.
    """
    if size_bytes > SMALL_BYTES:
        return await in_thread(work, *args, **kwargs)
    await anyio.lowlevel.checkpoint()
    return work(*args, **kwargs)
