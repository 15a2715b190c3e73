"""How much of a provider's prompt cache two requests share."""

from typing import Literal

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """The first place where two requests differ, in the provider's render order.

    `message` is set when it lies in the messages; it is the number of messages of the second request where that ends
    first. `path` is the JSON path of the deepest value that holds the first differing byte in both; white space before
    a value counts to it.
    """

    section: Literal["tools", "system", "messages"]
    message: int | None
    path: str


class PrefixReport(msgspec.Struct, frozen=True):
    """The part that two requests share from the start, in render order (tools, system, messages).

    `bytes` go up to the first that differs. `messages` counts whole messages; `tokens` those of the sections and
    messages that are shared whole, without what the provider adds to the request. `before_is_prefix` says that all of
    the first request stands at the start of the second: then `first_difference` is None. `ignoring_cache_markers`
    answers the same with the fields left out that only mark a cache breakpoint.
    """

    bytes: int
    messages: int
    tokens: int
    first_difference: Difference | None
    before_is_prefix: bool
    ignoring_cache_markers: bool
