"""What data is decoded to, so that several threads may do it."""

import threading
from typing import Final, TypeVar

import msgspec

_Shape = TypeVar("_Shape")

_LOCK: Final = threading.Lock()
_LOOKED_AT: Final[set[object]] = set()


def decodable(kind: _Shape) -> _Shape:
    """Return `kind`, a type for msgspec to decode or convert to, once that has looked at it.

    The first time that a class is decoded to, msgspec looks at its fields, which takes Python code and so lets other
    threads go on; before 0.23, one that comes to the same class meanwhile finds it half looked at and ends the process.
    """
    if kind not in _LOOKED_AT:
        with _LOCK:
            msgspec.json.Decoder(kind)
            _LOOKED_AT.add(kind)
    return kind
