"""JSON inside a string of JSON: read as a text of its own, changed where it stands."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from turnfold.containers.document import encode
from turnfold.containers.edits import Edit

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)


class Embedded:
    """The text that a JSON string holds. `literal` is the string with its quotes, `start` where it stands.

    A lone surrogate becomes an escape in the text, which JSON inside reads as the same. O(bytes), once.
    """

    def __init__(self, literal: bytes, start: int) -> None:
        self._literal: Final = literal
        self._start: Final = start

    @cached_property
    def _read(self) -> tuple[bytes, list[int], list[int]]:
        """The text, and where runs without an escape start: in the text, and in the literal."""
        literal, parts = self._literal, list[bytes]()
        inner, outer = [0], [1]
        length, at = 0, 1
        for escape in _ESCAPE.finditer(literal, 1, len(literal) - 1):
            plain, decoded = literal[at : escape.start()], _decoded(escape[0])
            parts += (plain, decoded)
            length, at = length + len(plain), escape.end()
            # The escape itself is a run: an edit never starts inside it.
            inner.append(length)
            outer.append(escape.start())
            length += len(decoded)
            inner.append(length)
            outer.append(at)
        parts.append(literal[at:-1])
        return b"".join(parts), inner, outer

    @property
    def text(self) -> bytes:
        """The text itself, as UTF-8."""
        return self._read[0]

    def edits(self, inner: Iterable[Edit]) -> Iterator[Edit]:
        """Turn edits of the text into edits of what the string stands in. Bytes outside them keep their escapes."""
        for edit in inner:
            new = encode(edit.new.decode())[1:-1]
            yield Edit(self._outer(edit.start), self._outer(edit.stop), new)

    def _outer(self, at: int) -> int:
        _, inner, outer = self._read
        run = bisect_right(inner, at) - 1
        return self._start + outer[run] + (at - inner[run])


def _decoded(escape: bytes) -> bytes:
    try:
        text: str = json.loads(b'"' + escape + b'"')
        return text.encode()
    except (ValueError, UnicodeEncodeError):
        return escape
