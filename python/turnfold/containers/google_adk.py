"""Sessions of Google's Agent Development Kit (ADK), and its files of expectations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, placed
from turnfold.containers.protocol import Change, Mark
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError


class _Compaction(msgspec.Struct, frozen=True):
    """What one event compacted: all events of `start <= timestamp <= end`."""

    index: int
    start: float
    end: float
    content: Mapping[str, object]


class GoogleAdk(Listed):
    """One document `{"id", "app_name", "user_id", "state", "events": [{"author", "invocation_id", "content", "actions",
    "timestamp"}]}`, in snake_case or camelCase. Files of expectations (`*.test.json`, `*.evalset.json`) are known, and
    hold no transcript.

    The view is `openai.chat`: `function_call` parts as calls, those without an id named from place, `function_response`
    parts as results, paired by id or else by order; thoughts as reasoning, images as parts. A response that is only a
    text in `result` is that text. Events of a `compaction` are carried out: what lies in its span of time is
    `compacted event` in `unread`, its content stands there instead. The log holds neither system prompt nor tools.

    A compaction is an event at the end, as ADK writes it; all events stay. Where times do not tell what goes from what
    stays, what goes is taken out and a user's event takes its place.
    """

    name: ClassVar[str] = "google_adk"
    title: ClassVar[str] = "Google ADK sessions: `events` with `author`, `content` of `parts`, and an invocation."

    def mark(self, value: object) -> Mark | None:
        """See an event with author and invocation, or cases of expectations."""
        for number, event in enumerate(list_of(value, "events")[:8]):
            if "author" in object_of(event) and _field(event, "invocation_id") is not None:
                return Mark("proof", f"events[{number}] has author and invocation")
        if isinstance(value, Mapping) and "events" in value and _field(value, "app_name") is not None:
            return Mark("usual", "the document has events and the name of an app")
        if isinstance(value, Mapping) and "eval_cases" in value and "eval_set_id" in value:
            return Mark("proof", "the document has eval_cases and eval_set_id")
        for case in (value if isinstance(value, list) else [])[:1]:
            turns = list_of(case, "data") or [case]
            if "query" in object_of(turns[0]) and "expected_tool_use" in object_of(turns[0]):
                return Mark("proof", "the first case has query and expected_tool_use")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `events`."""
        if isinstance(value, Mapping) and isinstance(value.get("events"), list) and self.mark(value) is not None:
            yield Conversation(("events",), text_of(value, "id"))

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return what an event is called that holds no message."""
        if not list_of(element, "content", "parts"):
            return "event without content"
        return "compacted event"

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the events that are not compacted, and what stands for the others."""
        compactions = _compactions(elements)
        waiting = list(compactions)
        for element in elements:
            time = _time(element.value)
            for compaction in [c for c in waiting if c.index == element.index or (c.end < time and c.start <= c.end)]:
                if compaction.index == element.index or not _within(time, compactions):
                    _add(chat, compaction.index, compaction.content, ())
                    waiting.remove(compaction)
            if element.value is not None and not _within(time, compactions):
                _add(chat, element.index, object_of(element.value, "content"), ("content",))

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put an event with a compaction behind the last event."""
        removed, summaries = placed(change)
        earlier = {compaction.index: compaction for compaction in _compactions(elements)}
        spans = [(c.start, c.end) for index in removed if (c := earlier.get(index))]
        spans += [(_time(elements[k].value),) * 2 for k in removed if k not in earlier]
        start, end = min(span[0] for span in spans), max(span[1] for span in spans)
        kept = [index for origins in change.logged.origins for index in origins if index not in removed]
        mixed = any(start <= _time(elements[index].value) <= end for index in kept if index not in earlier)
        if len(summaries) == 1 and start > 0 and not mixed:
            event = _event(elements, change.holes[0].role, change.holes[0].text, (start, end))
            return edit_items([(e.start, e.stop) for e in elements], set(), [(len(elements), encode(event))])
        if any(index in earlier for index in removed):
            raise NotWritableError("Times do not tell what an earlier compaction stands for: choose another cut")
        new = [(index, encode(_event(elements[: index + 1], role, text, None))) for index, role, text in summaries]
        return edit_items([(e.start, e.stop) for e in elements], removed, new)


def _field(value: object, name: str) -> object:
    """Return a field by its name in snake_case, spelled so or in camelCase."""
    fields = object_of(value)
    first, *others = name.split("_")
    return fields.get(name, fields.get(first + "".join(word.capitalize() for word in others)))


def _time(event: object) -> float:
    """Return an event's time in seconds; -1 where it has none."""
    time = object_of(event).get("timestamp")
    return float(time) if isinstance(time, int | float) else -1.0


def _compactions(elements: Sequence[Record]) -> list[_Compaction]:
    """Return the compactions that no later one covers."""
    found: list[_Compaction] = []
    for element in elements:
        compaction = object_of(element.value, "actions").get("compaction")
        start, end = _field(compaction, "start_timestamp"), _field(compaction, "end_timestamp")
        content = _field(compaction, "compacted_content")
        if isinstance(start, int | float) and isinstance(end, int | float) and isinstance(content, Mapping):
            found = [earlier for earlier in found if not start <= earlier.start <= earlier.end <= end]
            found.append(_Compaction(element.index, float(start), float(end), content))
    return found


def _within(time: float, compactions: Sequence[_Compaction]) -> bool:
    return any(compaction.start <= time <= compaction.end for compaction in compactions)


def _event(elements: Sequence[Record], role: str, text: str, span: tuple[float, float] | None) -> object:
    """Return an event with the summary: as content, or as what stands for a span of time."""
    last = object_of(elements[-1].value)
    camel = any("invocationId" in object_of(element.value) for element in elements)
    content = {"parts": [{"text": text}], "role": "model" if role == "assistant" else "user"}
    stamp = {"timestamp": last["timestamp"]} if "timestamp" in last else {}
    invocation = {"invocationId" if camel else "invocation_id": _field(last, "invocation_id") or ""}
    identity = {"id": f"{text_of(last, 'id') or 'event'}-compaction", **stamp}
    if span is None:
        return {"content": content, **invocation, "author": "user", "actions": {}, **identity}
    names = ("start_timestamp", "end_timestamp", "compacted_content")
    spelled = ("startTimestamp", "endTimestamp", "compactedContent") if camel else names
    compaction = dict(zip(spelled, (*span, content), strict=True))
    return {**invocation, "author": "user", "actions": {"compaction": compaction}, **identity}


def _add(chat: ChatView, index: int, content: Mapping[str, object], base: tuple[str | int, ...]) -> None:
    """Add what the parts of one content say. Results come first, as they answer what was before."""
    texts: list[object] = []
    thoughts: list[str] = []
    calls: list[tuple[str | None, str, object]] = []
    answered = False
    for number, part in enumerate(map(object_of, list_of(content, "parts"))):
        call, response, text = _field(part, "function_call"), _field(part, "function_response"), text_of(part, "text")
        blob = _field(part, "inline_data")
        if isinstance(call, Mapping):
            calls.append((text_of(call, "id"), text_of(call, "name") or "", call.get("args") or {}))
        elif isinstance(response, Mapping):
            answered = True
            said = response.get("response")
            plain = text_of(said, "result") if len(object_of(said)) == 1 else None
            key = "function_response" if "function_response" in part else "functionResponse"
            place = (index, (*base, "parts", number, key, "response", "result")) if base and plain is not None else None
            chat.result(text_of(response, "id"), encode(said).decode() if plain is None else plain, index, place)
        elif text is not None and part.get("thought") is True:
            thoughts.append(text)
        elif text is not None:
            texts.append({"type": "text", "text": text})
        elif isinstance(blob, Mapping) and text_of(blob, "data") is not None:
            url = f"data:{_field(blob, 'mime_type') or 'image/png'};base64,{blob['data']}"
            texts.append({"type": "image_url", "image_url": {"url": url}})
        elif part:
            texts.append({"type": next(iter(part)), **part})
    spoken: object = text_of(texts[0], "text") if len(texts) == 1 and text_of(texts[0], "text") else texts
    said_before = {"reasoning_content": "\n".join(thoughts) or None}
    if calls:
        chat.calls(spoken or None, calls, index, **said_before)
    elif texts or thoughts:
        model = text_of(content, "role") == "model"
        chat.text("assistant" if model else "user", spoken or "", index, **said_before)
    elif not answered and list_of(content, "parts"):
        chat.text("assistant" if text_of(content, "role") == "model" else "user", "", index)


GOOGLE_ADK: Final = GoogleAdk()
