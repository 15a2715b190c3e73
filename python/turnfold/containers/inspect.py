"""Evaluation logs of Inspect, in its JSON format."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from turnfold.containers.document import Document, Record, encode, list_of, object_of, text_of
from turnfold.containers.edits import Edit, edit_items
from turnfold.containers.listed import Conversation, Listed, placed
from turnfold.containers.protocol import Change, Mark
from turnfold.containers.view import ChatView

_ATTACHED: Final = "attachment://"


class Inspect(Listed):
    """One document `{"version", "status", "eval", "samples": [{"id", "epoch", "messages", "attachments"}]}`, or one
    sample of it. A sample's id is `<id>/<epoch>`.

    The view is `openai.chat`: flat calls (`function`, `arguments`) as calls, an error as the text of its result,
    reasoning parts as `reasoning_content`, images and audio as parts. `attachment://` references are resolved in the
    view and kept in the log. Of a sample that Inspect compacted itself, the view starts at the last summary, after the
    system and input messages: what lies between is `superseded message` in `unread`.

    The summary takes the place of the messages, marked with `metadata.summary` as Inspect marks its own; events stay.
    """

    name: ClassVar[str] = "inspect"
    title: ClassVar[str] = "Inspect evaluation logs: `eval` and `samples`, each with `messages`."

    def mark(self, value: object) -> Mark | None:
        """See `eval` and `samples` with `status` or `plan`, or a sample's own fields."""
        fields = object_of(value)
        if "eval" in fields and "samples" in fields and ("status" in fields or "plan" in fields):
            return Mark("proof", "the document has eval, samples, and status or plan")
        if "epoch" in fields and "target" in fields and isinstance(fields.get("messages"), list):
            return Mark("usual", "the document has epoch, target and messages")
        return None

    def conversations(self, value: object) -> Iterable[Conversation]:
        """Find `messages` in each sample."""
        head = {"model": text_of(value, "eval", "model")}
        samples: list[tuple[tuple[str | int, ...], object]] = [((), value)]
        samples += ((("samples", number), sample) for number, sample in enumerate(list_of(value, "samples")))
        for path, sample in samples:
            fields = object_of(sample)
            if isinstance(fields.get("messages"), list):
                names = [str(fields[key]) for key in ("id", "epoch") if isinstance(fields.get(key), int | str)]
                attached = object_of(fields, "attachments")
                yield Conversation((*path, "messages"), "/".join(names) or None, head, around=attached)

    def project_all(self, chat: ChatView, elements: Sequence[Record], data: bytes, conversation: Conversation) -> None:
        """Read the messages that the model sees, with what is attached to them."""
        for element in _shown(elements):
            if element.value is not None:
                _add(chat, element.index, element.value, conversation.around)

    def kind(self, element: Mapping[str, object] | None) -> str:
        """Return what a message is called that the model does not see."""
        return "element without a message" if text_of(element, "role") is None else "superseded message"

    def summarise(self, document: Document, elements: Sequence[Record], change: Change) -> Iterable[Edit]:
        """Put a marked message in the place of what it replaces, and of what earlier summaries replaced.

        Without the mark where messages of the conversation stand before it: Inspect would take them as superseded.
        """
        removed, summaries = placed(change)
        shown = {element.index for element in _shown(elements)}
        marked = len(summaries) == 1 and all(_stands(e.value) for e in elements[: min(removed)] if e.index in shown)
        note = {"metadata": {"summary": True}} if marked else {}
        new = [(index, encode({"role": role, "content": text, **note})) for index, role, text in summaries]
        # Without input messages, or with their summary gone, Inspect would show these again.
        given = {e.index for e in elements if text_of(e.value, "source") == "input"}
        again = marked or any(object_of(elements[index].value, "metadata").get("summary") for index in removed)
        again = again or (bool(given) and given <= removed)
        superseded = {e.index for e in elements if e.index not in shown} if again else set()
        return edit_items([(e.start, e.stop) for e in elements], {*removed, *superseded}, new)


def _stands(message: object) -> bool:
    """Whether a message is shown to the model whatever was summarised."""
    return text_of(message, "role") == "system" or text_of(message, "source") == "input"


def _shown(elements: Sequence[Record]) -> Sequence[Record]:
    """Return the messages that the model sees: all, or those that Inspect shows with its last summary."""
    last = max((e.index for e in elements if object_of(e.value, "metadata").get("summary")), default=None)
    if last is None:
        return elements
    before = elements[:last]
    # Without input messages, Inspect takes all up to the first user message for input.
    user = next((e.index for e in elements if text_of(e.value, "role") == "user"), -1)
    opening = -1 if any(text_of(e.value, "source") == "input" for e in elements) else user
    return [e for e in before if _stands(e.value) or e.index <= opening] + list(elements[last:])


def _add(chat: ChatView, index: int, message: Mapping[str, object], attached: Mapping[str, object]) -> None:
    role = text_of(message, "role")
    content = _content(message.get("content"), attached)
    if role == "tool":
        error, parts = text_of(message, "error", "message"), list_of(message, "content")
        path: tuple[str | int, ...] | None = ("content",) if isinstance(content, str) and not parts else None
        if error is not None and not (isinstance(content, str) and content):
            content, path = error, ("error", "message")
        elif len(parts) == 1 and text_of(parts[0], "text") is not None:
            path = ("content", 0, "text")
        place = None if path is None else (index, path)
        chat.result(text_of(message, "tool_call_id"), content, index, place, is_error=error is not None or None)
        return
    thoughts = [_reasoning(part) for part in list_of(message, "content") if text_of(part, "type") == "reasoning"]
    said = {"reasoning_content": _resolve("\n".join(thought for thought in thoughts if thought), attached) or None}
    calls = [
        (text_of(call, "id"), text_of(call, "function") or "", _resolve(object_of(call).get("arguments"), attached))
        for call in list_of(message, "tool_calls")
    ]
    if calls:
        chat.calls(content or None, calls, index, **said)
    elif role in {"system", "user", "assistant"}:
        chat.text(role or "", content, index, **said)


def _reasoning(part: object) -> str | None:
    return text_of(part, "summary") if object_of(part).get("redacted") is True else text_of(part, "reasoning")


def _content(content: object, attached: Mapping[str, object]) -> object:
    """Return content as `openai.chat` has it: a string where all is one text."""
    if not isinstance(content, list):
        return _resolve(content, attached) if content is not None else ""
    parts: list[object] = []
    for part in content:
        kind = text_of(part, "type")
        if kind == "text":
            parts.append({"type": "text", "text": _resolve(text_of(part, "text"), attached)})
        elif kind == "image":
            parts.append({"type": "image_url", "image_url": {"url": _resolve(text_of(part, "image"), attached)}})
        elif kind == "audio":
            sound = {"data": _resolve(text_of(part, "audio"), attached), "format": text_of(part, "format") or "mp3"}
            parts.append({"type": "input_audio", "input_audio": sound})
        elif kind != "reasoning":
            parts.append(_resolve(part, attached))
    return text_of(parts[0], "text") if len(parts) == 1 and text_of(parts[0], "type") == "text" else parts or ""


def _resolve(value: object, attached: Mapping[str, object]) -> object:
    """Return a value with every reference replaced by what is attached; a dangling one stays."""
    if isinstance(value, str):
        found = attached.get(value.removeprefix(_ATTACHED)) if value.startswith(_ATTACHED) else None
        return found if isinstance(found, str) else value
    if isinstance(value, list):
        return [_resolve(item, attached) for item in value]
    if isinstance(value, Mapping):
        return {key: _resolve(item, attached) for key, item in value.items()}
    return value


INSPECT: Final = Inspect()
