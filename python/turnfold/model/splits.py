"""Where a transcript may be cut."""

import msgspec


class KeepMessages(msgspec.Struct, frozen=True, tag="messages"):
    """Keep the last `count` messages (more where a cut there is not legal). 0 keeps none."""

    count: int


class KeepTurns(msgspec.Struct, frozen=True, tag="turns"):
    """Keep the last `count` turns. A turn is a user message up to the next; a message of tool results opens none."""

    count: int


class KeepTokens(msgspec.Struct, frozen=True, tag="tokens"):
    """Keep the longest tail of at most `limit_tokens` tokens."""

    limit_tokens: int


Keep = KeepMessages | KeepTurns | KeepTokens


class Blocker(msgspec.Struct, frozen=True):
    """Why an index is no split point: the pair or rule that it would break."""

    code: str
    text: str
    call_id: str | None
    start: int
    stop: int


class SplitPoint(msgspec.Struct, frozen=True):
    """A legal cut: messages `[0, index)` may go, `[index, n)` stay.

    `moved_by` says why it is not where it was asked.
    """

    index: int
    requested: int
    kept: int
    evicted: int
    moved_by: tuple[Blocker, ...]
