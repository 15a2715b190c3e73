"""Unwrap a folder of recorded transcripts into request bodies of the wire formats that turnfold reads.

The folder has a `MANIFEST.tsv` with the columns `file` and `format`; files are gzipped. Only the containers below are
unwrapped here. Each yields `Recording(name, format, body)`; a file that holds none yields nothing.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

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


def _lines(raw: bytes) -> Iterator[object]:
    # Not splitlines(): U+2028 and form feeds stand raw inside JSON strings.
    for line in raw.decode("utf-8", "replace").split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _episodes(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    for episode in value if isinstance(value, list) else [value]:
        yield OPENAI, episode["traj"], None


def _message_lines(raw: bytes) -> Iterator[Found]:
    for value in _lines(raw):
        messages = value.get("messages") if isinstance(value, dict) else value
        if isinstance(messages, list):
            yield OPENAI, messages, None


def _litellm_log(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    if isinstance(value, list):
        yield OPENAI, value, None
        return
    body = {key: value[key] for key in ("messages", "tools") if value.get(key) is not None}
    for choice in (value.get("response") or {}).get("choices", []):
        body["messages"] = [*body["messages"], choice["message"]]
    yield OPENAI, body, None


def _train_messages(raw: bytes) -> Iterator[Found]:
    for messages in json.loads(raw)["answer_generation"].get("train_messages") or []:
        yield OPENAI, messages, None


def _history(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    messages = value if isinstance(value, list) else value.get("history") or value.get("messages") or []
    if messages and all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        yield OPENAI, messages, None


def _react_lines(raw: bytes) -> Iterator[Found]:
    for value in _lines(raw):
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            yield OPENAI, {"messages": value["messages"]}, None


def _anthropic_messages(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        body: dict[str, object] = {"messages": [_api_fields(m) for m in value["messages"]]}
        if isinstance(value.get("system_prompt"), str):
            body["system"] = value["system_prompt"]
        yield ANTHROPIC, body, None
    elif isinstance(value, list):
        yield ANTHROPIC, [_api_fields(m) for m in value], None


def _api_fields(message: dict[str, object]) -> dict[str, object]:
    return {"role": message["role"], "content": message["content"]}


def _snapshot(raw: bytes) -> Iterator[Found]:
    value = json.loads(raw)
    if not (isinstance(value, list) and value and isinstance(value[0], dict) and "request" in value[0]):
        return
    for exchange in value:
        body = _json_body(exchange["request"])
        if isinstance(body, dict) and isinstance(body.get("messages"), list):
            yield ANTHROPIC, body, _usage(_json_body(exchange["response"]))


def _records(raw: bytes) -> Iterator[Found]:
    """Session records: one a content block, joined by `message.id`; a result may stand between two of them."""
    try:
        whole = json.loads(raw)
        records: list[object] = whole.get("loglines", []) if isinstance(whole, dict) else whole
    except ValueError:
        records = list(_lines(raw))
    messages: list[dict[str, object]] = []
    by_id: dict[str, dict[str, object]] = {}
    seen_calls: set[str] = set()
    for record in records:
        if not isinstance(record, dict) or record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        if record.get("isCompactSummary"):
            messages, by_id = [], {}
        message = record.get("message")
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        content = message.get("content")
        if content in (None, "", []):
            continue
        if isinstance(content, list):
            content = [block for block in content if not _repeated(block, seen_calls)]
            if not content:
                continue
        identifier = message.get("id")
        if isinstance(identifier, str) and identifier in by_id and isinstance(content, list):
            target = by_id[identifier]["content"]
            if isinstance(target, list):
                target.extend(content)
                continue
        entry = {"role": message["role"], "content": content}
        if isinstance(identifier, str):
            by_id[identifier] = entry
        messages.append(entry)
    if messages:
        yield ANTHROPIC, {"messages": messages}, None


def _repeated(block: object, seen: set[str]) -> bool:
    if not isinstance(block, dict):
        return False
    key = block.get("id") or block.get("tool_use_id")
    if not isinstance(key, str):
        return False
    name = f"{block.get('type')}:{key}"
    if name in seen:
        return True
    seen.add(name)
    return False


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
    if isinstance(usage.get("prompt_tokens"), int):
        return usage["prompt_tokens"]
    if isinstance(usage.get("inputTokens"), int):
        return sum(usage.get(k) or 0 for k in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    if isinstance(usage.get("input_tokens"), int):
        return sum(
            usage.get(k) or 0 for k in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
    return None


READERS: dict[str, Callable[[bytes], Iterator[Found]]] = {
    "openai-chat/tau": _episodes,
    "openai-chat/jsonl": _message_lines,
    "litellm-log": _litellm_log,
    "toolbench-dfs": _train_messages,
    "sweagent-traj": _history,
    "mini-swe-traj": _history,
    "chatml-react": _react_lines,
    "cassette/openai-chat": _cassette,
    "cassette/anthropic": _cassette,
    "cassette/multimodal": _cassette,
    "cassette/bedrock-converse": _cassette,
    "anthropic-messages": _anthropic_messages,
    "anthropic-response": _snapshot,
    "claude-code": _records,
    "claude-sdk-stream": _records,
    "claude-api-export": _records,
}
