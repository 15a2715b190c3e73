"""What priorities trim becomes one line a tool call, made by rule."""

from typing import Literal

from turnfold.errors import ArgumentError
from turnfold.model.policy import Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepMessages, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget

Mode = Literal["rules", "model"]
"""Who writes the digest: rules, or the summarizer of the call with the rules behind it."""


def rule_digest(
    max_tokens: int = 500,
    preserve_error_details: bool = True,  # noqa: FBT001, FBT002  # a setting, given by name or by place
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    keep_messages: int = 4,
    target_share: float = 0.7,
    mode: Mode = "rules",
    input_tokens: int | None = None,
) -> Policy:
    """Fire at a budget; take out the least important groups and say in one line each what their calls did.

    Groups go until `target_share` of the limit is met.
    The digest stands after the instructions. It counts at most `max_tokens`, and at most a tenth of what the limit
    leaves free, for which room is kept before anything else; below 50 tokens a line says that it is left out, and a
    line says so where it is cut. What the user said stays. With `preserve_error_details` it holds the whole text of
    errors, up to a quarter of its room each, else the line that says what went wrong.

    The next compaction writes it on: its lines stand under numbered updates, and where both together are over twice
    the room, the earlier updates become one line. The header has its version, its tokens, the items and messages that
    it stands for, and with `PlanState(now=...)` when it was made and updated.

    In the mode "model" the summarizer of the call is asked, up to `input_tokens` of source; on an error, and above that
    cap, the rules write it.
    """
    at_least("keep_messages", keep_messages, 0)
    if mode not in {"rules", "model"}:
        raise ArgumentError(f"mode must be rules or model, got {mode!r}")
    step = Summarize(
        keep=KeepMessages(keep_messages),
        max_tokens=max_tokens,
        schema="tool_digest",
        scope=Scope(order="priority", user_verbatim=True),
        place="start",
        max_share=0.1,
        facts="errors" if preserve_error_details else "lines",
        model_input_tokens=0 if mode == "rules" else input_tokens,
    )
    return Policy(
        trigger=budget("rule_digest", fraction, limit_tokens, window_tokens),
        steps=(step, TruncateResults()),
        name="rule_digest",
        target_share=target_share,
        fit="likely",
    )
