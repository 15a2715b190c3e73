"""Session logs of agents that are not known here: JSON lines with one message a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode, list_of, object_of, text_of
from turnfold.containers.protocol import Change, LoggedTranscript, Mark
from turnfold.containers.records import Records
from turnfold.containers.view import ViewMessage, view

_ROLES: Final = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
}


class MessageRecords(Records):
    """JSON lines of which some hold a message: `role` and `content` in the record, or in its `message` or `data`.

    What remains when no other kind fits: the role may also be the record's `type`. The view is `anthropic.messages`
    where a content list has `tool_use` or `tool_result` blocks, else `openai.chat`. Records without such a message are
    carried along. A summary is a record of the same shape.
    """

    name: ClassVar[str] = "message_records"
    title: ClassVar[str] = "JSON lines of an agent that has no reader of its own: one message a line."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a record with a message."""
        return None if _message(record) is None else Mark("guess", "the record has a role and a content")

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read all messages as one transcript."""
        held = [(record, found) for record in records if record.value and (found := _message(record.value)) is not None]
        blocks = any(
            text_of(block, "type") in {"tool_use", "tool_result"}
            for _, message in held
            for block in list_of(message, "content")
        )
        messages = [ViewMessage(encode(message), (record.index,)) for record, message in held]
        first: Mapping[str, object] = next((record.value for record in records if record.value), {})
        keys = ("sessionId", "session_id", "conversationId", "conversation_id", "threadId")
        name = next((named for key in keys if (named := text_of(first, key))), "session")
        yield view(name, "anthropic.messages" if blocks else "openai.chat", messages)

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a record of the shape that messages of the role have here."""
        held = [record.value for record in records if record.value and _message(record.value) is not None]
        alike = [value for value in held if object_of(_message(value)).get("role") == role] or held
        return _spelled(alike[0], role, text)


def _spelled(like: Mapping[str, object], role: str, text: str) -> Mapping[str, object]:
    for key in ("message", "data"):
        if object_of(like, key):
            message: dict[str, object] = {"content": text}
            if "role" in object_of(like, key):
                message["role"] = role
            outside = {name: role for name in ("type", "role") if _role(like.get(name)) is not None}
            named = {"type": like["type"]} if "type" in like and "type" not in outside else {}
            return {**named, **outside, key: message}
    return {("role" if "role" in like else "type"): role, "content": text}


def _role(value: object) -> str | None:
    return _ROLES.get(value.lower()) if isinstance(value, str) else None


def _message(record: Mapping[str, object]) -> dict[str, object] | None:
    """Return the message of a record with its role; None where it has none."""
    for holder in (object_of(record, "message"), object_of(record, "data"), record):
        role = _role(holder.get("role")) or _role(record.get("role")) or _role(record.get("type"))
        content = holder.get("content")
        if role is None or not (isinstance(content, str | list) or list_of(holder, "tool_calls")):
            continue
        if isinstance(content, list) and not all(isinstance(block, dict) for block in content):
            continue
        kept = ("content", "name", "tool_calls", "tool_call_id", "reasoning_content")
        return {"role": role, **{key: holder[key] for key in kept if key in holder}}
    return None


MESSAGE_RECORDS: Final = MessageRecords()
"""JSON lines of an agent that has no reader of its own."""
