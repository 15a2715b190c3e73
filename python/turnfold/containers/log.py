"""One log, read: its transcripts, and the way to write compactions of them back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from turnfold.containers.document import Document
from turnfold.containers.protocol import Change, Container, Hole, LoggedTranscript, Reading
from turnfold.containers.registry import detect, named
from turnfold.errors import ArgumentError, NotWritableError, PlanMismatchError, TurnfoldError
from turnfold.model.plan import DropRange, EditBlocks, KeepRange, StripBlocks, SummaryHole
from turnfold.planning.apply import Applied
from turnfold.transcript import Transcript


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

    def write(self, results: Mapping[str, Applied] | None = None) -> bytes:
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
            raise NotWritableError(f"A log of kind {self.container} is a recording: results cannot be written into it")
        holds_any = getattr(self._kind, "holds_any_result", False)
        changes = tuple(_change(known[name], result, holds_any=holds_any) for name, result in results.items())
        written = self._kind.write(self.document, self.reading, changes)
        self._check(written, results)
        return written

    def _check(self, written: bytes, results: Mapping[str, Applied]) -> None:
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


def _change(logged: LoggedTranscript, result: Applied, *, holds_any: bool) -> Change:
    plan = result.plan
    if plan.source != logged.transcript.fingerprint:
        raise PlanMismatchError(f"The result for transcript {logged.id!r} was made from another one")
    holes: list[Hole] = []
    shortened: dict[int, tuple[bytes, Mapping[int, str]]] = {}
    at = 0
    is_rewritten = False
    for tile in plan.tiles:
        match tile:
            case KeepRange(start=start, stop=stop):
                at += stop - start
            case SummaryHole(start=start, stop=stop) if not tile.kept:
                text = "".join(block.text for block in result.transcript.blocks(at))
                holes.append(Hole(start, stop, result.transcript.roles[at], text))
                at += 1
            case EditBlocks(start=start) if not tile.stripped:
                texts = dict(_result_texts(result.transcript, at, tile.edited))
                shortened[start] = (result.transcript.message_json(at), texts)
                at += 1
            case SummaryHole(start=start, stop=stop) if holds_any:
                text = "".join(block.text for block in result.transcript.blocks(at))
                holes.append(Hole(start, stop, result.transcript.roles[at], text))
                at += 1 + sum(kept.stop - kept.start for kept in tile.kept)
                is_rewritten = True
            case DropRange() if holds_any:
                is_rewritten = True
            case StripBlocks() | EditBlocks() if holds_any:
                at += 1
                is_rewritten = True
            case DropRange() | StripBlocks() | SummaryHole() | EditBlocks():
                raise NotWritableError(
                    f"A log has no record for messages {tile.start} to {tile.stop} as the plan leaves them: "
                    "dropped, without their reasoning, or kept behind the summary"
                )
    tokens = result.before.n, result.after.n
    return Change(logged, result.transcript, tuple(holes), shortened, *tokens, is_rewritten=is_rewritten)


def _result_texts(transcript: Transcript, message: int, changed: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    number = 0
    for index, block in enumerate(transcript.blocks(message)):
        if block.kind == "tool_result":
            if index in changed:
                yield number, block.text
            number += 1
