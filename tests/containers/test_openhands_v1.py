"""Oddities of OpenHands SDK logs: batches of actions, rejections, errors, condensations in a row."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def compacted(log: Log, keep: int) -> CompactionResult:
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_a_batch_is_one_message_with_its_reasoning():
    logged = read("openhands_v1.jsonl").transcripts[0]
    index = next(k for k, origins in enumerate(logged.origins) if len(origins) == 2)
    blocks = logged.transcript.blocks(index)
    assert [block.kind for block in blocks] == ["reasoning", "text", "tool_call", "tool_call"]


def test_rejections_and_errors_are_results():
    transcript = read("openhands_v1.jsonl").transcripts[0].transcript
    results = {
        b.call_id: b.text for k in range(len(transcript)) for b in transcript.blocks(k) if b.kind == "tool_result"
    }
    assert results["call_s4"] == "Leave the tests alone."
    assert results["call_s5"].startswith("The tool timed out")


def test_condensations_are_carried_out_in_order():
    log = read("openhands_v1-condensed.jsonl")
    assert log.unread["forgotten event"] == 6
    assert log.reading.unread_lines == (0,)
    assert log.transcripts[0].origins[:4] == ((3,), (4,), (23,), (11,))


def test_a_compaction_is_one_more_event_that_forgets_the_earlier_summary():
    log = read("openhands_v1-condensed.jsonl")
    result = compacted(log, 2)
    written = log.write({"conversation": result})
    assert written.startswith(log.document.data + b"\n")
    event = json.loads(written[len(log.document.data) :])
    assert event["kind"] == "Condensation"
    assert event["summary"] == result.summary
    assert event["summary_offset"] == 1
    assert "ev-c1-summary" in event["forgotten_event_ids"]
    assert event["timestamp"] == "2026-02-03T08:32:00"


def test_compacting_twice_writes_two_condensations():
    log = read("openhands_v1.jsonl")
    once = read_log(log.write({"conversation": compacted(log, 6)}))
    twice = read_log(once.write({"conversation": compacted(once, 2)}))
    assert twice.unread["Condensation"] == 1
    assert len(twice.transcripts[0].transcript) < len(once.transcripts[0].transcript)
    last = len(twice.document.records) - 1
    assert twice.transcripts[0].origins[1] == (last,)
