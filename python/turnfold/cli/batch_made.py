"""What a batch makes of a document: its records, the bytes to write, and its digest."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from turnfold.cli.compact_record import Outcome
from turnfold.cli.extents import Extent, Fetching
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, Wanted
from turnfold.cli.outputs import Target
from turnfold.errors import TurnfoldError
from turnfold.transcript import Transcript

_OF_BYTES: Final = b"b"
_OF_TRANSCRIPT: Final = b"t"
"""What a document's key is made of, by its first byte."""
NO_RECORDS: Final = b"[]"

Work = tuple[Document | Extent, Target]


class Made(msgspec.Struct, frozen=True):
    """What came of a document.

    `records` is the JSON array of what is reported of its transcripts, as it goes into the journal and to the user;
    `faults` are those of them that failed. `body` is what to write, without the line's end; None is nothing, not even
    that. `failed` says that every transcript did. `key` is the document's digest. With `unread` there is none of this:
    reading it failed.
    """

    records: bytes = NO_RECORDS
    body: bytes | memoryview | None = None
    key: bytes = b""
    failed: bool = False
    faults: tuple[Fault, ...] = ()
    unread: Fault | None = None


def document_key(document: Document, transcript: Transcript | None = None) -> bytes:
    """Return the digest of a document's bytes and its line's end.

    It is the fingerprint of the `transcript` that was read of them, where there is one: a tenth of the work.
    """
    if transcript is None:
        # Loads OpenSSL, which a process whose documents all can be read has no use for.
        import hashlib

        return _OF_BYTES + hashlib.sha256(document.data).digest()[:16] + document.ending
    return _OF_TRANSCRIPT + bytes.fromhex(transcript.fingerprint) + document.ending


def has_key(document: Document, key: bytes, wanted: Wanted) -> bool:
    """Whether a key is that of a document."""
    if not key.startswith(_OF_TRANSCRIPT):
        return key == document_key(document)
    try:
        return key == document_key(document, Transcript.from_json(document.data, format=wanted.format))
    except TurnfoldError:
        return False


def made_of(
    document: Document, outcomes: Sequence[Outcome], body: bytes | None, transcript: Transcript | None = None
) -> Made:
    """Return what came of a document, which is that `transcript` if it was read as one.

    `body` is None where every transcript of it failed. Such a one leaves a blank line where it stood in JSON lines.
    """
    failed = body is None
    if body is None and document.layout == "jsonl" and not document.is_log:
        body = b""
    return Made(
        msgspec.json.encode([record for record, _ in outcomes]),
        body,
        document_key(document, transcript),
        failed,
        tuple(fault for _, fault in outcomes if fault is not None),
    )


def unread(given: Document | Extent, error: OSError) -> Made:
    """Return what comes of a document that cannot be read."""
    return Made(unread=fault_of_os_error(given.file.shown, given.index, error))


def fetched(given: Document | Extent, fetching: Fetching, make: Callable[[Document], Made]) -> Made:
    """Return what `make` makes of a document, which is read first where it was not."""
    try:
        document = fetching.document(given) if isinstance(given, Extent) else given
    except OSError as error:
        return unread(given, error)
    return make(document)
