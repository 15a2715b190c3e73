"""Task logs of Cline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, placed
from turnfold.containers.protocol import Change, Mark


class Cline(Listed):
    """A document `{"version", "sessionId", "agent", "system_prompt", "messages": [{"id", "role", "content", "ts"}]}`.

    The messages are `anthropic.messages` and the view is made of their own bytes; `system_prompt` is its system text.
    A `*.compaction.json` is the same after a compaction. A compaction is written as the tool writes it: the messages
    that it replaces go, and one of the user's with `metadata.kind` `compaction_summary` takes their place. The tool's
    own `Context summary:` before the text is left out, so that turnfold knows its summary again.
    """

    name: ClassVar[str] = "cline"
    title: ClassVar[str] = "Cline task logs: `messages` in Anthropic's form, with `sessionId` and `agent`."
    wire_format: ClassVar[str] = "anthropic.messages"

    def mark(self, value: object) -> Mark | None:
        """See the head of a log; or the record of a session, which holds no message."""
        if not isinstance(value, Mapping):
            return None
        if text_of(value, "session_id") is not None and {"workspace_root", "interactive", "pid"} <= set(value):
            return Mark("usual", "session_id, workspace_root, interactive and pid")
        if text_of(value, "sessionId") is None:
            return None
        if list_of(value, "messages") and ("agent" in value or "system_prompt" in value) and "version" in value:
            return Mark("proof", "version, sessionId, agent and messages")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the one array of messages."""
        if list_of(value, "messages"):
            system = text_of(value, "system_prompt")
            models = (text_of(message, "modelInfo", "id") for message in reversed(list_of(value, "messages")))
            head = {"model": next((m for m in models if m), None), "system": system or None}
            yield Conversation(("messages",), text_of(value, "sessionId"), head)

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put the summary in the place of what it replaces, with the time of the last of that."""
        removed, summaries = placed(change)
        stamps = [e.value["ts"] for e in elements if e.index in removed and e.value is not None and "ts" in e.value]
        stamp = {"ts": stamps[-1]} if stamps else {}
        new: list[tuple[int, bytes]] = []
        for index, role, text in summaries:
            note = {"kind": "compaction_summary", "summary": text, "tokensBefore": change.before_tokens}
            content = [{"type": "text", "text": text}]
            new.append((index, encode({"role": role, "content": content, **stamp, "metadata": note})))
        return edit_items([(element.start, element.stop) for element in elements], removed, new)


CLINE: Final = Cline()
