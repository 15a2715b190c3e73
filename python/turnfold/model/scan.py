"""What a scan and a search for split points are told."""

from typing import Final

import msgspec


class ScanOptions(msgspec.Struct, frozen=True):
    """What the caller knows beyond the body.

    `pending_ids` are calls that still run: their results will come, so they are neither findings nor cut off.
    `thinking` says whether the model's thinking is on; None takes what the body says. `strict_alternation` demands
    that user and assistant take turns, for servers that refuse two messages of one role in a row.
    `closed` says that nothing follows, as for the head of a cut: no call is pending then.
    """

    pending_ids: tuple[str, ...] = ()
    thinking: bool | None = None
    strict_alternation: bool = False
    closed: bool = False


BODY_ONLY: Final = ScanOptions()
"""Nothing is known beyond the body."""
