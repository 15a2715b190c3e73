"""Oddities of Monocle's traces: texts of JSON in a list, calls as JSON in a text, results without ids."""

import json
from pathlib import Path

from turnfold.checks import scan
from turnfold.compactor import compact_sync
from turnfold.containers import read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLE = (Path(__file__).parent / "samples" / "monocle.json").read_bytes()


def test_inferences_are_transcripts_and_other_spans_are_not():
    log = read_log(SAMPLE)
    assert [logged.id for logged in log.transcripts] == ["e5999b8d02", "e5999b8d04"]
    assert [len(logged.transcript) for logged in log.transcripts] == [3, 14]


def test_results_answer_the_oldest_open_call():
    transcript = read_log(SAMPLE).transcripts[1].transcript
    assert scan(transcript).ok
    results = [b.call_id for k in range(len(transcript)) for b in transcript.blocks(k) if b.kind == "tool_result"]
    assert results == ["call_m0", "call_m1", "call_mx", "call_m2", "call_m3", "call_m4"]


def test_the_summary_is_one_text_more():
    log = read_log(SAMPLE)
    result = compact_sync(log.transcripts[1].transcript, Policy(OnRequest(), (Summarize(KeepMessages(3)),)))
    assert isinstance(result, CompactionResult)
    before, after = json.loads(SAMPLE), json.loads(log.write({"e5999b8d04": result}))
    old, new = (spans[3]["events"][0]["attributes"]["input"] for spans in (before, after))
    assert json.loads(new[1]) == {"human": result.summary}
    assert [new[0], *new[2:]] == [old[0], *old[-len(new) + 2 :]]
    assert after[3]["events"][1:] == before[3]["events"][1:]
