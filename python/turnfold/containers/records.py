"""Logs that are written as they happen: one event record a line, or an array of them."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from turnfold.containers.document import LOOKED_AT, Document, Record, encode, text_of
from turnfold.containers.edits import Edit, apply_edits, edit_items
from turnfold.containers.listed import edit_value, placed, shortened
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Reading
from turnfold.errors import InvalidLogError, ReadError


class Records(ABC):
    """The base of such containers.

    A subclass recognises one record, reads transcripts from all, and says how a compaction is recorded: `summarise`,
    which without an override takes the replaced records out and puts one from `spell` in their place.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    writes: ClassVar[bool] = True
    takes_out: ClassVar[bool] = True
    """Whether messages can go without a summary: a record that is not there says nothing. False where the tool has a
    record of its own for compactions, which holds summaries only, or where records name each other."""

    @abstractmethod
    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """Return the mark of this container in one record."""

    @abstractmethod
    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterable[LoggedTranscript]:
        """Read every transcript. `records[i].index == i`; those that are no JSON object have no value."""

    def kind(self, record: Mapping[str, object]) -> str:
        """Return what a record is called when it holds no message."""
        return text_of(record, "type") or "record without a type"

    def rows(self, document: Document) -> tuple[Record, ...]:
        """Return the records: the lines of JSON lines, the items of an array. An override finds them elsewhere."""
        return document.records

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return the record of a summary, for `summarise`."""
        raise NotImplementedError

    def recognise(self, document: Document) -> Mark | None:
        """Return the first mark among the first records, a proof before any other."""
        best: Mark | None = None
        for record in self.rows(document)[:LOOKED_AT]:
            mark = None if record.value is None else self.mark(record.value)
            if mark is None:
                continue
            place = f"line {record.index + 1}" if document.is_lines else f"[{record.index}]"
            if mark.strength == "proof":
                return Mark("proof", f"{place}: {mark.reason}")
            best = best or Mark(mark.strength, f"{place}: {mark.reason}")
        return best

    def read(self, document: Document) -> Reading:
        """Read every transcript; what no message was read from is `unread`."""
        records = self.rows(document)
        if not any(record.value is not None and self.mark(record.value) is not None for record in records):
            raise InvalidLogError(f"This is no log of kind {self.name}: none of its records is", 0, "")
        try:
            found = tuple(self.transcripts(records, document.data))
        except ReadError as error:
            raise InvalidLogError(f"This log's messages cannot be read: {error.text}", 0, error.path) from error
        used = {index for logged in found for origins in logged.origins for index in origins}
        unread: Counter[str] = Counter()
        odd: list[int] = []
        for record in records:
            if record.value is not None:
                if record.index not in used:
                    unread[self.kind(record.value)] += 1
            elif record.blank:
                unread["blank line"] += 1
            else:
                odd.append(record.index)
                unread["line that is no JSON object"] += 1
        return Reading(found, dict(unread), tuple(odd))

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Record each compaction; everything else stays byte for byte."""
        return apply_edits(document.data, self.edits(document, changes))

    def edits(self, document: Document, changes: tuple[Change, ...]) -> Iterator[Edit]:
        """Return the edits that record all changes."""
        rows = self.rows(document) if any(change.shortened for change in changes) else ()
        for change in changes:
            if change.holes or change.dropped:
                yield from self.summarise(document, change)
            for place, value in shortened(change):
                yield edit_value(document, rows[place[0]], place, value)

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Return the edits that record the change's summaries."""
        removed, summaries = placed(change)
        new = [(index, encode(self.spell(self.rows(document), change, role, text))) for index, role, text in summaries]
        return edit_records(document, removed, new, self.rows(document))


def edit_records(
    document: Document,
    removed: AbstractSet[int],
    inserted: Sequence[tuple[int, bytes]],
    records: Sequence[Record] | None = None,
) -> Iterator[Edit]:
    """Return the edits that take records out and put new ones in, each before the record of its index.

    `records` are all of the log; the document's lines or items where they are not given.
    """
    records = document.records if records is None else records
    if records is not document.lines:
        yield from edit_items([(record.start, record.stop) for record in records], removed, inserted)
        return
    for index in removed:
        record = records[index]
        yield Edit(record.start, record.stop + len(document.ending(record)), b"")
    before: dict[int, list[bytes]] = {}
    for index, line in inserted:
        before.setdefault(min(index, len(records)), []).append(line)
    usual = document.ending(records[0]) or b"\n"
    for index, lines in before.items():
        if index < len(records):
            start = records[index].start
            yield Edit(start, start, b"".join(line + usual for line in lines))
        else:
            end, torn = len(document.data), not document.ending(records[-1])
            yield Edit(end, end, (usual if torn else b"") + usual.join(lines) + (b"" if torn else usual))
