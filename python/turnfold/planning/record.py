"""What a summary records of itself: what it covers, which version it is, when it was made."""

from bisect import bisect_right

from turnfold.model.summary import SummaryRecord
from turnfold.model.triggers import TurnUnit
from turnfold.planning.ground import Ground
from turnfold.planning.selection import Selection


def record_of(ground: Ground, selection: Selection, unit: TurnUnit, time: str | None) -> SummaryRecord:
    """Return the record of the summary of `selection`. O(messages).

    A turn is covered where any of its messages is. Turns that were dropped before, with no summary that counts them,
    are not counted.
    """
    previous = selection.previous
    starts = ground.steps if unit == "step" else ground.spoken
    summaries = ground.summaries
    going = (index for gone in selection.gone for index in gone if index not in summaries)
    of_turn = {bisect_right(starts, index) - 1 for index in going}
    covered = [_ordinal(ground, starts[turn], turn) for turn in of_turn if turn >= 0]
    if previous is not None and previous.turns is not None:
        covered += previous.turns
    return SummaryRecord(
        messages=selection.covered,
        turns=(min(covered), max(covered)) if covered else None,
        version=1 if previous is None else previous.version + 1,
        created=time if previous is None else previous.created,
        updated=time,
    )


def turns_of(ground: Ground, unit: TurnUnit) -> int:
    """Count the turns of a session: those that stand there, and those that summaries stand for. O(messages)."""
    starts = ground.steps if unit == "step" else ground.spoken
    covered = (summary.turns for summary in ground.summaries.values())
    return len(starts) + sum(turns[1] - turns[0] + 1 for turns in covered if turns is not None)


def _ordinal(ground: Ground, start: int, turn: int) -> int:
    """Number a turn from 1, those that summaries before it stand for included."""
    hidden = (summary.turns for at, summary in ground.summaries.items() if at < start)
    return 1 + turn + sum(turns[1] - turns[0] + 1 for turns in hidden if turns is not None)
