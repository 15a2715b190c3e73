"""What only logs of Qwen Code have."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.containers.log import says
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
DATA = (SAMPLES / "qwen_code.jsonl").read_bytes()


def test_the_view_is_the_path_to_the_last_record():
    log = read_log(DATA)
    transcript = log.transcripts[0].transcript
    assert transcript.roles == ("user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    assert log.unread == {"superseded message": 1, "system rewind": 1, "system ui_telemetry": 1}


def test_records_of_one_uuid_are_one_message():
    logged = read_log(DATA).transcripts[0]
    answer = json.loads(logged.transcript.message_json(1))
    assert answer["reasoning_content"] == "The list tells."
    assert [call["id"] for call in answer["tool_calls"]] == ["call-1", "call-2"]
    assert logged.origins[1] == (3, 4)


def test_a_result_without_output_is_all_of_its_response():
    assert json.loads(read_log(DATA).transcripts[0].transcript.message_json(3))["content"] == '{"error":"no such file"}'


def test_a_compression_stands_for_what_came_before():
    log = read_log((SAMPLES / "qwen_code-compressed.jsonl").read_bytes())
    assert log.transcripts[0].origins == ((2,), (2,), (3,), (4,), (5,), (6,))
    assert log.unread == {"superseded message": 2}


def test_a_compaction_is_one_record_at_the_end_with_the_whole_history():
    log = read_log(DATA)
    logged = log.transcripts[0]
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    written = log.write({logged.id: result})
    assert written.startswith(DATA)
    record = json.loads(written[len(DATA) :])
    assert (record["parentUuid"], record["type"], record["subtype"]) == ("q-10", "system", "chat_compression")
    assert [content["role"] for content in record["systemPayload"]["compressedHistory"]] == ["user", "user", "model"]


def test_results_that_stay_are_shortened_in_the_history_of_a_compression():
    logged = (log := read_log(DATA)).transcripts[0]
    steps = (TruncateResults(20, 20), Summarize(KeepMessages(2)))
    result = compact_sync(logged.transcript, Policy(OnRequest(), steps))
    assert isinstance(result, CompactionResult)
    written = log.write({logged.id: result})
    assert written.startswith(DATA)
    assert says(read_log(written).transcripts[0].transcript) == says(result.transcript)


def test_objects_on_one_line_are_read_one_by_one():
    lines = DATA.split(b"\n")
    glued = b"\n".join([lines[0] + lines[2] + b" " + lines[3], *lines[4:]])
    log = read_log(glued)
    assert says(log.transcripts[0].transcript) == says(read_log(DATA).transcripts[0].transcript)
    assert log.write() == glued
    logged = log.transcripts[0]
    for policy in ((Summarize(KeepMessages(2)),), (TruncateResults(20, 20),)):
        result = compact_sync(logged.transcript, Policy(OnRequest(), policy))
        assert isinstance(result, CompactionResult)
        again = read_log(log.write({logged.id: result}))
        assert says(again.transcripts[0].transcript) == says(result.transcript)


def test_a_torn_line_is_carried_along():
    log = read_log(DATA + b'{"uuid":"q-11","parentUuid":"q-10"')
    assert log.unread["line that is no JSON object"] == 1


def test_of_a_content_whose_half_goes_the_other_half_stays():
    both = DATA.replace(
        b'"response":{"error":"no such file"}}}]',
        b'"response":{"error":"no such file"}}},{"text":"Go on then, and name the readers."}]',
    )
    logged = (log := read_log(both)).transcripts[0]
    assert logged.transcript.roles[3:5] == ("tool", "user")
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(4)),)))
    assert isinstance(result, CompactionResult)
    assert result.plan.tiles[0].stop == 4
    again = read_log(log.write({logged.id: result}))
    assert says(again.transcripts[0].transcript) == says(result.transcript)
