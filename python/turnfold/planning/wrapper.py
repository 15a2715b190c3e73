"""The marked wrapper around a summary: one per transcript, recognised on the way back in, never nested."""

import re
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.quoting import neutralise
from turnfold.model.summary import SummaryRecord

MARKER_BODY: Final = "No summary of them could be made."
"""The body of a summary where nothing better fits, or nothing answered in time."""

_TIME = r"[0-9T:.Z+-]{1,40}"
_OPEN = re.compile(
    r'<turnfold-summary(?: version="(?P<version>\d{1,9})")?'
    rf'(?: created="(?P<created>{_TIME})")?'
    rf'(?: updated="(?P<updated>{_TIME})")?>\n'
    r"This replaces (?P<messages>\d{1,9}) earlier messages?(?:, turns? (?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?\. "
    r"Continue from where (?:it ends|they end)\.\n"
)
_END = "\n</turnfold-summary>"


class WrappedSummary(msgspec.Struct, frozen=True):
    """What stands in a wrapper.

    `messages` is how many messages the summary replaces, those that earlier summaries replaced included. `task` is
    the quoted first user message, `latest` the last one where the model is at work on it. `body` is the summary itself.
    The rest is as in `SummaryRecord`.
    """

    messages: int
    task: str | None
    body: str
    latest: str | None = None
    turns: tuple[int, int] | None = None
    version: int = 1
    created: str | None = None
    updated: str | None = None

    @property
    def record(self) -> SummaryRecord:
        """What the summary says of itself."""
        return SummaryRecord(self.messages, self.turns, self.version, self.created, self.updated)


def wrapped(record: SummaryRecord, task: str | None, body: str, latest: str | None) -> str:
    """Return the text of a summary message that says `record` of itself."""
    return wrap(
        WrappedSummary(
            record.messages, task, body, latest, record.turns, record.version, record.created, record.updated
        )
    )


def wrap(summary: WrappedSummary) -> str:
    """Return the text of a summary message. `recognise` is its inverse where nothing imitates a delimiter."""
    if summary.messages < 0:
        raise ArgumentError(f"messages must be at least 0, got {summary.messages}")
    return (
        f"<turnfold-summary{_attributes(summary)}>\n{_covered(summary)}\n"
        f"{_quote('task', summary.task)}{_quote('latest', summary.latest)}{neutralise(summary.body).strip()}{_END}"
    )


def recognise(text: str) -> WrappedSummary | None:
    """Take apart what `wrap` made; None for any other text."""
    opened = _OPEN.match(text)
    if opened is None or not text.endswith(_END):
        return None
    rest = text[opened.end() : -len(_END)]
    quotes: dict[str, str] = {}
    for name in ("task", "latest"):
        start = f"<turnfold-{name}>\n"
        if not rest.startswith(start):
            continue
        quote, end, rest = rest.removeprefix(start).partition(_quote_end(name))
        if not end:
            return None
        quotes[name] = quote
    first = opened["first"]
    return WrappedSummary(
        int(opened["messages"]),
        quotes.get("task"),
        rest.strip(),
        quotes.get("latest"),
        None if first is None else (int(first), int(opened["last"] or first)),
        int(opened["version"] or 1),
        opened["created"],
        opened["updated"],
    )


def _attributes(summary: WrappedSummary) -> str:
    said: dict[str, object | None] = {
        "version": summary.version if summary.version > 1 else None,
        "created": summary.created,
        "updated": summary.updated,
    }
    return "".join(f' {name}="{value}"' for name, value in said.items() if value is not None)


def _covered(summary: WrappedSummary) -> str:
    """Say what is gone, in one sentence that is read on the way back in: tokens are spent on it once."""
    one = summary.messages == 1
    turns = ""
    if summary.turns is not None:
        first, last = summary.turns
        turns = f", turn {first}" if first == last else f", turns {first}-{last}"
    return (
        f"This replaces {summary.messages} earlier {'message' if one else 'messages'}{turns}. "
        f"Continue from where {'it ends' if one else 'they end'}."
    )


def _quote(name: str, text: str | None) -> str:
    # `neutralise` leaves nothing in it that could pass for its end.
    return "" if text is None else f"<turnfold-{name}>\n{neutralise(text)}{_quote_end(name)}"


def _quote_end(name: str) -> str:
    return f"\n</turnfold-{name}>\n"
