"""What a summary quotes of the user, whoever writes the rest: the first message and the request that is in work."""

from collections.abc import Sequence
from typing import Final

import msgspec

from turnfold.meter import count, truncate_middle
from turnfold.planning.ground import Ground
from turnfold.planning.selection import Selection
from turnfold.quoting import neutralise
from turnfold.transcript import Transcript

_ROUTINE_PART: Final = 32
"""One of so many parts of the room is the most that a routine first message takes."""


class Quotes(msgspec.Struct, frozen=True):
    """Two texts of the user, where they are among what goes.

    `task` is the first message. `latest` is the last one, where no kept message is newer and it is not the task: the
    model is at work on it. `routine` is set where the first message comes again word for word, and again: that is how
    somebody is woken or told to go on, and it says little of the work.
    """

    task: str | None
    latest: str | None
    routine: bool = False


def quotes_of(ground: Ground, selection: Selection) -> Quotes:
    """Find both, whole: as an earlier summary quotes them, or in the messages' own words."""
    previous = selection.previous
    task = None if previous is None else previous.task
    latest = None if previous is None else previous.latest
    gone = selection.gone
    going = [index for index in ground.spoken if any(index in part for part in gone)]
    newest = going[-1] if going else None
    if task is None and going and (previous is not None or going[0] == ground.spoken[0]):
        task = ground.words[going.pop(0)]
    routine = task is not None and _comes_again(ground, going, task)
    if (ground.spoken and ground.spoken[-1] != newest) or _is_answered(ground.transcript):
        return Quotes(task, None, routine)
    return Quotes(task, ground.words[going[-1]] if going else latest, routine)


def _comes_again(ground: Ground, going: Sequence[int], text: str) -> bool:
    """Whether `text` is said twice at least in the messages `going`."""
    equal = (index for index in going if ground.words[index] == text)
    return next(equal, None) is not None and next(equal, None) is not None


def _is_answered(transcript: Transcript) -> bool:
    """Whether the last message is the model's and calls no tool: then nothing that the user said is in work."""
    last = len(transcript) - 1
    if last < 0 or transcript.speakers[last] != "assistant":
        return False
    kinds = {block.kind for block in transcript.blocks(last)}
    return "text" in kinds and "tool_call" not in kinds


def fit(quotes: Quotes, most_each: int, room_tokens: int, encoding: str) -> Quotes:
    """Make both fit: without imitated delimiters, each cut in its middle to `most_each`, together to `room_tokens`.

    A routine first message is left out where it takes more than a small part of the room: there it is one statement
    among others.
    """
    if quotes.task is not None and quotes.routine:
        part = room_tokens // _ROUTINE_PART
        if count(neutralise(quotes.task), encoding) > part:
            quotes = Quotes(None, quotes.latest)
    reserved = 0
    if quotes.latest is not None:
        reserved = min(count(neutralise(quotes.latest), encoding), most_each, max(room_tokens // 2, 0))
    task = _cut(quotes.task, min(most_each, room_tokens - reserved), encoding)
    left = room_tokens - (0 if task is None else count(task, encoding))
    return Quotes(task, _cut(quotes.latest, min(most_each, left), encoding), quotes.routine)


def _cut(text: str | None, max_tokens: int, encoding: str) -> str | None:
    return None if text is None else truncate_middle(neutralise(text), max(max_tokens, 0), encoding) or None
