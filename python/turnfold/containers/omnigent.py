"""Items of Omnigent's store: what OpenAI's Responses API has, with the type beside it in the store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, text_of
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records
from turnfold.containers.view import ViewMessage, view

_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal"})


class Omnigent(Records):
    """The `data` of items as Omnigent keeps it, without `type`: one as a document, a list of them, or one a line.

    Messages have `role` and a list of `input_text` or `output_text`, calls `name`, `arguments` and `call_id`, results
    `call_id` and `output`; `agent` says which agent spoke, and `is_meta` marks what the harness put in. Reasoning has a
    `summary` of `summary_text`. The view is `openai.responses`. A summary is a message. Omnigent's own record of a
    compaction names the last item that it covers by the store's id, which is not in the item: it is carried along.
    """

    name: ClassVar[str] = "omnigent"
    title: ClassVar[str] = "Omnigent items: messages, calls and results of the Responses API without their `type`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See an item that lacks its type."""
        kind = _kind(record)
        if kind is None:
            return None
        own = kind == "function_call_output" or "agent" in record or "is_meta" in record
        return Mark("usual" if own else "hint", f"it is a {kind} without its type")

    def rows(self, document: Document) -> tuple[Record, ...]:
        """Return the items; a document may be a single one."""
        value = document.value
        if not document.is_lines and isinstance(value, dict):
            data = document.data
            start, stop = document.span(()) or (0, len(data))
            return (Record(0, start, stop, value),)
        return document.records

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read all items as one transcript."""
        messages: list[ViewMessage] = []
        for record in records:
            kind = None if record.value is None else _kind(record.value)
            if record.value is not None and kind is not None:
                own = {key: value for key, value in record.value.items() if key not in {"agent", "is_meta", "model"}}
                output = "output" if kind == "function_call_output" else None
                text = output is not None and text_of(record.value, output) is not None
                places: tuple[Place | None, ...] = ((record.index, (output,)) if output and text else None,)
                item = {"type": kind, **own}
                messages.append(ViewMessage(encode(item), (record.index,), places if output else ()))
        if messages:
            yield view("session", "openai.responses", messages)

    def kind(self, record: Mapping[str, object]) -> str:
        """Return what an item is that holds no message."""
        return "compaction" if "last_item_id" in record else "item of another kind"

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return the item of a message."""
        part = "output_text" if role == "assistant" else "input_text"
        return {"role": role, "content": [{"type": part, "text": text}]}


def _kind(record: Mapping[str, object]) -> str | None:
    """Return the type of the Responses API that an item has the fields of."""
    if "type" in record:
        return None
    if text_of(record, "call_id") is not None:
        if text_of(record, "name") is not None and "arguments" in record:
            return "function_call"
        return "function_call_output" if "output" in record else None
    content, summary = list_of(record, "content"), list_of(record, "summary")
    if text_of(record, "role") is not None:
        return "message" if content and all(text_of(part, "type") in _PARTS for part in content) else None
    return "reasoning" if summary and all(text_of(part, "type") == "summary_text" for part in summary) else None


OMNIGENT: Final = Omnigent()
"""Items of Omnigent's store."""
