"""Trajectories of mini-swe-agent."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_SENT: Final = ("tool_calls", "thinking_blocks", "reasoning_content", "cache_control")
_FENCE: Final = "```mswea_bash_command"
_OBSERVED: Final = "<returncode>"


class MiniSweAgent(Listed):
    """One document: a bare list of messages, or `{"info", "messages": [...], "trajectory_format": "mini-swe-agent-1"}`.

    The view is `openai.chat`: role, content, calls and reasoning of each message, without its `extra` and `timestamp`.
    Commands in a fenced block and observations in `<returncode>` are text, which is what the model saw. The `exit`
    message is none of the conversation.

    mini-swe-agent keeps no compactions: the summary takes the place of the messages.
    """

    name: ClassVar[str] = "mini_swe_agent"
    title: ClassVar[str] = "mini-swe-agent trajectories: messages with a fenced command and `<returncode>` results."

    def mark(self, value: object) -> Mark | None:
        """See the name of the format, or a fenced command of this agent among the messages."""
        shape = text_of(value, "trajectory_format") or ""
        if shape.startswith("mini-swe-agent"):
            return Mark("proof", f"trajectory_format is {shape}")
        if isinstance(value, Mapping) and text_of(value, "info", "mini_version") and list_of(value, "messages"):
            return Mark("proof", "info has mini_version")
        messages = value if isinstance(value, list) else list_of(value, "messages")
        for number, message in enumerate(messages):
            said = object_of(message)
            role, text = said.get("role"), said.get("content")
            if not isinstance(text, str):
                continue
            if role == "assistant" and _FENCE in text:
                return Mark("proof", f"message {number} has a block {_FENCE[3:]}")
            if role == "user" and text.startswith(_OBSERVED):
                return Mark("usual", f"message {number} starts with {_OBSERVED}")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find the bare list, or `messages`."""
        if isinstance(value, list):
            if self.mark(value) is not None:
                yield Conversation(())
        elif isinstance(value, Mapping) and isinstance(value.get("messages"), list):
            model = text_of(value, "info", "config", "model", "model_name")
            yield Conversation(("messages",), text_of(value, "instance_id"), {"model": model})

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add a message as the model saw it."""
        role = text_of(element, "role")
        if role == "tool":
            place = (record.index, ("content",)) if text_of(element, "content") is not None else None
            chat.result(text_of(element, "tool_call_id"), element.get("content"), record.index, place)
        elif role in {"system", "developer", "user", "assistant"}:
            sent = {key: object_of(element)[key] for key in _SENT if element.get(key)}
            chat.text(role or "", element.get("content"), record.index, **sent)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return the role of what is no message."""
        role = text_of(element, "role")
        return "element without a message" if role is None else f"message of role {role}"


MINI_SWE_AGENT: Final = MiniSweAgent()
