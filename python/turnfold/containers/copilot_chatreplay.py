"""Chat replays that VS Code's Copilot Chat exports."""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Final

from turnfold.containers.document import Document, list_of, object_of, text_of
from turnfold.containers.protocol import LoggedTranscript, Mark, Reading
from turnfold.containers.recording import Recording
from turnfold.containers.view import ChatView, view
from turnfold.errors import InvalidLogError


class CopilotChatReplay(Recording):
    """`{"prompts": [{"prompt", "logs": [{"kind": "element" | "request" | "toolCall", ...}]}]}`.

    A transcript is one `request`: the messages that were sent, whose roles are numbers (0 system, 1 user, 2 assistant,
    3 tool), and the answer. The view is `openai.chat`. A replay is a recording: results cannot be written into it.
    """

    name: ClassVar[str] = "copilot_chatreplay"
    title: ClassVar[str] = "VS Code Copilot Chat replays: `prompts` with `logs` of requests and tool calls."
    reason: ClassVar[str] = "each request in it has the answer that it got, and nothing goes on from it"

    def recognise(self, document: Document) -> Mark | None:
        """See prompts with logs."""
        prompts = list_of(document.value, "prompts")
        if prompts and isinstance(object_of(prompts[0]).get("logs"), list):
            return Mark("proof", "prompts[0] has `logs`")
        return None

    def read(self, document: Document) -> Reading:
        """Read each request. A log that is no request is `unread`."""
        prompts = list_of(document.value, "prompts")
        found: list[LoggedTranscript] = []
        unread: Counter[str] = Counter()
        for index, prompt in enumerate(prompts):
            for number, entry in enumerate(list_of(prompt, "logs")):
                sent = list_of(entry, "requestMessages", "messages")
                if text_of(entry, "kind") == "request" and sent:
                    name = text_of(entry, "id") or f"prompts[{index}].logs[{number}]"
                    found.append(_request(name, index, entry, sent))
                else:
                    unread[text_of(entry, "kind") or "log without a kind"] += 1
        if not found:
            raise InvalidLogError("This is no log of kind copilot_chatreplay: no prompt has a request", 0, "")
        return Reading(tuple(found), dict(unread))


_ROLES: Final = ("system", "user", "assistant", "tool")


def _request(name: str, index: int, entry: object, sent: list[object]) -> LoggedTranscript:
    chat = ChatView()
    for message in sent:
        number = object_of(message).get("role")
        role = _ROLES[number] if isinstance(number, int) and 0 <= number < len(_ROLES) else "user"
        text = _text(object_of(message).get("content"))
        calls = [_call(call) for call in list_of(message, "toolCalls")]
        if calls:
            chat.calls(text or None, calls, index)
        elif role == "tool":
            chat.result(text_of(message, "toolCallId"), text, index)
        else:
            chat.text(role, text, index)
    answer = "\n".join(text for text in list_of(entry, "response", "message") if isinstance(text, str))
    if answer:
        chat.text("assistant", answer, index)
    return view(name, "openai.chat", chat.messages, {"model": text_of(entry, "metadata", "model")})


def _call(call: object) -> tuple[str | None, str, object]:
    function: Mapping[str, object] = object_of(call, "function")
    return text_of(call, "id"), text_of(function, "name") or "", function.get("arguments", "{}")


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for part in list_of(content) if (text := text_of(part, "text")) is not None)


COPILOT_CHATREPLAY: Final = CopilotChatReplay()
"""Chat replays of VS Code's Copilot Chat."""
