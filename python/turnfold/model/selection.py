"""What of a transcript a step may change, as data."""

from typing import Literal

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.blocks import Role
from turnfold.model.splits import Keep, KeepMessages, KeepTokens, KeepTurns
from turnfold.model.triggers import at_least, check_share

__all__ = [
    "Keep",
    "KeepMessages",
    "KeepShare",
    "KeepTokens",
    "KeepToolGroups",
    "KeepTurns",
    "Only",
    "Order",
    "Pin",
    "PinIndex",
    "PinPredicate",
    "PinRole",
    "PinText",
    "Scope",
    "Tail",
]


class KeepShare(msgspec.Struct, frozen=True, tag="share"):
    """Keep the longest tail of at most `share` (0..1) of the limit that fired, or else of the model's window."""

    share: float

    def __post_init__(self) -> None:
        check_share("share", self.share)


class KeepToolGroups(msgspec.Struct, frozen=True, tag="tool_groups"):
    """Keep everything from the `count`th last group of tool calls and their results on. 0 keeps none."""

    count: int

    def __post_init__(self) -> None:
        at_least("count", self.count, 0)


Tail = Keep | KeepShare | KeepToolGroups


class PinIndex(msgspec.Struct, frozen=True, tag="index"):
    """Message `index` stays; a negative one counts from the end. One that is not there pins nothing.

    It names a message of one transcript: in the compacted one another message stands there, and what was pinned may go
    the next time. Pin by text, role or predicate what is to stay for good.
    """

    index: int


class PinRole(msgspec.Struct, frozen=True, tag="role"):
    """Messages of this speaker stay."""

    role: Role


class PinText(msgspec.Struct, frozen=True, tag="text"):
    """Messages in which `text` occurs, letter for letter, stay."""

    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise ArgumentError("text must not be empty: it would pin every message")


class PinPredicate(msgspec.Struct, frozen=True, tag="predicate"):
    """Messages for which the predicate of this name holds stay: see `turnfold.planning.predicates`."""

    name: str


Pin = PinIndex | PinRole | PinText | PinPredicate

Only = Literal["all", "assistant", "tool_groups"]
"""What of the messages may go: all, those in which the user says nothing, or groups of tool calls alone."""

Order = Literal["all", "priority"]
"""Whether everything in scope goes, or the least important first and only until the target is met."""


class Scope(msgspec.Struct, frozen=True):
    """What between the instructions and the kept tail a step may change.

    `head` are the first messages that stay: as many messages, turns or tokens. `only` says what else may go.
    `min_tokens` spares groups and results that count less. Calls of `exclude_tools`, by name, stay with their results.
    What `pins` name stays, with what belongs to it. With `user_verbatim` all messages stay in which the user says
    something. `order` says whether everything in scope goes, or the least important first until the target is met.
    """

    head: Tail = msgspec.field(default_factory=lambda: KeepMessages(0))
    only: Only = "all"
    min_tokens: int = 0
    exclude_tools: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    user_verbatim: bool = False
    order: Order = "all"

    def __post_init__(self) -> None:
        at_least("min_tokens", self.min_tokens, 0)
