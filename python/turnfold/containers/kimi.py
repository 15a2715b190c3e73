"""Session logs of Kimi Code CLI."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, with_values
from turnfold.containers.listed import shortened
from turnfold.containers.protocol import Change, Hole, LoggedTranscript, Mark, Place
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ChatView, ViewMessage, view
from turnfold.errors import NotWritableError


class Kimi(Records):
    """JSON lines of `wire` records: `context.append_message`, `context.append_loop_event`, `context.apply_compaction`.

    The view is `openai.chat`: the system prompt of the last `config.update`, then the context as it stands at the end
    of the log. A step is one assistant message (its `think` and `text` parts and its calls), each result one message.
    A message that was appended while calls were open follows their results. `context.clear` empties the context, and
    `context.undo` takes the last prompts with what followed. `context.apply_compaction` without `keptUserMessageCount`
    puts `contextSummary` in the place of the first `compactedCount` messages; with it, all goes but so many of the
    user's own messages, which the summary follows.

    A compaction is recorded as one of the first form at the end of the log. Where more goes, or stays behind it or
    before it, the context is compacted or cleared as a whole and what stays is appended to it again, a summary of the
    user's as the tool's own. Everything before that stays as it is.
    """

    name: ClassVar[str] = "kimi"
    title: ClassVar[str] = "Kimi Code CLI session logs: `context.*` records, one a line."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a record that changes the context."""
        kind = text_of(record, "type") or ""
        return Mark("proof", f"a record is of type `{kind}`") if kind in _KINDS else None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the context at the end of the log."""
        context, model = _replayed(records)
        messages = [*context.system, *context.messages()]
        if messages:
            yield view("session", "openai.chat", messages, {"model": model})

    def edits(self, document: Document, changes: tuple[Change, ...]) -> Iterator[Edit]:
        """Append the records of a compaction. Results are shortened where they stand, or where they are said again."""
        for change in changes:
            if not change.gone:
                yield from super().edits(document, (change,))
                continue
            context, _ = _replayed(document.records)
            leading = len(context.system)
            if min(change.gone) < leading:
                raise NotWritableError("Kimi's system prompt is no message of its context: use a policy that keeps it")
            is_first = bool(change.holes) and (change.holes[0].start, change.holes[0].role) == (leading, "user")
            hole = change.holes[0] if is_first else None
            if hole is not None and len(change.gone) == hole.stop - leading > max(change.gone) - leading:
                lines = [_compaction(document, change, hole, hole.stop - leading)]
                yield from super().edits(document, (replace(change, holes=()),))
            else:
                lines = list(_appended(document, change, context, hole))
            yield from edit_records(document, frozenset(), [(len(document.records), line) for line in lines])


def _time(document: Document) -> Mapping[str, object]:
    times = [t for record in document.records if isinstance(t := (record.value or {}).get("time"), int)]
    return {"time": times[-1]} if times else {}


def _compaction(document: Document, change: Change, hole: Hole, count: int) -> bytes:
    """Return the record that puts a summary in the place of the first `count` messages.

    It has no `keptUserMessageCount`, with which the tool keeps nothing but messages of the user.
    """
    record = {
        "type": "context.apply_compaction",
        "summary": hole.text,
        "contextSummary": hole.text,
        "compactedCount": count,
        "tokensBefore": change.before_tokens,
        "tokensAfter": change.after_tokens,
    }
    return encode({**record, **_time(document)})


def _appended(document: Document, change: Change, context: "_Context", first: Hole | None) -> Iterator[bytes]:
    """Yield the records that empty the context, with `first` as its only message, and append what stays to it."""
    texts, time, leading = dict(shortened(change)), _time(document), len(context.system)
    messages = context.all()
    if first is None:
        yield encode({"type": "context.clear", **time})
    else:
        yield _compaction(document, change, first, len(messages))
    summaries = {hole.start - leading: hole for hole in change.holes if hole is not first}
    asked: set[str] = set()
    step: str | None = None
    for number, message in enumerate(messages):
        stays = number + leading not in change.gone
        # The tool takes no result behind the end of its step.
        if step is not None and (number in summaries or (stays and message.role != "tool")):
            yield _loop_event({"type": "step.end", "uuid": step}, time)
            step = None
        if number in summaries:
            yield _said_again(summaries[number].text, time, summaries[number].role)
        if not stays:
            continue
        asked.discard(message.answers or "")
        if message.is_step:
            step = str(uuid.uuid5(_NAMESPACE, f"{len(document.records)}:{message.origins}"))
            asked = {name for name, _, _ in message.calls if name is not None}
            yield _loop_event({"type": "step.begin", "uuid": step}, time)
        yield from _again(document, message, step, texts, time)
    if step is not None and not asked:
        yield _loop_event({"type": "step.end", "uuid": step}, time)


def _loop_event(event: Mapping[str, object], time: Mapping[str, object]) -> bytes:
    return encode({"type": "context.append_loop_event", "event": event, **time})


def _said_again(text: str, time: Mapping[str, object], role: str = "user") -> bytes:
    """Return the record that appends a summary."""
    message = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": []}
    origin = {"origin": {"kind": "compaction_summary"}} if role == "user" else {}
    return encode({"type": "context.append_message", "message": {**message, **origin}, **time})


def _again(
    document: Document,
    message: "_Message",
    step: str | None,
    texts: Mapping[Place, bytes],
    time: Mapping[str, object],
) -> Iterator[bytes]:
    """Yield the records of one message once more, a step's under its new name."""
    if message.is_summary:
        yield _said_again(str(message.content), time)
        return
    for index in message.origins:
        record = document.records[index]
        raw = document.data[record.start : record.stop]
        values = {path: text for (place, path), text in texts.items() if place == index}
        if message.is_step:
            values["event", "stepUuid"] = encode(step)
        yield with_values(raw, values)


def _replayed(records: Sequence[Record]) -> tuple["_Context", str | None]:
    """Return the context at the end of the log, and the model that was asked last."""
    context = _Context()
    model = None
    for record in records:
        value = record.value or {}
        model = text_of(value, "model") if value.get("type") == "llm.request" else model
        context.take(record.index, value)
    context.settle()
    return context, model


_KINDS: Final = frozenset({"context.append_message", "context.append_loop_event", "context.apply_compaction"})
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:kimi")


@dataclass
class _Message:
    """One message of the context in the making. `origin` is what the tool says of who sent it."""

    role: str
    origins: list[int]
    content: object = None
    parts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str | None, str, object]] = field(default_factory=list)
    answers: str | None = None
    origin: Mapping[str, object] = field(default_factory=dict)
    is_step: bool = False

    @property
    def is_summary(self) -> bool:
        return text_of(self.origin, "kind") == "compaction_summary"

    @property
    def is_prompt(self) -> bool:
        """Whether the user wrote it, and not the tool in the user's name."""
        kind = text_of(self.origin, "kind") or "user"
        asked = kind in {"skill_activation", "plugin_command"} and text_of(self.origin, "trigger") == "user-slash"
        return self.role == "user" and (kind == "user" or asked)


class _Context:
    def __init__(self) -> None:
        self.system: list[ViewMessage] = []
        self._messages: list[_Message] = []
        self._steps: dict[str, _Message] = {}
        self._open: set[str] = set()
        self._deferred: list[_Message] = []

    def all(self) -> Sequence[_Message]:
        """The messages of the context, without the system prompt."""
        return self._messages

    def take(self, index: int, record: Mapping[str, object]) -> None:
        match text_of(record, "type"):
            case "config.update" if (prompt := text_of(record, "systemPrompt")) is not None:
                chat = ChatView()
                chat.text("system", prompt, index)
                self.system = chat.messages
            case "context.append_message":
                message = object_of(record, "message")
                made = _Message(text_of(message, "role") or "user", [index], _content(message.get("content")))
                made.origin = object_of(message, "origin")
                (self._deferred if self._open else self._messages).append(made)
            case "context.append_loop_event":
                self._event(index, object_of(record, "event"))
            case "context.apply_compaction":
                self.settle()
                self._compact(index, record)
            case "context.clear":
                self.settle()
                self._messages.clear()
            case "context.undo":
                self.settle()
                self._undo(record.get("count"))

    def settle(self) -> None:
        """Append what waited for open calls: no more results come for them."""
        self._open.clear()
        self._messages += self._deferred
        self._deferred.clear()

    def _event(self, index: int, event: Mapping[str, object]) -> None:
        match text_of(event, "type"):
            case "step.end":
                self.settle()
            case "step.begin":
                self.settle()
                self._steps.pop(text_of(event, "uuid") or "", None)
            case "content.part":
                step = self._step(event, index)
                part = object_of(event, "part")
                if (thought := text_of(part, "think")) is not None:
                    step.thoughts.append(thought)
                elif (text := text_of(part, "text")) is not None:
                    step.parts.append(text)
            case "tool.call":
                call = (text_of(event, "toolCallId"), text_of(event, "name") or "", event.get("args"))
                self._step(event, index).calls.append(call)
                self._open.update(name for name in call[:1] if name is not None)
            case "tool.result":
                output = object_of(event, "result").get("output")
                message = _Message("tool", [index], output if isinstance(output, str) else encode(output).decode())
                message.answers = text_of(event, "toolCallId")
                self._messages.append(message)
                self._open.discard(message.answers or "")
                if not self._open:
                    self.settle()

    def _step(self, event: Mapping[str, object], index: int) -> _Message:
        name = text_of(event, "stepUuid") or ""
        step = self._steps.get(name)
        if step is None:
            step = self._steps[name] = _Message("assistant", [], is_step=True)
            self._messages.append(step)
        step.origins.append(index)
        return step

    def _compact(self, index: int, record: Mapping[str, object]) -> None:
        text = text_of(record, "contextSummary") or text_of(record, "summary") or ""
        summary = _Message("user", [index], text, origin={"kind": "compaction_summary"})
        kept, count = record.get("keptUserMessageCount"), record.get("compactedCount", record.get("count"))
        count = count if isinstance(count, int) and count >= 0 else len(self._messages)
        if not isinstance(kept, int) or record.get("legacyTail") is True:
            self._messages[:count] = [summary]
            return
        prompts = [message for message in self._messages if message.is_prompt]
        first = record.get("keptHeadUserMessageCount")
        head = prompts[: first if isinstance(first, int) and first > 0 else 0]
        rest = kept - len(head)
        self._messages = [*head, *(prompts[-rest:] if rest > 0 else ()), summary]

    def _undo(self, count: object) -> None:
        left = count if isinstance(count, int) else 0
        cut = at = len(self._messages)
        while left > 0 and at > 0 and not self._messages[at - 1].is_summary:
            at -= 1
            if self._messages[at].is_prompt:
                cut, left = at, left - 1
        del self._messages[cut:]

    def messages(self) -> list[ViewMessage]:
        chat = ChatView()
        for message in self._messages:
            first = message.origins[0]
            if message.role == "tool":
                chat.result(message.answers, message.content, first, (first, ("event", "result", "output")))
            elif message.calls or message.thoughts or message.parts:
                thoughts = "\n".join(message.thoughts) or None
                text = "\n".join(message.parts) or None
                if message.calls:
                    chat.calls(text, message.calls, first, reasoning_content=thoughts)
                else:
                    chat.text("assistant", text or "", first, reasoning_content=thoughts)
            else:
                chat.text(message.role, message.content, first)
            made = chat.messages[-1]
            chat.messages[-1] = ViewMessage(made.json, tuple(message.origins), made.results)
        return chat.messages


def _content(content: object) -> object:
    """Return a text as it stands, a list of texts as one text, and any other list as it stands."""
    parts = list_of(content)
    if parts and all(text_of(part, "text") is not None for part in parts):
        return "\n".join(text_of(part, "text") or "" for part in parts)
    return content


KIMI: Final = Kimi()
"""Session logs of Kimi Code CLI."""
