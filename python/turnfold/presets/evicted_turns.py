"""Head and tail stay, the turns between them become a short recap in their place."""

from typing import Literal

from turnfold.errors import ArgumentError
from turnfold.model.policy import Drop, Policy, Summarize, TruncateResults
from turnfold.model.selection import KeepTurns, Scope
from turnfold.model.triggers import at_least
from turnfold.presets.budget import FRACTION, budget

Layout = Literal["rolling", "reset", "frozen"]
"""`rolling`: each compaction writes the recap anew. `reset`: it is written once, and later turns are dropped behind it.
`frozen`: a static line stands there from the start. The two latter leave the request's beginning as it is for good."""


def evicted_turns(
    head: int = 1,
    tail: int = 3,
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    summary_tokens: int = 512,
    temperature: float = 0.2,
    timeout_seconds: float = 25.0,
    layout: Layout = "rolling",
) -> Policy:
    """Fire at a budget; keep the first `head` and the last `tail` turns word for word.

    The recap has four sections under `## Conversation Summary`; 200 words are asked for, `summary_tokens` are enforced,
    and a reply without the heading is no recap. It stands in the assistant's role, or in the user's where the provider
    wants that there.
    """
    at_least("head", head, 0)
    at_least("tail", tail, 0)
    if layout not in {"rolling", "reset", "frozen"}:
        raise ArgumentError(f"layout must be rolling, reset or frozen, got {layout!r}")
    scope = Scope(head=KeepTurns(head))
    recap = Summarize(
        keep=KeepTurns(tail),
        role="assistant",
        max_tokens=summary_tokens,
        task_max_tokens=0 if layout == "frozen" else summary_tokens,
        schema="static_marker" if layout == "frozen" else "conversation_summary",
        scope=scope,
        temperature=temperature,
        timeout_seconds=timeout_seconds,
        once=layout != "rolling",
    )
    dropped = () if layout == "rolling" else (Drop(keep=KeepTurns(tail), scope=scope, after_summary=True),)
    return Policy(
        trigger=budget("evicted_turns", fraction, limit_tokens, window_tokens),
        steps=(recap, *dropped, TruncateResults()),
        name="evicted_turns",
    )
