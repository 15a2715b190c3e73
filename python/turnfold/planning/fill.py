"""A hole of a plan, opened: what its summary message says beside the summary, and how much room it leaves."""

from dataclasses import dataclass

from turnfold import meter
from turnfold.errors import ArgumentError, PlanMismatchError
from turnfold.model.plan import CompactionPlan, SummaryHole
from turnfold.model.result import TaskKept
from turnfold.planning.measure import Measure
from turnfold.planning.selection import Selection, earlier_summary, task_of
from turnfold.planning.wrapper import MARKER_BODY, WrappedSummary, neutralise, quote_task, wrap
from turnfold.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Opening:
    """One hole.

    `task` is the quoted first user message, `identifiers` those of all messages that go, `room_tokens` what the
    summary's own text may count.
    """

    hole: SummaryHole
    selection: Selection
    encoding: str
    task: str | None
    task_kept: TaskKept
    identifiers: tuple[str, ...]
    room_tokens: int
    source_tokens: int
    _measure: Measure

    def message(self, summary: str) -> str:
        """Return the text of the summary message: within the cap, for which a long summary is cut on a character."""
        body = summary.strip()
        if not body:
            raise ArgumentError("A summary must not be blank")
        while True:
            text = wrap(WrappedSummary(self.selection.covered, self.task, body))
            over = self._measure.new_text(self.hole.role, text) - self.hole.max_tokens
            if over <= 0 or not body:
                return text
            # An estimate's bound is more than the text's own count, so cutting by the excess converges from above.
            tokens = meter.count(body, self.encoding)
            body = meter.truncate_words(body, min(tokens - 1, max(0, tokens - over)), self.encoding)


def check_source(transcript: Transcript, plan: CompactionPlan) -> None:
    """Raise `PlanMismatchError` unless `plan` was made for this very transcript."""
    if transcript.fingerprint != plan.source or len(transcript) != plan.messages:
        raise PlanMismatchError("The plan was made for another transcript: plan again for this one")


def openings(transcript: Transcript, plan: CompactionPlan) -> tuple[Opening, ...]:
    """Open every hole of `plan`, in order."""
    check_source(transcript, plan)
    holes = [tile for tile in plan.tiles if isinstance(tile, SummaryHole)]
    if not holes:
        return ()
    measure = Measure(transcript, plan.encoding, plan.model)
    return tuple(_open(transcript, hole, measure) for hole in holes)


def _open(transcript: Transcript, hole: SummaryHole, measure: Measure) -> Opening:
    previous = earlier_summary(transcript) if hole.start == transcript.leading else None
    selection = Selection(hole.start, hole.stop, previous)
    task = task_of(transcript, selection)
    quoted = None
    if task is not None:
        bare = _room(measure, hole, selection, "")
        quoted = quote_task(task, max(0, min(hole.task_max_tokens, bare - measure.text(MARKER_BODY))), measure.encoding)
    kept: TaskKept = "absent"
    if task is not None:
        kept = "verbatim" if quoted == neutralise(task) else "clipped"
    return Opening(
        hole=hole,
        selection=selection,
        encoding=measure.encoding,
        task=quoted or None,
        task_kept=kept,
        identifiers=transcript.identifiers(hole.start, hole.stop),
        room_tokens=_room(measure, hole, selection, quoted or None),
        source_tokens=measure.messages(hole.start, hole.stop),
        _measure=measure,
    )


def _room(measure: Measure, hole: SummaryHole, selection: Selection, task: str | None) -> int:
    """How many tokens of text fit beside what the wrapper says.

    Where counts are estimates, a message's bound is a multiple of its text's own count; a sample text gives the factor.
    """
    empty = measure.new_text(hole.role, wrap(WrappedSummary(selection.covered, task, "")))
    left = hole.max_tokens - empty
    if left <= 0:
        return 0
    sample_tokens = measure.text(_SAMPLE)
    sample = measure.new_text(hole.role, wrap(WrappedSummary(selection.covered, task, _SAMPLE))) - empty
    return left * sample_tokens // max(sample, sample_tokens)


_SAMPLE = "- src/parser.py: the tokenizer drops the minus sign in line 42, so `-1` reads as 1.\n" * 8
