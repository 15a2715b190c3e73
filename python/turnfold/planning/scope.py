"""What a scope names in one transcript: where the head ends and the tail begins, and what between them may go."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

import msgspec

from turnfold.errors import UnknownWindowError
from turnfold.model.plan import KeepRange, Place, without
from turnfold.model.selection import KeepShare, KeepToolGroups, PinIndex, PinPredicate, PinRole, PinText, Scope, Tail
from turnfold.model.splits import Keep, KeepMessages, KeepTokens, KeepTurns
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.predicates import predicate_named
from turnfold.planning.priorities import priorities_of
from turnfold.planning.selection import NotSelected, Selection, cut_at_or_before, tail_of


def resolved(ground: Ground, tail: Tail, limit_tokens: int | None) -> Keep:
    """Return a tail in messages, turns or tokens. Raises `UnknownWindowError` for a share of nothing."""
    match tail:
        case KeepShare(share):
            if limit_tokens is None:
                raise UnknownWindowError(
                    "The policy keeps a share of a limit, and neither a limit in tokens nor the model's window is "
                    "known: pass window_tokens=..., or keep a number of tokens"
                )
            return KeepTokens(int(share * limit_tokens))
        case KeepToolGroups(count):
            return KeepMessages(len(ground.transcript) - ground.start_of_tool_groups(count))
        case _:
            return tail


def on_grid(ground: Ground, keep: Keep, grid: int, encoding: str) -> Keep:
    """Return a tail that begins at a multiple of `grid` messages after the latest summary, and keeps more for it."""
    if grid == 1:
        return keep
    chosen = ground.points.find(keep, encoding=encoding)
    if chosen is None:
        return keep
    base = max(ground.start, ground.latest_summary + 1)
    past = max(chosen.requested - base, 0)
    return KeepMessages(len(ground.transcript) - base - past // grid * grid)


def tail_start(ground: Ground, keep: Keep, encoding: str) -> int:
    """Return the first message of a tail in which nothing is edited: no cut, so it need not be a legal one."""
    chosen = ground.points.find(keep, encoding=encoding)
    return ground.start if chosen is None else max(chosen.requested, ground.start)


def head_stop(ground: Ground, head: Keep, measure: Measure) -> int:
    """Return where a head ends that is kept: at a legal cut, behind what is asked, but never behind a summary."""
    start, length = ground.start, len(ground.transcript)
    match head:
        case KeepMessages(count):
            stop = min(start + max(count, 0), length)
        case KeepTurns(count):
            stop = start if count <= 0 else next(iter(ground.spoken[count : count + 1]), length)
        case KeepTokens(limit_tokens):
            stop = start
            while stop < length and measure.messages(start, stop + 1) <= limit_tokens:
                stop += 1
            stop = max(cut_at_or_before(ground, stop), start)
        case _:
            assert_never(head)
    if stop > start:
        legal = ground.points.at_or_after(stop)
        stop = length if legal is None else legal
    return min(stop, min(ground.summaries, default=length))


def select_scope(
    ground: Ground,
    keep: Keep,
    scope: Scope,
    head: Keep,
    measure: Measure,
    *,
    over_tokens: int | None,
    place: Place | None,
) -> Selection | NotSelected:
    """Choose the groups in scope. O(blocks).

    With `over_tokens` and the order of priority, no more of them than it takes to be rid of so many tokens.
    A summary at `place` takes an earlier one in, which comes first; without a place that stays.
    """
    tail = tail_of(ground, keep, measure.encoding)
    if isinstance(tail, NotSelected):
        return tail
    stop = cut_at_or_before(ground, tail[1])
    first = head_stop(ground, head, measure)
    earlier = next((index for index in sorted(ground.summaries) if first <= index < stop), None)
    summary = next((group for group in ground.groups if place is not None and group.start == earlier), None)
    if summary is not None:
        first = summary.start
    spared = _spared(ground, scope)
    groups = [
        group
        for group in ground.groups
        if first <= group.start
        and group.stop <= stop
        and group.start not in ground.summaries
        and not spared(group)
        and measure.messages(group.start, group.stop) >= scope.min_tokens
    ]
    if scope.order == "priority" and over_tokens is not None:
        groups = _least_important(ground, groups, measure, over_tokens)
    if not groups:
        return NotSelected("nothing_to_compact", "The policy keeps every message that is not a summary already.")
    if summary is not None:
        groups.insert(0, summary)
    chosen = selection_of(ground, groups, first if place == "start" else groups[0].start)
    return msgspec.structs.replace(chosen, wanted=tail[0])


def selection_of(ground: Ground, groups: Sequence[range], start: int) -> Selection:
    """Return the selection of these groups, which stand in order from `start` on."""
    gone = tuple(KeepRange(group.start, group.stop) for group in groups)
    stop = gone[-1].stop
    kept = tuple(KeepRange(left.start, left.stop) for left in without(start, stop, gone))
    return Selection(start, stop, ground.summaries.get(start), kept)


def spares(ground: Ground, scope: Scope) -> Callable[[int], bool]:
    """Return whether a message is pinned, or its results are those of an excluded tool."""
    pinned = [_pin(ground, pin) for pin in scope.pins]
    excluded = frozenset(scope.exclude_tools)
    if not pinned and not excluded:
        return lambda _: False

    def spared(index: int) -> bool:
        if any(holds(index) for holds in pinned):
            return True
        return bool(excluded) and any(
            ground.tool_name(index, k) in excluded
            for k, head in enumerate(ground.transcript.block_heads[index])
            if head.kind in {"tool_call", "tool_result"}
        )

    return spared


def _spared(ground: Ground, scope: Scope) -> Callable[[range], bool]:
    message_spared = spares(ground, scope)
    lasting = ground.layout.lasting
    spoken = frozenset(ground.spoken)
    speakers = ground.transcript.speakers
    calls = {group.start for group in ground.tool_groups} if scope.only == "tool_groups" else frozenset()

    def spared(group: range) -> bool:
        if any(first < group.stop and group.start < last for first, last in lasting):
            return True
        if scope.only == "tool_groups" and group.start not in calls:
            return True
        speaks = any(index in spoken or speakers[index] in {"system", "developer"} for index in group)
        if speaks and (scope.user_verbatim or scope.only != "all"):
            return True
        return any(message_spared(index) for index in group)

    return spared


def _pin(ground: Ground, pin: PinIndex | PinRole | PinText | PinPredicate) -> Callable[[int], bool]:
    transcript = ground.transcript
    match pin:
        case PinIndex(index):
            at = index if index >= 0 else len(transcript) + index
            return at.__eq__
        case PinRole(role):
            return lambda index: transcript.speakers[index] == role
        case PinText(text):
            return lambda index: any(text in block.text for block in transcript.blocks(index))
        case PinPredicate(name):
            return partial(predicate_named(name), transcript)


def _least_important(ground: Ground, groups: list[range], measure: Measure, over_tokens: int) -> list[range]:
    worth = priorities_of(ground, groups)
    chosen: list[range] = []
    freed = 0
    # Of groups that are worth as much, the first goes first.
    for group in (groups[place] for place in sorted(range(len(groups)), key=worth.__getitem__)):
        if freed >= over_tokens:
            break
        chosen.append(group)
        freed += measure.messages(group.start, group.stop)
    return sorted(chosen, key=lambda group: group.start)
