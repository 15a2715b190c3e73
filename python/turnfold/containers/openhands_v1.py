"""Event logs of the OpenHands SDK, version 1."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import placed
from turnfold.containers.protocol import Change, LoggedTranscript, Mark
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ChatView, view
from turnfold.errors import NotWritableError

_SENT: Final = {
    "SystemPromptEvent",
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
}
"""Events that OpenHands turns into messages; a summary's offset counts these and earlier summaries."""
_OTHERS: Final = {"ConversationStateUpdateEvent", "Condensation", "CondensationRequest", "PauseEvent"}


@dataclass(frozen=True, slots=True)
class _Seen:
    """One entry of what the model sees: an event, or (`summary`) what a condensation put in its place."""

    index: int
    id: str
    value: Mapping[str, object]
    summary: bool = False


class OpenHandsV1(Records):
    """JSON lines with `kind`: `SystemPromptEvent`, `MessageEvent`, `ActionEvent`, `ObservationEvent`, `Condensation`.

    The view is `openai.chat`. Actions with one `llm_response_id` are one message, whose text and reasoning are the
    first one's. Each `Condensation` is carried out: its forgotten events go, its summary stands at its offset as a user
    message. `ConversationStateUpdateEvent` and the like hold no message.

    A compaction is a `Condensation` at the end, as OpenHands writes it; all events stay.
    """

    name: ClassVar[str] = "openhands_v1"
    title: ClassVar[str] = "OpenHands SDK event logs: JSON lines with `kind`, `source` and `id`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a `kind` that no other tool writes beside `source` and `id`."""
        kind = text_of(record, "kind")
        if kind in _SENT | _OTHERS and "source" in record and "id" in record:
            return Mark("proof", f"an event of kind {kind}")
        return None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the event's kind; for one that a condensation forgot, that."""
        kind = text_of(record, "kind") or "record without a kind"
        return "forgotten event" if kind in _SENT else kind

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one conversation of the log. O(bytes)."""
        seen = _seen(records)
        chat = ChatView()
        batches = _batches(seen)
        for entry in seen:
            _add(chat, entry, batches)
        if chat.messages:
            first = next((e.value for e in seen if e.value.get("kind") == "SystemPromptEvent"), {})
            yield view("conversation", "openai.chat", chat.messages, {"tools": _tools(list_of(first, "tools"))})

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put one `Condensation` a summary behind the last record."""
        records = document.records
        placed(change)
        if any(hole.role != "user" for hole in change.holes):
            raise NotWritableError("The summary of an OpenHands log is the user's: use a policy that places it so")
        last = next(record.value for record in reversed(records) if record.value is not None)
        seen = _seen(records)
        stamp = {"timestamp": last["timestamp"]} if "timestamp" in last else {}
        new: list[tuple[int, bytes]] = []
        for number, hole in enumerate(change.holes):
            gone = {index for m in hole.gone for index in change.logged.origins[m]}
            forgotten = [entry.id for entry in seen if entry.index in gone]
            before = {index for origins in change.logged.origins[: hole.start] for index in origins}
            # Each earlier hole is one summary by then.
            swallowed = sum(entry.index in before for entry in seen)
            for earlier in change.holes[:number]:
                within = {index for m in earlier.gone for index in change.logged.origins[m]}
                swallowed += 1 - sum(entry.index in within for entry in seen)
            summary = {"summary": hole.text, "summary_offset": swallowed}
            new.append((len(records), _condensation(last, stamp, number, forgotten, summary)))
        # Behind the summaries, whose offsets count what goes without one.
        dropped = {index for part in change.dropped for m in part for index in change.logged.origins[m]}
        if dropped:
            forgotten = [entry.id for entry in seen if entry.index in dropped]
            new.append((len(records), _condensation(last, stamp, len(change.holes), forgotten, {})))
        return edit_records(document, set(), new)


def _condensation(
    last: Mapping[str, object],
    stamp: Mapping[str, object],
    number: int,
    forgotten: Sequence[str],
    summary: Mapping[str, object],
) -> bytes:
    name = text_of(last, "id") or "event"
    return encode(
        {
            "id": f"{name}-condensation-{number}",
            **stamp,
            "source": "environment",
            "forgotten_event_ids": forgotten,
            **summary,
            "llm_response_id": f"{name}-turnfold",
            "kind": "Condensation",
        }
    )


def _seen(records: Sequence[Record]) -> list[_Seen]:
    """Return what the model sees: the events, with every condensation carried out in order."""
    seen: list[_Seen] = []
    for record in records:
        value = record.value
        if value is None:
            continue
        kind = text_of(value, "kind")
        identifier = text_of(value, "id") or f"line {record.index + 1}"
        if kind in _SENT:
            seen.append(_Seen(record.index, identifier, value))
        elif kind == "Condensation":
            gone = {item for item in list_of(value, "forgotten_event_ids") if isinstance(item, str)}
            seen = [entry for entry in seen if entry.id not in gone]
            offset = value.get("summary_offset")
            if text_of(value, "summary") is not None and isinstance(offset, int):
                seen.insert(max(0, offset), _Seen(record.index, f"{identifier}-summary", value, summary=True))
    return seen


def _batches(seen: Sequence[_Seen]) -> Mapping[str, list[_Seen]]:
    """Collect the actions of each response of the model."""
    found: dict[str, list[_Seen]] = {}
    for entry in seen:
        response = text_of(entry.value, "llm_response_id")
        if entry.value.get("kind") == "ActionEvent" and response is not None:
            found.setdefault(response, []).append(entry)
    return found


def _add(chat: ChatView, entry: _Seen, batches: Mapping[str, list[_Seen]]) -> None:
    value, index = entry.value, entry.index
    kind = text_of(value, "kind")
    if entry.summary:
        chat.text("user", text_of(value, "summary"), index)
    elif kind == "SystemPromptEvent":
        prompt = [text_of(value, part, "text") for part in ("system_prompt", "dynamic_context")]
        chat.text("system", "\n\n".join(text for text in prompt if text), index)
    elif kind == "MessageEvent":
        message = object_of(value, "llm_message")
        content = _content([*list_of(message, "content"), *list_of(value, "extended_content")], message.get("content"))
        role = text_of(message, "role") or ("user" if text_of(value, "source") == "user" else "assistant")
        chat.text(role, content, index, **_reasoning(message))
    elif kind == "ActionEvent":
        batch = batches.get(text_of(value, "llm_response_id") or "", [entry])
        if batch[0] is entry:
            text = _content(list_of(value, "thought"), value.get("thought"))
            chat.calls(text or None, [_call(part.value) for part in batch], index, **_reasoning(value))
            chat.messages[-1] = replace(chat.messages[-1], origins=tuple(part.index for part in batch))
    else:
        text, path = _result(value)
        chat.result(text_of(value, "tool_call_id"), text, index, None if path is None else (index, path))


def _content(parts: Sequence[object], plain: object) -> object:
    """Return parts as `openai.chat` has them: one string where all is text."""
    if isinstance(plain, str):
        return plain
    spelled: list[object] = []
    for part in parts:
        if text_of(part, "type") == "image" or list_of(part, "image_urls"):
            urls = list_of(part, "image_urls")
            spelled.extend({"type": "image_url", "image_url": {"url": url}} for url in urls if isinstance(url, str))
        elif text_of(part, "text") is not None:
            spelled.append({"type": "text", "text": text_of(part, "text")})
        elif part is not None:
            spelled.append(part)
    texts = [text_of(part, "text") for part in spelled]
    return "\n".join(text for text in texts if text is not None) if None not in texts else spelled


def _reasoning(message: Mapping[str, object]) -> dict[str, object]:
    """Return the reasoning of a message. A text beside its blocks repeats them."""
    if list_of(message, "thinking_blocks"):
        return {"thinking_blocks": list_of(message, "thinking_blocks")}
    return {"reasoning_content": text_of(message, "reasoning_content") or None}


def _call(action: Mapping[str, object]) -> tuple[str | None, str, object]:
    call = object_of(action, "tool_call")
    name = text_of(action, "tool_name") or text_of(call, "name") or text_of(call, "function", "name") or ""
    arguments = text_of(call, "arguments") or text_of(call, "function", "arguments")
    call_id = text_of(action, "tool_call_id") or text_of(call, "id")
    if arguments is not None:
        return call_id, name, arguments
    return call_id, name, {key: value for key, value in object_of(action, "action").items() if key != "kind"}


def _result(event: Mapping[str, object]) -> tuple[object, tuple[str | int, ...] | None]:
    """Return what a result says, and where that stands if it is one value of the log."""
    for key in ("error", "rejection_reason"):
        if (text := text_of(event, key)) is not None:
            return text, (key,)
    observation = object_of(event, "observation")
    for key in ("content", "output"):
        if (text := text_of(observation, key)) is not None:
            return text, ("observation", key)
    parts = list_of(observation, "content")
    if len(parts) == 1 and (text := text_of(parts[0], "text")) is not None:
        return text, ("observation", "content", 0, "text")
    return (_content(parts, None) if parts else encode(observation).decode()), None


def _tools(tools: Sequence[object]) -> object:
    """Return the tools of a system prompt as `openai.chat` has them; None where there are none."""
    spelled = []
    for tool in map(object_of, tools):
        told = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
        if tool:
            spelled.append(tool if "function" in tool else {"type": "function", "function": told})
    return spelled or None


OPENHANDS_V1: Final = OpenHandsV1()
