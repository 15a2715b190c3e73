"""Who writes a summary: one file a way, one protocol."""

from typing import TYPE_CHECKING, Final

from turnfold.first_use import loaded

if TYPE_CHECKING:
    from turnfold.model.price import Price
    from turnfold.summarizers.anthropic import Anthropic
    from turnfold.summarizers.fallback import Fallback
    from turnfold.summarizers.function import Function
    from turnfold.summarizers.hedged import Hedged
    from turnfold.summarizers.limited import Limited
    from turnfold.summarizers.marker import Marker
    from turnfold.summarizers.member import Member
    from turnfold.summarizers.openai_compatible import OpenAICompatible
    from turnfold.summarizers.protocol import Summarizer, window_of
    from turnfold.summarizers.provider import ProviderCompaction, compact_at_provider
    from turnfold.summarizers.rate_limit import RateLimit
    from turnfold.summarizers.redacting import Redacting
    from turnfold.summarizers.rules import Rules
    from turnfold.summarizers.spending import SpendCap

__all__ = [
    "Anthropic",
    "Fallback",
    "Function",
    "Hedged",
    "Limited",
    "Marker",
    "Member",
    "OpenAICompatible",
    "Price",
    "ProviderCompaction",
    "RateLimit",
    "Redacting",
    "Rules",
    "SpendCap",
    "Summarizer",
    "compact_at_provider",
    "window_of",
]

# Who has summaries made by rule waits for no client of a model, nor for an event loop.
_ON_FIRST_USE: Final = {
    "Anthropic": "turnfold.summarizers.anthropic",
    "Fallback": "turnfold.summarizers.fallback",
    "Function": "turnfold.summarizers.function",
    "Hedged": "turnfold.summarizers.hedged",
    "Limited": "turnfold.summarizers.limited",
    "Marker": "turnfold.summarizers.marker",
    "Member": "turnfold.summarizers.member",
    "OpenAICompatible": "turnfold.summarizers.openai_compatible",
    "Price": "turnfold.model.price",
    "ProviderCompaction": "turnfold.summarizers.provider",
    "RateLimit": "turnfold.summarizers.rate_limit",
    "Redacting": "turnfold.summarizers.redacting",
    "Rules": "turnfold.summarizers.rules",
    "SpendCap": "turnfold.summarizers.spending",
    "Summarizer": "turnfold.summarizers.protocol",
    "compact_at_provider": "turnfold.summarizers.provider",
    "window_of": "turnfold.summarizers.protocol",
}


def __getattr__(name: str) -> object:
    return loaded(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return __all__
