"""Session logs of Kimi Code CLI."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit
from turnfold.containers.protocol import Change, LoggedTranscript, Mark
from turnfold.containers.records import Records, edit_records
from turnfold.containers.view import ChatView, ViewMessage, view
from turnfold.errors import NotWritableError


class Kimi(Records):
    """JSON lines of `wire` records: `context.append_message`, `context.append_loop_event`, `context.apply_compaction`.

    The view is `openai.chat`: the system prompt of the last `config.update`, then the context as it stands at the end
    of the log. A step is one assistant message (its `think` and `text` parts and its calls), each result one message.
    `context.apply_compaction` takes the first `compactedCount` messages of the context away and puts the last
    `keptUserMessageCount` user messages of them and `contextSummary` in their place; a compaction is recorded as such a
    record at the end of the log, and everything before it stays.
    """

    name: ClassVar[str] = "kimi"
    title: ClassVar[str] = "Kimi Code CLI session logs: `context.*` records, one a line."
    takes_out: ClassVar[bool] = False

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See a record that changes the context."""
        kind = text_of(record, "type") or ""
        return Mark("proof", f"a record is of type `{kind}`") if kind in _KINDS else None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the context at the end of the log."""
        context = _Context()
        model = None
        for record in records:
            value = record.value or {}
            model = text_of(value, "model") if value.get("type") == "llm.request" else model
            context.take(record.index, value)
        messages = [*context.system, *context.messages()]
        if messages:
            yield view("session", "openai.chat", messages, {"model": model})

    def summarise(self, document: Document, change: Change) -> Iterable[Edit]:
        """Append the record of the compaction."""
        leading = change.logged.transcript.leading
        if [hole.start for hole in change.holes] != [leading] or change.holes[0].role != "user":
            raise NotWritableError("Kimi's compaction replaces the start of the context by one message of the user")
        (hole,) = change.holes
        times = [t for record in document.records if isinstance(t := (record.value or {}).get("time"), int)]
        line = {
            "type": "context.apply_compaction",
            "summary": hole.text,
            "contextSummary": hole.text,
            "compactedCount": hole.stop - leading,
            "tokensBefore": change.before_tokens,
            "tokensAfter": change.after_tokens,
            "keptUserMessageCount": 0,
            **({"time": times[-1]} if times else {}),
        }
        return edit_records(document, frozenset(), [(len(document.records), encode(line))])


_KINDS: Final = frozenset({"context.append_message", "context.append_loop_event", "context.apply_compaction"})


@dataclass
class _Message:
    """One message of the context in the making."""

    role: str
    origins: list[int]
    content: object = None
    parts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str | None, str, object]] = field(default_factory=list)
    answers: str | None = None


class _Context:
    def __init__(self) -> None:
        self.system: list[ViewMessage] = []
        self._messages: list[_Message] = []
        self._steps: dict[str, _Message] = {}

    def take(self, index: int, record: Mapping[str, object]) -> None:
        match text_of(record, "type"):
            case "config.update" if (prompt := text_of(record, "systemPrompt")) is not None:
                chat = ChatView()
                chat.text("system", prompt, index)
                self.system = chat.messages
            case "context.append_message":
                message = object_of(record, "message")
                role = text_of(message, "role") or "user"
                self._messages.append(_Message(role, [index], _content(message.get("content"))))
            case "context.append_loop_event":
                self._event(index, object_of(record, "event"))
            case "context.apply_compaction":
                self._compact(index, record)

    def _event(self, index: int, event: Mapping[str, object]) -> None:
        match text_of(event, "type"):
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
            case "tool.result":
                output = object_of(event, "result").get("output")
                message = _Message("tool", [index], output if isinstance(output, str) else encode(output).decode())
                message.answers = text_of(event, "toolCallId")
                self._messages.append(message)

    def _step(self, event: Mapping[str, object], index: int) -> _Message:
        name = text_of(event, "stepUuid") or ""
        step = self._steps.get(name)
        if step is None:
            step = self._steps[name] = _Message("assistant", [])
            self._messages.append(step)
        step.origins.append(index)
        return step

    def _compact(self, index: int, record: Mapping[str, object]) -> None:
        count, kept = record.get("compactedCount"), record.get("keptUserMessageCount")
        count = count if isinstance(count, int) and count >= 0 else len(self._messages)
        gone = [message for message in self._messages[:count] if message.role == "user"]
        again = gone[-kept:] if isinstance(kept, int) and kept > 0 else []
        text = text_of(record, "contextSummary") or text_of(record, "summary") or ""
        self._messages[:count] = [*again, _Message("user", [index], text)]

    def messages(self) -> list[ViewMessage]:
        chat = ChatView()
        for message in self._messages:
            first = message.origins[0]
            if message.role == "tool":
                chat.result(message.answers, message.content, first, (first, ("event", "result", "output")))
            elif message.role == "assistant" and (message.calls or message.thoughts or message.parts):
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
