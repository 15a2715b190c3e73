"""A hole of a plan, opened: what its summary message says beside the summary, and how much room it leaves."""

from dataclasses import dataclass

from turnfold import meter
from turnfold.errors import ArgumentError, PlanMismatchError
from turnfold.meter import truncate_middle
from turnfold.model.facts import ToolFacts
from turnfold.model.plan import CompactionPlan, KeepRange, SummaryHole, tiles_of
from turnfold.model.result import TaskKept
from turnfold.model.summary import SourceMessage, SourcePart, SummaryRecord
from turnfold.planning.facts import facts_of
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.quotes import Quotes, fit, quotes_of
from turnfold.planning.selection import Selection
from turnfold.planning.wrapper import MARKER_BODY, wrapped
from turnfold.quoting import neutralise
from turnfold.transcript import Transcript

_ERROR_PART = 4
"""One of so many parts of the room is the most that the text of one error takes."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One hole.

    `record` is what the summary says of itself, `quotes` what it quotes of the user, `identifiers` those of all
    messages that go, `room_tokens` what the summary's own text may count.
    """

    hole: SummaryHole
    selection: Selection
    record: SummaryRecord
    encoding: str
    quotes: Quotes
    task_kept: TaskKept
    identifiers: tuple[str, ...]
    room_tokens: int
    source_tokens: int
    _measure: Measure
    _ground: Ground

    def goal(self) -> SourceMessage | None:
        """Return the user's message that what goes was done for, where it stays and the policy shows it."""
        first = self.hole.gone[0].start if self.hole.gone else self.hole.start
        index = max((index for index in self._ground.spoken if index < first), default=None)
        if index is None or not self.hole.goal_tokens:
            return None
        texts = [block.text for block in self._ground.transcript.blocks(index) if block.kind == "text"]
        text = truncate_middle("\n".join(texts), self.hole.goal_tokens, self.encoding)
        return SourceMessage(index, "user", (SourcePart("text", text),))

    def facts(self) -> tuple[ToolFacts, ...]:
        """Return the facts of the calls that go, as far as the policy asks for them. O(bytes)."""
        error_tokens = self.room_tokens // _ERROR_PART
        return facts_of(self._ground, self.hole.gone, self.encoding, self.hole.facts, error_tokens=error_tokens)

    def message(self, summary: str) -> str:
        """Return the text of the summary message: within the cap, for which a long summary is cut on a character."""
        body = summary.strip()
        if not body:
            raise ArgumentError("A summary must not be blank")
        while True:
            text = wrapped(self.record, self.quotes.task, body, self.quotes.latest)
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
    if not tiles_of(SummaryHole, plan.tiles):
        return ()
    ground = Ground(transcript, plan.options)
    return openings_on(ground, Measure(transcript, plan.encoding, plan.model, plan.fit), plan)


def openings_on(ground: Ground, measure: Measure, plan: CompactionPlan) -> tuple[Opening, ...]:
    """Do the same on the ground and by the measure that `plan` was made with."""
    return tuple(_open(ground, hole, measure) for hole in tiles_of(SummaryHole, plan.tiles))


def _open(ground: Ground, hole: SummaryHole, measure: Measure) -> Opening:
    previous = ground.summaries.get(hole.start)
    kept = tuple(KeepRange(tile.start, tile.stop) for tile in hole.kept)
    selection = Selection(hole.start, hole.stop, previous, kept)
    record = hole.record or SummaryRecord(selection.covered)
    quotes = quotes_of(ground, selection)
    # Their own delimiters count too, and something must be left to say.
    empty = Quotes(None if quotes.task is None else "", None if quotes.latest is None else "")
    room = _room(measure, hole, record, empty) - measure.text(MARKER_BODY)
    fitted = fit(quotes, hole.task_max_tokens, room, measure.encoding)
    task_kept: TaskKept = "absent"
    if quotes.task is not None and fitted.task is None:
        task_kept = "dropped"
    elif quotes.task is not None:
        task_kept = "verbatim" if fitted.task == neutralise(quotes.task) else "clipped"
    return Opening(
        hole=hole,
        selection=selection,
        record=record,
        encoding=measure.encoding,
        quotes=fitted,
        task_kept=task_kept,
        identifiers=ground.transcript.identifiers_of(range(going.start, going.stop) for going in hole.gone),
        room_tokens=_room(measure, hole, record, fitted),
        source_tokens=sum(measure.messages(going.start, going.stop) for going in hole.gone),
        _measure=measure,
        _ground=ground,
    )


def _room(measure: Measure, hole: SummaryHole, record: SummaryRecord, quotes: Quotes) -> int:
    """How many tokens of text fit beside what the wrapper says.

    Where counts are estimates, a message's bound is a multiple of its text's own count; a sample text gives the factor.
    """
    empty = measure.new_text(hole.role, wrapped(record, quotes.task, "", quotes.latest))
    left = hole.max_tokens - empty
    if left <= 0:
        return 0
    sample_tokens = measure.text(_SAMPLE)
    full = wrapped(record, quotes.task, _SAMPLE, quotes.latest)
    return left * sample_tokens // max(measure.new_text(hole.role, full) - empty, sample_tokens)


_SAMPLE = "- src/parser.py: the tokenizer drops the minus sign in line 42, so `-1` reads as 1.\n" * 8
