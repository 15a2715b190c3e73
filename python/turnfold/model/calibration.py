"""What a provider's reported usage says about counts: a factor for the next ones."""

import math
from collections.abc import Iterable
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.counts import TokenCount

_REMEMBERED: Final = 100
"""Reports that a calibration keeps: the oldest go."""

_NORMAL: Final = 1.4826
"""A standard deviation, for each median deviation of what is spread normally."""

_SURE_WITHIN: Final = 3.0
"""Standard deviations of the interval around a calibrated count."""

_MOST: Final = 0.95
"""The share of the reports remembered that the interval would have held, however far they lay off."""


class Calibration(msgspec.Struct, frozen=True):
    """A factor between counts and the usage that a provider reported for them. Plain data: keep one a model.

    Start with `Calibration()` and replace it after each reply: `calibration = calibration.observe(count, usage)`. It
    holds the ratios of the last 100 reports, and nothing is remembered anywhere else. The factor is their median, each
    by the logarithm of its request's size: reports that are far off (hosted tools, content that only the server holds)
    move it by no more than any other, as long as they are less than half. For ratios that vary by up to a share `s`
    around the true one it is within `4 * s / sqrt(n)` after n requests, and a provider that counts otherwise from some
    day on is followed after 50.
    """

    reports: tuple[tuple[float, float], ...] = ()
    """The last reports, oldest first: tokens reported for each counted one, and the report's weight."""

    def observe(self, count: TokenCount, usage: int) -> "Calibration":
        """Return the calibration that has also seen a request of `count` for which the provider reported `usage`.

        `usage` is all input tokens, cached ones included. A count or a usage of 0 teaches nothing and changes nothing.
        Raises an `ArgumentError` where `usage` is no whole number, negative, or above what 64 bits hold. O(reports).
        """
        if not isinstance(usage, int):
            raise ArgumentError(f"usage is a whole number of tokens, not {usage!r}")
        if not 0 <= usage < 1 << 64:
            raise ArgumentError(f"A number of tokens is not negative, and has 64 bits at most: {usage}")
        if count.n == 0 or usage == 0:
            return self
        report = usage / count.n, math.log1p(count.n)
        return Calibration((*self.reports[1 - _REMEMBERED :], report))

    @property
    def factor(self) -> float:
        """Reported tokens for each counted one; 1.0 before anything was seen."""
        return _quantile(self.reports, 0.5) if self.reports else 1.0

    @property
    def deviation(self) -> float:
        """By what share reports lie off the factor, as a standard deviation without the far off; 1.0 before two."""
        return _NORMAL * _quantile(self._shares_off(), 0.5) if len(self.reports) > 1 else 1.0

    def apply(self, count: TokenCount) -> TokenCount:
        """Return `count` times the factor; unchanged before two observations.

        The interval is that of three deviations, wider where that would not hold 95 of 100 reports. It never leaves
        what `count` itself allows, unless the calibrated number does. O(reports).
        """
        if len(self.reports) <= 1:
            return count
        n = round(count.n * self.factor)
        share = max(_SURE_WITHIN * self.deviation, _quantile(self._shares_off(), _MOST))
        room = math.ceil(n * share * math.sqrt(1 + 1 / len(self.reports))) + 1
        lo, hi = max(0, n - room), n + room
        if count.source != "exact":
            lo, hi = min(n, max(lo, count.lo)), max(n, min(hi, count.hi))
        return TokenCount(n, lo, hi, "estimate")

    def _shares_off(self) -> list[tuple[float, float]]:
        factor = self.factor
        return [(abs(ratio / factor - 1), weight) for ratio, weight in self.reports]


def _quantile(weighted: Iterable[tuple[float, float]], share: float) -> float:
    """Return the least value that, with all below it, has so large a share of the weight."""
    ordered = sorted(weighted)
    left = share * sum(weight for _, weight in ordered)
    for value, weight in ordered:
        left -= weight
        if left <= 0:
            return value
    return ordered[-1][0]
