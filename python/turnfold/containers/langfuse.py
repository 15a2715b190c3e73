"""Traces of Langfuse: exported observations, and their normalised form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from turnfold.containers.document import LOOKED_AT, Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import INSIDE, Conversation, Listed
from turnfold.containers.opentelemetry import add_message
from turnfold.containers.protocol import Change, Mark
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_Path = tuple[str | int, ...]
_LISTS: Final = ("messages", "contents", "input")


class Langfuse(Listed):
    """One document `{"trace", "observations": [{"id", "type": "GENERATION", "input", "output"}]}`, or normalised
    `{<id>: {"input": {"success", "data": [messages]}, "output": ...}}`.

    Each generation is one transcript, named by its observation: a request of its own, with all that came before, and
    the output behind it. `input` is JSON, or text of JSON, once or more: a list of messages, or an object with
    `messages`, `contents` or `input`. Their shape is that of the traced framework: the view, `openai.chat`, has role,
    text, calls and results of chat messages and of messages with `parts`; other parts stay parts. An input that is one
    message or a plain text cannot be written to.

    A trace keeps no compactions: the summary takes the place of the messages. An output is not replaced.
    """

    name: ClassVar[str] = "langfuse"
    title: ClassVar[str] = "Langfuse traces: `observations` of type GENERATION with `input` and `output`."

    def mark(self, value: object) -> Mark | None:
        """See an observation of Langfuse, or one that is normalised."""
        for number, item in enumerate(list_of(value, "observations")[:LOOKED_AT]):
            if "type" in object_of(item) and ("traceId" in object_of(item) or "parentObservationId" in object_of(item)):
                return Mark("proof", f"observations[{number}] has type and the trace that it belongs to")
        for name, item in object_of(value).items():
            sides = [object_of(item, key) for key in ("input", "output")]
            if any("success" in side and ("data" in side or "error" in side) for side in sides):
                return Mark("proof", f"{name} has input or output with success")
            break
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the input of each generation."""
        for number, item in enumerate(list_of(value, "observations")):
            if text_of(item, "type") == "GENERATION":
                path, messages = _array(("observations", number, "input"), object_of(item).get("input"))
                around: dict[str, object] = {"output": list(_outputs(_opened(object_of(item).get("output"))))}
                if messages is None:
                    around["alone"] = list(_outputs(_opened(object_of(item).get("input")), "user"))
                    path = ("observations", number)
                if messages or around.get("alone") or around["output"]:
                    yield Conversation(path, text_of(item, "id"), {"model": text_of(item, "model")}, around=around)
        if "observations" not in object_of(value) and self.mark(value) is not None:
            for name, item in object_of(value).items():
                if list_of(item, "input", "data"):
                    outputs = {"output": list(_outputs(list_of(item, "output", "data")))}
                    yield Conversation((name, "input", "data"), name, around=outputs)

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the messages, and what stands elsewhere in the observation."""
        for element in elements:
            if element.value is not None:
                add_message(chat, element.index, _chat(element.value), (), ("content",))
        before = len(chat.messages)
        for key in ("alone", "output"):
            for message in list_of(conversation.around, key):
                add_message(chat, len(elements) + len(chat.messages), _chat(object_of(message)))
        chat.messages[before:] = [replace(message, origins=(), results=()) for message in chat.messages[before:]]

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put the summary in the place of input messages."""
        origins = change.logged.origins
        if not all(origins[m] for m in change.gone):
            raise NotWritableError("An observation's output, and an input that is no list, are not replaced")
        return super().summarise(document, elements, change)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a message of the shape that the others have."""
        parts = next((list_of(e.value, "parts") for e in elements if list_of(e.value, "parts")), [])
        if not parts:
            return {"role": role, "content": text}
        typed = text_of(parts[0], "type") is not None
        spelled = "model" if role == "assistant" and not typed else role
        return {"role": spelled, "parts": [{"type": "text", "content": text} if typed else {"text": text}]}


def _opened(value: object) -> object:
    """Return what a text of JSON holds, once or more; anything else as it is."""
    for _ in range(3):
        told = decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else None
        if not isinstance(told, list | dict | str):
            return value
        value = told
    return value


def _array(path: _Path, value: object) -> tuple[_Path, list[object] | None]:
    """Return where the list of messages stands, and the list; None where the input is none."""
    for _ in range(3):
        told = decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else None
        if not isinstance(told, list | dict | str):
            break
        path, value = (*path, INSIDE), told
    key = next((key for key in _LISTS if list_of(value, key)), None)
    if key is not None:
        path, value = (*path, key), object_of(value)[key]
    return path, value if isinstance(value, list) else None


def _outputs(value: object, role: str = "assistant") -> Iterator[Mapping[str, object]]:
    """Return the messages of an output: of a list, of one message, of a wrapped one, or of a plain text."""
    if isinstance(value, list):
        for item in value:
            yield from _outputs(item, role)
    elif isinstance(value, Mapping):
        inner = next((value[key] for key in ("message", "content") if isinstance(value.get(key), Mapping)), None)
        wrapped = next((value[key] for key in ("candidates", "choices", "output") if list_of(value, key)), None)
        if wrapped is not None:
            yield from _outputs(wrapped, role)
        elif isinstance(inner, Mapping):
            yield {"role": role, **inner}
        elif any(key in value for key in ("content", "parts", "tool_calls")):
            yield {"role": role, **value}
        else:
            yield {"role": role, "content": encode(value).decode()}
    elif isinstance(value, str) and value:
        yield {"role": role, "content": value}


def _chat(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message in one of the two shapes that are read, with calls where they are looked for."""
    role = text_of(message, "role") or text_of(message, "type") or "user"
    fields: dict[str, object] = {**message, "role": "assistant" if role in {"model", "ai"} else role}
    calls = list_of(message, "tool_calls") or list_of(message, "additional_kwargs", "tool_calls")
    if calls:
        fields["tool_calls"] = [_with_arguments(object_of(call)) for call in calls]
    if "parts" in message:
        fields["parts"] = [_part(object_of(part)) for part in list_of(message, "parts")]
    return fields


def _with_arguments(call: Mapping[str, object]) -> Mapping[str, object]:
    if "arguments" in call or "arguments" in object_of(call, "function"):
        return call
    return {**call, "arguments": call.get("args", call.get("input", {}))}


def _part(part: Mapping[str, object]) -> Mapping[str, object]:
    """Return a part of Gemini's as one with a type."""
    call = object_of(part, "function_call") or object_of(part, "functionCall")
    response = object_of(part, "function_response") or object_of(part, "functionResponse")
    if call:
        return {"type": "tool_call", **call, "arguments": call.get("args", {})}
    if response:
        return {"type": "tool_call_response", "id": response.get("id"), "response": response.get("response")}
    if "type" not in part and isinstance(part.get("text"), str):
        return {"type": "reasoning" if part.get("thought") is True else "text", "content": part["text"]}
    return part if "type" in part else {"type": "part", **part}


LANGFUSE: Final = Langfuse()
