"""Chat histories of aider: one Markdown file, many chats."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from turnfold.containers.document import Document
from turnfold.containers.edits import Edit, apply_edits
from turnfold.containers.protocol import Change, Hole, LoggedTranscript, Mark, Reading
from turnfold.containers.view import ChatView, ViewMessage, view
from turnfold.errors import InvalidLogError, NotWritableError

_HEADING: Final = re.compile(rb"^# aider chat started at ([^\r\n]*)", re.MULTILINE)
_JSON: Final = re.compile(rb"\s*[{\[]")


class Aider:
    """`# aider chat started at <time>` opens a chat; lines `#### text` are the user, `> text` what the tool printed,
    everything else the assistant.

    The view is `openai.chat`; lines of one speaker that follow each other are one message, blank lines between do not
    part them. Printed lines and the text before the first heading are no messages. A transcript's id is the time of its
    heading. A summary is written as lines of its role in the place of what it replaces; what goes takes along what was
    printed between its lines. Where two messages of one speaker come to stand together, a printed line parts them.
    """

    name: ClassVar[str] = "aider"
    title: ClassVar[str] = "aider chat histories in Markdown: `# aider chat started at`, `#### ` for the user."
    writes: ClassVar[bool] = True
    takes_out: ClassVar[bool] = True

    def recognise(self, document: Document) -> Mark | None:
        """See the heading of a chat."""
        # The heading may stand anywhere, and JSON is not searched for it.
        found = None if _JSON.match(document.data) else _HEADING.search(document.data)
        if found is None:
            return None
        line = document.data.count(b"\n", 0, found.start()) + 1
        return Mark("proof", f"line {line} is the heading of a chat")

    def read(self, document: Document) -> Reading:
        """Read every chat that has a message."""
        chats = list(_chats(document.data))
        if not chats:
            raise InvalidLogError("This is no log of kind aider: no line starts with `# aider chat started at`", 0, "")
        unread: Counter[str] = Counter()
        found: list[LoggedTranscript] = []
        times: Counter[str] = Counter()
        for time, start, stop in chats:
            spoken = list(_spoken(document.data, start, stop))
            unread["printed line"] += sum(part.printed for part in spoken)
            times[time] += 1
            name = time if times[time] == 1 else f"{time} ({times[time]})"
            messages = [message for part in spoken if part.role for message in _message(part)]
            if messages:
                found.append(view(name, "openai.chat", messages))
            else:
                unread["chat without a message"] += 1
        return Reading(tuple(found), {kind: count for kind, count in unread.items() if count})

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Take lines out, and put each summary in the place of what it replaces."""
        edits: list[Edit] = []
        for change in changes:
            if change.shortened:
                raise NotWritableError("An aider chat has no tool results that could be shortened")
            edits += _edits(document.data, change)
        return apply_edits(document.data, edits)


_PARTING: Final = b"> \n"
"""A printed line, so that what one speaker says before and after it are two messages."""


def _edits(data: bytes, change: Change) -> Iterator[Edit]:
    """Take out the lines of what goes, with those that were printed between them, and put summaries in."""
    spans, roles, gone = change.logged.origins, change.logged.transcript.roles, change.gone
    summaries = {hole.start: hole for hole in change.holes}
    before: str | None = None
    is_parted = False
    at = 0
    while at < len(spans):
        if at > 0 and _is_printed(data[spans[at - 1][1] : spans[at][0]]):
            is_parted = True
        lines = b""
        if (hole := summaries.get(at)) is not None:
            lines = (_PARTING if before == hole.role and not is_parted else b"") + _spelled(hole)
            before, is_parted = hole.role, False
        if at in gone:
            stop = at + 1
            while stop in gone and stop not in summaries:
                stop += 1
            yield Edit(spans[at][0], spans[stop - 1][1], lines)
            at = stop
            continue
        lines += _PARTING if before == roles[at] and not is_parted else b""
        if lines:
            yield Edit(spans[at][0], spans[at][0], lines)
        before, is_parted = roles[at], False
        at += 1


def _is_printed(between: bytes) -> bool:
    return any(line.startswith(b">") for line in between.split(b"\n"))


def _spelled(hole: Hole) -> bytes:
    lines = hole.text.encode("utf-8", "replace").split(b"\n")
    if hole.role == "user":
        return b"".join(b"#### %b\n" % line for line in lines)
    if any(line.startswith((b"#### ", b">", b"# ")) for line in lines):
        raise NotWritableError("A line of the summary would read as another speaker's: give it the role of the user")
    return b"".join(b"%b\n" % line for line in lines)


@dataclass
class _Part:
    """Lines of one speaker, `[start, stop)` in bytes; `printed` counts lines of the tool, which have no role."""

    role: str | None
    start: int
    stop: int
    lines: list[bytes]
    printed: int = 0


def _chats(data: bytes) -> Iterator[tuple[str, int, int]]:
    found = list(_HEADING.finditer(data))
    for index, match in enumerate(found):
        stop = found[index + 1].start() if index + 1 < len(found) else len(data)
        yield match.group(1).decode("utf-8", "replace").strip(), match.end(), stop


def _spoken(data: bytes, start: int, stop: int) -> Iterator[_Part]:
    part: _Part | None = None
    at = data.find(b"\n", start, stop) + 1 or stop
    while at < stop:
        end = data.find(b"\n", at, stop)
        end = stop if end < 0 else end + 1
        line = data[at:end].rstrip(b"\r\n")
        role: str | None = "assistant"
        if line.startswith(b"#### "):
            role, line = "user", line[5:]
        elif line == b"####":
            role, line = "user", b""
        elif line.startswith(b">"):
            role = None
        if not line.strip() and role == "assistant":
            if part is not None and part.role == "assistant":
                part.lines.append(line)
        elif part is not None and part.role == role:
            part.lines.append(line)
            part.stop = end
            part.printed += role is None
        else:
            if part is not None:
                yield part
            part = _Part(role, at, end, [line], int(role is None))
        at = end
    if part is not None:
        yield part


def _message(part: _Part) -> Iterator[ViewMessage]:
    text = b"\n".join(part.lines).decode("utf-8", "replace").strip("\n")
    chat = ChatView()
    chat.text(part.role or "assistant", text)
    for message in chat.messages:
        yield ViewMessage(message.json, (part.start, part.stop))


AIDER: Final = Aider()
"""Chat histories of aider."""
