"""What a run that was broken on purpose must still fulfil."""

from typing import Final

TINY_SECONDS: Final = 1e-6
"""What sums of times may be off."""


class Broken(AssertionError):  # noqa: N818  # it is a finding, not an error of the program
    """What must hold does not; the seed repeats it."""


def held(holds: bool, what: str) -> None:  # noqa: FBT001
    """Raise `Broken` where something does not hold."""
    if not holds:
        raise Broken(what)
