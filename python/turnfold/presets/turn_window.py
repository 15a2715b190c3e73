"""A rolling summary over windows of turns: n older turns become a summary, the m newest stay."""

from turnfold.model.policy import Policy, Summarize, TurnsSinceSummary
from turnfold.model.selection import KeepToolGroups, KeepTurns
from turnfold.model.triggers import at_least


def turn_window(
    n: int = 21,
    m: int = 10,
    *,
    unit: str = "user",
    summary_tokens: int = 250,
    reasoning_tokens: int | None = None,
    result_tokens: int | None = None,
) -> Policy:
    """Fire when `n` + `m` turns stand after the latest summary, and replace all but the last `m` of them.

    The earlier summary, or the user's first message for the first one, is an input of the next. So a request never
    holds more than the instructions, the task, one summary of `summary_tokens` and n + m turns. `unit` is "user" for
    turns of a conversation, "step" for an agent's calls on one task. `reasoning_tokens` and `result_tokens` clip what
    the summarizer is shown of each turn.
    """
    at_least("n", n, 1)
    at_least("m", m, 0)
    step = Summarize(
        keep=KeepToolGroups(m) if unit == "step" else KeepTurns(m),
        max_tokens=summary_tokens,
        schema="turn_window",
        reasoning_tokens=reasoning_tokens,
        result_tokens=result_tokens,
    )
    return Policy(trigger=TurnsSinceSummary(n + m, unit), steps=(step,), name="turn_window")
