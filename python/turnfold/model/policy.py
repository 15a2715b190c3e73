"""A policy as data: when to compact, what to select, what to do with it. The defaults of its parts live here."""

import msgspec

from turnfold.model.plan import SummaryRole
from turnfold.model.splits import Keep, KeepMessages
from turnfold.model.thinking import ThinkingPolicy
from turnfold.model.triggers import (
    AllOf,
    AnyOf,
    Cooldown,
    MessagesOver,
    ModelWindow,
    OnRequest,
    ProviderOverflow,
    ShareOver,
    TokensOver,
    ToolGroupsOlder,
    Trigger,
    TurnsOver,
    TurnsSinceSummary,
    at_least,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "Cooldown",
    "Drop",
    "MessagesOver",
    "ModelWindow",
    "OnRequest",
    "Policy",
    "ProviderOverflow",
    "ShareOver",
    "Step",
    "Summarize",
    "TokensOver",
    "ToolGroupsOlder",
    "Trigger",
    "TruncateResults",
    "TurnsOver",
    "TurnsSinceSummary",
]


class Summarize(msgspec.Struct, frozen=True, tag="summarize"):
    """Replace everything between the leading instructions and the kept tail by one summary message.

    The tail is what `keep` names, more where a cut there is not legal. User messages that nobody has answered yet
    always stay. The summary is placed after the leading instructions in `role`, or in the nearest role that the format
    allows. It counts at most `max_tokens`, wrapper included, less where the target leaves less. On top of that it
    quotes the first user message of what is replaced, and the last one where no kept message is newer, with up to
    `task_max_tokens` each.
    """

    keep: Keep = msgspec.field(default_factory=lambda: KeepMessages(4))
    role: SummaryRole = "user"
    max_tokens: int = 2_000
    task_max_tokens: int = 4_000
    schema: str = "nine_sections"

    def __post_init__(self) -> None:
        at_least("max_tokens", self.max_tokens, 0)
        at_least("task_max_tokens", self.task_max_tokens, 0)


class TruncateResults(msgspec.Struct, frozen=True, tag="truncate_results"):
    """Shorten kept tool results of more than `max_tokens` tokens in place: head and tail stay, a line says what went.

    Largest first, and only until the target is met. Where `max_tokens` each does not reach it, they are shortened
    further, in halves, but never below `min_tokens`.
    """

    max_tokens: int = 1_000
    min_tokens: int = 100

    def __post_init__(self) -> None:
        at_least("min_tokens", self.min_tokens, 0)
        at_least("max_tokens", self.max_tokens, self.min_tokens)


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Drop everything between the leading instructions and the kept tail, and put nothing in its place.

    The last resort where a summary does not fit. The tail is what `keep` names, more where a turn opened earlier: it
    starts with a message of the user. An earlier summary stays, and so do user messages that nobody has answered yet,
    state that is in force, and what only the server holds.
    """

    keep: Keep = msgspec.field(default_factory=lambda: KeepMessages(4))


Step = Summarize | TruncateResults | Drop


class Policy(msgspec.Struct, frozen=True):
    """When to compact, and how.

    Steps run in order until the request counts at most `target_tokens`; None means that the trigger's own limit is
    the target, and with no limit at all that every step is taken in full. `name` is the preset that built it.

    `thinking_policy` says what becomes of reasoning in kept messages when what stood before it has changed. None takes
    it out (`strip`) for models that refuse it after other words, and leaves it (`keep`) for all others.
    """

    trigger: Trigger
    steps: tuple[Step, ...]
    target_tokens: int | None = None
    name: str = "custom"
    thinking_policy: ThinkingPolicy | None = None

    def __post_init__(self) -> None:
        if self.target_tokens is not None:
            at_least("target_tokens", self.target_tokens, 0)
