"""Who writes a summary: one file a way, one protocol."""

from turnfold.summarizers.anthropic import Anthropic
from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.function import Function
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.member import Member
from turnfold.summarizers.openai_compatible import OpenAICompatible
from turnfold.summarizers.protocol import Summarizer, window_of
from turnfold.summarizers.rules import Rules

__all__ = [
    "Anthropic",
    "Fallback",
    "Function",
    "Marker",
    "Member",
    "OpenAICompatible",
    "Rules",
    "Summarizer",
    "window_of",
]
