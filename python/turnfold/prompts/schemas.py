"""Every summary schema, by name."""

from types import MappingProxyType

from turnfold.errors import UnknownSchemaError
from turnfold.prompts import (
    conversation_summary,
    ledger,
    nine_sections,
    static_marker,
    technical_memory,
    tool_digest,
    tool_operations,
    turn_window,
)
from turnfold.prompts.schema import Section, SummarySchema, Topic

__all__ = ["NINE_SECTIONS", "SCHEMAS", "Section", "SummarySchema", "Topic", "schema_named"]

NINE_SECTIONS = nine_sections.SCHEMA

SCHEMAS = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            nine_sections.SCHEMA,
            turn_window.SCHEMA,
            conversation_summary.SCHEMA,
            static_marker.SCHEMA,
            technical_memory.SCHEMA,
            tool_operations.SCHEMA,
            tool_digest.SCHEMA,
            ledger.SCHEMA,
        )
    }
)
"""Every schema, by name."""


def schema_named(name: str) -> SummarySchema:
    """Find the schema of that name; `UnknownSchemaError` lists the names there are."""
    schema = SCHEMAS.get(name)
    if schema is None:
        raise UnknownSchemaError(f"No summary schema is named {name!r}; there are {', '.join(sorted(SCHEMAS))}")
    return schema
