"""Cases of the layer `summarize`: what a summarizer is sent, and what becomes of its replies, on each event loop."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from turnfold import meter
from turnfold.compactor import OnFailure, compact
from turnfold.model.plan import Skip
from turnfold.model.policy import OnRequest, Policy, Summarize, TokensOver, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.model.summary import SummaryReply, SummaryRequest
from turnfold.objects import Message
from turnfold.planning.apply import CompactionResult
from turnfold.planning.wrapper import WrappedSummary, recognise, wrap
from turnfold.prompts.prompt import Prompt, render_prompt
from turnfold.summarizers.pieces import request_tokens
from turnfold.testing.case_compaction import check_transcripts
from turnfold.testing.case_files import (
    WIRE_FORMATS,
    CaseError,
    CaseFile,
    Mismatch,
    Mismatches,
    brief,
    differs,
    given,
    holds,
    shaped,
)
from turnfold.testing.case_shapes import CallBounds, TokenBound
from turnfold.testing.case_texts import Relation, check_relations
from turnfold.testing.virtual_time import BACKENDS, Backend, run_virtual
from turnfold.transcript import Transcript

_UNSET = msgspec.UNSET
_Unset = msgspec.UnsetType
_PADDING = (
    " This line has nothing to say; it makes a toy conversation long enough that a summary, whose frame counts "
    "some forty tokens, can be shorter than what it replaces at all."
)

_REASONS: dict[str, frozenset[str]] = {
    "nothing_to_compact": frozenset({"nothing_to_compact"}),
    "no_reduction": frozenset({"no_reduction", "no_summary/longer_than_source"}),
    "no_progress": frozenset({"no_reduction", "misses_target"}),
    "floor_above_trigger": frozenset({"budget_below_floor"}),
    "empty_summary": frozenset({"no_summary/empty", "no_summary/reasoning_only"}),
    "tool_call_instead_of_summary": frozenset({"no_summary/tool_call"}),
}
"""The reasons of the cases in the library's words: why it was skipped, and how the last try ended."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: Literal["reasoning", "tool_call"]
    text: str = ""
    name: str = ""
    arguments: str = ""


class _Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    return_: str | _Unset = msgspec.field(name="return", default=_UNSET)
    return_parts: list[_Part] | _Unset = _UNSET
    finish: Literal["tool_calls"] | _Unset = _UNSET
    echo_markers: list[str] | _Unset = _UNSET


class _Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    split: int | _Unset = _UNSET
    keep_last: int | _Unset = _UNSET
    force: Literal[True] | _Unset = _UNSET
    trigger_tokens: int | _Unset = _UNSET
    hard_limit_tokens: int | _Unset = _UNSET
    turns: int | _Unset = _UNSET
    existing_summary_index: int | _Unset = _UNSET
    model_window_tokens: int | _Unset = _UNSET
    summarizer_window_tokens: int | _Unset = _UNSET
    summarizer_output_reserve: int | _Unset = _UNSET
    pin_task: Literal[True] | _Unset = _UNSET


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    messages: list[dict[str, object]]
    params: _Params
    summarizer: list[_Reply]


class _Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    committed: bool | _Unset = _UNSET
    history_unchanged: Literal[True] | _Unset = _UNSET
    summarizer_calls: CallBounds | _Unset = _UNSET
    reason: str | _Unset = _UNSET
    reason_in: list[str] | _Unset = _UNSET
    used_fallback: bool | _Unset = _UNSET
    tokens_after: TokenBound | _Unset = _UNSET


class _Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tools: list[str] | _Unset = _UNSET
    transcript_only_inside_one_user_message: Literal[True] | _Unset = _UNSET
    last_message_role: str | _Unset = _UNSET
    instruction_after_transcript: Literal[True] | _Unset = _UNSET


class _AfterRounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    summary_messages: int
    summary_wrapper_occurrences: int
    summary_tokens: TokenBound


class _Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    result: _Result | _Unset = _UNSET
    tokens: list[Relation] | _Unset = _UNSET
    texts: dict[str, str] | _Unset = _UNSET
    must_contain_in_output: list[str] | _Unset = _UNSET
    summarizer_request: _Sent | _Unset = _UNSET
    every_request_tokens: TokenBound | _Unset = _UNSET
    rounds: int | _Unset = _UNSET
    per_round_append: list[dict[str, object]] | _Unset = _UNSET
    after_all_rounds: _AfterRounds | _Unset = _UNSET
    summary_role: str | _Unset = _UNSET
    must_not_be_system_text: list[str] | _Unset = _UNSET
    transcript_delimiter_neutralised: Literal[True] | _Unset = _UNSET
    delimiters_to_try: list[str] | _Unset = _UNSET
    note: str | _Unset = _UNSET  # prose
    invariants: list[str] | _Unset = _UNSET  # prose


class _Scripted:
    """Answers with the replies of a case in order, the last one again and again, and keeps what it was sent."""

    name = "scripted"

    def __init__(self, replies: Sequence[_Reply], params: _Params) -> None:
        self._replies = replies
        self.requests: list[SummaryRequest] = []
        self.window_tokens = _or_none(params.summarizer_window_tokens)
        self.reserve_tokens = _or_none(params.summarizer_output_reserve)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """Return the next reply."""
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        if reply.return_ is not _UNSET:
            return SummaryReply(reply.return_)
        if reply.echo_markers is not _UNSET:
            sent = render_prompt(request).user
            return SummaryReply(" ".join(one for one in reply.echo_markers if one in sent) or "None here.")
        parts = [] if reply.return_parts is _UNSET else reply.return_parts
        calls = sum(part.type == "tool_call" for part in parts)
        return SummaryReply(
            "",
            stop="tool_call" if calls else "end",
            tool_calls=calls,
            reasoned=any(p.type == "reasoning" for p in parts),
        )


@dataclass(slots=True)
class _Ran:
    """What all rounds did, and what they were made of."""

    before: Transcript
    after: Transcript
    summarizer: _Scripted
    outcomes: list[CompactionResult | Skip] = field(default_factory=list)

    @property
    def results(self) -> list[CompactionResult]:
        return [outcome for outcome in self.outcomes if isinstance(outcome, CompactionResult)]

    @property
    def declined(self) -> bool:
        """Whether nobody was asked, as no summary would have been shorter than the few words that it replaces."""
        skips = [outcome for outcome in self.outcomes if isinstance(outcome, Skip)]
        reasons = {skip.reason for skip in skips}
        return len(skips) == len(self.outcomes) and not self.summarizer.requests and reasons <= {"no_reduction"}


def check_summaries(case: CaseFile) -> Mismatches:
    """All expectations of one case; one without a summarizer is about the transcript that would be summarised."""
    if "summarizer" not in case.input:
        yield from check_transcripts(case)
        return
    source = shaped(case.input, _Input, "input")
    expect = shaped(case.expect, _Expect, "expect")
    if expect.tokens is not _UNSET:
        yield from check_relations(expect.tokens, {} if expect.texts is _UNSET else expect.texts, "expect.tokens")
    for backend in BACKENDS:
        ran = _run(case, source, expect, backend)
        if ran.declined:
            ran = _run(case, _padded(source), expect, backend)
        for mismatch in _check(case, source, expect, ran):
            yield replace_where(mismatch, backend)


def replace_where(mismatch: Mismatch, backend: Backend) -> Mismatch:
    """Name the event loop, too."""
    return msgspec.structs.replace(mismatch, where=f"{mismatch.where} on {backend}")


def _run(case: CaseFile, source: _Input, expect: _Expect, backend: Backend) -> _Ran:
    params = source.params
    messages: list[Message] = list(source.messages)
    if params.existing_summary_index is not _UNSET:
        earlier = messages[params.existing_summary_index]
        text = wrap(WrappedSummary(3, None, str(earlier["content"]).partition("\n")[2]))
        messages[params.existing_summary_index] = {**earlier, "content": text}
    before = Transcript.from_messages(messages, format=WIRE_FORMATS[case.format])
    policy, on_failure = _policy(params, len(messages))
    ran = _Ran(before, before, _Scripted(source.summarizer, params))
    appended = [] if expect.per_round_append is _UNSET else expect.per_round_append
    rounds = expect.rounds if expect.rounds is not _UNSET else params.turns if params.turns is not _UNSET else 1
    window = _or_none(params.model_window_tokens)

    async def main() -> None:
        for number in range(rounds):
            if number or params.split is _UNSET:
                ran.after = Transcript.from_messages([*ran.after.messages, *appended], format=before.format)
            outcome = await compact(ran.after, policy, ran.summarizer, on_failure=on_failure, window_tokens=window)
            ran.outcomes.append(outcome)
            if isinstance(outcome, CompactionResult):
                ran.after = outcome.transcript

    run_virtual(main, backend)
    return ran


def _policy(params: _Params, messages: int) -> tuple[Policy, OnFailure]:
    """Return the policy that the parameters say. Only where a limit must be met, the rules take over."""
    if params.hard_limit_tokens is not _UNSET:
        steps = (Summarize(KeepMessages(1)), TruncateResults())
        return Policy(TokensOver(params.hard_limit_tokens), steps, name="case"), "rules"
    if params.split is not _UNSET:
        keep = messages - params.split
    else:
        keep = 1 if params.keep_last is _UNSET else params.keep_last
    # In a window of a few hundred tokens, what is asked for must be said in few words.
    schema = "nine_sections" if params.summarizer_window_tokens is _UNSET else "ledger"
    step = Summarize(KeepMessages(keep), schema=schema)
    if params.trigger_tokens is not _UNSET:
        return Policy(TokensOver(params.trigger_tokens), (step,), name="case"), "skip"
    return Policy(OnRequest(), (step,), name="case"), "skip"


def _padded(source: _Input) -> _Input:
    def padded(message: dict[str, object]) -> dict[str, object]:
        text = message.get("content")
        if not isinstance(text, str) or message["role"] not in {"user", "assistant"}:
            return message
        return {**message, "content": text + _PADDING}

    return msgspec.structs.replace(source, messages=[padded(message) for message in source.messages])


def _check(case: CaseFile, source: _Input, expect: _Expect, ran: _Ran) -> Mismatches:
    for name, value in given(expect):
        where = f"expect.{name}"
        match name:
            case "tokens" | "texts" | "rounds" | "per_round_append" | "delimiters_to_try" | "note" | "invariants":
                pass
            case "result" if expect.result is not _UNSET:
                yield from _check_result(expect.result, ran)
            case "must_contain_in_output" if expect.must_contain_in_output is not _UNSET:
                held = "\n".join(_texts(ran.after))
                missing = [text for text in expect.must_contain_in_output if text not in held]
                yield from differs(f"{where}: missing", [], missing)
            case "summarizer_request" if expect.summarizer_request is not _UNSET:
                yield from _check_sent(expect.summarizer_request, source, ran)
            case "every_request_tokens" if expect.every_request_tokens is not _UNSET:
                bound = expect.every_request_tokens
                tokens = [request_tokens(request) for request in ran.summarizer.requests]
                yield from differs(where, [], [n for n in tokens if not holds(bound.op, n, bound.value)])
            case "after_all_rounds" if expect.after_all_rounds is not _UNSET:
                yield from _check_rounds(expect.after_all_rounds, ran)
            case "summary_role":
                yield from differs(where, [value], sorted({str(result.summary_role) for result in ran.results}))
            case "must_not_be_system_text" if expect.must_not_be_system_text is not _UNSET:
                system = [render_prompt(request).system for request in ran.summarizer.requests]
                system += [
                    text for text, role in zip(_texts(ran.after), ran.after.roles, strict=True) if role == "system"
                ]
                found = [text for text in expect.must_not_be_system_text if any(text in one for one in system)]
                yield from differs(where, [], found)
            case "transcript_delimiter_neutralised":
                yield from _check_delimiters(case, source, expect)
            case _:
                raise CaseError(f"{where} is not checked")


def _check_result(expected: _Result, ran: _Ran) -> Mismatches:
    last = ran.outcomes[-1]
    for name, value in given(expected):
        where = f"expect.result.{name}"
        match name:
            case "committed":
                yield from differs(where, value, bool(ran.results))
            case "history_unchanged":
                yield from differs(where, value, not ran.results and ran.after.to_json() == ran.before.to_json())
            case "summarizer_calls" if expected.summarizer_calls is not _UNSET:
                calls = len(ran.summarizer.requests)
                if not expected.summarizer_calls.min <= calls <= expected.summarizer_calls.max:
                    yield Mismatch(where, brief(value), str(calls))
            case "reason" | "reason_in":
                wanted = [value] if isinstance(value, str) else list(expected.reason_in or [])
                if not any(_reason(last) in _REASONS.get(str(reason), frozenset()) for reason in wanted):
                    yield Mismatch(where, brief(wanted), _reason(last))
            case "used_fallback":
                yield from differs(
                    where, value, isinstance(last, CompactionResult) and last.method != ran.summarizer.name
                )
            case "tokens_after" if expected.tokens_after is not _UNSET:
                tokens = ran.after.tokens().hi
                if not holds(expected.tokens_after.op, tokens, expected.tokens_after.value):
                    yield Mismatch(where, brief(value), str(tokens))
            case _:
                raise CaseError(f"{where} is not checked")


def _reason(outcome: CompactionResult | Skip) -> str:
    if isinstance(outcome, CompactionResult):
        return "compacted"
    return f"{outcome.reason}/{outcome.attempts[-1].outcome}" if outcome.attempts else outcome.reason


def _check_sent(expected: _Sent, source: _Input, ran: _Ran) -> Mismatches:
    """Check each request as it is rendered: a system text, then one user message, and nothing else."""
    if not ran.summarizer.requests:
        yield Mismatch("expect.summarizer_request", "a request", "none")
    split = 0 if source.params.split is _UNSET else source.params.split
    head = [str(message["content"]) for message in source.messages[:split] if message["role"] != "system"]
    for request in ran.summarizer.requests:
        prompt = render_prompt(request)
        places = [prompt.user.find(text) for text in head]
        for name, value in given(expected):
            where = f"expect.summarizer_request.{name}"
            match name:
                case "tools":
                    fields = set(Prompt.__struct_fields__) - {"system", "user", "tokens", "lead"}
                    yield from differs(where, value, sorted(fields))
                case "transcript_only_inside_one_user_message":
                    inside = all(place >= 0 for place in places) and not any(text in prompt.system for text in head)
                    yield from differs(where, value, inside)
                case "last_message_role":
                    yield from differs(where, value, "user" if prompt.user else "system")
                case "instruction_after_transcript":
                    instruction = prompt.user.rfind("Write only the summary.")
                    yield from differs(where, value, instruction > max(places))
                case _:
                    raise CaseError(f"{where} is not checked")


def _check_rounds(expected: _AfterRounds, ran: _Ran) -> Mismatches:
    texts = _texts(ran.after)
    summaries = [text for text in texts if recognise(text) is not None]
    yield from differs("expect.after_all_rounds.summary_messages", expected.summary_messages, len(summaries))
    opened = sum(text.count("<turnfold-summary") for text in texts)
    yield from differs(
        "expect.after_all_rounds.summary_wrapper_occurrences", expected.summary_wrapper_occurrences, opened
    )
    for text in summaries:
        tokens = meter.count(text)
        if not holds(expected.summary_tokens.op, tokens, expected.summary_tokens.value):
            yield Mismatch("expect.after_all_rounds.summary_tokens", brief(expected.summary_tokens), str(tokens))


def _check_delimiters(case: CaseFile, source: _Input, expect: _Expect) -> Mismatches:
    """Try the case's delimiters, and the library's own, which are the ones that could end its quotation."""
    tried = [] if expect.delimiters_to_try is _UNSET else list(expect.delimiters_to_try)
    own = ["</turnfold-transcript>", "</TURNFOLD-transcript >", "</turnfold-message>", "</turnfold-summary>"]

    def attacked(message: dict[str, object]) -> dict[str, object]:
        if message["role"] != "tool":
            return message
        return {**message, "content": "\n".join([str(message["content"]), *tried, *own, *tried])}

    source = msgspec.structs.replace(source, messages=[attacked(message) for message in source.messages])
    ran = _run(case, source, expect, "asyncio")
    for request in ran.summarizer.requests:
        sent = render_prompt(request).user
        yield from differs("expect.transcript_delimiter_neutralised", 1, sent.lower().count("</turnfold-transcript"))
        yield from differs("delimiters are kept as data", [], [text for text in tried if text not in sent])
    if not ran.summarizer.requests:
        yield Mismatch("expect.transcript_delimiter_neutralised", "a request", "none")
    yield from differs("wrappers", 1, sum(text.count("</turnfold-summary>") for text in _texts(ran.after)))


def _texts(transcript: Transcript) -> list[str]:
    return ["\n".join(block.text for block in transcript.blocks(index)) for index in range(len(transcript))]


def _or_none(value: int | _Unset) -> int | None:
    return None if value is _UNSET else value
