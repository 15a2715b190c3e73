"""What is reported of each transcript that a command compacts."""

from typing import Literal

import msgspec

from turnfold.cli.faults import Fault
from turnfold.model.counts import CountSource
from turnfold.model.summary import Usage


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
    `findings` counts what a scan of the output finds, `finding_codes` by code. `tried` says who was asked for a summary
    and how each try ended, in order, and so why it is by `method`; `usage` is what those tries used. Fields that a
    failed transcript has no value for are null.
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
    tried: tuple[str, ...] = ()
    usage: Usage | None = None
    seconds: float = 0.0


Outcome = tuple[CompactRecord, Fault | None]


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
