"""A request as a summarizer gets it, of a short piece of work: to try a summarizer of your own with."""

from typing import Final

from turnfold import meter
from turnfold.model.blocks import BlockKind
from turnfold.model.counts import DEFAULT_ENCODING
from turnfold.model.summary import SourceMessage, SourcePart, SummaryRequest

Said = tuple[str, BlockKind, str]
"""A role, the kind of a block, and its text; the first line of a call is the tool's name."""

WORK: Final[tuple[Said, ...]] = (
    ("user", "text", "Please make the importer in src/importer.py skip broken rows, and never touch data/raw.csv."),
    ("assistant", "text", "I will look at how the importer reads its rows before I change anything."),
    ("assistant", "tool_call", 'read_file\n{"path": "src/importer.py"}'),
    ("tool", "tool_result", "def load(path):\n    return [parse(row) for row in open(path)]\n"),
    ("assistant", "text", "The comprehension stops at the first broken row. I will catch ValueError around parse()."),
    ("assistant", "tool_call", 'run\n{"command": "pytest tests/test_importer.py"}'),
    ("tool", "tool_result", "FAILED tests/test_importer.py::test_skips - ValueError: row 17 has 3 fields"),
    (
        "assistant",
        "text",
        "The test still fails at row 17, because the header counts as a row. Next I adjust the count.",
    ),
)
IDENTIFIERS: Final = ("src/importer.py", "data/raw.csv", "tests/test_importer.py", "ValueError")
GOOD_SUMMARY: Final = (
    "## User messages\n- The importer is to skip broken rows; data/raw.csv stays as it is.\n"
    "## Findings\n- load() in src/importer.py stopped at the first broken row; ValueError is caught now.\n"
    "## Errors\n- tests/test_importer.py::test_skips fails: row 17 has 3 fields.\n"
    "## Current state\n- The header counts as a row; that comes next."
)
"""A summary of that work that has no fault."""


def summary_request(
    work: tuple[Said, ...] = WORK,
    *,
    schema: str = "nine_sections",
    max_tokens: int = 300,
    previous: str | None = None,
    identifiers: tuple[str, ...] = IDENTIFIERS,
    encoding: str = DEFAULT_ENCODING,
) -> SummaryRequest:
    """Make a request to summarise `work`, one message a block."""
    messages = tuple(
        SourceMessage(index, role, (SourcePart(kind, text, text.partition("\n")[0] if kind == "tool_call" else None),))
        for index, (role, kind, text) in enumerate(work, 1)
    )
    return SummaryRequest(
        messages=messages,
        task=None,
        latest=None,
        previous=previous,
        digests=(),
        identifiers=identifiers,
        max_tokens=max_tokens,
        source_tokens=sum(meter.count_many([text for _, _, text in work], encoding)),
        encoding=encoding,
        schema=schema,
    )
