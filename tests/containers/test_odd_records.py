"""Records with anything in them: a log is read, or refused with a typed error, and is never written differently."""

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnfold.compactor import compact_sync
from turnfold.containers import BUILT_IN, read_log
from turnfold.containers.log import says
from turnfold.errors import NotWritableError, ReadError
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
JSON = sorted(path.name for path in SAMPLES.iterdir() if path.name.endswith((".json", ".jsonl")))
POLICY = Policy(OnRequest(), (Summarize(KeepMessages(2)),))
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1e400, 10**30, "", "x", [], {}, [[]], [None], [{}], {"": None}, "\ud83d", "a", ["a"]]
)


@cache
def values(name: str) -> tuple[list[Any], bool]:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        return [json.loads(text)], False
    found = []
    for line in text.split("\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found, True


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", JSON)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_anywhere(name, data):
    records, is_lines = values(name)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(records)[1:]))
        records = changed(records, path, data.draw(ODD))
    text = (
        b"\n".join(json.dumps(record).encode() for record in records) if is_lines else json.dumps(records[0]).encode()
    )
    try:
        log = read_log(text, container=name.split(".")[0].split("-")[0])
    except ReadError:
        return
    assert log.write() == text
    for logged in log.transcripts:
        result = compact_sync(logged.transcript, POLICY)
        if isinstance(result, CompactionResult):
            try:
                written = log.write({logged.id: result})
            except NotWritableError:
                continue
            again = {one.id: one.transcript for one in read_log(written, container=log.container).transcripts}
            assert says(again[logged.id]) == says(result.transcript)


@given(
    value=st.recursive(
        ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    )
)
def test_any_value_is_refused_or_read_by_each_container(value):
    data = json.dumps([value, {"type": "message", "role": "user", "content": value}]).encode()
    for container in BUILT_IN:
        try:
            read = read_log(data, container=container.name)
        except ReadError:
            continue
        assert read.write() == data


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "[" * 512 + "]" * 512], ids=lambda v: v[:9])
@pytest.mark.parametrize("name", ["codex-compacted.jsonl", "claude_code.jsonl", "openhands_v1.jsonl"])
def test_a_line_with_what_only_python_reads_is_passed_over(name: str, value: str):
    data = (SAMPLES / name).read_bytes()
    lines = data.split(b"\n")
    number = max(k for k, line in enumerate(lines) if line.startswith(b"{") and line.endswith(b"}"))
    lines[number] = lines[number][:-1] + b',"score":%b}' % value.encode()
    log = read_log(b"\n".join(lines))
    assert number in log.reading.unread_lines
    assert log.write() == b"\n".join(lines)


STREAMS: dict[str, list[dict[str, Any]]] = {
    "anthropic.messages": [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Low tide "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "at six."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    ],
    "openai.chat": [
        {"choices": [{"delta": {"role": "assistant", "content": "Low tide "}}]},
        {"choices": [{"delta": {"content": "at six."}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": ""}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]}}]},
    ],
}


def stream(events: list[Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


@pytest.mark.parametrize("wire_format", STREAMS)
def test_any_value_in_a_stream_is_read_or_passed_over(wire_format: str):
    events = STREAMS[wire_format]
    (logged,) = read_log(stream(events)).transcripts
    assert [block.text for block in logged.transcript.blocks(0)] == ["Low tide at six.", 'f\n{"a":1}']
    odds: list[Any] = [None, [], {}, 7, "x", [[]], {"a": {}}, True, "[" * 100_000]
    for path, odd in product(places(events)[1:], odds):
        data = stream(changed(events, path, odd))
        try:
            assert read_log(data, container="provider_response").write() == data
        except ReadError as error:
            assert str(error)
