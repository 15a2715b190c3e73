"""How two plans for one transcript differ."""

from typing import Literal

import msgspec

Fate = Literal["kept", "edited", "stripped", "dropped", "folded", "summarized"]
"""What becomes of a message: it stays as it is, with other texts, or without some of its blocks; it goes, because the
policy drops it or the provider has folded it into another; or a summary stands for it."""


class FateChange(msgspec.Struct, frozen=True):
    """Messages `[start, stop)` of which the two plans make something else.

    Where both edit or strip a message and the texts or blocks differ, `first` and `second` are the same.
    """

    start: int
    stop: int
    first: Fate
    second: Fate


class SettingChange(msgspec.Struct, frozen=True):
    """A number or name in which two plans differ, with its value in each as JSON.

    `name` is a field of the plan (`target_tokens`), or of one of its holes, counted from 0 (`holes[0].max_tokens`);
    `outcome` is the reason of a skip, or `plan`.
    """

    name: str
    first: str
    second: str


class PlanDifference(msgspec.Struct, frozen=True):
    """Everything in which two plans for one transcript differ; `same` says that there is nothing."""

    fates: tuple[FateChange, ...]
    settings: tuple[SettingChange, ...]

    @property
    def same(self) -> bool:
        """Whether both plans say the same."""
        return not self.fates and not self.settings
