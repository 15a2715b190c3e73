"""Oddities of traces: messages as text or structure, as events, as numbered attributes; outputs beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def compacted(log: Log, number: int, keep: int = 2) -> CompactionResult:
    result = compact_sync(log.transcripts[number].transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def attributes(span: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {pair["key"]: pair["value"] for pair in span["attributes"]}


def test_each_span_with_messages_is_a_transcript():
    assert [logged.id[-3:] for logged in read("opentelemetry.json").transcripts] == ["201", "202", "203"]
    assert [logged.id[-3:] for logged in read("opentelemetry-python.json").transcripts] == ["211", "212", "213", "214"]
    assert read("opentelemetry-lines.jsonl").unread["line without messages"] == 1


def test_the_same_messages_in_both_spellings_are_the_same_view():
    first, second = read("opentelemetry.json").transcripts[:2]
    assert first.transcript.messages[1:] == second.transcript.messages
    assert first.transcript.model == second.transcript.model == "small-model-1"
    assert b'"tools"' in first.transcript.to_json()


def test_only_the_text_inside_the_attribute_changes():
    log = read("opentelemetry.json")
    result = compacted(log, 0)
    written = log.write({log.transcripts[0].id: result})
    before, after = (json.loads(data)["resourceSpans"][0]["scopeSpans"] for data in (log.document.data, written))
    assert after[1] == before[1]
    assert after[0]["spans"][1] == before[0]["spans"][1]
    old, new = (attributes(scopes[0]["spans"][0]) for scopes in (before, after))
    assert {**new, "gen_ai.input.messages": None} == {**old, "gen_ai.input.messages": None}
    messages = json.loads(new["gen_ai.input.messages"]["stringValue"])
    assert messages[0] == {"role": "user", "parts": [{"type": "text", "content": result.summary}]}
    kept = json.loads(old["gen_ai.input.messages"]["stringValue"])[-len(messages) + 1 :]
    assert messages[1:] == kept
    assert json.dumps(kept)[1:-1] in new["gen_ai.input.messages"]["stringValue"]


def test_a_structured_summary_is_spelled_as_the_others():
    log = read("opentelemetry.json")
    written = json.loads(log.write({log.transcripts[1].id: compacted(log, 1)}))
    span = written["resourceSpans"][0]["scopeSpans"][0]["spans"][1]
    first = attributes(span)["gen_ai.input.messages"]["arrayValue"]["values"][0]
    assert first["kvlistValue"]["values"][0] == {"key": "role", "value": {"stringValue": "user"}}


def test_events_give_way_to_an_event():
    log = read("opentelemetry.json")
    written = json.loads(log.write({log.transcripts[2].id: compacted(log, 2)}))
    events = written["resourceSpans"][0]["scopeSpans"][1]["spans"][0]["events"]
    names = [event["name"] for event in events]
    assert names[:2] == ["gen_ai.system.message", "gen_ai.user.message"]
    assert "exception" in names
    assert "timeUnixNano" in events[1]


def test_an_output_is_not_replaced():
    log = read("opentelemetry.json")
    result = compacted(log, 0, 0)
    with pytest.raises(NotWritableError, match="output"):
        log.write({log.transcripts[0].id: result})


def test_results_are_shortened_inside_the_attribute():
    log = read("opentelemetry-python.json")
    logged = log.transcripts[3]
    result = compact_sync(logged.transcript, Policy(OnRequest(), (TruncateResults(60, 60),)))
    assert isinstance(result, CompactionResult)
    span = json.loads(log.write({logged.id: result}))[3]
    parts = json.loads(span["attributes"]["pydantic_ai.all_messages"])[3]["parts"]
    assert parts[0]["response"].startswith("gauge.py")
    assert len(parts[1]["response"]) < 600


def test_numbered_attributes_are_read_and_not_written():
    numbered = {
        "gen_ai.prompt.0.content": "Read the gauge. " * 40,
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.tool_calls.0.id": "call_1",
        "gen_ai.prompt.1.tool_calls.0.name": "gauge",
        "gen_ai.prompt.1.tool_calls.0.arguments": "{}",
        "gen_ai.prompt.10.role": "user",
        "gen_ai.prompt.10.content": '[{"type": "text", "text": "Again."}]',
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "call_1",
        "gen_ai.prompt.2.content": "412",
        "gen_ai.completion.0.content": "It shows 412.",
    }
    span = {"name": "openai.chat", "context": {"span_id": "0x1"}, "attributes": numbered}
    log = read_log(json.dumps([span]).encode())
    logged = log.transcripts[0]
    assert logged.transcript.roles == ("user", "assistant", "tool", "user", "assistant")
    assert logged.transcript.blocks(1)[0].call_id == logged.transcript.blocks(2)[0].call_id == "call_1"
    with pytest.raises(NotWritableError, match="numbered"):
        log.write({"0x1": compacted(log, 0, 1)})
