"""Known ways of compacting, as policies, and receivers, as options of a scan: data, not subclasses."""

from turnfold.presets import rules
from turnfold.presets.token_threshold import token_threshold

__all__ = ["rules", "token_threshold"]
