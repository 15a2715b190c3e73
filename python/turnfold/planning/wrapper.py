"""The marked wrapper around a summary: one per transcript, recognised on the way back in, never nested."""

import re
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.model.quoting import neutralise

MARKER_BODY: Final = "No summary of them could be made."
"""The body of a summary where nothing better fits, or nothing answered in time."""

_OPEN = re.compile(r'<turnfold-summary messages="(\d{1,9})">\n')
_QUOTE = {name: re.compile(rf'<turnfold-{name} characters="(\d{{1,9}})">\n') for name in ("task", "latest")}
_END = "\n</turnfold-summary>"


class WrappedSummary(msgspec.Struct, frozen=True):
    """What stands in a wrapper.

    `messages` is how many messages the summary replaces, those that earlier summaries replaced included. `task` is
    the quoted first user message, `latest` the last one where the model is at work on it. `body` is the summary itself.
    """

    messages: int
    task: str | None
    body: str
    latest: str | None = None


def wrap(summary: WrappedSummary) -> str:
    """Return the text of a summary message. `recognise` is its inverse where nothing imitates a delimiter."""
    if summary.messages < 0:
        raise ArgumentError(f"messages must be at least 0, got {summary.messages}")
    return (
        f'<turnfold-summary messages="{summary.messages}">\n'
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
    return WrappedSummary(int(opened[1]), quotes.get("task"), rest.strip(), quotes.get("latest"))


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
