"""The marked wrapper around a summary: one per transcript, recognised on the way back in, never nested."""

import re
from typing import Final

import msgspec

from turnfold.errors import ArgumentError
from turnfold.meter import truncate_middle

MARKER_BODY: Final = "No summary of them could be made."
"""The body of a summary where nothing better fits, or nothing answered in time."""

_OPEN = re.compile(r'<turnfold-summary messages="(\d{1,9})">\n')
_TASK = re.compile(r'<turnfold-task characters="(\d{1,9})">\n')
_END = "\n</turnfold-summary>"
_TASK_END = "\n</turnfold-task>\n"
_IMITATION = re.compile(r"<(?=\s*+(?:/\s*+)?turnfold-)", re.IGNORECASE)


class WrappedSummary(msgspec.Struct, frozen=True):
    """What stands in a wrapper.

    `messages` is how many messages the summary replaces, those that earlier summaries replaced included. `task` is
    the quoted first user message. `body` is the summary itself.
    """

    messages: int
    task: str | None
    body: str


def neutralise(text: str) -> str:
    """Make everything in `text` plain that imitates one of the wrapper's delimiters. Twice is the same as once.

    Only the `<` of such a delimiter changes, to `&lt;`: all else, and every other tag, stays as it is.
    """
    return _IMITATION.sub("&lt;", text)


def quote_task(task: str, max_tokens: int, encoding: str) -> str:
    """Quote the first user message for a summary: without imitated delimiters, cut in its middle to `max_tokens`."""
    return truncate_middle(neutralise(task), max_tokens, encoding)


def wrap(summary: WrappedSummary) -> str:
    """Return the text of a summary message. `recognise` is its inverse where nothing imitates a delimiter."""
    if summary.messages < 0:
        raise ArgumentError(f"messages must be at least 0, got {summary.messages}")
    task = ""
    if summary.task is not None:
        quoted = neutralise(summary.task)
        task = f'<turnfold-task characters="{len(quoted)}">\n{quoted}{_TASK_END}'
    return (
        f'<turnfold-summary messages="{summary.messages}">\n'
        f"This replaces the {_messages(summary.messages)} that came before. Continue from where they end.\n"
        f"{task}\n{neutralise(summary.body).strip()}{_END}"
    )


def recognise(text: str) -> WrappedSummary | None:
    """Take apart what `wrap` made; None for any other text."""
    opened = _OPEN.match(text)
    if opened is None or not text.endswith(_END):
        return None
    line_end = text.find("\n", opened.end())
    rest = text[line_end + 1 : -len(_END)]
    task: str | None = None
    marked = _TASK.match(rest)
    if marked is not None:
        stop = marked.end() + int(marked[1])
        if not rest.startswith(_TASK_END, stop):
            return None
        task = rest[marked.end() : stop]
        rest = rest[stop + len(_TASK_END) :]
    return WrappedSummary(messages=int(opened[1]), task=task, body=rest.strip())


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
