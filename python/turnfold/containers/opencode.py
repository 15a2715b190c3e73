"""Sessions of opencode."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import Document, Record, at, decode, list_of, object_of, text_of
from turnfold.containers.edits import apply_edits
from turnfold.containers.opencode_changes import StepOf, changed
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place, Reading
from turnfold.containers.view import ChatView, view
from turnfold.errors import InvalidLogError, NotWritableError

_CLEARED: Final = "[Old tool result content cleared]"
_INTERRUPTED: Final = "[Tool execution was interrupted]"
_FAILED: Final = "failed message"
_ROW: Final = {"session_id", "data"}


class _Part(msgspec.Struct, frozen=True):
    """One part of a message, the element or row that holds it, and the path to it in there, if it is JSON there."""

    value: Mapping[str, object]
    element: int
    path: tuple[str | int, ...] | None


class Opencode:
    """What `opencode export` writes, `{"info": {"id"}, "messages": [{"info": {"role"}, "parts": [...]}]}`, or the bare
    array of messages; and rows of the database as JSON, `{"id", "message_id", "session_id", "data": "<JSON text>"}`.

    The view is `openai.chat`: each step of an assistant's message is one message, with `reasoning` as
    `reasoning_content`; a `tool` part holds call and result, the latter is the tool message that follows. A result that
    the tool has cleared, and one that was interrupted, read as the tool says that to the model. Rows of parts do not
    say who speaks: a message of theirs is the assistant's where it has a step, a tool or reasoning. Rows of messages
    and of sessions, and the single files of the storage folder, hold no transcript and are `unread`.

    How a compaction is written says `opencode_changes.py`. Rows cannot be written to: those of the messages are in
    another file.
    """

    name: ClassVar[str] = "opencode"
    title: ClassVar[str] = "opencode sessions: exported `messages` of `info` and `parts`, or rows of the database."
    writes: ClassVar[bool] = True
    takes_out: ClassVar[bool] = True

    def recognise(self, document: Document) -> Mark | None:
        """See an exported session, rows, or a file of the storage folder."""
        value = document.value
        for path in (("messages", 0), (0,)):
            first = at(value, path)
            if text_of(first, "info", "role") is not None and isinstance(at(first, ("parts",)), list):
                return Mark("proof", "a message has info.role and parts")
        row = object_of(at(value, (0,)))
        if row.keys() >= _ROW and text_of(row, "data") is not None and "time_created" in row:
            return Mark("proof", "[0] has session_id, time_created and data")
        if row.keys() >= {"project_id", "slug", "directory"}:
            return Mark("usual", "[0] has project_id, slug and directory")
        return _storage_mark(object_of(value))

    def read(self, document: Document) -> Reading:
        """Read the session of an export, or every session that has rows. O(bytes)."""
        if self.recognise(document) is None:
            raise InvalidLogError(f"This is no log of kind {self.name}: neither messages nor rows of it", 0, "")
        elements = _messages(document)
        if elements:
            return _read_export(document, elements)
        rows = [
            (item, decode((text_of(item.value, "data") or "").encode("utf-8", "surrogatepass")))
            for item in document.items
        ]
        if not rows:
            return Reading((), {"file of the storage folder": 1})
        return _read_rows(rows)

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Record each compaction; without one, shorten results where they stand."""
        elements = _messages(document)
        if not elements:
            raise NotWritableError(
                "These rows are only a part of opencode's database: export the session and compact that"
            )
        _, steps, _ = _projected(elements)
        return apply_edits(document.data, [e for change in changes for e in changed(document, elements, change, steps)])


def _storage_mark(value: Mapping[str, object]) -> Mark | None:
    if text_of(value, "sessionID") is not None and text_of(value, "role") is not None:
        return Mark("usual", "sessionID and role")
    if text_of(value, "type") is not None and text_of(value, "id") is not None:
        if text_of(value, "messageID") is not None:
            return Mark("usual", "messageID, id and type")
        if value.keys() == {"id", "type", "text", "time"}:
            return Mark("hint", "id, type, text and time")
    if value.keys() >= {"projectID", "directory", "version"}:
        return Mark("usual", "projectID, directory and version")
    return None


def _messages(document: Document) -> tuple[Record, ...]:
    """Return the messages of an export; none in anything else."""
    for path in (("messages",), ()):
        items = document.items_at(path)
        if items and text_of(items[0].value, "info", "role") is not None:
            return items
    return ()


def _read_export(document: Document, elements: Sequence[Record]) -> Reading:
    chat, _, unread = _projected(elements)
    infos = [object_of(element.value, "info") for element in elements]
    session = text_of(document.value, "info", "id") or text_of(infos[0], "sessionID") or "session"
    if not chat.messages:
        return Reading((), dict(unread))
    model = next((m for i in reversed(infos) if (m := text_of(i, "modelID") or text_of(i, "model", "modelID"))), None)
    return Reading((view(session, "openai.chat", chat.messages, {"model": model}),), dict(unread))


def _projected(elements: Sequence[Record]) -> tuple[ChatView, list[StepOf], Counter[str]]:
    """Return the view of an export, the step that each of its messages is of, and what holds none."""
    chat, steps = ChatView(), list[StepOf]()
    unread: Counter[str] = Counter()
    seen = _seen(elements)
    for index in seen:
        value = object_of(elements[index].value)
        if _is_failed(value):
            unread[_FAILED] += 1
            continue
        before = len(chat.messages)
        parts = [_Part(object_of(p), index, ("parts", k)) for k, p in enumerate(list_of(value, "parts"))]
        for first, stop in _project(chat, text_of(value, "info", "role"), parts, is_last=index == len(elements) - 1):
            steps += [StepOf(index, range(first, stop))] * (len(chat.messages) - len(steps))
        if len(chat.messages) == before:
            unread["message without content"] += 1
    if len(elements) > len(seen):
        unread["superseded message"] += len(elements) - len(seen)
    return chat, steps, unread


def _seen(elements: Sequence[Record]) -> list[int]:
    """Return the messages that the model sees, in order: the latest finished compaction, its tail, and what follows.

    The latest compaction that names a tail hides what is before that, finished or not, as the tool has it.
    """
    completed: set[str | None] = set()
    tail: str | None = None
    found: list[int] = []
    compaction: int | None = None
    for index in range(len(elements) - 1, -1, -1):
        value = object_of(elements[index].value)
        info = object_of(value, "info")
        marks = [part for part in list_of(value, "parts") if text_of(part, "type") == "compaction"]
        found.append(index)
        if tail is None and marks:
            tail = text_of(marks[0], "tail_start_id")
        if tail is not None and text_of(info, "id") == tail:
            break
        if text_of(info, "role") == "user" and marks and text_of(info, "id") in completed and compaction is None:
            compaction = index
            if tail is None:
                break
        if (
            info.get("role") == "assistant"
            and info.get("summary") is True
            and info.get("finish")
            and "error" not in info
        ):
            completed.add(text_of(info, "parentID"))
    found.reverse()
    if compaction is None or tail is None or text_of(elements[found[0]].value, "info", "id") != tail:
        return found
    parent = text_of(elements[compaction].value, "info", "id")
    summary = next(
        index
        for index in range(compaction + 1, len(elements))
        if text_of(elements[index].value, "info", "parentID") == parent
        and at(elements[index].value, ("info", "summary")) is True
    )
    first = found[0]
    return [*range(compaction, summary + 1), *range(first, compaction), *range(summary + 1, len(elements))]


def _is_failed(message: Mapping[str, object]) -> bool:
    """Whether an answer failed, so that it is not sent again; an aborted one is, for what it holds."""
    error = object_of(message, "info", "error")
    if not error:
        return False
    held = {text_of(part, "type") for part in list_of(message, "parts")} - {"step-start", "reasoning"}
    return not (text_of(error, "name") == "MessageAbortedError" and held)


def _read_rows(rows: Sequence[tuple[Record, object]]) -> Reading:
    unread: Counter[str] = Counter()
    sessions: dict[str, dict[str, list[tuple[Record, Mapping[str, object]]]]] = {}
    for row, data in rows:
        session, message = text_of(row.value, "session_id"), text_of(row.value, "message_id")
        if session is None or message is None or text_of(data, "type") is None:
            unread["row without a part"] += 1
        else:
            sessions.setdefault(session, {}).setdefault(message, []).append((row, object_of(data)))
    logged: list[LoggedTranscript] = []
    for session, messages in sessions.items():
        chat = ChatView()
        ordered = sorted(messages.items(), key=lambda pair: (min(_created(row) for row, _ in pair[1]), pair[0]))
        for k, (_, held) in enumerate(ordered):
            parts = [
                _Part(d, row.index, None)
                for row, d in sorted(held, key=lambda pair: text_of(pair[0].value, "id") or "")
            ]
            kinds = {text_of(part.value, "type") for part in parts}
            role = "assistant" if kinds & {"step-start", "step-finish", "tool", "reasoning"} else "user"
            list(_project(chat, role, parts, is_last=k == len(ordered) - 1))
        if chat.messages:
            logged.append(view(session, "openai.chat", chat.messages))
    used = {index for one in logged for origins in one.origins for index in origins}
    for row, data in rows:
        if row.index not in used and text_of(row.value, "message_id") is not None:
            unread[text_of(data, "type") or "row"] += 1
    return Reading(tuple(logged), dict(unread))


def _created(row: Record) -> float:
    created = object_of(row.value).get("time_created")
    return created if isinstance(created, int | float) else 0


def _project(chat: ChatView, role: str | None, parts: Sequence[_Part], *, is_last: bool) -> Iterator[tuple[int, int]]:
    """Add a message's steps to the view. Yields, after each, which parts it has; a user's message is one step."""
    if role == "user":
        content = [block for part in parts if (block := _spoken(part.value)) is not None]
        if content:
            chat.text("user", content, [part.element for part in parts])
        yield 0, len(parts)
        return
    at = 0
    for step in _steps(parts):
        _project_step(chat, step, is_last=is_last)
        yield at, at + len(step)
        at += len(step)


def _steps(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    step: list[_Part] = []
    for part in parts:
        if text_of(part.value, "type") == "step-start" and step:
            yield step
            step = []
        step.append(part)
    yield step


def _project_step(chat: ChatView, step: Sequence[_Part], *, is_last: bool) -> None:
    tools = [part for part in step if text_of(part.value, "type") == "tool"]
    reasoning = (
        "\n".join(text_of(p.value, "text") or "" for p in step if text_of(p.value, "type") == "reasoning") or None
    )
    texts = [text_of(p.value, "text") or "" for p in step if text_of(p.value, "type") == "text"]
    files = [b for p in step if text_of(p.value, "type") == "file" and (b := _spoken(p.value)) is not None]
    text = "\n".join(texts) or None
    content: object = text if not files else [*([{"type": "text", "text": text}] if text else []), *files]
    origins = [part.element for part in step]
    if not tools and content is None and reasoning is None:
        return
    asked = [
        (text_of(p.value, "callID"), text_of(p.value, "tool") or "", at(p.value, ("state", "input")) or {})
        for p in tools
    ]
    ids = chat.calls(content, asked, origins, reasoning_content=reasoning)
    for part, call_id in zip(tools, ids, strict=True):
        _project_result(chat, part, call_id, is_last=is_last)


def _project_result(chat: ChatView, part: _Part, call_id: str, *, is_last: bool) -> None:
    state = object_of(part.value, "state")
    status = text_of(state, "status")
    field = "error" if status == "error" else "output"
    text = text_of(state, field)
    if text is None:
        if not is_last:
            chat.result(call_id, _INTERRUPTED, part.element)
        return
    if at(state, ("time", "compacted")) is not None:
        chat.result(call_id, _CLEARED, part.element)
        return
    place: Place | None = None if part.path is None else (part.element, (*part.path, "state", field))
    media = [b for a in list_of(state, "attachments") if (b := _spoken(object_of(a))) is not None]
    content: object = [{"type": "text", "text": text}, *media] if media else text
    chat.result(call_id, content, part.element, None if media else place)


def _spoken(part: Mapping[str, object]) -> object | None:
    """Spell a part that is said; None for one that only the tool reads."""
    kind = text_of(part, "type")
    text = text_of(part, "text")
    if kind == "text":
        return {"type": "text", "text": text} if text and part.get("ignored") is not True else None
    url, mime = text_of(part, "url"), text_of(part, "mime") or ""
    if kind != "file" or url is None or mime in {"text/plain", "application/x-directory"}:
        return None
    if mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": text_of(part, "filename") or "", "file_data": url}}


OPENCODE: Final = Opencode()
