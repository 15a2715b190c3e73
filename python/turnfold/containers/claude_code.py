"""Session logs of Claude Code."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar, Final

from turnfold.containers.claude_branches import branched
from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.listed import edit_value, placed
from turnfold.containers.protocol import Change, Hole, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ViewMessage, view
from turnfold.errors import NotWritableError

_OWN: Final = ("message",)
_EMBEDDED: Final = ("data", "message", "message")
_ATTACHED: Final = ("attachment",)
_COPIED: Final = ("isSidechain", "agentId", "userType", "cwd", "sessionId", "version", "gitBranch", "slug")
_SUMMARY_MARKS: Final = ("isVisibleInTranscriptOnly", "isCompactSummary")
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:claude_code")


@dataclass(slots=True)
class _Entry:
    """One record that holds a part of a message, or a link between such. `parent` is the entry before it."""

    record: Record
    path: tuple[str, ...]
    uuid: str
    parent: "_Entry | None"
    thread: "_Thread"
    speaks: bool


@dataclass(slots=True)
class _Thread:
    """All records that hang on one root: a session, or one run of a sub-agent."""

    id: str
    entries: list[_Entry] = field(default_factory=list)


class ClaudeCode(Records):
    """JSON lines `{"type": "user" | "assistant", "uuid", "parentUuid", "sessionId", "message": {...}}`; also without
    ids, as an array (the messages of its SDK), or as such an array in `loglines` (an exported session).

    The view is `anthropic.messages`, made of the records' own messages; the log holds neither system prompt nor tools.
    A transcript is what the model sees: the chain of parents from the last message up to its root or to a
    `compact_boundary`; what lies before that, and branches left behind, are `superseded message` in `unread`. Records
    of one API message (`message.id`) are one message; the results of its calls, which may stand between them, are the
    next. Repeats with new uuids are read once. An `attachment` that holds the text that is sent is the user's. Each
    sub-agent's run is a transcript of its own; one that stands only in `progress` records cannot be written to. Errors
    of the API are no messages.

    A compaction is a `compact_boundary` and an `isCompactSummary` record before the first record that stays; what led
    from there to what went is linked to them, and all other bytes stay as they are. Messages that go without a summary,
    or between others that stay, are left behind on a branch, as the tool leaves what a user takes back.
    """

    name: ClassVar[str] = "claude_code"
    title: ClassVar[str] = "Claude Code session logs: JSON lines with `uuid`, `parentUuid` and `message`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a message with `parentUuid` or `sessionId` beside it, or a record that no other tool writes."""
        kind = text_of(record, "type")
        if kind in {"user", "assistant"} and "content" in object_of(record, "message"):
            if "parentUuid" in record and "uuid" in record:
                return Mark("proof", f"a record of type {kind} has uuid, parentUuid and message")
            if "sessionId" in record and "isSidechain" in record:
                return Mark("usual", f"a record of type {kind} has sessionId, isSidechain and message")
            if "timestamp" in record or "session_id" in record:
                return Mark("usual", f"a record of type {kind} has timestamp or session_id and message.content")
        if kind == "summary" and "leafUuid" in record:
            return Mark("usual", "a summary has leafUuid")
        if kind == "system" and {"uuid", "parentUuid", "sessionId"} <= set(record):
            return Mark("usual", "a record of type system has uuid, parentUuid and sessionId")
        if kind == "started" and {"key", "agentId"} <= set(record):
            return Mark("usual", "a record of type started has key and agentId")
        if kind == "file-history-snapshot" or (kind == "progress" and "parentUuid" in record):
            return Mark("usual", f"a record is of type {kind}")
        return None

    def rows(self, document: Document) -> tuple[Record, ...]:
        """Return the lines or items, or those in `loglines`."""
        return document.items_at(("loglines",)) or document.records

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the record's type; for a message, why it is none of a transcript."""
        kind = text_of(record, "type") or "record without a type"
        if kind == "system":
            return f"system/{text_of(record, 'subtype')}"
        if kind not in {"user", "assistant"}:
            return kind
        return "api error" if record.get("isApiErrorMessage") is True else "superseded message"

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read each thread's chain. O(bytes)."""
        for thread in _threads(records):
            chain = _chain(thread)
            messages = list(_messages(chain, data))
            if messages:
                model = next((m for e in reversed(chain) if (m := text_of(e.record.value, *e.path, "model"))), None)
                yield view(thread.id, "anthropic.messages", messages, {"model": model})

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put a boundary and the summary before the first record that stays, and link that to them."""
        gone, _ = placed(change)
        thread = next(thread for thread in _threads(self.rows(document)) if thread.id == change.logged.id)
        chain = _chain(thread)
        if any(entry.path == _EMBEDDED for entry in chain):
            raise NotWritableError(f"{thread.id} is in `progress` records only: this is not its log")
        if change.dropped or [(hole.start, hole.role, hole.kept) for hole in change.holes] != [(0, "user", ())]:
            yield from self._branched(document, change, chain, gone)
            return
        (hole,) = change.holes
        kept = {index for origins in change.logged.origins[hole.stop :] for index in origins}
        last = [entry for entry in chain if entry.record.index in gone][-1]
        boundary, summary = _compaction(last, change, hole.text)
        rows = self.rows(document)
        # What names no parent that is there, and continues something that stays all the same, is left alone.
        held = {entry.record.index for entry in chain if _continues(entry, kept)}
        loose = list(_loose(rows, kept, gone, held)) if _are_linked(rows) else []
        # Before all that names the summary, so that a reader that goes line by line knows it.
        first = min((*kept, *(record.index for record in loose)), default=len(rows))
        new = [(first, encode(boundary)), (first, encode(summary))]
        yield from edit_records(document, set(), new, rows)
        for record in loose:
            yield edit_value(document, record, (record.index, ("parentUuid",)), encode(summary["uuid"]))

    def _branched(
        self, document: Document, change: Change, chain: Sequence[_Entry], gone: AbstractSet[int]
    ) -> Iterator[Edit]:
        rows = self.rows(document)
        own = [entry for entry in chain if entry.record.index in gone]
        if not _are_linked(rows) or any("parentUuid" not in object_of(e.record.value) for e in chain):
            raise NotWritableError(
                "These records name no parents, so Claude Code keeps nothing before its summary, which is the user's: "
                "use a policy with one such summary"
            )

        def spelled(parent: str, hole: Hole | None) -> dict[str, object]:
            text = "" if hole is None else f"{hole.start}:{hole.text}"
            boundary, summary = _compaction(own[-1], change, text)
            if hole is None:
                return boundary
            content: object = hole.text
            if hole.role == "assistant":
                content = [{"type": "text", "text": hole.text}]
                # The tool knows summaries as the user's.
                summary = {key: value for key, value in summary.items() if key not in _SUMMARY_MARKS}
            return {
                **summary,
                "parentUuid": parent,
                "type": hole.role,
                "message": {"role": hole.role, "content": content},
            }

        yield from branched(document, rows, change, gone, spelled)


def _threads(records: Sequence[Record]) -> list[_Thread]:
    """Sort the records into threads. One whose parent is not there continues its session."""
    threads: list[_Thread] = []
    known: dict[str, _Entry] = {}
    repeats: dict[object, _Entry] = {}
    current: dict[object, _Thread] = {}
    names: set[str] = set()
    segments: list[Mapping[str, object]] = []
    linked = _are_linked(records)
    for record in records:
        value = record.value
        if value is None:
            continue
        path = _path(value)
        own = object_of(value, *path[:-1])
        identifier = text_of(own, "uuid")
        speaks = _speaks(own) or (path == _ATTACHED and _attached(value) is not None)
        if identifier is None and not speaks:
            continue
        identifier = identifier or f"line {record.index + 1}"
        key = _repeat_key(own, identifier)
        if speaks and key in repeats:
            known[identifier] = repeats[key]
            continue
        agent = text_of(value, "data", "agentId") if path == _EMBEDDED else text_of(value, "agentId")
        session = text_of(value, "sessionId") or ""
        group = (session, agent, path == _EMBEDDED or value.get("isSidechain") is True)
        boundary = text_of(own, "subtype") == "compact_boundary"
        before = known.get(text_of(own, "logicalParentUuid" if boundary else "parentUuid") or "")
        # Only a prompt begins something: no answer, no result, and nothing in a log that links no record.
        continues = path == _EMBEDDED or own.get("parentUuid", "") is not None or not (linked and _is_prompt(own))
        if before is None and (boundary or continues):
            thread = current.get(group)
        else:
            thread = None if before is None else before.thread
        if thread is None:
            named = session or text_of(value, "session_id") or "session"
            name = agent or (f"{named}/{identifier}" if group[2] else named)
            thread = _Thread(f"{name}/{identifier}" if name in names else name)
            names.add(thread.id)
            threads.append(thread)
        if before is None and not boundary and thread.entries and continues:
            before = thread.entries[-1]
        entry = _Entry(record, path, identifier, None if boundary else before, thread, speaks)
        thread.entries.append(entry)
        known.setdefault(identifier, entry)
        current[group] = thread
        if speaks:
            repeats[key] = entry
        if boundary:
            segments.append(object_of(value, "compactMetadata", "preservedSegment"))
    for segment in segments:
        _relink(segment, known)
    return threads


def _path(record: Mapping[str, object]) -> tuple[str, ...]:
    """Return where the message of a record stands."""
    kind = text_of(record, "type")
    if kind == "progress" and object_of(record, *_EMBEDDED):
        return _EMBEDDED
    return _ATTACHED if kind == "attachment" else _OWN


def _attached(record: Mapping[str, object]) -> str | None:
    """Return the text that an attachment adds to the prompt; None where the tool makes it of something else."""
    attachment = object_of(record, "attachment")
    lines = [text_of(line) for line in list_of(attachment, "content")]
    listed = "\n".join(line or "" for line in lines) if None not in lines else ""
    text = text_of(attachment, "prompt") or text_of(attachment, "content") or listed
    return text if text.strip() else None


def _speaks(record: Mapping[str, object]) -> bool:
    message = object_of(record, "message")
    content = message.get("content")
    said = isinstance(content, str) or (isinstance(content, list) and all(isinstance(block, dict) for block in content))
    return said and _role(record) in {"user", "assistant"} and record.get("isApiErrorMessage") is not True


def _role(record: Mapping[str, object]) -> str | None:
    return text_of(record, "message", "role") or text_of(record, "type")


def _are_linked(records: Sequence[Record]) -> bool:
    """Whether any record names its parent, but for the summary that turnfold puts in."""
    return any(
        text_of(record.value, "parentUuid") is not None and object_of(record.value).get("isCompactSummary") is not True
        for record in records
    )


def _is_prompt(record: Mapping[str, object]) -> bool:
    kinds = {text_of(block, "type") for block in list_of(record, "message", "content")}
    return _role(record) == "user" and "tool_result" not in kinds


def _repeat_key(record: Mapping[str, object], identifier: str) -> object:
    message = object_of(record, "message")
    results = tuple(text_of(block, "tool_use_id") for block in list_of(message, "content"))
    if _role(record) == "user" and results and None not in results:
        return results
    if text_of(record, "type") == "attachment":
        return "attachment", text_of(record, "timestamp") or identifier, _attached(record)
    origin = text_of(message, "id") or text_of(record, "timestamp") or identifier
    return _role(record), origin, encode(message.get("content"))


def _relink(segment: Mapping[str, object], known: Mapping[str, _Entry]) -> None:
    """Hang what a boundary preserves on the summary, as its tool does when it loads the log."""
    head, anchor = known.get(text_of(segment, "headUuid") or ""), known.get(text_of(segment, "anchorUuid") or "")
    if head is not None and anchor is not None:
        head.parent = anchor


def _chain(thread: _Thread) -> list[_Entry]:
    """Return the entries that the model sees, in order: the ancestors of the last one, and what belongs to them.

    Parallel calls and their results fork the chain: of records of one API message, and of results, none is left behind.
    """
    leaf = next((entry for entry in reversed(thread.entries) if entry.speaks), None)
    chain: list[_Entry] = []
    seen: set[str] = set()
    while leaf is not None and leaf.uuid not in seen:
        seen.add(leaf.uuid)
        chain.append(leaf)
        leaf = leaf.parent
    ids = {message_id for entry in chain if (message_id := text_of(entry.record.value, *entry.path, "id"))}
    parts = {e.uuid for e in thread.entries if text_of(e.record.value, *e.path, "id") in ids} | seen
    calls = {
        text_of(block, "id")
        for e in thread.entries
        if e.uuid in parts
        for block in list_of(e.record.value, *e.path, "content")
        if text_of(block, "type") == "tool_use"
    }
    beside: dict[str, list[_Entry]] = {}
    for entry in thread.entries:
        if entry.speaks and entry.uuid not in seen and (entry.uuid in parts or _results(entry) & calls):
            ancestor = entry.parent
            while ancestor is not None and ancestor.uuid not in seen:
                ancestor = ancestor.parent
            beside.setdefault("" if ancestor is None else ancestor.uuid, []).append(entry)
    ordered = beside.get("", [])
    for entry in reversed(chain):
        ordered += (entry, *beside.get(entry.uuid, ())) if entry.speaks else beside.get(entry.uuid, ())
    return ordered


def _results(entry: _Entry) -> set[str | None]:
    blocks = list_of(entry.record.value, *entry.path, "content")
    return {text_of(block, "tool_use_id") for block in blocks if text_of(block, "type") == "tool_result"}


def _messages(chain: Sequence[_Entry], data: bytes) -> Iterator[ViewMessage]:
    """Put records together that are one message: by `message.id`, and results behind the message with their calls."""
    groups: list[list[_Entry]] = []
    by_id: dict[str, tuple[list[_Entry], list[_Entry]]] = {}
    answers: dict[str | None, list[_Entry]] = {}
    for entry in chain:
        message = object_of(entry.record.value, *entry.path)
        asked = [answers[result] for result in _results(entry) if result in answers]
        if asked:
            asked[0].append(entry)
            continue
        message_id = text_of(message, "id") if _role_of(entry) == "assistant" else None
        group, results = by_id.get(message_id or "", ([], []))
        if not group:
            groups += (group, results)
            if message_id:
                by_id[message_id] = group, results
        group.append(entry)
        for block in list_of(message, "content"):
            if text_of(block, "type") == "tool_use":
                answers[text_of(block, "id")] = results
    return (_message(group, data) for group in groups if group)


def _role_of(entry: _Entry) -> str | None:
    return "user" if entry.path == _ATTACHED else _role(object_of(entry.record.value, *entry.path[:-1]))


def _message(group: Sequence[_Entry], data: bytes) -> ViewMessage:
    blocks: list[tuple[bool, bytes, Place]] = []
    whole = b""
    for entry in group:
        record, path = entry.record, entry.path
        inner = Document(data[record.start : record.stop])
        span = inner.span(path)
        whole = inner.data[slice(*span)] if span is not None else b""
        content = list_of(record.value, *path, "content")
        if not content or path == _ATTACHED:
            said = _attached(object_of(record.value)) if path == _ATTACHED else text_of(record.value, *path, "content")
            text = encode({"type": "text", "text": said or ""})
            blocks.append((False, text, (record.index, ())))
            continue
        for item in inner.items_at((*path, "content")):
            is_result = text_of(item.value, "type") == "tool_result"
            place: Place = (record.index, (*path, "content", item.index, "content"))
            blocks.append((is_result, inner.data[item.start : item.stop], place))
    results = [block for block in blocks if block[0]]
    origins = tuple(dict.fromkeys(entry.record.index for entry in group))
    places = tuple(place for _, _, place in results)
    role = _role_of(group[0])
    if len(group) == 1 and text_of(group[0].record.value, *group[0].path, "role") is not None:
        return ViewMessage(whole, origins, places)
    # Of one user message, the results come first.
    ordered = results + [block for block in blocks if not block[0]] if role == "user" else blocks
    content_json = b",".join(block for _, block, _ in ordered)
    return ViewMessage(b'{"role":%b,"content":[%b]}' % (encode(role), content_json), origins, places)


def _compaction(last: _Entry, change: Change, text: str) -> tuple[dict[str, object], dict[str, object]]:
    """Return the two records. What they are made of stands in the log: neither clock nor chance."""
    value = object_of(last.record.value)
    copied = {key: value[key] for key in _COPIED if key in value}
    stamp = {"timestamp": value["timestamp"]} if "timestamp" in value else {}
    identity = f"{change.logged.id}:{last.uuid}:{text}".encode("utf-8", "surrogatepass").hex()
    first, second = (str(uuid.uuid5(_NAMESPACE, f"{part}:{identity}")) for part in ("boundary", "summary"))
    boundary: dict[str, object] = {
        "parentUuid": None,
        "logicalParentUuid": last.uuid,
        **copied,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        **stamp,
        "uuid": first,
        "level": "info",
        "compactMetadata": {"trigger": "manual", "preTokens": change.before_tokens},
    }
    summary: dict[str, object] = {
        "parentUuid": first,
        **copied,
        "type": "user",
        "message": {"role": "user", "content": text},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": second,
        **stamp,
    }
    return boundary, summary


def _continues(entry: _Entry, kept: AbstractSet[int]) -> bool:
    ancestor = entry.parent
    while ancestor is not None and not ancestor.speaks:
        ancestor = ancestor.parent
    return ancestor is not None and ancestor.record.index in kept


def _loose(
    records: Sequence[Record], kept: AbstractSet[int], gone: AbstractSet[int], held: AbstractSet[int]
) -> Iterator[Record]:
    """Find the records that lead from what stays to what goes, parent by parent, as the tool loads a session.

    Between the two may stand records without a message, and repeats. Those `held` need no parent. O(records).
    """
    known = {uuid: record for record in records if (uuid := text_of(record.value, "uuid")) is not None}
    seen: set[int] = set()
    for index in sorted(kept):
        record = records[index]
        while record.index not in seen:
            seen.add(record.index)
            parent = known.get(text_of(record.value, "parentUuid") or "")
            if parent is None or parent.index in gone:
                if "parentUuid" in object_of(record.value) and not (parent is None and record.index in held):
                    yield record
                break
            if parent.index in kept:
                break
            record = parent


CLAUDE_CODE: Final = ClaudeCode()
