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
    r'<turnfold-summary messages="(?P<messages>\d{1,9})"'
    r'(?: turns="(?P<first>\d{1,9})-(?P<last>\d{1,9})")?'
    r'(?: version="(?P<version>\d{1,9})")?'
    rf'(?: created="(?P<created>{_TIME})")?'
    rf'(?: updated="(?P<updated>{_TIME})")?>\n'
)
_QUOTE = {name: re.compile(rf'<turnfold-{name} characters="(\d{{1,9}})">\n') for name in ("task", "latest")}
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
        f"<turnfold-summary{_attributes(summary)}>\n"
        f"This replaces the {_messages(summary.messages)} that came before. Continue from where they end.\n"
        f"{_quote('task', summary.task)}{_quote('latest', summary.latest)}\n{neutralise(summary.body).strip()}{_END}"
    )


def recognise(text: str) -> WrappedSummary | None:
    """Take apart what `wrap` made; None for any other text."""
    opened = _OPEN.match(text)
    if opened is None or not text.endswith(_END):
        return None
    line_end = text.find("\n", opened.end())
    rest = text[line_end + 1 : -len(_END)]
    quotes: dict[str, str] = {}
    for name, mark in _QUOTE.items():
        marked = mark.match(rest)
        if marked is None:
            continue
        stop = marked.end() + int(marked[1])
        if not rest.startswith(_quote_end(name), stop):
            return None
        quotes[name] = rest[marked.end() : stop]
        rest = rest[stop + len(_quote_end(name)) :]
    return WrappedSummary(
        int(opened["messages"]),
        quotes.get("task"),
        rest.strip(),
        quotes.get("latest"),
        None if opened["first"] is None else (int(opened["first"]), int(opened["last"])),
        int(opened["version"] or 1),
        opened["created"],
        opened["updated"],
    )


def _attributes(summary: WrappedSummary) -> str:
    said: dict[str, object | None] = {
        "messages": summary.messages,
        "turns": None if summary.turns is None else f"{summary.turns[0]}-{summary.turns[1]}",
        "version": summary.version if summary.version > 1 else None,
        "created": summary.created,
        "updated": summary.updated,
    }
    return "".join(f' {name}="{value}"' for name, value in said.items() if value is not None)


def _quote(name: str, text: str | None) -> str:
    if text is None:
        return ""
    quoted = neutralise(text)
    # The length tells where it ends, whatever stands in it.
    return f'<turnfold-{name} characters="{len(quoted)}">\n{quoted}{_quote_end(name)}'


def _quote_end(name: str) -> str:
    return f"\n</turnfold-{name}>\n"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
