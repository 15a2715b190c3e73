"""Requests and the usage reported for them, from recordings of HTTP traffic.

`exchanges(folder)` yields an `Exchange` for each request to a model whose answer, whole or streamed, reports its input
tokens: cached ones included, whatever the provider calls them. The folder is laid out as corpus_sources.py says.
"""

import base64
import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Exchange:
    """One request and what was reported for it."""

    name: str
    format: str
    model: str | None
    body: bytes
    prompt_tokens: int


def exchanges(folder: Path) -> Iterator[Exchange]:
    """Yield them in the manifest's order."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"].startswith("cassette/")]
    for row in rows:
        raw = gzip.decompress((folder / row["file"]).read_bytes())
        if raw.lstrip()[:1] in (b"{", b"["):
            continue
        for index, item in enumerate((yaml.load(raw, loader) or {}).get("interactions") or []):
            found = _exchange(item.get("request") or {}, item.get("response") or {})
            if found:
                yield Exchange(f"{row['file']}#{index}", *found)


def _exchange(request: dict, response: dict) -> tuple[str, str | None, bytes, int] | None:
    address = str(request.get("uri", "")).split("?")[0].replace("%3A", ":")
    gates = ((wire, match) for wire, pattern in GATES if (match := pattern.search(address)))
    wire, match = next(gates, (None, None))
    if wire is None or match is None:
        return None
    bodies, answers = _values(request), _values(response)
    usage = [u for answer in answers if (u := _usage(answer))]
    if not bodies or not isinstance(bodies[0], dict) or not usage:
        return None
    try:
        body = json.dumps(bodies[0], ensure_ascii=False).encode()
    except (TypeError, UnicodeEncodeError):
        return None
    named = bodies[0].get("model")
    return wire, match[1] or (named if isinstance(named, str) else None), body, max(usage)


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


def _usage(answer: object) -> int | None:
    if isinstance(answer, list):
        return max((u for item in answer if (u := _usage(item))), default=None)
    if not isinstance(answer, dict):
        return None
    places = [answer, answer.get("message"), answer.get("response"), answer.get("metadata")]
    for place in places:
        usage = (place.get("usage") or place.get("usageMetadata")) if isinstance(place, dict) else None
        for fields in FIELDS:
            if isinstance(usage, dict) and isinstance(usage.get(fields[0]), int):
                return sum(usage.get(field) or 0 for field in fields)
    return None
