"""The marked wrapper around a summary: one per transcript, recognised on the way back in, never nested."""

import re
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.summary import SummaryRecord
from turnfold.quoting import neutralise

MARKER_BODY: Final = "No summary of them could be made."
"""The body of a summary where nothing better fits, or nothing answered in time."""

_TIME = r"[0-9T:.Z+-]{1,40}"
_OPEN = re.compile(
    r'<turnfold-summary(?: version="(?P<version>\d{1,9})")?'
    rf'(?: created="(?P<created>{_TIME})")?'
    rf'(?: updated="(?P<updated>{_TIME})")?>\n'
    r"Replaces (?P<messages>\d{1,9}) earlier messages?(?:, turns? (?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?\. "
    r"Go on from there\.(?: (?:(?P<task>Task)|(?P<latest>Request in work)|(?P<both>Task, request in work)):)?\n"
)
_QUOTE = re.compile(r"- (.*(?:\n  .*)*)\n")
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
    quotes = "".join(_quote(text) for text in (summary.task, summary.latest) if text is not None)
    return (
        f"<turnfold-summary{_attributes(summary)}>\n{_covered(summary)}{_announced(summary)}\n"
        f"{quotes}{neutralise(summary.body).strip()}{_END}"
    )


def recognise(text: str) -> WrappedSummary | None:
    """Take apart what `wrap` made; None for any other text."""
    opened = _OPEN.match(text)
    if opened is None or not text.endswith(_END):
        return None
    rest = text[opened.end() : -len(_END)]
    quotes: dict[str, str] = {}
    for name in ("task", "latest"):
        if opened[name] is None and opened["both"] is None:
            continue
        quote = _QUOTE.match(rest)
        if quote is None:
            return None
        quotes[name], rest = quote[1].replace("\n  ", "\n"), rest[quote.end() :]
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
    turns = ""
    if summary.turns is not None:
        first, last = summary.turns
        turns = f", turn {first}" if first == last else f", turns {first}-{last}"
    messages = "message" if summary.messages == 1 else "messages"
    return f"Replaces {summary.messages} earlier {messages}{turns}. Go on from there."


def _announced(summary: WrappedSummary) -> str:
    """Say which quotes follow, for none of the summary's own items to pass for one."""
    match summary.task is not None, summary.latest is not None:
        case True, True:
            return " Task, request in work:"
        case True, False:
            return " Task:"
        case False, True:
            return " Request in work:"
        case _:
            return ""


def _quote(text: str) -> str:
    return "- " + neutralise(text).replace("\n", "\n  ") + "\n"
