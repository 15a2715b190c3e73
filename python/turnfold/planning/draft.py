"""What the steps of a policy have decided so far."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from msgspec import structs

from turnfold.model.plan import (
    DropRange,
    EditBlocks,
    KeepRange,
    SkipReason,
    StripBlocks,
    SummaryHole,
    SummaryRole,
    Tile,
)
from turnfold.model.policy import Summarize
from turnfold.model.scan import ScanOptions
from turnfold.model.summary import SummaryRecord
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.rewritten import texts_of_each
from turnfold.planning.selection import NotSelected, Selection
from turnfold.transcript import Transcript

_MOST_AT_ONCE: Final = 64
"""Edits are counted together, so many at most: the kernel is entered once for them."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A selection, the step that made it, and what its summary message may count.

    `least_tokens` is what a bare marker needs, `most_tokens` what the policy allows. The first user message is quoted
    with up to `task_tokens` of its own text, for which `task_cost` of `most_tokens` is meant.
    """

    selection: Selection
    role: SummaryRole
    step: Summarize
    record: SummaryRecord
    task_tokens: int
    task_cost: int
    least_tokens: int
    most_tokens: int

    def task_within(self, summary_tokens: int) -> int:
        """How much of the task to quote: all, or its share where the target leaves less than the policy allows."""
        half = summary_tokens // 2
        if summary_tokens == self.most_tokens or self.task_cost <= half:
            return self.task_tokens
        return self.task_tokens * half // self.task_cost


@dataclass(frozen=True, slots=True)
class Stripped:
    """A kept message without some of its blocks, and how many tokens that saves."""

    blocks: tuple[int, ...]
    saved_tokens: int


@dataclass(slots=True)
class Draft:
    """A plan in the making: changed by the steps, within one call of `plan` only.

    With `target_is_limit` steps run until the target is met; without, it only says what "smaller" means, and every step
    is taken in full. What the provider has folded goes in any case. `limit_tokens` is what a share of the limit is a
    share of, `head_tokens` what the head counts that a step has kept, `time` what the caller's clock says.
    """

    ground: Ground
    measure: Measure
    target_tokens: int
    target_is_limit: bool
    hole: Hole | None = None
    dropped: Selection | None = None
    limit_tokens: int | None = None
    head_tokens: int = 0
    time: str | None = None
    edited: dict[int, EditBlocks] = field(default_factory=dict)
    stripped: dict[int, Stripped] = field(default_factory=dict)
    reasons: list[NotSelected] = field(default_factory=list)
    _saved: dict[int, int] = field(default_factory=dict)
    _saved_tokens: int = 0
    _gone_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self._count_gone()

    @property
    def transcript(self) -> Transcript:
        """What is planned for."""
        return self.ground.transcript

    @property
    def options(self) -> ScanOptions:
        """What the caller knows beyond the body."""
        return self.ground.options

    @property
    def changed(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.selection or self.edited or self.ground.folded)

    @property
    def selection(self) -> Selection | None:
        """What a step replaces or drops."""
        return self.dropped if self.hole is None else self.hole.selection

    def is_met(self) -> bool:
        """Whether no further step is needed."""
        return self.target_is_limit and self.tokens_with_most() <= self.target_tokens

    @property
    def kept_from(self) -> int:
        """Index of the first message that a step may still change."""
        return self.ground.start if self.selection is None else self.selection.stop

    @property
    def gone(self) -> tuple[range, ...]:
        """All messages that are not in the result, in order."""
        going = () if self.selection is None else self.selection.gone
        return (self.ground.folded, *going) if self.ground.folded else going

    def kept_tokens(self) -> int:
        """At most what everything but the summary message counts."""
        parts = 2 + len(self.edited) + len(self.stripped)
        measure = self.measure
        return measure.tokens - self._saved_tokens + parts * measure.rounded_tokens - self._gone_tokens

    def _count_gone(self) -> None:
        """Say what the messages that are not in the result count at least."""
        gone, measure = self.gone, self.measure
        tokens = sum([measure.messages(going.start, going.stop) for going in gone])
        self._gone_tokens = tokens - 2 * len(gone) * measure.rounded_tokens

    def tokens_with_most(self) -> int:
        """At most what the result counts, with the largest summary that the policy allows."""
        return self.kept_tokens() + (0 if self.hole is None else self.hole.most_tokens)

    def tokens_with_least(self) -> int:
        """At most what the result counts, with the shortest summary that is possible."""
        return self.kept_tokens() + (0 if self.hole is None else self.hole.least_tokens)

    def note(self, reason: SkipReason, text: str) -> None:
        """Remember why a step changed nothing."""
        self.reasons.append(NotSelected(reason, text))

    def open(self, hole: Hole) -> None:
        """Put `hole` in the place of the one there was."""
        self.hole = hole
        self._count_gone()
        self._forget_before(hole.selection.stop)

    def drop(self, selection: Selection) -> None:
        """Drop `selection`; a hole that it covers is closed."""
        self.hole = None
        self.dropped = selection
        self._count_gone()
        self._forget_before(selection.stop)

    def _forget_before(self, stop: int) -> None:
        for index in [i for i in self.edited if i < stop]:
            if self.selection is None or index >= self.selection.start:
                del self.edited[index]
                self._saved_tokens -= self._saved.pop(index)

    def edit(self, edits: Iterable[EditBlocks]) -> bool:
        """Put each edit in the place of what was decided for its message, if it saves more, until the target is met.

        Returns whether any did. `edits` is read as far as it is needed, and up to as far again.
        """
        coming, saved, before, at_once = iter(edits), self._saved, self._saved_tokens, 1
        transcript, measure = self.transcript, self.measure
        while not self.is_met() and (some := list(islice(coming, at_once))):
            texts = texts_of_each(transcript, some, measure.encoding)
            over = self.tokens_with_most() - self.target_tokens
            each, rounded = measure.each, measure.rounded_tokens
            for edit, tokens in zip(some, measure.edited(texts), strict=True):
                if over <= 0 and self.target_is_limit:
                    break
                index = edit.start
                earlier = saved.get(index)
                more = each[index] - tokens - (earlier or 0)
                if more <= 0:
                    continue
                over -= more - rounded if earlier is None else more
                self._saved_tokens += more
                self.edited[index], saved[index] = edit, more + (earlier or 0)
            at_once = min(2 * at_once, _MOST_AT_ONCE)
        return self._saved_tokens > before

    def take(self, edits: Mapping[int, EditBlocks], saved: Sequence[int]) -> None:
        """Put edits of messages that had none, by message: each saves so many tokens."""
        self.edited.update(edits)
        self._saved.update(zip(edits, saved, strict=True))
        self._saved_tokens += sum(saved)

    def strip(self, index: int, stripped: Stripped) -> None:
        """Take blocks out of message `index`, once."""
        self._saved_tokens += stripped.saved_tokens
        self.stripped[index] = stripped

    def tiles(self, summary_tokens: int) -> tuple[Tile, ...]:
        """Return the draft as tiles, with a summary message of at most `summary_tokens`."""
        folded, selection, at = self.ground.folded, self.selection, 0
        tiles: list[Tile] = []
        if folded:
            tiles += (*self._kept(at, folded.start), DropRange(folded.start, folded.stop, "folded"))
            at = folded.stop
        if selection is not None:
            tiles += self._kept(at, selection.start)
            at = selection.stop
            if self.hole is None:
                tiles += self._dropped(selection)
            else:
                tiles.append(self._summary(self.hole, summary_tokens))
        return (*tiles, *self._kept(at, len(self.transcript)))

    def _summary(self, hole: Hole, summary_tokens: int) -> SummaryHole:
        return SummaryHole(
            start=hole.selection.start,
            stop=hole.selection.stop,
            role=hole.role,
            max_tokens=summary_tokens,
            task_max_tokens=hole.task_within(summary_tokens),
            schema=hole.step.schema,
            kept=tuple(self._stripped(hole.selection)),
            temperature=hole.step.temperature,
            timeout_seconds=hole.step.timeout_seconds,
            reasoning_tokens=hole.step.reasoning_tokens,
            result_tokens=hole.step.result_tokens,
            keep=hole.step.keep,
            desired_stop=hole.selection.wanted,
            desired_role=hole.step.role,
            record=hole.record,
            facts=hole.step.facts,
            model_input_tokens=hole.step.model_input_tokens,
            goal_tokens=hole.step.goal_tokens,
        )

    def _dropped(self, selection: Selection) -> Iterator[Tile]:
        at = selection.start
        for tile in self._stripped(selection):
            if at < tile.start:
                yield DropRange(at, tile.start, "policy")
            yield tile
            at = tile.stop
        if at < selection.stop:
            yield DropRange(at, selection.stop, "policy")

    def _stripped(self, selection: Selection) -> Iterator[KeepRange | StripBlocks]:
        """Return what stays of a selection: nothing there is shortened."""
        for kept in selection.kept:
            for tile in self._kept(kept.start, kept.stop):
                if isinstance(tile, KeepRange | StripBlocks):
                    yield tile

    def _all_stripped(self) -> Iterator[tuple[int, EditBlocks | StripBlocks]]:
        """Return tiles of messages that lose blocks, by message; some are edited beside that."""
        for index, strip in self.stripped.items():
            edit = self.edited.get(index)
            alone = StripBlocks(index, index + 1, strip.blocks)
            yield index, alone if edit is None else structs.replace(edit, stripped=strip.blocks)

    def _kept(self, start: int, stop: int) -> list[Tile]:
        """Return tiles of messages that stay, as they are or edited."""
        tiles: list[Tile] = []
        changed = {**self.edited, **dict(self._all_stripped())} if self.stripped else self.edited
        at = sorted(changed)
        for index in at[bisect_left(at, start) : bisect_left(at, stop)]:
            if start < index:
                tiles.append(KeepRange(start, index))
            tiles.append(changed[index])
            start = index + 1
        if start < stop:
            tiles.append(KeepRange(start, stop))
        return tiles
