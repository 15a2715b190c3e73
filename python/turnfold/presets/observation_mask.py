"""Old tool results become one line each; calls and words stay."""

from turnfold.model.policy import MaskResults, Policy
from turnfold.model.selection import KeepToolGroups, Scope
from turnfold.presets.budget import FRACTION, budget


def observation_mask(
    keep: int = 10,
    *,
    fraction: float | None = FRACTION,
    limit_tokens: int | None = None,
    window_tokens: int | None = None,
    target_share: float = 0.7,
    grid: int = 1,
    exclude_tools: tuple[str, ...] = (),
) -> Policy:
    """Fire at a budget; mask results before the last `keep` groups of calls, the oldest first.

    It goes on down to `target_share` of the limit where it can, so that the beginning of the request then stays as it
    is for many turns; a `grid` of messages does the same for the place where the masks end.
    The limit is kept by the likeliest count, by which it fires too. Masks take nothing but old results: where those are
    not enough, the outcome is a `Skip` with the reason `misses_target`, and nothing is changed. `hybrid` goes on there.
    """
    step = MaskResults(KeepToolGroups(keep), Scope(exclude_tools=tuple(exclude_tools)), grid)
    return Policy(
        trigger=budget("observation_mask", fraction, limit_tokens, window_tokens),
        steps=(step,),
        name="observation_mask",
        target_share=target_share,
        fit="likely",
    )
