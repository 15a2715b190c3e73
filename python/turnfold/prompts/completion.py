"""A prompt for models that only go on with a text: base models, which follow no instruction."""

from typing import Final

from turnfold import meter
from turnfold.model.summary import SourceMessage, SummaryRequest
from turnfold.prompts.prompt import Prompt, quoted
from turnfold.prompts.schemas import schema_named

_MEDIA: Final = "(an attachment)"
_LEAD: Final = "In short, the user"


def render_completion(request: SummaryRequest) -> Prompt:
    """Render a request as a text that ends with the beginning of a summary: one line a message, no sections.

    What a message says ends with its line, so no text can pose as another's. The schema's heading is part of the
    beginning, which is in English. Linear in the request's texts.
    """
    lines = ["A conversation between a user and an assistant:", ""]
    if request.previous is not None:
        lines += [f"(Before that: {_line(request.previous)})", ""]
    lines.extend(f"(Part: {_line(text)})" for text in request.partials)
    lines.extend(_said(message) for message in request.messages)
    heading = schema_named(request.schema).heading
    lead = _LEAD if heading is None else f"{heading}\n{_LEAD}"
    text = "\n".join([*lines, "", lead])
    return Prompt("", text, meter.count(text, request.encoding), lead)


def _said(message: SourceMessage) -> str:
    parts = (_MEDIA if part.kind == "media" else _line(part.text) for part in message.parts)
    return f"{_line(message.role)}: {' '.join(parts)}"


def _line(text: str) -> str:
    return " ".join(quoted(text).split())
