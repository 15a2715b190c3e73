"""What becomes of kept reasoning once the words before it have changed."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from turnfold.model.thinking import (
    NO_REASONING,
    BoundReasoning,
    ThinkingAdvice,
    ThinkingPolicy,
    ThinkingReport,
)
from turnfold.planning.draft import Draft, Stripped

_MESSAGE: Final = itemgetter(0)
_PLACE: Final = itemgetter(0, 1)
_ALONE = "reasoning that is a message of its own belongs to the one after it, and stays"
_IN_LOOP = "the open tool loop has to start with its reasoning, which stays"


def settle_thinking(draft: Draft, policy: ThinkingPolicy | None, model: str | None) -> ThinkingReport:
    """Decide it, and take out of `draft` what is to go. O(blocks of the kept messages)."""
    affected = _affected(draft)
    if not affected:
        return NO_REASONING
    bound = draft.transcript.bound_reasoning(model)
    refused = bound is not None and bound.refused
    name = model or draft.transcript.model or "the model"
    count = len(affected)
    if policy is None:
        policy = "strip" if refused else "keep"
        because = f"{name} {'refuses' if refused else 'is not known to refuse'} reasoning behind other words"
    else:
        because = "the policy says so"
    if policy != "strip":
        if policy == "drop_block" and bound is None:
            because += "; this format has no setting for it"
        advised = policy == "drop_block" or refused
        return ThinkingReport(policy, f"{because}.", 0, count, _advice(bound) if advised else None)
    taken, left = _strip(draft, affected)
    return ThinkingReport(
        policy,
        "; ".join((because, *left)) + ".",
        taken,
        count - taken,
        _advice(bound) if refused and taken < count else None,
    )


def _advice(bound: BoundReasoning | None) -> ThinkingAdvice | None:
    return None if bound is None else ThinkingAdvice((bound.header,), (bound.setting,))


def _affected(draft: Draft) -> list[tuple[int, int]]:
    """Find the reasoning of kept messages that stands behind a change of ours: messages and blocks, in order."""
    transcript, gone = draft.transcript, draft.gone
    changes = [*draft.edited]
    if draft.selection is not None:
        changes.append(draft.selection.start)
    if not changes:
        # What the provider folded itself is no change to it.
        return []
    first = min(changes)
    places = transcript.places("reasoning", first)
    if not places:
        return []
    if first in draft.edited:
        changed = first, min(draft.edited[first].edited)
        places = places[bisect_right(places, changed, key=_PLACE) :]
    speakers = transcript.speakers
    found = [(index, block) for index, block, _ in places if speakers[index] == "assistant"]
    # Mostly nothing has gone, and there is reasoning in each step of a long loop.
    return [one for one in found if not any(one[0] in going for going in gone)] if gone else found


def _strip(draft: Draft, affected: Sequence[tuple[int, int]]) -> tuple[int, tuple[str, ...]]:
    """Take the blocks out; returns how many, and why others are left."""
    transcript, measure = draft.transcript, draft.measure
    loop = range(*draft.ground.layout.reasoned_loop)
    taken, left = 0, dict[str, None]()
    for index, places in groupby(affected, _MESSAGE):
        blocks = tuple([block for _, block in places])
        if index in loop:
            left[_IN_LOOP] = None
            continue
        message = transcript.without_blocks(index, blocks)
        if message is None:
            left[_ALONE] = None
            continue
        draft.strip(index, Stripped(blocks, max(measure.messages(index, index + 1) - measure.new_message(message), 0)))
        taken += len(blocks)
    return taken, tuple(left)
