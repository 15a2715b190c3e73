"""When a policy compacts, as data."""

from typing import Literal

import msgspec

from turnfold.errors import ArgumentError

TurnUnit = Literal["user", "step"]
"""What a turn is: what follows a message of the user up to the next, or one step of the model with its results."""


class ModelWindow(msgspec.Struct, frozen=True):
    """How many input tokens a model takes. `model` is its name; dated variants (`model-2026-01-01`) match too."""

    model: str
    window_tokens: int

    def __post_init__(self) -> None:
        at_least("window_tokens", self.window_tokens, 1)


class TokensOver(msgspec.Struct, frozen=True, tag="tokens_over"):
    """Fires when the request counts more than `limit_tokens` tokens."""

    limit_tokens: int

    def __post_init__(self) -> None:
        at_least("limit_tokens", self.limit_tokens, 0)


class ShareOver(msgspec.Struct, frozen=True, tag="share_over"):
    """Fires when the request fills more than `share` (0..1) of the model's window.

    The window is `window_tokens`, or else the entry of `windows` that names the transcript's model most closely.
    """

    share: float
    window_tokens: int | None = None
    windows: tuple[ModelWindow, ...] = ()

    def __post_init__(self) -> None:
        check_share("share", self.share)
        if self.window_tokens is not None:
            at_least("window_tokens", self.window_tokens, 1)


class MessagesOver(msgspec.Struct, frozen=True, tag="messages_over"):
    """Fires when there are more than `count` messages after the instructions."""

    count: int

    def __post_init__(self) -> None:
        at_least("count", self.count, 0)


class TurnsOver(msgspec.Struct, frozen=True, tag="turns_over"):
    """Fires when there are more than `count` turns, a summary not among them."""

    count: int

    def __post_init__(self) -> None:
        at_least("count", self.count, 0)


class TurnsSinceSummary(msgspec.Struct, frozen=True, tag="turns_since_summary"):
    """Fires when `count` turns or more stand after the latest summary; without one, when there are so many in all.

    `unit` says what a turn is: what follows a message of the user up to the next ("user"), or one step of the model
    with its results ("step"), as agents count that run for long on one task.
    """

    count: int
    unit: TurnUnit = "user"

    def __post_init__(self) -> None:
        at_least("count", self.count, 1)
        if self.unit not in {"user", "step"}:
            raise ArgumentError(f"unit must be user or step, got {self.unit!r}")


class ToolGroupsOlder(msgspec.Struct, frozen=True, tag="tool_groups_older"):
    """Fires when at least `min_groups` complete groups of calls and results have `min_age` newer groups behind them."""

    min_age: int
    min_groups: int = 1

    def __post_init__(self) -> None:
        at_least("min_age", self.min_age, 0)
        at_least("min_groups", self.min_groups, 1)


class ProviderOverflow(msgspec.Struct, frozen=True, tag="provider_overflow"):
    """Fires when the provider has refused the request for its length: the caller says so in `PlanState.overflow`."""


class OnRequest(msgspec.Struct, frozen=True, tag="on_request"):
    """Always fires: the caller has decided."""


class AnyOf(msgspec.Struct, frozen=True, tag="any_of"):
    """Fires when one of `triggers` does. A share of a window that nobody knows is passed over if another can decide."""

    triggers: "tuple[Trigger, ...]"

    def __post_init__(self) -> None:
        if not self.triggers:
            raise ArgumentError("any_of needs at least one trigger")


class AllOf(msgspec.Struct, frozen=True, tag="all_of"):
    """Fires when all of `triggers` do."""

    triggers: "tuple[Trigger, ...]"

    def __post_init__(self) -> None:
        if not self.triggers:
            raise ArgumentError("all_of needs at least one trigger")


class Cooldown(msgspec.Struct, frozen=True, tag="cooldown"):
    """Fires when `trigger` does and at least `turns` turns have passed since the last compaction."""

    trigger: "Trigger"
    turns: int

    def __post_init__(self) -> None:
        at_least("turns", self.turns, 0)


Trigger = (
    TokensOver
    | ShareOver
    | MessagesOver
    | TurnsOver
    | TurnsSinceSummary
    | ToolGroupsOlder
    | ProviderOverflow
    | OnRequest
    | AnyOf
    | AllOf
    | Cooldown
)


def at_least(name: str, value: int, least: int) -> None:
    """Raise `ArgumentError` for a number below `least`."""
    if value < least:
        raise ArgumentError(f"{name} must be at least {least}, got {value}")


def check_share(name: str, value: float) -> None:
    """Raise `ArgumentError` for what is no share."""
    # Written so that NaN is refused too.
    if not 0 <= value <= 1:
        raise ArgumentError(f"{name} must be between 0 and 1, got {value}")
