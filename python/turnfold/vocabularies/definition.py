"""What the kernel is told of a vocabulary."""

from typing import Literal, TypeAlias

import msgspec

Split: TypeAlias = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]
"""What becomes of the matches of a pattern: `tokenizer.json` names the same five."""

Cut: TypeAlias = tuple[str, Literal["tiktoken", "oniguruma"], Split, bool]
"""One step of cutting text into pieces: pattern, in whose words, what becomes of matches, inverted."""


class Definition(msgspec.Struct, frozen=True):
    """A byte-level BPE vocabulary.

    `merges` are pairs of ids, the first merge first; None where two neighbours merge if their join is a token, the
    lowest id first. `whole_pieces`: a piece that is itself a token is that token. `nfc`: text is brought to Unicode's
    normal form C first. `space_first`: a text that starts with no space gets one.
    """

    tokens: list[tuple[bytes, int]]
    merges: list[tuple[int, int]] | None
    special_tokens: list[tuple[str, int]]
    cuts: list[Cut]
    whole_pieces: bool
    nfc: bool = False
    space_first: bool = False


def is_id(number: object) -> bool:
    """Whether it can be the id, or rank, of a token."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 32
