"""Summarise when the request passes a share of the model's window or a fixed number of tokens."""

from turnfold.errors import ArgumentError
from turnfold.model.policy import Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.presets.budget import FRACTION, budget


def token_threshold(
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    keep_messages: int = 4,
    *,
    window_tokens: int | None = None,
    target_tokens: int | None = None,
    summary_tokens: int = 2_000,
    result_tokens: int = 1_000,
) -> Policy:
    """Fire above `fraction` of the window or above `limit_tokens`, whichever is less; None turns one off.

    All but the instructions and the last `keep_messages` messages is then replaced by one summary of at most
    `summary_tokens` tokens, and kept tool results are shortened to `result_tokens` where that is needed to come down
    to `target_tokens` (by default: the limit that fired).

    The window is `window_tokens`, or the one known for the transcript's model; planning raises `UnknownWindowError`
    where neither is there and no `limit_tokens` is given.
    """
    if keep_messages < 0:
        raise ArgumentError(f"keep_messages must be at least 0, got {keep_messages}")
    return Policy(
        trigger=budget("token_threshold", fraction, limit_tokens, window_tokens),
        steps=(
            Summarize(keep=KeepMessages(keep_messages), max_tokens=summary_tokens),
            TruncateResults(max_tokens=result_tokens, min_tokens=min(100, result_tokens)),
        ),
        target_tokens=target_tokens,
        name="token_threshold",
    )
