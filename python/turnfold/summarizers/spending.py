"""What summaries may cost, at prices that the caller gives."""

import threading

import msgspec

from turnfold.errors import ArgumentError, SummarizerError
from turnfold.model.summary import Usage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """Prices for a million tokens, in whatever currency the cap is in.

    What is read from a cache or written to one costs the input's price where nothing is said.
    """

    input_per_million: float
    output_per_million: float
    cache_read_per_million: float | None = None
    cache_write_per_million: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ArgumentError(f"{name} must be at least 0, got {value}")

    def of(self, usage: Usage) -> float:
        """What `usage` costs."""
        read = self.input_per_million if self.cache_read_per_million is None else self.cache_read_per_million
        written = self.input_per_million if self.cache_write_per_million is None else self.cache_write_per_million
        plain = usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        return (
            max(0, plain) * self.input_per_million
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * written
            + usage.completion_tokens * self.output_per_million
        ) / _MILLION


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
