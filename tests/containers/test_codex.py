"""Codex: items as they are, turns taken back, histories said again, and the layout before that."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.plan import DropRange
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"
NEW = SAMPLES / "codex.jsonl"
OLD = SAMPLES / "codex-old.jsonl"


def compacted(data: bytes, policy: Policy) -> tuple[bytes, CompactionResult]:
    log = read_log(data)
    result = compact_sync(log.transcripts[0].transcript, policy)
    assert isinstance(result, CompactionResult)
    return log.write({log.transcripts[0].id: result}), result


def record(kind: str, **payload: object) -> bytes:
    return json.dumps({"timestamp": "t", "type": kind, "payload": payload}).encode() + b"\n"


def texts(data: bytes) -> list[str]:
    transcript = read_log(data).transcripts[0].transcript
    return ["".join(block.text for block in transcript.blocks(index)) for index in range(len(transcript))]


def test_the_view_is_made_of_the_items_own_bytes():
    log = read_log(NEW.read_bytes())
    transcript = log.transcripts[0].transcript
    assert (log.transcripts[0].id, transcript.format, transcript.model) == (
        "0199-lock-0001",
        "openai.responses",
        "gpt-5-codex",
    )
    assert all(transcript.message_json(index) in NEW.read_bytes() for index in range(len(transcript)))
    assert b'"instructions":"You keep the lock' in transcript.to_json()
    assert not any("taken back" in text for text in texts(NEW.read_bytes()))
    assert log.unread["superseded item"] == 2
    assert log.unread["ghost_snapshot"] == 1
    assert log.unread["event_msg/user_message"] == 3


def test_a_compaction_is_one_record_with_all_items_of_the_result():
    data = NEW.read_bytes()
    written, result = compacted(data, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert written.startswith(data)
    line = json.loads(written[len(data) :])
    assert (line["type"], line["timestamp"]) == ("compacted", json.loads(data.split(b"\n")[-2])["timestamp"])
    assert line["payload"]["message"] == result.summary
    assert line["payload"]["replacement_history"] == result.messages
    again = record(
        "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "Noted."}]
    )
    assert len(read_log(written + again).transcripts[0].transcript) == len(result.transcript) + 1


def test_a_compaction_without_a_history_keeps_what_the_user_said():
    more = record("compacted", message="In short: 140 cm.")
    found = texts(NEW.read_bytes() + more)
    assert found[-1] == "In short: 140 cm."
    assert "Make it 140." in found
    assert "Done." not in found


def test_more_turns_than_there_are_can_be_taken_back():
    found = texts(NEW.read_bytes() + record("event_msg", type="thread_rolled_back", num_turns=99))
    assert all(text.startswith("<") for text in found)
    assert len(found) == 2


def test_the_old_layout_gets_the_summary_in_the_place_of_what_goes():
    data = OLD.read_bytes()
    written, result = compacted(data, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    before, after = ([json.loads(line) for line in part.split(b"\n") if line] for part in (data, written))
    assert after[:2] == before[:2]
    assert after[-2:] == before[-2:]
    assert [one for one in after if "record_type" in one] == [one for one in before if "record_type" in one]
    assert result.messages[0] in after


def test_shortened_results_are_shortened_in_their_records():
    written, result = compacted(NEW.read_bytes(), Policy(OnRequest(), (TruncateResults(40, 40),)))
    assert written.count(b"\n") == NEW.read_bytes().count(b"\n")
    assert texts(written) == texts_of(result)


def texts_of(result: CompactionResult) -> list[str]:
    transcript = result.transcript
    return ["".join(block.text for block in transcript.blocks(index)) for index in range(len(transcript))]


def test_what_a_provider_compaction_folded_goes_without_a_summary():
    folded = record("response_item", type="compaction", encrypted_content="Zm9sZGVk")
    more = [record("response_item", type="message", role="user", content=f"{k} {'word ' * 90}") for k in range(6)]
    data = NEW.read_bytes() + folded + b"".join(more)
    written, result = compacted(data, Policy(OnRequest(), (Summarize(KeepMessages(1)),)))
    assert written.startswith(data)
    assert json.loads(written[len(data) :])["payload"]["replacement_history"] == result.messages
    assert "compaction" in [item["type"] for item in result.messages]
    assert any(isinstance(tile, DropRange) for tile in result.plan.tiles)


def test_events_alone_hold_no_transcript():
    log = read_log(record("event_msg", type="turn_aborted", reason="interrupted"))
    assert (log.container, log.transcripts, log.unread) == ("codex", (), {"event_msg/turn_aborted": 1})
