"""Archived sessions of Hermes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, edit_value, placed
from turnfold.containers.protocol import Change, Mark, Place
from turnfold.containers.view import ChatView

_LEFT: Final = {"compacted", "rewound"}
"""States of messages that the model no longer sees."""


class Hermes(Listed):
    """One document `{"producer": "hermes/...", "session_id", "messages": [{"message_id", "role", "state", "text",
    "reasoning", "tool_calls", "tool_results"}]}`.

    The view is `openai.chat`: `tool_calls` (`action_id`, `tool_name`, `arguments_json`) as calls, each of
    `tool_results` as the result of its `action_id`, with the `output_preview` that the archive has of it. Messages of
    state `compacted` or `rewound` are none of the view, and counted so in `unread`.

    A compaction is as Hermes records it: what goes is of state `compacted` then and stays, the summary stands before.
    """

    name: ClassVar[str] = "hermes"
    title: ClassVar[str] = "Hermes session archives: `producer`, and `messages` with `message_id` and `state`."

    def mark(self, value: object) -> Mark | None:
        """See the name of the producer, and messages with a state."""
        messages = list_of(value, "messages")
        if not any("state" in object_of(m) and "message_id" in object_of(m) for m in messages[:8]):
            return None
        producer = text_of(value, "producer") or ""
        if producer.startswith("hermes/"):
            return Mark("proof", f"producer is {producer}")
        return Mark("usual", "messages have message_id and state")

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `messages`."""
        if isinstance(object_of(value).get("messages"), list):
            yield Conversation(("messages",), text_of(value, "session_id"))

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the state of what is no message of the view."""
        state = text_of(element, "state")
        return f"{state} message" if state in _LEFT else "element without a message"

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add a message that the model sees."""
        role, index, text = text_of(element, "role"), record.index, text_of(element, "text")
        if text_of(element, "state") in _LEFT:
            return
        for number, result in enumerate(list_of(element, "tool_results")):
            said = text_of(result, "output_preview")
            place: Place | None = (index, ("tool_results", number, "output_preview")) if said is not None else None
            failed = object_of(result).get("is_error") is True or None
            chat.result(text_of(result, "action_id"), said or "", index, place, is_error=failed)
        calls = [
            (text_of(call, "action_id"), text_of(call, "tool_name") or "", text_of(call, "arguments_json") or "{}")
            for call in list_of(element, "tool_calls")
        ]
        said_before = {"reasoning_content": text_of(element, "reasoning") or None}
        if calls:
            chat.calls(text, calls, index, **said_before)
        elif role in {"system", "user", "assistant"}:
            chat.text(role or "", text or "", index, **said_before)

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put the summary before what it replaces, and set the state of that."""
        removed, summaries = placed(change)
        spans = [(element.start, element.stop) for element in elements]
        session = (text_of(document.value, "session_id") or "session") + ":summary"
        for index, role, text in summaries:
            message: dict[str, object] = {
                "message_id": f"{session}-{len(elements)}-{index}",
                "role": role,
                "state": "active",
                **({"timestamp": stamp} if (stamp := text_of(elements[index].value, "timestamp")) else {}),
                "text": text,
                "reasoning": None,
                "tool_calls": [],
                "tool_results": [],
            }
            yield from edit_items(spans, set(), [(index, encode(message))])
        for index in sorted(removed):
            if "state" in object_of(elements[index].value):
                yield edit_value(document, elements[index], (index, ("state",)), b'"compacted"')
            else:
                start, stop = document.data.index(b"{", elements[index].start) + 1, elements[index].stop
                yield Edit(start, start, b'"state":"compacted"' + (b"" if stop - start == 1 else b","))


HERMES: Final = Hermes()
