"""What a batch has in hand: a file that grows, and the documents of it, one after the other."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from turnfold.batch.journal import FileState, JournaledDocument, JournaledFile
from turnfold.cli.compaction import Outcome
from turnfold.cli.extents import Extent
from turnfold.cli.faults import Fault, fault_of_os_error
from turnfold.cli.inputs import Document, Wanted
from turnfold.cli.outputs import Target
from turnfold.cli.part_file import PartFile
from turnfold.errors import TurnfoldError
from turnfold.transcript import Transcript

InputState = tuple[int | None, int | None]
"""Bytes of an input file, and when it was changed, in nanoseconds; None where nobody can know."""


@dataclass(slots=True)
class FileRun:
    """One file in work. `skip` documents of it are done already. It is `unread` where reading it ended with a fault,
    and `lost` where its output could not be written: the rest of it is passed over.
    """

    target: Target
    journaled: JournaledFile
    input_state: InputState
    part: PartFile | None = None
    skip: int = 0
    written: bool = False
    failed: bool = False
    unread: bool = False
    lost: bool = False
    read_bytes: int = 0
    waiting: list[JournaledDocument] = field(default_factory=list)

    @property
    def ended(self) -> FileState:
        """What the journal says of it at the end. What could not be read may be readable the next time."""
        return "open" if self.unread else "done"

    @property
    def path(self) -> Path:
        """Where its output goes."""
        if self.target.path is None:
            raise ValueError("a batch does not write to stdout")
        return self.target.path


@dataclass(frozen=True, slots=True)
class Task:
    """What the reader hands on: a document of a file, a fault in reading it, or, with neither, its end."""

    run: FileRun
    number: int = 0
    item: Document | Extent | Fault | None = None

    @property
    def work(self) -> Document | Extent | None:
        """The document that is to be compacted, if there is one: a blank line is not."""
        item = self.item
        return None if item is None or isinstance(item, Fault) or self.run.lost or item.is_gap else item


_OF_BYTES: Final = b"b"
_OF_TRANSCRIPT: Final = b"t"
"""What a document's key is made of, by its first byte."""
NO_RECORDS: Final = b"[]"

Work = tuple[Document | Extent, Target]


class Made(msgspec.Struct, frozen=True):
    """What came of a document.

    `records` is the JSON array of what is reported of its transcripts, as it goes into the journal and to the user;
    `faults` are those of them that failed. `body` is what to write, with the line's end; None is nothing. `failed` says
    that every transcript did. `key` is the document's digest. With `unread` there is none of this: reading it failed.
    """

    records: bytes = NO_RECORDS
    body: bytes | memoryview | None = None
    key: bytes = b""
    failed: bool = False
    faults: tuple[Fault, ...] = ()
    unread: Fault | None = None


@dataclass(frozen=True, slots=True)
class Concluded:
    """A task, and what came of it; of a fault, or of a file's end, it is nothing.

    `reused` is how many requests to a summarizer were answered with the reply to an equal one.
    """

    task: Task
    made: Made
    reused: int = 0


def document_key(document: Document, transcript: Transcript | None = None) -> bytes:
    """Return the digest of a document's bytes and its line's end.

    It is the fingerprint of the `transcript` that was read of them, where there is one: a tenth of the work.
    """
    if transcript is None:
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
    if document.layout == "jsonl" and not document.is_log:
        body = (body or b"") + document.ending
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
