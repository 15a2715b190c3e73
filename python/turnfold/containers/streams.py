"""Event streams (`event:` and `data:` lines) put together into the one response that they deliver in pieces."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnfold.containers.document import decode, list_of, object_of, text_of

Json = dict[str, Any]


def events(text: str) -> Iterator[Mapping[str, object]]:
    """Return the JSON object of each `data:` line; other lines and `[DONE]` are passed over."""
    for line in text.split("\n"):
        if line.startswith("data:"):
            value = decode(line.removeprefix("data:").strip().encode("utf-8", "surrogatepass"))
            if isinstance(value, dict):
                yield value


def assembled(wire_format: str, text: str) -> Mapping[str, object]:
    """Return the whole response of a stream in the format's own shape; an empty one where nothing was delivered."""
    match wire_format:
        case "anthropic.messages":
            return _anthropic(text)
        case "openai.responses":
            done = [object_of(event, "response") for event in events(text) if text_of(event, "type") in _DONE]
            return done[-1] if done else {}
        case "gemini.contents":
            parts = [part for event in events(text) for part in list_of(event, "candidates", 0, "content", "parts")]
            return {"candidates": [{"content": {"role": "model", "parts": parts}}]} if parts else {}
        case "openai.chat" | "mistral.chat":
            return _chat(text)
        case _:
            return {}


_DONE = frozenset({"response.completed", "response.incomplete", "response.failed"})

_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


class _Grown:
    """The texts that grow piece by piece, joined once: each by what holds it and its field."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[int, str], tuple[Json, list[str]]] = {}

    def add(self, holder: Json, field: str, piece: str | None) -> None:
        if piece is not None:
            self._pieces.setdefault((id(holder), field), (holder, []))[1].append(piece)

    def join(self) -> None:
        for (_, field), (holder, pieces) in self._pieces.items():
            holder[field] = "".join((text_of(holder, field) or "", *pieces))


def _anthropic(text: str) -> Mapping[str, object]:
    message: Json = {}
    blocks: dict[int, Json] = {}
    inputs: dict[int, list[str]] = {}
    grown = _Grown()
    for event in events(text):
        index = event.get("index")
        match event.get("type"):
            case "message_start":
                message = dict(object_of(event, "message"))
            case "content_block_start" if isinstance(index, int):
                blocks[index] = dict(object_of(event, "content_block"))
            case "content_block_delta" if isinstance(index, int) and index in blocks:
                delta = object_of(event, "delta")
                kind = text_of(delta, "type") or ""
                if kind == "input_json_delta":
                    inputs.setdefault(index, []).append(text_of(delta, "partial_json") or "")
                elif kind in _PIECES:
                    grown.add(blocks[index], _PIECES[kind], text_of(delta, _PIECES[kind]))
    grown.join()
    for index, pieces in inputs.items():
        spelled = "".join(pieces) or "{}"
        value = decode(spelled.encode("utf-8", "surrogatepass"))
        blocks[index]["input"] = spelled if value is None else value
    return {**message, "content": list(blocks.values())} if message else {}


def _chat(text: str) -> Mapping[str, object]:
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    grown = _Grown()
    seen = False
    for event in events(text):
        delta = object_of(event, "choices", 0, "delta")
        seen = seen or bool(delta)
        for field in ("content", "refusal", "reasoning", "reasoning_content"):
            grown.add(message, field, text_of(delta, field))
        for piece in list_of(delta, "tool_calls"):
            number = object_of(piece).get("index")
            number = number if isinstance(number, int) else len(calls)
            call = calls.setdefault(number, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
            call["id"] = text_of(piece, "id") or call["id"]
            for field in ("name", "arguments"):
                grown.add(call["function"], field, text_of(piece, "function", field))
    grown.join()
    if calls:
        message["tool_calls"] = list(calls.values())
    return {"choices": [{"message": message}]} if seen else {}
