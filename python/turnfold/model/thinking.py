"""What becomes of kept reasoning when the words before it have changed."""

from typing import Final, Literal

import msgspec

ThinkingPolicy = Literal["keep", "strip", "drop_block"]
"""`keep` leaves it as it is; `strip` takes it out of the messages that are kept; `drop_block` leaves it too, and says
what to send so that the provider takes out what it would refuse."""


class BoundReasoning(msgspec.Struct, frozen=True):
    """How a provider binds reasoning to what stands before it.

    `refused` says whether the model refuses it after other words. `header` and `setting` are names with values, of an
    HTTP header and a dotted field of the body: with both, the provider takes it out instead of refusing the request.
    """

    refused: bool
    header: tuple[str, str]
    setting: tuple[str, str]


class ThinkingAdvice(msgspec.Struct, frozen=True):
    """What to send with the result: HTTP headers, and dotted fields of the body with their values."""

    headers: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]


class ThinkingReport(msgspec.Struct, frozen=True):
    """What became of the reasoning in kept messages whose prefix changed, and why.

    `policy` is what was done. Of such blocks `blocks_stripped` were taken out and `blocks_kept` left. `advice` is there
    where the result must not be sent without it.
    """

    policy: ThinkingPolicy
    reason: str
    blocks_stripped: int = 0
    blocks_kept: int = 0
    advice: ThinkingAdvice | None = None


NO_REASONING: Final = ThinkingReport("keep", "No kept reasoning stands behind a change.")
"""Nothing had to be decided."""
