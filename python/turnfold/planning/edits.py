"""Steps that leave messages where they are and change texts of their tool results."""

import re
from collections.abc import Iterator
from typing import Final

from turnfold.model.policy import DedupeResults, MaskResults, TruncateResults
from turnfold.model.selection import Scope, Tail
from turnfold.planning.draft import Draft
from turnfold.planning.rewritten import Edited
from turnfold.planning.scope import on_grid, resolved, spares, tail_start
from turnfold.transcript import Transcript

_MASK: Final = re.compile(r"\[(?:Old|Repeated|Outdated) output of .*: \d+ tokens left out\]")
_LONGEST_NAME: Final = 64


def truncate_results(draft: Draft, step: TruncateResults) -> None:
    """Shorten kept tool results, the largest first, until the target is met; further where nothing else can meet it."""
    if draft.is_met():
        return
    measure = draft.measure
    sizes = {index: blocks for index in _messages(draft, step.keep, step.scope) if (blocks := _open(draft, index))}
    largest_first = sorted(sizes, key=lambda i: -max((tokens for _, tokens in sizes[i]), default=0))
    changed = False
    for max_tokens in _levels(step):
        for index in largest_first:
            large = tuple(block for block, tokens in sizes[index] if tokens > max_tokens)
            if not large:
                break
            before = draft.edited.get(index)
            edit = Edited(large, max_tokens, step.side, () if before is None else before.replaced)
            changed = draft.edit(index, edit, measure.encoding) or changed
            if draft.is_met():
                return
        # Below the size that the policy asks for, only as far as the limit demands.
        if not draft.target_is_limit or draft.tokens_with_least() <= draft.target_tokens:
            break
    if not changed:
        draft.note("nothing_to_compact", f"No kept tool result counts more than {step.max_tokens} tokens.")


def mask_results(draft: Draft, step: MaskResults) -> None:
    """Mask old tool results, the oldest first."""
    changed = False
    for index in _messages(draft, step.keep, step.scope, step.grid):
        if draft.is_met():
            return
        masks = tuple(
            (block, _line("Old", draft.ground.tool_name(index, block), tokens))
            for block, tokens in _open(draft, index)
            if tokens >= step.scope.min_tokens
        )
        changed = _replace(draft, index, masks) or changed
    if not changed:
        draft.note("nothing_to_compact", "No old tool result would be shorter as one line.")


def dedupe_results(draft: Draft, step: DedupeResults) -> None:
    """Replace results that a later one repeats, or whose file was read again by the same call."""
    ground, transcript = draft.ground, draft.transcript
    wanted = frozenset(_messages(draft, step.keep, step.scope))
    reads = _reads(transcript) if step.superseded else frozenset[tuple[int, int]]()
    said: set[tuple[str, str, str]] = set()
    done: set[tuple[str, str]] = set()
    masks: dict[int, list[tuple[int, str]]] = {}
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
        if tokens is not None and tokens >= step.scope.min_tokens:
            line = _line("Repeated" if repeated else "Outdated", call.name, tokens)
            masks.setdefault(pair.result_message, []).append((pair.result_block, line))
    changed = False
    for index in sorted(masks):
        if draft.is_met():
            return
        changed = _replace(draft, index, tuple(sorted(masks[index]))) or changed
    if not changed:
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
    blocks = draft.transcript.blocks(index)
    edit = draft.edited.get(index)
    taken = {block for block, _ in edit.replaced} if edit is not None else set[int]()
    results = [
        k
        for k, b in enumerate(blocks)
        if b.kind == "tool_result" and b.rewritable and k not in taken and not _MASK.fullmatch(b.text)
    ]
    tokens = draft.transcript.block_tokens(index, encoding=draft.measure.encoding) if results else []
    return [(block, tokens[block]) for block in results]


def _replace(draft: Draft, index: int, masks: tuple[tuple[int, str], ...]) -> bool:
    """Put each line in the place of its result, where that is shorter. Returns whether anything changed."""
    changed = False
    for mask in masks:
        before = draft.edited.get(index, Edited())
        blocks = tuple(block for block in before.blocks if block != mask[0])
        edit = Edited(blocks, before.max_tokens, before.side, tuple(sorted((*before.replaced, mask))))
        changed = draft.edit(index, edit, draft.measure.encoding) or changed
    return changed


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
        calls = [k for k, block in enumerate(transcript.blocks(index)) if block.kind == "tool_call"]
        if len(calls) == len(named):
            found.update((index, call) for call, kind in zip(calls, named, strict=True) if kind == "read")
    return frozenset(found)


def _levels(step: TruncateResults) -> Iterator[int]:
    max_tokens = step.max_tokens
    yield max_tokens
    while max_tokens // 2 >= max(step.min_tokens, 1):
        max_tokens //= 2
        yield max_tokens
