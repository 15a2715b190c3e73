"""Token counts."""

from typing import Final, Literal

import msgspec

CountSource = Literal["exact", "estimate", "usage"]

DEFAULT_ENCODING: Final = "o200k_base"
"""What counts are made in where neither an encoding nor a model is named."""


class TokenCount(msgspec.Struct, frozen=True):
    """A number of tokens and how far it can be trusted.

    `n` is the best single number, `lo <= n <= hi`. With `source="exact"` the three are equal and are what the model's
    own tokenizer gives; with `"estimate"` they bound it; with `"usage"` a provider reported them.
    """

    n: int
    lo: int
    hi: int
    source: CountSource
