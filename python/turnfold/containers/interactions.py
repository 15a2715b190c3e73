"""Answers of Gemini's Interactions API, as messages of `openai.chat`."""

from collections.abc import Mapping, Sequence
from typing import Final

from turnfold.containers.document import encode, list_of, object_of, text_of

_CALL: Final = "_call"
_RESULT: Final = "_result"


def is_interaction(response: object) -> bool:
    """Say whether a response is an interaction: it says so itself, and has steps."""
    return text_of(response, "object") == "interaction" and isinstance(object_of(response).get("steps"), list)


def interaction_messages(response: object) -> Sequence[Mapping[str, object]]:
    """Return the messages of an interaction's steps. O(bytes).

    `model_output` and each `X_call` with its id are the assistant's, `X_result` a tool message with its `call_id`,
    `user_input` the user's; the summaries of `thought` are the `reasoning_content` of what follows. A call of a tool
    that runs at the provider has that tool's name.
    """
    found: list[dict[str, object]] = []
    thoughts: list[str] = []
    answer: dict[str, object] | None = None
    for step in list_of(response, "steps"):
        kind = text_of(step, "type") or ""
        if kind == "thought":
            thoughts += (text for part in list_of(step, "summary") if (text := text_of(part, "text")))
            continue
        if kind == "user_input":
            found.append({"role": "user", "content": _content(step)})
            answer = None
        elif kind.endswith(_RESULT):
            result = object_of(step).get("result")
            text = result if isinstance(result, str) else encode(result).decode()
            found.append({"role": "tool", "tool_call_id": text_of(step, "call_id") or "", "content": text})
            answer = None
        elif kind == "model_output" or kind.endswith(_CALL):
            if answer is None or (kind == "model_output" and "tool_calls" in answer):
                answer = {"role": "assistant", "content": None}
                found.append(answer)
            if thoughts:
                answer["reasoning_content"] = "\n".join(thoughts)
                thoughts = []
            if kind == "model_output":
                before = answer["content"]
                answer["content"] = [*(before if isinstance(before, list) else ()), *_content(step)]
            else:
                answer["tool_calls"] = [*list_of(answer, "tool_calls"), _call(step, kind)]
    return found


def _call(step: object, kind: str) -> Mapping[str, object]:
    arguments = encode(object_of(step).get("arguments", {})).decode()
    name = text_of(step, "name") or kind.removesuffix(_CALL)
    return {"id": text_of(step, "id") or "", "type": "function", "function": {"name": name, "arguments": arguments}}


def _content(step: object) -> list[object]:
    return [_part(part) for part in list_of(step, "content")]


def _part(part: object) -> object:
    if text_of(part, "type") != "image":
        return part
    url = (
        text_of(part, "uri") or f"data:{text_of(part, 'mime_type') or 'image/png'};base64,{text_of(part, 'data') or ''}"
    )
    return {"type": "image_url", "image_url": {"url": url}}
