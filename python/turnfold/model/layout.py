"""What a compaction must know of a transcript beside its legal cuts."""

import msgspec


class Layout(msgspec.Struct, frozen=True):
    """The parts of one transcript, as half-open ranges `(start, stop)` of message indexes.

    `turns` are the first messages of the turns. `barrier` is the latest message into which the provider has folded
    what precedes it, with what is bound to it, and `folded` what may go for that; both empty where there is none.
    `lasting` are groups after the barrier that a summary cannot stand for: they set state for all that follows, or
    point to what only the server holds. `reasoned_loop` is the open tool loop that has to start with reasoning; empty
    where nothing demands that.
    """

    turns: tuple[int, ...]
    folded: tuple[int, int]
    barrier: tuple[int, int]
    lasting: tuple[tuple[int, int], ...]
    reasoned_loop: tuple[int, int]
