"""The steps of a policy that put something else, or nothing, in the place of messages."""

from collections.abc import Iterator

import msgspec

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.model.plan import Place, SummaryRole
from turnfold.model.policy import AskProvider, DedupeResults, Drop, MaskResults, Step, Summarize, TruncateResults
from turnfold.model.selection import Keep, Scope
from turnfold.model.summary import SummaryRecord
from turnfold.planning.draft import Draft, Hole
from turnfold.planning.edits import dedupe_results, mask_results, truncate_results
from turnfold.planning.ground import Ground
from turnfold.planning.measure import Measure
from turnfold.planning.quotes import Quotes, fit, quotes_of
from turnfold.planning.record import record_of
from turnfold.planning.scope import head_stop, resolved, select_scope
from turnfold.planning.selection import NotSelected, Selection, select, select_turns
from turnfold.planning.wrapper import MARKER_BODY, wrapped
from turnfold.transcript import Transcript

_SHORTEST_QUOTE_TOKENS = 48
_NONE = Quotes(None, None)
_NO_SCOPE = Scope()


def run_step(draft: Draft, step: Step) -> None:
    """Let `step` change `draft`, or note there why it does not."""
    match step:
        case Summarize():
            _summarize(draft, step)
        case TruncateResults():
            truncate_results(draft, step)
        case MaskResults():
            mask_results(draft, step)
        case DedupeResults():
            dedupe_results(draft, step)
        case Drop():
            _drop(draft, step)
        case AskProvider():
            raise ArgumentError("What is left to the provider is no step of a plan")


def _summarize(draft: Draft, step: Summarize) -> None:
    """Open a hole where `step` selects one, or widen the one there is."""
    measure = draft.measure
    if step.once and draft.ground.summaries:
        draft.note("nothing_to_compact", "There is a summary already, and the policy writes one only.")
        return
    found = _selected(draft, step)
    if isinstance(found, NotSelected):
        draft.reasons.append(found)
        return
    chosen, role = found
    if draft.selection is not None and chosen.stop <= draft.selection.stop:
        draft.note("nothing_to_compact", "An earlier step replaces as much already.")
        return
    # Where both are intervals, only a summary whose bound is under the likeliest count is certain to be smaller.
    source_tokens = min(
        sum(measure.messages(going.start, going.stop) for going in chosen.gone),
        sum(measure.likely(going.start, going.stop) for going in chosen.gone),
    )
    quotes = quotes_of(draft.ground, chosen)
    longest = fit(quotes, step.task_max_tokens, 2 * step.task_max_tokens, measure.encoding)
    task_tokens = max(measure.text(longest.task or ""), measure.text(longest.latest or ""))
    shortest = fit(quotes, min(task_tokens, _SHORTEST_QUOTE_TOKENS), 2 * _SHORTEST_QUOTE_TOKENS, measure.encoding)
    record = record_of(draft.ground, chosen, step.unit, draft.time)
    least = _message_tokens(measure, role, record, shortest, MARKER_BODY)
    task_cost = _message_tokens(measure, role, record, longest, "") - _message_tokens(measure, role, record, _NONE, "")
    if least >= source_tokens:
        draft.note(
            "no_reduction",
            f"The {sum(map(len, chosen.gone))} messages that could be replaced count {source_tokens} tokens, "
            f"and the shortest summary message counts {least}.",
        )
        return
    allowed = step.max_tokens
    if draft.limit_tokens is not None:
        free = draft.limit_tokens - draft.kept_tokens() + source_tokens
        allowed = min(allowed, int(step.max_share * max(free, 0))) if step.max_share < 1 else allowed
    most = max(least, min(allowed + task_cost, source_tokens - 1))
    draft.open(Hole(chosen, role, step, record, task_tokens, task_cost, least, most))


def _message_tokens(measure: Measure, role: SummaryRole, record: SummaryRecord, quotes: Quotes, body: str) -> int:
    return measure.new_text(role, wrapped(record, quotes.task, body, quotes.latest))


def _selected(draft: Draft, step: Summarize) -> tuple[Selection, SummaryRole] | NotSelected:
    """Choose what the summary replaces and the role in which that leaves a valid transcript."""
    ground = draft.ground
    keep, scope = resolved(ground, step.keep, draft.limit_tokens), _bearable(ground, step.scope)
    if scope == _NO_SCOPE and ground.latest_summary <= ground.start:
        chosen = select(ground, keep, draft.measure.encoding)
        return chosen if isinstance(chosen, NotSelected) else (chosen, _role(draft, step.role, chosen))
    scoped = _scoped(draft, keep, scope, spare_tokens=step.max_tokens, place=step.place)
    if isinstance(scoped, NotSelected):
        return scoped
    other: SummaryRole = "user" if step.role == "assistant" else "assistant"
    tried = [(selection, role) for selection in (scoped, *_shorter(ground, scoped)) for role in (step.role, other)]
    # What goes may be what is wrong with the input, and then one role may leave nothing wrong.
    for mended in (True,) if ground.report.ok else (True, False):
        for selection, role in tried:
            if _is_valid(draft, selection, role, mended=mended):
                return selection, role
    return NotSelected("no_legal_split", "What is in scope cannot go from its place: the rest would be invalid.")


def _bearable(ground: Ground, scope: Scope) -> Scope:
    """Return what a format bears in which speakers take turns: there no turn can go and leave its neighbours."""
    if ground.alternates and (scope.only != "all" or scope.user_verbatim):
        return msgspec.structs.replace(scope, only="all", user_verbatim=False)
    return scope


def _shorter(ground: Ground, scoped: Selection) -> Iterator[Selection]:
    """Return selections that end earlier, where only that lets the speakers take turns."""
    if not ground.alternates or scoped.kept:
        return
    for group in reversed(ground.groups):
        if scoped.start + (scoped.previous is not None) < group.start < scoped.stop:
            yield Selection(scoped.start, group.start, scoped.previous, wanted=scoped.wanted)


def _scoped(
    draft: Draft, keep: Keep, scope: Scope, *, spare_tokens: int, place: Place | None
) -> Selection | NotSelected:
    ground, measure = draft.ground, draft.measure
    head = resolved(ground, scope.head, draft.limit_tokens)
    draft.head_tokens = measure.messages(ground.start, head_stop(ground, head, measure))
    over = draft.kept_tokens() + spare_tokens - draft.target_tokens if draft.target_is_limit else None
    return select_scope(ground, keep, scope, head, measure, over_tokens=over, place=place)


def _role(draft: Draft, role: SummaryRole, chosen: Selection) -> SummaryRole:
    """Choose the role of the summary message: the policy's, unless the provider minds it there."""
    return role if role == "user" or not _minded(draft, chosen, role) else "user"


def _minded(draft: Draft, chosen: Selection, role: SummaryRole) -> bool:
    trial, place = _trial(draft, chosen, role)
    return any(finding.message == place for finding in checks.scan(trial, draft.options).findings)


def _is_valid(draft: Draft, chosen: Selection, role: SummaryRole | None, *, mended: bool = False) -> bool:
    """Whether the rest has no error that the whole has not; with a summary in `role`, or with nothing there.

    With `mended` it must have none at all, whatever the whole has.
    """
    if not mended and not draft.ground.report.ok:
        return True
    trial, _ = _trial(draft, chosen, role)
    return checks.scan(trial, draft.options, before=draft.transcript).ok


def _trial(draft: Draft, chosen: Selection, role: SummaryRole | None) -> tuple[Transcript, int]:
    """Return the transcript without what was chosen, and the place of the summary in it."""
    transcript, folded = draft.transcript, draft.ground.folded
    before = [range(folded.start), range(folded.stop, chosen.start)]
    trial = transcript.splice(
        [
            *before,
            *(() if role is None else (transcript.text_message(role, MARKER_BODY),)),
            *(range(tile.start, tile.stop) for tile in chosen.kept),
            range(chosen.stop, len(transcript)),
        ]
    )
    return trial, sum(map(len, before))


def _drop(draft: Draft, step: Drop) -> None:
    """Drop what `step` selects, a hole that it covers included, or widen what is dropped."""
    ground, encoding = draft.ground, draft.measure.encoding
    if step.after_summary and not ground.summaries:
        draft.note("nothing_to_compact", "There is no summary yet after which anything may be dropped.")
        return
    keep, scope = resolved(ground, step.keep, draft.limit_tokens), _bearable(ground, step.scope)
    if scope == _NO_SCOPE:
        chosen = select_turns(ground, keep, encoding)
    else:
        chosen = _scoped(draft, keep, scope, spare_tokens=0, place=None)
        if isinstance(chosen, Selection) and not _is_valid(draft, chosen, None):
            chosen = NotSelected("no_legal_split", "What is in scope cannot be dropped: the rest would be invalid.")
    if isinstance(chosen, NotSelected):
        draft.reasons.append(chosen)
    elif draft.selection is not None and chosen.stop < draft.selection.stop:
        draft.note("nothing_to_compact", "An earlier step replaces as much already.")
    else:
        draft.drop(chosen)
