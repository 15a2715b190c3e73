"""Log records of OpenTelemetry with the GenAI events: OTLP JSON, and the JSON of the Python SDK."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.any_value import plain, spelled
from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, apply_edits, edit_items
from turnfold.containers.listed import placed
from turnfold.containers.opentelemetry import DETAILS, OPENTELEMETRY, add_message, event_name, log_arrays
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Reading
from turnfold.containers.records import Records
from turnfold.containers.view import ChatView, view
from turnfold.errors import NotWritableError

_EVENT: Final = re.compile(r"gen_ai\.(?:(system|user|assistant|tool)\.message|choice)")
_CHOICE: Final = "gen_ai.choice"


class OpenTelemetryLogs(Records):
    """OTLP JSON (`resourceLogs`), one document or one a line, or log records as the Python SDK spells them, a list or
    lines. The event's name stands in `eventName` or `event_name`, or in the attribute `event.name`.

    Message events (`gen_ai.system.message`, `.user.`, `.assistant.`, `.tool.`, and `gen_ai.choice`) hold one message
    each, in a body that is structured or JSON text. Those of one span are one transcript in `openai.chat`, named by the
    span, wherever they stand: an exporter writes them in batches. Without a span, a request ends with its choice. Only
    the first of several choices is read. An event `gen_ai.client.inference.operation.details` holds a whole request in
    its attributes, and is read as the same attributes of a span are: see `opentelemetry`.

    Logs keep no compactions: a record of the summary takes the place of those that it replaces. A choice
    is not replaced.
    """

    name: ClassVar[str] = "opentelemetry_logs"
    title: ClassVar[str] = "OpenTelemetry log records with `gen_ai` events: OTLP JSON, or the Python SDK's records."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See an event of the GenAI conventions."""
        name = event_name(record)
        known = name is not None and (name == DETAILS or _EVENT.fullmatch(name))
        return Mark("proof", f"a log record is the event {name}") if known else None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the name of an event that holds no message."""
        name = event_name(record)
        return "log record" if name is None else f"event {name}"

    def rows(self, document: Document) -> tuple[Record, ...]:
        """Return the log records of all arrays, or the lines or items where each is one."""
        arrays = list(_arrays(document))
        if not arrays:
            return document.records
        return tuple(record for array in arrays for record in array)

    def read(self, document: Document) -> Reading:
        """Read message events by their spans, and the events of whole requests."""
        reading = super().read(document)
        whole = [record.index for record in self.rows(document) if _is_details(record)]
        if not whole:
            return reading
        inside = OPENTELEMETRY.read(document).transcripts
        taken = {logged.id for logged in inside}
        events = tuple(
            LoggedTranscript(f"{t.id} (events)", t.transcript, t.origins, t.results) if t.id in taken else t
            for t in reading.transcripts
        )
        unread = Counter(reading.unread)
        unread[f"event {DETAILS}"] -= len(inside)
        return Reading((*events, *inside), dict(+unread), reading.unread_lines)

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the message events."""
        for name, group in _groups(records):
            chat = ChatView()
            for record, event in group:
                _add_event(chat, record, event)
            if chat.messages:
                model = next((found for record, _ in group if (found := _model(record.value))), None)
                yield view(name, "openai.chat", chat.messages, {"model": model})

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Record each compaction where the messages stand: among the records, or inside of one."""
        inside = tuple(change for change in changes if change.logged.path)
        edits = list(OPENTELEMETRY.edits(document, inside))
        edits += self.edits(document, tuple(change for change in changes if not change.logged.path))
        return apply_edits(document.data, edits)

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Return the edits that put records of summaries in the place of what they replace, array by array."""
        arrays, rows = list(_arrays(document)), self.rows(document)
        removed, summaries = placed(change)
        if any(event_name(rows[index].value) == _CHOICE for index in removed):
            raise NotWritableError("A request's answer is what ends it, and is not replaced: choose another cut")
        if not arrays:
            yield from super().summarise(document, change)
            return
        new = [(index, encode(_spelled(rows[index].value or {}, role, text))) for index, role, text in summaries]
        for array in arrays:
            first, last = array[0].index, array[-1].index
            gone = {index - first for index in removed if first <= index <= last}
            put = [(index - first, item) for index, item in new if first <= index <= last]
            yield from edit_items([(record.start, record.stop) for record in array], gone, put)

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return the record of a summary, spelled as the first that it replaces."""
        index = next(origins[0] for origins in change.logged.origins[change.holes[0].start :] if origins)
        return _spelled(records[index].value or {}, role, text)


def _arrays(document: Document) -> Iterator[tuple[Record, ...]]:
    """Find the arrays of log records in OTLP JSON; their records are numbered from one to the next."""
    at = 0
    lines: list[tuple[int, Document]] = [(0, document)]
    if document.is_lines:
        lines = [
            (line.start, Document(document.data[line.start : line.stop]))
            for line in document.lines
            if list_of(line.value, "resourceLogs")
        ]
    for offset, inner in lines:
        for path, _ in log_arrays(inner.value):
            items = inner.items_at(path)
            if items:
                yield tuple(Record(at + r.index, r.start + offset, r.stop + offset, r.value) for r in items)
                at += len(items)


def _is_details(record: Record) -> bool:
    return record.value is not None and event_name(record.value) == DETAILS


def _groups(records: Sequence[Record]) -> Iterator[tuple[str, list[tuple[Record, str]]]]:
    """Gather message events by their span; those without one by the choices that end a request."""
    spans: dict[str, list[tuple[Record, str]]] = {}
    loose = 1
    ended = False
    for record in records:
        name = event_name(record.value)
        if name is None or not _EVENT.fullmatch(name) or _number(record.value):
            continue
        span = text_of(record.value, "spanId") or text_of(record.value, "span_id")
        if not span or not span.removeprefix("0x").strip("0"):
            loose += ended and name != _CHOICE
            ended = name == _CHOICE
            span = f"request {loose}"
        spans.setdefault(span, []).append((record, name))
    yield from spans.items()


def _number(record: object) -> int:
    """Return which of several choices an event is; 0 for any other event."""
    number = _body(record).get("index")
    return number if isinstance(number, int) else 0


def _body(record: object) -> Mapping[str, object]:
    body = object_of(record).get("body")
    if object_of(body).keys() & {"stringValue", "kvlistValue"}:
        body = plain(body)
    if isinstance(body, str):
        inside = decode(body.encode("utf-8", "surrogatepass"))
        return inside if isinstance(inside, dict) else {"content": body}
    return object_of(body)


def _model(record: object) -> str | None:
    attributes = object_of(record).get("attributes")
    pairs = attributes if isinstance(attributes, list) else []
    names = ("gen_ai.request.model", "gen_ai.response.model")
    spelled_out = (text_of(pair, "value", "stringValue") for pair in pairs if text_of(pair, "key") in names)
    return next((found for found in (*spelled_out, *(text_of(attributes, name) for name in names)) if found), None)


def _add_event(chat: ChatView, record: Record, event: str) -> None:
    body = _body(record.value)
    role = event.removeprefix("gen_ai.").removesuffix(".message")
    if event == _CHOICE:
        role, body = "assistant", object_of(body, "message") or body
    kept = {key: body[key] for key in ("content", "parts", "id", "tool_call_id", "tool_calls") if key in body}
    given = text_of(body, "role")
    role = given if given in {"system", "developer"} and role == "system" else role
    add_message(chat, record.index, {**kept, "role": role}, None, _content_place(record.value))


def _content_place(record: object) -> tuple[str | int, ...] | None:
    """Return where the content in the body of a record is a text."""
    for number, pair in enumerate(list_of(record, "body", "kvlistValue", "values")):
        if text_of(pair, "key") == "content" and text_of(pair, "value", "stringValue") is not None:
            return ("body", "kvlistValue", "values", number, "value", "stringValue")
    return ("body", "content") if text_of(record, "body", "content") is not None else None


def _spelled(like: Mapping[str, object], role: str, text: str) -> Mapping[str, object]:
    """Return the record of a message, with the span, the times and the source of another."""
    name = f"gen_ai.{role}.message"
    attributes = like.get("attributes")
    if isinstance(attributes, list):
        named = {"key": "event.name", "value": {"stringValue": name}}
        attributes = [named if text_of(pair, "key") == "event.name" else pair for pair in attributes]
    elif "event.name" in object_of(attributes):
        attributes = {**object_of(attributes), "event.name": name}
    fields = {"role": role, "content": text}
    body = like.get("body")
    if isinstance(body, str):
        new: object = encode(fields).decode()
    elif text_of(body, "stringValue") is not None:
        new = {"stringValue": encode(fields).decode()}
    else:
        new = spelled(fields) if "kvlistValue" in object_of(body) else fields
    told = {key: name for key in ("eventName", "event_name") if text_of(like, key) is not None}
    return {**like, **told, "body": new, **({} if attributes is None else {"attributes": attributes})}


OPENTELEMETRY_LOGS: Final = OpenTelemetryLogs()
"""Log records of OpenTelemetry."""
