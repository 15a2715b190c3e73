"""Kimi's own compaction record, read and written."""

from pathlib import Path

import msgspec

from turnfold import KeepMessages, OnRequest, Policy, Summarize, compact_sync
from turnfold.containers import read_log
from turnfold.planning.apply import CompactionResult

SAMPLE = Path(__file__).parent / "samples" / "kimi.jsonl"


def test_what_a_compaction_replaced_is_no_message_any_more():
    (logged,) = read_log(SAMPLE.read_bytes()).transcripts
    texts = [block.text for index in range(len(logged.transcript)) for block in logged.transcript.blocks(index)]
    assert logged.transcript.speakers[:4] == ("system", "user", "user", "user")
    assert texts[1] == "Old task: count the gulls."  # a kept user message
    assert texts[2].startswith("Summary so far")
    assert not any(text.startswith("Nine gulls") for text in texts)


def test_a_step_is_one_message_with_its_thought_and_calls():
    (logged,) = read_log(SAMPLE.read_bytes()).transcripts
    blocks = logged.transcript.blocks(4)
    assert [block.kind for block in blocks] == ["reasoning", "tool_call", "tool_call"]
    assert logged.transcript.speakers[5:7] == ("tool", "tool")


def test_a_compaction_is_one_record_at_the_end():
    data = SAMPLE.read_bytes()
    log = read_log(data)
    (logged,) = log.transcripts
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    written = log.write({logged.id: result})
    assert written.startswith(data)
    record = msgspec.json.decode(written[len(data) :])
    assert record["type"] == "context.apply_compaction"
    assert record["compactedCount"] == len(logged.transcript) - 1 - 2
    assert record["contextSummary"] == result.summary
    assert record["time"] == 1772500003000
