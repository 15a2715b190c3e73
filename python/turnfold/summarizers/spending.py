"""What summaries may cost, at prices that the caller gives."""

import threading

from turnfold.errors import ArgumentError, SummarizerError
from turnfold.model.price import Price
from turnfold.model.summary import Usage


class SpendCap:
    """At most so much over all who share this object.

    Before a call its highest cost is set aside; a call that could go over the cap is refused (`spend_cap`). After it
    the cost is what was used. `spent` is what has been used so far, `reserved` what calls on their way may still use.
    """

    def __init__(self, most: float, price: Price) -> None:
        if not most >= 0:
            raise ArgumentError(f"The cap must be at least 0, got {most}")
        self.most = most
        self.price = price
        self.spent = 0.0
        self.reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, most: Usage) -> float:
        """Set aside what a call costs at most, and return it. Raises `SummarizerError` where it would go over."""
        cost = self.price.of(most)
        with self._lock:
            if self.spent + self.reserved + cost > self.most:
                taken = self.spent + self.reserved
                raise SummarizerError(f"{taken:.4f} of {self.most:.4f} is spent, and it costs {cost:.4f}", "spend_cap")
            self.reserved += cost
        return cost

    def settle(self, reserved: float, used: Usage) -> None:
        """Replace what was set aside by what was used."""
        with self._lock:
            self.reserved -= reserved
            self.spent += self.price.of(used)
