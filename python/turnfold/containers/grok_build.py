"""Chat histories of Grok Build."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records
from turnfold.containers.view import ChatView, view


class GrokBuild(Records):
    """JSON lines `chat_history.jsonl`: records of type `system`, `user`, `assistant`, `reasoning` and `tool_result`.

    The view is `openai.chat`. `reasoning` is the `reasoning_content` of the answer that follows. A `backend_tool_call`
    ran at the provider and has no result here: it belongs to the answer that follows, and no block of the view shows
    it. Older histories, with a `role` in each record, are read as `message_records`.

    What the tool records when it compacts is not public: a summary is a record of its role in the place of those that
    go.
    """

    name: ClassVar[str] = "grok_build"
    title: ClassVar[str] = "Grok Build `chat_history.jsonl`: records of type user, assistant, reasoning, tool_result."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See an answer with its model, a result, or a user's record with its prompt's number."""
        kind = text_of(record, "type")
        if "role" in record or "message" in record or "uuid" in record:
            return None
        if kind == "assistant" and "model_id" in record and "content" in record:
            return Mark("proof", "an assistant record has content and model_id")
        if kind == "user" and ("prompt_index" in record or "synthetic_reason" in record):
            return Mark("proof", "a user record has prompt_index or synthetic_reason")
        if kind == "tool_result" and text_of(record, "tool_call_id") is not None and "content" in record:
            return Mark("usual", "a tool_result has tool_call_id and content")
        if record.keys() == {"type", "content"} and kind == "user" and isinstance(record["content"], list):
            return Mark("hint", "a user record has type and a list as content, and nothing else")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one session of the file, whose id stands beside it. O(bytes)."""
        chat = ChatView()
        thoughts: list[str] = []
        before: list[int] = []
        model: str | None = None
        for record in records:
            value, index = object_of(record.value), record.index
            match text_of(value, "type"):
                case "system" | "user" as role:
                    chat.text(role, _content(value.get("content")), index)
                case "reasoning":
                    thoughts += (text_of(part, "text") or "" for part in list_of(value, "summary"))
                    before.append(index)
                case "backend_tool_call":
                    before.append(index)
                case "assistant":
                    model = text_of(value, "model_id") or model
                    calls = [
                        (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("arguments"))
                        for call in list_of(value, "tool_calls")
                    ]
                    reasoning = "\n".join(thoughts) or None
                    text, origins = _content(value.get("content")), [index, *before]
                    if calls:
                        chat.calls(text, calls, origins, reasoning_content=reasoning)
                    else:
                        chat.text("assistant", text, origins, reasoning_content=reasoning)
                    thoughts, before = [], []
                case "tool_result":
                    text = _content(value.get("content"))
                    place: Place | None = (index, ("content",)) if isinstance(value.get("content"), str) else None
                    chat.result(text_of(value, "tool_call_id"), text, index, place)
        if chat.messages:
            yield view("session", "openai.chat", chat.messages, {"model": model})

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a record of the role: the user's has a list of parts, others have a string."""
        return {"type": role, "content": [{"type": "text", "text": text}] if role == "user" else text}


def _content(content: object) -> object:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [
        {"type": "image_url", "image_url": {"url": url}}
        if text_of(part, "type") == "image" and (url := text_of(part, "url")) is not None
        else part
        for part in content
    ]


GROK_BUILD: Final = GrokBuild()
"""Chat histories of Grok Build."""
