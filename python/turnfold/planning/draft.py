"""What the steps of a policy have decided so far."""

from dataclasses import dataclass, field

from turnfold.model.plan import KeepRange, SkipReason, SummaryHole, SummaryRole, Tile, TruncateBlock
from turnfold.model.scan import ScanOptions
from turnfold.planning.measure import Measure
from turnfold.planning.selection import NotSelected, Selection
from turnfold.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Hole:
    """A selection with what its summary message may count.

    `least_tokens` is what a bare marker needs, `most_tokens` what the policy allows. The first user message is quoted
    with up to `task_tokens` of its own text, for which `task_cost` of `most_tokens` is meant.
    """

    selection: Selection
    role: SummaryRole
    schema: str
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
class Shortened:
    """A kept message with some of its results cut to `max_tokens` tokens each, and how many tokens that saves."""

    blocks: tuple[int, ...]
    max_tokens: int
    saved_tokens: int


@dataclass(slots=True)
class Draft:
    """A plan in the making: changed by the steps, within one call of `plan` only.

    With `target_is_limit` steps run until the target is met; without, it only says what "smaller" means, and every step
    is taken in full.
    """

    transcript: Transcript
    measure: Measure
    options: ScanOptions
    target_tokens: int
    target_is_limit: bool
    hole: Hole | None = None
    shortened: dict[int, Shortened] = field(default_factory=dict)
    reasons: list[NotSelected] = field(default_factory=list)
    _saved_tokens: int = 0

    @property
    def changed(self) -> bool:
        """Whether any step has done anything."""
        return self.hole is not None or bool(self.shortened)

    def is_met(self) -> bool:
        """Whether no further step is needed."""
        return self.target_is_limit and self.tokens_with_most() <= self.target_tokens

    @property
    def kept_from(self) -> int:
        """Index of the first message that a step may still change."""
        return self.transcript.leading if self.hole is None else self.hole.selection.stop

    def kept_tokens(self) -> int:
        """At most what everything but the summary message counts."""
        kept = self.measure.whole.hi - self._saved_tokens
        if self.measure.whole.source != "exact":
            # Bounds of estimates are rounded part by part: one token a part makes up for it.
            kept += 2 + len(self.shortened)
        if self.hole is not None:
            selection = self.hole.selection
            kept -= self.measure.messages(selection.start, selection.stop)
        return kept

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
        for index in [i for i in self.shortened if i < hole.selection.stop]:
            self._saved_tokens -= self.shortened.pop(index).saved_tokens

    def shorten(self, index: int, shortened: Shortened) -> None:
        """Put `shortened` in the place of what was decided for message `index`."""
        before = self.shortened.get(index)
        self._saved_tokens += shortened.saved_tokens - (0 if before is None else before.saved_tokens)
        self.shortened[index] = shortened

    def tiles(self, summary_tokens: int) -> tuple[Tile, ...]:
        """Return the draft as tiles, with a summary message of at most `summary_tokens`."""
        tiles: list[Tile] = []
        at = 0
        if self.hole is not None:
            selection = self.hole.selection
            if selection.start > 0:
                tiles.append(KeepRange(0, selection.start))
            tiles.append(
                SummaryHole(
                    start=selection.start,
                    stop=selection.stop,
                    role=self.hole.role,
                    max_tokens=summary_tokens,
                    task_max_tokens=self.hole.task_within(summary_tokens),
                    schema=self.hole.schema,
                )
            )
            at = selection.stop
        for index, cut in sorted(self.shortened.items()):
            if at < index:
                tiles.append(KeepRange(at, index))
            tiles.append(TruncateBlock(index, index + 1, cut.blocks, cut.max_tokens))
            at = index + 1
        if at < len(self.transcript):
            tiles.append(KeepRange(at, len(self.transcript)))
        return tuple(tiles)
