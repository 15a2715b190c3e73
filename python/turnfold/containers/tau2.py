"""Results of tau2-bench."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Record, list_of, object_of, text_of
from turnfold.containers.listed import Conversation, Listed
from turnfold.containers.protocol import Mark
from turnfold.containers.view import ChatView


class Tau2(Listed):
    """One document `{"info", "tasks", "simulations": [{"id", "messages": [...]}]}`.

    The view is `openai.chat`, what the agent sees: the policy as system prompt, flat calls (`name`, `arguments`) as
    calls, tool messages as results of the call in their `id`, several of them in one `tool_messages` each as its own.
    Calls of the simulated user and their results (`requestor` is `user`) are not shown to the agent: they are no
    messages of the view, and stay in the log.

    tau2-bench keeps no compactions: the summary takes the place of the messages.
    """

    name: ClassVar[str] = "tau2"
    title: ClassVar[str] = "tau2-bench results: `simulations`, each with `id` and `messages`."

    def mark(self, value: object) -> Mark | None:
        """See `simulations` that hold `messages`, with `tasks` or `task_id`."""
        for simulation in list_of(value, "simulations")[:8]:
            if isinstance(object_of(simulation).get("messages"), list):
                if "task_id" in object_of(simulation) or "tasks" in object_of(value):
                    return Mark("proof", "simulations hold messages, with tasks")
                return Mark("usual", "simulations hold messages")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `messages` in each simulation."""
        about = object_of(value, "info", "environment_info")
        tools = about.get("tool_defs")
        known = list(tools.values()) if isinstance(tools, Mapping) else list_of(about, "tool_defs")
        head = {"tools": known if known and all("function" in object_of(tool) for tool in known) else None}
        for number, simulation in enumerate(list_of(value, "simulations")):
            if isinstance(object_of(simulation).get("messages"), list):
                policy = text_of(simulation, "policy") or text_of(about, "policy")
                yield Conversation(("simulations", number, "messages"), text_of(simulation, "id"), head, policy)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return whose call or result it is."""
        return "call or result of the simulated user" if element is not None else "element without a message"

    def project(self, chat: ChatView, element: Mapping[str, object], record: Record, raw: bytes) -> None:
        """Add what the agent sees of a message."""
        role, index = text_of(element, "role"), record.index
        several = list_of(element, "tool_messages")
        if role == "tool":
            parts = [(part, ("tool_messages", k)) for k, part in enumerate(several)] if several else [(element, ())]
            for part, path in parts:
                if text_of(part, "requestor") != "user":
                    text = text_of(part, "content")
                    place = None if text is None else (index, (*path, "content"))
                    call = text_of(part, "id") or text_of(part, "tool_call_id")
                    chat.result(call, text or "", index, place, is_error=object_of(part).get("error") is True or None)
        elif role == "assistant" and list_of(element, "tool_calls"):
            calls = [
                (text_of(call, "id"), text_of(call, "name") or "", object_of(call).get("arguments"))
                for call in list_of(element, "tool_calls")
            ]
            chat.calls(text_of(element, "content"), calls, index)
        elif role in {"system", "user", "assistant"} and not list_of(element, "tool_calls"):
            chat.text(role or "", text_of(element, "content") or "", index)

    def spell(self, elements: Sequence[Record], role: str, text: str) -> object:
        """Return a message with the fields that the others have, all empty."""
        return {"role": role, "content": text, "tool_calls": None, "turn_idx": None, "cost": None, "usage": None}


TAU2: Final = Tau2()
