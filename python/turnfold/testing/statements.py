"""Texts as statements: sentences, lines and list items, each with what it is worth to somebody who reads only it."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from turnfold.summarizers.extractive import cues

Speaker = Literal["user", "assistant"]


class Statement(msgspec.Struct, gc=False):
    """One statement. `order` is its message's place among the texts, `place` its own in that message.

    `label` is what stands before its colon, or the colon of its line, or the line that heads its list; `text` holds the
    label if it is its own.
    `enclosed` is set where it stands in tags, as output, documents and reminders do that somebody hands on.
    `score` says what it is worth; 0 and less is small talk. `replaced` is set where a later statement takes its place,
    `doubtful` where one seems to. Without the sentence at the place `after` it says too little. `plain` is what it is
    compared by, `names` are the identifiers in it.
    """

    speaker: Speaker
    order: int
    place: int
    text: str
    label: str
    enclosed: bool
    score: float
    replaced: bool
    doubtful: bool
    after: int | None
    plain: str
    names: tuple[str, ...]


def statements_of(texts: Sequence[tuple[Speaker, str]]) -> list[Statement]:
    """Cut texts, the oldest first, into statements, weigh each, and mark those that a later one replaces.

    One call of the kernel, linear in the texts; other threads run meanwhile.
    """
    made, features = cues.kernel().weigh([(speaker == "user", text) for speaker, text in texts])
    shared = [(plain, tuple(names)) for plain, names in features]
    # One by one: to free thousands of rows at once would keep the interpreter from other threads for milliseconds.
    made.reverse()
    statements: list[Statement] = []
    while made:
        fields = made.pop()
        statements.append(Statement(texts[fields[0]][0], *fields[:-1], *shared[fields[-1]]))
    return statements
