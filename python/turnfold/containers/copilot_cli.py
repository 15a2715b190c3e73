"""Session logs of GitHub Copilot CLI."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.links import LinkedRecords
from turnfold.containers.protocol import Change, LoggedTranscript, Mark, Place
from turnfold.containers.view import ChatView, view

_KINDS: Final = frozenset({"system.message", "user.message", "assistant.message", "tool.execution_complete"})

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "turnfold:copilot_cli")
_SYSTEM: Final = b'{"role":"system"'


class CopilotCli(LinkedRecords):
    """JSON lines `events.jsonl`: `session.start`, then events `{"type", "data", "id", "timestamp", "parentId"}`.

    The view is `openai.chat`. `user.message` is what was sent (`transformedContent` where there is one) with images of
    its `attachments`; `assistant.message` has `toolRequests` as calls and `reasoningText` as `reasoning_content`;
    `tool.execution_complete` is a result, with the text of its error where it failed; `assistant.reasoning` belongs to
    the answer that follows, `system.notification` is sent as the user's. Events with a `parentToolCallId` are a
    sub-agent's, a transcript of its own. A `session.compaction_complete` with `summaryContent` is a summary of all
    messages before its `session.compaction_start`; instructions stay.

    How the tool resumes behind a compaction is not public, so none is written: the messages that go are taken out, and
    an event of the summary's role takes their place in the chain of events.
    """

    name: ClassVar[str] = "copilot_cli"
    title: ClassVar[str] = "GitHub Copilot CLI `events.jsonl`: a `session.start`, then events with `data`."

    def mark(self, record: Mapping[str, object]) -> Mark | None:
        """See the start of a session, or an event of the tool's."""
        kind, data = text_of(record, "type"), object_of(record, "data")
        if kind == "session.start" and "sessionId" in data and ("copilotVersion" in data or "producer" in data):
            return Mark("proof", "session.start says the version of Copilot")
        if kind in _KINDS and data and "parentId" in record:
            return Mark("usual", f"{kind} has data and parentId")
        return None

    def transcripts(self, records: Sequence[Record], data: bytes) -> Iterator[LoggedTranscript]:
        """Read the session, then the sub-agents in it. O(bytes)."""
        session, model = "session", None
        agents: dict[str, _Agent] = {}
        started: dict[str, int] = {}
        for record in records:
            kind, event = text_of(record.value, "type"), object_of(record.value, "data")
            if kind == "session.start":
                session = text_of(event, "sessionId") or session
            if kind in {"session.start", "session.model_change"}:
                model = text_of(event, "newModel") or text_of(event, "selectedModel") or model
            if kind == "tool.execution_start" and (call := text_of(event, "toolCallId")) is not None:
                started[call] = record.index
            agent = text_of(event, "parentToolCallId") or ""
            agents.setdefault(agent, _Agent()).add(kind or "", event, record.index, started)
        for name, agent_read in agents.items():
            if agent_read.chat.messages:
                identifier = f"{session}/{name}" if name else session
                yield view(identifier, "openai.chat", agent_read.chat.messages, {"model": model})

    def spell(self, records: Sequence[Record], change: Change, role: str, text: str) -> object:
        """Return an event of the role with the summary as its content."""
        if role == "assistant":
            return {
                "type": "assistant.message",
                "data": {"messageId": str(uuid.uuid5(_NAMESPACE, text)), "content": text},
            }
        return {"type": f"{role}.message", "data": {"content": text, **({"role": role} if role == "system" else {})}}


class _Agent:
    """What one agent of a session said."""

    def __init__(self) -> None:
        self.chat = ChatView()
        self._compacting: int | None = None
        self._thoughts: list[tuple[str, int]] = []

    def add(self, kind: str, event: Mapping[str, object], index: int, started: Mapping[str, int]) -> None:
        """Add what one event says. `started` has the event that began a call, by call id."""
        match kind:
            case "system.message":
                self.chat.text("system", text_of(event, "content") or "", index)
            case "user.message":
                text = text_of(event, "transformedContent") or text_of(event, "content") or ""
                images = [image for part in list_of(event, "attachments") if (image := _image(part)) is not None]
                self.chat.text("user", [{"type": "text", "text": text}, *images] if images else text, index)
            case "system.notification" if text_of(event, "content"):
                self.chat.text("user", text_of(event, "content") or "", index)
            case "assistant.reasoning" if text_of(event, "content"):
                self._thoughts.append((text_of(event, "content") or "", index))
            case "assistant.message":
                self._answer(event, index)
            case "tool.execution_complete":
                self._result(event, index, started)
            case "session.compaction_start":
                self._compacting = len(self.chat.messages)
            case "session.compaction_complete":
                summary = text_of(event, "summaryContent")
                if summary and event.get("success") is not False:
                    stop = len(self.chat.messages) if self._compacting is None else self._compacting
                    kept, after = self.chat.messages[:stop], self.chat.messages[stop:]
                    gone = [m for m in kept if not m.json.startswith(_SYSTEM)]
                    self.chat.messages = [m for m in kept if m.json.startswith(_SYSTEM)]
                    # Whoever takes the summary out takes out what it stands for: else the tool would see that again.
                    self.chat.text("user", summary, [index, *(record for m in gone for record in m.origins)])
                    self.chat.messages += after
                self._compacting = None

    def _answer(self, event: Mapping[str, object], index: int) -> None:
        calls = [
            (text_of(call, "toolCallId"), text_of(call, "name") or "", object_of(call).get("arguments"))
            for call in list_of(event, "toolRequests")
        ]
        text = text_of(event, "content") or ""
        thoughts = [thought for thought, _ in self._thoughts]
        thought = text_of(event, "reasoningText") or "\n".join(thoughts) or None
        records = [index, *(record for _, record in self._thoughts)]
        self._thoughts = []
        if calls:
            self.chat.calls(text, calls, records, reasoning_content=thought)
        elif text or thought:
            self.chat.text("assistant", text, records, reasoning_content=thought)

    def _result(self, event: Mapping[str, object], index: int, started: Mapping[str, int]) -> None:
        call = text_of(event, "toolCallId")
        paths: tuple[tuple[str, ...], ...] = (("result", "content"), ("error", "message"))
        found = next((path for path in paths if text_of(event, *path) is not None), None)
        place: Place | None = None if found is None else (index, ("data", *found))
        text = "" if found is None else text_of(event, *found) or ""
        self.chat.result(call, text, index, place)
        if call is not None and call in started:
            self.chat.also_from(started[call])


def _image(attachment: object) -> Mapping[str, object] | None:
    kind, data = text_of(attachment, "mimeType"), text_of(attachment, "data")
    if kind is None or data is None or not kind.startswith("image/"):
        return None
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


COPILOT_CLI: Final = CopilotCli()
"""Session logs of GitHub Copilot CLI."""
