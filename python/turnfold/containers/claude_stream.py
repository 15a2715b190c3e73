"""What Claude Code prints with `--output-format json` or `stream-json`, and what its web sessions export."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark, Place
from turnfold.containers.view import ChatView, ViewMessage


class ClaudeStream(Listed):
    """A list of `{"type": "system" | "user" | "assistant" | "result", "message"?: {...}}`, or `{"loglines": [...]}`.

    The view is `anthropic.messages`: role and content of each `message`. A first `system` record with a `session_id`
    names the transcript; records without a message are carried along. A summary is a `user` record.
    """

    name: ClassVar[str] = "claude_stream"
    title: ClassVar[str] = "Claude Code's JSON output and web exports: records with a `message` in one list."
    wire_format: ClassVar[str] = "anthropic.messages"

    def mark(self, value: object) -> Mark | None:
        """See a list whose records hold messages."""
        where, records = ("[", value) if isinstance(value, list) else ("loglines[", list_of(value, "loglines"))
        for index, record in enumerate(records[:_LOOKED_AT]):
            if _message(record) is not None:
                return Mark("proof", f"{where}{index}] has a `message` and says its role in `type`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the list."""
        path: tuple[str | int, ...] = () if isinstance(value, list) else ("loglines",)
        records = value if isinstance(value, list) else list_of(value, "loglines")
        if any(_message(record) is not None for record in records):
            named = (text_of(record, key) for record in records for key in ("session_id", "sessionId"))
            model = next((found for record in records if (found := text_of(record, "message", "model"))), None)
            yield Conversation(path, next((name for name in named if name), None), {"model": model})

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add the message of one record."""
        message = _message(element)
        if message is None:
            return
        places: list[Place | None] = []
        for index, block in enumerate(list_of(message, "content")):
            if text_of(block, "type") == "tool_result":
                path = ("message", "content", index, "content")
                places.append((record.index, path) if isinstance(object_of(block).get("content"), str) else None)
        chat.messages.append(ViewMessage(encode(message), (record.index,), tuple(places)))

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a record with the summary's message."""
        sessions = (text_of(element.value, "session_id") for element in elements)
        session = next((name for name in sessions if name), None)
        beside = {} if session is None else {"session_id": session}
        return {"type": role, "message": {"role": role, "content": text}, **beside}


_LOOKED_AT: Final = 64


def _message(record: object) -> Mapping[str, object] | None:
    """Return role and content of a record's message; None where it has none of its type."""
    message = object_of(record, "message")
    role, content = text_of(record, "type"), message.get("content")
    if role not in {"user", "assistant"} or not isinstance(content, str | list):
        return None
    return {"role": role, "content": content}


CLAUDE_STREAM: Final = ClaudeStream()
"""Claude Code's JSON output and web exports."""
