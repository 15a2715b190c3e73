"""Step logs of Antigravity."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.protocol import Change, LoggedTranscript, Mark
from turnfold.containers.records import Records
from turnfold.containers.view import ChatView, view


class Antigravity(Records):
    """JSON lines of steps `{"step_index", "source", "type", "status", "content", "thinking", "tool_calls"}`.

    The view is `openai.chat`. `USER_INPUT` is the user's; `PLANNER_RESPONSE` the model's, with `thinking` as
    `reasoning_content` and `tool_calls`, which have no ids; any other step of source `MODEL` with content is what a
    tool gave, and answers the oldest open call. Where none is open, the call is the step's own, named after its type.
    Steps of source `SYSTEM` with content are sent as the user's, a `CHECKPOINT` among them: what it stands for is not
    said, so all before it stays in the view.

    A summary is a step in the place of those that go.
    """

    name: ClassVar[str] = "antigravity"
    title: ClassVar[str] = "Antigravity step logs: JSON lines with `step_index`, `source` and `type`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a step."""
        if isinstance(record.get("step_index"), int) and text_of(record, "source") and text_of(record, "type"):
            return Mark("proof", "a record has step_index, source and type")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one session of the file, which does not say its id. O(bytes)."""
        chat = ChatView()
        open_calls = 0
        for record in records:
            value, index = object_of(record.value), record.index
            if not isinstance(value.get("step_index"), int):
                continue
            kind, text = text_of(value, "type") or "", text_of(value, "content")
            if kind == "PLANNER_RESPONSE":
                calls = [
                    (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("args"))
                    for call in list_of(value, "tool_calls")
                ]
                thought = text_of(value, "thinking") or None
                if calls:
                    chat.calls(text, calls, index, reasoning_content=thought)
                    open_calls += len(calls)
                elif text or thought:
                    chat.text("assistant", text or "", index, reasoning_content=thought)
            elif text is None:
                continue
            elif kind == "USER_INPUT" or text_of(value, "source") != "MODEL":
                chat.text("user", text, index)
                open_calls = 0
            else:
                call_id = None
                if open_calls == 0:
                    (call_id,) = chat.calls(None, [(None, kind.lower(), {})], index)
                else:
                    open_calls -= 1
                chat.result(call_id, text, index, (index, ("content",)))
        if chat.messages:
            yield view("session", "openai.chat", chat.messages)

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return a step of the role, with the number and time of the first that goes."""
        hole = next(hole for hole in change.holes if hole.text == text)
        first = object_of(records[min(change.logged.origins[hole.start])].value)
        stamp = {"created_at": first["created_at"]} if "created_at" in first else {}
        is_model = role == "assistant"
        return {
            "step_index": first.get("step_index"),
            "source": "MODEL" if is_model else "USER_EXPLICIT",
            "type": "PLANNER_RESPONSE" if is_model else "USER_INPUT",
            "status": "DONE",
            **stamp,
            "content": text,
        }


ANTIGRAVITY: Final = Antigravity()
"""Step logs of Antigravity."""
