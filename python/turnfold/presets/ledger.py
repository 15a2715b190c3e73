"""A summary that carries rules, names and failures before anything else."""

from turnfold.model.policy import Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepMessages, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget


def ledger(
    keep_messages: int = 4,
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    ledger_tokens: int = 3_000,
    user_verbatim: bool = True,
) -> Policy:
    """Fire at a budget; replace all but the last `keep_messages` messages by a ledger of at most `ledger_tokens`.

    Messages of the user stay word for word, unless `user_verbatim` is off.
    """
    at_least("keep_messages", keep_messages, 0)
    step = Summarize(
        keep=KeepMessages(keep_messages),
        max_tokens=ledger_tokens,
        schema="ledger",
        scope=Scope(user_verbatim=user_verbatim),
        place="start",
    )
    return Policy(
        trigger=budget("ledger", fraction, limit_tokens, window_tokens),
        steps=(step, TruncateResults()),
        name="ledger",
    )
