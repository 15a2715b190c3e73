"""Recordings of what the Gemini API answered, as the tests of Google's agents keep them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.protocol import LoggedTranscript, Mark
from turnfold.containers.records import Records
from turnfold.containers.view import ChatView, view


class GeminiWire(Records):
    """JSON lines `{"method": "generateContent" | "generateContentStream", "response": [chunks]}`, one a call.

    The recording holds answers without their requests. The view is `openai.chat`: the answers in order, each one
    message of the assistant, its text put together from the chunks, thoughts as reasoning, calls named from place where
    they have no id. It is a recording: nothing is written to it.
    """

    name: ClassVar[str] = "gemini_wire"
    title: ClassVar[str] = "Recorded answers of the Gemini API: JSON lines with `method` and `response`."
    reason: ClassVar[str] = "it holds answers as they came, and nothing goes on from it"
    writes: ClassVar[bool] = False

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See an answer to a method that makes content."""
        method = text_of(record, "method") or ""
        if method.startswith("generateContent") and "response" in record:
            return Mark("proof", f"method is {method}, with a response")
        return None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the method whose answer holds no message."""
        return text_of(record, "method") or "record without a method"

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read all answers as one transcript. O(bytes)."""
        chat = ChatView()
        model = None
        for record in records:
            response = object_of(record.value).get("response")
            chunks = response if isinstance(response, list) else [response]
            parts = [part for chunk in chunks for part in list_of(chunk, "candidates", 0, "content", "parts")]
            model = model or next((name for chunk in chunks if (name := text_of(chunk, "modelVersion"))), None)
            if record.value is not None and self.mark(record.value) is not None and parts:
                _add(chat, record.index, parts)
        if chat.messages:
            yield view("recording", "openai.chat", chat.messages, {"model": model})


def _add(chat: ChatView, index: int, parts: Sequence[object]) -> None:
    thoughts = [text_of(part, "text") or "" for part in parts if object_of(part).get("thought") is True]
    texts = [text_of(part, "text") or "" for part in parts if object_of(part).get("thought") is not True]
    called = [object_of(part, "functionCall") for part in parts]
    calls = [(text_of(c, "id"), text_of(c, "name") or "", c.get("args", {})) for c in called if c]
    others: list[object] = [
        {"type": next(iter(fields)), **fields}
        for part in parts
        if (fields := object_of(part)) and "text" not in fields and "functionCall" not in fields
    ]
    text, said = "".join(texts), {"reasoning_content": "".join(thoughts) or None}
    content: object = [*([{"type": "text", "text": text}] if text else []), *others] if others else text
    if calls:
        chat.calls(content or None, calls, index, **said)
    else:
        chat.text("assistant", content, index, **said)


GEMINI_WIRE: Final = GeminiWire()
