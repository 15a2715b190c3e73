"""What presets share that fire at a budget: a share of the model's window, or a fixed number of tokens."""

from turnfold.errors import ArgumentError
from turnfold.model.policy import AnyOf, ShareOver, TokensOver, Trigger
from turnfold.presets.windows import WINDOWS

FRACTION = 0.7
"""The share of the window at which presets fire that are told nothing else."""


def budget(name: str, fraction: float | None, limit_tokens: int | None, window_tokens: int | None) -> Trigger:
    """Fire above `fraction` of the window or above `limit_tokens`, whichever is less; None turns one off."""
    triggers: list[Trigger] = []
    if fraction is not None:
        windows = WINDOWS if window_tokens is None else ()
        triggers.append(ShareOver(share=fraction, window_tokens=window_tokens, windows=windows))
    if limit_tokens is not None:
        triggers.append(TokensOver(limit_tokens))
    if not triggers:
        raise ArgumentError(f"{name} needs a fraction of the window or limit_tokens: both are None")
    return AnyOf(tuple(triggers)) if len(triggers) > 1 else triggers[0]
