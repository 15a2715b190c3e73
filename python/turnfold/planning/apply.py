"""Splice a plan's result together, then judge it: scanned again, counted again, compared with the input."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnfold import checks, meter
from turnfold.errors import ArgumentError
from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import CompactionPlan, KeepRange, Skip, SummaryHole, TruncateBlock
from turnfold.model.prefix import PrefixReport
from turnfold.model.result import Attempt, IdentifierReport, TaskKept, Timings
from turnfold.model.summary import Usage
from turnfold.planning.fill import Opening, openings
from turnfold.planning.steps import shortened_message
from turnfold.planning.wrapper import recognise
from turnfold.transcript import Message, Transcript


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
    asked and how it ended, `usage` the tokens that the used replies report.
    """

    method: str | None
    usage: Usage
    attempts: tuple[Attempt, ...]
    timings: Timings


def apply(transcript: Transcript, plan: CompactionPlan, summaries: Sequence[str] = ()) -> Applied | Skip:
    """Carry out `plan` with one summary text a hole, in order.

    The result is handed over only if it breaks no rule of its provider, counts less than the input and at most the
    plan's target; else a `Skip` says why. Raises `PlanMismatchError` for a plan of another transcript, and an
    `ArgumentError` for a wrong number of summaries or a blank one. O(messages) and the new text.
    """
    return apply_opened(transcript, plan, openings(transcript, plan), summaries)


def apply_opened(
    transcript: Transcript, plan: CompactionPlan, opened: Sequence[Opening], summaries: Sequence[str]
) -> Applied | Skip:
    """Do the same with holes that are open already."""
    if len(opened) != len(summaries):
        raise ArgumentError(f"The plan has {len(opened)} holes, and {len(summaries)} summaries were given")
    texts = [opening.message(summary) for opening, summary in zip(opened, summaries, strict=True)]
    result = transcript.splice(_parts(transcript, plan, texts))
    return _judge(transcript, result, plan, opened, texts)


def _parts(transcript: Transcript, plan: CompactionPlan, texts: Sequence[str]) -> list[range | bytes]:
    parts: list[range | bytes] = []
    waiting = iter(texts)
    encoding = transcript.encoding(plan.encoding, plan.model)
    for tile in plan.tiles:
        match tile:
            case KeepRange(start=start, stop=stop):
                parts.append(range(start, stop))
            case SummaryHole(role=role):
                parts.append(transcript.text_message(role, next(waiting)))
            case TruncateBlock(start=index, blocks=blocks, max_tokens=max_tokens):
                parts.append(shortened_message(transcript, index, blocks, max_tokens, encoding))
    return parts


def _judge(
    transcript: Transcript, result: Transcript, plan: CompactionPlan, opened: Sequence[Opening], texts: Sequence[str]
) -> Applied | Skip:
    report = checks.scan(result, plan.options)
    if not report.ok:
        errors = tuple(finding for finding in report.findings if finding.severity == "error")
        return Skip("invalid_output", f"The result would not be valid: {errors[0].text}.", plan.before, errors)
    after = result.tokens(encoding=plan.encoding, model=plan.model)
    if after.n >= plan.before.n:
        return Skip("no_reduction", f"{after.n} tokens would be left of {plan.before.n}.", plan.before)
    if after.hi > plan.target_tokens:
        return Skip(
            "misses_target",
            f"At most {after.hi} tokens would be left; the target is {plan.target_tokens}.",
            plan.before,
        )
    return Applied(
        transcript=result,
        before=plan.before,
        after=after,
        plan=plan,
        findings=report.findings,
        prefix=checks.compare_prefix(transcript, result, encoding=plan.encoding, model=plan.model),
        identifiers=_identifiers(transcript, result, plan, opened, texts),
        task_kept=_task_kept(transcript, opened),
        summary=texts[0] if texts else None,
        summary_role=result.speakers[opened[0].hole.start] if opened else None,
    )


def _task_kept(transcript: Transcript, opened: Sequence[Opening]) -> TaskKept:
    if opened and opened[0].task_kept != "absent":
        return opened[0].task_kept
    return "message" if "user" in transcript.speakers else "absent"


def _identifiers(
    transcript: Transcript, result: Transcript, plan: CompactionPlan, opened: Sequence[Opening], texts: Sequence[str]
) -> IdentifierReport:
    """Compare what went with what is there now. Linear in the bytes of both transcripts."""
    changed = dict.fromkeys(name for opening in opened for name in opening.identifiers)
    for tile in plan.tiles:
        if isinstance(tile, TruncateBlock):
            changed.update(dict.fromkeys(transcript.identifiers(tile.start, tile.stop)))
    names = tuple(changed)
    there = result.surviving(names)
    written = tuple(dict.fromkeys(name for text in texts for name in meter.identifiers(_own_words(text))))
    known = transcript.surviving(written)
    return IdentifierReport(
        kept=tuple(n for n, kept in zip(names, there, strict=True) if kept),
        lost=tuple(n for n, kept in zip(names, there, strict=True) if not kept),
        new=tuple(n for n, old in zip(written, known, strict=True) if not old),
    )


def _own_words(text: str) -> str:
    wrapped = recognise(text)
    return text if wrapped is None else f"{wrapped.task or ''}\n{wrapped.body}"
