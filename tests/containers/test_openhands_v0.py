"""Oddities of OpenHands 0.x: responses with several calls, condensations, events without ids or metadata."""

import json
from pathlib import Path

import pytest

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.errors import NotWritableError
from turnfold.model.plan import CompactionPlan, KeepRange, SummaryHole
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def events() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((SAMPLES / "openhands_v0.json").read_text(encoding="utf-8"))
    return found


def history() -> Log:
    return read_log((SAMPLES / "openhands_v0-history.jsonl").read_bytes())


def compacted(log: Log, number: int = 0, keep: int = 2) -> CompactionResult:
    transcript = log.transcripts[number].transcript
    result = compact_sync(transcript, Policy(OnRequest(), (Summarize(KeepMessages(keep)),)))
    assert isinstance(result, CompactionResult)
    return result


def test_calls_of_one_response_are_one_message():
    logged = read_log(json.dumps(events()).encode()).transcripts[0]
    together = [origins for origins in logged.origins if len(origins) > 1]
    assert together == [(5, 7)]
    index = logged.origins.index((5, 7))
    calls = [block.call_id for block in logged.transcript.blocks(index) if block.kind == "tool_call"]
    assert calls == ["toolu_b1", "toolu_b2"]
    assert [logged.transcript.blocks(index + k)[0].call_id for k in (1, 2)] == calls


def test_a_call_without_metadata_is_answered_by_its_cause():
    transcript = read_log(json.dumps(events()).encode()).transcripts[0].transcript
    asked = [b for k in range(len(transcript)) for b in transcript.blocks(k) if b.call_id == "call_11"]
    assert [(block.kind, block.name) for block in asked] == [("tool_call", "run"), ("tool_result", None)]


def test_finish_and_an_error_without_a_call_are_texts():
    transcript = read_log(json.dumps(events()).encode()).transcripts[0].transcript
    said = {(transcript.roles[k], block.text) for k in range(len(transcript)) for block in transcript.blocks(k)}
    assert ("user", "The runtime was not ready; try again.") in said
    assert any(role == "assistant" and text.startswith("The offset had lost its sign") for role, text in said)


def test_an_earlier_condensation_is_carried_out():
    logged = history().transcripts[0]
    assert logged.id == "station__gauge-7"
    assert logged.origins[:4] == ((0,), (1,), (24,), (11,))
    assert logged.transcript.blocks(2)[0].text.startswith("USER_CONTEXT")


def test_a_condensation_is_appended_and_all_events_stay():
    log = read_log(json.dumps(events(), indent=2).encode())
    result = compacted(log)
    written = json.loads(log.write({log.transcripts[0].id: result}))
    assert written[:-1] == events()
    condensation = written[-1]
    assert condensation["action"] == "condensation"
    assert condensation["id"] == 24
    args = condensation["args"]
    assert args["summary"] == result.summary
    assert args["summary_offset"] == 1
    assert set(args) == {
        "forgotten_event_ids",
        "forgotten_events_start_id",
        "forgotten_events_end_id",
        "summary",
        "summary_offset",
    }
    gone = {event["id"] for event in events()} - set(args["forgotten_event_ids"])
    # The system prompt, what is kept, and events that hold no message.
    assert gone == {0, 2, 4, 13, 21, 22, 23}


def test_a_summary_that_would_stay_beside_the_new_one_is_refused():
    log = history()
    transcript = log.transcripts[0].transcript
    result = compacted(log)
    tiles = (KeepRange(0, 3), SummaryHole(3, 11, "user", 400, 100, "sections"), KeepRange(11, len(transcript)))
    plan = CompactionPlan(
        transcript.fingerprint, len(transcript), tiles, result.before, 10_000, 10_000, "by hand", None, None
    )
    made = transcript.splice([range(3), transcript.text_message("user", "short"), range(11, len(transcript))])
    by_hand = type(result)(
        **{
            **{name: getattr(result, name) for name in type(result).__dataclass_fields__},
            "transcript": made,
            "plan": plan,
        }
    )
    with pytest.raises(NotWritableError, match="stay beside"):
        log.write({log.transcripts[0].id: by_hand})


def test_pairs_without_ids_get_a_message_pair():
    log = history()
    result = compacted(log, 1, keep=1)
    lines = log.write({"station__gauge-8": result}).split(b"\n")
    before = history().document.data.split(b"\n")
    assert [line == old for line, old in zip(lines, before, strict=True)] == [True, False, True, True]
    pairs = json.loads(lines[1])["history"]
    assert pairs[0][0]["action"] == "message"
    assert pairs[0][0]["args"]["content"] == result.summary
    assert pairs[0][1]["observation"] == "null"


def test_lines_without_a_history_are_carried_along():
    assert history().unread["line without messages"] == 1
