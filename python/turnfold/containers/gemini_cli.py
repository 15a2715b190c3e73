"""Session files of Gemini CLI."""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import LOOKED_AT, Document, Record, at, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, apply_edits, edit_items
from turnfold.containers.listed import edit_value, shortened
from turnfold.containers.protocol import Change, Mark, Place, Reading
from turnfold.containers.records import edit_records
from turnfold.containers.view import ChatView, view
from turnfold.errors import InvalidLogError, NotWritableError

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:gemini_cli")
_ROLES: Final = {"user": "user", "gemini": "assistant", "model": "assistant"}


class _Element(msgspec.Struct, frozen=True):
    """One message record: its line or item, and where in that it stands."""

    record: Record
    path: tuple[str | int, ...]
    value: Mapping[str, object]


class GeminiCli:
    """A document `{"sessionId", "messages": [{"type": "user" | "gemini", "content", "toolCalls"}]}`, or JSON lines.

    The view is `openai.chat`: a `gemini` message is the assistant's, with its thoughts as `reasoning_content`; each of
    its `toolCalls` holds the result too, which is the tool message that follows. Messages of other types (`info`,
    `error`) were never sent. In JSON lines a message with an id that was there takes its place, `$rewindTo` takes the
    messages from that id on away, and `$set` with `messages` replaces all.

    A compaction of a document takes messages out, and puts one in the place of those that are summarised. In JSON lines
    it is one `$set` at the end with all messages that stay, which is how the tool records that its history changed; all
    other lines stay as they are.
    """

    name: ClassVar[str] = "gemini_cli"
    title: ClassVar[str] = "Gemini CLI sessions: `messages` of type user and gemini, as a document or JSON lines."
    takes_out: ClassVar[bool] = True
    writes: ClassVar[bool] = True

    def recognise(self, document: Document) -> Mark | None:
        """See the session's head, or a message of type gemini."""
        if not _is_lines(document):
            return _mark(document.value)
        found = ((_mark(line.value), line.index) for line in document.lines[:LOOKED_AT] if line.value is not None)
        return next((Mark(m.strength, f"line {k + 1}: {m.reason}") for m, k in found if m is not None), None)

    def read(self, document: Document) -> Reading:
        """Read the one session of the file. O(bytes)."""
        if self.recognise(document) is None:
            raise InvalidLogError(f"This is no log of kind {self.name}: neither a session nor a message of it", 0, "")
        elements = list(_elements(document))
        chat, _ = _projected(elements)
        used = {index for message in chat.messages for index in message.origins}
        unread = Counter(_kind(element.value) for element in elements if element.record.index not in used)
        odd: list[int] = []
        if _is_lines(document):
            unread = Counter()
            for line in document.lines:
                if line.value is not None and line.index not in used:
                    unread[_kind(line.value)] += 1
                elif line.value is None:
                    unread["blank line" if line.blank else "line that is no JSON object"] += 1
                    odd += [] if line.blank else [line.index]
        if not chat.messages:
            return Reading((), dict(unread), tuple(odd))
        heads = [line.value for line in document.lines] if _is_lines(document) else [document.value]
        session = next((found for head in heads if (found := text_of(head, "sessionId"))), "session")
        model = next((m for e in reversed(elements) if (m := text_of(e.value, "model"))), None)
        return Reading((view(session, "openai.chat", chat.messages, {"model": model}),), dict(unread), tuple(odd))

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Put the summary in its place, or say in a new line what the messages are."""
        change = changes[0]
        elements = list(_elements(document))
        edits: list[Edit] = []
        for place, value in shortened(change):
            edits.append(edit_value(document, _record_of(document, elements, place[0]), place, value))
        if not change.gone:
            return apply_edits(document.data, edits)
        _, owners = _projected(elements)
        gone, summaries = _placed(change, elements, owners)
        if not _is_lines(document):
            spans = [(element.record.start, element.record.stop) for element in elements]
            edits += edit_items(spans, gone, summaries)
            return apply_edits(document.data, edits)
        # What is said again holds the shortened results; the lines that it replaces stay as they are.
        kept: list[bytes] = []
        before = dict(summaries)
        for index, element in enumerate(elements):
            kept += [before[index]] if index in before else []
            if index not in gone and index in owners:
                kept.append(_bytes_of(document, element, edits))
        line = b'{"$set":{"messages":[%b]}}' % b",".join(kept)
        return apply_edits(document.data, edit_records(document, set(), [(len(document.lines), line)]))


def _is_lines(document: Document) -> bool:
    """Whether it is JSON lines. A document may be written on one line, too."""
    return document.is_lines and not {"messages", "history"} & set(object_of(document.value))


def _mark(value: object) -> Mark | None:
    if text_of(value, "sessionId") is not None and text_of(value, "projectHash") is not None:
        return Mark("proof", "sessionId and projectHash")
    record = object_of(value)
    if (
        text_of(record, "type") == "gemini"
        and "content" in record
        and {"tokens", "thoughts", "toolCalls"} & set(record)
    ):
        return Mark("proof", "a message of type gemini")
    first = at(value, ("history", 0))
    if text_of(first, "role") is not None and isinstance(object_of(first).get("parts"), list):
        return Mark("usual", "history[0] has role and parts")
    if any(text_of(message, "type") == "gemini" for message in list_of(value, "messages")[:LOOKED_AT]):
        return Mark("usual", "messages of type gemini")
    return None


def _kind(value: Mapping[str, object]) -> str:
    for name in ("$set", "$rewindTo"):
        if name in value:
            return name
    kind = text_of(value, "type")
    if kind is None:
        return "session" if "sessionId" in value else "record without a type"
    return "superseded message" if kind in _ROLES else kind


def _elements(document: Document) -> Iterator[_Element]:
    """Find the message records that count, in order."""
    if _is_lines(document):
        yield from _replayed(document.lines)
        return
    for name in ("messages", "history"):
        items = document.items_at((name,))
        yield from (_Element(item, (), item.value) for item in items if item.value is not None)
        if items:
            return
    span = document.span(())
    if span is not None and text_of(document.value, "type") in _ROLES:
        yield _Element(Record(0, *span, object_of(document.value)), (), object_of(document.value))


def _replayed(lines: Sequence[Record]) -> Iterator[_Element]:
    found: dict[str, _Element] = {}
    for line in lines:
        value = object_of(line.value)
        rewound = text_of(value, "$rewindTo")
        messages = at(value, ("$set", "messages"))
        if rewound is not None:
            while found and found.popitem()[0] != rewound:
                pass
        elif isinstance(messages, list):
            found = {}
            for k, message in enumerate(messages):
                if isinstance(message, dict):
                    found[text_of(message, "id") or f"{line.index}.{k}"] = _Element(
                        line, ("$set", "messages", k), message
                    )
        elif (identifier := text_of(value, "id")) is not None:
            found[identifier] = _Element(line, (), value)
    yield from found.values()


def _projected(elements: Sequence[_Element]) -> tuple[ChatView, list[int]]:
    """Return the view, and which element each of its messages is of."""
    chat = ChatView()
    owners: list[int] = []
    answered: set[str] = set()
    for index, element in enumerate(elements):
        _project(chat, element, answered)
        owners += [index] * (len(chat.messages) - len(owners))
    return chat, owners


def _project(chat: ChatView, element: _Element, answered: set[str]) -> None:
    value, record = element.value, element.record.index
    role = _ROLES.get(text_of(value, "type") or text_of(value, "role") or "")
    if role is None:
        return
    said = value.get("content", value.get("parts"))
    parts = said if isinstance(said, list) else [said]
    results = [k for k, part in enumerate(parts) if object_of(part, "functionResponse")]
    calls = [object_of(call) for call in list_of(value, "toolCalls")]
    known = {text_of(call, "id") for call in calls}
    own = [object_of(part, "functionCall") for part in parts if object_of(part, "functionCall")]
    calls += [call for call in own if text_of(call, "id") not in known or text_of(call, "id") is None]
    content = chat_content(parts)
    for k in results:
        result = object_of(parts[k], "functionResponse")
        if text_of(result, "id") not in answered:
            field = "content" if "content" in value else "parts"
            path = (*element.path, field, k, "functionResponse", "response", "output")
            is_text = text_of(result, "response", "output") is not None
            chat.result(text_of(result, "id"), response_text(result), record, (record, path) if is_text else None)
    if calls:
        thoughts = "\n".join(_thought(thought) for thought in list_of(value, "thoughts")) or None
        asked = [(text_of(call, "id"), text_of(call, "name") or "", call.get("args", {})) for call in calls]
        ids = chat.calls(content or None, asked, record, reasoning_content=thoughts)
        for k, (call, call_id) in enumerate(zip(calls, ids, strict=True)):
            if list_of(call, "result"):
                answered.add(call_id)
                _result(chat, element, k, call_id)
    elif content or not results:
        thoughts = "\n".join(_thought(thought) for thought in list_of(value, "thoughts")) or None
        chat.text(role, content, record, reasoning_content=thoughts if role == "assistant" else None)


def _result(chat: ChatView, element: _Element, number: int, call_id: str) -> None:
    parts = list_of(element.value, "toolCalls", number, "result")
    path = (*element.path, "toolCalls", number, "result", 0, "functionResponse", "response", "output")
    place: Place | None = (element.record.index, path)
    text = text_of(parts[0], "functionResponse", "response", "output") if len(parts) == 1 else None
    if text is not None:
        chat.result(call_id, text, element.record.index, place)
        return
    content = [
        response_text(object_of(part, "functionResponse")) for part in parts if object_of(part, "functionResponse")
    ]
    rest = chat_content([part for part in parts if not object_of(part, "functionResponse")])
    if not rest:
        chat.result(call_id, "\n".join(content), element.record.index)
        return
    media = [{"type": "text", "text": rest}] if isinstance(rest, str) else rest
    outputs = [{"type": "text", "text": output} for output in content]
    chat.result(call_id, [*outputs, *media], element.record.index)


def response_text(result: Mapping[str, object]) -> str:
    """Return what a `functionResponse` says: its output where that is a text, else all of it as JSON."""
    output = text_of(result, "response", "output")
    return encode(result.get("response")).decode() if output is None else output


def chat_content(parts: Sequence[object]) -> str | list[object]:
    """Spell parts as `openai.chat` does: a string where all is text."""
    found: list[object] = []
    for part in parts:
        text = part if isinstance(part, str) else text_of(part, "text")
        data = object_of(part, "inlineData")
        if text is not None:
            found.append({"type": "text", "text": text})
        elif data:
            url = f"data:{text_of(data, 'mimeType') or ''};base64,{text_of(data, 'data') or ''}"
            found.append({"type": "image_url", "image_url": {"url": url}})
        elif isinstance(part, Mapping) and not {"functionCall", "functionResponse"} & set(part):
            found.append(part)
    texts = [text_of(part, "text") if text_of(part, "type") == "text" else None for part in found]
    return found if None in texts else "".join(text or "" for text in texts)


def _thought(thought: object) -> str:
    subject, description = text_of(thought, "subject"), text_of(thought, "description")
    return ": ".join(text for text in (subject, description) if text)


def _placed(
    change: Change, elements: Sequence[_Element], owners: Sequence[int]
) -> tuple[set[int], list[tuple[int, bytes]]]:
    gone = {owners[message] for message in change.gone}
    if gone & {owner for message, owner in enumerate(owners) if message not in change.gone}:
        raise NotWritableError("A message of the session holds both what goes and what stays: choose another cut")
    summaries: list[tuple[int, bytes]] = []
    # The log's id may hold half of a surrogate pair, which no digest takes.
    identity = change.logged.id.encode("utf-8", "backslashreplace").decode()
    for hole in change.holes:
        own = owners[hole.start : hole.stop]
        stamp = next((t for k in reversed(own) if (t := text_of(elements[k].value, "timestamp"))), None)
        text = hole.text.encode("utf-8", "surrogatepass").hex()
        element: dict[str, object] = {
            "id": str(uuid.uuid5(_NAMESPACE, f"{identity}:{text}")),
            **({} if stamp is None else {"timestamp": stamp}),
            "type": "user" if hole.role == "user" else "gemini",
            "content": [{"text": hole.text}],
        }
        summaries.append((own[0], encode(element)))
    return gone, summaries


def _record_of(document: Document, elements: Sequence[_Element], index: int) -> Record:
    if _is_lines(document):
        return document.lines[index]
    return next(element.record for element in elements if element.record.index == index)


def _bytes_of(document: Document, element: _Element, edits: Sequence[Edit]) -> bytes:
    """Return one message record, with those edits that fall into it."""
    record = element.record
    line = document.data[record.start : record.stop]
    span = Document(line).span(element.path) or (0, len(line))
    start, stop = record.start + span[0], record.start + span[1]
    own = [Edit(e.start - start, e.stop - start, e.new) for e in edits if start <= e.start and e.stop <= stop]
    return apply_edits(document.data[start:stop], own)


GEMINI_CLI: Final = GeminiCli()
