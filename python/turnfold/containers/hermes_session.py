"""Session files of Hermes."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView


class HermesSession(Listed):
    """One document `{"session_id", "platform", "model", "system_prompt", "tools", "messages"}`.

    The messages are `openai.chat` with fields of the tool's own, and the view is made of their bytes. `session_meta`
    and other roles that no API knows are carried along.

    A summary is a message in the place of those that go.
    """

    name: ClassVar[str] = "hermes_session"
    title: ClassVar[str] = "Hermes sessions: `session_id`, `platform` and `messages` of OpenAI's form."

    def mark(self, value: object) -> Mark | None:
        """See a session with its platform."""
        if text_of(value, "session_id") is None or not list_of(value, "messages"):
            return None
        if text_of(value, "platform") is not None and "session_start" in object_of(value):
            return Mark("proof", "the session says its platform and session_start")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `messages`."""
        if self.mark(value) is not None:
            head = {key: object_of(value)[key] for key in ("model", "tools") if object_of(value).get(key)}
            prompt = text_of(value, "system_prompt") or None
            yield Conversation(("messages",), text_of(value, "session_id"), head=head, system=prompt)

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Keep the bytes of a message that is sent."""
        if text_of(element, "role") in _ROLES:
            super().project(chat, element, record, raw)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the role of what is no message."""
        return text_of(element, "role") or super().kind(element)


_ROLES: Final = {"system", "developer", "user", "assistant", "tool"}

HERMES_SESSION: Final = HermesSession()
"""Session files of Hermes."""
