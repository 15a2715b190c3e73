"""What plain text holds."""

from collections.abc import Iterable

from turnfold import _core


def identifiers(text: str) -> tuple[str, ...]:
    """Find the identifiers in a text: paths, addresses, ids, names of code and errors, each once, in order."""
    return tuple(name for _, name in _core.extract_identifiers(text))


def occurring(names: Iterable[str], text: str) -> tuple[bool, ...]:
    """Say of each identifier whether it occurs in `text`, letter for letter. Linear in both."""
    return tuple(_core.occurring(list(names), text))
