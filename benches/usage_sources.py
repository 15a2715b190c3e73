"""Requests and the usage reported for them, from recordings of HTTP traffic.

`exchanges(folder)` yields an `Exchange` for each request to a model whose answer, whole or streamed, reports its input
tokens: cached ones included, whatever the provider calls them. The folder is laid out as corpus_sources.py says.

A request of Responses that carries on from an answer or in a conversation which the same recording holds from its start
is given the items that the server had: those sent and answered before.
"""

import base64
import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

GATES = (
    ("gemini.contents", re.compile(r"models/([^/:]+):(?:streamG|g)enerateContent")),
    ("bedrock.converse", re.compile(r"/model/([^/]+)/converse(?:-stream)?$")),
    ("openai.responses", re.compile(r"()/responses$")),
    ("anthropic.messages", re.compile(r"()/v1/messages$")),
    ("mistral.chat", re.compile(r"mistral\.ai()/v1/chat/completions")),
    ("openai.chat", re.compile(r"()/chat/completions")),
)
"""Wire formats by the address of the request; the group is the model where the address names it."""

FIELDS = (
    ("prompt_tokens",),
    ("promptTokenCount",),
    ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
    ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
)
"""What adds up to all input tokens: the first row whose first field is there."""


CARRIED_ON = ("previous_response_id", "conversation")
"""Fields that name what the server holds."""

OPENAI_ANSWER = re.compile(r"resp_[0-9a-f]{48,}$")
"""The id that OpenAI gives to an answer of Responses."""


@dataclass(frozen=True)
class Exchange:
    """One request and what was reported for it."""

    name: str
    format: str
    model: str | None
    """The model that answered, where the answer names it, else the one asked for."""
    service: str
    """"Vertex" for Vertex AI, which counts otherwise than the Gemini API; empty for the rest."""
    body: bytes
    prompt_tokens: int
    by_hand: bool
    """Whether the answer has an id that the provider does not give: it was written, not recorded."""


class Held(dict[str, list[object]]):
    """What the server holds, as far as one recording shows: items by the id of an answer or of a conversation."""

    def added(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the items that it carries on from, if they are known."""
        known = next((key for key in CARRIED_ON if self._id(body.get(key)) in self), None)
        if known is None:
            return body
        rest = {key: value for key, value in body.items() if key != known}
        return {**rest, "input": [*self[self._id(body[known])], *_items(body)]}

    def learn(self, asked: dict[str, Any], whole: dict[str, Any], answers: list[object]) -> None:
        """Remember what an exchange left at the server. `whole` is what `added` made of what was `asked`."""
        for answer in answers:
            found = answer.get("response", answer) if isinstance(answer, dict) else None
            if not isinstance(found, dict):
                continue
            if found.get("object") == "conversation":
                self[found["id"]] = []
            output, carried = found.get("output"), [key for key in CARRIED_ON if whole.get(key)]
            if output and isinstance(output, list) and not carried:
                items = [*_items(whole), *output]
                self[found.get("id", "")] = items
                if asked.get("conversation"):
                    self[self._id(asked["conversation"])] = items

    @staticmethod
    def _id(value: object) -> str:
        value = value.get("id") if isinstance(value, dict) else value
        return value if isinstance(value, str) and value else "-"


def exchanges(folder: Path) -> Iterator[Exchange]:
    """Yield them in the manifest's order."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"].startswith("cassette/")]
    for row in rows:
        raw = gzip.decompress((folder / row["file"]).read_bytes())
        if raw.lstrip()[:1] in (b"{", b"["):
            continue
        held = Held()
        for index, item in enumerate((yaml.load(raw, loader) or {}).get("interactions") or []):
            found = _exchange(f"{row['file']}#{index}", item.get("request") or {}, item.get("response") or {}, held)
            if found:
                yield found


def _items(body: dict[str, Any]) -> list[object]:
    own = body.get("input")
    return [{"role": "user", "content": own}] if isinstance(own, str) else own or []


def _exchange(name: str, request: dict, response: dict, held: Held) -> Exchange | None:
    address = str(request.get("uri", "")).split("?")[0].replace("%3A", ":")
    gates = ((wire, match) for wire, pattern in GATES if (match := pattern.search(address)))
    wire, match = next(gates, (None, None))
    bodies, answers = _values(request), _values(response)
    asked = bodies[0] if bodies and isinstance(bodies[0], dict) else {}
    whole = held.added(asked)
    held.learn(asked, whole, answers)
    usage = [u for answer in answers if (u := _usage(answer))]
    if wire is None or match is None or not asked or not usage:
        return None
    try:
        body = json.dumps(whole, ensure_ascii=False).encode()
    except (TypeError, UnicodeEncodeError):
        return None
    places = [place for answer in answers for place in _places(answer)]
    ids = [place["id"] for place in places if isinstance(place.get("id"), str)]
    return Exchange(
        name=name,
        format=wire,
        model=_first(places, "model", "modelVersion") or match[1] or _first([asked], "model"),
        service="Vertex" if "aiplatform" in address else "",
        body=body,
        prompt_tokens=max(usage),
        by_hand=any(given.startswith("resp_") and not OPENAI_ANSWER.match(given) for given in ids),
    )


def _first(places: list[dict], *fields: str) -> str | None:
    values = (place.get(field) for place in places for field in fields)
    return next((value for value in values if isinstance(value, str) and value), None)


def _values(half: dict) -> list[object]:
    """The JSON values of a body: one, or one an event of a stream."""
    value = half.get("parsed_body", half.get("body"))
    if isinstance(value, dict):
        encoded = value.get("base64_string")
        value = value.get("string", value) if encoded is None else base64.b64decode(encoded)
    if isinstance(value, bytes):
        try:
            value = gzip.decompress(value) if value[:2] == b"\x1f\x8b" else value
        except (OSError, EOFError):
            return []
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return [value]
    found = []
    for text in [value, *re.findall(r"^data: ?(\{.*\})\s*$", value, re.MULTILINE)]:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def _places(answer: object) -> list[dict]:
    """Where an answer, or an event of its stream, says what it is and what it took."""
    if isinstance(answer, list):
        return [place for item in answer for place in _places(item)]
    if not isinstance(answer, dict):
        return []
    places = (answer, answer.get("message"), answer.get("response"), answer.get("metadata"))
    return [place for place in places if isinstance(place, dict)]


def _usage(answer: object) -> int | None:
    found = None
    for place in _places(answer):
        usage = place.get("usage") or place.get("usageMetadata")
        for fields in FIELDS:
            if isinstance(usage, dict) and isinstance(usage.get(fields[0]), int):
                tokens = sum(usage.get(field) or 0 for field in fields)
                found = tokens if found is None else max(found, tokens)
                break
    return found
