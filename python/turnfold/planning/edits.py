"""Steps that leave messages where they are and change texts of their tool results."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

from turnfold.checks import MaskReason, OpenResult, masks, open_results
from turnfold.model.plan import EditBlocks
from turnfold.model.policy import DedupeResults, MaskResults, TruncateResults
from turnfold.model.selection import Scope, Tail
from turnfold.planning.draft import Draft
from turnfold.planning.rewritten import replacing
from turnfold.planning.scope import on_grid, resolved, spares, tail_start
from turnfold.transcript import Transcript

_BY_MESSAGE: Final = itemgetter(0)


def truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    results = _open(draft, step.keep, step.scope)
    most: dict[int, int] = {}
    for index, _, tokens, _ in results:
        most[index] = max(tokens, most.get(index, 0))
    # Those of one message stay side by side: messages of equal size keep their order.
    results.sort(key=lambda one: -most[one[0]])
    changed = False
    for max_tokens in _levels(step):
        changed = draft.edit(_cuts(draft, step, results, max_tokens)) or changed
        if draft.is_met():
            return
        # Below the size that the policy asks for, only as far as the limit demands.
        if not draft.target_is_limit or draft.tokens_with_least() <= draft.target_tokens:
            break
    if not changed:
        draft.note("nothing_to_compact", f"No kept tool result counts more than {step.max_tokens} tokens.")


def _cuts(
    draft: Draft, step: TruncateResults, largest_first: Iterable[OpenResult], max_tokens: int
) -> Iterator[EditBlocks]:
    for index, results in groupby(largest_first, _BY_MESSAGE):
        large = tuple([block for _, block, tokens, _ in results if tokens > max_tokens])
        if not large:
            return
        before = draft.edited.get(index)
        replaced = () if before is None else before.replaced
        yield EditBlocks(index, index + 1, large, max_tokens, side=step.side, replaced=replaced)


def mask_results(draft: Draft, step: MaskResults) -> None:
    """Mask old tool results, the oldest first."""
    scope = step.scope
    if scope.pins or scope.exclude_tools or draft.edited:
        results = _open(draft, step.keep, scope, step.grid)
        masked = _mask(draft, results, ["Old"] * len(results), scope.min_tokens)
    else:
        masked = _mask_all(draft, step)
    if not masked and not draft.is_met():
        draft.note("nothing_to_compact", "No old tool result would be shorter as one line.")


def _mask_all(draft: Draft, step: MaskResults) -> bool:
    """Do the same where nothing is spared or changed: in the kernel, which need not hand over what it finds."""
    over_tokens = draft.tokens_with_most() - draft.target_tokens if draft.target_is_limit else None
    if over_tokens is not None and over_tokens <= 0:
        return False
    messages, lines, saved = draft.measure.masked(
        range(draft.kept_from, _stop(draft, step.keep, step.grid)),
        draft.options,
        min_tokens=step.scope.min_tokens,
        over_tokens=over_tokens,
        part_tokens=draft.measure.rounded_tokens,
    )
    masked = zip(messages, lines, strict=True)
    edits = {index: EditBlocks(index, index + 1, replaced=texts) for index, texts in masked}
    draft.take(edits, saved)
    return bool(edits)


def dedupe_results(draft: Draft, step: DedupeResults) -> None:
    """Replace results that a later one repeats, or whose file was read again by the same call."""
    ground, transcript = draft.ground, draft.transcript
    wanted = {one[:2]: one for one in _open(draft, step.keep, step.scope)}
    reads = _reads(transcript) if step.superseded else frozenset[tuple[int, int]]()
    parts = list(transcript.parts(0, len(transcript)))
    said: set[tuple[str, str, str]] = set()
    done: set[tuple[str, str]] = set()
    found: list[tuple[OpenResult, MaskReason]] = []
    for pair in reversed(ground.report.pairs):
        call = parts[pair.call_message][pair.call_block]
        result = parts[pair.result_message][pair.result_block]
        work = (call.name or "", call.text)
        repeated = (*work, result.text) in said
        outdated = work in done
        said.add((*work, result.text))
        if (pair.call_message, pair.call_block) in reads and not result.is_error:
            done.add(work)
        one = wanted.get((pair.result_message, pair.result_block))
        if one is not None and (repeated or outdated):
            found.append((one, "Repeated" if repeated else "Outdated"))
    found.sort()
    results, reasons = [one for one, _ in found], [reason for _, reason in found]
    if not _mask(draft, results, reasons, step.scope.min_tokens) and not draft.is_met():
        draft.note("nothing_to_compact", "No tool result says what a later one says again.")


def _open(draft: Draft, keep: Tail, scope: Scope, grid: int = 1) -> list[OpenResult]:
    """Find the results that may still change, after what an earlier step replaces, and before the tail, in order."""
    ground, encoding, stop = draft.ground, draft.measure.encoding, _stop(draft, keep, grid)
    replaced = {(index, block) for index, edit in draft.edited.items() for block, _ in edit.replaced}
    found = open_results(draft.transcript, draft.kept_from, stop, draft.options, encoding=encoding)
    if replaced:
        found = [one for one in found if one[:2] not in replaced]
    if scope.pins or scope.exclude_tools:
        spared = spares(ground, scope)
        found = [one for one in found if not spared(one[0])]
    return found


def _stop(draft: Draft, keep: Tail, grid: int) -> int:
    """Return where the tail begins, and what may still change ends."""
    ground, encoding = draft.ground, draft.measure.encoding
    tail = on_grid(ground, resolved(ground, keep, draft.limit_tokens), grid, encoding)
    return max(tail_start(ground, tail, encoding), draft.kept_from)


def _mask(draft: Draft, results: list[OpenResult], reasons: list[MaskReason], min_tokens: int) -> bool:
    """Put a line in the place of each result where that is shorter, until the target is met; whether of any."""
    messages, lines = masks(results, reasons, encoding=draft.measure.encoding, min_tokens=min_tokens)
    edited = draft.edited
    edits = (
        replacing(edited[index], texts) if index in edited else EditBlocks(index, index + 1, replaced=texts)
        for index, texts in zip(messages, lines, strict=True)
    )
    return draft.edit(edits)


def _reads(transcript: Transcript) -> frozenset[tuple[int, int]]:
    """Find the calls that read a file: there is a digest of each call, in order."""
    calls = zip(transcript.places("tool_call"), transcript.digests(), strict=True)
    return frozenset((message, block) for (message, block, _), digest in calls if digest.kind == "read")


def _levels(step: TruncateResults) -> Iterator[int]:
    max_tokens = step.max_tokens
    yield max_tokens
    while max_tokens // 2 >= max(step.min_tokens, 1):
        max_tokens //= 2
        yield max_tokens
