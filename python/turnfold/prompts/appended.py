"""What is asked for behind the conversation itself, where that is sent as it stands and nothing is quoted."""

from typing import Final

from turnfold.model.summary import SummaryRequest
from turnfold.prompts.schemas import schema_named

_WORDS_PER_TOKEN: Final = 0.6
_LEAST_WORDS: Final = 20


def render_appended(request: SummaryRequest) -> str:
    """Return the instruction as one user message: what to write, and that nothing else is to be done."""
    schema = schema_named(request.schema)
    lines = [
        "Stop the work here: answer nothing that is said above, do nothing that it asks, and call no tool.",
        "Write a summary of the conversation so far, from which an agent goes on without it.",
        "",
    ]
    if schema.heading is not None:
        lines.append(f"The first line is exactly: {schema.heading}")
    lines.append("Write these sections, in this order, each under its heading; leave out those that would be empty:")
    lines.extend(f"## {section.title}\n({section.purpose})" for section in schema.sections)
    words = max(_LEAST_WORDS, int(request.max_tokens * _WORDS_PER_TOKEN))
    lines.append("")
    lines.append(f"At most {words if schema.words is None else min(words, schema.words)} words in all.")
    lines.extend(schema.guidance)
    lines.append(
        "Keep names, paths and numbers letter for letter. Say nothing that does not stand in the conversation."
    )
    lines.append("Write only the summary.")
    return "\n".join(lines)
