"""What a session knows beside its request when it asks for a plan."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from turnfold.errors import ArgumentError


class ReportedUsage(msgspec.Struct, frozen=True):
    """What the provider counted for an earlier request of this session: the first `messages` messages of this one.

    `input_tokens` is all of its input, cached parts included.
    """

    messages: int
    input_tokens: int

    def __post_init__(self) -> None:
        for name, value in (("messages", self.messages), ("input_tokens", self.input_tokens)):
            if value < 0:
                raise ArgumentError(f"{name} must be at least 0, got {value}")


class PlanState(msgspec.Struct, frozen=True):
    """What a trigger may ask beyond the request itself.

    With `usage` the tokens are the provider's own for what it has seen, and a count for what came after. `overflow`
    says that the provider refused the request for its length, `requested` that somebody asked for a compaction: the
    trigger fires then, whatever it says. `turns_since_compaction` is for compactions that leave no summary behind; None
    goes by the summary in the transcript. `now` is the caller's clock, for what a summary says of when it was made;
    without one it says nothing of that. Planning itself looks at no clock.
    """

    usage: ReportedUsage | None = None
    overflow: bool = False
    requested: bool = False
    turns_since_compaction: int | None = None
    now: datetime | None = None

    def __post_init__(self) -> None:
        if self.turns_since_compaction is not None and self.turns_since_compaction < 0:
            raise ArgumentError(f"turns_since_compaction must be at least 0, got {self.turns_since_compaction}")
        if self.now is not None and self.now.tzinfo is None:
            raise ArgumentError(f"now must have a time zone, got {self.now.isoformat()}")

    @property
    def time(self) -> str | None:
        """The clock to the second, in UTC: `2026-01-31T09:00:00Z`."""
        if self.now is None:
            return None
        return self.now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


NO_STATE: Final = PlanState()
"""Nothing is known beyond the request."""
