"""A rolling summary over windows of turns: n older turns become a summary, the m newest stay."""

from turnfold.model.policy import OnRequest, Policy, Summarize, Trigger, TurnsSinceSummary
from turnfold.model.selection import KeepToolGroups, KeepTurns
from turnfold.model.triggers import TurnUnit, at_least


def turn_window(
    n: int = 21,
    m: int = 10,
    *,
    unit: TurnUnit = "user",
    summary_tokens: int = 250,
    reasoning_tokens: int | None = None,
    result_tokens: int | None = None,
    force: bool = False,
) -> Policy:
    """Fire when `n` + `m` turns stand after the latest summary, and replace all but the last `m` of them.

    The earlier summary, or the user's first message for the first one, is an input of the next. So a request never
    holds more than the instructions, the task, one summary of `summary_tokens` and n + m turns. `unit` is "user" for
    turns of a conversation, "step" for an agent's calls on one task. `reasoning_tokens` and `result_tokens` clip what
    the summarizer is shown of each turn. With `force` it fires whatever stands there, and keeps `m` turns all the same;
    `PlanState(requested=True)` does that for one call. `turnfold.stats` sums up a session.
    """
    at_least("n", n, 1)
    at_least("m", m, 0)
    step = Summarize(
        keep=KeepToolGroups(m) if unit == "step" else KeepTurns(m),
        max_tokens=summary_tokens,
        schema="turn_window",
        reasoning_tokens=reasoning_tokens,
        result_tokens=result_tokens,
        unit=unit,
    )
    trigger: Trigger = OnRequest() if force else TurnsSinceSummary(n + m, unit)
    return Policy(trigger=trigger, steps=(step,), name="turn_window")
