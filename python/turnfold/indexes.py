"""Indexes as callers give them: refused where they are negative, and no larger than the kernel takes."""

import sys
from collections.abc import Mapping

from turnfold.errors import ArgumentError

Texts = Mapping[int, str] | tuple[tuple[int, str], ...]
"""New texts of blocks of a message, by block index; as pairs, too."""


def in_range(texts: Texts) -> tuple[tuple[int, str], ...]:
    """Return new texts of blocks as the kernel takes them."""
    pairs = texts if isinstance(texts, tuple) else tuple(texts.items())
    if pairs and min(pairs)[0] < 0:
        raise ArgumentError(f"There is no block {min(pairs)[0]}")
    return tuple((min(block_index, sys.maxsize), text) for block_index, text in pairs)


def range_ends(part: range) -> tuple[int, int]:
    """Return the ends of a range of messages as the kernel takes them."""
    start, stop = part.start, part.stop
    if start < 0 or stop < 0 or part.step != 1:
        raise ArgumentError("A range of messages has step 1 and no negative end")
    return (start, stop) if start <= sys.maxsize >= stop else (min(start, sys.maxsize), min(stop, sys.maxsize))
