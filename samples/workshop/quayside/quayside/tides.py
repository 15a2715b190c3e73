"""Depth of water over chart datum, from a table of high and low waters."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import cos, pi


@dataclass(frozen=True)
class Extreme:
    """One high or low water."""

    at: datetime
    height_metres: float


class TideTable:
    """Heights between extremes follow half a cosine, as the twelfths rule approximates."""

    def __init__(self, extremes):
        self._extremes = sorted(extremes, key=lambda e: e.at)
        self._times = [e.at for e in self._extremes]
        if len(self._extremes) < 2:
            raise ValueError("a tide table needs at least two extremes")

    def height(self, moment):
        """Height of the tide in metres over chart datum."""
        k = bisect_right(self._times, moment)
        if k == 0 or k == len(self._times):
            raise LookupError(f"no tide for {moment:%Y-%m-%d %H:%M}")
        before, after = self._extremes[k - 1], self._extremes[k]
        share = (moment - before.at) / (after.at - before.at)
        middle = (before.height_metres + after.height_metres) / 2
        half_range = (before.height_metres - after.height_metres) / 2
        return middle + half_range * cos(pi * share)

    def windows(self, start, stop, height_metres, step=timedelta(minutes=10)):
        """Spans within [start, stop) in which the tide stands at or above a height, to the step."""
        spans = []
        opened = None
        moment = start
        while moment < stop:
            enough = self.height(moment) >= height_metres
            if enough and opened is None:
                opened = moment
            if not enough and opened is not None:
                spans.append((opened, moment))
                opened = None
            moment += step
        return spans


def parse_table(text):
    """Read lines of `2026-07-28 03:14 5.2`; blank lines and # comments are skipped."""
    extremes = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            date, clock, height = line.split()
            at = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H:%M")
            extremes.append(Extreme(at, float(height)))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return TideTable(extremes)
