"""Oddities of ADK: calls without ids, compactions by time, both spellings, files of expectations."""

import json
from pathlib import Path

import pytest

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def compacted(log: Log, keep: int = 3) -> CompactionResult:
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_calls_without_ids_are_answered_in_order():
    logged = read("google_adk.json").transcripts[0]
    assert logged.id == "f7e8-1"
    assert scan(logged.transcript).ok
    blocks = [block for k in range(len(logged.transcript)) for block in logged.transcript.blocks(k)]
    results = [block.call_id for block in blocks if block.kind == "tool_result"]
    assert results == ["call_2", "call_2_1", "adk-0", "adk-1", "adk-2", "adk-9"]
    assert [block.kind for block in logged.transcript.blocks(1)] == ["reasoning", "text", "tool_call", "tool_call"]


def test_a_compaction_is_carried_out_where_its_span_ends():
    log = read("google_adk-compacted.json")
    assert log.unread == {"event without content": 1, "compacted event": 5}
    logged = log.transcripts[0]
    assert logged.origins[:2] == ((8,), (6,))
    assert logged.transcript.roles[0] == "assistant"


def test_a_compaction_is_one_more_event():
    log = read("google_adk.json")
    result = compacted(log)
    before, after = json.loads(log.document.data), json.loads(log.write({"f7e8-1": result}))
    assert after["events"][:-1] == before["events"]
    compaction = after["events"][-1]["actions"]["compaction"]
    assert compaction == {
        "start_timestamp": 1770000001.5,
        "end_timestamp": 1770000010.5,
        "compacted_content": {"parts": [{"text": result.summary}], "role": "user"},
    }


def test_a_later_compaction_covers_the_earlier_one():
    log = read("google_adk-compacted.json")
    again = read_log(log.write({"f7e8-2": compacted(log)}))
    events = json.loads(again.document.data)["events"]
    assert events[-1]["actions"]["compaction"]["startTimestamp"] == 1770000001.5
    assert again.transcripts[0].origins[0] == (len(events) - 1,)
    assert again.unread["event without content"] == 2


def test_without_times_the_event_takes_the_place_of_the_others():
    session = json.loads((SAMPLES / "google_adk.json").read_bytes())
    for event in session["events"]:
        del event["timestamp"]
    log = read_log(json.dumps(session).encode())
    result = compacted(log)
    events = json.loads(log.write({"f7e8-1": result}))["events"]
    assert [event["content"]["role"] for event in events[1:]] == ["user", "user", "model", "user", "model"]
    assert events[1]["content"]["parts"][0]["text"] == result.summary


def test_a_response_of_one_text_is_shortened_there():
    log = read("google_adk.json")
    session = json.loads(log.document.data)
    session["events"][5]["content"]["parts"][0]["function_response"]["response"] = {"result": "short"}
    log = read_log(json.dumps(session).encode())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (TruncateResults(60, 60),)))
    assert isinstance(result, CompactionResult)
    parts = json.loads(log.write({"f7e8-1": result}))["events"][3]["content"]["parts"]
    assert len(parts[1]["function_response"]["response"]["result"]) < 500


@pytest.mark.parametrize(
    "expectations",
    [
        [{"query": "hello", "expected_tool_use": [], "reference": "hello"}],
        [{"name": "one", "data": [{"query": "hello", "expected_tool_use": []}], "initial_state": {}}],
        {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": []}]},
    ],
)
def test_expectations_are_no_transcript(expectations: object):
    data = json.dumps(expectations).encode()
    log = read_log(data)
    assert log.container == "google_adk"
    assert log.transcripts == ()
    assert log.write() == data
