"""Model messages of Posit Assistant."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode, list_of, object_of, text_of
from turnfold.containers.links import LinkedRecords
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.view import ChatView, view


class PositAssistant(LinkedRecords):
    """JSON lines `lm-messages.jsonl`: `{"id", "message": {"role", "content"}}` with messages of the AI SDK.

    The view is `openai.chat`: `tool-call` parts are calls, `tool-result` parts tool messages, `reasoning` is
    `reasoning_content`, images are `image_url` parts. Which branch is in use stands in the `conversation.json` beside
    the file, so the view has the messages of all.

    A summary is a record with the id of the last message that it replaces.
    """

    name: ClassVar[str] = "posit_assistant"
    title: ClassVar[str] = "Posit Assistant `lm-messages.jsonl`: an AI SDK message a line, each with its number."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a numbered message, best with metadata of Posit's."""
        message = object_of(record, "message")
        if not isinstance(record.get("id"), int) or text_of(message, "role") is None:
            return None
        if object_of(message, "providerOptions", "providerMetadata", "positai"):
            return Mark("proof", "a numbered message has metadata of positai")
        if record.keys() == {"id", "message"} and "content" in message:
            return Mark("usual", "a record is a message and its number")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one conversation of the file, whose id is its folder's. O(bytes)."""
        chat = ChatView()
        model: str | None = None
        for record in records:
            message = object_of(record.value, "message")
            model = text_of(message, "providerOptions", "providerMetadata", "positai", "modelId") or model
            _project(chat, message, record.index)
        if chat.messages:
            yield view("conversation", "openai.chat", chat.messages, {"model": model})

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a record of the role: the model's has a list of parts, others have a string."""
        content: object = [{"type": "text", "text": text}] if role == "assistant" else text
        return {"id": None, "message": {"role": role, "content": content}}


def _project(chat: ChatView, message: Mapping[str, object], index: int) -> None:
    role, content = text_of(message, "role"), message.get("content")
    if role not in {"system", "user", "assistant", "tool"}:
        return
    if isinstance(content, str):
        if role != "tool":
            chat.text(role, content, index)
        return
    said: list[object] = []
    thoughts: list[str] = []
    calls: list[tuple[str | None, str, object]] = []
    results: list[tuple[int, Mapping[str, object]]] = []
    for number, part in enumerate(list_of(message, "content")):
        match text_of(part, "type"):
            case "tool-call":
                name = text_of(part, "toolName") or ""
                calls.append((text_of(part, "toolCallId"), name, object_of(part).get("input")))
            case "tool-result":
                results.append((number, object_of(part)))
            case "reasoning":
                thoughts.append(text_of(part, "text") or "")
            case _:
                said.append(_part(part))
    chat.parts("user" if role == "tool" else role, said, index, thoughts=thoughts, calls=calls)
    for number, part in results:
        output = object_of(part).get("output")
        value = object_of(output).get("value", output)
        is_text = isinstance(value, str) and isinstance(output, Mapping)
        place: Place | None = (index, ("message", "content", number, "output", "value")) if is_text else None
        chat.result(
            text_of(part, "toolCallId"), value if isinstance(value, str) else encode(value).decode(), index, place
        )


def _part(part: object) -> object:
    data = text_of(part, "image") or text_of(part, "data")
    kind = text_of(part, "mediaType") or ("image/png" if text_of(part, "type") == "image" else "")
    if data is None or not kind.startswith("image/"):
        return part
    url = data if data.startswith(("data:", "http:", "https:")) else f"data:{kind};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}


POSIT_ASSISTANT: Final = PositAssistant()
"""Model messages of Posit Assistant."""
