"""Trajectories of SWE-agent: `.traj` files, those of version 1.0 with function calls and older ones."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, decode, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView

_SENT: Final = ("tool_calls", "thinking_blocks", "reasoning_content", "cache_control")
_ROLES: Final = {"system", "user", "assistant", "tool"}


class SweAgent(Listed):
    """One document `{"environment", "trajectory": [steps], "history": [messages], "info", "replay_config"}`.

    The view is `openai.chat`, made of `history`: role, content, calls and reasoning of each message, without what
    SWE-agent notes beside them. A tool message answers the first of its `tool_call_ids`. Older trajectories have no
    calls: actions stand in the assistant's text and observations are user messages, which is what the model saw.
    `trajectory` repeats all of it by step, some versions with the whole prompt; it is the record of the run and stays.

    SWE-agent keeps no compactions: the summary takes the place of the messages in `history`.
    """

    name: ClassVar[str] = "swe_agent"
    title: ClassVar[str] = "SWE-agent trajectories (`.traj`): `history` of messages beside `trajectory` of steps."

    def mark(self, value: object) -> Mark | None:
        """See `history` of messages with `agent`, or beside `trajectory` of steps with `action` and `observation`."""
        history = list_of(value, "history")
        if not any(text_of(message, "role") in _ROLES for message in history[:8]):
            return None
        steps = list_of(value, "trajectory")
        if any("action" in object_of(step) and "observation" in object_of(step) for step in steps[:8]):
            return Mark("proof", "history holds messages, and trajectory steps with action and observation")
        if any("agent" in object_of(message) for message in history[:8]):
            return Mark("proof", "history holds a message with role and agent")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `history`, named by the problem or the environment."""
        if isinstance(value, Mapping) and isinstance(value.get("history"), list):
            config = value.get("replay_config")
            settings = decode(config.encode("utf-8", "surrogatepass")) if isinstance(config, str) else config
            problem = text_of(settings, "problem_statement", "id")
            yield Conversation(("history",), problem or text_of(value, "environment"))

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add a message as the model saw it."""
        role = text_of(element, "role")
        content = element.get("content")
        sent = {key: element[key] for key in _SENT if element.get(key)}
        calls = [k for k in list_of(element, "tool_call_ids") if isinstance(k, str)]
        if role == "tool":
            place = (record.index, ("content",)) if isinstance(content, str) else _text_place(record.index, content)
            call = calls[0] if calls else text_of(element, "tool_call_id")
            chat.result(call, content, record.index, place, **sent)
        elif role in _ROLES:
            chat.text(role or "", content, record.index, **sent)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a message with the notes that the others have."""
        last = object_of(elements[-1].value)
        notes = {"agent": last["agent"]} if "agent" in last else {}
        kind = {"message_type": "observation" if role == "user" else "action"} if "message_type" in last else {}
        return {"role": role, "content": text, **notes, **kind}


def _text_place(index: int, content: object) -> tuple[int, tuple[str | int, ...]] | None:
    """Return where the text of a result stands that is a list of one text part."""
    parts = content if isinstance(content, list) else []
    return (index, ("content", 0, "text")) if len(parts) == 1 and text_of(parts[0], "text") is not None else None


SWE_AGENT: Final = SweAgent()
