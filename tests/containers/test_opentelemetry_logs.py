"""Log records of OpenTelemetry: events of messages in any order of batches, and whole requests in one event."""

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
SPAN = "eee19b7ec3c1b174"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def compacted(log: Log, name: str, keep: int = 2) -> CompactionResult:
    logged = next(t for t in log.transcripts if t.id == name)
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def records(data: bytes) -> list[dict[str, Any]]:
    value = json.loads(data)
    return [r for resource in value["resourceLogs"] for scope in resource["scopeLogs"] for r in scope["logRecords"]]


def test_events_of_one_span_are_one_transcript_wherever_they_stand():
    whole, lines = read("opentelemetry_logs.json"), read("opentelemetry_logs-lines.jsonl")
    assert whole.transcripts[0].id == lines.transcripts[0].id == SPAN
    assert whole.transcripts[0].transcript.messages == lines.transcripts[0].transcript.messages
    assert whole.transcripts[0].origins[-1] == (10,)
    roles = whole.transcripts[0].transcript.roles
    assert roles == ("system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant")


def test_a_body_of_json_text_reads_as_a_structured_one():
    log = read("opentelemetry_logs-python.jsonl")
    by_id = {logged.id: logged.transcript for logged in log.transcripts}
    assert by_id["request 1"].messages[:-1] == by_id["0x" + SPAN].messages[:-1]
    assert list(by_id["request 2"].messages) == [{"role": "user", "content": "Good."}]


def test_further_choices_and_other_records_are_carried_along():
    assert dict(read("opentelemetry_logs.json").unread) == {"log record": 1, "event gen_ai.choice": 1}


def test_a_summary_is_a_record_in_the_span_and_the_rest_stays():
    log = read("opentelemetry_logs.json")
    result = compacted(log, SPAN)
    before, after = records(log.document.data), records(log.write({SPAN: result}))
    new = [record for record in after if record not in before]
    assert [record for record in after if record in before] == [r for r in before if r in after]
    assert [(r["eventName"], r["spanId"]) for r in new] == [("gen_ai.user.message", SPAN)]
    texts = {pair["key"]: pair["value"] for pair in new[0]["body"]["kvlistValue"]["values"]}
    assert texts["content"] == {"stringValue": result.summary}
    assert len(after) == len(before) - 4


def test_the_answer_of_a_request_is_not_replaced():
    log = read("opentelemetry_logs-python.jsonl")
    with pytest.raises(NotWritableError, match="answer"):
        log.write({"request 1": compacted(log, "request 1", 0)})


def test_a_request_in_one_event_and_events_of_another_are_written_at_once():
    log = read("opentelemetry_logs-lines.jsonl")
    names = [logged.id for logged in log.transcripts]
    written = log.write({name: compacted(log, name) for name in names})
    again = {logged.id: logged.transcript for logged in read_log(written).transcripts}
    assert [len(again[name]) for name in names] == [4, 4]


def test_a_result_is_shortened_in_its_record():
    log = read("opentelemetry_logs.json")
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (TruncateResults(30, 30),)))
    assert isinstance(result, CompactionResult)
    before, after = records(log.document.data), records(log.write({SPAN: result}))
    assert [k for k, (old, new) in enumerate(zip(before, after, strict=True)) if old != new] == [3]


def event(name: str, body: object, span: str | None = None) -> dict[str, object]:
    return {"event_name": name, "body": body, **({} if span is None else {"span_id": span})}


def test_a_span_with_events_and_a_whole_request_has_two_transcripts():
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    details = {
        **event("gen_ai.client.inference.operation.details", None, "0xa1"),
        "attributes": {"gen_ai.input.messages": messages},
    }
    bare = {**details, "attributes": {}, "span_id": "0xa2"}
    log = read_log(json.dumps([event("gen_ai.user.message", {"content": "Hi"}, "0xa1"), details, bare]).encode())
    assert [logged.id for logged in log.transcripts] == ["0xa1 (events)", "0xa1"]
    assert dict(log.unread) == {"event gen_ai.client.inference.operation.details": 1}
    only = read_log(json.dumps([bare]).encode())
    assert (only.container, only.transcripts) == ("opentelemetry_logs", ())


def test_the_name_may_be_an_attribute_and_the_body_a_plain_text():
    lines = [
        {"body": "Hi", "attributes": {"event.name": "gen_ai.user.message"}},
        {"body": None, "attributes": {"event.name": "gen_ai.choice", "gen_ai.response.model": "m"}},
        {"body": {"content": "Ho"}, "attributes": {"event.name": "gen_ai.user.message"}},
    ]
    first, second = read_log("\n".join(map(json.dumps, lines)).encode()).transcripts
    assert (first.id, first.transcript.model) == ("request 1", "m")
    assert list(first.transcript.messages) == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}]
    assert list(second.transcript.messages) == [{"role": "user", "content": "Ho"}]


def test_what_the_sdk_emits_is_read():
    sdk = pytest.importorskip("opentelemetry.sdk._logs")
    export = pytest.importorskip("opentelemetry.sdk._logs.export")
    api = pytest.importorskip("opentelemetry._logs")
    provider, kept = sdk.LoggerProvider(), export.InMemoryLogRecordExporter()
    provider.add_log_record_processor(export.SimpleLogRecordProcessor(kept))
    logger = provider.get_logger("test")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for name, body in (
        ("gen_ai.user.message", {"content": "Hi"}),
        ("gen_ai.assistant.message", {"tool_calls": [call]}),
        ("gen_ai.tool.message", {"id": "c1", "content": "rain"}),
        ("gen_ai.choice", {"index": 0, "message": {"content": "It rains."}}),
    ):
        logger.emit(api.LogRecord(event_name=name, body=body, attributes={"gen_ai.system": "openai"}))
    spelled = "\n".join(log.to_json(indent=None) for log in kept.get_finished_logs())
    (only,) = read_log(spelled.encode()).transcripts
    assert only.transcript.roles == ("user", "assistant", "tool", "assistant")
    assert only.transcript.messages[1]["tool_calls"] == [call]
