"""Cases of the layers `pairs`, `split` and `adapters`: from what belongs together to what a compaction makes of it."""

import msgspec

from turnfold.checks import split_points
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult
from turnfold.testing.case_files import CaseError, CaseFile, Mismatch, Mismatches, brief, differs, given, holds, shaped
from turnfold.testing.case_outputs import (
    OUTPUT_CHECKS,
    check_distinct_ids,
    check_outputs,
    check_repair,
    check_stripped,
    compacted,
    limit,
    outputs_of,
)
from turnfold.testing.case_shapes import Each, Expect, Params, Result, TranscriptInput
from turnfold.testing.case_texts import ENCODINGS, check_relations
from turnfold.testing.case_transcripts import PAIRING, pairing_and_splits, read, scan_options
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_PROSE = frozenset({"invariants"})
_ON_REQUEST = Policy(trigger=OnRequest(), steps=(Summarize(keep=KeepMessages(0)),))


def check_transcripts(case: CaseFile) -> Mismatches:
    """All expectations of one case of the layers pairs, split and adapters."""
    source = shaped(case.input, TranscriptInput, "input")
    expect = shaped(case.expect, Expect, "expect")
    if (source.messages is _UNSET) == (source.messages_list is _UNSET):
        raise CaseError("input needs exactly one of messages and messages_list")
    used: set[str] = set()
    checked = set(_PROSE)
    if source.messages is not _UNSET:
        checked |= PAIRING
        yield from pairing_and_splits(case, source, expect, used)
        yield from _on_one(case, source, expect, used=used, checked=checked)
    else:
        yield from _on_several(case, source, expect, checked)
    for name, _ in given(expect):
        if name not in checked:
            raise CaseError(f"expect.{name} is not checked for this input")
    for name, _ in given(source.params):
        if name not in used:
            raise CaseError(f"params.{name} is not used")


def _on_one(
    case: CaseFile, source: TranscriptInput, expect: Expect, *, used: set[str], checked: set[str]
) -> Mismatches:
    transcript = read(case, source.messages)
    options = scan_options(source.params, used)
    if expect.tokens is not _UNSET and expect.texts is not _UNSET:
        checked |= {"tokens", "texts"}
        yield from check_relations(expect.tokens, expect.texts, "expect.tokens")
    if expect.result is not _UNSET:
        checked.add("result")
        for encoding in ENCODINGS:
            yield from _check_result(transcript, source, expect.result, options=options, encoding=encoding, used=used)
    if expect.identity is not _UNSET:
        checked.add("identity")
        yield from _check_identity(transcript, source, used)
    if expect.each is not _UNSET and source.params_list is not _UNSET:
        checked.add("each")
        for k, params in enumerate(source.params_list):
            yield from _check_each(transcript, params, expect.each, f"expect.each with params_list[{k}]")
    if expect.repair is not _UNSET:
        checked.add("repair")
        yield from check_repair(transcript, expect.repair, options)
    outputs = tuple(outputs_of(case, transcript, source, expect, used=used, options=options))
    if outputs:
        checked |= OUTPUT_CHECKS
        yield from check_outputs(case, transcript, outputs, expect, options)
        yield from check_stripped(source, outputs, expect)
        yield from check_distinct_ids(case, transcript, outputs)


def _check_result(
    transcript: Transcript,
    source: TranscriptInput,
    result: Result,
    *,
    options: ScanOptions,
    encoding: str,
    used: set[str],
) -> Mismatches:
    if source.params.hard_limit_tokens is _UNSET:
        raise CaseError("expect.result needs params.hard_limit_tokens")
    used.add("hard_limit_tokens")
    before = transcript.to_json()
    outcome, calls = compacted(transcript, limit(source.params.hard_limit_tokens), source.summarizer, options, encoding)
    committed = isinstance(outcome, CompactionResult)
    reason = outcome.reason if isinstance(outcome, Skip) else None
    after = (outcome.transcript if isinstance(outcome, CompactionResult) else transcript).tokens(encoding=encoding)
    for name, value in given(result):
        where = f"expect.result.{name} in {encoding}"
        if name == "committed":
            yield from differs(where, value, committed)
        elif name == "history_unchanged":
            yield from differs(where, value, not committed and transcript.to_json() == before)
        elif name == "summarizer_calls" and result.summarizer_calls is not _UNSET:
            if not result.summarizer_calls.min <= calls <= result.summarizer_calls.max:
                yield Mismatch(where, brief(value), str(calls))
        elif name == "reason":
            yield from differs(where, value, reason)
        elif name == "reason_in" and result.reason_in is not _UNSET:
            if reason not in result.reason_in:
                yield Mismatch(where, brief(value), brief(reason))
        elif name == "tokens_after" and result.tokens_after is not _UNSET:
            if not holds(result.tokens_after.op, after.n, result.tokens_after.value):
                yield Mismatch(where, f"{result.tokens_after.op} {result.tokens_after.value}", str(after.n))
        else:
            raise CaseError(f"{where} is not checked")


def _check_identity(transcript: Transcript, source: TranscriptInput, used: set[str]) -> Mismatches:
    if source.params.trigger_tokens is _UNSET:
        raise CaseError("expect.identity needs params.trigger_tokens")
    used.add("trigger_tokens")
    yield from _unchanged(transcript, limit(source.params.trigger_tokens), "expect.identity", "under_trigger")


def _unchanged(transcript: Transcript, policy: Policy, where: str, reason: str | None = None) -> Mismatches:
    """Check that a compaction leaves every byte as it is and asks nobody."""
    before = transcript.to_json()
    outcome, calls = compacted(transcript, policy, (), ScanOptions())
    if not isinstance(outcome, Skip):
        yield Mismatch(where, "unchanged", "compacted")
        return
    if reason is not None:
        yield from differs(f"{where}: reason", reason, outcome.reason)
    yield from differs(f"{where}: summarizer calls", 0, calls)
    yield from differs(f"{where}: bytes", before.decode(), transcript.to_json().decode())


def _check_each(transcript: Transcript, params: Params, each: Each, where: str) -> Mismatches:
    if params.budget_tokens is _UNSET or params != Params(budget_tokens=params.budget_tokens):
        raise CaseError(f"{where} needs budget_tokens and nothing else")
    outcome, _ = compacted(transcript, limit(params.budget_tokens), (), ScanOptions())
    reason = outcome.reason if isinstance(outcome, Skip) else "none"
    output = "" if isinstance(outcome, Skip) else outcome.body.decode()
    met = []
    for choice in each.one_of:
        if choice.startswith("reports "):
            met.append(reason == choice.removeprefix("reports "))
        elif choice.startswith("output contains "):
            met.append(choice.removeprefix("output contains ") in output)
        else:
            raise CaseError(f"{where}: unknown choice {choice!r}")
    if not any(met):
        yield Mismatch(where, brief(each.one_of), f"reason {reason}, output {brief(output)}")


def _on_several(case: CaseFile, source: TranscriptInput, expect: Expect, checked: set[str]) -> Mismatches:
    histories = [] if source.messages_list is _UNSET else source.messages_list
    transcripts = [read(case, messages) for messages in histories]
    if expect.each_valid_splits is not _UNSET:
        checked.add("each_valid_splits")
        got = [list(split_points(transcript)) for transcript in transcripts]
        yield from differs("expect.each_valid_splits", expect.each_valid_splits, got)
    if expect.each_result is not _UNSET:
        checked.add("each_result")
        for k, transcript in enumerate(transcripts):
            yield from _unchanged(transcript, _ON_REQUEST, f"expect.each_result for messages_list[{k}]")
