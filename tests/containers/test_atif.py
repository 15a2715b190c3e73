"""Oddities of ATIF: results in the step of their call, results without a call, trajectories inside a trajectory."""

import json
from pathlib import Path

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = (Path(__file__).parent / "samples" / "atif.json").read_bytes()


def test_a_trajectory_inside_is_a_transcript():
    log = read_log(SAMPLE)
    assert [logged.id for logged in log.transcripts] == ["s7", "traj-sub"]
    assert log.unread == {"step of system": 1}


def test_results_follow_the_step_that_called():
    logged = read_log(SAMPLE).transcripts[0]
    assert scan(logged.transcript).ok
    blocks = [block for k in range(len(logged.transcript)) for block in logged.transcript.blocks(k)]
    calls = [block.call_id for block in blocks if block.kind == "tool_call"]
    assert calls == [block.call_id for block in blocks if block.kind == "tool_result"]
    assert calls == ["call_a0", "call_a1", "call_ax", "call_a2", "call_a3", "call_a4", "call_a9"]


def test_what_was_observed_without_a_call_is_a_user_message():
    transcript = read_log(SAMPLE).transcripts[0].transcript
    said = [(transcript.roles[k], block.text) for k in range(len(transcript)) for block in transcript.blocks(k)]
    assert ("user", "New Terminal Output:\n$ ") in said
    assert said[-1][0] == "assistant"


def test_the_summary_is_a_step_and_the_numbers_behind_it_follow():
    log = read_log(SAMPLE)
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(SAMPLE), json.loads(log.write({"s7": result}))
    summary = after["steps"][1]
    assert summary == {
        "step_id": 2,
        "source": "user",
        "message": result.summary,
        "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
    }
    assert [step["step_id"] for step in after["steps"]] == list(range(1, len(after["steps"]) + 1))
    last = len(after["steps"])
    kept = zip(before["steps"][-2:], (last - 1, last), strict=True)
    assert after["steps"][-2:] == [{**step, "step_id": number} for step, number in kept]
    assert {**after, "steps": []} == {**before, "steps": []}


def test_a_step_whose_observation_stays_keeps_it_without_its_message():
    steps = [{"step_id": 1, "source": "user", "message": "Look at the gauge. " * 40}]
    for number in range(2, 6):
        observed = {"results": [{"content": f"Terminal {number}"}]}
        steps.append({"step_id": number, "source": "agent", "message": f"ls {number}", "observation": observed})
    log = read_log(json.dumps({"schema_version": "ATIF-v1.7", "session_id": "t", "steps": steps}).encode())
    logged = log.transcripts[0]
    assert logged.transcript.roles[-2:] == ("assistant", "user")
    result = compact_sync(logged.transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),)))
    assert isinstance(result, CompactionResult)
    assert result.transcript.roles == ("user", "user", "assistant", "user")
    after = json.loads(log.write({"t": result}))["steps"]
    assert after[1:] == [{**steps[3], "message": "", "step_id": 2}, {**steps[4], "step_id": 3}]


def test_numbers_with_a_gap_stay():
    said = ("user", "agent", "user", "agent", "user")
    steps = [{"step_id": 3 * k + 1, "source": s, "message": "Look at the gauge. " * 90} for k, s in enumerate(said)]
    log = read_log(json.dumps({"schema_version": "ATIF-v1.7", "session_id": "t", "steps": steps}).encode())
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(1)),)))
    assert isinstance(result, CompactionResult)
    after = json.loads(log.write({"t": result}))["steps"]
    assert after[-1] == steps[-1]
    assert [step["step_id"] for step in after[:-1]] == [14]


def test_the_event_stream_holds_no_transcript():
    data = b'{"atof_version":"0.1","kind":"scope","category":"llm","uuid":"u1"}\n' * 2
    log = read_log(data)
    assert (log.container, log.transcripts) == ("atif", ())
    assert log.write() == data
