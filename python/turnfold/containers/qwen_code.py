"""Session logs of Qwen Code."""

import copy
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, apply_edits
from turnfold.containers.gemini_cli import chat_content, response_text
from turnfold.containers.listed import edit_value, shortened
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place, Reading
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ChatView, view

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:qwen_code")
_COMPRESSED: Final = 1
"""Qwen Code's `CompressionStatus.COMPRESSED`."""


@dataclass(slots=True)
class _Content:
    """One Gemini content: its parts, each with its place, and the message of the view that each was read into."""

    role: str
    parts: list[tuple[object, Place]] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)


class QwenCode(Records):
    """JSON lines of records `{"uuid", "parentUuid", "sessionId", "type", "message": {"role", "parts"}}`.

    The messages are Gemini contents, and the view is `openai.chat`: thoughts are `reasoning_content`, a
    `functionCall` a call, a `functionResponse` a tool message. The records are a tree, and the view is the path to the
    last one; records that share a uuid are one message. Records of type `system` are none, save `chat_compression`: its
    `compressedHistory` stands for all before it. Objects that stand on one line are read one by one, as the tool does.

    A compaction is one `chat_compression` at the end, with the whole history that the model sees from there on; all
    other lines stay as they are.
    """

    name: ClassVar[str] = "qwen_code"
    holds_any_result: ClassVar[bool] = True
    title: ClassVar[str] = "Qwen Code session logs: JSON lines with `uuid`, `parentUuid` and Gemini contents."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a record with the parts of a message, or one of the tool's system records."""
        if "uuid" not in record or "parentUuid" not in record or "sessionId" not in record:
            return None
        if isinstance(object_of(record, "message").get("parts"), list):
            return Mark("proof", "a record with uuid and parentUuid has a message with parts")
        if text_of(record, "type") == "system" and "systemPayload" in record:
            return Mark("usual", "a system record has a systemPayload")
        return None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return why a record is no message of the transcript."""
        if text_of(record, "type") == "system":
            return f"system {text_of(record, 'subtype') or 'record'}"
        return "superseded message" if object_of(record, "message") else super().kind(record)

    def rows(self, document: Document) -> tuple[Record, ...]:
        """Return the objects of all lines."""
        if document.value is not None and not document.is_lines:
            return document.items
        if all(line.value is not None or line.blank for line in document.lines):
            return document.lines
        found: list[Record] = []
        for line in document.lines:
            whole = line.value is not None or line.blank
            for start, stop, value in [] if whole else _glued(document.data[line.start : line.stop]):
                found.append(Record(len(found), line.start + start, line.start + stop, value))
            if whole or not found or found[-1].stop <= line.start:
                found.append(Record(len(found), line.start, line.stop, line.value, line.blank))
        return tuple(found)

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one session of the log. O(bytes)."""
        path = _path(records)
        chat, _ = _projected(path)
        if chat.messages:
            models = (text_of(record.value, "model") for record in reversed(path))
            name = next((found for record in records if (found := text_of(record.value, "sessionId"))), "session")
            yield view(name, "openai.chat", chat.messages, {"model": next((model for model in models if model), None)})

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Put a compression behind the last line; without summaries, shorten results where they stand."""
        edits: list[Edit] = []
        rows = self.rows(document)
        for change in changes:
            if change.holes or change.is_rewritten:
                edits += self.summarise(document, change)
            else:
                edits += (edit_value(document, rows[place[0]], place, value) for place, value in shortened(change))
        return apply_edits(document.data, edits)

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Return the edit that records the compression."""
        path = _path(self.rows(document))
        _, contents = _projected(path)
        new_texts = {place: decode(text) for place, text in shortened(change)}
        last = object_of(path[-1].value)
        history = list(_history(contents, change, new_texts))
        digest = encode([last.get("uuid"), history]).hex()
        record: dict[str, object] = {
            "uuid": str(uuid.uuid5(_NAMESPACE, digest)),
            "parentUuid": last.get("uuid"),
            **{key: last[key] for key in ("sessionId", "timestamp") if key in last},
            "type": "system",
            "subtype": "chat_compression",
            **{key: last[key] for key in ("cwd", "version", "gitBranch") if key in last},
            "systemPayload": {
                "info": {
                    "originalTokenCount": change.before_tokens,
                    "newTokenCount": change.after_tokens,
                    "compressionStatus": _COMPRESSED,
                },
                "compressedHistory": history,
            },
        }
        return edit_records(document, set(), [(len(document.lines), encode(record))], document.lines)


def _glued(line: bytes) -> list[tuple[int, int, Mapping[str, object]]]:
    """Return the objects of a line that holds nothing else: where each stands in it, and its value."""
    try:
        text, at, start = line.decode(), 0, 0
        found: list[tuple[int, int, Mapping[str, object]]] = []
        while at < len(text):
            value, end = json.JSONDecoder().raw_decode(text, at)
            stop = start + len(text[at:end].encode())
            if not isinstance(value, dict):
                return []
            found.append((start, stop, object_of(decode(line[start:stop]))))
            after = end
            while after < len(text) and text[after] in " \t\r":
                after += 1
            start, at = stop + after - end, after
    except (ValueError, RecursionError):
        return []
    return found


def _path(records: Sequence[Record]) -> list[Record]:
    """Return the records from the root to the last one, those that share a uuid together."""
    groups: dict[str, list[Record]] = {}
    last: str | None = None
    for record in records:
        name = text_of(record.value, "uuid")
        if name is not None:
            groups.setdefault(name, []).append(record)
            last = name
    path: list[list[Record]] = []
    while last is not None and (group := groups.pop(last, None)) is not None:
        path.append(group)
        last = text_of(group[0].value, "parentUuid")
    return [record for group in reversed(path) for record in group]


def _contents(path: Sequence[Record]) -> list[_Content]:
    found: list[_Content] = []
    before: str | None = None
    for record in path:
        value = object_of(record.value)
        name = text_of(value, "uuid")
        if text_of(value, "type") == "system":
            history = list_of(value, "systemPayload", "compressedHistory")
            if text_of(value, "subtype") == "chat_compression" and history:
                at = ("systemPayload", "compressedHistory")
                found = [_content(content, (record.index, (*at, k))) for k, content in enumerate(history)]
            before = None
            continue
        if "message" not in value:
            continue
        content = _content(value["message"], (record.index, ("message",)))
        if name == before and found and found[-1].role == content.role:
            found[-1].parts += content.parts
        else:
            found.append(content)
        before = name
    return found


def _content(content: object, place: Place) -> _Content:
    parts = enumerate(list_of(content, "parts"))
    return _Content(
        text_of(content, "role") or "user", [(part, (place[0], (*place[1], "parts", k))) for k, part in parts]
    )


def _projected(path: Sequence[Record]) -> tuple[ChatView, list[_Content]]:
    chat = ChatView()
    contents = _contents(path)
    for content in contents:
        _project(chat, content)
    return chat, contents


def _project(chat: ChatView, content: _Content) -> None:
    records = [place[0] for _, place in content.parts]
    thoughts, said, calls = [], [], []
    results = sum(bool(object_of(part, "functionResponse")) for part, _ in content.parts)
    rest = len(chat.messages) + results
    for part, (record, path) in content.parts:
        call, response = object_of(part, "functionCall"), object_of(part, "functionResponse")
        content.owners.append(len(chat.messages) if response else rest)
        if response:
            is_text = text_of(response, "response", "output") is not None
            place = (record, (*path, "functionResponse", "response", "output")) if is_text else None
            chat.result(text_of(response, "id"), response_text(response), record, place)
        elif call:
            calls.append((text_of(call, "id"), text_of(call, "name") or "", call.get("args", {})))
        elif object_of(part).get("thought") is True and text_of(part, "text") is not None:
            thoughts.append(text_of(part, "text") or "")
        else:
            said.append(part)
    reasoning = "\n".join(thoughts) or None
    if calls:
        chat.calls(chat_content(said) or None, calls, records, reasoning_content=reasoning)
    elif said or thoughts:
        role = "assistant" if content.role == "model" else "user"
        chat.text(role, chat_content(said), records, reasoning_content=reasoning if role == "assistant" else None)


def _history(
    contents: Sequence[_Content], change: Change, new_texts: Mapping[Place, object]
) -> Iterator[Mapping[str, object]]:
    """Yield the contents that the model sees behind the compaction: what stays, and each summary in its place."""
    gone = change.gone
    summaries = {hole.start: hole for hole in change.holes}
    for content in contents:
        parts: list[object] = []
        for message, own in groupby(sorted(zip(content.owners, range(len(content.parts)), strict=True)), itemgetter(0)):
            if (hole := summaries.get(message)) is not None:
                if parts:
                    yield {"role": content.role, "parts": parts}
                    parts = []
                yield {"role": "user" if hole.role == "user" else "model", "parts": [{"text": hole.text}]}
            stays = [content.parts[k] for _, k in own] if message not in gone else []
            parts += (
                _part(part, place, new_texts)
                for part, place in stays
                if message not in change.stripped or object_of(part).get("thought") is not True
            )
        if parts:
            yield {"role": content.role, "parts": parts}


def _part(part: object, place: Place, new_texts: Mapping[Place, object]) -> object:
    inner = ("functionResponse", "response", "output")
    new = new_texts.get((place[0], (*place[1], *inner)))
    if new is None:
        return part
    changed = copy.deepcopy(part)
    if isinstance(changed, dict):
        changed["functionResponse"]["response"]["output"] = new
    return changed


QWEN_CODE: Final = QwenCode()
"""Session logs of Qwen Code."""
