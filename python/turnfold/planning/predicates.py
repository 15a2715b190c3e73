"""Named questions to one message, for pins: a policy stays data and says the name."""

import re
from collections.abc import Callable
from typing import Final

from turnfold.errors import ArgumentError
from turnfold.transcript import Transcript

Predicate = Callable[[Transcript, int], bool]
"""Asked of a transcript and a message index. Must be pure: the same answer for the same message."""

_RULE: Final = re.compile(
    r"\b(?:must|never|always|do not|don't|only|required?|forbidden|make sure|at (?:most|least)|no longer)\b",
    re.IGNORECASE,
)


def states_rule(transcript: Transcript, index: int) -> bool:
    """Whether the user, or an instruction, says there what must or must not be."""
    if transcript.speakers[index] not in {"user", "system", "developer"}:
        return False
    return any(block.kind == "text" and _RULE.search(block.text) for block in transcript.blocks(index))


def holds_error(transcript: Transcript, index: int) -> bool:
    """Whether a tool result there says of itself that it failed."""
    return any(head.kind == "tool_result" and head.is_error for head in transcript.block_heads[index])


def holds_media(transcript: Transcript, index: int) -> bool:
    """Whether there is a picture, a sound or a file."""
    return any(head.kind == "media" for head in transcript.block_heads[index])


_PREDICATES: dict[str, Predicate] = {
    "states_rule": states_rule,
    "holds_error": holds_error,
    "holds_media": holds_media,
}


def register_predicate(name: str, predicate: Predicate) -> None:
    """Let policies of this process ask `predicate` by `name`; the same name again replaces what was there."""
    if not name:
        raise ArgumentError("A predicate needs a name")
    _PREDICATES[name] = predicate


def predicate_named(name: str) -> Predicate:
    """Find the predicate of that name; an `ArgumentError` lists the names there are."""
    predicate = _PREDICATES.get(name)
    if predicate is None:
        raise ArgumentError(f"No predicate is named {name!r}; there are {', '.join(sorted(_PREDICATES))}")
    return predicate
