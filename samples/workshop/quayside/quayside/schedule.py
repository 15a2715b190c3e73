"""Who lies where, and when."""

from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True)
class Stay:
    """A boat on a berth from the evening of `arrives` to the morning of `leaves`."""

    boat: str
    berth: str
    arrives: date
    leaves: date

    def __post_init__(self):
        if self.leaves <= self.arrives:
            raise ValueError(f"{self.boat}: leaves on {self.leaves}, arrives on {self.arrives}")

    @property
    def nights(self):
        return (self.leaves - self.arrives).days


class Clash(Exception):
    """Two stays want one berth in one night."""

    def __init__(self, wanted, taken):
        super().__init__(f"berth {wanted.berth} is taken by {taken.boat} until {taken.leaves}")
        self.wanted = wanted
        self.taken = taken


class Schedule:
    """All stays, in the order of booking."""

    def __init__(self, stays=()):
        self._stays = []
        for stay in stays:
            self.book(stay)

    def __iter__(self):
        return iter(self._stays)

    def __len__(self):
        return len(self._stays)

    def book(self, stay):
        """Add a stay, or raise Clash."""
        for other in self._stays:
            if other.berth == stay.berth and overlaps(other, stay):
                raise Clash(stay, other)
        self._stays.append(stay)

    def on(self, day):
        """Stays that spend the night that begins on `day`, by berth."""
        return sorted((s for s in self._stays if s.arrives <= day < s.leaves), key=lambda s: s.berth)

    def free(self, berths, arrives, leaves):
        """Codes of berths without a stay between two days."""
        wanted = [Stay("?", code, arrives, leaves) for code in berths]
        return [w.berth for w in wanted if not any(o.berth == w.berth and overlaps(o, w) for o in self._stays)]


def overlaps(a, b):
    """Whether two stays share a night."""
    return a.arrives <= b.leaves and b.arrives <= a.leaves


def week(year, number):
    """The seven days of an ISO week."""
    first = date.fromisocalendar(year, number, 1)
    return [first + timedelta(days=k) for k in range(7)]
