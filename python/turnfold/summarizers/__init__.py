"""Who writes a summary: one file a way, one protocol."""

from turnfold.summarizers.fallback import Fallback
from turnfold.summarizers.function import Function
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.member import Member
from turnfold.summarizers.protocol import Summarizer, window_of
from turnfold.summarizers.rules import Rules

__all__ = ["Fallback", "Function", "Marker", "Member", "Rules", "Summarizer", "window_of"]
