"""Freeing what thousands of messages were made into, off the event loop and without keeping the interpreter from it."""

from collections.abc import Iterable
from typing import Final

from turnfold.model.summary import SummaryRequest

_AT_ONCE: Final = 256


def rows_of(requests: Iterable[SummaryRequest]) -> list[object]:
    """List what requests hold thousands of."""
    return [row for one in requests for part in (one.messages, one.digests, one.facts) for row in part]


def free(rows: list[object]) -> None:
    """Let go of rows, some at a time: other threads get the interpreter between them.

    Where nothing else holds them; a tuple that goes frees all that it holds at once, which may take milliseconds.
    """
    while rows:
        del rows[-_AT_ONCE:]
