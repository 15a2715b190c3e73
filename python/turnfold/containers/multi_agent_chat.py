"""Conversations among several agents, as the Who&When dataset keeps them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView


class MultiAgentChat(Listed):
    """`{"question": ..., "history": [{"content", "role", "name"?}], "system_prompt"?: {agent: text}}`.

    The view is `openai.chat`. Where `role` is not `user` or `assistant` it is the speaker's name: `human` is the user,
    everyone else an assistant of that name. The agents' system prompts stand apart and are no message.
    """

    name: ClassVar[str] = "multi_agent_chat"
    title: ClassVar[str] = "Who&When: a `history` in which several named agents speak."

    def mark(self, value: object) -> Mark | None:
        """See the history together with the question it is about."""
        turns = list_of(value, "history")
        spoken = turns and text_of(turns[0], "role") is not None and text_of(turns[0], "content") is not None
        if spoken and "question" in object_of(value) and "mistake_agent" in object_of(value):
            return Mark("proof", "a `history` stands beside `question` and `mistake_agent`")
        return None

    def conversations(self, value: object) -> Iterator[Conversation]:
        """Find the history."""
        if isinstance(object_of(value).get("history"), list):
            yield Conversation(("history",), text_of(value, "question_ID"))

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add what one agent says."""
        role, text = text_of(element, "role"), text_of(element, "content")
        if role is None or text is None:
            return
        name = text_of(element, "name") or (None if role in _USUAL else role)
        speaker = role if role in {"user", "assistant"} else "user" if role == "human" else "assistant"
        chat.text(speaker, text, record.index, name=name)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return an element of the user, or of the first assistant."""
        seen = [text_of(element.value, "role") or "" for element in elements]
        spoken = "human" if "human" in seen and role == "user" else role
        return {"content": text, "role": spoken}


_USUAL: Final = frozenset({"user", "assistant", "human"})

MULTI_AGENT_CHAT: Final = MultiAgentChat()
"""Conversations among several agents."""
