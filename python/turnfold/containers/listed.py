"""Files whose transcripts are arrays of messages: one JSON document, or one document a line."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar, Final

from turnfold.containers.document import LOOKED_AT, Document, Record, encode
from turnfold.containers.edits import Edit, apply_edits, edit_items
from turnfold.containers.embedded import Embedded
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place, Reading
from turnfold.containers.view import ChatView, ViewMessage, view
from turnfold.errors import InvalidLogError, NotWritableError, ReadError

INSIDE: Final = -1
"""A step of a path: the string there holds JSON, and the path goes on inside."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Where one array of elements stands: `path` from the document, or from the line's value.

    `id` is the log's own id of it, None where it has none. `head` are fields of a request that the view has beside its
    messages (model, tools), `system` is an instruction that stands outside the array, `after` are messages that stand
    outside of it and come last. `around` is what a projection looks up beside the array.
    A step `INSIDE` goes on inside a string that holds JSON.
    """

    path: tuple[str | int, ...]
    id: str | None = None
    head: Mapping[str, object] = field(default_factory=dict)
    system: str | None = None
    around: Mapping[str, object] = field(default_factory=dict)
    after: tuple[Mapping[str, object], ...] = ()


class Listed(ABC):
    """The base of such containers. A subclass says how it is recognised and where its arrays stand; where elements are
    no wire messages, how one is projected and how the element of a summary is spelled.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    writes: ClassVar[bool] = True
    wire_format: ClassVar[str] = "openai.chat"
    takes_out: ClassVar[bool] = True
    """Whether messages can go without a summary: an element that is not there says nothing."""

    @abstractmethod
    def mark(self, value: object) -> Mark | None:
        """Return the mark of this container in a document, or in one line of it."""

    @abstractmethod
    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the arrays of elements in a document, or in one line of it."""

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add what one element says to the view; nothing for an element that holds no message.

        Without an override, elements are wire messages and the view is made of their own bytes.
        """
        chat.messages.append(ViewMessage(raw, (record.index,), ((record.index, ()),)))

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Add what all elements of one array say; for projections that look at more than one element."""
        for record in elements:
            if record.value is not None:
                self.project(chat, record.value, record, data[record.start : record.stop])

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return what an element is called when it holds no message."""
        return "element without a message"

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return the element of a summary. `elements` are those of the array, for what they are spelled like."""
        return {"role": role, "content": text}

    def recognise(self, document: Document) -> Mark | None:
        """Return the mark of the document, or of the first of its lines that has one."""
        if not document.is_lines:
            return self.mark(document.value)
        found = ((self.mark(line.value), line.index) for line in document.lines[:LOOKED_AT] if line.value is not None)
        return next((Mark(m.strength, f"line {k + 1}: {m.reason}") for m, k in found if m is not None), None)

    def read(self, document: Document) -> Reading:
        """Read every array. Elements without a message, and lines without an array, are `unread`."""
        if document.is_lines:
            return self._read_lines(document)
        found = list(self.conversations(document.value))
        if not found:
            if self.mark(document.value) is None:
                raise InvalidLogError(
                    f"This is no log of kind {self.name}: no array of messages stands where it has them", 0, ""
                )
            return Reading((), {"document without messages": 1})
        unread: Counter[str] = Counter()
        read = [self._read(document, conversation, (), unread) for conversation in found]
        return Reading(_unique(read), dict(unread))

    def _read_lines(self, document: Document) -> Reading:
        unread: Counter[str] = Counter()
        odd: list[int] = []
        read: list[tuple[str | None, str, LoggedTranscript]] = []
        for line in document.lines:
            if line.value is None:
                if not line.blank:
                    odd.append(line.index)
                unread["blank line" if line.blank else "line that is no JSON object"] += 1
                continue
            inner = Document(document.data[line.start : line.stop])
            found = list(self.conversations(line.value))
            if not found:
                unread["line without messages"] += 1
            read += [self._read(inner, conversation, (line.index,), unread) for conversation in found]
        if not read and self.recognise(document) is None:
            raise InvalidLogError(f"This is no log of kind {self.name}: no line has an array of messages", 0, "")
        return Reading(_unique(read), dict(unread), tuple(odd))

    def _read(
        self, document: Document, conversation: Conversation, line: tuple[int, ...], unread: Counter[str]
    ) -> tuple[str | None, str, LoggedTranscript]:
        chat = ChatView()
        if conversation.system is not None:
            chat.text("system", conversation.system)
        document, inside, _ = _opened(document, conversation.path)
        elements = document.items_at(inside)
        self.project_all(chat, elements, document.data, conversation)
        used = {index for message in chat.messages for index in message.origins}
        unread.update(self.kind(element.value) for element in elements if element.index not in used)
        chat.messages += (ViewMessage(encode(message)) for message in conversation.after)
        place = _place(line, conversation.path)
        path = (*line, *conversation.path)
        try:
            logged = view(conversation.id or place, self.wire_format, chat.messages, conversation.head, path)
        except ReadError as error:
            raise InvalidLogError(f"{place} cannot be read: {error.text}", 0, place) from error
        return conversation.id, place, logged

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Put each summary in the place of the elements that it replaces; everything else stays byte for byte."""
        return apply_edits(document.data, self.edits(document, changes))

    def edits(self, document: Document, changes: tuple[Change, ...]) -> Iterator[Edit]:
        """Return the edits that record all changes."""
        for change in changes:
            path = change.logged.path
            if document.is_lines:
                line = document.lines[int(path[0])]
                inner = Document(document.data[line.start : line.stop])
                for edit in self._edits(inner, path[1:], change):
                    yield Edit(edit.start + line.start, edit.stop + line.start, edit.new)
            else:
                yield from self._edits(document, path, change)

    def _edits(self, document: Document, path: tuple[str | int, ...], change: Change) -> Iterable[Edit]:
        document, path, texts = _opened(document, path)
        elements = document.items_at(path)
        edits = list(self.summarise(document, elements, change)) if change.holes or change.dropped else []
        edits += (edit_value(document, elements[place[0]], place, value) for place, value in shortened(change))
        for text in reversed(texts):
            edits = list(text.edits(edits))
        return edits

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Return the edits that record the change's summaries in the array of `elements`.

        Without an override, what is replaced goes, and an element from `spell` takes its place.
        """
        removed, summaries = placed(change)
        new = [(index, encode(self.spell(elements, role, text))) for index, role, text in summaries]
        return edit_items([(element.start, element.stop) for element in elements], removed, new)


def placed(change: Change) -> tuple[AbstractSet[int], list[tuple[int, str, str]]]:
    """Return the records that go, and before which record each summary is put, with its role and text.

    Raises `NotWritableError` where one record holds both a message that goes and one that stays.
    """
    origins = change.logged.origins
    gone_messages = change.gone
    gone = {index for message in gone_messages for index in origins[message]}
    both = gone & {index for m, indexes in enumerate(origins) if m not in gone_messages for index in indexes}
    if both:
        raise NotWritableError(f"Record {min(both)} holds messages that go and messages that stay: choose another cut")
    if not all(origins[message] for message in gone_messages):
        raise NotWritableError("What the result leaves out does not stand among the records of this log")
    summaries = []
    for hole in change.holes:
        own = [index for m in range(hole.start, hole.stop) for index in origins[m]]
        summaries.append((min(own), hole.role, hole.text))
    return gone, summaries


def shortened(change: Change) -> Iterator[tuple[Place, bytes]]:
    """Return the place of each shortened result, and the JSON that goes there.

    Raises `NotWritableError` for a result whose text is not one JSON value of the log.
    """
    for message, (whole, texts) in change.shortened.items():
        places = change.logged.results[message]
        if len(places) == 1 and places[0] is not None and not places[0][1]:
            yield places[0], whole
            continue
        if message in change.stripped:
            raise NotWritableError(
                f"Message {message} loses its reasoning, and is no single value of the log: use a policy that leaves it"
            )
        for number, text in texts.items():
            place = places[number] if number < len(places) else None
            if place is None:
                raise NotWritableError(
                    f"A result of message {message} is no single value of the log: use a policy that shortens none"
                )
            yield place, encode(text)


def edit_value(document: Document, record: Record, place: Place, new: bytes) -> Edit:
    """Return the edit that puts `new` in the place of one value of a record. O(bytes of the record)."""
    span = Document(document.data[record.start : record.stop]).span(place[1])
    if span is None:
        raise NotWritableError(f"Record {place[0]} has nothing at {list(place[1])}")
    return Edit(record.start + span[0], record.start + span[1], new)


def _opened(document: Document, path: tuple[str | int, ...]) -> tuple[Document, tuple[str | int, ...], list[Embedded]]:
    """Follow a path into strings that hold JSON: the innermost document, the path there, and the strings passed."""
    texts: list[Embedded] = []
    while INSIDE in path:
        at = path.index(INSIDE)
        start, stop = document.span(path[:at]) or (0, 0)
        texts.append(Embedded(document.data[start:stop], start))
        document, path = Document(texts[-1].text), path[at + 1 :]
    return document, path, texts


def _place(line: tuple[int, ...], path: tuple[str | int, ...]) -> str:
    """Spell a place: `line 3`, `[2]`, `simulations[4]`. The last key, the name of the array, says nothing."""
    shown = f"line {line[0] + 1}" if line else ""
    path = tuple(step for step in path if step != INSIDE)
    steps = path[:-1] if path and isinstance(path[-1], str) else path
    inner = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
    return " ".join(part for part in (shown, inner) if part) or "transcript"


def _unique(read: Sequence[tuple[str | None, str, LoggedTranscript]]) -> tuple[LoggedTranscript, ...]:
    """Add the place to ids that stand in a log more than once."""
    times = Counter(logged.id for _, _, logged in read)
    return tuple(
        logged
        if times[logged.id] == 1
        else LoggedTranscript(f"{logged.id} ({place})", logged.transcript, logged.origins, logged.results, logged.path)
        for _, place, logged in read
    )
