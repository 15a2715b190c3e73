"""What a provider's reported usage says about counts: a factor for the next ones."""

import math
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.counts import TokenCount

_REMEMBERED: Final = 200
"""Requests whose worth a calibration keeps: older ones fade."""

_ROOM: Final = 0.25
"""By what share a report may lie off the factor, or by three deviations: a usage that holds what hosted tools fetched,
or a document that only the server read, says nothing of the rest."""

_MOST_ROOM: Final = 1.0
"""The most by which one report moves the factor: to the double, or to the half."""

_SURE_WITHIN: Final = 3.0
"""Standard deviations of the interval around a calibrated count."""


class Calibration(msgspec.Struct, frozen=True):
    """A factor between counts and the usage that a provider reported for them. Plain data: keep one a model.

    Start with `Calibration()` and replace it after each reply: `calibration = calibration.observe(count, usage)`. It
    holds four numbers, and nothing is remembered anywhere else. The factor is the mean ratio of reported tokens to
    counted ones, the last 200 requests weighing most and each by the square root of its size, so it comes to the true
    ratio as requests come in: for ratios that vary by a share `s` around it, within `3 * s / sqrt(n)` after n requests
    of equal size. A report that is far off (hosted tools, content that only the server holds) counts as one that is
    off by three deviations.
    """

    weight: float = 0.0
    """Requests seen, older ones for less."""
    counted: float = 0.0
    """The weights of these requests: square roots of the tokens counted."""
    reported: float = 0.0
    """These weights, each times the ratio of reported to counted."""
    squares: float = 0.0
    """Squared shares by which reports lay off the factor before them."""

    def observe(self, count: TokenCount, usage: int) -> "Calibration":
        """Return the calibration that has also seen a request of `count` for which the provider reported `usage`.

        `usage` is all input tokens, cached ones included. A count or a usage of 0 teaches nothing and changes nothing.
        Raises an `ArgumentError` where `usage` is negative. O(1).
        """
        if usage < 0:
            raise ArgumentError(f"A number of tokens is not negative: {usage}")
        if count.n == 0 or usage == 0:
            return self
        fade = 1 - 1 / _REMEMBERED
        room = min(max(_ROOM, _SURE_WITHIN * self.deviation), _MOST_ROOM)
        off = min(max(usage / count.n / self.factor, 1 / (1 + room)), 1 + room)
        counted = math.sqrt(count.n)
        return Calibration(
            weight=self.weight * fade + 1,
            counted=self.counted * fade + counted,
            reported=self.reported * fade + counted * self.factor * off,
            squares=self.squares * fade + ((off - 1) ** 2 if self.weight else 0.0),
        )

    @property
    def factor(self) -> float:
        """Reported tokens for each counted one; 1.0 before anything was seen."""
        return self.reported / self.counted if self.counted else 1.0

    @property
    def deviation(self) -> float:
        """By what share reports lay off what the factor made of the count, as a standard deviation; 1.0 before two."""
        return math.sqrt(self.squares / (self.weight - 1)) if self.weight > 1 else 1.0

    def apply(self, count: TokenCount) -> TokenCount:
        """Return `count` times the factor, with an interval of three deviations; unchanged before two observations.

        The interval never leaves what `count` itself allows, unless the calibrated number does. O(1).
        """
        if self.weight <= 1:
            return count
        n = round(count.n * self.factor)
        room = math.ceil(n * _SURE_WITHIN * self.deviation * math.sqrt(1 + 1 / self.weight)) + 1
        lo, hi = max(0, n - room), n + room
        if count.source != "exact":
            lo, hi = min(n, max(lo, count.lo)), max(n, min(hi, count.hi))
        return TokenCount(n, lo, hi, "estimate")
