"""PATH arguments with wildcards that the shell left alone: they were quoted, or match too much for a command line."""

from collections.abc import Iterator
from pathlib import Path

_WILD = frozenset("*?[")


def is_pattern(argument: str) -> bool:
    """Whether an argument is no path that exists, and holds a wildcard."""
    try:
        return not _WILD.isdisjoint(argument) and not Path(argument).exists()
    except (OSError, ValueError):
        return False


def split_pattern(argument: str) -> tuple[Path, str]:
    """Return the folder before the first part with a wildcard, and the rest; a `**` at the end is all files below."""
    parts = Path(argument).parts
    first = next(place for place, part in enumerate(parts) if not _WILD.isdisjoint(part))
    rest = "/".join(parts[first:])
    return Path(*parts[:first]), f"{rest}/*" if parts[-1] == "**" else rest


def matches(argument: str) -> Iterator[Path]:
    """Paths that match, in order. Hidden ones only where the pattern says so, and no folder twice through a link."""
    folder, rest = split_pattern(argument)
    base = len(folder.parts)
    wants_hidden = any(part.startswith(".") for part in rest.split("/"))
    for path in sorted(folder.glob(rest)):
        if wants_hidden or not any(part.startswith(".") for part in path.parts[base:]):
            yield path
