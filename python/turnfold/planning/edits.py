"""Steps that leave messages where they are and change texts of their tool results."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

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

_Masked = tuple[int, str, str | None, int]
"""A result that may be masked: its block, what it is, its tool, its tokens."""


def truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    sizes = {index: blocks for index in _messages(draft, step.keep, step.scope) if (blocks := _open(draft, index))}
    largest_first = sorted(sizes, key=lambda i: -max((tokens for _, tokens in sizes[i]), default=0))
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
    sizes: Mapping[int, Sequence[tuple[int, int]]],
    largest_first: Iterable[int],
    max_tokens: int,
) -> Iterator[tuple[int, Edited]]:
    for index in largest_first:
        large = tuple(block for block, tokens in sizes[index] if tokens > max_tokens)
        if not large:
            return
        before = draft.edited.get(index)
        yield index, Edited(large, max_tokens, step.side, () if before is None else before.replaced)


def mask_results(draft: Draft, step: MaskResults) -> None:
    """Mask old tool results, the oldest first."""
    tool_name = draft.ground.tool_name
    opened = ((index, _open(draft, index)) for index in _messages(draft, step.keep, step.scope, step.grid))
    masked = (
        (index, [(block, "Old", tool_name(index, block), tokens) for block, tokens in results])
        for index, results in opened
        if results
    )
    if not draft.edit(_masks(draft, masked, step.scope.min_tokens)) and not draft.is_met():
        draft.note("nothing_to_compact", "No old tool result would be shorter as one line.")


def dedupe_results(draft: Draft, step: DedupeResults) -> None:
    """Replace results that a later one repeats, or whose file was read again by the same call."""
    ground, transcript = draft.ground, draft.transcript
    wanted = frozenset(_messages(draft, step.keep, step.scope))
    reads = _reads(transcript) if step.superseded else frozenset[tuple[int, int]]()
    said: set[tuple[str, str, str]] = set()
    done: set[tuple[str, str]] = set()
    found: dict[int, list[_Masked]] = {}
    for pair in reversed(ground.report.pairs):
        call = transcript.blocks(pair.call_message)[pair.call_block]
        result = transcript.blocks(pair.result_message)[pair.result_block]
        work = (call.name or "", call.text)
        repeated = (*work, result.text) in said
        outdated = work in done
        said.add((*work, result.text))
        if (pair.call_message, pair.call_block) in reads and not result.is_error:
            done.add(work)
        if not (repeated or outdated) or pair.result_message not in wanted:
            continue
        tokens = dict(_open(draft, pair.result_message)).get(pair.result_block)
        if tokens is not None:
            why = "Repeated" if repeated else "Outdated"
            found.setdefault(pair.result_message, []).append((pair.result_block, why, call.name, tokens))
    if not draft.edit(_masks(draft, sorted(found.items()), step.scope.min_tokens)) and not draft.is_met():
        draft.note("nothing_to_compact", "No tool result says what a later one says again.")


def _messages(draft: Draft, keep: Tail, scope: Scope, grid: int = 1) -> Iterator[int]:
    """Return the messages whose results may change: after what an earlier step replaces, and before the tail."""
    ground, encoding = draft.ground, draft.measure.encoding
    tail = on_grid(ground, resolved(ground, keep, draft.limit_tokens), grid, encoding)
    spared = spares(ground, scope)
    for index in range(draft.kept_from, tail_start(ground, tail, encoding)):
        if not spared(index):
            yield index


def _open(draft: Draft, index: int) -> list[tuple[int, int]]:
    """Return the results of a message that may still change, each with its tokens."""
    transcript = draft.transcript
    heads = transcript.block_heads[index]
    results = [k for k, head in enumerate(heads) if head.kind == "tool_result" and head.rewritable]
    if not results:
        return []
    edit = draft.edited.get(index)
    if edit is not None:
        taken = {block for block, _ in edit.replaced}
        results = [k for k in results if k not in taken]
    if any(heads[k].text_bytes <= _LONGEST_MASK_BYTES for k in results):
        blocks = transcript.blocks(index)
        results = [k for k in results if not _MASK.fullmatch(blocks[k].text)]
    tokens = transcript.block_tokens(index, encoding=draft.measure.encoding)
    return [(block, tokens[block]) for block in results]


def _masks(draft: Draft, results: Iterable[tuple[int, list[_Masked]]], min_tokens: int) -> Iterator[tuple[int, Edited]]:
    """Put a line in the place of each result where that is shorter."""
    for index, found in results:
        lines = {block: _line(why, name, tokens) for block, why, name, tokens in found if tokens >= min_tokens}
        left = count_many(list(lines.values()), draft.measure.encoding)
        sizes = {block: tokens for block, _, _, tokens in found}
        masks = {
            block: line for (block, line), tokens in zip(lines.items(), left, strict=True) if tokens < sizes[block]
        }
        if masks:
            before = draft.edited.get(index, Edited())
            blocks = tuple(block for block in before.blocks if block not in masks)
            replaced = tuple(sorted((dict(before.replaced) | masks).items()))
            yield index, Edited(blocks, before.max_tokens, before.side, replaced)


def _line(what: str, name: str | None, tokens: int) -> str:
    tool = " ".join((name or "a tool").split())[:_LONGEST_NAME]
    return f"[{what} output of {tool}: {tokens} tokens left out]"


def _reads(transcript: Transcript) -> frozenset[tuple[int, int]]:
    """Find the calls that read a file: digests come a call, in order."""
    kinds: dict[int, list[str]] = {}
    for digest in transcript.digests():
        kinds.setdefault(digest.message, []).append(digest.kind)
    found: set[tuple[int, int]] = set()
    for index, named in kinds.items():
        calls = [k for k, head in enumerate(transcript.block_heads[index]) if head.kind == "tool_call"]
        if len(calls) == len(named):
            found.update((index, call) for call, kind in zip(calls, named, strict=True) if kind == "read")
    return frozenset(found)


def _levels(step: TruncateResults) -> Iterator[int]:
    max_tokens = step.max_tokens
    yield max_tokens
    while max_tokens // 2 >= max(step.min_tokens, 1):
        max_tokens //= 2
        yield max_tokens
