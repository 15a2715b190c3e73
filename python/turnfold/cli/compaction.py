"""Compacts the transcripts of one file into another, and records what became of each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from turnfold.by_rule import carry_out, compact_by_rule
from turnfold.checks import findings
from turnfold.cli.compact_record import (
    BeforeAfter,
    CompactRecord,
    IdentifiersRecord,
    Outcome,
    PrefixShared,
    TokensBeforeAfter,
    failed_record,
)
from turnfold.cli.faults import Fault, fault_of_error
from turnfold.cli.inputs import Document
from turnfold.cli.instructions import WINDOW_ADVICE, Instructions
from turnfold.cli.outputs import Target
from turnfold.cli.reading import log_of, transcripts_of
from turnfold.cli.rewriting import rewrite_file
from turnfold.errors import ArgumentError, NotWritableError, PlanMismatchError, TurnfoldError, UnknownWindowError
from turnfold.model.counts import TokenCount
from turnfold.model.findings import Finding
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.model.result import Attempt
from turnfold.model.summary import NO_USAGE, Usage
from turnfold.planning.apply import CompactionResult
from turnfold.planning.provider import provider_body
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    from turnfold.containers import Log


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


class Opened(msgspec.Struct, frozen=True):
    """A document that was read: the log that it is, or None for a body, and each transcript with what names it.

    `policy` is for these. A log is no request: what of its reasoning is sent again is for its own tool to decide.
    """

    log: "Log | None"
    transcripts: Sequence[tuple[Document, Transcript]]
    policy: Policy

    @property
    def body(self) -> Transcript | None:
        """The transcript that the document is: None where it is a log."""
        return None if self.log is not None else self.transcripts[0][1]


class Compacted(msgspec.Struct, frozen=True):
    """What came of one transcript of a document; `transcript` is None where it could not be read."""

    document: Document
    transcript: Transcript | None
    outcome: CompactionResult | Skip | Exception
    seconds: float = 0.0


def open_log(document: Document, instructions: Instructions) -> Opened:
    """Read a document that is a log. Raises a `TurnfoldError`."""
    from turnfold.containers.bodies import BODIES

    log, policy = log_of(document, instructions.wanted), instructions.policy
    if log.container != BODIES.name and policy.thinking_policy is None:
        policy = msgspec.structs.replace(policy, thinking_policy="keep")
    return Opened(log, transcripts_of(document, log), policy)


def open_document(document: Document, instructions: Instructions) -> Opened:
    """Read a document. Raises a `TurnfoldError`."""
    if document.is_log:
        return open_log(document, instructions)
    read = Transcript.from_json(document.data, format=instructions.wanted.format)
    return Opened(None, [(document, read)], instructions.policy)


def compact_document(
    document: Document, target: Target, instructions: Instructions
) -> tuple[list[Outcome], bytes | None]:
    """Return the records, and the bytes to write: None where every transcript failed.

    What is wrong with the instructions, or with this program, is raised.
    """
    try:
        opened = open_document(document, instructions)
    except TurnfoldError as error:
        return [failure_of(document, error)], None
    return compact_opened(document, opened, target, instructions)


def compact_opened(
    document: Document, opened: Opened, target: Target, instructions: Instructions, *, spare: bool = False
) -> tuple[list[Outcome], bytes | None]:
    """Return the records, and the bytes to write: None where every transcript failed.

    What is wrong with the instructions, or with this program, is raised; to `spare` the other transcripts, it is the
    outcome of the one at which it showed.
    """
    done = [
        _compacted_one(named, transcript, opened.policy, instructions, spare=spare)
        for named, transcript in opened.transcripts
    ]
    return conclude(document, opened.log, done, target)


def _compacted_one(
    document: Document, transcript: Transcript, policy: Policy, instructions: Instructions, *, spare: bool
) -> Compacted:
    started = perf_counter()
    outcome: CompactionResult | Skip | Exception
    try:
        outcome = _outcome(transcript, policy, instructions)
    except Exception as error:
        of_transcript = isinstance(error, TurnfoldError) and not isinstance(error, ArgumentError)
        if not (spare or of_transcript or isinstance(error, UnknownWindowError)):
            raise
        outcome = error
    return Compacted(document, transcript, outcome, perf_counter() - started)


def conclude(
    document: Document, log: "Log | None", done: Sequence[Compacted], target: Target
) -> tuple[list[Outcome], bytes | None]:
    """Return the records of a document whose transcripts are done, and the bytes to write: None where all failed."""
    if log is not None:
        return _conclude_log(log, done, target)
    (one,) = done
    record, fault = _outcome_of(one, target)
    if fault is not None:
        return [(record, fault)], None
    outcome = one.outcome
    if isinstance(outcome, Skip) and outcome.request is not None and one.transcript is not None:
        asking = msgspec.structs.replace(record, status="requested")
        return [(asking, None)], provider_body(one.transcript, outcome.request)
    return [(record, None)], outcome.body if isinstance(outcome, CompactionResult) else document.data


def _conclude_log(log: "Log", done: Sequence[Compacted], target: Target) -> tuple[list[Outcome], bytes | None]:
    """One that failed, or that the log cannot hold, stays in it as it was."""
    outcomes: dict[str, Outcome] = {}
    results: dict[str, CompactionResult] = {}
    named = {one.document.id or "": one for one in done}
    for identifier, one in named.items():
        outcomes[identifier] = _outcome_of(one, target)
        if isinstance(one.outcome, CompactionResult):
            results[identifier] = one.outcome
    body, refused = _written(log, results)
    for identifier, error in refused.items():
        before = results[identifier].before
        outcomes[identifier] = (
            _unchanged(named[identifier], target, reason=error.code, text=error.text, before=before),
            None,
        )
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


def _outcome_of(one: Compacted, target: Target) -> Outcome:
    """Return the record of one transcript, and its fault."""
    outcome = one.outcome
    if isinstance(outcome, Exception):
        return failure_of(one.document, outcome, one.transcript)
    if isinstance(outcome, Skip):
        return _unchanged(one, target, reason=outcome.reason, text=outcome.text, before=outcome.before), None
    return _changed(one, target, outcome), None


def _outcome(transcript: Transcript, policy: Policy, instructions: Instructions) -> CompactionResult | Skip:
    if instructions.plans is not None:
        plan = instructions.plans.get(transcript.fingerprint)
        if plan is None:
            raise PlanMismatchError("None of the plans was made for this transcript: plan again")
        return plan if isinstance(plan, Skip) else carry_out(transcript, plan)
    return compact_by_rule(
        transcript,
        policy,
        encoding=instructions.encoding,
        model=instructions.model,
        state=instructions.state,
    )


def failure_of(
    document: Document, error: Exception, transcript: Transcript | None = None
) -> tuple[CompactRecord, Fault]:
    """Return the record of a transcript that failed, and what to say of it."""
    whole_log = document.is_log and document.id is None
    path, index = document.file.shown, None if whole_log else document.index
    if isinstance(error, UnknownWindowError):
        model = "no model" if transcript is None else transcript.model or "no model"
        text = f"the policy is a share of the model's window, and that of {model} is not known"
        fault = Fault(path, index, error.code, text, WINDOW_ADVICE)
    elif isinstance(error, TurnfoldError) and not isinstance(error, ArgumentError):
        fault = fault_of_error(path, index, error, document.data)
    else:
        code = error.code if isinstance(error, TurnfoldError) else "internal"
        fault = Fault(path, index, code, f"{type(error).__name__}: {error}", "see the message")
    return msgspec.structs.replace(failed_record(fault), id=document.id), fault


def _unchanged(one: Compacted, target: Target, *, reason: str, text: str, before: TokenCount) -> CompactRecord:
    transcript = one.transcript
    found = () if transcript is None else findings(transcript)
    messages = 0 if transcript is None else len(transcript)
    attempts = one.outcome.attempts if isinstance(one.outcome, CompactionResult | Skip) else ()
    return CompactRecord(
        path=one.document.file.shown,
        index=one.document.index,
        id=one.document.id,
        format=None if transcript is None else transcript.format,
        status="skipped",
        reason=reason,
        text=text,
        messages=BeforeAfter(messages, messages),
        tokens=_tokens(before, before),
        output=target.shown,
        findings=len(found),
        finding_codes=_codes(found),
        tried=_tried(attempts),
        usage=_used(attempts),
        seconds=_microseconds(one.seconds),
    )


def _changed(one: Compacted, target: Target, result: CompactionResult) -> CompactRecord:
    kept, lost = len(result.identifiers.kept), len(result.identifiers.lost)
    return CompactRecord(
        path=one.document.file.shown,
        index=one.document.index,
        id=one.document.id,
        format=result.transcript.format,
        status="compacted",
        reason=None,
        text="",
        messages=BeforeAfter(result.plan.messages, len(result.transcript)),
        tokens=_tokens(result.before, result.after),
        output=target.shown,
        method=result.method,
        findings=len(result.findings),
        finding_codes=_codes(result.findings),
        identifiers=IdentifiersRecord(kept, kept + lost),
        prefix=PrefixShared(result.prefix.messages, result.prefix.tokens, result.prefix.bytes),
        tried=_tried(result.attempts),
        usage=_used(result.attempts),
        seconds=_microseconds(one.seconds),
    )


def _tried(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    return tuple(f"{attempt.method}: {attempt.outcome}" for attempt in attempts)


def _used(attempts: Sequence[Attempt]) -> Usage | None:
    used = sum((attempt.usage for attempt in attempts), NO_USAGE)
    return None if used == NO_USAGE else used


def _codes(found: Sequence[Finding]) -> dict[str, int]:
    # Mostly there are none, and no counter is made for that.
    return dict(Counter([finding.code for finding in found])) if found else {}


def _microseconds(seconds: float) -> float:
    # To round to decimals is to write the number and read it again.
    return round(seconds * 1e6) / 1e6


def _tokens(before: TokenCount, after: TokenCount) -> TokensBeforeAfter:
    return TokensBeforeAfter(before.n, after.n, after.source)
