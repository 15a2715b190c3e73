"""Agent files of Letta (`.af`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, decode, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import INSIDE, Conversation, Listed, placed
from turnfold.containers.protocol import Change, Mark, Place
from turnfold.containers.view import ChatView
from turnfold.errors import NotWritableError

_IN_CONTEXT: Final = "in_context_message_ids"
_ROLES: Final = {"system": "system", "user": "user", "assistant": "assistant", "approval": "assistant"}


class Letta(Listed):
    """One document `{"agents": [{"id", "messages": [...], "in_context_message_ids": [...]}], "tools": [...]}`, or a
    JSON string that holds such a document.

    The view is `openai.chat`: of each agent the messages in context, in the order of their ids, or all where it lists
    none. Contents are lists of parts: texts, and reasoning as `reasoning_content`. A tool message answers its
    `tool_call_id`, or each of its `tool_returns`. Requests for approval are the assistant's. Messages out of context
    are `message out of context` in `unread`.

    A compaction is as Letta does it: the summary is one more message, the replaced ones leave the context and stay in
    the file.
    """

    name: ClassVar[str] = "letta"
    title: ClassVar[str] = "Letta agent files (`.af`): `agents` with `messages` and `in_context_message_ids`."

    def mark(self, value: object) -> Mark | None:
        """See an agent with messages in context."""
        _, document = _opened(value)
        for number, agent in enumerate(list_of(document, "agents")[:8]):
            if isinstance(object_of(agent).get("messages"), list):
                if _IN_CONTEXT in object_of(agent):
                    return Mark("proof", f"agents[{number}] has messages and {_IN_CONTEXT}")
                if "memory_blocks" in object_of(agent) or "llm_config" in object_of(agent):
                    return Mark("usual", f"agents[{number}] has messages, and blocks of memory or llm_config")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `messages` of each agent."""
        path, document = _opened(value)
        schemas = {text_of(tool, "id"): object_of(tool, "json_schema") for tool in list_of(document, "tools")}
        for number, agent in enumerate(list_of(document, "agents")):
            if isinstance(object_of(agent).get("messages"), list):
                known = [schemas[k] for k in list_of(agent, "tool_ids") if isinstance(k, str) and schemas.get(k)]
                tools = [{"type": "function", "function": schema} for schema in known]
                head = {"model": text_of(agent, "llm_config", "model"), "tools": tools or None}
                name = text_of(agent, "id") or text_of(agent, "name")
                around = {"ids": list_of(agent, _IN_CONTEXT)}
                yield Conversation((*path, "agents", number, "messages"), name, head, around=around)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return what a message is called that the model does not see."""
        return "element without a message" if text_of(element, "role") is None else "message out of context"

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the messages in context."""
        ids = list_of(conversation.around, "ids")
        by_id = {text_of(element.value, "id"): element for element in elements}
        shown = [by_id.pop(k) for k in ids if isinstance(k, str) and k in by_id] if ids else list(elements)
        for element in shown:
            if element.value is not None:
                _add(chat, element.index, element.value)

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Add the summary as a message, and put its id in the place of those that go."""
        removed, summaries = placed(change)
        path = change.logged.path
        if isinstance(path[0], int) and path[0] != INSIDE:
            # The number of the line: the file may be a line, and `document` starts there.
            path = path[1:]
        at = len(path) - 1 - path[::-1].index(INSIDE) if INSIDE in path else -1
        spans = document.items_at((*path[at + 1 : -1], _IN_CONTEXT))
        ids = [decode(document.data[span.start : span.stop]) for span in spans]
        gone = [text_of(elements[index].value, "id") for index in removed]
        if not ids:
            new = [(index, encode(_message(elements, 0, role, text))) for index, role, text in summaries]
            return edit_items([(e.start, e.stop) for e in elements], removed, new)
        if None in gone or len(summaries) > 1:
            raise NotWritableError("Letta keeps one summary, and messages by their ids: use a policy with one summary")
        places = {k for k, identifier in enumerate(ids) if identifier in gone}
        if not summaries:
            return edit_items([(s.start, s.stop) for s in spans], places, [])
        _, role, text = summaries[0]
        message = _message(elements, 1 + max((_number(e.value) for e in elements), default=0), role, text)
        added = edit_items([(e.start, e.stop) for e in elements], set(), [(len(elements), encode(message))])
        context = edit_items([(s.start, s.stop) for s in spans], places, [(min(places), encode(message["id"]))])
        return [*added, *context]


def _opened(value: object) -> tuple[tuple[str | int, ...], object]:
    """Return the document, and the way to it: into a string, where it is in one."""
    if isinstance(value, str):
        return (INSIDE,), decode(value.encode("utf-8", "surrogatepass"))
    return (), value


def _number(message: object) -> int:
    """Return the number at the end of a message's id."""
    digits = (text_of(message, "id") or "").rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0


def _message(elements: Sequence[Record], number: int, role: str, text: str) -> dict[str, object]:
    """Return a message with the fields that the last one has, all of its own empty."""
    last = object_of(elements[-1].value)
    kept = {key: last[key] for key in ("type", "model", "agent_id", "group_id", "created_at") if key in last}
    return {
        **kept,
        "role": "assistant" if role == "assistant" else "user",
        "content": [{"type": "text", "text": text}],
        "id": f"message-{number}",
        "tool_calls": None,
        "tool_call_id": None,
        "tool_returns": [],
    }


def _add(chat: ChatView, index: int, message: Mapping[str, object]) -> None:
    role, content = text_of(message, "role"), message.get("content")
    parts = content if isinstance(content, list) else []
    thoughts = [text_of(part, "reasoning") for part in parts if text_of(part, "type") == "reasoning"]
    shown = [_part(part) for part in parts if text_of(part, "type") not in {"reasoning", "omitted_reasoning"}]
    single = text_of(shown[0], "text") if len(shown) == 1 else None
    told: object = content if isinstance(content, str) else single if single is not None else shown
    if role == "tool":
        returns = list_of(message, "tool_returns")
        if len(returns) > 1 or (returns and text_of(message, "tool_call_id") is None):
            for number, item in enumerate(returns):
                said = object_of(item).get("func_response")
                place: Place | None = (index, ("tool_returns", number, "func_response"))
                text = said if isinstance(said, str) else encode(said).decode()
                chat.result(text_of(item, "tool_call_id"), text, index, place if isinstance(said, str) else None)
            return
        path = ("content",) if isinstance(content, str) else ("content", 0, "text")
        plain = isinstance(content, str) or (single is not None and len(parts) == 1)
        chat.result(text_of(message, "tool_call_id"), told or "", index, (index, path) if plain else None)
    elif role in _ROLES:
        said_before = {"reasoning_content": "\n".join(text for text in thoughts if text) or None}
        calls = [
            (text_of(call, "id"), text_of(call, "function", "name") or "", object_of(call, "function").get("arguments"))
            for call in list_of(message, "tool_calls")
        ]
        if calls:
            chat.calls(told or None, calls, index, **said_before)
        else:
            chat.text(_ROLES[role], told or "", index, **said_before)


def _part(part: object) -> object:
    """Return a text without its signature; any other part as it is."""
    return {"type": "text", "text": text_of(part, "text")} if text_of(part, "type") == "text" else part


LETTA: Final = Letta()
