"""Known ways of compacting, as policies: data, not subclasses."""

from turnfold.presets.token_threshold import token_threshold

__all__ = ["token_threshold"]
