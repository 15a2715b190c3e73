"""How much of a provider's prompt cache two requests share."""

from typing import Literal

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """The first place where two requests differ, in the provider's render order."""

    section: Literal["tools", "system", "messages"]
    message: int | None
    path: str


class PrefixReport(msgspec.Struct, frozen=True):
    """The part that two requests share from the start, in render order (tools, system, messages).

    `messages` counts whole messages; `tokens` counts the shared sections and whole messages. `first_difference` is
    None when the first request is a prefix of the second.
    """

    bytes: int
    messages: int
    tokens: int
    first_difference: Difference | None
    before_is_prefix: bool
    ignoring_cache_markers: bool
