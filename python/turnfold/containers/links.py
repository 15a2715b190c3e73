"""Logs whose records name the record before them."""

from collections.abc import Iterable
from typing import ClassVar

from turnfold.containers.document import Document, encode, object_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import placed
from turnfold.containers.protocol import Change
from turnfold.containers.records import Records, edit_records


class LinkedRecords(Records):
    """The base of containers whose records have an id and the id of their parent.

    A summary takes the id of the last record that it replaces and the parent of the first one, so that what follows
    hangs on it, and no other record changes.
    """

    id_key: ClassVar[str] = "id"
    parent_key: ClassVar[str] = "parentId"

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put a record from `spell` in the place of what each summary replaces."""
        rows = self.rows(document)
        removed, _ = placed(change)
        new: list[tuple[int, bytes]] = []
        for hole in change.holes:
            own = [index for m in range(hole.start, hole.stop) for index in change.logged.origins[m]]
            first, last = object_of(rows[min(own)].value), object_of(rows[max(own)].value)
            spelled = dict(object_of(self.spell(rows, change, hole.role, hole.text)))
            spelled |= {key: last[key] for key in (self.id_key, "timestamp") if key in last}
            if self.parent_key in first:
                spelled[self.parent_key] = first[self.parent_key]
            new.append((min(own), encode(spelled)))
        return edit_records(document, removed, new, rows)
