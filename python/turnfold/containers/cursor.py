"""Agent transcripts of Cursor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records
from turnfold.containers.view import ChatView, view

_CALLS: Final = {"tool_use", "tool_call", "tool-call"}
_RESULTS: Final = {"tool_result", "tool-result"}


class Cursor(Records):
    """JSON lines `{"role": "user" | "assistant", "message": {"content": [block]}}`.

    The blocks are Anthropic's, but calls have no ids, and a result may name an id that no call has: the view is
    `openai.chat`, with ids made from place, and such a result answers the oldest open call. `thinking` is
    `reasoning_content`; blocks of other types stay as they are.

    A summary is a record in the place of those that go.
    """

    name: ClassVar[str] = "cursor"
    title: ClassVar[str] = "Cursor agent transcripts: JSON lines with `role` and `message`, and calls without ids."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a role beside a message that is nothing but content."""
        message = object_of(record, "message")
        if record.keys() & {"type", "uuid", "id", "timestamp"} or text_of(record, "role") not in {"user", "assistant"}:
            return None
        if message.keys() == {"content"} and isinstance(message["content"], list):
            return Mark("usual", "a role stands beside a message that is nothing but a list of content")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one transcript of the file, whose id is its name. O(bytes)."""
        chat = ChatView()
        known: set[str] = set()
        for record in records:
            role = text_of(record.value, "role")
            if role in {"user", "assistant"} and "message" in object_of(record.value):
                _project(chat, role, list_of(record.value, "message", "content"), record.index, known)
        if chat.messages:
            yield view("transcript", "openai.chat", chat.messages)

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a record of the role."""
        return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


def _project(chat: ChatView, role: str, blocks: Sequence[object], index: int, known: set[str]) -> None:
    said: list[object] = []
    thoughts: list[str] = []
    calls: list[tuple[str | None, str, object]] = []
    for number, block in enumerate(blocks):
        kind = text_of(block, "type")
        if kind in _CALLS:
            calls.append((text_of(block, "id"), text_of(block, "name") or "", object_of(block).get("input")))
        elif kind in _RESULTS:
            _result(chat, block, index, ("message", "content", number, "content"), known)
        elif kind == "thinking":
            thoughts.append(text_of(block, "thinking") or "")
        else:
            said.append(block)
    known.update(chat.parts(role, said, index, thoughts=thoughts, calls=calls))


def _result(chat: ChatView, block: object, index: int, path: tuple[str | int, ...], known: set[str]) -> None:
    content = object_of(block).get("content")
    parts = content if isinstance(content, list) else []
    place: Place | None = None
    text: object = parts
    if isinstance(content, str):
        place, text = (index, path), content
    elif len(parts) == 1 and text_of(parts[0], "type") == "text" and text_of(parts[0], "text") is not None:
        place, text = (index, (*path, 0, "text")), text_of(parts[0], "text")
    given = text_of(block, "tool_use_id")
    chat.result(given if given in known else None, text or "", index, place)


CURSOR: Final = Cursor()
"""Agent transcripts of Cursor."""
