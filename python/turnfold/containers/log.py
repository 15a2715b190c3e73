"""One log, read: its transcripts, and the way to write compactions of them back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from turnfold.containers.document import Document
from turnfold.containers.protocol import Change, Container, Hole, LoggedTranscript, Reading
from turnfold.containers.registry import detect, named
from turnfold.errors import ArgumentError, NotWritableError, PlanMismatchError, TurnfoldError
from turnfold.model.plan import DropRange, EditBlocks, KeepRange, StripBlocks, SummaryHole
from turnfold.transcript import Transcript

if TYPE_CHECKING:
    # Who tells a log from other files has nothing to do with plans.
    from turnfold.planning.apply import Applied


@dataclass(frozen=True, slots=True)
class Log:
    """A file that holds transcripts in a form of its own. Made by `read_log`.

    `container` is the name of its kind and `container_reason` why that one. `transcripts` stand in file order. `unread`
    counts, by kind, the records that hold no message of a transcript: they are carried along.
    """

    container: str
    container_reason: str
    reading: Reading
    document: Document = field(repr=False)
    _kind: Container = field(repr=False)

    @property
    def transcripts(self) -> tuple[LoggedTranscript, ...]:
        """The transcripts, in the order in which the log has them."""
        return self.reading.transcripts

    @property
    def unread(self) -> Mapping[str, int]:
        """How many records of each kind hold no message of a transcript."""
        return self.reading.unread

    def write(self, results: "Mapping[str, Applied] | None" = None) -> bytes:
        """Return the log's bytes, with the compacted `results` by transcript id written the way its tool does.

        Without results, the input byte for byte. What is written is read again and compared with the results before it
        is handed over. Raises a `NotWritableError` where the log cannot hold a result, an `ArgumentError` for an id
        that it has not, a `PlanMismatchError` for a result of another transcript. O(bytes).
        """
        if not results:
            return self.document.data
        known = {logged.id: logged for logged in self.transcripts}
        for identifier in results:
            if identifier not in known:
                raise ArgumentError(f"This log has no transcript {identifier!r}")
        if not self._kind.writes:
            why = getattr(self._kind, "reason", "results have no place in it")
            raise NotWritableError(f"A log of kind {self.container} is a recording and is not written to: {why}")
        changes = tuple(_change(known[name], result, self._kind) for name, result in results.items())
        written = self._kind.write(self.document, self.reading, changes)
        self._check(written, results)
        return written

    def _check(self, written: bytes, results: "Mapping[str, Applied]") -> None:
        try:
            again = {logged.id: logged.transcript for logged in self._kind.read(Document(written)).transcripts}
        except TurnfoldError as error:
            raise NotWritableError(f"The written log could not be read again: {error}") from error
        expected = {logged.id: logged.transcript for logged in self.transcripts}
        expected |= {identifier: result.transcript for identifier, result in results.items()}
        for identifier, transcript in expected.items():
            if identifier not in again or says(again[identifier]) != says(transcript):
                raise NotWritableError(
                    f"The log cannot hold this result: transcript {identifier!r} would read otherwise"
                )


def says(transcript: Transcript) -> list[tuple[str, list[tuple[str, str | None, str | None, str]]]]:
    """Return what a transcript says: a message, its role and blocks, with call ids by their order of appearance."""
    numbers: dict[str, str] = {}
    found: list[tuple[str, list[tuple[str, str | None, str | None, str]]]] = []
    for index, role in enumerate(transcript.roles):
        blocks: list[tuple[str, str | None, str | None, str]] = []
        for block in transcript.blocks(index):
            number = None if block.call_id is None else numbers.setdefault(block.call_id, f"#{len(numbers)}")
            blocks.append((block.kind, number, block.name, block.text))
        found.append((role, blocks))
    return found


def read_log(data: bytes | bytearray | memoryview, *, container: str | None = None) -> Log:
    """Read a log of an agent, or another file that holds transcripts.

    The container is detected unless `container` names it. Raises an `UnknownContainerError` where none fits or two fit
    equally, an `InvalidLogError` where the named one does not fit. O(bytes).
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a log is bytes, bytearray or memoryview, not {type(data).__name__}")
    document = Document(bytes(data))
    if container is None:
        kind, reason = detect(document)
    else:
        kind, reason = named(container), "the caller named it"
    return Log(kind.name, reason, kind.read(document), document, kind)


def _change(logged: LoggedTranscript, result: "Applied", kind: Container) -> Change:
    plan = result.plan
    if plan.source != logged.transcript.fingerprint:
        raise PlanMismatchError(f"The result for transcript {logged.id!r} was made from another one")
    holes: list[Hole] = []
    shortened: dict[int, tuple[bytes, Mapping[int, str]]] = {}
    stripped: set[int] = set()
    dropped: list[range] = []
    at = 0
    for tile in plan.tiles:
        match tile:
            case SummaryHole(start=start, stop=stop):
                text = "".join(block.text for block in result.transcript.blocks(at))
                kept = tuple(range(part.start, part.stop) for part in tile.kept)
                holes.append(Hole(start, stop, result.transcript.roles[at], text, kept))
                at += 1
                for part in tile.kept:
                    if isinstance(part, StripBlocks):
                        shortened[part.start] = (result.transcript.message_json(at), {})
                        stripped.add(part.start)
                    at += part.stop - part.start
            case EditBlocks(start=start):
                texts = dict(_result_texts(result.transcript, at, tile.edited)) if not tile.stripped else {}
                shortened[start] = (result.transcript.message_json(at), texts)
                stripped.update((start,) if tile.stripped else ())
                at += 1
            case StripBlocks(start=start):
                shortened[start] = (result.transcript.message_json(at), {})
                stripped.add(start)
                at += 1
            case DropRange(start=start, stop=stop):
                dropped.append(range(start, stop))
            case KeepRange(start=start, stop=stop):
                at += stop - start
    tokens = result.before.n, result.after.n
    change = Change(
        logged,
        result.transcript,
        tuple(holes),
        shortened,
        *tokens,
        dropped=tuple(dropped),
        stripped=frozenset(stripped),
    )
    return _fitting(change, kind)


def _fitting(change: Change, kind: Container) -> Change:
    """Return a change as a kind of log can take it. Raises `NotWritableError` where its records hold no such result."""
    keeping = next((hole for hole in change.holes if hole.kept), None)
    if not change.dropped and keeping is None and not change.stripped:
        return change
    if getattr(kind, "holds_any_result", False):
        plain = {message: new for message, new in change.shortened.items() if message not in change.stripped}
        return replace(change, shortened=plain, is_rewritten=True)
    if getattr(kind, "takes_out", False) or (keeping is None and not change.dropped):
        return change
    which, what = (
        (change.dropped[0], "go without a summary")
        if keeping is None
        else (range(keeping.start, keeping.stop), "go in part, and the rest stays behind the summary")
    )
    raise NotWritableError(
        f"Messages {which.start} to {which.stop} {what}, and what {kind.name} records of a compaction cannot say that: "
        "use a policy that summarises whole spans"
    )


def _result_texts(transcript: Transcript, message: int, changed: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    number = 0
    for index, block in enumerate(transcript.blocks(message)):
        if block.kind == "tool_result":
            if index in changed:
                yield number, block.text
            number += 1
