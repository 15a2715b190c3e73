"""What priorities trim becomes one line a tool call, made by rule."""

from turnfold.model.policy import Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepMessages, PinPredicate, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget


def rule_digest(
    max_tokens: int = 500,
    preserve_error_details: bool = True,  # noqa: FBT001, FBT002  # a setting, given by name or by place
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    keep_messages: int = 4,
    target_share: float = 0.7,
) -> Policy:
    """Fire at a budget; take out the least important groups and say in one line each what their calls did.

    Groups go until `target_share` of the limit is met.
    The digest stands after the instructions. It counts at most `max_tokens`, and at most a tenth of what the limit
    leaves free; below 50 tokens a line says that it is left out. What the user said stays. With
    `preserve_error_details` results that report an error stay too.
    """
    at_least("keep_messages", keep_messages, 0)
    pins = (PinPredicate("holds_error"),) if preserve_error_details else ()
    step = Summarize(
        keep=KeepMessages(keep_messages),
        max_tokens=max_tokens,
        schema="tool_digest",
        scope=Scope(order="priority", user_verbatim=True, pins=pins),
        place="start",
        max_share=0.1,
    )
    return Policy(
        trigger=budget("rule_digest", fraction, limit_tokens, window_tokens),
        steps=(step, TruncateResults()),
        name="rule_digest",
        target_share=target_share,
        fit="likely",
    )
