"""Splice a plan's result together, then judge it: scanned again, counted again, compared with the input."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final, Self, assert_never

import msgspec

from turnfold import checks, meter
from turnfold.errors import ArgumentError
from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import (
    CompactionPlan,
    DropRange,
    EditBlocks,
    KeepRange,
    Skip,
    StripBlocks,
    SummaryHole,
    Tile,
    tiles_of,
)
from turnfold.model.prefix import PrefixReport
from turnfold.model.report import CompactionRecord
from turnfold.model.result import Attempt, Coverage, IdentifierReport, TaskKept, Timings
from turnfold.model.summary import Usage
from turnfold.model.thinking import ThinkingReport
from turnfold.objects import Message
from turnfold.planning.fill import Opening, openings
from turnfold.planning.rewritten import stripped_message, texts_of_each
from turnfold.planning.wrapper import recognise
from turnfold.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A plan carried out, and what its judgement found.

    `summary` is the whole text of the summary message, and `summary_role` the role it has there: both None where the
    plan has no hole.
    """

    transcript: Transcript
    before: TokenCount
    after: TokenCount
    plan: CompactionPlan
    findings: tuple[Finding, ...]
    prefix: PrefixReport
    identifiers: IdentifierReport
    task_kept: TaskKept
    summary: str | None
    summary_role: str | None

    @property
    def thinking(self) -> ThinkingReport:
        """What became of reasoning in kept messages, and what to send for its sake."""
        return self.plan.thinking

    @property
    def body(self) -> bytes:
        """The request as JSON: kept messages are the input's own bytes."""
        return self.transcript.to_json()

    @property
    def messages(self) -> list[Message]:
        """The messages as objects: kept ones are the caller's own."""
        return self.transcript.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult(Applied):
    """A finished compaction: the new transcript and everything there is to say about it.

    `method` names the summarizer whose text was used, None where the plan has no hole; `attempts` is everyone that was
    asked and how it ended, `usage` the tokens of all their replies, used or not. `coverage` says how much of what was
    replaced was shown to who wrote. `texts` are the summaries as they were written, a hole of the plan each:
    `apply(transcript, plan, texts)` makes the same transcript again.
    """

    method: str | None
    usage: Usage
    coverage: Coverage
    attempts: tuple[Attempt, ...]
    timings: Timings
    texts: tuple[str, ...]

    @classmethod
    def of(
        cls,
        applied: Applied,
        *,
        method: str | None,
        usage: Usage,
        coverage: Coverage,
        attempts: tuple[Attempt, ...],
        timings: Timings,
        texts: tuple[str, ...],
    ) -> Self:
        """Return what was applied, with how it came about."""
        return cls(
            **dict(zip(_APPLIED, _VALUES(applied), strict=True)),
            method=method,
            usage=usage,
            coverage=coverage,
            attempts=attempts,
            timings=timings,
            texts=texts,
        )

    @property
    def record(self) -> CompactionRecord:
        """The result as one flat record."""
        hole = next((tile for tile in self.plan.tiles if isinstance(tile, SummaryHole)), None)
        keep = None if hole is None or hole.keep is None else msgspec.to_builtins(hole.keep)
        unit = None if keep is None else keep.pop("type")
        going = sum(map(len, _gone(self.plan)))
        return CompactionRecord(
            strategy=self.plan.policy,
            method=self.method,
            fallback=bool(self.attempts) and self.attempts[0].method != self.method,
            tokens_before=self.before.n,
            tokens_after=self.after.n,
            original_messages=self.plan.messages,
            new_messages=len(self.transcript),
            old_messages=going,
            recent_messages=self.plan.messages - (0 if hole is None else hole.stop),
            keep=None if keep is None else next(iter(keep.values())),
            keep_unit=unit,
            desired_split=None if hole is None else hole.desired_stop,
            safe_split=None if hole is None else hole.stop,
            role=self.summary_role,
            desired_role=None if hole is None else hole.desired_role,
            summary=self.summary,
            summary_length=len(self.summary or ""),
            covers=None if hole is None else hole.record,
            kept_ids=self.identifiers.kept,
            lost_ids=self.identifiers.lost,
            new_ids=self.identifiers.new,
            referenced_later=self.identifiers.referenced_later,
            usage=self.usage,
        )


_CHANGES: Final = frozenset({SummaryHole, EditBlocks, DropRange})
_APPLIED: Final = tuple(field.name for field in fields(Applied))
_VALUES: Final = attrgetter(*_APPLIED)


def _gone(plan: CompactionPlan) -> tuple[range, ...]:
    """Return the messages that are not in the result."""
    going = (
        (range(tile.start, tile.stop),) if isinstance(tile, DropRange) else tile.gone
        for tile in plan.tiles
        if isinstance(tile, DropRange | SummaryHole)
    )
    return tuple(part for parts in going for part in parts)


def apply(transcript: Transcript, plan: CompactionPlan, summaries: Sequence[str] = ()) -> Applied | Skip:
    """Carry out `plan` with one summary text a hole, in order.

    The result is handed over only if it breaks no rule of its provider, holds what that sealed as it was, counts less
    than the input and at most the plan's target; else a `Skip` says why. Raises `PlanMismatchError` for a plan of
    another transcript, and an `ArgumentError` for a wrong number of summaries or a blank one. O(messages) and the new
    text.
    """
    return apply_opened(transcript, plan, openings(transcript, plan), summaries)


def apply_opened(
    transcript: Transcript, plan: CompactionPlan, opened: Sequence[Opening], summaries: Sequence[str]
) -> Applied | Skip:
    """Do the same with holes that are open already."""
    if len(opened) != len(summaries):
        raise ArgumentError(f"The plan has {len(opened)} holes, and {len(summaries)} summaries were given")
    texts = [opening.message(summary) for opening, summary in zip(opened, summaries, strict=True)]
    messages = [transcript.text_message(opening.hole.role, text) for opening, text in zip(opened, texts, strict=True)]
    encoding = transcript.encoding(plan.encoding, plan.model)
    edited, parts, summary_at = parts_of(transcript, plan.tiles, messages, encoding)
    result = edited if parts == [range(plan.messages)] else edited.splice(parts)
    return _judge(transcript, result, plan, opened, texts=texts, summary_at=summary_at)


def parts_of(
    transcript: Transcript, tiles: Sequence[Tile], summaries: Sequence[bytes], encoding: str
) -> tuple[Transcript, list[range | bytes], int]:
    """Return what `tiles` make of the messages that they cover, with `summaries` as the messages of their holes.

    These are parts of a transcript in which messages have their other texts already. Also the place of the first
    summary among them. Texts are cut in `encoding`.
    """
    changing = [tile for tile in tiles if type(tile) is not KeepRange]
    edits = texts_of_each(transcript, tiles_of(EditBlocks, changing), encoding)
    edited = transcript.edited(edits) if edits else transcript
    parts: list[range | bytes] = []
    start, stop = (tiles[0].start, tiles[-1].stop) if tiles else (0, 0)
    summary_at: int | None = None
    waiting = iter(summaries)
    for tile in changing:
        if type(tile) is EditBlocks and not tile.stripped:
            continue
        parts.append(range(start, tile.start))
        start = tile.stop
        match tile:
            case EditBlocks(stripped=blocks) | StripBlocks(blocks=blocks):
                parts.append(stripped_message(edited, tile.start, blocks))
            case SummaryHole(kept=kept):
                if summary_at is None:
                    summary_at = sum(len(part) if isinstance(part, range) else 1 for part in parts)
                parts.append(next(waiting))
                parts += [_kept(transcript, one) for one in kept]
            case DropRange() | KeepRange():
                pass
            case _:
                assert_never(tile)
    parts.append(range(start, stop))
    return edited, parts, summary_at or 0


def _kept(transcript: Transcript, tile: KeepRange | StripBlocks) -> range | bytes:
    if isinstance(tile, KeepRange):
        return range(tile.start, tile.stop)
    return stripped_message(transcript, tile.start, tile.blocks)


def _judge(
    transcript: Transcript,
    result: Transcript,
    plan: CompactionPlan,
    opened: Sequence[Opening],
    *,
    texts: Sequence[str],
    summary_at: int,
) -> Applied | Skip:
    findings = checks.findings(result, plan.options, before=transcript)
    errors = tuple(finding for finding in findings if finding.severity == "error")
    if errors:
        return Skip("invalid_output", f"The result would not be valid: {errors[0].text}.", plan.before, errors)
    after = result.tokens(encoding=plan.encoding, model=plan.model)
    if (after.n, after.hi) >= (plan.before.n, plan.before.hi):
        return Skip("no_reduction", f"{after.n} tokens would be left of {plan.before.n}.", plan.before)
    left = after.hi if plan.fit == "bound" else after.n
    if left > plan.target_tokens:
        return Skip(
            "misses_target",
            f"{'At most' if plan.fit == 'bound' else 'About'} {left} tokens would be left; "
            f"the target is {plan.target_tokens}.",
            plan.before,
        )
    return Applied(
        transcript=result,
        before=plan.before,
        after=after,
        plan=plan,
        findings=findings,
        prefix=checks.compare_prefix(transcript, result, encoding=plan.encoding, model=plan.model),
        identifiers=_identifiers(transcript, result, plan, opened, texts),
        task_kept=_task_kept(transcript, plan, opened),
        summary=texts[0] if texts else None,
        summary_role=result.speakers[summary_at] if opened else None,
    )


def _task_kept(transcript: Transcript, plan: CompactionPlan, opened: Sequence[Opening]) -> TaskKept:
    if opened and opened[0].task_kept != "absent":
        return opened[0].task_kept
    if "user" not in transcript.speakers:
        return "absent"
    first = transcript.speakers.index("user")
    holding = next((tile for tile in plan.tiles if first < tile.stop), None)
    return "dropped" if isinstance(holding, DropRange) else "message"


def _identifiers(
    transcript: Transcript, result: Transcript, plan: CompactionPlan, opened: Sequence[Opening], texts: Sequence[str]
) -> IdentifierReport:
    """Compare what went with what is there now. Linear in all bytes."""
    replaced = [name for opening in opened for name in opening.identifiers]
    around = checks.identifiers_around(transcript, edited_or_dropped(plan), result, _tail(result, plan), known=replaced)
    kept: list[str] = []
    lost: list[str] = []
    later: list[str] = []
    for name, before, only_behind in zip(*around, strict=True):
        (kept if before or only_behind else lost).append(name)
        if only_behind:
            later.append(name)
    return IdentifierReport(
        kept=tuple(kept),
        lost=tuple(lost),
        new=_from_nowhere(transcript, around[0], texts) if texts else (),
        referenced_later=tuple(later),
    )


def _from_nowhere(transcript: Transcript, source: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Return the identifiers of `texts` that are not in `source`, which the transcript names, nor elsewhere in it."""
    written = tuple(dict.fromkeys(name for text in texts for name in meter.identifiers(_own_words(text))))
    # Of the names of the source, which may be many, no set is made.
    told = set(written).intersection(source)
    unseen = [name for name in written if name not in told]
    return tuple(name for name, known in zip(unseen, transcript.surviving(unseen), strict=True) if not known)


def edited_or_dropped(plan: CompactionPlan) -> list[EditBlocks | DropRange]:
    """Return the tiles that change messages where they are or leave them out.

    What the provider has folded is not among them: that is its own to keep.
    """
    return [
        tile
        for tile in plan.tiles
        if type(tile) is EditBlocks or (type(tile) is DropRange and tile.because == "policy")
    ]


def _tail(result: Transcript, plan: CompactionPlan) -> int:
    """Return where in a result begins what it kept behind the last change."""
    changes = (tile.stop for tile in reversed(plan.tiles) if type(tile) in _CHANGES)
    return len(result) - (plan.messages - next(changes, 0))


def _own_words(text: str) -> str:
    wrapped = recognise(text)
    return text if wrapped is None else f"{wrapped.task or ''}\n{wrapped.body}"
