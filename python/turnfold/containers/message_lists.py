"""Files that are not known here and hold arrays of messages somewhere in them."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from turnfold.containers.document import Record, encode
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView, ViewMessage

_DEEPEST: Final = 6


class MessageLists(Listed):
    """A JSON document, or one a line, with arrays of objects that have `role` and `content` (or `tool_calls`).

    What remains when no other kind fits. Each such array is a transcript in `openai.chat`, named by its place; arrays
    inside messages are none. An element that is no message is carried along.
    """

    name: ClassVar[str] = "message_lists"
    title: ClassVar[str] = "JSON of a tool that has no reader of its own: arrays of messages anywhere in it."

    def mark(self, value: object) -> Mark | None:
        """See an array of messages."""
        found = next(_arrays(value, ()), None)
        return None if found is None else Mark("guess", f"an array of messages stands at {list(found)}")

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find every array of messages."""
        return (Conversation(path) for path in _arrays(value, ()))

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Keep the element's own bytes; a role that is a speaker's name becomes the name of an assistant."""
        if _is_message(element):
            known = element["role"] in _ROLES
            spelled = raw if known else encode({**element, "role": "assistant", "name": element["role"]})
            chat.messages.append(ViewMessage(spelled, (record.index,), ((record.index, ()),) if known else (None,)))


_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("role"), str):
        return False
    return isinstance(value.get("content"), str | list) or isinstance(value.get("tool_calls"), list)


def _arrays(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _arrays(inner, (*path, str(key)))
    elif isinstance(value, list) and value and all(_is_message(item) for item in value):
        yield path
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _arrays(inner, (*path, index))


MESSAGE_LISTS: Final = MessageLists()
"""JSON of a tool that has no reader of its own."""
