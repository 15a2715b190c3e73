"""Conversations of Kiro CLI."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark, Place
from turnfold.containers.view import ChatView


class Kiro(Listed):
    """One document `{"conversation_id", "history": [{"user": {"content"}, "assistant"}]}`: an entry is a pair.

    The view is `openai.chat`. The user's content is a `Prompt`, or `ToolUseResults` (each a tool message), or
    `CancelledToolUses` (both); the assistant's a `Response`, or a `ToolUse` with calls.

    A summary is an entry in the place of those that go, with nothing said on its other side. An entry of which one side
    goes and the other stays cannot be cut.
    """

    name: ClassVar[str] = "kiro"
    title: ClassVar[str] = "Kiro CLI conversations: a `history` of pairs of user and assistant."

    def mark(self, value: object) -> Mark | None:
        """See a history of pairs."""
        for number, entry in enumerate(list_of(value, "history")[:8]):
            said = object_of(entry, "user", "content")
            answered = object_of(entry, "assistant")
            if said.keys() & _USER and answered.keys() & {"Response", "ToolUse"}:
                return Mark("proof", f"history[{number}] is a pair of {next(iter(said))} and {next(iter(answered))}")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `history`."""
        if self.mark(value) is not None:
            yield Conversation(("history",), text_of(value, "conversation_id"))

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add both sides of an entry."""
        for kind in sorted(_USER):
            content = object_of(element, "user", "content", kind)
            for number, result in enumerate(list_of(content, "tool_use_results")):
                _result(chat, result, record.index, ("user", "content", kind, "tool_use_results", number))
            prompt = text_of(content, "prompt")
            if prompt:
                chat.text("user", prompt, record.index)
        use = object_of(element, "assistant", "ToolUse")
        said = text_of(use, "content") or text_of(element, "assistant", "Response", "content")
        calls = [
            (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("args"))
            for call in list_of(use, "tool_uses")
        ]
        if calls:
            chat.calls(said, calls, record.index)
        elif said:
            chat.text("assistant", said, record.index)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return an entry of which one side is silent."""
        prompt, answer = ("", text) if role == "assistant" else (text, "")
        return {
            "user": {"content": {"Prompt": {"prompt": prompt}}},
            "assistant": {"Response": {"message_id": None, "content": answer}},
        }


_USER: Final = {"Prompt", "ToolUseResults", "CancelledToolUses"}


def _result(chat: ChatView, result: object, index: int, path: tuple[str | int, ...]) -> None:
    parts = list_of(result, "content")
    texts = [text_of(part, "Text") for part in parts]
    place: Place | None = (index, (*path, "content", 0, "Text")) if len(parts) == 1 and texts[0] is not None else None
    spelled = [
        text if text is not None else encode(object_of(part).get("Json", part)).decode()
        for part, text in zip(parts, texts, strict=True)
    ]
    chat.result(text_of(result, "tool_use_id"), "\n".join(spelled), index, place)


KIRO: Final = Kiro()
"""Conversations of Kiro CLI."""
