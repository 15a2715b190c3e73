"""The sections that a summary is asked for, as data."""

from types import MappingProxyType
from typing import Literal

import msgspec

from turnfold.errors import UnknownSchemaError

Topic = Literal["users", "findings", "files", "commands", "errors", "tools", "earlier", "state", "identifiers"]
"""What a section is about, whatever a schema calls it."""


class Section(msgspec.Struct, frozen=True):
    """One section: its title in the summary, what it is about, and what belongs into it."""

    title: str
    topic: Topic
    purpose: str


class SummarySchema(msgspec.Struct, frozen=True):
    """The sections of a summary, in the order in which they stand."""

    name: str
    sections: tuple[Section, ...]


NINE_SECTIONS = SummarySchema(
    name="nine_sections",
    sections=(
        Section("User messages", "users", "what the user asked or said, in the user's own words"),
        Section("Findings", "findings", "what was found out and decided, and why"),
        Section("Files", "files", "files read, written or changed, with their paths"),
        Section("Commands", "commands", "commands run and searches made, and how they ended"),
        Section("Errors", "errors", "what failed, with the words of the error"),
        Section("Tools", "tools", "what other tools were asked and answered"),
        Section("Earlier", "earlier", "what an earlier summary says that stands nowhere else"),
        Section("Current state", "state", "where the work stands and what comes next"),
        Section("Identifiers", "identifiers", "paths, ids, names and numbers that must survive letter for letter"),
    ),
)

SCHEMAS = MappingProxyType({schema.name: schema for schema in (NINE_SECTIONS,)})
"""Every schema, by name."""


def schema_named(name: str) -> SummarySchema:
    """Find the schema of that name; `UnknownSchemaError` lists the names there are."""
    schema = SCHEMAS.get(name)
    if schema is None:
        raise UnknownSchemaError(f"No summary schema is named {name!r}; there are {', '.join(sorted(SCHEMAS))}")
    return schema
