"""Logs of Factory's Droid."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode, list_of, object_of, text_of
from turnfold.containers.links import LinkedRecords
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.view import ChatView, ViewMessage, view

_SESSION: Final = ("session_id", "sessionId")


class Droid(LinkedRecords):
    """JSON lines in one of two layouts.

    The session store: a `session_start`, then entries `{"type": "message", "id", "parentId", "message": {"role",
    "content"}}` whose messages are `anthropic.messages` as they stand. The stream (`droid exec -o stream-json`):
    records `message` (`role`, `text`), `tool_call`, `tool_result` and `completion` (`finalText`), read as
    `openai.chat`; calls that follow the model's text are of one message with it. A completion that repeats the last
    answer is of its message.

    What the tool records when it compacts is not public, so what goes is taken out, and a record of the summary's role
    takes its place in the chain.
    """

    name: ClassVar[str] = "droid"
    title: ClassVar[str] = "Droid sessions: the session store, or the records of `droid exec` in stream JSON."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See the start of a stored session, or a record of the stream."""
        kind = text_of(record, "type")
        if kind == "session_start" and "cwd" in record and text_of(record, "id") is not None:
            return Mark("usual", "a session_start has id and cwd")
        if not any(key in record for key in _SESSION):
            return None
        if kind == "tool_call" and "toolName" in record and "parameters" in record:
            return Mark("proof", "a tool_call has toolName and parameters")
        if kind == "completion" and "finalText" in record:
            return Mark("proof", "a completion has finalText")
        if kind == "message" and "role" in record and "text" in record:
            return Mark("usual", "a message has its session, role and text")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one session of the log. O(bytes)."""
        values = [object_of(record.value) for record in records]
        first = next((v for v in values if text_of(v, "type") == "session_start"), {})
        names = (text_of(value, key) for value in values for key in _SESSION)
        identifier = text_of(first, "id") or next((name for name in names if name), "session")
        model = next((text_of(value, "model") for value in values if text_of(value, "model")), None)
        stored = [found for record in records if (found := _stored(record)) is not None]
        if stored:
            yield view(identifier, "anthropic.messages", stored, {"model": model})
            return
        stream = _Stream()
        for record in records:
            stream.add(object_of(record.value), record.index)
        messages = stream.messages()
        if messages:
            yield view(identifier, "openai.chat", messages, {"model": model})

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a record of a message in the layout of this log."""
        values = [object_of(record.value) for record in records]
        if any(_stored(record) is not None for record in records):
            return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}
        key, name = next((key, name) for value in values for key in _SESSION if (name := text_of(value, key)))
        return {"type": "message", key: name, "role": role, "text": text}


def _stored(record: Record) -> ViewMessage | None:
    message = object_of(record.value, "message")
    content = message.get("content")
    role = text_of(message, "role")
    if text_of(record.value, "type") != "message" or role not in {"user", "assistant"}:
        return None
    if not isinstance(content, str | list) or not content:
        return None
    places: tuple[Place | None, ...] = tuple(
        (record.index, ("message", "content", number, "content")) if text_of(block, "content") is not None else None
        for number, block in enumerate(list_of(message, "content"))
        if text_of(block, "type") == "tool_result"
    )
    return ViewMessage(encode({"role": role, "content": content}), (record.index,), places)


class _Stream:
    """The messages of a stream. What the model says and calls in a row is one message."""

    def __init__(self) -> None:
        self._chat = ChatView()
        self._texts: list[str] = []
        self._calls: list[tuple[str | None, str, object]] = []
        self._from: list[int] = []

    def add(self, record: Mapping[str, object], index: int) -> None:
        kind, role = text_of(record, "type"), text_of(record, "role")
        call_id = text_of(record, "toolCallId") or text_of(record, "id")
        match kind:
            case "message" if text_of(record, "text") is not None and role == "assistant":
                self._say(text_of(record, "text") or "", index)
            case "message" if text_of(record, "text") is not None and role in {"user", "system"}:
                self._close()
                self._chat.text(role, text_of(record, "text") or "", index)
            case "tool_call":
                name = text_of(record, "toolName") or text_of(record, "toolId") or ""
                self._calls.append((call_id, name, record.get("parameters")))
                self._from.append(index)
            case "tool_result":
                self._close()
                value = record.get("value", record.get("error"))
                text = value if isinstance(value, str) else encode(value).decode()
                # A value that is no string cannot be shortened in its place.
                place: Place | None = (index, ("value",)) if isinstance(record.get("value"), str) else None
                self._chat.result(call_id, text, index, place)
            case "completion":
                final = text_of(record, "finalText")
                if final and self._texts == [final] and not self._calls:
                    self._from.append(index)
                elif final:
                    self._say(final, index)

    def _say(self, text: str, index: int) -> None:
        if self._calls or self._texts:
            self._close()
        self._texts.append(text)
        self._from.append(index)

    def _close(self) -> None:
        text = "\n".join(self._texts)
        if self._calls:
            self._chat.calls(text or None, self._calls, self._from)
        elif self._from:
            self._chat.text("assistant", text, self._from)
        self._texts, self._calls, self._from = [], [], []

    def messages(self) -> list[ViewMessage]:
        """Return all messages, the last answer included."""
        self._close()
        return self._chat.messages


DROID: Final = Droid()
"""Logs of Factory's Droid."""
