"""Compacts the transcripts of one file into another, and records what became of each."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec

from turnfold.checks import scan
from turnfold.cli.faults import Fault, fault_of_error
from turnfold.cli.inputs import ANY, Document, Wanted
from turnfold.cli.outputs import Target
from turnfold.cli.reading import log_of, transcripts_of
from turnfold.cli.rewriting import rewrite_file
from turnfold.compactor import carry_out, compact_sync
from turnfold.errors import ArgumentError, NotWritableError, PlanMismatchError, TurnfoldError, UnknownWindowError
from turnfold.model.counts import CountSource, TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import CompactionPlan, Skip
from turnfold.model.policy import Policy
from turnfold.model.state import NO_STATE, PlanState
from turnfold.planning.apply import CompactionResult
from turnfold.planning.provider import provider_body
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from turnfold.containers import Log


class BeforeAfter(msgspec.Struct, frozen=True):
    """A number before and after."""

    before: int
    after: int


class TokensBeforeAfter(msgspec.Struct, frozen=True):
    """Tokens of the whole request before and after, and how far the numbers can be trusted."""

    before: int
    after: int
    source: CountSource


class IdentifiersRecord(msgspec.Struct, frozen=True):
    """Of the identifiers in what was replaced: how many the result still holds, and how many there were."""

    kept: int
    all: int


class PrefixShared(msgspec.Struct, frozen=True):
    """What the result shares with the input from the start, as a prompt cache sees it."""

    messages: int
    tokens: int
    bytes: int


class CompactRecord(msgspec.Struct, frozen=True):
    """One line of `turnfold compact --json`.

    `status` is compacted, requested (the provider is to compact: written is the request that asks it, and `text` says
    where to send it), skipped (written unchanged; `reason` says why: a skip reason, or `not_writable` for what its log
    cannot hold) or failed (not written; `reason` is the error's code). `output` is the file that the transcript is
    in when the command ends, null where it failed. `id` names a transcript of a log, and is null for any other.
    `findings` counts what a scan of the output finds, `finding_codes` by code. Fields that a failed transcript has no
    value for are null.
    """

    path: str
    index: int | None
    id: str | None
    format: str | None
    status: Literal["compacted", "requested", "skipped", "failed"]
    reason: str | None
    text: str
    messages: BeforeAfter | None
    tokens: TokensBeforeAfter | None
    output: str | None
    method: str | None = None
    findings: int | None = None
    finding_codes: dict[str, int] | None = None
    identifiers: IdentifiersRecord | None = None
    prefix: PrefixShared | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a run is told. With `plans`, by the fingerprint of their source, it makes none of its own; with `compacting`
    that makes the outcomes of the policy.
    """

    policy: Policy
    encoding: str | None = None
    model: str | None = None
    wanted: Wanted = ANY
    state: PlanState = NO_STATE
    plans: Mapping[str, CompactionPlan | Skip] | None = None
    compacting: Callable[[Transcript, Policy], CompactionResult | Skip] | None = None


WINDOW_ADVICE = "give --limit-tokens or --window-tokens"

Outcome = tuple[CompactRecord, Fault | None]


def compact_file(target: Target, instructions: Instructions) -> Iterator[Outcome]:
    """Compact every transcript of the target's input into it; one record each, as it is done.

    The file appears under its name when all are written. A transcript that fails leaves a blank line where it stood in
    JSON lines; a file in which all fail is not written.
    """
    yield from rewrite_file(
        target,
        instructions.wanted,
        lambda document, named: compact_document(document, named, instructions),
        lambda fault, path: msgspec.structs.replace(failed_record(fault), path=path),
    )


def failed_record(fault: Fault) -> CompactRecord:
    """Return the record of a transcript or file that could not be used."""
    return CompactRecord(
        path=fault.path,
        index=fault.index,
        id=None,
        format=None,
        status="failed",
        reason=fault.code,
        text=fault.text,
        messages=None,
        tokens=None,
        output=None,
    )


def compact_document(
    document: Document, target: Target, instructions: Instructions
) -> tuple[list[Outcome], bytes | None]:
    """Return the records, and the bytes to write: None where every transcript failed."""
    try:
        if document.is_log:
            return _compact_log(document, log_of(document, instructions.wanted), target, instructions)
        transcript = Transcript.from_json(document.data, format=instructions.wanted.format)
    except TurnfoldError as error:
        return [_failed(document, error)], None
    record, fault, outcome = _compact_transcript(document, transcript, target, instructions)
    if fault is not None:
        return [(record, fault)], None
    if isinstance(outcome, Skip) and outcome.request is not None:
        asking = msgspec.structs.replace(record, status="requested")
        return [(asking, None)], provider_body(transcript, outcome.request)
    return [(record, None)], outcome.body if isinstance(outcome, CompactionResult) else document.data


def _compact_log(
    document: Document, log: "Log", target: Target, instructions: Instructions
) -> tuple[list[Outcome], bytes | None]:
    """Compact each transcript of a log. One that fails, or that the log cannot hold, stays in it as it was.

    A log is no request: what of its reasoning is sent again is for its own tool to decide.
    """
    from turnfold.containers.bodies import BODIES

    if log.container != BODIES.name and instructions.policy.thinking_policy is None:
        policy = msgspec.structs.replace(instructions.policy, thinking_policy="keep")
        instructions = replace(instructions, policy=policy)
    outcomes: dict[str, Outcome] = {}
    results: dict[str, CompactionResult] = {}
    documents = {named.id or "": (named, transcript) for named, transcript in transcripts_of(document, log)}
    for identifier, (named, transcript) in documents.items():
        record, fault, outcome = _compact_transcript(named, transcript, target, instructions)
        outcomes[identifier] = record, fault
        if isinstance(outcome, CompactionResult):
            results[identifier] = outcome
    body, refused = _written(log, results)
    for identifier, error in refused.items():
        named, transcript = documents[identifier]
        before = results[identifier].before
        unchanged = _unchanged(named, transcript, target, reason=error.code, text=error.text, before=before)
        outcomes[identifier] = unchanged, None
    failed = outcomes and all(fault is not None for _, fault in outcomes.values())
    return list(outcomes.values()), None if failed else body


def _written(log: "Log", results: Mapping[str, CompactionResult]) -> tuple[bytes, dict[str, NotWritableError]]:
    """Write the results that the log can hold beside those before them, and return why not for each other one.

    Halves what is refused, so that each result that cannot be held costs O(log results) writes of the log.
    """
    held: dict[str, CompactionResult] = {}
    refused: dict[str, NotWritableError] = {}
    body = None
    waiting = [list(results)]
    while waiting:
        names = waiting.pop()
        wanted = {**held, **{name: results[name] for name in names}}
        try:
            body = log.write(wanted)
        except NotWritableError as error:
            if len(names) == 1:
                refused[names[0]] = error
            else:
                middle = len(names) // 2
                waiting += (names[middle:], names[:middle])
        else:
            held = wanted
    return (log.write() if body is None else body), refused


def _compact_transcript(
    document: Document, transcript: Transcript, target: Target, instructions: Instructions
) -> tuple[CompactRecord, Fault | None, CompactionResult | Skip | None]:
    """Return the record, and the outcome where there is one."""
    started = perf_counter()
    try:
        outcome = _outcome(transcript, instructions)
    except UnknownWindowError:
        text = f"the policy is a share of the model's window, and that of {transcript.model or 'no model'} is not known"
        fault = Fault(document.file.shown, document.index, UnknownWindowError.code, text, WINDOW_ADVICE)
        return msgspec.structs.replace(failed_record(fault), id=document.id), fault, None
    except ArgumentError:
        raise
    except TurnfoldError as error:
        return *_failed(document, error), None
    if isinstance(outcome, Skip):
        record = _unchanged(
            document, transcript, target, reason=outcome.reason, text=outcome.text, before=outcome.before
        )
    else:
        record = _compacted(document, transcript, target, outcome)
    record = msgspec.structs.replace(record, seconds=round(perf_counter() - started, 6))
    return record, None, outcome


def _outcome(transcript: Transcript, instructions: Instructions) -> CompactionResult | Skip:
    if instructions.plans is not None:
        plan = instructions.plans.get(transcript.fingerprint)
        if plan is None:
            raise PlanMismatchError("None of the plans was made for this transcript: plan again")
        return plan if isinstance(plan, Skip) else carry_out(transcript, plan)
    if instructions.compacting is not None:
        return instructions.compacting(transcript, instructions.policy)
    return compact_sync(
        transcript,
        instructions.policy,
        encoding=instructions.encoding,
        model=instructions.model,
        state=instructions.state,
    )


def _failed(document: Document, error: TurnfoldError) -> tuple[CompactRecord, Fault]:
    whole_log = document.is_log and document.id is None
    fault = fault_of_error(document.file.shown, None if whole_log else document.index, error, document.data)
    return msgspec.structs.replace(failed_record(fault), id=document.id), fault


def _unchanged(
    document: Document, transcript: Transcript, target: Target, *, reason: str, text: str, before: TokenCount
) -> CompactRecord:
    found = scan(transcript).findings
    return CompactRecord(
        path=document.file.shown,
        index=document.index,
        id=document.id,
        format=transcript.format,
        status="skipped",
        reason=reason,
        text=text,
        messages=BeforeAfter(len(transcript), len(transcript)),
        tokens=_tokens(before, before),
        output=target.shown,
        findings=len(found),
        finding_codes=_codes(found),
    )


def _compacted(document: Document, transcript: Transcript, target: Target, result: CompactionResult) -> CompactRecord:
    kept, lost = len(result.identifiers.kept), len(result.identifiers.lost)
    return CompactRecord(
        path=document.file.shown,
        index=document.index,
        id=document.id,
        format=transcript.format,
        status="compacted",
        reason=None,
        text="",
        messages=BeforeAfter(len(transcript), len(result.transcript)),
        tokens=_tokens(result.before, result.after),
        output=target.shown,
        method=result.method,
        findings=len(result.findings),
        finding_codes=_codes(result.findings),
        identifiers=IdentifiersRecord(kept, kept + lost),
        prefix=PrefixShared(result.prefix.messages, result.prefix.tokens, result.prefix.bytes),
    )


def _codes(found: Sequence[Finding]) -> dict[str, int]:
    return dict(Counter(finding.code for finding in found))


def _tokens(before: TokenCount, after: TokenCount) -> TokensBeforeAfter:
    return TokensBeforeAfter(before.n, after.n, after.source)
