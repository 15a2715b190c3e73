"""Compacts the transcripts of one file into another, and records what became of each."""

from collections.abc import Iterator
from itertools import chain
from time import perf_counter
from typing import Literal

import msgspec

from turnfold.checks import scan
from turnfold.cli.faults import Fault, fault_of_error, fault_of_os_error
from turnfold.cli.inputs import Document, read_file
from turnfold.cli.outputs import AtomicFile, Target
from turnfold.compactor import compact_sync
from turnfold.errors import ArgumentError, TurnfoldError, UnknownWindowError
from turnfold.model.counts import CountSource, TokenCount
from turnfold.model.plan import Skip
from turnfold.model.policy import Policy
from turnfold.planning.apply import CompactionResult
from turnfold.transcript import Transcript


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

    `status` is compacted, skipped (written unchanged; `reason` says why) or failed (not written; `reason` is the
    error's code). `output` is the file that the transcript is in when the command ends, null where it failed.
    `findings` counts what a scan of the output finds. Fields that a failed transcript has no value for are null.
    """

    path: str
    index: int | None
    format: str | None
    status: Literal["compacted", "skipped", "failed"]
    reason: str | None
    text: str
    messages: BeforeAfter | None
    tokens: TokensBeforeAfter | None
    output: str | None
    method: str | None = None
    findings: int | None = None
    identifiers: IdentifiersRecord | None = None
    prefix: PrefixShared | None = None
    seconds: float = 0.0


class Instructions(msgspec.Struct, frozen=True):
    """What a run is told."""

    policy: Policy
    encoding: str | None = None
    model: str | None = None
    format: str | None = None


_WINDOW_ADVICE = "give --limit-tokens or --window-tokens"

Outcome = tuple[CompactRecord, Fault | None]


def compact_file(target: Target, instructions: Instructions) -> Iterator[Outcome]:
    """Compact every transcript of the target's input into it; one record each, as it is done.

    The file appears under its name when all are written. A transcript that fails leaves a blank line where it stood in
    JSON lines; a file in which all fail is not written.
    """
    written = failed = False
    items = read_file(target.file)
    first = next(items, None)
    layout = first.layout if isinstance(first, Document) else "json"
    target = target.named_for(layout)
    try:
        with AtomicFile(target) as out:
            for item in chain(() if first is None else (first,), items):
                if isinstance(item, Fault):
                    failed = True
                    yield failed_record(item), item
                    continue
                if item.blank and item.layout == "jsonl":
                    out.write(item.data + item.ending)
                    continue
                record, fault, body = _compact(item, target, instructions)
                written, failed = written or body is not None, failed or body is None
                if body is not None or item.layout == "jsonl":
                    out.write((body or b"") + item.ending)
                yield record, fault
            if written or not failed:
                out.write(b"")
                out.commit()
    except BrokenPipeError:
        raise
    except OSError as error:
        fault = fault_of_os_error(target.shown, None, error)
        yield msgspec.structs.replace(failed_record(fault), path=target.file.shown), fault


def failed_record(fault: Fault) -> CompactRecord:
    """Return the record of a transcript or file that could not be used."""
    return CompactRecord(
        path=fault.path,
        index=fault.index,
        format=None,
        status="failed",
        reason=fault.code,
        text=fault.text,
        messages=None,
        tokens=None,
        output=None,
    )


def _compact(
    document: Document, target: Target, instructions: Instructions
) -> tuple[CompactRecord, Fault | None, bytes | None]:
    """Return the record, and the bytes to write: the input's own for a skipped transcript, None for a failed one."""
    started = perf_counter()
    try:
        transcript = Transcript.from_json(document.data, format=instructions.format)
    except TurnfoldError as error:
        return _failed(document, error)
    try:
        outcome = compact_sync(
            transcript, instructions.policy, encoding=instructions.encoding, model=instructions.model
        )
    except UnknownWindowError:
        text = f"the policy is a share of the model's window, and that of {transcript.model or 'no model'} is not known"
        fault = Fault(document.file.shown, document.index, UnknownWindowError.code, text, _WINDOW_ADVICE)
        return failed_record(fault), fault, None
    except ArgumentError:
        raise
    except TurnfoldError as error:
        return _failed(document, error)
    if isinstance(outcome, Skip):
        record = _skipped(document, transcript, target, outcome)
        body = document.data
    else:
        record = _compacted(document, transcript, target, outcome)
        body = outcome.body
    return msgspec.structs.replace(record, seconds=round(perf_counter() - started, 6)), None, body


def _failed(document: Document, error: TurnfoldError) -> tuple[CompactRecord, Fault, None]:
    fault = fault_of_error(document.file.shown, document.index, error, document.data)
    return failed_record(fault), fault, None


def _skipped(document: Document, transcript: Transcript, target: Target, skip: Skip) -> CompactRecord:
    return CompactRecord(
        path=document.file.shown,
        index=document.index,
        format=transcript.format,
        status="skipped",
        reason=skip.reason,
        text=skip.text,
        messages=BeforeAfter(len(transcript), len(transcript)),
        tokens=_tokens(skip.before, skip.before),
        output=target.shown,
        findings=len(scan(transcript).findings),
    )


def _compacted(document: Document, transcript: Transcript, target: Target, result: CompactionResult) -> CompactRecord:
    kept, lost = len(result.identifiers.kept), len(result.identifiers.lost)
    return CompactRecord(
        path=document.file.shown,
        index=document.index,
        format=transcript.format,
        status="compacted",
        reason=None,
        text="",
        messages=BeforeAfter(len(transcript), len(result.transcript)),
        tokens=_tokens(result.before, result.after),
        output=target.shown,
        method=result.method,
        findings=len(result.findings),
        identifiers=IdentifiersRecord(kept, kept + lost),
        prefix=PrefixShared(result.prefix.messages, result.prefix.tokens, result.prefix.bytes),
    )


def _tokens(before: TokenCount, after: TokenCount) -> TokensBeforeAfter:
    return TokensBeforeAfter(before.n, after.n, after.source)
