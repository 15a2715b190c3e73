"""Event streams of OpenHands up to version 0.x: trajectories, and the `history` of its evaluation outputs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, placed
from turnfold.containers.protocol import Change, Mark, Place
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_Event = Mapping[str, object]
_NOT_IN_HISTORY: Final = {"null", "agent_state_changed", "change_agent_state", "condensation", "condensation_request"}
"""Events that OpenHands keeps out of what it counts a summary's offset in."""
_SILENT_ACTIONS: Final = {*_NOT_IN_HISTORY, "recall", "pause", "resume", "stop"}
_NOTES: Final = ("repo_instructions", "conversation_instructions", "additional_agent_instructions")


@dataclass(slots=True)
class _Calls:
    """The calls of a transcript: the events of each response, and ids by event, as far as they were read."""

    responses: Mapping[str, list[tuple[int, _Event]]]
    by_event: dict[object, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)


class OpenHandsV0(Listed):
    """A list of events `{"id", "source", "action", "args"}` and `{"id", "source", "observation", "content", "cause"}`,
    or JSON lines `{"instance_id", "history": [events]}`.

    The view is `openai.chat`. An action with `tool_call_metadata` is the call in the model's own response, whose text,
    id and arguments are those of the metadata; the actions of one response are one message. An action of the agent
    without metadata is a call `call_<event>` of the action's name. An observation answers the call of its metadata or
    of its `cause`; others that have content are user messages, as are the notes of a `recall`. `finish` is the agent's
    text, as OpenHands replays it. `null`, changes of the agent's state and the like hold no message.

    A compaction is a `condensation` event at the end, as OpenHands writes it: `forgotten_event_ids`, `summary`, and the
    `summary_offset` in events that are left. All events stay. Where events have no ids to be forgotten by, they go, and
    a message takes their place.
    """

    name: ClassVar[str] = "openhands_v0"
    title: ClassVar[str] = "OpenHands 0.x trajectories: events with `source` and `action` or `observation`."

    def mark(self, value: object) -> Mark | None:
        """See an event with `source` and `action` with `args`, or `observation` with `content`."""
        for path, events in (("", value), ("history", object_of(value).get("history"))):
            if isinstance(events, list) and any(_is_event(part) for item in events[:8] for part in _parts(item)):
                return Mark("proof", f"{path or 'the list'} holds an event with source and action or observation")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the bare list, or `history` beside its `instance_id`."""
        if isinstance(value, list) and self.mark(value) is not None:
            yield Conversation((), head=_head(value))
        elif isinstance(value, Mapping) and isinstance(value.get("history"), list):
            yield Conversation(("history",), text_of(value, "instance_id"), _head(value["history"]))

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the event's action or observation."""
        return text_of(element, "action") or text_of(element, "observation") or "element without a message"

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the events that are not forgotten, and the last summary at its offset."""
        events = [(element.index, event) for element in elements for event in _events(element, data)]
        forgotten = _forgotten(event for _, event in events)
        left = [(index, event) for index, event in events if not _is_one_of(event.get("id"), forgotten)]
        summary = next(((k, e) for k, e in reversed(events) if text_of(e, "args", "summary") and _condenses(e)), None)
        stop = None if summary is None else _summary_place(left, summary[1])
        calls = _Calls(_responses(left))
        for number, (index, event) in enumerate(left):
            if summary is not None and number == stop:
                chat.text("user", text_of(summary[1], "args", "summary"), summary[0])
            if "action" in event:
                _add_action(chat, index, event, calls)
            else:
                # The place of a text inside a pair is not that of the element's own `content`.
                place = (index, ("content",)) if elements[index].value is not None else None
                _add_observation(chat, index, event, calls, place)
        if summary is not None and stop == len(left):
            chat.text("user", text_of(summary[1], "args", "summary"), summary[0])

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put a `condensation` behind the last event."""
        removed, summaries = placed(change)
        last = [element.value for element in elements if element.value is not None]
        ids = [event.get("id") for event in last]
        if len(last) < len(elements) or any(type(k) is not int for k in ids) or len(set(ids)) < len(ids):
            new = [(index, encode(_message(elements[index], role, text))) for index, role, text in summaries]
            return edit_items([(element.start, element.stop) for element in elements], removed, new)
        if len(summaries) > 1 or any(role != "user" for _, role, _ in summaries):
            raise NotWritableError(
                "OpenHands keeps one summary, which is the user's: use a policy with one such summary"
            )
        if not summaries and any(_condenses(last[index]) for index in removed):
            raise NotWritableError(
                "OpenHands shows the summary of its last condensation that has one: it can be replaced, not dropped"
            )
        stays = set(range(len(change.logged.origins))) - change.gone
        if summaries and any(_condenses(last[index]) for message in stays for index in change.logged.origins[message]):
            raise NotWritableError(
                "An earlier condensation's summary would stay beside the new one: choose another cut"
            )
        condensation = _condensation(last, change, removed)
        return edit_items([(e.start, e.stop) for e in elements], set(), [(len(elements), encode(condensation))])


def _is_one_of(identifier: object, known: Collection[object]) -> bool:
    return isinstance(identifier, int | str) and identifier in known


def _parts(item: object) -> Sequence[object]:
    """Return an event, or both of an old `[action, observation]` pair."""
    return item if isinstance(item, list) else (item,)


def _is_event(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("source", ""), str):
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), Mapping)
    observes = isinstance(value.get("observation"), str) and isinstance(value.get("extras"), Mapping)
    return acts or observes


def _events(element: Record, data: bytes) -> Iterator[_Event]:
    value = element.value if element.value is not None else decode(data[element.start : element.stop])
    yield from (event for event in _parts(value) if _is_event(event) and isinstance(event, Mapping))


def _head(events: Sequence[object]) -> Mapping[str, object]:
    """Return the tools and the model that the first events name."""
    system = next((event for event in events[:8] if text_of(event, "action") == "system"), None)
    calls = (object_of(event, "tool_call_metadata", "model_response") for event in events)
    model = next((name for response in calls if (name := text_of(response, "model"))), None)
    return {"model": model, "tools": list_of(system, "args", "tools") or None}


def _condenses(event: _Event | None) -> bool:
    return text_of(event, "action") == "condensation"


def _forgotten(events: Iterable[_Event]) -> AbstractSet[object]:
    """Return the ids that all condensations forget, lists and ranges."""
    ids: set[object] = set()
    ranges: list[range] = []
    known: list[int] = []
    for event in events:
        identifier = event.get("id")
        if isinstance(identifier, int):
            known.append(identifier)
        if not _condenses(event):
            continue
        ids.update(k for k in list_of(event, "args", "forgotten_event_ids") if isinstance(k, int))
        args = object_of(event, "args")
        start, stop = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        if isinstance(start, int) and isinstance(stop, int):
            ranges.append(range(start, stop + 1))
    return ids.union(k for k in known if any(k in span for span in ranges))


def _in_history(event: _Event) -> bool:
    """Whether the event is one of those that OpenHands counts a summary's offset in."""
    hidden = object_of(event, "args").get("hidden") is True or object_of(event, "extras").get("hidden") is True
    return not hidden and (text_of(event, "action") or text_of(event, "observation")) not in _NOT_IN_HISTORY


def _summary_place(left: Sequence[tuple[int, _Event]], condensation: _Event) -> int:
    """Return before which of the events that are left the summary stands."""
    offset = object_of(condensation, "args").get("summary_offset")
    places = [place for place, (_, event) in enumerate(left) if _in_history(event)]
    return places[offset] if isinstance(offset, int) and 0 <= offset < len(places) else len(left)


def _response(event: _Event) -> tuple[str | None, str | None]:
    """Return the id of the model's response that a call stands in, and the call's."""
    metadata = object_of(event, "tool_call_metadata")
    return text_of(metadata, "model_response", "id"), text_of(metadata, "tool_call_id")


def _calls_tool(event: _Event) -> bool:
    action = text_of(event, "action")
    return (
        action is not None
        and action not in _SILENT_ACTIONS | {"message", "system", "finish"}
        and text_of(event, "source") != "user"
    )


def _responses(left: Sequence[tuple[int, _Event]]) -> Mapping[str, list[tuple[int, _Event]]]:
    """Collect the actions of each response that has several."""
    found: dict[str, list[tuple[int, _Event]]] = {}
    for index, event in left:
        response, call = _response(event)
        if response and call and _calls_tool(event):
            found.setdefault(response, []).append((index, event))
    return found


def _add_action(chat: ChatView, index: int, event: _Event, calls: _Calls) -> None:
    action, args, from_user = text_of(event, "action"), object_of(event, "args"), text_of(event, "source") == "user"
    if action in _SILENT_ACTIONS:
        return
    role = "user" if from_user else "assistant"
    if action in {"message", "system"}:
        text = text_of(args, "content") or ""
        urls = [url for url in list_of(args, "image_urls") if isinstance(url, str)]
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content = [{"type": "text", "text": text}, *parts] if parts else text
        chat.text("system" if action == "system" else role, content, index)
    elif action == "finish":
        said = (_said(event), text_of(args, "thought"), text_of(args, "final_thought"))
        chat.text(
            role, "\n".join(dict.fromkeys(text for text in said if text)) or text_of(event, "message") or "", index
        )
    elif from_user:
        chat.text("user", text_of(args, "command") or text_of(event, "message") or encode(args).decode(), index)
    else:
        response, _ = _response(event)
        group = calls.responses.get(response or "", [(index, event)])
        if group[0][0] == index:
            _add_calls(chat, group, calls)


def _add_calls(chat: ChatView, group: Sequence[tuple[int, _Event]], calls: _Calls) -> None:
    first, said = group[0], _said(group[0][1])
    text = said if said is not None else text_of(first[1], "args", "thought")
    message = object_of(first[1], "tool_call_metadata", "model_response", "choices", 0, "message")
    kept = {key: message[key] for key in ("reasoning_content", "thinking_blocks") if message.get(key)}
    ids = chat.calls(text or None, [_call(event) for _, event in group], first[0], **kept)
    chat.messages[-1] = replace(chat.messages[-1], origins=tuple(dict.fromkeys(index for index, _ in group)))
    calls.ids.update(ids)
    for (index, event), call_id in zip(group, ids, strict=True):
        identifier = event.get("id")
        calls.by_event[identifier if isinstance(identifier, int) else ("at", index)] = call_id


def _said(event: _Event) -> str | None:
    return text_of(event, "tool_call_metadata", "model_response", "choices", 0, "message", "content")


def _call(event: _Event) -> tuple[str | None, str, object]:
    """Return a call's id, name and arguments: of the model's response where that is there, else of the action."""
    metadata = object_of(event, "tool_call_metadata")
    call_id = text_of(metadata, "tool_call_id")
    for call in list_of(metadata, "model_response", "choices", 0, "message", "tool_calls"):
        if call_id and text_of(call, "id") == call_id:
            name = text_of(call, "function", "name") or text_of(metadata, "function_name") or ""
            return call_id, name, text_of(call, "function", "arguments") or "{}"
    args = {key: value for key, value in object_of(event, "args").items() if key != "thought"}
    return call_id, text_of(metadata, "function_name") or text_of(event, "action") or "", args


def _add_observation(chat: ChatView, index: int, event: _Event, calls: _Calls, place: Place | None) -> None:
    kind, content = text_of(event, "observation"), text_of(event, "content") or ""
    _, call_id = _response(event)
    if kind in _NOT_IN_HISTORY:
        return
    if kind == "recall":
        content = _recalled(object_of(event, "extras"))
    else:
        # Of an old pair, the observation belongs to the action beside it.
        cause = event.get("cause", ("at", index))
        if call_id not in calls.ids:
            call_id = calls.by_event.get(cause) if isinstance(cause, int | tuple) else None
        if call_id is not None:
            chat.result(call_id, content, index, place if "content" in event else None)
            return
    if content:
        chat.text("user", content, index)


def _recalled(extras: Mapping[str, object]) -> str:
    """Return the notes that a recall brought; how OpenHands frames them is not in the log."""
    notes = [text_of(extras, key) for key in _NOTES]
    notes += [text_of(note, "content") for note in list_of(extras, "microagent_knowledge")]
    return "\n\n".join(note for note in notes if note)


def _condensation(events: Sequence[_Event], change: Change, removed: AbstractSet[int]) -> object:
    hole = next(iter(change.holes), None)
    new = [k for index, event in enumerate(events) if index in removed and isinstance(k := event["id"], int)]
    stamp = {"timestamp": events[-1]["timestamp"]} if "timestamp" in events[-1] else {}
    args: dict[str, object] = {
        "forgotten_event_ids": new,
        "forgotten_events_start_id": None,
        "forgotten_events_end_id": None,
    }
    head = {"id": max(k for event in events if isinstance(k := event["id"], int)) + 1, **stamp, "source": "agent"}
    if hole is None:
        args |= {"summary": None, "summary_offset": None}
        return {**head, "message": f"Condenser is dropping the events: {new}.", "action": "condensation", "args": args}
    forgotten = {*_forgotten(events), *new}
    # Events without a message, behind the last message before the hole, make no difference.
    stop = max((index for origins in change.logged.origins[: hole.start] for index in origins), default=-1) + 1
    offset = sum(_in_history(event) and event["id"] not in forgotten for event in events[:stop])
    args |= {"summary": hole.text, "summary_offset": offset}
    return {**head, "message": f"Summary: {hole.text}", "action": "condensation", "args": args}


def _message(like: Record, role: str, text: str) -> object:
    """Return a message event for logs whose events have no ids; a pair where they are pairs."""
    source = "user" if role == "user" else "agent"
    event = {"source": source, "action": "message", "message": text, "args": {"content": text, "image_urls": None}}
    return event if like.value is not None else [event, {"observation": "null", "content": "", "extras": {}}]


OPENHANDS_V0: Final = OpenHandsV0()
