"""Unwrap a folder of recorded transcripts into request bodies of the wire formats that turnfold reads.

The folder has a `MANIFEST.tsv` with the columns `file` and `format`; files are gzipped. Logs are read by turnfold's
containers; recordings of HTTP traffic are unwrapped here, a request each, with the usage that its response reports.
Each yields `Recording(name, format, body)`; a file that holds none yields nothing.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from turnfold.containers import read_log
from turnfold.errors import ReadError

OPENAI = "openai.chat"
ANTHROPIC = "anthropic.messages"
BEDROCK = "bedrock.converse"
MISTRAL = "mistral.chat"


@dataclass(frozen=True)
class Recording:
    """One request body and where it came from. `prompt_tokens` is what the provider reported for it, if it did."""

    name: str
    format: str
    body: bytes
    prompt_tokens: int | None = None


Found = tuple[str, object, int | None]


def recordings(folder: Path) -> Iterator[Recording]:
    """Every transcript of the wire formats in `folder`, in the manifest's order."""
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        for row in csv.DictReader(manifest, delimiter="\t"):
            reader = READERS.get(row["format"])
            if reader is None:
                continue
            raw = gzip.decompress((folder / row["file"]).read_bytes())
            for index, (wire, value, usage) in enumerate(reader(raw)):
                # ensure_ascii keeps lone surrogates as the escapes they came as.
                body = json.dumps(value, ensure_ascii=_has_lone_surrogate(value)).encode()
                yield Recording(f"{row['file']}#{index}", wire, body, usage)


def _has_lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _logged(raw: bytes) -> Iterator[Found]:
    """Read what a container of turnfold knows. A file that none knows holds nothing here."""
    try:
        log = read_log(raw)
    except ReadError:
        return
    for logged in log.transcripts:
        yield logged.transcript.format, json.loads(logged.transcript.to_json()), None


def _snapshot(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    if not (isinstance(value, list) and value and isinstance(value[0], dict) and "request" in value[0]):
        return
    for exchange in value:
        body = _json_body(exchange["request"])
        if isinstance(body, dict) and isinstance(body.get("messages"), list):
            yield ANTHROPIC, body, _usage(_json_body(exchange["response"]))


def _cassette(raw: bytes) -> Iterator[Found]:
    if raw.lstrip()[:1] in (b"{", b"["):
        return
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for exchange in (yaml.load(raw, loader) or {}).get("interactions") or []:
        body = _json_body(exchange.get("request") or {})
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            continue
        uri = str(exchange["request"].get("uri", ""))
        wire = _wire_of(uri, body)
        try:
            json.dumps(body)
        except TypeError:
            continue
        yield wire, body, _usage(_json_body(exchange.get("response") or {}))


def _wire_of(uri: str, body: dict[str, object]) -> str:
    if "bedrock" in uri:
        return ANTHROPIC if "anthropic_version" in body else BEDROCK
    if "mistral.ai" in uri:
        return MISTRAL
    return ANTHROPIC if "anthropic" in uri or "/v1/messages" in uri else OPENAI


def _json_body(half: dict[str, object]) -> object:
    value = half.get("parsed_body", half.get("body"))
    if isinstance(value, dict):
        value = value.get("string", value)
    if isinstance(value, bytes):
        try:
            value = gzip.decompress(value) if value[:2] == b"\x1f\x8b" else value
        except (OSError, EOFError):
            return None
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _usage(response: object) -> int | None:
    usage = response.get("usage") if isinstance(response, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt = usage.get("prompt_tokens")
    if isinstance(prompt, int):
        return prompt
    if isinstance(usage.get("inputTokens"), int):
        return sum(usage.get(k) or 0 for k in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    if isinstance(usage.get("input_tokens"), int):
        return sum(
            usage.get(k) or 0 for k in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
    return None


READERS: dict[str, Callable[[bytes], Iterator[Found]]] = {
    "openai-chat/tau": _logged,
    "openai-chat/jsonl": _logged,
    "litellm-log": _logged,
    "toolbench-dfs": _logged,
    "sweagent-traj": _logged,
    "mini-swe-traj": _logged,
    "chatml-react": _logged,
    "cassette/openai-chat": _cassette,
    "cassette/anthropic": _cassette,
    "cassette/multimodal": _cassette,
    "cassette/bedrock-converse": _cassette,
    "anthropic-messages": _logged,
    "anthropic-response": _snapshot,
    "claude-code": _logged,
    "claude-sdk-stream": _logged,
    "claude-api-export": _logged,
}
