"""Traces of OpenTelemetry with the GenAI conventions: OTLP JSON, and the JSON of the Python SDK."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from turnfold.containers.any_value import fields_of, pairs_of, plain, spelled
from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import INSIDE, Conversation, Listed
from turnfold.containers.protocol import Change, Mark
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_Path = tuple[str | int, ...]
_INPUTS: Final = ("gen_ai.input.messages", "pydantic_ai.all_messages")
_OUTPUT: Final = "gen_ai.output.messages"
_SYSTEM: Final = "gen_ai.system_instructions"
_TOOLS: Final = "gen_ai.tool.definitions"
DETAILS: Final = "gen_ai.client.inference.operation.details"
"""The event of a request with all its messages as attributes."""
_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice")
_NUMBERED: Final = re.compile(
    r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(role|content|tool_call_id|tool_calls\.(\d{1,6})\.(\w+))"
)


@dataclass(frozen=True, slots=True)
class _Span:
    """One span, in whichever of the two spellings: plain attributes, and where each value stands."""

    path: _Path
    id: str | None
    attributes: Mapping[str, object]
    places: Mapping[str, _Path]
    events: Sequence[object]


class OpenTelemetry(Listed):
    """OTLP JSON (`resourceSpans`), one document or one a line, or spans as the Python SDK spells them, a list or lines.

    Each span that holds messages is one transcript, named by its span id: a request of its own, with all that came
    before. The view is `openai.chat`, made of the first of these that the span has:

    - `gen_ai.input.messages` (or `pydantic_ai.all_messages`), JSON text or structured: parts `text`, `reasoning`,
      `tool_call`, `tool_call_response`, `blob` and `uri`; others stay parts. `gen_ai.system_instructions` stand before,
      `gen_ai.output.messages` behind them;
    - events `gen_ai.system.message`, `.user.`, `.assistant.`, `.tool.`, and `gen_ai.choice`;
    - attributes `gen_ai.prompt.<n>.role` and so on, which cannot be written to: their numbers would have a gap.

    A trace keeps no compactions: the summary takes the place of the messages. An output is not replaced. Log records
    are `opentelemetry_logs`; the event in them that has all messages in its attributes is read here.
    """

    name: ClassVar[str] = "opentelemetry"
    title: ClassVar[str] = "OpenTelemetry traces with `gen_ai` messages: OTLP JSON, or the Python SDK's spans."

    def mark(self, value: object) -> Mark | None:
        """See a span with attributes or events of the GenAI conventions."""
        for span in _spans(value):
            name = next((key for key in span.attributes if key.startswith("gen_ai.")), None)
            name = name or next((n for e in span.events if _EVENT.fullmatch(n := text_of(e, "name") or "")), None)
            if name is not None:
                return Mark("proof", f"a span has {name}")
        return next((Mark("usual", f"a log record is the event {DETAILS}") for _ in _details(value)), None)

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the messages of each span."""
        for span in (*_spans(value), *_details(value)):
            head = {"model": text_of(span.attributes, "gen_ai.request.model"), "tools": _tools(span)}
            for name in _INPUTS:
                path = _array(span, name)
                if path is not None:
                    output = () if name != _INPUTS[0] else _messages(span.attributes.get(_OUTPUT))
                    around = {"output": list(output)}
                    yield Conversation(path, span.id, head, _system(span), around)
                    break
            else:
                if any(_EVENT.fullmatch(text_of(event, "name") or "") for event in span.events):
                    yield Conversation((*span.path, "events"), span.id, head)
                elif any(_NUMBERED.fullmatch(key) for key in span.attributes):
                    yield Conversation(span.path, span.id, head, around={"numbered": span.attributes})

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the name of an event that holds no message."""
        return f"event {text_of(element, 'name')}" if text_of(element, "name") else "element without a message"

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the messages, and behind them those that stand elsewhere in the span."""
        for element in elements:
            if element.value is not None:
                _add(chat, element.index, element.value)
        before = len(chat.messages)
        for message in list_of(conversation.around, "output"):
            add_message(chat, len(chat.messages), object_of(message))
        for message in _numbered(object_of(conversation.around, "numbered")):
            add_message(chat, len(chat.messages), message)
        chat.messages[before:] = [replace(message, origins=(), results=()) for message in chat.messages[before:]]

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put the summary in the place of input messages."""
        origins = change.logged.origins
        if not all(origins[m] for m in change.gone):
            raise NotWritableError("A span's output and its numbered attributes are not replaced: choose another cut")
        return super().summarise(document, elements, change)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a message or an event, spelled as the others are."""
        like = object_of(elements[0].value)
        if "attributes" in like:
            stamps = {key: like[key] for key in ("timestamp", "timeUnixNano") if key in like}
            fields = {"content": text, "role": role}
            attributes = pairs_of(fields) if isinstance(like["attributes"], list) else fields
            return {"name": f"gen_ai.{role}.message", **stamps, "attributes": attributes}
        message = {"role": role, "parts": [{"type": "text", "content": text}]}
        return spelled(message) if "kvlistValue" in like else message


def _spans(value: object) -> Iterator[_Span]:
    """Find every span of a document or a line."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _span((number,), item)
    for outer in ("resourceSpans", "batches"):
        for k, resource in enumerate(list_of(value, outer)):
            for middle in ("scopeSpans", "instrumentationLibrarySpans"):
                for m, scope in enumerate(list_of(resource, middle)):
                    for number, item in enumerate(list_of(scope, "spans")):
                        yield from _span((outer, k, middle, m, "spans", number), item)
    yield from _span((), value)


def _details(value: object) -> Iterator[_Span]:
    """Find every log record that describes a request with its messages, in a document or a line."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            if event_name(item) == DETAILS:
                yield _attributed((number,), item, text_of(item, "span_id"))
    for path, records in log_arrays(value):
        for number, item in enumerate(records):
            if event_name(item) == DETAILS:
                yield _attributed((*path, number), item, text_of(item, "spanId"))
    if event_name(value) == DETAILS:
        yield _attributed((), value, text_of(value, "span_id"))


def log_arrays(value: object) -> Iterator[tuple[_Path, list[object]]]:
    """Find every array of log records in OTLP JSON: its path, its items."""
    for k, resource in enumerate(list_of(value, "resourceLogs")):
        for m, scope in enumerate(list_of(resource, "scopeLogs")):
            yield ("resourceLogs", k, "scopeLogs", m, "logRecords"), list_of(scope, "logRecords")


def event_name(record: object) -> str | None:
    """Return what a log record is the event of, in either spelling; None for one that is no log record."""
    name = text_of(record, "eventName") or text_of(record, "event_name")
    attributes = object_of(record).get("attributes")
    if name is None and isinstance(attributes, list):
        name = next((text_of(pair, "value", "stringValue") for pair in attributes if _is_event_name(pair)), None)
    elif name is None:
        name = text_of(attributes, "event.name")
    return name


def _is_event_name(pair: object) -> bool:
    return text_of(pair, "key") == "event.name"


def _span(path: _Path, item: object) -> Iterator[_Span]:
    identifier = text_of(item, "spanId") or text_of(item, "context", "span_id")
    if identifier is not None or isinstance(object_of(item).get("context"), Mapping):
        yield _attributed(path, item, identifier)


def _attributed(path: _Path, item: object, identifier: str | None) -> _Span:
    attributes = object_of(item).get("attributes")
    if isinstance(attributes, list):
        told = {name: plain(object_of(pair).get("value")) for pair in attributes if (name := text_of(pair, "key"))}
        places = {
            name: (*path, "attributes", number, "value")
            for number, pair in enumerate(attributes)
            if (name := text_of(pair, "key"))
        }
    else:
        told = dict(object_of(attributes))
        places = {name: (*path, "attributes", name) for name in told}
    return _Span(path, identifier, told, places, list_of(item, "events"))


def _array(span: _Span, name: str) -> _Path | None:
    """Return where the array of messages stands that an attribute holds, as JSON text or as it is."""
    value, place = span.attributes.get(name), span.places.get(name)
    if place is None:
        return None
    is_pair = place[-1] == "value" and isinstance(place[-2], int)
    if isinstance(value, str) and isinstance(decode(value.encode("utf-8", "surrogatepass")), list):
        return (*place, "stringValue", INSIDE) if is_pair else (*place, INSIDE)
    if isinstance(value, list):
        return (*place, "arrayValue", "values") if is_pair else place
    return None


def _messages(value: object) -> list[object]:
    found = decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    return found if isinstance(found, list) else []


def _system(span: _Span) -> str | None:
    value = span.attributes.get(_SYSTEM)
    texts = [text_of(part, "content") for part in _messages(value)]
    joined = "\n\n".join(text for text in texts if text)
    return joined or (value if isinstance(value, str) and not texts else None)


def _tools(span: _Span) -> object:
    tools = [object_of(tool) for tool in _messages(span.attributes.get(_TOOLS))]
    return [
        tool if "function" in tool else {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}}
        for tool in tools
        if tool
    ] or None


def _add(chat: ChatView, index: int, element: Mapping[str, object]) -> None:
    """Add what an element of any of the arrays says."""
    if "kvlistValue" in element:
        add_message(chat, index, object_of(plain(element)))
    elif "attributes" not in element:
        add_message(chat, index, element, (), ("content",))
    elif _EVENT.fullmatch(text_of(element, "name") or ""):
        _add_event(chat, index, element)


def _add_event(chat: ChatView, index: int, event: Mapping[str, object]) -> None:
    name, attributes = text_of(event, "name") or "", event["attributes"]
    if isinstance(attributes, list):
        fields = fields_of(attributes)
        number = next((k for k, pair in enumerate(attributes) if text_of(pair, "key") == "content"), 0)
        place: _Path | None = ("attributes", number, "value", "stringValue")
    else:
        fields, place = dict(object_of(attributes)), ("attributes", "content")
    for key in ("gen_ai.event.content", "message"):
        body = fields.get(key)
        told = decode(body.encode("utf-8", "surrogatepass")) if isinstance(body, str) else body
        if isinstance(told, Mapping):
            fields, place = {**fields, **told}, None
    role = "assistant" if name == "gen_ai.choice" else name.removeprefix("gen_ai.").removesuffix(".message")
    message: dict[str, object] = {
        key: fields[key] for key in ("content", "parts", "id", "tool_call_id") if key in fields
    }
    calls = _messages(fields.get("tool_calls"))
    add_message(chat, index, {**message, "role": role, "tool_calls": calls}, None, place)


def add_message(
    chat: ChatView,
    index: int,
    message: Mapping[str, object],
    own: _Path | None = None,
    content_place: _Path | None = None,
) -> None:
    """Add a message with `parts`, or one with `content` and calls as in chat requests.

    `own` is where the message stands in its element, and `content_place` its content: None where that is no JSON value.
    """
    role, content = text_of(message, "role") or "user", message.get("content")
    texts: list[object] = []
    thoughts: list[str] = []
    calls: list[tuple[str | None, str, object]] = []
    results: list[tuple[str | None, object, _Path | None]] = []
    for number, part in enumerate(map(object_of, list_of(message, "parts"))):
        kind, said = text_of(part, "type"), part.get("content")
        if kind == "text" and isinstance(said, str):
            texts.append({"type": "text", "text": said})
        elif kind in {"reasoning", "thinking"} and isinstance(said, str):
            thoughts.append(said)
        elif kind == "tool_call":
            calls.append((text_of(part, "id"), text_of(part, "name") or "", part.get("arguments", {})))
        elif kind == "tool_call_response":
            key = next((key for key in ("response", "result") if key in part), "response")
            place = None if own is None else (*own, "parts", number, key)
            results.append((text_of(part, "id"), part.get(key), place))
        else:
            texts.append(_media(part))
    if "parts" in message:
        content = text_of(texts[0], "text") if len(texts) == 1 and text_of(texts[0], "text") else texts
    for call in list_of(message, "tool_calls"):
        function = object_of(call, "function") or object_of(call)
        calls.append((text_of(call, "id"), text_of(function, "name") or "", function.get("arguments", {})))
    if role == "tool" and not results:
        results.append((text_of(message, "id") or text_of(message, "tool_call_id"), content, content_place))
        content = None
    for call_id, result, place in results:
        text = "" if result is None else result if isinstance(result, str) else encode(result).decode()
        chat.result(call_id, text, index, (index, place) if place and isinstance(result, str) else None)
    reasoning = "\n".join(thoughts) or None
    if calls:
        chat.calls(content or None, calls, index, reasoning_content=reasoning)
    elif content or not results:
        spoken = role if role in {"system", "developer", "assistant"} else "user"
        chat.text(spoken, content or "", index, reasoning_content=reasoning)


def _media(part: Mapping[str, object]) -> object:
    """Return an image as `openai.chat` has it; any other part as it is."""
    kind, mime = text_of(part, "type"), text_of(part, "mime_type") or "image/png"
    image = text_of(part, "modality") == "image" or mime.startswith("image/")
    url = text_of(part, "uri") if kind == "uri" else None
    if kind == "blob" and text_of(part, "content") is not None:
        url = f"data:{mime};base64,{part['content']}"
    return {"type": "image_url", "image_url": {"url": url}} if image and url else part


def _numbered(attributes: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Put messages together from attributes whose names carry their numbers."""
    messages: dict[tuple[bool, int], dict[str, object]] = {}
    calls: dict[tuple[bool, int], dict[int, dict[str, object]]] = {}
    for name, value in attributes.items():
        named = _NUMBERED.fullmatch(name)
        if named is None:
            continue
        which = (named[1] == "completion", int(named[2]))
        message = messages.setdefault(which, {})
        if named[4] is None:
            message[named[3]] = value
        else:
            calls.setdefault(which, {}).setdefault(int(named[4]), {})[named[5]] = value
    for which in sorted(messages):
        called = [call for _, call in sorted(calls.get(which, {}).items())]
        message = {"role": "assistant" if which[0] else "user", **messages[which]}
        parts = _messages(message.get("content"))
        if parts and all(text_of(part, "type") for part in parts):
            message["content"] = parts
        yield {**message, "tool_calls": called}


OPENTELEMETRY: Final = OpenTelemetry()
