"""Repeated and old results go first; a summary is written only where that is not enough."""

from turnfold.model.policy import DedupeResults, MaskResults, Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepMessages, KeepToolGroups
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget


def hybrid(
    keep: int = 10,
    keep_messages: int = 4,
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    target_share: float = 0.8,
    summary_tokens: int = 2_000,
) -> Policy:
    """Fire at a budget; take steps until it is met: repeated results, results before the last `keep` groups, a summary.

    The summary replaces all but the last `keep_messages` messages. It is written from the results themselves, not from
    what masks left of them.
    """
    at_least("keep_messages", keep_messages, 0)
    return Policy(
        trigger=budget("hybrid", fraction, limit_tokens, window_tokens),
        steps=(
            DedupeResults(),
            MaskResults(KeepToolGroups(keep)),
            Summarize(KeepMessages(keep_messages), max_tokens=summary_tokens),
            TruncateResults(),
        ),
        name="hybrid",
        target_share=target_share,
        fit="likely",
    )
