"""Until when the answer is of use, for one who works in a task of its own."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import anyio

_DEADLINE: Final[ContextVar[float]] = ContextVar("turnfold_deadline", default=math.inf)


def current_deadline() -> float:
    """Return the deadline of the call that this is part of, on the event loop's clock; infinite where there is none."""
    return min(anyio.current_effective_deadline(), _DEADLINE.get())


@contextmanager
def handed_down(seconds: float | None) -> Iterator[None]:
    """Let tasks that begin in here know the deadline around it, and that of a try of so many seconds."""
    own = math.inf if seconds is None else anyio.current_time() + seconds
    before = _DEADLINE.set(min(current_deadline(), own))
    try:
        yield
    finally:
        _DEADLINE.reset(before)
