"""A plan tiles the transcript: every message is kept, replaced or rewritten, and the fit is known before any call."""

from typing import Literal

import msgspec

from turnfold.model.counts import TokenCount

SkipReason = Literal[
    "under_trigger",
    "nothing_to_compact",
    "no_legal_split",
    "budget_below_floor",
    "no_reduction",
    "misses_target",
    "invalid_input",
    "invalid_output",
]


class Skip(msgspec.Struct, frozen=True, tag="skip"):
    """Nothing was done, and why. `reason` is from a closed list; `text` says it in a sentence."""

    reason: SkipReason
    text: str
    before: TokenCount


class KeepRange(msgspec.Struct, frozen=True, tag="keep"):
    """Messages `[start, stop)` leave as they are, byte for byte."""

    start: int
    stop: int


class SummaryHole(msgspec.Struct, frozen=True, tag="summary"):
    """Messages `[start, stop)` are replaced by one summary message of at most `max_tokens` tokens."""

    start: int
    stop: int
    role: Literal["user", "assistant"]
    max_tokens: int
    schema: str


class TruncateBlock(msgspec.Struct, frozen=True, tag="truncate"):
    """Message `start` (`stop = start + 1`) stays with the texts of `blocks` cut to `max_tokens` tokens each."""

    start: int
    stop: int
    blocks: tuple[int, ...]
    max_tokens: int


Tile = KeepRange | SummaryHole | TruncateBlock


class CompactionPlan(msgspec.Struct, frozen=True, tag="plan"):
    """What to do, before anything is paid for.

    `tiles` cover `[0, messages)` in order, without gap or overlap. `source` is the fingerprint of the transcript that
    the plan is for; applying it to another is refused. `tokens_at_most` bounds the result from above.
    """

    source: str
    messages: int
    encoding: str
    tiles: tuple[Tile, ...]
    before: TokenCount
    tokens_at_most: int
    target_tokens: int
    policy: str
