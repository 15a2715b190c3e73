"""Request bodies as providers take them: one as a file, or one a line."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Final

from turnfold.containers.document import LOOKED_AT, Document, Record
from turnfold.containers.edits import Edit, apply_edits
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Reading
from turnfold.errors import InvalidLogError, ReadError
from turnfold.transcript import Transcript


class Bodies:
    """A request body or a bare array of messages in any wire format, or JSON lines of them.

    The view is the body itself, read as `Transcript.from_json` reads it. A compacted body is written as the result has
    it: kept messages and everything beside them byte for byte. Lines that are no body are carried along.
    """

    name: ClassVar[str] = "bodies"
    title: ClassVar[str] = "Request bodies in a wire format: one file, or one a line."
    writes: ClassVar[bool] = True
    holds_any_result: ClassVar[bool] = True

    def recognise(self, document: Document) -> Mark | None:
        """Read the file, or the first line that is not blank, as a body."""
        for index, (_, transcript) in enumerate(_bodies(document)):
            if transcript is not None and len(transcript):
                return Mark("hint", f"it reads as a body in {transcript.format}: {transcript.format_reason}")
            if index >= LOOKED_AT:
                break
        return None

    def read(self, document: Document) -> Reading:
        """Read every body."""
        found: list[LoggedTranscript] = []
        unread: Counter[str] = Counter()
        odd: list[int] = []
        whole = document.value is not None
        for record, transcript in _bodies(document):
            if transcript is None or not len(transcript):
                unread["line that is no body"] += 1
                odd.append(record.index)
                continue
            name = "body" if whole else f"line {record.index + 1}"
            origins = tuple((index,) for index in range(len(transcript)))
            path = () if whole else (record.index,)
            found.append(LoggedTranscript(name, transcript, origins, path=path))
        if not found:
            raise InvalidLogError("This is no log of kind bodies: nothing in it reads as a request body", 0, "")
        return Reading(tuple(found), dict(unread), () if whole else tuple(odd))

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Put each compacted body in the place of its own."""
        edits = []
        for change in changes:
            path = change.logged.path
            start, stop = 0, len(document.data)
            if path:
                line = document.lines[int(path[0])]
                start, stop = line.start, line.stop
            edits.append(Edit(start, stop, change.result.to_json()))
        return apply_edits(document.data, edits)


def _bodies(document: Document) -> Iterator[tuple[Record, Transcript | None]]:
    """Return each body with its place; None for a line that is none. Blank lines are passed over."""
    if document.value is not None:
        yield Record(0, 0, len(document.data), None), _read(document.data)
        return
    for line in document.lines:
        if not line.blank:
            yield line, _read(document.data[line.start : line.stop])


def _read(body: bytes) -> Transcript | None:
    try:
        return Transcript.from_json(body.removeprefix(b"\xef\xbb\xbf"))
    except ReadError:
        return None


BODIES: Final = Bodies()
"""Request bodies in a wire format."""
