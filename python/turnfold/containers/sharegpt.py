"""Fine-tuning data in the style of ShareGPT and LLaMA-Factory."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, decode, list_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_SPEAKERS: Final = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "chatgpt": "assistant",
    "function_call": "call",
    "observation": "result",
    "tool": "result",
    "function_response": "result",
}


class ShareGpt(Listed):
    """A list of `{"conversations": [{"from": "human", "value": "..."}], "tools": "<JSON text>"}`, or one object a line.

    The view is `openai.chat`. `function_call` is an assistant message with the call or calls that its value spells as
    JSON (`name`, `arguments`), `observation` the result of the oldest call that is open; ids are made from place. A
    call whose value is no such JSON is kept as the assistant's text. `system` and `tools` are the head of the view.
    """

    name: ClassVar[str] = "sharegpt"
    title: ClassVar[str] = "ShareGPT and LLaMA-Factory data: `conversations` of `from` and `value`."

    def mark(self, value: object) -> Mark | None:
        """See `conversations` whose first item has `from` and `value`."""
        first = value[0] if isinstance(value, list) and value else value
        turns = list_of(first, "conversations")
        if turns and text_of(turns[0], "from") is not None and text_of(turns[0], "value") is not None:
            return Mark("proof", "conversations[0] has `from` and `value`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find each object with `conversations`."""
        for prefix, entry in _entries(value):
            if isinstance(entry, Mapping) and isinstance(entry.get("conversations"), list):
                tools = decode((text_of(entry, "tools") or "").encode("utf-8", "surrogatepass"))
                yield Conversation(
                    path=(*prefix, "conversations"),
                    id=text_of(entry, "id"),
                    head={"tools": _definitions(tools)},
                    system=text_of(entry, "system") or None,
                )

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add one turn."""
        text = text_of(element, "value")
        speaker = text_of(element, "from")
        if text is None or speaker is None:
            return
        role = _SPEAKERS.get(speaker, speaker)
        calls = list(_calls(text)) if role == "call" else []
        if calls:
            chat.calls(None, calls, record.index)
        elif role == "result":
            chat.result(None, text, record.index, (record.index, ("value",)))
        else:
            chat.text("assistant" if role == "call" else role, text, record.index)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a turn of the speaker that has the role in this conversation."""
        seen = [text_of(element.value, "from") for element in elements]
        usual = "human" if role == "user" else "gpt"
        return {"from": next((s for s in seen if s and _SPEAKERS.get(s) == role), usual), "value": text}


def _entries(value: object) -> Iterable[tuple[tuple[int, ...], object]]:
    return (((k,), entry) for k, entry in enumerate(value)) if isinstance(value, list) else (((), value),)


def _calls(text: str) -> Iterator[tuple[str | None, str, object]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    calls = value if isinstance(value, list) else [value]
    if all(text_of(call, "name") is not None for call in calls):
        for call in calls:
            yield None, call["name"], call.get("arguments", {})


def _definitions(tools: object) -> list[object] | None:
    """Return tool definitions as `openai.chat` spells them."""
    if not isinstance(tools, list) or not tools:
        return None
    return [
        {"type": "function", "function": tool} if isinstance(tool, dict) and "function" not in tool else tool
        for tool in tools
    ]


SHAREGPT: Final = ShareGpt()
