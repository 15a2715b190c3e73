"""Logs whose records name the record before them."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from turnfold.containers.document import Document, Record, encode, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import edit_value, placed
from turnfold.containers.protocol import Change
from turnfold.containers.records import Records, edit_records


class LinkedRecords(Records):
    """The base of containers whose records have an id and the id of their parent.

    A summary takes the id of the last record that it replaces and the parent of the first one, so that what follows
    hangs on it, and no other record changes. Where records stay between those, it takes the id of the first one, or an
    own one where the first of all stays; what hangs on a record that goes then hangs on the nearest before that stays.
    """

    id_key: ClassVar[str] = "id"
    parent_key: ClassVar[str] = "parentId"

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put a record from `spell` in the place of what each summary replaces."""
        rows = self.rows(document)
        removed, _ = placed(change)
        new: list[tuple[int, bytes]] = []
        held = {text_of(row.value, self.id_key) for row in rows if row.index not in removed}
        behind: dict[int, str | None] = {}
        for hole in change.holes:
            own = [index for m in hole.gone for index in change.logged.origins[m]]
            start = min(index for m in range(hole.start, hole.stop) for index in change.logged.origins[m])
            first, last = object_of(rows[start].value), object_of(rows[max(own)].value)
            named = object_of(rows[min(own)].value) if hole.kept else last
            spelled = dict(object_of(self.spell(rows, change, hole.role, hole.text)))
            spelled |= {key: named[key] for key in (self.id_key, "timestamp") if key in named}
            if self.parent_key in first:
                spelled[self.parent_key] = first[self.parent_key]
            if start not in removed:
                # What hung on the first that goes hangs behind what stays before it, so the summary is not that one.
                behind[start] = _fresh(text_of(named, self.id_key) or "")
                spelled[self.id_key] = behind[start]
            held.add(text_of(spelled, self.id_key))
            new.append((start, encode(spelled)))
        yield from edit_records(document, removed, new, rows)
        if change.dropped or any(hole.kept for hole in change.holes):
            yield from self._relinked(document, rows, removed, held, behind)

    def _relinked(
        self,
        document: Document,
        rows: Sequence[Record],
        removed: AbstractSet[int],
        held: AbstractSet[str | None],
        behind: Mapping[int, str | None],
    ) -> Iterator[Edit]:
        """Hang what stays, and hung on what goes, on what is there: `held` are the ids that are.

        `behind` has the rows before which a summary stands, with its id.
        """
        parents = {text_of(rows[index].value, self.id_key): rows[index].value for index in removed}
        nearest: dict[str, str | None] = {}
        for row in rows:
            parent = text_of(row.value, self.parent_key)
            if row.index in behind and parent is not None:
                yield edit_value(document, row, (row.index, (self.parent_key,)), encode(behind[row.index]))
                continue
            if row.index in removed or parent is None or parent in held or parent not in parents:
                continue
            passed: list[str] = []
            at: str | None = parent
            while at is not None and at not in held and at not in nearest and at in parents:
                passed.append(at)
                at = text_of(parents[at], self.parent_key)
            found = nearest.get(at, at) if at is not None else None
            nearest.update(dict.fromkeys(passed, found))
            yield edit_value(document, row, (row.index, (self.parent_key,)), encode(found))


def _fresh(identifier: str) -> str:
    """Return an id made from another, of the same form."""
    try:
        return str(uuid.uuid5(uuid.UUID(identifier), "summary"))
    except ValueError:
        return f"{identifier}-summary"
