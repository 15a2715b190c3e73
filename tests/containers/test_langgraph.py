"""Oddities of LangGraph threads: blocks that repeat calls, calls that are no JSON, lone surrogates, removals."""

import json
from pathlib import Path

from turnfold.compactor import compact_sync
from turnfold.containers import Log, read_log
from turnfold.model.policy import OnRequest, Policy, Summarize
from turnfold.model.splits import KeepMessages
from turnfold.planning.apply import CompactionResult

SAMPLES = Path(__file__).parent / "samples"


def read() -> Log:
    return read_log((SAMPLES / "langgraph.json").read_bytes())


def test_the_thread_names_the_transcript():
    log = read()
    assert [logged.id for logged in log.transcripts] == ["thread-7"]
    assert log.unread == {"message of type remove": 1}


def test_a_call_that_stands_twice_is_one():
    transcript = read().transcripts[0].transcript
    assert [block.kind for block in transcript.blocks(4)] == ["text", "tool_call"]


def test_a_call_that_is_no_json_is_a_call_with_its_result():
    transcript = read().transcripts[0].transcript
    blocks = [block for k in range(len(transcript)) for block in transcript.blocks(k) if block.call_id == "call_l4"]
    assert [(block.kind, block.text) for block in blocks] == [
        ("tool_call", 'edit\n{"path": '),
        ("tool_result", "The arguments are no JSON."),
    ]


def test_lone_surrogates_survive():
    log = read()
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(14)),)))
    if isinstance(result, CompactionResult):
        assert b"\\ud83d" in log.write({"thread-7": result})
    assert log.transcripts[0].transcript.to_json().count(b"\\ud83d") == 2


def test_the_summary_is_a_human_message_with_an_id():
    log = read()
    result = compact_sync(log.transcripts[0].transcript, Policy(OnRequest(), (Summarize(KeepMessages(2)),)))
    assert isinstance(result, CompactionResult)
    messages = json.loads(log.write({"thread-7": result}))["values"]["messages"]
    summary = messages[0]
    assert summary["type"] == "human"
    assert summary["content"] == result.summary
    assert summary["id"] == "a8-summary"
    assert summary["additional_kwargs"] == {"lc_source": "summarization"}
    assert [message["type"] for message in messages] == ["human", "remove", "ai", "tool", "ai"]
