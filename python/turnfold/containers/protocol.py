"""What a container is, and what goes in and out of one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from turnfold.containers.document import Document
from turnfold.transcript import Transcript

Strength = Literal["guess", "hint", "usual", "proof"]
"""How much a mark says: could be read so if nothing else fits; seen more often in this container than elsewhere;
belongs to it; exists in it only."""

Place = tuple[int, tuple[str | int, ...]]
"""A value of a log: the index of its record or element, and the JSON path in there."""


class Mark(msgspec.Struct, frozen=True):
    """Something in a log that speaks for a container: `reason` says what was seen and where."""

    strength: Strength
    reason: str


@dataclass(frozen=True, slots=True)
class LoggedTranscript:
    """One transcript of a log.

    `id` is unique in the log, and stays when other transcripts of it change. `transcript` is a view in the nearest wire
    format. `origins` has, a message, the indexes of the records or elements that it was read from: none for what the
    log holds elsewhere, such as a system prompt in its head. `results` has, a message, the place of the text of each of
    its tool results, in order; None where that text is not one JSON value. `path` is where an array of elements stands;
    its first step is the line's number where the log is JSON lines.
    """

    id: str
    transcript: Transcript
    origins: tuple[tuple[int, ...], ...]
    results: tuple[tuple[Place | None, ...], ...] = ()
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a container read of a log.

    `unread` counts, by kind, the records that hold no message of a transcript; `unread_lines` has the numbers, from 0,
    of the lines that are no JSON object.
    """

    transcripts: tuple[LoggedTranscript, ...]
    unread: Mapping[str, int] = field(default_factory=dict)
    unread_lines: tuple[int, ...] = ()


class Hole(msgspec.Struct, frozen=True):
    """Messages `[start, stop)` of the log's transcript are replaced by one with `role` and `text`.

    Those in `kept` stay, and follow it in order.
    """

    start: int
    stop: int
    role: str
    text: str
    kept: tuple[range, ...] = ()

    @property
    def gone(self) -> tuple[int, ...]:
        """The messages that go, in order; never none."""
        stay = {message for kept in self.kept for message in kept}
        return tuple(message for message in range(self.start, self.stop) if message not in stay)


@dataclass(frozen=True, slots=True)
class Change:
    """A compaction, as a container writes it: `result` is what the written log has to read as.

    `shortened` has, a message that stays with some results cut, the whole new message as JSON of the view's format, and
    the new texts by the number of the result in its message. Of these, `stripped` lose more than text: reasoning, say.
    Messages in `dropped` go without a summary. Tokens are those of the view, most likely count.

    A hole that keeps messages, and dropped ones, are given only to a container that `takes_out` messages.
    `is_rewritten` says that more differs than holes and shortened results; only a container that has
    `holds_any_result`, since its tool records all messages of a result, is given such a change.
    """

    logged: LoggedTranscript
    result: Transcript
    holes: tuple[Hole, ...]
    shortened: Mapping[int, tuple[bytes, Mapping[int, str]]]
    before_tokens: int
    after_tokens: int
    is_rewritten: bool = False
    dropped: tuple[range, ...] = ()
    stripped: frozenset[int] = frozenset()
    gone: frozenset[int] = field(init=False)
    """Every message that goes, summarised or not."""

    def __post_init__(self) -> None:
        parts = (*(hole.gone for hole in self.holes), *self.dropped)
        object.__setattr__(self, "gone", frozenset(m for part in parts for m in part))


class Container(Protocol):
    """A kind of log. One frozen object a kind, in a file of its name."""

    @property
    def name(self) -> str:
        """The public name, which is the file's."""

    @property
    def title(self) -> str:
        """One sentence: which tool writes it, and how it looks."""

    @property
    def writes(self) -> bool:
        """Whether `write` can put results into the log. False for pure recordings, whose `reason` says why not."""

    def recognise(self, document: Document) -> Mark | None:
        """Return the strongest mark of this container; None where there is none. Looks at the start of the log only
        where the log is JSON lines: the rest may not be there yet.
        """

    def read(self, document: Document) -> Reading:
        """Read every transcript. Never fails for odd records: what holds no message is counted in `unread`. Raises an
        `InvalidLogError` for a document of another kind.
        """

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Return the log with `changes` in its own form. Raises a `NotWritableError` where it cannot hold one."""
