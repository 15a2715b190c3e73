"""Steps that leave messages where they are and change texts of their tool results."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from turnfold.checks import open_results
from turnfold.meter import count_many
from turnfold.model.plan import EditBlocks
from turnfold.model.policy import DedupeResults, MaskResults, TruncateResults
from turnfold.model.selection import Scope, Tail
from turnfold.planning.draft import MOST_AT_ONCE, Draft
from turnfold.planning.rewritten import replacing
from turnfold.planning.scope import on_grid, resolved, spares, tail_start
from turnfold.transcript import Transcript

_MASK: Final = re.compile(r"\[(?:Old|Repeated|Outdated) output of .*: \d+ tokens left out\]")
_LONGEST_NAME: Final = 64
_LONGEST_MASK_BYTES: Final = 1 << 10
"""What such a line takes at most, though every character of the name were escaped."""

_BY_MESSAGE: Final = itemgetter(0)

_Open = tuple[int, int, int, str | None, str | None]
"""A result that may still change: message, block, tokens, tool, and its text where that was asked for."""

_Masked = tuple[int, int, int, str]
"""A result that may be masked: message, block, tokens, and the line for it."""


def truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    results = _open(draft, step.keep, step.scope)
    most: dict[int, int] = {}
    for index, _, tokens, _, _ in results:
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


def _cuts(draft: Draft, step: TruncateResults, largest_first: Iterable[_Open], max_tokens: int) -> Iterator[EditBlocks]:
    for index, results in groupby(largest_first, _BY_MESSAGE):
        large = tuple([block for _, block, tokens, _, _ in results if tokens > max_tokens])
        if not large:
            return
        before = draft.edited.get(index)
        replaced = () if before is None else before.replaced
        yield EditBlocks(index, index + 1, large, max_tokens, side=step.side, replaced=replaced)


def mask_results(draft: Draft, step: MaskResults) -> None:
    """Mask old tool results, the oldest first."""
    masked = [
        (index, block, tokens, _line("Old", tool, tokens))
        for index, block, tokens, tool, _ in _open(draft, step.keep, step.scope, step.grid)
    ]
    if not draft.edit(_masks(draft, masked, step.scope.min_tokens), MOST_AT_ONCE) and not draft.is_met():
        draft.note("nothing_to_compact", "No old tool result would be shorter as one line.")


def dedupe_results(draft: Draft, step: DedupeResults) -> None:
    """Replace results that a later one repeats, or whose file was read again by the same call."""
    ground, transcript = draft.ground, draft.transcript
    wanted = {(index, block): tokens for index, block, tokens, _, _ in _open(draft, step.keep, step.scope)}
    reads = _reads(transcript) if step.superseded else frozenset[tuple[int, int]]()
    parts = list(transcript.parts(0, len(transcript)))
    said: set[tuple[str, str, str]] = set()
    done: set[tuple[str, str]] = set()
    found: list[_Masked] = []
    for pair in reversed(ground.report.pairs):
        call = parts[pair.call_message][pair.call_block]
        result = parts[pair.result_message][pair.result_block]
        work = (call.name or "", call.text)
        repeated = (*work, result.text) in said
        outdated = work in done
        said.add((*work, result.text))
        if (pair.call_message, pair.call_block) in reads and not result.is_error:
            done.add(work)
        tokens = wanted.get((pair.result_message, pair.result_block))
        if tokens is not None and (repeated or outdated):
            line = _line("Repeated" if repeated else "Outdated", call.name, tokens)
            found.append((pair.result_message, pair.result_block, tokens, line))
    found.sort()
    if not draft.edit(_masks(draft, found, step.scope.min_tokens), MOST_AT_ONCE) and not draft.is_met():
        draft.note("nothing_to_compact", "No tool result says what a later one says again.")


def _open(draft: Draft, keep: Tail, scope: Scope, grid: int = 1) -> list[_Open]:
    """Find the results that may still change, after what an earlier step replaces, and before the tail, in order."""
    ground, encoding = draft.ground, draft.measure.encoding
    tail = on_grid(ground, resolved(ground, keep, draft.limit_tokens), grid, encoding)
    stop = max(tail_start(ground, tail, encoding), draft.kept_from)
    replaced = {(index, block) for index, edit in draft.edited.items() for block, _ in edit.replaced}
    results = open_results(
        draft.transcript,
        draft.kept_from,
        stop,
        draft.options,
        encoding=encoding,
        short_bytes=_LONGEST_MASK_BYTES,
        beginning="[",
    )
    found = [one for one in results if one[4] is None or not _MASK.fullmatch(one[4])]
    if replaced:
        found = [one for one in found if one[:2] not in replaced]
    if scope.pins or scope.exclude_tools:
        spared = spares(ground, scope)
        found = [one for one in found if not spared(one[0])]
    return found


def _masks(draft: Draft, results: Sequence[_Masked], min_tokens: int) -> Iterator[EditBlocks]:
    """Put a line in the place of each result where that is shorter. Those of a message stand side by side."""
    # A text has no more tokens than bytes, so beside most results a line need not be counted.
    near = list({line: None for _, _, tokens, line in results if min_tokens <= tokens <= 4 * len(line)})
    left = dict(zip(near, count_many(near, draft.measure.encoding), strict=True))
    at, texts = -1, list[tuple[int, str]]()
    for index, block, tokens, line in results:
        if tokens < min_tokens or left.get(line, 0) >= tokens:
            continue
        if index != at and texts:
            yield _masked(draft, at, tuple(texts))
            texts.clear()
        at = index
        texts.append((block, line))
    if texts:
        yield _masked(draft, at, tuple(texts))


def _masked(draft: Draft, index: int, texts: tuple[tuple[int, str], ...]) -> EditBlocks:
    before = draft.edited.get(index)
    return EditBlocks(index, index + 1, replaced=texts) if before is None else replacing(before, texts)


def _line(what: str, name: str | None, tokens: int) -> str:
    return f"[{what} output of {_tool(name)}: {tokens} tokens left out]"


@lru_cache(maxsize=256)
def _tool(name: str | None) -> str:
    return " ".join((name or "a tool").split())[:_LONGEST_NAME]


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
