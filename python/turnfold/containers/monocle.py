"""Traces of Monocle: OpenTelemetry spans whose events hold input and output as texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Change, Mark
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_ROLES: Final = {"system": "system", "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}


class Monocle(Listed):
    """A list of spans with `monocle_apptrace.version`, whose event `data.input` holds `input`: texts of JSON, each
    `{"system" | "human" | "ai" | "tool": text}`. The event `data.output` holds `response`, one such text.

    Each span of an inference is one transcript, named by its span id, with all that came before. The view is
    `openai.chat`. The text of `ai` may spell calls as JSON; results have no ids and answer the oldest open call.
    Spans of tools and agents repeat what the inferences hold, and are no transcripts.

    A trace keeps no compactions: the summary takes the place of the texts. An output is not replaced.
    """

    name: ClassVar[str] = "monocle"
    title: ClassVar[str] = "Monocle traces: spans with `data.input` and `data.output` events."

    def mark(self, value: object) -> Mark | None:
        """See a span that names Monocle's version."""
        for number, span in enumerate(_spans(value)):
            if "monocle_apptrace.version" in object_of(span, "attributes"):
                return Mark("proof", f"span {number} has monocle_apptrace.version")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the input of each span that has messages as its items."""
        for number, span in enumerate(_spans(value)):
            path: tuple[str | int, ...] = (number,) if isinstance(value, list) else ()
            output = next((e for e in list_of(span, "events") if text_of(e, "name") == "data.output"), None)
            for place, event in enumerate(list_of(span, "events")):
                texts = list_of(event, "attributes", "input")
                if text_of(event, "name") == "data.input" and texts and _said(texts[0]) is not None:
                    around = {"output": _said(object_of(output, "attributes").get("response"))}
                    array = (*path, "events", place, "attributes", "input")
                    head = {"model": text_of(span, "attributes", "entity.2.name")}
                    yield Conversation(array, text_of(span, "context", "span_id"), head, around=around)
                    break

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the texts, and behind them the output."""
        for element in elements:
            said = _said(decode(data[element.start : element.stop]))
            if said is not None:
                _add(chat, element.index, *said)
        output = conversation.around.get("output")
        if isinstance(output, tuple):
            _add(chat, len(elements), *output)
            chat.messages[-1] = replace(chat.messages[-1], origins=())

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put the summary in the place of input texts."""
        origins = change.logged.origins
        if not all(origins[m] for m in change.gone):
            raise NotWritableError("A span's output is not replaced: choose another cut")
        return super().summarise(document, elements, change)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a text of JSON."""
        return encode({"ai" if role == "assistant" else "human": text}).decode()


def _spans(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list) else (value,)


def _said(text: object) -> tuple[str, object] | None:
    """Return who says what in one text of JSON; None for any other text."""
    told = decode(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    if not isinstance(told, Mapping) or len(told) != 1:
        return None
    role, said = next(iter(told.items()))
    return (role, said) if role in _ROLES or role == "tool" else None


def _add(chat: ChatView, index: int, role: str, said: object) -> None:
    text = said if isinstance(said, str) else encode(said).decode()
    told = decode(said.encode("utf-8", "surrogatepass")) if isinstance(said, str) else said
    calls = [
        (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("args", {}))
        for call in (told if isinstance(told, list) else [told])
        if text_of(call, "type") == "tool_call" or (text_of(call, "name") and "args" in object_of(call))
    ]
    if role == "tool":
        chat.result(None, text, index)
    elif _ROLES[role] == "assistant" and calls:
        chat.calls(None, calls, index)
    else:
        chat.text(_ROLES[role], text, index)


MONOCLE: Final = Monocle()
