"""Token counts."""

from typing import Final, Literal

import msgspec

CountSource = Literal["exact", "bounds", "estimate", "usage"]

CountMode = Literal["exact", "bounds", "estimate"]
"""How texts are counted: by the vocabulary, between bounds that are proved, or estimated from their bytes."""
ModelLabel = Literal["exact", "assumed", "estimate"]

DEFAULT_ENCODING: Final = "o200k_base"
"""What counts are made in where neither an encoding nor a model is named."""


class TokenCount(msgspec.Struct, frozen=True, gc=False):
    """A number of tokens and how far it can be trusted.

    `n` is the best single number, `lo <= n <= hi`. With `source="exact"` the three are equal and are what the model's
    own tokenizer gives; with `"bounds"` that number surely lies in `lo..hi`, and `n` is a guess; with `"estimate"` it
    mostly does; with `"usage"` a provider reported them.
    """

    n: int
    lo: int
    hi: int
    source: CountSource


class ModelEncoding(msgspec.Struct, frozen=True):
    """The encoding that a model is counted in, and how sure it is that it is the model's own.

    `label` is "exact" where it is published or was registered so; "assumed" where it is taken over from earlier models
    or nothing is known of the name; "estimate" where the model has another vocabulary, which does not ship. Counts are
    exact for "exact" only, and intervals for the others.
    """

    encoding: str
    label: ModelLabel
