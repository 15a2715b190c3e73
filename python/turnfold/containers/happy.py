"""Debug logs of the Happy CLI: lines of text, with the JSON of the messages that pass through it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import Document, decode, encode, list_of, object_of, text_of
from turnfold.containers.protocol import Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.containers.view import ViewMessage, view
from turnfold.errors import InvalidLogError, ReadError

_ENTRY: Final = re.compile(rb"^\[\d{2}:\d{2}:\d{2}\.\d{3}\] ", re.MULTILINE)
_SENT: Final = "[CLAUDE] Message from"
_ASKED: Final = "User message pushed to queue"
_SCANNED: Final = "[SESSION_SCANNER] Processing message"
_LOOKED_AT: Final = 65_536
"""How many bytes tell what a log is."""


class _Entry(msgspec.Struct, frozen=True):
    """What was logged at one time: the first line behind the time, and the object below it, if there is one."""

    index: int
    head: str
    value: Mapping[str, object] | None


class Happy(Recording):
    """Entries of `[hh:mm:ss.mmm] text`; an object of JSON stands below those that tell of a message.

    The log tells of one conversation several times. What is read is what the user sent (`User message pushed to
    queue`) and what Claude Code's SDK answered (`[CLAUDE] Message from`), in order: one transcript in
    `anthropic.messages`, named by the SDK's session, in which blocks with one message id are one message. A log
    without answers of the SDK is read from the session's own records (`[SESSION_SCANNER]`), each `uuid` once. Origins
    are the numbers of the entries. Happy shortens long values for the log, so nothing goes on from it: results cannot
    be written.
    """

    name: ClassVar[str] = "happy"
    title: ClassVar[str] = "Debug logs of the Happy CLI: timed lines, and messages of Claude Code as JSON below them."
    reason: ClassVar[str] = "Happy shortens what it logs and never loads it; the session is Claude Code's own log"

    def recognise(self, document: Document) -> Mark | None:
        """See an entry that tells of a message, with an object below it."""
        if document.value is not None:
            return None
        for entry in _entries(document.data[:_LOOKED_AT]):
            if entry.value is not None and entry.head.startswith((_SENT, _ASKED, _SCANNED)):
                return Mark("proof", f"entry {entry.index + 1} is {entry.head.strip()!r} with an object")
        return None

    def read(self, document: Document) -> Reading:
        """Read the conversation; entries that it is not read from are counted by what they start with."""
        entries = list(_entries(document.data))
        if not any(entry.head.startswith((_SENT, _ASKED, _SCANNED)) for entry in entries):
            raise InvalidLogError("This is no log of kind happy: no entry tells of a message", 0, "")
        told = list(_sent(entries)) or list(_scanned(entries))
        messages = list(_joined(told))
        name = next((named for entry in entries if (named := _session(entry))), "session")
        try:
            found = (view(name, "anthropic.messages", messages),) if messages else ()
        except ReadError as error:
            raise InvalidLogError(f"This log's messages cannot be read: {error.text}", 0, error.path) from error
        used = {index for message in messages for index in message.origins}
        return Reading(found, dict(Counter(_kind(entry) for entry in entries if entry.index not in used)))


def _entries(data: bytes) -> Iterator[_Entry]:
    starts = list(_ENTRY.finditer(data))
    for index, (start, after) in enumerate(zip_longest(starts, starts[1:])):
        head, _, below = data[start.end() : after.start() if after else len(data)].partition(b"\n")
        value = decode(below) if below.lstrip().startswith(b"{") else None
        yield _Entry(index, head.decode("utf-8", "replace"), value if isinstance(value, dict) else None)


def _session(entry: _Entry) -> str | None:
    if not entry.head.startswith((_SENT, _SCANNED)):
        return None
    return text_of(entry.value, "session_id") or text_of(entry.value, "sessionId")


def _kind(entry: _Entry) -> str:
    tag = re.match(r"\[[\w ]{1,40}\]|\w{1,40}", entry.head)
    kind = text_of(entry.value, "type")
    return (tag[0] if tag else "entry") + (f" {kind}" if kind else "")


def _sent(entries: Sequence[_Entry]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield what went through the SDK, with the user's own words where they were sent."""
    if not any(entry.head.startswith(_SENT) and object_of(entry.value, "message") for entry in entries):
        return
    for entry in entries:
        if entry.head.startswith(_SENT) and text_of(entry.value, "parent_tool_use_id") is None:
            if object_of(entry.value, "message"):
                yield entry.index, object_of(entry.value, "message")
        elif entry.head.startswith(_ASKED) and entry.value is not None:
            yield entry.index, {"role": "user", "content": text_of(entry.value, "content", "text") or ""}


def _scanned(entries: Sequence[_Entry]) -> Iterator[tuple[int, Mapping[str, object]]]:
    seen: set[str] = set()
    for entry in entries:
        uuid, message = text_of(entry.value, "uuid"), object_of(entry.value, "message")
        if entry.head.startswith(_SCANNED) and message and uuid not in seen:
            seen.update(() if uuid is None else (uuid,))
            yield entry.index, message


def _joined(told: Sequence[tuple[int, Mapping[str, object]]]) -> Iterator[ViewMessage]:
    """Put the blocks that neighbours with one message id have into one message."""
    at = 0
    while at < len(told):
        role, own = text_of(told[at][1], "role"), text_of(told[at][1], "id")
        stop = at + 1
        while own is not None and stop < len(told) and text_of(told[stop][1], "id") == own:
            stop += 1
        content = told[at][1].get("content")
        blocks = [_block(block) for _, message in told[at:stop] for block in list_of(message, "content")]
        if role in {"user", "assistant"}:
            message = {"role": role, "content": content if isinstance(content, str) else blocks}
            yield ViewMessage(encode(message), tuple(index for index, _ in told[at:stop]))
        at = stop


def _block(block: object) -> object:
    return block if isinstance(block, Mapping) else {"type": "text", "text": str(block)}


HAPPY: Final = Happy()
"""Debug logs of the Happy CLI."""
