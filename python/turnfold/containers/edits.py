"""Changes to a text as a list of spans and what takes their place: everything outside them stays byte for byte."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

import msgspec

from turnfold.containers.document import Document
from turnfold.errors import NotWritableError

Span = tuple[int, int]


class Edit(msgspec.Struct, frozen=True, order=True):
    """The bytes `[start, stop)` become `new`; with `start == stop`, `new` is put in before the byte at `start`."""

    start: int
    stop: int
    new: bytes


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Carry out all edits. Raises `NotWritableError` where two meet. O(bytes), and sorting the edits."""
    parts: list[bytes] = []
    at = 0
    last: Edit | None = None
    for edit in sorted(edits):
        if not at <= edit.start <= edit.stop <= len(data) or (
            last is not None and last.start == last.stop == edit.start == edit.stop
        ):
            raise NotWritableError(f"Two changes of the log meet at byte {edit.start}: write one result at a time")
        parts += (data[at : edit.start], edit.new)
        at, last = edit.stop, edit
    parts.append(data[at:])
    return b"".join(parts)


def with_values(raw: bytes, values: Mapping[tuple[str | int, ...], bytes]) -> bytes:
    """Return a JSON value with others in the place of those at some paths.

    Raises `NotWritableError` where nothing stands at a path. O(bytes) a path.
    """
    document = Document(raw)
    edits: list[Edit] = []
    for path, new in values.items():
        span = document.span(path)
        if span is None:
            raise NotWritableError(f"A record that has to be said again has nothing at {list(path)}")
        edits.append(Edit(*span, new))
    return apply_edits(raw, edits)


def edit_items(items: Sequence[Span], removed: AbstractSet[int], inserted: Iterable[tuple[int, bytes]]) -> list[Edit]:
    """Return the edits that take items out of a JSON array and put new ones in.

    `items` are the spans of all its items. Each new item is put before the item of its index, or at the end; where
    that item goes, the new one takes its place. An item that goes takes its comma along.
    """
    new: dict[int, bytes] = {}
    for index, item in inserted:
        new[index] = b"%b,%b" % (new[index], item) if index in new else item
    edits: list[Edit] = []
    for index in [index for index in new if index in removed]:
        edits.append(Edit(*items[index], new.pop(index)))
        removed = removed - {index}
    for start, stop in _runs(removed):
        if stop < len(items):
            edits.append(Edit(items[start][0], items[stop][0], b""))
        elif start > 0:
            edits.append(Edit(items[start - 1][1], items[-1][1], b""))
        else:
            edits.append(Edit(items[0][0], items[-1][1], b""))
    for index, item in new.items():
        if index < len(items):
            edits.append(Edit(items[index][0], items[index][0], item + b","))
        elif items:
            edits.append(Edit(items[-1][1], items[-1][1], b"," + item))
        else:
            raise NotWritableError("A summary has no place in an array without items")
    return edits


def _runs(indexes: AbstractSet[int]) -> list[Span]:
    runs = groupby(enumerate(sorted(indexes)), key=lambda pair: pair[1] - pair[0])
    found = [[index for _, index in run] for _, run in runs]
    return [(run[0], run[-1] + 1) for run in found]
