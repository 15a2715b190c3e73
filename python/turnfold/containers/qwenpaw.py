"""Sessions of QwenPaw."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark, Place
from turnfold.containers.view import ChatView

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:qwenpaw")
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system"}


class Qwenpaw(Listed):
    """One document `{"agent": {"memory": {"content": [[message, marks], ...]}, "name", "_sys_prompt"}}`.

    The state of an AgentScope agent. The view is `openai.chat`: `tool_use` blocks are calls, `tool_result` blocks tool
    messages whoever's name they stand under, `thinking` is `reasoning_content`. `_sys_prompt` is the instruction.

    A summary is a pair in the place of those that go, without marks.
    """

    name: ClassVar[str] = "qwenpaw"
    title: ClassVar[str] = "QwenPaw sessions: `agent.memory.content`, pairs of a message and its marks."

    def mark(self, value: object) -> Mark | None:
        """See an agent's memory of pairs."""
        content = object_of(value, "agent", "memory").get("content")
        if isinstance(content, list) and all(isinstance(pair, list) for pair in content[:8]):
            return Mark("proof", "agent.memory.content is a list of pairs")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the memory, if anything is in it."""
        if self.mark(value) is not None and list_of(value, "agent", "memory", "content"):
            prompt = text_of(value, "agent", "_sys_prompt") or None
            yield Conversation(("agent", "memory", "content"), system=prompt)

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Add the message of each pair."""
        for record in elements:
            pair = decode(data[record.start : record.stop])
            if isinstance(pair, list) and pair:
                _project(chat, object_of(pair[0]), record.index)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a pair of a message with the summary and no marks."""
        identifier = uuid.uuid5(_NAMESPACE, text.encode("utf-8", "surrogatepass").hex()).hex
        content = [{"type": "text", "text": text}]
        return [{"id": identifier, "name": role, "role": role, "content": content, "metadata": {}}, []]


def _project(chat: ChatView, message: Mapping[str, object], index: int) -> None:
    role, content = _ROLES.get(text_of(message, "role") or ""), message.get("content")
    if role is None:
        return
    if isinstance(content, str):
        chat.text(role, content, index)
        return
    said: list[object] = []
    thoughts: list[str] = []
    calls: list[tuple[str | None, str, object]] = []
    results: list[int] = []
    blocks = list_of(message, "content")
    for number, block in enumerate(blocks):
        match text_of(block, "type"):
            case "tool_use":
                calls.append((text_of(block, "id"), text_of(block, "name") or "", object_of(block).get("input")))
            case "tool_result":
                results.append(number)
            case "thinking":
                thoughts.append(text_of(block, "thinking") or "")
            case _:
                said.append(_part(block))
    chat.parts(role, said, index, thoughts=thoughts, calls=calls)
    for number in results:
        _result(chat, blocks[number], index, (0, "content", number, "output"))


def _result(chat: ChatView, block: object, index: int, path: tuple[str | int, ...]) -> None:
    output = object_of(block).get("output")
    parts = output if isinstance(output, list) else []
    place: Place | None = None
    text: object = [_part(part) for part in parts]
    if isinstance(output, str):
        place, text = (index, path), output
    elif len(parts) == 1 and text_of(parts[0], "type") == "text" and text_of(parts[0], "text") is not None:
        place, text = (index, (*path, 0, "text")), text_of(parts[0], "text")
    elif not parts:
        text = "" if output is None or isinstance(output, list) else encode(output).decode()
    chat.result(text_of(block, "id"), text, index, place)


def _part(block: object) -> object:
    source = object_of(block, "source")
    if text_of(block, "type") != "image" or not source:
        return block
    kind, data = text_of(source, "media_type") or "image/png", text_of(source, "data")
    url = text_of(source, "url") or f"data:{kind};base64,{data or ''}"
    return {"type": "image_url", "image_url": {"url": url}}


QWENPAW: Final = Qwenpaw()
"""Sessions of QwenPaw."""
