"""What the model did becomes a technical memory; what the user said stays."""

from turnfold.model.policy import Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepTurns, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget


def memory_encoder(
    keep_turns: int = 2,
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    memory_tokens: int = 2_000,
) -> Policy:
    """Fire at a budget; replace the assistant's old messages and calls by one memory of six sections in their place.

    The last `keep_turns` turns stay, and every message of the user.
    """
    at_least("keep_turns", keep_turns, 0)
    step = Summarize(
        keep=KeepTurns(keep_turns),
        role="assistant",
        max_tokens=memory_tokens,
        schema="technical_memory",
        scope=Scope(only="assistant"),
    )
    return Policy(
        trigger=budget("memory_encoder", fraction, limit_tokens, window_tokens),
        steps=(step, TruncateResults()),
        name="memory_encoder",
    )
