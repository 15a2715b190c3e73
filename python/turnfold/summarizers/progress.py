"""How far the pieces of one source are, and what is left of a request when some are done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from turnfold.model.summary import SummaryRequest
from turnfold.prompts.render import read_sections, render_sections
from turnfold.prompts.schema import Topic
from turnfold.prompts.schemas import schema_named
from turnfold.summarizers.marker import Marker
from turnfold.summarizers.rules import Rules

NO_MODEL: Final = frozenset({Rules().name, Marker().name})
"""Who writes without a model."""


@dataclass(slots=True)
class Progress:
    """The pieces of one source, and the summaries of those that are done, by index: whose, and the text."""

    pieces: tuple[SummaryRequest, ...] = ()
    done: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def by_rule(self) -> int:
        """How many pieces no model wrote, those that are not done among them."""
        return sum(self.done.get(index, (Rules().name, ""))[0] in NO_MODEL for index in range(len(self.pieces)))

    def rest(self, request: SummaryRequest) -> SummaryRequest:
        """Return what is left of `request`: without the pieces that are done; it continues their summaries."""
        if not self.done:
            return request
        left = [piece for index, piece in enumerate(self.pieces) if index not in self.done]
        earlier = [text for _, (_, text) in sorted(self.done.items())]
        return structs.replace(
            request,
            previous=merged(request, [*filter(None, [request.previous]), *earlier]),
            messages=tuple(message for piece in left for message in piece.messages),
            digests=tuple(digest for piece in left for digest in piece.digests),
            facts=tuple(facts for piece in left for facts in piece.facts),
        )


def merged(request: SummaryRequest, texts: Sequence[str]) -> str:
    """Put summaries together section by section: in a mere row, a text would seem to belong to the heading before."""
    schema = schema_named(request.schema)
    if schema.style != "sections":
        return "\n".join(texts)
    items: dict[Topic, list[str]] = {}
    for text in texts:
        for topic, found in read_sections(schema, text).items():
            items.setdefault(topic, []).extend(found)
    return render_sections(schema, items)
