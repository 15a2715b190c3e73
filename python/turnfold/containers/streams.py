"""Event streams (`event:` and `data:` lines) put together into the one response that they deliver in pieces."""

import json
from collections.abc import Iterator, Mapping, MutableMapping
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


def _anthropic(text: str) -> Mapping[str, object]:
    message: Json = {}
    blocks: dict[object, Json] = {}
    inputs: dict[object, str] = {}
    for event in events(text):
        index = event.get("index")
        match event.get("type"):
            case "message_start":
                message = dict(object_of(event, "message"))
            case "content_block_start":
                blocks[index] = dict(object_of(event, "content_block"))
            case "content_block_delta" if index in blocks:
                delta = object_of(event, "delta")
                kind = text_of(delta, "type") or ""
                if kind == "input_json_delta":
                    inputs[index] = inputs.get(index, "") + (text_of(delta, "partial_json") or "")
                elif kind in _PIECES:
                    _grow(blocks[index], _PIECES[kind], text_of(delta, _PIECES[kind]))
    for index, pieces in inputs.items():
        try:
            blocks[index]["input"] = json.loads(pieces or "{}")
        except ValueError:
            blocks[index]["input"] = pieces
    return {**message, "content": list(blocks.values())} if message else {}


def _chat(text: str) -> Mapping[str, object]:
    message: Json = {"role": "assistant", "content": None}
    calls: dict[object, Json] = {}
    seen = False
    for event in events(text):
        delta = object_of(event, "choices", 0, "delta")
        seen = seen or bool(delta)
        for field in ("content", "refusal", "reasoning", "reasoning_content"):
            _grow(message, field, text_of(delta, field))
        for piece in list_of(delta, "tool_calls"):
            number = object_of(piece).get("index", len(calls))
            call = calls.setdefault(number, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}})
            call["id"] = text_of(piece, "id") or call["id"]
            for field in ("name", "arguments"):
                _grow(call["function"], field, text_of(piece, "function", field))
    if calls:
        message["tool_calls"] = list(calls.values())
    return {"choices": [{"message": message}]} if seen else {}


def _grow(holder: MutableMapping[str, Any], field: str, piece: str | None) -> None:
    if piece is not None:
        holder[field] = (holder.get(field) or "") + piece
