"""Take parts out of a transcript for good: what a removal leaves empty goes with it, and steps go as a whole."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from turnfold import checks
from turnfold.errors import ArgumentError
from turnfold.model.findings import IntegrityReport
from turnfold.model.scan import BODY_ONLY, ScanOptions
from turnfold.transcript import Transcript

Place = tuple[int, int]
"""A message index and a block index in it."""


def remove_blocks(transcript: Transcript, places: Iterable[Place]) -> Transcript:
    """Return the transcript without the blocks at `places`, each a message index and a block index.

    A message that loses every block, or keeps only reasoning and blank text, goes as a whole. All other bytes and
    objects stay. Half of a pair leaves the other half: `remove_tool_calls` takes both. O(messages + changed bytes).
    """
    gone: defaultdict[int, set[int]] = defaultdict(set)
    for message_index, block_index in places:
        if not 0 <= message_index < len(transcript):
            raise ArgumentError(f"There is no message {message_index}: the transcript has {len(transcript)}")
        gone[message_index].add(block_index)
    if not gone:
        return transcript
    parts: list[range | bytes] = []
    at = 0
    for message_index, block_indexes in sorted(gone.items()):
        parts.append(range(at, message_index))
        left = transcript.without_blocks(message_index, block_indexes)
        if left is not None:
            parts.append(left)
        at = message_index + 1
    return transcript.splice([*parts, range(at, len(transcript))])


def remove_tool_calls(
    transcript: Transcript, call_ids: Collection[str], options: ScanOptions = BODY_ONLY
) -> tuple[Transcript, tuple[str, ...]]:
    """Return the transcript without these calls and their results, and the ids that it still holds.

    In the current turn, the model's calls of one step go together or not at all: one of them may carry the signature of
    all. A call that is awaited stays, and so does everything if the result would break a rule that the input keeps.
    What a removal leaves empty goes, as in `remove_blocks`, reasoning that led to nothing else included. O(blocks).
    """
    wanted = frozenset(call_ids)
    report = checks.scan(transcript, options)
    results = {(p.call_message, p.call_block): (p.result_message, p.result_block) for p in report.pairs}
    named = _ids(report)
    awaited = {(place.message, place.block) for place in report.pending}
    turns = checks.layout(transcript, options).turns
    current = turns[-1] if turns else 0
    gone: set[Place] = {(o.message, o.block) for o in report.orphan_results if o.call_id in wanted}
    for step in _steps(transcript):
        asked = [place for place in step if named.get(place) in wanted]
        partly = step[0][0] > current and len(asked) < len(step)
        if not asked or partly or not awaited.isdisjoint(asked):
            continue
        gone.update(asked)
        gone.update(results[place] for place in asked if place in results)
    gone.update(_reasoning_for_nothing(transcript, gone))
    left = remove_blocks(transcript, gone)
    after = checks.scan(left, options)
    if _errors(after) > _errors(report):
        left, after = transcript, report
    return left, tuple(sorted(wanted & {identifier for identifier in _ids(after).values() if identifier is not None}))


def _ids(report: IntegrityReport) -> dict[Place, str | None]:
    """Return the id of every call, by place."""
    unanswered = (*report.pending, *report.abandoned_calls)
    return {(p.call_message, p.call_block): p.call_id for p in report.pairs} | {
        (place.message, place.block): place.call_id for place in unanswered
    }


def _errors(report: IntegrityReport) -> int:
    return sum(finding.severity == "error" for finding in report.findings)


def _steps(transcript: Transcript) -> list[list[Place]]:
    """Return the calls that the model made in one go: those of its messages that nothing else parts."""
    steps: list[list[Place]] = [[]]
    for index, speaker in enumerate(transcript.speakers):
        if speaker != "assistant":
            steps.append([])
            continue
        steps[-1] += [(index, k) for k, head in enumerate(transcript.block_heads[index]) if head.kind == "tool_call"]
    return [step for step in steps if step]


def _reasoning_for_nothing(transcript: Transcript, gone: Collection[Place]) -> set[Place]:
    """Find reasoning in messages of its own, directly before messages that go as a whole."""
    found: set[Place] = set()
    taken: defaultdict[int, set[int]] = defaultdict(set)
    for message_index, block_index in gone:
        taken[message_index].add(block_index)
    whole = {index for index, blocks in taken.items() if transcript.without_blocks(index, blocks) is None}
    for index in sorted(whole, reverse=True):
        before = index - 1
        while before >= 0 and before not in whole:
            heads = transcript.block_heads[before]
            if not heads or any(head.kind != "reasoning" for head in heads):
                break
            found.update((before, k) for k in range(len(heads)))
            before -= 1
    return found
