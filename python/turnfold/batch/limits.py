"""How much a batch may do at once, and in all."""

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.price import Price
from turnfold.summarizers.protocol import DEADLINE_SECONDS


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
