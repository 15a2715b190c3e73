"""A session of Claude Code that goes on without some of its messages: a branch, as its tool leaves one behind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from turnfold.containers.document import Document, Record, encode, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import edit_value
from turnfold.containers.protocol import Change, Hole
from turnfold.containers.records import edit_records
from turnfold.errors import NotWritableError

Made = Mapping[str, object]
"""A record that is put in."""


@dataclass(slots=True)
class _Branch:
    """The links of a session, and what they become. Records are named by their index, holes by their number."""

    rows: Sequence[Record]
    change: Change
    kept: AbstractSet[int]
    gone: AbstractSet[int]
    summaries: Sequence[str]
    boundary: str
    holes: Mapping[int, int] = field(init=False)
    inside: Mapping[int, int] = field(init=False)
    by_uuid: Mapping[str, Record] = field(init=False)
    starts: bool = False

    def __post_init__(self) -> None:
        origins = self.change.logged.origins
        numbered = list(enumerate(self.change.holes))
        self.holes = {index: n for n, hole in numbered for m in hole.gone for index in origins[m]}
        self.inside = {i: n for n, hole in numbered for part in hole.kept for m in part for i in origins[m]}
        self.by_uuid = {uuid: row for row in self.rows if (uuid := text_of(row.value, "uuid")) is not None}

    def above(self, record: Record) -> Record | None:
        """Return the nearest record before this one that goes or stays as a message; None at the root."""
        seen: set[int] = set()
        at = self.by_uuid.get(text_of(record.value, "parentUuid") or "")
        while at is not None and at.index not in self.kept and at.index not in self.gone and at.index not in seen:
            seen.add(at.index)
            at = self.by_uuid.get(text_of(at.value, "parentUuid") or "")
        return None if at is not None and at.index in seen else at

    def anchor(self, record: Record | None) -> str:
        """Return the uuid of what stands in the branch for a record, or for the root."""
        seen: set[int] = set()
        while record is not None and record.index in self.gone and record.index not in seen:
            seen.add(record.index)
            hole, before = self.holes.get(record.index), self.above(record)
            within = before is not None and hole in (self.holes.get(before.index), self.inside.get(before.index))
            if hole is not None and not within:
                return self.summaries[hole]
            record = before
        if record is None or record.index in self.gone:
            self.starts = True
            return self.boundary
        return text_of(record.value, "uuid") or ""

    def loose(self) -> Iterator[tuple[Record, str]]:
        """Yield the records that lead from what stays to what goes, with what they hang on now. O(records)."""
        first = {self._first(hole): n for n, hole in enumerate(self.change.holes) if self._first(hole) in self.kept}
        seen: set[int] = set()
        for index in sorted(self.kept):
            record = self.rows[index]
            if index in first:
                yield record, self.summaries[first[index]]
                seen.add(index)
            while record.index not in seen:
                seen.add(record.index)
                parent = self.by_uuid.get(text_of(record.value, "parentUuid") or "")
                if parent is None or parent.index in self.kept:
                    break
                if parent.index in self.gone:
                    yield record, self.anchor(parent)
                    break
                record = parent

    def _first(self, hole: Hole) -> int:
        return min(self.change.logged.origins[hole.start])

    def parent_of_summary(self, hole: Hole) -> str:
        """Return what the summary of a hole hangs on."""
        before = self.above(self.rows[self._first(hole)])
        return self.anchor(before)


def branched(
    document: Document,
    rows: Sequence[Record],
    change: Change,
    gone: AbstractSet[int],
    spell: Callable[[str, Hole | None], Made],
) -> Iterator[Edit]:
    """Return the edits by which the session goes on without the records `gone`, and with a summary for each hole.

    What stays, and hung on what goes, hangs on the summary, or on what stays before it; where nothing does, on a
    boundary. `spell` makes the record of a summary, or of a boundary for None, that hangs on the uuid given. Raises
    `NotWritableError` where the last record of the session would go, since it is what the tool goes on from.
    """
    origins = change.logged.origins
    kept = frozenset(index for indexes in origins for index in indexes) - gone
    names = [text_of(spell("", hole), "uuid") or "" for hole in change.holes]
    boundary = spell("", None)
    branch = _Branch(rows, change, kept, gone, names, text_of(boundary, "uuid") or "")
    loose = list(branch.loose())
    made: list[tuple[int, bytes]] = []
    ends = False
    for name, hole in zip(names, change.holes, strict=True):
        record = spell(branch.parent_of_summary(hole), hole)
        # Before all that names it, so that a reader that goes line by line knows it.
        place = min((row.index for row, parent in loose if parent == name), default=None)
        ends = ends or place is None
        made.append((len(rows) if place is None else place, encode(record)))
    last = max(kept | gone)
    if last in gone and not ends:
        raise NotWritableError("Claude Code goes on from the last record, which would go: use a policy that keeps it")
    if branch.starts:
        first = min((place for place, _ in made), default=len(rows))
        named = (row.index for row, parent in loose if parent == branch.boundary)
        made.insert(0, (min((first, *named)), encode(boundary)))
    yield from edit_records(document, set(), made, rows)
    for row, parent in loose:
        if "parentUuid" not in object_of(row.value):
            raise NotWritableError(f"Record {row.index} names no parent, so nothing can be left out before it")
        yield edit_value(document, row, (row.index, ("parentUuid",)), encode(parent))
