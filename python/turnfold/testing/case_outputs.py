"""What this library makes of a case's transcript where its parameters say so, and the checks on that."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from turnfold.checks import find_split, layout, repair, scan, split_points
from turnfold.compactor import compact_sync
from turnfold.model.plan import CompactionPlan, KeepRange, Skip, SummaryHole
from turnfold.model.policy import Drop, Policy, Summarize, TokensOver
from turnfold.model.repair import RepairOptions
from turnfold.model.scan import ScanOptions
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.planning.apply import CompactionResult
from turnfold.planning.fill import openings
from turnfold.planning.removal import remove_blocks, remove_tool_calls
from turnfold.planning.request import summary_request
from turnfold.planning.wrapper import recognise
from turnfold.presets import token_threshold
from turnfold.summarizers.rules import Rules
from turnfold.testing.case_files import CaseError, CaseFile, Mismatch, Mismatches, brief, differs
from turnfold.testing.case_shapes import Expect, Repaired, ScriptedReply, TranscriptInput
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_OR_SUMMARY = " or a summary of it"

OUTPUT_CHECKS = frozenset(
    {
        "must_contain_in_output",
        "output_prefix_identical",
        "must_preserve_ids",
        "output_order",
        "last_plain_user_text",
    }
)
"""The expectations that `check_outputs` checks, where there is an output."""


class Scripted:
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


def limit(limit_tokens: int) -> Policy:
    """Return the policy for a case's limit."""
    return token_threshold(fraction=None, limit_tokens=limit_tokens)


def compacted(
    transcript: Transcript,
    policy: Policy,
    replies: Sequence[ScriptedReply],
    options: ScanOptions,
    encoding: str | None = None,
) -> tuple[CompactionResult | Skip, int]:
    """Compact with the case's own summarizer; returns how often it was asked, too."""
    summarizer = Scripted(replies)
    outcome = compact_sync(transcript, policy, summarizer, encoding=encoding, options=options)
    return outcome, summarizer.calls


def outputs_of(
    case: CaseFile,
    transcript: Transcript,
    source: TranscriptInput,
    expect: Expect,
    *,
    used: set[str],
    options: ScanOptions,
) -> Iterator[Transcript]:
    """Return what the case's parameters make of the transcript: with its own summarizer, or by rule at a given place.

    At a given place the summary is written although the inputs are so small that it is longer than what it replaces. An
    adapter's input that is not valid is repaired.
    """
    params = source.params
    if params.hard_limit_tokens is not _UNSET:
        used.add("hard_limit_tokens")
        yield _or_input(transcript, limit(params.hard_limit_tokens), source, options)
    if params.budget_tokens is not _UNSET:
        used.add("budget_tokens")
        yield _within(transcript, params.budget_tokens, source, options)
    if params.strip_tool_pairs is not _UNSET:
        used.add("strip_tool_pairs")
        yield remove_tool_calls(transcript, params.strip_tool_pairs, options)[0]
    if params.strip_blocks_matching is not _UNSET:
        used.add("strip_blocks_matching")
        yield remove_blocks(transcript, _matching(transcript, params.strip_blocks_matching))
    if case.layer == "adapters" and not scan(transcript, options).ok:
        yield repair(transcript, RepairOptions(scan=options))[0]
    for split in _places(transcript, source, expect, used, options):
        if split is None:
            raise CaseError("the place that params name is no legal cut")
        yield _summarised(transcript, split, options)


def _within(transcript: Transcript, budget_tokens: int, source: TranscriptInput, options: ScanOptions) -> Transcript:
    """Return what is left within a budget of likely tokens: limits are kept by the upper bound, which is wider."""
    before = transcript.tokens()
    limit_tokens = -(-budget_tokens * before.hi // max(before.n, 1))
    steps = (Summarize(KeepMessages(0)), Drop(KeepMessages(1)))
    output = _or_input(transcript, Policy(TokensOver(limit_tokens), steps), source, options)
    if output.tokens().n > budget_tokens:
        raise CaseError(f"params.budget_tokens of {budget_tokens} was not reached: {output.tokens()}")
    return output


def _places(
    transcript: Transcript, source: TranscriptInput, expect: Expect, used: set[str], options: ScanOptions
) -> Iterator[int | None]:
    params, points = source.params, split_points(transcript, options)
    if params.split is not _UNSET:
        used.add("split")
        yield params.split if params.split in points else None
    if params.requested_split is not _UNSET:
        used |= {"requested_split", "retain_user_text"}
        yield points.at_or_before(params.requested_split)
    if params.target_messages is not _UNSET:
        used.add("target_messages")
        keep = max(0, params.target_messages - transcript.leading - 1)
        point = find_split(transcript, KeepMessages(keep), options)
        yield None if point is None else point.index
    if expect.must_preserve_ids is not _UNSET:
        yield points.at_or_before(len(transcript))


def _or_input(transcript: Transcript, policy: Policy, source: TranscriptInput, options: ScanOptions) -> Transcript:
    outcome, _ = compacted(transcript, policy, source.summarizer, options)
    return outcome.transcript if isinstance(outcome, CompactionResult) else transcript


def _matching(transcript: Transcript, pattern: str) -> Iterator[tuple[int, int]]:
    wanted = re.compile(pattern)
    for index in range(len(transcript)):
        yield from ((index, k) for k, block in enumerate(transcript.blocks(index)) if wanted.search(block.text))


def _summarised(transcript: Transcript, split: int, options: ScanOptions) -> Transcript:
    """Return the transcript with everything between its instructions and `split` replaced by a summary made by rule."""
    before = transcript.tokens()
    start, stop = transcript.leading, len(transcript)
    if start == split:
        return transcript
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


def check_outputs(
    case: CaseFile, transcript: Transcript, outputs: Sequence[Transcript], expect: Expect, options: ScanOptions
) -> Mismatches:
    """Check everything that the case expects of outputs."""
    for output in outputs:
        yield from _check_valid(case, output, expect, options)
        if expect.must_contain_in_output is not _UNSET:
            yield from _check_contains(output, expect.must_contain_in_output)
        if expect.output_prefix_identical is not _UNSET:
            yield from _check_start(transcript, output, expect.output_prefix_identical)
        if expect.must_preserve_ids is not _UNSET:
            held = {block.call_id for index in range(len(output)) for block in output.blocks(index)}
            missing = [identifier for identifier in expect.must_preserve_ids if identifier not in held]
            yield from differs("expect.must_preserve_ids: missing", [], missing)
        if expect.output_order is not _UNSET:
            yield from _check_order(output, expect.output_order)
        if expect.last_plain_user_text is not _UNSET:
            turns = layout(output).turns
            yield from differs(
                "expect.last_plain_user_text", expect.last_plain_user_text, _text(output, turns[-1]) if turns else None
            )


def check_stripped(source: TranscriptInput, outputs: Sequence[Transcript], expect: Expect) -> Mismatches:
    """Check that what was stripped is one of the finished transcripts that the case gives for the same parameters."""
    if source.params.strip_tool_pairs is _UNSET or expect.outputs is _UNSET or expect.outputs.valid is _UNSET:
        return
    expected = [output.messages for output in expect.outputs.valid]
    for output in outputs:
        if output.messages not in expected:
            yield Mismatch("output after params.strip_tool_pairs", brief(expected), brief(output.messages))


def check_repair(transcript: Transcript, expected: Repaired, options: ScanOptions) -> Mismatches:
    """Check what a repair makes of the input: by moving what is there, and nothing made up."""
    output, repairs = repair(transcript, RepairOptions(scan=options))
    yield from differs("expect.repair.output", expected.output, output.messages)
    yield from differs("expect.repair.method", ["move"], sorted({one.action for one in repairs}))


def check_distinct_ids(case: CaseFile, transcript: Transcript, outputs: Sequence[Transcript]) -> Mismatches:
    """Check that an adapter's outputs hold no call id twice where the input does, and are the same every time."""
    if case.layer != "adapters" or not scan(transcript).duplicate_call_ids:
        return
    for output in outputs:
        yield from differs("output: duplicate_call_ids", [], list(scan(output).duplicate_call_ids))
        yield from differs(
            "output: repaired again", output.to_json().decode(), repair(transcript)[0].to_json().decode()
        )


def _text(transcript: Transcript, index: int) -> str:
    return "\n".join(block.text for block in transcript.blocks(index))


def _check_contains(output: Transcript, texts: Sequence[str]) -> Mismatches:
    held = "\n".join(_text(output, index) for index in range(len(output)))
    for text in texts:
        if text not in held:
            yield Mismatch("expect.must_contain_in_output", brief(text), brief(held))


def _check_start(transcript: Transcript, output: Transcript, messages: int) -> Mismatches:
    expected = [transcript.message_json(index).decode() for index in range(messages)]
    got = [output.message_json(index).decode() for index in range(min(messages, len(output)))]
    yield from differs("expect.output_prefix_identical", expected, got)


def _check_order(output: Transcript, wanted: Sequence[str]) -> Mismatches:
    """Check that messages with these texts follow each other; a summary may stand for what says so."""
    texts = [_text(output, index) for index in range(len(output))]
    at = -1
    for text in wanted:
        plain = text.removesuffix(_OR_SUMMARY)
        summarised = plain != text
        place = next(
            (
                index
                for index, held in enumerate(texts)
                if index > at and (plain in held or (summarised and recognise(held) is not None))
            ),
            None,
        )
        if place is None:
            yield Mismatch("expect.output_order", f"{text!r} behind message {at}", brief(texts))
            return
        at = place


def _check_valid(case: CaseFile, output: Transcript, expect: Expect, options: ScanOptions) -> Mismatches:
    """Check that a checker accepts what was made, and that it breaks none of the rules the case is about."""
    refused: set[str] = set()
    if expect.outputs is not _UNSET and expect.outputs.invalid is not _UNSET:
        refused = {rule for invalid in expect.outputs.invalid for rule in invalid.violates}
    report = scan(output, options)
    broken = [f.rule for f in report.findings if f.severity == "error" or f.rule in refused]
    yield from differs(f"output of case {case.id}: rules broken", [], broken)
