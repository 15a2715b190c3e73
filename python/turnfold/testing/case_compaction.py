"""Cases of the layers `pairs` and `split` whose expectations are about what a compaction makes of the transcript."""

from collections.abc import Iterator, Sequence

import msgspec

from turnfold.checks import find_split, scan, split_points
from turnfold.compactor import compact_sync
from turnfold.model.plan import CompactionPlan, KeepRange, Skip, SummaryHole
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.planning.fill import openings
from turnfold.planning.request import summary_request
from turnfold.presets import token_threshold
from turnfold.summarizers.rules import Rules
from turnfold.testing.case_files import CaseError, CaseFile, Mismatch, Mismatches, brief, differs, given, holds, shaped
from turnfold.testing.case_shapes import Each, Expect, Params, Result, ScriptedReply, TranscriptInput
from turnfold.testing.case_texts import ENCODINGS, check_relations
from turnfold.testing.case_transcripts import PAIRING, pairing_and_splits, read, scan_options
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_PROSE = frozenset({"invariants"})
_ON_REQUEST = Policy(trigger=OnRequest(), steps=(Summarize(keep=KeepMessages(0)),))


def check_transcripts(case: CaseFile) -> Mismatches:
    """All expectations of one case of the layers pairs and split."""
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
    outputs = tuple(_outputs(transcript, source, options, used))
    if expect.must_contain_in_output is not _UNSET and outputs:
        checked.add("must_contain_in_output")
        yield from _check_contains(outputs, expect.must_contain_in_output)
    if expect.output_prefix_identical is not _UNSET and outputs:
        checked.add("output_prefix_identical")
        yield from _check_start(transcript, outputs, expect.output_prefix_identical)
    for output in outputs:
        yield from _check_valid(case, output, expect, options)


def _outputs(
    transcript: Transcript, source: TranscriptInput, options: ScanOptions, used: set[str]
) -> Iterator[Transcript]:
    """Return what the case's parameters make of the transcript: with its own summarizer, or by rule at a given place.

    At a given place the summary is written although the inputs are so small that it is longer than what it replaces.
    """
    params = source.params
    points = split_points(transcript, options)
    if params.hard_limit_tokens is not _UNSET:
        used.add("hard_limit_tokens")
        outcome, _ = _compact(transcript, _limit(params.hard_limit_tokens), source.summarizer, options)
        yield outcome.transcript if isinstance(outcome, CompactionResult) else transcript
    wanted: list[int | None] = []
    if params.split is not _UNSET:
        used.add("split")
        wanted.append(params.split if params.split in points else None)
    if params.requested_split is not _UNSET:
        used |= {"requested_split", "retain_user_text"}
        wanted.append(points.at_or_before(params.requested_split))
    if params.target_messages is not _UNSET:
        used.add("target_messages")
        keep = max(0, params.target_messages - transcript.leading - 1)
        point = find_split(transcript, KeepMessages(keep), options)
        wanted.append(None if point is None else point.index)
    for split in wanted:
        if split is None:
            raise CaseError("the place that params name is no legal cut")
        yield _summarised(transcript, split, options)


def _summarised(transcript: Transcript, split: int, options: ScanOptions) -> Transcript:
    """Return the transcript with everything between its instructions and `split` replaced by a summary made by rule."""
    before = transcript.tokens()
    start, stop = transcript.leading, len(transcript)
    hole = SummaryHole(start, split, role="user", max_tokens=2_000, task_max_tokens=1_000, schema="nine_sections")
    plan = CompactionPlan(
        source=transcript.fingerprint,
        messages=stop,
        encoding=None,
        model=None,
        tiles=(KeepRange(0, start), hole, KeepRange(split, stop)),
        before=before,
        tokens_at_most=before.hi + hole.max_tokens,
        target_tokens=before.hi + hole.max_tokens,
        policy="case",
        options=options,
    )
    (opening,) = openings(transcript, plan)
    text = opening.message(Rules().write(summary_request(transcript, opening)))
    return transcript.splice([range(start), transcript.text_message("user", text), range(split, stop)])


class _Scripted:
    """Answers with the replies of a case in order, the last one again and again, and counts how often it is asked."""

    name = "scripted"

    def __init__(self, replies: Sequence[ScriptedReply]) -> None:
        self._replies = [reply.return_ for reply in replies] or ["[summary]"]
        self.calls = 0

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the next reply."""
        del request
        reply = self._replies[min(self.calls, len(self._replies) - 1)]
        self.calls += 1
        return SummaryReply(reply)


def _limit(limit_tokens: int) -> Policy:
    return token_threshold(fraction=None, limit_tokens=limit_tokens)


def _compact(
    transcript: Transcript,
    policy: Policy,
    replies: Sequence[ScriptedReply],
    options: ScanOptions,
    encoding: str | None = None,
) -> tuple[CompactionResult | Skip, int]:
    summarizer = _Scripted(replies)
    outcome = compact_sync(transcript, policy, summarizer, encoding=encoding, options=options)
    return outcome, summarizer.calls


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
    outcome, calls = _compact(transcript, _limit(source.params.hard_limit_tokens), source.summarizer, options, encoding)
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
    yield from _unchanged(transcript, _limit(source.params.trigger_tokens), "expect.identity", "under_trigger")


def _unchanged(transcript: Transcript, policy: Policy, where: str, reason: str | None = None) -> Mismatches:
    """Check that a compaction leaves every byte as it is and asks nobody."""
    before = transcript.to_json()
    outcome, calls = _compact(transcript, policy, (), ScanOptions())
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
    outcome, _ = _compact(transcript, _limit(params.budget_tokens), (), ScanOptions())
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


def _check_contains(outputs: Sequence[Transcript], texts: Sequence[str]) -> Mismatches:
    for output in outputs:
        held = "\n".join(block.text for index in range(len(output)) for block in output.blocks(index))
        for text in texts:
            if text not in held:
                yield Mismatch("expect.must_contain_in_output", brief(text), brief(held))


def _check_start(transcript: Transcript, outputs: Sequence[Transcript], messages: int) -> Mismatches:
    expected = [transcript.message_json(index).decode() for index in range(messages)]
    for output in outputs:
        got = [output.message_json(index).decode() for index in range(min(messages, len(output)))]
        yield from differs("expect.output_prefix_identical", expected, got)


def _check_valid(case: CaseFile, output: Transcript, expect: Expect, options: ScanOptions) -> Mismatches:
    """Check that a checker accepts what a compaction makes, and that it breaks none of the rules the case is about."""
    refused: set[str] = set()
    if expect.outputs is not _UNSET and expect.outputs.invalid is not _UNSET:
        refused = {rule for invalid in expect.outputs.invalid for rule in invalid.violates}
    report = scan(output, options)
    broken = [f.rule for f in report.findings if f.severity == "error" or f.rule in refused]
    yield from differs(f"output of case {case.id}: rules broken", [], broken)
