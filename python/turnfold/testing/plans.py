"""Whether a compaction kept its promises: for tests of policies, and for transcripts of one's own."""

from collections.abc import Iterable

import msgspec

from turnfold.checks import scan
from turnfold.model.plan import CompactionPlan, DropRange, EditBlocks, KeepRange, StripBlocks, SummaryHole
from turnfold.planning.apply import Applied, CompactionResult, apply
from turnfold.planning.wrapper import recognise
from turnfold.transcript import Transcript


def check_result(before: Transcript, result: CompactionResult) -> None:
    """Raise `AssertionError` where `result` breaks a promise that was made for `before`.

    It is valid and smaller, within its target, its plan tiles `before`, what the plan keeps left byte for byte, and the
    plan, stored and carried out again elsewhere, gives the same transcript. O(bytes).
    """
    plan = result.plan
    report = scan(result.transcript, plan.options, before=before)
    _holds(report.ok, f"it breaks a rule: {report.findings}")
    _holds(result.after.n < result.before.n, f"{result.after.n} tokens are not fewer than {result.before.n}")
    left = result.after.hi if plan.fit == "bound" else result.after.n
    _holds(left <= plan.tokens_at_most <= plan.target_tokens, f"{left} tokens: {plan.tokens_at_most} were promised")
    check_tiles(plan, before, result.transcript)
    read_again = Transcript.from_json(result.body, format=before.format)
    _holds(read_again.fingerprint == result.transcript.fingerprint, "its body is another transcript")
    stored = msgspec.json.decode(msgspec.json.encode(plan), type=CompactionPlan)
    elsewhere = Transcript.from_json(before.to_json(), format=before.format)
    summary = recognise(result.summary or "")
    replayed = apply(elsewhere, stored, () if summary is None else (summary.body,))
    same = isinstance(replayed, Applied) and replayed.transcript.fingerprint == result.transcript.fingerprint
    _holds(same, f"the plan, carried out again, gives something else: {replayed}")


def check_tiles(plan: CompactionPlan, before: Transcript, after: Transcript) -> None:
    """Raise `AssertionError` unless the plan tiles `before`, and `after` is its kept messages byte for byte, with
    nothing between them but what the plan puts there.
    """
    at = covered = 0

    def kept(tiles: Iterable[KeepRange | StripBlocks]) -> None:
        nonlocal at
        for tile in tiles:
            if isinstance(tile, StripBlocks):
                at += 1
                continue
            for index in range(tile.start, tile.stop):
                same = after.message_json(at) == before.message_json(index)
                _holds(same, f"message {index} is not what it was")
                at += 1

    for tile in plan.tiles:
        _holds(tile.start == covered < tile.stop, f"a tile begins at {tile.start}, and {covered} messages are covered")
        covered = tile.stop
        match tile:
            case KeepRange() | StripBlocks():
                kept((tile,))
            case SummaryHole():
                at += 1
                kept(tile.kept)
            case EditBlocks():
                only_results = all(before.blocks(tile.start)[k].kind == "tool_result" for k in tile.edited)
                _holds(only_results and len(set(tile.edited)) == len(tile.edited), f"{tile} edits other than results")
                at += 1
            case DropRange():
                pass
    _holds(covered == len(before), f"{covered} of {len(before)} messages are covered")
    _holds(at == len(after), f"the result has {len(after)} messages, and the plan says {at}")


def _holds(promise: bool, text: str) -> None:  # noqa: FBT001  # what is asserted
    if not promise:
        raise AssertionError(text)
