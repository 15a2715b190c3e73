"""The bytes of one log: as lines, as one JSON value, as records. Each is read on first use, once."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from turnfold import _core
from turnfold.errors import ReadError

Path = Sequence[str | int]
"""Keys and indexes from a value to one inside it."""

LOOKED_AT: Final = 64
"""How many lines, records or elements tell what a log is."""
_BLANK: Final = b" \t\r\n\xef\xbb\xbf"
_INTEGER_DIGITS: Final = 4_300
"""Python refuses to parse longer integers."""
_DEEPEST: Final = 512
"""The kernel finds no spans in what nests deeper."""
_LONG: Final = 1 << 14
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MAPPING: Final = (dict, Mapping)
"""A dict is known at once; to ask for any mapping takes ten times as long."""


class Record(msgspec.Struct, frozen=True):
    """One line, or one item of an array: the bytes `[start, stop)`, without the line's ending.

    `index` is the line's or item's number, from 0. `value` is the decoded object; None where the bytes are blank, no
    JSON, or JSON but no object.
    """

    index: int
    start: int
    stop: int
    value: Mapping[str, object] | None
    blank: bool = False


class Document:
    """The bytes of one log. Immutable: what is read of it is kept, so that asking twice costs once."""

    def __init__(self, data: bytes) -> None:
        self.data: Final = data
        self._spans: dict[tuple[str | int, ...], list[tuple[int, int]]] = {}
        self._last: tuple[tuple[str | int, ...], int, int, Document] | None = None

    @cached_property
    def is_lines(self) -> bool:
        """Whether it is JSON lines: a line of its own is a JSON object, and the whole is not one JSON value."""
        told = [record for record in self.lines if not record.blank]
        if len(told) > 1 and told[0].value is not None:
            # An object, and more behind it: that is no one value, which need not be asked of a megabyte.
            return True
        if self._json is not None and len(self._lines) > 1:
            return False
        return any(record.value is not None for record in told)

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        data, found, at = self.data, [], 0
        while at < len(data):
            feed = data.find(b"\n", at)
            end = len(data) if feed < 0 else feed
            found.append((at, end))
            at = end + 1
        return found

    @cached_property
    def lines(self) -> tuple[Record, ...]:
        """One record a line, blank ones and those that are no JSON included.

        Split at line feeds and nothing else: a JSON string may hold U+2028 and its like raw.
        """
        return tuple(self._line(index, start, stop) for index, (start, stop) in enumerate(self._lines))

    def _line(self, index: int, start: int, stop: int) -> Record:
        whole = len(self._lines) == 1 and self._json is not None
        data = self.data
        if stop > start and data[stop - 1 : stop] == b"\r":
            stop -= 1
        if index == 0 and data.startswith(_BYTE_ORDER_MARK):
            start = min(stop, len(_BYTE_ORDER_MARK))
        text = data[start:stop]
        blank = not text.strip(_BLANK)
        value = None if blank or not text.lstrip().startswith(b"{") else self.value if whole else decode(text)
        return Record(index, start, stop, value if isinstance(value, dict) else None, blank)

    @cached_property
    def items(self) -> tuple[Record, ...]:
        """One record an item of the outermost array; none where the whole is no JSON array."""
        return self.items_at(())

    def items_at(self, path: Path) -> tuple[Record, ...]:
        """One record an item of the array at `path`; none where no array stands there.

        Asking for one array after the other, in order, is linear in the bytes.
        """
        for k, step in enumerate(path):
            if isinstance(step, int):
                part = self._part(tuple(path[:k]), step)
                if part is None:
                    return ()
                offset, inner = part
                found = inner.items_at(path[k + 1 :])
                return tuple(Record(r.index, r.start + offset, r.stop + offset, r.value) for r in found)
        if self._json is None:
            return ()
        items = at(self.value, path)
        if not isinstance(items, list):
            return ()
        spans = self._json.items(list(path))
        return tuple(
            Record(index, start, stop, item if isinstance(item, dict) else None)
            for index, ((start, stop), item) in enumerate(zip(spans, items, strict=True))
        )

    def _part(self, path: tuple[str | int, ...], index: int) -> tuple[int, "Document"] | None:
        if self._last is not None and self._last[:2] == (path, index):
            return self._last[2:]
        if path not in self._spans:
            self._spans[path] = [] if self._json is None else self._json.items(list(path))
        if index >= len(self._spans[path]):
            return None
        start, stop = self._spans[path][index]
        self._last = (path, index, start, Document(self.data[start:stop]))
        return self._last[2:]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The lines of JSON lines, else the items of an array."""
        return self.lines if self.is_lines else self.items

    @cached_property
    def _json(self) -> _core.Json | None:
        feed = self.data.find(b"\n")
        if self.data[feed - 1 : feed + 2] == b"}\n{":
            # In no one value does that stand, nor in a string: a megabyte of lines need not be asked.
            return None
        try:
            return _core.Json(self.data)
        except ReadError:
            return None

    def span(self, path: Path) -> tuple[int, int] | None:
        """Return where the value at `path` stands; None where none does, or the whole is no JSON value.

        Asking for one item's values after the other's, in order, is linear in the bytes.
        """
        for k, step in enumerate(path[:-1]):
            if isinstance(step, int):
                part = self._part(tuple(path[:k]), step)
                found = None if part is None else part[1].span(path[k + 1 :])
                return None if part is None or found is None else (found[0] + part[0], found[1] + part[0])
        return None if self._json is None else self._json.span(list(path))

    @cached_property
    def value(self) -> object:
        """The whole as one JSON value, decoded; None where it is none."""
        return None if self._json is None else _decode(self.data.removeprefix(_BYTE_ORDER_MARK))

    def ending(self, record: Record) -> bytes:
        """Return what ends a line, nothing for a last line that is not ended."""
        data = self.data
        for end in (b"\r\n", b"\n"):
            if data.startswith(end, record.stop):
                return end
        return b""


def decode(text: bytes) -> object:
    """Decode JSON; None where it is none, or none that the kernel reads: `NaN`, or nesting too deep.

    Lone surrogates survive.
    """
    bare = text.removeprefix(_BYTE_ORDER_MARK)
    # To read a long text takes no longer than to count its brackets.
    may_nest = len(bare) > _LONG or bare.count(b"[") + bare.count(b"{") > _DEEPEST
    if may_nest and not _is_read(bare):
        return None
    return _decode(bare)


def _decode(bare: bytes) -> object:
    """Decode what does not nest too deep."""
    try:
        return msgspec.json.decode(bare)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(bare, parse_int=_integer, parse_float=_float, parse_constant=_constant)
    except (ValueError, RecursionError):
        return None


def _is_read(text: bytes) -> bool:
    try:
        _core.Json(text)
    except ReadError:
        return False
    return True


def _constant(name: str) -> object:
    """Refuse what Python reads and the kernel does not: no span could be found in such a text."""
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> int | str:
    """Return what Python can hold; a longer number stays text, so that nothing of it is lost."""
    return int(digits) if len(digits) <= _INTEGER_DIGITS else digits


def _float(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def encode(value: object) -> bytes:
    """Encode as compact JSON. A lone surrogate becomes the escape that it was read from."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, OverflowError, ValueError):
        return json.dumps(value, separators=(",", ":")).encode()


def at(value: object, path: Path) -> object:
    """Return what stands at `path` in a decoded value; None where nothing does."""
    for step in path:
        if isinstance(step, str) and isinstance(value, _MAPPING):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def text_of(value: object, *path: str | int) -> str | None:
    """Return the string at `path`; None for anything else."""
    found = at(value, path)
    return found if isinstance(found, str) else None


def object_of(value: object, *path: str | int) -> Mapping[str, object]:
    """Return the object at `path`; an empty one for anything else."""
    found = at(value, path)
    return found if isinstance(found, _MAPPING) else {}


def list_of(value: object, *path: str | int) -> list[object]:
    """Return the array at `path`; an empty one for anything else."""
    found = at(value, path)
    return found if isinstance(found, list) else []
