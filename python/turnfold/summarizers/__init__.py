"""Who writes a summary: one file a way, one protocol."""

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
