"""What a summary schema is, as data."""

from typing import Literal

import msgspec

Topic = Literal[
    "users", "findings", "files", "commands", "errors", "versions", "tools", "earlier", "state", "identifiers"
]
"""What a section is about, whatever a schema calls it."""

Style = Literal["sections", "digest", "marker"]
"""How a summary by rule looks: sections of items, one line a tool call under a count, or one static line."""


class Section(msgspec.Struct, frozen=True):
    """One section: its title in the summary, what it is about, and what belongs into it.

    `also` are topics that stand here where a summary is made by rule, because the schema has no section for them.
    """

    title: str
    topic: Topic
    purpose: str
    also: tuple[Topic, ...] = ()


class SummarySchema(msgspec.Struct, frozen=True):
    """The sections of a summary, in the order in which they stand, and how it is asked for.

    `heading` is a first line that a reply must have. `words` is how many are asked for. `guidance` are sentences for a
    model that writes it: what must be in, what must not. With `numbered` the calls that it is shown are numbered.
    `statuses` are words of which one says how the work stands: that it is done, that it goes on, that it is stuck.
    `version` goes up when any of this changes.
    """

    name: str
    sections: tuple[Section, ...]
    heading: str | None = None
    words: int | None = None
    guidance: tuple[str, ...] = ()
    style: Style = "sections"
    marker: str | None = None
    numbered: bool = False
    statuses: tuple[str, str, str] | None = None
    version: int = 1

    def section_of(self, topic: Topic) -> Section:
        """Return the section in which a topic stands."""
        return next(s for s in self.sections if s.topic == topic or topic in s.also)
