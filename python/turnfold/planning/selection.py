"""What a step replaces: from the instructions, or what stands for them, to a legal cut before the kept tail."""

import msgspec

from turnfold.model.plan import KeepRange, SkipReason, without
from turnfold.model.splits import Keep
from turnfold.planning.ground import Ground
from turnfold.planning.wrapper import WrappedSummary


class Selection(msgspec.Struct, frozen=True):
    """Messages `[start, stop)` go, but for the ranges of `kept`. `previous` is the earlier summary, then `start`.

    `wanted` is the first message of the tail that is asked for, whether or not a cut there is legal.
    """

    start: int
    stop: int
    previous: WrappedSummary | None
    kept: tuple[KeepRange, ...] = ()
    wanted: int | None = None

    @property
    def gone(self) -> tuple[range, ...]:
        """The messages that go, in order."""
        return without(self.start, self.stop, self.kept)

    @property
    def covered(self) -> int:
        """How many messages the summary of this selection replaces, those before an earlier summary included."""
        going = sum(map(len, self.gone))
        return going if self.previous is None else going - 1 + self.previous.messages


class NotSelected(msgspec.Struct, frozen=True):
    """Why there is nothing to replace."""

    reason: SkipReason
    text: str


def select(ground: Ground, keep: Keep, encoding: str) -> Selection | NotSelected:
    """Choose what a summary replaces where `keep` stays. O(messages)."""
    tail = tail_of(ground, keep, encoding)
    if isinstance(tail, NotSelected):
        return tail
    wanted, latest = tail
    stop = cut_at_or_before(ground, latest)
    if ground.alternates:
        stop = _before_the_model(ground, stop)
    if stop > ground.own:
        return _selection(ground, stop, wanted, with_previous=True)
    if wanted <= ground.own:
        return NotSelected("nothing_to_compact", "The policy keeps every message that is not a summary already.")
    return _not_legal(ground, wanted)


def tail_of(ground: Ground, keep: Keep, encoding: str) -> tuple[int, int] | NotSelected:
    """Return the first message that is to stay, and the last at which the transcript may be cut for that."""
    chosen = ground.points.find(keep, encoding=encoding)
    if chosen is None:
        return NotSelected("no_legal_split", "The transcript can be cut nowhere.")
    wanted = min(chosen.requested, ground.first_unanswered)
    return wanted, min(chosen.index, wanted)


def cut_at_or_before(ground: Ground, index: int) -> int:
    """Return the last legal cut at or before a message; where there is none, the start."""
    legal = ground.points.at_or_before(index)
    return ground.start if legal is None else legal


def _before_the_model(ground: Ground, stop: int) -> int:
    """Move a cut down to where the model speaks next, so that the user's summary is no second message of one role."""
    speakers = ground.transcript.speakers
    while ground.start < stop < len(speakers) and speakers[stop] == "user":
        stop = max(cut_at_or_before(ground, stop - 1), ground.start)
    return stop


def select_turns(ground: Ground, keep: Keep, encoding: str) -> Selection | NotSelected:
    """Choose what is dropped where `keep` stays, so that the tail opens with the user. O(messages)."""
    tail = tail_of(ground, keep, encoding)
    if isinstance(tail, NotSelected):
        return tail
    wanted, latest = tail
    if wanted <= ground.own:
        return NotSelected("nothing_to_compact", "The policy keeps every message that is not a summary already.")
    stop = next((i for i in reversed(ground.spoken) if ground.own < i <= latest and i in ground.points), None)
    return _not_legal(ground, wanted) if stop is None else _selection(ground, stop, wanted, with_previous=False)


def _selection(ground: Ground, stop: int, wanted: int, *, with_previous: bool) -> Selection | NotSelected:
    start, previous = (ground.start, ground.previous) if with_previous else (ground.own, None)
    lasting = ground.layout.lasting
    kept = tuple(KeepRange(first, last) for first, last in lasting if ground.own <= first and last <= stop)
    if sum(tile.stop - tile.start for tile in kept) == stop - ground.own:
        return NotSelected(
            "nothing_to_compact",
            "What could go sets state that is still in force, or points to what only the server holds.",
        )
    return Selection(start, stop, previous, kept, wanted)


def _not_legal(ground: Ground, wanted: int) -> NotSelected:
    blockers = ground.points.why_not(wanted)
    because = blockers[0].text.rstrip(".") if blockers else "nothing before it can go"
    return NotSelected("no_legal_split", f"No cut at or before message {wanted} leaves a valid transcript: {because}.")
