"""The kernel's work off the event loop."""

import os
from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.lowlevel import RunVar

SMALL_BYTES: Final = 32_768

_LIMITER: Final = RunVar[anyio.CapacityLimiter]("turnfold_kernel")

_P = ParamSpec("_P")
_R = TypeVar("_R")


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
    return await anyio.to_thread.run_sync(partial(work, *args, **kwargs), limiter=limiter)


async def beside(size_bytes: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Run `work` in place where it has so few bytes to do with that it takes a millisecond or two, else in a thread.

    With many small pieces of work at once, threads and the event loop would wait for each other's turn at the
    interpreter, 5 ms each, for longer than the work takes.
    """
    if size_bytes > SMALL_BYTES:
        return await in_thread(work, *args, **kwargs)
    await anyio.lowlevel.checkpoint()
    return work(*args, **kwargs)
