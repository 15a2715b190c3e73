"""Drop the least important messages first: what can be read again before what only the user knows."""

from turnfold.model.policy import Drop, Policy, TruncateResults
from turnfold.model.selection import KeepMessages, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget


def priority_trim(
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    keep_messages: int = 4,
    *,
    window_tokens: int | None = None,
    target_share: float = 1.0,
) -> Policy:
    """Fire at a budget; drop old groups until it is met, reads and searches first, failures and edits last.

    What the user said stays, and the last `keep_messages` messages. Results that stay are shortened where that is not
    enough. See `turnfold.planning.priorities` for what is worth how much.
    """
    at_least("keep_messages", keep_messages, 0)
    return Policy(
        trigger=budget("priority_trim", fraction, limit_tokens, window_tokens),
        steps=(Drop(KeepMessages(keep_messages), Scope(order="priority", user_verbatim=True)), TruncateResults()),
        name="priority_trim",
        target_share=target_share,
        fit="likely",
    )
