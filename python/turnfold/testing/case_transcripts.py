"""Cases of the layers `pairs` and `split`: what belongs together and where a transcript may be cut."""

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from turnfold.checks import find_split, scan, split_points
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages, KeepTokens
from turnfold.testing.case_files import (
    WIRE_FORMATS,
    CaseError,
    CaseFile,
    Mismatch,
    Mismatches,
    brief,
    differs,
    given,
)
from turnfold.testing.case_shapes import Expect, ForParams, Outputs, Pairs, Params, Snap, TranscriptInput
from turnfold.transcript import Transcript

PAIRING = frozenset(
    {
        "valid_splits",
        "forbidden_splits",
        "snap",
        "pairs",
        "outputs",
        "input_violates",
        "chosen_split",
        "for_params",
        "atomic_units",
    }
)
"""The expectations that `pairing_and_splits` checks."""


def pairing_and_splits(case: CaseFile, source: TranscriptInput, expect: Expect, used: set[str]) -> Mismatches:
    """Check the expectations on pairs, split points and finished transcripts; adds the parameters it uses to `used`."""
    if source.messages is msgspec.UNSET:
        return
    transcript = read(case, source.messages)
    options = scan_options(source.params, used)
    for name, value in given(expect):
        where = f"expect.{name}"
        match value:
            case Pairs():
                yield from _check_pairs(transcript, options, value, where)
            case Outputs():
                yield from _check_outputs(case, value, where)
            case _ if name == "snap" and expect.snap is not msgspec.UNSET:
                yield from _check_snaps(transcript, options, expect.snap, where)
            case _ if name == "input_violates" and expect.input_violates is not msgspec.UNSET:
                yield from _check_violations(transcript, options, expect.input_violates, where)
            case _ if name == "chosen_split" and expect.chosen_split is not msgspec.UNSET:
                yield from _check_chosen(
                    transcript, options, source.params, expect.chosen_split, where=where, used=used
                )
            case _ if name == "for_params" and expect.for_params is not msgspec.UNSET:
                yield from _check_for_params(transcript, options, expect.for_params, where, used)
            case _ if name == "atomic_units" and expect.atomic_units is not msgspec.UNSET:
                cuts = list(split_points(transcript, options))
                yield from differs(where, expect.atomic_units, [list(unit) for unit in pairwise(cuts)])
            case _:
                continue
    yield from _check_splits(transcript, options, expect)


def read(case: CaseFile, messages: object) -> Transcript:
    """Return the messages as a transcript in the case's format."""
    return Transcript.from_json(msgspec.json.encode(messages), format=WIRE_FORMATS[case.format])


def scan_options(params: Params, used: set[str]) -> ScanOptions:
    """Return what the parameters say beyond the body."""
    used |= {"pending_ids", "long_running_ids", "thinking", "strict_alternation", "gemini3", "reasoning_pairs"}
    used.add("single_system")
    pending: list[str] = []
    for ids in (params.pending_ids, params.long_running_ids):
        pending += [] if ids is msgspec.UNSET else ids
    return ScanOptions(
        pending_ids=tuple(pending),
        thinking=None if params.thinking is msgspec.UNSET else params.thinking,
        strict_alternation=params.strict_alternation is True,
        signatures=None if params.gemini3 is msgspec.UNSET else params.gemini3,
        reasoning_pairs=() if params.reasoning_pairs is msgspec.UNSET else tuple(params.reasoning_pairs.items()),
        severities=(("OC-7", "error"),) if params.single_system is True else (),
    )


def _check_splits(transcript: Transcript, options: ScanOptions, expect: Expect) -> Mismatches:
    if expect.valid_splits is msgspec.UNSET and expect.forbidden_splits is msgspec.UNSET:
        return
    if expect.valid_splits is msgspec.UNSET or expect.forbidden_splits is msgspec.UNSET:
        raise CaseError("valid_splits and forbidden_splits go together")
    whole = list(range(transcript.leading, len(transcript) + 1))
    if sorted(expect.valid_splits + expect.forbidden_splits) != whole:
        raise CaseError("valid_splits and forbidden_splits together cover every index once")
    points = split_points(transcript, options)
    yield from differs("expect.valid_splits", expect.valid_splits, list(points))
    for index in whole:
        legal = index in expect.valid_splits
        yield from differs(f"expect.valid_splits: {index} is legal", legal, index in points)
        if legal == bool(points.why_not(index)):
            yield Mismatch(f"why_not({index})", "nothing" if legal else "a reason", "a reason" if legal else "nothing")


def _check_snaps(transcript: Transcript, options: ScanOptions, snaps: list[Snap], where: str) -> Mismatches:
    points = split_points(transcript, options)
    for k, snap in enumerate(snaps):
        yield from differs(f"{where}[{k}].down", snap.down, points.at_or_before(snap.requested))
        yield from differs(f"{where}[{k}].up", snap.up, points.at_or_after(snap.requested))


def _check_pairs(transcript: Transcript, options: ScanOptions, pairs: Pairs, where: str) -> Mismatches:
    report = scan(transcript, options)
    results = {"orphan_results": report.orphan_results, "pending": report.pending}
    results["abandoned_calls"] = report.abandoned_calls
    for name, value in given(pairs):
        got: object
        if name == "paired":
            got = len(report.pairs)
        elif name == "pair_indices":
            got = sorted([p.call_message, p.result_message] for p in report.pairs)
        elif name == "misplaced":
            got = _placed((p.result_message, p.call_id) for p in report.pairs if p.misplaced)
        elif name == "duplicate_call_ids":
            got = list(report.duplicate_call_ids)
        elif name == "duplicate_result_ids":
            got = list(report.duplicate_result_ids)
        elif name in results:
            got = _placed((p.message, p.call_id) for p in results[name])
        else:
            raise CaseError(f"{where}.{name} is not checked")
        yield from differs(f"{where}.{name}", msgspec.to_builtins(value), got)


def _placed(places: Iterable[tuple[int, str | None]]) -> list[dict[str, object]]:
    return [{"index": index, "id": call_id} for index, call_id in places]


def _check_violations(transcript: Transcript, options: ScanOptions, rules: list[str], where: str) -> Mismatches:
    report = scan(transcript, options)
    found = {finding.rule for finding in report.findings}
    missing = [rule for rule in rules if rule not in found]
    if missing:
        yield Mismatch(where, f"findings of {brief(rules)}", brief(sorted(found)))


def _check_outputs(case: CaseFile, outputs: Outputs, where: str) -> Mismatches:
    refused: set[str] = set()
    for k, output in enumerate([] if outputs.invalid is msgspec.UNSET else outputs.invalid):
        refused |= set(output.violates)
        options = scan_options(output.params, set())
        _refuse_other_params(output.params, f"{where}.invalid[{k}]")
        yield from _check_violations(read(case, output.messages), options, output.violates, f"{where}.invalid[{k}]")
    for k, accepted in enumerate([] if outputs.valid is msgspec.UNSET else outputs.valid):
        _refuse_other_params(accepted.params, f"{where}.valid[{k}]")
        report = scan(read(case, accepted.messages), scan_options(accepted.params, set()))
        against = [f.rule for f in report.findings if f.severity == "error" or f.rule in refused]
        yield from differs(f"{where}.valid[{k}]: rules broken", [], against)


def _refuse_other_params(params: Params, where: str) -> None:
    known: set[str] = set()
    scan_options(params, known)
    for name, _ in given(params):
        if name not in known:
            raise CaseError(f"{where}.params.{name} is not used")


def _check_chosen(
    transcript: Transcript, options: ScanOptions, params: Params, expected: int, *, where: str, used: set[str]
) -> Mismatches:
    keep: KeepMessages | KeepTokens
    if params.keep_last is not msgspec.UNSET:
        used.add("keep_last")
        keep = KeepMessages(params.keep_last)
    elif params.keep_recent_tokens is not msgspec.UNSET:
        used.add("keep_recent_tokens")
        keep = KeepTokens(params.keep_recent_tokens)
    else:
        raise CaseError(f"{where} needs params.keep_last or params.keep_recent_tokens")
    point = find_split(transcript, keep, options)
    yield from differs(f"{where} for {keep}", expected, None if point is None else point.index)


def _check_for_params(
    transcript: Transcript, options: ScanOptions, rows: list[ForParams], where: str, used: set[str]
) -> Mismatches:
    for k, row in enumerate(rows):
        params = Params(keep_last=row.keep_last)
        yield from _check_chosen(transcript, options, params, row.chosen_split, where=f"{where}[{k}]", used=used)
