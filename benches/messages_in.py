"""Whether a file holds messages at all: asked of files that no container knows.

Many tools keep files beside their transcripts: titles, counts, settings, indexes. The rule looks for what a transcript
cannot be without: a text that a speaker said, or a call or result with the id that pairs them.
"""

import json
from collections.abc import Iterator

SPEAKERS = ("role", "author", "speaker", "from")
SPEAKING_TYPES = {"user", "human", "assistant", "ai", "model", "message", "user_input", "model_output"}
TEXTS = ("content", "parts", "text", "value", "message")
CALL_IDS = ("call_id", "tool_call_id", "tool_use_id", "toolCallId", "callId")
CALLED = ("arguments", "args", "input", "output", "result", "content")


def holds_messages(data: bytes) -> bool:
    """Say whether any object in the file is a message, a call or a result. True for what holds no JSON: no telling."""
    return why_none(data) is None


def why_none(data: bytes) -> str | None:
    """Say what a file without messages has instead, in one line; None where it may hold some.

    Named are an error or images in the place of an answer, then speakers that say nothing, and else the outermost keys.
    """
    found = list(values(data.decode("utf-8", "replace")))
    inside = [item for value in found for item in objects(value)]
    if not inside or any(is_message(item) for item in inside):
        return None
    outer = next((value for value in found if isinstance(value, dict)), {})
    error = outer.get("error")
    if isinstance(error, dict):
        name = next((str(error[key]) for key in ("code", "status", "type") if error.get(key)), "without a code")
        return f"an error in the place of an answer: {name}"
    if images := sum("b64_json" in item for item in inside):
        return f"{images} generated image{'s' * (images > 1)} as base64, and no text that anyone said"
    if silent := sum(any(isinstance(item.get(key), str) for key in SPEAKERS) for item in inside):
        return f"{silent} of its {len(inside)} objects name a speaker, and none of these has a text"
    keys = ", ".join(list(outer)[:6]) + (", ..." if len(outer) > 6 else "")
    return f"none of its objects ({len(inside)}) says anything, calls a tool or answers a call; it has {keys}"


def values(text: str) -> Iterator[object]:
    """Yield the JSON values of a document, of lines, or of objects that start lines of other text."""
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] == "{":
            try:
                value, at = decoder.raw_decode(text, at)
                yield value
                continue
            except ValueError:
                pass
        line_end = text.find("\n", at)
        brace = text.find("{", at + 1)
        starts = [place for place in (line_end + 1 if line_end >= 0 else -1, brace) if place > at]
        if not starts:
            return
        at = min(starts)


def objects(value: object) -> Iterator[dict[str, object]]:
    """Yield every object in a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def is_message(item: dict[str, object]) -> bool:
    """Say whether an object says something in a speaker's name, is one half of a call, or what an agent observed."""
    speaks = any(isinstance(item.get(key), str) for key in SPEAKERS) or item.get("type") in SPEAKING_TYPES
    if speaks and any(has_text(item.get(key)) for key in TEXTS):
        return True
    if has_text(item.get("observation")):
        return True
    return any(isinstance(item.get(key), str) for key in CALL_IDS) and any(key in item for key in CALLED)


def has_text(value: object) -> bool:
    """Say whether a content is a text, or has one somewhere in it."""
    if isinstance(value, str):
        return bool(value)
    if isinstance(value, dict):
        return any(has_text(value.get(key)) for key in TEXTS)
    return isinstance(value, list) and any(has_text(inner) for inner in value)
