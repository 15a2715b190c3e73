"""How much a group of messages is worth keeping, by what it holds: what costs least to lose goes first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from turnfold.planning.ground import Ground

PRIORITIES: Final = MappingProxyType(
    {
        "user": 100,
        "instructions": 100,
        "error": 60,
        "write": 50,
        "assistant": 40,
        "shell": 30,
        "other": 20,
        "search": 10,
        "read": 10,
    }
)
"""By class: a user's words are nowhere else, while a file can be read again."""


def priorities_of(ground: Ground, groups: Sequence[range]) -> list[int]:
    """Return the worth of each group, in order: that of the most valuable thing in it. O(blocks)."""
    spoken = frozenset(ground.spoken)
    called: dict[int, int] = {}
    for digest in ground.transcript.digests(groups[0].start, groups[-1].stop) if groups else ():
        worth = PRIORITIES["error" if digest.is_error else digest.kind]
        called[digest.message] = max(worth, called.get(digest.message, 0))
    return [max(_worths(ground, group, spoken, called), default=PRIORITIES["other"]) for group in groups]


def _worths(ground: Ground, group: range, spoken: Collection[int], called: Mapping[int, int]) -> Iterator[int]:
    """Give the worth of what is in a group; `called` has that of each message's calls."""
    calls = [called[index] for index in group if index in called]
    yield from calls
    for index in group:
        speaker = ground.transcript.speakers[index]
        if speaker in {"system", "developer"}:
            yield PRIORITIES["instructions"]
        elif index in spoken:
            yield PRIORITIES["user"]
        elif speaker == "assistant" and not calls:
            yield PRIORITIES["assistant"]
