"""How much a group of messages is worth keeping, by what it holds: what costs least to lose goes first."""

from collections.abc import Collection, Mapping, Sequence
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
    called: dict[int, set[str]] = {}
    for digest in ground.transcript.digests(groups[0].start, groups[-1].stop) if groups else ():
        called.setdefault(digest.message, set()).add("error" if digest.is_error else digest.kind)
    return [max(PRIORITIES[name] for name in _classes(ground, group, spoken, called)) for group in groups]


def _classes(ground: Ground, group: range, spoken: Collection[int], called: Mapping[int, set[str]]) -> set[str]:
    calls = {name for index in group for name in called.get(index, ())}
    found = set(calls)
    for index in group:
        speaker = ground.transcript.speakers[index]
        if speaker in {"system", "developer"}:
            found.add("instructions")
        elif index in spoken:
            found.add("user")
        elif speaker == "assistant" and not calls:
            found.add("assistant")
    return found or {"other"}
