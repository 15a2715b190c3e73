"""Oddities of SWE-agent trajectories: results with a list of ids, ids that come again, copies of the prompt."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize, TruncateResults
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read(name: str) -> Log:
    return read_log((SAMPLES / name).read_bytes())


def test_the_problem_names_the_transcript_and_else_the_environment():
    assert [logged.id for logged in read("swe_agent.json").transcripts] == ["station-7"]
    assert [logged.id for logged in read("swe_agent-old.json").transcripts] == ["swe_main"]


def test_results_are_paired_with_the_nearest_call_of_their_id():
    transcript = read("swe_agent.json").transcripts[0].transcript
    blocks = [block for k in range(len(transcript)) for block in transcript.blocks(k)]
    assert [b.call_id for b in blocks if b.kind == "tool_call"] == [f"toolu_c{k}" for k in (0, 1, 2, 3, 4, 0)]
    assert [b.call_id for b in blocks if b.kind == "tool_result"] == [f"toolu_c{k}" for k in (0, 1, 2, 3, 4, 0)]
    assert [b.kind for b in blocks].count("reasoning") == 1


def test_what_swe_agent_notes_is_no_part_of_the_view():
    body = read("swe_agent.json").transcripts[0].transcript.to_json()
    assert b"message_type" not in body
    assert b'"agent"' not in body
    assert b'"cache_control"' in body


def test_the_summary_stands_in_history_and_the_steps_stay():
    log = read("swe_agent.json")
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(log.document.data), json.loads(log.write({"station-7": result}))
    assert after["trajectory"] == before["trajectory"]
    assert after["history"][0] == before["history"][0]
    assert after["history"][2:] == before["history"][-2:]
    summary = {"role": "user", "content": result.summary, "agent": "main", "message_type": "observation"}
    assert after["history"][1] == summary


def test_a_result_in_a_list_of_one_text_is_shortened_there():
    log = read("swe_agent.json")
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (TruncateResults(20, 20),)))
    assert isinstance(result, CompactionResult)
    after = json.loads(log.write({"station-7": result}))
    assert all(isinstance(message["content"], list) for message in after["history"][9::2])


def test_older_trajectories_have_actions_and_observations_as_text():
    transcript = read("swe_agent-old.json").transcripts[0].transcript
    assert {block.kind for k in range(len(transcript)) for block in transcript.blocks(k)} == {"text"}
    assert transcript.roles[:4] == ("system", "user", "user", "assistant")
