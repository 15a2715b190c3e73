"""Threads of LangGraph: the state of a graph whose `messages` are LangChain messages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_ROLES: Final = {"human": "user", "HumanMessageChunk": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_SPEAKERS: Final = {**_ROLES, "system": "system", "developer": "developer", "tool": "tool", "function": "tool"}


class LangGraph(Listed):
    """One document `{"values": {"messages": [{"type": "human" | "ai" | "tool" | "system", "content", "id"}]}}`.

    The view is `openai.chat`: `tool_calls` (`id`, `name`, `args`) and `invalid_tool_calls` as calls, content lists as
    they are, `additional_kwargs.reasoning_content` as reasoning. `remove` messages hold none. Lone surrogates survive.
    A thread's id is its `thread_id`.

    LangChain's summarization removes messages and puts a human message in their place, marked with
    `lc_source`: so does the writer.
    """

    name: ClassVar[str] = "langgraph"
    title: ClassVar[str] = "LangGraph threads: `values.messages` of LangChain messages with `type`."

    def mark(self, value: object) -> Mark | None:
        """See a LangChain message in `values.messages`."""
        for number, message in enumerate(list_of(value, "values", "messages")[:8]):
            if text_of(message, "type") in _SPEAKERS and "content" in object_of(message):
                return Mark("proof", f"values.messages[{number}] has type and content")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `values.messages`."""
        if isinstance(object_of(value, "values").get("messages"), list):
            places = (("checkpoint", "thread_id"), ("metadata", "thread_id"), ("thread_id",))
            names = (text_of(value, *place) for place in places)
            yield Conversation(("values", "messages"), next((name for name in names if name), None))

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the type of what is no message."""
        return f"message of type {text_of(element, 'type')}" if element is not None else "element without a message"

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add a message as chat models are sent it."""
        role, index = _SPEAKERS.get(text_of(element, "type") or ""), record.index
        content = element.get("content")
        if role is None:
            return
        if role == "tool":
            parts = content if isinstance(content, list) else []
            path: tuple[str | int, ...] | None = ("content",) if isinstance(content, str) else None
            if len(parts) == 1 and text_of(parts[0], "text") is not None:
                path = ("content", 0, "text")
            place = None if path is None else (index, path)
            failed = text_of(element, "status") == "error" or None
            chat.result(text_of(element, "tool_call_id"), content or "", index, place, is_error=failed)
            return
        said = {"reasoning_content": text_of(element, "additional_kwargs", "reasoning_content") or None}
        named = {"name": text_of(element, "name")} if role == "user" else {}
        calls = [
            (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("args"))
            for key in ("tool_calls", "invalid_tool_calls")
            for call in list_of(element, key)
        ]
        if role == "assistant" and calls:
            chat.calls(_without_calls(content) or None, calls, index, **said)
        else:
            chat.text(role, content if content is not None else "", index, **said, **named)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a LangChain message."""
        kind = "ai" if role == "assistant" else "human"
        known = [identifier for element in elements if (identifier := text_of(element.value, "id"))]
        calls: dict[str, object] = {"tool_calls": [], "invalid_tool_calls": []} if kind == "ai" else {}
        return {
            "content": text,
            "additional_kwargs": {"lc_source": "summarization"},
            "response_metadata": {},
            "type": kind,
            "name": None,
            "id": f"{known[-1]}-summary" if known else "summary",
            **calls,
        }


def _without_calls(content: object) -> object:
    """Return content without the blocks that repeat its calls, as providers' own blocks do."""
    if not isinstance(content, list):
        return content
    return [part for part in content if text_of(part, "type") not in {"tool_use", "tool_call", "function_call"}]


LANGGRAPH: Final = LangGraph()
