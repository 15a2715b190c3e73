"""A policy as data: when to compact, what to select, what to do with it. All defaults live here."""

from typing import Literal

import msgspec

from turnfold.model.splits import Keep, KeepMessages


class TokensOver(msgspec.Struct, frozen=True, tag="tokens_over"):
    """Fires when the request counts more than `limit_tokens` tokens."""

    limit_tokens: int


class ShareOver(msgspec.Struct, frozen=True, tag="share_over"):
    """Fires when the request fills more than `share` (0..1) of a window of `window_tokens`."""

    share: float
    window_tokens: int


class OnRequest(msgspec.Struct, frozen=True, tag="on_request"):
    """Always fires: the caller has decided."""


class AnyOf(msgspec.Struct, frozen=True, tag="any_of"):
    """Fires when one of `triggers` does."""

    triggers: tuple["TokensOver | ShareOver | OnRequest", ...]


Trigger = TokensOver | ShareOver | OnRequest | AnyOf


class Summarize(msgspec.Struct, frozen=True, tag="summarize"):
    """Replace everything between the leading instructions and the kept tail by one summary message.

    The summary is placed after the leading instructions in `role`, or in the nearest role that the format allows.
    It never counts more than `max_tokens`, wrapper included.
    """

    keep: Keep = msgspec.field(default_factory=lambda: KeepMessages(4))
    role: Literal["user", "assistant"] = "user"
    max_tokens: int = 2_000
    schema: str = "nine_sections"


class TruncateResults(msgspec.Struct, frozen=True, tag="truncate_results"):
    """Shorten tool results of more than `max_tokens` tokens in place: head and tail stay, a line says what went.

    Works on what other steps keep, largest first, and stops as soon as the target is met.
    """

    max_tokens: int = 1_000


Step = Summarize | TruncateResults


class Policy(msgspec.Struct, frozen=True):
    """When to compact, and how.

    Steps run in order until the request counts at most `target_tokens`; None means that the trigger's own limit is
    the target. `name` is the preset that built it.
    """

    trigger: Trigger
    steps: tuple[Step, ...]
    target_tokens: int | None = None
    name: str = "custom"
