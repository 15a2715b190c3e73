"""Session logs of pi."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, with_values
from turnfold.containers.listed import placed, shortened
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ViewMessage, view
from turnfold.errors import NotWritableError

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:pi")


class _Said(msgspec.Struct, frozen=True):
    """One message of the view: role, blocks, its record, and whether it is a tool result."""

    role: str
    blocks: list[object]
    record: int
    place: Place | None = None
    is_result: bool = False


class Pi(Records):
    """JSON lines: a `session`, then entries `{"type": "message", "message": {"role", "content", ...}}`.

    The view is `anthropic.messages`: `toolCall` is a `tool_use`, a `toolResult` a `tool_result` (those that follow each
    other are one message, as the tool sends them), `thinking` with its signature the same, `bashExecution` what the
    user ran. With `id` and `parentId` the entries are a tree, and the view is the path to the last one; what lies
    beside it or before a compaction is `superseded message`. Answers that were aborted or failed are never sent again:
    `aborted message`. The tool's own words around a summary are not in the log, and not in the view.

    A compaction is one `compaction` entry at the end, with the first entry that stays: by id, or by number in logs
    without ids. Messages that stay behind the summary are said again before it, with all that follows. Where messages
    go without a summary or stay before one, the session goes on in a new branch, as it does when its user goes back in
    the tree: from the last entry that stays as it is, with a `branch_summary` in the place of each summary of the
    user's, a message in that of an assistant's, and what stays said again. Logs without ids have no tree: there entries
    are taken out, and a summary is a message. All other lines stay as they are.
    """

    name: ClassVar[str] = "pi"
    title: ClassVar[str] = "pi session logs: JSON lines that start with a `session`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See the session, or one of the tool's own entries."""
        kind = text_of(record, "type")
        if kind == "session" and "timestamp" in record and "cwd" in record and text_of(record, "id") is not None:
            return Mark("proof", "a record of type session has id, timestamp and cwd")
        if kind == "message" and text_of(record, "message", "role") in {"toolResult", "bashExecution"}:
            return Mark("usual", "a message has a role of pi's")
        if kind == "compaction" and ("firstKeptEntryId" in record or "firstKeptEntryIndex" in record):
            return Mark("usual", "a compaction says the first entry that stays")
        return None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the entry's type; for a message, why it is not in the transcript."""
        if text_of(record, "type") == "message":
            return "aborted message" if _is_aborted(object_of(record, "message")) else "superseded message"
        return super().kind(record)

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one session of the log. O(bytes)."""
        path = _seen(_path(records))
        messages = list(_messages(said for record in path if (said := _said(record)) is not None))
        if messages:
            session = next((r.value for r in records if text_of(r.value, "type") == "session"), {})
            models = (text_of(r.value, "message", "model") or text_of(r.value, "modelId") for r in reversed(path))
            model = next((m for m in models if m), text_of(session, "modelId"))
            yield view(text_of(session, "id") or "session", "anthropic.messages", messages, {"model": model})

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put a compaction, or a branch, behind the last line."""
        records, origins = document.records, change.logged.origins
        path = _path(records)
        compactions = {r.index for r in path if text_of(r.value, "type") == "compaction"}
        is_first = [(hole.start, hole.role) for hole in change.holes] == [(0, "user")]
        is_first = is_first and max(change.gone) < change.holes[0].stop
        stays = [index for m, indexes in enumerate(origins) if m not in change.gone for index in indexes]
        if is_first:
            lines = _compacted(document, path, change, stays)
        elif text_of(path[-1].value, "id") is not None:
            lines = _branched(document, path, change)
        else:
            removed, summaries = placed(change)
            if not compactions.isdisjoint({*removed, *(index for index, _, _ in summaries)}):
                raise NotWritableError(
                    "Entries of this pi session have no ids, so nothing stays before or instead of its summary: open "
                    "the session in pi, which gives them ids, or use a policy with one summary that comes first"
                )
            spoken = ((index, _spoken_summary(path, role, text)) for index, role, text in summaries)
            return edit_records(document, removed, [(index, encode(entry)) for index, entry in spoken])
        return edit_records(document, set(), [(len(records), line) for line in lines])


def _spoken_summary(path: Sequence[Record], role: str, text: str) -> dict[str, object]:
    """Return the entry of a summary that is a message like others."""
    stamp = object_of(path[-1].value).get("timestamp")
    answers = (
        object_of(r.value, "message") for r in reversed(path) if text_of(r.value, "message", "role") == "assistant"
    )
    last: Mapping[str, object] = next(answers, {}) if role == "assistant" else {}
    of_model = {key: last[key] for key in ("api", "provider", "model", "timestamp") if key in last}
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost}
    ended = {"usage": usage, "stopReason": "stop"} if role == "assistant" else {}
    message = {"role": role, "content": [_text(text)], **of_model, **ended}
    return {"type": "message", "timestamp": stamp, "message": message}


def _compacted(document: Document, path: Sequence[Record], change: Change, stays: Sequence[int]) -> list[bytes]:
    """Return the entry of a summary that comes first, behind those that stay, where they have to be said again."""
    (hole,) = change.holes
    last = object_of(path[-1].value)
    name, lines = text_of(last, "id"), []
    # In logs without ids, the tool counts the lines that it can read.
    readable = [record.index for record in document.records if record.value is not None]
    first: object = len(readable) if hole.kept or not stays else readable.index(stays[0])
    parent: object = name
    if hole.kept:
        texts = _new_texts(change)
        for number, index in enumerate(stays):
            own = _fresh(f"{name}:{index}")
            links: Mapping[str, object] = {} if name is None else {"id": own, "parentId": parent}
            earlier = text_of(document.records[index].value, "summary")
            if earlier is not None and text_of(document.records[index].value, "type") == "compaction":
                lines.append(encode({**_spoken_summary(path, "user", earlier), **links}))
            else:
                lines.append(_again(document, index, texts, links))
            first = own if name is not None and not number else first
            parent = own
    elif name is not None and stays:
        first = object_of(document.records[stays[0]].value)["id"]
    entry: dict[str, object] = {"type": "compaction"}
    if name is not None:
        entry |= {"id": _fresh(f"{name}:{hole.text}"), "parentId": parent}
        first = first if stays else entry["id"]
    entry |= {"timestamp": last.get("timestamp"), "summary": hole.text}
    entry["firstKeptEntryIndex" if name is None else "firstKeptEntryId"] = first
    return [*lines, encode({**entry, "tokensBefore": change.before_tokens})]


def _branched(document: Document, path: Sequence[Record], change: Change) -> list[bytes]:
    """Return the entries by which the session goes on without what goes, in a branch of its own."""
    origins, texts = change.logged.origins, _new_texts(change)
    gone, _ = placed(change)
    holes = {min(origins[hole.start]): hole for hole in change.holes}
    # What a compaction hid is seen again where that goes or is no more the first, so the branch starts at the root.
    compacted = {r.index for r in path if text_of(r.value, "type") == "compaction"}
    is_whole = not compacted.isdisjoint({*gone, *holes})
    entries = [*_settings(path), *_seen(list(path))] if is_whole else path
    first = 0 if is_whole else min(k for k, e in enumerate(path) if e.index in gone or e.index in holes)
    last = object_of(path[-1].value)
    left = text_of(last, "id") or ""
    parent = text_of(entries[first - 1].value, "id") if first else None
    lines: list[bytes] = []
    named: dict[str, str] = {}
    waiting: list[str] = []
    for entry in entries[first:]:
        old = text_of(entry.value, "id") or ""
        waiting.append(old)
        if (hole := holes.get(entry.index)) is not None:
            name = _fresh(f"{left}:{old}:{hole.text}")
            summary = {
                "type": "branch_summary",
                "timestamp": last.get("timestamp"),
                "fromId": left,
                "summary": hole.text,
            }
            spelled = summary if hole.role == "user" else _spoken_summary(path, hole.role, hole.text)
            lines.append(encode({**spelled, "id": name, "parentId": parent}))
            named.update(dict.fromkeys(waiting, name))
            waiting.clear()
            parent = name
        if entry.index in gone:
            continue
        name = _fresh(f"{left}:{old}")
        named.update(dict.fromkeys(waiting, name))
        waiting.clear()
        links: dict[str, object] = {"id": name, "parentId": parent}
        if (target := text_of(entry.value, "firstKeptEntryId")) is not None:
            links["firstKeptEntryId"] = named.get(target, target)
        if is_whole and entry.index in compacted:
            kept = {key: object_of(entry.value).get(key) for key in ("timestamp", "summary")}
            lines.append(encode({"type": "branch_summary", "fromId": left, **kept, "id": name, "parentId": parent}))
        else:
            lines.append(_again(document, entry.index, texts, links))
        parent = name
    return lines


def _settings(path: Sequence[Record]) -> list[Record]:
    """Return the last entries of what a compaction hid that say which model is asked, and how."""
    hidden = {record.index for record in path} - {record.index for record in _seen(list(path))}
    found = {text_of(record.value, "type"): record for record in path if record.index in hidden}
    return [found[kind] for kind in ("model_change", "thinking_level_change") if kind in found]


def _new_texts(change: Change) -> Mapping[Place, bytes]:
    return dict(shortened(change))


def _again(document: Document, index: int, texts: Mapping[Place, bytes], links: Mapping[str, object]) -> bytes:
    """Return an entry with other links, and with the shortened text of its result."""
    record = document.records[index]
    values: dict[tuple[str | int, ...], bytes] = {(key,): encode(value) for key, value in links.items()}
    values |= {path: text for (place, path), text in texts.items() if place == index}
    return with_values(document.data[record.start : record.stop], values)


def _fresh(identity: str) -> str:
    """Return an id made from a text."""
    return uuid.uuid5(_NAMESPACE, identity.encode("utf-8", "surrogatepass").hex()).hex[:8]


def _path(records: Sequence[Record]) -> list[Record]:
    """Return the entries from the root to the last one: all of them, in logs without ids."""
    entries = [r for r in records if r.value is not None and text_of(r.value, "type") != "session"]
    if not entries or text_of(entries[-1].value, "id") is None:
        return entries
    known = {text_of(entry.value, "id"): entry for entry in entries}
    path: list[Record] = []
    at: Record | None = entries[-1]
    while at is not None and known.pop(text_of(at.value, "id"), None) is not None:
        path.append(at)
        at = known.get(text_of(at.value, "parentId"))
    return path[::-1]


def _seen(path: list[Record]) -> list[Record]:
    """Return what the model sees of a path: the last compaction, what it keeps, and what follows."""
    found = [k for k, record in enumerate(path) if text_of(record.value, "type") == "compaction"]
    if not found:
        return path
    at = found[-1]
    value = object_of(path[at].value)
    first = text_of(value, "firstKeptEntryId")
    number = value.get("firstKeptEntryIndex")
    if text_of(value, "id") is not None:
        kept = next((k for k in range(at) if text_of(path[k].value, "id") == first), at)
    else:
        # The session is entry 0, and nothing is kept from there.
        kept = number - 1 if isinstance(number, int) and 0 < number <= at else at
    earlier = [record for record in path[kept:at] if text_of(record.value, "type") != "compaction"]
    return [path[at], *earlier, *path[at + 1 :]]


def _is_aborted(message: Mapping[str, object]) -> bool:
    return text_of(message, "stopReason") in {"aborted", "error"}


def _said(record: Record) -> _Said | None:
    value = object_of(record.value)
    kind = text_of(value, "type")
    if kind in {"compaction", "branch_summary"}:
        summary = text_of(value, "summary")
        return None if not summary else _Said("user", [_text(summary)], record.index)
    if kind == "custom_message":
        return _spoken("user", value, record.index)
    if kind != "message":
        return None
    message = object_of(value, "message")
    role = text_of(message, "role")
    if role == "bashExecution":
        if message.get("excludeFromContext") is True:
            return None
        ran = f"Ran `{text_of(message, 'command') or ''}`\n```\n{text_of(message, 'output') or ''}\n```"
        return _Said("user", [_text(ran)], record.index)
    if role == "toolResult":
        return _result(message, record.index)
    if role == "assistant":
        return None if _is_aborted(message) else _spoken("assistant", message, record.index)
    return _spoken("user", message, record.index) if role in {"user", "custom", "hookMessage"} else None


def _result(message: Mapping[str, object], index: int) -> _Said:
    content = message.get("content")
    place: Place | None = (index, ("message", "content"))
    if isinstance(content, list) and len(content) == 1 and text_of(content[0], "type") == "text":
        # The tool reads a list there.
        place = (index, ("message", "content", 0, "text"))
    elif not isinstance(content, str):
        place = None
    result = {
        "type": "tool_result",
        "tool_use_id": message.get("toolCallId"),
        "content": content if isinstance(content, str) else [_block(block) for block in list_of(content)],
        "is_error": message.get("isError") is True,
    }
    return _Said("user", [result], index, place, is_result=True)


def _spoken(role: str, message: Mapping[str, object], index: int) -> _Said | None:
    content = message.get("content")
    blocks = [_text(content)] if isinstance(content, str) else [_block(block) for block in list_of(content)]
    return _Said(role, blocks, index) if blocks else None


def _text(text: str) -> object:
    return {"type": "text", "text": text}


def _block(block: object) -> object:
    """Spell a block as `anthropic.messages` does; what is not known stays as it is."""
    value = object_of(block)
    match text_of(value, "type"):
        case "toolCall":
            call = {"type": "tool_use", "id": value.get("id"), "name": value.get("name")}
            return {**call, "input": value.get("arguments", {})}
        case "thinking" if value.get("redacted") is True:
            return {"type": "redacted_thinking", "data": text_of(value, "thinkingSignature") or ""}
        case "thinking":
            signature = text_of(value, "thinkingSignature") or ""
            return {"type": "thinking", "thinking": text_of(value, "thinking") or "", "signature": signature}
        case "image" if "data" in value:
            source = {"type": "base64", "media_type": value.get("mimeType"), "data": value.get("data")}
            return {"type": "image", "source": source}
        case "text":
            return _text(text_of(value, "text") or "")
        case _:
            return block


def _messages(said: Iterable[_Said]) -> Iterator[ViewMessage]:
    """Join the results that follow each other."""
    results: list[_Said] = []
    for one in said:
        if one.is_result:
            results.append(one)
            continue
        if results:
            yield _message(results)
            results = []
        yield _message([one])
    if results:
        yield _message(results)


def _message(parts: Sequence[_Said]) -> ViewMessage:
    content = [block for part in parts for block in part.blocks]
    return ViewMessage(
        encode({"role": parts[0].role, "content": content}),
        tuple(part.record for part in parts),
        tuple(part.place for part in parts if part.is_result),
    )


PI: Final = Pi()
