"""A compaction as opencode records one in its session, and what its user can do to one: take messages out."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from turnfold.containers.document import Document, Record, at, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import edit_value, shortened
from turnfold.containers.protocol import Change, Hole, Place
from turnfold.errors import NotWritableError


class StepOf(NamedTuple):
    """A step: which message of the session it is of, and which of its parts are its."""

    element: int
    parts: range


class _Session(msgspec.Struct, frozen=True):
    """The messages of a session, and what becomes of them: `gone` are the steps that go."""

    elements: Sequence[Record]
    change: Change
    steps: Sequence[StepOf]
    gone: frozenset[StepOf]


def changed(document: Document, elements: Sequence[Record], change: Change, steps: Sequence[StepOf]) -> Iterator[Edit]:
    """Return the edits that record a change. `steps` has, a message of the view, where it was read.

    A summary that comes first is a user's message with a `compaction` part, and the assistant's message of kind
    `summary` that marks it as done; its text is in that of its role. Both are put at the end, with the first message
    that stays (`tail_start_id`). Where others stay or go behind it, they are put before the messages that stay as they
    are, and what else stays is said again between. Any other summary is a message in the place; messages that go
    without one, and single steps, are taken out, as the tool's user can.
    """
    gone = frozenset(steps[message] for message in change.gone)
    session = _Session(elements, change, steps, gone)
    if gone & {step for message, step in enumerate(steps) if message not in change.gone}:
        raise NotWritableError("A step of the session holds both what goes and what stays: choose another cut")
    texts = dict(shortened(change))
    stays = list(dict.fromkeys(step for step in steps if step not in gone))
    spans = [(element.start, element.stop) for element in elements]
    first = change.holes[0] if change.holes and change.holes[0].start == 0 else None
    if first is None:
        yield from _taken_out(document, session)
    else:
        split = {step.element for step in stays} & {step.element for step in gone}
        is_plain = len(change.gone) == first.stop > max(change.gone) and not split
        if is_plain:
            tail = text_of(elements[stays[0].element].value, "info", "id") if stays else None
            new, place = _compaction(elements, change, first, len(elements) - 1, tail), len(elements)
        else:
            place = _untouched(session)
            new = [*_compaction(elements, change, first, place - 1, None)]
            new += _said_again(session, texts, place)
            texts = {where: text for where, text in texts.items() if where[0] >= place}
        yield from edit_items(spans, set(), [(place, encode(message)) for message in new])
    for where, text in texts.items():
        yield edit_value(document, elements[where[0]], where, text)


def _untouched(session: _Session) -> int:
    """Return the first message from which on all stay, and none is a compaction."""
    touched = {step.element for step in session.gone}
    touched |= {e.index for e in session.elements if any(_is_mark(part) for part in list_of(e.value, "parts"))}
    return max(touched) + 1


def _is_mark(part: object) -> bool:
    return text_of(part, "type") == "compaction"


def _said_again(session: _Session, texts: Mapping[Place, bytes], place: int) -> Iterator[Mapping[str, object]]:
    """Yield the messages before `place` that stay, and further summaries. Their new ids follow the compaction's."""
    elements, steps, left = session.elements, session.steps, session.gone
    summaries = {hole.start: hole for hole in session.change.holes[1:]}
    base = text_of(elements[place - 1].value, "info", "id") or "msg"
    said: dict[str | None, str] = {}
    done: set[int] = set()
    for message, step in enumerate(steps):
        number = f"{base}c{len(said):05}"
        if (hole := summaries.get(message)) is not None:
            if step.element in done:
                raise NotWritableError("A summary has no place between the steps of one message: choose another cut")
            said[number] = number
            yield _message(elements, hole, number, step.element)
            number = f"{base}c{len(said):05}"
        if step.element in done or step.element >= place or step in left:
            continue
        done.add(step.element)
        value = copy.deepcopy(dict(object_of(elements[step.element].value)))
        parts = list_of(value, "parts")
        for (index, path), text in texts.items():
            if index == step.element:
                _put(value, path, decode(text))
        stay = {k for other in steps if other.element == step.element and other not in left for k in other.parts}
        info = {key: one for key, one in object_of(value, "info").items() if key != "summary"}
        old, parent = text_of(info, "id"), text_of(info, "parentID")
        info |= {"id": number, **({"parentID": said.get(parent, f"{base}a")} if parent is not None else {})}
        said[old or number] = number
        kept = [dict(object_of(parts[k])) for k in sorted(stay) if not _is_mark(parts[k])]
        for k, part in enumerate(kept):
            part |= {"id": f"prt_{number}{k:05}", "messageID": number}
        yield {**value, "info": info, "parts": kept}


def _put(value: object, path: Sequence[str | int], new: object) -> None:
    inner = at(value, path[:-1])
    if isinstance(inner, dict):
        inner[path[-1]] = new


def _taken_out(document: Document, session: _Session) -> Iterator[Edit]:
    """Take out what goes, and put each summary in its place."""
    elements, steps, left = session.elements, session.steps, session.gone
    staying = {step.element for step in steps if step not in left}
    removed = {step.element for step in left} - staying
    marks = {e.index: part for e in elements for part in list_of(e.value, "parts") if _is_mark(part)}
    # A compaction whose summary goes still hides what it stands for, so its messages stay, without a text.
    emptied = removed & {*marks, *(e.index for e in elements if at(e.value, ("info", "summary")) is True)}
    removed -= emptied
    new: list[tuple[int, bytes]] = []
    for hole in session.change.holes:
        step = steps[hole.start]
        if step.element not in removed and step.parts.start > 0:
            raise NotWritableError("A summary has no place between the steps of one message: choose another cut")
        own = text_of(elements[step.element].value, "info", "id")
        if step.element not in removed:
            if step.element == 0:
                raise NotWritableError(
                    "A summary has no place before the first message, which stays: choose another cut"
                )
            own = f"{text_of(elements[step.element - 1].value, 'info', 'id') or 'msg'}a"
        new.append((step.element, encode(_message(elements, hole, own or "msg", step.element))))
    yield from edit_items([(element.start, element.stop) for element in elements], removed, new)
    for index in sorted(({step.element for step in left} & staying) | emptied):
        inner = Document(document.data[elements[index].start : elements[index].stop])
        parts = [(part.start, part.stop) for part in inner.items_at(("parts",))]
        said = list_of(elements[index].value, "parts")
        out = {k for step in left if step.element == index for k in step.parts if not _is_mark(said[k])}
        for edit in edit_items(parts, out, ()):
            yield Edit(edit.start + elements[index].start, edit.stop + elements[index].start, edit.new)
    for index, mark in marks.items():
        tail = text_of(mark, "tail_start_id")
        start = next((e for e in sorted(removed) if text_of(elements[e].value, "info", "id") == tail), None)
        if tail is not None and start is not None:
            next_one = min((e for e in staying if start < e < index), default=None)
            number = next(k for k, part in enumerate(list_of(elements[index].value, "parts")) if _is_mark(part))
            spelled = {key: value for key, value in object_of(mark).items() if key != "tail_start_id"}
            if next_one is not None:
                spelled["tail_start_id"] = text_of(elements[next_one].value, "info", "id")
            yield edit_value(document, elements[index], (index, ("parts", number)), encode(spelled))


def _infos(elements: Sequence[Record], role: str) -> Iterator[Mapping[str, object]]:
    """Yield what is known of the messages of a role, the last one first."""
    infos = (object_of(element.value, "info") for element in reversed(elements))
    return (info for info in infos if info.get("role") == role)


def _message(elements: Sequence[Record], hole: Hole, name: str, near: int) -> Mapping[str, object]:
    """Return a summary as a message, made at the time of the message that it is put before."""
    info = object_of(elements[near].value, "info")
    session, created = text_of(info, "sessionID") or "session", at(info, ("time", "created"))
    text = {"id": f"prt_{name}1", "sessionID": session, "messageID": name, "type": "text", "text": hole.text}
    head: Mapping[str, object] = {"id": name, "sessionID": session, "role": hole.role}
    if hole.role == "user":
        asked = next(_infos(elements, "user"), {})
        spoken = {key: asked[key] for key in ("agent", "model") if key in asked}
        return {"info": {**head, "time": {"created": created}, **spoken}, "parts": [{**text, "synthetic": True}]}
    parent = next(
        (text_of(e.value, "info", "id") for e in elements if text_of(e.value, "info", "role") == "user"), None
    )
    answer = {"parentID": parent, **_answered(elements, created)}
    return {"info": {**head, **answer, "finish": "stop"}, "parts": [text]}


def _answered(elements: Sequence[Record], created: object) -> Mapping[str, object]:
    """Return what opencode wants to know of an answer, as the last one has it; it cost nothing."""
    answered = next(_infos(elements, "assistant"), {})
    return {
        "time": {"created": created, "completed": created},
        **{key: answered[key] for key in ("modelID", "providerID", "path", "mode", "agent") if key in answered},
        "cost": 0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
    }


def _compaction(
    elements: Sequence[Record], change: Change, hole: Hole, near: int, tail: str | None
) -> list[Mapping[str, object]]:
    """Return the two messages of a compaction that stands behind the message `near`."""
    last = object_of(elements[near].value, "info")
    session = text_of(last, "sessionID") or change.logged.id
    created = at(last, ("time", "created"))
    # Ids are in the order of time, and so are these: a longer one comes after what it starts with.
    user, answer = (f"{text_of(last, 'id') or 'msg'}{suffix}" for suffix in ("a", "b"))
    asked = next(_infos(elements, "user"), {})
    mark: dict[str, object] = {"id": f"prt_{user}1", "sessionID": session, "messageID": user, "type": "compaction"}
    mark |= {"auto": False, **({} if tail is None else {"tail_start_id": tail})}
    said = {"id": f"prt_{user}2", "sessionID": session, "messageID": user, "type": "text", "text": hole.text}
    of_user = [{**said, "synthetic": True}] if hole.role == "user" else []
    of_assistant = [] if of_user else [{**said, "id": f"prt_{answer}1", "messageID": answer}]
    first = {
        "info": {
            "id": user,
            "sessionID": session,
            "role": "user",
            "time": {"created": created},
            **{key: asked[key] for key in ("agent", "model") if key in asked},
        },
        "parts": [mark, *of_user],
    }
    second = {
        "info": {
            "id": answer,
            "sessionID": session,
            "role": "assistant",
            "parentID": user,
            **_answered(elements, created),
            "mode": "compaction",
            "agent": "compaction",
            "summary": True,
            "finish": "stop",
        },
        "parts": of_assistant,
    }
    return [first, second]
