"""What tokens cost."""

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.summary import Usage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """Prices for a million tokens, in any currency.

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
