"""Compare two plans: which messages fare otherwise, and which numbers and names differ."""

from collections.abc import Iterator
from itertools import groupby
from typing import assert_never

import msgspec

from turnfold.errors import PlanMismatchError
from turnfold.model.difference import Fate, FateChange, PlanDifference, SettingChange
from turnfold.model.plan import CompactionPlan, DropRange, EditBlocks, KeepRange, Skip, StripBlocks, SummaryHole, Tile

_PLAN_FIELDS = ("policy", "target_tokens", "tokens_at_most", "encoding", "model", "options", "thinking")
_PLACES = frozenset({"start", "stop", "kept"})
_ABSENT = "null"

_Fared = tuple[Fate, Tile | None]


def diff_plans(first: CompactionPlan | Skip, second: CompactionPlan | Skip) -> PlanDifference:
    """Compare two outcomes of planning for one transcript; a skip keeps every message.

    Raises `PlanMismatchError` for plans of different transcripts. O(messages).
    """
    if isinstance(first, CompactionPlan) and isinstance(second, CompactionPlan) and first.source != second.source:
        raise PlanMismatchError(
            f"The plans are for two transcripts ({first.source} and {second.source}): plan both for the same one"
        )
    return PlanDifference(tuple(_fate_changes(first, second)), tuple(_setting_changes(first, second)))


def _fate_changes(first: CompactionPlan | Skip, second: CompactionPlan | Skip) -> Iterator[FateChange]:
    messages = max(one.messages if isinstance(one, CompactionPlan) else 0 for one in (first, second))
    fates = [_fates(one, messages) for one in (first, second)]
    at = 0
    # Neighbours of one kind are one change.
    for (one, other, differs), run in groupby(zip(*fates, strict=True), key=lambda pair: _kinds(*pair)):
        stop = at + len(list(run))
        if differs:
            yield FateChange(at, stop, one, other)
        at = stop


def _kinds(one: _Fared, other: _Fared) -> tuple[Fate, Fate, bool]:
    return one[0], other[0], one != other


def _fates(outcome: CompactionPlan | Skip, messages: int) -> list[_Fared]:
    """Return what becomes of each message, and the tile that says how where that may differ."""
    found: list[_Fared] = [("kept", None)] * messages
    if isinstance(outcome, Skip):
        return found
    for tile in outcome.tiles:
        found[tile.start : tile.stop] = [_fate(tile)] * (tile.stop - tile.start)
        if isinstance(tile, SummaryHole):
            for kept in tile.kept:
                found[kept.start : kept.stop] = [_fate(kept)] * (kept.stop - kept.start)
    return found


def _fate(tile: Tile) -> _Fared:
    match tile:
        case KeepRange():
            return "kept", None
        case StripBlocks():
            return "stripped", tile
        case EditBlocks():
            return "edited", tile
        case DropRange(because=because):
            return ("folded" if because == "folded" else "dropped"), None
        case SummaryHole():
            return "summarized", None
        case _:
            assert_never(tile)


def _setting_changes(first: CompactionPlan | Skip, second: CompactionPlan | Skip) -> Iterator[SettingChange]:
    one, other = _settings(first), _settings(second)
    for name in dict.fromkeys((*one, *other)):
        values = one.get(name, _ABSENT), other.get(name, _ABSENT)
        if values[0] != values[1]:
            yield SettingChange(name, *values)


def _settings(outcome: CompactionPlan | Skip) -> dict[str, str]:
    if isinstance(outcome, Skip):
        return {"outcome": _json(outcome.reason)}
    found = {"outcome": _json("plan")} | {name: _json(getattr(outcome, name)) for name in _PLAN_FIELDS}
    holes = [tile for tile in outcome.tiles if isinstance(tile, SummaryHole)]
    for k, hole in enumerate(holes):
        found |= {
            f"holes[{k}].{name}": _json(getattr(hole, name)) for name in hole.__struct_fields__ if name not in _PLACES
        }
    return found


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
