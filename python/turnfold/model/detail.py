"""What a detail is: something said word for word that names nothing, and that work goes wrong without."""

from typing import Literal

import msgspec

DetailKind = Literal["command", "error", "quantity", "rule"]
"""`command`: what was run, or is to be; `error`: a line that says what went wrong; `quantity`: a number with its unit;
`rule`: a sentence of the user, or of an instruction, that says what must, must not or shall be.
"""


class Detail(msgspec.Struct, frozen=True, gc=False):
    """One detail, spelled as the text spells it."""

    kind: DetailKind
    text: str


class DetailReport(msgspec.Struct, frozen=True):
    """Details of what a compaction replaced or shortened: which the result still holds word for word, which not."""

    kept: tuple[Detail, ...]
    lost: tuple[Detail, ...]
