"""What goes into a batch, within what limits, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.price import Price
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.summarizers.protocol import DEADLINE_SECONDS
from turnfold.transcript import Transcript

BatchTranscript = Transcript | bytes | Sequence[Message] | Exception
"""A transcript, a request body, or a list of messages; or what its source could not read it for, which makes it
`failed` in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEntry:
    """An item with a policy of its own, and with the wire format that it is read in where that is not detected."""

    item: BatchTranscript
    policy: Policy | None = None
    format: str | None = None


BatchInput = BatchTranscript | BatchEntry
"""What a batch takes."""

BatchStatus = Literal["compacted", "skipped", "failed", "deadline", "elsewhere"]
"""What became of an item.

`compacted`: `result` has the new transcript; `skipped`: nothing was done, and `result` says why; `failed`: `error` was
raised; `deadline`: the batch's time was up before it was done, or begun; `elsewhere`: another run that lives, with the
same journal, is at work on it and hands it over.
"""


class BatchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a batch may do at once, in a minute and in all.

    `concurrency` items are worked on at once, and `calls` summarizer calls (as many where it is None) run at once over
    all of them. At most `ahead` results wait for who reads them, then no further item is taken. An item has
    `item_seconds`, the whole batch `deadline_seconds`: None is no limit. At the batch's deadline items in work end as
    at their own, and no other is begun.

    `requests_per_minute` and `tokens_per_minute` (prompt and reply) hold for all summarizer calls together, and what
    they cost at `price` is never more than `most_spent`, in the currency of the price: a call that could go over it is
    not made, and ends as any other that fails (`spend_cap`).
    """

    concurrency: int = 16
    calls: int | None = None
    ahead: int = 16
    item_seconds: float | None = DEADLINE_SECONDS
    deadline_seconds: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    most_spent: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("concurrency", 1),
            ("calls", 1),
            ("ahead", 0),
            ("item_seconds", 0),
            ("deadline_seconds", 0),
            ("most_spent", 0),
        ):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ArgumentError(f"{name} must be at least {least}, got {value}")
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ArgumentError(f"{name} must be over 0, got {value}")
        if self.most_spent is not None and self.price is None:
            raise ArgumentError("most_spent needs a price: Price(input_per_million=..., output_per_million=...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One item of a batch: `index` is its place in the input, `item` what was given, `seconds` how long it took.

    `transcript` is what was read of it, None where nothing was. `resumed` says that an earlier run with the same
    journal had done it: its result is made again of what that one wrote, and nobody is asked. `reused` is how many of
    its requests to a summarizer were answered with the reply to an equal one.
    """

    index: int
    item: BatchInput
    status: BatchStatus
    transcript: Transcript | None = None
    result: CompactionResult | Skip | None = None
    error: Exception | None = None
    seconds: float = 0.0
    resumed: bool = False
    reused: int = 0
