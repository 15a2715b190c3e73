"""The steps of a policy, each a function that changes a draft."""

from collections.abc import Iterator

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.meter import truncate_middle
from turnfold.model.plan import SummaryRole
from turnfold.model.policy import Drop, Step, Summarize, TruncateResults
from turnfold.planning.draft import Draft, Hole, Shortened
from turnfold.planning.measure import Measure
from turnfold.planning.quotes import Quotes, fit, quotes_of
from turnfold.planning.selection import NotSelected, Selection, select, select_turns
from turnfold.planning.wrapper import MARKER_BODY, WrappedSummary, wrap
from turnfold.transcript import Transcript

_SHORTEST_QUOTE_TOKENS = 48
_NONE = Quotes(None, None)


def run_step(draft: Draft, step: Step) -> None:
    """Let `step` change `draft`, or note there why it does not."""
    match step:
        case Summarize():
            _summarize(draft, step)
        case TruncateResults():
            _truncate_results(draft, step)
        case Drop():
            _drop(draft, step)


def _summarize(draft: Draft, step: Summarize) -> None:
    """Open a hole where `step` selects one, or widen the one there is."""
    measure = draft.measure
    chosen = select(draft.ground, step.keep, measure.encoding)
    if isinstance(chosen, NotSelected):
        draft.reasons.append(chosen)
        return
    if draft.selection is not None and chosen.stop <= draft.selection.stop:
        draft.note("nothing_to_compact", "An earlier step replaces as much already.")
        return
    role = _role(draft, step, chosen)
    # Where both are intervals, only a summary whose bound is under the likeliest count is certain to be smaller.
    source_tokens = min(
        sum(measure.messages(going.start, going.stop) for going in chosen.gone),
        sum(measure.likely(going.start, going.stop) for going in chosen.gone),
    )
    quotes = quotes_of(draft.ground, chosen)
    longest = fit(quotes, step.task_max_tokens, 2 * step.task_max_tokens, measure.encoding)
    task_tokens = max(measure.text(longest.task or ""), measure.text(longest.latest or ""))
    shortest = fit(quotes, min(task_tokens, _SHORTEST_QUOTE_TOKENS), 2 * _SHORTEST_QUOTE_TOKENS, measure.encoding)
    least = _message_tokens(measure, role, chosen, shortest, MARKER_BODY)
    task_cost = _message_tokens(measure, role, chosen, longest, "") - _message_tokens(measure, role, chosen, _NONE, "")
    if least >= source_tokens:
        draft.note(
            "no_reduction",
            f"The {sum(map(len, chosen.gone))} messages that could be replaced count {source_tokens} tokens, "
            f"and the shortest summary message counts {least}.",
        )
        return
    most = max(least, min(step.max_tokens + task_cost, source_tokens - 1))
    draft.open(Hole(chosen, role, step.schema, task_tokens, task_cost, least, most))


def _message_tokens(measure: Measure, role: SummaryRole, chosen: Selection, quotes: Quotes, body: str) -> int:
    return measure.new_text(role, wrap(WrappedSummary(chosen.covered, quotes.task, body, quotes.latest)))


def _role(draft: Draft, step: Summarize, chosen: Selection) -> SummaryRole:
    """Choose the role of the summary message: the policy's, unless the provider minds it there."""
    transcript = draft.transcript
    if step.role == "user":
        return "user"
    folded = draft.ground.folded
    before = [range(folded.start), range(folded.stop, chosen.start)]
    trial = transcript.splice(
        [
            *before,
            transcript.text_message(step.role, MARKER_BODY),
            *(range(tile.start, tile.stop) for tile in chosen.kept),
            range(chosen.stop, len(transcript)),
        ]
    )
    place = sum(map(len, before))
    minded = any(finding.message == place for finding in checks.scan(trial, draft.options).findings)
    return "user" if minded else step.role


def _drop(draft: Draft, step: Drop) -> None:
    """Drop what `step` selects, a hole that it covers included, or widen what is dropped."""
    chosen = select_turns(draft.ground, step.keep, draft.measure.encoding)
    if isinstance(chosen, NotSelected):
        draft.reasons.append(chosen)
    elif draft.selection is not None and chosen.stop < draft.selection.stop:
        draft.note("nothing_to_compact", "An earlier step replaces as much already.")
    else:
        draft.drop(chosen)


def _truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    transcript, measure = draft.transcript, draft.measure
    sizes = {i: list(_result_tokens(transcript, i, measure.encoding)) for i in range(draft.kept_from, len(transcript))}
    largest_first = sorted(sizes, key=lambda i: -max((tokens for _, tokens in sizes[i]), default=0))
    for max_tokens in _levels(step):
        for index in largest_first:
            blocks = tuple(block for block, tokens in sizes[index] if tokens > max_tokens)
            if not blocks:
                break
            shorter = shortened_message(transcript, index, blocks, max_tokens, measure.encoding)
            saved = measure.messages(index, index + 1) - measure.new_message(shorter)
            if saved > 0:
                draft.shorten(index, Shortened(blocks, max_tokens, saved))
            if draft.is_met():
                return
        # Below the size that the policy asks for, only as far as the limit demands.
        if not draft.target_is_limit or draft.tokens_with_least() <= draft.target_tokens:
            break
    if not draft.shortened:
        draft.note("nothing_to_compact", f"No kept tool result counts more than {step.max_tokens} tokens.")


def shortened_message(
    transcript: Transcript, index: int, blocks: tuple[int, ...], max_tokens: int, encoding: str
) -> bytes:
    """Return the JSON of message `index` with the texts of `blocks` cut to `max_tokens` tokens each."""
    texts = transcript.blocks(index)
    return transcript.rewrite(index, {b: truncate_middle(texts[b].text, max_tokens, encoding) for b in blocks})


def stripped_message(transcript: Transcript, index: int, blocks: tuple[int, ...]) -> bytes:
    """Return the JSON of message `index` without `blocks`. Raises an `ArgumentError` where nothing would be left."""
    message = transcript.without_blocks(index, blocks)
    if message is None:
        raise ArgumentError(f"Message {index} has nothing left without blocks {list(blocks)}: drop it instead")
    return message


def _result_tokens(transcript: Transcript, index: int, encoding: str) -> Iterator[tuple[int, int]]:
    results = [k for k, b in enumerate(transcript.blocks(index)) if b.kind == "tool_result" and b.rewritable]
    if results:
        tokens = transcript.block_tokens(index, encoding=encoding)
        yield from ((block, tokens[block]) for block in results)


def _levels(step: TruncateResults) -> Iterator[int]:
    max_tokens = step.max_tokens
    yield max_tokens
    while max_tokens // 2 >= max(step.min_tokens, 1):
        max_tokens //= 2
        yield max_tokens
