"""Sections of items as text, and back: what one summary wrote, the next can read."""

import re
from collections.abc import Mapping, Sequence

from turnfold.prompts.schemas import SummarySchema, Topic

_ITEM = re.compile(r"^- ", re.MULTILINE)


def item_text(text: str) -> str:
    """Write `text` as one item: a dash, and its further lines indented. `read_sections` takes it off again."""
    return "- " + text.replace("\n", "\n  ") + "\n"


def heading_text(title: str) -> str:
    """Return a section's heading line."""
    return f"## {title}\n"


def render_sections(schema: SummarySchema, items: Mapping[Topic, Sequence[str]]) -> str:
    """Write the sections that have items, in the schema's order, each item one dash, below its heading."""
    text: list[str] = [] if schema.heading is None else [f"{schema.heading}\n"]
    for section in schema.sections:
        own = [item for topic in (section.topic, *section.also) for item in items.get(topic, ())]
        if own:
            text.append(heading_text(section.title))
            text.extend(item_text(item) for item in own)
    return "".join(text).rstrip("\n")


def read_sections(schema: SummarySchema, text: str) -> dict[Topic, list[str]]:
    """Take apart what `render_sections` made. What stands under no known heading is one item of topic `earlier`."""
    if schema.heading is not None:
        text = text.replace(f"{schema.heading}\n", "", 1)
    headings = "|".join(re.escape(section.title) for section in schema.sections)
    topics = {section.title: section.topic for section in schema.sections}
    pieces = re.split(rf"^## ({headings})$\n?", text, flags=re.MULTILINE)
    found: dict[Topic, list[str]] = {}
    if pieces[0].strip():
        found["earlier"] = [pieces[0].strip()]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        first, *items = _ITEM.split(body)
        if first.strip():
            found.setdefault("earlier", []).append(first.strip())
        own = [item.rstrip("\n").replace("\n  ", "\n") for item in items]
        found.setdefault(topics[title], []).extend(own)
    return found
