"""Steps that leave messages where they are and change texts of their tool results."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from turnfold.checks import open_results
from turnfold.meter import count_many
from turnfold.model.policy import DedupeResults, MaskResults, TruncateResults
from turnfold.model.selection import Scope, Tail
from turnfold.planning.draft import Draft
from turnfold.planning.rewritten import Edited
from turnfold.planning.scope import on_grid, resolved, spares, tail_start
from turnfold.transcript import Transcript

_MASK: Final = re.compile(r"\[(?:Old|Repeated|Outdated) output of .*: \d+ tokens left out\]")
_LONGEST_NAME: Final = 64
_LONGEST_MASK_BYTES: Final = 1 << 10
"""What such a line takes at most, though every character of the name were escaped."""

_Open = dict[int, list[tuple[int, int, str | None]]]
"""The results of each message that may still change: their blocks, their tokens, their tools."""

_Masked = tuple[int, str, int]
"""A result that may be masked: its block, the line for it, its tokens."""


def truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    sizes = _open(draft, step.keep, step.scope)
    largest_first = sorted(sizes, key=lambda i: -max((tokens for _, tokens, _ in sizes[i]), default=0))
    changed = False
    for max_tokens in _levels(step):
        changed = draft.edit(_cuts(draft, step, sizes, largest_first, max_tokens)) or changed
        if draft.is_met():
            return
        # Below the size that the policy asks for, only as far as the limit demands.
        if not draft.target_is_limit or draft.tokens_with_least() <= draft.target_tokens:
            break
    if not changed:
        draft.note("nothing_to_compact", f"No kept tool result counts more than {step.max_tokens} tokens.")


def _cuts(
    draft: Draft,
    step: TruncateResults,
    sizes: _Open,
    largest_first: Iterable[int],
    max_tokens: int,
) -> Iterator[tuple[int, Edited]]:
    for index in largest_first:
        large = tuple(block for block, tokens, _ in sizes[index] if tokens > max_tokens)
        if not large:
            return
        before = draft.edited.get(index)
        yield index, Edited(large, max_tokens, step.side, () if before is None else before.replaced)


def mask_results(draft: Draft, step: MaskResults) -> None:
    """Mask old tool results, the oldest first."""
    masked = [
        (index, [(block, _line("Old", name, tokens), tokens) for block, tokens, name in results])
        for index, results in _open(draft, step.keep, step.scope, step.grid).items()
    ]
    if not draft.edit(_masks(draft, masked, step.scope.min_tokens)) and not draft.is_met():
        draft.note("nothing_to_compact", "No old tool result would be shorter as one line.")


def dedupe_results(draft: Draft, step: DedupeResults) -> None:
    """Replace results that a later one repeats, or whose file was read again by the same call."""
    ground, transcript = draft.ground, draft.transcript
    wanted = {
        (index, block): tokens
        for index, results in _open(draft, step.keep, step.scope).items()
        for block, tokens, _ in results
    }
    reads = _reads(transcript) if step.superseded else frozenset[tuple[int, int]]()
    parts = list(transcript.parts(0, len(transcript)))
    said: set[tuple[str, str, str]] = set()
    done: set[tuple[str, str]] = set()
    found: dict[int, list[_Masked]] = {}
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
            found.setdefault(pair.result_message, []).append((pair.result_block, line, tokens))
    if not draft.edit(_masks(draft, sorted(found.items()), step.scope.min_tokens)) and not draft.is_met():
        draft.note("nothing_to_compact", "No tool result says what a later one says again.")


def _open(draft: Draft, keep: Tail, scope: Scope, grid: int = 1) -> _Open:
    """Find the results that may still change, after what an earlier step replaces, and before the tail."""
    ground, encoding = draft.ground, draft.measure.encoding
    tail = on_grid(ground, resolved(ground, keep, draft.limit_tokens), grid, encoding)
    stop = max(tail_start(ground, tail, encoding), draft.kept_from)
    spared = spares(ground, scope)
    found: _Open = {}
    results = open_results(
        draft.transcript,
        draft.kept_from,
        stop,
        draft.options,
        encoding=encoding,
        short_bytes=_LONGEST_MASK_BYTES,
        beginning="[",
    )
    for index, block, tokens, name, text in results:
        edit = draft.edited.get(index)
        if edit is not None and any(block == taken for taken, _ in edit.replaced):
            continue
        if (text is None or not _MASK.fullmatch(text)) and not spared(index):
            found.setdefault(index, []).append((block, tokens, name))
    return found


def _masks(draft: Draft, results: Sequence[tuple[int, list[_Masked]]], min_tokens: int) -> Iterator[tuple[int, Edited]]:
    """Put a line in the place of each result where that is shorter."""
    lines = list({line: None for _, found in results for _, line, tokens in found if tokens >= min_tokens})
    left = dict(zip(lines, count_many(lines, draft.measure.encoding), strict=True))
    for index, found in results:
        masks = [(block, line) for block, line, tokens in found if left.get(line, tokens) < tokens]
        if not masks:
            continue
        before = draft.edited.get(index)
        if before is None:
            yield index, Edited(replaced=tuple(sorted(masks)))
            continue
        masked = dict(masks)
        blocks = tuple(block for block in before.blocks if block not in masked)
        replaced = tuple(sorted((dict(before.replaced) | masked).items()))
        yield index, Edited(blocks, before.max_tokens, before.side, replaced)


def _line(what: str, name: str | None, tokens: int) -> str:
    return f"[{what} output of {_tool(name)}: {tokens} tokens left out]"


@lru_cache(maxsize=256)
def _tool(name: str | None) -> str:
    return " ".join((name or "a tool").split())[:_LONGEST_NAME]


def _reads(transcript: Transcript) -> frozenset[tuple[int, int]]:
    """Find the calls that read a file: digests come a call, in order."""
    kinds: dict[int, list[str]] = {}
    for digest in transcript.digests():
        kinds.setdefault(digest.message, []).append(digest.kind)
    called: dict[int, list[int]] = {}
    for index, block, _ in transcript.places("tool_call"):
        called.setdefault(index, []).append(block)
    found: set[tuple[int, int]] = set()
    for index, named in kinds.items():
        calls = called.get(index, [])
        if len(calls) == len(named):
            found.update((index, call) for call, kind in zip(calls, named, strict=True) if kind == "read")
    return frozenset(found)


def _levels(step: TruncateResults) -> Iterator[int]:
    max_tokens = step.max_tokens
    yield max_tokens
    while max_tokens // 2 >= max(step.min_tokens, 1):
        max_tokens //= 2
        yield max_tokens
