"""Rollouts of Codex."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from turnfold.containers.document import Document, Record, at, encode, object_of, text_of
from turnfold.containers.edits import Edit, apply_edits
from turnfold.containers.listed import edit_value, placed, shortened
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place, Reading
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ViewMessage, view

_UNSENT: Final = {"ghost_snapshot", "other"}
_CONTEXT: Final = ("<user_instructions>", "<environment_context>", "# AGENTS.md instructions", "<turn_aborted>")
_AGAIN: Final = ("payload", "replacement_history")
_KINDS: Final = {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}


class _Item(msgspec.Struct, frozen=True):
    """One item of the history: its record, and where in that it stands; its number in a history that is said again.
    `made` is its JSON where the log has only its text.
    """

    record: Record
    path: tuple[str | int, ...]
    value: Mapping[str, object]
    number: int | None = None
    made: bytes | None = None


class Codex(Records):
    """JSON lines `{"timestamp", "type", "payload"}`; in the old layout a head with `instructions`, then bare items.

    The view is `openai.responses`, made of the items' own bytes: every `response_item` but snapshots of the working
    tree. Events repeat what items say and are `unread`. A `compacted` record replaces all before it by its
    `replacement_history`, or where it has none, by the user's messages so far and its summary; `thread_rolled_back`
    takes the last turns away. What is replaced or taken away is `superseded item`.

    A compaction is a `compacted` record at the end that holds all items of the result; all other lines stay as they
    are.
    The old layout has no such record: the summary takes the place of the items that go.
    """

    name: ClassVar[str] = "codex"
    title: ClassVar[str] = "Codex rollouts: JSON lines of `timestamp`, `type` and `payload`."

    holds_any_result: ClassVar[bool] = True

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a record of a rollout, or what only the old layout has."""
        kind = text_of(record, "type")
        payload = record.get("payload")
        if kind in _KINDS and isinstance(payload, Mapping) and "timestamp" in record:
            reason = f"a record of type {kind} has timestamp and payload"
            return Mark("usual" if kind in {"event_msg", "world_state"} else "proof", reason)
        if text_of(record, "record_type") == "state":
            return Mark("proof", "a record has record_type state")
        if {"id", "timestamp", "instructions"} <= set(record) and kind is None:
            return Mark("usual", "a record has id, timestamp and instructions")
        return None

    def kind(self, record: Mapping[str, object]) -> str:
        """Return the record's type, and for events their own."""
        kind = text_of(record, "type")
        own = text_of(record, "payload", "type")
        if _item_path(record) is not None:
            return own if own in _UNSENT else "superseded item"
        if kind is None:
            return "state" if "record_type" in record else "head"
        return f"{kind}/{own}" if own is not None else kind

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the one thread of the rollout. O(bytes)."""
        items = _history(records)
        if not items:
            return
        found = [record.value for record in records if record.value is not None]
        metas = [object_of(v, "payload") for v in found if text_of(v, "type") == "session_meta"]
        model = next((m for v in reversed(found) if (m := text_of(v, "payload", "model"))), None)
        session = next((i for m in [*metas, *found] if (i := text_of(m, "id"))), "session")
        instructions = next((i for m in metas if (i := text_of(m, "base_instructions", "text"))), None)
        head = {"model": model, "instructions": instructions}
        yield view(session, "openai.responses", list(_messages(items, data)), head)

    def write(self, document: Document, reading: Reading, changes: tuple[Change, ...]) -> bytes:
        """Record each compaction. One that says all items again has their shortened results too."""
        edits: list[Edit] = []
        for change in changes:
            again = change.holes or change.is_rewritten
            if again:
                edits += self.summarise(document, change)
            if not again or not _has_payloads(document.records):
                edits += (edit_value(document, document.records[p[0]], p, value) for p, value in shortened(change))
        return apply_edits(document.data, edits)

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Put a `compacted` record at the end, or the summary in the place of what goes."""
        result = change.result
        records = document.records
        if not _has_payloads(records):
            return _replaced(document, change)
        stamp = next((t for r in reversed(records) if (t := text_of(r.value, "timestamp"))), None)
        history = b",".join(result.message_json(index) for index in range(len(result)))
        line = b'{"timestamp":%b,"type":"compacted","payload":{"message":%b,"replacement_history":[%b]}}'
        text = encode("\n".join(hole.text for hole in change.holes))
        return edit_records(document, set(), [(len(records), line % (encode(stamp), text, history))])


def _replaced(document: Document, change: Change) -> Iterator[Edit]:
    """Return the edits of the old layout, which has no record of a compaction: items go, and summaries are items."""
    removed, _ = placed(change)
    origins, result, gone = change.logged.origins, change.result, change.gone
    starts = {hole.start for hole in change.holes}
    new: list[tuple[int, bytes]] = []
    at = 0
    for message, (index,) in enumerate(origins):
        if message in starts:
            new.append((index, result.message_json(at)))
            at += 1
        if message in change.stripped:
            record = document.records[index]
            yield Edit(record.start, record.stop, result.message_json(at))
        at += message not in gone
    yield from edit_records(document, removed, new)


def _has_payloads(records: Sequence[Record]) -> bool:
    """Whether it is the newer layout."""
    return any("payload" in object_of(record.value) for record in records)


def _item_path(record: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return where the item of a record stands; None for a record that holds none."""
    kind = text_of(record, "type")
    if kind == "response_item" and isinstance(record.get("payload"), Mapping):
        return ("payload",)
    if "payload" in record or "record_type" in record or kind is None or kind in _KINDS:
        return None
    return ()


def _history(records: Sequence[Record]) -> list[_Item]:
    """Replay the rollout. O(items), and again for what a record repeats."""
    items: list[_Item] = []
    prompts: list[int] = []
    for record in records:
        value = object_of(record.value)
        path = _item_path(value)
        payload = object_of(value, "payload")
        if path is not None:
            item = object_of(at(value, path))
            if text_of(item, "type") not in _UNSENT:
                prompts += [len(items)] if _is_prompt(item) else []
                items.append(_Item(record, path, item))
        elif text_of(value, "type") == "compacted":
            items = _compacted(items, record, payload)
            prompts = [k for k, item in enumerate(items) if _is_prompt(item.value)]
        elif text_of(payload, "type") == "thread_rolled_back":
            turns = payload.get("num_turns")
            first = max(0, len(prompts) - turns) if isinstance(turns, int) and turns > 0 else len(prompts)
            if first < len(prompts):
                del items[prompts[first] :]
                del prompts[first:]
    return items


def _compacted(items: Sequence[_Item], record: Record, payload: Mapping[str, object]) -> list[_Item]:
    history = payload.get("replacement_history")
    if isinstance(history, list):
        return [
            _Item(record, (*_AGAIN, k), object_of(item), number=k)
            for k, item in enumerate(history)
            if isinstance(item, Mapping)
        ]
    content = [{"type": "input_text", "text": text_of(payload, "message") or ""}]
    made = {"type": "message", "role": "user", "content": content}
    spoken = [item for item in items if text_of(item.value, "role") == "user"]
    return [*spoken, _Item(record, ("payload", "message"), made, made=encode(made))]


def _is_prompt(item: Mapping[str, object]) -> bool:
    text = text_of(item, "content", 0, "text") or ""
    return text_of(item, "role") == "user" and not text.lstrip().startswith(_CONTEXT)


def _messages(items: Iterable[_Item], data: bytes) -> Iterator[ViewMessage]:
    """Take the items' own bytes. Items of one record follow each other: it is parsed once."""
    last: Record | None = None
    inner = Document(b"")
    again: tuple[Record, ...] = ()
    for item in items:
        record = item.record
        if record is not last:
            last, inner = record, Document(data[record.start : record.stop])
            again = inner.items_at(_AGAIN)
        places: tuple[Place, ...] = ()
        if "output" in item.value and (text_of(item.value, "type") or "").endswith("_output"):
            places = ((record.index, (*item.path, "output")),)
        span = (again[item.number].start, again[item.number].stop) if item.number is not None else inner.span(item.path)
        own = item.made or (b"{}" if span is None else inner.data[slice(*span)])
        yield ViewMessage(own, (record.index,), places)


CODEX: Final = Codex()
